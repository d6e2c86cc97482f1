//! Events that need several messages of both sides: the end of a TLS handshake, certificates, and what SSH agrees on. In an
//! impaired capture such an event is absent or equal to that of the capture as it is. It is reported if all packets of its
//! connection up to its own are there, in order.

use std::collections::BTreeSet;

use huginn_net::record::JsonEvent;
use huginn_net::{Configure, Event, HuginnNet, Observation};
use serde_json::Value;

use super::{Capture, Described, FlowName, KINDS, frames, impair, name};
use crate::captures;
use crate::mutants::Random;
use crate::packet::Packet;

/// Seeds of each impairment.
const ROUNDS: u64 = 1;

/// The kinds of events, and their values.
const EVENTS: [(&str, &[&str]); 3] = [
    (
        "tls_handshake",
        &[
            "completed",
            "version",
            "resumed",
            "retry",
            "group",
            "dh_bits",
            "certificate_requested",
            "certificate_authorities",
            "has_more_authorities",
            "alerts",
        ],
    ),
    ("tls_certificates", &["subject", "certificates", "has_more_certificates", "name_matches"]),
    (
        "ssh_handshake",
        &[
            "kex",
            "host_key",
            "client_cipher",
            "server_cipher",
            "client_mac",
            "server_mac",
            "client_compression",
            "server_compression",
            "post_quantum",
            "strict_kex",
            "guess",
        ],
    ),
];

/// An event with its values, and the numbers of the packets of its connection up to its own.
struct Found {
    flow: FlowName,
    kind: &'static str,
    values: Vec<(&'static str, Value)>,
    packets: BTreeSet<usize>,
}

impl Found {
    /// `None` for other kinds of events.
    fn new(event: &Event, capture: &Capture) -> Option<Self> {
        if !matches!(
            event.kind,
            Observation::TlsHandshake(_) | Observation::TlsCertificates(_) | Observation::SshHandshake(_)
        ) {
            return None;
        }
        let line: Value = serde_json::from_str(&JsonEvent::new(event).to_string()).unwrap();
        let (kind, names) = EVENTS.iter().find(|(kind, _)| line["event"] == *kind)?;
        let flow = name(&event.flow);
        let end = usize::try_from(event.packet_number).unwrap();
        let packets = (0..end).filter(|number| capture.is_own(*number, &flow)).collect();
        let values = names.iter().map(|name| (*name, line[*name].clone())).collect();
        Some(Self { flow, kind, values, packets })
    }

    /// Whether an event of an impaired capture says the same, or that it does not know: the name that the client asked for; all
    /// but an alert, if no ServerHello was seen, or only the beginning of what the server sent.
    fn is_said_by(&self, event: &Self) -> bool {
        let is_partial =
            event.values.iter().any(|(name, value)| ["version", "resumed"].contains(name) && value.is_null());
        let is_unknown = |name: &str, value: &Value| {
            value.is_null() && (name == "name_matches" || self.kind == "tls_handshake" && is_partial)
        };
        let mut pairs = self.values.iter().zip(&event.values);
        self.flow == event.flow
            && self.kind == event.kind
            && pairs.all(|((_, own), (name, other))| own == other || is_unknown(name, other))
    }
}

impl Capture {
    fn is_own(&self, number: usize, flow: &FlowName) -> bool {
        let is_of =
            |segment: &Option<Described>| segment.as_ref().is_none_or(|segment| segment.flow == *flow);
        self.segments.get(number).is_some_and(is_of)
    }

    /// The events of packets of this capture.
    fn handshakes(&self, packets: &[Packet]) -> Vec<Found> {
        analyze(packets).iter().filter_map(|event| Found::new(event, self)).collect()
    }

    /// Whether the impaired connection begins with all packets of an event, in order. Repeated ones do not count.
    fn begins_with(&self, found: &Found, impaired: &[Packet]) -> bool {
        let mut seen = BTreeSet::new();
        let own = impaired.iter().map(|packet| packet.number);
        let own = own.filter(|number| self.is_own(*number, &found.flow) && seen.insert(*number));
        own.take(found.packets.len()).eq(found.packets.iter().copied())
    }
}

fn analyze(packets: &[Packet]) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    HuginnNet::builder()
        .handshakes(true)
        .build()
        .analyze(frames(packets), |event| events.push(event))
        .unwrap();
    events
}

#[test]
fn handshakes_are_absent_or_equal() {
    let (mut wrong, mut counts) = (Vec::new(), [0; 3]);
    for (index, path) in captures::with_extension(&["pcap", "pcapng"]).iter().enumerate() {
        let Some(capture) = Capture::open(path) else { continue };
        let events = analyze(&capture.packets);
        // Contents that compete for the same bytes, and ports that were used again, depend on the order.
        if !capture.reused.is_empty() || events.iter().any(|event| event.conflict.is_some()) {
            continue;
        }
        let clean: Vec<Found> = events.iter().filter_map(|event| Found::new(event, &capture)).collect();
        let rounds = if clean.is_empty() { 0 } else { ROUNDS * KINDS };
        for round in 0..rounds {
            let seed = (index as u64) << 16 | round;
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let impaired = impair(&capture, round % KINDS, &mut random);
            let place = format!("{}, impairment {round}", capture.name);
            let found = capture.handshakes(&impaired);
            let mut left: Vec<&Found> = clean.iter().collect();
            for event in &found {
                match left.iter().position(|wanted| wanted.is_said_by(event)) {
                    Some(position) => {
                        left.remove(position);
                    }
                    None => wrong.push(format!("{place}: {} {} {:?}", event.flow, event.kind, event.values)),
                }
            }
            let complete = clean.iter().filter(|wanted| capture.begins_with(wanted, &impaired)).count();
            for missing in left.iter().filter(|wanted| capture.begins_with(wanted, &impaired)) {
                wrong
                    .push(format!("{place}: missing {} {} {:?}", missing.flow, missing.kind, missing.values));
            }
            counts = [counts[0] + clean.len(), counts[1] + complete, counts[2] + found.len()];
        }
    }
    let [events, complete, found] = counts;
    assert!(wrong.is_empty(), "{} wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    assert!(complete > 1000 && found > complete, "{events} events, {complete} complete, {found} found");
}
