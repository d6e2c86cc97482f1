//! Reads the hello at the start of a TLS stream.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::mem;

use huginn_net_wire::{Parsed, Progress};

use super::sslv2;
use crate::hello::{ClientHello, Hello, ServerHello, handshake};
use crate::record::{self, CHANGE_CIPHER_SPEC, HEADER_LEN, Item, Probe, RecordReader};
use crate::{TlsError, Transport};

/// Reads the hello at the start of a TLS stream from pieces of any size: one or more records, of which the first of a client may
/// be an SSL 2.0 record.
///
/// Time is linear in the bytes pushed. Only an incomplete message is buffered, at most 131,680 bytes.
///
/// ```
/// use huginn_net_tls::HelloReader;
///
/// // Sent by curl with OpenSSL, as it may arrive from a socket.
/// let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/curl-openssl.bin"));
/// let mut reader = HelloReader::client();
/// for read in bytes.chunks(100) {
///     if let Some(hello) = reader.push(read)?.value() {
///         assert_eq!(hello.ja4().to_string(), "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
///         return Ok(());
///     }
/// }
/// panic!("the stream ends before the hello does");
/// # #[allow(unreachable_code)]
/// # Ok::<(), huginn_net_tls::TlsError>(())
/// ```
#[derive(Debug)]
pub struct HelloReader<T> {
    state: State,
    /// Whether a ChangeCipherSpec may precede the hello.
    follows_retry: bool,
    walk: RecordWalk,
    /// Bytes pushed since the end of the last hello.
    pushed: usize,
    hello: PhantomData<T>,
}

#[derive(Debug)]
enum State {
    /// At the first bytes, which may be an SSL 2.0 record.
    Start(Vec<u8>),
    Records(RecordReader),
    Found,
    Failed(TlsError),
}

/// A hello that a [`HelloReader`] reads: [`ClientHello`] or [`ServerHello`].
pub trait FromRecords: Sized {
    /// Detects the start of a stream; `None` if more bytes are needed.
    #[doc(hidden)]
    fn begins_with(bytes: &[u8]) -> Option<Result<Beginning, TlsError>>;

    /// Takes a hello of the right side.
    #[doc(hidden)]
    fn from_hello(hello: Hello<'_>) -> Result<Self, TlsError>;

    /// Parses the hello of a complete SSL 2.0 record.
    #[doc(hidden)]
    fn from_sslv2(record: &[u8]) -> Result<Parsed<Self>, TlsError>;

    /// The length of the message.
    #[doc(hidden)]
    fn message_len(&self) -> usize;
}

impl FromRecords for ClientHello<'static> {
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

    fn from_hello(hello: Hello<'_>) -> Result<Self, TlsError> {
        match hello {
            Hello::Client(hello) => Ok(hello.into_owned()),
            Hello::Server(_) => Err(TlsError::NotHello(handshake::SERVER_HELLO)),
        }
    }

    fn from_sslv2(record: &[u8]) -> Result<Parsed<Self>, TlsError> {
        hello_of_sslv2(record)
    }

    fn message_len(&self) -> usize {
        self.message().len()
    }
}

impl FromRecords for ServerHello<'static> {
    fn begins_with(bytes: &[u8]) -> Option<Result<Beginning, TlsError>> {
        match record::handshake_header(bytes) {
            Probe::Yes => Some(Ok(Beginning::Record)),
            Probe::No => Some(Err(not_record(bytes))),
            Probe::Unsure => None,
        }
    }

    fn from_hello(hello: Hello<'_>) -> Result<Self, TlsError> {
        match hello {
            Hello::Server(hello) => Ok(hello.into_owned()),
            Hello::Client(_) => Err(TlsError::NotHello(handshake::CLIENT_HELLO)),
        }
    }

    fn from_sslv2(record: &[u8]) -> Result<Parsed<Self>, TlsError> {
        Err(not_record(record))
    }

    fn message_len(&self) -> usize {
        self.message().len()
    }
}

impl HelloReader<ClientHello<'static>> {
    /// Creates a reader for the first byte of a client.
    pub fn client() -> Self {
        Self::new(false)
    }
}

impl HelloReader<ServerHello<'static>> {
    /// Creates a reader for the first byte of a server.
    pub fn server() -> Self {
        Self::new(false)
    }
}

impl<T: FromRecords> HelloReader<T> {
    fn new(follows_retry: bool) -> Self {
        let (state, walk) = (State::Start(Vec::new()), RecordWalk::default());
        Self { state, follows_retry, walk, pushed: 0, hello: PhantomData }
    }

