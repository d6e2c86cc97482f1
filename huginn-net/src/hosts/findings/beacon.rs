//! Beacons: contacts of a client to one server at regular intervals.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::Arc;

use huginn_net_core::{Timestamp, TransportKind};

use super::by_proof::ByProof;
use super::service::service;
use super::{ClientKey, Report, Seen};
use crate::hosts::RequestFacts;
use crate::limits::{BEACON_CONTACTS, MAX_BEACON_CANDIDATES, MAX_BEACON_SERIES, MAX_FINDING_PACKETS};
use crate::observation::{BeaconFinding, BeaconTarget, FindingKind};

/// Fewer contacts that make a beacon, and the maximum deviation of their intervals from the median, in thousandths of it. Contacts
/// at random times fulfil one of these steps, or the one of [`BEACON_CONTACTS`], with a probability below 10^-10, whatever their rate.
const BEACON_STEPS: [(u32, u32); 3] = [(10, 50), (14, 95), (17, 155)];

/// Time without activity after which the next one is another contact, in milliseconds: connections of one visit follow each
/// other.
const BEACON_GAP_MILLIS: u64 = 2000;

/// Minimum period of a beacon, in milliseconds: five times the gap, which makes short random intervals more alike.
const MIN_BEACON_PERIOD_MILLIS: u32 = 10_000;

/// Time without a new connection after which the next one is another contact, for periods below [`MIN_BEACON_PERIOD_MILLIS`].
const BEACON_CONNECTION_GAP_MILLIS: u64 = 400;

/// Minimum period of a beacon of connections, in milliseconds: five times their gap.
const MIN_BEACON_CONNECTION_PERIOD_MILLIS: u32 = 2000;

/// Time between two connections that ends a series with a period below [`MIN_BEACON_PERIOD_MILLIS`], in milliseconds: more than
/// that of one lost connection.
const MAX_BEACON_CONNECTION_PAUSE_MILLIS: u64 = 25_000;

/// Maximum deviation of an interval from the median: beacons commonly vary by up to 20 %.
const MAX_BEACON_DEVIATION_PERMILLE: u32 = 250;

/// Minimum share of the intervals within that deviation: some contacts are lost or repeated.
const MIN_BEACON_REGULAR_PERCENT: usize = 90;

/// Maximum memory of times, packet numbers and User-Agents, in bytes.
const MAX_BEACON_BYTES: usize = 16 << 20;

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
    candidates: ByProof<PairKey, Candidate>,
    series: ByProof<PairKey, Series>,
    steps: Steps,
}

/// Numbers of contacts that make a beacon, each with the maximum deviation of their intervals in thousandths of the median. The
/// numbers rise.
#[derive(Debug)]
struct Steps(Vec<(usize, u32)>);

/// The first two contacts.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    first: Contact,
    second: Option<Contact>,
    pair: Pair,
}

/// A pair with three contacts or more.
#[derive(Debug)]
struct Series {
    /// The last contacts after a pause without activity: as many as make a beacon.
    visits: VecDeque<Contact>,
    /// The last contacts after a pause without another connection, while their period may be a short one.
    connections: VecDeque<Contact>,
    pair: Pair,
    /// What the last contact says.
    software: Option<Arc<str>>,
    library: Option<Arc<str>>,
    user_agent: Option<Box<[u8]>>,
    /// Whether it was reported without proof.
    is_reported: bool,
    /// Whether it was reported with proof, or repeats itself as no host does.
    is_done: bool,
}

/// What is known of a pair with any number of contacts.
#[derive(Clone, Copy, Debug)]
struct Pair {
    /// The last activity, in milliseconds.
    active: u64,
    /// The last new connection, in milliseconds.
    connected: u64,
    traits: Traits,
    /// Token and client port of the last connection.
    token: u32,
    port: u16,
    /// Whether connections to the address have names: the series of the name counts them.
    has_name: bool,
    /// Whether the server accepted a connection.
    is_answered: bool,
}

/// The first activity of a contact.
#[derive(Clone, Copy, Debug)]
struct Contact {
    ts: Timestamp,
    packet: u64,
    /// A hash of what no host repeats: the initial sequence number with the port, and the random of TLS. Zero if it is unknown.
    token: u32,
    /// Whether its handshake proves that the client sent its packets.
    is_proven: bool,
    begins: Begins,
}

