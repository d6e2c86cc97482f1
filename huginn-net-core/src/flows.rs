//! The flows in sight: which segment belongs to which, and what a protocol makes of it.

use std::hash::BuildHasher;
use std::ops::{ControlFlow, Range};
use std::time::Duration;

use foldhash::fast::SeedableRandomState;

use crate::decode::LazySegment;
use crate::idle_map::{IdleLimits, IdleMap, Slot};
use crate::limits::{MAX_FLOW_PARTITIONS, MIN_PARTITION_FLOWS};
use crate::{Event, FlowKey, Interest, Protocol, Segment, Side, Tally, TcpFlags, Timestamp, tally};

/// How many flows are held, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// Flows held at most (default 524,288). At the limit the flow that was idle for longest goes first, to within a
    /// second.
    pub max_flows: usize,
    /// A flow without a packet for this long, in packet time, has ended (default 5 minutes).
    pub idle_timeout: Duration,
    /// For this long after a SYN, in packet time, an equal SYN is its retransmission (default 130 seconds, twice
    /// the longest pause of Linux); later it opens the flow anew.
    pub syn_lifetime: Duration,
    /// Memory that all flows together may take up beside their entries (default 256 MiB): bytes of messages that are
    /// not whole yet. At the limit the flow that was idle for longest goes first, to within a second.
    pub max_buffered_bytes: usize,
}

impl Default for FlowLimits {
    fn default() -> Self {
        Self {
            max_flows: 1 << 19,
            idle_timeout: Duration::from_secs(300),
            syn_lifetime: Duration::from_secs(130),
            max_buffered_bytes: 256 << 20,
        }
    }
}

impl FlowLimits {
    fn of_table(&self) -> IdleLimits {
        IdleLimits {
            max_entries: self.max_flows,
            idle_timeout: self.idle_timeout,
            max_buffered_bytes: self.max_buffered_bytes,
        }
    }

    /// The share of one partition, of this number of partitions.
    fn share(self, partitions: usize) -> Self {
        Self {
            max_flows: self.max_flows.div_ceil(partitions.max(1)),
            max_buffered_bytes: self.max_buffered_bytes.div_ceil(partitions.max(1)),
            ..self
        }
    }
}

/// What became of the flows so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FlowCounters {
    /// Flows opened, restarts of a known 4-tuple included.
    pub opened: u64,
    /// Flows opened anew on a 4-tuple that was still held.
    pub restarted: u64,
    /// Flows that ended by being idle for too long.
    pub expired: u64,
    /// Flows given up because the table was full.
    pub evicted: u64,
    /// Flows given up because all of them together took up too much memory.
    pub evicted_for_memory: u64,
    /// Flows held at present.
    pub held: u64,
    /// Memory that they take up at present beside their entries, in bytes.
    #[cfg_attr(feature = "serde", serde(rename = "held_bytes"))]
    pub buffered_bytes: u64,
}

tally!(FlowCounters { opened, restarted, expired, evicted, evicted_for_memory, held, buffered_bytes });

/// The flow table, or the partitions of it that belong to one worker, and the protocol that analyses the flows.
pub(crate) struct Flows<P: Protocol> {
    protocol: P,
    partitions: FlowPartitions,
    /// The partitions that are here.
    range: Range<usize>,
    table: IdleMap<FlowKey, Flow<P::Flow>>,
    limits: FlowLimits,
    syn_lifetime: u64,
    restarted: u64,
    segments_without_flow: u64,
    /// What became of the flows of workers.
    joined: FlowCounters,
}

impl<P: Protocol> Flows<P> {
    /// All partitions.
    pub(crate) fn new(protocol: P, limits: FlowLimits, partitions: FlowPartitions) -> Self {
        let all = 0..partitions.count;
        Self::with_partitions(protocol, limits, partitions, all)
    }

    fn with_partitions(
        protocol: P,
        limits: FlowLimits,
        partitions: FlowPartitions,
        range: Range<usize>,
    ) -> Self {
        let of_table = limits.share(partitions.count).of_table();
        Self {
            protocol,
            partitions,
            table: IdleMap::with_partitions(&of_table, range.len()),
            range,
            limits,
            syn_lifetime: u64::try_from(limits.syn_lifetime.as_nanos()).unwrap_or(u64::MAX),
            restarted: 0,
            segments_without_flow: 0,
            joined: FlowCounters::default(),
        }
    }

    pub(crate) fn protocol(&self) -> &P {
        &self.protocol
    }

    pub(crate) fn counters(&self) -> FlowCounters {
        let mut counters =
            FlowCounters { opened: self.restarted, restarted: self.restarted, ..FlowCounters::default() };
        let table = self.table.counters();
        counters.add(&FlowCounters {
            opened: table.inserted,
            restarted: 0,
            expired: table.expired,
            evicted: table.evicted,
            evicted_for_memory: table.evicted_for_memory,
            held: table.held,
            buffered_bytes: table.buffered_bytes,
        });
        counters.add(&self.joined);
        counters
    }

    pub(crate) fn segments_without_flow(&self) -> u64 {
        self.segments_without_flow
    }

