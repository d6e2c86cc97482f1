#!/usr/bin/python3
"""Writes docs/ja4-vectors.jsonl, and from it the table of docs/ja4-conformance.md.

    ja4_vectors.py           write both
    ja4_vectors.py --check   fail if they differ from what would be written

Each hello is made here, byte by byte. `ja4_by_hand.py` computes its fingerprints by the definition, without this project's parser.
"""

import hashlib
import json
import pathlib
import struct
import sys
from types import SimpleNamespace

import ja4_by_hand
from ja4_by_hand import ALPN, OF_A_SESSION, SIGNATURE_ALGORITHMS, SNI, SUPPORTED_VERSIONS

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
VECTORS, PAGE = DOCS / "ja4-vectors.jsonl", DOCS / "ja4-conformance.md"
BEGIN, END = "<!-- ja4_vectors.py writes this table: begin -->\n", "<!-- end -->\n"
GROUPS, KEY_SHARE, CERTIFICATE_ALGORITHMS = 0x000A, 0x0033, 0x0032
FORMS = ["ja4", "ja4_r", "ja4_o", "ja4_ro", "ja4_stable", "ja4_stable_r"]

# Tools whose values for these bytes were measured.
NPM, PYPI, CRATES = "read-tls-client-hello 2.0.0 (npm)", "ja4plus 1.4.0 (PyPI)", "huginn-net-tls 2.2.1 (crates.io)"
# Tools whose rule is known from a report; the values follow from that rule.
SURICATA = "Suricata (suricata-verify, test bug-5713)"
ZEEK = "FoxIO's Zeek script before August 2024 (FoxIO 149)"
HUGINN_S1 = "huginn-net 2.2 (crates.io), field ja4_s1"
NDPI = "nDPI and fingerproxy, stable form"


def numbers(values):
    return b"".join(struct.pack("!H", value) for value in values)


def long_list(values):
    return struct.pack("!H", 2 * len(values)) + numbers(values)


def server_name(name):
    return SNI, struct.pack("!HBH", len(name) + 3, 0, len(name)) + name


def alpn(*values):
    listed = b"".join(bytes([len(value)]) + value for value in values)
    return ALPN, struct.pack("!H", len(listed)) + listed


def versions(*offered):
    return SUPPORTED_VERSIONS, bytes([2 * len(offered)]) + numbers(offered)


def algorithms(*offered):
    return SIGNATURE_ALGORITHMS, long_list(offered)


SUITES = [0x1301, 0x1302, 0x1303]
NAME = server_name(b"example.org")
LISTS = [
    versions(0x0304, 0x0303), algorithms(0x0403, 0x0804), (GROUPS, long_list([0x001D, 0x0017])), (KEY_SHARE, b""),
]
SESSION = [(0x0023, bytes(8)), (0x002A, b""), (0x002D, b"\1\1"), (0x0015, bytes(4)), (0x0029, bytes(8))]


class Hello:
    """A ClientHello, with the methods of `ja4_by_hand.Message`: an extension is its own element."""

    def __init__(self, extensions, suites=SUITES, transport="t", legacy=0x0303):
        self.pairs, self.suites, self.transport, self.legacy = list(extensions), suites, transport, legacy

    def message(self):
        """The handshake message (RFC 8446, section 4.1.2)."""
        cookie = b"\0" if self.transport == "d" else b""
        block = b"".join(struct.pack("!HH", kind, len(data)) + data for kind, data in self.pairs)
        body = struct.pack("!H", self.legacy) + bytes([7] * 32) + b"\0" + cookie + long_list(self.suites) + b"\1\0"
        body += struct.pack("!H", len(block)) + block
        return b"\1" + struct.pack("!I", len(body))[1:] + body

    def extensions(self):
        return [(kind, data) for kind, data in self.pairs]

    def numbers(self, name, data=b""):
        if name in ("ciphersuite", "version"):
            return self.suites if name == "ciphersuite" else [self.legacy]
        start = 1 if name == "extensions.supported_version" else 2
        return [number for number, in struct.iter_unpack("!H", data[start:])]

    def named(self, _, data):
        """The values of ALPN, as tshark shows them."""
        values, rest = [], data[2:]
        while rest:
            values.append(SimpleNamespace(get=lambda _, value=rest[1 : 1 + rest[0]]: value.hex()))
            rest = rest[1 + rest[0] :]
        return values

    def fingerprints(self):
        return dict(zip(FORMS, ja4_by_hand.ja4(self, self.transport)))


def offering(*offered):
    return [versions(*offered), *LISTS[1:], NAME]


def but(part, value):
    """The JA4 with another part."""
    places = {"version": (1, 3), "name": (3, 4), "suites": (4, 6), "alpn": (8, 10)}

    def change(ja4):
        if part in ("b", "c"):
            pieces = ja4.split("_")
            pieces["abc".index(part)] = value
            return "_".join(pieces)
        start, end = places[part]
        return ja4[:start] + value + ja4[end:]

    return change


