#!/usr/bin/env bash
# Records the decrypted bytes of HTTP/2 clients over loopback: record.sh [NAME...]. README.md lists the programs.
set -euo pipefail

readonly NAMES="chromium firefox curl nghttp h2load go node python java curl-prior-knowledge curl-upgrade
    nghttp-upgrade"
readonly PORT=8443

here=$(cd "$(dirname "$0")" && pwd)
clients=$(cd "$here/../../captures/tools/tls-clients" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

main() {
    certificates 2>/dev/null
    local name
    for name in ${*:-$NAMES}; do
        echo "== $name"
        case $name in
        *-prior-knowledge | *-upgrade) timeout 60 python3 "$here/server.py" $PORT "$here/$name.bin" & ;;
        *) timeout 60 python3 "$here/server.py" $PORT "$here/$name.bin" "$tmp/cert.pem" "$tmp/key.pem" & ;;
        esac
        server=$!
        until (: </dev/tcp/127.0.0.1/$PORT) 2>/dev/null; do sleep 0.1; done
        "record_${name//-/_}" >"$tmp/$name.log" 2>&1 || true
        wait $server || cat "$tmp/$name.log" >&2
    done
}

# Creates a CA and a certificate for localhost, because Firefox rejects a server certificate that is its own CA.
certificates() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout "$tmp/ca-key.pem" -out "$tmp/ca.pem"
    openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout "$tmp/key.pem" -out "$tmp/request.pem"
    openssl x509 -req -days 2 -in "$tmp/request.pem" -CA "$tmp/ca.pem" -CAkey "$tmp/ca-key.pem" -CAcreateserial \
        -extfile <(echo subjectAltName=DNS:localhost) -out "$tmp/cert.pem"
}

readonly URL=https://localhost:$PORT/
readonly CLEARTEXT_URL=http://localhost:$PORT/

record_curl() { curl -sSk --http2 $URL; }
record_nghttp() { nghttp -nv --no-verify-peer $URL; }
record_h2load() { h2load -n 3 $URL; }
record_curl_prior_knowledge() { curl -sS --http2-prior-knowledge $CLEARTEXT_URL; }
record_curl_upgrade() { curl -sS --http2 $CLEARTEXT_URL; }
record_nghttp_upgrade() { nghttp -nvu $CLEARTEXT_URL $CLEARTEXT_URL?second; }

record_go() {
    go build -o "$tmp/fetch-go" "$clients/fetch.go"
    "$tmp/fetch-go" $URL
}

record_node() {
    NODE_TLS_REJECT_UNAUTHORIZED=0 node -e "
        const session = require('http2').connect('$URL');
        session.request({ ':path': '/' }).on('end', () => session.close()).resume();
    "
}

record_python() {
    python3 -m venv "$tmp/venv"
    "$tmp/venv/bin/pip" -q install 'httpx[http2]'
    "$tmp/venv/bin/python" -c "import httpx; httpx.Client(http2=True, verify=False).get('$URL')"
}

record_java() { java -Djdk.internal.httpclient.disableHostnameVerification "$clients/Fetch.java" $URL; }

record_chromium() {
    local trusted
    trusted=$(openssl x509 -in "$tmp/cert.pem" -pubkey -noout | openssl pkey -pubin -outform der |
        openssl dgst -sha256 -binary | base64)
    HOME=$tmp timeout 20 chromium --headless --no-sandbox --disable-gpu --no-first-run \
        --disable-background-networking --disable-component-update --user-data-dir="$tmp/chromium" \
        --ignore-certificate-errors-spki-list="$trusted" --dump-dom $URL
}

record_firefox() {
    mkdir "$tmp/firefox"
    certutil -N -d "sql:$tmp/firefox" --empty-password
    certutil -A -d "sql:$tmp/firefox" -n authority -t C,, -i "$tmp/ca.pem"
    HOME=$tmp timeout 20 firefox-esr --headless --profile "$tmp/firefox" --screenshot "$tmp/page.png" $URL
}

main "$@"
