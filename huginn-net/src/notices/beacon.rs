//! Beacons: contacts of a client to one server at regular intervals.

use std::collections::VecDeque;
use std::fmt::{self, Display};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use huginn_net_core::{Event, IdleLimits, IdleMap, Timestamp, TransportKind};

use super::service::{BeaconService, service};
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
/// The numbers are those of the regular contacts, without earlier ones. [`Display`] is a sentence. It says what is known of the
/// software: `contacts c2.example every 60.0 s (jitter 2.1 %), 20 times: software unknown`.
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
    /// The application that all contacts match.
    pub software: Option<Arc<str>>,
    /// The TLS library that all contacts match, which any program may use.
    pub library: Option<Arc<str>>,
    /// The User-Agent of all contacts, which anything may claim.
    pub user_agent: Option<Box<[u8]>>,
    /// The service that the name or the port stands for, which anything may use.
    pub service: Option<BeaconService>,
}

/// The server of a beacon.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BeaconTarget {
    /// A server name or Host header without port, whatever its addresses.
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

    /// Whether a fingerprint names the software. A User-Agent, a name and a port do not: a client may choose them.
    pub fn is_known(&self) -> bool {
        self.software.is_some()
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
        let verb = if self.is_known() { "polls" } else { "contacts" };
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
            Some(service) => write!(f, ", {service}"),
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
    first: Contact,
    /// The last contact, which may be the first one, and its last activity, in milliseconds.
    last: Contact,
    active: u64,
    traits: Traits,
    has_name: bool,
}

/// A pair with three contacts or more.
#[derive(Debug)]
struct Series {
    /// The last activity, in milliseconds.
    active: u64,
    /// The last contacts: as many as make a beacon.
    window: VecDeque<Contact>,
    traits: Traits,
    /// What the last contact says.
    software: Option<Arc<str>>,
    library: Option<Arc<str>>,
    user_agent: Option<Box<[u8]>>,
    /// Whether connections to the address have names: the series of the name counts them.
    has_name: bool,
    is_reported: bool,
    /// Whether the handshake of a contact proves that the client sent its packets.
    is_proven: bool,
}

/// The first activity of a contact.
#[derive(Clone, Copy, Debug)]
struct Contact {
    ts: Timestamp,
    packet: u64,
}

/// What the contacts of a pair have in common.
#[derive(Clone, Copy, Debug, Default)]
struct Traits {
    software: Trait,
    library: Trait,
    user_agent: Trait,
}

/// A value that the last contacts have without exception.
#[derive(Clone, Copy, Debug, Default)]
struct Trait {
    /// The hash of the value.
    hash: Option<u64>,
    /// Number of contacts.
    contacts: u32,
    last: Sighting,
}

/// What the hellos and requests of the last contact say about a trait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sighting {
    /// There was none.
    #[default]
    None,
    /// All have the value.
    Same,
    /// They differ.
    Mixed,
}

/// What an activity of a pair is.
enum Activity {
    /// Part of the last contact.
    Continues,
    /// The next contact.
    Begins,
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
            candidate.traits.see(contact);
        }
        if let Some(name) = name {
            let key = TargetKey::Name(hash(name));
            self.on_activity(event, key, Some(name), Some(contact), now, report);
        }
    }

    /// Notes that the handshake of a connection proves that the client sent its packets.
    pub(super) fn on_proof<K>(&mut self, event: &Event<K>, now: Timestamp) {
        let key = (client_of(event), address_key(event));
        if let Some((_, series)) = self.series.touch_mut(&key, now) {
            series.is_proven = true;
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
        let key = (client_of(event), target);
        let contacts = self.contacts;
        let Some((slot, series)) = self.series.touch_mut(&key, now) else {
            return self.on_candidate(event, key, contact, now);
        };
        let is_new = series.add(event.ts, event.packet_number, contacts);
        contact.into_iter().for_each(|contact| series.identify(contact));
        if !is_new {
            return;
        }
        let notice = series.judge(contacts).map(|(period_millis, jitter_permille)| {
            let kind = BeaconNotice {
                target: match name {
                    Some(name) => BeaconTarget::Name(name.into()),
                    None => BeaconTarget::Address(event.flow.server),
                },
                contacts: u32::try_from(series.window.len()).unwrap_or(u32::MAX),
                period_millis,
                jitter_permille,
                first_seen: series.window.front().map_or(event.ts, |first| first.ts),
                software: series.software.clone().filter(|_| series.traits.software.is_of_all(contacts)),
                library: series.library.clone().filter(|_| series.traits.library.is_of_all(contacts)),
                user_agent: series
                    .user_agent
                    .clone()
                    .filter(|_| series.traits.user_agent.is_of_all(contacts)),
                service: service(name, event.flow.server.port()),
            };
            let packets =
                series.window.iter().take(MAX_NOTICE_PACKETS).map(|contact| contact.packet).collect();
            // A pair is reported once.
            (series.is_reported, series.window) = (true, VecDeque::new());
            let mut event = at_packet(event, TrafficNoticeKind::Beacon(kind), packets);
            event.kind.is_proven = series.is_proven;
            event
        });
        let heap_bytes = series.heap_bytes();
        self.series.set_buffered_bytes(slot, heap_bytes);
        notice.into_iter().for_each(report);
    }

    fn on_candidate<K>(
        &mut self,
        event: &Event<K>,
        key: PairKey,
        contact: Option<&RequestFacts>,
        now: Timestamp,
    ) {
        let new = Contact { ts: event.ts, packet: event.packet_number };
        let Some((_, candidate)) = self.candidates.touch_mut(&key, now) else {
            self.candidates.insert(key, now, Candidate::new(new, contact));
            return;
        };
        let at = new.at();
        match activity(candidate.active, at) {
            Activity::Continues => {
                candidate.active = candidate.active.max(at);
                contact.into_iter().for_each(|contact| candidate.traits.see(contact));
                return;
            }
            Activity::Restarts => {
                *candidate = Candidate::new(new, contact);
                return;
            }
            Activity::Begins => candidate.traits.begin(),
        }
        if candidate.first.at() == candidate.last.at() {
            (candidate.last, candidate.active) = (new, at);
            contact.into_iter().for_each(|contact| candidate.traits.see(contact));
            return;
        }
        let mut series = Series::new(candidate, new);
        contact.into_iter().for_each(|contact| series.identify(contact));
        // If the series is evicted, the pair starts again.
        *candidate = Candidate::new(new, contact);
        let heap_bytes = series.heap_bytes();
        if let Some(slot) = self.series.insert(key, now, series) {
            self.series.set_buffered_bytes(slot, heap_bytes);
        }
    }
}

