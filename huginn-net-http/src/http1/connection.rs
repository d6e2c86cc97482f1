//! An HTTP/1 connection: both directions.

use super::body::{Body, Framing};
use super::first_line::{self, RequestLine};
use super::head::{self, Lines};
use super::pending_requests::{PendingRequests, RequestKind};
use super::reader::{AfterHead, HeadSink, Reader};
use super::{Head, Http1Counters, Probe};
use crate::headers::trim_blanks;
use crate::limits::MAX_SEARCH_BYTES;
use crate::p0f::Exchange;
use crate::{Header, HeaderName, HttpError, Response, Role};

/// Parses both directions of an HTTP/1 connection from in-order bytes in pieces of any size.
///
/// Every head is reported and every body is skipped. A SOCKS handshake or a PROXY protocol header may come first. The
/// contents of a CONNECT tunnel are parsed as a new connection.
///
/// ```
/// use huginn_net_http::{Role, http1::{Head, Http1Connection, Http1Counters}};
///
/// let (mut connection, mut counters) = (Http1Connection::new(), Http1Counters::default());
/// let mut methods = Vec::new();
/// let bytes = b"POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nhiGET /b HTTP/1.1\r\n\r\n";
/// connection.push(Role::Request, bytes, &mut counters, &mut |exchange, head| {
///     if let Head::Request(request) = head {
///         methods.push((exchange, request.method().to_vec()));
///     }
/// });
/// assert_eq!(methods, [(0, b"POST".to_vec()), (1, b"GET".to_vec())]);
/// ```
#[derive(Debug)]
pub struct Http1Connection {
    requests: Reader,
    responses: Reader,
    pending_requests: PendingRequests,
    requests_seen: u32,
    responses_seen: u32,
    p0f: Exchange,
    upgrade: Option<Upgrade>,
    /// Whether requests, or responses, may be missing, so that counting no longer matches responses to requests.
    requests_missing: bool,
    responses_missing: bool,
    /// The search for the answer after an unreadable line that was counted as one.
    late_answer: Option<LateAnswer>,
}

/// A request whose answer may come after an unreadable line.
#[derive(Clone, Copy, Debug)]
struct LateAnswer {
    kind: RequestKind,
    /// Bytes in which the answer is searched for, although no request is pending.
    search_left: u32,
}

/// A protocol that a connection switches to, after a response 101 or instead of HTTP/1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Upgrade {
    /// HTTP/2 by upgrade (RFC 7540, section 3.2): the first request is answered on stream 1.
    Http2,
    /// HTTP/2 by prior knowledge (RFC 9113, section 3.3), after a proxy prefix or in a tunnel.
    PriorKnowledge,
    /// Another protocol, such as WebSocket.
    Other,
}

impl Default for Http1Connection {
    fn default() -> Self {
        Self::new()
    }
}

impl Http1Connection {
    /// Creates a connection from its first bytes.
    pub fn new() -> Self {
        Self::with_readers(Reader::new)
    }

    /// Creates a connection that was already open. Heads are only detected at the start of a piece.
    pub fn midstream() -> Self {
        Self::with_readers(Reader::midstream)
    }

    fn with_readers(reader: impl Fn(Role) -> Reader) -> Self {
        Self {
            requests: reader(Role::Request),
            responses: reader(Role::Response),
            pending_requests: PendingRequests::default(),
            requests_seen: 0,
            responses_seen: 0,
            p0f: Exchange::default(),
            upgrade: None,
            requests_missing: false,
            responses_missing: false,
            late_answer: None,
        }
    }

    /// Parses the next bytes of one direction and calls `found` for each complete head, with the number of its
    /// exchange, counted from 0. Provisional responses (1xx) have the number of the final response.
    pub fn push(
        &mut self,
        direction: Role,
        bytes: &[u8],
        counters: &mut Http1Counters,
        found: &mut impl FnMut(u32, Head),
    ) {
        if bytes.is_empty() {
            return;
        }
        match direction {
            Role::Request => self.push_requests(bytes, counters, found),
            Role::Response => self.push_responses(bytes, counters, found),
        }
    }

