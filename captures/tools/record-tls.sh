#!/usr/bin/env bash
# Records TLS handshakes between real programs, each capture in its own network namespaces.
#
#   captures/tools/record-tls.sh          record all captures again
#   captures/tools/record-tls.sh NAME...  record only these
#   captures/tools/record-tls.sh --list   list the names
#
# The requirements and addresses of record.sh apply. The script also needs Go, Cargo and pip, with which it downloads and
# builds clients in a temporary folder, outside the namespaces. It keeps only the first packets of every flow.
set -euo pipefail

readonly PACKAGES="chromium curl ethtool firefox-esr gnutls-bin iproute2 ldap-utils lftp libnet-ssleay-perl
    mariadb-client nginx ngtcp2-client nodejs openjdk-17-jdk-headless openssl openvpn postgresql-client python3
    python3-venv swaks tcpdump tshark wget"
readonly PROGRAMS="cargo chromium curl ethtool firefox-esr gnutls-cli gnutls-serv go gtlsclient ip javac ldapsearch lftp
    mariadb nginx node openssl openvpn psql python3 ss swaks tcpdump tshark wget"
export PYTHONDONTWRITEBYTECODE=1

readonly NAMES="tls-curl tls-gnutls tls-openssl tls-resumption tls-hello-retry tls-python tls-go tls-java tls-node
    tls-rustls tls-firefox tls-chromium quic-firefox quic-chromium quic-go quic-retry quic-version2 quic-negotiation
    quic-reserved quic-aioquic starttls-smtp starttls-imap starttls-pop3 starttls-ftp starttls-ldap starttls-postgres starttls-mysql
    starttls-xmpp starttls-others tls-connect tls-socks tls-proxy-protocol
    tls-large tls-small-segments tls-certificates tls-sessions tls-alerts tls-post-quantum tls-ech tls-made-sslv2 tls-fast-open tls-made-mid-stream tls-made-padded-acks tls-openvpn
    tls-openvpn-certificates
    dtls-openssl dtls-gnutls dtls-certificates dtls-fragments dtls-13 dtls-chromium dtls-firefox labelled"

here=$(cd "$(dirname "$0")" && pwd)
. "$here/layout.sh"
. "$here/lab.sh"

main() {
    if [ "${1:-}" = --list ]; then
        printf '%s\n' $NAMES
        return
    fi
    lab_start
    local name
    for name in ${*:-$NAMES}; do
        echo "== $name"
        lab_up_as_wired
        certificate
        "record_${name//-/_}"
        lab_down
    done
}

