//! The latest tunnel of each address.

use std::net::IpAddr;

use huginn_net_core::{IdleLimits, IdleMap, Timestamp};

use super::HostKey;

/// The tunnel with the latest update of each address, for queries by address alone.
#[derive(Debug)]
pub(super) struct Tunneled(IdleMap<IpAddr, u64>);

impl Tunneled {
    /// Creates a map with the limits of the host table; the entries have no heap memory.
    pub(super) fn new(limits: &IdleLimits) -> Self {
        Self(IdleMap::new(limits))
    }

    pub(super) fn record(&mut self, (ip, tunnel): HostKey, now: Timestamp) {
        self.0.expire(now);
        let slot = self.0.touch(&ip, now).or_else(|| self.0.insert(ip, now, tunnel));
        if let Some(last) = slot.and_then(|slot| self.0.get_mut(slot)) {
            *last = tunnel;
        }
    }

    pub(super) fn last(&self, ip: IpAddr) -> Option<u64> {
        self.0.peek(&ip).copied()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
