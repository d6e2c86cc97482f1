#!/usr/bin/python3
"""Counts the Ethernet padding of pure ACKs as payload, as some network cards do.

    pad.py ETHERNET.pcap OUT.pcap

An IPv4 packet of 40 bytes is shorter than the minimum of Ethernet, so its frame has 6 bytes of padding. The script sets the
IP total length to 46. It removes timestamps (RFC 7323), with which an ACK needs no padding, and drops IPv6 packets.
"""

import struct
import sys

from packets import CLIENT_MAC, ETHERNET, Packet, checksum, ether, read, with_checksum, write

ETHERNET_MIN = 46
ACK = 0x10
TIMESTAMPS = 8


def main(source, target):
    frames = []
    for nanos, frame in read(source):
        packet = Packet(nanos, frame[14:], frame[6:12] == CLIENT_MAC)
        if packet.version == 4:
            frames.append((nanos, ether(packet, packet.ether_type, padded(packet))))
    write(target, ETHERNET, frames)


def padded(packet):
    length = struct.unpack_from("!H", packet.ip, 2)[0]
    header, segment = packet.ip[: packet.tcp_at], packet.ip[packet.tcp_at : length]
    data_at = (segment[12] >> 4) * 4
    options, payload = without_timestamps(segment[20:data_at]), segment[data_at:]
    if packet.flags == ACK and not payload:
        payload = bytes(ETHERNET_MIN - len(header) - 20 - len(options))
    offset = bytes([(20 + len(options)) // 4 << 4 | segment[12] & 15])
    segment = segment[:12] + offset + segment[13:16] + b"\0\0" + segment[18:20] + options + payload
    pseudo_header = header[12:20] + struct.pack("!BBH", 0, 6, len(segment))
    segment = segment[:16] + struct.pack("!H", checksum(pseudo_header + segment)) + segment[18:]
    return with_checksum(header[:2] + struct.pack("!H", len(header) + len(segment)) + header[4:]) + segment


def without_timestamps(options):
    """The options (RFC 9293, section 3.1) in multiples of four bytes, padded in front."""
    kept, at = b"", 0
    while at < len(options) and options[at] != 0:
        length = 1 if options[at] == 1 else options[at + 1]
        if options[at] not in (1, TIMESTAMPS):
            kept += options[at : at + length]
        at += length
    return b"\1" * (-len(kept) % 4) + kept


if __name__ == "__main__":
    main(*sys.argv[1:])
