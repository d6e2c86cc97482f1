use std::time::Duration;

use super::*;

/// Interfaces of these names, indexes and states.
fn links<'a>(of: impl IntoIterator<Item = (u32, &'a str, bool)>) -> Vec<Link> {
    of.into_iter().map(|(index, name, is_up)| Link { index, name: name.to_owned(), is_up }).collect()
}

impl MatchedInterfaces {
    /// Patterns with the number 1 of two inputs, in a system without interfaces.
    pub(crate) fn of_patterns(patterns: &[&str]) -> Self {
        let parsed = Patterns::new(patterns.iter().copied()).unwrap();
        let matched = Self::new(patterns.join(","), parsed, [1, 2]).unwrap();
        let numbers = Numbers { input: 1, first: 2, ..Numbers::default() };
        *matched.lock() = State { numbers, ..State::default() };
        matched.names.write().unwrap().clear();
        matched
    }
}

fn matched(patterns: &[&str]) -> MatchedInterfaces {
    MatchedInterfaces::of_patterns(patterns)
}

fn update<'a>(
    matched: &MatchedInterfaces,
    of: impl IntoIterator<Item = (u32, &'a str, bool)>,
    now: Instant,
) -> Vec<String> {
    let mut state = matched.lock();
    matched.update(&mut state, links(of), now);
    state.changes.summarize(&matched.name, now);
    state.changes.notices.drain(..).map(|notice| notice.to_string()).collect()
}

fn number(matched: &MatchedInterfaces, index: u32) -> Option<u16> {
    matched.find(index).number
}

/// An index that no interface of the machine has.
const UNUSED: u32 = i32::MAX as u32;

#[test]
fn interfaces_join_and_leave() {
    let matched = matched(&["veth*", "!veth9"]);
    let now = Instant::now();
    let before = matched.version();
    let notices = update(&matched, [(1, "lo", true), (2, "veth1", false), (3, "veth9", true)], now);
    assert_eq!(notices, ["veth1: is captured from now on"]);
    assert!(matched.version() > before && !matched.is_up());
    assert_eq!([1, 2, 3].map(|index| number(&matched, index)), [None, Some(2), None]);
    assert_eq!(matched.left_out(), [1, 3]);
    // Nothing changes but the state.
    let before = matched.version();
    let same = [(1, "lo", true), (2, "veth1", true), (3, "veth9", true)];
    assert_eq!(update(&matched, same, now), [""; 0]);
    assert!(matched.version() == before && matched.is_up());
    // An index gets another name, and another index the name.
    let notices = update(&matched, [(1, "veth2", true), (2, "eth0", true), (4, "veth1", true)], now);
    assert_eq!(
        notices,
        [
            "veth2: is captured from now on",
            "veth1: is gone, and captured no longer",
            "veth1: is captured from now on"
        ]
    );
    assert_eq!([1, 2, 4].map(|index| number(&matched, index)), [Some(3), None, Some(2)]);
    let names = matched.names();
    assert_eq!(*names.read().unwrap(), ["veth1".into(), "veth2".into()]);
    assert_eq!(update(&matched, [], now).len(), 2);
    assert!(!matched.is_up() && !matched.has_any());
}

#[test]
fn unknown_index_that_is_gone_has_the_name_of_any() {
    assert_eq!(matched(&["any"]).find(UNUSED), Found { number: Some(1), is_known: false });
    assert_eq!(matched(&["any", "!lo"]).find(UNUSED), Found { number: None, is_known: false });
}

#[test]
fn removed_interface_keeps_its_number_for_some_time() {
    let matched = matched(&["any", "!lo"]);
    let (kept, left_out) = (UNUSED, UNUSED - 1);
    let found = || [kept, left_out].map(|index| matched.find(index));
    let known = |number| Found { number, is_known: true };
    let now = Instant::now();
    update(&matched, [(kept, "veth1", true), (left_out, "lo", true)], now);
    let before = matched.version();
    update(&matched, [], now);
    assert!(matched.version() > before);
    assert_eq!(found(), [known(Some(2)), known(None)]);
    assert_eq!(matched.left_out(), [0; 0]);
    update(&matched, [], now + REMOVED_INTERFACE_TIME / 2);
    assert_eq!(found(), [known(Some(2)), known(None)]);
    let before = matched.version();
    update(&matched, [], now + REMOVED_INTERFACE_TIME);
    assert!(matched.version() > before);
    assert_eq!(found(), [Found { number: None, is_known: false }; 2]);
}

