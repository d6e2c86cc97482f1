#!/usr/bin/python3
"""Writes packets of four addresses that several systems share: craft.py SIGNATURES OUT.pcap

A random generator with a fixed seed chooses the systems from the signatures. rules.p0f has the output of p0f 3.09b:
    ./craft.py signatures.fp rules.pcap
    TZ=UTC0UTC0,M3.2.0,M11.1.0 p0f -f signatures.fp -r rules.pcap -o log
    grep '] mod=host change|\\|] mod=ip sharing|\\|] mod=uptime|' log >rules.p0f
The time zone is UTC, with a name that makes p0f parse every Date in the same way; see captures/tools/golden.sh.
"""

import dataclasses
import email.utils
import ipaddress
import pathlib
import random
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "captures" / "tools"))
from packets import ETHERNET, Packet, checksum, ether, with_checksum, write  # noqa: E402

SEED = 35
CONNECTIONS = 190
START = 1_700_000_000_000  # ms
FIN, SYN, RST, PSH, ACK = (1 << bit for bit in range(5))
ADDRESSES = [ipaddress.ip_address(f"192.0.2.{n}").packed for n in range(1, 5)]
# TCP options by their names in signatures (RFC 9293, section 3.2; RFC 7323; RFC 2018).
FIXED = {"nop": b"\1", "sok": b"\4\2"}

lot = random.Random(SEED)


@dataclasses.dataclass
class Stack:
    """The TCP stack of a system: properties of its SYNs or SYN+ACKs, and its clock."""

    ttl: int
    mss: int
    window: int
    scale: int
    layout: list
    quirks: set
    hz: float
    clock: int
    """The value of the clock at 0 ms."""

    def value(self, millis):
        if "ts1-" in self.quirks:
            return 0
        return int(self.clock + millis * self.hz / 1000) & 0xFFFFFFFF

    @property
    def has_clock(self):
        return "ts" in self.layout

    def options(self, millis, peer):
        pieces = {
            "mss": struct.pack("!BBH", 2, 4, self.mss),
            "ws": struct.pack("!BBB", 3, 3, self.scale),
            "ts": struct.pack("!BBII", 8, 10, self.value(millis), peer),
        }
        options = b"".join({**FIXED, **pieces}[name] for name in self.layout)
        return options + b"\1" * (-len(options) % 4)


def stack(signature):
    """Returns a stack that matches a signature, or sometimes nearly matches it."""
    _, ttl, _, mss, window, layout, quirks, _ = signature.split(":")
    size, scale = window.split(",")
    mss = lot.choice([1460, 1460, 1400, 536]) if mss == "*" else int(mss)
    factor = re.fullmatch(r"mss\*(\d+)", size)
    made = Stack(
        ttl=int(ttl.rstrip("-")) - lot.choice([0, 0, 1, 3, 6, 9, 10, 12]),
        mss=mss,
        window=int(factor[1]) * mss if factor else lot.choice([1111, 29200]) if size == "*" else int(size),
        scale=lot.randrange(15) if scale == "*" else int(scale),
        layout=layout.split(","),
        quirks=set(quirks.split(",")),
        hz=lot.choice([100, 250, 1000, 1000, 2, 1600]),
        clock=lot.choice([0, 2**32 - 5000 - START, lot.randrange(2**32), lot.randrange(2**32)]),
    )
    for change in lot.sample(range(5), lot.choice([0, 0, 0, 1, 1, 2])):
        match change:
            case 0:
                made.quirks -= {"df", "id+"}
            case 1:
                made.quirks ^= {lot.choice(["ecn", "pushf+", "0+"])}
            case 2:
                made.ttl = lot.choice([20, min(made.ttl + 4, 255)])
            case 3:
                made.layout = lot.choice([["mss"], ["mss", "sok"], ["mss", "ts"]])
            case 4:
                made.window = lot.choice([12345, 1024])
    return made


@dataclasses.dataclass
class System:
    client: Stack
    server: Stack
    port: int
    port_step: int


def systems(signatures):
    def drawn(section):
        return stack(lot.choice(signatures[section]))

    step = lot.choice([1, 1, 1, -63, -64, -70])
    return System(drawn("tcp:request"), drawn("tcp:response"), lot.randrange(20000, 60000), step)


def signatures_of(path):
    sections = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        elif line.startswith("sig"):
            section.append(line.split("=", 1)[1].strip())
    return sections


