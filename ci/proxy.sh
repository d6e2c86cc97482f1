#!/usr/bin/env bash
# Drives the example proxies with real clients in network namespaces, and compares the headers that an upstream gets with
# the events that the program finds in a recording of the same connections.
#
# usage: ci/proxy.sh PROGRAM EXAMPLES
#
# EXAMPLES is the folder of the built examples. Needs root, curl, python3, openssl, ethtool, iproute2 and tcpdump; clients
# that are not installed (go, chromium) are skipped.
set -euo pipefail

huginn_net=$(realpath "$1")
examples=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
readonly huginn_net examples here
readonly PROGRAMS="curl ethtool ip openssl python3 tcpdump"
readonly PACKAGES="curl ethtool iproute2 openssl python3 tcpdump"
export PYTHONDONTWRITEBYTECODE=1
LAB=${LAB:-proxy-$$}
. "$here/../captures/tools/layout.sh"
. "$captures/tools/lab.sh"

readonly NAME=www.example.test

main() {
    lab_start
    lab_up_as_wired
    certificate
    server python3 "$here/proxy.py" serve "$tmp" &
    server "$examples/axum_proxy" $SERVER4:443 "$tmp/cert.pem" "$tmp/key.pem" $SERVER4:8080 &
    server "$examples/tls_pass_through" $SERVER4:8443 $NAME=$SERVER4:8444 &
    for port in 443 8080 8081 8443 8444; do
        wait_for "$port"
    done
    record "$tmp/proxy.pcap" $SERVER_NS hn-b 'tcp and not port 22'
    run_clients
    stop_recording
    "$huginn_net" pcap -q --format json "$tmp/proxy.pcap" >"$tmp/events.json"
    python3 "$here/proxy.py" compare "$tmp"
}

wait_for() {
    local _
    for _ in $(seq 100); do
        if [ -n "$(ip netns exec $SERVER_NS ss -Hltn "sport = :$1")" ]; then
            return
        fi
        sleep 0.1
    done
    echo "nothing listens on port $1" >&2
    return 1
}

# Each client asks the proxy over TLS, and a server in the clear, where the program sees HTTP too.
run_clients() {
    local args=(-s --max-time 10 --resolve "$NAME:443:$SERVER4" --resolve "$NAME:8080:$SERVER4"
        --resolve "$NAME:8081:$SERVER4" --resolve "$NAME:8443:$SERVER4")
    client curl "${args[@]}" -k --http1.1 -H 'X-Client-JA4: forged' "https://$NAME/curl-1"
    client curl "${args[@]}" -k --http2 -H 'X-Client-Other: forged' "https://$NAME/curl-2"
    client curl "${args[@]}" -k --http1.1 --tls-max 1.2 "https://$NAME/curl-tls12"
    client curl "${args[@]}" --http1.1 -H 'X-Client-JA4: forged' "http://$NAME:8080/clear-curl-1"
    client curl "${args[@]}" --http2-prior-knowledge -H 'X-Client-Other: forged' "http://$NAME:8081/clear-curl-2" || true
    client curl "${args[@]}" -k "https://$NAME:8443/pass-through" || true
    client python3 "$here/proxy.py" client "https://$SERVER4/python-1"
    client python3 "$here/proxy.py" client "http://$SERVER4:8080/clear-python-1"
    if command -v go >/dev/null; then
        go build -o "$tmp/go-client" "$here/proxy-client.go"
        client "$tmp/go-client" "https://$SERVER4/go-2"
    fi
    if command -v chromium >/dev/null; then
        # It does not always exit; the upstream tells whether it asked.
        client env HOME="$tmp" timeout 15 chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-quic \
            --disable-background-networking --ignore-certificate-errors --user-data-dir="$tmp/chromium" \
            --host-resolver-rules="MAP $NAME $SERVER4" --dump-dom "https://$NAME/chromium-2" >/dev/null 2>&1 || true
    fi
}

main
