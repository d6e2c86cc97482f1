//! Distinguished names as text (RFC 4514).

use std::fmt::{self, Write};

use huginn_net_wire::is_printable;
use x509_parser::asn1_rs::{Any, Class, Tag, ToDer};
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use super::algorithm::{self, Names, oid};
use crate::limits::MAX_DISTINGUISHED_NAME_LEN;

/// Attribute types by OpenSSL's short names.
const ATTRIBUTES: Names = &[
    (COMMON_NAME, "CN"),
    (oid("2.5.4.4"), "SN"),
    (oid("2.5.4.5"), "serialNumber"),
    (oid("2.5.4.6"), "C"),
    (oid("2.5.4.7"), "L"),
    (oid("2.5.4.8"), "ST"),
    (oid("2.5.4.9"), "street"),
    (oid("2.5.4.10"), "O"),
    (oid("2.5.4.11"), "OU"),
    (oid("2.5.4.12"), "title"),
    (oid("2.5.4.13"), "description"),
    (oid("2.5.4.15"), "businessCategory"),
    (oid("2.5.4.16"), "postalAddress"),
    (oid("2.5.4.17"), "postalCode"),
    (oid("2.5.4.18"), "postOfficeBox"),
    (oid("2.5.4.20"), "telephoneNumber"),
    (oid("2.5.4.41"), "name"),
    (oid("2.5.4.42"), "GN"),
    (oid("2.5.4.43"), "initials"),
    (oid("2.5.4.44"), "generationQualifier"),
    (oid("2.5.4.45"), "x500UniqueIdentifier"),
    (oid("2.5.4.46"), "dnQualifier"),
    (oid("2.5.4.65"), "pseudonym"),
    (oid("2.5.4.97"), "organizationIdentifier"),
    (oid("0.9.2342.19200300.100.1.1"), "UID"),
    (oid("0.9.2342.19200300.100.1.25"), "DC"),
    (oid("1.2.840.113549.1.9.1"), "emailAddress"),
    (oid("1.2.840.113549.1.9.2"), "unstructuredName"),
    (oid("1.3.6.1.4.1.311.60.2.1.1"), "jurisdictionL"),
    (oid("1.3.6.1.4.1.311.60.2.1.2"), "jurisdictionST"),
    (oid("1.3.6.1.4.1.311.60.2.1.3"), "jurisdictionC"),
];

const COMMON_NAME: const_oid::ObjectIdentifier = oid("2.5.4.3");

/// The text of a name; `None` if it is too long.
pub(super) fn text(name: &X509Name<'_>) -> Option<Box<str>> {
    let mut text = BoundedText::default();
    write_name(&mut text, name).ok()?;
    Some(text.0.into())
}

/// The most specific common name, if it is valid text.
pub(super) fn common_name(name: &X509Name<'_>) -> Option<Box<str>> {
    let is_common_name =
        |attribute: &&AttributeTypeAndValue<'_>| attribute.attr_type().as_bytes() == COMMON_NAME.as_bytes();
    let value = name.iter_attributes().filter(is_common_name).last()?.attr_value();
    let mut text = BoundedText::default();
    characters(value)?
        .into_iter()
        .try_for_each(|unit| text.write_char(unit.map_err(|_| fmt::Error)?))
        .ok()?;
    Some(text.0.into())
}

/// Text of limited length.
#[derive(Default)]
struct BoundedText(String);

