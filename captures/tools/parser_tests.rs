//! Tests of parsers: mutated inputs, and time by the length of the input.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests may panic"
)]

use std::time::{Duration, Instant};

/// Mutated copies, unless the environment variable `MUTATED_INPUTS` has another number.
const MUTATED_INPUTS: usize = 2_000;

/// Passes mutated copies of these samples to `each`: the same ones in each run.
pub(crate) fn mutated(samples: &[&[u8]], mut each: impl FnMut(&[u8])) {
    let number = std::env::var("MUTATED_INPUTS").ok().map(|text| text.parse().unwrap());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for index in 0..number.unwrap_or(MUTATED_INPUTS) {
        let mut bytes = samples[index % samples.len()].to_vec();
        for _ in 0..=random.below(4) {
            let other = samples[random.below(samples.len())];
            random.mutate(&mut bytes, other);
        }
        each(&bytes);
    }
}

/// Asserts that reading 16 times the bytes takes less than 100 times the time: quadratic time is 256 times as long.
///
/// `input` makes an input of about this length, and `read` reads it. The shortest of several runs counts, so that other programs
/// on the machine do not.
pub(crate) fn assert_linear(name: &str, len: usize, input: impl Fn(usize) -> Vec<u8>, read: impl Fn(&[u8])) {
    let time = |bytes: &[u8]| {
        let runs = (0..7).map(|_| {
            let start = Instant::now();
            read(bytes);
            start.elapsed()
        });
        runs.min().unwrap()
    };
    let [short, long] = [len, len * 16].map(|len| time(&input(len)));
    assert!(long < short.max(Duration::from_micros(5)) * 100, "{name}: {short:?} and {long:?}");
}

/// A xorshift generator (G. Marsaglia, "Xorshift RNGs", 2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % end.max(1)
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let (at, len) = (self.below(bytes.len()), 1 + self.below(8));
        let end = (at + len).min(bytes.len());
        let byte =
            [0, 1, 0x7f, 0x80, 0xff, b'\r', b'\n', u8::try_from(self.next() >> 56).unwrap()][self.below(8)];
        match self.below(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
            1 if !bytes.is_empty() => bytes[at] = byte,
            2 => bytes.insert(at, byte),
            3 => drop(bytes.drain(at..end)),
            4 => bytes.truncate(at),
            5 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let start = self.below(other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[start..]);
            }
        }
    }
}