    fn push_requests(
        &mut self,
        bytes: &[u8],
        counters: &mut Http1Counters,
        found: &mut impl FnMut(u32, Head),
    ) {
        if self.requests_seen == 0 && self.requests.is_midstream {
            self.requests_seen = self.responses_seen;
        }
        let Self { requests, pending_requests, requests_seen, responses_seen, p0f, requests_missing, .. } =
            self;
        let mut sink =
            RequestSink { pending_requests, requests_seen, responses_seen, p0f, requests_missing, found };
        requests.push(bytes, counters, &mut sink);
        if self.upgrade.is_none() && self.requests.has_switched_protocols() {
            self.upgrade = Some(Upgrade::PriorKnowledge);
            self.responses.switch();
        }
    }

    fn push_responses<F: FnMut(u32, Head)>(
        &mut self,
        bytes: &[u8],
        counters: &mut Http1Counters,
        found: &mut F,
    ) {
        self.p0f.on_server_bytes();
        let is_asked = !self.pending_requests.is_empty()
            || self.requests_missing
            || self.requests_seen == 0
            || self.late_answer.is_some_and(|late| late.search_left > 0);
        if self.responses.is_resyncing() && !is_asked {
            // No request is pending, so apparent heads are part of a body.
            self.responses.skip_unsearched();
            return;
        }
        let Self {
            requests,
            responses,
            pending_requests,
            requests_seen,
            responses_seen,
            p0f,
            requests_missing,
            responses_missing,
            late_answer,
            ..
        } = self;
        if let Some(LateAnswer { search_left, .. }) = late_answer {
            *search_left = search_left.saturating_sub(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        }
        let mut sink = ResponseSink {
            pending_requests,
            requests_seen: *requests_seen,
            requests_missing: *requests_missing,
            client_bytes: requests.skipped_bytes(),
            responses_seen,
            p0f,
            responses_missing,
            late_answer,
            found: &mut *found,
            is_response: false,
            tunnel: false,
            upgrade: None,
        };
        responses.push(bytes, counters, &mut sink);
        let ResponseSink { is_response, tunnel, upgrade, .. } = sink;
        if is_response && self.requests.resume_as_http() {
            counters.requests_unreadable = counters.requests_unreadable.saturating_add(1);
            self.requests_missing = true;
        }
        if upgrade.is_some() {
            self.upgrade = upgrade;
            self.requests.switch();
        }
        if tunnel {
            self.requests.switch();
            let early = self.requests.take_switched_bytes();
            self.requests = Reader::new(Role::Request);
            self.pending_requests = PendingRequests::default();
            self.push_requests(&early, counters, found);
        }
    }

    /// Remaining bytes of the current body or chunk in this direction; 0 outside of a body.
    #[inline]
    #[cfg(feature = "packets")]
    pub(crate) fn body_remaining(&self, direction: Role) -> u64 {
        match direction {
            Role::Request => self.requests.body_remaining(),
            Role::Response => self.responses.body_remaining(),
        }
    }

    /// Number of the last bytes of the responses' data that belong to a body; `usize::MAX` before the first request.
    #[inline]
    #[cfg(feature = "packets")]
    pub(crate) fn uncompared_of_responses(&self) -> usize {
        if self.requests_seen == 0 { usize::MAX } else { self.responses.body_tail() }
    }

    /// Skips body bytes; `len` is less than the [remaining](Self::body_remaining) bytes.
    #[inline]
    #[cfg(feature = "packets")]
    pub(crate) fn skip_body(&mut self, direction: Role, len: u64) {
        match direction {
            Role::Request => self.requests.skip_body(len),
            Role::Response => self.responses.skip_body(len),
        }
    }

    /// Marks the client's first bytes as skipped, because [`is_not_http`](super::is_not_http) ruled HTTP/1 out.
    #[cfg(feature = "packets")]
    pub(crate) fn after_non_http_prefix(mut self, len: usize) -> Self {
        self.requests.skip_non_http(len);
        self
    }

    /// Records that p0f stops reading for a reason outside of the bytes: a FIN, a RST or data in a SYN. Later heads
    /// have no p0f signature ([`HttpSignature::p0f_from_request`](crate::HttpSignature::p0f_from_request)).
    #[doc(hidden)]
    pub fn hide_from_p0f(&mut self) {
        self.p0f.end();
    }

    /// Searches a direction for its next head, whatever it reads.
    #[cfg(feature = "packets")]
    pub(crate) fn lose_place(&mut self, direction: Role) {
        self.hide_from_p0f();
        match direction {
            Role::Request => {
                self.requests.lose_place();
                self.requests_missing = true;
            }
            Role::Response => {
                self.responses.lose_place();
                self.responses_missing = true;
            }
        }
    }

    /// Records that messages at the end of a direction may be missing.
    #[cfg(feature = "packets")]
    pub(crate) fn miss_end(&mut self, direction: Role) {
        if direction == Role::Request && self.requests_seen > 0 && self.requests.is_between_messages() {
            self.requests_missing = true;
        }
    }

    /// Records missing bytes of a direction; `u64::MAX` if their number is unknown.
    pub fn gap(&mut self, direction: Role, missing: u64, counters: &mut Http1Counters) {
        self.hide_from_p0f();
        match direction {
            Role::Request => {
                self.requests.gap(missing, counters);
                self.requests_missing |= self.requests.is_resyncing();
            }
            Role::Response => {
                self.responses.gap(missing, counters);
                self.late_answer = None;
                self.responses_missing |= self.responses.is_resyncing();
            }
        }
    }

    /// The protocol that the connection switched to, if any.
    pub fn upgrade(&self) -> Option<Upgrade> {
        self.upgrade
    }

    /// Whether this direction has switched from HTTP/1 to another protocol. After a head whose last byte so far is a CR, the next
    /// byte decides.
    pub fn has_switched_protocols(&self, direction: Role) -> bool {
        match direction {
            Role::Request => self.requests.has_switched_protocols(),
            Role::Response => self.responses.has_switched_protocols(),
        }
    }

    /// Takes the bytes received since the switch to another protocol. Up to 128 KiB are buffered; if more arrive, all
    /// are dropped.
    pub fn take_switched_bytes(&mut self, direction: Role) -> Vec<u8> {
        match direction {
            Role::Request => self.requests.take_switched_bytes(),
            Role::Response => self.responses.take_switched_bytes(),
        }
    }

    /// Whether a head of HTTP/1 was found.
    pub fn is_http1(&self) -> bool {
        self.requests_seen > 0 || self.responses_seen > 0
    }

    /// Whether no further head can be found: both directions ended or are not HTTP/1, or the client exceeded the limit
    /// of bytes that are not HTTP/1.
    pub fn is_done(&self) -> bool {
        self.requests.exceeds_non_http_limit() || self.requests.is_done() && self.responses.is_done()
    }

    /// Whether a direction has a part of a head or, in the search for one, of a line that may begin it.
    #[doc(hidden)]
    pub fn has_partial_head(&self, direction: Role) -> bool {
        match direction {
            Role::Request => self.requests.buffered_bytes() > 0,
            Role::Response => self.responses.buffered_bytes() > 0,
        }
    }

    /// Whether the next bytes of both directions are the first ones of a message, and all requests have their answers.
    #[doc(hidden)]
    pub fn is_between_messages(&self) -> bool {
        self.requests.is_between_messages()
            && self.responses.is_between_messages()
            && self.pending_requests.is_empty()
            && self.late_answer.is_none()
    }

    /// Heap memory in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.requests
            .buffered_bytes()
            .saturating_add(self.responses.buffered_bytes())
            .saturating_add(self.pending_requests.buffered_bytes())
    }
}

