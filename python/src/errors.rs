//! Captures that cannot be read to their end.

use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use huginn_net::core::AnalysisError;
use pyo3::exceptions::{PyOSError, PyUserWarning};
use pyo3::prelude::*;

pyo3::create_exception!(
    huginn_net,
    CaptureError,
    PyOSError,
    "A capture cannot be read to its end: it is damaged, or no capture."
);

pyo3::create_exception!(
    huginn_net,
    CaptureWarning,
    PyUserWarning,
    "A capture that cannot be read to its end was skipped, with its reason."
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
pub(crate) struct ReadErrors(Arc<Mutex<Errors>>);

#[derive(Default)]
struct Errors {
    rows: Vec<Row>,
    /// Number of rows with a warning.
    warned: usize,
}

impl ReadErrors {
    fn lock(&self) -> MutexGuard<'_, Errors> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, input: usize, file: Option<&str>, error: &ReadError) {
        let position = match error {
            AnalysisError::Source(error) => error.position(),
            _ => None,
        };
        let row = Row { input, file: file.map(str::to_owned), error: error.to_string(), position };
        self.lock().rows.push(row);
    }

    /// Adds errors of further captures.
    pub(crate) fn extend(&self, others: &Self) {
        let others = others.lock().rows.clone();
        let rows = &mut self.lock().rows;
        for row in others {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }

    /// Warns of the captures that were skipped since the last warning.
    pub(crate) fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let skipped: Vec<String> = {
            let Errors { rows, warned } = &mut *self.lock();
            let from = std::mem::replace(warned, rows.len());
            rows.iter().skip(from).map(|row| row.error.clone()).collect()
        };
        for error in skipped {
            let message = CString::new(format!("skipped: {}", error.replace('\0', "\\0")))?;
            PyErr::warn(py, &py.get_type::<CaptureWarning>(), &message, 1)?;
        }
        Ok(())
    }

    /// The table of errors.
    pub(crate) fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let rows = &self.lock().rows;
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
fn error_schema() -> SchemaRef {
    let columns = [
        ("file", DataType::Utf8),
        ("error", DataType::Utf8),
        ("packet", DataType::Int64),
        ("offset", DataType::Int64),
    ];
    Arc::new(Schema::new(columns.map(|(name, kind)| Field::new(name, kind, true)).to_vec()))
}
