//! Batches of the events of a source.

use std::fmt;
use std::io;
use std::ops::ControlFlow;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use huginn_net::core::Source;
use huginn_net::{Event, HuginnNet};

use crate::batch::EventBatchBuilder;
use crate::batch_thread::{BATCH_ROWS, BATCH_TEXT_BYTES, BatchSender, BatchThread};

/// Batches of up to 8192 events, in the order of the analysis.
///
/// The analysis runs in a thread of its own, and at most two batches ahead. After an error, such as that of a damaged
/// capture, there are no further batches; the events before it come first. Dropping the reader ends the analysis with
/// its next event.
pub struct EventBatches {
    schema: SchemaRef,
    thread: BatchThread<HuginnNet>,
}

impl EventBatches {
    /// Starts the analysis of a source.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn new<S>(analyzer: HuginnNet, source: S) -> io::Result<Self>
    where
        S: Source<'static> + Send + 'static,
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
        S: Source<'static> + Send + 'static,
        S::Error: std::error::Error + Send + Sync + 'static,
    {
        let schema = SchemaRef::clone(builder.schema());
        let thread =
            BatchThread::start(move |batches| analyse(analyzer, source, builder, file.as_deref(), batches))?;
        Ok(Self { schema, thread })
    }

    /// Waits for the end of the analysis, without its remaining batches, and returns the analyzer: its counters and
    /// hosts. Returns `None` if the analysis panicked.
    pub fn finish(mut self) -> Option<HuginnNet> {
        self.thread.end()
    }
}

impl Iterator for EventBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.thread.next()
    }
}

impl RecordBatchReader for EventBatches {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl fmt::Debug for EventBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventBatches").finish_non_exhaustive()
    }
}

fn analyse<S>(
    mut analyzer: HuginnNet,
    source: S,
    mut builder: EventBatchBuilder,
    file: Option<&str>,
    batches: &BatchSender,
) -> HuginnNet
where
    S: Source<'static> + Send,
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let outcome = analyzer.analyze(source, &mut |event: Event| {
        builder.append(&event, file);
        let is_full = builder.len() >= BATCH_ROWS || builder.text_len() >= BATCH_TEXT_BYTES;
        if is_full { batches.send(builder.finish()) } else { ControlFlow::Continue(()) }
    });
    if !builder.is_empty() && batches.send(builder.finish()).is_break() {
        return analyzer;
    }
    if let Err(error) = outcome {
        batches.send_error(error);
    }
    analyzer
}
