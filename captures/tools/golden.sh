#!/usr/bin/env bash
# Makes the goldens of the captures with the reference tools p0f and tshark (Debian packages of these names).
#
#   captures/tools/golden.sh --check [NAME...]  compare the goldens with the output of the tools; write nothing
#   captures/tools/golden.sh --bless NAME...    run the tools, show the difference and write the goldens
#   captures/tools/golden.sh --bless --all      run the tools and write the goldens of every capture
#
# Exit status: 0 if all goldens are up to date or written, 1 if --check finds a difference, 2 for wrong usage.
#
# The goldens of a capture are NAME.p0f and NAME.tshark, also NAME.ja3, NAME.ja4, NAME.hellos and NAME.handshakes for TLS,
# NAME.http for HTTP and NAME.ssh for SSH.
#
# NAME.p0f is the log of p0f 3.09b with this project's own database, in UTC. It is absent if p0f logs nothing, because it
#   does not support the link type or the tunnel.
# NAME.tshark has one line for every SYN and SYN+ACK, from the innermost headers:
#   frame, source, port, destination, port, sequence number, acknowledgement number, TTL, window, MSS, window scale.
#   A field is empty if its option is absent.
# NAME.http (http-*) has one line for each head, in order: source, port, HTTP version (1 or 2), then method and target, or
#   status. Absent for HTTP/3 and TLS inside TLS, which tshark 4.0 does not read.
# NAME.heads (http-decrypted-*) comes from record-decrypted.sh, by a newer tshark: heads.py describes it.
# NAME.ssh (ssh-*) has one line for each identification string and each fingerprint that tshark shows: source, port, then
#   `banner` and the identification string, or `hassh` or `hasshserver` with the fingerprint and its algorithms.
# NAME.kex (ssh-negotiation) comes from record-ssh.sh: it is what the client printed while it was recorded.
# NAME.ja3 and NAME.ja4 (tls-*, quic-*, dtls-*, starttls-*) come from tshark's dissection, through ja4_by_hand.py.
# NAME.hellos (the same) has what tshark shows of each hello beside its fingerprint, and NAME.handshakes (tls-*, starttls-*) how
#   each handshake over TCP ends, through tls_fields.py, whose first lines describe both. NAME.handshakes is absent if no
#   handshake ends or shows certificates.
# NAME.certificates (tls-*, quic-*, dtls-*, starttls-*, http-decrypted-*) has one line for each certificate that tshark shows, read by OpenSSL: frame, source, port,
#   place in its message, SHA-256, serial number, start and end of the validity, subject and issuer as in RFC 4514.
set -euo pipefail
export TZ=UTC LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
. "$here/layout.sh"
database_folder=$captures/../huginn-net-db/signatures
readonly KINDS="p0f tshark ja3 ja4 hellos handshakes certificates http ssh"

# UTC with a summer time of zero shift. p0f parses the Date of a response with tm_isdst uninitialised; in plain UTC that
# shifts some dates by an hour, and different ones in each run.
readonly P0F_ZONE=UTC0UTC0,M3.2.0,M11.1.0

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

