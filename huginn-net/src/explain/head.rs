//! Description of JA4_a, and reasons why two of them differ.

use std::io::{self, Write};

use huginn_net_tls::{Ja4Head, Transport, Version};

use super::alpn;

/// Describes each part of JA4_a in one line.
pub(super) fn write(out: &mut impl Write, head: Ja4Head) -> io::Result<()> {
    let server_name = if head.has_server_name() {
        "with the extension server_name"
    } else {
        "without the extension server_name"
    };
    let rows = [
        (letter(head), transport(head.transport()).to_owned()),
        (version_text(head), version(head).to_owned()),
        (flag(head), server_name.to_owned()),
        (count(head.cipher_count()), "cipher suites, without GREASE".to_owned()),
        (count(head.extension_count()), "extensions, with server_name and ALPN, without GREASE".to_owned()),
        (head.alpn().to_owned(), alpn_words(head.alpn())),
    ];
    for (text, words) in rows {
        writeln!(out, "{text:12}  {words}")?;
    }
    Ok(())
}

fn letter(head: Ja4Head) -> String {
    head.transport().ja4().to_string()
}

fn version_text(head: Ja4Head) -> String {
    head.version().map_or("00", Version::ja4).to_owned()
}

fn flag(head: Ja4Head) -> String {
    if head.has_server_name() { "d" } else { "i" }.to_owned()
}

fn count(count: u8) -> String {
    format!("{count:02}")
}

const fn transport(transport: Transport) -> &'static str {
    match transport {
        Transport::Tls => "TLS over TCP",
        Transport::Quic => "QUIC",
        Transport::Dtls => "DTLS",
    }
}

fn version(head: Ja4Head) -> &'static str {
    let name = head.version().and_then(Version::name);
    name.unwrap_or("a version that JA4 has no name for, such as a draft of TLS 1.3")
}

fn alpn_words(characters: &str) -> String {
    if characters == "00" {
        return "no ALPN".to_owned();
    }
    let protocols: Vec<&str> = alpn::protocols_of(characters).collect();
    if protocols.is_empty() {
        "first and last character of the first ALPN value, or digits where it is not letters and digits"
            .to_owned()
    } else {
        format!("first and last character of the first ALPN value: {}", protocols.join(" or "))
    }
}

/// Results of comparing JA4_b and JA4_c.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    /// Whether JA4_b is the same.
    pub(super) same_ciphers: bool,
    /// Whether JA4_c is the same.
    pub(super) same_extensions: bool,
}

/// A part of JA4_a in which two fingerprints differ.
pub(super) struct Difference {
    pub(super) part: &'static str,
    pub(super) a: String,
    pub(super) b: String,
    /// Possible reason other than different hellos.
    pub(super) reasons: Vec<String>,
}

pub(super) fn differences(a: Ja4Head, b: Ja4Head, context: Context) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut compare = |part, text: fn(Ja4Head) -> String, reasons| {
        let (a, b) = (text(a), text(b));
        if a != b {
            differences.push(Difference { part, a, b, reasons });
        }
    };
    compare("transport", letter, transport_reasons());
    compare("version", version_text, version_reasons(a, b));
    compare("server name", flag, server_name_reasons(a, b));
    compare("cipher suites", |head| count(head.cipher_count()), cipher_count_reasons(a, b, context));
    compare("extensions", |head| count(head.extension_count()), extension_count_reasons(a, b, context));
    compare("ALPN", |head| head.alpn().to_owned(), alpn_reasons(a, b));
    differences
}

fn transport_reasons() -> Vec<String> {
    vec![
        "one may decide by the extension quic_transport_parameters (0039), not by the transport of the hello"
            .to_owned(),
    ]
}

/// Returns `A` or `B` if exactly one of the two satisfies the condition.
fn which(a: Ja4Head, b: Ja4Head, has: impl Fn(Ja4Head) -> bool) -> Option<&'static str> {
    match (has(a), has(b)) {
        (true, false) => Some("A"),
        (false, true) => Some("B"),
        _ => None,
    }
}

