//! The Initial packets of one flow and their hellos.

use huginn_net_core::Interest;
use huginn_net_wire::Side;

use super::QuicCounters;
use super::QuicError;
use super::connection::{Connection, Found, Identity};
use super::packet::{Initial, Packet, Packets};
use crate::TlsError;
use crate::limits::{
    MAX_DATAGRAMS_AFTER_ANSWER, MAX_DATAGRAMS_AFTER_HELLO, MAX_EARLY_DATAGRAM_LEN, MAX_HELLOS_PER_QUIC_FLOW,
    MAX_INITIAL_PACKETS, MAX_UNDECRYPTED, MAX_UNDECRYPTED_PER_DATAGRAM,
};

/// The state of a flow. It needs almost no memory until an Initial packet was decrypted.
#[derive(Debug, Default)]
pub(crate) struct QuicFlow {
    state: State,
    /// A datagram, probably of the server, that arrived before the client's first packet.
    early: Option<Box<Early>>,
    /// Initial packets of the connection, and consecutive ones that no key decrypted.
    packets: u16,
    sealed: u16,
    quiet: u8,
    hellos: u8,
    given_up: bool,
}

#[derive(Debug, Default)]
enum State {
    /// Before the first connection.
    #[default]
    Fresh,
    Open(Box<Connection>),
    /// The last connection yields no further hello. Another one may follow on the same ports.
    Over(Box<Identity>),
}

#[derive(Debug)]
struct Early {
    sender: Side,
    datagram: Box<[u8]>,
}

impl QuicFlow {
    /// Parses the next datagram of either side and emits complete hellos.
    ///
    /// `scratch` is a buffer for decryption; its contents are ignored. Returns interest for the life of the flow,
    /// because any datagram may start a new connection, until the limit of hellos.
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
    pub(crate) const fn has_found_hello(&self) -> bool {
        self.hellos > 0
    }

    /// Heap memory of the flow, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let early =
            self.early.as_ref().map_or(0, |early| size_of::<Early>().saturating_add(early.datagram.len()));
        early.saturating_add(match &self.state {
            State::Fresh => 0,
            State::Open(connection) => size_of::<Connection>().saturating_add(connection.buffered_bytes()),
            State::Over(_) => size_of::<Identity>(),
        })
    }

    /// Parses the next datagram of either side and emits complete hellos. Reports the result of each Initial packet and
    /// each invalid packet.
    ///
    /// `scratch` is a buffer for decryption; its contents are ignored.
    #[inline]
    fn take(
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
        // Almost all datagrams have only a short header.
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
        if let State::Open(connection) = &self.state
            && connection.is_finished()
        {
            self.end();
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

    /// Returns the result of a packet; `None` if its connection has ended.
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
                if let Some(opened) = connection.open(packet, sender, scratch) {
                    (self.packets, self.sealed) = (self.packets.saturating_add(1), 0);
                    return Some(connection.read(opened.frames, sender, found));
                }
            }
            State::Over(identity) => {
                if identity.matches(packet, sender) {
                    return None;
                }
            }
        }
        // A client's first packet, also after a Retry, determines the keys itself (RFC 9001, section 5.2).
        let Some((mut next, opened)) = Connection::start(packet, sender, scratch) else {
            self.sealed = self.sealed.saturating_add(1);
            return Some(Err(QuicError::Sealed.into()));
        };
        match &self.state {
            State::Fresh => {}
            State::Open(previous) => next.follow(previous.identity()),
            State::Over(previous) => next.follow(previous),
        }
        let outcome = next.read(opened.frames, sender, found);
        self.state = State::Open(Box::new(next));
        (self.packets, self.sealed, self.given_up) = (1, 0, false);
        Some(outcome)
    }

    /// Buffers a datagram that no key decrypts, if it may answer a packet that arrives late.
    fn buffer_early(&mut self, datagram: &[u8], sender: Side) {
        let waits = match &self.state {
            State::Fresh => true,
            State::Open(_) => false,
            State::Over(identity) => identity.client() != sender,
        };
        if waits && datagram.len() <= MAX_EARLY_DATAGRAM_LEN {
            self.early = Some(Box::new(Early { sender, datagram: datagram.into() }));
        }
    }

    /// The client's next packet starts another connection (RFC 9000, section 6.2).
    fn on_version_negotiation(&mut self, sender: Side) {
        if matches!(&self.state, State::Open(connection) if sender != connection.client()) {
            self.state = State::Fresh;
        }
    }

    fn check_limits(&mut self, report: &mut impl FnMut(Result<(), TlsError>)) {
        let too_many = self.packets >= MAX_INITIAL_PACKETS;
        if too_many || self.sealed >= MAX_UNDECRYPTED {
            self.give_up(report);
        }
        if too_many {
            self.end();
        }
    }

    fn on_non_initial(&mut self, report: &mut impl FnMut(Result<(), TlsError>)) {
        self.quiet = self.quiet.saturating_add(1);
        if self.quiet < MAX_DATAGRAMS_AFTER_ANSWER {
            return;
        }
        self.early = None;
        let State::Open(connection) = &self.state else { return };
        if connection.has_client_hello() || self.quiet >= MAX_DATAGRAMS_AFTER_HELLO {
            self.give_up(report);
            self.end();
        }
    }

    fn give_up(&mut self, report: &mut impl FnMut(Result<(), TlsError>)) {
        let has_client_hello = match &self.state {
            State::Fresh => false,
            State::Open(connection) => connection.has_client_hello(),
            State::Over(_) => true,
        };
        if !has_client_hello && !self.given_up {
            self.given_up = true;
            report(Err(QuicError::GivenUp { packets: self.packets, sealed: self.sealed }.into()));
        }
    }

    /// Drops all state of the connection except its identity.
    fn end(&mut self) {
        (self.packets, self.quiet) = (0, 0);
        self.state = match std::mem::take(&mut self.state) {
            State::Open(connection) => State::Over(Box::new(connection.into_identity())),
            state => state,
        };
    }

    const fn is_done(&self) -> bool {
        self.hellos >= MAX_HELLOS_PER_QUIC_FLOW
    }
}
