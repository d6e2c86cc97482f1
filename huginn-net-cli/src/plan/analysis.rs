//! How packets are analysed.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

#[cfg(unix)]
use huginn_net::ClientDatabase;
use huginn_net::alert::KnownAlerts;
use huginn_net::anonymize::Anonymizer;
use huginn_net::clients::NamingDatabases;
#[cfg(unix)]
use huginn_net::core::Replaceable;
use huginn_net::core::{Builder, DecodeConfig, Filter, FlowLimits, HashSeed};
use huginn_net::decrypt::Secrets;
use huginn_net::hosts::{FindingSettings, ObservationPoint};
use huginn_net::observers::{EventLimits, Scope};
use huginn_net::record::needs_handshakes;
use huginn_net::{Configure, Database, HuginnNet, Observers};

use super::databases::read_databases;
use super::watch_files::WatchFiles;
use super::{Inputs, baseline, refusals};
use crate::args::{
    AlertArguments, AnalysisArguments, BaselineArguments, DatabaseArguments, EventArguments,
    EventRunArguments, FlowArguments, Format, LimitArguments, OutputArguments, PacketArguments,
    ProtocolArgument, ProtocolArguments, SeedArgument, ThresholdArguments, Workers,
};
use crate::failure::Failure;
use crate::hash_seed;
use crate::limits::MIN_PARALLEL_LEN;
use crate::paths::name_of;
use crate::read::read_file;
use crate::stderr;

/// Maximum number of workers without `-w`: with more, finding records and merging events are the bound.
const MAX_AUTO_WORKERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(15);

/// Maximum size of a file of `--anonymize`, in bytes.
const MAX_KEY_BYTES: u64 = 1 << 10;

/// Maximum size of a file of `--known`, in bytes.
const MAX_KNOWN_BYTES: u64 = 16 << 20;

/// Settings of an analysis that can be replaced while it runs.
#[cfg(unix)]
#[derive(Clone, Debug)]
pub(crate) struct ReplaceableSettings {
    pub(crate) databases: Replaceable<NamingDatabases>,
    /// The ports and networks; `None` if they cannot change.
    pub(crate) filter: Option<Replaceable<Filter>>,
}

/// The sensor of a command line and its site, as files name them.
pub(super) fn observation_point(output: &OutputArguments) -> ObservationPoint {
    ObservationPoint::new(output.site.as_deref(), output.sensor_name.as_deref())
}

/// The analyzer of a command line, before its input is known.
pub(crate) struct AnalysisPlan {
    builder: Builder<Observers>,
    workers: Workers,
    seed: Option<HashSeed>,
    /// A filter expression of pcap-filter(7).
    expression: Option<String>,
    watch: Option<WatchFiles>,
    databases: NamingDatabases,
}

impl AnalysisPlan {
    /// An analysis with all options.
    pub(crate) fn new(args: &AnalysisArguments) -> Result<Self, Failure> {
        Self::with_databases(&args.databases)?.parse(&args.protocols)?.with_flows(&args.flows)
    }

    /// Selects packets, and sets how they become flows.
    pub(super) fn with_flows(self, args: &FlowArguments) -> Result<Self, Failure> {
        let (decode, filter) = (decode_config(args), packet_filter(&args.packets));
        let seed = args.seed.map(|seed| match seed {
            SeedArgument::Number(number) => HashSeed::Fixed(number),
            SeedArgument::Random => hash_seed::random(),
        });
        let limits = event_limits(args.limits);
        let plan = self.configure(|builder| builder.filter(filter).decode(decode).event_limits(limits));
        let plan = match &args.anonymize {
            Some(path) => plan.anonymize(Arc::new(read_anonymizer(path)?)),
            None => plan,
        };
        Ok(Self { workers: args.workers, seed, expression: args.filter.clone(), ..plan })
    }

    fn anonymize(self, anonymizer: Arc<Anonymizer>) -> Self {
        self.configure(|builder| builder.anonymizer(Some(Arc::clone(&anonymizer))).address_map(anonymizer))
    }

