//! A hello of either side.

use crate::extension::extension_type;
use crate::handshake::{CLIENT_HELLO, SERVER_HELLO};
use crate::{ClientHello, Error, ServerHello, Transport};

/// A hello of either side.
#[derive(Clone, Debug)]
pub(crate) enum Hello<'a> {
    Client(ClientHello<'a>),
    Server(ServerHello<'a>),
}

impl<'a> Hello<'a> {
    /// Reads a handshake message, its header included.
    pub(crate) fn from_message(message: &'a [u8], transport: Transport) -> Result<Self, Error> {
        match message.first() {
            Some(&SERVER_HELLO) => ServerHello::from_message(message, transport).map(Self::Server),
            Some(&CLIENT_HELLO) | None => ClientHello::from_message(message, transport).map(Self::Client),
            Some(&other) => Err(Error::NotHello(other)),
        }
    }

    /// Whether application data may follow at once (RFC 8446, section 4.2.10).
    pub(crate) fn announces_early_data(&self) -> bool {
        match self {
            Self::Client(hello) => hello.extension(extension_type::EARLY_DATA).is_some(),
            Self::Server(_) => false,
        }
    }
}
