#!/usr/bin/env bash
# Records captures that test host profiles: hosts that do not change, and addresses that several hosts share. Each capture
# is recorded in its own network namespaces.
#
#   captures/tools/record-hosts.sh             record all captures again except hosts-plain, which takes an hour
#   captures/tools/record-hosts.sh NAME...     record only these
#   captures/tools/record-hosts.sh plain-host  record hosts-plain
#   captures/tools/record-hosts.sh --list      list the names
#
# The requirements and addresses of record.sh apply.
set -euo pipefail

readonly PACKAGES="curl ethtool iproute2 iptables nginx openssl procps squid tcpdump"
readonly PROGRAMS="curl ethtool ip iptables nginx openssl squid ss sysctl tcpdump"

readonly NAMES="hosts-nat hosts-ua hosts-proxy hosts-uptime hosts-random-offset"

here=$(cd "$(dirname "$0")" && pwd)
. "$here/layout.sh"
. "$here/lab.sh"

readonly INSIDE4=198.51.100.1 OTHER4=203.0.113.1 ROUTER4=$CLIENT4

# The server has three addresses: for each peer, Linux uses another timestamp offset (in these recordings even for each
# connection) and another sequence of source ports.
readonly SERVERS4="$SERVER4 192.0.2.3 192.0.2.4"

# The headers of browsers, in their order.
readonly FIREFOX=(-A 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
    -H 'Accept: text/html,*/*;q=0.8' -H 'Accept-Language: en-US,en;q=0.5' -H 'Accept-Encoding: gzip, deflate'
    -H 'Connection: keep-alive' -H 'Upgrade-Insecure-Requests: 1')
readonly CHROME_ON_WINDOWS=(-H 'Connection: keep-alive' -H 'Upgrade-Insecure-Requests: 1'
    -H 'User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'
    -H 'Accept: text/html,*/*;q=0.8' -H 'Accept-Encoding: gzip, deflate' -H 'Accept-Language: en-US,en;q=0.9')
readonly SAFARI_ON_IPHONE=(-H 'Upgrade-Insecure-Requests: 1' -H 'Accept: text/html,*/*;q=0.8'
    -H 'User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Mobile/15E148 Safari/604.1'
    -H 'Accept-Language: en-US,en;q=0.9' -H 'Accept-Encoding: gzip, deflate' -H 'Connection: keep-alive')

main() {
    if [ "${1:-}" = --list ]; then
        printf '%s\n' $NAMES plain-host
        return
    fi
    lab_start
    chmod 711 "$tmp" # for squid, which drops root's privileges
    local name
    for name in ${*:-$NAMES}; do
        echo "== $name"
        "record_${name//-/_}"
        lab_down
    done
}

other() { ip netns exec $OTHER_NS "$@"; }
router() { ip netns exec $ROUTER_NS "$@"; }

# get CLIENT URL [ARGUMENT...]: requests a page from `client` or `other`, on a new connection.
get() { "$1" curl -sSk -o /dev/null --max-time 15 "${@:3}" "$2"; }

# The two namespaces of lab.sh; the server has three addresses.
one_client() {
    lab_up_as_wired
    address $SERVER_NS hn-b 192.0.2.3/24 192.0.2.4/24
    nginx_up
}

# Two clients, each with a veth pair to the router, and the server behind it. The other client's stack is configured like
# that of Windows without window scaling.
two_clients() {
    local ns
    for ns in $CLIENT_NS $OTHER_NS $ROUTER_NS $SERVER_NS; do ip netns add "$ns"; done
    cable $CLIENT_NS $INSIDE4 hn-c 198.51.100.254
    cable $OTHER_NS $OTHER4 hn-d 203.0.113.254
    cable $SERVER_NS $SERVER4 hn-s $ROUTER4
    ip -n $CLIENT_NS route add default via 198.51.100.254
    ip -n $OTHER_NS route add default via 203.0.113.254
    other sysctl -qw net.ipv4.ip_default_ttl=128 net.ipv4.tcp_timestamps=0 net.ipv4.tcp_window_scaling=0
    nginx_up
}

# cable NAMESPACE ADDRESS ROUTER-INTERFACE ROUTER-ADDRESS
cable() {
    ip link add hn-a netns "$1" type veth peer name "$3" netns $ROUTER_NS
    ip netns exec "$1" ethtool -K hn-a tso off gso off gro off tx off >/dev/null
    router ethtool -K "$3" tso off gso off gro off tx off >/dev/null
    address "$1" hn-a "$2/24"
    address $ROUTER_NS "$3" "$4/24"
}

