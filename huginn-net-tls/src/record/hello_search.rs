//! Finds hellos in one direction of a stream, after any other protocol.

use std::sync::LazyLock;

use huginn_net_wire::{Side, after_proxy_prefixes};
use memchr::memmem::Finder;

use super::sslv2;
use crate::Transport;
use crate::counters::SearchCounters;
use crate::hello::Hello;
use crate::limits::{
    MAX_HELLO_READ_BYTES, MAX_HELLOS_PER_SIDE, MAX_READ_BYTES, MAX_RESCAN_BYTES, MAX_SEARCH_BYTES,
};
use crate::record::{self, Item, Probe, RecordReader, ServerHelloFacts};

/// Searches one direction of a stream for hellos.
///
/// TLS starts with a record that contains a hello, whatever precedes it. A false start does not hide a hello after its
/// first byte, nor does a hello that no handshake follows.
#[derive(Debug, Default)]
pub(crate) struct HelloSearch {
    state: State,
    /// The bytes since the start of a hello that is incomplete, without those of the latest piece.
    #[expect(clippy::box_collection, reason = "rarely there, and each connection has two searches")]
    since_start: Option<Box<Vec<u8>>>,
    /// Bytes read.
    taken: u32,
    hellos: u8,
    /// Bytes searched again.
    rescanned: u32,
    /// Whether the handshake is followed after the hellos.
    follows: bool,
    /// Whether the other side began a handshake, which an alert may answer.
    peer_began: bool,
}

/// A hello of the other side.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PeerHello {
    Client,
    Server(ServerHelloFacts),
}

impl PeerHello {
    /// `awaits_hello`: the client owes a second hello.
    pub(crate) fn new(hello: &Hello<'_>, awaits_hello: bool) -> Self {
        match hello {
            Hello::Client(_) => Self::Client,
            Hello::Server(hello) => Self::Server(ServerHelloFacts {
                is_retry_request: hello.is_retry_request(),
                is_tls13: hello.encrypts_handshake(),
                awaits_hello,
            }),
        }
    }
}

#[derive(Debug, Default)]
enum State {
    /// At the start of the stream, where an SSL 2.0 hello may be; with its bytes so far.
    Start(Vec<u8>),
    /// Before the first record; with trailing bytes that may start one.
    Searching(Vec<u8>),
    /// In TLS.
    Reading(RecordReader),
    #[default]
    Done,
}

impl State {
    /// The state at the start of a record.
    fn reading(follows: bool) -> Self {
        let mut reader = RecordReader::default();
        if follows {
            reader.follow();
        }
        Self::Reading(reader)
    }
}

impl HelloSearch {
    /// Creates a search from the first byte of a stream.
    pub(crate) const fn from_start() -> Self {
        Self::in_state(State::Start(Vec::new()))
    }

    /// Creates a search in a stream whose first bytes are missing.
    pub(crate) const fn from_midstream() -> Self {
        Self::in_state(State::Searching(Vec::new()))
    }

    /// Follows the handshake after the hellos, if `follows`.
    pub(crate) fn following(mut self, follows: bool) -> Self {
        self.follows = follows;
        self
    }

    /// Processes a hello of the other side.
    pub(crate) fn on_peer_hello(&mut self, hello: PeerHello) {
        self.peer_began = true;
        if let (State::Reading(reader), PeerHello::Server(hello)) = (&mut self.state, hello) {
            reader.on_server_hello(hello);
        }
    }

    /// Whether the search reads records.
    pub(crate) fn is_in_records(&self) -> bool {
        matches!(self.state, State::Reading(_))
    }

    /// Creates a search after `taken` bytes that were a record with a ClientHello.
    pub(crate) fn after_hello(taken: usize, early_data: bool) -> Self {
        let taken_here = u32::try_from(taken).unwrap_or(u32::MAX);
        let state = State::Reading(RecordReader::after_hello(taken, early_data));
        Self { state, taken: taken_here, hellos: 1, ..Self::in_state(State::Done) }
    }

    const fn in_state(state: State) -> Self {
        Self {
            state,
            since_start: None,
            taken: 0,
            hellos: 0,
            rescanned: 0,
            follows: false,
            peer_began: false,
        }
    }

