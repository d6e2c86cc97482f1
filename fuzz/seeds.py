#!/usr/bin/python3
"""Writes seeds for the targets to fuzz/corpus, from captures/ and the tables. With --few, writes the smallest ones of each target
to fuzz/seeds, which the project keeps."""

import glob
import json
import os
import shutil
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CAPTURES = os.path.join(HERE, "..", "captures")
sys.dont_write_bytecode = True
sys.path += [os.path.join(CAPTURES, "tools"), os.path.join(HERE, "..", "ci", "hostile")]
import floods  # noqa: E402
from packets import read  # noqa: E402

TCP, UDP = 6, 17
# Bit of the first byte of tls_flow: handshakes are followed.
FOLLOW = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SYN = 2
CAPTURE_TARGETS = ("capture_file", "engine", "output_ratio")
# Of each target, fuzz/seeds has at most this many seeds and bytes, and the seed of this name.
FEW, FEW_BYTES = 4, 6000
MADE = "made"


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
            save_streams(name, segments)
    for path in glob.glob(os.path.join(CAPTURES, "*", "*", "*.ja4")):
        with open(path, encoding="ascii") as f:
            for i, text in enumerate(sorted({field for field in f.read().split() if "_" in field})):
                save("ja4_text", f"{os.path.basename(path)}-{i}", text.encode())
    with open(os.path.join(HERE, "..", "docs", "quic-vectors.jsonl"), encoding="ascii") as f:
        for i, vector in enumerate(map(json.loads, f)):
            save("transport_parameters", f"vector-{i}", bytes.fromhex(vector["version"] + vector["parameters"]))
    save_certificates()
    for path in glob.glob(os.path.join(CAPTURES, "ssh", "*", "*.ssh")):
        save_negotiations(os.path.basename(path), path)
    save_http2()
    save_tables()
    save_decryption()
    save_http3()
    save_clients()
    save("ring_block", "two-frames", ring_block([b"\x45" + bytes(59), bytes(14)]))
    save("p0f_query", "ipv4", struct.pack("<IB", 0x50304601, 4) + bytes([192, 0, 2, 1]) + bytes(12))
    save("p0f_query", "ipv6", struct.pack("<IB", 0x50304601, 6) + bytes.fromhex("20010db8000000000000000000000001"))
    save("p0f_query", "answer", struct.pack("<II", 0x50304602, 0x10) + bytes(224))
    with open(os.path.join(CAPTURES, "links", "labelled-blocks", "labelled-blocks.pcapng"), "rb") as f:
        save("capture_file", MADE, f.read())
    for path in sorted(glob.glob(os.path.join(CAPTURES, "evasion", "*.pcap"))):
        with open(path, "rb") as f:
            data = f.read()
        for target in CAPTURE_TARGETS:
            save(target, os.path.basename(path), data)


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
        if (name, i) == ("dtls-fragments.pcap", 1):
            save("tls_flow", MADE, bytes([out[0] | FOLLOW]) + out[1:])


def save_certificates():
    """Writes seeds for certificate: certificates, a message with two of them, and a request with no names."""
    certificates = []
    for path in sorted(glob.glob(os.path.join(HERE, "..", "huginn-net-tls", "certificates", "*.der"))):
        with open(path, "rb") as f:
            certificates.append(f.read())
        save("certificate", os.path.basename(path), certificates[-1])
    certificates = b"".join(len(der).to_bytes(3, "big") + der for der in certificates[:2])
    save("certificate", MADE, len(certificates).to_bytes(3, "big") + certificates)
    save("certificate", "request", bytes([1, 64, 0, 2, 4, 3, 0, 4, 0, 2, 0x30, 0]))


def save_hellos(name, segments):
    """Writes seeds for client_hello and quic: records, their messages, datagrams, frames."""
    for i, segment in enumerate(segments):
        payload = segment.payload
        if segment.protocol == TCP and payload[:2] == b"\x16\x03":
            save("client_hello", f"{name}-{i}-records", payload)
            save("explain_hello", f"{name}-{i}-records", payload)
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


