//! `huginn-net compact`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::values::parse_interval;

const EXAMPLES: &str = "\
Examples:
  huginn-net compact /var/log/huginn-net
  huginn-net compact --older-than 1d events/";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompactArguments {
    /// Folder with Parquet files of events, also in folders within
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,

    /// Join only files that did not change for this time
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_interval)]
    pub(crate) older_than: Duration,
}
