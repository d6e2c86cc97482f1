#!/usr/bin/env bash
# Compares what an analysis costs with budget.txt: instructions per packet of analyses in memory, and instructions, misses of
# caches, allocations and memory of whole runs of the program. All are nearly the same on a busy machine. They depend on the
# version of Rust, which budget.txt names, and a little on the processor: with another version nothing is compared.
#
#   benches/budget.sh [--update | --counts] PROGRAM
#
# PROGRAM: huginn-net of a release build. --update writes the counts to budget.txt, --counts prints them. INSTRUCTIONS and
# BIG_CAPTURE: the examples of these names, if they are built already. Needs valgrind.
#
# Each row of budget.txt has the count of the revision in its second line, the budget, and its name. A budget more than 5 % above
# that revision needs lines below it, indented, that state the reason.
set -euo pipefail
mode=compare
case ${1:-} in --update | --counts) mode=${1#--} && shift ;; esac
[ $# = 1 ] || { sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
program=$(realpath "$1")
[ -z "${INSTRUCTIONS:-}" ] || INSTRUCTIONS=$(realpath "$INSTRUCTIONS")
[ -z "${BIG_CAPTURE:-}" ] || BIG_CAPTURE=$(realpath "$BIG_CAPTURE")
cd "$(dirname "$0")"

readonly TOLERANCE_PERCENT=2
# Misses and memory vary between runs: hashes have random seeds.
readonly TOLERANCE_OF_CACHES_PERCENT=5
# The captures of the whole runs, and their length in megabytes.
readonly CAPTURES="curl-nginx curl-nginx-ipv6 dtls-firefox h2c http-chromium http-clients http-firefox http-pages nmap-syn
    quic-chromium quic-firefox stack-default stack-mtu-9000 starttls-smtp tls-chromium tls-clients tls-curl tls-firefox
    tls-openssl tls-resumption"
readonly MEGABYTES=16

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

main() {
    rustc --version >"$tmp/version"
    if [ $mode = compare ] && ! head -n 1 budget.txt | cmp -s - "$tmp/version"; then
        echo "The budget is that of $(head -n 1 budget.txt), and this is $(cat "$tmp/version"): not compared."
        return
    fi
    {
        count_instructions "${INSTRUCTIONS:-$(build instructions)}"
        # shellcheck disable=SC2086
        "${BIG_CAPTURE:-$(build big_capture)}" "$tmp/big.pcap" $MEGABYTES $CAPTURES >/dev/null
        ./whole_runs.py "$program" "$tmp/big.pcap"
    } >"$tmp/counts"
    case $mode in
        counts) cat "$tmp/counts" ;;
        update) update ;;
        compare) compare ;;
    esac
}

# build EXAMPLE: builds an example, and prints its path.
build() {
    cargo build --release --message-format json -p huginn-net-benches --features tools --example "$1" |
        sed -n 's/.*"name":"'"$1"'".*"executable":"\([^"]*\)".*/\1/p'
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

# Writes the counts in place of the budgets. Keeps the counts of the earlier revision and the reasons, and removes rows that are
# not counted any more.
update() {
    awk '
        NR == FNR { count = $1; sub(/^[0-9]+ /, ""); counts[$0] = count; next }
        FNR == 1 { getline version < "'"$tmp/version"'"; print version; next }
        FNR == 2 { print; next }
        /^ / { if (counted) print; next }
        { base = $1; sub(/^[0-9]+ [0-9]+ /, ""); counted = $0 in counts }
        counted { print base, counts[$0], $0 }' "$tmp/counts" budget.txt >"$tmp/new"
    cp "$tmp/new" budget.txt
}

# Prints each row with its budget. Fails if one differs by more than the tolerance or is missing, or if a budget far above the earlier
# revision has no reason.
compare() {
    tail -n +3 budget.txt | awk -v tolerance="$TOLERANCE_PERCENT" -v of_caches="$TOLERANCE_OF_CACHES_PERCENT" '
        NR == FNR && /^ / { reasons[row]++; next }
        NR == FNR { was = $1; count = $2; sub(/^[0-9]+ [0-9]+ /, ""); row = $0; base[row] = was; budget[row] = count; next }
        { count = $1; sub(/^[0-9]+ /, "") }
        {
            percent = budget[$0] ? (count / budget[$0] - 1) * 100 : 100
            since = base[$0] ? (count / base[$0] - 1) * 100 : 0
            printf "%9d, budget %9d, %+5.1f %%, since the base %+4.0f %%: %s\n", count, budget[$0], percent, since, $0
            limit = /misses|memory/ ? of_caches : tolerance
            more += percent > limit
            less += percent < -limit
            if (budget[$0] > base[$0] * 1.05 && !reasons[$0]) { print "no reason for the budget of: " $0; more++ }
            delete budget[$0]
        }
        END {
            for (name in budget) { print "no such row: " name; more++ }
            update = "benches/budget.sh --update PROGRAM writes the counts to budget.txt"
            if (more) print "Over budget. Find the cost with callgrind_annotate, or raise the budget and write the reason below it: " update "."
            if (less) print "Cheaper than the budget. Lower it, so that the gain stays: " update "."
            exit more + less > 0
        }' - "$tmp/counts"
}

main
