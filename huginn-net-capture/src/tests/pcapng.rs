//! The pcapng format.

use std::io::Cursor;

use super::bytes::{Bytes, block, enhanced, interface, option, section, simple};
use super::{Packet, defect, packet, read, read_complete};
use crate::byte_order::ByteOrder::{self, Big, Little};
use crate::{CaptureReader, Defect, Part};

const ETHERNET: u16 = 1;
const RAW: u16 = 101;

/// Builds a capture of one section with one Ethernet interface.
fn capture(order: ByteOrder, blocks: &[Vec<u8>]) -> Vec<u8> {
    [section(order), interface(order, ETHERNET, 0, &[]), blocks.concat()].concat()
}

fn times(packets: &[Packet]) -> Vec<&str> {
    packets.iter().map(|packet| packet.ts.as_str()).collect()
}

#[test]
fn interfaces_have_their_own_link_type_and_clock() {
    for order in [Little, Big] {
        let offset = Bytes::new(order);
        let offset = match order {
            Little => offset.raw(&1_500_000_000_i64.to_le_bytes()),
            Big => offset.raw(&1_500_000_000_i64.to_be_bytes()),
        };
        let file = [
            section(order),
            interface(order, ETHERNET, 0, &[option(order, 2, b"eth0")]),
            enhanced(order, 0, 1_600_000_000_000_001, b"one", 3),
            interface(order, RAW, 96, &[option(order, 9, &[9])]),
            interface(order, 113, 0, &[option(order, 9, &[0x94]), option(order, 14, &offset.done())]),
            enhanced(order, 1, 1_600_000_000_000_000_002, b"four", 1500),
            enhanced(order, 2, 100_000_000 << 20, b"fives", 5),
            enhanced(order, 0, 1_600_000_000_000_003, b"", 0),
        ];
        let want = [
            packet("2020-09-13T12:26:40.000001Z", ETHERNET, b"one", 3),
            packet("2020-09-13T12:26:40.000000002Z", RAW, b"four", 1500),
            packet("2020-09-13T12:26:40.0000000Z", 113, b"fives", 5),
            packet("2020-09-13T12:26:40.000003Z", ETHERNET, b"", 0),
        ];
        assert_eq!(read_complete(file.concat()), want);
    }
}

#[test]
fn new_section_resets_interfaces_and_byte_order() {
    let first = capture(Little, &[enhanced(Little, 0, 1, b"ab", 2)]);
    let second =
        [section(Big), interface(Big, RAW, 0, &[option(Big, 9, &[9])]), enhanced(Big, 0, 2, b"cd", 2)];
    let third = capture(Little, &[enhanced(Little, 0, 3, b"ef", 2)]);
    assert_eq!(
        read_complete([first, second.concat(), third].concat()),
        [
            packet("1970-01-01T00:00:00.000001Z", ETHERNET, b"ab", 2),
            packet("1970-01-01T00:00:00.000000002Z", RAW, b"cd", 2),
            packet("1970-01-01T00:00:00.000003Z", ETHERNET, b"ef", 2),
        ]
    );
    // The second section has not described an interface.
    let orphan = [capture(Little, &[]), section(Big), enhanced(Big, 0, 1, b"x", 1)].concat();
    assert_eq!(defect(orphan), (1, 28 + 20 + 28, Defect::UnknownInterface { id: 0, known: 0 }));
}

#[test]
fn simple_packet_uses_last_time_and_snap_length() {
    let file = [
        section(Big),
        interface(Big, RAW, 4, &[]),
        simple(Big, b"abc", 3),
        enhanced(Big, 0, 5_000_000, b"", 0),
        simple(Big, b"abcd", 9),
        simple(Big, b"", 0),
    ];
    assert_eq!(
        read_complete(file.concat()),
        [
            packet("1970-01-01T00:00:00Z", RAW, b"abc", 3),
            packet("1970-01-01T00:00:05.000000Z", RAW, b"", 0),
            packet("1970-01-01T00:00:05.000000Z", RAW, b"abcd", 9),
            packet("1970-01-01T00:00:05.000000Z", RAW, b"", 0),
        ]
    );
}

#[test]
fn obsolete_packet_blocks_are_packets() {
    for order in [Little, Big] {
        let body = Bytes::new(order).u16(0).u16(0xffff).u32s(&[0, 1_000_001, 5, 60]).raw(b"abcde").done();
        let file = capture(order, &[block(order, 2, &body)]);
        assert_eq!(read_complete(file), [packet("1970-01-01T00:00:01.000001Z", ETHERNET, b"abcde", 60)]);
    }
}

#[test]
fn skips_other_blocks() {
    let with_options = {
        let fixed = Bytes::new(Little).u32s(&[0, 0, 7, 3, 3]).raw(b"abc").padded();
        let options = [option(Little, 1, b"a comment"), option(Little, 2, &[0; 4]), option(Little, 0, b"")];
        block(Little, 6, &fixed.raw(&options.concat()).done())
    };
    let file = capture(
        Little,
        &[
            // Name resolution, interface statistics, secrets, custom, unknown, the empty block.
            block(Little, 4, &[1; 40]),
            block(Little, 5, &[2; 12]),
            block(Little, 10, &[3; 80_000]),
            block(Little, 0xbad, &[4; 7]),
            block(Little, 0x7fff_ffff, &vec![5; 20 << 20]),
            block(Little, 0, b""),
            with_options,
        ],
    );
    assert_eq!(read_complete(file), [packet("1970-01-01T00:00:00.000007Z", ETHERNET, b"abc", 3)]);
}

