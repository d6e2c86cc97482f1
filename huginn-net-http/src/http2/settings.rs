//! Settings (RFC 9113, section 6.5).

use std::fmt;

use crate::limits::{MAX_SETTINGS, MAX_SETTINGS_HEADER_LEN};
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Length of a setting, in bytes.
const LEN: usize = 6;
/// Padding is omitted (RFC 7540, section 3.2.1) but accepted.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A setting as sent, including unknown and reserved identifiers. Displays as `id:value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// Identifier (IANA, "HTTP/2 Settings").
    pub id: u16,
    /// Value.
    pub value: u32,
}

/// Parses the first settings of a frame payload; `None` if the payload ends within a setting.
pub(super) fn parse(payload: &[u8]) -> Option<Box<[Setting]>> {
    let complete = payload.chunks_exact(LEN);
    if !complete.remainder().is_empty() {
        return None;
    }
    let settings = complete.take(MAX_SETTINGS).map(|setting| {
        let [a, b, value @ ..] = *setting.first_chunk::<LEN>()?;
        Some(Setting { id: u16::from_be_bytes([a, b]), value: u32::from_be_bytes(value) })
    });
    settings.collect()
}

/// Parses an HTTP2-Settings header (RFC 7540, section 3.2.1); empty if it is invalid.
pub(super) fn parse_header(value: &[u8]) -> Box<[Setting]> {
    if value.len() > MAX_SETTINGS_HEADER_LEN {
        return Box::default();
    }
    BASE64.decode(value).ok().and_then(|payload| parse(&payload)).unwrap_or_default()
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.id, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_settings_header() {
        let text =
            |value: &[u8]| parse_header(value).iter().map(Setting::to_string).collect::<Vec<_>>().join(";");
        // Sent by curl 7.88.1 and nghttp 1.52.0.
        assert_eq!(text(b"AAMAAABkAAQCAAAAAAIAAAAA"), "3:100;4:33554432;2:0");
        assert_eq!(text(b"AAMAAABkAAQAAP__"), "3:100;4:65535");
        assert_eq!(text(b"AAMAAABk".repeat(1000).as_slice()), vec!["3:100"; 64].join(";"));
        for malformed in [&b"AAMAAABkAAQA"[..], b"AAMAAABkAAQAAP//", b"*", b"", &[b'A'; 20_000]] {
            assert_eq!(text(malformed), "");
        }
    }
}
