#!/usr/bin/env bash
# Three sensors and the job of dist/fleet: ci/fleet.sh PROGRAM [PROGRAM-WITH-PARQUET]
#
# Runs the demonstration, compares the tables of DuckDB over JSON with those over Parquet and with those of ClickHouse, infers the types of the JSON
# of all captures, and checks the units.
# Needs the Debian packages jq, syslog-ng-core and systemd, python3 with venv, access to PyPI, and no rights.
set -euo pipefail

program=$(realpath "$1")
with_parquet=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

python3 -m venv "$tmp/venv"
"$tmp/venv/bin/pip" install -q --disable-pip-version-check duckdb chdb polars pyarrow
export PATH=$tmp/venv/bin:$PATH

dist/fleet/demo.sh "$program" "$tmp/fleet"
readonly NOW="2026-12-01 12:00:00"
job() { dist/fleet/job.py --now "$NOW" --json "$tmp/fleet/sensors.csv" "$@"; }
job "$tmp/fleet/events/*.json" >"$tmp/json"

# What a sensor lost, from the records of --statistics: the loss that docs/events.md shows, and the same interval in the counters, of a sensor that
# was silent.
mkdir "$tmp/lost"
cp "$tmp"/fleet/events/*.json "$tmp/lost"
grep '^{.*"event":"loss"' docs/events.md | jq -c '. + {ts: "2026-12-01T11:59:00Z", site: "berlin", sensor: "berlin-2"}, .event = "statistics"' |
    jq -c '. + {ts: "2026-12-01T11:59:00Z", site: "berlin", sensor: "berlin-2"}' >"$tmp/lost/loss.json"
[ "$(wc -l <"$tmp/lost/loss.json")" = 2 ]
job "$tmp/lost/*.json" >"$tmp/lost.json"
# A line that is cut is left out, and nothing else.
mkdir "$tmp/cut"
cp "$tmp"/lost/*.json "$tmp/cut"
head -c 300 "$tmp/cut/loss.json" >"$tmp/cut/cut.json"
job "$tmp/cut/*.json" | diff "$tmp/lost.json" -
jq -se 'any(.[]; .table == "sensors" and .sensor == "berlin-2" and .packets_lost == 27 and .records_lost == 0 and .is_silent == false)' "$tmp/lost.json"

if [ -n "$with_parquet" ]; then
    mkdir "$tmp/tables"
    for sensor in berlin-1 berlin-2 paris-1; do
        status=0
        "$with_parquet" pcap -q --sensor-name $sensor --site ${sensor%-*} --findings --fingerprints "$tmp/fleet/watch.csv" \
            --format parquet -o "$tmp/tables/$sensor.parquet" "$tmp/fleet/spool/$sensor/1.pcap" || status=$?
        [ $status = 0 ] || [ $status = 3 ]
    done
    job "$tmp/tables/*.parquet" | diff "$tmp/json" -
    echo "the tables over Parquet are the same"
fi

python3 - "$NOW" "$tmp" "$tmp/lost.json" dist/fleet/clickhouse.sql <<'CHECK'
import json, pathlib, sys
from chdb.session import Session

now, folder, expected, statements = sys.argv[1:]
session = Session()
for name, value in {"now": now, "events": f"{folder}/lost/*.json", "sensors": f"{folder}/fleet/sensors.csv"}.items():
    session.query(f"SET param_{name} = '{value}'")
found = {}
tables = iter(["hosts", "rare", "new_today", "sensors", "alerts"])
for statement in pathlib.Path(statements).read_text().split(";\n"):
    code = "\n".join(line for line in statement.splitlines() if not line.startswith("--")).strip()
    if code:
        rows = [json.loads(line) for line in str(session.query(code, "JSONEachRow")).splitlines()]
        if code.startswith("SELECT"):
            found[next(tables)] = rows


def plain(value):
    """A value as both have it: ClickHouse has 1 for true, six decimals of each second, and an empty list for none."""
    if isinstance(value, str) and value[:2] == "20" and "." in value:
        return value.rstrip("0").rstrip(".")
    return value or None


wanted = {}
for line in pathlib.Path(expected).read_text().splitlines():
    row = json.loads(line)
    wanted.setdefault(row.pop("table"), []).append(row)
for table, rows in wanted.items():
    rows, others = ([{key: plain(value) for key, value in row.items()} for row in rows] for rows in (rows, found[table]))
    assert rows == others, f"{table}: {[pair for pair in zip(rows, others) if pair[0] != pair[1]][:1]}"
assert wanted.keys() == found.keys(), (wanted.keys(), found.keys())
print("the tables of ClickHouse are the same")
CHECK

# CORPUS: more captures.
ci/json-inference.py "$program" captures ${CORPUS:+"$CORPUS"}

mkdir "$tmp/units"
cp dist/huginn-net.service dist/fleet/huginn-net-lists.* "$tmp/units"
# What the units start need not be installed here.
sed -i "s:/usr/bin/huginn-net:$program:" "$tmp"/units/*.service
systemd-analyze verify --man=no "$tmp/units/huginn-net-lists.timer" "$tmp/units/huginn-net-lists.service"
echo "the units are valid"
