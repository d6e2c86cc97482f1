//! Finds the connections of flows, and the fragments of their datagrams.
//!
//! A flow is a 4-tuple in its tunnel. Over TCP, a SYN that the server answers begins another connection of it. A SYN without an answer
//! begins none: anyone can send one into a connection. Datagrams of UDP have no such sign, so that all of a flow belong together.

use std::collections::{BTreeMap, HashMap};

use huginn_net::core::{FlowKey, Segment, TcpHeader};

use super::connections::Connections;
use super::evidence::AllEvidence;
use super::found::Found;
use crate::limits::MAX_EXTRACTED_FLOWS;

/// Maximum number of IP fragments of the flows.
const MAX_EXTRACTED_FRAGMENTS: usize = 1 << 20;

/// Maximum number of fragments of incomplete datagrams; beyond it, those of the oldest datagrams are left out. The decoder keeps 4,096
/// datagrams of up to 8,192 fragments, but usually a few.
const MAX_PENDING_FRAGMENTS: usize = 1 << 20;

/// Maximum number of such datagrams: twice as many as the decoder keeps, which forgets some without notice.
const MAX_PENDING_DATAGRAMS: usize = 1 << 13;

/// Finds the packets of the connections that have selected events, and of those that selected findings are about.
pub(super) struct Scan<'f> {
    found: &'f Found,
    /// What the findings are about. Its packets count as events of their connections.
    evidence: AllEvidence,
    /// Flows of the evidence that have no event; their numbers follow those of the others.
    more_flows: HashMap<FlowKey, u32>,
    packets_left_out: u64,
    /// Whether a connection ends at its last event.
    ends_early: bool,
    /// The flows by their number.
    flows: Vec<ScannedFlow>,
    /// Connections that ended, each with its flow.
    ranges: Vec<Range>,
    next_event: usize,
    /// The flows of the current frame.
    of_frame: Vec<u32>,
    pending: PendingFragments,
    fragments: Vec<Fragment>,
    fragments_left_out: u64,
}

/// The packets of a connection of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    flow: u32,
    start: u64,
    end: u64,
}

/// A packet with a fragment of a datagram of a flow.
struct Fragment {
    packet: u64,
    flow: u32,
    /// The packet that completed the datagram.
    completed: u64,
}

/// The current connection of a flow.
#[derive(Clone, Debug, Default)]
struct ScannedFlow {
    /// Its first packet; 0 for the first connection of a flow.
    start: u64,
    /// The packet of its last event; 0 without an event.
    last_event: u64,
    /// The sequence number of its SYN, if that was answered.
    initial_seq: Option<u32>,
    /// A SYN that may begin the next connection.
    syn: Option<PendingSyn>,
}

/// A SYN without an answer.
#[derive(Clone, Copy, Debug)]
struct PendingSyn {
    packet: u64,
    seq: u32,
    is_from_low: bool,
    /// The packet of the last event since then; 0 without an event.
    last_event: u64,
}

impl<'f> Scan<'f> {
    /// Each flow is one connection until segments show others. `ends_early`: whether a connection ends at its last event.
    pub(super) fn new(found: &'f Found, evidence: AllEvidence, ends_early: bool) -> Self {
        Self {
            found,
            evidence,
            more_flows: HashMap::new(),
            packets_left_out: 0,
            ends_early,
            flows: vec![ScannedFlow::default(); found.flows().len()],
            ranges: Vec::new(),
            next_event: 0,
            of_frame: Vec::new(),
            pending: PendingFragments::default(),
            fragments: Vec::new(),
            fragments_left_out: 0,
        }
    }

    /// Takes a segment of a packet.
    pub(super) fn on_segment(&mut self, segment: &Segment<'_>, packet: u64) {
        let (key, is_from_low) = FlowKey::from_segment(segment);
        let until = self.evidence.on_segment(segment, packet);
        let is_evidence = until.is_some_and(|until| !self.ends_early || packet <= until);
        let Some(number) = self.number_of(key, is_evidence) else { return };
        self.of_frame.push(number);
        let Some(flow) = self.flows.get_mut(number as usize) else { return };
        let ended = segment.tcp().and_then(|tcp| flow.on_tcp(tcp, is_from_low, packet));
        if is_evidence {
            flow.on_event(packet);
        }
        if let Some((start, end, last_event)) = ended {
            self.add_range(number, start, end, last_event);
        }
    }

