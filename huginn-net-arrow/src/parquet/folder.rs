//! Writes a folder of Parquet files: a table for each kind of event, partitions by day or by capture.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use huginn_net::Timestamp;
use huginn_net::record::EVENT_NAMES;

use super::layout::{GROUP_BYTES, ParquetCompression};
use super::writer::{ParquetWriter, from_arrow};
use crate::schema::columns;

/// Files that are written at the same time. Beyond them the one without new rows for longest is completed.
const MAX_OPEN_FILES: usize = 64;

/// The table of events of own protocols.
const OWN_TABLE: &str = "own";

/// Length of the name of a folder, in bytes, at most.
const MAX_NAME_BYTES: usize = 255;

/// The folder of rows without a value, as Hive has it.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

/// The folders of a table, named as Hive, Spark, DuckDB and Polars read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParquetPartition {
    /// `day=2026-01-31`, in UTC.
    Day,
    /// `file=captures%2Fa.pcap`. The files in it have no column `file`.
    File,
}

impl ParquetPartition {
    /// The column that the partition follows from.
    fn column(self) -> &'static str {
        match self {
            Self::Day => "ts",
            Self::File => "file",
        }
    }

    /// Checks that a capture of this name can have a folder.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if the name of the folder would be too long.
    pub fn check_name(self, file: &str) -> io::Result<()> {
        if self == Self::File && Value::File(Some(file)).folder().len() > MAX_NAME_BYTES {
            return Err(invalid(format!(
                "{file}: its folder needs a name of more than {MAX_NAME_BYTES} bytes: give a shorter path, or partition by day"
            )));
        }
        Ok(())
    }
}

/// Writes batches of events to Parquet files in a folder.
///
/// Files have the layout of [`ParquetWriter`]. At most 64 are open; together they buffer 40 MiB.
pub struct ParquetFolder {
    folder: PathBuf,
    tables: Vec<Table>,
    /// Whether each kind of event has a table.
    by_kind: bool,
    partition: Option<ParquetPartition>,
    /// The names of the files, without number and extension, unless tables are files.
    stem: Option<String>,
    compression: ParquetCompression,
    open: HashMap<Key, OpenFile>,
    /// Number of the next file of partitions that have some.
    numbers: HashMap<Key, usize>,
    files: Vec<String>,
    /// Batches so far.
    batches: u64,
}

/// The columns of a table.
struct Table {
    name: &'static str,
    columns: Vec<usize>,
    schema: SchemaRef,
}

/// The rows that a file has.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    table: usize,
    /// The folder of the partition.
    folder: Option<String>,
}

struct OpenFile {
    writer: ParquetWriter<BufWriter<File>>,
    /// The last batch with rows for it.
    last_batch: u64,
}

/// What the partition of a row follows from.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Value<'a> {
    None,
    /// Days since the epoch.
    Day(i64),
    File(Option<&'a str>),
}

impl ParquetFolder {
    /// Creates a writer for an existing folder and batches of this schema. `by_kind`: each kind of event has a table, with the columns of
    /// this kind, in `tls_client.parquet` or the folder `tls_client`.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if the schema lacks the column `event`, or the one that the partition follows from.
    pub fn new(
        folder: PathBuf,
        schema: &SchemaRef,
        by_kind: bool,
        partition: Option<ParquetPartition>,
        compression: ParquetCompression,
    ) -> io::Result<Self> {
        let needed = by_kind.then_some("event").into_iter().chain(partition.map(ParquetPartition::column));
        if let Some(missing) = needed.into_iter().find(|name| schema.index_of(name).is_err()) {
            return Err(invalid(format!("tables by kind and partitions need the column {missing}")));
        }
        let kinds = EVENT_NAMES.iter().copied().filter(|kind| *kind != OWN_TABLE).chain([OWN_TABLE]);
        let table = |name: &'static str| Table::new(name, schema, by_kind, partition);
        Ok(Self {
            folder,
            tables: if by_kind { kinds.map(table).collect() } else { vec![table("")] },
            by_kind,
            partition,
            stem: None,
            compression,
            open: HashMap::new(),
            numbers: HashMap::new(),
            files: Vec::new(),
            batches: 0,
        })
    }

