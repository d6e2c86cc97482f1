#!/usr/bin/env bash
# Takes the screenshots of this folder from the captures of the project.
#
# usage: docs/images/record.sh PROGRAM
#
# Needs aha, chromium, poppler-utils and tmux.
set -euo pipefail

program=$(realpath "$1")
cd "$(dirname "$0")"
images=$PWD
folder=$(mktemp -d)
trap 'tmux kill-session -t images 2>/dev/null || true; rm -rf "$folder"' EXIT

# browse OPTION... PAGE: runs Chromium with the page.
browse() {
    chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" "${@:1:$#-1}" \
        "file://${*: -1}" 2>"$folder/log" || { cat "$folder/log" >&2 && return 1; }
}

# picture NAME SIZE: turns a screen with escape sequences into a picture.
picture() {
    aha --black --title "$1" >"$folder/$1.html"
    sed -i 's/<pre>/<pre style="font:14px\/1.3 \x27DejaVu Sans Mono\x27,monospace;margin:10px">/' "$folder/$1.html"
    browse --window-size="$2" --screenshot="$images/$1.png" "$folder/$1.html"
}

cd ../../captures
"$program" report -q . -o "$folder/report.html" --title "Recorded programs"
# 0 is dark, 1 is light.
browse --window-size=1280,1150 --blink-settings=preferredColorScheme=1 --screenshot="$images/report-light.png" \
    "$folder/report.html"
browse --window-size=1280,1150 --blink-settings=preferredColorScheme=0 --screenshot="$images/report-dark.png" \
    "$folder/report.html"
browse --no-pdf-header-footer --print-to-pdf="$folder/report.pdf" "$folder/report.html"
pdftoppm -png -r 70 -f 1 -l 1 -singlefile "$folder/report.pdf" "$images/report-print"

"$program" pcap --color always tls/tls-clients/*.pcap http/http-imitation/*.pcap | tail -n 34 | picture first-screen 1480,650

tmux new-session -d -s images -x 150 -y 38 "$program top . 2>/dev/null"
sleep 3
tmux send-keys -t images Tab
sleep 1
tmux capture-pane -e -p -t images | picture terminal-view 1290,740
ls -l "$images"
