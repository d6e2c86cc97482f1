//! Reads STIX 2.1 bundles: the indicators whose pattern compares single values.
//!
//! OASIS STIX Version 2.1, section 9 (patterning).

use serde_json::Value as Json;

use super::documents::push;
use super::error::WatchListFault;
use super::rows::Rows;
use super::value::{Declared, IndicatorType};

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
        for (declared, value) in comparisons {
            push(rows, declared, &value, label)?;
        }
    }
    Ok(true)
}

/// The values of a pattern that compares each of them alone: `[a = 'x' OR b = 'y'] OR [c IN ('z')]`. `None` for any other.
fn comparisons(pattern: &str) -> Option<Vec<(Declared, String)>> {
    let mut tokens = Tokens(pattern);
    let mut found = Vec::new();
    loop {
        tokens.take("[")?;
        loop {
            let declared = declared(tokens.path()?)?;
            if tokens.take("=").is_some() {
                found.push((declared, tokens.text()?));
            } else {
                tokens.word("IN")?;
                tokens.take("(")?;
                loop {
                    found.push((declared, tokens.text()?));
                    if tokens.take(",").is_none() {
                        break;
                    }
                }
                tokens.take(")")?;
            }
            if tokens.word("OR").is_none() {
                break;
            }
        }
        tokens.take("]")?;
        if tokens.word("OR").is_none() {
            break;
        }
    }
    tokens.0.trim().is_empty().then_some(found)
}

/// The type of the values of an object path.
fn declared(path: &str) -> Option<Declared> {
    use IndicatorType as T;
    let plain: String = path.chars().filter(|character| !['\'', '"'].contains(character)).collect();
    let kind = match &*plain.to_ascii_lowercase() {
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
        Some(comparisons(pattern)?.into_iter().map(|(_, value)| value).collect())
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
        ] {
            assert_eq!(values(pattern), None, "{pattern}");
        }
    }
}
