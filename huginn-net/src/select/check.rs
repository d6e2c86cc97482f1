//! Checks of one value.

use std::cmp::Ordering;
use std::net::IpAddr;

use huginn_net_core::{IpNet, Timestamp};

use crate::parse_time::parse_time;
use crate::record::ValueType;

/// What a field must be.
#[derive(Clone, Debug)]
pub(super) enum Check {
    /// There is a value.
    Present,
    /// The comparison with a value holds.
    Compare(Comparison, Operand),
    /// Equal to one of the values, or in one of the networks.
    In(Vec<Operand>),
    /// The text matches.
    Like(Pattern),
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A value of a condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Text(String),
    /// A text that is a time.
    Time(Timestamp),
    Integer(u64),
    Float(f64),
    Bool(bool),
    Network(IpNet),
}

/// A value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Text(&'a str),
    Time(Timestamp),
    /// A time in seconds since the Unix epoch.
    Seconds(i64),
    Integer(u64),
    Float(f64),
    Bool(bool),
}

impl Check {
    /// Reads texts as times if the values of the field are times. `None` if values of the type cannot be checked.
    pub(super) fn of_type(&self, value_type: ValueType) -> Option<Self> {
        let typed = |operand: &Operand| operand.of_type(value_type);
        match self {
            Self::Present => Some(Self::Present),
            Self::Compare(comparison, operand) => {
                let is_ordered = *comparison == Comparison::Equal
                    || !matches!(operand, Operand::Bool(_) | Operand::Network(_));
                typed(operand).filter(|_| is_ordered).map(|operand| Self::Compare(*comparison, operand))
            }
            Self::In(operands) => operands.iter().map(typed).collect::<Option<Vec<_>>>().map(Self::In),
            Self::Like(pattern) => {
                matches!(element(value_type), ValueType::Text).then(|| Self::Like(pattern.clone()))
            }
        }
    }

    /// The check of a field of addresses: texts are addresses and networks. `None` if one is neither.
    pub(super) fn of_addresses(self) -> Option<Self> {
        let typed = |operand: Operand| match operand {
            Operand::Text(text) => network(&text).map(Operand::Network),
            other => Some(other),
        };
        Some(match self {
            Self::Compare(Comparison::Equal, operand) => Self::Compare(Comparison::Equal, typed(operand)?),
            Self::In(operands) => Self::In(operands.into_iter().map(typed).collect::<Option<Vec<_>>>()?),
            // Texts would be compared by their bytes: 10.0.0.9 would follow 10.0.0.10.
            Self::Compare(..) => return None,
            other => other,
        })
    }

    /// The number of operands.
    pub(super) fn operands(&self) -> usize {
        match self {
            Self::Present => 0,
            Self::Compare(..) | Self::Like(_) => 1,
            Self::In(operands) => operands.len(),
        }
    }

    /// Whether the order of values decides.
    pub(super) fn is_ordered(&self) -> bool {
        matches!(self, Self::Compare(comparison, _) if *comparison != Comparison::Equal)
    }

