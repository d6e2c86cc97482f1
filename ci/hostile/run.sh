#!/usr/bin/env bash
# Runs the programs of this folder.
#
#   sudo ci/hostile/run.sh [--short] PROGRAM
#
# PROGRAM is a release build of huginn-net. --short leaves out QUIC, which needs aioquic from PyPI, and takes smaller floods.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
export PYTHONDONTWRITEBYTECODE=1
short=
if [ "${1:-}" = --short ]; then
    short=--short
    shift
fi
[ $# = 1 ] || { sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
program=$1

main() {
    local evasion=()
    if [ -z "$short" ]; then
        tmp=$(mktemp -d)
        trap 'rm -rf "$tmp"' EXIT
        python3 -m venv "$tmp/venv"
        "$tmp/venv/bin/pip" install --quiet aioquic
        evasion=(--quic-python "$tmp/venv/bin/python")
    fi
    part evasion "$here/evasion.py" --bin "$program" ${evasion[@]+"${evasion[@]}"}
    part floods "$here/floods.py" --bin "$program" $short
    part amplification "$here/amplification.py" --bin "$program"
    part HTTP "$here/http_attempts.py" "$program"
    part faults "$here/faults.sh" "$program"
    part alerts "$here/alerts.py" "$program" $short
    part ends "$here/ends.py" "$program" --every "$([ -n "$short" ] && echo 61 || echo 5)"
    part loss "$here/loss.py" "$program" $short
}

# part NAME COMMAND...: a heading, the command, and its time.
part() {
    local start=$SECONDS
    printf -- '-- %s\n' "$1"
    shift
    "$@"
    printf -- '-- %d s\n' $((SECONDS - start))
}

main
