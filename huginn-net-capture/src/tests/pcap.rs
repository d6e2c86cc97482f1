//! The classic pcap format.

use super::bytes::{Bytes, pcap_header, pcap_record};
use super::{defect, packet, read_complete};
use crate::byte_order::ByteOrder::{Big, Little};
use crate::{CaptureReader, Defect, Part};
use std::io::Write;

const MICROS: u32 = 0xa1b2_c3d4;
const NANOS: u32 = 0xa1b2_3c4d;
const MODIFIED: u32 = 0xa1b2_cd34;

#[test]
fn reads_every_magic_number_and_byte_order() {
    for order in [Little, Big] {
        for (magic, first, second) in [
            (MICROS, "2020-09-13T12:26:40.000007Z", "2020-09-13T12:26:41.999999Z"),
            (NANOS, "2020-09-13T12:26:40.000000007Z", "2020-09-13T12:26:41.000999999Z"),
            (MODIFIED, "2020-09-13T12:26:40.000007Z", "2020-09-13T12:26:41.999999Z"),
        ] {
            let mut file = pcap_header(order, magic, 1);
            for (seconds, fraction, data, wire) in
                [(1_600_000_000, 7, &b"abc"[..], 3), (1_600_000_001, 999_999, b"defgh", 1500)]
            {
                let record = pcap_record(order, seconds, fraction, data, wire);
                let (head, data) = record.split_at(16);
                file.extend_from_slice(head);
                if magic == MODIFIED {
                    // Interface index, protocol, packet type and padding.
                    file.extend(Bytes::new(order).u32(2).u16(0x0800).raw(&[4, 0]).done());
                }
                file.extend_from_slice(data);
            }
            assert_eq!(read_complete(file), [packet(first, 1, b"abc", 3), packet(second, 1, b"defgh", 1500)]);
        }
    }
}

#[test]
fn link_type_ignores_upper_field_bits() {
    // The upper half of the field says that a frame check sequence of four bytes is present.
    for (network, link) in [(0, 0), (101, 101), (0x1400_0001, 1), (0xf000_0114, 276)] {
        let file = [pcap_header(Little, MICROS, network), pcap_record(Little, 0, 0, b"x", 1)].concat();
        assert_eq!(read_complete(file), [packet("1970-01-01T00:00:00.000000Z", link, b"x", 1)]);
    }
}

#[test]
fn reads_unusual_records() {
    let file = [
        pcap_header(Little, MICROS, 1),
        pcap_record(Little, 1, 0, b"", 0),
        pcap_record(Little, 1, 0, b"", 60),
        // The captured length exceeds the length on the wire.
        pcap_record(Little, 1, 0, &[7; 60], 40),
        // The fraction exceeds a second.
        pcap_record(Little, 1, 2_500_000, b"", 0),
        pcap_record(Little, u32::MAX, u32::MAX, b"", 0),
        pcap_record(Little, 1, 0, &vec![1; 262_144], u32::MAX),
    ];
    let packets = read_complete(file.concat());
    let seen: Vec<_> = packets.iter().map(|p| (p.ts.as_str(), p.data.len(), p.wire_len)).collect();
    assert_eq!(
        seen,
        [
            ("1970-01-01T00:00:01.000000Z", 0, 0),
            ("1970-01-01T00:00:01.000000Z", 0, 60),
            ("1970-01-01T00:00:01.000000Z", 60, 60),
            ("1970-01-01T00:00:01.999999Z", 0, 0),
            ("2106-02-07T06:28:15.999999Z", 0, 0),
            ("1970-01-01T00:00:01.000000Z", 262_144, u32::MAX),
        ]
    );
}

#[test]
fn accepts_capture_without_packets() {
    assert_eq!(read_complete(pcap_header(Big, NANOS, 1)), []);
}

#[test]
fn defects_name_packet_offset_and_values() {
    let header = pcap_header(Big, MICROS, 1);
    let good = pcap_record(Big, 1, 0, &[7; 60], 60);
    let too_long = Bytes::new(Big).u32s(&[1, 0, 262_145, 262_145]).raw(&[0; 1000]).done();
    assert_eq!(
        defect([&header[..], &good, &too_long].concat()),
        (2, 24 + 76, Defect::FrameLength { len: 262_145, max: 262_144 })
    );
    assert_eq!(
        defect([&header[..], &good, &good, &good[..72]].concat()),
        (3, 24 + 2 * 76, Defect::Cut { part: Part::Record, needed: 60, left: 56 })
    );
    assert_eq!(
        defect([&header[..], &good, &good[..15]].concat()),
        (2, 24 + 76, Defect::Cut { part: Part::RecordHeader, needed: 16, left: 15 })
    );
    assert_eq!(defect(&header[..23]), (1, 0, Defect::Cut { part: Part::FileHeader, needed: 24, left: 23 }));
    for (major, minor) in [(1, 4), (3, 0), (0x0200, 0x0400)] {
        let file = Bytes::new(Big).u32(MICROS).u16(major).u16(minor).raw(&[0; 16]).done();
        assert_eq!(defect(file), (1, 0, Defect::Version { major, minor }));
    }
}

