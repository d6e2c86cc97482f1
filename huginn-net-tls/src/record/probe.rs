//! Finds the record in which a hello starts, anywhere in a TCP stream.

use huginn_net_wire::Side;

use super::{HANDSHAKE, HEADER_LEN, Probe, RecordReader, Stop, fragment_len, padded};
use crate::TlsError;
use crate::hello::handshake::{self, CLIENT_HELLO, SERVER_HELLO};

/// The major version of a record (RFC 8446, section 5.1).
const MAJOR: u8 = 3;

/// The first bytes of a handshake record.
pub(crate) const RECORD_START: [u8; 2] = [HANDSHAKE, MAJOR];

/// Bytes needed to detect a hello: the record header, the message header and half of the version.
const PROBE_LEN: usize = HEADER_LEN + handshake::HEADER_LEN + 1;

/// Judges whether these bytes start with a record in which a hello starts: by its header, and by the message header and
/// version, as far as they are in this record.
pub(crate) fn probe(bytes: &[u8]) -> Probe {
    let announced = match bytes {
        [_, _, _, _, low, ..] => fragment_len(bytes, *low).filter(|len| *len > 0),
        _ => Some(1),
    };
    let Some(in_record) = announced.map(usize::from) else { return Probe::No };
    let wanted = HEADER_LEN.saturating_add(in_record).min(PROBE_LEN);
    let head = bytes.get(..wanted).unwrap_or(bytes);
    let may_be = |index: usize, test: fn(u8) -> bool| head.get(index).is_none_or(|byte| test(*byte));
    let fits = may_be(0, |kind| kind == HANDSHAKE)
        && may_be(1, |major| major == MAJOR)
        && may_be(HEADER_LEN, |kind| matches!(kind, CLIENT_HELLO | SERVER_HELLO))
        && head.get(HEADER_LEN..).is_none_or(|message| handshake::message_len(message).is_ok())
        && may_be(PROBE_LEN.saturating_sub(1), is_major);
    match fits {
        false => Probe::No,
        true if head.len() < wanted => Probe::Unsure,
        true => Probe::Yes,
    }
}

/// Whether a hello's version may start with this byte. Drafts of TLS 1.3 used 7f in the ServerHello.
const fn is_major(byte: u8) -> bool {
    matches!(byte, 3 | 0x7f)
}

/// Like [`probe`], for the start of a stream: the record's version is ignored there (RFC 8446, section 5.1) if the
/// hello's version is in the same record.
pub(crate) fn probe_first(bytes: &[u8]) -> Probe {
    let mut head = padded::<PROBE_LEN>(bytes);
    let len = match head {
        [_, _, _, 0, 0..=4, ..] if bytes.len() >= HEADER_LEN => return probe(bytes),
        _ => bytes.len().min(PROBE_LEN),
    };
    if let (Some(major), true) = (head.get_mut(1), len > 1) {
        *major = MAJOR;
    }
    probe(head.get(..len).unwrap_or_default())
}

/// The message, if these first bytes of a stream are a single record with a single ClientHello.
pub(crate) fn only_client_hello(bytes: &[u8]) -> Option<&[u8]> {
    let (header, message) = bytes.split_first_chunk::<HEADER_LEN>()?;
    let [HANDSHAKE, _, _, _, low] = header else { return None };
    let is_complete = usize::from(fragment_len(header, *low)?) == message.len()
        && message.first() == Some(&CLIENT_HELLO)
        && handshake::message_len(message).ok()? == Some(message.len())
        && message.get(handshake::HEADER_LEN).is_some_and(|major| is_major(*major));
    is_complete.then_some(message)
}

/// The sender of these bytes, if a record with a hello starts here.
pub(crate) fn hello_sender(bytes: &[u8]) -> Option<Side> {
    if probe(bytes) != Probe::Yes {
        return None;
    }
    match bytes.get(HEADER_LEN)? {
        &SERVER_HELLO => Some(Side::Server),
        _ => Some(Side::Client),
    }
}

impl Stop {
    /// Whether the error was a hello without a mandatory field.
    pub(crate) fn is_unreadable_hello(&self) -> bool {
        matches!(self.error, Some(TlsError::Truncated { .. } | TlsError::TooLong { .. }))
    }
}

impl RecordReader {
    /// Creates a reader after `position` bytes that were a record with a ClientHello.
    pub(crate) fn after_hello(position: usize, early_data: bool) -> Self {
        Self { position, early_data, hellos: 1, ..Self::default() }
    }

    /// Whether the reader has read nothing.
    pub(crate) fn is_new(&self) -> bool {
        self.position == 0
    }

    /// Returns the memory used by an incomplete message, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.joiner.buffered_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn distinguishes_hello_record_from_lookalikes() {
        let complete = record();
        for len in 0..PROBE_LEN {
            assert_eq!(probe(&complete[..len]), Probe::Unsure, "{len} bytes");
        }
        assert_eq!(probe(&complete), Probe::Yes);
        // The addresses 22.3.1.64 and 1.1.0.8, and two ports.
        assert_eq!(probe(&[22, 3, 1, 64, 1, 1, 0, 8, 0x9c, 0x40, 1, 0xbb]), Probe::No);
        for (index, byte, expected) in [
            (1, 2, Probe::No),
            (2, 5, Probe::Yes),
            (2, 0x10, Probe::Yes),
            (3, 0x49, Probe::No),
            (5, 3, Probe::No),
            (6, 3, Probe::No),
            (9, 4, Probe::No),
            (9, 0x7f, Probe::Yes),
        ] {
            let mut bytes = complete.clone();
            bytes[index] = byte;
            assert_eq!(probe(&bytes), expected, "byte {index}");
        }
        let in_records_of_a_byte = [22, 3, 3, 0, 1, 1, 22, 3, 3, 0, 1, 0];
        assert_eq!(probe(&in_records_of_a_byte), Probe::Yes);
        assert_eq!(probe(&in_records_of_a_byte[..5]), Probe::Unsure);
    }

    #[test]
    fn probe_first_accepts_any_record_version() {
        let mut bytes = record();
        bytes[1] = 2;
        for len in 0..PROBE_LEN {
            assert_eq!(probe_first(&bytes[..len]), Probe::Unsure, "{len} bytes");
        }
        assert_eq!(probe_first(&bytes), Probe::Yes);
        assert_eq!(probe_first(&[22, 2, 0, 0, 1, 1, 22, 2, 0, 0, 1, 0]), Probe::No);
        assert_eq!(probe_first(&[22, 3, 0, 0, 1, 1]), Probe::Yes);
        assert_eq!(probe_first(b"GET /"), Probe::No);
    }
}
