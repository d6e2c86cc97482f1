//! Examples of what counters count.

use crate::{FlowId, Timestamp};

/// A packet that a counter counted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Example {
    /// Name of the counter.
    pub counter: &'static str,
    /// Capture time of the packet.
    pub ts: Timestamp,
    /// Number of its frame since the analyzer was built, from 1. `None` if the layer that counts does not know it.
    pub frame: Option<u64>,
    /// The flow of the packet; `None` if the packet yields no segment.
    pub flow: Option<FlowId>,
}

/// The earliest example of each counter.
#[derive(Clone, Debug, Default)]
pub struct Examples(Vec<Example>);

impl Examples {
    /// Creates an empty set with memory for the examples of this number of counters.
    pub(crate) fn with_capacity(counters: usize) -> Self {
        Self(Vec::with_capacity(counters))
    }

    /// Returns the example of a counter.
    pub fn get(&self, counter: &str) -> Option<&Example> {
        self.0.iter().find(|example| example.counter == counter)
    }

    /// Adds an example, unless its counter has one of the same time or earlier.
    pub fn add(&mut self, example: Example) {
        match self.0.iter_mut().find(|known| known.counter == example.counter) {
            Some(known) if known.ts.as_nanos() <= example.ts.as_nanos() => {}
            Some(known) => *known = example,
            None => self.0.push(example),
        }
    }

    /// Adds an example of each of these counters that counted something and has no example yet.
    pub fn add_new(
        &mut self,
        counters: impl IntoIterator<Item = (&'static str, u64)>,
        ts: Timestamp,
        frame: Option<u64>,
        flow: Option<&FlowId>,
    ) {
        for (counter, count) in counters {
            if count > 0 && self.get(counter).is_none() {
                self.0.push(Example { counter, ts, frame, flow: flow.cloned() });
            }
        }
    }

    /// Removes the numbers of frames.
    pub(crate) fn forget_frames(&mut self) {
        self.0.iter_mut().for_each(|example| example.frame = None);
    }

    /// Adds the examples of another analysis.
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|example| self.add(example.clone()));
    }
}
