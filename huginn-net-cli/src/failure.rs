//! Errors that end the program, with their messages and exit statuses.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use huginn_net::db::ClientTableError;
use huginn_net::fingerprint_list::FingerprintListError;
use huginn_net::{CaptureError, DatabaseError};
#[cfg(unix)]
use huginn_net_live::LiveError;

use crate::limits::MAX_LIST_BYTES;

/// Exit status of a runtime failure: an unreadable or damaged capture, or output that cannot be written.
pub(crate) const FAILED: u8 = 1;
/// Exit status of wrong usage.
pub(crate) const USAGE: u8 = 2;
/// Exit status after SIGINT, as shells give it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Error that ends the program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A capture ended with an error; the packets before it were analysed.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A file that is not a capture could not be read.
    #[error("{path}: {source}")]
    Read { path: String, source: io::Error },
    /// A signature database has a syntax error.
    #[error("{path}: {source}")]
    Database { path: String, source: DatabaseError },
    /// A table of clients has an invalid line.
    #[error("{path}: {source}")]
    Clients { path: String, source: ClientTableError },
    /// A fingerprint list has an invalid line.
    #[error("{path}: {source}")]
    List { path: String, source: FingerprintListError },
    /// A fingerprint list is too large.
    #[error("{path}: larger than {} MiB", MAX_LIST_BYTES >> 20)]
    LongList { path: String },
    /// A raw signature has a syntax error.
    #[error("signature '{text}': {source}")]
    Signature { text: String, source: huginn_net::tcp::ParseError },
    /// A filter expression does not compile.
    #[cfg(feature = "libpcap")]
    #[error(transparent)]
    Bpf(#[from] huginn_net::core::BpfError),
    /// A filter expression was given to a build without libpcap.
    #[cfg(not(feature = "libpcap"))]
    #[error(
        "this build has no libpcap, which filter expressions need: install libpcap-dev and build with `--features libpcap`, or use --port and --net"
    )]
    NoBpf,
    /// A table was asked for from a build without Parquet.
    #[cfg(not(feature = "parquet"))]
    #[error("this build has no Parquet and Arrow: build it with `--features parquet`")]
    NoTables,
    /// Live capture has no end that a table could be complete at.
    #[cfg(all(unix, feature = "parquet"))]
    #[error("--format arrow is for captures: 'live' writes Parquet, JSON, CSV or TSV")]
    LiveArrow,
    /// A Parquet file can be read once it is complete.
    #[cfg(all(unix, feature = "parquet"))]
    #[error(
        "--format parquet of 'live' needs -o FILE, and --rotate-interval, --rotate-size or --hour-folders: a file can be \
         read once it is complete"
    )]
    LiveParquet,
    /// Tables are no text.
    #[cfg(feature = "parquet")]
    #[error("--format parquet and arrow write no text to a terminal: name a file with -o, or a pipe")]
    TableOnTerminal,
    /// Only two formats have hosts and fingerprints.
    #[error("--summary, --top and --rare write --format human or json")]
    NoSummaryFormat,
    /// The terminal view needs a terminal.
    #[error("the terminal view needs a terminal as standard output")]
    NoTerminal,
    /// A directory or a pattern without a file.
    #[error("{place}: no capture files")]
    NoCaptures { place: String },
    /// A command line that p0f refuses, too.
    #[error("{0}")]
    P0fUsage(&'static str),
    /// A second fingerprint that cannot be compared with the first.
    #[error("only two JA4 fingerprints can be compared")]
    OnlyJa4Compares,
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
    #[cfg(unix)]
    #[error("{path}: {first} and {second} name the same file")]
    SameFile { path: crate::output::PathName, first: &'static str, second: &'static str },
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

impl Failure {
    pub(crate) fn status(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Capture(_) | Self::Write(_) => FAILED,
            #[cfg(unix)]
            Self::Live(
                LiveError::Open { .. } | LiveError::UnknownLinkType { .. } | LiveError::System { .. },
            ) => FAILED,
            #[cfg(unix)]
            Self::Rights(error) if !error.is_usage() => FAILED,
            #[cfg(unix)]
            Self::NoRights { .. } | Self::Control(_) | Self::Output(_) => FAILED,
            Self::Start { .. } | Self::NoCaptures { .. } => FAILED,
            _ => USAGE,
        })
    }

    /// Whether the reader of the output closed the pipe, which is no failure.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Writes one line to standard error and ignores write errors: the exit status reports the failure too.
pub(crate) fn report(message: &dyn fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "huginn-net: {message}");
}
