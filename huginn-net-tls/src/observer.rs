//! The hellos of a capture, watched flow by flow.

use huginn_net_core::{
    Analyzer, Interest, Protocol, Segment, Side, StreamCounters, Tally, TcpHeader, TcpStarts, tally,
};

use crate::datagram::DatagramFlow;
use crate::hello::Hello;
use crate::quic::{self, QuicCounters, QuicFlow};
use crate::stream;
use crate::tcp::{Connection, Greeting};
use crate::{ClientHello, ServerHello, Transport};

/// The analyzer of TLS alone.
///
/// ```
/// use huginn_net_capture::CaptureReader;
/// use huginn_net_core::Event;
/// use huginn_net_tls::{HuginnNetTls, TlsEvent};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls-go.pcap");
/// let mut events: Vec<Event<TlsEvent>> = Vec::new();
/// HuginnNetTls::builder().build().analyze(CaptureReader::open(path)?, &mut events)?;
/// let TlsEvent::Client(client) = &events[0].kind else { panic!("the client speaks first") };
/// assert_eq!(client.hello.ja4().to_string(), "t13d1314h2_f57a46bbacb6_fb48f8b98a29");
/// # Ok::<_, huginn_net_core::AnalysisError<huginn_net_capture::CaptureError>>(())
/// ```
pub type HuginnNetTls = Analyzer<TlsObserver>;

/// Reports the hellos of both ends of each TLS handshake, over TCP, QUIC and DTLS.
#[derive(Clone, Debug, Default)]
pub struct TlsObserver {
    counters: TlsCounters,
    /// Room to open QUIC packets in.
    scratch: Vec<u8>,
}

/// What a [`TlsObserver`] learns. The event's subject is who sent the hello.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsEvent {
    /// A ClientHello.
    Client(TlsClient),
    /// A ServerHello.
    Server(TlsServer),
}

/// Who speaks as the client of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsClient {
    /// What it said first.
    pub hello: ClientHello<'static>,
    /// Whether this is its second hello, which the server asked for.
    pub retry: bool,
}

/// Who speaks as the server of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsServer {
    /// What it answered; a HelloRetryRequest, where [that](ServerHello::is_retry_request) is so.
    pub hello: ServerHello<'static>,
}

/// What a [`TlsObserver`] counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TlsCounters {
    /// What was reported.
    pub hellos: HelloCounters,
    /// What became of TCP's segments.
    pub tcp: StreamCounters,
    /// What the search for hellos in TCP's bytes came to.
    pub search: SearchCounters,
    /// What became of QUIC's packets.
    pub quic: QuicCounters,
    /// What became of the datagrams of DTLS and of others that carry TLS.
    pub udp: DatagramCounters,
}

tally!(TlsCounters { hellos, tcp, search, quic, udp });

/// What flows of DTLS, of OpenVPN and of RDP over UDP could not give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DatagramCounters {
    /// Fragments and packets that came too far ahead of what was missing to be held.
    pub refused: u64,
    /// Hellos that cannot be read, and sessions in which something else came in the place of one.
    pub malformed: u64,
}

tally!(DatagramCounters { refused, malformed });

/// The hellos reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HelloCounters {
    /// ClientHellos.
    pub client: u64,
    /// ServerHellos, and HelloRetryRequests.
    pub server: u64,
    /// ClientHellos whose extensions are cut off or lie about their lengths.
    pub malformed: u64,
}

tally!(HelloCounters { client, server, malformed });

/// What TCP connections could not give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SearchCounters {
    /// Hellos that cannot be read: they end within what is mandatory, or announce more bytes than any can have.
    pub malformed: u64,
    /// Directions in which no hello was whole after as many bytes as are looked at: 64 KiB where none began, 512 KiB
    /// where one did.
    pub given_up: u64,
}

tally!(SearchCounters { malformed, given_up });

/// What a [`TlsObserver`] remembers of one flow.
#[derive(Debug, Default)]
pub struct TlsFlow {
    starts: TcpStarts,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// No payload was seen.
    #[default]
    Fresh,
    /// A ClientHello was read from the first segment with payload.
    Greeted(Greeting),
    Stream(Box<Connection>),
    Quic(QuicFlow),
    Datagrams(Box<DatagramFlow>),
    Done,
}

impl TlsObserver {
    /// What was counted since the observer was made.
    pub fn counters(&self) -> TlsCounters {
        self.counters
    }
}

impl Protocol for TlsObserver {
    type Flow = TlsFlow;
    type Event = TlsEvent;
    type Memory = ();
    type Counters = TlsCounters;

    fn memory(&self) {}

    fn fork(&self) -> Self {
        Self::default()
    }

    fn join(&mut self, worker: Self) {
        self.counters.add(&worker.counters);
    }

    fn counted(&self) -> TlsCounters {
        self.counters
    }

    fn opens(&self, segment: &Segment<'_>) -> Option<Side> {
        match segment.tcp() {
            Some(tcp) => opens_tcp(tcp, segment.payload),
            None => opens_udp(segment.transport.ports(), segment.payload),
        }
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut TlsFlow,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) -> Interest {
        match segment.tcp() {
            Some(tcp) => self.on_tcp(tcp, segment.payload, sender, flow, emit),
            None => self.on_udp(segment.payload, sender, flow, emit),
        }
        match flow.state {
            State::Done => Interest::Done,
            State::Fresh | State::Greeted(_) | State::Stream(_) | State::Quic(_) | State::Datagrams(_) => {
                Interest::More
            }
        }
    }

