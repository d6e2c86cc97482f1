#!/usr/bin/python3
"""Splits the SYN and the SYN+ACK of recorded connections into IP fragments, in every way that a decoder must support.

    fragment.py ETHERNET.pcap OUT.pcap

The output has one connection per entry of VARIANTS. Kernels do not fragment segments this short.
"""

import struct
import sys

from packets import ETHERNET, connections, ether, with_checksum, write

# Fragments of the 40-byte segment as (first byte, end), in the order of transmission.
VARIANTS = [
    [(0, 24), (24, 40)],
    [(24, 40), (0, 24)],
    [(8, 16), (32, 40), (0, 8), (24, 32), (16, 24)],
    [(0, 24), (0, 24), (24, 40)],
    [(0, 32), (16, 40)],
]


def main(source, target):
    recorded = connections(source)[0]
    frames = []
    for index, way in enumerate(VARIANTS):
        for packet in (p.in_connection(index) for p in recorded):
            if packet.flags & 0x02:
                pieces = [fragment(packet, index, *piece) for piece in way]
            else:
                pieces = [packet.ip]
            frames += [(packet.nanos + i, ether(packet, packet.ether_type, ip)) for i, ip in enumerate(pieces)]
    write(target, ETHERNET, frames)


def fragment(packet, index, first, end):
    header, segment = packet.ip[: packet.tcp_at], packet.ip[packet.tcp_at :]
    more = end < len(segment)
    identification = 0x4000 + 2 * index + packet.from_client
    if packet.version == 4:  # RFC 791, section 3.1
        length_to_offset = struct.pack("!HHH", 20 + end - first, identification, more << 13 | first // 8)
        return with_checksum(header[:2] + length_to_offset + header[8:]) + segment[first:end]
    # RFC 8200, section 4.5
    header = header[:4] + struct.pack("!HB", 8 + end - first, 44) + header[7:]
    return header + struct.pack("!BBHI", 6, 0, first | more, identification) + segment[first:end]


if __name__ == "__main__":
    main(*sys.argv[1:])
