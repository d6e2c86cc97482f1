//! TLS records (RFC 8446, section 5.1): a type, a version, a length of two bytes, a fragment.

use huginn_net_core::Side;

use crate::handshake::{self, CLIENT_HELLO, MessageJoiner, SERVER_HELLO};
use crate::hello::Hello;
use crate::{TlsError, Transport};

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

/// The major version of a record (RFC 8446, section 5.1).
const MAJOR: u8 = 3;

/// What a record of a handshake begins with.
pub(crate) const BEGINNING: [u8; 2] = [HANDSHAKE, MAJOR];

/// As many bytes tell whether a hello begins: the header of a record, that of a message, half of its version.
const PROBE_LEN: usize = HEADER_LEN + handshake::HEADER_LEN + 1;

/// Whether these bytes begin with a record in which a hello begins: its header, and behind it, as far as they are in
/// this record, the header and the version of a hello.
pub(crate) fn probe(bytes: &[u8]) -> Probe {
    let announced = match bytes {
        [_, _, _, _, low, ..] => fragment_len(bytes, *low),
        _ => Some(1),
    };
    let Some(in_record) = announced.map(usize::from) else { return Probe::No };
    let wanted = HEADER_LEN.saturating_add(in_record).min(PROBE_LEN);
    let head = bytes.get(..wanted).unwrap_or(bytes);
    let may_be = |place: usize, test: fn(u8) -> bool| head.get(place).is_none_or(|byte| test(*byte));
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

/// Whether a hello's version begins with this byte. The drafts of TLS 1.3 had 7f in the ServerHello.
const fn is_major(byte: u8) -> bool {
    matches!(byte, 3 | 0x7f)
}

/// Like [`probe`], at the first byte of a stream: there the version of the record says nothing (RFC 8446, section 5.1),
/// if that of the hello stands in the same record.
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

/// The first bytes, with zeros for those that are not there.
pub(crate) fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut head = [0; N];
    head.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    head
}

/// Whether these bytes begin with the header of a record of a handshake.
pub(crate) fn handshake_header(bytes: &[u8]) -> Probe {
    match bytes {
        [] => Probe::Unsure,
        [HANDSHAKE, ..] if bytes.len() < HEADER_LEN => Probe::Unsure,
        [HANDSHAKE, _, _, _, low, ..] if fragment_len(bytes, *low).is_some() => Probe::Yes,
        _ => Probe::No,
    }
}

/// The fragment of the first record, as much of it as is there.
pub(crate) fn first_fragment(bytes: &[u8]) -> &[u8] {
    let (header, rest) = bytes.split_at_checked(HEADER_LEN).unwrap_or_default();
    let len = header.last().and_then(|low| fragment_len(header, *low)).map_or(0, usize::from);
    rest.get(..len).unwrap_or(rest)
}

/// The message, if these bytes are the first of a stream, and one record with one ClientHello.
pub(crate) fn only_client_hello(bytes: &[u8]) -> Option<&[u8]> {
    let (header, message) = bytes.split_first_chunk::<HEADER_LEN>()?;
    let [HANDSHAKE, _, _, _, low] = header else { return None };
    let is_whole = usize::from(fragment_len(header, *low)?) == message.len()
        && message.first() == Some(&CLIENT_HELLO)
        && handshake::message_len(message).ok()? == Some(message.len())
        && message.get(handshake::HEADER_LEN).is_some_and(|major| is_major(*major));
    is_whole.then_some(message)
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

/// Hellos read of one side: a handshake has two at most (RFC 8446, section 4.1.4), and where one fails another may
/// follow it.
const MAX_HELLOS: u8 = 4;

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
    /// Whether no other records may come.
    handshake_only: bool,
    hellos: u8,
    /// Bytes taken.
    position: usize,
}

/// Why no further hello can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// As many bytes of the last ones need not be looked at again.
    pub(crate) taken: usize,
    /// What was found there; nothing, if there were as many hellos as are read.
    pub(crate) error: Option<TlsError>,
}

impl Stop {
    /// Whether it was a hello that does not hold what it must.
    pub(crate) fn is_unreadable_hello(&self) -> bool {
        matches!(self.error, Some(TlsError::Truncated { .. } | TlsError::TooLong { .. }))
    }
}

impl RecordReader {
    /// A reader to which every record that is none of a handshake is an error.
    pub(crate) fn of_handshake_only() -> Self {
        Self { handshake_only: true, ..Self::default() }
    }

    /// A reader of so many bytes, which were a record with a ClientHello.
    pub(crate) fn behind_hello(position: usize, early_data: bool) -> Self {
        Self { position, early_data, hellos: 1, ..Self::default() }
    }

