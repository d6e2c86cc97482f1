//! What `live` captures, and what it writes.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use huginn_net::core::{DecodeConfig, Filter};
use huginn_net::hosts::ObservationPoint;
use huginn_net::{Configure, Database, HuginnNet};
use huginn_net_live::{Backend, LiveOptions, LiveSource, is_pattern};

use super::event_run::{check_effects, switch_on_kinds};
use super::live_output::{self, LiveOutputPlan, Surroundings};
use super::{
    AnalysisPlan, BaselineFile, FrameFilter, GrowingKeyLogs, ReloadPlan, WatchFiles, analysis, output,
    refusals, select,
};
use crate::args::{
    BackendArgument, EventRunArguments, Format, LiveArguments, OutputArguments, ServiceArguments,
};
use crate::config;
use crate::control::{ControlConfig, MetricsConfig, MetricsFiles, SocketConfig};
use crate::failure::Failure;
use crate::output::{Selected, Zone};
use crate::paths::{new_name, resolved, unread_name};
use crate::privileges::{self, Policy};

/// Time that the kernel buffers frames with watch lists, so that a hit has its line sooner. A quiet interface then fills a buffer of 32 MiB
/// in 2 s, not in 4.6 s.
const ALERT_BUFFER_TIMEOUT: Duration = Duration::from_millis(4);

/// The plan of `live`.
pub(crate) struct LivePlan {
    pub(crate) interfaces: Vec<String>,
    pub(crate) capture: LiveOptions,
    /// Queues of each interface: one for each worker, if the kernel can divide the frames.
    pub(crate) queues: NonZeroUsize,
    pub(crate) analyzer: HuginnNet,
    pub(crate) watch: Option<WatchFiles>,
    /// What SIGHUP reads again; `None` if only the output is opened again.
    pub(crate) reload: Option<ReloadPlan>,
    pub(crate) count: Option<u64>,
    pub(crate) outputs: Vec<LiveOutputPlan>,
    pub(crate) extract: Option<LiveExtractPlan>,
    pub(crate) key_logs: Option<GrowingKeyLogs>,
    pub(crate) control: ControlConfig,
    /// File of host profiles; `None` means standard error.
    pub(crate) hosts_file: Option<PathBuf>,
    pub(crate) baseline: Option<BaselineFile>,
    pub(crate) state: Option<StatePlan>,
    /// Interval of lines of counters.
    pub(crate) stats_interval: Option<Duration>,
    pub(crate) policy: Policy,
    /// The zone of the terminal view, if there is one.
    pub(crate) view: Option<Zone>,
    pub(crate) messages: LiveMessages,
}

/// What is written on standard error beside errors and warnings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LiveMessages {
    /// The interfaces and the addresses at the start, and totals at the end.
    pub(crate) has_totals: bool,
    /// The dropped privileges, and the secrets of key logs.
    pub(crate) is_verbose: bool,
    /// Counters at the end.
    pub(crate) has_stats: bool,
}

/// Where host profiles and fingerprints are kept between two runs.
pub(crate) struct StatePlan {
    pub(crate) path: PathBuf,
    /// The sensor that the file names.
    pub(crate) point: ObservationPoint,
    /// The database that names what hosts are.
    pub(crate) database: Arc<Database>,
}

/// The packets that `--extract` writes.
pub(crate) struct LiveExtractPlan {
    pub(crate) path: PathBuf,
    /// Packets of each connection.
    pub(crate) packets: usize,
    /// Maximum size of a file.
    pub(crate) max_bytes: u64,
    /// Number of files to keep.
    pub(crate) keep: usize,
    /// Memory of packets that are kept.
    pub(crate) buffer_bytes: usize,
    pub(crate) snap_len: u32,
    /// What selects a connection; `None` for matches and findings.
    pub(crate) selected: Option<Selected>,
    pub(crate) decode: DecodeConfig,
    pub(crate) filter: Filter,
    /// The filter expression of the analysis, if libpcap does not apply it.
    pub(crate) expression: Option<String>,
}

