//! Examples of what the protocols could not read.

use huginn_net_core::{Event, Examples, Segment, Side};

use super::ProtocolCounters;
use super::protocol_kinds::{self, PROTOCOL_KINDS, SpotSet};

/// The earliest segment that each counter of blind spots counted.
#[derive(Clone, Debug, Default)]
pub(super) struct BlindSpotExamples {
    pub(super) examples: Examples,
    /// The counters when examples were last added, and the sum of what they count.
    examined: [u64; PROTOCOL_KINDS],
    examined_sum: u64,
    /// The kinds whose counters changed since the summary of a connection last took them.
    changed: SpotSet,
}

impl BlindSpotExamples {
    /// Makes a segment the example of counters that counted it and have no earlier one.
    #[inline(always)]
    pub(super) fn add_segment(&mut self, counters: &ProtocolCounters, segment: &Segment<'_>, sender: Side) {
        let sum = protocol_kinds::sum_of_protocols(counters);
        debug_assert!(
            sum != self.examined_sum || self.is_examined(counters),
            "a counter is missing in the sum"
        );
        if sum != self.examined_sum {
            self.examined_sum = sum;
            self.add_new(counters, segment, sender);
        }
    }

    #[cold]
    fn add_new(&mut self, counters: &ProtocolCounters, segment: &Segment<'_>, sender: Side) {
        self.update(counters, |examples, name| examples.add_segment(name, segment, sender));
    }

    /// Makes an event the example of a counter that has no earlier one.
    pub(super) fn add_event<K>(&mut self, name: &'static str, event: &Event<K>) {
        self.examples.add_event(name, event);
    }

    /// Adds the earlier examples of a worker, and takes the counters as they are.
    pub(super) fn merge(&mut self, other: &Self, counters: &ProtocolCounters) {
        self.examples.merge(&other.examples);
        self.skip(counters);
    }

    /// Takes the counters as they are: no later segment is the example of what they counted.
    pub(super) fn skip(&mut self, counters: &ProtocolCounters) {
        let sum = protocol_kinds::sum_of_protocols(counters);
        if sum != self.examined_sum {
            self.examined_sum = sum;
            self.update(counters, |_, _| {});
        }
    }

    /// Forgets which counters changed.
    pub(super) fn clear_changed(&mut self) {
        self.changed = SpotSet::default();
    }

    /// The kinds whose counters changed since [`clear_changed`](Self::clear_changed).
    pub(super) fn changed(&self) -> SpotSet {
        self.changed
    }

    /// Calls `changed` with the name of each counter that changed.
    fn update(&mut self, counters: &ProtocolCounters, mut changed: impl FnMut(&mut Examples, &'static str)) {
        let counts = protocol_kinds::of_protocols(counters).into_iter();
        for (kind, ((name, count, _), examined)) in counts.zip(&mut self.examined).enumerate() {
            if count != *examined {
                *examined = count;
                self.changed.add(kind, name);
                changed(&mut self.examples, name);
            }
        }
    }

    /// Whether the counters are those when examples were last added.
    fn is_examined(&self, counters: &ProtocolCounters) -> bool {
        let counts = protocol_kinds::of_protocols(counters).into_iter().map(|(_, count, _)| count);
        counts.eq(self.examined)
    }
}
