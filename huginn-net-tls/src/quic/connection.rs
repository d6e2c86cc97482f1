//! The Initial packets of both sides of one connection.

use huginn_net_wire::{Reassembler, Side};

use super::QuicError;
use super::frames::CryptoFrames;
use super::keys::Keys;
use super::packet::{Initial, MAX_CONNECTION_ID};
use super::version::{Protection, is_reserved};
use crate::handshake::{CLIENT_HELLO, MessageJoiner, SERVER_HELLO};
use crate::hello::Hello;
use crate::limits::{MAX_CRYPTO_BYTES, MAX_HELLOS_PER_CONNECTION};
use crate::{TlsError, Transport};

/// A hello: a ClientHello of the client, or a ServerHello of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) sender: Side,
    /// The handshake message, including its header.
    pub(crate) message: &'a [u8],
    /// Whether it is the second ClientHello of a connection, requested by a HelloRetryRequest.
    pub(crate) retry: bool,
}

#[derive(Debug)]
pub(super) struct Connection {
    identity: Identity,
    sent_by_client: Direction,
    sent_by_server: Direction,
    retry_requested: bool,
    answered: bool,
    /// The hello of the previous connection, and whether a Retry ended that connection.
    previous: Option<HelloId>,
    retried: bool,
    /// The protection of a connection with a reserved version, after a packet has revealed it.
    reserved: Option<&'static Protection>,
}

/// Distinguishes a connection from others on the same ports.
#[derive(Debug)]
pub(super) struct Identity {
    /// The side whose packets use client keys.
    client: Side,
    /// Destination connection id of the client's first packet: the keys of both sides in all versions derive from it.
    destination: ConnectionId,
    /// The connection ids that client and server chose.
    client_id: ConnectionId,
    server_id: Option<ConnectionId>,
    /// The connection id in the server's Retry, for the following connection.
    retry: Option<ConnectionId>,
    hello: Option<HelloId>,
}

/// Identifies a ClientHello: its length and its `random`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HelloId {
    len: usize,
    random: [u8; 32],
}

#[derive(Debug)]
struct ConnectionId {
    bytes: [u8; MAX_CONNECTION_ID],
    len: u8,
}

/// The number and the frames of a decrypted packet.
pub(super) struct DecryptedPacket<'a> {
    pub(super) number: u64,
    pub(super) frames: CryptoFrames<'a>,
}

/// The state of one direction.
#[derive(Debug, Default)]
struct Direction {
    /// Keys by version, which compatible negotiation changes (RFC 9368, section 2.3).
    keys: Option<(u32, Keys)>,
    /// The largest packet number.
    largest: Option<u64>,
    crypto: CryptoStream,
}

/// The CRYPTO stream of one side (RFC 9000, section 19.6).
#[derive(Debug, Default)]
struct CryptoStream {
    pieces: Reassembler,
    joiner: MessageJoiner,
    hellos: u8,
    ended: bool,
}

