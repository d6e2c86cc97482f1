//! `huginn-net top`.

use clap::Args;

use super::{AlertArguments, AnalysisArguments, Category, InputArguments, SelectArguments};

const EXAMPLE: &str = "\
Keys: ? lists them, q quits.

Example:
  huginn-net top captures/";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct TopArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) select: SelectArguments,

    /// Show each connection at its end (event 'connection')
    #[arg(long, help_heading = Category::FINDINGS.heading)]
    pub(crate) connections: bool,

    #[command(flatten)]
    pub(crate) alerts: AlertArguments,

    /// Show times in the local time zone instead of UTC
    #[arg(long, help_heading = Category::OUTPUT.heading)]
    pub(crate) local_time: bool,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,
}
