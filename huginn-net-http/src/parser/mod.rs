//! The stream parser of HTTP.

#[cfg(all(test, target_pointer_width = "64"))]
mod sizes;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests;

use std::sync::Arc;

use huginn_net_core::{Probe as StreamProbe, Side, StreamData, StreamParser, StreamStart};

use crate::http1::{self, Head, Http1Connection, Upgrade};
use crate::http2::{self, Akamai, Http2Event, Http2Reader, PREFACE};
use crate::limits::MAX_EARLY_SERVER_BYTES;
use crate::{HeaderName, HttpCounters, HttpEvent, HttpRequest, HttpResponse, Role};

/// Finds all request and response heads of a TCP connection: HTTP/1, and HTTP/2 by prior knowledge or after an upgrade.
#[derive(Debug)]
pub struct HttpParser {
    reader: Reader,
}

/// The detected protocol of a connection.
#[derive(Debug)]
enum Reader {
    /// Before the first data.
    Start(StreamStart),
    /// Undecided, with the bytes of client and server so far, if there are any. Boxed, because few connections keep them.
    Undecided(Option<Box<[Vec<u8>; 2]>>),
    Http1(Box<Http1>),
    Http2(Box<Http2>),
    /// Another protocol.
    None,
}

#[derive(Debug)]
struct Http1 {
    connection: Http1Connection,
    /// The settings in the client's HTTP2-Settings header (RFC 7540, section 3.2.1).
    http2_settings: Option<Box<[u8]>>,
}

#[derive(Debug)]
struct Http2 {
    client: Http2Reader,
    server: Http2Reader,
    akamai: Option<Arc<Akamai>>,
}

impl StreamParser for HttpParser {
    type Event = HttpEvent;
    type Counters = HttpCounters;
    type Settings = ();

    /// No bytes rule HTTP out: a server may answer anything with HTTP, and HTTP may follow a tunnel's setup.
    fn probe(sender: Side, first: &[u8]) -> StreamProbe {
        let is_http2 = || match sender {
            Side::Client => first.starts_with(PREFACE),
            Side::Server => http2::begins_with_settings(first),
        };
        if http1::begins_head(role_from_side(sender), first) || is_http2() {
            StreamProbe::Certain
        } else {
            StreamProbe::Unsure
        }
    }

    fn new(start: StreamStart, (): ()) -> Self {
        Self { reader: Reader::Start(start) }
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        counters: &mut HttpCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        self.reader.push(side, data, counters, emit);
    }

    #[inline]
    fn reads(&self, _: Side) -> bool {
        match &self.reader {
            Reader::Start(_) | Reader::Undecided(_) => true,
            Reader::Http1(http1) => !http1.connection.is_done(),
            Reader::Http2(http2) => !(http2.client.is_done() && http2.server.is_done()),
            Reader::None => false,
        }
    }

    /// p0f stops at a FIN or RST.
    fn on_close(&mut self) {
        if let Reader::Http1(http1) = &mut self.reader {
            http1.connection.hide_from_p0f();
        }
    }

    fn on_conflict_end(&mut self, side: Side) {
        match &mut self.reader {
            Reader::Http1(http1) => http1.connection.lose_place(role_from_side(side)),
            Reader::Start(_) => {}
            reader => *reader = Reader::Start(StreamStart::Midstream),
        }
    }

    fn on_missing_end(&mut self, side: Side) {
        if let Reader::Http1(http1) = &mut self.reader {
            http1.connection.miss_end(role_from_side(side));
        }
    }

    /// All remaining bytes of a body or chunk except the last one, which ends it.
    #[inline]
    fn skippable(&self, side: Side) -> u64 {
        match &self.reader {
            Reader::Http1(http1) => http1.connection.body_remaining(role_from_side(side)).saturating_sub(1),
            _ => 0,
        }
    }

    #[inline]
    fn skip(&mut self, side: Side, len: u64) {
        if let Reader::Http1(http1) = &mut self.reader {
            http1.connection.skip_body(role_from_side(side), len);
        }
    }

    #[inline]
    fn is_mid_message(&self, side: Side) -> bool {
        match &self.reader {
            Reader::Start(_) | Reader::None => false,
            Reader::Undecided(buffered) => buffered.as_ref().is_some_and(|buffered| {
                let [client, server] = &**buffered;
                !side.choose(client, server).is_empty()
            }),
            Reader::Http1(http1) => http1.connection.has_partial_head(role_from_side(side)),
            Reader::Http2(http2) => side.choose(&http2.client, &http2.server).has_partial_frame(),
        }
    }

