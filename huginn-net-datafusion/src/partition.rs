//! A partition: captures that are read one after the other.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::PartitionStream;
use huginn_net::core::CancelToken;
use huginn_net::{CaptureReader, HuginnNet};
use huginn_net_arrow::{Batches, EventBatchBuilder, EventRows};
use tokio::sync::mpsc::Sender;

/// Batches that wait for the thread that hands them to DataFusion, and for DataFusion.
const WAITING_BATCHES: usize = 1;
/// Interval at which an analysis without rows finds that the query has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Builds the analyzer of a capture.
pub(crate) type BuildAnalyzer = Arc<dyn Fn() -> HuginnNet + Send + Sync>;

/// What a scan reads.
#[derive(Clone)]
pub(crate) struct Scan {
    pub(crate) schema: SchemaRef,
    pub(crate) columns: Vec<String>,
    /// Names of the events that become rows; all if empty.
    pub(crate) events: Vec<String>,
    pub(crate) analyzer: BuildAnalyzer,
}

/// The captures of a partition.
pub(crate) struct Partition {
    pub(crate) captures: Vec<PathBuf>,
    pub(crate) scan: Scan,
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.scan.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream =
            RecordBatchReceiverStreamBuilder::new(SchemaRef::clone(&self.scan.schema), WAITING_BATCHES);
        let (sender, captures, scan) = (stream.tx(), self.captures.clone(), self.scan.clone());
        stream.spawn_blocking(move || scan.send_batches(captures, &sender));
        stream.build()
    }
}

impl Scan {
    /// A builder of batches with the columns and events of the scan.
    pub(crate) fn builder(columns: &[String], events: &[String]) -> Result<EventBatchBuilder> {
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let builder = EventBatchBuilder::new().columns(&columns).map_err(external)?;
        Ok(builder.events(&events))
    }

    /// Analyses captures, and sends their batches until the query has ended.
    fn send_batches(self, captures: Vec<PathBuf>, sender: &Sender<Result<RecordBatch>>) -> Result<()> {
        let current = CurrentAnalysis::default();
        let cancel = current.clone();
        let builder = Self::builder(&self.columns, &self.events)?;
        let mut batches = Batches::of_events(builder, WAITING_BATCHES, move |mut rows| {
            captures
                .into_iter()
                .all(|capture| append_capture(capture, (self.analyzer)(), &mut rows, &current))
        })?;
        while !sender.is_closed() {
            match batches.poll_next(POLL_INTERVAL) {
                Poll::Ready(Some(batch)) => _ = sender.blocking_send(batch.map_err(DataFusionError::from)),
                Poll::Ready(None) => break,
                Poll::Pending => {}
            }
        }
        cancel.end();
        let has_panicked = batches.finish().is_none();
        if has_panicked {
            Err(DataFusionError::Execution("the analysis of a capture panicked".into()))
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partition").field("captures", &self.captures).finish_non_exhaustive()
    }
}

/// The analysis that runs; `None` once the query has ended.
#[derive(Clone)]
struct CurrentAnalysis(Arc<Mutex<Option<CancelToken>>>);

impl Default for CurrentAnalysis {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Some(CancelToken::default()))))
    }
}

impl CurrentAnalysis {
    /// Sets the analysis that runs. Returns whether the query goes on.
    fn set(&self, cancel: CancelToken) -> bool {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_mut().map(|current| *current = cancel).is_some()
    }

    fn end(&self) {
        if let Some(cancel) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            cancel.cancel();
        }
    }
}

/// Appends the events of a capture. Returns whether the next capture is to be read.
fn append_capture(
    path: PathBuf,
    mut analyzer: HuginnNet,
    rows: &mut EventRows<'_>,
    current: &CurrentAnalysis,
) -> bool {
    if !current.set(analyzer.cancel_token()) {
        return false;
    }
    let file = path.display().to_string();
    let reader = match CaptureReader::open(path) {
        Ok(reader) => reader,
        Err(error) => {
            rows.fail(error);
            return false;
        }
    };
    let mut has_reader = true;
    let outcome = analyzer.analyze(reader, |event| {
        let flow = rows.append(&event, Some(&file));
        has_reader = flow.is_continue();
        flow
    });
    match outcome {
        Ok(_) => has_reader,
        Err(error) => {
            rows.fail(error);
            false
        }
    }
}

/// Wraps an error of this crate.
pub(crate) fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
