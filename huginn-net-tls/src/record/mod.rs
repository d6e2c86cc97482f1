//! TLS records (RFC 8446, section 5.1): a type, a version, a two-byte length and a fragment.

mod hello_reader;
#[cfg(feature = "packets")]
pub(crate) mod hello_search;
#[cfg(feature = "packets")]
mod probe;
mod sslv2;

pub use self::hello_reader::HelloReader;
#[cfg(feature = "packets")]
pub(crate) use self::probe::{RECORD_START, hello_sender, only_client_hello, probe, probe_first};

use crate::hello::Hello;
use crate::hello::handshake::{CLIENT_HELLO, MessageJoiner, SERVER_HELLO};
#[cfg(feature = "packets")]
use crate::hello::handshake::{Messages, is_too_long};
use crate::limits::{MAX_HELLOS_PER_SIDE, MAX_IDLE_RECORDS};
use crate::{TlsError, Transport};

/// Content types (IANA, "TLS ContentType").
pub(crate) const CHANGE_CIPHER_SPEC: u8 = 20;
pub(crate) const ALERT: u8 = 21;
pub(crate) const HANDSHAKE: u8 = 22;
pub(crate) const APPLICATION_DATA: u8 = 23;

/// Length of a record header, in bytes.
pub(crate) const HEADER_LEN: usize = 5;
/// Maximum length of a fragment, encrypted or not (RFC 5246, section 6.2.3), in bytes.
const MAX_FRAGMENT: u16 = (1 << 14) + 2048;

/// Whether bytes start with a record that contains a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// The bytes start with such a record.
    Yes,
    /// The decision needs more bytes.
    Unsure,
    /// The bytes do not start with such a record.
    No,
}

/// The first bytes, padded with zeros.
pub(crate) fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut head = [0; N];
    head.iter_mut().zip(bytes).for_each(|(target, byte)| *target = *byte);
    head
}

/// Whether these bytes start with the header of a handshake record.
pub(crate) fn handshake_header(bytes: &[u8]) -> Probe {
    match bytes {
        [] => Probe::Unsure,
        [HANDSHAKE, ..] if bytes.len() < HEADER_LEN => Probe::Unsure,
        [HANDSHAKE, _, _, _, low, ..] if fragment_len(bytes, *low).is_some() => Probe::Yes,
        _ => Probe::No,
    }
}

/// Whether these bytes start with a record with an alert in the clear (RFC 8446, section 6).
#[cfg(feature = "packets")]
pub(crate) fn probe_alert(bytes: &[u8]) -> Probe {
    match bytes {
        [ALERT, 3, _, 0, 2, 1 | 2, ..] => Probe::Yes,
        [] | [ALERT] | [ALERT, 3] | [ALERT, 3, _] | [ALERT, 3, _, 0] | [ALERT, 3, _, 0, 2] => Probe::Unsure,
        _ => Probe::No,
    }
}

/// The available part of the first record's fragment.
pub(crate) fn first_fragment(bytes: &[u8]) -> &[u8] {
    let (header, rest) = bytes.split_at_checked(HEADER_LEN).unwrap_or_default();
    let len = header.last().and_then(|low| fragment_len(header, *low)).map_or(0, usize::from);
    rest.get(..len).unwrap_or(rest)
}

/// The length of a fragment whose second length byte is `low`; `None` if no valid record has it. A record may be empty:
/// RFC 8446, section 5.1, forbids that, but OpenSSL accepts it.
fn fragment_len(header: &[u8], low: u8) -> Option<u16> {
    let len = u16::from_be_bytes([*header.get(3)?, low]);
    (len <= MAX_FRAGMENT).then_some(len)
}

/// A part of a handshake in records.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "packets"),
    expect(dead_code, reason = "only handshakes that are followed have them")
)]
pub(crate) enum Item<'a> {
    Hello(Hello<'a>),
    /// Another message in the clear, including its header.
    Message(&'a [u8]),
    /// The type of another message in the clear that is too long to be read.
    TooLong(u8),
    /// The level and the description of an alert in the clear.
    Alert([u8; 2]),
    ChangeCipherSpec,
    /// The content type of an encrypted record, and the length of its fragment.
    Encrypted(u8, u16),
    /// A record of DTLS 1.3 whose epoch shows that its sender has sent its Finished message.
    Finished,
}

/// What a reader of the client needs to know of the server's hello.
#[cfg(feature = "packets")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerHelloFacts {
    pub(crate) is_retry_request: bool,
    pub(crate) is_tls13: bool,
    /// Whether the client owes a second hello.
    pub(crate) awaits_hello: bool,
}

/// What a reader knows of the encryption of its side, if it follows a handshake after the hellos.
#[derive(Clone, Copy, Debug, Default)]
struct Following {
    /// Whether the server accepted a handshake, so that encrypted records may follow.
    agreed: bool,
    /// Whether a ChangeCipherSpec changes nothing, because another hello follows (RFC 8446, section D.4).
    awaits_hello: bool,
    /// Whether the records after a ChangeCipherSpec are encrypted, as up to TLS 1.2.
    encrypted: bool,
    /// Whether a ChangeCipherSpec changes nothing, as in TLS 1.3, where only records of application data are encrypted.
    is_tls13: bool,
    /// The level of an alert whose description is in the next piece.
    alert_level: Option<u8>,
}

