//! DTLS records (RFC 6347, section 4.1; RFC 9147, section 4). A datagram contains one or more.

use huginn_net_wire::Cursor;

/// Content types (IANA, "TLS ContentType"), from change_cipher_spec to ACK.
const FIRST_TYPE: u8 = 20;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const LAST_TYPE: u8 = 26;

/// The relevant content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record<'a> {
    /// Unencrypted fragments of handshake messages.
    Handshake(&'a [u8]),
    /// Encrypted data. Receivers discard what they cannot decrypt, and read the next record (RFC 6347, section 4.1.2.7).
    Encrypted,
    /// Other unencrypted data.
    Other,
}

/// The records of a datagram, after an optional TURN ChannelData header (RFC 8656, section 12.4) or CAPWAP DTLS header
/// (RFC 5415, section 4.2).
pub(super) fn within(payload: &[u8]) -> &[u8] {
    match payload {
        [0x40..=0x7f, _, high, low, rest @ ..] => {
            rest.get(..usize::from(u16::from_be_bytes([*high, *low]))).unwrap_or(rest)
        }
        [1, 0, 0, 0, rest @ ..] => rest,
        _ => payload,
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
        FIRST_TYPE..=LAST_TYPE => with_plain_header(records),
        0x20..=0x3f => {
            // A unified header (RFC 9147, section 4) may omit its length, so later records cannot be delimited.
            *records = Cursor::new(&[]);
            Some(Record::Encrypted)
        }
        _ => None,
    }
}

fn with_plain_header<'a>(records: &mut Cursor<'a>) -> Option<Record<'a>> {
    let [kind, major, minor, epoch_high, epoch_low, _, _, _, _, _, _, len_high, len_low] =
        records.array().ok()?;
    // OpenSSL before 0.9.8f, and therefore AnyConnect for years, used 0x0100 as the version of DTLS 1.0.
    if !matches!([major, minor], [0xfe, 0xfc..=0xff] | [1, 0]) {
        return None;
    }
    let len = usize::from(u16::from_be_bytes([len_high, len_low])).min(records.remaining());
    let fragment = records.take(len).ok()?;
    Some(match (kind, [epoch_high, epoch_low]) {
        (HANDSHAKE, [0, 0]) => Record::Handshake(fragment),
        (_, [0, 0]) => Record::Other,
        _ => Record::Encrypted,
    })
}
