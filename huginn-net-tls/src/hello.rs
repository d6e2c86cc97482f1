//! Hellos of both sides.

use crate::handshake::{CLIENT_HELLO, SERVER_HELLO};
use crate::{ClientHello, ServerHello, TlsError, Transport};

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
