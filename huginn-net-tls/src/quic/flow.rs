//! The Initial packets of one flow, and the hellos in them.

#[cfg(feature = "packets")]
use huginn_net_core::Interest;
use huginn_net_wire::Side;

#[cfg(feature = "packets")]
use super::QuicCounters;
use super::QuicError;
use super::connection::{Connection, Identity};
use super::packet::{Initial, Packet, Packets};
use crate::TlsError;

/// Initial packets looked at in a connection. A hello of 64 KiB takes 60.
const MAX_PACKETS: u16 = 256;
/// Initial packets of a datagram that may fail to open: each costs up to two derivations of keys, or six in a reserved
/// version. A client's datagram has 1200 bytes at least (RFC 9000, section 14.1), and seldom more than one.
const MAX_UNDECRYPTED_PER_DATAGRAM: u8 = 2;
/// Initial packets in a row that may fail to open before a flow counts as given up.
const MAX_UNDECRYPTED: u16 = 16;
/// Datagrams of other packets after which a ServerHello is no longer expected.
const MAX_PACKETS_AFTER_ANSWER: u8 = 16;
/// Datagrams of other packets after which the rest of a ClientHello is no longer expected.
const MAX_PACKETS_AFTER_HELLO: u8 = 200;
/// Hellos reported of a flow: enough for a client that connects again and again from the same port, and an end for one
/// that does nothing else.
const MAX_HELLOS: u8 = 64;
/// The longest datagram that is kept until it can be opened, in bytes.
const MAX_EARLY_BYTES: usize = 2048;

/// What is remembered of a flow. Takes up next to nothing until an Initial packet was opened.
#[derive(Debug, Default)]
pub(crate) struct QuicFlow {
    state: State,
    /// What the server seems to have sent before the client's first packet was seen.
    early: Option<Box<Early>>,
    /// Initial packets of the connection, and those in a row that no key opened.
    packets: u16,
    sealed: u16,
    quiet: u8,
    hellos: u8,
    given_up: bool,
}

#[derive(Debug, Default)]
enum State {
    /// No connection was seen.
    #[default]
    Fresh,
    Open(Box<Connection>),
    /// Of the last connection no further hello is to be expected. Another one may follow on the same ports.
    Over(Box<Identity>),
}

#[derive(Debug)]
struct Early {
    sender: Side,
    datagram: Box<[u8]>,
}

/// A hello: a ClientHello of whoever acts as the client, or a ServerHello of the other.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "packets"),
    expect(dead_code, reason = "a reader of one client needs the message alone")
)]
pub(crate) struct Found<'a> {
    pub(crate) sender: Side,
    /// The handshake message, its header included.
    pub(crate) message: &'a [u8],
    /// Whether it is the second ClientHello of a connection, which a HelloRetryRequest asked for.
    pub(crate) retry: bool,
}

#[cfg(feature = "packets")]
impl QuicFlow {
    /// Takes the next datagram of either side, and hands on each hello that is now whole.
    ///
    /// `scratch` is room to open packets in, whatever it holds. There is interest for as long as the flow lasts, since
    /// the next connection may begin with any datagram; but for one with more hellos than are reported.
    #[inline]
    pub(crate) fn on_datagram(
        &mut self,
        datagram: &[u8],
        sender: Side,
        scratch: &mut Vec<u8>,
        counters: &mut QuicCounters,
        found: &mut impl FnMut(Found<'_>),
    ) -> Interest {
        self.take(datagram, sender, scratch, &mut |outcome| counters.count(outcome), found);
        if self.is_done() { Interest::Done } else { Interest::More }
    }

    /// Whether a hello was found.
    pub(crate) const fn has_told(&self) -> bool {
        self.hellos > 0
    }

    /// Memory taken up beside the flow itself, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let early =
            self.early.as_ref().map_or(0, |early| size_of::<Early>().saturating_add(early.datagram.len()));
        early.saturating_add(match &self.state {
            State::Fresh => 0,
            State::Open(connection) => size_of::<Connection>().saturating_add(connection.buffered_bytes()),
            State::Over(_) => size_of::<Identity>(),
        })
    }
}

impl QuicFlow {
    /// Whether the last packets were too many without a ClientHello, or all hellos that are reported were.
    pub(super) const fn has_given_up(&self) -> bool {
        self.given_up || self.is_done()
    }

    /// Takes the next datagram of either side and hands on each hello that is now whole. Reports the outcome of each Initial
    /// packet, and each packet that cannot be read.
    ///
    /// `scratch` is room to open packets in, whatever it holds.
    #[inline]
    pub(super) fn take(
        &mut self,
        datagram: &[u8],
        sender: Side,
        scratch: &mut Vec<u8>,
        report: &mut impl FnMut(Result<(), TlsError>),
        found: &mut impl FnMut(Found<'_>),
    ) {
        if self.is_done() {
            return;
        }
        // Nothing but a short header: of nearly all datagrams.
        if datagram.first().is_none_or(|first| first & 0x80 == 0) {
            self.on_non_initial(report);
            return;
        }
        let hellos = &mut 0_u8;
        let found = &mut |hello: Found<'_>| {
            *hellos = hellos.saturating_add(1);
            found(hello);
        };
        self.read(datagram, sender, scratch, report, found);
        if let State::Open(connection) = &self.state {
            let client = connection.client();
            if let Some(early) = self.early.take_if(|early| early.sender != client) {
                self.read(&early.datagram, early.sender, scratch, report, found);
            }
        }
        self.hellos = self.hellos.saturating_add(*hellos);
        self.given_up &= *hellos == 0;
        if let State::Open(connection) = &self.state {
            if connection.is_over() {
                self.end();
            }
        }
    }

