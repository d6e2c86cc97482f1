//! Lint of signature files: valid but suspicious content.

use std::collections::{HashMap, HashSet};
use std::fmt;

use huginn_net_tcp::kind::{MSS, TIMESTAMP, WINDOW_SCALE};
use huginn_net_tcp::{Handshake, Mtu, Quirks};

use crate::{Database, HttpPattern, System, TcpPattern, WindowPattern};

/// A remark on a valid signature file.
///
/// [`Display`](fmt::Display) writes one sentence with the line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lint {
    /// Line of the finding, counted from 1.
    pub line: u32,
    /// The finding.
    pub remark: Remark,
}

/// A kind of suspicious content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// A signature that never matches exactly, because another one is always preferred. If p0f detects this too, it is
    /// [an error](crate::DatabaseError::Covered) instead.
    Unreachable {
        /// Line of the preferred signature.
        other: u32,
    },
    /// A signature that cannot match, because its fields contradict each other.
    Contradiction(SignatureContradiction),
    /// A repeated MTU.
    RepeatedMtu {
        /// The MTU.
        mtu: Mtu,
        /// Line of the first entry, which is used.
        earlier: u32,
    },
    /// A label without signatures.
    EmptyLabel,
    /// A tool with an empty `sys`.
    ToolWithoutSystems,
    /// A name in `sys` without a label of that system.
    UnknownSystem {
        /// The name.
        name: Box<str>,
    },
}

huginn_net_wire::named! {
    /// Fields of a signature that contradict each other.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum SignatureContradiction {
        /// A maximum segment size without its option.
        MssWithoutOption = "an MSS, but the layout has no mss",
        /// A window scale without its option.
        ScaleWithoutOption = "a window scale, but the layout has no ws",
        /// A multiple of the maximum segment size without its option.
        MultipleWithoutMss = "the window is a multiple, but the layout has no mss",
        /// `exws` with a scale up to 14, or a scale above 14 without `exws`.
        Scale = "exws goes with a scale over 14, and the other way round",
        /// `ts1-` or `ts2+` without the timestamp option.
        TimestampWithoutOption = "ts1- or ts2+, but the layout has no ts",
        /// `ts2+` on a SYN+ACK, where it is not a quirk.
        PeerTimestampOfSynAck = "ts2+ does not occur on a SYN+ACK",
        /// `opt+` without an end of the options and at least two bytes after it.
        NothingAfterEol = "opt+ needs eol+2 or more",
        /// `id+` without `df`, or `id-` with it.
        Id = "id+ goes with df, id- without",
        /// `ack+` on a SYN+ACK, or `ack-` on a SYN.
        Ack = "a SYN has no ack-, a SYN+ACK no ack+",
        /// `uptr+` with `urgf+`.
        Urgent = "uptr+ and urgf+ exclude each other",
        /// A header that is both required and forbidden.
        AbsentHeader = "a header that it asks for must be absent",
    }
}

impl Database {
    /// Returns remarks on valid but suspicious content, ordered by line.
    pub fn lint(&self) -> Vec<Lint> {
        let mut lints = Vec::new();
        for (index, handshake) in
            [(&self.tcp_request, Handshake::Syn), (&self.tcp_response, Handshake::SynAck)]
        {
            let unreachable = |(line, other)| Lint { line, remark: Remark::Unreachable { other } };
            lints.extend(index.covered().map(unreachable));
            let contradictory = index.entries.iter().filter_map(|entry| {
                let contradiction = contradiction(&entry.pattern, handshake)?;
                Some(Lint { line: entry.line, remark: Remark::Contradiction(contradiction) })
            });
            lints.extend(contradictory);
        }
        for index in [&self.http_request, &self.http_response] {
            let unreachable = |(line, other)| Lint { line, remark: Remark::Unreachable { other } };
            lints.extend(index.covered().map(unreachable));
            let contradictory = index.entries.iter().filter(|entry| is_contradictory(&entry.pattern));
            lints.extend(contradictory.map(|entry| Lint {
                line: entry.line,
                remark: Remark::Contradiction(SignatureContradiction::AbsentHeader),
            }));
        }
        self.lint_links(&mut lints);
        self.lint_labels(&mut lints);
        lints.sort_by_key(|lint| lint.line);
        lints
    }

    fn lint_links(&self, lints: &mut Vec<Lint>) {
        let mut first: HashMap<Mtu, u32> = HashMap::new();
        for link in &self.links {
            let earlier = *first.entry(link.mtu).or_insert(link.line);
            if earlier != link.line {
                lints.push(Lint { line: link.line, remark: Remark::RepeatedMtu { mtu: link.mtu, earlier } });
            }
        }
    }

