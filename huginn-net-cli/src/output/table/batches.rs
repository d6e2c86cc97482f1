//! Events as Parquet files and as Arrow streams.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use arrow_ipc::writer::StreamWriter;
use huginn_net::Event;
use huginn_net_arrow::arrow_array::RecordBatch;
use huginn_net_arrow::arrow_schema::{ArrowError, SchemaRef};
use huginn_net_arrow::{
    EventBatchBuilder, PARQUET_BATCH_ROWS, ParquetCompression, ParquetFolder, ParquetWriter, UnknownColumn,
    columns,
};
use tempfile::TempDir;

#[cfg(unix)]
use crate::output::unfinished_file::UnfinishedFile;
use crate::output::{Document, OwnFields, Target};
use crate::paths::parent_directory;

/// The columns of tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableColumns {
    /// Names of columns or fields; all if empty.
    pub(crate) fields: Vec<String>,
    pub(crate) connection_ids: bool,
    pub(crate) own_fields: OwnFields,
}

impl TableColumns {
    /// A builder of rows with these columns.
    pub(crate) fn builder(&self) -> Result<EventBatchBuilder, UnknownColumn> {
        let builder = EventBatchBuilder::new().connection_ids(self.connection_ids);
        let names: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        let builder = if names.is_empty() { builder } else { builder.columns(&names)? };
        Ok(builder.constants(self.own_fields.iter()))
    }
}

/// Whether tables of events have a column with this name.
pub(crate) fn is_column(name: &str) -> bool {
    columns().iter().any(|column| column.name == name)
}

/// Forms of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableFormat {
    Parquet,
    /// A folder with a Parquet file for each kind of events.
    ParquetTables,
    Arrow,
}

/// Writes events as a table.
pub(crate) struct BatchWriter {
    builder: EventBatchBuilder,
    table: Table,
}

enum Table {
    Parquet(Box<ParquetWriter<Document>>),
    Folder(Box<ParquetFolder>, UnfinishedFolder),
    Stream(Box<StreamWriter<Document>>),
}

impl BatchWriter {
    /// Creates the table: in a file, on standard output, or in a new folder.
    pub(crate) fn create(
        target: &Target,
        format: TableFormat,
        builder: EventBatchBuilder,
    ) -> io::Result<Self> {
        let schema = SchemaRef::clone(builder.schema());
        let table = match (format, target) {
            (TableFormat::Arrow, _) => {
                let out = Document::create(target)?;
                Table::Stream(Box::new(StreamWriter::try_new(out, &schema).map_err(from_arrow)?))
            }
            (TableFormat::ParquetTables, Target::File(path)) => {
                let folder = UnfinishedFolder::create(path)?;
                let path = folder.temporary.path().to_owned();
                let tables = ParquetFolder::new(path, &schema, true, None, ParquetCompression::default())?;
                Table::Folder(Box::new(tables), folder)
            }
            _ => Table::parquet(Document::create(target)?, schema)?,
        };
        Ok(Self::new(builder, table))
    }

    /// Creates a Parquet file that gets its name once it is complete. It does not replace a file.
    #[cfg(unix)]
    pub(super) fn new_parquet_file(name: &Path, builder: EventBatchBuilder) -> io::Result<Self> {
        let (file, unfinished) = UnfinishedFile::create(name, false, 0o640)?;
        let schema = SchemaRef::clone(builder.schema());
        let table = Table::parquet(Document::new(file, Some(unfinished)), schema)?;
        Ok(Self::new(builder, table))
    }

    fn new(builder: EventBatchBuilder, table: Table) -> Self {
        let builder = match table {
            Table::Stream(_) => builder,
            Table::Parquet(_) | Table::Folder(..) => builder.batch_rows(PARQUET_BATCH_ROWS),
        };
        Self { builder, table }
    }

    /// Length of a Parquet file so far, in bytes, with an estimate for rows that wait in memory.
    #[cfg(unix)]
    pub(super) fn parquet_bytes(&self) -> u64 {
        match &self.table {
            Table::Parquet(writer) => u64::try_from(writer.estimated_len()).unwrap_or(u64::MAX),
            Table::Folder(..) | Table::Stream(_) => 0,
        }
    }

    /// Appends an event. `file`: the capture file, if several are read.
    pub(crate) fn append(&mut self, event: &Event, file: Option<&str>) -> io::Result<()> {
        self.builder.append(event, file);
        if self.builder.is_complete() { self.write_batch() } else { Ok(()) }
    }

    fn write_batch(&mut self) -> io::Result<()> {
        let batch = self.builder.finish().map_err(from_arrow)?;
        self.table.write(batch)
    }

    /// Writes the remaining events and the end of the table, and gives the file its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if !self.builder.is_empty() {
            self.write_batch()?;
        }
        match self.table {
            Table::Parquet(writer) => writer.finish()?.complete(),
            Table::Folder(writer, folder) => {
                writer.finish()?;
                folder.complete()
            }
            Table::Stream(mut writer) => {
                writer.finish().map_err(from_arrow)?;
                writer.into_inner().map_err(from_arrow)?.complete()
            }
        }
    }
}

impl Table {
    fn parquet(out: Document, schema: SchemaRef) -> io::Result<Self> {
        Ok(Self::Parquet(Box::new(ParquetWriter::new(out, schema, ParquetCompression::default())?)))
    }

    fn write(&mut self, batch: RecordBatch) -> io::Result<()> {
        match self {
            Self::Parquet(writer) => writer.write(batch),
            Self::Folder(writer, _) => writer.write(&batch),
            Self::Stream(writer) => {
                writer.write(&batch).map_err(from_arrow)?;
                // A reader of a pipe gets complete batches.
                writer.flush().map_err(from_arrow)
            }
        }
    }
}

/// A folder with a temporary name beside its own, which it gets once it is complete.
struct UnfinishedFolder {
    temporary: TempDir,
    path: PathBuf,
}

impl UnfinishedFolder {
    /// Creates the folder. None may have its name.
    fn create(path: &Path) -> io::Result<Self> {
        if path.symlink_metadata().is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "exists already: --tables writes a new folder",
            ));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".huginn-net-").suffix(".unfinished");
        #[cfg(unix)]
        builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o750));
        let temporary = builder.tempdir_in(parent_directory(path));
        // The error of the builder names the temporary folder.
        let temporary = temporary.map_err(|error| io::Error::from(error.kind()))?;
        Ok(Self { temporary, path: path.to_owned() })
    }

    /// Gives the folder its name.
    fn complete(self) -> io::Result<()> {
        fs::rename(self.temporary.path(), &self.path)?;
        // There is nothing to remove.
        let _ = self.temporary.keep();
        Ok(())
    }
}

fn from_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}