    /// Selects protocols. Their HTTP is the only content that key logs decrypt.
    pub(super) fn parse(self, args: &ProtocolArguments) -> Result<Self, Failure> {
        let has = |protocol| args.protocols.contains(&protocol);
        refusals::KEY_LOG_WITHOUT_HTTP.check(!args.keylog.is_empty() && !has(ProtocolArgument::Http))?;
        Ok(self.configure(|builder| {
            builder
                .tcp(has(ProtocolArgument::Tcp))
                .http(has(ProtocolArgument::Http))
                .tls(has(ProtocolArgument::Tls))
                .ssh(has(ProtocolArgument::Ssh))
        }))
    }

    /// An analysis of all packets by one worker.
    pub(crate) fn with_databases(args: &DatabaseArguments) -> Result<Self, Failure> {
        let databases = read_databases(args)?;
        let builder = HuginnNet::builder().database(Arc::clone(&databases.signatures));
        let builder = match &databases.clients {
            Some(clients) => builder.clients(Arc::clone(clients)),
            None => builder,
        };
        Ok(Self {
            builder,
            workers: Workers::Count(NonZeroUsize::MIN),
            seed: None,
            expression: None,
            watch: None,
            databases,
        })
    }

    /// The analysis of a command that writes events to these outputs.
    pub(crate) fn of_events(run: &EventRunArguments, outputs: &[&OutputArguments]) -> Result<Self, Failure> {
        let plan = Self::new(&run.analysis)?.with_events(&run.events, outputs)?;
        plan.with_baseline(&run.baseline, observation_point(&run.output))
    }

    /// Adds watch lists, connections, handshakes and findings to events. Handshakes are not followed for outputs without them;
    /// without an output, all events are shown.
    pub(crate) fn with_events(
        self,
        args: &EventArguments,
        outputs: &[&OutputArguments],
    ) -> Result<Self, Failure> {
        let handshakes = follows_handshakes(outputs);
        let AlertArguments { fingerprints, thresholds, known } = &args.alerts;
        let watch = match &**fingerprints {
            [] => None,
            paths => {
                let (files, loaded) = WatchFiles::read(paths)?;
                loaded.warnings.iter().for_each(|warning| stderr::report(warning));
                Some(files)
            }
        };
        let has_certificates = watch.as_ref().is_some_and(|files| files.handle.get().has_certificates());
        let findings = args.findings.then(|| finding_settings(*thresholds));
        let known = known_alerts(known)?;
        let plan = self.configure(|builder| {
            let handshakes = handshakes || has_certificates;
            builder.connections(args.connections).handshakes(handshakes).findings(findings).known(known)
        });
        let handle = watch.as_ref().map(|files| files.handle.clone());
        let plan = plan.configure(|builder| match handle {
            Some(handle) => builder.watch_lists(handle),
            None => builder,
        });
        Ok(Self { watch, ..plan })
    }

    /// Compares fingerprints with a baseline, or adds them to a new one, as the options say.
    fn with_baseline(self, args: &BaselineArguments, point: ObservationPoint) -> Result<Self, Failure> {
        let baseline = baseline::read(args, point)?;
        Ok(self.configure(|builder| builder.baseline(baseline)))
    }

    /// The watch lists, if there are any.
    #[cfg(unix)]
    pub(crate) fn watch_files(&self) -> Option<WatchFiles> {
        self.watch.clone()
    }

    /// The database of signatures.
    #[cfg(unix)]
    pub(super) fn signatures(&self) -> Arc<Database> {
        Arc::clone(&self.databases.signatures)
    }

    /// Parses the built-in table of clients now. Otherwise the first client waits for it, and so do the packets behind it.
    #[cfg(unix)]
    pub(super) fn parse_clients(&self) {
        if self.databases.clients.is_none() {
            ClientDatabase::builtin();
        }
    }

