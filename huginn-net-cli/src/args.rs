//! What can be typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use huginn_net::IpNet;

use crate::commands::explain::ExplainCommand;

/// Passive network fingerprinting: says, from packets alone, who is talking.
#[derive(Debug, Parser)]
#[command(name = "huginn-net", version, max_term_width = 100, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Analyse capture files
    Pcap(PcapArguments),
    /// Inspect a signature database
    #[command(subcommand)]
    Db(DbCommand),
    /// Say in words what a fingerprint holds
    #[command(subcommand)]
    Explain(ExplainCommand),
}

#[derive(Args, Debug)]
pub(crate) struct PcapArguments {
    /// Capture files: pcap or pcapng, each also .gz or .zst; '-' reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// What is analysed, and against what.
#[derive(Args, Debug)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct AnalysisArguments {
    /// Signature database in p0f v3 syntax, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,

    /// What to look for
    #[arg(long, value_enum, value_delimiter = ',', default_value = "tcp,http,tls", value_name = "LIST")]
    pub(crate) protocols: Vec<ProtocolArgument>,

    /// Only packets that this BPF expression selects (pcap-filter(7); needs a build with the feature libpcap)
    #[arg(long, value_name = "BPF")]
    pub(crate) filter: Option<String>,

    /// Only packets from or to this port; may be repeated
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Vec<u16>,

    /// Only packets from or to this network (CIDR) or address; may be repeated
    #[arg(long, value_name = "NET", value_parser = parse_net)]
    pub(crate) net: Vec<IpNet>,

    /// Stop after this many packets
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,

    /// Threads that watch flows, beside those that read: a number, or 'auto' for one a processor
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = parse_workers)]
    pub(crate) workers: NonZeroUsize,

    /// Count wrong TCP and UDP checksums too (packets are never dropped for one)
    #[arg(long)]
    pub(crate) checksums: bool,
}

/// Where events go, and how they look.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    /// How events are written
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: Format,

    /// Only the hosts, at the end of each file, instead of the events: what each of them is and did, and why it is
    /// thought so. A table for people, or one JSON object a host
    #[arg(long)]
    pub(crate) summary: bool,

    /// Write events to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the counters to standard error at the end, as one JSON object
    #[arg(long)]
    pub(crate) stats: bool,

    /// No progress bar
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Say on standard error what each file held
    #[arg(short, long, action = ArgAction::SetTrue)]
    pub(crate) verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolArgument {
    /// Operating systems, link types and distances from TCP SYN and SYN+ACK segments
    Tcp,
    /// Browsers and servers from requests and responses in the clear: HTTP/1, HTTP/2
    Http,
    /// TLS clients and servers from their hellos over TCP, QUIC and DTLS: JA4, JA3
    Tls,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Blocks for people
    Human,
    /// JSON Lines, one event each
    Json,
    /// The log lines of p0f 3.09b
    P0f,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Count what a database holds
    Stats {
        /// Database in p0f v3 syntax [default: the built-in one]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Check databases: errors by line and column, doubtful places by line
    Lint {
        /// Databases in p0f v3 syntax [default: the built-in one]
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Look up a raw TCP signature, as --format p0f prints it in raw_sig
    Match {
        /// The signature, such as '4:64+0:0:1460:mss*44,7:mss,sok,ts,nop,ws:df,id+:0'
        #[arg(value_name = "SIGNATURE")]
        signature: String,
        /// Take it for that of a SYN+ACK
        #[arg(long)]
        response: bool,
        /// Database in p0f v3 syntax, instead of the built-in one
        #[arg(long, value_name = "FILE")]
        db: Option<PathBuf>,
    },
}

/// A number of threads. What cannot be found out is one.
fn parse_workers(text: &str) -> Result<NonZeroUsize, String> {
    if text == "auto" {
        return Ok(thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    }
    text.parse().map_err(|_| "not a number from 1, nor 'auto'".to_owned())
}

/// A network in CIDR notation, or one address.
fn parse_net(text: &str) -> Result<IpNet, String> {
    let address = || text.parse().map(|address: std::net::IpAddr| IpNet::from(address));
    text.parse()
        .or_else(|_| address())
        .map_err(|_| "not a network such as 192.0.2.0/24, nor an address".to_owned())
}
