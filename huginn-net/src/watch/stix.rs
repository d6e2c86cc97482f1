//! Reads STIX 2.1 bundles: the indicators whose pattern compares single values.
//!
//! OASIS STIX Version 2.1, section 9 (patterning).

use std::net::IpAddr;

use serde_json::Value as Json;

use super::documents::push;
use super::error::WatchListFault;
use super::rows::Rows;
use super::value::Declared;
use crate::observation::IndicatorType;

/// Whether a document is a bundle.
pub(super) fn is_bundle(document: &Json) -> bool {
    document.get("type").is_some_and(|kind| kind == "bundle")
}

/// Reads the indicators of a bundle. Returns whether it is one.
pub(super) fn read(rows: &mut Rows, bundle: &Json) -> Result<bool, WatchListFault> {
    let objects = bundle.get("objects").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    for object in objects.iter().filter(|object| object.get("type").is_some_and(|kind| kind == "indicator")) {
        let text = |name| object.get(name).and_then(Json::as_str);
        if object.get("revoked").is_some_and(|revoked| *revoked == true) {
            rows.excluded = rows.excluded.saturating_add(1);
            continue;
        }
        let is_stix = text("pattern_type").is_none_or(|kind| kind == "stix");
        let comparisons = text("pattern").filter(|_| is_stix).and_then(comparisons);
        let Some(comparisons) = comparisons else {
            rows.foreign = rows.foreign.saturating_add(1);
            continue;
        };
        let label = text("name").or_else(|| text("description")).or_else(|| text("id")).unwrap_or_default();
        for Found { declared, value, port } in comparisons {
            push(rows, declared, &value, port.as_deref(), label)?;
        }
    }
    Ok(true)
}

/// A value of a pattern, perhaps with the port of an address.
struct Found {
    declared: Declared,
    value: String,
    port: Option<String>,
}

/// Parentheses in each other.
const MAX_DEPTH: usize = 16;

/// The values of a pattern that compares each of them alone, or an address with its port: `[a = 'x' OR b = 'y'] OR [c IN ('z')]`. `None`
/// for any other.
fn comparisons(pattern: &str) -> Option<Vec<Found>> {
    let mut tokens = Tokens(pattern);
    let mut found = Vec::new();
    loop {
        tokens.take("[")?;
        found.extend(any(&mut tokens, 0)?.values()?);
        tokens.take("]")?;
        if tokens.word("OR").is_none() {
            break;
        }
    }
    tokens.0.trim().is_empty().then_some(found)
}

/// A part of a comparison expression.
enum Part {
    /// One of the values. `side`: that of the connection whose addresses they are.
    Values { values: Vec<Found>, side: Option<Side> },
    /// The port of a side.
    Port(Side, String),
    /// The kind of an address, which its value has, too.
    Kind,
}

/// A side of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
}

impl Part {
    fn values(self) -> Option<Vec<Found>> {
        match self {
            Self::Values { values, .. } => Some(values),
            Self::Port(..) | Self::Kind => None,
        }
    }

    /// The values that fulfil both parts: those of one, or addresses with a port.
    fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Kind, part) | (part, Self::Kind) => Some(part),
            (Self::Values { mut values, side: Some(side) }, Self::Port(of, port))
            | (Self::Port(of, port), Self::Values { mut values, side: Some(side) }) => {
                let has_port = |found: &Found| found.port.is_some() || found.value.parse::<IpAddr>().is_err();
                if side != of || values.iter().any(has_port) {
                    return None;
                }
                values.iter_mut().for_each(|found| found.port = Some(port.clone()));
                Some(Self::Values { values, side: Some(side) })
            }
            _ => None,
        }
    }

    /// The values that fulfil one of the parts.
    fn or(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Values { mut values, side }, Self::Values { values: more, side: other }) => {
                values.extend(more);
                Some(Self::Values { values, side: side.filter(|side| Some(*side) == other) })
            }
            _ => None,
        }
    }
}