/// Numbers the requests of a connection.
struct RequestSink<'a, F> {
    pending_requests: &'a mut PendingRequests,
    requests_seen: &'a mut u32,
    responses_seen: &'a u32,
    p0f: &'a mut Exchange,
    requests_missing: &'a mut bool,
    found: &'a mut F,
}

impl<F> RequestSink<'_, F> {
    fn add(&mut self, kind: RequestKind) -> u32 {
        if std::mem::take(self.requests_missing) {
            // A client without pipelining sends the next request after the response.
            *self.requests_seen = (*self.requests_seen).max(*self.responses_seen);
        }
        self.pending_requests.push(kind);
        let exchange = *self.requests_seen;
        *self.requests_seen = exchange.saturating_add(1);
        exchange
    }
}

impl<F: FnMut(u32, Head)> HeadSink for RequestSink<'_, F> {
    fn on_head(&mut self, head: Lines<'_>, is_first: bool) -> Result<AfterHead, HttpError> {
        let request = head::request(head, is_first && *self.p0f == Exchange::Request)?;
        self.p0f.on_request(request.p0f_version.is_some());
        let exchange = self.add(RequestKind::from_request(&request));
        let framing = Framing::from_request(&request);
        let is_cut = request.headers().is_cut();
        (self.found)(exchange, Head::Request(request));
        Ok(AfterHead { framing, is_cut })
    }

    fn on_unreadable(&mut self, line: &[u8], is_http: bool) -> bool {
        let is_http = is_http || RequestLine::is_unreadable_http(line);
        if is_http && first_line::probe(Role::Request, line) == Probe::Yes {
            self.add(RequestKind::from_line(line));
        } else {
            *self.requests_missing |= is_http;
        }
        is_http
    }
}

