#!/usr/bin/env python3
"""The QUIC attempts of evasion.py, in the client's namespace. Arguments: the attempt, the IP version, its number."""

import os
import struct
import sys
import time

from aioquic.buffer import Buffer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.crypto import CryptoPair
from aioquic.tls import Epoch

import network
from raw import UDP, Host, Link, checksum

V1, V2, RESERVED = 1, 0x6B3343CF, 0x1A2A3A4A
# The smallest datagram with an Initial packet that a server reads, in bytes (RFC 9000, section 14.1).
LEAST = 1200


class Client(Host):
    def __init__(self, version, number):
        super().__init__(Link(), version, number)
        self.hidden, self.decoy = f"hidden-{number:04}.test", f"decoy0-{number:04}.test"
        self.ports = (50000, network.QUIC)

    def datagram(self, content, bad_udp=False, **how):
        """Sends a UDP datagram."""
        header = struct.pack("!HHHH", *self.ports, 8 + len(content), 0)
        value = checksum(self.pseudo_header(UDP, len(header) + len(content)) + header + content) or 0xFFFF
        self.send(UDP, header[:6] + struct.pack("!H", value ^ (0x5A5A if bad_udp else 0)) + content, **how)
        time.sleep(0.002)


class Flight:
    """A client's hello in Initial packets with connection ids of their own."""

    def __init__(self, name, version=V1, padding=0):
        configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"] + ["x" * 200] * padding, server_name=name, original_version=version)
        client = QuicConnection(configuration=configuration)
        client.connect(("192.0.2.1", 1), now=0.0)
        self.message = bytes(client._crypto_streams[Epoch.INITIAL].sender._buffer)
        self.version, self.source = version, client.host_cid
        self.destination = os.urandom(8)
        self.number = 0

    def crypto(self, at=0, end=None, content=None):
        """A CRYPTO frame with a part of the hello."""
        data = self.message[at:end] if content is None else content
        return b"\x06" + variable(at) + variable(len(data)) + data

    def initial(self, frames=None, *, size=LEAST, fixed_bit=True, token=b"", break_tag=False, number=None):
        """A protected Initial packet; PADDING frames make the datagram `size` bytes long."""
        frames = self.crypto() if frames is None else frames
        number = self.number if number is None else number
        self.number += 1
        start = struct.pack("!I", self.version) + short(self.destination) + short(self.source) + variable(len(token)) + token
        used = 1 + len(start) + 2 + 2 + 16
        frames += b"\0" * max(0, size - used - len(frames))
        kind = 0 if self.version != V2 else 1
        first = 0x80 | (0x40 if fixed_bit else 0) | kind << 4 | 1
        header = bytes([first]) + start + struct.pack("!H", 0x4000 | len(frames) + 2 + 16) + struct.pack("!H", number)
        pair = CryptoPair()
        pair.setup_initial(cid=self.destination, is_client=True, version=self.version if self.version in (V1, V2) else V1)
        packet = pair.encrypt_packet(header, frames, number)
        return packet[:-1] + bytes([packet[-1] ^ 0xFF]) if break_tag else packet

    def parts(self, count):
        size = -(-len(self.message) // count)
        return [self.crypto(at, at + size) for at in range(0, len(self.message), size)]


def variable(value):
    """A variable-length integer (RFC 9000, section 16)."""
    buffer = Buffer(capacity=8)
    buffer.push_uint_var(value)
    return buffer.data


def short(data):
    return bytes([len(data)]) + data


# Each attempt by its name. `c` is the client, `d` a flight with the decoy, `h` one with the hidden name.


def control(c, d, h):
    c.datagram(h.initial())


def two_connections(c, d, h):
    c.datagram(d.initial())
    c.datagram(h.initial())


def two_interleaved(c, d, h):
    for one, other in zip(d.parts(2), h.parts(2)):
        c.datagram(d.initial(one))
        c.datagram(h.initial(other))


def nine_connections(c, d, h):
    for _ in range(8):
        c.datagram(Flight(c.decoy).initial())
    c.datagram(h.initial())


def forty_connections(c, d, h):
    for _ in range(40):
        c.datagram(Flight(c.decoy).initial())
    c.datagram(h.initial())


def broken_tag_first(c, d, h):
    c.datagram(h.initial(d.crypto(), break_tag=True))
    c.datagram(h.initial())


def broken_tags_64(c, d, h):
    for _ in range(64):
        c.datagram(h.initial(d.crypto(), break_tag=True))
    c.datagram(h.initial())


def other_broken_64(c, d, h):
    for _ in range(64):
        c.datagram(Flight(c.decoy).initial(break_tag=True))
    c.datagram(h.initial())


def short_datagram_first(c, d, h):
    c.datagram(h.initial(d.crypto(), size=0))
    c.datagram(h.initial())


def low_ttl_first(c, d, h):
    c.datagram(h.initial(d.crypto()), ttl=1)
    c.datagram(h.initial())


def low_ttl_same_number(c, d, h):
    c.datagram(h.initial(d.crypto(), number=0), ttl=1)
    c.datagram(h.initial(number=0))


def bad_checksum_first(c, d, h):
    c.datagram(h.initial(d.crypto()), bad_udp=True)
    c.datagram(h.initial())


def foreign_mac_first(c, d, h):
    c.datagram(h.initial(d.crypto()), to="02:00:00:00:00:77")
    c.datagram(h.initial())


def other_content_second(c, d, h):
    half = len(h.message) // 2
    c.datagram(h.initial(h.crypto(0, half)))
    c.datagram(h.initial(d.crypto()))
    c.datagram(h.initial(h.crypto(half)))


def other_tail_first(c, d, h):
    half = h.message.find(b"hidden") + 3
    c.datagram(h.initial(d.crypto(half)))
    c.datagram(h.initial())


def overlap_in_packet(c, d, h):
    half = h.message.find(b"hidden") + 3
    c.datagram(h.initial(d.crypto(half) + h.crypto()))


def unknown_version_first(c, d, h):
    d.version = 0x0BADC0DE
    c.datagram(d.initial())
    c.datagram(h.initial())


def reserved_version_first(c, d, h):
    d.version = RESERVED
    c.datagram(d.initial())
    c.datagram(h.initial())


def version_2(c, d, h):
    c.datagram(Flight(c.hidden, V2).initial())


def version_1_then_2(c, d, h):
    c.datagram(d.initial(break_tag=True))
    c.datagram(Flight(c.hidden, V2).initial())


def fixed_bit_0(c, d, h):
    c.datagram(h.initial(fixed_bit=False))


def fixed_bit_0_first(c, d, h):
    c.datagram(d.initial(fixed_bit=False))
    c.datagram(h.initial())


def token(c, d, h):
    c.datagram(h.initial(token=b"t" * 300))


def frames_many(c, d, h):
    c.datagram(h.initial(b"".join(h.parts(60))))


def frames_reversed(c, d, h):
    c.datagram(h.initial(b"".join(h.parts(20)[::-1])))


def packets_many(c, d, h):
    for part in h.parts(25)[::-1]:
        c.datagram(h.initial(part))


def coalesced(c, d, h):
    first, second = h.parts(2)
    packet = h.initial(first, size=0)
    c.datagram(packet + h.initial(second, size=LEAST - len(packet)))


def coalesced_other_id(c, d, h):
    packet = d.initial(break_tag=True, size=0)
    c.datagram(packet + h.initial(size=LEAST - len(packet)))


def coalesced_decoy(c, d, h):
    packet = d.initial(size=0)
    c.datagram(packet + h.initial(size=LEAST - len(packet)))


def pings_first(c, d, h):
    for _ in range(20):
        c.datagram(h.initial(b"\x01"))
    c.datagram(h.initial())


def padding_first(c, d, h):
    c.datagram(h.initial(b"\0" * 300 + h.crypto()))


def zero_rtt_first(c, d, h):
    packet = bytearray(d.initial())
    packet[0] = packet[0] & 0xCF | 0x10
    c.datagram(bytes(packet))
    c.datagram(h.initial())


def short_header_first(c, d, h):
    c.datagram(b"\x40" + os.urandom(60))
    c.datagram(h.initial())


def not_quic_first(c, d, h):
    c.datagram(b"\0" * 60)
    c.datagram(b"\x16\xfe\xfd" + b"\0" * 60)
    c.datagram(h.initial())


def stun_first(c, d, h):
    c.datagram(struct.pack("!HHI", 1, 0, 0x2112A442) + os.urandom(12))
    c.datagram(h.initial())


def connection_id_20(c, d, h):
    h.destination = os.urandom(20)
    c.datagram(h.initial())


def trailing_bytes(c, d, h):
    c.datagram(h.initial() + b"\xff" * 100)


def long_hello(c, d, h):
    long = Flight(c.hidden, padding=20)
    for part in long.parts(6):
        c.datagram(long.initial(part))


def same_id_two_hellos(c, d, h):
    c.datagram(h.initial())
    c.datagram(h.initial(d.crypto()))


def acknowledged_first(c, d, h):
    c.datagram(h.initial(b"\x02\x00\x00\x00\x00" + h.crypto()))


def fragments(c, d, h):
    body = struct.pack("!HHHH", *c.ports, 8 + LEAST, 0) + h.initial()
    value = checksum(c.pseudo_header(UDP, len(body)) + body) or 0xFFFF
    body = body[:6] + struct.pack("!H", value) + body[8:]
    for fragment, content in c.fragments(UDP, body, 400)[::-1]:
        c.send(UDP, content, fragment=fragment, dont_fragment=False)


def low_ttl_64(c, d, h):
    for _ in range(64):
        c.datagram(Flight(c.decoy).initial(), ttl=1)
    c.datagram(h.initial())


ATTEMPTS = {
    function.__name__.replace("_", "-"): function
    for function in (
        control, two_connections, two_interleaved, nine_connections, forty_connections, broken_tag_first, broken_tags_64,
        other_broken_64, short_datagram_first, low_ttl_first, low_ttl_same_number, bad_checksum_first, foreign_mac_first,
        other_content_second, other_tail_first, overlap_in_packet, unknown_version_first, reserved_version_first, version_2,
        version_1_then_2, fixed_bit_0, fixed_bit_0_first, token, frames_many, frames_reversed, packets_many, coalesced,
        coalesced_other_id, coalesced_decoy, pings_first, padding_first, zero_rtt_first, short_header_first, not_quic_first,
        stun_first, connection_id_20, trailing_bytes, long_hello, same_id_two_hellos, acknowledged_first, fragments, low_ttl_64,
    )
}


def main():
    """Reads lines of an attempt, an IP version and a number; prints `done` after each."""
    for line in sys.stdin:
        name, version, number = line.split()
        client = Client(int(version), int(number))
        ATTEMPTS[name](client, Flight(client.decoy), Flight(client.hidden))
        time.sleep(0.03)
        print("done", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(ATTEMPTS))
    else:
        main()
