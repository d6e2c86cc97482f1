//! The Initial packets of both sides of one connection.

use std::ops::Range;

use huginn_net_wire::Side;
use smallvec::SmallVec;

use super::QuicError;
use super::frames::{InitialFrame, InitialFrames};
use super::keys::{Keys, Opened, PacketNumbers};
use super::packet::{Initial, MAX_CONNECTION_ID};

use super::version::{FrameSet, Protection, is_reserved};
use crate::datagram::stream_copies::{Chunk, CopiedMessage, StreamCopies, StreamLimits};
use crate::hello::Hello;
use crate::hello::handshake::{CLIENT_HELLO, SERVER_HELLO};
use crate::limits::{MAX_CRYPTO_BYTES, MAX_HELLOS_PER_CONNECTION};
use crate::quic_peers::{QuicClient, QuicClose, QuicServer};
use crate::{TlsError, Transport};

/// A hello: a ClientHello of the client, or a ServerHello of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) sender: Side,
    /// The handshake message, including its header.
    pub(crate) message: &'a [u8],
    /// Whether it is the second ClientHello of a connection, requested by a HelloRetryRequest.
    pub(crate) retry: bool,
    /// Whether other bytes were sent in its place.
    pub(crate) conflict: bool,
    /// What the packets so far show of both sides.
    pub(crate) peers: Peers,
}

/// Client and server of a connection, after their first decrypted packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peers {
    pub(crate) client: Option<QuicClient>,
    pub(crate) server: Option<QuicServer>,
}

#[derive(Debug)]
pub(super) struct Connection {
    /// The side whose packets use client keys.
    pub(super) client: Side,
    /// The connection id from which the keys of both sides in all versions derive: the destination of the client's first
    /// packet.
    pub(super) destination: ConnectionId,
    /// The connection ids that client and server chose.
    pub(super) client_id: ConnectionId,
    pub(super) server_id: Option<ConnectionId>,
    /// The version of the client's first packet.
    pub(super) version: u32,
    /// The protection of a connection with a reserved version, after a packet has revealed it.
    reserved: Option<&'static Protection>,
    sent_by_client: Direction,
    sent_by_server: Direction,
    peers: Peers,
    /// Length of the token of the Retry before the connection.
    retry_token_len: Option<u32>,
    /// The first CONNECTION_CLOSE, which is taken once.
    close: Option<QuicClose>,
    is_closed: bool,
    retry_requested: bool,
    answered: bool,
}

/// A connection id.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionId {
    bytes: [u8; MAX_CONNECTION_ID],
    len: u8,
}

/// A packet whose frames are in a [`Scratch`].
pub(super) struct DecryptedPacket {
    pub(super) number: u64,
    range: Range<usize>,
    frames: FrameSet,
}

/// Buffers for decryption. Their contents change no result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    packet: Vec<u8>,
    /// The latest derived client keys, with their version and connection id: packets that nothing decrypts often repeat it.
    derived: Option<(u32, ConnectionId, Keys)>,
}

/// The state of one direction.
#[derive(Debug, Default)]
struct Direction {
    /// Keys by version, which compatible negotiation changes (RFC 9368, section 2.3).
    keys: Option<(u32, Keys)>,
    numbers: PacketNumbers,
    /// The CRYPTO stream (RFC 9000, section 19.6).
    crypto: StreamCopies,
    /// Hellos found.
    hellos: u8,
}

/// How likely a packet belongs to a connection, by its connection ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    No,
    /// The peer of its sender may have chosen the destination id in a packet that was not captured.
    Possible,
    Exact,
}

impl Connection {
    /// Decrypts the first packet of a client with the keys of the connection id `destination`. Returns a new connection and
    /// the packet; `None` if these keys do not fit.
    ///
    /// In a reserved version, the authentication tag identifies one of seven possible protections.
    pub(super) fn start(
        packet: &Initial<'_>,
        client: Side,
        destination: &[u8],
        scratch: &mut Scratch,
    ) -> Option<(Self, DecryptedPacket)> {
        let Scratch { packet: buffer, .. } = scratch;
        let mut open = |keys: &Keys| keys.open(packet, PacketNumbers::default(), buffer);
        let (protection, keys, opened) = if is_reserved(packet.version) {
            Protection::candidates_for_reserved(*packet.bytes.first()?).find_map(|protection| {
                let keys = Keys::derive(protection, destination, Side::Client)?;
                let opened = open(&keys)?;
                Some((protection, keys, opened))
            })?
        } else {
            let keys = match &scratch.derived {
                Some((version, id, keys)) if *version == packet.version && id.bytes() == destination => {
                    keys.clone()
                }
                _ => {
                    let keys = Keys::derive(packet.protection, destination, Side::Client)?;
                    scratch.derived = Some((packet.version, ConnectionId::new(destination), keys.clone()));
                    keys
                }
            };
            let opened = open(&keys)?;
            (packet.protection, keys, opened)
        };
        let mut connection = Self::new(packet, client, destination);
        connection.reserved = is_reserved(packet.version).then_some(protection);
        connection.sent_by_client.keys = Some((packet.version, keys));
        connection.sent_by_client.numbers.insert(opened.number);
        connection.add_client_packet(packet, opened.number);
        Some((connection, DecryptedPacket::new(opened, protection)))
    }

