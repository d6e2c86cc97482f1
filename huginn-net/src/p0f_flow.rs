//! State of p0f for a connection after its handshake.

use huginn_net_core::{Segment, Side, TcpFlags};
use huginn_net_http::P0fConnection;
use huginn_net_tcp::{ClockReading, TcpFlow};

use crate::hosts::{P0fClock, Update};

/// The timestamp clocks of both ends of a connection while p0f follows the connection.
#[derive(Debug, Default)]
pub(crate) struct P0fFlow {
    /// The clocks of both ends.
    pub(crate) clock: P0fClock,
    connection: P0fConnection,
}

impl P0fFlow {
    /// Whether p0f still follows the connection.
    pub(crate) fn is_followed(&self) -> bool {
        self.connection.is_followed()
    }

    /// The timestamp that p0f reads from a segment after the handshake.
    pub(crate) fn on_segment(&mut self, segment: &Segment<'_>, sender: Side) -> Option<Update> {
        let is_taken = self.connection.accepts(segment.tcp()?, segment.payload, sender);
        if !is_taken || self.clock.is_decided(sender) {
            return None;
        }
        Some(Update::Timestamp(ClockReading::from_segment(segment)?, self.clock.clone()))
    }
}

/// Whether p0f stops reading HTTP at this segment: the segment closes the connection, or carries data before an observed
/// handshake is complete.
pub(crate) fn ends_http(segment: &Segment<'_>, handshake: Option<&TcpFlow>) -> bool {
    let is_early = !segment.payload.is_empty() && handshake.is_some_and(|tcp| !tcp.is_answered());
    is_early || segment.tcp().is_some_and(|tcp| tcp.flags.intersects(TcpFlags::FIN | TcpFlags::RST))
}

/// Whether p0f ignores a segment: p0f skips fragments and packets that the snapshot length cut.
pub(crate) fn is_hidden_from_p0f(segment: &Segment<'_>) -> bool {
    segment.ip.reassembled || segment.payload_missing > 0
}
