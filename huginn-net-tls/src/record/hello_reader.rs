//! Reads the ClientHello at the start of a TLS stream.

use huginn_net_wire::Parsed;

use super::sslv2;
use crate::hello::{ClientHello, Hello, ServerHello, handshake};
use crate::record::{self, HEADER_LEN, Item, Probe, RecordReader};
use crate::{TlsError, Transport};

/// Reads the ClientHello at the start of a TLS stream from pieces of any size: one or more records, of which the first
/// may be an SSL 2.0 record.
///
/// Time is linear in the bytes pushed. Only an incomplete message is buffered, at most 131,680 bytes.
///
/// ```
/// use huginn_net_tls::{HelloProgress, HelloReader};
///
/// // Sent by curl with OpenSSL, as it may arrive from a socket.
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/curl-openssl.bin"));
/// let mut reader = HelloReader::new();
/// for read in bytes.chunks(100) {
///     if let HelloProgress::Complete(hello) = reader.push(read)? {
///         assert_eq!(hello.ja4().to_string(), "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
///         return Ok(());
///     }
/// }
/// panic!("the stream ends before the hello does");
/// # #[allow(unreachable_code)]
/// # Ok::<(), huginn_net_tls::TlsError>(())
/// ```
#[derive(Debug, Default)]
pub struct HelloReader {
    state: State,
    walk: RecordWalk,
}

/// Result of [`HelloReader::push`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelloProgress {
    /// The hello needs more bytes.
    Incomplete,
    /// The hello, which is now complete.
    Complete(ClientHello<'static>),
    /// An earlier call returned the hello. These bytes were not read.
    Returned,
}

impl HelloProgress {
    /// The hello, if this call completed it.
    pub fn hello(self) -> Option<ClientHello<'static>> {
        match self {
            Self::Complete(hello) => Some(hello),
            Self::Incomplete | Self::Returned => None,
        }
    }
}

#[derive(Debug)]
enum State {
    /// At the first bytes, which may be an SSL 2.0 record.
    Start(Vec<u8>),
    Records(RecordReader),
    Found,
    Failed(TlsError),
}

impl Default for State {
    fn default() -> Self {
        Self::Start(Vec::new())
    }
}

impl HelloReader {
    /// Creates a reader for the first byte of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses the next bytes of the stream. Returns the hello once, when it is complete.
    ///
    /// # Errors
    /// [`TlsError`] if the bytes are not handshake records or contain another message. Later calls return the same
    /// error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<HelloProgress, TlsError> {
        let outcome = match &mut self.state {
            State::Start(buffered) => {
                buffered.extend_from_slice(bytes);
                match begins_with(buffered) {
                    None => Ok(None),
                    Some(Err(error)) => Err(error),
                    Some(Ok(Beginning::Sslv2)) => hello_of_sslv2(buffered).map(|hello| {
                        self.walk.offset = hello.consumed;
                        Some(hello.value)
                    }),
                    Some(Ok(Beginning::Record)) => {
                        let buffered = std::mem::take(buffered);
                        let mut reader = RecordReader::handshake_only();
                        let outcome = read(&mut reader, &buffered);
                        self.state = State::Records(reader);
                        self.walk.follow(&buffered, &outcome);
                        outcome
                    }
                }
            }
            State::Records(reader) => {
                let outcome = read(reader, bytes);
                self.walk.follow(bytes, &outcome);
                outcome
            }
            State::Found => return Ok(HelloProgress::Returned),
            State::Failed(error) => return Err(*error),
        };
        match &outcome {
            Ok(Some(_)) => self.state = State::Found,
            Ok(None) => {}
            Err(error) => self.state = State::Failed(*error),
        }
        Ok(outcome?.map_or(HelloProgress::Incomplete, HelloProgress::Complete))
    }

    /// The bytes of the stream up to the end of the hello, after [`push`](Self::push) returned it.
    pub fn consumed(&self) -> Option<usize> {
        matches!(self.state, State::Found).then_some(self.walk.offset)
    }
}

/// Tracks record boundaries up to the end of a message.
#[derive(Debug, Default)]
struct RecordWalk {
    /// The header of a record, of which `header_len` bytes are present.
    header: [u8; HEADER_LEN],
    header_len: usize,
    /// Remaining bytes of the record.
    fragment_left: usize,
    /// Fragment bytes so far.
    in_fragments: usize,
    /// Stream bytes so far.
    offset: usize,
}

impl RecordWalk {
    /// Advances over these bytes, at most to the end of the hello found in them.
    fn follow(&mut self, bytes: &[u8], outcome: &Result<Option<ClientHello<'_>>, TlsError>) {
        match outcome {
            Ok(Some(hello)) => self.advance(bytes, hello.message().len()),
            Ok(None) => self.advance(bytes, usize::MAX),
            Err(_) => {}
        }
    }