# Both clients behind one address (NAT), in turn.
record_hosts_nat() {
    two_clients
    router sysctl -qw net.ipv4.ip_forward=1
    router iptables -t nat -A POSTROUTING -o hn-s -j MASQUERADE
    record "$(capture hosts-nat.pcap)" $SERVER_NS hn-a tcp
    local turn
    for turn in $(seq 12); do
        get client http://$SERVER4/ "${FIREFOX[@]}"
        sleep 0.3
        get other http://$SERVER4/ "${CHROME_ON_WINDOWS[@]}"
        sleep 0.3
    done
    stop_recording
}

# One Linux host that sends the User-Agent of Linux, Windows and an iPhone in turn.
record_hosts_ua() {
    one_client
    record "$(capture hosts-ua.pcap)" $CLIENT_NS hn-a tcp
    local turn
    for turn in $(seq 4); do
        get client http://$SERVER4/ "${FIREFOX[@]}"
        get client http://$SERVER4/ "${CHROME_ON_WINDOWS[@]}"
        get client http://$SERVER4/ "${SAFARI_ON_IPHONE[@]}"
    done
    stop_recording
}

# Squid as reverse proxy for both clients, recorded on all its interfaces.
record_hosts_proxy() {
    two_clients
    cat >"$tmp/squid.conf" <<CONF
http_port 80 accel defaultsite=www.example.test
cache_peer $SERVER4 parent 80 0 no-query no-digest originserver
visible_hostname proxy.example.test
http_access allow all
cache deny all
server_persistent_connections off
access_log none
cache_log $tmp/squid.log
pid_filename $tmp/squid.pid
coredump_dir $tmp
pinger_enable off
shutdown_lifetime 0
CONF
    router squid -N -f "$tmp/squid.conf" 2>"$tmp/squid.err" &
    until [ -n "$(router ss -Hlnt 'sport = :80')" ]; do
        kill -0 $!
        sleep 0.05
    done
    record "$(capture hosts-proxy.pcap)" $ROUTER_NS any -y LINUX_SLL2 tcp
    local turn
    for turn in $(seq 4); do
        get client http://198.51.100.254/ "${FIREFOX[@]}"
        get other http://203.0.113.254/ "${CHROME_ON_WINDOWS[@]}"
    done
    stop_recording
}

# Disables the random timestamp offset at both ends, so that all peers see one clock.
record_hosts_uptime() {
    one_client
    both sysctl -qw net.ipv4.tcp_timestamps=2
    record_slow hosts-uptime
}

# The same with Linux's default, random offsets.
record_hosts_random_offset() {
    one_client
    record_slow hosts-random-offset
}

record_slow() {
    record "$(capture "$1.pcap")" $CLIENT_NS hn-a tcp
    local address
    for address in $SERVERS4 $SERVERS4; do get_slowly "$address"; done
    stop_recording
}

# Sends curl's request one line a second; the connection ends a second after the response.
get_slowly() {
    # shellcheck disable=SC2016
    client bash -c 'exec 3<>"/dev/tcp/$1/80"
        for line in "GET / HTTP/1.1" "Host: $1" "User-Agent: curl/7.88.1" "Accept: */*" ""; do
            printf "%s\r\n" "$line" >&3
            sleep 1
        done
        timeout 1 cat <&3 >/dev/null || true' bash "$1"
}

# One client over 62 minutes: a request every 24 seconds to the next of the addresses, every 20th over TLS. The snapshot
# length keeps heads complete and truncates certificates.
record_plain_host() {
    one_client
    record "$(capture hosts-plain.pcap)" $CLIENT_NS hn-a -s 600 tcp
    local end=$((SECONDS + 3720)) turn=0 servers url
    # shellcheck disable=SC2206
    servers=($SERVERS4)
    while [ $SECONDS -lt $end ]; do
        url=http://${servers[turn % 3]}/
        [ $((turn % 20)) != 19 ] || url=https://${servers[turn % 3]}/
        get client "$url" "${FIREFOX[@]}"
        turn=$((turn + 1))
        sleep 24
    done
    stop_recording
}

main "$@"
