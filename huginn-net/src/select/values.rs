//! The values that fields can have, where not any value of their type is one.

use std::fmt;

use huginn_net_core::{Conflict, Joined, TransportKind};
use huginn_net_db::MatchKind;
use huginn_net_http::HttpVersion;
use huginn_net_tls::{Resumption, Transport};

use super::check::{Check, Comparison, Operand, Pattern};
use crate::alert::FINDING_NAMES;
use crate::observation::REASON_NAMES;
use crate::observation::finding::{FINDING_TYPES, is_digits};
use crate::record::{EVENT_NAMES, ValueType};

/// The values that a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Any of its type.
    Any,
    /// These texts.
    Names(&'static [&'static str]),
    /// Names of TLS versions, or four hexadecimal digits of others.
    Versions,
    /// This number of hexadecimal digits in lower case.
    Digits(usize),
    /// Texts of the form of JA4.
    Ja4,
    /// True; there is no value otherwise.
    True,
    /// Integers up to this one.
    UpTo(u64),
}

const SIDES: &[&str] = &["client", "server"];
const TLS_VERSIONS: &[&str] = &["13", "12", "11", "10", "s3", "s2", "d1", "d2", "d3", "00"];
const OUTCOMES: &[&str] = &["imitation", "unexplained", "proxy"];
const LIST_TYPES: &[&str] = &[
    "ja4",
    "ja4_stable",
    "ja4_r",
    "ja3_hash",
    "ja3s_hash",
    "hassh",
    "hassh_server",
    "akamai_hash",
    "sig",
    "host",
    "certificate_sha256",
    "certificate_sha1",
    "ip",
    "user_agent",
];

impl Values {
    /// The values of a field in a kind of event.
    pub(super) fn of_field(event: &str, path: &str, value_type: ValueType) -> Self {
        match (path, event) {
            ("event" | "matched_event", _) => Self::Names(EVENT_NAMES),
            ("finding", _) => Self::Names(FINDING_NAMES.as_slice()),
            ("severity", _) => Self::Names(&["low", "medium", "high"]),
            ("subject" | "alerts.sender", _) => Self::Names(SIDES),
            ("conflict", _) => Self::Names(Conflict::NAMES),
            ("transport", _) => Self::Names(TransportKind::NAMES),
            ("protocol", _) => Self::Names(Transport::NAMES),
            ("version", "http_request" | "http_response") => Self::Names(HttpVersion::NAMES),
            ("version" | "tls_version", _) => Self::Names(TLS_VERSIONS),
            ("supported_versions", _) => Self::Versions,
            ("reasons", "host_change" | "ip_sharing") => Self::Names(&REASON_NAMES),
            ("outcome" | "mismatch", _) => Self::Names(OUTCOMES),
            ("scanned", _) => Self::Names(&["ports", "hosts"]),
            ("type", "finding") => Self::Names(&FINDING_TYPES),
            ("type", "match") => Self::Names(LIST_TYPES),
            ("resumed", _) => Self::Names(Resumption::NAMES),
            ("guess", _) => Self::Names(&["right", "wrong"]),
            ("ech.type", _) => Self::Names(&["outer", "inner", "other"]),
            ("software.match", _) => Self::Names(MatchKind::NAMES),
            ("software.imitates", _) => Self::Names(&["Chromium", "Firefox"]),
            ("cipher", _) => Self::Digits(4),
            ("ja3_hash" | "ja3s_hash" | "hassh" | "hassh_server" | "akamai_hash", _) => Self::Digits(32),
            ("certificates.sha1", _) => Self::Digits(40),
            ("certificates.sha256" | "certificate_sha256", _) => Self::Digits(64),
            ("ja4" | "ja4_o" | "ja4_stable" | "software.nearest.ja4_stable", _) => Self::Ja4,
            ("decrypted" | "head_cut" | "early_data", _) => Self::True,
            _ => match value_type {
                ValueType::Integer { bits } => Self::UpTo(u64::MAX >> 64_u32.saturating_sub(bits).min(63)),
                _ => Self::Any,
            },
        }
    }

    /// Whether the values are texts of a form of their own.
    pub(super) fn are_texts(self) -> bool {
        matches!(self, Self::Names(_) | Self::Versions | Self::Digits(_) | Self::Ja4)
    }

