//! A thread that appends rows and sends batches of them.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;
/// Bytes of texts from which on a batch is complete: packets choose how long their texts are.
const BATCH_TEXT_BYTES: usize = 16 << 20;
/// Batches that wait for the reader. The analysis waits while there are more.
const WAITING_BATCHES: usize = 2;

type Batch = Result<RecordBatch, ArrowError>;

/// A thread that sends batches, and what it returns.
#[derive(Debug)]
pub(crate) struct BatchThread<A> {
    batches: Option<Receiver<Batch>>,
    thread: Option<JoinHandle<A>>,
}

/// A builder of batches.
pub(crate) trait BuildBatch {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Bytes of the texts in all rows.
    fn text_len(&self) -> usize;

    /// Takes the rows as a batch.
    fn finish(&mut self) -> Batch;
}

/// The rows that a thread appends; full batches of them go to the reader.
#[derive(Debug)]
pub(crate) struct Rows<B> {
    pub(crate) builder: B,
    sender: SyncSender<Batch>,
    /// Whether there was an error, or the reader is gone.
    has_ended: bool,
}

impl<B: BuildBatch> Rows<B> {
    /// Appends a row. Breaks after an error, or if the reader is gone.
    pub(crate) fn append<E>(&mut self, append: impl FnOnce(&mut B) -> Result<(), E>) -> ControlFlow<()>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        if self.has_ended {
            return ControlFlow::Break(());
        }
        if let Err(error) = append(&mut self.builder) {
            self.fail(error);
        } else if self.builder.rows() >= BATCH_ROWS || self.builder.text_len() >= BATCH_TEXT_BYTES {
            self.send();
        }
        if self.has_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Ends the batches with an error, which follows the rows so far.
    pub(crate) fn fail(&mut self, error: impl std::error::Error + Send + Sync + 'static) {
        self.send();
        if !self.has_ended {
            // The reader may be gone.
            let _ = self.sender.send(Err(ArrowError::ExternalError(Box::new(error))));
        }
        self.has_ended = true;
    }

    /// Sends the rows so far.
    fn send(&mut self) {
        if !self.has_ended && self.builder.rows() > 0 {
            self.has_ended = self.sender.send(self.builder.finish()).is_err();
        }
    }
}

impl<A: Send + 'static> BatchThread<A> {
    /// Starts a thread that appends rows.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub(crate) fn start<B: BuildBatch + Send + 'static>(
        builder: B,
        run: impl FnOnce(&mut Rows<B>) -> A + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, batches) = sync_channel(WAITING_BATCHES);
        let run = move || {
            let mut rows = Rows { builder, sender, has_ended: false };
            let outcome = run(&mut rows);
            rows.send();
            outcome
        };
        let thread = thread::Builder::new().name("huginn-batches".to_owned()).spawn(run)?;
        Ok(Self { batches: Some(batches), thread: Some(thread) })
    }
}

impl<A> BatchThread<A> {
    /// Waits for the next batch.
    pub(crate) fn next(&mut self) -> Option<Batch> {
        self.batches.as_ref()?.recv().ok()
    }

    /// Waits for the next batch, for a time; `Pending` if it does not come.
    pub(crate) fn poll_next(&mut self, wait: Duration) -> Poll<Option<Batch>> {
        match self.batches.as_ref().map(|batches| batches.recv_timeout(wait)) {
            Some(Ok(batch)) => Poll::Ready(Some(batch)),
            Some(Err(RecvTimeoutError::Timeout)) => Poll::Pending,
            Some(Err(RecvTimeoutError::Disconnected)) | None => Poll::Ready(None),
        }
    }

    /// Ends the analysis with its next row, and waits for it. `None` if it panicked.
    pub(crate) fn end(&mut self) -> Option<A> {
        // Without a receiver the analysis stops.
        self.batches = None;
        self.thread.take()?.join().ok()
    }
}

impl<A> Drop for BatchThread<A> {
    fn drop(&mut self) {
        self.end();
    }
}