def save_negotiations(name, path):
    """Writes seeds for ssh_negotiation from a golden: both directions have the lists of HASSH, and the host keys are made up."""
    with open(path, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    for i, (client, server) in enumerate(zip(rows, rows[1:])):
        if (client[2], server[2]) == ("hassh", "hasshserver"):
            sides = [row[4].split(";") for row in (client, server)]
            lists = [text for kex, cipher, mac, zip_ in sides
                     for text in (kex, "ssh-ed25519,rsa-sha2-256", cipher, cipher, mac, mac, zip_, zip_)]
            save("ssh_negotiation", f"{name}-{i}", bytes([i % 2, 0]) + "\n".join(lists).encode())


def save_streams(name, segments):
    """Writes seeds for segments (length and order of the segments, then the client's bytes) and http1 (pieces of both sides)."""
    flows = {}
    for segment in segments:
        if segment.protocol == TCP:
            flows.setdefault(frozenset((segment.source, segment.destination)), []).append(segment)
    for i, flow in enumerate(flows.values()):
        client = flow[0].source
        stream = b"".join(segment.payload for segment in flow if segment.source == client)[:8000]
        if stream:
            save("segments", f"{name}-{i}", b"\x07\x05" + stream)
        if b" HTTP/1." in stream:
            pieces = b""
            for segment in flow[:20]:
                for at in range(0, len(segment.payload), 253):
                    piece = segment.payload[at : at + 253]
                    piece += b" " * (-(len(piece) - 1) % 4)
                    pieces += bytes([(len(piece) - 1) // 4 << 2 | (segment.source != client)]) + piece
            save("http1", f"{name}-{i}", pieces)


def save_decryption():
    """Writes seeds for tls_decrypt: length of the pieces, how much of a recording is read, and what follows."""
    recordings = os.path.join(HERE, "..", "huginn-net-decrypt", "recordings")
    for folder in sorted(os.listdir(recordings)):
        for name, head in (("keys.log", b"\x40\xff\x00"), ("client", b"\x07\x80\x00"), ("server", b"\xff\x20\x00")):
            with open(os.path.join(recordings, folder, name), "rb") as f:
                save("tls_decrypt", f"{folder}-{name}", head + f.read())


def save_http3():
    """Writes seeds for http3 (SETTINGS, an encoder stream and requests) and quic_decrypt (a packet of each form)."""
    settings = b"\x00\x04\x05\x01\x40\xdc\x07\x10"
    encoder = b"\x02\x3f\xbd\x01\xc0\x0fwww.example.com\xc1\x0c/sample/path"
    parts = ((7, settings), (4, settings), (12, encoder), (8, b"\x01\x05\x03\x81\x10\x11\xd1"), (1, b"\x01\x03\0\0\xd9\0\x02ab"))
    save("http3", "requests", b"\x03" + b"".join(bytes((head, len(part))) + part for head, part in parts))
    handshake = b"\xe0\0\0\0\x01\x04\x09\x09\x09\x09\x01\x05\x14" + bytes(20)
    packets = ((1, handshake), (0, b"\xd0" + handshake[1:5] + b"\x01\x05\x04\x09\x09\x09\x09" + handshake[12:]), (1, b"\x40\x09\x09\x09\x09" + bytes(24)))
    save("quic_decrypt", "packets", b"".join(bytes((side, len(packet))) + packet for side, packet in packets))


def save_tables():
    """Writes seeds for database and client_table."""
    tables = os.path.join(HERE, "..", "huginn-net-db")
    for path in glob.glob(os.path.join(tables, "signatures", "*.fp")):
        with open(path, "rb") as f:
            save("database", os.path.basename(path), f.read())
    for path in glob.glob(os.path.join(tables, "clients", "*.tsv")):
        with open(path, "rb") as f:
            save("client_table", os.path.basename(path), b"".join(f.readlines()[:8]))
    save("database", "one", b"[tcp:request]\nlabel = s:unix:Linux:5.x\nsig = *:64:0:*:mss*20,7:mss,sok,ts,nop,ws:df,id+:0\n")


def save_clients():
    """Writes seeds for consistency: lengths of SYN, records and HTTP in units of 16 bytes, then these, padded."""
    with open(os.path.join(CAPTURES, "consistency", "clients.jsonl"), encoding="utf-8") as f:
        for i, line in enumerate(f):
            parts = [bytes.fromhex(value) for value in map(json.loads(line).get, ("syn", "hello", "http"))]
            parts = [part + b"\0" * (-len(part) % 16) for part in parts]
            if all(len(part) < 16 * 256 for part in parts):
                save("consistency", str(i), bytes(len(part) // 16 for part in parts) + b"".join(parts))


def ring_block(frames):
    """A block of a packet socket's ring (TPACKET_V3 in Linux's if_packet.h)."""
    body = b""
    for i, frame in enumerate(frames):
        whole = 82 + len(frame) + (-(82 + len(frame)) % 8)
        following = whole if i + 1 < len(frames) else 0
        header = struct.pack("=6I2HIIHH", following, 1, 2, len(frame), len(frame), 1, 82, 82, 0, 0, 0, 0)
        body += (header.ljust(82, b"\0") + frame).ljust(whole, b"\0")
    return struct.pack("=6IQ4I", 1, 48, 1, len(frames), 48, 48 + len(body), 1, 1, 2, 1, 3) + body


def save_few():
    """Copies the smallest seeds of each target to fuzz/seeds."""
    few = os.path.join(HERE, "seeds")
    shutil.rmtree(few, ignore_errors=True)
    for target in sorted(os.listdir(os.path.join(HERE, "corpus"))):
        folder = os.path.join(HERE, "corpus", target)
        files = sorted((os.path.getsize(path), path) for path in glob.glob(os.path.join(folder, "*")))
        # From the smallest on, in steps, so that they differ.
        files = [file for file in files if file[0] <= FEW_BYTES // FEW] or files[:1]
        os.makedirs(os.path.join(few, target))
        chosen = [path for _, path in files[:: max(1, len(files) // FEW)][:FEW]]
        made = os.path.join(folder, MADE)
        for path in chosen + ([made] if os.path.exists(made) and made not in chosen else []):
            shutil.copy(path, os.path.join(few, target))


def crypto_frames(message):
    """CRYPTO frames (RFC 9000, section 19.6) of a message in three pieces, the last one first."""
    third = len(message) // 3 + 1
    pieces = [(at, message[at : at + third]) for at in range(0, len(message), third)]
    return b"".join(struct.pack("!BHH", 6, 0x4000 | at, 0x4000 | len(piece)) + piece for at, piece in pieces[::-1])


def behind_length(data, flag):
    return struct.pack("<H", len(data) | flag) + data


def save_http2():
    """Writes seeds for http2 and proxy: a byte with the length of the pieces, then a recorded connection; for http2, after its
    preface. For segments and output_ratio: requests of 18 bytes that index a long User-Agent (RFC 7541, section 6.1)."""
    folder = os.path.join(HERE, "..", "huginn-net-http", "http2")
    for name in os.listdir(folder):
        if name.endswith(".bin"):
            with open(os.path.join(folder, name), "rb") as f:
                data = f.read()
            save("http2", name, b"\x40" + data.removeprefix(PREFACE))
            save("proxy", name, b"\x40" + data)
    with open(os.path.join(HERE, "..", "huginn-net-tls", "hellos", "curl-openssl.bin"), "rb") as f:
        save("proxy", "curl-openssl", b"\x40" + f.read())
    frame = lambda kind, flags, stream, block: struct.pack("!I", len(block))[1:] + struct.pack("!BBI", kind, flags, stream) + block
    requests = [b"\x82\x86\x84\x7a\x7f\x81\x04" + b"v" * 640] + [b"\x82\x86\x84\xbe" + b"\x90" * 5] * 20
    requests = b"".join(frame(1, 5, 2 * i + 1, block) for i, block in enumerate(requests))
    content = PREFACE + frame(4, 0, 0, b"") + requests
    save("segments", MADE, b"\xff\0" + content)
    place = os.path.join(HERE, "corpus", "output_ratio")
    os.makedirs(place, exist_ok=True)
    floods.write(os.path.join(place, MADE), floods.stream(1, 1024, 80, content))


def save(target, name, data):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


if __name__ == "__main__":
    main()
    if sys.argv[1:] == ["--few"]:
        save_few()
