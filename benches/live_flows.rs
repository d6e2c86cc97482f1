//! Many live flows: memory of a flow, and time of a packet; shared by several benches.

#[path = "resident.rs"]
mod resident;

use std::hint::black_box;
use std::ops::ControlFlow;

use huginn_net_core::{Analyzer, Builder, Event, FlowLimits, Frame, Protocol, Report};

use self::resident::resident;
use crate::packets::{Packets, Repeat};
use crate::table::{Bench, with_commas};

/// Numbers of live flows. The largest comes first, so that its memory is not reused from an earlier row.
const SIZES: [u32; 3] = [1_000_000, 100_000, 10_000];
/// Packets in one pass.
const PACKETS: u32 = 1_000_000;
/// Offsets of the client's IPv4 address in frames of the client and of the server.
const SOURCE: usize = 26;
const DESTINATION: usize = 30;

/// Measures flows between handshake and first data, while every protocol still follows them.
///
/// Must run before all other rows, because it measures resident memory.
pub(crate) fn measure<P: Protocol>(bench: &mut Bench, builder: impl Fn() -> Builder<P>) {
    let template = Packets::from_captures(&["curl-nginx"], Repeat::SameFlows, 1, |_| true);
    let [syn, syn_ack, ack] = template.frames().take(3).collect::<Vec<_>>().try_into().unwrap();
    for flows in SIZES {
        let mut bytes = None;
        let operation = format!("{} live flows", with_commas(flows.into()));
        bench.row(&operation, "sequential", || {
            let before = resident();
            let mut analyzer = open(builder(), flows, &[(syn, SOURCE), (syn_ack, DESTINATION)]);
            bytes = (|| Some(resident()?.saturating_sub(before?) / u64::from(flows)))();
            let packets = random_packets(ack.data, flows);
            let pass = move || {
                let before = analyzer.counters().events;
                let mut sink = |event: Event<Report<P>>| _ = black_box(event);
                for frame in packets.frames() {
                    let _ = analyzer.push(black_box(&frame), &mut sink);
                }
                let counters = analyzer.counters();
                assert_eq!((counters.flows.active, counters.segments_without_flow), (u64::from(flows), 0));
                counters.events - before
            };
            (PACKETS as usize, pass)
        });
        if let Some(bytes) = bytes.filter(|_| flows == SIZES[0]) {
            bench.remark(format!("{operation}: {bytes} bytes of memory each"));
        }
    }
}

/// Builds an analyzer with this number of started flows. Each frame has the offset of the client's address.
fn open<P: Protocol>(builder: Builder<P>, flows: u32, beginning: &[(Frame<'_>, usize)]) -> Analyzer<P> {
    let limits = FlowLimits::default().max_flows(1 << 20);
    let mut analyzer = builder.flow_limits(limits).build();
    let mut sink = |event: Event<Report<P>>| _ = black_box(event);
    let mut frames: Vec<_> = beginning.iter().map(|(frame, place)| (frame.data.to_vec(), *place)).collect();
    for flow in 0..flows {
        for ((data, place), (frame, _)) in frames.iter_mut().zip(beginning) {
            set_client_address(data, *place, flow);
            let outcome = analyzer.push(&Frame { data, ..*frame }, &mut sink);
            assert_eq!(outcome, ControlFlow::Continue(()));
        }
    }
    analyzer
}

/// Makes packets of the clients of random flows.
fn random_packets(frame: &[u8], flows: u32) -> Packets {
    let mut packets = Packets::default();
    let mut chance = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..PACKETS {
        // Marsaglia's xorshift64 ("Xorshift RNGs", 2003).
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        set_client_address(packets.push(1_000_000, frame), SOURCE, (chance % u64::from(flows)) as u32);
    }
    packets
}

/// Sets the address of a flow's client, in 10.0.0.0/8.
fn set_client_address(frame: &mut [u8], place: usize, flow: u32) {
    frame[place..place + 4].copy_from_slice(&(10 << 24 | flow).to_be_bytes());
}
