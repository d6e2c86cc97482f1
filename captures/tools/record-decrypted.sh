#!/usr/bin/env bash
# Records HTTP inside TLS between real programs, with the secrets in the captures, each capture in its own network namespaces.
#
#   captures/tools/record-decrypted.sh          record all captures again
#   captures/tools/record-decrypted.sh NAME...  record only these
#   captures/tools/record-decrypted.sh --list   list the names
#
# The requirements and addresses of record.sh apply. editcap puts the key logs of the clients into the captures.
set -euo pipefail

readonly PACKAGES="chromium curl ethtool firefox-esr iproute2 libnss3-tools nginx nodejs openjdk-17-jdk-headless openssl python3 python3-venv
    tcpdump tshark wireshark-common"
readonly PROGRAMS="cargo certutil chromium curl editcap ethtool firefox-esr go ip javac nginx node openssl python3 ss tcpdump tshark"
export PYTHONDONTWRITEBYTECODE=1

readonly NAMES="http-decrypted-suites http-decrypted-sessions http-decrypted-clients http-decrypted-libraries http-decrypted-firefox
    http-decrypted-quic http-decrypted-quinn http-decrypted-tls13 http-decrypted-compressed"

here=$(cd "$(dirname "$0")" && pwd)
. "$here/layout.sh"
. "$here/lab.sh"

readonly SITE=https://www.example.test
# An agent of Java that logs keys, from Maven Central (Apache-2.0).
readonly AGENT=name/neykov/extract-tls-secrets/4.0.0/extract-tls-secrets-4.0.0.jar

main() {
    if [ "${1:-}" = --list ]; then
        printf '%s\n' $NAMES
        return
    fi
    lab_start
    chmod 711 "$tmp"
    local name
    for name in ${*:-$NAMES}; do
        echo "== $name"
        lab_up_as_wired
        server_up
        : >"$tmp/keys.log"
        record "$tmp/whole.pcap" $CLIENT_NS hn-a portrange 443-449
        "record_${name//-/_}"
        stop_recording
        editcap --inject-secrets tls,"$tmp/keys.log" "$tmp/whole.pcap" "$(capture "$name.pcapng")" 2>/dev/null
        lab_down
        # tshark shows nothing of TLS inside TLS.
        [ "$name" = http-decrypted-tls13 ] || heads "$name"
    done
}

# heads NAME: writes the golden NAME.heads, with the tshark of Debian trixie, because that of bookworm reads no HTTP/3.
heads() {
    # shellcheck disable=SC2046
    python3 "$here/heads.py" $(trixie tshark usr/bin/tshark) "$(capture "$1.pcapng")" >"$(capture "$1.heads")"
}

# nginx: 443 with every suite and HTTP/2, 444 with HTTP/1 and early data, 446 with HTTP/1 and without encrypt-then-MAC.
server_up() {
    mkdir -p "$tmp/www"
    echo '<!doctype html><title>Huginn</title><p>A page.<img src=/a.gif><script src=/a.js></script>' >"$tmp/www/index.html"
    printf 'GIF89a\1\0\1\0\0\0\0;' >"$tmp/www/a.gif"
    echo 'fetch("/data?a=1", { method: "POST", body: "text" })' >"$tmp/www/a.js"
    head -c 20000 /dev/zero | tr '\0' 'a' >"$tmp/www/large"
    certificate_of_authority
    openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=www.example.test \
        -addext subjectAltName=DNS:www.example.test -keyout "$tmp/rsa-key.pem" -out "$tmp/rsa-cert.pem" 2>/dev/null
    openssl dhparam -dsaparam -out "$tmp/dh.pem" 2048 2>/dev/null
    cat >"$tmp/tls.conf" <<CONF
daemon off; pid $tmp/nginx.pid; error_log $tmp/nginx.err; user root; worker_processes 1;
events {}
http {
    access_log off; root $tmp/www;
    ssl_certificate $tmp/cert.pem; ssl_certificate_key $tmp/key.pem;
    ssl_certificate $tmp/rsa-cert.pem; ssl_certificate_key $tmp/rsa-key.pem; ssl_dhparam $tmp/dh.pem;
    ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers ALL:@SECLEVEL=0;
    ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_CCM_SHA256:TLS_AES_128_CCM_8_SHA256;
    server { listen 443 ssl http2; location = /data { return 204; } }
    server { listen 446 ssl; ssl_conf_command Options -EncryptThenMac; }
    server { listen 444 ssl; ssl_early_data on; ssl_session_cache shared:a:1m; location = /data { return 204; } }
}
CONF
    server nginx -c "$tmp/tls.conf" 2>/dev/null &
    until [ -n "$(server ss -Hlnt "sport = :444")" ]; do
        kill -0 $!
        sleep 0.05
    done
}

