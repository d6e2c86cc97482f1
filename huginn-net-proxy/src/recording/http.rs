//! The end of the first HTTP request head.

use huginn_net_http::http2::PREFACE;

use super::Found;

/// The first part of the preface, which is not a request of HTTP/1 (RFC 9113, section 3.4).
const PREFACE_HEAD: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";
/// Length of a frame header, in bytes (RFC 9113, section 4.1).
const FRAME_HEADER_LEN: usize = 9;
/// Types of the frames with a field block (RFC 9113, sections 6.2 and 6.10).
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
/// The flag of the last frame of a field block.
const END_HEADERS: u8 = 0x04;

/// Finds the end of the first head of an HTTP client.
#[derive(Clone, Debug, Default)]
pub(super) enum HeadEnd {
    /// Before the version of HTTP is known.
    #[default]
    Start,
    Http1(BlankLine),
    /// In HTTP/2, at the frame at this offset.
    Http2(usize),
}

impl HeadEnd {
    /// Continues the search in the bytes so far. Each byte is read once.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Found {
        loop {
            match self {
                Self::Start if bytes.starts_with(PREFACE) => *self = Self::Http2(PREFACE.len()),
                Self::Start if PREFACE.starts_with(bytes) => return Found::NotBefore(Some(PREFACE.len())),
                Self::Start if bytes.starts_with(PREFACE_HEAD) => return Found::Other,
                Self::Start => *self = Self::Http1(BlankLine::default()),
                Self::Http1(blank_line) => return blank_line.find(bytes),
                Self::Http2(frame) => return find_field_block(frame, bytes),
            }
        }
    }
}

/// Finds the end of the first field block from the frame at this offset.
fn find_field_block(frame: &mut usize, bytes: &[u8]) -> Found {
    loop {
        let payload = frame.saturating_add(FRAME_HEADER_LEN);
        let header = bytes.get(*frame..).and_then(|rest| rest.first_chunk::<FRAME_HEADER_LEN>());
        let Some(&[a, b, c, kind, flags, ..]) = header else { return Found::NotBefore(Some(payload)) };
        let len = usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap_or(usize::MAX);
        let end = payload.saturating_add(len);
        if bytes.len() < end {
            return Found::NotBefore(Some(end));
        }
        if matches!(kind, HEADERS | CONTINUATION) && flags & END_HEADERS != 0 {
            return Found::End(end);
        }
        *frame = end;
    }
}

/// Finds the empty line after a head of HTTP/1 (RFC 9112, section 2.1). Empty lines before it are skipped (section 2.2).
#[derive(Clone, Debug, Default)]
pub(super) struct BlankLine {
    /// Offset of the current line.
    line: usize,
    /// Offset up to which the line was searched for its end.
    searched: usize,
    /// Whether a line of the head was found.
    in_head: bool,
}

impl BlankLine {
    fn find(&mut self, bytes: &[u8]) -> Found {
        loop {
            let line = bytes.get(self.line..).unwrap_or_default();
            // All registered methods begin with a letter.
            if !self.in_head && line.first().is_some_and(|byte| !is_letter_or_line_end(*byte)) {
                return Found::Other;
            }
            let rest = bytes.get(self.searched..).unwrap_or_default();
            let Some(found) = memchr::memchr(b'\n', rest) else {
                self.searched = bytes.len();
                return Found::NotBefore(None);
            };
            let end = self.searched.saturating_add(found);
            let is_empty = matches!(bytes.get(self.line..end), Some([] | [b'\r']));
            self.line = end.saturating_add(1);
            self.searched = self.line;
            if is_empty && self.in_head {
                return Found::End(self.line);
            }
            self.in_head |= !is_empty;
        }
    }
}

fn is_letter_or_line_end(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'\r' | b'\n')
}
