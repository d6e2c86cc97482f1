//! Parquet files of captures.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::ops::Range;
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use huginn_net_arrow::{ParquetCompression, ParquetFolder, ParquetPartition, ParquetWriter, SCHEMA_VERSION};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::capture::Capture;
use crate::errors::exception;
use crate::interrupt::wait;
use crate::stream::short_event_batches;

/// The files of a capture, and its place among the captures.
type Completed = (usize, Vec<String>);

/// How a folder of Parquet files is made.
#[derive(Clone)]
struct Layout {
    schema: SchemaRef,
    tables: bool,
    partition: Option<ParquetPartition>,
    compression: ParquetCompression,
}

impl Layout {
    fn folder(&self, path: PathBuf) -> io::Result<ParquetFolder> {
        ParquetFolder::new(path, &self.schema, self.tables, self.partition, self.compression)
    }
}

/// Where rows go.
enum Sink {
    File(Box<ParquetWriter<BufWriter<File>>>),
    Folder(Box<ParquetFolder>),
    Captures(Box<Captures>),
}

/// A folder for each capture, by its place.
struct Captures {
    layout: Layout,
    path: PathBuf,
    /// The name of each capture, and that of its files.
    stems: Vec<(String, String)>,
    /// The place of the capture whose rows come.
    current: usize,
    folder: Option<ParquetFolder>,
}

