//! Joins small Parquet files.

use std::error::Error;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::layout::{GROUP_ROWS, ParquetCompression};
use super::writer::{ParquetWriter, from_arrow, from_parquet};

/// Rows of a joined file, at most.
const MAX_ROWS: usize = 1 << 20;

/// Rows of a batch that is read.
const BATCH_ROWS: usize = 8192;

/// The end of the names of files.
const EXTENSION: &str = ".parquet";

/// The end of the names of joined files.
const JOINED: &str = ".joined.parquet";

/// The metadata with the version of the schema.
const SCHEMA_KEY: &str = "huginn_net.schema";

/// The metadata with the names and lengths of the files that a joined one replaces, in JSON.
const JOINED_KEY: &str = "huginn_net.joined";

/// Why small files are not joined.
#[derive(Debug)]
#[non_exhaustive]
pub enum CompactError {
    /// A folder or file cannot be read or written.
    Io {
        /// The folder or file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Tables of a folder have schemas of different versions.
    MixedVersions {
        /// A file and its version.
        first: (PathBuf, String),
        /// Another file and its version.
        second: (PathBuf, String),
    },
}

impl fmt::Display for CompactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::MixedVersions { first, second } => write!(
                f,
                "{} has version {} of the schema, and {} version {}: move those of one version to another folder",
                first.0.display(),
                first.1,
                second.0.display(),
                second.1
            ),
        }
    }
}

impl Error for CompactError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::MixedVersions { .. } => None,
        }
    }
}

/// A table of events.
struct Table {
    path: PathBuf,
    schema: SchemaRef,
    version: String,
    rows: usize,
    bytes: u64,
    modified: SystemTime,
    /// Names and lengths of the files that it replaces.
    replaces: Vec<(String, u64)>,
}

/// Joins the files of less than 65,536 rows in a folder, and in each folder within, to files of up to a million rows. Returns those, each with
/// the number of files that it replaces.
///
/// Only files that did not change since `changed_before` are joined, and those with the same columns. Hidden files and folders, which are
/// incomplete, and Parquet files of other programs stay. A joined file is complete before it gets its name, and then the others are removed: what
/// the program does not get to before it is killed, the next call does. Two calls must not run for a folder at the same time.
///
/// # Errors
///
/// [`CompactError`]; files that were joined before stay so.
pub fn compact(
    folder: &Path,
    changed_before: SystemTime,
    compression: ParquetCompression,
) -> Result<Vec<(PathBuf, usize)>, CompactError> {
    let mut joined = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |source| CompactError::Io { path: folder.clone(), source };
        let mut tables = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // Links may lead out of the folder.
            let file_type = entry.file_type().map_err(failed)?;
            if name.starts_with(['.', '_']) {
                continue;
            }
            if file_type.is_dir() {
                folders.push(entry.path());
            } else if file_type.is_file() && name.ends_with(EXTENSION) {
                let read = Table::read(entry.path());
                tables.extend(read.map_err(|source| CompactError::Io { path: entry.path(), source })?);
            }
        }
        remove_replaced(&mut tables)?;
        join_tables(tables, changed_before, compression, &mut joined)?;
    }
    joined.sort();
    Ok(joined)
}

impl Table {
    /// Reads the metadata of a file; `None` if it is not a table of events.
    fn read(path: PathBuf) -> io::Result<Option<Self>> {
        let file = File::open(&path)?;
        let found = file.metadata()?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(from_parquet)?;
        let schema = SchemaRef::clone(reader.schema());
        let Some(version) = schema.metadata().get(SCHEMA_KEY).cloned() else { return Ok(None) };
        let replaces =
            schema.metadata().get(JOINED_KEY).map(|text| serde_json::from_str(text)).transpose()?;
        let rows = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(usize::MAX);
        Ok(Some(Self {
            path,
            schema,
            version,
            rows,
            bytes: found.len(),
            modified: found.modified()?,
            replaces: replaces.unwrap_or_default(),
        }))
    }

    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    fn failed(&self, source: io::Error) -> CompactError {
        CompactError::Io { path: self.path.clone(), source }
    }
}

/// Removes the files that a joined one replaces, which a call before did not get to.
fn remove_replaced(tables: &mut Vec<Table>) -> Result<(), CompactError> {
    let replaced: Vec<(String, u64)> =
        tables.iter().flat_map(|table| table.replaces.iter().cloned()).collect();
    let mut outcome = Ok(());
    tables.retain(|table| {
        let is_replaced = replaced.iter().any(|(name, bytes)| name == table.name() && *bytes == table.bytes);
        if is_replaced && outcome.is_ok() {
            outcome = fs::remove_file(&table.path).map_err(|source| table.failed(source));
        }
        !is_replaced
    });
    outcome
}

