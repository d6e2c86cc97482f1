#!/usr/bin/env python3
"""Runs examples over the project's captures, on an interface and with clients, and compares what they print.

usage: examples.py PROGRAM FOLDER [outside] | examples.py --write [FOLDER]

PROGRAM is huginn-net, FOLDER has the examples, `outside` selects those outside the workspace, in the folder above. `live` needs root. `--write`
writes the table of examples in docs/library.md, with times if there is a FOLDER; without `--write`, the table is compared.
"""

import collections
import collections.abc
import contextlib
import datetime
import itertools
import json
import pathlib
import re
import resource
import select
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAPTURES = ROOT / "captures"
PAGE = ROOT / "docs" / "library.md"
HEAD = "| example | lines | crates | time | compared with |\n|---|---|---|---|---|\n"
TAIL = re.compile(r"\nTimes of .*?\n(?=\n)", re.DOTALL)
# What prints the same as each example.
CLIENTS = "the events of a recording, for real clients (`ci/proxy.sh`)"
TESTS = "(`huginn-net/tests/it/examples.rs`)"
COMPARED = {
    "axum_proxy": CLIENTS,
    "axum_verdict": "the events of what curl sends",
    "count_systems": "p0f",
    "datafusion_sql": "tshark",
    "dns_and_mqtt": "the events of the capture (`huginn-net-arrow/tests/own_protocols.rs`)",
    "failed_handshakes": "the events of what openssl sends",
    "http3_server": CLIENTS,
    "live": "the events of the capture that is replayed",
    "merge_hosts": f"one analysis of all captures {TESTS}",
    "one_packet": "p0f",
    "own_protocol": "the bytes of the capture",
    "own_ring": "the events of the capture",
    "pcap_ja4": "tshark",
    "push_frames": "p0f, the events of the capture",
    "quic_datagrams": "tshark",
    "tls_hello": "tshark",
    "tls_pass_through": CLIENTS,
    "verify_chain": "tshark and openssl",
    "watch_rule": f"the events of the capture {TESTS}",
}
# Not Rust: the program of a page.
C_PAGE = ROOT / "docs" / "c.md"
C_COMPARED = "tshark's JA4 of curl (`ci/ffi.sh`)"
# The capture of the times, and what the examples take that read one.
TIMED = CAPTURES / "http" / "http-pages" / "http-pages.pcap"
TIMES = """wall and processor time of the smallest of ten runs over `http-pages.pcap` (888 kB), profile `dev`, whose packet path is
optimised. Examples that serve clients or read something else have none."""
SQL = "SELECT client_ip, count(*) FROM events GROUP BY client_ip"
TIMED_ARGUMENTS = {
    "count_systems": [TIMED],
    "datafusion_sql": [SQL, TIMED],
    "dns_and_mqtt": [TIMED, "/dev/null"],
    "merge_hosts": [TIMED],
    "own_protocol": [TIMED],
    "own_ring": [TIMED],
    "pcap_ja4": [TIMED],
    "push_frames": [],
    "watch_rule": [TIMED, "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6"],
}
MAX_LINES = 59
TCP, UDP = 6, 17
SYN, ACK = 2, 16

Packet = collections.namedtuple("Packet", "nanos ip src dst protocol flags payload")


def main() -> None:
    global huginn_net
    if sys.argv[1:2] == ["--write"]:
        folders = [pathlib.Path(path).resolve() for path in sys.argv[2:]]
        times = {name: time_of(built(folders[0], name), *TIMED_ARGUMENTS[name]) for name in TIMED_ARGUMENTS} if folders else {}
        PAGE.write_text(with_table(PAGE.read_text(), times))
        return
    huginn_net, folder = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    checks = [pcap_ja4, tls_hello, quic_datagrams, one_packet, count_systems, own_protocol, push_frames, own_ring, live, axum_verdict, failed_handshakes]
    if sys.argv[3:] == ["outside"]:
        checks = [datafusion_sql, verify_chain]
    problems = []
    for check in checks:
        compared, found = check(built(folder, check.__name__))
        problems += [f"{check.__name__}: {problem}" for problem in found]
        if not compared:
            problems.append(f"{check.__name__}: nothing was compared")
        print(f"{check.__name__}: {compared} compared, {len(found)} differ")
    page = PAGE.read_text()
    if with_table(page, {}) != page:
        problems.append("docs/library.md: the table of examples is not current: ci/examples.py --write")
    if problems:
        sys.exit("\n".join(problems))


