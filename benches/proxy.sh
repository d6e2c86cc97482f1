#!/usr/bin/env bash
# Measures what fingerprints cost a proxy, and writes the tables of benches/results/proxy.md.
#
#   benches/proxy.sh [library|connections|instructions|requests|memory]...
#
# The default is all parts; the others stay unchanged. Needs h2load (nghttp2-client), nginx, openssl, jq, valgrind and two
# cores: the proxy has one, the load and the upstream the other.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
. benches/machine.sh

readonly PAGE=benches/results/proxy.md PORT=19443 UPSTREAM=19080 STALLED=10000
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
lab=$CARGO_TARGET_DIR/release/huginn-lab
proxy=$CARGO_TARGET_DIR/release/examples/tls_proxy
tmp=${PROXY_FILES:-$(mktemp -d)}

main() {
    local part
    # `huginn-lab ab` runs this script again for each run of a proxy.
    if [ "${1:-}" = run ]; then
        shift
        run "$@"
        return
    fi
    for part; do
        case $part in
            library | connections | instructions | requests | memory) ;;
            *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
        esac
    done
    trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$tmp"' EXIT
    cargo build --quiet --release -p huginn-lab
    cargo build --quiet --release -p huginn-net-benches --features proxy --example tls_proxy
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
        -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
    upstream &
    [ $# -gt 0 ] || set -- library connections instructions requests memory
    measure_parts "$PAGE" "$@"
}

upstream() {
    cat >"$tmp/nginx.conf" <<END
worker_processes 1;
daemon off;
pid $tmp/nginx.pid;
error_log stderr crit;
events { worker_connections 1024; }
http {
    access_log off;
    keepalive_requests 1000000000;
    server {
        listen 127.0.0.1:$UPSTREAM;
        location / { return 200 "An answer.\n"; }
    }
}
END
    exec taskset -c 1 nginx -c "$tmp/nginx.conf"
}

# run PART connections|instructions|requests|idle|hello: runs a proxy once, and prints what it needed as JSON.
run() {
    local part=$1 load=$2 upstream=() valgrind=() pid before after report count
    [ "$load" != requests ] || upstream=("127.0.0.1:$UPSTREAM")
    ulimit -n "$(ulimit -Hn)"
    [ "$load" != instructions ] ||
        valgrind=(valgrind -q --tool=callgrind --callgrind-out-file="$tmp/callgrind.out" --max-threads=50)
    taskset -c 0 "${valgrind[@]}" "$proxy" "$part" "127.0.0.1:$PORT" "$tmp/cert.pem" "$tmp/key.pem" \
        "${upstream[@]}" &
    pid=$!
    until (: <"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; do sleep 0.05; done
    if [[ "$load" =~ ^(idle|hello)$ ]]; then
        stall "$load"
        return
    fi
    if [ "$load" = instructions ]; then
        count_instructions
        return
    fi
    read -r before _ <"/proc/$pid/schedstat"
    case $load in
        connections) report=$(taskset -c 1 "$lab" load --json --http 2 --churn -d 2 -c 8 "https://127.0.0.1:$PORT/") ;;
        requests) report=$(taskset -c 1 "$lab" load --json --http 2 --tool h2load -d 3 -c 20 "https://127.0.0.1:$PORT/") ;;
    esac
    read -r after _ <"/proc/$pid/schedstat"
    kill $pid
    wait $pid || true
    count=$(jq .requests <<<"$report")
    jq -c --argjson nanos "$((after - before))" \
        '{cpu_us: ($nanos / 1000 / .requests), requests_per_second}' <<<"$report"
    [ "$count" -gt 0 ]
}

# Prints the instructions that the proxy $pid, which runs in callgrind, needs for a connection, in thousands.
count_instructions() {
    local connections=(taskset -c 1 "$lab" load --json --http 2 --churn -c 1 "https://127.0.0.1:$PORT/") report
    # The first connections read the databases.
    "${connections[@]}" -d 2 >/dev/null
    callgrind_control -z "$pid" >/dev/null
    report=$("${connections[@]}" -d 8)
    kill $pid
    wait $pid || true
    jq -c --argjson instructions "$(awk '/^(summary|totals):/ { print $2; exit }' "$tmp/callgrind.out")" \
        '{kilo_instructions: ($instructions / 1000 / .requests)}' <<<"$report"
}

# stall idle|hello: prints the memory that the proxy $pid needs for each of 10,000 clients that do nothing.
stall() {
    local before after
    before=$(resident)
    coproc clients { exec taskset -c 1 benches/stalled.py "$1" "$PORT" $STALLED; }
    read -r -u "${clients[0]}" _
    after=$(resident)
    jq -nc --argjson kib "$((after - before))" "{kib_per_client: (\$kib / $STALLED)}"
    kill $clients_PID $pid
    wait
}

# Resident memory of the proxy $pid, in KiB.
resident() {
    awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"
}

# The medians of Criterion.
measure_library() {
    local line name
    cargo bench --quiet -p huginn-net-benches --features proxy --bench proxy >"$tmp/criterion.txt"
    echo '| work | time |'
    echo '|---|--:|'
    # A long name has its time on the next line.
    awk '
        /^(record|fingerprint)\// && !/time:/ { name = $0; next }
        /time:/ {
            text = $0
            sub(/ *time:.*/, "", text)
            if (text !~ /^(record|fingerprint)\//) text = name
            sub(/\//, ": ", text)
            match($0, /\[.*\]/)
            split(substr($0, RSTART + 1, RLENGTH - 2), value, " ")
            print "| " text " | " value[3] " " value[4] " |"
        }' "$tmp/criterion.txt"
}

measure_connections() {
    compare connections 15 none syn hello http all
}

measure_instructions() {
    compare instructions 5 none syn hello http all
}

measure_requests() {
    compare requests 11 none all
}

measure_memory() {
    echo 'Idle after the TLS handshake:'
    echo
    compare idle 3 none all
    echo
    echo 'All but the last byte of a ClientHello of 16 KiB:'
    echo
    compare hello 3 none all
}

# compare LOAD RUNS PART...
compare() {
    local load=$1 runs=$2 part commands=()
    shift 2
    for part; do
        commands+=("$part" "benches/proxy.sh run $part $load")
    done
    PROXY_FILES=$tmp "$lab" ab -n "$runs" "${commands[@]}" >"$tmp/$load.tables"
    # Not those of this script's own time and memory.
    awk '/^\| (cpu_us|kilo_instructions|requests_per_second|kib_per_client) / { on = 1 } /^$/ { if (on) print; on = 0 } on' "$tmp/$load.tables"
}

main "$@"
