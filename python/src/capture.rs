//! Captures and their analysis.

use std::fs::File;
use std::io::{self, Read};
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_schema::SchemaRef;
use huginn_net::core::{Analyzer, CancelToken, Filter};
use huginn_net::decrypt::{KeyLogReader, KeyLogSummary, Secrets};
use huginn_net::hosts::{FindingSettings, HostLimits, JsonHost};
use huginn_net::observers::WithoutHosts;
use huginn_net::record::{EventKind, needs_handshakes};
use huginn_net::watch::{WatchListHandle, WatchLists};
use huginn_net::{CaptureError, CaptureReader, Configure, Database, Event, HuginnNet, Observers};
use huginn_net_arrow::EventBatchBuilder;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyCapsule};

use crate::errors::{ReadErrors, exception};
use crate::events::Events;
use crate::in_order::{InOrder, Texts};
use crate::inputs::{Input, Inputs, PyReader};
use crate::interrupt::{Interrupt, Interruptible, wait};
use crate::stream::{Table, capsule, event_batches, host_record_batches, schema_capsule};

/// Options of an analysis.
#[derive(Clone)]
pub(crate) struct Options {
    database: Arc<Database>,
    protocols: Vec<String>,
    /// Threads, if they are chosen: of a single capture, or captures that are analysed at the same time.
    pub(crate) workers: Option<NonZeroUsize>,
    connections: bool,
    findings: bool,
    lists: Option<WatchListHandle>,
    /// Those of key logs, and of the captures so far.
    pub(crate) secrets: Secrets,
    /// Names of the events that become rows; all if empty.
    events: Vec<String>,
    /// Names of the columns that are built; all if empty.
    columns: Vec<String>,
    /// Whether texts are stored in dictionaries.
    dictionaries: bool,
    /// Index and number of shards, if only one shard of the flows is analysed.
    shard: Option<(u32, NonZeroU32)>,
    /// Maximum ratio of decompressed to compressed bytes.
    pub(crate) max_compression_ratio: Option<NonZeroU32>,
    pub(crate) skips_errors: bool,
    /// Stops the analysis.
    pub(crate) cancel: CancelToken,
    /// Captures that were read.
    pub(crate) captures_read: Arc<AtomicUsize>,
}

