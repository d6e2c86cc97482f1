"""Stub servers and clients for the dialogues before a ClientHello. Each connection ends after the handshake.

dialogues.py serve CERTIFICATE KEY     runs every server of PORTS until it is killed
dialogues.py proxy-v2 ADDRESS PORT     a client that sends a PROXY header of version 2 before the handshake
dialogues.py sslv2 ADDRESS PORT        an old client that offers TLS in an SSL 2.0 hello
"""

import contextlib
import socket
import ssl
import struct
import sys
import threading

# The greeting, then the reply to each command; True marks the command that starts TLS. An IMAP reply begins with a tag.
LINES = {
    "smtp": ("220 smtp.example.test ESMTP", {"EHLO": "250-smtp.example.test\r\n250 STARTTLS", "STARTTLS": "220 go"}),
    "lmtp": ("220 lmtp.example.test LMTP", {"LHLO": "250-lmtp.example.test\r\n250 STARTTLS", "STARTTLS": "220 go"}),
    "imap": ("* OK ready", {"CAPABILITY": "* CAPABILITY IMAP4rev1 STARTTLS\r\n%s OK", "STARTTLS": "%s OK go"}),
    "pop3": ("+OK ready", {"CAPA": "+OK\r\nSTLS\r\n.", "STLS": "+OK go"}),
    "ftp": ("220 ready", {"FEAT": "211-Features:\r\n AUTH TLS\r\n211 End", "AUTH": "234 go"}),
    "nntp": ("200 ready", {"CAPABILITIES": "101 list:\r\nVERSION 2\r\nSTARTTLS\r\n.", "STARTTLS": "382 go"}),
    "sieve": ('"IMPLEMENTATION" "stub"\r\n"SASL" ""\r\n"STARTTLS"\r\nOK', {"STARTTLS": "OK go"}),
}
BEGINS = {"STARTTLS", "STLS", "AUTH"}


def lines(protocol):
    greeting, answers = LINES[protocol]

    def speak(client):
        client.sendall(greeting.encode() + b"\r\n")
        while True:
            words = line(client).split()
            tag = words.pop(0) if protocol == "imap" else ""
            command = words[0].upper()
            answer = answers[command]
            client.sendall((answer % tag if "%s" in answer else answer).encode() + b"\r\n")
            if command in BEGINS:
                return

    return speak


def exactly(client, count):
    """Reads exactly this many bytes, because the hello follows."""
    data = b""
    while len(data) < count:
        data += more(client, count - len(data))
    return data


def more(client, count):
    data = client.recv(count)
    if not data:
        raise ConnectionError("closed early")
    return data


def until(client, end):
    data = b""
    while not data.endswith(end):
        data += exactly(client, 1)
    return data


def line(client):
    return until(client, b"\n").decode()


def ldap(client):
    """RFC 4511, 4.14: the extended request 1.3.6.1.4.1.1466.20037."""
    length = exactly(client, 2)[1]
    number = exactly(client, length)[2]
    client.sendall(bytes([0x30, 12, 2, 1, number, 0x78, 7, 10, 1, 0, 4, 0, 4, 0]))


def postgres(client):
    """Replies to SSLRequest with one byte, and to GSSENCRequest, which some libraries try first, with N."""
    while exactly(client, 8) != struct.pack("!II", 8, 80877103):
        client.sendall(b"N")
    client.sendall(b"S")


def mysql(client):
    """Protocol 10: the server's greeting, then the client's SSLRequest."""
    capabilities = 0x00088A08 | 0x0200 | 0x8000  # with a database, 4.1, SSL, secure connection, plugin names
    low, high = struct.pack("<I", capabilities)[:2], struct.pack("<I", capabilities)[2:]
    greeting = b"\x0a8.0.36\0" + struct.pack("<I", 7) + b"saltsalt\0" + low + b"\x2d\x02\0" + high
    greeting += b"\x15" + bytes(10) + b"saltsaltsalt\0" + b"mysql_native_password\0"
    client.sendall(struct.pack("<I", len(greeting))[:3] + b"\0" + greeting)
    exactly(client, int.from_bytes(exactly(client, 4)[:3], "little"))


