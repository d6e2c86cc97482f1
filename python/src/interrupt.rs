//! Ctrl-C while a thread analyses.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::thread::{self, ThreadId};
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use huginn_net::core::CancelToken;
use huginn_net_arrow::Batches;
use pyo3::prelude::*;

use crate::errors::ReadErrors;
use crate::in_order::InOrder;

/// Interval at which a caller that waits looks for Ctrl-C.
pub(crate) const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Waits without the GIL, and looks for Ctrl-C meanwhile, which cancels the analysis.
///
/// # Errors
/// KeyboardInterrupt, or what else the handler of a signal raises.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    cancel: &CancelToken,
    mut poll: impl FnMut(Duration) -> Poll<T> + Send,
) -> PyResult<T> {
    loop {
        if let Poll::Ready(value) = py.detach(|| poll(SIGNAL_INTERVAL)) {
            return Ok(value);
        }
        py.check_signals().inspect_err(|_| cancel.cancel())?;
    }
}

/// The exception that a signal raised while a library read a stream: the library has another one then.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<Mutex<Option<PyErr>>>);

impl Interrupt {
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, error: PyErr) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

/// Batches of an analysis, which end with an error at Ctrl-C.
pub(crate) struct Interruptible {
    /// `None` once it is dropped.
    batches: Option<InOrder<Batches<ReadErrors>>>,
    /// Where skipped captures are listed, if errors are skipped.
    skipped: Option<ReadErrors>,
    schema: SchemaRef,
    cancel: CancelToken,
    interrupt: Interrupt,
    /// The thread that asked for the stream. Others may wait for one that holds the GIL.
    thread: ThreadId,
}

impl Interruptible {
    pub(crate) fn new(
        batches: InOrder<Batches<ReadErrors>>,
        skipped: Option<ReadErrors>,
        schema: SchemaRef,
        cancel: CancelToken,
        interrupt: Interrupt,
    ) -> Self {
        Self { batches: Some(batches), skipped, schema, cancel, interrupt, thread: thread::current().id() }
    }
}

impl Iterator for Interruptible {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = self.batches.as_mut()?;
        let waited = if thread::current().id() == self.thread {
            Python::attach(|py| wait(py, &self.cancel, |interval| batches.poll_next(interval)))
        } else {
            loop {
                if let Poll::Ready(batch) = batches.poll_next(SIGNAL_INTERVAL) {
                    break Ok(batch);
                }
            }
        };
        let ended = |batch: Option<_>| match self.skipped.as_ref().filter(|_| batch.is_none()) {
            Some(skipped) => Python::attach(|py| skipped.warn(py)).map(|()| batch),
            None => Ok(batch),
        };
        waited.and_then(ended).unwrap_or_else(|error| {
            self.interrupt.set(error);
            Some(Err(ArrowError::ExternalError("interrupted".into())))
        })
    }
}

impl RecordBatchReader for Interruptible {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        // A thread may wait for the GIL to read a file-like object.
        let mut batches = self.batches.take();
        let _ = Python::try_attach(|py| py.detach(|| drop(batches.take())));
    }
}
