//! Combines parser events and the end of each direction into one report per side, and one of both.

use huginn_net_core::{Event, FlowId, Origin, PacketRef, Segment, Side, TcpFlags, TcpHeader};

use crate::{Identification, KexInit, Negotiation, SshEvent, SshPeer, SshPeerCounters, SshStreamEvent};

/// Combines the events of an [`SshParser`](crate::SshParser) into one [`SshEvent`] for each side.
///
/// A side is reported with its SSH_MSG_KEXINIT once the message is complete. It is reported without one once the parser
/// stops reading, the direction ends or the flow ends. After both SSH_MSG_KEXINITs follows an [`SshEvent::Handshake`]. A direction
/// that ended may go on, because the receiver ignored a RST or FIN: its side is then reported again, with its SSH_MSG_KEXINIT. The
/// value takes one pointer until an identification string arrives.
#[derive(Debug, Default)]
pub struct SshPeers(Option<Box<Pending>>);

/// Sides with an identification string whose SSH_MSG_KEXINIT may come, and the SSH_MSG_KEXINIT of a reported one.
#[derive(Debug, Default)]
struct Pending {
    client: PendingSide,
    server: PendingSide,
    flow: Option<FlowId>,
}

#[derive(Debug, Default)]
struct PendingSide {
    identification: Option<Identification<'static>>,
    /// Whether the side was reported without SSH_MSG_KEXINIT, because its direction ended.
    is_reported: bool,
    /// The packet that completed it.
    packet: Option<PacketRef>,
    /// The sequence number after the FIN of the side.
    end: Option<u32>,
    /// Whether a segment of the side was captured.
    is_seen: bool,
    /// The SSH_MSG_KEXINIT, until that of the peer arrives.
    kex_init: Option<KexInit<'static>>,
    /// Whether the side has no SSH_MSG_KEXINIT.
    lacks_kex_init: bool,
}

impl SshPeers {
    /// Processes an event of the parser.
    pub fn on_event(
        &mut self,
        side: Side,
        event: SshStreamEvent,
        counters: &mut SshPeerCounters,
        emit: &mut impl FnMut(Side, SshEvent),
    ) {
        match event {
            SshStreamEvent::Identification(identification) => {
                let pending = self.0.get_or_insert_default();
                side.choose(&mut pending.client, &mut pending.server).identification = Some(identification);
            }
            SshStreamEvent::KexInit(kex_init) => self.report(side, Some(kex_init), counters, emit),
            SshStreamEvent::NoKexInit => self.report(side, None, counters, emit),
        }
    }

    /// Processes a segment of the connection, after the parser has processed its payload.
    ///
    /// A RST ends both sides. A FIN ends its sender once the receiver has acknowledged it, so that no data before it is
    /// missing. If no segment of the receiver was captured, the FIN ends its sender at once.
    #[inline]
    pub fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        payload_len: usize,
        sender: Side,
        counters: &mut SshPeerCounters,
        emit: &mut impl FnMut(Side, SshEvent),
    ) {
        if let (Some(pending), Some(tcp)) = (&mut self.0, segment.tcp())
            && pending.sides().any(|side| side.identification.is_some())
        {
            pending.add_origin(segment, sender);
            let ended = pending.ended(tcp, payload_len, sender);
            for (side, has_ended) in [Side::Client, Side::Server].into_iter().zip(ended) {
                if has_ended {
                    pending.report_end(side, counters, emit);
                }
            }
        }
    }

    /// Whether a side with an identification string has not been reported.
    #[inline]
    pub fn has_pending(&self) -> bool {
        self.0.as_ref().is_some_and(|pending| {
            pending.sides().any(|side| side.identification.is_some() && !side.is_reported)
        })
    }

    /// Reports the sides that have not been reported, at the end of the flow.
    pub fn on_end(mut self, counters: &mut SshPeerCounters, emit: &mut impl FnMut(Event<SshEvent>)) {
        let Some(pending) = &mut self.0 else { return };
        let Some(flow) = pending.flow.take() else { return };
        let sides = [(Side::Client, pending.client.packet), (Side::Server, pending.server.packet)];
        for (side, packet) in sides {
            let Some(packet) = packet else { continue };
            self.report(side, None, counters, &mut |side, event| {
                emit(Event::from_origin(packet, flow.clone(), Origin::from(side), event));
            });
        }
    }

    /// Returns the heap memory of the value, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        let Some(pending) = &self.0 else { return 0 };
        let Pending { client, server, .. } = &**pending;
        size_of::<Pending>().saturating_add(client.heap_bytes()).saturating_add(server.heap_bytes())
    }

    /// Reports a side if it sent an identification string.
    fn report(
        &mut self,
        side: Side,
        kex_init: Option<KexInit<'static>>,
        counters: &mut SshPeerCounters,
        emit: &mut impl FnMut(Side, SshEvent),
    ) {
        let Some(Pending { client, server, .. }) = self.0.as_deref_mut() else { return };
        let (own, peer) = match side {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        let Some(identification) = own.identification.take() else { return };
        let negotiation = match (&kex_init, peer.kex_init.take()) {
            (Some(kex_init), Some(other)) => {
                let [client, server] = side.choose([kex_init, &other], [&other, kex_init]);
                Some(Box::new(Negotiation::new(client, server).into_owned()))
            }
            (Some(kex_init), None) if !peer.lacks_kex_init => {
                own.kex_init = Some(kex_init.clone());
                None
            }
            _ => None,
        };
        own.lacks_kex_init = kex_init.is_none();
        let is_known = own.is_reported && kex_init.is_none();
        if peer.identification.is_none() && own.kex_init.is_none() {
            self.0 = None;
        }
        if !is_known {
            emit_peer(SshPeer { side, identification, kex_init }, counters, emit);
        }
        if let Some(negotiation) = negotiation {
            emit(Side::Server, SshEvent::Handshake(negotiation));
        }
    }
}

