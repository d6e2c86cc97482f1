"""Connections for captures of alerts.py: segments with their times, logins of SSH, certificates."""

import random
import struct

from messages import hello, records

FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32
LINUX = b"\x02\x04\x05\xb4\x04\x02\x08\x0a\0\0\0\1\0\0\0\0\x01\x03\x03\x07"
RANDOM = random.Random()


def segment(source, destination, ports, seq, ack, flags, data=b"", ttl=64, options=b"", window=64240):
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, 40 + len(options) + len(data), 0, 0x4000, ttl, 6, 0, source, destination)
    words = struct.pack("!HHIIBBHHH", *ports, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, (5 + len(options) // 4) << 4, flags, window, 0, 0)
    return ip + words + options + data


class Connection:
    """Segments of a connection, with their times. The client has its own idea of the server's initial sequence number."""

    def __init__(self, at, client, server, port=443, client_port=None, believed=None):
        self.at, self.ends = at, (client, server)
        self.ports = (client_port or RANDOM.randrange(32768, 60999), port)
        self.initial = RANDOM.getrandbits(32), RANDOM.getrandbits(32)
        self.believed = (self.initial[1] if believed is None else believed) + 1
        self.sent, self.packets = [1, 1], []

    def send(self, from_client, flags, data=b"", seq=None, ack=None, millis=1, **how):
        side = 0 if from_client else 1
        order = 1 if from_client else -1
        seq = self.initial[side] + self.sent[side] if seq is None else seq
        if ack is None:
            ack = 0 if not flags & ACK else self.initial[0] + self.sent[0] if side else self.believed + self.sent[1] - 1
        self.packets.append((self.at, segment(*self.ends[::order], self.ports[::order], seq, ack, flags, data, **how)))
        self.at += millis * 1000
        return self

    def client(self, data=b"", flags=PSH | ACK, **how):
        self.send(True, flags, data, **how)
        self.sent[0] += len(data)
        return self

    def server(self, data=b"", flags=PSH | ACK, **how):
        self.send(False, flags, data, **how)
        self.sent[1] += len(data)
        return self

    def syn(self, options=LINUX, **how):
        return self.send(True, SYN, seq=self.initial[0], options=options, **how)

    def accept(self, **how):
        return self.send(False, SYN | ACK, seq=self.initial[1], options=LINUX, millis=20, **how)

    def refuse(self):
        return self.send(False, RST | ACK, seq=0)

    def open(self):
        return self.syn().accept().client(flags=ACK)

    def close(self):
        self.client(flags=FIN | ACK).server(flags=FIN | ACK, ack=self.initial[0] + self.sent[0] + 1)
        return self.client(flags=ACK, seq=self.initial[0] + self.sent[0] + 1, ack=self.believed + self.sent[1])


def ssh(at, client, server, both=True, **how):
    """A login with one wrong password; without `both`, the client's half."""
    connection = Connection(at, client, server, 22, **how)
    connection.syn()
    if both:
        connection.accept()
    connection.client(flags=ACK)
    lists = [b"curve25519-sha256", b"ssh-ed25519", *[b"aes256-ctr"] * 2, *[b"hmac-sha2-256"] * 2, *[b"none"] * 2, b"", b""]
    init = b"\x14" + bytes(16) + b"".join(struct.pack("!I", len(value)) + value for value in lists) + bytes(5)
    padding = 8 - (len(init) + 5) % 8 + 8
    init = struct.pack("!IB", len(init) + padding + 1, padding) + init + bytes(padding)
    keys = b"\0\0\0\x0c\x0a\x15" + bytes(10)
    for from_client, data in (
        (True, b"SSH-2.0-OpenSSH_9.2\r\n"), (False, b"SSH-2.0-OpenSSH_9.2\r\n"), (True, init), (False, init), (False, keys + bytes(300)),
        (True, keys), (True, bytes(44)), (False, bytes(44)), (True, bytes(60)), (False, bytes(52)), (True, bytes(84)), (False, bytes(52)),
    ):
        if from_client:
            connection.client(data)
        elif both:
            connection.server(data)
    connection.client(flags=FIN | ACK)
    return connection.packets


def der(tag, *content):
    content = b"".join(content)
    size = struct.pack("!B", len(content)) if len(content) < 128 else struct.pack("!BH", 0x82, len(content))
    return bytes([tag]) + size + content


def certificate(name):
    """ServerHello of TLS 1.2, and a certificate without a valid signature."""
    common_name = der(0x30, der(0x31, der(0x30, der(6, b"\x55\x04\x03"), der(12, name))))
    algorithm = der(0x30, der(6, b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b"), der(5))
    validity = der(0x30, der(0x17, b"230101000000Z"), der(0x17, b"330101000000Z"))
    key = der(0x30, der(0x30, der(6, b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01"), der(5)), der(3, b"\0", der(0x30, der(2, b"\1" * 256), der(2, b"\1\0\1"))))
    content = der(0x30, der(0xA0, der(2, b"\2")), der(2, b"\7"), algorithm, common_name, validity, common_name, key)
    x509 = der(0x30, content, algorithm, der(3, b"\0", bytes(256)))
    entry = struct.pack("!I", len(x509))[1:] + x509
    message = lambda kind, body: bytes([kind]) + struct.pack("!I", len(body))[1:] + body  # noqa: E731
    server_hello = message(2, b"\3\3" + b"\5" * 32 + b"\0\xc0\x2f\0\0\5\xff\1\0\1\0")
    return records(server_hello + message(11, struct.pack("!I", len(entry))[1:] + entry), 16000, version=0x0303)


def nameless():
    """A ClientHello without a server name."""
    return hello("198.51.100.1")
