//! Checks that steps of the capture clock lose no hello, head or banner, for any number of workers.

use std::collections::BTreeMap;

use huginn_net::blind_spots::BlindSpot;
use huginn_net::core::Frames;
use huginn_net::{Event, HuginnNet, LinkType, Observation, Timestamp};
use proptest::prelude::*;

use crate::captures;
use crate::packet::{self, Packet};

impl Packet {
    /// Whether the greater of both addresses sent the packet, or `None` unless it is IP over Ethernet.
    fn is_from_greater(&self) -> Option<bool> {
        let range = match (self.link, self.data.get(12..14)?) {
            (LinkType::ETHERNET, [8, 0]) => 26..34,
            (LinkType::ETHERNET, [0x86, 0xdd]) => 22..54,
            _ => return None,
        };
        let addresses = self.data.get(range)?;
        let (source, destination) = addresses.split_at(addresses.len() / 2);
        Some(source > destination)
    }

    /// Moves the time by this number of milliseconds.
    fn shift(&mut self, millis: i64) {
        let nanos = i128::from(self.ts.as_nanos()) + i128::from(millis) * 1_000_000;
        self.ts = Timestamp::from_nanos(u64::try_from(nanos.max(0)).unwrap(), 9);
    }
}

/// The packets of each capture with findings that a step could lose.
fn captures() -> Vec<(String, Vec<Packet>)> {
    let load = |path: &std::path::PathBuf| {
        let (packets, _) = packet::read(path).ok()?;
        (packets.len() < 1000).then(|| (path.display().to_string(), packets))
    };
    let captures: Vec<_> = captures::with_extension(&["pcap", "pcapng"]).iter().filter_map(load).collect();
    assert!(captures.len() > 100, "the captures are missing");
    captures
}

/// Number of findings by kind and client.
type Found = BTreeMap<(&'static str, String), usize>;

/// Returns what was found, and the number of hosts that expired.
fn analyze(packets: &[Packet]) -> (Found, u64) {
    let mut analyzer = HuginnNet::builder().build();
    let mut found = Found::new();
    let mut count = |event: Event| {
        let kind = match event.kind {
            Observation::TlsClient(_) => "hello",
            Observation::TlsServer(_) => "server hello",
            Observation::HttpRequest(_) => "request",
            Observation::HttpResponse(_) => "response",
            Observation::SshClient(_) | Observation::SshServer(_) => "banner",
            Observation::Tcp(_) => "handshake",
            _ => return,
        };
        *found.entry((kind, event.flow.client.to_string())).or_default() += 1;
    };
    analyzer.analyze(Frames::new(packets.iter().map(Packet::frame)), &mut count).unwrap();
    (found, analyzer.shared_state().counters().expired)
}

/// A disturbance of the clock.
#[derive(Clone, Debug)]
enum Step {
    /// One packet has a wrong time.
    Single(prop::sample::Index, i64),
    /// The clock is corrected, or another capture is appended.
    Lasting(prop::sample::Index, i64),
    /// The greater address of each flow is captured on another interface.
    Skew(i64),
    /// A packet has no time, as in a simple packet block.
    Zero(prop::sample::Index),
}

impl Step {
    fn apply(&self, packets: &mut [Packet]) {
        match self {
            Self::Single(index, millis) => index.get_mut(packets).shift(*millis),
            Self::Lasting(index, millis) => {
                let start = index.index(packets.len());
                packets[start..].iter_mut().for_each(|packet| packet.shift(*millis));
            }
            Self::Skew(millis) => {
                let others = packets.iter_mut().filter(|packet| packet.is_from_greater() == Some(true));
                others.for_each(|packet| packet.shift(*millis));
            }
            Self::Zero(index) => index.get_mut(packets).ts = Timestamp::default(),
        }
    }
}

/// 46 years, in milliseconds.
const YEARS: i64 = 46 * 365 * 86_400_000;

fn step() -> impl Strategy<Value = Step> {
    let millis = || prop_oneof![-YEARS..YEARS, -600_000_i64..600_000];
    let index = any::<prop::sample::Index>;
    prop_oneof![
        6 => (index(), millis()).prop_map(|(index, millis)| Step::Single(index, millis)),
        1 => (index(), millis()).prop_map(|(index, millis)| Step::Lasting(index, millis)),
        1 => millis().prop_map(Step::Skew),
        2 => index().prop_map(Step::Zero),
    ]
}

#[test]
fn steps_of_clock_lose_nothing() {
    let captures = captures();
    let expected: Vec<_> = captures.iter().map(|(_, packets)| analyze(packets)).collect();
    let config = ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(steps in prop::collection::vec(step(), 1..4))| {
        for ((name, packets), (expected, hosts_expired)) in captures.iter().zip(&expected) {
            let mut stepped = packets.clone();
            steps.iter().for_each(|step| step.apply(&mut stepped));
            let (found, expired) = analyze(&stepped);
            prop_assert_eq!(expired, *hosts_expired, "{}", name);
            for (what, count) in expected {
                let found = found.get(what).copied().unwrap_or(0);
                prop_assert!(found >= *count, "{}: {:?}: {} instead of {}", name, what, found, count);
            }
        }
    });
}