fn emit_peer(peer: SshPeer, counters: &mut SshPeerCounters, emit: &mut impl FnMut(Side, SshEvent)) {
    counters.count(&peer);
    let (side, event) = match peer.side {
        Side::Client => (Side::Client, SshEvent::Client(peer)),
        Side::Server => (Side::Server, SshEvent::Server(peer)),
    };
    emit(side, event);
}

impl PendingSide {
    /// Returns the heap memory of the value, in bytes.
    fn heap_bytes(&self) -> usize {
        let identification = self.identification.as_ref().map_or(0, |line| line.as_bytes().len());
        let kex_init = self.kex_init.as_ref().map_or(0, |kex_init| kex_init.as_bytes().len());
        identification.saturating_add(kex_init)
    }
}

impl Pending {
    fn sides(&self) -> impl Iterator<Item = &PendingSide> {
        [&self.client, &self.server].into_iter()
    }

    /// Reports a side whose direction ended, once. Its SSH_MSG_KEXINIT may still come.
    fn report_end(
        &mut self,
        side: Side,
        counters: &mut SshPeerCounters,
        emit: &mut impl FnMut(Side, SshEvent),
    ) {
        let own = side.choose(&mut self.client, &mut self.server);
        if let Some(identification) = own.identification.clone()
            && !std::mem::replace(&mut own.is_reported, true)
        {
            emit_peer(SshPeer { side, identification, kex_init: None }, counters, emit);
        }
    }

    /// Notes the flow, and the segment as the packet of new identification strings.
    fn add_origin(&mut self, segment: &Segment<'_>, sender: Side) {
        self.flow.get_or_insert_with(|| FlowId::from_segment(segment, sender));
        for side in [&mut self.client, &mut self.server] {
            if side.identification.is_some() {
                side.packet.get_or_insert(PacketRef::from_segment(segment));
            }
        }
    }

    /// Returns whether client and server end with this segment.
    fn ended(&mut self, tcp: &TcpHeader<'_>, payload_len: usize, sender: Side) -> [bool; 2] {
        if tcp.flags.contains(TcpFlags::RST) {
            return [true; 2];
        }
        let Self { client, server, .. } = self;
        let (own, peer) = match sender {
            Side::Client => (client, server),
            Side::Server => (server, client),
        };
        own.is_seen = true;
        let mut ended = (false, false);
        if tcp.flags.contains(TcpFlags::FIN) {
            let len = u32::try_from(payload_len).unwrap_or(u32::MAX);
            own.end = Some(tcp.seq.wrapping_add(len).wrapping_add(1));
            ended.0 = !peer.is_seen;
        }
        if tcp.flags.contains(TcpFlags::ACK) {
            ended.1 = peer.end.is_some_and(|end| tcp.ack.wrapping_sub(end).cast_signed() >= 0);
        }
        match sender {
            Side::Client => [ended.0, ended.1],
            Side::Server => [ended.1, ended.0],
        }
    }
}