/// What an activity begins.
#[derive(Clone, Copy, Debug, Default)]
struct Begins {
    /// A contact after a pause without activity.
    visit: bool,
    /// A contact after a pause without a new connection.
    connection: bool,
}

/// An activity of a pair.
struct Activity<'a> {
    target: TargetKey,
    name: Option<&'a [u8]>,
    /// What a hello or a request says.
    facts: Option<&'a RequestFacts>,
    /// Whether it is the first one of a connection.
    is_connection: bool,
    token: u32,
    is_answered: bool,
    is_proven: bool,
}

/// What the contacts of a pair have in common.
#[derive(Clone, Copy, Debug, Default)]
struct Traits {
    software: Trait,
    library: Trait,
    user_agent: Trait,
    /// The start of the last contact, in milliseconds.
    start: u64,
}

/// A value that the last contacts have without exception.
#[derive(Clone, Copy, Debug, Default)]
struct Trait {
    /// The hash of the value; zero without one.
    hash: u64,
    /// The start of the first of these contacts, in milliseconds.
    since: u64,
    /// Number of hellos and requests with the value; zero if there is no value that all have.
    sightings: u32,
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

/// Regular intervals.
#[derive(Clone, Copy, Debug)]
struct Regular {
    contacts: usize,
    period_millis: u32,
    jitter_permille: u32,
}

impl Beacons {
    pub(super) fn new(contacts: u32) -> Self {
        Self {
            candidates: ByProof::new(MAX_BEACON_CANDIDATES, usize::MAX, |_| 0),
            series: ByProof::new(MAX_BEACON_SERIES, MAX_BEACON_BYTES, Series::heap_bytes),
            steps: Steps::new(contacts),
        }
    }

    pub(super) fn evicted(&self) -> u64 {
        self.candidates.evicted().saturating_add(self.series.evicted())
    }

    /// Number of pairs with fewer than three contacts, and of others.
    #[cfg(test)]
    pub(super) fn entries(&self) -> (u64, u64) {
        (self.candidates.entries(), self.series.entries())
    }

    /// Adds a SYN with this initial sequence number.
    pub(super) fn on_syn(&mut self, seen: &Seen<'_>, isn: u32, report: Report<'_>) {
        let activity = Activity {
            target: address_key(seen),
            name: None,
            facts: None,
            is_connection: true,
            token: token(&(client_port(seen), isn)),
            is_answered: false,
            is_proven: false,
        };
        self.on_activity(seen, &activity, report);
    }

    /// Adds a SYN+ACK.
    pub(super) fn on_answer(&mut self, seen: &Seen<'_>) {
        if let Some(pair) = self.pair_mut(&(seen.client, address_key(seen)), seen.now) {
            pair.is_answered = true;
        }
    }

    /// Adds a ClientHello or a request; `is_connection`: the first one of its connection. Its name has a series of its own.
    pub(super) fn on_contact(
        &mut self,
        seen: &Seen<'_>,
        facts: &RequestFacts,
        is_connection: bool,
        report: Report<'_>,
    ) {
        let address = address_key(seen);
        let name = facts.name.as_deref();
        let mut activity = Activity {
            target: address,
            name,
            facts: Some(facts),
            is_connection,
            token: facts.random.map_or(0, |random| token(&random)),
            is_answered: true,
            is_proven: seen.is_proven,
        };
        if name.is_none() && seen.event.flow.transport == TransportKind::Udp {
            return self.on_activity(seen, &activity, report);
        }
        // The SYN is the activity of the address.
        let by_address = (seen.client, address);
        if let Some((_, series)) = self.series.touch_mut(&by_address, seen.now) {
            series.identify(facts);
        }
        if let Some(pair) = self.pair_mut(&by_address, seen.now) {
            pair.has_name |= name.is_some();
            pair.is_answered = true;
            pair.traits.see(facts);
            if pair.token != 0 && pair.port == client_port(seen) {
                activity.token = token(&(pair.token, facts.random));
            }
        }
        if let Some(name) = name {
            let token = if is_connection { activity.token } else { 0 };
            let activity = Activity { target: TargetKey::Name(hash(name)), token, ..activity };
            self.on_activity(seen, &activity, report);
        }
    }