    /// Parses the next bytes and emits complete hellos.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        search: &mut SearchCounters,
        found: &mut (impl FnMut(Item<'_>) + ?Sized),
    ) {
        self.taken = self.taken.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.advance(bytes, search, found);
        let limit = match &self.state {
            State::Start(_) | State::Searching(_) => MAX_SEARCH_BYTES,
            State::Reading(_) if self.hellos == 0 => MAX_HELLO_READ_BYTES,
            State::Reading(_) => MAX_READ_BYTES,
            State::Done => return,
        };
        if self.taken > limit {
            let is_reading = matches!(self.state, State::Reading(_));
            self.state = State::Done;
            self.since_start = None;
            if self.hellos == 0 {
                search.given_up = search.given_up.saturating_add(1);
                search.too_long = search.too_long.saturating_add(is_reading.into());
            }
        }
    }

    /// Records missing bytes, which end an incomplete hello.
    pub(crate) fn gap(&mut self) {
        self.since_start = None;
        if !self.is_done() {
            self.state = State::Searching(Vec::new());
        }
    }

    /// Searches an incomplete hello for a complete one, because the other side has answered. If there is none, the rest of the
    /// incomplete one may be captured late.
    pub(crate) fn reconsider(
        &mut self,
        search: &mut SearchCounters,
        found: &mut (impl FnMut(Item<'_>) + ?Sized),
    ) {
        if self.hellos == 0
            && let Some(since_start) = &self.since_start
        {
            let mut inner = Self {
                taken: self.taken,
                rescanned: self.rescanned,
                ..Self::from_midstream().following(self.follows)
            };
            let mut counters = *search;
            inner.advance(since_start.get(1..).unwrap_or_default(), &mut counters, found);
            if inner.hellos > 0 {
                (*self, *search) = (inner, counters);
            }
        }
    }

    /// Whether no further hello can be found.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Heap memory in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let state = match &self.state {
            State::Start(bytes) | State::Searching(bytes) => bytes.capacity(),
            State::Reading(reader) => reader.buffered_bytes(),
            State::Done => 0,
        };
        let since_start = self
            .since_start
            .as_deref()
            .map_or(0, |bytes| size_of_val(bytes).saturating_add(bytes.capacity()));
        state.saturating_add(since_start)
    }

    /// Whether the next bytes may be an alert that answers the hello of the other side.
    fn may_begin_with_alert(&self) -> bool {
        self.follows
            && self.peer_began
            && matches!(&self.state, State::Start(buffered) | State::Searching(buffered) if buffered.is_empty())
    }

    fn advance(
        &mut self,
        mut bytes: &[u8],
        search: &mut SearchCounters,
        found: &mut (impl FnMut(Item<'_>) + ?Sized),
    ) {
        while !bytes.is_empty() {
            if self.may_begin_with_alert() {
                match record::probe_alert(bytes) {
                    Probe::Yes => self.state = State::reading(self.follows),
                    Probe::Unsure => {
                        self.state = State::Searching(bytes.to_vec());
                        return;
                    }
                    Probe::No => {}
                }
            }
            let may_be_alert = self.follows && self.peer_began;
            match &mut self.state {
                State::Start(_) => match self.start(bytes, search, found) {
                    Some(rest) => bytes = rest,
                    None => return,
                },
                State::Searching(buffered) if buffered.is_empty() => match find(bytes) {
                    Some((offset, Probe::Yes)) => {
                        bytes = bytes.get(offset..).unwrap_or_default();
                        self.state = State::reading(self.follows);
                    }
                    Some((offset, _)) => {
                        let start = bytes.get(offset..).unwrap_or_default();
                        self.state = State::Searching(start.to_vec());
                        return;
                    }
                    None => return,
                },
                // A few trailing bytes may start a record: the next byte decides or is buffered too.
                State::Searching(buffered) => {
                    let (first, rest) = bytes.split_at_checked(1).unwrap_or_default();
                    buffered.extend_from_slice(first);
                    bytes = rest;
                    let is_unsure = record::probe(buffered) == Probe::Unsure
                        || may_be_alert && record::probe_alert(buffered) == Probe::Unsure;
                    if !is_unsure {
                        let buffered = std::mem::take(buffered);
                        self.advance(&buffered, search, found);
                    }
                }
                State::Reading(_) => match self.read(bytes, search, found) {
                    Some(rest) => bytes = rest,
                    None => return,
                },
                State::Done => return,
            }
        }
    }

    /// Detects the start of the stream, given enough bytes. Returns the bytes to search next.
    fn start<'b>(
        &mut self,
        bytes: &'b [u8],
        search: &mut SearchCounters,
        found: &mut (impl FnMut(Item<'_>) + ?Sized),
    ) -> Option<&'b [u8]> {
        let State::Start(buffered) = &mut self.state else { return None };
        let is_first_piece = buffered.is_empty();
        if !is_first_piece {
            buffered.extend_from_slice(bytes);
        }
        let state = match Start::detect(if is_first_piece { bytes } else { buffered }) {
            Start::Record => State::reading(self.follows),
            Start::Other => State::Searching(Vec::new()),
            Start::Hello(message) => {
                self.state = State::Done;
                if let Ok(hello) = Hello::from_message(&message, Transport::Tls) {
                    found(Item::Hello(hello));
                }
                return None;
            }
            Start::Unsure => {
                if is_first_piece {
                    buffered.extend_from_slice(bytes);
                }
                return None;
            }
        };
        let buffered = std::mem::take(buffered);
        self.state = state;
        if is_first_piece {
            return Some(bytes);
        }
        self.advance(&buffered, search, found);
        None
    }

    /// Reads records. Returns the bytes to search again after a false start.
    fn read<'b>(
        &mut self,
        bytes: &'b [u8],
        search: &mut SearchCounters,
        found: &mut (impl FnMut(Item<'_>) + ?Sized),
    ) -> Option<&'b [u8]> {
        let Self { state: State::Reading(reader), hellos, since_start, .. } = self else { return None };
        let before = *hellos;
        let is_new_reader = reader.is_new();
        let outcome = reader.push(bytes, &mut |item| {
            *hellos = hellos.saturating_add(matches!(item, Item::Hello(_)).into());
            found(item);
        });
        let has_found = *hellos > before;
        let Err(stop) = outcome else {
            let len = since_start.as_ref().map_or(0, |bytes| bytes.len()).saturating_add(bytes.len());
            if !has_found && before == 0 && len <= MAX_SEARCH_BYTES as usize {
                since_start.get_or_insert_default().extend_from_slice(bytes);
            } else {
                *since_start = None;
            }
            return None;
        };
        if stop.is_unreadable_hello() {
            search.malformed = search.malformed.saturating_add(1);
        }
        let since_start = std::mem::take(since_start);
        if *hellos >= MAX_HELLOS_PER_SIDE {
            self.state = State::Done;
            search.given_up = search.given_up.saturating_add(1);
            return None;
        }
        self.state = State::Searching(Vec::new());
        let rest = bytes.get(stop.taken.max(usize::from(is_new_reader))..);
        if *hellos > 0 {
            return rest;
        }
        let again = since_start.as_ref().map_or(0, |bytes| bytes.len()).saturating_add(stop.taken);
        self.rescanned = self.rescanned.saturating_add(u32::try_from(again).unwrap_or(u32::MAX));
        if self.rescanned > MAX_RESCAN_BYTES {
            return rest;
        }
        let Some(since_start) = since_start else { return bytes.get(usize::from(is_new_reader)..) };
        // The false start began in an earlier piece.
        let bytes = [&since_start, bytes].concat();
        self.advance(bytes.get(1..).unwrap_or_default(), search, found);
        None
    }
}

/// The detected start of a stream.
enum Start {
    /// A record with a hello.
    Record,
    /// An SSL 2.0 hello, converted to a TLS message.
    Hello(Vec<u8>),
    /// Anything else.
    Other,
    /// More bytes are needed.
    Unsure,
}

impl Start {
    fn detect(bytes: &[u8]) -> Self {
        match (record::probe_first(bytes), sslv2::probe(bytes)) {
            (Probe::Yes, _) => Self::Record,
            (_, Probe::Yes) if sslv2::record_len(bytes).is_some_and(|len| bytes.len() < len) => Self::Unsure,
            (_, Probe::Yes) => sslv2::to_message(bytes).map_or(Self::Other, Self::Hello),
            (Probe::Unsure, _) | (_, Probe::Unsure) => Self::Unsure,
            (Probe::No, Probe::No) => Self::Other,
        }
    }
}

/// Finds the first position where a record with a hello starts or may start.
fn find(bytes: &[u8]) -> Option<(usize, Probe)> {
    /// A single byte of this pattern occurs in any file every few hundred bytes.
    static RECORD_START: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(&record::RECORD_START));
    let last = bytes.len().checked_sub(1).filter(|&last| bytes.get(last) == record::RECORD_START.first());
    RECORD_START.find_iter(bytes).chain(last).find_map(|offset| {
        let probe = record::probe(bytes.get(offset..)?);
        (probe != Probe::No).then_some((offset, probe))
    })
}

/// The sender of these bytes, if a hello is at their start, after a proxy prefix, or after a ChangeCipherSpec.
pub(crate) fn hello_sender(bytes: &[u8]) -> Option<Side> {
    /// RFC 8446, section D.4: before the second ClientHello.
    const CHANGE_CIPHER_SPEC: &[u8] = b"\x14\x03\x03\0\x01\x01";
    record::hello_sender(bytes).or_else(|| {
        let rest = after_proxy_prefixes(Side::Client, bytes);
        record::hello_sender(rest.strip_prefix(CHANGE_CIPHER_SPEC).unwrap_or(rest))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Bytes that start records, and others, also at the end of a piece.
        #[test]
        fn finds_first_possible_record(
            bytes in prop::collection::vec(prop::sample::select(vec![22, 3, 1, 0, 2, 60, 255]), 0..40),
        ) {
            let mut candidates = (0..bytes.len()).map(|offset| (offset, record::probe(&bytes[offset..])));
            let first = candidates.find(|(_, probe)| *probe != Probe::No);
            prop_assert_eq!(find(&bytes), first);
        }
    }
}