    /// Makes the databases and the filter replaceable, the filter only with a configuration file: options do not change otherwise.
    #[cfg(unix)]
    pub(super) fn replaceable(self, filter: Option<Filter>) -> (Self, ReplaceableSettings) {
        let databases = Replaceable::new(self.databases.clone());
        let filter = filter.map(Replaceable::new);
        let settings = ReplaceableSettings { databases: databases.clone(), filter: filter.clone() };
        let plan = self.configure(|builder| {
            let builder = builder.replaceable_databases(databases);
            match filter {
                Some(filter) => builder.replaceable_filter(filter),
                None => builder,
            }
        });
        (plan, settings)
    }

    /// Limits the analysis to what p0f does.
    pub(crate) fn limited_to_p0f(self) -> Self {
        // p0f forgets a flow 30 s after its SYN, and reports a SYN repeated after that again.
        let flows = FlowLimits::default().syn_lifetime(Duration::from_secs(30)).syn_lifetime_as_p0f(true);
        self.configure(|builder| builder.flow_limits(flows).tls(false).ssh(false).scope(Scope::P0f))
    }

    /// Decrypts with these secrets, if there are any.
    pub(crate) fn decrypt(self, secrets: Option<&Secrets>) -> Self {
        let secrets = secrets.cloned();
        self.configure(|builder| builder.secrets(secrets))
    }

    /// Changes the builder.
    pub(crate) fn configure(self, change: impl FnOnce(Builder<Observers>) -> Builder<Observers>) -> Self {
        Self { builder: change(self.builder), ..self }
    }

    /// Sets the filter expression.
    pub(crate) fn filter_by(self, expression: Option<String>) -> Self {
        Self { expression, ..self }
    }

    /// Takes the filter expression, for a source that filters itself.
    #[cfg(unix)]
    pub(crate) fn take_expression(&mut self) -> Option<String> {
        self.expression.take()
    }

    /// Builds the analyzer of captures, which decrypts with their secrets.
    pub(super) fn build_for(self, inputs: &Inputs) -> Result<HuginnNet, Failure> {
        self.decrypt(Some(&inputs.secrets)).build_for_files(inputs.longest())
    }

    /// Builds the analyzer of files; the length of the longest one is in bytes, `None` if unknown.
    pub(crate) fn build_for_files(self, longest: Option<u64>) -> Result<HuginnNet, Failure> {
        let seed = self.seed.unwrap_or_else(hash_seed::of_machine);
        let is_long = longest.is_some_and(|len| len >= MIN_PARALLEL_LEN);
        self.build(if is_long { processors() } else { NonZeroUsize::MIN }, seed)
    }

    /// The number of workers if it was typed.
    pub(crate) fn typed_workers(&self) -> Option<NonZeroUsize> {
        match self.workers {
            Workers::Count(count) => Some(count),
            Workers::Auto => None,
        }
    }

    /// Builds the analyzer of live traffic.
    #[cfg(unix)]
    pub(crate) fn build_for_live(self, workers: NonZeroUsize) -> Result<HuginnNet, Failure> {
        let seed = self.seed.unwrap_or_else(hash_seed::random);
        self.build(workers, seed)
    }

    fn build(self, auto: NonZeroUsize, seed: HashSeed) -> Result<HuginnNet, Failure> {
        let workers = self.typed_workers().unwrap_or(auto);
        let builder = self.builder.hash_seed(seed).workers(workers.get());
        filtered(builder, self.expression.as_deref()).map(Builder::build)
    }
}

/// Whether the analysis follows handshakes for these outputs; without an output, all events are shown.
pub(super) fn follows_handshakes(outputs: &[&OutputArguments]) -> bool {
    outputs.is_empty() || outputs.iter().any(|output| has_handshakes(output))
}