    /// Notes that the handshake of a connection proves that the client sent its packets.
    pub(super) fn on_proof(&mut self, seen: &Seen<'_>) {
        let (key, now, port) = ((seen.client, address_key(seen)), seen.now, client_port(seen));
        self.prove(key, now);
        if let Some((_, series)) = self.series.touch_mut(&key, now) {
            let Series { visits, connections, pair, .. } = series;
            let last = [visits.back_mut(), connections.back_mut()];
            last.into_iter().flatten().for_each(|contact| contact.prove(pair, port));
        } else if let Some((_, candidate)) = self.candidates.touch_mut(&key, now) {
            let Candidate { first, second, pair } = candidate;
            second.as_mut().unwrap_or(first).prove(pair, port);
        }
    }

    /// Moves a pair to those that a handshake proves.
    fn prove(&mut self, key: PairKey, now: Timestamp) {
        self.candidates.prove(key, now);
        self.series.prove(key, now);
    }

    /// What is known of a pair.
    fn pair_mut(&mut self, key: &PairKey, now: Timestamp) -> Option<&mut Pair> {
        if let Some((_, series)) = self.series.touch_mut(key, now) {
            return Some(&mut series.pair);
        }
        Some(&mut self.candidates.touch_mut(key, now)?.1.pair)
    }

    fn on_activity(&mut self, seen: &Seen<'_>, activity: &Activity<'_>, report: Report<'_>) {
        let (event, now, key) = (seen.event, seen.now, (seen.client, activity.target));
        if activity.is_proven {
            self.prove(key, now);
        }
        let Some((place, series)) = self.series.touch_mut(&key, now) else {
            return self.on_candidate(seen, key, activity);
        };
        let begins = series.add(seen, activity, &self.steps);
        activity.facts.into_iter().for_each(|facts| series.identify_and_see(facts));
        if !(begins.visit || begins.connection) {
            return;
        }
        let found = series.judge(begins, &self.steps).map(|(contacts, found)| {
            let first = contacts.front().map_or(event.ts, |first| first.ts);
            let is_of_all = |found: &Trait| found.is_of_all(first.as_millis(), contacts.len());
            let Traits { software, library, user_agent, .. } = &series.pair.traits;
            let user_agent = series.user_agent.clone().filter(|_| is_of_all(user_agent));
            let kind = BeaconFinding {
                target: match activity.name {
                    Some(name) => BeaconTarget::Name(name.into()),
                    None => BeaconTarget::Address(seen.server()),
                },
                contacts: u32::try_from(contacts.len()).unwrap_or(u32::MAX),
                period_millis: found.period_millis,
                jitter_permille: found.jitter_permille,
                first_seen: first,
                software: series.software.clone().filter(|_| is_of_all(software)),
                library: series.library.clone().filter(|_| is_of_all(library)),
                service: service(activity.name, seen.server().port(), user_agent.as_deref()),
                user_agent,
                is_answered: series.pair.is_answered,
            };
            let packets = contacts.iter().take(MAX_FINDING_PACKETS).map(|contact| contact.packet).collect();
            let mut event = seen.event_of(FindingKind::Beacon(kind), packets);
            let proven = contacts.iter().filter(|contact| contact.is_proven).count();
            event.kind.is_proven = proven.saturating_mul(2) >= contacts.len();
            event.kind.is_update = series.is_reported;
            event
        });
        let found = found.filter(|event| event.kind.is_proven || !series.is_reported);
        // A pair is reported once, and again if later contacts are proven.
        match &found {
            Some(event) if event.kind.is_proven => series.end(),
            Some(_) => series.is_reported = true,
            None => {}
        }
        self.series.measure(place);
        found.into_iter().for_each(report);
    }

