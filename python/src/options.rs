//! Options of an analysis.

use std::fs::{self, File};
use std::io::{self, Read};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use huginn_net::alert::KnownAlerts;
use huginn_net::core::{Analyzer, Bpf, Builder, CancelToken, Filter, IpNet, Protocol};
use huginn_net::decrypt::{KeyLogReader, KeyLogSummary, Secrets};
use huginn_net::hosts::{Baseline, FindingSettings, HostLimits};
use huginn_net::observers::WithoutHosts;
use huginn_net::record::{EVENT_NAMES, needs_handshakes};
use huginn_net::select::{Selected, Selection, parse_time};
use huginn_net::watch::{WatchListHandle, WatchLists};
use huginn_net::{CaptureReader, Configure, Database, Event, HuginnNet, Observers, Timestamp};
use huginn_net_arrow::EventBatchBuilder;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// The options of Python by their names; see `huginn_net/_options.py`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Arguments {
    protocols: Vec<String>,
    #[pyo3(default)]
    db: Option<PathBuf>,
    #[pyo3(default)]
    workers: Option<usize>,
    #[pyo3(default)]
    connections: bool,
    #[pyo3(default)]
    findings: bool,
    #[pyo3(default)]
    scan_ports: Option<NonZeroU32>,
    #[pyo3(default)]
    scan_hosts: Option<NonZeroU32>,
    #[pyo3(default)]
    beacon_count: Option<NonZeroU32>,
    #[pyo3(default)]
    known: Vec<PathBuf>,
    #[pyo3(default)]
    fingerprints: Vec<PathBuf>,
    #[pyo3(default)]
    baseline: Vec<PathBuf>,
    #[pyo3(default)]
    keylog: Vec<KeyLogFile>,
    #[pyo3(default)]
    events: Vec<String>,
    #[pyo3(default)]
    columns: Vec<String>,
    #[pyo3(item("where"), default)]
    condition: Option<String>,
    #[pyo3(default)]
    from_: Option<String>,
    #[pyo3(default)]
    to: Option<String>,
    #[pyo3(default)]
    port: Vec<u16>,
    #[pyo3(default)]
    net: Vec<String>,
    #[pyo3(default)]
    exclude_port: Vec<u16>,
    #[pyo3(default)]
    exclude_net: Vec<String>,
    #[pyo3(default)]
    filter: Option<String>,
    #[pyo3(default)]
    shard: Option<(u32, u32)>,
    #[pyo3(default)]
    dictionaries: bool,
    #[pyo3(default = Some(1000))]
    max_compression_ratio: Option<u32>,
    #[pyo3(default)]
    skip_errors: bool,
    #[pyo3(default = true)]
    skips_outages: bool,
}

/// What options mean.
#[derive(Clone)]
pub(crate) struct Options {
    database: Arc<Database>,
    protocols: Vec<String>,
    /// Threads, if they are chosen: of a single capture, or captures that are analysed at the same time.
    pub(crate) workers: Option<NonZeroUsize>,
    connections: bool,
    findings: Option<FindingSettings>,
    known: Option<Arc<KnownAlerts>>,
    baseline: Option<Arc<Baseline>>,
    lists: Option<WatchListHandle>,
    /// Those of key logs, and of the captures so far.
    pub(crate) secrets: Secrets,
    /// The events that become rows.
    selected: Selected,
    /// Names of the columns that are built; all if empty.
    columns: Vec<String>,
    /// Whether texts are stored in dictionaries.
    dictionaries: bool,
    /// The packets that are analysed.
    filter: Filter,
    bpf: Option<Bpf>,
    /// Maximum ratio of decompressed to compressed bytes.
    pub(crate) max_compression_ratio: Option<NonZeroU32>,
    pub(crate) skips_errors: bool,
    /// Whether these are also the errors of opening and reading.
    pub(crate) skips_outages: bool,
    /// Stops the analysis.
    pub(crate) cancel: CancelToken,
    /// Captures that were read.
    pub(crate) captures_read: Arc<AtomicUsize>,
}

