//! The fields of hellos that decide about keys (RFC 8446, section 4.1).

use std::fmt;

use huginn_net_wire::{Cursor, Truncated};
use sha2::{Digest, Sha256};

use crate::secrets::SessionName;

const ENCRYPT_THEN_MAC: u16 = 22;
const SESSION_TICKET: u16 = 35;
const EARLY_DATA: u16 = 42;
const SUPPORTED_VERSIONS: u16 = 43;

/// The random of a HelloRetryRequest (RFC 8446, section 4.1.3).
pub(crate) const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

#[derive(Clone, Copy)]
pub(crate) struct ClientHello {
    pub(crate) random: [u8; 32],
    /// The session identifier, padded with zeros; all zeros if there is none.
    session: [u8; 32],
    ticket: Option<SessionName>,
    pub(crate) has_early_data: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct ServerHello {
    pub(crate) random: [u8; 32],
    /// The session identifier, padded with zeros; all zeros if there is none.
    pub(crate) session: [u8; 32],
    pub(crate) suite: u16,
    /// The negotiated version.
    pub(crate) version: u16,
    /// Whether CBC encrypts before the MAC is computed.
    pub(crate) encrypts_first: bool,
}

/// Omits the random, which names secrets.
impl fmt::Debug for ClientHello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let early = &self.has_early_data;
        f.debug_struct("ClientHello").field("has_early_data", early).finish_non_exhaustive()
    }
}

/// Omits the random and the session, which may name secrets.
impl fmt::Debug for ServerHello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHello")
            .field("suite", &self.suite)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl ClientHello {
    /// Parses the body of the message.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Truncated> {
        let mut body = Cursor::new(body);
        body.skip(2)?;
        let random = body.array()?;
        let session = session(&mut body)?;
        let suites = usize::from(body.u16_be()?);
        body.skip(suites)?;
        let methods = usize::from(body.u8()?);
        body.skip(methods)?;
        let (mut has_early_data, mut ticket) = (false, None);
        each_extension(&mut body, |kind, data| {
            has_early_data |= kind == EARLY_DATA;
            if kind == SESSION_TICKET {
                ticket = ticket_of(data);
            }
        })?;
        Ok(Self { random, session, ticket, has_early_data })
    }

    /// The ticket by which a connection of TLS 1.2 is resumed: then the server repeats the identifier that the client chose (RFC 5077,
    /// section 3.4).
    pub(crate) fn resumed_ticket(&self, server: &ServerHello) -> Option<SessionName> {
        self.ticket.filter(|_| server.session == self.session && server.session_id().is_some())
    }
}

impl ServerHello {
    /// Parses the body of the message.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Truncated> {
        let mut body = Cursor::new(body);
        let mut version = body.u16_be()?;
        let random = body.array()?;
        let session = session(&mut body)?;
        let suite = body.u16_be()?;
        body.skip(1)?;
        let mut encrypts_first = false;
        each_extension(&mut body, |kind, data| {
            encrypts_first |= kind == ENCRYPT_THEN_MAC;
            if let (SUPPORTED_VERSIONS, Ok(selected)) = (kind, Cursor::new(data).u16_be()) {
                version = selected;
            }
        })?;
        Ok(Self { random, session, suite, version, encrypts_first })
    }

    pub(crate) fn session_id(&self) -> Option<SessionName> {
        (self.session != [0; 32]).then_some(SessionName::Id(self.session))
    }

    pub(crate) fn is_retry_request(&self) -> bool {
        self.random == RETRY_RANDOM
    }
}

/// Reads a session identifier, and pads it with zeros.
fn session(body: &mut Cursor<'_>) -> Result<[u8; 32], Truncated> {
    let len = usize::from(body.u8()?);
    let id = body.take(len)?;
    let mut session = [0; 32];
    for (place, byte) in session.iter_mut().zip(id) {
        *place = *byte;
    }
    Ok(session)
}

/// The name of a session by its ticket; `None` of an empty one.
pub(crate) fn ticket_of(ticket: &[u8]) -> Option<SessionName> {
    (!ticket.is_empty()).then(|| SessionName::Ticket(Sha256::digest(ticket).into()))
}

/// Whether EncryptedExtensions accepts early data.
pub(crate) fn accepts_early_data(body: &[u8]) -> bool {
    let mut accepts = false;
    let parsed = each_extension(&mut Cursor::new(body), |kind, _| accepts |= kind == EARLY_DATA);
    parsed.is_ok() && accepts
}

/// Passes each extension to `each`, if there are any.
fn each_extension(body: &mut Cursor<'_>, mut each: impl FnMut(u16, &[u8])) -> Result<(), Truncated> {
    if body.remaining() == 0 {
        return Ok(());
    }
    let len = usize::from(body.u16_be()?);
    let mut extensions = Cursor::new(body.take(len)?);
    while extensions.remaining() > 0 {
        let kind = extensions.u16_be()?;
        let len = usize::from(extensions.u16_be()?);
        each(kind, extensions.take(len)?);
    }
    Ok(())
}
