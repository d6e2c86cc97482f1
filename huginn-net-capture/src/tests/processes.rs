//! Processes of frames, from blocks and options that macOS writes.

use std::io::Cursor;

use huginn_net_core::{ProcessEnd, ProcessOrigin};

use super::bytes::{Bytes, block, enhanced, interface, option, section, simple};
use super::read_complete;
use crate::byte_order::ByteOrder::{self, Big, Little};
use crate::{CaptureError, CaptureReader, Defect};

const ETHERNET: u16 = 1;
const PROCESS: u16 = 0x8001;
const EFFECTIVE: u16 = 0x8003;
const FLAGS: u16 = 2;

/// A process information block with a name.
fn process(order: ByteOrder, name: &str) -> Vec<u8> {
    let body = Bytes::new(order).u32(4711).raw(&option(order, 2, name.as_bytes())).raw(&[0; 4]).done();
    block(order, 0x8000_0001, &body)
}

fn word(order: ByteOrder, code: u16, value: u32) -> Vec<u8> {
    option(order, code, &Bytes::new(order).u32(value).done())
}

/// An enhanced packet block of three bytes with options.
fn packet(order: ByteOrder, options: &[Vec<u8>]) -> Vec<u8> {
    let head = Bytes::new(order).u32s(&[0, 0, 1, 3, 3]).raw(b"abc\0");
    block(order, 6, &head.raw(&options.concat()).done())
}

type Named = Option<(String, ProcessEnd)>;

fn named(name: &str, end: ProcessEnd) -> Named {
    Some((name.to_owned(), end))
}

/// The process of each frame, or the error.
fn processes(file: &[u8]) -> Vec<Result<Named, CaptureError>> {
    let mut capture = CaptureReader::from_reader("x.pcapng", Cursor::new(file.to_vec())).unwrap();
    let mut all = Vec::new();
    while let Some(labelled) = capture.read_labelled_frame().unwrap() {
        all.push(labelled.process.map(|process| {
            let process = process?;
            assert_eq!(process.origin, ProcessOrigin::ProcessBlock);
            Some((String::from_utf8(process.name.to_vec()).unwrap(), process.end))
        }));
    }
    assert_eq!(read_complete(file).len(), all.len(), "processes change no frame");
    all
}

#[test]
fn packet_options_name_process_and_direction() {
    for order in [Little, Big] {
        let file = [
            section(order),
            interface(order, ETHERNET, 0, &[]),
            process(order, "com.apple.WebKit"),
            process(order, "Safari"),
            process(order, ""),
            packet(order, &[word(order, PROCESS, 0), word(order, FLAGS, 2)]),
            packet(order, &[word(order, FLAGS, 1), word(order, PROCESS, 0), word(order, EFFECTIVE, 1)]),
            packet(order, &[option(order, 1, b"a comment"), word(order, PROCESS, 1)]),
            packet(order, &[word(order, PROCESS, 0), word(order, EFFECTIVE, 2)]),
            packet(order, &[word(order, PROCESS, 2)]),
            packet(order, &[option(order, 0, b""), word(order, PROCESS, 0)]),
            enhanced(order, 0, 1, b"abc", 3),
            simple(order, b"abc", 3),
        ];
        let found: Vec<Named> = processes(&file.concat()).into_iter().map(Result::unwrap).collect();
        let want = [
            named("com.apple.WebKit", ProcessEnd::Sender),
            named("Safari", ProcessEnd::Receiver),
            named("Safari", ProcessEnd::Unknown),
            named("com.apple.WebKit", ProcessEnd::Unknown),
            None,
            None,
            None,
            None,
        ];
        assert_eq!(found, want);
    }
}

#[test]
fn processes_are_those_of_the_section() {
    let part = |name| {
        [
            section(Little),
            interface(Little, ETHERNET, 0, &[]),
            process(Little, name),
            packet(Little, &[word(Little, PROCESS, 0)]),
        ]
        .concat()
    };
    let found = processes(&[part("one"), part("two")].concat());
    let found: Vec<Named> = found.into_iter().map(Result::unwrap).collect();
    assert_eq!(found, [named("one", ProcessEnd::Unknown), named("two", ProcessEnd::Unknown)]);
}

#[test]
fn damaged_process_is_error_of_its_frame_alone() {
    let damaged = [
        (packet(Little, &[word(Little, PROCESS, 1)]), Defect::UnknownProcess { index: 1, known: 1 }),
        (
            packet(Little, &[option(Little, PROCESS, b"ab")]),
            Defect::OptionLength { code: PROCESS, len: 2, left: 4 },
        ),
        (
            packet(Little, &[Bytes::new(Little).u16(1).u16(99).done()]),
            Defect::OptionLength { code: 1, len: 99, left: 0 },
        ),
    ];
    for (block, want) in damaged {
        let head = [section(Little), interface(Little, ETHERNET, 0, &[]), process(Little, "curl")].concat();
        let good = packet(Little, &[word(Little, PROCESS, 0)]);
        let found = processes(&[head.as_slice(), &good, &block, &good].concat());
        let [Ok(first), Err(CaptureError::Damaged { packet, offset, defect, .. }), Ok(last)] = &found[..]
        else {
            panic!("{found:?}");
        };
        assert_eq!((first, last), (&named("curl", ProcessEnd::Unknown), first));
        assert_eq!((*packet, *offset), (2, (head.len() + good.len()) as u64));
        assert_eq!(format!("{defect:?}"), format!("{want:?}"));
    }
}

#[test]
fn damaged_process_block_is_error_of_next_frame() {
    let head = [section(Little), interface(Little, ETHERNET, 0, &[])].concat();
    let option = Bytes::new(Little).u32(7).u16(2).u16(99).done();
    let good = [process(Little, "curl"), packet(Little, &[word(Little, PROCESS, 1)])].concat();
    let found = processes(&[head.clone(), block(Little, 0x8000_0001, &option), good.clone(), good].concat());
    let [Err(CaptureError::Damaged { packet: 1, offset, defect, .. }), Ok(last)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(*offset, head.len() as u64);
    assert!(matches!(defect, Defect::OptionLength { code: 2, len: 99, left: 0 }), "{defect:?}");
    assert_eq!(last, &named("curl", ProcessEnd::Unknown), "the damaged block counts as a process");
}

#[test]
fn number_of_processes_is_limited() {
    let block = process(Little, "a");
    let blocks = block.repeat(crate::limits::MAX_PROCESSES + 1);
    let last = packet(Little, &[word(Little, PROCESS, 0)]);
    let file = [section(Little), interface(Little, ETHERNET, 0, &[]), blocks, last.clone(), last].concat();
    let found = processes(&file);
    assert!(
        matches!(&found[0], Err(CaptureError::Damaged { defect: Defect::TooManyProcesses { .. }, .. })),
        "{:?}",
        found[0]
    );
    assert_eq!(found[1].as_ref().unwrap(), &named("a", ProcessEnd::Unknown));
}

#[test]
fn long_name_is_cut() {
    let head = [section(Little), interface(Little, ETHERNET, 0, &[]), process(Little, &"a".repeat(9000))];
    let found = processes(&[head.concat(), packet(Little, &[word(Little, PROCESS, 0)])].concat());
    assert_eq!(found[0].as_ref().unwrap().as_ref().unwrap().0, "a".repeat(255));
}