impl Options {
    /// Reads the database, and sets what all sources have in common.
    pub(crate) fn new(
        protocols: Vec<String>,
        db: Option<PathBuf>,
        workers: Option<usize>,
        connections: bool,
        events: Vec<String>,
        columns: Vec<String>,
    ) -> PyResult<Self> {
        let database = open_database(db)?;
        let positive = |number| {
            NonZeroUsize::new(number).ok_or_else(|| PyValueError::new_err("workers must be positive"))
        };
        let workers = workers.map(positive).transpose()?;
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        EventBatchBuilder::new().columns(&names).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self {
            database,
            protocols,
            workers,
            connections,
            findings: false,
            lists: None,
            secrets: Secrets::new(),
            events,
            columns,
            dictionaries: false,
            shard: None,
            max_compression_ratio: None,
            skips_errors: false,
            cancel: CancelToken::default(),
            captures_read: Arc::default(),
        })
    }

    /// Adds findings, and matches of the watch lists in these files.
    pub(crate) fn with_alerts(self, findings: bool, fingerprints: &[PathBuf]) -> PyResult<Self> {
        if fingerprints.is_empty() {
            return Ok(Self { findings, ..self });
        }
        let mut lists = WatchLists::default();
        for path in fingerprints {
            let name = path.display().to_string();
            let text = std::fs::read(path).map_err(|error| {
                PyOSError::new_err((error.raw_os_error(), error.to_string(), path.clone()))
            })?;
            let added = lists.add(&name, &text);
            added.map_err(|error| PyValueError::new_err(format!("{name}: {error}")))?;
        }
        Ok(Self { findings, lists: Some(WatchListHandle::new(lists)), ..self })
    }

    /// Adds the secrets of key logs, and of captures that bring some.
    pub(crate) fn with_key_logs(self, key_logs: &[KeyLogFile]) -> PyResult<Self> {
        for key_log in key_logs {
            let path = match key_log {
                KeyLogFile::Path(path) => path,
                KeyLogFile::Bytes(bytes) => {
                    let bytes: Arc<[u8]> = Arc::from(&**bytes);
                    let open = || io::Cursor::new(Arc::clone(&bytes));
                    match CaptureReader::from_reader("<key log>", open()) {
                        Ok(capture) => self.add_secrets_of(capture),
                        Err(_) => add_key_log(open(), &self.secrets)?,
                    }
                    continue;
                }
            };
            let failed = |error: io::Error| {
                PyOSError::new_err((error.raw_os_error(), error.to_string(), path.clone()))
            };
            // A pipe cannot be read twice.
            if path.is_file()
                && let Ok(capture) = CaptureReader::open(path)
            {
                self.add_secrets_of(capture);
                continue;
            }
            File::open(path).and_then(|file| add_key_log(file, &self.secrets)).map_err(failed)?;
        }
        Ok(self)
    }

    /// Adds the secrets that a capture brings. What precedes damage counts.
    fn add_secrets_of(&self, capture: CaptureReader) {
        let capture = capture.max_compression_ratio(self.max_compression_ratio);
        let _ = capture.read_key_logs(|text| _ = self.secrets.add_key_log(text));
    }

    /// Workers of an analysis.
    fn workers(&self) -> usize {
        self.workers.map_or(1, NonZeroUsize::get)
    }

    /// Builds a builder of batches.
    pub(crate) fn builder(&self) -> EventBatchBuilder {
        let names: Vec<&str> = self.events.iter().map(String::as_str).collect();
        let builder = EventBatchBuilder::new().events(&names);
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        // The names were checked at the start.
        let builder =
            if columns.is_empty() { builder } else { builder.columns(&columns).unwrap_or_default() };
        if self.dictionaries { builder.dictionaries() } else { builder }
    }

    /// Whether an event becomes a row.
    pub(crate) fn takes(&self, event: &Event) -> bool {
        self.events.is_empty() || self.events.iter().any(|name| name == EventKind::of(&event.kind).name())
    }

    /// Builds an analyzer, with host profiles if asked for.
    pub(crate) fn analyzer(&self, profiles: bool) -> HuginnNet {
        HuginnNet::builder_with(self.observers(profiles))
            .workers(self.workers())
            .filter(self.filter())
            .cancel_token(self.cancel.clone())
            .build()
    }

    /// Builds the analyzer of a live capture: it drops packets if it cannot keep up.
    pub(crate) fn live_analyzer(&self) -> HuginnNet {
        let builder = HuginnNet::builder_with(self.observers(false));
        builder.workers(self.workers()).build()
    }

    /// Builds the first stage of an analysis in two stages.
    pub(crate) fn first_stage(&self) -> Analyzer<WithoutHosts> {
        let observers = WithoutHosts::new(self.observers(true));
        Analyzer::builder_with(observers)
            .workers(self.workers())
            .filter(self.filter())
            .cancel_token(self.cancel.clone())
            .build()
    }

    /// Builds an analyzer that reports nothing.
    fn reader_only(&self) -> HuginnNet {
        let observers = Observers::new(Arc::clone(&self.database));
        HuginnNet::builder_with(observers.tcp(false).http(false).tls(false).ssh(false))
            .cancel_token(self.cancel.clone())
            .build()
    }

    fn filter(&self) -> Filter {
        match self.shard {
            Some((index, shards)) => Filter::new().shard(index, shards),
            None => Filter::new(),
        }
    }

    fn observers(&self, profiles: bool) -> Observers {
        let has = |name: &str| self.protocols.iter().any(|protocol| protocol == name);
        let writes = |name: &str| self.events.is_empty() || self.events.iter().any(|event| event == name);
        let has_certificates = self.lists.as_ref().is_some_and(|lists| lists.get().has_certificates());
        let handshakes = has_certificates
            || self.events.is_empty()
            || self.events.iter().any(|event| needs_handshakes(event));
        let findings = (self.findings && writes("finding")).then(FindingSettings::default);
        let observers = Observers::new(Arc::clone(&self.database))
            .tcp(has("tcp"))
            .http(has("http"))
            .tls(has("tls"))
            .ssh(has("ssh"))
            .connections(self.connections)
            .handshakes(handshakes)
            .findings(findings)
            .secrets(Some(self.secrets.clone()))
            .profiles(profiles);
        let observers = match &self.lists {
            Some(lists) => observers.watch_lists(lists.clone()),
            None => observers,
        };
        if profiles { observers.hosts(HostLimits::default().idle_timeout(Duration::MAX)) } else { observers }
    }
}

/// A key log: a path, or what it has.
#[derive(FromPyObject)]
pub(crate) enum KeyLogFile {
    Bytes(PyBackedBytes),
    Path(PathBuf),
}

