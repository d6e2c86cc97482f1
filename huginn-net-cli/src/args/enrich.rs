//! `huginn-net enrich`.

use std::path::PathBuf;

use clap::Args;

use super::DatabaseArguments;

const EXAMPLES: &str = "\
Examples:
  huginn-net enrich eve.json > named.json
  tail -n +1 -F ssl.log | huginn-net enrich -
  huginn-net enrich --column fingerprint visits.csv
  huginn-net enrich --rarity eve.json | jq -c 'select(.huginn.seen == 1)'";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EnrichArguments {
    /// Logs, or '-' for standard input. Forms: EVE, Zeek's JSON or TSV, ECS, OCSF, other JSON Lines, CSV or TSV with headings
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// A column, or a field with dots such as http.ja4, that has JA4, JA3, HASSH or Akamai's MD5, in addition to the known ones
    #[arg(long, value_name = "NAME")]
    pub(crate) column: Option<String>,

    /// Add how many lines have the fingerprint: seen, of lines with any. Reads files twice; standard input and pipes once, and counts
    /// up to each line
    #[arg(long)]
    pub(crate) rarity: bool,

    #[command(flatten)]
    pub(crate) databases: DatabaseArguments,
}
