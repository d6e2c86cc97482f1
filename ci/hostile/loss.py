#!/usr/bin/env python3
"""Impairs captures as networks and sensors do, and checks that complete messages are still reported.

    ci/hostile/loss.py PROGRAM [--short] [--captures FOLDER]... [--before PROGRAM] [--only KIND] [-v]

A message is a TLS hello, an HTTP head, or the opening of SSH, that PROGRAM reports of the capture as it is. It is complete in an
impaired capture if all its bytes are still there. A complete message must be reported with equal values, or a blind spot of an
analysis of its connection alone must say why not. The exit status is 1 if one is neither, or if PROGRAM fails. Packets of other
connections, of the other direction, and of the same direction before and after the message may be missing.

An event of a handshake needs several messages: tls_handshake, tls_certificates, ssh_handshake. In an impaired capture it must be absent
or have the values of the capture as it is, and it must be reported if its connection begins with all packets up to its own, in order.

--before names a second program, for comparison. Without --captures, the captures of this project are taken, except
attempts to hide a name (captures/evasion), whose contents compete for the same bytes.
"""

import argparse
import bisect
import collections
import concurrent.futures
import gzip
import ipaddress
import json
import os
import random
import re
import struct
import subprocess
import sys
import time

# Seconds that one analysis may take.
TIMEOUT = 60
# Larger captures are left out: bytes.
MAX_CAPTURE = 8 << 20
# Bytes before the end of a message in which its start is searched.
MAX_MESSAGE = 70_000
# The kinds of events that are messages, and the values that do not depend on other packets.
VALUES = {
    "tls_client": ("protocol", "version", "sni", "alpn", "ja4", "ja4_o", "ja3"),
    "tls_server": ("protocol", "version", "cipher", "ja3s"),
    "http_request": ("version", "method", "host", "path", "user_agent", "sig"),
    "http_response": ("version", "status", "server_header", "sig"),
    "ssh_client": ("banner", "hassh_algorithms"),
    "ssh_server": ("banner", "hassh_algorithms"),
}
# The events of handshakes, and their values.
HANDSHAKES = {
    "tls_handshake": ("completed", "version", "resumed", "retry", "group", "dh_bits", "certificate_requested",
                      "certificate_authorities", "has_more_authorities", "alerts"),
    "tls_certificates": ("subject", "certificates", "has_more_certificates", "name_matches"),
    "ssh_handshake": ("kex", "host_key", "client_cipher", "server_cipher", "client_mac", "server_mac", "client_compression",
                      "server_compression", "post_quantum", "strict_kex", "guess"),
}
# Blind spots that do not explain a missing message, and those that do if no handshake was captured.
NO_REASON = {"one_direction", "bad_ip_checksum", "bad_transport_checksum", "ech", "not_data", "time_steps_back",
             "time_steps_ahead", "other_transport", "unknown_ethertype"}
WITHOUT_HANDSHAKE = {"midstream", "segments_without_flow"}
SYN, ACK = 2, 16


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the program huginn-net")
    parser.add_argument("--before", metavar="PROGRAM", help="an earlier huginn-net, for comparison")
    parser.add_argument("--captures", metavar="FOLDER", action="append", help="captures to impair, in this folder and below it")
    parser.add_argument("--short", action="store_true", help="each capture with two impairments")
    parser.add_argument("--only", default="", metavar="KIND", help="impairments whose name contains this")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth capture")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="repeat with N seeds")
    parser.add_argument("--seed", type=int, default=1, help="seed of the impairments")
    parser.add_argument("--save", metavar="FOLDER", help="keep captures with a message that is missing without a reason")
    parser.add_argument("-v", "--verbose", action="store_true", help="print a line for each missing message")
    arguments = parser.parse_args()
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../captures")
    folders = arguments.captures or [os.path.normpath(folder)]
    paths = sorted(path for folder in folders for path in files(folder))
    if not arguments.captures:
        paths = [path for path in paths if os.path.basename(os.path.dirname(path)) != "evasion"]
    paths = paths[:: arguments.every]
    programs = [arguments.program] + ([arguments.before] if arguments.before else [])
    kinds = [kind for kind in IMPAIRMENTS if arguments.only in kind]
    totals = {kind: collections.Counter() for kind in kinds}
    failures = []
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(judge, arguments, programs, path, kinds, number) for number, path in enumerate(paths)]
        for job in jobs:
            counts, failed = job.result()
            for kind, counter in counts.items():
                totals[kind].update(counter)
            failures += failed
    print_table(totals, arguments.before)
    print(f"{len(paths)} captures, {time.monotonic() - start:.0f} s")
    for failure in failures[:50]:
        print(f"FAILED: {failure}")
    if len(failures) > 50:
        print(f"FAILED: {len(failures) - 50} more")
    if not any(counter["complete"] for counter in totals.values()):
        sys.exit("no complete message: the captures are missing")
    sys.exit(bool(failures))