/// Adds the secrets of a key log.
fn add_key_log(file: impl Read, secrets: &Secrets) -> io::Result<()> {
    let (mut reader, mut summary) = (KeyLogReader::new(), KeyLogSummary::default());
    reader.read(file, secrets, &mut summary)?;
    reader.finish(secrets, &mut summary);
    Ok(())
}

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
    #[new]
    #[pyo3(signature = (sources, protocols, db, workers, connections, skip_errors, events, columns, names, shard=None, dictionaries=false, max_compression_ratio=1000, findings=false, fingerprints=Vec::new(), keylog=Vec::new(), errors_of=None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        sources: Vec<Bound<'_, PyAny>>,
        protocols: Vec<String>,
        db: Option<PathBuf>,
        workers: Option<usize>,
        connections: bool,
        skip_errors: bool,
        events: Vec<String>,
        columns: Vec<String>,
        names: Vec<Option<String>>,
        shard: Option<(u32, u32)>,
        dictionaries: bool,
        max_compression_ratio: Option<u32>,
        findings: bool,
        fingerprints: Vec<PathBuf>,
        keylog: Vec<KeyLogFile>,
        errors_of: Option<PyRef<'_, Self>>,
    ) -> PyResult<Self> {
        let shard = shard.map(|(index, shards)| {
            let shards = NonZeroU32::new(shards).filter(|shards| index < shards.get());
            let shards =
                shards.ok_or_else(|| PyValueError::new_err("shard is (index, shards), index from 0"))?;
            PyResult::Ok((index, shards))
        });
        let origins =
            sources.iter().map(|source| Origin::new(source, skip_errors)).collect::<PyResult<_>>()?;
        let options = Options::new(protocols, db, workers, connections, events, columns)?;
        let options = options.with_alerts(findings, &fingerprints)?;
        let options = Options {
            shard: shard.transpose()?,
            skips_errors: skip_errors,
            dictionaries,
            max_compression_ratio: max_compression_ratio.and_then(NonZeroU32::new),
            ..options
        };
        let options = options.with_key_logs(&keylog)?;
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
        capsule(py, Interruptible::new(event_batches(inputs), schema, cancel, self.interrupt.clone()))
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
        capsule(py, Interruptible::new(host_record_batches(inputs), schema, cancel, self.interrupt.clone()))
    }

    /// Iterates over the JSON of events: bytes with one event on each line.
    fn events(&self, py: Python<'_>) -> PyResult<Events> {
        Ok(Events::new(self.inputs(py)?))
    }

    /// Returns the JSON of the hosts of each capture, one host on each line.
    fn hosts(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.at_end(
            py,
            |options| options.analyzer(true),
            |analyzer, text| {
                for host in analyzer.shared_state().profiles() {
                    JsonHost::new(host).write_to(text);
                    text.push(b'\n');
                }
            },
        )
    }

    /// Returns the JSON of the counters of each capture, one capture on each line.
    fn stats(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.at_end(
            py,
            |options| options.analyzer(false),
            |analyzer, text| {
                let counters = serde_json::json!({
                    "engine": analyzer.counters(),
                    "protocols": analyzer.protocol().counters(),
                });
                text.extend_from_slice(counters.to_string().as_bytes());
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
        self.at_end(py, |options| options.reader_only(), |_, _| {})?;
        self.errors()
    }
}

impl Capture {
    /// The inputs with their names.
    fn inputs(&self, py: Python<'_>) -> PyResult<Inputs> {
        let inputs = self.origins.iter().map(|origin| origin.input(py)).collect::<PyResult<Vec<Input>>>()?;
        let names = self.names.iter().cloned().chain(std::iter::repeat(None));
        // What an earlier stream did not raise is over.
        self.interrupt.take();
        self.options.captures_read.store(0, Ordering::Relaxed);
        let options = Options { cancel: CancelToken::default(), ..self.options.clone() };
        Ok(Inputs::new(inputs.into_iter().zip(names), options, self.errors.clone()))
    }

    /// Analyses each capture, and collects what `write` makes of the analyzer.
    fn at_end(
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

/// Opens a signature database, or takes the built-in one.
pub(crate) fn open_database(path: Option<PathBuf>) -> PyResult<Arc<Database>> {
    let Some(path) = path else { return Ok(Database::builtin().clone()) };
    let database = Database::from_bytes(&std::fs::read(&path)?);
    let database = database.map_err(|error| PyValueError::new_err(format!("{}: {error}", path.display())))?;
    Ok(Arc::new(database))
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
                Input::File(PyReader(file.clone_ref(py)))
            }
        })
    }
}
