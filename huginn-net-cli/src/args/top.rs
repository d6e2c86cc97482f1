//! `huginn-net top`.

use clap::Args;

use super::{AnalysisArguments, EventArguments, InputArguments, SelectArguments};

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
    pub(crate) analysis: AnalysisArguments,

    #[command(flatten)]
    pub(crate) select: SelectArguments,

    #[command(flatten)]
    pub(crate) events: EventArguments,

    /// Show times in the local time zone instead of UTC
    #[arg(long, help_heading = "Output")]
    pub(crate) local_time: bool,
}
