//! Compares readers of a capture file in the page cache: this project's, `pcap-parser` and `pcap-file`.
//!
//! Each reader sums captured bytes and times of all packets, and all sums must agree. The readers run in turn, and the
//! minimum of many passes counts, because the difference of a few nanoseconds a packet is less than the noise of the
//! machine.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use huginn_net_capture::CaptureReader;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, LegacyPcapReader, PcapBlockOwned, PcapError, PcapNGReader};

const PACKETS: u32 = 300_000;
const PASSES: usize = 60;
const START: u64 = 1_600_000_000;
/// Initial buffer length of this project's reader, in bytes.
const BUFFER_LEN: usize = 256 * 1024;

/// Sums of captured bytes, and of nanoseconds modulo 2^64.
type Sum = (u64, u64);

/// Frame lengths of a mixed capture: acknowledgements, full segments, and some in between.
fn mixed(n: u32) -> usize {
    match n % 8 {
        0..3 => 60,
        3..6 => 1514,
        6 => 120 + (n % 256) as usize,
        _ => 600,
    }
}

/// Minimum Ethernet frames only, which show the cost per packet without the cost per byte.
fn small(_: u32) -> usize {
    60
}

/// Seconds and nanoseconds.
fn time(n: u32) -> (u64, u32) {
    (START + u64::from(n / 100_000), n % 100_000 * 10_000)
}

fn write_pcap(path: &Path, frame_len: fn(u32) -> usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let header = [0xa1b2_3c4d_u32, 2 | (4 << 16), 0, 0, 262_144, 1];
    header.iter().for_each(|word| file.write_all(&word.to_le_bytes()).unwrap());
    let data = [0x5a; 1514];
    for n in 0..PACKETS {
        let (seconds, nanos) = time(n);
        let len = frame_len(n);
        for word in [seconds as u32, nanos, len as u32, len as u32] {
            file.write_all(&word.to_le_bytes()).unwrap();
        }
        file.write_all(&data[..len]).unwrap();
    }
}

fn write_pcapng(path: &Path, frame_len: fn(u32) -> usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let head = [0x0a0d_0d0a_u32, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
    // Ethernet, no snap length, times in nanoseconds.
    let interface = [1_u32, 32, 1, 0, 9 | (1 << 16), 9, 0, 32];
    head.iter().chain(&interface).for_each(|word| file.write_all(&word.to_le_bytes()).unwrap());
    let data = [0x5a; 1516];
    for n in 0..PACKETS {
        let (seconds, nanos) = time(n);
        let ticks = seconds * 1_000_000_000 + u64::from(nanos);
        let len = frame_len(n);
        let padded = len.next_multiple_of(4);
        let block_len = 32 + padded as u32;
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        for word in [6, block_len, 0, high, low, len as u32, len as u32] {
            file.write_all(&word.to_le_bytes()).unwrap();
        }
        file.write_all(&data[..padded]).unwrap();
        file.write_all(&block_len.to_le_bytes()).unwrap();
    }
}

fn add(sum: &mut Sum, data: &[u8], nanos: u64) {
    sum.0 += data.len() as u64;
    sum.1 = sum.1.wrapping_add(nanos);
}

fn own(path: &Path) -> Sum {
    let mut sum = (0, 0);
    let mut capture = CaptureReader::open(path).unwrap();
    while let Some(frame) = capture.next_frame().unwrap() {
        add(&mut sum, black_box(frame.data), frame.ts.as_nanos());
    }
    sum
}

fn pcap_parser_pcap(path: &Path) -> Sum {
    let mut sum = (0, 0);
    let mut reader = LegacyPcapReader::new(BUFFER_LEN, File::open(path).unwrap()).unwrap();
    loop {
        match reader.next() {
            Ok((offset, block)) => {
                if let PcapBlockOwned::Legacy(packet) = block {
                    let nanos = u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_usec);
                    add(&mut sum, black_box(packet.data), nanos);
                }
                reader.consume_noshift(offset);
            }
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(PcapError::Eof) => return sum,
            Err(error) => panic!("{error}"),
        }
    }
}

fn pcap_parser_pcapng(path: &Path) -> Sum {
    let mut sum = (0, 0);
    let mut interfaces = Vec::new();
    let mut reader = PcapNGReader::new(BUFFER_LEN, File::open(path).unwrap()).unwrap();
    loop {
        match reader.next() {
            Ok((offset, block)) => {
                match block {
                    PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                        interfaces.push((interface.ts_resolution().unwrap(), interface.ts_offset()));
                    }
                    PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                        let (resolution, ts_offset) = interfaces[packet.if_id as usize];
                        let (seconds, fraction) = packet.decode_ts(ts_offset as u64, resolution);
                        let nanos = u64::from(fraction) * 1_000_000_000 / resolution;
                        let data = &packet.data[..packet.caplen as usize];
                        add(&mut sum, black_box(data), u64::from(seconds) * 1_000_000_000 + nanos);
                    }
                    _ => {}
                }
                reader.consume_noshift(offset);
            }
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(PcapError::Eof) => return sum,
            Err(error) => panic!("{error}"),
        }
    }
}

fn pcap_file_pcap(path: &Path) -> Sum {
    let mut sum = (0, 0);
    let mut reader = pcap_file::pcap::PcapReader::new(File::open(path).unwrap()).unwrap();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        add(&mut sum, black_box(&packet.data), packet.timestamp.as_nanos() as u64);
    }
    sum
}

fn pcap_file_pcapng(path: &Path) -> Sum {
    let mut sum = (0, 0);
    let mut reader = pcap_file::pcapng::PcapNgReader::new(File::open(path).unwrap()).unwrap();
    while let Some(block) = reader.next_block() {
        if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.unwrap() {
            // It takes every time stamp for one in nanoseconds, which here it is.
            add(&mut sum, black_box(&packet.data), packet.timestamp.as_nanos() as u64);
        }
    }
    sum
}

type Reader = (&'static str, fn(&Path) -> Sum);
type Writer = fn(&Path, fn(u32) -> usize);

fn compare(format: &str, write: Writer, readers: [Reader; 3]) {
    let path = std::env::temp_dir().join(format!("capture-readers-{}.{format}", std::process::id()));
    for (sizes, frame_len) in [("mixed", mixed as fn(u32) -> usize), ("small", small)] {
        write(&path, frame_len);
        let expected = readers[0].1(&path);
        let mut least = [Duration::MAX; 3];
        for _ in 0..PASSES {
            for ((name, read), least) in readers.iter().zip(&mut least) {
                let start = Instant::now();
                let sum = read(&path);
                *least = start.elapsed().min(*least);
                assert_eq!(sum, expected, "{name}");
            }
        }
        for ((name, _), least) in readers.iter().zip(least) {
            let nanos = least.as_nanos() as f64 / f64::from(PACKETS);
            println!("{format:6} {sizes:5} {name:11} {nanos:6.1} ns/packet");
        }
    }
    fs::remove_file(&path).unwrap();
}

fn main() {
    let pcap: [Reader; 3] = [("own", own), ("pcap-parser", pcap_parser_pcap), ("pcap-file", pcap_file_pcap)];
    let pcapng: [Reader; 3] =
        [("own", own), ("pcap-parser", pcap_parser_pcapng), ("pcap-file", pcap_file_pcapng)];
    compare("pcap", write_pcap, pcap);
    compare("pcapng", write_pcapng, pcapng);
}