impl LiveExtractPlan {
    fn new(args: &LiveArguments) -> Result<Option<Self>, Failure> {
        let LiveArguments { extract, run: EventRunArguments { analysis, events, output, .. }, .. } = args;
        let Some(path) = &extract.extract else { return Ok(None) };
        refusals::ANONYMOUS_PACKETS.check(analysis.flows.anonymize.is_some())?;
        let selected =
            has_condition(output).then(|| select::selected(&output.select, output::written(output, events)));
        Ok(Some(Self {
            path: resolved(path),
            packets: usize::try_from(extract.extract_packets).unwrap_or(usize::MAX),
            max_bytes: extract.extract_size,
            keep: extract.extract_keep,
            buffer_bytes: usize::try_from(extract.extract_buffer)
                .unwrap_or(usize::MAX)
                .saturating_mul(1 << 20),
            snap_len: args.capture.snaplen,
            selected: selected.transpose()?,
            decode: analysis::decode_config(&analysis.flows),
            filter: analysis::packet_filter(&analysis.flows.packets),
            expression: None,
        }))
    }

    /// The filter expression of the analysis, for one source.
    pub(crate) fn frame_filter(&self) -> Result<FrameFilter, Failure> {
        FrameFilter::new(self.expression.as_deref())
    }
}

/// Everything that a plan is made of beside its analysis, from whatever command line.
#[derive(Default)]
pub(super) struct LiveParts {
    pub(super) interfaces: Vec<String>,
    /// The backend; `None` for the one that the filter expression needs.
    pub(super) backend: Option<Backend>,
    pub(super) capture: LiveOptions,
    pub(super) watch: Option<WatchFiles>,
    pub(super) reload: Option<ReloadPlan>,
    pub(super) count: Option<u64>,
    pub(super) outputs: Vec<LiveOutputPlan>,
    pub(super) extract: Option<LiveExtractPlan>,
    pub(super) key_logs: Option<GrowingKeyLogs>,
    pub(super) metrics: Option<MetricsConfig>,
    /// Path and permissions of p0f's socket.
    pub(super) p0f_socket: Option<(PathBuf, u32)>,
    /// Path of the socket of requests.
    pub(super) requests: Option<PathBuf>,
    pub(super) hosts_file: Option<PathBuf>,
    pub(super) baseline: Option<BaselineFile>,
    pub(super) state: Option<StatePlan>,
    pub(super) stats_interval: Option<Duration>,
    pub(super) user: Option<String>,
    pub(super) sandbox: bool,
    pub(super) view: Option<Zone>,
    pub(super) messages: LiveMessages,
}

/// What the C library reads to look up the name of a host.
const NAME_SERVICE_FILES: [&str; 3] = ["/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf"];

/// The options that name Unix sockets.
const P0F_SOCKET: &str = "--p0f-socket";
const CONTROL: &str = "--control";

/// The port of long answers of a name server.
const DNS_PORT: u16 = 53;

/// Enables the kinds of events that outputs name, and checks all options.
pub(super) fn prepare(args: &mut LiveArguments) -> Result<(), Failure> {
    // The packets of --extract are those of its own condition.
    if args.extract.extract.is_some() {
        switch_on_kinds(&mut args.run)?;
    }
    for output in &mut args.outputs {
        // The end of a connection completes its rows.
        output.run.events.connections |= output.zeek_dir.is_some();
        let switched = switch_on_kinds(&mut output.run);
        switched.map_err(|failure| config::locate(output.place.as_ref(), failure))?;
        args.run.events.connections |= output.run.events.connections;
        args.run.events.findings |= output.run.events.findings;
    }
    for output in &mut args.outputs {
        output.run.events.connections = args.run.events.connections;
        output.run.events.findings = args.run.events.findings;
    }
    live_output::drop_defaults(&mut args.outputs);
    for output in &args.outputs {
        live_output::check(output, args.tui)
            .map_err(|failure| config::locate(output.place.as_ref(), failure))?;
    }
    check_effects(args.outputs.iter().map(|output| &output.run))
}

