//! The most likely operating system of a host, with the evidence for and against it.

use std::fmt::{self, Display};
use std::sync::Arc;

use huginn_net_consistency::Outcome;
use huginn_net_consistency::systems::is_middlebox;
use huginn_net_core::Quoted;
use huginn_net_db::{Label, SoftwareClaim, SoftwareName, SystemName};
use huginn_net_http::Role;
use huginn_net_tcp::Handshake;
use huginn_net_tls::{ClientFamily, Ja4};
use serde::{Deserialize, Deserializer, Serialize, de};

/// The most likely operating system of a host, with its evidence. [`HostProfile::verdict`](crate::hosts::HostProfile::verdict) makes it.
///
/// The evidence with the best [`Grade`] decides; within a grade the most frequent system, and among equal counts the
/// first. HTTP distinguishes systems with equal TCP stacks (Android and Linux; macOS and iOS). A middlebox (NAT of
/// virtual machines, load balancer) is not a system; the verdict names the middlebox in `behind`. If the address is shared
/// and TCP shows several systems, the verdict names all of them and no most likely one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The most likely system, by its name in the database; absent without evidence, or with several systems.
    pub system: Option<Arc<str>>,
    /// Whether the evidence that decides is not exact: a fuzzy match, a signature of last resort, a TLS hello, or only a header.
    pub fuzzy: bool,
    /// The systems that share the address, by descending count; empty unless the address is reported as shared.
    pub several: Vec<Arc<str>>,
    /// The middlebox that answers for the host. Absent if TCP shows the system of the host.
    pub behind: Option<Arc<str>>,
    /// The evidence, by descending grade, then by descending count.
    pub evidence: Vec<Evidence>,
    /// Contradictions between layers.
    pub contradictions: Vec<Contradiction>,
}

/// Evidence for the operating system of a host.
///
/// [`Display`] is a sentence: `TCP says Linux (Linux 4.20 or newer, 12 SYNs)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// The layer of the evidence.
    pub layer: EvidenceLayer,
    /// The system.
    pub says: Arc<str>,
    /// The observation.
    pub because: Cause,
    /// Number of observations.
    pub count: u32,
    /// The weight of the evidence.
    pub grade: Grade,
    /// Whether the evidence supports the system of the verdict, or one of several. Otherwise the evidence opposes the
    /// verdict, unless its grade never decides.
    pub supports: bool,
}

huginn_net_core::named! {
    /// A layer of the network stack.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum EvidenceLayer {
        /// TCP/IP: evidence from the kernel.
        Tcp = "tcp",
        /// HTTP: evidence from software, whose headers may be forged.
        Http = "http",
        /// TLS: evidence from the TLS library.
        Tls = "tls",
    }

    /// The weight of evidence, the best first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Grade {
        /// A SYN that a signature of one system matches exactly.
        Syn = "syn",
        /// A SYN+ACK that a signature of one system matches exactly.
        SynAck = "syn_ack",
        /// A SYN that a signature of one system matches, except for changes that the network may cause.
        Fuzzy = "fuzzy",
        /// A TLS library that is part of one system.
        TlsLibrary = "tls_library",
        /// A head that only software of one system sends, or a head that matches the software and names a system.
        Software = "software",
        /// A SYN+ACK that a signature of one system matches, except for changes that the network may cause.
        FuzzySynAck = "fuzzy_syn_ack",
        /// A User-Agent or Server that names a system, without further support.
        Claim = "claim",
        /// A SYN or SYN+ACK that matches no better than signatures of last resort.
        Generic = "generic",
        /// A SYN or SYN+ACK of a middlebox, or of a device that answers for several servers; never decides.
        Middlebox = "middlebox",
        /// A forwarded head: evidence for a host behind this one; never decides.
        Forwarded = "forwarded",
        /// A User-Agent or Server that names a system, while the rest of the head does not match the named software; never
        /// decides.
        Forged = "forged",
    }
}

