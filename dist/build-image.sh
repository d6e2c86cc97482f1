#!/usr/bin/env bash
# Makes a container image of a static program, without a daemon: build-image.sh ARCHIVE IMAGE.tar
#
# ARCHIVE is one of dist/build-static.sh. The image is an OCI archive with the program, its licences and its list of
# dependencies, and nothing else. `podman load` and `docker load` (25.0 or newer) read it. Needs Debian's package buildah.
set -euo pipefail

archive=$(realpath "${1:?an archive of dist/build-static.sh}")
image=$(realpath -m "${2:?a file for the image}")
root=$(mktemp -d)
# Needs no rights beyond those of files.
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
trap 'rm -rf "$root"' EXIT

tar xz --strip-components=1 -C "$root" -f "$archive"
# huginn-net-VERSION-ARCHITECTURE-linux.tar.gz
IFS=- read -r _ _ version architecture _ <<<"$(basename "$archive")"
case $architecture in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*) echo "$archive: unknown architecture" >&2 && exit 1 ;;
esac
container=$(buildah from --arch "$architecture" scratch)
trap 'buildah rm "$container" >/dev/null; rm -rf "$root"' EXIT
buildah copy -q "$container" "$root/huginn-net" "$root/LICENSE-MIT" "$root/LICENSE-APACHE" \
    "$root/huginn-net.cyclonedx.json" / >/dev/null
# A user without rights: capture files and mirrored traffic need none, and an interface needs `--user 0 --cap-add NET_RAW`.
buildah config --arch "$architecture" --user 65534:65534 --entrypoint '["/huginn-net"]' --cmd '--help' \
    --label org.opencontainers.image.title=huginn-net \
    --label org.opencontainers.image.version="$version" \
    --label org.opencontainers.image.licenses='MIT OR Apache-2.0' "$container"
rm -f "$image"
buildah commit -q --timestamp "${SOURCE_DATE_EPOCH:-0}" "$container" "oci-archive:$image:huginn-net:$version" >/dev/null
echo "$image: $(stat -c %s "$image") bytes"
