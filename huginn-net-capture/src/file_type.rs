//! Descriptions of files that are not captures, for error messages.

use super::Compression;

/// Formats often mistaken for captures, with their magic numbers.
const FORMATS: [(&[u8], &str); 6] = [
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"BZh", "bzip2 data"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"snoop\0\0\0", "a snoop capture"),
];

/// Describes the start of a file, given its first uncompressed bytes.
pub(super) fn describe(compression: Option<Compression>, head: &[u8]) -> String {
    let whose = compression.map_or("it".to_owned(), |compression| format!("its {compression} data"));
    if let Some((_, name)) = FORMATS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return format!("{whose} begins like {name}");
    }
    match std::str::from_utf8(head) {
        Ok(text) if text.chars().all(|c| !c.is_control() || c.is_ascii_whitespace()) => {
            format!("{whose} begins with the text {text:?}")
        }
        _ => {
            let bytes: Vec<_> = head.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{whose} begins with the bytes {}", bytes.join(" "))
        }
    }
}
