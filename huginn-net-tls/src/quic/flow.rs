//! The Initial packets of one flow, and the hellos in them.

use huginn_net_core::{Interest, Reassembler, Side};

use super::frames::CryptoFrames;
use super::keys::Keys;
use super::packet::{Initial, MAX_CONNECTION_ID, Packet, Packets};
use super::{QuicCounters, QuicError};
use crate::handshake::{CLIENT_HELLO, MessageJoiner, SERVER_HELLO};
use crate::{Error, ServerHello, Transport};

/// What may be held of a stream whose first bytes are missing, in bytes: four times the largest hello in use.
const WINDOW: usize = 64 << 10;
/// Initial packets looked at in a flow. A hello of 64 KiB takes 60.
const MAX_PACKETS: u16 = 256;
/// Initial packets that may fail to open: each costs up to two derivations of keys.
const MAX_SEALED: u16 = 16;
/// Datagrams in a row without an Initial packet after which no further is expected.
const MAX_QUIET: u8 = 16;
/// The ClientHellos of a connection: a second one answers a HelloRetryRequest.
const MAX_HELLOS: u8 = 2;

/// What is remembered of a flow. Takes up next to nothing until an Initial packet was opened.
#[derive(Debug, Default)]
pub(crate) struct QuicFlow {
    connection: Option<Box<Connection>>,
    packets: u16,
    sealed: u16,
    quiet: u8,
    /// Whether a ClientHello was found.
    told: bool,
    done: bool,
}

/// A hello: a ClientHello of whoever acts as the client, or a ServerHello of the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) sender: Side,
    /// The handshake message, its header included.
    pub(crate) message: &'a [u8],
    /// Whether it is the second ClientHello of a connection, which a HelloRetryRequest asked for.
    pub(crate) retry: bool,
}

#[derive(Debug)]
struct Connection {
    /// The end whose packets are protected as a client's.
    client: Side,
    /// Destination of the client's first packet: keys of both sides and of all versions follow from it.
    destination: ConnectionId,
    sent_by_client: Direction,
    sent_by_server: Direction,
    retry_requested: bool,
    answered: bool,
}

#[derive(Debug)]
struct ConnectionId {
    bytes: [u8; MAX_CONNECTION_ID],
    len: u8,
}

/// What one side sent.
#[derive(Debug, Default)]
struct Direction {
    /// By version, which compatible negotiation changes (RFC 9368, section 2.3).
    keys: Option<(u32, Keys)>,
    largest: Option<u64>,
    crypto: CryptoStream,
}

/// The CRYPTO frames of one side (RFC 9000, section 19.6).
#[derive(Debug, Default)]
struct CryptoStream {
    pieces: Reassembler,
    joiner: MessageJoiner,
    hellos: u8,
    ended: bool,
}