def files(folder):
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if re.search(r"\.(pcap|pcapng|cap|trace)(\.gz)?$", name) and os.path.getsize(path) <= MAX_CAPTURE:
                yield path


def print_table(totals, before):
    columns = [("packets lost", "lost"), ("complete", "complete"), ("reported", "reported"), ("with reason", "reasoned"), ("without", "silent"),
               ("handshakes", "handshakes")]
    heads = "".join(f"{head:>14}" for head, _ in columns)
    print(f"{'impairment':<18}{heads}{'share':>10}" + (f"{'before':>10}" if before else ""))
    for kind, counter in totals.items():
        line = f"{kind:<18}" + "".join(f"{counter[name]:>14}" for _, name in columns)
        line += f"{share(counter, 'reported', 'complete'):>10}"
        print(line + (f"{share(counter, 'reported before', 'complete before'):>10}" if before else ""))


def share(counter, part, whole):
    return f"{100 * counter[part] / counter[whole]:.2f} %" if counter[whole] else "-"


# Judging a capture.


def judge(arguments, programs, path, kinds, number):
    """Impairs a capture in each way. Returns counters by impairment, and failures."""
    counts, failures = {}, []
    capture = Capture.read(path)
    if capture is None:
        return counts, failures
    clean = [Analysis(capture, run(program, capture.packets)) for program in programs]
    if not clean[0].messages:
        return counts, failures
    if arguments.short:
        kinds = [kinds[(2 * number + n) % len(kinds)] for n in range(2)]
    for kind in kinds:
        counter = counts.setdefault(kind, collections.Counter())
        for seed in range(arguments.seed, arguments.seed + arguments.rounds):
            chance = random.Random(f"{os.path.basename(path)} {kind} {seed}")
            impaired = IMPAIRMENTS[kind](capture, chance)
            if impaired == capture.packets:
                for n, analysis in enumerate(clean):
                    counter["complete" + " before" * n] += len(analysis.messages)
                    counter["reported" + " before" * n] += len(analysis.messages)
                continue
            counter["lost"] += len(capture.packets) - len({packet[0] for packet in impaired})
            for n, (program, analysis) in enumerate(zip(programs, clean)):
                try:
                    found = run(program, impaired)
                except RuntimeError as error:
                    if n == 0:
                        failures.append(f"{path}, {kind}, seed {seed}: {error}")
                    continue
                if n == 0:
                    wrong = analysis.wrong_handshakes(found, impaired, counter)
                    failures += [f"{path}, {kind}, seed {seed}: {text}" for text in wrong]
                    if wrong:
                        save(arguments.save, path, kind, impaired)
                complete, missing = analysis.compare(found, impaired)
                counter["complete" + " before" * n] += complete
                counter["reported" + " before" * n] += complete - len(missing)
                if n:
                    continue
                for message in missing:
                    reasons = reasons_for(program, capture, message, impaired)
                    counter["reasoned" if reasons else "silent"] += 1
                    text = f"{path}, {kind}, seed {seed}: {message}: {', '.join(reasons) or 'no reason'}"
                    if not reasons:
                        failures.append(text)
                        save(arguments.save, path, kind, impaired)
                    if arguments.verbose:
                        print(text, flush=True)
    return counts, failures


