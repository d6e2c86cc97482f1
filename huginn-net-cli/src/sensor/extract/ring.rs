//! The first packets of each flow, kept until an event selects it or others need their memory.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use huginn_net::Timestamp;
use huginn_net::core::{Decoder, Filter, FlowKey, Frame, Segment};

use super::kept_packet::{KeptPacket, bytes_of};
use super::queue::FlowQueue;
use crate::limits::MAX_PACKET_COMMENTS;
use crate::plan::FrameFilter;

/// Memory of a connection whose packets are kept.
const KEPT_FLOW_BYTES: usize = 320;

/// Time between the first event of a connection and the writing of its packets: later packets and comments of a handshake are written with
/// it.
const EXTRACT_DELAY: Duration = Duration::from_secs(1);

/// Maximum number of incomplete datagrams of one source whose fragments are kept, and of these fragments.
const MAX_KEPT_DATAGRAMS: usize = 256;

const MAX_KEPT_FRAGMENTS: usize = 4096;

/// The packets that a ring keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingLimits {
    /// Packets of each connection.
    pub(super) packets: usize,
    /// Memory of all packets, in bytes.
    pub(super) bytes: usize,
}

/// How frames become segments: as in the analysis.
pub(super) struct RingDecoding {
    pub(super) decoder: Decoder,
    pub(super) expression: FrameFilter,
    pub(super) filter: Filter,
}

/// Keeps the first packets of each connection of one source.
///
/// A connection over TCP begins with a SYN, and another one with a SYN that is answered. Of a connection that began before there is
/// nothing.
pub(in crate::sensor) struct PacketRing {
    limits: RingLimits,
    decoding: RingDecoding,
    flows: HashMap<FlowKey, KeptFlow>,
    /// The flows in the order of their first packets.
    order: VecDeque<FlowKey>,
    /// Selected flows with packets, and when these are written.
    due: VecDeque<(Instant, FlowKey)>,
    /// Fragments of datagrams that are not complete.
    fragments: BTreeMap<u64, Vec<KeptPacket>>,
    fragment_count: usize,
    /// Memory of what is kept.
    bytes: usize,
    /// The flows of the current frame.
    of_frame: Vec<(FlowKey, Begin)>,
    queue: Arc<FlowQueue>,
}

/// The current connection of a flow.
#[derive(Debug, Default)]
struct KeptFlow {
    packets: Vec<KeptPacket>,
    /// Packets that were kept, also those that are written.
    count: usize,
    /// The sequence number of the SYN that began it.
    initial_seq: Option<u32>,
    /// A SYN that another connection may begin with.
    syn: Option<(u32, KeptPacket)>,
    is_selected: bool,
    /// Whether it is in the list of due flows.
    is_due: bool,
}

/// What a segment can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// A SYN with its sequence number.
    Connection(u32),
    /// A SYN+ACK, with the sequence number of the SYN that it answers.
    Answer(u32),
    /// A datagram.
    Flow,
    Nothing,
}

impl Begin {
    fn of(segment: &Segment<'_>) -> Self {
        match segment.tcp() {
            None => Self::Flow,
            Some(tcp) if tcp.flags.is_initial_syn() => Self::Connection(tcp.seq),
            Some(tcp) if tcp.flags.is_syn_ack() => Self::Answer(tcp.ack.wrapping_sub(1)),
            Some(_) => Self::Nothing,
        }
    }
}

impl KeptFlow {
    fn begin(start: Begin) -> Self {
        let initial_seq = match start {
            Begin::Connection(seq) => Some(seq),
            _ => None,
        };
        Self { initial_seq, ..Self::default() }
    }

    /// Takes the packets that are kept.
    fn take(&mut self) -> Vec<KeptPacket> {
        let mut packets = mem::take(&mut self.packets);
        packets.extend(self.syn.take_if(|(_, syn)| syn.events > 0).map(|(_, syn)| syn));
        packets
    }

