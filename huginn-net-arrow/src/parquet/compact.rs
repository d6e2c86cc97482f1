//! Joins small Parquet files.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use arrow_schema::{Fields, Metadata, Schema, SchemaRef};
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

/// The metadata with names, lengths and times of the files that a joined one replaces, in JSON.
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

/// What [`compact`] did.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Compacted {
    /// The joined files, each with the number of files that it replaces.
    pub joined: Vec<(PathBuf, usize)>,
    /// Files that cannot be read, which stay, each with the reason.
    pub skipped: Vec<(PathBuf, io::Error)>,
}

impl Compacted {
    /// Notes a file that cannot be read, unless another process has removed it.
    fn skip(&mut self, path: PathBuf, source: io::Error) {
        if source.kind() != io::ErrorKind::NotFound {
            self.skipped.push((path, source));
        }
    }
}

/// Name, length, and nanoseconds from 1970 to the last change of a file.
type FileId = (String, u64, u64);

/// A table of events.
struct Table {
    path: PathBuf,
    fields: Fields,
    /// That of the schema, without [`JOINED_KEY`].
    metadata: Metadata,
    version: String,
    rows: usize,
    bytes: u64,
    modified: SystemTime,
}

/// Why tables are not joined.
enum JoinError {
    /// A table cannot be read.
    Table(usize, io::Error),
    /// The joined file cannot be written.
    Other(CompactError),
}

/// Joins the files of less than 65,536 rows in a folder, and in each folder within, to files of up to a million rows.
///
/// Only files that did not change since `changed_before` are joined, and those with the same columns. Hidden files and folders, which are
/// incomplete, and Parquet files of other programs stay, as do files that cannot be read. A joined file is complete before it gets its name, and
/// then the others are removed: what the program does not get to before it is killed, the next call does. Such a call may leave a hidden file
/// whose name ends in `.unfinished`. Two calls must not run for a folder at the same time. On Unix the joined file has the permissions of the
/// first of the others, at most those to read and write for the owner, and to read for the group.
///
/// # Errors
///
/// [`CompactError`]; files that were joined before stay so.
pub fn compact(
    folder: &Path,
    changed_before: SystemTime,
    compression: ParquetCompression,
) -> Result<Compacted, CompactError> {
    let mut done = Compacted::default();
    // Tables have few different columns.
    let mut known_fields = HashSet::new();
    let top = folder;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |source| CompactError::Io { path: folder.clone(), source };
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder != top => continue,
            entries => entries.map_err(failed)?,
        };
        let (mut tables, mut replaced) = (Vec::new(), HashSet::new());
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with(['.', '_']) {
                continue;
            }
            // Links may lead out of the folder.
            let file_type = match entry.file_type() {
                Ok(file_type) => file_type,
                Err(error) => {
                    done.skip(entry.path(), error);
                    continue;
                }
            };
            if file_type.is_dir() {
                folders.push(entry.path());
            } else if file_type.is_file() && name.ends_with(EXTENSION) {
                match Table::read(entry.path(), &mut known_fields, &mut replaced) {
                    Ok(table) => tables.extend(table.filter(|table| table.rows < GROUP_ROWS)),
                    Err(error) => done.skip(entry.path(), error),
                }
            }
        }
        remove_replaced(&mut tables, &replaced)?;
        join_tables(tables, changed_before, compression, &mut done)?;
    }
    done.joined.sort();
    done.skipped.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(done)
}

impl Table {
    /// Reads the metadata of a file; `None` if it is not a table of events. Adds the files that it replaces.
    fn read(
        path: PathBuf,
        known_fields: &mut HashSet<Fields>,
        replaced: &mut HashSet<FileId>,
    ) -> io::Result<Option<Self>> {
        let file = File::open(&path)?;
        let found = file.metadata()?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(from_parquet)?;
        let schema = reader.schema();
        let Some(version) = schema.metadata().get(SCHEMA_KEY).cloned() else { return Ok(None) };
        let mut metadata = schema.metadata().clone();
        if let Some(text) = metadata.remove(JOINED_KEY) {
            replaced.extend(serde_json::from_str::<Vec<FileId>>(&text)?);
        }
        let fields = known_fields.get(schema.fields()).unwrap_or(schema.fields()).clone();
        known_fields.insert(fields.clone());
        let rows = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(usize::MAX);
        let modified = found.modified()?;
        Ok(Some(Self { path, fields, metadata, version, rows, bytes: found.len(), modified }))
    }

    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    fn id(&self) -> FileId {
        let since_1970 = self.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        (self.name().to_owned(), self.bytes, u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Removes the file, unless another process has.
    fn remove(&self) -> Result<(), CompactError> {
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(CompactError::Io { path: self.path.clone(), source })
            }
            _ => Ok(()),
        }
    }
}

