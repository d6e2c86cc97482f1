//! Events of an analyzer, and what functions that receive them return.

use std::fmt;
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::ops::ControlFlow;

use foldhash::fast::FixedState;

use crate::{Addresses, Route, Segment, Side, Timestamp, TransportHeader, TunnelPath};

/// An observation about one side of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event<K> {
    /// Capture time of the packet that caused the event.
    pub ts: Timestamp,
    /// Number of that packet in its source, as Wireshark counts: from 1, and records of a capture file that are not
    /// packets count, too. Packets that a filter expression removes do not count. 0 without a packet.
    ///
    /// It is unique within an analysis. Sources that are [analysed at once](crate::Analyzer::analyze_queues) take turns: packet `n` (from 1) of
    /// source `i` (from 0) of `k` sources has the number `(n - 1) * k + i + 1`. A source with several interfaces or files counts the
    /// packets of all of them. Analyses of several sources one after the other each count from 1: keep the source beside the event.
    pub packet_number: u64,
    /// Number of the first packet of the connection, or of the flow over UDP: [`connection`](Self::connection) identifies it. 0 without a
    /// flow.
    pub first_packet: u64,
    /// The flow of that packet.
    pub flow: FlowId,
    /// The side that the event describes.
    pub subject: Side,
    /// Why the bytes of the observation compete with others, if they do.
    pub conflict: Option<Conflict>,
    /// Upper bound of the length of the event in any text format (JSON, CSV, words), in bytes, if the protocol computed one; otherwise
    /// 0. `huginn-net` computes it where events are limited by the bytes of their connection.
    pub text_bytes: u32,
    /// Whether the peer of the flow answered before the event, so that neither address is forged, if the protocol knows: a flood of
    /// packets in the names of others makes no such event. `huginn-net` sets it.
    pub is_answered: bool,
    /// The observation itself.
    pub kind: K,
}

impl<K> Event<K> {
    /// Creates an event.
    pub fn new(ts: Timestamp, packet_number: u64, flow: FlowId, subject: Side, kind: K) -> Self {
        Self::from_origin(PacketRef { ts, number: packet_number }, flow, subject.into(), kind)
    }

    /// Creates an event that a segment caused, unless its origin names another packet.
    #[inline]
    pub(crate) fn from_segment(segment: &Segment<'_>, sender: Side, origin: Origin, kind: K) -> Self {
        Self::from_origin(
            PacketRef::from_segment(segment),
            FlowId::from_segment(segment, sender),
            origin,
            kind,
        )
    }

    /// Creates an event of `packet`, unless its origin names another packet.
    #[inline]
    pub fn from_origin(packet: PacketRef, flow: FlowId, origin: Origin, kind: K) -> Self {
        let Origin { subject, packet: own, conflict, text_bytes, is_answered } = origin;
        let PacketRef { ts, number } = own.unwrap_or(packet);
        Self {
            ts,
            packet_number: number,
            first_packet: 0,
            flow,
            subject,
            conflict,
            text_bytes,
            is_answered,
            kind,
        }
    }

    /// Converts the observation and keeps the rest.
    pub fn map<T>(self, f: impl FnOnce(K) -> T) -> Event<T> {
        let (rest, kind) = self.into_parts();
        rest.with_kind(f(kind))
    }

    /// Separates the observation from the rest.
    #[inline]
    pub(crate) fn into_parts(self) -> (Event<()>, K) {
        let Self { ts, packet_number, first_packet, flow, subject, conflict, text_bytes, is_answered, kind } =
            self;
        let rest = Event {
            ts,
            packet_number,
            first_packet,
            flow,
            subject,
            conflict,
            text_bytes,
            is_answered,
            kind: (),
        };
        (rest, kind)
    }

    /// Sets the number of the first packet of the connection.
    #[must_use]
    pub fn with_first_packet(self, first_packet: u64) -> Self {
        Self { first_packet, ..self }
    }

    /// Creates an event about the flow and the packet of this one.
    pub fn derive<T>(&self, subject: Side, kind: T) -> Event<T> {
        let Self { ts, packet_number, first_packet, ref flow, is_answered, .. } = *self;
        let event = Event::new(ts, packet_number, flow.clone(), subject, kind);
        Event { first_packet, is_answered, ..event }
    }

