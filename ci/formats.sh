#!/usr/bin/env bash
# Reads --format zeek, zeek-tsv, ocsf and eve with readers of others, and compares them with the events of JSON:
# ci/formats.sh PROGRAM [SCHEMA]
#
# Zeek's logs are read by parsezeeklogs, OCSF is validated by ocsf-json-schema. SCHEMA is etc/schema.json of Suricata's source, whose
# licence differs from that of this project: EVE is validated against it if it is given. Vector's remap language, which needs Python
# 3.12 or newer, reads EVE, ECS and OCSF. Needs python3 with venv, and access to PyPI.
set -euo pipefail

readonly PROGRAM=$(realpath "$1")
schema=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# A Python that every reader runs on, if there is one.
python=python3
for candidate in python3.1{2..9} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9].*/bin/python3; do
    if "$candidate" -c "" 2>/dev/null; then
        python=$candidate
        break
    fi
done
"$python" -m venv "$tmp/venv"
"$tmp/venv/bin/pip" install -q --disable-pip-version-check parsezeeklogs==3.0.1 ocsf-json-schema==1.2.0 jsonschema==4.26.0

# Some captures of the project end in the middle of a packet, which is status 1.
readonly READ=(pcap -q captures --connections --findings --sensor-name ci --add-field site=berlin --format)
for format in json eve ecs ocsf; do
    "$PROGRAM" "${READ[@]}" "$format" -o "$tmp/$format" 2>"$tmp/messages" || [ $? = 1 ]
done
for format in zeek zeek-tsv; do
    "$PROGRAM" "${READ[@]}" "$format" --zeek-dir "$tmp/$format" 2>"$tmp/messages" || [ $? = 1 ]
done

"$tmp/venv/bin/python" - "$tmp" "$schema" <<'CHECK'
import collections
import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema
from parsezeeklogs import ZeekLog

folder = Path(sys.argv[1])
# Captures of the project have tails and heads of damaged files: names may have any bytes.
read = lambda name: [json.loads(line) for line in (folder / name).read_text().splitlines()]
events = read("json")
kinds = collections.Counter(event["event"] for event in events)
ja4 = collections.Counter(event["ja4"] for event in events if event["event"] == "tls_client")

for form in ("zeek", "zeek-tsv"):
    rows = {}
    for path in sorted((folder / form).glob("*.log")):
        with ZeekLog(path) as log:
            rows[path.stem] = list(log)
            if log.skipped:
                sys.exit(f"{form}/{path.name}: {log.skipped} lines that parsezeeklogs does not read")
    connections = {row["uid"] for row in rows["conn"]}
    for name, found in rows.items():
        if lost := [row for row in found if row.get("uid", rows["conn"][0]["uid"]) not in connections]:
            sys.exit(f"{form}: {name} has a uid that conn does not have: {lost[0]}")
    found = collections.Counter(row["ja4"] for row in rows["ssl"] if row.get("ja4"))
    if len(rows["conn"]) != kinds["connection"] or found != ja4:
        sys.exit(f"{form}: {len(rows['conn'])} connections and {found.total()} JA4, not {kinds['connection']} and {ja4.total()}")
    print(f"{form}: {', '.join(f'{len(found)} {name}' for name, found in rows.items())}")

ocsf = read("ocsf")
if [event["unmapped"]["event"] for event in ocsf] != [event["event"] for event in events]:
    sys.exit("OCSF: other events than JSON")
schemas, validators = OcsfJsonSchemaEmbedded(get_ocsf_schema("1.5.0")), {}


def shape(value):
    if isinstance(value, dict):
        return tuple((name, shape(inner)) for name, inner in value.items())
    return shape(value[0]) if isinstance(value, list) and value else type(value)


# One of each shape: a validator takes milliseconds.
shapes = {shape({**event, "unmapped": {}}): event for event in ocsf}
for event in shapes.values():
    name = schemas.lookup_class_name_from_uid(event["class_uid"])
    if name not in validators:
        validators[name] = Draft202012Validator(schemas.get_class_schema(name))
    for error in validators[name].iter_errors(event):
        sys.exit(f"OCSF: {error.json_path}: {error.message[:300]}: {event}")
