#!/usr/bin/python3
"""Writes what tshark shows of TLS hellos and handshakes beside their fingerprints, as JSON Lines.

    tls_fields.py CAPTURE OUT.hellos [--handshakes OUT.handshakes] [TSHARK ARGUMENT...]

OUT.hellos has a line for every ClientHello and ServerHello. Numbers are those of the wire, GREASE included:
  source, hello       address and port; `client` or `server`
  extensions          type and length of each extension
  key_shares          group and length of each key share
  session_id          length
  signature_algorithms, psk_identities (lengths), compress_certificate, record_size_limit, alps    of clients
  version, cipher, selected_psk                                                                    of servers
OUT.handshakes has a line for every TCP connection with a ClientHello whose handshake ends or that shows certificates:
  client, server      addresses and ports; the client is the sender of the ClientHello
  certificates        sender and number of certificates of each Certificate message
  end                 the frame in which the handshake ends; absent, as all that follow, if it does not end
  completed, version, resumed, retry, group, dh_bits, certificate_requested, certificate_authorities
  alerts              sender, level and description; only the sender if the alert is encrypted

tshark dissects the packets and reassembles segments and messages. The script shares no code with this project's parser: it
decides from the order of tshark's records what docs/events.md defines of `tls_handshake`.
"""

import json
import sys

from ja4_by_hand import HELLOS, dissected, messages, source, suites

CLIENT_HELLO, SERVER_HELLO, CERTIFICATE, SERVER_KEY_EXCHANGE, CERTIFICATE_REQUEST = 1, 2, 11, 12, 13
NEW_SESSION_TICKET = 4
CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA = 20, 21, 22, 23
FATAL, CLOSE_NOTIFY = 2, 0
SESSION_TICKET, EARLY_DATA = 35, 42
# SHA-256 of "HelloRetryRequest" (RFC 8446, section 4.1.3).
RETRY_RANDOM = "cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c"
# tshark's names of attribute types, and those of RFC 4514.
ATTRIBUTES = {
    "id-at-commonName": "CN",
    "id-at-organizationName": "O",
    "id-at-organizationalUnitName": "OU",
    "id-at-countryName": "C",
}


def special(message, name):
    """The values of a field whose name in tshark lacks `handshake`."""
    full = f"{message.prefix}.{name}"
    return [int(f.get("value"), 16) for f in message.element.iter("field") if f.get("name") == full]


def hello_line(packet, hello):
    """The line of a hello."""
    is_client = kind(hello) == CLIENT_HELLO
    line = {
        "source": "{}:{}".format(*source(packet)),
        "hello": "client" if is_client else "server",
        "extensions": [list(pair) for pair in zip(hello.numbers("extension.type"), hello.numbers("extension.len"))],
        "key_shares": key_shares(hello),
        "session_id": sum(hello.numbers("session_id_length")),
    }
    if is_client:
        offered = [element for number, element in hello.extensions() if number == 13]
        line["signature_algorithms"] = hello.numbers("sig_hash_alg", offered[0]) if offered else []
        line["psk_identities"] = hello.numbers("extensions.psk.identity.identity_length")
        line["compress_certificate"] = special(hello, "compress_certificate.algorithm")
        line["record_size_limit"] = first(special(hello, "record_size_limit"))
        line["alps"] = [f.get("show") for f in hello.named("extensions_alps_alpn_str")]
    else:
        line["version"] = version(hello)
        line["cipher"] = suites(hello)[0]
        line["selected_psk"] = first(hello.numbers("extensions.psk.identity.selected"))
    return line


def key_shares(hello):
    """Group and length of each key share; a HelloRetryRequest has a group alone."""
    groups, lengths = (hello.numbers(f"extensions_key_share_{name}") for name in ("group", "key_exchange_length"))
    groups = groups or hello.numbers("extensions_key_share_selected_group")
    return [[group, lengths[n] if lengths else None] for n, group in enumerate(groups)]


def version(hello):
    return (hello.numbers("extensions.supported_version") or hello.numbers("version"))[0]


