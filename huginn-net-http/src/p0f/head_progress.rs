//! p0f's progress in a head that arrives in segments.

use huginn_net_core::Side;

use super::{begins_request, begins_version, is_name, is_printable};
use crate::limits;

/// Follows the first head of a direction segment by segment and reports whether p0f keeps reading it.
#[derive(Debug, Default)]
pub(super) struct HeadProgress {
    at: HeadPart,
    /// Bytes received.
    seen: u16,
    /// Bytes of the current part.
    length: u16,
    /// Bytes before the current line.
    line_at: u16,
    headers: u16,
    /// The first and last bytes of the first line.
    start: [u8; 7],
    end: [u8; 9],
}

/// The next part of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HeadPart {
    #[default]
    FirstLine,
    /// A line, or the rest of one, that p0f takes for a status line, as it does with every segment of a response.
    AnyLine,
    Name,
    /// The blank before a value, or the value.
    Colon,
    Value,
    /// The head is complete.
    End,
    /// p0f rejected the head.
    Wrong,
}

/// The limits of p0f in the types of the counters here. p0f waits for the end of a longer value until more
/// data comes.
const P0F_MAX_BYTES: u16 = limit(limits::P0F_MAX_BYTES);
const P0F_MAX_FIRST_LINE_LEN: u16 = limit(limits::P0F_MAX_FIRST_LINE_LEN - 1);
const P0F_MAX_HEADERS: u16 = limit(limits::P0F_MAX_HEADERS);
const P0F_MAX_NAME_LEN: u16 = limit(limits::P0F_MAX_NAME_LEN);
const P0F_MAX_VALUE_LEN: u16 = limit(limits::P0F_MAX_VALUE_LEN);

#[expect(clippy::cast_possible_truncation, reason = "checked when compiled")]
const fn limit(limit: usize) -> u16 {
    assert!(limit <= u16::MAX as usize, "the counters are of 16 bits");
    limit as u16
}

/// Minimum length of a first line.
fn min_line_len(sender: Side) -> u16 {
    sender.choose(limit(limits::P0F_MIN_REQUEST_LINE_LEN), limit(limits::P0F_MIN_STATUS_LINE_LEN))
}

/// Bytes that p0f waits for before it judges them.
fn min_judged_bytes(sender: Side) -> u16 {
    sender.choose(
        limit(limits::P0F_MIN_REQUEST_LINE_LEN).saturating_add(1),
        limit(limits::P0F_MIN_STATUS_LINE_LEN),
    )
}