    /// Advances over these bytes, at most until `wanted` fragment bytes.
    fn advance(&mut self, mut bytes: &[u8], wanted: usize) {
        loop {
            let missing = wanted.saturating_sub(self.in_fragments);
            let (Some(first), true) = (bytes.first(), missing > 0) else { return };
            let taken = if self.fragment_left > 0 {
                let taken = self.fragment_left.min(missing).min(bytes.len());
                self.fragment_left = self.fragment_left.saturating_sub(taken);
                self.in_fragments = self.in_fragments.saturating_add(taken);
                taken
            } else {
                self.on_header_byte(*first);
                1
            };
            self.offset = self.offset.saturating_add(taken);
            bytes = bytes.get(taken..).unwrap_or_default();
        }
    }

    fn on_header_byte(&mut self, byte: u8) {
        if let Some(target) = self.header.get_mut(self.header_len) {
            *target = byte;
        }
        self.header_len = self.header_len.saturating_add(1);
        if self.header_len == HEADER_LEN {
            let [_, _, _, high, low] = self.header;
            self.fragment_left = usize::from(u16::from_be_bytes([high, low]));
            self.header_len = 0;
        }
    }
}

impl<'a> ClientHello<'a> {
    /// Parses the ClientHello at the start of a TLS stream: one or more records, of which the first may be an SSL 2.0
    /// record. The bytes up to the end of the message are consumed.
    ///
    /// `None` if more bytes are needed. Each call starts again and copies a message in several records; for bytes that
    /// arrive piece by piece, use [`HelloReader`].
    ///
    /// ```
    /// use huginn_net_tls::ClientHello;
    ///
    /// // Sent by curl with OpenSSL.
    /// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/curl-openssl.bin"));
    /// let parsed = ClientHello::from_records(bytes)?.expect("a complete hello");
    /// assert_eq!(parsed.value.server_name(), Some(&b"www.example.test"[..]));
    /// assert_eq!(parsed.consumed, bytes.len());
    /// assert!(ClientHello::from_records(&bytes[..200])?.is_none());
    /// assert!(ClientHello::from_records(b"GET / HTTP/1.1").is_err());
    /// # Ok::<(), huginn_net_tls::TlsError>(())
    /// ```
    ///
    /// # Errors
    /// [`TlsError`] if the bytes are not handshake records or contain another message.
    pub fn from_records(bytes: &'a [u8]) -> Result<Option<Parsed<Self>>, TlsError> {
        match begins_with(bytes) {
            None => Ok(None),
            Some(Err(error)) => Err(error),
            Some(Ok(Beginning::Sslv2)) => hello_of_sslv2(bytes).map(Some),
            Some(Ok(Beginning::Record)) => {
                let fragment = record::first_fragment(bytes);
                if let Some(len) = handshake::message_len(fragment)?.filter(|len| *len <= fragment.len()) {
                    let hello = Self::parse_message(fragment, Transport::Tcp)?;
                    return Ok(Some(Parsed::new(hello, HEADER_LEN.saturating_add(len))));
                }
                let hello = read(&mut RecordReader::handshake_only(), bytes)?;
                Ok(hello.map(|hello| {
                    let consumed = end_of_message(bytes, hello.message().len());
                    Parsed::new(hello, consumed)
                }))
            }
        }
    }
}

impl<'a> ServerHello<'a> {
    /// Parses the ServerHello at the start of the stream of a server: one or more records. The bytes up to the end of the
    /// message are consumed, and messages after it are ignored.
    ///
    /// `None` if more bytes are needed. Each call starts again and copies a message in several records.
    ///
    /// ```
    /// use huginn_net_tls::{ServerHello, Version};
    ///
    /// // The first 49 bytes of a server with TLS 1.2: a record with a ServerHello that has no extensions.
    /// let mut bytes = vec![22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3];
    /// bytes.extend([7; 32]); // random
    /// bytes.extend([0, 0xc0, 0x2f, 0]); // session id, cipher suite, compression method
    /// let parsed = ServerHello::from_records(&bytes)?.expect("a complete hello");
    /// assert_eq!((parsed.value.version(), parsed.value.cipher_suite()), (Version::TLS_1_2, 0xc02f));
    /// assert_eq!(parsed.consumed, bytes.len());
    /// assert!(ServerHello::from_records(&bytes[..20])?.is_none());
    /// # Ok::<(), huginn_net_tls::TlsError>(())
    /// ```
    ///
    /// # Errors
    /// [`TlsError`] if the bytes are not handshake records or contain another message first.
    pub fn from_records(bytes: &'a [u8]) -> Result<Option<Parsed<Self>>, TlsError> {
        match record::handshake_header(bytes) {
            Probe::Unsure => return Ok(None),
            Probe::No => return Err(not_record(bytes)),
            Probe::Yes => {}
        }
        let fragment = record::first_fragment(bytes);
        if let Some(len) = handshake::message_len(fragment)?.filter(|len| *len <= fragment.len()) {
            let hello = Self::parse_message(fragment, Transport::Tcp)?;
            return Ok(Some(Parsed::new(hello, HEADER_LEN.saturating_add(len))));
        }
        let hello = first_hello(&mut RecordReader::handshake_only(), bytes, |hello| match hello {
            Hello::Server(hello) => Ok(hello.into_owned()),
            Hello::Client(_) => Err(TlsError::NotHello(handshake::CLIENT_HELLO)),
        })?;
        Ok(hello.map(|hello| {
            let consumed = end_of_message(bytes, hello.message().len());
            Parsed::new(hello, consumed)
        }))
    }
}