def trailing_underscore(hello):
    kinds = sorted(kind for kind, _ in hello.pairs if kind not in (SNI, ALPN))
    return but("c", hashlib.sha256((ja4_by_hand.hexes(kinds) + "_").encode()).hexdigest()[:12])


def leaving_out(hello, types):
    """The form without these extensions, in list and count."""
    kept = [(kind, data) for kind, data in hello.pairs if kind not in types]
    return lambda _: Hello(kept, hello.suites, hello.transport, hello.legacy).fingerprints()["ja4"]


def rows():
    """(name, the hello in words, rule, hello, deviations: tool, basis, change of the JA4)."""
    measured = lambda change, *tools: [(tool, "measured", change) for tool in tools]  # noqa: E731
    plain = [*LISTS, NAME]
    first_and_last = "first and last character of the first value"
    yield "plain", "ALPN h2", "", Hello([*plain, alpn(b"h2")]), []
    yield "alpn-none", "no ALPN", "`00`", Hello(plain), []
    yield "alpn-http", "ALPN http/1.1", first_and_last, Hello([*plain, alpn(b"http/1.1")]), []
    yield ("alpn-one", "ALPN z", "one character stands for both", Hello([*plain, alpn(b"z")]),
           measured(but("alpn", "z0"), CRATES))
    yield ("alpn-first-empty", "ALPN with an empty value, then h2", "an empty first value is none",
           Hello([*plain, alpn(b"", b"h2")]), [])
    yield "alpn-no-values", "ALPN without values", "none; the extension is counted", Hello([*plain, alpn()]), []
    yield ("alpn-grease", "ALPN 0a0a (bytes), then h2",
           "GREASE is ignored among numbers, but an ALPN value is a name. Its ends are not alphanumeric, so the first and last "
           "hexadecimal digit of the value", Hello([*plain, alpn(b"\x0a\x0a", b"h2")]),
           measured(but("alpn", "\n\n"), NPM, CRATES) + measured(but("alpn", "99"), PYPI))
    yield ("alpn-space", 'ALPN "h2 "', "a space is not alphanumeric", Hello([*plain, alpn(b"h2 ")]),
           measured(but("alpn", "h "), NPM, PYPI, CRATES))
    yield ("alpn-one-end", "ALPN 30 ab (bytes)", "one end is enough for hexadecimal", Hello([*plain, alpn(b"\x30\xab")]),
           measured(but("alpn", "0+"), NPM) + measured(but("alpn", "09"), PYPI) + measured(but("alpn", "00"), CRATES))
    yield "sni-none", "no server_name", "`i`", Hello(LISTS), []
    yield ("sni-address", "server_name 192.0.2.1", "the presence of the extension counts, not its content",
           Hello([*LISTS, server_name(b"192.0.2.1")]), [])
    yield ("sni-empty", "server_name of no bytes", "as for an address", Hello([*LISTS, (SNI, b"")]),
           measured(but("name", "i"), NPM))
    yield ("grease-lists", "GREASE among cipher suites and extensions", "neither counted nor listed",
           Hello([(0x5A5A, b""), *plain, (0xFAFA, b"")], [*SUITES, 0x2A2A]), [])
    yield ("grease-algorithms", "GREASE among signature algorithms (Chrome since 152)", "not listed",
           Hello([LISTS[0], algorithms(0x4A4A, 0x0403, 0x0804), *LISTS[2:], NAME]), [])
    yield "grease-version", "supported_versions fafa, 0304, 0303", "GREASE is not a version", Hello(offering(0xFAFA, 0x0304, 0x0303)), []
    yield ("grease-alike", "cipher suite 0a1a besides", "GREASE has two equal bytes (RFC 8701)",
           Hello(plain, [*SUITES, 0x0A1A]),
           measured(lambda _: Hello(plain).fingerprints()["ja4"], NPM))
    yield ("version-draft", "supported_versions 7f1c (draft 28), 0304, 0303", "the highest one, which has no name",
           Hello(offering(0x7F1C, 0x0304, 0x0303)), measured(but("version", "13"), NPM))
    yield "version-order", "supported_versions 0303, 0304", "the highest one, not the first", Hello(offering(0x0303, 0x0304)), []
    yield ("version-legacy", "no supported_versions", "the version of the hello", Hello([*LISTS[1:], NAME], legacy=0x0302), [])
    yield ("scsv", "00ff and 5600 among the cipher suites", "signalling values are counted and listed",
           Hello(plain, [*SUITES, 0x00FF, 0x5600]), [])
    yield ("count-99", "100 cipher suites", "counts stop at 99, lists do not", Hello(plain, range(0x2000, 0x2064)),
           measured(but("suites", "100"), NPM))
    yield ("algorithms-cert", "signature_algorithms_cert besides", "signature algorithms are those of extension 13",
           Hello([*plain, (CERTIFICATE_ALGORITHMS, long_list([0x0601, 0x0501]))]), [])
    without = Hello([LISTS[0], *LISTS[2:], NAME])
    yield ("algorithms-none", "no signature_algorithms", "no underscore after the extensions", without,
           [(SURICATA, "reported", trailing_underscore(without)), (ZEEK, "reported", trailing_underscore(without))])
    nothing = but("c", "e3b0c44298fc")
    yield ("extensions-none", "TLS 1.2 without extensions", "the hash of an empty list is 000000000000", Hello([]),
           measured(nothing, NPM))
    yield ("extensions-unlisted", "TLS 1.2; only server_name and ALPN", "the list is empty, since JA4 leaves out both",
           Hello([NAME, alpn(b"h2")]), measured(nothing, NPM))
    yield ("extensions-new", "44cd, fe0d, ca34 besides", "every extension counts, known or not",
           Hello([*plain, (0x44CD, b""), (0xFE0D, b""), (0xCA34, b"")]), [])
    yield ("extensions-doubled", "extended_master_secret twice", "counted and listed as often as sent",
           Hello([*plain, (0x0017, b""), (0x0017, b"")]), [])
    session = Hello([*plain, *SESSION])
    yield ("session", "0023, 002a, 002d, 0015 and 0029 besides",
           "`ja4` has them all; `ja4_stable` leaves out 0015, 0023, 0029 and 002a", session,
           [(NDPI, "reported", leaving_out(session, OF_A_SESSION - {0x002A})),
            (HUGINN_S1, "reported", leaving_out(session, OF_A_SESSION | {0x0019, 0x0020, 0x002C, 0x002D, 0x003A}))])
    yield ("quic", "quic_transport_parameters, over QUIC", "the transport decides the first letter",
           Hello([*plain, (0x0039, b"")], transport="q"), [])
    yield ("quic-over-tcp", "quic_transport_parameters, over TCP", "the extension does not decide it", Hello([*plain, (0x0039, b"")]), [])
    yield ("dtls", "DTLS; supported_versions fefc, fefd", "the newest version, though its number is the lowest",
           Hello(offering(0xFEFC, 0xFEFD), transport="d", legacy=0xFEFD), [])


