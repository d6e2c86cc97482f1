# Shared by end-to-end.sh, rates.sh, long-run.sh and ../hostile/faults.sh, which source it and set the shell's options: the network namespaces of
# captures/tools/lab.sh, `huginn-net live` in them, and functions that wait for conditions.

export PYTHONDONTWRITEBYTECODE=1
LAB=${LAB:-live-$$} # two scripts never share namespaces
. "$here/../../captures/tools/layout.sh"
. "$captures/tools/lab.sh"

# Timeout of every condition, in seconds.
readonly WAIT_TIMEOUT=${WAIT_TIMEOUT:-20}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# part NAME COMMAND...: a heading, the command, and its time.
part() {
    local begin=$SECONDS
    echo "== $1"
    shift
    "$@"
    echo "   $((SECONDS - begin)) s"
}

# setup: prepares the temporary folder and the cleanup at exit, which copies the files of a failed run to the folder KEEP,
# if it is set.
setup() {
    lab_start
    trap 'cleanup $?' EXIT
    chmod 755 "$tmp" # for programs that drop root's privileges
}

cleanup() {
    trap - EXIT
    lab_down
    [ "$1" = 0 ] || [ -z "${KEEP:-}" ] || cp -r "$tmp/." "$KEEP"
    rm -rf "$tmp"
    exit "$1"
}

# eventually CONDITION COMMAND...: waits until the command succeeds. CONDITION names it in the error.
eventually() {
    local condition=$1 until=$((SECONDS + WAIT_TIMEOUT))
    shift
    until "$@"; do
        [ $SECONDS -lt $until ] || fail "timeout after $WAIT_TIMEOUT s: $condition"
        sleep 0.05
    done
}

# live NAME PROGRAM ARGUMENT...: starts `huginn-net live` on the server's interface, or on those of LIVE_ON (arguments
# -i ...). Stores its process ID in ${pids[NAME]} and its standard error in $tmp/NAME.err.
declare -A pids=()
live() {
    local name=$1 program=$2
    shift 2
    : >"$tmp/$name.err"
    ip netns exec "$SERVER_NS" "$program" live ${LIVE_ON--i hn-b} "$@" 2>"$tmp/$name.err" &
    pids[$name]=$!
    eventually "$name: watching" watching "$name"
}

watching() {
    grep -q '^huginn-net: watching' "$tmp/$1.err" && return
    kill -0 "${pids[$1]}" 2>/dev/null || fail "$1: $(cat "$tmp/$1.err")"
    return 1
}

# stop NAME [SIGNAL [STATUS]]: sends the signal; fails unless the process exits in time with this status.
stop() {
    local name=$1 status=0
    kill "-${2:-TERM}" "${pids[$name]}"
    ended "$name" "${3:-0}"
}

# ended NAME STATUS: waits until the process exits; fails if its exit status differs.
ended() {
    local status=0
    eventually "$1: exit" gone "${pids[$1]}"
    wait "${pids[$1]}" || status=$?
    unset "pids[$1]"
    [ $status = "$2" ] || fail "$1: exit status $status, not $2: $(tail -n 3 "$tmp/$1.err")"
}

gone() { ! grep -q '^State:[[:space:]]*[^Z]' "/proc/$1/status" 2>/dev/null; }

# counted NAME FILTER: applies the jq filter to the last counters that the process wrote.
counted() { grep '"event":"counters"' "$tmp/$1.err" | tail -n 1 | jq -r "$2"; }

# said NAME TEXT: succeeds if standard error of the process contains the text.
said() { grep -qF -- "$2" "$tmp/$1.err"; }

# crossed: prints the number of packets that crossed the server's interface, in both directions.
crossed() {
    ip -n "$SERVER_NS" -j -s link show "${1:-hn-b}" | jq '.[0].stats64 | .rx.packets + .tx.packets'
}

# quiet: succeeds if no packet crosses the interface for 0.3 s.
quiet() {
    local before
    before=$(crossed)
    sleep 0.3
    [ "$(crossed)" = "$before" ]
}

# Creates two namespaces and a veth pair without background traffic: neighbour entries are static, and IPv6 sends no router
# solicitations and generates no addresses.
cable_up() {
    local ns interface
    lab_up "$@"
    for ns in "$CLIENT_NS hn-a" "$SERVER_NS hn-b"; do
        interface=${ns#* } ns=${ns% *}
        ip netns exec "$ns" sysctl -qw net.ipv6.conf.$interface.keep_addr_on_down=1 \
            net.ipv6.conf.$interface.router_solicitations=0
        ip -n "$ns" link set "$interface" addrgenmode none
    done
    neighbours
}

# neighbours: sets the neighbour entries, which an interface loses when it goes down.
neighbours() {
    ip -n "$CLIENT_NS" neigh replace $SERVER4 lladdr $SERVER_MAC dev hn-a
    ip -n "$CLIENT_NS" neigh replace $SERVER6 lladdr $SERVER_MAC dev hn-a
    ip -n "$SERVER_NS" neigh replace $CLIENT4 lladdr $CLIENT_MAC dev hn-b
    ip -n "$SERVER_NS" neigh replace $CLIENT6 lladdr $CLIENT_MAC dev hn-b
}

# recorded FILE INTERFACE [ARGUMENT...]: records an interface of the server with tcpdump.
recorded() {
    local file=$1 interface=$2
    shift 2
    record "$file" "$SERVER_NS" "$interface" -n -s 0 -B 65536 --time-stamp-precision=nano "$@"
}

# stop_recording_whole: stops tcpdump; fails if its counters show a dropped packet.
stop_recording_whole() {
    kill "${recorders[@]}"
    wait "${recorders[@]}"
    recorders=()
    grep -q '^0 packets dropped by kernel' "$tmp/tcpdump.err" || fail "tcpdump lost packets: $(cat "$tmp/tcpdump.err")"
}