def built(folder: pathlib.Path, name: str) -> pathlib.Path:
    """Examples are in a folder of their own, programs outside the workspace above it."""
    return folder / name if (folder / name).exists() else folder.parent / name


def run(program: pathlib.Path, *arguments: str, stdin: str = "") -> list[str]:
    ran = subprocess.run([program, *arguments], input=stdin, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT)
    return ran.stdout.splitlines()


def events(capture: pathlib.Path, *names: str) -> list[dict]:
    """What the program finds."""
    lines = run(huginn_net, "pcap", "-q", "--format", "json", "--events", ",".join(names), str(capture))
    return [json.loads(line) for line in lines]


def with_golden(kind: str) -> list[tuple[pathlib.Path, list[list[str]]]]:
    """The captures that have a golden, with the cells of its lines."""
    goldens = sorted(CAPTURES.glob(f"*/*/*.{kind}"))
    found = []
    for golden in goldens:
        capture = next((golden.with_suffix(end) for end in (".pcap", ".pcapng") if golden.with_suffix(end).exists()), None)
        if capture:
            found.append((capture, [line.split("\t") for line in golden.read_text().splitlines()]))
    return found


def wait_for(condition: collections.abc.Callable[[], bool]) -> None:
    """Waits for up to twenty seconds."""
    for _ in range(200):
        if condition():
            return
        time.sleep(0.1)
    raise TimeoutError


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def address(ip: str, port: str) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def packets(path: pathlib.Path) -> list[Packet]:
    """The TCP segments and UDP datagrams of a pcap file with plain Ethernet or raw IP; of others none."""
    data = path.read_bytes()
    unit = 1 if data[:4] in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 1000
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}.get(data[:4])
    if not order:
        return []
    link, = struct.unpack_from(order + "I", data, 20)
    start = {1: 14, 101: 0}.get(link)
    at, found = 24, []
    while start is not None and at + 16 <= len(data):
        seconds, fraction, length = struct.unpack_from(order + "III", data, at)
        packet = parse(seconds * 10**9 + fraction * unit, data[at + 16 + start : at + 16 + length])
        if packet and (link != 1 or data[at + 28 : at + 30] in (b"\x08\x00", b"\x86\xdd")):
            found.append(packet)
        at += 16 + length
    return found


def parse(nanos: int, ip: bytes) -> Packet | None:
    if not ip:
        return None
    if ip[0] >> 4 == 4 and len(ip) >= 20:
        fragment, = struct.unpack_from(">H", ip, 6)
        total, = struct.unpack_from(">H", ip, 2)
        header, protocol, family, places = (ip[0] & 15) * 4, ip[9], socket.AF_INET, (12, 16, 20)
        if fragment & 0x3FFF:
            return None
    elif ip[0] >> 4 == 6 and len(ip) >= 40:
        total = struct.unpack_from(">H", ip, 4)[0] + 40
        header, protocol, family, places = 40, ip[6], socket.AF_INET6, (8, 24, 40)
    else:
        return None
    ip = ip[:total]
    src, dst = (socket.inet_ntop(family, ip[a:b]) for a, b in zip(places, places[1:]))
    if protocol not in (TCP, UDP) or len(ip) < header + (20 if protocol == TCP else 8):
        return None
    ports = struct.unpack_from(">HH", ip, header)
    data = header + ((ip[header + 12] >> 4) * 4 if protocol == TCP else 8)
    flags = ip[header + 13] if protocol == TCP else 0
    return Packet(nanos, ip, address(src, str(ports[0])), address(dst, str(ports[1])), protocol, flags, ip[data:])


def pcap_ja4(program: pathlib.Path) -> tuple[int, list[str]]:
    compared, problems = 0, []
    for capture, rows in with_golden("ja4"):
        expected = collections.Counter((address(row[0], row[1]), row[2]) for row in rows)
        printed = collections.Counter(tuple(line.split(" ")[:2]) for line in run(program, str(capture)))
        problems += [f"{capture.name}: {each} {count}" for each, count in ((expected - printed) + (printed - expected)).items()]
        compared += sum(expected.values())
    return compared, problems


