//! The control channel over TCP, where a length of two bytes stands before each packet.

use super::Session;
use super::packet::{Kind, SessionStart};
use crate::hello::Hello;
use crate::packet_stream::PacketStream;
use crate::record::Probe;

const PREFIX_LEN: usize = 2;
/// The longest packet that a session begins with, in bytes: of more than any MTU that OpenVPN is used with.
const MAX_FIRST_LEN: usize = 4096;

/// Whether a direction of a TCP connection that begins with these bytes is OpenVPN's.
pub(crate) fn stream_probe(bytes: &[u8]) -> Probe {
    let Some((prefix, packet)) = bytes.split_first_chunk::<PREFIX_LEN>() else {
        return if bytes.iter().all(|high| usize::from(*high) <= MAX_FIRST_LEN >> 8) {
            Probe::Unsure
        } else {
            Probe::No
        };
    };
    let len = usize::from(u16::from_be_bytes(*prefix));
    let kind = Kind::from_packet(packet);
    if len > MAX_FIRST_LEN || !packet.is_empty() && !matches!(kind, Kind::HardReset(_) | Kind::Control) {
        return Probe::No;
    }
    match packet.get(..len) {
        Some(packet) if SessionStart::parse(packet).is_some() => Probe::Yes,
        Some(_) => Probe::No,
        None if packet.is_empty() || SessionStart::may_start(packet, len) => Probe::Unsure,
        None => Probe::No,
    }
}

/// Reads the hellos of one direction of a TCP connection.
#[derive(Debug, Default)]
pub(crate) struct OpenVpnStream {
    session: Option<(Session, PacketStream)>,
    /// A packet not yet whole, with its length.
    partial: Vec<u8>,
    /// Whether there was data for the tunnel.
    in_use: bool,
}

impl OpenVpnStream {
    /// Takes the next bytes, from the first of the connection on, and hands on the hellos that are now whole.
    pub(crate) fn push(&mut self, mut bytes: &[u8], found: &mut (impl FnMut(Hello<'_>) + ?Sized)) {
        if !self.partial.is_empty() {
            bytes = fill(&mut self.partial, bytes);
            if packet_len(&self.partial).is_none_or(|len| self.partial.len() < len) {
                return;
            }
            let packet = std::mem::take(&mut self.partial);
            self.on_packet(packet.get(PREFIX_LEN..).unwrap_or_default(), found);
        }
        while let Some((packet, rest)) = packet_len(bytes).and_then(|len| bytes.split_at_checked(len)) {
            self.on_packet(packet.get(PREFIX_LEN..).unwrap_or_default(), found);
            bytes = rest;
        }
        self.partial.extend_from_slice(bytes);
    }

    /// Whether nothing further can be found.
    pub(crate) fn is_done(&self) -> bool {
        self.in_use || self.session.as_ref().is_some_and(|(_, stream)| stream.has_ended())
    }

    /// The memory that packets and messages not yet whole take up, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let session = self.session.as_ref().map_or(0, |(_, stream)| stream.buffered_bytes());
        session.saturating_add(self.partial.capacity())
    }

    fn on_packet(&mut self, packet: &[u8], found: &mut (impl FnMut(Hello<'_>) + ?Sized)) {
        if Kind::from_packet(packet) == Kind::Data {
            self.in_use = true;
        }
        let start = if self.session.is_none() { SessionStart::parse(packet) } else { None };
        if let Some(start) = start {
            self.session = Some((Session::from_start(&start), PacketStream::starting_at(start.id)));
        }
        let Some((session, stream)) = &mut self.session else { return };
        let Some(packet) = session.parse(packet) else { return };
        // What is lost here the connection counts: its bytes are in order.
        let _ = stream.push(packet.id, packet.tls, &mut |hello, _| found(hello));
    }
}

/// The length of the packet that begins here, its length bytes included, if those are there.
fn packet_len(bytes: &[u8]) -> Option<usize> {
    let prefix = bytes.first_chunk::<PREFIX_LEN>()?;
    Some(PREFIX_LEN.saturating_add(usize::from(u16::from_be_bytes(*prefix))))
}

/// Completes a packet, or brings it nearer to that; returns the bytes behind it.
fn fill<'a>(partial: &mut Vec<u8>, mut bytes: &'a [u8]) -> &'a [u8] {
    if packet_len(partial).is_none() {
        let (first, rest) = bytes.split_at_checked(1).unwrap_or_default();
        partial.extend_from_slice(first);
        bytes = rest;
    }
    let missing = packet_len(partial).map_or(0, |len| len.saturating_sub(partial.len()));
    let (taken, rest) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
    partial.extend_from_slice(taken);
    rest
}
