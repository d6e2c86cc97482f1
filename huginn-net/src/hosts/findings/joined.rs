//! Findings of many hosts that are one: without proof, a single sender may have forged all of them.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;
use huginn_net_core::Event;

use super::Report;
use crate::limits::{MAX_JOINED_TARGETS, MAX_SINGLE_FINDINGS};
use crate::observation::Finding;

/// Counts the hosts with one finding about one target, and passes on the first few findings, and those after which the number of hosts is a
/// power of ten.
#[derive(Debug)]
pub(super) struct Joined<K> {
    targets: HashMap<K, Target, RandomState>,
}

#[derive(Debug, Default)]
struct Target {
    hosts: u32,
    /// The last finding, if it was not passed on.
    last: Option<Box<Event<Finding>>>,
}

impl<K: Copy + Eq + Hash> Joined<K> {
    pub(super) fn new() -> Self {
        Self { targets: HashMap::default() }
    }

    /// Adds the finding of a host that has none yet. Returns it with the number of hosts if it is to be reported. Findings about targets
    /// beyond the size of the table stay single.
    pub(super) fn join(
        &mut self,
        key: K,
        mut event: Event<Finding>,
        set_hosts: impl FnOnce(&mut Finding, u32),
    ) -> Option<Event<Finding>> {
        if self.targets.len() >= MAX_JOINED_TARGETS && !self.targets.contains_key(&key) {
            return Some(event);
        }
        let target = self.targets.entry(key).or_default();
        target.hosts = target.hosts.saturating_add(1);
        if target.hosts <= MAX_SINGLE_FINDINGS {
            return Some(event);
        }
        set_hosts(&mut event.kind, target.hosts);
        let log = target.hosts.checked_ilog10().unwrap_or(0);
        if 10_u32.checked_pow(log) == Some(target.hosts) {
            target.last = None;
            return Some(event);
        }
        target.last = Some(Box::new(event));
        None
    }

    /// Reports the last finding of each target that was not reported, in the order of their packets.
    pub(super) fn on_end(&mut self, report: Report<'_>) {
        let mut last: Vec<_> = self.targets.values_mut().filter_map(|target| target.last.take()).collect();
        last.sort_by_key(|event| (event.ts.as_nanos(), event.packet_number));
        last.into_iter().for_each(|event| report(*event));
    }
}
