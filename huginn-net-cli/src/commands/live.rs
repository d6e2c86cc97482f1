//! `huginn-net live`: interfaces, watched until told to stop.

mod report;
mod standing;

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use huginn_net::{Frame, HostLimits, HuginnNet, Overflow, P0fAnswer, Source, Timestamp, Watcher};
use huginn_net_live::{Backend, LiveError, LiveOptions, LiveSource, Stopper};

use self::report::{Ticker, dump_hosts, tell_end};
use self::standing::Standing;
use crate::args::{BackendArgument, LiveArguments};
use crate::ask::Sockets;
use crate::commands::analysis;
use crate::failure::{self, FAILED, Failure};
use crate::latency::Latency;
use crate::output::{OutputQueue, Renderer, Rotation, Target};
use crate::privileges::{self, Policy};
use crate::signals::{self, Caught, Signal};

/// How much text waits for whoever reads it, in bytes.
const OUTPUT_QUEUE: usize = 16 << 20;

pub(crate) fn run(args: &LiveArguments) -> Result<ExitCode, Failure> {
    let caught = Caught::new().map_err(starting("to take signals"))?;
    // All that needs rights, then the end of these, then threads: rights are those of threads.
    let (mut analyzer, mut source) = open(args)?;
    let sockets = bind(args)?;
    let rights = privileges::drop(&policy(args))?;
    let tell = |message: &dyn std::fmt::Display| {
        if !args.output.quiet {
            failure::report(message);
        }
    };
    if args.output.verbose {
        tell(&rights);
    }
    if let Some(address) = sockets.metrics_address() {
        tell(&format_args!("metrics at http://{address}/metrics"));
    }

    let output = OutputQueue::open(&target(args), rotation(args), OUTPUT_QUEUE)?;
    let stopper = source.stopper();
    output.on_close({
        let stopper = stopper.clone();
        move || stopper.stop()
    });
    let latency = Arc::new(Latency::new().map_err(starting("measuring"))?);
    let standing =
        Arc::new(Standing::new(analyzer.inspector(), source.stats(), output.handle(), Arc::clone(&latency)));
    let signals = watch_signals(caught, args, &stopper, &output, &standing)?;
    let answering = serve(sockets, &standing)?;
    let ticker = Ticker::start(Arc::clone(&standing), args.service.stats_interval)
        .map_err(starting("the thread that tells of losses"))?;
    source.on_notice(ticker.notices());
    tell(&format_args!("watching {}", args.interfaces.join(", ")));

    let renderer = Renderer::live(args.output.format, args.output.output.is_none());
    let source = Counted { source, left: args.analysis.count.unwrap_or(u64::MAX) };
    let mut pen = Pen { output: &output, latency: &latency, stopper: &stopper, captured: Vec::new() };
    let outcome = analyzer.watch(source, |event, text| renderer.render_live(event, text), &mut pen);

    // Nobody is answered any more who could ask for what is gone.
    if let Some(answering) = answering {
        answering.stop();
    }
    ticker.stop();
    output.finish();
    standing.end(&analyzer);
    drop(signals);
    if args.output.stats || args.service.stats_interval.is_some() {
        report::write_counters(&standing.counters());
    } else if !args.output.quiet {
        tell_end(&standing.counters());
    }
    match outcome {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            failure::report(&error);
            Ok(ExitCode::from(FAILED))
        }
    }
}

/// What is to be done with packets, and where they come from.
fn open(args: &LiveArguments) -> Result<(HuginnNet, LiveSource), Failure> {
    let typed = (!args.expression.is_empty()).then(|| args.expression.join(" "));
    let expression = typed.or_else(|| args.analysis.filter.clone());
    let builder = analysis::builder(&args.analysis, args.output.format, HostLimits::default(), true)?
        .overflow(Overflow::Drop);
    let backend = match args.capture.backend {
        Some(BackendArgument::Packet) => Backend::Packet,
        Some(BackendArgument::Libpcap) => Backend::Pcap,
        None if expression.is_some() => Backend::Pcap,
        None => Backend::default(),
    };
    // libpcap has the kernel select; otherwise it is done here.
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
        options.hold_back = Duration::ZERO;
    }
    match LiveSource::open(&args.interfaces, &options) {
        Ok(source) => Ok((analyzer, source)),
        Err(source @ LiveError::Denied { .. }) => {
            Err(Failure::NoRights { source, fix: privileges::how_to_get_rights() })
        }
        Err(error) => Err(error.into()),
    }
}

