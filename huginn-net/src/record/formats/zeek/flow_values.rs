//! Values that all rows of a flow have.

use huginn_net_core::FlowId;

use crate::record::formats::EventFormat;
use crate::record::formats::plan::FormatPlan;
use crate::record::formats::values::HashedFlow;

/// The values of a flow, which consecutive events often share.
#[derive(Debug)]
pub(super) struct FlowValues {
    pub(super) flow: FlowId,
    /// What identifies the flow.
    pub(super) identity: [u8; 20],
    /// In the form of JSON, one after another in the order of the plan.
    values: Vec<u8>,
    ends: Vec<usize>,
}

impl FlowValues {
    pub(super) fn new(flow: &FlowId) -> Self {
        let hashed = HashedFlow::new(flow);
        let (mut values, mut ends) = (Vec::with_capacity(256), Vec::with_capacity(8));
        for target in &FormatPlan::get(EventFormat::Zeek).flow {
            (target.form)(&hashed, &mut values);
            ends.push(values.len());
        }
        Self { flow: flow.clone(), identity: hashed.identity, values, ends }
    }

    /// The values in the order of the plan.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |end| self.values.get(std::mem::replace(&mut start, *end)..*end).unwrap_or_default())
    }
}
