#!/usr/bin/env bash
# Checks that faults of its surroundings cost `huginn-net live` no event, or that it counts the lost ones and exits with
# status 1: faults.sh PROGRAM
#
# Runs as root, in network namespaces of its own, within a minute. Each packet is a SYN of another host and yields one event.
set -euo pipefail

readonly PACKAGES="ethtool iproute2 jq mount procps python3 util-linux"
readonly PROGRAMS="ethtool ip jq mount python3 sysctl timeout umount"
here=$(cd "$(dirname "$0")/../live" && pwd)
[ "${LIMITED:-}" = yes ] || LIMITED=yes exec timeout --kill-after=10 120 "$0" "$@"
LAB=${LAB:-faults-$$}
. "$here/namespaces.sh"

[ $# = 1 ] || fail "which program? faults.sh PROGRAM"
program=$(realpath "$1")

main() {
    setup
    trap 'status=$?; umount "$tmp/small" 2>/dev/null || true; cleanup $status' EXIT
    cable_up
    part "process stopped for 3 s" stalls
    part "output file deleted" deleted_file
    part "directory of the output created again" other_directory
    part "full disk" full_disk
    part "full standard output" full_stdout
    part "limit of the length of files" long_file
    part "SIGKILL during rotations" killed
    echo "all parts passed in $SECONDS s"
}

# syns FIRST COUNT RATE: sends SYNs from the addresses 10.0.0.0 + FIRST and so on, RATE each second.
syns() {
    client python3 - "$@" <<'PYTHON'
import socket, struct, sys, time

first, count, rate = map(int, sys.argv[1:])
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("hn-a", 0))
ethernet = bytes.fromhex("02000000000b" "02000000000a" "0800")
start = time.monotonic()
for sent in range(count):
    if sent % 16 == 0:
        time.sleep(max(0, start + sent / rate - time.monotonic()))
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 44, 1, 0x4000, 64, 6, 0, 0x0A000000 + first + sent, 0xC0000202)
    tcp = struct.pack(">HHIIBBHHHBBH", 40000, 80, 1, 0, 6 << 4, 2, 64240, 0, 0, 2, 4, 1460)
    sender.send(ethernet + ip + tcp)
PYTHON
}

# sensor NAME ARGUMENT...: starts the sensor, whose events are those SYNs.
sensor() {
    local name=$1
    shift
    live "$name" "$program" --stats --format json --events tcp_syn "$@"
}

# numbers FILE...: the numbers of the SYNs of the events, sorted.
numbers() { jq -r '.client.ip | split(".") | map(tonumber) | .[1] * 65536 + .[2] * 256 + .[3]' "$@" | sort -n; }

# holds_numbers FIRST COUNT FILE...: succeeds if the files have one event of each of these SYNs, and no other.
holds_numbers() {
    local first=$1 count=$2
    shift 2
    [ "$(numbers "$@" 2>/dev/null | md5sum)" = "$(seq "$first" $((first + count - 1)) | md5sum)" ]
}

written() { [ "$(wc -l <"$2")" = "$1" ]; }

stalls() {
    local rate
    for rate in 200 20000; do
        sensor stalled -o "$tmp/stalled-$rate.json"
        kill -STOP "${pids[stalled]}"
        syns 0 $((3 * rate)) "$rate"
        kill -CONT "${pids[stalled]}"
        eventually "$rate/s: all events" written $((3 * rate)) "$tmp/stalled-$rate.json"
        stop stalled
        holds_numbers 0 $((3 * rate)) "$tmp/stalled-$rate.json" || fail "$rate/s: events are missing"
        [ "$(counted stalled '[.capture[].kernel_dropped] | add')" = 0 ] || fail "$rate/s: $(counted stalled .capture)"
    done
}

deleted_file() {
    local rotation
    for rotation in "" "--rotate-size 1M"; do
        sensor deleted -o "$tmp/deleted.json" $rotation
        syns 0 10 1000
        eventually "first events" written 10 "$tmp/deleted.json"
        # The check of the file is older than the deletion.
        rm "$tmp/deleted.json"
        syns 10 200 100
        eventually "the new file" test -e "$tmp/deleted.json"
        stop deleted
        [ "$(numbers "$tmp/deleted.json" | tail -n 200 | md5sum)" = "$(seq 10 209 | md5sum)" ] || fail "events are missing"
        rm "$tmp/deleted.json"
    done
}