    /// Ends the flows that have been idle for too long.
    pub(crate) fn expire(&mut self, now: Timestamp) {
        self.table.expire_all(now);
    }

    /// Adds what the flows of a worker came to.
    pub(crate) fn join(&mut self, worker: Self) {
        self.joined.add(&worker.counters());
        self.segments_without_flow = self.segments_without_flow.saturating_add(worker.segments_without_flow);
        self.protocol.join(worker.protocol);
    }

    /// Ends every flow.
    pub(crate) fn clear(&mut self) {
        self.table.clear();
    }

    /// Makes the share of one worker, of this number of workers.
    pub(crate) fn share(&self, worker: usize, workers: usize) -> FlowsShare<P> {
        let Self { partitions, limits, .. } = self;
        let range = partitions.range(worker, workers);
        FlowsShare { protocol: self.protocol.fork(), limits: *limits, partitions: partitions.clone(), range }
    }

    /// Whether the partition of a flow is here.
    #[inline(always)]
    pub(crate) fn has_partition_of(&self, key: &FlowKey) -> bool {
        self.range.contains(&self.partitions.of(key))
    }

    /// Finds the flow of a segment, or starts one, and has the protocol analyse it; its events go to `learn`. The segment is
    /// not decoded to the end if the protocol skips it. `now` is only compared with the `now` of other segments.
    ///
    /// Breaks when `learn` does.
    #[inline(always)]
    pub(crate) fn segment(
        &mut self,
        outline: &Outline,
        segment: &impl LazySegment,
        now: Timestamp,
        learn: &mut impl FnMut(Event<P::Event>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Self { protocol, table, .. } = self;
        let slot = match table.touch_mut(&outline.key, now) {
            Some((_, flow)) if !outline.controls() && flow.can_skip(protocol, outline) => {
                return ControlFlow::Continue(());
            }
            known => known.map(|(slot, _)| slot),
        };
        self.lead(slot, outline, &segment.segment(), now, learn)
    }

    /// Leads a segment to the flow in this place, or opens one, as [`segment`](Self::segment) does.
    #[inline(always)]
    fn lead(
        &mut self,
        slot: Option<Slot>,
        outline: &Outline,
        segment: &Segment<'_>,
        now: Timestamp,
        learn: &mut impl FnMut(Event<P::Event>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (controls, sender_is_low) = (outline.controls(), outline.sender_is_low);
        let slot = match slot {
            Some(slot) if !controls || !self.starts_anew(slot, segment, sender_is_low) => slot,
            known => return self.open(known, outline.key, now, segment, sender_is_low, learn),
        };
        let Self { protocol, table, .. } = self;
        let Some(flow) = table.get_mut(slot) else { return ControlFlow::Continue(()) };
        flow.closed |= controls && closes(segment);
        if flow.interest == Interest::Done {
            return ControlFlow::Continue(());
        }
        let outcome = flow.see(protocol, segment, sender_is_low, learn);
        // Without payload nothing more is held; what was let go is noted with the next that has some.
        if !segment.payload.is_empty() {
            let held = P::buffered_bytes(&flow.state);
            table.set_buffered_bytes(slot, held);
        }
        outcome
    }

    /// Whether a segment on a known 4-tuple is the first of another connection: a SYN that retransmits nothing.
    ///
    /// A retransmission renews the time that the next one has.
    fn starts_anew(&mut self, slot: Slot, segment: &Segment<'_>, sender_is_low: bool) -> bool {
        let Some(seq) = opening_seq(segment) else { return false };
        let Some(flow) = self.table.get_mut(slot) else { return false };
        let seen = segment.ts.as_nanos();
        let age = seen.saturating_sub(std::mem::replace(&mut flow.syn_seen, seen));
        !flow.opened_by_syn
            || flow.closed
            || seq != flow.syn_seq
            || flow.client_is_low != sender_is_low
            || age > self.syn_lifetime
    }

    /// Opens a flow if the protocol wants it, in the place of the `known` one of the same key, and leads its first
    /// segment to it.
    ///
    /// The table gets the flow afterwards: to read again what has just been written to memory that is in no cache would
    /// wait for it.
    #[inline(never)]
    fn open(
        &mut self,
        known: Option<Slot>,
        key: FlowKey,
        now: Timestamp,
        segment: &Segment<'_>,
        sender_is_low: bool,
        learn: &mut impl FnMut(Event<P::Event>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(sender) = self.protocol.starts_flow(segment) else {
            self.segments_without_flow = self.segments_without_flow.saturating_add(1);
            return ControlFlow::Continue(());
        };
        let mut flow = Flow {
            state: P::Flow::default(),
            syn_seq: opening_seq(segment).unwrap_or(0),
            syn_seen: segment.ts.as_nanos(),
            opened_by_syn: opening_seq(segment).is_some(),
            client_is_low: sender_is_low == (sender == Side::Client),
            closed: closes(segment),
            interest: Interest::More,
        };
        let outcome = flow.see(&mut self.protocol, segment, sender_is_low, learn);
        let held = P::buffered_bytes(&flow.state);
        let Self { table, partitions, range, .. } = self;
        let slot = match known {
            Some(slot) => {
                if let Some(place) = table.get_mut(slot) {
                    *place = flow;
                }
                self.restarted = self.restarted.saturating_add(1);
                Some(slot)
            }
            None => table.insert_into(partitions.of(&key).saturating_sub(range.start), key, now, flow),
        };
        if let Some(slot) = slot {
            table.set_buffered_bytes(slot, held);
        }
        outcome
    }
}

/// Divides flows by the hash of their keys.
#[derive(Clone, Debug)]
pub(crate) struct FlowPartitions {
    hasher: SeedableRandomState,
    /// A power of two: 2^`bits`.
    count: usize,
    bits: u32,
}

impl FlowPartitions {
    /// Partitions for these limits. The seed of the hash is fixed, so that a capture file always gives the same events, or
    /// random, so that an attacker cannot aim at one partition of a live capture.
    pub(crate) fn new(limits: &FlowLimits, is_random: bool) -> Self {
        let hasher = if is_random { SeedableRandomState::default() } else { SeedableRandomState::fixed() };
        let most = (limits.max_flows / MIN_PARTITION_FLOWS).clamp(1, MAX_FLOW_PARTITIONS);
        let bits = most.ilog2();
        Self { hasher, count: 1 << bits, bits }
    }

    /// The partition of a flow.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the result is less than the number of partitions")]
    fn of(&self, key: &FlowKey) -> usize {
        let hash = self.hasher.hash_one(key);
        // The highest bits; none of them of a single partition.
        (hash.rotate_left(self.bits) & (self.count as u64).wrapping_sub(1)) as usize
    }

    /// The partitions of one worker, of this number of workers. With more workers than partitions, some have none.
    fn range(&self, worker: usize, workers: usize) -> Range<usize> {
        let start = |worker: usize| worker.saturating_mul(self.count).div_ceil(workers.max(1));
        start(worker)..start(worker.saturating_add(1))
    }
}

/// What the partitions of a worker are made from, in its own thread: allocators keep the memory of threads apart.
pub(crate) struct FlowsShare<P: Protocol> {
    protocol: P,
    limits: FlowLimits,
    partitions: FlowPartitions,
    range: Range<usize>,
}

impl<P: Protocol> FlowsShare<P> {
    /// The empty partitions.
    pub(crate) fn into_flows(self) -> Flows<P> {
        let Self { protocol, limits, partitions, range } = self;
        Flows::with_partitions(protocol, limits, partitions, range)
    }
}

/// Of a segment, what is looked at before all else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) key: FlowKey,
    /// Whether its sender is the low end of the key.
    pub(crate) sender_is_low: bool,
    pub(crate) ts: Timestamp,
    /// None of UDP.
    pub(crate) flags: TcpFlags,
}

impl Outline {
    /// Whether it begins or ends a connection, which most do not.
    #[inline]
    fn controls(&self) -> bool {
        self.flags.intersects(CONTROLS)
    }
}

/// What the engine itself remembers of a flow.
#[derive(Debug)]
struct Flow<S> {
    state: S,
    /// When (ns) the SYN that opened it was last seen, if it was a SYN.
    syn_seen: u64,
    /// Its sequence number.
    syn_seq: u32,
    opened_by_syn: bool,
    /// Whether the client is the low end of the key.
    client_is_low: bool,
    /// Whether a FIN or RST was seen.
    closed: bool,
    interest: Interest,
}

impl<S> Flow<S> {
    #[inline]
    fn sender(&self, sender_is_low: bool) -> Side {
        if sender_is_low == self.client_is_low { Side::Client } else { Side::Server }
    }

    /// Whether a segment that neither begins nor ends a connection tells nothing of it.
    #[inline(always)]
    fn can_skip<P: Protocol<Flow = S>>(&self, protocol: &P, outline: &Outline) -> bool {
        let sender = self.sender(outline.sender_is_low);
        self.interest == Interest::Done || protocol.can_skip(outline.ts, sender, &self.state)
    }

    /// Leads a segment to the protocol. Breaks when `learn` does.
    #[inline]
    fn see<P: Protocol<Flow = S>>(
        &mut self,
        protocol: &mut P,
        segment: &Segment<'_>,
        sender_is_low: bool,
        learn: &mut impl FnMut(Event<P::Event>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let sender = self.sender(sender_is_low);
        let mut outcome = ControlFlow::Continue(());
        self.interest = protocol.on_segment(segment, sender, &mut self.state, &mut |subject, kind| {
            if outcome.is_continue() {
                outcome = learn(Event::of(segment, sender, subject, kind));
            }
        });
        outcome
    }
}

/// The flags that begin or end a connection.
const CONTROLS: TcpFlags = TcpFlags::SYN.union(TcpFlags::FIN).union(TcpFlags::RST);

/// Whether a segment ends its connection.
fn closes(segment: &Segment<'_>) -> bool {
    segment.tcp().is_some_and(|tcp| tcp.flags.closes())
}

/// The sequence number of a segment that asks for a connection.
fn opening_seq(segment: &Segment<'_>) -> Option<u32> {
    segment.tcp().filter(|tcp| tcp.flags.opens()).map(|tcp| tcp.seq)
}
