-- The table of events in ClickHouse (24 or newer), with all columns of docs/schema.md. The parameter `parquet` is any Parquet file of them:
-- `huginn-net pcap --format parquet` or `Capture.write_parquet` made it; on a server, put it into `user_files`, or replace file() by url() or s3(). A list that is null is empty here.
-- ClickHouse drops an insert that has the token of one of the last 10,000.
CREATE TABLE IF NOT EXISTS huginn_events
ENGINE = MergeTree PARTITION BY toYYYYMM(ts) ORDER BY (event, ts)
SETTINGS non_replicated_deduplication_window = 10000
EMPTY AS SELECT * REPLACE (assumeNotNull(ts) AS ts, toLowCardinality(assumeNotNull(event)) AS event)
FROM file({parquet:String}, Parquet);
