#![allow(clippy::arithmetic_side_effects)]

use super::*;
use crate::FlowKey;

fn at(seconds: u64) -> Timestamp {
    Timestamp::new(seconds, 0, 0)
}

fn table(max_entries: usize, idle_seconds: u64) -> IdleMap<FlowKey, u32> {
    let idle_timeout = Duration::from_secs(idle_seconds);
    IdleMap::new(&IdleLimits { max_entries, idle_timeout, max_buffered_bytes: usize::MAX })
}

#[test]
fn entry_expires_after_idle_timeout() {
    let mut table = table(10, 300);
    let key = FlowKey::numbered(1);
    table.insert(key, at(100), 7);
    table.expire(at(400));
    assert_eq!((table.peek(&key), table.peek(&FlowKey::numbered(2))), (Some(&7), None));
    assert!(table.touch(&key, at(400)).is_some());
    table.expire(at(700));
    assert!(table.touch(&key, at(700)).is_some(), "a touch refreshes the entry");
    table.expire(at(1001));
    assert!(table.touch(&key, at(1001)).is_none());
    assert_eq!((table.peek(&key), table.counters().expired), (None, 1), "a peek does not refresh the entry");
}

#[test]
fn entry_from_far_future_expires() {
    let mut table = table(10, 300);
    table.insert(FlowKey::numbered(1), at(1_000_000), 1);
    table.insert(FlowKey::numbered(2), at(1000), 2);
    table.expire(at(1100));
    assert_eq!(table.counters().entries, 2, "time stepped back");
    table.expire(at(1301));
    table.expire(at(1401));
    assert_eq!((table.counters().entries, table.counters().expired), (0, 2));
}

#[test]
fn evicts_least_recently_used_at_limit() {
    let mut table = table(3, 300);
    for n in 0..3 {
        table.insert(FlowKey::numbered(n), at(u64::from(n)), n);
    }
    table.touch(&FlowKey::numbered(0), at(3));
    table.insert(FlowKey::numbered(3), at(4), 3);
    let present: Vec<bool> = (0..4).map(|n| table.touch(&FlowKey::numbered(n), at(5)).is_some()).collect();
    assert_eq!(present, [true, false, true, true]);
    assert_eq!(
        table.counters(),
        IdleCounters { inserted: 4, evicted: 1, entries: 3, ..IdleCounters::default() }
    );
}

#[test]
fn slab_never_exceeds_entry_limit() {
    let mut table = table(1000, 300);
    for n in 0..1_000_000 {
        table.insert(FlowKey::numbered(n), at(0), n);
    }
    assert_eq!(table.entries.len(), 1000);
    assert_eq!(table.counters().evicted, 999_000);
}

#[test]
fn evicts_oldest_at_memory_limit() {
    let mut table = IdleMap::new(&IdleLimits {
        max_entries: 10,
        idle_timeout: Duration::from_secs(300),
        max_buffered_bytes: 1000,
    });
    for n in 0..5 {
        let slot = table.insert(FlowKey::numbered(n), at(0), n).unwrap();
        table.set_buffered_bytes(slot, 100);
        table.set_buffered_bytes(slot, 300);
    }
    let present: Vec<bool> = (0..5).map(|n| table.touch(&FlowKey::numbered(n), at(0)).is_some()).collect();
    assert_eq!(present, [false, false, true, true, true]);
    let counters = table.counters();
    assert_eq!((counters.evicted_for_memory, counters.buffered_bytes), (2, 900));
    let slot = table.touch(&FlowKey::numbered(4), at(0)).unwrap();
    table.set_buffered_bytes(slot, 0);
    assert_eq!(table.counters().buffered_bytes, 600);
    table.set_buffered_bytes(slot, 2000);
    assert_eq!(
        (table.counters().entries, table.counters().buffered_bytes),
        (0, 0),
        "an entry above the limit is evicted"
    );
    table.insert(FlowKey::numbered(9), at(0), 9);
    table.clear();
    assert_eq!(table.counters().buffered_bytes, 0);
}

#[test]
fn full_partition_evicts_only_its_own_entries() {
    let idle_timeout = Duration::from_secs(300);
    let limits = IdleLimits { max_entries: 2, idle_timeout, max_buffered_bytes: 1000 };
    let mut table = IdleMap::with_partitions(&limits, 2);
    assert_eq!(
        table.insert_into(2, Phase::Open, FlowKey::numbered(9), at(0), 9),
        None,
        "there is no such partition"
    );
    table.insert_into(1, Phase::Open, FlowKey::numbered(0), at(0), 0);
    for n in 1..4 {
        table.insert_into(0, Phase::Open, FlowKey::numbered(n), at(1), n);
    }
    let present: Vec<bool> = (0..4).map(|n| table.touch(&FlowKey::numbered(n), at(1)).is_some()).collect();
    assert_eq!((present, table.counters().evicted), (vec![true, false, true, true], 1));
    let slots: Vec<Slot> = (0..4).filter_map(|n| table.touch(&FlowKey::numbered(n), at(1))).collect();
    for slot in &slots {
        table.set_buffered_bytes(*slot, 600);
    }
    assert_eq!((table.counters().evicted_for_memory, table.counters().buffered_bytes), (1, 1200));
}

