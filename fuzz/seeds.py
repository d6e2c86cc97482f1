#!/usr/bin/python3
"""Writes seeds to fuzz/corpus for the targets whose input is no capture file, from captures/ and the signatures."""

import glob
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CAPTURES = os.path.join(HERE, "..", "captures")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(CAPTURES, "tools"))
from packets import read  # noqa: E402

TCP, UDP = 6, 17
SYN = 2


def main():
    for path in glob.glob(os.path.join(CAPTURES, "*", "*", "*.pcap")):
        with open(path, "rb") as f:
            header = f.read(24)
        if header[3] < 0xA0:
            continue  # the other byte order: the same packets as elsewhere
        link, frames = struct.unpack_from("<H", header, 20)[0], [frame for _, frame in read(path)]
        lengths = [struct.pack("<H", len(frame)) + frame for frame in frames[:20]]
        name = os.path.basename(path)
        save("decode", name, struct.pack("<H", link) + b"".join(lengths))
        if link == 1:
            for i, frame in enumerate(frames[:20]):
                if frame[12:14] in (b"\x08\x00", b"\x86\xdd"):
                    save("tcp_signature", f"{name}-{i}", frame[14:])
            segments = [Segment(frame[14:]) for frame in frames if is_segment(frame)]
            save_flows(name, segments)
            save_hellos(name, segments)
            save_ssh(name, segments)
    for path in glob.glob(os.path.join(CAPTURES, "*", "*", "*.ja4")):
        with open(path, encoding="ascii") as f:
            for i, text in enumerate({field for field in f.read().split() if "_" in field}):
                save("ja4_text", f"{os.path.basename(path)}-{i}", text.encode())
    save_http2()
    for path in glob.glob(os.path.join(HERE, "..", "huginn-net-db", "signatures", "*.fp")):
        with open(path, "rb") as f:
            save("database", os.path.basename(path), f.read())


def is_segment(frame):
    """Whether a frame has a complete TCP or UDP packet over IPv4."""
    fragment = struct.unpack_from("!H", frame, 20)[0] & 0x3FFF
    return frame[12:14] == b"\x08\x00" and frame[23] in (TCP, UDP) and not fragment


class Segment:
    """A TCP segment or UDP datagram of an IPv4 packet."""

    def __init__(self, ip):
        transport = ip[(ip[0] & 15) * 4 : struct.unpack_from("!H", ip, 2)[0]]
        self.protocol = ip[9]
        ports = struct.unpack_from("!HH", transport)
        self.source, self.destination = (ip[12:16], ports[0]), (ip[16:20], ports[1])
        if self.protocol == TCP:
            self.seq, self.ack, offset, self.flags = struct.unpack_from("!IIBB", transport, 4)
            self.payload = transport[(offset >> 4) * 4 :]
        else:
            self.seq, self.ack, self.flags, self.payload = 0, 0, 0, transport[8:]


def save_flows(name, segments):
    """Writes seeds for tls_flow: one connection each, whose first sender is the client."""
    flows = {}
    for segment in segments:
        ends = frozenset((segment.source, segment.destination))
        flows.setdefault((segment.protocol, ends), []).append(segment)
    for i, flow in enumerate(flows.values()):
        firsts = {}
        for segment in flow:
            firsts.setdefault(segment.source, segment.seq + (segment.flags & SYN) // SYN)
        out = b""
        for segment in flow[:30]:
            what = (segment.source != flow[0].source) | (segment.protocol == UDP) << 1
            seq = segment.seq - firsts[segment.source]
            ack = segment.ack - firsts.get(segment.destination, segment.ack)
            numbers = (seq & 0xFFFF, ack & 0xFFFF, len(segment.payload))
            out += struct.pack("<BBHHH", what, segment.flags, *numbers) + segment.payload
        save("tls_flow", f"{name}-{i}", out)


def save_hellos(name, segments):
    """Writes seeds for client_hello and quic: records, their messages, datagrams, frames."""
    for i, segment in enumerate(segments):
        payload = segment.payload
        if segment.protocol == TCP and payload[:2] == b"\x16\x03":
            save("client_hello", f"{name}-{i}-records", payload)
            save("client_hello", f"{name}-{i}", payload[5:])
            save("quic", f"{name}-{i}", behind_length(crypto_frames(payload[5:1400]), 0x8000))
        elif segment.protocol == UDP and payload[:2] == b"\x16\xfe" and len(payload) > 25:
            # DTLS puts sequence number and place of the fragment between the header of a message and its body.
            save("client_hello", f"{name}-{i}", payload[13:17] + payload[25:])
        elif segment.protocol == UDP and payload[:1] >= b"\xc0":
            save("quic", f"{name}-{i}", behind_length(payload, 0))


def save_ssh(name, segments):
    """Writes seeds for ssh: the length of the pieces, then the bytes of one direction."""
    directions = {}
    for segment in segments:
        if segment.protocol == TCP and segment.payload:
            directions.setdefault((segment.source, segment.destination), []).append(segment.payload)
    for i, payloads in enumerate(directions.values()):
        if any(payload.startswith(b"SSH-") for payload in payloads):
            save("ssh", f"{name}-{i}", b"\x64" + b"".join(payloads))


def crypto_frames(message):
    """CRYPTO frames (RFC 9000, section 19.6) of a message in three pieces, the last one first."""
    third = len(message) // 3 + 1
    pieces = [(at, message[at : at + third]) for at in range(0, len(message), third)]
    return b"".join(struct.pack("!BHH", 6, 0x4000 | at, 0x4000 | len(piece)) + piece for at, piece in pieces[::-1])


def behind_length(data, flag):
    return struct.pack("<H", len(data) | flag) + data


def save_http2():
    """Writes seeds for http2 and proxy: a byte with the length of the pieces, then a recorded connection; for http2, after its
    preface."""
    folder = os.path.join(HERE, "..", "huginn-net-http", "http2")
    for name in os.listdir(folder):
        if name.endswith(".bin"):
            with open(os.path.join(folder, name), "rb") as f:
                data = f.read()
            save("http2", name, b"\x40" + data.removeprefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
            save("proxy", name, b"\x40" + data)
    with open(os.path.join(HERE, "..", "huginn-net-tls", "hellos", "curl-openssl.bin"), "rb") as f:
        save("proxy", "curl-openssl", b"\x40" + f.read())


def save(target, name, data):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


if __name__ == "__main__":
    main()
