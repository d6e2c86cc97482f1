//! Both directions of a connection.

use huginn_net_core::tally;

use super::Head;
use super::awaited::Awaited;
use super::body::After;
use super::head;
use super::reader::Reader;
use crate::headers::trim_blanks;
use crate::p0f::Exchange;
use crate::{Error, Header, HeaderName, Response, Role};

/// Reads both directions of an HTTP/1 connection, each from its bytes in order, in pieces of any size.
///
/// Every head is reported, however many exchanges there are; bodies are passed over unseen. A greeting of SOCKS or of the
/// PROXY protocol may come first, and what goes through the tunnel of a CONNECT is read as a connection of its own.
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
    awaited: Awaited,
    requests_seen: u32,
    responses_seen: u32,
    p0f: Exchange,
    upgrade: Option<Upgrade>,
    /// Whether responses may be missing: which request the next one answers is not known from their number.
    responses_missing: bool,
}

/// Another protocol that a connection goes on with: behind a response 101, or instead of HTTP/1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Upgrade {
    /// HTTP/2 (RFC 7540, section 3.2): the first request is answered on its stream 1.
    Http2,
    /// HTTP/2 from its preface on (RFC 9113, section 3.3), behind a greeting or in a tunnel.
    PriorKnowledge,
    /// Something else, such as a WebSocket.
    Other,
}

/// What could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Http1Counters {
    /// Heads longer than [`MAX_HEAD`](super::MAX_HEAD).
    pub heads_too_long: u64,
    /// Heads of more fields than [`MAX_HEADERS`](super::MAX_HEADERS).
    pub heads_with_too_many_headers: u64,
    /// How often it was not known any more where the next head begins.
    pub times_lost: u64,
}

tally!(Http1Counters { heads_too_long, heads_with_too_many_headers, times_lost });

impl Default for Http1Connection {
    fn default() -> Self {
        Self::new()
    }
}

impl Http1Connection {
    /// A connection from its first bytes.
    pub fn new() -> Self {
        Self::with(Reader::new)
    }

    /// A connection that was open before: heads are looked for where pieces begin.
    pub fn midstream() -> Self {
        Self::with(Reader::midstream)
    }

    fn with(reader: impl Fn(Role) -> Reader) -> Self {
        Self {
            requests: reader(Role::Request),
            responses: reader(Role::Response),
            awaited: Awaited::default(),
            requests_seen: 0,
            responses_seen: 0,
            p0f: Exchange::default(),
            upgrade: None,
            responses_missing: false,
        }
    }

