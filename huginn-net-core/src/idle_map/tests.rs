#![allow(clippy::arithmetic_side_effects)]

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::FlowKey;

fn at(seconds: u64) -> Timestamp {
    Timestamp::new(seconds, 0, 0)
}

fn table(max_entries: usize, idle_seconds: u64) -> IdleMap<FlowKey, u32> {
    let idle_timeout = Duration::from_secs(idle_seconds);
    IdleMap::new(&IdleLimits { max_entries, idle_timeout, max_held_bytes: usize::MAX })
}

#[test]
fn an_idle_flow_ends_on_packet_time_and_not_before() {
    let mut table = table(10, 300);
    let key = FlowKey::numbered(1);
    table.insert(key, at(100), 7);
    table.expire(at(400));
    assert_eq!((table.peek(&key), table.peek(&FlowKey::numbered(2))), (Some(&7), None));
    assert!(table.touch(&key, at(400)).is_some());
    table.expire(at(700));
    assert!(table.touch(&key, at(700)).is_some(), "touching renews");
    table.expire(at(1001));
    assert!(table.touch(&key, at(1001)).is_none());
    assert_eq!((table.peek(&key), table.counters().expired), (None, 1), "peeking renews nothing");
}

#[test]
fn a_time_stamp_far_in_the_future_keeps_no_flow_for_ever() {
    let mut table = table(10, 300);
    table.insert(FlowKey::numbered(1), at(1_000_000), 1);
    table.insert(FlowKey::numbered(2), at(1000), 2);
    table.expire(at(1100));
    assert_eq!(table.counters().held, 2, "time stepped back");
    table.expire(at(1301));
    table.expire(at(1401));
    assert_eq!((table.counters().held, table.counters().expired), (0, 2));
}

#[test]
fn the_least_recently_seen_goes_first_at_the_limit() {
    let mut table = table(3, 300);
    for n in 0..3 {
        table.insert(FlowKey::numbered(n), at(u64::from(n)), n);
    }
    table.touch(&FlowKey::numbered(0), at(3));
    table.insert(FlowKey::numbered(3), at(4), 3);
    let held: Vec<bool> = (0..4).map(|n| table.touch(&FlowKey::numbered(n), at(5)).is_some()).collect();
    assert_eq!(held, [true, false, true, true]);
    assert_eq!(
        table.counters(),
        IdleCounters { inserted: 4, evicted: 1, held: 3, ..IdleCounters::default() }
    );
}

#[test]
fn a_million_flows_use_no_more_entries_than_the_limit() {
    let mut table = table(1000, 300);
    for n in 0..1_000_000 {
        table.insert(FlowKey::numbered(n), at(0), n);
    }
    assert_eq!(table.entries.len(), 1000);
    assert_eq!(table.counters().evicted, 999_000);
}

#[test]
fn flows_that_take_up_too_much_memory_go_oldest_first() {
    let mut table = IdleMap::new(&IdleLimits {
        max_entries: 10,
        idle_timeout: Duration::from_secs(300),
        max_held_bytes: 1000,
    });
    for n in 0..5 {
        let slot = table.insert(FlowKey::numbered(n), at(0), n).unwrap();
        table.note_held(slot, 100);
        table.note_held(slot, 300);
    }
    let held: Vec<bool> = (0..5).map(|n| table.touch(&FlowKey::numbered(n), at(0)).is_some()).collect();
    assert_eq!(held, [false, false, true, true, true]);
    let counters = table.counters();
    assert_eq!((counters.evicted_for_memory, counters.held_bytes), (2, 900));
    let slot = table.touch(&FlowKey::numbered(4), at(0)).unwrap();
    table.note_held(slot, 0);
    assert_eq!(table.counters().held_bytes, 600);
    table.note_held(slot, 2000);
    assert_eq!(
        (table.counters().held, table.counters().held_bytes),
        (0, 0),
        "one that is too big alone goes"
    );
    table.insert(FlowKey::numbered(9), at(0), 9);
    table.clear();
    assert_eq!(table.counters().held_bytes, 0);
}

#[test]
fn of_what_is_taken_in_the_oldest_go_for_want_of_room() {
    let fill = |max_entries, max_held_bytes| {
        let mut all = table(10, 300);
        for n in 0..5 {
            let slot = all.insert(FlowKey::numbered(n), at(u64::from(n)), n).unwrap();
            all.note_held(slot, 50);
        }
        let idle_timeout = Duration::from_secs(300);
        let mut part = IdleMap::new(&IdleLimits { max_entries, idle_timeout, max_held_bytes });
        all.drain().for_each(|entry| part.take_in(entry));
        let held: Vec<u32> = part.iter().map(|(_, n)| *n).collect();
        (held, part.counters())
    };
    let counted = IdleCounters { held: 3, held_bytes: 150, ..IdleCounters::default() };
    assert_eq!(fill(3, 1000), (vec![2, 3, 4], IdleCounters { evicted: 2, ..counted }));
    assert_eq!(fill(10, 199), (vec![2, 3, 4], IdleCounters { evicted_for_memory: 2, ..counted }));
}