def tls_hello(program: pathlib.Path) -> tuple[int, list[str]]:
    """Hellos in one segment, each JA4 once."""
    compared, problems = set(), []
    for capture, rows in with_golden("ja4"):
        if capture.suffix != ".pcap":
            continue
        hellos = {address(row[0], row[1]): row[2:] for row in rows}
        for packet in packets(capture):
            start = packet.payload[:5]
            if packet.src not in hellos or packet.protocol != TCP or start[:2] != b"\x16\x03" or len(packet.payload) < 6:
                continue
            ja4, ja4_r, ja4_o, _, stable = hellos[packet.src][:5]
            if packet.payload[5] != 1 or struct.unpack(">H", start[3:])[0] + 5 > len(packet.payload) or ja4_r in compared:
                continue
            with tempfile.NamedTemporaryFile() as file:
                file.write(packet.payload)
                file.flush()
                printed = dict(line.split(maxsplit=1) for line in run(program, file.name))
            compared.add(ja4_r)
            expected = {"ja4": ja4, "ja4_r": ja4_r, "ja4_o": ja4_o, "ja4_stable": stable}
            problems += [f"{capture.name}: {packet.src}: {key} {printed.get(key)}" for key in expected if printed.get(key) != expected[key]]
    return len(compared), problems


def quic_datagrams(program: pathlib.Path) -> tuple[int, list[str]]:
    """Sends the datagrams of each client to the example."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    compared, problems = 0, []
    process = subprocess.Popen([program, f"127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: f":{port:04X} " in pathlib.Path("/proc/net/udp").read_text())
        for capture, rows in with_golden("ja4"):
            if capture.parent.parent.name != "quic" or capture.suffix != ".pcap":
                continue
            sent = packets(capture)
            for row in rows:
                datagrams = [packet.payload for packet in sent if packet.src == address(row[0], row[1])]
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                    client.connect(("127.0.0.1", port))
                    own = "{}:{}".format(*client.getsockname())
                    printed = None
                    for number, datagram in enumerate(datagrams):
                        client.send(datagram)
                        if select.select([process.stdout], [], [], 0.5 if number < 10 else 0)[0]:
                            printed = process.stdout.readline().split(" ")[:2]
                            break
                compared += 1
                if printed != [own, row[2]]:
                    problems.append(f"{capture.name}: {row[0]} {row[1]}: {printed}, not {row[2]}")
    finally:
        process.kill()
        process.wait()
    return compared, problems


def p0f_lines(golden: pathlib.Path) -> list[dict[str, str]]:
    lines = (line.split("] ", 1)[1] for line in golden.read_text().splitlines())
    return [dict(field.split("=", 1) for field in line.split("|")) for line in lines]


def one_packet(program: pathlib.Path) -> tuple[int, list[str]]:
    """SYNs with one signature of p0f, each signature once."""
    compared, problems = set(), []
    for golden in sorted(CAPTURES.glob("*/*/*.p0f")):
        capture = golden.with_suffix(".pcap")
        if not capture.exists():
            continue
        signatures = collections.defaultdict(set)
        for line in p0f_lines(golden):
            if line["mod"] == "syn":
                signatures[address(*line["cli"].rsplit("/", 1))].add(line["raw_sig"])
        for packet in packets(capture):
            expected = signatures.get(packet.src, set())
            if packet.flags & (SYN | ACK) == SYN and len(expected) == 1 and not expected <= compared:
                printed = run(program, packet.ip.hex())
                compared |= expected
                if printed != list(expected):
                    problems.append(f"{capture.name}: {packet.src}: {printed}, not {expected}")
    return len(compared), problems


def count_systems(program: pathlib.Path) -> tuple[int, list[str]]:
    """Captures without tools, whose targets p0f does not log, and without fuzzy matches, for which p0f has other rules."""
    compared, problems = 0, []
    for golden in sorted(CAPTURES.glob("tcp/*/*.p0f")):
        capture = golden.with_suffix(".pcap")
        lines = [line for line in p0f_lines(golden) if line["mod"] in ("syn", "syn+ack")]
        if not capture.exists() or any("app" in line or "fuzzy" in line["params"] for line in lines):
            continue
        hosts = collections.defaultdict(set)
        for line in lines:
            hosts["unknown" if line["os"] == "???" else line["os"]].add(line[line["subj"]].rsplit("/", 1)[0])
        printed = {line[7:]: int(line[:6]) for line in run(program, str(capture)) if not line.endswith(" packets")}
        expected = {system: len(addresses) for system, addresses in hosts.items()}
        compared += 1
        if printed != expected:
            problems.append(f"{capture.name}: {printed}, not {expected}")
    return compared, problems


def own_protocol(program: pathlib.Path) -> tuple[int, list[str]]:
    capture = CAPTURES / "starttls" / "starttls-ftp" / "starttls-ftp.pcap"
    greetings: dict[tuple[str, str], bytes] = {}
    for packet in packets(capture):
        if packet.src.endswith(":21") and packet.payload:
            greetings.setdefault((packet.src, packet.dst), packet.payload)
    events = map(json.loads, run(program, str(capture)))
    printed = collections.Counter(event["greeting"] for event in events if event["event"] == "ftp_server")
    expected = collections.Counter(greeting.decode().partition("\n")[0].rstrip() for greeting in greetings.values())
    problems = [] if printed == expected else [f"{capture.name}: {printed}, not {expected}"]
    return len(greetings), problems


def push_frames(program: pathlib.Path) -> tuple[int, list[str]]:
    """p0f's lines of handshakes, without captures with fuzzy matches, and the signatures of the program."""
    compared, problems = 0, []
    for golden in sorted(CAPTURES.glob("tcp/*/*.p0f")):
        capture = golden.with_suffix(".pcap")
        # Fragments, and headers that `packets` does not read.
        if not capture.exists() or capture.stem in ("fragments-kernel", "odd-syns"):
            continue
        given = "".join(f"{packet.nanos} {packet.ip.hex()}\n" for packet in packets(capture))
        # Without the time, which p0f writes in its time zone.
        printed = collections.Counter(line.partition("] ")[2] for line in run(program, stdin=given) if "|" in line)
        golden_lines = {line.partition("] ")[2] for line in golden.read_text().splitlines()}
        if not any("fuzzy" in line for line in golden_lines):
            expected = {line for line in golden_lines if line.startswith(("mod=syn", "mod=mtu"))}
            problems += [f"{capture.name}: p0f: {line}" for line in expected - set(printed)]
            compared += len(expected)
        fields = [dict(field.split("=", 1) for field in line.split("|")) for line in printed.elements()]
        signatures = collections.Counter((line["mod"], line["raw_sig"]) for line in fields if line["mod"] in ("syn", "syn+ack"))
        found = events(capture, "tcp_syn", "tcp_syn_ack")
        expected = collections.Counter(("syn" if event["event"] == "tcp_syn" else "syn+ack", event["sig"]) for event in found)
        if signatures != expected:
            problems.append(f"{capture.name}: {signatures}, not {expected}")
        compared += len(found)
    return compared, problems


