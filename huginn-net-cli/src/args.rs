//! Command-line arguments.

#[cfg(unix)]
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
#[cfg(unix)]
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use huginn_net::core::IpNet;
use huginn_net::json::EVENT_NAMES;

use crate::commands::explain::ExplainArguments;
use crate::limits::MIN_PARALLEL_LEN;
#[cfg(unix)]
use crate::output::{parse_interval, parse_size};

/// Passive OS, HTTP, TLS and SSH fingerprinting from captured or live traffic
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
    /// Write one HTML page about capture files
    Report(ReportArguments),
    /// Show hosts, rare fingerprints and events of capture files on the terminal while they are read
    Top(TopArguments),
    /// Analyse live traffic until SIGINT or SIGTERM
    #[cfg(unix)]
    Live(Box<LiveArguments>),
    /// List capture interfaces
    #[cfg(unix)]
    Interfaces(InterfacesArguments),
    /// Inspect a signature database
    #[command(subcommand)]
    Db(DbCommand),
    /// Explain a fingerprint and name the software that sends it; with a second JA4, compare the two
    Explain(ExplainArguments),
    /// Accept the command line of p0f 3.09b (docs/from-p0f.md)
    P0f(P0fArguments),
    /// Write man pages, or completions for a shell
    #[command(subcommand)]
    Generate(GenerateCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// Write a man page for the program and one for each command
    Man {
        /// Existing directory for the pages
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Print completions for a shell
    Completions {
        /// Shell that reads them
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Debug)]
pub(crate) struct PcapArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

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
}

#[derive(Args, Debug)]
pub(crate) struct ReportArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,

    /// Write the page to this file
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Title of the page
    #[arg(
        long,
        help_heading = "Output",
        value_name = "TEXT",
        default_value = "Hosts and clients in captures"
    )]
    pub(crate) title: String,

    /// Print times in the local time zone instead of UTC
    #[arg(long, help_heading = "Output")]
    pub(crate) local_time: bool,

    /// Print only errors and warnings: no progress bar
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TopArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,

    /// Show times in the local time zone instead of UTC
    #[arg(long, help_heading = "Output")]
    pub(crate) local_time: bool,
}

/// The capture files of a command.
#[derive(Args, Debug)]
pub(crate) struct InputArguments {
    /// Capture files: pcap or pcapng, each also .gz or .zst; '-' reads standard input, '@LIST' the files that LIST names,
    /// one on each line
    #[arg(required_unless_present = "directories", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Read all captures in this directory and below it, sorted by name; other files are skipped. May be repeated
    #[arg(short = 'R', long = "recursive", value_name = "DIR")]
    pub(crate) directories: Vec<PathBuf>,
}

/// The command line of p0f 3.09b, and a filter expression behind the options.
#[derive(Args, Debug)]
pub(crate) struct P0fArguments {
    /// Listen on this interface [default: the first one that is up]
    #[arg(short = 'i', value_name = "IFACE")]
    pub(crate) interface: Option<String>,

    /// Read packets from this capture file
    #[arg(short = 'r', value_name = "FILE")]
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

    /// Switch to this user
    #[arg(short = 'u', value_name = "USER")]
    pub(crate) user: Option<String>,

    /// Run in the background (needs -o or -s)
    #[arg(short = 'd')]
    pub(crate) daemon: bool,

    /// Number of parallel API connections
    #[arg(short = 'S', value_name = "N")]
    pub(crate) api_limit: Option<u32>,

    /// Idle timeouts of connections in seconds and of hosts in minutes; only with -r
    #[arg(short = 't', value_name = "C,H", value_parser = parse_pair)]
    pub(crate) timeouts: Option<P0fLimits>,

    /// Maximum numbers of connections and of hosts; only with -r
    #[arg(short = 'm', value_name = "C,H", value_parser = parse_pair)]
    pub(crate) max: Option<P0fLimits>,

    /// Analyse only packets that this expression selects (pcap-filter(7); needs a build with the feature libpcap)
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

/// Parses a number of rows.
fn parse_number(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|number| *number > 0).ok_or("expected a positive number")
}

/// Parses the name of an event.
fn parse_event(text: &str) -> Result<&'static str, String> {
    let known = EVENT_NAMES.into_iter().find(|name| *name == text);
    known.ok_or_else(|| format!("expected one of {}", EVENT_NAMES.join(", ")))
}

