//! Batches of rows that a thread appends.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

/// Rows of a batch.
pub(crate) const BATCH_ROWS: usize = 8192;
/// Bytes of texts from which on a batch is complete: packets choose how long their texts are.
const BATCH_TEXT_BYTES: usize = 16 << 20;
/// Batches that wait for the reader.
pub(crate) const WAITING_BATCHES: usize = 2;

type Batch = Result<RecordBatch, ArrowError>;

/// Batches of up to 8192 rows that a thread appends, in their order.
///
/// The thread is some batches ahead of the reader, by default two. After an error, such as that of a damaged capture, there are no
/// further batches; the rows before it come first. Dropping the batches ends the thread with its next row.
///
/// `T` is what the thread returns, for [`finish`](Self::finish).
pub struct Batches<T> {
    schema: SchemaRef,
    batches: Option<Receiver<Batch>>,
    thread: Option<JoinHandle<T>>,
}

/// A builder of batches.
pub(crate) trait BuildBatch {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Rows from which on a batch is complete.
    fn max_rows(&self) -> usize {
        BATCH_ROWS
    }

    /// Bytes of the texts in all rows.
    fn text_len(&self) -> usize;

    /// Whether the rows are a batch.
    fn is_complete(&self) -> bool {
        self.rows() >= self.max_rows() || self.text_len() >= BATCH_TEXT_BYTES
    }

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
        } else if self.builder.is_complete() {
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

impl<T: Send + 'static> Batches<T> {
    /// Starts a thread that appends rows.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub(crate) fn start<B: BuildBatch + Send + 'static>(
        schema: SchemaRef,
        builder: B,
        waiting: usize,
        run: impl FnOnce(&mut Rows<B>) -> T + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, batches) = sync_channel(waiting);
        let run = move || {
            let mut rows = Rows { builder, sender, has_ended: false };
            let outcome = run(&mut rows);
            rows.send();
            outcome
        };
        let thread = thread::Builder::new().name("huginn-batches".to_owned()).spawn(run)?;
        Ok(Self { schema, batches: Some(batches), thread: Some(thread) })
    }
}

impl<T> Batches<T> {
    /// Waits for the next batch, for a time; `Pending` if it does not come. So the caller can stop to wait.
    pub fn poll_next(&mut self, wait: Duration) -> Poll<Option<Result<RecordBatch, ArrowError>>> {
        match self.batches.as_ref().map(|batches| batches.recv_timeout(wait)) {
            Some(Ok(batch)) => Poll::Ready(Some(batch)),
            Some(Err(RecvTimeoutError::Timeout)) => Poll::Pending,
            Some(Err(RecvTimeoutError::Disconnected)) | None => Poll::Ready(None),
        }
    }

    /// Waits for the end of the thread, without its remaining batches, and returns what it returns: the analyzer, with its
    /// counters and hosts. Returns `None` if the analysis panicked.
    pub fn finish(mut self) -> Option<T> {
        self.end()
    }

    fn end(&mut self) -> Option<T> {
        // Without a receiver the thread stops.
        self.batches = None;
        self.thread.take()?.join().ok()
    }
}

impl<T> Drop for Batches<T> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<T> Iterator for Batches<T> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.as_ref()?.recv().ok()
    }
}

impl<T> RecordBatchReader for Batches<T> {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl<T> fmt::Debug for Batches<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").finish_non_exhaustive()
    }
}
