//! Captures and their analysis.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;
use huginn_net::core::CancelToken;
use huginn_net::{CaptureError, CaptureReader, Event, HuginnNet};
use huginn_net_arrow::{Batches, EventBatchBuilder};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::errors::{ReadErrors, exception};
use crate::events::{Events, counters, write_hosts};
use crate::in_order::{InOrder, Texts};
use crate::inputs::{Input, Inputs};
use crate::interrupt::{Interrupt, Interruptible, wait};
use crate::options::{Arguments, Options};
use crate::stream::{Table, capsule, event_batches, host_record_batches, schema_capsule};

/// A source that is opened for each analysis.
enum Origin {
    Path(PathBuf),
    Bytes(Arc<[u8]>),
    /// A file-like object, until it is read.
    File(Mutex<Option<Py<PyAny>>>),
    /// A function that opens a file-like object for each analysis.
    Opener(Py<PyAny>),
}

/// Captures with the options of their analysis. Each use analyses them again.
#[pyclass(frozen, subclass)]
pub(crate) struct Capture {
    origins: Vec<Origin>,
    /// Names of the origins in the column `file`.
    names: Vec<Option<String>>,
    options: Options,
    errors: ReadErrors,
    interrupt: Interrupt,
}

#[pymethods]
impl Capture {
    /// `names`: those of the sources in the column `file`. `options`: a dict by names.
    #[new]
    #[pyo3(signature = (sources, names, options, errors_of=None))]
    fn new(
        sources: Vec<Bound<'_, PyAny>>,
        names: Vec<Option<String>>,
        options: Arguments,
        errors_of: Option<PyRef<'_, Self>>,
    ) -> PyResult<Self> {
        let options = Options::new(options)?;
        let origins = sources
            .iter()
            .map(|source| Origin::new(source, options.skips_errors))
            .collect::<PyResult<_>>()?;
        let errors = errors_of.map_or_else(ReadErrors::default, |other| other.errors.clone());
        Ok(Self { origins, names, options, errors, interrupt: Interrupt::default() })
    }

    /// A stream of Arrow record batches: the Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore the request.
        let _ = requested_schema;
        let inputs = self.inputs(py)?;
        let cancel = inputs.options.cancel.clone();
        let schema = SchemaRef::clone(inputs.options.builder().schema());
        self.stream(py, event_batches(inputs), schema, cancel)
    }

    /// The schema of the stream: the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, self.options.builder().schema())
    }

    /// The capsule of a stream of host records, as `__arrow_c_stream__` has it of events.
    fn host_records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let inputs = self.inputs(py)?;
        let cancel = inputs.options.cancel.clone();
        let schema = huginn_net_arrow::host_record_schema();
        self.stream(py, host_record_batches(inputs), schema, cancel)
    }

    /// Iterates over the JSON of events: bytes with one event on each line.
    fn events(&self, py: Python<'_>) -> PyResult<Events> {
        Ok(Events::new(self.inputs(py)?, self.skipped()))
    }

    /// Returns the JSON of the hosts of each capture, one host on each line.
    fn hosts(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.at_end(
            py,
            |options| options.analyzer(true),
            |analyzer, text| write_hosts(analyzer.shared_state(), text),
        )
    }

    /// Returns the JSON of the counters of each capture, one capture on each line.
    fn stats(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.at_end(
            py,
            |options| options.analyzer(false),
            |analyzer, text| {
                text.extend_from_slice(counters(analyzer).as_bytes());
                text.push(b'\n');
            },
        )
    }

    /// The table of the captures that the analyses so far could not read to their end.
    fn errors(&self) -> PyResult<Table> {
        let batch = self.errors.batch().map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Table::new(&batch.schema(), vec![batch]))
    }

    /// Captures that the last analysis has read so far.
    fn captures_read(&self) -> usize {
        self.options.captures_read.load(Ordering::Relaxed)
    }

    /// Raises what a signal raised while a stream was read.
    fn raise_interrupt(&self) -> PyResult<()> {
        self.interrupt.take().map_or(Ok(()), Err)
    }

    /// Reads the captures without an analysis, and returns the table of their errors.
    fn check(&self, py: Python<'_>) -> PyResult<Table> {
        self.read_all(py, |options| options.reader_only(), |_, _| {})?;
        self.errors()
    }
}

impl Capture {
    /// A builder of batches.
    pub(crate) fn builder(&self) -> EventBatchBuilder {
        self.options.builder()
    }

    /// Names of the captures.
    pub(crate) fn names(&self) -> &[Option<String>] {
        &self.names
    }

