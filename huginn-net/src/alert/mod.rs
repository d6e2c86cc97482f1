//! Alerts: the events that deserve a look, with what every view says of them.

mod known;

use std::fmt::{self, Display};
use std::net::IpAddr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

pub use self::known::{KnownAlerts, KnownAlertsError};
use crate::addresses::is_public;
use crate::observation::{BaselineType, FindingKind, IndicatorType, NewFingerprintFinding};
use crate::{Event, Observation};

/// Number of identifiers of an entry such as `.example.com` for one host.
const MAX_NAMES_BELOW_SUFFIX: u16 = 1024;

huginn_net_core::named! {
    /// How much an alert matters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum Severity {
        /// Often harmless: a reader who looks for something else may need it.
        Low = "low",
        /// Worth a look.
        Medium = "medium",
        /// Worth a look now.
        High = "high",
    }
}

huginn_net_core::table_enum! {
    /// The kinds of alerts. Their order is that of views: the kinds that matter most come first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum AlertKind {
        /// A value of the event before it that a list watches.
        Match: 1, "match", "hit of a watch list", "docs/watch-lists.md";
        /// A client contacts a server with the default certificate of a C2 program.
        C2Certificate: 11, "c2_certificate", "certificate of a C2 program", "docs/findings.md#c2_certificate";
        /// A side sent two contents for the same bytes, or another sender did in its name.
        Conflict: 2, "conflict", "two contents for the same bytes", "docs/findings.md#conflict";
        /// Many SSH logins of a client at a server fail.
        BruteForce: 9, "brute_force", "brute force", "docs/findings.md#brute_force";
        /// A client looks for open ports, or for hosts with an open port.
        Scan: 3, "scan", "scan", "docs/findings.md#scan";
        /// A client contacts a server at regular intervals.
        Beacon: 4, "beacon", "beacon", "docs/findings.md#beacon";
        /// A client contacts a TLS server without a name that has further marks.
        UnusualServer: 10, "unusual_server", "unusual server", "docs/findings.md#unusual_server";
        /// A client is not the software that it claims to be.
        Imitation: 5, "imitation", "imitation", "docs/findings.md#imitation";
        /// A host sends packets of a scanner or a packet maker.
        Tool: 6, "tool", "tool", "docs/events.md#tool";
        /// The layers of a connection name different systems.
        Contradiction: 7, "contradiction", "contradiction", "docs/findings.md#contradiction";
        /// A fingerprint that a baseline lacks.
        NewFingerprint: 8, "new_fingerprint", "new fingerprint", "docs/findings.md#new_fingerprint";
        /// A server without a name, or with a private issuer, that a baseline lacks.
        NewServer: 12, "new_server", "new server", "docs/findings.md#new_server";
        /// An issuer of certificates that a baseline lacks.
        NewIssuer: 13, "new_issuer", "new issuer", "docs/findings.md#new_issuer";
        /// A TLS client that a baseline lacks, of a host that it has.
        NewClientOfHost: 14, "new_client_of_host", "new client of a host", "docs/findings.md#new_client_of_host";
        /// A baseline has no room for another value of a type: later ones are not reported.
        FullBaseline: 15, "full_baseline", "full baseline", "docs/findings.md#full_baseline";
    }
    /// A number that the kind keeps in all versions, such as for the `signature_id` of EVE.
    pub fn number -> u32 = 0;
    /// The name in events, options and files.
    pub fn name -> &'static str = 1;
    /// The name in headings, in the singular.
    pub fn title -> &'static str = 2;
    /// The section of the documentation that explains the kind.
    pub fn page -> &'static str = 3;
}

impl AlertKind {
    /// The kind of an observation that is an alert.
    pub(crate) const fn of(observation: &Observation) -> Option<Self> {
        Some(match observation {
            Observation::Match(_) => Self::Match,
            Observation::Conflict(_) => Self::Conflict,
            Observation::Tool(_) => Self::Tool,
            Observation::Finding(finding) => finding.kind.alert(),
            _ => return None,
        })
    }

    /// Whether events `finding` report the kind; the others have a kind of event of their own.
    const fn is_finding(self) -> bool {
        !matches!(self, Self::Match | Self::Tool)
    }
}

