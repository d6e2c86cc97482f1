//! The requests and responses of a capture, watched flow by flow.

use std::sync::Arc;

use huginn_net_core::{
    Analyzer, Interest, Protocol, Segment, Side, StreamCounters, Tally, TcpFlags, TcpHeader, TcpStarts, tally,
};

use crate::connection::Connection;
use crate::http1::{self, Http1Counters};
use crate::http2::{Akamai, PREFACE};
use crate::{Request, Response, Role};

/// The analyzer of HTTP alone.
///
/// ```
/// use huginn_net_capture::CaptureReader;
/// use huginn_net_core::Event;
/// use huginn_net_http::{HttpEvent, HuginnNetHttp};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/curl-nginx.pcap");
/// let mut events: Vec<Event<HttpEvent>> = Vec::new();
/// HuginnNetHttp::builder().build().analyze(CaptureReader::open(path)?, &mut events)?;
/// let HttpEvent::Request(found) = &events[0].kind else { panic!("the client speaks first") };
/// assert_eq!(found.request.user_agent(), Some(&b"curl/7.88.1"[..]));
/// # Ok::<_, huginn_net_core::AnalysisError<huginn_net_capture::CaptureError>>(())
/// ```
pub type HuginnNetHttp = Analyzer<HttpObserver>;

/// Reports every request and response of each connection that speaks HTTP in the clear: HTTP/1, and HTTP/2 by prior
/// knowledge or after an upgrade, on any port.
#[derive(Clone, Debug, Default)]
pub struct HttpObserver {
    counters: HttpCounters,
}

/// What an [`HttpObserver`] learns. The event's subject is who sent the head.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpEvent {
    /// The head of a request.
    Request(HttpRequest),
    /// The head of a response, a provisional one (1xx) too.
    Response(HttpResponse),
}

/// A request of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// Its head.
    pub request: Request,
    /// Which exchange of the connection it begins: counted from 0, or the stream of HTTP/2.
    pub exchange: u32,
    /// The fingerprint of the client, with HTTP/2.
    pub akamai: Option<Arc<Akamai>>,
}

/// A response of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpResponse {
    /// Its head.
    pub response: Response,
    /// Which exchange of the connection it belongs to: counted from 0, or the stream of HTTP/2.
    pub exchange: u32,
}

/// What an [`HttpObserver`] counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HttpCounters {
    /// Requests reported.
    pub requests: u64,
    /// Responses reported.
    pub responses: u64,
    /// What of HTTP/1 could not be read.
    pub http1: Http1Counters,
    /// Directions of HTTP/2 given up: what came is malformed, or too much.
    pub http2_given_up: u64,
    /// What became of TCP's segments.
    pub tcp: StreamCounters,
}

tally!(HttpCounters { requests, responses, http1, http2_given_up, tcp });

/// What an [`HttpObserver`] remembers of one flow.
#[derive(Debug, Default)]
pub struct HttpFlow {
    starts: TcpStarts,
    /// Whether its SYN was seen.
    from_start: bool,
    /// The memory that its connection takes up, in bytes.
    held: u32,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// No payload was seen.
    #[default]
    Fresh,
    Open(Box<Connection>),
    Done,
}

impl HttpObserver {
    /// What was counted since the observer was made.
    pub fn counters(&self) -> HttpCounters {
        self.counters
    }
}

impl Protocol for HttpObserver {
    type Flow = HttpFlow;
    type Event = HttpEvent;
    type Memory = ();
    type Counters = HttpCounters;

    fn memory(&self) {}

    fn fork(&self) -> Self {
        Self::default()
    }

    fn join(&mut self, worker: Self) {
        self.counters.add(&worker.counters);
    }

    fn counted(&self) -> HttpCounters {
        self.counters
    }

    /// A SYN opens a flow, and so does a segment that begins with a head where the SYN was not seen.
    fn opens(&self, segment: &Segment<'_>) -> Option<Side> {
        let tcp = segment.tcp()?;
        if tcp.flags.opens() {
            return Some(Side::Client);
        }
        let begins = |role| http1::begins_head(role, segment.payload);
        if begins(Role::Request) || segment.payload.starts_with(PREFACE) {
            Some(Side::Client)
        } else {
            begins(Role::Response).then_some(Side::Server)
        }
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut HttpFlow,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) -> Interest {
        let Some(tcp) = segment.tcp() else { return Interest::Done };
        self.on_tcp(tcp, segment.payload, sender, flow, emit);
        match flow.state {
            State::Done => Interest::Done,
            State::Fresh | State::Open(_) => Interest::More,
        }
    }

    fn held(flow: &HttpFlow) -> usize {
        flow.held as usize
    }
}

impl HttpObserver {
    fn on_tcp(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        flow: &mut HttpFlow,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        if let State::Fresh = flow.state {
            flow.starts.learn(tcp, sender);
            flow.from_start |= tcp.flags.contains(TcpFlags::SYN);
            if payload.is_empty() {
                return;
            }
            flow.state = State::Open(Box::new(Connection::new(
                flow.starts,
                flow.from_start || payload.starts_with(PREFACE),
            )));
        }
        let State::Open(connection) = &mut flow.state else { return };
        if connection.passes_over(tcp, payload.len(), sender) {
            return;
        }
        connection.on_segment(tcp, payload, sender, &mut self.counters, emit);
        if connection.is_done() {
            (flow.state, flow.held) = (State::Done, 0);
        } else {
            flow.held = u32::try_from(connection.held()).unwrap_or(u32::MAX);
        }
    }
}
