//! What a host most likely is, and what speaks for and against.

use std::fmt::{self, Display};
use std::sync::Arc;

use huginn_net_db::Label;
use huginn_net_http::Role;
use huginn_net_tcp::Handshake;
use huginn_net_tls::{ClientFamily, Ja4};

use super::stack::is_middlebox;
use huginn_net_core::Escaped;

/// What a host most likely is, with all that it is made of. [`HostProfile::verdict`](crate::hosts::HostProfile::verdict) makes it.
///
/// The evidence of the best [`Grade`] that there is decides; in it the system seen most often, of equals the one seen
/// first. Systems that TCP cannot tell apart (Android and Linux; macOS and iOS) are told apart by what HTTP says of them
/// most often. What ends connections for others (NAT of virtual machines, load balancers) is no system, but what the host
/// is behind. Where the address is shared and TCP tells several systems there is no most likely one, but several hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The most likely system, by its name in the database; absent if nothing tells one, or there are several.
    pub system: Option<Arc<str>>,
    /// The systems that share the address, if that was found and they were told; the one seen most often first.
    pub several: Vec<Arc<str>>,
    /// What answers in the place of the host: its handshakes tell nothing of the host. Absent where TCP tells a system.
    pub behind: Option<Arc<str>>,
    /// What was seen, from the best grade to the worst; what was seen more often before what was seen less often.
    pub evidence: Vec<Evidence>,
    /// Where layers do not agree.
    pub contradictions: Vec<Contradiction>,
}

/// Something that says which system a host is.
///
/// [`Display`] is a sentence: `TCP says Linux (Linux 4.20 or newer, 12 SYNs)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// The layer that it was seen in.
    pub layer: EvidenceLayer,
    /// The system.
    pub says: Arc<str>,
    /// What was seen.
    pub because: Cause,
    /// How often.
    pub count: u32,
    /// How much it weighs.
    pub grade: Grade,
    /// Whether it speaks for the verdict's system, or for one of several; it speaks against it otherwise, if it is not of
    /// a grade that never decides.
    pub supports: bool,
}

/// A layer of the network stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvidenceLayer {
    /// TCP/IP: the kernel speaks.
    Tcp,
    /// HTTP: software speaks, and says what it likes.
    Http,
    /// TLS: the library of the software speaks.
    Tls,
}

/// How much evidence weighs, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// A SYN that a signature of one system matches exactly.
    Syn,
    /// A SYN+ACK that does.
    SynAck,
    /// A SYN that does but for what the network may have changed.
    Fuzzy,
    /// A TLS library that is part of one system.
    TlsLibrary,
    /// A head that only software of one system sends, or one that names a system and is that of such software.
    Software,
    /// A SYN+ACK that a signature of one system matches but for what the network may have changed.
    FuzzySynAck,
    /// A User-Agent or Server that names a system; nothing else bears it out.
    Claim,
    /// A SYN or SYN+ACK that matches no better than signatures of last resort.
    Generic,
    /// A SYN or SYN+ACK of what answers in the place of a host: it never decides.
    Middlebox,
    /// A head that came by way of another: it tells of a host behind this one, and never decides.
    Forwarded,
    /// A User-Agent or Server that names a system, where the rest of the head is not that of such software: it never
    /// decides.
    Lie,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A SYN or SYN+ACK.
    Handshake {
        /// Which.
        handshake: Handshake,
        /// The label of the signature that it matches.
        label: Arc<Label>,
        /// Whether the match is fuzzy.
        fuzzy: bool,
    },
    /// A User-Agent or Server header that names a system.
    Header {
        /// Whether in a request or in a response.
        role: Role,
        /// Its first bytes.
        text: Box<[u8]>,
        /// Whether the rest of the head is that of such software, if that is known.
        honest: Option<bool>,
    },
    /// A request or response that is that of a system, or of software known to run on one system.
    Head {
        /// Which of both.
        role: Role,
        /// The label of the signature that it matches.
        label: Arc<Label>,
    },
    /// A ClientHello.
    TlsClient {
        /// Whose it is.
        family: ClientFamily,
        /// Its fingerprint.
        ja4: Ja4,
    },
}

