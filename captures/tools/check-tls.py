#!/usr/bin/env python3
"""Compares every field of hellos and certificates with tshark and OpenSSL: check-tls.py PROGRAM [FOLDER|CAPTURE...]

Without captures those of the project with TLS are read. The values of this program come from its JSON. Those of hellos come
from tshark's dissection, and the contents of extensions that tshark does not know from the bytes that it shows. Certificates
are the bytes that tshark shows, read by OpenSSL.

Prints a table: field, compared, equal, excused, and each difference without a reason. Exit status 1: there is one.
"""

import collections
import glob
import hashlib
import ipaddress
import json
import multiprocessing
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

from capture_files import captures
from ja4_by_hand import VERSIONS, age, dissected, is_grease, messages, suites, without_grease
from tls_fields import CERTIFICATE, CLIENT_HELLO, RETRY_RANDOM, SERVER_HELLO, ends, first, kind

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = ["tls", "quic", "dtls", "starttls", "http/http-decrypted-*"]
SHOWN = "tls.handshake.type in {1,2,11} or dtls.handshake.type in {1,2,11}"

# What tshark 4.0 needs to read these captures; golden.sh has the reasons.
OPTIONS = {
    "starttls-ftp.pcap": ["-d", "tcp.port==21,tls"],
    "dtls-13.pcap": ["-d", "udp.port==1024-65535,dtls"],
    "dtls-chromium.pcap": ["-d", "udp.port==1024-65535,dtls"],
    "dtls-firefox.pcap": ["-d", "udp.port==1024-65535,dtls"],
    "tls-made-padded-acks.pcap": [
        *("-o", "tcp.analyze_sequence_numbers:FALSE"),
        *("-o", "tcp.desegment_tcp_streams:FALSE"),
    ],
}

# Without this option, tshark reads nothing of segments that were captured in another order.
IN_ORDER = ["-o", "tcp.reassemble_out_of_order:TRUE"]

# Messages that tshark 4.0 does not show: the name of a capture, the frame, and the reason.
EXPLAINED = {
    ("http-decrypted-compressed.pcapng", 39): "tshark does not decompress certificates",
    ("http-decrypted-quic.pcapng", 482): "tshark decrypts no handshake after this Retry",
    ("http-decrypted-tls13.pcapng", 113): "tshark does not look for TLS inside TLS",
    ("http-decrypted-tls13.pcapng", 140): "tshark does not look for TLS inside TLS",
    ("quic-negotiation.pcap", 3): "tshark keeps the keys of the version before a Version Negotiation",
}

# Extensions (IANA, "TLS ExtensionType Values").
SNI, GROUPS, SIGNATURES, ALPN, COMPRESSION, TICKET, PSK, EARLY_DATA = 0, 10, 13, 16, 27, 35, 41, 42
SUPPORTED_VERSIONS, SIGNATURES_OF_CERTIFICATES, RECORD_SIZE_LIMIT, KEY_SHARE = 43, 50, 28, 51
ALPS, OLD_ALPS, TRUST_ANCHORS, ECH = 0x44CD, 0x4469, 0xCA34, 0xFE0D
DRAFT_KEY_SHARE = 40


def tables():
    """The numbers of the names that the program writes, by the table that has them."""
    folder = os.path.join(HERE, "../../huginn-net-tls/src/names")
    with open(os.path.join(folder, "mod.rs"), encoding="utf-8") as file:
        text = file.read()
    found = {}
    for table, rows in re.findall(r"^const (\w+): &\[\(u64, &str\)\] =\s*&\[(.*?)\];", text, re.M | re.S):
        found[table] = {name: int(number, 0) for number, name in re.findall(r'\((\w+), "([^"]*)"\)', rows)}
    for entry in os.listdir(folder):
        if entry.endswith(".txt"):
            with open(os.path.join(folder, entry), encoding="utf-8") as file:
                rows = (line.rstrip("\n").split(" ", 1) for line in file)
                found[entry[:-4].upper()] = {name: int(number, 0) for number, name in rows}
    return found


TABLES = tables()
VERSION_NUMBERS = {code: number for number, code in VERSIONS.items()}


def number(name, table):
    """The number of a name, or of four digits."""
    return TABLES[table][name] if name in TABLES[table] else int(name, 16)


def numbers(names, table):
    return [number(name, table) for name in names or []]


def text(data):
    """Bytes as the program writes them."""
    return data.decode("utf-8", "backslashreplace")


def end_of(field):
    """The place after a field."""
    return int(field.get("pos")) + int(field.get("size"))


