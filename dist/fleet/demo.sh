#!/usr/bin/env bash
# Three sensors, a collector and the job on this machine, with captures of the project: dist/fleet/demo.sh PROGRAM [FOLDER]
#
# The sensors replay captures, as if they were of yesterday and today, and send events as JSON Lines to syslog-ng, which writes them to one
# folder. Checks what the job and `hosts join` make of it. FOLDER, if named, keeps everything. Needs the Debian package syslog-ng-core,
# python3 with venv, access to PyPI unless Python has duckdb, and no rights.
set -euo pipefail

program=$(realpath "$1")
readonly PROGRAM=$program NOW="2026-12-01 12:00:00"
tmp=$(mktemp -d)
folder=$(realpath -m "${2:-$tmp/fleet}")
cd "$(dirname "$0")/../.."
collector=
trap '[ -z "$collector" ] || kill "$collector" 2>/dev/null || true; rm -rf "$tmp"' EXIT

fail() {
    echo "$1" >&2
    cat "$folder"/*.log >&2
    exit 1
}

# Waits until a command succeeds.
await() {
    for _ in {1..600}; do
        "$@" >/dev/null 2>&1 && return
        sleep 0.05
    done
    fail "in vain: $*"
}

[ ! -e "$folder/spool" ] || fail "$folder has a demonstration already"
mkdir -p "$folder"/{spool,state,events}

# replay SENSOR SECONDS-BEFORE-NOW CAPTURE...: adds captures to what a sensor will read, as if they began then, one each minute.
replay() {
    python3 - "$NOW" "$folder/spool" "$@" <<'REPLAY'
import calendar, pathlib, struct, sys, time
now, spool, sensor, before, *captures = sys.argv[1:]
start = calendar.timegm(time.strptime(now, "%Y-%m-%d %H:%M:%S")) - int(before)
out = pathlib.Path(spool, sensor, "1.pcap")
out.parent.mkdir(exist_ok=True)
for name in captures:
    (path,) = pathlib.Path("captures").glob(f"**/{name}.pcap")
    data = path.read_bytes()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    unit = 1000 if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4") else 1
    at, first, records = 24, None, []
    while at < len(data):
        secs, fraction, kept, whole = struct.unpack_from(order + "IIII", data, at)
        nanos = secs * 10**9 + fraction * unit
        first = nanos if first is None else first
        secs, fraction = divmod(start * 10**9 + nanos - first, 10**9)
        records.append(struct.pack("<IIII", secs, fraction, kept, whole) + data[at + 16 : at + 16 + kept])
        at += 16 + kept
    link = struct.unpack_from(order + "I", data, 20)[0]
    if not out.exists():
        out.write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, link))
    with out.open("ab") as file:
        file.write(b"".join(records))
    start += 60
REPLAY
}

# Both sensors of Berlin see the same hosts. Paris has the same addresses, and a client that no other site has.
replay berlin-1 93600 tls-curl
replay berlin-1 1800 nmap-scan tls-curl
replay berlin-2 90000 tls-curl tls-rustls
replay paris-1 86400 tls-curl
replay paris-1 600 attack-tls-c2-server ssh-openssh
cat >"$folder/sensors.csv" <<'SENSORS'
site,sensor
berlin,berlin-1
berlin,berlin-2
paris,paris-1
paris,paris-2
SENSORS
echo "t13d1011h1_61a7ad8aa9b6_0d308c48d2a3,loader" >"$folder/watch.csv"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$folder/collector.conf" <<END
@version: 3.38
options { log-msg-size(1048576); create-dirs(yes); };
source sensors { network(ip(127.0.0.1) port($port) transport("tcp") flags(no-parse)); };
template line { template("\$MSG\n"); };
destination folder { file("$folder/events/\$R_YEAR-\$R_MONTH-\$R_DAY.json" template(line)); };
log { source(sensors); destination(folder); };
END
syslog-ng -F --no-caps -f "$folder/collector.conf" -R "$tmp/persist" -p "$tmp/pid" -c "$tmp/control" 2>"$folder/collector.log" &
collector=$!
await bash -c ": >/dev/tcp/127.0.0.1/$port"

