#!/usr/bin/env bash
# Measures how many packets a second `huginn-net live` takes from an interface: rates.sh PROGRAM [PROGRAM-WITH-LIBPCAP]
#
#   RATES     packets/s that are offered; 'top' is all that tcpreplay can send, 'halt' as much for a program that is halted
#             meanwhile, so that the kernel must drop (default: 50000 100000 200000 400000 top halt)
#   TIME      for how many seconds each (default: 5)
#   CAPTURE   what is sent, over and over; without one it is made of all captures of this project (needs cargo)
#
# As root. Prints a table, for tcpdump and p0f too. Fails where a packet is not accounted for: what arrived at the interface,
# by its own counters, must be what was received and what the kernel dropped; what was received must be what was analysed;
# and each event written or counted as dropped. Sender and sensor share the machine, and the kernel's part of receiving
# over such a cable is the sender's time.
set -euo pipefail

readonly PACKAGES="curl iproute2 jq p0f procps python3 tcpdump tcpreplay"
readonly PROGRAMS="curl ip jq p0f sysctl tcpdump tcpreplay"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/laboratory.sh"

[ $# -ge 1 ] || fail "which program? rates.sh PROGRAM [PROGRAM-WITH-LIBPCAP]"
packet=$(realpath "$1") libpcap=${2:+$(realpath "$2")}
rates=${RATES:-50000 100000 200000 400000 top halt} duration=${TIME:-5} capture=${CAPTURE:-}
# As much for each tool, in MiB.
readonly BUFFER=32 MEGABYTES=200

main() {
    local rate workers
    laboratory
    cable
    [ -n "$capture" ] || make_capture
    cat "$here"/../../huginn-net-db/signatures/*.fp >"$tmp/database.fp"
    echo "$(nproc) processors; $(basename "$capture"); $duration s each; buffers of $BUFFER MiB"
    row program offered sent/s arrived seen kernel queue events unwritten CPU capture-to-event own
    row --- --: --: --: --: --: --: --: --: --: --: --:
    for rate in $rates; do
        measure "$rate" tcpdump
        measure "$rate" p0f
        for workers in 1 2; do
            measure "$rate" ours "$packet" packet $workers
            [ -z "$libpcap" ] || measure "$rate" ours "$libpcap" libpcap $workers
        done
    done
}

row() { printf '| %s |\n' "$(printf '%s | ' "${@:1:$#-1}")${*: -1}"; }

# A cable for frames of any length, at whose ends nobody lives who would answer.
cable() {
    lab_up 65535
    both sysctl -qw net.ipv6.conf.all.disable_ipv6=1
    ip -n $CLIENT_NS addr flush dev hn-a
    ip -n $SERVER_NS addr flush dev hn-b
}

make_capture() {
    capture=$tmp/all.pcap
    (cd "$here/../.." && cargo run --quiet --release --manifest-path benches/Cargo.toml --example big_capture -- "$capture" $MEGABYTES >/dev/null)
}

# measure RATE TOOL [ARGUMENT...]: one row of the table.
measure() {
    local rate=$1 tool=$2 before_rx before_lost sent arrived lost cpu took
    shift 2
    "start_$tool" "$@"
    before_rx=$(arrived_so_far) before_lost=$(lost_on_the_cable)
    cpu=$(cpu_of "${pids[tool]}") took=$(date +%s%N)
    send "$rate"
    eventually "$tool: all packets are accounted for" "caught_up_$tool" "$before_rx"
    cpu=$((($(cpu_of "${pids[tool]}") - cpu) * 10)) took=$((($(date +%s%N) - took) / 1000000))
    arrived=$(($(arrived_so_far) - before_rx)) lost=$(($(lost_on_the_cable) - before_lost))
    sent=$(sed -n 's/^[[:space:]]*Successful packets:[[:space:]]*//p' "$tmp/tcpreplay.out")
    # Not more: the rest never came to the interface.
    [ $((arrived + lost)) = "$sent" ] || fail "$sent packets sent, $arrived arrived, $lost lost between"
    "end_$tool" "$arrived"
    row "${told[0]}" "$rate" "$(sed -n 's/^Rated:.*, \([0-9]*\)[.0-9]* pps$/\1/p' "$tmp/tcpreplay.out")" "$arrived" \
        "${told[1]}" "${told[2]}" "${told[3]}" "${told[4]}" "${told[5]}" "$((cpu * 100 / took)) %" "${told[6]}" "${told[7]}"
}

send() {
    local rate
    case $1 in
    top) rate=(--topspeed --duration "$duration") ;;
    halt) rate=(--topspeed --limit 300000) ;;
    *) rate=(--pps "$1" --limit $(($1 * duration))) ;;
    esac
    [ "$1" != halt ] || kill -STOP "${pids[tool]}"
    client tcpreplay -q -K --loop 0 "${rate[@]}" -i hn-a "$capture" >"$tmp/tcpreplay.out" 2>"$tmp/tcpreplay.err" ||
        fail "tcpreplay: $(cat "$tmp/tcpreplay.err")"
    [ "$1" != halt ] || kill -CONT "${pids[tool]}"
}

