//! Conclusions from several connections of a client.

mod baseline_type;
mod beacon;
mod brute_force;
mod new_fingerprint;
mod once;
mod scan;
mod server;

use std::fmt::{self, Display};

use huginn_net_core::Timestamp;

pub use self::baseline_type::BaselineType;
pub(crate) use self::baseline_type::{FINDING_TYPES, TYPES, client_host, is_digits};
pub use self::beacon::{BeaconNotice, BeaconService, BeaconTarget};
pub use self::brute_force::BruteForceNotice;
pub use self::new_fingerprint::NewFingerprintNotice;
pub use self::once::{ContradictionNotice, ImitationNotice};
pub use self::scan::{ScanNotice, ScanRemark, ScanSegments, ScanTarget};
pub use self::server::{C2CertificateNotice, CertificateNames, ServerMark, ServerMarks, UnusualServerNotice};

/// A conclusion from several connections of a client, with its numbers and its evidence.
///
/// [`Display`] is the reason in words: `sends SYNs to 100 ports of 192.0.2.7 in 5 s, 3 accept`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrafficNotice {
    /// The conclusion.
    pub kind: TrafficNoticeKind,
    /// Numbers of the first packets that show it, at most eight.
    pub packets: Vec<u64>,
    /// Whether a handshake proves that the client sent the packets.
    pub is_proven: bool,
    /// Whether an earlier event reported the same with smaller numbers, or without proof.
    pub is_update: bool,
}

/// The kinds of conclusions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrafficNoticeKind {
    /// The client looks for open ports, or for hosts with an open port.
    Scan(ScanNotice),
    /// Many SSH logins of the client at a server fail.
    BruteForce(BruteForceNotice),
    /// The client contacts a server at regular intervals.
    Beacon(BeaconNotice),
    /// The client contacts a TLS server without a name that has further marks.
    UnusualServer(UnusualServerNotice),
    /// The client contacts a server with the default certificate of a C2 program.
    C2Certificate(C2CertificateNotice),
    /// The layers of a connection name different systems.
    Contradiction(ContradictionNotice),
    /// The client is not the software that it claims to be.
    Imitation(ImitationNotice),
    /// The network has a fingerprint, server, issuer or client that a baseline lacks.
    NewFingerprint(NewFingerprintNotice),
}

impl TrafficNotice {
    pub(crate) fn new(kind: TrafficNoticeKind, packets: Vec<u64>) -> Self {
        Self { kind, packets, is_proven: false, is_update: false }
    }
}

impl TrafficNoticeKind {
    /// What distinguishes conclusions of one kind about a client.
    pub(crate) fn object(&self) -> String {
        match self {
            Self::Scan(found) => format!("{:?} {}", found.segments, found.target),
            Self::BruteForce(found) => found.server.to_string(),
            Self::Beacon(found) => found.target.to_string(),
            Self::UnusualServer(found) => found.server.to_string(),
            Self::C2Certificate(found) => format!("{} {}", found.server, found.program),
            Self::Contradiction(_) => String::new(),
            Self::Imitation(found) => found.claim.clone(),
            Self::NewFingerprint(found) => format!("{} {}", found.kind.name(), found.value),
        }
    }
}

impl Display for TrafficNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TrafficNoticeKind::Scan(found) => found.fmt(f),
            TrafficNoticeKind::BruteForce(found) => found.fmt(f),
            TrafficNoticeKind::Beacon(found) => found.fmt(f),
            TrafficNoticeKind::UnusualServer(found) => found.fmt(f),
            TrafficNoticeKind::C2Certificate(found) => found.fmt(f),
            TrafficNoticeKind::Contradiction(found) => found.fmt(f),
            TrafficNoticeKind::Imitation(found) => found.fmt(f),
            TrafficNoticeKind::NewFingerprint(found) => found.fmt(f),
        }
    }
}

/// The time between two timestamps, in milliseconds; zero if the second one is earlier.
fn millis_between(first: Timestamp, last: Timestamp) -> u64 {
    last.as_millis().saturating_sub(first.as_millis())
}
