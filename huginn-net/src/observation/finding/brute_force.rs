//! Brute force as a finding.

use std::fmt::{self, Display};
use std::net::SocketAddr;

use huginn_net_core::{Amount, Timestamp};

use super::millis_between;
use crate::observation::span::TimeSpan;

/// Failed SSH logins of a client at one server.
///
/// [`Display`] is a sentence: `24 SSH logins at 192.0.2.7:22 fail in 58 s, and one succeeds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BruteForceFinding {
    /// The server.
    pub server: SocketAddr,
    /// Number of connections whose login failed. Each may have tried several passwords.
    pub attempts: u32,
    /// Time of the end of the first one.
    pub first_seen: Timestamp,
    /// Time of the end of the last one.
    pub last_seen: Timestamp,
    /// Whether a later login of the client at the server probably succeeded.
    pub has_login: bool,
}

impl BruteForceFinding {
    /// Time from the first failed login to the last one, in seconds.
    pub fn duration(&self) -> f64 {
        millis_between(self.first_seen, self.last_seen) as f64 / 1e3
    }
}

impl Display for BruteForceFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, attempts, first_seen, last_seen, has_login } = self;
        let span = TimeSpan::between(*first_seen, *last_seen);
        write!(f, "{} at {server} fail in {span}", Amount((*attempts).into(), "SSH login(s)"))?;
        if *has_login { f.write_str(", then one probably succeeds") } else { Ok(()) }
    }
}
