#!/usr/bin/env bash
# Runs artifacts on a machine with nothing but a shell: first-result.sh ARTIFACT...
#
# One command leads from each artifact to the first event: an archive of dist/build-static.sh in a folder with BusyBox alone, an image of
# dist/build-image.sh, a Debian package in a new minimal Debian, a wheel in an environment without a package index. Prints size and time of
# each. Needs root, and of Debian's packages those for what is given: busybox-static, buildah, debootstrap, python3-venv.
set -euo pipefail

capture=$(realpath "$(dirname "$0")/../captures/tls/tls-curl/tls-curl.pcap")
[ $# -gt 0 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 2; }
root=$(mktemp -d)
container=
cleanup() {
    [ -z "$container" ] || buildah rm "$container" >/dev/null
    ! mountpoint -q "$root/proc" || umount "$root/proc"
    rm -rf "$root"
}
trap cleanup EXIT
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs

# in_busybox COMMAND: runs it where nothing else is.
in_busybox() {
    mkdir -p "$root/bin"
    cp "$(command -v busybox)" "$root/bin"
    "$root/bin/busybox" --install "$root/bin"
    cp "$capture" "$artifact" "$root"
    begin=$(date +%s%N)
    env -i PATH=/bin "$(command -v chroot)" "$root" /bin/sh -c "$1"
}

in_debian() {
    [ -d "$root/usr" ] || debootstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" >/dev/null
    mount -t proc proc "$root/proc"
    cp "$capture" "$artifact" "$root"
    begin=$(date +%s%N)
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$(command -v chroot)" "$root" /bin/sh -c "$1"
}

for artifact; do
    artifact=$(realpath "$artifact") name=$(basename "$artifact")
    analyze="pcap -q --format json"
    begin=$(date +%s%N)
    case $name in
    *.tar.gz) command="tar xzf $name && ./${name%.tar.gz}/huginn-net $analyze $(basename "$capture")"
        in_busybox "$command" ;;
    *.tar) container=$(buildah from -q "oci-archive:$artifact")
        command="podman run -v .:/captures $name $analyze /captures/$(basename "$capture")"
        buildah run -v "$(dirname "$capture"):/captures:ro" "$container" -- /huginn-net $analyze "/captures/$(basename "$capture")" ;;
    *.deb) command="apt-get install -y ./$name && huginn-net $analyze $(basename "$capture")"
        in_debian "{ apt-get install -q -y ./$name; } >/dev/null 2>&1 && huginn-net $analyze $(basename "$capture")" ;;
    *.whl) command="pip install $name && python -c 'import huginn_net; ...read_pcap(...)'"
        python3 -m venv "$root/wheel"
        begin=$(date +%s%N)
        env -i PATH=/usr/bin:/bin "$root/wheel/bin/pip" install -q --no-index --no-deps "$artifact"
        env -i PATH=/usr/bin:/bin "$root/wheel/bin/python" -c \
            'import json, sys, huginn_net; [print(json.dumps(event)) for event in huginn_net.read_pcap(sys.argv[1])]' "$capture" ;;
    *) echo "$name: not an archive, image, package or wheel" >&2 && exit 2 ;;
    esac >"$root/events"
    ms=$((($(date +%s%N) - begin) / 1000000))
    grep -m 1 '"event": *"tls_client"' "$root/events" >/dev/null || { echo "FAILED: $name: no ClientHello" >&2 && exit 1; }
    echo "$name: $(stat -c %s "$artifact") bytes, first result after $ms ms: $command"
done
