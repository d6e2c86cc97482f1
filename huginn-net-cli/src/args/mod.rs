//! What was typed: the options of each command and the types of their values. Nothing here depends on the rest of the program.

mod analysis;
mod category;
mod compact;
#[cfg(unix)]
mod control;
mod db;
mod diff;
#[cfg(target_os = "linux")]
mod doctor;
mod enrich;
mod explain;
mod extract;
mod findings;
mod fingerprints;
mod follow;
mod generate;
mod hosts;
mod input;
#[cfg(unix)]
mod interfaces;
mod inventory;
#[cfg(unix)]
mod live;
mod output;
mod p0f;
mod pcap;
mod report;
mod select;
mod top;
mod values;
#[cfg(unix)]
mod watch;

use clap::{Args, Parser, Subcommand};

pub(crate) use self::analysis::{
    AlertArguments, AnalysisArguments, BaselineArguments, DatabaseArguments, EventArguments, FlowArguments,
    LimitArguments, PacketArguments, ProtocolArguments, ThresholdArguments,
};
pub(crate) use self::category::Category;
pub(crate) use self::compact::CompactArguments;
#[cfg(unix)]
pub(crate) use self::control::ControlArguments;
pub(crate) use self::db::{DbCommand, ExportArguments, ExportKind, ExportTarget, LearnArguments};
pub(crate) use self::diff::DiffArguments;
#[cfg(target_os = "linux")]
pub(crate) use self::doctor::DoctorArguments;
pub(crate) use self::enrich::EnrichArguments;
pub(crate) use self::explain::ExplainArguments;
pub(crate) use self::extract::ExtractArguments;
pub(crate) use self::findings::FindingsArguments;
pub(crate) use self::fingerprints::{FingerprintFormat, FingerprintsArguments};
pub(crate) use self::follow::FollowArguments;
pub(crate) use self::generate::GenerateCommand;
pub(crate) use self::hosts::HostsArguments;
#[cfg(unix)]
pub(crate) use self::hosts::{HostsCommand, HostsJoinArguments};
pub(crate) use self::input::{InputArguments, InputLimits, NetworkArguments};
#[cfg(unix)]
pub(crate) use self::interfaces::InterfacesArguments;
pub(crate) use self::inventory::{InventoryArguments, InventoryFormat};
#[cfg(all(unix, feature = "tls"))]
pub(crate) use self::live::TlsArguments;
#[cfg(unix)]
pub(crate) use self::live::{
    BackendArgument, ConfigPlace, LiveArguments, OptionValue, OptionValues, ServiceArguments,
};
pub(crate) use self::output::{
    CertificateArgument, ColorArgument, DocumentArguments, Format, ListFormat, ListOutputArguments,
    OutputArguments,
};
pub(crate) use self::p0f::P0fArguments;
pub(crate) use self::pcap::PcapArguments;
pub(crate) use self::report::ReportArguments;
pub(crate) use self::select::SelectArguments;
pub(crate) use self::top::TopArguments;
pub(crate) use self::values::{Limit, ProtocolArgument, SeedArgument, Workers};
#[cfg(unix)]
pub(crate) use self::watch::WatchArguments;

/// What is analysed, reported and written by the commands that write events.
#[derive(Args, Debug)]
pub(crate) struct EventRunArguments {
    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) events: EventArguments,

    #[command(flatten)]
    pub(crate) baseline: BaselineArguments,

    #[command(flatten)]
    pub(crate) analysis: AnalysisArguments,
}

const EXAMPLES: &str = "\
Examples:
  huginn-net pcap capture.pcap                a line for each event, then totals
  huginn-net hosts capture.pcap               what each host runs
  huginn-net findings captures/               what stands out, worst first
  huginn-net report -o page.html captures/    one page about a directory
  sudo huginn-net live -i eth0 --user nobody  live traffic
  huginn-net help pcap                        the options of a command";

/// Passive OS, HTTP, TLS and SSH fingerprinting from captured or live traffic
#[derive(Debug, Parser)]
#[command(name = "huginn-net", version, max_term_width = 100, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write the events of capture files
    Pcap(Box<PcapArguments>),
    /// List hosts: systems, software, and the reasons for each verdict
    Hosts(Box<HostsArguments>),
    /// List the most frequent or the rarest fingerprints of each kind
    Fingerprints(Box<FingerprintsArguments>),
    /// List what stands out in capture files, worst first
    Findings(Box<FindingsArguments>),
    /// Write one HTML page about capture files
    Report(ReportArguments),
    /// Write the packets of selected connections to a pcapng file
    ///
    /// Comments stand on the packets that events come from.
    Extract(Box<ExtractArguments>),
    /// Follow a host, a server name or a fingerprint
    Follow(FollowArguments),
    /// Compare two sets of capture files
    ///
    /// Lists hosts, fingerprints, software and servers that are new, gone or changed.
    Diff(DiffArguments),
    /// Inventory the cryptography of capture files
    ///
    /// Lists versions, key exchanges, cipher suites and certificates, and what needs attention.
    Inventory(InventoryArguments),
    /// Watch capture files on the terminal while they are read
    Top(TopArguments),
    /// Analyse the captures of a directory as they are closed
    #[cfg(unix)]
    Watch(Box<WatchArguments>),
    /// Analyse live traffic until SIGINT or SIGTERM
    #[cfg(unix)]
    Live(Box<LiveArguments>),
    /// Make a running sensor read its files again
    ///
    /// Waits for the outcome, and says what is wrong with them. The sensor runs with 'live --control PATH'.
    #[cfg(unix)]
    Reload(ControlArguments),
    /// Say whether a running sensor captures
    ///
    /// The sensor runs with 'live --control PATH'.
    #[cfg(unix)]
    Status(ControlArguments),
    /// List capture interfaces
    #[cfg(unix)]
    Interfaces(InterfacesArguments),
    /// Check what a sensor needs, and say what to type
    ///
    /// Checks rights, kernel, interfaces, clock, disk and limits.
    #[cfg(target_os = "linux")]
    Doctor(DoctorArguments),
    /// Check databases, look up signatures, and learn new ones
    #[command(subcommand)]
    Db(DbCommand),
    /// Explain a fingerprint and name its senders, or compare two JA4
    Explain(ExplainArguments),
    /// Name the clients in the logs of other tools
    Enrich(EnrichArguments),
    /// Join small Parquet files of a folder
    ///
    /// A joined file is complete before those that it replaces are removed. Files of different schema versions are not joined.
    Compact(CompactArguments),
    /// Accept the command line of p0f 3.09b (docs/from-p0f.md)
    P0f(P0fArguments),
    /// Write man pages, or completions for a shell
    #[command(subcommand)]
    Generate(GenerateCommand),
}
