# The parts of ci/all: what needs more than Rust, a C compiler and the reference tools.
# shellcheck shell=bash

# What they need besides the packages of .ci/run.
readonly PART_PACKAGES="chromium curl dpkg-dev ethtool iproute2 lintian make nghttp2-client nginx nginx-dev
    openjdk-17-jre-headless openssl pkg-config procps prometheus python3-venv socat syslog-ng-core systemd tcpreplay tmux
    util-linux"
# What the long parts need besides.
readonly LONG_PACKAGES="buildah minisign qemu-user-static"

# Name | lane | paths whose change makes .ci/run check it. The lanes `program` and `build` run side by side. `alone` comes after them:
# rates and times count there, and what .ci/run builds for its tests is complete.
readonly PARTS="
report     | program | huginn-net-cli/src/views/report ci/report.py
monitoring | program | dist huginn-net-cli/src/control ci/monitoring.sh ci/prometheus-rules-test.yml
inventory  | program | huginn-net-cli/src/views/inventory ci/inventory.sh
formats    | program | huginn-net/src/record ci/formats.sh
collectors | program | huginn-net-cli/src/output huginn-net-cli/src/sensor ci/live/collectors.sh
python     | build   | python huginn-net-arrow huginn-net/src ci/wheel.sh
debian     | build   | dist huginn-net-cli/Cargo.toml ci/deb.sh
c          | build   | huginn-net-ffi huginn-net-consistency huginn-net-tls huginn-net-http huginn-net-proxy ci/ffi.sh ci/ffi.py
surface    | build   | huginn-net huginn-net-arrow huginn-net-bpf huginn-net-capture huginn-net-consistency huginn-net-db huginn-net-decrypt huginn-net-ffi huginn-net-http huginn-net-live huginn-net-proxy huginn-net-ssh huginn-net-tcp huginn-net-tls ci/surface ci/surface.py
examples   | alone   | examples huginn-net/src huginn-net-live huginn-net-proxy huginn-net-tls huginn-net-tcp captures docs/library.md ci/examples.py
heavy      | build   | huginn-net-datafusion huginn-net-arrow/src examples/Cargo.toml examples/Cargo.lock examples/datafusion_sql.rs examples/verify_chain.rs
static     | build   | dist/build-static.sh dist/build-image.sh dist/provenance.py dist/sbom.py ci/static.sh
systems    | build   | huginn-net-live/src huginn-net-cli/src
bytes-only | build   | huginn-net-wire huginn-net-db huginn-net-http huginn-net-ssh huginn-net-tcp huginn-net-tls ci/bytes-only.sh
parsers    | build   | huginn-net-http huginn-net-ssh huginn-net-tls
root       | alone   | huginn-net-live huginn-net-bpf huginn-net-proxy huginn-net-cli
live       | alone   | huginn-net-live huginn-net-bpf huginn-net-capture huginn-net-cli/src/sensor huginn-net-cli/src/control ci/live
lab        | alone   | lab
p0f        | alone   | huginn-net/src/p0f huginn-net-cli/src/control ci/live
fleet      | alone   | dist/fleet huginn-net-cli/src/commands/hosts_join.rs huginn-net-cli/src/sensor/state.rs huginn-net/src/hosts/state.rs huginn-net-arrow/src huginn-net/src/record ci/fleet.sh ci/json-inference.py docs/events.md huginn-net/src/hosts/joined.rs huginn-net/src/hosts/seen_by.rs huginn-net-cli/src/sensor/records.rs
terminal   | alone   | huginn-net-cli/src/views/terminal ci/terminal-view.sh
hostile    | alone   | huginn-net/src huginn-net-capture huginn-net-cli huginn-net-consistency huginn-net-db huginn-net-decrypt huginn-net-http huginn-net-ssh huginn-net-tcp huginn-net-tls ci/hostile
proxies    | alone   | huginn-net-proxy huginn-net-consistency huginn-net-http huginn-net-tls ci/proxy.sh ci/proxy.py ci/http3_proxy.rs ci/proxy-client.go ci/proxy-http3.go ci/proxy-http3.py
"
# They compile for many minutes: .ci/run leaves them to ci/all.
readonly LONG_PARTS="heavy
static
systems"
# A change of these paths makes .ci/run check every part.
readonly PATHS_OF_ALL="huginn-net-core huginn-net-wire Cargo.toml Cargo.lock captures/tools ci/lib.sh ci/parts.sh ci/all"

# part_names [LANE]: the names of all parts, or those of a lane.
part_names() {
    awk -F '|' -v lane="${1:-}" 'NF { gsub(/ /, "", $1); gsub(/ /, "", $2); if (!lane || $2 == lane) print $1 }' <<<"$PARTS"
}

# paths_of PART
paths_of() {
    awk -F '|' -v name="$1" '{ gsub(/ /, "", $1) } $1 == name { print $3 }' <<<"$PARTS"
}

