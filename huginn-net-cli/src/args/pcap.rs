//! `huginn-net pcap`.

use std::path::PathBuf;

use clap::Args;

use super::values::parse_number;
use super::{EventRunArguments, InputArguments};

const EXAMPLES: &str = "\
Examples:
  huginn-net pcap capture.pcap                                       a line for each event, then totals
  huginn-net pcap --summary capture.pcap                             what each host runs
  huginn-net pcap --rare 5 --events tls_client captures/             the rarest TLS clients of a directory
  huginn-net pcap --format json --fields ts,client.ip,ja4 a.pcap.gz  JSON Lines with three fields
  ssh sensor tcpdump -U -w - | huginn-net pcap -                     packets as they come

docs/options.md lists options that exclude each other.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PcapArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) run: EventRunArguments,

    /// Write conn.log, ssl.log and other logs to this folder, a row for each connection, with --format zeek as JSON or zeek-tsv;
    /// replaces logs that are there, and implies --connections
    #[arg(long, help_heading = "Output", value_name = "DIR", conflicts_with = "output")]
    pub(crate) zeek_dir: Option<PathBuf>,

    /// Do not start $PAGER for the human format on a terminal
    #[arg(long, help_heading = "Output")]
    pub(crate) no_pager: bool,

    /// Print a summary of hosts after each file instead of events: systems, software and the reasons for each verdict.
    /// A table, or one JSON object per host with --format json
    #[arg(long, help_heading = "Output")]
    pub(crate) summary: bool,

    /// Join the hosts of all files in one summary: equal addresses are one host
    #[arg(long, help_heading = "Output", requires = "summary")]
    pub(crate) merge: bool,

    /// Print the N fingerprints of each kind that most hosts sent, instead of events; --events selects kinds
    #[arg(long, help_heading = "Output", value_name = "N", value_parser = parse_number)]
    pub(crate) top: Option<usize>,

    /// Print the N fingerprints of each kind that fewest hosts sent, instead of events; --events selects kinds
    #[arg(long, help_heading = "Output", value_name = "N", value_parser = parse_number)]
    pub(crate) rare: Option<usize>,

    /// Only these kinds of fingerprints of --top and --rare, by their names in JSON, such as user_agent,ja4
    #[arg(long, help_heading = "Output", value_name = "KIND", value_delimiter = ',')]
    pub(crate) kinds: Vec<String>,
}
