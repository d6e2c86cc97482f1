//! One direction of an HTTP/1 connection.

use super::body::{Body, Framing};
use super::connection::Http1Counters;
use super::first_line;
use super::head::Lines;
use super::head_buffer::{HeadBuffer, Scan};
use super::proxy_preamble::{self, PreambleError};
use crate::limits::{
    MAX_BLANK_LINE_BYTES, MAX_NON_HTTP_PREFIX_LEN, MAX_PREAMBLE_LEN, MAX_SEARCH_BYTES, MAX_SWITCHED_BYTES,
};
use crate::{HttpError, Role};

/// The request line of the HTTP/2 preface.
const PREFACE_LINE: &[u8] = b"PRI * HTTP/2.0\r\n";

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
    is_midstream: bool,
    /// Whether another protocol follows the current body.
    switch_after_body: bool,
}

#[derive(Debug)]
enum State {
    /// A proxy preamble may come; with its bytes so far.
    Start(Vec<u8>),
    Head(HeadBuffer),
    Body(Body),
    /// The start of the next head is unknown; a head is only detected at the start of a piece.
    Resyncing,
    /// After HTTP/1, or in HTTP/2 instead of it; with the buffered bytes.
    Switched(Vec<u8>),
    /// Not HTTP/1.
    NotHttp,
}

impl Reader {
    /// Creates a reader of a direction from its first byte.
    pub(super) fn new(role: Role) -> Self {
        Self::with_state(role, State::Start(Vec::new()))
    }

    /// Creates a reader of a direction joined in midstream.
    pub(super) fn midstream(role: Role) -> Self {
        Self::with_state(role, State::Resyncing)
    }

    fn with_state(role: Role, state: State) -> Self {
        let is_midstream = matches!(state, State::Resyncing);
        Self {
            role,
            state,
            is_http: false,
            is_first: !is_midstream,
            after_cr: false,
            skipped_bytes: 0,
            is_midstream,
            switch_after_body: false,
        }
    }

