//! What can be typed.

#[cfg(unix)]
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
#[cfg(unix)]
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use huginn_net::core::IpNet;

use crate::commands::explain::ExplainCommand;
#[cfg(unix)]
use crate::output::{parse_interval, parse_size};

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
    /// SignalThread interfaces until told to stop
    #[cfg(unix)]
    Live(Box<LiveArguments>),
    /// List the interfaces that can be watched
    #[cfg(unix)]
    Interfaces(InterfacesArguments),
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

    /// Only the hosts, at the end of each file, instead of the events: what each of them is and did, and why it is
    /// thought so. A table for people, or one JSON object a host
    #[arg(long, help_heading = "Output")]
    pub(crate) summary: bool,
}

/// What is analysed, and against what.
#[derive(Args, Debug)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct AnalysisArguments {
    /// Signature database in p0f v3 syntax, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,

    /// What to look for
    #[arg(long, value_enum, value_delimiter = ',', default_value = "tcp,http,tls,ssh", value_name = "LIST")]
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

    /// Worker threads: a number, or 'auto' for one per processor where the input is long enough
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = parse_workers)]
    pub(crate) workers: Workers,

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

    /// Write events to this file instead of standard output; 'live' appends to it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the counters to standard error at the end, as one JSON object
    #[arg(long)]
    pub(crate) stats: bool,

    /// Nothing on standard error but what goes wrong: no progress bar, no closing words
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Say more on standard error: what each file held, which rights were given up
    #[arg(short, long, action = ArgAction::SetTrue)]
    pub(crate) verbose: bool,
}

/// Signals and exit status, with an example.
#[cfg(unix)]
const LIVE_HELP: &str = "\
SIGINT and SIGTERM end it with all that is queued, SIGHUP opens --output anew, SIGUSR1 has it write what is known of hosts.

Example:
  sudo huginn-net live -i eth0 --user nobody --format json | jq -c '[.ts, .event, .client.ip]'";

#[cfg(unix)]
#[derive(Args, Debug)]
#[command(after_help = LIVE_HELP)]
pub(crate) struct LiveArguments {
    /// Interface to watch; may be repeated ('huginn-net interfaces' lists them)
    #[arg(short, long = "interface", required = true, value_name = "IFACE")]
    pub(crate) interfaces: Vec<String>,

    /// Only packets that this BPF expression selects, as --filter (pcap-filter(7); needs a build with the feature libpcap)
    #[arg(value_name = "BPF", conflicts_with = "filter")]
    pub(crate) expression: Vec<String>,

    #[command(flatten)]
    pub(crate) capture: CaptureArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) rotation: RotationArguments,

    #[command(flatten)]
    pub(crate) service: ServiceArguments,
}

/// How packets are taken from the kernel.
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(next_help_heading = "Capture")]
pub(crate) struct CaptureArguments {
    /// What captures [default: packet on Linux; libpcap elsewhere and where a BPF expression is given]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) backend: Option<BackendArgument>,

    /// Take each packet as it comes, not several at a time: events are some milliseconds earlier, and cost more
    #[arg(long)]
    pub(crate) immediate_mode: bool,

    /// Do not put interfaces into promiscuous mode
    #[arg(short = 'p', long)]
    pub(crate) no_promiscuous: bool,

    /// Bytes of a packet that are looked at
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 18, value_parser = clap::value_parser!(u32).range(64..=1 << 18))]
    pub(crate) snaplen: u32,

    /// Room in the kernel for packets that wait to be read, for each interface; allocated at once
    #[arg(long, value_name = "MIB", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1023))]
    pub(crate) buffer: u32,
}

#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendArgument {
    /// AF_PACKET sockets of Linux, without a system library
    Packet,
    /// libpcap (needs a build with the feature libpcap)
    Libpcap,
}

/// When a new output file is begun. Without these only SIGHUP does it, by which logrotate and its like ask for it.
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(next_help_heading = "Rotation of --output (SIGHUP opens it anew)")]
#[command(group = clap::ArgGroup::new("rotations").args(["rotate_size", "rotate_interval"]).multiple(true))]
pub(crate) struct RotationArguments {
    /// Before it grows longer than this: a number of bytes, 100M, 1G
    #[arg(long, value_name = "SIZE", requires = "output", value_parser = parse_size)]
    pub(crate) rotate_size: Option<u64>,

