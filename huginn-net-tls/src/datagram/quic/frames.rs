//! The frames of an Initial packet (RFC 9000, section 19).

use huginn_net_wire::quic::{skip_ack, skip_close};
use huginn_net_wire::{Cursor, Truncated};

use super::QuicError;
use super::version::FrameSet;

/// Frame types allowed in an Initial packet (RFC 9000, section 12.4).
mod kind {
    pub(super) const PADDING: u64 = 0x00;
    pub(super) const PING: u64 = 0x01;
    pub(super) const ACK: u64 = 0x02;
    pub(super) const ACK_ECN: u64 = 0x03;
    pub(super) const CRYPTO: u64 = 0x06;
    pub(super) const CONNECTION_CLOSE: u64 = 0x1c;
    /// The application variant, which is not allowed but occurs.
    pub(super) const APPLICATION_CLOSE: u64 = 0x1d;
}

/// Frame types of Google QUIC.
mod google_kind {
    pub(super) const PADDING: u8 = 0x00;
    pub(super) const PING: u8 = 0x07;
    pub(super) const CRYPTO: u8 = 0x08;
    /// The bits below encode the field lengths.
    pub(super) const ACK: u8 = 0x40;
    pub(super) const LAST_ACK: u8 = 0x7f;
    pub(super) const ACK_BLOCKS: u8 = 0x20;
}

/// A frame of an Initial packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InitialFrame<'a> {
    /// CRYPTO: the stream offset, and the data.
    Crypto(u64, &'a [u8]),
    /// CONNECTION_CLOSE of the transport: the error code.
    Close(u64),
}

/// The CRYPTO and CONNECTION_CLOSE frames of a packet. Ends after the first error.
pub(super) struct InitialFrames<'a> {
    cursor: Cursor<'a>,
    frames: FrameSet,
}

impl<'a> InitialFrames<'a> {
    pub(super) const fn new(payload: &'a [u8], frames: FrameSet) -> Self {
        Self { cursor: Cursor::new(payload), frames }
    }
}

impl<'a> Iterator for InitialFrames<'a> {
    type Item = Result<InitialFrame<'a>, QuicError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.cursor.is_empty() {
            let frame = match self.frames {
                FrameSet::Ietf => read(&mut self.cursor),
                FrameSet::Google => read_google(&mut self.cursor),
            };
            // No frame is complete after one that ends within a field.
            if matches!(frame, Err(QuicError::Truncated(_))) {
                self.cursor = Cursor::new(&[]);
            }
            if let Some(frame) = frame.transpose() {
                return Some(frame);
            }
        }
        None
    }
}

fn read<'a>(cursor: &mut Cursor<'a>) -> Result<Option<InitialFrame<'a>>, QuicError> {
    let offset = cursor.position();
    match cursor.varint()? {
        kind::PADDING => cursor.skip(leading_zeros(cursor.rest()))?,
        kind::PING => {}
        kind @ (kind::ACK | kind::ACK_ECN) => skip_ack(cursor, kind == kind::ACK_ECN)?,
        kind::CRYPTO => return Ok(Some(crypto(cursor)?)),
        kind::CONNECTION_CLOSE => {
            let code = Cursor::new(cursor.rest()).varint()?;
            skip_close(cursor, true)?;
            return Ok(Some(InitialFrame::Close(code)));
        }
        kind::APPLICATION_CLOSE => skip_close(cursor, false)?,
        kind => return Err(QuicError::Frame { kind, offset }),
    }
    Ok(None)
}

fn read_google<'a>(cursor: &mut Cursor<'a>) -> Result<Option<InitialFrame<'a>>, QuicError> {
    let offset = cursor.position();
    match cursor.u8()? {
        google_kind::PADDING => cursor.skip(leading_zeros(cursor.rest()))?,
        google_kind::PING => {}
        google_kind::CRYPTO => return Ok(Some(crypto(cursor)?)),
        kind @ google_kind::ACK..=google_kind::LAST_ACK => skip_google_ack(cursor, kind)?,
        kind => return Err(QuicError::Frame { kind: kind.into(), offset }),
    }
    Ok(None)
}

/// Reads a CRYPTO frame (RFC 9000, section 19.6).
fn crypto<'a>(cursor: &mut Cursor<'a>) -> Result<InitialFrame<'a>, Truncated> {
    let offset = cursor.varint()?;
    Ok(InitialFrame::Crypto(offset, cursor.varint_bytes()?))
}

/// Two bits of the type encode the length of the largest packet number, two more the length of the blocks between gaps.
fn skip_google_ack(cursor: &mut Cursor<'_>, kind: u8) -> Result<(), Truncated> {
    const DELAY_LEN: usize = 2;
    let len = |bits: u8| match bits & 3 {
        0 => 1,
        1 => 2,
        2 => 4,
        _ => 6,
    };
    cursor.skip(len(kind >> 2))?;
    cursor.skip(DELAY_LEN)?;
    let blocks = if kind & google_kind::ACK_BLOCKS == 0 { 0 } else { cursor.u8()? };
    cursor.skip(len(kind))?;
    for _ in 0..blocks {
        cursor.skip(1)?; // gap
        cursor.skip(len(kind))?;
    }
    for timestamp in 0..cursor.u8()? {
        cursor.skip(1)?; // packet number, as a difference
        cursor.skip(if timestamp == 0 { 4 } else { 2 })?;
    }
    Ok(())
}

/// Padding has up to a thousand bytes, so it is skipped in blocks.
fn leading_zeros(bytes: &[u8]) -> usize {
    const BLOCK: [u8; 32] = [0; 32];
    let blocks = bytes.chunks_exact(BLOCK.len()).take_while(|block| *block == BLOCK).count();
    let len = blocks.saturating_mul(BLOCK.len());
    let tail = bytes.get(len..).unwrap_or(&[]);
    tail.iter().take_while(|byte| **byte == 0).count().saturating_add(len)
}