impl Options {
    /// Reads the files that options name, and checks the others.
    pub(crate) fn new(given: Arguments) -> PyResult<Self> {
        let names: Vec<&str> = given.columns.iter().map(String::as_str).collect();
        EventBatchBuilder::new().columns(&names).map_err(invalid)?;
        let filter = packet_filter(&given)?;
        let bpf = given.filter.map(Bpf::new).transpose();
        let max_compression_ratio = given.max_compression_ratio.and_then(NonZeroU32::new);
        let default = FindingSettings::default();
        let thresholds = FindingSettings::default()
            .scan_ports(given.scan_ports.unwrap_or(default.scan_ports))
            .scan_hosts(given.scan_hosts.unwrap_or(default.scan_hosts))
            .beacon_contacts(given.beacon_count.unwrap_or(default.beacon_contacts));
        Ok(Self {
            database: open_database(given.db)?,
            protocols: given.protocols,
            workers: given.workers.and_then(NonZeroUsize::new),
            connections: given.connections,
            findings: given.findings.then_some(thresholds),
            known: read_known(&given.known)?,
            baseline: read_baseline(&given.baseline)?,
            lists: read_lists(&given.fingerprints)?,
            secrets: read_key_logs(&given.keylog, max_compression_ratio)?,
            selected: selected(
                &given.events,
                given.condition.as_deref(),
                given.from_.as_deref(),
                given.to.as_deref(),
            )?,
            columns: given.columns,
            dictionaries: given.dictionaries,
            filter,
            bpf: bpf.map_err(|error| PyValueError::new_err(format!("filter: {error}")))?,
            max_compression_ratio,
            skips_errors: given.skip_errors,
            skips_outages: given.skips_outages,
            cancel: CancelToken::default(),
            captures_read: Arc::default(),
        })
    }

    /// The options of another analysis.
    pub(crate) fn with_own_cancel_token(&self) -> Self {
        Self { cancel: CancelToken::default(), ..self.clone() }
    }

    /// Workers of an analysis.
    fn workers(&self) -> usize {
        self.workers.map_or(1, NonZeroUsize::get)
    }

    /// Builds a builder of batches.
    pub(crate) fn builder(&self) -> EventBatchBuilder {
        let builder = EventBatchBuilder::new().events(&self.selected.events);
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        // The names were checked at the start.
        let builder =
            if columns.is_empty() { builder } else { builder.columns(&columns).unwrap_or_default() };
        if self.dictionaries { builder.dictionaries() } else { builder }
    }

    /// Whether an event of a capture becomes a row.
    pub(crate) fn takes(&self, event: &Event, file: Option<&str>) -> bool {
        self.selected.contains(event, file, None)
    }

    /// The database of signatures.
    pub(crate) fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Builds an analyzer, with host profiles if asked for.
    pub(crate) fn analyzer(&self, profiles: bool) -> HuginnNet {
        let observers = self.observers(profiles);
        // A capture has an end.
        let forever = HostLimits::default().idle_timeout(Duration::MAX);
        let observers = if profiles { observers.hosts(forever) } else { observers };
        self.build(HuginnNet::builder_with(observers))
    }

    /// Builds an analyzer of traffic without end.
    pub(crate) fn live_analyzer(&self, profiles: bool) -> HuginnNet {
        self.build(HuginnNet::builder_with(self.observers(profiles)))
    }

    /// Builds the first stage of an analysis in two stages.
    pub(crate) fn first_stage(&self) -> Analyzer<WithoutHosts> {
        self.build(Analyzer::builder_with(WithoutHosts::new(self.observers(true))))
    }

    /// Builds an analyzer that reports nothing.
    pub(crate) fn reader_only(&self) -> HuginnNet {
        let observers = Observers::new(Arc::clone(&self.database));
        HuginnNet::builder_with(observers.tcp(false).http(false).tls(false).ssh(false))
            .cancel_token(self.cancel.clone())
            .build()
    }

    fn build<P: Protocol>(&self, builder: Builder<P>) -> Analyzer<P> {
        let builder = builder.workers(self.workers()).filter(self.filter.clone());
        let builder = match &self.bpf {
            Some(bpf) => builder.bpf(bpf.clone()),
            None => builder,
        };
        builder.cancel_token(self.cancel.clone()).build()
    }

