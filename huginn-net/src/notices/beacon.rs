//! Beacons: contacts of a client to one server at regular intervals.

use std::collections::VecDeque;
use std::fmt::{self, Display};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use huginn_net_core::{Event, IdleLimits, IdleMap, Timestamp, TransportKind};

use super::service::service;
use super::{ClientKey, TrafficNotice, TrafficNoticeKind, at_packet, client_of};
use crate::hosts::RequestFacts;
use crate::limits::{
    BEACON_GAP_MILLIS, MAX_BEACON_BYTES, MAX_BEACON_CANDIDATES, MAX_BEACON_DEVIATION_PERCENT,
    MAX_BEACON_SERIES, MAX_NOTICE_PACKETS, MIN_BEACON_PERIOD_MILLIS, MIN_BEACON_REGULAR_PERCENT,
    NOTICE_IDLE_SECS,
};
use crate::quoted::Quoted;

/// Contacts of a client to a server at regular intervals.
///
/// [`Display`] is a sentence. It says what is known of the software: `connects to c2.example every 60 s (jitter 2.1 %), 20 times:
/// software unknown`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BeaconNotice {
    /// The server.
    pub target: BeaconTarget,
    /// Number of contacts.
    pub contacts: u32,
    /// Median of the intervals, in milliseconds.
    pub period_millis: u32,
    /// Mean deviation of the regular intervals from the median, in thousandths of it.
    pub jitter_permille: u32,
    /// Time of the first contact.
    pub first_seen: Timestamp,
    /// The application that the last contact matches.
    pub software: Option<Arc<str>>,
    /// The TLS library that the last contact matches, which any program may use.
    pub library: Option<Arc<str>>,
    /// The User-Agent of the last contact, which anything may claim.
    pub user_agent: Option<Box<[u8]>>,
    /// The service that the name or the port stands for.
    pub service: Option<&'static str>,
}

/// The server of a beacon.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BeaconTarget {
    /// A server name or Host header, whatever its addresses.
    Name(Box<[u8]>),
    /// An address and port, if its connections have no name.
    Address(SocketAddr),
}

impl BeaconNotice {
    /// The median of the intervals, in seconds.
    pub fn period(&self) -> f64 {
        f64::from(self.period_millis) / 1e3
    }

    /// The mean deviation from the median, in percent of it.
    pub fn jitter(&self) -> f64 {
        f64::from(self.jitter_permille) / 10.0
    }

    /// Whether the software, what it claims to be, or the service is known.
    pub fn is_known(&self) -> bool {
        self.software.is_some() || self.user_agent.is_some() || self.service.is_some()
    }
}

impl Display for BeaconTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => Quoted(name).fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl Display for BeaconNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, contacts, software, library, user_agent, service, .. } = self;
        let verb = if self.is_known() { "polls" } else { "connects to" };
        let (period, jitter) = (self.period(), self.jitter());
        let decimals = if period < 100.0 { 1 } else { 0 };
        write!(f, "{verb} {target} every {period:.decimals$} s (jitter {jitter:.1} %), {contacts} times: ")?;
        match (software, library, user_agent) {
            (Some(software), ..) => write!(f, "software {software}")?,
            (None, _, Some(text)) => write!(f, "User-Agent says {}", Quoted(text))?,
            (None, Some(library), None) => write!(f, "software unknown (TLS library {library})")?,
            (None, None, None) => f.write_str("software unknown")?,
        }
        match service {
            Some(service) => write!(f, ", service {service}"),
            None => Ok(()),
        }
    }
}

/// A client and a server.
type PairKey = (ClientKey, TargetKey);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TargetKey {
    /// The hash of a name.
    Name(u64),
    Address(SocketAddr, bool),
}

/// The contacts of pairs of client and server.
///
/// A pair is a candidate until its third contact, so that a scan, which makes many pairs, evicts no pair with more.
#[derive(Debug)]
pub(super) struct Beacons {
    candidates: IdleMap<PairKey, Candidate>,
    series: IdleMap<PairKey, Series>,
    /// Number of contacts that make a beacon.
    contacts: u32,
}

/// The first two contacts.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    first_seen: Timestamp,
    /// Start of the last contact, and its last activity, in milliseconds.
    start: u64,
    active: u64,
    first_start: u64,
    packets: [u64; 2],
    count: u8,
    has_name: bool,
}

/// A pair with three contacts or more.
#[derive(Debug)]
struct Series {
    first_seen: Timestamp,
    start: u64,
    active: u64,
    count: u32,
    packets: Vec<u64>,
    /// The last intervals between starts of contacts, in milliseconds.
    intervals: VecDeque<u32>,
    software: Option<Arc<str>>,
    library: Option<Arc<str>>,
    /// Whether connections to the address have names: the series of the name counts them.
    has_name: bool,
    is_reported: bool,
}

