//! `huginn-net live`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};

use super::output::formats_without;
use super::values::{
    Processors, parse_address, parse_interval, parse_keep, parse_mode, parse_processors, parse_size,
};
use super::{Category, EventRunArguments, Format};

/// Explains the signals and gives an example.
const LIVE_HELP: &str = "\
Signals:
  SIGINT, SIGTERM  write queued events and exit; another one after 1 s exits at
                   once
  SIGHUP           reopen outputs, write --state, and read --config, --db,
                   --clients and --fingerprints again; with --control,
                   'huginn-net reload' does the same, and says what is wrong
  SIGUSR1          write host profiles to --hosts-file

Examples:
  sudo huginn-net live -i eth0 --user nobody --format json | jq -c .client.ip
  sudo huginn-net live -i 'veth*' -i '!veth0' --user nobody";

#[derive(Args, Debug)]
#[command(
    after_help = LIVE_HELP,
    mut_arg("format", |format| {
        format.value_parser(formats_without(&[Format::Arrow])).requires_if("zeek-tsv", "zeek_dir")
    }),
    group = ArgGroup::new("files").args(["output", "zeek_dir"])
)]
pub(crate) struct LiveArguments {
    /// Take options from this TOML file, too: each key is a long option ('huginn-net generate config' writes an example)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Check options, files and rights, then exit without capturing
    #[arg(long)]
    pub(crate) check: bool,

    /// Interface to capture from ('huginn-net interfaces' lists them); 'any', or patterns such as 'veth*' and '!lo', for all that match, also
    /// later ones (Linux); udp:PORT or udp:ADDR:PORT receives mirrored traffic (VXLAN, Geneve,
    /// TZSP; Linux), tcp:HOST:PORT reads a capture from a server, file:DIR the captures of a directory while they grow; may be repeated
    #[arg(short, long = "interface", required = true, value_name = "IFACE", help_heading = Category::CAPTURE.heading)]
    pub(crate) interfaces: Vec<String>,

    /// BPF expression, same as --filter (pcap-filter(7); needs libpcap)
    #[arg(value_name = "BPF", conflicts_with = "filter")]
    pub(crate) expression: Vec<String>,

    /// The value of each option, of the command line and of the file.
    #[arg(skip)]
    pub(crate) values: OptionValues,

    /// The file that the options come from; `None` without one.
    #[arg(skip)]
    pub(crate) place: Option<ConfigPlace>,

    /// The command line of each output, with all options as if the program had this output only: one, or one for each table
    /// `[[output]]` of the file.
    #[arg(skip)]
    pub(crate) outputs: Vec<LiveArguments>,

    #[command(flatten)]
    pub(crate) capture: CaptureArguments,

    #[command(flatten)]
    pub(crate) run: EventRunArguments,

    /// Write events about TCP, HTTP, TLS and SSH that repeat a fingerprint of their host only once in this time: 1h, 1d
    #[arg(long, value_name = "TIME", value_parser = parse_interval, help_heading = Category::OUTPUT.heading)]
    pub(crate) once: Option<Duration>,

    /// Write conn.log, ssl.log and other logs to this folder, a row for each connection, with --format zeek as JSON or zeek-tsv;
    /// rotated files are conn.2026-11-30-07-00-00.log. Implies --connections
    #[arg(long, help_heading = Category::OUTPUT.heading, value_name = "DIR")]
    pub(crate) zeek_dir: Option<PathBuf>,

    /// Number the records of this output in the field 'seq', and write all counters among them at this interval and at the end (event
    /// 'statistics'), and what was lost since the last time (event 'loss'): 60s, 5m; for JSON, eve, zeek and ecs, of ocsf only numbers
    #[arg(long, value_name = "TIME", value_parser = parse_interval, help_heading = Category::OUTPUT.heading)]
    pub(crate) statistics: Option<Duration>,

    /// Show counters, hosts, rare fingerprints and events on the terminal; --output still writes events to a file
    #[arg(long, conflicts_with = "stats_interval", help_heading = Category::MESSAGES.heading)]
    pub(crate) tui: bool,

    #[command(flatten)]
    pub(crate) tls: TlsArguments,

    #[command(flatten)]
    pub(crate) rotation: RotationArguments,