    /// Whether one value is less than another.
    pub(super) fn has_order(self) -> bool {
        matches!(self, Self::Any | Self::UpTo(_))
    }

    /// Whether a comparison with an operand can hold for one of the values.
    pub(super) fn allow(self, comparison: Comparison, operand: &Operand) -> bool {
        match (self, operand) {
            (Self::Any, _) => true,
            (Self::True, operand) => *operand == Operand::Bool(true),
            (Self::UpTo(max), Operand::Integer(number)) => match comparison {
                Comparison::Equal | Comparison::GreaterOrEqual => *number <= max,
                Comparison::Greater => *number < max,
                Comparison::Less => *number > 0,
                Comparison::LessOrEqual => true,
            },
            (Self::UpTo(_), Operand::Float(number)) => {
                comparison != Comparison::Equal || number.fract() == 0.0
            }
            (Self::Names(names), Operand::Text(text)) => names.contains(&text.as_str()),
            (Self::Versions, Operand::Text(text)) => {
                TLS_VERSIONS.contains(&text.as_str()) || is_digits(text, 4)
            }
            (Self::Digits(count), Operand::Text(text)) => is_digits(text, count),
            (Self::Ja4, Operand::Text(text)) => {
                text.parse::<huginn_net_tls::Ja4>().is_ok_and(|ja4| ja4.to_string() == *text)
            }
            _ => false,
        }
    }

    /// Whether a pattern can match one of the values.
    pub(super) fn allow_pattern(self, pattern: &Pattern) -> bool {
        match self {
            Self::Names(names) => names.iter().any(|name| pattern.matches(name)),
            Self::Versions => pattern.consists_of(|byte| byte.is_ascii_hexdigit() || byte == b's'),
            Self::Digits(_) => pattern.consists_of(|byte| byte.is_ascii_hexdigit()),
            Self::Ja4 => pattern.consists_of(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
            Self::Any | Self::True | Self::UpTo(_) => true,
        }
    }
}

/// What the values look like, after `it is`.
impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = |names: &[&str]| write!(f, "written '{}'", Joined(names, "', '"));
        match self {
            Self::Any => f.write_str("any value"),
            Self::Names(known) => names(known),
            Self::Versions => names(TLS_VERSIONS),
            Self::Digits(count) => write!(f, "written as {count} hexadecimal digits in lower case"),
            Self::Ja4 => f.write_str("written as in 't13d1516h2_8daaf6152771_02713d6af862'"),
            Self::True => f.write_str("true or has no value: compare it with true or null"),
            Self::UpTo(max) => write!(f, "a whole number up to {max}"),
        }
    }
}

impl Check {
    /// Leaves out the operands with which no value can agree; `None` if none is left. Sets the flags of the others.
    pub(super) fn narrowed(self, values: Values, can_hold: &mut [bool]) -> Option<Self> {
        let allow = |comparison, operand: &Operand| values.allow(comparison, operand);
        match self {
            Self::Present => Some(Self::Present),
            Self::Compare(comparison, operand) => {
                let is_allowed = allow(comparison, &operand);
                can_hold.iter_mut().for_each(|flag| *flag |= is_allowed);
                is_allowed.then_some(Self::Compare(comparison, operand))
            }
            Self::In(operands) => {
                let mut left = Vec::new();
                for (operand, flag) in operands.into_iter().zip(can_hold) {
                    if allow(Comparison::Equal, &operand) {
                        *flag = true;
                        left.push(operand);
                    }
                }
                (!left.is_empty()).then_some(Self::In(left))
            }
            Self::Like(pattern) => {
                let is_allowed = values.allow_pattern(&pattern);
                can_hold.iter_mut().for_each(|flag| *flag |= is_allowed);
                is_allowed.then_some(Self::Like(pattern))
            }
        }
    }

    /// The operands as they are written, or the pattern.
    pub(super) fn written(&self) -> Vec<String> {
        match self {
            Self::Present => Vec::new(),
            Self::Compare(_, operand) => vec![operand.to_string()],
            Self::In(operands) => operands.iter().map(Operand::to_string).collect(),
            Self::Like(pattern) => vec![format!("'{}'", pattern.written())],
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Time(time) => write!(f, "'{time}'"),
            Self::Integer(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::Network(network) => network.fmt(f),
        }
    }
}
