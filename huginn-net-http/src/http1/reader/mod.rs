//! One direction of an HTTP/1 connection.

mod search;

use std::borrow::Cow;

use huginn_net_wire::{ProxyPrefix, Skipped};
use memchr::memchr;

use super::Http1Counters;
use super::body::{Body, Framing};
use super::head::Lines;
use super::head_buffer::{HeadBuffer, Scan};
use super::open_line::OpenLine;
use super::tls_records::{Next, TlsRecords};
use crate::limits::{MAX_NON_HTTP_PREFIX_LEN, MAX_SWITCHED_BYTES};
use crate::{HttpError, Role};

/// The request line of the HTTP/2 preface.
const PREFACE_LINE: &[u8] = b"PRI * HTTP/2.0\r\n";

/// Receives the heads of one direction.
pub(super) trait HeadSink {
    /// Handles a complete head; `is_first`: whether it starts the direction.
    fn on_head(&mut self, head: Lines<'_>, is_first: bool) -> Result<AfterHead, HttpError>;

    /// Handles the available part of a first line that is not one of HTTP/1. `is_http`: whether the direction is known
    /// to be HTTP. Returns whether it is HTTP nevertheless, so that the next head is searched for.
    fn on_unreadable(&mut self, line: &[u8], is_http: bool) -> bool;

    /// Bytes that are not HTTP of the client whose server this is; 0 for a client.
    fn client_bytes(&self) -> u32 {
        0
    }
}

/// What follows a head.
pub(super) struct AfterHead {
    pub(super) framing: Framing,
    /// Whether fields of the head are missing.
    pub(super) is_cut: bool,
}

/// Finds the heads of one direction and skips the bodies.
#[derive(Debug)]
pub(super) struct Reader {
    role: Role,
    state: State,
    /// Whether the stream is known to be HTTP.
    is_http: bool,
    /// Whether all bytes so far belong to the first head.
    is_first: bool,
    /// Whether the previous part ended with a CR, so that a following LF belongs to it.
    after_cr: bool,
    /// Bytes skipped outside of heads.
    skipped_bytes: u32,
    /// Whether the direction was joined in midstream, so that the first head may start anywhere.
    pub(super) is_midstream: bool,
    /// Whether another protocol follows the current body.
    switch_after_body: bool,
    /// Number of the last bytes that belong to a body.
    body_tail: u32,
}

#[derive(Debug)]
enum State {
    /// A proxy prefix may come.
    Start(ProxyPrefix),
    Head(HeadBuffer),
    /// In the rest of a head that is too long, with the framing of its message.
    HeadRest {
        at_line_start: bool,
        framing: Framing,
    },
    Body(Body),
    /// The start of the next head is unknown. It is searched for at the start of a piece, and if the direction is known
    /// to be HTTP, also in its lines; with the line that the last piece left open, unless no head can begin with it.
    Resyncing(Option<OpenLine>),
    /// In the records of a TLS handshake that an answer in the clear may follow.
    Tls(TlsRecords),
    /// After HTTP/1, or in HTTP/2 instead of it; with the buffered bytes.
    Switched(Vec<u8>),
    /// Not HTTP/1.
    NotHttp,
}

impl Reader {
    /// Creates a reader of a direction from its first byte.
    pub(super) fn new(role: Role) -> Self {
        Self::with_state(role, State::Start(ProxyPrefix::new(role.side())))
    }

    /// Whether the next bytes are the first ones of a message, or may be.
    pub(super) fn is_between_messages(&self) -> bool {
        match &self.state {
            State::HeadRest { .. } | State::Body(_) => false,
            State::Start(_)
            | State::Head(_)
            | State::Resyncing(_)
            | State::Tls(_)
            | State::Switched(_)
            | State::NotHttp => self.buffered_bytes() == 0,
        }
    }

    /// Creates a reader of a direction joined in midstream.
    pub(super) fn midstream(role: Role) -> Self {
        Self::with_state(role, State::Resyncing(None))
    }

    fn with_state(role: Role, state: State) -> Self {
        let is_midstream = matches!(state, State::Resyncing(_));
        Self {
            role,
            state,
            is_http: false,
            is_first: !is_midstream,
            after_cr: false,
            skipped_bytes: 0,
            is_midstream,
            switch_after_body: false,
            body_tail: 0,
        }
    }

