//! Events as JSON, chunk by chunk.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use huginn_net::Event;
use huginn_net::record::JsonEvent;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::capture::Options;
use crate::stream::Input;

/// Length of a chunk, in bytes, above which it is passed on.
const CHUNK_BYTES: usize = 1 << 18;
/// Chunks that wait for the reader.
const WAITING_CHUNKS: usize = 2;

type Chunk = Result<Vec<u8>, String>;

/// An iterator over bytes with one event on each line. The analysis runs in a thread, at most two chunks ahead, and ends
/// when the iterator does.
#[pyclass(frozen)]
pub(crate) struct Events(Mutex<Receiver<Chunk>>);

impl Events {
    pub(crate) fn start(
        inputs: VecDeque<(Input, Option<String>)>,
        options: Options,
        skipped: Arc<Mutex<Vec<String>>>,
    ) -> io::Result<Self> {
        let (sender, chunks) = sync_channel(WAITING_CHUNKS);
        let run = move || {
            for (input, name) in inputs {
                match analyse(input, name.as_deref(), &options, &sender) {
                    ControlFlow::Continue(None) => {}
                    ControlFlow::Continue(Some(error)) if options.skips_errors => {
                        skipped.lock().unwrap_or_else(PoisonError::into_inner).push(error);
                    }
                    ControlFlow::Continue(Some(error)) => {
                        // The reader may be gone.
                        let _ = sender.send(Err(error));
                        return;
                    }
                    ControlFlow::Break(()) => return,
                }
            }
        };
        thread::Builder::new().name("huginn-events".to_owned()).spawn(run)?;
        Ok(Self(Mutex::new(chunks)))
    }
}

#[pymethods]
impl Events {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        match py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).recv()) {
            Ok(Ok(text)) => Ok(Some(PyBytes::new(py, &text))),
            Ok(Err(error)) => Err(PyRuntimeError::new_err(error)),
            // The analysis has ended.
            Err(_) => Ok(None),
        }
    }
}

/// Sends the events of an input. Returns its error; breaks if the reader is gone.
fn analyse(
    input: Input,
    name: Option<&str>,
    options: &Options,
    chunks: &SyncSender<Chunk>,
) -> ControlFlow<(), Option<String>> {
    let reader = match input.open(name, options) {
        Ok(reader) => reader,
        Err(error) => return ControlFlow::Continue(Some(error.to_string())),
    };
    let mut text = Vec::new();
    let mut is_gone = false;
    let outcome = options.analyzer(false).analyze(reader, &mut |event: Event| {
        if !options.takes(&event) {
            return ControlFlow::Continue(());
        }
        JsonEvent { event: &event, file: name }.write_to(&mut text);
        text.push(b'\n');
        if text.len() >= CHUNK_BYTES {
            is_gone = chunks.send(Ok(std::mem::take(&mut text))).is_err();
        }
        if is_gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if is_gone || (!text.is_empty() && chunks.send(Ok(text)).is_err()) {
        return ControlFlow::Break(());
    }
    ControlFlow::Continue(outcome.err().map(|error| error.to_string()))
}
