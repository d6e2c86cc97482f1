"""The attempts of evasion.py: each sends a name to a server, in a way that an observer may read differently.

An attempt is a function of a `Client`. The client has two names of equal length, `hidden` and `decoy`; which of them the server
accepted is in the server's log, never here.
"""

import dataclasses
import itertools
import random
import socket
import struct
import time

import network
from messages import ALERT, CHANGE_CIPHER_SPEC, Handshake, block, frame, hello, http2, integer, literal, message, records, request
from raw import ACK, DESTINATION, FIN, HOP_BY_HOP, MD5, PSH, RST, SYN, TCP, URG, Connection


@dataclasses.dataclass
class Client:
    """One attempt's client."""

    number: int
    version: int
    app: str
    link: object

    def __post_init__(self):
        self.hidden, self.decoy = f"hidden-{self.number:04}.test", f"decoy0-{self.number:04}.test"
        self.real, self.false = self.payload(self.hidden), self.payload(self.decoy)
        self.inside = self.real.find(self.hidden.encode()) + 3

    @property
    def port(self):
        return {"tls": network.TLS, "http": network.HTTP, "http2": network.HTTP2}[self.app]

    def payload(self, name):
        return {"tls": hello, "http": request, "http2": http2}[self.app](name)

    def raw(self, **how):
        return Connection(self.link, self.version, self.number, self.port, **how)

    def connect(self, port=None):
        """A connection of the kernel's TCP, whose writes are segments of their own."""
        s = socket.socket(socket.AF_INET if self.version == 4 else socket.AF_INET6)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.settimeout(2)
        s.bind((network.client_address(self.version, network.PLAIN, self.number), 0))
        s.connect((network.SERVER_ADDRESS[self.version], port or self.port))
        return s

    def plain(self, *writes, port=None, pause=0.0, timeout=0.5):
        """Sends the writes and waits for an answer."""
        with self.connect(port) as s:
            try:
                for write in writes:
                    s.sendall(write)
                    if pause:
                        time.sleep(pause)
                s.settimeout(timeout)
                return s.recv(65536)
            except OSError:
                return b""


ATTEMPTS = []


def attempt(kind, name, function, versions=(4, 6), apps=("tls",)):
    for version, app in itertools.product(versions, apps):
        ATTEMPTS.append((f"{kind}-{name}-{app}{version}", kind, version, app, function))