    /// When this time has passed: 15m, 1h, 1d, counted from midnight UTC
    #[arg(long, value_name = "TIME", requires = "output", value_parser = parse_interval)]
    pub(crate) rotate_interval: Option<Duration>,

    /// Keep so many of the files that were set aside [default: all]
    #[arg(long, value_name = "N", requires = "rotations", value_parser = parse_keep)]
    pub(crate) rotate_keep: Option<usize>,
}

/// What makes a service of it.
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(next_help_heading = "Service")]
pub(crate) struct ServiceArguments {
    /// Write the counters to standard error this often, as one JSON object: 60s, 5m
    #[arg(long, value_name = "TIME", value_parser = parse_interval)]
    pub(crate) stats_interval: Option<Duration>,

    /// Offer the counters to Prometheus at http://ADDR:PORT/metrics; a port alone is one of 127.0.0.1
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_address)]
    pub(crate) metrics: Option<SocketAddr>,

    /// Answer clients of p0f's API on this Unix socket
    #[arg(long, value_name = "PATH")]
    pub(crate) p0f_socket: Option<PathBuf>,

    /// The permissions of that socket, in octal
    #[arg(long, value_name = "MODE", requires = "p0f_socket", default_value = "600", value_parser = parse_mode)]
    pub(crate) p0f_socket_mode: u32,

    /// Where SIGUSR1 has all that is known of hosts written, one JSON object a host [default: standard error]
    #[arg(long, value_name = "FILE")]
    pub(crate) hosts_file: Option<PathBuf>,

    /// Run as this user once all is open: a name, or UID:GID
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    /// Do not confine the program to its output by Landlock
    #[arg(long)]
    pub(crate) no_sandbox: bool,
}

#[cfg(unix)]
#[derive(Args, Debug)]
pub(crate) struct InterfacesArguments {
    /// How they are listed
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: ListFormat,
}

#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// A table for people
    Human,
    /// JSON Lines, one interface each
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolArgument {
    /// Operating systems, link types and distances from TCP SYN and SYN+ACK segments
    Tcp,
    /// Browsers and servers from requests and responses in the clear: HTTP/1, HTTP/2
    Http,
    /// TLS clients and servers from their hellos over TCP, QUIC and DTLS: JA4, JA3
    Tls,
    /// SSH clients and servers from their identification strings and algorithms: HASSH
    Ssh,
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
    /// Check databases: errors with line and column, remarks with line
    Lint {
        /// Databases in p0f v3 syntax; a file without a classes line is checked as a part of the built-in database
        /// [default: the built-in one]
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Look up a raw TCP signature, as --format p0f prints it in raw_sig; prints label, file and line of the match
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

/// How many worker threads analyse packets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Workers {
    Count(NonZeroUsize),
    Auto,
}

impl Workers {
    /// The number for an input of this many bytes; `None` where its length is unknown.
    pub(crate) fn for_input(self, len: Option<u64>) -> NonZeroUsize {
        match self {
            Self::Count(count) => count,
            Self::Auto if len.is_some_and(|len| len < MIN_PARALLEL_LEN) => NonZeroUsize::MIN,
            Self::Auto => thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// The shortest input for which several workers are faster than one, in bytes: starting threads and sharing blocks takes
/// about as long as two workers save on 4 MB of web pages.
const MIN_PARALLEL_LEN: u64 = 4 << 20;

fn parse_workers(text: &str) -> Result<Workers, String> {
    if text == "auto" {
        return Ok(Workers::Auto);
    }
    text.parse().map(Workers::Count).map_err(|_| "not a number from 1, nor 'auto'".to_owned())
}

/// An address and a port, or a port of this machine alone.
#[cfg(unix)]
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = || text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    text.parse()
        .or_else(|_| port())
        .map_err(|_| "neither an address with a port such as [::1]:9100, nor a port".to_owned())
}

/// A number of files from 1: the newest at least is kept.
#[cfg(unix)]
fn parse_keep(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|keep| *keep > 0).ok_or_else(|| "not a number from 1".to_owned())
}

/// Permissions as `chmod` takes them.
#[cfg(unix)]
fn parse_mode(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
        .ok_or_else(|| "not permissions in octal such as 660".to_owned())
}

/// A network in CIDR notation, or one address.
fn parse_net(text: &str) -> Result<IpNet, String> {
    let address = || text.parse().map(|address: std::net::IpAddr| IpNet::from(address));
    text.parse()
        .or_else(|_| address())
        .map_err(|_| "not a network such as 192.0.2.0/24, nor an address".to_owned())
}
