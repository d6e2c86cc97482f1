//! What can stop the program, as sentences and exit statuses.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use huginn_net::{CaptureError, DatabaseError};
#[cfg(unix)]
use huginn_net_live::LiveError;

/// A capture could not be read, ended malformed, or an answer could not be written.
pub(crate) const FAILED: u8 = 1;
/// The command line asks for what cannot be done.
pub(crate) const USAGE: u8 = 2;

/// Why the program stops.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A capture ended with an error; what came before it was analysed.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A file that is not a capture could not be read.
    #[error("{path}: {source}")]
    Read { path: String, source: io::Error },
    /// A signature database is wrong.
    #[error("{path}: {source}")]
    Database { path: String, source: DatabaseError },
    /// A raw signature is wrong.
    #[error("signature '{text}': {source}")]
    Signature { text: String, source: huginn_net::tcp::ParseError },
    /// A filter expression is wrong.
    #[cfg(feature = "libpcap")]
    #[error(transparent)]
    Bpf(#[from] huginn_net::core::BpfError),
    /// A filter expression was given to a build that knows none.
    #[cfg(not(feature = "libpcap"))]
    #[error(
        "filter expressions need libpcap, which this build does without: install libpcap-dev and build with `--features libpcap`, or use --port and --net"
    )]
    NoBpf,
    /// Hosts were asked for in a format that has none.
    #[error("--format p0f has no lines for --summary: use --format human or json")]
    NoP0fSummary,
    /// The file for events is one of those to be read.
    #[error("{path}: is both input and output")]
    OverInput { path: String },
    /// The file for events could not be made.
    #[error("{path}: {source}")]
    Create { path: String, source: io::Error },
    /// Two of the files that are written are one.
    #[cfg(unix)]
    #[error("{path}: is the file of both {first} and {second}")]
    SameFile { path: crate::output::PathName, first: &'static str, second: &'static str },
    /// Interfaces could not be opened.
    #[cfg(unix)]
    #[error(transparent)]
    Live(#[from] LiveError),
    /// They may not be opened.
    #[cfg(unix)]
    #[error("{source}\n{fix}")]
    NoRights { source: LiveError, fix: String },
    /// Rights could not be given up.
    #[cfg(unix)]
    #[error(transparent)]
    Rights(#[from] crate::privileges::PrivilegeError),
    /// Those who ask cannot be answered.
    #[cfg(unix)]
    #[error(transparent)]
    Control(#[from] crate::control::ControlError),
    /// The file for events cannot be used.
    #[cfg(unix)]
    #[error(transparent)]
    Output(#[from] crate::output::OutputError),
    /// A part of the program could not be started.
    #[cfg(unix)]
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
            Self::NoRights { .. } | Self::Control(_) | Self::Output(_) | Self::Start { .. } => FAILED,
            _ => USAGE,
        })
    }

    /// Whether the reader of our output has gone, which is its right.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Writes one line to standard error; where nobody can be told, the exit status still tells.
pub(crate) fn report(message: &dyn fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "huginn-net: {message}");
}