if any(validator.is_valid({**ocsf[0], "time": "now"}) for validator in validators.values()):
    sys.exit("the validator of OCSF accepts a text for a time")
print(f"ocsf: {len(ocsf)} events of {len(shapes)} shapes in {len(validators)} classes are valid")

eve = read("eve")
found = collections.Counter(event.get("tls", event.get("quic", {})).get("ja4") for event in eve if "tls" in event or "quic" in event)
found.pop(None, None)
if len(eve) != len(events) or found != ja4:
    sys.exit(f"EVE: {len(eve)} events and {found.total()} JA4, not {len(events)} and {ja4.total()}")
if sys.argv[2]:
    validator = Draft202012Validator(json.loads(Path(sys.argv[2]).read_text()))
    # Our own object is what the schema does not have.
    bare = [{name: value for name, value in event.items() if name != "huginn"} for event in eve]
    shapes = {shape(event): event for event in bare}
    for event in shapes.values():
        for error in validator.iter_errors(event):
            sys.exit(f"EVE: {error.json_path}: {error.message[:300]}: {event}")
    if validator.is_valid({**bare[0], "src_port": "one"}):
        sys.exit("the validator of EVE accepts a text for a port")
    print(f"eve: {len(eve)} events of {len(shapes)} shapes are valid")
else:
    print(f"eve: {len(eve)} events; no schema to validate them with")
CHECK

if ! "$tmp/venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
    echo "Vector's remap language: not run, it needs Python 3.12"
    exit
fi
"$tmp/venv/bin/pip" install -q --disable-pip-version-check vector-vrl==1.0.7
"$tmp/venv/bin/python" - "$tmp" <<'VECTOR'
import json
import sys
from datetime import datetime
from pathlib import Path

from vector_vrl import execute_vrl

# Microseconds since 1970, and for EVE the Community ID as Vector computes it of the addresses.
PROGRAMS = {
    "eve": """
        event = parse_json!(.message)
        protocol = if event.proto == "TCP" { 6 } else { 17 }
        .id, _ = community_id(source_ip: event.src_ip, destination_ip: event.dest_ip, source_port: event.src_port, destination_port: event.dest_port, protocol: protocol)
        .time = to_unix_timestamp(parse_timestamp!(event.timestamp, "%Y-%m-%dT%H:%M:%S%.f%z"), unit: "microseconds")
        .event = encode_json(event)
    """,
    "ecs": """
        event = parse_json!(.message)
        .time = to_unix_timestamp(parse_timestamp!(event."@timestamp", "%+"), unit: "microseconds")
        .event = encode_json(event)
    """,
    "ocsf": """
        event = parse_json!(.message)
        .time = to_unix_timestamp(from_unix_timestamp!(event.time, unit: "milliseconds"), unit: "microseconds")
        .event = encode_json(event)
    """,
}

lines = lambda form: (Path(sys.argv[1]) / form).read_text().splitlines()
times = []
for line in lines("json"):
    ts = json.loads(line)["ts"]
    seconds, digits = ts[:19], ts[20:26]
    times.append(int(datetime.fromisoformat(f"{seconds}+00:00").timestamp()) * 1_000_000 + int(digits))
for form, program in PROGRAMS.items():
    ids = 0
    found = execute_vrl(program, [json.dumps({"message": line}) for line in lines(form)])
    for line, read, time in zip(lines(form), found, times, strict=True):
        event = json.loads(line)
        expected = time // 1000 * 1000 if form == "ocsf" else time
        if json.loads(read["event"]) != event or read["time"] != expected:
            sys.exit(f"Vector reads {read}, not {line} at {expected}")
        if read.get("id"):
            ids += 1
            if read["id"] != event["community_id"]:
                sys.exit(f"Vector computes {read['id']}: {line}")
    if form == "eve" and not ids:
        sys.exit("Vector computes no Community ID")
    print(f"{form}: Vector reads {len(found)} events{f', and computes the same {ids} Community IDs' if ids else ''}")
VECTOR
