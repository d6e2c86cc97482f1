//! Impairs the captures: packets lost, reordered and repeated, one direction missing, steps of the clock. Each hello, head and SSH
//! opening whose own packets are still there is reported with equal values, or a blind spot of its connection says why not.

mod capture_loss;
mod handshakes;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use huginn_net::blind_spots::BlindSpot;
use huginn_net::core::{Analyzer, Event as CoreEvent, FlowId, Frames, Interest, Origin, Protocol, Segment};
use huginn_net::record::JsonEvent;
use huginn_net::{Event, Frame, HuginnNet, Side, Timestamp};
use serde_json::Value;

use crate::captures;
use crate::mutants::Random;
use crate::packet::{self, Packet};

/// The largest captures take most of the time and have no other messages than the others.
const MAX_CAPTURE_PACKETS: usize = 500;
const MAX_MESSAGES: usize = 24;
/// Impairments of each capture.
const IMPAIRMENTS: u64 = 12;
/// Packets that a message may need, beside the whole beginning of its connection.
const MAX_OWN_PACKETS: usize = 4;

/// The kinds of events that are messages, and their values that do not depend on other packets.
const MESSAGES: [(&str, &[&str]); 6] = [
    ("tls_client", &["protocol", "version", "sni", "alpn", "ja4", "ja4_o", "ja3"]),
    ("tls_server", &["protocol", "version", "cipher", "ja3s"]),
    ("http_request", &["version", "method", "host", "path", "user_agent", "sig"]),
    ("http_response", &["version", "status", "server_header", "sig"]),
    ("ssh_client", &["banner", "hassh_algorithms"]),
    ("ssh_server", &["banner", "hassh_algorithms"]),
];

/// Blind spots that explain a missing message if no handshake was captured: the connection begins with the first packet that can
/// only be a hello or a head.
const WITHOUT_HANDSHAKE: [&str; 2] = ["midstream", "segments_without_flow"];

/// Blind spots that do not explain a missing message.
const NO_REASON: [&str; 9] = [
    "one_direction",
    "bad_ip_checksum",
    "bad_transport_checksum",
    "ech",
    "not_data",
    "time_steps_back",
    "time_steps_ahead",
    "other_transport",
    "unknown_ethertype",
];

/// Both ends and the tunnels of a flow.
type FlowName = String;

/// The transport segment of a packet.
#[derive(Clone)]
struct Described {
    flow: FlowName,
    sender: SocketAddr,
    has_payload: bool,
    /// The sequence number of an initial SYN.
    syn: Option<u32>,
    is_handshake: bool,
}

/// Reports a description of every segment.
struct Recorder;

impl Protocol for Recorder {
    type Flow = ();
    type Event = (bool, Option<u32>, bool);
    type SharedState = ();
    type Counters = ();

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        Self
    }

    fn counters(&self) {}

    fn starts_flow(&self, _: &Segment<'_>) -> Option<Side> {
        Some(Side::Client)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        (): &mut (),
        emit: &mut impl FnMut(Origin, Self::Event),
    ) -> Interest {
        let flags = segment.tcp().map(|tcp| tcp.flags);
        let syn = segment.tcp().filter(|tcp| tcp.flags.is_initial_syn()).map(|tcp| tcp.seq);
        let is_handshake = flags.is_some_and(|flags| flags.is_initial_syn() || flags.is_syn_ack());
        emit(sender.into(), (!segment.payload.is_empty(), syn, is_handshake));
        Interest::More
    }
}

fn name(flow: &FlowId) -> FlowName {
    let (low, high) = (flow.client.min(flow.server), flow.client.max(flow.server));
    format!("{low} {high} {:?} {:?}", flow.transport, flow.tunnel)
}

/// A hello, a head, or an SSH opening.
struct Message {
    key: (FlowName, String),
    /// The numbers of the packets that it needs.
    own: BTreeSet<usize>,
}

struct Capture {
    name: String,
    packets: Vec<Packet>,
    /// By number of the packet.
    segments: Vec<Option<Described>>,
    messages: Vec<Message>,
    /// Flows whose ports were used again.
    reused: BTreeSet<FlowName>,
}

