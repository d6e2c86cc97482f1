//! `huginn-net follow`.

use std::path::PathBuf;

use clap::Args;

use super::{AnalysisArguments, InputLimits, ListOutputArguments, NetworkArguments, SelectArguments};

const EXAMPLES: &str = "\
Examples:
  One host: what it is, its connections, what changed:
    huginn-net follow 192.0.2.1 captures/
  The clients that asked for this name:
    huginn-net follow www.example.org a.pcap b.pcap
  The clients that asked this server for something:
    huginn-net follow --server 192.0.2.2 captures/
  The hosts that sent this fingerprint:
    huginn-net follow --fingerprint t13d1516h2_8daaf6152771_02713d6af862 a.pcap

An address is followed as a host; any other text is a name. docs/follow.md
explains the output.";

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

    #[command(flatten)]
    pub(crate) limits: InputLimits,

    #[command(flatten)]
    pub(crate) networks: NetworkArguments,

    #[command(flatten)]
    pub(crate) select: SelectArguments,

    #[command(flatten)]
    pub(crate) output: ListOutputArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,
}
