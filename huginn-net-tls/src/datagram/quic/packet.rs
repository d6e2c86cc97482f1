//! The packets of a datagram (RFC 9000, sections 12.2 and 17.2).

#[cfg(feature = "packets")]
use huginn_net_wire::Side;
use huginn_net_wire::{Cursor, Truncated};

use super::QuicError;
use super::version::{LongType, Protection, is_reserved};

/// Maximum length of a connection id in all versions so far, in bytes (RFC 9000, section 17.2).
pub(super) const MAX_CONNECTION_ID: usize = 20;

/// A packet of a datagram.
#[derive(Debug)]
pub(super) enum Packet<'a> {
    Initial(Initial<'a>),
    ZeroRtt,
    Handshake,
    /// A Retry (RFC 9000, section 17.2.5.1).
    Retry {
        /// The connection id that the client chose.
        destination: &'a [u8],
        /// The connection id that the server chose.
        source: &'a [u8],
        /// Length of its token, in bytes.
        token_len: u32,
    },
    /// A Version Negotiation (RFC 9000, section 17.2.1).
    VersionNegotiation {
        /// The source connection id of the client's packet.
        destination: &'a [u8],
        /// The destination connection id of the client's packet.
        source: &'a [u8],
    },
    /// A short header, padding, or not QUIC.
    Other,
}

/// An Initial packet before decryption (RFC 9000, section 17.2.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Initial<'a> {
    pub(super) version: u32,
    /// The protection of its version; for a reserved version, the first of
    /// [several](Protection::candidates_for_reserved).
    pub(super) protection: &'static Protection,
    /// Destination connection id.
    pub(super) destination: &'a [u8],
    /// Source connection id.
    pub(super) source: &'a [u8],
    /// Length of the token.
    pub(super) token_len: u32,
    /// Size of the datagram, if this is its first Initial packet.
    pub(super) datagram_size: Option<u16>,
    /// The packet, up to the end that its length field announces, or to the end of the datagram.
    pub(super) bytes: &'a [u8],
    /// Set if the datagram ends before the packet does: the snap length cut it, or its length is wrong.
    pub(super) cut: Option<Truncated>,
    /// Offset of the packet number.
    pub(super) number_offset: usize,
}

/// Whether a datagram may be a client's first: it starts with an Initial packet of a known version, or with a reordered
/// 0-RTT packet. The fixed bit may be zero (RFC 9287), except in reserved versions.
#[cfg(feature = "packets")]
#[inline]
pub(crate) fn looks_like_initial(datagram: &[u8]) -> bool {
    let Some(&[first, a, b, c, d, id_len]) = datagram.first_chunk() else { return false };
    let version = u32::from_be_bytes([a, b, c, d]);
    first & 0x80 != 0
        && (first & 0x40 != 0 || !is_reserved(version))
        && usize::from(id_len) <= MAX_CONNECTION_ID
        && Protection::from_version(version).is_some_and(|protection| {
            matches!(protection.long_type(first), LongType::Initial | LongType::ZeroRtt)
        })
}

/// Whether a datagram starts with a long header of a known version, or with a Version Negotiation packet.
#[cfg(feature = "packets")]
pub(crate) fn has_long_header(datagram: &[u8]) -> bool {
    let Some(&[first, a, b, c, d]) = datagram.first_chunk() else { return false };
    let version = u32::from_be_bytes([a, b, c, d]);
    first & 0x80 != 0 && (version == 0 || Protection::from_version(version).is_some())
}

/// Guesses, without decryption, the sender of a datagram that [`looks_like_initial`]: the destination id of a client's
/// first packet has at least 8 bytes (RFC 9000, section 7.2), and that of a server's packet has the length that the
/// client chose.
#[cfg(feature = "packets")]
pub(crate) fn likely_sender(datagram: &[u8]) -> Side {
    match datagram {
        [first, a, b, c, d, id_len, ..]
            if *id_len < 8
                && Protection::from_version(u32::from_be_bytes([*a, *b, *c, *d]))
                    .is_some_and(|protection| protection.long_type(*first) == LongType::Initial) =>
        {
            Side::Server
        }
        _ => Side::Client,
    }
}

/// The packets of a datagram. Ends after the first error.
pub(super) struct Packets<'a> {
    rest: &'a [u8],
    /// Size of the datagram, until its first Initial packet.
    size: Option<u16>,
}