/// Reads hellos from records, in pieces of any size. It can follow the handshake after them.
#[derive(Debug, Default)]
pub(crate) struct RecordReader {
    header: [u8; HEADER_LEN],
    header_len: u8,
    /// Remaining bytes of the fragment.
    missing: u16,
    joiner: MessageJoiner,
    /// Whether application data may precede another hello, because the ClientHello announced early data.
    early_data: bool,
    /// Whether only handshake records are allowed.
    handshake_only: bool,
    hellos: u8,
    following: Option<Following>,
    /// Records in a row without handshake bytes, before the first hello.
    idle_records: u8,
    /// Bytes read.
    position: usize,
}

/// The reason why no further hello follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Number of the last bytes that need not be searched again.
    pub(crate) taken: usize,
    /// The error; `None` if the limit of hellos was reached.
    pub(crate) error: Option<TlsError>,
}

impl RecordReader {
    /// Creates a reader that rejects all records except handshake records.
    pub(crate) fn handshake_only() -> Self {
        Self { handshake_only: true, ..Self::default() }
    }

    /// Follows the handshake after the hellos.
    #[cfg(feature = "packets")]
    pub(crate) fn follow(&mut self) {
        self.following = Some(Following::default());
        self.joiner.accept(Messages::FromServerHello);
    }

    /// Processes the server's hello, which the reader of the client does not see.
    #[cfg(feature = "packets")]
    pub(crate) fn on_server_hello(&mut self, hello: ServerHelloFacts) {
        let Some(following) = &mut self.following else { return };
        following.awaits_hello = hello.awaits_hello;
        if hello.is_retry_request {
            following.encrypted = false;
        } else {
            (following.agreed, following.is_tls13) = (true, hello.is_tls13);
            self.joiner.accept(Messages::All);
        }
    }

