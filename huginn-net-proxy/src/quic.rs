//! The ClientHellos of the connections of a quinn server.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use huginn_net_tls::{ClientHello, QuicVersion, Transport};
use quinn::crypto::{
    ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError};

use crate::{ConnectionParts, MAX_RECORDED_BYTES};

/// A TLS configuration of quinn that records the ClientHello of each connection.
///
/// It records what the TLS library of the connection reads. Packets that do not belong to the handshake, and data that quinn
/// discards, are never part of it. With a Retry, the hello is the one after it.
///
/// ```
/// # use std::sync::Arc;
/// use huginn_net_proxy::{ConnectionFingerprint, Fingerprinter, QuicHelloRecorder};
/// use quinn::crypto::rustls::QuicServerConfig;
///
/// # fn config(tls: tokio_rustls::rustls::ServerConfig) -> Result<quinn::ServerConfig, Box<dyn std::error::Error>> {
/// let recorder = QuicHelloRecorder::new(Arc::new(QuicServerConfig::try_from(tls)?));
/// let config = quinn::ServerConfig::with_crypto(Arc::new(recorder));
/// # Ok(config)
/// # }
/// # async fn serve(incoming: quinn::Incoming, fingerprinter: Fingerprinter) -> Result<(), quinn::ConnectionError> {
///
/// // For each connection of the endpoint.
/// let connection = incoming.await?;
/// let client = ConnectionFingerprint::new(fingerprinter, QuicHelloRecorder::parts(&connection));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct QuicHelloRecorder(Arc<dyn ServerConfig>);

/// What [`quinn::Connection::handshake_data`] returns for a connection with a [`QuicHelloRecorder`].
#[non_exhaustive]
pub struct QuicHandshake {
    /// The ClientHello; `None` if it cannot be parsed. The first one, if the server requested a second.
    pub hello: Option<ClientHello<'static>>,
    /// The QUIC version of the connection.
    pub version: QuicVersion,
    /// The data of the TLS library, such as `quinn::crypto::rustls::HandshakeData`.
    pub data: Box<dyn Any>,
}

impl QuicHelloRecorder {
    /// Records the hellos of connections with this TLS configuration.
    pub fn new(crypto: Arc<dyn ServerConfig>) -> Self {
        Self(crypto)
    }

    /// The ClientHello of a connection whose configuration has a recorder. `None` before the handshake, and if the hello
    /// cannot be parsed.
    ///
    /// The connection keeps the hello, and each call copies it.
    pub fn hello(connection: &quinn::Connection) -> Option<ClientHello<'static>> {
        connection.handshake_data()?.downcast::<QuicHandshake>().ok()?.hello
    }

    /// What is known of a connection whose configuration has a recorder: its ClientHello and QUIC version. Nothing before the
    /// handshake.
    pub fn parts(connection: &quinn::Connection) -> ConnectionParts {
        let handshake = connection.handshake_data().and_then(|data| data.downcast::<QuicHandshake>().ok());
        let (hello, version) = handshake.map_or((None, None), |found| (found.hello, Some(found.version)));
        ConnectionParts::default().quic_hello(hello).quic_version(version)
    }
}

impl fmt::Debug for QuicHelloRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicHelloRecorder").finish_non_exhaustive()
    }
}

impl fmt::Debug for QuicHandshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hello, version, .. } = self;
        f.debug_struct("QuicHandshake")
            .field("hello", hello)
            .field("version", version)
            .finish_non_exhaustive()
    }
}

impl ServerConfig for QuicHelloRecorder {
    fn initial_keys(&self, version: u32, dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.0.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.0.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(self: Arc<Self>, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        let session = Arc::clone(&self.0).start_session(version, params);
        let (hello, version) = (Hello::Incomplete(Vec::new()), QuicVersion(version));
        Box::new(RecordedSession { session, hello, version })
    }
}

/// A session that records the first message that it reads.
struct RecordedSession {
    session: Box<dyn Session>,
    hello: Hello,
    version: QuicVersion,
}

enum Hello {
    Incomplete(Vec<u8>),
    Complete(ClientHello<'static>),
    Invalid,
}

impl Hello {
    /// Adds the next bytes of the stream of messages.
    fn push(&mut self, bytes: &[u8]) {
        let Self::Incomplete(message) = self else { return };
        if message.len().saturating_add(bytes.len()) > MAX_RECORDED_BYTES {
            *self = Self::Invalid;
            return;
        }
        message.extend_from_slice(bytes);
        // `from_message` checks the length before it parses.
        match ClientHello::from_message(message, Transport::Quic) {
            Ok(None) => {}
            Ok(Some(parsed)) => *self = Self::Complete(parsed.value.into_owned()),
            Err(_) => *self = Self::Invalid,
        }
    }
}

impl Session for RecordedSession {
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.hello.push(buf);
        self.session.read_handshake(buf)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let data = self.session.handshake_data()?;
        let hello = match &self.hello {
            Hello::Complete(hello) => Some(hello.clone()),
            Hello::Incomplete(_) | Hello::Invalid => None,
        };
        Some(Box::new(QuicHandshake { hello, version: self.version, data }))
    }

    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.session.initial_keys(dst_cid, side)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.session.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.session.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.session.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.session.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        self.session.write_handshake(buf)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.session.next_1rtt_keys()
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.session.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.session.export_keying_material(output, label, context)
    }
}
