//! Updates of hosts in a form that serde stores.

use std::net::SocketAddr;

use huginn_net_core::{Event, FlowId, Side, Timestamp, TransportKind, TunnelPath};
use huginn_net_db::Database;
use serde::{Deserialize, Serialize};

use super::HostUpdate;
use super::restore::{HostRecordError, Known, Restore};
use super::stored::{time, tunnel};
use crate::scope::Scope;

/// An update of a host with its flow and time, in a form that serde stores and reads.
///
/// Records carry the updates of [`WithoutHosts`](crate::observers::WithoutHosts) from the processes that analyse flows to the one that
/// has the host table. Names of the database are stored as text: the process that reads the records needs the same
/// database and the same version of this crate.
///
/// The order of records with equal time is that of their [packets](Self::packet_number), and for equal packets that in
/// which they were reported.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostUpdateRecord {
    #[serde(with = "time")]
    ts: Timestamp,
    packet_number: u64,
    first_packet: u64,
    is_answered: bool,
    client: SocketAddr,
    server: SocketAddr,
    transport: TransportKind,
    #[serde(with = "tunnel")]
    tunnel: Option<Box<TunnelPath>>,
    subject: Side,
    update: HostUpdate,
}

impl HostUpdateRecord {
    /// Creates the record of an update. `None` for updates that only [`Scope::P0f`](crate::observers::Scope::P0f) has.
    pub fn new(event: &Event<HostUpdate>) -> Option<Self> {
        let Event { ts, packet_number, first_packet, is_answered, ref flow, subject, ref kind, .. } = *event;
        (!kind.is_of_p0f()).then(|| Self {
            ts,
            packet_number,
            first_packet,
            is_answered,
            client: flow.client,
            server: flow.server,
            transport: flow.transport,
            tunnel: flow.tunnel.clone(),
            subject,
            update: kind.clone(),
        })
    }

    /// Capture time of the packet, in nanoseconds since the Unix epoch.
    pub fn ts_nanos(&self) -> u64 {
        self.ts.as_nanos()
    }

    /// Number of the packet in its capture, from 1.
    pub fn packet_number(&self) -> u64 {
        self.packet_number
    }

    /// Address and port of the host.
    pub fn host(&self) -> SocketAddr {
        self.subject.choose(self.client, self.server)
    }

    /// Returns the update, for [`Hosts::on_update`](huginn_net_core::SharedState::on_update) of the [table](super::Hosts).
    ///
    /// # Errors
    /// The record comes from another database.
    pub fn into_event(self, database: &Database) -> Result<Event<HostUpdate>, HostRecordError> {
        let Self {
            ts,
            packet_number,
            first_packet,
            is_answered,
            client,
            server,
            transport,
            tunnel,
            subject,
            mut update,
        } = self;
        update.update.restore(Known { database, scope: Scope::Full })?;
        let flow = FlowId::new(client, server, transport, tunnel);
        let mut event = Event::new(ts, packet_number, flow, subject, update);
        (event.first_packet, event.is_answered) = (first_packet, is_answered);
        Ok(event)
    }
}
