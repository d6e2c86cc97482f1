//! An analysis in a thread that sends batches.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

/// Rows of a batch.
pub(crate) const BATCH_ROWS: usize = 8192;
/// Bytes of texts from which on a batch is complete: packets choose how long their texts are.
pub(crate) const BATCH_TEXT_BYTES: usize = 16 << 20;
/// Batches that wait for the reader. The analysis waits while there are more.
const WAITING_BATCHES: usize = 2;

type Batch = Result<RecordBatch, ArrowError>;

/// A thread that sends batches and returns its analyzer.
#[derive(Debug)]
pub(crate) struct BatchThread<A> {
    batches: Option<Receiver<Batch>>,
    thread: Option<JoinHandle<A>>,
}

/// Where the thread sends batches.
#[derive(Debug)]
pub(crate) struct BatchSender(SyncSender<Batch>);

impl BatchSender {
    /// Sends a batch. Breaks if the reader is gone.
    pub(crate) fn send(&self, batch: Batch) -> ControlFlow<()> {
        match self.0.send(batch) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// Sends the error that ends an analysis. The reader may be gone.
    pub(crate) fn send_error(&self, error: impl std::error::Error + Send + Sync + 'static) {
        let _ = self.send(Err(ArrowError::ExternalError(Box::new(error))));
    }
}

impl<A: Send + 'static> BatchThread<A> {
    /// Starts an analysis.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub(crate) fn start(run: impl FnOnce(&BatchSender) -> A + Send + 'static) -> io::Result<Self> {
        let (sender, batches) = sync_channel(WAITING_BATCHES);
        let run = move || run(&BatchSender(sender));
        let thread = thread::Builder::new().name("huginn-batches".to_owned()).spawn(run)?;
        Ok(Self { batches: Some(batches), thread: Some(thread) })
    }
}

impl<A> BatchThread<A> {
    /// Waits for the next batch.
    pub(crate) fn next(&mut self) -> Option<Batch> {
        self.batches.as_ref()?.recv().ok()
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
