//! `huginn-net p0f`: the command line of p0f 3.09b.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::time::Duration;
#[cfg(unix)]
use std::{
    env,
    os::unix::fs::fchown,
    os::unix::process::CommandExt,
    path::Path,
    process::{self, Stdio},
    thread,
};

use huginn_net::Event;
use huginn_net::p0f::P0fLine;

use crate::args::P0fArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::paths::{name_of, open_output};
use crate::plan::{P0fFilePlan, P0fPlan};
use crate::run::open;
use crate::stderr;

/// Time that a program in the background has to report that it cannot start.
#[cfg(unix)]
const DAEMON_START_TIME: Duration = Duration::from_secs(1);

/// Greatest ratio to which a compressed capture may expand: p0f has no option for it.
const P0F_MAX_COMPRESSION_RATIO: Option<NonZeroU32> = NonZeroU32::new(1000);

pub(super) fn run(args: P0fArguments) -> Result<Outcome, Failure> {
    match P0fPlan::new(args)? {
        P0fPlan::List => list(),
        P0fPlan::File(plan) => read(*plan),
        #[cfg(unix)]
        P0fPlan::Live(plan) => {
            if let Some((log, owner)) = &plan.log_owner {
                hand_over(log, *owner).map_err(|source| Failure::Create { path: name_of(log), source })?;
            }
            crate::sensor::run(plan.live)
        }
        #[cfg(unix)]
        P0fPlan::Daemon(args) => start_daemon(&args),
    }
}

#[cfg(unix)]
fn list() -> Result<Outcome, Failure> {
    super::interfaces::run(crate::args::ListFormat::Human)
}

#[cfg(not(unix))]
fn list() -> Result<Outcome, Failure> {
    Err(Failure::Usage("live capture needs Linux or another Unix".into()))
}

/// Analyses a file: blocks on standard output, and log lines with -o.
fn read(plan: P0fFilePlan) -> Result<Outcome, Failure> {
    let P0fFilePlan { path, log, mut analyzer } = plan;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut log = match &log {
        Some(path) => {
            let open = open_output(path, OpenOptions::new().append(true).create(true), 0);
            Some(BufWriter::new(open.map_err(|source| Failure::Create { path: name_of(path), source })?))
        }
        None => None,
    };
    let reader = open(&path, P0F_MAX_COMPRESSION_RATIO)?;
    out.write_all(b"\n")?;
    let mut written = Ok(());
    let outcome = analyzer.analyze(reader, &mut |event: Event| {
        let mut lines = P0fLine::lines_from_event(&event);
        let outcome = lines.try_for_each(|line| {
            write!(out, "{}", line.block())?;
            log.as_mut().map_or(Ok(()), |log| writeln!(log, "{line}"))
        });
        match outcome {
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
        Ok(_) => Ok(Outcome::Complete),
        Err(error) => {
            stderr::report(&error);
            Ok(Outcome::Failed)
        }
    }
}

/// Creates the log, and gives it to the user of -u: p0f opens it as root, this program as the user.
#[cfg(unix)]
fn hand_over(log: &Path, (user, group): (u32, u32)) -> io::Result<()> {
    let file = open_output(log, OpenOptions::new().append(true).create(true), 0)?;
    // Others, such as terminals and pipes, are not the log of one user.
    if file.metadata()?.is_file() { fchown(&file, Some(user), Some(group)) } else { Ok(()) }
}

/// Starts the same command without -d in the background.
#[cfg(unix)]
fn start_daemon(args: &P0fArguments) -> Result<Outcome, Failure> {
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
    // Messages of the start are passed on; the pipe closes with this process, so that no reader waits for its end.
    let messages = child.stderr.take();
    let copy = thread::spawn(move || messages.map(|mut messages| io::copy(&mut messages, &mut io::stderr())));
    thread::sleep(DAEMON_START_TIME);
    match child.try_wait().map_err(start)? {
        Some(status) if !status.success() => {
            let _ = copy.join();
            Ok(Outcome::Failed)
        }
        _ => Ok(Outcome::Complete),
    }
}