impl HeadProgress {
    /// Whether the head is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.at == HeadPart::End
    }

    /// Handles the bytes of a segment. Returns whether p0f keeps reading the head.
    pub(super) fn keeps_reading(&mut self, bytes: &[u8], sender: Side) -> bool {
        if self.at == HeadPart::Value && self.length > P0F_MAX_VALUE_LEN {
            return false;
        }
        let is_in_headers = matches!(self.at, HeadPart::Name | HeadPart::Colon | HeadPart::Value);
        if sender == Side::Server && is_in_headers && self.line_at <= P0F_MAX_FIRST_LINE_LEN {
            self.at = HeadPart::AnyLine;
        }
        for byte in bytes {
            if self.at == HeadPart::End {
                return true;
            }
            self.seen = self.seen.saturating_add(1);
            if self.at != HeadPart::Wrong {
                self.at = self.after_byte(*byte, sender);
            }
        }
        self.at != HeadPart::Wrong && self.seen < P0F_MAX_BYTES || self.seen < min_judged_bytes(sender)
    }

    fn after_byte(&mut self, byte: u8, sender: Side) -> HeadPart {
        let length = self.length;
        self.length = length.saturating_add(1);
        match self.at {
            HeadPart::FirstLine if byte == b'\n' => self.after_first_line(length, sender),
            HeadPart::FirstLine => self.within_first_line(byte, length, sender),
            HeadPart::AnyLine if self.seen > P0F_MAX_FIRST_LINE_LEN.saturating_add(1) => HeadPart::Wrong,
            HeadPart::AnyLine if byte == b'\n' => self.next_line(),
            HeadPart::AnyLine if is_printable(byte) => HeadPart::AnyLine,
            // p0f requires only the CR of the empty line.
            HeadPart::Name if length == 0 && matches!(byte, b'\r' | b'\n') => HeadPart::End,
            HeadPart::Name if byte == b':' && (1..=P0F_MAX_NAME_LEN).contains(&length) => {
                self.length = 0;
                self.headers = self.headers.saturating_add(1);
                HeadPart::Colon
            }
            HeadPart::Name
                if length <= P0F_MAX_NAME_LEN && self.headers < P0F_MAX_HEADERS && is_name(byte) =>
            {
                HeadPart::Name
            }
            HeadPart::Colon | HeadPart::Value if byte == b'\n' && length <= P0F_MAX_VALUE_LEN => {
                self.next_line()
            }
            HeadPart::Colon if matches!(byte, b' ' | b'\t') => {
                self.length = 0;
                HeadPart::Value
            }
            HeadPart::Colon | HeadPart::Value => HeadPart::Value,
            _ => HeadPart::Wrong,
        }
    }

    fn within_first_line(&mut self, byte: u8, length: u16, sender: Side) -> HeadPart {
        if let Some(place) = self.start.get_mut(usize::from(length)) {
            *place = byte;
        }
        self.end.rotate_left(1);
        if let Some(last) = self.end.last_mut() {
            *last = byte;
        }
        let asks = || begins_request(&self.start);
        let is_method = sender == Side::Server || length < 6 || asks();
        if is_method && length < P0F_MAX_FIRST_LINE_LEN && is_printable(byte) {
            HeadPart::FirstLine
        } else {
            HeadPart::Wrong
        }
    }

    fn after_first_line(&mut self, length: u16, sender: Side) -> HeadPart {
        let version = match &self.end {
            [version @ .., b'\r'] | [_, version @ ..] => version,
        };
        let version = sender.choose(version.as_slice(), &self.start);
        let is_right = length >= min_line_len(sender) && begins_version(version);
        if is_right { self.next_line() } else { HeadPart::Wrong }
    }

    fn next_line(&mut self) -> HeadPart {
        self.length = 0;
        self.line_at = self.seen;
        HeadPart::Name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether p0f keeps reading after the last of these segments of one side.
    fn keeps_reading(sender: Side, segments: &[&[u8]]) -> bool {
        let mut head = HeadProgress::default();
        let went_on: Vec<bool> = segments.iter().map(|segment| head.keeps_reading(segment, sender)).collect();
        let (last, before) = went_on.split_last().unwrap();
        assert!(!before.contains(&false));
        *last
    }

    /// Observed with p0f 3.09b, which reports the uptime of a later segment if it keeps reading.
    #[test]
    fn follows_heads_within_limits_of_p0f() {
        let line = |length: usize| [b"GET /".as_slice(), &vec![b'a'; length - 5]].concat();
        let head = |rest: &[u8]| [b"GET / HTTP/1.1\n", rest].concat();
        let field = |name: &[u8], length: usize| head(&[name, &vec![b'y'; length]].concat());
        let ended = |mut head: Vec<u8>| {
            head.push(b'\n');
            head
        };
        let rows: [(&[&[u8]], bool); 30] = [
            (&[b"XXXXXXXXXXXXXX"], true),
            (&[b"XXXXXXXXXXXXXXX"], false),
            (&[b"X", b"XXXXXXXXXXXXXX"], false),
            (&[b"GET /\n\n\n\n\n\n\n\n\n"], true),
            (&[b"GET /\n\n\n\n\n\n\n\n\n\n"], false),
            (&[b"POST / HTTP/1.1\r\n"], false),
            (&[&line(25)], true),
            (&[&line(1023)], true),
            (&[&line(1024)], false),
            (&[b"GET / HTTP/1.x\r\n"], true),
            (&[b"HEAD /x HTTP/1.11\n"], false),
            (&[b"GET / HTTP/1.\x80\r\n"], false),
            (&[b"GET /\x01aaaaaaaaaaa"], false),
            (&[&head(b"A B: c\n")], false),
            (&[&head(b"A_-9:\n")], true),
            (&[&head(b": c\n")], false),
            (&[&field(b"", 33)], true),
            (&[&field(b"", 34)], false),
            (&[&ended(field(b"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy:", 1))], true),
            (&[&ended(field(b"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy:", 1))], false),
            (&[&head(&b"A: b\n".repeat(32))], true),
            (&[&head(&[b"A: b\n".repeat(32), b"\n".to_vec()].concat())], true),
            (&[&head(&[b"A: b\n".repeat(32), b"A".to_vec()].concat())], false),
            (&[&field(b"X: ", 1024), b"y"], true),
            (&[&field(b"X: ", 1025), b"y"], false),
            (&[&field(b"X:", 1024), b"y"], true),
            (&[&field(b"X:", 1025), b"y"], false),
            (&[&ended(field(b"X: ", 1024)), b"A"], true),
            (&[&ended(field(b"X: ", 1025)), b"A"], false),
            (&[&head(b"\r\x01")], true),
        ];
        for (segments, want) in rows {
            let text = segments.concat();
            assert_eq!(keeps_reading(Side::Client, segments), want, "{}", String::from_utf8_lossy(&text));
        }
        let rows: [(&[u8], bool); 8] = [
            (b"XXXXXXXXXXXXXXXXXXXXXXXXXX", true),
            (b"XXXXXXXXXXX\n", true),
            (b"XXXXXXXXXXXX\n", false),
            (b"HTTP/1.1 200\n", false),
            (b"HTTP/1.1 200 \n", true),
            (b"HTTP/1.1\x01 200 \r", false),
            (b"HTTP/2.0 200 \n", false),
            (b"HTTP/1.1 200 \nA B", false),
        ];
        for (segment, want) in rows {
            let text = String::from_utf8_lossy(segment);
            assert_eq!(keeps_reading(Side::Server, &[segment]), want, "{text}");
        }
        let cut_before_the_empty_line: [&[u8]; 2] = [b"HTTP/1.1 200 \nA: b\n", b"\n"];
        assert!(keeps_reading(Side::Server, &cut_before_the_empty_line));
    }
}
