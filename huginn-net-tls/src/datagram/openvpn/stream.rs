//! OpenVPN's control channel over TCP: packets with a two-byte length prefix.

use super::Session;
use super::packet::{Kind, SessionStart};
use crate::datagram::packet_stream::PacketStream;
use crate::limits::MAX_FIRST_OPENVPN_PACKET_LEN;
use crate::record::hello_search::PeerHello;
use crate::record::{Item, Probe};

const PREFIX_LEN: usize = 2;

/// Judges whether a direction of a TCP connection with these first bytes is OpenVPN.
pub(crate) fn stream_probe(bytes: &[u8]) -> Probe {
    let Some((prefix, packet)) = bytes.split_first_chunk::<PREFIX_LEN>() else {
        return if bytes.iter().all(|high| usize::from(*high) <= MAX_FIRST_OPENVPN_PACKET_LEN >> 8) {
            Probe::Unsure
        } else {
            Probe::No
        };
    };
    let len = usize::from(u16::from_be_bytes(*prefix));
    let kind = Kind::from_packet(packet);
    if len > MAX_FIRST_OPENVPN_PACKET_LEN
        || !packet.is_empty() && !matches!(kind, Kind::HardReset(_) | Kind::Control)
    {
        return Probe::No;
    }
    match packet.get(..len) {
        Some(packet) if SessionStart::parse(packet).is_some() => Probe::Yes,
        Some(_) => Probe::No,
        None if packet.is_empty() || SessionStart::may_start(packet, len) => Probe::Unsure,
        None => Probe::No,
    }
}

/// Reads the hellos of one direction of a TCP connection, and can follow the handshake after them.
#[derive(Debug)]
pub(crate) struct OpenVpnStream {
    /// Whether the handshake is followed.
    follows: bool,
    /// The last hello of the other side.
    peer_hello: Option<PeerHello>,
    session: Option<(Session, PacketStream)>,
    /// An incomplete packet, with its length prefix.
    partial: Vec<u8>,
    /// Whether a packet had tunnel data.
    in_use: bool,
}

impl OpenVpnStream {
    /// Creates the state of a direction. It follows the handshake after the hellos, if `follows`.
    pub(crate) fn new(follows: bool) -> Self {
        Self { follows, peer_hello: None, session: None, partial: Vec::new(), in_use: false }
    }

    /// Processes a hello of the other side.
    pub(crate) fn on_peer_hello(&mut self, hello: PeerHello) {
        match &mut self.session {
            Some((_, stream)) => stream.on_peer_hello(hello),
            None => self.peer_hello = Some(hello),
        }
    }

    /// Parses the next bytes, from the first of the connection on, and emits the parts of the handshake that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8], found: &mut (impl FnMut(Item<'_>) + ?Sized)) {
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

    /// Returns the memory used by buffered packets and incomplete messages, in bytes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        let session = self.session.as_ref().map_or(0, |(_, stream)| stream.buffered_bytes());
        session.saturating_add(self.partial.capacity())
    }

    fn on_packet(&mut self, packet: &[u8], found: &mut (impl FnMut(Item<'_>) + ?Sized)) {
        if Kind::from_packet(packet) == Kind::Data {
            self.in_use = true;
        }
        let start = if self.session.is_none() { SessionStart::parse(packet) } else { None };
        if let Some(start) = start {
            let mut stream = PacketStream::starting_at(start.id, self.follows);
            self.peer_hello.into_iter().for_each(|hello| stream.on_peer_hello(hello));
            self.session = Some((Session::from_start(&start), stream));
        }
        let Some((session, stream)) = &mut self.session else { return };
        let Some(packet) = session.parse(packet) else { return };
        // The counters of the connection cover failures here, because its bytes are in order.
        let _ = stream.push(packet.id, packet.tls, &mut |item, _| found(item));
    }
}

/// The length of the packet at the start of these bytes, including the prefix, if that is present.
fn packet_len(bytes: &[u8]) -> Option<usize> {
    let prefix = bytes.first_chunk::<PREFIX_LEN>()?;
    Some(PREFIX_LEN.saturating_add(usize::from(u16::from_be_bytes(*prefix))))
}

/// Appends bytes to an incomplete packet and returns the rest.
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