    fn bytes(&self) -> usize {
        let packets = self.packets.iter().chain(self.syn.as_ref().map(|(_, packet)| packet));
        packets.map(KeptPacket::bytes).sum::<usize>().saturating_add(KEPT_FLOW_BYTES)
    }

    /// The packet with a time, the newest first.
    fn packet_at(&mut self, ts: Timestamp) -> Option<&mut KeptPacket> {
        let syn = self.syn.as_mut().map(|(_, packet)| packet);
        self.packets.iter_mut().chain(syn).rev().find(|packet| packet.ts == ts)
    }
}

impl PacketRing {
    pub(super) fn new(limits: RingLimits, decoding: RingDecoding, queue: Arc<FlowQueue>) -> Self {
        Self {
            limits,
            decoding,
            flows: HashMap::new(),
            order: VecDeque::new(),
            due: VecDeque::new(),
            fragments: BTreeMap::new(),
            fragment_count: 0,
            bytes: 0,
            of_frame: Vec::new(),
            queue,
        }
    }

    /// Takes a frame before it is analysed.
    pub(in crate::sensor) fn on_frame(&mut self, frame: &Frame<'_>) {
        if !self.due.is_empty() {
            self.write_due(Instant::now());
        }
        if !self.decoding.expression.passes(frame) {
            return;
        }
        let mut of_frame = mem::take(&mut self.of_frame);
        let RingDecoding { decoder, filter, .. } = &mut self.decoding;
        decoder.decode(frame, &mut |segment| {
            if filter.passes(segment) {
                of_frame.push((FlowKey::from_segment(segment).0, Begin::of(segment)));
            }
        });
        let datagram = decoder.fragmented_datagram();
        let mut before = Vec::new();
        if let Some(datagram) = datagram {
            if of_frame.is_empty() {
                self.add_fragment(datagram, frame);
            } else {
                before = self.take_fragments(datagram);
            }
        }
        for (key, begin) in of_frame.drain(..) {
            self.add(key, begin, frame, mem::take(&mut before));
        }
        self.of_frame = of_frame;
    }

    /// Writes what is due while no frame arrives.
    pub(in crate::sensor) fn on_idle(&mut self) {
        if !self.due.is_empty() {
            self.write_due(Instant::now());
        }
    }

    /// Adds a packet of a flow, with the fragments that it completes a datagram of.
    fn add(&mut self, key: FlowKey, begin: Begin, frame: &Frame<'_>, fragments: Vec<KeptPacket>) {
        let most = self.limits.packets;
        let flow = match self.flows.get_mut(&key) {
            Some(flow) => flow,
            None if matches!(begin, Begin::Nothing | Begin::Answer(_)) => return,
            None => {
                self.order.push_back(key);
                self.bytes = self.bytes.saturating_add(KEPT_FLOW_BYTES);
                self.flows.entry(key).or_insert_with(|| KeptFlow::begin(begin))
            }
        };
        match begin {
            Begin::Connection(seq) if flow.initial_seq != Some(seq) => {
                if flow.syn.as_ref().is_none_or(|(known, _)| *known != seq) {
                    let packet = KeptPacket::new(frame);
                    self.bytes = self.bytes.saturating_add(packet.bytes());
                    if let Some((_, unanswered)) = flow.syn.replace((seq, packet)) {
                        self.bytes = self.bytes.saturating_sub(unanswered.bytes());
                    }
                }
                return self.make_room();
            }
            Begin::Answer(seq) if flow.syn.as_ref().is_some_and(|(known, _)| *known == seq) => {
                let next = KeptFlow::begin(Begin::Connection(seq));
                let before = mem::replace(flow, next);
                flow.is_due = before.is_due;
                if let Some((_, syn)) = before.syn {
                    // An event of the SYN selected both.
                    flow.is_selected = syn.events > 0;
                    flow.packets.push(syn);
                    flow.count = 1;
                }
                self.bytes = self.bytes.saturating_sub(bytes_of(&before.packets));
                if before.is_selected {
                    self.queue.push(before.packets);
                }
            }
            _ => {}
        }
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if flow.count >= most {
            return;
        }
        for packet in fragments.into_iter().chain([KeptPacket::new(frame)]) {
            if flow.count < most {
                flow.count = flow.count.saturating_add(1);
                self.bytes = self.bytes.saturating_add(packet.bytes());
                flow.packets.push(packet);
            }
        }
        if flow.is_selected && !flow.is_due {
            flow.is_due = true;
            self.due.push_back((due_at(Instant::now()), key));
        }
        self.make_room();
    }

