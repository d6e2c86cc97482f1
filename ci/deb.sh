#!/usr/bin/env bash
# Builds the Debian package: deb.sh build [--no-build] [FOLDER], or builds and tests it on this machine: deb.sh test ..., or packages the
# static program of an archive of dist/build-static.sh, of any architecture: deb.sh archive ARCHIVE FOLDER
#
# Packages the program of `cargo build --release` with the features parquet and tls; --no-build packages the one that is there.
# FOLDER is target/debian by default. The test runs lintian, installs the package, checks unit and program, removes and
# purges it. It needs root, a machine without the package, and the Debian packages dpkg-dev, lintian and systemd; both need
# cargo-deb.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-$PWD/target}
program=$target/release/huginn-net
command=${1:-}
shift || true
archive=
[ "$command" != archive ] || { archive=$(realpath "$1") && shift; }
compile=yes
[ "${1:-}" != --no-build ] || { compile= && shift; }
out=${1:-$target/debian}

main() {
    case $command in
    build) build ;;
    test)
        build
        test_package
        ;;
    archive) package_archive ;;
    *) fail "usage: ci/deb.sh build|test [--no-build] [FOLDER], or ci/deb.sh archive ARCHIVE FOLDER" ;;
    esac
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

build() {
    local generated=$target/release/generated shell version
    [ -z "$compile" ] || cargo build --release --locked -p huginn-net-cli --features parquet,tls
    rm -rf "$generated"
    mkdir -p "$generated/man" "$out"
    rm -f "$out/huginn-net.deb"
    "$program" generate man "$generated/man"
    gzip -9n "$generated"/man/*.1
    gzip -9nc CHANGELOG.md >"$generated/changelog.gz"
    for shell in bash fish zsh; do
        "$program" generate completions $shell >"$generated/huginn-net.$shell"
    done
    dist/package-docs.py "$generated/doc"
    dist/sbom.py "$(rustc --print host-tuple)" parquet tls >"$generated/huginn-net.cyclonedx.json"
    cargo deb --no-build --strip --locked -p huginn-net-cli -o "$out/huginn-net.deb"
    version=$(dpkg-deb -f "$out/huginn-net.deb" Version)
    [ "$(dpkg-parsechangelog -l dist/debian/changelog -S Version)" = "$version" ] ||
        fail "dist/debian/changelog has no entry for $version"
}

# A static program cannot load libpcap, so that the package has no filter expressions.
package_archive() {
    local architecture triple release run=() work
    work=$(mktemp -d)
    trap "rm -rf '$work'" EXIT
    IFS=- read -r _ _ _ architecture _ <<<"$(basename "$archive")"
    triple=$architecture-unknown-linux-musl release=$work/$architecture-unknown-linux-musl/release
    mkdir -p "$out" "$release/generated" "$work/root"
    tar xz --strip-components=1 -C "$release/generated" -f "$archive"
    mv "$release/generated/huginn-net" "$release"
    mv "$release"/generated/completions/* "$release/generated"
    gzip -9n "$release"/generated/man/*.1
    gzip -9nc CHANGELOG.md >"$release/generated/changelog.gz"
    dist/package-docs.py "$release/generated/doc"
    package=$out/huginn-net-$architecture.deb
    CARGO_TARGET_DIR=$work SOURCE_DATE_EPOCH=$(stat -c %Y "$release/huginn-net") \
        cargo deb --no-build --no-strip --locked -p huginn-net-cli --target "$triple" -o "$package"
    dpkg-deb -c "$package" >"$work/contents"
    for name in ./usr/bin/huginn-net ./usr/share/man/man1/huginn-net-live.1.gz ./usr/lib/systemd/system/huginn-net.service \
        ./usr/share/doc/huginn-net/huginn-net.cyclonedx.json; do
        grep -qE " $name\$" "$work/contents" || fail "no $name in $package"
    done
    dpkg-deb -x "$package" "$work/root"
    [ "$architecture" = "$(uname -m)" ] || run=("qemu-$architecture-static")
    "${run[@]}" "$work/root/usr/bin/huginn-net" pcap --format json captures/tls/tls-curl/tls-curl.pcap |
        grep '"event":"tls_client"' >/dev/null || fail "the packaged program does not find the ClientHello"
    echo "$package: $(stat -c %s "$package") bytes, $(dpkg-deb -f "$package" Architecture)"
}

test_package() {
    local package=$out/huginn-net.deb name
    if dpkg-query -W huginn-net >/dev/null 2>&1; then
        # An interrupted run leaves it on a machine of the checks. On another
        # machine it is the user's.
        [ "${CI:-}" = true ] || fail "the package huginn-net is installed here already"
        dpkg --purge huginn-net
    fi
    lintian --fail-on error "$package"
    # Images of Debian may leave out documentation when they install.
    dpkg-deb --fsys-tarfile "$package" | tar t >"$out/contents"
    grep -qx ./usr/share/doc/huginn-net/huginn-net.cyclonedx.json "$out/contents" || fail "no list of dependencies"
    for name in huginn-net huginn-net-live huginn-net-db-learn; do
        grep -qx "./usr/share/man/man1/$name.1.gz" "$out/contents" || fail "no man page of $name"
    done

    rm -rf "$out/contents.d"
    dpkg-deb -x "$package" "$out/contents.d"
    dist/package-docs.py --check "$out/contents.d/usr/share/doc/huginn-net"
    dpkg-deb --ctrl-tarfile "$package" | tar xO ./postinst >"$out/postinst"
    grep -q "try-restart 'huginn-net@\*.service'" "$out/postinst" || fail "an upgrade restarts no instance"

    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$(realpath "$package")"
    trap 'dpkg --purge huginn-net' EXIT
    systemd-analyze verify huginn-net.service huginn-net@eth1.service
    # Exposure is at most 2.0 of 10.
    systemd-analyze security --offline=true --threshold=20 --no-pager /usr/lib/systemd/system/huginn-net.service | tail -n 1
    getent passwd huginn-net || fail "the package creates no user huginn-net"
    /usr/bin/huginn-net --version
    /usr/bin/huginn-net pcap --format json captures/tls/tls-curl/tls-curl.pcap | grep '"event":"tls_client"' >/dev/null ||
        fail "the installed program does not find the ClientHello"
    bash -c '. /usr/share/bash-completion/completions/huginn-net && complete -p huginn-net'
    options_of_service

    dpkg --remove huginn-net
    [ ! -e /usr/bin/huginn-net ] || fail "removal leaves the program"
    [ -e /etc/huginn-net/huginn-net.toml ] || fail "removal deletes the configuration"
    trap - EXIT
    dpkg --purge huginn-net
    for name in /etc/huginn-net/huginn-net.toml /var/log/huginn-net /var/lib/huginn-net /usr/lib/systemd/system/huginn-net.service; do
        [ ! -e $name ] || fail "purge leaves $name"
    done
    echo "$package is good"
}

# Starts the service's command with the configuration of the package, but for the interface and the folders.
options_of_service() {
    local folder status=0
    local as_service=(setpriv --reuid huginn-net --regid huginn-net --clear-groups --inh-caps +net_raw --ambient-caps +net_raw)
    folder=$(mktemp -d)
    chown huginn-net: "$folder"
    # Right after the installation, with the folders of the package, which the installation makes where systemd runs.
    grep -q 'systemd-tmpfiles --create huginn-net.conf' "$out/postinst" || fail "the installation makes no folders"
    [ -d /run/systemd/system ] || systemd-tmpfiles --create huginn-net.conf
    sed 's|eth0|lo|' /etc/huginn-net/huginn-net.toml >"$folder/test.toml"
    "${as_service[@]}" /usr/bin/huginn-net live --check --config "$folder/test.toml" || fail "the installed configuration is refused"
    sed "s|eth0|lo|; s|/var/log/huginn-net|$folder|; s|/var/lib/huginn-net|$folder|; s|/run/huginn-net|$folder|" /etc/huginn-net/huginn-net.toml >"$folder/test.toml"
    "${as_service[@]}" /usr/bin/huginn-net live --check --config "$folder/test.toml" || fail "the configuration is refused"
    timeout -s INT 3 "${as_service[@]}" /usr/bin/huginn-net live --config "$folder/test.toml" || status=$?
    rm -r "$folder"
    [ $status = 124 ] || fail "the service's command ended with status $status"
}

main
