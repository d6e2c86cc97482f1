//! The protocol that reports the SSH clients and servers of a capture.

use huginn_net_core::{
    Analyzer, Event, Interest, NextSeq, Origin, ParserSlot, Protocol, Segment, Side, StreamFlow,
    StreamObserverCounters, Tally, first_sender, tally, without_padding,
};

use crate::{Negotiation, SshParser, SshPeer, SshPeers};

/// An analyzer for SSH only.
///
/// ```
/// use huginn_net_capture::CaptureReader;
/// use huginn_net_core::Event;
/// use huginn_net_ssh::{HuginnNetSsh, SshEvent};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/ssh/ssh-openssh/ssh-openssh.pcap");
/// let mut events: Vec<Event<SshEvent>> = Vec::new();
/// HuginnNetSsh::builder().build().analyze(CaptureReader::open(path)?, |event| events.push(event))?;
/// let client = events.iter().find_map(|event| match &event.kind {
///     SshEvent::Client(client) => Some(client),
///     _ => None,
/// });
/// let client = client.expect("a client");
/// assert_eq!(client.identification.software_version(), b"OpenSSH_9.2p1");
/// assert_eq!(client.hassh().expect("a complete message").to_string(), "472b5de333ad665af5cbf10ff892c4df");
/// # Ok::<_, huginn_net_core::AnalysisError<huginn_net_capture::CaptureError>>(())
/// ```
pub type HuginnNetSsh = Analyzer<SshObserver>;

/// Reports the client and the server of each SSH connection, on any port: their identification strings, HASSH and
/// HASSHServer, and the algorithms that they agree on.
#[derive(Clone, Debug, Default)]
pub struct SshObserver {
    counters: StreamObserverCounters<SshCounters>,
}

/// An event of an [`SshObserver`], reported once for each side of a connection, and once for both. The event's subject is the
/// sender; that of a handshake is the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SshEvent {
    /// The client.
    Client(SshPeer),
    /// The server.
    Server(SshPeer),
    /// The algorithms that both sides agree on, once both SSH_MSG_KEXINITs are complete.
    Handshake(Box<Negotiation<'static>>),
}

/// Counters of SSH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SshCounters {
    /// Counters of the stream parser.
    pub parser: SshParserCounters,
    /// Counters of reported clients and servers.
    pub peers: SshPeerCounters,
}

tally!(SshCounters { parser, peers });

/// Counters of an [`SshParser`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SshParserCounters {
    /// Identification strings, including those of sides never reported: their flow was evicted or expired, or the capture
    /// ended, before the SSH_MSG_KEXINIT or the end of the direction.
    pub identifications: u64,
    /// Directions with bytes other than packets after the identification string, or with a malformed SSH_MSG_KEXINIT.
    pub malformed: u64,
}

tally!(SshParserCounters { identifications, malformed });

/// Counters of the clients and servers reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SshPeerCounters {
    /// Clients reported.
    pub clients: u64,
    /// Servers reported.
    pub servers: u64,
    /// Clients and servers reported without an SSH_MSG_KEXINIT.
    pub without_kex_init: u64,
}

tally!(SshPeerCounters { clients, servers, without_kex_init });

/// The state of one flow in an [`SshObserver`].
#[derive(Debug, Default)]
pub struct SshFlow {
    streams: StreamFlow<ParserSlot<SshParser>>,
    peers: SshPeers,
}

impl SshObserver {
    /// Returns the counters since the observer was created.
    pub fn counters(&self) -> StreamObserverCounters<SshCounters> {
        self.counters
    }
}

impl Protocol for SshObserver {
    type Flow = SshFlow;
    type Event = SshEvent;
    type SharedState = ();
    type Counters = StreamObserverCounters<SshCounters>;

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        Self::default()
    }

    fn join(&mut self, worker: Self) {
        self.counters.add(&worker.counters);
    }

    fn counters(&self) -> Self::Counters {
        self.counters
    }

    /// A SYN starts a flow, and so does a SYN+ACK or an identification string if the SYN is not in the capture.
    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        first_sender::<SshParser>(segment)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut SshFlow,
        emit: &mut impl FnMut(Origin, SshEvent),
    ) -> Interest {
        let StreamObserverCounters { parser: SshCounters { parser, peers: counters }, streams, .. } =
            &mut self.counters;
        let SshFlow { streams: stream, peers } = flow;
        let payload = without_padding(segment);
        let new_parser = || ParserSlot::new(true);
        let interest =
            stream.on_segment(segment, payload, sender, streams, new_parser, &mut |slot, input| {
                slot.on_data(input, parser, &mut |side, event| {
                    peers.on_event(side, event, counters, &mut |side, event| emit(input.origin(side), event));
                });
            });
        peers.on_segment(segment, payload.len(), sender, counters, &mut |side, event| {
            emit(side.into(), event)
        });
        interest
    }

    fn next_seq(flow: &SshFlow, sender: Side) -> NextSeq {
        flow.streams.next_seq(sender)
    }

    fn outlasts_connection(flow: &mut SshFlow, is_agreed: bool) -> bool {
        !is_agreed && flow.streams.awaits_message()
    }

    fn has_end(flow: &SshFlow) -> bool {
        flow.streams.has_end() || flow.peers.has_pending()
    }

    fn on_end(&mut self, flow: SshFlow, emit: &mut impl FnMut(Event<SshEvent>)) {
        let StreamObserverCounters { parser: SshCounters { parser, peers: counters }, streams, .. } =
            &mut self.counters;
        let SshFlow { streams: stream, mut peers } = flow;
        stream.on_end(
            streams,
            || ParserSlot::new(true),
            |flow, slot: &mut ParserSlot<SshParser>, input| {
                slot.on_data(input, parser, &mut |side, event| {
                    peers.on_event(side, event, counters, &mut |side, event| {
                        emit(input.event(flow, side, event))
                    });
                });
            },
        );
        peers.on_end(counters, emit);
    }

    fn buffered_bytes(flow: &SshFlow) -> usize {
        flow.streams.buffered_bytes().saturating_add(flow.peers.buffered_bytes())
    }
}

impl SshPeerCounters {
    pub(crate) fn count(&mut self, peer: &SshPeer) {
        let sides = peer.side.choose(&mut self.clients, &mut self.servers);
        *sides = sides.saturating_add(1);
        if peer.kex_init.is_none() {
            self.without_kex_init = self.without_kex_init.saturating_add(1);
        }
    }
}
