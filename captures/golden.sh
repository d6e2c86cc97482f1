#!/usr/bin/env bash
# Makes the goldens of this folder from the reference tools, p0f and tshark (Debian packages of these names).
#
#   captures/golden.sh             write NAME.p0f and NAME.tshark for each capture, NAME.ja3 and NAME.ja4 too for TLS,
#                                  NAME.http for HTTP, NAME.ssh for SSH
#   captures/golden.sh --check     write nothing; fail if the committed ones differ from what the tools say
#
# NAME.p0f is the log of p0f 3.09b with this project's own database, in UTC. Captures on whose link type or
# tunnel p0f is silent have none.
# NAME.tshark lists every SYN and SYN+ACK, a line each, of the innermost headers:
#   frame, source, port, destination, port, sequence number, acknowledgement number, TTL, window, MSS, window scale
# with empty fields where an option is absent.
# NAME.http lists the exchanges of http-* in order, a line for each head: source, port, 1 or 2 for the version of HTTP,
#   method and target, or status
# NAME.ssh lists the identification strings and fingerprints of ssh-*, a line for each that tshark shows: source, port,
#   then `banner` and the identification string, or `hassh` or `hasshserver` with the fingerprint and its algorithms
# NAME.ja3 and NAME.ja4 are what ja4_by_hand.py makes of tshark's dissection of tls-*, quic-*, dtls-* and starttls-*.
set -euo pipefail
export TZ=UTC LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
database_folder=$here/../huginn-net-db/signatures

# UTC by a name under which half of the year is a summer time without a shift. p0f reads the Date of a response with
# tm_isdst left unset: in plain UTC that moves some by an hour, and not the same ones each time.
readonly P0F_ZONE=UTC0UTC0,M3.2.0,M11.1.0

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

main() {
    local out=$here name
    if [ "${1:-}" = --check ]; then
        out=$tmp/goldens
        mkdir "$out"
    else
        rm -f "$here"/*.p0f "$here"/*.tshark "$here"/*.ja3 "$here"/*.ja4 "$here"/*.http "$here"/*.ssh
    fi
    cat "$database_folder"/*.fp >"$tmp/database.fp"
    for capture in "$here"/*.pcap "$here"/*.pcapng; do
        name=$(basename "${capture%.*}")
        p0f_view "$capture" "$out/$name.p0f"
        tshark_view "$capture" "$out/$name.tshark"
        case $name in
        tls-* | quic-* | dtls-* | starttls-*) tls_view "$capture" "$out/$name" ;;
        http-*) http_view "$capture" "$out/$name.http" ;;
        ssh-*) ssh_view "$capture" "$out/$name.ssh" ;;
        esac
    done
    [ "$out" = "$here" ] || compare "$out"
}

p0f_view() {
    # p0f appends to its log, and leaves none if it cannot read the file.
    rm -f "$tmp/log"
    if ! TZ=$P0F_ZONE p0f -f "$tmp/database.fp" -r "$1" -o "$tmp/log" >"$tmp/p0f.out" 2>&1; then
        if ! grep -q 'prepare_pcap()\|prepare_bpf()' "$tmp/p0f.out"; then
            cat "$tmp/p0f.out" >&2
            return 1
        fi
    fi
    if [ -s "$tmp/log" ]; then cat "$tmp/log" >"$2"; fi
}

# The last occurrence of a field is the innermost; ip.* and ipv6.* both occur where one tunnels the other.
tshark_view() {
    # CAPWAP carries 802.11 headers as they are (RFC 5416), or with two bytes swapped, as Cisco does.
    local swap=FALSE
    case $1 in *swapped*) swap=TRUE ;; esac
    # shellcheck disable=SC2046
    tshark -r "$1" -o "capwap.swap_fc:$swap" -Y tcp.flags.syn==1 -T fields -E occurrence=l \
        $(printf -- '-e %s ' frame.number frame.protocols ip.src ip.dst ip.ttl ipv6.src ipv6.dst ipv6.hlim \
            tcp.srcport tcp.dstport tcp.seq_raw tcp.ack_raw tcp.window_size_value tcp.options.mss_val \
            tcp.options.wscale.shift) 2>/dev/null |
        awk -F '\t' -v OFS='\t' '{
            inner = $2; sub(/:tcp.*/, "", inner)
            if (inner ~ /ipv6(:ipv6\.[a-z]+)*$/) { $3 = $6; $4 = $7; $5 = $8 }
            print $1, $3, $9, $4, $10, $11, $12, $5, $13, $14, $15
        }' >"$2"
}

