//! `huginn-net live`: analysis of live traffic.

mod event_counters;
mod files;
mod health;
mod hosts;
mod report;
mod service_manager;
mod status;
#[cfg(feature = "parquet")]
mod tables;
mod view;
mod watch;

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use huginn_net::core::{FirstFrames, Overflow, TextSink};
use huginn_net::hosts::HostLimits;
use huginn_net::p0f::P0fAnswer;
use huginn_net::{Event, HuginnNet, Timestamp};
use huginn_net_live::{Backend, LiveError, LiveOptions, LiveSource, LiveStats, Stopper};

use self::event_counters::EventCounters;
use self::files::Files;
use self::hosts::HostsWriter;
use self::report::{Ticker, report_totals};
use self::service_manager::ServiceManager;
use self::status::LiveStatus;
use self::view::LiveView;
use self::watch::WatchedClients;
use crate::args::{BackendArgument, LiveArguments};
use crate::blind_spots::ExampleFiles;
use crate::commands::analysis;
use crate::control::{Readings, Sockets};
use crate::failure::{FAILED, Failure};
use crate::latency::Latency;
use crate::limits::OUTPUT_QUEUE_BYTES;
use crate::output::zone::Zone;
use crate::output::{Messages, OutputQueue, Renderer, Rotation, Target};
use crate::privileges::{self, Dropped};
use crate::signals::{self, PendingSignals, Signal};
use crate::terminal_view::Feed;

