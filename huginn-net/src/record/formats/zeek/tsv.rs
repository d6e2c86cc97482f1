//! Values of Zeek's TSV, from those of JSON.

use std::io::Write;

use serde_json::Value;

use super::columns::ZeekType;

/// Appends a value; `None` if it is absent.
pub(super) fn append(json: Option<&[u8]>, zeek_type: ZeekType, out: &mut Vec<u8>) {
    let Some(json) = json else { return out.push(b'-') };
    match (zeek_type, json.first()) {
        (ZeekType::Bool, _) => out.push(if json == b"true" { b'T' } else { b'F' }),
        // Zeek reads no exponents.
        (ZeekType::Interval | ZeekType::Double, _) => append_number(json, out),
        (ZeekType::Strings | ZeekType::Counts | ZeekType::Doubles | ZeekType::Enums, Some(b'[')) => {
            append_list(json, out)
        }
        (_, Some(b'"')) if is_plain(json) => out.extend_from_slice(unquoted(json)),
        (_, Some(b'"')) => match serde_json::from_slice::<String>(json) {
            Ok(text) => append_text(&text, None, out),
            Err(_) => out.push(b'-'),
        },
        (ZeekType::String, Some(b'[' | b'{')) => append_text(&String::from_utf8_lossy(json), None, out),
        _ => out.extend_from_slice(json),
    }
}

/// Whether a text of JSON is in TSV as it is.
fn is_plain(json: &[u8]) -> bool {
    let text = unquoted(json);
    let is_text = |byte: &u8| *byte != b'\\' && !byte.is_ascii_control();
    text.len() > 1 && !text.starts_with(b"#") && text != b"(empty)" && text.iter().all(is_text)
}

/// A text of JSON without its quotation marks.
fn unquoted(json: &[u8]) -> &[u8] {
    json.get(1..json.len().saturating_sub(1)).unwrap_or_default()
}

fn append_number(json: &[u8], out: &mut Vec<u8>) {
    match serde_json::from_slice::<f64>(json) {
        // Writing to memory does not fail.
        Ok(number) => _ = write!(out, "{number:.6}"),
        Err(_) => out.push(b'-'),
    }
}

fn append_list(json: &[u8], out: &mut Vec<u8>) {
    let Ok(values) = serde_json::from_slice::<Vec<Value>>(json) else { return out.push(b'-') };
    for (number, value) in values.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        match value {
            Value::Null => out.push(b'-'),
            Value::String(text) => append_text(text, Some(b','), out),
            other => append_text(&other.to_string(), Some(b','), out),
        }
    }
}

/// Appends a text. Bytes that are syntax become `\xHH`, as Zeek writes them.
pub(super) fn append_text(text: &str, set_separator: Option<u8>, out: &mut Vec<u8>) {
    match text {
        "" => out.extend_from_slice(b"(empty)"),
        "-" => out.extend_from_slice(b"\\x2d"),
        // Texts that mean something else.
        "(empty)" => out.extend_from_slice(b"\\x28empty)"),
        _ => {
            let is_comment = text.starts_with('#') && set_separator.is_none();
            for (position, byte) in text.bytes().enumerate() {
                let is_syntax = byte.is_ascii_control() || byte == b'\\' || Some(byte) == set_separator;
                if is_syntax || is_comment && position == 0 {
                    // Writing to memory does not fail.
                    let _ = write!(out, "\\x{byte:02x}");
                } else {
                    out.push(byte);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ZeekType, append};

    #[test]
    fn values_have_the_form_of_zeek() {
        let cases: [(&str, ZeekType, &str); 17] = [
            ("\"a\"", ZeekType::String, "a"),
            ("\"\"", ZeekType::String, "(empty)"),
            ("\"-\"", ZeekType::String, "\\x2d"),
            ("\"(empty)\"", ZeekType::String, "\\x28empty)"),
            ("\"#close\"", ZeekType::String, "\\x23close"),
            ("\"a\\tb\\nc\\\\x41\\u0000\\u00e4,\"", ZeekType::String, "a\\x09b\\x0ac\\x5cx41\\x00ä,"),
            ("[\"h2\",\"a,b\",\"\",\"-\"]", ZeekType::Strings, "h2,a\\x2cb,(empty),\\x2d"),
            ("[1,null,3]", ZeekType::Counts, "1,-,3"),
            ("[0.5,1e-7]", ZeekType::Doubles, "0.5,1e-7"),
            ("[\"Notice::ACTION_LOG\"]", ZeekType::Enums, "Notice::ACTION_LOG"),
            ("true", ZeekType::Bool, "T"),
            ("false", ZeekType::Bool, "F"),
            ("1e-6", ZeekType::Interval, "0.000001"),
            ("1.5", ZeekType::Double, "1.500000"),
            ("443", ZeekType::Port, "443"),
            ("1700000000.000001", ZeekType::Time, "1700000000.000001"),
            ("{\"a\":[1]}", ZeekType::String, "{\"a\":[1]}"),
        ];
        for (json, zeek_type, want) in cases {
            let mut out = Vec::new();
            append(Some(json.as_bytes()), zeek_type, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), want, "{json}");
        }
        let mut out = Vec::new();
        append(None, ZeekType::Count, &mut out);
        assert_eq!(out, b"-");
    }
}
