//! `huginn-net watch`.

use std::path::PathBuf;

use clap::Args;

use super::input::DecompressionArguments;
use super::output::formats_without;
use super::{Category, EventRunArguments, Format};

const WATCH_HELP: &str = "\
Signals:
  SIGINT, SIGTERM  end after the capture that is being read; another one ends at
                   once
  SIGHUP           read --fingerprints again, unless events go to a terminal

Example:
  tcpdump -i eth0 -G 60 -w '/var/captures/%Y%m%d-%H%M%S.pcap' &
  huginn-net watch --fingerprints watch.csv --only-matches /var/captures";

#[derive(Args, Debug)]
#[command(after_help = WATCH_HELP, mut_arg("format", |format| format.value_parser(formats_without(&[Format::ZeekTsv]))))]
pub(crate) struct WatchArguments {
    /// Directory that another program fills with captures, such as 'tcpdump -G' or 'dumpcap -b'; directories below it are left out
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// File that remembers which captures were analysed, so that a later run goes on after them; it is created
    #[arg(long, value_name = "FILE", help_heading = Category::INPUT.heading)]
    pub(crate) state: Option<PathBuf>,

    /// Analyse the captures that are complete, then exit
    #[arg(long, help_heading = Category::INPUT.heading)]
    pub(crate) once: bool,

    #[command(flatten)]
    pub(crate) decompression: DecompressionArguments,

    #[command(flatten)]
    pub(crate) run: EventRunArguments,
}