def own_ring(program: pathlib.Path) -> tuple[int, list[str]]:
    """The events of a capture, and a run that ends before its frames do."""
    problems = []
    capture = CAPTURES / "tcp" / "curl-nginx" / "curl-nginx.pcap"
    *printed, counters = run(program, str(capture))
    expected = run(huginn_net, "pcap", "-q", "--format", "json", str(capture))
    if printed != expected or not counters.startswith(f"{len(packets(capture))} frames, 0 lost, "):
        problems.append(f"{capture.name}: {printed} {counters}, not {expected}")
    # Frames until it ends, far more than it may read meanwhile.
    command = ["sh", "-c", """cat "$1"; while tail -c +25 "$1"; do :; done""", "sh", str(TIMED)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as ring:
        process = subprocess.Popen([program, "/dev/stdin"], stdin=ring.stdout, stdout=subprocess.PIPE, text=True)
        ring.stdout.close()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        *_, last = process.stdout
        if process.wait() or not re.match(r"[1-9]\d* frames, \d+ lost, ", last):
            problems.append(f"cancelled: status {process.returncode}, {last}")
        print(f"  cancelled: {last.strip()}")
    return len(expected) + 1, problems


def live(program: pathlib.Path) -> tuple[int, list[str]]:
    """Replays a capture to an interface of a network namespace."""
    capture = CAPTURES / "tcp" / "curl-nginx" / "curl-nginx.pcap"
    script = """
        ip link add hn-a type veth peer name hn-b && ip link set hn-a up && ip link set hn-b up || exit 1
        "$1" 5 hn-b & example=$!
        until [ "$(wc -l </proc/net/packet)" -gt 1 ]; do kill -0 $example || exit 1; sleep 0.1; done
        tcpreplay -q -i hn-a "$2" >&2
        wait $example
    """
    lines = run("unshare", "--net", "sh", "-c", script, "sh", str(program), str(capture))
    # Time, address, system; then lines with counters.
    rows = [line.split(" ", 2) for line in lines]
    printed = collections.Counter((row[1], row[2]) for row in rows if ":" in row[1])
    expected = collections.Counter()
    for event in events(capture, "tcp_syn", "tcp_syn_ack"):
        label, subject = event.get("label"), event[event["subject"]]
        system = " ".join(filter(None, (label["name"], label.get("flavor")))) if label else "unknown"
        expected[(address(subject["ip"], str(subject["port"])), system)] += 1
    problems = [f"{each}: {printed[each]}, not {expected[each]}" for each in printed | expected if printed[each] != expected[each]]
    return sum(expected.values()), problems


def datafusion_sql(program: pathlib.Path) -> tuple[int, list[str]]:
    query = "SELECT client_ip, ja4, count(*) FROM events WHERE event = 'tls_client' GROUP BY client_ip, ja4"
    compared, problems = 0, []
    for capture, rows in with_golden("ja4"):
        expected = collections.Counter((row[0], row[2]) for row in rows)
        table = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in run(program, query, str(capture)) if line[0] == "|"]
        printed = collections.Counter({(ip, ja4): int(count) for ip, ja4, count in table[1:]})
        problems += [f"{capture.name}: {each} {count}" for each, count in ((expected - printed) + (printed - expected)).items()]
        compared += len(expected)
    return compared, problems