    /// Parses the next bytes and passes each head to `sink`.
    pub(super) fn push(&mut self, mut bytes: &[u8], counters: &mut Http1Counters, sink: &mut impl HeadSink) {
        // Body bytes are never read: loading one byte of each segment from memory would cost more than all other work
        // here.
        self.body_tail = 0;
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes.starts_with(b"\n") {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let taken = match &mut self.state {
                State::Start(_) => match self.skip_prefix(bytes) {
                    Ok(taken) => taken,
                    Err(buffered) => {
                        self.push(&buffered, counters, sink);
                        bytes.len()
                    }
                },
                State::Head(head) if head.is_empty() && matches!(bytes, [b'\r' | b'\n', ..]) => {
                    // nginx accepts any number of blank lines before a request; RFC 9112, section 2.2, asks for one.
                    self.is_first = false;
                    let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
                    bytes.iter().position(|byte| !is_break(byte)).unwrap_or(bytes.len())
                }
                State::Head(_) => self.head(bytes, counters, sink),
                State::HeadRest { at_line_start, framing } => {
                    let Some(taken) = head_rest(at_line_start, bytes) else { return };
                    self.after_cr = taken.checked_sub(1).and_then(|last| bytes.get(last)) == Some(&b'\r');
                    let framing = std::mem::replace(framing, Framing::Unknown);
                    self.apply_framing(framing, counters);
                    taken
                }
                State::Body(body) => match body.push(bytes) {
                    Ok(Some(end)) => {
                        self.after_cr = end.after_cr;
                        self.state = self.after_body();
                        if end.taken == bytes.len() {
                            self.set_body_tail(bytes.len() as u64);
                            return;
                        }
                        end.taken
                    }
                    Ok(None) => {
                        self.set_body_tail(bytes.len() as u64);
                        return;
                    }
                    Err(_) => {
                        self.lose_sync(counters);
                        0
                    }
                },
                State::Switched(rest) if rest.len().saturating_add(bytes.len()) <= MAX_SWITCHED_BYTES => {
                    rest.extend_from_slice(bytes);
                    return;
                }
                State::Switched(_) => {
                    counters.times_lost = counters.times_lost.saturating_add(1);
                    self.state = State::NotHttp;
                    return;
                }
                State::Tls(records) => match records.push(bytes, sink.client_bytes()) {
                    Next::Records => return,
                    Next::Clear(taken) => {
                        self.state = State::Head(HeadBuffer::default());
                        taken
                    }
                    Next::Other => {
                        self.state = State::NotHttp;
                        0
                    }
                },
                State::NotHttp => {
                    self.count_skipped(bytes.len());
                    return;
                }
                State::Resyncing(_) => match self.find_head(bytes, counters, sink) {
                    Some(taken) => taken,
                    None => return,
                },
            };
            bytes = bytes.get(taken..).unwrap_or_default();
        }
    }

    /// Remaining bytes of the current body or chunk; 0 outside of a body.
    #[inline]
    #[cfg(feature = "packets")]
    pub(super) fn body_remaining(&self) -> u64 {
        match &self.state {
            State::Body(body) if !self.after_cr => body.remaining(),
            _ => 0,
        }
    }

    /// Number of the last bytes that belong to a body.
    #[inline]
    #[cfg(feature = "packets")]
    pub(super) fn body_tail(&self) -> usize {
        self.body_tail as usize
    }

    fn set_body_tail(&mut self, len: u64) {
        self.body_tail = u32::try_from(len).unwrap_or(u32::MAX);
    }

    /// Skips body bytes; `len` is less than the [remaining](Self::body_remaining) bytes.
    #[inline]
    #[cfg(feature = "packets")]
    pub(super) fn skip_body(&mut self, len: u64) {
        if let State::Body(body) = &mut self.state {
            let _ = body.skip(len);
            self.set_body_tail(len);
        }
    }

    /// Skips first bytes that [`is_not_http`](super::is_not_http) ruled out as HTTP/1.
    #[cfg(feature = "packets")]
    pub(super) fn skip_non_http(&mut self, len: usize) {
        if let State::Start(_) = self.state {
            self.state = State::NotHttp;
            self.is_first = false;
        }
        self.count_skipped(len);
    }

