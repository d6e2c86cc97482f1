//! The flow layer: flow keys, the flow table and the idle-timeout map below it.

mod counters;
mod ending;
mod entry;
mod flow_events;
mod flow_limits;
mod idle_map;
mod key;
mod lazy_segment;
mod partitions;
#[cfg(all(test, target_pointer_width = "64"))]
mod sizes;
mod table;

pub use counters::FlowCounters;
pub use flow_limits::FlowLimits;
pub use idle_map::{IdleCounters, IdleLimits, IdleMap, Slot};
pub use key::FlowKey;

pub(crate) use flow_events::{FlowEvents, FlowOrder, Occasion};
pub(crate) use idle_map::Entry;
pub(crate) use key::FlowEnds;
pub(crate) use lazy_segment::{LazySegment, SegmentMeta};
pub(crate) use partitions::FlowPartitions;
pub(crate) use table::FlowTable;
