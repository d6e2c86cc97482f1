//! Configurable limits of the flow table.

use std::time::Duration;

use super::IdleLimits;
use crate::Segment;
use crate::limits::{
    DEFAULT_FLOW_IDLE_TIMEOUT, DEFAULT_MAX_FLOW_BUFFER_BYTES, DEFAULT_MAX_FLOWS, DEFAULT_SYN_LIFETIME,
    NANOS_PER_SECOND, P0F_EXPIRY_PACKETS,
};

/// Limits of the flow table: number of flows, timeouts and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowLimits {
    /// Maximum number of flows (default 524,288). At the limit the table evicts connections that have ended, then those with a SYN alone,
    /// then those that one side has closed, then other flows; of each the flow that was idle for longest, to
    /// within a second.
    pub max_flows: usize,
    /// Idle timeout of a flow, in packet time (default 5 minutes). At most 2 minutes count for UDP, 30 seconds for a connection that one
    /// side has closed, two 256ths of the timeout and at most 2 seconds for one that has ended, and 130 seconds for one with a SYN alone.
    pub idle_timeout: Duration,
    /// How long a repeated SYN counts as a retransmission, in packet time (default 130 seconds: Linux
    /// abandons a connection attempt after 127 seconds). A later SYN starts a new flow.
    pub syn_lifetime: Duration,
    /// Whether the lifetime of a SYN is like that of p0f 3.09b (default false): counted from the first SYN, in whole seconds, and checked only
    /// if a packet whose number is a multiple of 50 lies between. p0f takes the age at that packet, this table at the repeated SYN.
    pub syn_lifetime_as_p0f: bool,
    /// Maximum heap memory of all flows beside their table entries, in bytes (default 256 MiB): buffered parts of
    /// messages. At the limit the table evicts the flow that was idle for longest, to within a second.
    pub max_buffered_bytes: usize,
}

huginn_net_wire::setters!(FlowLimits {
    max_flows: usize,
    idle_timeout: Duration,
    syn_lifetime: Duration,
    syn_lifetime_as_p0f: bool,
    max_buffered_bytes: usize,
});

impl Default for FlowLimits {
    fn default() -> Self {
        Self {
            max_flows: DEFAULT_MAX_FLOWS,
            idle_timeout: DEFAULT_FLOW_IDLE_TIMEOUT,
            syn_lifetime: DEFAULT_SYN_LIFETIME,
            syn_lifetime_as_p0f: false,
            max_buffered_bytes: DEFAULT_MAX_FLOW_BUFFER_BYTES,
        }
    }
}

impl FlowLimits {
    pub(super) fn idle_limits(&self) -> IdleLimits {
        IdleLimits {
            max_entries: self.max_flows,
            idle_timeout: self.idle_timeout,
            max_buffered_bytes: self.max_buffered_bytes,
        }
    }

    /// The limits of each of several equal parts.
    pub(super) fn divided_by(self, parts: usize) -> Self {
        Self {
            max_flows: self.max_flows.div_ceil(parts.max(1)),
            max_buffered_bytes: self.max_buffered_bytes.div_ceil(parts.max(1)),
            ..self
        }
    }
}

/// How long a repeated SYN counts as a retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct SynLifetime {
    nanos: u64,
    is_as_p0f: bool,
}

impl SynLifetime {
    pub(super) fn new(limits: &FlowLimits) -> Self {
        let nanos = u64::try_from(limits.syn_lifetime.as_nanos()).unwrap_or(u64::MAX);
        Self { nanos, is_as_p0f: limits.syn_lifetime_as_p0f }
    }

    /// Whether a SYN is a retransmission of one at time `last`, in nanoseconds, in a flow that began with packet `first`. Moves `last` to the
    /// repeated SYN, unless the lifetime counts from the first one.
    pub(super) fn has_retransmission(self, first: u64, last: &mut u64, segment: &Segment<'_>) -> bool {
        let (now, number) = (segment.ts.as_nanos(), segment.packet_number);
        if !self.is_as_p0f {
            return now.saturating_sub(std::mem::replace(last, now)) <= self.nanos;
        }
        let seconds = |nanos: u64| nanos / NANOS_PER_SECOND;
        let is_checked = number / P0F_EXPIRY_PACKETS > first / P0F_EXPIRY_PACKETS;
        !is_checked || seconds(now).saturating_sub(seconds(*last)) <= seconds(self.nanos)
    }
}
