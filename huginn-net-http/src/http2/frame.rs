//! Splits in-order bytes into frames (RFC 9113, section 4.1).

use std::mem;

use super::Http2Error;

/// Length of a frame header, in bytes.
const HEADER_LEN: usize = 9;

/// Frame types (RFC 9113, section 6) whose payload is parsed.
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// Frame flags.
pub(super) const ACK: u8 = 0x01;
pub(super) const END_HEADERS: u8 = 0x04;
pub(super) const PADDED: u8 = 0x08;
pub(super) const WITH_PRIORITY: u8 = 0x20;

/// A frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// Payload length, in bytes.
    pub(super) len: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// Stream identifier; 0 for the connection.
    pub(super) stream: u32,
}

impl FrameHeader {
    pub(super) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn parse([a, b, c, kind, flags, stream @ ..]: [u8; HEADER_LEN]) -> Self {
        let len = usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap_or(usize::MAX);
        Self { len, kind, flags, stream: number31(stream) }
    }

    /// Maximum length of a parsed payload, in bytes; `None` if the payload is skipped. A SETTINGS frame cannot be
    /// longer before the peer allows it (RFC 9113, section 4.2).
    const fn max_len(&self) -> Option<usize> {
        match self.kind {
            HEADERS | PUSH_PROMISE | CONTINUATION => Some(64 * 1024),
            SETTINGS => Some(16 * 1024),
            PRIORITY => Some(5),
            WINDOW_UPDATE => Some(4),
            _ => None,
        }
    }
}

/// Whether these bytes begin as a server does: with a SETTINGS frame (RFC 9113, section 3.4). An empty one is nine bytes that other
/// protocols send, too, unless the acknowledgement of the client's SETTINGS follows.
#[cfg(feature = "packets")]
pub(crate) fn begins_with_settings(bytes: &[u8]) -> bool {
    let header = |bytes: &[u8]| bytes.first_chunk().map(|header| FrameHeader::parse(*header));
    let is_settings =
        |frame: &FrameHeader, flags| (frame.kind, frame.flags, frame.stream) == (SETTINGS, flags, 0);
    let Some(first) = header(bytes).filter(|first| is_settings(first, 0)) else { return false };
    let next = || bytes.get(HEADER_LEN..).and_then(header);
    match first.len {
        0 => next().is_some_and(|next| next.len == 0 && is_settings(&next, ACK)),
        len => len <= 16 * 1024 && len.is_multiple_of(6),
    }
}

/// Reads a 31-bit number after a reserved bit.
pub(super) const fn number31(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes) & 0x7fff_ffff
}

/// Splits the bytes of one side into frames.
#[derive(Debug)]
pub(super) struct FrameReader {
    state: State,
}

#[derive(Debug)]
enum State {
    /// In a header, with its first bytes.
    Header { bytes: [u8; HEADER_LEN], len: usize },
    /// In a parsed payload, with its first bytes.
    Payload { header: FrameHeader, bytes: Vec<u8> },
    /// In a skipped payload.
    Skip { left: usize },
}

impl State {
    const START: Self = Self::Header { bytes: [0; HEADER_LEN], len: 0 };
}

impl FrameReader {
    pub(super) const fn new() -> Self {
        Self { state: State::START }
    }

    /// Parses the next bytes. Emits parsed frames when they are complete, and skipped frames after their header,
    /// without payload. Only incomplete payloads are copied.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        each: &mut impl FnMut(FrameHeader, &[u8]) -> Result<(), Http2Error>,
    ) -> Result<(), Http2Error> {
        while !bytes.is_empty() {
            bytes = match &mut self.state {
                State::Header { bytes: header, len } => {
                    let rest = fill(header, len, bytes);
                    if *len == HEADER_LEN {
                        let header = FrameHeader::parse(*header);
                        self.state = begin(header, each)?;
                    }
                    rest
                }
                State::Payload { header, bytes: buffered } => {
                    let missing = header.len.saturating_sub(buffered.len());
                    let Some((payload, rest)) = bytes.split_at_checked(missing) else {
                        buffered.extend_from_slice(bytes);
                        return Ok(());
                    };
                    let (header, mut buffered) = (*header, mem::take(buffered));
                    self.state = State::START;
                    if buffered.is_empty() {
                        each(header, payload)?;
                    } else {
                        buffered.extend_from_slice(payload);
                        each(header, &buffered)?;
                    }
                    rest
                }
                State::Skip { left } => {
                    let skipped = bytes.len().min(*left);
                    *left = left.saturating_sub(skipped);
                    if *left == 0 {
                        self.state = State::START;
                    }
                    bytes.get(skipped..).unwrap_or_default()
                }
            };
        }
        Ok(())
    }

    /// Whether the next byte is of a skipped payload.
    #[cfg(feature = "packets")]
    pub(super) const fn is_skipping(&self) -> bool {
        matches!(self.state, State::Skip { .. })
    }

    /// Number of bytes to the end of the current frame, or of its header.
    pub(super) fn next_len(&self) -> usize {
        match &self.state {
            State::Header { len, .. } => HEADER_LEN.saturating_sub(*len),
            State::Payload { header, bytes } => header.len.saturating_sub(bytes.len()),
            State::Skip { left } => *left,
        }
    }

    /// Skips missing bytes. Returns false unless all of them belong to a skipped payload.
    pub(super) fn gap(&mut self, missing: u64) -> bool {
        let State::Skip { left } = &mut self.state else { return missing == 0 };
        let Some(behind) = usize::try_from(missing).ok().and_then(|missing| left.checked_sub(missing)) else {
            return false;
        };
        *left = behind;
        if behind == 0 {
            self.state = State::START;
        }
        true
    }

    /// Memory of an incomplete payload, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        match &self.state {
            State::Payload { bytes, .. } => bytes.capacity(),
            _ => 0,
        }
    }
}

/// Appends bytes to a header and returns the rest.
fn fill<'a>(header: &mut [u8; HEADER_LEN], len: &mut usize, bytes: &'a [u8]) -> &'a [u8] {
    let missing = HEADER_LEN.saturating_sub(*len).min(bytes.len());
    let (taken, rest) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
    for (place, byte) in header.iter_mut().skip(*len).zip(taken) {
        *place = *byte;
    }
    *len = len.saturating_add(missing);
    rest
}

/// The state after a header. Emits a frame without a payload at once.
fn begin(
    header: FrameHeader,
    each: &mut impl FnMut(FrameHeader, &[u8]) -> Result<(), Http2Error>,
) -> Result<State, Http2Error> {
    match header.max_len() {
        Some(max) if header.len > max => Err(Http2Error::FrameTooLong { kind: header.kind, len: header.len }),
        Some(_) if header.len > 0 => Ok(State::Payload { header, bytes: Vec::new() }),
        _ => {
            each(header, &[])?;
            Ok(if header.len == 0 { State::START } else { State::Skip { left: header.len } })
        }
    }
}
