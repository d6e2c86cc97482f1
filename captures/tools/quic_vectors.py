#!/usr/bin/env python3
"""Writes docs/quic-vectors.jsonl: QUIC fingerprints, computed from docs/quic-fingerprint.md apart from the Rust code.

    captures/tools/quic_vectors.py > docs/quic-vectors.jsonl

tshark decrypts the hellos of captures/quic and lists their transport parameters; the other vectors are made here. A line has
the extension data of a hello in hexadecimal, the version of its packet, and both forms of the fingerprint.
"""

import json
import pathlib
import subprocess

CAPTURES = pathlib.Path(__file__).parent.parent / "quic"

# docs/quic-fingerprint.md, "Values".
INTEGERS = {1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 0x20, 0x3E, 0x1057, 0x3127, 0x7158, 0x9F81A176, 0xFF02DE1A, 0xFF03DE1A,
            0xFF04DE1B}
LENGTH_ONLY = {0, 2, 13, 15, 16}
VERSIONS = {0x11, 0xFF73DB}
INITIAL_RTT = 0x3127
# In use, although it has the form of reserved ids.
MIN_ACK_DELAY_02 = 0xFF02DE1A
MAX_PARAMETERS, MAX_VALUE, MAX_VERSIONS = 64, 32, 16


def varint(number):
    for bits, prefix in ((6, 0), (14, 1), (30, 2), (62, 3)):
        if number < 1 << bits:
            return (number | prefix << bits).to_bytes((bits + 2) // 8, "big")
    raise ValueError(number)


def encode(parameters):
    return b"".join(varint(number) + varint(len(value)) + value for number, value in parameters)


def version_text(number):
    if number & 0x0F0F0F0F == 0x0A0A0A0A:
        return "g"
    if 0xFF000001 <= number <= 0xFF0000FF:
        return f"draft-{number & 0xFF}"
    return {1: "1", 0x6B3343CF: "2"}.get(number, f"0x{number:08x}")


def value_text(number, value, is_sorted):
    if number == INITIAL_RTT:
        return "*"
    if number in LENGTH_ONLY:
        return f"*{len(value)}"
    if not value:
        return ""
    if number in INTEGERS and len(value) == 1 << (value[0] >> 6):
        return ":" + str(int.from_bytes(value, "big") & (1 << 8 * len(value) - 2) - 1)
    if number in VERSIONS and len(value) % 4 == 0:
        texts = [version_text(int.from_bytes(value[at:at + 4], "big")) for at in range(0, len(value), 4)]
        more = [",+"] if len(texts) > MAX_VERSIONS else []
        chosen, *available = texts[:MAX_VERSIONS]
        if is_sorted and "g" in available:
            available = [text for text in available if text != "g"] + ["g"]
        return ":" + ",".join([chosen, *available]) + "".join(more)
    rest = f"*{len(value)}" if len(value) > MAX_VALUE else ""
    return ":x" + value[:MAX_VALUE].hex() + rest


def is_reserved(number):
    return number % 31 == 27 and number != MIN_ACK_DELAY_02


def fingerprint(version, parameters, is_sorted):
    listed = parameters[:MAX_PARAMETERS]
    ends = ["+"] if len(parameters) > MAX_PARAMETERS else []
    if is_sorted:
        if any(is_reserved(number) for number, _ in listed):
            ends = ["g", *ends]
        listed = [(number, value) for number, value in listed if not is_reserved(number) and number != INITIAL_RTT]
        listed.sort(key=lambda parameter: parameter[0])
    items = ["g" if is_reserved(number) else f"{number:x}" + value_text(number, value, is_sorted)
             for number, value in listed]
    return version_text(version) + "|" + ";".join(items + ends)


def vector(name, version, parameters):
    print(json.dumps({
        "name": name,
        "version": f"{version:08x}",
        "parameters": encode(parameters).hex(),
        "sorted": fingerprint(version, parameters, True),
        "original": fingerprint(version, parameters, False),
    }))


def recorded():
    """The hellos that tshark decrypts, by name of the capture and number of the frame."""
    for capture in sorted(CAPTURES.glob("*/*.pcap")):
        fields = ["frame.number", "quic.version", "tls.quic.parameter.type", "tls.quic.parameter.value"]
        command = ["tshark", "-r", capture, "-Y", "tls.handshake.type == 1 && tls.quic.parameter.type", "-T", "json",
                   "--no-duplicate-keys"]
        hellos = subprocess.run(command, capture_output=True, check=True).stdout
        for packet in json.loads(hellos):
            layers = packet["_source"]["layers"]
            version = int(next(find(layers, fields[1])), 16)
            parameters = []
            for parameter in find(layers, "Parameter"):
                value = next(find(parameter, fields[3]), "")
                parameters.append((int(next(find(parameter, fields[2]))), bytes.fromhex(value.replace(":", ""))))
            yield f"{capture.stem}, frame {next(find(layers, fields[0]))}", version, parameters


def find(tree, key):
    """The values of a key anywhere in a tree. A key may begin with the name of a parameter."""
    if isinstance(tree, dict):
        for name, child in tree.items():
            if name == key or key == "Parameter" and name.startswith("Parameter: "):
                yield from child if isinstance(child, list) else [child]
            else:
                yield from find(child, key)
    elif isinstance(tree, list):
        for child in tree:
            yield from find(child, key)


def integer(number, value):
    return number, varint(value)


def main():
    for name, version, parameters in recorded():
        vector(name, version, parameters)
    vector("no parameters", 1, [])
    vector("version 2", 0x6B3343CF, [integer(4, 5)])
    vector("draft", 0xFF00001D, [integer(4, 5)])
    vector("reserved version", 0x1A2A3A4A, [integer(4, 5)])
    vector("other version", 0xFACEB002, [integer(4, 5)])
    vector("integer that is cut", 1, [(4, b"\x40")])
    vector("integer in more bytes than it needs", 1, [(4, b"\xc0\0\0\0\0\0\0\x05")])
    vector("integer with bytes after it", 1, [(4, b"\x05\0")])
    vector("largest integer", 1, [integer(4, (1 << 62) - 1)])
    vector("flags", 1, [(0x2AB2, b""), (0x0C, b"")])
    vector("repeated", 1, [integer(5, 2), integer(4, 1), integer(5, 1)])
    vector("two reserved ones", 1, [(27, b"\1\2"), integer(4, 5), (58, b"")])
    vector("round-trip time", 1, [integer(0x3127, 20000), integer(4, 5)])
    vector("parameters of servers", 1, [(0, bytes(8)), (2, bytes(16)), (13, bytes(49)), (16, bytes(4))])
    vector("Google", 1, [(0x3128, b"ORIGB2ON"), (0x3129, b"Chrome/100"), (0x4752, b"\0\0\0\1")])
    vector("unknown parameter", 1, [(0x1234567, b"\5")])
    vector("reserved versions", 1, [(0x11, bytes.fromhex("000000010a1a2a3a000000011a1a1a1a6b3343cf"))])
    vector("chosen version is reserved", 0x1A2A3A4A, [(0xFF73DB, bytes.fromhex("1a2a3a4a00000001"))])
    vector("versions that are cut", 1, [(0x11, bytes.fromhex("00000001000000"))])
    vector("17 versions", 1, [(0x11, bytes.fromhex("00000001") * 17)])
    vector("33 bytes", 1, [(0x30, bytes(range(33)))])
    vector("65 parameters", 1, [integer(number, number) for number in range(0x1000, 0x1041)])
    vector("multipath", 1, [integer(0x3E, 2), integer(0x0F739BBC1B666D11, 2), integer(0xFF04DE1B, 1000)])


main()