    /// Selects the current connection of a flow, with a comment on the packet of the event. Returns whether the ring has it.
    pub(super) fn select(&mut self, key: &FlowKey, ts: Timestamp, comment: &str) -> bool {
        let Some(flow) = self.flows.get_mut(key) else { return false };
        flow.is_selected = true;
        if !flow.is_due {
            flow.is_due = true;
            self.due.push_back((due_at(Instant::now()), *key));
        }
        match flow.packet_at(ts) {
            Some(packet) => {
                packet.events = packet.events.saturating_add(1);
                if packet.comments.len() < MAX_PACKET_COMMENTS {
                    let before = packet.bytes();
                    packet.comments.push(comment.to_owned());
                    self.bytes = self.bytes.saturating_add(packet.bytes().saturating_sub(before));
                }
            }
            None => self.queue.count_comment_without_packet(),
        }
        self.make_room();
        true
    }

    /// Writes the flows that are due.
    fn write_due(&mut self, now: Instant) {
        while let Some((_, key)) = self.due.front().copied().filter(|(at, _)| *at <= now) {
            self.due.pop_front();
            self.write(&key);
        }
    }

    /// Writes what is kept of a selected flow.
    fn write(&mut self, key: &FlowKey) {
        let Some(flow) = self.flows.get_mut(key).filter(|flow| flow.is_selected) else { return };
        flow.is_due = false;
        let packets = flow.take();
        self.bytes = self.bytes.saturating_sub(bytes_of(&packets));
        self.queue.push(packets);
    }

    /// Writes all selected flows, at the end.
    pub(super) fn finish(&mut self) {
        for key in mem::take(&mut self.order) {
            self.write(&key);
        }
    }

    /// Forgets the flows that began first, until the rest is within the limit. Selected ones are written.
    fn make_room(&mut self) {
        while self.bytes > self.limits.bytes {
            let Some(key) = self.order.pop_front() else { return };
            let Some(mut flow) = self.flows.remove(&key) else { continue };
            self.bytes = self.bytes.saturating_sub(flow.bytes());
            if flow.is_selected {
                self.queue.push(flow.take());
            } else {
                self.queue.count_forgotten_flow();
            }
        }
    }

    fn add_fragment(&mut self, datagram: u64, frame: &Frame<'_>) {
        let packet = KeptPacket::new(frame);
        self.bytes = self.bytes.saturating_add(packet.bytes());
        self.fragments.entry(datagram).or_default().push(packet);
        self.fragment_count = self.fragment_count.saturating_add(1);
        while self.fragments.len() > MAX_KEPT_DATAGRAMS || self.fragment_count > MAX_KEPT_FRAGMENTS {
            let Some((oldest, _)) = self.fragments.first_key_value() else { break };
            let oldest = *oldest;
            self.take_fragments(oldest);
        }
        self.make_room();
    }

    /// Takes the fragments of a datagram; they count again once they are added to a flow.
    fn take_fragments(&mut self, datagram: u64) -> Vec<KeptPacket> {
        let packets = self.fragments.remove(&datagram).unwrap_or_default();
        self.fragment_count = self.fragment_count.saturating_sub(packets.len());
        self.bytes = self.bytes.saturating_sub(bytes_of(&packets));
        packets
    }
}

fn due_at(now: Instant) -> Instant {
    now.checked_add(EXTRACT_DELAY).unwrap_or(now)
}
