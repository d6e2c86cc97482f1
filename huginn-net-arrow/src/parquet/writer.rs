//! Writes a Parquet file.

use std::fmt;
use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::layout::{GROUP_BYTES, GROUP_ROWS, Layout, MIN_GROUP_ROWS, ParquetCompression};
use super::rows::{Rows, for_each_sorted};

/// Rows that are sorted into one batch.
const SORTED_ROWS: usize = 4096;

/// The first bytes of a file.
const MAGIC_BYTES: usize = 4;

/// Buffered bytes for a byte in a file, until some are written.
const EXPECTED_RATIO: usize = 32;

/// Writes batches to a Parquet file.
///
/// Rows are buffered until a row group has 65,536, or 40 MiB in memory. Those of a row group are sorted by `ts` and `ts_nanos`, which the
/// file declares, if it has these columns. A file of fewer than 10,000 rows has a short footer, without Bloom filters and page index, unless
/// they are flushed before its end. The metadata of the schema are those of the file.
pub struct ParquetWriter<W: Write + Send> {
    schema: SchemaRef,
    layout: Layout,
    state: State<W>,
    rows: Vec<Rows>,
    row_count: usize,
    bytes: usize,
    rows_written: usize,
}

/// Properties of a file are chosen with its first row group.
enum State<W: Write + Send> {
    Buffered(W),
    Written(Box<ArrowWriter<W>>),
    /// After an error.
    Failed,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Creates a writer of rows with this schema.
    ///
    /// # Errors
    ///
    /// If the schema has a type that Parquet does not have.
    pub fn new(out: W, schema: SchemaRef, compression: ParquetCompression) -> io::Result<Self> {
        let layout = Layout::new(&schema, compression).map_err(from_parquet)?;
        Ok(Self {
            schema,
            layout,
            state: State::Buffered(out),
            rows: Vec::new(),
            row_count: 0,
            bytes: 0,
            rows_written: 0,
        })
    }

    /// Adds a text to the metadata of the file. Call it before the first batch.
    #[must_use]
    pub fn metadata(mut self, key: &str, value: &str) -> Self {
        self.layout.metadata.push(KeyValue::new(key.to_owned(), value.to_owned()));
        self
    }

    /// Bytes of the rows that wait for the end of their row group.
    pub fn buffered_bytes(&self) -> usize {
        self.bytes
    }

    /// Length of the file so far, in bytes, with an estimate for rows that wait.
    pub fn estimated_len(&self) -> usize {
        let written = match &self.state {
            State::Written(writer) => writer.bytes_written(),
            State::Buffered(_) | State::Failed => MAGIC_BYTES,
        };
        let of_rows = written.saturating_mul(self.row_count).checked_div(self.rows_written);
        written.saturating_add(of_rows.unwrap_or(self.bytes / EXPECTED_RATIO))
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// If a row group cannot be written.
    pub fn write(&mut self, batch: RecordBatch) -> io::Result<()> {
        let rows = Rows::from(batch);
        self.row_count = self.row_count.saturating_add(rows.len);
        self.bytes = self.bytes.saturating_add(rows.bytes());
        self.rows.push(rows);
        while self.row_count >= GROUP_ROWS.saturating_add(MIN_GROUP_ROWS) {
            self.write_group(GROUP_ROWS)?;
        }
        if self.bytes >= GROUP_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the rows that wait as a row group, but for as many as the next one needs.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        match self.row_count.checked_sub(MIN_GROUP_ROWS) {
            Some(rows @ MIN_GROUP_ROWS..) => self.write_group(rows),
            _ => self.write_rest(),
        }
    }

    /// Writes all rows that wait as a row group.
    fn write_rest(&mut self) -> io::Result<()> {
        if self.row_count == 0 { Ok(()) } else { self.write_group(self.row_count) }
    }

    /// Writes the rest and the end of the file, and returns where it was written to.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        if self.row_count < MIN_GROUP_ROWS {
            self.begin(|layout, rows| layout.small(|column| rows.iter().all(|rows| rows.is_absent(column))))?;
        }
        self.write_rest()?;
        match self.state {
            State::Written(writer) => writer.into_inner().map_err(from_parquet),
            State::Buffered(_) | State::Failed => Err(failed()),
        }
    }

    /// Writes the first rows as a row group.
    fn write_group(&mut self, row_count: usize) -> io::Result<()> {
        let group = self.take_rows(row_count);
        let schema = SchemaRef::clone(&self.schema);
        let writer = self.begin(|layout, _| layout.large())?;
        let written = for_each_sorted(group, &schema, SORTED_ROWS, |batch| writer.write(batch));
        let written = written.and_then(|()| writer.flush());
        if let Err(error) = written {
            self.state = State::Failed;
            return Err(from_parquet(error));
        }
        self.rows_written = self.rows_written.saturating_add(row_count);
        Ok(())
    }

    /// Takes the first rows. A batch is split where they end.
    fn take_rows(&mut self, row_count: usize) -> Vec<Rows> {
        let (mut group, mut missing) = (Vec::new(), row_count);
        let mut batches = std::mem::take(&mut self.rows).into_iter();
        while missing > 0
            && let Some(rows) = batches.next()
        {
            if rows.len > missing {
                self.rows.push(rows.slice(missing, rows.len.saturating_sub(missing)));
                group.push(rows.slice(0, missing));
                missing = 0;
            } else {
                missing = missing.saturating_sub(rows.len);
                group.push(rows);
            }
        }
        self.rows.extend(batches);
        self.row_count = self.row_count.saturating_sub(row_count);
        self.bytes = self.rows.iter().map(Rows::bytes).sum();
        group
    }

    /// Begins the file with these properties, unless it has begun.
    fn begin(
        &mut self,
        properties: impl FnOnce(&Layout, &[Rows]) -> WriterProperties,
    ) -> io::Result<&mut ArrowWriter<W>> {
        if let State::Buffered(_) = self.state
            && let State::Buffered(out) = std::mem::replace(&mut self.state, State::Failed)
        {
            let properties = properties(&self.layout, &self.rows);
            // What the schema of Arrow has beyond that of Parquet is in the metadata already.
            let options =
                ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
            let writer = ArrowWriter::try_new_with_options(out, SchemaRef::clone(&self.schema), options);
            self.state = State::Written(Box::new(writer.map_err(from_parquet)?));
        }
        match &mut self.state {
            State::Written(writer) => Ok(writer),
            State::Buffered(_) | State::Failed => Err(failed()),
        }
    }
}

impl<W: Write + Send> fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetWriter").field("rows_written", &self.rows_written).finish_non_exhaustive()
    }
}

fn failed() -> io::Error {
    io::Error::other("an earlier row group could not be written")
}

pub(super) fn from_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}

pub(super) fn from_parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}