/// Numbers the responses of a connection.
struct ResponseSink<'a, F> {
    pending_requests: &'a mut PendingRequests,
    requests_seen: u32,
    /// Whether the capture lacks requests after the last one seen.
    requests_missing: bool,
    client_bytes: u32,
    responses_seen: &'a mut u32,
    p0f: &'a mut Exchange,
    responses_missing: &'a mut bool,
    late_answer: &'a mut Option<LateAnswer>,
    found: &'a mut F,
    /// Whether a response was found.
    is_response: bool,
    tunnel: bool,
    upgrade: Option<Upgrade>,
}

impl<F> ResponseSink<'_, F> {
    fn add(&mut self) {
        self.pending_requests.pop();
        *self.responses_seen = self.responses_seen.saturating_add(1);
    }
}

impl<F: FnMut(u32, Head)> HeadSink for ResponseSink<'_, F> {
    fn on_head(&mut self, head: Lines<'_>, is_first: bool) -> Result<AfterHead, HttpError> {
        let is_too_long = head.is_too_long;
        let response = head::response(head, is_first && *self.p0f == Exchange::Response)?;
        self.is_response = true;
        self.p0f.end();
        if std::mem::take(self.responses_missing) {
            // A client without pipelining sends the next request after the response.
            let answered = if self.requests_missing {
                *self.pending_requests = PendingRequests::default();
                self.requests_seen
            } else {
                self.pending_requests.keep_last();
                self.requests_seen.saturating_sub(1)
            };
            *self.responses_seen = (*self.responses_seen).max(answered);
        }
        let is_asked = self.requests_seen == 0 || !self.pending_requests.is_empty();
        let late = self.late_answer.take().filter(|_| !is_asked);
        if late.is_some() {
            // The line before was not the answer.
            *self.responses_seen = self.responses_seen.saturating_sub(1);
        }
        let kind = late.map_or_else(|| self.pending_requests.next_kind(), |late| late.kind);
        let framing = match Framing::from_response(&response, kind) {
            // The length may be in the part that was cut.
            Framing::Body(Body::UntilClose) if is_too_long => Framing::Unknown,
            framing => framing,
        };
        self.tunnel |= matches!(framing, Framing::Tunnel);
        if matches!(framing, Framing::Upgrade) {
            self.upgrade = Some(Upgrade::from_response(&response));
        }
        let exchange = *self.responses_seen;
        if !matches!(response.status(), Some(100 | 102..=199)) {
            self.add();
        }
        let is_cut = response.headers().is_cut();
        (self.found)(exchange, Head::Response(response));
        Ok(AfterHead { framing, is_cut })
    }

    fn on_unreadable(&mut self, line: &[u8], is_http: bool) -> bool {
        let is_answer = self.requests_seen > 0 && !self.pending_requests.is_empty();
        let kind = self.pending_requests.next_kind();
        match kind {
            RequestKind::Headless => return false,
            _ if is_answer => self.add(),
            _ if self.requests_seen == 0 && (is_http || line.starts_with(b"HTTP/")) => self.add(),
            _ => return is_http,
        }
        *self.late_answer = Some(LateAnswer { kind, search_left: MAX_SEARCH_BYTES });
        true
    }

    fn client_bytes(&self) -> u32 {
        self.client_bytes
    }
}

impl Upgrade {
    fn from_response(response: &Response) -> Self {
        let values = response.headers().named(HeaderName::Upgrade).map(Header::value);
        let mut protocols = values.flat_map(|value| value.split(|&byte| byte == b','));
        if protocols.any(|protocol| trim_blanks(protocol).eq_ignore_ascii_case(b"h2c")) {
            Self::Http2
        } else {
            Self::Other
        }
    }
}
