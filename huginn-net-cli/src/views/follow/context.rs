//! What is followed, and what all views of it share.

use std::fmt::{self, Display};
use std::net::IpAddr;

use huginn_net::core::Escaped;
use huginn_net::hosts::{HostProfile, JoinedHosts};

use crate::limits::MAX_LINE_TEXT;
use crate::output::Zone;

/// What is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A host.
    Host(IpAddr),
    /// A name that clients asked for, in lower case.
    ServerName(String),
    /// The address of a server.
    ServerAddress(IpAddr),
    /// A fingerprint, or another value that the store counts.
    Fingerprint(String),
}

impl Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(ip) | Self::ServerAddress(ip) => write!(f, "{ip}"),
            Self::ServerName(text) | Self::Fingerprint(text) => write!(f, "{:#}", Escaped(text.as_bytes())),
        }
    }
}

/// What all views of a run share.
pub(crate) struct Context<'a> {
    pub(crate) hosts: &'a JoinedHosts,
    /// Names a capture by its index, if there are several.
    pub(crate) file_name: &'a dyn Fn(usize) -> Option<String>,
    pub(crate) width: Option<u16>,
    pub(crate) zone: &'a Zone,
}

impl Context<'_> {
    /// The profiles of an address: one for each tunnel.
    pub(super) fn profiles(&self, ip: IpAddr) -> impl Iterator<Item = &HostProfile> {
        self.hosts.profiles_of(ip)
    }
}

/// The first bytes of a captured text that a cell shows.
pub(super) fn start_of(text: &[u8]) -> &[u8] {
    text.get(..MAX_LINE_TEXT).unwrap_or(text)
}
