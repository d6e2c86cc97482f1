//! Values that all rows of a flow have.

use huginn_net_core::FlowId;

use crate::Event;
use crate::record::formats::EventFormat;
use crate::record::formats::plan::FormatPlan;
use crate::record::formats::values::HashedFlow;

/// The values of a flow, which consecutive events often share.
#[derive(Debug)]
pub(super) struct FlowValues {
    flow: FlowId,
    first_packet: u64,
    /// What identifies the connection.
    pub(super) identity: [u8; 20],
    /// In the form of JSON, one after another in the order of the plan.
    values: Vec<u8>,
    ends: Vec<usize>,
}

impl FlowValues {
    pub(super) fn new(event: &Event) -> Self {
        let Event { ref flow, first_packet, .. } = *event;
        let hashed = HashedFlow::new(event);
        let (mut values, mut ends) = (Vec::with_capacity(256), Vec::with_capacity(8));
        for target in &FormatPlan::get(EventFormat::Zeek).flow {
            (target.form)(&hashed, &mut values);
            ends.push(values.len());
        }
        Self { flow: flow.clone(), first_packet, identity: hashed.identity, values, ends }
    }

    /// Whether they are those of an event.
    pub(super) fn are_of(&self, event: &Event) -> bool {
        self.first_packet == event.first_packet && self.flow == event.flow
    }

    /// The values in the order of the plan.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |end| self.values.get(std::mem::replace(&mut start, *end)..*end).unwrap_or_default())
    }
}