# check_paths_of_parts: fails if a path of a part does not exist: a rename would hide its changes.
check_paths_of_parts() {
    local part path
    for part in $(part_names); do
        for path in $(paths_of "$part") $PATHS_OF_ALL; do
            [ -e "$path" ] || { echo "$part: no such path: $path" >&2; return 1; }
        done
    done
}

# changed_parts REVISION: the parts to check after this revision; all if it is not in the history here.
changed_parts() {
    local files part
    if ! files=$(git diff --name-only --no-renames "$1" -- 2>/dev/null) || touches "$files" "$PATHS_OF_ALL"; then
        part_names
        return
    fi
    for part in $(part_names); do
        ! touches "$files" "$(paths_of "$part")" || echo "$part"
    done
}

# touches FILES PATHS: whether a file is one of the paths, or below one.
touches() {
    local path
    for path in $2; do
        if grep -E "^$path(/|\$)" <<<"$1" >/dev/null; then
            return
        fi
    done
    return 1
}

# Lanes: the parts of each that $parts names.
program_lane() { run_parts program; }
build_lane() { run_parts build; }
alone_lane() { run_parts alone; }

run_parts() {
    local part
    for part in $(part_names "$1"); do
        [[ " $parts " != *" $part "* ]] || "part_${part//-/_}"
    done
}

# Each part is a step or several. $short is `--short` or empty.
part_parsers() {
    step "parsers: mutated inputs" env MUTATED_INPUTS=200000 cargo test -p huginn-net-http -p huginn-net-ssh -p huginn-net-tls --test it -- parsers
}
part_report() { step "report: in Chromium" ci/report.py "$program"; }
part_monitoring() { step "alerting rules and dashboard" ci/monitoring.sh; }
part_inventory() { step "inventory: CBOM against the schema" ci/inventory.sh "$program"; }
part_formats() { step "formats of other tools: read by others" ci/formats.sh "$program"; }
part_collectors() { step "sockets and compressed files: events that arrive" ci/live/collectors.sh "$program"; }
part_python() { step "Python package" ci/wheel.sh "$program"; }
part_debian() { step "Debian package" check_deb; }
part_c() { step "C interface" ci/ffi.sh "$program"; }
part_surface() { step "public interface: as ci/surface says" ci/surface.py; }
part_examples() { step "examples: as tshark, p0f and the program" ci/examples.py "$program" "$CARGO_TARGET_DIR/debug/examples"; }
part_heavy() {
    step "captures as tables of DataFusion" check_datafusion
    step "examples outside the workspace" cargo build --locked --all-features --manifest-path examples/Cargo.toml
    step "examples outside the workspace: as tshark and openssl" ci/examples.py "$program" "$CARGO_TARGET_DIR/debug/examples" outside
}
part_static() { step "static programs and images" ci/static.sh "$out/static"; }
part_systems() { step "Windows and macOS: the program compiles" check_systems; }
part_bytes_only() { step "builds without the packet engine" run_tests ci/bytes-only.sh; }
part_root() {
    step "live: tests that need root" run_tests "cargo test $(crates_with_other_features) --all-features -- --ignored"
    step "traffic lab: tests that need root" run_tests "cargo test -p huginn-lab -- --ignored"
}
part_live() { step "live: end to end" ci/live/end-to-end.sh "$program" "$full_program"; }
part_lab() { step "traffic lab" check_lab; }
part_p0f() {
    step "live: command lines of p0f's README" ci/live/p0f-command-lines.sh "$program"
    step "live: a public client of p0f's API" ci/live/p0f-client.sh "$program"
}
part_fleet() { step "fleet: three sensors and the job" ci/fleet.sh "$program" "$full_program"; }
part_terminal() { step "terminal view: under tmux" ci/terminal-view.sh "$program"; }
part_hostile() { step "hostile traffic" ci/hostile/run.sh ${short:+--short} "$program"; }
part_proxies() { step "proxies: real clients" ci/proxy.sh "$program" "$CARGO_TARGET_DIR/debug/examples"; }

check_deb() {
    cargo deb --version || cargo install --locked --debug --target-dir "$out/tools" cargo-deb
    # The program that is built already, without the feature parquet: the tests ran it with the feature.
    ci/deb.sh test --no-build "$out/debian"
}

check_datafusion() {
    cargo clippy --locked --all-targets --manifest-path huginn-net-datafusion/Cargo.toml -- -D warnings
    cargo test --locked --manifest-path huginn-net-datafusion/Cargo.toml
}

# Neither runs here: what reads capture files is the same code as on Linux.
check_systems() {
    local target
    for target in x86_64-pc-windows-gnu {x86_64,aarch64}-apple-darwin; do
        timeout 300 rustup target add $target
        cargo check --locked --target $target -p huginn-net-cli
    done
}

# The sensor under load: every connection has its events exactly once.
check_lab() {
    cargo build -p huginn-lab
    "$CARGO_TARGET_DIR/debug/huginn-lab" measure --sizes 1k --sensors huginn-net --huginn-net "$program" -d 2 --rate 300 --check
}