/// Writes the events of captures to a Parquet file at this path, or with `tables`, `partition_by` or `stems` to files in this folder; returns
/// their paths in it. `stems` has the name of each capture, in their order, and the name of its files: these are in a folder `0`, `1` and so on
/// for each, and `done` is called with its number and the paths in it when they are complete. `progress` is called with the rows so far.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn write_parquet(
    py: Python<'_>,
    capture: &Bound<'_, Capture>,
    path: PathBuf,
    tables: bool,
    partition_by: Option<&str>,
    compression: &str,
    level: Option<i32>,
    progress: Option<Bound<'_, PyAny>>,
    stems: Option<Vec<(String, String)>>,
    done: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<String>> {
    let capture = capture.get();
    let partition = partition_by.map(partition).transpose()?;
    for name in capture.names().iter().flatten() {
        partition.map_or(Ok(()), |partition| partition.check_name(name)).map_err(not_written)?;
    }
    let schema = SchemaRef::clone(capture.builder().schema());
    let layout = Layout { schema, tables, partition, compression: self::compression(compression, level)? };
    let mut sink = Sink::new(layout, path, stems).map_err(not_written)?;
    let inputs = capture.inputs(py)?;
    let cancel = inputs.options.cancel.clone();
    let mut batches = short_event_batches(inputs);
    let report = |completed: Vec<Completed>| {
        let Some(done) = &done else { return Ok(()) };
        completed.into_iter().try_for_each(|(place, files)| done.call1((place, files)).map(drop))
    };
    let mut rows = 0_usize;
    let mut write_next = || -> PyResult<bool> {
        let Some(batch) = wait(py, &cancel, |interval| batches.poll_next(interval))? else {
            return Ok(false);
        };
        let batch = batch.map_err(unread)?;
        rows = rows.saturating_add(batch.num_rows());
        report(py.detach(|| sink.write(batch)).map_err(not_written)?)?;
        if let Some(progress) = &progress {
            progress.call1((rows,))?;
        }
        Ok(true)
    };
    let outcome = loop {
        match write_next() {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    // A thread may wait for the GIL to read a file-like object.
    py.detach(|| drop(batches));
    outcome?;
    let (completed, files) = py.detach(|| sink.finish()).map_err(not_written)?;
    report(completed)?;
    capture.skipped().map_or(Ok(()), |skipped| skipped.warn(py))?;
    Ok(files)
}

/// The version of the schema, and the names of the columns of captures.
#[pyfunction]
pub(crate) fn table_columns(capture: &Bound<'_, Capture>) -> (&'static str, Vec<String>) {
    let builder = capture.get().builder();
    (SCHEMA_VERSION, builder.schema().fields().iter().map(|field| field.name().clone()).collect())
}

fn partition(name: &str) -> PyResult<ParquetPartition> {
    match name {
        "day" => Ok(ParquetPartition::Day),
        "file" => Ok(ParquetPartition::File),
        _ => Err(PyValueError::new_err("partition_by must be 'day' or 'file'")),
    }
}

fn compression(name: &str, level: Option<i32>) -> PyResult<ParquetCompression> {
    match (name, level) {
        ("zstd", level) => {
            ParquetCompression::zstd(level).map_err(|error| PyValueError::new_err(error.to_string()))
        }
        ("snappy", None) => Ok(ParquetCompression::Snappy),
        ("none", None) => Ok(ParquetCompression::Uncompressed),
        ("snappy" | "none", Some(_)) => Err(PyValueError::new_err("level is for compression='zstd'")),
        _ => Err(PyValueError::new_err("compression must be 'zstd', 'snappy' or 'none'")),
    }
}

/// The error of a capture.
fn unread(error: ArrowError) -> PyErr {
    match error {
        ArrowError::ExternalError(error) => exception(error),
        error => exception(error),
    }
}

fn not_written(error: io::Error) -> PyErr {
    match error.kind() {
        io::ErrorKind::InvalidInput => PyValueError::new_err(error.to_string()),
        _ => match error.raw_os_error() {
            Some(code) => PyOSError::new_err((code, error.to_string())),
            None => error.into(),
        },
    }
}

impl Sink {
    fn new(layout: Layout, path: PathBuf, stems: Option<Vec<(String, String)>>) -> io::Result<Self> {
        if let Some(stems) = stems {
            if layout.schema.index_of("file").is_err() {
                let message = "append=True needs the column file";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            // Fails at once if columns are missing.
            layout.folder(path.clone())?;
            return Ok(Self::Captures(Box::new(Captures { layout, path, stems, current: 0, folder: None })));
        }
        if layout.tables || layout.partition.is_some() {
            return Ok(Self::Folder(Box::new(layout.folder(path)?)));
        }
        let out = BufWriter::new(File::create_new(path)?);
        Ok(Self::File(Box::new(ParquetWriter::new(out, layout.schema, layout.compression)?)))
    }

    /// Writes rows, and returns the captures that are complete.
    fn write(&mut self, batch: RecordBatch) -> io::Result<Vec<Completed>> {
        match self {
            Self::File(writer) => writer.write(batch)?,
            Self::Folder(folder) => folder.write(&batch)?,
            Self::Captures(captures) => return captures.write(&batch),
        }
        Ok(Vec::new())
    }

    /// Completes all files, and returns the remaining captures, or the files of a folder.
    fn finish(self) -> io::Result<(Vec<Completed>, Vec<String>)> {
        match self {
            Self::File(writer) => {
                writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
                Ok((Vec::new(), Vec::new()))
            }
            Self::Folder(folder) => Ok((Vec::new(), folder.finish()?)),
            Self::Captures(mut captures) => {
                let end = captures.stems.len();
                Ok((captures.complete_before(end)?, Vec::new()))
            }
        }
    }
}

impl Captures {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<Vec<Completed>> {
        let mut completed = Vec::new();
        for (name, rows) in runs(batch) {
            // Rows come in the order of the captures.
            let later = self.stems.iter().skip(self.current).position(|(capture, _)| *capture == name);
            let place = self.current.saturating_add(later.unwrap_or_default());
            completed.append(&mut self.complete_before(place)?);
            let folder = match &mut self.folder {
                Some(folder) => folder,
                None => self.folder.insert(begin(&self.layout, &self.path, &self.stems, place)?),
            };
            folder.write(&batch.slice(rows.start, rows.len()))?;
        }
        Ok(completed)
    }

    /// Completes the captures before a place. Those without rows have no files.
    fn complete_before(&mut self, place: usize) -> io::Result<Vec<Completed>> {
        let mut completed = Vec::new();
        while self.current < place {
            let folder = self.folder.take();
            completed.push((self.current, folder.map_or(Ok(Vec::new()), ParquetFolder::finish)?));
            self.current = self.current.saturating_add(1);
        }
        Ok(completed)
    }
}

/// Creates the folder of a capture.
fn begin(
    layout: &Layout,
    path: &std::path::Path,
    stems: &[(String, String)],
    place: usize,
) -> io::Result<ParquetFolder> {
    let path = path.join(place.to_string());
    fs::create_dir(&path)?;
    let folder = layout.folder(path)?;
    Ok(match stems.get(place) {
        Some((_, stem)) => folder.stem(stem),
        None => folder,
    })
}

/// The rows of each capture.
fn runs(batch: &RecordBatch) -> Vec<(String, Range<usize>)> {
    let Some(names) = batch.column_by_name("file").and_then(|column| column.as_string_opt::<i32>()) else {
        return Vec::new();
    };
    let mut runs: Vec<(String, Range<usize>)> = Vec::new();
    for row in 0..names.len() {
        let name = names.value(row);
        match runs.last_mut() {
            Some((last, rows)) if last == name => rows.end = row.saturating_add(1),
            _ => runs.push((name.to_owned(), row..row.saturating_add(1))),
        }
    }
    runs
}