arrived_so_far() { ip -n $SERVER_NS -j -s link show hn-b | jq '.[0].stats64.rx.packets'; }
lost_on_the_cable() { ip -n $CLIENT_NS -j -s link show hn-a | jq '.[0].stats64.tx.dropped'; }

# cpu_of PID: hundredths of a second of all its threads, in user and in kernel mode.
cpu_of() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

# What each tool told: name, seen, dropped by the kernel, by queues (segments), events, events not written, latencies.
told=()

start_ours() {
    local program=$1 backend=$2 workers=$3
    told=("huginn-net, $backend, -w $workers")
    live tool "$program" --backend "$backend" -w "$workers" --buffer $BUFFER --format json -o "$tmp/events.json" --stats \
        --metrics 9101
}

# caught_up_ours BEFORE: all that arrived since is received or dropped.
caught_up_ours() {
    server curl -sS --max-time 5 http://127.0.0.1:9101/metrics >"$tmp/metrics" || fail "no metrics"
    [ "$(awk '/^huginn_net_capture_(received|kernel_dropped)_total\{/ { sum += $2 } END { print sum }' "$tmp/metrics")" = \
        $(($(arrived_so_far) - $1)) ]
}

end_ours() {
    local checks
    stop tool
    checks=$(counted tool '.capture["hn-b"] as $c | [
        (if $c.received + $c.kernel_dropped != '"$1"' then "\($c.received) received, \($c.kernel_dropped) dropped of '"$1"'" else empty end),
        (if .frames != $c.received then "\($c.received) received, \(.frames) analysed" else empty end),
        (if .events != .output.written_lines + .output.dropped_lines then "\(.events) events, \(.output)" else empty end)
    ] | join("; ")')
    [ -z "$checks" ] || fail "${told[0]}: $checks"
    [ "$(wc -l <"$tmp/events.json")" = "$(counted tool .output.written_lines)" ] || fail "${told[0]}: lines in the file"
    rm "$tmp/events.json"
    mapfile -t -O 1 told < <(counted tool '.capture["hn-b"].received, .capture["hn-b"].kernel_dropped, .segments_dropped, .events,
        .output.dropped_lines, (.latency | .capture_to_event_us, .own_us | "\(.p50), \(.p99) us")')
}

start_tcpdump() {
    told=("tcpdump -w /dev/null")
    : >"$tmp/tool.err"
    ip netns exec $SERVER_NS tcpdump -i hn-b -n -B $((BUFFER * 1024)) -Z root -w /dev/null 2>"$tmp/tool.err" &
    pids[tool]=$!
    eventually "tcpdump" said tool "listening on"
}

caught_up_tcpdump() { idle; }

end_tcpdump() {
    local seen dropped
    stop tool INT
    seen=$(sed -n 's/^\([0-9]*\) packets\{0,1\} captured/\1/p' "$tmp/tool.err")
    dropped=$(sed -n 's/^\([0-9]*\) packets\{0,1\} dropped by kernel/\1/p' "$tmp/tool.err")
    told+=("$seen" "$dropped" "" "" "" "" "")
}

start_p0f() {
    told=("p0f -i")
    : >"$tmp/tool.err"
    rm -f "$tmp/p0f.log"
    ip netns exec $SERVER_NS stdbuf -oL p0f -i hn-b -p -f "$tmp/database.fp" -o "$tmp/p0f.log" >"$tmp/tool.err" 2>&1 &
    pids[tool]=$!
    eventually "p0f" said tool "Entered main event loop"
}

caught_up_p0f() { idle; }

# p0f does not tell of drops: what it did not see was.
end_p0f() {
    local seen
    stop tool INT
    seen=$(sed -n 's/.*Processed \([0-9]*\) packets.*/\1/p' "$tmp/tool.err")
    told+=("$seen" "$(($1 - seen))" "" "$(wc -l <"$tmp/p0f.log")" "" "" "")
}

# idle: it has nothing to do any more.
idle() {
    local before
    before=$(cpu_of "${pids[tool]}")
    sleep 0.5
    [ "$(cpu_of "${pids[tool]}")" = "$before" ]
}

main