# Creates an authority and a certificate by it: Firefox accepts no certificate that is its own authority.
certificate_of_authority() {
    [ ! -e "$tmp/key.pem" ] || return 0
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=Authority \
        -keyout "$tmp/authority-key.pem" -out "$tmp/authority.pem" 2>/dev/null
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj /CN=www.example.test \
        -addext subjectAltName=DNS:www.example.test -addext basicConstraints=CA:FALSE \
        -CA "$tmp/authority.pem" -CAkey "$tmp/authority-key.pem" -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
}

# named COMMAND...: runs a client that resolves www.example.test and logs its keys, and discards its output.
named() {
    client env SSLKEYLOGFILE="$tmp/keys.log" sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$tmp/hosts" "$@" \
        >"$tmp/client.log" 2>&1
}

# curl with each suite, and two exchanges on each connection.
record_http_decrypted_suites() {
    local suite
    for suite in $(suites AESGCM:AESCCM:CHACHA20); do
        named curl -sk --http1.1 --tls-max 1.2 --ciphers "$suite:@SECLEVEL=0" -o /dev/null "$SITE:444/$suite" \
            -o /dev/null "$SITE:444/large?$suite" || echo "no connection: $suite"
    done
    local port
    for port in 444 446; do
        for suite in $(suites 'AES:!AESGCM:!AESCCM'); do
            named curl -sk --http1.1 --tls-max 1.2 --ciphers "$suite:@SECLEVEL=0" -o /dev/null "$SITE:$port/$suite" \
                -d "$suite" -o /dev/null "$SITE:$port/post" || echo "no connection: $suite"
        done
    done
    for suite in TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256; do
        named curl -sk --http1.1 --tls13-ciphers $suite -o /dev/null "$SITE:444/$suite" -o /dev/null "$SITE:444/large?$suite"
        named curl -sk --http2 --tls13-ciphers $suite -o /dev/null "$SITE/$suite" -o /dev/null "$SITE/large?$suite"
    done
    for suite in TLS_AES_128_CCM_SHA256 TLS_AES_128_CCM_8_SHA256; do
        printf 'GET /%s HTTP/1.1\r\nHost: www.example.test\r\n\r\n' $suite | s_client 444 -tls1_3 -ciphersuites $suite
    done
}

# suites CIPHERS: prints the suites of TLS 1.2 with these ciphers and a certificate.
suites() { openssl ciphers -s -tls1_2 "$1:!PSK:!SRP:!aNULL:!aDSS:@SECLEVEL=0" | tr : '\n' | grep -v ^TLS_; }

# s_client PORT [ARGUMENT...]: sends its input with OpenSSL's client.
s_client() {
    local port=$1
    shift
    { cat; sleep 0.4; } | named timeout 3 openssl s_client -connect "$SERVER4:$port" -quiet -no_ign_eof \
        -keylogfile "$tmp/keys.log" "$@" || true
}

request() { printf 'GET %s HTTP/1.1\r\nHost: www.example.test\r\nX-Order: 1\r\nAccept: */*\r\n\r\n' "$1"; }

