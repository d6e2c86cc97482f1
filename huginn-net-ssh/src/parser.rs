//! The SSH stream parser.

use huginn_net_core::{Probe, Side, StreamData, StreamParser, StreamStart};
use huginn_net_wire::{ProxyPrefix, Skipped, after_proxy_prefixes};
use memchr::memchr2;

use crate::identification::PREFIX;
use crate::{Identification, KexInit, SshError, SshMessage, SshParserCounters, SshReader};

/// Parses both directions of a TCP connection up to the SSH_MSG_KEXINITs.
///
/// [`SshPeers`](crate::SshPeers) combines the events to one report for each side.
#[derive(Debug)]
pub struct SshParser(Progress);

/// What is known of the connection. Most connections do not use SSH, and their parsers allocate nothing.
#[derive(Debug)]
enum Progress {
    /// The client uses another protocol, and the server has sent nothing.
    OtherClient,
    Reading(Box<Connection>),
    /// Neither side uses SSH.
    NotSsh,
}

#[derive(Debug)]
struct Connection {
    client: Direction,
    server: Direction,
    /// Whether a side supports only version 1: then neither sends an SSH_MSG_KEXINIT.
    is_version_1: bool,
}

/// An event of an [`SshParser`]. The identification string of a side is followed by one of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SshStreamEvent {
    /// The identification string.
    Identification(Identification<'static>),
    /// The SSH_MSG_KEXINIT.
    KexInit(KexInit<'static>),
    /// No SSH_MSG_KEXINIT: bytes are missing or malformed, a side supports only version 1, or the sender disconnects first.
    NoKexInit,
}

#[derive(Debug)]
struct Direction {
    /// What may precede SSH, until it begins.
    prefix: Option<ProxyPrefix>,
    reader: SshReader,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the end of the identification string.
    Unidentified,
    /// After the identification string, before the SSH_MSG_KEXINIT.
    Identified,
    /// The direction was read completely.
    Finished,
    /// The side does not use SSH.
    NotSsh,
}

impl StreamParser for SshParser {
    type Event = SshStreamEvent;
    type Counters = SshParserCounters;
    type Settings = ();

    /// A server may send lines of text before its identification string, also to a client that does not use SSH. So other
    /// first bytes rule out nothing, except a NUL byte in the first line of a server.
    fn probe(sender: Side, first: &[u8]) -> Probe {
        if after_proxy_prefixes(sender, first).starts_with(PREFIX) {
            Probe::Certain
        } else if sender == Side::Server
            && memchr2(0, b'\n', first).is_some_and(|at| first.get(at) == Some(&0))
        {
            Probe::NotForUs
        } else {
            Probe::Unsure
        }
    }

    fn new(_: StreamStart, (): ()) -> Self {
        Self(Progress::Reading(Box::new(Connection::new())))
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        counters: &mut SshParserCounters,
        emit: &mut impl FnMut(Side, SshStreamEvent),
    ) {
        match (&mut self.0, side, data) {
            (Progress::Reading(connection), ..) => connection.on_data(side, data, counters, emit),
            // Without an SSH client, a server sends its identification string first or not at all.
            (Progress::OtherClient, Side::Server, StreamData::Bytes(bytes))
                if !Identification::may_begin_with(bytes) =>
            {
                self.0 = Progress::NotSsh;
            }
            (Progress::OtherClient, ..) => {
                let mut connection = Box::new(Connection::after_other_client());
                connection.on_data(side, data, counters, emit);
                self.0 = Progress::Reading(connection);
            }
            (Progress::NotSsh, ..) => {}
        }
    }

    #[inline]
    fn reads(&self, side: Side) -> bool {
        match &self.0 {
            Progress::OtherClient => side == Side::Server,
            Progress::Reading(connection) => connection.reads(side),
            Progress::NotSsh => false,
        }
    }

    /// Those of a server matter from its identification string on.
    #[inline]
    fn uncompared(&self, side: Side) -> usize {
        let matters = match &self.0 {
            Progress::Reading(connection) => {
                side == Side::Client || matches!(connection.server.state, State::Identified | State::Finished)
            }
            Progress::OtherClient | Progress::NotSsh => side == Side::Client,
        };
        if matters { 0 } else { usize::MAX }
    }

    /// The algorithms of a server that may have another identification string are not reported with it.
    fn on_conflict(&mut self, side: Side) {
        if let (Progress::Reading(connection), Side::Server) = (&mut self.0, side)
            && connection.server.state == State::Identified
        {
            connection.server.state = State::NotSsh;
        }
    }

    /// A side that has identified itself sends its algorithms next.
    fn needs_state(&self) -> bool {
        match &self.0 {
            Progress::OtherClient | Progress::NotSsh => false,
            Progress::Reading(connection) => {
                let Connection { client, server, .. } = &**connection;
                [client, server].iter().any(|direction| direction.state == State::Identified)
            }
        }
    }

    #[inline]
    fn buffered_bytes(&self) -> usize {
        match &self.0 {
            Progress::OtherClient | Progress::NotSsh => 0,
            Progress::Reading(connection) => {
                size_of::<Connection>().saturating_add(connection.buffered_bytes())
            }
        }
    }

    /// Most connections begin with a client of another protocol.
    fn summarize(
        sender: Side,
        first: &[u8],
        _: StreamStart,
        (): (),
        _: &mut SshParserCounters,
        _: &mut impl FnMut(Side, SshStreamEvent),
    ) -> Option<u8> {
        let may_be_ssh = || {
            Identification::may_begin_with(first)
                || ProxyPrefix::with_connect(Side::Client).may_begin_with(first)
        };
        (sender == Side::Client && !may_be_ssh()).then_some(0)
    }

    fn resume(_: StreamStart, (): (), _: Side, _: usize, _: u8) -> Self {
        Self(Progress::OtherClient)
    }
}

impl Connection {
    const fn new() -> Self {
        Self {
            client: Direction::new(Side::Client),
            server: Direction::new(Side::Server),
            is_version_1: false,
        }
    }

    /// The state after first bytes of a client that uses neither SSH nor a proxy: no answer of a proxy precedes the server's bytes.
    fn after_other_client() -> Self {
        Self {
            client: Direction::in_state(State::NotSsh),
            server: Direction::in_state(State::Unidentified),
            is_version_1: false,
        }
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        counters: &mut SshParserCounters,
        emit: &mut impl FnMut(Side, SshStreamEvent),
    ) {
        let before;
        let data = match data {
            StreamData::Bytes(bytes) => {
                let direction = side.choose(&mut self.client, &mut self.server);
                match direction.prefix.as_mut().map_or(Skipped::To(0), |prefix| prefix.push(bytes)) {
                    Skipped::All => return,
                    Skipped::To(len) => StreamData::Bytes(bytes.get(len..).unwrap_or_default()),
                    Skipped::Other(first) => {
                        before = first;
                        StreamData::Bytes(&before)
                    }
                }
            }
            StreamData::Gap(missing) => StreamData::Gap(missing),
        };
        let Self { client, server, is_version_1 } = self;
        side.choose(&mut *client, &mut *server).prefix = None;
        // Only a server sends lines before its identification string, and only to SSH clients.
        let may_send_lines = side == Side::Server && client.state != State::NotSsh;
        let direction = side.choose(&mut *client, &mut *server);
        match data {
            StreamData::Bytes(bytes) if may_send_lines || direction.may_begin_with_identification(bytes) => {
                *is_version_1 |= direction.read(bytes, counters, &mut |event| emit(side, event));
            }
            StreamData::Bytes(_) | StreamData::Gap(_) => direction.give_up(&mut |event| emit(side, event)),
        }
        if *is_version_1 {
            for (side, direction) in [(Side::Client, &mut *client), (Side::Server, &mut *server)] {
                if direction.state == State::Identified {
                    direction.give_up(&mut |event| emit(side, event));
                }
            }
        }
        if client.state == State::NotSsh && !server.may_begin_with_identification(&[]) {
            server.give_up(&mut |event| emit(Side::Server, event));
        }
    }

    fn reads(&self, side: Side) -> bool {
        matches!(side.choose(&self.client, &self.server).state, State::Unidentified | State::Identified)
    }

    fn buffered_bytes(&self) -> usize {
        self.client.buffered_bytes().saturating_add(self.server.buffered_bytes())
    }
}

impl Direction {
    const fn new(side: Side) -> Self {
        let prefix = Some(ProxyPrefix::with_connect(side));
        Self { prefix, reader: SshReader::new(), state: State::Unidentified }
    }

    const fn in_state(state: State) -> Self {
        Self { prefix: None, reader: SshReader::new(), state }
    }

    fn buffered_bytes(&self) -> usize {
        let prefix = self.prefix.as_ref().map_or(0, ProxyPrefix::buffered_bytes);
        self.reader.buffered_bytes().saturating_add(prefix)
    }

    /// Parses bytes, and returns whether they contain an identification string of version 1.
    fn read(
        &mut self,
        bytes: &[u8],
        counters: &mut SshParserCounters,
        emit: &mut impl FnMut(SshStreamEvent),
    ) -> bool {
        let Self { reader, state, .. } = self;
        let mut is_version_1 = false;
        let outcome = reader.push(bytes, &mut |message| match message {
            SshMessage::Identification(line) => {
                counters.identifications = counters.identifications.saturating_add(1);
                is_version_1 = line.is_version_1();
                *state = State::Identified;
                emit(SshStreamEvent::Identification(line.into_owned()));
            }
            SshMessage::KexInit(message) => {
                *state = State::Finished;
                emit(SshStreamEvent::KexInit(message.into_owned()));
            }
        });
        if outcome.is_err_and(|error| error != SshError::Disconnected) && *state == State::Identified {
            counters.malformed = counters.malformed.saturating_add(1);
        }
        if reader.is_done() {
            self.give_up(emit);
        }
        is_version_1
    }

    /// Stops reading this direction.
    fn give_up(&mut self, emit: &mut impl FnMut(SshStreamEvent)) {
        let state = match self.state {
            State::Identified => {
                emit(SshStreamEvent::NoKexInit);
                State::Finished
            }
            State::Finished => State::Finished,
            State::Unidentified | State::NotSsh => State::NotSsh,
        };
        *self = Self::in_state(state);
    }

    /// Whether the side sent its identification string, or the bytes so far with `next` may begin one without lines before.
    fn may_begin_with_identification(&self, next: &[u8]) -> bool {
        self.state != State::Unidentified || self.reader.may_begin_with_identification(next)
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod sizes {
    use super::*;
    use crate::SshPeers;
    use crate::sizes::check_size;

    #[test]
    fn sizes_have_reasons() {
        check_size::<SshParser>(16, "per connection with payload: most do not use SSH, so the rest is boxed");
        check_size::<Connection>(168, "per connection that may use SSH: both sides");
        check_size::<Direction>(80, "per side: the start of an incomplete prefix, line or packet");
        check_size::<SshPeers>(8, "per flow: boxed, because few flows use SSH");
        check_size::<SshStreamEvent>(48, "per event: a string or a list of names");
    }
}
