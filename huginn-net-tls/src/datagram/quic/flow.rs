//! The connections of one flow and their hellos.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::quality::RandomState;
use huginn_net_wire::Side;

use super::connection::{Connection, ConnectionId, Found, Match, Scratch};
use super::frames::InitialFrames;
use super::packet::{Initial, Packet, Packets};
use super::segments::datagrams;
use super::{QuicCounters, QuicError};
use crate::limits::{
    KEY_DERIVATION, MAX_CONNECTIONS_PER_FLOW, MAX_DATAGRAMS_AFTER_ANSWER, MAX_DATAGRAMS_AFTER_HELLO,
    MAX_EARLY_DATAGRAM_LEN, MAX_FINISHED_CONNECTIONS, MAX_KEY_SEARCH, MAX_NEW_COPIES, MAX_OTHER_ANSWERS,
    MIN_CLIENT_DATAGRAM_LEN,
};
use crate::quic_peers::QuicClose;
use crate::{ClientHello, TlsError, Transport};

/// A part of a handshake.
pub(crate) enum QuicPart<'a> {
    Hello(Found<'a>),
    /// The end of a connection before its ServerHello.
    Close(QuicClose),
}

/// The state of a flow. It needs almost no memory until an Initial packet was decrypted.
///
/// Several connections may share a flow (RFC 9000, section 5.2). Connection ids tell which keys to try; the authentication
/// tag of a packet decides.
#[derive(Debug, Default)]
pub(crate) struct QuicFlow {
    /// In the order of their latest Initial packets.
    connections: Vec<Slot>,
    /// A datagram, probably of the server, that arrived before the client's first packet.
    early: Option<Box<Early>>,
    /// Heap memory of the flow, in bytes.
    pub(crate) buffered_bytes: usize,
    /// Datagrams since the latest Initial packet.
    quiet: u8,
    /// Whether a hello was found.
    pub(crate) has_found_hello: bool,
    /// The random of a ClientHello that repeats another one with other numbers and keys, after a Retry.
    renewed_random: Option<Box<[u8; 32]>>,
}

#[derive(Debug)]
enum Slot {
    Open(Box<Followed>),
    Finished(Box<Finished>),
}

/// A connection that may yield a hello.
#[derive(Debug)]
struct Followed {
    connection: Connection,
    /// The connection id in the server's Retry, which the client's next connection uses, and the length of its token.
    retry: Option<(ConnectionId, u32)>,
    /// Whether the server answered with a Version Negotiation, and the client has not started again since.
    has_version_negotiation: bool,
    /// The hash of its ClientHello, once that is no longer buffered.
    hello: Option<u64>,
    /// Whether its completion counts.
    counts: bool,
    /// Whether all its packets were in datagrams that a server discards (RFC 9000, section 14.1).
    is_short: bool,
}

/// A connection that yields no further hello, by which its late packets are recognised.
#[derive(Debug)]
struct Finished {
    client: Side,
    version: u32,
    destination: ConnectionId,
    client_id: ConnectionId,
    server_id: Option<ConnectionId>,
    /// The hash of its ClientHello.
    hello: Option<u64>,
    /// The hashes of the ServerHellos of others.
    other_answers: Vec<u64>,
}

#[derive(Debug)]
struct Early {
    sender: Side,
    datagram: Box<[u8]>,
}

/// What is known of the datagram that is being read.
struct Arrival<'a> {
    sender: Side,
    /// Destination connection id of its first Initial packet, by which servers choose the connection (RFC 9000, section
    /// 12.2).
    first: &'a [u8],
    is_short: bool,
    /// Whether it was read before.
    again: bool,
    /// Units of work left to look for keys.
    search: u8,
    /// Copies of streams that it may add.
    copies: u8,
    /// Whether it has started a connection.
    has_started: bool,
}

