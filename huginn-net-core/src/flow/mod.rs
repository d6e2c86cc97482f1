//! The flow layer: flow keys, the flow table and the idle-timeout map below it.

mod counters;
mod idle_map;
mod key;
mod limits;
mod partitions;
mod table;

pub use counters::FlowCounters;
pub use idle_map::{IdleCounters, IdleLimits, IdleMap, Slot};
pub use key::FlowKey;
pub use limits::FlowLimits;

pub(crate) use partitions::FlowPartitions;
pub(crate) use table::{FlowTable, SegmentMeta};
