//! The subcommands, one file each: arguments become a plan, which is carried out.

mod compact;
#[cfg(unix)]
mod control;
mod db;
mod diff;
#[cfg(target_os = "linux")]
mod doctor;
mod enrich;
mod events;
mod explain;
mod export;
mod extract;
mod findings;
mod fingerprints;
mod fold;
mod follow;
mod generate;
mod hosts;
#[cfg(unix)]
mod hosts_join;
#[cfg(unix)]
mod interfaces;
mod inventory;
mod learn;
mod p0f;
mod pcap;
mod report;
mod top;
#[cfg(unix)]
mod watch;

#[cfg(not(unix))]
use crate::args::Command;
#[cfg(unix)]
use crate::args::{Command, HostsArguments, HostsCommand};
#[cfg(unix)]
use crate::control::ControlRequest;
use crate::failure::Failure;
use crate::outcome::Outcome;
#[cfg(unix)]
use crate::plan::LivePlan;
#[cfg(unix)]
use crate::sensor;

/// Carries out a command.
pub(crate) fn run(command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Pcap(args) => pcap::run(*args),
        Command::Hosts(args) => match *args {
            #[cfg(unix)]
            HostsArguments { command: Some(HostsCommand::Join(args)), .. } => hosts_join::run(*args),
            args => hosts::run(args),
        },
        Command::Compact(args) => compact::run(&args),
        Command::Fingerprints(args) => fingerprints::run(*args),
        Command::Findings(args) => findings::run(*args),
        Command::Report(args) => report::run(args),
        Command::Extract(args) => extract::run(*args),
        Command::Follow(args) => follow::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Inventory(args) => inventory::run(args),
        Command::Top(args) => top::run(args),
        #[cfg(unix)]
        Command::Watch(args) => watch::run(*args),
        #[cfg(unix)]
        Command::Live(args) if args.check => sensor::check(&LivePlan::new(*args)?),
        #[cfg(unix)]
        Command::Live(args) => sensor::run(LivePlan::new(*args)?),
        #[cfg(unix)]
        Command::Reload(args) => control::run(&args.control, ControlRequest::Reload),
        #[cfg(unix)]
        Command::Status(args) => control::run(&args.control, ControlRequest::Status),
        #[cfg(unix)]
        Command::Interfaces(args) => interfaces::run(args.format),
        #[cfg(target_os = "linux")]
        Command::Doctor(args) => doctor::run(&args),
        Command::Db(command) => db::run(command),
        Command::Explain(args) => explain::run(args),
        Command::Enrich(args) => enrich::run(&args),
        Command::P0f(args) => p0f::run(args),
        Command::Generate(command) => generate::run(command),
    }
}