def vector(name, words, rule, hello, deviations):
    forms = hello.fingerprints()
    return {
        "name": name, "hello_in_words": words, "rule": rule, "transport": {"t": "tcp", "q": "quic", "d": "dtls"}[hello.transport],
        "hello": hello.message().hex(), **forms,
        "deviations": [{"tool": tool, "basis": basis, "value": change(forms["ja4"])} for tool, basis, change in deviations],
    }


def shown(ja4, value):
    """The parts of a deviating value that differ, as the page shows them."""
    if "\n" in value:
        return "two line feeds"
    pairs = [(one, other) for one, other in zip(ja4.split("_"), value.split("_")) if one != other]
    parts = []
    for one, other in pairs:
        if len(one) == 12 or len(one) != len(other):
            parts.append(other)
            continue
        differs = [(a, b) for a, b in zip(split_a(one), split_a(other)) if a != b]
        parts += [b for _, b in differs]
    return " and ".join(f"`{part}`" for part in parts)


def split_a(a):
    return a[0], a[1:3], a[3], a[4:6], a[6:8], a[8:]


def table(vectors):
    tools = list(dict.fromkeys(deviation["tool"] for vector in vectors for deviation in vector["deviations"]))
    lines = [f"{number}. {tool}" for number, tool in enumerate(tools, 1)]
    lines += ["", "| row | the hello | rule | JA4 | elsewhere |", "|---|---|---|---|---|"]
    for vector in vectors:
        elsewhere = {}
        for deviation in vector["deviations"]:
            text = shown(vector["ja4"], deviation["value"])
            elsewhere.setdefault(text, []).append(tools.index(deviation["tool"]) + 1)
        cells = ", ".join(f"{text} ({', '.join(map(str, sorted(found)))})" for text, found in elsewhere.items())
        lines.append(f"| `{vector['name']}` | {vector['hello_in_words']} | {vector['rule']} | `{vector['ja4']}` | {cells} |")
    return "".join(line.rstrip() + "\n" for line in lines)


def main():
    vectors = [vector(*row) for row in rows()]
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    written = {
        VECTORS: "".join(json.dumps(vector) + "\n" for vector in vectors),
        PAGE: f"{before}{BEGIN}\n{table(vectors)}\n{END}{after}",
    }
    if sys.argv[1:] == ["--check"]:
        stale = [path.name for path, text in written.items() if path.read_text() != text]
        sys.exit(f"not what ja4_vectors.py writes: {', '.join(stale)}" if stale else 0)
    for path, text in written.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