impl QuicFlow {
    /// Parses the next UDP payload of either side and emits complete hellos.
    #[inline]
    pub(crate) fn on_datagram(
        &mut self,
        payload: &[u8],
        sender: Side,
        scratch: &mut Scratch,
        counters: &mut QuicCounters,
        found: &mut impl FnMut(QuicPart<'_>),
    ) {
        // Almost all datagrams have only a short header.
        if payload.first().is_none_or(|first| first & 0x80 == 0) {
            self.on_quiet_datagram();
            return;
        }
        for datagram in datagrams(payload) {
            self.on_long_header(datagram, sender, scratch, counters, found);
        }
        self.measure();
    }

    fn on_long_header(
        &mut self,
        datagram: &[u8],
        sender: Side,
        scratch: &mut Scratch,
        counters: &mut QuicCounters,
        found: &mut impl FnMut(QuicPart<'_>),
    ) {
        if self.read(datagram, sender, false, scratch, counters, found)
            && let Some(early) = self.early.take_if(|early| early.sender != sender)
        {
            self.read(&early.datagram, early.sender, true, scratch, counters, found);
        }
    }

    /// Takes the random of a ClientHello that was not emitted, because it repeats another one.
    pub(crate) fn take_renewed_random(&mut self) -> Option<Box<[u8; 32]>> {
        self.renewed_random.take()
    }

    /// Reads the packets of a datagram. Returns whether one of them started a connection.
    fn read(
        &mut self,
        datagram: &[u8],
        sender: Side,
        again: bool,
        scratch: &mut Scratch,
        counters: &mut QuicCounters,
        found: &mut impl FnMut(QuicPart<'_>),
    ) -> bool {
        let mut first = None;
        let mut arrival = Arrival {
            sender,
            first: &[],
            is_short: datagram.len() < MIN_CLIENT_DATAGRAM_LEN,
            again,
            search: MAX_KEY_SEARCH,
            copies: MAX_NEW_COPIES,
            has_started: false,
        };
        let (mut quiet, mut sealed) = (true, false);
        for packet in Packets::new(datagram) {
            match packet {
                Ok(Packet::Initial(packet)) => {
                    arrival.first = first.get_or_insert(packet.destination);
                    let Some(outcome) = self.on_initial(&packet, &mut arrival, scratch, counters, found)
                    else {
                        continue;
                    };
                    quiet = false;
                    if outcome == Err(QuicError::Sealed.into()) {
                        if again {
                            continue;
                        }
                        if !std::mem::replace(&mut sealed, true) && datagram.len() <= MAX_EARLY_DATAGRAM_LEN {
                            self.early = Some(Box::new(Early { sender, datagram: datagram.into() }));
                        }
                    }
                    counters.count(outcome);
                    if arrival.search == 0 {
                        break;
                    }
                }
                Ok(Packet::ZeroRtt) => quiet = false,
                Ok(Packet::Retry { destination, source, token_len }) => {
                    self.on_retry(destination, (source, token_len), sender);
                }
                Ok(Packet::VersionNegotiation { destination, source }) => {
                    self.on_version_negotiation(destination, source, sender);
                }
                // Other packets name no keys.
                Ok(Packet::Handshake | Packet::Other) => {}
                Err(error) if !again => counters.count(Err(error.into())),
                Err(_) => {}
            }
        }
        if quiet {
            self.on_quiet_datagram();
        } else {
            self.quiet = 0;
        }
        arrival.has_started
    }

    /// Returns the result of a packet; `None` if its connection has ended.
    fn on_initial(
        &mut self,
        packet: &Initial<'_>,
        arrival: &mut Arrival<'_>,
        scratch: &mut Scratch,
        counters: &mut QuicCounters,
        found: &mut impl FnMut(QuicPart<'_>),
    ) -> Option<Result<(), TlsError>> {
        if packet.cut.is_some() {
            self.on_cut_initial(packet, arrival, counters);
            return None;
        }
        let sender = arrival.sender;
        for wanted in [Match::Exact, Match::Possible] {
            for index in (0..self.connections.len()).rev() {
                let Some(Slot::Open(followed)) = self.connections.get_mut(index) else { continue };
                let connection = &mut followed.connection;
                if connection.matches(packet, sender) != wanted || !arrival.spend(1) {
                    continue;
                }
                let Some(opened) = connection.open(packet, sender, scratch) else { continue };
                let Slot::Open(followed) = self.connections.remove(index) else { continue };
                let (_, outcome) = self.advance(followed, opened.frames(scratch), arrival, counters, found);
                return Some(outcome);
            }
        }
        for slot in &mut self.connections {
            if let Slot::Finished(finished) = slot
                && finished.has_late_packet(packet, sender)
            {
                finished.read_other_answer(packet, arrival, scratch, found);
                return None;
            }
        }
        self.start(packet, arrival, scratch, counters, found)
    }

    /// Starts a connection. A client's first packet, also after a Retry, determines the keys itself (RFC 9001, section 5.2);
    /// some servers take those of the first packet of the datagram.
    fn start(
        &mut self,
        packet: &Initial<'_>,
        arrival: &mut Arrival<'_>,
        scratch: &mut Scratch,
        counters: &mut QuicCounters,
        found: &mut impl FnMut(QuicPart<'_>),
    ) -> Option<Result<(), TlsError>> {
        let sender = arrival.sender;
        let is_other = arrival.first != packet.destination;
        let destinations = [packet.destination, arrival.first];
        let destinations = destinations.get(..if is_other { 2 } else { 1 }).unwrap_or_default();
        let mut started = None;
        for destination in destinations {
            let cost = if scratch.has_keys(packet.version, destination) { 1 } else { KEY_DERIVATION };
            if !arrival.spend(cost) {
                break;
            }
            started = Connection::start(packet, sender, destination, scratch);
            if started.is_some() {
                break;
            }
        }
        let Some((mut connection, opened)) = started else { return Some(Err(QuicError::Sealed.into())) };
        arrival.has_started = true;
        let id = connection.destination;
        let is_late = self.finished().any(|finished| finished.has_started_with(&connection));
        if is_late {
            connection.set_conflict();
        }
        let mut counts = !is_late;
        let mut is_counted = is_late;
        for slot in &mut self.connections {
            let Slot::Open(previous) = slot else { continue };
            if previous.connection.client != sender {
                continue;
            }
            if let Some((retry, token_len)) = previous.retry
                && retry.is(id.bytes())
            {
                is_counted = true;
                counts = std::mem::take(&mut previous.counts);
                connection.set_after_retry(token_len);
            }
            if previous.connection.version != packet.version
                && std::mem::take(&mut previous.has_version_negotiation)
            {
                connection.set_after_version_negotiation();
            }
        }
        if !is_counted {
            counters.connections = counters.connections.saturating_add(1);
        }
        let followed = Followed { counts, ..Followed::new(connection) };
        let (is_repetition, outcome) =
            self.advance(Box::new(followed), opened.frames(scratch), arrival, counters, found);
        (!is_late || !is_repetition).then_some(outcome)
    }

    /// Processes the frames of a packet. Returns whether they repeat the hello of another connection.
    fn advance(
        &mut self,
        mut followed: Box<Followed>,
        frames: InitialFrames<'_>,
        arrival: &mut Arrival<'_>,
        counters: &mut QuicCounters,
        found: &mut impl FnMut(QuicPart<'_>),
    ) -> (bool, Result<(), TlsError>) {
        let connections = &self.connections;
        let Followed { connection, hello, counts, is_short, .. } = &mut *followed;
        let (client, destination) = (connection.client, connection.destination);
        let (mut is_repetition, mut has_found) = (false, false);
        let renewed_random = &mut self.renewed_random;
        let mut each = |message: Found<'_>| {
            let mut conflict = message.conflict;
            if message.sender == client && !message.retry {
                let hash = hash_of(message.message);
                let known = *hello;
                hello.get_or_insert(hash);
                conflict |= known.is_some();
                if known == Some(hash)
                    || connections
                        .iter()
                        .any(|slot| slot.repeats(message.message, hash, client, &destination))
                {
                    is_repetition = true;
                    // The random follows the header and the version.
                    let random = message.message.get(6..).and_then(<[u8]>::first_chunk);
                    *renewed_random = random.map(|random| Box::new(*random));
                    return;
                }
            }
            has_found = true;
            found(QuicPart::Hello(Found { conflict, ..message }));
        };
        let outcome = connection.read(frames, arrival.sender, Some(&mut arrival.copies), &mut each);
        if let Some(close) = connection.take_close() {
            found(QuicPart::Close(close));
        }
        self.has_found_hello |= has_found;
        *is_short &= arrival.is_short;
        if connection.has_client_hello() && std::mem::take(counts) {
            counters.complete = counters.complete.saturating_add(1);
        }
        is_repetition &= !has_found;
        let is_late = self.finished().any(|finished| finished.has_started_with(&followed.connection));
        if !(is_repetition && is_late) {
            self.keep(followed, counters);
        }
        (is_repetition, outcome)
    }

    /// Follows the connection of a packet that cannot be authenticated, because its end is missing. Its header has the
    /// connection id from which the keys of the answer derive.
    fn on_cut_initial(
        &mut self,
        packet: &Initial<'_>,
        arrival: &mut Arrival<'_>,
        counters: &mut QuicCounters,
    ) {
        let sender = arrival.sender;
        if !arrival.again {
            counters.cut = counters.cut.saturating_add(1);
        }
        let is_known = self.connections.iter().any(|slot| match slot {
            Slot::Open(followed) => followed.connection.matches(packet, sender) == Match::Exact,
            Slot::Finished(finished) => {
                finished.has_late_packet(packet, sender) || finished.destination.is(packet.destination)
            }
        });
        if !is_known {
            arrival.has_started = true;
            let connection = Connection::new(packet, sender, packet.destination);
            self.keep(Box::new(Followed::new(connection)), counters);
        }
    }

    /// Records the connection id with which the client continues (RFC 9000, section 17.2.5.2).
    fn on_retry(&mut self, destination: &[u8], (source, token_len): (&[u8], u32), sender: Side) {
        for slot in &mut self.connections {
            if let Slot::Open(followed) = slot
                && followed.connection.client != sender
                && followed.connection.client_id.is(destination)
                && followed.connection.server_id.is_none()
            {
                // A client accepts the first one only (RFC 9000, section 17.2.5.2).
                followed.retry.get_or_insert((ConnectionId::new(source), token_len));
            }
        }
    }

    /// Records that the client is to start again in another version (RFC 9000, section 6.2).
    fn on_version_negotiation(&mut self, destination: &[u8], source: &[u8], sender: Side) {
        for slot in &mut self.connections {
            if let Slot::Open(followed) = slot
                && followed.connection.client != sender
                && followed.connection.client_id.is(destination)
                && followed.connection.destination.is(source)
                && followed.connection.server_id.is_none()
            {
                followed.has_version_negotiation = true;
            }
        }
    }

    fn on_quiet_datagram(&mut self) {
        self.quiet = self.quiet.saturating_add(1);
        match self.quiet {
            MAX_DATAGRAMS_AFTER_ANSWER => self.early = None,
            MAX_DATAGRAMS_AFTER_HELLO => {
                for slot in &mut self.connections {
                    if let Slot::Open(followed) = slot
                        && followed.connection.has_client_hello()
                    {
                        followed.connection.forget_client_stream();
                    }
                }
            }
            _ => return,
        }
        self.measure();
    }

    /// Adds a connection, and drops another one if there are too many: first a finished one, then one of datagrams that
    /// servers discard, then one whose hello was reported, then the one without a packet for longest.
    fn keep(&mut self, followed: Box<Followed>, counters: &mut QuicCounters) {
        if followed.connection.is_finished() {
            let is_oldest = |slot: &Slot| matches!(slot, Slot::Finished(_));
            if self.finished().count() >= MAX_FINISHED_CONNECTIONS
                && let Some(oldest) = self.connections.iter().position(is_oldest)
            {
                self.connections.remove(oldest);
            }
            self.connections.push(Slot::Finished(Box::new(Finished::new(&followed))));
            return;
        }
        if self.connections.len() >= MAX_CONNECTIONS_PER_FLOW {
            let least = self.connections.iter().enumerate().min_by_key(|(_, slot)| slot.worth());
            let dropped = least.map(|(index, _)| index).map(|index| self.connections.remove(index));
            if let Some(Slot::Open(dropped)) = dropped
                && dropped.counts
            {
                counters.given_up = counters.given_up.saturating_add(1);
            }
        }
        self.connections.push(Slot::Open(followed));
    }

    fn finished(&self) -> impl Iterator<Item = &Finished> {
        self.connections.iter().filter_map(|slot| match slot {
            Slot::Finished(finished) => Some(&**finished),
            Slot::Open(_) => None,
        })
    }

    fn measure(&mut self) {
        let early =
            self.early.as_ref().map_or(0, |early| size_of::<Early>().saturating_add(early.datagram.len()));
        let slots = self.connections.capacity().saturating_mul(size_of::<Slot>());
        self.buffered_bytes = self.connections.iter().fold(early.saturating_add(slots), |sum, slot| {
            sum.saturating_add(match slot {
                Slot::Open(followed) => {
                    size_of::<Followed>().saturating_add(followed.connection.buffered_bytes())
                }
                Slot::Finished(finished) => {
                    let answers = finished.other_answers.capacity().saturating_mul(size_of::<u64>());
                    size_of::<Finished>().saturating_add(answers)
                }
            })
        });
    }
}

impl Followed {
    const fn new(connection: Connection) -> Self {
        Self {
            connection,
            retry: None,
            has_version_negotiation: false,
            hello: None,
            counts: false,
            is_short: true,
        }
    }
}

impl Arrival<'_> {
    /// Takes units of work. Returns false if too few are left.
    fn spend(&mut self, units: u8) -> bool {
        match self.search.checked_sub(units) {
            Some(left) => {
                self.search = left;
                true
            }
            None => {
                self.search = 0;
                false
            }
        }
    }
}

impl Slot {
    /// The order in which connections are dropped, lowest first.
    fn worth(&self) -> u8 {
        match self {
            Self::Finished(_) => 0,
            Self::Open(followed) if followed.is_short => 1,
            Self::Open(followed) if followed.connection.has_client_hello() => 2,
            Self::Open(_) => 3,
        }
    }

    /// Whether this ClientHello of another connection repeats the one of this connection.
    ///
    /// After a Retry the client sends the same hello again (RFC 9000, section 17.2.5.3); the capture may lack the Retry. Some
    /// clients change numbers and keys in it (aioquic).
    fn repeats(&self, message: &[u8], hash: u64, client: Side, destination: &ConnectionId) -> bool {
        match self {
            Self::Open(followed) => {
                followed.connection.client == client
                    && (followed.hello == Some(hash)
                        || followed.retry.is_some_and(|(retry, _)| retry.is(destination.bytes()))
                            && followed
                                .connection
                                .client_hello()
                                .is_some_and(|known| has_same_offer(known, message)))
            }
            Self::Finished(finished) => finished.client == client && finished.hello == Some(hash),
        }
    }
}

impl Finished {
    fn new(followed: &Followed) -> Self {
        let connection = &followed.connection;
        Self {
            client: connection.client,
            version: connection.version,
            destination: connection.destination,
            client_id: connection.client_id,
            server_id: connection.server_id,
            hello: followed.hello,
            other_answers: Vec::new(),
        }
    }

    /// Reads the ServerHello of a packet whose sender is not the server that was read: a server keeps its connection id (RFC 9000,
    /// section 7.2). Another sender answered in its name, before it or after it.
    fn read_other_answer(
        &mut self,
        packet: &Initial<'_>,
        arrival: &mut Arrival<'_>,
        scratch: &mut Scratch,
        found: &mut impl FnMut(QuicPart<'_>),
    ) {
        let is_other =
            arrival.sender != self.client && self.server_id.is_some_and(|id| !id.is(packet.source));
        let known = &mut self.other_answers;
        if !is_other || known.len() >= MAX_OTHER_ANSWERS || !arrival.spend(KEY_DERIVATION) {
            return;
        }
        let mut other = Connection::new(packet, self.client, self.destination.bytes());
        if let Some(opened) = other.open(packet, arrival.sender, scratch) {
            // What cannot be read is no answer.
            _ = other.read(opened.frames(scratch), arrival.sender, None, &mut |hello| {
                let hash = hash_of(hello.message);
                if !known.contains(&hash) {
                    known.push(hash);
                    found(QuicPart::Hello(Found { conflict: true, ..hello }));
                }
            });
        }
    }

    /// Whether a packet goes to an id that a side chose in this connection.
    fn has_late_packet(&self, packet: &Initial<'_>, sender: Side) -> bool {
        if sender == self.client {
            self.server_id.is_some_and(|id| id.is(packet.destination))
        } else {
            self.client_id.is(packet.destination)
        }
    }

    /// Whether a connection has the same keys: a repetition of this one, or another one in its place.
    fn has_started_with(&self, connection: &Connection) -> bool {
        self.client == connection.client
            && self.version == connection.version
            && self.destination.is(connection.destination.bytes())
    }
}

/// The hash of a message, with a seed of this process.
fn hash_of(message: &[u8]) -> u64 {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    SEED.hash_one(message)
}

/// Whether two ClientHellos differ only in random numbers and keys.
fn has_same_offer(known: &[u8], message: &[u8]) -> bool {
    let parse = |message| ClientHello::parse_message(message, Transport::Quic);
    let (Ok(known), Ok(hello)) = (parse(known), parse(message)) else { return false };
    known.server_name() == hello.server_name()
        && known.alpn().eq(hello.alpn())
        && known.kinds().eq(hello.kinds())
        && known.fingerprinted_parts() == hello.fingerprinted_parts()
}
