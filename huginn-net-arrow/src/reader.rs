//! Batches of the events of a source.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::task::Poll;
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use huginn_net::core::Source;
use huginn_net::{Event, HuginnNet};

use crate::batch::EventBatchBuilder;
use crate::batch_thread::{BatchThread, Rows};

/// Batches of up to 8192 events, in the order of the analysis.
///
/// The analysis runs in a thread of its own, and at most two batches ahead. After an error, such as that of a damaged
/// capture, there are no further batches; the events before it come first. Dropping the reader ends the analysis with
/// its next event.
pub struct EventBatches<T = HuginnNet> {
    schema: SchemaRef,
    thread: BatchThread<T>,
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
        mut analyzer: HuginnNet,
        source: S,
        builder: EventBatchBuilder,
        file: Option<String>,
    ) -> io::Result<Self>
    where
        S: Source<'static> + Send + 'static,
        S::Error: std::error::Error + Send + Sync + 'static,
    {
        Self::of(builder, move |mut rows| {
            let outcome = analyzer.analyze(source, &mut |event: Event| rows.append(&event, file.as_deref()));
            if let Err(error) = outcome {
                rows.fail(error);
            }
            analyzer
        })
    }
}

impl<T: Send + 'static> EventBatches<T> {
    /// Starts a thread that appends rows: the events of several captures, for instance, which share batches.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn of(
        builder: EventBatchBuilder,
        run: impl FnOnce(EventRows<'_>) -> T + Send + 'static,
    ) -> io::Result<Self> {
        let schema = SchemaRef::clone(builder.schema());
        let thread = BatchThread::start(builder, move |rows| run(EventRows(rows)))?;
        Ok(Self { schema, thread })
    }
}

impl<T> EventBatches<T> {
    /// Waits for the next batch, for a time; `Pending` if it does not come. So the caller can stop to wait.
    pub fn poll_next(&mut self, wait: Duration) -> Poll<Option<Result<RecordBatch, ArrowError>>> {
        self.thread.poll_next(wait)
    }

    /// Waits for the end of the analysis, without its remaining batches, and returns what the thread returns: the
    /// analyzer, with its counters and hosts. Returns `None` if the analysis panicked.
    pub fn finish(mut self) -> Option<T> {
        self.thread.end()
    }
}

/// Where a thread appends the rows of [`EventBatches`].
#[derive(Debug)]
pub struct EventRows<'a>(&'a mut Rows<EventBatchBuilder>);

impl EventRows<'_> {
    /// Appends an event. `file`: the name of the capture. Breaks after an error, or if the reader is gone.
    pub fn append(&mut self, event: &Event, file: Option<&str>) -> ControlFlow<()> {
        self.0.append(|builder| {
            builder.append(event, file);
            Ok::<_, Infallible>(())
        })
    }

    /// Ends the batches with an error, which follows the rows so far.
    pub fn fail(&mut self, error: impl std::error::Error + Send + Sync + 'static) {
        self.0.fail(error);
    }
}

impl<T> Iterator for EventBatches<T> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.thread.next()
    }
}

impl<T> RecordBatchReader for EventBatches<T> {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl<T> fmt::Debug for EventBatches<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventBatches").finish_non_exhaustive()
    }
}