#[test]
fn surplus_fraction_keeps_seconds() {
    for (magic, want) in [(MICROS, "2020-09-13T12:26:40.999999Z"), (NANOS, "2020-09-13T12:26:40.999999999Z")]
    {
        for fraction in [1_500_000_000, u32::MAX] {
            let record = pcap_record(Little, 1_600_000_000, fraction, b"x", 1);
            assert_eq!(
                read_complete([pcap_header(Little, magic, 1), record].concat()),
                [packet(want, 1, b"x", 1)]
            );
        }
    }
}

/// The frame of a record with these lengths, by the minor version of the file. tcpdump 4.99 and tshark 4.0 read the same.
#[test]
fn old_versions_have_lengths_in_another_order() {
    for (minor, first, second, wire_len) in
        [(0, 90, 60, 90), (1, 90, 60, 90), (2, 90, 60, 90), (3, 90, 60, 90), (3, 60, 90, 90), (4, 60, 90, 90)]
    {
        for order in [Big, Little] {
            let header = Bytes::new(order).u32(MICROS).u16(2).u16(minor).u32s(&[0, 0, 65_535, 1]).done();
            let record = Bytes::new(order).u32s(&[1, 0, first, second]).raw(&[7; 60]).done();
            let wanted = packet("1970-01-01T00:00:01.000000Z", 1, &[7; 60], wire_len);
            assert_eq!(
                read_complete([&header[..], &record, &record].concat()),
                [wanted.clone(), wanted],
                "2.{minor}"
            );
        }
    }
}

/// The layouts that `editcap -F rh6_1pcap`, `suse6_3pcap` and `nokiapcap` write.
#[test]
fn first_records_show_the_length_of_their_headers() {
    let frames = [&[0; 60][..], b"abc", &[0xff; 90], b"x", &[7; 60]];
    for (magic, extra) in [(MICROS, 8), (MICROS, 12), (MICROS, 4), (MICROS, 0), (MODIFIED, 8), (MODIFIED, 12)]
    {
        for order in [Little, Big] {
            for count in 2..=frames.len() {
                let mut file = pcap_header(order, magic, 1);
                let mut wanted = Vec::new();
                for (second, data) in frames.iter().take(count).enumerate() {
                    let seconds = 1_700_000_000 + u32::try_from(second).unwrap();
                    let record = pcap_record(order, seconds, 20, data, 100);
                    let (head, data) = record.split_at(16);
                    file.extend([head, &[2, 0, 0, 0, 8, 0, 4, 0, 1, 0, 0, 0][..extra], data].concat());
                    let ts = format!("2023-11-14T22:13:2{second}.000020Z");
                    wanted.push(packet(&ts, 1, data, 100));
                }
                assert_eq!(read_complete(file), wanted, "{magic:x}, {extra}, {count}");
            }
        }
    }
}

/// A pipe that has the file header alone at first, then one record after the other.
#[test]
fn records_of_a_slow_pipe_show_the_length_of_their_headers() {
    for extra in [8, 12, 4, 0] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(&pcap_header(Little, MICROS, 1)).unwrap();
        let mut capture = CaptureReader::from_reader("a pipe", reader).unwrap();
        for (second, data) in [&[0; 60][..], b"abc", &[0xff; 90], b"x"].into_iter().enumerate() {
            let record = pcap_record(Little, 1_700_000_000 + u32::try_from(second).unwrap(), 20, data, 100);
            let (head, data) = record.split_at(16);
            let whole = [head, &[2, 0, 0, 0, 8, 0, 4, 0, 1, 0, 0, 0][..extra], data].concat();
            writer.write_all(&whole).unwrap();
            let frame = capture.read_frame().unwrap().unwrap();
            // The first one may be of the usual layout.
            assert_eq!((frame.data == data, frame.data.len()), (second > 0 || extra == 0, data.len()));
            assert_eq!(frame.ts.to_string(), format!("2023-11-14T22:13:2{second}.000020Z"));
        }
        drop(writer);
        assert!(capture.read_frame().unwrap().is_none());
    }
}

/// The first two records come at once, after the file header.
#[test]
fn two_records_of_a_pipe_are_read_without_an_error() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&pcap_header(Little, MICROS, 1)).unwrap();
    let mut capture = CaptureReader::from_reader("a pipe", reader).unwrap();
    for data in [b"abc", b"def"] {
        let record = pcap_record(Little, 1_700_000_000, 20, data, 100);
        let (head, data) = record.split_at(16);
        writer.write_all(&[head, &[9; 8], data].concat()).unwrap();
    }
    drop(writer);
    for data in [b"abc", b"def"] {
        assert_eq!(capture.read_frame().unwrap().unwrap().data, data);
    }
    assert!(capture.read_frame().unwrap().is_none());
}

/// A damaged file keeps the usual layout, and its error.
#[test]
fn a_record_that_fits_no_length_keeps_the_usual_one() {
    let header = pcap_header(Little, MICROS, 1);
    let record = pcap_record(Little, 1, 0, &[7; 60], 60);
    let noise = [0xf3; 200];
    let (packet, offset, _) = defect([&header[..], &record, &noise].concat());
    assert_eq!((packet, offset), (2, 24 + 76));
}
