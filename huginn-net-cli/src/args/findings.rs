//! `huginn-net findings`.

use clap::Args;

use super::{AlertArguments, AnalysisArguments, InputArguments, ListOutputArguments, NetworkArguments};

const EXAMPLE: &str = "\
Example:
  huginn-net findings captures/ | head     what to look at first";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct FindingsArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) networks: NetworkArguments,

    #[command(flatten)]
    pub(crate) alerts: AlertArguments,

    #[command(flatten)]
    pub(crate) output: ListOutputArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,
}
