#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use proptest::prelude::*;

use super::*;
use crate::backend::{Drops, ReceiveError};
use crate::{Interface, InterfaceState};

/// Maximum delivery delay.
const MAX_DELAY: Duration = Duration::from_millis(10);
/// Frames per batch.
const BATCH_FRAMES: usize = 3;
/// Wall clock at the start, in milliseconds.
const EPOCH: u64 = 1_700_000_000_000;

/// A backend that copies all frames.
struct Copies;

impl CaptureBackend for Copies {
    fn receive(&mut self, _: &mut FrameBatch) -> Result<(), ReceiveError> {
        Ok(())
    }

    fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn drops(&mut self) -> Drops {
        Drops::default()
    }

    fn reports_link_down(&self) -> bool {
        true
    }

    fn refresh(&mut self, _: &[Interface]) -> io::Result<InterfaceState> {
        Ok(InterfaceState::Up)
    }
}

fn moment(start_time: Instant, millis: u64) -> ClockReading {
    let time = Timestamp::new((EPOCH + millis) / 1000, ((EPOCH + millis) % 1000) as u32 * 1_000_000, 9);
    ClockReading { at: start_time + Duration::from_millis(millis), time }
}

/// The frames of an interface: capture time and delivery time, in milliseconds.
type Arrivals = VecDeque<[u64; 2]>;

/// Simulates the source for this many milliseconds. Returns capture time and lending time of each frame.
fn lend_all(arrivals: &mut [Arrivals], millis: u64) -> Vec<[u64; 2]> {
    let start_time = Instant::now();
    let mut queues = FrameQueues::new(arrivals.iter().map(|_| false), moment(start_time, 0));
    let mut lent = Vec::new();
    for now in 0..millis {
        loop {
            let mut has_taken = false;
            for (slot, arrivals) in arrivals.iter_mut().enumerate() {
                if !queues.needs_frames(slot) {
                    continue;
                }
                let batch = queues.refill(slot).unwrap();
                for _ in 0..BATCH_FRAMES {
                    let Some([captured, _]) =
                        arrivals.front().copied().filter(|[_, delivered]| *delivered <= now)
                    else {
                        break;
                    };
                    arrivals.pop_front();
                    batch.push_stamped((EPOCH + captured) * 1_000_000);
                    batch.received_at = moment(start_time, now);
                    has_taken = true;
                }
                if batch.remaining() == 0 {
                    queues.mark_empty(slot, moment(start_time, now));
                }
            }
            let may_lend = queues.select(Some(MAX_DELAY));
            while queues.ready > 0 {
                let frame = queues.lend(&Copies).unwrap();
                lent.push([frame.ts.as_millis() - EPOCH, now]);
            }
            if !may_lend && !has_taken {
                break;
            }
        }
    }
    lent
}

/// Generates the frames of an interface from the gaps between captures and the delivery delays, in order.
fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop::collection::vec((0..15_u64, 0..=10_u64), 0..30).prop_map(|frames| {
        let (mut captured, mut delivered) = (0, 0);
        let index = |(gap, delay)| {
            captured += gap;
            delivered = delivered.max(captured + delay);
            [captured, delivered]
        };
        frames.into_iter().map(index).collect()
    })
}

proptest! {
    #[test]
    fn lends_frames_in_order_within_delay(mut arrivals in prop::collection::vec(arrivals(), 1..5)) {
        let mut want: Vec<u64> = arrivals.iter().flatten().map(|[captured, _]| *captured).collect();
        want.sort_unstable();
        let is_single = arrivals.len() == 1;
        let delivered: Vec<u64> = arrivals[0].iter().map(|[_, delivered]| *delivered).collect();
        let lent = lend_all(&mut arrivals, 600);
        prop_assert_eq!(lent.iter().map(|[captured, _]| *captured).collect::<Vec<_>>(), want);
        for [captured, at] in &lent {
            prop_assert!(*at <= captured + 10);
        }
        if is_single {
            prop_assert_eq!(lent.iter().map(|[_, at]| *at).collect::<Vec<_>>(), delivered);
        }
    }
}

#[test]
fn frames_do_not_wait_after_clock_step_back() {
    // The timestamp is an hour ahead of the wall clock; the source lends the frame immediately.
    let hour = 3_600_000;
    let mut arrivals = [Arrivals::from([[hour, 5], [hour + 1, 5]]), Arrivals::new()];
    assert_eq!(lend_all(&mut arrivals, 100), [[hour, 5], [hour + 1, 5]]);
    // The delay is the same while another interface is busy.
    let busy: Arrivals = (0..60).map(|at| [at, at]).collect();
    let lent = lend_all(&mut [Arrivals::from([[hour, 5], [hour + 1, 5]]), busy], 100);
    let (from_later, others): (Vec<_>, Vec<_>) =
        lent.into_iter().partition(|[captured, _]| *captured >= hour);
    assert_eq!(from_later, [[hour, 5], [hour + 1, 5]]);
    assert_eq!(others.len(), 60);
    assert!(others.iter().all(|[captured, at]| *at <= captured + 10), "{others:?}");
}