    /// The inputs with their names.
    pub(crate) fn inputs(&self, py: Python<'_>) -> PyResult<Inputs> {
        let inputs = self.origins.iter().map(|origin| origin.input(py)).collect::<PyResult<Vec<Input>>>()?;
        let names = self.names.iter().cloned().chain(std::iter::repeat(None));
        // What an earlier stream did not raise is over.
        self.interrupt.take();
        self.options.captures_read.store(0, Ordering::Relaxed);
        let options = self.options.with_own_cancel_token();
        Ok(Inputs::new(inputs.into_iter().zip(names), options, self.errors.clone()))
    }

    /// Where skipped captures are listed, if errors are skipped.
    pub(crate) fn skipped(&self) -> Option<ReadErrors> {
        self.options.skips_errors.then(|| self.errors.clone())
    }

    /// The capsule of a stream of batches.
    fn stream<'py>(
        &self,
        py: Python<'py>,
        batches: InOrder<Batches<ReadErrors>>,
        schema: SchemaRef,
        cancel: CancelToken,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let interrupt = self.interrupt.clone();
        capsule(py, Interruptible::new(batches, self.skipped(), schema, cancel, interrupt))
    }

    /// Analyses each capture, collects what `write` makes of the analyzer, and warns of skipped captures.
    fn at_end(
        &self,
        py: Python<'_>,
        analyzer: impl Fn(&Options) -> HuginnNet + Clone + Send + 'static,
        write: impl Fn(&HuginnNet, &mut Vec<u8>) + Clone + Send + 'static,
    ) -> PyResult<Vec<u8>> {
        let all = self.read_all(py, analyzer, write)?;
        self.skipped().map_or(Ok(()), |skipped| skipped.warn(py))?;
        Ok(all)
    }

    /// Analyses each capture, and collects what `write` makes of the analyzer.
    fn read_all(
        &self,
        py: Python<'_>,
        analyzer: impl Fn(&Options) -> HuginnNet + Clone + Send + 'static,
        write: impl Fn(&HuginnNet, &mut Vec<u8>) + Clone + Send + 'static,
    ) -> PyResult<Vec<u8>> {
        let inputs = self.inputs(py)?;
        let cancel = inputs.options.cancel.clone();
        let mut texts = InOrder::new(inputs, move |inputs, waiting| {
            let (analyzer, write) = (analyzer.clone(), write.clone());
            Texts::start(waiting, move |sender| {
                let (outcome, errors) = inputs.for_each(|reader, _, options| {
                    let (mut analyzer, mut text) = (analyzer(options), Vec::new());
                    let outcome = analyzer.analyze(reader, &mut |_: Event| {});
                    write(&analyzer, &mut text);
                    let is_gone = sender.send(Ok(text)).is_err();
                    outcome?;
                    Ok(if is_gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                });
                if let Err(error) = outcome {
                    // The reader may be gone.
                    let _ = sender.send(Err(io::Error::other(error.to_string())));
                }
                errors
            })
        });
        let mut all = Vec::new();
        while let Some(text) = wait(py, &cancel, |interval| texts.poll_next(interval))? {
            all.append(&mut text.map_err(exception)?);
        }
        Ok(all)
    }
}

impl Origin {
    /// Opens a path, so that a missing file is reported at once; takes bytes and file-like objects as they are.
    fn new(source: &Bound<'_, PyAny>, skips_errors: bool) -> PyResult<Self> {
        if let Ok(bytes) = source.cast::<PyBytes>() {
            return Ok(Self::Bytes(Arc::from(bytes.as_bytes())));
        }
        if source.is_callable() {
            return Ok(Self::Opener(source.clone().unbind()));
        }
        if source.hasattr("read")? {
            return Ok(Self::File(Mutex::new(Some(source.clone().unbind()))));
        }
        let path: PathBuf = source.extract()?;
        if !skips_errors {
            CaptureReader::open(&path).map_err(|error| match error {
                // FileNotFoundError and others.
                CaptureError::Open { source, .. } if source.raw_os_error().is_some() => {
                    PyOSError::new_err((source.raw_os_error(), source.to_string(), path.clone()))
                }
                error => exception(error),
            })?;
        }
        Ok(Self::Path(path))
    }

    fn input(&self, py: Python<'_>) -> PyResult<Input> {
        Ok(match self {
            Self::Path(path) => Input::Path(path.clone()),
            Self::Bytes(bytes) => Input::Bytes(Arc::clone(bytes)),
            Self::Opener(open) => Input::Opener(open.clone_ref(py)),
            Self::File(file) => {
                let file = file.lock().unwrap_or_else(PoisonError::into_inner).take();
                let file = file.ok_or_else(|| {
                    PyValueError::new_err(
                        "a file-like object is read once: pass a path or bytes to read again",
                    )
                })?;
                Input::File(file.clone_ref(py))
            }
        })
    }
}
