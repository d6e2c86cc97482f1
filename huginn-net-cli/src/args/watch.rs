//! `huginn-net watch`.

use std::path::PathBuf;

use clap::Args;

use super::EventRunArguments;
use super::input::DecompressionArguments;

const WATCH_HELP: &str = "\
Signals:
  SIGINT, SIGTERM  end after the capture that is being read; another one ends at once
  SIGHUP           read --fingerprints again, unless events go to a terminal

Example:
  tcpdump -i eth0 -G 60 -w '/var/captures/%Y%m%d-%H%M%S.pcap' &
  huginn-net watch --fingerprints watch.csv --only-matches --state watch.state /var/captures";

#[derive(Args, Debug)]
#[command(after_help = WATCH_HELP)]
pub(crate) struct WatchArguments {
    /// Directory that another program fills with captures, such as 'tcpdump -G' or 'dumpcap -b'; directories below it are left out
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// File that remembers which captures were analysed, so that a later run goes on after them; it is created
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) state: Option<PathBuf>,

    /// Analyse the captures that are complete, then exit
    #[arg(long, help_heading = "Input")]
    pub(crate) once: bool,

    /// Decrypt TLS and QUIC with the secrets of this file, and report the HTTP inside: a key log, as SSLKEYLOGFILE names one; new lines are
    /// read before each capture (docs/decryption.md); may be repeated. Secrets that a capture brings are used without it
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) keylog: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) decompression: DecompressionArguments,

    #[command(flatten)]
    pub(crate) run: EventRunArguments,
}
