//! DTLS records (RFC 6347, section 4.1; RFC 9147, section 4). A datagram contains one or more.

use huginn_net_wire::Cursor;

use super::fragment;
use crate::record::{ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE};

/// The last content type (IANA, "TLS ContentType"), ACK. The first one is change_cipher_spec.
const LAST_TYPE: u8 = 26;
/// The low bits of the epoch in a unified header.
const EPOCH_BITS: u8 = 3;

/// The captured part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) content: Content<'a>,
    /// The number in its epoch; 0 with a unified header.
    pub(super) number: u64,
    /// Whether its end was not captured.
    pub(super) is_cut: bool,
}

/// The relevant content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    /// Unencrypted fragments of handshake messages.
    Handshake(&'a [u8]),
    ChangeCipherSpec,
    /// The level and the description of an unencrypted alert.
    Alert([u8; 2]),
    /// Encrypted data of this type and epoch. Receivers discard what they cannot decrypt, and read the next record (RFC
    /// 6347, section 4.1.2.7).
    Encrypted {
        kind: u8,
        epoch: u16,
    },
    /// Encrypted data of DTLS 1.3 with the low bits of its epoch. Its type is hidden.
    Unified {
        epoch_bits: u8,
    },
    /// Other unencrypted data.
    Other,
}

impl Record<'_> {
    /// Whether the record is not encrypted.
    pub(super) fn is_in_clear(&self) -> bool {
        !matches!(self.content, Content::Encrypted { .. } | Content::Unified { .. })
    }

    /// Whether a message of this type starts here.
    pub(super) fn starts(&self, kind: u8) -> bool {
        let Content::Handshake(fragments) = self.content else { return false };
        let mut fragments = Cursor::new(fragments);
        std::iter::from_fn(|| fragment::next(&mut fragments))
            .any(|fragment| fragment.kind == kind && fragment.offset == 0)
    }
}

/// The records of a datagram, after an optional TURN ChannelData header (RFC 8656, section 12.4) or CAPWAP DTLS header
/// (RFC 5415, section 4.2), or in a Send or Data indication of TURN (RFC 8656, section 11).
pub(super) fn within(payload: &[u8]) -> &[u8] {
    match payload {
        [0x40..=0x7f, _, high, low, rest @ ..] => {
            rest.get(..usize::from(u16::from_be_bytes([*high, *low]))).unwrap_or(rest)
        }
        [1, 0, 0, 0, rest @ ..] => rest,
        [0, 0x16 | 0x17, _, _, 0x21, 0x12, 0xa4, 0x42, rest @ ..] => turn_data(rest).unwrap_or(payload),
        _ => payload,
    }
}

/// The DATA attribute of a TURN message (RFC 8489, section 14; RFC 8656, section 18.4), after its magic cookie.
fn turn_data(rest: &[u8]) -> Option<&[u8]> {
    const TRANSACTION_ID_LEN: usize = 12;
    const DATA: u16 = 0x0013;
    let mut attributes = Cursor::new(rest);
    attributes.skip(TRANSACTION_ID_LEN).ok()?;
    loop {
        let (kind, len) = (attributes.u16_be().ok()?, usize::from(attributes.u16_be().ok()?));
        if kind == DATA {
            let rest = attributes.rest();
            return Some(rest.get(..len).unwrap_or(rest));
        }
        attributes.skip(len.next_multiple_of(4)).ok()?;
    }
}

/// Whether a datagram is a record of application data, or starts with a unified header. Almost all are, and none of these
/// contains a hello.
#[inline]
pub(super) fn is_encrypted(payload: &[u8]) -> bool {
    match payload {
        [] | [0x20..=0x3f, ..] => true,
        [APPLICATION_DATA, _, _, _, _, _, _, _, _, _, _, high, low, record @ ..] => {
            record.len() <= usize::from(u16::from_be_bytes([*high, *low]))
        }
        [APPLICATION_DATA, ..] => true,
        _ => false,
    }
}

/// Reads the captured part of the next record; `None` if no record starts here.
pub(super) fn next<'a>(records: &mut Cursor<'a>) -> Option<Record<'a>> {
    match records.peek()? {
        CHANGE_CIPHER_SPEC..=LAST_TYPE => with_plain_header(records),
        first @ 0x20..=0x3f => {
            // A unified header (RFC 9147, section 4) may omit its length, so later records cannot be delimited.
            *records = Cursor::new(&[]);
            let content = Content::Unified { epoch_bits: first & EPOCH_BITS };
            Some(Record { content, number: 0, is_cut: false })
        }
        _ => None,
    }
}

fn with_plain_header<'a>(records: &mut Cursor<'a>) -> Option<Record<'a>> {
    let [kind, major, minor] = records.array().ok()?;
    // OpenSSL before 0.9.8f, and therefore AnyConnect for years, used 0x0100 as the version of DTLS 1.0.
    if !matches!([major, minor], [0xfe, 0xfc..=0xff] | [1, 0]) {
        return None;
    }
    let epoch = records.u16_be().ok()?;
    let [a, b, c, d, e, f] = records.array().ok()?;
    let number = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    let announced = usize::from(records.u16_be().ok()?);
    let len = announced.min(records.remaining());
    let fragment = records.take(len).ok()?;
    let content = match (kind, epoch, fragment) {
        (HANDSHAKE, 0, _) => Content::Handshake(fragment),
        (CHANGE_CIPHER_SPEC, 0, _) => Content::ChangeCipherSpec,
        (ALERT, 0, &[level @ (1 | 2), description]) => Content::Alert([level, description]),
        (_, 0, _) => Content::Other,
        _ => Content::Encrypted { kind, epoch },
    };
    Some(Record { content, number, is_cut: len < announced })
}
