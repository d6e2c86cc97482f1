#!/usr/bin/env bash
# Times whole programs on one capture, in turn: what reading alone costs (tcpdump), p0f, and this project's program.
#
#   benches/programs.sh [CAPTURE] [RUNS]
#
# Without a capture, or with an empty name, one of 512 MiB is made of the captures of this project. p0f can only print
# its log to a file, and knows neither TLS nor all that this project finds in HTTP. Files are made in BENCH_TMP, which is
# /tmp unless set; one in memory, as /dev/shm is, keeps the disk out. What is printed becomes a part of
# benches/README.md (benches/run.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

capture=${1:-} runs=${2:-10}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
out=$(mktemp -d "${BENCH_TMP:-/tmp}/huginn-net-programs.XXXXXX")
trap 'rm -rf "$out"' EXIT

cargo build --quiet --release -p huginn-net-cli
if [ -z "$capture" ]; then
    capture=$out/big.pcap
    cargo run --quiet --release -p huginn-net --example big_capture -- "$capture" 512 >/dev/null
fi
[ -r "$capture" ] || { echo "$capture: cannot be read" >&2; exit 1; }

read=$(printf '%q' "$capture")
program=$(printf '%q' "$CARGO_TARGET_DIR/release/huginn-net")
# It is read once, so that no program is the first to do so.
counters=$("$CARGO_TARGET_DIR/release/huginn-net" pcap -q --stats -o /dev/null "$capture" 2>&1 || [ $? = 1 ])
packets=$(sed -n 's/^{"frames":\([0-9]*\).*/\1/p' <<<"$counters")
commands=()
if command -v tcpdump >/dev/null; then
    commands+=("tcpdump -w /dev/null" "tcpdump -r $read -w /dev/null 2>/dev/null")
fi
if command -v p0f >/dev/null; then
    cat huginn-net-db/signatures/*.fp >"$out/database.fp"
    commands+=("p0f -r" "rm -f $out/p0f.log; p0f -f $out/database.fp -r $read -o $out/p0f.log >/dev/null 2>&1")
fi
for workers in 1 2; do
    commands+=(
        "huginn-net -w $workers, JSON"
        "$program pcap -q -w $workers --format json -o $out/events.json $read || [ \$? = 1 ]"
    )
done
commands+=("huginn-net -w 1, p0f's log" "$program pcap -q -w 1 --format p0f -o $out/events.log $read || [ \$? = 1 ]")

echo "$(basename "$capture"): $packets packets, $(($(stat -Lc %s "$capture") >> 20)) MiB, $runs runs each, in turn"
benches/interleave.py "$runs" "${commands[@]}"
printf '\n- JSON: %s lines\n' "$(wc -l <"$out/events.json")"
printf -- "- p0f's log by huginn-net: %s lines\n" "$(wc -l <"$out/events.log")"
[ ! -e "$out/p0f.log" ] || printf -- '- by p0f: %s lines\n' "$(wc -l <"$out/p0f.log")"