    /// Records missing bytes.
    pub(super) fn gap(&mut self, missing: u64, counters: &mut Http1Counters) {
        self.is_first = false;
        match &mut self.state {
            State::Body(body) => {
                if body.skip(missing).is_err() {
                    self.lose_sync(counters);
                }
            }
            State::Start(_) | State::Head(_) | State::HeadRest { .. } => self.lose_sync(counters),
            State::Resyncing(line) => *line = None,
            State::Tls(_) => self.state = State::NotHttp,
            State::Switched(_) | State::NotHttp => {}
        }
    }

    /// Switches to another protocol after the current message.
    pub(super) fn switch(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::NotHttp) {
            State::Head(mut head) => State::Switched(head.take_bytes()),
            State::Start(mut prefix) => State::Switched(prefix.take_bytes()),
            State::Switched(buffered) => State::Switched(buffered),
            State::HeadRest { .. } | State::Resyncing(_) | State::Tls(_) | State::NotHttp => {
                State::Switched(Vec::new())
            }
            State::Body(body) => {
                self.switch_after_body = true;
                State::Body(body)
            }
        };
    }

    /// Takes the bytes received after the switch.
    pub(super) fn take_switched_bytes(&mut self) -> Vec<u8> {
        match &mut self.state {
            State::Switched(rest) => std::mem::take(rest),
            _ => Vec::new(),
        }
    }

    /// Whether all bytes of HTTP/1 were read before another protocol, the LF after the last CR too.
    pub(super) fn has_switched_protocols(&self) -> bool {
        matches!(self.state, State::Switched(_)) && !self.after_cr
    }

    /// Whether the direction is not HTTP/1 and exceeded the byte limit for that.
    pub(super) fn exceeds_non_http_limit(&self) -> bool {
        matches!(self.state, State::NotHttp) && self.skipped_bytes > MAX_NON_HTTP_PREFIX_LEN
    }

    pub(super) fn is_resyncing(&self) -> bool {
        matches!(self.state, State::Resyncing(_))
    }

    /// Skips a piece in which no head is searched for.
    pub(super) fn skip_unsearched(&mut self) {
        if let State::Resyncing(line) = &mut self.state {
            *line = None;
        }
    }