/// Leaves VLANs out of the flow key if patterns select interfaces: a packet, or one direction of a connection, may have a tag on some of them only.
fn join_networks(args: &mut LiveArguments) -> Result<(), Failure> {
    let flows = &mut args.run.analysis.flows;
    if args.interfaces.iter().any(|name| is_pattern(name)) {
        refusals::INTERFACE_TRACKING.check(flows.interface_tracking)?;
        flows.no_vlan_tracking = true;
    }
    Ok(())
}

/// Whether all outputs have the format of p0f, to which the analysis is then limited.
pub(super) fn is_p0f(args: &LiveArguments) -> bool {
    args.outputs.iter().all(|output| output.run.output.format == Format::P0f)
}

/// Whether a command line selects packets for `--extract`, rather than those of matches and findings.
fn has_condition(output: &OutputArguments) -> bool {
    output.select.is_set() || !output.events.is_empty() || output.only_matches
}

/// The outputs whose events the analysis must have, with what selects packets for `--extract`; none if the terminal shows all events.
pub(super) fn needed_outputs(args: &LiveArguments) -> Vec<&OutputArguments> {
    if args.tui {
        return Vec::new();
    }
    let output = &args.run.output;
    let of_extract = (args.extract.extract.is_some() && has_condition(output)).then_some(output);
    args.outputs.iter().map(|output| &output.run.output).chain(of_extract).collect()
}

/// The outputs of a command line, whose files are read.
#[cfg(target_os = "linux")]
pub(crate) fn live_outputs(mut args: LiveArguments) -> Result<Vec<LiveOutputPlan>, Failure> {
    prepare(&mut args).map_err(|failure| config::locate(args.place.as_ref(), failure))?;
    let outputs = args.outputs.iter().map(LiveOutputPlan::new).collect::<Result<Vec<_>, Failure>>()?;
    Surroundings::default().check(&outputs)?;
    Ok(outputs)
}

impl LivePlan {
    pub(crate) fn new(args: LiveArguments) -> Result<Self, Failure> {
        let place = args.place.clone();
        Self::from_arguments(args).map_err(|failure| config::locate(place.as_ref(), failure))
    }

    fn from_arguments(mut args: LiveArguments) -> Result<Self, Failure> {
        prepare(&mut args)?;
        join_networks(&mut args)?;
        // Files name the sensor as events do.
        let of_outputs = || args.outputs.iter().find_map(|output| output.run.output.sensor_name.clone());
        args.run.output.sensor_name = args.run.output.sensor_name.take().or_else(of_outputs);
        let extract = LiveExtractPlan::new(&args)?;
        let plan = AnalysisPlan::of_events(&args.run, &needed_outputs(&args))?;
        let key_logs = GrowingKeyLogs::read(&args.run.analysis.protocols.keylog)?;
        let plan = plan.decrypt(key_logs.as_ref().map(GrowingKeyLogs::secrets));
        let metrics = metrics_config(&args.service)?;
        let (plan, reload) = ReloadPlan::new(&args, plan, metrics.clone());
        let is_p0f = is_p0f(&args);
        let LiveArguments { capture, run, outputs, service, .. } = args;
        let EventRunArguments { events, baseline, output, .. } = run;
        let plan = if is_p0f {
            plan.limited_to_p0f()
        } else {
            plan.parse_clients();
            plan
        };
        let typed = (!args.expression.is_empty()).then(|| args.expression.join(" "));
        let plan = if typed.is_some() { plan.filter_by(typed) } else { plan };
        let mut options = LiveOptions::default();
        options.promiscuous = !capture.no_promiscuous;
        options.wait = capture.wait;
        options.snaplen = capture.snaplen;
        options.buffer_bytes = usize::try_from(capture.buffer).unwrap_or(usize::MAX).saturating_mul(1 << 20);
        options.cpus = capture.pin.map(|pin| pin.0).unwrap_or_default();
        if capture.immediate_mode {
            options.buffer_timeout = Duration::ZERO;
        } else if !events.alerts.fingerprints.is_empty() {
            options.buffer_timeout = ALERT_BUFFER_TIMEOUT;
        }
        let outputs = outputs.iter().map(LiveOutputPlan::new).collect::<Result<_, Failure>>()?;
        let state = service.state.as_deref();
        let point = analysis::observation_point(&output);
        let state = state.map(|path| StatePlan { path: resolved(path), point, database: plan.signatures() });
        let watch = plan.watch_files();
        Self::from_parts(
            plan,
            LiveParts {
                interfaces: args.interfaces,
                backend: capture.backend.map(|backend| match backend {
                    BackendArgument::Packet => Backend::Packet,
                    BackendArgument::Libpcap => Backend::Pcap,
                }),
                capture: options,
                watch,
                reload,
                count: capture.count,
                outputs,
                extract,
                key_logs,
                metrics,
                p0f_socket: service.p0f_socket.map(|path| (path, service.p0f_socket_mode)),
                requests: service.control,
                hosts_file: service.hosts_file,
                baseline: BaselineFile::new(&baseline),
                state,
                stats_interval: service.stats_interval,
                user: service.user,
                sandbox: !service.no_sandbox,
                view: args.tui.then(|| Zone::new(output.local_time)),
                messages: LiveMessages {
                    has_totals: !output.quiet,
                    is_verbose: output.verbose && !output.quiet,
                    has_stats: output.stats || service.stats_interval.is_some(),
                },
            },
        )
    }

