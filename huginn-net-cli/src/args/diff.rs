//! `huginn-net diff`.

use std::path::PathBuf;

use clap::Args;

use super::{AnalysisArguments, InputLimits, ListOutputArguments, SelectArguments};

const EXAMPLES: &str = "\
Examples:
  huginn-net diff monday.pcap tuesday.pcap          what is new, gone or changed
  huginn-net diff --format json before/ after/      a line for each difference

docs/follow.md explains the output.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiffArguments {
    /// Captures of before: a file, a directory, '@LIST' or '-', as in 'huginn-net pcap'
    #[arg(value_name = "A")]
    pub(crate) before: PathBuf,

    /// Captures of after
    #[arg(value_name = "B")]
    pub(crate) after: PathBuf,

    #[command(flatten)]
    pub(crate) limits: InputLimits,

    #[command(flatten)]
    pub(crate) select: SelectArguments,

    #[command(flatten)]
    pub(crate) output: ListOutputArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,
}
