//! How far p0f follows a connection, for the timestamps that it looks at.

use huginn_net_core::{Segment, Side, TcpFlags};
use huginn_net_tcp::ClockReading;

use crate::hosts::{Note, P0fClock};

/// A connection that p0f follows: from its SYN to a FIN or RST, or to where it holds no HTTP that p0f reads.
#[derive(Debug, Default)]
pub(crate) struct P0fFlow {
    clock: P0fClock,
    /// The sequence numbers that p0f waits for, of client and server.
    next: [u32; 2],
    is_answered: bool,
    /// How far the heads of the first request and response have come.
    heads: [Head; 2],
    /// Whether p0f follows it no more.
    is_over: bool,
}

impl P0fFlow {
    /// The clocks of its ends.
    pub(crate) fn clock(&self) -> &P0fClock {
        &self.clock
    }

    /// Whether p0f follows it still.
    pub(crate) fn is_followed(&self) -> bool {
        !self.is_over
    }

    /// What p0f looks at in a segment behind the handshake.
    pub(crate) fn on_segment(&mut self, segment: &Segment<'_>, sender: Side) -> Option<Note> {
        let tcp = segment.tcp().filter(|_| !self.is_over)?;
        let [client, server] = &mut self.next;
        let next = sender.choose(client, server);
        if tcp.flags.contains(TcpFlags::SYN) {
            *next = tcp.seq.wrapping_add(1);
            self.is_answered |= sender == Side::Server;
            return None;
        }
        if !self.is_answered {
            self.is_over = true;
            return None;
        }
        if !tcp.flags.closes() {
            if tcp.seq != *next {
                return None;
            }
            *next = next.wrapping_add(u32::try_from(segment.payload.len()).unwrap_or(u32::MAX));
            self.on_bytes(segment.payload, sender);
        }
        self.is_over |= tcp.flags.closes();
        if self.clock.is_decided(sender) {
            return None;
        }
        Some(Note::Timestamp(ClockReading::of(segment)?, self.clock.clone()))
    }

    fn on_bytes(&mut self, bytes: &[u8], sender: Side) {
        if bytes.is_empty() {
            return;
        }
        let [request, response] = &mut self.heads;
        let is_asked = request.at == At::End;
        self.is_over |= match sender {
            Side::Client => !is_asked && !request.goes_on(bytes, sender),
            Side::Server => !is_asked || !response.goes_on(bytes, sender) || response.at == At::End,
        };
    }
}

/// The head of a request or response, as far as it has come: whether p0f goes on reading it is all that is asked.
#[derive(Debug, Default)]
struct Head {
    at: At,
    /// How many bytes came.
    heard: u16,
    /// How many of them are of what it is at.
    length: u16,
    /// How many came before the line that it is at.
    line_at: u16,
    headers: u8,
    /// How the first line begins and ends.
    start: [u8; 7],
    end: [u8; 9],
}

/// What of a head comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    FirstLine,
    /// A line, or what is left of it, that p0f takes for the status line of a response, as it does with every segment.
    AnyLine,
    Name,
    /// A blank, or the value.
    Colon,
    Value,
    /// Nothing: the head is whole.
    End,
    /// Nothing that p0f reads.
    Wrong,
}

const MAX_BYTES: u16 = 8192;
const MAX_FIRST_LINE: u16 = 1023;
const MAX_HEADERS: u8 = 32;
const MAX_NAME: u16 = 32;
/// Bytes of a value behind the blank after the colon; a CR at its end counts. p0f waits for the end of a longer one, until
/// more comes.
const MAX_VALUE: u16 = 1024;

/// The least length of a first line.
fn least_line(sender: Side) -> u16 {
    sender.choose(14, 13)
}

/// How many bytes p0f waits for before it judges them.
fn telling_bytes(sender: Side) -> u16 {
    sender.choose(15, 13)
}