    pub(super) fn from_parts(analysis: AnalysisPlan, parts: LiveParts) -> Result<Self, Failure> {
        let Capture { options, queues, analyzer, expression } =
            capture(&parts.interfaces, parts.capture, parts.backend, analysis, parts.count)?;
        let extract = parts.extract.map(|extract| LiveExtractPlan { expression, ..extract });
        let outputs = parts.outputs;
        let owner = if parts.p0f_socket.is_some() || parts.requests.is_some() {
            privileges::owner(parts.user.as_deref())?
        } else {
            None
        };
        let control = ControlConfig {
            metrics: parts.metrics,
            p0f: parts.p0f_socket.map(|(path, mode)| SocketConfig { option: P0F_SOCKET, path, mode, owner }),
            requests: parts.requests.map(|path| SocketConfig { option: CONTROL, path, mode: 0o600, owner }),
        };
        let hosts_file = parts.hosts_file.as_deref().map(resolved);
        let baseline = parts.baseline.as_ref().map(BaselineFile::path);
        let state = parts.state.as_ref().map(|state| state.path.as_path());
        let packets = extract.as_ref().map(|extract| extract.path.as_path());
        let looks_names_up = outputs.iter().any(|output| output.target.has_host_name());
        let of_names: &[&str] = if looks_names_up { &NAME_SERVICE_FILES } else { &[] };
        let ports: Vec<u16> = names_after(&parts.interfaces, "tcp:")
            .filter_map(|server| server.rsplit_once(':')?.1.parse().ok())
            .chain(outputs.iter().filter_map(|output| output.target.tcp_port()))
            .chain(looks_names_up.then_some(DNS_PORT))
            .collect();
        let written = [hosts_file.as_deref(), baseline, state];
        let of_options = [
            ("--hosts-file", hosts_file.as_deref()),
            ("--write-baseline", baseline),
            ("--state", state),
            ("--extract", packets),
        ];
        let surroundings = Surroundings {
            files: other_files(packets, written, &control),
            ports: parts.sandbox.then(|| ports.clone()),
        };
        surroundings.check(&outputs)?;
        let files = outputs.iter().filter_map(|output| Some((output.option(), output.target.file()?)));
        let policy = Policy {
            user: parts.user,
            writable: files
                .chain(of_options.into_iter().filter_map(|(option, path)| Some((option, path?))))
                .map(|(option, path)| (option, path.to_owned()))
                .collect(),
            readable: parts
                .reload
                .iter()
                .flat_map(ReloadPlan::paths)
                .chain(of_names.iter().map(PathBuf::from))
                .collect(),
            folders: names_after(&parts.interfaces, "file:").map(PathBuf::from).collect(),
            ports,
            makes_folders: outputs.iter().any(|output| output.hour_folders),
            removable: control.files().map(|socket| socket.path.clone()).collect(),
            sandbox: parts.sandbox,
        };
        Ok(Self {
            interfaces: parts.interfaces,
            capture: options,
            queues,
            analyzer,
            watch: parts.watch,
            reload: parts.reload.map(|reload| reload.within(surroundings)),
            count: parts.count,
            outputs,
            extract,
            key_logs: parts.key_logs,
            control,
            hosts_file,
            baseline: parts.baseline,
            state: parts.state,
            stats_interval: parts.stats_interval,
            policy,
            view: parts.view,
            messages: parts.messages,
        })
    }
}

