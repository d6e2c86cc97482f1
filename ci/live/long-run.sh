#!/usr/bin/env bash
# Soak test of `huginn-net live` on mixed traffic, with rotation by size, time and SIGHUP, an interface that goes down and
# up, and a scraper of its metrics: long-run.sh PROGRAM MINUTES [SAMPLES.csv]
#
# Runs as root. Fails if memory grows, or if the files together differ from the events that `huginn-net pcap` finds in a
# recording of the same traffic, or if a numbered request is missing or repeated. SAMPLES.csv receives the measurements.
set -euo pipefail

readonly PACKAGES="curl iproute2 jq nghttp2-client nginx procps python3 tcpdump tcpreplay"
readonly PROGRAMS="curl h2load ip jq nginx openssl python3 sysctl tcpdump tcpreplay tcprewrite"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/namespaces.sh"

program=$(realpath "${1:?the program huginn-net}")
minutes=${2:?for how many minutes}
samples=${3:-}
# Captures that are replayed beside the requests.
readonly REPLAYED="curl-nginx-ipv6 http-clients http-firefox tls-chromium tls-gnutls quic-chromium quic-go dtls-openssl
    starttls-smtp hosts-nat tls-resumption"
# Intervals in rounds of about one second.
readonly ROTATE_EVERY=25 FLAP_EVERY=40 LOAD_EVERY=5 REPLAY_EVERY=7 SCRAPE_EVERY=3
readonly METRICS=127.0.0.1:9101
requests=0 flaps=0 rotations=0 scrapes=0

main() {
    setup
    samples=${samples:-$tmp/samples.csv}
    cable_up
    nginx_up
    mkdir -m 777 "$tmp/events"
    live sensor "$program" --format json -o "$tmp/events/events.json" --rotate-size 200k --rotate-interval 2m \
        --stats-interval 1m --stats --metrics $METRICS --p0f-socket "$tmp/events/p0f.sock" --user nobody
    warm_up
    # tcpdump exits when its interface goes down; on the interface "any" it continues.
    recorded "$tmp/all.pcap" any 'not net 127.0.0.0/8'
    python3 "$here/sample.py" "${pids[sensor]}" >"$samples" &
    traffic
    eventually "a quiet network" quiet
    stop sensor
    sleep 0.5
    stop_recording_whole
    judge
}

# Fills every queue with bursts while the program is stopped, because buffers grow to the largest burst and keep that size.
# The bursts have other addresses than the later traffic, and their events are not compared.
warm_up() {
    local name burst crossed_before
    crossed_before=$(crossed)
    for name in $REPLAYED; do
        tcprewrite --seed=1 --infile="$(capture "$name.pcap")" --outfile="$tmp/warm-up-$name.pcap" 2>"$tmp/tcprewrite.err" ||
            fail "tcprewrite: $(cat "$tmp/tcprewrite.err")"
    done
    for burst in 1 2 3 4 5; do
        kill -STOP "${pids[sensor]}"
        client tcpreplay -q --topspeed --loop 20 -i hn-a "$tmp"/warm-up-*.pcap >/dev/null 2>"$tmp/tcpreplay.err" ||
            fail "tcpreplay: $(cat "$tmp/tcpreplay.err")"
        kill -CONT "${pids[sensor]}"
        eventually "a quiet network" quiet
        eventually "the end of a burst" caught_up
    done
    rotate
    mkdir "$tmp/warm-up"
    mv "$tmp"/events/events.json.* "$tmp/warm-up"
}

# caught_up: succeeds if the program has received or counted as dropped every packet that crossed its interface.
caught_up() {
    scrape
    [ "$(awk '/^huginn_net_capture_(received|kernel_dropped)_total\{/ { sum += $2 } END { print sum }' "$tmp/metrics")" -ge \
        $(($(crossed) - crossed_before)) ]
}

traffic() {
    local round=0 until=$((SECONDS + minutes * 60)) next
    while [ $SECONDS -lt $until ]; do
        round=$((round + 1))
        next=$(($(date +%s%3N) + 1000))
        request
        [ $((round % 2)) != 0 ] || client curl -sSk -o /dev/null https://$SERVER4/ -o /dev/null "https://[$SERVER6]/"
        [ $((round % LOAD_EVERY)) != 0 ] || client h2load -n 20 -c 2 -m 4 http://$SERVER4:8080/ >/dev/null
        [ $((round % REPLAY_EVERY)) != 0 ] || replay
        [ $((round % SCRAPE_EVERY)) != 0 ] || scrape
        [ $((round % ROTATE_EVERY)) != 0 ] || rotate
        [ $((round % FLAP_EVERY)) != 0 ] || flap
        next=$((next - $(date +%s%3N)))
        [ $next -le 0 ] || sleep "$(printf '0.%03d' $next)"
    done
}

request() {
    requests=$((requests + 1))
    client curl -sS -o /dev/null --max-time 10 "http://$SERVER4/request/$requests"
}

replay() {
    local name
    for name in $REPLAYED; do
        client tcpreplay -q --pps 500 -i hn-a "$(capture "$name.pcap")" >/dev/null 2>"$tmp/tcpreplay.err" ||
            fail "tcpreplay: $(cat "$tmp/tcpreplay.err")"
    done
}

scrape() {
    scrapes=$((scrapes + 1))
    server curl -sSf --max-time 10 http://$METRICS/metrics >"$tmp/metrics"
    grep -q '^huginn_net_frames_total [0-9]' "$tmp/metrics" || fail "metrics without frames"
}

# Renames the file and sends SIGHUP, as logrotate does.
rotate() {
    local file=$tmp/events/events.json
    rotations=$((rotations + 1))
    # The program may rotate the file at the same time.
    mv "$file" "$file.renamed-$rotations" 2>/dev/null || return 0
    kill -HUP "${pids[sensor]}"
    eventually "a new file" test -e "$file"
}

flap() {
    flaps=$((flaps + 1))
    eventually "a quiet network" quiet
    ip -n $SERVER_NS link set hn-b down
    eventually "message that the interface is down" said_times "is down" $flaps
    ip -n $SERVER_NS link set hn-b up
    eventually "message that the interface is back" said_times "is back" $flaps
    neighbours
}

# said_times TEXT N: succeeds if exactly N lines of standard error contain the text.
said_times() { [ "$(grep -cF -- "$1" "$tmp/sensor.err")" = "$2" ]; }

judge() {
    local whole=$tmp/whole.json rotated_files
    grep -v '^{' "$tmp/sensor.err" | sort | uniq -c
    rotated_files=$(ls "$tmp/events" | grep -c '^events.json.')
    "$program" pcap -q --format json -o "$whole" "$tmp/all.pcap"
    python3 "$here/events.py" same "$whole" "$tmp"/events/events.json*
    python3 "$here/events.py" once $requests "$tmp"/events/events.json*
    python3 "$here/flat.py" "$samples"
    jq -n --argjson of "$(counted sensor '{frames, events, capture, output, latency, uptime_seconds}')" \
        '$of + {rotated_files: '"$rotated_files"', requests: '$requests', flaps: '$flaps', sighups: '$rotations', scrapes: '$scrapes'}'
}

main