    fn lint_labels(&self, lints: &mut Vec<Lint>) {
        let tcp = self.tcp_request().iter().chain(self.tcp_response()).map(|entry| entry.label.line);
        let http = self.http_request().iter().chain(self.http_response()).map(|entry| entry.label.line);
        let used: HashSet<u32> = tcp.chain(http).collect();
        let base_systems = self.base_systems.iter().map(AsRef::as_ref);
        let systems: HashSet<&str> = self.system_names().chain(base_systems).collect();
        for label in &self.labels {
            let mut remark = |remark| lints.push(Lint { line: label.line, remark });
            if !used.contains(&label.line) {
                remark(Remark::EmptyLabel);
            }
            if label.is_tool() && label.systems.is_empty() {
                remark(Remark::ToolWithoutSystems);
            }
            for system in &label.systems {
                match system {
                    System::Name(name) if !systems.contains(name.as_ref()) => {
                        remark(Remark::UnknownSystem { name: name.as_ref().into() });
                    }
                    _ => {}
                }
            }
        }
    }
}

fn contradiction(pattern: &TcpPattern, handshake: Handshake) -> Option<SignatureContradiction> {
    let quirks = pattern.quirks;
    let malformed = quirks.contains(Quirks::BAD);
    let has = |kind: u8| pattern.layout.kinds().contains(&kind);
    let is_multiple = matches!(pattern.window, WindowPattern::Multiple(_));
    let large_scale = pattern.scale.is_none_or(|scale| scale > 14);
    let small_scale = pattern.scale.is_none_or(|scale| scale <= 14);
    let stamps = Quirks::OWN_TIMESTAMP_ZERO | Quirks::PEER_TIMESTAMP_NONZERO;
    let ids = quirks & (Quirks::DF | Quirks::ID_NONZERO | Quirks::ID_ZERO);
    let other_ack = match handshake {
        Handshake::Syn => Quirks::ACK_ZERO,
        Handshake::SynAck => Quirks::ACK_NONZERO,
    };
    let checks = [
        (pattern.mss.is_some_and(|mss| mss != 0) && !has(MSS), SignatureContradiction::MssWithoutOption),
        (
            pattern.scale.is_some_and(|scale| scale != 0) && !has(WINDOW_SCALE),
            SignatureContradiction::ScaleWithoutOption,
        ),
        (is_multiple && !has(MSS), SignatureContradiction::MultipleWithoutMss),
        (
            if quirks.contains(Quirks::EXCESSIVE_SCALE) { !large_scale } else { !small_scale },
            SignatureContradiction::Scale,
        ),
        (quirks.intersects(stamps) && !has(TIMESTAMP), SignatureContradiction::TimestampWithoutOption),
        (
            handshake == Handshake::SynAck && quirks.contains(Quirks::PEER_TIMESTAMP_NONZERO),
            SignatureContradiction::PeerTimestampOfSynAck,
        ),
        (
            quirks.contains(Quirks::AFTER_EOL) && pattern.layout.eol_padding() < 2 && !malformed,
            SignatureContradiction::NothingAfterEol,
        ),
        // A signature for both versions also matches IPv6 packets, where these quirks do not apply.
        (
            pattern.version.is_some()
                && (ids == Quirks::ID_NONZERO || ids.contains(Quirks::DF | Quirks::ID_ZERO)),
            SignatureContradiction::Id,
        ),
        (quirks.intersects(other_ack), SignatureContradiction::Ack),
        (quirks.contains(Quirks::URG | Quirks::URGENT_NONZERO), SignatureContradiction::Urgent),
    ];
    checks.into_iter().find(|(holds, _)| *holds).map(|(_, contradiction)| contradiction)
}

fn is_contradictory(pattern: &HttpPattern) -> bool {
    let required = pattern.headers.iter().filter(|header| !header.optional);
    required.map(|header| &header.name).any(|name| pattern.absent.contains(name))
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.remark)
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { other } => {
                write!(
                    f,
                    "what fits the signature exactly fits the one in line {other} as well, which is preferred"
                )
            }
            Self::Contradiction(contradiction) => {
                write!(f, "no packet can match this signature: {contradiction}")
            }
            Self::RepeatedMtu { mtu, earlier } => {
                write!(f, "MTU {mtu} is listed in line {earlier}, which counts")
            }
            Self::EmptyLabel => f.write_str("the label has no signatures"),
            Self::ToolWithoutSystems => f.write_str("the label of class '!' lists no systems in sys"),
            Self::UnknownSystem { name } => write!(f, "sys: no label of a system is named '{name}'"),
        }
    }
}