def pieces(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


# Plain attempts: what any program can do with the sockets of its kernel.


def plain(name, writes, **how):
    """`writes` maps the client to its writes."""
    talk = {key: how.pop(key) for key in ("port", "pause", "timeout") if key in how}
    attempt("plain", name, lambda client: client.plain(*writes(client), **talk), **how)


def plain_attempts():
    attempt("control", "plain", lambda client: client.plain(client.real), apps=("tls", "http", "http2"))
    for size in (1, 2, 3, 5, 7, 16, 43, 64, 100, 200):
        plain(f"split-{size}", lambda client, size=size: pieces(client.real, size), pause=0.0005, versions=(4,), apps=("tls", "http"))
    for size in (1, 9, 40):
        plain(f"split-{size}", lambda client, size=size: pieces(client.real, size), versions=(6,), apps=("http2",))
    for place in (0, 1, 4, 5, 9, 43, 100, None, -1):
        attempt("plain", f"urgent-{place if place is not None else 'name'}", lambda client, place=place: urgent(client, [place]), versions=(4,))
    for place in (0, 3, None):
        attempt("plain", f"urgent-{place if place is not None else 'name'}", lambda client, place=place: urgent(client, [place]), versions=(6,), apps=("http",))
    attempt("plain", "urgent-several", lambda client: urgent(client, [2, 6, 50, None]), versions=(4, 6), apps=("tls", "http"))
    attempt("plain", "urgent-in-row", lambda client: urgent(client, [None, None, None]), versions=(4,), apps=("tls", "http"))
    tls_plain()
    http_plain()
    http2_plain()
    for size in (0, 1000, 60000, 70000, 200000):
        attempt("plain", f"starttls-after-{size}", lambda client, size=size: starttls(client, size), versions=(4,))
        attempt("plain", f"connect-after-{size}", lambda client, size=size: tunnel(client, size), versions=(6,))
    for size in (0, 216, 3000):
        plain(f"proxy-protocol-2-{size}", lambda client, size=size: [proxy_protocol_2(size) + client.real], port=network.PROXIED_TLS, versions=(4,))
    plain("proxy-protocol-1", lambda client: [b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + client.real], port=network.PROXIED_TLS, versions=(4,))
    plain("proxy-protocol-unknown", lambda client: [b"PROXY UNKNOWN\r\n", client.real], port=network.PROXIED_TLS, versions=(4,))


def urgent(client, places):
    """An urgent byte (RFC 6093) at each place; none stands for the middle of the name."""
    with client.connect() as s:
        sent = 0
        for place in places:
            place = client.inside if place is None else len(client.real) if place < 0 else place
            s.sendall(client.real[sent:place])
            s.send(b"X", socket.MSG_OOB)
            sent = max(sent, place)
            time.sleep(0.02)  # The receiver reads the byte before the next one replaces it.
        try:
            s.sendall(client.real[sent:])
            s.settimeout(0.5)
            s.recv(4096)
        except OSError:
            pass


def tls_plain():
    for size in (1, 2, 3, 4, 5, 10, 50, 100, 300):
        plain(f"records-{size}", lambda client, size=size: [records(message(client.hidden), size)], versions=(4,))
    empty = struct.pack("!BHH", 22, 0x0301, 0)
    for count in (1, 2, 8, 31, 33):
        plain(f"empty-records-{count}", lambda client, count=count: [records(message(client.hidden), 60, between=empty * count)], versions=(4,))
        plain(f"empty-records-first-{count}", lambda client, count=count: [empty * count + client.real], versions=(4,))
    plain("empty-records-apart", lambda client: pieces(records(message(client.hidden), 20, between=empty), 5), versions=(4,))
    for version in (0x0300, 0x0302, 0x0303, 0x0304, 0x03FF):
        plain(f"record-version-{version:04x}", lambda client, version=version: [records(message(client.hidden), 16384, version=version)], versions=(4,))
    warning = struct.pack("!BHHBB", ALERT, 0x0301, 2, 1, 90)
    for count in (1, 4):
        plain(f"alert-first-{count}", lambda client, count=count: [warning * count + client.real], versions=(4,))
    plain("alert-between", lambda client: [records(message(client.hidden), 100, between=warning)], versions=(4,))
    change = struct.pack("!BHHB", CHANGE_CIPHER_SPEC, 0x0303, 1, 1)
    plain("change-cipher-first", lambda client: [change + client.real], versions=(4,))
    plain("change-cipher-between", lambda client: [records(message(client.hidden), 100, between=change)], versions=(4,))
    for size in (1, 500, 20000):
        plain(f"trailing-{size}", lambda client, size=size: [client.real + b"\x17" * size], versions=(4,))
    plain("second-hello-follows", lambda client: [client.real + client.false], versions=(4,))
    for padding in (500, 4000, 14000, 17000, 40000, 65000):
        for size in (200, 16384):
            plain(f"padding-{padding}-records-{size}", lambda client, padding=padding, size=size: [records(message(client.hidden, padding), size)], versions=(4,))
    plain("padding-17000-records-1", lambda client: [records(message(client.hidden, 17000), 1)], versions=(4,))
    plain("padding-60000-records-1", lambda client: [records(message(client.hidden, 60000), 1)], versions=(4,), timeout=3)
    plain("session-0", lambda client: [records(message(client.hidden, session=b""), 16384)], versions=(4,))
    plain("session-1", lambda client: [records(message(client.hidden, session=b"x"), 16384)], versions=(4,))


def http_plain():
    only = {"versions": (4,), "apps": ("http",)}
    for count in (1, 2, 3, 5, 10, 100, 1000, 5000):
        plain(f"crlf-{count}", lambda client, count=count: [b"\r\n" * count + client.real], **only)
    for count in (1, 7):
        plain(f"lf-{count}", lambda client, count=count: [b"\n" * count + client.real], **only)
    plain("crlf-apart", lambda client: [b"\r", b"\n", b"\r\n", client.real], pause=0.002, **only)
    for size in (17, 33, 65, 200, 1000):
        plain(f"method-{size}", lambda client, size=size: [request(client.hidden, method=b"G" * size)], **only)
    plain("method-dashes", lambda client: [request(client.hidden, method=b"X-Y_Z")], **only)
    for count in (100, 257, 300, 1000):
        plain(f"headers-{count}", lambda client, count=count: [long_head(client, b"".join(b"X-%d: y\n" % i for i in range(count)))], **only)
    for size in (4000, 9000, 17000, 40000, 65000, 120000):
        plain(f"target-{size}", lambda client, size=size: [request(client.hidden, target=b"/" + b"t" * size)], **only)
        plain(f"header-{size}", lambda client, size=size: [long_head(client, b"X: " + b"h" * size)], **only)
    plain("headers-total-100000", lambda client: [long_head(client, b"".join(b"X-%d: %s\n" % (i, b"z" * 5000) for i in range(20)))], **only)
    for version in (b"HTTP/1.0", b"HTTP/1.2", b"HTTP/1.9", b"HTTP/1.10", b"HTTP/1.01", b"HTTP/1.999"):
        plain(f"version-{version[5:].decode()}", lambda client, version=version: [request(client.hidden, version=version)], **only)
    plain("absolute-target", lambda client: [request(client.hidden, target=b"http://" + client.hidden.encode() + b"/")], **only)
    plain("absolute-other-host", lambda client: [request(client.decoy, target=b"HTTP://" + client.hidden.encode())], **only)
    plain("bare-lf", lambda client: [request(client.hidden, end=b"\n")], **only)
    plain("spaces-in-line", lambda client: [client.real.replace(b"GET / HTTP/1.1", b"GET     /    HTTP/1.1   ")], **only)
    plain("lower-case", lambda client: [client.real.replace(b"Host", b"host").replace(b"User-Agent", b"uSER-aGENT")], **only)
    plain("no-space", lambda client: [client.real.replace(b": ", b":")], **only)
    plain("many-spaces", lambda client: [client.real.replace(b": ", b":" + b" " * 300)], **only)
    plain("trailing-spaces", lambda client: [client.real.replace(b".test\r\n", b".test    \r\n")], **only)
    plain("bad-header-names", lambda client: [long_head(client, b"Bad Name: x\n: y\nNo-Colon\n\x01\x02: z\n(x): y")], **only)
    plain("underscores", lambda client: [long_head(client, b"X_Y: z\nHost_: " + client.decoy.encode())], **only)
    plain("agent-twice", lambda client: [long_head(client, b"User-Agent: " + client.decoy.encode())], **only)
    plain("high-bytes", lambda client: [long_head(client, b"X: \xff\xfe\x80")], **only)
    plain("http-0.9", lambda client: [b"GET /" + client.hidden.encode() + b"\r\n"], **only)
    plain("target-space", lambda client: [request(client.hidden, target=b"/a b")], **only)
    plain("target-high-bytes", lambda client: [request(client.hidden, target=b"/\xff\xc3\xa4%00")], **only)
    bodies = {
        "length": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "length-like-request": (lambda text: b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))(request("other.test")),
        "length-leading-zeros": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0000000000000005\r\n\r\nhello",
        "chunked": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "chunked-case": b"POST / HTTP/1.1\r\nHost: a\r\nTRANSFER-ENCODING: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "chunked-zeros": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n00000000005\r\nhello\r\n000\r\n\r\n",
        "chunked-extension": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0;c\r\n\r\n",
        "chunked-spaces": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5  \r\nhello\r\n0 \r\n\r\n",
        "chunked-trailers": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
        "chunked-bare-lf": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
        "chunked-one-byte": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 300 + b"0\r\n\r\n",
        "get-with-body": b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "pipelined-100": request("other.test") * 100,
        "expect": b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
        "long-body": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n" + b"b" * 300000,
        "crlf-after-body": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n",
        "head": b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
        "options-star": b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "bad-upgrade": b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c, websocket\r\n\r\n",
    }
    for name, first in bodies.items():
        plain(f"after-{name}", lambda client, first=first: [first + client.real], **only)
    plain("after-answer", lambda client: [bodies["chunked"], client.real], pause=0.02, **only)


def long_head(client, headers):
    return request(client.hidden, headers=headers)


