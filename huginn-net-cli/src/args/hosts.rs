//! `huginn-net hosts`.

use clap::Args;

use super::{AnalysisArguments, Category, InputArguments, ListOutputArguments};

const EXAMPLES: &str = "\
Examples:
  What each host runs, with the reasons:
    huginn-net hosts capture.pcap
  A line for each address of all captures:
    huginn-net hosts --merge --format json captures/

docs/hosts.md explains the verdicts.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HostsArguments {
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