def kind(message):
    return first(message.numbers("type")) if message.named("type") else None


def first(values):
    return values[0] if values else None


class Connection:
    """The handshake of a connection, from tshark's records in their order."""

    def __init__(self):
        self.client = self.server = self.hello = self.answer = None
        self.certificates, self.alerts = [], []
        self.encrypts = {"client": False, "server": False}
        self.finished = {"client": False, "server": False}
        self.sent = set()
        self.retry = self.requested = False
        self.resumed = self.group = self.bits = self.names = self.line = None

    def on_hello(self, sender, receiver, hello):
        self.client, self.server, self.hello = sender, receiver, hello

    def on_message(self, role, message):
        number = kind(message)
        if role == "server" and number == SERVER_HELLO:
            if message.named("random") and message.named("random")[0].get("value") == RETRY_RANDOM:
                self.retry = True
                return
            self.answer = message
            if self.is_tls13():
                selected = message.numbers("extensions.psk.identity.selected")
                self.resumed = "psk" if selected else "no"
                self.group = first(message.numbers("extensions_key_share_group"))
            return
        if role == "server" and number not in (None, NEW_SESSION_TICKET):
            self.resumed = "no"
        if number == CERTIFICATE and (role, number) not in self.sent:
            self.sent.add((role, number))
            self.certificates.append([role, len(message.named("certificate"))])
        elif number == SERVER_KEY_EXCHANGE:
            self.group = first(message.numbers("server_named_curve"))
            prime = first(message.numbers("p"))
            self.bits = prime.bit_length() if prime else None
        elif number == CERTIFICATE_REQUEST:
            self.requested = True
            self.names = [name(field) for field in message.named("dname")]

    def is_tls13(self):
        return self.answer is not None and version(self.answer) >= 0x0304

    def on_record(self, frame, role, content, length, code):
        """A record. `code` is level and description of an alert in the clear."""
        if self.line is not None:
            return
        if content == CHANGE_CIPHER_SPEC:
            self.on_change_cipher_spec(role)
        elif content == ALERT and code is not None:
            self.on_alert(frame, [role, *code])
        elif content == APPLICATION_DATA and self.is_tls13():
            self.on_encrypted(frame, role, length)
        elif self.encrypts[role] and not self.is_tls13():
            if content == ALERT and not self.finished[role]:
                self.on_alert(frame, [role])
                return
            self.finished[role] |= content == HANDSHAKE
            if all(self.finished.values()):
                self.end(frame, True)

    def on_change_cipher_spec(self, role):
        if self.is_tls13() or self.answer is None:
            return
        self.encrypts[role] = True
        if role == "server" and self.resumed is None:
            tickets = [length for number, length in self.extensions() if number == SESSION_TICKET]
            ids = [hello.named("session_id") for hello in (self.hello, self.answer)]
            ids = [found[0].get("value") if found else None for found in ids]
            if any(tickets):
                self.resumed = "ticket"
            elif ids[0] and ids[0] == ids[1]:
                self.resumed = "session_id"

    def on_encrypted(self, frame, role, length):
        """An encrypted record of TLS 1.3. An alert has 19 or 11 bytes, a Finished message 53, 69 or 45."""
        is_alert = length in (19, 11)
        if role == "server":
            if not self.finished["server"] and is_alert:
                self.on_alert(frame, [role])
            self.finished["server"] = True
        elif self.finished["server"]:
            if EARLY_DATA in [number for number, _ in self.extensions()]:
                if length in (53, 69, 45):
                    self.end(frame, True)
            elif is_alert:
                self.on_alert(frame, [role])
            else:
                self.end(frame, True)

    def on_alert(self, frame, alert):
        self.alerts.append(alert)
        if len(alert) == 1 or alert[1] == FATAL or alert[2] == CLOSE_NOTIFY:
            self.end(frame, False)

    def extensions(self):
        return zip(self.hello.numbers("extension.type"), self.hello.numbers("extension.len"))

    def end(self, frame, completed):
        is_visible = self.answer is not None and not self.is_tls13()
        self.line = {
            "end": int(frame),
            "completed": completed,
            "version": version(self.answer) if self.answer else None,
            "resumed": self.resumed,
            "retry": self.retry if self.answer else self.retry or None,
            "group": self.group,
            "dh_bits": self.bits,
            "certificate_requested": self.requested if is_visible else None,
            "certificate_authorities": self.names,
            "alerts": self.alerts,
        }

    def finished_line(self):
        if self.hello is None or self.line is None and not self.certificates:
            return None
        return {"client": self.client, "server": self.server, "certificates": self.certificates, **(self.line or {})}


