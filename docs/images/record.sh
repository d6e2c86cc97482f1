#!/usr/bin/env bash
# Takes the screenshots of this folder from the captures of the project.
#
# usage: docs/images/record.sh PROGRAM
#
# Needs aha, chromium, imagemagick, poppler-utils and tmux.
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
"$program" report -q http/http-imitation tcp/nmap-syn tls/tls-clients tls/tls-curl -o "$folder/report.html" --title "Recorded programs"

# report NAME THEME SIZE FRAGMENT: a screen of the report. Theme 0 is dark, 1 is light.
report() {
    browse --window-size="$3" --blink-settings=preferredColorScheme="$2" --virtual-time-budget=2000 \
        --screenshot="$images/report-$1.png" "$folder/report.html$4"
}

report light 1 1280,1100 ""
report dark 0 1280,1100 "#host=192.0.2.2"
report narrow 1 640,1100 "#hosts"
report wide 0 1920,900 "#hosts"
browse --no-pdf-header-footer --print-to-pdf="$folder/report.pdf" "$folder/report.html"
pdftoppm -png -r 70 -f 1 -l 1 -singlefile "$folder/report.pdf" "$images/report-print"
# 64 colours are enough for text.
for image in "$images"/report-*.png; do
    convert "$image" -strip -dither None -colors 64 "PNG8:$image"
done

"$program" pcap --color always tls/tls-clients/*.pcap http/http-imitation/*.pcap | tail -n 34 | picture first-screen 1480,650

tmux new-session -d -s images -x 150 -y 38 "$program top . 2>/dev/null"
sleep 3
tmux send-keys -t images Tab
sleep 1
tmux capture-pane -e -p -t images | picture terminal-view 1290,740
ls -l "$images"
