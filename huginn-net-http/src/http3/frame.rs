//! Frames of HTTP/3 (RFC 9114, section 7.1).

use huginn_net_wire::Cursor;

use crate::limits::{MAX_HTTP3_SETTINGS_LEN, MAX_SECTION_LEN};

pub(super) const HEADERS: u64 = 0x01;
pub(super) const SETTINGS: u64 = 0x04;

/// Reads the frames of a stream. Only the payloads of [`HEADERS`] and [`SETTINGS`] are kept.
#[derive(Default)]
pub(super) struct FrameReader {
    /// An incomplete header, or payload.
    buffer: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Header,
    /// The payload of a frame of this type, and the number of its bytes that are still to come.
    Payload(u64, usize),
    Skip(u64),
}

/// A frame that was read.
#[derive(Clone, Copy)]
pub(super) enum Frame<'a> {
    /// The type and the payload.
    Complete(u64, &'a [u8]),
    /// A frame of this type whose payload is not kept, because it is too long or of another type.
    Skipped(u64),
}

impl FrameReader {
    /// Reads the next bytes. `each` returns false to end.
    pub(super) fn push(&mut self, mut bytes: &[u8], each: &mut impl FnMut(Frame<'_>) -> bool) {
        while !bytes.is_empty() {
            let mut goes_on = true;
            match self.state {
                State::Header => {
                    let Some((byte, rest)) = bytes.split_first() else { return };
                    bytes = rest;
                    self.buffer.push(*byte);
                    let mut cursor = Cursor::new(&self.buffer);
                    let (Ok(kind), Ok(len)) = (cursor.varint(), cursor.varint()) else { continue };
                    self.buffer.clear();
                    goes_on = self.begin(kind, len, each);
                }
                State::Payload(kind, left) => {
                    let (part, rest) = bytes.split_at_checked(left).unwrap_or((bytes, &[]));
                    bytes = rest;
                    let left = left.saturating_sub(part.len());
                    if left == 0 && self.buffer.is_empty() {
                        self.state = State::Header;
                        goes_on = each(Frame::Complete(kind, part));
                    } else {
                        self.buffer.extend_from_slice(part);
                        self.state = State::Payload(kind, left);
                        if left == 0 {
                            self.state = State::Header;
                            let payload = std::mem::take(&mut self.buffer);
                            goes_on = each(Frame::Complete(kind, &payload));
                        }
                    }
                }
                State::Skip(left) => {
                    let len = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = bytes.get(len..).unwrap_or_default();
                    let left = left.saturating_sub(len as u64);
                    self.state = if left == 0 { State::Header } else { State::Skip(left) };
                }
            }
            if !goes_on {
                return;
            }
        }
    }

    /// Begins the payload of a frame. Returns whether to go on.
    fn begin(&mut self, kind: u64, len: u64, each: &mut impl FnMut(Frame<'_>) -> bool) -> bool {
        let max = match kind {
            HEADERS => MAX_SECTION_LEN,
            SETTINGS => MAX_HTTP3_SETTINGS_LEN,
            _ => 0,
        };
        match usize::try_from(len) {
            Ok(0) if max > 0 => each(Frame::Complete(kind, &[])),
            Ok(len) if len <= max => {
                self.state = State::Payload(kind, len);
                true
            }
            _ => {
                if len > 0 {
                    self.state = State::Skip(len);
                }
                each(Frame::Skipped(kind))
            }
        }
    }

    pub(super) fn buffered_bytes(&self) -> usize {
        self.buffer.capacity()
    }
}
