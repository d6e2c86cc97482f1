"""Decodes recordings of HTTP/2 connections with PyPI's hpack: by_hand.py FILE... writes NAME.txt beside NAME.bin.

The output has the Akamai fingerprint and its MD5 if the recording is a client's, then each field list with its stream.
The script uses no code of this project.
"""

import hashlib
import sys

from hpack import Decoder

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frames(data):
    while data:
        length = int.from_bytes(data[:3], "big")
        yield data[3], data[4], int.from_bytes(data[5:9], "big"), data[9 : 9 + length]
        data = data[9 + length :]


def describe(data):
    is_client = PREFACE in data
    if is_client:
        data = data[data.index(PREFACE) + len(PREFACE) :]
    decoder = Decoder()
    decoder.max_allowed_table_size = 65536
    settings, window, priorities, lists = None, "00", [], []
    for kind, flags, stream, payload in frames(data):
        if kind == 4 and not flags & 1 and settings is None:
            pairs = [payload[i : i + 6] for i in range(0, len(payload), 6)]
            settings = ";".join("%d:%d" % (int.from_bytes(p[:2], "big"), int.from_bytes(p[2:], "big")) for p in pairs)
        if kind == 8 and stream == 0 and window == "00" and not lists:
            window = str(int.from_bytes(payload, "big"))
        if kind == 2 and not lists:
            other = int.from_bytes(payload[:4], "big")
            priorities.append("%d:%d:%d:%d" % (stream, other >> 31, other & 0x7FFFFFFF, payload[4] + 1))
        if kind == 1:
            assert flags & 4 and not flags & 8
            lists.append((stream, decoder.decode(payload[5:] if flags & 0x20 else payload, raw=True)))
    if is_client and lists:
        order = ",".join(name[1:2].decode() for name, _ in lists[0][1] if name.startswith(b":"))
        akamai = "|".join([settings, window, ",".join(priorities) or "0", order])
        yield akamai
        yield hashlib.md5(akamai.encode()).hexdigest()
    for stream, fields in lists:
        yield "stream %d" % stream
        for name, value in fields:
            yield "  %s: %s" % (name.decode(), value.decode())


for name in sys.argv[1:]:
    with open(name, "rb") as recording, open(name.removesuffix(".bin") + ".txt", "w") as text:
        text.writelines(line + "\n" for line in describe(recording.read()))
