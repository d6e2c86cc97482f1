-- What a fleet of sensors says together, from the view `events` (DuckDB). Variables: `now`, the end of the period, and `sensors`, a
-- CSV file with the columns `site` and `sensor` of all sensors that should report.

-- The signature of a SYN with the initial TTL, as baselines have it: 4:57+7:… and 4:64+0:… are 4:64:…
CREATE OR REPLACE MACRO initial_syn(sig) AS coalesce(
    split_part(sig, ':', 1) || ':' || list_sum(list_transform(split(split_part(sig, ':', 2), '+'), lambda part: try_cast(part AS INTEGER)))
        || regexp_extract(sig, '^[^:]*:[^:]*(:.*)$', 1),
    sig
);

-- Each fingerprint that a host showed.
CREATE OR REPLACE VIEW fingerprints AS
UNPIVOT (
    SELECT ts, site, sensor, address, initial_syn(tcp_syn) AS tcp_syn, ja4_stable, akamai, hassh
    FROM events
    WHERE ts <= getvariable('now')
) ON tcp_syn, ja4_stable, akamai, hassh INTO NAME kind VALUE value;

-- (a) Hosts with all that any sensor knows. A host is an address at a site.
CREATE OR REPLACE VIEW hosts AS
SELECT
    site,
    address,
    min(ts) AS first_seen,
    max(ts) AS last_seen,
    list_sort(list(DISTINCT sensor)) AS sensors,
    list_sort(list(DISTINCT system) FILTER (system IS NOT NULL)) AS systems,
    count(DISTINCT system) > 1 AS has_several_systems,
    list_sort(list(DISTINCT user_agent) FILTER (user_agent IS NOT NULL)) AS user_agents,
    list_sort(list(DISTINCT ja4_stable) FILTER (ja4_stable IS NOT NULL)) AS ja4_stable,
    list_sort(list(DISTINCT hassh) FILTER (hassh IS NOT NULL)) AS hassh,
    list_sort(list(DISTINCT asked_name) FILTER (asked_name IS NOT NULL)) AS asked_names,
    list_sort(list(DISTINCT alert) FILTER (alert IS NOT NULL)) AS alerts
FROM events
WHERE ts <= getvariable('now') AND address IS NOT NULL
GROUP BY site, address
ORDER BY site, address;

-- (b) Fingerprints that one host of the whole fleet has.
CREATE OR REPLACE VIEW rare AS
SELECT kind, value, any_value(site) AS site, any_value(address) AS address, min(ts) AS first_seen, list_sort(list(DISTINCT sensor)) AS sensors
FROM fingerprints
GROUP BY kind, value
HAVING count(DISTINCT (site, address)) = 1
ORDER BY kind, value;

-- (c) Fingerprints of a site that it did not have before today.
CREATE OR REPLACE VIEW new_today AS
SELECT site, kind, value, min(ts) AS first_seen, list_sort(list(DISTINCT address)) AS addresses, list_sort(list(DISTINCT sensor)) AS sensors
FROM fingerprints
GROUP BY site, kind, value
HAVING min(ts) >= date_trunc('day', getvariable('now'))
ORDER BY site, kind, value;

-- (d) Sensors, the one that is silent for longest first. One hour without an event is silence; with --statistics, a sensor is not silent because
-- its network is.
CREATE OR REPLACE VIEW sensors AS
SELECT
    site,
    sensor,
    max(ts) AS last_event,
    count(ts) FILTER (event NOT IN ('statistics', 'loss')) AS events,
    coalesce(sum(packets_lost), 0)::BIGINT AS packets_lost,
    coalesce(sum(records_lost), 0)::BIGINT AS records_lost,
    coalesce(max(ts) < getvariable('now') - INTERVAL 1 HOUR, true) AS is_silent
FROM (SELECT site, sensor, event, ts, packets_lost, records_lost FROM events WHERE ts <= getvariable('now')) AS seen
FULL JOIN (SELECT coalesce(site, '') AS site, sensor FROM read_csv(getvariable('sensors'), header = true, all_varchar = true)) AS expected
    USING (site, sensor)
GROUP BY site, sensor
ORDER BY last_event NULLS FIRST, site, sensor;

-- Alerts. Sensors of a site that saw the same are one row. Events after the first report an alert again, with larger numbers.
CREATE OR REPLACE VIEW alerts AS
SELECT site, alert_id, any_value(alert) AS alert, arg_max(severity, ts) AS severity, any_value(address) AS address,
    min(ts) AS first_seen, list_sort(list(DISTINCT sensor)) AS sensors, count(*) AS events
FROM events
WHERE alert_id IS NOT NULL AND ts <= getvariable('now')
GROUP BY site, alert_id
ORDER BY first_seen, site, alert_id;
