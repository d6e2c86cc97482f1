//! What events show, folded into parts of bounded memory. A view asks for the parts that it shows; the others stay empty.

pub(crate) mod activity;
pub(crate) mod alerts;
pub(crate) mod bounded;
pub(crate) mod cryptography;
mod hosts;
mod kind;
mod origin;
pub(crate) mod remarks;
mod repeatable;
mod servers;
pub(crate) mod statement;
pub(crate) mod timeline;
mod values;

use std::sync::Arc;

use huginn_net::Event;

use self::activity::Activity;
use self::alerts::AlertList;
use self::bounded::increment;
use self::cryptography::Inventory;
pub(crate) use self::hosts::{SeenHost, SeenHosts};
pub(crate) use self::kind::ValueKind;
pub(crate) use self::origin::Origin;
use self::remarks::Remarks;
pub(crate) use self::repeatable::Repeatable;
pub(crate) use self::servers::{ServerTexts, Servers};
use self::timeline::Timeline;
pub(crate) use self::values::{SeenValue, ValueTable};

/// A part of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Names of systems and software.
    Names,
    /// Names, fingerprints and other values of packets.
    Fingerprints,
    /// The number of hosts, and the tools that they send packets of.
    Hosts,
    /// Hosts, with the names that events show of them.
    HostNames,
    /// Numbers of events over time.
    Timeline,
    /// What each host did.
    Activity,
    Alerts,
    /// Failed handshakes and wrong certificates.
    Remarks,
    /// The names and the certificates of servers.
    Servers,
    /// Offers and choices of cryptography.
    Cryptography,
}

/// What events show.
#[derive(Debug, Default)]
pub(crate) struct Store {
    parts: Vec<Part>,
    origin: Origin,
    /// Number of events.
    pub(crate) events: u64,
    pub(crate) values: ValueTable,
    pub(crate) hosts: SeenHosts,
    pub(crate) timeline: Timeline,
    pub(crate) activity: Activity,
    pub(crate) alerts: AlertList,
    pub(crate) remarks: Remarks,
    pub(crate) servers: Servers,
    pub(crate) cryptography: Inventory,
}

impl Store {
    pub(crate) fn new(parts: &[Part]) -> Self {
        Self { parts: parts.to_vec(), ..Self::default() }
    }

    /// Begins a capture file: its index, and the name of its network if there are several.
    pub(crate) fn begin_file(&mut self, file: usize, network: Option<Arc<str>>) {
        self.origin = Origin { file, network };
    }

    /// Ends a capture file.
    pub(crate) fn end_file(&mut self) {
        self.cryptography.count_pending();
    }

    /// Adds an event to each part that is asked for.
    pub(crate) fn add(&mut self, event: &Event) {
        increment(&mut self.events);
        for part in &self.parts {
            match part {
                Part::Names => self.values.add(event, &self.origin, false),
                Part::Fingerprints => self.values.add(event, &self.origin, true),
                Part::Hosts => self.hosts.add(event, false),
                Part::HostNames => self.hosts.add(event, true),
                Part::Timeline => self.timeline.add(event),
                Part::Activity => self.activity.add(event, &self.origin),
                Part::Alerts => self.alerts.add(event, &self.origin),
                Part::Remarks => self.remarks.add(event, &self.origin),
                Part::Servers => self.servers.add(event),
                Part::Cryptography => self.cryptography.add(event),
            }
        }
    }
}
