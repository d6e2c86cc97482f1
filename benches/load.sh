#!/usr/bin/env bash
# Measures live capture under real traffic, and writes the tables of benches/results/load.md.
#
#   benches/load.sh [server|sensors|gbps|sweeps|soak]...
#
# The default is all parts; the others stay unchanged. Needs root, jq, nginx, h2load (nghttp2-client), openssl, tcpdump,
# p0f, tshark, ethtool and iproute2. All traffic stays in network namespaces and on the loopback interface.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
. benches/machine.sh

readonly PAGE=benches/results/load.md
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
lab=$CARGO_TARGET_DIR/release/huginn-lab
program=$CARGO_TARGET_DIR/release/huginn-net
published=${PUBLISHED:-benches/peers/target/release/live}
# Programs with other block sizes, by the commit that they were built from.
variants=${VARIANTS:-$CARGO_TARGET_DIR/block-sizes/$(git rev-parse --short HEAD)}
readonly SENSOR_QUANTITIES="jq -c '{ns: .cpu.ns_per_packet, p99: .late_ms.p99, memory: (.memory_mib | max), missing: .verdict.missing}'"
tmp=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$tmp"' EXIT

main() {
    local part
    for part; do
        case $part in
            server | sensors | gbps | sweeps | soak) ;;
            *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
        esac
    done
    cargo build --quiet --release -p huginn-net-cli -p huginn-lab
    [ -x "$published" ] || (cd benches/peers && CARGO_TARGET_DIR=target cargo build --quiet --release --bin live)
    [ $# -gt 0 ] || set -- server sensors gbps sweeps soak
    measure_parts "$PAGE" "$@"
}

# Responses of 256 KiB from one core beside nginx; the load has the other core.
measure_server() {
    mkdir -p "$tmp/nginx"
    head -c 262144 /dev/urandom >"$tmp/nginx/256k"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
        -keyout "$tmp/nginx/key.pem" -out "$tmp/nginx/cert.pem" 2>/dev/null
    chmod -R a+rX "$tmp"
    cat >"$tmp/nginx/nginx.conf" <<END
worker_processes 1;
daemon off;
pid $tmp/nginx/pid;
error_log stderr crit;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    open_file_cache max=10;
    server {
        listen 127.0.0.1:9080 reuseport;
        listen 127.0.0.1:9443 ssl http2 reuseport;
        ssl_certificate $tmp/nginx/cert.pem;
        ssl_certificate_key $tmp/nginx/key.pem;
        root $tmp/nginx;
    }
}
END
    local servers
    taskset -c 0 nginx -c "$tmp/nginx/nginx.conf" &
    servers=($!)
    taskset -c 0 "$lab" serve -L 127.0.0.1:9180:9543 &
    servers+=($!)
    wait_for 9080 9443 9180 9543
    local load="taskset -c 1 $lab load --json -d 3 -c 16"
    echo "**HTTP/1**, loaded by h2load"
    echo
    "$lab" ab -n 5 nginx "$load --tool h2load http://127.0.0.1:9080/256k" \
        "huginn-lab" "$load --tool h2load 'http://127.0.0.1:9180/?s=256k'" | table requests_per_second
    echo "**HTTP/2 over TLS**, loaded by h2load"
    echo
    "$lab" ab -n 5 nginx "$load --http 2 --tool h2load https://127.0.0.1:9443/256k" \
        "huginn-lab" "$load --http 2 --tool h2load 'https://127.0.0.1:9543/?s=256k'" | table requests_per_second
    echo "**HTTP/3**, loaded by \`huginn-lab load\`; this nginx has no HTTP/3, HTTP/2 of the same server stands beside it"
    echo
    "$lab" ab -n 5 "HTTP/2" "$load --http 2 'https://127.0.0.1:9543/?s=256k'" \
        "HTTP/3" "$load --http 3 'https://127.0.0.1:9543/?s=256k'" | table requests_per_second
    kill "${servers[@]}"
    wait "${servers[@]}" 2>/dev/null || true
}

wait_for() {
    local port _
    for port; do
        for _ in $(seq 100); do
            [ -z "$(ss -Hltn "sport = :$port")" ] || break
            sleep 0.1
        done
    done
}

# table QUANTITY: the table of one quantity out of what ab prints.
table() {
    awk -v quantity="$1" '/^\| / && $2 == quantity { on = 1 } /^$/ { if (on) print; on = 0 } on
        END { if (on) print "" }'
}

measure_sensors() {
    "$lab" measure --huginn-net "$program" --published "$published" -d 1
    echo
    echo "The loopback interface instead of a veth pair:"
    echo
    "$lab" measure --huginn-net "$program" --loopback --sizes 1k --modes churn --sensors none,huginn-net -d 2
}