/// The bytes of a stream of handshake records up to the end of its first message, which has `len` bytes.
fn end_of_message(bytes: &[u8], len: usize) -> usize {
    let mut walk = RecordWalk::default();
    walk.advance(bytes, len);
    walk.offset
}

/// The start of a stream.
enum Beginning {
    /// The header of a handshake record.
    Record,
    /// A complete SSL 2.0 record.
    Sslv2,
}

/// Detects the start of a stream; `None` if more bytes are needed.
fn begins_with(bytes: &[u8]) -> Option<Result<Beginning, TlsError>> {
    match (record::handshake_header(bytes), sslv2::probe(bytes)) {
        (Probe::Yes, _) => Some(Ok(Beginning::Record)),
        (_, Probe::Yes) => {
            sslv2::record_len(bytes).filter(|len| bytes.len() >= *len).map(|_| Ok(Beginning::Sslv2))
        }
        (Probe::No, Probe::No) => Some(Err(not_record(bytes))),
        (Probe::Unsure, _) | (_, Probe::Unsure) => None,
    }
}

fn read<'a>(reader: &mut RecordReader, bytes: &[u8]) -> Result<Option<ClientHello<'a>>, TlsError> {
    first_hello(reader, bytes, |hello| match hello {
        Hello::Client(hello) => Ok(hello.into_owned()),
        Hello::Server(_) => Err(TlsError::NotHello(handshake::SERVER_HELLO)),
    })
}

