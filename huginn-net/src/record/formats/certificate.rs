//! Values of the first certificate that a side sends: its own.

use huginn_net_core::HexDigits;
use huginn_net_tls::{AlternativeName, Certificate, CertificateFields, CertificateTime};

use super::values::text;
use crate::observation::TlsCertificatesObservation;
use crate::record::describe;
use crate::{Event, Observation, Side};

/// The sides, as parameters of the values.
pub(super) const CLIENT: bool = false;
pub(super) const SERVER: bool = true;

/// The certificates of a side.
fn sent<const SIDE: bool>(event: &Event) -> Option<&TlsCertificatesObservation> {
    match &event.kind {
        Observation::TlsCertificates(observation) if (event.subject == Side::Server) == SIDE => {
            Some(observation)
        }
        _ => None,
    }
}

fn first<const SIDE: bool>(event: &Event) -> Option<&Certificate> {
    sent::<SIDE>(event)?.certificates.certificates.first()
}

fn fields<const SIDE: bool>(event: &Event) -> Option<&CertificateFields> {
    first::<SIDE>(event)?.fields()
}

/// Appends a text that is cut at the limit of the event; `false` without one.
fn add(event: &Event, out: &mut Vec<u8>, value: Option<&str>) -> bool {
    value.is_some_and(|value| text(out, event.kind.text_limit().cut_str(value).0))
}

pub(super) fn subject<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    add(event, out, fields::<SIDE>(event).and_then(|fields| fields.subject.as_deref()))
}

pub(super) fn issuer<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    add(event, out, fields::<SIDE>(event).and_then(|fields| fields.issuer.as_deref()))
}

pub(super) fn subject_eve<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let name = fields::<SIDE>(event).and_then(|fields| fields.subject.as_deref());
    add(event, out, name.map(name_in_order).as_deref())
}

pub(super) fn issuer_eve<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let name = fields::<SIDE>(event).and_then(|fields| fields.issuer.as_deref());
    add(event, out, name.map(name_in_order).as_deref())
}

/// A name in the order of the certificate, as Suricata writes it: `C=DE, O=Example, Inc., CN=www.example.com`.
fn name_in_order(name: &str) -> String {
    let (mut parts, mut part, mut is_escaped) = (Vec::new(), String::new(), false);
    for character in name.chars() {
        match character {
            // A backslash before two digits is part of a byte that is not printable.
            _ if std::mem::take(&mut is_escaped) => {
                if character.is_ascii_hexdigit() {
                    part.push('\\');
                }
                part.push(character);
            }
            '\\' => is_escaped = true,
            ',' => parts.push(std::mem::take(&mut part)),
            '+' => part.push_str(" + "),
            _ => part.push(character),
        }
    }
    parts.push(part);
    parts.reverse();
    parts.join(", ")
}

/// Digits of a serial number that is not negative.
fn serial<const SIDE: bool>(event: &Event) -> Option<&str> {
    fields::<SIDE>(event)?.serial.as_deref().filter(|serial| !serial.starts_with('-'))
}

/// Bytes as `0A:1B`, with the zero byte before a first bit that is set (X.690, section 8.3).
pub(super) fn serial_eve<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let Some(digits) = serial::<SIDE>(event).map(str::to_ascii_uppercase) else { return false };
    let has_sign_bit = digits.starts_with(|digit: char| !('0'..='7').contains(&digit));
    text(out, &with_colons(&if has_sign_bit { format!("00{digits}") } else { digits }))
}

pub(super) fn serial_ecs<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    serial::<SIDE>(event).is_some_and(|digits| text(out, &digits.to_ascii_uppercase()))
}

/// SHA-1 with colons.
pub(super) fn fingerprint_eve<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let digits = first::<SIDE>(event).map(|found| HexDigits(found.sha1()).to_string());
    digits.is_some_and(|digits| text(out, &with_colons(&digits)))
}

pub(super) fn sha1_ecs<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let digits = first::<SIDE>(event).map(|found| HexDigits(found.sha1()).to_string());
    digits.is_some_and(|digits| text(out, &digits.to_ascii_uppercase()))
}

pub(super) fn sha256_ecs<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let digits = first::<SIDE>(event).map(|found| HexDigits(found.sha256()).to_string());
    digits.is_some_and(|digits| text(out, &digits.to_ascii_uppercase()))
}

fn with_colons(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len().saturating_mul(2));
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && place.is_multiple_of(2) {
            out.push(':');
        }
        out.push(digit);
    }
    out
}

/// The text of a time of the validity.
fn time<const SIDE: bool>(
    event: &Event,
    of: fn(&CertificateFields) -> Option<CertificateTime>,
) -> Option<String> {
    fields::<SIDE>(event).and_then(of).map(|time| time.to_string())
}

pub(super) fn not_before<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    time::<SIDE>(event, |fields| fields.not_before).is_some_and(|time| text(out, &time))
}

pub(super) fn not_after<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    time::<SIDE>(event, |fields| fields.not_after).is_some_and(|time| text(out, &time))
}

/// The time without its zone, UTC.
pub(super) fn not_before_eve<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let time = time::<SIDE>(event, |fields| fields.not_before);
    time.is_some_and(|time| text(out, time.trim_end_matches('Z')))
}

/// The time without its zone, UTC.
pub(super) fn not_after_eve<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let time = time::<SIDE>(event, |fields| fields.not_after);
    time.is_some_and(|time| text(out, time.trim_end_matches('Z')))
}

pub(super) fn names<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let Some(names) = fields::<SIDE>(event).and_then(|fields| fields.alternative_names.as_ref()) else {
        return false;
    };
    let mut texts = names.names.iter().map(AlternativeName::to_string).collect::<Vec<_>>();
    texts.truncate(event.kind.text_limit().fitting(texts.iter().map(String::len)));
    describe::append(out, &texts);
    true
}

pub(super) fn common_name<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let name = fields::<SIDE>(event).and_then(|fields| fields.common_name.as_deref());
    name.is_some_and(|name| {
        describe::append(out, &vec![event.kind.text_limit().cut_str(name).0]);
        true
    })
}

pub(super) fn key_algorithm<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    fields::<SIDE>(event).and_then(|fields| fields.key.as_deref()).is_some_and(|key| text(out, key))
}

pub(super) fn key_size<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let bits = fields::<SIDE>(event).and_then(|fields| fields.key_bits);
    bits.is_some_and(|bits| super::values::number(out, bits))
}

pub(super) fn signature_algorithm<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let name = fields::<SIDE>(event).and_then(|fields| fields.signature_algorithm.as_deref());
    name.is_some_and(|name| text(out, name))
}

pub(super) fn version<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let version = fields::<SIDE>(event).and_then(|fields| fields.version);
    version.is_some_and(|version| text(out, itoa::Buffer::new().format(version)))
}

/// SHA-256 of each certificate.
pub(super) fn fingerprints<const SIDE: bool>(event: &Event, out: &mut Vec<u8>) -> bool {
    let Some(sent) = sent::<SIDE>(event) else { return false };
    let digests = sent.certificates.certificates.iter().map(|found| HexDigits(found.sha256()).to_string());
    describe::append(out, &digests.collect::<Vec<_>>());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_the_certificate() {
        for (name, expected) in [
            ("CN=www.example.com,O=Example\\, Inc.,C=DE", "C=DE, O=Example, Inc., CN=www.example.com"),
            ("CN=a+OU=b\\+c", "CN=a + OU=b+c"),
            ("CN=\\09tab", "CN=\\09tab"),
            ("", ""),
        ] {
            assert_eq!(name_in_order(name), expected);
        }
    }
}
