//! The fingerprint of one connection.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use huginn_net::consistency::ClientBytes;
use huginn_net::tls::ClientHello;

use crate::{ClientFingerprint, Fingerprinter, Recording, RecordingHandle, SavedSyn};

/// The fingerprint of one connection, computed when it is first needed. Cheap to clone.
///
/// The first bytes are freed once the fingerprint is complete: when it is first asked for, and the request of a part `http` was
/// recorded.
///
/// ```
/// use std::io::Read;
///
/// use huginn_net_proxy::{ConnectionFingerprint, ConnectionParts, Fingerprinter, Recorder, Recording};
///
/// let stream = &b"GET / HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n"[..];
/// let mut client = Recorder::new(stream, Recording::http());
/// let parts = ConnectionParts { http: Some(client.handle()), ..ConnectionParts::default() };
/// let connection = ConnectionFingerprint::new(Fingerprinter::default(), parts);
/// assert!(connection.fingerprint().http.is_none());
///
/// // A server reads the request.
/// client.read_to_end(&mut Vec::new())?;
/// assert_eq!(connection.fingerprint().http.as_ref().unwrap().header_order.as_deref(), Some("Host,Accept"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConnectionFingerprint(Arc<Shared>);

/// What is known of a connection, by layer. Every part is optional.
#[derive(Debug, Default)]
pub struct ConnectionParts {
    /// Its SYN.
    pub syn: Option<SavedSyn>,
    /// Its ClientHello.
    pub hello: Option<Recording>,
    /// Its ClientHello in QUIC, instead of `hello`.
    pub quic_hello: Option<ClientHello<'static>>,
    /// Its first request, which may still be recorded.
    pub http: Option<RecordingHandle>,
    /// A fingerprint of the client from elsewhere, such as the header of a load balancer. It fills the layers that the other
    /// parts lack. The verdict compares only the other parts; without a request among them, it is the known one.
    pub known: Option<ClientFingerprint>,
}

#[derive(Debug)]
struct Shared {
    fingerprinter: Fingerprinter,
    complete: OnceLock<Arc<ClientFingerprint>>,
    pending: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    parts: ConnectionParts,
    /// The fingerprint without the request.
    partial: Option<Arc<ClientFingerprint>>,
}

impl ConnectionFingerprint {
    /// Creates the fingerprint of a connection.
    pub fn new(fingerprinter: Fingerprinter, parts: ConnectionParts) -> Self {
        let pending = Mutex::new(Pending { parts, partial: None });
        Self(Arc::new(Shared { fingerprinter, complete: OnceLock::new(), pending }))
    }

    /// The fingerprint. The layer `http`, and with it the verdict, is `None` until the first request was recorded.
    pub fn fingerprint(&self) -> Arc<ClientFingerprint> {
        let Shared { fingerprinter, complete, pending } = &*self.0;
        if let Some(fingerprint) = complete.get() {
            return Arc::clone(fingerprint);
        }
        let mut pending = pending.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have completed it meanwhile.
        if let Some(fingerprint) = complete.get() {
            return Arc::clone(fingerprint);
        }
        let http = pending.parts.http.as_ref().and_then(RecordingHandle::take);
        let is_complete = http.is_some() || pending.parts.http.is_none();
        if let Some(partial) = pending.partial.as_ref().filter(|_| !is_complete) {
            return Arc::clone(partial);
        }
        let parts = &pending.parts;
        let found = fingerprinter.fingerprint(&ClientBytes {
            syn: parts.syn.as_ref().map(SavedSyn::as_bytes),
            tls: parts.hello.as_ref().and_then(Recording::complete),
            hello: parts.quic_hello.as_ref(),
            http: http.as_ref().and_then(Recording::complete),
        });
        let fingerprint = Arc::new(found.or(parts.known.clone().unwrap_or_default()));
        if is_complete {
            *pending = Pending::default();
            return Arc::clone(complete.get_or_init(|| fingerprint));
        }
        Arc::clone(pending.partial.insert(fingerprint))
    }
}
