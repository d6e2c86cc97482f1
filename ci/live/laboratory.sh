# What end-to-end.sh, rates.sh and long-run.sh share: the laboratory of captures/, `huginn-net live` in it, and what waits
# for conditions. Sourced by them, as the shell's options are theirs.

export PYTHONDONTWRITEBYTECODE=1
LAB=${LAB:-live-$$} # the namespaces of two scripts never meet
. "$here/../../captures/tools/layout.sh"
. "$captures/tools/lab.sh"

# How long anything is waited for, in seconds.
readonly PATIENCE=${PATIENCE:-20}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# laboratory: begins. Whatever happens it is cleaned up; the files of a run that failed go to the folder KEEP, if one is set.
laboratory() {
    lab_start
    trap 'finished $?' EXIT
    chmod 755 "$tmp" # for programs that gave up root's rights
}

finished() {
    trap - EXIT
    lab_down
    [ "$1" = 0 ] || [ -z "${KEEP:-}" ] || cp -r "$tmp/." "$KEEP"
    rm -rf "$tmp"
    exit "$1"
}

# eventually WHAT COMMAND...: waits until the command succeeds.
eventually() {
    local what=$1 until=$((SECONDS + PATIENCE))
    shift
    until "$@"; do
        [ $SECONDS -lt $until ] || fail "in vain waited for $PATIENCE s: $what"
        sleep 0.05
    done
}

# live NAME PROGRAM ARGUMENT...: watches the server's interface, or what LIVE_ON says (arguments -i ...). Its process is
# ${pids[NAME]}, what it says $tmp/NAME.err.
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

# stop NAME [SIGNAL [STATUS]]: ends it, in time and with this exit status.
stop() {
    local name=$1 status=0
    kill "-${2:-TERM}" "${pids[$name]}"
    ended "$name" "${3:-0}"
}

# ended NAME STATUS: waits for its end.
ended() {
    local status=0
    eventually "$1: its end" gone "${pids[$1]}"
    wait "${pids[$1]}" || status=$?
    unset "pids[$1]"
    [ $status = "$2" ] || fail "$1: exit status $status, not $2: $(tail -n 3 "$tmp/$1.err")"
}

gone() { ! grep -q '^State:[[:space:]]*[^Z]' "/proc/$1/status" 2>/dev/null; }

# counted NAME FILTER: of the counters that it wrote last, what jq finds.
counted() { grep '"event":"counters"' "$tmp/$1.err" | tail -n 1 | jq -r "$2"; }

# said NAME TEXT: it has said so.
said() { grep -qF -- "$2" "$tmp/$1.err"; }

# crossed: how many packets crossed the server's interface, both ways.
crossed() {
    ip -n "$SERVER_NS" -j -s link show "${1:-hn-b}" | jq '.[0].stats64 | .rx.packets + .tx.packets'
}

# quiet: nothing crosses it.
quiet() {
    local before
    before=$(crossed)
    sleep 0.3
    [ "$(crossed)" = "$before" ]
}

# Two namespaces and a cable, on which nothing is sent that was not asked for: neighbours are known, and IPv6 neither looks
# for routers nor makes addresses of its own.
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

# neighbours: whom an interface forgets when it goes down.
neighbours() {
    ip -n "$CLIENT_NS" neigh replace $SERVER4 lladdr $SERVER_MAC dev hn-a
    ip -n "$CLIENT_NS" neigh replace $SERVER6 lladdr $SERVER_MAC dev hn-a
    ip -n "$SERVER_NS" neigh replace $CLIENT4 lladdr $CLIENT_MAC dev hn-b
    ip -n "$SERVER_NS" neigh replace $CLIENT6 lladdr $CLIENT_MAC dev hn-b
}

# recorded FILE INTERFACE [ARGUMENT...]: tcpdump records what crosses an interface of the server.
recorded() {
    local file=$1 interface=$2
    shift 2
    record "$file" "$SERVER_NS" "$interface" -n -s 0 -B 65536 --time-stamp-precision=nano "$@"
}

# stop_recording_whole: ends tcpdump when it has written all, which its own counters must confirm.
stop_recording_whole() {
    kill "${recorders[@]}"
    wait "${recorders[@]}"
    recorders=()
    grep -q '^0 packets dropped by kernel' "$tmp/tcpdump.err" || fail "tcpdump lost packets: $(cat "$tmp/tcpdump.err")"
}
