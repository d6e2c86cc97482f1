//! The frames of packets (RFC 9000, section 19).

use huginn_net_wire::quic::{skip_ack, skip_close};
use huginn_net_wire::{Cursor, Truncated};

/// A frame with content that is read.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(Debug, PartialEq, Eq))]
pub(super) enum Frame<'a> {
    Crypto { offset: u64, data: &'a [u8] },
    Stream { id: u64, offset: u64, data: &'a [u8], is_last: bool },
    ResetStream { id: u64 },
    NewConnectionId(&'a [u8]),
}

/// The frames of a packet that are read, up to the first one that cannot be parsed.
#[derive(Clone, Copy)]
pub(super) struct Frames<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Frames<'a> {
    pub(super) const fn new(payload: &'a [u8]) -> Self {
        Self { cursor: Cursor::new(payload) }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        while !self.cursor.is_empty() {
            match read(&mut self.cursor) {
                Ok(Read::Frame(frame)) => return Some(frame),
                Ok(Read::Skipped) => {}
                Ok(Read::Unknown) | Err(Truncated { .. }) => self.cursor = Cursor::new(&[]),
            }
        }
        None
    }
}

enum Read<'a> {
    Frame(Frame<'a>),
    Skipped,
    /// Its length is not known.
    Unknown,
}

fn read<'a>(cursor: &mut Cursor<'a>) -> Result<Read<'a>, Truncated> {
    let kind = cursor.varint()?;
    // The number of integers of a frame that consists of nothing else.
    let integers = match kind {
        // PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK (draft-ietf-quic-ack-frequency).
        0x00 | 0x01 | 0x1e | 0x1f => 0,
        // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
        0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => 1,
        // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED.
        0x05 | 0x11 | 0x15 => 2,
        // ACK_FREQUENCY (draft-ietf-quic-ack-frequency).
        0xaf => 4,
        _ => return read_other(cursor, kind),
    };
    for _ in 0..integers {
        cursor.varint()?;
    }
    Ok(Read::Skipped)
}

fn read_other<'a>(cursor: &mut Cursor<'a>, kind: u64) -> Result<Read<'a>, Truncated> {
    let frame = match kind {
        0x02 | 0x03 => {
            skip_ack(cursor, kind == 0x03)?;
            return Ok(Read::Skipped);
        }
        0x04 => {
            let id = cursor.varint()?;
            cursor.varint()?; // error code
            cursor.varint()?; // final size
            Frame::ResetStream { id }
        }
        0x06 => {
            let offset = cursor.varint()?;
            Frame::Crypto { offset, data: cursor.varint_bytes()? }
        }
        // NEW_TOKEN.
        0x07 => {
            cursor.varint_bytes()?;
            return Ok(Read::Skipped);
        }
        0x08..=0x0f => {
            let id = cursor.varint()?;
            let offset = if kind & 4 == 0 { 0 } else { cursor.varint()? };
            let data =
                if kind & 2 == 0 { cursor.take(cursor.remaining())? } else { cursor.varint_bytes()? };
            Frame::Stream { id, offset, data, is_last: kind & 1 != 0 }
        }
        0x18 => {
            cursor.varint()?; // sequence number
            cursor.varint()?; // retired before
            let len = usize::from(cursor.u8()?);
            let id = cursor.take(len)?;
            cursor.skip(16)?; // token of a stateless reset
            Frame::NewConnectionId(id)
        }
        // PATH_CHALLENGE, PATH_RESPONSE.
        0x1a | 0x1b => {
            cursor.skip(8)?;
            return Ok(Read::Skipped);
        }
        // CONNECTION_CLOSE.
        0x1c | 0x1d => {
            skip_close(cursor, kind == 0x1c)?;
            return Ok(Read::Skipped);
        }
        // DATAGRAM (RFC 9221).
        0x30 => {
            cursor.skip(cursor.remaining())?;
            return Ok(Read::Skipped);
        }
        0x31 => {
            cursor.varint_bytes()?;
            return Ok(Read::Skipped);
        }
        _ => return Ok(Read::Unknown),
    };
    Ok(Read::Frame(frame))
}
