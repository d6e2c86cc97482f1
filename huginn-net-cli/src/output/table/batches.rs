//! Events as Parquet files and as Arrow streams.

use std::io;
#[cfg(unix)]
use std::path::Path;

use arrow_ipc::writer::StreamWriter;
use huginn_net::Event;
use huginn_net_arrow::arrow_schema::{ArrowError, SchemaRef};
use huginn_net_arrow::{EventBatchBuilder, columns};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

#[cfg(unix)]
use crate::output::unfinished_file::UnfinishedFile;
use crate::output::{Document, OwnFields, TableFormat, Target};

/// Rows of a record batch.
#[cfg(feature = "parquet")]
const BATCH_ROWS: usize = 8192;

/// Bytes of texts from which on a record batch is complete: packets choose how long their texts are.
#[cfg(feature = "parquet")]
const BATCH_TEXT_BYTES: usize = 16 << 20;

/// Maximum number of rows of a row group of a Parquet file.
#[cfg(feature = "parquet")]
const ROW_GROUP_ROWS: usize = 1 << 18;

/// Maximum length of a row group of a Parquet file, in encoded bytes. It is kept in memory until it is complete.
#[cfg(feature = "parquet")]
const ROW_GROUP_BYTES: usize = 64 << 20;

/// The rows of a table of events.
pub(crate) fn event_batches(connection_ids: bool, own: &OwnFields) -> EventBatchBuilder {
    EventBatchBuilder::new().connection_ids(connection_ids).constants(own.iter())
}

/// Whether tables of events have a column with this name.
pub(crate) fn is_column(name: &str) -> bool {
    columns().iter().any(|column| column.name == name)
}

/// Writes events as a table.
pub(crate) struct BatchWriter {
    builder: EventBatchBuilder,
    table: Table,
}

enum Table {
    Parquet(Box<ArrowWriter<Document>>),
    Stream(Box<StreamWriter<Document>>),
}

impl BatchWriter {
    /// Creates the table: in a file, or on standard output.
    pub(crate) fn create(
        target: &Target,
        format: TableFormat,
        builder: EventBatchBuilder,
    ) -> io::Result<Self> {
        let out = Document::create(target)?;
        let schema = SchemaRef::clone(builder.schema());
        let table = match format {
            TableFormat::Arrow => {
                Table::Stream(Box::new(StreamWriter::try_new(out, &schema).map_err(from_arrow)?))
            }
            TableFormat::Parquet => Table::parquet(out, schema)?,
        };
        Ok(Self { builder, table })
    }

    /// Creates a Parquet file that gets its name once it is complete. It does not replace a file.
    #[cfg(unix)]
    pub(super) fn new_parquet_file(name: &Path, builder: EventBatchBuilder) -> io::Result<Self> {
        let (file, unfinished) = UnfinishedFile::create(name, false, 0o640)?;
        let schema = SchemaRef::clone(builder.schema());
        let table = Table::parquet(Document::new(file, Some(unfinished)), schema)?;
        Ok(Self { builder, table })
    }

    /// Length of a Parquet file so far, in bytes: what is written, and what waits in encoded form.
    #[cfg(unix)]
    pub(super) fn parquet_bytes(&self) -> u64 {
        match &self.table {
            Table::Parquet(writer) => {
                let bytes = writer.bytes_written().saturating_add(writer.in_progress_size());
                u64::try_from(bytes).unwrap_or(u64::MAX)
            }
            Table::Stream(_) => 0,
        }
    }

    /// Appends an event. `file`: the capture file, if several are read.
    pub(crate) fn append(&mut self, event: &Event, file: Option<&str>) -> io::Result<()> {
        self.builder.append(event, file);
        let is_full = self.builder.len() >= BATCH_ROWS || self.builder.text_len() >= BATCH_TEXT_BYTES;
        if is_full { self.write_batch() } else { Ok(()) }
    }

    fn write_batch(&mut self) -> io::Result<()> {
        let batch = self.builder.finish().map_err(from_arrow)?;
        match &mut self.table {
            Table::Parquet(writer) => writer.write(&batch).map_err(from_parquet),
            Table::Stream(writer) => {
                writer.write(&batch).map_err(from_arrow)?;
                // A reader of a pipe gets complete batches.
                writer.flush().map_err(from_arrow)
            }
        }
    }

    /// Writes the remaining events and the end of the table, and gives the file its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if !self.builder.is_empty() {
            self.write_batch()?;
        }
        let out = match self.table {
            Table::Parquet(writer) => writer.into_inner().map_err(from_parquet)?,
            Table::Stream(mut writer) => {
                writer.finish().map_err(from_arrow)?;
                writer.into_inner().map_err(from_arrow)?
            }
        };
        out.complete()
    }
}

impl Table {
    fn parquet(out: Document, schema: SchemaRef) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("huginn-net ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
            .build();
        let writer = ArrowWriter::try_new(out, schema, Some(properties)).map_err(from_parquet)?;
        Ok(Self::Parquet(Box::new(writer)))
    }
}

fn from_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}

fn from_parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}
