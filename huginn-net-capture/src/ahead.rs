//! Decompression in a thread of its own.

use std::io::{self, Read};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::Compression;
use super::input::Input;

/// Blocks that wait to be taken at most.
const QUEUE_LEN: usize = 3;

/// How many bytes are read at once.
const BLOCK_LEN: usize = 512 * 1024;

/// Room before the bytes of a block for what is unread of those before.
pub(super) const HEADROOM: usize = 64 * 1024;

/// The next bytes, from [`HEADROOM`] to `end` of a buffer; none at the end of the input, which is told so that a thread that
/// panics is not taken for it.
pub(super) struct Block {
    pub(super) buffer: Vec<u8>,
    pub(super) end: usize,
    consumed: u64,
}

/// Why there is no next block.
struct Failure {
    error: io::Error,
    /// Whether it was reading that failed, rather than decompressing what was read.
    in_reading: bool,
}

/// What joins to the thread. It ends at the end of the input, and when nobody is left to take blocks.
pub(super) struct Ahead {
    blocks: Receiver<Result<Block, Failure>>,
    spent: Sender<Vec<u8>>,
    compression: Option<Compression>,
    consumed: u64,
    failed: bool,
    /// Whether the end, or an error, was told.
    ended: bool,
}

impl Ahead {
    /// Starts the thread. Gives the input back if there is none to be had.
    pub(super) fn start(input: Input) -> Result<Self, Input> {
        let (compression, consumed) = (input.compression(), input.consumed());
        let (hand_over, handed_over) = bounded::<Input>(1);
        let (blocks, filled) = bounded(QUEUE_LEN);
        let (spent, spare) = bounded(QUEUE_LEN);
        let run = move || handed_over.recv().map_or((), |input| read(input, &blocks, &spare));
        match thread::Builder::new().name("huginn-ahead".into()).spawn(run) {
            Ok(_) => hand_over.send(input).map_err(|unsent| unsent.into_inner())?,
            Err(_) => return Err(input),
        }
        Ok(Self { blocks: filled, spent, compression, consumed, failed: false, ended: false })
    }

    /// The next block. After an error, and after one without bytes, none.
    pub(super) fn next(&mut self) -> io::Result<Option<Block>> {
        match self.blocks.recv() {
            Ok(Ok(block)) => {
                self.consumed = block.consumed;
                self.ended = block.end == HEADROOM;
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

    /// Takes back a buffer that is no longer wanted.
    pub(super) fn give_back(&self, buffer: Vec<u8>) {
        // Where there are enough of them, it is dropped.
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

/// Reads an input to its end, or until nobody wants more of it.
fn read(mut input: Input, blocks: &Sender<Result<Block, Failure>>, spare: &Receiver<Vec<u8>>) {
    loop {
        let mut buffer = spare.try_recv().unwrap_or_else(|_| vec![0; HEADROOM + BLOCK_LEN]);
        // One that was made longer for a long frame is no longer than the others for the next.
        buffer.resize(HEADROOM + BLOCK_LEN, 0);
        let outcome = match input.read(buffer.get_mut(HEADROOM..).unwrap_or_default()) {
            Ok(len) => Ok(Block { buffer, end: HEADROOM.saturating_add(len), consumed: input.consumed() }),
            Err(error) => Err(Failure { error, in_reading: input.failed() }),
        };
        let is_last = !matches!(&outcome, Ok(block) if block.end > HEADROOM);
        if blocks.send(outcome).is_err() || is_last {
            return;
        }
    }
}
