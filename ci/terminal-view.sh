#!/usr/bin/env bash
# Runs the terminal view under tmux: `top` with captures, `live --tui` with requests over the loopback interface.
#
# usage: ci/terminal-view.sh PROGRAM
#
# Needs tmux, curl, python3 and the right to capture.
set -euo pipefail

program=$(realpath "$1")
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
readonly program folder
readonly SESSION="huginn-net-$$"
server=

cleanup() {
    tmux kill-session -t "=$SESSION" 2>/dev/null || true
    tmux kill-session -t "$SESSION-keeper" 2>/dev/null || true
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT
# Without a session, tmux's server would end, and might do so while the next session starts.
tmux new-session -d -s "$SESSION-keeper" "sleep 600"

# begin COMMAND: runs it in a terminal of 120 x 36, and prints its status and whether the terminal is as before.
begin() {
    tmux kill-session -t "=$SESSION" 2>/dev/null || true
    tmux new-session -d -s "$SESSION" -x 120 -y 36 \
        "bash -c '$1; echo status \$?; stty -a | grep -o \"[-]\\?icanon\"; sleep 60'"
}

screen() {
    tmux capture-pane -p -t "$SESSION"
}

# expect TEXT: waits until the screen has it.
expect() {
    local _
    for _ in $(seq 100); do
        if screen | grep -F -- "$1" >/dev/null; then
            echo "screen has '$1'"
            return
        fi
        sleep 0.1
    done
    echo "the screen does not have '$1':" >&2
    screen >&2
    return 1
}

# press KEY...
press() {
    tmux send-keys -t "$SESSION" "$@"
}

check_top() {
    begin "$program top captures/tls/tls-curl/tls-curl.pcap captures/tcp/curl-nginx/curl-nginx.pcap"
    expect "huginn-net 2 captures  ended"
    expect "libcurl 7.88 and older"
    expect "nginx"
    expect "lost:  flow table 0  host table 0"
    expect "most events first"
    press s
    expect "latest first"
    press '?'
    expect "Any key closes this help."
    press x
    press / n g i n x Enter
    expect "hosts: 1,"
    press Enter
    expect "host 192.0.2.2"
    expect "software    nginx"
    press Escape
    expect "hosts: 1,"
    press Escape
    expect "hosts: 4,"
    press Tab
    expect "alerts: none"
    press Tab Tab z Enter
    expect "connection 192.0.2.1:"
    press Escape
    expect "events, the newest first"
    press z
    press p
    expect "paused"
    tmux resize-window -t "$SESSION" -x 40 -y 10
    expect "huginn-net 2 captures"
    press q
    expect "status 0"
    expect "icanon"
    if screen | grep -F -- "-icanon" >/dev/null; then
        echo "the terminal is still in raw mode" >&2
        return 1
    fi
}

# The panel of alerts, and an alert among the details of its host.
check_alerts() {
    begin "$program top captures/tcp/nmap-scan/nmap-scan.pcap"
    expect "alerts: 1, worst first"
    press Tab Enter
    expect "alert       medium: tool: Nmap SYN scan: 20 SYNs"
    press Escape
    press q
    expect "status 0"
}

# The view also ends with a signal, and with a capture that never ends.
check_signal() {
    begin "$program top - < <(cat captures/tls/tls-curl/tls-curl.pcap; sleep 60)"
    expect "libcurl 7.88 and older"
    pkill -TERM -f "^$program top -"
    expect "status 130"
    expect "icanon"
}

check_damaged() {
    head -c 11000 captures/tls/tls-curl/tls-curl.pcap >"$folder/cut.pcap"
    begin "$program top $folder/cut.pcap"
    expect "libcurl 7.88 and older"
    expect "cut.pcap: packet"
    press q
    expect "status 1"
    expect "huginn-net: $folder/cut.pcap: packet"
}

check_live() {
    mkdir "$folder/www"
    (cd "$folder/www" && exec python3 -m http.server --bind 127.0.0.1 18080 >/dev/null 2>&1) &
    server=$!
    begin "$program live -i lo --port 18080 --tui --format json -o $folder/events.json"
    expect "huginn-net lo"
    curl -s --retry 20 --retry-connrefused -o "$folder/page" http://127.0.0.1:18080/
    expect "127.0.0.1"
    expect "curl"
    expect "interface 0  kernel 0  workers 0"
    [ "$(screen | head -n 1)" = "huginn-net lo" ]
    press C-c
    expect "status 0"
    expect "icanon"
    grep -q '"event":"http_request"' "$folder/events.json"
}

check_refusal() {
    local status=0
    "$program" top captures/tls/tls-curl/tls-curl.pcap </dev/null | cat || status=$?
    if [ "$status" != 2 ]; then
        echo "without a terminal: status $status, expected 2" >&2
        return 1
    fi
}

check_top
check_alerts
check_signal
check_damaged
check_live
check_refusal
echo "terminal view: all as expected"