class Extensions:
    """The extensions of a hello of tshark: elements, lengths and data."""

    def __init__(self, hello):
        self.hello = hello
        self.kinds, self.lengths, self.elements = [], [], {}
        for kind, element in hello.extensions():
            self.kinds.append(kind)
            self.lengths.append(first(hello.numbers("extension.len", element)))
            self.elements.setdefault(kind, element)

    def fields(self, kind, name):
        """The fields of this name in an extension. tshark reads on after the end of one that is too short."""
        element = self.elements.get(kind)
        if element is None:
            return []
        full, end = f"{self.hello.prefix}.{name}", end_of(element)
        return [field for field in element.iter("field") if field.get("name") == full and end_of(field) <= end]

    def numbers(self, kind, name):
        return [int(field.get("value"), 16) for field in self.fields(kind, "handshake." + name)]

    def values(self, kind, name):
        """The bytes of the fields of this name in an extension."""
        return [bytes.fromhex(field.get("value") or "") for field in self.fields(kind, "handshake." + name)]

    def named(self, kind, name):
        """The numbers of fields whose name lacks `handshake`."""
        return [int(field.get("value"), 16) for field in self.fields(kind, name)]

    def data(self, kind):
        """The data of an extension that tshark does not know."""
        return first(self.values(kind, "extension.data"))

    def length(self, kind):
        return self.lengths[self.kinds.index(kind)] if kind in self.kinds else None


def prefixed(data, size):
    """The elements of a list, each after its length; the list is after a length of two bytes."""
    found, rest = [], (data or b"")[2:]
    while rest:
        end = size + int.from_bytes(rest[:size], "big")
        found.append(rest[size:end])
        rest = rest[end:]
    return found


def relative_identifier(data):
    """A relative object identifier in text (X.690, section 8.20)."""
    parts, part = [], 0
    for byte in data:
        part = part << 7 | byte & 0x7F
        if not byte & 0x80:
            parts.append(str(part))
            part = 0
    return ".".join(parts)


def ech(data):
    """The extension encrypted_client_hello (RFC 9849, section 5)."""
    if data is None:
        return None
    if data == b"\x01":
        return ["inner"]
    if data[:1] != b"\x00":
        return ["other"]
    enc = int.from_bytes(data[6:8], "big")
    return ["outer", data[5], int.from_bytes(data[1:3], "big"), int.from_bytes(data[3:5], "big"), enc, len(data) - 10 - enc]


def grease_of(lists):
    return [f"{name}[{at}]" for name, values in lists for at, value in enumerate(values) if is_grease(value)]


def client_by_tshark(hello):
    own = Extensions(hello)
    versions = own.numbers(SUPPORTED_VERSIONS, "extensions.supported_version")
    groups = own.numbers(GROUPS, "extensions_supported_group")
    share = KEY_SHARE if KEY_SHARE in own.kinds else DRAFT_KEY_SHARE
    shares = own.numbers(share, "extensions_key_share_group")
    lengths = own.numbers(share, "extensions_key_share_key_exchange_length")
    signatures = own.numbers(SIGNATURES, "sig_hash_alg")
    highest = max(without_grease(versions), key=age, default=first(hello.numbers("version")))
    alps = own.data(ALPS if ALPS in own.kinds else OLD_ALPS)
    unknown = [list(pair) for pair in zip(own.kinds, own.lengths) if not is_grease(pair[0])]
    return {
        "version": VERSIONS.get(highest, "00"),
        "sni": first([text(name) for name in own.values(SNI, "extensions_server_name")]),
        "alpn": [text(name) for name in own.values(ALPN, "extensions_alpn_str")],
        "supported_versions": without_grease(versions),
        "cipher suites": without_grease(suites(hello)),
        "groups": without_grease(groups),
        "key shares and lengths": [pair for pair in map(list, zip(shares, lengths)) if not is_grease(pair[0])],
        "signature_algorithms": without_grease(signatures),
        "signature_algorithms_cert": without_grease(own.numbers(SIGNATURES_OF_CERTIFICATES, "sig_hash_alg")),
        "session_id_length": sum(hello.numbers("session_id_length")),
        "session_ticket_length": own.length(TICKET),
        "psk_identity_lengths": own.numbers(PSK, "extensions.psk.identity.identity_length"),
        "early_data": EARLY_DATA in own.kinds,
        "compress_certificate": own.named(COMPRESSION, "compress_certificate.algorithm"),
        "record_size_limit": first(own.named(RECORD_SIZE_LIMIT, "record_size_limit")),
        "alps": [text(name) for name in own.values(OLD_ALPS, "extensions_alps_alpn_str") or prefixed(alps, 1)],
        "trust_anchors": [relative_identifier(name) for name in prefixed(own.data(TRUST_ANCHORS), 1)],
        "ech": ech(own.data(ECH)),
        "extension order": without_grease(own.kinds),
        "unknown_extensions": [pair for pair in unknown if pair[0] not in TABLES["EXTENSIONS"].values()],
        "grease": grease_of(
            [
                ("cipher_suites", suites(hello)),
                ("extensions", own.kinds),
                ("supported_groups", groups),
                ("key_share", shares),
                ("supported_versions", versions),
                ("signature_algorithms", signatures),
            ]
        ),
    }


