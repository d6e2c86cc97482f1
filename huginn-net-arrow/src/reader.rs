//! Batches of the events of a source.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use huginn_net::core::Source;
use huginn_net::{Event, HuginnNet};

use crate::batch::EventBatchBuilder;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;
/// Batches that wait for the reader. The analysis waits while there are more.
const WAITING_BATCHES: usize = 2;

/// Batches of up to 8192 events, in the order of the analysis.
///
/// The analysis runs in a thread of its own, and at most two batches ahead. After an error, such as that of a damaged
/// capture, there are no further batches; the events before it come first. Dropping the reader ends the analysis with
/// its next event.
pub struct EventBatches {
    schema: SchemaRef,
    batches: Option<Receiver<Result<RecordBatch, ArrowError>>>,
    thread: Option<JoinHandle<HuginnNet>>,
}

impl EventBatches {
    /// Starts the analysis of a source.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn new<S>(analyzer: HuginnNet, source: S) -> io::Result<Self>
    where
        S: Source + Send + 'static,
        S::Error: std::error::Error + Send + Sync + 'static,
    {
        Self::with_builder(analyzer, source, EventBatchBuilder::new(), None)
    }

    /// As [`new`](Self::new), with the builder of the batches, and the name of the capture file for the column `file`.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn with_builder<S>(
        analyzer: HuginnNet,
        source: S,
        builder: EventBatchBuilder,
        file: Option<String>,
    ) -> io::Result<Self>
    where
        S: Source + Send + 'static,
        S::Error: std::error::Error + Send + Sync + 'static,
    {
        let (sender, batches) = sync_channel(WAITING_BATCHES);
        let schema = SchemaRef::clone(builder.schema());
        let run = move || analyse(analyzer, source, builder, file.as_deref(), &sender);
        let thread = thread::Builder::new().name("huginn-batches".to_owned()).spawn(run)?;
        Ok(Self { schema, batches: Some(batches), thread: Some(thread) })
    }

    /// Waits for the end of the analysis, without its remaining batches, and returns the analyzer: its counters and
    /// hosts. Returns `None` if the analysis panicked.
    pub fn finish(mut self) -> Option<HuginnNet> {
        self.end()
    }

    fn end(&mut self) -> Option<HuginnNet> {
        // Without a receiver the analysis stops.
        self.batches = None;
        self.thread.take()?.join().ok()
    }
}

impl Iterator for EventBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.as_ref()?.recv().ok()
    }
}

impl RecordBatchReader for EventBatches {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl Drop for EventBatches {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for EventBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventBatches").finish_non_exhaustive()
    }
}

type Batches = SyncSender<Result<RecordBatch, ArrowError>>;

fn analyse<S>(
    mut analyzer: HuginnNet,
    source: S,
    mut builder: EventBatchBuilder,
    file: Option<&str>,
    batches: &Batches,
) -> HuginnNet
where
    S: Source + Send,
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let outcome = analyzer.analyze(source, &mut |event: Event| {
        builder.append(&event, file);
        if builder.len() < BATCH_ROWS { ControlFlow::Continue(()) } else { send(&mut builder, batches) }
    });
    if !builder.is_empty() && send(&mut builder, batches).is_break() {
        return analyzer;
    }
    if let Err(error) = outcome {
        // The reader may be gone.
        let _ = batches.send(Err(ArrowError::ExternalError(Box::new(error))));
    }
    analyzer
}

/// Sends the rows as a batch. Breaks if the reader is gone.
fn send(builder: &mut EventBatchBuilder, batches: &Batches) -> ControlFlow<()> {
    match batches.send(builder.finish()) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}