#[test]
fn reads_unusual_blocks() {
    let more_captured_than_sent = enhanced(Little, 0, 1, &[9; 60], 40);
    // A length that excludes the padding, although the padding is present.
    let mut unaligned = enhanced(Little, 0, 2, &[9; 61], 61);
    let len = unaligned.len();
    unaligned[4] = 32 + 61;
    let mut unaligned_twice = unaligned.clone();
    unaligned_twice[len - 4] = 32 + 61;
    let file = capture(
        Little,
        &[more_captured_than_sent, unaligned, unaligned_twice, enhanced(Little, 0, 3, b"", 0)],
    );
    let packets = read_complete(file);
    assert_eq!(
        times(&packets),
        [
            "1970-01-01T00:00:00.000001Z",
            "1970-01-01T00:00:00.000002Z",
            "1970-01-01T00:00:00.000002Z",
            "1970-01-01T00:00:00.000003Z"
        ]
    );
    assert_eq!(packets[0].wire_len, 60);
}

#[test]
fn defects_name_packet_offset_and_values() {
    let good = enhanced(Little, 0, 1, &[7; 60], 60);
    let after_good = 28 + 20 + 92;
    let edited = |at: usize, value: u32| {
        let mut bad = good.clone();
        bad[at..at + 4].copy_from_slice(&value.to_le_bytes());
        bad
    };
    let raw_block = |kind: u32, len: u32| Bytes::new(Little).u32s(&[kind, len]).raw(&[0; 64]).done();
    let section_with = |magic: u32, major: u16| {
        let body = Bytes::new(Little).u32(magic).u16(major).u16(7).raw(&[0xff; 8]).done();
        block(Little, 0x0a0d_0d0a, &body)
    };
    let long_frame = enhanced(Little, 0, 1, &vec![1; 262_145], 262_145);
    for (bad, want) in [
        (edited(4, 0), Defect::BlockLength { len: 0, min: 32 }),
        (edited(4, 31), Defect::BlockLength { len: 31, min: 32 }),
        (raw_block(0x55, 11), Defect::BlockLength { len: 11, min: 12 }),
        (raw_block(3, 12), Defect::BlockLength { len: 12, min: 16 }),
        (raw_block(1, 16), Defect::BlockLength { len: 16, min: 20 }),
        (edited(4, 2_000_000), Defect::BlockTooLong { len: 2_000_000, max: 1 << 20 }),
        (edited(88, 12), Defect::BlockTrailer { len: 92, trailer: 12 }),
        (edited(8, 1), Defect::UnknownInterface { id: 1, known: 1 }),
        (edited(20, 61), Defect::FrameBeyondBlock { len: 61, room: 60 }),
        (edited(20, u32::MAX), Defect::FrameBeyondBlock { len: u32::MAX, room: 60 }),
        (long_frame, Defect::FrameLength { len: 262_145, max: 262_144 }),
        (simple(Little, &[1; 8], 9), Defect::FrameBeyondBlock { len: 9, room: 8 }),
        (section_with(0x1a2b_3c4e, 1), Defect::ByteOrderMagic { found: 0x4e3c_2b1a }),
        (section_with(0x1a2b_3c4d, 2), Defect::Version { major: 2, minor: 7 }),
        (
            interface(Little, 1, 0, &[option(Little, 9, &[6, 6])]),
            Defect::OptionLength { code: 9, len: 2, left: 4 },
        ),
        (
            interface(Little, 1, 0, &[option(Little, 14, &[0; 4])]),
            Defect::OptionLength { code: 14, len: 4, left: 4 },
        ),
        (
            interface(Little, 1, 0, &[Bytes::new(Little).u16(2).u16(100).u32(0).done()]),
            Defect::OptionLength { code: 2, len: 100, left: 4 },
        ),
        (good[..91].to_vec(), Defect::Cut { part: Part::Block, needed: 92, left: 91 }),
        (good[..11].to_vec(), Defect::Cut { part: Part::BlockHeader, needed: 12, left: 11 }),
        (raw_block(0x55, u32::MAX - 3), Defect::Cut { part: Part::Block, needed: 0xffff_fffc, left: 72 }),
    ] {
        assert_eq!(defect(capture(Little, &[good.clone(), bad])), (2, after_good, want));
    }
}

#[test]
fn interfaces_are_capped() {
    let many = interface(Little, 1, 0, &[]).repeat(65_536);
    let last = enhanced(Little, 65_535, 0, b"x", 1);
    let full = [section(Little), many].concat();
    assert_eq!(read([&full[..], &last].concat()).0.len(), 1);
    let over = [full, interface(Little, 1, 0, &[])].concat();
    assert_eq!(defect(over).2, Defect::TooManyInterfaces { max: 65_536 });
}

