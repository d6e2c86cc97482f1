#!/usr/bin/python3
"""Keeps the first packets of every flow of an Ethernet capture: the handshake without the data after it.

    trim.py FROM.pcap TO.pcap PACKETS
"""

import collections
import sys

from packets import ETHERNET, read, write


def flow(frame):
    """Returns a key that both directions of a TCP or UDP flow share."""
    ip = frame[14:]
    if ip[0] >> 4 == 4:
        addresses, ports = (ip[12:16], ip[16:20]), ip[(ip[0] & 15) * 4 :]
    else:
        addresses, ports = (ip[8:24], ip[24:40]), ip[40:]
    return frozenset(zip(addresses, (ports[:2], ports[2:4])))


def main(source, target, packets):
    kept, seen = [], collections.Counter()
    for nanos, frame in read(source):
        seen[flow(frame)] += 1
        if seen[flow(frame)] <= int(packets):
            kept.append((nanos, frame))
    write(target, ETHERNET, kept)


if __name__ == "__main__":
    main(*sys.argv[1:])