/// Joins the small tables of a folder.
fn join_tables(
    mut tables: Vec<Table>,
    changed_before: SystemTime,
    compression: ParquetCompression,
    joined: &mut Vec<(PathBuf, usize)>,
) -> Result<(), CompactError> {
    tables.retain(|table| table.rows < GROUP_ROWS && table.modified <= changed_before);
    tables.sort_by(|a, b| a.path.cmp(&b.path));
    if let Some(first) = tables.first()
        && let Some(second) = tables.iter().find(|table| table.version != first.version)
    {
        let named = |table: &Table| (table.path.clone(), table.version.clone());
        return Err(CompactError::MixedVersions { first: named(first), second: named(second) });
    }
    while let Some(first) = tables.first() {
        let schema = SchemaRef::clone(&first.schema);
        let mut rows = 0_usize;
        let part: Vec<Table> = tables
            .extract_if(.., |table| {
                let fits = table.schema.fields() == schema.fields()
                    && (rows == 0 || rows.saturating_add(table.rows) <= MAX_ROWS);
                if fits {
                    rows = rows.saturating_add(table.rows).max(1);
                }
                fits
            })
            .collect();
        if part.len() > 1 {
            joined.push((join(&part, compression)?, part.len()));
        }
    }
    Ok(())
}

/// Joins tables with the same columns. Returns the path of the new file.
fn join(tables: &[Table], compression: ParquetCompression) -> Result<PathBuf, CompactError> {
    let Some(first) = tables.first() else { return Ok(PathBuf::new()) };
    let path = joined_path(first, tables);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // A call that is killed leaves the file, and the next one writes it anew.
    let unfinished = path.with_file_name(format!(".{name}.unfinished"));
    let failed = |source| CompactError::Io { path: path.clone(), source };
    let replaced: Vec<(&str, u64)> =
        tables.iter().filter(|table| table.path != path).map(|table| (table.name(), table.bytes)).collect();
    let replaced = serde_json::to_string(&replaced).map_err(|error| failed(error.into()))?;
    let written = write(tables, &first.schema, &replaced, &unfinished, compression)
        .and_then(|()| fs::rename(&unfinished, &path).map_err(failed));
    if let Err(error) = written {
        // The first error counts.
        let _ = fs::remove_file(&unfinished);
        return Err(error);
    }
    sync_folder(&path).map_err(failed)?;
    for table in tables.iter().filter(|table| table.path != path) {
        fs::remove_file(&table.path).map_err(|source| table.failed(source))?;
    }
    Ok(path)
}

/// The name of the joined file follows from that of the first table. It replaces no file but tables that it contains.
fn joined_path(first: &Table, tables: &[Table]) -> PathBuf {
    let name = first.name();
    if name.ends_with(JOINED) {
        return first.path.clone();
    }
    let stem = name.strip_suffix(EXTENSION).unwrap_or(name);
    let named = |number: u32| {
        let number = if number == 0 { String::new() } else { format!("-{number}") };
        first.path.with_file_name(format!("{stem}{number}{JOINED}"))
    };
    let is_unused = |path: &PathBuf| !path.exists() || tables.iter().any(|table| table.path == *path);
    (0..u32::MAX).map(named).find(is_unused).unwrap_or_else(|| named(u32::MAX))
}

/// Writes the rows of all tables, and waits until they are on the disk.
fn write(
    tables: &[Table],
    schema: &SchemaRef,
    replaced: &str,
    path: &Path,
    compression: ParquetCompression,
) -> Result<(), CompactError> {
    let failed = |source| CompactError::Io { path: path.to_owned(), source };
    let mut metadata = schema.metadata().clone();
    metadata.remove(JOINED_KEY);
    let schema = SchemaRef::new(schema.as_ref().clone().with_metadata(metadata));
    let out = BufWriter::new(File::create(path).map_err(failed)?);
    let mut writer =
        ParquetWriter::new(out, schema, compression).map_err(failed)?.metadata(JOINED_KEY, replaced);
    for table in tables {
        let reader = File::open(&table.path).map_err(|source| table.failed(source))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(reader)
            .and_then(|reader| reader.with_batch_size(BATCH_ROWS).build())
            .map_err(|error| table.failed(from_parquet(error)))?;
        for batch in reader {
            let batch = batch.map_err(|error| table.failed(from_arrow(error)))?;
            writer.write(batch).map_err(failed)?;
        }
    }
    let file = writer.finish().and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error));
    file.and_then(|file| file.sync_all()).map_err(failed)
}

/// Waits until the name of a file is on the disk.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Other systems cannot open a folder.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
