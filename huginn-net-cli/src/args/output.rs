//! The format and the destination of events.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::values::{OwnField, parse_event, parse_own_field};
use super::{Category, SelectArguments};

/// Selects the format and the destination of events.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::OUTPUT.heading)]
pub(crate) struct OutputArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    pub(crate) format: Format,

    /// Write events to this file ('live' and 'watch' append); '-' is standard output, the default. 'live' compresses
    /// FILE.gz and FILE.zst, and also writes to tcp:HOST:PORT, tls:HOST:PORT, unix:PATH, and as syslog to syslog:tcp:HOST:PORT,
    /// syslog:tls:HOST:PORT and syslog:udp:HOST:PORT (RFC 5424) and syslog:unix:PATH (the local form of /dev/log)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write only these events (docs/events.md)
    #[arg(
        long,
        help_heading = Category::SELECTION.heading,
        value_name = "KIND",
        value_delimiter = ',',
        value_parser = parse_event
    )]
    pub(crate) events: Vec<&'static str>,

    /// Write only hits of --fingerprints: the same as --events match
    #[arg(long, help_heading = Category::SELECTION.heading, requires = "fingerprints", conflicts_with = "events")]
    pub(crate) only_matches: bool,

    /// Write only these fields of the JSON of events, such as ts,client.ip,sni,ja4, in JSON, CSV or TSV, or these columns of Parquet and
    /// Arrow, also by names such as tls_sni [default: all fields in JSON, all columns of tables; time, kind, addresses and the main fingerprints in CSV and TSV, or what matches and findings say if only these are written]
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,

    /// Name this sensor in each event: in JSON and in tables the field 'sensor'; docs/formats.md has its place in other formats
    #[arg(long, value_name = "NAME")]
    pub(crate) sensor_name: Option<String>,

    /// Name the site of this sensor: in each event as the field 'site', and in the files of 'live --state' and --write-baseline. Equal
    /// addresses at two sites are two hosts (docs/fleet.md)
    #[arg(long, value_name = "NAME", help_heading = Category::INPUT.heading)]
    pub(crate) site: Option<String>,

    /// Add this field with a text to each event, such as rack=b7; may be repeated
    #[arg(long, value_name = "NAME=TEXT", value_parser = parse_own_field)]
    pub(crate) add_field: Vec<OwnField>,

    /// Add the identifier of its connection to each event of --format json, parquet or arrow, as the field 'connection_id'
    #[arg(long)]
    pub(crate) connection_ids: bool,

    /// Write certificates of --format json completely each time, or once in a file, and then only their SHA-256 and length
    #[arg(long, value_enum, default_value = "whole", value_name = "HOW")]
    pub(crate) certificates: CertificateArgument,

    /// Print times of the human format in the local time zone instead of UTC
    #[arg(long)]
    pub(crate) local_time: bool,

    /// Use colours; 'auto': on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorArgument,

    /// Write counters to standard error at the end, as one JSON object
    #[arg(long, help_heading = Category::MESSAGES.heading)]
    pub(crate) stats: bool,

    /// Print only errors and warnings on standard error: no progress bar, no totals
    #[arg(short, long, help_heading = Category::MESSAGES.heading)]
    pub(crate) quiet: bool,

    /// Write events of the human format as blocks with all fields; on standard error, print the totals of each file, and
    /// the dropped privileges of 'live', unless --quiet is given
    #[arg(short, long)]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) select: SelectArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CertificateArgument {
    /// Completely in each event
    Whole,
    /// Completely in the first event of a file that has them
    Once,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArgument {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One readable line for each event, or with -v a block
    Human,
    /// JSON Lines, one event per line
    Json,
    /// Comma-separated values: --fields, or time, kind, addresses and the main fingerprints; with a line of headings ('live' writes none)
    Csv,
    /// Tab-separated values: as CSV, with a line of headings ('live' writes none)
    Tsv,
    /// EVE of Suricata: one JSON object per event (docs/formats.md)
    Eve,
    /// Logs of Zeek as JSON Lines, with the name of the log in _path, or in the folder of --zeek-dir (docs/formats.md)
    Zeek,
    /// Logs of Zeek as tab-separated values, in the folder of --zeek-dir
    ZeekTsv,
    /// Elastic Common Schema: one JSON object per event (docs/formats.md)
    Ecs,
    /// Open Cybersecurity Schema Framework: one JSON object per event (docs/formats.md)
    Ocsf,
    /// Parquet: a table with a row for each event (docs/schema.md); 'live' writes files one after the other; needs the
    /// feature parquet
    Parquet,
    /// A stream of Arrow record batches with the same table; not for 'live'; needs the feature parquet
    Arrow,
    /// Log lines of p0f 3.09b
    P0f,
}

/// The formats of a command that does not have all of them.
pub(super) fn formats_without(left_out: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    let formats = Format::value_variants().iter().filter(|format| !left_out.contains(format));
    PossibleValuesParser::new(formats.filter_map(ValueEnum::to_possible_value))
        .try_map(|name| Format::from_str(&name, false))
}

/// The output of commands that write a table or another document.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::OUTPUT.heading)]
pub(crate) struct DocumentArguments {
    /// Write to this file; '-' is standard output, the default
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Print times of the human format in the local time zone instead of UTC
    #[arg(long)]
    pub(crate) local_time: bool,

    /// Print only errors and warnings on standard error: no progress bar
    #[arg(short, long, help_heading = Category::MESSAGES.heading)]
    pub(crate) quiet: bool,
}

/// The output of commands that write tables or JSON Lines.
#[derive(Args, Debug)]
#[command(next_help_heading = Category::OUTPUT.heading)]
pub(crate) struct ListOutputArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ListFormat,

    #[command(flatten)]
    pub(crate) document: DocumentArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Sentences and tables
    Human,
    /// JSON Lines
    Json,
}
