//! `huginn-net extract`.

use std::path::PathBuf;

use clap::Args;

use super::values::parse_event;
use super::{AnalysisArguments, Category, EventArguments, InputArguments, SelectArguments};

const EXAMPLES: &str = "\
Examples:
  The connections with these names:
    huginn-net extract --where \"sni ~ '*.ru'\" -o evidence.pcapng captures/
  Connections up to the ClientHello:
    huginn-net extract --events tls_client --handshakes -o out.pcapng a.pcap
  All packets, with comments:
    huginn-net extract --annotate -o annotated.pcapng a.pcap

docs/extract.md describes what is written.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExtractArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// Write packets to this pcapng file, or with '-' to standard output
    #[arg(short, long, help_heading = Category::OUTPUT.heading, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Only connections with these events (docs/events.md)
    #[arg(
        long,
        help_heading = Category::SELECTION.heading,
        value_name = "KIND",
        value_delimiter = ',',
        value_parser = parse_event
    )]
    pub(crate) events: Vec<&'static str>,

    #[command(flatten)]
    pub(crate) select: SelectArguments,

    /// Write each connection only up to the packet of its last selected event
    #[arg(long, help_heading = Category::OUTPUT.heading)]
    pub(crate) handshakes: bool,

    /// Write all packets of the captures, with comments on those that selected events come from
    #[arg(long, help_heading = Category::OUTPUT.heading, conflicts_with = "handshakes")]
    pub(crate) annotate: bool,

    /// Print only errors and warnings on standard error: no progress bar, no totals
    #[arg(short, long, help_heading = Category::MESSAGES.heading)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) event_additions: EventArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,
}
