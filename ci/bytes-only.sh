#!/usr/bin/env bash
# Checks the builds without the packet engine: each passes Clippy and its tests, depends on few crates, and builds for WebAssembly.
set -euo pipefail
cd "$(dirname "$0")/.."

# Limit of `cargo tree` of a build without the engine, in lines.
readonly MAX_CRATES=30

main() {
    check huginn-net-tls
    lean huginn-net-tls
    check huginn-net-tls certificates
    check huginn-net-tls quic
    check huginn-net-tls serde
    # No tests here: those of huginn-net-http use the database, which needs the engine.
    cargo clippy -p huginn-net-http --no-default-features -- -D warnings
    cargo clippy -p huginn-net-http --no-default-features --features serde -- -D warnings
    lean huginn-net-http
    check huginn-net-ssh
    lean huginn-net-ssh
    # Their tests use the database of signatures, which needs both.
    cargo clippy -p huginn-net-tcp --no-default-features -- -D warnings
    lean huginn-net-tcp
    check huginn-net-db tls
    lean huginn-net-db tls
    wasm
}

# check CRATE [FEATURES]
check() {
    cargo clippy -p "$1" --no-default-features --features "${2:-}" --all-targets -- -D warnings
    cargo test -q -p "$1" --no-default-features --features "${2:-}"
}

# lean CRATE [FEATURES]: fails if the engine or too many crates are in its tree.
lean() {
    local tree crates
    tree=$(cargo tree -p "$1" --no-default-features --features "${2:-}" -e normal)
    crates=$(grep -oE '[a-z0-9_-]+ v[0-9.]+' <<<"$tree" | sort -u | wc -l)
    echo "$1: $crates crates, at most $MAX_CRATES"
    if [ "$crates" -gt "$MAX_CRATES" ] || grep -q huginn-net-core <<<"$tree"; then
        echo "$tree"
        return 1
    fi
}

# wasm: builds for a target without files, sockets and threads.
wasm() {
    local target=wasm32-unknown-unknown build
    if ! timeout 300 rustup target add "$target"; then
        echo "not checked: rustup cannot fetch $target here"
        return
    fi
    for build in wire tls tls:certificates tls:quic http ssh tcp db:tls; do
        echo "$target: huginn-net-$build"
        cargo check -q --locked --target "$target" -p "huginn-net-${build%%:*}" --no-default-features \
            --features "$(cut -s -d: -f2 <<<"$build")"
    done
}

main "$@"
