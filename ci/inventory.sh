#!/usr/bin/env bash
# Validates the CBOM of `huginn-net inventory` against the JSON schema of CycloneDX 1.6, compares the counts of all formats, and
# validates all events against docs/events.schema.json: ci/inventory.sh PROGRAM [CAPTURE_OR_DIRECTORY]...
#
# Without captures those of the project are read. Needs python3 with venv, and access to PyPI.
set -euo pipefail

readonly PROGRAM=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- captures

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

python3 -m venv "$tmp/venv"
"$tmp/venv/bin/pip" install -q --disable-pip-version-check 'cyclonedx-python-lib[json-validation]==11.12.0'

# write FORMAT FILE: some captures of the project end in the middle of a packet, which is status 1.
write() {
    local status=0
    "$PROGRAM" inventory -q --format "$1" -o "$2" "${@:3}" 2>"$tmp/messages" || status=$?
    if [ "$status" -gt 1 ]; then
        cat "$tmp/messages" >&2
        exit "$status"
    fi
}
write cyclonedx "$tmp/cbom.json" "$@"
write cyclonedx "$tmp/again.json" "$@"
write json "$tmp/inventory.jsonl" "$@"
cmp "$tmp/cbom.json" "$tmp/again.json"
"$PROGRAM" pcap -q --format json --events tls_server --fields retry,decrypted -o "$tmp/servers.jsonl" "$@" 2>"$tmp/messages" || true

"$tmp/venv/bin/python" - "$tmp" <<'CHECK'
import json
import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

folder = Path(sys.argv[1])
text = (folder / "cbom.json").read_text()
validator = JsonStrictValidator(SchemaVersion.V1_6)
if error := validator.validate_str(text):
    sys.exit(f"CBOM: {error}")
bom = json.loads(text)
# A validator that accepts everything would be noticed.
if not validator.validate_str(json.dumps({**bom, "components": [{"type": "no-type", "name": ""}]})):
    sys.exit("the validator accepts a component of an unknown type")
references = [component["bom-ref"] for component in bom["components"]]
if len(set(references)) != len(references):
    sys.exit("CBOM: a bom-ref is not unique")

lines = [json.loads(line) for line in (folder / "inventory.jsonl").read_text().splitlines()]
totals, servers = lines[0], [line for line in lines if line["event"] == "inventory_server"]
counted = sum(row["count"] for server in servers for row in server["tls"])
events = [json.loads(line) for line in (folder / "servers.jsonl").read_text().splitlines()]
# The inventory reads no hellos that must be decrypted.
hellos = sum(not event["retry"] and not event.get("decrypted") for event in events)
shown = sum(
    int(place["additionalContext"].split()[0])
    for component in bom["components"]
    if component["cryptoProperties"]["assetType"] == "protocol" and component["cryptoProperties"]["protocolProperties"]["type"] != "ssh"
    for place in component["evidence"]["occurrences"]
)
if not counted == hellos == shown == totals["tls_connections"] > 0:
    sys.exit(f"connections: {counted} in servers, {hellos} events, {shown} in the CBOM, {totals['tls_connections']} in the totals")
print(f"inventory: {len(references)} components, {len(servers)} servers, {counted} connections")
CHECK

"$PROGRAM" pcap -q --format json --connections --findings -o "$tmp/events.jsonl" "$@" 2>"$tmp/messages" || true
"$PROGRAM" hosts -q --format json -o "$tmp/hosts.jsonl" "$@" 2>"$tmp/messages" || true
cat "$tmp/hosts.jsonl" >>"$tmp/events.jsonl"

"$tmp/venv/bin/python" - "$tmp/events.jsonl" docs/events.schema.json <<'CHECK'
import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator

schema = json.loads(Path(sys.argv[2]).read_text())
Draft202012Validator.check_schema(schema)
# The kind of an event decides: faster than trying each.
kinds = {name: Draft202012Validator(kind) for name, kind in schema["$defs"].items()}
events = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
for event in events:
    for error in kinds[event["event"]].iter_errors(event):
        sys.exit(f"{event['event']}: {error.json_path}: {error.message}")
seen = {event["event"] for event in events}
if not {"tls_client", "connection", "host"} <= seen or Draft202012Validator(schema).is_valid({**events[0], "packet": "one"}):
    sys.exit(f"the check of the schema checks too little: {sorted(seen)}")
print(f"events: {len(events)} of {len(seen)} kinds match the schema")
CHECK
