#!/usr/bin/python3
"""Writes SYNs and SYN+ACKs with one oddity at a time: craft.py OUT.pcap; or SYNs that are repeated: craft.py --repeated OUT.pcap

The client port of a packet is 40000 plus the index in SYNS. The goldens have the output of p0f for each packet.
"""

import dataclasses
import ipaddress
import struct
import sys

from packets import ETHERNET, Packet, checksum, ether, with_checksum, write

START = 1_700_000_000
CLIENT4, SERVER4 = (ipaddress.ip_address(a).packed for a in ("192.0.2.1", "192.0.2.2"))
CLIENT6, SERVER6 = (ipaddress.ip_address(a).packed for a in ("2001:db8::1", "2001:db8::2"))

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
NS = 0x100

# TCP options (RFC 9293, section 3.2; RFC 7323; RFC 2018).
EOL, NOP, SACK_OK = "00", "01", "0402"
MSS, SCALE = "020405b4", "030307"
TIMES = "080a 00010000 00000000"
LINUX = MSS + SACK_OK + TIMES + NOP + SCALE


@dataclasses.dataclass
class Syn:
    """A SYN or SYN+ACK; the defaults are those of Linux."""

    version: int = 4
    tos: int = 0
    flow_label: int = 0
    id: int = 0x1234
    fragment: int = 0x4000  # DF
    ttl: int = 64
    ip_options: str = ""
    seq: int = 0x01020304
    ack: int | None = None  # None: 0 in a SYN, the acknowledgement of the SYN in a SYN+ACK
    flags: int = SYN
    window: int = 65535
    urgent: int = 0
    options: str = LINUX
    data_offset: int | None = None
    payload: bytes = b""
    answer: "Syn | None" = None


SYNS = [
    Syn(),
    # The IPv4 header.
    Syn(fragment=0),
    Syn(fragment=0, id=0),
    Syn(id=0),
    Syn(fragment=0xC000),
    Syn(tos=0x01),
    Syn(tos=0x02),
    Syn(tos=0x10),
    Syn(tos=0xBB),
    Syn(ip_options="94040000"),
    *(Syn(ttl=ttl) for ttl in (1, 28, 29, 32, 33, 63, 65, 92, 93, 128, 129, 200, 255)),
    # The IPv6 header.
    Syn(version=6),
    Syn(version=6, flow_label=0xABCDE),
    Syn(version=6, tos=0x03),
    Syn(version=6, tos=0xB8),
    # The fixed part of the TCP header.
    Syn(seq=0),
    Syn(ack=0xFFFFFFFF),
    Syn(urgent=1),
    Syn(flags=SYN | URG),
    Syn(flags=SYN | URG, urgent=1),
    Syn(flags=SYN | PSH),
    Syn(flags=SYN | ECE | CWR),
    Syn(flags=SYN | NS),
    Syn(flags=SYN | CWR),
    Syn(payload=b"data"),
    # Segments that p0f does not take for a SYN.
    Syn(flags=SYN | FIN),
    Syn(flags=SYN | RST),
    Syn(flags=0),
    Syn(data_offset=4),
    Syn(data_offset=15),
    # Windows.
    *(Syn(window=window) for window in (0, 1, 1460, 1448, 2920, 2896, 5840, 14600, 64240, 65160)),
    *(Syn(window=window) for window in (1500, 3000, 15000, 1440, 4284, 8192, 16384, 32768)),
    *(Syn(window=window, options="020404d8" + NOP + SCALE) for window in (1240, 1280, 4960, 12800, 1252, 2504)),
    *(Syn(window=window, options=MSS) for window in (1448, 1500, 1504, 4344)),
    *(Syn(version=6, window=window, options="020405a0" + NOP * 2 + TIMES) for window in (1440, 1428, 1500, 2856, 1460)),
    Syn(window=1000, options="02040064"),
    Syn(window=990, options="02040063"),
    # Options.
    Syn(options=""),
    Syn(options="02040000"),
    Syn(options=MSS + SACK_OK + NOP * 2),
    Syn(options=SACK_OK + EOL + EOL),
    Syn(options=MSS + EOL + "000000"),
    Syn(options=MSS + EOL + "010000"),
    Syn(options=MSS + EOL + "000001"),
    Syn(options=EOL + "00" * 39),
    Syn(options=MSS + "030300" + EOL),
    Syn(options=MSS + "03030e" + EOL),
    Syn(options=MSS + "03030f" + EOL),
    Syn(options=MSS + "0303ff" + NOP),
    Syn(options=MSS + NOP * 2 + "080a0000000000000000"),
    Syn(options=MSS + NOP * 2 + "080a0000000100000001"),
    Syn(options=MSS + NOP * 2 + "080a0000000000000001"),
    Syn(options=MSS + MSS),
    Syn(options=NOP * 24),
    Syn(options=NOP * 28),
    Syn(options=MSS + "1e04abcd"),
    Syn(options=MSS + "fe020101"),
    Syn(options=MSS + "050a0000000100000002" + NOP * 2),
    # Malformed options.
    Syn(options="02030505"),
    Syn(options="02050505 01010101"),
    Syn(options="020805b4 01010101"),
    Syn(options=MSS + "03040701"),
    Syn(options=MSS + "04030101"),
    Syn(options=MSS + NOP * 2 + "080900010000000000" + NOP),
    Syn(options=MSS + "08040001"),
    Syn(options=MSS + "0509" + "0001" * 5),
    Syn(options=MSS + "05230000"),
    Syn(options=MSS + "1e000101"),
    Syn(options=MSS + "1e010101"),
    Syn(options=MSS + "1e290101"),
    Syn(options=MSS + "1e080101"),
    Syn(options=MSS + NOP * 3 + "02"),
    Syn(options=MSS + NOP * 2 + "0204"),
    Syn(options=MSS + NOP * 3 + "03"),
    Syn(options=MSS + NOP * 3 + "08"),
    Syn(options=MSS + NOP * 3 + "1e"),
    # SYN+ACKs.
    Syn(answer=Syn()),
    Syn(answer=Syn(ttl=255, window=1460, options=MSS)),
    Syn(answer=Syn(ack=0)),
    Syn(answer=Syn(seq=0)),
    Syn(answer=Syn(flags=ECE)),
    Syn(answer=Syn(payload=b"data")),
    Syn(answer=Syn(options=MSS + NOP * 2 + "080a0000000100010000")),
    Syn(options="020403e8", answer=Syn(window=4000, options=MSS)),
    Syn(options="020403e8" + NOP * 2 + TIMES, answer=Syn(window=3952, options=MSS + NOP * 2 + TIMES)),
    Syn(version=6, answer=Syn(version=6, flow_label=5)),
    # The SYN of p0f-sendsyn.
    Syn(window=1337, options="02040533", answer=Syn(options=MSS)),
]