impl Capture {
    fn open(path: &std::path::Path) -> Option<Self> {
        let (packets, _) = packet::read(path).ok()?;
        if packets.len() > MAX_CAPTURE_PACKETS {
            return None;
        }
        let name = path.display().to_string();
        let mut capture = Self {
            name,
            segments: describe(&packets),
            packets,
            messages: Vec::new(),
            reused: BTreeSet::new(),
        };
        let mut first_syns: BTreeMap<&str, u32> = BTreeMap::new();
        for segment in capture.segments.iter().flatten() {
            let Some(syn) = segment.syn else { continue };
            if *first_syns.entry(&segment.flow).or_insert(syn) != syn {
                capture.reused.insert(segment.flow.clone());
            }
        }
        capture.messages = capture.messages();
        Some(capture)
    }

    /// The messages of the capture as it is, except those of connections in which contents compete for the same bytes.
    fn messages(&self) -> Vec<Message> {
        let (events, _) = analyze(&self.packets);
        let competing: BTreeSet<FlowName> =
            events.iter().filter(|event| event.conflict.is_some()).map(|event| name(&event.flow)).collect();
        let messages = events.iter().filter_map(|event| {
            let key = key(event)?;
            let own = self.own_packets(event, &key);
            (!competing.contains(&key.0)).then_some(Message { key, own })
        });
        messages.take(MAX_MESSAGES).collect()
    }

    /// The fewest packets of the sender, up to that of the event, that make the analysis report the message; else all packets
    /// of the connection up to there.
    fn own_packets(&self, event: &Event, key: &(FlowName, String)) -> BTreeSet<usize> {
        let end = usize::try_from(event.packet_number).unwrap();
        let sender = event.subject.choose(event.flow.client, event.flow.server);
        let is_of = |number: &usize, test: &dyn Fn(&Described) -> bool| {
            self.segments[*number].as_ref().is_some_and(|segment| segment.flow == key.0 && test(segment))
        };
        let sent: Vec<usize> = (0..end)
            .rev()
            .filter(|number| is_of(number, &|segment| segment.sender == sender && segment.has_payload))
            .take(MAX_OWN_PACKETS)
            .collect();
        for count in 1..=sent.len() {
            let own: BTreeSet<usize> = sent[..count].iter().copied().collect();
            let packets: Vec<Packet> = own.iter().map(|number| self.packets[*number].clone()).collect();
            if analyze(&packets).0.iter().any(|event| self::key(event).as_ref() == Some(key)) {
                return own;
            }
        }
        (0..end).filter(|number| self.segments[*number].is_none() || is_of(number, &|_| true)).collect()
    }

    /// The messages that are missing in an impaired capture although their packets are there, and without a reason; and the
    /// numbers of complete and of reported messages.
    fn judge(&self, impaired: &[Packet]) -> (Vec<String>, [usize; 2]) {
        let (events, _) = analyze(impaired);
        let mut reported: BTreeMap<(FlowName, String), usize> = BTreeMap::new();
        for key in events.iter().filter_map(key) {
            *reported.entry(key).or_default() += 1;
        }
        let present: BTreeSet<usize> = impaired.iter().map(|packet| packet.number).collect();
        let is_in_order = impaired.is_sorted_by_key(|packet| packet.number);
        let (mut missing, mut counts) = (Vec::new(), [0, 0]);
        for Message { key, own } in &self.messages {
            // Which SYN a segment belongs to depends on the order.
            if !own.is_subset(&present) || !is_in_order && self.reused.contains(&key.0) {
                continue;
            }
            counts[0] += 1;
            match reported.get_mut(key).filter(|count| **count > 0) {
                Some(count) => {
                    *count -= 1;
                    counts[1] += 1;
                }
                None if self.has_reason(&key.0, impaired) => {}
                None => {
                    let is_own = |packet: &&Packet| {
                        self.segments[packet.number].as_ref().is_none_or(|segment| segment.flow == key.0)
                    };
                    let order: Vec<usize> =
                        impaired.iter().filter(is_own).take(20).map(|packet| packet.number).collect();
                    missing.push(format!("{}: {key:?}, packets {own:?} of {order:?}", self.name));
                }
            }
        }
        (missing, counts)
    }

