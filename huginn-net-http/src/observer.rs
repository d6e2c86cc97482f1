//! Reports the HTTP requests and responses of a capture.

use std::sync::Arc;

use huginn_net_core::{Analyzer, StreamObserver, tally};

use crate::http1::Http1Counters;
use crate::http2::Akamai;
use crate::http3::{Http3Event, Http3Fingerprint};
use crate::{HttpParser, Request, Response};

/// An analyzer that runs the HTTP fingerprinter only.
///
/// ```
/// use huginn_net_capture::CaptureReader;
/// use huginn_net_core::Event;
/// use huginn_net_http::{HttpEvent, HuginnNetHttp};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tcp/curl-nginx/curl-nginx.pcap");
/// let mut events: Vec<Event<HttpEvent>> = Vec::new();
/// HuginnNetHttp::builder().build().analyze(CaptureReader::open(path)?, |event| events.push(event))?;
/// let HttpEvent::Request(found) = &events[0].kind else { panic!("the client speaks first") };
/// assert_eq!(found.request.user_agent(), Some(&b"curl/7.88.1"[..]));
/// # Ok::<_, huginn_net_core::AnalysisError<huginn_net_capture::CaptureError>>(())
/// ```
pub type HuginnNetHttp = Analyzer<HttpObserver>;

/// Reports every request and response of each connection with unencrypted HTTP, on any port: HTTP/1, and HTTP/2 by
/// prior knowledge or after an upgrade.
pub type HttpObserver = StreamObserver<HttpParser>;

/// An event of an [`HttpObserver`]. The subject of the event is the sender of the head.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpEvent {
    /// The head of a request.
    Request(HttpRequest),
    /// The head of a response, including provisional ones (1xx).
    Response(HttpResponse),
}

/// A request and its position in the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The head.
    pub request: Request,
    /// Number of the exchange in the connection, counted from 0; in HTTP/2 and HTTP/3 the stream identifier.
    pub exchange: u32,
    /// The Akamai fingerprint of an HTTP/2 client.
    pub akamai: Option<Arc<Akamai>>,
    /// The fingerprint of an HTTP/3 client.
    pub http3: Option<Arc<Http3Fingerprint>>,
}

impl HttpEvent {
    /// Converts an event of an HTTP/3 connection, and counts it; `None` for an event without a head.
    pub fn from_http3(event: Http3Event, counters: &mut HttpCounters) -> Option<Self> {
        let (counter, event) = match event {
            Http3Event::Request { stream, request, fingerprint } => {
                let exchange = u32::try_from(stream).unwrap_or(u32::MAX);
                let found = HttpRequest { request, exchange, akamai: None, http3: fingerprint };
                (&mut counters.requests, Some(Self::Request(found)))
            }
            Http3Event::Response { stream, response } => {
                let exchange = u32::try_from(stream).unwrap_or(u32::MAX);
                (&mut counters.responses, Some(Self::Response(HttpResponse { response, exchange })))
            }
            Http3Event::HeadCut { .. } => (&mut counters.http3_heads_cut, None),
            Http3Event::Undecodable { .. } => (&mut counters.http3_undecodable, None),
        };
        *counter = counter.saturating_add(1);
        event
    }
}

/// A response and its position in the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpResponse {
    /// The head.
    pub response: Response,
    /// Number of the exchange in the connection, counted from 0; in HTTP/2 and HTTP/3 the stream identifier.
    pub exchange: u32,
}

/// Counters of an [`HttpObserver`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HttpCounters {
    /// Requests reported.
    pub requests: u64,
    /// Responses reported.
    pub responses: u64,
    /// Counters of HTTP/1 errors.
    pub http1: Http1Counters,
    /// HTTP/2 heads and trailers whose field list exceeds a limit: 64 KiB, as many fields as in HTTP/1, or many times the
    /// length of its bytes. Heads are reported cut.
    pub http2_heads_cut: u64,
    /// HTTP/2 directions abandoned because of malformed frames or exceeded limits.
    pub http2_given_up: u64,
    /// HTTP/3 heads that exceed a limit: their field section has more than 64 KiB, waits too long for the encoder stream, or has
    /// more fields than are kept. The latter are reported cut, the others are not.
    pub http3_heads_cut: u64,
    /// HTTP/3 heads and encoder streams that cannot be decoded: they are invalid, or bytes are missing.
    pub http3_undecodable: u64,
}

tally!(HttpCounters {
    requests,
    responses,
    http1,
    http2_heads_cut,
    http2_given_up,
    http3_heads_cut,
    http3_undecodable
});
