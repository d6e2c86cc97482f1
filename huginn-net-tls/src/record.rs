//! TLS records (RFC 8446, section 5.1): a type, a version, a length of two bytes, a fragment.

use std::borrow::Cow;

use huginn_net_core::{Cursor, Side};

use crate::handshake::{self, CLIENT_HELLO, MessageJoiner, SERVER_HELLO};
use crate::hello::Hello;
use crate::{ClientHello, Error, Transport, sslv2};

/// Content types (IANA, "TLS ContentType").
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
pub(crate) const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// Bytes of a record before its fragment.
pub(crate) const HEADER_LEN: usize = 5;
/// The longest fragment, encrypted or not (RFC 5246, section 6.2.3).
const MAX_FRAGMENT: u16 = (1 << 14) + 2048;

/// Whether a record with a hello begins here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// It does.
    Yes,
    /// So far; there are too few bytes to tell.
    Unsure,
    /// It does not.
    No,
}

/// Whether these bytes begin with a record in which a hello begins: its header, and the type of the message.
pub(crate) fn probe(bytes: &[u8]) -> Probe {
    let tests: [fn(&[u8], u8) -> bool; HEADER_LEN + 1] = [
        |_, byte| byte == HANDSHAKE,
        |_, major| major == 3,
        |_, minor| minor <= 4,
        |_, _| true,
        |bytes, low| fragment_len(bytes, low).is_some(),
        |_, kind| matches!(kind, CLIENT_HELLO | SERVER_HELLO),
    ];
    match bytes.iter().zip(tests).all(|(byte, test)| test(bytes, *byte)) {
        false => Probe::No,
        true if bytes.len() < tests.len() => Probe::Unsure,
        true => Probe::Yes,
    }
}

/// Who sent these bytes, if a record with a hello begins here.
pub(crate) fn hello_sender(bytes: &[u8]) -> Option<Side> {
    if probe(bytes) != Probe::Yes {
        return None;
    }
    match bytes.get(HEADER_LEN)? {
        &SERVER_HELLO => Some(Side::Server),
        _ => Some(Side::Client),
    }
}

/// The length of a fragment, of whose two bytes the second is `low`; none if there is no such record.
fn fragment_len(header: &[u8], low: u8) -> Option<u16> {
    let len = u16::from_be_bytes([*header.get(3)?, low]);
    (1..=MAX_FRAGMENT).contains(&len).then_some(len)
}

/// Reads hellos out of records, however they and the records are cut.
#[derive(Debug, Default)]
pub(crate) struct RecordReader {
    header: [u8; HEADER_LEN],
    header_len: u8,
    /// Bytes of the fragment that are still to come.
    missing: u16,
    joiner: MessageJoiner,
    /// Whether application data may come before another hello: the ClientHello announced early data.
    early_data: bool,
}

