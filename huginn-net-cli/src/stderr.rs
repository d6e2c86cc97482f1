//! Messages on standard error.

use std::fmt;
use std::io::{self, Write};

use huginn_net::alert;
use huginn_net::core::Printable;

/// How important a message is, with its severity of syslog (RFC 5424, 6.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    Critical = 2,
    Error = 3,
    Warning = 4,
    Notice = 5,
    Info = 6,
}

impl From<alert::Severity> for Severity {
    fn from(severity: alert::Severity) -> Self {
        match severity {
            alert::Severity::High => Self::Critical,
            alert::Severity::Medium => Self::Warning,
            _ => Self::Notice,
        }
    }
}

impl Severity {
    /// What the journal reads before a line (`sd-daemon(3)`); empty unless standard error is the journal.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            _ if !is_journal() => "",
            Self::Critical => "<2>",
            Self::Error => "<3>",
            Self::Warning => "<4>",
            Self::Notice => "<5>",
            Self::Info => "<6>",
        }
    }
}

/// Whether standard error is the stream to the journal that the service manager opened.
#[cfg(unix)]
fn is_journal() -> bool {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    use std::sync::OnceLock;

    static IS_JOURNAL: OnceLock<bool> = OnceLock::new();
    *IS_JOURNAL.get_or_init(|| {
        let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
        let own = io::stderr().as_fd().try_clone_to_owned().and_then(|own| File::from(own).metadata());
        own.is_ok_and(|own| stream == format!("{}:{}", own.dev(), own.ino()))
    })
}

#[cfg(not(unix))]
fn is_journal() -> bool {
    false
}

/// Writes one line to standard error, with what is not printable escaped, and ignores write errors: the exit status
/// reports the failure too.
pub(crate) fn report(message: &dyn fmt::Display) {
    report_as(Severity::Warning, message);
}

/// Writes an error as [`report`] does.
pub(crate) fn report_error(message: &dyn fmt::Display) {
    report_as(Severity::Error, message);
}

fn report_as(severity: Severity, message: &dyn fmt::Display) {
    let (prefix, text) = (severity.prefix(), message.to_string());
    let _ = writeln!(io::stderr().lock(), "{prefix}huginn-net: {:#}", Printable(&text));
}