#[test]
fn unknown_index_gets_the_name_that_the_system_has() {
    let matched = matched(&["l*"]);
    let loopback = nix::net::if_::if_nametoindex("lo").unwrap();
    assert_eq!(matched.find(loopback), Found { number: Some(2), is_known: true });
    assert_eq!(matched.lock().changes.notices.len(), 1);
}

#[test]
fn number_of_the_interface_that_left_first_is_used_again() {
    let matched = matched(&["any"]);
    let now = Instant::now();
    let count = u32::try_from(MAX_JOINED_NAMES).unwrap();
    let names: Vec<String> = (0..=count + 1).map(|index| format!("v{index}")).collect();
    let all = |indexes: std::ops::Range<u32>| {
        indexes.map(|index| (index, &*names[index as usize], true)).collect::<Vec<_>>()
    };
    update(&matched, all(0..count), now);
    assert_eq!(number(&matched, count - 1), Some(u16::try_from(count).unwrap() + 1));
    // One more than there are numbers has that of the patterns.
    update(&matched, all(0..count + 1), now);
    assert_eq!(number(&matched, count), Some(1));
    // v0, v1 and v2 leave, and v0 returns.
    update(&matched, all(1..count), now);
    update(&matched, all(2..count), now);
    update(&matched, all(3..count), now);
    let mut others = all(3..count);
    others.push((0, "v0", true));
    update(&matched, others.clone(), now);
    assert_eq!(number(&matched, 0), Some(2));
    others.push((count + 1, &names[count as usize + 1], true));
    update(&matched, others, now);
    assert_eq!(number(&matched, count + 1), Some(3), "that of v1");
    assert_eq!(*matched.names().read().unwrap()[1], *names[count as usize + 1]);
    assert_eq!(matched.names().read().unwrap().len(), MAX_JOINED_NAMES);
}

#[test]
fn flapping_interfaces_take_bounded_memory() {
    let matched = matched(&["any"]);
    let now = Instant::now();
    for _ in 0..3 * MAX_JOINED_NAMES {
        update(&matched, [(1, "a", true)], now);
        update(&matched, [], now);
    }
    assert!(matched.lock().numbers.left.len() <= 2 * MAX_JOINED_NAMES);
    assert_eq!(matched.names().read().unwrap().len(), 1);
}

#[test]
fn notices_of_a_minute_are_bounded_and_count_the_others() {
    let matched = matched(&["any"]);
    let now = Instant::now();
    let names: Vec<String> = (0..100).map(|index| format!("v{index}")).collect();
    let all = || (0..).zip(&names).map(|(index, name)| (index, &**name, true));
    assert_eq!(update(&matched, all(), now).len(), CHANGE_NOTICES);
    assert_eq!(update(&matched, all().skip(40), now + Duration::from_secs(59)), [""; 0]);
    let more = update(&matched, all().skip(41), now + Duration::from_secs(60));
    assert_eq!(
        more,
        [
            "any: interfaces that joined or left without a line in the last minute: 70 and 40",
            "v40: is gone, and captured no longer"
        ]
    );
}

#[test]
fn unreadable_interface_has_one_notice() {
    let matched = matched(&["any"]);
    update(&matched, [(7, "can0", true)], Instant::now());
    matched.on_unreadable(7, 280);
    matched.on_unreadable(7, 280);
    let notices: Vec<_> = matched.lock().changes.notices.iter().map(ToString::to_string).collect();
    assert_eq!(notices, ["can0: is not captured: its hardware type 280 is not supported"]);
}

#[test]
fn only_interfaces_that_are_named_become_promiscuous() {
    let matched = matched(&["any", "eth*"]);
    update(&matched, [(1, "lo", true), (2, "eth0", true), (3, "eth1", true)], Instant::now());
    update(&matched, [(1, "lo", true), (3, "eth1", true)], Instant::now());
    assert_eq!(matched.take_promiscuous(), [3]);
    assert_eq!(matched.take_promiscuous(), [0; 0]);
}
