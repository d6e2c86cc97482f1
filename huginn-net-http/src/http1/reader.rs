//! One direction of a connection.

use super::body::{After, Body};
use super::connection::Http1Counters;
use super::first_line;
use super::greeting::{self, MAX_GREETING, NoGreeting};
use super::head::Lines;
use super::head_buffer::{HeadBuffer, Scan};
use crate::{Error, Role};

/// Blank lines that may come before the first head, in bytes (RFC 9112, section 2.2).
const MAX_BLANK: u8 = 8;
/// How much a client may say that is not HTTP/1 before its server is not listened to any more, in bytes.
const MAX_NON_HTTP_PREFIX_LEN: u32 = 4 << 10;
/// How much is kept of what follows HTTP/1, in bytes.
const MAX_REST: usize = 128 << 10;
/// How far heads are looked for in a stream that is not known to be HTTP, in bytes.
const SEARCH_LIMIT: u32 = 64 << 10;
/// What the preface of HTTP/2 has of a request line.
const PREFACE_LINE: &[u8] = b"PRI * HTTP/2.0\r\n";

/// Finds the heads of a direction, and passes over the bodies behind them.
#[derive(Debug)]
pub(super) struct Reader {
    role: Role,
    state: State,
    /// Whether it is known to be HTTP.
    is_http: bool,
    /// Whether everything so far belongs to the first head.
    is_first: bool,
    /// Whether an LF belongs to what ended with a CR.
    after_cr: bool,
    /// Bytes passed over where there is no head.
    passed: u32,
    /// Whether the first head may be anywhere.
    searches: bool,
    /// Whether another protocol follows the body.
    switches: bool,
}

#[derive(Debug)]
enum State {
    /// Where a greeting of another protocol may be; with the bytes of it that are there.
    Start(Vec<u8>),
    Head(HeadBuffer),
    Body(Body),
    /// Where a head begins is not known: one is looked for wherever a piece begins.
    Lost,
    /// Behind HTTP/1, or at HTTP/2 instead of it; with what has come.
    Over(Vec<u8>),
    /// Not HTTP/1.
    Refused,
}

impl Reader {
    /// A direction from its first byte.
    pub(super) fn new(role: Role) -> Self {
        Self::at(role, State::Start(Vec::new()))
    }

    /// A direction from somewhere within it.
    pub(super) fn midstream(role: Role) -> Self {
        Self::at(role, State::Lost)
    }

    fn at(role: Role, state: State) -> Self {
        let searches = matches!(state, State::Lost);
        Self {
            role,
            state,
            is_http: false,
            is_first: !searches,
            after_cr: false,
            passed: 0,
            searches,
            switches: false,
        }
    }

    /// Takes the next bytes. `on_head` takes each head that is now whole, and whether its direction
    /// begins with it, and tells what follows it.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        counters: &mut Http1Counters,
        on_head: &mut impl FnMut(Lines<'_>, bool) -> Result<After, Error>,
    ) {
        if matches!(self.state, State::Lost) {
            self.search(bytes);
        }
        // Bodies are not looked into: to fetch a byte of each segment from memory takes longer than all else here.
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes.starts_with(b"\n") {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let taken = match &mut self.state {
                State::Start(_) => match self.greeting(bytes) {
                    Ok(taken) => taken,
                    Err(held) => {
                        self.push(&held, counters, on_head);
                        bytes.len()
                    }
                },
                State::Head(head) if head.is_empty() && matches!(bytes, [b'\r' | b'\n', ..]) => {
                    self.pass_blank();
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
                    Err(_) => return self.lose(counters),
                },
                State::Over(rest) if rest.len().saturating_add(bytes.len()) <= MAX_REST => {
                    rest.extend_from_slice(bytes);
                    return;
                }
                State::Over(_) => {
                    counters.times_lost = counters.times_lost.saturating_add(1);
                    self.state = State::Refused;
                    return;
                }
                State::Refused => {
                    self.pass(bytes.len());
                    return;
                }
                State::Lost => return,
            };
            bytes = bytes.get(taken..).unwrap_or_default();
        }
    }

