//! The flow table: assigns each segment to a flow and runs the protocol on it.

use std::ops::{ControlFlow, Range};

use super::entry::{Connection, EndedFlow, FlowEntry, initial_seq};
use super::flow_limits::SynLifetime;
use super::idle_map::Phase;
use super::{
    Entry, FlowCounters, FlowEvents, FlowKey, FlowLimits, FlowOrder, FlowPartitions, IdleMap, LazySegment,
    Occasion, SegmentMeta, Slot,
};
use crate::limits::{CLOSING_NANOS, DATAGRAMS_NANOS, ENDED_STEPS, OPENING_NANOS};
use crate::{Event, Example, Examples, FlowId, Interest, Protocol, Segment, Side, Tally, Timestamp};

/// The flow table, or the partitions of it that belong to one worker, with the protocol that analyses the flows.
pub(crate) struct FlowTable<P: Protocol> {
    pub(crate) protocol: P,
    pub(crate) partitions: FlowPartitions,
    /// The partitions that this table owns.
    owned: Range<usize>,
    map: IdleMap<FlowKey, FlowEntry<P::Flow>>,
    limits: FlowLimits,
    /// Packet time of the next search for idle flows, in nanoseconds.
    next_expiry_nanos: u64,
    syn_lifetime: SynLifetime,
    restarted: u64,
    midstream: u64,
    bidirectional: u64,
    pub(crate) segments_without_flow: u64,
    /// Segments that the protocol analysed.
    pub(crate) analysed: u64,
    /// The earliest segment that each of these counters counted: flows started midstream and evictions.
    pub(crate) examples: Examples,
    earliest: EarliestExamples,
    /// Counters of workers that have ended.
    worker_counters: FlowCounters,
}

impl<P: Protocol> FlowTable<P> {
    /// Creates an empty table that owns all partitions.
    pub(crate) fn new(protocol: P, limits: FlowLimits, partitions: FlowPartitions) -> Self {
        let all = 0..partitions.count;
        Self::with_partitions(protocol, limits, partitions, all)
    }

    fn with_partitions(
        protocol: P,
        limits: FlowLimits,
        partitions: FlowPartitions,
        owned: Range<usize>,
    ) -> Self {
        let idle_limits = limits.divided_by(partitions.count).idle_limits();
        let mut map = IdleMap::with_partitions(&idle_limits, owned.len());
        map.keep_removed(FlowEntry::has_end::<P>);
        let linger = map.reorder_interval_nanos.saturating_mul(ENDED_STEPS);
        map.set_idle_timeout(Phase::Ended, linger);
        map.set_idle_timeout(Phase::Closing, CLOSING_NANOS);
        map.set_idle_timeout(Phase::Opening, OPENING_NANOS);
        map.set_idle_timeout(Phase::Datagrams, DATAGRAMS_NANOS);
        Self {
            protocol,
            partitions,
            map,
            owned,
            limits,
            next_expiry_nanos: 0,
            syn_lifetime: SynLifetime::new(&limits),
            restarted: 0,
            midstream: 0,
            bidirectional: 0,
            segments_without_flow: 0,
            analysed: 0,
            examples: Examples::default(),
            earliest: EarliestExamples::default(),
            worker_counters: FlowCounters::default(),
        }
    }

    /// Returns the packet time, in nanoseconds, at whose multiples idle flows end.
    pub(crate) fn expiry_step_nanos(&self) -> u64 {
        self.map.reorder_interval_nanos.max(1)
    }

    pub(crate) fn hash_seed(&self) -> u64 {
        self.partitions.seed
    }

    /// Divides the flows of an empty table by another seed.
    pub(crate) fn set_hash_seed(&mut self, seed: u64) {
        self.partitions = FlowPartitions::new(&self.limits, seed);
    }

    /// Lets the protocol take settings that were replaced.
    pub(crate) fn update_settings(&mut self) {
        self.protocol.update_settings();
    }

