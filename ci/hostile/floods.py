#!/usr/bin/env python3
"""Floods, as capture files, with limits of peak memory, time and output.

    ci/hostile/floods.py --bin target/release/huginn-net [--short] [--only TEXT] [--save FOLDER]

Each flood aims at one table or buffer. The program must end with status 0, within its limits of resident memory and time, and
must write at most 40 bytes of JSON for each byte of capture. Decompression bombs must end with status 1, at the limit of their
ratio. The exit status is 1 if any does not.
"""

import argparse
import gzip
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from messages import PREFACE, frame  # noqa: E402

# Bytes of JSON for each byte of capture.
MAX_RATIO = 40
# Packets of a flood; with --short a quarter of them.
PACKETS = 400_000
# Peak of resident memory, in MiB: the limits of flows (256 MiB of buffers, 2^19 entries), hosts and fragments, each at its cap,
# and the program.
MAX_MEMORY = 700
# That of a decompression bomb, which has no flows: the workers' blocks and the program.
MAX_BOMB_MEMORY = 100
# Seconds to start and for what is compressed, and nanoseconds for each byte of a flood. Debug builds get twenty times as long.
MIN_SECONDS = 2
MAX_NANOS = 600
SYN, ACK, PSH = 2, 16, 24


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, help="the program huginn-net")
    parser.add_argument("--short", action="store_true", help="a quarter of the packets")
    parser.add_argument("--only", default="", metavar="TEXT", help="floods whose name contains this")
    parser.add_argument("--save", metavar="FOLDER", help="keep the captures")
    parser.add_argument("--debug", action="store_true", help="a debug build: twenty times as long")
    arguments = parser.parse_args()
    packets = PACKETS // 4 if arguments.short else PACKETS
    failed = False
    print(f"{'flood':<28}{'MB':>8}{'seconds':>9}{'MiB':>7}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.save or temporary
        os.makedirs(folder, exist_ok=True)
        for name, flood in FLOODS.items():
            if arguments.only not in name:
                continue
            path = os.path.join(folder, f"{name}.pcap")
            size = bomb(path, name) if flood is None else write(path, flood(packets))
            failed |= not check(arguments, name, path, size)
            if not arguments.save:
                os.remove(path)
    sys.exit(failed)


def check(arguments, name, path, size):
    """Runs the program; prints a line; returns whether it stayed within the limits."""
    limit = (MIN_SECONDS + size * MAX_NANOS / 1e9) * (20 if arguments.debug else 1)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen([arguments.bin, "pcap", "--format", "json", "--stats", path], stdout=output, stderr=errors)
        deadline = start + 3 * limit
        while (waited := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > deadline:
                process.kill()
            time.sleep(0.01)
        seconds, memory = time.monotonic() - start, waited[2].ru_maxrss / 1024
        process.returncode = os.waitstatus_to_exitcode(waited[1])
        ratio = os.fstat(output.fileno()).st_size / size
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    faults = []
    is_bomb = name in BOMBS
    if process.returncode != is_bomb or is_bomb and "times its length" not in said:
        faults.append(f"status {process.returncode}: {said[-200:]}")
    if memory > (max_memory := MAX_BOMB_MEMORY if is_bomb else MAX_MEMORY):
        faults.append(f"more than {max_memory} MiB")
    if seconds > limit:
        faults.append(f"more than {limit:.1f} s")
    if ratio > MAX_RATIO:
        faults.append(f"more than {MAX_RATIO} bytes for a byte")
    print(f"{name:<28}{size / 1e6:>8.1f}{seconds:>9.2f}{memory:>7.0f}{ratio:>8.2f}{'  FAILED: ' + '; '.join(faults) if faults else ''}", flush=True)
    return not faults


def write(path, frames):
    """Writes raw IP frames, a microsecond apart; returns the size of the file."""
    with open(path, "wb", buffering=1 << 20) as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))
        for micros, frame in enumerate(frames):
            f.write(struct.pack("<4I", 1_700_000_000 + micros // 1_000_000, micros % 1_000_000, len(frame), len(frame)) + frame)
        return f.tell()


def bomb(path, name):
    """A compressed capture of 10 GiB of zeros, which are empty frames; returns its size."""
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101)
    if name == "zeros-gz":
        content = gzip.compress(header) + gzip.compress(bytes(16 << 20)) * 640
    else:
        # Frames with a window of 128 KiB: a raw block, and blocks of one repeated byte (RFC 8878, section 3.1.1.2).
        magic, repeated = struct.pack("<IBB", 0xFD2FB528, 0, 7 << 3), (1 << 20) | 2
        content = magic + struct.pack("<I", len(header) << 3 | 1)[:3] + header + magic
        content += (struct.pack("<I", repeated)[:3] + b"\0") * (10 << 13) + struct.pack("<I", repeated | 1)[:3] + b"\0"
    with open(path, "wb") as f:
        return f.write(content)


def ip4(source, destination, protocol, body, identification=0, fragment=0):
    return struct.pack("!BBHHHBBHII", 0x45, 0, 20 + len(body), identification & 0xFFFF, fragment, 64, protocol, 0, source, destination) + body


def tcp(client, port, sequence, flags, data=b"", server_port=443, ack=1, from_server=False, options=b""):
    ports, ends = (port, server_port), (0x0A000000 + client, 0xC6336402)
    if from_server:
        ports, ends = ports[::-1], ends[::-1]
    body = struct.pack("!HHIIBBHHH", *ports, sequence & 0xFFFFFFFF, ack & 0xFFFFFFFF, (5 + len(options) // 4) << 4, flags, 64240, 0, 0) + options + data
    return ip4(*ends, 6, body)


def udp(client, port, data, server_port=443):
    return ip4(0x0A000000 + client, 0xC6336402, 17, struct.pack("!HHHH", port, server_port, 8 + len(data), 0) + data)


def opened(client, port, server_port):
    """A handshake; data begins at the sequence number 2."""
    yield tcp(client, port, 1, SYN, server_port=server_port, ack=0)
    yield tcp(client, port, 0, SYN | ACK, server_port=server_port, ack=2, from_server=True)


MSS = b"\x02\x04\x05\xb4\x04\x02\x08\x0a\0\0\0\1\0\0\0\0\x01\x03\x03\x07"


def syns(packets):
    for i in range(packets):
        yield tcp(i * 2654435761 % (1 << 24), i % 60000 + 1024, i, SYN, ack=0)


def syns_of_systems(packets):
    for i in range(packets):
        yield tcp(i * 2654435761 % (1 << 24), i % 60000 + 1024, i, SYN, ack=0, options=MSS)


def empty_segments(packets):
    """Connections without payload: a SYN and a segment after it."""
    for i in range(packets // 2):
        yield tcp(i, 1024 + i % 60000, 1, SYN, server_port=80, ack=0)
        yield tcp(i, 1024 + i % 60000, 2, ACK, server_port=80)


def handshakes(packets):
    for i in range(packets // 2):
        yield from opened(i, 1024 + i % 60000, 443)


def half_hellos(packets):
    start = b"\x16\x03\x01\x20\x00\x01\x00\x1f\xfc\x03\x03" + bytes(600)
    for i in range(packets // 3):
        yield from opened(i, 1024, 443)
        yield tcp(i, 1024, 2, PSH, start)


def half_heads(packets):
    start = b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"h" * 700
    for i in range(packets // 3):
        yield from opened(i, 1024, 80)
        yield tcp(i, 1024, 2, PSH, start, server_port=80)


def half_banners(packets):
    for i in range(packets // 3):
        yield from opened(i, 1024, 22)
        yield tcp(i, 1024, 2, PSH, b"SSH-2.0-" + b"x" * 200, server_port=22)


def holes(packets):
    """Data after a hole, in thousands of connections."""
    flows = 3000
    for i in range(flows):
        yield from opened(i, 1024, 80)
        yield tcp(i, 1024, 2, PSH, b"GET / HTTP/1.1\r\n", server_port=80)
    for i in range(packets // 4):
        yield tcp(i % flows, 1024, 1000 + i // flows * 1400, PSH, b"z" * 1300, server_port=80)


def small_holes(packets):
    """Every second byte, in one connection after another."""
    for i in range(packets):
        flow, at = divmod(i, 10_000)
        if at == 0:
            yield from opened(flow, 1024, 80)
        yield tcp(flow, 1024, 1000 + 2 * ((at * 7919) % 10_000), PSH, b"z", server_port=80)


def first_fragments(packets):
    for i in range(packets):
        yield ip4(0x0A000000 + i, 0xC6336402, 17, bytes(64), i, 0x2000)


def tiny_fragments(packets):
    """Fragments of 8 bytes of datagrams of 64 KiB, none complete."""
    for i in range(packets):
        yield ip4(0x0A000000 + i // 8000, 0xC6336402, 17, bytes(8), 7, 0x2000 | (i % 8000 + 1))


def duplicate_fragments(packets):
    for i in range(packets):
        yield ip4(0x0A000001, 0xC6336402, 17, struct.pack("!Q", i), 7, 0x2000 | 1)


def quic_noise(packets):
    """Initial packets that cannot be decrypted, each a connection."""
    noise = random.Random(1).randbytes(1200)
    for i in range(packets // 4):
        yield udp(i, 1024, b"\xc3\0\0\0\1\x08" + struct.pack("!Q", i) + b"\0\0\x44\x90" + noise[: 1200 - 18])


def quic_noise_one_flow(packets):
    noise = random.Random(1).randbytes(1200)
    for i in range(packets // 4):
        yield udp(1, 1024, b"\xc3\0\0\0\1\x08" + struct.pack("!Q", i) + b"\0\0\x44\x90" + noise[: 1200 - 18])


def stream(client, port, server_port, content):
    """A connection whose client sends this content in segments of 1,400 bytes."""
    yield from opened(client, port, server_port)
    for at in range(0, len(content), 1400):
        yield tcp(client, port, 2 + at, PSH, content[at : at + 1400], server_port=server_port)


def indexed_requests(packets, first, request, count):
    """Connections of a request with a header for the dynamic table, and `count` requests that index it (RFC 7541, section 6.1)."""
    preface = PREFACE + frame(4, 0, 0) + frame(1, 5, 1, b"\x82\x86\x84" + first)
    requests = b"".join(frame(1, 5, 3 + 2 * k, b"\x82\x86\x84" + request) for k in range(count))
    for i in range(max(1, packets // 20_000)):
        yield from stream(i, 1024, 80, preface + requests)


def hpack_one_index(packets):
    """A User-Agent of 3.9 kB, and requests of 18 bytes that index it."""
    return indexed_requests(packets, b"\x7a\x7f\xbd\x1d" + b"\x01" * 3900, b"\xbe" + b"\x90" * 5, 4000)


def hpack_many_indexes(packets):
    """Requests that index the same header again and again."""
    return indexed_requests(packets, b"\x40\x01x\x7f\x81\x01" + b"v" * 256, b"\xbe" * 100, 1000)


def http_requests(packets):
    """Pipelined requests of 18 bytes."""
    for i in range(max(1, packets // 8000)):
        yield from stream(i, 1024, 80, b"GET / HTTP/1.1\r\n\r\n" * 4000)


def http_interim(packets):
    """1xx responses."""
    for i in range(max(1, packets // 8000)):
        yield from stream(i, 1024, 80, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        content = b"HTTP/1.1 100\r\n\r\n" * 4000
        for at in range(0, len(content), 1400):
            yield tcp(i, 1024, 1 + at, PSH, content[at : at + 1400], server_port=80, ack=30, from_server=True)


def http_controls(packets):
    """Heads of bytes that JSON escapes."""
    head = b"GET /" + b"\x01" * 1200 + b" HTTP/1.1\r\nHost: " + b"\x02" * 1200 + b"\r\nUser-Agent: " + b"\\" * 1200 + b"\r\n\r\n"
    for i in range(max(1, packets // 4000)):
        yield from stream(i, 1024, 80, head * 20)


def many_extensions(packets):
    """Hellos of 10,000 extensions without content."""
    extensions = b"".join(struct.pack("!HH", 0x1000 + k, 0) for k in range(10_000))
    body = b"\x03\x03" + bytes(32) + b"\0\0\2\x13\1\1\0" + struct.pack("!H", len(extensions)) + extensions
    message = b"\x01" + struct.pack("!I", len(body))[1:] + body
    content = b"".join(struct.pack("!BHH", 22, 0x0301, len(message[at : at + 16000])) + message[at : at + 16000] for at in range(0, len(message), 16000))
    for i in range(max(1, packets // 1000)):
        yield from stream(i, 1024, 443, content)


def many_ciphers(packets):
    """Hellos of 30,000 cipher suites."""
    suites = b"".join(struct.pack("!H", 0x1000 + k) for k in range(30_000))
    body = b"\x03\x03" + bytes(32) + b"\0" + struct.pack("!H", len(suites)) + suites + b"\1\0\0\0"
    message = b"\x01" + struct.pack("!I", len(body))[1:] + body
    content = b"".join(struct.pack("!BHH", 22, 0x0301, len(message[at : at + 16000])) + message[at : at + 16000] for at in range(0, len(message), 16000))
    for i in range(max(1, packets // 2000)):
        yield from stream(i, 1024, 443, content)


def small_hellos(packets):
    """The shortest hello in a segment of its own, each a connection without a handshake."""
    hello = b"\x16\x03\x01\0\x2d\x01\0\0\x29\x03\x03" + bytes(32) + b"\0\0\2\x13\1\1\0"
    for i in range(packets):
        yield tcp(i, 1024 + i % 60000, 2, PSH, hello)


BOMBS = ("zeros-gz", "zeros-zst")
FLOODS = {
    function.__name__.replace("_", "-"): function
    for function in (
        syns, syns_of_systems, empty_segments, handshakes, half_hellos, half_heads, half_banners, holes, small_holes,
        first_fragments, tiny_fragments, duplicate_fragments, quic_noise, quic_noise_one_flow, hpack_one_index,
        hpack_many_indexes, http_requests, http_interim, http_controls, many_extensions, many_ciphers, small_hellos,
    )
} | dict.fromkeys(BOMBS)


if __name__ == "__main__":
    main()
