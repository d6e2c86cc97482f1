-- The same tables as job.sql makes, for a fleet whose events one machine cannot read each time (ClickHouse 24 or newer). Each statement ends
-- with a semicolon at the end of a line. Parameters: events, now, sensors.
CREATE TABLE IF NOT EXISTS events (
    ts DateTime64(6, 'UTC'),
    event LowCardinality(String),
    site LowCardinality(String),
    sensor LowCardinality(String),
    address String,
    system Nullable(String),
    tcp_syn Nullable(String),
    ja4_stable Nullable(String),
    akamai Nullable(String),
    hassh Nullable(String),
    user_agent Nullable(String),
    asked_name Nullable(String),
    alert Nullable(String),
    alert_id Nullable(String),
    severity Nullable(String),
    packets_lost UInt64,
    records_lost UInt64
) ENGINE = MergeTree PARTITION BY toDate(ts) ORDER BY (site, address, ts);

-- The signature of a SYN with the initial TTL: 4:57+7:… and 4:64+0:… are 4:64:…
CREATE FUNCTION IF NOT EXISTS initial_syn AS sig -> concat(
    splitByChar(':', sig)[1], ':', toString(arraySum(part -> toUInt32OrZero(part), splitByChar('+', splitByChar(':', sig)[2]))),
    extract(sig, '^[^:]*:[^:]*(:.*)$')
);

-- Run it once for each file that is complete or, in place of file(), read from s3() or a Kafka engine with the same structure.
INSERT INTO events SELECT
    parseDateTime64BestEffort(j.ts, 6, 'UTC'),
    j.event,
    ifNull(j.site, ''),
    ifNull(j.sensor, ''),
    ifNull(if(j.subject = 'server', tupleElement(j.server, 'ip'), tupleElement(j.client, 'ip')), ''),
    if(j.event IN ('tcp_syn', 'tcp_syn_ack') AND tupleElement(j.label, 'class') <> '!', tupleElement(j.label, 'name'), NULL),
    if(j.event = 'tcp_syn', initial_syn(ifNull(j.sig, '')), NULL),
    if(j.event = 'tls_client', j.ja4_stable, NULL),
    if(j.event = 'http_request', j.akamai_hash, NULL),
    if(j.event IN ('ssh_client', 'ssh_server'), j.hassh, NULL),
    if(j.event = 'http_request', j.user_agent, NULL),
    multiIf(j.event = 'tls_client', j.sni, j.event = 'http_request', j.host, NULL),
    multiIf(j.event = 'tool', j.name, j.event = 'finding', j.finding, j.event = 'match', j.value, NULL),
    j.id,
    j.severity,
    if(j.event = 'loss', ifNull(tupleElement(j.interval, 'kernel_dropped'), 0), 0),
    if(j.event = 'loss', ifNull(tupleElement(j.interval, 'records_dropped'), 0), 0)
FROM file({events:String}, JSONEachRow, 'ts String, event String, site Nullable(String), sensor Nullable(String), subject Nullable(String), client Tuple(ip Nullable(String)), server Tuple(ip Nullable(String)), label Tuple(class Nullable(String), name Nullable(String)), sig Nullable(String), ja4_stable Nullable(String), akamai_hash Nullable(String), hassh Nullable(String), user_agent Nullable(String), sni Nullable(String), host Nullable(String), name Nullable(String), finding Nullable(String), value Nullable(String), id Nullable(String), severity Nullable(String), interval Tuple(kernel_dropped Nullable(UInt64), records_dropped Nullable(UInt64))') AS j
SETTINGS input_format_json_ignore_unknown_keys_in_named_tuple = 1, input_format_null_as_default = 1;

CREATE VIEW IF NOT EXISTS fingerprints AS
SELECT ts, site, sensor, address, f.1 AS kind, assumeNotNull(f.2) AS value
FROM events
ARRAY JOIN [('tcp_syn', tcp_syn), ('ja4_stable', ja4_stable), ('akamai', akamai), ('hassh', hassh)] AS f
WHERE f.2 IS NOT NULL;

-- (a) Hosts.
SELECT site, address, min(ts) AS first_seen, max(ts) AS last_seen,
    arraySort(groupUniqArray(sensor)) AS sensors,
    arraySort(groupUniqArray(system)) AS systems,
    uniqExact(system) > 1 AS has_several_systems,
    arraySort(groupUniqArray(user_agent)) AS user_agents,
    arraySort(groupUniqArray(ja4_stable)) AS ja4_stable,
    arraySort(groupUniqArray(hassh)) AS hassh,
    arraySort(groupUniqArray(asked_name)) AS asked_names,
    arraySort(groupUniqArray(alert)) AS alerts
FROM events
WHERE events.ts <= {now:DateTime64(6, 'UTC')} AND address <> ''
GROUP BY site, address
ORDER BY site, address;

-- (b) Rare fingerprints.
SELECT kind, value, any(site) AS site, any(address) AS address, min(ts) AS first_seen, arraySort(groupUniqArray(sensor)) AS sensors
FROM fingerprints
WHERE fingerprints.ts <= {now:DateTime64(6, 'UTC')}
GROUP BY kind, value
HAVING uniqExact(fingerprints.site, fingerprints.address) = 1
ORDER BY kind, value;

-- (c) New today.
SELECT site, kind, value, min(ts) AS first_seen, arraySort(groupUniqArray(address)) AS addresses, arraySort(groupUniqArray(sensor)) AS sensors
FROM fingerprints
WHERE fingerprints.ts <= {now:DateTime64(6, 'UTC')}
GROUP BY site, kind, value
HAVING first_seen >= toStartOfDay({now:DateTime64(6, 'UTC')})
ORDER BY site, kind, value;

-- (d) Sensors.
SELECT site, sensor, nullIf(max(seen.ts), toDateTime64(0, 6, 'UTC')) AS last_event,
    countIf(seen.ts > toDateTime64(0, 6, 'UTC') AND event NOT IN ('statistics', 'loss')) AS events,
    sum(packets_lost) AS packets_lost, sum(records_lost) AS records_lost,
    ifNull(last_event < {now:DateTime64(6, 'UTC')} - INTERVAL 1 HOUR, true) AS is_silent
FROM (SELECT site, sensor, event, ts, packets_lost, records_lost FROM events WHERE ts <= {now:DateTime64(6, 'UTC')}) AS seen
FULL JOIN file({sensors:String}, CSVWithNames, 'site String, sensor String') AS expected USING (site, sensor)
GROUP BY site, sensor
ORDER BY last_event NULLS FIRST, site, sensor;

-- Alerts.
SELECT site, alert_id, any(alert) AS alert, argMax(severity, events.ts) AS severity, any(address) AS address, min(ts) AS first_seen,
    arraySort(groupUniqArray(sensor)) AS sensors, count() AS events
FROM events
WHERE alert_id IS NOT NULL AND events.ts <= {now:DateTime64(6, 'UTC')}
GROUP BY site, alert_id
ORDER BY first_seen, site, alert_id;
