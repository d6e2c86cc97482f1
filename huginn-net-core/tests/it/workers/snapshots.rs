//! Snapshots of a running analysis, and events while the source waits.

use std::ops::ControlFlow;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use huginn_net_core::{Counters, Event, LinkType, Overflow, SnapshotHandle, TcpFlags, TextSink, Timestamp};

use super::builder;
use super::sources::{Overwriting, Waiting};
use super::traffic::{Everything, Packet, syns};

#[test]
fn events_arrive_before_source_waits() {
    for (workers, block_bytes) in [(1, 1), (3, 1), (3, 1 << 20)] {
        let (seen, heard) = mpsc::channel();
        let packets = (1..10).map(|client| Packet::segment(client, TcpFlags::SYN, b"")).collect();
        let mut events = 0;
        let source = Waiting::new(packets, move |given| {
            if given > 0 {
                heard.recv_timeout(Duration::from_secs(20)).expect("the event before");
            }
        });
        let counters = builder(workers, block_bytes).build().analyze(source, &mut |event: Event<String>| {
            events += 1;
            if event.kind.contains("Segment") {
                seen.send(()).unwrap();
            }
        });
        assert_eq!((counters.unwrap().frames, events), (9, 18));
    }
}

/// Records events and batch ends.
#[derive(Default)]
struct Recorder {
    events: Vec<(Timestamp, Vec<u8>)>,
    batches: Vec<Timestamp>,
}

impl TextSink for Recorder {
    fn event(&mut self, ts: Timestamp, text: &[u8]) -> ControlFlow<()> {
        self.events.push((ts, text.to_vec()));
        ControlFlow::Continue(())
    }

    fn batch_end(&mut self, taken_at: Option<Timestamp>) -> ControlFlow<()> {
        self.batches.extend(taken_at);
        ControlFlow::Continue(())
    }
}

/// Queries until this many frames and all their events are counted.
fn counted(snapshots: &SnapshotHandle<Everything>, frames: u64) -> (Counters, u64, u32) {
    for _ in 0..10_000 {
        let answer = snapshots.query(|snapshot| {
            let counters = (snapshot.counters().clone(), *snapshot.protocol_counters());
            (counters.0, counters.1, snapshot.shared_state().0.values().sum())
        });
        let answer = answer.expect("the analysis runs");
        if answer.0.frames == frames && answer.0.events == 2 * frames {
            return answer;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("{frames} frames are never counted");
}

#[test]
fn snapshot_counts_all_frames_while_source_waits() {
    // Workers analyse the first frame, too.
    let mut analyzer = builder(3, 1 << 20).overflow(Overflow::Drop).build();
    // Snapshots also count the frames of an earlier analysis.
    analyzer.analyze(Overwriting::new(&syns(10)), &mut |_: Event<String>| {}).unwrap();
    let snapshots = analyzer.snapshot_handle();
    assert_eq!(snapshots.query(|_| ()), None, "no analysis is running");
    let source = Waiting::new((10..20).map(Packet::syn).collect(), |given: usize| {
        let seen = 10 + given as u64;
        let (counters, segments, syns) = counted(&snapshots, seen);
        assert_eq!((counters.flows.opened, counters.decode.tcp, segments), (seen, seen, seen));
        assert_eq!(u64::from(syns), seen);
    });
    let mut recorder = Recorder::default();
    let write = |event: &Event<String>, text: &mut Vec<u8>| text.extend(event.kind.bytes().take(3));
    let counters = analyzer.analyze_text(source, write, &mut recorder).unwrap();
    assert_eq!((counters.frames, counters.events), (20, 40));
    let times = (10..20).map(|second| Timestamp::new(second, 0, 6));
    assert!(recorder.batches.into_iter().eq(times), "one per frame");
    assert!(recorder.events.iter().map(|(ts, _)| ts.as_secs()).eq((10..20).flat_map(|second| [second; 2])));
    assert!(recorder.events.iter().all(|(_, text)| text == b"1: " || text == b"1 S"));
    assert_eq!(snapshots.query(|_| ()), None, "the analysis has ended");
}

/// With one worker, the waiting thread also answers snapshot requests, so the source must be woken.
#[test]
fn snapshot_wakes_waiting_source() {
    let analyzer = builder(1, 1).build();
    let snapshots = analyzer.snapshot_handle();
    let (wake, woken) = mpsc::channel();
    snapshots.set_waker(move || _ = wake.send(()));
    let asking = snapshots.clone();
    let query = thread::spawn(move || {
        loop {
            if let Some(frames) = asking.query(|snapshot| snapshot.counters().frames) {
                return frames;
            }
        }
    });
    let mut analyzer = analyzer;
    let source = Waiting::new(vec![Packet::syn(1)], move |given| {
        if given == 1 {
            woken.recv_timeout(Duration::from_secs(20)).expect("woken by the query");
        }
    });
    analyzer.analyze(source, &mut |_: Event<String>| {}).unwrap();
    assert!(query.join().unwrap() <= 1);
}

#[test]
fn frames_without_segments_are_counted_while_idle() {
    let mut analyzer = builder(2, 1 << 20).build();
    let snapshots = analyzer.snapshot_handle();
    let arp = Packet { data: vec![0; 30], link: LinkType::ETHERNET, ts: Timestamp::new(1, 0, 6) };
    let source = Waiting::new(vec![arp; 3], |given: usize| {
        let frames = || snapshots.query(|snapshot| snapshot.counters().frames).unwrap();
        while frames() != given as u64 {
            thread::sleep(Duration::from_millis(1));
        }
    });
    let counters = analyzer.analyze_text(source, |_, _| {}, &mut Recorder::default()).unwrap();
    assert_eq!((counters.frames, counters.events), (3, 0));
}

#[test]
fn query_from_own_sink_returns_none() {
    for workers in [1, 2] {
        let mut analyzer = builder(workers, 1).build();
        let snapshots = analyzer.snapshot_handle();
        let mut answers = Vec::new();
        let packets = syns(3);
        let query_in_sink = &mut |_: Event<String>| answers.push(snapshots.query(|_| ()));
        analyzer.analyze(Overwriting::new(&packets), query_in_sink).unwrap();
        assert_eq!(answers, [None; 6]);
    }
}

#[test]
fn query_at_end_does_not_block() {
    for workers in [1, 2] {
        for _ in 0..20 {
            let mut analyzer = builder(workers, 1).build();
            let snapshots = analyzer.snapshot_handle();
            let asking = thread::spawn(move || while snapshots.query(|_| ()).is_none() {});
            while !asking.is_finished() {
                analyzer.analyze(Overwriting::new(&syns(3)), &mut |_: Event<String>| {}).unwrap();
            }
            asking.join().unwrap();
        }
    }
}
