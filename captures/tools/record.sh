#!/usr/bin/env bash
# Records captures from real programs, each in its own network namespaces.
#
#   captures/tools/record.sh              record all captures again
#   captures/tools/record.sh NAME...      record only these, and not the captures that are made from them
#   captures/tools/record.sh --list       list the names
#
# Needs root and the Debian packages in PACKAGES; it installs nothing. Every address is a documentation address
# (RFC 5737, RFC 3849) inside the namespaces, which have no route to the outside. A new recording has other times, ports
# and sequence numbers, so run golden.sh after it.
set -euo pipefail

readonly PACKAGES="curl iproute2 iptables masscan nginx nmap openssl procps python3 tcpdump tshark wget
    wireshark-common zmap zstd"
readonly PROGRAMS="curl dumpcap editcap gzip ip iptables masscan mergecap nginx nmap openssl python3 sysctl tcpdump tshark
    wget zmap zstd"
export PYTHONDONTWRITEBYTECODE=1

# In the order of recording, because some captures are made from earlier ones.
readonly NAMES="curl-nginx curl-nginx-nano curl-nginx-ipv6 http-clients tls-clients h2c loopback
    cooked-sll cooked-sll2 nflog raw-tun two-interfaces mixed-links compressed big-endian editcap
    stack-default stack-no-timestamps stack-no-sack stack-no-window-scaling stack-bare stack-ecn stack-mtu-576
    stack-mtu-9000 stack-ttl-128 stack-ttl-255 stack-small-window stack-dscp stack-timestamps-from-boot
    closed-port retransmitted-syn repeated-syn fast-open reused-ports odd-syns nmap-syn nmap-scan masscan zmap
    fragments-kernel fragments-syn vxlan-kernel made"

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
        case $name in
        stack-*) record_stack "$name" ;;
        *) "record_${name//-/_}" ;;
        esac
        lab_down
    done
}

# Adds neighbour entries for hosts that do not exist, so that frames to them leave the interface without a reply.
silent_neighbours() {
    ip -n $CLIENT_NS neigh add $SILENT4 lladdr $SILENT_MAC dev hn-a
    ip -n $CLIENT_NS neigh add $SILENT6 lladdr $SILENT_MAC dev hn-a
}

# get URL...: requests the URLs from the client over IPv4, on one connection.
get() { client curl -sS -o /dev/null --max-time 5 --resolve "www.example.test:80:$SERVER4" "$@"; }
get6() { client curl -sS -o /dev/null --max-time 5 --resolve "www.example.test:80:[$SERVER6]" "$@"; }

record_curl_nginx() { record_requests curl-nginx get; }
record_curl_nginx_nano() { record_requests curl-nginx-nano get --time-stamp-precision=nano; }
record_curl_nginx_ipv6() { record_requests curl-nginx-ipv6 get6; }

# Records three connections: one request; two requests kept alive; a HEAD with Accept-Language.
record_requests() {
    local name=$1 get=$2
    shift 2
    lab_up
    nginx_up
    record "$(capture "$name.pcap")" $CLIENT_NS hn-a "$@" tcp
    "$get" http://www.example.test/
    "$get" http://www.example.test/ -o /dev/null http://www.example.test/missing
    "$get" --head -H 'Accept-Language: de-DE,de;q=0.8,en;q=0.5' http://www.example.test/
    stop_recording
}

record_http_clients() {
    lab_up
    nginx_up
    record "$(capture http-clients.pcap)" $CLIENT_NS hn-a tcp
    get -A 'Mozilla/5.0 (X11; Linux x86_64; rv:115.0) Gecko/20100101 Firefox/115.0' http://www.example.test/
    get -H 'User-Agent:' -H 'Via: 1.1 proxy.example.test' http://www.example.test/
    client wget -q -O /dev/null http://$SERVER4/
    client python3 -c "import urllib.request; urllib.request.urlopen('http://$SERVER4/').read()"
    stop_recording
}

record_tls_clients() {
    local https=https://www.example.test/
    lab_up
    nginx_up
    record "$(capture tls-clients.pcap)" $CLIENT_NS hn-a tcp
    client curl -sSk -o /dev/null --resolve "www.example.test:443:$SERVER4" $https
    client curl -sSk -o /dev/null --resolve "www.example.test:443:$SERVER4" --http1.1 --tls-max 1.2 $https
    client curl -sSk -o /dev/null --resolve "www.example.test:443:[$SERVER6]" $https
    client wget -q --no-check-certificate -O /dev/null https://$SERVER4/
    client openssl s_client -connect $SERVER4:443 </dev/null >/dev/null 2>&1
    stop_recording
}