    #[command(flatten)]
    pub(crate) extract: LiveExtractArguments,

    #[command(flatten)]
    pub(crate) service: ServiceArguments,
}

/// Configures packet capture.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::CAPTURE.heading)]
pub(crate) struct CaptureArguments {
    /// Capture backend [default: packet on Linux; libpcap on other systems, and with a BPF expression in a build with the feature libpcap]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) backend: Option<BackendArgument>,

    /// Deliver each packet at once instead of in batches: saves some milliseconds of latency and costs CPU time
    #[arg(long)]
    pub(crate) immediate_mode: bool,

    /// Processors of the workers: 2-5 or 0,2; the buffer of each worker lies in the memory of its processor's node. Without -w, one
    /// worker for each
    #[arg(long, value_name = "CPUS", value_parser = parse_processors)]
    pub(crate) pin: Option<Processors>,

    /// Wait for interfaces that do not exist yet, instead of an error at the start (backend packet)
    #[arg(long)]
    pub(crate) wait: bool,

    /// Stop after this many packets
    #[arg(short, long, value_name = "N", help_heading = Category::INPUT.heading, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,

    /// Do not put interfaces into promiscuous mode
    #[arg(short = 'p', long)]
    pub(crate) no_promiscuous: bool,

    /// Capture at most this many bytes of each packet
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 18, value_parser = clap::value_parser!(u32).range(64..=1 << 18))]
    pub(crate) snaplen: u32,

    /// Kernel buffer of each interface and worker, in MiB; allocated at startup
    #[arg(long, value_name = "MIB", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1023))]
    pub(crate) buffer: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendArgument {
    /// Linux AF_PACKET sockets; needs no system library
    Packet,
    /// libpcap (needs a build with the feature libpcap)
    Libpcap,
}

/// Configures TLS of an output.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = Category::OUTPUT.heading)]
pub(crate) struct TlsArguments {
    /// Authorities (PEM) that certify the server of -o tls:HOST:PORT or syslog:tls:HOST:PORT [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,

    /// Certificate (PEM) by which such a server knows this program, with those that certify it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key (PEM) of --tls-cert
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Name that the certificate of such a server must have [default: HOST]
    #[arg(long, value_name = "NAME")]
    pub(crate) tls_server_name: Option<String>,
}

impl TlsArguments {
    pub(crate) fn is_set(&self) -> bool {
        let Self { tls_ca, tls_cert, tls_key, tls_server_name } = self;
        [tls_ca, tls_cert, tls_key].iter().any(|path| path.is_some()) || tls_server_name.is_some()
    }
}

/// Configures log rotation. Without these options only SIGHUP, which logrotate sends, reopens the file.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::ROTATION.heading)]
#[command(group = ArgGroup::new("rotations").args(["rotate_size", "rotate_interval"]).multiple(true))]
pub(crate) struct RotationArguments {
    /// Rotate before the file exceeds this size: a number of bytes, 100M, 1G
    #[arg(long, value_name = "SIZE", requires = "files", value_parser = parse_size)]
    pub(crate) rotate_size: Option<u64>,

    /// Rotate at this interval: 15m, 1h, 1d, counted from midnight UTC
    #[arg(long, value_name = "TIME", requires = "files", value_parser = parse_interval)]
    pub(crate) rotate_interval: Option<Duration>,

    /// Keep this many rotated files [default: all]
    #[arg(long, value_name = "N", requires = "rotations", value_parser = parse_keep)]
    pub(crate) rotate_keep: Option<usize>,

    /// Write Parquet files to folders date=YYYY-MM-DD/hour=HH (UTC) beside FILE: a new file each hour at least
    #[cfg(feature = "parquet")]
    #[arg(long, requires = "output", conflicts_with = "rotate_keep")]
    pub(crate) hour_folders: bool,
}

impl RotationArguments {
    /// Whether Parquet files go to folders by their hour.
    pub(crate) fn has_hour_folders(&self) -> bool {
        #[cfg(feature = "parquet")]
        return self.hour_folders;
        #[cfg(not(feature = "parquet"))]
        return false;
    }
}

/// The options that select connections for `--extract`.
const SELECTING: [&str; 8] =
    ["condition", "from", "to", "events", "only_matches", "fingerprints", "findings", "baseline"];

