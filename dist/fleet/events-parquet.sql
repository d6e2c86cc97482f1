-- The view `events` over Parquet tables of sensors (`--format parquet`). The variable `events` is a pattern of files, in a folder or a
-- bucket: s3://bucket/*/*/*/*.parquet needs INSTALL httpfs. The sensors have --sensor-name and --site.
CREATE OR REPLACE VIEW events AS
SELECT
    ts AT TIME ZONE 'UTC' AS ts,
    event,
    coalesce(site, '') AS site,
    coalesce(sensor, '') AS sensor,
    host_ip AS address,
    CASE WHEN event IN ('tcp_syn', 'tcp_syn_ack') AND label_class <> '!' THEN label_name END AS system,
    CASE WHEN event = 'tcp_syn' THEN sig END AS tcp_syn,
    CASE WHEN event = 'tls_client' THEN ja4_stable END AS ja4_stable,
    CASE WHEN event = 'http_request' THEN http_akamai_hash END AS akamai,
    CASE WHEN event IN ('ssh_client', 'ssh_server') THEN hassh END AS hassh,
    CASE WHEN event = 'http_request' THEN http_user_agent END AS user_agent,
    CASE event WHEN 'tls_client' THEN tls_sni WHEN 'http_request' THEN http_host END AS asked_name,
    CASE event WHEN 'tool' THEN tool_name WHEN 'finding' THEN finding WHEN 'match' THEN match_value END AS alert,
    alert_id,
    alert_severity AS severity,
    -- Only formats of lines have the records of --statistics.
    NULL::BIGINT AS packets_lost,
    NULL::BIGINT AS records_lost
FROM read_parquet(getvariable('events'), union_by_name = true);
