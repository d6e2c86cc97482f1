#!/usr/bin/env python3
"""Makes tables from the events of all sensors, with DuckDB (`pip install duckdb`).

    job.py [--now TIME] [--json] SENSORS.csv EVENTS [TABLE]...

EVENTS is a pattern of files of JSON Lines, or of Parquet if it ends in `.parquet`. Tables: hosts, rare, new_today, sensors, alerts.
"""

import argparse
import pathlib

import duckdb

HERE = pathlib.Path(__file__).resolve().parent
TABLES = ["hosts", "rare", "new_today", "sensors", "alerts"]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--now", help="end of the period, UTC [default: now]")
parser.add_argument("--json", action="store_true", help="write JSON Lines, each with the name of its table")
parser.add_argument("sensors")
parser.add_argument("events")
parser.add_argument("tables", nargs="*")
args = parser.parse_args()

connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")
now = "?::TIMESTAMP" if args.now else "(now() AT TIME ZONE 'UTC')"
connection.execute(f"SET VARIABLE now = {now}", [args.now] if args.now else None)
connection.execute("SET VARIABLE events = ?", [args.events])
connection.execute("SET VARIABLE sensors = ?", [args.sensors])
source = "events-parquet.sql" if args.events.endswith(".parquet") else "events-json.sql"
for file in [source, "job.sql"]:
    connection.execute((HERE / file).read_text())
for table in args.tables or TABLES:
    if table not in TABLES:
        parser.error(f"no table {table!r}: {', '.join(TABLES)}")
    if args.json:
        for (row,) in connection.execute(f"SELECT to_json(t) FROM {table} AS t").fetchall():
            print(f'{{"table":"{table}",{row[1:]}')
    else:
        print(f"\n{table}")
        connection.sql(f"SELECT * FROM {table}").show(max_width=160, max_rows=200)