impl Connection {
    /// Decrypts the first packet of a client. Returns a new connection and the packet; `None` if the keys
    /// derived from the packet do not decrypt it.
    ///
    /// In a reserved version, the authentication tag identifies one of seven possible protections.
    pub(super) fn start<'s>(
        packet: &Initial<'_>,
        client: Side,
        scratch: &'s mut Vec<u8>,
    ) -> Option<(Self, DecryptedPacket<'s>)> {
        let reserved = if is_reserved(packet.version) {
            let decrypts = |protection: &&Protection| {
                let keys = Keys::derive(protection, packet.destination, Side::Client);
                keys.is_some_and(|keys| keys.open(packet, None, scratch).is_some())
            };
            Some(Protection::candidates_for_reserved(*packet.bytes.first()?).find(decrypts)?)
        } else {
            None
        };
        let mut connection = Self { reserved, ..Self::new(packet, client) };
        let opened = connection.open(packet, client, scratch)?;
        Some((connection, opened))
    }

    fn new(packet: &Initial<'_>, client: Side) -> Self {
        Self {
            identity: Identity {
                client,
                destination: ConnectionId::new(packet.destination),
                client_id: ConnectionId::new(packet.source),
                server_id: None,
                retry: None,
                hello: None,
            },
            sent_by_client: Direction::default(),
            sent_by_server: Direction::default(),
            retry_requested: false,
            answered: false,
            previous: None,
            retried: false,
            reserved: None,
        }
    }

    /// After a Retry the client sends the same hello again (RFC 9000, section 17.2.5.3), which is not reported twice.
    /// Some clients change it (aioquic), and the capture may lack the Retry.
    pub(super) fn follow(&mut self, previous: &Identity) {
        self.previous = previous.hello;
        self.retried =
            previous.retry.as_ref().is_some_and(|id| id.bytes() == self.identity.destination.bytes());
    }

    /// Records a Retry.
    pub(super) fn on_retry(&mut self, id: &[u8], sender: Side) {
        if sender != self.identity.client {
            self.identity.retry = Some(ConnectionId::new(id));
        }
    }

    /// Decrypts a packet; `None` if this connection's keys do not fit.
    pub(super) fn open<'s>(
        &mut self,
        packet: &Initial<'_>,
        sender: Side,
        scratch: &'s mut Vec<u8>,
    ) -> Option<DecryptedPacket<'s>> {
        let by_client = sender == self.identity.client;
        let (direction, role) = if by_client {
            (&mut self.sent_by_client, Side::Client)
        } else {
            (&mut self.sent_by_server, Side::Server)
        };
        // A connection uses a reserved version from its start or never.
        let protection = if is_reserved(packet.version) { self.reserved? } else { packet.protection };
        if direction.keys.as_ref().is_none_or(|(version, _)| *version != packet.version) {
            let keys = Keys::derive(protection, self.identity.destination.bytes(), role)?;
            direction.keys = Some((packet.version, keys));
        }
        let (_, keys) = direction.keys.as_ref()?;
        let opened = keys.open(packet, direction.largest, scratch)?;
        direction.largest = direction.largest.max(Some(opened.number));
        if !by_client {
            self.identity.server_id = Some(ConnectionId::new(packet.source));
        }
        let frames = CryptoFrames::new(scratch.get(opened.frames)?, protection.frames);
        Some(DecryptedPacket { number: opened.number, frames })
    }

    /// Processes the frames of a packet and emits complete hellos.
    pub(super) fn read(
        &mut self,
        frames: CryptoFrames<'_>,
        sender: Side,
        found: &mut impl FnMut(Found<'_>),
    ) -> Result<(), TlsError> {
        let by_client = sender == self.identity.client;
        let (kind, stream) = if by_client {
            (CLIENT_HELLO, &mut self.sent_by_client.crypto)
        } else {
            (SERVER_HELLO, &mut self.sent_by_server.crypto)
        };
        let mut outcome = Ok(());
        for frame in frames {
            let (offset, data) = frame?;
            let kept = stream.push(offset, data, kind, &mut |message, nth| {
                match Hello::from_message(message, Transport::Quic) {
                    Ok(Hello::Client(_)) => {
                        self.identity.hello = HelloId::from_message(message);
                        let same =
                            self.retried && self.previous.is_some() || self.identity.hello == self.previous;
                        if nth == 1 && same {
                            return;
                        }
                    }
                    Ok(Hello::Server(hello)) if hello.is_retry_request() => self.retry_requested = true,
                    Ok(Hello::Server(_)) => self.answered = true,
                    Err(error) => {
                        outcome = Err(error);
                        return;
                    }
                }
                found(Found { sender, message, retry: by_client && nth > 1 });
            })?;
            if !kept {
                let position = stream.pieces.position();
                outcome = Err(QuicError::Crypto { offset, position, window: MAX_CRYPTO_BYTES }.into());
            }
        }
        outcome
    }

    /// Whether a packet of the client continues the flight of its first one: with the same version and source connection id.
    pub(super) fn continues_first_flight(&self, packet: &Initial<'_>) -> bool {
        let version = self.sent_by_client.keys.as_ref().map(|(version, _)| *version);
        version == Some(packet.version) && self.identity.client_id.bytes() == packet.source
    }

    pub(super) const fn client(&self) -> Side {
        self.identity.client()
    }

    pub(super) const fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) fn into_identity(self) -> Identity {
        self.identity
    }

    /// Whether a ClientHello was complete.
    pub(super) const fn has_client_hello(&self) -> bool {
        self.sent_by_client.crypto.hellos > 0
    }

    /// Whether no further hello is expected.
    pub(super) const fn is_finished(&self) -> bool {
        let client = &self.sent_by_client.crypto;
        let expected = if self.retry_requested { MAX_HELLOS_PER_CONNECTION } else { 1 };
        self.answered && client.hellos >= expected || client.ended && client.hellos == 0
    }

    /// Returns the memory used by buffered pieces and incomplete messages, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.sent_by_client
            .crypto
            .buffered_bytes()
            .saturating_add(self.sent_by_server.crypto.buffered_bytes())
    }
}

