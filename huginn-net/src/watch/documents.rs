//! Reads JSON documents: lists of objects, and MISP events.
//!
//! MISP core format: <https://www.misp-project.org/datamodels/>, attributes with `type`, `value` and `to_ids`.

use serde_json::{Map, Value as Json};

use super::error::WatchListFault;
use super::rows::{Rows, Stated};
use super::value::Declared;
use crate::limits::MAX_LIST_LABEL_BYTES;
use crate::observation::IndicatorType;

/// Reads a document. Returns whether it has rows or attributes. Its depth is limited by the parser, to 128.
pub(super) fn read(rows: &mut Rows, document: &Json) -> Result<bool, WatchListFault> {
    walk(rows, document, "")
}

/// Reads a value and those in it. `info`: what the MISP event around it is about.
fn walk(rows: &mut Rows, value: &Json, info: &str) -> Result<bool, WatchListFault> {
    match value {
        Json::Array(values) => {
            let mut has_any = false;
            for value in values {
                has_any |= walk(rows, value, info)?;
            }
            Ok(has_any)
        }
        Json::Object(object) if object.contains_key("to_ids") => {
            attribute(rows, object, info)?;
            Ok(true)
        }
        Json::Object(object) => {
            let info = object.get("info").and_then(Json::as_str).unwrap_or(info);
            let mut has_any = rows.push_object(object, 0)?;
            // What is in a row describes it.
            if !has_any {
                for value in object.values().filter(|value| value.is_array() || value.is_object()) {
                    has_any |= walk(rows, value, info)?;
                }
            }
            Ok(has_any)
        }
        _ => Ok(false),
    }
}

/// Adds a MISP attribute, unless it is not for detection, deleted, or of another type.
fn attribute(rows: &mut Rows, attribute: &Map<String, Json>, info: &str) -> Result<(), WatchListFault> {
    let text = |name| attribute.get(name).and_then(Json::as_str).unwrap_or_default();
    let flag = |name| attribute.get(name).is_some_and(|value| value == true || value == 1 || value == "1");
    if !flag("to_ids") || flag("deleted") {
        rows.excluded = rows.excluded.saturating_add(1);
        return Ok(());
    }
    let (kind, value) = (text("type"), text("value"));
    // Object templates such as ja4-plus have fingerprints as texts, whose relation says what they are.
    let of_relation = fingerprint_of(text("object_relation")).filter(|_| matches!(kind, "text" | "other"));
    let declared = match (kind, of_relation) {
        (_, Some(declared)) => declared,
        // MISP's own rules match a domain and the names below it, and a host name alone.
        ("domain" | "domain|ip", None) => Declared::Domain,
        ("hostname", None) => Declared::Type(IndicatorType::Host),
        (
            "ja4"
            | "ja3-fingerprint-md5"
            | "hassh-md5"
            | "hasshserver-md5"
            | "ip-dst"
            | "ip-src"
            | "ip-dst|port"
            | "ip-src|port"
            | "x509-fingerprint-sha1"
            | "x509-fingerprint-sha256"
            | "user-agent",
            None,
        ) => Declared::from_name(kind).unwrap_or(Declared::Any),
        _ => {
            rows.foreign = rows.foreign.saturating_add(1);
            return Ok(());
        }
    };
    let label = start(Some(text("comment")).filter(|comment| !comment.is_empty()).unwrap_or(info));
    let values = match kind {
        "domain|ip" => value.split_once('|').map_or(vec![(declared, value)], |(name, ip)| {
            vec![(declared, name), (Declared::Type(IndicatorType::Address), ip)]
        }),
        _ => vec![(declared, value)],
    };
    for (declared, value) in values {
        push(rows, declared, value, None, label)?;
    }
    Ok(())
}

/// The type of a fingerprint by its relation in an object.
fn fingerprint_of(relation: &str) -> Option<Declared> {
    use IndicatorType as T;
    let is_fingerprint = |declared: &Declared| {
        matches!(
            declared,
            Declared::Type(
                T::Ja4 | T::Ja4Stable | T::Ja4Raw | T::Ja3 | T::Ja3s | T::Hassh | T::HasshServer | T::Akamai
            )
        )
    };
    Declared::from_name(relation).filter(is_fingerprint)
}

/// Adds a value of an export, perhaps with the port of an address; one that does not have the form of its type is counted.
pub(super) fn push(
    rows: &mut Rows,
    declared: Declared,
    value: &str,
    port: Option<&str>,
    label: &str,
) -> Result<(), WatchListFault> {
    match rows.push(&Stated::Declared(declared), value.trim(), port, start(label), "", 0) {
        Err(WatchListFault::Value { .. } | WatchListFault::Unknown { .. }) => {
            rows.foreign = rows.foreign.saturating_add(1);
            Ok(())
        }
        pushed => pushed,
    }
}

/// The start of a text that is not a label, but becomes one.
fn start(text: &str) -> &str {
    let end = (0..=MAX_LIST_LABEL_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}