def verify_chain(program: pathlib.Path) -> tuple[int, list[str]]:
    """The certificates that tshark finds, verified by openssl: by the root of the capture, and by that of another one."""
    compared, problems = 0, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        names = ["tls-certificates", "tls-alerts"]
        sent = {name: sent_certificates(CAPTURES / "tls" / name / f"{name}.pcap") for name in names}
        for name in names:
            # The last of the longest chain.
            root = max(sent[name].values(), key=lambda found: len(found[2]))[2][-1]
            (folder / f"{name}.pem").write_text(ssl.DER_cert_to_PEM_cert(root))
        for name, of_root in itertools.product(names, names):
            root = folder / f"{of_root}.pem"
            lines = run(program, str(CAPTURES / "tls" / name / f"{name}.pcap"), str(root))
            printed = {int(packet): outcome for packet, outcome in (line.split(" ", 1) for line in lines)}
            expected = {packet: is_verified(found, root, folder) for packet, found in sent[name].items()}
            if printed.keys() != expected.keys():
                problems.append(f"{name}: packets {sorted(printed)}, not {sorted(expected)}")
            for packet in printed.keys() & expected.keys():
                if (printed[packet] == "verified") != expected[packet]:
                    problems.append(f"{name}, packet {packet}, root of {of_root}: {printed[packet]}, openssl: {expected[packet]}")
            compared += len(expected)
    return compared, problems


def sent_certificates(capture: pathlib.Path) -> dict[int, tuple[float, str, list[bytes]]]:
    """Time, server name and certificates by packet, of servers, as tshark finds them."""
    fields = ["frame.number", "tcp.stream", "frame.time_epoch", "tls.handshake.extensions_server_name", "tls.handshake.certificate", "tcp.srcport"]
    options = [option for field in fields for option in ("-e", field)]
    ports = {event["server"]["port"] for event in events(capture, "tls_certificates")}
    decode = [option for port in sorted(ports) for option in ("-d", f"tcp.port=={port},tls")]
    lines = run("tshark", "-r", str(capture), *decode, "-T", "fields", *options)
    names, found = {}, {}
    for line in lines:
        number, stream, seconds, name, certificates, port = (line + "\t" * 5).split("\t")[:6]
        if name:
            names[stream] = name
        if certificates and int(port) in ports:
            found[int(number)] = (float(seconds), names.get(stream, ""), [bytes.fromhex(one) for one in certificates.split(",")])
    return found


