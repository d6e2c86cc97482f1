#!/usr/bin/python3
"""Wraps recorded packets in headers that the kernel cannot send, one file for each tunnel or link type.

    wrap.py IPV4.pcap IPV6.pcap DIRECTORY

Each file has the first connection of both captures in every variant of its headers, each with its own client port. The
docstring of each function cites the specification of its header.
"""

import dataclasses
import ipaddress
import os
import struct
import sys

from packets import CLIENT_MAC, ETHERNET, SERVER_MAC, checksum, connections, ether, with_checksum, write

NULL, PPP, PPP_HDLC, PPP_ETHER, IEEE802_11, LOOP, RADIOTAP, IPV4, IPV6 = 0, 9, 50, 51, 105, 108, 127, 228, 229
RAW_BSD, RAW_OPENBSD = 12, 14

AP_MAC = bytes.fromhex("02000000000c")
OUTER4 = [ipaddress.ip_address(a).packed for a in ("203.0.113.1", "203.0.113.2")]
OUTER6 = [ipaddress.ip_address(a).packed for a in ("2001:db8:ffff::1", "2001:db8:ffff::2")]


def ipv4(ends, protocol, payload):
    """RFC 791."""
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 7, 0, 60, protocol, 0, *ends(OUTER4))
    return with_checksum(header) + payload


def ipv6(ends, protocol, payload):
    """RFC 8200."""
    return struct.pack("!IHBB16s16s", 6 << 28, len(payload), protocol, 60, *ends(OUTER6)) + payload


def udp4(ends, ports, payload):
    """RFC 768; an unused checksum is 0."""
    return ipv4(ends, 17, struct.pack("!4H", *ports, 8 + len(payload), 0) + payload)


def inner_ether(p):
    return ether(p, p.ether_type, p.ip)


def ether4(p, packet):
    return ether(p, 0x0800, packet)


def snap(p):
    """IEEE 802.2 with SNAP (RFC 1042)."""
    return bytes.fromhex("aaaa03000000") + struct.pack("!H", p.ether_type) + p.ip


def tagged(p, *tags):
    """IEEE 802.1Q: pairs of tag protocol and VLAN identifier, outermost first."""
    inside = b"".join(
        struct.pack("!HH", 0x2000 | vlan, following)
        for (_, vlan), (following, _) in zip(tags, (*tags[1:], (p.ether_type, 0)))
    )
    return ether(p, tags[0][0], inside + p.ip)


def mpls(p, *labels):
    """RFC 3032."""
    bottom = len(labels) - 1
    stack = b"".join(struct.pack("!I", label << 12 | (i == bottom) << 8 | 64) for i, label in enumerate(labels))
    return ether(p, 0x8847, stack + p.ip)


def pppoe(p):
    """RFC 2516."""
    return struct.pack("!BBHHH", 0x11, 0, 0x1234, len(p.ip) + 2, p.ppp_protocol) + p.ip


def gre(flags, protocol, fields, payload):
    """RFC 2784, RFC 2890."""
    return struct.pack("!HH", flags, protocol) + fields + payload


def gre_checksummed(p):
    body = gre(0xB000, p.ether_type, struct.pack("!HHII", 0, 0, 99, 5), p.ip)
    return body[:4] + struct.pack("!H", checksum(body)) + body[6:]


def pptp(p):
    """RFC 2637, section 4.1: enhanced GRE with call identifier, sequence and acknowledgement number."""
    frame = b"\xff\x03" + struct.pack("!H", p.ppp_protocol) + p.ip
    return gre(0x3081, 0x880B, struct.pack("!HHII", len(frame), 7, 5, 4), frame)


def erspan(p, version):
    """draft-foschiano-erspan-03: types I (no header), II and III."""
    if version == 1:
        return gre(0, 0x88BE, b"", inner_ether(p))
    sequence = struct.pack("!I", 5)
    if version == 2:
        return gre(0x1000, 0x88BE, sequence + struct.pack("!HHI", 0x1000 | 12, 77, 3), inner_ether(p))
    return gre(0x1000, 0x22EB, sequence + struct.pack("!HHIHH", 0x2000 | 12, 77, 1000, 0, 0x8000), inner_ether(p))


def vxlan(p):
    """RFC 7348."""
    return udp4(p.ends, (49152, 4789), struct.pack("!II", 0x08000000, 42 << 8) + inner_ether(p))


