//! Packets for the tests of several crates.

use huginn_net_core::{Frame, LinkType, TcpFlags, Timestamp};

/// An address and a port.
pub(crate) type Endpoint = ([u8; 4], u16);

/// Builds an IPv4 packet with a TCP segment (RFC 791, RFC 9293); `options` must be padded to four bytes.
pub(crate) fn tcp(
    src: Endpoint,
    dst: Endpoint,
    flags: TcpFlags,
    [seq, ack]: [u32; 2],
    options: &[u8],
    payload: &[u8],
) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0];
    packet.extend([src.0, dst.0].concat());
    packet.extend([src.1.to_be_bytes(), dst.1.to_be_bytes()].concat());
    packet.extend([seq.to_be_bytes(), ack.to_be_bytes()].concat());
    let header_words = 5 + options.len() as u8 / 4;
    packet.extend([header_words << 4, flags.bits() as u8, 0x20, 0, 0, 0, 0, 0]);
    packet.extend(options);
    packet.extend(payload);
    let length = u16::try_from(packet.len()).unwrap();
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet
}

/// Returns a frame of a packet without link-layer header, captured at this second.
pub(crate) fn frame(seconds: u64, packet: &[u8]) -> Frame<'_> {
    Frame {
        ts: Timestamp::new(seconds, 0, 6),
        link: LinkType::RAW,
        data: packet,
        wire_len: packet.len() as u32,
    }
}
