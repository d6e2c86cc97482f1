//! Captures that a thread reads while they are written: over TCP (pcap-over-IP), or from the files of a directory.
//!
//! The thread starts with the first read of the source, so that it has the rights that the program kept. It waits while the source does
//! not read, and the sender waits in turn: nothing is dropped.

mod directory;
mod tcp;

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use huginn_net_capture::{CaptureError, CaptureReader};
use huginn_net_core::{NextFrame, Source};

use self::directory::Directory;
use self::tcp::Server;
use crate::backend::{CaptureBackend, Drops, ReceiveError};
use crate::frame_batch::FrameBatch;
use crate::limits::{STREAM_BATCH_BYTES, STREAM_BATCH_FRAMES, STREAM_BATCHES};
use crate::queues::ClockReading;
use crate::{Interface, InterfaceState, LiveError, LiveOptions};

/// A stream of captures as an interface.
pub(crate) struct StreamBackend {
    messages: Option<Receiver<Message>>,
    /// Has a byte for each message.
    wake_fd: UnixStream,
    stop: Arc<AtomicBool>,
    state: InterfaceState,
    /// What the thread will run, until it runs.
    pending: Option<(Feed, Output)>,
    thread: Option<JoinHandle<()>>,
}

enum Message {
    Frames(FrameBatch),
    Connected,
    /// Nothing arrives until `Connected`, for this reason.
    Interrupted(String),
    /// Part of the captures was not read, for this reason.
    Skipped(String),
}

/// Where captures come from.
enum Feed {
    Server(Server),
    Directory(Directory),
}

/// The source was dropped.
struct Closed;

/// The thread's end of the channel to the source.
struct Output {
    messages: SyncSender<Message>,
    waker: UnixStream,
    stop: Arc<AtomicBool>,
    snaplen: usize,
}

impl StreamBackend {
    /// Connects to `HOST:PORT`. Also returns whether the connection is there: with [`LiveOptions::wait`] it may come later.
    pub(crate) fn connect(
        name: &str,
        target: &str,
        options: &LiveOptions,
    ) -> Result<(Self, bool), LiveError> {
        let server = Server::open(name, target, options.wait)?;
        let is_up = server.is_connected();
        Ok((Self::new(name, Feed::Server(server), is_up, options)?, is_up))
    }

    /// Follows the captures of a directory. Also returns whether it exists.
    pub(crate) fn follow(name: &str, path: &str, options: &LiveOptions) -> Result<(Self, bool), LiveError> {
        let (directory, is_up) = Directory::open(name, path.as_ref(), options.wait)?;
        Ok((Self::new(name, Feed::Directory(directory), is_up, options)?, is_up))
    }

    fn new(name: &str, feed: Feed, is_up: bool, options: &LiveOptions) -> Result<Self, LiveError> {
        let failed = |source| LiveError::Open { name: name.to_owned(), source };
        let (messages, receiver) = sync_channel(STREAM_BATCHES);
        let (wake_fd, waker) = UnixStream::pair().map_err(failed)?;
        wake_fd.set_nonblocking(true).map_err(failed)?;
        // A byte more would only wake the source again.
        waker.set_nonblocking(true).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let snaplen = usize::try_from(options.snaplen).unwrap_or(usize::MAX);
        let output = Output { messages, waker, stop: Arc::clone(&stop), snaplen };
        let state = if is_up { InterfaceState::Up } else { InterfaceState::Gone };
        let pending = Some((feed, output));
        Ok(Self { messages: Some(receiver), wake_fd, stop, state, pending, thread: None })
    }

    fn start(&mut self) -> io::Result<()> {
        let Some((feed, output)) = self.pending.take() else { return Ok(()) };
        let run = move || {
            let (Ok(()) | Err(Closed)) = match feed {
                Feed::Server(server) => server.run(&output),
                Feed::Directory(directory) => directory.run(output),
            };
        };
        self.thread = Some(thread::Builder::new().name("stream".into()).spawn(run)?);
        Ok(())
    }
}