#[test]
fn idle_entry_behind_busy_one_expires() {
    let limits =
        IdleLimits { max_entries: 10, idle_timeout: Duration::from_secs(300), max_buffered_bytes: 1000 };
    let mut table = IdleMap::with_partitions(&limits, 2);
    table.keep_removed(|value| *value == 2);
    // Within the interval, a touch does not move the entry to the front.
    for (n, seconds) in [(0, 0), (1, 0), (2, 0)] {
        table.insert_into(usize::from(n == 2), Phase::Open, FlowKey::numbered(n), at(seconds), n);
    }
    table.touch(&FlowKey::numbered(0), at(1));
    assert_eq!(table.idle_after(at(1)), 300 * 1_000_000_000);
    assert_eq!((table.expire_all(at(300)), table.counters().entries), (vec![], 3));
    let kept = table.expire_all(at(301));
    assert_eq!((kept.len(), table.counters().expired, table.counters().entries), (1, 1, 2));
    assert_eq!(table.take_idle(kept[0]), Some(2));
    assert_eq!((table.counters().expired, table.counters().entries), (2, 1));
}

/// The moved entries keep their order, their times and their memory: the next evictions and expirations are the same.
#[test]
fn moved_partitions_continue_as_before() {
    let limits =
        IdleLimits { max_entries: 3, idle_timeout: Duration::from_secs(300), max_buffered_bytes: 1000 };
    let filled = || {
        let mut table = IdleMap::with_partitions(&limits, 4);
        table.keep_removed(|_| true);
        for n in 0..12 {
            let slot = table
                .insert_into(n as usize % 4, Phase::Open, FlowKey::numbered(n), at(u64::from(n)), n)
                .unwrap();
            table.set_buffered_bytes(slot, 300);
        }
        table.touch(&FlowKey::numbered(2), at(20));
        table
    };
    let go_on = |table: &mut IdleMap<FlowKey, u32>, partition| {
        table.insert_into(partition, Phase::Open, FlowKey::numbered(100), at(21), 100);
        let slot = table.touch(&FlowKey::numbered(10), at(22)).unwrap();
        table.set_buffered_bytes(slot, 900);
        let evicted = table.take_removed();
        let idle = table.expire_all(at(311));
        (evicted, idle.into_iter().filter_map(|slot| table.take_idle(slot)).collect::<Vec<_>>())
    };
    let (mut whole, mut source) = (filled(), filled());
    let entries = source.take_partitions(2..4);
    assert_eq!((source.counters().entries, source.counters().buffered_bytes), (6, 1800));
    let mut moved = IdleMap::with_partitions(&limits, 2);
    moved.keep_removed(|_| true);
    moved.restore(entries, 2);
    assert_eq!(
        (moved.counters().entries, moved.counters().inserted),
        (6, 0),
        "they are counted where they began"
    );
    let (found, mut want) = (go_on(&mut moved, 0), go_on(&mut whole, 2));
    assert_eq!(want.0, [6, 2], "2 was used after 6, but 10 needs its memory");
    want.1.retain(|n| n % 4 > 1);
    assert_eq!(found, want);
}

#[test]
fn each_phase_has_its_timeout_and_its_turn() {
    let idle_timeout = Duration::from_secs(300);
    let limits = IdleLimits { max_entries: 5, idle_timeout, max_buffered_bytes: usize::MAX };
    let mut table = IdleMap::with_partitions(&limits, 1);
    table.set_idle_timeout(Phase::Ended, 2_000_000_000);
    table.set_idle_timeout(Phase::Datagrams, 120_000_000_000);
    table.set_idle_timeout(Phase::Closing, 900_000_000_000);
    let phases = [Phase::Open, Phase::Datagrams, Phase::Closing, Phase::Opening, Phase::Ended];
    for (n, phase) in (0..).zip(phases) {
        table.insert_into(0, phase, FlowKey::numbered(n), at(u64::from(n)), n);
    }
    let present = |table: &IdleMap<FlowKey, u32>| {
        (0..9).filter(|n| table.peek(&FlowKey::numbered(*n)).is_some()).collect::<Vec<_>>()
    };
    for (n, evicted) in [(5, 4), (6, 3), (7, 2), (8, 0)] {
        table.insert_into(0, Phase::Open, FlowKey::numbered(n), at(10), n);
        assert!(!present(&table).contains(&evicted), "{n}: {:?}", present(&table));
    }
    assert_eq!(present(&table), [1, 5, 6, 7, 8]);
    let slot = table.touch(&FlowKey::numbered(5), at(11)).unwrap();
    table.set_phase(slot, Phase::Ended, at(11));
    assert_eq!(table.idle_after(at(11)), 13_000_000_000);
    table.expire_all(at(14));
    assert_eq!(present(&table), [1, 6, 7, 8], "it ended two seconds ago");
    assert!(table.touch(&FlowKey::numbered(1), at(122)).is_none());
    let slot = table.touch(&FlowKey::numbered(6), at(122)).unwrap();
    table.set_phase(slot, Phase::Ended, at(122));
    table.set_phase(slot, Phase::Open, at(122));
    table.expire_all(at(310));
    assert_eq!(present(&table), [6, 7, 8], "at 310 none is older than 300 s");
    table.expire_all(at(311));
    assert_eq!(present(&table), [6], "the move to another list counts as use");
}
