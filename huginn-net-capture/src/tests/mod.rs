//! Captures built byte by byte. tshark 4.0.17 and tcpdump 4.99.3 confirmed the expected values of the captures that they
//! can read.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "the test uses small numbers"
)]

mod bytes;
mod compressed;
mod damage;
mod inputs;
mod pcap;
mod pcapng;
mod processes;
mod writer;

use std::io::Cursor;

use super::{CaptureError, CaptureReader, Defect};

/// An owned frame.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Packet {
    ts: String,
    link: u16,
    data: Vec<u8>,
    wire_len: u32,
}

fn packet(ts: &str, link: u16, data: &[u8], wire_len: u32) -> Packet {
    Packet { ts: ts.to_owned(), link, data: data.to_vec(), wire_len }
}

/// Returns all packets of a capture and its error, if any. Checks that nothing follows the end or the error, and that
/// reading ahead gives the same result.
fn read(bytes: impl Into<Vec<u8>>) -> (Vec<Packet>, Option<CaptureError>) {
    let bytes = bytes.into();
    let open = || CaptureReader::from_reader("x.pcap", Cursor::new(bytes.clone()));
    match open() {
        Ok(capture) => {
            let (packets, error) = drain(capture);
            let (read_ahead, error_ahead) = drain(inputs::read_ahead(open().unwrap()));
            assert_eq!(read_ahead, packets);
            assert_eq!(format!("{error_ahead:?}"), format!("{error:?}"));
            (packets, error)
        }
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn drain(mut capture: CaptureReader) -> (Vec<Packet>, Option<CaptureError>) {
    let mut packets = Vec::new();
    let error = loop {
        match capture.read_frame() {
            Ok(Some(frame)) => packets.push(Packet {
                ts: frame.ts.to_string(),
                link: frame.link.0,
                data: frame.data.to_vec(),
                wire_len: frame.wire_len,
            }),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert_eq!(capture.packets(), packets.len() as u64);
    for _ in 0..3 {
        assert!(matches!(capture.read_frame(), Ok(None)));
    }
    (packets, error)
}

/// Returns all packets of a capture, which must have no error.
fn read_complete(bytes: impl Into<Vec<u8>>) -> Vec<Packet> {
    let (packets, error) = read(bytes);
    assert!(error.is_none(), "{error:?}");
    packets
}

/// Returns packet number, offset and defect of the error at the end of a capture.
fn defect(bytes: impl Into<Vec<u8>>) -> (u64, u64, Defect) {
    match read(bytes).1 {
        Some(CaptureError::Damaged { packet, offset, defect, .. }) => (packet, offset, defect),
        other => panic!("{other:?}"),
    }
}
