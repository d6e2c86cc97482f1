-- The view `events` over JSON Lines of sensors (`--format json`). The variable `events` is a pattern of files.
CREATE OR REPLACE VIEW events AS
SELECT
    ts,
    event,
    coalesce(site, '') AS site,
    coalesce(sensor, '') AS sensor,
    CASE subject WHEN 'server' THEN server.ip ELSE client.ip END AS address,
    CASE WHEN event IN ('tcp_syn', 'tcp_syn_ack') AND label.class <> '!' THEN label.name END AS system,
    CASE WHEN event = 'tcp_syn' THEN sig END AS tcp_syn,
    CASE WHEN event = 'tls_client' THEN ja4_stable END AS ja4_stable,
    CASE WHEN event = 'http_request' THEN akamai_hash END AS akamai,
    CASE WHEN event IN ('ssh_client', 'ssh_server') THEN hassh END AS hassh,
    CASE WHEN event = 'http_request' THEN user_agent END AS user_agent,
    CASE event WHEN 'tls_client' THEN sni WHEN 'http_request' THEN host END AS asked_name,
    CASE event WHEN 'tool' THEN name WHEN 'finding' THEN finding WHEN 'match' THEN value END AS alert,
    id AS alert_id,
    severity,
    CASE WHEN event = 'loss' THEN interval.kernel_dropped END AS packets_lost,
    CASE WHEN event = 'loss' THEN interval.records_dropped END AS records_lost
FROM read_json(
    getvariable('events'),
    format = 'newline_delimited',
    -- A file that grows, or a connection that broke, ends within a line.
    ignore_errors = true,
    columns = {
        ts: 'TIMESTAMP', event: 'VARCHAR', site: 'VARCHAR', sensor: 'VARCHAR', subject: 'VARCHAR',
        client: 'STRUCT(ip VARCHAR)', server: 'STRUCT(ip VARCHAR)', label: 'STRUCT(class VARCHAR, name VARCHAR)', sig: 'VARCHAR',
        ja4_stable: 'VARCHAR', akamai_hash: 'VARCHAR', hassh: 'VARCHAR', user_agent: 'VARCHAR', sni: 'VARCHAR',
        host: 'VARCHAR', name: 'VARCHAR', finding: 'VARCHAR', value: 'VARCHAR', id: 'VARCHAR', severity: 'VARCHAR',
        interval: 'STRUCT(kernel_dropped BIGINT, records_dropped BIGINT)'
    }
);