    /// Begins with the second hello, which follows a HelloRetryRequest and perhaps a ChangeCipherSpec (RFC 8446, section
    /// 4.1.4). Continue with the bytes that the last call of [`push`](Self::push) did not consume.
    pub fn next_hello(&mut self) {
        *self = Self::new(true);
    }

    /// Parses the next bytes of the stream. Returns the hello once, when it is complete; later bytes are not read before
    /// [`next_hello`](Self::next_hello).
    ///
    /// # Errors
    /// [`TlsError`] if the bytes are not handshake records or contain another message. Later calls return the same
    /// error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Progress<T>, TlsError> {
        let before = self.pushed;
        self.pushed = before.saturating_add(bytes.len());
        let outcome = match &mut self.state {
            State::Start(buffered) => {
                let mut buffered = mem::take(buffered);
                self.start(if buffered.is_empty() {
                    Cow::Borrowed(bytes)
                } else {
                    buffered.extend_from_slice(bytes);
                    buffered.into()
                })
            }
            State::Records(_) => self.read_records(bytes),
            State::Found => return Ok(Progress::NeedMore),
            State::Failed(error) => return Err(*error),
        };
        match outcome {
            Ok(None) => Ok(Progress::NeedMore),
            Ok(Some(hello)) => {
                self.state = State::Found;
                Ok(Progress::complete(hello, self.walk.offset.saturating_sub(before)))
            }
            Err(error) => {
                self.state = State::Failed(error);
                Err(error)
            }
        }
    }

    /// Reads the first bytes of the stream, all of which are given.
    fn start(&mut self, bytes: Cow<'_, [u8]>) -> Result<Option<T>, TlsError> {
        let start = if self.follows_retry { change_cipher_spec_len(&bytes)? } else { Some(0) };
        let beginning = start.and_then(|start| T::begins_with(bytes.get(start..).unwrap_or_default()));
        let (Some(start), Some(beginning)) = (start, beginning.transpose()?) else {
            self.state = State::Start(bytes.into_owned());
            return Ok(None);
        };
        self.walk.offset = start;
        let bytes = bytes.get(start..).unwrap_or_default();
        match beginning {
            Beginning::Sslv2 => {
                let Parsed { value, consumed } = T::from_sslv2(bytes)?;
                self.walk.offset = start.saturating_add(consumed);
                Ok(Some(value))
            }
            Beginning::Record => {
                self.state = State::Records(RecordReader::handshake_only());
                self.read_records(bytes)
            }
        }
    }

    fn read_records(&mut self, bytes: &[u8]) -> Result<Option<T>, TlsError> {
        let State::Records(reader) = &mut self.state else { return Ok(None) };
        let hello = read::<T>(reader, bytes)?;
        self.walk.advance(bytes, hello.as_ref().map_or(usize::MAX, T::message_len));
        Ok(hello)
    }
}

