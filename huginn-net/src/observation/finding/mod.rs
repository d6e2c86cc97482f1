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
pub use self::beacon::{BeaconFinding, BeaconService, BeaconTarget};
pub use self::brute_force::BruteForceFinding;
pub use self::new_fingerprint::NewFingerprintFinding;
pub use self::once::{ContradictionFinding, ImitationFinding};
pub use self::scan::{ScanFinding, ScanRemark, ScanSegments, ScanTarget};
pub use self::server::{
    C2CertificateFinding, CertificateNames, ServerMark, ServerMarks, UnusualServerFinding,
};

/// A conclusion from several connections of a client, with its numbers and its evidence.
///
/// [`Display`] is the reason in words: `sends SYNs to 100 ports of 192.0.2.7 in 5 s, 3 accept`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The conclusion.
    pub kind: FindingKind,
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
pub enum FindingKind {
    /// The client looks for open ports, or for hosts with an open port.
    Scan(ScanFinding),
    /// Many SSH logins of the client at a server fail.
    BruteForce(BruteForceFinding),
    /// The client contacts a server at regular intervals.
    Beacon(BeaconFinding),
    /// The client contacts a TLS server without a name that has further marks.
    UnusualServer(UnusualServerFinding),
    /// The client contacts a server with the default certificate of a C2 program.
    C2Certificate(C2CertificateFinding),
    /// The layers of a connection name different systems.
    Contradiction(ContradictionFinding),
    /// The client is not the software that it claims to be.
    Imitation(ImitationFinding),
    /// The network has a fingerprint, server, issuer or client that a baseline lacks.
    NewFingerprint(NewFingerprintFinding),
}

impl Finding {
    pub(crate) fn new(kind: FindingKind, packets: Vec<u64>) -> Self {
        Self { kind, packets, is_proven: false, is_update: false }
    }
}

impl FindingKind {
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
            Self::NewFingerprint(found) if found.is_left_out => found.kind.name().to_owned(),
            Self::NewFingerprint(found) => format!("{} {}", found.kind.name(), found.value),
        }
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FindingKind::Scan(found) => found.fmt(f),
            FindingKind::BruteForce(found) => found.fmt(f),
            FindingKind::Beacon(found) => found.fmt(f),
            FindingKind::UnusualServer(found) => found.fmt(f),
            FindingKind::C2Certificate(found) => found.fmt(f),
            FindingKind::Contradiction(found) => found.fmt(f),
            FindingKind::Imitation(found) => found.fmt(f),
            FindingKind::NewFingerprint(found) => found.fmt(f),
        }
    }
}

/// The time between two timestamps, in milliseconds; zero if the second one is earlier.
fn millis_between(first: Timestamp, last: Timestamp) -> u64 {
    last.as_millis().saturating_sub(first.as_millis())
}
