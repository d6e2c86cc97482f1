#!/usr/bin/env python3
"""Runs examples over the project's captures and compares what they print with the goldens of tshark and p0f: examples.py FOLDER

FOLDER has the programs. `examples.py --write` writes the table of examples in docs/library.md; without it, the table is compared.
"""

import collections
import json
import pathlib
import re
import select
import socket
import struct
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAPTURES = ROOT / "captures"
PAGE = ROOT / "docs" / "library.md"
HEAD = "| example | lines | crates | compared with |\n|---|---|---|---|\n"
# What prints the same as each example. Those without a golden have a test that says what they print.
COMPARED = {
    "axum_proxy": "the events of a recording, for real clients (`ci/proxy.sh`)",
    "axum_verdict": "-",
    "count_systems": "p0f",
    "dns_and_mqtt": "the events of the capture (`huginn-net-arrow/tests/own_protocols.rs`)",
    "failed_handshakes": "-",
    "http3_server": "the events of a recording, for real clients (`ci/proxy.sh`)",
    "live": "-",
    "merge_hosts": "one analysis of all captures (`huginn-net/tests/it/examples.rs`)",
    "one_packet": "p0f",
    "own_protocol": "the bytes of the capture",
    "own_ring": "the events of the capture (`huginn-net/tests/it/examples.rs`)",
    "pcap_ja4": "tshark",
    "push_frames": "-",
    "quic_datagrams": "tshark",
    "tls_hello": "tshark",
    "tls_pass_through": "the events of a recording, for real clients (`ci/proxy.sh`)",
    "watch_rule": "the events of the capture (`huginn-net/tests/it/examples.rs`)",
}
TCP, UDP = 6, 17
SYN, ACK = 2, 16

Packet = collections.namedtuple("Packet", "ip src dst protocol flags payload")


def main() -> None:
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(with_table(PAGE.read_text()))
        return
    folder = pathlib.Path(sys.argv[1]).resolve()
    checks = [pcap_ja4, tls_hello, quic_datagrams, one_packet, count_systems, own_protocol]
    problems = []
    for check in checks:
        compared, found = check(folder / check.__name__)
        problems += [f"{check.__name__}: {problem}" for problem in found]
        if not compared:
            problems.append(f"{check.__name__}: nothing was compared")
        print(f"{check.__name__}: {compared} compared, {len(found)} differ")
    page = PAGE.read_text()
    if with_table(page) != page:
        problems.append("docs/library.md: the table of examples is not current: ci/examples.py --write")
    if problems:
        sys.exit("\n".join(problems))


def run(program: pathlib.Path, *arguments: str) -> list[str]:
    ran = subprocess.run([program, *arguments], stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT)
    return ran.stdout.splitlines()


def with_golden(kind: str) -> list[tuple[pathlib.Path, list[list[str]]]]:
    """The captures that have a golden, with the cells of its lines."""
    goldens = sorted(CAPTURES.glob(f"*/*/*.{kind}"))
    found = []
    for golden in goldens:
        capture = next((golden.with_suffix(end) for end in (".pcap", ".pcapng") if golden.with_suffix(end).exists()), None)
        if capture:
            found.append((capture, [line.split("\t") for line in golden.read_text().splitlines()]))
    return found


def address(ip: str, port: str) -> str:
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def packets(path: pathlib.Path) -> list[Packet]:
    """The TCP segments and UDP datagrams of a pcap file with plain Ethernet or raw IP; of others none."""
    data = path.read_bytes()
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}.get(data[:4])
    if not order:
        return []
    link, = struct.unpack_from(order + "I", data, 20)
    start = {1: 14, 101: 0}.get(link)
    at, found = 24, []
    while start is not None and at + 16 <= len(data):
        length, = struct.unpack_from(order + "I", data, at + 8)
        packet = parse(data[at + 16 + start : at + 16 + length])
        if packet and (link != 1 or data[at + 28 : at + 30] in (b"\x08\x00", b"\x86\xdd")):
            found.append(packet)
        at += 16 + length
    return found


def parse(ip: bytes) -> Packet | None:
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
    return Packet(ip, address(src, str(ports[0])), address(dst, str(ports[1])), protocol, flags, ip[data:])


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
                        try:
                            client.send(datagram)
                        except ConnectionRefusedError:
                            # The example has not opened its socket yet.
                            select.select([], [], [], 0.5)
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


def with_table(page: str) -> str:
    """The page with the table of today."""
    rows = []
    for manifest in sorted(ROOT.glob("huginn-net*/Cargo.toml")):
        package = tomllib.loads(manifest.read_text())
        for example in package.get("example", []):
            path = (manifest.parent / example["path"]).resolve()
            if path.parent.name != "examples":
                continue
            features = ",".join(example.get("required-features", []))
            command = ["cargo", "tree", "--locked", "-p", package["package"]["name"], "-e", "normal", "--prefix", "none", "--features", features]
            tree = subprocess.check_output(command, cwd=ROOT, text=True)
            crates = len(set(re.findall(r"^(\S+ v\S+)", tree, re.MULTILINE)))
            lines = len(path.read_text().splitlines())
            name = example["name"]
            rows.append(f"| [`{name}`](../{path.relative_to(ROOT)}) | {lines} | {crates} | {COMPARED[name]} |\n")
    start = page.index(HEAD) + len(HEAD)
    end = page.index("\n\n", start - 1) + 1
    return page[:start] + "".join(sorted(rows)) + page[end:]


if __name__ == "__main__":
    main()