# Seconds after the first SYN at which it is repeated, as Linux does: p0f forgets it after 30 s, when it next counts 50 packets.
REPETITIONS = (0, 1, 2, 3, 4, 5, 7, 11, 19, 35.5, 68.8)
# Number of segments after each SYN that p0f counts and does not read.
BETWEEN = {40000: 10, 40001: 1}


def repeated(target):
    frames = []
    for flow, between in BETWEEN.items():
        start = START + 100 * (flow - 40000)
        for seconds in REPETITIONS:
            nanos = int((start + seconds) * 10) * 10**8
            frames.append((nanos, frame(Syn(), flow - 40000, from_client=True)))
            reset = frame(Syn(flags=RST, options=""), flow - 40000 + 10, from_client=True)
            frames += [(nanos + (number + 1) * 10**6, reset) for number in range(between)]
    write(target, ETHERNET, frames)


def main(*arguments):
    *options, target = arguments
    if options == ["--repeated"]:
        return repeated(target)
    frames = []
    for index, syn in enumerate(SYNS):
        nanos = (START + index) * 10**9
        frames.append((nanos, frame(syn, index, from_client=True)))
        if syn.answer:
            answer = dataclasses.replace(syn.answer, flags=syn.answer.flags | SYN | ACK)
            if answer.ack is None:
                answer.ack = syn.seq + 1
            frames.append((nanos + 1_000_000, frame(answer, index, from_client=False)))
    write(target, ETHERNET, frames)


def frame(syn, index, from_client):
    ends = (CLIENT4, SERVER4) if syn.version == 4 else (CLIENT6, SERVER6)
    addresses = b"".join(ends if from_client else ends[::-1])
    segment = tcp(syn, 40000 + index, from_client, addresses)
    packet = Packet(0, ip(syn, addresses, segment), from_client)
    return ether(packet, packet.ether_type, packet.ip)


def tcp(syn, client_port, from_client, addresses):
    """RFC 9293, section 3.1."""
    ports = (client_port, 80) if from_client else (80, client_port)
    options = bytes.fromhex(syn.options)
    assert len(options) % 4 == 0 and len(options) <= 40, syn.options
    offset = 5 + len(options) // 4 if syn.data_offset is None else syn.data_offset
    header = struct.pack(
        "!HHIIHHHH", *ports, syn.seq, syn.ack or 0, offset << 12 | syn.flags, syn.window, 0, syn.urgent
    )
    segment = header + options + syn.payload
    total = checksum(addresses + struct.pack("!II", len(segment), 6) + segment)
    return segment[:16] + struct.pack("!H", total) + segment[18:]


def ip(syn, addresses, segment):
    if syn.version == 6:  # RFC 8200, section 3
        first = 6 << 28 | syn.tos << 20 | syn.flow_label
        return struct.pack("!IHBB", first, len(segment), 6, syn.ttl) + addresses + segment
    # RFC 791, section 3.1
    options = bytes.fromhex(syn.ip_options)
    length = 20 + len(options)
    header = struct.pack(
        "!BBHHHBBH", 0x40 | length // 4, syn.tos, length + len(segment), syn.id, syn.fragment, syn.ttl, 6, 0
    )
    return with_checksum(header + addresses + options) + segment


if __name__ == "__main__":
    main(*sys.argv[1:])