    /// Identifies the connection of the event, or its flow over UDP: events of one connection have the same identifier, for any number of
    /// workers. `None` for events without a flow, such as a segment that belongs to no connection.
    ///
    /// Conclusions from several connections have the identifier of one of them.
    pub fn connection(&self) -> Option<ConnectionId> {
        let Self { first_packet, ref flow, .. } = *self;
        (first_packet != 0).then(|| ConnectionId { first_packet, flow_hash: hash_of(flow) })
    }

    /// Returns address and port of the side that the event describes.
    pub fn subject_addr(&self) -> SocketAddr {
        *self.subject.choose(&self.flow.client, &self.flow.server)
    }
}

impl Event<()> {
    /// Adds an observation.
    #[inline]
    pub(crate) fn with_kind<K>(self, kind: K) -> Event<K> {
        let Self {
            ts, packet_number, first_packet, flow, subject, conflict, text_bytes, is_answered, ..
        } = self;
        Event { ts, packet_number, first_packet, flow, subject, conflict, text_bytes, is_answered, kind }
    }
}

impl<R, U> Event<Route<R, U>> {
    /// Returns the event for the sink, or the one for the shared state.
    pub fn into_route(self) -> Route<Event<R>, Event<U>> {
        let (rest, kind) = self.into_parts();
        match kind {
            Route::Report(kind) => Route::Report(rest.with_kind(kind)),
            Route::Update(kind) => Route::Update(rest.with_kind(kind)),
        }
    }
}

/// Identifies a connection, or a flow over UDP, within an analysis: its first packet, and a hash of its addresses, ports and tunnel.
///
/// Connections on the same addresses and ports, one after the other, have different identifiers. The hash distinguishes
/// connections that begin in one packet, such as an aggregate of 802.11. It is not secret: a sender of such packets can make two identifiers
/// equal.
/// Another analysis has the same identifiers for other connections: of several files, keep the file beside it.
///
/// [`Display`](fmt::Display) writes the number of the packet and 16 hexadecimal digits: `17-8c2f01aa5d3e9b04`. The hash may be another one
/// in other versions of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId {
    first_packet: u64,
    flow_hash: u64,
}

impl ConnectionId {
    /// Number of the first packet.
    pub fn first_packet(self) -> u64 {
        self.first_packet
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.first_packet, self.flow_hash)
    }
}

/// The hash of a flow, equal for both directions.
fn hash_of(flow: &FlowId) -> u64 {
    let FlowId { client, server, transport, .. } = flow;
    FixedState::default().hash_one((client.min(server), client.max(server), transport, flow.tunnel_key()))
}

/// The side that an observation describes, and where its bytes come from.
///
/// A [`Side`] converts to the origin of an observation about the segment that is being analysed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The side that the observation describes.
    pub subject: Side,
    /// The packet that completed the observation, if it is not the one that is being analysed.
    pub packet: Option<PacketRef>,
    /// Why the bytes compete with others, if they do.
    pub conflict: Option<Conflict>,
    /// Upper bound of the length of the event as text, in bytes, if it is known; otherwise 0.
    pub text_bytes: u32,
    /// Whether the peer of the flow [answered](Event::is_answered) before.
    pub is_answered: bool,
}

impl From<Side> for Origin {
    #[inline]
    fn from(subject: Side) -> Self {
        Self { subject, packet: None, conflict: None, text_bytes: 0, is_answered: false }
    }
}

/// A packet of the capture: its time and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRef {
    /// Capture time.
    pub ts: Timestamp,
    /// Number in the source, from 1.
    pub number: u64,
}

impl PacketRef {
    /// The packet of a segment.
    #[inline]
    pub fn from_segment(segment: &Segment<'_>) -> Self {
        Self { ts: segment.ts, number: segment.packet_number }
    }
}

