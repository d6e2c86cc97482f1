#!/usr/bin/python3
"""Fills fuzz/corpus for the targets that take no whole capture file, from captures/*.pcap and the signatures."""

import glob
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CAPTURES = os.path.join(HERE, "..", "captures")
sys.dont_write_bytecode = True
sys.path.insert(0, CAPTURES)
from packets import read  # noqa: E402


def main():
    for path in glob.glob(os.path.join(CAPTURES, "*.pcap")):
        with open(path, "rb") as f:
            header = f.read(24)
        if header[3] < 0xA0:
            continue  # the other byte order: the same packets as elsewhere
        link, frames = struct.unpack_from("<H", header, 20)[0], [frame for _, frame in read(path)][:20]
        lengths = [struct.pack("<H", len(frame)) + frame for frame in frames]
        name = os.path.basename(path)
        save("decode", name, struct.pack("<H", link) + b"".join(lengths))
        if link == 1:
            for i, frame in enumerate(frames):
                if frame[12:14] in (b"\x08\x00", b"\x86\xdd"):
                    save("tcp_signature", f"{name}-{i}", frame[14:])
    for path in glob.glob(os.path.join(HERE, "..", "huginn-net-db", "signatures", "*.fp")):
        with open(path, "rb") as f:
            save("database", os.path.basename(path), f.read())


def save(target, name, data):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


if __name__ == "__main__":
    main()