def reasons_for(program, capture, message, impaired):
    """Names of blind spots of the message's connection alone."""
    mine = [packet for packet in impaired if message.flow is None or capture.flows[packet[0]] == message.flow]
    names = {spot["name"] for spot in run(program, mine)[1]["blind_spots"]}
    segments = [capture.segments[packet[0]] for packet in mine]
    # Without a handshake, a connection begins with the first packet that can only be a hello or a head.
    has_handshake = bool(segments and segments[0] and segments[0].flags & SYN)
    return sorted(names - NO_REASON - (WITHOUT_HANDSHAKE if has_handshake else set()))


def run(program, packets):
    """Runs the program; returns its events and counters."""
    command = [program, "pcap", "--format", "json", "--stats", "-"]
    try:
        done = subprocess.run(command, input=pcap(packets), capture_output=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"more than {TIMEOUT} s") from None
    if done.returncode != 0:
        raise RuntimeError(f"status {done.returncode}: {done.stderr[-300:].decode(errors='replace')}")
    return [json.loads(line) for line in done.stdout.splitlines()], json.loads(done.stderr.splitlines()[-1])


def pcap(packets):
    """A capture file of packets."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, packets[0][2] if packets else 1)]
    for _, nanos, _, data, length in packets:
        parts += (struct.pack("<4I", nanos // 10**9, nanos % 10**9, len(data), length), data)
    return b"".join(parts)


def save(folder, path, kind, packets):
    if not folder:
        return
    os.makedirs(folder, exist_ok=True)
    name = f"{os.path.basename(path)}-{re.sub('[^a-z0-9.]+', '-', kind)}.pcap"
    with open(os.path.join(folder, name), "wb") as f:
        f.write(pcap(packets))


class Analysis:
    """The messages of a capture as it is."""

    def __init__(self, capture, found):
        events, _ = found
        messages = [(key(event), event) for event in events if event["event"] in VALUES]
        # Contents that compete for the same bytes: which of them is read depends on the order of packets.
        competing = {ends(event) for _, event in messages if "conflict" in event}
        self.reused = capture.reused
        self.messages = [Message(capture, key, event) for key, event in messages if ends(event) not in competing]
        self.capture, self.competing = capture, competing | {ends(event) for event in events if "conflict" in event}
        self.handshakes = [event for event in events if self.is_handshake(event)]

    def is_handshake(self, event):
        """Whether an event is one of a handshake whose connection can be judged: not in a tunnel, with ports used once."""
        flows = {flow for flow in self.reused if ends_of(flow) == ends(event)}
        return event["event"] in HANDSHAKES and not event.get("tunnel") and not flows and ends(event) not in self.competing

    def wrong_handshakes(self, found, impaired, counter):
        """Texts about events of handshakes that are wrong or missing. Counts complete ones."""
        left, wrong = list(self.handshakes), []
        for event in filter(self.is_handshake, found[0]):
            wanted = next((wanted for wanted in left if says(event, wanted)), None)
            if wanted is None:
                wrong.append(f"wrong {handshake_values(event)}")
            else:
                left.remove(wanted)
        complete = [event for event in self.handshakes if self.begins_with(event, impaired)]
        counter["handshakes"] += len(complete)
        return wrong + [f"missing {handshake_values(event)}" for event in complete if any(event is other for other in left)]

    def begins_with(self, event, impaired):
        """Whether the impaired connection begins with all packets up to that of the event, in order."""
        flow = self.capture.flows[event["packet"] - 1]
        if flow is None:
            return False
        wanted = [number for number in range(event["packet"]) if self.capture.flows[number] == flow]
        order = dict.fromkeys(packet[0] for packet in impaired if self.capture.flows[packet[0]] == flow)
        return list(order)[: len(wanted)] == wanted

    def compare(self, found, impaired):
        """Returns the number of complete messages, and those that are missing."""
        events, _ = found
        present = {packet[0] for packet in impaired}
        reported = collections.Counter(key(event) for event in events if event["event"] in VALUES)
        # Which SYN a packet belongs to depends on the order.
        is_in_order = all(one[0] <= other[0] for one, other in zip(impaired, impaired[1:]))
        complete, missing = 0, []
        for message in self.messages:
            if not message.is_complete(present) or message.flow in self.reused and not is_in_order:
                continue
            complete += 1
            reported[message.key] -= 1
            if reported[message.key] < 0:
                missing.append(message)
        return complete, missing


def handshake_values(event):
    return event["event"], ends(event), [event.get(name) for name in HANDSHAKES[event["event"]]]


def says(event, wanted):
    """Whether an event says the same as another one, or that it does not know: the name that the client asked for; all but an
    alert, if no ServerHello was seen."""
    if (event["event"], ends(event)) != (wanted["event"], ends(wanted)):
        return False
    unknown = HANDSHAKES["tls_handshake"] if event["event"] == "tls_handshake" and event["version"] is None else ("name_matches",)
    names = HANDSHAKES[event["event"]]
    return all(event.get(name) == wanted.get(name) or event.get(name) is None and name in unknown for name in names)


def ends_of(flow):
    return tuple(sorted(f"{ipaddress.ip_address(address)} {port}" for address, port in flow[1:]))


def ends(event):
    return tuple(sorted(f"{event[side]['ip']} {event[side]['port']}" for side in ("client", "server")))


def key(event):
    values = [event.get(name) for name in VALUES[event["event"]]]
    return (event["event"], ends(event), json.dumps(values), json.dumps(event.get("tunnel")))


class Message:
    """A message: its values, and where its bytes are."""

    def __init__(self, capture, key, event):
        self.key, self.number = key, event["packet"] - 1
        self.flow = capture.flows[self.number]
        segment = capture.segments[self.number]
        self.packets = self.range = None
        if segment is None:
            # A tunnel or fragment: everything before counts.
            self.packets = set(range(self.number + 1))
        elif segment.stream is None:
            # Datagrams: the keys of QUIC come from the client's first one.
            mine = (n for n in range(self.number + 1) if capture.flows[n] == self.flow)
            is_client = event["event"] == "tls_client"
            self.packets = {n for n in mine if not is_client or capture.segments[n].source == segment.source}
        else:
            # The packet of an event may be one of the peer, which ended the message.
            subject = event[event["subject"]]
            is_own = segment.source == (ipaddress.ip_address(subject["ip"]).packed, subject["port"])
            self.stream = segment.stream if is_own else segment.peer
            self.range = self.stream.message(event, segment if is_own else None) if self.stream else (0, 0)

    def is_complete(self, present):
        if self.packets is not None:
            return self.packets <= present
        return self.range[0] < self.range[1] and self.stream.covers(present, *self.range)

    def __str__(self):
        where = f"bytes {self.range[0]} to {self.range[1]}" if self.range else f"{len(self.packets)} packets"
        return f"{self.key[0]} of packet {self.number + 1}, {where}"


# Captures.


class Capture:
    """Packets (number, nanoseconds, link type, bytes, length on the wire), and what they hold."""

    def __init__(self, packets):
        self.packets = packets
        self.segments = [decode(packet[2], packet[3]) for packet in packets]
        self.flows = [segment and segment.flow for segment in self.segments]
        # The client of each flow, and the flows with several SYNs.
        self.clients, self.reused = {}, set()
        streams, starts = {}, {}
        for number, segment in enumerate(self.segments):
            if segment is None:
                continue
            self.clients.setdefault(segment.flow, segment.source)
            if segment.protocol != 6:
                continue
            if segment.flags & (SYN | ACK) == SYN and starts.get(segment.flow) != segment.seq:
                if segment.flow in starts:
                    self.reused.add(segment.flow)
                starts[segment.flow] = segment.seq
                streams.pop((segment.flow, 0), None)
                streams.pop((segment.flow, 1), None)
            side = int(segment.source > segment.destination)
            segment.stream = streams.setdefault((segment.flow, side), None) or Stream(segment)
            streams[segment.flow, side] = segment.stream
            segment.peer = streams.get((segment.flow, 1 - side))
            segment.stream.add(number, segment)

    @staticmethod
    def read(path):
        opener = gzip.open if path.endswith(".gz") else open
        try:
            with opener(path, "rb") as f:
                data = f.read()
            packets = list(read_pcapng(data) if data[:4] == b"\n\r\r\n" else read_pcap(data))
        except (struct.error, ValueError, OSError, EOFError, IndexError, KeyError):
            return None
        if not packets or len({packet[2] for packet in packets}) > 1:
            return None
        return Capture(packets)


def read_pcap(data):
    order, unit = {b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\xa1\xb2\xc3\xd4": (">", 1000), b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\x3c\x4d": (">", 1)}[data[:4]]
    link = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF
    at, number = 24, 0
    while at + 16 <= len(data):
        seconds, fraction, length, original = struct.unpack_from(order + "4I", data, at)
        if at + 16 + length > len(data):
            return
        yield number, seconds * 10**9 + fraction * unit, link, data[at + 16 : at + 16 + length], original
        at, number = at + 16 + length, number + 1


def read_pcapng(data):
    at, number, order, interfaces = 0, 0, "<", []
    while at + 12 <= len(data):
        if data[at : at + 4] == b"\n\r\r\n":
            order, interfaces = ("<" if data[at + 8] == 0x4D else ">"), []
        kind, length = struct.unpack_from(order + "II", data, at)
        if length < 12 or at + length > len(data):
            return
        body = data[at + 8 : at + length - 4]
        if kind == 1:
            interfaces.append((struct.unpack_from(order + "H", body)[0], resolution(body[8:], order)))
        elif kind == 6:
            interface, high, low, captured, original = struct.unpack_from(order + "5I", body)
            link, units = interfaces[interface]
            yield number, ((high << 32) | low) * 10**9 // units, link, body[20 : 20 + captured], original
            number += 1
        elif kind in (2, 3):
            raise ValueError("obsolete or simple packet block")
        at += length


def resolution(options, order):
    """Units of time in a second (option if_tsresol)."""
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from(order + "HH", options, at)
        if code == 9:
            value = options[at + 4]
            return 2 ** (value & 0x7F) if value & 0x80 else 10**value
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return 10**6


class Segment:
    def __init__(self, protocol, source, destination, seq, flags, payload):
        self.protocol, self.source, self.destination = protocol, source, destination
        self.seq, self.flags, self.payload = seq, flags, payload
        self.flow = (protocol, *sorted((source, destination)))
        self.stream = self.peer = None


LINKS = {0: 4, 1: 14, 12: 0, 101: 0, 108: 4, 113: 16, 228: 0, 229: 0, 276: 20}


def decode(link, data):
    """The TCP or UDP segment of a frame; None for tunnels, fragments and other links."""
    if link not in LINKS:
        return None
    data = data if link != 1 else without_tags(data)
    return decode_ip(data[LINKS[link] :]) if data else None


def without_tags(data):
    while data[12:14] in (b"\x81\x00", b"\x88\xa8"):
        data = data[:12] + data[16:]
    return data if data[12:14] in (b"\x08\x00", b"\x86\xdd") else None


def decode_ip(data):
    if len(data) < 20:
        return None
    if data[0] >> 4 == 4:
        header, total, fragment = (data[0] & 15) * 4, *struct.unpack_from(">H2xH", data, 2)
        if fragment & 0x3FFF:
            return None
        protocol, addresses = data[9], (data[12:16], data[16:20])
        data = data[header : total or None]
    elif data[0] >> 4 == 6 and len(data) >= 40:
        total, protocol = struct.unpack_from(">HB", data, 4)
        addresses = (data[8:24], data[24:40])
        data = data[40 : 40 + total if total else None]
        while protocol in (0, 43, 60) and len(data) >= 8:
            protocol, data = data[0], data[8 + data[1] * 8 :]
    else:
        return None
    if protocol == 6 and len(data) >= 20:
        source, destination, seq, _, offset, flags = struct.unpack_from(">HHIIBB", data)
        payload = data[(offset >> 4) * 4 :]
    elif protocol == 17 and len(data) >= 8:
        (source, destination), seq, flags, payload = struct.unpack_from(">HH", data), 0, 0, data[8:]
    else:
        return None
    return Segment(protocol, (addresses[0], source), (addresses[1], destination), seq, flags, payload)


class Stream:
    """One direction of a TCP connection."""

    def __init__(self, first):
        self.start = (first.seq + (first.flags & SYN != 0)) & 0xFFFFFFFF
        self.pieces = []
        self.bytes = bytearray()

    def add(self, number, segment):
        segment.begin = segment.end = 0
        if not segment.payload:
            return
        begin = (segment.seq + (segment.flags & SYN != 0) - self.start) & 0xFFFFFFFF
        if begin >= 1 << 31:
            begin -= 1 << 32
        if not -(1 << 20) < begin < 32 << 20:
            return
        segment.begin, segment.end = begin, begin + len(segment.payload)
        self.pieces.append((begin, segment.end, number))
        begin = max(begin, 0)
        if segment.end > begin:
            self.bytes += bytes(max(0, segment.end - len(self.bytes)))
            self.bytes[begin : segment.end] = segment.payload[begin - segment.end :]

    def covers(self, present, begin, end):
        """Whether packets that are present have all bytes of a range."""
        pieces = sorted((first, last) for first, last, number in self.pieces if last > begin and first < end and number in present)
        for first, last in pieces:
            if first > begin:
                return False
            begin = max(begin, last)
        return begin >= end

    def message(self, event, segment):
        """The range of an event's message, which ends in this segment. If the start is not found, the whole stream counts."""
        first, last = (segment.begin, segment.end) if segment and segment.payload else (0, len(self.bytes))
        low = max(0, last - MAX_MESSAGE)
        window = bytes(self.bytes[low:last])
        found = [(begin + low, end + low) for begin, end in SEARCHES.get(event["event"], nothing)(window, event)]
        found = [(begin, end) for begin, end in found if first < end <= last]
        if not found:
            return min((piece[0] for piece in self.pieces), default=0), last
        return min(begin for begin, _ in found), max(end for _, end in found)


