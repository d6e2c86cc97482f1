//! The test protocol and the test packets.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use huginn_net_core::{
    Event, Frame, Interest, LinkType, Origin, Protocol, Route, Segment, SharedState, Side, TcpFlags,
    Timestamp,
};
use proptest::prelude::*;

use crate::packet;

/// Reports every segment with all its fields and its number in the flow, and sends an update for every SYN.
#[derive(Default)]
pub(crate) struct Everything {
    pub(crate) segments: u64,
}

/// A payload at which [`Everything`] panics.
pub(crate) const POISON: &[u8] = b"poison";

/// Number of SYNs by sender address.
#[derive(Default)]
pub(crate) struct Syns(pub(crate) HashMap<IpAddr, u32>);

impl Protocol for Everything {
    type Flow = u32;
    type Event = String;
    type SharedState = Syns;
    type Counters = u64;

    fn shared_state(&self) -> Syns {
        Syns::default()
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn join(&mut self, worker: Self) {
        self.segments += worker.segments;
    }

    fn counters(&self) -> u64 {
        self.segments
    }

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        segment.tcp().is_none_or(|tcp| tcp.flags.is_initial_syn()).then_some(Side::Client)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut u32,
        emit: &mut impl FnMut(Origin, String),
    ) -> Interest {
        assert!(segment.payload != POISON, "poisoned");
        self.segments += 1;
        *flow += 1;
        emit(sender.into(), format!("{flow}: {segment:?}"));
        if segment.tcp().is_some_and(|tcp| tcp.flags.is_initial_syn()) {
            emit(sender.into(), String::new());
        }
        Interest::More
    }

    /// Skips every seventh segment of a flow.
    fn can_skip(&self, _: Timestamp, _: Side, flow: &u32) -> bool {
        flow % 7 == 6
    }
}

/// The sender of [`Packet::syn`] number 65,535, at which the shared state panics.
pub(crate) const FATAL_SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 255, 255));

impl SharedState<String> for Syns {
    type Report = String;
    type Update = ();
    type Ticket = ();

    fn route(event: String) -> Route<String, ()> {
        if event.is_empty() { Route::Update(()) } else { Route::Report(event) }
    }

    fn ticket<K>(_: &Event<K>, _: &String) {}

    fn admits(&mut self, (): ()) -> bool {
        true
    }

    fn on_update(&mut self, update: Event<()>, report: &mut impl FnMut(Event<String>)) {
        assert!(update.subject_addr().ip() != FATAL_SENDER, "fatal sender");
        let count = self.0.entry(update.subject_addr().ip()).or_default();
        *count += 1;
        let count = *count;
        report(update.map(|()| format!("{count} SYNs")));
    }
}

/// An owned frame.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) ts: Timestamp,
    pub(crate) link: LinkType,
    pub(crate) data: Vec<u8>,
}

impl Packet {
    pub(crate) fn frame(&self) -> Frame<'_> {
        Frame { ts: self.ts, link: self.link, ..packet::frame(0, &self.data) }
    }

    /// Builds a SYN from the client with this number, which starts a connection of its own.
    pub(crate) fn syn(client: u16) -> Self {
        Self::segment(client, TcpFlags::SYN, b"")
    }

    pub(crate) fn segment(client: u16, flags: TcpFlags, payload: &[u8]) -> Self {
        let [high, low] = client.to_be_bytes();
        let data = packet::tcp(([10, 0, high, low], 4000), ([192, 0, 2, 1], 80), flags, [1, 0], &[], payload);
        Self { ts: Timestamp::new(u64::from(client), 0, 6), link: LinkType::RAW, data }
    }
}

pub(crate) fn syns(count: u16) -> Vec<Packet> {
    (0..count).map(Packet::syn).collect()
}

