//! `huginn-net hosts`.

#[cfg(unix)]
use std::path::PathBuf;

use clap::Args;
#[cfg(unix)]
use clap::Subcommand;

use super::{AnalysisArguments, Category, InputArguments, ListOutputArguments};

const EXAMPLES: &str = "\
Examples:
  What each host runs, with the reasons:
    huginn-net hosts capture.pcap
  A line for each address of all captures:
    huginn-net hosts --merge --format json captures/
  The hosts of several sensors, from their files of 'live --state':
    huginn-net hosts join berlin-1.jsonl paris-1.jsonl

docs/hosts.md explains the verdicts, docs/fleet.md several sensors.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct HostsArguments {
    #[cfg(unix)]
    #[command(subcommand)]
    pub(crate) command: Option<HostsCommand>,

    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// Join the hosts of all captures: equal addresses are one host. Without it, each capture has a table of its own
    #[arg(long, help_heading = Category::INPUT.heading)]
    pub(crate) merge: bool,

    #[command(flatten)]
    pub(crate) output: ListOutputArguments,

    /// Do not start $PAGER for the human format on a terminal
    #[arg(long, help_heading = Category::OUTPUT.heading)]
    pub(crate) no_pager: bool,

    /// Write counters to standard error at the end, as one JSON object
    #[arg(long, help_heading = Category::MESSAGES.heading)]
    pub(crate) stats: bool,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,
}

#[cfg(unix)]
#[derive(Debug, Subcommand)]
pub(crate) enum HostsCommand {
    /// Join the hosts of several sensors, from their files of 'live --state'
    ///
    /// Each address is one host in each site ('live --site').
    Join(Box<HostsJoinArguments>),
}

#[cfg(unix)]
#[derive(Args, Debug)]
pub(crate) struct HostsJoinArguments {
    /// Files of 'live --state', each of another sensor
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: ListOutputArguments,

    /// Do not start $PAGER for the human format on a terminal
    #[arg(long, help_heading = Category::OUTPUT.heading)]
    pub(crate) no_pager: bool,

    /// Signature database of the sensors, instead of the built-in one
    #[arg(long, value_name = "FILE", help_heading = Category::NAMES.heading)]
    pub(crate) db: Option<PathBuf>,
}
