use std::time::{Duration, Instant};

use super::*;
use crate::flow::FlowPartitions;
use crate::limits::{RING_BLOCKS, RING_CONGESTED_TIMEOUT, RING_RECOVERED_BLOCKS};
use crate::{DecodeConfig, Decoder, FlowLimits, Frame, Frames, LinkType, PacketClock, Timestamp};

/// The worker that sorts the block gets the lock, and wakes the one that waits for it.
#[test]
fn full_ring_waits_for_the_block_that_is_being_sorted() {
    let (cancel, mut sorter) = (CancelToken::default(), sorter());
    let ring = ring(&cancel);
    {
        let mut state = ring.lock();
        state.blocks.extend([const { None }; RING_BLOCKS]);
        state.congested_since = Instant::now().checked_sub(2 * RING_CONGESTED_TIMEOUT);
    }
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| matches!(ring.next(0, None, &mut sorter), Step::Analyze(_)));
        std::thread::sleep(Duration::from_millis(50));
        ring.lock().set_sorted(0, IndexedBlock::new(1, 2));
        ring.changed.notify_all();
        assert!(waiting.join().unwrap());
    });
}

fn sorter() -> Sorter {
    let decoder = Decoder::new(DecodeConfig::default());
    Sorter::new(&decoder, &FlowPartitions::new(&FlowLimits::default(), 1), 2)
}

/// Creates a ring for two workers, whose source never ends.
fn ring(cancel: &CancelToken) -> Ring<'_, 'static, impl Source<'static, Error: Send> + Send> {
    let frame = Frame { ts: Timestamp::default(), link: LinkType::RAW, data: &[0x45], wire_len: 1 };
    let config = RingConfig { block_bytes: 1, overflow: Overflow::Drop, reads_at_once: false };
    let sequencer = Sequencer::new(PacketClock::new(Duration::from_secs(1)), 0, 1);
    Ring::new(Frames::new(std::iter::repeat(frame)), sequencer, 2, config, cancel)
}

#[test]
fn ring_recovers_when_half_empty() {
    let (cancel, mut sorter) = (CancelToken::default(), sorter());
    let ring = ring(&cancel);
    let [fast, slow] = [0, 1];
    for _ in 0..RING_BLOCKS {
        assert!(ring.lock().congested_since.is_none());
        assert!(matches!(ring.next(fast, None, &mut sorter), Step::Analyze(_)));
    }
    assert!(ring.lock().congestion().is_some());
    ring.lock().skip_first();
    assert!(matches!(ring.next(slow, None, &mut sorter), Step::Skip(_)));
    for length in (RING_RECOVERED_BLOCKS..RING_BLOCKS - 1).rev() {
        assert!(ring.lock().congested_since.is_some());
        assert!(matches!(ring.next(slow, None, &mut sorter), Step::Analyze(_)));
        assert_eq!(ring.lock().blocks.len(), length);
    }
    assert!(ring.lock().congested_since.is_none());
}
