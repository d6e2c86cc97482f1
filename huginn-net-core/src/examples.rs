//! Examples of what counters count.

use std::net::SocketAddr;

use crate::{Addresses, Event, FlowId, Segment, Side, Timestamp};

/// A packet that a counter counted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Example {
    /// Name of the counter.
    pub counter: &'static str,
    /// Capture time of the packet.
    pub ts: Timestamp,
    /// Number of its frame in the capture, from 1; records that are not packets count. `None` if the layer that counts does not
    /// know it.
    pub frame: Option<u64>,
    /// The flow of the packet; `None` if the packet yields no segment.
    pub flow: Option<FlowId>,
    /// The addresses of an IP fragment: only the first fragment of a datagram has ports.
    pub addresses: Option<Addresses>,
    /// Number of the packet in the capture, or since the analyzer was built if the frame is known; 0 if unknown. It decides between
    /// packets of equal time, so that the example is the same for any number of workers.
    pub(crate) packet_number: u64,
}

impl Example {
    /// Whether this example precedes another one: by number if the frames of both are known, otherwise by time.
    fn is_before(&self, other: &Self) -> bool {
        if self.frame.is_some() && other.frame.is_some() {
            return self.packet_number < other.packet_number;
        }
        let ends = |example: &Self| -> Option<(SocketAddr, SocketAddr)> {
            example.flow.as_ref().map(|flow| (flow.client, flow.server))
        };
        let order = |example: &Self| (example.ts.as_nanos(), example.packet_number);
        order(self).cmp(&order(other)).then_with(|| ends(self).cmp(&ends(other))).is_lt()
    }
}

/// The earliest example of each counter.
#[derive(Clone, Debug, Default)]
pub struct Examples(Vec<Example>);

impl Examples {
    /// Creates an empty set with memory for the examples of this number of counters.
    pub(crate) fn with_capacity(counters: usize) -> Self {
        Self(Vec::with_capacity(counters))
    }

    /// Gives the examples without a flow other addresses.
    pub(crate) fn map_addresses(&mut self, mut map: impl FnMut(Addresses) -> Addresses) {
        for addresses in self.0.iter_mut().filter_map(|example| example.addresses.as_mut()) {
            *addresses = map(*addresses);
        }
    }

    /// Returns the example of a counter.
    pub fn get(&self, counter: &str) -> Option<&Example> {
        self.0.iter().find(|example| example.counter == counter)
    }

    /// Adds an example, unless its counter has an earlier one.
    pub fn add(&mut self, example: Example) {
        match self.0.iter_mut().find(|known| known.counter == example.counter) {
            Some(known) if !example.is_before(known) => {}
            Some(known) => *known = example,
            None => self.0.push(example),
        }
    }

    /// Makes a segment the example of a counter, unless the counter has an earlier one.
    pub fn add_segment(&mut self, counter: &'static str, segment: &Segment<'_>, sender: Side) {
        let Segment { ts, packet_number, .. } = *segment;
        let order = (ts.as_nanos(), packet_number);
        if self.get(counter).is_none_or(|known| order < (known.ts.as_nanos(), known.packet_number)) {
            let flow = Some(FlowId::from_segment(segment, sender));
            self.add(Example { counter, ts, frame: None, flow, addresses: None, packet_number });
        }
    }

    /// Makes an event the example of a counter, unless the counter has an earlier one.
    pub fn add_event<K>(&mut self, counter: &'static str, event: &Event<K>) {
        let (ts, packet_number) = (event.ts, event.packet_number);
        let flow = Some(event.flow.clone());
        self.add(Example { counter, ts, frame: None, flow, addresses: None, packet_number });
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