def is_verified(sent: tuple[float, str, list[bytes]], root: pathlib.Path, folder: pathlib.Path) -> bool:
    seconds, name, (leaf, *others) = sent
    (folder / "leaf.pem").write_text(ssl.DER_cert_to_PEM_cert(leaf))
    (folder / "others.pem").write_text("".join(map(ssl.DER_cert_to_PEM_cert, others)))
    command = ["openssl", "verify", "-attime", str(int(seconds)), "-purpose", "sslserver", "-no-CApath", "-no-CAstore", "-CAfile", str(root)]
    command += ["-untrusted", str(folder / "others.pem")] if others else []
    command += ["-verify_hostname", name] if name else []
    return subprocess.run([*command, str(folder / "leaf.pem")], capture_output=True).returncode == 0


class Relay:
    """Passes connections of clients on to a server, and keeps what each client sent, by the address that the server sees."""

    def __init__(self, port: int):
        self.sent: dict[str, bytearray] = {}
        self.server = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(self.server)
            sent = self.sent.setdefault(address(*map(str, server.getsockname())), bytearray())
            threading.Thread(target=self.copy, args=(client, server, sent), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, bytearray()), daemon=True).start()

    def copy(self, source: socket.socket, target: socket.socket, copied: bytearray) -> None:
        try:
            while data := source.recv(65536):
                copied += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def ja4(self, of: str) -> str | None:
        """What the program finds in what a client sent: a pcap file of one raw IPv4 packet."""
        data = bytes(self.sent[of])[:60000]
        tcp = struct.pack(">HHIIBBHHH", 40000, 443, 1, 1, 5 << 4, 0x18, 8192, 0, 0) + data
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, TCP, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])) + tcp
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101) + struct.pack("<IIII", 1, 0, len(ip), len(ip)) + ip)
            file.flush()
            found = events(pathlib.Path(file.name), "tls_client")
        return found[0]["ja4"] if found else None


