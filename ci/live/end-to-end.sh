#!/usr/bin/env bash
# Tests `huginn-net live` end to end, in network namespaces: end-to-end.sh PROGRAM [PROGRAM-WITH-LIBPCAP]
#
# Runs as root. Real programs communicate over a veth pair; the sensor must report the same events as `huginn-net pcap` on
# tcpdump's recording of the same packets. The script then tests signals, rotation, closed pipes, missing privileges, and
# interfaces that vanish and return. It exits with 1 at the first difference, within four minutes, and cleans up.
set -euo pipefail

readonly PACKAGES="chromium curl ethtool iproute2 jq nghttp2-client nginx openssl procps prometheus python3 socat tcpdump
    tcpreplay util-linux"
readonly PROGRAMS="chromium curl ethtool h2load ip jq nginx openssl promtool python3 setpriv socat sysctl tcpdump tcpreplay timeout"
here=$(cd "$(dirname "$0")" && pwd)
[ "${LIMITED:-}" = yes ] || LIMITED=yes exec timeout --kill-after=30 240 "$0" "$@"
. "$here/namespaces.sh"

[ $# -ge 1 ] || fail "which program? end-to-end.sh PROGRAM [PROGRAM-WITH-LIBPCAP]"
declare -A programs=()

main() {
    setup
    copy_programs "$@"
    printf '127.0.0.1 localhost %s\n%s www.example.test\n' "$(uname -n)" $SERVER4 >"$tmp/hosts"
    cable_up
    nginx_up
    part "events as in the recording" same_events all_traffic
    both_ends ethtool -K % tso off gso off gro off tx off
    part "same events without offload" same_events some_traffic
    part "loopback" same_events_on_loopback
    part "BPF expression" expression
    part "captures over TCP and of a directory" streams
    part "rotation, SIGHUP, SIGUSR1" files
    part "closed pipe, --count" ends
    part "errors at start" refusals
    part "dropped privileges" rights
    part "Landlock" confinement
    part "metrics and p0f socket" query_sockets
    part "health" health
    part "interfaces that vanish and return" interfaces
    echo "all parts passed in $SECONDS s"
}

# copy_programs PACKET [LIBPCAP]: copies the programs to a folder from which any user may run them.
copy_programs() {
    cp "$1" "$tmp/huginn-net"
    programs[packet]=$tmp/huginn-net
    if [ $# -gt 1 ]; then
        cp "$2" "$tmp/huginn-net-libpcap"
        programs[libpcap]=$tmp/huginn-net-libpcap
    fi
    chmod 755 "$tmp"/huginn-net*
}

both_ends() {
    client "${@/%%/hn-a}" >/dev/null
    server "${@/%%/hn-b}" >/dev/null
}

# same_events TRAFFIC: compares the sensors of each backend and worker count with tcpdump on the same traffic.
same_events() {
    local backend workers name before during after
    eventually "a quiet network" quiet
    before=$(crossed)
    recorded "$tmp/whole.pcap" hn-b
    for backend in "${!programs[@]}"; do
        for workers in 1 2; do
            live "$backend-$workers" "${programs[$backend]}" --backend "$backend" -w $workers --format json \
                -o "$tmp/$backend-$workers.json" --stats
        done
    done
    during=$(crossed)
    "$1"
    eventually "a quiet network" quiet
    after=$(crossed)
    for name in "${!pids[@]}"; do stop "$name"; done
    stop_recording_whole
    "${programs[packet]}" pcap -q --format json -o "$tmp/whole.json" "$tmp/whole.pcap" || [ $? = 1 ]
    for backend in "${!programs[@]}"; do
        for workers in 1 2; do
            name=$backend-$workers
            printf '%s: ' "$name"
            # A sensor may miss the packets that crossed while sensors were started and stopped.
            all_accounted_for "$name" $((after - during)) $(($(crossed) - before))
            python3 "$here/events.py" same "$tmp/whole.json" "$tmp/$name.json"
            rm "$tmp/$name.json"
        done
    done
}

# all_accounted_for NAME MIN MAX: fails unless the sensor received MIN to MAX packets, lost none and analysed each.
all_accounted_for() {
    local name=$1 received
    received=$(counted "$name" '[.capture[].received] | add')
    [ "$received" -ge "$2" ] && [ "$received" -le "$3" ] || fail "$name: $received packets received, of $2 to $3"
    [ "$(counted "$name" '.frames + .frames_filtered')" = "$received" ] || fail "$name: received but not analysed: $(counted "$name" .)"
    [ "$(counted "$name" '([.capture[].kernel_dropped] | add) + .segments_dropped
        + .output.dropped_lines + .output.write_errors + .output.rotation_errors')" = 0 ] ||
        fail "$name: lost something: $(counted "$name" .)"
    [ "$(counted "$name" '.events - .output.written_lines + (.events - ([.events_by_kind[]] | add))')" = 0 ] || fail "$name: not all events were written"
    echo "$received packets, latency $(counted "$name" '.latency.capture_to_event_us | "\(.p50) us (p50), \(.p99) us (p99)"')"
}

all_traffic() {
    some_traffic
    page_in_chromium
    client h2load -n 100 -c 4 -m 4 http://$SERVER4:8080/ >/dev/null
    client h2load -n 100 -c 4 -m 4 https://$SERVER4/ >/dev/null
    replay_all
}

some_traffic() {
    local address
    for address in $SERVER4 "[$SERVER6]"; do
        fetch "http://$address/" "http://$address/missing"
        fetch --http2-prior-knowledge "http://$address:8080/"
        fetch "https://$address/"
        fetch --http1.1 --tls-max 1.2 "https://$address/"
        fetch --http2 -A 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0' "http://$address/"
    done
    fetch --resolve www.example.test:443:$SERVER4 https://www.example.test/
}

# fetch [OPTION...] URL...: requests the URLs with curl.
fetch() { client curl -sSk --max-time 10 "$@" >/dev/null; }

page_in_chromium() {
    client sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$tmp/hosts" env HOME="$tmp/chromium" timeout 30 \
        chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
        --disable-component-update --user-data-dir="$tmp/chromium" --ignore-certificate-errors \
        --dump-dom https://www.example.test/ >"$tmp/page" 2>"$tmp/chromium.err" || true
    grep -q Huginn "$tmp/page" || fail "chromium: $(tail -n 3 "$tmp/chromium.err")"
}

replay_all() {
    local file files=()
    for file in "$captures"/*/*/*.pcap; do
        if is_ethernet "$file"; then files+=("$file"); fi
    done
    replay --pps 4000 "${files[@]}"
}

# is_ethernet FILE: whether a pcap file has link type 1. The byte order follows from the first byte.
is_ethernet() {
    local want=' 01 00 00 00'
    [ "$(od -An -tx1 -N 1 "$1")" != ' a1' ] || want=' 00 00 00 01'
    [ "$(od -An -tx1 -j 20 -N 4 "$1")" = "$want" ]
}

replay() {
    client tcpreplay -q -i hn-a "$@" >"$tmp/tcpreplay.out" 2>"$tmp/tcpreplay.err" || fail "tcpreplay: $(cat "$tmp/tcpreplay.err")"
}

# Each packet counts once, though lo shows it as sent and as received.
same_events_on_loopback() {
    local backend
    recorded "$tmp/whole.pcap" lo
    for backend in "${!programs[@]}"; do
        LIVE_ON="-i lo" live "$backend" "${programs[$backend]}" --backend "$backend" --format json -o "$tmp/$backend.json" --stats
    done
    server curl -sS http://127.0.0.1/ 'http://[::1]/' >/dev/null
    for backend in "${!programs[@]}"; do
        eventually "$backend: events of the last response" holds 2 '"event":"http_response"' "$tmp/$backend.json"
        stop "$backend"
    done
    sleep 0.3
    stop_recording_whole
    "${programs[packet]}" pcap -q --format json -o "$tmp/whole.json" "$tmp/whole.pcap"
    for backend in "${!programs[@]}"; do
        printf '%s: ' "$backend"
        python3 "$here/events.py" same "$tmp/whole.json" "$tmp/$backend.json"
    done
}

# holds N TEXT FILE: succeeds if exactly N lines of the file contain the text.
holds() { [ "$(grep -cF -- "$2" "$3" 2>/dev/null || true)" = "$1" ]; }

expression() {
    local backend
    recorded "$tmp/whole.pcap" hn-b tcp port 80 and not host $SERVER4
    for backend in "${!programs[@]}"; do
        live "filtered-$backend" "${programs[$backend]}" --format json -o "$tmp/filtered-$backend.json" --stats -- tcp port 80 and not host $SERVER4
    done
    some_traffic
    eventually "a quiet network" quiet
    sleep 0.3
    for backend in "${!programs[@]}"; do stop "filtered-$backend"; done
    stop_recording_whole
    "${programs[packet]}" pcap -q --format json -o "$tmp/whole.json" "$tmp/whole.pcap"
    for backend in "${!programs[@]}"; do
        python3 "$here/events.py" same "$tmp/whole.json" "$tmp/filtered-$backend.json"
        refused 2 expression "${programs[$backend]}" -i hn-b -- tcp port and
    done
}

# tcpdump behind socat, and tcpdump with a new file each second, which gzip compresses once it is complete: the sensors report the
# events of the recording.
streams() {
    local round
    install -d "$tmp/spool"
    recorded "$tmp/whole.pcap" hn-b
    server socat TCP-LISTEN:57012,reuseaddr,fork SYSTEM:"exec tcpdump -i hn-b -U -w - 2>/dev/null" &
    pids[socat]=$!
    server tcpdump -i hn-b -U -G 1 -z gzip -Z root -w "$tmp/spool/%s.pcap" 2>/dev/null &
    pids[rotating]=$!
    eventually "a sender" listens 57012
    LIVE_ON="-i tcp:127.0.0.1:57012" live tcp "${programs[packet]}" --format json -o "$tmp/tcp.json"
    LIVE_ON="-i file:$tmp/spool" live directory "${programs[packet]}" --format json -o "$tmp/directory.json"
    eventually "a tcpdump of socat" captures_twice
    for round in 1 2 3; do
        some_traffic
        sleep 1
    done
    eventually "a quiet network" quiet
    eventually "compressed files" has_compressed
    sleep 1
    stop tcp
    stop directory
    kill "${pids[socat]}" "${pids[rotating]}"
    stop_recording_whole
    "${programs[packet]}" pcap -q --format json -o "$tmp/whole.json" "$tmp/whole.pcap"
    python3 "$here/events.py" same "$tmp/whole.json" "$tmp/tcp.json"
    python3 "$here/events.py" same "$tmp/whole.json" "$tmp/directory.json"
}

listens() { [ -n "$(server ss -Hltn "sport = :$1")" ]; }

captures_twice() { [ "$(server sh -c 'grep -c . /proc/net/packet')" -ge 4 ]; }

has_compressed() { compgen -G "$tmp/spool/*.pcap.gz" >/dev/null; }

files() {
    local events=$tmp/files/events.json hosts=$tmp/files/hosts.json
    install -d -o nobody "$tmp/files"
    recorded "$tmp/whole.pcap" hn-b
    live files "${programs[packet]}" --format json -o "$events" --rotate-size 30k --stats --user nobody --hosts-file "$hosts"
    some_traffic
    replay --pps 2000 "$(capture http-tools.pcap)" "$(capture tls-curl.pcap)"
    # Rename, then SIGHUP, as logrotate does.
    eventually "events" test -s "$events"
    mv "$events" "$events.renamed"
    some_traffic
    kill -HUP "${pids[files]}"
    eventually "a new file" test -e "$events"
    replay --pps 2000 "$(capture http-tools.pcap)" "$(capture tls-curl.pcap)"
    kill -USR1 "${pids[files]}"
    eventually "host profiles" test -s "$hosts"
    some_traffic
    eventually "a quiet network" quiet
    sleep 0.3
    stop files
    stop_recording_whole
    "${programs[packet]}" pcap -q --format json -o "$tmp/whole.json" "$tmp/whole.pcap"
    python3 "$here/events.py" same "$tmp/whole.json" "$events"*
    jq -se 'any(.[]; .ip == "'$CLIENT4'")' "$hosts" >/dev/null || fail "no profile of the client: $(cat "$hosts")"
    [ "$(counted files '.output | .rotations >= 3 and .dropped_lines == 0')" = true ] || fail "rotations: $(counted files .output)"
    # The renamed file may be longer: the program writes to it until SIGHUP.
    [ -z "$(find "$tmp/files" -name 'events.json*Z*' -size +30k)" ] || fail "files longer than --rotate-size: $(ls -l "$tmp/files")"
}

ends() {
    local backend status
    for backend in "${!programs[@]}"; do
        : >"$tmp/pipe.err"
        {
            status=0
            server "${programs[$backend]}" live -i hn-b --backend "$backend" --format json 2>"$tmp/pipe.err" || status=$?
            echo $status >"$tmp/status"
        } | head -n 1 >"$tmp/first" &
        pids[pipe]=$!
        eventually "$backend into a pipe" watching pipe
        # `head` closes the pipe after the first line.
        eventually "exit after the pipe closed" fetched_until_gone pipe
        wait "${pids[pipe]}"
        unset 'pids[pipe]'
        eventually "exit status" test -s "$tmp/status"
        [ "$(cat "$tmp/status")" = 0 ] || fail "$backend into a closed pipe: exit status $(cat "$tmp/status"): $(cat "$tmp/pipe.err")"
        jq -e .event "$tmp/first" >/dev/null || fail "$backend into a pipe: $(cat "$tmp/first")"
        rm "$tmp/status"

        live counted "${programs[$backend]}" --backend "$backend" -c 5 --stats -o /dev/null
        fetch http://$SERVER4/
        ended counted 0
        [ "$(counted counted .frames)" = 5 ] || fail "$backend: --count 5 analysed $(counted counted .frames) packets"
    done
}

fetched_until_gone() {
    fetch http://$SERVER4/
    test -s "$tmp/status"
}

# refused STATUS TEXT PROGRAM ARGUMENT...: fails unless `live` exits at once with this status and an error that contains the
# text. STARTER, if set, is the command that starts it.
refused() {
    local status=0 wanted=$1 text=$2
    shift 2
    server timeout 10 ${STARTER:-} "$1" live "${@:2}" >/dev/null 2>"$tmp/refused.err" || status=$?
    [ $status = "$wanted" ] || fail "live ${*:2}: exit status $status, not $wanted: $(cat "$tmp/refused.err")"
    said refused "$text" || fail "live ${*:2}: no '$text' in the error: $(cat "$tmp/refused.err")"
}

refusals() {
    local backend program
    for backend in "${!programs[@]}"; do
        program=${programs[$backend]}
        refused 1 hn-none "$program" -i hn-none --backend "$backend"
        refused 1 hn-none "$program" -i hn-b -i hn-none --backend "$backend"
        refused 2 "no such user" "$program" -i hn-b --backend "$backend" --user hn-nobody
        refused 1 "install -d -o" "$program" -i hn-b --backend "$backend" --user nobody -o "$tmp/refused.json"
        STARTER="setpriv --reuid nobody --regid nogroup --clear-groups" \
            refused 1 "setcap cap_net_raw" "$program" -i hn-b --backend "$backend"
    done
    refused 1 metrics "${programs[packet]}" -i hn-b --metrics $SERVER4:80
}

rights() {
    local backend program
    for backend in "${!programs[@]}"; do
        program=${programs[$backend]}
        live rights "$program" --backend "$backend" -w 2 -o /dev/null --user nobody --metrics 127.0.0.1:0 --p0f-socket "$tmp/p0f.sock"
        no_rights rights "$(id -u nobody)"
        stop rights
        live rights "$program" --backend "$backend" -o /dev/null
        no_rights rights 0
        stop rights
        # With an ambient capability, as a service manager sets it.
        : >"$tmp/ambient.err"
        ip netns exec $SERVER_NS setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps +net_raw --ambient-caps +net_raw \
            "$program" live -i hn-b --backend "$backend" -o /dev/null 2>"$tmp/ambient.err" &
        pids[ambient]=$!
        eventually "start with one capability" watching ambient
        no_rights ambient "$(id -u nobody)"
        stop ambient
    done
}

# no_rights NAME UID: fails if a thread of the process has another user, a capability or the group root.
no_rights() {
    local status
    for status in /proc/"${pids[$1]}"/task/*/status; do
        awk -v uid="$2" '
            /^Uid:/ { seen++; for (i = 2; i <= 5; i++) if ($i != uid) wrong = wrong $0 "; " }
            /^Cap(Inh|Prm|Eff|Amb):/ { seen++; if ($2 !~ /^0+$/) wrong = wrong $0 "; " }
            /^NoNewPrivs:/ { seen++; if ($2 != 1) wrong = wrong $0 "; " }
            /^Groups:/ && uid != 0 { if ($2 ~ /^0$/) wrong = wrong $0 "; " }
            END { if (wrong != "" || seen != 6) { print wrong, seen; exit 1 } }' "$status" >"$tmp/rights" ||
            fail "$1: $status: $(cat "$tmp/rights")"
    done
}

# Replaces the folder of the events with a link to another folder in which the user may write, and sends SIGHUP. Only
# Landlock prevents the program from creating the file there; without Landlock it is created.
confinement() {
    local sandbox status
    live confined "${programs[packet]}" -v -o /dev/null --user nobody
    said confined "confined by Landlock" || { echo "the kernel has no Landlock: skipped"; stop confined; return; }
    stop confined
    for sandbox in "" --no-sandbox; do
        rm -rf "$tmp/inside" "$tmp/inside.was" "$tmp/outside"
        install -d -o nobody "$tmp/inside" "$tmp/outside"
        live confined "${programs[packet]}" --format json -o "$tmp/inside/events.json" --user nobody --stats $sandbox
        mv "$tmp/inside" "$tmp/inside.was"
        ln -s outside "$tmp/inside"
        kill -HUP "${pids[confined]}"
        if [ -n "$sandbox" ]; then
            eventually "a file outside, without Landlock" test -e "$tmp/outside/events.json"
            stop confined
        else
            eventually "an error" said confined "cannot be opened again"
            fetch http://$SERVER4/
            eventually "events go on in the old file" test -s "$tmp/inside.was/events.json"
            stop confined
            [ "$(counted confined .output.rotation_errors)" = 1 ] || fail "errors: $(counted confined .output)"
            [ ! -e "$tmp/outside/events.json" ] || fail "created a file that Landlock forbids"
        fi
    done
}

query_sockets() {
    local answer socket=$tmp/queried/p0f.sock
    install -d -o nobody "$tmp/queried"
    live queried "${programs[packet]}" --format json -o /dev/null --stats --user nobody --metrics 9101 --p0f-socket "$socket"
    some_traffic
    eventually "a quiet network" quiet
    server curl -sSf --max-time 5 http://127.0.0.1:9101/metrics >"$tmp/metrics"
    promtool check metrics <"$tmp/metrics" || fail "promtool: $(cat "$tmp/metrics")"
    [ "$(server curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:9101/other)" = 404 ] || fail "metrics: /other is not 404"
    [ "$(stat -c '%a %F' "$socket")" = "600 socket" ] || fail "p0f socket: $(stat -c '%a %F' "$socket")"
    answer=$(python3 "$here/p0f_query.py" "$socket" $CLIENT4 $SERVER6 192.0.2.77)
    stop queried
    [ "$(counted queried .frames)" = "$(sed -n 's/^huginn_net_frames_total //p' "$tmp/metrics")" ] ||
        fail "metrics: $(grep ^huginn_net_frames_total "$tmp/metrics"); counters: $(counted queried .frames)"
    [ "$answer" = "$(printf '%s\n' "$CLIENT4: Linux, curl" "$SERVER6: Linux, nginx" "192.0.2.77: unknown")" ] ||
        fail "p0f socket: $answer"
    [ ! -e "$socket" ] || fail "p0f socket: not removed"
}

# healthz WANTED: succeeds if /healthz of the sensor "healthy" answers with this status and text.
healthz() { [ "$(server curl -s --max-time 5 -w '%{http_code}' http://127.0.0.1:9102/healthz)" = "$1" ]; }

health() {
    spare_cable
    LIVE_ON="-i hn-d" live healthy "${programs[packet]}" --format json -o /dev/null --user nobody --metrics 9102
    eventually "health while the interface is up" healthz $'capturing\n200'
    ip -n $SERVER_NS link set hn-d down
    eventually "health while the interface is down" healthz $'no interface is up\n503'
    ip -n $SERVER_NS link set hn-d up
    eventually "health after its return" healthz $'capturing\n200'
    stop healthy
    ip -n $SERVER_NS link del hn-d
}

interfaces() {
    local backend
    for backend in "${!programs[@]}"; do
        spare_cable
        LIVE_ON="-i hn-b -i hn-d" live flapping "${programs[$backend]}" --backend "$backend" --format json -o "$tmp/flapping.json" \
            --stats --user "$(stat -c %U "$tmp")"
        answered 1
        ip -n $SERVER_NS link set hn-d down
        eventually "$backend: message that an interface is down" said flapping "hn-d: is down"
        fetch http://$SERVER4/up
        eventually "$backend: the other interface" holds 1 '"path":"/up"' "$tmp/flapping.json"
        ip -n $SERVER_NS link set hn-d up
        eventually "$backend: message of its return" said flapping "hn-d: is back"
        answered 2
        ip -n $SERVER_NS link del hn-d
        eventually "$backend: message that an interface vanished" said flapping "hn-d: has vanished"
        spare_cable
        if [ "$backend" = packet ]; then
            eventually "$backend: message of the return of a vanished interface" said_times 2 "hn-d: is back"
            answered 3
        else
            eventually "$backend: message about missing privileges" said flapping "hn-d: is there but cannot be opened"
        fi
        fetch http://$SERVER4/end
        eventually "$backend: the other interface" holds 1 '"path":"/end"' "$tmp/flapping.json"
        names_interface hn-b /end
        stop flapping
        rm "$tmp/flapping.json"
        ip -n $SERVER_NS link del hn-d
    done
}

# names_interface IFACE PATH: fails unless each request for the path names this interface.
names_interface() {
    jq -se --arg interface "$1" --arg path "$2" \
        '[.[] | select(.path == $path)] | length > 0 and all(.interface == $interface)' "$tmp/flapping.json" >/dev/null ||
        fail "requests for $2 do not name $1: $(grep -F "$2" "$tmp/flapping.json")"
}

# said_times N TEXT: succeeds if exactly N lines of standard error contain the text.
said_times() { holds "$1" "$2" "$tmp/flapping.err"; }

# Creates a second veth pair.
spare_cable() {
    ip link add hn-c netns $CLIENT_NS type veth peer name hn-d netns $SERVER_NS
    address $CLIENT_NS hn-c 198.51.100.1/24
    address $SERVER_NS hn-d 198.51.100.2/24
}

# answered N: sends a request over the spare veth pair and waits for the Nth event of this kind.
answered() {
    fetch "http://198.51.100.2/spare"
    eventually "request $1 over the spare cable" holds "$1" '"path":"/spare"' "$tmp/flapping.json"
    names_interface hn-d /spare
}

main "$@"