/// Selects the packets and the signature database.
#[derive(Args, Debug)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct AnalysisArguments {
    /// Signature database in p0f v3 syntax [default: the built-in one]
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,

    /// Table of clients, instead of the built-in ones of its kind (TLS, HTTP/2, SSH); may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) clients: Vec<PathBuf>,

    /// List of labels for TLS clients: CSV or JSON Lines with a JA4, JA4_s1 or JA3 hash and a label; may be repeated. A
    /// column 'watch' marks clients that 'live' reports on standard error
    #[arg(long = "ja4-list", value_name = "FILE")]
    pub(crate) ja4_lists: Vec<PathBuf>,

    /// Protocols to fingerprint
    #[arg(long, value_enum, value_delimiter = ',', default_value = "tcp,http,tls,ssh", value_name = "LIST")]
    pub(crate) protocols: Vec<ProtocolArgument>,

    /// Analyse only packets that match this BPF expression (pcap-filter(7); needs a build with the feature libpcap)
    #[arg(long, value_name = "BPF")]
    pub(crate) filter: Option<String>,

    /// Analyse only packets from or to this port; may be repeated
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Vec<u16>,

    /// Analyse only packets from or to this network (CIDR) or address; may be repeated
    #[arg(long, value_name = "NET", value_parser = parse_net)]
    pub(crate) net: Vec<IpNet>,

    /// Stop after this many packets
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,

    /// Number of worker threads, or 'auto' for one per processor if the input is at least 4 MiB
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = parse_workers)]
    pub(crate) workers: Workers,

    /// Report each connection at its end: packets, bytes, and what all layers showed (event 'connection')
    #[arg(long)]
    pub(crate) connections: bool,

    /// Verify TCP and UDP checksums and count wrong ones (no packet is dropped for it)
    #[arg(long)]
    pub(crate) checksums: bool,
}

/// Selects the format and the destination of events.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: Format,

    /// Write events to this file instead of standard output ('live' appends)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write only these events (docs/events.md)
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = parse_event)]
    pub(crate) events: Vec<&'static str>,

    /// Fields of the JSON of events that CSV and TSV write, such as ts,client.ip,sni,ja4
    #[arg(long, value_name = "FIELD", value_delimiter = ',', required_if_eq_any = [("format", "csv"), ("format", "tsv")])]
    pub(crate) fields: Vec<String>,

    /// Print times of the human format in the local time zone instead of UTC
    #[arg(long)]
    pub(crate) local_time: bool,

    /// Do not start $PAGER for the human format of 'pcap' on a terminal
    #[arg(long)]
    pub(crate) no_pager: bool,

    /// Use colours [auto: on a terminal, unless NO_COLOR is set]
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorArgument,

    /// Write counters to standard error at the end, as one JSON object
    #[arg(long)]
    pub(crate) stats: bool,

    /// Print only errors and warnings on standard error: no progress bar, no totals
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Write events of the human format as blocks with all fields; print totals of each file and dropped privileges on
    /// standard error
    #[arg(short, long, action = ArgAction::SetTrue)]
    pub(crate) verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArgument {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Explains the signals and gives an example.
#[cfg(unix)]
const LIVE_HELP: &str = "\
Signals:
  SIGINT, SIGTERM  write queued events and exit; another one after 1 s exits at once
  SIGHUP           reopen --output
  SIGUSR1          write host profiles to --hosts-file

Example:
  sudo huginn-net live -i eth0 --user nobody --format json | jq -c '[.ts, .event, .client.ip]'";

#[cfg(unix)]
#[derive(Args, Debug)]
#[command(after_help = LIVE_HELP)]
pub(crate) struct LiveArguments {
    /// Interface to capture from; may be repeated ('huginn-net interfaces' lists them)
    #[arg(short, long = "interface", required = true, value_name = "IFACE")]
    pub(crate) interfaces: Vec<String>,

    /// BPF expression, same as --filter (pcap-filter(7); needs a build with the feature libpcap)
    #[arg(value_name = "BPF", conflicts_with = "filter")]
    pub(crate) expression: Vec<String>,

    /// Show counters, hosts, rare fingerprints and events on the terminal; --output still writes events to a file
    #[arg(long, conflicts_with = "stats_interval")]
    pub(crate) tui: bool,

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

/// Configures packet capture.
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(next_help_heading = "Capture")]
pub(crate) struct CaptureArguments {
    /// Capture backend [default: packet on Linux; libpcap on other systems or with a BPF expression]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) backend: Option<BackendArgument>,

    /// Deliver each packet at once instead of in batches: saves some milliseconds of latency and costs CPU time
    #[arg(long)]
    pub(crate) immediate_mode: bool,

    /// Do not put interfaces into promiscuous mode
    #[arg(short = 'p', long)]
    pub(crate) no_promiscuous: bool,

    /// Capture at most this many bytes of each packet
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 18, value_parser = clap::value_parser!(u32).range(64..=1 << 18))]
    pub(crate) snaplen: u32,

    /// Kernel buffer of each interface, in MiB; allocated at startup
    #[arg(long, value_name = "MIB", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1023))]
    pub(crate) buffer: u32,
}