def geneve(p, protocol, payload, options=b""):
    """RFC 8926."""
    header = struct.pack("!BBHI", len(options) // 4, 0, protocol, 42 << 8)
    return udp4(p.ends, (49152, 6081), header + options + payload)


def gtpu(p, flags, optional=b""):
    """3GPP TS 29.281, section 5.1; one tunnel endpoint identifier for each direction."""
    teid = 0x1001 if p.from_client else 0x2002
    header = struct.pack("!BBHI", flags, 0xFF, len(optional) + len(p.ip), teid)
    return udp4(p.ends, (2152, 2152), header + optional + p.ip)


def capwap(p, native, frame):
    """RFC 5415, section 4.3: a data packet, in 802.3 or in the binding's own frame format."""
    header = struct.pack("!II", 2 << 19 | 1 << 14 | 1 << 9 | native << 8, 0)
    return udp4(p.ends, p.ends((49152, 5247)), header + frame)


def teredo(p, *indications):
    """RFC 4380, section 5.1.1."""
    return udp4(p.ends, p.ends((49152, 3544)), b"".join(indications) + p.ip)


TEREDO_AUTHENTICATION = struct.pack("!HBB4s4s8sB", 1, 4, 4, b"user", b"auth", b"noncenon", 0)
TEREDO_ORIGIN = bytes.fromhex("0000 3fff 34ff8efe")


def extended(p, *headers):
    """RFC 8200, section 4: extension headers as pairs of their number and their bytes after the next-header byte."""
    chain = b"".join(
        bytes([following]) + body for (_, body), (following, _) in zip(headers, (*headers[1:], (6, b"")))
    )
    length = struct.pack("!H", len(chain) + len(p.ip) - 40)
    return ether(p, 0x86DD, p.ip[:4] + length + bytes([headers[0][0]]) + p.ip[7:40] + chain + p.ip[40:])


HOP_BY_HOP = (0, bytes.fromhex("00 0502 0000 0100"))  # router alert (RFC 2711), PadN
ROUTING = (43, bytes.fromhex("00 fd 00 00000000"))  # experimental type (RFC 4727), no segment left
DESTINATION_OPTIONS = (60, bytes.fromhex("01 010c 000000000000000000000000"))  # PadN


def with_ip_options(p, options):
    """RFC 791, section 3.1."""
    length = 20 + len(options)
    header = bytes([0x40 | length // 4]) + p.ip[1:2] + struct.pack("!H", len(p.ip) + len(options)) + p.ip[4:20]
    return ether4(p, with_checksum(header + options) + p.ip[20:])


def family(order, number6):
    """BSD loopback: the address family, whose number for IPv6 differs from system to system."""
    return lambda p: struct.pack(order + "I", 2 if p.version == 4 else number6) + p.ip


def hdlc(p):
    """RFC 1662: address and control bytes."""
    return b"\xff\x03" + struct.pack("!H", p.ppp_protocol) + p.ip


def wifi(p, quality=False, four_addresses=False, pad=b"", swapped=False):
    """IEEE 802.11 data frame, to or from the access point, or between two of them."""
    control = bytes([0x88 if quality else 0x08, 3 if four_addresses else 1 if p.from_client else 2])
    source, destination = p.ends((CLIENT_MAC, SERVER_MAC))
    if four_addresses:
        addresses = AP_MAC + AP_MAC + destination
    elif p.from_client:
        addresses = AP_MAC + source + destination
    else:
        addresses = destination + AP_MAC + source
    header = (control[::-1] if swapped else control) + b"\0\0" + addresses + b"\0\0"
    header += source if four_addresses else b""
    header += b"\0\0" if quality else b""
    return header + pad + snap(p)


def radiotap(flags, frame):
    """https://www.radiotap.org: a header with the flags field alone; 0x10 a checksum follows, 0x20 padded header."""
    return struct.pack("<BBHIB", 0, 0, 9, 2, flags) + frame + (b"\xde\xad\xbe\xef" if flags & 0x10 else b"")


MADE = {
    "vlan": (ETHERNET, [lambda p: tagged(p, (0x8100, 12))]),
    "qinq": (
        ETHERNET,
        [
            lambda p: tagged(p, (0x88A8, 100), (0x8100, 12)),
            lambda p: tagged(p, (0x8100, 100), (0x8100, 12)),
            lambda p: tagged(p, (0x9100, 100), (0x8100, 12)),
        ],
    ),
    "mpls": (ETHERNET, [lambda p: mpls(p, 16001), lambda p: mpls(p, 16001 + p.from_client, 24005)]),
    "pppoe": (ETHERNET, [lambda p: ether(p, 0x8864, pppoe(p))]),
    "snap": (ETHERNET, [lambda p: ether(p, len(snap(p)), snap(p))]),
    "gre": (
        ETHERNET,
        [
            lambda p: ether4(p, ipv4(p.ends, 47, gre(0, p.ether_type, b"", p.ip))),
            lambda p: ether4(p, ipv4(p.ends, 47, gre(0x2000, p.ether_type, struct.pack("!I", 99), p.ip))),
            lambda p: ether4(p, ipv4(p.ends, 47, gre_checksummed(p))),
            lambda p: ether4(p, ipv4(p.ends, 47, gre(0, 0x6558, b"", inner_ether(p)))),
            lambda p: ether(p, 0x86DD, ipv6(p.ends, 47, gre(0, p.ether_type, b"", p.ip))),
        ],
    ),
    "pptp": (ETHERNET, [lambda p: ether4(p, ipv4(p.ends, 47, pptp(p)))]),
    "erspan": (
        ETHERNET,
        [lambda p, version=version: ether4(p, ipv4(p.ends, 47, erspan(p, version))) for version in (1, 2, 3)],
    ),
    "vxlan": (ETHERNET, [lambda p: ether4(p, vxlan(p))]),
    "geneve": (
        ETHERNET,
        [
            lambda p: ether4(p, geneve(p, 0x6558, inner_ether(p))),
            lambda p: ether4(p, geneve(p, 0x6558, inner_ether(p), bytes.fromhex("010205 01 12345678"))),
            lambda p: ether4(p, geneve(p, p.ether_type, p.ip)),
        ],
    ),
    "gtpu": (
        ETHERNET,
        [
            lambda p: ether4(p, gtpu(p, 0x30)),
            lambda p: ether4(p, gtpu(p, 0x32, bytes.fromhex("0005 00 00"))),  # sequence number
            lambda p: ether4(p, gtpu(p, 0x34, bytes.fromhex("0000 00 85 01 10 09 00"))),  # PDU session container
        ],
    ),
    "capwap": (ETHERNET, [lambda p: ether4(p, capwap(p, 0, inner_ether(p))), lambda p: ether4(p, capwap(p, 1, wifi(p)))]),
    "capwap-swapped": (ETHERNET, [lambda p: ether4(p, capwap(p, 1, wifi(p, quality=True, swapped=True)))]),
    "ip-in-ip": (
        ETHERNET,
        [
            lambda p: ether4(p, ipv4(p.ends, 4 if p.version == 4 else 41, p.ip)),
            lambda p: ether(p, 0x86DD, ipv6(p.ends, 4 if p.version == 4 else 41, p.ip)),
        ],
    ),
    "teredo": (
        ETHERNET,
        [
            lambda p: ether4(p, teredo(p)),
            lambda p: ether4(p, teredo(p, TEREDO_ORIGIN)),
            lambda p: ether4(p, teredo(p, TEREDO_AUTHENTICATION, TEREDO_ORIGIN)),
        ],
    ),
    "nested": (ETHERNET, [lambda p: tagged(dataclasses.replace(p, ip=vxlan(p)), (0x88A8, 100), (0x8100, 12))]),
    "ipv6-extensions": (
        ETHERNET,
        [
            lambda p: extended(p, HOP_BY_HOP),
            lambda p: extended(p, HOP_BY_HOP, DESTINATION_OPTIONS, ROUTING),
        ],
    ),
    "ip-options": (
        ETHERNET,
        [
            lambda p: with_ip_options(p, bytes.fromhex("94040000")),  # router alert (RFC 2113)
            lambda p: with_ip_options(p, bytes.fromhex("0101070b04") + bytes(8) + b"\0\0\0"),  # NOPs, record route
        ],
    ),
    "null-little-endian": (NULL, [family("<", number) for number in (24, 28, 30)]),
    "null-big-endian": (NULL, [family(">", number) for number in (24, 28, 30)]),
    "loop": (LOOP, [family(">", 24)]),
    "ppp": (PPP, [lambda p: struct.pack("!H", p.ppp_protocol) + p.ip, hdlc, lambda p: bytes([p.ppp_protocol]) + p.ip]),
    "ppp-hdlc": (PPP_HDLC, [hdlc]),
    "ppp-ether": (PPP_ETHER, [pppoe]),
    "raw-bsd": (RAW_BSD, [lambda p: p.ip]),
    "raw-openbsd": (RAW_OPENBSD, [lambda p: p.ip]),
    "raw-ipv4": (IPV4, [lambda p: p.ip]),
    "raw-ipv6": (IPV6, [lambda p: p.ip]),
    "wifi": (
        IEEE802_11,
        [wifi, lambda p: wifi(p, quality=True), lambda p: wifi(p, quality=True, four_addresses=True)],
    ),
    "wifi-radiotap": (
        RADIOTAP,
        [
            lambda p: radiotap(0, wifi(p)),
            lambda p: radiotap(0x10, wifi(p, quality=True)),
            lambda p: radiotap(0x20, wifi(p, quality=True, pad=b"\0\0")),
        ],
    ),
}

ONLY_VERSION = {"teredo": 6, "ipv6-extensions": 6, "ip-options": 4, "raw-ipv4": 4, "raw-ipv6": 6}


def main(ipv4_path, ipv6_path, directory):
    recorded = {4: connections(ipv4_path)[0], 6: connections(ipv6_path)[0]}
    for name, (link, wrappers) in MADE.items():
        frames, index = [], 0
        for wrapper in wrappers:
            for version, packets in recorded.items():
                if ONLY_VERSION.get(name, version) != version:
                    continue
                copies = [p.in_connection(index) for p in packets]
                frames += [(p.nanos, wrapper(p)) for p in copies]
                index += 1
        order = ">" if name == "null-big-endian" else "<"
        write(os.path.join(directory, f"made-{name}.pcap"), link, frames, order)


if __name__ == "__main__":
    main(*sys.argv[1:])