    /// The number of a flow, which is new if only evidence needs it.
    fn number_of(&mut self, key: FlowKey, is_evidence: bool) -> Option<u32> {
        let known = self.found.flows().get(&key).or_else(|| self.more_flows.get(&key)).copied();
        if known.is_some() || !is_evidence {
            return known;
        }
        if self.flows.len() >= MAX_EXTRACTED_FLOWS {
            self.packets_left_out = self.packets_left_out.saturating_add(1);
            return None;
        }
        let number = u32::try_from(self.flows.len()).ok()?;
        self.flows.push(ScannedFlow::default());
        self.more_flows.insert(key, number);
        Some(number)
    }

    /// Ends a packet. `datagram`: the datagram of its fragment, if it is one.
    pub(super) fn end_frame(&mut self, packet: u64, datagram: Option<u64>) {
        for event in self.found.of_packet(packet, &mut self.next_event) {
            if let Some(flow) = self.flows.get_mut(event.flow as usize) {
                flow.on_event(packet);
            }
        }
        if let Some(datagram) = datagram {
            self.add_fragment(packet, datagram);
        }
        self.of_frame.clear();
    }

    fn add_fragment(&mut self, packet: u64, datagram: u64) {
        // The frame that completes a datagram has segments, and is written as their packet.
        if self.of_frame.is_empty() {
            self.pending.add(datagram, packet);
            return;
        }
        for fragment in self.pending.take(datagram) {
            for flow in &self.of_frame {
                if self.fragments.len() < MAX_EXTRACTED_FRAGMENTS {
                    self.fragments.push(Fragment { packet: fragment, flow: *flow, completed: packet });
                } else {
                    self.fragments_left_out = self.fragments_left_out.saturating_add(1);
                }
            }
        }
    }

    fn add_range(&mut self, flow: u32, start: u64, end: u64, last_event: u64) {
        if last_event == 0 {
            return;
        }
        let end = if self.ends_early { end.min(last_event) } else { end };
        self.ranges.push(Range { flow, start, end });
    }

    /// Returns the connections with events.
    pub(super) fn finish(mut self) -> Connections {
        if self.next_event == 0 {
            // Nothing was scanned: each flow is one connection.
            for event in self.found.events() {
                if let Some(flow) = self.flows.get_mut(event.flow as usize) {
                    flow.on_event(event.packet);
                }
            }
        }
        for (number, flow) in (0..).zip(std::mem::take(&mut self.flows)) {
            let last_event = flow.syn.map_or(0, |syn| syn.last_event).max(flow.last_event);
            self.add_range(number, flow.start, u64::MAX, last_event);
        }
        let Self {
            found,
            more_flows,
            packets_left_out,
            mut ranges,
            fragments,
            fragments_left_out,
            pending,
            ..
        } = self;
        ranges.sort_unstable();
        let mut flows = HashMap::with_capacity(found.flows().len().saturating_add(more_flows.len()));
        for (key, number) in found.flows().iter().chain(&more_flows) {
            let start = ranges.partition_point(|range| range.flow < *number);
            let end = ranges.partition_point(|range| range.flow <= *number);
            let index = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
            flows.insert(*key, (index(start), index(end)));
        }
        let is_wanted = |fragment: &Fragment| {
            let Fragment { flow, completed, .. } = *fragment;
            let after = ranges.partition_point(|range| (range.flow, range.end) < (flow, completed));
            ranges.get(after).is_some_and(|range| range.flow == flow && range.start <= completed)
        };
        let mut packets: Vec<u64> =
            fragments.iter().filter(|fragment| is_wanted(fragment)).map(|fragment| fragment.packet).collect();
        packets.sort_unstable();
        packets.dedup();
        Connections {
            flows,
            ranges: ranges.into_iter().map(|range| range.start..=range.end).collect(),
            fragments: packets,
            fragments_left_out: fragments_left_out.saturating_add(pending.left_out),
            packets_left_out,
        }
    }
}

impl ScannedFlow {
    /// Takes a segment. If it shows that another connection has begun, returns the packets of the one before and the packet of its last
    /// event.
    fn on_tcp(&mut self, tcp: &TcpHeader<'_>, is_from_low: bool, packet: u64) -> Option<(u64, u64, u64)> {
        if tcp.flags.is_initial_syn() {
            self.on_syn(tcp.seq, is_from_low, packet);
            return None;
        }
        let is_answer =
            |syn: &PendingSyn| syn.is_from_low != is_from_low && tcp.ack == syn.seq.wrapping_add(1);
        let syn = self.syn.take_if(|syn| tcp.flags.is_syn_ack() && is_answer(syn))?;
        let before = (self.start, syn.packet.saturating_sub(1), self.last_event);
        *self = Self { start: syn.packet, last_event: syn.last_event, initial_seq: Some(syn.seq), syn: None };
        Some(before)
    }