    /// Whether no further head can be found.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::NotHttp | State::Body(Body::UntilClose)) || self.has_switched_protocols()
    }

    /// Heap memory in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        match &self.state {
            State::Start(prefix) => prefix.buffered_bytes(),
            State::Switched(bytes) => bytes.capacity(),
            State::Head(head) => head.buffered_bytes(),
            State::Resyncing(line) => line.as_ref().map_or(0, OpenLine::buffered_bytes),
            State::HeadRest { .. } | State::Body(_) | State::Tls(_) | State::NotHttp => 0,
        }
    }

    /// Skips proxy prefixes. Returns how many of these bytes belong to them, or all bytes of what looked like one.
    fn skip_prefix(&mut self, bytes: &[u8]) -> Result<usize, Vec<u8>> {
        let State::Start(prefix) = &mut self.state else { return Ok(0) };
        let skipped = prefix.push(bytes);
        self.is_first &= !prefix.has_skipped();
        if skipped == Skipped::All {
            return Ok(bytes.len());
        }
        self.state = State::Head(HeadBuffer::default());
        match skipped {
            Skipped::All => Ok(bytes.len()),
            Skipped::To(len) => Ok(len),
            Skipped::Other(buffered) => Err(buffered),
        }
    }

    /// Bytes skipped outside of heads.
    pub(super) fn skipped_bytes(&self) -> u32 {
        self.skipped_bytes
    }

    fn count_skipped(&mut self, bytes: usize) {
        self.skipped_bytes = self.skipped_bytes.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    /// Parses bytes of a head and returns how many were taken.
    fn head(&mut self, bytes: &[u8], counters: &mut Http1Counters, sink: &mut impl HeadSink) -> usize {
        let State::Head(head) = &mut self.state else { return 0 };
        let error = match head.push(self.role, bytes) {
            Ok(Scan::More) => return bytes.len(),
            Ok(Scan::Complete { head, taken }) => {
                let (blank_has_cr, is_too_long) = (head.blank_has_cr, head.is_too_long);
                match sink.on_head(head, self.is_first) {
                    Ok(AfterHead { framing, is_cut }) => {
                        self.is_first = false;
                        self.is_http = true;
                        counters.count_cut(is_cut, is_too_long);
                        if is_too_long {
                            let at_line_start = bytes.get(..taken).is_some_and(|head| head.ends_with(b"\n"));
                            self.state = State::HeadRest { at_line_start, framing };
                        } else {
                            self.after_cr = blank_has_cr;
                            self.apply_framing(framing, counters);
                        }
                        return taken;
                    }
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        let before = head.take_bytes();
        let is_unreadable = error == HttpError::NotHttp1;
        if is_unreadable && !self.is_http && !self.is_midstream && begins_http2(self.role, &before, bytes) {
            self.state = State::Switched(before);
            return 0;
        }
        self.is_first = false;
        if is_unreadable
            && !self.is_http
            && before.is_empty()
            && let Some(records) = TlsRecords::begin(bytes, sink.client_bytes())
        {
            self.state = State::Tls(records);
            return 0;
        }
        let end = memchr(b'\n', bytes).map_or(bytes.len(), |end| end.saturating_add(1));
        let piece = bytes.get(..end).unwrap_or_default();
        let line = if before.is_empty() { Cow::Borrowed(piece) } else { [&before, piece].concat().into() };
        // No head begins with the rest of a line that has not ended.
        let next_line = piece.ends_with(b"\n").then(OpenLine::default);
        if !is_unreadable {
            counters.heads_too_long = counters.heads_too_long.saturating_add(1);
            sink.on_unreadable(&line, true);
            self.is_http = true;
            self.lose_sync(counters);
            self.state = State::Resyncing(next_line);
        } else if sink.on_unreadable(&line, self.is_http) {
            counters.count_unreadable(self.role);
            self.is_http = true;
            self.state = State::Resyncing(next_line);
        } else {
            self.state = if self.is_midstream { State::Resyncing(None) } else { State::NotHttp };
            self.count_skipped(end);
        }
        end
    }

    fn apply_framing(&mut self, after: Framing, counters: &mut Http1Counters) {
        match after {
            Framing::Body(Body::Length(0)) => self.state = self.after_body(),
            Framing::Body(body) => self.state = State::Body(body),
            Framing::Upgrade => self.state = State::Switched(Vec::new()),
            Framing::Tunnel => {
                *self = Self { after_cr: self.after_cr, is_first: false, ..Self::new(self.role) }
            }
            Framing::Unknown => self.lose_sync(counters),
        }
    }

    fn after_body(&mut self) -> State {
        if self.switch_after_body { State::Switched(Vec::new()) } else { State::Head(HeadBuffer::default()) }
    }

    /// Searches for the next head, whatever it reads.
    #[cfg(feature = "packets")]
    pub(super) fn lose_place(&mut self) {
        (self.is_first, self.after_cr) = (false, false);
        self.state = State::Resyncing(None);
    }

    fn lose_sync(&mut self, counters: &mut Http1Counters) {
        counters.times_lost = counters.times_lost.saturating_add(1);
        self.after_cr = false;
        self.state = State::Resyncing(None);
    }

    /// Searches for heads again, at the starts of pieces, in a direction that was taken for another protocol: the other
    /// direction is HTTP. Returns whether it was.
    pub(super) fn resume_as_http(&mut self) -> bool {
        let resumes = matches!(self.state, State::NotHttp) && self.skipped_bytes > 0;
        if resumes {
            self.state = State::Resyncing(None);
        }
        resumes
    }
}

/// Skips lines up to the empty one that ends a head. Returns the bytes up to it with its first byte, or `None` if it is
/// not in this piece.
fn head_rest(at_line_start: &mut bool, bytes: &[u8]) -> Option<usize> {
    let mut taken: usize = 0;
    while let Some(rest @ [byte, ..]) = bytes.get(taken..) {
        if std::mem::take(at_line_start) && matches!(byte, b'\r' | b'\n') {
            return Some(taken.saturating_add(1));
        }
        let end = memchr(b'\n', rest);
        *at_line_start = end.is_some();
        taken = taken.saturating_add(end.map_or(rest.len(), |end| end.saturating_add(1)));
    }
    None
}

/// Whether a direction starts with HTTP/2: with the first line of the client preface, or a server's SETTINGS (RFC 9113,
/// section 3.4).
fn begins_http2(role: Role, buffered: &[u8], piece: &[u8]) -> bool {
    match role {
        Role::Request => buffered.iter().chain(piece).take(PREFACE_LINE.len()).eq(PREFACE_LINE),
        Role::Response => buffered.is_empty() && matches!(piece, [0, _, _, 4, 0, 0, 0, 0, 0, ..]),
    }
}