    fn observers(&self, profiles: bool) -> Observers {
        let has = |name: &str| self.protocols.iter().any(|protocol| protocol == name);
        let events = &self.selected.events;
        let writes = |name: &str| events.is_empty() || events.contains(&name);
        let has_certificates = self.lists.as_ref().is_some_and(|lists| lists.get().has_certificates());
        let handshakes =
            has_certificates || events.is_empty() || events.iter().any(|event| needs_handshakes(event));
        let observers = Observers::new(Arc::clone(&self.database))
            .tcp(has("tcp"))
            .http(has("http"))
            .tls(has("tls"))
            .ssh(has("ssh"))
            .connections(self.connections)
            .handshakes(handshakes)
            .findings(self.findings.filter(|_| writes("finding")))
            .known(self.known.clone())
            .baseline(self.baseline.as_deref().filter(|_| writes("finding")).cloned())
            .secrets(Some(self.secrets.clone()))
            .profiles(profiles);
        match &self.lists {
            Some(lists) => observers.watch_lists(lists.clone()),
            None => observers,
        }
    }
}

fn invalid(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Names the option and the file in an error of the system.
pub(crate) fn failed(option: &str, path: &Path, error: &io::Error) -> PyErr {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or(&text);
    PyOSError::new_err((error.raw_os_error(), format!("{option}: {reason}"), path.display().to_string()))
}

/// Names the option and the file in an error of the content of a file.
fn malformed(option: &str, path: &Path, error: &dyn std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{option}: {}: {error}", path.display()))
}

fn read(option: &str, path: &Path) -> PyResult<Vec<u8>> {
    fs::read(path).map_err(|error| failed(option, path, &error))
}

/// Opens a signature database, or takes the built-in one.
pub(crate) fn open_database(path: Option<PathBuf>) -> PyResult<Arc<Database>> {
    let Some(path) = path else { return Ok(Database::builtin().clone()) };
    let database = Database::from_bytes(&read("db", &path)?);
    database.map(Arc::new).map_err(|error| malformed("db", &path, &error))
}

fn read_lists(paths: &[PathBuf]) -> PyResult<Option<WatchListHandle>> {
    let mut lists = WatchLists::default();
    for path in paths {
        let added = lists.add(&path.display().to_string(), &read("fingerprints", path)?);
        added.map_err(|error| malformed("fingerprints", path, &error))?;
    }
    Ok((!paths.is_empty()).then(|| WatchListHandle::new(lists)))
}

fn read_known(paths: &[PathBuf]) -> PyResult<Option<Arc<KnownAlerts>>> {
    let mut known: Option<KnownAlerts> = None;
    for path in paths {
        let alerts = KnownAlerts::parse(&read("known", path)?);
        known.get_or_insert_default().extend(alerts.map_err(|error| malformed("known", path, &error))?);
    }
    Ok(known.map(Arc::new))
}

fn read_baseline(paths: &[PathBuf]) -> PyResult<Option<Arc<Baseline>>> {
    let mut joined: Option<Baseline> = None;
    for path in paths {
        let parsed = Baseline::parse(&path.display().to_string(), &read("baseline", path)?);
        let baseline = parsed.map_err(|error| malformed("baseline", path, &error))?;
        match &mut joined {
            Some(joined) => joined.join(&baseline),
            None => joined = Some(baseline),
        }
    }
    Ok(joined.map(Arc::new))
}

/// Reads the secrets of key logs, and of captures that bring some.
fn read_key_logs(key_logs: &[KeyLogFile], max_compression_ratio: Option<NonZeroU32>) -> PyResult<Secrets> {
    let secrets = Secrets::new();
    let add_secrets_of = |capture: CaptureReader| {
        let capture = capture.max_compression_ratio(max_compression_ratio);
        // What precedes damage counts.
        let _ = capture.read_key_logs(|text| _ = secrets.add_key_log(text));
    };
    for key_log in key_logs {
        match key_log {
            KeyLogFile::Bytes(bytes) => {
                let bytes: Arc<[u8]> = Arc::from(&**bytes);
                let open = || io::Cursor::new(Arc::clone(&bytes));
                match CaptureReader::from_reader("<key log>", open()) {
                    Ok(capture) => add_secrets_of(capture),
                    Err(_) => add_key_log(open(), &secrets)?,
                }
            }
            KeyLogFile::Path(path) => {
                // A pipe cannot be read twice.
                if path.is_file()
                    && let Ok(capture) = CaptureReader::open(path)
                {
                    add_secrets_of(capture);
                    continue;
                }
                let added = File::open(path).and_then(|file| add_key_log(file, &secrets));
                added.map_err(|error| failed("keylog", path, &error))?;
            }
        }
    }
    Ok(secrets)
}

/// A key log: a path, or what it has.
#[derive(FromPyObject)]
enum KeyLogFile {
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

/// The packets that are analysed.
fn packet_filter(given: &Arguments) -> PyResult<Filter> {
    let shard = given.shard.map(|(index, shards)| {
        let shards = NonZeroU32::new(shards).filter(|shards| index < shards.get());
        shards
            .map(|shards| Filter::new().shard(index, shards))
            .ok_or_else(|| PyValueError::new_err("shard is (index, shards), index from 0"))
    });
    let filter = shard.transpose()?.unwrap_or_default();
    let filter = given.port.iter().fold(filter, |filter, port| filter.port(*port));
    let filter = given.exclude_port.iter().fold(filter, |filter, port| filter.exclude_port(*port));
    let filter =
        given.net.iter().try_fold(filter, |filter, net| Ok::<_, PyErr>(filter.net(network("net", net)?)))?;
    let mut excluded = given.exclude_net.iter();
    excluded.try_fold(filter, |filter, net| Ok(filter.exclude_net(network("exclude_net", net)?)))
}

/// A network, or an address.
fn network(option: &str, text: &str) -> PyResult<IpNet> {
    let address = || text.parse().map(|address: std::net::IpAddr| IpNet::from(address));
    text.parse().or_else(|_| address()).map_err(|_| {
        PyValueError::new_err(format!(
            "{option}: expected a network such as 192.0.2.0/24, or an address, not {text:?}"
        ))
    })
}

/// What selects events.
fn selected(
    events: &[String],
    condition: Option<&str>,
    from: Option<&str>,
    to: Option<&str>,
) -> PyResult<Selected> {
    let known = |name: &String| EVENT_NAMES.iter().copied().find(|known| known == name);
    let time = |option, text: Option<&str>| {
        let parse = |text: &str| {
            parse_time(text).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "{option}: expected a time in UTC, such as '2022-03-17' or '2022-03-17 08:38', not {text:?}"
                ))
            })
        };
        text.map(parse).transpose()
    };
    let (from, to) = (time("from_", from)?, time("to", to)?);
    let nanos = |time: Option<Timestamp>| time.map(Timestamp::as_nanos);
    if let (Some(from), Some(to)) = (nanos(from), nanos(to))
        && from >= to
    {
        return Err(PyValueError::new_err("to is not after from_: no time is between them"));
    }
    Ok(Selected {
        events: events.iter().filter_map(known).collect(),
        condition: condition.map(parse_condition).transpose()?,
        from,
        to,
    })
}

/// Parses a condition; the error points at the place.
fn parse_condition(text: &str) -> PyResult<Selection> {
    text.parse::<Selection>().map_err(|error| {
        let marker = " ".repeat(error.position);
        PyValueError::new_err(format!("where: {error}\n  {text}\n  {marker}^"))
    })
}

/// The kinds of events in which a condition can hold, and which of `connection` and `finding` it requests.
#[pyfunction]
pub(crate) fn kinds_of_condition(condition: &str) -> PyResult<(Vec<&'static str>, Vec<&'static str>)> {
    let condition = parse_condition(condition)?;
    let requested = ["connection", "finding"].into_iter().filter(|kind| condition.requests(kind));
    Ok((condition.possible_kinds(), requested.collect()))
}