    pub(crate) fn counters(&self) -> FlowCounters {
        let mut counters = self.worker_counters;
        let map = self.map.counters();
        counters.add(&FlowCounters {
            opened: map.inserted.saturating_add(self.restarted),
            restarted: self.restarted,
            midstream: self.midstream,
            bidirectional: self.bidirectional,
            expired: map.expired,
            evicted: map.evicted,
            evicted_for_memory: map.evicted_for_memory,
            active: map.entries,
            buffered_bytes: map.buffered_bytes,
        });
        counters
    }

    /// Removes every flow at the end of a capture: first the idle ones, then the others. `events` takes their last events
    /// in the [order](FlowOrder) of the flows. Breaks when `events` does.
    pub(crate) fn end(&mut self, now: Timestamp, events: &mut dyn FlowEvents<P::Event>) -> ControlFlow<()> {
        self.add_unanswered_example();
        self.expire(now, events)?;
        for (order, slot) in self.in_order(self.map.kept()) {
            let Some(flow) = self.map.get_mut(slot) else { continue };
            let ended = flow.take_ends();
            self.report_ends(ended, Occasion::CaptureEnd(order), events)?;
        }
        self.clear();
        ControlFlow::Continue(())
    }

    /// Removes the idle flows once packet time reaches the next step. Every frame at which packet time reaches a multiple of
    /// [`expiry_step_nanos`](Self::expiry_step_nanos) must pass its time here, in every worker, before its flow is looked up. The
    /// frame at which a flow ends then depends neither on the partition of the flow nor on the number of workers. `events`
    /// takes their last events in the order of the flows. Breaks when `events` does.
    #[inline(always)]
    pub(crate) fn expire_idle(
        &mut self,
        now: Timestamp,
        events: &mut dyn FlowEvents<P::Event>,
    ) -> ControlFlow<()> {
        if self.is_expiry_due(now) { self.expire(now, events) } else { ControlFlow::Continue(()) }
    }

    /// Whether packet time has reached the next step of [`expire_idle`](Self::expire_idle).
    #[inline(always)]
    pub(crate) fn is_expiry_due(&self, now: Timestamp) -> bool {
        now.as_nanos() >= self.next_expiry_nanos
    }

    #[cold]
    #[inline(never)]
    fn expire(&mut self, now: Timestamp, events: &mut dyn FlowEvents<P::Event>) -> ControlFlow<()> {
        let idle = self.map.expire_all(now);
        for (order, slot) in self.in_order(idle) {
            let Some(mut flow) = self.map.take_idle(slot) else { continue };
            self.report_ends(flow.take_ends(), Occasion::Idle(order), events)?;
        }
        // Times of expiry are multiples of a step. Those before any flow can be idle are skipped.
        let step = self.expiry_step_nanos();
        let floor = |nanos: u64| nanos.saturating_sub(nanos.checked_rem(step).unwrap_or(0));
        self.next_expiry_nanos =
            floor(self.map.idle_after(now)).max(floor(now.as_nanos()).saturating_add(step));
        ControlFlow::Continue(())
    }

    /// Returns the slots in the order of their flows.
    fn in_order(&self, slots: Vec<Slot>) -> Vec<(FlowOrder, Slot)> {
        let entries = slots.into_iter().filter_map(|slot| Some((slot, self.map.get(slot)?)));
        let mut ordered: Vec<_> = entries.map(|(slot, (key, flow))| (flow.order(key), slot)).collect();
        ordered.sort_unstable_by_key(|(order, _)| *order);
        ordered
    }

    /// Adds the counters of a worker's table.
    pub(crate) fn join(&mut self, worker: Self) {
        self.worker_counters.add(&worker.counters());
        self.examples.merge(&worker.examples);
        self.segments_without_flow = self.segments_without_flow.saturating_add(worker.segments_without_flow);
        self.protocol.join(worker.protocol);
    }

    /// Removes every flow, and reports no end.
    pub(crate) fn clear(&mut self) {
        self.map.clear();
    }

