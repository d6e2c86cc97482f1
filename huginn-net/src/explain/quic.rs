//! QUIC fingerprints (docs/quic-fingerprint.md).

use std::fmt::Write as _;
use std::io::{self, Write};
use std::str::FromStr;

use huginn_net_tls::{names, transport_parameter_id as id};

use super::FingerprintError;

/// A QUIC fingerprint in either form, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QuicText {
    version: String,
    items: Vec<Item>,
}

/// A part of a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Parameter {
        id: u64,
        value: Value,
    },
    /// `g`
    Reserved,
    /// `+`: more than 64 parameters.
    More,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    /// No value.
    Empty,
    /// `*`: left out, of this length.
    Left(Option<u64>),
    Integer(u64),
    /// Versions, and whether there are more.
    Versions(Vec<String>, bool),
    /// `x`: hexadecimal digits, and the length of a longer value.
    Bytes(String, Option<u64>),
}

/// Whether a text has the bar and the version of a QUIC fingerprint.
pub(super) fn is_quic(text: &str) -> bool {
    text.split_once('|').is_some_and(|(version, items)| is_version(version) && !items.contains('|'))
}

fn is_version(text: &str) -> bool {
    let is_hex =
        |digits: &str| digits.len() == 8 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    matches!(text, "1" | "2" | "g")
        || text.strip_prefix("0x").is_some_and(is_hex)
        || text
            .strip_prefix("draft-")
            .is_some_and(|number| decimal(number).is_some_and(|number| number < 256))
}

/// An integer without leading zeros or sign.
fn decimal(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok().filter(|number| format!("{number:x}") == text)
}

impl FromStr for QuicText {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let (version, items) = text.split_once('|').ok_or(FingerprintError::Unknown)?;
        let items = items.split(';').filter(|_| !items.is_empty());
        let parsed =
            items.map(|item| Item::parse(item).ok_or_else(|| FingerprintError::Quic(item.to_owned())));
        Ok(Self { version: version.to_owned(), items: parsed.collect::<Result<_, _>>()? })
    }
}

impl Item {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "g" => return Some(Self::Reserved),
            "+" => return Some(Self::More),
            _ => {}
        }
        let length = |text: &str| if text.is_empty() { Some(None) } else { decimal(text).map(Some) };
        let (number, value) = match text.find([':', '*']).and_then(|at| text.split_at_checked(at)) {
            None => (text, Value::Empty),
            Some((number, rest)) => {
                let value = match rest.strip_prefix('*') {
                    Some(rest) => Value::Left(length(rest)?),
                    None => Value::parse(rest.get(1..)?)?,
                };
                (number, value)
            }
        };
        Some(Self::Parameter { id: hexadecimal(number)?, value })
    }
}

impl Value {
    fn parse(text: &str) -> Option<Self> {
        if let Some(digits) = text.strip_prefix('x') {
            let (digits, len) = match digits.split_once('*') {
                Some((digits, len)) => (digits, Some(decimal(len)?)),
                None => (digits, None),
            };
            let is_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            return (is_hex && !digits.is_empty() && digits.len() % 2 == 0)
                .then(|| Self::Bytes(digits.to_owned(), len));
        }
        if let Some(number) = decimal(text) {
            return Some(Self::Integer(number));
        }
        let (versions, has_more) = match text.strip_suffix(",+") {
            Some(versions) => (versions, true),
            None => (text, false),
        };
        let versions: Vec<String> = versions.split(',').map(str::to_owned).collect();
        versions.iter().all(|version| is_version(version)).then_some(Self::Versions(versions, has_more))
    }
}

impl QuicText {
    /// The sorted form, which is equal for all connections of a client with the same settings.
    fn sorted(&self) -> String {
        let mut parameters: Vec<_> = self.items.iter().filter_map(Item::sorted).collect();
        parameters.sort_by_key(|(id, _)| *id);
        let mut texts: Vec<_> = parameters.into_iter().map(|(_, text)| text).collect();
        texts.extend(
            [(Item::Reserved, "g"), (Item::More, "+")]
                .into_iter()
                .filter_map(|(item, text)| self.items.contains(&item).then(|| text.to_owned())),
        );
        format!("{}|{}", self.version, texts.join(";"))
    }

    /// Writes what the fingerprint is made of.
    pub(super) fn describe(&self, out: &mut impl Write, text: &str) -> io::Result<()> {
        writeln!(out, "QUIC fingerprint of a client")?;
        writeln!(out, "{:<14}{}", self.version, version_name(&self.version))?;
        let parameters = self.items.iter().filter(|item| !matches!(item, Item::More)).count();
        writeln!(out, "\n{parameters} transport parameters")?;
        for item in &self.items {
            match item {
                Item::Parameter { id, value } => {
                    let name = names::transport_parameter(*id).unwrap_or("unknown");
                    writeln!(out, "  {id:<12x}{name}{}", value.text(*id))?;
                }
                Item::Reserved => writeln!(out, "  {:<12}reserved, to be ignored (GREASE)", "g")?,
                Item::More => writeln!(out, "  {:<12}more than 64 parameters", "+")?,
            }
        }
        let sorted = self.sorted();
        if sorted == text {
            writeln!(out, "\nThis is the sorted form, which does not depend on the order of the hello.")
        } else {
            writeln!(out, "\nThis is the order of the hello.")?;
            writeln!(out, "sorted        {sorted}")
        }
    }
}

impl Item {
    /// The id and the text of a parameter in the sorted form, which has no `initial_rtt`.
    fn sorted(&self) -> Option<(u64, String)> {
        match self {
            Self::Parameter { id, value } if *id != id::INITIAL_RTT => {
                Some((*id, format!("{id:x}{}", value.sorted())))
            }
            _ => None,
        }
    }
}

