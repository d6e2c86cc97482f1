#!/usr/bin/env bash
# Takes the screenshots of this folder from the captures of the project.
#
# usage: docs/images/record.sh PROGRAM
#
# Needs aha, chromium, Pillow, python3 and tmux.
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

python3 - "$folder" "$images" ../ci <<'END'
import base64
import io
import sys
from pathlib import Path

from PIL import Image

folder, images, checks = map(Path, sys.argv[1:])
sys.dont_write_bytecode = True
sys.path.insert(0, str(checks))
from report import Browser

SCREENS = {
    "light": ("screen", "light", 1280, 1100, ""),
    "dark": ("screen", "dark", 1280, 1100, "#host=192.0.2.2"),
    "narrow": ("screen", "light", 640, 1100, "#host=192.0.2.2"),
    "wide": ("screen", "dark", 1920, 900, "#q=192.0.2"),
    "print": ("print", "light", 800, 1100, ""),
}
with Browser(folder) as browser:
    for name, (media, theme, width, height, fragment) in SCREENS.items():
        tab = browser.open(folder / "report.html")
        tab.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": theme}])
        tab.resize(width, height)
        tab.run(f"location.hash = '{fragment}'")
        tab.run("new Promise((done) => setTimeout(done, 300))")
        shot = tab.call("Page.captureScreenshot", format="png")
        # 48 colours are enough for text.
        image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
        image.quantize(48, dither=Image.Dither.NONE).save(images / f"report-{name}.png", optimize=True)
        tab.close()
END

"$program" pcap --color always tls/tls-clients/*.pcap http/http-imitation/*.pcap | tail -n 34 | picture first-screen 1480,650

tmux new-session -d -s images -x 150 -y 38 "$program top . 2>/dev/null"
sleep 3
tmux send-keys -t images Tab
sleep 1
tmux capture-pane -e -p -t images | picture terminal-view 1290,740
ls -l "$images"
