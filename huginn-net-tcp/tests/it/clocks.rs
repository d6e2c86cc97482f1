//! Timestamp clocks that a connection reveals.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

#[path = "../../../huginn-net-core/tests/packet/mod.rs"]
mod packet;

use huginn_net_core::{Event, Frame, TcpFlags, Timestamp};
use huginn_net_tcp::{HuginnNetTcp, TcpEvent};

use self::packet::{Endpoint, frame, tcp};

const SYN: TcpFlags = TcpFlags::SYN;
const RST: TcpFlags = TcpFlags::RST;
const ACK: TcpFlags = TcpFlags::ACK;
const SYN_ACK: TcpFlags = SYN.union(ACK);

const CLIENT: Endpoint = ([192, 0, 2, 1], 40_000);
const SERVER: Endpoint = ([192, 0, 2, 2], 80);

/// A segment: sent by the client, TCP flags, time in ms, and value of the timestamp option.
type Step = (bool, TcpFlags, u64, Option<u32>);

fn segment((from_client, flags, _, timestamp): Step) -> Vec<u8> {
    let (src, dst) = if from_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    // Two NOPs align the timestamp option (RFC 7323, appendix A).
    let option = |value: u32| [&[1, 1, 8, 10][..], &value.to_be_bytes(), &[0; 4]].concat();
    tcp(src, dst, flags, [1, 1], &timestamp.map_or(Vec::new(), option), b"")
}

/// Returns each reported clock: the index of the step, the side, and the frequency in Hz.
fn clocks(steps: &[Step]) -> Vec<(usize, &'static str, u32)> {
    let mut analyzer = HuginnNetTcp::builder().build();
    let mut found = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        let data = segment(*step);
        let ts = Timestamp::new(1_600_000_000 + step.2 / 1000, (step.2 % 1000) as u32 * 1_000_000, 3);
        let _ = analyzer.push(&Frame { ts, ..frame(0, &data) }, &mut |event: Event<TcpEvent>| {
            if let TcpEvent::Clock(clock) = event.kind {
                found.push((
                    n,
                    event.subject.choose("client", "server"),
                    clock.uptime().map_or(0, |uptime| uptime.frequency),
                ));
            }
        });
    }
    found
}

const HANDSHAKE: [Step; 2] = [(true, SYN, 0, Some(5000)), (false, SYN_ACK, 10, Some(900_000))];

fn after_handshake(steps: &[Step]) -> Vec<(usize, &'static str, u32)> {
    clocks(&[&HANDSHAKE, steps].concat())
}

#[test]
fn measures_each_side_once_from_its_handshake() {
    let steps = [
        (true, ACK, 20, Some(5020)),
        (true, ACK, 499, Some(5499)),
        (false, ACK, 1010, Some(900_250)),
        (true, ACK, 2000, Some(7000)),
        (false, ACK, 3010, Some(900_750)),
    ];
    assert_eq!(after_handshake(&steps), [(4, "server", 250), (5, "client", 1000)]);
}

#[test]
fn ignores_implausible_frequency_and_long_interval() {
    assert_eq!(after_handshake(&[(true, ACK, 1000, Some(9_000_000)), (true, ACK, 2000, Some(7000))]), []);
    assert_eq!(
        after_handshake(&[(true, ACK, 600_001, Some(605_001)), (true, ACK, 600_002, Some(605_002))]),
        []
    );
}

#[test]
fn ignores_segment_without_timestamp() {
    let steps = [(true, ACK, 1000, None), (true, RST, 2000, Some(7000))];
    assert_eq!(after_handshake(&steps), [(3, "client", 1000)]);
    assert_eq!(clocks(&[(true, SYN, 0, None), (false, SYN_ACK, 1, None), (true, ACK, 1000, Some(6000))]), []);
    assert_eq!(
        clocks(&[(true, SYN, 0, Some(0)), (true, ACK, 1000, Some(1000))]),
        [],
        "a value of 0 is not a timestamp"
    );
}

#[test]
fn repeated_syn_measures_and_new_syn_restarts() {
    let repeated = [(true, SYN, 0, Some(5000)), (true, SYN, 1000, Some(6000)), (true, SYN, 3000, Some(8000))];
    assert_eq!(clocks(&repeated), [(1, "client", 1000)]);
    let restarted = [
        HANDSHAKE[0],
        HANDSHAKE[1],
        (true, RST, 20, None),
        (true, SYN, 9000, Some(70_000)),
        (true, ACK, 10_000, Some(70_100)),
    ];
    assert_eq!(clocks(&restarted), [(4, "client", 100)]);
}
