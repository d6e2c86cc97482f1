#!/usr/bin/env bash
# Runs the command lines of p0f's README with `huginn-net p0f`, beside p0f itself: p0f-command-lines.sh PROGRAM
#
# Runs as root, in namespaces of its own for the network, /etc/passwd and /var/log. Needs p0f, tcpreplay, iproute2.
set -euo pipefail

program=$(realpath "${1:?the program huginn-net}")
cd "$(dirname "$0")/../.."
if [ "${2:-}" != in-namespace ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    unshare --net --mount "$0" "$program" in-namespace "$folder"
    exit
fi

folder=$3
capture=$PWD/captures/http/http-clients/http-clients.pcap
readonly program folder capture

prepare() {
    mkdir "$folder/log"
    cp /etc/passwd /etc/group "$folder"
    echo 'p0f-user:x:65001:65001::/var/empty/p0f:/bin/nologin' >>"$folder/passwd"
    echo 'p0f-user:x:65001:' >>"$folder/group"
    mount --bind "$folder/passwd" /etc/passwd
    mount --bind "$folder/group" /etc/group
    mount --bind "$folder/log" /var/log
    ip link set lo up
    ip link add eth0 type veth peer name far
    for name in eth0 far; do
        sysctl -qw "net.ipv6.conf.$name.disable_ipv6=1"
        ip link set "$name" arp off up
    done
    cp "$capture" "$folder/some_capture.cap"
    cd "$folder"
    printf '#!/bin/sh\nexec "%s" p0f "$@"\n' "$program" >p0f
    chmod +x p0f
    chmod 755 "$folder"
    trap 'pkill -f "^$program p0f .*-o /var/log/p0f.log" || true' EXIT
}

# A packet capture starts some time after its process.
wait_for_capture() {
    local _
    for _ in $(seq 100); do
        if [ "$(grep -c . /proc/net/packet)" -gt "$1" ]; then
            sleep 0.3
            return
        fi
        sleep 0.1
    done
    echo "no capture on eth0" >&2
    return 1
}

replay() {
    tcpreplay --quiet --topspeed -i far some_capture.cap >replay.log 2>&1 || { cat replay.log >&2 && return 1; }
    sleep 1
}

# blocks FILE: the blocks of p0f's output, without what depends on the signature database.
blocks() {
    awk '/^\.-\[/ { inside = 1 } inside && !/^\| (os|app|link|params) / { print } /^`----/ { inside = 0 }' "$1"
}

# entries LOG: the sorted lines of a log, without times and what depends on the signature database.
entries() {
    grep -v 'mod=uptime' "$1" | sed -E 's/^\[[^]]*\] //; s/\|(os|app|link|params)=[^|]*//g' | sort
}

same_blocks() {
    [ "$(blocks "$1" | grep -c '^\.-\[')" -gt 10 ]
    diff -u <(blocks "$1") <(blocks "$2")
    echo "$(blocks "$2" | grep -c '^\.-\[') blocks equal those of p0f"
}

check_file() {
    p0f -r some_capture.cap >theirs
    ./p0f -r some_capture.cap >ours
    same_blocks theirs ours
}

check_foreground() {
    local ours theirs
    p0f -i eth0 >theirs 2>&1 &
    theirs=$!
    wait_for_capture 1
    ./p0f -i eth0 >ours 2>&1 &
    ours=$!
    wait_for_capture 2
    replay
    kill -INT $ours $theirs
    wait $ours $theirs || true
    same_blocks theirs ours
}

# check_daemon COMMAND: its log has the events that p0f reads from the capture, but for their times.
check_daemon() {
    local daemon
    rm -f /var/log/p0f.log theirs.log
    p0f -r some_capture.cap -o theirs.log >/dev/null
    bash -c "$1"
    wait_for_capture 1
    replay
    daemon=$(pgrep -f "^$program p0f .*-o /var/log/p0f.log")
    kill "$daemon"
    for _ in $(seq 50); do
        [ -d "/proc/$daemon" ] || break
        sleep 0.1
    done
    diff -u <(entries theirs.log) <(entries /var/log/p0f.log)
    echo "$(wc -l </var/log/p0f.log) lines equal those of p0f; user $(stat -c %U /var/log/p0f.log)"
}

prepare
echo '== ./p0f -r some_capture.cap'
check_file
echo '== ./p0f -i eth0'
check_foreground
for line in './p0f -i eth0 -d -u p0f-user -o /var/log/p0f.log' './p0f -o /var/log/p0f.log -d 2>>/var/log/p0f.error'; do
    echo "== $line"
    check_daemon "$line"
done