/// `P OR P …`, where `AND` binds before `OR`.
fn any(tokens: &mut Tokens<'_>, depth: usize) -> Option<Part> {
    let mut part = all(tokens, depth)?;
    while tokens.word("OR").is_some() {
        part = part.or(all(tokens, depth)?)?;
    }
    Some(part)
}

/// `P AND P …`
fn all(tokens: &mut Tokens<'_>, depth: usize) -> Option<Part> {
    let mut part = one(tokens, depth)?;
    while tokens.word("AND").is_some() {
        part = part.and(one(tokens, depth)?)?;
    }
    Some(part)
}

/// `(P)` or a comparison.
fn one(tokens: &mut Tokens<'_>, depth: usize) -> Option<Part> {
    if depth < MAX_DEPTH && tokens.take("(").is_some() {
        let part = any(tokens, depth.saturating_add(1))?;
        tokens.take(")")?;
        return Some(part);
    }
    let path = tokens.path()?;
    let path: String = path.chars().filter(|character| !['\'', '"'].contains(character)).collect();
    let path = path.to_ascii_lowercase();
    let of_port = match &*path {
        "network-traffic:src_port" => Some(Side::Source),
        "network-traffic:dst_port" => Some(Side::Destination),
        _ => None,
    };
    if let Some(side) = of_port {
        tokens.take("=")?;
        let port = tokens.text().or_else(|| tokens.number())?;
        return port.parse::<u16>().is_ok().then_some(Part::Port(side, port));
    }
    let side = match &*path {
        "network-traffic:src_ref.value" => Some(Side::Source),
        "network-traffic:dst_ref.value" => Some(Side::Destination),
        "network-traffic:src_ref.type" | "network-traffic:dst_ref.type" => {
            tokens.take("=")?;
            let kind = tokens.text()?;
            return matches!(&*kind, "ipv4-addr" | "ipv6-addr").then_some(Part::Kind);
        }
        _ => None,
    };
    let declared = declared(&path)?;
    let is_address = declared == Declared::Type(IndicatorType::Address);
    let mut values = Vec::new();
    if tokens.take("=").is_some() || is_address && tokens.word("ISSUBSET").is_some() {
        values.push(Found { declared, value: tokens.text()?, port: None });
    } else {
        tokens.word("IN")?;
        tokens.take("(")?;
        loop {
            values.push(Found { declared, value: tokens.text()?, port: None });
            if tokens.take(",").is_none() {
                break;
            }
        }
        tokens.take(")")?;
    }
    Some(Part::Values { values, side })
}

/// The type of the values of an object path, in lower case and without quotation marks.
fn declared(path: &str) -> Option<Declared> {
    use IndicatorType as T;
    let kind = match path {
        "ipv4-addr:value"
        | "ipv6-addr:value"
        | "network-traffic:dst_ref.value"
        | "network-traffic:src_ref.value" => T::Address,
        "domain-name:value" | "network-traffic:extensions.http-request-ext.request_header.host" => T::Host,
        "x509-certificate:hashes.sha-256" => T::CertificateSha256,
        "x509-certificate:hashes.sha-1" => T::CertificateSha1,
        "network-traffic:extensions.http-request-ext.request_header.user-agent" => T::UserAgent,
        _ => return None,
    };
    Some(Declared::Type(kind))
}