/// What an activity of a pair is.
enum Activity {
    /// Part of the last contact.
    Continues,
    /// The next contact, after this interval.
    Begins(u32),
    /// Time stepped back.
    Restarts,
}

impl Beacons {
    pub(super) fn new(contacts: u32) -> Self {
        let limits = |max_entries| IdleLimits {
            max_entries,
            idle_timeout: Duration::from_secs(NOTICE_IDLE_SECS),
            max_buffered_bytes: MAX_BEACON_BYTES,
        };
        Self {
            candidates: IdleMap::new(&limits(MAX_BEACON_CANDIDATES)),
            series: IdleMap::new(&limits(MAX_BEACON_SERIES)),
            contacts,
        }
    }

    pub(super) fn evicted(&self) -> u64 {
        let of = |counters: huginn_net_core::IdleCounters| {
            counters.evicted.saturating_add(counters.evicted_for_memory)
        };
        of(self.candidates.counters()).saturating_add(of(self.series.counters()))
    }

    /// Number of pairs with fewer than three contacts, and of others.
    #[cfg(test)]
    pub(super) fn entries(&self) -> (u64, u64) {
        (self.candidates.counters().entries, self.series.counters().entries)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.contacts);
    }

    /// Adds a SYN.
    pub(super) fn on_syn<K>(
        &mut self,
        event: &Event<K>,
        now: Timestamp,
        report: &mut impl FnMut(Event<TrafficNotice>),
    ) {
        self.on_activity(event, address_key(event), None, None, now, report);
    }

    /// Adds a ClientHello or a request. Its name has a series of its own.
    pub(super) fn on_contact<K>(
        &mut self,
        event: &Event<K>,
        contact: &RequestFacts,
        now: Timestamp,
        report: &mut impl FnMut(Event<TrafficNotice>),
    ) {
        let by_address = (client_of(event), address_key(event));
        let name = contact.name.as_deref();
        if name.is_none() && event.flow.transport == TransportKind::Udp {
            return self.on_activity(event, by_address.1, None, Some(contact), now, report);
        }
        // The SYN is the activity of the address.
        if let Some((_, series)) = self.series.touch_mut(&by_address, now) {
            series.has_name |= name.is_some();
            series.identify(contact);
        } else if let Some((_, candidate)) = self.candidates.touch_mut(&by_address, now) {
            candidate.has_name |= name.is_some();
        }
        if let Some(name) = name {
            let key = TargetKey::Name(hash(name));
            self.on_activity(event, key, Some(name), Some(contact), now, report);
        }
    }

    fn on_activity<K>(
        &mut self,
        event: &Event<K>,
        target: TargetKey,
        name: Option<&[u8]>,
        contact: Option<&RequestFacts>,
        now: Timestamp,
        report: &mut impl FnMut(Event<TrafficNotice>),
    ) {
        let (key, at) = ((client_of(event), target), event.ts.as_millis());
        let contacts = self.contacts;
        let Some((slot, series)) = self.series.touch_mut(&key, now) else {
            return self.on_candidate(event, key, at, now);
        };
        if !series.add(at, event.packet_number, contacts) {
            return;
        }
        let notice = series.judge(contacts).map(|(period_millis, jitter_permille)| {
            series.is_reported = true;
            contact.into_iter().for_each(|contact| series.identify(contact));
            let kind = BeaconNotice {
                target: match name {
                    Some(name) => BeaconTarget::Name(name.into()),
                    None => BeaconTarget::Address(event.flow.server),
                },
                contacts: series.count,
                period_millis,
                jitter_permille,
                first_seen: series.first_seen,
                software: series.software.clone(),
                library: series.library.clone(),
                user_agent: contact.and_then(|contact| contact.user_agent.clone()),
                service: service(name, event.flow.server.port()),
            };
            at_packet(event, TrafficNoticeKind::Beacon(kind), series.packets.clone())
        });
        let heap_bytes = series.heap_bytes();
        self.series.set_buffered_bytes(slot, heap_bytes);
        notice.into_iter().for_each(report);
    }

    fn on_candidate<K>(&mut self, event: &Event<K>, key: PairKey, at: u64, now: Timestamp) {
        let Some((_, candidate)) = self.candidates.touch_mut(&key, now) else {
            let candidate = Candidate::new(event.ts, at, event.packet_number);
            self.candidates.insert(key, now, candidate);
            return;
        };
        let interval = match activity(candidate.start, candidate.active, at) {
            Activity::Continues => {
                candidate.active = candidate.active.max(at);
                return;
            }
            Activity::Restarts => {
                *candidate = Candidate::new(event.ts, at, event.packet_number);
                return;
            }
            Activity::Begins(interval) => interval,
        };
        if candidate.count == 1 {
            let [first, _] = candidate.packets;
            candidate.packets = [first, event.packet_number];
            (candidate.start, candidate.active, candidate.count) = (at, at, 2);
            return;
        }
        let series = Series::new(candidate, interval, at, event.packet_number);
        // Should the series be evicted, the pair begins anew.
        *candidate = Candidate::new(event.ts, at, event.packet_number);
        let heap_bytes = series.heap_bytes();
        if let Some(slot) = self.series.insert(key, now, series) {
            self.series.set_buffered_bytes(slot, heap_bytes);
        }
    }
}