#[test]
fn other_records_count_for_packet_numbers() {
    let other = |kind: u32| block(Little, kind, &[0; 24]);
    let packet = || enhanced(Little, 0, 1, b"x", 1);
    let blocks = [
        packet(),
        other(0xbad),
        other(0x4000_0bad),
        // Statistics and name resolution are not records.
        other(5),
        other(4),
        packet(),
        other(9),
        other(0x204),
        other(0x216),
        packet(),
        packet(),
    ];
    let file = capture(Little, &blocks);
    let mut reader = CaptureReader::from_reader("x", Cursor::new(file.clone())).unwrap();
    let mut others = Vec::new();
    while let Some(frame) = reader.read_frame().unwrap() {
        others.push(frame.ts.other_records());
    }
    assert_eq!(others, [0, 2, 3, 0]);
    assert_eq!(defect([file, vec![0; 5]].concat()).0, 10);
}

#[test]
fn key_logs_are_read_wherever_they_are() {
    for order in [Little, Big] {
        let secrets = |kind: u32, text: &[u8]| {
            let body = Bytes::new(order).u32(kind).u32(u32::try_from(text.len()).unwrap()).raw(text);
            let padding = vec![0; text.len().next_multiple_of(4) - text.len()];
            block(order, 10, &body.raw(&padding).done())
        };
        let key_log = |text: &[u8]| secrets(0x544c_534b, text);
        let frame = || enhanced(order, 0, 1, b"ab", 2);
        let first = [key_log(b"one"), secrets(0x5353_484b, b"ssh"), frame(), key_log(b"two")].concat();
        let middle = [frame(), key_log(b"three"), frame()].concat();
        let last = [frame(), key_log(b"four"), block(order, 5, &[0; 12])].concat();
        let file = tempfile(&capture(order, std::slice::from_ref(&last)));
        let file_with_middle = tempfile(&capture(order, std::slice::from_ref(&middle)));
        let file_without = tempfile(&capture(order, &[frame(), frame()]));
        let other = if order == Little { Big } else { Little };
        let long = || enhanced(order, 0, 1, &[0; 20_000], 20_000);
        let of_other_order = capture(other, &[enhanced(other, 0, 1, b"ab", 2)]);
        let sections = [of_other_order, capture(order, &[long(), middle.clone(), long()])].concat();
        let file_with_sections = tempfile(&sections);
        let file_of_damage = tempfile(&[capture(order, &[frame()]), vec![0; 12], middle.clone()].concat());
        for (blocks, path, texts, is_found) in [
            (&first, None, vec!["one", "two"], true),
            (&middle, None, vec!["three"], false),
            (&middle, Some(&*file_with_middle), vec!["three"], true),
            (&middle, Some(&*file_with_sections), vec!["three"], true),
            (&middle, Some(&*file_without), vec!["three"], false),
            (&middle, Some(&*file_of_damage), vec!["three"], false),
            (&last, None, vec!["four"], false),
            (&last, Some(&*file), vec!["four"], true),
        ] {
            let open =
                || CaptureReader::from_reader("a", Cursor::new(capture(order, std::slice::from_ref(blocks))));
            assert_eq!(open().unwrap().has_secrets(path), is_found, "{texts:?}");
            let mut found = Vec::new();
            let read =
                open().unwrap().read_key_logs(|text| found.push(String::from_utf8(text.to_vec()).unwrap()));
            assert!(read.is_ok());
            assert_eq!(found, texts);
            let mut reader = open().unwrap();
            while reader.read_frame().unwrap().is_some() {}
            // Blocks of other secrets count, too.
            assert!(reader.secrets_blocks() >= texts.len() as u64);
        }
        for (blocks, on_the_way, is_at_an_end) in [
            (&first, vec![("one", 0), ("two", 1)], true),
            (&middle, vec![("three", 1)], false),
            (&last, vec![("four", 1)], true),
        ] {
            let bytes = capture(order, std::slice::from_ref(blocks));
            let (sender, receiver) = std::sync::mpsc::channel();
            let reader = CaptureReader::from_reader("a", Cursor::new(bytes.clone())).unwrap();
            let mut end = Cursor::new(bytes);
            end.set_position(7);
            assert_eq!(reader.has_secrets_at_ends(end).unwrap(), is_at_an_end, "{on_the_way:?}");
            let mut reader =
                reader.on_key_log(move |text, packets| sender.send((text.to_vec(), packets)).unwrap());
            while reader.read_frame().unwrap().is_some() {}
            drop(reader);
            let found: Vec<_> = receiver.iter().collect();
            let wanted = on_the_way.iter().map(|(text, packets)| (text.as_bytes().to_vec(), *packets));
            assert_eq!(found, wanted.collect::<Vec<_>>());
        }
        for file in [file, file_with_middle, file_with_sections, file_without, file_of_damage] {
            std::fs::remove_file(file).unwrap();
        }
    }
}

/// Writes a file with these bytes and returns its path.
fn tempfile(bytes: &[u8]) -> std::path::PathBuf {
    let name = format!("huginn-net-secrets-{}-{:p}", std::process::id(), bytes);
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}