def nothing(*_):
    return ()


def heads(window, event):
    """HTTP/1 heads: start line and end of the head."""
    if not str(event["version"]).startswith("1."):
        return
    if event["event"] == "http_request":
        line = re.escape(event["method"].encode()) + rb" +\S"
    elif event["status"] is None:
        line = rb"HTTP/1\."
    else:
        line = rb"HTTP/1\.\d +%d" % event["status"]
    for match in re.finditer(line, window):
        end = re.compile(rb"\n\r?\n").search(window, match.start())
        if end:
            yield match.start(), end.end()


def hellos(window, event):
    """TLS handshake messages in records of their own (RFC 8446, section 5.1)."""
    kind = 1 if event["event"] == "tls_client" else 2
    for match in re.finditer(rb"\x16\x03[\x00-\x04]..%c" % kind, window, re.DOTALL):
        at, message = match.start(), b""
        while window[at : at + 2] == b"\x16\x03" and at + 5 <= len(window):
            length = int.from_bytes(window[at + 3 : at + 5], "big")
            message += window[at + 5 : at + 5 + length]
            at += 5 + length
            wanted = 4 + int.from_bytes(message[1:4], "big")
            if len(message) >= 4 and len(message) >= wanted:
                # The end of the message within its last record.
                yield match.start(), at - (len(message) - wanted)
                break


