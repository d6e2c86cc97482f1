//! `huginn-net report`.

use std::path::PathBuf;

use clap::Args;

use super::{
    AnalysisArguments, InputArguments, KnownArguments, NetworkArguments, SelectArguments, ThresholdArguments,
};

const EXAMPLE: &str = "\
Example:
  huginn-net report captures/ -o report.html --title 'Office network, November'";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ReportArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,

    #[command(flatten)]
    pub(crate) networks: NetworkArguments,

    /// Watch list, as of 'huginn-net pcap' (docs/watch-lists.md); may be repeated. Hits come first in the page, and the exit
    /// status is 3
    #[arg(long, help_heading = "Analysis", value_name = "FILE")]
    pub(crate) fingerprints: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) thresholds: ThresholdArguments,

    #[command(flatten)]
    pub(crate) known: KnownArguments,

    #[command(flatten)]
    pub(crate) select: SelectArguments,

    /// Write the page to this file, or with '-' to standard output
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Title of the page
    #[arg(
        long,
        help_heading = "Output",
        value_name = "TEXT",
        default_value = "Hosts and clients in captures"
    )]
    pub(crate) title: String,

    /// Print times in the local time zone instead of UTC
    #[arg(long, help_heading = "Output")]
    pub(crate) local_time: bool,

    /// Print only errors and warnings: no progress bar
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