impl Head {
    /// Whether p0f goes on with the bytes of this segment too.
    fn goes_on(&mut self, bytes: &[u8], sender: Side) -> bool {
        if self.at == At::Value && self.length > MAX_VALUE {
            return false;
        }
        let is_in_headers = matches!(self.at, At::Name | At::Colon | At::Value);
        if sender == Side::Server && is_in_headers && self.line_at <= MAX_FIRST_LINE {
            self.at = At::AnyLine;
        }
        for byte in bytes {
            if self.at == At::End {
                return true;
            }
            self.heard = self.heard.saturating_add(1);
            if self.at != At::Wrong {
                self.at = self.behind(*byte, sender);
            }
        }
        self.at != At::Wrong && self.heard < MAX_BYTES || self.heard < telling_bytes(sender)
    }

    fn behind(&mut self, byte: u8, sender: Side) -> At {
        let length = self.length;
        self.length = length.saturating_add(1);
        match self.at {
            At::FirstLine if byte == b'\n' => self.behind_first_line(length, sender),
            At::FirstLine => self.within_first_line(byte, length, sender),
            At::AnyLine if self.heard > MAX_FIRST_LINE.saturating_add(1) => At::Wrong,
            At::AnyLine if byte == b'\n' => self.next_line(),
            At::AnyLine if is_printable(byte) => At::AnyLine,
            // A CR is all that p0f wants of the empty line.
            At::Name if length == 0 && matches!(byte, b'\r' | b'\n') => At::End,
            At::Name if byte == b':' && (1..=MAX_NAME).contains(&length) => {
                self.length = 0;
                self.headers = self.headers.saturating_add(1);
                At::Colon
            }
            At::Name if length <= MAX_NAME && self.headers < MAX_HEADERS && is_name(byte) => At::Name,
            At::Colon | At::Value if byte == b'\n' && length <= MAX_VALUE => self.next_line(),
            At::Colon if matches!(byte, b' ' | b'\t') => {
                self.length = 0;
                At::Value
            }
            At::Colon | At::Value => At::Value,
            _ => At::Wrong,
        }
    }

    fn within_first_line(&mut self, byte: u8, length: u16, sender: Side) -> At {
        if let Some(place) = self.start.get_mut(usize::from(length)) {
            *place = byte;
        }
        self.end.rotate_left(1);
        if let Some(last) = self.end.last_mut() {
            *last = byte;
        }
        let asks = || self.start.starts_with(b"GET /") || self.start.starts_with(b"HEAD /");
        let is_method = sender == Side::Server || length < 6 || asks();
        if is_method && length < MAX_FIRST_LINE && is_printable(byte) { At::FirstLine } else { At::Wrong }
    }

    fn behind_first_line(&mut self, length: u16, sender: Side) -> At {
        let version = match &self.end {
            [version @ .., b'\r'] | [_, version @ ..] => version,
        };
        let version = sender.choose(version.as_slice(), &self.start);
        let is_right = length >= least_line(sender) && version.starts_with(b"HTTP/1.");
        if is_right { self.next_line() } else { At::Wrong }
    }

    fn next_line(&mut self) -> At {
        self.length = 0;
        self.line_at = self.heard;
        At::Name
    }
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7f | b'\r')
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether p0f goes on behind the last of these segments of one side.
    fn goes_on(sender: Side, segments: &[&[u8]]) -> bool {
        let mut head = Head::default();
        let went_on: Vec<bool> = segments.iter().map(|segment| head.goes_on(segment, sender)).collect();
        let (last, before) = went_on.split_last().unwrap();
        assert!(!before.contains(&false));
        *last
    }

    /// What p0f 3.09b does was seen by whether it told an uptime of a later segment.
    #[test]
    fn p0f_reads_heads_as_long_as_they_are_right() {
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
            assert_eq!(goes_on(Side::Client, segments), want, "{}", String::from_utf8_lossy(&text));
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
            assert_eq!(goes_on(Side::Server, &[segment]), want, "{text}");
        }
        let cut_before_the_empty_line: [&[u8]; 2] = [b"HTTP/1.1 200 \nA: b\n", b"\n"];
        assert!(goes_on(Side::Server, &cut_before_the_empty_line));
    }
}
