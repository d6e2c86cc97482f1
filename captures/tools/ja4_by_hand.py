#!/usr/bin/python3
"""Computes JA4 by its definition from tshark's dissection, and copies tshark's own JA3 and JA3S.

    ja4_by_hand.py CAPTURE OUT.ja3 OUT.ja4 [TSHARK ARGUMENT...]

OUT.ja4 has a line for every ClientHello, in the order of the capture:
  source address, source port, ja4, ja4_r, ja4_o, ja4_ro, ja4_stable, ja4_stable_r
OUT.ja3 has a line for every ClientHello and ServerHello:
  frame, source address, source port, `client` or `server`, the full string, its MD5

The script implements the definition (FoxIO's technical_details/JA4.md) without this project's parser: tshark dissects the
packets, reassembles segments, decrypts QUIC's Initials, and names the fields.
"""

import hashlib
import subprocess
import sys
import xml.etree.ElementTree as ET

CLIENT_HELLO, SERVER_HELLO = "1", "2"
SNI, SIGNATURE_ALGORITHMS, ALPN, SUPPORTED_VERSIONS = 0x0000, 0x000D, 0x0010, 0x002B
# Padding, session_ticket, pre_shared_key and early_data: whether they are sent depends on the session.
OF_A_SESSION = {0x0015, 0x0023, 0x0029, 0x002A}
VERSIONS = {
    0x0304: "13",
    0x0303: "12",
    0x0302: "11",
    0x0301: "10",
    0x0300: "s3",
    0x0002: "s2",
    0xFEFF: "d1",
    0xFEFD: "d2",
    0xFEFC: "d3",
}
ALPHANUMERIC = set(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


class Message:
    """A handshake message as tshark shows it."""

    def __init__(self, element, prefix):
        self.element, self.prefix = element, prefix

    def named(self, name, under=None):
        """Every field of this name below `under`, or in the whole message."""
        full = self.prefix + ".handshake." + name
        return [f for f in (self.element if under is None else under).iter("field") if f.get("name") == full]

    def numbers(self, name, under=None):
        return [int(f.get("value"), 16) for f in self.named(name, under)]

    def text(self, name):
        found = self.named(name)
        return found[0].get("show") if found else ""

    def extensions(self):
        """(type, element) of each extension in the order of the wire."""
        parents = {child: parent for parent in self.element.iter() for child in parent}
        return [(int(f.get("value"), 16), parents[f]) for f in self.named("extension.type")]


def is_grease(value):
    """RFC 8701: 0x0a0a, 0x1a1a, .. 0xfafa."""
    return value & 0x0F0F == 0x0A0A and value >> 8 == value & 0xFF


def without_grease(values):
    return [v for v in values if not is_grease(v)]


def hexes(values):
    return ",".join(f"{v:04x}" for v in values)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else "0" * 12


def suites(hello):
    """Returns the cipher suites. In an SSL 2.0 hello they have three bytes; those of TLS begin with 0."""
    return hello.numbers("ciphersuite") or [spec for spec in hello.numbers("cipherspec") if spec <= 0xFFFF]


def ja3(hello):
    """Returns tshark's JA3. An SSL 2.0 hello has none; its JA3 is the version and the suites."""
    if hello.named("ciphersuite"):
        return hello.text("ja3_full"), hello.text("ja3")
    full = f"{hello.numbers('version')[0]},{'-'.join(map(str, suites(hello)))},,,"
    return full, hashlib.md5(full.encode()).hexdigest()


def version(hello, extensions):
    offered = [hello.numbers("extensions.supported_version", e) for kind, e in extensions if kind == SUPPORTED_VERSIONS]
    offered = without_grease(offered[0]) if offered else []
    return VERSIONS.get(max(offered, key=age) if offered else hello.numbers("version")[0], "00")


def age(number):
    """Sort key, old to new. DTLS counts down: 1.0 is 0xfeff, 1.3 is 0xfefc; Firefox lists TLS 1.2 beside those."""
    return 0x10000 - number if number >= 0xFE00 else number - 0x10000


def application(hello, extensions):
    """The two characters for the first application protocol."""
    for kind, element in extensions:
        if kind == ALPN:
            values = [bytes.fromhex(f.get("value")) for f in hello.named("extensions_alpn_str", element)]
            if not values or not values[0]:
                return "00"
            first, last = values[0][0], values[0][-1]
            if first in ALPHANUMERIC and last in ALPHANUMERIC:
                return chr(first) + chr(last)
            return values[0].hex()[0] + values[0].hex()[-1]
    return "00"


def ja4(hello, transport):
    """ja4, ja4_r, ja4_o, ja4_ro, ja4_stable, ja4_stable_r."""
    extensions = hello.extensions()
    kinds = without_grease([kind for kind, _ in extensions])
    ciphers = without_grease(suites(hello))
    signatures = [hello.numbers("sig_hash_alg", e) for kind, e in extensions if kind == SIGNATURE_ALGORITHMS]
    signatures = without_grease(signatures[0]) if signatures else []
    start = transport + version(hello, extensions) + ("d" if SNI in kinds else "i")

    def fingerprint(counted, listed_ciphers, listed_kinds):
        a = f"{start}{min(len(ciphers), 99):02}{min(len(counted), 99):02}{application(hello, extensions)}"
        b, c = hexes(listed_ciphers), hexes(listed_kinds)
        if signatures:
            c += "_" + hexes(signatures)
        return [f"{a}_{digest(b)}_{digest(c if listed_kinds else '')}", f"{a}_{b}_{c}"]

    def hidden(counted):
        return sorted(k for k in counted if k not in (SNI, ALPN))

    lasting = [k for k in kinds if k not in OF_A_SESSION]
    return (
        fingerprint(kinds, sorted(ciphers), hidden(kinds))
        + fingerprint(kinds, ciphers, kinds)
        + fingerprint(lasting, sorted(ciphers), hidden(lasting))
    )


def messages(packet):
    """(transport, message) of each handshake message in a packet. TLS is inside QUIC, or after TCP."""
    seen = set()
    for proto in packet.iter("proto"):
        for field in proto.iter("field"):
            prefix, _, name = field.get("name").partition(".")
            of_ssl2 = name == "record" and field.get("showname").startswith("SSLv2")
            if prefix in ("tls", "dtls") and (name == "handshake" or of_ssl2) and field not in seen:
                seen.add(field)
                yield "q" if proto.get("name") == "quic" else prefix[0], Message(field, prefix)


def source(packet):
    """Address and port of the innermost headers."""
    shown = {}
    for field in packet.iter("field"):
        if field.get("name") in ("ip.src", "ipv6.src", "tcp.srcport", "udp.srcport"):
            shown[field.get("name").split(".")[1]] = field.get("show")
    return shown["src"], shown["srcport"]


HELLOS = "tls.handshake.type in {1,2} or dtls.handshake.type in {1,2}"


def dissected(capture, arguments, shown=HELLOS):
    """The packets that a display filter shows."""
    command = ["tshark", "-r", capture, "-Y", shown, "-T", "pdml"]
    with subprocess.Popen(command + arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tshark:
        for _, element in ET.iterparse(tshark.stdout):
            if element.tag == "packet":
                yield element
                element.clear()
    if tshark.returncode != 0:
        sys.exit(f"tshark failed on {capture}")


def main(capture, ja3_path, ja4_path, *arguments):
    ja3_lines, ja4_lines = [], []
    for packet in dissected(capture, list(arguments)):
        frame = next(f.get("show") for f in packet.iter("field") if f.get("name") == "num")
        for transport, message in messages(packet):
            kind = message.text("type")
            if kind == CLIENT_HELLO and not suites(message):
                continue  # a fragment; tshark shows the whole message with the last one
            if kind == CLIENT_HELLO:
                ja4_lines.append((*source(packet), *ja4(message, transport)))
                ja3_lines.append((frame, *source(packet), "client", *ja3(message)))
            elif kind == SERVER_HELLO:
                ja3_lines.append((frame, *source(packet), "server", message.text("ja3s_full"), message.text("ja3s")))
    for path, lines in ((ja3_path, ja3_lines), (ja4_path, ja4_lines)):
        with open(path, "w") as f:
            f.writelines("\t".join(line) + "\n" for line in lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