    /// Moves the flows of one worker to a table of its own, and describes that.
    pub(crate) fn move_to_worker(&mut self, worker: usize, workers: usize) -> WorkerFlows<P> {
        let owned = self.partitions.range_of_worker(worker, workers);
        let entries = self.map.take_partitions(owned.clone());
        let Self { partitions, limits, next_expiry_nanos, .. } = self;
        let (partitions, limits) = (partitions.clone(), *limits);
        WorkerFlows {
            protocol: self.protocol.fork(),
            limits,
            partitions,
            owned,
            entries,
            next_expiry_nanos: *next_expiry_nanos,
        }
    }

    /// Describes the table of one of several queues, whose flows may belong to any partition.
    pub(crate) fn for_queue(&self, queues: usize) -> WorkerFlows<P> {
        let limits = self.limits.divided_by(queues);
        let partitions = FlowPartitions::new(&limits, self.hash_seed());
        let owned = 0..partitions.count;
        let (protocol, entries) = (self.protocol.fork(), Vec::new());
        WorkerFlows { protocol, limits, partitions, owned, entries, next_expiry_nanos: 0 }
    }

    /// Whether this table owns the partition of a flow.
    #[inline(always)]
    pub(crate) fn owns_flow(&self, key: &FlowKey) -> bool {
        self.owned.contains(&self.partitions.index_of(key))
    }

    /// Finds the flow of a segment, or starts one, and runs the protocol on it. Events go to `events`.
    ///
    /// A segment that the protocol skips is not decoded to its end. `now` is compared only with the `now` of other
    /// segments. Breaks when `events` does.
    #[inline(always)]
    pub(crate) fn on_segment(
        &mut self,
        meta: &SegmentMeta,
        segment: &impl LazySegment,
        now: Timestamp,
        events: &mut dyn FlowEvents<P::Event>,
    ) -> ControlFlow<()> {
        let Self { protocol, map, .. } = self;
        let Some((slot, flow)) = map.touch_mut(&meta.key, now) else {
            return self.dispatch(None, meta, &segment.segment(), now, events);
        };
        let may_skip = flow.is_steady && !meta.has_control_flags() && flow.has_seen(meta.sender_is_low);
        if may_skip && flow.skips_unread(protocol, meta) {
            return ControlFlow::Continue(());
        }
        let segment = segment.segment();
        if may_skip && protocol.skip_segment(&segment, flow.sender(meta.sender_is_low), &mut flow.state) {
            return ControlFlow::Continue(());
        }
        let slot = Some(slot);
        self.dispatch(slot, meta, &segment, now, events)
    }

    /// Passes a segment to the flow in `slot`, or starts a flow, as [`on_segment`](Self::on_segment) does.
    #[inline(always)]
    fn dispatch(
        &mut self,
        slot: Option<Slot>,
        meta: &SegmentMeta,
        segment: &Segment<'_>,
        now: Timestamp,
        events: &mut dyn FlowEvents<P::Event>,
    ) -> ControlFlow<()> {
        let (has_control_flags, sender_is_low) = (meta.has_control_flags(), meta.sender_is_low);
        let Some(slot) = slot else {
            return self.start_flow(None, meta.key, now, segment, sender_is_low, events);
        };
        let Some(flow) = self.map.get_mut(slot) else { return ControlFlow::Continue(()) };
        if has_control_flags || !flow.is_steady {
            match flow.connection_of::<P>(segment, sender_is_low, self.syn_lifetime) {
                Connection::Current => {}
                Connection::Other => {
                    return self.start_flow(Some(slot), meta.key, now, segment, sender_is_low, events);
                }
                Connection::Candidate => {
                    return self.on_candidate_segment(slot, segment, sender_is_low, now, events);
                }
                Connection::Confirmed => self.confirm_candidate(slot, segment, now, events)?,
            }
        }
        if has_control_flags || !self.is_steady(slot) {
            self.update_phase(slot, segment, sender_is_low, now);
        }
        let Self { protocol, map, .. } = self;
        let Some(flow) = map.get_mut(slot) else { return ControlFlow::Continue(()) };
        if !flow.has_seen(sender_is_low) {
            flow.is_bidirectional = true;
            self.bidirectional = self.bidirectional.saturating_add(1);
        }
        if flow.interest == Interest::Done {
            return ControlFlow::Continue(());
        }
        self.analysed = self.analysed.wrapping_add(1);
        let outcome = flow.on_segment(protocol, segment, sender_is_low, events);
        // A segment without payload can allocate, too: parsers that are rebuilt from a first segment.
        let buffered_bytes = flow.buffered_bytes::<P>();
        if map.set_buffered_bytes(slot, buffered_bytes) {
            self.note_eviction(segment);
        }
        outcome?;
        self.report_removed(events)
    }

