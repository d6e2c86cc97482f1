#!/usr/bin/python3
"""Adds the program that sent them to recorded packets of curl, in each form that a capture can have. These programs run on
macOS and Android only, or need the host's network.

    label.py tls-curl.pcap DIRECTORY

Writes labelled-pktap.pcap, labelled-blocks.pcapng, labelled-pcapdroid.pcap, and labelled-list.pcap with its list. Each has the
first connection over IPv4 and the first over IPv6. The docstring of each function cites the description of its format.
"""

import binascii
import datetime
import json
import os
import socket
import struct
import sys

from packets import CLIENT_MAC, ETHERNET, read, write

PKTAP, RAW = 258, 12
IN, OUT = 1, 2
PROCESS_ID, NAME, USER = 4711, b"curl", 10123


def main():
    source, folder = sys.argv[1:]
    frames = first_connections(read(source))
    path = lambda name: os.path.join(folder, "labelled-" + name)
    write(path("pktap.pcap"), PKTAP, [(nanos, pktap(frame) + frame[14:]) for nanos, frame in frames])
    write_blocks(path("blocks.pcapng"), frames)
    write(path("pcapdroid.pcap"), ETHERNET, [(nanos, pcapdroid(frame)) for nanos, frame in frames])
    write(path("list.pcap"), ETHERNET, frames)
    with open(path("list.pcap.connections.jsonl"), "w", encoding="ascii") as f:
        for line in connection_list(frames):
            f.write(json.dumps(line, separators=(",", ":")) + "\n")


def first_connections(frames):
    """The first connection of each IP version, up to the ClientHello and its answer."""
    ports, found = {}, []
    for nanos, frame in frames:
        port = ends(frame)[0][1]
        if ports.setdefault(frame[12:14], port) == port and sum(ends(f)[0][1] == port for _, f in found) < 6:
            found.append((nanos, frame))
    return found


def from_client(frame):
    return frame[6:12] == CLIENT_MAC


def ends(frame):
    """Addresses and ports of client and server."""
    family, at, size, tcp = (socket.AF_INET, 26, 4, 34) if frame[12:14] == b"\x08\x00" else (socket.AF_INET6, 22, 16, 54)
    texts = [socket.inet_ntop(family, frame[at + i * size : at + (i + 1) * size]) for i in range(2)]
    pairs = list(zip(texts, struct.unpack_from("!2H", frame, tcp)))
    return pairs if from_client(frame) else pairs[::-1]


def pktap(frame):
    """`struct pktap_header` in net/pktap.h of macOS, as tcpdump's print-pktap.c reads it; little-endian."""
    family = 2 if frame[12:14] == b"\x08\x00" else 30
    direction = OUT if from_client(frame) else IN
    head = struct.pack("<3I24s5I", 108, 1, RAW, b"utun0", direction, family, 0, 0, PROCESS_ID)
    return head + struct.pack("<20sIHHI20s", NAME, 0, 1, 0, 0, b"")


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def write_blocks(path, frames):
    """pcapng (draft-ietf-opsawg-pcapng) with the process information block 0x80000001 and the packet options 2 (flags) and
    0x8001 (its index) of pcap/pcap-ng.h in Apple's libpcap."""
    parts = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", ETHERNET, 0, 0) + option(9, b"\x09") + option(0, b"")),
        block(0x80000001, struct.pack("<I", PROCESS_ID) + option(2, NAME) + option(0, b"")),
    ]
    for nanos, frame in frames:
        direction = OUT if from_client(frame) else IN
        options = option(2, struct.pack("<I", direction)) + option(0x8001, struct.pack("<I", 0)) + option(0, b"")
        head = struct.pack("<5I", 0, nanos >> 32, nanos & 0xFFFFFFFF, len(frame), len(frame))
        parts.append(block(6, head + frame + bytes(-len(frame) % 4) + options))
    with open(path, "wb") as f:
        f.write(b"".join(parts))


def pcapdroid(frame):
    """PCAPdroid's user guide, section "PCAPdroid trailer": an Ethernet header of zeros, the IP packet, padding to four bytes,
    then magic, user, name of the app, and the checksum of the frame; big-endian."""
    frame = bytes(12) + frame[12:]
    frame += bytes(-len(frame) % 4) + struct.pack("!Ii20s", 0x01072021, USER, NAME)
    return frame + struct.pack("!I", binascii.crc32(frame))


def connection_list(frames):
    """rustnet's USAGE.md, section "PCAP Export"; with `version`, which rustnet does not write."""
    times = {}
    for nanos, frame in frames:
        times.setdefault(tuple(ends(frame)), []).append(nanos)
    text = lambda end: f"[{end[0]}]:{end[1]}" if ":" in end[0] else f"{end[0]}:{end[1]}"
    for (local, remote), seen in times.items():
        first, last = (
            datetime.datetime.fromtimestamp(nanos // 10**9, datetime.timezone.utc).isoformat() for nanos in (seen[0], seen[-1])
        )
        yield {
            "timestamp": last,
            "protocol": "TCP",
            "local_addr": text(local),
            "remote_addr": text(remote),
            "pid": PROCESS_ID,
            "process_name": NAME.decode(),
            "version": "7.88.1",
            "first_seen": first,
            "last_seen": last,
            "state": "ESTABLISHED",
        }


if __name__ == "__main__":
    main()