    /// The bytes left of a body or of its chunk; 0 if the next byte is none of those.
    #[inline]
    pub(super) fn body_left(&self) -> u64 {
        match &self.state {
            State::Body(body) if !self.after_cr => body.left(),
            _ => 0,
        }
    }

    /// Takes that many bytes of a body as read, fewer than are [left](Self::body_left).
    #[inline]
    pub(super) fn skip_body(&mut self, len: u64) {
        if let State::Body(body) = &mut self.state {
            let _ = body.skip(len);
        }
    }

    /// Takes first bytes that are no HTTP/1, as [`is_foreign`](super::is_foreign) found.
    pub(super) fn skip_foreign(&mut self, len: usize) {
        if let State::Start(_) = self.state {
            self.state = State::Refused;
            self.is_first = false;
        }
        self.pass(len);
    }

    /// Tells that bytes are missing here, and how many.
    pub(super) fn gap(&mut self, missing: u64, counters: &mut Http1Counters) {
        self.is_first = false;
        match &mut self.state {
            State::Body(body) => {
                if body.skip(missing).is_err() {
                    self.lose(counters);
                }
            }
            State::Start(_) | State::Head(_) => self.lose(counters),
            State::Lost | State::Over(_) | State::Refused => {}
        }
    }

    /// Tells that another protocol follows the message that is being read.
    pub(super) fn switch(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Refused) {
            State::Head(mut head) => State::Over(head.take_bytes()),
            State::Start(held) | State::Over(held) => State::Over(held),
            State::Lost | State::Refused => State::Over(Vec::new()),
            State::Body(body) => {
                self.switches = true;
                State::Body(body)
            }
        };
    }

    /// The bytes that came behind HTTP/1.
    pub(super) fn take_rest(&mut self) -> Vec<u8> {
        match &mut self.state {
            State::Over(rest) => std::mem::take(rest),
            _ => Vec::new(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    /// Whether it is known not to be HTTP/1, and has gone on so for long.
    pub(super) fn is_hopeless(&self) -> bool {
        matches!(self.state, State::Refused) && self.passed > MAX_NON_HTTP_PREFIX_LEN
    }

    /// Whether it was open before, or is not known to be HTTP.
    pub(super) fn searches(&self) -> bool {
        self.searches
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(self.state, State::Lost)
    }

    /// Whether nothing further can be found.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Refused | State::Over(_) | State::Body(Body::UntilClose))
    }

    /// The memory that it takes up beside itself, in bytes.
    pub(super) fn held(&self) -> usize {
        match &self.state {
            State::Start(bytes) | State::Over(bytes) => bytes.capacity(),
            State::Head(head) => head.held(),
            State::Body(_) | State::Lost | State::Refused => 0,
        }
    }

    /// Passes over a greeting and tells how many of these bytes belong to it; where there is none, all that has come.
    fn greeting(&mut self, bytes: &[u8]) -> Result<usize, Vec<u8>> {
        let State::Start(held) = &mut self.state else { return Ok(0) };
        if held.is_empty() && greeting::length(self.role, bytes) == Err(NoGreeting::Absent) {
            self.state = State::Head(HeadBuffer::default());
            return Ok(0);
        }
        let before = held.len();
        held.extend_from_slice(bytes);
        match greeting::length(self.role, held) {
            Ok(length) => {
                self.is_first = false;
                self.state = State::Head(HeadBuffer::default());
                Ok(length.saturating_sub(before))
            }
            Err(NoGreeting::Partial) if held.len() <= MAX_GREETING => Ok(bytes.len()),
            Err(_) => {
                let held = std::mem::take(held);
                self.state = State::Head(HeadBuffer::default());
                Err(held)
            }
        }
    }

    fn pass(&mut self, bytes: usize) {
        self.passed = self.passed.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    fn pass_blank(&mut self) {
        self.is_first = false;
        self.pass(1);
        if !self.is_http && self.passed > u32::from(MAX_BLANK) {
            self.state = State::Refused;
        }
    }

    /// Takes bytes of a head, and tells how many.
    fn head(
        &mut self,
        bytes: &[u8],
        counters: &mut Http1Counters,
        on_head: &mut impl FnMut(Lines<'_>, bool) -> Result<After, Error>,
    ) -> usize {
        let State::Head(head) = &mut self.state else { return 0 };
        let (taken, after) = match head.push(self.role, bytes) {
            Ok(Scan::More) => return bytes.len(),
            Ok(Scan::Whole { head, taken }) => {
                let blank_has_cr = head.blank_has_cr;
                let after = on_head(head, self.is_first);
                self.after_cr = blank_has_cr && after.is_ok();
                (taken, after)
            }
            Err(error) => (bytes.len(), Err(error)),
        };
        if matches!(after, Err(Error::NotHttp1))
            && !self.is_http
            && !self.searches
            && begins_http2(self.role, head.bytes(), bytes)
        {
            self.state = State::Over(head.take_bytes());
            return 0;
        }
        self.is_first = false;
        match after {
            Ok(after) => {
                self.is_http = true;
                self.follow(after, counters);
                taken
            }
            Err(error) => {
                self.refuse(error, counters);
                self.pass(bytes.len());
                bytes.len()
            }
        }
    }

    fn follow(&mut self, after: After, counters: &mut Http1Counters) {
        match after {
            After::Body(Body::Length(0)) => self.state = self.after_body(),
            After::Body(body) => self.state = State::Body(body),
            After::Upgrade => self.state = State::Over(Vec::new()),
            After::Tunnel => {
                *self = Self { after_cr: self.after_cr, is_first: false, ..Self::new(self.role) }
            }
            After::Unknown => self.lose(counters),
        }
    }

    fn after_body(&mut self) -> State {
        if self.switches { State::Over(Vec::new()) } else { State::Head(HeadBuffer::default()) }
    }

    /// What is no head ends a stream that is not known to be HTTP.
    fn refuse(&mut self, error: Error, counters: &mut Http1Counters) {
        let count = match error {
            Error::HeadTooLong { .. } => &mut counters.heads_too_long,
            Error::TooManyHeaders { .. } => &mut counters.heads_with_too_many_headers,
            Error::NotHttp1 => {
                if self.is_http || self.searches {
                    self.lose(counters);
                } else {
                    self.state = State::Refused;
                }
                return;
            }
        };
        *count = count.saturating_add(1);
        self.is_http = true;
        self.lose(counters);
    }

    fn lose(&mut self, counters: &mut Http1Counters) {
        counters.times_lost = counters.times_lost.saturating_add(1);
        self.after_cr = false;
        self.state = State::Lost;
    }

    /// Looks whether a piece begins with a head.
    fn search(&mut self, bytes: &[u8]) {
        if first_line::begins_head(self.role, bytes) {
            self.state = State::Head(HeadBuffer::default());
        } else if !self.is_http {
            self.pass(bytes.len());
            if self.passed > SEARCH_LIMIT {
                self.state = State::Refused;
            }
        }
    }
}

/// Whether a direction that is not HTTP/1 begins as HTTP/2 does: with the preface's first line, or a server's settings
/// (RFC 9113, section 3.4).
fn begins_http2(role: Role, held: &[u8], fresh: &[u8]) -> bool {
    match role {
        Role::Request => held.iter().chain(fresh).take(PREFACE_LINE.len()).eq(PREFACE_LINE),
        Role::Response => held.is_empty() && matches!(fresh, [0, _, _, 4, 0, 0, 0, 0, 0, ..]),
    }
}