#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendArgument {
    /// Linux AF_PACKET sockets; needs no system library
    Packet,
    /// libpcap (needs a build with the feature libpcap)
    Libpcap,
}

/// Configures log rotation. Without these options only SIGHUP, which logrotate sends, reopens the file.
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(next_help_heading = "Rotation of --output (SIGHUP reopens it)")]
#[command(group = clap::ArgGroup::new("rotations").args(["rotate_size", "rotate_interval"]).multiple(true))]
pub(crate) struct RotationArguments {
    /// Rotate before the file exceeds this size: a number of bytes, 100M, 1G
    #[arg(long, value_name = "SIZE", requires = "output", value_parser = parse_size)]
    pub(crate) rotate_size: Option<u64>,

    /// Rotate at this interval: 15m, 1h, 1d, counted from midnight UTC
    #[arg(long, value_name = "TIME", requires = "output", value_parser = parse_interval)]
    pub(crate) rotate_interval: Option<Duration>,

    /// Keep this many rotated files [default: all]
    #[arg(long, value_name = "N", requires = "rotations", value_parser = parse_keep)]
    pub(crate) rotate_keep: Option<usize>,

    /// Write Parquet files to folders date=YYYY-MM-DD/hour=HH (UTC) beside FILE: a new file each hour at least
    #[cfg(feature = "parquet")]
    #[arg(long, requires = "output", conflicts_with = "rotate_keep")]
    pub(crate) hour_folders: bool,
}

/// Configures the program as a service.
#[cfg(unix)]
#[derive(Args, Debug)]
#[command(next_help_heading = "Service")]
pub(crate) struct ServiceArguments {
    /// Write counters to standard error at this interval, as one JSON object: 60s, 5m
    #[arg(long, value_name = "TIME", value_parser = parse_interval)]
    pub(crate) stats_interval: Option<Duration>,

    /// Serve Prometheus metrics at http://ADDR:PORT/metrics, and health at /healthz; a bare port listens on 127.0.0.1
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_address)]
    pub(crate) metrics: Option<SocketAddr>,

    /// Serve p0f's query API on this Unix socket
    #[arg(long, value_name = "PATH")]
    pub(crate) p0f_socket: Option<PathBuf>,

    /// Permissions of the p0f socket, in octal
    #[arg(long, value_name = "MODE", requires = "p0f_socket", default_value = "600", value_parser = parse_mode)]
    pub(crate) p0f_socket_mode: u32,

    /// File that SIGUSR1 writes host profiles to, one JSON object per host [default: standard error]
    #[arg(long, value_name = "FILE")]
    pub(crate) hosts_file: Option<PathBuf>,

    /// Switch to this user after interfaces and sockets are open: a name, or UID:GID
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    /// Do not restrict file access with Landlock
    #[arg(long)]
    pub(crate) no_sandbox: bool,
}

#[cfg(unix)]
#[derive(Args, Debug)]
pub(crate) struct InterfacesArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: ListFormat,
}

