//! What a scan is as a finding.

use std::fmt::{self, Display};
use std::net::IpAddr;
use std::sync::Arc;

use huginn_net_core::{Amount, Joined, Timestamp};
use huginn_net_db::Label;

use super::millis_between;
use crate::observation::span::TimeSpan;

/// Connections that a client tried to ports of a host or to hosts on a port.
///
/// [`Display`] is a sentence: `sends SYNs to 100 ports of 192.0.2.7 in 5 s, 3 accept`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanFinding {
    /// What was scanned.
    pub target: ScanTarget,
    /// The segments that the client sends.
    pub segments: ScanSegments,
    /// Number of ports or hosts.
    pub targets: u32,
    /// Whether there are more hosts than were counted.
    pub has_more: bool,
    /// Number of ports or hosts that accepted: with a SYN+ACK, or the client went on.
    pub answered: u32,
    /// Number of ports or hosts that refused with RST.
    pub refused: u32,
    /// Why the connections that were accepted count, or that the capture has no answers.
    pub remark: Option<ScanRemark>,
    /// Number of SYNs, or of the other segments, without retransmissions.
    pub syns: u64,
    /// Time of the first one.
    pub first_seen: Timestamp,
    /// Time of the last one.
    pub last_seen: Timestamp,
    /// The tool that sends the SYNs, if the database knows it: that of at least 90 % of the ports or hosts.
    pub tool: Option<Arc<Label>>,
    /// Number of ports or hosts that got SYNs of this tool only.
    pub by_tool: u32,
}

/// What a client scans.
///
/// [`Display`] writes the address, or the ports: `23, 2323, 8080`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ScanTarget {
    /// Ports of this host.
    Host(IpAddr),
    /// Hosts on these ports, at most ten in ascending order.
    Ports(Box<[u16]>),
}

/// The segments of a scan, by their flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ScanSegments {
    /// SYN.
    Syn,
    /// FIN alone.
    Fin,
    /// No flags.
    Null,
    /// FIN, PSH and URG.
    Xmas,
    /// ACK alone.
    Ack,
    /// FIN and ACK.
    Maimon,
}

/// What a reader has to know of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScanRemark {
    /// The capture has SYNs, and neither an answer to one nor a client that goes on: whether targets accept is not known.
    NoAnswers,
    /// The client sends nothing to those that accept.
    NoData,
}

impl ScanFinding {
    /// Time from the first segment to the last one, in seconds.
    pub fn duration(&self) -> f64 {
        millis_between(self.first_seen, self.last_seen) as f64 / 1e3
    }
}

impl Display for ScanTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(ip) => ip.fmt(f),
            Self::Ports(ports) => Joined(ports, ", ").fmt(f),
        }
    }
}

impl ScanSegments {
    /// What is sent, in words.
    fn words(self) -> &'static str {
        match self {
            Self::Syn => "SYNs",
            Self::Fin => "segments with FIN alone",
            Self::Null => "segments without flags",
            Self::Xmas => "segments with FIN, PSH and URG",
            Self::Ack => "segments with ACK alone",
            Self::Maimon => "segments with FIN and ACK",
        }
    }
}

impl Display for ScanFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, targets, first_seen, last_seen, tool, by_tool, .. } = self;
        let more = if self.has_more { "more than " } else { "" };
        let count = u64::from(*targets);
        write!(f, "sends {} to ", self.segments.words())?;
        match target {
            ScanTarget::Host(_) => write!(f, "{} of {target}", Amount(count, "port(s)"))?,
            ScanTarget::Ports(ports) => {
                let word = if ports.len() == 1 { "port" } else { "ports" };
                write!(f, "{more}{} on {word} {target}", Amount(count, "host(s)"))?;
            }
        }
        write!(f, " in {}, ", TimeSpan::between(*first_seen, *last_seen))?;
        match (self.segments, self.answered, self.refused) {
            (ScanSegments::Syn, 0, _) => f.write_str("none accepts")?,
            (ScanSegments::Syn, 1, _) => f.write_str("1 accepts")?,
            (ScanSegments::Syn, accepted, _) => write!(f, "{accepted} accept")?,
            (_, _, 0) => f.write_str("none answers")?,
            (_, _, 1) => f.write_str("1 answers with RST")?,
            (_, _, refused) => write!(f, "{refused} answer with RST")?,
        }
        match self.remark {
            Some(ScanRemark::NoAnswers) => f.write_str("; the capture has no answers")?,
            Some(ScanRemark::NoData) => f.write_str("; no data follows")?,
            None => {}
        }
        match tool {
            Some(tool) if by_tool == targets => write!(f, "; the packets are those of {tool}"),
            Some(tool) => write!(f, "; the packets to {by_tool} of them are those of {tool}"),
            None => Ok(()),
        }
    }
}
