//! Analyses any bytes as a capture file, and reports connections, too: a byte of capture yields at most 40 bytes of JSON, and
//! an event at most the bytes that the limits count.
//!
//! Each quarter of a ratio counts as coverage, so that the fuzzer keeps what comes nearer to the limit. Each new maximum is printed.
#![no_main]

use std::io::Cursor;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use huginn_net::record::JsonEvent;
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observers};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

/// Bytes of JSON for each byte of capture.
const MAX_OUTPUT_RATIO: usize = 40;
/// Maximum length of the records that a mutation adds, in bytes.
const MAX_ADDED_LEN: usize = 4 << 10;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// Quarters of the ratios that were found, which libFuzzer reads as counters of coverage.
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static QUARTERS: [AtomicU8; MAX_OUTPUT_RATIO * 4] = [const { AtomicU8::new(0) }; MAX_OUTPUT_RATIO * 4];

/// The largest ratio so far, in hundredths.
static MAXIMUM: AtomicUsize = AtomicUsize::new(0);

fuzz_target!(|data: &[u8]| {
    let Ok(capture) = CaptureReader::from_reader("fuzz", Cursor::new(data.to_vec())) else { return };
    let mut written = 0;
    let mut analyzer = HuginnNet::builder_with(Observers::default().connections(true)).build();
    let _ = analyzer.analyze(capture, &mut |event: Event| {
        let line = JsonEvent::new(&event).to_string();
        // 0 where the bound was not computed.
        let bound = event.text_bytes as usize;
        assert!(bound == 0 || line.len() <= bound, "{} bytes, not at most {bound}: {line}", line.len());
        written += line.len() + 1;
    });
    let ratio = written * 100 / data.len();
    if MAXIMUM.fetch_max(ratio, Ordering::Relaxed) < ratio {
        eprintln!(
            "ratio {}.{:02}: {written} bytes of JSON for {} bytes of capture",
            ratio / 100,
            ratio % 100,
            data.len()
        );
    }
    assert!(written <= data.len() * MAX_OUTPUT_RATIO, "{written} bytes of JSON for {}", data.len());
    if let Some(quarter) = QUARTERS.get(ratio / 25) {
        quarter.store(1, Ordering::Relaxed);
    }
});

// Changes any bytes, or the records of a pcap file (little-endian): one is removed, changed, or repeated elsewhere.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random(u64::from(seed) << 1 | 1);
    let records = records(&data[..size]);
    if records.is_empty() || random.below(4) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut bytes = data[..size].to_vec();
    let first = random.below(records.len());
    let last = (first + random.below(4)).min(records.len() - 1);
    let (from, to) = (records[first].0, records[last].1);
    match random.below(6) {
        0 => drop(bytes.drain(from..to)),
        1 | 2 => {
            let moved = bytes[from..to].to_vec();
            let at = records[random.below(records.len())].1;
            let times = 1 + random.below(8).min(MAX_ADDED_LEN / moved.len());
            bytes.splice(at..at, moved.repeat(times));
        }
        _ => {
            let (from, to) = records[first];
            let mut content = bytes[from + RECORD_HEADER..to].to_vec();
            let len = content.len();
            let max_len = len + random.below(64).min(max_size.saturating_sub(size));
            content.resize(max_len.max(1), 0);
            let len = fuzzer_mutate(&mut content, len, max_len.max(1));
            content.truncate(len);
            for at in [from + 8, from + 12] {
                bytes[at..at + 4].copy_from_slice(&(len as u32).to_le_bytes());
            }
            bytes.splice(from + RECORD_HEADER..to, content);
        }
    }
    bytes.truncate(max_size);
    data[..bytes.len()].copy_from_slice(&bytes);
    bytes.len()
});

/// Start and end of the records of a pcap file, up to the first one that does not fit.
fn records(data: &[u8]) -> Vec<(usize, usize)> {
    let mut records = Vec::new();
    if matches!(data, [0xd4, 0xc3, 0xb2, 0xa1, ..] | [0x4d, 0x3c, 0xb2, 0xa1, ..]) {
        let mut at = FILE_HEADER;
        while let Some(header) = data.get(at..at + RECORD_HEADER) {
            let len = u32::from_le_bytes(*header[8..].first_chunk().unwrap()) as usize;
            let end = at + RECORD_HEADER + len;
            if end > data.len() {
                break;
            }
            records.push((at, end));
            at = end;
        }
    }
    records
}

/// An xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        for shift in [13, 7, 17] {
            self.0 ^= if shift == 7 { self.0 >> shift } else { self.0 << shift };
        }
        (self.0 >> 11) as usize % limit
    }
}