/// Length of a ChangeCipherSpec record (RFC 8446, section D.4) at the start of these bytes; `None` if more bytes are needed.
fn change_cipher_spec_len(bytes: &[u8]) -> Result<Option<usize>, TlsError> {
    match bytes {
        [CHANGE_CIPHER_SPEC, 3, _, 0, 1, 1, ..] => Ok(Some(HEADER_LEN.saturating_add(1))),
        [CHANGE_CIPHER_SPEC, ..] if bytes.len() <= HEADER_LEN => Ok(None),
        [CHANGE_CIPHER_SPEC, ..] => Err(not_record(bytes)),
        _ => Ok(Some(0)),
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
    /// `None` if more bytes are needed. Each call reads from the first byte, and copies a message in several records, so a loop that
    /// calls it after every read takes quadratic time. [`HelloReader::client`] takes bytes piece by piece, and reads each once.
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
        match ClientHello::<'static>::begins_with(bytes) {
            None => Ok(None),
            Some(Err(error)) => Err(error),
            Some(Ok(Beginning::Sslv2)) => hello_of_sslv2(bytes).map(Some),
            Some(Ok(Beginning::Record)) => {
                let fragment = record::first_fragment(bytes);
                if let Some(len) = handshake::message_len(fragment)?.filter(|len| *len <= fragment.len()) {
                    let hello = Self::parse_message(fragment, Transport::Tls)?;
                    return Ok(Some(Parsed::new(hello, HEADER_LEN.saturating_add(len))));
                }
                let hello = read::<ClientHello<'static>>(&mut RecordReader::handshake_only(), bytes)?;
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
    /// `None` if more bytes are needed. Each call reads from the first byte, and copies a message in several records, so a loop that
    /// calls it after every read takes quadratic time. [`HelloReader::server`] takes bytes piece by piece, and reads each once.
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
        if ServerHello::<'static>::begins_with(bytes).transpose()?.is_none() {
            return Ok(None);
        }
        let fragment = record::first_fragment(bytes);
        if let Some(len) = handshake::message_len(fragment)?.filter(|len| *len <= fragment.len()) {
            let hello = Self::parse_message(fragment, Transport::Tls)?;
            return Ok(Some(Parsed::new(hello, HEADER_LEN.saturating_add(len))));
        }
        let hello = read::<ServerHello<'static>>(&mut RecordReader::handshake_only(), bytes)?;
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
pub enum Beginning {
    /// The header of a handshake record.
    Record,
    /// A complete SSL 2.0 record.
    Sslv2,
}

fn read<T: FromRecords>(reader: &mut RecordReader, bytes: &[u8]) -> Result<Option<T>, TlsError> {
    first_hello(reader, bytes, T::from_hello)
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
    let hello = ClientHello::parse_message(&message, Transport::Tls)?.into_owned();
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
        pushed_to(HelloReader::client(), bytes, step)
    }

    fn pushed_to<T: FromRecords>(
        mut reader: HelloReader<T>,
        bytes: &[u8],
        step: usize,
    ) -> Result<Option<Parsed<T>>, TlsError> {
        for (index, piece) in bytes.chunks(step).enumerate() {
            if let Some(parsed) = reader.push(piece)?.done() {
                return Ok(Some(Parsed::new(
                    parsed.value,
                    index.saturating_mul(step).saturating_add(parsed.consumed),
                )));
            }
        }
        Ok(None)
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
        let (mut reader, mut other) = (HelloReader::client(), HelloReader::client());
        let bytes = record();
        let (first, rest) = bytes.split_at(20);
        assert_eq!(reader.push(first), Ok(Progress::NeedMore));
        let more = [rest, b"rest"].concat();
        assert_eq!(reader.push(&more).unwrap().done().unwrap().consumed, rest.len());
        assert_eq!(reader.push(&bytes), Ok(Progress::NeedMore));
        let error = other.push(b"HTTP/1.1").unwrap_err();
        assert_eq!(other.push(&record()), Err(error));
    }

    #[test]
    fn second_hello_follows_retry_request() {
        let bytes = record();
        for change_cipher_spec in [&[20, 3, 3, 0, 1, 1][..], &[]] {
            let stream = [&bytes, change_cipher_spec, &bytes, b"rest"].concat();
            for step in 1..stream.len() {
                let (mut reader, mut ends, mut position) = (HelloReader::client(), Vec::new(), 0);
                while position < stream.len() && ends.len() < 2 {
                    let end = (position + step).min(stream.len());
                    match reader.push(&stream[position..end]).unwrap() {
                        Progress::NeedMore => position = end,
                        Progress::Done(parsed) => {
                            position += parsed.consumed;
                            ends.push(position);
                            reader.next_hello();
                        }
                    }
                }
                assert_eq!(ends, [bytes.len(), stream.len() - 4], "in pieces of {step}");
            }
        }
        let mut reader = HelloReader::client();
        reader.next_hello();
        assert_eq!(reader.push(&[20, 3, 3, 0]), Ok(Progress::NeedMore));
        assert!(matches!(reader.push(&[1, 2]), Err(TlsError::NotRecord { .. })));
    }

    #[test]
    fn server_hello_is_read_from_records_of_any_size() {
        let mut message = vec![2, 0, 0, 38, 3, 3];
        message.extend([7; 32]);
        message.extend([0, 0xc0, 0x2f, 0]);
        let whole = [&[HANDSHAKE, 3, 3, 0, 42][..], &message].concat();
        let expected = ServerHello::from_message(&message, Transport::Tls).unwrap().unwrap().value;
        for step in 1..message.len() {
            // The certificate follows, in the same record or the next one.
            let bytes = cut(&whole, step);
            let more = [&bytes[..], &[HANDSHAKE, 3, 3, 0, 1, 11]].concat();
            let parsed = ServerHello::from_records(&more).unwrap().unwrap();
            assert_eq!((&parsed.value, parsed.consumed), (&expected, bytes.len()), "in records of {step}");
            assert_eq!(pushed_to(HelloReader::server(), &more, 7), Ok(Some(parsed)));
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