/// The rest of a pattern.
struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    /// Takes a sign.
    fn take(&mut self, sign: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(sign)?;
        Some(())
    }

    /// Takes a word.
    fn word(&mut self, word: &str) -> Option<()> {
        let rest = self.0.trim_start();
        let (start, rest) = rest.split_at_checked(word.len())?;
        let ends = !rest.starts_with(|character: char| character.is_alphanumeric());
        (ends && start.eq_ignore_ascii_case(word)).then(|| self.0 = rest)
    }

    /// Takes an object path, whose keys may be quoted.
    fn path(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_start();
        let mut is_quoted = false;
        let end = rest.find(|character: char| {
            is_quoted ^= character == '\'';
            !is_quoted && (character.is_whitespace() || character == '=' || character == '!')
        })?;
        let (path, rest) = rest.split_at_checked(end)?;
        self.0 = rest;
        Some(path)
    }

    /// Takes digits.
    fn number(&mut self) -> Option<String> {
        let rest = self.0.trim_start();
        let end = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
        let (number, rest) = rest.split_at_checked(end)?;
        self.0 = rest;
        Some(number.to_owned())
    }

    /// Takes a text in quotation marks.
    fn text(&mut self) -> Option<String> {
        self.take("'")?;
        let mut text = String::new();
        let mut characters = self.0.char_indices();
        loop {
            let (at, character) = characters.next()?;
            match character {
                '\\' => text.push(characters.next()?.1),
                '\'' => {
                    self.0 = self.0.get(at.saturating_add(1)..)?;
                    return Some(text);
                }
                other => text.push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pattern: &str) -> Option<Vec<String>> {
        let text = |Found { value, port, .. }: Found| match port {
            Some(port) => format!("{value} port {port}"),
            None => value,
        };
        Some(comparisons(pattern)?.into_iter().map(text).collect())
    }

    #[test]
    fn patterns_of_single_values_are_read() {
        for (pattern, want) in [
            ("[ipv4-addr:value = '192.0.2.1']", vec!["192.0.2.1"]),
            ("[domain-name:value='a.example']", vec!["a.example"]),
            ("[ x509-certificate:hashes.'SHA-256' = 'ab' OR domain-name:value = 'b\\'' ]", vec!["ab", "b'"]),
            (
                "[ipv6-addr:value = '2001:db8::1'] or [domain-name:value IN ('x', 'y')]",
                vec!["2001:db8::1", "x", "y"],
            ),
            (
                "[network-traffic:extensions.'http-request-ext'.request_header.'User-Agent' = 'evil/1']",
                vec!["evil/1"],
            ),
            ("[ipv4-addr:value ISSUBSET '192.0.2.0/24']", vec!["192.0.2.0/24"]),
            (
                "[network-traffic:dst_ref.value = '192.0.2.1' AND network-traffic:dst_port = 443]",
                vec!["192.0.2.1 port 443"],
            ),
            (
                "[(network-traffic:dst_ref.type = 'ipv4-addr' AND network-traffic:dst_ref.value = '192.0.2.1') \
                 AND network-traffic:dst_port = '443' OR domain-name:value = 'x.example']",
                vec!["192.0.2.1 port 443", "x.example"],
            ),
            (
                "[network-traffic:dst_port = 443 AND network-traffic:dst_ref.value IN ('192.0.2.1', '2001:db8::1')]",
                vec!["192.0.2.1 port 443", "2001:db8::1 port 443"],
            ),
        ] {
            assert_eq!(values(pattern), Some(want.into_iter().map(str::to_owned).collect()), "{pattern}");
        }
    }

    #[test]
    fn other_patterns_are_not_read() {
        for pattern in [
            "",
            "[",
            "[ipv4-addr:value = '192.0.2.1'",
            "[ipv4-addr:value = '192.0.2.1' AND domain-name:value = 'x.example']",
            "[ipv4-addr:value != '192.0.2.1']",
            "[domain-name:value LIKE '%x']",
            "[file:hashes.MD5 = 'x']",
            "[ipv4-addr:value = '192.0.2.1'] FOLLOWEDBY [ipv4-addr:value = '192.0.2.2']",
            "[ipv4-addr:value = '192.0.2.1'] WITHIN 5 SECONDS",
            "[domain-name:value = 'unclosed]",
            "[network-traffic:dst_port = 443]",
            "[network-traffic:src_ref.value = '192.0.2.1' AND network-traffic:dst_port = 443]",
            "[network-traffic:dst_ref.value ISSUBSET '192.0.2.0/24' AND network-traffic:dst_port = 443]",
            "[network-traffic:dst_ref.value = '192.0.2.1' AND network-traffic:dst_port = 99999]",
            "[network-traffic:dst_ref.value = '192.0.2.1' OR network-traffic:dst_port = 443]",
            "[domain-name:value ISSUBSET 'x.example']",
            "[((((((((((((((((((ipv4-addr:value = '192.0.2.1'))))))))))))))))))]",
        ] {
            assert_eq!(values(pattern), None, "{pattern}");
        }
    }
}