def client_by_program(event):
    _, ciphers, extensions, *_ = (
        [int(part) for part in parts.split("-") if part] for parts in event["ja3"].split(",")
    )
    found = event["ech"]
    if found:
        numbered = [number(found[name], table) for name, table in (("kdf", "HPKE_KDFS"), ("aead", "HPKE_AEADS")) if found[name]]
        lengths = [found[name] for name in ("enc_length", "payload_length") if found[name] is not None]
        found = [found["type"]] + [found["config_id"]] * (found["config_id"] is not None) + numbered + lengths
    return {
        "version": event["version"],
        "sni": event["sni"],
        "alpn": event["alpn"],
        "supported_versions": [VERSION_NUMBERS.get(version) or int(version, 16) for version in event.get("supported_versions", [])],
        "cipher suites": ciphers,
        "groups": numbers(event["groups"], "GROUPS"),
        "key shares and lengths": [
            list(pair) for pair in zip(numbers(event["key_share_groups"], "GROUPS"), event["key_share_lengths"])
        ],
        "signature_algorithms": numbers(event["signature_algorithms"], "SIGNATURE_SCHEMES"),
        "signature_algorithms_cert": numbers(event.get("signature_algorithms_cert"), "SIGNATURE_SCHEMES"),
        "session_id_length": event["session_id_length"],
        "session_ticket_length": event.get("session_ticket_length"),
        "psk_identity_lengths": event.get("psk_identity_lengths", []),
        "early_data": event.get("early_data", False),
        "compress_certificate": numbers(event.get("compress_certificate"), "CERTIFICATE_COMPRESSION"),
        "record_size_limit": event.get("record_size_limit"),
        "alps": event.get("alps", []),
        "trust_anchors": event.get("trust_anchors", []),
        "ech": found,
        "extension order": extensions,
        "unknown_extensions": [
            [int(found["type"], 16), found["length"]] for found in event.get("unknown_extensions", [])
        ],
        "grease": event.get("grease", []),
    }


def server_by_tshark(hello):
    own = Extensions(hello)
    share = KEY_SHARE if KEY_SHARE in own.kinds else DRAFT_KEY_SHARE
    groups = own.numbers(share, "extensions_key_share_group") + own.numbers(share, "extensions_key_share_selected_group")
    if share == DRAFT_KEY_SHARE and own.data(share):
        groups, lengths = [int.from_bytes(own.data(share)[:2], "big")], [len(own.data(share)) - 4]
    else:
        lengths = own.numbers(share, "extensions_key_share_key_exchange_length")
    selected = own.numbers(SUPPORTED_VERSIONS, "extensions.supported_version") or hello.numbers("version")
    return {
        "version": VERSIONS.get(selected[0], "00"),
        "cipher": first(suites(hello)),
        "alpn": [text(name) for name in own.values(ALPN, "extensions_alpn_str")][:1] or None,
        "group": first(groups),
        "key_share_length": first(lengths),
        "selected_psk": first(own.numbers(PSK, "extensions.psk.identity.selected")),
        "extension order": own.kinds,
        "retry": bool(hello.named("random")) and hello.named("random")[0].get("value") == RETRY_RANDOM,
    }


def server_by_program(event):
    return {
        "version": event["version"],
        "cipher": int(event["cipher"], 16),
        "alpn": event["alpn"],
        "group": None if event["group"] is None else number(event["group"], "GROUPS"),
        "key_share_length": event["key_share_length"],
        "selected_psk": event.get("selected_psk"),
        "extension order": numbers(event["extensions"], "EXTENSIONS"),
        "retry": event["retry"],
    }


def certificates_by_tshark(message):
    chain = [bytes.fromhex(field.get("value")) for field in message.named("certificate")]
    fields = [by_openssl(certificate) for certificate in chain]
    return {name: [read[name] for read in fields] for name in CERTIFICATE_FIELDS}


CERTIFICATE_FIELDS = ["sha256", "serial", "not_before", "not_after", "subject", "issuer", "names"]
READ = {}