#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// A table
    Human,
    /// JSON Lines, one interface per line
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolArgument {
    /// Operating system, link type and distance from TCP SYN and SYN+ACK segments
    Tcp,
    /// Browsers and servers from cleartext HTTP/1 and HTTP/2
    Http,
    /// TLS clients and servers from hellos over TCP, QUIC and DTLS: JA4, JA3
    Tls,
    /// SSH clients and servers from identification strings and algorithms: HASSH
    Ssh,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One readable line for each event, or with -v a block
    Human,
    /// JSON Lines, one event per line
    Json,
    /// Comma-separated values: the fields of --fields, with a line of headings ('live' writes none)
    Csv,
    /// Tab-separated values: the fields of --fields, with a line of headings ('live' writes none)
    Tsv,
    /// Parquet: a table with a row for each event (docs/schema.md); 'live' writes files one after the other; needs the
    /// feature parquet
    Parquet,
    /// A stream of Arrow record batches with the same table; not for 'live'; needs the feature parquet
    Arrow,
    /// Log lines of p0f 3.09b
    P0f,
    /// Blocks of p0f 3.09b
    #[value(skip)]
    P0fBlocks,
}

impl Format {
    /// Whether the format is a table of typed columns, which is no text.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }

    /// Whether the format has only what p0f knows.
    pub(crate) fn is_p0f(self) -> bool {
        matches!(self, Self::P0f | Self::P0fBlocks)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Count the entries of a database
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
        /// Match it as a SYN+ACK
        #[arg(long)]
        response: bool,
        /// Database in p0f v3 syntax, instead of the built-in one
        #[arg(long, value_name = "FILE")]
        db: Option<PathBuf>,
    },
    /// Group the fingerprints in captures that have no name, and print lines to paste into a database
    Learn(LearnArguments),
}

/// Selects captures and the databases that lack names.
#[derive(Args, Debug)]
pub(crate) struct LearnArguments {
    /// Capture files, or directories: all .pcap, .pcapng and .cap files in them, also .gz and .zst
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) files: Vec<PathBuf>,

    /// Write a small capture of each group to this directory: the packets of one flow up to the fingerprint, with
    /// addresses replaced. Payloads are not changed: check them before you share a sample
    #[arg(long, value_name = "DIR")]
    pub(crate) sample: Option<PathBuf>,

    /// Signature database in p0f v3 syntax [default: the built-in one]
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,

    /// Table of clients, instead of the built-in ones of its kind (TLS, HTTP/2, SSH); may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) clients: Vec<PathBuf>,

    /// Protocols to learn from
    #[arg(long, value_enum, value_delimiter = ',', default_value = "tcp,http,tls,ssh", value_name = "LIST")]
    pub(crate) protocols: Vec<ProtocolArgument>,

    /// Analyse only packets from or to this port; may be repeated
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Vec<u16>,

    /// Analyse only packets from or to this network (CIDR) or address; may be repeated
    #[arg(long, value_name = "NET", value_parser = parse_net)]
    pub(crate) net: Vec<IpNet>,
}

/// Number of worker threads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Workers {
    Count(NonZeroUsize),
    Auto,
}

impl Workers {
    /// Returns the number for an input of `len` bytes; `None` means an unknown length.
    pub(crate) fn for_input(self, len: Option<u64>) -> NonZeroUsize {
        match self {
            Self::Count(count) => count,
            Self::Auto if len.is_some_and(|len| len < MIN_PARALLEL_LEN) => NonZeroUsize::MIN,
            Self::Auto => thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}

fn parse_workers(text: &str) -> Result<Workers, String> {
    if text == "auto" {
        return Ok(Workers::Auto);
    }
    text.parse().map(Workers::Count).map_err(|_| "expected a number of at least 1, or 'auto'".to_owned())
}

/// Parses `ADDR:PORT`, or a port on the loopback address.
#[cfg(unix)]
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = || text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    text.parse()
        .or_else(|_| port())
        .map_err(|_| "expected ADDR:PORT such as [::1]:9100, or a port".to_owned())
}

/// Parses a number of files, at least 1: the newest is always kept.
#[cfg(unix)]
fn parse_keep(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|keep| *keep > 0).ok_or_else(|| "expected a number of at least 1".to_owned())
}

/// Parses octal permissions as `chmod` does.
#[cfg(unix)]
fn parse_mode(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
        .ok_or_else(|| "expected octal permissions such as 660".to_owned())
}

/// Parses a network in CIDR notation, or one address.
fn parse_net(text: &str) -> Result<IpNet, String> {
    let address = || text.parse().map(|address: std::net::IpAddr| IpNet::from(address));
    text.parse()
        .or_else(|_| address())
        .map_err(|_| "expected a network such as 192.0.2.0/24, or an address".to_owned())
}
