# The test network of the record*.sh scripts, which source this file: network namespaces, a web server, tcpdump. PROGRAMS and
# PACKAGES of the script list the programs that it runs and their Debian packages. LAB is the prefix of the namespaces'
# names; test networks with different prefixes can run at the same time.

readonly LAB=${LAB:-hn}
readonly CLIENT_NS=$LAB-client OTHER_NS=$LAB-other ROUTER_NS=$LAB-router SERVER_NS=$LAB-server
readonly CLIENT_MAC=02:00:00:00:00:0a SERVER_MAC=02:00:00:00:00:0b SILENT_MAC=02:00:00:00:00:63
readonly CLIENT4=192.0.2.1 SERVER4=192.0.2.2 SILENT4=192.0.2.99
readonly CLIENT6=2001:db8::1 SERVER6=2001:db8::2 SILENT6=2001:db8::99

tmp=
recorders=()

lab_start() {
    check_programs
    tmp=$(mktemp -d)
    trap 'lab_down; rm -rf "$tmp"' EXIT
}

check_programs() {
    local program missing=
    for program in $PROGRAMS; do
        command -v "$program" >/dev/null || missing+=" $program"
    done
    if [ -n "$missing" ]; then
        echo "missing programs:$missing" >&2
        echo "install them: apt-get install" $PACKAGES >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
        echo "network namespaces need root; run the script with sudo" >&2
        exit 1
    fi
}

# lab_up [MTU]: creates two namespaces and a veth pair.
lab_up() {
    local mtu=${1:-1500}
    ip netns add $CLIENT_NS
    ip netns add $SERVER_NS
    ip link add hn-a netns $CLIENT_NS address $CLIENT_MAC mtu "$mtu" type veth \
        peer name hn-b netns $SERVER_NS address $SERVER_MAC mtu "$mtu"
    address $CLIENT_NS hn-a $CLIENT4/24
    address $SERVER_NS hn-b $SERVER4/24
    if [ "$mtu" -ge 1280 ]; then # minimum MTU of IPv6
        address $CLIENT_NS hn-a $CLIENT6/64
        address $SERVER_NS hn-b $SERVER6/64
    fi
}

# Creates the same without offload, so that segments and checksums are as on a wire. Writes $tmp/hosts, in which
# www.example.test is the server.
lab_up_as_wired() {
    lab_up
    client ethtool -K hn-a tso off gso off gro off tx off >/dev/null
    server ethtool -K hn-b tso off gso off gro off tx off >/dev/null
    # Firefox resolves the machine's own name, and waits for the answer if there is a default route.
    printf '127.0.0.1 localhost %s\n%s www.example.test\n' "$(uname -n)" $SERVER4 >"$tmp/hosts"
}

lab_down() {
    local ns pids
    for ns in $CLIENT_NS $OTHER_NS $ROUTER_NS $SERVER_NS; do
        [ -e "/run/netns/$ns" ] || continue
        pids=$(ip netns pids $ns)
        [ -z "$pids" ] || kill $pids 2>/dev/null || true
        ip netns del $ns
    done
    wait
    recorders=()
}

# address NAMESPACE INTERFACE ADDRESS...
address() {
    local ns=$1 interface=$2 address
    shift 2
    for address in "$@"; do
        case $address in
        *:*) ip -n "$ns" addr add "$address" dev "$interface" nodad ;;
        *) ip -n "$ns" addr add "$address" dev "$interface" ;;
        esac
    done
    ip -n "$ns" link set lo up
    ip -n "$ns" link set "$interface" up
}

client() { ip netns exec $CLIENT_NS "$@"; }
server() { ip netns exec $SERVER_NS "$@"; }
both() {
    client "$@"
    server "$@"
}

# Creates a self-signed certificate in $tmp.
certificate() {
    [ -e "$tmp/key.pem" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
        -subj /CN=www.example.test -addext subjectAltName=DNS:www.example.test \
        -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
}

nginx_up() {
    mkdir -p "$tmp/www"
    echo '<!doctype html><title>Huginn</title><p>A page.' >"$tmp/www/index.html"
    certificate
    cat >"$tmp/nginx.conf" <<CONF
daemon off; pid $tmp/nginx.pid; error_log $tmp/nginx.err; user root; worker_processes 1;
events {}
http {
    access_log off; root $tmp/www;
    server { listen 80 fastopen=16; listen [::]:80 fastopen=16; listen 8080 http2; listen [::]:8080 http2; }
    server { listen 443 ssl http2 fastopen=16; listen [::]:443 ssl http2 fastopen=16;
             ssl_certificate $tmp/cert.pem; ssl_certificate_key $tmp/key.pem; ssl_protocols TLSv1.2 TLSv1.3; }
}
CONF
    ip netns exec $SERVER_NS nginx -c "$tmp/nginx.conf" 2>/dev/null &
    until ip netns exec $SERVER_NS curl -so /dev/null http://127.0.0.1/; do
        kill -0 $!
        sleep 0.1
    done
}

# record FILE NAMESPACE INTERFACE [TCPDUMP ARGUMENT...]: starts tcpdump and waits until it listens.
record() {
    local file=$1 ns=$2 interface=$3
    shift 3
    : >"$tmp/tcpdump.err"
    ip netns exec "$ns" tcpdump -i "$interface" -U --immediate-mode -Z root -w "$file" "$@" 2>"$tmp/tcpdump.err" &
    recorders+=($!)
    until grep -q 'listening on' "$tmp/tcpdump.err"; do
        kill -0 "${recorders[-1]}"
        sleep 0.05
    done
}

stop_recording() {
    sleep 0.3
    kill "${recorders[@]}"
    wait "${recorders[@]}"
    recorders=()
}

# chromium_with ARGUMENT...: starts Chromium with a new profile, which trusts $tmp/cert.pem, by the script's function `named`.
chromium_with() {
    local profile trusted
    profile=$(mktemp -d "$tmp/chromium-XXXX")
    trusted=$(openssl x509 -in "$tmp/cert.pem" -pubkey -noout | openssl pkey -pubin -outform der |
        openssl dgst -sha256 -binary | base64)
    named env HOME="$profile" timeout 12 chromium --headless --no-sandbox --disable-gpu --no-first-run \
        --disable-background-networking --disable-component-update --user-data-dir="$profile" \
        --ignore-certificate-errors-spki-list="$trusted" "$@" >"$tmp/chromium.log" 2>&1 || true
}

# trixie PACKAGE PROGRAM: prints the command that starts a program of Debian trixie with the libraries of that suite.
trixie() {
    PYTHONPATH=$here/clients python3 -c 'import sys
from registries import debian_suite
_, folder, start = debian_suite("trixie", sys.argv[1])
print(*start, folder / sys.argv[2])' "$@"
}