impl CaptureBackend for StreamBackend {
    fn receive(&mut self, batch: &mut FrameBatch) -> Result<(), ReceiveError> {
        self.start().map_err(ReceiveError::Failed)?;
        // One byte for one message: what waits behind it wakes the source again. A byte follows its message.
        let _ = (&self.wake_fd).read(&mut [0]);
        match self.messages.as_ref().map_or(Err(TryRecvError::Disconnected), Receiver::try_recv) {
            Ok(Message::Frames(frames)) => *batch = frames,
            Ok(Message::Connected) => self.state = InterfaceState::Up,
            Ok(Message::Interrupted(reason)) => {
                self.state = InterfaceState::Gone;
                return Err(ReceiveError::Interrupted(reason));
            }
            Ok(Message::Skipped(reason)) => return Err(ReceiveError::Skipped(reason)),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => {
                return Err(ReceiveError::Failed(io::Error::other("the thread that reads it has ended")));
            }
        }
        Ok(())
    }

    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wake_fd.as_fd())
    }

    fn drops(&mut self) -> Drops {
        Drops::default()
    }

    fn reports_link_down(&self) -> bool {
        true
    }

    fn may_lag(&self) -> bool {
        true
    }

    fn refresh(&mut self, _: &[Interface]) -> io::Result<InterfaceState> {
        Ok(self.state)
    }
}

impl Drop for StreamBackend {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.messages = None;
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic of the thread was reported already.
            let _ = thread.join();
        }
    }
}

impl Output {
    fn is_closed(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits, also for the source to read what is queued.
    fn send(&self, message: Message) -> Result<(), Closed> {
        self.messages.send(message).map_err(|_| Closed)?;
        // A full socket wakes the source, too.
        let _ = io::Write::write(&mut &self.waker, &[0]);
        Ok(())
    }

    /// Waits for some time, or until the source is dropped.
    fn pause(&self, time: Duration) -> Result<(), Closed> {
        let end = Instant::now().checked_add(time);
        loop {
            if self.is_closed() {
                return Err(Closed);
            }
            match end.map(|end| end.saturating_duration_since(Instant::now())) {
                Some(left) if !left.is_zero() => thread::park_timeout(left),
                _ => return Ok(()),
            }
        }
    }

    /// Sends all frames of a capture as they arrive. Returns why the capture ended; `Ok` at its regular end.
    fn send_capture(&self, capture: &mut CaptureReader) -> Result<Result<(), CaptureError>, Closed> {
        let new_batch = || FrameBatch::new(ClockReading::now());
        let (mut batch, mut bytes) = (new_batch(), 0_usize);
        loop {
            let next = Source::next_frame(capture);
            let (is_due, ended) = match next {
                Ok(NextFrame::Frame(frame)) => {
                    if frame.link != batch.link && batch.remaining() > 0 {
                        self.send(Message::Frames(std::mem::replace(&mut batch, new_batch())))?;
                        bytes = 0;
                    }
                    batch.link = frame.link;
                    let kept = frame.data.get(..self.snaplen).unwrap_or(frame.data);
                    batch.push(frame.ts, [kept], frame.wire_len);
                    bytes = bytes.saturating_add(kept.len());
                    (bytes >= STREAM_BATCH_BYTES || batch.remaining() >= STREAM_BATCH_FRAMES, None)
                }
                Ok(NextFrame::Idle) => (true, None),
                Ok(NextFrame::End) => (true, Some(Ok(()))),
                Err(error) => (true, Some(Err(error))),
            };
            if is_due && batch.remaining() > 0 {
                self.send(Message::Frames(std::mem::replace(&mut batch, new_batch())))?;
                bytes = 0;
            }
            if self.is_closed() {
                return Err(Closed);
            }
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
    }
}

#[cfg(test)]
mod tests;
