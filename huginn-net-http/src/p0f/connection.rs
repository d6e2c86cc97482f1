//! The segments of a connection that p0f accepts.

use huginn_net_core::{Side, TcpFlags, TcpHeader};

use super::head_progress::HeadProgress;

/// Decides which segments of a connection p0f 3.09b accepts: from the SYN to a FIN or RST, or up to bytes that it does
/// not read as HTTP.
///
/// p0f has no reassembly: it accepts in-order segments, ignores others, and counts Ethernet padding as payload.
#[derive(Debug, Default)]
pub struct P0fConnection {
    /// The sequence numbers that p0f expects of client and server.
    next: [u32; 2],
    is_answered: bool,
    /// The progress in the first request and the first response.
    heads: [HeadProgress; 2],
    is_finished: bool,
}

impl P0fConnection {
    /// Whether p0f still follows the connection.
    pub fn is_followed(&self) -> bool {
        !self.is_finished
    }

    /// Handles the next segment. Returns whether p0f processes it after the handshake, as it does for timestamps.
    pub fn accepts(&mut self, tcp: &TcpHeader<'_>, payload: &[u8], sender: Side) -> bool {
        if self.is_finished {
            return false;
        }
        let [client, server] = &mut self.next;
        let next = sender.choose(client, server);
        if tcp.flags.contains(TcpFlags::SYN) {
            *next = tcp.seq.wrapping_add(1);
            self.is_answered |= sender == Side::Server;
            return false;
        }
        if !self.is_answered {
            self.is_finished = true;
            return false;
        }
        if tcp.flags.is_fin_or_rst() {
            self.is_finished = true;
            return true;
        }
        if tcp.seq != *next {
            return false;
        }
        *next = next.wrapping_add(u32::try_from(payload.len()).unwrap_or(u32::MAX));
        self.on_bytes(payload, sender);
        true
    }

    fn on_bytes(&mut self, bytes: &[u8], sender: Side) {
        if bytes.is_empty() {
            return;
        }
        let [request, response] = &mut self.heads;
        let is_asked = request.is_complete();
        self.is_finished |= match sender {
            Side::Client => !is_asked && !request.keeps_reading(bytes, sender),
            Side::Server => !is_asked || !response.keeps_reading(bytes, sender) || response.is_complete(),
        };
    }
}
