#!/usr/bin/env bash
# Measures decryption: a capture of HTTPS responses of 256 kB and its key log, read by huginn-net and by tshark on one processor.
#
#   benches/decrypt.sh [HUGINN-NET [MB [RUNS]]]
#
# Needs root, nginx, curl, openssl, tcpdump and tshark. Prints for each tool the median processor time and the MB of capture for each second of it;
# 'without keys' is what reading the capture costs. Each connection has one request.
set -euo pipefail
shopt -s inherit_errexit
program=$(realpath "${1:-target/release/huginn-net}")
mb=${2:-200} runs=${3:-5}
place=$(mktemp -d)
trap 'kill $(jobs -p) 2> /dev/null || true; rm -rf "$place"' EXIT
cd "$place"

mkdir site
head -c 256000 /dev/urandom > site/256k
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key.pem -out cert.pem 2> /dev/null
cat > nginx.conf << EOF
daemon off; worker_processes 1; pid $place/nginx.pid; error_log $place/error.log; user root;
events {}
http {
    access_log off; client_body_temp_path $place/t1; proxy_temp_path $place/t2; fastcgi_temp_path $place/t3;
    uwsgi_temp_path $place/t4; scgi_temp_path $place/t5; root $place/site;
    server { listen 127.0.0.1:18443 ssl http2; ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_protocols TLSv1.2 TLSv1.3; }
}
EOF
nginx -p "$place" -c nginx.conf &
# Frames as long as segmentation makes them on lo.
tcpdump -i lo -B 65536 -s 0 -U -w capture.pcap tcp port 18443 2> tcpdump.log &
until grep -q listening tcpdump.log && [ -s nginx.pid ]; do sleep 0.1; done
count=$((mb * 1000 / 256))
# TLS 1.3 with HTTP/1.1, whose bodies are skipped, and with HTTP/2, whose bodies are decrypted; and TLS 1.2.
for options in "--http1.1" "--http2" "--http1.1 --tls-max 1.2"; do
    for _ in $(seq $((count / 3))); do
        # shellcheck disable=SC2086
        SSLKEYLOGFILE=keys.log curl -sk $options -o /dev/null https://127.0.0.1:18443/256k
    done
done
sleep 1
kill %2 %1
wait || true
grep dropped tcpdump.log
bytes=$(stat -c %s capture.pcap)

# measure NAME COMMAND...: prints the median processor time of the runs, with one processor.
measure() {
    local name=$1
    shift
    for _ in $(seq "$runs"); do
        /usr/bin/time -f '%U %S' -o time taskset -c 0 "$@" > out 2> /dev/null
        tail -1 time | awk '{ print $1 + $2 }'
    done | sort -n | awk -v name="$name" -v bytes="$bytes" \
        '{ times[NR] = $1 } END { time = times[int((NR + 1) / 2)]; printf "%-28s %7.2f s %8.0f MB/s\n", name, time, bytes / time / 1e6 }'
}

echo "$((bytes / 1000000)) MB, $((count / 3 * 3)) responses of 256,000 bytes"
pcap=("$program" pcap -w 1 --format json --events http_request)
measure "huginn-net" "${pcap[@]}" --keylog keys.log capture.pcap
echo "requests: $(grep -c http_request out)"
measure "huginn-net, without keys" "${pcap[@]}" capture.pcap
measure "tshark" tshark -o tls.keylog_file:keys.log -r capture.pcap -Y 'http.request or http2.headers.method' -T fields -e http.host
echo "requests: $(wc -l < out)"
measure "tshark, without keys" tshark -r capture.pcap -Y tls.handshake.type==1 -T fields -e tls.handshake.ja3