    /// Names the files: `STEM.parquet`, in a folder for each table. Without this call a table is a file, and partitions have files of the name
    /// `part.parquet`.
    #[must_use]
    pub fn stem(self, stem: &str) -> Self {
        Self { stem: Some(stem.to_owned()), ..self }
    }

    /// Appends the rows of a batch to their files.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.batches = self.batches.saturating_add(1);
        for ((table, value), rows) in self.split(batch) {
            let Some(Table { columns, .. }) = self.tables.get(table) else { continue };
            let narrow = batch.project(columns).map_err(from_arrow)?;
            let rows = match rows.len() {
                all if all == batch.num_rows() => narrow,
                _ => take_record_batch(&narrow, &UInt32Array::from(rows)).map_err(from_arrow)?,
            };
            let folder = self.partition.map(|_| value.folder());
            self.append(Key { table, folder }, rows)?;
        }
        self.bound_memory()
    }

    /// The rows of each table and partition, in the order in which they begin.
    fn split<'b>(&self, batch: &'b RecordBatch) -> Vec<((usize, Value<'b>), Vec<u32>)> {
        let texts = |name: &str| batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
        let kinds = texts("event").filter(|_| self.by_kind);
        let values = Values::new(self.partition, batch);
        let mut places = HashMap::new();
        let mut parts: Vec<((usize, Value<'b>), Vec<u32>)> = Vec::new();
        for row in 0..batch.num_rows() {
            let table = kinds.map_or(0, |kinds| self.table(kinds.value(row)));
            let key = (table, values.get(row));
            let place = *places.entry(key).or_insert_with(|| {
                parts.push((key, Vec::new()));
                parts.len().saturating_sub(1)
            });
            if let Some((_, rows)) = parts.get_mut(place) {
                // A batch has fewer rows.
                rows.push(u32::try_from(row).unwrap_or(u32::MAX));
            }
        }
        parts
    }

    /// The table of a kind of events: the last one is that of own protocols.
    fn table(&self, kind: &str) -> usize {
        let own = self.tables.len().saturating_sub(1);
        self.tables.iter().position(|table| table.name == kind).unwrap_or(own)
    }

    fn append(&mut self, key: Key, rows: RecordBatch) -> io::Result<()> {
        if !self.open.contains_key(&key) {
            if self.open.len() >= MAX_OPEN_FILES {
                let oldest = self.open.iter().min_by_key(|(_, file)| file.last_batch);
                if let Some(oldest) = oldest.map(|(key, _)| key.clone())
                    && let Some(file) = self.open.remove(&oldest)
                {
                    file.complete()?;
                }
            }
            let file = self.create(&key)?;
            self.open.insert(key.clone(), file);
        }
        let Some(file) = self.open.get_mut(&key) else { return Ok(()) };
        file.last_batch = self.batches;
        file.writer.write(rows)
    }

    /// Creates the next file of a table or partition.
    fn create(&mut self, key: &Key) -> io::Result<OpenFile> {
        let Some(table) = self.tables.get(key.table) else { return Err(io::ErrorKind::NotFound.into()) };
        let number = self.numbers.entry(key.clone()).or_default();
        let is_file = self.by_kind && self.partition.is_none() && self.stem.is_none();
        let mut path = String::new();
        let of_table = (self.by_kind && !is_file).then_some(table.name);
        for folder in of_table.into_iter().chain(key.folder.as_deref()) {
            path.push_str(folder);
            path.push('/');
        }
        fs::create_dir_all(self.folder.join(&path))?;
        path.push_str(if is_file { table.name } else { self.stem.as_deref().unwrap_or("part") });
        if *number > 0 {
            path.push_str(&format!("-{number}"));
        }
        path.push_str(".parquet");
        *number = number.saturating_add(1);
        let out = BufWriter::new(File::create_new(self.folder.join(&path))?);
        self.files.push(path);
        let writer = ParquetWriter::new(out, SchemaRef::clone(&table.schema), self.compression)?;
        Ok(OpenFile { writer, last_batch: self.batches })
    }

    /// Writes the largest row groups while all together are too large.
    fn bound_memory(&mut self) -> io::Result<()> {
        loop {
            let total: usize = self.open.values().map(|file| file.writer.buffered_bytes()).sum();
            let largest = self.open.values_mut().max_by_key(|file| file.writer.buffered_bytes());
            match largest {
                Some(file) if total > GROUP_BYTES => file.writer.flush()?,
                _ => return Ok(()),
            }
        }
    }

    /// Completes all files, and returns their paths within the folder, in their order.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn finish(mut self) -> io::Result<Vec<String>> {
        for file in self.open.into_values() {
            file.complete()?;
        }
        self.files.sort();
        Ok(self.files)
    }
}

impl fmt::Debug for ParquetFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetFolder").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl OpenFile {
    fn complete(self) -> io::Result<()> {
        self.writer.finish()?.into_inner().map(drop).map_err(io::IntoInnerError::into_error)
    }
}

