//! The fingerprint of one connection.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use huginn_net_consistency::ClientBytes;
use huginn_net_tls::{ClientHello, QuicVersion};

use crate::{ClientFingerprint, ConnectionLayers, Fingerprinter, Recording, RecordingHandle, SavedSyn};

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
/// let parts = ConnectionParts::default().http(client.handle());
/// let connection = ConnectionFingerprint::new(Fingerprinter::default(), parts);
/// assert!(connection.fingerprint().http.is_none());
///
/// // A server reads the request.
/// client.read_to_end(&mut Vec::new())?;
/// let fingerprint = connection.fingerprint();
/// assert_eq!(fingerprint.http.as_ref().unwrap().header_order.as_ref().unwrap().as_str(), "Host,Accept");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConnectionFingerprint(Arc<Shared>);

/// What is known of a connection, by layer. Every part is optional.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ConnectionParts {
    /// Its SYN.
    pub syn: Option<SavedSyn>,
    /// Its ClientHello.
    pub hello: Option<Recording>,
    /// Its ClientHello in QUIC, instead of `hello`.
    pub quic_hello: Option<ClientHello<'static>>,
    /// The QUIC version of `quic_hello`, for the QUIC fingerprint.
    pub quic_version: Option<QuicVersion>,
    /// Its first request, which may still be recorded.
    pub http: Option<RecordingHandle>,
    /// A fingerprint of the client from elsewhere, such as the header of a load balancer. It fills the layers that the other
    /// parts lack. The verdict compares only the other parts; without a request among them, it is the known one.
    pub known: Option<ClientFingerprint>,
}

huginn_net_wire::setters!(ConnectionParts {
    syn: impl Into<Option<SavedSyn>>,
    hello: impl Into<Option<Recording>>,
    quic_hello: impl Into<Option<ClientHello<'static>>>,
    quic_version: impl Into<Option<QuicVersion>>,
    http: impl Into<Option<RecordingHandle>>,
    known: impl Into<Option<ClientFingerprint>>,
});

#[derive(Debug)]
struct Shared {
    fingerprinter: Fingerprinter,
    complete: OnceLock<Found>,
    pending: Mutex<Pending>,
    #[cfg(feature = "http")]
    requests: Requests,
}

#[cfg(feature = "http")]
#[derive(Debug)]
struct Requests {
    /// Whether the first request is recorded, so that requests are judged.
    are_judged: bool,
    /// The fingerprint of the latest request with another verdict than the first one.
    latest: Mutex<Option<Arc<ClientFingerprint>>>,
}

#[derive(Debug, Default)]
struct Pending {
    parts: ConnectionParts,
    /// What is found without the request.
    partial: Option<Found>,
}

#[derive(Clone, Debug)]
struct Found {
    fingerprint: Arc<ClientFingerprint>,
    layers: Arc<ConnectionLayers>,
}

impl ConnectionFingerprint {
    /// Creates the fingerprint of a connection.
    pub fn new(fingerprinter: Fingerprinter, parts: ConnectionParts) -> Self {
        Self(Arc::new(Shared {
            fingerprinter,
            #[cfg(feature = "http")]
            requests: Requests { are_judged: parts.http.is_some(), latest: Mutex::default() },
            complete: OnceLock::new(),
            pending: Mutex::new(Pending { parts, partial: None }),
        }))
    }

    /// The fingerprint, with the verdict of the first request. The layer `http`, and with it the verdict, is `None` until that
    /// request was recorded.
    pub fn fingerprint(&self) -> Arc<ClientFingerprint> {
        self.found().fingerprint
    }

    /// The parsed layers, to which [`check`](huginn_net_consistency::check) compares requests. The first request, and what
    /// it shows, is `None` until it was recorded. Layers of [`ConnectionParts::known`] are not among them.
    pub fn layers(&self) -> Arc<ConnectionLayers> {
        self.found().layers
    }

    /// The fingerprint with the verdict of this request, as the server parsed it. The other layers are those of the
    /// connection, and the layer `http` is that of its first request.
    ///
    /// Call it before a header is removed from the request, because that changes the order of the others. Without a part
    /// `http`, requests are not judged: the verdict is that of [`ConnectionParts::known`].
    #[cfg(feature = "http")]
    pub fn fingerprint_of<B>(&self, request: &http::Request<B>) -> Arc<ClientFingerprint> {
        let Found { fingerprint: first, layers } = self.found();
        if !self.0.requests.are_judged {
            return first;
        }
        let verdict = Some(self.0.fingerprinter.verdict(&layers, &crate::layers::parsed_request(request)));
        if first.consistency == verdict {
            return first;
        }
        let mut latest = self.0.requests.latest.lock().unwrap_or_else(PoisonError::into_inner);
        match latest.as_ref().filter(|latest| latest.consistency == verdict && latest.http == first.http) {
            Some(latest) => Arc::clone(latest),
            None => Arc::clone(
                latest.insert(Arc::new(ClientFingerprint { consistency: verdict, ..(*first).clone() })),
            ),
        }
    }

    fn found(&self) -> Found {
        let Shared { fingerprinter, complete, pending, .. } = &*self.0;
        if let Some(found) = complete.get() {
            return found.clone();
        }
        let mut pending = pending.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have completed it meanwhile.
        if let Some(found) = complete.get() {
            return found.clone();
        }
        let http = pending.parts.http.as_ref().and_then(RecordingHandle::take);
        let is_complete = http.is_some() || pending.parts.http.is_none();
        if let Some(partial) = pending.partial.as_ref().filter(|_| !is_complete) {
            return partial.clone();
        }
        let parts = &pending.parts;
        let mut bytes =
            ClientBytes::default().hello(parts.quic_hello.as_ref()).quic_version(parts.quic_version);
        bytes.syn = parts.syn.as_ref().map(SavedSyn::as_bytes);
        bytes.tls = parts.hello.as_ref().and_then(Recording::complete);
        bytes.http = http.as_ref().and_then(Recording::complete);
        let (fingerprint, layers) = fingerprinter.parse(&bytes);
        let fingerprint = Arc::new(fingerprint.or(parts.known.clone().unwrap_or_default()));
        let found = Found { fingerprint, layers: Arc::new(layers) };
        if is_complete {
            *pending = Pending::default();
            return complete.get_or_init(|| found).clone();
        }
        pending.partial.insert(found).clone()
    }
}
