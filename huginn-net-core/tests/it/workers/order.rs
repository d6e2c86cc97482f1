//! Equal events in equal order for any number of workers.

use std::collections::HashMap;
use std::ops::ControlFlow;

use huginn_net_core::{ConnectionId, Event, FlowLimits, Frames, TcpFlags};
use proptest::prelude::*;

use super::sources::{Buffered, Ending, Overwriting};
use super::traffic::{Packet, arbitrary_packet, syns};
use super::{analyze, builder};

/// Number of an event in its flow, which its text begins with.
fn number_in_flow(event: &Event<String>) -> Option<u32> {
    event.kind.split_once(": ")?.0.parse().ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn events_of_a_connection_have_its_identifier_and_no_other(frames in prop::collection::vec(arbitrary_packet(), 0..200)) {
        let (packets, mut latest) = (frames.concat(), HashMap::new());
        for event in analyze(builder(1, 1), Overwriting::new(&packets)).0 {
            let (connection, flow) = (event.connection(), (event.flow.client, event.flow.server));
            prop_assert_eq!(connection.map(ConnectionId::first_packet), Some(event.first_packet));
            if let Some(number) = number_in_flow(&event) {
                // The first packet of a flow makes it.
                prop_assert_eq!(number == 1, !latest.contains_key(&connection));
                let before = latest.insert(connection, (number, flow));
                prop_assert!(before.is_none_or(|before| before.0 < number && before.1 == flow));
            }
        }
    }

    #[test]
    fn events_equal_for_any_worker_count(
        packets in prop::collection::vec(arbitrary_packet(), 0..200),
        workers in prop::sample::select(vec![2_usize, 3, 4, 5, 8, 17]),
        block_bytes in prop::sample::select(vec![0, 1, 64, 500, 4096, 1 << 20]),
    ) {
        let packets = packets.concat();
        let frames: Vec<_> = packets.iter().map(Packet::frame).collect();
        let lent = || Frames::new(frames.iter().copied());
        let want = analyze(builder(1, block_bytes), lent());
        let several = || builder(workers, block_bytes);
        prop_assert!(analyze(several(), lent()) == want);
        prop_assert!(analyze(several(), Overwriting::new(&packets)) == want);
        prop_assert!(analyze(several(), Buffered::new(&packets, Ending::End)) == want);
    }

    #[test]
    fn evictions_equal_for_any_worker_count(
        packets in prop::collection::vec(arbitrary_packet(), 0..300),
        workers in 2_usize..9,
        max_flows in 1_usize..6,
    ) {
        let packets = packets.concat();
        let limits = FlowLimits::default().max_flows(max_flows);
        let want = analyze(builder(1, 500).flow_limits(limits), Overwriting::new(&packets));
        let several = analyze(builder(workers, 500).flow_limits(limits), Overwriting::new(&packets));
        prop_assert!(several == want);
    }
}

/// One worker finds far more events in the block than fit in one output.
#[test]
fn long_outputs_are_merged_in_parts() {
    let mut packets = syns(9000);
    for packet in &mut packets[500..8900] {
        packet.data.clone_from(&Packet::syn(1).data);
    }
    let want = analyze(builder(1, 1 << 20), Overwriting::new(&packets));
    assert!(analyze(builder(5, 1 << 20), Overwriting::new(&packets)) == want);
    assert!(analyze(builder(5, 1 << 20), Buffered::new(&packets, Ending::End)) == want);
}

#[test]
fn map_is_applied_to_reports_and_conclusions() {
    for workers in [1, 3] {
        let packets = syns(20);
        let mut lengths: Vec<usize> = Vec::new();
        let source = Overwriting::new(&packets);
        builder(workers, 100)
            .build()
            .analyze_map(source, |event| event.kind.len(), |value| lengths.push(value))
            .unwrap();
        assert_eq!(lengths.len(), 40);
        assert!(lengths.chunks(2).all(|pair| pair[0] > 100 && pair[1] == "1 SYNs".len()));
    }
}

#[test]
fn references_equal_events() {
    let packets = syns(600);
    let want = analyze(builder(1, 100), Overwriting::new(&packets)).0;
    for workers in [1, 3] {
        let mut found = Vec::new();
        let mut analyzer = builder(workers, 1000).build();
        let each = |event: &Event<String>| {
            found.push(event.clone());
            found.len() < 700
        };
        analyzer.analyze_ref(Overwriting::new(&packets), each).unwrap();
        assert!(found == want[..700], "{workers} workers");
    }
}

#[test]
fn texts_arrive_one_per_event_in_order() {
    let packets = syns(300);
    let texts = |workers: usize| {
        let mut texts = Vec::new();
        let write = |event: &Event<String>, text: &mut Vec<u8>| text.extend(event.kind.bytes().take(40));
        let mut take = |text: &[u8]| {
            texts.push(text.to_vec());
            if texts.len() < 500 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let source = Overwriting::new(&packets);
        let counters = builder(workers, 1000).build().analyze_text(source, write, &mut take).unwrap();
        assert_eq!(counters.events, 500);
        texts
    };
    let want = texts(1);
    assert_eq!((want.len(), want[0].len(), want[499].as_slice()), (500, 40, &b"1 SYNs"[..]));
    assert_eq!(texts(3), want);
}

#[test]
fn empty_source_gives_nothing() {
    for workers in [1, 8] {
        let (events, counters, ..) = analyze(builder(workers, 1), Overwriting::new(&[]));
        assert_eq!((events.len(), counters.frames), (0, 0));
    }
}

#[test]
fn worker_count_is_not_capped() {
    let packets = syns(300);
    let (events, counters, ..) = analyze(builder(200, 1), Overwriting::new(&packets));
    assert_eq!((events.len(), counters.frames), (600, 300));
}

#[test]
fn analyzer_is_reusable_and_keeps_memory() {
    let packets = [Packet::syn(1), Packet::segment(1, TcpFlags::ACK, b"more")];
    for workers in [1, 2] {
        let mut analyzer = builder(workers, 1).build();
        let mut events: Vec<Event<String>> = Vec::new();
        for n in 1..4 {
            let counters = analyzer.analyze(Overwriting::new(&packets), |event| events.push(event)).unwrap();
            assert_eq!((counters.frames, counters.events, counters.flows.opened), (2 * n, 3 * n, n));
            assert_eq!(analyzer.protocol().segments, 2 * n);
            assert!(events.last().unwrap().kind.starts_with("2:"), "the flow table is empty again");
        }
        assert_eq!(events[7].kind, "3 SYNs");
    }
}
