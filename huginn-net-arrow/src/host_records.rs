//! The table of host records, which the first stage of an analysis in two stages writes for the second one.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use huginn_net::core::{Analyzer, Event, Route, Source};
use huginn_net::hosts::{HostUpdate, HostUpdateRecord, WithoutHosts};
use huginn_net::{Finding, Timestamp};

use crate::batch_thread::{BATCH_ROWS, BATCH_TEXT_BYTES, BatchSender, BatchThread};
use crate::row::split_time;
use crate::schema::{UTC, metadata, time_type};

/// Columns that order records: time, capture file, packet, and position.
pub const HOST_RECORD_ORDER: [&str; 5] = ["ts", "ts_nanos", "file", "packet", "position"];

/// Batches of up to 8192 [records of hosts](HostUpdateRecord).
///
/// | column | meaning |
/// |---|---|
/// | `ts`, `ts_nanos` | capture time: microseconds, and the nanoseconds within |
/// | `file` | the capture file, if it is given |
/// | `packet` | number of the packet in the capture, from 1 |
/// | `position` | number of the record in the analysis, from 0: a packet may have several |
/// | `host_ip` | address of the host |
/// | `record` | the record as JSON |
///
/// The second stage takes the records of all captures in the order of [`HOST_RECORD_ORDER`]. The analysis runs in a thread
/// of its own, at most two batches ahead.
pub struct HostRecordBatches {
    schema: SchemaRef,
    thread: BatchThread<Analyzer<WithoutHosts>>,
}

impl HostRecordBatches {
    /// Starts the first stage. `file`: name of the capture for the column `file`.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn new<S>(analyzer: Analyzer<WithoutHosts>, source: S, file: Option<String>) -> io::Result<Self>
    where
        S: Source<'static> + Send + 'static,
        S::Error: std::error::Error + Send + Sync + 'static,
    {
        let thread = BatchThread::start(move |batches| analyse(analyzer, source, file.as_deref(), batches))?;
        Ok(Self { schema: host_record_schema(), thread })
    }
}

impl Iterator for HostRecordBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.thread.next()
    }
}

impl RecordBatchReader for HostRecordBatches {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl fmt::Debug for HostRecordBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostRecordBatches").finish_non_exhaustive()
    }
}

/// The schema of [`HostRecordBatches`].
pub fn host_record_schema() -> SchemaRef {
    let fields = [
        ("ts", time_type()),
        ("ts_nanos", DataType::Int32),
        ("file", DataType::Utf8),
        ("packet", DataType::Int64),
        ("position", DataType::Int64),
        ("host_ip", DataType::Utf8),
        ("record", DataType::Utf8),
    ];
    let fields: Vec<Field> = fields.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect();
    Arc::new(Schema::new(fields).with_metadata(metadata()))
}

fn analyse<S>(
    mut analyzer: Analyzer<WithoutHosts>,
    source: S,
    file: Option<&str>,
    batches: &BatchSender,
) -> Analyzer<WithoutHosts>
where
    S: Source<'static> + Send,
    S::Error: std::error::Error + Send + Sync + 'static,
{
    let mut records = Records::default();
    let outcome = analyzer.analyze(source, &mut |event: Event<Route<Finding, HostUpdate>>| {
        let Route::Update(update) = event.into_route() else { return ControlFlow::Continue(()) };
        if let Err(error) = records.append(&update, file) {
            let _ = batches.send(Err(error));
            return ControlFlow::Break(());
        }
        let text_len = records.record.values_slice().len();
        let is_full = records.rows() >= BATCH_ROWS || text_len >= BATCH_TEXT_BYTES;
        if is_full { batches.send(records.finish()) } else { ControlFlow::Continue(()) }
    });
    if records.rows() > 0 && batches.send(records.finish()).is_break() {
        return analyzer;
    }
    if let Err(error) = outcome {
        batches.send_error(error);
    }
    analyzer
}

/// A builder of the columns.
#[derive(Default)]
struct Records {
    ts: TimestampMicrosecondBuilder,
    ts_nanos: Int32Builder,
    file: StringBuilder,
    packet: Int64Builder,
    position: Int64Builder,
    host_ip: StringBuilder,
    record: StringBuilder,
    /// Number of records of the analysis.
    records: i64,
}

impl Records {
    fn rows(&self) -> usize {
        self.record.len()
    }

    fn append(&mut self, update: &Event<HostUpdate>, file: Option<&str>) -> Result<(), ArrowError> {
        let Some(record) = HostUpdateRecord::new(update) else { return Ok(()) };
        let text = serde_json::to_string(&record).map_err(|error| ArrowError::ExternalError(error.into()))?;
        let (micros, nanos) = split_time(Timestamp::from_nanos(record.ts_nanos(), 9));
        self.ts.append_value(micros);
        self.ts_nanos.append_value(nanos);
        self.file.append_option(file);
        self.packet.append_value(i64::try_from(record.packet_number()).unwrap_or(i64::MAX));
        self.position.append_value(self.records);
        self.host_ip.append_value(record.host().ip().to_string());
        self.record.append_value(text);
        self.records = self.records.saturating_add(1);
        Ok(())
    }

    fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.ts.finish().with_timezone(UTC)),
            Arc::new(self.ts_nanos.finish()),
            Arc::new(self.file.finish()),
            Arc::new(self.packet.finish()),
            Arc::new(self.position.finish()),
            Arc::new(self.host_ip.finish()),
            Arc::new(self.record.finish()),
        ];
        RecordBatch::try_new(host_record_schema(), columns)
    }
}