other_directory() {
    local sandbox
    for sandbox in "" --no-sandbox; do
        mkdir "$tmp/inner"
        sensor moved -v -o "$tmp/inner/events.json" $sandbox
        rm -r "$tmp/inner"
        mkdir "$tmp/inner"
        syns 0 20 1000
        if [ -z "$sandbox" ] && said moved "confined by Landlock"; then
            eventually "a message" said moved "was deleted or replaced, cannot be opened again"
            stop moved TERM 1
            [ "$(counted moved '.output.dropped_lines')" = 20 ] || fail "not counted: $(counted moved .output)"
        else
            eventually "the new file" test -s "$tmp/inner/events.json"
            stop moved
            holds_numbers 0 20 "$tmp/inner/events.json" || fail "events are missing"
        fi
        rm -r "$tmp/inner"
    done
}

# has_parquet: succeeds if the program was built with Parquet.
has_parquet() {
    local said
    said=$("$program" live -i none --format parquet -o none --rotate-interval 1s 2>&1) || true
    ! grep -q "build it with" <<<"$said"
}

full_disk() {
    mkdir "$tmp/small"
    mount -t tmpfs -o size=1m tmpfs "$tmp/small"
    sensor full -o "$tmp/small/events.json"
    syns 0 4000 10000
    eventually "a message" said full "No space left on device"
    stop full TERM 1
    said full "lost $(counted full .output.dropped_lines) events: could not write" || fail "lost events are not reported"
    jq -e 'true' "$tmp/small/events.json" >/dev/null || fail "a line is cut"
    [ "$(counted full '.output.written_lines')" = "$(wc -l <"$tmp/small/events.json")" ] || fail "written: $(counted full .output)"
    [ "$(counted full '.output | .written_lines + .dropped_lines')" = 4000 ] || fail "not counted: $(counted full .output)"
    rm "$tmp/small/events.json"
    if ! has_parquet; then
        echo "   Parquet: not in this build"
    else
        dd if=/dev/zero of="$tmp/small/ballast" bs=1k count=1020 status=none
        live tables "$program" --stats --format parquet -o "$tmp/small/events.parquet" --rotate-interval 1s
        syns 0 4000 4000
        eventually "Parquet: a message" said tables "No space left on device"
        stop tables TERM 1
        grep -q 'lost [1-9][0-9]* events$' "$tmp/tables.err" || fail "Parquet: lost events are not reported"
    fi
    umount "$tmp/small"
}

full_stdout() {
    ip netns exec "$SERVER_NS" "$program" live -i hn-b --stats --format json --events tcp_syn \
        >/dev/full 2>"$tmp/stdout.err" &
    pids[stdout]=$!
    eventually "watching" watching stdout
    syns 0 20 1000
    eventually "a message" said stdout "No space left on device"
    stop stdout TERM 1
    [ "$(counted stdout '.output.dropped_lines')" = 20 ] || fail "not counted: $(counted stdout .output)"
}

long_file() {
    (
        ulimit -f 16 # KiB
        exec ip netns exec "$SERVER_NS" "$program" live -i hn-b --format json --events tcp_syn -o "$tmp/long.json" \
            2>"$tmp/long.err"
    ) &
    pids[long]=$!
    eventually "watching" watching long
    syns 0 200 1000
    eventually "a message" said long "File too large"
    stop long TERM 1
    jq -e 'true' "$tmp/long.json" >/dev/null || fail "a line is cut"
}

# A process that is killed may lose what it has not written yet, and cut one line, but no other.
killed() {
    local round sender last
    mkdir "$tmp/killed"
    for round in 1 2 3; do
        sensor killed -o "$tmp/killed/events.json" --rotate-size 4k
        syns $((round * 65536)) 5000 5000 &
        sender=$!
        sleep "0.$((RANDOM % 5 + 3))"
        stop killed KILL 137
        wait "$sender"
        # The next start ends the cut line.
        sensor killed -o "$tmp/killed/events.json" --rotate-size 1G
        stop killed
        cat "$tmp"/killed/events.json* | jq -Rr 'fromjson? | .client.ip | split(".") | map(tonumber) | .[1] * 65536 + .[2] * 256 + .[3]' |
            sort -n >"$tmp/killed.numbers"
        last=$(tail -n 1 "$tmp/killed.numbers")
        [ -n "$last" ] || fail "no events"
        diff <(seq $((round * 65536)) "$last") "$tmp/killed.numbers" >/dev/null || fail "events are missing or repeated"
        [ "$(cat "$tmp"/killed/events.json* | jq -R 'fromjson? // "cut"' | grep -c '^"cut"$')" -le 1 ] || fail "lines are cut"
        rm "$tmp"/killed/*
    done
}

main "$@"
