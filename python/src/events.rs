//! Events as JSON, chunk by chunk.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

use huginn_net::core::CancelToken;
use huginn_net::hosts::{Hosts, JsonHost};
use huginn_net::record::JsonEvent;
use huginn_net::{CaptureReader, Event, HuginnNet};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{ReadError, ReadErrors, exception};
use crate::in_order::{InOrder, Texts};
use crate::inputs::Inputs;
use crate::interrupt::wait;
use crate::options::Options;

/// Length of a chunk, in bytes, above which it is passed on.
const CHUNK_BYTES: usize = 1 << 18;

/// An iterator over bytes with one event on each line. The analysis runs in threads, some chunks ahead, and ends when the
/// iterator does.
#[pyclass(frozen)]
pub(crate) struct Events {
    chunks: Mutex<InOrder<Texts>>,
    /// Where skipped captures are listed, if errors are skipped.
    skipped: Option<ReadErrors>,
    cancel: CancelToken,
}

impl Events {
    pub(crate) fn new(inputs: Inputs, skipped: Option<ReadErrors>) -> Self {
        let cancel = inputs.options.cancel.clone();
        let chunks = InOrder::new(inputs, |inputs, waiting| {
            Texts::start(waiting, move |sender| {
                let (outcome, errors) =
                    inputs.for_each(|reader, name, options| send_events(reader, name, options, sender));
                if let Err(error) = outcome {
                    // The reader may be gone.
                    let _ = sender.send(Err(io::Error::other(error.to_string())));
                }
                errors
            })
        });
        Self { chunks: Mutex::new(chunks), skipped, cancel }
    }
}

#[pymethods]
impl Events {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let chunk = wait(py, &self.cancel, |interval| {
            self.chunks.lock().unwrap_or_else(PoisonError::into_inner).poll_next(interval)
        })?;
        if let Some(skipped) = self.skipped.as_ref().filter(|_| chunk.is_none()) {
            skipped.warn(py)?;
        }
        Ok(chunk.transpose().map_err(exception)?.map(|text| PyBytes::new(py, &text)))
    }
}

/// Sends the events of a capture, those before an error too. Breaks if the reader is gone.
fn send_events(
    reader: CaptureReader,
    name: Option<&str>,
    options: &Options,
    chunks: &SyncSender<io::Result<Vec<u8>>>,
) -> Result<ControlFlow<()>, ReadError> {
    let mut text = Vec::new();
    let mut is_gone = false;
    let outcome = options.analyzer(false).analyze(reader, &mut |event: Event| {
        if !options.takes(&event, name) {
            return ControlFlow::Continue(());
        }
        JsonEvent::new(&event).file(name).write_to(&mut text);
        text.push(b'\n');
        if text.len() >= CHUNK_BYTES {
            is_gone = chunks.send(Ok(std::mem::take(&mut text))).is_err();
        }
        if is_gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if is_gone || (!text.is_empty() && chunks.send(Ok(text)).is_err()) {
        return Ok(ControlFlow::Break(()));
    }
    outcome?;
    Ok(ControlFlow::Continue(()))
}

/// Appends the JSON of hosts, one host on each line.
pub(crate) fn write_hosts(hosts: &Hosts, text: &mut Vec<u8>) {
    for host in hosts.profiles() {
        JsonHost::new(host).write_to(text);
        text.push(b'\n');
    }
}

/// The JSON of the counters of an analysis.
pub(crate) fn counters(analyzer: &HuginnNet) -> String {
    let (engine, protocols) = (analyzer.counters(), analyzer.protocol().counters());
    serde_json::json!({ "engine": engine, "protocols": protocols }).to_string()
}