    #[inline(always)]
    fn is_steady(&mut self, slot: Slot) -> bool {
        self.map.get_mut(slot).is_none_or(|flow| flow.is_steady)
    }

    /// Takes what a segment says of the phase of its connection, and moves the flow to that phase.
    #[inline(never)]
    fn update_phase(&mut self, slot: Slot, segment: &Segment<'_>, sender_is_low: bool, now: Timestamp) {
        let Some(flow) = self.map.get_mut(slot) else { return };
        flow.update_phase::<P>(segment, sender_is_low);
        self.update_map(slot, segment, now);
    }

    /// Tells the map the phase and the memory of a flow.
    fn update_map(&mut self, slot: Slot, segment: &Segment<'_>, now: Timestamp) {
        let Some(flow) = self.map.get_mut(slot) else { return };
        let (phase, buffered_bytes) = (flow.phase, flow.buffered_bytes::<P>());
        self.map.set_phase(slot, phase, now);
        if self.map.set_buffered_bytes(slot, buffered_bytes) {
            self.note_eviction(segment);
        }
    }

    /// Reports the ends of the flows that the map removed. Breaks when `events` does.
    #[inline(always)]
    pub(crate) fn report_removed(&mut self, events: &mut dyn FlowEvents<P::Event>) -> ControlFlow<()> {
        if self.map.has_removed() { self.report_some(events) } else { ControlFlow::Continue(()) }
    }

    #[cold]
    #[inline(never)]
    fn report_some(&mut self, events: &mut dyn FlowEvents<P::Event>) -> ControlFlow<()> {
        for mut flow in self.map.take_removed() {
            self.report_ends(flow.take_ends(), Occasion::Segment, events)?;
        }
        ControlFlow::Continue(())
    }

    /// Reports the last events of a flow. Breaks when `events` does.
    fn report_end(
        &mut self,
        EndedFlow { state, first_packet }: EndedFlow<P::Flow>,
        occasion: Occasion,
        events: &mut dyn FlowEvents<P::Event>,
    ) -> ControlFlow<()> {
        let mut outcome = ControlFlow::Continue(());
        self.protocol.on_end(state, &mut |event| {
            if outcome.is_continue() {
                outcome = events.on_event(occasion, Event { first_packet, ..event });
            }
        });
        outcome
    }

