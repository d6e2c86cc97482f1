//! Inputs, and the batches of their analysis.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{Schema, SchemaRef};
use huginn_net::{CaptureError, CaptureReader, Event};
use huginn_net_arrow::Batches;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::capture::Options;
use crate::errors::Inputs;

/// A capture that is not opened yet.
pub(crate) enum Input {
    Path(PathBuf),
    Bytes(Arc<[u8]>),
    File(PyReader),
    /// A function that opens a file-like object.
    Opener(Py<PyAny>),
}

impl Input {
    /// Opens the capture. `name`: the name in errors, if it is not that of the input.
    pub(crate) fn open(self, name: Option<&str>, options: &Options) -> Result<CaptureReader, CaptureError> {
        let reader = match self {
            Self::Path(path) => CaptureReader::open(path),
            Self::Bytes(bytes) => {
                CaptureReader::from_reader(name.unwrap_or("<bytes>"), io::Cursor::new(bytes))
            }
            Self::File(file) => CaptureReader::from_reader(name.unwrap_or("<file>"), file),
            Self::Opener(open) => {
                let name = name.unwrap_or("<file>");
                let file = Python::attach(|py| open.call0(py)).map_err(|error| CaptureError::Open {
                    name: name.to_owned(),
                    source: io::Error::other(error),
                })?;
                CaptureReader::from_reader(name, PyReader(file))
            }
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
            let data = data.bind(py);
            // Other objects with bytes, such as a memoryview, become bytes; a text is an error.
            let data = match data.cast::<PyBytes>() {
                Ok(data) => data.clone(),
                Err(_) => {
                    py.get_type::<PyBytes>().call1((data,))?.cast_into::<PyBytes>().map_err(PyErr::from)?
                }
            };
            let data = data.as_bytes();
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

/// Makes the capsule of a schema.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema =
        FFI_ArrowSchema::try_from(schema).map_err(|error| PyValueError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// Starts the analysis of captures, whose events share batches.
pub(crate) fn event_batches(inputs: Inputs) -> io::Result<Batches<()>> {
    Batches::of_events(inputs.options.builder(), move |mut rows| {
        let outcome = inputs.for_each(|reader, name, options| {
            let mut flow = ControlFlow::Continue(());
            options.analyzer(false).analyze(reader, &mut |event: Event| {
                flow = rows.append(&event, name);
                flow
            })?;
            Ok(flow)
        });
        if let Err(error) = outcome {
            rows.fail(error);
        }
    })
}

/// Starts the first stage of an analysis in two stages.
pub(crate) fn host_record_batches(inputs: Inputs) -> io::Result<Batches<()>> {
    Batches::of_host_records(move |mut rows| {
        let outcome = inputs
            .for_each(|reader, name, options| rows.append_all(&mut options.first_stage(), reader, name));
        if let Err(error) = outcome {
            rows.fail(error);
        }
    })
}
