//! The program `huginn-net`: says from packets alone who is talking.

mod args;
mod commands;
mod failure;
mod output;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Arguments, Command};

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Pcap(args) => commands::pcap::run(args),
        Command::Db(command) => commands::db::run(command),
        Command::Explain(command) => commands::explain::run(command),
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