def xmpp(client):
    """RFC 6120, 5.4."""
    until(client, b">") if (first := until(client, b">")).startswith(b"<?xml") else first
    client.sendall(
        b"<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'"
        b" id='1' from='example.test' version='1.0'><stream:features><starttls"
        b" xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls></stream:features>"
    )
    until(client, b">")
    client.sendall(b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")


def connect(client):
    """RFC 9110, 9.3.6; port 3129 requires authentication."""
    while True:
        request = until(client, b"\r\n\r\n")
        if client.getsockname()[1] == 3128 or b"Proxy-Authorization" in request:
            break
        client.sendall(b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 4\r\n\r\nWho?")
    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")


def socks(client):
    """SOCKS 4, 4A and 5 (RFC 1928, 1929)."""
    if exactly(client, 1) == b"\x04":
        address = exactly(client, 7)[3:]
        until(client, b"\0")
        if address[:3] == b"\0\0\0":
            until(client, b"\0")
        client.sendall(b"\0\x5a" + bytes(6))
        return
    methods = exactly(client, exactly(client, 1)[0])
    method = 2 if 2 in methods else 0
    client.sendall(bytes([5, method]))
    if method == 2:
        exactly(client, 1)
        exactly(client, exactly(client, 1)[0])
        exactly(client, exactly(client, 1)[0])
        client.sendall(b"\1\0")
    kind = exactly(client, 4)[3]
    exactly(client, {1: 4, 4: 16}.get(kind) or exactly(client, 1)[0])
    exactly(client, 2)
    client.sendall(b"\5\0\0\1" + bytes(6))


def proxy(client):
    """HAProxy's PROXY protocol, versions 1 and 2."""
    start = exactly(client, 6)
    if start == b"PROXY ":
        until(client, b"\r\n")
    else:
        exactly(client, struct.unpack("!H", exactly(client, 10)[8:])[0])


PORTS = {
    21: lines("ftp"),
    24: lines("lmtp"),
    25: lines("smtp"),
    110: lines("pop3"),
    119: lines("nntp"),
    143: lines("imap"),
    389: ldap,
    443: proxy,
    1080: socks,
    3128: connect,
    3129: connect,
    3306: mysql,
    4190: lines("sieve"),
    5222: xmpp,
    5432: postgres,
}


def serve(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    for port, speak in PORTS.items():
        listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
        threading.Thread(target=accept, args=(listener, speak, context)).start()
    print("ready", flush=True)


def accept(listener, *how):
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0], *how)).start()


def answer(client, speak, context):
    with contextlib.suppress(OSError), client:
        speak(client)
        context.wrap_socket(client, server_side=True).close()


def proxy_v2(address, port):
    s = socket.create_connection((address, int(port)))
    addresses = socket.inet_aton("198.51.100.7") + socket.inet_aton("192.0.2.2") + struct.pack("!HH", 50000, 443)
    unique_id = b"\x05\0\4\x01\x02\x03\x04"  # a TLV after the addresses
    body = addresses + unique_id
    s.sendall(b"\r\n\r\n\0\r\nQUIT\n" + struct.pack("!BBH", 0x21, 0x11, len(body)) + body)
    ssl._create_unverified_context().wrap_socket(s, server_hostname="www.example.test").close()


def sslv2(address, port):
    """Sends SSL 2.0 hellos (RFC 5246, appendix E.2): TLS 1.2 with TLS suites; SSL 3.0 with SSL 2.0 suites, too."""
    modern, old = (0xC02B, 0xC009, 0x009C, 0x002F, 0x00FF), (0x0035, 0x002F, 0x000A, 0x0005)
    of_ssl2 = bytes.fromhex("010080 0700c0 030080 060040")
    for version, specs in ((0x0303, wide(modern)), (0x0300, of_ssl2 + wide(old))):
        message = struct.pack("!BHHHH", 1, version, len(specs), 0, 16) + specs + bytes(range(16))
        with contextlib.suppress(OSError), socket.create_connection((address, int(port))) as s:
            s.sendall(struct.pack("!H", 0x8000 | len(message)) + message)
            s.recv(4096)


def wide(suites):
    return b"".join(struct.pack("!BH", 0, suite) for suite in suites)


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
