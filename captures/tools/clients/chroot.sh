#!/bin/bash
# Runs a program of an unpacked Debian suite that finds its files by its own path: chroot.sh FOLDER PROGRAM ARGUMENT...
set -eu
folder=$1
mkdir -p "$folder/proc" "$folder/dev" "$folder/tmp" "$folder/etc"
for name in lib lib64; do
    [ -e "$folder/$name" ] || ln -s "usr/$name" "$folder/$name"
done
cp /etc/hosts "$folder/etc/hosts"
# The mounts end with the program.
exec unshare --mount bash -c 'mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; exec chroot "$@"' bash "$@"
