//! The events of hellos.

use crate::hello::{ClientHello, ServerHello};
use crate::quic::{QuicClient, QuicServer};

/// An event of a [`TlsObserver`](crate::TlsObserver). The subject of the event is the sender of the hello.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsEvent {
    /// A ClientHello.
    Client(TlsClient),
    /// A ServerHello.
    Server(TlsServer),
}

/// The client of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsClient {
    /// Its ClientHello.
    pub hello: ClientHello<'static>,
    /// Whether this is its second hello, requested by the server.
    pub retry: bool,
    /// What its QUIC packets show beside the hello; `None` over other transports.
    pub quic: Option<QuicClient>,
}

/// The server of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsServer {
    /// Its ServerHello, or [HelloRetryRequest](ServerHello::is_retry_request).
    pub hello: ServerHello<'static>,
    /// What its QUIC packets show beside the hello; `None` over other transports.
    pub quic: Option<QuicServer>,
}
