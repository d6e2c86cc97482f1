//! The requests and responses of a capture, flow by flow.

use std::sync::Arc;

use huginn_net_core::{Analyzer, StreamObserver, tally};

use crate::http1::Http1Counters;
use crate::http2::Akamai;
use crate::{HttpParser, Request, Response};

/// The analyzer of HTTP alone.
///
/// ```
/// use huginn_net_core::{CaptureReader, Event};
/// use huginn_net_http::{HttpEvent, HuginnNetHttp};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/curl-nginx.pcap");
/// let mut events: Vec<Event<HttpEvent>> = Vec::new();
/// HuginnNetHttp::builder().build().analyze(CaptureReader::open(path)?, &mut events)?;
/// let HttpEvent::Request(found) = &events[0].kind else { panic!("the client speaks first") };
/// assert_eq!(found.request.user_agent(), Some(&b"curl/7.88.1"[..]));
/// # Ok::<_, huginn_net_core::AnalysisError<huginn_net_core::CaptureError>>(())
/// ```
pub type HuginnNetHttp = Analyzer<HttpObserver>;

/// Reports every request and response of each connection that speaks HTTP in the clear: HTTP/1, and HTTP/2 by prior
/// knowledge or after an upgrade, on any port.
pub type HttpObserver = StreamObserver<HttpParser>;

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
}

tally!(HttpCounters { requests, responses, http1, http2_given_up });
