//! Ends TLS with tokio-rustls.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;

use crate::limits::HANDSHAKE_TIMEOUT;
use crate::{ConnectionFingerprint, ConnectionParts, Fingerprinter, Recorder, Recording, SavedSyn};

/// A TLS connection that records the first request of the client inside, after it recorded the ClientHello outside.
pub type RecordedTlsStream<S> = Recorder<TlsStream<Recorder<S>>>;

/// Accepts TLS connections, and records what identifies their clients: SYN, ClientHello and the first request. Cheap to
/// clone.
///
/// `examples/axum_proxy.rs` is a complete proxy.
#[derive(Clone)]
pub struct FingerprintAcceptor {
    tls: TlsAcceptor,
    fingerprinter: Fingerprinter,
    timeout: Duration,
}

impl FingerprintAcceptor {
    /// Accepts connections with this configuration of rustls. Its `alpn_protocols` decide between HTTP/1.1 and HTTP/2.
    pub fn new(config: Arc<ServerConfig>) -> Self {
        Self { tls: config.into(), fingerprinter: Fingerprinter::default(), timeout: HANDSHAKE_TIMEOUT }
    }

    /// Uses this fingerprinter instead of the one with the built-in databases.
    #[must_use]
    pub fn with_fingerprinter(mut self, fingerprinter: Fingerprinter) -> Self {
        self.fingerprinter = fingerprinter;
        self
    }

    /// Sets the time in which a client must complete the TLS handshake; the default is 10 seconds.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Accepts TLS on a TCP connection. On Linux, the SYN is part of the fingerprint if the listener
    /// [saves](SavedSyn::enable) it.
    ///
    /// # Errors
    /// [`FailedHandshake`], with what the client showed.
    pub async fn accept(
        &self,
        stream: TcpStream,
    ) -> Result<(RecordedTlsStream<TcpStream>, ConnectionFingerprint), FailedHandshake> {
        let parts = ConnectionParts { syn: saved_syn(&stream), ..ConnectionParts::default() };
        self.accept_with(stream, parts).await
    }

    /// Accepts TLS on any stream whose client is known in part, such as one with a PROXY header before TLS.
    ///
    /// # Errors
    /// [`FailedHandshake`], with what the client showed.
    pub async fn accept_with<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        mut parts: ConnectionParts,
    ) -> Result<(RecordedTlsStream<S>, ConnectionFingerprint), FailedHandshake> {
        let mut stream = Recorder::new(stream, Recording::tls());
        let hello = stream.handle();
        let handshake = tokio::time::timeout(self.timeout, self.tls.accept(stream)).await;
        parts.hello = hello.take();
        let connection = |parts| ConnectionFingerprint::new(self.fingerprinter.clone(), parts);
        match handshake.map_err(io::Error::from).and_then(|outcome| outcome) {
            Ok(stream) => {
                let mut stream = Recorder::new(stream, Recording::http());
                parts.http = Some(stream.handle());
                Ok((stream, connection(parts)))
            }
            Err(error) => Err(FailedHandshake { error, connection: connection(parts) }),
        }
    }
}

/// A TLS handshake that failed, and what its client showed before: a scanner that only wants the certificate, or a program
/// that accepts no certificate but its own.
#[derive(Debug, thiserror::Error)]
#[error("TLS handshake: {error}")]
#[non_exhaustive]
pub struct FailedHandshake {
    /// The error of the stream or of the handshake: a `rustls::Error` inside, such as an alert of the client, or
    /// [`io::ErrorKind::TimedOut`].
    #[source]
    pub error: io::Error,
    /// The fingerprint, without layer `http`. The layer `tls` is `None` if the ClientHello was incomplete or is not TLS.
    pub connection: ConnectionFingerprint,
}

/// The saved SYN. A connection without one has no layer `tcp`, whatever the reason is.
#[cfg(target_os = "linux")]
fn saved_syn(stream: &TcpStream) -> Option<SavedSyn> {
    SavedSyn::take(stream).ok().flatten()
}

#[cfg(not(target_os = "linux"))]
fn saved_syn(_: &TcpStream) -> Option<SavedSyn> {
    None
}
