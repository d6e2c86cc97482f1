//! Captures that cannot be read to their end.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use huginn_net::CaptureReader;
use huginn_net::core::AnalysisError;
use pyo3::PyErr;
use pyo3::exceptions::PyOSError;

use crate::capture::Options;
use crate::stream::Input;

pyo3::create_exception!(
    huginn_net,
    CaptureError,
    PyOSError,
    "A capture cannot be read to its end: it is damaged, or no capture."
);

/// Why a capture was not read to its end.
pub(crate) type ReadError = AnalysisError<huginn_net::CaptureError>;

/// The Python exception of a message.
pub(crate) fn exception(error: impl ToString) -> PyErr {
    CaptureError::new_err(error.to_string())
}

/// A row of the table of errors.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    /// Place of the capture among those of an analysis: bytes have no name.
    input: usize,
    file: Option<String>,
    error: String,
    /// Number of the packet, and offset of its record.
    position: Option<(u64, u64)>,
}

/// The errors of captures so far. A capture that is read again has its error once.
#[derive(Clone, Default)]
pub(crate) struct ReadErrors(Arc<Mutex<Vec<Row>>>);

impl ReadErrors {
    fn lock(&self) -> MutexGuard<'_, Vec<Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, input: usize, file: Option<&str>, error: &ReadError) {
        let position = match error {
            AnalysisError::Source(error) => error.position(),
            _ => None,
        };
        let row = Row { input, file: file.map(str::to_owned), error: error.to_string(), position };
        let mut rows = self.lock();
        if !rows.contains(&row) {
            rows.push(row);
        }
    }

    /// The table of errors.
    pub(crate) fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let rows = self.lock();
        let number = |of: fn((u64, u64)) -> u64| -> Int64Array {
            rows.iter()
                .map(|row| row.position.and_then(|position| i64::try_from(of(position)).ok()))
                .collect()
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(rows.iter().map(|row| row.file.as_deref()).collect::<StringArray>()),
            Arc::new(rows.iter().map(|row| Some(&*row.error)).collect::<StringArray>()),
            Arc::new(number(|(packet, _)| packet)),
            Arc::new(number(|(_, offset)| offset)),
        ];
        RecordBatch::try_new(error_schema(), columns)
    }
}

/// The columns of the table of errors.
pub(crate) fn error_schema() -> SchemaRef {
    let columns = [
        ("file", DataType::Utf8),
        ("error", DataType::Utf8),
        ("packet", DataType::Int64),
        ("offset", DataType::Int64),
    ];
    Arc::new(Schema::new(columns.map(|(name, kind)| Field::new(name, kind, true)).to_vec()))
}

/// Captures that are opened one after the other.
pub(crate) struct Inputs {
    pub(crate) inputs: VecDeque<(Input, Option<String>)>,
    pub(crate) options: Options,
    pub(crate) errors: ReadErrors,
}

impl Inputs {
    /// Opens and reads each capture; notes the error of one that cannot be read to its end, and goes on if errors are
    /// skipped. Stops if `read` breaks.
    ///
    /// # Errors
    /// The error of the first capture with one, unless errors are skipped.
    pub(crate) fn for_each(
        self,
        mut read: impl FnMut(CaptureReader, Option<&str>, &Options) -> Result<ControlFlow<()>, ReadError>,
    ) -> Result<(), ReadError> {
        for (index, (input, name)) in self.inputs.into_iter().enumerate() {
            let reader = input.open(name.as_deref(), &self.options).map_err(ReadError::from);
            match reader.and_then(|reader| read(reader, name.as_deref(), &self.options)) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(error) => {
                    self.errors.push(index, name.as_deref(), &error);
                    if !self.options.skips_errors {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }
}
