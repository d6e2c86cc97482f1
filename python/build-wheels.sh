#!/usr/bin/env bash
# Builds the source distribution, and wheels from it: build-wheels.sh FOLDER [TARGET...]
#
# A wheel runs on every CPython from 3.10 on. By default there are four: x86_64 and aarch64, with glibc 2.17 or newer
# (manylinux_2_17) and with musl (musllinux_1_2). TARGET is Rust's name of one of these, such as aarch64-unknown-linux-musl.
# zig links, so that any Linux builds for all of them. Needs Rust, the targets (rustup target add), python3 with venv, and
# access to crates.io and PyPI. Two builds of a commit in the same folder are equal.
set -euo pipefail

folder=$(realpath -m "${1:?a folder for the wheels}")
shift
targets=("$@")
[ $# -gt 0 ] || targets=({x86_64,aarch64}-unknown-linux-{gnu,musl})
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
sources=$CARGO_TARGET_DIR/sdist
tools=$CARGO_TARGET_DIR/tools/zig
python3 -m venv "$tools"
"$tools/bin/pip" install --quiet maturin==1.16.* ziglang==0.17.*
PATH=$tools/bin:$PATH

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
# Panic messages name no folder of this machine.
export RUSTFLAGS="--remap-path-prefix=$sources=huginn-net --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo ${RUSTFLAGS:-}"

rm -rf "$sources"
mkdir -p "$folder" "$sources"
maturin sdist --manifest-path python/Cargo.toml --out "$folder"
tar xzf "$folder"/huginn_net-*.tar.gz -C "$sources" --strip-components=1
for target in "${targets[@]}"; do
    case $target in
    *-musl) tag=musllinux_1_2 ;;
    *) tag=manylinux_2_17 ;;
    esac
    maturin build --release --locked --strip --zig --target "$target" --compatibility "$tag" --auditwheel check \
        --manifest-path "$sources/python/Cargo.toml" --out "$folder"
done