    /// Those of a server matter after a request, and not in a body.
    #[inline]
    fn uncompared(&self, side: Side) -> usize {
        match (&self.reader, side) {
            (_, Side::Client) => 0,
            (Reader::Http1(http1), Side::Server) => http1.connection.uncompared_of_responses(),
            (Reader::Http2(http2), Side::Server) if !http2.server.is_in_body() => 0,
            (Reader::Start(_) | Reader::Undecided(_) | Reader::Http2(_) | Reader::None, Side::Server) => {
                usize::MAX
            }
        }
    }

    fn needs_state(&self) -> bool {
        match &self.reader {
            Reader::Start(_) | Reader::Undecided(_) | Reader::None => false,
            Reader::Http1(http1) => !http1.connection.is_between_messages(),
            Reader::Http2(_) => true,
        }
    }

    #[inline]
    fn buffered_bytes(&self) -> usize {
        match &self.reader {
            Reader::Start(_) | Reader::None => 0,
            Reader::Undecided(buffered) => buffered.as_ref().map_or(0, |buffered| {
                buffered
                    .iter()
                    .fold(size_of_val(&**buffered), |sum, bytes| sum.saturating_add(bytes.capacity()))
            }),
            Reader::Http1(http1) => size_of::<Http1>().saturating_add(http1.connection.buffered_bytes()),
            Reader::Http2(http2) => {
                let readers = http2.client.buffered_bytes().saturating_add(http2.server.buffered_bytes());
                size_of::<Http2>().saturating_add(readers)
            }
        }
    }

    /// Summarizes the first bytes of a client if no request starts with them, as with a ClientHello. Only the server's
    /// answer can then be HTTP.
    fn summarize(
        sender: Side,
        first: &[u8],
        _: StreamStart,
        (): (),
        _: &mut HttpCounters,
        _: &mut impl FnMut(Side, HttpEvent),
    ) -> Option<u8> {
        (sender == Side::Client && http1::is_not_http(first)).then_some(0)
    }

    fn resume(start: StreamStart, (): (), _: Side, first_len: usize, _: u8) -> Self {
        let connection = match start {
            StreamStart::Handshake => Http1Connection::new(),
            StreamStart::Midstream => Http1Connection::midstream(),
        };
        Self { reader: Reader::http1(connection.after_non_http_prefix(first_len)) }
    }
}

impl Reader {
    fn http1(connection: Http1Connection) -> Self {
        Self::Http1(Box::new(Http1 { connection, http2_settings: None }))
    }

    /// Creates the reader for the first data of a connection. In midstream, only the preface of HTTP/2, or a server's first
    /// SETTINGS frame, proves that the data starts the connection.
    fn begin(start: StreamStart, side: Side, data: StreamData<'_>) -> Self {
        let is_first = match (start, data) {
            (StreamStart::Handshake, _) => true,
            (StreamStart::Midstream, StreamData::Bytes(bytes)) => {
                bytes.starts_with(PREFACE) || side == Side::Server && http2::begins_with_settings(bytes)
            }
            (StreamStart::Midstream, StreamData::Gap(_)) => false,
        };
        if is_first { Self::Undecided(None) } else { Self::http1(Http1Connection::midstream()) }
    }

    fn http2(client: Http2Reader) -> Self {
        Self::Http2(Box::new(Http2 { client, server: Http2Reader::server(), akamai: None }))
    }

    fn push(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        counters: &mut HttpCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        if let Self::Start(start) = self {
            *self = Self::begin(*start, side, data);
        }
        match (self, data) {
            (this @ Self::Undecided(_), StreamData::Bytes(bytes)) => this.decide(side, bytes, counters, emit),
            (this @ Self::Undecided(_), StreamData::Gap(_)) => {
                *this = Self::http1(Http1Connection::midstream())
            }
            (this @ Self::Http1(_), data) => this.push_http1(side, data, counters, emit),
            (Self::Http2(http2), StreamData::Bytes(bytes)) => http2.push(side, bytes, counters, emit),
            (Self::Http2(http2), StreamData::Gap(missing)) => http2.gap(side, missing, counters),
            (Self::Start(_) | Self::None, _) => {}
        }
    }

