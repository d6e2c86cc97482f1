//! Analysis of several sources at once.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use huginn_net_core::{AnalysisError, Event, FlowLimits, NextFrame, Source, TcpFlags, Timestamp};
use proptest::prelude::*;

use super::builder;
use super::ends::Ends;
use super::overflow::Live;
use super::sources::{Buffered, Ending, Overwriting, Silent, Waiting};
use super::traffic::{POISON, Packet, syns};

/// What an event says besides numbers of packets, which depend on the number of sources.
fn essence(event: &Event<String>) -> (Timestamp, String, String) {
    let kind = event.kind.split_once(':').map_or(event.kind.as_str(), |(number, _)| number);
    (event.ts, event.subject_addr().to_string(), kind.to_owned())
}

/// Divides packets by their client.
fn divided(packets: &[Packet], sources: usize) -> Vec<Vec<Packet>> {
    let mut parts = vec![Vec::new(); sources];
    for packet in packets {
        parts[usize::from(packet.data[15]) % sources].push(packet.clone());
    }
    parts
}

/// Segments of up to 16 clients, a millisecond apart.
fn arbitrary_packets() -> impl Strategy<Value = Vec<Packet>> {
    let flags = prop::sample::select(vec![TcpFlags::SYN, TcpFlags::ACK, TcpFlags::FIN | TcpFlags::ACK]);
    prop::collection::vec((0_u16..16, flags), 0..400).prop_map(|segments| {
        let packet = |(index, (client, flags))| {
            let ts = Timestamp::from_nanos(1_000_000 * index as u64, 9);
            Packet { ts, ..Packet::segment(client, flags, b"data") }
        };
        segments.into_iter().enumerate().map(packet).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn queues_give_events_of_one_source_in_order(packets in arbitrary_packets(), sources in 1_usize..6) {
        let mut want = Vec::new();
        let counters = builder(1, 1).build().analyze(Overwriting::new(&packets), |event| want.push(event)).unwrap();
        let parts = divided(&packets, sources);
        let queues = parts.iter().map(|part| Overwriting::new(part)).collect();
        let mut analyzer = builder(1, 1).build();
        let mut events = Vec::new();
        let of_queues = analyzer.analyze_queues(queues, |event| events.push(event)).unwrap();
        prop_assert_eq!(
            events.iter().map(essence).collect::<Vec<_>>(),
            want.iter().map(essence).collect::<Vec<_>>()
        );
        prop_assert_eq!(of_queues, counters);
    }

    #[test]
    fn packet_numbers_of_queues_are_unique(
        packets in arbitrary_packets(),
        others in 0_u32..3,
        sources in 2_usize..6,
    ) {
        let mut parts = divided(&packets, sources);
        for packet in parts.iter_mut().flatten() {
            packet.ts = packet.ts.with_other_records(others);
        }
        let queues = parts.iter().map(|part| Overwriting::new(part)).collect();
        let (mut analyzer, mut events) = (builder(1, 1).build(), Vec::<Event<String>>::new());
        analyzer.analyze_queues(queues, |event| events.push(event)).unwrap();
        let mut seen = HashMap::new();
        for event in &events {
            let before = usize::try_from(event.packet_number).unwrap() - 1;
            let packet = &parts[before % sources][(before / sources + 1) / (others as usize + 1) - 1];
            prop_assert_eq!(packet.ts, event.ts);
            let packet = (event.ts, event.flow.clone());
            prop_assert_eq!(seen.entry(event.packet_number).or_insert_with(|| packet.clone()), &packet);
        }
        // Another source counts from 1.
        let mut events = Vec::<Event<String>>::new();
        analyzer.analyze(Overwriting::new(&syns(1)), |event| events.push(event)).unwrap();
        prop_assert_eq!(events.first().map(|event| event.packet_number), Some(1));
    }
}

#[test]
fn single_queue_is_analysed_in_the_callers_thread() {
    let given = AtomicUsize::new(0);
    let source = Waiting::new(syns(5), |number| given.store(number, Ordering::Relaxed));
    let mut seen = Vec::new();
    let mut sink = |_: Event<String>| seen.push(given.load(Ordering::Relaxed));
    builder(1, 1).build().analyze_queues(vec![source], &mut sink).unwrap();
    assert_eq!(seen, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
}

#[test]
fn single_queue_is_divided_among_the_workers() {
    let caller = thread::current().id();
    let write = |_: &Event<String>, text: &mut Vec<u8>| {
        text.push(u8::from(thread::current().id() == caller));
    };
    let mut of_caller = Vec::new();
    let sources = || vec![Overwriting::new(PACKETS.get_or_init(|| syns(5)))];
    for workers in [1, 3] {
        let mut texts = Vec::new();
        let mut sink = |text: &[u8]| texts.extend_from_slice(text);
        builder(workers, 1).build().analyze_queues_text(sources(), write, &mut sink).unwrap();
        of_caller.push(texts.iter().filter(|text| **text == 1).count());
    }
    // Conclusions of the shared state are written by the caller.
    assert_eq!(of_caller, [10, 5]);
}

static PACKETS: OnceLock<Vec<Packet>> = OnceLock::new();

#[test]
fn flow_limit_holds_for_all_queues_together() {
    let limits = FlowLimits::default().max_flows(8);
    let parts = divided(&syns(64), 4);
    let queues = parts.iter().map(|part| Overwriting::new(part)).collect();
    let mut analyzer = builder(1, 1).flow_limits(limits).build();
    let counters = analyzer.analyze_queues(queues, &mut |_: Event<String>| {}).unwrap();
    assert_eq!((counters.flows.opened, counters.flows.evicted), (64, 56));
}

#[test]
fn idle_queue_holds_up_no_other() {
    let packets = syns(3);
    let mut analyzer = builder(1, 1).build();
    let cancel = analyzer.cancel_token();
    let queues = packets.iter().map(|packet| Silent::after(packet.clone())).collect();
    let mut seen = 0;
    analyzer
        .analyze_queues(queues, &mut |_: Event<String>| {
            seen += 1;
            if seen == 6 {
                cancel.cancel();
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    assert_eq!(seen, 6);
}

/// Lends its packets in turns with others: each when the turn, which it then passes on, is its own. States that nothing follows before
/// its next packet.
struct Alternating {
    packets: Vec<Packet>,
    own: usize,
    turn: Arc<AtomicUsize>,
    lent: usize,
}

impl Source<'_> for Alternating {
    type Error = &'static str;

    fn is_live(&self) -> bool {
        true
    }

    fn next_frame(&mut self) -> Result<NextFrame<'_>, &'static str> {
        let Some(packet) = self.packets.get(self.lent) else { return Ok(NextFrame::End) };
        if self.turn.load(Ordering::Acquire) % 3 != self.own {
            thread::yield_now();
            return Ok(NextFrame::Idle);
        }
        self.lent += 1;
        self.turn.fetch_add(1, Ordering::Release);
        Ok(NextFrame::Frame(packet.frame()))
    }

    fn complete_until(&self) -> Option<Timestamp> {
        self.packets.get(self.lent).map(|packet| packet.ts)
    }
}

/// Every source lends its packets later than the others lend their later ones.
#[test]
fn events_wait_until_idle_queues_have_none_before() {
    let mut parts = divided(&syns(90), 3);
    // All packets within the longest wait.
    parts.iter_mut().flatten().for_each(|packet| {
        packet.ts = Timestamp::from_nanos(10_000_000_000 + packet.ts.as_nanos() / 1000, 9);
    });
    let turn = Arc::new(AtomicUsize::new(0));
    let queues = parts.into_iter().zip([2, 1, 0]).map(|(packets, own)| Alternating {
        packets,
        own,
        turn: Arc::clone(&turn),
        lent: 0,
    });
    let mut times = Vec::new();
    let mut sink = |event: Event<String>| times.push(event.ts.as_nanos());
    builder(1, 1).build().analyze_queues(queues.collect(), &mut sink).unwrap();
    assert_eq!(times.len(), 180);
    assert!(times.is_sorted(), "{times:?}");
}

/// The same frame until the time is over, then the end.
struct Stream(Packet, u32);

impl Source<'_> for Stream {
    type Error = &'static str;

    fn next_frame(&mut self) -> Result<NextFrame<'_>, &'static str> {
        let Some(left) = self.1.checked_sub(1) else { return Ok(NextFrame::End) };
        self.1 = left;
        Ok(NextFrame::Frame(self.0.frame()))
    }
}

/// The frames of one queue are stamped far in the future.
#[test]
fn wrong_clock_of_live_queue_loses_no_event() {
    let late = Packet { ts: Timestamp::new(5_000_000_000, 0, 6), ..Packet::syn(1) };
    let queues = vec![Live(Stream(Packet::syn(2), 20_000)), Live(Stream(late, 20_000))];
    let counters = builder(1, 1).build().analyze_queues(queues, &mut |_: Event<String>| {}).unwrap();
    assert_eq!((counters.frames, counters.events % 2), (40_000, 0));
    assert!(counters.events >= 40_000);
}

#[test]
fn error_of_one_queue_ends_the_others() {
    let packets = syns(10);
    let queues =
        vec![Buffered::new(&packets[..5], Ending::Error("cut")), Buffered::new(&packets[5..], Ending::Again)];
    let mut analyzer = builder(1, 1).build();
    let error = analyzer.analyze_queues(queues, &mut |_: Event<String>| {}).unwrap_err();
    assert_eq!(error, AnalysisError::Source("cut"));
    assert!(analyzer.counters().frames >= 5);
}

#[test]
fn panic_of_one_worker_ends_the_others() {
    let packets = syns(10);
    let poisoned = vec![Packet::segment(1, TcpFlags::SYN, POISON)];
    let queues =
        vec![Buffered::new(&packets, Ending::Again), Buffered::new(&poisoned, Ending::Error("unread"))];
    match builder(1, 1).build().analyze_queues(queues, &mut |_: Event<String>| {}) {
        Err(AnalysisError::Thread { name, message }) => assert_eq!((name, &*message), ("worker", "poisoned")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn breaking_sink_ends_all_queues() {
    let packets = syns(10);
    let queues = vec![Buffered::new(&packets, Ending::Again); 3];
    let mut left = 7;
    let counters = builder(1, 1).build().analyze_queues(queues, &mut |_: Event<String>| {
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(counters.unwrap().events, 7);
}

#[test]
fn snapshot_is_answered_while_all_queues_are_idle() {
    let mut analyzer = builder(1, 1).build();
    let (handle, cancel) = (analyzer.snapshot_handle(), analyzer.cancel_token());
    let (seen, is_seen) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            is_seen.recv().unwrap();
            is_seen.recv().unwrap();
            // The counters of an output follow its events.
            while handle.query(|snapshot| snapshot.counters().frames) != Some(2) {
                thread::sleep(Duration::from_millis(1));
            }
            cancel.cancel();
        });
        let queues = syns(2).into_iter().map(Silent::after).collect();
        let mut sink = |event: Event<String>| {
            if event.kind.contains("Segment") {
                seen.send(()).unwrap();
            }
        };
        analyzer.analyze_queues(queues, &mut sink).unwrap();
    });
}

#[test]
fn texts_of_queues_arrive_one_per_event_and_end_once() {
    let parts = divided(&syns(2000), 3);
    let queues = parts.iter().map(|part| Overwriting::new(part)).collect();
    let mut sink = Ends::default();
    let write = |event: &Event<String>, text: &mut Vec<u8>| text.extend(event.ts.to_string().bytes());
    builder(1, 1).build().analyze_queues_text(queues, write, &mut sink).unwrap();
    assert_eq!((sink.ends, sink.since_batch_end, sink.texts.len()), (1, 0, 4000));
    let want: Vec<Vec<u8>> =
        (0..4000_u64).map(|n| Timestamp::new(n / 2, 0, 6).to_string().into_bytes()).collect();
    assert!(sink.texts == want);
}
