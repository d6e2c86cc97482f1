"""Reads and writes packets of capture files, for the scripts of this folder."""

import dataclasses
import struct

CLIENT_MAC, SERVER_MAC = bytes.fromhex("02000000000a"), bytes.fromhex("02000000000b")
ETHERNET = 1


@dataclasses.dataclass
class Packet:
    """One recorded IP packet that carries a TCP segment."""

    nanos: int
    ip: bytes
    from_client: bool

    @property
    def version(self):
        return self.ip[0] >> 4

    @property
    def ether_type(self):
        return 0x0800 if self.version == 4 else 0x86DD

    @property
    def ppp_protocol(self):
        return 0x0021 if self.version == 4 else 0x0057

    @property
    def tcp_at(self):
        return (self.ip[0] & 15) * 4 if self.version == 4 else 40

    @property
    def flags(self):
        return self.ip[self.tcp_at + 13]

    def ends(self, pair):
        """A (client's, server's) pair as (sender's, receiver's)."""
        return pair if self.from_client else pair[::-1]

    def in_connection(self, index):
        """This packet in a connection of its own: another client port, a second later for each."""
        at = self.tcp_at + (0 if self.from_client else 2)
        ip = self.ip[:at] + struct.pack("!H", 50000 + index) + self.ip[at + 2 :]
        return Packet(self.nanos + index * 10**9, ip, self.from_client)


def connections(path):
    """The connections of an Ethernet capture by record.sh, one after another."""
    found = []
    for nanos, frame in read(path):
        packet = Packet(nanos, frame[14:], frame[6:12] == CLIENT_MAC)
        if packet.flags == 0x02:
            found.append([])
        found[-1].append(packet)
    return found


def ether(packet, ether_type, payload):
    """IEEE 802.3; padded to the minimum length, as on a wire."""
    source, destination = packet.ends((CLIENT_MAC, SERVER_MAC))
    return (destination + source + struct.pack("!H", ether_type) + payload).ljust(60, b"\0")


def checksum(data):
    """RFC 1071."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def with_checksum(header):
    """An IPv4 header with its checksum filled in."""
    header = header[:10] + b"\0\0" + header[12:]
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:]


def read(path):
    """The frames of a little-endian pcap file as (nanoseconds, bytes)."""
    with open(path, "rb") as f:
        data = f.read()
    unit = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[struct.unpack_from("<I", data)[0]]
    at, frames = 24, []
    while at < len(data):
        seconds, fraction, length, _ = struct.unpack_from("<4I", data, at)
        frames.append((seconds * 10**9 + fraction * unit, data[at + 16 : at + 16 + length]))
        at += 16 + length
    return frames


def write(path, link, frames, order="<"):
    """Writes frames, as `read` returns them, to a nanosecond pcap file in the order of time."""
    with open(path, "wb") as f:
        f.write(struct.pack(order + "IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, link))
        for nanos, frame in sorted(frames, key=lambda frame: frame[0]):
            f.write(struct.pack(order + "4I", *divmod(nanos, 10**9), len(frame), len(frame)) + frame)