def name(field):
    """A distinguished name as in RFC 4514, from tshark's text of its parts."""
    parts = []
    for part in field.iter("field"):
        if part.get("name") == "x509if.RelativeDistinguishedName_item_element":
            attribute, value = part.get("showname").split("(", 1)[1][:-1].split("=", 1)
            parts.append(f"{ATTRIBUTES[attribute]}={value}")
    return ",".join(reversed(parts))


def ends(packet):
    """Both ends of the innermost TCP segment, with the sender first, and the connection."""
    shown = {f.get("name"): f.get("show") for f in packet.iter("field")}
    addresses = [shown.get(f"ip.{end}") or shown.get(f"ipv6.{end}") for end in ("src", "dst")]
    ports = [shown.get(f"tcp.{end}port") for end in ("src", "dst")]
    sender, receiver = (f"{address}:{port}" for address, port in zip(addresses, ports))
    return sender, receiver, shown.get("tcp.stream")


def follow(connection, frame, packet, sender, receiver):
    """Passes the records and messages of a packet to a connection, in order."""
    by_element = {message.element: message for _, message in messages(packet)}
    seen = set()
    for field in packet.iter("field"):
        if field.get("name") != "tls.record" or field in seen:
            continue
        seen.update(field.iter("field"))
        role = None if connection.client is None else "client" if sender == connection.client else "server"
        for element in field.iter("field"):
            message = by_element.get(element)
            if message is None:
                continue
            if kind(message) == CLIENT_HELLO and suites(message):
                connection.on_hello(sender, receiver, message)
                role = "client"
            elif role and connection.line is None and not connection.encrypts[role]:
                connection.on_message(role, message)
        if role:
            connection.on_record(frame, role, *record(field))


def record(field):
    """Content type, length, and level and description of an alert in the clear."""
    shown = {f.get("name"): f for f in field.iter("field")}
    content = next((shown[n] for n in ("tls.record.content_type", "tls.record.opaque_type") if n in shown), None)
    length = shown.get("tls.record.length")
    code = [shown.get(f"tls.alert_message.{part}") for part in ("level", "desc")]
    return (
        None if content is None else int(content.get("show")),
        None if length is None else int(length.get("show")),
        None if None in code else [int(part.get("show")) for part in code],
    )


def write(path, lines):
    with open(path, "w") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines if line is not None)


def main(capture, hellos_path, *arguments):
    arguments, handshakes_path = list(arguments), None
    if arguments[:1] == ["--handshakes"]:
        handshakes_path, arguments = arguments[1], arguments[2:]
    hellos, connections = [], {}
    for packet in dissected(capture, arguments, "tls or dtls" if handshakes_path else HELLOS):
        frame = next(f.get("show") for f in packet.iter("field") if f.get("name") == "num")
        for _, message in messages(packet):
            # A fragment has no cipher suites; tshark shows the whole message with the last one.
            if kind(message) in (CLIENT_HELLO, SERVER_HELLO) and suites(message):
                hellos.append(hello_line(packet, message))
        sender, receiver, stream = ends(packet)
        # OpenVPN carries TLS in messages of its own.
        if stream is not None and packet.find("proto[@name='openvpn']") is None:
            follow(connections.setdefault(stream, Connection()), frame, packet, sender, receiver)
    write(hellos_path, hellos)
    if handshakes_path:
        write(handshakes_path, (connection.finished_line() for connection in connections.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