proptest! {
    /// Each entry is as old in its own map as it was before, and what is counted adds up.
    #[test]
    fn a_map_that_is_divided_holds_what_it_held(
        steps in prop::collection::vec((0..40_u32, 0..900_u64, 0..50_usize), 0..120),
        more in prop::collection::vec((0..40_u32, 0..900_u64), 0..40),
        later in 0..800_u64,
    ) {
        let limits =
            IdleLimits { max_entries: 30, idle_timeout: Duration::from_secs(300), max_held_bytes: 700 };
        let filled = || {
            let (mut map, mut now) = (IdleMap::new(&limits), 0);
            for (n, after, held) in &steps {
                now += after / 20;
                map.expire(at(now));
                let key = FlowKey::numbered(*n);
                let slot = map.touch(&key, at(now)).or_else(|| map.insert(key, at(now), *n));
                map.note_held(slot.unwrap(), *held);
            }
            (map, now)
        };
        let ((mut whole, mut now), (mut divided, _)) = (filled(), filled());
        let is_low = |key: &FlowKey| (0..10).any(|n| FlowKey::numbered(n) == *key);
        let before = divided.counters();
        let mut parts = [IdleMap::new(&limits), IdleMap::new(&limits)];
        for entry in divided.drain() {
            parts[usize::from(is_low(&entry.key))].take_in(entry);
        }
        prop_assert!(parts.iter().all(|part| part.counters().inserted == 0));
        prop_assert_eq!(divided.counters(), IdleCounters { held: 0, held_bytes: 0, ..before });
        let held = |parts: &[IdleMap<FlowKey, u32>]| {
            let counted = parts.iter().map(IdleMap::counters);
            let sum = counted.fold([0; 3], |[held, bytes, expired], map| {
                [held + map.held, bytes + map.held_bytes, expired + map.expired]
            });
            let mut all: Vec<u32> = parts.iter().flat_map(|map| map.iter().map(|(_, n)| *n)).collect();
            all.sort_unstable();
            (sum, all)
        };
        for (n, after) in more {
            now += after / 20;
            let (key, part) = (FlowKey::numbered(n), &mut parts[usize::from(n < 10)]);
            whole.expire(at(now));
            part.expire(at(now));
            prop_assert_eq!(whole.touch(&key, at(now)).is_some(), part.touch(&key, at(now)).is_some());
        }
        now += later;
        whole.expire_all(at(now));
        parts.iter_mut().for_each(|part| part.expire_all(at(now)));
        let (found, (mut counted, all)) = (held(&parts), held(&[whole]));
        counted[2] -= before.expired;
        prop_assert_eq!(found, (counted, all));
    }

    /// Against a plain list that is searched from one end to the other, in quarters of the time that an entry stays
    /// in its place.
    #[test]
    fn behaves_like_a_list_in_order_of_last_sight(
        steps in prop::collection::vec((0_u32..40, -900_i64..1100), 1..400),
        is_steady: bool,
    ) {
        const IDLE: u64 = 1_024;
        const STAY: u64 = IDLE / 256;
        let at = |now: u64| Timestamp::from_nanos(now * 1_000_000);
        let idle_timeout = Duration::from_millis(IDLE);
        let mut table = IdleMap::new(&IdleLimits { max_entries: 12, idle_timeout, max_held_bytes: usize::MAX });
        // Number, when it was seen, and when it got its place.
        let mut list: VecDeque<(u32, u64, u64)> = VecDeque::new();
        let mut now = 1_000_000_u64;
        for (n, pause) in steps {
            // Most steps are small.
            let pause = if pause.rem_euclid(8) == 0 { pause } else { pause.rem_euclid(7) };
            now = now.saturating_add_signed(if is_steady { pause.abs() } else { pause });
            table.expire(at(now));
            let mut renewals = 0;
            while let Some((held, seen, _)) = list.front().copied().filter(|(_, seen, _)| now.abs_diff(*seen) > IDLE) {
                if seen > now {
                    renewals += 1;
                    if renewals > MAX_RENEWALS {
                        break;
                    }
                    list.push_back((held, now, now));
                }
                list.pop_front();
            }
            let idle = |(_, seen, _): (u32, u64, u64)| now.saturating_sub(seen) > IDLE;
            if list.iter().position(|(held, ..)| *held == n).is_some_and(|place| idle(list[place])) {
                list.retain(|(held, ..)| *held != n);
            }
            let slot = table.touch(&FlowKey::numbered(n), at(now));
            let known = list.iter().position(|(held, ..)| *held == n);
            prop_assert_eq!(slot.is_some(), known.is_some());
            match (slot, known) {
                (Some(slot), Some(place)) => {
                    prop_assert_eq!(table.get_mut(slot).copied(), Some(n));
                    if now.abs_diff(list[place].2) > STAY {
                        list.remove(place);
                        list.push_back((n, now, now));
                    } else {
                        list[place].1 = now;
                    }
                }
                _ => {
                    table.insert(FlowKey::numbered(n), at(now), n);
                    if list.len() == 12 {
                        list.pop_front();
                    }
                    list.push_back((n, now, now));
                }
            }
            prop_assert_eq!(table.counters().held, list.len() as u64);
        }
        table.expire_all(at(now));
        let living = list.iter().filter(|(_, seen, _)| now.saturating_sub(*seen) <= IDLE).count();
        prop_assert!(!is_steady || table.counters().held == living as u64);
        let IdleCounters { inserted, expired, evicted, held, .. } = table.counters();
        prop_assert_eq!(inserted, expired + evicted + held);
    }
}