impl<'a> Packets<'a> {
    pub(super) const fn new(datagram: &'a [u8]) -> Self {
        // A UDP payload has at most 65,527 bytes.
        #[expect(clippy::cast_possible_truncation, reason = "bounded by the type of the length")]
        let size = if datagram.len() > u16::MAX as usize { u16::MAX } else { datagram.len() as u16 };
        Self { rest: datagram, size: Some(size) }
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Result<Packet<'a>, QuicError>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = std::mem::take(&mut self.rest);
        if bytes.is_empty() {
            return None;
        }
        let mut cursor = Cursor::new(bytes);
        let mut packet = read(&mut cursor, bytes);
        if let Ok(Packet::Initial(initial)) = &mut packet {
            initial.datagram_size = self.size.take();
        }
        if matches!(packet, Ok(Packet::Initial(_) | Packet::ZeroRtt | Packet::Handshake)) {
            self.rest = cursor.rest();
        }
        Some(packet)
    }
}

fn read<'a>(cursor: &mut Cursor<'a>, bytes: &'a [u8]) -> Result<Packet<'a>, QuicError> {
    let first = cursor.u8()?;
    if first & 0x80 == 0 {
        return Ok(Packet::Other);
    }
    let version = cursor.u32_be()?;
    if version == 0 {
        // Other versions may have longer connection ids.
        let mut ids = || Some((connection_id(cursor).ok()?, connection_id(cursor).ok()?));
        let (destination, source) = ids().unwrap_or_default();
        return Ok(Packet::VersionNegotiation { destination, source });
    }
    let protection = Protection::from_version(version).ok_or(QuicError::UnknownVersion { version })?;
    let destination = connection_id(cursor)?;
    let source = connection_id(cursor)?;
    let initial = |Body { bytes, token_len, number_offset, cut }| {
        Packet::Initial(Initial {
            version,
            protection,
            destination,
            source,
            token_len,
            datagram_size: None,
            bytes,
            cut,
            number_offset,
        })
    };
    match protection.long_type(first) {
        LongType::Initial => Ok(initial(body(cursor, bytes))),
        LongType::ZeroRtt => {
            // In the type codes of version 2 this is an Initial packet, which has a token before its length.
            let mut other = *cursor;
            let body = body(&mut other, bytes);
            if is_reserved(version) && body.cut.is_none() {
                *cursor = other;
                return Ok(initial(body));
            }
            Ok(skip_protected(cursor).map(|()| Packet::ZeroRtt)?)
        }
        LongType::Handshake => Ok(skip_protected(cursor).map(|()| Packet::Handshake)?),
        LongType::Retry => {
            // The integrity tag has 16 bytes (RFC 9001, section 5.8).
            let token_len = u32::try_from(cursor.remaining().saturating_sub(16)).unwrap_or(u32::MAX);
            Ok(Packet::Retry { destination, source, token_len })
        }
    }
}

/// An Initial packet, and where its packet number is.
struct Body<'a> {
    bytes: &'a [u8],
    token_len: u32,
    number_offset: usize,
    cut: Option<Truncated>,
}

/// Reads the fields of an Initial packet after its connection ids.
fn body<'a>(cursor: &mut Cursor<'a>, bytes: &'a [u8]) -> Body<'a> {
    let fields = |cursor: &mut Cursor<'a>| {
        let token = cursor.varint_bytes()?;
        let len = cursor.varint()?;
        let number_offset = cursor.position();
        cursor.skip(usize::try_from(len).unwrap_or(usize::MAX))?;
        Ok((token.len(), number_offset))
    };
    match fields(cursor) {
        Ok((token_len, number_offset)) => Body {
            bytes: bytes.get(..cursor.position()).unwrap_or(bytes),
            token_len: u32::try_from(token_len).unwrap_or(u32::MAX),
            number_offset,
            cut: None,
        },
        Err(cut) => {
            *cursor = Cursor::new(&[]);
            Body { bytes, token_len: 0, number_offset: bytes.len(), cut: Some(cut) }
        }
    }
}

fn connection_id<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], QuicError> {
    let len = usize::from(cursor.u8()?);
    if len > MAX_CONNECTION_ID {
        return Err(QuicError::ConnectionId { len });
    }
    Ok(cursor.take(len)?)
}

fn skip_protected(cursor: &mut Cursor<'_>) -> Result<(), Truncated> {
    cursor.varint_bytes()?;
    Ok(())
}