/// Whether an output has events that need handshakes to be followed.
fn has_handshakes(output: &OutputArguments) -> bool {
    let writes_all = output.events.is_empty() && !output.only_matches;
    let has_event = writes_all || output.events.iter().any(|event| needs_handshakes(event));
    output.format != Format::P0f && has_event
}

/// The ports and networks that are analysed.
pub(super) fn packet_filter(args: &PacketArguments) -> Filter {
    let filter = args.port.iter().fold(Filter::new(), |filter, port| filter.port(*port));
    let filter = args.net.iter().fold(filter, |filter, net| filter.net(*net));
    let filter = args.exclude_port.iter().fold(filter, |filter, port| filter.exclude_port(*port));
    args.exclude_net.iter().fold(filter, |filter, net| filter.exclude_net(*net))
}

/// Returns how frames become segments.
pub(super) fn decode_config(args: &FlowArguments) -> DecodeConfig {
    DecodeConfig::default()
        .verify_checksums(args.checksums)
        .vlan_in_flow_key(!args.no_vlan_tracking)
        .interface_in_flow_key(args.interface_tracking)
}

/// Returns the number of processors that workers use.
fn processors() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN).min(MAX_AUTO_WORKERS)
}

/// Adds the filter expression, if there is one.
fn filtered(builder: Builder<Observers>, expression: Option<&str>) -> Result<Builder<Observers>, Failure> {
    Ok(match expression {
        Some(expression) => builder.bpf(huginn_net::core::Bpf::new(expression)?),
        None => builder,
    })
}

/// Reads the key of `--anonymize`: 64 hexadecimal digits.
fn read_anonymizer(path: &Path) -> Result<Anonymizer, Failure> {
    let text = read_file(path, MAX_KEY_BYTES)?;
    let digits = text.trim_ascii();
    let is_key = digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit);
    let number = |start: usize| {
        let digits =
            digits.get(start..start.saturating_add(32)).and_then(|digits| str::from_utf8(digits).ok());
        u128::from_str_radix(digits?, 16).ok()
    };
    let halves = number(0).zip(number(32)).filter(|_| is_key);
    let key = halves
        .and_then(|(first, second)| [first.to_be_bytes(), second.to_be_bytes()].concat().try_into().ok());
    let anonymizer = key.and_then(Anonymizer::new);
    anonymizer.ok_or_else(|| Failure::AddressKey { path: name_of(path) })
}

/// Reads the files of known alerts.
fn known_alerts(paths: &[PathBuf]) -> Result<Option<Arc<KnownAlerts>>, Failure> {
    let mut known: Option<KnownAlerts> = None;
    for path in paths {
        let text = read_file(path, MAX_KNOWN_BYTES)?;
        let read = KnownAlerts::parse(&text)
            .map_err(|source| Failure::KnownAlerts { path: name_of(path), source })?;
        known.get_or_insert_default().extend(read);
    }
    Ok(known.map(Arc::new))
}

fn finding_settings(args: ThresholdArguments) -> FindingSettings {
    let default = FindingSettings::default();
    let or = |number: Option<u32>, default| number.and_then(NonZeroU32::new).unwrap_or(default);
    FindingSettings::default()
        .scan_ports(or(args.scan_ports, default.scan_ports))
        .scan_hosts(or(args.scan_hosts, default.scan_hosts))
        .beacon_contacts(or(args.beacon_count, default.beacon_contacts))
}

fn event_limits(args: LimitArguments) -> EventLimits {
    let wide = |limit: crate::args::Limit| limit.get().map(u64::from);
    EventLimits::default()
        .max_text_bytes(args.max_text.get().and_then(|limit| limit.try_into().ok()))
        .max_output_ratio(args.max_output_ratio.get())
        .max_events_per_connection(args.max_events_per_connection.get())
        .max_events_per_host(args.max_events_per_host.get())
        .max_bytes_per_host(wide(args.max_bytes_per_host))
        .max_events_per_kind(args.max_events_per_kind.get())
        .max_bytes_per_kind(wide(args.max_bytes_per_kind))
}
