#!/usr/bin/env bash
# Compares the instructions per packet of an analysis with budget.txt. Counts are the same on a busy machine. They depend on the
# version of Rust, which budget.txt names, and a little on the processor: with another version nothing is compared.
#
#   benches/budget.sh [--update] [PROGRAM]
#
# PROGRAM: the example `instructions` of a release build; built if it is not given. --update writes budget.txt.
# Needs valgrind.
set -euo pipefail
cd "$(dirname "$0")"

readonly TOLERANCE_PERCENT=2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

main() {
    local update=
    [ "${1:-}" != --update ] || { update=1 && shift; }
    rustc --version >"$tmp/version"
    if [ ! "$update" ] && ! head -n 1 budget.txt | cmp -s - "$tmp/version"; then
        echo "The budget is that of $(head -n 1 budget.txt), and this is $(cat "$tmp/version"): not compared."
        return
    fi
    count_instructions "${1:-$(build)}" >"$tmp/counts"
    if [ "$update" ]; then
        cat "$tmp/version" "$tmp/counts" >budget.txt
    else
        tail -n +2 budget.txt >"$tmp/budget"
        compare
    fi
}

# Builds the program. Prints its path.
build() {
    cargo build --release --message-format json -p huginn-net-benches --features tools --example instructions |
        sed -n 's/.*"name":"instructions".*"executable":"\([^"]*\)".*/\1/p'
}

# count_instructions PROGRAM: prints instructions per packet and name of each row. Callgrind writes a file for each call of
# the counted function, in the order of the rows.
count_instructions() {
    local n=0 packets name
    valgrind -q --tool=callgrind --callgrind-out-file="$tmp/row" \
        --toggle-collect='*::counted' --dump-after='*::counted' "$1" >"$tmp/rows"
    while read -r packets name; do
        n=$((n + 1))
        awk -v packets="$packets" -v name="$name" \
            '/^summary:/ { printf "%.0f %s\n", $2 / packets, name; exit }' "$tmp/row.$n"
    done <"$tmp/rows"
}

# Prints each row with its budget. Fails if one differs by more than the tolerance, or is missing.
compare() {
    awk -v tolerance="$TOLERANCE_PERCENT" '
        { count = $1; sub(/^[0-9]+ /, "") }
        NR == FNR { budget[$0] = count; next }
        {
            percent = budget[$0] ? (count / budget[$0] - 1) * 100 : 100
            printf "%6d instructions per packet, budget %6d, %+5.1f %%: %s\n", count, budget[$0], percent, $0
            more += percent > tolerance
            less += percent < -tolerance
            delete budget[$0]
        }
        END {
            for (name in budget) { print "no such row: " name; more++ }
            update = "benches/budget.sh --update writes the counts to budget.txt"
            if (more) print "Over budget. Find the cost with callgrind_annotate, or raise the budget and say why in the commit: " update "."
            if (less) print "Cheaper than the budget. Lower it, so that the gain stays: " update "."
            exit more + less > 0
        }' "$tmp/budget" "$tmp/counts"
}

main "$@"
