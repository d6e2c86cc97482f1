//! Many flows at once: the memory that they take up, and the time of a packet among them; a part of several benches.

use std::fs;
use std::hint::black_box;
use std::ops::ControlFlow;

use huginn_net_core::{Analyzer, Builder, Event, FlowLimits, Frame, Protocol, Report};

use crate::packets::{Packets, Repeat};
use crate::table::{Bench, with_commas};

/// Flows that are held at once. The most come first: their memory is not some that was used and given back.
const SIZES: [u32; 3] = [1_000_000, 100_000, 10_000];
/// Packets of them that are analysed in one pass.
const PACKETS: u32 = 1_000_000;
/// Where the client's IPv4 address is in a frame that it sent, and in one that it gets.
const SOURCE: usize = 26;
const DESTINATION: usize = 30;

/// Measures flows between the two segments of a handshake and the first data: all that may be of interest still is.
///
/// To be called before anything else.
pub(crate) fn measure<P: Protocol>(bench: &mut Bench, builder: impl Fn() -> Builder<P>) {
    let template = Packets::of_captures(&["curl-nginx"], Repeat::SameFlows, 1, |_| true);
    let [syn, syn_ack, ack] = template.frames().take(3).collect::<Vec<_>>().try_into().unwrap();
    for flows in SIZES {
        let mut bytes = None;
        let operation = format!("{} live flows", with_commas(flows.into()));
        bench.row(&operation, "sequential", || {
            let before = resident();
            let mut analyzer = open(builder(), flows, &[(syn, SOURCE), (syn_ack, DESTINATION)]);
            bytes = (|| Some(resident()?.saturating_sub(before?) / u64::from(flows)))();
            let packets = in_any_order(ack.data, flows);
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

/// An analyzer that has seen the beginning of so many flows. Each frame comes with the place of the client's address.
fn open<P: Protocol>(builder: Builder<P>, flows: u32, beginning: &[(Frame<'_>, usize)]) -> Analyzer<P> {
    let limits = FlowLimits { max_flows: 1 << 20, ..FlowLimits::default() };
    let mut analyzer = builder.flow_limits(limits).build();
    let mut sink = |event: Event<Report<P>>| _ = black_box(event);
    let mut frames: Vec<_> = beginning.iter().map(|(frame, place)| (frame.data.to_vec(), *place)).collect();
    for flow in 0..flows {
        for ((data, place), (frame, _)) in frames.iter_mut().zip(beginning) {
            name_client(data, *place, flow);
            let outcome = analyzer.push(&Frame { data, ..*frame }, &mut sink);
            assert_eq!(outcome, ControlFlow::Continue(()));
        }
    }
    analyzer
}

/// A packet of the client of a flow, and another, and so on, as chance has it.
fn in_any_order(frame: &[u8], flows: u32) -> Packets {
    let mut packets = Packets::default();
    let mut chance = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..PACKETS {
        // Marsaglia's xorshift64 ("Xorshift RNGs", 2003).
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        name_client(packets.push(1_000_000, frame), SOURCE, (chance % u64::from(flows)) as u32);
    }
    packets
}

/// Gives the client of a flow an address in 10.0.0.0/8.
fn name_client(frame: &mut [u8], place: usize, flow: u32) {
    frame[place..place + 4].copy_from_slice(&(10 << 24 | flow).to_be_bytes());
}

/// Resident memory of this process in bytes (proc(5)), where the system tells.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}
