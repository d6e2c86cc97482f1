//! `huginn-net p0f`: the command line of p0f 3.09b.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use huginn_net::core::FlowLimits;
use huginn_net::hosts::HostLimits;
use huginn_net::p0f::P0fLine;
use huginn_net::{Event, HuginnNet};

use crate::args::{Arguments, Command, Format, P0fArguments};
use crate::commands::{analysis, captures};
use crate::failure::{self, FAILED, Failure};

pub(crate) fn run(args: &P0fArguments) -> Result<ExitCode, Failure> {
    if args.list {
        return list();
    }
    check(args)?;
    match &args.read {
        Some(path) => read(args, path),
        #[cfg(unix)]
        None => live::run(args),
        #[cfg(not(unix))]
        None => Err(Failure::P0fUsage("live capture needs Linux or another Unix")),
    }
}

#[cfg(unix)]
fn list() -> Result<ExitCode, Failure> {
    use crate::args::{InterfacesArguments, ListFormat};

    crate::commands::interfaces::run(InterfacesArguments { format: ListFormat::Human })
}

#[cfg(not(unix))]
fn list() -> Result<ExitCode, Failure> {
    Err(Failure::P0fUsage("live capture needs Linux or another Unix"))
}

/// Refuses the combinations that p0f refuses.
fn check(args: &P0fArguments) -> Result<(), Failure> {
    let is_file = args.read.is_some();
    let refuse = |message| Err(Failure::P0fUsage(message));
    if args.api_limit.is_some() && args.api.is_none() {
        return refuse("-S needs -s");
    }
    if is_file && args.interface.is_some() {
        return refuse("-i and -r exclude each other");
    }
    if is_file && args.promiscuous {
        return refuse("-p needs an interface: a file cannot be promiscuous");
    }
    if is_file && args.api.is_some() {
        return refuse("-s needs an interface: there is no API for files");
    }
    if is_file && args.daemon {
        return refuse("-d needs an interface: a file is read in the foreground");
    }
    if args.daemon && args.log.is_none() && args.api.is_none() {
        return refuse("-d needs -o or -s");
    }
    Ok(())
}

/// The filter expression behind the options.
fn expression(args: &P0fArguments) -> Option<String> {
    Some(args.expression.join(" ")).filter(|expression| !expression.is_empty())
}

/// Analyses a file: blocks on standard output, and log lines with -o.
fn read(args: &P0fArguments, path: &Path) -> Result<ExitCode, Failure> {
    let mut analyzer = analyzer(args)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut log = match &args.log {
        Some(path) => {
            let open = OpenOptions::new().append(true).create(true).open(path);
            Some(BufWriter::new(
                open.map_err(|source| Failure::Create { path: captures::name_of(path), source })?,
            ))
        }
        None => None,
    };
    let reader = captures::open(path)?;
    out.write_all(b"\n")?;
    let mut written = Ok(());
    let outcome = analyzer.analyze(reader, &mut |event: Event| {
        let Some(line) = P0fLine::from_event(&event) else { return ControlFlow::Continue(()) };
        let mut write = || {
            write!(out, "{}", line.block())?;
            log.as_mut().map_or(Ok(()), |log| writeln!(log, "{line}"))
        };
        match write() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                written = Err(error);
                ControlFlow::Break(())
            }
        }
    });
    written?;
    if let Some(mut log) = log {
        log.flush()?;
    }
    writeln!(out, "\nAll done. Processed {} packets.", analyzer.counters().decode.tcp)?;
    out.flush()?;
    match outcome {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            failure::report(&error);
            Ok(ExitCode::from(FAILED))
        }
    }
}

/// Builds an analyzer with the limits of -m and -t.
fn analyzer(args: &P0fArguments) -> Result<HuginnNet, Failure> {
    // p0f checks its hosts every 50 packets only.
    let mut hosts = HostLimits { idle_timeout: Duration::from_secs(30 * 86_400), ..HostLimits::default() };
    let mut flows = FlowLimits { syn_lifetime: Duration::from_secs(30), ..FlowLimits::default() };
    if let Some(limits) = args.max {
        flows.max_flows = limits.connections;
        hosts.max_hosts = limits.hosts;
    }
    if let Some(limits) = args.timeouts {
        flows.idle_timeout = Duration::from_secs(u64::try_from(limits.connections).unwrap_or(u64::MAX));
        let minutes = u64::try_from(limits.hosts).unwrap_or(u64::MAX);
        hosts.idle_timeout = Duration::from_secs(minutes.saturating_mul(60));
    }
    let Command::Pcap(mut pcap) = Arguments::parse_from(["huginn-net", "pcap", "-"]).command else {
        return Err(Failure::P0fUsage("no capture"));
    };
    pcap.analysis.db.clone_from(&args.db);
    let builder = analysis::builder(&pcap.analysis, None, Format::P0f, hosts, false)?.flow_limits(flows);
    analysis::filtered(builder, expression(args).as_deref()).map(huginn_net::Builder::build)
}