/// Generates a packet of random traffic: few clients, so that flows are long, restart and expire.
pub(crate) fn arbitrary_packet() -> impl Strategy<Value = Vec<Packet>> {
    let flags = prop::sample::select(vec![
        TcpFlags::SYN,
        TcpFlags::SYN | TcpFlags::ACK,
        TcpFlags::ACK,
        TcpFlags::FIN | TcpFlags::ACK,
        TcpFlags::RST,
    ]);
    let seconds = prop_oneof![
        8 => 1000_u64..1100,
        2 => 1000_u64..2000,
        1 => 0_u64..5_000_000_000,
    ];
    (0_u8..6, any::<bool>(), flags, 0_u32..3, prop::collection::vec(any::<u8>(), 0..80), seconds, 0_u8..14)
        .prop_map(|(client, to_server, flags, seq, payload, seconds, form)| {
            let (client, server) = (([10, 0, 0, client], 4000), ([192, 0, 2, 1], 80));
            let (src, dst) = if to_server { (client, server) } else { (server, client) };
            let tcp = packet::tcp(src, dst, flags, [seq, 0], &[], &payload);
            let frames = match form {
                0 => vec![(LinkType::ETHERNET, in_vlan(&tcp, 1 + (seq as u8)))],
                1 => vec![(LinkType::RAW, in_gre(&tcp))],
                2 => fragments(&tcp).into_iter().map(|data| (LinkType::RAW, data)).collect(),
                3 => vec![(LinkType::RAW, udp(&tcp))],
                4 => vec![(LinkType::RAW, tcp)],
                5 => vec![(LinkType::ETHERNET, [&[0; 12][..], &[8, 0], &tcp, &[9; 6]].concat())],
                6 => vec![(LinkType::IEEE802_11, aggregate(&[tcp.clone(), udp(&tcp), vec![], tcp]))],
                // More protocols than are counted by number.
                7 => vec![(LinkType::RAW, ipv4(100 + (payload.len() as u8), &payload))],
                8 => vec![(LinkType::ETHERNET, [&[0; 12][..], &[8, 6], &payload].concat())],
                9 => vec![(LinkType::ETHERNET, ethernet(&tcp)[..50].to_vec())],
                10 => vec![(LinkType::ETHERNET, ethernet(&with_checksum(&tcp)).split_off(1))],
                11 => vec![(LinkType::ETHERNET, ethernet(&tcp))],
                // Most frames are unmodified.
                _ => vec![(LinkType::ETHERNET, ethernet(&with_checksum(&tcp)))],
            };
            let ts = Timestamp::new(seconds, 300_000_000 * seq, 6);
            frames.into_iter().map(|(link, data)| Packet { ts, link, data }).collect()
        })
}

/// Wraps an IPv4 packet in Ethernet.
fn ethernet(packet: &[u8]) -> Vec<u8> {
    [&[0; 12][..], &[8, 0], packet].concat()
}

/// Sets the checksum of an IPv4 header without options.
fn with_checksum(packet: &[u8]) -> Vec<u8> {
    let words = packet[..20].chunks(2).enumerate().filter(|(index, _)| *index != 5);
    let sum: u32 = words.map(|(_, word)| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let sum = !(sum % 0xffff) as u16;
    [&packet[..10], &sum.to_be_bytes(), &packet[12..]].concat()
}

/// Builds an 802.11 data frame that holds several IPv4 packets (IEEE 802.11, clause 9.3.2.2).
fn aggregate(packets: &[Vec<u8>]) -> Vec<u8> {
    let subframes = packets.iter().flat_map(|packet| {
        let length = ((8 + packet.len()) as u16).to_be_bytes();
        let header = [&[2; 12][..], &length, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat();
        let padding = vec![0; (14 + 8 + packet.len()).next_multiple_of(4) - (14 + 8 + packet.len())];
        [header, packet.clone(), padding].concat()
    });
    [0x88, 1, 0, 0].into_iter().chain([3; 18]).chain([0, 0, 0x80, 0]).chain(subframes).collect()
}

/// Wraps an IP packet in Ethernet with an 802.1Q tag.
fn in_vlan(packet: &[u8], vlan: u8) -> Vec<u8> {
    [&[0; 12][..], &[0x81, 0, 0, vlan, 8, 0], packet].concat()
}

/// Wraps an IPv4 packet in GRE (RFC 2784) over IPv4.
fn in_gre(packet: &[u8]) -> Vec<u8> {
    ipv4(47, &[&[0, 0, 8, 0], packet].concat())
}

/// Converts the TCP segment of an IPv4 packet to the payload of a UDP datagram.
fn udp(packet: &[u8]) -> Vec<u8> {
    let length = (packet.len() - 20 + 8) as u16;
    ipv4(17, &[&[16, 0, 0, 80], &length.to_be_bytes()[..], &[0, 0], &packet[20..]].concat())
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = ((20 + payload.len()) as u16).to_be_bytes();
    let header = [0x45, 0, length[0], length[1], 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 192, 0, 2, 1];
    [&header, payload].concat()
}

/// Splits an IPv4 packet into two fragments, the second one first.
fn fragments(packet: &[u8]) -> [Vec<u8>; 2] {
    let (header, payload) = packet.split_at(20);
    let (first, last) = payload.split_at(16);
    [(last, [0, 2]), (first, [0x20, 0])].map(|(part, place)| {
        let mut fragment = [header, part].concat();
        let length = (fragment.len() as u16).to_be_bytes();
        fragment[2..4].copy_from_slice(&length);
        fragment[6..8].copy_from_slice(&place);
        fragment
    })
}