    /// The texts that the value may be equal to.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let operands = match self {
            Self::Compare(_, operand) => std::slice::from_ref(operand),
            Self::In(operands) => operands,
            Self::Present | Self::Like(_) => &[],
        };
        operands.iter().filter_map(|operand| match operand {
            Operand::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Whether a value is as it must be.
    pub(super) fn holds(&self, value: Value<'_>) -> bool {
        match self {
            Self::Present => true,
            Self::Compare(comparison, operand) => {
                operand.order(value).is_some_and(|order| comparison.holds(order))
            }
            Self::In(operands) => {
                operands.iter().any(|operand| operand.order(value) == Some(Ordering::Equal))
            }
            Self::Like(pattern) => matches!(value, Value::Text(text) if pattern.matches(text)),
        }
    }
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// The type of the elements of a list, or that of the value itself.
pub(super) fn element(value_type: ValueType) -> ValueType {
    match value_type {
        ValueType::List(of) => element(*of),
        other => other,
    }
}

impl Operand {
    fn of_type(&self, value_type: ValueType) -> Option<Self> {
        match (self, element(value_type)) {
            (Self::Text(_) | Self::Network(_), ValueType::Text)
            | (Self::Integer(_) | Self::Float(_), ValueType::Integer { .. } | ValueType::Float)
            | (Self::Bool(_), ValueType::Bool) => Some(self.clone()),
            (Self::Text(text), ValueType::Time) => parse_time(text).map(Self::Time),
            _ => None,
        }
    }

    /// The order of a value beside this one. A network contains its addresses: they are equal.
    fn order(&self, value: Value<'_>) -> Option<Ordering> {
        #[expect(clippy::cast_precision_loss, reason = "a comparison with a fraction")]
        match (value, self) {
            (Value::Text(text), Self::Text(other)) => Some(text.cmp(other.as_str())),
            (Value::Text(text), Self::Network(network)) => {
                let address: IpAddr = text.parse().ok()?;
                network.contains(&address).then_some(Ordering::Equal)
            }
            (Value::Time(ts), Self::Time(other)) => Some(ts.as_nanos().cmp(&other.as_nanos())),
            (Value::Seconds(seconds), Self::Time(other)) => {
                Some(i128::from(seconds).saturating_mul(1_000_000_000).cmp(&other.as_nanos().into()))
            }
            (Value::Integer(number), Self::Integer(other)) => Some(number.cmp(other)),
            (Value::Integer(number), Self::Float(other)) => (number as f64).partial_cmp(other),
            (Value::Float(number), Self::Integer(other)) => number.partial_cmp(&(*other as f64)),
            (Value::Float(number), Self::Float(other)) => number.partial_cmp(other),
            (Value::Bool(value), Self::Bool(other)) => Some(value.cmp(other)),
            _ => None,
        }
    }
}

/// Reads a network in CIDR notation, or an address.
pub(super) fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// A pattern of texts: parts that follow each other, with anything between them.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// The parts in lower case; the text starts with the first one and ends with the last one.
    parts: Vec<String>,
}

impl Pattern {
    /// A pattern with `*`, or a part of the text.
    pub(crate) fn new(pattern: &str) -> Self {
        let lower = pattern.to_ascii_lowercase();
        let whole = if lower.contains('*') { lower } else { format!("*{lower}*") };
        Self { parts: whole.split('*').map(str::to_owned).collect() }
    }

    /// Texts that contain this one.
    pub(super) fn containing(text: &str) -> Self {
        Self { parts: vec![String::new(), text.to_ascii_lowercase(), String::new()] }
    }

    /// Whether all bytes of the parts are of a kind.
    pub(super) fn consists_of(&self, is_of_kind: impl Fn(u8) -> bool) -> bool {
        self.parts.iter().flat_map(|part| part.bytes()).all(is_of_kind)
    }

    /// Whether a text is a regular expression rather than a pattern: no value has these parts.
    pub(super) fn is_regular_expression(pattern: &str) -> bool {
        const PARTS: [&str; 8] = ["\\.", "\\d", "\\w", "\\s", "\\b", "[a-z", "[0-9", "(?"];
        pattern.starts_with(['^'])
            || pattern.starts_with(".*")
            || pattern.ends_with('$')
            || PARTS.iter().any(|part| pattern.contains(part))
    }

    /// The pattern as it is written with `*`.
    pub(super) fn written(&self) -> String {
        self.parts.join("*")
    }

    /// Whether a text matches. Each byte is examined once for each part that follows it.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        let [first, others @ .., last] = &*self.parts else { return false };
        let Some(mut rest) =
            lower.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()))
        else {
            return false;
        };
        others.iter().all(|part| {
            let behind = rest.split_once(part.as_str()).map(|(_, behind)| behind);
            rest = behind.unwrap_or_default();
            behind.is_some()
        })
    }
}
