//! Whose a ClientHello is, by its structure.

use std::fmt;

use crate::ClientHello;

/// A TLS library, or a program with settings of its own, that hellos show by their structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientFamily {
    /// Apple's Secure Transport and Network framework: macOS, iOS and their kin.
    Apple,
}

impl fmt::Display for ClientFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apple => "Apple",
        })
    }
}

impl ClientHello<'_> {
    /// Whose it is, if its structure tells.
    pub fn family(&self) -> Option<ClientFamily> {
        None
    }
}