huginn_net_wire::named! {
    /// Why an observation is one of several: the sender sent different contents for the same bytes of a stream, and only the
    /// receiver knows which one it read.
    ///
    /// The reason names what distinguishes the packets of the two contents, the strongest sign first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Conflict {
        /// The data came with a SYN, and the SYN+ACK did not acknowledge them (RFC 9293, section 3.4).
        SynData = "syn_data",
        /// One of the segments has no ACK flag. Receivers drop it after the handshake (RFC 9293, section 3.10.7.4).
        NoAck = "no_ack",
        /// One of the segments acknowledges data that was never sent (RFC 9293, section 3.10.7.4).
        AckNumber = "ack_number",
        /// One of the segments has an MD5 signature that others of the connection lack (RFC 2385).
        Md5 = "md5",
        /// The timestamp of one of the segments is older than that of an earlier one (RFC 7323, section 5.3).
        Timestamp = "timestamp",
        /// The packets have different times to live: one may expire before the receiver.
        Ttl = "ttl",
        /// The packets differ in nothing but their contents.
        Content = "content",
    }
}

/// The endpoints, transport and tunnel of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FlowId {
    /// The endpoint that started the flow.
    pub client: SocketAddr,
    /// The other endpoint.
    pub server: SocketAddr,
    /// The transport protocol.
    pub transport: TransportKind,
    /// The VLAN tags and tunnels around the flow, if any.
    pub tunnel: Option<Box<TunnelPath>>,
}

impl FlowId {
    /// Creates the identity of a flow.
    pub fn new(
        client: SocketAddr,
        server: SocketAddr,
        transport: TransportKind,
        tunnel: Option<Box<TunnelPath>>,
    ) -> Self {
        Self { client, server, transport, tunnel }
    }

    /// Returns a number that stands for the VLAN tags and tunnels around the flow; 0 without them.
    pub fn tunnel_key(&self) -> u64 {
        self.tunnel.as_ref().map_or(0, |tunnel| tunnel.key_word())
    }

    /// Returns the flow of a segment sent by `sender`.
    pub fn from_segment(segment: &Segment<'_>, sender: Side) -> Self {
        let (src_port, dst_port) = segment.transport.ports();
        let (client_port, server_port) = sender.choose((src_port, dst_port), (dst_port, src_port));
        let (client, server) = match segment.ip.addresses {
            Addresses::V4 { src, dst } => {
                let (client, server) = sender.choose((src, dst), (dst, src));
                ((client, client_port).into(), (server, server_port).into())
            }
            Addresses::V6 { src, dst } => {
                let (client, server) = sender.choose((src, dst), (dst, src));
                ((client, client_port).into(), (server, server_port).into())
            }
        };
        let transport = match segment.transport {
            TransportHeader::Tcp(_) => TransportKind::Tcp,
            TransportHeader::Udp(_) => TransportKind::Udp,
        };
        // Boxed: tunnels are rare, and events are moved often.
        let tunnel = (!segment.tunnel.is_empty()).then(|| Box::new(*segment.tunnel));
        Self { client, server, transport, tunnel }
    }
}

huginn_net_wire::named! {
    /// A transport protocol.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
    pub enum TransportKind {
        /// TCP.
        Tcp = "tcp",
        /// UDP.
        Udp = "udp",
    }
}

impl TransportKind {
    /// The protocol number in an IP header (IANA).
    pub const fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
        }
    }
}

/// What a function that receives events returns: nothing, or whether to continue.
pub trait SinkResult {
    /// Converts the value; `Break` stops the analysis.
    fn into_flow(self) -> ControlFlow<()>;
}

/// Always continues.
impl SinkResult for () {
    #[inline(always)]
    fn into_flow(self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl SinkResult for ControlFlow<()> {
    #[inline(always)]
    fn into_flow(self) -> ControlFlow<()> {
        self
    }
}

/// `false` stops the analysis.
impl SinkResult for bool {
    #[inline(always)]
    fn into_flow(self) -> ControlFlow<()> {
        if self { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// An error stops the analysis. The closure must store the error if the caller needs it.
impl<E> SinkResult for Result<(), E> {
    #[inline(always)]
    fn into_flow(self) -> ControlFlow<()> {
        if self.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
