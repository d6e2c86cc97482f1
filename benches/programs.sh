#!/usr/bin/env bash
# Compares whole programs on one capture, in turn: tcpdump (the cost of reading), p0f, and huginn-net.
#
#   benches/programs.sh [CAPTURE] [RUNS]
#
# Without a capture, or with an empty name, the script makes two of 256 MiB: one of pages, one of all captures of this
# project. p0f can only print its log to a file, and reads no TLS and less of HTTP. The variable BENCH_TMP names the folder
# of the files (default: /tmp); a folder in memory, such as /dev/shm, excludes the disk. benches/run.sh writes the output
# to benches/results/programs.md.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly MEGABYTES=256
capture=${1:-} runs=${2:-10}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
program=$CARGO_TARGET_DIR/release/huginn-net
out=$(mktemp -d "${BENCH_TMP:-/tmp}/huginn-net-programs.XXXXXX")
trap 'rm -rf "$out"' EXIT

main() {
    cargo build --quiet --release -p huginn-net-cli -p huginn-lab
    cat huginn-net-db/signatures/*.fp >"$out/database.fp"
    if [ -n "$capture" ]; then
        compare "$capture"
        return
    fi
    make_capture pages http-pages
    compare "$out/pages.pcap"
    rm "$out/pages.pcap"
    echo
    make_capture all
    compare "$out/all.pcap"
}

# make_capture NAME [CAPTURE]...
make_capture() {
    cargo run --quiet --release -p huginn-net-benches --features tools --example big_capture -- "$out/$1.pcap" $MEGABYTES "${@:2}" >/dev/null
}

compare() {
    local counters packets workers commands=()
    [ -r "$1" ] || { echo "$1: cannot be read" >&2; exit 1; }
    # Reads the capture once, so that it is in the page cache for every program.
    counters=$("$program" pcap -q --stats -o /dev/null "$1" 2>&1 || [ $? = 1 ])
    packets=$(sed -n 's/^{"frames":\([0-9]*\).*/\1/p' <<<"$counters")
    local read=${1@Q} at=${out@Q} written n ours="${program@Q} pcap -q"

    if command -v tcpdump >/dev/null; then
        commands+=("tcpdump -w /dev/null" "tcpdump -r $read -w /dev/null 2>/dev/null")
    fi
    if command -v p0f >/dev/null; then
        commands+=("p0f -r" "p0f -f $at/database.fp -r $read -o $at/p0f.log >/dev/null 2>&1")
    fi
    for workers in 1 2; do
        commands+=(
            "huginn-net -w $workers, JSON"
            "$ours -w $workers --format json -o $at/events.json $read || [ \$? = 1 ]"
        )
    done
    commands+=("huginn-net -w 1, p0f's log" "$ours -w 1 --format p0f -o $at/events.log $read || [ \$? = 1 ]")

    echo "$(basename "$1"): $packets packets, $(($(stat -Lc %s "$1") >> 20)) MiB, $runs runs each, in turn"
    # Each program writes to a new file, because truncating an old one would count as its work.
    "$CARGO_TARGET_DIR/release/huginn-lab" ab --before "rm -f $at/events.* $at/p0f.log" --runs "$runs" "${commands[@]}"
    echo
    for ((n = 0; n < ${#commands[@]}; n += 2)); do
        rm -f "$out"/events.* "$out/p0f.log"
        eval "${commands[n + 1]}"
        for written in "$out"/events.* "$out/p0f.log"; do
            [ ! -e "$written" ] || echo "- ${commands[n]}: $(wc -l <"$written") lines"
        done
    done
}

main
