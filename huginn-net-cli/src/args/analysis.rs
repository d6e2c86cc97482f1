//! Which packets are analysed, and how.

use std::path::PathBuf;

use clap::Args;
use huginn_net::core::IpNet;

use super::Category;
use super::values::{
    Limit, ProtocolArgument, SeedArgument, Workers, parse_limit, parse_net, parse_seed, parse_workers,
};

/// Databases that name fingerprints.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = Category::NAMES.heading)]
pub(crate) struct DatabaseArguments {
    /// Signature database in p0f v3 syntax, instead of the built-in one
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,

    /// Table of clients, instead of the built-in ones of its kind (TLS, HTTP/2, SSH); may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) clients: Vec<PathBuf>,
}

/// What is parsed of connections.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::ANALYSIS.heading)]
pub(crate) struct ProtocolArguments {
    /// Protocols to fingerprint
    #[arg(long, value_enum, value_delimiter = ',', default_value = "tcp,http,tls,ssh", value_name = "LIST")]
    pub(crate) protocols: Vec<ProtocolArgument>,

    /// Decrypt TLS and QUIC with the secrets of this file, and report the HTTP inside: a key log, as SSLKEYLOGFILE names one, or a
    /// pcapng file with Decryption Secrets Blocks (docs/decryption.md); may be repeated. Secrets that a capture brings are used
    /// without it; 'live' and 'watch' read new lines as they are written
    #[arg(long, value_name = "FILE")]
    pub(crate) keylog: Vec<PathBuf>,
}

/// Selects packets by their addresses.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::PACKETS.heading)]
pub(crate) struct PacketArguments {
    /// Analyse only packets from or to this port; may be repeated
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Vec<u16>,

    /// Analyse only packets from or to this network (CIDR) or address; may be repeated
    #[arg(long, value_name = "NET", value_parser = parse_net)]
    pub(crate) net: Vec<IpNet>,

    /// Leave out packets from or to this port; may be repeated
    #[arg(long, value_name = "PORT")]
    pub(crate) exclude_port: Vec<u16>,

    /// Leave out packets from or to this network (CIDR) or address; may be repeated
    #[arg(long, value_name = "NET", value_parser = parse_net)]
    pub(crate) exclude_net: Vec<IpNet>,
}

/// Selects packets, and says how they become flows.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::ANALYSIS.heading)]
pub(crate) struct FlowArguments {
    /// Analyse only packets that match this BPF expression (pcap-filter(7); needs libpcap)
    #[arg(long, value_name = "BPF")]
    pub(crate) filter: Option<String>,

    /// Number of worker threads; 'auto': one per processor, up to 16, if a file has at least 4 MiB; one for smaller files, pipes
    /// and live capture without --pin
    #[arg(short, long, value_name = "N", default_value = "auto", value_parser = parse_workers)]
    pub(crate) workers: Workers,

    /// Seed that decides which flows share a part of the flow table: a number, or 'random' [default: derived from the
    /// machine for files, random for live capture]. It matters only if flows are evicted
    #[arg(long, value_name = "N", value_parser = parse_seed)]
    pub(crate) seed: Option<SeedArgument>,

    /// Leave VLAN tags out of the flow key: both directions of a connection may have different tags (Suricata:
    /// vlan.use-for-tracking)
    #[arg(long)]
    pub(crate) no_vlan_tracking: bool,

    /// Make the interface part of the flow key: networks at several interfaces may have the same addresses (Suricata:
    /// livedev.use-for-tracking)
    #[arg(long)]
    pub(crate) interface_tracking: bool,

    /// Verify TCP and UDP checksums and count wrong ones (no packet is dropped for it)
    #[arg(long)]
    pub(crate) checksums: bool,

    /// Replace addresses by pseudonyms that keep prefixes, with the key of this file: 64 hexadecimal digits, as 'openssl rand -hex 32'
    /// prints (docs/anonymization.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) anonymize: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) packets: PacketArguments,

    #[command(flatten)]
    pub(crate) limits: LimitArguments,
}

/// Selects packets and databases, and configures the analysis.
#[derive(Args, Debug)]
pub(crate) struct AnalysisArguments {
    #[command(flatten)]
    pub(crate) protocols: ProtocolArguments,

    #[command(flatten)]
    pub(crate) databases: DatabaseArguments,

    #[command(flatten)]
    pub(crate) flows: FlowArguments,
}