#[test]
fn keeps_order_on_both_sides_of_step() {
    let hour = 3_600_000;
    let order = |mut arrivals: [Arrivals; 2]| -> Vec<u64> {
        lend_all(&mut arrivals, 100).iter().map(|[captured, _]| *captured).collect()
    };
    let before = [Arrivals::from([[hour + 1, 5]]), Arrivals::from([[hour, 5]])];
    assert_eq!(order(before), [hour, hour + 1]);
    let after = [Arrivals::from([[hour, 20], [18, 20]]), Arrivals::from([[12, 20]])];
    assert_eq!(order(after), [hour, 12, 18]);
}

#[test]
fn timestamps_name_interface_of_frame() {
    let start_time = Instant::now();
    let mut queues = FrameQueues::new([false; 2].into_iter(), moment(start_time, 0));
    for (slot, captured) in [(0, 6), (1, 5)] {
        let batch = queues.refill(slot).unwrap();
        batch.push_stamped((EPOCH + captured) * 1_000_000);
        batch.received_at = moment(start_time, 10);
    }
    let mut lent = Vec::new();
    while queues.select(None) {
        let ts = queues.lend(&Copies).unwrap().ts;
        lent.push((ts.as_millis() - EPOCH, ts.interface()));
    }
    assert_eq!(lent, [(5, 1), (6, 0)]);
}

#[test]
fn wait_returns_remaining_delay() {
    let start_time = Instant::now();
    let mut queues = FrameQueues::new([false; 2].into_iter(), moment(start_time, 0));
    assert_eq!(queues.wait(moment(start_time, 20), MAX_DELAY), None);
    let batch = queues.refill(1).unwrap();
    batch.push_stamped((EPOCH + 15) * 1_000_000);
    batch.received_at = moment(start_time, 17);
    for (now, want) in [(17, 8), (25, 0), (99, 0)] {
        assert_eq!(queues.wait(moment(start_time, now), MAX_DELAY), Some(Duration::from_millis(want)));
    }
    // The frame waits at most the maximum delay since it was received, even if the wall clock steps.
    assert!(!queues.select(Some(MAX_DELAY)));
    queues
        .mark_empty(0, ClockReading { at: start_time + Duration::from_millis(27), ..moment(start_time, 0) });
    assert!(queues.select(Some(MAX_DELAY)));
}

/// Puts frames into a queue that were received now.
fn receive(queues: &mut FrameQueues, slot: usize, captured: &[u64], now: ClockReading) {
    let batch = queues.refill(slot).unwrap();
    captured.iter().for_each(|captured| batch.push_stamped((EPOCH + captured) * 1_000_000));
    batch.received_at = now;
}

#[test]
fn backlog_of_a_stream_comes_after_frames_of_interfaces() {
    let start_time = Instant::now();
    let mut queues = FrameQueues::new([true, false].into_iter(), moment(start_time, 0));
    let now = moment(start_time, 10_000);
    let mut lent = Vec::new();
    let lend = |queues: &mut FrameQueues, lent: &mut Vec<u64>| {
        while queues.ready > 0 {
            lent.push(queues.lend(&Copies).unwrap().ts.as_millis() - EPOCH);
        }
    };
    // The last frame of the stream is not old.
    receive(&mut queues, 0, &[1, 2, 9_999], now);
    receive(&mut queues, 1, &[9_995, 9_998], now);
    assert!(queues.select(Some(MAX_DELAY)));
    lend(&mut queues, &mut lent);
    assert!(!queues.select(Some(MAX_DELAY)), "the interface is read before");
    queues.mark_empty(1, now);
    assert!(queues.select_lagging(Some(MAX_DELAY)));
    lend(&mut queues, &mut lent);
    receive(&mut queues, 1, &[10_000], now);
    assert!(queues.select(Some(MAX_DELAY)));
    lend(&mut queues, &mut lent);
    assert!(!queues.select_lagging(Some(MAX_DELAY)));
    assert_eq!(lent, [9_995, 9_998, 1, 2, 9_999]);

    // Without an interface, two backlogs are in order.
    let mut streams = FrameQueues::new([true; 2].into_iter(), moment(start_time, 0));
    receive(&mut streams, 0, &[2], now);
    receive(&mut streams, 1, &[1], now);
    assert!(streams.select(Some(MAX_DELAY)));
    assert_eq!(streams.lend(&Copies).unwrap().ts.interface(), 1);
}
