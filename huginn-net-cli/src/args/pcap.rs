//! `huginn-net pcap`.

use std::path::PathBuf;

use clap::Args;

use super::{Category, EventRunArguments, InputArguments};

const EXAMPLES: &str = "\
Examples:
  A line for each event, then totals:
    huginn-net pcap capture.pcap
  Connections with these names:
    huginn-net pcap --where \"sni ~ '*.ru'\" captures/
  JSON Lines with three fields:
    huginn-net pcap --format json --fields ts,client.ip,ja4 a.pcap.gz
  Packets as they come:
    ssh sensor tcpdump -U -w - | huginn-net pcap -

docs/options.md lists options that exclude each other.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("format", |format| format.requires_if("zeek-tsv", "zeek_dir")))]
pub(crate) struct PcapArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// Write conn.log, ssl.log and other logs to this folder, a row for each connection, with --format zeek as JSON or zeek-tsv;
    /// replaces logs that are there, and implies --connections
    #[arg(long, help_heading = Category::OUTPUT.heading, value_name = "DIR", conflicts_with = "output")]
    pub(crate) zeek_dir: Option<PathBuf>,

    /// Write a Parquet file for each kind of events, such as tls_client.parquet, to the new folder that --output names, each with the columns
    /// of its kind (docs/schema.md); for --format parquet
    #[arg(long, help_heading = Category::OUTPUT.heading, requires = "output", conflicts_with = "zeek_dir")]
    pub(crate) tables: bool,

    /// Do not start $PAGER for the human format on a terminal
    #[arg(long, help_heading = Category::OUTPUT.heading)]
    pub(crate) no_pager: bool,

    #[command(flatten)]
    pub(crate) run: EventRunArguments,
}