/// Capture from an interface, by the machinery of `huginn-net live`.
#[cfg(unix)]
mod live {
    use std::env;
    use std::fs::OpenOptions;
    use std::io;
    use std::os::unix::fs::{OpenOptionsExt, fchown};
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::{self, ExitCode, Stdio};
    use std::thread;

    use clap::Parser;
    use huginn_net_live::interfaces;

    use super::expression;
    use crate::args::{Arguments, Command, Format, LiveArguments, P0fArguments};
    use crate::commands::captures;
    use crate::failure::{FAILED, Failure, report};
    use crate::limits::DAEMON_START_TIME;
    use crate::privileges;

    pub(super) fn run(args: &P0fArguments) -> Result<ExitCode, Failure> {
        if args.max.is_some() || args.timeouts.is_some() || args.api_limit.is_some() {
            report(
                &"-m, -t and -S have no effect on live capture: its tables and connections have limits of their own",
            );
        }
        if args.daemon {
            return start_daemon(args);
        }
        let live = arguments(args)?;
        if let (Some(log), Some(owner)) = (&args.log, privileges::owner(args.user.as_deref())?) {
            hand_over(log, owner)
                .map_err(|source| Failure::Create { path: captures::name_of(log), source })?;
        }
        crate::commands::live::run(&live)
    }

    /// Creates the log, and gives it to the user of -u: p0f opens it as root, this program as the user.
    fn hand_over(log: &Path, (user, group): (u32, u32)) -> io::Result<()> {
        let file = OpenOptions::new().append(true).create(true).mode(0o640).open(log)?;
        // Others, such as terminals and pipes, are not the log of one user.
        if file.metadata()?.is_file() { fchown(&file, Some(user), Some(group)) } else { Ok(()) }
    }

    /// The arguments of `huginn-net live` that do the same.
    fn arguments(args: &P0fArguments) -> Result<Box<LiveArguments>, Failure> {
        let interface = match &args.interface {
            Some(name) => name.clone(),
            None => first_interface()?,
        };
        let words = ["huginn-net", "live", "--quiet", "-i", &interface];
        let Command::Live(mut live) = Arguments::parse_from(words).command else {
            return Err(Failure::P0fUsage("no interface"));
        };
        live.analysis.db.clone_from(&args.db);
        live.analysis.filter = expression(args);
        live.capture.no_promiscuous = !args.promiscuous;
        live.output.format = if args.log.is_some() { Format::P0f } else { Format::P0fBlocks };
        live.output.output.clone_from(&args.log);
        live.service.user.clone_from(&args.user);
        live.service.p0f_socket.clone_from(&args.api);
        // As p0f creates it.
        live.service.p0f_socket_mode = 0o666;
        Ok(live)
    }

    /// The first interface that is up, other than the loopback, as p0f chooses.
    fn first_interface() -> Result<String, Failure> {
        let up = interfaces()?.into_iter().find(|interface| interface.is_up && !interface.is_loopback);
        up.map(|interface| interface.name).ok_or(Failure::P0fUsage("no interface is up: name one with -i"))
    }

    /// Starts the same command without -d in the background.
    fn start_daemon(args: &P0fArguments) -> Result<ExitCode, Failure> {
        let start = |source| Failure::Start { doing: "the program in the background", source };
        let mut command = process::Command::new(env::current_exe().map_err(start)?);
        command.arg("p0f");
        if args.promiscuous {
            command.arg("-p");
        }
        for (option, name) in [("-i", &args.interface), ("-u", &args.user)] {
            name.iter().for_each(|name| _ = command.args([option, name]));
        }
        for (option, path) in [("-f", &args.db), ("-o", &args.log), ("-s", &args.api)] {
            path.iter().for_each(|path| _ = command.arg(option).arg(path));
        }
        let mut child = command
            .arg("--")
            .args(&args.expression)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(start)?;
        // Messages of the start are passed on; the pipe is closed with this process, so that nobody waits for its end.
        let messages = child.stderr.take();
        let copy =
            thread::spawn(move || messages.map(|mut messages| io::copy(&mut messages, &mut io::stderr())));
        thread::sleep(DAEMON_START_TIME);
        match child.try_wait().map_err(start)? {
            Some(status) if !status.success() => {
                let _ = copy.join();
                Ok(ExitCode::from(FAILED))
            }
            _ => Ok(ExitCode::SUCCESS),
        }
    }
}
