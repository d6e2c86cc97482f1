//! The search for the next head after bytes that were lost or cannot be read.

use memchr::{memchr, memmem, memrchr};

use super::{HeadSink, Reader, State};
use crate::http1::Http1Counters;
use crate::http1::first_line::{self, RequestLine, StatusLine};
use crate::http1::head_buffer::HeadBuffer;
use crate::http1::open_line::OpenLine;
use crate::limits::MAX_SEARCH_BYTES;
use crate::{HttpVersion, Role};

/// The place of the next head.
enum NextHead {
    /// After these bytes of the piece.
    At(usize),
    /// With this line, which ends after these bytes of the piece.
    Line(OpenLine, usize),
}

impl Reader {
    /// Searches for the next head. Returns the bytes before it, and expects a head after them; `None` if there is none.
    ///
    /// Every line is scanned once. In a direction that is known to be HTTP, a head starts only at a valid line.
    pub(super) fn find_head(
        &mut self,
        bytes: &[u8],
        counters: &mut Http1Counters,
        sink: &mut impl HeadSink,
    ) -> Option<usize> {
        if self.is_http {
            let found = self.find_line(bytes, counters, sink)?;
            self.state = State::Head(HeadBuffer::default());
            return Some(match found {
                NextHead::At(taken) => taken,
                NextHead::Line(line, taken) => {
                    self.push(&line.bytes, counters, sink);
                    taken
                }
            });
        }
        if self.begins_head(bytes) {
            self.state = State::Head(HeadBuffer::default());
            return Some(0);
        }
        self.count_skipped(bytes.len());
        if self.skipped_bytes > MAX_SEARCH_BYTES {
            self.state = State::NotHttp;
        }
        None
    }

    /// Searches for the first line of a head, and counts unreadable ones before it. Keeps the last line if it has no end.
    fn find_line(
        &mut self,
        bytes: &[u8],
        counters: &mut Http1Counters,
        sink: &mut impl HeadSink,
    ) -> Option<NextHead> {
        let State::Resyncing(open_line) = &mut self.state else { return None };
        let open_line = open_line.take();
        let mut at_line_start = open_line.is_some();
        let mut start: usize = 0;
        if let Some(mut line) = open_line.filter(|line| !line.bytes.is_empty()) {
            // A message may begin with a segment after one that ended within a line.
            let begins_message = !first_line::begins_head(self.role, &line.bytes) && self.begins_head(bytes);
            at_line_start = !begins_message;
            if !begins_message {
                start = memchr(b'\n', bytes).map_or(bytes.len(), |end| end.saturating_add(1));
                let piece = bytes.get(..start)?;
                let may_begin_head = line.push(self.role, piece);
                self.count_if_too_long(&line, counters, sink);
                if !piece.ends_with(b"\n") {
                    self.state = State::Resyncing(may_begin_head.then_some(line));
                    return None;
                }
                if may_begin_head && is_certain_first_line(self.role, &line.bytes) {
                    return Some(NextHead::Line(line, start));
                }
                if may_begin_head {
                    self.count_if_unreadable(&line.bytes, counters, sink);
                }
            }
        }
        loop {
            let rest = bytes.get(start..)?;
            let hit = memmem::find(rest, b"HTTP/").unwrap_or(rest.len());
            let (before, after) = rest.split_at_checked(hit)?;
            let line = memrchr(b'\n', before).map_or(0, |end| end.saturating_add(1));
            let line_start = start.saturating_add(line);
            // The start of a piece need not be that of a line.
            let is_line =
                |bytes| line_start > 0 || at_line_start || first_line::begins_head(self.role, bytes);
            let Some(end) = memchr(b'\n', after) else {
                let last = rest.get(line..)?;
                let mut open = OpenLine::default();
                let may_begin_head = is_line(last) && (last.is_empty() || open.push(self.role, last));
                self.count_if_too_long(&open, counters, sink);
                self.state = State::Resyncing(may_begin_head.then_some(open));
                return None;
            };
            let end = hit.saturating_add(end).saturating_add(1);
            let line = rest.get(line..end)?;
            if is_certain_first_line(self.role, line) {
                return Some(NextHead::At(line_start));
            }
            if is_line(line) {
                self.count_if_unreadable(line, counters, sink);
            }
            start = start.saturating_add(end);
        }
    }

    /// Counts a line that begins a head and is longer than one may be.
    fn count_if_too_long(&self, line: &OpenLine, counters: &mut Http1Counters, sink: &mut impl HeadSink) {
        if line.is_head_too_long(self.role) {
            counters.heads_too_long = counters.heads_too_long.saturating_add(1);
            sink.on_unreadable(&line.bytes, true);
        }
    }

    /// Counts a line that is an unreadable request.
    fn count_if_unreadable(&self, line: &[u8], counters: &mut Http1Counters, sink: &mut impl HeadSink) {
        if self.role == Role::Request && RequestLine::is_unreadable_http(line) {
            sink.on_unreadable(line, true);
            counters.count_unreadable(self.role);
        }
    }

    /// Whether a head certainly starts with these bytes; its first line need not be complete.
    fn begins_head(&self, bytes: &[u8]) -> bool {
        first_line::begins_head(self.role, bytes)
            && memchr(b'\n', bytes)
                .is_none_or(|end| is_certain_first_line(self.role, bytes.get(..end).unwrap_or_default()))
    }
}

/// Whether a line is the first one of a head, and hardly anything else: it names version 1 of HTTP, and has a status.
fn is_certain_first_line(role: Role, line: &[u8]) -> bool {
    match role {
        Role::Request => RequestLine::parse(line).is_some_and(|line| line.version != HttpVersion::Http09),
        Role::Response => StatusLine::parse(line).is_some_and(|line| line.status.is_some()),
    }
}