/// Reads records up to the first hello.
fn first_hello<T>(
    reader: &mut RecordReader,
    bytes: &[u8],
    take: impl Fn(Hello<'_>) -> Result<T, TlsError>,
) -> Result<Option<T>, TlsError> {
    let mut first = None;
    let outcome = reader.push(bytes, &mut |item| {
        if let Item::Hello(hello) = item {
            first.get_or_insert_with(|| take(hello));
        }
    });
    match (first, outcome.map_err(|stop| stop.error)) {
        (Some(hello), _) => hello.map(Some),
        (None, Err(Some(error))) => Err(error),
        (None, Ok(()) | Err(None)) => Ok(None),
    }
}

/// Parses the hello of an SSL 2.0 record.
fn hello_of_sslv2<'a>(record: &[u8]) -> Result<Parsed<ClientHello<'a>>, TlsError> {
    let message = sslv2::to_message(record).ok_or_else(|| not_record(record))?;
    let hello = ClientHello::parse_message(&message, Transport::Tcp)?.into_owned();
    Ok(Parsed::new(hello, sslv2::record_len(record).unwrap_or_default()))
}

fn not_record(bytes: &[u8]) -> TlsError {
    TlsError::NotRecord { offset: 0, header: record::padded(bytes) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::HANDSHAKE;
    use crate::record::tests::record;

    /// The same message in records of `step` bytes.
    fn cut(record: &[u8], step: usize) -> Vec<u8> {
        record[HEADER_LEN..]
            .chunks(step)
            .flat_map(|part| [&[HANDSHAKE, 3, 3, 0, u8::try_from(part.len()).unwrap()][..], part].concat())
            .collect()
    }

    /// The results of a reader for these bytes in pieces of `step`.
    fn pushed(bytes: &[u8], step: usize) -> Result<Option<Parsed<ClientHello<'static>>>, TlsError> {
        let mut reader = HelloReader::new();
        let push = |read| reader.push(read).map(HelloProgress::hello).transpose();
        let hello = bytes.chunks(step).find_map(push).transpose()?;
        assert_eq!(hello.is_some(), reader.consumed().is_some());
        Ok(hello.zip(reader.consumed()).map(|(hello, consumed)| Parsed::new(hello, consumed)))
    }

    /// The same result without the bytes of an invalid record, which depend on the pieces.
    fn plain<T>(outcome: Result<T, TlsError>) -> Result<T, TlsError> {
        outcome.map_err(|error| match error {
            TlsError::NotRecord { offset, .. } => TlsError::NotRecord { offset, header: [0; HEADER_LEN] },
            other => other,
        })
    }

    #[test]
    fn parses_hello_from_records_of_any_size() {
        let record = record();
        let complete = ClientHello::from_records(&record).unwrap().unwrap().value;
        for step in 1..record.len() {
            let bytes = cut(&record, step);
            assert_eq!(
                ClientHello::from_records(&bytes).unwrap(),
                Some(Parsed::new(complete.clone(), bytes.len())),
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
    fn rejects_other_protocol_at_first_byte() {
        let alert = [&cut(&record(), 20)[..25], &[21, 3, 3, 0, 2, 1, 0]].concat();
        let cases: [(&[u8], usize); 3] = [(b"G", 0), (b"\x16\x03\x01\xff\xff", 0), (&alert, 25)];
        for (bytes, position) in cases {
            let error = ClientHello::from_records(bytes).unwrap_err();
            assert!(matches!(error, TlsError::NotRecord { offset, .. } if offset == position), "{error}");
            assert_eq!(pushed(bytes, 1), Err(error));
        }
        let server = [22, 3, 3, 0, 4, 2, 0, 0, 0];
        assert_eq!(ClientHello::from_records(&server), Err(TlsError::NotHello(2)));
    }

    #[test]
    fn record_version_is_ignored() {
        let mut record = record();
        for version in [[3, 5], [2, 0], [0xfe, 0xfd]] {
            record[1..3].copy_from_slice(&version);
            assert!(ClientHello::from_records(&record).unwrap().is_some(), "{version:02x?}");
            assert!(pushed(&record, 1).unwrap().is_some(), "{version:02x?}");
        }
    }

    #[test]
    fn ends_after_hello_and_repeats_error() {
        let (mut reader, mut other) = (HelloReader::new(), HelloReader::new());
        let bytes = record();
        let (first, rest) = bytes.split_at(20);
        assert_eq!(reader.push(first), Ok(HelloProgress::Incomplete));
        assert!(matches!(reader.push(rest), Ok(HelloProgress::Complete(_))));
        assert_eq!(reader.push(&bytes), Ok(HelloProgress::Returned));
        let error = other.push(b"HTTP/1.1").unwrap_err();
        assert_eq!(other.push(&record()), Err(error));
    }

    #[test]
    fn server_hello_is_read_from_records_of_any_size() {
        let mut message = vec![2, 0, 0, 38, 3, 3];
        message.extend([7; 32]);
        message.extend([0, 0xc0, 0x2f, 0]);
        let whole = [&[HANDSHAKE, 3, 3, 0, 42][..], &message].concat();
        let expected = ServerHello::from_message(&message, Transport::Tcp).unwrap().unwrap().value;
        for step in 1..message.len() {
            // The certificate follows, in the same record or the next one.
            let bytes = cut(&whole, step);
            let more = [&bytes[..], &[HANDSHAKE, 3, 3, 0, 1, 11]].concat();
            let parsed = ServerHello::from_records(&more).unwrap().unwrap();
            assert_eq!((&parsed.value, parsed.consumed), (&expected, bytes.len()), "in records of {step}");
            for len in 0..bytes.len() {
                assert_eq!(ServerHello::from_records(&bytes[..len]), Ok(None), "{len} bytes");
            }
        }
        assert_eq!(ServerHello::from_records(&record()), Err(TlsError::NotHello(1)));
        assert!(matches!(ServerHello::from_records(b"HTTP/1.1"), Err(TlsError::NotRecord { .. })));
    }

    #[test]
    fn buffer_is_bounded_by_longest_hello() {
        let endless = [[22, 3, 3, 0, 4, 1, 0xff, 0xff, 0xff], [22, 3, 3, 0, 4, 0, 0, 0, 0]].concat();
        assert_eq!(pushed(&endless, 3), Err(TlsError::TooLong { announced: 0xff_ffff }));
    }

    proptest! {
        #[test]
        fn pieces_give_same_result_as_whole(
            in_records in 1..60_usize,
            step in 1..80_usize,
            corrupted in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let mut bytes = cut(&record(), in_records);
            if let Some((position, byte)) = corrupted {
                *position.get_mut(&mut bytes[..]) = byte;
            }
            prop_assert_eq!(plain(pushed(&bytes, step)), plain(ClientHello::from_records(&bytes)));
        }

        #[test]
        fn arbitrary_bytes_never_panic(
            head in prop::sample::select(vec![&[][..], &[22, 3, 3], &[22, 3, 1, 0, 40, 1, 0, 0], &[0x80, 40, 1, 3, 1]]),
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            step in 1..80_usize,
        ) {
            let bytes = [head, &bytes].concat();
            prop_assert_eq!(plain(pushed(&bytes, step)), plain(ClientHello::from_records(&bytes)));
        }
    }
}
