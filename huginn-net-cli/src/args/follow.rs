//! `huginn-net follow`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::input::DecompressionArguments;
use super::{AnalysisArguments, NetworkArguments, SelectArguments};

const EXAMPLES: &str = "\
Examples:
  huginn-net follow 192.0.2.1 captures/                  one host: what it is, its connections, what changed
  huginn-net follow www.example.org a.pcap b.pcap        the clients that asked for this name
  huginn-net follow --server 192.0.2.2 captures/         the clients that asked this server for something
  huginn-net follow --fingerprint t13d1516h2_8daaf6152771_02713d6af862 captures/
                                                         the hosts that sent this fingerprint

An address is followed as a host; any other text is a name. docs/follow.md explains the output.";

#[derive(Args, Debug)]
#[command(
    after_help = EXAMPLES,
    override_usage = "huginn-net follow [OPTIONS] <ADDRESS|NAME> <FILE|DIR>...\n       \
                      huginn-net follow [OPTIONS] --server <ADDRESS|NAME> <FILE|DIR>...\n       \
                      huginn-net follow [OPTIONS] --fingerprint <VALUE> <FILE|DIR>..."
)]
pub(crate) struct FollowArguments {
    /// Address of a host, or a name that clients asked for (not with --server and --fingerprint); then captures: files,
    /// directories, '@LIST' or '-', as in 'huginn-net pcap'
    #[arg(required = true, value_name = "ADDRESS|NAME|FILE|DIR")]
    pub(crate) values: Vec<PathBuf>,

    /// List the clients that asked for this name, or the server with this address for anything
    #[arg(long, value_name = "ADDRESS|NAME", conflicts_with = "fingerprint")]
    pub(crate) server: Option<String>,

    /// List the hosts that sent this JA4, JA3 hash, HASSH, HASSHServer, Akamai fingerprint, p0f signature, User-Agent or
    /// Server header
    #[arg(long, visible_alias = "ja4", value_name = "VALUE")]
    pub(crate) fingerprint: Option<String>,

    /// Decrypt TLS and QUIC with the secrets of this file, as in 'huginn-net pcap'; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) keylog: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) decompression: DecompressionArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,

    #[command(flatten)]
    pub(crate) networks: NetworkArguments,

    #[command(flatten)]
    pub(crate) select: SelectArguments,

    #[command(flatten)]
    pub(crate) output: ListOutputArguments,
}

/// The output of commands that write tables or JSON Lines.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct ListOutputArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ListOutputFormat,

    /// Write to this file; '-' is standard output, the default
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Print times of the human format in the local time zone instead of UTC
    #[arg(long)]
    pub(crate) local_time: bool,

    /// Print only errors and warnings on standard error: no progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListOutputFormat {
    /// Sentences and tables
    Human,
    /// JSON Lines
    Json,
}
