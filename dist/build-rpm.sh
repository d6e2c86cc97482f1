#!/usr/bin/env bash
# Makes an RPM of a static program: build-rpm.sh ARCHIVE FOLDER
#
# ARCHIVE is one of dist/build-static.sh. The package has the program, man pages, completions, the units, their user and configuration, and
# the list of dependencies; it needs no library. The script checks its contents, and that the program in it runs if this machine can run it.
# Two runs of rpmbuild give equal packages. Needs Debian's package rpm.
set -euo pipefail

archive=$(realpath "${1:?an archive of dist/build-static.sh}")
folder=$(realpath -m "${2:?a folder for the package}")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# huginn-net-VERSION-ARCHITECTURE-linux.tar.gz
IFS=- read -r _ _ version architecture _ <<<"$(basename "$archive")"
mkdir -p "$folder" "$work/source" "$work/root"
tar xz --strip-components=1 -C "$work/source" -f "$archive"
SOURCE_DATE_EPOCH=$(stat -c %Y "$work/source/huginn-net")
export SOURCE_DATE_EPOCH
rpmbuild -bb --quiet --target "$architecture-linux" --define "_topdir $work/rpm" --define "_rpmdir $folder" --define "version $version" \
    --define "source $work/source" --define "_buildhost localhost" --define "clamp_mtime_to_source_date_epoch 1" \
    --define "use_source_date_epoch_as_buildtime 1" --define "_rpmfilename %{NAME}-%{VERSION}-%{ARCH}.rpm" huginn-net.spec
package=$folder/huginn-net-$version-$architecture.rpm
rpm -qpl "$package" >"$work/files"
for name in /usr/bin/huginn-net /usr/lib/systemd/system/huginn-net.service /usr/lib/systemd/system/huginn-net@.service \
    /etc/huginn-net/huginn-net.toml /usr/share/man/man1/huginn-net-live.1 /usr/share/doc/huginn-net/huginn-net.cyclonedx.json; do
    grep -qxF "$name" "$work/files" || { echo "FAILED: no $name in $package" >&2 && exit 1; }
done
rpm2archive - <"$package" | tar xz -C "$work/root"
run=()
[ "$architecture" = "$(uname -m)" ] || run=("qemu-$architecture-static")
"${run[@]}" "$work/root/usr/bin/huginn-net" --version
echo "$package: $(stat -c %s "$package") bytes, $(wc -l <"$work/files") files"
