//! The events of each host and of each kind in a second.

use std::collections::HashMap;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use huginn_net_core::Event;

use super::size::EventFrame;
use super::{EventLimits, SuppressedEvents};
use crate::record::EventKind;
use crate::{Observation, Scope};

/// Maximum hosts whose events of a second are counted, from the time at which all hosts together have half of the limit of
/// one: 4 MiB.
const MAX_RATED_HOSTS: usize = 1 << 16;

/// What decides whether an event is within the limits.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    second: u32,
    /// The host that the event describes.
    host: IpAddr,
    kind: usize,
    bytes: u64,
}

impl Ticket {
    pub(crate) fn new<K>(event: &Event<K>, observation: &Observation) -> Self {
        let frame = EventFrame::from_event(event);
        Self {
            second: frame.second(),
            host: event.subject_addr().ip(),
            kind: EventKind::of(observation).number(),
            bytes: match event.text_bytes {
                0 => frame.event_bytes(observation, observation.text_limit()),
                bytes => bytes.into(),
            },
        }
    }
}

/// Counts events in a second of packet time.
#[derive(Debug)]
pub(crate) struct Rates {
    /// The limits of a kind.
    kind_limit: Load,
    /// Half of the limits of a host.
    half_host_limit: Load,
    /// The second of the last event. Any other second, also an earlier one, resets the counts: one wrong time stamp must not
    /// make all later events share a second.
    second: u32,
    kinds: [Load; EventKind::ALL.len()],
    all: Load,
    /// Loads since half of the limit of a host was reached by all hosts together.
    hosts: HashMap<IpAddr, Load, RandomState>,
    suppressed: SuppressedEvents,
    /// Matches of watch lists among them.
    suppressed_matches: u64,
}

/// Events and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    events: u32,
    bytes: u64,
}

impl Load {
    /// A limit; none is the largest one.
    fn limit(events: Option<u32>, bytes: Option<u64>) -> Self {
        Self { events: events.unwrap_or(u32::MAX), bytes: bytes.unwrap_or(u64::MAX) }
    }

    /// Adds an event, unless that exceeds a limit.
    #[inline]
    fn admits(&mut self, bytes: u64, limit: Self) -> bool {
        let sum = Self { events: self.events.saturating_add(1), bytes: self.bytes.saturating_add(bytes) };
        let fits = sum.events <= limit.events && sum.bytes <= limit.bytes;
        if fits {
            *self = sum;
        }
        fits
    }
}

impl Rates {
    pub(crate) fn new(limits: EventLimits, scope: Scope) -> Self {
        let limits = if scope == Scope::P0f { EventLimits::NONE } else { limits };
        let EventLimits { max_events_per_host, max_bytes_per_host, .. } = limits;
        Self {
            kind_limit: Load::limit(limits.max_events_per_kind, limits.max_bytes_per_kind),
            half_host_limit: Load::limit(
                max_events_per_host.map(|max| max / 2),
                max_bytes_per_host.map(|max| max / 2),
            ),
            second: 0,
            kinds: Default::default(),
            all: Load::default(),
            hosts: HashMap::default(),
            suppressed: SuppressedEvents::default(),
            suppressed_matches: 0,
        }
    }

    /// The events that were not admitted.
    pub(crate) fn suppressed(&self) -> SuppressedEvents {
        self.suppressed
    }

    /// The matches of watch lists that were not admitted.
    pub(crate) fn suppressed_matches(&self) -> u64 {
        self.suppressed_matches
    }

    /// Counts an event. Returns whether it is within the limits.
    #[inline]
    pub(crate) fn admits(&mut self, ticket: &Ticket) -> bool {
        if ticket.second != self.second {
            self.second = ticket.second;
            self.kinds = Default::default();
            self.all = Load::default();
            self.hosts.clear();
        }
        // As long as all hosts together have less than half of the limit, each of them has.
        if !self.all.admits(ticket.bytes, self.half_host_limit) && !self.host_admits(ticket) {
            self.suppressed.host = self.suppressed.host.saturating_add(1);
            self.count_match(ticket);
            return false;
        }
        let kind = self.kinds.get_mut(ticket.kind);
        if kind.is_some_and(|load| !load.admits(ticket.bytes, self.kind_limit)) {
            self.suppressed.rate = self.suppressed.rate.saturating_add(1);
            self.count_match(ticket);
            return false;
        }
        true
    }

    /// Counts an event that was not admitted, if it is a match.
    #[cold]
    fn count_match(&mut self, ticket: &Ticket) {
        if ticket.kind == EventKind::Match.number() {
            self.suppressed_matches = self.suppressed_matches.saturating_add(1);
        }
    }

    /// Counts an event of a host. Hosts beyond the size of the table only have the limits of their kind.
    #[cold]
    fn host_admits(&mut self, ticket: &Ticket) -> bool {
        if self.hosts.len() >= MAX_RATED_HOSTS && !self.hosts.contains_key(&ticket.host) {
            return true;
        }
        self.hosts.entry(ticket.host).or_default().admits(ticket.bytes, self.half_host_limit)
    }
}
