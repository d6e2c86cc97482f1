//! The names of sessions up to TLS 1.2, by which a secret that was logged once is found again.

use std::fmt;

/// What names a session up to TLS 1.2.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SessionName {
    /// Its identifier, padded with zeros.
    Id([u8; 32]),
    /// The SHA-256 of a ticket.
    Ticket([u8; 32]),
}

/// Omits the name.
impl fmt::Debug for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Id(_) => "Id",
            Self::Ticket(_) => "Ticket",
        })
    }
}

/// A connection of TLS 1.2, and the names of its session: its identifier, the ticket that it was resumed by, and a new ticket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SessionConnection {
    pub(crate) random: [u8; 32],
    pub(crate) names: [Option<SessionName>; 3],
}

/// Omits the names.
impl fmt::Debug for SessionConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionConnection").finish_non_exhaustive()
    }
}
