//! A channel of frames, from a capture of the caller's own to an analysis in another thread.

use std::convert::Infallible;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, TrySendError, bounded};

use super::{Block, Fill, NextFrame, Source};
use crate::Frame;
use crate::limits::{CHANNEL_BLOCK_BYTES, CHANNEL_WAIT, MAX_CHANNEL_BLOCKS};

/// Creates a channel of frames: one thread sends the frames that it captures, and
/// [`Analyzer::analyze`](crate::Analyzer::analyze) with any number of workers receives them in another one.
///
/// The channel holds eight blocks of 512 KiB. Further frames make [`FrameSender::send`] wait, and [`FrameSender::try_send`] drops and counts
/// them. The analysis takes its source for a file, unless [`FrameReceiver::live`] says otherwise.
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
    let sender = FrameSender { block: Block::new(CHANNEL_BLOCK_BYTES), full, spare, frames_lost: 0 };
    let receiver = FrameReceiver {
        block: Block::new(CHANNEL_BLOCK_BYTES),
        next: 0,
        filled,
        empty,
        waited: false,
        is_live: false,
    };
    (sender, receiver)
}

/// The end of a [channel](frame_channel) that takes frames. Dropping it ends the capture.
#[derive(Debug)]
pub struct FrameSender {
    block: Block<'static>,
    full: Sender<Block<'static>>,
    spare: Receiver<Block<'static>>,
    frames_lost: u64,
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
    is_live: bool,
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

    /// Copies a frame to the channel as [`send`](Self::send) does, unless the channel is full. Never waits. Returns whether the channel has
    /// taken the frame; one that it has not is [counted](Self::frames_lost).
    ///
    /// # Errors
    /// [`FrameChannelClosed`] if the receiver is gone.
    pub fn try_send(&mut self, frame: &Frame<'_>) -> Result<bool, FrameChannelClosed> {
        if self.block.is_full() && !self.try_flush()? {
            self.frames_lost = self.frames_lost.saturating_add(1);
            return Ok(false);
        }
        self.block.push(frame);
        if self.block.is_full() || self.full.is_empty() {
            self.try_flush()?;
        }
        Ok(true)
    }

    /// Returns the number of frames that [`try_send`](Self::try_send) dropped.
    pub fn frames_lost(&self) -> u64 {
        self.frames_lost
    }

    /// [Sends](Self::flush) the frames of a block that is not full yet, unless the channel is full. Never waits. Returns whether no frame
    /// is left to send.
    ///
    /// # Errors
    /// [`FrameChannelClosed`] if the receiver is gone.
    pub fn try_flush(&mut self) -> Result<bool, FrameChannelClosed> {
        if self.block.frame_count() == 0 {
            return Ok(true);
        }
        let block = std::mem::replace(&mut self.block, Block::new(0));
        match self.full.try_send(block) {
            Ok(()) => {
                self.block = self.empty_block();
                Ok(true)
            }
            Err(TrySendError::Full(block)) => {
                self.block = block;
                Ok(false)
            }
            Err(TrySendError::Disconnected(_)) => Err(FrameChannelClosed),
        }
    }

    fn empty_block(&self) -> Block<'static> {
        self.spare.try_recv().unwrap_or_else(|_| Block::new(CHANNEL_BLOCK_BYTES))
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
        let next = self.empty_block();
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
    /// Says that the frames are live traffic, which does not wait: see [`Source::is_live`].
    #[must_use]
    pub fn live(mut self) -> Self {
        self.is_live = true;
        self
    }

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

    fn is_live(&self) -> bool {
        self.is_live
    }

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