record_h2c() {
    lab_up
    nginx_up
    record "$(capture h2c.pcap)" $CLIENT_NS hn-a tcp
    client curl -sS -o /dev/null --http2-prior-knowledge http://$SERVER4:8080/
    client curl -sS -o /dev/null --http2-prior-knowledge "http://[$SERVER6]:8080/"
    stop_recording
}

record_loopback() {
    lab_up
    nginx_up
    record "$(capture loopback.pcap)" $SERVER_NS lo tcp
    server curl -sS -o /dev/null http://127.0.0.1/
    server curl -sS -o /dev/null 'http://[::1]/'
    stop_recording
}

record_cooked_sll() { record_cooked cooked-sll LINUX_SLL; }
record_cooked_sll2() { record_cooked cooked-sll2 LINUX_SLL2; }

record_cooked() {
    lab_up
    nginx_up
    record "$(capture "$1.pcap")" $CLIENT_NS any -y "$2" tcp
    get http://www.example.test/
    get6 http://www.example.test/
    stop_recording
}

record_nflog() {
    lab_up
    nginx_up
    client iptables -A OUTPUT -p tcp -j NFLOG --nflog-group 1 --nflog-threshold 1
    client iptables -A INPUT -p tcp -j NFLOG --nflog-group 1 --nflog-threshold 1
    record "$(capture nflog.pcap)" $CLIENT_NS nflog:1
    get http://www.example.test/
    stop_recording
}

# Raw IP: a tun device in each namespace, joined by a process.
record_raw_tun() {
    lab_up
    python3 "$here/sockets.py" join-tuns $CLIENT_NS $SERVER_NS hn-tun &
    until ip -n $SERVER_NS link show hn-tun >/dev/null 2>&1; do sleep 0.05; done
    address $CLIENT_NS hn-tun 198.51.100.1/24 2001:db8:1::1/64
    address $SERVER_NS hn-tun 198.51.100.2/24 2001:db8:1::2/64
    nginx_up
    record "$(capture raw-tun.pcap)" $CLIENT_NS hn-tun tcp
    client curl -sS -o /dev/null http://198.51.100.2/
    client curl -sS -o /dev/null 'http://[2001:db8:1::2]/'
    stop_recording
}

# pcapng of dumpcap, from two interfaces with different link types.
record_two_interfaces() {
    lab_up
    nginx_up
    ip netns exec $CLIENT_NS dumpcap -q -i any -f "tcp and ip6" -i hn-a -f "tcp and ip" -w "$tmp/two-interfaces.pcapng" \
        2>"$tmp/dumpcap.err" &
    recorders+=($!)
    until grep -q '^Capturing on' "$tmp/dumpcap.err"; do
        kill -0 "${recorders[-1]}"
        sleep 0.05
    done
    sleep 0.5
    get http://www.example.test/
    get6 http://www.example.test/
    stop_recording
    cat "$tmp/two-interfaces.pcapng" >"$(capture two-interfaces.pcapng)"
}

# pcapng of mergecap: Ethernet in microseconds, Ethernet in nanoseconds, Linux cooked.
record_mixed_links() {
    mergecap -w "$(capture mixed-links.pcapng)" "$(capture curl-nginx.pcap)" "$(capture curl-nginx-nano.pcap)" \
        "$(capture cooked-sll2.pcap)"
}

record_compressed() {
    gzip -9nc "$(capture curl-nginx.pcap)" >"$(capture curl-nginx.pcap.gz)"
    zstd -q19c "$(capture curl-nginx.pcap)" >"$(capture curl-nginx.pcap.zst)"
    gzip -9nc "$(capture two-interfaces.pcapng)" >"$(capture two-interfaces.pcapng.gz)"
    zstd -q19c "$(capture two-interfaces.pcapng)" >"$(capture two-interfaces.pcapng.zst)"
}

