#!/usr/bin/env python3
"""Opens reports in Chromium and compares what they show with the program's JSON.

usage: ci/report.py PROGRAM [CAPTURE_OR_DIRECTORY]...

Without captures those of the project are read. Fails if a number differs, if the browser logs a message (an error of the
script, or a request or script that the content security policy blocked), if the page requests anything, if a text from a
packet became an element, if a cell is wider than its place, or if a reader with a keyboard does not reach a packet.
"""
import csv
import html.parser
import json
import os
import select
import struct
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


# Widths of windows, in pixels.
WIDTHS = (640, 800, 1280, 1920)
# Milliseconds from the start of loading until 10,000 hosts can be read and filtered.
MAX_READY_MS = 2000


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
        if name in ("meta", "link", "input", "br", "img"):
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
        folder = Path(folder)
        with Browser(folder) as browser:
            check_counts(browser, program, arguments, folder)
            check_fragments(browser, program, arguments, folder)
            check_layout(browser, folder / "report.html")
            check_colours(browser, folder / "report.html")
            check_journey(browser, program, folder)
            check_export(browser, program, folder)
            check_hostile(browser, program, folder)
            check_policy(browser, folder)
            check_many(browser, program, folder)
    print("report: all as expected")


def check_counts(browser, program, arguments, folder):
    """Rows of the page against hosts, fingerprints and blind spots in JSON."""
    page = folder / "report.html"
    write_report(program, ["--merge", *arguments], page)
    hosts = lines(program, ["hosts", "--merge", "--format", "json", *arguments])
    shown = open_page(browser, page)
    expect("hosts in the table", shown.rows.get(("host-table", "tr.host"), 0), min(len(hosts), 250))
    expect("number of hosts", f"{len(hosts)} hosts" in shown.text, True)
    fingerprints = lines(program, ["fingerprints", "--rare", "100", "--format", "json", *arguments])
    for kind in ("ja4", "sni", "user_agent", "tcp_syn_ack", "server_header", "hassh_server"):
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


def check_fragments(browser, program, arguments, folder):
    """Links to a host and to a filter."""
    page = folder / "report.html"
    hosts = lines(program, ["hosts", "--merge", "--format", "json", *arguments])
    address = max(hosts, key=lambda host: len(host["verdict"]["evidence"]))["ip"]
    same = sum(host["ip"] == address for host in hosts)
    shown = open_page(browser, page, f"#host={address}")
    expect("rows of a host", shown.rows.get(("host-table", "tr.host"), 0), same)
    expect("opened evidence", shown.rows.get(("host-table", "tr.evidence"), 0), same)
    expect("evidence is shown", any(" says " in text for text in shown.text), True)
    shown = open_page(browser, page, "#q=no%20host%20has%20this")
    expect("filtered hosts", shown.rows.get(("host-table", "tr.host"), 0), 0)


def check_hostile(browser, program, folder):
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
    shown = open_page(browser, page, f"#host={address}")
    expect("injected elements", [i for i in shown.ids if i in ("y", "pwn")], [])
    expect("injected images and italics", (shown.elements.get("img", 0), shown.elements.get("i", 0)), (0, 0))
    expect("scripts", shown.elements["script"], 2)
    for text in ("<img src=x id=y>", "</script><i>", "<script>throw 1</script>"):
        expect(text, any(text in found for found in shown.text), True)
    expect("User-Agent in the evidence", any("User-Agent <b id=pwn>&" in found for found in shown.text), True)


def check_policy(browser, folder):
    """The browser blocks what the policy forbids, and the check above would notice it."""
    page = folder / "report.html"
    for markup in ("<script>document.title = 'no'</script>", "<img src='http://192.0.2.1/x'>", "<p style='color:red'>"):
        changed = folder / "changed.html"
        changed.write_text(page.read_text().replace("<main>", f"<main>{markup}"))
        expect(f"messages about {markup}", bool(browser.open(changed).messages), True)


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