def http2_plain():
    only = {"versions": (6,), "apps": ("http2",)}
    for count in (2, 5, 50):
        plain(f"continuation-{count}", lambda client, count=count: [http2(client.hidden, pieces=count)], **only)
    for padded in (1, 100, 255):
        plain(f"padded-{padded}", lambda client, padded=padded: [http2(client.hidden, padded=padded)], **only)
    plain("priority", lambda client: [http2(client.hidden, priority=True)], **only)
    plain("priority-padded-continued", lambda client: [http2(client.hidden, priority=True, padded=9, pieces=3)], **only)
    before = {
        "pings-100": frame(6, 0, 0, b"\0" * 8) * 100,
        "unknown-frames": frame(0xF0, 0xFF, 0, b"x" * 300) + frame(0x55, 0, 7),
        "window-updates-200": frame(8, 0, 0, b"\0\0\0\1") * 200,
        "priorities-100": b"".join(frame(2, 0, 2 * i + 3, struct.pack("!IB", 0, 16)) for i in range(100)),
        "settings-20": frame(4, 0, 0, struct.pack("!HI", 4, 65535)) * 20,
    }
    for name, frames in before.items():
        plain(name, lambda client, frames=frames: [http2(client.hidden, before=frames)], **only)
    plain("settings-unknown", lambda client: [http2(client.hidden, settings=b"".join(struct.pack("!HI", 0x1000 + i, i) for i in range(100)))], **only)
    plain("table-size", lambda client: [http2_block(integer(0, 5, 0x20) + integer(4096, 5, 0x20) + block(client.hidden))], **only)
    plain("indexed-name", lambda client: [http2_block(b"\x82\x86\x84" + b"\x41" + text(client) + b"\x7a" + text(client) + b"\xbe")], **only)
    plain("huffman", lambda client: [http2_block(b"\x82\x86\x84\x01" + text(client) + b"\x0f\x2b" + text(client))], **only)
    for count in (60, 300):
        plain(f"headers-{count}", lambda client, count=count: [http2(client.hidden, more=[(b"x-%d" % i, b"y") for i in range(count)], pieces=2)], **only)
    plain("second-stream", lambda client: [http2("other.test") + frame(1, 5, 3, block(client.hidden))], **only)
    plain("stream-101", lambda client: [http2("other.test") + b"".join(frame(1, 5, 3 + 2 * i, block("other.test")) for i in range(50)) + frame(1, 5, 103, block(client.hidden))], **only)
    plain("after-data", lambda client: [http2_body(client)], **only)
    plain("large-header", lambda client: [http2(client.hidden, more=[(b"x", b"v" * 3900)])], **only)
    plain("large-headers", lambda client: [http2(client.hidden, more=[(b"x-%d" % i, b"v" * 3900) for i in range(4)], pieces=2)], **only)


def text(client):
    return integer(len(client.hidden), 7) + client.hidden.encode()


def http2_block(content):
    return http2("x")[: 24 + 9] + frame(1, 5, 1, content)


def http2_body(client):
    start = http2("x")[: 24 + 9] + frame(1, 4, 1, b"\x83\x86\x84" + literal(b":authority", b"other.test"))
    return start + frame(0, 0, 1, b"d" * 9000) + frame(0, 1, 1, b"") + frame(1, 5, 3, block(client.hidden))


