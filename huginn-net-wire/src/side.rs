//! The two ends of a flow.

use std::fmt;
use std::str::FromStr;

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that started the flow.
    Client,
    /// The end that answers.
    Server,
}

impl Side {
    /// Returns the other end.
    pub const fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// The text `client` or `server`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    /// Returns `client` or `server`, whichever belongs to this side.
    #[inline]
    pub fn choose<T>(self, client: T, server: T) -> T {
        match self {
            Self::Client => client,
            Self::Server => server,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Side {
    type Err = SideParseError;

    fn from_str(text: &str) -> Result<Self, SideParseError> {
        match text {
            "client" => Ok(Self::Client),
            "server" => Ok(Self::Server),
            _ => Err(SideParseError),
        }
    }
}

/// A text that does not name a [`Side`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `client` or `server`")]
pub struct SideParseError;