    /// Creates a connection from a packet of its client that was not decrypted.
    pub(super) fn new(packet: &Initial<'_>, client: Side, destination: &[u8]) -> Self {
        Self {
            client,
            destination: ConnectionId::new(destination),
            client_id: ConnectionId::new(packet.source),
            server_id: None,
            version: packet.version,
            reserved: None,
            sent_by_client: Direction::default(),
            sent_by_server: Direction::default(),
            peers: Peers::default(),
            retry_token_len: None,
            close: None,
            is_closed: false,
            retry_requested: false,
            answered: false,
        }
    }

    /// Decrypts a packet; `None` if this connection's keys do not fit.
    pub(super) fn open(
        &mut self,
        packet: &Initial<'_>,
        sender: Side,
        scratch: &mut Scratch,
    ) -> Option<DecryptedPacket> {
        let by_client = sender == self.client;
        let (direction, role) = if by_client {
            (&mut self.sent_by_client, Side::Client)
        } else {
            (&mut self.sent_by_server, Side::Server)
        };
        // A connection uses a reserved version from its start or never.
        let protection = if is_reserved(packet.version) { self.reserved? } else { packet.protection };
        if direction.keys.as_ref().is_none_or(|(version, _)| *version != packet.version) {
            let keys = Keys::derive(protection, self.destination.bytes(), role)?;
            direction.keys = Some((packet.version, keys));
        }
        let (_, keys) = direction.keys.as_ref()?;
        let opened = keys.open(packet, direction.numbers, &mut scratch.packet)?;
        direction.numbers.insert(opened.number);
        if by_client {
            self.add_client_packet(packet, opened.number);
        } else {
            self.server_id = Some(ConnectionId::new(packet.source));
            self.add_server_packet(packet);
        }
        Some(DecryptedPacket::new(opened, protection))
    }

    fn add_client_packet(&mut self, packet: &Initial<'_>, number: u64) {
        match &mut self.peers.client {
            Some(client) if self.sent_by_client.hellos == 0 => client.add_datagram(packet),
            Some(_) => {}
            none => *none = Some(QuicClient::new(packet, number)),
        }
    }

    fn add_server_packet(&mut self, packet: &Initial<'_>) {
        match &mut self.peers.server {
            Some(server) => server.add_packet(packet),
            none => *none = Some(QuicServer::new(packet, self.retry_token_len)),
        }
    }