impl Value {
    /// The value as in a fingerprint, with the available versions in the sorted form.
    fn sorted(&self) -> String {
        let length = |len: &Option<u64>| len.map(|len| len.to_string()).unwrap_or_default();
        match self {
            Self::Empty => String::new(),
            Self::Left(len) => format!("*{}", length(len)),
            Self::Integer(number) => format!(":{number}"),
            Self::Versions(versions, has_more) => {
                let (chosen, available) =
                    versions.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
                let mut text = format!(":{chosen}");
                for version in available.iter().filter(|version| *version != "g") {
                    let _ = write!(text, ",{version}");
                }
                text.push_str(if available.iter().any(|version| version == "g") { ",g" } else { "" });
                text.push_str(if *has_more { ",+" } else { "" });
                text
            }
            Self::Bytes(digits, None) => format!(":x{digits}"),
            Self::Bytes(digits, Some(len)) => format!(":x{digits}*{len}"),
        }
    }

    /// The value in words, after the name of the parameter.
    fn text(&self, parameter: u64) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Left(Some(len)) => format!(": {len} bytes, whose content is left out"),
            Self::Left(None) => ": a value that varies by connection".to_owned(),
            Self::Integer(number) if parameter == id::VERSION_INFORMATION => {
                format!(": version {number} chosen")
            }
            Self::Integer(number) => format!(": {number}{}", unit(parameter)),
            Self::Versions(versions, has_more) => {
                let (chosen, available) =
                    versions.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
                let names =
                    |version: &str| if version == "g" { "reserved".to_owned() } else { version.to_owned() };
                let available: Vec<_> = available.iter().map(|version| names(version)).collect();
                let more = if *has_more { " and more" } else { "" };
                format!(": version {} chosen, available: {}{more}", names(chosen), available.join(", "))
            }
            Self::Bytes(digits, len) => {
                let more = len.map(|len| format!("..., {len} bytes")).unwrap_or_default();
                match ascii(digits) {
                    Some(text) => format!(": {digits}{more} ({text})"),
                    None => format!(": {digits}{more}"),
                }
            }
        }
    }
}

/// The bytes as text, if they are printable.
fn ascii(digits: &str) -> Option<String> {
    let (pairs, _) = digits.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    let text = String::from_utf8(bytes.collect::<Option<_>>()?).ok()?;
    text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ').then_some(text)
}

/// The unit of an integer (RFC 9000, section 18.2; RFC 9221; draft-ietf-quic-ack-frequency).
const fn unit(parameter: u64) -> &'static str {
    match parameter {
        id::MAX_IDLE_TIMEOUT | id::MAX_ACK_DELAY => " ms",
        id::MAX_UDP_PAYLOAD_SIZE | id::MAX_DATAGRAM_FRAME_SIZE => " bytes",
        id::INITIAL_MAX_DATA..=id::INITIAL_MAX_STREAM_DATA_UNI => " bytes",
        id::INITIAL_MAX_STREAMS_BIDI | id::INITIAL_MAX_STREAMS_UNI => " streams",
        id::ACTIVE_CONNECTION_ID_LIMIT => " connection ids",
        id::MIN_ACK_DELAY_02 | id::MIN_ACK_DELAY_03 | id::MIN_ACK_DELAY => " µs",
        _ => "",
    }
}

fn version_name(version: &str) -> String {
    match version {
        "1" => "QUIC version 1 (RFC 9000)".to_owned(),
        "2" => "QUIC version 2 (RFC 9369)".to_owned(),
        "g" => "a reserved version, to force version negotiation (RFC 9000, section 15)".to_owned(),
        draft if draft.starts_with('d') => "a draft of QUIC version 1".to_owned(),
        _ => "a version without a name here".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All fingerprints of the vectors, which come from captures and from edge cases of the specification.
    #[test]
    fn sorted_form_is_that_of_the_vectors() {
        let vectors = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/quic-vectors.jsonl"));
        let mut count = 0;
        for line in vectors.lines() {
            let vector: serde_json::Value = serde_json::from_str(line).unwrap();
            let [original, sorted] = ["original", "sorted"].map(|form| vector[form].as_str().unwrap());
            assert!(is_quic(original) && is_quic(sorted), "{original}");
            assert_eq!(original.parse::<QuicText>().unwrap().sorted(), sorted, "{}", vector["name"]);
            let parsed: QuicText = sorted.parse().unwrap();
            assert_eq!(parsed.sorted(), sorted);
            let mut text = Vec::new();
            parsed.describe(&mut text, sorted).unwrap();
            assert!(String::from_utf8(text).unwrap().contains("This is the sorted form"), "{sorted}");
            count += 1;
        }
        assert!(count > 10, "{count} vectors");
    }

    #[test]
    fn malformed_items_are_named() {
        for (text, wrong) in [
            ("1|4:5;4:", "4:"),
            ("1|04:5", "04:5"),
            ("1|4:x0", "4:x0"),
            ("2|;", ""),
            ("1|f*-1", "f*-1"),
            ("1|11:1,9", "11:1,9"),
            ("1|4:5;é", "é"),
        ] {
            assert!(is_quic(text));
            match text.parse::<QuicText>() {
                Err(FingerprintError::Quic(item)) => assert_eq!(item, wrong),
                other => panic!("{text}: {other:?}"),
            }
        }
        for text in ["3|4:5", "1:Host|", "4|1", "draft-256|", "1|2|3", "0x1a2a3a4|"] {
            assert!(!is_quic(text), "{text}");
        }
    }
}