    fn read(
        &mut self,
        datagram: &[u8],
        sender: Side,
        scratch: &mut Vec<u8>,
        report: &mut impl FnMut(Result<(), TlsError>),
        found: &mut impl FnMut(Found<'_>),
    ) {
        let (mut quiet, mut sealed) = (true, 0_u8);
        for packet in Packets::new(datagram) {
            match packet {
                Ok(Packet::Initial(packet)) => {
                    let Some(outcome) = self.on_initial(&packet, sender, scratch, found) else { continue };
                    quiet = false;
                    if outcome == Err(QuicError::Sealed.into()) {
                        if sealed == 0 {
                            self.buffer_early(datagram, sender);
                        }
                        sealed = sealed.saturating_add(1);
                    }
                    report(outcome);
                    self.check_limits(report);
                    if sealed >= MAX_UNDECRYPTED_PER_DATAGRAM {
                        break;
                    }
                }
                Ok(Packet::ZeroRtt) => quiet = false,
                Ok(Packet::VersionNegotiation) => self.on_version_negotiation(sender),
                Ok(Packet::Retry(id)) => {
                    if let State::Open(connection) = &mut self.state {
                        connection.on_retry(id, sender);
                    }
                }
                Ok(Packet::Handshake | Packet::Other) => {}
                Err(error) => report(Err(error.into())),
            }
        }
        if quiet {
            self.on_non_initial(report);
        } else {
            self.quiet = 0;
        }
    }

    /// Returns what became of a packet; nothing if it is one of a connection that is over.
    fn on_initial(
        &mut self,
        packet: &Initial<'_>,
        sender: Side,
        scratch: &mut Vec<u8>,
        found: &mut impl FnMut(Found<'_>),
    ) -> Option<Result<(), TlsError>> {
        match &mut self.state {
            State::Fresh => {}
            State::Open(connection) => {
                if let Some(frames) = connection.open(packet, sender, scratch) {
                    (self.packets, self.sealed) = (self.packets.saturating_add(1), 0);
                    return Some(connection.read(frames, sender, found));
                }
            }
            State::Over(identity) => {
                if identity.matches(packet, sender) {
                    return None;
                }
            }
        }
        // A client's first packet, or its first after a Retry, tells the keys itself (RFC 9001, section 5.2).
        let Some((mut next, frames)) = Connection::start(packet, sender, scratch) else {
            self.sealed = self.sealed.saturating_add(1);
            return Some(Err(QuicError::Sealed.into()));
        };
        match &self.state {
            State::Fresh => {}
            State::Open(previous) => next.follow(previous.identity()),
            State::Over(previous) => next.follow(previous),
        }
        let outcome = next.read(frames, sender, found);
        self.state = State::Open(Box::new(next));
        (self.packets, self.sealed, self.given_up) = (1, 0, false);
        Some(outcome)
    }

    /// Keeps a datagram that no key opens, if it can be the answer to a packet that comes late.
    fn buffer_early(&mut self, datagram: &[u8], sender: Side) {
        let waits = match &self.state {
            State::Fresh => true,
            State::Open(_) => false,
            State::Over(identity) => identity.client() != sender,
        };
        if waits && datagram.len() <= MAX_EARLY_BYTES {
            self.early = Some(Box::new(Early { sender, datagram: datagram.into() }));
        }
    }

    /// What a client sends after it is another connection (RFC 9000, section 6.2).
    fn on_version_negotiation(&mut self, sender: Side) {
        if matches!(&self.state, State::Open(connection) if sender != connection.client()) {
            self.state = State::Fresh;
        }
    }

    fn check_limits(&mut self, report: &mut impl FnMut(Result<(), TlsError>)) {
        let too_many = self.packets >= MAX_PACKETS;
        if too_many || self.sealed >= MAX_UNDECRYPTED {
            self.give_up(report);
        }
        if too_many {
            self.end();
        }
    }

    fn on_non_initial(&mut self, report: &mut impl FnMut(Result<(), TlsError>)) {
        self.quiet = self.quiet.saturating_add(1);
        if self.quiet < MAX_PACKETS_AFTER_ANSWER {
            return;
        }
        self.early = None;
        let State::Open(connection) = &self.state else { return };
        if connection.has_client_hello() || self.quiet >= MAX_PACKETS_AFTER_HELLO {
            self.give_up(report);
            self.end();
        }
    }

    fn give_up(&mut self, report: &mut impl FnMut(Result<(), TlsError>)) {
        let told = match &self.state {
            State::Fresh => false,
            State::Open(connection) => connection.has_client_hello(),
            State::Over(_) => true,
        };
        if !told && !self.given_up {
            self.given_up = true;
            report(Err(QuicError::GivenUp { packets: self.packets, sealed: self.sealed }.into()));
        }
    }

    /// Forgets all of the connection but what tells it from the next one.
    fn end(&mut self) {
        (self.packets, self.quiet) = (0, 0);
        self.state = match std::mem::take(&mut self.state) {
            State::Open(connection) => State::Over(Box::new(connection.into_identity())),
            state => state,
        };
    }

    const fn is_done(&self) -> bool {
        self.hellos >= MAX_HELLOS
    }
}
