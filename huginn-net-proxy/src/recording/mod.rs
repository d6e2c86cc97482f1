//! Finds the end of the first bytes of a client, from pieces of any size.

mod http;
mod tls;

use huginn_net_wire::Progress;

use crate::MAX_RECORDED_BYTES;

/// A bounded copy of the first bytes of a client, up to the end of its ClientHello or of its first HTTP request head.
///
/// It does no I/O. Time is linear in the recorded bytes, however small the pieces are: lengths of records and frames are
/// read as they arrive, and nothing is parsed before it is complete. Memory is at most the limit.
///
/// ```
/// use huginn_net_tls::ClientHello;
/// use huginn_net_proxy::{Recording, RecordingStatus};
///
/// // Sent by curl with OpenSSL, as it may arrive from a socket.
/// let sent = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../huginn-net-tls/hellos/curl-openssl.bin"));
/// let mut recording = Recording::tls();
/// for read in sent.chunks(100) {
///     recording.push(read);
/// }
/// assert_eq!(recording.status(), RecordingStatus::Complete);
/// let hello = recording.complete().expect("a complete recording");
/// let hello = ClientHello::from_records(hello)?.expect("a complete hello").value;
/// assert_eq!(hello.ja4().to_string(), "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6");
/// # Ok::<(), huginn_net_tls::TlsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recording {
    bytes: Vec<u8>,
    protocol: Protocol,
    limit: usize,
    status: RecordingStatus,
}

/// The progress of a [`Recording`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordingStatus {
    /// More bytes are needed.
    Incomplete,
    /// The bytes end with the hello or the head.
    Complete,
    /// The client speaks another protocol. The bytes are those up to the decision.
    Unrecognized,
    /// The hello or the head is longer than the limit.
    LimitReached,
}

#[derive(Clone, Debug)]
enum Protocol {
    Tls(tls::HelloEnd),
    Http(http::HeadEnd),
}

/// The result of a search for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The end is at this offset.
    End(usize),
    /// The end is at this offset or after it; `None` if nothing is known.
    NotBefore(Option<usize>),
    /// The bytes are of another protocol.
    Other,
}

impl Recording {
    /// Creates a recording of TLS records up to the end of the ClientHello (RFC 8446, section 4.1.2).
    pub fn tls() -> Self {
        Self::new(Protocol::Tls(tls::HelloEnd::default()))
    }

    /// Creates a recording of HTTP, decrypted: HTTP/1 up to the end of the head of the first request (RFC 9112, section
    /// 2.1), HTTP/2 up to the end of its first field block (RFC 9113, section 4.3).
    pub fn http() -> Self {
        Self::new(Protocol::Http(http::HeadEnd::default()))
    }

    fn new(protocol: Protocol) -> Self {
        Self { bytes: Vec::new(), protocol, limit: MAX_RECORDED_BYTES, status: RecordingStatus::Incomplete }
    }

    /// Sets the limit, in bytes; the default is [`MAX_RECORDED_BYTES`].
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Records the next bytes of the client. Done when the recording ends, with the reason and the number of these bytes that
    /// belong to it; all others follow its end.
    pub fn push(&mut self, mut bytes: &[u8]) -> Progress<RecordingStatus> {
        let before = self.bytes.len();
        while self.status == RecordingStatus::Incomplete {
            let until = match self.find_end() {
                Found::End(end) => {
                    self.bytes.truncate(end);
                    self.status = RecordingStatus::Complete;
                    break;
                }
                Found::Other => {
                    self.status = RecordingStatus::Unrecognized;
                    break;
                }
                Found::NotBefore(until) => until,
            };
            if self.bytes.len() >= self.limit || until.is_some_and(|until| until > self.limit) {
                self.status = RecordingStatus::LimitReached;
                break;
            }
            let wanted = until.unwrap_or(self.limit).min(self.limit).saturating_sub(self.bytes.len());
            let (taken, rest) = bytes.split_at_checked(wanted).unwrap_or((bytes, &[]));
            if taken.is_empty() {
                break;
            }
            self.append(taken);
            bytes = rest;
        }
        // A search that reads ahead may have appended bytes behind the end, which is never before the earlier bytes.
        let consumed = self.bytes.len().saturating_sub(before);
        match self.status {
            RecordingStatus::Incomplete => Progress::NeedMore,
            status => Progress::complete(status, consumed),
        }
    }

    /// The progress.
    pub fn status(&self) -> RecordingStatus {
        self.status
    }

    /// The recorded bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The recorded bytes from the first handshake record or the head on, if they are complete.
    pub fn complete(&self) -> Option<&[u8]> {
        let start = match &self.protocol {
            Protocol::Tls(end) => end.start(),
            Protocol::Http(_) => 0,
        };
        self.bytes.get(start..).filter(|_| self.status == RecordingStatus::Complete)
    }

    /// Memory of the recorded bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Frees the bytes.
    pub(crate) fn discard(&mut self) {
        self.bytes = Vec::new();
    }

    fn find_end(&mut self) -> Found {
        match &mut self.protocol {
            Protocol::Tls(end) => end.find(&self.bytes),
            Protocol::Http(end) => end.find(&self.bytes),
        }
    }

    /// Appends bytes. The memory grows geometrically up to the limit.
    fn append(&mut self, bytes: &[u8]) {
        let len = self.bytes.len().saturating_add(bytes.len());
        if len > self.bytes.capacity() {
            let capacity = self.bytes.capacity().saturating_mul(2).min(self.limit).max(len);
            self.bytes.reserve_exact(capacity.saturating_sub(self.bytes.len()));
        }
        self.bytes.extend_from_slice(bytes);
    }
}