fn bind(args: &LiveArguments) -> Result<Sockets, Failure> {
    let p0f = args.service.p0f_socket.as_deref().map(|path| (path, args.service.p0f_socket_mode));
    Ok(Sockets::bind(args.service.metrics, p0f)?)
}

/// Which rights stay.
fn policy(args: &LiveArguments) -> Policy {
    let files = [&args.output.output, &args.service.p0f_socket, &args.service.hosts_file];
    Policy {
        user: args.service.user.clone(),
        writable: files.into_iter().flatten().cloned().collect(),
        sandbox: !args.service.no_sandbox,
    }
}

fn target(args: &LiveArguments) -> Target {
    args.output.output.clone().map_or(Target::Stdout, Target::File)
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
    caught: Caught,
    args: &LiveArguments,
    stopper: &Stopper,
    output: &OutputQueue,
    standing: &Arc<Standing>,
) -> Result<signals::Watch, Failure> {
    let (stopper, output, standing) = (stopper.clone(), output.handle(), Arc::clone(standing));
    let file: Option<Arc<Path>> = args.service.hosts_file.clone().map(|path: PathBuf| path.into());
    // A terminal that is gone takes nothing any more.
    let on_terminal = args.output.output.is_none() && io::stdout().is_terminal();
    let told = move |signal| match signal {
        Signal::Stop => stopper.stop(),
        Signal::Reopen if on_terminal => stopper.stop(),
        Signal::Reopen => output.reopen(),
        Signal::Dump => dump_hosts(&standing, file.clone()),
    };
    caught.watch(told).map_err(starting("the thread that takes signals"))
}

fn serve(sockets: Sockets, standing: &Arc<Standing>) -> Result<Option<crate::ask::Answering>, Failure> {
    let hosts = Arc::clone(standing);
    let counters = Arc::clone(standing);
    let tell_host = Arc::new(move |ip| {
        hosts.ask(move |hosts| P0fAnswer::of(hosts.profile(ip))).unwrap_or(P0fAnswer::NoMatch)
    });
    sockets
        .serve(tell_host, Arc::new(move || counters.counters()))
        .map_err(starting("the thread that answers"))
}

/// Interfaces of which so many packets are taken at most.
struct Counted {
    source: LiveSource,
    left: u64,
}

impl Source for Counted {
    type Error = LiveError;

    #[inline]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, LiveError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        self.source.next_frame()
    }

    fn is_at_hand(&self) -> bool {
        self.left == 0 || self.source.is_at_hand()
    }

    fn taken_at(&self) -> Option<Timestamp> {
        Source::taken_at(&self.source)
    }

    fn lends_from_buffer(&self) -> bool {
        self.source.lends_from_buffer()
    }

    fn take_buffer(&mut self, fresh: Vec<u8>) -> Vec<u8> {
        self.source.take_buffer(fresh)
    }
}

/// Writes events, and measures how late they are.
struct Pen<'a> {
    output: &'a OutputQueue,
    latency: &'a Latency,
    stopper: &'a Stopper,
    /// When the packets were captured whose events came in this round, in nanoseconds since the Unix epoch.
    captured: Vec<u64>,
}

impl Watcher for Pen<'_> {
    fn event(&mut self, ts: Timestamp, text: &[u8]) -> ControlFlow<()> {
        // Of what has no text in this format nobody hears.
        if text.is_empty() {
            return ControlFlow::Continue(());
        }
        self.captured.push(ts.as_nanos());
        let outcome = self.output.push(text);
        if outcome.is_break() {
            self.stopper.stop();
        }
        outcome
    }

    fn round(&mut self, taken_at: Option<Timestamp>) -> ControlFlow<()> {
        if !self.captured.is_empty() {
            self.latency.note(&self.captured, taken_at);
            self.captured.clear();
        }
        ControlFlow::Continue(())
    }
}
