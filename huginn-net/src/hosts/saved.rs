//! Copies of hosts, so that the table survives a restart.

use std::net::IpAddr;

use huginn_net_core::{PacketClock, Timestamp};
use huginn_net_db::Database;
use serde::{Deserialize, Serialize};

use super::restore::{HostRecordError, Known, Restore};
use super::stored::is_default;
use super::{Host, HostId, HostProfile, Hosts};
use crate::scope::Scope;

/// A copy of a host, with its profile and what later packets are compared with; see [`Hosts::saved`] and [`Hosts::restore`].
///
/// Serde stores names of the database as text: a table with a newer database takes the label with the same text. Matches of signatures
/// follow from the database. Only the same version of this crate reads what it stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedHost {
    ip: IpAddr,
    #[serde(default, skip_serializing_if = "is_default")]
    tunnel_key: u64,
    /// Time of the last update, in nanoseconds since the Unix epoch.
    idle_since: u64,
    host: Host,
}

impl SavedHost {
    /// Time of the last update of the host, in nanoseconds since the Unix epoch.
    pub fn idle_since(&self) -> u64 {
        self.idle_since
    }

    /// The profile of the host, if it has one.
    pub(super) fn into_profile(
        self,
        database: &Database,
    ) -> Result<Option<(HostId, HostProfile)>, HostRecordError> {
        let Self { ip, tunnel_key, mut host, .. } = self;
        host.restore(Known { database, scope: Scope::Full })?;
        Ok(host.profile.map(|profile| (HostId((ip, tunnel_key)), *profile)))
    }
}

/// The time of the table: how far it has come, and what [`Hosts::restore`] needs to continue it.
#[derive(Debug, Default)]
pub(super) struct TableTime {
    /// The timestamp that advanced the packet clock last; `None` before the first update.
    advanced_at: Option<Timestamp>,
    /// The latest update of a restored host, until the first update of this table.
    restored_until: Option<Timestamp>,
    restored: u64,
    /// Restored hosts that were removed before the first update.
    discarded: u64,
}

impl TableTime {
    /// Advances the packet clock to an update, and returns the time of the table.
    pub(super) fn tick(&mut self, clock: &mut PacketClock, ts: Timestamp) -> Timestamp {
        if let Some(until) = self.restored_until.take() {
            clock.start_at(Timestamp::from_nanos(ts.as_nanos().max(until.as_nanos()), 9));
        }
        let before = clock.now();
        let now = clock.tick(ts);
        if now != before || self.advanced_at.is_none() {
            self.advanced_at = Some(ts);
        }
        now
    }

    /// Forgets the restored hosts, unless there was an update. Returns their number.
    pub(super) fn discard(&mut self) -> u64 {
        if self.advanced_at.is_some() {
            return 0;
        }
        self.restored_until = None;
        let discarded = std::mem::take(&mut self.restored);
        self.discarded = self.discarded.saturating_add(discarded);
        discarded
    }

    /// Number of hosts that were ever restored.
    pub(super) fn added(&self) -> u64 {
        self.restored.saturating_add(self.discarded)
    }

    /// Number of restored hosts.
    pub(super) fn restored(&self) -> u64 {
        self.restored
    }
}

impl Hosts {
    /// The identifiers of all hosts, that with the oldest update first, to within a second. [`restore`](Self::restore) takes hosts in
    /// this order.
    pub fn ids_by_age(&self) -> impl Iterator<Item = HostId> {
        self.map.keys_by_age().map(|key| HostId(*key))
    }

    /// Copies a host, for [`restore`](Self::restore) of another table. `None` after its removal or idle timeout.
    pub fn saved(&self, id: HostId) -> Option<SavedHost> {
        let (host, last_seen) = self.map.peek_with_time(&id.0)?;
        let idle_since = match (self.scope, self.time.advanced_at) {
            (Scope::Full, Some(advanced_at)) => {
                let idle = self.clock.now().as_nanos().saturating_sub(last_seen.as_nanos());
                if u128::from(idle) > self.idle_timeout.as_nanos() {
                    return None;
                }
                advanced_at.as_nanos().saturating_sub(idle)
            }
            // p0f takes every timestamp for the time, and restored hosts have that of their packets until the first update.
            _ => last_seen.as_nanos(),
        };
        let (ip, tunnel_key) = id.0;
        Some(SavedHost { ip, tunnel_key, idle_since, host: host.clone() })
    }

    /// Adds a host of an earlier table, before the first update of this one. The first update ends hosts whose idle timeout has passed
    /// since, however long no packet was analysed.
    ///
    /// # Errors
    /// [`HostRecordError`] if the database lacks a name of the host.
    pub fn restore(&mut self, saved: SavedHost, database: &Database) -> Result<(), HostRecordError> {
        let SavedHost { ip, tunnel_key, idle_since, mut host } = saved;
        host.restore(Known { database, scope: self.scope })?;
        if !self.profiles {
            host.profile = None;
        }
        let (key, at) = ((ip, tunnel_key), Timestamp::from_nanos(idle_since, 9));
        if self.map.peek(&key).is_some() || self.time.advanced_at.is_some() {
            return Ok(());
        }
        let heap_bytes = host.heap_bytes();
        let Some(slot) = self.map.insert(key, at, host) else { return Ok(()) };
        self.map.set_buffered_bytes(slot, heap_bytes);
        if tunnel_key != 0 {
            self.tunneled.record(key, at);
        }
        let until = self.time.restored_until.map_or(0, Timestamp::as_nanos);
        self.time.restored_until = Some(Timestamp::from_nanos(idle_since.max(until), 9));
        self.time.restored = self.time.restored.saturating_add(1);
        Ok(())
    }
}
