//! Truncated, damaged and arbitrary captures.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::bytes::{pcap, pcapng};
use super::{read, read_complete};
use crate::CaptureError;

#[test]
fn truncated_pcap_yields_preceding_frames() {
    let (file, ends) = pcap(&[60, 0, 1, 90]);
    let expected = read_complete(file.clone());
    for cut in 0..file.len() {
        let (packets, error) = read(&file[..cut]);
        let complete = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(packets, expected[..complete], "cut at {cut}");
        match error {
            None => assert!(cut == 24 || ends.contains(&cut), "cut at {cut}"),
            Some(CaptureError::Empty { .. }) => assert_eq!(cut, 0),
            Some(CaptureError::NotACapture { head, .. }) => assert!(head.len() < 4),
            Some(CaptureError::Damaged { packet, offset, .. }) => {
                let start = ends[..complete].last().copied().unwrap_or(if cut < 24 { 0 } else { 24 });
                assert_eq!((packet, offset), (complete as u64 + 1, start as u64), "cut at {cut}");
            }
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn truncated_pcapng_yields_preceding_frames() {
    let (file, ends) = pcapng();
    let expected = read_complete(file.clone());
    for cut in 0..file.len() {
        let (packets, error) = read(&file[..cut]);
        let (start, complete) = ends.iter().rfind(|(end, _)| *end <= cut).copied().unwrap_or((0, 0));
        assert_eq!(packets, expected[..complete], "cut at {cut}");
        match error {
            None => assert!(cut > 0 && start == cut, "cut at {cut}"),
            Some(CaptureError::Empty { .. }) => assert_eq!(cut, 0),
            Some(CaptureError::NotACapture { head, .. }) => assert!(head.len() < 4),
            Some(CaptureError::Damaged { packet, offset, .. }) => {
                assert_eq!((packet, offset), (complete as u64 + 1, start as u64), "cut at {cut}");
            }
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn messages_are_precise() {
    let (file, _) = pcap(&[60, 90]);
    let (ng, _) = pcapng();
    let table: [(&[u8], &str); 17] = [
        (b"", "x.pcap: is empty"),
        (
            b"# a README of captures\n",
            "x.pcap: is not a capture file: it begins with the text \"# a README of ca\"",
        ),
        (
            b"\x7fELF\x02\x01\x01\0",
            "x.pcap: is not a capture file: it begins with the bytes 7f 45 4c 46 02 01 01 00",
        ),
        (
            b"\x04\x22\x4d\x18\x64\x40\xa7\x22\x02\0\0\x40\xd4\xc3\0\x40",
            "x.pcap: is not a capture file: it begins like LZ4 data; decompress it with `lz4 -dc FILE | huginn-net pcap -`",
        ),
        (b"\xfd7zXZ\0\0\x04", "x.pcap: is not a capture file: it begins like xz data"),
        (
            b"GMBU\0\x02\x01\0\0\0",
            "x.pcap: is not a capture file: it begins like a capture of the format Microsoft Network Monitor 2; \
             convert it with `editcap FILE NEW.pcapng`",
        ),
        (
            b"RTSS\0\x01",
            "x.pcap: is not a capture file: it begins like a capture of the format Microsoft Network Monitor 1; \
             convert it with `editcap FILE NEW.pcapng`",
        ),
        (
            b"snoop\0\0\0\0\0\0\x02",
            "x.pcap: is not a capture file: it begins like a capture of the format snoop; convert it with \
             `editcap FILE NEW.pcapng`",
        ),
        (
            b"\0\0\0\x80\0\x2f\x68\x59\x02\x04\0\x54\0\0\0\x40\0\0",
            "x.pcap: is not a capture file: it begins like a capture of the format ERF; convert it with \
             `editcap FILE NEW.pcapng`",
        ),
        (
            b"\0\0\0\x80\0\x2f\x68\x59\x02\x04\0\x54\0\0\0\x04",
            "x.pcap: is not a capture file: it begins with the bytes 00 00 00 80 00 2f 68 59 02 04 00 54 00 00 00 04",
        ),
        (b"\xd4\xc3\xb2", "x.pcap: is not a capture file: it begins with the bytes d4 c3 b2"),
        (
            b"\x0a\x0d\x0d\x0a\0\0\0\0\0\0\0\0",
            "x.pcap: is not a capture file: it begins with the bytes 0a 0d 0d 0a 00 00 00 00 00 00 00 00",
        ),
        (&file[..30], "x.pcap: packet 1 at byte 24: record header is cut: 16 bytes needed, 6 left"),
        (&file[..128], "x.pcap: packet 2 at byte 100: record is cut: 90 bytes needed, 12 left"),
        (&ng[..90], "x.pcap: packet 1 at byte 60: block is cut: 96 bytes needed, 30 left"),
        (
            b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01",
            "x.pcap: packet 1 at byte 0: gzip data cannot be decompressed past byte 0: incomplete deflate stream",
        ),
        (
            b"\x28\xb5\x2f\xfd\0",
            "x.pcap: packet 1 at byte 0: zstd data cannot be decompressed past byte 0: incomplete frame",
        ),
    ];
    for (bytes, want) in table {
        assert_eq!(read(bytes).1.unwrap().to_string(), want);
    }
}

/// Generates headers that pass the format probe.
fn valid_headers() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(pcap(&[]).0),
        Just(pcapng().0[..60].to_vec()),
        Just(vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]),
        Just(vec![0x28, 0xb5, 0x2f, 0xfd]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes_end_without_panic(header in valid_headers(), rest in vec(any::<u8>(), 0..400)) {
        let bytes = [header, rest].concat();
        let (packets, _) = read(bytes.clone());
        prop_assert!(packets.len() <= bytes.len());
    }

    #[test]
    fn damaged_captures_end_without_panic(
        ng in any::<bool>(),
        edits in vec((any::<Index>(), any::<u8>()), 1..8),
        cut in any::<Index>(),
    ) {
        let mut bytes = if ng { pcapng().0 } else { pcap(&[60, 0, 90, 7, 200]).0 };
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(bytes.len() - cut.index(20));
        for packet in read(bytes).0 {
            prop_assert!(packet.data.len() <= packet.wire_len as usize);
        }
    }

    #[test]
    fn pcap_round_trips(lengths in vec(0_usize..3000, 0..40)) {
        let (file, _) = pcap(&lengths);
        let seen: Vec<_> = read_complete(file).iter().map(|packet| packet.data.len()).collect();
        prop_assert_eq!(seen, lengths);
    }
}
