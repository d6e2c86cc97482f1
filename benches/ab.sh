#!/usr/bin/env bash
# Compares the benches of two revisions: builds both, then runs them in turn.
#
#   benches/ab.sh REV_A REV_B [tcp|http|tls|ssh|mixed] [RUNS] [ROWS]
#
# ROWS is a regular expression that selects rows of the bench. The default is the sequential full analysis, of new flows if
# the bench has them. Both revisions must have benches/Cargo.toml. Time, CPU time and peak memory of a whole run include the
# construction of the packets; the rows exclude it.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

if [ $# -lt 2 ]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
name=${3:-mixed} runs=${4:-10}
case $name in
    tcp | http | mixed) rows=${5:-'new flows: full analysis, sequential'} ;;
    tls) rows=${5:-'distinct hellos.*: full analysis, sequential'} ;;
    ssh) rows=${5:-'handshakes, full analysis, sequential'} ;;
    *) echo "no such bench: $name" >&2; exit 2 ;;
esac
target=${CARGO_TARGET_DIR:-$PWD/target}/ab

# build REVISION: prints the path of its bench.
build() {
    local commit tree
    commit=$(git rev-parse --short --verify "$1^{commit}")
    tree=$target/$commit
    if [ ! -d "$tree" ]; then
        mkdir -p "$tree"
        git archive "$commit" | tar -x -C "$tree"
    fi
    # By path, because older revisions have their benches outside of the workspace.
    (cd "$tree" && CARGO_TARGET_DIR=$tree/target cargo bench --quiet --manifest-path benches/Cargo.toml --bench "$name" --no-run >&2)
    find "$tree/target/release/deps" -name "$name-*" -type f -executable -printf '%T@ %p\n' | sort -n |
        sed -n '$s/^[^ ]* //p'
}

a=$(build "$1")
b=$(build "$2")
run() { printf 'CRITERION_HOME=%q %q --bench %q 2>/dev/null' "$target/criterion" "$1" "$rows"; }
cargo run --quiet --release -p huginn-lab -- ab --runs "$runs" "A $1" "$(run "$a")" "B $2" "$(run "$b")"
