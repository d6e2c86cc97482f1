//! The packets of a datagram (RFC 9000, sections 12.2 and 17.2; RFC 9369, section 3.2).

use huginn_net_wire::Cursor;

use super::keys::Version;

/// Maximum length of a connection id, in bytes (RFC 9000, section 17.2).
pub(super) const MAX_ID_LEN: usize = 20;

/// A packet before decryption.
#[derive(Debug)]
pub(super) enum Packet<'a> {
    Long(LongPacket<'a>),
    /// A packet of 1-RTT, up to the end of the datagram.
    Short(&'a [u8]),
}

/// A packet with a long header.
#[derive(Debug)]
pub(super) struct LongPacket<'a> {
    pub(super) kind: LongKind,
    pub(super) version: Version,
    pub(super) destination: &'a [u8],
    pub(super) source: &'a [u8],
    /// The packet, up to its end.
    pub(super) bytes: &'a [u8],
    /// Offset of the packet number.
    pub(super) number_offset: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LongKind {
    Initial,
    EarlyData,
    Handshake,
}

/// The packets of a datagram, up to the first one that cannot be read.
pub(super) struct Packets<'a> {
    rest: &'a [u8],
}

impl<'a> Packets<'a> {
    pub(super) const fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram }
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Packet<'a>;

    fn next(&mut self) -> Option<Packet<'a>> {
        let bytes = std::mem::take(&mut self.rest);
        if bytes.first()? & 0x80 == 0 {
            return Some(Packet::Short(bytes));
        }
        let packet = long_packet(bytes)?;
        self.rest = bytes.get(packet.bytes.len()..).unwrap_or_default();
        Some(Packet::Long(packet))
    }
}

/// Reads a long header; `None` for a Retry, Version Negotiation or another version, which say nothing about their length.
fn long_packet(bytes: &[u8]) -> Option<LongPacket<'_>> {
    let mut cursor = Cursor::new(bytes);
    let first = cursor.u8().ok()?;
    let version = Version::from_number(cursor.u32_be().ok()?)?;
    let mut id = || {
        let len = usize::from(cursor.u8().ok()?);
        (len <= MAX_ID_LEN).then(|| cursor.take(len).ok()).flatten()
    };
    let (destination, source) = (id()?, id()?);
    let kind = version.long_kind(first)?;
    if kind == LongKind::Initial {
        cursor.varint_bytes().ok()?;
    }
    let len = cursor.varint().ok()?;
    let number_offset = cursor.position();
    cursor.skip(usize::try_from(len).ok()?).ok()?;
    let bytes = bytes.get(..cursor.position())?;
    Some(LongPacket { kind, version, destination, source, bytes, number_offset })
}
