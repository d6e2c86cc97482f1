//! `huginn-net db`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::input::DecompressionArguments;
use super::{DatabaseArguments, PacketArguments, ProtocolArguments};

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
    /// Group the fingerprints in captures that have no name, or whose program the capture names, and print lines to paste
    /// into a database
    Learn(Box<LearnArguments>),
    /// Write the names of clients, or TCP signatures, as a list of another tool (docs/lists.md)
    Export(ExportArguments),
}

#[derive(Args, Debug)]
pub(crate) struct ExportArguments {
    /// Format of the list
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: ExportTarget,

    /// Kind of fingerprints
    #[arg(long, value_enum, default_value = "ja4", value_name = "KIND")]
    pub(crate) kind: ExportKind,

    /// Signature id of the first rule, for suricata-rules (default 1000001)
    #[arg(long, value_name = "SID")]
    pub(crate) first_sid: Option<NonZeroU32>,

    /// Table of clients, instead of the built-in ones of its kind (TLS, HTTP/2, SSH); may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) clients: Vec<PathBuf>,
}

/// Formats of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportTarget {
    /// Newline-delimited JSON for a dataset of Suricata 8 with context
    SuricataDataset,
    /// A rule of Suricata for each fingerprint
    SuricataRules,
    /// A table for the input framework of Zeek
    ZeekInput,
    /// Lines of a map of nginx
    NginxMap,
    /// A map file of HAProxy
    HaproxyMap,
    /// A tagger file for WISE of Arkime
    Arkime,
    /// An event of MISP, as JSON
    Misp,
    /// Custom protocols of nDPI 5, for its protos.txt
    Ndpi,
    /// A database of p0f v3, of --kind tcp
    P0f,
    /// Comma-separated values with a line of headings
    Csv,
}

/// Kinds of fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportKind {
    Ja4,
    Ja3,
    Hassh,
    /// The MD5 of Akamai's fingerprint of HTTP/2
    Akamai,
    /// TCP signatures of systems
    Tcp,
}

const LEARN_EXAMPLE: &str = "\
Examples:
  huginn-net db learn captures/ --sample samples/ > unnamed.txt
  huginn-net db learn phone.pcap --protocols tls";

/// Selects captures and the databases that lack names.
#[derive(Args, Debug)]
#[command(after_help = LEARN_EXAMPLE)]
pub(crate) struct LearnArguments {
    /// Captures: files, directories, '@LIST' or '-', as in 'huginn-net pcap'
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) files: Vec<PathBuf>,

    /// Write a small capture of each group to this directory: the packets of one flow up to the fingerprint, with
    /// addresses replaced. Payloads are not changed: check them before you share a sample
    #[arg(long, value_name = "DIR")]
    pub(crate) sample: Option<PathBuf>,

    /// Take the programs of connections from this file: a JSON object on each line with protocol, local_addr, remote_addr,
    /// process_name and, if known, version. FILE.connections.jsonl beside a capture FILE, as rustnet writes it, is read
    /// without this option. May be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) programs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) decompression: DecompressionArguments,

    #[command(flatten)]
    pub(crate) databases: DatabaseArguments,

    #[command(flatten)]
    pub(crate) protocols: ProtocolArguments,

    #[command(flatten)]
    pub(crate) packets: PacketArguments,
}