    /// Takes the next bytes of the direction of requests or of responses, and hands on the heads that are now whole, each
    /// with the number of its exchange, counted from 0. Provisional responses (1xx) have the number of the final one.
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
        if self.requests_seen == 0 && self.requests.searches() {
            self.requests_seen = self.responses_seen;
        }
        let Self { requests, awaited, requests_seen, p0f, .. } = self;
        requests.push(bytes, counters, &mut |head, is_first| {
            let request = head::request(head, is_first && *p0f == Exchange::Request)?;
            p0f.on_request(request.is_seen_by_p0f());
            awaited.push(&request);
            let after = After::request(&request);
            found(*requests_seen, Head::Request(request));
            *requests_seen = requests_seen.saturating_add(1);
            Ok(after)
        });
        if self.upgrade.is_none() && self.requests.is_over() {
            self.upgrade = Some(Upgrade::PriorKnowledge);
            self.responses.switch();
        }
    }

    fn push_responses(
        &mut self,
        bytes: &[u8],
        counters: &mut Http1Counters,
        found: &mut impl FnMut(u32, Head),
    ) {
        self.p0f.on_server_bytes();
        if self.responses.is_lost() && self.requests_seen > 0 && self.awaited.is_empty() {
            // Nothing was asked: what looks like a head is part of a body.
            return;
        }
        let (mut tunnel, mut upgrade) = (false, None);
        let Self { responses, awaited, requests_seen, responses_seen, p0f, responses_missing, .. } = self;
        responses.push(bytes, counters, &mut |head, is_first| {
            let response = head::response(head, is_first && *p0f == Exchange::Response)?;
            p0f.end();
            if std::mem::take(responses_missing) {
                // A client asks again when it has its answer, unless it pipelines.
                awaited.keep_last();
                *responses_seen = (*responses_seen).max(requests_seen.saturating_sub(1));
            }
            let after = After::response(&response, awaited.next());
            tunnel |= matches!(after, After::Tunnel);
            if matches!(after, After::Upgrade) {
                upgrade = Some(Upgrade::of(&response));
            }
            let exchange = *responses_seen;
            if !matches!(response.status(), 100 | 102..=199) {
                awaited.answered();
                *responses_seen = responses_seen.saturating_add(1);
            }
            found(exchange, Head::Response(response));
            Ok::<_, Error>(after)
        });
        if upgrade.is_some() {
            self.upgrade = upgrade;
            self.requests.switch();
        }
        if tunnel {
            self.requests.switch();
            let early = self.requests.take_rest();
            self.requests = Reader::new(Role::Request);
            self.awaited = Awaited::default();
            self.push_requests(&early, counters, found);
        }
    }

    /// The bytes left, in this direction, of a body or of its chunk; 0 if the next byte is none of those.
    #[inline]
    pub(crate) fn body_left(&self, direction: Role) -> u64 {
        match direction {
            Role::Request => self.requests.body_left(),
            Role::Response => self.responses.body_left(),
        }
    }

    /// Takes that many bytes of a body as read, fewer than are [left](Self::body_left).
    #[inline]
    pub(crate) fn skip_body(&mut self, direction: Role, len: u64) {
        match direction {
            Role::Request => self.requests.skip_body(len),
            Role::Response => self.responses.skip_body(len),
        }
    }

    /// The connection behind first bytes of its client that are no HTTP/1, as [`is_foreign`](super::is_foreign) found.
    pub(crate) fn behind_foreign(mut self, len: usize) -> Self {
        self.requests.skip_foreign(len);
        self
    }

    /// Tells that p0f would look no further, for a reason that is not in the bytes: a FIN or RST, data in a SYN. What
    /// comes from here on has no signature of p0f's ([`HttpSignature::p0f_of_request`](crate::HttpSignature::p0f_of_request)).
    pub fn hide_from_p0f(&mut self) {
        self.p0f.end();
    }

    /// Tells that bytes of a direction are missing here, and how many: `u64::MAX` if that is not known.
    pub fn gap(&mut self, direction: Role, missing: u64, counters: &mut Http1Counters) {
        self.hide_from_p0f();
        match direction {
            Role::Request => {
                self.requests.gap(missing, counters);
                self.requests_seen = self.requests_seen.max(self.responses_seen);
            }
            Role::Response => {
                self.responses.gap(missing, counters);
                self.responses_missing |= self.responses.is_lost();
            }
        }
    }

    /// What the connection has been upgraded to, if it has been.
    pub fn upgrade(&self) -> Option<Upgrade> {
        self.upgrade
    }

    /// Whether what follows in this direction is not HTTP/1 but what the connection was upgraded to.
    pub fn is_over(&self, direction: Role) -> bool {
        match direction {
            Role::Request => self.requests.is_over(),
            Role::Response => self.responses.is_over(),
        }
    }

    /// The bytes of a direction, so far, that are those of an upgrade. They are kept until they are taken, 128 KiB at
    /// most: if more comes, nothing is.
    pub fn take_rest(&mut self, direction: Role) -> Vec<u8> {
        match direction {
            Role::Request => self.requests.take_rest(),
            Role::Response => self.responses.take_rest(),
        }
    }

    /// Whether it has been seen to be HTTP/1.
    pub fn is_http1(&self) -> bool {
        self.requests_seen > 0 || self.responses_seen > 0
    }

    /// Whether nothing further can be found: both directions are not HTTP/1 or have come to an end, or the client has long
    /// said something else.
    pub fn is_done(&self) -> bool {
        self.requests.is_hopeless() || self.requests.is_done() && self.responses.is_done()
    }

    /// The memory that it takes up beside itself, in bytes.
    pub fn held(&self) -> usize {
        self.requests.held().saturating_add(self.responses.held()).saturating_add(self.awaited.held())
    }
}

impl Upgrade {
    fn of(response: &Response) -> Self {
        let values = response.headers().named(HeaderName::Upgrade).map(Header::value);
        let mut protocols = values.flat_map(|value| value.split(|&byte| byte == b','));
        if protocols.any(|protocol| trim_blanks(protocol).eq_ignore_ascii_case(b"h2c")) {
            Self::Http2
        } else {
            Self::Other
        }
    }
}
