//! Tables, and the batches of an analysis.

use std::ops::ControlFlow;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{Schema, SchemaRef};
use huginn_net::Event;
use huginn_net_arrow::{Batches, EventBatchBuilder, PARQUET_BATCH_ROWS};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::ReadErrors;
use crate::in_order::InOrder;
use crate::inputs::Inputs;

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

/// The batches of the events of captures for a writer of Parquet: short ones that do not wait, so that they need little memory.
pub(crate) fn short_event_batches(inputs: Inputs) -> InOrder<Batches<ReadErrors>> {
    batches_of(inputs, |inputs, _| (inputs.options.builder().batch_rows(PARQUET_BATCH_ROWS), 0))
}

/// The batches of the events of captures.
pub(crate) fn event_batches(inputs: Inputs) -> InOrder<Batches<ReadErrors>> {
    batches_of(inputs, |inputs, waiting| (inputs.options.builder(), waiting))
}

fn batches_of(
    inputs: Inputs,
    start: impl Fn(&Inputs, usize) -> (EventBatchBuilder, usize) + Send + 'static,
) -> InOrder<Batches<ReadErrors>> {
    InOrder::new(inputs, move |inputs, waiting| {
        let (builder, waiting) = start(&inputs, waiting);
        Batches::of_events(builder, waiting, move |mut rows| {
            let (outcome, errors) = inputs.for_each(|reader, name, options| {
                let mut flow = ControlFlow::Continue(());
                options.analyzer(false).analyze(reader, &mut |event: Event| {
                    if options.takes(&event, name) {
                        flow = rows.append(&event, name);
                    }
                    flow
                })?;
                Ok(flow)
            });
            if let Err(error) = outcome {
                rows.fail(error);
            }
            errors
        })
    })
}

/// The batches of the first stage of an analysis in two stages.
pub(crate) fn host_record_batches(inputs: Inputs) -> InOrder<Batches<ReadErrors>> {
    InOrder::new(inputs, |inputs, waiting| {
        Batches::of_host_records(waiting, move |mut rows| {
            let (outcome, errors) = inputs
                .for_each(|reader, name, options| rows.append_all(&mut options.first_stage(), reader, name));
            if let Err(error) = outcome {
                rows.fail(error);
            }
            errors
        })
    })
}
