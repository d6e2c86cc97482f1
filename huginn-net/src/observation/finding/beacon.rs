//! A beacon as a finding.

use std::fmt::{self, Display};
use std::net::SocketAddr;
use std::sync::Arc;

use huginn_net_core::{Quoted, Timestamp};

/// Contacts of a client to a server at regular intervals.
///
/// The numbers are those of the regular contacts, without earlier ones. [`Display`] is a sentence. It says what is known of the
/// software: `contacts c2.example every 60.0 s (jitter 2.1 %), 20 times: software unknown`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BeaconFinding {
    /// The server.
    pub target: BeaconTarget,
    /// Number of contacts.
    pub contacts: u32,
    /// Median of the intervals, in milliseconds.
    pub period_millis: u32,
    /// Mean deviation of the regular intervals from the median, in thousandths of it.
    pub jitter_permille: u32,
    /// Time of the first contact.
    pub first_seen: Timestamp,
    /// The application that all contacts match.
    pub software: Option<Arc<str>>,
    /// The TLS library that all contacts match, which any program may use.
    pub library: Option<Arc<str>>,
    /// The User-Agent of all contacts, which anything may claim.
    pub user_agent: Option<Box<[u8]>>,
    /// The service that the name, the port or the User-Agent stands for, which anything may use.
    pub service: Option<BeaconService>,
    /// Whether the server accepted a connection.
    pub is_answered: bool,
}

/// The server of a beacon.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BeaconTarget {
    /// A server name or Host header without port, whatever its addresses.
    Name(Box<[u8]>),
    /// An address and port, if its connections have no name.
    Address(SocketAddr),
}

impl BeaconFinding {
    /// The median of the intervals, in seconds.
    pub fn period(&self) -> f64 {
        f64::from(self.period_millis) / 1e3
    }

    /// The mean deviation from the median, in percent of it.
    pub fn jitter(&self) -> f64 {
        f64::from(self.jitter_permille) / 10.0
    }

    /// Whether a fingerprint names the software. A User-Agent, a name and a port do not: a client may choose them.
    pub fn is_known(&self) -> bool {
        self.software.is_some()
    }
}

impl Display for BeaconTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => Quoted(name).fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl Display for BeaconFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, contacts, software, library, user_agent, service, .. } = self;
        let verb = if self.is_known() { "polls" } else { "contacts" };
        let (period, jitter) = (self.period(), self.jitter());
        let decimals = if period < 100.0 { 1 } else { 0 };
        let answer = if self.is_answered { "" } else { ", no answer seen" };
        write!(
            f,
            "{verb} {target} every {period:.decimals$} s (jitter {jitter:.1} %), {contacts} times{answer}: "
        )?;
        match (software, library, user_agent) {
            (Some(software), ..) => write!(f, "software {software}")?,
            (None, _, Some(text)) => write!(f, "User-Agent says {}", Quoted(text))?,
            (None, Some(library), None) => write!(f, "software unknown (TLS library {library})")?,
            (None, None, None) => f.write_str("software unknown")?,
        }
        match service {
            Some(BeaconService::UserAgent(service)) => write!(f, " ({service})"),
            Some(service) => write!(f, ", {service}"),
            None => Ok(()),
        }
    }
}

/// A service that a name, a port or a User-Agent stands for. A client may ask for any name, use any port for anything, and claim
/// any User-Agent.
///
/// [`Display`] says which: `port of dns`, `name of push messages`, `User-Agent of monitoring`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BeaconService {
    /// The service whose servers have the name, by the documents of their operators.
    Name(&'static str),
    /// The service of the port, by the registry of IANA.
    Port(&'static str),
    /// The service whose clients have the User-Agent, by their documents.
    UserAgent(&'static str),
}

impl Display for BeaconService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(service) => write!(f, "name of {service}"),
            Self::Port(service) => write!(f, "port of {service}"),
            Self::UserAgent(service) => write!(f, "User-Agent of {service}"),
        }
    }
}
