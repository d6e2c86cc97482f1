//! A decoder of consecutive Zstandard frames (RFC 8878).

use std::error::Error;
use std::io::{self, BufRead, ErrorKind, Read};
use std::iter;

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// An empty last block (section 3.1.1.2) and room for a checksum.
const END_OF_FRAME: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Decompresses all frames of a stream; skippable ones are skipped.
///
/// The decoder limits the window to 128 MiB, as the `zstd` command does.
pub(super) struct ZstdDecoder<R> {
    source: R,
    frame: FrameDecoder,
    state: State,
}

enum State {
    BetweenFrames,
    InFrame,
    /// Reads no further input. The error follows the data decompressed before it.
    Failed(io::Error),
    Ended,
}

impl<R: BufRead> ZstdDecoder<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, frame: FrameDecoder::new(), state: State::BetweenFrames }
    }

    pub(super) fn source(&self) -> &R {
        &self.source
    }

    /// Begins the next frame, or ends.
    fn begin_frame(&mut self) -> io::Result<State> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(State::Ended);
            }
            match self.frame.reset(&mut self.source) {
                Ok(()) => return Ok(State::InFrame),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = Read::by_ref(&mut self.source).take(u64::from(length));
                    if io::copy(&mut skipped, &mut io::sink())? < u64::from(length) {
                        return Err(incomplete());
                    }
                }
                Err(error) => return Err(reason(error)),
            }
        }
    }

    /// Decompresses the next block, or verifies the checksum after the last one.
    fn advance(&mut self) -> io::Result<State> {
        if !self.frame.is_finished() {
            return match self.frame.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1)) {
                Ok(_) => Ok(State::InFrame),
                Err(error) => Err(reason(error)),
            };
        }
        match self.frame.get_checksum_from_data() {
            Some(stated) if Some(stated) != self.frame.get_calculated_checksum() => {
                Err(io::Error::new(ErrorKind::InvalidData, "content checksum does not match"))
            }
            _ => Ok(State::BetweenFrames),
        }
    }

    /// Makes the decoder release the window, which it retains while the frame may refer to it.
    fn release_window(&mut self) {
        if !self.frame.is_finished() {
            let _ = self.frame.decode_blocks(END_OF_FRAME.as_slice(), BlockDecodingStrategy::UptoBlocks(1));
        }
    }
}

impl<R: BufRead> Read for ZstdDecoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.frame.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            let next = match std::mem::replace(&mut self.state, State::Ended) {
                State::BetweenFrames => self.begin_frame(),
                State::InFrame => self.advance(),
                State::Failed(error) => return Err(error),
                State::Ended => return Ok(0),
            };
            self.state = next.unwrap_or_else(|error| {
                self.release_window();
                State::Failed(error)
            });
        }
    }
}

/// Converts a decoder error. An error of the underlying reader is returned unchanged.
fn reason(error: FrameDecoderError) -> io::Error {
    let mut chain = iter::successors(Some(&error as &(dyn Error + 'static)), |&error| error.source());
    match chain.find_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind) {
        Some(ErrorKind::UnexpectedEof) => incomplete(),
        Some(kind) => io::Error::new(kind, error),
        None => io::Error::new(ErrorKind::InvalidData, error),
    }
}

fn incomplete() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "incomplete frame")
}