impl Contact {
    /// Its time in milliseconds.
    fn at(&self) -> u64 {
        self.ts.as_millis()
    }
}

impl Candidate {
    fn new(first: Contact, contact: Option<&RequestFacts>) -> Self {
        let mut traits = Traits::default();
        contact.into_iter().for_each(|contact| traits.see(contact));
        Self { first, last: first, active: first.at(), traits, has_name: false }
    }
}

impl Series {
    fn new(candidate: &Candidate, third: Contact) -> Self {
        Self {
            active: third.at(),
            window: [candidate.first, candidate.last, third].into(),
            traits: candidate.traits,
            software: None,
            library: None,
            user_agent: None,
            has_name: candidate.has_name,
            is_reported: false,
            is_proven: false,
        }
    }

    /// Adds an activity. Returns whether it begins a contact.
    fn add(&mut self, ts: Timestamp, packet: u64, contacts: u32) -> bool {
        let at = ts.as_millis();
        match activity(self.active, at) {
            Activity::Continues => {
                self.active = self.active.max(at);
                return false;
            }
            Activity::Restarts => {
                self.window.clear();
                self.traits = Traits::default();
            }
            Activity::Begins => self.traits.begin(),
        }
        self.active = at;
        if self.is_reported {
            return false;
        }
        if self.window.len() >= contacts as usize {
            self.window.pop_front();
        }
        self.window.push_back(Contact { ts, packet });
        true
    }

    fn identify(&mut self, contact: &RequestFacts) {
        self.traits.see(contact);
        let RequestFacts { software, library, user_agent, .. } = contact;
        if self.is_reported {
            return;
        }
        self.software.clone_from(software);
        self.library.clone_from(library);
        if self.user_agent != *user_agent {
            self.user_agent.clone_from(user_agent);
        }
    }

    /// The period in milliseconds and the jitter in thousandths, if the last intervals are regular.
    fn judge(&self, contacts: u32) -> Option<(u32, u32)> {
        if self.is_reported || self.has_name || self.window.len() < contacts as usize {
            return None;
        }
        let starts = || self.window.iter().map(Contact::at);
        let interval = |(one, next): (u64, u64)| u32::try_from(next.saturating_sub(one)).unwrap_or(u32::MAX);
        let mut sorted: Vec<u32> = starts().zip(starts().skip(1)).map(interval).collect();
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
        let window = self.window.capacity().saturating_mul(size_of::<Contact>());
        window.saturating_add(self.user_agent.as_deref().map_or(0, <[u8]>::len))
    }
}

impl Traits {
    /// Begins a contact.
    fn begin(&mut self) {
        [&mut self.software, &mut self.library, &mut self.user_agent].into_iter().for_each(Trait::begin);
    }

    /// Adds a hello or a request of the last contact.
    fn see(&mut self, contact: &RequestFacts) {
        self.software.see(contact.software.as_deref().map(str::as_bytes));
        self.library.see(contact.library.as_deref().map(str::as_bytes));
        self.user_agent.see(contact.user_agent.as_deref());
    }
}

impl Trait {
    fn begin(&mut self) {
        if self.last == Sighting::None {
            self.contacts = 0;
        }
        self.last = Sighting::None;
    }

    fn see(&mut self, value: Option<&[u8]>) {
        let value = value.map(hash);
        let is_same = value.is_some() && self.hash == value;
        match self.last {
            Sighting::None if is_same => self.contacts = self.contacts.saturating_add(1),
            Sighting::None => self.contacts = u32::from(value.is_some()),
            Sighting::Same if is_same => return,
            Sighting::Same | Sighting::Mixed => {
                (self.contacts, self.last) = (0, Sighting::Mixed);
                return;
            }
        }
        (self.hash, self.last) = (value, Sighting::Same);
    }

    /// Whether so many contacts have the value. The last contact of an address is its SYN, and says nothing yet.
    fn is_of_all(&self, contacts: u32) -> bool {
        self.contacts.saturating_add(u32::from(self.last == Sighting::None)) >= contacts
    }
}

/// What an activity at a time is, after a contact with this last activity.
fn activity(active: u64, at: u64) -> Activity {
    match at.checked_sub(active) {
        Some(gap) if gap < BEACON_GAP_MILLIS => Activity::Continues,
        Some(_) => Activity::Begins,
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