    /// Detects HTTP/2 by its preface, or by the server's if that of the client was not captured; anything else is read as
    /// HTTP/1.
    fn decide(
        &mut self,
        side: Side,
        bytes: &[u8],
        counters: &mut HttpCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        let Self::Undecided(buffered) = self else { return };
        let is_first = side == Side::Client && buffered.is_none();
        if is_first && !bytes.starts_with(PREFACE) && !PREFACE.starts_with(bytes) {
            *self = Self::http1(Http1Connection::new());
            return self.push(side, StreamData::Bytes(bytes), counters, emit);
        }
        let [client, server] = &mut **buffered.get_or_insert_default();
        side.choose(&mut *client, &mut *server).extend_from_slice(bytes);
        let is_http2 =
            client.starts_with(PREFACE) || client.is_empty() && http2::begins_with_settings(server);
        let may_be_http2 = PREFACE.starts_with(client)
            && server.len() <= MAX_EARLY_SERVER_BYTES
            && !http1::begins_head(Role::Response, server);
        if !is_http2 && may_be_http2 {
            return;
        }
        let (client, server) = (std::mem::take(client), std::mem::take(server));
        *self =
            if is_http2 { Self::http2(Http2Reader::client()) } else { Self::http1(Http1Connection::new()) };
        // p0f's rules depend on the side that sends first.
        let order = match side {
            Side::Client => [(Side::Server, server), (Side::Client, client)],
            Side::Server => [(Side::Client, client), (Side::Server, server)],
        };
        for (side, bytes) in order {
            if !bytes.is_empty() {
                self.push(side, StreamData::Bytes(&bytes), counters, emit);
            }
        }
    }

    fn push_http1(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        counters: &mut HttpCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        let Self::Http1(http1) = self else { return };
        http1.push(side, data, counters, emit);
        match http1.connection.upgrade() {
            None => {}
            Some(upgrade @ (Upgrade::Http2 | Upgrade::PriorKnowledge)) => {
                let Http1 { connection, http2_settings } = &mut **http1;
                if connection.has_switched_protocols(Role::Request)
                    && connection.has_switched_protocols(Role::Response)
                {
                    let settings = http2_settings.take().unwrap_or_default();
                    let rest =
                        [Role::Request, Role::Response].map(|role| connection.take_switched_bytes(role));
                    *self = Self::http2(match upgrade {
                        Upgrade::Http2 => Http2Reader::upgraded_client(&settings),
                        _ => Http2Reader::client(),
                    });
                    for (side, bytes) in [Side::Client, Side::Server].into_iter().zip(rest) {
                        self.push(side, StreamData::Bytes(&bytes), counters, emit);
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
        data: StreamData<'_>,
        counters: &mut HttpCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        let Self { connection, http2_settings } = self;
        let direction = role_from_side(side);
        let bytes = match data {
            StreamData::Bytes(bytes) => bytes,
            StreamData::Gap(missing) => return connection.gap(direction, missing, &mut counters.http1),
        };
        let HttpCounters { requests, responses, http1, .. } = counters;
        connection.push(direction, bytes, http1, &mut |exchange, head| match head {
            Head::Request(request) => {
                *requests = requests.saturating_add(1);
                if let Some(settings) = request.headers().first(HeaderName::Http2Settings) {
                    *http2_settings = Some(settings.into());
                }
                emit(side, HttpEvent::Request(HttpRequest { request, exchange, akamai: None, http3: None }));
            }
            Head::Response(response) => {
                *responses = responses.saturating_add(1);
                emit(side, HttpEvent::Response(HttpResponse { response, exchange }));
            }
        });
    }
}

/// The role of the messages that a side sends.
fn role_from_side(side: Side) -> Role {
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
        let HttpCounters { requests, responses, http2_heads_cut, http2_given_up, .. } = counters;
        let outcome = side.choose(client, server).push(bytes, &mut |event| match event {
            Http2Event::Akamai(found) => *akamai = Some(Arc::new(found)),
            Http2Event::Request { stream, request, .. } => {
                *requests = requests.saturating_add(1);
                let found = HttpRequest { request, exchange: stream, akamai: akamai.clone(), http3: None };
                emit(side, HttpEvent::Request(found));
            }
            Http2Event::Response { stream, response } => {
                *responses = responses.saturating_add(1);
                emit(side, HttpEvent::Response(HttpResponse { response, exchange: stream }));
            }
            Http2Event::HeadCut { .. } => *http2_heads_cut = http2_heads_cut.saturating_add(1),
        });
        if outcome.is_err() {
            *http2_given_up = http2_given_up.saturating_add(1);
        }
    }
}
