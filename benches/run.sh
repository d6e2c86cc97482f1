#!/usr/bin/env bash
# Runs benches several times, each time in its own process. Writes the medians to benches/results and selected rows to
# benches/README.md.
#
#   benches/run.sh [tcp|http|tls|ssh|mixed|peers|programs]... [RUNS]
#
# The default is all benches, three runs each. Results of the other benches stay unchanged.
set -euo pipefail
cd "$(dirname "$0")/.."
. benches/machine.sh

runs=3 names=()
for argument; do
    case $argument in
        tcp | http | tls | ssh | mixed | peers | programs) names+=("$argument") ;;
        [1-9]*) runs=$argument ;;
        *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
[ ${#names[@]} -gt 0 ] || names=(tcp http tls ssh mixed peers programs)

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# bench NAME: runs the bench once. peers and programs run their candidates in turn and several times by themselves.
bench() {
    case $1 in
        peers)
            cargo bench --manifest-path benches/peers/Cargo.toml --bench analysis
            printf '\nOne hello after the other, without packets:\n\n```text\n'
            cargo bench --manifest-path benches/peers/Cargo.toml --bench ja4
            printf '```\n'
            ;;
        programs) benches/programs.sh '' "$runs" ;;
        *) cargo bench -p huginn-net-benches --bench "$1" ;;
    esac
}

# medians FILE...: prints the table of the first file with the medians of all files, and the remarks of the last.
medians() {
    awk -F ' *[|] *' '
        FNR == 1 { file++ }
        /^[|]/ && NF == 10 && $4 !~ /^[0-9.]+$/ && file == 1 { print; next }
        /^[|]/ && NF == 10 && $4 ~ /^[0-9.]+$/ {
            key = $2 " | " $3
            if (!(key in count)) { order[++rows] = key; events[key] = $9 }
            nanos[key, ++count[key]] = $4
            cpu[key, count[key]] = $5
        }
        /^- / && !/the quickest block size/ { if (last != file) { remarks = ""; last = file } remarks = remarks $0 "\n" }
        function median(values, key,    n, i, j, sorted, value) {
            n = count[key]
            for (i = 1; i <= n; i++) {
                value = values[key, i]
                for (j = i - 1; j > 0 && sorted[j] + 0 > value + 0; j--) sorted[j + 1] = sorted[j]
                sorted[j + 1] = value
            }
            return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
        }
        function commas(number,    text) {
            number = sprintf("%d", number)
            while (length(number) > 3) {
                text = "," substr(number, length(number) - 2) text
                number = substr(number, 1, length(number) - 3)
            }
            return number text
        }
        function share(percents) { return sprintf("%.2f %%%s", percents, percents > 100 ? " OVERLOAD" : "") }
        END {
            for (row = 1; row <= rows; row++) {
                key = order[row]
                time = median(nanos, key)
                printf "| %s | %.1f | %s | %s | %s | %s | %s |\n", key, time, median(cpu, key), commas(1e9 / time),
                    share(time * 81274 / 1e7), share(time * 812740 / 1e7), events[key]
                split(key, part, " [|] ")
                if (part[2] ~ /blocks of/ && (!(part[1] in least) || time < least[part[1]])) {
                    least[part[1]] = time
                    quickest[part[1]] = part[2]
                }
            }
            printf "\n%s", remarks
            for (operation in quickest) {
                printf "- %s: the quickest block size: %s\n", operation, quickest[operation]
            }
        }' "$@"
}

# section NAME: prints the figures of a results page.
section() {
    local files=("$out/$1".*)
    printf '%s; revision %s, %s. ' "$(machine)" "$(revision)" "$(date -u +%F)"
    if [[ $1 = peers || $1 = programs ]]; then
        printf 'One run, of several passes in turn.\n\n'
        cat "${files[-1]}"
    else
        if [ "$runs" = 1 ]; then echo "One run."; else echo "Medians of $runs runs."; fi
        echo
        medians "${files[@]}"
    fi
}

# replace NAME: replaces the figures of a page in benches/results.
replace() {
    local page=benches/results/$1.md
    section "$1" >"$out/section"
    { sed '/^<!-- figures -->$/q' "$page"; echo; cat "$out/section"; } >"$out/page"
    cat "$out/page" >"$page"
}

for ((run = 1; run <= runs; run++)); do
    for name in "${names[@]}"; do
        [[ $name != peers && $name != programs ]] || [ "$run" = 1 ] || continue
        echo "run $run of $runs: $name" >&2
        bench "$name" >"$out/$name.$run" 2>"$out/log" || { cat "$out/log" >&2; exit 1; }
    done
done
for name in "${names[@]}"; do
    replace "$name"
done
benches/tables.py