pub(crate) fn run(args: &LiveArguments) -> Result<ExitCode, Failure> {
    #[cfg(feature = "parquet")]
    tables::check(args)?;
    #[cfg(not(feature = "parquet"))]
    if args.output.format.is_table() {
        return Err(Failure::NoTables);
    }
    let pending_signals = PendingSignals::new().map_err(starting("signal handling"))?;
    // Privileges belong to threads: open everything, drop privileges, then start threads.
    let files = Files::from_args(args)?;
    let (mut analyzer, mut source) = open(args)?;
    let sockets = Sockets::bind(args.service.metrics, files.p0f_socket.as_ref())?;
    let rights = privileges::drop(&files.policy(args))?;
    files.check_rights()?;
    let (messages, message_queue) = Messages::start().map_err(starting("the message thread"))?;
    let feed = args.tui.then(|| Arc::new(Feed::new(Zone::new(args.output.local_time))));
    // A message printed on the screen of the view would stay there.
    messages.show_in(feed.clone());
    report_startup(args, &rights, &sockets, &messages);

    #[cfg(feature = "parquet")]
    let (output, mut table) = if args.output.format.is_table() {
        let (output, events) = tables::open(args, &files.target, &source.stats(), messages.clone())?;
        (output, Some(events))
    } else {
        (open_output(args, &files.target, &messages)?, None)
    };
    #[cfg(not(feature = "parquet"))]
    let output = open_output(args, &files.target, &messages)?;
    let stopper = source.stopper();
    output.on_close({
        let stopper = stopper.clone();
        move || stopper.stop()
    });
    let latency = Arc::new(Latency::new().map_err(starting("latency measurement"))?);
    let snapshots = analyzer.snapshot_handle();
    snapshots.set_waker({
        let stopper = stopper.clone();
        move || stopper.wake()
    });
    let event_counters = Arc::new(EventCounters::default());
    let watched = Arc::new(WatchedClients::new(messages.clone()));
    let status = Arc::new(LiveStatus::new(
        snapshots,
        source.stats(),
        output.handle(),
        Arc::clone(&latency),
        Arc::clone(&event_counters),
        Arc::clone(&watched),
    ));
    let hosts = HostsWriter::start(Arc::clone(&status), files.hosts, messages.clone())
        .map_err(starting("the host profile thread"))?;
    let on_terminal = args.tui || matches!(files.target, Target::Stdout) && io::stdout().is_terminal();
    let signals = watch_signals(pending_signals, on_terminal, &stopper, &output, hosts)?;
    let server = serve(sockets, &status)?;
    let manager = Arc::new(ServiceManager::from_env());
    let ticker = Ticker::start(
        Arc::clone(&status),
        Arc::clone(&manager),
        args.service.stats_interval,
        messages.clone(),
    )
    .map_err(starting("the statistics thread"))?;
    source.on_notice({
        let messages = messages.clone();
        move |notice| messages.print(notice)
    });
    if !args.output.quiet && !args.tui {
        messages.print(&format_args!("watching {}", args.interfaces.join(", ")));
    }

    let to_stdout = matches!(files.target, Target::Stdout);
    let renderer = Renderer::live(&args.output, to_stdout, named_interfaces(&source.stats()));
    let mut events = EventOutput {
        output: &output,
        latency: &latency,
        stopper: &stopper,
        stats: source.stats(),
        captured: Vec::new(),
        taken_at: None,
    };
    let view = feed.map(|feed| LiveView::start(args, feed, &status, &stopper)).transpose()?;
    // The terminal shows events itself.
    let writes_events = view.is_none() || !to_stdout;
    let source = FirstFrames::new(status.monitor(source), args.analysis.count.unwrap_or(u64::MAX));
    manager.notify_ready(&args.interfaces, &messages);
    let render = |event: &Event, text: &mut Vec<u8>| {
        event_counters.on_event(event);
        watched.on_event(event);
        if let Some(view) = &view {
            view.add(event);
        }
        if writes_events {
            renderer.render_live(event, text);
        }
    };
    #[cfg(feature = "parquet")]
    let outcome = match table.take() {
        Some(table) => {
            let sink = tables::TableSink {
                events: table,
                selected: &args.output.events,
                event_counters: &event_counters,
                watched: &watched,
                latency: &latency,
                stats: events.stats,
                view: view.as_ref(),
            };
            let outcome = analyzer.analyze(source, &mut |event: Event| sink.on_event(event));
            stopper.stop();
            outcome
        }
        None => analyzer.analyze_text(source, render, &mut events),
    };
    #[cfg(not(feature = "parquet"))]
    let outcome = analyzer.analyze_text(source, render, &mut events);

    manager.notify_stopping();
    if let Some(view) = view {
        view.end(&messages);
    }
    status.end(&analyzer);
    ticker.stop();
    watched.finish();
    // The server meanwhile answers that the capture has ended.
    let left = output.finish().left_lines;
    if let Some(server) = server {
        server.stop();
    }
    drop(signals);
    if args.output.stats || args.service.stats_interval.is_some() {
        let mut examples = ExampleFiles::default();
        examples.assign(&analyzer, None, 0);
        report::write_counters(&status.counters(), Some(examples.locate(&analyzer)), &messages);
    } else if !args.output.quiet {
        report_totals(&status.counters(), &messages);
    }
    if left > 0 {
        messages.print(&format_args!("{left} events could not be written before the end"));
    }
    if let Err(error) = &outcome {
        messages.print(error);
    }
    message_queue.finish();
    Ok(if outcome.is_ok() && left == 0 { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// Returns the interfaces that events name, by their index: none unless there are several.
fn named_interfaces(stats: &LiveStats) -> Vec<String> {
    let names: Vec<String> = stats.interfaces().into_iter().map(|interface| interface.name).collect();
    if names.len() > 1 { names } else { Vec::new() }
}

/// Prints the dropped privileges, warnings and the metrics address.
fn report_startup(args: &LiveArguments, rights: &Dropped, sockets: &Sockets, messages: &Messages) {
    if args.output.verbose {
        messages.print(rights);
    }
    if let Some(warning) = rights.warning() {
        messages.print(&warning);
    }
    if let Some(address) = sockets.metrics_address().filter(|_| !args.output.quiet) {
        messages.print(&format_args!("metrics at http://{address}/metrics"));
    }
}

/// Opens the analyzer and the interfaces.
fn open(args: &LiveArguments) -> Result<(HuginnNet, LiveSource), Failure> {
    let typed = (!args.expression.is_empty()).then(|| args.expression.join(" "));
    let expression = typed.or_else(|| args.analysis.filter.clone());
    let builder = analysis::builder(&args.analysis, None, args.output.format, HostLimits::default(), true)?
        .overflow(Overflow::Drop);
    let backend = match args.capture.backend {
        Some(BackendArgument::Packet) => Backend::Packet,
        Some(BackendArgument::Libpcap) => Backend::Pcap,
        None if expression.is_some() => Backend::Pcap,
        None => Backend::default(),
    };
    // libpcap filters in the kernel; other backends leave the filter to the analyzer.
    let (by_kernel, here) = match backend {
        Backend::Pcap => (expression, None),
        _ => (None, expression),
    };
    #[cfg(not(feature = "libpcap"))]
    if by_kernel.is_some() {
        return Err(Failure::NoBpf);
    }
    let analyzer = analysis::filtered(builder, here.as_deref())?.build();
    let mut options = LiveOptions::default();
    options.backend = backend;
    options.promiscuous = !args.capture.no_promiscuous;
    options.snaplen = args.capture.snaplen;
    options.buffer_bytes = usize::try_from(args.capture.buffer).unwrap_or(usize::MAX).saturating_mul(1 << 20);
    options.expression = by_kernel;
    if args.capture.immediate_mode {
        options.buffer_timeout = Duration::ZERO;
    }
    match LiveSource::open(&args.interfaces, &options) {
        Ok(source) => Ok((analyzer, source)),
        Err(source @ LiveError::PermissionDenied { .. }) => {
            Err(Failure::NoRights { source, fix: privileges::how_to_get_rights() })
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens the file or pipe of events as text.
fn open_output(args: &LiveArguments, target: &Target, messages: &Messages) -> Result<OutputQueue, Failure> {
    Ok(OutputQueue::open(target, rotation(args), OUTPUT_QUEUE_BYTES, messages.clone())?)
}

fn rotation(args: &LiveArguments) -> Rotation {
    Rotation {
        max_bytes: args.rotation.rotate_size,
        every: args.rotation.rotate_interval,
        keep: args.rotation.rotate_keep,
    }
}

fn starting(doing: &'static str) -> impl FnOnce(io::Error) -> Failure {
    move |source| Failure::Start { doing, source }
}

fn watch_signals(
    pending_signals: PendingSignals,
    on_terminal: bool,
    stopper: &Stopper,
    output: &OutputQueue,
    hosts: HostsWriter,
) -> Result<signals::SignalThread, Failure> {
    let (stopper, output) = (stopper.clone(), output.handle());
    let on_signal = move |signal| match signal {
        Signal::Stop => stopper.stop(),
        // SIGHUP on a terminal means that the terminal is gone.
        Signal::Reopen if on_terminal => stopper.stop(),
        Signal::Reopen => output.reopen(),
        Signal::Dump => hosts.request(),
    };
    pending_signals.watch(on_signal).map_err(starting("the signal thread"))
}

fn serve(
    sockets: Sockets,
    status: &Arc<LiveStatus>,
) -> Result<Option<crate::control::ControlServer>, Failure> {
    let hosts = Arc::clone(status);
    let (counters, health) = (Arc::clone(status), Arc::clone(status));
    let query_host = Arc::new(move |ip| {
        hosts
            .query_hosts(move |hosts| P0fAnswer::from_profile(hosts.profile(ip)))
            .or_else(|| (!hosts.has_ended()).then_some(P0fAnswer::NoMatch))
    });
    let readings = Readings {
        counters: Box::new(move || counters.counters()),
        health: Box::new(move || health.health()),
    };
    sockets.serve(query_host, readings).map_err(starting("the control server"))
}

/// Writes events to the output queue and records their latency.
struct EventOutput<'a> {
    output: &'a OutputQueue,
    latency: &'a Latency,
    stopper: &'a Stopper,
    stats: LiveStats,
    /// Capture times of the packets whose events came in this batch, in nanoseconds since the Unix epoch.
    captured: Vec<u64>,
    /// Time at which the packet of the first of these events was read from the kernel, if known.
    taken_at: Option<Timestamp>,
}

impl TextSink for EventOutput<'_> {
    fn event(&mut self, ts: Timestamp, text: &[u8]) -> ControlFlow<()> {
        // Skips events that this format cannot render.
        if text.is_empty() {
            return ControlFlow::Continue(());
        }
        if self.captured.is_empty() {
            self.taken_at = self.stats.taken_at();
        }
        self.captured.push(ts.as_nanos());
        self.output.push(text)
    }

    fn batch_end(&mut self, taken_at: Option<Timestamp>) -> ControlFlow<()> {
        if !self.captured.is_empty() {
            self.latency.record(&self.captured, taken_at.or(self.taken_at));
            self.captured.clear();
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self) {
        self.stopper.stop();
    }
}
