//! Frames in memory: as they come, looked at together, and fetched ahead.
//!
//! All are analysed for TCP by the same engine; what differs is the source. They take turns, and every one has to find
//! as much. The packets are those of the captures, so many that a core's own caches do not hold what is read of them, or
//! few enough that they do.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::Instant;

use huginn_net_core::{Event, Frame, Frames, MemoryFrames, NextFrame, Report, Source};
use huginn_net_tcp::{HuginnNetTcp, TcpObserver};
use prefetch_index::prefetch_index;

#[path = "../../packets.rs"]
mod packets;

use packets::{PAGES, Packets, Repeat, SHORT};

/// Packets of each pass, in bytes at least: those that a core's own caches hold, those that the last cache holds, which
/// others use as well, and those of which only a part lies there.
const SIZES: [usize; 3] = [512 << 10, 16 << 20, 64 << 20];
const PASSES: usize = 15;
/// Where the headers of most frames reach into the next line of the processor's cache.
const NEXT_LINE: usize = 64;

/// So many are looked at one after the other, so that they are waited for together.
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

impl<const TOGETHER: usize> Source for LookedAt<'_, TOGETHER> {
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

/// The one that comes so many later is fetched.
struct Fetched<'a, const AHEAD: usize>(&'a [Frame<'a>]);

impl<const AHEAD: usize> Source for Fetched<'_, AHEAD> {
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

/// Nanoseconds, and how much was found.
fn time(source: impl Source<Error = Infallible> + Send) -> (f64, u64) {
    let mut analyzer = HuginnNetTcp::builder().build();
    let mut sink = |event: Event<Report<TcpObserver>>| _ = black_box(event);
    let start = Instant::now();
    let events = analyzer.analyze(source, &mut sink).unwrap().events;
    (start.elapsed().as_nanos() as f64, events)
}

fn main() {
    println!("ns a packet, median (least) of {PASSES} passes in turn");
    println!("| packets | as they come | looked at, 16 | 64 | fetched, 4 ahead | 16 | 64 | `MemoryFrames` |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for (kind, captures) in [("pages", &PAGES[..]), ("short connections", &SHORT)] {
        for size in SIZES {
            let packets = Packets::from_captures(captures, Repeat::SameFlows, size, |_| true);
            let frames: Vec<_> = packets.frames().collect();
            let ways: [&dyn Fn() -> (f64, u64); 7] = [
                &|| time(Frames::new(frames.iter().copied())),
                &|| time(LookedAt::<16> { frames: &frames, left: 0 }),
                &|| time(LookedAt::<64> { frames: &frames, left: 0 }),
                &|| time(Fetched::<4>(&frames)),
                &|| time(Fetched::<16>(&frames)),
                &|| time(Fetched::<64>(&frames)),
                &|| time(MemoryFrames::new(&frames)),
            ];
            let events = ways[0]().1;
            let mut times = [const { Vec::new() }; 7];
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
