//! The table of host records, which the first stage of an analysis in two stages writes for the second one.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use huginn_net::core::{AnalysisError, Analyzer, Event, Route, Source};
use huginn_net::hosts::{HostUpdate, HostUpdateRecord};
use huginn_net::observers::WithoutHosts;
use huginn_net::{Observation, Timestamp};

use crate::batches::{Batches, BuildBatch, Rows, WAITING_BATCHES};
use crate::column::UTC;
use crate::row::split_time;
use crate::schema::{metadata, time_type};

/// Columns that order records: time, capture file, packet, and position.
pub const HOST_RECORD_ORDER: &[&str] = &["ts", "ts_nanos", "file", "packet", "position"];

/// Batches of [records of hosts](HostUpdateRecord).
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
/// The second stage takes the records of all captures in the order of [`HOST_RECORD_ORDER`].
pub type HostRecordBatches = Batches<Analyzer<WithoutHosts>>;

impl HostRecordBatches {
    /// Starts the first stage. `file`: name of the capture for the column `file`.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn new<S>(mut analyzer: Analyzer<WithoutHosts>, source: S, file: Option<String>) -> io::Result<Self>
    where
        S: Source<'static> + Send + 'static,
        S::Error: std::error::Error + Send + Sync + 'static,
    {
        Self::of_host_records(WAITING_BATCHES, move |mut rows| {
            if let Err(error) = rows.append_all(&mut analyzer, source, file.as_deref()) {
                rows.fail(error);
            }
            analyzer
        })
    }
}

impl<T: Send + 'static> Batches<T> {
    /// Starts a thread that appends [records of hosts](HostRecordBatches): those of several captures, for instance, which share
    /// batches. The thread waits while `waiting` batches wait for the reader.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn of_host_records(
        waiting: usize,
        run: impl FnOnce(HostRecordRows<'_>) -> T + Send + 'static,
    ) -> io::Result<Self> {
        Self::start(host_record_schema(), Records::default(), waiting, move |rows| run(HostRecordRows(rows)))
    }
}

/// Where a thread appends records of hosts, for [`Batches::of_host_records`].
#[derive(Debug)]
pub struct HostRecordRows<'a>(&'a mut Rows<Records>);

impl HostRecordRows<'_> {
    /// Runs the first stage over a source, and appends its records. `file`: the name of the capture. Breaks after an error
    /// of these rows, or if the reader is gone.
    ///
    /// # Errors
    ///
    /// Those of the analysis. The records before the error are appended.
    pub fn append_all<S>(
        &mut self,
        analyzer: &mut Analyzer<WithoutHosts>,
        source: S,
        file: Option<&str>,
    ) -> Result<ControlFlow<()>, AnalysisError<S::Error>>
    where
        S: Source<'static> + Send,
        S::Error: Send,
    {
        self.0.builder.position = 0;
        let mut flow = ControlFlow::Continue(());
        analyzer.analyze(source, &mut |event: Event<Route<Observation, HostUpdate>>| {
            if let Route::Update(update) = event.into_route() {
                flow = self.0.append(|records| records.append(&update, file));
            }
            flow
        })?;
        Ok(flow)
    }

    /// Ends the batches with an error, which follows the rows so far.
    pub fn fail(&mut self, error: impl std::error::Error + Send + Sync + 'static) {
        self.0.fail(error);
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

/// A builder of the columns.
#[derive(Debug, Default)]
struct Records {
    ts: TimestampMicrosecondBuilder,
    ts_nanos: Int32Builder,
    file: StringBuilder,
    packet: Int64Builder,
    positions: Int64Builder,
    host_ip: StringBuilder,
    record: StringBuilder,
    /// Number of records of the analysis so far.
    position: i64,
}

impl Records {
    fn append(&mut self, update: &Event<HostUpdate>, file: Option<&str>) -> Result<(), ArrowError> {
        let Some(record) = HostUpdateRecord::new(update) else { return Ok(()) };
        let text = serde_json::to_string(&record).map_err(|error| ArrowError::ExternalError(error.into()))?;
        let (micros, nanos) = split_time(Timestamp::from_nanos(record.ts_nanos(), 9));
        self.ts.append_value(micros);
        self.ts_nanos.append_value(nanos);
        self.file.append_option(file);
        self.packet.append_value(i64::try_from(record.packet_number()).unwrap_or(i64::MAX));
        self.positions.append_value(self.position);
        self.host_ip.append_value(record.host().ip().to_string());
        self.record.append_value(text);
        self.position = self.position.saturating_add(1);
        Ok(())
    }
}

impl BuildBatch for Records {
    fn rows(&self) -> usize {
        self.record.len()
    }

    fn text_len(&self) -> usize {
        self.record.values_slice().len()
    }

    fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.ts.finish().with_timezone(UTC)),
            Arc::new(self.ts_nanos.finish()),
            Arc::new(self.file.finish()),
            Arc::new(self.packet.finish()),
            Arc::new(self.positions.finish()),
            Arc::new(self.host_ip.finish()),
            Arc::new(self.record.finish()),
        ];
        RecordBatch::try_new(host_record_schema(), columns)
    }
}