    /// Whether a blind spot of this connection alone explains that a message of it is missing.
    fn has_reason(&self, flow: &FlowName, impaired: &[Packet]) -> bool {
        let segment = |packet: &Packet| self.segments[packet.number].as_ref();
        let is_own = |packet: &&Packet| segment(packet).is_none_or(|segment| segment.flow == *flow);
        let packets: Vec<Packet> = impaired.iter().filter(is_own).cloned().collect();
        let has_handshake = packets.iter().find_map(segment).is_some_and(|segment| segment.is_handshake);
        let is_reason =
            |name: &str| !(NO_REASON.contains(&name) || has_handshake && WITHOUT_HANDSHAKE.contains(&name));
        analyze(&packets).1.iter().any(|spot| is_reason(spot.name))
    }
}

fn describe(packets: &[Packet]) -> Vec<Option<Described>> {
    let mut segments = vec![None; packets.len()];
    let mut analyzer = Analyzer::builder_with(Recorder).build();
    let mut record = |event: CoreEvent<(bool, Option<u32>, bool)>| {
        let (has_payload, syn, is_handshake) = event.kind;
        let sender = event.subject.choose(event.flow.client, event.flow.server);
        let index = usize::try_from(event.packet_number).unwrap() - 1;
        segments[index] = Some(Described { flow: name(&event.flow), sender, has_payload, syn, is_handshake });
    };
    analyzer.analyze(frames(packets), &mut record).unwrap();
    segments
}

fn frames(packets: &[Packet]) -> Frames<'_, impl Iterator<Item = Frame<'_>> + Send> {
    Frames::new(packets.iter().map(Packet::frame))
}

fn analyze(packets: &[Packet]) -> (Vec<Event>, Vec<BlindSpot>) {
    let mut analyzer = HuginnNet::builder().build();
    let mut events: Vec<Event> = Vec::new();
    analyzer.analyze(frames(packets), |event| events.push(event)).unwrap();
    (events, BlindSpot::of_analyzer(&analyzer))
}

/// The flow and the values of a message; none for other events.
fn key(event: &Event) -> Option<(FlowName, String)> {
    let line: Value = serde_json::from_str(&JsonEvent::new(event).to_string()).unwrap();
    let (kind, names) = MESSAGES.iter().find(|(kind, _)| line["event"] == *kind)?;
    let values: Vec<&Value> = names.iter().map(|name| &line[*name]).collect();
    Some((name(&event.flow), format!("{kind} {}", serde_json::to_string(&values).unwrap())))
}

/// Impairs a capture in one of twelve ways.
fn impair(capture: &Capture, kind: u64, random: &mut Random) -> Vec<Packet> {
    let packets = capture.packets.clone();
    match kind {
        0 => lose(packets, 0.0001, 1, random),
        1 => lose(packets, 0.001, 1, random),
        2 => lose(packets, 0.01, 1, random),
        3 => lose(packets, 0.1, 1, random),
        4 => lose(packets, 0.1, 20, random),
        5 => reorder(packets, 0.01, random),
        6 => reorder(packets, 0.1, random),
        7 => repeat(packets, random),
        8 => one_side(capture, packets, true),
        9 => one_side(capture, lose(packets, 0.01, 1, random), false),
        10 => step(capture, packets, random),
        _ => {
            let lossy = lose(packets, 0.01, 1, random);
            repeat(reorder(lossy, 0.05, random), random)
        }
    }
}

const KINDS: u64 = 12;

/// Loses this share of the packets, in runs of up to `run` packets.
fn lose(mut packets: Vec<Packet>, share: f64, run: usize, random: &mut Random) -> Vec<Packet> {
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let start = share * 2.0 / (run as f64 + 1.0);
    let mut left = 0;
    packets.retain(|_| {
        let is_lost = left > 0 || random.chance(start);
        left = if left > 0 {
            left - 1
        } else if is_lost {
            random.below(run)
        } else {
            0
        };
        !is_lost
    });
    packets
}

/// Delays packets until after up to 8 later ones. The times stay in order.
fn reorder(packets: Vec<Packet>, share: f64, random: &mut Random) -> Vec<Packet> {
    let times: Vec<Timestamp> = packets.iter().map(|packet| packet.ts).collect();
    let mut places: Vec<(usize, Packet)> = Vec::new();
    for (index, packet) in packets.into_iter().enumerate() {
        let delay = if random.chance(share) { 3 + 2 * random.below(8) } else { 0 };
        places.push((2 * index + delay, packet));
    }
    places.sort_by_key(|(place, _)| *place);
    let in_time = |((_, packet), ts)| Packet { ts, ..packet };
    places.into_iter().zip(times).map(in_time).collect()
}