    fn on_candidate(&mut self, seen: &Seen<'_>, key: PairKey, activity: &Activity<'_>) {
        let Some((place, candidate)) = self.candidates.touch_mut(&key, seen.now) else {
            self.candidates.insert(key, seen.now, Candidate::new(seen, activity), activity.is_proven);
            return;
        };
        let Some(begins) = candidate.pair.add(seen, activity) else {
            *candidate = Candidate::new(seen, activity);
            return;
        };
        if !(begins.visit || begins.connection) {
            activity.facts.into_iter().for_each(|facts| candidate.pair.traits.see(facts));
            return;
        }
        let new = Contact::new(seen, activity, begins);
        let Some(second) = candidate.second else {
            candidate.second = Some(new);
            activity.facts.into_iter().for_each(|facts| candidate.pair.traits.see(facts));
            return;
        };
        let mut series = Series::new(candidate.pair);
        [candidate.first, second, new].into_iter().for_each(|contact| series.push(contact, &self.steps));
        activity.facts.into_iter().for_each(|facts| series.identify_and_see(facts));
        // If the series is evicted, the pair starts again.
        *candidate = Candidate::new(seen, activity);
        if let Some(place) = self.series.insert(key, seen.now, series, place.is_proven) {
            self.series.measure(place);
        }
    }
}

impl Steps {
    /// The steps to a number of contacts. More than the default one raise all others, too.
    fn new(contacts: u32) -> Self {
        let default = BEACON_CONTACTS.get();
        let scaled = |count: u32| count.saturating_mul(contacts.max(default)).div_ceil(default);
        let fewer = BEACON_STEPS.into_iter().map(|(count, deviation)| (scaled(count), deviation));
        let steps = fewer.filter(|(count, _)| *count < contacts);
        let last = (contacts, MAX_BEACON_DEVIATION_PERMILLE);
        Self(steps.chain([last]).map(|(count, deviation)| (count as usize, deviation)).collect())
    }

    /// The maximum number of contacts.
    fn max(&self) -> usize {
        self.0.last().map_or(0, |(count, _)| *count)
    }

    /// The first step that the last contacts fulfil with a period of at least this many milliseconds.
    fn judge(&self, window: &VecDeque<Contact>, min_period: u32) -> Option<Regular> {
        let possible = self.0.iter().filter(|(count, _)| *count <= window.len());
        possible.filter_map(|(count, deviation)| regular(window, *count, *deviation, min_period)).next()
    }
}

/// The intervals between the last contacts, if enough of them deviate from their median by at most this many thousandths of it.
fn regular(window: &VecDeque<Contact>, contacts: usize, permille: u32, min_period: u32) -> Option<Regular> {
    let starts = || window.iter().skip(window.len().saturating_sub(contacts)).map(Contact::at);
    let interval = |(one, next): (u64, u64)| u32::try_from(next.saturating_sub(one)).unwrap_or(u32::MAX);
    let mut sorted: Vec<u32> = starts().zip(starts().skip(1)).map(interval).collect();
    sorted.sort_unstable();
    let median = *sorted.get(sorted.len() / 2)?;
    let max = u64::from(median).saturating_mul(permille.into()) / 1000;
    let deviations = sorted.iter().map(|interval| u64::from(interval.abs_diff(median)));
    let (mut within, mut sum) = (0_usize, 0_u64);
    for deviation in deviations.filter(|deviation| *deviation <= max) {
        within = within.saturating_add(1);
        sum = sum.saturating_add(deviation);
    }
    let is_regular = within.saturating_mul(100) >= sorted.len().saturating_mul(MIN_BEACON_REGULAR_PERCENT);
    if !is_regular || median < min_period {
        return None;
    }
    let mean = sum.saturating_mul(1000).checked_div(within as u64)?.checked_div(median.into())?;
    let jitter_permille = u32::try_from(mean).unwrap_or(u32::MAX);
    Some(Regular { contacts, period_millis: median, jitter_permille })
}

impl Contact {
    fn new(seen: &Seen<'_>, activity: &Activity<'_>, begins: Begins) -> Self {
        let Activity { token, is_proven, .. } = *activity;
        Self { ts: seen.event.ts, packet: seen.event.packet_number, token, is_proven, begins }
    }