/// The observation behind a piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A SYN or SYN+ACK.
    Handshake {
        /// The segment: SYN or SYN+ACK.
        handshake: Handshake,
        /// The label of the signature that the segment matches.
        label: Arc<Label>,
        /// Whether the match is fuzzy.
        fuzzy: bool,
    },
    /// A User-Agent or Server header that names a system.
    Header {
        /// The kind of head: request (User-Agent) or response (Server).
        role: Role,
        /// The first 256 bytes of the header value.
        text: Box<[u8]>,
        /// Whether the rest of the head matches the software that the header names; `None` if unknown.
        honest: Option<bool>,
    },
    /// A request or response that only one system sends, or only software known to run on one system.
    Head {
        /// The kind of head: request or response.
        role: Role,
        /// The label of the signature that the head matches.
        label: Arc<Label>,
        /// What its User-Agent or Server header says about the software.
        claim: SoftwareClaim,
    },
    /// A ClientHello.
    TlsClient {
        /// The TLS library that sends such a hello.
        family: ClientFamily,
        /// The software that the hello names, as the event of the hello shows it.
        software: Option<Box<str>>,
        /// The JA4 fingerprint of the hello.
        ja4: Ja4,
    },
}

/// Two statements that cannot both be true of one host.
///
/// [`Display`] is a sentence: `TCP says Linux, User-Agent says Windows, 4 times: unexplained (NAT, a proxy or a forgery)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contradiction {
    /// The statement with the better grade.
    pub one: Statement,
    /// The contradicting statement.
    pub other: Statement,
    /// Number of connections or heads.
    pub count: u32,
    /// The likely cause.
    pub explanation: Explanation,
}

/// A text of a table of the program. Derives of serde would borrow a plain `&'static str` from their input.
pub(crate) type StaticText = &'static str;

/// Reads the source of a statement that conflicts with a handshake.
fn statement_source<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StaticText, D::Error> {
    let text = String::deserialize(deserializer)?;
    let source = ["User-Agent", "Server", "software", "TLS"].into_iter().find(|source| *source == text);
    source.ok_or_else(|| de::Error::custom(format_args!("no statement comes from {text:?}")))
}

/// A claim about the operating system, with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Statement {
    /// The source: `TCP`, `SYN`, `SYN+ACK`, `User-Agent`, `Server`, `software`, `TLS`.
    #[serde(deserialize_with = "statement_source")]
    pub who: StaticText,
    /// The system.
    pub says: Arc<str>,
    /// The text or software behind the claim, unless obvious: `iPhone` means `macOS or iOS`.
    pub by: Option<Arc<str>>,
}

/// The likely cause of a contradiction. Causes that an [`Outcome`] of a client names, too, have its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Explanation {
    /// Nothing shows the cause: NAT or a proxy opens its own connections, or a header is forged.
    Unexplained,
    /// The rest of the head does not match the software that the head names.
    Imitation,
    /// Several hosts have the address, simultaneously or in turn.
    SeveralHosts,
    /// Another host answers on forwarded ports.
    ForwardedPorts,
    /// A CDN or a load balancer ends the connections of servers with another system.
    LoadBalancer,
}

/// The systems that a [`Verdict`] names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Systems<'a> {
    /// The most likely system: the label of its best handshake if it has one as certain as the verdict, otherwise its bare name.
    One(SystemName<String>),
    /// The names of the systems that share the address, by descending count.
    Several(&'a [Arc<str>]),
    /// No evidence names a system.
    Unknown,
}

impl Verdict {
    /// The systems.
    pub fn systems(&self) -> Systems<'_> {
        match (self.several.is_empty(), self.system.as_deref()) {
            (false, _) => Systems::Several(&self.several),
            (true, Some(system)) => Systems::One(self.name(system)),
            (true, None) => Systems::Unknown,
        }
    }

    fn name(&self, system: &str) -> SystemName<String> {
        let is_as_certain = |grade: Grade| grade.is_firm_tcp() || self.fuzzy && grade.decides();
        let labels = || {
            self.evidence.iter().filter_map(|one| match &one.because {
                Cause::Handshake { label, .. } if *label.name == *system && is_as_certain(one.grade) => {
                    Some(label)
                }
                _ => None,
            })
        };
        // A handshake whose buffer a program set tells no version; another one may.
        let labelled = labels().find(|label| label.flavor.is_some()).or_else(|| labels().next());
        let name = labelled.map_or_else(|| system.to_owned(), |label| label.to_string());
        SystemName { name, fuzzy: self.fuzzy, generic: false }
    }
}

impl Grade {
    /// The grade of a handshake with this label; none if a user-space tool made it.
    pub(crate) fn from_handshake(label: &Label, fuzzy: bool, handshake: Handshake) -> Option<Self> {
        Some(match handshake {
            _ if label.is_tool() => return None,
            _ if is_middlebox(label) => Self::Middlebox,
            _ if label.generic => Self::Generic,
            Handshake::Syn if fuzzy => Self::Fuzzy,
            Handshake::SynAck if fuzzy => Self::FuzzySynAck,
            Handshake::Syn => Self::Syn,
            Handshake::SynAck => Self::SynAck,
        })
    }

