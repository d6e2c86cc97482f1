//! A builder of batches.

use std::fmt;
use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::builder::ArrayBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use huginn_net::Event;
use huginn_net::core::FlowId;
use huginn_net::record::{EventKind, EventNames, FlowRecord, visit_event};

use crate::batches::{BATCH_ROWS, BuildBatch};
use crate::column::Column;
use crate::derived::DERIVED;
use crate::row::{Row, Target};
use crate::schema::{UnknownColumn, schema, schema_of, select_columns, targets};

/// Builds batches of events, one event a row.
///
/// ```
/// use huginn_net::{CaptureReader, HuginnNet};
/// use huginn_net_arrow::EventBatchBuilder;
///
/// let mut builder = EventBatchBuilder::new();
/// let reader = CaptureReader::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap"))?;
/// HuginnNet::builder().build().analyze(reader, |event| builder.append(&event, None))?;
/// let batch = builder.finish()?;
/// assert_eq!(batch.num_rows(), 24);
/// assert!(batch.column_by_name("ja4").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EventBatchBuilder {
    schema: SchemaRef,
    columns: Vec<Column>,
    /// The columns of the values of each event.
    targets: Vec<(&'static str, Vec<Target>)>,
    rows: usize,
    text_len: usize,
    /// The flow of the last event: consecutive events often share a flow.
    flow: Option<(FlowId, FlowRecord<'static>)>,
    interfaces: Option<InterfaceNames>,
    connection_ids: bool,
    /// The texts of the columns after all others.
    constants: Vec<Box<str>>,
    /// Names of the events that become rows; `None` for all.
    events: Option<Vec<Box<str>>>,
    /// The schema with dictionaries, if texts are stored in them.
    with_dictionaries: Option<SchemaRef>,
    /// Rows from which on a batch is complete.
    max_rows: usize,
}

/// The names of interfaces.
struct InterfaceNames(Box<dyn Fn(u16) -> Option<Arc<str>> + Send + Sync>);

impl fmt::Debug for InterfaceNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterfaceNames").finish_non_exhaustive()
    }
}

impl EventBatchBuilder {
    /// Creates a builder without rows.
    pub fn new() -> Self {
        let builder = Self {
            schema: schema(),
            columns: Vec::new(),
            targets: Vec::new(),
            rows: 0,
            text_len: 0,
            flow: None,
            interfaces: None,
            connection_ids: false,
            constants: Vec::new(),
            events: None,
            with_dictionaries: None,
            max_rows: BATCH_ROWS,
        };
        builder.with_schema(schema())
    }

    /// Sets the schema, and creates its columns.
    fn with_schema(self, schema: SchemaRef) -> Self {
        let columns = schema.fields().iter().map(|field| Column::new(field.data_type())).collect();
        Self { targets: targets(&schema), schema, columns, ..self }
    }

    /// Names the interfaces of a live source, by their [number](huginn_net::Timestamp::interface).
    #[must_use]
    pub fn interfaces(self, name: impl Fn(u16) -> Option<Arc<str>> + Send + Sync + 'static) -> Self {
        Self { interfaces: Some(InterfaceNames(Box::new(name))), ..self }
    }

    /// Fills the column `connection_id`, or not (default), unless [`columns`](Self::columns) names it.
    #[must_use]
    pub fn connection_ids(self, write: bool) -> Self {
        Self { connection_ids: write, ..self }
    }

    /// Builds only these columns, in the order of the schema. Without this call all columns are built.
    ///
    /// A name is that of a column, or of a field in JSON, which may have several columns: `sni` stands for `tls_sni`, `label` for those of
    /// its fields, `version` for the versions of all protocols.
    ///
    /// # Errors
    /// [`UnknownColumn`] if no column and no field has a name.
    pub fn columns(self, names: &[&str]) -> Result<Self, UnknownColumn> {
        let selected = select_columns(names)?;
        let connection_ids = self.connection_ids || selected.contains(&"connection_id");
        Ok(self.connection_ids(connection_ids).with_schema(schema_of(|name| selected.contains(&name))))
    }