#[test]
fn steps_are_equal_for_any_worker_count() {
    let captures = captures();
    let packets: Vec<Packet> = captures.iter().flat_map(|(_, packets)| packets.clone()).collect();
    let config = ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(steps in prop::collection::vec(step(), 1..20), workers in 2_usize..6)| {
        let mut stepped = packets.clone();
        steps.iter().for_each(|step| step.apply(&mut stepped));
        let outcome = |workers: usize| {
            let mut analyzer = HuginnNet::builder().workers(workers).block_bytes(1 << 14).build();
            let mut events: Vec<Event> = Vec::new();
            analyzer.analyze(Frames::new(stepped.iter().map(Packet::frame)), |event| events.push(event)).unwrap();
            (events, analyzer.counters(), BlindSpot::of_analyzer(&analyzer))
        };
        prop_assert!(outcome(1) == outcome(workers), "{} workers", workers);
    });
}

/// Every segment is the same but for its time, so that time alone, or the order of the capture, gives the example.
#[test]
fn example_of_blind_spot_is_earliest_for_any_worker_count() {
    // An IPv4 packet with an ACK segment (RFC 791, RFC 9293); the test sets the source address.
    let mut ack = vec![0x45, 0, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 0, 192, 0, 2, 1];
    ack.extend([0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 16, 4, 0, 0, 0, 0, 0]);
    for seconds in [[86_400; 8], [8, 7, 6, 5, 4, 3, 2, 1], [4, 3, 9, 1, 1, 1, 1, 5]] {
        let packets: Vec<Packet> = (0_u8..8)
            .map(|n| {
                let mut data = ack.clone();
                data[15] = n;
                let ts = Timestamp::new(seconds[usize::from(n)], 0, 6);
                Packet { number: n.into(), ts, link: LinkType::RAW, data, wire_len: 40 }
            })
            .collect();
        for workers in 1..=8 {
            let mut analyzer = HuginnNet::builder().workers(workers).build();
            analyzer.analyze(Frames::new(packets.iter().map(Packet::frame)), &mut |_: Event| {}).unwrap();
            let spots = BlindSpot::of_analyzer(&analyzer);
            let spot = spots.iter().find(|spot| spot.name == "segments_without_flow").unwrap();
            let earliest = (0..8_u8).min_by_key(|n| seconds[usize::from(*n)]).unwrap();
            let client = spot.example.as_ref().and_then(|example| example.flow.as_ref()).unwrap().client;
            assert_eq!(
                (spot.count, client.to_string()),
                (8, format!("10.0.0.{earliest}:40000")),
                "{workers} workers"
            );
        }
    }
}