    /// Whether the grade is an exact match of a handshake.
    pub(crate) fn is_firm_tcp(self) -> bool {
        self <= Self::SynAck
    }

    /// Whether a system that such evidence decides is `(fuzzy)`: a handshake that matches approximately, or a signature of last resort;
    /// a ClientHello, which programs on other systems imitate; and a header, into which anything can be typed.
    pub(crate) fn is_fuzzy(self) -> bool {
        match self {
            Self::Fuzzy | Self::TlsLibrary | Self::FuzzySynAck | Self::Claim | Self::Generic => true,
            Self::Syn | Self::SynAck | Self::Software | Self::Middlebox | Self::Forwarded | Self::Forged => {
                false
            }
        }
    }

    /// Whether evidence of this grade can decide a verdict.
    pub(crate) fn decides(self) -> bool {
        self <= Self::Generic
    }

    /// Whether evidence of this grade can contradict other evidence.
    pub(crate) fn contradicts(self) -> bool {
        !matches!(self, Self::Fuzzy | Self::FuzzySynAck) && self < Self::Generic
    }
}

impl Contradiction {
    /// Whether ordinary servers show it, so that it needs no attention: a CDN or load balancer explains it.
    pub fn is_expected(&self) -> bool {
        self.explanation == Explanation::LoadBalancer
    }
}

impl Explanation {
    /// The name of the explanation in JSON, such as `unexplained`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unexplained => Outcome::Unexplained.name(),
            Self::Imitation => Outcome::Imitation.name(),
            Self::SeveralHosts => "several_hosts",
            Self::ForwardedPorts => "forwarded_ports",
            Self::LoadBalancer => "load_balancer",
        }
    }
}

impl Evidence {
    /// The source of the evidence: `TCP`, `User-Agent`, `Server`, `software` or `TLS`.
    pub(crate) fn who(&self) -> &'static str {
        match &self.because {
            Cause::Handshake { .. } => "TCP",
            Cause::Header { role: Role::Request, .. } => "User-Agent",
            Cause::Header { role: Role::Response, .. } => "Server",
            Cause::Head { .. } => "software",
            Cause::TlsClient { .. } => "TLS",
        }
    }
}

impl Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { says, because, count, grade, .. } = self;
        write!(f, "{} says {says} (", self.who())?;
        let (one, several) = match because {
            Cause::Handshake { handshake, label, fuzzy } => {
                write!(f, "{label}")?;
                if label.generic {
                    f.write_str(", generic")?;
                }
                if *fuzzy {
                    f.write_str(", fuzzy")?;
                }
                match handshake {
                    Handshake::Syn => ("SYN", "SYNs"),
                    Handshake::SynAck => ("SYN+ACK", "SYN+ACKs"),
                }
            }
            Cause::Header { role, text, honest } => {
                Quoted(text).fmt(f)?;
                if *honest == Some(false) {
                    f.write_str(", dishonest")?;
                }
                head_nouns(*role)
            }
            Cause::Head { role, label, claim } => {
                SoftwareName { name: &**label, claim: *claim, role: *role, generic: label.generic }.fmt(f)?;
                head_nouns(*role)
            }
            Cause::TlsClient { family, software, ja4 } => {
                write!(f, "{}, {ja4}", software.as_deref().unwrap_or(family.name()))?;
                ("hello", "hellos")
            }
        };
        write!(f, ", {count} {}", if *count == 1 { one } else { several })?;
        f.write_str(if *grade == Grade::Forwarded { ", forwarded)" } else { ")" })
    }
}

/// The noun for heads of this role, singular and plural.
fn head_nouns(role: Role) -> (&'static str, &'static str) {
    match role {
        Role::Request => ("request", "requests"),
        Role::Response => ("response", "responses"),
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} says {}", self.who, self.says)?;
        match &self.by {
            Some(by) => write!(f, " ({by})"),
            None => Ok(()),
        }
    }
}

impl Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.one, self.other)?;
        if self.count > 1 {
            write!(f, ", {} times", self.count)?;
        }
        write!(f, ": {}", self.explanation)
    }
}

impl Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unexplained => "unexplained (NAT, a proxy or a forgery)",
            Self::Imitation => "imitation (the rest of the head is not that of such software)",
            Self::SeveralHosts => "NAT, or the address went to another host",
            Self::ForwardedPorts => "NAT that forwards ports, or a proxy",
            Self::LoadBalancer => "a CDN or a load balancer",
        })
    }
}
