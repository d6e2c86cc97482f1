//! Descriptions of files that are not captures, for error messages.

use super::Compression;

/// Formats often mistaken for captures, with their magic numbers.
const FORMATS: [(&[u8], &str); 5] = [
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"BZh", "bzip2 data"),
    (b"PK\x03\x04", "a ZIP archive"),
];

/// Magic numbers of LZ4: a frame, and the legacy format.
const LZ4: [&[u8]; 2] = [b"\x04\x22\x4d\x18", b"\x02\x21\x4c\x18"];

/// Formats of captures that are not read, with their magic numbers.
const OTHER_CAPTURES: [(&[u8], &str); 7] = [
    (b"snoop\0\0\0", "snoop"),
    (b"GMBU", "Microsoft Network Monitor 2"),
    (b"RTSS", "Microsoft Network Monitor 1"),
    (b"TRSNIFF data    ", "Sniffer"),
    (b"XCP\0", "NetXRay"),
    (b"btsnoop\0", "btsnoop"),
    (b"iptrace ", "iptrace"),
];

/// Whether a file begins with an ERF record, which has no magic number: a time of 8 bytes, a type, flags, the length of the
/// record, which covers its header of 16 bytes and the frame, a loss counter, and the length on the wire.
fn is_erf(head: &[u8]) -> bool {
    let Some([_, _, _, _, s0, s1, s2, s3, kind, _, l0, l1, _, _, w0, w1]) = head.first_chunk::<16>() else {
        return false;
    };
    let seconds = u32::from_le_bytes([*s0, *s1, *s2, *s3]);
    let (record, wire) = (u16::from_be_bytes([*l0, *l1]), u16::from_be_bytes([*w0, *w1]));
    // Ethernet, without and with colours, from 1990 on.
    seconds > 631_152_000
        && matches!(kind & 0x7f, 2 | 11 | 16)
        && (32..=16_384).contains(&record)
        && wire >= 14
        && record <= wire.saturating_add(64)
}

/// Describes the start of a file, given its first uncompressed bytes.
pub(super) fn describe(compression: Option<Compression>, head: &[u8]) -> String {
    let whose = compression.map_or("it".to_owned(), |compression| format!("its {compression} data"));
    if let Some((_, name)) = FORMATS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return format!("{whose} begins like {name}");
    }
    if LZ4.iter().any(|magic| head.starts_with(magic)) {
        let advice = "; decompress it with `lz4 -dc FILE | huginn-net pcap -`";
        let advice = if compression.is_none() { advice } else { "" };
        return format!("{whose} begins like LZ4 data{advice}");
    }
    let capture = OTHER_CAPTURES.iter().find(|(magic, _)| head.starts_with(magic));
    if let Some(name) = capture.map(|(_, name)| *name).or(is_erf(head).then_some("ERF")) {
        return format!(
            "{whose} begins like a capture of the format {name}; convert it with `editcap FILE NEW.pcapng`"
        );
    }
    match std::str::from_utf8(head) {
        Ok(text) if text.chars().all(|c| huginn_net_core::is_printable(c) || c.is_ascii_whitespace()) => {
            format!("{whose} begins with the text {text:?}")
        }
        _ => {
            let bytes: Vec<_> = head.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{whose} begins with the bytes {}", bytes.join(" "))
        }
    }
}