def starttls(client, size):
    """A hello after STARTTLS, after `size` bytes of NOOP."""
    with client.connect(network.SMTP) as s:
        for lines in ([b"EHLO client.test\r\n"], [b"NOOP " + b"n" * 490 + b"\r\n"] * (size // 500), [b"STARTTLS\r\n"]):
            for line in lines:
                s.sendall(line)
                s.recv(4096)
        talk_tls(s, client)


def tunnel(client, size):
    """A hello in CONNECT, after `size` bytes of headers."""
    with client.connect(network.CONNECT) as s:
        s.sendall(b"CONNECT a.test:443 HTTP/1.1\r\n" + (b"X-Pad: " + b"p" * 490 + b"\r\n") * (size // 500) + b"\r\n")
        s.recv(4096)
        talk_tls(s, client)


def talk_tls(s, client):
    s.sendall(client.real)
    s.settimeout(0.5)
    try:
        s.recv(4096)
    except OSError:
        pass


def proxy_protocol_2(size):
    """Version 2 of the PROXY protocol, with a TLV of `size` bytes."""
    addresses = socket.inet_aton("192.0.2.1") + socket.inet_aton("192.0.2.2") + struct.pack("!HH", 1, 2)
    values = struct.pack("!BH", 4, size) + b"\0" * size if size else b""
    return b"\r\n\r\n\0\r\nQUIT\n\x21\x11" + struct.pack("!H", len(addresses + values)) + addresses + values


# Raw attempts. A decoy is a segment that the server, or a host before it, drops: the arguments that make it so.

DECOYS = {
    "no-ack-flag": lambda c: {"flags": PSH},
    "no-flags": lambda c: {"flags": 0},
    "ack-ahead": lambda c: {"ack": c.next_from_server + 100000},
    "ack-far-ahead": lambda c: {"ack": c.next_from_server + (1 << 30)},
    "ack-behind": lambda c: {"ack": c.next_from_server - (1 << 20)},
    "bad-tcp-checksum": lambda c: {"bad_tcp": True},
    "low-ttl": lambda c: {"ttl": 1},
    "old-timestamp": lambda c: {"time_back": 50000},
    "md5-option": lambda c: {"options": MD5},
    "syn": lambda c: {"flags": SYN | PSH | ACK},
    "syn-alone": lambda c: {"flags": SYN},
    "rst-fin": lambda c: {"flags": FIN},
    "rst-no-ack": lambda c: {"flags": RST, "bad_tcp": True},
    "rst-low-ttl": lambda c: {"flags": RST | ACK, "ttl": 1},
    "fin-low-ttl": lambda c: {"flags": FIN | PSH | ACK, "ttl": 1},
    "fin-bad-checksum": lambda c: {"flags": FIN | PSH | ACK, "bad_tcp": True},
    "foreign-mac": lambda c: {"to": "02:00:00:00:00:77"},
    "foreign-vlan": lambda c: {"tags": (5,)},
    "data-offset": lambda c: {"data_offset": 4},
}
DECOYS4 = {
    "bad-ip-checksum": lambda c: {"bad_ip": True},
    "source-route": lambda c: {"ip_options": b"\x83\x07\x04" + socket.inet_aton("203.0.113.2")},
    "bad-ip-option": lambda c: {"ip_options": b"\x07\x60\x04\0"},
    "ip-version": lambda c: {"ip_version": 5},
    "ip-header-length": lambda c: {"header_words": 4},
    "larger-than-mtu": lambda c: {"dont_fragment": True, "ip_options": b"\x01" * 4, "large": True},
}
DECOYS6 = {
    "discard-option": lambda c: {"extensions": [(DESTINATION, b"\0\x5e\x04\0\0\0\0")]},
    "discard-hop-option": lambda c: {"extensions": [(HOP_BY_HOP, b"\0\x5e\x04\0\0\0\0")]},
    "routing-header": lambda c: {"extensions": [(43, b"\x02\0\x01\0\0\0\0" + c.server)]},
    "hop-option-not-first": lambda c: {"extensions": [(DESTINATION, b"\0\x01\x04\0\0\0\0"), (HOP_BY_HOP, b"\0\x01\x04\0\0\0\0")]},
    "larger-than-mtu": lambda c: {"large": True},
}


def send_decoy(c, offset, content, how):
    how = dict(how)
    flags = how.pop("flags", PSH | ACK)
    if how.pop("large", False):
        content = content + b"\0" * (1390 - len(content))
    c.put(c.first + offset, content, flags, **how)


def with_decoy(client, decoy, order):
    c = client.raw().open()
    how = decoy(c)
    real, false, cut = client.real, client.false, client.inside
    if order == "before":
        send_decoy(c, 0, false, how)
        c.data(0, real)
    elif order == "after":
        c.data(0, real)
        send_decoy(c, 0, false, how)
    elif order == "each":
        for at in range(0, len(real), 90):
            send_decoy(c, at, false[at : at + 90], how)
            c.data(at, real[at : at + 90])
    elif order == "rest":
        c.data(0, real[:cut])
        send_decoy(c, cut, false[cut:], how)
        c.data(cut, real[cut:])
    elif order == "longer":
        send_decoy(c, 0, false + b"\0" * 200, how)
        c.data(0, real)
    elif order == "shorter":
        send_decoy(c, 0, false[: cut + 2], how)
        c.data(0, real)
    elif order == "many":
        for _ in range(40):
            send_decoy(c, 0, false, how)
        c.data(0, real)
    c.answer(len(real))


def raw_attempts():
    attempt("control", "raw", lambda client: send_raw(client), apps=("tls", "http"))
    attempt("control", "retransmission", lambda client: send_raw(client, again=True), apps=("tls", "http"))
    both = [((4, 6), DECOYS), ((4,), DECOYS4), ((6,), DECOYS6)]
    for versions, decoys in both:
        for name, decoy in decoys.items():
            for order in ("before", "after", "each"):
                attempt("decoy", f"{name}-{order}", lambda client, d=decoy, o=order: with_decoy(client, d, o), versions)
            attempt("decoy", f"{name}-before", lambda client, d=decoy: with_decoy(client, d, "before"), versions[:1], ("http",))
            attempt("decoy", f"{name}-rest", lambda client, d=decoy: with_decoy(client, d, "rest"), versions[-1:], ("http",))
    for order in ("longer", "shorter", "many"):
        for name in ("bad-tcp-checksum", "no-ack-flag", "low-ttl"):
            attempt("decoy", f"{name}-{order}", lambda client, n=name, o=order: with_decoy(client, DECOYS[n], o), (4,))
    opening_attempts()
    closing_attempts()
    paused_attempts()
    overlap_attempts()
    window_attempts()
    header_attempts()
    fragment_attempts()
    forged_attempts()


def send_raw(client, again=False, **how):
    c = client.raw().open()
    c.data(0, client.real, **how)
    if again:
        c.data(0, client.real, **how)
    c.answer(len(client.real))


def then_real(c, client):
    """Whether the server answered."""
    c.data(0, client.real)
    return c.answer(len(client.real))


def opening_attempts():
    both = {"apps": ("tls", "http")}

    def syn_data(client, size):
        c = client.raw().open(client.false[:size])
        then_real(c, client)

    for size in (1, 5, 60, 2000):
        attempt("opening", f"syn-data-{size}", lambda client, size=size: syn_data(client, size), **both)

    def syn_data_all(client):
        """Data with a request for a cookie (RFC 7413, section 4.1.1), which the server leaves unread."""
        c = client.raw()
        c.syn(client.false, options=b"\x22\x02\x01\x01")
        c.wait_for_answer()
        c.put(c.first, flags=ACK)
        then_real(c, client)

    attempt("opening", "fast-open-request-data", syn_data_all)

    def second_syn(client, how, other_first, distance=100000):
        c = client.raw()
        for other in ((True, False) if other_first else (False, True)):
            if other:
                c.syn(sequence=c.start + distance, **how)
            else:
                c.syn()
        c.wait_for_answer()
        c.put(c.first, flags=ACK)
        then_real(c, client)

    for name, how in {"low-ttl": {"ttl": 1}, "bad-checksum": {"bad_tcp": True}, "foreign-mac": {"to": "02:00:00:00:00:77"}}.items():
        for first in (True, False):
            attempt("opening", f"second-syn-{name}-{'first' if first else 'last'}", lambda client, h=how, f=first: second_syn(client, h, f), **both)
    attempt("opening", "second-syn-valid", lambda client: second_syn(client, {}, False), **both)

    def second_syn_with_stream(client, how):
        """A decoy with the other SYN's numbers."""
        c = client.raw()
        c.syn()
        c.wait_for_answer()
        c.put(c.first, flags=ACK)
        c.syn(sequence=c.start + 500000, **how)
        c.put(c.start + 500001, client.false, **how)
        then_real(c, client)

    for name, how in {"low-ttl": {"ttl": 1}, "bad-checksum": {"bad_tcp": True}, "valid": {}}.items():
        attempt("opening", f"syn-in-connection-{name}", lambda client, h=how: second_syn_with_stream(client, h), **both)

    def no_third_ack(client):
        c = client.raw()
        c.syn()
        c.wait_for_answer()
        then_real(c, client)

    attempt("opening", "data-in-third-segment", no_third_ack)

    def wrong_third_ack(client):
        c = client.raw()
        c.syn()
        c.wait_for_answer()
        c.put(c.first, client.false, ack=c.next_from_server + 5, bad_tcp=True)
        then_real(c, client)

    attempt("opening", "wrong-third-ack", wrong_third_ack)

    def early_data(client):
        """Data before the SYN+ACK, which the listener drops."""
        c = client.raw()
        c.syn(ttl=1)
        c.put(c.first, client.false, ttl=1)
        c.syn()
        c.wait_for_answer()
        c.put(c.first, flags=ACK)
        then_real(c, client)

    attempt("opening", "data-before-answer", early_data)

    def before_syn(client):
        c = client.raw()
        c.put(c.first, client.false, PSH, ttl=1)
        c.open()
        then_real(c, client)

    attempt("opening", "data-before-syn", before_syn)

    def reset_first(client, how):
        c = client.raw()
        c.syn()
        c.wait_for_answer()
        c.put(c.first, flags=RST, **how)
        c.put(c.first, flags=ACK)
        then_real(c, client)

    attempt("opening", "reset-low-ttl", lambda client: reset_first(client, {"ttl": 1}), **both)

    def simultaneous(client):
        """The client's SYN+ACK in a row with its SYN; the server ignores it."""
        c = client.raw()
        c.syn()
        c.syn(flags=SYN | ACK, ack=7, bad_tcp=True)
        c.wait_for_answer()
        c.put(c.first, flags=ACK)
        then_real(c, client)

    attempt("opening", "client-syn-ack", simultaneous, **both)

    def odd_syn(client, flags):
        c = client.raw()
        c.syn(flags=flags)
        c.wait_for_answer()
        c.put(c.first, flags=ACK)
        then_real(c, client)

    for name, flags in {"psh": SYN | PSH, "urg": SYN | URG, "fin": SYN | FIN, "ecn": SYN | 0xC0}.items():
        attempt("opening", f"syn-{name}", lambda client, f=flags: odd_syn(client, f), (4,))

    def reuse(client, gap):
        """Two connections of one 4-tuple."""
        c = client.raw(source_port=41000)
        c.open()
        c.data(0, client.false)
        c.answer(len(client.false))
        c.put(c.first + len(client.false), flags=RST | ACK)
        d = client.raw(source_port=41000, sequence=(c.start + gap) % (1 << 32))
        d.time = c.time + 10
        d.open()
        then_real(d, client)

    for gap in (1000, 100000, -100000, 1 << 30):
        attempt("opening", f"port-reused-{gap}", lambda client, g=gap: reuse(client, g), **both)
    for start in ((1 << 32) - 1, (1 << 32) - 2, (1 << 32) - 100, (1 << 31) - 100):
        attempt("opening", f"sequence-{start}", lambda client, s=start: then_real(client.raw(sequence=s).open(), client), (4,))


# FIN and RST of the client that the server ignores: flags, arguments, and distance from the expected number.
ENDS = {
    "rst-low-ttl": (RST, {"ttl": 1}, 0), "rst-ack-low-ttl": (RST | ACK, {"ttl": 1}, 0), "rst-bad-checksum": (RST, {"bad_tcp": True}, 0),
    "rst-wrong-number": (RST, {}, 500), "rst-far": (RST, {}, 1 << 28), "rst-foreign-mac": (RST, {"to": "02:00:00:00:00:77"}, 0),
    "fin-low-ttl": (FIN | ACK, {"ttl": 1}, 0), "fin-bad-checksum": (FIN | ACK, {"bad_tcp": True}, 0), "fin-no-ack": (FIN, {}, 0),
    "fin-ahead": (FIN | ACK, {}, 100000), "rst-md5": (RST, {"options": MD5}, 0), "rst-old": (RST, {}, -1000),
}


def closing_attempts():
    both = {"apps": ("tls", "http")}
    for name, (flags, how, ahead) in ENDS.items():

        def ended(client, flags=flags, how=how, ahead=ahead):
            c = client.raw().open()
            c.put(c.first + ahead, flags=flags, **how)
            then_real(c, client)

        def ended_inside(client, flags=flags, how=how, ahead=ahead):
            c = client.raw().open()
            c.data(0, client.real[: client.inside])
            c.put(c.first + client.inside + ahead, flags=flags, **how)
            c.data(client.inside, client.real[client.inside :])
            c.answer(len(client.real))

        attempt("closing", name, ended, **both)
        attempt("closing", f"{name}-inside", ended_inside, (4,))

    def with_fin(client):
        c = client.raw().open()
        c.put(c.first, client.real, FIN | PSH | ACK)
        c.answer(len(client.real) + 1)

    attempt("closing", "data-with-fin", with_fin, **both)

    def after_fin(client):
        """Data after a FIN that is out of order: it comes first, and the data fills the hole."""
        c = client.raw().open()
        c.put(c.first + len(client.real), flags=FIN | ACK)
        then_real(c, client)

    attempt("closing", "fin-before-data", after_fin, **both)

    def both_ends_reset(client):
        c = client.raw().open()
        c.put(c.first, flags=RST, ttl=1)
        c.put(c.next_from_server, flags=RST, ttl=1, from_server=True)
        then_real(c, client)

    attempt("closing", "rst-both-sides", both_ends_reset, **both)


# FIN and RST in the server's name, which reach no host: flags, and distance from the expected number.
SERVER_ENDS = {"rst": (RST, 0), "rst-ack": (RST | ACK, 0), "rst-wrong-number": (RST, 500), "fin": (FIN | ACK, 0), "fin-ahead": (FIN | ACK, 1000)}


def paused_attempts():
    """FIN and RST that the receiver ignores, and a pause in which the observer may forget the connection."""
    unreceived = {"ttl": 1}

    def from_client(c, at, flags, how, ahead=0):
        c.put(c.first + at + ahead, flags=flags, **how)

    def from_server(c, at, flags, ahead=0, acked=0):
        c.put(c.next_from_server + ahead, flags=flags, ack=c.first + at + acked, from_server=True, **unreceived)

    def of_both(flags):
        def end(c, at):
            from_client(c, at, flags, unreceived)
            from_server(c, at, flags)

        return end

    def fin_acknowledged(c, at):
        from_client(c, at, FIN | ACK, unreceived)
        from_server(c, at, ACK, acked=1)

    def fin_then_rst(c, at):
        from_client(c, at, FIN | ACK, unreceived)
        from_client(c, at, RST, unreceived, 1)

    def fins_acknowledged(c, at):
        from_client(c, at, FIN | ACK, unreceived)
        from_server(c, at, FIN | ACK, acked=1)
        c.put(c.first + at + 1, flags=ACK, ack=c.next_from_server + 1, **unreceived)

    ends = {name: lambda c, at, e=end: from_client(c, at, *e) for name, end in ENDS.items()}
    ends |= {f"server-{name}": lambda c, at, f=flags, a=ahead: from_server(c, at, f, a) for name, (flags, ahead) in SERVER_ENDS.items()}
    ends |= {"rst-both-sides": of_both(RST), "fin-both-sides": of_both(FIN | ACK), "fin-acknowledged": fin_acknowledged}
    ends |= {"fin-then-rst": fin_then_rst, "fins-acknowledged": fins_acknowledged}
    places = {
        "before-ack": paused_before_ack, "before-data": paused_before_data, "inside": paused_inside, "before-answer": paused_before_answer,
        "in-answer": paused_in_answer,
    }
    for i, (name, end) in enumerate(ends.items()):
        for place, talk in places.items():
            attempt("paused", f"{place}-{name}", lambda client, e=end, t=talk: t(client, e), (4 if i % 2 else 6,), ("tls", "http", "http2"))
        attempt("paused", f"next-{name}", lambda client, e=end: paused_before_next(client, e), (4 if i % 2 else 6,), ("http", "http2"))
        attempt("paused", f"in-body-{name}", lambda client, e=end: paused_in_body(client, e), (4 if i % 2 else 6,), ("http",))
        attempt("paused", f"before-finished-{name}", lambda client, e=end: paused_before_finished(client, e), (4 if i % 2 else 6,))
        if "low-ttl" in name or name not in ENDS:
            attempt("paused", f"before-syn-{name}", lambda client, e=end: paused_before_syn(client, e), (4 if i % 2 else 6,), ("tls", "http"))


def paused_before_syn(client, end):
    """The SYN is lost, and the client repeats it."""
    c = client.raw()
    c.syn(ttl=1)
    end(c, 0)
    c.pause()
    c.open()
    return then_real(c, client)


def paused_before_ack(client, end):
    c = client.raw()
    c.syn()
    c.wait_for_answer()
    end(c, 0)
    c.pause()
    c.put(c.first, flags=ACK)
    return then_real(c, client)


def paused_before_data(client, end):
    c = client.raw().open()
    end(c, 0)
    c.pause()
    return then_real(c, client)


def paused_inside(client, end):
    c = client.raw().open()
    c.data(0, client.real[: client.inside])
    c.sent = client.inside
    # The acknowledgement; of HTTP/2 also the server's settings.
    c.receive(lambda _, payload: payload or client.app != "http2")
    end(c, client.inside)
    c.pause()
    c.data(client.inside, client.real[client.inside :])
    return c.answer(len(client.real))


def paused_before_answer(client, end):
    """The client's window is closed until after the pause."""
    c = client.raw().open()
    c.window = 0
    c.data(0, client.real)
    c.sent = len(client.real)
    c.receive(lambda *_: True)
    end(c, c.sent)
    c.pause()
    c.window = 502
    c.put(c.first + c.sent, flags=ACK)
    return c.answer(c.sent)


def paused_in_answer(client, end):
    """The client's window has room for one short segment."""
    c = client.raw()
    c.syn(mss=88)
    c.wait_for_answer()
    c.window = 1
    c.put(c.first, flags=ACK)
    c.data(0, client.real)
    c.window = 0
    c.answer(len(client.real))
    end(c, c.sent)
    c.pause()
    c.window = 502
    c.put(c.first + c.sent, flags=ACK)
    return c.answer(c.sent)


def paused_before_next(client, end):
    """Between two requests. Returns the number of answers."""
    c = client.raw().open()
    c.data(0, client.false)
    first = c.answer(len(client.false))
    c.receive_all()
    end(c, c.sent)
    c.pause()
    following = client.real if client.app == "http" else frame(1, 5, 3, block(client.hidden))
    c.data(c.sent, following)
    return first + c.answer(c.sent + len(following))


def paused_in_body(client, end):
    """The next request follows the body in the same segment. Returns the number of answers."""
    c = client.raw().open()
    first = b"POST / HTTP/1.1\r\nHost: " + client.decoy.encode() + b"\r\nContent-Length: 300\r\n\r\n" + b"b" * 300
    c.data(0, first[:-200])
    answers = c.answer(len(first) - 200)
    end(c, c.sent)
    c.pause()
    c.data(c.sent, first[-200:] + client.real)
    return answers + c.answer(len(first) + len(client.real))


def paused_before_finished(client, end):
    """A complete handshake, with the pause after the server's flight."""
    talk = Handshake(client.hidden)
    hello = talk.take()
    c = client.raw().open()
    c.data(0, hello)
    c.answer(len(hello))
    c.receive_all()
    end(c, c.sent)
    c.pause()
    finished = talk.take(c.received)
    c.data(c.sent, finished)
    return c.answer(c.sent + len(finished))


def overlap_attempts():
    """Two contents of the same bytes, both valid: the server decides which counts."""
    real_false = {"apps": ("tls", "http")}

    def send_all(client, *parts):
        """`parts` are (from, to, whether it is the real content)."""
        c = client.raw().open()
        for start, end, is_real in parts:
            source = client.real if is_real else client.false
            c.data(start, source[start:end])
            time.sleep(0.001)
        c.answer(len(client.real))

    def place(client):
        cut, end = client.inside, len(client.real)
        return cut, end

    cases = {
        # The tail first, out of order; then all of it with the other content.
        "tail-then-all": lambda cut, end: [(cut - 5, end, True), (0, end, False)],
        "tail-then-all-real": lambda cut, end: [(cut - 5, end, False), (0, end, True)],
        "middle-then-all": lambda cut, end: [(cut - 5, cut + 8, True), (0, end, False)],
        "middle-then-all-real": lambda cut, end: [(cut - 5, cut + 8, False), (0, end, True)],
        "middle-twice": lambda cut, end: [(cut - 5, cut + 8, True), (cut - 5, cut + 8, False), (0, cut - 5, True), (cut + 8, end, True)],
        "middle-twice-real": lambda cut, end: [(cut - 5, cut + 8, False), (cut - 5, cut + 8, True), (0, cut - 5, True), (cut + 8, end, True)],
        "middle-wider": lambda cut, end: [(cut - 5, cut + 8, True), (cut - 20, cut + 20, False), (0, cut, True), (cut - 20, end, True)],
        "middle-wider-real": lambda cut, end: [(cut - 5, cut + 8, False), (cut - 20, cut + 20, True), (0, cut, True), (cut - 20, end, True)],
        "middle-left": lambda cut, end: [(cut - 5, cut + 8, True), (cut - 20, cut + 2, False), (0, cut - 10, True), (cut + 1, end, True)],
        "middle-left-real": lambda cut, end: [(cut - 5, cut + 8, False), (cut - 20, cut + 2, True), (0, cut - 10, True), (cut + 1, end, True)],
        "middle-right": lambda cut, end: [(cut - 5, cut + 8, True), (cut, cut + 20, False), (0, cut, True), (cut + 5, end, True)],
        "middle-right-real": lambda cut, end: [(cut - 5, cut + 8, False), (cut, cut + 20, True), (0, cut, True), (cut + 5, end, True)],
        "head-then-overlap": lambda cut, end: [(0, cut + 4, True), (cut - 10, end, False), (cut + 4, end, True)],
        "head-then-overlap-real": lambda cut, end: [(0, cut, True), (cut - 10, cut + 6, False), (cut, end, True)],
        "retransmission-other": lambda cut, end: [(0, cut + 4, True), (0, cut + 4, False), (cut + 4, end, True)],
        "retransmission-all-other": lambda cut, end: [(0, end - 1, True), (0, end, False)],
        "one-byte": lambda cut, end: [(cut, cut + 1, True), (0, end, False)],
        "bytes-of-decoy": lambda cut, end: [*((at, at + 1, False) for at in range(cut - 3, cut + 6)), (0, end, True)],
        "every-second": lambda cut, end: [*((at, at + 2, False) for at in range(4, end - 4, 4)), (0, end, True)],
    }
    for name, parts in cases.items():
        attempt("overlap", name, lambda client, parts=parts: send_all(client, *parts(*place(client))), **(real_false if len(name) % 2 else {}))
    for i, order in enumerate(itertools.permutations(range(3))):

        def three(client, order=order):
            """Three pieces that overlap by ten bytes with the other content."""
            cut, end = place(client)
            c = client.raw().open()
            ranges = [(0, cut + 2), (cut - 8, cut + 10), (cut, end)]
            for index in order:
                start, stop = ranges[index]
                source = client.false if index == 1 else client.real
                c.data(start, source[start:stop])
                time.sleep(0.001)
            c.answer(len(client.real))

        attempt("overlap", f"three-{i}", three, (4 if i % 2 else 6,), ("tls", "http"))
    for fill in (b"\0", b"\xff"):

        def padding(client, fill=fill):
            """Out-of-order filler where the name is, then the whole."""
            c = client.raw().open()
            c.data(client.inside - 3, fill * 15)
            time.sleep(0.001)
            then_real(c, client)

        attempt("overlap", f"filler-{fill[0]}", padding, apps=("tls", "http"))

    def keep_alive(client):
        """A keep-alive probe with a byte of another content, before the data and inside."""
        c = client.raw().open()
        c.put(c.start, b"\xaa", ACK)
        c.data(0, client.real[: client.inside])
        c.put(c.first + client.inside - 1, b"\xaa", ACK)
        c.data(client.inside, client.real[client.inside :])
        c.answer(len(client.real))

    attempt("overlap", "keep-alive", keep_alive, apps=("tls", "http"))

    def before_start(client, size):
        """A segment that begins before the first byte of the stream; its rest counts."""
        c = client.raw().open()
        c.put(c.first - size, b"\x16" * size + client.real)
        c.answer(len(client.real))

    for size in (1, 20, 300):
        attempt("overlap", f"before-start-{size}", lambda client, s=size: before_start(client, s), apps=("tls", "http"))

    def padded_acks(client):
        """An acknowledgement whose packet ends with zeros that the IP length has, where the data is to be."""
        c = client.raw().open()
        for size in (6, 2, 1, 10, 18):
            c.put(c.first, b"\0" * size, ACK, bad_tcp=True)
        then_real(c, client)

    attempt("overlap", "zeros-bad-checksum", padded_acks, apps=("tls", "http"))

    def split(client, count, reverse):
        c = client.raw().open()
        size = -(-len(client.real) // count)
        parts = [(at, client.real[at : at + size]) for at in range(0, len(client.real), size)]
        for at, part in reversed(parts) if reverse else parts:
            c.data(at, part)
        c.answer(len(client.real))

    for count in (2, 3, 7, 50):
        for reverse in (False, True):
            attempt("order", f"split-{count}{'-reversed' if reverse else ''}", lambda client, n=count, r=reverse: split(client, n, r), (4 if reverse else 6,), ("tls", "http"))

    def shuffled(client):
        c = client.raw().open()
        parts = [(at, client.real[at : at + 7]) for at in range(0, len(client.real), 7)]
        random.Random(client.number).shuffle(parts)
        for at, part in parts + parts[:9]:
            c.data(at, part)
        c.answer(len(client.real))

    attempt("order", "shuffled", shuffled, apps=("tls", "http"))


def window_attempts():
    def beyond(client, distance, count, how):
        c = client.raw().open()
        for i in range(count):
            c.put(c.first + distance + i * 1200, b"\xcc" * 1200, **how)
        then_real(c, client)

    for distance, count in ((70000, 1), (70000, 150), (200000, 10), (1 << 20, 3), (1 << 30, 3), (-(1 << 20), 3), (-70000, 60)):
        attempt("window", f"data-at-{distance}-{count}", lambda client, d=distance, n=count: beyond(client, d, n, {}), (4 if count % 2 else 6,), ("tls", "http"))
    for distance, count in ((1000, 120), (60000, 120)):
        attempt("window", f"low-ttl-at-{distance}", lambda client, d=distance, n=count: beyond(client, d, n, {"ttl": 1}), (4,), ("tls", "http"))
        attempt("window", f"bad-checksum-at-{distance}", lambda client, d=distance, n=count: beyond(client, d, n, {"bad_tcp": True}), (6,), ("tls", "http"))

    def small_window(client):
        c = client.raw().open()
        c.data(0, client.real, window=0)
        c.answer(len(client.real))

    attempt("window", "zero", small_window)

    def holes(client):
        """Many pieces out of order: more than a queue with few entries holds."""
        c = client.raw().open()
        for at in range(len(client.real) - 1, 0, -2):
            c.data(at, client.real[at : at + 1])
        then_real(c, client)

    attempt("window", "many-holes", holes, apps=("tls", "http"))


def header_attempts():
    options4 = {
        "nops": b"\x01" * 40, "router-alert": b"\x94\x04\0\0", "record-route": b"\x07\x0b\x04" + b"\0" * 8, "timestamp": b"\x44\x0c\x05\0" + b"\0" * 8,
        "end": b"\0\0\0\0", "unknown": b"\x9e\x04\0\0", "security": b"\x82\x0b" + b"\0" * 9,
    }
    for name, options in options4.items():
        attempt("header", f"option-{name}", lambda client, o=options: send_raw(client, ip_options=o), (4,))

    def all_with(client, how):
        c = client.raw()
        c.open(**how)
        c.data(0, client.real, **how)
        c.answer(len(client.real))

    padding = b"\0\x01\x04\0\0\0\0"
    for count in (1, 4, 8, 9, 15, 16, 17, 20, 40):
        attempt("header", f"extensions-{count}", lambda client, n=count: all_with(client, {"extensions": [(DESTINATION, padding)] * n}), (6,))
        attempt("header", f"extensions-data-{count}", lambda client, n=count: send_raw(client, extensions=[(DESTINATION, padding)] * n), (6,), ("http",))
    large = bytes([80]) + b"\x01\xff" + b"\0" * 255 + b"\x01\xff" + b"\0" * 255 + b"\x01\x82" + b"\0" * 130
    attempt("header", "extension-large", lambda client: all_with(client, {"extensions": [(DESTINATION, large)]}), (6,), ("http",))
    attempt("header", "hop-by-hop", lambda client: all_with(client, {"extensions": [(HOP_BY_HOP, padding)]}), (6,))
    attempt("header", "atomic-fragment", lambda client: all_with(client, {"fragment": (0, False, 9)}), (6,))
    attempt("header", "routing-done", lambda client: all_with(client, {"extensions": [(43, b"\x02\x02\0\0\0\0\0" + b"\0" * 16)]}), (6,))
    tcp_options = {
        "none": b"", "unknown": b"\xfd\x04\x12\x34", "nops": b"\x01" * 40, "bad-length": b"\xfd\0\x01\x01", "end-first": b"\0" + b"\x77" * 7,
        "long": b"\x08\x0a" + b"\0" * 38, "mptcp": b"\x1e\x04\x20\0", "overrun": b"\x05\x20" + b"\0" * 6,
    }
    for name, options in tcp_options.items():
        attempt("header", f"tcp-option-{name}", lambda client, o=options: send_raw(client, options=o), (4,))
    for name, how in {"trailer": {"trailer": b"\x16\x03\x01" * 9}, "trailer-long": {"trailer": b"\xaa" * 200}, "urgent-flag-0": {"flags": PSH | ACK | URG, "urgent": 0},
                      "urgent-pointer": {"urgent": 9}, "urgent-far": {"flags": PSH | ACK | URG, "urgent": 60000}, "urgent-1": {"flags": PSH | ACK | URG, "urgent": 1},
                      "urgent-name": {"flags": PSH | ACK | URG, "urgent": None}, "reserved-flags": {"flags": PSH | ACK | 0xC0}, "no-push": {"flags": ACK},
                      "priority-tag": {"tags": (0,)}, "priority-tag-7": {"tags": (0xE000,)}}.items():

        def odd(client, how=how):
            how = dict(how)
            if how.get("urgent", 0) is None:
                how["urgent"] = client.inside
            send_raw(client, **how)

        attempt("header", name, odd, apps=("tls", "http"))


def fragment_attempts():
    def fragmented(client, size, arrange, how=None):
        """The real segment in fragments, in an order with additions of `arrange`."""
        c = client.raw().open()
        c.time += 1
        body, false = c.segment(c.first, client.real), c.segment(c.first, client.false)
        real_parts = c.fragments(TCP, body, size)
        identification = real_parts[0][0][2]
        false_parts = c.fragments(TCP, false, size, identification)
        for (fragment, content), extra in arrange(real_parts, false_parts):
            c.send(TCP, content, fragment=fragment, dont_fragment=False, **extra)
        c.answer(len(client.real))

    plainly = lambda parts: [(part, {}) for part in parts]
    cases = {
        "in-order": lambda real, false: plainly(real),
        "reversed": lambda real, false: plainly(real[::-1]),
        "twice": lambda real, false: plainly(real + real),
        "each-twice": lambda real, false: [(part, {}) for part in real for _ in range(2)],
        "decoy-low-ttl-first": lambda real, false: [(part, {"ttl": 1}) for part in false] + plainly(real),
        "decoy-low-ttl-last-missing": lambda real, false: [(part, {"ttl": 1}) for part in false[:-1]] + plainly(real),
        "decoy-foreign-mac": lambda real, false: [(part, {"to": "02:00:00:00:00:77"}) for part in false[1:]] + plainly(real),
        "decoy-each-low-ttl": lambda real, false: [one for f, r in zip(false, real) for one in ((f, {"ttl": 1}), (r, {}))],
        "decoy-middle-low-ttl": lambda real, false: plainly(real[:1]) + [(part, {"ttl": 1}) for part in false[1:]] + plainly(real[1:]),
        "decoy-overlaps-valid": lambda real, false: plainly(real[:1] + false[1:2] + real[1:]),
        "decoy-overlaps-wider": lambda real, false: plainly(real[:1]) + [(((real[1][0][0] - 8, True, real[1][0][2]), b"\x55" * 24), {})] + plainly(real[1:]),
    }
    for name, arrange in cases.items():
        for size in (8, 64, 120):
            if size != 64 and name not in ("in-order", "reversed", "decoy-low-ttl-first"):
                continue
            attempt("fragment", f"{name}-{size}", lambda client, a=arrange, s=size: fragmented(client, s, a), apps=("tls",) if size != 64 else ("tls", "http"))

    def overlap_then_whole(client):
        """Overlapping fragments, which the server drops with their datagram; then the segment again."""
        c = client.raw().open()
        parts = c.fragments(TCP, c.segment(c.first, client.false), 64)
        for fragment, content in parts[:1] + [((48, True, parts[0][0][2]), b"\x99" * 48)] + parts[1:]:
            c.send(TCP, content, fragment=fragment, dont_fragment=False)
        then_real(c, client)

    attempt("fragment", "overlap-then-whole", overlap_then_whole, apps=("tls", "http"))

    def decoy_whole(client):
        """A decoy in complete, valid fragments with a wrong TCP checksum."""
        c = client.raw().open()
        for fragment, content in c.fragments(TCP, c.segment(c.first, client.false, bad_tcp=True), 64):
            c.send(TCP, content, fragment=fragment, dont_fragment=False)
        then_real(c, client)

    attempt("fragment", "decoy-bad-checksum", decoy_whole, apps=("tls", "http"))

    def fragmented_syn(client):
        c = client.raw()
        stamp = b"\x08\x0a" + struct.pack("!II", c.time, 0)
        body = c.segment(c.start, flags=SYN, options=b"\x02\x04\x05\xb4\x04\x02" + stamp + b"\x01\x03\x03\x07")
        for fragment, content in c.fragments(TCP, body, 24):
            c.send(TCP, content, fragment=fragment, dont_fragment=False)
        c.wait_for_answer()
        c.put(c.first, flags=ACK)
        then_real(c, client)

    attempt("fragment", "syn", fragmented_syn)


def forged_attempts():
    """Packets with the server's address that the client sends, and which reach no host."""
    unreceived = {"ttl": 1, "from_server": True}

    def forged_ack(client):
        """A decoy, and an acknowledgement of it that the server never sent."""
        c = client.raw().open()
        c.data(0, client.false, ttl=1)
        c.put(c.next_from_server, flags=ACK, ack=c.first + len(client.false), **unreceived)
        then_real(c, client)

    attempt("forged", "ack-of-decoy", forged_ack, apps=("tls", "http"))

    def forged_ack_ahead(client):
        """An acknowledgement of data that was not sent yet: what follows is to look like a retransmission."""
        c = client.raw().open()
        c.put(c.next_from_server, flags=ACK, ack=c.first + 5000, **unreceived)
        then_real(c, client)

    attempt("forged", "ack-ahead", forged_ack_ahead, apps=("tls", "http"))

    def forged_answer(client, flags):
        c = client.raw()
        c.syn()
        c.put(77, flags=flags, ack=c.start + 1, **unreceived)
        c.wait_for_answer()
        c.put(c.first, flags=ACK)
        then_real(c, client)

    attempt("forged", "syn-ack", lambda client: forged_answer(client, SYN | ACK), apps=("tls", "http"))
    attempt("forged", "rst-answer", lambda client: forged_answer(client, RST | ACK), apps=("tls", "http"))

    def forged_end(client, flags):
        c = client.raw().open()
        c.put(c.next_from_server, flags=flags, **unreceived)
        then_real(c, client)

    attempt("forged", "rst", lambda client: forged_end(client, RST), apps=("tls", "http"))
    attempt("forged", "fin", lambda client: forged_end(client, FIN | ACK), apps=("tls", "http"))

    def forged_data(client):
        """An answer of the server that it never gave: the beginning of another protocol."""
        c = client.raw().open()
        c.put(c.next_from_server, b"SSH-2.0-OpenSSH_9.6\r\n", **unreceived)
        then_real(c, client)

    attempt("forged", "server-data", forged_data, apps=("tls", "http"))

    def other_protocol(client, first):
        c = client.raw().open()
        c.data(0, first, ttl=1)
        then_real(c, client)

    for name, first in {"ssh": b"SSH-2.0-x\r\n", "http": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "zeros": b"\0" * 300, "noise": bytes(range(128, 256)) * 8, "http2": http2("other.test"), "one-byte": b"\x17"}.items():
        attempt("forged", f"first-data-{name}", lambda client, f=first: other_protocol(client, f), (4,), ("tls", "http"))


plain_attempts()
raw_attempts()
