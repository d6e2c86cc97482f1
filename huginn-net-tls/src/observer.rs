//! The hellos of a capture, watched flow by flow.

use huginn_net_core::{
    Analyzer, Interest, Protocol, Segment, Side, TcpFlags, TcpHeader, TcpStream, first_byte,
};

use crate::hello::Hello;
use crate::quic::{self, QuicCounters, QuicFlow};
use crate::record;
use crate::stream::HelloSearch;
use crate::{ClientHello, ServerHello, Transport};

/// The analyzer of TLS alone.
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
    /// What became of QUIC's packets.
    pub quic: QuicCounters,
}

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

/// What TCP streams could not give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StreamCounters {
    /// Segments that came too far ahead of what was missing to be held.
    pub segments_refused: u64,
    /// Gaps given up because too much was held behind them.
    pub gaps: u64,
}

/// What a [`TlsObserver`] remembers of one flow.
#[derive(Debug, Default)]
pub struct TlsFlow {
    /// Sequence numbers of the first byte of client and server, as far as known.
    starts: [Option<u32>; 2],
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// No payload was seen.
    #[default]
    Fresh,
    Stream(Box<StreamFlow>),
    Quic(QuicFlow),
    Done,
}

/// A TCP connection: client and server.
#[derive(Debug)]
struct StreamFlow {
    directions: [Direction; 2],
    /// ClientHellos seen.
    client_hellos: u8,
    /// Whether the server has agreed to a handshake.
    agreed: bool,
}

#[derive(Debug)]
struct Direction {
    stream: TcpStream,
    search: HelloSearch,
}

/// Bytes that may be held of a direction before those that are missing.
const WINDOW: usize = 1 << 17;

impl TlsObserver {
    /// What was counted since the observer was made.
    pub fn counters(&self) -> TlsCounters {
        self.counters
    }
}

impl Protocol for TlsObserver {
    type Flow = TlsFlow;
    type Event = TlsEvent;

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
            State::Fresh | State::Stream(_) | State::Quic(_) => Interest::More,
        }
    }

    fn held(flow: &TlsFlow) -> usize {
        match &flow.state {
            State::Fresh | State::Done => 0,
            State::Stream(stream) => stream.held(),
            State::Quic(quic) => quic.held(),
        }
    }
}

/// A SYN opens a flow, and so does a hello where the SYN was not seen.
fn opens_tcp(tcp: &TcpHeader<'_>, payload: &[u8]) -> Option<Side> {
    if tcp.flags.opens() {
        return Some(Side::Client);
    }
    record::hello_sender(payload)
}

/// A datagram that a client begins with opens a flow. Where the beginning was not seen, a well-known port is the server's.
fn opens_udp((source, destination): (u16, u16), payload: &[u8]) -> Option<Side> {
    if !quic::looks_like_initial(payload) {
        return None;
    }
    Some(if source < 1024 && destination >= 1024 { Side::Server } else { Side::Client })
}

impl TlsObserver {
    fn on_udp(
        &mut self,
        payload: &[u8],
        sender: Side,
        flow: &mut TlsFlow,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) {
        if let State::Fresh = flow.state {
            if !quic::looks_like_initial(payload) {
                return;
            }
            flow.state = State::Quic(QuicFlow::default());
        }
        let state = &mut flow.state;
        let Self { counters: TlsCounters { hellos, quic: counters, .. }, scratch } = self;
        let interest = match state {
            State::Quic(quic) => quic.on_datagram(payload, sender, scratch, counters, &mut |found| {
                if let Ok(hello) = Hello::from_message(found.message, Transport::Quic) {
                    emit(found.sender, hellos.event(hello, found.retry));
                }
            }),
            State::Fresh | State::Stream(_) | State::Done => return,
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
        if tcp.flags.contains(TcpFlags::SYN) {
            flow.begin(sender, first_byte(tcp));
        }
        if tcp.flags.contains(TcpFlags::ACK) {
            flow.begin(sender.peer(), tcp.ack);
        }
        if payload.is_empty() {
            return;
        }
        if let State::Fresh = flow.state {
            flow.state = State::Stream(Box::new(StreamFlow::new(flow.starts)));
        }
        let State::Stream(stream) = &mut flow.state else { return };
        let TlsCounters { hellos, tcp: counters, .. } = &mut self.counters;
        stream.push(tcp, payload, sender, counters, &mut |hello, retry| {
            emit(sender, hellos.event(hello, retry));
        });
        if stream.is_done() {
            flow.state = State::Done;
        }
    }
}

impl TlsFlow {
    /// Notes where the bytes of a direction begin, unless that is known.
    fn begin(&mut self, side: Side, seq: u32) {
        match &mut self.state {
            State::Fresh => {
                pick(&mut self.starts, side).get_or_insert(seq);
            }
            State::Stream(stream) => pick(&mut stream.directions, side).stream.begin_at(seq),
            State::Quic(_) | State::Done => {}
        }
    }
}

impl StreamFlow {
    fn new(starts: [Option<u32>; 2]) -> Self {
        let directions = starts
            .map(|start| Direction { stream: TcpStream::new(start), search: HelloSearch::from_start() });
        Self { directions, client_hellos: 0, agreed: false }
    }

    fn push(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut StreamCounters,
        found: &mut impl FnMut(Hello<'_>, bool),
    ) {
        let Self { directions, client_hellos, agreed } = self;
        let Direction { stream, search } = pick(directions, sender);
        if search.is_done() {
            return;
        }
        let mut report = |hello: Hello<'_>| {
            match &hello {
                Hello::Client(_) => *client_hellos = client_hellos.saturating_add(1),
                Hello::Server(hello) => *agreed |= !hello.is_retry_request(),
            }
            found(hello, *client_hellos > 1);
        };
        let whole = stream.push(tcp, payload, WINDOW, &mut |bytes| search.push(bytes, &mut report));
        if whole {
            return;
        }
        // What is missing is not coming any more: on with what came after it.
        let held = stream.held();
        search.gap();
        let gap = stream.skip_gap(&mut |bytes| search.push(bytes, &mut report));
        if held > 0 {
            let _ = stream.push(tcp, payload, WINDOW, &mut |bytes| search.push(bytes, &mut report));
        }
        counters.segments_refused = counters.segments_refused.saturating_add(1);
        counters.gaps = counters.gaps.saturating_add(u64::from(gap > 0));
    }

    fn is_done(&self) -> bool {
        let [client, server] = &self.directions;
        self.agreed && self.client_hellos > 0 || client.search.is_done() && server.search.is_done()
    }

    fn held(&self) -> usize {
        let held = |direction: &Direction| direction.stream.held().saturating_add(direction.search.held());
        let [client, server] = &self.directions;
        size_of::<Self>().saturating_add(held(client)).saturating_add(held(server))
    }
}

/// Of what there is for client and server, that of this side.
fn pick<T>([client, server]: &mut [T; 2], side: Side) -> &mut T {
    match side {
        Side::Client => client,
        Side::Server => server,
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