fn version_reasons(a: Ja4Head, b: Ja4Head) -> Vec<String> {
    let is = |version: Version| move |head: Ja4Head| head.version() == Some(version);
    let both = |one: Version, other: Version| {
        which(a, b, is(one)).is_some().then(|| which(a, b, is(other))).flatten()
    };
    let mut reasons = Vec::new();
    let legacy = [(Version::TLS_1_3, Version::TLS_1_2), (Version::DTLS_1_3, Version::DTLS_1_2)];
    for older in legacy.into_iter().filter_map(|(newer, older)| both(newer, older)) {
        reasons.push(format!(
            "{older} may have the version of the hello itself, not the highest of supported_versions"
        ));
    }
    for newer in [Version::TLS_1_3, Version::TLS_1_2] {
        if let Some(oldest) = both(newer, Version::TLS_1_0) {
            reasons.push(format!("{oldest} may have the version of the TLS record, not that of the hello"));
        }
    }
    if let Some(unnamed) = which(a, b, |head| head.version().is_none()) {
        let named = if unnamed == "A" { "B" } else { "A" };
        reasons.push(format!(
            "{unnamed} may take GREASE for a version, or {named} may ignore the draft that is the highest version"
        ));
    }
    reasons
}

fn server_name_reasons(a: Ja4Head, b: Ja4Head) -> Vec<String> {
    if a.extension_count() != b.extension_count() {
        return Vec::new();
    }
    let without = which(a, b, |head| !head.has_server_name()).unwrap_or("A");
    vec![format!(
        "with as many extensions in both, {without} may take an IP address in server_name for no name; the definition \
         only checks that the extension is present"
    )]
}

fn cipher_count_reasons(a: Ja4Head, b: Ja4Head, context: Context) -> Vec<String> {
    if !context.same_ciphers {
        return Vec::new();
    }
    let more = if a.cipher_count() > b.cipher_count() { "A" } else { "B" };
    match a.cipher_count().abs_diff(b.cipher_count()) {
        1 => vec![format!("the lists are the same, so {more} may count GREASE")],
        _ => vec!["the lists are the same, so one of the counts is not theirs".to_owned()],
    }
}

fn extension_count_reasons(a: Ja4Head, b: Ja4Head, context: Context) -> Vec<String> {
    let (more, fewer, fuller) =
        if a.extension_count() > b.extension_count() { ("A", "B", a) } else { ("B", "A", b) };
    let apart = a.extension_count().abs_diff(b.extension_count());
    let in_head = u8::from(fuller.has_server_name()).saturating_add(u8::from(fuller.alpn() != "00"));
    let mut reasons = Vec::new();
    if !context.same_extensions {
        return reasons;
    }
    if a.has_server_name() == b.has_server_name() {
        if apart == in_head {
            reasons
                .push(format!("the lists are the same, so {fewer} may count without server_name and ALPN"));
        }
        if apart <= 2 {
            reasons.push(format!("the lists are the same, so {more} may count GREASE"));
        }
    } else if apart == 1 && fuller.has_server_name() {
        reasons.push("the lists are the same: one client, to a host by name and to an address".to_owned());
    }
    reasons
}

fn alpn_reasons(a: Ja4Head, b: Ja4Head) -> Vec<String> {
    let mut reasons = Vec::new();
    for (name, other, definition) in [("A", a, b), ("B", b, a)] {
        let (characters, definition) = (other.alpn(), definition.alpn());
        let doubled = |text: &str| matches!(text.as_bytes(), [first, second] if first == second);
        if let Some(protocol) = alpn::cut_short(characters, definition) {
            reasons.push(format!(
                "{name} has the first two characters of {protocol}, not the first and the last"
            ));
        }
        if characters.ends_with('0') && doubled(definition) && characters.get(..1) == definition.get(..1) {
            reasons.push(format!(
                "{name} fills an ALPN value of one character with 0, where it stands for both"
            ));
        }
        if characters == "99" {
            reasons.push(format!(
                "{name} may have 99 for a value that is not ASCII, where digits of it should stand"
            ));
        }
        if characters == "00" && a.extension_count() == b.extension_count() {
            reasons.push(format!(
                "with as many extensions in both, {name} may not read ALPN, or not the first value"
            ));
        }
    }
    reasons
}
