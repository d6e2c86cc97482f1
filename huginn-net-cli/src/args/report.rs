//! `huginn-net report`.

use std::path::PathBuf;

use clap::Args;

use super::{AlertArguments, AnalysisArguments, Category, InputArguments, NetworkArguments, SelectArguments};

const EXAMPLE: &str = "\
Example:
  huginn-net report captures/ -o report.html --title 'Office, November'";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ReportArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) networks: NetworkArguments,

    #[command(flatten)]
    pub(crate) alerts: AlertArguments,

    #[command(flatten)]
    pub(crate) select: SelectArguments,

    /// Write the page to this file, or with '-' to standard output
    #[arg(short, long, help_heading = Category::OUTPUT.heading, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Title of the page
    #[arg(
        long,
        help_heading = Category::OUTPUT.heading,
        value_name = "TEXT",
        default_value = "Hosts and clients in captures"
    )]
    pub(crate) title: String,

    /// Print times in the local time zone instead of UTC
    #[arg(long, help_heading = Category::OUTPUT.heading)]
    pub(crate) local_time: bool,

    /// Print only errors and warnings: no progress bar
    #[arg(short, long, help_heading = Category::MESSAGES.heading)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,
}