impl Table {
    /// The columns that the events of a kind have, and those that are not columns of events.
    fn new(name: &'static str, schema: &Schema, by_kind: bool, partition: Option<ParquetPartition>) -> Self {
        let is_of_kind = |column: &str| match columns().iter().find(|known| known.name == column) {
            Some(known) => known.sources.iter().any(|(kinds, _)| kinds.contains(&name)),
            None => true,
        };
        let has = |column: &str| {
            (!by_kind || is_of_kind(column))
                && !(partition == Some(ParquetPartition::File) && column == "file")
        };
        let fields = schema.fields().iter().enumerate().filter(|(_, field)| has(field.name()));
        let (columns, fields): (Vec<_>, Vec<_>) =
            fields.map(|(place, field)| (place, Arc::clone(field))).unzip();
        let schema = Schema::new(fields).with_metadata(schema.metadata().clone());
        Self { name, columns, schema: Arc::new(schema) }
    }
}

/// The values of a column that partitions follow from.
enum Values<'a> {
    None,
    Day(&'a [i64]),
    File(&'a StringArray),
}

impl<'a> Values<'a> {
    fn new(partition: Option<ParquetPartition>, batch: &'a RecordBatch) -> Self {
        let Some(partition) = partition else { return Self::None };
        let Some(column) = batch.column_by_name(partition.column()) else { return Self::None };
        match partition {
            ParquetPartition::Day => {
                let times = column.as_primitive_opt::<TimestampMicrosecondType>();
                times.map_or(Self::None, |times| Self::Day(times.values()))
            }
            ParquetPartition::File => column.as_string_opt().map_or(Self::None, Self::File),
        }
    }

    fn get(&self, row: usize) -> Value<'a> {
        match self {
            Self::None => Value::None,
            Self::Day(times) => Value::Day(times.get(row).map_or(0, |micros| micros.div_euclid(DAY_MICROS))),
            Self::File(names) => Value::File((!names.is_null(row)).then(|| names.value(row))),
        }
    }
}

/// Microseconds of a day.
const DAY_MICROS: i64 = 86_400_000_000;

impl Value<'_> {
    /// The name of the folder.
    fn folder(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Day(day) => {
                let seconds = u64::try_from(day).unwrap_or_default().saturating_mul(86_400);
                let (year, month, day, ..) = Timestamp::new(seconds, 0, 0).civil();
                format!("day={year:04}-{month:02}-{day:02}")
            }
            Self::File(name) => {
                let mut folder = "file=".to_owned();
                match name {
                    Some(name) => name.bytes().for_each(|byte| push_escaped(byte, &mut folder)),
                    None => folder.push_str(NO_VALUE),
                }
                folder
            }
        }
    }
}

/// Appends a byte of a name as in a URI: what is not an unreserved character (RFC 3986, section 2.3) is `%2F`.
fn push_escaped(byte: u8, text: &mut String) {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        text.push(char::from(byte));
    } else {
        text.push_str(&format!("%{byte:02X}"));
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
