//! The program `huginn-net`: passive OS, HTTP, TLS and SSH fingerprinting.

mod analysis_counters;
mod args;
mod blind_spots;
mod commands;
#[cfg(unix)]
mod config;
#[cfg(unix)]
mod control;
mod failure;
mod hash_seed;
mod hints;
mod limits;
mod outcome;
mod output;
mod paths;
#[cfg(all(unix, feature = "tls"))]
mod pem;
mod plan;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "privileges/unsupported.rs"]
mod privileges;
mod read;
mod run;
#[cfg(unix)]
mod sensor;
#[cfg(unix)]
mod signals;
mod similar;
#[cfg(unix)]
mod state_lock;
mod stderr;
mod views;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

#[cfg(not(unix))]
use clap::Parser;
use huginn_net::core::{Printable, is_printable};

#[cfg(not(unix))]
use crate::args::Arguments;
use crate::failure::Failure;
use crate::outcome::Outcome;

fn main() -> ExitCode {
    #[cfg(unix)]
    if let Err(error) = signals::report_long_files() {
        stderr::report(&error);
        return Outcome::Failed.into();
    }
    #[cfg(unix)]
    let parsed = config::parse(std::env::args_os().collect());
    #[cfg(not(unix))]
    let parsed = Arguments::try_parse().map(Ok);
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let done = arguments.and_then(|arguments| commands::run(arguments.command));
    done.unwrap_or_else(|failure| end_with(&failure)).into()
}

/// Reports a failure, and returns how the program ends with it.
fn end_with(failure: &Failure) -> Outcome {
    let outcome = failure.outcome();
    if outcome != Outcome::Complete {
        stderr::report_error(failure);
    }
    outcome
}

/// Prints a usage error, or the help that was asked for.
fn usage(error: &clap::Error) -> ExitCode {
    // The exit status tells, too.
    let is_printable =
        |argument: OsString| argument.to_str().is_some_and(|text| text.chars().all(is_printable));
    let printed = if std::env::args_os().all(is_printable) {
        error.print().and_then(|()| io::stdout().flush())
    } else {
        write!(io::stderr().lock(), "{:#}", Printable(&error.render().to_string()))
    };
    if let Err(failed) = printed
        && !error.use_stderr()
    {
        return end_with(&Failure::Write(failed)).into();
    }
    if let Some(hint) = hints::hint(error) {
        stderr::report(&hint);
    }
    if error.use_stderr() { Outcome::Usage.into() } else { Outcome::Complete.into() }
}
