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
}

impl P0fFlow {
    /// The clocks of its ends.
    pub(crate) fn clock(&self) -> &P0fClock {
        &self.clock
    }

    /// What p0f looks at in a segment behind the handshake.
    pub(crate) fn on_segment(&mut self, segment: &Segment<'_>, sender: Side) -> Option<Note> {
        let tcp = segment.tcp()?;
        let [client, server] = &mut self.next;
        let next = sender.choose(client, server);
        if tcp.flags.contains(TcpFlags::SYN) {
            *next = tcp.seq.wrapping_add(1);
            self.is_answered |= sender == Side::Server;
            return None;
        }
        if !self.is_answered {
            return None;
        }
        if !tcp.flags.closes() {
            if tcp.seq != *next {
                return None;
            }
            *next = next.wrapping_add(u32::try_from(segment.payload.len()).unwrap_or(u32::MAX));
        }
        if self.clock.is_decided(sender) {
            return None;
        }
        Some(Note::Timestamp(ClockReading::of(segment)?, self.clock.clone()))
    }
}