record_big_endian() { python3 "$here/big_endian.py" "$(capture curl-nginx-nano.pcap)" "$(capture curl-nginx-big-endian.pcap)"; }
record_editcap() { editcap -F pcapng "$(capture curl-nginx.pcap)" "$(capture curl-nginx-editcap.pcapng)"; }

# Records one variant of the Linux stack at both ends, with a request over IPv4 and one over IPv6.
record_stack() {
    local name=$1 mtu=1500
    case $name in
    stack-mtu-576) mtu=576 ;;
    stack-mtu-9000) mtu=9000 ;;
    esac
    lab_up $mtu
    case $name in
    stack-default | stack-mtu-* | stack-dscp) ;;
    stack-no-timestamps) both sysctl -qw net.ipv4.tcp_timestamps=0 ;;
    stack-no-sack) both sysctl -qw net.ipv4.tcp_sack=0 ;;
    stack-no-window-scaling) both sysctl -qw net.ipv4.tcp_window_scaling=0 ;;
    stack-bare) both sysctl -qw net.ipv4.tcp_timestamps=0 net.ipv4.tcp_sack=0 net.ipv4.tcp_window_scaling=0 ;;
    stack-ecn) both sysctl -qw net.ipv4.tcp_ecn=1 ;;
    stack-ttl-*) both sysctl -qw net.ipv4.ip_default_ttl="${name##*-}" net.ipv6.conf.all.hop_limit="${name##*-}" ;;
    stack-small-window) both sysctl -qw net.ipv4.tcp_rmem='4096 8192 8192' ;;
    stack-timestamps-from-boot) both sysctl -qw net.ipv4.tcp_timestamps=2 ;;
    esac
    nginx_up
    record "$(capture "$name.pcap")" $CLIENT_NS hn-a tcp
    case $name in
    stack-timestamps-from-boot) client python3 "$here/sockets.py" slow $SERVER4 ;;
    stack-mtu-576) get http://www.example.test/ ;;
    stack-dscp) client python3 "$here/sockets.py" dscp $SERVER4 ;;
    *)
        get http://www.example.test/
        get6 http://www.example.test/
        ;;
    esac
    stop_recording
}

record_closed_port() {
    lab_up
    record "$(capture closed-port.pcap)" $CLIENT_NS hn-a tcp
    get http://www.example.test/ 2>/dev/null || true
    get6 http://www.example.test/ 2>/dev/null || true
    stop_recording
}

record_retransmitted_syn() {
    lab_up
    silent_neighbours
    record "$(capture retransmitted-syn.pcap)" $CLIENT_NS hn-a tcp
    client curl -s --max-time 3.5 http://$SILENT4/ || true
    client curl -s --max-time 1.5 "http://[$SILENT6]/" || true
    stop_recording
}

record_fast_open() {
    lab_up
    # 0x4: the client sends data in the SYN without a cookie; 0x200: the server accepts it without one.
    client sysctl -qw net.ipv4.tcp_fastopen=0x5
    server sysctl -qw net.ipv4.tcp_fastopen=0x203
    nginx_up
    record "$(capture fast-open.pcap)" $CLIENT_NS hn-a tcp
    client python3 "$here/sockets.py" fast-open $SERVER4
    client python3 "$here/sockets.py" fast-open $SERVER6
    stop_recording
}

# Uses one source port three times: after a reset, and after a reset that is then removed from the capture.
record_reused_ports() {
    lab_up
    nginx_up
    record "$tmp/reused.pcap" $CLIENT_NS hn-a tcp
    client python3 "$here/sockets.py" reuse $SERVER4
    stop_recording
    local last_reset
    last_reset=$(tshark -r "$tmp/reused.pcap" -Y tcp.flags.reset==1 -T fields -e frame.number | sed -n 2p)
    editcap -F pcap "$tmp/reused.pcap" "$(capture reused-ports.pcap)" "$last_reset"
}

record_odd_syns() { python3 "$here/craft.py" "$(capture odd-syns.pcap)"; }

record_repeated_syn() { python3 "$here/craft.py" --repeated "$(capture repeated-syn.pcap)"; }

record_nmap_syn() {
    lab_up
    nginx_up
    record "$(capture nmap-syn.pcap)" $CLIENT_NS hn-a tcp
    client nmap -n -Pn -sS -p 80,81,443 --disable-arp-ping $SERVER4 >/dev/null
    client nmap -6 -n -Pn -sS -p 80,81 --disable-arp-ping $SERVER6 >/dev/null
    stop_recording
}

