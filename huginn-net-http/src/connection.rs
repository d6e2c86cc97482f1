//! The exchanges of a TCP connection.

use std::sync::Arc;

use huginn_net_core::{Piece, Side, TcpConnection, TcpHeader, TcpStarts};

use crate::http1::{self, Head, Http1Connection, Upgrade};
use crate::http2::{Akamai, Http2Event, Http2Reader, PREFACE};
use crate::{HeaderName, HttpCounters, HttpEvent, HttpRequest, HttpResponse, Role};

/// Bytes that may be held of a direction before those that are missing.
const WINDOW: usize = 1 << 17;
/// What may be held of a server that speaks before its client, in bytes.
const MAX_EARLY: usize = 256;

/// What is remembered of a TCP connection.
#[derive(Debug)]
pub(crate) struct Connection {
    tcp: TcpConnection,
    reader: Reader,
}

/// How a connection is read.
#[derive(Debug)]
enum Reader {
    /// Not known yet; with what client and server have said.
    Undecided {
        client: Vec<u8>,
        server: Vec<u8>,
    },
    Http1(Box<Http1>),
    Http2(Box<Http2>),
    /// Something else.
    None,
}

#[derive(Debug)]
struct Http1 {
    connection: Http1Connection,
    /// The settings with which a client asked for HTTP/2 (RFC 7540, section 3.2.1).
    http2_settings: Option<Box<[u8]>>,
}

#[derive(Debug)]
struct Http2 {
    client: Http2Reader,
    server: Http2Reader,
    akamai: Option<Arc<Akamai>>,
}

impl Connection {
    /// A connection whose directions begin there. It may have been open before, unless it is seen from its start.
    pub(crate) fn new(starts: TcpStarts, from_start: bool) -> Self {
        let reader = if from_start {
            Reader::Undecided { client: Vec::new(), server: Vec::new() }
        } else {
            Reader::http1(Http1Connection::midstream())
        };
        Self { tcp: TcpConnection::new(starts), reader }
    }

    /// Takes the next segment, if its payload is of a body and neither ends that nor lacks anything before it, or if it
    /// has none; tells whether that is so. As most do, it then tells nothing.
    #[inline]
    pub(crate) fn passes_over(&mut self, tcp: &TcpHeader<'_>, payload_len: usize, sender: Side) -> bool {
        let Self { tcp: connection, reader } = self;
        if tcp.flags.closes() {
            return false;
        }
        if payload_len == 0 {
            return connection.pass_over(tcp, 0, sender);
        }
        let Reader::Http1(http1) = reader else { return false };
        let Some(left) = http1.connection.body_left(role_of(sender)) else { return false };
        match left.checked_sub(payload_len as u64) {
            Some(rest @ 1..) if connection.pass_over(tcp, payload_len, sender) => {
                *left = rest;
                true
            }
            _ => false,
        }
    }

    /// Takes the next segment and hands on the heads that are now whole.
    pub(crate) fn on_segment(
        &mut self,
        tcp: &TcpHeader<'_>,
        payload: &[u8],
        sender: Side,
        counters: &mut HttpCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        let Self { tcp: connection, reader } = self;
        if tcp.flags.closes() {
            reader.hide_from_p0f();
        }
        let mut segments = counters.tcp;
        connection.on_segment(tcp, payload, sender, WINDOW, &mut segments, &mut |side, piece| {
            reader.push(side, piece, counters, emit);
        });
        counters.tcp = segments;
    }

    /// Whether nothing further can be found.
    pub(crate) fn is_done(&self) -> bool {
        match &self.reader {
            Reader::Undecided { .. } => false,
            Reader::Http1(http1) => http1.connection.is_done(),
            Reader::Http2(http2) => http2.client.is_done() && http2.server.is_done(),
            Reader::None => true,
        }
    }

    /// The memory that it takes up, in bytes.
    pub(crate) fn held(&self) -> usize {
        let reader = match &self.reader {
            Reader::Undecided { client, server } => client.capacity().saturating_add(server.capacity()),
            Reader::Http1(http1) => size_of::<Http1>().saturating_add(http1.connection.held()),
            Reader::Http2(http2) => {
                let readers = http2.client.held().saturating_add(http2.server.held());
                size_of::<Http2>().saturating_add(readers)
            }
            Reader::None => 0,
        };
        size_of::<Self>().saturating_add(self.tcp.held()).saturating_add(reader)
    }
}

impl Reader {
    fn http1(connection: Http1Connection) -> Self {
        Self::Http1(Box::new(Http1 { connection, http2_settings: None }))
    }

    fn http2(client: Http2Reader) -> Self {
        Self::Http2(Box::new(Http2 { client, server: Http2Reader::server(), akamai: None }))
    }

    /// Tells that p0f would look no further.
    fn hide_from_p0f(&mut self) {
        if let Self::Http1(http1) = self {
            http1.connection.hide_from_p0f();
        }
    }