impl FindingKind {
    /// The kind of the alert.
    pub const fn alert(&self) -> AlertKind {
        match self {
            Self::Scan(_) => AlertKind::Scan,
            Self::BruteForce(_) => AlertKind::BruteForce,
            Self::Beacon(_) => AlertKind::Beacon,
            Self::UnusualServer(_) => AlertKind::UnusualServer,
            Self::C2Certificate(_) => AlertKind::C2Certificate,
            Self::Contradiction(_) => AlertKind::Contradiction,
            Self::Imitation(_) => AlertKind::Imitation,
            Self::NewFingerprint(found) => found.alert(),
        }
    }
}

impl NewFingerprintFinding {
    /// The kind of the alert.
    pub(crate) const fn alert(&self) -> AlertKind {
        match self.kind.alert() {
            Some(_) if self.is_left_out => AlertKind::FullBaseline,
            Some(kind) => kind,
            None => AlertKind::NewFingerprint,
        }
    }
}

impl BaselineType {
    /// The kind of the alert for a new value; `None` if new values are only learned.
    pub(crate) const fn alert(self) -> Option<AlertKind> {
        match self {
            Self::TcpSyn | Self::Ja4Stable | Self::Akamai | Self::Hassh | Self::HasshServer | Self::Tool => {
                Some(AlertKind::NewFingerprint)
            }
            Self::Server => Some(AlertKind::NewServer),
            Self::Issuer => Some(AlertKind::NewIssuer),
            Self::Client => Some(AlertKind::NewClientOfHost),
            Self::Certificate | Self::Name | Self::UserAgent => None,
        }
    }
}

/// The values of the field `finding`.
pub(crate) static FINDING_NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let findings = AlertKind::ALL.iter().copied().filter(|kind| kind.is_finding());
    findings.map(AlertKind::name).collect()
});

/// Identifies an alert in a run and across runs: later reports of one alert have the same.
///
/// [`Display`] writes 16 hexadecimal digits; with serde it is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AlertId(u64);

impl Display for AlertId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// An event that deserves a look.
///
/// ```
/// use huginn_net::alert::Alert;
/// use huginn_net::{CaptureReader, Configure, HuginnNet};
///
/// let mut analyzer = HuginnNet::builder().findings(Some(Default::default())).build();
/// let capture = CaptureReader::open("../captures/tcp/nmap-scan/nmap-scan.pcap")?;
/// let mut kinds = Vec::new();
/// analyzer.analyze(capture, |event| kinds.extend(Alert::of(&event).map(|alert| alert.kind().name())))?;
/// assert!(kinds.contains(&"tool"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Alert<'e> {
    event: &'e Event,
    kind: AlertKind,
}

impl<'e> Alert<'e> {
    /// The alert that an event is. `None` for events that only state facts.
    pub fn of(event: &'e Event) -> Option<Self> {
        AlertKind::of(&event.kind).map(|kind| Self::new(event, kind))
    }

    /// An event of this kind.
    pub(crate) const fn new(event: &'e Event, kind: AlertKind) -> Self {
        Self { event, kind }
    }