    /// Processes the frames of a packet and emits complete hellos.
    ///
    /// Each further content of the same bytes takes one from `copies`. `None` reads only the first content.
    pub(super) fn read(
        &mut self,
        frames: InitialFrames<'_>,
        sender: Side,
        copies: Option<&mut u8>,
        found: &mut impl FnMut(Found<'_>),
    ) -> Result<(), TlsError> {
        const LIMITS: StreamLimits =
            StreamLimits { window: MAX_CRYPTO_BYTES, messages: MAX_HELLOS_PER_CONNECTION };
        let Self { client, sent_by_client, sent_by_server, retry_requested, answered, peers, .. } = self;
        let mut code = None;
        let by_client = sender == *client;
        let (kind, direction) =
            if by_client { (CLIENT_HELLO, sent_by_client) } else { (SERVER_HELLO, sent_by_server) };
        let mut outcome = Ok(());
        let mut chunks = SmallVec::<[Chunk<'_>; 16]>::new();
        for frame in frames {
            match frame {
                Ok(InitialFrame::Crypto(offset, data)) => chunks.push((offset, data)),
                Ok(InitialFrame::Close(of_frame)) => code = code.or(Some(of_frame)),
                Err(error) => outcome = Err(error.into()),
            }
        }
        let Direction { crypto, hellos, .. } = direction;
        if let Some(offset) = crypto.push(&chunks, LIMITS, copies) {
            let position = crypto.position();
            outcome = Err(QuicError::Crypto { offset, position, window: MAX_CRYPTO_BYTES }.into());
        }
        let read = crypto.read(kind, LIMITS, &mut |CopiedMessage { bytes: message, nth, conflict }| {
            match Hello::from_message(message, Transport::Quic) {
                Ok(Hello::Client(_)) => {}
                Ok(Hello::Server(hello)) if hello.is_retry_request() => *retry_requested = true,
                Ok(Hello::Server(_)) => *answered = true,
                Err(error) => {
                    outcome = Err(error);
                    return;
                }
            }
            *hellos = (*hellos).max(nth);
            found(Found { sender, message, retry: by_client && nth > 1, conflict, peers: *peers });
        });
        if let Some(code) = code
            && !std::mem::replace(&mut self.is_closed, true)
        {
            let (server, retry) = (self.client.peer(), self.retry_requested);
            self.close = Some(QuicClose { server, sender, code, retry });
        }
        read.and(outcome)
    }

    /// Takes the end of a connection whose ClientHello was not answered.
    pub(super) fn take_close(&mut self) -> Option<QuicClose> {
        self.close.take().filter(|_| self.has_client_hello() && !self.answered)
    }

    /// Whether a packet of the client continues the flight of its first one: with the same version and source connection id.
    pub(super) fn continues_first_flight(&self, packet: &Initial<'_>) -> bool {
        let version = self.sent_by_client.keys.as_ref().map(|(version, _)| *version);
        version == Some(packet.version) && self.client_id.bytes() == packet.source
    }

    /// Whether a ClientHello was complete.
    pub(super) const fn has_client_hello(&self) -> bool {
        self.sent_by_client.hellos > 0
    }

    /// What the client's Initial packets show beside its hello.
    pub(super) const fn quic_client(&self) -> Option<&QuicClient> {
        self.peers.client.as_ref()
    }

    /// Returns the memory used by the streams, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.sent_by_client
            .crypto
            .buffered_bytes()
            .saturating_add(self.sent_by_server.crypto.buffered_bytes())
    }
}

#[cfg(feature = "packets")]
impl Connection {
    /// Judges whether a packet belongs to this connection (RFC 9000, section 5.2).
    pub(super) fn matches(&self, packet: &Initial<'_>, sender: Side) -> Match {
        let is_exact = if sender != self.client {
            self.client_id.is(packet.destination)
        } else if self.destination.is(packet.destination) {
            // In another version, it starts another connection (RFC 9000, section 6.2).
            if packet.version != self.version {
                return Match::No;
            }
            true
        } else {
            self.server_id.is_some_and(|id| id.is(packet.destination))
        };
        match is_exact {
            true => Match::Exact,
            false if sender == self.client && self.client_id.is(packet.source) => Match::Possible,
            false => Match::No,
        }
    }

    /// Marks the connection as the client's next attempt after a Retry with a token of this length.
    pub(super) const fn set_after_retry(&mut self, token_len: u32) {
        self.retry_token_len = Some(token_len);
        if let Some(client) = &mut self.peers.client {
            client.after_retry = true;
        }
    }

    /// Marks the connection as the client's next attempt after a Version Negotiation.
    pub(super) const fn set_after_version_negotiation(&mut self) {
        if let Some(client) = &mut self.peers.client {
            client.after_version_negotiation = true;
        }
    }

    /// The first ClientHello, while it is buffered.
    pub(super) fn client_hello(&self) -> Option<&[u8]> {
        self.sent_by_client.crypto.first_message()
    }

    /// Whether no further hello is expected.
    pub(super) const fn is_finished(&self) -> bool {
        let expected = if self.retry_requested { MAX_HELLOS_PER_CONNECTION } else { 1 };
        self.answered && self.sent_by_client.hellos >= expected
    }

    /// Marks the client's stream as one for which another content was sent.
    pub(super) const fn set_conflict(&mut self) {
        self.sent_by_client.crypto.set_conflict();
    }

    /// Drops the bytes of the client.
    pub(super) fn forget_client_stream(&mut self) {
        self.sent_by_client.crypto = StreamCopies::default();
    }
}

impl DecryptedPacket {
    const fn new(Opened { number, frames: range }: Opened, protection: &Protection) -> Self {
        Self { number, range, frames: protection.frames }
    }

    /// The frames of the packet that was decrypted last.
    pub(super) fn frames(self, scratch: &Scratch) -> InitialFrames<'_> {
        InitialFrames::new(scratch.packet.get(self.range).unwrap_or_default(), self.frames)
    }
}

impl Scratch {
    /// Heap memory, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.packet.capacity()
    }

    /// Whether the client keys of this connection id are derived already.
    #[cfg(feature = "packets")]
    pub(super) fn has_keys(&self, version: u32, destination: &[u8]) -> bool {
        self.derived.as_ref().is_some_and(|(known, id, _)| *known == version && id.is(destination))
    }
}

impl ConnectionId {
    pub(super) fn new(id: &[u8]) -> Self {
        let mut bytes = [0; MAX_CONNECTION_ID];
        let len = bytes.iter_mut().zip(id).fold(0_u8, |len, (byte, id)| {
            *byte = *id;
            len.saturating_add(1)
        });
        Self { bytes, len }
    }

    pub(super) fn is(&self, id: &[u8]) -> bool {
        self.bytes() == id
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&self.bytes)
    }
}