/// What follows a prefix in the names of sockets and streams.
fn names_after<'a>(interfaces: &'a [String], prefix: &'a str) -> impl Iterator<Item = &'a str> {
    interfaces.iter().filter_map(move |name| name.strip_prefix(prefix))
}

/// Reads the files that say who may read metrics.
fn metrics_config(service: &ServiceArguments) -> Result<Option<MetricsConfig>, Failure> {
    let Some(address) = service.metrics else { return Ok(None) };
    let files = MetricsFiles {
        token: service.metrics_token_file.clone(),
        tls: service.metrics_tls_cert.clone().zip(service.metrics_tls_key.clone()),
    };
    MetricsConfig::new(address, files).map(Some).map_err(|error| Failure::Usage(error.into()))
}

/// The source and the analyzer of a capture.
struct Capture {
    options: LiveOptions,
    queues: NonZeroUsize,
    analyzer: HuginnNet,
    /// The filter expression that the analyzer applies.
    expression: Option<String>,
}

/// The options of the capture and the analyzer: libpcap filters in the kernel, other backends leave that to the analyzer.
fn capture(
    interfaces: &[String],
    mut options: LiveOptions,
    backend: Option<Backend>,
    plan: AnalysisPlan,
    count: Option<u64>,
) -> Result<Capture, Failure> {
    let mut plan = plan.configure(|builder| builder.profiles(true));
    let expression = plan.take_expression();
    options.backend = match backend {
        Some(backend) => backend,
        None if cfg!(feature = "libpcap") && expression.is_some() => Backend::Pcap,
        None => Backend::default(),
    };
    let (by_kernel, here) = match options.backend {
        Backend::Pcap => (expression, None),
        _ => (None, expression),
    };
    options.expression = by_kernel;
    let workers = workers(plan.typed_workers(), &options.cpus)?;
    // The first packets of several queues are not defined.
    let has_queues = LiveSource::has_queues(interfaces, &options) && count.is_none();
    let queues = if has_queues { workers } else { NonZeroUsize::MIN };
    refusals::PINNED_QUEUES.check(queues < workers && !options.cpus.is_empty())?;
    let expression = here.clone();
    Ok(Capture { options, queues, analyzer: plan.filter_by(here).build_for_live(workers)?, expression })
}

/// The number of workers: as typed, one for each processor named, or one.
fn workers(typed: Option<NonZeroUsize>, cpus: &[usize]) -> Result<NonZeroUsize, Failure> {
    match (typed, NonZeroUsize::new(cpus.len())) {
        (Some(typed), Some(named)) if typed != named => {
            let named =
                if named == NonZeroUsize::MIN { "1 processor".into() } else { format!("{named} processors") };
            Err(refusals::PINNED_WORKERS.failure(&[&named, &typed.to_string()]))
        }
        (typed, named) => Ok(typed.or(named).unwrap_or(NonZeroUsize::MIN)),
    }
}

/// The files of other options than outputs.
fn other_files(
    packets: Option<&Path>,
    [hosts, baseline, state]: [Option<&Path>; 3],
    control: &ControlConfig,
) -> Vec<(&'static str, PathBuf)> {
    let named = [
        ("--extract", packets.map(Path::to_owned)),
        ("--hosts-file", hosts.map(Path::to_owned)),
        ("the new file of --hosts-file", hosts.map(new_name)),
        ("--write-baseline", baseline.map(Path::to_owned)),
        ("the new file of --write-baseline", baseline.map(new_name)),
        ("--state", state.map(Path::to_owned)),
        ("the new file of --state", state.map(new_name)),
        ("the unread file of --state", state.map(unread_name)),
    ];
    let named = named.into_iter().filter_map(|(option, path)| Some((option, path?)));
    named.chain(control.files().map(|socket| (socket.option, resolved(&socket.path)))).collect()
}
