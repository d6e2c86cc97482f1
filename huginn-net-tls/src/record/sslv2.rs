//! The SSL 2.0 hello, in which old clients also offer TLS (RFC 5246, appendix E.2).

use huginn_net_wire::Cursor;

use super::Probe;
use crate::hello::handshake::CLIENT_HELLO;

/// Length of an SSL 2.0 record header with its high bit set, in bytes.
const RECORD_HEADER_LEN: usize = 2;
/// Length of a cipher spec, in bytes.
const SPEC_LEN: usize = 3;
/// Length of a TLS random, in bytes.
const RANDOM_LEN: usize = 32;

/// Judges whether these bytes start with a record that contains an SSL 2.0 hello.
pub(crate) fn probe(bytes: &[u8]) -> Probe {
    let tests: [fn(u8) -> bool; 5] = [
        |high| high & 0x80 != 0,
        |_| true,
        |kind| kind == CLIENT_HELLO,
        |major| matches!(major, 0 | 3),
        |minor| minor <= 4,
    ];
    match bytes.iter().zip(tests).all(|(byte, test)| test(*byte)) {
        false => Probe::No,
        true if bytes.len() < tests.len() => Probe::Unsure,
        true => Probe::Yes,
    }
}

/// The length of the record at the start of these bytes, including its header.
pub(crate) fn record_len(bytes: &[u8]) -> Option<usize> {
    let [high, low] = bytes.first_chunk()?;
    let len = usize::from(u16::from_be_bytes([high & 0x7f, *low]));
    Some(len.saturating_add(RECORD_HEADER_LEN))
}

/// Converts the hello of a record to an equivalent TLS ClientHello: the challenge becomes the right-aligned random, and
/// the cipher specs known to TLS become cipher suites. There are no extensions.
pub(crate) fn to_message(record: &[u8]) -> Option<Vec<u8>> {
    let mut cursor = Cursor::new(record.get(..record_len(record)?)?);
    cursor.skip(RECORD_HEADER_LEN).ok()?;
    let [kind, major, minor] = cursor.array().ok()?;
    let specs_len = cursor.u16_be().ok()?;
    let session_id_len = cursor.u16_be().ok()?;
    let challenge_len = cursor.u16_be().ok()?;
    let specs = cursor.take(usize::from(specs_len)).ok()?;
    let session_id = cursor.take(usize::from(session_id_len)).ok()?;
    let challenge = cursor.take(usize::from(challenge_len)).ok()?;
    let zeros = RANDOM_LEN.checked_sub(challenge.len())?;
    if kind != CLIENT_HELLO || specs.is_empty() || specs.len() % SPEC_LEN != 0 || !cursor.is_empty() {
        return None;
    }
    let suites: Vec<u8> =
        specs.chunks(SPEC_LEN).filter_map(|spec| spec.strip_prefix(&[0])).flatten().copied().collect();
    let mut body = vec![major, minor];
    body.extend(std::iter::repeat_n(0, zeros));
    body.extend_from_slice(challenge);
    body.push(u8::try_from(session_id.len()).ok()?);
    body.extend_from_slice(session_id);
    body.extend_from_slice(&u16::try_from(suites.len()).ok()?.to_be_bytes());
    body.extend_from_slice(&suites);
    body.extend_from_slice(&[1, 0]);
    let [_, len @ ..] = u32::try_from(body.len()).ok()?.to_be_bytes();
    Some([&[CLIENT_HELLO], &len[..], &body].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientHello, Transport};

    /// Built by hand from RFC 5246, appendix E.2: TLS 1.0, three TLS suites, one SSL 2.0 suite and a challenge of 16
    /// bytes.
    fn record() -> Vec<u8> {
        let specs = [0, 0, 0x35, 0x01, 0, 0x80, 0, 0, 0x0a, 0, 0, 0xff];
        [&[0x80, 37, 1, 3, 1, 0, 12, 0, 0, 0, 16], &specs[..], &[0xc5; 16]].concat()
    }

    #[test]
    fn converts_to_equivalent_tls_hello() {
        let message = to_message(&record()).unwrap();
        let hello = ClientHello::parse_message(&message, Transport::Tls).unwrap();
        assert_eq!(hello.cipher_suites().collect::<Vec<_>>(), [0x0035, 0x000a, 0x00ff]);
        assert_eq!((hello.version().ja4(), hello.extensions().count()), ("10", 0));
        assert_eq!(hello.random(), [[0; 16], [0xc5; 16]].concat());
        assert!(hello.is_well_formed());
    }

    #[test]
    fn rejects_contradictory_lengths() {
        for (position, value) in [(1, 36), (6, 11), (6, 13), (6, 0), (8, 1), (10, 17), (10, 33), (2, 4)] {
            let mut record = record();
            record[position] = value;
            assert_eq!(to_message(&record), None, "byte {position}");
        }
        for len in 0..record().len() {
            assert_eq!(to_message(&record()[..len]), None, "cut after {len} bytes");
        }
    }
}
