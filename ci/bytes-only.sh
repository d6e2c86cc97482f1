#!/usr/bin/env bash
# Checks the builds without the packet engine: each passes Clippy and its tests, and depends on few crates.
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

main "$@"