/// Writes packets.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::EXTRACT.heading)]
#[command(group = ArgGroup::new("selection").args(SELECTING).multiple(true))]
pub(crate) struct LiveExtractArguments {
    /// Write the first packets of connections with an event of --where or --events, or without these with a hit of --fingerprints or a
    /// finding, to pcapng files FILE.TIME.pcapng (docs/extract.md)
    #[arg(long, value_name = "FILE", requires = "selection")]
    pub(crate) extract: Option<PathBuf>,

    /// Packets of each connection
    #[arg(long, value_name = "N", requires = "extract", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) extract_packets: u32,

    /// Begin the next file before one exceeds this size: a number of bytes, 100M, 1G
    #[arg(long, value_name = "SIZE", requires = "extract", default_value = "100M", value_parser = parse_size)]
    pub(crate) extract_size: u64,

    /// Keep this many of these files
    #[arg(long, value_name = "N", requires = "extract", default_value = "10", value_parser = parse_keep)]
    pub(crate) extract_keep: usize,

    /// Memory for packets of connections that no event has selected yet, in MiB
    #[arg(long, value_name = "MIB", requires = "extract", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    pub(crate) extract_buffer: u32,
}

/// Configures the program as a service.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::SERVICE.heading)]
pub(crate) struct ServiceArguments {
    /// Write counters to standard error at this interval, as one JSON object: 60s, 5m
    #[arg(long, value_name = "TIME", value_parser = parse_interval)]
    pub(crate) stats_interval: Option<Duration>,

    /// Serve Prometheus metrics at http://ADDR:PORT/metrics, and health at /healthz; a bare port listens on 127.0.0.1
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_address)]
    pub(crate) metrics: Option<SocketAddr>,

    /// Require the bearer token of this file for /metrics; /healthz stays open
    #[arg(long, value_name = "FILE", requires = "metrics")]
    pub(crate) metrics_token_file: Option<PathBuf>,

    /// Serve metrics over HTTPS, with this certificate (PEM) and those that certify it
    #[arg(long, value_name = "FILE", requires_all = ["metrics", "metrics_tls_key"])]
    pub(crate) metrics_tls_cert: Option<PathBuf>,

    /// Private key (PEM) of --metrics-tls-cert
    #[arg(long, value_name = "FILE", requires = "metrics_tls_cert")]
    pub(crate) metrics_tls_key: Option<PathBuf>,

    /// Serve p0f's query API on this Unix socket
    #[arg(long, value_name = "PATH")]
    pub(crate) p0f_socket: Option<PathBuf>,

    /// Permissions of the p0f socket, in octal
    #[arg(long, value_name = "MODE", requires = "p0f_socket", default_value = "600", value_parser = parse_mode)]
    pub(crate) p0f_socket_mode: u32,

    /// Answer 'huginn-net reload' and 'huginn-net status' on this Unix socket, which only its owner may use
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,

    /// File that SIGUSR1 writes host profiles to, one JSON object per host [default: standard error]
    #[arg(long, value_name = "FILE")]
    pub(crate) hosts_file: Option<PathBuf>,

    /// Keep host profiles and what --baseline learns in this file: read at the start, written every 5 minutes, on SIGHUP and at exit
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,

    /// Switch to this user after interfaces and sockets are open: a name, or UID:GID
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    /// Do not restrict file access with Landlock
    #[arg(long)]
    pub(crate) no_sandbox: bool,
}

/// Options by their names.
pub(crate) type OptionValues = BTreeMap<String, OptionValue>;

/// The values of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OptionValue {
    pub(crate) category: &'static Category,
    pub(crate) values: Vec<OsString>,
}

/// Where the options of a program or of an output are in a configuration file.
#[derive(Clone, Debug)]
pub(crate) struct ConfigPlace {
    /// Name of the file.
    pub(crate) path: String,
    /// Line of the table `[[output]]`; `None` outside of tables.
    pub(crate) table: Option<usize>,
    /// Lines of the keys.
    pub(crate) lines: BTreeMap<String, usize>,
    /// Options that were typed, whose values are not of the file.
    pub(crate) typed: BTreeSet<String>,
}