    fn on_syn(&mut self, seq: u32, is_from_low: bool, packet: u64) {
        let repeats = self.syn.is_some_and(|syn| (syn.seq, syn.is_from_low) == (seq, is_from_low));
        if repeats || self.initial_seq == Some(seq) {
            return;
        }
        if let Some(unanswered) = self.syn.replace(PendingSyn { packet, seq, is_from_low, last_event: 0 }) {
            self.last_event = self.last_event.max(unanswered.last_event);
        }
    }

    /// Takes an event of a packet.
    fn on_event(&mut self, packet: u64) {
        match &mut self.syn {
            Some(syn) if syn.packet == packet => syn.last_event = packet,
            Some(syn) => {
                // It may be one of either connection.
                syn.last_event = packet;
                self.last_event = packet;
            }
            None => self.last_event = packet,
        }
    }
}

/// The packets with fragments of datagrams that are not complete.
#[derive(Default)]
struct PendingFragments {
    /// By datagram, of which later ones have greater numbers.
    packets: BTreeMap<u64, Vec<u64>>,
    count: usize,
    left_out: u64,
}

impl PendingFragments {
    fn add(&mut self, datagram: u64, packet: u64) {
        self.packets.entry(datagram).or_default().push(packet);
        self.count = self.count.saturating_add(1);
        loop {
            let has_too_many = self.count > MAX_PENDING_FRAGMENTS;
            if !has_too_many && self.packets.len() <= MAX_PENDING_DATAGRAMS {
                return;
            }
            let Some((_, oldest)) = self.packets.pop_first() else { return };
            self.count = self.count.saturating_sub(oldest.len());
            // The decoder still knows a datagram, unless there are many.
            if has_too_many {
                self.left_out = self.left_out.saturating_add(oldest.len() as u64);
            }
        }
    }

    fn take(&mut self, datagram: u64) -> Vec<u64> {
        let packets = self.packets.remove(&datagram).unwrap_or_default();
        self.count = self.count.saturating_sub(packets.len());
        packets
    }
}

#[cfg(test)]
mod tests {
    use huginn_net::core::TcpFlags;

    use super::*;

    fn tcp(flags: TcpFlags, seq: u32, ack: u32) -> TcpHeader<'static> {
        TcpHeader { src_port: 1, dst_port: 2, seq, ack, flags, window: 0, urgent: 0, options: &[] }
    }

    fn syn(seq: u32) -> TcpHeader<'static> {
        tcp(TcpFlags::SYN, seq, 0)
    }

    fn answer(ack: u32) -> TcpHeader<'static> {
        tcp(TcpFlags::SYN | TcpFlags::ACK, 9, ack)
    }

    #[test]
    fn answered_syn_begins_another_connection() {
        let mut flow = ScannedFlow::default();
        assert_eq!(flow.on_tcp(&syn(100), true, 1), None);
        flow.on_event(1);
        assert_eq!(flow.on_tcp(&answer(101), false, 2), Some((0, 0, 0)), "none before the first");
        flow.on_event(4);
        assert_eq!(flow.on_tcp(&syn(100), true, 5), None, "repeated");
        assert_eq!(flow.on_tcp(&answer(101), false, 6), None, "repeated");
        assert_eq!(flow.on_tcp(&syn(u32::MAX), true, 7), None);
        flow.on_event(7);
        assert_eq!(flow.on_tcp(&answer(0), false, 8), Some((1, 6, 4)));
        assert_eq!((flow.start, flow.last_event), (7, 7));
    }

    #[test]
    fn syn_without_right_answer_is_part_of_its_connection() {
        let mut flow = ScannedFlow::default();
        flow.on_event(1);
        for (header, is_from_low) in [
            (syn(500), true),
            (answer(501), true),
            (answer(500), false),
            (tcp(TcpFlags::ACK, 9, 501), false),
            (syn(700), true),
            (answer(501), false),
        ] {
            assert_eq!(flow.on_tcp(&header, is_from_low, 5), None, "{header:?}");
        }
        flow.on_event(5);
        assert_eq!((flow.start, flow.last_event), (0, 1), "the event is that of the SYN");
        assert_eq!(flow.syn.map(|syn| syn.last_event), Some(5));
    }

    #[test]
    fn forgotten_datagrams_leave_room() {
        let mut pending = PendingFragments::default();
        for datagram in 1..=MAX_PENDING_DATAGRAMS as u64 {
            pending.add(datagram, datagram);
        }
        pending.add(9000, 9000);
        assert_eq!((pending.take(1), pending.take(2), pending.left_out), (vec![], vec![2], 0));
        for packet in 0..=MAX_PENDING_FRAGMENTS as u64 {
            pending.add(10_000, packet);
        }
        assert!(pending.left_out > 0 && pending.count <= MAX_PENDING_FRAGMENTS);
    }
}
