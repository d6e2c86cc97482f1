#!/usr/bin/env bash
# Runs `huginn-net live` under load with all that a sensor has: findings, hosts, state, four outputs, reloads, an interface that comes and
# goes: load-run.sh PROGRAM LAB MINUTES [RATE] [SIZE] [SAMPLES.csv]
#
# LAB is the program huginn-lab. RATE: new connections a second (4,000), SIZE: bytes of a response (64k). Runs as root. Two outputs are pipes,
# whose readers count lines, and two are files that rotation deletes. Fails if a packet or a line is lost without a counter that says so, if
# lines of a pipe are not those that were written, or if memory grows. Prints what generator, sensor and readers reached together.
set -euo pipefail

readonly PACKAGES="iproute2 jq procps python3"
readonly PROGRAMS="ip jq python3 sysctl"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/namespaces.sh"

program=$(realpath "${1:?the program huginn-net}")
lab=$(realpath "${2:?the program huginn-lab}")
minutes=${3:?for how many minutes}
rate=${4:-4000}
size=${5:-64k}
samples=${6:-}
# Seconds between reloads, and between the coming and going of an interface.
readonly RELOAD_EVERY=60 INTERFACE_EVERY=30
reloads=0 comings=0

main() {
    local pipe
    setup
    samples=${samples:-$tmp/samples.csv}
    cable_up
    mkdir -m 777 "$tmp/events"
    configuration >"$tmp/sensor.toml"
    for pipe in json eve; do
        mkfifo -m 666 "$tmp/$pipe"
        wc -l <"$tmp/$pipe" >"$tmp/$pipe.lines" &
    done
    ip netns exec "$SERVER_NS" "$lab" serve -L $SERVER4:8080:8443 >"$tmp/serve.log" 2>&1 &
    serve=$!
    LIVE_ON='' live sensor "$program" --config "$tmp/sensor.toml"
    before=$(crossed)
    python3 "$here/sample.py" "${pids[sensor]}" >"$samples" &
    ip netns exec "$CLIENT_NS" "$lab" load "https://$SERVER4:8443/?s=$size" --http 2 --churn --rate "$rate" -c 64 \
        -d $((minutes * 60)) --json >"$tmp/load.json" 2>"$tmp/load.err" &
    operate $!
    eventually "a quiet network" quiet
    sleep 2
    sent=$(($(crossed) - before))
    stop sensor
    kill $serve
    wait || true
    judge
}

configuration() {
    cat <<TOML
interface = ["hn-b", "extra"]
wait = true
user = "nobody"
findings = true
connections = true
state = "$tmp/events/state.jsonl"
stats = true
stats-interval = "60s"

[[output]]
output = "$tmp/json"
format = "json"
[[output]]
output = "$tmp/eve"
format = "eve"
[[output]]
output = "$tmp/events/zeek.json"
format = "zeek"
rotate-size = "100M"
rotate-keep = 2
[[output]]
output = "$tmp/events/events.csv"
format = "csv"
fields = ["ts", "event", "client.ip", "server.ip", "sni", "ja4"]
events = ["tls_client", "tls_handshake"]
rotate-size = "100M"
rotate-keep = 2
TOML
}

# operate PID: reloads, and adds and removes an interface, until the load ends.
operate() {
    local second=0
    while kill -0 "$1" 2>/dev/null; do
        sleep 1
        second=$((second + 1))
        if [ $((second % RELOAD_EVERY)) = 0 ]; then
            reloads=$((reloads + 1))
            kill -HUP "${pids[sensor]}"
        fi
        if [ $((second % (2 * INTERFACE_EVERY))) = $INTERFACE_EVERY ]; then
            comings=$((comings + 1))
            ip -n "$SERVER_NS" link add extra type veth peer name extra-end
            ip -n "$SERVER_NS" link set extra up
        elif [ $((second % (2 * INTERFACE_EVERY))) = 0 ]; then
            ip -n "$SERVER_NS" link del extra
        fi
    done
}

judge() {
    local written pipe
    # Each packet of the interface was received, or counted as dropped.
    counted=$(counted sensor '[.capture["hn-b"] | .received, .kernel_dropped] | add')
    [ "$counted" -ge "$sent" ] || fail "$sent packets crossed the interface, $counted were received or dropped"
    { grep -v '^{' "$tmp/sensor.err" || true; } | sed 's/^[^ ]* [0-9TZ:.-]* //' | cut -c1-60 | sort | uniq -c | sort -rn | head -20
    for pipe in json eve; do
        written=$(counted sensor ".outputs | to_entries[] | select(.key | endswith(\"/$pipe\")) | .value.written_lines")
        [ "$(cat "$tmp/$pipe.lines")" = "$written" ] || fail "$pipe: $(cat "$tmp/$pipe.lines") lines arrived, $written were written"
    done
    jq -n --argjson load "$(cat "$tmp/load.json")" --argjson of "$(counted sensor '{frames, events, capture, outputs, latency, uptime_seconds}')" \
        '{load: $load} + $of + {reloads: '$reloads', comings: '$comings'}'
    python3 "$here/flat.py" "$samples"
}

main