    /// Parses the next bytes and emits complete hellos, and what follows them if the reader follows the handshake.
    ///
    /// # Errors
    /// [`Stop`] after data that no hello can follow, invalid records, or the maximum number of hellos.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        each: &mut (impl FnMut(Item<'_>) + ?Sized),
    ) -> Result<(), Stop> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = bytes.len().saturating_sub(rest.len());
            if self.missing == 0 {
                rest = self.read_header(rest, each).map_err(|error| Stop { taken, error: Some(error) })?;
            } else {
                let (fragment, after) =
                    rest.split_at_checked(usize::from(self.missing)).unwrap_or((rest, &[]));
                let taken = taken.saturating_add(fragment.len());
                self.read_fragment(fragment, each).map_err(|error| Stop { taken, error: Some(error) })?;
                if self.hellos >= MAX_HELLOS_PER_SIDE {
                    return Err(Stop { taken, error: None });
                }
                rest = after;
            }
        }
        Ok(())
    }

    fn read_header<'b>(
        &mut self,
        bytes: &'b [u8],
        each: &mut (impl FnMut(Item<'_>) + ?Sized),
    ) -> Result<&'b [u8], TlsError> {
        let have = usize::from(self.header_len);
        let room = self.header.get_mut(have..).unwrap_or_default();
        let take = room.len().min(bytes.len());
        let (head, rest) = bytes.split_at_checked(take).unwrap_or((bytes, &[]));
        for (target, byte) in room.iter_mut().zip(head) {
            *target = *byte;
        }
        self.position = self.position.saturating_add(take);
        let have = have.saturating_add(take);
        self.header_len = u8::try_from(have).unwrap_or_default();
        if have < HEADER_LEN {
            return Ok(rest);
        }
        self.header_len = 0;
        let [kind, _, _, _, low] = self.header;
        let agreed = self.following.is_some_and(|following| following.agreed);
        let wanted = match kind {
            HANDSHAKE => true,
            CHANGE_CIPHER_SPEC | ALERT => !self.handshake_only,
            APPLICATION_DATA => (self.early_data || agreed) && !self.handshake_only,
            _ => false,
        };
        self.idle_records = self.idle_records.saturating_add(1);
        let is_progressing = self.hellos > 0 || self.idle_records <= MAX_IDLE_RECORDS;
        let len = fragment_len(&self.header, low).filter(|_| wanted && is_progressing);
        self.missing = len.ok_or(TlsError::NotRecord {
            offset: self.position.saturating_sub(HEADER_LEN),
            header: self.header,
        })?;
        if self.is_encrypted() && kind != CHANGE_CIPHER_SPEC {
            each(Item::Encrypted(kind, self.missing));
        }
        Ok(rest)
    }

    /// Whether the current record is known to be encrypted.
    fn is_encrypted(&self) -> bool {
        let [kind, ..] = self.header;
        self.following
            .is_some_and(|following| following.encrypted || following.agreed && kind == APPLICATION_DATA)
    }

    /// Reads a fragment or a part of one.
    fn read_fragment(
        &mut self,
        fragment: &[u8],
        each: &mut (impl FnMut(Item<'_>) + ?Sized),
    ) -> Result<(), TlsError> {
        self.position = self.position.saturating_add(fragment.len());
        self.missing = self.missing.saturating_sub(u16::try_from(fragment.len()).unwrap_or(u16::MAX));
        let [kind, ..] = self.header;
        if kind != HANDSHAKE || self.is_encrypted() {
            self.follow_record(kind, fragment, each);
            return Ok(());
        }
        self.idle_records = 0;
        let mut outcome = Ok(());
        let Self { joiner, early_data, hellos, following, .. } = self;
        let joined = joiner.push(fragment, &mut |message| {
            if *hellos >= MAX_HELLOS_PER_SIDE || outcome.is_err() {
                return;
            }
            match message.first() {
                Some(&(CLIENT_HELLO | SERVER_HELLO)) => {}
                #[cfg(feature = "packets")]
                Some(kind) if is_too_long(message) => return each(Item::TooLong(*kind)),
                _ => return each(Item::Message(message)),
            }
            match Hello::from_message(message, Transport::Tls) {
                Ok(hello) => {
                    *hellos = hellos.saturating_add(1);
                    *early_data |= hello.has_early_data();
                    if let Some(following) = following {
                        following.on_hello(&hello);
                    }
                    each(Item::Hello(hello));
                }
                Err(error) => outcome = Err(error),
            }
        });
        outcome.and(joined)
    }

    /// Reads a fragment, or a part of one, of a record without handshake messages.
    fn follow_record(&mut self, kind: u8, fragment: &[u8], each: &mut (impl FnMut(Item<'_>) + ?Sized)) {
        let is_encrypted = self.is_encrypted();
        let Some(following) = &mut self.following else { return };
        match kind {
            CHANGE_CIPHER_SPEC if self.missing == 0 => {
                following.encrypted |= following.agreed && !following.awaits_hello && !following.is_tls13;
                each(Item::ChangeCipherSpec);
            }
            ALERT if !is_encrypted => {
                for byte in fragment {
                    match following.alert_level.take() {
                        Some(level) => each(Item::Alert([level, *byte])),
                        None => following.alert_level = Some(*byte),
                    }
                }
            }
            _ => {}
        }
    }
}

impl Following {
    /// Processes a hello of this side.
    fn on_hello(&mut self, hello: &Hello<'_>) {
        match hello {
            Hello::Client(_) => self.awaits_hello = false,
            Hello::Server(hello) if hello.is_retry_request() => self.awaits_hello = true,
            Hello::Server(hello) => {
                *self = Self { agreed: true, is_tls13: hello.encrypts_handshake(), ..Self::default() };
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::hello::handshake::CLIENT_HELLO;

    /// A hello of minimum size, in a record.
    pub(crate) fn record() -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 0x01, 1, 0]);
        let message = [&[CLIENT_HELLO, 0, 0, u8::try_from(body.len()).unwrap()][..], &body].concat();
        [&[HANDSHAKE, 3, 1, 0, u8::try_from(message.len()).unwrap()][..], &message].concat()
    }

    #[test]
    fn skips_warnings_and_ends_at_other_records() {
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
    fn empty_records_do_not_end_hello() {
        let record = record();
        let empty = [HANDSHAKE, 3, 3, 0, 0];
        let in_bytes = |between: &[u8]| {
            let records = record[HEADER_LEN..]
                .iter()
                .map(|byte| [&[HANDSHAKE, 3, 3, 0, 1, *byte][..], between].concat());
            [between, &records.collect::<Vec<_>>().concat()].concat()
        };
        for (between, hellos) in [
            (empty.repeat(32), 1),
            ([ALERT, 3, 3, 0, 2, 1, 90].repeat(5), 1),
            ([CHANGE_CIPHER_SPEC, 3, 3, 0, 1, 1].to_vec(), 1),
            (empty.repeat(65), 0),
        ] {
            for step in [1, 7, 100_000] {
                let (mut reader, mut found) = (RecordReader::default(), 0);
                let bytes = in_bytes(&between);
                let outcome =
                    bytes.chunks(step).try_for_each(|bytes| reader.push(bytes, &mut |_| found += 1));
                assert_eq!((found, outcome.is_ok()), (hellos, hellos > 0), "{between:?}");
            }
        }
    }

    #[test]
    fn hellos_per_side_are_limited() {
        let record = record();
        let message = &record[HEADER_LEN..];
        let len = u16::try_from(message.len() * 100).unwrap().to_be_bytes();
        let in_one_record = [&[HANDSHAKE, 3, 3][..], &len, &message.repeat(100)].concat();
        for bytes in [record.repeat(100), in_one_record] {
            let mut found = 0;
            let stop = RecordReader::default().push(&bytes, &mut |_| found += 1).unwrap_err();
            assert_eq!((found, stop.error), (MAX_HELLOS_PER_SIDE, None));
        }
    }
}