impl Identity {
    pub(super) const fn client(&self) -> Side {
        self.client
    }

    /// Whether a packet belongs to this connection, by its connection ids.
    pub(super) fn matches(&self, packet: &Initial<'_>, sender: Side) -> bool {
        let to = |id: &ConnectionId| id.bytes() == packet.destination;
        if sender == self.client {
            to(&self.destination) || self.server_id.as_ref().is_some_and(to)
        } else {
            to(&self.client_id)
        }
    }
}

impl HelloId {
    /// Reads the identity of a handshake message; `None` if it is too short.
    fn from_message(message: &[u8]) -> Option<Self> {
        let (_, body) = message.split_at_checked(4 + 2)?;
        Some(Self { len: message.len(), random: *body.first_chunk()? })
    }
}

impl CryptoStream {
    /// Adds a piece of the stream and emits complete hellos of this type, with their number. Returns false if the piece
    /// does not fit in the buffer.
    fn push(
        &mut self,
        offset: u64,
        data: &[u8],
        kind: u8,
        each: &mut impl FnMut(&[u8], u8),
    ) -> Result<bool, TlsError> {
        if self.ended {
            return Ok(true);
        }
        let mut outcome = Ok(());
        let (joiner, hellos) = (&mut self.joiner, &mut self.hellos);
        let kept = self.pieces.push(offset, data, MAX_CRYPTO_BYTES, &mut |bytes| {
            if outcome.is_err() {
                return;
            }
            let mut unexpected = None;
            outcome = joiner.push(bytes, &mut |message| match message.first() {
                Some(&found) if found != kind => unexpected = Some(found),
                _ if *hellos >= MAX_HELLOS_PER_CONNECTION || unexpected.is_some() => {}
                _ => {
                    *hellos = hellos.saturating_add(1);
                    each(message, *hellos);
                }
            });
            if let Some(kind) = unexpected {
                outcome = Err(TlsError::NotHello(kind));
            }
        });
        if outcome.is_err() || self.hellos >= MAX_HELLOS_PER_CONNECTION {
            *self = Self { hellos: self.hellos, ended: true, ..Self::default() };
        }
        outcome.map(|()| kept)
    }

    fn buffered_bytes(&self) -> usize {
        self.pieces.buffered_bytes().saturating_add(self.joiner.buffered_bytes())
    }
}

impl ConnectionId {
    fn new(id: &[u8]) -> Self {
        let mut bytes = [0; MAX_CONNECTION_ID];
        let len = bytes.iter_mut().zip(id).fold(0_u8, |len, (byte, id)| {
            *byte = *id;
            len.saturating_add(1)
        });
        Self { bytes, len }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&self.bytes)
    }
}
