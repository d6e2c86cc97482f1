#!/usr/bin/env python3
"""Opens reports in Chromium and compares what they show with the program's JSON.

usage: ci/report.py PROGRAM [CAPTURE_OR_DIRECTORY]...

Without captures those of the project are read. Fails if a number differs, if the browser logs a message (an error of the
script, or a request or script that the content security policy blocked), or if a text from a packet became an element.
"""
import html.parser
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Texts of packets in two captures, and markup of the same length.
HOSTILE = {
    "tls/tls-curl/tls-curl.pcap": {b"www.example.test": b"<img src=x id=y>"},
    "tcp/curl-nginx/curl-nginx.pcap": {b"curl/7.88.1": b"<b id=pwn>&", b"nginx/1.22.1": b"</script><i>"},
}


class Page(html.parser.HTMLParser):
    """Counts elements of a page: all by name, and rows and list items by the element with an ID that they are in."""

    def __init__(self, text):
        super().__init__()
        self.elements = {}
        self.rows = {}
        self.ids = []
        self.text = []
        self.stack = []
        self.feed(text)

    def handle_starttag(self, name, attributes):
        attributes = dict(attributes)
        self.elements[name] = self.elements.get(name, 0) + 1
        self.ids.append(attributes.get("id"))
        self.stack.append((name, attributes.get("id"), attributes.get("class")))
        places = {place for _, place, _ in self.stack if place}
        kind = f"{name}.{attributes['class']}" if attributes.get("class") else name
        for place in places:
            self.rows[place, kind] = self.rows.get((place, kind), 0) + 1
        if name in ("meta", "link", "input", "br", "img", "path", "rect"):
            self.stack.pop()

    def handle_endtag(self, name):
        while self.stack and self.stack.pop()[0] != name:
            pass

    def handle_data(self, data):
        if data.strip() and not any(name in ("script", "style") for name, _, _ in self.stack):
            self.text.append(data.strip())


def main():
    program = str(Path(sys.argv[1]).resolve())
    inputs = sys.argv[2:] or [str(ROOT / "captures")]
    arguments = []
    for path in inputs:
        arguments.append(path)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        check_counts(program, arguments, Path(folder))
        check_fragments(program, arguments, Path(folder))
        check_hostile(program, Path(folder))
        check_policy(Path(folder))
    print("report: all as expected")


def check_counts(program, arguments, folder):
    """Rows of the page against hosts, fingerprints and blind spots in JSON."""
    page = folder / "report.html"
    write_report(program, arguments, page)
    hosts = lines(program, ["pcap", "--summary", "--merge", "--format", "json", *arguments])
    shown = open_page(page)
    expect("hosts in the table", shown.rows.get(("host-table", "tr.host"), 0), min(len(hosts), 500))
    expect("number of hosts", f"{len(hosts)} hosts" in shown.text, True)
    fingerprints = lines(program, ["pcap", "--rare", "100", "--format", "json", *arguments])
    for kind in ("ja4", "sni", "tcp_syn_ack", "server_header", "hassh_server"):
        found = [line for line in fingerprints if line["kind"] == kind]
        expect(f"rows of {kind}", shown.rows.get((f"values-{kind}", "td.value"), 0), len(found))
    inventory = lines(program, ["inventory", "-q", "--format", "json", *arguments])
    worst = [line for line in inventory if line["event"] == "inventory_server" and line["problems"]]
    rows = shown.rows.get(("cryptography-servers", "td.value"), 0)
    expect("servers with problems of cryptography", rows, min(len(worst), 100))
    stats = subprocess.run([program, "pcap", "-q", "--stats", *arguments], capture_output=True, text=True)
    spots = json.loads(stats.stderr.splitlines()[-1])["blind_spots"]
    expect("blind spots", shown.rows.get(("blind-spot-list", "li"), 0), len(spots))
    for spot in spots:
        expect(spot["name"], any(text.startswith(f"{spot['count']} {spot['meaning']}") for text in shown.text), True)


def check_fragments(program, arguments, folder):
    """Links to a host and to a filter."""
    page = folder / "report.html"
    hosts = lines(program, ["pcap", "--summary", "--merge", "--format", "json", *arguments])
    address = max(hosts, key=lambda host: len(host["verdict"]["evidence"]))["ip"]
    same = sum(host["ip"] == address for host in hosts)
    shown = open_page(page, f"#host={address}")
    expect("rows of a host", shown.rows.get(("host-table", "tr.host"), 0), same)
    expect("opened evidence", shown.rows.get(("host-table", "tr.evidence"), 0), same)
    expect("evidence is shown", any(" says " in text for text in shown.text), True)
    shown = open_page(page, "#q=no%20host%20has%20this")
    expect("filtered hosts", shown.rows.get(("host-table", "tr.host"), 0), 0)


def check_hostile(program, folder):
    """Markup in packets."""
    captures = []
    for number, (name, texts) in enumerate(HOSTILE.items()):
        data = (ROOT / "captures" / name).read_bytes()
        for old, new in texts.items():
            assert len(old) == len(new) and old in data
            data = data.replace(old, new)
        captures.append(folder / f"hostile{number}.pcap")
        captures[-1].write_bytes(data)
    page = folder / "hostile.html"
    write_report(program, ["--title", "<script>throw 1</script>", *map(str, captures)], page)
    address = "192.0.2.1"
    shown = open_page(page, f"#host={address}")
    expect("injected elements", [i for i in shown.ids if i in ("y", "pwn")], [])
    expect("injected images and italics", (shown.elements.get("img", 0), shown.elements.get("i", 0)), (0, 0))
    expect("scripts", shown.elements["script"], 2)
    for text in ("<img src=x id=y>", "</script><i>", "<script>throw 1</script>"):
        expect(text, any(text in found for found in shown.text), True)
    expect("User-Agent in the evidence", any("User-Agent <b id=pwn>&" in found for found in shown.text), True)


def check_policy(folder):
    """The browser blocks what the policy forbids, and the check above would notice it."""
    page = folder / "report.html"
    for markup in ("<script>document.title = 'no'</script>", "<img src='http://192.0.2.1/x'>", "<p style='color:red'>"):
        changed = folder / "changed.html"
        changed.write_text(page.read_text().replace("<main>", f"<main>{markup}"))
        expect(f"messages about {markup}", bool(messages(chromium(changed).stderr)), True)


def write_report(program, arguments, page):
    run = subprocess.run([program, "report", "-q", "-o", str(page), *arguments], capture_output=True, text=True)
    # Some captures of the project end in the middle of a packet.
    if run.returncode not in (0, 1):
        sys.exit(f"report: {run.stderr}")
    size = page.stat().st_size
    expect("smaller than 2 MB", size < 2_000_000, True)


def lines(program, arguments):
    run = subprocess.run([program, *arguments], capture_output=True, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def chromium(page, fragment=""):
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--virtual-time-budget=10000",
               "--enable-logging=stderr", f"--user-data-dir={page.parent}/profile", "--dump-dom", f"file://{page}{fragment}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def messages(log):
    return [line for line in log.splitlines() if "CONSOLE" in line]


def open_page(page, fragment=""):
    run = chromium(page, fragment)
    if run.returncode != 0 or "</html>" not in run.stdout:
        sys.exit(f"chromium: {run.returncode}\n{run.stderr}")
    expect("messages of the browser", messages(run.stderr), [])
    return Page(run.stdout)


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"report: {what}: {found!r}, expected {wanted!r}")
    print(f"{what}: {found!r}")


if __name__ == "__main__":
    main()
