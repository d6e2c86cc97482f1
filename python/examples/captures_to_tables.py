#!/usr/bin/env python3
"""A job of Spark: captures of a folder become Parquet tables, by day.

    captures_to_tables.py [--partition-bytes N] [--tables NAME,...] [--option NAME=VALUE]... CAPTURES OUTPUT

CAPTURES is a folder, a pattern or a URL that obstore opens (s3://…), and OUTPUT a folder that Spark writes (s3a://…), in which no table is.
Tables; each can be written alone, and all but host_events read the captures:

- events: events of flows, in folders day=…;
- host_records: what captures show of hosts, for the next table;
- host_events: events of hosts over all captures, in folders day=…, from host_records;
- errors: captures that cannot be read to their end, with packet and byte offset. The other tables keep what precedes the damage.

Fifty executors with 200 cores, for captures in S3:

    spark-submit --num-executors 50 --executor-cores 4 --executor-memory 4g \\
        --conf spark.executor.memoryOverhead=4g --conf spark.task.maxFailures=8 \\
        --archives environment.tar.gz#environment --conf spark.pyspark.python=./environment/bin/python \\
        captures_to_tables.py s3://bucket/captures s3a://bucket/tables

docs/scaling.md says where these numbers come from, and what to expect.
"""

from __future__ import annotations

import argparse
from typing import Any

import huginn_net as hn
from huginn_net.spark import HuginnNetDataSource, host_events

TABLES = ("events", "host_records", "host_events", "errors")
#: Bytes of captures in a task: about 8 MB of Parquet.
PARTITION_BYTES = 2 << 30


def write_tables(
    spark: Any,
    captures: str,
    output: str,
    tables: tuple[str, ...] = TABLES,
    partition_bytes: int = PARTITION_BYTES,
    options: dict[str, str] | None = None,
) -> None:
    """Writes the tables, in the order of `TABLES`."""
    # The day of an event does not depend on where the job runs.
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    # A task does not sort its rows unless they are of more days.
    spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", "16")
    spark.dataSource.register(HuginnNetDataSource)
    output = output.rstrip("/")

    def read(table: str) -> Any:
        reader = spark.read.format("huginn_net").option("table", table).option("onError", "skip")
        return reader.option("partitionBytes", partition_bytes).options(**options or {}).load(captures)

    if "events" in tables:
        # A task has only some of the captures of a host.
        of_flows = read("events").where(f"event NOT IN {hn.HOST_EVENTS}")
        write_by_day(of_flows, f"{output}/events")
    if "host_records" in tables:
        read("host_records").write.option("compression", "zstd").parquet(f"{output}/host_records")
    if "host_events" in tables:
        write_by_day(host_events(spark.read.parquet(f"{output}/host_records"), (options or {}).get("db")), f"{output}/host_events")
    if "errors" in tables:
        read("errors").repartition(1).write.parquet(f"{output}/errors")


def write_by_day(events: Any, path: str) -> None:
    """Writes events to folders of the days on which they were."""
    with_day = events.selectExpr("*", "to_date(ts) AS day")
    with_day.write.partitionBy("day").option("compression", "zstd").parquet(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partition-bytes", type=int, default=PARTITION_BYTES)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--option", action="append", default=[], help="of the data source: NAME=VALUE, as connections=true")
    parser.add_argument("captures")
    parser.add_argument("output")
    arguments = parser.parse_args()
    tables = tuple(arguments.tables.split(","))
    if unknown := set(tables) - set(TABLES):
        parser.error(f"no table {', '.join(sorted(unknown))}: there are {', '.join(TABLES)}")

    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("captures to tables").getOrCreate()
    options = dict(option.split("=", 1) for option in arguments.option)
    write_tables(spark, arguments.captures, arguments.output, tables, arguments.partition_bytes, options)
    spark.stop()


if __name__ == "__main__":
    main()