SEARCHES = {"http_request": heads, "http_response": heads, "tls_client": hellos, "tls_server": hellos}


# Impairments: a capture and a source of chance give packets.


def lose(rate):
    return lambda capture, chance: [packet for packet in capture.packets if chance.random() >= rate]


def lose_blocks(rate, length):
    """Loses runs of packets, of this mean length."""
    def impair(capture, chance):
        kept, lost = [], 0
        for packet in capture.packets:
            if lost == 0 and chance.random() < rate / length:
                lost = chance.randrange(1, 2 * length)
            if lost:
                lost -= 1
            else:
                kept.append(packet)
        return kept
    return impair


def reorder(rate):
    """Delays packets until after up to 8 later ones; the times stay in order."""
    def impair(capture, chance):
        places = [number + (chance.randrange(1, 9) + 0.5 if chance.random() < rate else 0) for number in range(len(capture.packets))]
        order = sorted(range(len(places)), key=places.__getitem__)
        return [(capture.packets[n][0], packet[1], *capture.packets[n][2:]) for n, packet in zip(order, capture.packets)]
    return impair


def duplicate(rate):
    """Repeats packets, at once or after up to 8 later ones."""
    def impair(capture, chance):
        places = [(number, packet) for number, packet in enumerate(capture.packets)]
        places += [(number + chance.randrange(0, 9) + 0.5, packet) for number, packet in places if chance.random() < rate]
        places.sort(key=lambda place: place[0])
        latest, packets = 0, []
        for _, packet in places:
            latest = max(latest, packet[1])
            packets.append((packet[0], latest, *packet[2:]))
        return packets
    return impair


