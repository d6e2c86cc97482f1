# Steps of the project's checks: what .ci/run and ci/all share. Both set `cd` to the root of the project before they read this file.
# shellcheck shell=bash

readonly PACKAGES="binutils g++ gcc git jq libc6-dev libpcap-dev p0f python3 tcpdump tshark valgrind zstd"

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} CARGO_INCREMENTAL=0 CARGO_TERM_COLOR=never
# One profile for all workspaces: they share the dependencies that are built.
export CARGO_PROFILE_DEV_DEBUG=0
export DEBIAN_FRONTEND=noninteractive
out=$CARGO_TARGET_DIR/ci
program=$CARGO_TARGET_DIR/release/huginn-net
# The program with every feature.
full_program=$CARGO_TARGET_DIR/debug/huginn-net
current=

# start: empties what the last run left, and prints a summary at the end.
start() {
    rm -rf "$out"/{times,failed,logs}
    mkdir -p "$out/logs"
    : >"$out/tests.log"
    trap 'exit 124' TERM
    trap 'status=$?; kill $(jobs -p) 2>/dev/null || true; wait; summary $status' EXIT
}

# step NAME COMMAND...: a heading, the command, the time that it took. The output stays in a file if it fails.
step() {
    local name=$1 start=$SECONDS log
    shift
    current=$name
    printf '\n== %s\n' "$name"
    log=$out/logs/${name//[^[:alnum:]]/-}
    "$@" 2>&1 | tee "$log"
    rm "$log"
    echo "$((SECONDS - start)) s  $name" >>"$out/times"
    current=
}

# side_by_side LANE...: runs functions at the same time, all of them to their end, or to a step that fails.
side_by_side() {
    local lane pid status=0 pids=()
    for lane in "$@"; do
        (
            trap '[ -z "$current" ] || echo "$current" >>"$out/failed"' EXIT
            "$lane"
        ) > >(sed -u "s/^/$lane: /") 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || status=$?
    done
    return $status
}

summary() {
    printf '\n== times\n'
    cat "$out/times" || true
    echo "$SECONDS s in all"
    if [ "$1" != 0 ]; then
        [ -z "$current" ] || echo "$current" >>"$out/failed"
        sed 's/^/FAILED: /' "$out/failed" || echo "FAILED: $0"
        tail -n 15 "$out"/logs/* | cut -c -300
    fi
    awk '/^test result:/ { passed += $4; failed += $6 } END { printf "tests: %d passed, %d failed\n", passed, failed }' \
        "$out/tests.log"
}

# install_packages NAMES: installs the Debian packages that are missing.
install_packages() {
    local package missing=()
    for package in $1; do
        dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep ' installed$' >/dev/null || missing+=("$package")
    done
    if [ ${#missing[@]} = 0 ]; then
        echo "all installed"
        return
    fi
    apt-get update -q
    apt-get install -q -y --no-install-recommends "${missing[@]}"
}

run_tests() {
    echo "$1"
    bash -c "$1" 2>&1 | tee -a "$out/tests.log"
}

# Options that select the crates with features that `cargo test --workspace` leaves out. The benches have no tests.
crates_with_other_features() {
    comm -13 <(crates_with_features) <(crates_with_features --all-features) | sed -n '/benches/!s/^\([^ ]*\).*/-p \1/p' | xargs
}

# crates_with_features [OPTION]: the crates of this workspace, one on each line with its features.
crates_with_features() {
    cargo tree --workspace --depth 0 --prefix none --format '{p} {f}' "$@" | grep . | sort
}