impl Candidate {
    fn new(first_seen: Timestamp, at: u64, packet: u64) -> Self {
        Self {
            first_seen,
            start: at,
            active: at,
            first_start: at,
            packets: [packet; 2],
            count: 1,
            has_name: false,
        }
    }
}

impl Series {
    fn new(candidate: &Candidate, interval: u32, at: u64, packet: u64) -> Self {
        let first = candidate.start.saturating_sub(candidate.first_start);
        let [one, two] = candidate.packets;
        Self {
            first_seen: candidate.first_seen,
            start: at,
            active: at,
            count: 3,
            packets: vec![one, two, packet],
            intervals: [u32::try_from(first).unwrap_or(u32::MAX), interval].into(),
            software: None,
            library: None,
            has_name: candidate.has_name,
            is_reported: false,
        }
    }

    /// Adds an activity. Returns whether it begins a contact.
    fn add(&mut self, at: u64, packet: u64, contacts: u32) -> bool {
        let interval = match activity(self.start, self.active, at) {
            Activity::Continues => {
                self.active = self.active.max(at);
                return false;
            }
            Activity::Restarts => {
                (self.start, self.active) = (at, at);
                self.intervals.clear();
                return false;
            }
            Activity::Begins(interval) => interval,
        };
        (self.start, self.active) = (at, at);
        self.count = self.count.saturating_add(1);
        if self.is_reported {
            return false;
        }
        if self.intervals.len() >= contacts.saturating_sub(1) as usize {
            self.intervals.pop_front();
        }
        self.intervals.push_back(interval);
        if self.packets.len() < MAX_NOTICE_PACKETS {
            self.packets.push(packet);
        }
        true
    }

    fn identify(&mut self, contact: &RequestFacts) {
        self.software.clone_from(&contact.software);
        self.library.clone_from(&contact.library);
    }

    /// The period in milliseconds and the jitter in thousandths, if the last intervals are regular.
    fn judge(&self, contacts: u32) -> Option<(u32, u32)> {
        if self.is_reported || self.has_name || self.intervals.len() < contacts.saturating_sub(1) as usize {
            return None;
        }
        let mut sorted: Vec<u32> = self.intervals.iter().copied().collect();
        sorted.sort_unstable();
        let median = *sorted.get(sorted.len() / 2)?;
        let max = u64::from(median).saturating_mul(MAX_BEACON_DEVIATION_PERCENT.into()) / 100;
        let deviations = sorted.iter().map(|interval| u64::from(interval.abs_diff(median)));
        let (mut regular, mut sum) = (0_usize, 0_u64);
        for deviation in deviations.filter(|deviation| *deviation <= max) {
            regular = regular.saturating_add(1);
            sum = sum.saturating_add(deviation);
        }
        let is_regular =
            regular.saturating_mul(100) >= sorted.len().saturating_mul(MIN_BEACON_REGULAR_PERCENT);
        if !is_regular || median < MIN_BEACON_PERIOD_MILLIS {
            return None;
        }
        let mean = sum.saturating_mul(1000).checked_div(regular as u64)?;
        Some((median, u32::try_from(mean.checked_div(median.into())?).unwrap_or(u32::MAX)))
    }

    fn heap_bytes(&self) -> usize {
        let intervals = self.intervals.capacity().saturating_mul(size_of::<u32>());
        intervals.saturating_add(self.packets.capacity().saturating_mul(size_of::<u64>()))
    }
}

/// What an activity at a time is, after a contact with this start and this last activity.
fn activity(start: u64, active: u64, at: u64) -> Activity {
    match at.checked_sub(active) {
        Some(gap) if gap < BEACON_GAP_MILLIS => Activity::Continues,
        Some(_) => Activity::Begins(u32::try_from(at.saturating_sub(start)).unwrap_or(u32::MAX)),
        // Packets may be slightly out of order.
        None if active.saturating_sub(at) < BEACON_GAP_MILLIS => Activity::Continues,
        None => Activity::Restarts,
    }
}

fn address_key<K>(event: &Event<K>) -> TargetKey {
    TargetKey::Address(event.flow.server, event.flow.transport == TransportKind::Udp)
}

fn hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
