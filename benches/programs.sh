#!/usr/bin/env bash
# Times whole programs on one capture, in turn: what reading alone costs (tcpdump), p0f, and this project's program.
#
#   benches/programs.sh [CAPTURE] [RUNS]
#
# Without a capture, one of 512 MiB is made of the captures of this project. p0f can only print its log to a file, and
# knows neither TLS nor all that this project finds in HTTP. All output goes to files in memory, where there is room.
set -euo pipefail
cd "$(dirname "$0")/.."

capture=${1:-} runs=${2:-10}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
out=$(mktemp -d "${BENCH_TMP:-/tmp}/huginn-net-programs.XXXXXX")
trap 'rm -rf "$out"' EXIT

cargo build --quiet --release -p huginn-net-cli
if [ -z "$capture" ]; then
    capture=$out/big.pcap
    cargo run --quiet --release -p huginn-net --example big_capture -- "$capture" 512
fi
[ -r "$capture" ] || { echo "$capture: cannot be read" >&2; exit 1; }
cat "$capture" >/dev/null

read=$(printf '%q' "$capture")
program=$(printf '%q' "$CARGO_TARGET_DIR/release/huginn-net")
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

echo "$(basename "$capture"): $(($(stat -Lc %s "$capture") >> 20)) MiB, $runs runs each, in turn"
benches/interleave.py "$runs" "${commands[@]}"
printf '\n%s lines of JSON\n' "$(wc -l <"$out/events.json")"
[ ! -e "$out/p0f.log" ] || printf "%s lines of p0f's log\n" "$(wc -l <"$out/p0f.log")"
