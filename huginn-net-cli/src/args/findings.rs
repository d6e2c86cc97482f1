//! `huginn-net findings`.

use std::path::PathBuf;

use clap::Args;

use super::{
    AnalysisArguments, InputArguments, KnownArguments, ListOutputArguments, NetworkArguments,
    ThresholdArguments,
};

const EXAMPLE: &str = "\
Example:
  huginn-net findings captures/ | head     what to look at first";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct FindingsArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,

    #[command(flatten)]
    pub(crate) networks: NetworkArguments,

    /// Watch list, as of 'huginn-net pcap' (docs/watch-lists.md); may be repeated. Hits come first, and the exit status is 3
    #[arg(long, help_heading = "Analysis", value_name = "FILE")]
    pub(crate) fingerprints: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) thresholds: ThresholdArguments,

    #[command(flatten)]
    pub(crate) known: KnownArguments,

    #[command(flatten)]
    pub(crate) output: ListOutputArguments,
}
