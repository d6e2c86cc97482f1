//! Hellos of both sides: their messages, extensions, versions and GREASE.

mod client_hello;
mod extension;
mod grease;
pub(crate) mod handshake;
mod server_hello;
mod version;

pub use self::client_hello::ClientHello;
pub use self::extension::{AlpnList, Extension, Extensions, KeyShare, KeyShares, U16List, extension_type};
pub use self::grease::is_grease;
pub(crate) use self::grease::is_no_grease;
pub use self::server_hello::ServerHello;
pub use self::version::{Version, VersionParseError};

use self::handshake::{CLIENT_HELLO, SERVER_HELLO};
use crate::{TlsError, Transport};

/// A ClientHello or ServerHello.
#[derive(Clone, Debug)]
pub(crate) enum Hello<'a> {
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
    pub(crate) fn announces_early_data(&self) -> bool {
        match self {
            Self::Client(hello) => hello.announces_early_data(),
            Self::Server(_) => false,
        }
    }
}