    /// Takes the next bytes and hands on the hellos that are now whole.
    ///
    /// # Errors
    /// Something that no hello can come after, or that is no record, or the last of as many hellos as are read.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        each: &mut (impl FnMut(Hello<'_>) + ?Sized),
    ) -> Result<(), Stop> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = bytes.len().saturating_sub(rest.len());
            if self.missing == 0 {
                rest = self.read_header(rest).map_err(|error| Stop { taken, error: Some(error) })?;
            } else {
                let (fragment, after) =
                    rest.split_at_checked(usize::from(self.missing)).unwrap_or((rest, &[]));
                let taken = taken.saturating_add(fragment.len());
                self.read_fragment(fragment, each).map_err(|error| Stop { taken, error: Some(error) })?;
                if self.hellos >= MAX_HELLOS {
                    return Err(Stop { taken, error: None });
                }
                rest = after;
            }
        }
        Ok(())
    }

    /// Whether it has taken nothing.
    pub(crate) fn is_new(&self) -> bool {
        self.position == 0
    }

    /// The memory that a message not yet whole takes up, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.joiner.held()
    }

    fn read_header<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], TlsError> {
        let have = usize::from(self.header_len);
        let room = self.header.get_mut(have..).unwrap_or_default();
        let take = room.len().min(bytes.len());
        let (head, rest) = bytes.split_at_checked(take).unwrap_or((bytes, &[]));
        for (place, byte) in room.iter_mut().zip(head) {
            *place = *byte;
        }
        self.position = self.position.saturating_add(take);
        let have = have.saturating_add(take);
        self.header_len = u8::try_from(have).unwrap_or_default();
        if have < HEADER_LEN {
            return Ok(rest);
        }
        self.header_len = 0;
        let [kind, _, _, _, low] = self.header;
        let wanted = match kind {
            HANDSHAKE => true,
            CHANGE_CIPHER_SPEC | ALERT => !self.handshake_only,
            APPLICATION_DATA => self.early_data && !self.handshake_only,
            _ => false,
        };
        self.missing = fragment_len(&self.header, low).filter(|_| wanted).ok_or(TlsError::NotRecord {
            offset: self.position.saturating_sub(HEADER_LEN),
            header: self.header,
        })?;
        Ok(rest)
    }

    /// Reads a fragment, or a part of one.
    fn read_fragment(
        &mut self,
        fragment: &[u8],
        each: &mut (impl FnMut(Hello<'_>) + ?Sized),
    ) -> Result<(), TlsError> {
        self.position = self.position.saturating_add(fragment.len());
        self.missing = self.missing.saturating_sub(u16::try_from(fragment.len()).unwrap_or(u16::MAX));
        let [kind, ..] = self.header;
        if kind != HANDSHAKE {
            return Ok(());
        }
        let mut outcome = Ok(());
        let Self { joiner, early_data, hellos, .. } = self;
        let joined = joiner.push(fragment, &mut |message| {
            if *hellos >= MAX_HELLOS || outcome.is_err() {
                return;
            }
            match Hello::from_message(message, Transport::Tcp) {
                Ok(hello) => {
                    *hellos = hellos.saturating_add(1);
                    *early_data |= hello.announces_early_data();
                    each(hello);
                }
                Err(error) => outcome = Err(error),
            }
        });
        outcome.and(joined)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A hello of the least size, in a record.
    pub(crate) fn record() -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 0x01, 1, 0]);
        let message = [&[CLIENT_HELLO, 0, 0, u8::try_from(body.len()).unwrap()][..], &body].concat();
        [&[HANDSHAKE, 3, 1, 0, u8::try_from(message.len()).unwrap()][..], &message].concat()
    }

    #[test]
    fn the_reader_passes_warnings_and_ends_at_what_no_hello_can_follow() {
        let record = record();
        let warned =
            [&[ALERT, 3, 1, 0, 2, 1, 112][..], &record, &[CHANGE_CIPHER_SPEC, 3, 3, 0, 1, 1], &record]
                .concat();
        let header = [APPLICATION_DATA, 3, 3, 0, 1];
        let data = [&record[..], &header, &[0], &record].concat();
        let error = TlsError::NotRecord { offset: record.len(), header };
        let stop = Stop { taken: record.len(), error: Some(error) };
        for (bytes, hellos, end) in [(&warned, 2, Ok(())), (&data, 1, Err(stop))] {
            let mut found = 0;
            assert_eq!(RecordReader::default().push(bytes, &mut |_| found += 1), end);
            assert_eq!(found, hellos);
        }
    }

    #[test]
    fn hellos_without_end_are_not_read_without_end() {
        let record = record();
        let message = &record[HEADER_LEN..];
        let len = u16::try_from(message.len() * 100).unwrap().to_be_bytes();
        let in_one_record = [&[HANDSHAKE, 3, 3][..], &len, &message.repeat(100)].concat();
        for bytes in [record.repeat(100), in_one_record] {
            let mut found = 0;
            let stop = RecordReader::default().push(&bytes, &mut |_| found += 1).unwrap_err();
            assert_eq!((found, stop.error), (MAX_HELLOS, None));
        }
    }

    #[test]
    fn a_record_with_a_hello_is_told_from_what_looks_like_one() {
        let whole = record();
        for len in 0..PROBE_LEN {
            assert_eq!(probe(&whole[..len]), Probe::Unsure, "{len} bytes");
        }
        assert_eq!(probe(&whole), Probe::Yes);
        // The addresses 22.3.1.64 and 1.1.0.8, and two ports.
        assert_eq!(probe(&[22, 3, 1, 64, 1, 1, 0, 8, 0x9c, 0x40, 1, 0xbb]), Probe::No);
        for (place, byte, expected) in [
            (1, 2, Probe::No),
            (2, 5, Probe::Yes),
            (2, 0x10, Probe::Yes),
            (3, 0x49, Probe::No),
            (5, 3, Probe::No),
            (6, 3, Probe::No),
            (9, 4, Probe::No),
            (9, 0x7f, Probe::Yes),
        ] {
            let mut bytes = whole.clone();
            bytes[place] = byte;
            assert_eq!(probe(&bytes), expected, "byte {place}");
        }
        let in_records_of_a_byte = [22, 3, 3, 0, 1, 1, 22, 3, 3, 0, 1, 0];
        assert_eq!(probe(&in_records_of_a_byte), Probe::Yes);
        assert_eq!(probe(&in_records_of_a_byte[..5]), Probe::Unsure);
    }

    #[test]
    fn at_the_first_byte_any_version_of_a_record_will_do_if_the_hello_is_seen_behind_it() {
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