    /// Notes that the handshake of the last connection of the pair, if it has this port, proves that the client sent its packets.
    fn prove(&mut self, pair: &Pair, port: u16) {
        self.is_proven |= pair.port == port && pair.token == self.token;
    }

    /// The time in milliseconds.
    fn at(&self) -> u64 {
        self.ts.as_millis()
    }
}

impl Candidate {
    fn new(seen: &Seen<'_>, activity: &Activity<'_>) -> Self {
        let at = seen.event.ts.as_millis();
        let mut pair = Pair {
            active: at,
            connected: if activity.is_connection { at } else { 0 },
            traits: Traits { start: at, ..Traits::default() },
            token: activity.token,
            port: client_port(seen),
            has_name: false,
            is_answered: activity.is_answered,
        };
        activity.facts.into_iter().for_each(|facts| pair.traits.see(facts));
        let begins = Begins { visit: true, connection: activity.is_connection };
        Self { first: Contact::new(seen, activity, begins), second: None, pair }
    }
}

impl Pair {
    /// Adds an activity. `None` if time stepped back.
    fn add(&mut self, seen: &Seen<'_>, activity: &Activity<'_>) -> Option<Begins> {
        let at = seen.event.ts.as_millis();
        let visit = begins(&mut self.active, at, BEACON_GAP_MILLIS)?;
        // The second hello of a handshake has the random of the first one.
        let repeats = activity.token != 0
            && activity.token == self.token
            && at.saturating_sub(self.connected) < BEACON_GAP_MILLIS;
        let is_connection = activity.is_connection && !repeats;
        let connection = is_connection && begins(&mut self.connected, at, BEACON_CONNECTION_GAP_MILLIS)?;
        if is_connection {
            (self.token, self.port) = (activity.token, client_port(seen));
        }
        self.is_answered |= activity.is_answered;
        if visit {
            self.traits.begin();
        }
        if visit || connection {
            self.traits.start = at;
        }
        Some(Begins { visit, connection })
    }
}

/// Whether an activity at a time begins a contact, because the last one was so long before, in milliseconds. `None` if time
/// stepped back.
fn begins(active: &mut u64, at: u64, gap: u64) -> Option<bool> {
    let begins = match at.checked_sub(*active) {
        Some(pause) => pause >= gap,
        // Packets may be slightly out of order.
        None if active.saturating_sub(at) < BEACON_GAP_MILLIS => return Some(false),
        None => return None,
    };
    *active = at;
    Some(begins)
}

impl Series {
    fn new(pair: Pair) -> Self {
        Self {
            visits: VecDeque::new(),
            connections: VecDeque::new(),
            pair,
            software: None,
            library: None,
            user_agent: None,
            is_reported: false,
            is_done: false,
        }
    }

    /// Adds an activity. Returns what it begins.
    fn add(&mut self, seen: &Seen<'_>, activity: &Activity<'_>, steps: &Steps) -> Begins {
        let begins = self.pair.add(seen, activity).unwrap_or_else(|| {
            let Candidate { first, pair, .. } = Candidate::new(seen, activity);
            self.pair = Pair { has_name: self.pair.has_name, traits: Traits::default(), ..pair };
            self.pair.traits.start = first.at();
            self.visits.clear();
            self.connections.clear();
            first.begins
        });
        if begins.visit || begins.connection {
            self.push(Contact::new(seen, activity, begins), steps);
        }
        begins
    }

    /// Adds a contact, unless the series is done.
    fn push(&mut self, contact: Contact, steps: &Steps) {
        if self.is_done {
            return;
        }
        let Self { visits, connections, .. } = self;
        let is_same = |seen: &Contact| contact.token != 0 && seen.token == contact.token;
        if visits.iter().any(is_same) || connections.iter().any(is_same) {
            // A capture that is replayed in a loop.
            return self.end();
        }
        let is_short =
            |last: &Contact| contact.at().saturating_sub(last.at()) <= MAX_BEACON_CONNECTION_PAUSE_MILLIS;
        if !connections.back().is_none_or(is_short) {
            connections.clear();
        }
        for (window, begins) in [(visits, contact.begins.visit), (connections, contact.begins.connection)] {
            if !begins {
                continue;
            }
            if window.len() >= steps.max() {
                window.pop_front();
            }
            window.push_back(contact);
        }
    }