    /// The event.
    pub fn event(&self) -> &'e Event {
        self.event
    }

    /// The kind.
    pub fn kind(&self) -> AlertKind {
        self.kind
    }

    /// How much it matters: at most [`Severity::Medium`] unless it is [proven](Self::is_proven).
    pub fn severity(&self) -> Severity {
        let severity = match &self.event.kind {
            Observation::Match(_) | Observation::Conflict(_) => Severity::High,
            Observation::Finding(finding) => match &finding.kind {
                FindingKind::BruteForce(found) if !found.has_login => Severity::Medium,
                FindingKind::Scan(_) | FindingKind::BruteForce(_) => Severity::High,
                FindingKind::Beacon(found) => {
                    let is_known = found.software.is_some() || found.service.is_some();
                    let is_outside = is_public(self.event.flow.server.ip());
                    if is_known || !is_outside || !found.is_answered {
                        Severity::Low
                    } else {
                        Severity::Medium
                    }
                }
                FindingKind::C2Certificate(_) => Severity::High,
                FindingKind::UnusualServer(found) if found.is_strong() => Severity::Medium,
                FindingKind::UnusualServer(_) => Severity::Low,
                FindingKind::Imitation(_) => Severity::Medium,
                FindingKind::NewFingerprint(found) if found.is_left_out => Severity::Medium,
                FindingKind::Contradiction(_) | FindingKind::NewFingerprint(_) => Severity::Low,
            },
            Observation::Tool(found) if found.is_scanner && !found.resembles => Severity::Medium,
            _ => Severity::Low,
        };
        if self.is_proven() { severity } else { severity.min(Severity::Medium) }
    }

    /// Whether a handshake proves that the [host](Self::host) sent the packets: one of them acknowledges a number that only the
    /// owner of its address could know. Without proof, anybody may have forged the address.
    pub fn is_proven(&self) -> bool {
        match &self.event.kind {
            Observation::Finding(finding) => finding.is_proven,
            Observation::Conflict(found) => found.is_proven,
            Observation::Match(found) => found.is_proven,
            _ => false,
        }
    }

    /// Whether an earlier event reported it with smaller numbers.
    pub fn is_update(&self) -> bool {
        match &self.event.kind {
            Observation::Finding(finding) => finding.is_update,
            Observation::Tool(found) => found.is_update,
            _ => false,
        }
    }

    /// The host that it is about.
    pub fn host(&self) -> IpAddr {
        self.event.subject_addr().ip()
    }

    /// The identifier: a hash of the kind, of the host and its tunnel, and of what distinguishes alerts of a host.
    pub fn id(&self) -> AlertId {
        let mut hash = Sha1::new();
        let tunnel = self.event.flow.tunnel_key();
        hash.update(format!("{} {} {tunnel} {}", self.kind.name(), self.host(), self.object()));
        let digest = <[u8; 20]>::from(hash.finalize());
        AlertId(digest.iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte)))
    }

    /// What distinguishes alerts of one kind and host: a target, a claim, a value.
    fn object(&self) -> String {
        match &self.event.kind {
            Observation::Match(found) => {
                // Names below one that a list has are alerts of their own, at most 1,024 of a host: clients choose names.
                let is_suffix = found.kind == IndicatorType::Host && found.value.starts_with(['.', '*']);
                let name = found.server_name.as_deref().or(found.host.as_deref()).filter(|_| is_suffix);
                let name = name.map_or(0, |name| {
                    let digest = <[u8; 20]>::from(Sha1::digest(name.to_ascii_lowercase()));
                    let [first, second, ..] = digest;
                    u16::from_le_bytes([first, second]) % MAX_NAMES_BELOW_SUFFIX
                });
                format!("{} {} {} {name}", found.list, found.kind.name(), found.value)
            }
            Observation::Tool(found) if found.resembles => format!("resembles {}", found.label),
            Observation::Tool(found) => found.label.to_string(),
            Observation::Finding(finding) => finding.kind.object(),
            _ => self.event.flow.server.to_string(),
        }
    }

    /// The reason as a sentence. It says that the address may be forged unless the alert is [proven](Self::is_proven).
    pub fn reason(&self) -> impl Display + use<'e> {
        Reason(*self)
    }

    /// The numbers of the first packets that show it, at most eight.
    pub fn packets(&self) -> &'e [u64] {
        match &self.event.kind {
            Observation::Finding(finding) => &finding.packets,
            Observation::Conflict(found) => &found.packets,
            _ => std::slice::from_ref(&self.event.packet_number),
        }
    }
}

/// The reason of an alert.
struct Reason<'e>(Alert<'e>);

impl Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(alert) = self;
        match &alert.event.kind {
            Observation::Match(found) => found.fmt(f)?,
            Observation::Conflict(found) => {
                write!(f, "two contents for the same bytes: {}", found.conflict.name())?;
            }
            Observation::Tool(found) => found.fmt(f)?,
            Observation::Finding(finding) => finding.fmt(f)?,
            _ => {}
        }
        if alert.is_proven() { Ok(()) } else { f.write_str("; the address may be forged") }
    }
}