/// Removes the files that a joined one replaces, which a call before did not get to.
fn remove_replaced(tables: &mut Vec<Table>, replaced: &HashSet<FileId>) -> Result<(), CompactError> {
    let is_replaced = |table: &_| replaced.contains(&Table::id(table));
    tables.iter().filter(|table| is_replaced(table)).try_for_each(Table::remove)?;
    tables.retain(|table| !is_replaced(table));
    Ok(())
}

/// Joins the small tables of a folder.
fn join_tables(
    mut tables: Vec<Table>,
    changed_before: SystemTime,
    compression: ParquetCompression,
    done: &mut Compacted,
) -> Result<(), CompactError> {
    tables.retain(|table| table.modified <= changed_before);
    tables.sort_by(|a, b| a.path.cmp(&b.path));
    if let Some(first) = tables.first()
        && let Some(second) = tables.iter().find(|table| table.version != first.version)
    {
        let named = |table: &Table| (table.path.clone(), table.version.clone());
        return Err(CompactError::MixedVersions { first: named(first), second: named(second) });
    }
    let mut with_fields: HashMap<Fields, (Vec<Table>, usize)> = HashMap::new();
    for table in tables {
        let (part, rows) = with_fields.entry(table.fields.clone()).or_default();
        if rows.saturating_add(table.rows) > MAX_ROWS {
            join_part(std::mem::take(part), compression, done)?;
            *rows = 0;
        }
        *rows = rows.saturating_add(table.rows);
        part.push(table);
    }
    with_fields.into_values().try_for_each(|(part, _)| join_part(part, compression, done))
}

/// Joins tables with the same columns, but for those that cannot be read.
fn join_part(
    mut part: Vec<Table>,
    compression: ParquetCompression,
    done: &mut Compacted,
) -> Result<(), CompactError> {
    while part.len() > 1 {
        match join(&part, compression) {
            Ok(path) => {
                done.joined.push((path, part.len()));
                break;
            }
            Err(JoinError::Table(place, error)) => done.skip(part.remove(place).path, error),
            Err(JoinError::Other(error)) => return Err(error),
        }
    }
    Ok(())
}

/// Joins tables with the same columns. Returns the path of the new file.
fn join(tables: &[Table], compression: ParquetCompression) -> Result<PathBuf, JoinError> {
    let Some(first) = tables.first() else { return Ok(PathBuf::new()) };
    let path = joined_path(first, tables);
    let failed = |source| JoinError::Other(CompactError::Io { path: path.clone(), source });
    let others = || tables.iter().filter(|table| table.path != path);
    let replaced = serde_json::to_string(&others().map(Table::id).collect::<Vec<_>>());
    let replaced = replaced.map_err(|error| failed(error.into()))?;
    let unfinished = tempfile::Builder::new().prefix(".").suffix(".unfinished").tempfile_in(folder_of(&path));
    let unfinished = unfinished.map_err(failed)?;
    write(tables, first, &replaced, unfinished.as_file(), compression, &failed)?;
    unfinished.persist(&path).map_err(|error| failed(error.error))?;
    sync_folder(&path).map_err(failed)?;
    others().try_for_each(Table::remove).map_err(JoinError::Other)?;
    Ok(path)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
    first: &Table,
    replaced: &str,
    out: &File,
    compression: ParquetCompression,
    failed: &impl Fn(io::Error) -> JoinError,
) -> Result<(), JoinError> {
    let schema = SchemaRef::new(Schema::new_with_metadata(first.fields.clone(), first.metadata.clone()));
    let mut writer = ParquetWriter::new(BufWriter::new(out), schema, compression)
        .map_err(failed)?
        .metadata(JOINED_KEY, replaced);
    for (place, table) in tables.iter().enumerate() {
        let unreadable = |error| JoinError::Table(place, error);
        let file = File::open(&table.path).map_err(unreadable)?;
        if place == 0 {
            copy_permissions(&file, out).map_err(failed)?;
        }
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .and_then(|reader| reader.with_batch_size(BATCH_ROWS).build())
            .map_err(|error| unreadable(from_parquet(error)))?;
        for batch in reader {
            let batch = batch.map_err(|error| unreadable(from_arrow(error)))?;
            writer.write(batch).map_err(failed)?;
        }
    }
    let out = writer.finish().and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error));
    out.and_then(|out| out.sync_all()).map_err(failed)
}

/// Lets the group read a file if it may read the other one.
#[cfg(unix)]
fn copy_permissions(from: &File, to: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let mode = from.metadata()?.permissions().mode();
    to.set_permissions(fs::Permissions::from_mode(mode & 0o640))
}

/// Other systems have the permissions of the folder.
#[cfg(not(unix))]
fn copy_permissions(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}

/// Waits until the name of a file is on the disk.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// Other systems cannot open a folder.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
