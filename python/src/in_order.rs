//! Captures that are analysed at the same time. What comes of them keeps their order.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use huginn_net::core::CancelToken;
use huginn_net_arrow::Batches;

use crate::errors::ReadErrors;
use crate::inputs::Inputs;

/// Values that wait for the reader, of all captures together.
const WAITING: usize = 16;
/// Values of a capture that wait for the reader, at least.
const MIN_WAITING: usize = 2;

/// The analysis of consecutive captures in a thread of its own, which ends when it is dropped.
pub(crate) trait Analysis {
    type Value;
    type Error: From<io::Error>;

    /// Waits for the next value, for a time; `Pending` if it does not come.
    fn poll_next(&mut self, wait: Duration) -> Poll<Option<Result<Self::Value, Self::Error>>>;

    /// Waits for the end of the thread, and returns the errors of its captures. `None` if it panicked.
    fn finish(self) -> Option<ReadErrors>;
}

/// What the analyses of captures yield, in the order of the captures.
pub(crate) struct InOrder<A> {
    waiting: VecDeque<Inputs>,
    running: VecDeque<A>,
    /// Analyses that run at the same time.
    threads: NonZeroUsize,
    start: Box<dyn FnMut(Inputs, usize) -> io::Result<A> + Send>,
    errors: ReadErrors,
    cancel: CancelToken,
}

impl<A: Analysis> InOrder<A> {
    /// `start` starts the analysis of captures, with the number of values that may wait for the reader.
    pub(crate) fn new(
        inputs: Inputs,
        start: impl FnMut(Inputs, usize) -> io::Result<A> + Send + 'static,
    ) -> Self {
        let (errors, cancel) = (inputs.errors.clone(), inputs.options.cancel.clone());
        let (waiting, threads) = inputs.split();
        Self { waiting, running: VecDeque::new(), threads, start: Box::new(start), errors, cancel }
    }

    /// Waits for the next value, for a time. There is none after an error.
    pub(crate) fn poll_next(&mut self, wait: Duration) -> Poll<Option<Result<A::Value, A::Error>>> {
        loop {
            if let Err(error) = self.start() {
                return self.fail(error.into());
            }
            let Some(first) = self.running.front_mut() else { return Poll::Ready(None) };
            let value = match first.poll_next(wait) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(value))) => return Poll::Ready(Some(Ok(value))),
                Poll::Ready(Some(Err(error))) => Some(error),
                Poll::Ready(None) => None,
            };
            let ended = self.running.pop_front().and_then(A::finish);
            match ended {
                Some(errors) => self.errors.extend(&errors),
                None => return self.fail(io::Error::other("the analysis panicked").into()),
            }
            if let Some(error) = value {
                return self.fail(error);
            }
        }
    }

    /// Starts what may run.
    fn start(&mut self) -> io::Result<()> {
        let waiting = WAITING.checked_div(self.threads.get()).unwrap_or_default().max(MIN_WAITING);
        while self.running.len() < self.threads.get() {
            let Some(inputs) = self.waiting.pop_front() else { break };
            self.running.push_back((self.start)(inputs, waiting)?);
        }
        Ok(())
    }

    fn fail(&mut self, error: A::Error) -> Poll<Option<Result<A::Value, A::Error>>> {
        self.cancel.cancel();
        self.waiting.clear();
        self.running.clear();
        Poll::Ready(Some(Err(error)))
    }
}

impl<A> Drop for InOrder<A> {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Analysis for Batches<ReadErrors> {
    type Value = RecordBatch;
    type Error = ArrowError;

    fn poll_next(&mut self, wait: Duration) -> Poll<Option<Result<RecordBatch, ArrowError>>> {
        Self::poll_next(self, wait)
    }

    fn finish(self) -> Option<ReadErrors> {
        Self::finish(self)
    }
}

/// An analysis that yields texts.
pub(crate) struct Texts {
    chunks: Receiver<io::Result<Vec<u8>>>,
    thread: JoinHandle<ReadErrors>,
}

impl Texts {
    /// Starts a thread in which `analyse` sends texts.
    pub(crate) fn start(
        waiting: usize,
        analyse: impl FnOnce(&SyncSender<io::Result<Vec<u8>>>) -> ReadErrors + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, chunks) = sync_channel(waiting);
        let thread = thread::Builder::new().name("huginn-analysis".to_owned());
        Ok(Self { chunks, thread: thread.spawn(move || analyse(&sender))? })
    }
}

impl Analysis for Texts {
    type Value = Vec<u8>;
    type Error = io::Error;

    fn poll_next(&mut self, wait: Duration) -> Poll<Option<io::Result<Vec<u8>>>> {
        match self.chunks.recv_timeout(wait) {
            Ok(chunk) => Poll::Ready(Some(chunk)),
            Err(RecvTimeoutError::Timeout) => Poll::Pending,
            Err(RecvTimeoutError::Disconnected) => Poll::Ready(None),
        }
    }

    fn finish(self) -> Option<ReadErrors> {
        drop(self.chunks);
        self.thread.join().ok()
    }
}
