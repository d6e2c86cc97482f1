//! Shows the results of each capture reader for unusual and damaged captures.

use std::io::{Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use huginn_net_capture::CaptureReader;
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};

/// Nanoseconds and captured length of each packet, and the result at the end.
type Outcome = (Vec<(u64, usize)>, String);

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for (name, bytes) in captures() {
        println!("{name}");
        for (reader, read) in
            [("own", own as fn(Vec<u8>) -> Outcome), ("pcap-parser", pcap_parser), ("pcap-file", pcap_file)]
        {
            let outcome = catch_unwind(AssertUnwindSafe(|| read(bytes.clone())));
            let (packets, end) = outcome.unwrap_or_else(|_| (Vec::new(), "panics".into()));
            println!("  {reader:12} {packets:?} {end}");
        }
    }
}

fn captures() -> Vec<(&'static str, Vec<u8>)> {
    let interface = |options: &[u32]| block(1, &[&[1, 0], options].concat());
    let packet = |ticks: u32| block(6, &[0, 0, ticks, 4, 4, 0]);
    let ng = |blocks: &[Vec<u32>]| {
        le(&[vec![0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, !0, !0, 28], blocks.concat()].concat())
    };
    let pcap = |magic: u32, snap_len: u32, records: &[u32]| {
        [&[magic, 2 | (4 << 16), 0, 0, snap_len, 1], records].concat()
    };
    vec![
        ("pcap, a record cut by the snap length", le(&pcap(0xa1b2_c3d4, 96, &[1, 2, 4, 1500, 0]))),
        ("pcap, the last record cut", le(&pcap(0xa1b2_c3d4, 96, &[1, 2, 4, 4, 0, 1, 3, 60, 60, 0]))),
        ("pcap, a record of 4 GB", le(&pcap(0xa1b2_c3d4, 96, &[1, 2, 4, 4, 0, 1, 3, !0, !0, 0]))),
        (
            "pcap, modified, big-endian",
            be(&[&[0xa1b2_cd34, (2 << 16) | 4, 0, 0, 96, 1][..], &[1, 2, 4, 4, 7, 7, 0]].concat()),
        ),
        ("pcapng, times in microseconds", ng(&[interface(&[]), packet(5)])),
        ("pcapng, times in 2^-10 s", ng(&[interface(&[9 | (1 << 16), 0x8a, 0]), packet(512)])),
        ("pcapng, time offset of -1 s", ng(&[interface(&[14 | (8 << 16), !0, !0, 0]), packet(3_000_000)])),
        ("pcapng, obsolete packet block", ng(&[interface(&[]), block(2, &[0, 0, 5, 4, 4, 0])])),
        (
            "pcapng, an unknown block of 2 MB",
            ng(&[interface(&[]), block(0x55, &vec![0; 500_000]), packet(5)]),
        ),
        ("pcapng, an unknown block cut short of 4 GB", {
            ng(&[interface(&[]), packet(5), vec![0x55, !3, 0, 0, 0]])
        }),
    ]
}

fn block(kind: u32, body: &[u32]) -> Vec<u32> {
    let len = body.len() as u32 * 4 + 12;
    [&[kind, len], body, &[len]].concat()
}

fn le(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn be(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A reader with short reads, like a pipe: first ten bytes, then the rest.
fn pipe(bytes: Vec<u8>) -> impl Read + Send + 'static {
    let rest = bytes[10..].to_vec();
    Cursor::new(bytes).take(10).chain(Cursor::new(rest))
}

fn own(bytes: Vec<u8>) -> Outcome {
    let mut packets = Vec::new();
    let mut capture = match CaptureReader::from_reader("x", pipe(bytes)) {
        Ok(capture) => capture,
        Err(error) => return (packets, error.to_string()),
    };
    loop {
        match capture.next_frame() {
            Ok(Some(frame)) => packets.push((frame.ts.as_nanos(), frame.data.len())),
            Ok(None) => return (packets, "end".into()),
            Err(error) => return (packets, error.to_string()),
        }
    }
}

fn pcap_parser(bytes: Vec<u8>) -> Outcome {
    let mut packets = Vec::new();
    let mut end = String::new();
    // It wants the whole file header, or section header block, in the first read.
    let first_read = create_reader(256 * 1024, pipe(bytes.clone())).err();
    if let Some(error) = first_read {
        end = format!("(from a pipe: {error}) ");
    }
    let mut reader = match create_reader(256 * 1024, Cursor::new(bytes)) {
        Ok(reader) => reader,
        Err(error) => return (packets, end + &error.to_string()),
    };
    let (mut nanos_per_unit, mut resolution, mut ts_offset) = (1000, None, 0);
    loop {
        let consumed = reader.consumed();
        let offset = match reader.next() {
            Ok((offset, PcapBlockOwned::LegacyHeader(header))) => {
                nanos_per_unit = if header.is_nanosecond_precision() { 1 } else { 1000 };
                offset
            }
            Ok((offset, PcapBlockOwned::Legacy(packet))) => {
                let nanos =
                    u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_usec) * nanos_per_unit;
                packets.push((nanos, packet.data.len()));
                offset
            }
            Ok((offset, PcapBlockOwned::NG(Block::InterfaceDescription(interface)))) => {
                resolution = interface.ts_resolution();
                ts_offset = interface.ts_offset();
                offset
            }
            Ok((offset, PcapBlockOwned::NG(Block::EnhancedPacket(packet)))) => {
                let Some(resolution) = resolution else {
                    return (packets, end + "knows no such time resolution");
                };
                let (seconds, fraction) = packet.decode_ts(ts_offset as u64, resolution);
                let nanos =
                    u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * 1_000_000_000 / resolution;
                packets.push((nanos, packet.caplen as usize));
                offset
            }
            Ok((offset, PcapBlockOwned::NG(_))) => offset,
            Err(PcapError::Incomplete(_)) => {
                reader.refill().unwrap();
                continue;
            }
            Err(PcapError::Eof) => return (packets, end + "end"),
            Err(error) => return (packets, format!("{end}at byte {consumed}: {error}")),
        };
        reader.consume_noshift(offset);
    }
}

fn pcap_file(bytes: Vec<u8>) -> Outcome {
    let mut packets = Vec::new();
    if bytes.starts_with(&[0x0a]) {
        let mut reader = pcap_file::pcapng::PcapNgReader::new(pipe(bytes)).unwrap();
        while let Some(block) = reader.next_block() {
            match block {
                Ok(pcap_file::pcapng::Block::EnhancedPacket(packet)) => {
                    packets.push((packet.timestamp.as_nanos() as u64, packet.data.len()));
                }
                Ok(pcap_file::pcapng::Block::Packet(packet)) => {
                    packets.push((packet.timestamp, packet.data.len()));
                }
                Ok(_) => {}
                Err(error) => return (packets, error.to_string()),
            }
        }
    } else {
        let mut reader = match pcap_file::pcap::PcapReader::new(pipe(bytes)) {
            Ok(reader) => reader,
            Err(error) => return (packets, error.to_string()),
        };
        while let Some(packet) = reader.next_packet() {
            match packet {
                Ok(packet) => packets.push((packet.timestamp.as_nanos() as u64, packet.data.len())),
                Err(error) => return (packets, error.to_string()),
            }
        }
    }
    (packets, "end".into())
}
