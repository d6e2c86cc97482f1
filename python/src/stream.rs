//! Batches of several inputs, one after the other.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use huginn_net::{CaptureError, CaptureReader};
use huginn_net_arrow::EventBatches;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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

    pub(crate) fn open(self) -> Result<CaptureReader, CaptureError> {
        match self {
            Self::Path(path) => CaptureReader::open(path),
            Self::Bytes(bytes) => CaptureReader::from_reader("<bytes>", io::Cursor::new(bytes)),
            Self::File(file) => CaptureReader::from_reader("<file>", file),
        }
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

/// The batches of all inputs. An input that cannot be read ends them with an error, or is skipped.
pub(crate) struct Batches {
    inputs: VecDeque<(Input, Option<String>)>,
    options: Options,
    current: Option<EventBatches>,
    /// Errors of skipped inputs.
    skipped: Arc<std::sync::Mutex<Vec<String>>>,
}

impl Batches {
    pub(crate) fn new(
        inputs: VecDeque<(Input, Option<String>)>,
        options: Options,
        skipped: Arc<std::sync::Mutex<Vec<String>>>,
    ) -> Self {
        Self { inputs, options, current: None, skipped }
    }

    /// Starts the next input; `None` after the last one.
    fn start(&mut self) -> Option<Result<EventBatches, ArrowError>> {
        let (input, name) = self.inputs.pop_front()?;
        let outside = |error: &dyn std::error::Error| ArrowError::ExternalError(error.to_string().into());
        let reader = match input.open() {
            Ok(reader) => reader,
            Err(error) => return Some(Err(outside(&error))),
        };
        let batches =
            EventBatches::with_builder(self.options.analyzer(false), reader, self.options.builder(), name);
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
        SchemaRef::clone(self.options.builder().schema())
    }
}