    /// Adds columns with one text in each row, such as the name of a sensor, after all others. No name may be one of a column.
    /// Call it after [`columns`](Self::columns).
    #[must_use]
    pub fn constants<'a>(mut self, columns: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut fields: Vec<_> = self.schema.fields().iter().map(Arc::clone).collect();
        for (name, text) in columns {
            fields.push(Arc::new(Field::new(name, DataType::Utf8, true)));
            self.constants.push(text.into());
        }
        self.schema = Arc::new(Schema::new(fields).with_metadata(self.schema.metadata().clone()));
        self
    }

    /// Takes only events with these [names](huginn_net::Observation::event_name); `own` stands for those of all own protocols. Without
    /// names all events become rows.
    #[must_use]
    pub fn events(self, names: &[&str]) -> Self {
        let names = names.iter().map(|name| Box::from(*name));
        Self { events: (names.len() > 0).then(|| names.collect()), ..self }
    }

    /// Stores texts in dictionaries: each batch has a text once, and numbers of 32 bits refer to it. Lists of texts stay.
    /// Call it after [`columns`](Self::columns) and [`constants`](Self::constants).
    #[must_use]
    pub fn dictionaries(self) -> Self {
        let fields = self.schema.fields().iter().map(|field| match field.data_type() {
            DataType::Utf8 => Field::new_dictionary(field.name(), DataType::Int32, DataType::Utf8, true),
            _ => Field::clone(field),
        });
        let schema = Schema::new(fields.collect::<Vec<_>>()).with_metadata(self.schema.metadata().clone());
        Self { with_dictionaries: Some(Arc::new(schema)), ..self }
    }

    /// Sets the rows from which on a batch [is complete](Self::is_complete); by default 8192.
    #[must_use]
    pub fn batch_rows(self, rows: usize) -> Self {
        Self { max_rows: rows, ..self }
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        self.with_dictionaries.as_ref().unwrap_or(&self.schema)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether the rows are a batch: as many as [`batch_rows`](Self::batch_rows) says, or texts of 16 MiB.
    pub fn is_complete(&self) -> bool {
        BuildBatch::is_complete(self)
    }

    /// Bytes of the texts in all rows. They bound the memory of a batch: packets choose how long their texts are.
    pub fn text_len(&self) -> usize {
        self.text_len
    }

    /// Appends an event. `file`: the capture file, if several are read.
    pub fn append(&mut self, event: &Event, file: Option<&str>) {
        let name = EventKind::of(&event.kind).name();
        let is_taken = |taken: &str| taken == &*name || taken == event.kind.event_name();
        if self.events.as_ref().is_some_and(|events| !events.iter().any(|taken| is_taken(taken))) {
            return;
        }
        let Some((_, targets)) = self.targets.iter().find(|(event, _)| *event == name) else { return };
        let (flow, record) = match self.flow.take() {
            Some(last) if last.0 == event.flow => last,
            _ => (event.flow.clone(), FlowRecord::from(&event.flow)),
        };
        let interface = self.interfaces.as_ref().and_then(|names| (names.0)(event.ts.interface()));
        let mut row = Row::new(&mut self.columns, self.rows, targets);
        let names = EventNames { file, interface: interface.as_deref(), connection_id: self.connection_ids };
        visit_event(event, &record, names, &mut row);
        for derived in &DERIVED {
            (derived.set)(event, &mut row);
        }
        self.text_len = self.text_len.saturating_add(row.text_len());
        self.flow = Some((flow, record));
        self.rows = self.rows.saturating_add(1);
    }

    /// Takes the rows as a batch. The builder is empty then.
    ///
    /// # Errors
    ///
    /// If the texts of a column exceed 2 GiB.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let rows = std::mem::take(&mut self.rows);
        self.text_len = 0;
        let filled = self.columns.iter_mut().map(|column| {
            column.fill(rows);
            column.finish()
        });
        let repeat = |text: &str| Arc::new(StringArray::from_iter_values(repeat_n(text, rows))) as ArrayRef;
        let arrays = filled.chain(self.constants.iter().map(|text| repeat(text)));
        let mut columns: Vec<ArrayRef> = match self.with_dictionaries {
            Some(_) => arrays.map(in_dictionary).collect(),
            None => arrays.collect(),
        };
        // Builders double their buffers: a table of many batches would keep the rest of each.
        columns.iter_mut().for_each(ArrayRef::shrink_to_fit);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(self.schema()), columns, &options)
    }
}

impl BuildBatch for EventBatchBuilder {
    fn rows(&self) -> usize {
        self.rows
    }

    fn max_rows(&self) -> usize {
        self.max_rows
    }

    fn text_len(&self) -> usize {
        self.text_len
    }

    fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        Self::finish(self)
    }
}

impl Default for EventBatchBuilder {
    fn default() -> Self {
        Self::new()
    }
}

/// Stores the texts of a column in a dictionary; returns other columns as they are.
fn in_dictionary(column: ArrayRef) -> ArrayRef {
    match column.as_string_opt::<i32>() {
        Some(texts) => Arc::new(texts.iter().collect::<DictionaryArray<Int32Type>>()),
        None => column,
    }
}