impl RecordReader {
    /// Takes the next bytes and hands on the hellos that are now whole.
    ///
    /// # Errors
    /// Something that no hello can come after, or that is no record, with how many bytes need not be looked at again.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        each: &mut (impl FnMut(Hello<'_>) + ?Sized),
    ) -> Result<(), usize> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = bytes.len().saturating_sub(rest.len());
            if self.missing == 0 {
                rest = self.read_header(rest).map_err(|()| taken)?;
            } else {
                let (fragment, after) =
                    rest.split_at_checked(usize::from(self.missing)).unwrap_or((rest, &[]));
                self.read_fragment(fragment, each).map_err(|_| taken.saturating_add(fragment.len()))?;
                rest = after;
            }
        }
        Ok(())
    }

    /// The memory that a message not yet whole takes up, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.joiner.held()
    }

    fn read_header<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], ()> {
        let have = usize::from(self.header_len);
        let room = self.header.get_mut(have..).unwrap_or_default();
        let take = room.len().min(bytes.len());
        let (head, rest) = bytes.split_at_checked(take).unwrap_or((bytes, &[]));
        for (place, byte) in room.iter_mut().zip(head) {
            *place = *byte;
        }
        let have = have.saturating_add(take);
        self.header_len = u8::try_from(have).unwrap_or_default();
        if have < HEADER_LEN {
            return Ok(rest);
        }
        self.header_len = 0;
        let [kind, major, _, _, low] = self.header;
        let wanted = match kind {
            HANDSHAKE | CHANGE_CIPHER_SPEC | ALERT => true,
            APPLICATION_DATA => self.early_data,
            _ => false,
        };
        self.missing = fragment_len(&self.header, low).filter(|_| wanted && major == 3).ok_or(())?;
        Ok(rest)
    }

    /// Reads a fragment, or a part of one.
    fn read_fragment(
        &mut self,
        fragment: &[u8],
        each: &mut (impl FnMut(Hello<'_>) + ?Sized),
    ) -> Result<(), Error> {
        self.missing = self.missing.saturating_sub(u16::try_from(fragment.len()).unwrap_or(u16::MAX));
        let [kind, ..] = self.header;
        if kind != HANDSHAKE {
            return Ok(());
        }
        let mut outcome = Ok(());
        let early_data = &mut self.early_data;
        self.joiner.push(fragment, &mut |message| match Hello::from_message(message, Transport::Tcp) {
            Ok(hello) => {
                *early_data |= hello.announces_early_data();
                each(hello);
            }
            Err(error) => outcome = Err(error),
        })?;
        outcome
    }
}

impl<'a> ClientHello<'a> {
    /// Reads the ClientHello at the beginning of a TLS stream, as a proxy has it: one or more records, of which the
    /// first may also be one of SSL 2.0. Bytes behind the message are left alone.
    ///
    /// Gives nothing, and no error, where more bytes are needed.
    ///
    /// ```
    /// use huginn_net_tls::ClientHello;
    ///
    /// // What curl with OpenSSL sends.
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/curl-openssl.bin"));
    /// let hello = ClientHello::from_records(bytes)?.expect("a whole hello");
    /// assert_eq!(hello.server_name(), Some(&b"www.example.test"[..]));
    /// assert!(ClientHello::from_records(&bytes[..200])?.is_none());
    /// assert!(ClientHello::from_records(b"GET / HTTP/1.1").is_err());
    /// # Ok::<(), huginn_net_tls::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bytes that are no records of a handshake, or hold another message.
    pub fn from_records(bytes: &'a [u8]) -> Result<Option<Self>, Error> {
        if sslv2::probe(bytes) == Probe::Yes {
            return from_sslv2(bytes);
        }
        let mut cursor = Cursor::new(bytes);
        let mut joined = Cow::Borrowed(&[][..]);
        loop {
            let Some(fragment) = next_fragment(&mut cursor)? else { return Ok(None) };
            if joined.is_empty() {
                joined = Cow::Borrowed(fragment);
            } else {
                joined.to_mut().extend_from_slice(fragment);
            }
            if handshake::message_len(&joined)?.is_some_and(|len| joined.len() >= len) {
                return match joined {
                    Cow::Borrowed(message) => Self::from_message(message, Transport::Tcp).map(Some),
                    Cow::Owned(message) => ClientHello::from_message(&message, Transport::Tcp)
                        .map(|hello| Some(hello.into_owned())),
                };
            }
        }
    }
}

/// The first hello of SSL 2.0 in a stream that begins with one.
fn from_sslv2<'a>(bytes: &[u8]) -> Result<Option<ClientHello<'a>>, Error> {
    if sslv2::record_len(bytes).is_none_or(|len| bytes.len() < len) {
        return Ok(None);
    }
    let message = sslv2::to_message(bytes).ok_or_else(|| not_record(0, bytes))?;
    ClientHello::from_message(&message, Transport::Tcp).map(|hello| Some(hello.into_owned()))
}

/// The fragment of the next record of a handshake, as much of it as is there.
fn next_fragment<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Error> {
    let (offset, bytes) = (cursor.position(), cursor.rest());
    if probe(bytes.get(..HEADER_LEN).unwrap_or(bytes)) == Probe::No {
        return Err(not_record(offset, bytes));
    }
    let Ok(header) = cursor.array::<HEADER_LEN>() else { return Ok(None) };
    let [_, _, _, _, low] = header;
    let len = fragment_len(&header, low).map_or(0, usize::from).min(cursor.remaining());
    Ok(cursor.take(len).ok().filter(|fragment| !fragment.is_empty()))
}

fn not_record(offset: usize, bytes: &[u8]) -> Error {
    let mut header = [0; HEADER_LEN];
    for (place, byte) in header.iter_mut().zip(bytes) {
        *place = *byte;
    }
    Error::NotRecord { offset, header }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hello of the least size, in a record.
    fn record() -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 0x01, 1, 0]);
        let message = [&[CLIENT_HELLO, 0, 0, u8::try_from(body.len()).unwrap()][..], &body].concat();
        [&[HANDSHAKE, 3, 1, 0, u8::try_from(message.len()).unwrap()][..], &message].concat()
    }

    /// The same message in records of `step` bytes.
    fn cut(record: &[u8], step: usize) -> Vec<u8> {
        record[HEADER_LEN..]
            .chunks(step)
            .flat_map(|part| [&[HANDSHAKE, 3, 3, 0, u8::try_from(part.len()).unwrap()][..], part].concat())
            .collect()
    }

    #[test]
    fn a_hello_is_read_from_records_however_they_are_cut_and_more_is_asked_for_while_it_is_not_whole() {
        let record = record();
        let whole = ClientHello::from_records(&record).unwrap().unwrap();
        for step in 1..record.len() {
            let bytes = cut(&record, step);
            assert_eq!(
                ClientHello::from_records(&bytes).unwrap(),
                Some(whole.clone()),
                "in records of {step}"
            );
            for len in 0..bytes.len() {
                assert_eq!(
                    ClientHello::from_records(&bytes[..len]),
                    Ok(None),
                    "{len} bytes in records of {step}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_handshake_is_said_to_be_none_at_its_first_byte() {
        let alert = [&cut(&record(), 20)[..25], &[21, 3, 3, 0, 2, 1, 0]].concat();
        let cases: [(&[u8], usize); 4] =
            [(b"G", 0), (b"\x16\x03\x05", 0), (b"\x16\x03\x01\xff\xff", 0), (&alert, 25)];
        for (bytes, place) in cases {
            let error = ClientHello::from_records(bytes).unwrap_err();
            assert!(matches!(error, Error::NotRecord { offset, .. } if offset == place), "{error}");
        }
    }

    #[test]
    fn the_reader_passes_warnings_and_ends_at_what_no_hello_can_follow() {
        let record = record();
        let warned =
            [&[ALERT, 3, 1, 0, 2, 1, 112][..], &record, &[CHANGE_CIPHER_SPEC, 3, 3, 0, 1, 1], &record]
                .concat();
        let data = [&record[..], &[APPLICATION_DATA, 3, 3, 0, 1, 0], &record].concat();
        for (bytes, hellos, end) in [(&warned, 2, Ok(())), (&data, 1, Err(record.len()))] {
            let mut found = 0;
            assert_eq!(RecordReader::default().push(bytes, &mut |_| found += 1), end);
            assert_eq!(found, hellos);
        }
    }
}
