//! TLS in OpenVPN's control channel, if unencrypted.
//!
//! The format follows OpenVPN's page "OpenVPN Protocol" and the draft "OpenVPN Wire Protocol". `tls-crypt` encrypts the
//! control channel, so that no hello is visible.

mod packet;
mod stream;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

use huginn_net_wire::Side;

use super::found::Found;
use super::packet_stream::PacketStreams;
use crate::counters::DatagramCounters;
use crate::follower::Follow;
use packet::{Kind, Packet, SessionId, SessionStart};

pub(crate) use packet::session_initiator;
pub(crate) use stream::{OpenVpnStream, stream_probe};

/// Reads the hellos of a control channel over UDP, and can follow the handshake after them.
///
/// A new session id on the same ports resets the state.
#[derive(Debug)]
pub(crate) struct OpenVpnFlow {
    client: Option<Session>,
    server: Option<Session>,
    streams: PacketStreams,
    /// Whether handshakes are followed.
    follows: Follow,
}

impl OpenVpnFlow {
    /// Creates the state of a flow. It follows handshakes after the hellos, if `follows`.
    pub(crate) fn new(follows: Follow) -> Self {
        Self { client: None, server: None, streams: PacketStreams::new(follows), follows }
    }

    /// Parses the next datagram, and emits the parts of a handshake that it completes.
    pub(crate) fn on_datagram(
        &mut self,
        datagram: &[u8],
        sender: Side,
        counters: &mut DatagramCounters,
        found: &mut impl FnMut(Side, Found<'_>),
    ) {
        if !matches!(Kind::from_packet(datagram), Kind::HardReset(_) | Kind::Control) {
            return;
        }
        if let Some(start) = self.new_session(datagram, sender) {
            self.open(&start);
        }
        let packet = self.session(sender).and_then(|session| session.parse(datagram));
        if let Some(packet) = packet {
            self.streams.push(sender, packet.id, packet.tls, counters, found);
        }
    }

    /// Returns the memory used by buffered packets and incomplete messages, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.streams.buffered_bytes()
    }

    fn new_session(&self, datagram: &[u8], sender: Side) -> Option<SessionStart> {
        if self.session(sender).is_some_and(|session| session.parse(datagram).is_some()) {
            return None;
        }
        SessionStart::parse(datagram).filter(|start| start.sender == sender)
    }

    fn session(&self, side: Side) -> Option<Session> {
        side.choose(self.client, self.server)
    }

    fn open(&mut self, start: &SessionStart) {
        if start.sender == Side::Client && self.client.is_some() {
            *self = Self::new(self.follows);
        }
        *start.sender.choose(&mut self.client, &mut self.server) = Some(Session::from_start(start));
        self.streams.start(start.sender, start.id);
    }
}

/// A session of one side.
#[derive(Clone, Copy, Debug)]
struct Session {
    id: SessionId,
    auth_len: usize,
}

impl Session {
    fn from_start(start: &SessionStart) -> Self {
        Self { id: start.session, auth_len: start.auth_len }
    }

    /// Parses a packet of this session; `None` for another session.
    fn parse<'a>(&self, packet: &'a [u8]) -> Option<Packet<'a>> {
        Packet::parse(packet, self.auth_len).filter(|packet| packet.session == self.id)
    }
}
