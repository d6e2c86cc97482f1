#!/usr/bin/env bash
# Measures the packet rate of `huginn-net live` on an interface: rates.sh PROGRAM [PROGRAM-WITH-LIBPCAP]
#
#   RATES     offered packets/s; 'top' is the maximum of tcpreplay, 'halt' the same while the program is stopped, so that the
#             kernel must drop (default: 50000 100000 200000 400000 top halt)
#   TIME      seconds of each rate (default: 5)
#   CAPTURE   the capture that is repeated; by default all captures of this project (needs cargo)
#
# Runs as root. Prints a table, which includes tcpdump and p0f. Fails if a packet is unaccounted for: packets that arrived, by
# the interface's counters, must equal those received plus those that the kernel dropped; received must equal analysed; each
# event must be written or counted as dropped. Sender and sensor share the machine, and on a veth pair the kernel's part of
# receiving counts as time of the sender.
set -euo pipefail

readonly PACKAGES="curl iproute2 jq p0f procps python3 tcpdump tcpreplay"
readonly PROGRAMS="curl ip jq p0f sysctl tcpdump tcpreplay"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/namespaces.sh"

[ $# -ge 1 ] || fail "which program? rates.sh PROGRAM [PROGRAM-WITH-LIBPCAP]"
packet=$(realpath "$1") libpcap=${2:+$(realpath "$2")}
rates=${RATES:-50000 100000 200000 400000 top halt} duration=${TIME:-5} capture=${CAPTURE:-}
# Capture buffer of each tool, and length of the made capture, in MiB.
readonly BUFFER=32 MEGABYTES=200

main() {
    local rate workers
    setup
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

# Creates a veth pair for frames of any length, without addresses, so that nothing replies.
cable() {
    lab_up 65535
    both sysctl -qw net.ipv6.conf.all.disable_ipv6=1
    ip -n $CLIENT_NS addr flush dev hn-a
    ip -n $SERVER_NS addr flush dev hn-b
}

make_capture() {
    capture=$tmp/all.pcap
    (cd "$here/../.." && cargo run --quiet --release -p huginn-net-benches --features tools --example big_capture -- "$capture" $MEGABYTES >/dev/null)
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
    # Packets lost on the veth pair never arrived at the interface.
    [ $((arrived + lost)) = "$sent" ] || fail "$sent packets sent, $arrived arrived, $lost lost on the veth pair"
    "end_$tool" "$arrived"
    row "${results[0]}" "$rate" "$(sed -n 's/^Rated:.*, \([0-9]*\)[.0-9]* pps$/\1/p' "$tmp/tcpreplay.out")" "$arrived" \
        "${results[1]}" "${results[2]}" "${results[3]}" "${results[4]}" "${results[5]}" "$((cpu * 100 / took)) %" "${results[6]}" "${results[7]}"
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

# cpu_of PID: prints the CPU time of all threads, user and system, in hundredths of a second.
cpu_of() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

# Results of one tool: name, seen, dropped by the kernel, dropped by queues (segments), events, unwritten events, latencies.
results=()

start_ours() {
    local program=$1 backend=$2 workers=$3
    results=("huginn-net, $backend, -w $workers")
    live tool "$program" --backend "$backend" -w "$workers" --buffer $BUFFER --format json -o "$tmp/events.json" --stats \
        --metrics 9101
}

# caught_up_ours BEFORE: succeeds if every packet that arrived since BEFORE is received or dropped.
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
    [ -z "$checks" ] || fail "${results[0]}: $checks"
    [ "$(wc -l <"$tmp/events.json")" = "$(counted tool .output.written_lines)" ] || fail "${results[0]}: lines in the file"
    rm "$tmp/events.json"
    mapfile -t -O 1 results < <(counted tool '.capture["hn-b"].received, .capture["hn-b"].kernel_dropped, .segments_dropped, .events,
        .output.dropped_lines, (.latency | .capture_to_event_us, .own_us | "\(.p50), \(.p99) us")')
}

start_tcpdump() {
    results=("tcpdump -w /dev/null")
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
    results+=("$seen" "$dropped" "" "" "" "" "")
}

start_p0f() {
    results=("p0f -i")
    : >"$tmp/tool.err"
    rm -f "$tmp/p0f.log"
    ip netns exec $SERVER_NS stdbuf -oL p0f -i hn-b -p -f "$tmp/database.fp" -o "$tmp/p0f.log" >"$tmp/tool.err" 2>&1 &
    pids[tool]=$!
    eventually "p0f" said tool "Entered main event loop"
}

caught_up_p0f() { idle; }

# p0f reports no drops; they are the packets that it did not see.
end_p0f() {
    local seen
    stop tool INT
    seen=$(sed -n 's/.*Processed \([0-9]*\) packets.*/\1/p' "$tmp/tool.err")
    results+=("$seen" "$(($1 - seen))" "" "$(wc -l <"$tmp/p0f.log")" "" "" "")
}

# idle: succeeds if the tool used no CPU time for 0.5 s.
idle() {
    local before
    before=$(cpu_of "${pids[tool]}")
    sleep 0.5
    [ "$(cpu_of "${pids[tool]}")" = "$before" ]
}

main
