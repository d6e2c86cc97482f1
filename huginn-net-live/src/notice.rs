//! What happens to interfaces while they are captured from.

use std::fmt;

/// Something that happened to an interface; see [`LiveSource::on_notice`](crate::LiveSource::on_notice).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// The name of the interface.
    pub interface: String,
    /// What happened.
    pub kind: NoticeKind,
}

/// What happened to an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeKind {
    /// It was taken down, or was down at the beginning. It is waited for.
    Down,
    /// It was removed. One of its name is waited for.
    Removed,
    /// It is captured from again.
    Recovered,
    /// It is there again but cannot be opened, for want of rights perhaps. It is not tried again.
    Abandoned {
        /// What the system or libpcap says.
        reason: String,
    },
    /// The kernel gave a smaller buffer than [asked for](crate::LiveOptions::buffer_bytes), for want of memory.
    SmallBuffer {
        /// Bytes asked for.
        asked: usize,
        /// Bytes given.
        given: usize,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.interface)?;
        match &self.kind {
            NoticeKind::Down => f.write_str("is down; poll for it"),
            NoticeKind::Removed => f.write_str("has vanished; poll for it"),
            NoticeKind::Recovered => f.write_str("is back"),
            NoticeKind::Abandoned { reason } => write!(f, "is back but cannot be opened: {reason}"),
            NoticeKind::SmallBuffer { asked, given } => {
                write!(f, "the kernel has memory for {given} of {asked} bytes of buffer only")
            }
        }
    }
}
