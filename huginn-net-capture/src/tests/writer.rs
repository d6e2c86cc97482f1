//! The writer of pcapng, read again.

use std::io::{self, Cursor};

use huginn_net_core::{Frame, LinkType, Timestamp};

use super::bytes::{enhanced, interface, option, section};
use super::{drain, packet, read_complete};
use crate::byte_order::ByteOrder::{Big, Little};
use crate::{CaptureInterface, CaptureReader, PcapngWriter, TimeResolution};

fn interface_of(link: u16, snap_len: u32, resolution: u8) -> CaptureInterface {
    let resolution = TimeResolution::from_tsresol(resolution);
    CaptureInterface { link: LinkType(link), snap_len, resolution }
}

fn frame<'a>(ts: Timestamp, data: &'a [u8], wire_len: u32) -> Frame<'a> {
    Frame { ts, link: LinkType::ETHERNET, data, wire_len }
}

/// Writes frames with their interfaces as they are read.
fn rewritten(bytes: Vec<u8>) -> Vec<u8> {
    let mut capture = CaptureReader::from_reader("x.pcapng", Cursor::new(bytes)).unwrap();
    let mut writer = PcapngWriter::new(Vec::new(), "test").unwrap();
    let mut ids: Vec<CaptureInterface> = Vec::new();
    while let Some((frame, interface)) = capture.read_frame_with_interface().unwrap() {
        let id = ids.iter().position(|known| *known == interface).unwrap_or_else(|| {
            ids.push(interface);
            writer.add_interface(&interface, None).unwrap() as usize
        });
        writer.write_frame(id as u32, &frame, []).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn blocks_are_those_of_the_specification() {
    let mut writer = PcapngWriter::new(Vec::new(), "me").unwrap();
    let id = writer.add_interface(&interface_of(101, 96, 9), Some("if")).unwrap();
    let ts = Timestamp::new(1, 2, 9);
    writer.write_frame(id, &frame(ts, b"abcde", 9), ["hello"]).unwrap();
    writer.write_frame(id, &frame(ts, b"", 0), []).unwrap();
    // By hand: draft-ietf-opsawg-pcapng, sections 3.1, 4.1, 4.2 and 4.3.
    let want: [&[u8]; 4] = [
        b"\x0a\x0d\x0d\x0a\x28\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\
          \x04\0\x02\0me\0\0\0\0\0\0\x28\0\0\0",
        b"\x01\0\0\0\x28\0\0\0\x65\0\0\0\x60\0\0\0\x03\0\x02\0if\0\0\x09\0\x01\0\x09\0\0\0\0\0\0\0\x28\0\0\0",
        b"\x06\0\0\0\x38\0\0\0\0\0\0\0\0\0\0\0\x02\xca\x9a\x3b\x05\0\0\0\x09\0\0\0abcde\0\0\0\
          \x01\0\x05\0hello\0\0\0\0\0\0\0\x38\0\0\0",
        b"\x06\0\0\0\x20\0\0\0\0\0\0\0\0\0\0\0\x02\xca\x9a\x3b\0\0\0\0\0\0\0\0\x20\0\0\0",
    ];
    assert_eq!(writer.finish().unwrap(), want.concat());
}

#[test]
fn frames_are_read_as_they_were_written() {
    let offset = 1_500_000_000_i64.to_be_bytes();
    for (resolution, ticks) in [
        (0, 1_600_000_000),
        (3, 1_600_000_000_123),
        (6, 1_600_000_000_123_456),
        (9, 1_600_000_000_123_456_789),
        (0x80, 1_600_000_000),
        (0x8a, (1_600_000_000 << 10) | 1023),
        (0x9d, (1_600_000_000 << 29) | 0x1fff_fffd),
    ] {
        for (order, options) in [
            (Little, vec![option(Little, 9, &[resolution])]),
            (Big, vec![option(Big, 9, &[resolution]), option(Big, 14, &offset)]),
        ] {
            let file = [
                section(order),
                interface(order, 1, 0, &[]),
                interface(order, 113, 1500, &options),
                enhanced(order, 1, ticks, b"frame", 1700),
                enhanced(order, 0, 5, b"", 0),
            ];
            let want = read_complete(file.concat());
            let written = rewritten(file.concat());
            assert_eq!(read_complete(written.clone()), want, "{resolution:#x}");
            let exact = |bytes: Vec<u8>| {
                let mut capture = CaptureReader::from_reader("x", Cursor::new(bytes)).unwrap();
                let (frame, interface) = capture.read_frame_with_interface().unwrap().unwrap();
                (frame.ts.as_nanos(), interface)
            };
            assert_eq!(exact(written), exact(file.concat()), "{resolution:#x}");
        }
    }
}

#[test]
fn units_below_a_nanosecond_become_nanoseconds() {
    for resolution in [10, 12, 19, 127, 0x9e, 0xa0, 0xff] {
        let mut writer = PcapngWriter::new(Vec::new(), "test").unwrap();
        let id = writer.add_interface(&interface_of(1, 0, resolution), None).unwrap();
        let ts = Timestamp::new(1_600_000_000, 123_456_789, 9);
        writer.write_frame(id, &frame(ts, b"x", 1), []).unwrap();
        let want = packet("2020-09-13T12:26:40.123456789Z", 1, b"x", 1);
        assert_eq!(read_complete(writer.finish().unwrap()), [want], "{resolution:#x}");
    }
}

#[test]
fn pcap_header_describes_its_interface() {
    for (magic, resolution) in [(0xa1b2_c3d4_u32, 6), (0xa1b2_3c4d, 9)] {
        let words = [magic, 2 | 4 << 16, 0, 0, 96, 101, 1, 5, 1, 60];
        let mut file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.push(0x45);
        let mut capture = CaptureReader::from_reader("x.pcap", Cursor::new(file)).unwrap();
        let (frame, interface) = capture.read_frame_with_interface().unwrap().unwrap();
        assert_eq!((frame.data, frame.wire_len), (&[0x45][..], 60));
        assert_eq!(interface, interface_of(101, 96, resolution));
    }
}

#[test]
fn comments_are_cut_at_characters() {
    let read_comment = |comment: &str| {
        let mut writer = PcapngWriter::new(Vec::new(), "").unwrap();
        let id = writer.add_interface(&interface_of(1, 0, 6), None).unwrap();
        writer.write_frame(id, &frame(Timestamp::default(), b"", 0), [comment]).unwrap();
        let bytes = writer.finish().unwrap();
        let trailer = bytes.last_chunk::<4>().unwrap();
        let block = &bytes[bytes.len() - u32::from_le_bytes(*trailer) as usize..];
        let option = &block[28..];
        let len = usize::from(u16::from_le_bytes([option[2], option[3]]));
        String::from_utf8(option[4..4 + len].to_vec()).unwrap()
    };
    let filler = |len| "x".repeat(len);
    assert_eq!(read_comment(&filler(65_536)), filler(65_535));
    assert_eq!(read_comment(&filler(65_535)), filler(65_535));
    let wide = filler(65_534) + "\u{20ac}";
    assert_eq!(read_comment(&wide), filler(65_534));
    let exact = filler(65_532) + "\u{20ac}";
    assert_eq!(read_comment(&exact), exact);
}

#[test]
fn what_no_reader_accepts_is_refused() {
    let kind = |outcome: io::Result<()>| outcome.unwrap_err().kind();
    let mut writer = PcapngWriter::new(io::sink(), "").unwrap();
    let empty = frame(Timestamp::default(), b"", 0);
    assert_eq!(kind(writer.write_frame(0, &empty, [])), io::ErrorKind::InvalidInput);
    for _ in 0..65_536 {
        writer.add_interface(&interface_of(1, 0, 6), None).unwrap();
    }
    let more = writer.add_interface(&interface_of(1, 0, 6), None);
    assert_eq!(more.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    writer.write_frame(65_535, &empty, []).unwrap();

    let longest = vec![0; 262_145];
    let long = frame(Timestamp::default(), &longest, 0);
    assert_eq!(kind(writer.write_frame(0, &long, [])), io::ErrorKind::InvalidInput);
    let comment = "x".repeat(65_535);
    let comments = |count| std::iter::repeat_n(comment.as_str(), count);
    let longest = frame(Timestamp::default(), &longest[1..], 0);
    writer.write_frame(0, &longest, comments(11)).unwrap();
    assert_eq!(kind(writer.write_frame(0, &longest, comments(12))), io::ErrorKind::InvalidInput);
}

#[test]
fn longest_block_is_read() {
    let mut writer = PcapngWriter::new(Vec::new(), "").unwrap();
    let id = writer.add_interface(&interface_of(1, 0, 6), None).unwrap();
    let (data, comment) = (vec![7; 262_144], "x".repeat(65_535));
    let longest = frame(Timestamp::default(), &data, 0);
    writer.write_frame(id, &longest, std::iter::repeat_n(comment.as_str(), 11)).unwrap();
    let bytes = Cursor::new(writer.finish().unwrap());
    let (packets, error) = drain(CaptureReader::from_reader("x.pcapng", bytes).unwrap());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(packets.len(), 1);
    assert_eq!((packets[0].data.len(), packets[0].wire_len), (262_144, 262_144));
}
