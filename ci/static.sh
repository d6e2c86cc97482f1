#!/usr/bin/env bash
# Builds the static programs of both architectures and the image, and checks what they contain: static.sh [FOLDER]
#
# Needs what dist/build-static.sh and dist/build-image.sh need, and Debian's package minisign.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(realpath -m "${1:-${CARGO_TARGET_DIR:-target}/static}")
rm -rf "$folder"
mkdir -p "$folder/key"
timeout 300 rustup target add {x86_64,aarch64}-unknown-linux-musl
minisign -G -W -f -s "$folder/key/secret" -p "$folder/key/public" >/dev/null

MINISIGN_KEY=$folder/key/secret dist/build-static.sh "$folder"
(cd "$folder" && sha256sum --check --strict SHA256SUMS && minisign -V -q -p key/public -m SHA256SUMS)
archives=("$folder"/huginn-net-*-linux.tar.gz)
[ ${#archives[@]} = 2 ]
# Each archive is named with its sum.
for archive in "${archives[@]}"; do
    jq -e --arg sum "$(sha256sum <"$archive" | cut -d' ' -f1)" '.subject | any(.digest.sha256 == $sum)' \
        "$folder"/*.provenance.json >/dev/null
done
[ "$(jq -r '.predicate.buildDefinition.resolvedDependencies[0].digest.gitCommit' "$folder"/*.provenance.json)" = "$(git rev-parse HEAD)" ]

# layers FOLDER: the layers of an unpacked image.
layers() {
    local manifest
    manifest=$(jq -r '.manifests[0].digest | sub(":"; "/")' "$1/index.json")
    jq -r --arg folder "$1" '.layers[].digest | sub(":"; "/") | "\($folder)/blobs/\(.)"' "$1/blobs/$manifest"
}

for archive in "${archives[@]}"; do
    image=${archive%.tar.gz}.image
    dist/build-image.sh "$archive" "$image.tar"
    mkdir -p "$image/root"
    tar x -C "$image" -f "$image.tar"
    for layer in $(layers "$image"); do
        tar x -C "$image/root" -f "$layer"
    done
    # The program, two licences and the list of dependencies, and nothing else.
    (cd "$image/root" && find . -type f | sort) | diff - <(printf './%s\n' LICENSE-APACHE LICENSE-MIT huginn-net huginn-net.cyclonedx.json)
done
chroot --userspec=65534:65534 "$folder"/huginn-net-*-x86_64-linux.image/root /huginn-net --version
echo "2 archives, 2 images, signature and provenance are good"