tls_view() {
    local options=()
    case $1 in
    # AUTH SSL, to which tshark's FTP is blind: what is TLS on that port it takes without having seen it agreed.
    */starttls-ftp.pcap) options=(-d tcp.port==21,tls) ;;
    # DTLS 1.3 begins its ciphertexts otherwise, and a datagram that holds a ServerHello too it lets go.
    */dtls-13.pcap | */dtls-chromium.pcap | */dtls-firefox.pcap) options=(-d udp.port==1024-65535,dtls) ;;
    # Padding that counts as payload stands where the hello does: to tshark the hello repeats it.
    */tls-made-padded-acks.pcap)
        options=(-o tcp.analyze_sequence_numbers:FALSE -o tcp.desegment_tcp_streams:FALSE)
        ;;
    */quic-negotiation.pcap)
        tls_view_in_two "$1" "$2" 2
        return
        ;;
    esac
    python3 "$here/ja4_by_hand.py" "$1" "$2.ja3" "$2.ja4" "${options[@]}"
}

# After a Version Negotiation tshark keeps the keys of the version before: up to frame $3 and after it are read apart.
tls_view_in_two() {
    local part=$tmp/part
    editcap -F pcap -r "$1" "$part-1.pcap" "1-$3"
    editcap -F pcap "$1" "$part-2.pcap" "1-$3"
    python3 "$here/ja4_by_hand.py" "$part-1.pcap" "$part-1.ja3" "$part-1.ja4"
    python3 "$here/ja4_by_hand.py" "$part-2.pcap" "$part-2.ja3" "$part-2.ja4"
    cat "$part-1.ja4" "$part-2.ja4" >"$2.ja4"
    awk -v FS='\t' -v OFS='\t' -v before="$3" 'FILENAME ~ /2.ja3$/ { $1 += before } 1' \
        "$part-1.ja3" "$part-2.ja3" >"$2.ja3"
}

# Several heads may be in one packet: their fields stand side by side. Priority frames of HTTP/2 have no headers.
http_view() {
    # shellcheck disable=SC2046
    tshark -r "$1" -d tcp.port==8081-8099,http -Y 'http.request or http.response or http2.headers' \
        -T fields -E occurrence=a -E 'aggregator=|' \
        $(printf -- '-e %s ' ip.src ipv6.src tcp.srcport http.request.method http.request.uri http.response.code \
            http2.headers.method http2.headers.path http2.headers.status) 2>/dev/null |
        awk -F '\t' -v OFS='\t' '
            function list(version, methods, targets, method, target, count, i) {
                count = split(methods, method, "|"); split(targets, target, "|")
                for (i = 1; i <= count; i++) print $1 $2, $3, version, method[i] (targets == "" ? "" : " " target[i])
            }
            { list(1, $4, $5); list(1, $6, ""); list(2, $7, $8); list(2, $9, "") }' >"$2"
}

# A banner and a fingerprint may be in one packet. Bytes that are not UTF-8 tshark replaces by U+FFFD.
ssh_view() {
    # shellcheck disable=SC2046
    tshark -r "$1" -d tcp.port==2200-2299,ssh -Y 'ssh.protocol or ssh.kex.hassh or ssh.kex.hasshserver' \
        -T fields -E occurrence=f \
        $(printf -- '-e %s ' ip.src ipv6.src tcp.srcport ssh.protocol ssh.kex.hassh ssh.kex.hassh_algorithms \
            ssh.kex.hasshserver ssh.kex.hasshserver_algorithms) 2>/dev/null |
        awk -F '\t' -v OFS='\t' '
            $4 != "" { print $1 $2, $3, "banner", $4 }
            $5 != "" { print $1 $2, $3, "hassh", $5, $6 }
            $7 != "" { print $1 $2, $3, "hasshserver", $7, $8 }' >"$2"
}

compare() {
    local golden differ=0
    for golden in "$1"/* "$here"/*.p0f "$here"/*.tshark "$here"/*.ja3 "$here"/*.ja4 "$here"/*.http \
        "$here"/*.ssh; do
        if ! diff -u "$here/$(basename "$golden")" "$1/$(basename "$golden")"; then differ=1; fi
    done
    return $differ
}

main "$@"
