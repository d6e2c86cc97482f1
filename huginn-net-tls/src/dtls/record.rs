//! Records (RFC 6347, section 4.1; RFC 9147, section 4), of which a datagram holds one or several.

use huginn_net_wire::Cursor;

/// Content types (IANA, "TLS ContentType"), from change_cipher_spec to ACK.
const FIRST_TYPE: u8 = 20;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const LAST_TYPE: u8 = 26;

/// What a record holds, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record<'a> {
    /// Fragments of handshake messages in the clear.
    Handshake(&'a [u8]),
    /// Data that a client may send before the server's hello (RFC 9147, section 4.2.1: epoch 1).
    EarlyData,
    /// Something encrypted.
    Encrypted,
    /// Something in the clear that is no handshake message.
    Other,
}

/// The records of a datagram: behind the header of TURN's ChannelData (RFC 8656, section 12.4) or the one that CAPWAP
/// puts before DTLS (RFC 5415, section 4.2), if there is one.
pub(super) fn within(payload: &[u8]) -> &[u8] {
    match payload {
        [0x40..=0x7f, _, high, low, rest @ ..] => {
            rest.get(..usize::from(u16::from_be_bytes([*high, *low]))).unwrap_or(rest)
        }
        [1, 0, 0, 0, rest @ ..] => rest,
        _ => payload,
    }
}

/// Whether a datagram begins with application data or with a unified header: nearly all do, and none of these has a hello.
#[inline]
pub(super) fn starts_encrypted(payload: &[u8]) -> bool {
    matches!(payload.first(), None | Some(&APPLICATION_DATA | 0x20..=0x3f))
}

/// The next record; as much as was captured of it. Nothing where no record begins.
pub(super) fn next<'a>(records: &mut Cursor<'a>) -> Option<Record<'a>> {
    match records.peek()? {
        FIRST_TYPE..=LAST_TYPE => with_plain_header(records),
        first @ 0x20..=0x3f => {
            // The unified header (RFC 9147, section 4) may leave out its length: nothing behind it can be told apart.
            *records = Cursor::new(&[]);
            Some(if first & 3 == 1 { Record::EarlyData } else { Record::Encrypted })
        }
        _ => None,
    }
}

fn with_plain_header<'a>(records: &mut Cursor<'a>) -> Option<Record<'a>> {
    let [kind, major, minor, epoch_high, epoch_low, _, _, _, _, _, _, len_high, len_low] =
        records.array().ok()?;
    // 0x0100 is what OpenSSL before 0.9.8f, and so AnyConnect for long, took for the version of DTLS 1.0.
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
