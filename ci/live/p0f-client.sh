#!/bin/bash
# Queries the p0f socket of `huginn-net live` with a public client, and compares every field: p0f-client.sh PROGRAM
#
# Runs as root. Replays captures of this project over a veth pair in a network namespace of its own. The client is the
# package p0f from PyPI. Needs tcpreplay, python3 with venv, and access to PyPI.
set -euo pipefail

program=$(realpath "${1:?the program huginn-net}")
captures=$(realpath "$(dirname "$0")/../../captures")
client=p0f==1.0.0

if [ "${2:-}" != in-namespace ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/pip" install --quiet "$client"
    unshare --net "$0" "$program" in-namespace "$folder"
    exit
fi

folder=$3
ip link set lo up
ip link add ask0 type veth peer name ask1
for name in ask0 ask1; do
    sysctl -qw "net.ipv6.conf.$name.disable_ipv6=1"
    ip link set "$name" arp off up
done

"$program" live -i ask1 -q --format json -o "$folder/events" --p0f-socket "$folder/p0f.sock" &
live=$!
trap 'kill "$live" 2>/dev/null || true' EXIT
for _ in $(seq 100); do
    [ -S "$folder/p0f.sock" ] && break
    sleep 0.1
done
[ "$(stat -c %a "$folder/p0f.sock")" = 600 ]

"$folder/venv/bin/python" - "$folder/p0f.sock" "$captures" <<'EOF'
import datetime
import glob
import subprocess
import sys
import time

from p0f import P0f, P0fException

path, captures = sys.argv[1:]
client = P0f(path, timeout=5)
began = datetime.datetime.now().replace(microsecond=0)

NOTHING = {
    "magic": 0x50304602, "status": 16, "uptime": None, "uptime_min": None, "uptime_sec": None,
    "up_mod_days": datetime.timedelta(0), "last_nat": None, "last_chg": None, "distance": 0, "bad_sw": None, "os_match_q": 0,
    "os_name": None, "os_flavor": None, "http_name": None, "http_flavor": None, "link_type": None, "language": None,
}
TIMES = ["first_seen", "last_seen", "last_nat", "last_chg"]
NGINX = {"http_name": "nginx", "http_flavor": "or based on nginx (OpenResty, T"}
LINUX = {"os_name": "Linux", "os_flavor": "4.20 or newer", "link_type": "Ethernet"}
# captures/README.md describes the captures. "seen" stands for any time since the start.
EXPECTED = {
    "curl-nginx.pcap": {
        "192.0.2.1": {
            **LINUX, "total_conn": 3, "http_name": "curl", "http_flavor": "7.43 or newer", "language": "German",
        },
        "192.0.2.2": {**LINUX, **NGINX, "total_conn": 3},
    },
    "hosts-nat.pcap": {
        "192.0.2.1": {
            "os_name": "Windows", "os_flavor": "2000, XP or newer", "link_type": "Ethernet", "total_conn": 27,
            "distance": 1, "last_nat": "seen", "last_chg": "seen", "language": "English",
            "http_name": "Chromium", "http_flavor": "Chrome 39 or newer, or a browse",
        },
    },
    "hosts-ua.pcap": {
        "192.0.2.1": {
            **LINUX, "total_conn": 39, "last_nat": "seen", "last_chg": "seen", "bad_sw": 1,
            "http_name": "Safari", "language": "English",
        },
    },
}


def plain(value):
    return value.rstrip(b"\0").decode() or None if isinstance(value, bytes) else value


def query(address):
    answer = {name: plain(value) for name, value in client.get_info(address).items()}
    now = datetime.datetime.now()
    for name in TIMES:
        if answer[name] is not None:
            assert began <= answer[name] <= now, (address, name, answer[name])
            answer[name] = "seen"
    return answer


def unknown(address):
    try:
        client.get_info(address)
    except KeyError:
        return True
    return False


failed = 0
assert unknown("192.0.2.1")
for capture, hosts in EXPECTED.items():
    [path] = glob.glob(f"{captures}/*/*/{capture}")
    subprocess.run(["tcpreplay", "-q", "-i", "ask0", path], check=True, stdout=subprocess.DEVNULL)
    time.sleep(1)
    for address, fields in hosts.items():
        expected = {**NOTHING, "first_seen": "seen", "last_seen": "seen", **fields}
        answer = query(address)
        for name in sorted(expected.keys() | answer.keys()):
            if expected.get(name) != answer.get(name):
                failed += 1
                print(f"{capture}: {address}: {name}: {answer.get(name)!r}, not {expected.get(name)!r}")
assert unknown("192.0.2.77")
sys.exit(f"{failed} fields differ" if failed else 0)
EOF

kill -TERM "$live"
wait "$live"
[ ! -e "$folder/p0f.sock" ]
echo "all fields are as expected"
