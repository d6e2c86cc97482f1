//! `huginn-net fingerprints`.

use clap::{Args, ValueEnum};

use super::values::parse_number;
use super::{AnalysisArguments, Category, DocumentArguments, InputArguments, SelectArguments};

const EXAMPLES: &str = "\
Examples:
  The most frequent fingerprints of each kind:
    huginn-net fingerprints captures/
  The rarest TLS clients:
    huginn-net fingerprints --rare 5 --kinds ja4 captures/";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FingerprintsArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) select: SelectArguments,

    /// Only these kinds of fingerprints, by their names in JSON, such as user_agent,ja4
    #[arg(long, help_heading = Category::SELECTION.heading, value_name = "KIND", value_delimiter = ',')]
    pub(crate) kinds: Vec<String>,

    /// Print the N fingerprints of each kind that most hosts sent
    #[arg(
        long,
        help_heading = Category::OUTPUT.heading,
        value_name = "N",
        default_value = "10",
        value_parser = parse_number,
        conflicts_with = "rare"
    )]
    pub(crate) top: usize,

    /// Print the N fingerprints of each kind that fewest hosts sent, instead of --top
    #[arg(long, help_heading = Category::OUTPUT.heading, value_name = "N", value_parser = parse_number)]
    pub(crate) rare: Option<usize>,

    /// Output format
    #[arg(long, value_enum, default_value = "human", help_heading = Category::OUTPUT.heading, value_name = "FORMAT")]
    pub(crate) format: FingerprintFormat,

    #[command(flatten)]
    pub(crate) output: DocumentArguments,

    /// Do not start $PAGER for the human format on a terminal
    #[arg(long, help_heading = Category::OUTPUT.heading)]
    pub(crate) no_pager: bool,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FingerprintFormat {
    /// A table for each kind
    Human,
    /// JSON Lines, a fingerprint each
    Json,
    /// Comma-separated values with a line of headings
    Csv,
}
