//! Compares sources of frames in memory: without prefetching, reading ahead several frames at once, and prefetching.
//!
//! The same engine analyses TCP for each source. The sources run in turn and must yield the same number of events. The
//! packets come from the captures, in amounts that fit in a core's own caches and in amounts that do not.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Instant;

use huginn_net_core::{Event, Frame, Frames, NextFrame, Report, Source};
use huginn_net_tcp::{HuginnNetTcp, TcpObserver};
use prefetch_index::prefetch_index;

#[path = "../../packets.rs"]
mod packets;

use packets::{PAGES, Packets, Repeat, SHORT};

/// Minimum lengths of a pass, in bytes: one that fits in a core's own caches, one that fits in the shared last-level cache,
/// and one that exceeds it.
const SIZES: [usize; 3] = [512 << 10, 16 << 20, 64 << 20];
const PASSES: usize = 15;
/// Offset at which the headers of most frames reach the next cache line.
const NEXT_LINE: usize = 64;

/// Reads the first bytes of this number of frames at once, so that their cache misses overlap.
struct LookedAt<'a, const TOGETHER: usize> {
    frames: &'a [Frame<'a>],
    left: usize,
}

impl<const TOGETHER: usize> LookedAt<'_, TOGETHER> {
    #[inline(never)]
    fn look(&mut self) {
        let byte = |frame: &Frame<'_>, at: usize| frame.data.get(at).copied().unwrap_or(0);
        let some = self.frames.iter().take(TOGETHER);
        black_box(some.fold(0, |seen, frame| seen ^ byte(frame, 0) ^ byte(frame, NEXT_LINE)));
        self.left = TOGETHER;
    }
}

impl<const TOGETHER: usize> Source<'_> for LookedAt<'_, TOGETHER> {
    type Error = Infallible;

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, Infallible> {
        if self.left == 0 {
            self.look();
        }
        self.left -= 1;
        Ok(NextFrame::from_frame(self.frames.split_off_first().copied()))
    }
}

/// Prefetches the frame this number of positions ahead.
struct Fetched<'a, const AHEAD: usize>(&'a [Frame<'a>]);

impl<const AHEAD: usize> Source<'_> for Fetched<'_, AHEAD> {
    type Error = Infallible;

    #[inline]
    fn next_frame(&mut self) -> Result<NextFrame<'_>, Infallible> {
        if let Some(Frame { data, .. }) = self.0.get(AHEAD) {
            prefetch_index(data, 0);
            prefetch_index(data, NEXT_LINE);
        }
        Ok(NextFrame::from_frame(self.0.split_off_first().copied()))
    }
}

/// Nanoseconds and number of events.
fn time<'f>(source: impl Source<'f, Error = Infallible> + Send) -> (f64, u64) {
    let mut analyzer = HuginnNetTcp::builder().build();
    let mut sink = |event: Event<Report<TcpObserver>>| _ = black_box(event);
    let start = Instant::now();
    let events = analyzer.analyze(source, &mut sink).unwrap().events;
    (start.elapsed().as_nanos() as f64, events)
}

fn main() {
    println!("ns a packet, median (least) of {PASSES} passes in turn");
    println!("| packets | as they come | looked at, 16 | 64 | fetched, 4 ahead | 16 | 64 |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (kind, captures) in [("pages", &PAGES[..]), ("short connections", &SHORT)] {
        for size in SIZES {
            let packets = Packets::from_captures(captures, Repeat::SameFlows, size, |_| true);
            let frames: Vec<_> = packets.frames().collect();
            let ways: [&dyn Fn() -> (f64, u64); 6] = [
                &|| time(Frames::new(frames.iter().copied())),
                &|| time(LookedAt::<16> { frames: &frames, left: 0 }),
                &|| time(LookedAt::<64> { frames: &frames, left: 0 }),
                &|| time(Fetched::<4>(&frames)),
                &|| time(Fetched::<16>(&frames)),
                &|| time(Fetched::<64>(&frames)),
            ];
            let events = ways[0]().1;
            let mut times = [const { Vec::new() }; 6];
            for _ in 0..PASSES {
                for (way, times) in ways.iter().zip(&mut times) {
                    let (nanos, found) = way();
                    assert_eq!(found, events);
                    times.push(nanos / frames.len() as f64);
                }
            }
            print!("| {kind}, {} KiB |", packets.byte_len() >> 10);
            for times in &mut times {
                times.sort_by(f64::total_cmp);
                print!(" {:.0} ({:.0}) |", times[PASSES / 2], times[0]);
            }
            println!();
        }
    }
}
