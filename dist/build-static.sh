#!/usr/bin/env bash
# Builds the program for any Linux, linked statically with musl: build-static.sh FOLDER [ARCHITECTURE...]
#
# Writes huginn-net-VERSION-ARCHITECTURE-linux.tar.gz for x86_64 and aarch64, or the architectures that are named, their provenance
# (dist/provenance.py) and SHA256SUMS. With MINISIGN_KEY, a secret key of minisign, that file is signed: SHA256SUMS.minisig. An archive has
# the program with the features parquet and tls, man pages, completions, licences, the files of a service and a
# CycloneDX list of the dependencies. Two builds of a commit are equal: time and names of the machine do not enter.
# Each program is run once, with the first capture of README.md; that of another architecture with Debian's qemu-user-static.
# Needs Rust, the targets (rustup target add x86_64-unknown-linux-musl), python3 with venv for zig, and access to crates.io and PyPI.
set -euo pipefail

folder=$(realpath -m "${1:?a folder for the archives}")
shift
architectures=("$@")
[ $# -gt 0 ] || architectures=(x86_64 aarch64)
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} CARGO_INCREMENTAL=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools=$CARGO_TARGET_DIR/tools/zig
python3 -m venv "$tools"
"$tools/bin/pip" install --quiet cargo-zigbuild==0.24.* ziglang==0.17.*
PATH=$tools/bin:$PATH

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
export RUSTFLAGS="--remap-path-prefix=$PWD=huginn-net --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo ${RUSTFLAGS:-}"
export CARGO_PROFILE_RELEASE_STRIP=symbols

version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
mkdir -p "$folder"
for architecture in "${architectures[@]}"; do
    target=$architecture-unknown-linux-musl
    cargo zigbuild --release --locked --target "$target" -p huginn-net-cli --features parquet,tls
    program=$CARGO_TARGET_DIR/$target/release/huginn-net
    run=("$program")
    [ "$architecture" = "$(uname -m)" ] || run=("qemu-$architecture-static" "$program")
    name=huginn-net-$version-$architecture-linux
    root=$work/$name
    mkdir -p "$root"/{man,completions,dist}
    cp "$program" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$root"
    cp dist/huginn-net{,@}.service dist/huginn-net.{logrotate,sysusers,tmpfile,toml} "$root/dist"
    "${run[@]}" generate man "$root/man"
    for shell in bash fish zsh; do
        "${run[@]}" generate completions $shell >"$root/completions/huginn-net.$shell"
    done
    "${run[@]}" pcap --format json captures/tls/tls-curl/tls-curl.pcap | grep '"event":"tls_client"' >/dev/null
    dist/sbom.py "$target" parquet tls >"$root/huginn-net.cyclonedx.json"
    chmod -R u=rwX,go=rX "$root"
    tar c --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$work" "$name" |
        gzip -9n >"$folder/$name.tar.gz"
done
cd "$folder"
# Those of this build: others may lie beside them.
archives=("${architectures[@]/#/huginn-net-$version-}")
archives=("${archives[@]/%/-linux.tar.gz}")
"$OLDPWD/dist/provenance.py" "${archives[@]}" >"huginn-net-$version.provenance.json"
sha256sum "${archives[@]}" "huginn-net-$version.provenance.json" | tee SHA256SUMS
[ -z "${MINISIGN_KEY:-}" ] || minisign -S -s "$MINISIGN_KEY" -t "huginn-net $version" -m SHA256SUMS
