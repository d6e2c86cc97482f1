//! The flow table: assigns each segment to a flow and runs the protocol on it.

use std::ops::{ControlFlow, Range};

use super::{FlowCounters, FlowKey, FlowLimits, FlowPartitions, IdleMap, Slot};
use crate::decode::LazySegment;
use crate::{
    Event, Example, Examples, FlowId, Interest, Protocol, Segment, Side, Tally, TcpFlags, Timestamp,
};

/// The flow table, or the partitions of it that belong to one worker, with the protocol that analyses the flows.
pub(crate) struct FlowTable<P: Protocol> {
    protocol: P,
    partitions: FlowPartitions,
    /// The partitions that this table owns.
    owned: Range<usize>,
    map: IdleMap<FlowKey, FlowEntry<P::Flow>>,
    limits: FlowLimits,
    syn_lifetime_nanos: u64,
    restarted: u64,
    midstream: u64,
    bidirectional: u64,
    segments_without_flow: u64,
    /// The earliest segment that each of these counters counted: flows started midstream and evictions.
    examples: Examples,
    /// Whether there is an example of an eviction.
    has_evicted: bool,
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
        let idle_limits = limits.per_partition(partitions.count).idle_limits();
        let mut map = IdleMap::with_partitions(&idle_limits, owned.len());
        if protocol.reports_ends() {
            map.keep_removed();
        }
        Self {
            protocol,
            partitions,
            map,
            owned,
            limits,
            syn_lifetime_nanos: u64::try_from(limits.syn_lifetime.as_nanos()).unwrap_or(u64::MAX),
            restarted: 0,
            midstream: 0,
            bidirectional: 0,
            segments_without_flow: 0,
            examples: Examples::default(),
            has_evicted: false,
            worker_counters: FlowCounters::default(),
        }
    }

    pub(crate) fn protocol(&self) -> &P {
        &self.protocol
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

    /// Returns the examples of the counters.
    pub(crate) fn examples(&self) -> &Examples {
        &self.examples
    }

    pub(crate) fn segments_without_flow(&self) -> u64 {
        self.segments_without_flow
    }

    /// Removes every flow at the end of a capture. `on_event` takes the last event of each flow, if the protocol
    /// [reports ends](Protocol::reports_ends), with the partition of the flow. Breaks when `on_event` does.
    pub(crate) fn end(
        &mut self,
        now: Timestamp,
        on_event: &mut impl FnMut(usize, Event<P::Event>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.add_unanswered_example();
        if self.protocol.reports_ends() {
            for (partition, number) in self.owned.clone().enumerate() {
                self.map.expire_all_of(partition, now);
                self.report_removed(&mut |event| on_event(number, event))?;
                while let Some(flow) = self.map.pop_oldest(partition) {
                    if let Some(event) = self.protocol.on_end(flow.state) {
                        on_event(number, event)?;
                    }
                }
            }
        }
        self.map.expire_all(now);
        self.clear();
        ControlFlow::Continue(())
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

    /// Describes the table of one worker.
    pub(crate) fn for_worker(&self, worker: usize, workers: usize) -> WorkerFlows<P> {
        let Self { partitions, limits, .. } = self;
        let owned = partitions.range_of_worker(worker, workers);
        WorkerFlows { protocol: self.protocol.fork(), limits: *limits, partitions: partitions.clone(), owned }
    }

    /// Whether this table owns the partition of a flow.
    #[inline(always)]
    pub(crate) fn owns_flow(&self, key: &FlowKey) -> bool {
        self.owned.contains(&self.partitions.index_of(key))
    }

    /// Finds the flow of a segment, or starts one, and runs the protocol on it. Events go to `on_event`.
    ///
    /// A segment that the protocol skips is not decoded to its end. `now` is compared only with the `now` of other
    /// segments. Breaks when `on_event` does.
    #[inline(always)]
    pub(crate) fn on_segment(
        &mut self,
        meta: &SegmentMeta,
        segment: &impl LazySegment,
        now: Timestamp,
        on_event: &mut impl FnMut(Event<P::Event>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Self { protocol, map, .. } = self;
        let slot = match map.touch_mut(&meta.key, now) {
            Some((_, flow))
                if !meta.has_control_flags()
                    && flow.has_seen(meta.sender_is_low)
                    && flow.can_skip(protocol, meta) =>
            {
                return ControlFlow::Continue(());
            }
            existing => existing.map(|(slot, _)| slot),
        };
        self.dispatch(slot, meta, &segment.segment(), now, on_event)
    }

    /// Passes a segment to the flow in `slot`, or starts a flow, as [`on_segment`](Self::on_segment) does.
    #[inline(always)]
    fn dispatch(
        &mut self,
        slot: Option<Slot>,
        meta: &SegmentMeta,
        segment: &Segment<'_>,
        now: Timestamp,
        on_event: &mut impl FnMut(Event<P::Event>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (has_control_flags, sender_is_low) = (meta.has_control_flags(), meta.sender_is_low);
        let slot = match slot {
            Some(slot) if !has_control_flags || !self.is_new_connection(slot, segment, sender_is_low) => slot,
            existing => return self.start_flow(existing, meta.key, now, segment, sender_is_low, on_event),
        };
        let Self { protocol, map, .. } = self;
        let Some(flow) = map.get_mut(slot) else { return ControlFlow::Continue(()) };
        flow.is_closed |= has_control_flags && is_fin_or_rst(segment);
        if !flow.has_seen(sender_is_low) {
            flow.is_bidirectional = true;
            self.bidirectional = self.bidirectional.saturating_add(1);
        }
        if flow.interest == Interest::Done {
            return ControlFlow::Continue(());
        }
        let outcome = flow.on_segment(protocol, segment, sender_is_low, on_event);
        // A segment without payload never adds buffered bytes. Bytes that it freed are counted with the next payload.
        if !segment.payload.is_empty() {
            let buffered_bytes = P::buffered_bytes(&flow.state);
            map.set_buffered_bytes(slot, buffered_bytes);
        }
        outcome?;
        self.report_removed(on_event)
    }

    /// Reports the ends of the flows that the map removed. Breaks when `on_event` does.
    #[inline(always)]
    fn report_removed(
        &mut self,
        on_event: &mut impl FnMut(Event<P::Event>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.map.has_removed() { self.report_some(on_event) } else { ControlFlow::Continue(()) }
    }

    #[cold]
    #[inline(never)]
    fn report_some(
        &mut self,
        on_event: &mut impl FnMut(Event<P::Event>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for flow in self.map.take_removed() {
            if let Some(event) = self.protocol.on_end(flow.state) {
                on_event(event)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether a segment on an existing 4-tuple starts another connection: a SYN that is not a retransmission.
    ///
    /// A retransmission restarts the SYN lifetime.
    fn is_new_connection(&mut self, slot: Slot, segment: &Segment<'_>, sender_is_low: bool) -> bool {
        let Some(seq) = initial_seq(segment) else { return false };
        let Some(flow) = self.map.get_mut(slot) else { return false };
        let now = segment.ts.as_nanos();
        let age = now.saturating_sub(std::mem::replace(&mut flow.last_syn_nanos, now));
        !flow.started_by_syn
            || flow.is_closed
            || seq != flow.syn_seq
            || flow.client_is_low != sender_is_low
            || age > self.syn_lifetime_nanos
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
        on_event: &mut impl FnMut(Event<P::Event>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.report_removed(on_event)?;
        let Some(sender) = self.protocol.starts_flow(segment) else {
            self.segments_without_flow = self.segments_without_flow.saturating_add(1);
            if self.segments_without_flow == 1 {
                self.add_example("segments_without_flow", segment);
            }
            return ControlFlow::Continue(());
        };
        let mut flow = FlowEntry {
            state: P::Flow::default(),
            syn_seq: initial_seq(segment).unwrap_or(0),
            last_syn_nanos: segment.ts.as_nanos(),
            started_by_syn: initial_seq(segment).is_some(),
            client_is_low: sender_is_low == (sender == Side::Client),
            first_is_low: sender_is_low,
            is_bidirectional: false,
            is_closed: is_fin_or_rst(segment),
            interest: Interest::More,
        };
        if segment.tcp().is_some() && !flow.started_by_syn {
            self.midstream = self.midstream.saturating_add(1);
            if self.midstream == 1 {
                self.add_example("midstream", segment);
            }
        }
        if let Some(entry) = existing.and_then(|slot| self.map.get_mut(slot)) {
            let ended = std::mem::take(&mut entry.state);
            if let Some(event) = self.protocol.on_end(ended) {
                on_event(event)?;
            }
        }
        let outcome = flow.on_segment(&mut self.protocol, segment, sender_is_low, on_event);
        let buffered_bytes = P::buffered_bytes(&flow.state);
        let Self { map, partitions, owned, .. } = self;
        let slot = match existing {
            Some(slot) => {
                if let Some(entry) = map.get_mut(slot) {
                    *entry = flow;
                }
                self.restarted = self.restarted.saturating_add(1);
                Some(slot)
            }
            None => map.insert_into(partitions.index_of(&key).saturating_sub(owned.start), key, now, flow),
        };
        if let Some(slot) = slot {
            map.set_buffered_bytes(slot, buffered_bytes);
        }
        self.note_eviction(segment);
        outcome?;
        self.report_removed(on_event)
    }
}

impl<P: Protocol> FlowTable<P> {
    /// Makes a segment the example of evictions, if it caused the first one.
    #[inline(always)]
    fn note_eviction(&mut self, segment: &Segment<'_>) {
        if self.map.evictions() > 0 && !self.has_evicted {
            self.has_evicted = true;
            self.add_example("evicted", segment);
        }
    }

    /// Makes the earliest flow of the table with segments of one side only an example.
    fn add_unanswered_example(&mut self) {
        let unanswered = self.map.iter().filter(|(_, flow)| !flow.is_bidirectional);
        let Some((key, flow)) = unanswered.min_by_key(|(_, flow)| flow.last_syn_nanos) else { return };
        let (low, high, transport) = key.endpoints();
        let (client, server) = if flow.client_is_low { (low, high) } else { (high, low) };
        let ts = Timestamp::from_nanos(flow.last_syn_nanos, 9);
        let flow = Some(FlowId { client, server, transport, tunnel: None });
        self.examples.add(Example { counter: "one_direction", ts, frame: None, flow });
    }

    #[cold]
    fn add_example(&mut self, counter: &'static str, segment: &Segment<'_>) {
        let flow = Some(FlowId::from_segment(segment, Side::Client));
        self.examples.add(Example { counter, ts: segment.ts, frame: None, flow });
    }
}

/// The description of a worker's table. The worker builds the table in its own thread, because allocators keep memory
/// per thread.
pub(crate) struct WorkerFlows<P: Protocol> {
    protocol: P,
    limits: FlowLimits,
    partitions: FlowPartitions,
    owned: Range<usize>,
}

impl<P: Protocol> WorkerFlows<P> {
    /// Creates the empty table.
    pub(crate) fn into_table(self) -> FlowTable<P> {
        let Self { protocol, limits, partitions, owned } = self;
        FlowTable::with_partitions(protocol, limits, partitions, owned)
    }
}

/// The fields of a segment that the flow lookup needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentMeta {
    pub(crate) key: FlowKey,
    /// Whether the sender is the low endpoint of the key.
    pub(crate) sender_is_low: bool,
    pub(crate) ts: Timestamp,
    /// TCP flags; empty for UDP.
    pub(crate) flags: TcpFlags,
}

impl SegmentMeta {
    /// Whether the segment starts or ends a connection; most segments do neither.
    #[inline]
    fn has_control_flags(&self) -> bool {
        self.flags.intersects(CONTROL_FLAGS)
    }
}

/// The engine's state of one flow, around the protocol's own.
#[derive(Debug)]
struct FlowEntry<S> {
    state: S,
    /// Capture time of the last SYN of this connection, in nanoseconds, if a SYN started the flow.
    last_syn_nanos: u64,
    /// Sequence number of that SYN.
    syn_seq: u32,
    started_by_syn: bool,
    /// Whether the client is the low endpoint of the key.
    client_is_low: bool,
    /// Whether the low endpoint of the key sent the first segment.
    first_is_low: bool,
    /// Whether both sides sent a segment.
    is_bidirectional: bool,
    /// Whether a FIN or RST was captured.
    is_closed: bool,
    interest: Interest,
}

impl<S> FlowEntry<S> {
    #[inline]
    fn sender(&self, sender_is_low: bool) -> Side {
        if sender_is_low == self.client_is_low { Side::Client } else { Side::Server }
    }

    /// Whether this side sent a segment before.
    #[inline(always)]
    fn has_seen(&self, sender_is_low: bool) -> bool {
        self.is_bidirectional || sender_is_low == self.first_is_low
    }

    /// Whether the protocol skips a segment that neither starts nor ends a connection.
    #[inline(always)]
    fn can_skip<P: Protocol<Flow = S>>(&self, protocol: &P, meta: &SegmentMeta) -> bool {
        let sender = self.sender(meta.sender_is_low);
        self.interest == Interest::Done || protocol.can_skip(meta.ts, sender, &self.state)
    }

    /// Passes a segment to the protocol. Breaks when `on_event` does.
    #[inline]
    fn on_segment<P: Protocol<Flow = S>>(
        &mut self,
        protocol: &mut P,
        segment: &Segment<'_>,
        sender_is_low: bool,
        on_event: &mut impl FnMut(Event<P::Event>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let sender = self.sender(sender_is_low);
        let mut outcome = ControlFlow::Continue(());
        self.interest = protocol.on_segment(segment, sender, &mut self.state, &mut |subject, kind| {
            if outcome.is_continue() {
                outcome = on_event(Event::from_segment(segment, sender, subject, kind));
            }
        });
        outcome
    }
}

/// The flags that start or end a connection.
const CONTROL_FLAGS: TcpFlags = TcpFlags::SYN.union(TcpFlags::FIN).union(TcpFlags::RST);

fn is_fin_or_rst(segment: &Segment<'_>) -> bool {
    segment.tcp().is_some_and(|tcp| tcp.flags.is_fin_or_rst())
}

/// Returns the sequence number of an initial SYN.
fn initial_seq(segment: &Segment<'_>) -> Option<u32> {
    segment.tcp().filter(|tcp| tcp.flags.is_initial_syn()).map(|tcp| tcp.seq)
}