# Runs a client that resolves www.example.test, in its own mount namespace.
named() { client sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$tmp/hosts" "$@"; }

# start FILTER: starts recording the client's interface. keep NAME PACKETS: stops, and keeps the first packets of every flow.
start() { record "$tmp/whole.pcap" $CLIENT_NS hn-a "$@"; }
keep() {
    stop_recording
    python3 "$here/trim.py" "$tmp/whole.pcap" "$(capture "$1.pcap")" "$2"
}

# s_server PORT [ARGUMENT...]: starts OpenSSL's server, which runs until lab_down. Its standard input stays open, since it
# exits at the end of it.
s_server() {
    local port=$1
    shift
    server sh -c 'sleep 600 | openssl s_server "$@"' - -accept "$port" -cert "$tmp/cert.pem" -key "$tmp/key.pem" "$@" \
        >"$tmp/s_server-$port.log" 2>&1 &
    listening "$port" $!
}

# listening PORT PID: waits until the process or one of its children listens on the port.
listening() {
    until [ -n "$(server ss -Hlntu "sport = :$1")" ]; do
        kill -0 "$2"
        sleep 0.05
    done
}

# s_client PORT [ARGUMENT...]: runs OpenSSL's client. Its standard input stays open until the server has replied.
s_client() {
    local port=$1
    shift
    (sleep 0.5) | client openssl s_client -connect "$SERVER4:$port" "$@" >/dev/null 2>&1 || true
}

readonly HTTPS=https://www.example.test/

curl_tls() { client curl -sSk -o /dev/null --resolve "www.example.test:443:$SERVER4" "$@"; }

record_tls_curl() {
    nginx_up
    start tcp
    curl_tls $HTTPS
    curl_tls --http1.1 $HTTPS
    curl_tls --no-alpn $HTTPS
    curl_tls --tls-max 1.2 $HTTPS
    client curl -sSk -o /dev/null https://$SERVER4/
    client curl -sSk -o /dev/null --resolve "www.example.test:443:[$SERVER6]" $HTTPS
    keep tls-curl 7
}

record_tls_gnutls() {
    nginx_up
    start tcp
    named wget -q --no-check-certificate -O /dev/null $HTTPS
    client wget -q --no-check-certificate -O /dev/null https://$SERVER4/
    gnutls_cli
    gnutls_cli --priority NORMAL:-VERS-TLS1.3
    gnutls_cli --priority SECURE256 --alpn h2 --alpn http/1.1
    # A second connection resumes the session of the first.
    gnutls_cli --resume
    keep tls-gnutls 7
}

gnutls_cli() { named gnutls-cli --insecure "$@" www.example.test </dev/null >/dev/null 2>&1 || true; }

record_tls_openssl() {
    s_server 443 -www -alpn h2,http/1.1
    s_server 4443 -www -cipher DEFAULT:@SECLEVEL=0
    start tcp
    s_client 443 -servername www.example.test
    s_client 443 -noservername
    s_client 443 -tls1_3 -alpn h2,http/1.1
    s_client 443 -tls1_2 -alpn x
    s_client 443 -tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256 -no_ticket -alpn 'grpc-exp,h2'
    s_client 4443 -tls1_1 -cipher DEFAULT:@SECLEVEL=0
    s_client 4443 -tls1 -cipher DEFAULT:@SECLEVEL=0
    s_client 443 -servername www.example.test -status -nextprotoneg h2 -maxfraglen 1024 -use_srtp SRTP_AES128_CM_SHA1_80
    s_client 443 -tls1_3 -sigalgs ed25519:RSA-PSS+SHA256:ECDSA+SHA256 -groups X448:P-256
    keep tls-openssl 7
}

# Session tickets in TLS 1.2 and 1.3, early data after the hello, pre-shared keys.
record_tls_resumption() {
    local key=00112233445566778899aabbccddeeff
    s_server 443 -early_data
    s_server 4443 -nocert -psk $key -ciphersuites TLS_AES_128_GCM_SHA256
    echo early >"$tmp/early.txt"
    start tcp
    s_client 443 -servername www.example.test -tls1_2 -sess_out "$tmp/session12"
    s_client 443 -servername www.example.test -tls1_2 -sess_in "$tmp/session12"
    s_client 443 -servername www.example.test -sess_out "$tmp/session13"
    s_client 443 -servername www.example.test -sess_in "$tmp/session13" -early_data "$tmp/early.txt"
    s_client 4443 -psk $key -psk_identity client
    s_client 4443 -psk $key -psk_identity client -tls1_2
    keep tls-resumption 7
}

# The server requires a group for which the first hello has no key share.
record_tls_hello_retry() {
    s_server 443 -groups P-384 -www
    start tcp
    s_client 443 -servername www.example.test -groups X25519:P-384
    client curl -sSk -o /dev/null https://$SERVER4/
    client wget -q --no-check-certificate -O /dev/null https://$SERVER4/
    named "$(go_client)" $HTTPS
    keep tls-hello-retry 13
}

record_tls_python() {
    python_venv
    nginx_up
    start tcp
    named "$tmp/venv/bin/python" "$here/tls-clients/fetch.py" $HTTPS
    keep tls-python 7
}

python_venv() {
    [ -e "$tmp/venv" ] && return
    python3 -m venv "$tmp/venv"
    "$tmp/venv/bin/pip" install -q aioquic requests
}

record_tls_go() {
    local fetch
    fetch=$(go_client)
    nginx_up
    start tcp
    named "$fetch" $HTTPS
    keep tls-go 8
}

go_client() {
    go build -o "$tmp/fetch-go" "$here/tls-clients/fetch.go"
    echo "$tmp/fetch-go"
}

record_tls_java() {
    javac -d "$tmp" "$here/tls-clients/Fetch.java"
    nginx_up
    start tcp
    named java -cp "$tmp" Fetch $HTTPS
    keep tls-java 7
}

record_tls_node() {
    nginx_up
    start tcp
    named node --no-warnings "$here/tls-clients/fetch.js" $HTTPS
    keep tls-node 7
}

record_tls_rustls() {
    rust_program fetch rustls@0.23
    nginx_up
    start tcp
    client "$tmp/fetch/target/debug/fetch" www.example.test $SERVER4:443
    keep tls-rustls 8
}

# rust_program NAME CRATE...: builds tls-clients/NAME.rs.
rust_program() {
    cargo new -q --vcs none "$tmp/$1"
    cp "$here/tls-clients/$1.rs" "$tmp/$1/src/main.rs"
    (cd "$tmp/$1" && cargo add -q "${@:2}" && cargo build -q --target-dir target)
}

record_tls_firefox() {
    nginx_up
    start tcp port 443
    firefox
    keep tls-firefox 8
}

# firefox [PREFERENCE VALUE]...: opens one page.
firefox() { firefox_with "--screenshot $tmp/page.png $HTTPS" "$@"; }

# firefox_with ARGUMENTS [PREFERENCE VALUE]...: starts Firefox with a new profile, hence without a session to resume.
firefox_with() {
    local arguments=$1 profile
    shift
    profile=$(mktemp -d "$tmp/firefox-XXXX")
    {
        echo 'user_pref("network.http.http3.disable_when_third_party_roots_found", false);'
        [ $# = 0 ] || printf 'user_pref("%s", %s);\n' "$@"
    } >"$profile/user.js"
    # shellcheck disable=SC2086
    named env HOME="$profile" timeout 12 firefox-esr --headless --profile "$profile" $arguments \
        >"$tmp/firefox.log" 2>&1 || true
}

# Chromium shuffles its extensions in every process.
record_tls_chromium() {
    nginx_up
    start tcp port 443
    local i
    for i in 1 2 3; do chromium_page; done
    keep tls-chromium 8
}

# chromium_page [FLAG...]: opens one page.
chromium_page() { chromium_with "$@" --dump-dom $HTTPS; }

record_quic_firefox() {
    nginx_up
    h3_server 443
    start udp port 443
    firefox network.http.http3.alt-svc-mapping-for-testing '"www.example.test;h3=:443"'
    keep quic-firefox 4
}

record_quic_chromium() {
    h3_server 443
    start udp port 443
    local i
    for i in 1 2; do chromium_page --enable-quic --origin-to-force-quic-on=www.example.test:443; done
    keep quic-chromium 4
}

record_quic_go() {
    h3_server 443
    start udp port 443
    named "$tmp/h3/h3" get $HTTPS 0rtt
    client "$tmp/h3/h3" get "https://[$SERVER6]/"
    keep quic-go 4
}

record_quic_retry() {
    h3_server 443 retry
    python_venv
    start udp port 443
    named "$tmp/h3/h3" get $HTTPS
    h3_python 1
    h3_python 6b3343cf
    chromium_page --enable-quic --origin-to-force-quic-on=www.example.test:443
    keep quic-retry 8
}

record_quic_version2() {
    h3_server 443 2
    python_venv
    start udp port 443
    named "$tmp/h3/h3" get $HTTPS 2
    h3_python 6b3343cf
    keep quic-version2 4
}

# The server supports only version 2; the client starts with version 1.
record_quic_negotiation() {
    h3_server 443 2
    python_venv
    start udp port 443
    h3_python 1 6b3343cf
    keep quic-negotiation 6
}

# The client starts with versions that are reserved to force Version Negotiation (RFC 9000, section 6.3), and continues with
# version 1.
record_quic_reserved() {
    h3_server 443
    start udp port 443
    for version in 0x1a2a3a4a 0xfafafafa; do
        named timeout 5 gtlsclient -q --exit-on-all-streams-close --version=$version --preferred-versions=v1 \
            www.example.test 443 $HTTPS >/dev/null 2>&1 || true
    done
    keep quic-reserved 6
}

record_quic_aioquic() {
    h3_server 443
    python_venv
    start udp port 443
    h3_python 1
    h3_python 1 6b3343cf
    keep quic-aioquic 4
}

# h3_python VERSION...
h3_python() {
    named timeout 5 "$tmp/venv/bin/python" "$here/tls-clients/h3.py" www.example.test 443 "$@" || true
}

# h3_server PORT [ARGUMENT...]: starts quic-go's server.
h3_server() {
    h3_program
    server "$tmp/h3/h3" serve "$tmp/cert.pem" "$tmp/key.pem" ":$1" "${@:2}" 2>"$tmp/h3.log" &
    listening "$1" $!
}

h3_program() {
    [ -e "$tmp/h3/h3" ] && return
    mkdir "$tmp/h3"
    cp "$here/tls-clients/h3.go" "$tmp/h3/"
    (cd "$tmp/h3" && go mod init h3 && go mod tidy && go build -o h3 .) >"$tmp/h3-build.log" 2>&1
}

# Stub servers on the ports of their protocols: tls-clients/dialogues.py.
dialogues_up() {
    : >"$tmp/dialogues.log"
    server python3 "$here/tls-clients/dialogues.py" serve "$tmp/cert.pem" "$tmp/key.pem" >"$tmp/dialogues.log" 2>&1 &
    until grep -q ready "$tmp/dialogues.log"; do
        kill -0 $!
        sleep 0.05
    done
    start tcp
}

# quietly COMMAND...: runs a client whose connection the stub server closes.
quietly() { named timeout 5 "$@" </dev/null >/dev/null 2>&1 || true; }

curl_starttls() { quietly curl -sk --ssl-reqd "$@"; }

record_starttls_smtp() {
    dialogues_up
    s_client 25 -starttls smtp
    curl_starttls smtp://www.example.test/ --mail-from a@example.test --mail-rcpt b@example.test -T /dev/null
    quietly swaks --tls --server www.example.test --from a@example.test --to b@example.test
    keep starttls-smtp 15
}

record_starttls_imap() {
    dialogues_up
    s_client 143 -starttls imap
    curl_starttls imap://www.example.test/
    keep starttls-imap 15
}

record_starttls_pop3() {
    dialogues_up
    s_client 110 -starttls pop3
    curl_starttls pop3://www.example.test/
    keep starttls-pop3 15
}

record_starttls_ftp() {
    dialogues_up
    s_client 21 -starttls ftp
    curl_starttls ftp://www.example.test/
    quietly lftp -e 'set ftp:ssl-allow-anonymous yes; set ftp:ssl-force yes; set ssl:verify-certificate no; ls; exit' \
        ftp://www.example.test
    keep starttls-ftp 15
}

record_starttls_ldap() {
    dialogues_up
    s_client 389 -starttls ldap
    LDAPTLS_REQCERT=never quietly ldapsearch -x -ZZ -H ldap://www.example.test
    keep starttls-ldap 10
}

record_starttls_postgres() {
    dialogues_up
    s_client 5432 -starttls postgres
    quietly psql 'host=www.example.test user=a sslmode=require'
    keep starttls-postgres 10
}

record_starttls_mysql() {
    dialogues_up
    s_client 3306 -starttls mysql
    quietly mariadb --ssl -h www.example.test -u a
    keep starttls-mysql 10
}

record_starttls_xmpp() {
    dialogues_up
    s_client 5222 -starttls xmpp -xmpphost example.test
    quietly gnutls-cli --insecure --starttls-proto xmpp -p 5222 www.example.test
    keep starttls-xmpp 15
}

record_starttls_others() {
    dialogues_up
    s_client 24 -starttls lmtp
    s_client 119 -starttls nntp
    s_client 4190 -starttls sieve
    keep starttls-others 15
}

record_tls_connect() {
    dialogues_up
    quietly curl -sk -x http://$SERVER4:3128 $HTTPS
    quietly curl -sk -x http://$SERVER4:3129 --proxy-user a:b --proxy-anyauth $HTTPS
    quietly curl -sk -x "http://[$SERVER6]:3128" --proxy-header 'X-Long: '"$(printf '%01500d' 0)" $HTTPS
    quietly wget -q --no-check-certificate -t 1 -e https_proxy=http://$SERVER4:3128 $HTTPS
    quietly openssl s_client -connect www.example.test:443 -proxy $SERVER4:3128
    chromium_proxied "PROXY $SERVER4:3128"
    keep tls-connect 13
}

record_tls_socks() {
    dialogues_up
    quietly curl -sk --socks4 $SERVER4 $HTTPS
    quietly curl -sk --socks4a $SERVER4 $HTTPS
    quietly curl -sk --socks5 $SERVER4 $HTTPS
    quietly curl -sk --socks5-hostname $SERVER4 --proxy-user a:b $HTTPS
    quietly curl -sk --socks5 $SERVER4 "https://[$SERVER6]/"
    chromium_proxied "SOCKS5 $SERVER4:1080"
    keep tls-socks 15
}

# A proxy that forwards only the page, and no other request of the browser.
chromium_proxied() {
    local script="function FindProxyForURL(_, host) { return host == 'www.example.test' ? '$1' : 'DIRECT' }"
    chromium_page --proxy-pac-url="data:application/x-javascript-config;base64,$(base64 -w0 <<<"$script")"
}

record_tls_proxy_protocol() {
    dialogues_up
    quietly curl -sk --haproxy-protocol $HTTPS
    quietly curl -sk --haproxy-protocol "https://[$SERVER6]/"
    quietly python3 "$here/tls-clients/dialogues.py" proxy-v2 $SERVER4 443
    keep tls-proxy-protocol 10
}

record_tls_large() {
    go build -o "$tmp/many-go" "$here/tls-clients/many.go"
    s_server 443 -www -alpn h2
    start tcp
    client "$tmp/many-go" $SERVER4:443
    keep tls-large 32
}

# Small path MTU: a hello in many segments.
record_tls_small_segments() {
    local fetch
    fetch=$(go_client)
    nginx_up
    ip -n $CLIENT_NS link set hn-a mtu 300
    start tcp
    curl_tls $HTTPS
    named "$fetch" $HTTPS
    keep tls-small-segments 18
}

record_tls_made_sslv2() {
    s_server 443 -www -cipher ALL:@SECLEVEL=0
    start tcp
    client python3 "$here/tls-clients/dialogues.py" sslv2 $SERVER4 443
    keep tls-made-sslv2 6
}

# TCP Fast Open: the hello is in the SYN (RFC 7413).
# Chains of three certificates, certificates of clients, and none of a client, in TLS 1.2 to 1.0. Port 443 asks for no
# certificate. Port 4433 sends records of 512 bytes, so that a message has several.
record_tls_certificates() {
    chains
    local mutual=(-Verify 2 -CAfile "$tmp/root.pem") old=(-cipher DEFAULT:@SECLEVEL=0)
    s_server 443 "${chain[@]}"
    s_server 4431 "${chain[@]}" "${mutual[@]}"
    s_server 4432 "${chain[@]}" "${mutual[@]}" "${old[@]}"
    s_server 4433 "${chain[@]}" -max_send_frag 512
    server gnutls-serv --port 4434 --x509certfile "$tmp/server-chain.pem" --x509keyfile "$tmp/server.key" \
        --x509cafile "$tmp/root.pem" --require-client-cert >"$tmp/gnutls-serv.log" 2>&1 &
    listening 4434 $!
    go build -o "$tmp/mutual" "$here/tls-clients/mutual.go"
    server "$tmp/mutual" "$tmp/server-chain.pem" "$tmp/server.key" "$tmp/root.pem" $SERVER4:4435 2>/dev/null &
    listening 4435 $!
    start tcp
    s_client 443 -tls1_2 -servername www.example.test
    s_client 443 -tls1_2 -servername other.example
    s_client 443 -tls1_2 -noservername
    s_client 4431 -tls1_2 -servername www.example.test "${own[@]}"
    s_client 4432 -tls1_1 "${old[@]}" "${own[@]}"
    s_client 4432 -tls1 "${old[@]}" "${own[@]}"
    s_client 4433 -tls1_2 -servername a.example.net
    quietly gnutls-cli --insecure -p 4434 --priority NORMAL:-VERS-TLS1.3 --x509certfile "$tmp/client-chain.pem" \
        --x509keyfile "$tmp/client.key" www.example.test
    s_client 4435 -servername www.example.test
    keep tls-certificates 20
}

# Whole handshakes: sessions that TLS 1.0 to 1.3 resume by session id, ticket and pre-shared key; early data; key exchange by
# RSA, by a Diffie-Hellman group of the server's own, without certificates, and by external pre-shared keys.
record_tls_sessions() {
    local key=00112233445566778899aabbccddeeff weak=ALL:@SECLEVEL=0 version
    openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=www.example.test -keyout "$tmp/rsa.key" \
        -out "$tmp/rsa.pem" 2>/dev/null
    openssl dhparam -out "$tmp/dh.pem" 1024 2>/dev/null
    s_server 443 -early_data
    s_server 4431 -no_ticket -cipher $weak
    s_server 4432 -cipher $weak -cert "$tmp/rsa.pem" -key "$tmp/rsa.key" -dhparam "$tmp/dh.pem"
    s_server 4433 -nocert -psk $key -ciphersuites TLS_AES_128_GCM_SHA256
    echo early >"$tmp/early.txt"
    start tcp
    for version in tls1 tls1_1 tls1_2; do
        twice 4431 -$version -cipher $weak
    done
    twice 443 -tls1_2
    twice 443 -tls1_3
    s_client 443 -tls1_3 -sess_out "$tmp/session"
    s_client 443 -tls1_3 -sess_in "$tmp/session" -early_data "$tmp/early.txt"
    s_client 4432 -tls1_2 -cipher AES128-SHA256
    s_client 4432 -tls1_2 -cipher DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0
    s_client 4432 -tls1_2 -cipher ADH-AES128-SHA256:@SECLEVEL=0
    s_client 4433 -tls1_2 -psk $key -psk_identity client
    s_client 4433 -tls1_3 -psk $key
    keep tls-sessions 16
}

# twice PORT [ARGUMENT...]: connects, and again with the session of the first connection.
twice() {
    s_client "$@" -sess_out "$tmp/session"
    s_client "$@" -sess_in "$tmp/session"
}

# Handshakes that end with an alert of the server or client, in the clear and encrypted, and certificates of clients in TLS 1.3.
record_tls_alerts() {
    chains
    local mutual=(-Verify 2 -CAfile "$tmp/root.pem" -verify_return_error) distrust=(-verify_return_error -CAfile "$tmp/cert.pem")
    s_server 443 "${chain[@]}" -groups X25519
    s_server 4431 "${chain[@]}" "${mutual[@]}"
    start tcp
    s_client 443 -tls1_1 -cipher DEFAULT:@SECLEVEL=0
    s_client 443 -tls1_2 -cipher AES128-SHA
    s_client 443 -tls1_3 -groups P-521
    s_client 443 -tls1_2 "${distrust[@]}"
    s_client 443 -tls1_3 "${distrust[@]}"
    quietly gnutls-cli --x509cafile "$tmp/cert.pem" --priority NORMAL:-VERS-ALL:+VERS-TLS1.3 www.example.test
    quietly gnutls-cli --x509cafile "$tmp/cert.pem" --priority NORMAL:-VERS-ALL:+VERS-TLS1.2 www.example.test
    s_client 4431 -tls1_2
    s_client 4431 -tls1_3
    s_client 4431 -tls1_2 -cert "$tmp/cert.pem" -key "$tmp/key.pem"
    s_client 4431 -tls1_3 -cert "$tmp/cert.pem" -key "$tmp/key.pem"
    s_client 4431 -tls1_3 "${own[@]}"
    keep tls-alerts 16
}

# Hybrid groups by OpenSSL 3.5 at both ends: the default, the two others, an old client, and a HelloRetryRequest.
record_tls_post_quantum() {
    local openssl
    openssl=$(trixie openssl usr/bin/openssl)
    # shellcheck disable=SC2086
    server sh -c 'sleep 600 | "$@"' - $openssl s_server -accept 443 -cert "$tmp/cert.pem" -key "$tmp/key.pem" \
        >"$tmp/s_server-443.log" 2>&1 &
    listening 443 $!
    # shellcheck disable=SC2086
    server sh -c 'sleep 600 | "$@"' - $openssl s_server -accept 4431 -cert "$tmp/cert.pem" -key "$tmp/key.pem" \
        -groups X25519MLKEM768:SecP256r1MLKEM768:SecP384r1MLKEM1024:MLKEM768 >"$tmp/s_server-4431.log" 2>&1 &
    listening 4431 $!
    start tcp
    new_s_client 443
    new_s_client 4431 -groups SecP256r1MLKEM768
    new_s_client 4431 -groups SecP384r1MLKEM1024
    new_s_client 4431 -groups MLKEM768
    new_s_client 4431 -groups '*X25519:X25519MLKEM768'
    s_client 443 -tls1_3
    keep tls-post-quantum 16
}

# new_s_client PORT [ARGUMENT...]: the client of OpenSSL 3.5.
new_s_client() {
    local port=$1
    shift
    # shellcheck disable=SC2086
    (sleep 0.5) | client $openssl s_client -connect "$SERVER4:$port" -servername www.example.test "$@" >/dev/null 2>&1 || true
}

# Encrypted Client Hello: accepted, accepted after a HelloRetryRequest, and rejected, since the client has the configuration of
# another server.
record_tls_ech() {
    go build -o "$tmp/ech" "$here/tls-clients/ech.go"
    "$tmp/ech" config "$tmp/own" 1
    "$tmp/ech" config "$tmp/other" 2
    server "$tmp/ech" serve "$tmp/cert.pem" "$tmp/key.pem" $SERVER4:443 "$tmp/own" 2>/dev/null &
    listening 443 $!
    server "$tmp/ech" serve-p384 "$tmp/cert.pem" "$tmp/key.pem" $SERVER4:4431 "$tmp/own" 2>/dev/null &
    listening 4431 $!
    start tcp
    client "$tmp/ech" connect $SERVER4:443 "$tmp/own" >"$tmp/ech.log"
    client "$tmp/ech" connect $SERVER4:4431 "$tmp/own" >>"$tmp/ech.log"
    client "$tmp/ech" connect $SERVER4:443 "$tmp/other" >>"$tmp/ech.log"
    diff "$tmp/ech.log" - <<<"accepted: true"$'\n'"accepted: true"$'\n'"not accepted: tls: server rejected ECH"
    keep tls-ech 18
}

record_dtls_certificates() {
    chains
    s_server 4433 -dtls "${chain[@]}" -Verify 2 -CAfile "$tmp/root.pem"
    start udp
    s_client 4433 -dtls -servername www.example.test "${own[@]}"
    s_client 4433 -dtls -mtu 512 "${own[@]}"
    keep dtls-certificates 20
}

# Makes a root, an authority below it, and the certificates that it issues to a server and a client. chain and own are the
# options of OpenSSL's server and client for them.
chains() {
    issued root "" "/C=DE/O=Example Trust/CN=Example Root" basicConstraints=critical,CA:TRUE
    issued authority root "/C=DE/O=Example Trust/CN=Example Authority" basicConstraints=critical,CA:TRUE
    issued server authority "/O=Example\\, Inc./CN=www.example.test" basicConstraints=CA:FALSE \
        subjectAltName=DNS:www.example.test,DNS:*.example.net,IP:$SERVER4,IP:$SERVER6
    issued client authority "/CN=Client/emailAddress=client@example.test" basicConstraints=CA:FALSE \
        subjectAltName=email:client@example.test
    cat "$tmp/authority.pem" "$tmp/root.pem" >"$tmp/authorities.pem"
    local name
    for name in server client; do cat "$tmp/$name.pem" "$tmp/authorities.pem" >"$tmp/$name-chain.pem"; done
    chain=(-cert "$tmp/server.pem" -key "$tmp/server.key" -cert_chain "$tmp/authorities.pem")
    own=(-cert "$tmp/client.pem" -key "$tmp/client.key" -cert_chain "$tmp/authority.pem")
}

# issued NAME ISSUER SUBJECT EXTENSION...: an empty issuer makes a root.
issued() {
    local name=$1 issuer=$2 subject=$3 extension options=()
    shift 3
    [ -z "$issuer" ] || options=(-CA "$tmp/$issuer.pem" -CAkey "$tmp/$issuer.key")
    for extension; do options+=(-addext "$extension"); done
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "$subject" \
        -keyout "$tmp/$name.key" -out "$tmp/$name.pem" "${options[@]}" 2>/dev/null
}

record_tls_fast_open() {
    client sysctl -qw net.ipv4.tcp_fastopen=0x5
    server sysctl -qw net.ipv4.tcp_fastopen=0x203
    nginx_up
    start tcp
    curl_tls --tcp-fastopen $HTTPS
    keep tls-fast-open 7
}

record_tls_made_mid_stream() {
    tshark -r "$(capture tls-chromium.pcap)" -Y 'tcp.flags.syn == 0' -F nsecpcap -w "$(capture tls-made-mid-stream.pcap)" \
        2>/dev/null
}

record_tls_made_padded_acks() {
    python3 "$here/pad.py" "$(capture tls-curl.pcap)" "$(capture tls-made-padded-acks.pcap)"
}

record_labelled() {
    local made
    mkdir "$tmp/labelled"
    python3 "$here/label.py" "$(capture tls-curl.pcap)" "$tmp/labelled"
    for made in "$tmp"/labelled/*; do
        mv "$made" "$(capture "$(basename "$made")")"
    done
}

# The control channel over UDP and TCP, with and without tls-auth.
record_tls_openvpn() {
    openvpn --genkey secret "$tmp/shared.key"
    start port 1194
    openvpn_pair udp
    openvpn_pair tcp
    openvpn_pair udp --tls-auth "$tmp/shared.key"
    openvpn_pair tcp --tls-auth "$tmp/shared.key"
    keep tls-openvpn 12
}

# Whole handshakes of TLS 1.2, with certificates of both sides, and of TLS 1.3.
record_tls_openvpn_certificates() {
    openvpn --genkey secret "$tmp/shared.key"
    start port 1194
    openvpn_pair udp --tls-version-max 1.2
    openvpn_pair tcp --tls-version-max 1.2
    openvpn_pair udp --tls-version-max 1.2 --tls-auth "$tmp/shared.key"
    openvpn_pair udp
    keep tls-openvpn-certificates 40
}

# openvpn_pair udp|tcp [ARGUMENT...]
openvpn_pair() {
    local how=$1 pid both
    shift
    both=(--dev null --verb 1 --ca "$tmp/cert.pem" --cert "$tmp/cert.pem" --key "$tmp/key.pem" "$@")
    ip netns exec $SERVER_NS openvpn --tls-server --proto "${how/tcp/tcp-server}" --lport 1194 --dh none "${both[@]}" \
        >"$tmp/openvpn.log" 2>&1 &
    pid=$!
    listening 1194 $pid
    client timeout 3 openvpn --tls-client --proto "${how/tcp/tcp-client}" --nobind --remote $SERVER4 1194 "${both[@]}" \
        >"$tmp/openvpn-client.log" 2>&1 || true
    kill $pid 2>/dev/null || true
    wait $pid || true
}

# DTLS 1.2 and 1.0, with and without the cookie exchange.
record_dtls_openssl() {
    s_server 4433 -dtls -listen -alpn webrtc
    s_server 4434 -dtls1 -cipher DEFAULT:@SECLEVEL=0
    start udp
    s_client 4433 -dtls -servername www.example.test
    s_client 4433 -dtls1_2 -alpn webrtc -use_srtp SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80
    s_client 4434 -dtls1 -cipher DEFAULT:@SECLEVEL=0
    s_client 4434 -dtls -cipher DEFAULT:@SECLEVEL=0
    keep dtls-openssl 6
}

record_dtls_gnutls() {
    server gnutls-serv --udp --port 4433 --x509certfile "$tmp/cert.pem" --x509keyfile "$tmp/key.pem" \
        >"$tmp/gnutls-serv.log" 2>&1 &
    listening 4433 $!
    start udp
    quietly gnutls-cli --udp --insecure -p 4433 www.example.test
    quietly gnutls-cli --udp --insecure -p 4433 --priority NORMAL:+VERS-DTLS1.0 $SERVER4
    keep dtls-gnutls 6
}

# The client fragments its hello for a small MTU.
record_dtls_fragments() {
    s_server 4433 -dtls
    start udp
    s_client 4433 -dtls -servername www.example.test -mtu 256 -alpn "$(printf 'protocol-%s,' {1..20})x"
    s_client 4433 -dtls -mtu 256
    keep dtls-fragments 8
}

# Clients with only DTLS 1.3, with 1.3 and 1.2, and with only 1.2; the server requires a cookie.
record_dtls_13() {
    rust_program dtls dimpl@0.9
    server "$tmp/dtls/target/debug/dtls" serve 0.0.0.0:4433 &
    listening 4433 $!
    start udp
    local versions
    for versions in 13 auto 12; do client "$tmp/dtls/target/debug/dtls" connect $SERVER4:4433 $versions; done
    keep dtls-13 6
}

# Both ends of a WebRTC connection in one page, after STUN on the same ports.
record_dtls_chromium() {
    webrtc_start
    chromium_with --disable-features=WebRtcHideLocalIpsWithMdns --dump-dom "file://$here/tls-clients/webrtc.html"
    keep dtls-chromium 16
}

record_dtls_firefox() {
    webrtc_start
    firefox_with "--screenshot $tmp/page.png file://$here/tls-clients/webrtc.html" \
        media.peerconnection.ice.obfuscate_host_addresses false
    keep dtls-firefox 16
}

# Browsers determine their address from the default route; the server forwards nothing.
webrtc_start() {
    ip -n $CLIENT_NS route add default via $SERVER4
    record "$tmp/whole.pcap" $CLIENT_NS lo udp
}

main "$@"