    /// Parses the next bytes. Calls `on_head` with each complete head and whether it starts the direction; `on_head`
    /// returns the framing of the message.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        counters: &mut Http1Counters,
        on_head: &mut impl FnMut(Lines<'_>, bool) -> Result<Framing, HttpError>,
    ) {
        if matches!(self.state, State::Resyncing) {
            self.search(bytes);
        }
        // Body bytes are never read: loading one byte of each segment from memory would cost more than all other work
        // here.
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes.starts_with(b"\n") {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let taken = match &mut self.state {
                State::Start(_) => match self.skip_preamble(bytes) {
                    Ok(taken) => taken,
                    Err(buffered) => {
                        self.push(&buffered, counters, on_head);
                        bytes.len()
                    }
                },
                State::Head(head) if head.is_empty() && matches!(bytes, [b'\r' | b'\n', ..]) => {
                    self.skip_blank_line_byte();
                    1
                }
                State::Head(_) => self.head(bytes, counters, on_head),
                State::Body(body) => match body.push(bytes) {
                    Ok(Some(end)) => {
                        self.after_cr = end.after_cr;
                        self.state = self.after_body();
                        end.taken
                    }
                    Ok(None) => return,
                    Err(_) => return self.lose_sync(counters),
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
                State::NotHttp => {
                    self.count_skipped(bytes.len());
                    return;
                }
                State::Resyncing => return,
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

    /// Skips body bytes; `len` is less than the [remaining](Self::body_remaining) bytes.
    #[inline]
    #[cfg(feature = "packets")]
    pub(super) fn skip_body(&mut self, len: u64) {
        if let State::Body(body) = &mut self.state {
            let _ = body.skip(len);
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
            State::Start(_) | State::Head(_) => self.lose_sync(counters),
            State::Resyncing | State::Switched(_) | State::NotHttp => {}
        }
    }

    /// Switches to another protocol after the current message.
    pub(super) fn switch(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::NotHttp) {
            State::Head(mut head) => State::Switched(head.take_bytes()),
            State::Start(buffered) | State::Switched(buffered) => State::Switched(buffered),
            State::Resyncing | State::NotHttp => State::Switched(Vec::new()),
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

    pub(super) fn has_switched_protocols(&self) -> bool {
        matches!(self.state, State::Switched(_))
    }

    /// Whether the direction is not HTTP/1 and exceeded the byte limit for that.
    pub(super) fn exceeds_non_http_limit(&self) -> bool {
        matches!(self.state, State::NotHttp) && self.skipped_bytes > MAX_NON_HTTP_PREFIX_LEN
    }

    /// Whether the direction was joined in midstream.
    pub(super) fn is_midstream(&self) -> bool {
        self.is_midstream
    }

    pub(super) fn is_resyncing(&self) -> bool {
        matches!(self.state, State::Resyncing)
    }

    /// Whether no further head can be found.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::NotHttp | State::Switched(_) | State::Body(Body::UntilClose))
    }

    /// Heap memory in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        match &self.state {
            State::Start(bytes) | State::Switched(bytes) => bytes.capacity(),
            State::Head(head) => head.buffered_bytes(),
            State::Body(_) | State::Resyncing | State::NotHttp => 0,
        }
    }

    /// Skips a proxy preamble. Returns how many of these bytes belong to it, or all bytes so far if there is none.
    fn skip_preamble(&mut self, bytes: &[u8]) -> Result<usize, Vec<u8>> {
        let State::Start(buffered) = &mut self.state else { return Ok(0) };
        if buffered.is_empty() && proxy_preamble::preamble_len(self.role, bytes) == Err(PreambleError::Absent)
        {
            self.state = State::Head(HeadBuffer::default());
            return Ok(0);
        }
        let before = buffered.len();
        buffered.extend_from_slice(bytes);
        match proxy_preamble::preamble_len(self.role, buffered) {
            Ok(length) => {
                self.is_first = false;
                self.state = State::Head(HeadBuffer::default());
                Ok(length.saturating_sub(before))
            }
            Err(PreambleError::Partial) if buffered.len() <= MAX_PREAMBLE_LEN => Ok(bytes.len()),
            Err(_) => {
                let buffered = std::mem::take(buffered);
                self.state = State::Head(HeadBuffer::default());
                Err(buffered)
            }
        }
    }

    fn count_skipped(&mut self, bytes: usize) {
        self.skipped_bytes = self.skipped_bytes.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    fn skip_blank_line_byte(&mut self) {
        self.is_first = false;
        self.count_skipped(1);
        if !self.is_http && self.skipped_bytes > u32::from(MAX_BLANK_LINE_BYTES) {
            self.state = State::NotHttp;
        }
    }

    /// Parses bytes of a head and returns how many were taken.
    fn head(
        &mut self,
        bytes: &[u8],
        counters: &mut Http1Counters,
        on_head: &mut impl FnMut(Lines<'_>, bool) -> Result<Framing, HttpError>,
    ) -> usize {
        let State::Head(head) = &mut self.state else { return 0 };
        let (taken, after) = match head.push(self.role, bytes) {
            Ok(Scan::More) => return bytes.len(),
            Ok(Scan::Complete { head, taken }) => {
                let blank_has_cr = head.blank_has_cr;
                let after = on_head(head, self.is_first);
                self.after_cr = blank_has_cr && after.is_ok();
                (taken, after)
            }
            Err(error) => (bytes.len(), Err(error)),
        };
        if matches!(after, Err(HttpError::NotHttp1))
            && !self.is_http
            && !self.is_midstream
            && begins_http2(self.role, head.bytes(), bytes)
        {
            self.state = State::Switched(head.take_bytes());
            return 0;
        }
        self.is_first = false;
        match after {
            Ok(after) => {
                self.is_http = true;
                self.apply_framing(after, counters);
                taken
            }
            Err(error) => {
                self.on_error(error, counters);
                self.count_skipped(bytes.len());
                bytes.len()
            }
        }
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

    /// Handles an invalid head. It ends a stream that is not known to be HTTP.
    fn on_error(&mut self, error: HttpError, counters: &mut Http1Counters) {
        let count = match error {
            HttpError::HeadTooLong { .. } => &mut counters.heads_too_long,
            HttpError::TooManyHeaders { .. } => &mut counters.heads_with_too_many_headers,
            HttpError::NotHttp1 => {
                if self.is_http || self.is_midstream {
                    self.lose_sync(counters);
                } else {
                    self.state = State::NotHttp;
                }
                return;
            }
        };
        *count = count.saturating_add(1);
        self.is_http = true;
        self.lose_sync(counters);
    }

    fn lose_sync(&mut self, counters: &mut Http1Counters) {
        counters.times_lost = counters.times_lost.saturating_add(1);
        self.after_cr = false;
        self.state = State::Resyncing;
    }

    /// Checks whether a piece starts with a head.
    fn search(&mut self, bytes: &[u8]) {
        if first_line::begins_head(self.role, bytes) {
            self.state = State::Head(HeadBuffer::default());
        } else if !self.is_http {
            self.count_skipped(bytes.len());
            if self.skipped_bytes > MAX_SEARCH_BYTES {
                self.state = State::NotHttp;
            }
        }
    }
}

/// Whether a direction starts with HTTP/2: with the first line of the client preface, or a server's SETTINGS (RFC 9113,
/// section 3.4).
fn begins_http2(role: Role, buffered: &[u8], piece: &[u8]) -> bool {
    match role {
        Role::Request => buffered.iter().chain(piece).take(PREFACE_LINE.len()).eq(PREFACE_LINE),
        Role::Response => buffered.is_empty() && matches!(piece, [0, _, _, 4, 0, 0, 0, 0, 0, ..]),
    }
}
