//! What an analyzer reports, and to whom.

use std::net::SocketAddr;
use std::ops::ControlFlow;

use crate::{Addresses, Segment, Side, Timestamp, TransportHeader, TunnelPath};

/// Something learned from a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event<K> {
    /// Capture time of the packet that told it.
    pub ts: Timestamp,
    /// The flow that it was seen on.
    pub flow: FlowId,
    /// Whom it describes.
    pub subject: Side,
    /// What was learned.
    pub kind: K,
}

impl<K> Event<K> {
    /// An event of a flow.
    pub fn new(ts: Timestamp, flow: FlowId, subject: Side, kind: K) -> Self {
        Self { ts, flow, subject, kind }
    }

    pub(crate) fn from_segment(segment: &Segment<'_>, sender: Side, subject: Side, kind: K) -> Self {
        Self { ts: segment.ts, flow: FlowId::from_segment(segment, sender), subject, kind }
    }

    /// The same event with another account of what was learned.
    pub fn map<T>(self, f: impl FnOnce(K) -> T) -> Event<T> {
        Event { ts: self.ts, flow: self.flow, subject: self.subject, kind: f(self.kind) }
    }

    /// Address and port of whom it describes.
    pub fn subject_addr(&self) -> SocketAddr {
        self.subject.choose(self.flow.client, self.flow.server)
    }
}

/// A flow by its ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowId {
    /// Who opened it.
    pub client: SocketAddr,
    /// Who was addressed.
    pub server: SocketAddr,
    /// What it runs over.
    pub transport: TransportKind,
    /// The tags and tunnels around it, where there are any.
    pub tunnel: Option<Box<TunnelPath>>,
}

impl FlowId {
    /// The flow of a segment that `sender` sent.
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
        // Boxed, since there is hardly ever one and an event is moved from hand to hand.
        let tunnel = (!segment.tunnel.is_empty()).then(|| Box::new(*segment.tunnel));
        Self { client, server, transport, tunnel }
    }
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransportKind {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
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

/// Takes events as they come, and can stop the analysis.
///
/// A `Vec` is a sink, and so is a closure that takes an event, whatever it returns: see [`SinkResult`].
pub trait Sink<E> {
    /// Takes one event. [`ControlFlow::Break`] stops the analysis.
    fn event(&mut self, event: E) -> ControlFlow<()>;
}

impl<E> Sink<E> for Vec<E> {
    fn event(&mut self, event: E) -> ControlFlow<()> {
        self.push(event);
        ControlFlow::Continue(())
    }
}

impl<E, R: SinkResult, F: FnMut(E) -> R> Sink<E> for F {
    // Inlined, so that the event is not copied on its way to the closure.
    #[inline(always)]
    fn event(&mut self, event: E) -> ControlFlow<()> {
        self(event).into_flow()
    }
}

/// What a closure that is a [`Sink`] may return: nothing, or whether to go on.
pub trait SinkResult {
    /// Whether the analysis goes on.
    fn into_flow(self) -> ControlFlow<()>;
}

/// Goes on.
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

/// An error stops the analysis. The closure keeps it if the caller is to see it.
impl<E> SinkResult for Result<(), E> {
    #[inline(always)]
    fn into_flow(self) -> ControlFlow<()> {
        if self.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
