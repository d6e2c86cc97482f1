"""Segments and datagrams made by hand, for attempts.py: a TCP client that the kernel knows nothing of."""

import os
import random
import socket
import struct
import sys
import time

import network

sys.path.append(os.path.join(network.HERE, "../../captures/tools"))
from packets import checksum  # noqa: E402

FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32
TCP, UDP, FRAGMENT, DESTINATION, HOP_BY_HOP = 6, 17, 44, 60, 0
# Ethernet type of the frames that mark a pause (IEEE 802, local experimental).
PAUSE = 0x88B5
WINDOW_SCALE = b"\x01\x03\x03\x07"
# TCP MD5 signature (RFC 2385).
MD5 = b"\x01\x01\x13\x12" + b"\x5a" * 16
WAIT = 0.25


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


class Link:
    """A packet socket on the tap's interface."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((network.TAP, 3))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)

    def send(self, frame):
        self.socket.send(frame)

    def receive(self, timeout):
        """A frame from outside, or None."""
        until = time.monotonic() + timeout
        while (left := until - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                frame, address = self.socket.recvfrom(65536)
            except TimeoutError:
                return None
            if address[2] != socket.PACKET_OUTGOING:
                return frame
        return None


class Host:
    """One end of IP: makes packets from the client to the server, or forges them in the other direction."""

    def __init__(self, link, version, number):
        self.link, self.version = link, version
        family = socket.AF_INET if version == 4 else socket.AF_INET6
        self.client = socket.inet_pton(family, network.client_address(version, network.RAW, number))
        self.server = socket.inet_pton(family, network.SERVER_ADDRESS[version])
        self.identification = random.randrange(1, 60000)

    def pseudo_header(self, protocol, length, from_server=False):
        source, destination = (self.server, self.client) if from_server else (self.client, self.server)
        return source + destination + struct.pack("!IHBB" if self.version == 6 else "!xBH", *(
            (length, 0, 0, protocol) if self.version == 6 else (protocol, length)
        ))

    def packet(
        self, protocol, body, *, ttl=64, bad_ip=False, options=b"", extensions=(), fragment=None, dont_fragment=True,
        from_server=False, length=None, ip_version=None, header_words=None,
    ):
        """An IP packet. `fragment` is (offset in bytes, more, identification)."""
        source, destination = (self.server, self.client) if from_server else (self.client, self.server)
        if self.version == 4:
            options += b"\0" * (-len(options) % 4)
            self.identification = (self.identification + 1) % 65536
            identification, field = self.identification, 0x4000 if dont_fragment else 0
            if fragment:
                offset, more, identification = fragment
                field = (0x2000 if more else 0) | offset // 8
            words = header_words if header_words is not None else 5 + len(options) // 4
            header = struct.pack(
                "!BBHHHBBH", (ip_version or 4) << 4 | words, 0, length if length is not None else 20 + len(options) + len(body),
                identification & 0xFFFF, field, ttl, protocol, 0,
            ) + source + destination + options
            value = checksum(header) ^ (0x1234 if bad_ip else 0)
            return header[:10] + struct.pack("!H", value) + header[12:] + body
        headers = list(extensions)
        if fragment:
            offset, more, identification = fragment
            headers.append((FRAGMENT, struct.pack("!xHI", offset | (1 if more else 0), identification)))
        chain, following = b"", protocol
        for kind, content in reversed(headers):
            chain = bytes([following]) + content + chain
            following = kind
        size = length if length is not None else len(chain) + len(body)
        return struct.pack("!IHBB", (ip_version or 6) << 28, size, following, ttl) + source + destination + chain + body

    def frame(self, packet, *, to=network.ROUTER_MAC, tags=(), from_server=False, trailer=b"", ether_type=None):
        tagged = b"".join(struct.pack("!HH", 0x8100, tag) for tag in tags)
        kind = ether_type or (0x0800 if self.version == 4 else 0x86DD)
        return mac(to) + mac(network.CLIENT_MAC) + tagged + struct.pack("!H", kind) + packet + trailer

    def send(self, protocol, body, *, to=network.ROUTER_MAC, tags=(), trailer=b"", ether_type=None, **ip):
        self.link.send(self.frame(self.packet(protocol, body, **ip), to=to, tags=tags, trailer=trailer, ether_type=ether_type))

    def fragments(self, protocol, body, size, identification=None):
        """The pieces of a datagram: (offset, more, identification), content."""
        if identification is None:
            identification = random.randrange(1, 65536)
        size -= size % 8
        return [
            ((at, at + size < len(body), identification), body[at : at + size]) for at in range(0, len(body), size)
        ]


class Connection(Host):
    """A TCP connection from the client's side."""

    def __init__(self, link, version, number, port, *, sequence=None, timestamps=True, source_port=None):
        super().__init__(link, version, number)
        self.ports = (source_port or 40000 + number % 20000, port)
        self.start = random.randrange(1 << 31) if sequence is None else sequence
        self.timestamps, self.time, self.echo = timestamps, 100000, 0
        self.next_from_server, self.acknowledged, self.answered = 0, None, 0

    @property
    def first(self):
        """The sequence number of the first byte of data."""
        return self.start + 1

    def segment(
        self, sequence, data=b"", flags=PSH | ACK, *, ack=None, bad_tcp=False, options=None, urgent=0, window=None, time_back=None,
        data_offset=None, from_server=False, **_,
    ):
        if options is None:
            options = b""
            if self.timestamps:
                value = self.time if time_back is None else (self.time - time_back) % (1 << 32)
                options = b"\x01\x01\x08\x0a" + struct.pack("!II", value, self.echo)
        options += b"\0" * (-len(options) % 4)
        if ack is None:
            ack = self.next_from_server if flags & ACK else 0
        ports = self.ports[::-1] if from_server else self.ports
        words = 5 + len(options) // 4 if data_offset is None else data_offset
        header = struct.pack(
            "!HHIIBBHHH", *ports, sequence % (1 << 32), ack % (1 << 32), words << 4, flags, self.window if window is None else window, 0, urgent
        ) + options
        value = checksum(self.pseudo_header(TCP, len(header) + len(data), from_server) + header + data)
        return header[:16] + struct.pack("!H", value ^ (0x5A5A if bad_tcp else 0)) + header[18:] + data

    def put(self, sequence, data=b"", flags=PSH | ACK, **how):
        """Sends one segment; `how` has the arguments of `segment`, of `packet` and of `frame`."""
        body = self.segment(sequence, data, flags, **how)
        ip = {name: how[name] for name in how if name in (
            "ttl", "bad_ip", "extensions", "fragment", "dont_fragment", "from_server", "length", "ip_version", "header_words"
        )}
        ethernet = {name: how[name] for name in how if name in ("to", "tags", "trailer", "ether_type")}
        self.send(TCP, body, options=how.get("ip_options", b""), **ip, **ethernet)

    def pause(self):
        """Marks a pause of packet time, which the capture gets later."""
        self.link.send(self.frame(b"", ether_type=PAUSE, trailer=self.client))

    def syn(self, data=b"", sequence=None, options=b"", flags=SYN, mss=1460, **how):
        """The SYN of Linux: MSS, SACK permitted, timestamps, window scale."""
        stamp = b"\x08\x0a" + struct.pack("!II", self.time, 0) if self.timestamps else b"\x01\x01"
        self.put(
            self.start if sequence is None else sequence, data, flags, ack=how.pop("ack", 0),
            options=struct.pack("!BBHBB", 2, 4, mss, 4, 2) + stamp + WINDOW_SCALE + options, window=64240, **how,
        )

    def wait_for_answer(self):
        """Reads the SYN+ACK."""
        return self.receive(lambda flags, _: flags & SYN)

    def open(self, data=b"", **how):
        self.syn(data, **how)
        self.wait_for_answer()
        self.put(self.first, flags=ACK, **how)
        return self

    def data(self, offset, content, **how):
        """Sends data at an offset into the stream; the clock of the timestamps advances."""
        self.time += 1
        self.put(self.first + offset, content, **how)

    def receive(self, wanted, timeout=WAIT):
        """Reads segments until `wanted(flags, payload)`, and acknowledges their data."""
        until = time.monotonic() + timeout
        while (left := until - time.monotonic()) > 0:
            frame = self.link.receive(left)
            if frame is None:
                return False
            at = 14 + (20 if self.version == 4 else 40)
            if frame[12:14] != (b"\x08\0" if self.version == 4 else b"\x86\xdd"):
                continue
            source = frame[26:30] if self.version == 4 else frame[22:38]
            destination = frame[30:34] if self.version == 4 else frame[38:54]
            protocol = frame[23] if self.version == 4 else frame[20]
            if source != self.server or destination != self.client or protocol != TCP or frame[at : at + 4] != struct.pack(
                "!HH", *self.ports[::-1]
            ):
                continue
            total = 14 + struct.unpack("!H", frame[16:18])[0] if self.version == 4 else at + struct.unpack("!H", frame[18:20])[0]
            _, _, sequence, ack, offset, flags = struct.unpack("!HHIIBB", frame[at : at + 14])
            header_end = at + (offset >> 4) * 4
            options, payload = frame[at + 20 : header_end], frame[header_end:total]
            if flags & RST:
                return False
            if self.timestamps and (place := options.find(b"\x08\x0a")) >= 0:
                self.echo = struct.unpack("!I", options[place + 2 : place + 6])[0]
            self.acknowledged = ack
            if sequence == self.next_from_server:
                self.received += payload
            following = (sequence + len(payload) + bool(flags & SYN) + bool(flags & FIN)) % (1 << 32)
            self.next_from_server = following
            if payload:
                self.answered += len(payload)
                self.put(self.first + self.sent, flags=ACK)
            if wanted(flags, payload):
                return True
        return False

    # Bytes of the stream that have been sent, for acknowledgements; the server's stream; the window, in units of 128 bytes.
    sent, received, window = 0, b"", 502

    def receive_all(self):
        """Waits until the server sends nothing more."""
        self.receive(lambda *_: False, 0.03)

    def answer(self, sent, timeout=WAIT):
        """Waits for the server's first data."""
        self.sent = sent
        return self.receive(lambda _, payload: payload, timeout)