main() {
    local mode=${1:-} name differ=0
    [ $# = 0 ] || shift
    case $mode in
    --check) [ $# -gt 0 ] || set -- --all ;;
    --bless) [ $# -gt 0 ] || usage_error "--bless needs the name of a capture, or --all" ;;
    --help)
        usage
        exit
        ;;
    *) usage_error "use --check, --bless or --help" ;;
    esac
    if [ "$1" = --all ]; then
        [ $# = 1 ] || usage_error "--all takes no names: $2"
        set -- $(all_names)
    fi
    for name; do
        [ "$name" != --all ] || usage_error "--all takes no names: $1"
        [ -n "$(capture_of "$name")" ] || usage_error "no such capture: $name"
    done
    cat "$database_folder"/*.fp >"$tmp/database.fp"
    for name; do
        mkdir "$tmp/$name"
        goldens "$name" "$tmp/$name"
        compare "$name" "$tmp/$name" || differ=1
        [ "$mode" = --check ] || bless "$name" "$tmp/$name"
    done
    [ "$mode" = --bless ] || return $differ
}

usage() {
    sed -n '2,/^# NAME.p0f/{/^# NAME.p0f/!s/^# \{0,1\}//p}' "$0"
}

usage_error() {
    echo "golden.sh: $1" >&2
    usage >&2
    exit 2
}

all_names() {
    local file
    for file in "$captures"/*/*/*.pcap "$captures"/*/*/*.pcapng; do
        basename "${file%.*}"
    done
}

# capture_of NAME: prints the path of the uncompressed capture.
capture_of() {
    local file
    for file in "$captures"/*/"$1/$1".pcap "$captures"/*/"$1/$1".pcapng; do
        if [ -e "$file" ]; then echo "$file"; fi
    done
}

# goldens NAME FOLDER: writes the output of the tools.
goldens() {
    local name=$1 out=$2/$1 capture
    capture=$(capture_of "$name")
    p0f_view "$capture" "$out.p0f"
    tshark_view "$capture" "$out.tshark"
    case $name in
    tls-* | quic-* | dtls-* | starttls-*)
        tls_view "$capture" "$out"
        certificates_view "$capture" "$out.certificates"
        ;;
    http-*)
        # tshark 4.0 reads no HTTP/3, nothing inside of TLS in TLS, and no decrypted response that ends with the connection.
        case $name in http-decrypted-tls13 | http-decrypted-qui* | http-decrypted-firefox | http-decrypted-compressed) ;; *) http_view "$capture" "$out.http" ;; esac
        case $name in http-decrypted-*) certificates_view "$capture" "$out.certificates" ;; esac
        ;;
    ssh-*) ssh_view "$capture" "$out.ssh" ;;
    esac
}

# compare NAME FOLDER: shows the difference between the goldens and those in the folder; fails if there is one.
compare() {
    local kind differ=0 folder
    folder=$(dirname "$(capture_of "$1")")
    for kind in $KINDS; do
        if [ -e "$folder/$1.$kind" ] || [ -e "$2/$1.$kind" ]; then
            diff -uN "$folder/$1.$kind" "$2/$1.$kind" || differ=1
        fi
    done
    return $differ
}

# bless NAME FOLDER: replaces the goldens with those in the folder.
bless() {
    local kind folder
    folder=$(dirname "$(capture_of "$1")")
    for kind in $KINDS; do
        rm -f "$folder/$1.$kind"
        if [ -e "$2/$1.$kind" ]; then cp "$2/$1.$kind" "$folder/$1.$kind"; fi
    done
}

p0f_view() {
    # p0f appends to its log, and writes none if it cannot read the file.
    rm -f "$tmp/log"
    if ! TZ=$P0F_ZONE p0f -f "$tmp/database.fp" -r "$1" -o "$tmp/log" >"$tmp/p0f.out" 2>&1; then
        if ! grep -q 'prepare_pcap()\|prepare_bpf()' "$tmp/p0f.out"; then
            cat "$tmp/p0f.out" >&2
            return 1
        fi
    fi
    if [ -s "$tmp/log" ]; then cat "$tmp/log" >"$2"; fi
}

# The last occurrence of a field is the innermost. ip.* and ipv6.* both occur if one tunnels the other.
tshark_view() {
    # CAPWAP carries 802.11 headers unchanged (RFC 5416), or with two bytes swapped (Cisco).
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
    # tshark's FTP dissector does not know AUTH SSL; this option makes it try TLS on the port at once.
    */starttls-ftp.pcap) options=(-d tcp.port==21,tls) ;;
    # tshark rejects a datagram with a ServerHello and ciphertext of DTLS 1.3, whose header differs; force DTLS.
    */dtls-13.pcap | */dtls-chromium.pcap | */dtls-firefox.pcap) options=(-d udp.port==1024-65535,dtls) ;;
    # The padding counts as payload and has the sequence numbers of the hello: tshark takes the hello for a retransmission.
    */tls-made-padded-acks.pcap)
        options=(-o tcp.analyze_sequence_numbers:FALSE -o tcp.desegment_tcp_streams:FALSE)
        ;;
    */quic-negotiation.pcap)
        tls_view_in_two "$1" "$2" 2
        return
        ;;
    esac
    python3 "$here/ja4_by_hand.py" "$1" "$2.ja3" "$2.ja4" "${options[@]}"
    case $1 in
    */tls-* | */starttls-*)
        python3 "$here/tls_fields.py" "$1" "$2.hellos" --handshakes "$2.handshakes" "${options[@]}"
        [ -s "$2.handshakes" ] || rm "$2.handshakes"
        ;;
    *) python3 "$here/tls_fields.py" "$1" "$2.hellos" "${options[@]}" ;;
    esac
}

# tshark joins the certificates of a frame with ','.
certificates_view() {
    local frame v4 v6 tcp udp certificates dtls certificate place
    tshark -r "$1" -Y 'tls.handshake.certificate or dtls.handshake.certificate' -T fields -E separator='|' \
        -e frame.number -e ip.src -e ipv6.src -e tcp.srcport -e udp.srcport -e tls.handshake.certificate \
        -e dtls.handshake.certificate 2>/dev/null |
        while IFS='|' read -r frame v4 v6 tcp udp certificates dtls; do
            place=0
            for certificate in ${certificates//,/ } ${dtls//,/ }; do
                printf '%s\t%s\t%s\t%s\t%s\n' "$frame" "$v4$v6" "$tcp$udp" $place "$(read_certificate "$certificate")"
                place=$((place + 1))
            done
        done >"$2"
    [ -s "$2" ] || rm "$2"
}

# read_certificate HEX: prints the fields that OpenSSL reads, between tabs.
read_certificate() {
    xxd -r -p <<<"$1" | openssl x509 -inform DER -noout -fingerprint -sha256 -serial -dates -dateopt iso_8601 -subject -issuer \
        -nameopt RFC2253,-esc_msb,utf8 |
        sed '1s/://g; 1,2s/.*/\L&/; 3,4s/ /T/; s/^[^=]*=//' | paste -s -d '\t'
}

# tshark keeps the keys of the first version after a Version Negotiation, so frames up to $3 and later ones are read apart.
tls_view_in_two() {
    local part=$tmp/part
    editcap -F pcap -r "$1" "$part-1.pcap" "1-$3"
    editcap -F pcap "$1" "$part-2.pcap" "1-$3"
    python3 "$here/ja4_by_hand.py" "$part-1.pcap" "$part-1.ja3" "$part-1.ja4"
    python3 "$here/ja4_by_hand.py" "$part-2.pcap" "$part-2.ja3" "$part-2.ja4"
    cat "$part-1.ja4" "$part-2.ja4" >"$2.ja4"
    python3 "$here/tls_fields.py" "$part-1.pcap" "$part-1.hellos"
    python3 "$here/tls_fields.py" "$part-2.pcap" "$part-2.hellos"
    cat "$part-1.hellos" "$part-2.hellos" >"$2.hellos"
    awk -v FS='\t' -v OFS='\t' -v before="$3" 'FILENAME ~ /2.ja3$/ { $1 += before } 1' \
        "$part-1.ja3" "$part-2.ja3" >"$2.ja3"
}

# One packet may have several heads; tshark joins their fields with '|'. HTTP/2 PRIORITY frames have no headers.
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

# One packet may have a banner and a fingerprint. tshark replaces bytes that are not UTF-8 with U+FFFD.
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

main "$@"
