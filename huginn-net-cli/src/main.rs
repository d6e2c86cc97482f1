//! The program `huginn-net`: passive OS, HTTP, TLS and SSH fingerprinting.

mod analysis_counters;
mod args;
mod blind_spots;
mod commands;
#[cfg(unix)]
mod control;
mod failure;
mod hints;
#[cfg(unix)]
mod latency;
mod limits;
mod output;
mod overview;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "privileges/unsupported.rs"]
mod privileges;
mod report;
#[cfg(unix)]
mod signals;
mod terminal_view;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let outcome = match arguments.command {
        Command::Pcap(args) => commands::pcap::run(args),
        Command::Report(args) => commands::report::run(&args),
        Command::Top(args) => commands::top::run(args),
        #[cfg(unix)]
        Command::Live(args) => commands::live::run(&args),
        #[cfg(unix)]
        Command::Interfaces(args) => commands::interfaces::run(args),
        Command::Db(command) => commands::db::run(command),
        Command::Explain(command) => commands::explain::run(command),
        Command::P0f(args) => commands::p0f::run(&args),
        Command::Generate(command) => commands::generate::run(command),
    };
    match outcome {
        Ok(status) => status,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            failure::report(&failure);
            failure.status()
        }
    }
}

/// Prints a usage error, or the help that was asked for.
fn usage(error: &clap::Error) -> ExitCode {
    // The exit status tells, too.
    let _ = error.print();
    if let Some(hint) = hints::hint(error) {
        failure::report(&hint);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(failure::USAGE))
}
