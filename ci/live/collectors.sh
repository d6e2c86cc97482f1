#!/usr/bin/env bash
# Writes the events of captures to syslog-ng by every kind of socket, to rsyslog by /dev/log's, and to compressed files, and compares what
# arrived with the events: ci/live/collectors.sh PROGRAM
#
# Needs the Debian packages syslog-ng-core, gzip, jq and zstd, and no rights. rsyslog, which Debian does not install beside syslog-ng, is
# downloaded and unpacked, unless it is installed.
set -euo pipefail

readonly PROGRAM=$(realpath "$1")
cd "$(dirname "$0")/../.."
readonly CAPTURES=(tls-curl curl-nginx ssh-openssh tls-firefox quic-chromium dtls-openssl)

tmp=$(mktemp -d)
collector= rsyslog= sensor=
trap 'kill $collector $rsyslog $sensor 2>/dev/null || true; rm -rf "$tmp"' EXIT

fail() {
    echo "$1" >&2
    cat "$tmp/stderr" "$tmp/syslog-ng.log" "$tmp/rsyslog.log" >&2
    exit 1
}

# Waits until a command succeeds.
await() {
    for _ in {1..200}; do
        "$@" >/dev/null 2>&1 && return
        sleep 0.05
    done
    fail "in vain: $*"
}

# Free ports.
read -r syslog_port json_port udp_port < <(python3 - <<'PORTS'
import socket
sockets = [socket.socket(socket.AF_INET, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_STREAM, socket.SOCK_DGRAM)]
for one in sockets:
    one.bind(("127.0.0.1", 0))
print(*[one.getsockname()[1] for one in sockets])
PORTS
)

mkdir "$tmp/spool"
cat >"$tmp/syslog-ng.conf" <<END
@version: 3.38
options { log-msg-size(1048576); };
source tcp { syslog(ip(127.0.0.1) port($syslog_port) transport("tcp")); };
source udp { syslog(ip(127.0.0.1) port($udp_port) transport("udp") so-rcvbuf(4194304)); };
source local { unix-dgram("$tmp/log"); };
source lines { network(ip(127.0.0.1) port($json_port) transport("tcp") flags(no-parse)); };
source stream { unix-stream("$tmp/stream" flags(no-parse)); };
template message { template("\$PROGRAM \$MSGID \$LEVEL \$MSG\n"); };
template line { template("\$MSG\n"); };
log { source(tcp); destination { file("$tmp/tcp.out" template(message)); }; };
log { source(udp); destination { file("$tmp/udp.out" template(message)); }; };
log { source(local); destination { file("$tmp/local.out" template(message)); }; };
log { source(lines); destination { file("$tmp/lines.out" template(line)); }; };
log { source(stream); destination { file("$tmp/stream.out" template(line)); }; };
END
cat >"$tmp/rsyslog.conf" <<END
global(workDirectory="$tmp" maxMessageSize="1m")
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="$tmp/rsyslog-log" RateLimit.Interval="0")
template(name="message" type="string" string="%programname% %syslogfacility-text% %syslogseverity-text%%msg%\n")
action(type="omfile" file="$tmp/rsyslog.out" template="message")
END
cat >"$tmp/live.toml" <<END
interface = ["file:$tmp/spool"]
format = "json"
stats = true
[[output]]
output = "$tmp/events.json"
[[output]]
output = "$tmp/events.json.zst"
rotate-size = "2k"
[[output]]
output = "$tmp/events.log.gz"
rotate-size = "2k"
[[output]]
output = "syslog:tcp:127.0.0.1:$syslog_port"
[[output]]
output = "syslog:udp:127.0.0.1:$udp_port"
[[output]]
output = "syslog:unix:$tmp/log"
[[output]]
output = "syslog:unix:$tmp/rsyslog-log"
[[output]]
output = "tcp:127.0.0.1:$json_port"
[[output]]
output = "unix:$tmp/stream"
END

