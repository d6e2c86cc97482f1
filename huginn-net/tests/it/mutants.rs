//! Analyses mutants of the captures: bytes changed, cut, repeated and spliced. Whatever they hold, the analysis ends, any number of
//! workers reports the same, and the output is bounded.

use std::fs;
use std::io::Cursor;

use crate::captures;
use huginn_net::record::JsonEvent;
use huginn_net::record::formats::{EventFormat, FormattedEvent};
use huginn_net::{CaptureReader, Event, HuginnNet};

/// Mutants of each capture.
const MUTANTS: u64 = 6;
/// The largest captures take most of the time and have no other bytes than the others.
const MAX_CAPTURE_LEN: usize = 64 << 10;
/// Bytes of output for each byte of capture, in each format, and those of a capture with one frame.
const MAX_OUTPUT_RATIO: usize = 40;
const MIN_OUTPUT_LIMIT: usize = 16 << 10;

/// The formats beside JSON.
const FORMATS: [EventFormat; 4] = [EventFormat::Eve, EventFormat::Zeek, EventFormat::Ecs, EventFormat::Ocsf];

#[test]
fn workers_agree_and_output_is_bounded() {
    let originals: Vec<(String, Vec<u8>)> = captures::with_extension(&["pcap", "pcapng"])
        .iter()
        .map(|path| (path.display().to_string(), fs::read(path).unwrap()))
        .filter(|(_, bytes)| bytes.len() <= MAX_CAPTURE_LEN)
        .collect();
    assert!(originals.len() > 80, "the captures are missing");
    for (i, (name, bytes)) in originals.iter().enumerate() {
        let other = &originals[(i + 1) % originals.len()].1;
        for seed in 0..MUTANTS {
            let mutant = mutant(bytes, other, (i as u64) << 8 | seed);
            let mut others = [0; FORMATS.len()];
            let lines = analyze(&mutant, 1, |event| {
                for (format, len) in FORMATS.into_iter().zip(&mut others) {
                    *len += FormattedEvent::new(format, event).to_string().len() + 1;
                }
            });
            assert!(
                lines == analyze(&mutant, 3, |_| {}),
                "{name}, mutant {seed}: three workers report something else"
            );
            let json: usize = lines.iter().map(|line| line.len() + 1).sum();
            let limit = mutant.len() * MAX_OUTPUT_RATIO + MIN_OUTPUT_LIMIT;
            let written = others.into_iter().chain([json]).max();
            assert!(
                written < Some(limit),
                "{name}, mutant {seed}: {json} and {others:?} bytes, {limit} allowed"
            );
        }
    }
}

/// The events as JSON, then the error that ended the capture.
fn analyze(capture: &[u8], workers: usize, mut each: impl FnMut(&Event)) -> Vec<String> {
    let Ok(reader) = CaptureReader::from_reader("mutant", Cursor::new(capture.to_vec())) else {
        return Vec::new();
    };
    let mut analyzer = HuginnNet::builder().workers(workers).block_bytes(4096).build();
    let mut lines = Vec::new();
    let outcome = analyzer.analyze(reader, &mut |event: Event| {
        each(&event);
        lines.push(JsonEvent::new(&event).to_string());
    });
    lines.extend(outcome.err().map(|error| error.to_string()));
    lines
}

/// Changes a capture in one of six ways.
fn mutant(bytes: &[u8], other: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut bytes = bytes.to_vec();
    match seed % 6 {
        0 => (0..20).for_each(|_| flip(&mut bytes, &mut random)),
        1 => (0..400).for_each(|_| flip(&mut bytes, &mut random)),
        2 => bytes.truncate(random.below(bytes.len())),
        3 => {
            let (from, to) = (random.below(bytes.len()), random.below(other.len()));
            bytes.truncate(from);
            bytes.extend(&other[to..]);
        }
        4 => {
            let from = random.below(bytes.len());
            let piece = bytes[from..(from + 200).min(bytes.len())].to_vec();
            for _ in 0..8 {
                let at = random.below(bytes.len());
                bytes.splice(at..at, piece.iter().copied());
            }
        }
        _ => {
            for _ in 0..40 {
                let at = 24 + random.below(bytes.len().saturating_sub(24));
                // Values at which lengths and numbers wrap.
                let value = [0, 0xff, 0x7f, 0x80, 1][random.below(5)];
                let end = (at + 2).min(bytes.len());
                bytes[at..end].fill(value);
            }
        }
    }
    bytes
}

/// Changes one bit after the header of the file.
fn flip(bytes: &mut [u8], random: &mut Random) {
    let at = 24 + random.below(bytes.len().saturating_sub(24));
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

/// Xorshift of 64 bits.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below a limit; 0 for a limit of 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}