    /// Reports the last events of connections that have ended.
    fn report_ends(
        &mut self,
        ended: impl IntoIterator<Item = Option<EndedFlow<P::Flow>>>,
        occasion: Occasion,
        events: &mut dyn FlowEvents<P::Event>,
    ) -> ControlFlow<()> {
        for ended in ended.into_iter().flatten() {
            if P::has_end(&ended.state) {
                self.report_end(ended, occasion, events)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Analyses a SYN that no server has answered yet, or a segment that continues it, beside the flow, which goes on: anyone
    /// can send them, with a TTL too low for the server.
    #[cold]
    #[inline(never)]
    fn on_candidate_segment(
        &mut self,
        slot: Slot,
        segment: &Segment<'_>,
        sender_is_low: bool,
        now: Timestamp,
        events: &mut dyn FlowEvents<P::Event>,
    ) -> ControlFlow<()> {
        self.report_removed(events)?;
        let Some(flow) = self.map.get_mut(slot) else { return ControlFlow::Continue(()) };
        let mut candidate = flow.take_candidate();
        if initial_seq(segment).is_some() {
            let lifetime = self.syn_lifetime;
            let other = candidate.take_if(|other| !other.repeats_syn(segment, sender_is_low, lifetime));
            if let Some(other) = other {
                self.report_ends([Some(other.into_ended())], Occasion::Segment, events)?;
            }
            if candidate.is_none() {
                let Some(sender) = self.protocol.starts_flow(segment) else {
                    self.count_without_flow(segment);
                    return ControlFlow::Continue(());
                };
                candidate = Some(Box::new(FlowEntry::new(segment, sender_is_low, sender)));
            }
        }
        let mut outcome = ControlFlow::Continue(());
        if let Some(candidate) = candidate.as_mut().filter(|candidate| candidate.interest == Interest::More) {
            candidate.update_phase::<P>(segment, sender_is_low);
            outcome = candidate.on_segment(&mut self.protocol, segment, sender_is_low, events);
        }
        if let Some(flow) = self.map.get_mut(slot) {
            flow.set_candidate(candidate);
            self.update_map(slot, segment, now);
        }
        outcome?;
        self.report_removed(events)
    }

    /// Replaces a flow by its candidate.
    #[cold]
    #[inline(never)]
    fn confirm_candidate(
        &mut self,
        slot: Slot,
        segment: &Segment<'_>,
        now: Timestamp,
        events: &mut dyn FlowEvents<P::Event>,
    ) -> ControlFlow<()> {
        let Some(flow) = self.map.get_mut(slot) else { return ControlFlow::Continue(()) };
        let Some(candidate) = flow.take_candidate() else { return ControlFlow::Continue(()) };
        let ended = std::mem::replace(flow, *candidate);
        self.update_map(slot, segment, now);
        self.restarted = self.restarted.saturating_add(1);
        self.report_ends([Some(ended.into_ended())], Occasion::Segment, events)
    }

    /// Starts a flow if the protocol accepts the segment, and passes the segment to it. The new flow replaces the
    /// `existing` one with the same key.
    ///
    /// The protocol runs before the flow is inserted: a read straight after the write of an uncached entry would stall.
    #[inline(never)]
    fn start_flow(
        &mut self,
        existing: Option<Slot>,
        key: FlowKey,
        now: Timestamp,
        segment: &Segment<'_>,
        sender_is_low: bool,
        events: &mut dyn FlowEvents<P::Event>,
    ) -> ControlFlow<()> {
        self.report_removed(events)?;
        let Some(sender) = self.protocol.starts_flow(segment) else {
            self.count_without_flow(segment);
            return self.on_stray_segment(segment, events);
        };
        let mut flow = FlowEntry::new(segment, sender_is_low, sender);
        if segment.tcp().is_some() && initial_seq(segment).is_none() {
            self.midstream = self.midstream.saturating_add(1);
            if self.earliest.is_new(|earliest| &mut earliest.midstream, segment) {
                self.add_example("midstream", segment);
            }
        }
        if let Some(entry) = existing.and_then(|slot| self.map.get_mut(slot)) {
            let ended = entry.take_ends();
            self.report_ends(ended, Occasion::Segment, events)?;
        }
        flow.update_phase::<P>(segment, sender_is_low);
        self.analysed = self.analysed.wrapping_add(1);
        let outcome = flow.on_segment(&mut self.protocol, segment, sender_is_low, events);
        let (buffered_bytes, phase) = (flow.buffered_bytes::<P>(), flow.phase);
        let Self { map, partitions, owned, .. } = self;
        let evictions = map.evictions();
        let slot = match existing {
            Some(slot) => {
                if let Some(entry) = map.get_mut(slot) {
                    *entry = flow;
                }
                map.set_phase(slot, phase, now);
                self.restarted = self.restarted.saturating_add(1);
                Some(slot)
            }
            None => {
                let partition = partitions.index_of(&key).saturating_sub(owned.start);
                map.insert_into(partition, phase, key, now, flow)
            }
        };
        if let Some(slot) = slot {
            map.set_buffered_bytes(slot, buffered_bytes);
        }
        if map.evictions() != evictions {
            self.note_eviction(segment);
        }
        outcome?;
        self.report_removed(events)
    }
}

impl<P: Protocol> FlowTable<P> {
    /// Counts a segment that starts no flow.
    #[inline]
    fn count_without_flow(&mut self, segment: &Segment<'_>) {
        self.segments_without_flow = self.segments_without_flow.saturating_add(1);
        if self.earliest.is_new(|earliest| &mut earliest.without_flow, segment) {
            self.add_example("segments_without_flow", segment);
        }
    }

    /// Passes a segment that starts no flow to the protocol. Breaks when `events` does.
    fn on_stray_segment(
        &mut self,
        segment: &Segment<'_>,
        events: &mut dyn FlowEvents<P::Event>,
    ) -> ControlFlow<()> {
        let mut outcome = ControlFlow::Continue(());
        self.protocol.on_stray_segment(segment, &mut |sender, kind| {
            if outcome.is_continue() {
                let event = Event::from_segment(segment, sender, sender.into(), kind);
                outcome = events.on_event(Occasion::Segment, event);
            }
        });
        outcome
    }

    /// Makes a segment that caused an eviction the example of evictions, if it is the earliest.
    #[inline]
    fn note_eviction(&mut self, segment: &Segment<'_>) {
        if self.earliest.is_new(|earliest| &mut earliest.eviction, segment) {
            self.add_example("evicted", segment);
        }
    }

    /// Makes the earliest flow of the table with segments of one side only an example.
    fn add_unanswered_example(&mut self) {
        let unanswered = self.map.iter().filter(|(_, flow)| !flow.is_bidirectional);
        let Some((key, flow)) =
            unanswered.min_by_key(|(key, flow)| (flow.last_syn_nanos, key.endpoints().0, key.endpoints().1))
        else {
            return;
        };
        let (low, high, transport) = key.endpoints();
        let (client, server) = if flow.client_is_low { (low, high) } else { (high, low) };
        let ts = Timestamp::from_nanos(flow.last_syn_nanos, 9);
        let flow = Some(FlowId { client, server, transport, tunnel: None });
        let counter = "one_direction";
        self.examples.add(Example { counter, ts, frame: None, flow, addresses: None, packet_number: 0 });
    }

    #[cold]
    fn add_example(&mut self, counter: &'static str, segment: &Segment<'_>) {
        self.examples.add_segment(counter, segment, Side::Client);
    }
}

/// The times of the earliest examples, in nanoseconds, so that most segments need one comparison.
struct EarliestExamples {
    without_flow: u64,
    midstream: u64,
    eviction: u64,
}

impl Default for EarliestExamples {
    fn default() -> Self {
        Self { without_flow: u64::MAX, midstream: u64::MAX, eviction: u64::MAX }
    }
}

impl EarliestExamples {
    /// Whether a segment is earlier than every one before. Keeps its time.
    #[inline(always)]
    fn is_new(&mut self, kind: impl FnOnce(&mut Self) -> &mut u64, segment: &Segment<'_>) -> bool {
        let (earliest, ts) = (kind(self), segment.ts.as_nanos());
        let is_new = ts < *earliest;
        if is_new {
            *earliest = ts;
        }
        is_new
    }
}

/// The description of a worker's table. The worker builds the table in its own thread, because allocators keep memory
/// per thread.
pub(crate) struct WorkerFlows<P: Protocol> {
    protocol: P,
    limits: FlowLimits,
    partitions: FlowPartitions,
    owned: Range<usize>,
    entries: Vec<Entry<FlowKey, FlowEntry<P::Flow>>>,
    next_expiry_nanos: u64,
}

impl<P: Protocol> WorkerFlows<P> {
    /// Creates the table.
    pub(crate) fn into_table(self) -> FlowTable<P> {
        let Self { protocol, limits, partitions, owned, entries, next_expiry_nanos } = self;
        let first = owned.start;
        let mut table = FlowTable::with_partitions(protocol, limits, partitions, owned);
        table.map.restore(entries, first);
        FlowTable { next_expiry_nanos, ..table }
    }
}