syslog-ng -F --no-caps -f "$tmp/syslog-ng.conf" -R "$tmp/persist" -p "$tmp/pid" -c "$tmp/control" 2>"$tmp/syslog-ng.log" &
collector=$!
await [ -S "$tmp/stream" ]
rsyslogd=$(command -v rsyslogd || true)
modules=()
if [ -z "$rsyslogd" ]; then
    (cd "$tmp" && apt-get download rsyslog libestr0 libfastjson4 >/dev/null 2>&1)
    find "$tmp" -name '*.deb' -exec dpkg -x {} "$tmp/unpacked" \;
    rsyslogd=$tmp/unpacked/usr/sbin/rsyslogd
    modules=(-M "$(find "$tmp/unpacked" -type d -path '*/rsyslog' -path '*/lib/*-linux-gnu/*')")
    LD_LIBRARY_PATH=$(dirname "${modules[1]}")
    export LD_LIBRARY_PATH
fi
"$rsyslogd" -n -f "$tmp/rsyslog.conf" -i "$tmp/rsyslog.pid" "${modules[@]}" 2>"$tmp/rsyslog.log" &
rsyslog=$!
unset LD_LIBRARY_PATH
await [ -S "$tmp/rsyslog-log" ]

# The lines of all files of a compressed file.
lines_of() {
    find "$tmp" -name "$1" -size +0 -print0 | sort -z | xargs -0 "${@:2}"
}

"$PROGRAM" live --config "$tmp/live.toml" 2>"$tmp/stderr" &
sensor=$!
number=0
for name in "${CAPTURES[@]}"; do
    number=$((number + 1))
    find captures -name "$name.pcap" -exec cp {} "$tmp/spool/$number.pcap" \;
    sleep 0.6
done
sleep 3
kill -TERM $sensor
wait $sensor || fail "status $?"
sensor=
events=$(wc -l <"$tmp/events.json")
[ "$events" -gt 80 ] || fail "$events events"
for out in tcp udp local rsyslog lines stream; do
    await eval "[ \$(wc -l <'$tmp/$out.out') = $events ]"
done
jq -r '"huginn-net \(.event) info"' "$tmp/events.json" | sort >"$tmp/wanted"
for out in tcp udp; do
    cut -d' ' -f1-3 "$tmp/$out.out" | sort | cmp - "$tmp/wanted"
    cut -d' ' -f4- "$tmp/$out.out" | cmp - "$tmp/events.json"
done
# The local form has no kind.
sed 's/^/huginn-net  info /' "$tmp/events.json" | cmp - "$tmp/local.out"
sed 's/^/huginn-net local0 info /' "$tmp/events.json" | cmp - "$tmp/rsyslog.out"
cmp "$tmp/lines.out" "$tmp/events.json"
cmp "$tmp/stream.out" "$tmp/events.json"
[ "$(lines_of 'events.json*.zst' zstd -qdc | sort | cksum)" = "$(sort "$tmp/events.json" | cksum)" ] || fail "events.json.zst"
[ "$(lines_of 'events.log*.gz' zcat | sort | cksum)" = "$(sort "$tmp/events.json" | cksum)" ] || fail "events.log.gz"
dropped=$(grep '^{' "$tmp/stderr" | tail -1 | jq .output.dropped_lines)
[ "$dropped" = 0 ] || fail "dropped $dropped"

# What a killed sensor wrote can be read.
rm "$tmp"/spool/* "$tmp"/events.*
"$PROGRAM" live --config "$tmp/live.toml" 2>"$tmp/stderr" &
sensor=$!
cp captures/*/tls-curl/tls-curl.pcap "$tmp/spool/1.pcap"
sleep 4
kill -KILL $sensor
wait $sensor || true
sensor=
[ "$(lines_of 'events.json*.zst' zstd -qdc | cksum)" = "$(cksum <"$tmp/events.json")" ] || fail "events.json.zst of a killed sensor"
[ "$(lines_of 'events.log*.gz' zcat | cksum)" = "$(cksum <"$tmp/events.json")" ] || fail "events.log.gz of a killed sensor"
echo "$events events arrived once at each of 6 sockets, and in 2 compressed files"