    fn held(flow: &TlsFlow) -> usize {
        match &flow.state {
            State::Fresh | State::Greeted(_) | State::Done => 0,
            State::Stream(stream) => stream.held(),
            State::Quic(quic) => quic.held(),
            State::Datagrams(datagrams) => size_of::<DatagramFlow>().saturating_add(datagrams.held()),
        }
    }
}

/// A SYN opens a flow, and so does a hello where the SYN was not seen.
fn opens_tcp(tcp: &TcpHeader<'_>, payload: &[u8]) -> Option<Side> {
    if tcp.flags.opens() {
        return Some(Side::Client);
    }
    stream::hello_sender(payload)
}

/// A datagram that a client begins with opens a flow. Where the beginning was not seen, a well-known port is the
/// server's; between other ports, what the datagram looks like decides.
fn opens_udp((source, destination): (u16, u16), payload: &[u8]) -> Option<Side> {
    if !quic::looks_like_initial(payload) {
        return DatagramFlow::opened_by(payload).map(|(sender, _)| sender);
    }
    Some(match (source < 1024, destination < 1024) {
        (true, false) => Side::Server,
        (false, true) => Side::Client,
        (true, true) | (false, false) => quic::likely_sender(payload),
    })
}

impl TlsObserver {
    fn on_udp(
        &mut self,
        payload: &[u8],
        sender: Side,
        flow: &mut TlsFlow,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) {
        let state = &mut flow.state;
        if let Some(opened) = state.opened_by(payload) {
            *state = opened;
        }
        let Self { counters: TlsCounters { hellos, quic: counters, udp, .. }, scratch } = self;
        let interest = match state {
            State::Quic(quic) => quic.on_datagram(payload, sender, scratch, counters, &mut |found| {
                if let Ok(hello) = Hello::from_message(found.message, Transport::Quic) {
                    emit(found.sender, hellos.event(hello, found.retry));
                }
            }),
            State::Datagrams(datagrams) => {
                datagrams.on_datagram(payload, sender, udp, &mut |side, hello, retry| {
                    emit(side, hellos.event(hello, retry));
                })
            }
            State::Fresh | State::Greeted(_) | State::Stream(_) | State::Done => return,
        };
        if interest == Interest::Done {
            *state = State::Done;
        }
    }

    fn on_tcp(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        flow: &mut TlsFlow,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) {
        let TlsFlow { starts, state } = flow;
        let TlsCounters { hellos, search, tcp: counters, .. } = &mut self.counters;
        let mut read = |connection: &mut Connection| {
            connection.on_segment(tcp, payload, sender, counters, search, &mut |side, hello, retry| {
                emit(side, hellos.event(hello, retry));
            });
        };
        *state = match state {
            State::Fresh => {
                starts.learn(tcp, sender);
                if payload.is_empty() {
                    return;
                }
                match Greeting::read(*starts, tcp, payload, sender) {
                    Some((greeting, hello)) => {
                        emit(sender, hellos.event(Hello::Client(hello), false));
                        State::Greeted(greeting)
                    }
                    None => {
                        let mut connection = Connection::new(*starts);
                        read(&mut connection);
                        State::of(connection)
                    }
                }
            }
            State::Greeted(greeting) => {
                if greeting.is_acknowledged_by(tcp, payload, sender) {
                    return;
                }
                let mut connection = greeting.connection(*starts);
                read(&mut connection);
                State::of(connection)
            }
            State::Stream(connection) => {
                read(connection);
                if !connection.is_done() {
                    return;
                }
                State::Done
            }
            State::Quic(_) | State::Datagrams(_) | State::Done => return,
        };
    }
}

impl State {
    fn of(connection: Connection) -> Self {
        if connection.is_done() { Self::Done } else { Self::Stream(Box::new(connection)) }
    }

    /// The state of a flow of UDP that this datagram opens: one of which nothing is known, or in which datagrams that
    /// looked like another carrier's told nothing. Anybody may have sent those.
    fn opened_by(&self, payload: &[u8]) -> Option<Self> {
        let (is_quic, is_other) = match self {
            Self::Fresh => (false, false),
            Self::Quic(quic) if !quic.has_told() => (true, false),
            Self::Datagrams(datagrams) if !datagrams.has_told() => (false, true),
            Self::Quic(_) | Self::Datagrams(_) | Self::Greeted(_) | Self::Stream(_) | Self::Done => {
                return None;
            }
        };
        if quic::looks_like_initial(payload) {
            return (!is_quic).then(|| Self::Quic(QuicFlow::default()));
        }
        let (_, datagrams) = DatagramFlow::opened_by(payload).filter(|_| !is_other)?;
        Some(Self::Datagrams(Box::new(datagrams)))
    }
}

impl HelloCounters {
    /// Counts a hello and makes the event of it.
    fn event(&mut self, hello: Hello<'_>, retry: bool) -> TlsEvent {
        let count = |counter: &mut u64| *counter = counter.saturating_add(1);
        match hello {
            Hello::Client(hello) => {
                count(&mut self.client);
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