# Resumption with TLS 1.2 (ticket and identifier) and TLS 1.3, KeyUpdate of either side, early data that is accepted and rejected,
# another group.
record_http_decrypted_sessions() {
    local version
    for version in tls1_2 tls1_3; do
        request /new-$version | s_client 444 -$version -sess_out "$tmp/$version.pem"
        request /resumed-$version | s_client 444 -$version -sess_in "$tmp/$version.pem"
    done
    request /new-by-id | s_client 444 -tls1_2 -no_ticket -sess_out "$tmp/id.pem"
    request /resumed-by-id | s_client 444 -tls1_2 -no_ticket -sess_in "$tmp/id.pem"
    request /early >"$tmp/early"
    request /after-early | s_client 444 -tls1_3 -sess_in "$tmp/tls1_3.pem" -early_data "$tmp/early"
    # Port 443 does not accept early data.
    request /rejected-early >"$tmp/early"
    printf 'GET /new-http1 HTTP/1.0\r\n\r\n' | s_client 443 -tls1_3 -sess_out "$tmp/rejected.pem"
    request /after-rejection | s_client 443 -tls1_3 -sess_in "$tmp/tls1_3.pem" -early_data "$tmp/early"
    request /retry | s_client 444 -tls1_3 -groups X448:P-521
    { request /before-update; sleep 0.2; echo k; sleep 0.2; request /after-update; sleep 0.2; echo K; sleep 0.2; request /after-both; } |
        { cat; sleep 0.4; } | named timeout 4 openssl s_client -connect "$SERVER4:444" -tls1_3 -keylogfile "$tmp/keys.log" || true
}

# Browsers and libraries, HTTP/1 and HTTP/2.
record_http_decrypted_clients() {
    named curl -sk -d a=1 -o /dev/null "$SITE/data" -o /dev/null "$SITE/"
    chromium_with --ignore-certificate-errors --dump-dom $SITE/
    named python3 -c 'import ssl, urllib.request as u
c = ssl.create_default_context(cafile="'"$tmp/authority.pem"'")
u.urlopen("https://www.example.test:444/python", context=c)' || true
    named node --tls-keylog="$tmp/keys.log" -e 'process.env.NODE_TLS_REJECT_UNAUTHORIZED = 0
require("https").get("https://www.example.test:444/node", r => r.resume())
const c = require("http2").connect("https://www.example.test")
const s = c.request({ ":path": "/node-http2", "x-b": "1", "x-a": "2" }); s.resume(); s.on("end", () => c.close()); s.end()'
    named curl -sk --http1.1 -H Expect: --data-binary @"$tmp/www/large" -o /dev/null "$SITE:444/upload" -o /dev/null "$SITE:444/after"
}

# Java, Go, Node.js and Python with TLS 1.2 and 1.3, sessions that are new and resumed.
record_http_decrypted_libraries() {
    curl -sSf -o "$tmp/agent.jar" "https://repo1.maven.org/maven2/$AGENT"
    javac -d "$tmp" "$here/http-programs/Secure.java"
    go build -o "$tmp/secure-go" "$here/http-programs/secure.go"
    named java "-javaagent:$tmp/agent.jar=$tmp/keys.log" -cp "$tmp" Secure $SITE
    named "$tmp/secure-go" $SITE
    local version
    for version in TLSv1.2 TLSv1.3; do
        named node --no-warnings --tls-keylog="$tmp/keys.log" "$here/http-programs/secure.js" www.example.test $version
    done
    named python3 -c 'import ssl, urllib.request as u
for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
    c = ssl.create_default_context(cafile="'"$tmp/authority.pem"'")
    c.minimum_version = c.maximum_version = version
    for data in None, b"text":
        u.urlopen(u.Request("https://www.example.test:444/data?python", data, {"X-Name": "value"}), context=c).read()'
}

# Firefox with HTTP/2, HTTP/1 and HTTP/3 (a server of quic-go), and with TLS 1.2.
record_http_decrypted_firefox() {
    h3_servers
    firefox_with "$SITE/?http2"
    firefox_with "$SITE:444/?http1"
    firefox_with "$SITE/?http2-tls12" security.tls.version.max 3
    firefox_with "$SITE:444/?http1-tls12" security.tls.version.max 3
    firefox_with $SITE/firefox-http3 network.http.http3.alt-svc-mapping-for-testing '"www.example.test;h3=:445"'
}