impl QuicFlow {
    /// Takes the next datagram of either side, and hands on each hello that is now whole.
    ///
    /// `scratch` is room to open packets in, whatever it holds.
    pub(crate) fn on_datagram(
        &mut self,
        datagram: &[u8],
        sender: Side,
        scratch: &mut Vec<u8>,
        counters: &mut QuicCounters,
        found: &mut impl FnMut(Found<'_>),
    ) -> Interest {
        self.take(datagram, sender, scratch, &mut |outcome| counters.count(outcome), found)
    }

    /// Memory taken up beside the flow itself, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.connection.as_ref().map_or(0, |connection| {
            let streams = [&connection.sent_by_client.crypto, &connection.sent_by_server.crypto];
            streams.iter().fold(size_of::<Connection>(), |sum, stream| sum.saturating_add(stream.held()))
        })
    }

    /// Does the work of [`on_datagram`](Self::on_datagram), and reports the outcome of each Initial packet
    /// and of what cannot be read.
    pub(super) fn take(
        &mut self,
        datagram: &[u8],
        sender: Side,
        scratch: &mut Vec<u8>,
        report: &mut impl FnMut(Result<(), Error>),
        found: &mut impl FnMut(Found<'_>),
    ) -> Interest {
        let mut quiet = true;
        for packet in Packets::of(datagram) {
            if self.done {
                return Interest::Done;
            }
            match packet {
                Ok(Packet::Initial(packet)) => {
                    quiet = false;
                    report(self.on_initial(&packet, sender, scratch, found));
                    if self.packets >= MAX_PACKETS || self.sealed >= MAX_SEALED {
                        self.give_up(report);
                    }
                }
                Ok(Packet::ZeroRtt) => quiet = false,
                Ok(Packet::VersionNegotiation) => self.on_version_negotiation(sender),
                Ok(Packet::Handshake | Packet::Retry | Packet::Other) => {}
                Err(error) => report(Err(error.into())),
            }
        }
        self.quiet = if quiet { self.quiet.saturating_add(1) } else { 0 };
        if self.quiet >= MAX_QUIET {
            self.give_up(report);
        } else if self.connection.as_ref().is_some_and(|connection| connection.is_over()) {
            self.end();
        }
        if self.done { Interest::Done } else { Interest::More }
    }

    fn on_initial(
        &mut self,
        packet: &Initial<'_>,
        sender: Side,
        scratch: &mut Vec<u8>,
        found: &mut impl FnMut(Found<'_>),
    ) -> Result<(), Error> {
        self.packets = self.packets.saturating_add(1);
        if let Some(connection) = &mut self.connection {
            if let Some(frames) = connection.open(packet, sender, scratch) {
                return connection.read(frames, sender, &mut self.told, found);
            }
            if sender != connection.client {
                self.sealed = self.sealed.saturating_add(1);
                return Err(QuicError::Sealed.into());
            }
        }
        // A client's first packet, or its first after a Retry, tells the keys itself (RFC 9001, section 5.2).
        let mut next = Connection::new(packet, sender);
        let Some(frames) = next.open(packet, sender, scratch) else {
            self.sealed = self.sealed.saturating_add(1);
            return Err(QuicError::Sealed.into());
        };
        if let Some(previous) = self.connection.take() {
            next.follow(previous, packet);
        }
        self.connection.insert(Box::new(next)).read(frames, sender, &mut self.told, found)
    }

    /// What a client sends after it is another connection (RFC 9000, section 6.2).
    fn on_version_negotiation(&mut self, sender: Side) {
        self.connection.take_if(|connection| sender != connection.client);
    }

    fn give_up(&mut self, report: &mut impl FnMut(Result<(), Error>)) {
        if !self.done && !self.told && self.packets > 0 {
            report(Err(QuicError::GivenUp { packets: self.packets, sealed: self.sealed }.into()));
        }
        self.end();
    }

    fn end(&mut self) {
        self.done = true;
        self.connection = None;
    }
}

impl Connection {
    /// A connection of which this is the client's first packet.
    fn new(packet: &Initial<'_>, client: Side) -> Self {
        Self {
            client,
            destination: ConnectionId::new(packet.destination),
            sent_by_client: Direction::default(),
            sent_by_server: Direction::default(),
            retry_requested: false,
            answered: false,
        }
    }

    /// After a Retry the client sends the same hello again (RFC 9000, section 17.2.5.3), with a token: one
    /// already found is not news. Everything else that was known is of another connection.
    fn follow(&mut self, previous: Box<Self>, packet: &Initial<'_>) {
        let crypto = previous.sent_by_client.crypto;
        if !packet.token.is_empty() && crypto.hellos > 0 {
            self.sent_by_client.crypto = crypto;
        }
    }

    /// What a packet carries; none if this connection's keys do not open it.
    fn open<'s>(
        &mut self,
        packet: &Initial<'_>,
        sender: Side,
        scratch: &'s mut Vec<u8>,
    ) -> Option<CryptoFrames<'s>> {
        let (direction, role) = if sender == self.client {
            (&mut self.sent_by_client, Side::Client)
        } else {
            (&mut self.sent_by_server, Side::Server)
        };
        if direction.keys.as_ref().is_none_or(|(version, _)| *version != packet.version) {
            let keys = Keys::derive(packet.protection, self.destination.bytes(), role)?;
            direction.keys = Some((packet.version, keys));
        }
        let (_, keys) = direction.keys.as_ref()?;
        let opened = keys.open(packet, direction.largest, scratch)?;
        direction.largest = direction.largest.max(Some(opened.number));
        Some(CryptoFrames::of(opened.frames, packet.protection.frames))
    }

    fn read(
        &mut self,
        frames: CryptoFrames<'_>,
        sender: Side,
        told: &mut bool,
        found: &mut impl FnMut(Found<'_>),
    ) -> Result<(), Error> {
        let by_client = sender == self.client;
        let (kind, stream) = if by_client {
            (CLIENT_HELLO, &mut self.sent_by_client.crypto)
        } else {
            (SERVER_HELLO, &mut self.sent_by_server.crypto)
        };
        let mut refused = Ok(());
        for frame in frames {
            let (offset, data) = frame?;
            let kept = stream.push(offset, data, kind, &mut |message, nth| {
                if by_client {
                    *told = true;
                } else if asks_for_another_hello(message) {
                    self.retry_requested = true;
                } else {
                    self.answered = true;
                }
                found(Found { sender, message, retry: by_client && nth > 1 });
            })?;
            if !kept {
                let position = stream.pieces.position();
                refused = Err(QuicError::Crypto { offset, position, window: WINDOW }.into());
            }
        }
        refused
    }

    /// Whether no further hello is to be expected.
    fn is_over(&self) -> bool {
        let client = &self.sent_by_client.crypto;
        let expected = if self.retry_requested { MAX_HELLOS } else { 1 };
        self.answered && client.hellos >= expected || client.ended && client.hellos == 0
    }
}

impl CryptoStream {
    /// Takes a piece of the stream, and hands on the hellos of this kind that are now whole, with their
    /// count. Returns false if it could not be kept.
    fn push(
        &mut self,
        offset: u64,
        data: &[u8],
        kind: u8,
        each: &mut impl FnMut(&[u8], u8),
    ) -> Result<bool, Error> {
        if self.ended {
            return Ok(true);
        }
        let mut outcome = Ok(());
        let (joiner, hellos) = (&mut self.joiner, &mut self.hellos);
        let kept = self.pieces.push(offset, data, WINDOW, &mut |bytes| {
            if outcome.is_err() {
                return;
            }
            let mut stray = None;
            outcome = joiner.push(bytes, &mut |message| match message.first() {
                Some(&found) if found != kind => stray = Some(found),
                _ if *hellos >= MAX_HELLOS || stray.is_some() => {}
                _ => {
                    *hellos = hellos.saturating_add(1);
                    each(message, *hellos);
                }
            });
            if let Some(kind) = stray {
                outcome = Err(Error::NotHello(kind));
            }
        });
        if outcome.is_err() || self.hellos >= MAX_HELLOS {
            *self = Self { hellos: self.hellos, ended: true, ..Self::default() };
        }
        outcome.map(|()| kept)
    }

    fn held(&self) -> usize {
        self.pieces.held().saturating_add(self.joiner.held())
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

/// Whether a ServerHello is a HelloRetryRequest (RFC 8446, section 4.1.4).
fn asks_for_another_hello(message: &[u8]) -> bool {
    ServerHello::from_message(message, Transport::Quic).is_ok_and(|hello| hello.is_retry_request())
}
