//! Errors that end the program, with their messages and exit statuses.

use std::borrow::Cow;
use std::io;

use huginn_net::CaptureError;
use huginn_net::db::{ClientTableError, DatabaseError};
use huginn_net::watch::WatchListError;
#[cfg(unix)]
use huginn_net_live::LiveError;

use crate::limits::MAX_PATH_BYTES;
use crate::outcome::Outcome;
use crate::views::terminal::ViewError;

/// Error that ends the program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A capture cannot be opened.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A file that is not a capture could not be read.
    #[error("{path}: {source}")]
    Read { path: String, source: io::Error },
    /// A log is compressed.
    #[error("{path}: compressed; run: {program} {path} | huginn-net enrich -")]
    CompressedLog { path: String, program: &'static str },
    /// A signature database has a syntax error.
    #[error("{path}: {source}")]
    Database { path: String, source: DatabaseError },
    /// A table of clients has an invalid line.
    #[error("{path}: {source}")]
    Clients { path: String, source: ClientTableError },
    /// A watch list has an invalid line.
    #[error("{path}: {source}")]
    List { path: String, source: WatchListError },
    /// A baseline has an invalid line.
    #[error("{path}: {source}")]
    Baseline { path: String, source: huginn_net::hosts::BaselineError },
    /// A file of `--anonymize` has no key.
    #[error(
        "{path}: a key has 64 hexadecimal digits, and two halves that differ: 'openssl rand -hex 32' makes one"
    )]
    AddressKey { path: String },
    /// A file of known alerts has an invalid line.
    #[error("{path}: {source}")]
    KnownAlerts { path: String, source: huginn_net::alert::KnownAlertsError },
    /// A file of `watch --state` has an invalid line.
    #[cfg(unix)]
    #[error("{path}: line {line}, column {}: {}", .source.column(), without_position(.source))]
    State { path: String, line: usize, source: serde_json::Error },
    /// The file of `--state` is a device, a pipe or a directory.
    #[cfg(unix)]
    #[error("{path}: --state needs a regular file")]
    StateNotRegular { path: String },
    /// Another process uses the file of `--state`.
    #[cfg(unix)]
    #[error("{path}: another huginn-net uses this state: give each its own --state")]
    StateInUse { path: String },
    /// A table of `watch --state` would replace the one of an earlier run.
    #[cfg(unix)]
    #[error("{path}: the file exists, and a table cannot be appended to: name another one with -o")]
    TableExists { path: String },
    /// A list of programs has an invalid line.
    #[error("{path}: line {line}, column {}: {}", .source.column(), without_position(.source))]
    Programs { path: String, line: usize, source: serde_json::Error },
    /// A configuration file has an invalid line.
    #[cfg(unix)]
    #[error("{path}: line {line}: {reason}")]
    Config { path: String, line: usize, reason: String },
    /// A table `[[output]]` of a configuration file has values that do not go together.
    #[cfg(unix)]
    #[error("{path}: [[output]] at line {table}: {reason}")]
    ConfigTable { path: String, table: usize, reason: Cow<'static, str> },
    /// A file that is read into memory is too large; its limit is in bytes.
    #[error("{path}: larger than {} MiB", .limit >> 20)]
    LongFile { path: String, limit: u64 },
    /// A line of a list of captures is longer than any path.
    #[error("{path}: line {line} is longer than {MAX_PATH_BYTES} bytes, and no path")]
    LongPath { path: String, line: usize },
    /// A raw signature has a syntax error.
    #[error("signature '{text}': {source}")]
    Signature { text: String, source: huginn_net::tcp::ParseError },
    /// A filter expression does not compile.
    #[error(transparent)]
    Bpf(#[from] huginn_net::core::BpfError),
    /// A table was asked for from a build without Parquet.
    #[cfg(not(feature = "parquet"))]
    #[error("this build has no Parquet and Arrow: build it with `--features parquet`")]
    NoTables,
    /// Small files cannot be joined.
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Compact(#[from] huginn_net_arrow::CompactError),
    /// Another process joins files of the folder.
    #[cfg(all(unix, feature = "parquet"))]
    #[error("{path}: another 'huginn-net compact' is at work: wait for its end")]
    CompactTwice { path: String },
    /// Tables are not text.
    #[cfg(feature = "parquet")]
    #[error("--format parquet and arrow write no text to a terminal: name a file with -o, or a pipe")]
    TableOnTerminal,
    /// Captures are not text.
    #[error("extract writes no text to a terminal: name a file with -o, or a pipe")]
    CaptureOnTerminal,
    /// An extract needs a second reading of its capture.
    #[error("{path}: extract reads captures twice, and needs a regular file: save it first")]
    ExtractOfPipe { path: String },
    /// Options that have no effect together.
    #[error("{0}")]
    Usage(Cow<'static, str>),
    /// The terminal view cannot be shown.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A directory or a pattern without a file.
    #[error("{place}: no capture files")]
    NoCaptures { place: String },
    /// A side of a comparison has no packets.
    #[error("{name}: no packets, so that there is nothing to compare")]
    NothingToCompare { name: String },
    /// The output file is also an input file.
    #[error("{path}: input and output are the same file")]
    OverInput { path: String },
    /// A sample needs a second reading of its capture.
    #[error("{path}: --sample reads captures twice, and needs a regular file")]
    SampleOfPipe { path: String },
    /// The output file could not be created.
    #[error("{path}: {source}")]
    Create { path: String, source: io::Error },
    /// Two output options name the same file.
    #[error("{path}: {first} and {second} name the same file")]
    SameFile { path: crate::paths::PathName, first: &'static str, second: &'static str },
    /// Interfaces could not be opened.
    #[cfg(unix)]
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The user lacks the permission to open interfaces.
    #[cfg(unix)]
    #[error("{source}\n{fix}")]
    NoRights { source: LiveError, fix: String },
    /// Privileges could not be dropped.
    #[cfg(unix)]
    #[error(transparent)]
    Rights(#[from] crate::privileges::PrivilegeError),
    /// The control sockets could not be opened.
    #[cfg(unix)]
    #[error(transparent)]
    Control(#[from] crate::control::ControlError),
    /// No sensor answers.
    #[cfg(unix)]
    #[error(
        "{path}: {source}; a sensor answers here if it runs with 'live --control {path}', and only its user and root may ask"
    )]
    NoSensor { path: String, source: io::Error },
    /// The output file cannot be used.
    #[cfg(unix)]
    #[error(transparent)]
    Output(#[from] crate::output::OutputError),
    /// A part of the program could not be started.
    #[error("cannot start {doing}: {source}")]
    Start { doing: &'static str, source: io::Error },
    /// Output could not be written.
    #[error("cannot write output: {0}")]
    Write(#[from] io::Error),
}

/// The text of an error of one line of JSON Lines, without the position in that line.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text).to_owned()
}

impl Failure {
    /// How the program ends with this failure. A reader that closed the pipe of the output is none.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => Outcome::Complete,
            Self::Capture(_)
            | Self::Write(_)
            | Self::Start { .. }
            | Self::NoCaptures { .. }
            | Self::NothingToCompare { .. } => Outcome::Failed,
            #[cfg(feature = "parquet")]
            Self::Compact(_) => Outcome::Failed,
            Self::View(ViewError::Start(_)) => Outcome::Failed,
            #[cfg(unix)]
            Self::Live(
                LiveError::Open { .. }
                | LiveError::UnknownInterface { .. }
                | LiveError::UnknownLinkType { .. }
                | LiveError::System { .. },
            ) => Outcome::Failed,
            #[cfg(unix)]
            Self::Rights(error) if !error.is_usage() => Outcome::Failed,
            #[cfg(unix)]
            Self::NoRights { .. } | Self::NoSensor { .. } | Self::Control(_) | Self::Output(_) => {
                Outcome::Failed
            }
            _ => Outcome::Usage,
        }
    }
}