class Browser:
    """Chromium, driven by the DevTools protocol over pipes: JSON messages that end with a zero byte."""

    def __init__(self, folder):
        from_us, self.to_browser = os.pipe()
        self.from_browser, to_us = os.pipe()
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
                   f"--user-data-dir={folder}/profile", "about:blank"]
        self.log = open(folder / "chromium.log", "w+")
        # The browser reads descriptor 3 and writes descriptor 4.
        redirect = f'exec "$@" 3<&{from_us} 4>&{to_us}'
        self.process = subprocess.Popen(["sh", "-c", redirect, "sh", *command], pass_fds=(from_us, to_us),
                                        stdout=subprocess.DEVNULL, stderr=self.log)
        os.close(from_us)
        os.close(to_us)
        self.buffered = b""
        self.last = 0
        self.tabs = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to_browser)
        self.process.terminate()
        self.process.wait(30)

    def call(self, method, session=None, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            reply = self.receive()
            if reply.get("id") == self.last:
                if "error" in reply:
                    sys.exit(f"report: {method}: {reply['error']}")
                return reply["result"]

    def receive(self):
        """The next message. Notes those about pages."""
        while b"\0" not in self.buffered:
            if not select.select([self.from_browser], [], [], 60)[0]:
                sys.exit("report: chromium does not answer")
            found = os.read(self.from_browser, 1 << 20)
            if not found:
                self.log.seek(0)
                sys.exit(f"report: chromium ended\n{self.log.read()}")
            self.buffered += found
        message, self.buffered = self.buffered.split(b"\0", 1)
        message = json.loads(message)
        tab = self.tabs.get(message.get("sessionId"))
        if tab:
            tab.note(message.get("method"), message.get("params", {}))
        return message

    def open(self, page, fragment=""):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self.tabs[session] = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        tab.call("Page.navigate", url=f"file://{page}{fragment}")
        while not tab.is_loaded:
            self.receive()
        # Messages of the page come before this reply.
        tab.run("new Promise((done) => setTimeout(done, 50))")
        return tab


class Tab:
    """A page in the browser."""

    def __init__(self, browser, session):
        self.browser = browser
        self.session = session
        self.is_loaded = False
        self.messages = []
        self.requests = []

    def note(self, method, params):
        if method == "Page.loadEventFired":
            self.is_loaded = True
        elif method in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.messages.append(params)
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"][:200])

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def run(self, expression):
        """The value of an expression in the page."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in reply:
            sys.exit(f"report: {expression}: {reply['exceptionDetails']}")
        return reply["result"].get("value")

    def press(self, key, code, text=""):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def tab_to(self, condition, presses=120):
        """Presses the tabulator until the focused element satisfies a condition."""
        for pressed in range(1, presses + 1):
            self.press("Tab", 9)
            if self.run(f"((focused) => Boolean({condition}))(document.activeElement)"):
                return pressed
        sys.exit(f"report: {presses} tabulators do not reach {condition}")

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def close(self):
        self.browser.call("Page.close", self.session)


def check_layout(browser, page):
    """Nothing is wider than its place, with all parts open."""
    tab = browser.open(page)
    tab.run("document.querySelectorAll('details').forEach((found) => (found.open = true))")
    tab.run("""[...document.querySelectorAll('tr.host > td:first-child > button')]
        .filter((button, index) => index < 20 || button.textContent.includes(':')).slice(0, 40).forEach((button) => button.click())""")
    opened = tab.run("document.querySelectorAll('tr.evidence .timeline').length")
    expect("opened timelines", opened >= 20, True)
    for width in WIDTHS:
        tab.resize(width)
        wide = tab.run("""[...document.querySelectorAll('html, body, section, .scroll, th, td, li, p, summary, code, figcaption, nav')]
            .filter((found) => found.clientWidth && found.scrollWidth > found.clientWidth)
            .map((found) => `${found.tagName} ${found.scrollWidth} ${found.clientWidth} ${found.textContent.slice(0, 60)}`)""")
        expect(f"wider than its place at {width} px", wide, [])
        outside = tab.run("""[...document.querySelectorAll('td, th, li, button, code, a')]
            .filter((found) => found.className !== 'skip' && !found.closest('.scroll > table > thead, .timeline thead'))
            .filter((found) => found.getBoundingClientRect().right > innerWidth + 1)
            .map((found) => `${found.tagName} ${found.textContent.slice(0, 60)}`)""")
        expect(f"outside of the window at {width} px", outside, [])
    tab.close()


def check_colours(browser, page):
    """Texts have a contrast of at least 4.5 (WCAG 2.2, success criterion 1.4.3), and images and buttons have names."""
    tab = browser.open(page)
    for theme in ("light", "dark"):
        tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        colours = tab.run("""Object.fromEntries(['ink', 'dim', 'link', 'warning', 'back', 'panel']
            .map((name) => [name, getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim()]))""")
        for text in ("ink", "dim", "link", "warning"):
            for back in ("back", "panel"):
                ratio = contrast(colours[text], colours[back])
                expect(f"{theme}: {text} on {back} has contrast {ratio:.1f}", ratio >= 4.5, True)
    nameless = tab.run("""[...document.querySelectorAll('button, a, input, svg[role=img]')].filter((found) =>
        !found.textContent.trim() && !found.getAttribute('aria-label') && !(found.labels && found.labels.length)).length""")
    expect("elements without a name", nameless, 0)
    tab.close()


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def check_journey(browser, program, folder):
    """From a name to the host and to the packet, with the keyboard alone."""
    capture = str(ROOT / "captures/tls/tls-curl/tls-curl.pcap")
    page = folder / "journey.html"
    write_report(program, [capture], page)
    events = lines(program, ["pcap", "--format", "json", capture])
    wanted = next(event for event in events if event["event"] == "tls_client" and event["sni"])
    asking = [event for event in events if event["event"] == "tls_client" and event["sni"] == wanted["sni"]]
    tab = browser.open(page)
    presses = tab.tab_to("focused.id === 'host-filter'")
    tab.call("Input.insertText", text=wanted["sni"])
    addresses = tab.run("[...document.querySelectorAll('tr.host > td:first-child > button')].map((found) => found.textContent)")
    expect("hosts with the name", sorted(addresses), sorted({event[side]["ip"] for event in asking for side in ("client", "server")}))
    presses += tab.tab_to(f"focused.closest('tr.host') && focused.textContent === '{wanted['client']['ip']}'")
    tab.press("Enter", 13, "\r")
    row = f"[...document.querySelectorAll('.timeline tbody tr')].find((row) => row.textContent.includes('{wanted['sni']}'))"
    expect("packet of the name", tab.run(f"{row}.querySelector('.packet').textContent"), str(wanted["packet"]))
    expect("file of the packet", tab.run(f"{row}.lastChild.textContent.includes('tls-curl.pcap')"), True)
    codes = tab.run(f"[...{row}.querySelectorAll('code')].map((code) => code.textContent)")
    ends = [wanted["client"], wanted["server"]]
    connection = [f"ip.addr == {end['ip']}" for end in ends] + [f"tcp.port == {end['port']}" for end in ends]
    expect("display filters", codes, [f"frame.number == {wanted['packet']}", " && ".join(connection)])
    presses += tab.tab_to(f"(focused.getAttribute('aria-label') ?? '').endsWith(': {codes[0]}')")
    tab.press("Enter", 13, "\r")
    tab.run("new Promise((done) => setTimeout(done, 100))")
    expect("after the copy", tab.run("document.activeElement.textContent") in ("copied", "selected"), True)
    commands = tab.run("[...document.querySelectorAll('.command code')].map((code) => code.textContent)")
    check_commands(program, commands, wanted["client"]["ip"], Path(capture).parent, folder)
    print(f"keys from the top of the page to the copied filter: {presses} tabulators, 2 returns, and the name")
    # A fingerprint leads to its hosts.
    ja4 = wanted["ja4"]
    tab.run(f"document.querySelector('#values-ja4 a[href=\"#q={ja4}\"]').click()")
    tab.run("new Promise((done) => setTimeout(done, 100))")
    clients = {event["client"]["ip"] for event in events if event["event"] == "tls_client" and event["ja4"] == ja4}
    expect("hosts of a fingerprint", tab.run("document.querySelectorAll('tr.host').length"), len(clients))
    expect("requests of the page", [url for url in tab.requests if not url.startswith(("file:", "data:"))], [])
    expect("messages of the browser", tab.messages, [])
    tab.close()


def check_commands(program, commands, address, captures, folder):
    """A shell runs the commands of a host where the captures are."""
    expect("commands of a host", [command.split()[1] for command in commands], ["follow", "extract"])
    (folder / "huginn-net").unlink(missing_ok=True)
    (folder / "huginn-net").symlink_to(program)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    for command, output in ((commands[0], []), (commands[1].replace(" -o ", f" -q -o {folder}/"), [folder / f"{address}.pcapng"])):
        run = subprocess.run(["sh", "-c", command], cwd=captures, env=environment, capture_output=True, text=True)
        expect(f"status of {command}", (run.returncode, run.stderr), (0, ""))
        expect("its output", address in run.stdout if not output else output[0].stat().st_size > 0, True)


def check_export(browser, program, folder):
    """Cells of CSV are quoted, and no text is a formula."""
    data = (ROOT / "captures/tcp/curl-nginx/curl-nginx.pcap").read_bytes()
    capture = folder / "formula.pcap"
    capture.write_bytes(data.replace(b"curl/7.88.1", b'=1+"a",cmd!'))
    page = folder / "formula.html"
    write_report(program, [str(capture)], page)
    tab = browser.open(page)
    tab.run("""(() => { globalThis.saved = []; URL.createObjectURL = (blob) => { saved.push(blob.text()); return '#'; };
        HTMLAnchorElement.prototype.click = function () { saved.push(this.download); }; })()""")
    tables = tab.run("document.querySelectorAll('main table').length")
    expect("a button for each table", tab.run("document.querySelectorAll('.export').length"), tables)
    tab.run("document.querySelectorAll('.export').forEach((button) => button.click())")
    saved = tab.run("Promise.all(saved)")
    files = dict(zip(saved[1::2], saved[::2]))
    expect("hosts.csv", files["hosts.csv"].startswith('"address","system","software"'), True)
    row = next(csv.reader([line for line in files["values-user_agent.csv"].splitlines() if "cmd" in line]))
    expect("User-Agent in CSV", row[0], '\'=1+"a",cmd!')
    expect("messages of the browser", tab.messages, [])
    tab.close()


def check_many(browser, program, folder):
    """A page of 10,000 hosts."""
    data = (ROOT / "captures/tls/tls-curl/tls-curl.pcap").read_bytes()
    packets, offset = [], 24
    for _ in range(4):
        length = struct.unpack_from("<I", data, offset + 8)[0]
        packets.append(data[offset:offset + 16 + length])
        offset += 16 + length
    client = bytes([192, 0, 2, 1])
    hosts = (packet.replace(client, struct.pack(">I", 0x64400000 + host), 1) for host in range(10_000) for packet in packets)
    capture = folder / "many.pcap"
    capture.write_bytes(data[:24] + b"".join(hosts))
    page = folder / "many.html"
    write_report(program, [str(capture)], page)
    tab = browser.open(page)
    ready = int(tab.run("document.getElementById('host-table').dataset.readyMs"))
    expect(f"10,000 hosts are ready after {ready} ms, of {page.stat().st_size} bytes", ready < MAX_READY_MS, True)
    expect("hosts of the page", tab.run("document.getElementById('host-count').textContent"), "10001 hosts")
    filtered = tab.run("""(() => { const before = performance.now(); const filter = document.getElementById('host-filter');
        filter.value = '100.64.39'; filter.dispatchEvent(new Event('input')); return Math.round(performance.now() - before); })()""")
    print(f"filter of 10,000 hosts: {filtered} ms")
    tab.close()


def open_page(browser, page, fragment=""):
    tab = browser.open(page, fragment)
    expect("messages of the browser", tab.messages, [])
    shown = Page(tab.run("document.documentElement.outerHTML"))
    tab.close()
    return shown


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"report: {what}: {found!r}, expected {wanted!r}")
    print(f"{what}: {found!r}")


if __name__ == "__main__":
    main()
