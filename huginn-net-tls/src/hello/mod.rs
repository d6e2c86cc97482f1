//! Hellos of both sides: their messages, extensions, versions and GREASE.

mod client_hello;
mod ech;
mod extension;
mod grease;
pub(crate) mod handshake;
mod offers;
mod quic_version;
mod server_hello;
mod transport_parameters;
mod trust_anchors;
mod version;

pub use self::client_hello::ClientHello;
pub use self::ech::{Ech, OuterEch};
pub use self::extension::{AlpnList, Extension, Extensions, KeyShare, KeyShares, U16List, extension_type};
pub use self::grease::is_grease;
pub(crate) use self::grease::is_no_grease;
pub use self::offers::{Grease, GreaseList, PskIdentities, PskIdentity};
pub use self::quic_version::QuicVersion;
pub use self::server_hello::ServerHello;
pub use self::transport_parameters::{TransportParameter, TransportParameters, transport_parameter_id};
pub use self::trust_anchors::{TrustAnchorId, TrustAnchors};
pub use self::version::{Version, VersionParseError};

use self::handshake::{CLIENT_HELLO, SERVER_HELLO};
use crate::{TlsError, Transport};

/// A ClientHello or ServerHello.
#[derive(Clone, Debug)]
pub enum Hello<'a> {
    Client(ClientHello<'a>),
    Server(ServerHello<'a>),
}

impl<'a> Hello<'a> {
    /// Parses a handshake message, including its header.
    pub(crate) fn from_message(message: &'a [u8], transport: Transport) -> Result<Self, TlsError> {
        match message.first() {
            Some(&SERVER_HELLO) => ServerHello::parse_message(message, transport).map(Self::Server),
            Some(&CLIENT_HELLO) | None => ClientHello::parse_message(message, transport).map(Self::Client),
            Some(&other) => Err(TlsError::NotHello(other)),
        }
    }

    /// Whether the client announces early data.
    pub(crate) fn has_early_data(&self) -> bool {
        match self {
            Self::Client(hello) => hello.has_early_data(),
            Self::Server(_) => false,
        }
    }
}