/// What is an alert.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = Category::FINDINGS.heading)]
pub(crate) struct AlertArguments {
    /// Watch list: fingerprints, names, certificates, addresses and User-Agents, as lines, CSV, JSON Lines, MISP or STIX 2.1
    /// (docs/watch-lists.md); may be repeated. A hit is an event 'match', and the exit status is 3
    #[arg(long, value_name = "FILE", help_heading = Category::NAMES.heading)]
    pub(crate) fingerprints: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) thresholds: ThresholdArguments,

    /// Leave the alerts out that this file lists, a JSON object a line with 'kind', 'host', 'server', 'fingerprint', 'until', and
    /// 'reason' (docs/findings.md#known-alerts); may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Vec<PathBuf>,
}

/// Adds to events.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::FINDINGS.heading)]
pub(crate) struct EventArguments {
    /// Report each connection at its end: packets, bytes, and what all layers showed (event 'connection')
    #[arg(long)]
    pub(crate) connections: bool,

    /// Report scans, brute force, beacons, unusual TLS servers, and clients that contradict themselves or imitate other software
    /// (event 'finding'; docs/findings.md)
    #[arg(long)]
    pub(crate) findings: bool,

    #[command(flatten)]
    pub(crate) alerts: AlertArguments,
}

impl From<AlertArguments> for EventArguments {
    /// For the commands that always have findings.
    fn from(alerts: AlertArguments) -> Self {
        Self { connections: false, findings: true, alerts }
    }
}

/// Compares fingerprints, servers, issuers and TLS clients with those of a learning period.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::FINDINGS.heading)]
pub(crate) struct BaselineArguments {
    /// Report each fingerprint, unnamed or private server, issuer and TLS client of a host that this file of --write-baseline lacks, once (event
    /// 'finding'; docs/findings.md); may be repeated, which joins the files
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Vec<PathBuf>,

    /// Write what was seen, and what the files of --baseline have, at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
}

impl BaselineArguments {
    /// Whether a baseline is read or written.
    pub(crate) fn is_set(&self) -> bool {
        !self.baseline.is_empty() || self.write_baseline.is_some()
    }
}

/// Thresholds of findings.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = Category::FINDINGS.heading)]
pub(crate) struct ThresholdArguments {
    /// Report a scan once N ports of a host got a SYN in a minute; at most 1024 [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1024))]
    pub(crate) scan_ports: Option<u32>,

    /// Report a scan once N hosts got a SYN on a few ports in a minute; at most 1024 [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1024))]
    pub(crate) scan_hosts: Option<u32>,

    /// Report a beacon after N contacts at intervals that vary by up to 25 %, or fewer more regular ones [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub(crate) beacon_count: Option<u32>,
}

impl ThresholdArguments {
    /// Whether a threshold is set.
    pub(crate) fn is_set(self) -> bool {
        [self.scan_ports, self.scan_hosts, self.beacon_count].iter().any(Option::is_some)
    }
}

/// Limits what a packet can make the program write. `none` or 0 removes a limit; a second is one of packet time.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = Category::LIMITS.heading)]
pub(crate) struct LimitArguments {
    /// Cut texts of events after this many bytes; the field 'cut' names them
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = parse_limit)]
    pub(crate) max_text: Limit,

    /// Report at most this many bytes of events of a connection for each byte captured of it
    #[arg(long, value_name = "N", default_value = "40", value_parser = parse_limit)]
    pub(crate) max_output_ratio: Limit,

    /// Report at most this many events of a connection in a second
    #[arg(long, value_name = "N", default_value = "20000", value_parser = parse_limit)]
    pub(crate) max_events_per_connection: Limit,

    /// Report at most this many events of a host in a second
    #[arg(long, value_name = "N", default_value = "50000", value_parser = parse_limit)]
    pub(crate) max_events_per_host: Limit,

    /// Report at most this many bytes of events of a host in a second
    #[arg(long, value_name = "BYTES", default_value = "33554432", value_parser = parse_limit)]
    pub(crate) max_bytes_per_host: Limit,

    /// Report at most this many events of each kind in a second
    #[arg(long, value_name = "N", default_value = "200000", value_parser = parse_limit)]
    pub(crate) max_events_per_kind: Limit,

    /// Report at most this many bytes of events of each kind in a second
    #[arg(long, value_name = "BYTES", default_value = "134217728", value_parser = parse_limit)]
    pub(crate) max_bytes_per_kind: Limit,
}
