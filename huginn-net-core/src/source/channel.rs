//! A channel of frames, from a capture of the caller's own to an analysis in another thread.

use std::convert::Infallible;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded};

use super::{Block, Fill, NextFrame, Source};
use crate::Frame;
use crate::limits::{CHANNEL_BLOCK_BYTES, CHANNEL_WAIT, MAX_CHANNEL_BLOCKS};

/// Creates a channel of frames: one thread sends the frames that it captures, and
/// [`Analyzer::analyze`](crate::Analyzer::analyze) with any number of workers receives them in another one.
///
/// The channel holds eight blocks of 512 KiB. Further frames make the sender wait, so no frame is lost in the channel. The
/// analysis takes its source for a file: for live traffic set [`HashSeed::Random`](crate::HashSeed).
///
/// ```
/// use std::thread;
///
/// use huginn_net_core::{Frame, LinkType, NextFrame, Source, Timestamp, frame_channel};
///
/// let (mut sender, mut receiver) = frame_channel();
/// let capture = thread::spawn(move || {
///     let frame = Frame { ts: Timestamp::default(), link: LinkType::RAW, data: &[0x45], wire_len: 40 };
///     sender.send(&frame)
/// });
/// capture.join().unwrap()?;
/// assert!(matches!(receiver.next_frame(), Ok(NextFrame::Frame(frame)) if frame.wire_len == 40));
/// assert!(matches!(receiver.next_frame(), Ok(NextFrame::End)));
/// # Ok::<_, huginn_net_core::FrameChannelClosed>(())
/// ```
pub fn frame_channel() -> (FrameSender, FrameReceiver) {
    let (full, filled) = bounded(MAX_CHANNEL_BLOCKS);
    let (empty, spare) = bounded(MAX_CHANNEL_BLOCKS);
    let sender = FrameSender { block: Block::new(CHANNEL_BLOCK_BYTES), full, spare };
    let receiver =
        FrameReceiver { block: Block::new(CHANNEL_BLOCK_BYTES), next: 0, filled, empty, waited: false };
    (sender, receiver)
}

/// The end of a [channel](frame_channel) that takes frames. Dropping it ends the capture.
#[derive(Debug)]
pub struct FrameSender {
    block: Block<'static>,
    full: Sender<Block<'static>>,
    spare: Receiver<Block<'static>>,
}

/// The end of a [channel](frame_channel) that is analysed.
#[derive(Debug)]
pub struct FrameReceiver {
    block: Block<'static>,
    /// Index of the next frame in the block.
    next: usize,
    filled: Receiver<Block<'static>>,
    empty: Sender<Block<'static>>,
    /// Whether the last call found no block.
    waited: bool,
}

/// The receiver of the channel is gone: the analysis ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the analysis of the frames has ended")]
#[non_exhaustive]
pub struct FrameChannelClosed;

impl FrameSender {
    /// Copies a frame to the channel. It reaches the analysis at once if no block is on its way, otherwise with a full block or
    /// with [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`FrameChannelClosed`] if the receiver is gone.
    pub fn send(&mut self, frame: &Frame<'_>) -> Result<(), FrameChannelClosed> {
        self.block.push(frame);
        if self.block.is_full() || self.full.is_empty() { self.flush() } else { Ok(()) }
    }

    /// Sends the frames of a block that is not full yet. Call it when the capture has no further frame for now, so that the
    /// last frames do not wait for the next ones.
    ///
    /// # Errors
    /// [`FrameChannelClosed`] if the receiver is gone.
    pub fn flush(&mut self) -> Result<(), FrameChannelClosed> {
        if self.block.frame_count() == 0 {
            return Ok(());
        }
        let next = self.spare.try_recv().unwrap_or_else(|_| Block::new(CHANNEL_BLOCK_BYTES));
        self.full.send(std::mem::replace(&mut self.block, next)).map_err(|_| FrameChannelClosed)
    }
}

impl Drop for FrameSender {
    fn drop(&mut self) {
        // The frames are not needed without a receiver.
        let _ = self.flush();
    }
}

impl FrameReceiver {
    /// Receives the next block once the present one is read. Breaks off if there is none: the channel is empty for now, or the
    /// sender is gone.
    fn receive(&mut self) -> Result<(), Fill> {
        if self.next < self.block.frame_count() {
            return Ok(());
        }
        let received = if self.waited {
            self.filled.recv_timeout(CHANNEL_WAIT)
        } else {
            self.filled.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            })
        };
        self.waited = matches!(received, Err(RecvTimeoutError::Timeout));
        match received {
            Ok(block) => {
                let mut old = std::mem::replace(&mut self.block, block);
                self.next = 0;
                old.clear();
                // The sender takes another one if this is full.
                let _ = self.empty.try_send(old);
                Ok(())
            }
            Err(RecvTimeoutError::Timeout) => Err(Fill::Idle),
            Err(RecvTimeoutError::Disconnected) => Err(Fill::End),
        }
    }
}

impl<'f> Source<'f> for FrameReceiver {
    type Error = Infallible;

    fn next_frame(&mut self) -> Result<NextFrame<'_>, Infallible> {
        Ok(match self.receive() {
            Ok(()) => {
                let index = self.next;
                self.next = index.saturating_add(1);
                NextFrame::from_frame(self.block.get(index))
            }
            Err(Fill::Idle) => NextFrame::Idle,
            Err(_) => NextFrame::End,
        })
    }

    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, Infallible> {
        if let Err(rest) = self.receive() {
            return Ok(rest);
        }
        if self.next == 0 && block.take_frames(&mut self.block) {
            return Ok(Fill::More);
        }
        while !block.is_full()
            && let Some(frame) = self.block.get(self.next)
        {
            block.push(&frame);
            self.next = self.next.saturating_add(1);
        }
        Ok(Fill::More)
    }
}
