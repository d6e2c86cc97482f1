//! Decompression in a separate thread.

use std::io::{self, Read};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::Compression;
use super::input::Input;
use super::limits::{PREFIX_ROOM, READ_AHEAD_BLOCK_LEN, READ_AHEAD_BLOCKS};

/// Decompressed bytes, from [`PREFIX_ROOM`] to `end` of the buffer. An empty block marks the end of the input, so
/// that a panic of the thread cannot be mistaken for it.
pub(super) struct Block {
    pub(super) buffer: Vec<u8>,
    pub(super) end: usize,
    consumed: u64,
}

/// The error that ended the thread.
struct Failure {
    error: io::Error,
    /// Whether reading failed, rather than decompression.
    in_reading: bool,
}

/// A handle to the thread, which ends at the end of the input or when this handle is dropped.
pub(super) struct ReadAhead {
    blocks: Receiver<Result<Block, Failure>>,
    spent: Sender<Vec<u8>>,
    compression: Option<Compression>,
    consumed: u64,
    failed: bool,
    /// Whether the end or an error was returned.
    ended: bool,
}

impl ReadAhead {
    /// Starts the thread. Returns the input if the thread cannot be started.
    pub(super) fn start(input: Input) -> Result<Self, Input> {
        let (compression, consumed) = (input.compression(), input.consumed());
        let (hand_over, handed_over) = bounded::<Input>(1);
        let (blocks, filled) = bounded(READ_AHEAD_BLOCKS);
        let (spent, spare) = bounded(READ_AHEAD_BLOCKS);
        let run = move || handed_over.recv().map_or((), |input| read(input, &blocks, &spare));
        match thread::Builder::new().name("huginn-ahead".into()).spawn(run) {
            Ok(_) => hand_over.send(input).map_err(|unsent| unsent.into_inner())?,
            Err(_) => return Err(input),
        }
        Ok(Self { blocks: filled, spent, compression, consumed, failed: false, ended: false })
    }

    /// Returns the next block; `None` at the end and after an error.
    pub(super) fn next(&mut self) -> io::Result<Option<Block>> {
        match self.blocks.recv() {
            Ok(Ok(block)) => {
                self.consumed = block.consumed;
                self.ended = block.end == PREFIX_ROOM;
                Ok((!self.ended).then_some(block))
            }
            Ok(Err(failure)) => {
                (self.failed, self.ended) = (failure.in_reading, true);
                Err(failure.error)
            }
            Err(_) if self.ended => Ok(None),
            Err(_) => {
                (self.failed, self.ended) = (true, true);
                Err(io::Error::other("the thread that reads ahead panicked"))
            }
        }
    }

    /// Returns a buffer to the thread for reuse.
    pub(super) fn recycle(&self, buffer: Vec<u8>) {
        // A full queue drops the buffer.
        let _ = self.spent.try_send(buffer);
    }

    pub(super) fn compression(&self) -> Option<Compression> {
        self.compression
    }

    pub(super) fn consumed(&self) -> u64 {
        self.consumed
    }

    pub(super) fn failed(&self) -> bool {
        self.failed
    }
}

/// Reads an input to its end, or until the receiver is dropped.
fn read(mut input: Input, blocks: &Sender<Result<Block, Failure>>, spare: &Receiver<Vec<u8>>) {
    loop {
        let mut buffer = spare.try_recv().unwrap_or_else(|_| vec![0; PREFIX_ROOM + READ_AHEAD_BLOCK_LEN]);
        // Restores the length of a buffer that grew for a long frame.
        buffer.resize(PREFIX_ROOM + READ_AHEAD_BLOCK_LEN, 0);
        let outcome = match input.read(buffer.get_mut(PREFIX_ROOM..).unwrap_or_default()) {
            Ok(len) => Ok(Block { buffer, end: PREFIX_ROOM.saturating_add(len), consumed: input.consumed() }),
            Err(error) => Err(Failure { error, in_reading: input.failed() }),
        };
        let is_last = !matches!(&outcome, Ok(block) if block.end > PREFIX_ROOM);
        if blocks.send(outcome).is_err() || is_last {
            return;
        }
    }
}
