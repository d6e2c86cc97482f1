//! Both directions of a connection, as ordered bytes.

use huginn_net_core::Side;

use crate::{Error, Identification, KexInit, SshCounters, SshEvent, SshMessage, SshPeer, SshReader};

/// Reads both directions of a connection, and reports each side once.
///
/// A side is reported with its SSH_MSG_KEXINIT once that is whole, and without it once it cannot come any more.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    client: Direction,
    server: Direction,
    /// Whether a side speaks version 1: then neither sends an SSH_MSG_KEXINIT.
    is_version_1: bool,
}

#[derive(Debug, Default)]
struct Direction {
    reader: SshReader,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// The identification string has not come yet.
    #[default]
    Unidentified,
    /// The identification string has come, and the SSH_MSG_KEXINIT has not.
    Identified(Identification<'static>),
    /// The side was reported.
    Reported,
    /// The side does not speak SSH.
    NotSsh,
}

impl Connection {
    /// A connection whose client does not speak SSH.
    pub(crate) fn without_client() -> Self {
        let client = Direction { state: State::NotSsh, ..Direction::default() };
        Self { client, ..Self::default() }
    }

    /// Takes the next bytes of a side.
    pub(crate) fn on_bytes(
        &mut self,
        side: Side,
        bytes: &[u8],
        counters: &mut SshCounters,
        emit: &mut impl FnMut(Side, SshEvent),
    ) {
        let Self { client, server, is_version_1 } = self;
        let direction = side.choose(&mut *client, &mut *server);
        if direction.is_finished() {
            return;
        }
        let Direction { reader, state } = direction;
        let mut kex_init = None;
        let outcome = reader.push(bytes, &mut |message| match message {
            SshMessage::Identification(line) => {
                counters.identifications = counters.identifications.saturating_add(1);
                *is_version_1 |= line.is_version_1();
                *state = State::Identified(line.into_owned());
            }
            SshMessage::KexInit(message) => kex_init = Some(message.into_owned()),
        });
        if outcome.is_err_and(|error| error != Error::Disconnected) && state.is_identified() {
            counters.malformed = counters.malformed.saturating_add(1);
        }
        if reader.is_done() {
            direction.finish(side, kex_init, counters, emit);
        }
        if *is_version_1 {
            for (side, direction) in [(Side::Client, &mut *client), (Side::Server, &mut *server)] {
                if direction.state.is_identified() {
                    direction.finish(side, None, counters, emit);
                }
            }
        }
        // Only a server may send lines before its identification string, and it does so to SSH clients.
        client.rule_out_lines();
        if matches!(client.state, State::NotSsh) {
            server.rule_out_lines();
        }
    }

    /// Takes the fact that a side sends no more bytes, or that bytes are missing, after which packets cannot be told
    /// apart.
    pub(crate) fn on_end(
        &mut self,
        side: Side,
        counters: &mut SshCounters,
        emit: &mut impl FnMut(Side, SshEvent),
    ) {
        side.choose(&mut self.client, &mut self.server).finish(side, None, counters, emit);
    }

    /// Whether both sides were reported or ruled out.
    pub(crate) fn is_done(&self) -> bool {
        self.client.is_finished() && self.server.is_finished()
    }

    /// Whether nothing more is read of a side.
    pub(crate) fn is_finished(&self, side: Side) -> bool {
        side.choose(&self.client, &self.server).is_finished()
    }

    /// The memory that buffered bytes take, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.client.buffered_bytes().saturating_add(self.server.buffered_bytes())
    }
}

impl Direction {
    /// Reports the side if it is identified, and stops reading.
    fn finish(
        &mut self,
        side: Side,
        kex_init: Option<KexInit<'static>>,
        counters: &mut SshCounters,
        emit: &mut impl FnMut(Side, SshEvent),
    ) {
        self.state = match std::mem::take(&mut self.state) {
            State::Unidentified | State::NotSsh => State::NotSsh,
            State::Reported => State::Reported,
            State::Identified(identification) => {
                let peer = SshPeer { side, identification, kex_init };
                counters.count(&peer);
                let event = match side {
                    Side::Client => SshEvent::Client(peer),
                    Side::Server => SshEvent::Server(peer),
                };
                emit(side, event);
                State::Reported
            }
        };
        self.reader = SshReader::default();
    }

    /// Stops reading if the first bytes are not the start of an identification string.
    fn rule_out_lines(&mut self) {
        if matches!(self.state, State::Unidentified) && !self.reader.may_begin_with_identification() {
            *self = Self { state: State::NotSsh, ..Self::default() };
        }
    }

    fn is_finished(&self) -> bool {
        matches!(self.state, State::Reported | State::NotSsh)
    }

    fn buffered_bytes(&self) -> usize {
        let identification = match &self.state {
            State::Identified(identification) => identification.as_bytes().len(),
            State::Unidentified | State::Reported | State::NotSsh => 0,
        };
        self.reader.buffered_bytes().saturating_add(identification)
    }
}

impl State {
    fn is_identified(&self) -> bool {
        matches!(self, Self::Identified(_))
    }
}
