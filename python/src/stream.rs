//! Batches of several inputs, one after the other.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use huginn_net::{CaptureError, CaptureReader};
use huginn_net_arrow::{EventBatches, HostRecordBatches, host_record_schema};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::capture::Options;

/// A capture that is not opened yet.
pub(crate) enum Input {
    Path(PathBuf),
    Bytes(Arc<[u8]>),
    File(PyReader),
}

impl Input {
    /// The name in the column `file`.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Bytes(_) => "<bytes>".to_owned(),
            Self::File(_) => "<file>".to_owned(),
        }
    }

    /// Opens the capture. `name`: the name in errors, if it is not that of the input.
    pub(crate) fn open(self, name: Option<&str>, options: &Options) -> Result<CaptureReader, CaptureError> {
        let reader = match self {
            Self::Path(path) => CaptureReader::open(path),
            Self::Bytes(bytes) => {
                CaptureReader::from_reader(name.unwrap_or("<bytes>"), io::Cursor::new(bytes))
            }
            Self::File(file) => CaptureReader::from_reader(name.unwrap_or("<file>"), file),
        };
        Ok(reader?.max_compression_ratio(options.max_compression_ratio))
    }
}

/// A Python object with a method `read`.
pub(crate) struct PyReader(pub(crate) Py<PyAny>);

impl Read for PyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let data = self.0.call_method1(py, "read", (buffer.len(),))?;
            let data = data.bind(py).cast::<PyBytes>().map_err(PyErr::from)?.as_bytes();
            let target = buffer.get_mut(..data.len()).ok_or(io::ErrorKind::InvalidData)?;
            target.copy_from_slice(data);
            Ok(data.len())
        })
    }
}

/// A table that is complete.
#[pyclass(frozen)]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub(crate) fn new(schema: &SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema: SchemaRef::clone(schema), batches }
    }
}

#[pymethods]
impl Table {
    /// A stream of Arrow record batches: the Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore the request.
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        capsule(py, RecordBatchIterator::new(batches, SchemaRef::clone(&self.schema)))
    }
}

/// Makes the capsule of the Arrow PyCapsule interface.
pub(crate) fn capsule(
    py: Python<'_>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
}

/// The rows of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    Events,
    HostRecords,
}

/// The batches of all inputs. An input that cannot be read ends them with an error, or is skipped.
pub(crate) struct Batches {
    inputs: VecDeque<(Input, Option<String>)>,
    options: Options,
    rows: Rows,
    current: Option<Box<dyn RecordBatchReader + Send>>,
    /// Errors of skipped inputs.
    skipped: Arc<std::sync::Mutex<Vec<String>>>,
}

impl Batches {
    pub(crate) fn new(
        inputs: VecDeque<(Input, Option<String>)>,
        options: Options,
        rows: Rows,
        skipped: Arc<std::sync::Mutex<Vec<String>>>,
    ) -> Self {
        Self { inputs, options, rows, current: None, skipped }
    }

    /// Starts the next input; `None` after the last one.
    fn start(&mut self) -> Option<Result<Box<dyn RecordBatchReader + Send>, ArrowError>> {
        let (input, name) = self.inputs.pop_front()?;
        let outside = |error: &dyn std::error::Error| ArrowError::ExternalError(error.to_string().into());
        let reader = match input.open(name.as_deref(), &self.options) {
            Ok(reader) => reader,
            Err(error) => return Some(Err(outside(&error))),
        };
        let options = &self.options;
        let batches: io::Result<Box<dyn RecordBatchReader + Send>> = match self.rows {
            Rows::Events => {
                EventBatches::with_builder(options.analyzer(false), reader, options.builder(), name)
                    .map(|batches| Box::new(batches) as _)
            }
            Rows::HostRecords => HostRecordBatches::new(options.first_stage(), reader, name)
                .map(|batches| Box::new(batches) as _),
        };
        Some(batches.map_err(|error| outside(&error)))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let failed = match &mut self.current {
                Some(batches) => match batches.next() {
                    Some(Err(error)) => error,
                    Some(batch) => return Some(batch),
                    None => {
                        self.current = None;
                        continue;
                    }
                },
                None => match self.start()? {
                    Ok(batches) => {
                        self.current = Some(batches);
                        continue;
                    }
                    Err(error) => error,
                },
            };
            self.current = None;
            if !self.options.skips_errors {
                self.inputs.clear();
                return Some(Err(failed));
            }
            if let Ok(mut skipped) = self.skipped.lock() {
                skipped.push(failed.to_string());
            }
        }
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        match self.rows {
            Rows::Events => SchemaRef::clone(self.options.builder().schema()),
            Rows::HostRecords => host_record_schema(),
        }
    }
}