    fn push(
        &mut self,
        side: Side,
        piece: Piece<'_>,
        counters: &mut HttpCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        match (self, piece) {
            (this @ Self::Undecided { .. }, Piece::Bytes(bytes)) => this.decide(side, bytes, counters, emit),
            (this @ Self::Undecided { .. }, Piece::Gap(_)) => {
                *this = Self::http1(Http1Connection::midstream())
            }
            (this @ Self::Http1(_), piece) => this.push_http1(side, piece, counters, emit),
            (Self::Http2(http2), Piece::Bytes(bytes)) => http2.push(side, bytes, counters, emit),
            (Self::Http2(http2), Piece::Gap(missing)) => http2.gap(side, missing, counters),
            (Self::None, _) => {}
        }
    }

    /// HTTP/2 begins with its preface; everything else is read as HTTP/1.
    fn decide(
        &mut self,
        side: Side,
        bytes: &[u8],
        counters: &mut HttpCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        let Self::Undecided { client, server } = self else { return };
        let is_first = side == Side::Client && client.is_empty() && server.is_empty();
        if is_first && !bytes.starts_with(PREFACE) && !PREFACE.starts_with(bytes) {
            *self = Self::http1(Http1Connection::new());
            return self.push(side, Piece::Bytes(bytes), counters, emit);
        }
        side.choose(&mut *client, &mut *server).extend_from_slice(bytes);
        let is_http2 = client.starts_with(PREFACE);
        let may_be_http2 = PREFACE.starts_with(client)
            && server.len() <= MAX_EARLY
            && !http1::begins_head(Role::Response, server);
        if !is_http2 && may_be_http2 {
            return;
        }
        let (client, server) = (std::mem::take(client), std::mem::take(server));
        *self =
            if is_http2 { Self::http2(Http2Reader::client()) } else { Self::http1(Http1Connection::new()) };
        // Who spoke first is of account for p0f.
        let order = match side {
            Side::Client => [(Side::Server, server), (Side::Client, client)],
            Side::Server => [(Side::Client, client), (Side::Server, server)],
        };
        for (side, bytes) in order {
            if !bytes.is_empty() {
                self.push(side, Piece::Bytes(&bytes), counters, emit);
            }
        }
    }

    fn push_http1(
        &mut self,
        side: Side,
        piece: Piece<'_>,
        counters: &mut HttpCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        let Self::Http1(http1) = self else { return };
        http1.push(side, piece, counters, emit);
        match http1.connection.upgrade() {
            None => {}
            Some(upgrade @ (Upgrade::Http2 | Upgrade::PriorKnowledge)) => {
                let Http1 { connection, http2_settings } = &mut **http1;
                if connection.is_over(Role::Request) && connection.is_over(Role::Response) {
                    let settings = http2_settings.take().unwrap_or_default();
                    let rest = [Role::Request, Role::Response].map(|role| connection.take_rest(role));
                    *self = Self::http2(match upgrade {
                        Upgrade::Http2 => Http2Reader::upgraded_client(&settings),
                        _ => Http2Reader::client(),
                    });
                    for (side, bytes) in [Side::Client, Side::Server].into_iter().zip(rest) {
                        self.push(side, Piece::Bytes(&bytes), counters, emit);
                    }
                }
            }
            Some(_) => *self = Self::None,
        }
    }
}

impl Http1 {
    fn push(
        &mut self,
        side: Side,
        piece: Piece<'_>,
        counters: &mut HttpCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        let Self { connection, http2_settings } = self;
        let direction = role_of(side);
        let bytes = match piece {
            Piece::Bytes(bytes) => bytes,
            Piece::Gap(missing) => return connection.gap(direction, missing, &mut counters.http1),
        };
        let HttpCounters { requests, responses, http1, .. } = counters;
        connection.push(direction, bytes, http1, &mut |exchange, head| match head {
            Head::Request(request) => {
                *requests = requests.saturating_add(1);
                if let Some(settings) = request.headers().first(HeaderName::Http2Settings) {
                    *http2_settings = Some(settings.into());
                }
                emit(side, HttpEvent::Request(HttpRequest { request, exchange, akamai: None }));
            }
            Head::Response(response) => {
                *responses = responses.saturating_add(1);
                emit(side, HttpEvent::Response(HttpResponse { response, exchange }));
            }
        });
    }
}

/// What a side sends.
fn role_of(side: Side) -> Role {
    side.choose(Role::Request, Role::Response)
}

impl Http2 {
    fn gap(&mut self, side: Side, missing: u64, counters: &mut HttpCounters) {
        let outcome = side.choose(&mut self.client, &mut self.server).gap(missing);
        counters.http2_given_up = counters.http2_given_up.saturating_add(u64::from(outcome.is_err()));
    }

