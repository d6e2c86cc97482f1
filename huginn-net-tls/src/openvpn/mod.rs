//! TLS in OpenVPN's control channel, where OpenVPN leaves it in the clear.
//!
//! The format is that of OpenVPN's own page "OpenVPN Protocol" and of the draft "OpenVPN Wire Protocol". With `tls-crypt`
//! the control channel is encrypted, and there is nothing to find.

mod packet;
mod stream;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

use huginn_net_core::Side;

use crate::hello::Hello;
use crate::observer::DatagramCounters;
use crate::packet_stream::PacketStreams;
use packet::{Kind, Opening, Packet, SessionId};

pub(crate) use packet::session_opener;
pub(crate) use stream::{OpenVpnStream, stream_probe};

/// Reads the hellos of a control channel over UDP.
///
/// A session with another id on the same ports starts from nothing.
#[derive(Debug, Default)]
pub(crate) struct OpenVpnFlow {
    client: Option<Session>,
    server: Option<Session>,
    streams: PacketStreams,
}

impl OpenVpnFlow {
    /// Takes the next datagram and hands on the hellos that are now whole, and whether each is a client's second one.
    pub(crate) fn on_datagram(
        &mut self,
        datagram: &[u8],
        sender: Side,
        counters: &mut DatagramCounters,
        found: &mut impl FnMut(Side, Hello<'_>, bool),
    ) {
        if !matches!(Kind::of(datagram), Kind::HardReset(_) | Kind::Control) {
            return;
        }
        if let Some(opening) = self.other_session(datagram, sender) {
            self.open(&opening);
        }
        let packet = self.session(sender).and_then(|session| session.parse(datagram));
        if let Some(packet) = packet {
            self.streams.push(sender, packet.id, packet.tls, counters, found);
        }
    }

    /// The memory that packets and messages not yet whole take up, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.streams.buffered_bytes()
    }

    fn other_session(&self, datagram: &[u8], sender: Side) -> Option<Opening> {
        if self.session(sender).is_some_and(|session| session.parse(datagram).is_some()) {
            return None;
        }
        Opening::of(datagram).filter(|opening| opening.sender == sender)
    }

    fn session(&self, side: Side) -> Option<Session> {
        side.choose(self.client, self.server)
    }

    fn open(&mut self, opening: &Opening) {
        if opening.sender == Side::Client && self.client.is_some() {
            *self = Self::default();
        }
        *opening.sender.choose(&mut self.client, &mut self.server) = Some(Session::of(opening));
        self.streams.begin(opening.sender, opening.id);
    }
}

/// A session of one side.
#[derive(Clone, Copy, Debug)]
struct Session {
    id: SessionId,
    auth_len: usize,
}

impl Session {
    fn of(opening: &Opening) -> Self {
        Self { id: opening.session, auth_len: opening.auth_len }
    }

    /// Reads a packet if it is of this session.
    fn parse<'a>(&self, packet: &'a [u8]) -> Option<Packet<'a>> {
        Packet::parse(packet, self.auth_len).filter(|packet| packet.session == self.id)
    }
}