impl Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len().saturating_add(text.len()) > MAX_DISTINGUISHED_NAME_LEN {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

fn write_name(text: &mut BoundedText, name: &X509Name<'_>) -> fmt::Result {
    let parts: Vec<_> = name.iter_rdn().collect();
    let mut separator = "";
    for part in parts.into_iter().rev() {
        // OpenSSL also reverses the attributes of a part. RFC 4514 leaves their order open.
        let attributes: Vec<_> = part.iter().collect();
        for attribute in attributes.into_iter().rev() {
            text.write_str(separator)?;
            write_attribute(text, attribute)?;
            separator = "+";
        }
        separator = ",";
    }
    Ok(())
}

fn write_attribute(text: &mut BoundedText, attribute: &AttributeTypeAndValue<'_>) -> fmt::Result {
    let (kind, value) = (attribute.attr_type(), attribute.attr_value());
    let name = algorithm::look_up(ATTRIBUTES, kind);
    let number = algorithm::oid_text(kind);
    text.write_str(name.or(number.as_deref()).ok_or(fmt::Error)?)?;
    text.write_char('=')?;
    match name.and_then(|_| characters(value)) {
        Some(characters) => write_escaped(text, characters),
        None => write_encoded(text, value),
    }
}

/// The characters of a string, and the bytes of a UTF-8 string that are not text. `None` for other values and for invalid
/// UTF-16 or UTF-32. T.61 strings are read as ISO 8859-1: certificates use the type that way.
fn characters(value: &Any<'_>) -> Option<Vec<Result<char, u8>>> {
    let bytes = value.data.get(..MAX_VALUE_LEN).unwrap_or(value.data);
    if value.class() != Class::Universal {
        return None;
    }
    match value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::NumericString | Tag::VisibleString => {
            let chunks = bytes.utf8_chunks();
            Some(
                chunks
                    .flat_map(|chunk| {
                        chunk.valid().chars().map(Ok).chain(chunk.invalid().iter().copied().map(Err))
                    })
                    .collect(),
            )
        }
        Tag::T61String => Some(bytes.iter().map(|byte| Ok(char::from(*byte))).collect()),
        Tag::BmpString => {
            let (units, rest) = bytes.as_chunks();
            let units = units.iter().map(|unit| u16::from_be_bytes(*unit));
            let characters = char::decode_utf16(units).map(|unit| unit.ok().map(Ok)).collect();
            if rest.is_empty() { characters } else { None }
        }
        Tag::UniversalString => {
            let (units, rest) = bytes.as_chunks();
            let units = units.iter().map(|unit| char::from_u32(u32::from_be_bytes(*unit)).map(Ok));
            if rest.is_empty() { units.collect() } else { None }
        }
        _ => None,
    }
}

/// Length of a value whose text exceeds the limit, in bytes: a character has at most four.
const MAX_VALUE_LEN: usize = 4 * (MAX_DISTINGUISHED_NAME_LEN + 1);

/// Writes a value with the escapes of RFC 4514, section 2.4. Characters that are not printable are escaped too.
fn write_escaped(text: &mut BoundedText, characters: Vec<Result<char, u8>>) -> fmt::Result {
    let last = characters.len().saturating_sub(1);
    for (index, unit) in characters.into_iter().enumerate() {
        match unit {
            Ok(c @ ('"' | '+' | ',' | ';' | '<' | '>' | '\\')) => write!(text, "\\{c}")?,
            Ok(' ') if index == 0 || index == last => text.write_str("\\ ")?,
            Ok('#') if index == 0 => text.write_str("\\#")?,
            Ok(c) if is_printable(c) => text.write_char(c)?,
            Ok(c) => c.encode_utf8(&mut [0; 4]).bytes().try_for_each(|byte| write!(text, "\\{byte:02X}"))?,
            Err(byte) => write!(text, "\\{byte:02X}")?,
        }
    }
    Ok(())
}

/// Writes the encoding of a value (RFC 4514, section 2.4).
fn write_encoded(text: &mut BoundedText, value: &Any<'_>) -> fmt::Result {
    if value.data.len() > MAX_DISTINGUISHED_NAME_LEN {
        return Err(fmt::Error);
    }
    text.write_char('#')?;
    let encoding = value.to_der_vec().map_err(|_| fmt::Error)?;
    encoding.iter().try_for_each(|byte| write!(text, "{byte:02X}"))
}
