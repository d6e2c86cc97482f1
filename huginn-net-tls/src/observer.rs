//! Reports the hellos of a capture.

use huginn_net_core::{
    Analyzer, Event, Interest, Origin, ParserSlot, Protocol, Segment, Side, StreamFlow,
    StreamObserverCounters, Tally, first_sender, tally, without_padding,
};

use crate::hello::Hello;
use crate::quic::QuicCounters;
use crate::{ClientHello, ServerHello, TlsParser, TlsUdpFlow, TlsUdpObserver};

/// An analyzer that runs the TLS fingerprinter only.
///
/// ```
/// use huginn_net_capture::CaptureReader;
/// use huginn_net_core::Event;
/// use huginn_net_tls::{HuginnNetTls, TlsEvent};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-go/tls-go.pcap");
/// let mut events: Vec<Event<TlsEvent>> = Vec::new();
/// HuginnNetTls::builder().build().analyze(CaptureReader::open(path)?, &mut events)?;
/// let TlsEvent::Client(client) = &events[0].kind else { panic!("the client speaks first") };
/// assert_eq!(client.hello.ja4().to_string(), "t13d1314h2_f57a46bbacb6_fb48f8b98a29");
/// # Ok::<_, huginn_net_core::AnalysisError<huginn_net_capture::CaptureError>>(())
/// ```
pub type HuginnNetTls = Analyzer<TlsObserver>;

/// Reports the hellos of both sides of each TLS handshake, over TCP, QUIC and DTLS.
#[derive(Clone, Debug, Default)]
pub struct TlsObserver {
    counters: StreamObserverCounters<TlsCounters>,
    udp: TlsUdpObserver,
}

/// An event of a [`TlsObserver`]. The subject of the event is the sender of the hello.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsEvent {
    /// A ClientHello.
    Client(TlsClient),
    /// A ServerHello.
    Server(TlsServer),
}

/// The client of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsClient {
    /// Its ClientHello.
    pub hello: ClientHello<'static>,
    /// Whether this is its second hello, requested by the server.
    pub retry: bool,
}

/// The server of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsServer {
    /// Its ServerHello, or [HelloRetryRequest](ServerHello::is_retry_request).
    pub hello: ServerHello<'static>,
}

/// Counters of a [`TlsObserver`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TlsCounters {
    /// Hellos reported.
    pub hellos: HelloCounters,
    /// Failures of the search for hellos in TCP streams.
    pub search: SearchCounters,
    /// Results of QUIC packets.
    pub quic: QuicCounters,
    /// Failures of DTLS and of other UDP protocols that carry TLS.
    pub udp: DatagramCounters,
}

tally!(TlsCounters { hellos, search, quic, udp });

/// Failures in flows of DTLS, OpenVPN and RDP over UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DatagramCounters {
    /// Fragments and packets that arrived too early to be buffered.
    pub refused: u64,
    /// Hellos that cannot be parsed, and sessions with other data instead of a hello.
    pub malformed: u64,
}

tally!(DatagramCounters { refused, malformed });

/// Hellos reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HelloCounters {
    /// ClientHellos.
    pub client: u64,
    /// ServerHellos, including HelloRetryRequests.
    pub server: u64,
    /// ClientHellos with the extension encrypted_client_hello (RFC 9849): encrypted, or GREASE.
    pub ech: u64,
    /// ClientHellos with truncated extensions or contradictory lengths.
    pub malformed: u64,
}

tally!(HelloCounters { client, server, ech, malformed });

/// Failures in TCP connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SearchCounters {
    /// Hellos that cannot be parsed: they end within a mandatory field, or exceed the maximum length.
    pub malformed: u64,
    /// Directions without a complete hello within the search limits: 64 KiB if none started, 24 MiB if one did. Also those with
    /// 16 hellos.
    pub given_up: u64,
    /// Those of them in which a hello had started.
    pub too_long: u64,
}

tally!(SearchCounters { malformed, given_up, too_long });

/// The state of one flow of a [`TlsObserver`].
#[derive(Debug)]
pub enum TlsFlow {
    /// A TCP connection.
    Tcp(StreamFlow<ParserSlot<TlsParser>>),
    /// A UDP flow.
    Udp(TlsUdpFlow),
}

impl Default for TlsFlow {
    fn default() -> Self {
        Self::Tcp(StreamFlow::default())
    }
}

impl TlsObserver {
    /// Returns the counters since the observer was created.
    pub fn counters(&self) -> StreamObserverCounters<TlsCounters> {
        self.counters
    }
}

impl Protocol for TlsObserver {
    type Flow = TlsFlow;
    type Event = TlsEvent;
    type SharedState = ();
    type Counters = StreamObserverCounters<TlsCounters>;

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

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        first_sender::<TlsParser>(segment).or_else(|| TlsUdpObserver::first_sender(segment))
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut TlsFlow,
        emit: &mut impl FnMut(Origin, TlsEvent),
    ) -> Interest {
        let StreamObserverCounters { parser: counters, streams, .. } = &mut self.counters;
        match (segment.tcp(), flow) {
            (Some(_), TlsFlow::Tcp(flow)) => {
                let new_parser = || ParserSlot::new(true);
                let payload = without_padding(segment);
                flow.on_segment(segment, payload, sender, streams, new_parser, &mut |parser, input| {
                    parser.on_data(input, counters, &mut |side, event| emit(input.origin(side), event));
                })
            }
            (None, TlsFlow::Udp(flow)) => self.udp.on_datagram(segment.payload, sender, flow, counters, emit),
            (None, flow @ TlsFlow::Tcp(_)) => {
                let mut udp = TlsUdpFlow::default();
                let interest = self.udp.on_datagram(segment.payload, sender, &mut udp, counters, emit);
                *flow = TlsFlow::Udp(udp);
                interest
            }
            (Some(_), TlsFlow::Udp(_)) => Interest::Done,
        }
    }

    fn has_end(flow: &TlsFlow) -> bool {
        matches!(flow, TlsFlow::Tcp(flow) if flow.has_end())
    }

    fn on_end(&mut self, flow: TlsFlow, emit: &mut impl FnMut(Event<TlsEvent>)) {
        let TlsFlow::Tcp(flow) = flow else { return };
        let StreamObserverCounters { parser: counters, streams, .. } = &mut self.counters;
        flow.on_end(
            streams,
            || ParserSlot::new(true),
            |flow, parser: &mut ParserSlot<TlsParser>, input| {
                parser.on_data(input, counters, &mut |side, event| emit(input.event(flow, side, event)));
            },
        );
    }

    fn buffered_bytes(flow: &TlsFlow) -> usize {
        match flow {
            TlsFlow::Tcp(flow) => flow.buffered_bytes(),
            TlsFlow::Udp(flow) => flow.buffered_bytes(),
        }
    }
}

impl HelloCounters {
    /// Counts a hello and creates its event.
    pub(crate) fn event(&mut self, hello: Hello<'_>, retry: bool) -> TlsEvent {
        let count = |counter: &mut u64| *counter = counter.saturating_add(1);
        match hello {
            Hello::Client(hello) => {
                count(&mut self.client);
                if hello.has_ech() {
                    count(&mut self.ech);
                }
                if !hello.is_well_formed() {
                    count(&mut self.malformed);
                }
                TlsEvent::Client(TlsClient { hello: hello.into_owned(), retry })
            }
            Hello::Server(hello) => {
                count(&mut self.server);
                TlsEvent::Server(TlsServer { hello: hello.into_owned() })
            }
        }
    }
}
