//! `huginn-net p0f`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

/// The command line of p0f 3.09b, and a filter expression behind the options.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("background").args(["log", "api"]).multiple(true))]
pub(crate) struct P0fArguments {
    /// Listen on this interface [default: the first one that is up]
    #[arg(short = 'i', value_name = "IFACE")]
    pub(crate) interface: Option<String>,

    /// Read packets from this capture file
    #[arg(short = 'r', value_name = "FILE", conflicts_with_all = ["interface", "promiscuous", "api", "daemon"])]
    pub(crate) read: Option<PathBuf>,

    /// Put the interface into promiscuous mode
    #[arg(short = 'p')]
    pub(crate) promiscuous: bool,

    /// List the interfaces
    #[arg(short = 'L')]
    pub(crate) list: bool,

    /// Signature database [default: the built-in one]
    #[arg(short = 'f', value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,

    /// Append log lines to this file; with -i, instead of blocks on standard output
    #[arg(short = 'o', value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// Answer API queries on this Unix socket
    #[arg(short = 's', value_name = "PATH")]
    pub(crate) api: Option<PathBuf>,

    /// Switch to this user; only with -i
    #[arg(short = 'u', value_name = "USER")]
    pub(crate) user: Option<String>,

    /// Run in the background (needs -o or -s)
    #[arg(short = 'd', requires = "background")]
    pub(crate) daemon: bool,

    /// Number of parallel API connections; without effect: the socket has a limit of its own
    #[arg(short = 'S', value_name = "N", requires = "api")]
    pub(crate) api_limit: Option<u32>,

    /// Idle timeouts of connections in seconds and of hosts in minutes; only with -r
    #[arg(short = 't', value_name = "C,H", value_parser = parse_pair)]
    pub(crate) timeouts: Option<P0fLimits>,

    /// Maximum numbers of connections and of hosts; only with -r
    #[arg(short = 'm', value_name = "C,H", value_parser = parse_pair)]
    pub(crate) max: Option<P0fLimits>,

    /// Analyse only packets that this expression selects (pcap-filter(7); needs libpcap)
    #[arg(value_name = "FILTER")]
    pub(crate) expression: Vec<String>,
}

/// Two limits: of connections and of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct P0fLimits {
    pub(crate) connections: usize,
    pub(crate) hosts: usize,
}

/// Parses two positive numbers with a comma between them.
fn parse_pair(text: &str) -> Result<P0fLimits, &'static str> {
    let pair = text.split_once(',').and_then(|(one, other)| Some((one.parse().ok()?, other.parse().ok()?)));
    match pair {
        Some((connections, hosts)) if connections > 0 && hosts > 0 => Ok(P0fLimits { connections, hosts }),
        _ => Err("expected two positive numbers such as 1000,10000"),
    }
}