def by_openssl(certificate):
    """What OpenSSL reads in a certificate."""
    if certificate in READ:
        return READ[certificate]
    command = ["openssl", "x509", "-inform", "DER", "-noout", "-serial", "-dates"]
    command += ["-dateopt", "iso_8601", "-subject", "-issuer", "-nameopt", "RFC2253,-esc_msb,utf8"]
    ran = subprocess.run(command, input=certificate, capture_output=True)
    shown = dict(line.split("=", 1) for line in ran.stdout.decode("utf-8", "surrogateescape").splitlines() if "=" in line)
    names = subprocess.run(
        ["openssl", "x509", "-inform", "DER", "-noout", "-ext", "subjectAltName"], input=certificate, capture_output=True
    )
    lines = names.stdout.decode("utf-8", "surrogateescape").splitlines()
    READ[certificate] = {
        "sha256": hashlib.sha256(certificate).hexdigest(),
        "serial": shown.get("serial", "").lower() or None,
        "not_before": shown.get("notBefore", "").replace(" ", "T") or None,
        "not_after": shown.get("notAfter", "").replace(" ", "T") or None,
        "subject": shown.get("subject"),
        "issuer": shown.get("issuer"),
        "names": [] if len(lines) < 2 else list(names_of(lines[1].strip())),
    }
    return READ[certificate]


def names_of(text):
    """The names of subjectAltName of the kinds that the program lists, without their kinds."""
    for name in text.split(", "):
        kind, _, name = name.partition(":")
        if kind in ("DNS", "email", "URI", "IP Address"):
            yield str(ipaddress.ip_address(name)) if kind == "IP Address" else name


def certificates_by_program(event):
    return {name: [found[name] for found in event["certificates"]] for name in CERTIFICATE_FIELDS}


def hello_of(message):
    """The kind of event for a message, and its fields; `None` for other messages and fragments."""
    number = kind(message)
    if number == CLIENT_HELLO and suites(message):
        return "tls_client", client_by_tshark(message)
    if number == SERVER_HELLO and suites(message):
        return "tls_server", server_by_tshark(message)
    if number == CERTIFICATE and (message.named("certificate") or message.numbers("certificates_length") == [0]):
        return "tls_certificates", certificates_by_tshark(message)
    return None


READERS = {
    "tls_client": client_by_program,
    "tls_server": server_by_program,
    "tls_certificates": certificates_by_program,
}


def by_tshark(capture):
    """The messages of each sender: frame, fields and random, without repeated ones. tshark ends with an error at a packet that is cut."""
    found, seen = collections.defaultdict(list), set()
    try:
        for packet in dissected(capture, [*IN_ORDER, *OPTIONS.get(os.path.basename(capture), [])], SHOWN):
            frame = int(next(f.get("show") for f in packet.iter("field") if f.get("name") == "num"))
            for _, message in messages(packet):
                read = hello_of(message)
                if read is None:
                    continue
                key = (read[0], *endpoints(packet))
                random = tuple(f.get("value") for name in ("random", "cookie") for f in message.named(name))
                content = (key, json.dumps(read[1]), random)
                if content not in seen:
                    seen.add(content)
                    found[key].append((frame, read[1], random))
    except (SystemExit, ET.ParseError):
        pass
    return found


def endpoints(packet):
    """Sender and receiver of the innermost datagram or segment, with the sender first."""
    shown = {}
    for field in packet.iter("field"):
        if field.get("name") in ("ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport"):
            shown[field.get("name").split(".")[1]] = field.get("show")
    return f"{shown['src']}:{shown['srcport']}", f"{shown['dst']}:{shown['dstport']}"


def by_program(program, capture):
    command = [program, "pcap", "-q", "--format", "json", "--max-text", "none", "--events", ",".join(READERS), capture]
    ran = subprocess.run(command, capture_output=True, text=True)
    found = collections.defaultdict(list)
    for event in map(json.loads, ran.stdout.splitlines()):
        ends = [f"{event[side]['ip']}:{event[side]['port']}" for side in ("client", "server")]
        if event["subject"] == "server":
            ends.reverse()
        found[event["event"], *ends].append((event["packet"], READERS[event["event"]](event), event))
    return found


def excuse(field, event):
    """The reason of a difference that the program does not cause."""
    if field in CERTIFICATE_FIELDS and not all(found["readable"] for found in event["certificates"]):
        return "x509-parser reads no certificate that RFC 5280 forbids"
    return None


