//! Events of the segments of a connection. p0f 3.09b logs the same events for the same packets.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use huginn_net_core::{Interest, Origin, Protocol, Segment, Side, Timestamp, decode_ip};
use huginn_net_tcp::{TcpEvent, TcpFlow, TcpObserver};
use proptest::prelude::*;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
const URG: u8 = 32;

/// Builds an IPv4 packet with a TCP segment; `mss` is its only option.
fn packet(flags: u8, window: u16, mss: Option<u16>) -> Vec<u8> {
    let options = mss.map_or(Vec::new(), |mss| vec![2, 4, mss.to_be_bytes()[0], mss.to_be_bytes()[1]]);
    let header_words: u8 = if options.is_empty() { 5 } else { 6 };
    let len = 20 + 4 * header_words;
    let mut packet = vec![0x45, 0, 0, len, 0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    let [high, low] = window.to_be_bytes();
    packet.extend([4, 0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, header_words << 4, flags, high, low, 0, 0, 0, 0]);
    packet.extend(options);
    packet
}

/// A flow and descriptions of its events.
#[derive(Default)]
struct Connection {
    flow: TcpFlow,
    events: Vec<String>,
}

impl Connection {
    fn push(&mut self, sender: Side, packet: &[u8]) -> Interest {
        self.push_segment(sender, &decode_ip(packet).unwrap())
    }

    fn push_segment(&mut self, sender: Side, segment: &Segment<'_>) -> Interest {
        TcpObserver.on_segment(segment, sender, &mut self.flow, &mut |Origin { subject, .. }, event| {
            self.events.push(match event {
                TcpEvent::Syn(_) => format!("{subject} syn"),
                TcpEvent::SynAck(signature) => {
                    format!("{subject} syn+ack {}", signature.window_multiple.is_some())
                }
                TcpEvent::Mtu(mtu) => format!("{subject} mtu {mtu}"),
                TcpEvent::SendsynProbe(_) => format!("{subject} probe"),
                TcpEvent::SendsynResponse(_) => format!("{subject} response"),
                _ => "?".into(),
            });
        })
    }

    /// Returns the events of segments with these flags, an MSS of 1460 and a window of 65521.
    fn events_from(segments: &[(Side, u8)]) -> Vec<String> {
        let mut connection = Self::default();
        for &(sender, flags) in segments {
            connection.push(sender, &packet(flags, 65_521, Some(1_460)));
        }
        connection.events
    }
}

const SYN_EVENTS: [&str; 2] = ["client syn", "client mtu 1500"];
const SYN_ACK_EVENTS: [&str; 2] = ["server syn+ack false", "server mtu 1500"];

#[test]
fn reports_each_side_once() {
    use Side::{Client, Server};
    let both = [SYN_EVENTS, SYN_ACK_EVENTS].concat();
    let twice = [SYN_EVENTS, SYN_EVENTS].concat();
    let restarted = [SYN_EVENTS, SYN_EVENTS, SYN_ACK_EVENTS].concat();
    for (segments, want) in [
        (&[(Client, SYN), (Server, SYN | ACK), (Client, ACK)][..], both.clone()),
        (&[(Client, SYN), (Client, SYN), (Server, SYN | ACK), (Server, SYN | ACK)], both.clone()),
        (&[(Client, SYN | PSH | URG), (Server, SYN | ACK | PSH | URG)], both.clone()),
        (&[(Client, SYN), (Client, SYN | ACK), (Server, SYN | ACK)], both.clone()),
        (&[(Client, SYN), (Server, SYN | ACK), (Client, ACK), (Client, SYN)], both.clone()),
        // Contradictory flags have no effect.
        (
            &[
                (Client, SYN),
                (Client, SYN | FIN),
                (Client, SYN | RST),
                (Client, SYN | RST | ACK),
                (Client, FIN | RST),
                (Client, FIN | RST | ACK),
                (Client, 0),
                (Client, PSH | URG),
                (Server, SYN | ACK),
            ],
            both,
        ),
        (&[(Client, SYN), (Client, ACK), (Server, SYN | ACK)], SYN_EVENTS.to_vec()),
        (&[(Client, SYN), (Server, ACK), (Server, SYN | ACK), (Client, SYN)], twice.clone()),
        (&[(Client, SYN), (Server, RST | ACK), (Server, SYN | ACK)], SYN_EVENTS.to_vec()),
        (&[(Client, SYN), (Client, FIN), (Client, SYN)], twice),
        (&[(Client, SYN), (Server, RST | ACK), (Client, SYN), (Server, SYN | ACK)], restarted),
        (&[(Server, SYN | ACK)], vec![]),
        (&[(Client, ACK | PSH)], vec![]),
    ] {
        assert_eq!(Connection::events_from(segments), want, "{segments:?}");
    }
}

#[test]
fn syn_ack_window_uses_mss_of_syn() {
    let mut connection = Connection::default();
    connection.push(Side::Client, &packet(SYN, 1_024, Some(1_361)));
    connection.push(Side::Server, &packet(SYN | ACK, 6 * 1_361, Some(1_259)));
    assert_eq!(connection.events[2], "server syn+ack true");
}

#[test]
fn reports_no_mtu_without_mss() {
    let mut connection = Connection::default();
    connection.push(Side::Client, &packet(SYN, 1_024, None));
    assert_eq!(connection.events, ["client syn"]);
}

#[test]
fn needs_no_segment_after_syn_ack() {
    let mut connection = Connection::default();
    for (sender, flags, interest) in [
        (Side::Client, SYN, Interest::More),
        (Side::Client, RST, Interest::More),
        (Side::Client, SYN, Interest::More),
        (Side::Server, SYN | ACK, Interest::Done),
        (Side::Client, ACK, Interest::Done),
    ] {
        assert_eq!(connection.push(sender, &packet(flags, 1_024, None)), interest);
    }
}

#[test]
fn reports_sendsyn_probe_and_response() {
    let mut connection = Connection::default();
    let probe = packet(SYN, 1_337, Some(1_331));
    connection.push(Side::Client, &probe);
    connection.push(Side::Client, &probe);
    connection.push(Side::Server, &packet(SYN | ACK, 65_535, Some(1_460)));
    connection.push(Side::Server, &packet(SYN | ACK, 65_535, Some(1_460)));
    connection.push(Side::Client, &packet(ACK, 1_337, None));
    assert_eq!(connection.events, ["client probe", "server response"]);
}

#[test]
fn ended_flow_restarts() {
    let mut connection = Connection::default();
    connection.push(Side::Client, &packet(SYN, 1_024, None));
    connection.flow.end();
    connection.push(Side::Server, &packet(SYN | ACK, 1_024, None));
    connection.push(Side::Client, &packet(SYN, 1_024, None));
    assert_eq!(connection.events, ["client syn", "client syn"]);
}

#[test]
fn only_syn_starts_flow() {
    for (flags, starts_flow) in [
        (SYN, true),
        (SYN | PSH, true),
        (SYN | ACK, false),
        (SYN | FIN, false),
        (SYN | RST, false),
        (ACK, false),
    ] {
        let packet = packet(flags, 1_024, None);
        let segment = decode_ip(&packet).unwrap();
        assert_eq!(TcpObserver.starts_flow(&segment), starts_flow.then_some(Side::Client), "{flags}");
    }
}

/// Builds an IPv4 packet with a TCP segment that has a timestamp option.
fn packet_with_timestamp(flags: u8, timestamp: u32) -> Vec<u8> {
    let mut packet = packet(flags, 65_521, None);
    (packet[3], packet[32]) = (52, 8 << 4);
    packet.extend([1, 1, 8, 10]);
    packet.extend(timestamp.to_be_bytes());
    packet.extend([0; 4]);
    packet
}

proptest! {
    /// Segments that `can_skip` accepts neither emit an event nor change the flow.
    #[test]
    fn skipped_segments_yield_no_event(
        segments in prop::collection::vec((any::<bool>(), 0_u8..64, any::<bool>(), 0_u64..700), 0..8),
    ) {
        let (mut connection, mut millis) = (Connection::default(), 1_000_000);
        let handshake = [(true, SYN, true, 0), (false, SYN | ACK, true, 20)];
        for (is_client, flags, has_timestamp, pause) in handshake.into_iter().chain(segments) {
            millis += pause;
            let sender = if is_client { Side::Client } else { Side::Server };
            let packet = if has_timestamp { packet_with_timestamp(flags, millis as u32) } else { packet(flags, 1, None) };
            let ts = Timestamp::new(millis / 1000, (millis % 1000 * 1_000_000) as u32, 3);
            let segment = Segment { ts, ..decode_ip(&packet).unwrap() };
            let skippable = flags & (SYN | FIN | RST) == 0 && TcpObserver.can_skip(ts, sender, &connection.flow);
            let before = (format!("{:?}", connection.flow), connection.events.len());
            let interest = connection.push_segment(sender, &segment);
            let after = (format!("{:?}", connection.flow), connection.events.len());
            prop_assert!(!skippable || before == after);
            if interest == Interest::Done {
                break;
            }
        }
    }

    #[test]
    fn skips_ended_but_not_pending_connection(flags in prop::sample::select(vec![RST, ACK])) {
        let mut connection = Connection::default();
        connection.push(Side::Client, &packet_with_timestamp(SYN, 1));
        let same_time = Timestamp::new(0, 0, 3);
        prop_assert!(!TcpObserver.can_skip(same_time, Side::Client, &connection.flow));
        connection.push(Side::Client, &packet_with_timestamp(flags, 1));
        prop_assert!(TcpObserver.can_skip(same_time, Side::Client, &connection.flow));
    }

    /// Both clocks need at least 500 ms, so earlier segments can be skipped.
    #[test]
    fn skips_most_segments_of_open_connection(pause in 0_u64..1000) {
        let mut connection = Connection::default();
        connection.push(Side::Client, &packet_with_timestamp(SYN, 1));
        connection.push(Side::Server, &packet_with_timestamp(SYN | ACK, 1));
        let ts = Timestamp::new(0, (pause * 1_000_000) as u32, 3);
        for sender in [Side::Client, Side::Server] {
            prop_assert_eq!(TcpObserver.can_skip(ts, sender, &connection.flow), pause < 500);
        }
    }
}