# sensor NAME: reads what was captured, then ends.
sensor() {
    local packets status=0
    packets=$("$PROGRAM" pcap --stats -q "$folder/spool/$1/1.pcap" 2>&1 >/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["frames"])')
    "$PROGRAM" live -i "file:$folder/spool/$1" -c "$packets" --sensor-name "$1" --site "${1%-*}" --findings \
        --fingerprints "$folder/watch.csv" --format json -o "tcp:127.0.0.1:$port" --state "$folder/state/$1.jsonl" --stats \
        2>"$folder/$1.log" || status=$?
    # 3: a hit of a watch list.
    [ "$status" = 0 ] || [ "$status" = 3 ] || fail "$1: status $status"
}
for name in berlin-1 berlin-2 paris-1; do
    sensor $name &
    sensors+=($!)
done
for pid in "${sensors[@]}"; do
    wait "$pid" || fail "a sensor failed"
done

written=$(grep -h '^{' "$folder"/{berlin-1,berlin-2,paris-1}.log | python3 -c '
import json, sys
counters = [json.loads(line)["output"] for line in sys.stdin]
assert all(one["dropped_lines"] == 0 for one in counters), counters
print(sum(one["written_lines"] for one in counters))')
await bash -c "[ \$(cat '$folder'/events/*.json | wc -l) = $written ]"
kill "$collector"
wait "$collector" || true
collector=

python=python3
if ! python3 -c 'import duckdb' 2>/dev/null; then
    python3 -m venv "$tmp/venv"
    "$tmp/venv/bin/pip" install -q --disable-pip-version-check duckdb
    python=$tmp/venv/bin/python
fi
"$python" dist/fleet/job.py --now "$NOW" --json "$folder/sensors.csv" "$folder/events/*.json" >"$folder/job.json"
"$PROGRAM" hosts join --format json "$folder"/state/*.jsonl >"$folder/hosts.json" 2>"$folder/join.log"
"$python" - "$folder" <<'CHECK'
import json, pathlib, sys

folder = pathlib.Path(sys.argv[1])
tables = {}
for line in (folder / "job.json").read_text().splitlines():
    row = json.loads(line)
    tables.setdefault(row.pop("table"), []).append(row)
joined = [json.loads(line) for line in (folder / "hosts.json").read_text().splitlines()]


def check(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found}, not {wanted}")


both = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"]
wanted = sorted([("berlin", ip) for ip in both] + [("paris", ip) for ip in [*both, "10.0.0.10", "203.0.113.66"]])
check("hosts of the job", sorted((row["site"], row["address"]) for row in tables["hosts"]), wanted)
check("hosts of the states", sorted((host["site"], host["ip"]) for host in joined), wanted)
sensors = {(host["site"], host["ip"]): [view["sensor"] for view in host["sensors"]] for host in joined}
check("sensors of a host", sensors["berlin", "192.0.2.1"], ["berlin-1", "berlin-2"])
check("sensors of its namesake", sensors["paris", "192.0.2.1"], ["paris-1"])
rare = {row["value"]: (row["site"], row["address"], row["sensors"]) for row in tables["rare"]}
check("a rare client", rare.get("t13i310800_e8f1e7e78f70_b0d3b4ac2a14"), ("paris", "10.0.0.10", ["paris-1"]))
check("curl is rare", [value for value in rare if value.startswith("t13d3111")], [])
new = {(row["site"], row["kind"]) for row in tables["new_today"]}
check("new today", new, {("berlin", "tcp_syn"), ("paris", "hassh"), ("paris", "ja4_stable")})
silent = {row["sensor"]: row["last_event"] is None for row in tables["sensors"] if row["is_silent"]}
check("silent sensors, and whether they never spoke", silent, {"berlin-2": False, "paris-2": True})
alerts = sorted((row["sensors"], row["alert"], row["severity"], row["events"]) for row in tables["alerts"])
wanted = [
    (["berlin-1"], "Nmap SYN scan", "low", 1),
    (["berlin-1"], "Nmap SYN scan", "medium", 1),
    (["berlin-2"], "t13d1011h1_61a7ad8aa9b6_0d308c48d2a3", "high", 1),
    (["paris-1"], "unusual_server", "medium", 1),
]
check("alerts", alerts, wanted)
CHECK
echo "$written events of 3 sensors in one place, checked"