def excuse_of_message(capture, key, mine, theirs, own, other):
    """The reason of a message that one of both does not find."""
    explained = EXPLAINED.get((os.path.basename(capture), (mine or theirs)[0]))
    if explained:
        return explained
    if theirs is not None:
        is_repeated = theirs[2] and any(found[2] == theirs[2] for found in other[key] if found is not theirs)
        return "a hello that its sender repeats" if is_repeated else None
    if mine[2].get("decrypted") and mine[2]["event"] != "tls_certificates":
        return "tshark does not look for TLS inside TLS"
    if not any(found[1:] == key[1:] for found in other):
        return "tshark finds no TLS of this sender in the flow"
    if mine[2]["event"] == "tls_certificates":
        sender = key[1].rsplit(":", 1)[1]
        if not mine[2]["certificates"] and has(capture, f"tls.handshake.type == 11 && _ws.malformed && tcp.srcport == {sender}"):
            return "tshark takes the message for malformed, too"
        if has(capture, f"openvpn && frame.number == {mine[0]}"):
            return "tshark does not join the packets of OpenVPN"
    if any(found[1] == mine[1] and is_other_vlan(found[2], mine[2]) for found in own[key]):
        return "tshark takes a packet in another VLAN for a retransmission"
    return None


def has(capture, condition):
    """Whether a packet of the capture meets a display filter of tshark."""
    command = ["tshark", "-r", capture, "-Y", condition]
    return bool(subprocess.run(command, capture_output=True, check=True).stdout)


def is_other_vlan(one, other):
    """Whether the tunnels of two events differ in nothing but VLANs."""
    layers = [event.get("tunnel", []) for event in (one, other)]
    others = [[layer for layer in found if not layer.startswith("vlan:")] for found in layers]
    return layers[0] != layers[1] and others[0] == others[1]


def compare(arguments):
    """The differences of a capture: (event, field) with counts, reasons and what differs."""
    program, capture = arguments
    own, other = by_program(program, capture), by_tshark(capture)
    rows = []
    for key in sorted(set(own) | set(other)):
        left, right = list(own.get(key, [])), list(other.get(key, []))
        for mine, theirs in pairs(left, right):
            if mine is None or theirs is None:
                found = (mine or theirs)[0]
                reason = excuse_of_message(capture, key, mine, theirs, own, other)
                shown = f"frame {found}, {key[1]} to {key[2]}: only {'the program' if mine else 'tshark'} finds it"
                rows.append((key[0], "message", "differs" if reason is None else "excused", reason or shown))
                continue
            rows.append((key[0], "message", "equal", None))
            for field, value in mine[1].items():
                if value == theirs[1][field]:
                    is_empty = value is None or value is False or value == [] or value == [[]]
                    rows.append((key[0], field, "empty" if is_empty else "equal", None))
                    continue
                reason = excuse(field, mine[2])
                shown = f"frame {mine[0]}: {value!r} and {theirs[1][field]!r}"
                rows.append((key[0], field, "differs" if reason is None else "excused", reason or shown))
    return capture, rows


def pairs(left, right):
    """Messages of the program and of tshark: those of the same frame, then the others in their order."""
    found = []
    for mine in list(left):
        same = next((theirs for theirs in right if theirs[0] == mine[0]), None)
        if same:
            left.remove(mine)
            right.remove(same)
            found.append((mine, same))
    if len(left) == len(right):
        return found + list(zip(left, right))
    return found + [(mine, None) for mine in left] + [(None, theirs) for theirs in right]


def main(program, *paths):
    paths = paths or [path for name in FOLDERS for path in sorted(glob.glob(os.path.join(HERE, "..", name)))]
    rows, reasons, differences = {}, collections.defaultdict(set), []
    with multiprocessing.Pool() as pool:
        for capture, found in pool.imap(compare, [(program, capture) for capture in captures(paths)]):
            for event, field, outcome, words in found:
                rows.setdefault((event, field), collections.Counter())[outcome] += 1
                if outcome == "excused":
                    reasons[event, field].add(words)
                elif outcome == "differs":
                    differences.append(f"{os.path.relpath(capture)}: {event}: {field}: {words}")
    print("| event | field | compared | equal | excused | reason |\n|---|---|--:|--:|--:|---|")
    for (event, field), counts in sorted(rows.items(), key=lambda row: list(READERS).index(row[0][0])):
        compared = counts.total() - counts["empty"]
        words = "; ".join(sorted(reasons[event, field]))
        print(f"| `{event}` | {field} | {compared} | {counts['equal']} | {counts['excused'] or ''} | {words} |".replace("  |", " |"))
    print(*differences, sep="\n", end="\n" if differences else "")
    sys.exit(bool(differences) or not rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