# firefox_with URL [PREFERENCE VALUE]...: opens a page with a new profile, which trusts the authority.
firefox_with() {
    local url=$1 profile
    shift
    profile=$(mktemp -d "$tmp/firefox-XXXX")
    {
        echo 'user_pref("network.captive-portal-service.enabled", false);'
        echo 'user_pref("network.http.http3.disable_when_third_party_roots_found", false);'
        [ $# = 0 ] || printf 'user_pref("%s", %s);\n' "$@"
    } >"$profile/user.js"
    certutil -N -d "$profile" --empty-password
    certutil -A -d "$profile" -n authority -t C,, -i "$tmp/authority.pem"
    named env HOME="$profile" timeout 12 firefox-esr --headless --profile "$profile" --screenshot "$tmp/page.png" "$url" || true
}

# HTTP/3 of quinn, aioquic, quic-go, Chromium and Firefox with a server of quinn, and of quinn with servers of quic-go and aioquic.
record_http_decrypted_quinn() {
    h3_servers
    [ -e "$tmp/quinn" ] || quinn_program
    local program=$tmp/quinn/target/debug/program
    server "$program" serve "$tmp/cert.pem" "$tmp/key.pem" 0.0.0.0:449 2>"$tmp/quinn.log" &
    until [ -n "$(server ss -Hlnu "sport = :449")" ]; do sleep 0.05; done
    local port
    for port in 449 445 448; do named "$program" get $SITE:$port/quinn $SERVER4:$port || echo "no connection: quinn to $port"; done
    h3_python 1 $SITE:449/aioquic
    h3_python 1 $SITE:449/aioquic-update update
    named "$tmp/h3/h3" get $SITE:449/go
    chromium_with --enable-quic --origin-to-force-quic-on=www.example.test:449 --dump-dom $SITE:449/chromium
    firefox_with $SITE/firefox network.http.http3.alt-svc-mapping-for-testing '"www.example.test;h3=:449"'
}

# Builds http-programs/h3.rs.
quinn_program() {
    cargo new -q --vcs none --name program "$tmp/quinn"
    cp "$here/http-programs/h3.rs" "$tmp/quinn/src/main.rs"
    (
        cd "$tmp/quinn"
        cargo add -q bytes h3 h3-quinn http@1
        cargo add -q quinn@0.11 --no-default-features --features ring,runtime-tokio,rustls
        cargo add -q rustls@0.23 --no-default-features --features ring,std,tls12
        cargo add -q tokio --features macros,rt-multi-thread
        cargo build -q --target-dir target
    ) >"$tmp/quinn-build.log" 2>&1
}

# HTTP/3 of quic-go (0-RTT, whose secret Go does not log), aioquic (versions 1 and 2, key update, another connection id, 0-RTT) and Chromium, with servers of quic-go, with
# and without a Retry, and of aioquic.
record_http_decrypted_quic() {
    h3_servers
    named "$tmp/h3/h3" get $SITE:445/go 0rtt
    named "$tmp/h3/h3" get $SITE:447/go-retry
    named "$tmp/h3/h3" get $SITE:448/go-version2 2
    local version
    for version in 1 6b3343cf; do
        h3_python $version "$SITE:448/aioquic?v=$version"
        h3_python $version "$SITE:445/aioquic-update" update
    done
    h3_python 1 "$SITE:448/aioquic-update" update
    h3_python 1 "$SITE:448/aioquic" 0rtt
    h3_python 1 "$SITE:447/aioquic-retry"
    chromium_with --enable-quic --origin-to-force-quic-on=www.example.test:445 --dump-dom $SITE:445/chromium
    chromium_with --enable-quic --origin-to-force-quic-on=www.example.test:448 --dump-dom $SITE:448/chromium
}

h3_python() { named timeout 9 "$tmp/venv/bin/python" "$here/http-programs/h3.py" get "$@" || echo "no connection: $*"; }

# Servers of HTTP/3: 445 of quic-go, 447 with a Retry, 448 of aioquic.
h3_servers() {
    if [ ! -e "$tmp/venv" ]; then
        python3 -m venv "$tmp/venv"
        "$tmp/venv/bin/pip" install -q aioquic
        mkdir "$tmp/h3"
        cp "$here/tls-clients/h3.go" "$tmp/h3/"
        (cd "$tmp/h3" && go mod init h3 && go mod tidy && go build -o h3 .) >"$tmp/h3-build.log" 2>&1
    fi
    server "$tmp/h3/h3" serve "$tmp/cert.pem" "$tmp/key.pem" :445 2>"$tmp/h3.log" &
    server "$tmp/h3/h3" serve "$tmp/cert.pem" "$tmp/key.pem" :447 retry 2>"$tmp/h3.log" &
    server "$tmp/venv/bin/python" "$here/http-programs/h3.py" serve "$tmp/cert.pem" "$tmp/key.pem" 448 2>"$tmp/h3.log" &
    local port
    for port in 445 447 448; do
        until [ -n "$(server ss -Hlnu "sport = :$port")" ]; do sleep 0.05; done
    done
}

# The encrypted handshake of TLS 1.3: a chain of two certificates, one of the client that the server asks for, an alert, a
# HelloRetryRequest, ALPN; and handshakes through a proxy by CONNECT inside TLS.
record_http_decrypted_tls13() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/O=Huginn/CN=Authority" \
        -keyout "$tmp/ca-key.pem" -out "$tmp/ca.pem" 2>/dev/null
    local name
    for name in server client; do
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/O=Huginn/CN=$name.example.test" \
            -keyout "$tmp/$name-key.pem" -out "$tmp/$name.csr" 2>/dev/null
        openssl x509 -req -in "$tmp/$name.csr" -CA "$tmp/ca.pem" -CAkey "$tmp/ca-key.pem" -days 3650 -out "$tmp/$name.pem" \
            -extfile <(echo "subjectAltName=DNS:$name.example.test,DNS:www.example.test") 2>/dev/null
    done
    server openssl s_server -accept 447 -www -cert "$tmp/server.pem" -key "$tmp/server-key.pem" -cert_chain "$tmp/ca.pem" \
        -CAfile "$tmp/ca.pem" -Verify 2 -alpn http/1.1,h2 -groups P-384:X25519 >/dev/null 2>&1 &
    server python3 "$here/http-programs/proxy.py" "$tmp/cert.pem" "$tmp/key.pem" 448 >"$tmp/proxy.log" 2>&1 &
    local port
    for port in 447 448; do
        until [ -n "$(server ss -Hlnt "sport = :$port")" ]; do sleep 0.05; done
    done
    named curl -sk --cert "$tmp/client.pem" --key "$tmp/client-key.pem" -o /dev/null $SITE:447/mutual
    named curl -sk --curves P-384 --http1.1 --cert "$tmp/client.pem" --key "$tmp/client-key.pem" -o /dev/null $SITE:447/mutual
    named curl -sk -o /dev/null $SITE:447/without-certificate || true
    named curl -sk -o /dev/null $SITE/page
    named curl -s -o /dev/null $SITE/unknown-ca || true
    for version in 1.2 1.3; do
        named curl -sk --proxy-insecure --tls-max $version --http1.1 -x https://www.example.test:448 -o /dev/null \
            "https://$SERVER4:444/through-proxy" -o /dev/null "https://$SERVER4:444/through-proxy-again"
    done
}

# A certificate that OpenSSL 3.5 compresses with zlib for its own client, and sends uncompressed to curl.
record_http_decrypted_compressed() {
    local openssl
    openssl=$(trixie openssl usr/bin/openssl)
    # shellcheck disable=SC2086
    server $openssl s_server -accept 448 -www -cert_comp -cert "$tmp/cert.pem" -key "$tmp/key.pem" >/dev/null 2>&1 &
    until [ -n "$(server ss -Hlnt "sport = :448")" ]; do sleep 0.05; done
    named curl -sk -o /dev/null $SITE:448/uncompressed
    # shellcheck disable=SC2086
    { request /zlib; sleep 0.4; } | named timeout 3 $openssl s_client -connect "$SERVER4:448" -quiet -no_ign_eof -tls1_3 \
        -keylogfile "$tmp/keys.log" || true
}

main "$@"