    /// Ends the series: it is not reported any more.
    fn end(&mut self) {
        (self.visits, self.connections) = (VecDeque::new(), VecDeque::new());
        self.is_done = true;
    }

    /// Adds a hello or a request of the last contact.
    fn identify_and_see(&mut self, facts: &RequestFacts) {
        self.pair.traits.see(facts);
        self.identify(facts);
    }

    fn identify(&mut self, facts: &RequestFacts) {
        let RequestFacts { software, library, user_agent, .. } = facts;
        if self.is_done {
            return;
        }
        self.software.clone_from(software);
        self.library.clone_from(library);
        if self.user_agent != *user_agent {
            self.user_agent.clone_from(user_agent);
        }
    }

    /// The contacts at regular intervals of which the last one is what an activity begins.
    fn judge(&self, begins: Begins, steps: &Steps) -> Option<(VecDeque<Contact>, Regular)> {
        if self.is_done || self.pair.has_name {
            return None;
        }
        let judge = |window: &VecDeque<Contact>, min_period| {
            let found = steps.judge(window, min_period)?;
            let skipped = window.len().saturating_sub(found.contacts);
            Some((window.iter().skip(skipped).copied().collect(), found))
        };
        let of_visits = || begins.visit.then(|| judge(&self.visits, MIN_BEACON_PERIOD_MILLIS)).flatten();
        let of_connections = || {
            begins.connection.then(|| judge(&self.connections, MIN_BEACON_CONNECTION_PERIOD_MILLIS)).flatten()
        };
        of_visits().or_else(of_connections)
    }

    fn heap_bytes(&self) -> usize {
        let contacts = self.visits.capacity().saturating_add(self.connections.capacity());
        let contacts = contacts.saturating_mul(size_of::<Contact>());
        contacts.saturating_add(self.user_agent.as_deref().map_or(0, <[u8]>::len))
    }
}

impl Traits {
    /// Begins a contact.
    fn begin(&mut self) {
        [&mut self.software, &mut self.library, &mut self.user_agent].into_iter().for_each(Trait::begin);
    }

    /// Adds a hello or a request of the last contact.
    fn see(&mut self, facts: &RequestFacts) {
        let Self { software, library, user_agent, start } = self;
        software.see(facts.software.as_deref().map(str::as_bytes), *start);
        library.see(facts.library.as_deref().map(str::as_bytes), *start);
        user_agent.see(facts.user_agent.as_deref(), *start);
    }
}

impl Trait {
    fn begin(&mut self) {
        if self.last == Sighting::None {
            self.sightings = 0;
        }
        self.last = Sighting::None;
    }

    fn see(&mut self, value: Option<&[u8]>, start: u64) {
        let value = value.map_or(0, |value| hash(value) | 1);
        let is_same = value != 0 && self.hash == value;
        match self.last {
            Sighting::None if is_same && self.sightings > 0 => {}
            Sighting::None => (self.hash, self.since, self.sightings) = (value, start, 0),
            Sighting::Same if is_same => {}
            Sighting::Same | Sighting::Mixed => {
                (self.sightings, self.last) = (0, Sighting::Mixed);
                return;
            }
        }
        self.last = Sighting::Same;
        self.sightings = self.sightings.saturating_add(u32::from(value != 0));
    }

    /// Whether so many contacts since a time have the value. The last contact of an address is its SYN, and says nothing yet.
    fn is_of_all(&self, since: u64, contacts: usize) -> bool {
        let wanted = contacts.saturating_sub(1);
        self.sightings > 0 && self.since <= since && self.sightings as usize >= wanted
    }
}

fn address_key(seen: &Seen<'_>) -> TargetKey {
    TargetKey::Address(seen.server(), seen.event.flow.transport == TransportKind::Udp)
}

fn client_port(seen: &Seen<'_>) -> u16 {
    seen.event.flow.client.port()
}

fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A hash that is not zero.
#[expect(clippy::cast_possible_truncation, reason = "part of a hash")]
fn token(value: &impl Hash) -> u32 {
    hash(value) as u32 | 1
}