def one_side(client):
    def impair(capture, chance):
        def stays(packet):
            segment = capture.segments[packet[0]]
            return segment is None or (capture.clients[segment.flow] == segment.source) == client
        return [packet for packet in capture.packets if stays(packet)]
    return impair


def step(capture, chance):
    """Wrong times: of one packet in 50, of all packets from a place on, of one interface."""
    def amount():
        return chance.choice([-1, 1]) * chance.choice([0.5, 40, 400, 7_200, 86_400, 3 * 10**8])
    shift, start, skew = amount() * chance.randrange(2), chance.randrange(len(capture.packets)), amount() * chance.randrange(2)
    packets = []
    for number, nanos, *rest in capture.packets:
        seconds = amount() if chance.random() < 0.02 else 0
        seconds += shift if number >= start else 0
        segment = capture.segments[number]
        seconds += skew if segment and segment.source > segment.destination else 0
        packets.append((number, min(max(0, nanos + int(seconds * 10**9)), (2**32 - 1) * 10**9), *rest))
    return packets


def both(*impairments):
    def impair(capture, chance):
        packets = capture.packets
        for one in impairments:
            packets = one(View(packets, capture), chance)
        return packets
    return impair


class View:
    """An impaired capture, to impair it again."""

    def __init__(self, packets, capture):
        self.packets, self.segments, self.clients = packets, capture.segments, capture.clients


IMPAIRMENTS = {
    "loss 0.01 %": lose(0.0001),
    "loss 0.1 %": lose(0.001),
    "loss 1 %": lose(0.01),
    "loss 10 %": lose(0.1),
    "blocks 1 %": lose_blocks(0.01, 10),
    "blocks 10 %": lose_blocks(0.1, 40),
    "reordered 1 %": reorder(0.01),
    "reordered 10 %": reorder(0.1),
    "repeated 10 %": duplicate(0.1),
    "client only": one_side(True),
    "client, loss 1 %": both(lose(0.01), one_side(True)),
    "server only": one_side(False),
    "server, loss 1 %": both(lose(0.01), one_side(False)),
    "clock": step,
    "all": both(lose(0.01), reorder(0.05), duplicate(0.05)),
}

if __name__ == "__main__":
    main()
