//! What a tool sent: a scanner or a packet maker.

use std::fmt::{self, Display};
use std::sync::Arc;

use huginn_net_core::{Amount, Timestamp};
use huginn_net_db::Label;

use super::span::TimeSpan;

/// What a tool on a host sent until now.
///
/// [`Display`] is a sentence: `Nmap SYN scan: 1994 SYNs to 1000 ports of 1 host in 5 s`, or
/// `resembles Nmap SYN scan: 1 SYN to 1 port of 1 host`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolObservation {
    /// The label of the tool.
    pub label: Arc<Label>,
    /// Whether the tool is a scanner. Others make packets for any purpose.
    pub is_scanner: bool,
    /// Whether the host only sent SYNs that resemble those of the scanner: fewer than five targets got one.
    pub resembles: bool,
    /// Whether an earlier event reported it with smaller numbers.
    pub is_update: bool,
    /// Number of SYNs, without retransmissions of the same segment.
    pub syns: u64,
    /// Number of different destination ports, over all destination addresses.
    pub ports: u32,
    /// Number of different destination addresses, at most 1024.
    pub hosts: u32,
    /// Whether there are more destination addresses than were counted.
    pub has_more_hosts: bool,
    /// Time of the first SYN.
    pub first_seen: Timestamp,
    /// Time of the last SYN.
    pub last_seen: Timestamp,
}

impl ToolObservation {
    /// Time from the first SYN to the last one, in seconds.
    pub fn duration(&self) -> f64 {
        self.last_seen.as_nanos().saturating_sub(self.first_seen.as_nanos()) as f64 / 1e9
    }

    /// What the tool sent, without its name: `1994 SYNs to 1000 ports of 1 host in 5 s`.
    pub fn sent(&self) -> impl Display + '_ {
        Sent(self)
    }
}

impl Display for ToolObservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resembles = if self.resembles { "resembles " } else { "" };
        write!(f, "{resembles}{}: {}", self.label, self.sent())
    }
}

/// What a tool sent, without its name.
struct Sent<'a>(&'a ToolObservation);

impl Display for Sent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(ToolObservation { syns, ports, hosts, has_more_hosts, first_seen, last_seen, .. }) = self;
        let more = if *has_more_hosts { "more than " } else { "" };
        let (ports, hosts) = (Amount((*ports).into(), "port(s)"), Amount((*hosts).into(), "host(s)"));
        write!(f, "{} to {ports} of {more}{hosts}", Amount(*syns, "SYN(s)"))?;
        match TimeSpan::between(*first_seen, *last_seen) {
            TimeSpan::ZERO => Ok(()),
            span => write!(f, " in {span}"),
        }
    }
}