@contextlib.contextmanager
def tls_server(program: pathlib.Path):
    """An example that serves TLS, a relay to it, and a certificate that no client trusts."""
    with tempfile.TemporaryDirectory() as folder:
        cert, key = f"{folder}/cert.pem", f"{folder}/key.pem"
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj",
                   "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert]
        subprocess.run(command, check=True, capture_output=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process = subprocess.Popen([program, f"127.0.0.1:{port}", cert, key], stdout=subprocess.PIPE, text=True)
        try:
            wait_for(lambda: accepts(port))
            yield process, Relay(port), cert
        finally:
            process.kill()
            process.wait()


def axum_verdict(program: pathlib.Path) -> tuple[int, list[str]]:
    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    clients = {
        "curl, HTTP/1.1": (["--http1.1"], "200"),
        "curl, HTTP/2": (["--http2"], "200"),
        "curl, TLS 1.2": (["--http1.1", "--tls-max", "1.2"], "200"),
        "curl as Firefox": (["--http2", "--user-agent", firefox], "403"),
    }
    problems = []
    with tls_server(program) as (_, relay, _):
        for name, (options, status) in clients.items():
            answer = run("curl", "-sk", "--max-time", "20", "-w", "%{http_code}", *options, f"https://localhost:{relay.port}/")
            ja4, verdict = relay.ja4(list(relay.sent)[-1]), "imitation" if status == "403" else None
            if answer[0].split()[0].rstrip(":") != ja4 or answer[-1] != status or verdict and verdict not in answer[0]:
                problems.append(f"{name}: {answer}, not {ja4} {status}")
            print(f"  {name}: {answer[0]}")
    return len(clients), problems


def failed_handshakes(program: pathlib.Path) -> tuple[int, list[str]]:
    s_client = ["openssl", "s_client", "-verify_return_error", "-brief", "-connect"]
    clients = {
        "an old version": ["-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"],
        "an unknown authority, TLS 1.3": ["-no-CApath", "-no-CAstore"],
        "an unknown authority, TLS 1.2": ["-no-CApath", "-no-CAstore", "-tls1_2"],
    }
    problems = []
    with tls_server(program) as (process, relay, cert):
        def printed() -> list[str]:
            """The two lines of a failed handshake, which come together."""
            readable = select.select([process.stdout], [], [], 20)[0]
            return [process.stdout.readline().strip() for _ in range(2)] if readable else ["nothing", ""]

        # The connection that found the server.
        printed()
        for failed, (name, options) in enumerate(clients.items(), 2):
            subprocess.run([*s_client, f"127.0.0.1:{relay.port}", *options], input=b"", capture_output=True, timeout=30)
            own = list(relay.sent)[-1]
            lines, expected = printed(), (f"{own}: {relay.ja4(own)}, ", f"{failed} failed, 0 completed")
            if not lines[0].startswith(expected[0]) or lines[1] != expected[1]:
                problems.append(f"{name}: {lines}, not {expected}")
            print(f"  {name}: {lines[0]}")
        run("curl", "-s", "--cacert", cert, f"https://localhost:{relay.port}/")
        with socket.create_connection(("127.0.0.1", relay.port)) as client:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            lines = printed()
        if "no ClientHello" not in lines[0] or lines[1] != f"{len(clients) + 2} failed, 1 completed":
            problems.append(f"not TLS: {lines}")
    return len(clients) + 2, problems


def time_of(program: pathlib.Path, *arguments: object) -> str:
    """Wall and processor time of a run over the capture of the times: the smallest of ten."""
    given = "".join(f"{packet.nanos} {packet.ip.hex()}\n" for packet in packets(TIMED))
    runs = []
    for _ in range(10):
        begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        run(program, *map(str, arguments), stdin=given)
        end, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        runs.append((end - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    wall, processor = map(min, zip(*runs))
    return f"{wall * 1000:.0f} / {processor * 1000:.0f} ms"


def with_table(page: str, times: dict[str, str]) -> str:
    """The page with the table of today. Without a new time, that of the page stays."""
    start = page.index(HEAD) + len(HEAD)
    end = page.index("\n\n", start - 1) + 1
    old = dict(re.findall(r"^\| \[`(\w+)`\].*?\| (\d+ / \d+ ms) \|", page[start:end], re.MULTILINE))
    rows = []
    for manifest in [*ROOT.glob("huginn-net*/Cargo.toml"), ROOT / "examples" / "Cargo.toml"]:
        package = tomllib.loads(manifest.read_text())
        programs = package.get("bin", []) if manifest.parent.name == "examples" else package.get("example", [])
        for example in programs:
            path = (manifest.parent / example["path"]).resolve()
            if path.parent.name != "examples":
                continue
            name, lines = example["name"], path.read_text().splitlines()
            crates = crates_of(manifest, example.get("required-features", []))
            time = times.get(name, old.get(name, "-"))
            rows.append(f"| [`{name}`](../{path.relative_to(ROOT)}) | {len(lines)} | {crates} | {time} | {COMPARED[name]} |\n")
            if len(lines) > MAX_LINES:
                sys.exit(f"{path.name}: more than {MAX_LINES} lines")
    program = re.search(r"```c\n(.*?)```", C_PAGE.read_text(), re.DOTALL)[1].splitlines()
    crates = crates_of(ROOT / "huginn-net-ffi" / "Cargo.toml", [])
    rows.append(f"| [C]({C_PAGE.name}) | {len(program)} | {crates} | - | {C_COMPARED} |\n")
    page = page[:start] + "".join(sorted(rows)) + page[end:]
    return TAIL.sub(f"\nTimes of {datetime.date.today()}: {TIMES}\n", page) if times else page


def crates_of(manifest: pathlib.Path, features: list[str]) -> int:
    """Crates that a library is built of, or a program outside the workspace."""
    command = ["cargo", "tree", "--locked", "--manifest-path", manifest, "-e", "normal", "--prefix", "none", "--features", ",".join(features)]
    tree = subprocess.check_output(command, cwd=ROOT, text=True)
    return len(set(re.findall(r"^(\S+ v\S+)", tree, re.MULTILINE)))


if __name__ == "__main__":
    main()