# CPU time at 1 Gbps of capture and analysis, beside that of the analysis of a recording of the same traffic.
measure_gbps() {
    local http mode live offline
    echo "| HTTP | mode | Gbps | packets/s | bytes a packet | live, of a core | \`pcap\` of a recording, ns a packet | projected from it, of a core | live, ns a packet |"
    echo "|--:|---|--:|--:|--:|--:|--:|--:|--:|"
    for http in 1 2 3; do
        for mode in keep-alive churn; do
            live=$("$lab" measure --json --huginn-net "$program" --http $http --sizes 16k --modes $mode --sensors huginn-net --gbps 1 -d 5)
            "$lab" measure --json --http $http --sizes 16k --modes $mode --sensors tcpdump --gbps 1 -d 2 --capture "$tmp/traffic.pcap" >"$tmp/capture.json"
            # tcpdump drops privileges and may lose packets: the file's own count divides.
            offline=$("$lab" ab --json -n 5 pcap "$program pcap -q -w 1 --format json -o /dev/null $tmp/traffic.pcap || [ \$? = 1 ]" \
                true true | jq '.commands[0].quantities."CPU, s" | sort | .[2]')
            packets=$({ "$program" pcap -q --stats -o /dev/null "$tmp/traffic.pcap" 2>&1 || [ $? = 1 ]; } | sed -n 's/^{"frames":\([0-9]*\).*/\1/p')
            jq -r --argjson offline "$offline" --argjson packets "$packets" '
                def round(d): . * pow(10; d) | round / pow(10; d);
                ($offline * 1e9 / $packets) as $ns | (.packets / .seconds) as $rate
                | "| \(.http) | \(.mode) | \(.bytes * 8 / .seconds / 1e9 | round(3)) | \($rate | round) | \(.bytes / .packets | round) | \(.cpu.percent | round(1)) % | \($ns | round(0)) | \($ns * $rate / 1e7 | round(1)) % | \(.cpu.ns_per_packet | round(0)) |"' <<<"$live"
            rm "$tmp/traffic.pcap"
        done
    done
}

measure_sweeps() {
    local buffer socket block quantity commands=()
    echo "Server, 256 KiB over HTTP/1, requests/s by buffer and socket buffer:"
    echo
    local port=9180 pids=()
    for buffer in 64k 16k 32k 128k 256k; do
        taskset -c 0 "$lab" serve -L "127.0.0.1:$port" --buffer $buffer &
        pids+=($!)
        commands+=("$buffer, kernel's" "$(sweep_load $port)")
        port=$((port + 1))
    done
    for buffer in 64k 256k; do
        for socket in 64k 256k 1m; do
            taskset -c 0 "$lab" serve -L "127.0.0.1:$port" --buffer $buffer --socket-buffer $socket &
            pids+=($!)
            commands+=("$buffer, $socket" "$(sweep_load $port)")
            port=$((port + 1))
        done
    done
    wait_for $(seq 9180 $((port - 1)))
    "$lab" ab -n 3 "${commands[@]}" | table requests_per_second
    kill "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null || true
    echo "Sensor, short HTTP/1 connections at 4,000 requests/s, by the length of the ring (\`--buffer\`, in MiB):"
    echo
    commands=()
    for buffer in 32 4 8 16 64 128; do
        commands+=("$buffer" "$(sweep_sensor "$program") --option=--buffer --option=$buffer | $SENSOR_QUANTITIES")
    done
    compare_sensors "${commands[@]}"
    echo "Sensor, the same load, by the size of the ring's blocks, a constant of \`huginn-net-live/src/limits.rs\` (256 KiB):"
    echo
    commands=("256" "$(sweep_sensor "$program") | $SENSOR_QUANTITIES")
    for block in 64 1024 4096; do
        build_block_size $block
        commands+=("$block" "$(sweep_sensor "$variants/huginn-net-$block") | $SENSOR_QUANTITIES")
    done
    compare_sensors "${commands[@]}"
}

sweep_sensor() {
    echo "$lab measure --json --huginn-net $1 --http 1 --sizes 1k --modes churn --sensors huginn-net --rate 4000 -d 3"
}

compare_sensors() {
    local quantity
    "$lab" ab -n 3 "$@" >"$tmp/sensors.md"
    for quantity in ns p99 memory missing; do
        table $quantity <"$tmp/sensors.md"
    done | sed 's/^| ns /| CPU, ns a packet /; s/^| p99 /| late, p99, ms /; s/^| memory /| memory, MiB /; s/^| missing /| missing events /'
}

# build_block_size KIB: builds the program with ring blocks of this size, unless it is there.
build_block_size() {
    [ ! -x "$variants/huginn-net-$1" ] || return 0
    mkdir -p "$variants/source"
    git archive HEAD | tar -x -C "$variants/source"
    sed -i "s/RING_BLOCK_LEN: usize = .*;/RING_BLOCK_LEN: usize = $1 << 10;/" "$variants/source/huginn-net-live/src/limits.rs"
    (cd "$variants/source" && CARGO_TARGET_DIR=$variants/target cargo build --quiet --release -p huginn-net-cli)
    cp "$variants/target/release/huginn-net" "$variants/huginn-net-$1"
}

sweep_load() {
    echo "taskset -c 1 $lab load --json -d 2 -c 16 --tool h2load 'http://127.0.0.1:$1/?s=256k'"
}

measure_soak() {
    "$lab" measure --json --huginn-net "$program" --http 1 --sizes 1k --modes churn --sensors huginn-net --rate 2000 -d 600 --check >"$tmp/soak.json"
    jq -r '
        def mib(f): .memory_mib | map(. * 10 | round / 10) | f;
        "| connections/s | packets | Gbps | CPU of a core | events | missing | doubled | dropped | late p50/p99, ms |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        "| \(.handshakes_per_second | round) | \(.packets) | \(.bytes * 8 / .seconds / 1e9 * 1000 | round / 1000) | \(.cpu.percent * 10 | round / 10) % | \(.verdict.found) | \(.verdict.missing) | \(.verdict.doubled) | \([.drops[][1]] | add) | \(.late_ms.p50 * 10 | round / 10)/\(.late_ms.p99 * 10 | round / 10) |",
        "",
        "Memory in MiB after 10 s, 60 s, 300 s, and at the end: \(mib(.[9])), \(mib(.[59])), \(mib(.[299])), \(mib(.[-1])); the most was \(mib(max))."
    ' "$tmp/soak.json"
}

main "$@"