record_nmap_scan() {
    lab_up
    nginx_up
    record "$(capture nmap-scan.pcap)" $CLIENT_NS hn-a tcp
    client nmap -n -Pn -sS --top-ports 20 --max-rate 8 --disable-arp-ping $SERVER4 >/dev/null
    stop_recording
}

record_masscan() {
    lab_up
    nginx_up
    record "$(capture masscan.pcap)" $CLIENT_NS hn-a tcp
    client masscan $SERVER4/32 -p80,81,443 --rate 50 --wait 1 --interface hn-a --adapter-ip $CLIENT4 \
        --adapter-mac ${CLIENT_MAC//:/-} --router-mac ${SERVER_MAC//:/-} >/dev/null 2>&1
    stop_recording
}

record_zmap() {
    lab_up
    nginx_up
    record "$(capture zmap.pcap)" $CLIENT_NS hn-a tcp
    : >"$tmp/empty"
    client zmap -q -p 80 -r 50 -c 1 -b "$tmp/empty" -i hn-a -S $CLIENT4 -G $SERVER_MAC -o /dev/null \
        $SERVER4/32 2>/dev/null
    stop_recording
}

# The client fragments a long UDP datagram; a router with a small MTU fragments the server's TCP segments without DF.
record_fragments_kernel() {
    local ns
    for ns in $CLIENT_NS $ROUTER_NS $SERVER_NS; do ip netns add $ns; done
    ip link add hn-a netns $CLIENT_NS address $CLIENT_MAC type veth peer name hn-r netns $ROUTER_NS mtu 600
    ip link add hn-b netns $SERVER_NS address $SERVER_MAC type veth peer name hn-s netns $ROUTER_NS
    address $CLIENT_NS hn-a $CLIENT4/24
    address $ROUTER_NS hn-r 192.0.2.254/24
    address $ROUTER_NS hn-s 198.51.100.254/24
    address $SERVER_NS hn-b 198.51.100.2/24
    ip -n $CLIENT_NS route add default via 192.0.2.254
    ip -n $SERVER_NS route add default via 198.51.100.254
    ip netns exec $ROUTER_NS sysctl -qw net.ipv4.ip_forward=1
    both sysctl -qw net.ipv4.ip_no_pmtu_disc=1
    nginx_up
    head -c 3000 /dev/zero | tr '\0' x >"$tmp/www/long.txt"
    record "$(capture fragments-kernel.pcap)" $CLIENT_NS hn-a 'tcp or udp or ip[6:2] & 0x3fff != 0'
    client python3 "$here/sockets.py" long-request 198.51.100.2
    stop_recording
}

record_fragments_syn() {
    python3 "$here/fragment.py" "$(capture curl-nginx.pcap)" "$(capture fragments-syn.pcap)"
    python3 "$here/fragment.py" "$(capture curl-nginx-ipv6.pcap)" "$(capture fragments-syn-ipv6.pcap)"
}

record_vxlan_kernel() {
    lab_up
    ip -n $CLIENT_NS link add hn-vx type vxlan id 42 dstport 4789 local $CLIENT4 remote $SERVER4
    ip -n $SERVER_NS link add hn-vx type vxlan id 42 dstport 4789 local $SERVER4 remote $CLIENT4
    address $CLIENT_NS hn-vx 198.51.100.1/24 2001:db8:1::1/64
    address $SERVER_NS hn-vx 198.51.100.2/24 2001:db8:1::2/64
    nginx_up
    record "$(capture vxlan-kernel.pcap)" $CLIENT_NS hn-a 'udp port 4789 and not ip6'
    client curl -sS -o /dev/null http://198.51.100.2/
    client curl -sS -o /dev/null 'http://[2001:db8:1::2]/'
    stop_recording
}

record_made() {
    local made
    mkdir "$tmp/made"
    python3 "$here/wrap.py" "$(capture curl-nginx.pcap)" "$(capture curl-nginx-ipv6.pcap)" "$tmp/made"
    rm -f "$captures"/links/made-*/made-*.pcap
    for made in "$tmp"/made/*.pcap; do
        mv "$made" "$(capture "$(basename "$made")")"
    done
}

main "$@"
