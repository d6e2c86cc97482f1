//! A hello of either side.

use crate::handshake::{CLIENT_HELLO, SERVER_HELLO};
use crate::{ClientHello, ServerHello, TlsError, Transport};

/// A hello of either side.
#[derive(Clone, Debug)]
pub(crate) enum Hello<'a> {
    Client(ClientHello<'a>),
    #[cfg_attr(
        not(feature = "quic"),
        expect(dead_code, reason = "the readers of a client's bytes take it for an error")
    )]
    Server(ServerHello<'a>),
}

impl<'a> Hello<'a> {
    /// Reads a handshake message, its header included.
    pub(crate) fn from_message(message: &'a [u8], transport: Transport) -> Result<Self, TlsError> {
        match message.first() {
            Some(&SERVER_HELLO) => ServerHello::parse_message(message, transport).map(Self::Server),
            Some(&CLIENT_HELLO) | None => ClientHello::parse_message(message, transport).map(Self::Client),
            Some(&other) => Err(TlsError::NotHello(other)),
        }
    }

    /// Whether application data may follow at once.
    pub(crate) fn announces_early_data(&self) -> bool {
        match self {
            Self::Client(hello) => hello.announces_early_data(),
            Self::Server(_) => false,
        }
    }
}