def head(signatures, first_line, software, date=None):
    """Returns a head that matches a signature, or an unknown one."""
    fields = lot.choice(["Host", "Host,User-Agent", "X-Unknown", "Server"])
    claimed = "x"
    if lot.random() < 0.8:
        version, fields, _, claimed = lot.choice(signatures).split(":")
        first_line = first_line.replace("1.1", "1.0") if version == "0" else first_line
        claimed = "x" if lot.random() < 0.1 else claimed or "x"
    lines = [first_line]
    for field in fields.split(","):
        name, _, value = field.lstrip("?").partition("=")
        if name == software:
            claims = [claimed, f"{claimed} (Alpha)", f"{claimed} (Beta)", f"{claimed} (GAM)", f"{claimed} Delta Beta"]
            lines.append(f"{name}: {lot.choice(claims)}")
        elif not field.startswith("?") or lot.random() < 0.5:
            lines.append(f"{name}: {value.strip('[]') or 'x'}")
    if lot.random() < 0.08:
        lines.append("Via: 1.1 proxy")
    if date and lot.random() < 0.4:
        lines.append(f"Date: {date}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Connection:
    def __init__(self, millis, client, server, ports, stacks):
        self.millis, self.ends, self.ports, self.stacks = millis, (client, server), ports, stacks
        self.seq = [lot.randrange(1, 2**31), lot.randrange(1, 2**31)]
        self.echo = [0, 0]
        self.hops = 0
        self.frames = []

    def handshake(self, side):
        stack, other = self.stacks[side], 1 - side
        flags = SYN | (ACK if side else 0) | (PSH if "pushf+" in stack.quirks else 0)
        self.send(side, flags, options=stack.options(self.millis, self.echo[other]), stack=stack)
        self.echo[side] = stack.value(self.millis) if stack.has_clock else 0
        self.seq[side] += 1

    def segment(self, side, flags, payload=b""):
        stack, other = self.stacks[side], 1 - side
        options = b""
        if stack.has_clock:
            options = b"\1\1" + struct.pack("!BBII", 8, 10, stack.value(self.millis), self.echo[other])
        self.send(side, flags | ACK, payload, options)
        self.seq[side] += len(payload)

    def wait(self):
        self.millis += lot.choice([1, 5, 24, 25, 26, 99, 100, 101, 400, 1500])

    def send(self, side, flags, payload=b"", options=b"", stack=None):
        """IPv4 (RFC 791, section 3.1), TCP (RFC 9293, section 3.1)."""
        quirks = stack.quirks if stack else {"df", "id+"}
        addresses = b"".join(self.ends[:: -1 if side else 1])
        ack = self.seq[1 - side] if flags & ACK else 0
        offset = 5 + len(options) // 4
        ports = self.ports[:: -1 if side else 1]
        header = struct.pack("!HHIIBBHHH", *ports, self.seq[side], ack, offset << 4, flags, 0, 0, 0)
        if stack:
            header = header[:14] + struct.pack("!H", stack.window) + header[16:]
        segment = header + options + payload
        total = checksum(addresses + struct.pack("!II", len(segment), 6) + segment)
        segment = segment[:16] + struct.pack("!H", total) + segment[18:]
        dont_fragment = "df" in quirks
        fragment = 0x4000 * dont_fragment | 0x8000 * ("0+" in quirks)
        identifier = 0 if dont_fragment and "id+" not in quirks else 7
        ttl = self.stacks[side].ttl - self.hops
        tos = 2 if "ecn" in quirks else 0
        ip = struct.pack("!BBHHHBBH", 0x45, tos, 20 + len(segment), identifier, fragment, ttl, 6, 0)
        packet = Packet(0, with_checksum(ip + addresses) + segment, side == 0)
        self.frames.append((self.millis * 10**6, ether(packet, packet.ether_type, packet.ip)))


def connection(signatures, known, millis):
    client, server = lot.sample(ADDRESSES, 2)
    caller, called = lot.choice(known[client]), lot.choice(known[server])
    caller.port += caller.port_step
    made = Connection(
        millis, client, server, (caller.port, lot.choice([80, 80, 8080])), (caller.client, called.server)
    )
    made.hops = lot.choice([0, 0, 0, 1, 2, 3])
    made.handshake(0)
    if lot.random() < 0.1:
        return made
    made.wait()
    made.handshake(1)
    made.wait()
    made.segment(0, 0)
    if lot.random() < 0.8:
        made.wait()
        made.segment(0, PSH, head(signatures["http:request"], "GET /index HTTP/1.1", "User-Agent"))
        if lot.random() < 0.85:
            made.wait()
            off = lot.choice([0, 0, 0, 0, 10, -10, -11, 11, 3600])
            date = email.utils.formatdate(made.millis // 1000 + off, usegmt=True)
            made.segment(1, PSH, head(signatures["http:response"], "HTTP/1.1 200 OK", "Server", date))
    if lot.random() < 0.3:
        made.wait()
        made.segment(lot.choice([0, 1]), lot.choice([0, FIN, RST]))
    return made


def main(signatures, target):
    signatures = signatures_of(signatures)
    known = {address: [systems(signatures) for _ in range(lot.choice([1, 2, 3]))] for address in ADDRESSES}
    frames, millis = [], START
    for _ in range(CONNECTIONS):
        made = connection(signatures, known, millis)
        frames += made.frames
        millis = made.millis + lot.choice([1, 100, 1000, 5000, 30000])
        if lot.random() < 0.1:
            address = lot.choice(ADDRESSES)
            known[address] = [systems(signatures) for _ in range(lot.choice([1, 2]))]
    write(target, ETHERNET, frames)


if __name__ == "__main__":
    main(*sys.argv[1:])
