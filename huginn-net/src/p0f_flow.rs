//! How far p0f follows a connection, for the timestamps that it looks at.

use huginn_net_core::{Segment, Side, TcpFlags};
use huginn_net_tcp::ClockReading;

use crate::hosts::{Note, P0fClock};

/// A connection that p0f follows: from its SYN to a FIN or RST, or to where it holds no HTTP that p0f reads.
#[derive(Debug, Default)]
pub(crate) struct P0fFlow {
    clock: P0fClock,
    /// The sequence numbers that p0f waits for, of client and server.
    next: [u32; 2],
    is_answered: bool,
    /// How the client's bytes begin, and how many came.
    start: [u8; 6],
    heard: usize,
    is_asked: bool,
    /// Whether p0f follows it no more.
    is_over: bool,
}

/// How many bytes p0f waits for before it tells whether they begin a request.
const TELLING_BYTES: usize = 15;

impl P0fFlow {
    /// The clocks of its ends.
    pub(crate) fn clock(&self) -> &P0fClock {
        &self.clock
    }

    /// Whether p0f follows it still.
    pub(crate) fn is_followed(&self) -> bool {
        !self.is_over
    }

    /// What p0f looks at in a segment behind the handshake.
    pub(crate) fn on_segment(&mut self, segment: &Segment<'_>, sender: Side) -> Option<Note> {
        let tcp = segment.tcp().filter(|_| !self.is_over)?;
        let [client, server] = &mut self.next;
        let next = sender.choose(client, server);
        if tcp.flags.contains(TcpFlags::SYN) {
            *next = tcp.seq.wrapping_add(1);
            self.is_answered |= sender == Side::Server;
            return None;
        }
        if !self.is_answered {
            self.is_over = true;
            return None;
        }
        if !tcp.flags.closes() {
            if tcp.seq != *next {
                return None;
            }
            *next = next.wrapping_add(u32::try_from(segment.payload.len()).unwrap_or(u32::MAX));
            self.on_bytes(segment.payload, sender);
        }
        self.is_over |= tcp.flags.closes();
        if self.clock.is_decided(sender) {
            return None;
        }
        Some(Note::Timestamp(ClockReading::of(segment)?, self.clock.clone()))
    }

    fn on_bytes(&mut self, bytes: &[u8], sender: Side) {
        if self.is_asked || bytes.is_empty() {
            return;
        }
        if sender == Side::Server {
            self.is_over = true;
            return;
        }
        let room = self.start.get_mut(self.heard..).unwrap_or_default();
        room.iter_mut().zip(bytes).for_each(|(room, byte)| *room = *byte);
        self.heard = self.heard.saturating_add(bytes.len());
        let may_ask = self.start.starts_with(b"GET /") || self.start == *b"HEAD /";
        self.is_over |= self.heard >= TELLING_BYTES && !may_ask;
    }

    /// Takes note of a request, or of something that p0f does not take for one. Behind the first it reads no more.
    pub(crate) fn on_request(&mut self, is_taken: bool) {
        self.is_over |= !is_taken && !self.is_asked;
        self.is_asked |= is_taken;
    }

    /// Takes note of a response: p0f looks no further.
    pub(crate) fn on_response(&mut self) {
        self.is_over = true;
    }
}