/// Repeats every tenth packet, at once or after up to 8 others.
fn repeat(packets: Vec<Packet>, random: &mut Random) -> Vec<Packet> {
    let mut places: Vec<(usize, Packet)> = packets.into_iter().enumerate().collect();
    for index in 0..places.len() {
        if random.chance(0.1) {
            let after = (index + random.below(9)).min(places.len() - 1);
            let copy = Packet { ts: places[after].1.ts, ..places[index].1.clone() };
            places.push((after, copy));
        }
    }
    places.sort_by_key(|(place, _)| *place);
    places.into_iter().map(|(_, packet)| packet).collect()
}

/// Keeps one direction: that of the end which sent the first packet of its flow, or the other.
fn one_side(capture: &Capture, mut packets: Vec<Packet>, first: bool) -> Vec<Packet> {
    let mut openers: BTreeMap<&str, SocketAddr> = BTreeMap::new();
    for segment in capture.segments.iter().flatten() {
        openers.entry(&segment.flow).or_insert(segment.sender);
    }
    packets.retain(|packet| {
        capture.segments[packet.number]
            .as_ref()
            .is_none_or(|segment| (openers[segment.flow.as_str()] == segment.sender) == first)
    });
    packets
}

/// Wrong times: of some packets, of all from a place on, and of one interface.
fn step(capture: &Capture, mut packets: Vec<Packet>, random: &mut Random) -> Vec<Packet> {
    const SECONDS: [i64; 6] = [1, -40, 400, -7_200, 86_400, 300_000_000];
    let start = random.below(packets.len());
    let [shift, skew] =
        [0; 2].map(|none: i64| if random.chance(0.5) { SECONDS[random.below(6)] } else { none });
    for (index, packet) in packets.iter_mut().enumerate() {
        let segment = capture.segments[packet.number].as_ref();
        let is_skewed = segment.is_some_and(|segment| segment.flow.starts_with(&segment.sender.to_string()));
        let mut seconds = if random.chance(0.02) { SECONDS[random.below(6)] } else { 0 };
        seconds += if index >= start { shift } else { 0 } + if is_skewed { skew } else { 0 };
        let nanos = i128::from(packet.ts.as_nanos()) + i128::from(seconds) * 1_000_000_000;
        packet.ts = Timestamp::from_nanos(u64::try_from(nanos.max(0)).unwrap(), 9);
    }
    packets
}

impl Random {
    fn chance(&mut self, share: f64) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a number of 20 bits")]
        let share_of_all = self.below(1 << 20) as f64 / f64::from(1 << 20);
        share_of_all < share
    }
}

#[test]
fn complete_messages_are_reported_or_have_a_reason() {
    let captures: Vec<Capture> = captures::with_extension(&["pcap", "pcapng"])
        .iter()
        .filter_map(|path| Capture::open(path))
        .filter(|capture| !capture.messages.is_empty())
        .collect();
    assert!(captures.len() > 60, "the captures are missing: {}", captures.len());
    let own: Vec<usize> =
        captures.iter().flat_map(|capture| &capture.messages).map(|message| message.own.len()).collect();
    let few = own.iter().filter(|len| **len <= MAX_OWN_PACKETS).count();
    assert!(few * 4 > own.len() * 3, "{few} of {} messages have few packets", own.len());

    let (mut silent, mut complete, mut reported) = (Vec::new(), 0, 0);
    for capture in &captures {
        // By its name, so that other captures change nothing. The multiplication is that of FNV-1a.
        let file = capture.name.rsplit('/').next().unwrap();
        let name =
            file.bytes().fold(0, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        for round in 0..IMPAIRMENTS {
            let seed = name ^ round;
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let kind = round % KINDS;
            let (missing, counts) = capture.judge(&impair(capture, kind, &mut random));
            silent.extend(missing.into_iter().map(|message| format!("impairment {kind}: {message}")));
            complete += counts[0];
            reported += counts[1];
        }
    }
    // Known: a request that was captured after the 101 which answers it, and a KEXINIT after the FIN of both sides.
    assert!(silent.len() * 1000 <= complete, "{complete} complete, silent: {silent:#?}");
    assert!(complete > 1000 && reported * 100 > complete * 95, "{reported} of {complete} reported");
}