    fn push(
        &mut self,
        side: Side,
        bytes: &[u8],
        counters: &mut HttpCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        let Self { client, server, akamai } = self;
        let HttpCounters { requests, responses, http2_given_up, .. } = counters;
        let outcome = side.choose(client, server).push(bytes, &mut |event| match event {
            Http2Event::Akamai(found) => *akamai = Some(Arc::new(found)),
            Http2Event::Request { stream, request, .. } => {
                *requests = requests.saturating_add(1);
                let found = HttpRequest { request, exchange: stream, akamai: akamai.clone() };
                emit(side, HttpEvent::Request(found));
            }
            Http2Event::Response { stream, response } => {
                *responses = responses.saturating_add(1);
                emit(side, HttpEvent::Response(HttpResponse { response, exchange: stream }));
            }
        });
        if outcome.is_err() {
            *http2_given_up = http2_given_up.saturating_add(1);
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use huginn_net_core::TcpFlags;
    use proptest::prelude::*;

    use super::*;

    const CLIENT: &[u8] = b"POST /a HTTP/1.1\r\nContent-Length: 30\r\n\r\nGET /not HTTP/1.1\r\nHost: x\r\n\r\n \
        GET /b HTTP/1.1\r\n\r\nPUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n14\r\nHTTP/1.1 200 OK\r\n\r\n!\r\n3\nabc\r\n0\r\n\r\n\
        CONNECT h:1 HTTP/1.1\r\n\r\nGET /d HTTP/1.1\r\nContent-Length: 9\r\n\r\n123456789GET /e HTTP/1.1\r\n\r\n";
    const SERVER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 28\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n..\
        HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n12;x=y\r\nHTTP/1.1 500 A\r\n\r\n\r\n0\r\nA: b\r\n\r\n\
        HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345HTTP/1.1 200 OK\r\n\r\nall the rest";

    /// What became of one segment after the other.
    struct Told {
        events: Vec<String>,
        counters: HttpCounters,
        passed: usize,
    }

    fn tell(segments: &[(Side, TcpFlags, u32, u32, &[u8])], passes: bool) -> (Told, String) {
        let starts = TcpStarts::default();
        let mut connection = Connection::new(starts, true);
        let mut told = Told { events: Vec::new(), counters: HttpCounters::default(), passed: 0 };
        for (place, &(sender, flags, seq, ack, payload)) in segments.iter().enumerate() {
            let tcp =
                TcpHeader { src_port: 1, dst_port: 2, seq, ack, flags, window: 0, urgent: 0, options: &[] };
            if passes && connection.passes_over(&tcp, payload.len(), sender) {
                told.passed += usize::from(!payload.is_empty());
                continue;
            }
            connection.on_segment(&tcp, payload, sender, &mut told.counters, &mut |side, event| {
                told.events.push(format!("{place} {side} {event:?}"));
            });
        }
        (told, format!("{connection:?} {} {}", connection.held(), connection.is_done()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// However it is cut, lost, repeated, swapped and acknowledged.
        #[test]
        fn what_is_passed_over_tells_nothing_and_changes_no_more(
            cuts in prop::collection::vec((any::<bool>(), 1_usize..40, 0_u8..24, 0_u16..0x40, -9_i32..9), 1..90),
        ) {
            let said = [CLIENT, SERVER];
            let mut at = [0_usize; 2];
            let mut segments = Vec::new();
            for (is_client, len, trouble, flags, ack) in cuts {
                let (side, [own, peer]) =
                    if is_client { (Side::Client, [0, 1]) } else { (Side::Server, [1, 0]) };
                let start = if trouble == 0 { at[own].saturating_sub(len / 2) } else { at[own] };
                let end = start.saturating_add(len).min(said[own].len());
                let payload = if trouble == 1 { &[] } else { &said[own][start..end] };
                at[own] = at[own].max(start + payload.len());
                let flags = if trouble == 2 { TcpFlags::from_bits_truncate(flags) } else { TcpFlags::ACK };
                let place = |offset: usize| 100_u32.wrapping_add(u32::try_from(offset).unwrap());
                let acknowledged = if trouble == 3 { place(at[peer]).wrapping_add_signed(ack) } else { place(at[peer]) };
                if trouble != 4 {
                    segments.push((side, flags, place(start), acknowledged, payload));
                }
                if trouble == 5 && segments.len() > 1 {
                    let last = segments.len() - 1;
                    segments.swap(last, last - 1);
                }
            }
            let (passing, taking) = (tell(&segments, true), tell(&segments, false));
            prop_assert_eq!(passing.0.events, taking.0.events);
            prop_assert_eq!(passing.0.counters, taking.0.counters);
            prop_assert_eq!(passing.1, taking.1);
        }
    }

    #[test]
    fn most_of_a_body_is_passed_over() {
        let body = [&b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"[..], &[b'x'; 1000]].concat();
        let request = (Side::Client, TcpFlags::ACK, 100, 100, &b"GET / HTTP/1.1\r\n\r\n"[..]);
        let mut segments = vec![request];
        for (n, piece) in body.chunks(100).enumerate() {
            let seq = 100 + u32::try_from(n).unwrap() * 100;
            segments.push((Side::Server, TcpFlags::ACK, seq, 118, piece));
        }
        let (told, _) = tell(&segments, true);
        assert_eq!((told.events.len(), told.passed), (2, 9));
    }
}
