//! The events of each host and of each kind in a second.

use std::collections::HashMap;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use huginn_net_core::Event;

use super::size::EventFrame;
use super::{EventLimits, SuppressedEvents};
use crate::Observation;
use crate::observation::ConnectionEnd;
use crate::record::EventKind;
use crate::scope::Scope;

/// Maximum hosts whose events of a second are counted, from the time at which all hosts together have half of the limit of
/// one: 8 MiB.
const MAX_RATED_HOSTS: usize = 1 << 16;

/// What decides whether an event is within the limits.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    second: u32,
    /// The host that the event describes.
    host: IpAddr,
    kind: usize,
    /// Whether the peer answered before.
    is_answered: bool,
    bytes: u64,
    /// Whether no limit applies.
    is_end: bool,
}

impl Ticket {
    pub(crate) fn new<K>(event: &Event<K>, observation: &Observation) -> Self {
        let frame = EventFrame::from_event(event);
        Self {
            second: frame.second(),
            host: event.subject_addr().ip(),
            kind: EventKind::of(observation).number(),
            is_answered: match observation {
                Observation::Finding(found) => found.is_proven,
                Observation::Match(found) => found.is_proven,
                Observation::Conflict(found) => found.is_proven,
                _ => event.is_answered,
            },
            is_end: matches!(observation, Observation::Own(own) if own.get::<ConnectionEnd>().is_some()),
            bytes: match event.text_bytes {
                0 => frame.event_bytes(observation, observation.text_limit()),
                bytes => bytes.into(),
            },
        }
    }
}

/// Counts events in a second of packet time: those whose peer answered, and the others, have limits of their own.
#[derive(Debug)]
pub(crate) struct Rates {
    answered: Counts,
    unanswered: Counts,
    /// The limits of unanswered events, once the capture shows both directions.
    quarter: Limits,
    /// Whether the capture shows both directions: an event was answered.
    has_answers: bool,
    /// The second of the last event. Any other second, also an earlier one, resets the counts: one wrong time stamp must not
    /// make all later events share a second.
    second: u32,
    suppressed: SuppressedEvents,
    /// Matches of watch lists among them.
    suppressed_matches: u64,
}

/// The limits of kinds and hosts.
#[derive(Clone, Copy, Debug)]
struct Limits {
    kind: Load,
    /// Half of that of a host.
    half_host: Load,
}

/// The events of a second, and their limits.
#[derive(Debug)]
struct Counts {
    limits: Limits,
    kinds: [Load; EventKind::ALL.len()],
    all: Load,
    /// Loads since half of the limit of a host was reached by all hosts together.
    hosts: HashMap<IpAddr, Load, RandomState>,
}

/// Events and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    events: u32,
    bytes: u64,
}

impl Load {
    /// This number of quarters of a limit; none is the largest limit.
    fn limit(events: Option<u32>, bytes: Option<u64>, quarters: u32) -> Self {
        let part = |limit: u64| limit.saturating_mul(quarters.into()).div_ceil(4);
        Self {
            events: events.map_or(u32::MAX, |limit| u32::try_from(part(limit.into())).unwrap_or(u32::MAX)),
            bytes: bytes.map_or(u64::MAX, part),
        }
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

impl Limits {
    /// This number of quarters of the limits.
    fn new(limits: &EventLimits, quarters: u32) -> Self {
        let EventLimits { max_events_per_kind, max_bytes_per_kind, .. } = *limits;
        let EventLimits { max_events_per_host, max_bytes_per_host, .. } = *limits;
        let half = (max_events_per_host.map(|max| max / 2), max_bytes_per_host.map(|max| max / 2));
        Self {
            kind: Load::limit(max_events_per_kind, max_bytes_per_kind, quarters),
            half_host: Load::limit(half.0, half.1, quarters),
        }
    }
}

/// The limit that an event exceeds.
enum Excess {
    Host,
    Kind,
}

impl Counts {
    fn new(limits: Limits) -> Self {
        Self { limits, kinds: Default::default(), all: Load::default(), hosts: HashMap::default() }
    }

    fn clear(&mut self) {
        self.kinds = Default::default();
        self.all = Load::default();
        self.hosts.clear();
    }

    /// Counts an event, unless it exceeds a limit.
    #[inline]
    fn add(&mut self, ticket: &Ticket) -> Result<(), Excess> {
        // As long as all hosts together have less than half of the limit, each of them has.
        if !self.all.admits(ticket.bytes, self.limits.half_host) && !self.host_admits(ticket) {
            return Err(Excess::Host);
        }
        let kind = self.kinds.get_mut(ticket.kind);
        if kind.is_some_and(|load| !load.admits(ticket.bytes, self.limits.kind)) {
            return Err(Excess::Kind);
        }
        Ok(())
    }

    /// Counts an event of a host. Hosts beyond the size of the table only have the limits of their kind.
    #[cold]
    fn host_admits(&mut self, ticket: &Ticket) -> bool {
        if self.hosts.len() >= MAX_RATED_HOSTS && !self.hosts.contains_key(&ticket.host) {
            return true;
        }
        self.hosts.entry(ticket.host).or_default().admits(ticket.bytes, self.limits.half_host)
    }
}

impl Rates {
    pub(crate) fn new(limits: EventLimits, scope: Scope) -> Self {
        let limits = if scope == Scope::P0f { EventLimits::NONE } else { limits };
        Self {
            answered: Counts::new(Limits::new(&limits, 3)),
            unanswered: Counts::new(Limits::new(&limits, 4)),
            quarter: Limits::new(&limits, 1),
            has_answers: false,
            second: 0,
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
        if ticket.is_end {
            return true;
        }
        if ticket.second != self.second {
            self.second = ticket.second;
            self.answered.clear();
            self.unanswered.clear();
        }
        let counts = if ticket.is_answered {
            if !self.has_answers {
                self.has_answers = true;
                self.unanswered.limits = self.quarter;
            }
            &mut self.answered
        } else {
            &mut self.unanswered
        };
        match counts.add(ticket) {
            Ok(()) => true,
            Err(excess) => {
                self.suppress(&excess, ticket);
                false
            }
        }
    }

    /// Counts an event that was not admitted.
    #[cold]
    fn suppress(&mut self, excess: &Excess, ticket: &Ticket) {
        let counter = match excess {
            Excess::Host => &mut self.suppressed.host,
            Excess::Kind => &mut self.suppressed.rate,
        };
        *counter = counter.saturating_add(1);
        if ticket.kind == EventKind::Match.number() {
            self.suppressed_matches = self.suppressed_matches.saturating_add(1);
        }
    }
}
