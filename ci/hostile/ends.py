#!/usr/bin/env python3
"""Forges the end of connections of this project's captures, and checks that what comes after it is still reported.

    ci/hostile/ends.py PROGRAM [--every N] [--only TEXT] [--save FOLDER] [-v]

A copy of a capture has one of its TCP connections alone. After one of its segments come forged ones: a FIN or RST with exactly the number
that the receiver expects. Without them nothing changes, so neither side got them. The rest of the connection follows at once, or after
a pause of 4 s or 33 s. Every event of the connection must be the same as without the forgery.

The exit status is 1 if an event is missing or wrong, but for FINs that both sides seem to acknowledge.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from connections import ACK, FIN, RST, SYN  # noqa: E402
from evasion import TICK  # noqa: E402
from loss import HANDSHAKES, VALUES, Capture, files, handshake_values, key, pcap  # noqa: E402

PAUSES = (0, 4, 33)
# Connections of a capture, and segments of a connection, after which an end is forged.
MAX_CONNECTIONS, MAX_SEGMENTS = 2, 14
# Events that may come twice: a side of SSH whose direction seems to end is reported, and again once it sends its algorithms.
TWICE = {"ssh_client", "ssh_server"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the program huginn-net")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth forgery")
    parser.add_argument("--only", default="", metavar="TEXT", help="captures whose name contains this")
    parser.add_argument("--save", metavar="FOLDER", help="keep the captures with a missing or wrong event")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each such capture")
    arguments = parser.parse_args()
    folder = os.path.normpath(os.path.join(HERE, "../../captures"))
    paths = [path for path in sorted(files(folder)) if arguments.only in path and "/evasion/" not in path]
    totals, status = collections.defaultdict(collections.Counter), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for kinds, lines in pool.map(lambda job: judge(arguments, *job), enumerate(paths)):
            for (pause, end), counter in kinds.items():
                totals[pause, end].update(counter)
            for is_known, line in lines:
                status |= not is_known
                if arguments.verbose or not is_known:
                    print("" if is_known else "WRONG ", line, sep="", flush=True)
    print(f"{'pause':<7}{'end':<22}{'forgeries':>10}{'events':>10}  missing or wrong")
    for (pause, end), counter in sorted(totals.items()):
        wrong = ", ".join(f"{kind} {count}" for kind, count in sorted(counter.items()) if kind not in ("forgeries", "events"))
        print(f"{f'{pause} s':<7}{end:<22}{counter['forgeries']:>10}{counter['events']:>10}  {wrong or '-'}")
    sys.exit(status or not totals)


def judge(arguments, number, path):
    """Forges ends in a capture. Returns counters by pause and end, and lines about what is missing."""
    kinds, lines = collections.defaultdict(collections.Counter), []
    capture = Capture.read(path)
    if capture is None or capture.packets[0][2] != 1:
        return kinds, lines
    turn = number
    for flow in connections(capture):
        packets = [packet for packet, other in zip(capture.packets, capture.flows) if other == flow]
        wanted = events(arguments.program, path, packets)
        if not wanted:
            continue
        for place, end, frames in forgeries(capture, flow):
            for pause in PAUSES:
                turn += 1
                if turn % arguments.every:
                    continue
                changed = with_forgery(packets, place, frames, pause)
                found = events(arguments.program, path, changed)
                missing, added = wanted - found, found - wanted
                wrong = {kind for kind, _ in missing} | {kind for kind, _ in added} - TWICE
                counter = kinds[pause, end]
                counter.update(forgeries=1, events=wanted.total(), **dict.fromkeys(wrong, 1))
                if not wrong:
                    continue
                is_known = end == "FINs, acknowledged" and pause > 0
                name = f"{os.path.basename(path)}-{place}-{'-'.join(end.replace(',', '').split())}-{pause}s.pcap"
                lines.append((is_known, f"{name}: {', '.join(sorted(wrong))}"))
                if arguments.save:
                    os.makedirs(arguments.save, exist_ok=True)
                    with open(os.path.join(arguments.save, name), "wb") as f:
                        f.write(pcap(changed))
    return kinds, lines


def connections(capture):
    """The first connections of a capture whose SYN it has, over Ethernet and IP alone."""
    flows = {}
    for segment, flow, (_, _, _, data, _) in zip(capture.segments, capture.flows, capture.packets):
        if segment and segment.protocol == 6 and flow not in capture.reused and data[12:14] in (b"\x08\0", b"\x86\xdd"):
            flows.setdefault(flow, segment.flags & (SYN | ACK) == SYN)
    return [flow for flow, has_syn in flows.items() if has_syn][:MAX_CONNECTIONS]


def forgeries(capture, flow):
    """Tuples: the number of the packet before, the end, its frames."""
    following, client = {}, capture.clients[flow]
    mine = [number for number, other in enumerate(capture.flows) if other == flow]
    for number in mine[: min(MAX_SEGMENTS, len(mine) - 1)]:
        segment = capture.segments[number]
        is_client_last = segment.source == client
        if segment.flags & (FIN | RST):
            return
        after = (segment.seq + len(segment.payload) + bool(segment.flags & SYN)) % (1 << 32)
        if (after - following.get(is_client_last, after)) % (1 << 32) < 1 << 31:
            following[is_client_last] = after
        if len(following) < 2:
            continue

        def frame(from_client, flags, past=(0, 0), data=capture.packets[number][3], is_reverse=is_client_last):
            seq, ack = following[from_client] + past[0], following[not from_client] + past[1]
            return forged(data, from_client != is_reverse, seq, ack, flags)

        yield number, "RST of client", [frame(True, RST)]
        yield number, "RST of server", [frame(False, RST)]
        yield number, "FIN of client", [frame(True, FIN | ACK)]
        yield number, "FIN of server", [frame(False, FIN | ACK)]
        yield number, "FIN and RST of client", [frame(True, FIN | ACK), frame(True, RST, (1, 0))]
        yield number, "FINs, acknowledged", [frame(True, FIN | ACK), frame(False, FIN | ACK, (0, 1)), frame(True, ACK, (1, 1))]


def forged(data, is_reverse, seq, ack, flags):
    """A segment without payload, with the addresses of a frame or those of its answer."""
    if data[12:14] == b"\x08\0":
        at, header = 14 + (data[14] & 15) * 4, struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0x4000, 1, 6, 0)
        source, destination = data[26:30], data[30:34]
    else:
        at, header = 54, struct.pack("!IHBB", 6 << 28, 20, 6, 1)
        source, destination = data[22:38], data[38:54]
    ports = data[at : at + 2], data[at + 2 : at + 4]
    if is_reverse:
        source, destination, ports = destination, source, ports[::-1]
    tcp = struct.pack("!IIBBHHH", seq % (1 << 32), ack % (1 << 32) if flags & ACK else 0, 5 << 4, flags, 502, 0, 0)
    return data[:14] + header + source + destination + ports[0] + ports[1] + tcp


def with_forgery(packets, place, frames, pause):
    changed, late = [], 0
    for number, nanos, link, data, length in packets:
        changed.append((number, nanos + late, link, data, length))
        if number == place:
            changed += [(number, nanos, link, frame, len(frame)) for frame in frames]
            changed += [(number, nanos + second * 10**9, link, TICK, len(TICK)) for second in range(1, pause + 1)]
            late = pause * 10**9
    return changed


def events(program, path, packets):
    """Counts the events: their kind and their values. The secrets of a capture are those that it brings."""
    command = [program, "pcap", "--format", "json", "-q", *(("--keylog", path) if "decrypted" in path else ()), "-"]
    done = subprocess.run(command, input=pcap(packets), capture_output=True, timeout=60, check=True)
    found = collections.Counter()
    for event in map(json.loads, done.stdout.splitlines()):
        if event["event"] in HANDSHAKES:
            found[event["event"], json.dumps(handshake_values(event))] += 1
        elif event["event"] in VALUES:
            is_http = event["event"].startswith("http_")
            kind = "decrypted" if event.get("decrypted") else "http2" if is_http and event["version"] == "2" else event["event"]
            found[kind, key(event)] += 1
    return found


if __name__ == "__main__":
    main()