/// Two statements that cannot both be true of one host.
///
/// [`Display`] is a sentence: `TCP says Linux, User-Agent says Windows, 4 times: NAT, proxy or a lie`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contradiction {
    /// The better founded one.
    pub one: Statement,
    /// The other.
    pub other: Statement,
    /// How often: connections or heads.
    pub count: u32,
    /// What explains it.
    pub explanation: Explanation,
}

/// Who says what.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statement {
    /// Who: `TCP`, `SYN`, `SYN+ACK`, `User-Agent`, `Server`, `software`, `TLS`.
    pub who: &'static str,
    /// The system.
    pub says: Arc<str>,
    /// By what, where it is not obvious: `iPhone` stands for `macOS or iOS`.
    pub by: Option<Arc<str>>,
}

/// What may be behind a contradiction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Explanation {
    /// Something between opens connections of its own, or the software does not say the truth.
    NatProxyOrLie,
    /// The rest of the head is not that of what it calls itself.
    Lie,
    /// Several hosts have the address, at a time or one after the other.
    SeveralHosts,
    /// Another host answers for it.
    ForwardedPorts,
}

impl Grade {
    /// The grade of a handshake with this label; none if a user-space tool made it.
    pub(super) fn from_handshake(label: &Label, fuzzy: bool, handshake: Handshake) -> Option<Self> {
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

    /// Whether it is that of a handshake that says firmly which system it is.
    pub(super) fn is_firm_tcp(self) -> bool {
        self <= Self::SynAck
    }

    /// Whether a verdict may be made of it.
    pub(super) fn decides(self) -> bool {
        self <= Self::Generic
    }

    /// Whether it is firm enough to contradict something.
    pub(super) fn contradicts(self) -> bool {
        !matches!(self, Self::Fuzzy | Self::FuzzySynAck) && self < Self::Generic
    }
}

impl Explanation {
    /// Its name in JSON: `nat_proxy_or_lie`.
    pub fn name(self) -> &'static str {
        match self {
            Self::NatProxyOrLie => "nat_proxy_or_lie",
            Self::Lie => "lie",
            Self::SeveralHosts => "several_hosts",
            Self::ForwardedPorts => "forwarded_ports",
        }
    }
}

impl Evidence {
    /// Who says it.
    pub(super) fn who(&self) -> &'static str {
        match &self.because {
            Cause::Handshake { .. } => "TCP",
            Cause::Header { role: Role::Request, .. } => "User-Agent",
            Cause::Header { role: Role::Response, .. } => "Server",
            Cause::Head { .. } => "software",
            Cause::TlsClient { .. } => "TLS",
        }
    }
}

/// Bytes of a header that a sentence quotes.
const QUOTED: usize = 80;

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
                let quoted = text.get(..QUOTED).unwrap_or(text);
                let rest = if quoted.len() < text.len() { "..." } else { "" };
                write!(f, "{:#}{rest}", Escaped(quoted))?;
                if *honest == Some(false) {
                    f.write_str(", dishonest")?;
                }
                heads(*role)
            }
            Cause::Head { role, label } => {
                write!(f, "{label}")?;
                heads(*role)
            }
            Cause::TlsClient { family, ja4 } => {
                write!(f, "{family}, {ja4}")?;
                ("hello", "hellos")
            }
        };
        write!(f, ", {count} {}", if *count == 1 { one } else { several })?;
        f.write_str(if *grade == Grade::Forwarded { ", forwarded)" } else { ")" })
    }
}

/// What heads are called, one and several.
fn heads(role: Role) -> (&'static str, &'static str) {
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
            Self::NatProxyOrLie => "NAT, proxy or a lie",
            Self::Lie => "a lie, for the rest of the head is not that of such software",
            Self::SeveralHosts => "NAT, or the address went to another host",
            Self::ForwardedPorts => "NAT that forwards ports, or a proxy",
        })
    }
}

impl Display for EvidenceLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Http => "http",
            Self::Tls => "tls",
        })
    }
}

impl Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syn => "syn",
            Self::SynAck => "syn_ack",
            Self::Fuzzy => "fuzzy",
            Self::TlsLibrary => "tls_library",
            Self::Software => "software",
            Self::FuzzySynAck => "fuzzy_syn_ack",
            Self::Claim => "claim",
            Self::Generic => "generic",
            Self::Middlebox => "middlebox",
            Self::Forwarded => "forwarded",
            Self::Lie => "lie",
        })
    }
}
