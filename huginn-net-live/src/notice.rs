//! Notices about interfaces during a capture.

use std::fmt;

use crate::inputs::TCP_PREFIX;

/// A change of an interface; see [`LiveSource::on_notice`](crate::LiveSource::on_notice).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// The name of the interface.
    pub interface: String,
    /// The change.
    pub kind: NoticeKind,
    /// Whether the name is that of patterns.
    pub(crate) is_of_patterns: bool,
}

impl Notice {
    /// Returns a notice about one interface or input.
    pub(crate) fn new(interface: impl Into<String>, kind: NoticeKind) -> Self {
        Self { interface: interface.into(), kind, is_of_patterns: false }
    }
}

/// A change of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeKind {
    /// The interface or directory does not exist yet, or the server does not answer. The source [waits](crate::LiveOptions::wait) for it.
    Awaited,
    /// An interface that did not exist yet exists and is up.
    Appeared,
    /// The interface went down, or was down at the start. The source waits for it.
    Down,
    /// The interface was removed. The source waits for one of the same name.
    Removed,
    /// The source captures from the interface again.
    Recovered,
    /// The interface returned or appeared but cannot be opened, for instance without privileges. The source does not try again.
    Abandoned {
        /// The error of the system or libpcap.
        reason: String,
    },
    /// A stream has ended. The source waits for it, and tries again each second.
    Interrupted {
        /// Why it has ended.
        reason: String,
    },
    /// Part of a stream could not be read. It goes on; [`read_errors`](crate::InterfaceStats::read_errors) counts it.
    Skipped {
        /// What was not read, and why.
        reason: String,
    },
    /// An interface that a pattern matches appeared, or was renamed. The source captures from it.
    Joined,
    /// An interface that a pattern matches was removed, or has another name that none matches.
    Left,
    /// More interfaces joined and left within a minute than have a notice each.
    MoreChanges {
        /// Those that joined.
        joined: u64,
        /// Those that left.
        left: u64,
    },
    /// The frames of an interface that a pattern matches are left out: their hardware type is not supported.
    Unreadable {
        /// The `ARPHRD_` number of Linux.
        hardware: u16,
    },
    /// The kernel granted a smaller buffer than [requested](crate::LiveOptions::buffer_bytes), for lack of memory.
    SmallBuffer {
        /// Bytes requested.
        requested: usize,
        /// Bytes granted.
        granted: usize,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.interface)?;
        match &self.kind {
            NoticeKind::Awaited if self.is_of_patterns => {
                f.write_str("no interface matches yet; the capture begins when one does")
            }
            NoticeKind::Appeared if self.is_of_patterns => f.write_str("an interface matches"),
            NoticeKind::Down if self.is_of_patterns => {
                f.write_str("no interface that matches is up; the capture resumes when one is")
            }
            NoticeKind::Awaited if self.interface.starts_with(TCP_PREFIX) => {
                f.write_str("no server answers yet: waits for a connection, and tries again each second")
            }
            NoticeKind::Awaited => f.write_str("does not exist yet; the capture begins when it does"),
            NoticeKind::Appeared => f.write_str("has appeared"),
            NoticeKind::Down => f.write_str("is down; the capture resumes when it is up again"),
            NoticeKind::Removed => f.write_str("has vanished; the capture resumes when it returns"),
            NoticeKind::Recovered => f.write_str("is back"),
            NoticeKind::Abandoned { reason } => write!(f, "is there but cannot be opened: {reason}"),
            NoticeKind::Interrupted { reason } if self.interface.starts_with(TCP_PREFIX) => {
                write!(f, "{reason}: waits for a connection, and tries again each second")
            }
            NoticeKind::Interrupted { reason } => {
                write!(f, "{reason}: waits until the directory can be read again")
            }
            NoticeKind::Skipped { reason } => f.write_str(reason),
            NoticeKind::Joined => f.write_str("is captured from now on"),
            NoticeKind::Left => f.write_str("is gone, and captured no longer"),
            NoticeKind::MoreChanges { joined, left } => {
                write!(
                    f,
                    "interfaces that joined or left without a line in the last minute: {joined} and {left}"
                )
            }
            NoticeKind::Unreadable { hardware } => {
                write!(f, "is not captured: its hardware type {hardware} is not supported")
            }
            NoticeKind::SmallBuffer { requested, granted } => {
                write!(f, "the kernel granted only {granted} of {requested} bytes of buffer")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_a_comma_is_not_that_of_patterns() {
        let notice = Notice::new("eth0,any", NoticeKind::Appeared);
        assert_eq!(notice.to_string(), "eth0,any: has appeared");
        let notice = Notice { is_of_patterns: true, ..notice };
        assert_eq!(notice.to_string(), "eth0,any: an interface matches");
    }
}
