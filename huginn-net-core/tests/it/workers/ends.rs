//! The end of an analysis: by the sink, by cancellation, by errors and by thread_panic.

use std::ops::ControlFlow;
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use huginn_net_core::{AnalysisError, Event, SinkResult, Source, TcpFlags, TextSink, Timestamp};

use super::builder;
use super::sources::{Buffered, Ending, Endless, Overwriting, Silent, Waiting};
use super::traffic::{POISON, Packet, syns};

/// Breaks at the event with this number.
fn break_at<E>(mut left: usize) -> impl FnMut(E) -> bool {
    move |_| {
        left -= 1;
        left > 0
    }
}

#[test]
fn breaking_sink_ends_endless_source() {
    for workers in [1, 2, 5] {
        for block_bytes in [1, 1 << 16] {
            let mut analyzer = builder(workers, block_bytes).build();
            let counters = analyzer.analyze(Endless(Packet::syn(1)), break_at(4)).unwrap();
            assert_eq!(counters.events, 4);
        }
    }
}

/// Number of events that a sink takes.
fn events_until<R: SinkResult>(
    workers: usize,
    packets: &[Packet],
    each: impl FnMut(Event<String>) -> R,
) -> u64 {
    builder(workers, 1).build().analyze(Overwriting::new(packets), each).unwrap().events
}

#[test]
fn closure_result_stops_analysis() {
    let packets = syns(10);
    for workers in [1, 2] {
        assert_eq!(events_until(workers, &packets, |_| {}), 20);
        assert_eq!(events_until(workers, &packets, |_| ControlFlow::Break(())), 1);
        assert_eq!(events_until(workers, &packets, |event| event.kind.contains("Segment")), 2);
        assert_eq!(events_until(workers, &packets, |_| Err::<(), _>("no room")), 1);
    }
}

#[test]
fn cancelled_analysis_reports_nothing_more() {
    for workers in [1, 2] {
        let mut analyzer = builder(workers, 1).build();
        let token = analyzer.cancel_token();
        let mut seen = 0;
        let counters = analyzer.analyze(Endless(Packet::syn(1)), &mut |_: Event<String>| {
            seen += 1;
            if seen == 5 {
                token.cancel();
            }
        });
        let counters = counters.unwrap();
        assert!(seen == 5 || (workers == 1 && seen == 6), "the frame in progress is finished");
        assert_eq!(counters.events, seen);
    }
}

#[test]
fn analysis_can_be_cancelled_from_another_thread() {
    let mut analyzer = builder(3, 1 << 14).build();
    let token = analyzer.cancel_token();
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(20));
            token.cancel();
        });
        analyzer.analyze(Endless(Packet::syn(1)), &mut |_: Event<String>| {}).unwrap();
    });
    assert!(analyzer.counters().frames > 0);
}

#[test]
fn workers_stop_at_the_same_block() {
    let packets = syns(300);
    for workers in [2, 5] {
        let mut analyzer = builder(workers, 640).build();
        let source = Buffered::new(&packets, Ending::Again);
        let counters = analyzer.analyze(source.clone(), break_at(4)).unwrap();
        assert_eq!(counters.events, 4);
        assert_eq!(counters.frames, analyzer.protocol().segments, "all workers analysed the same frames");

        let mut analyzer = builder(workers, 640).build();
        let (token, snapshots) = (analyzer.cancel_token(), analyzer.snapshot_handle());
        thread::scope(|scope| {
            scope.spawn(move || {
                let frames = || snapshots.query(|snapshot| snapshot.counters().frames).unwrap_or_default();
                while frames() < 1000 {}
                token.cancel();
            });
            analyzer.analyze(source, &mut |_: Event<String>| {}).unwrap();
        });
        let counters = analyzer.counters();
        assert!(counters.frames >= 1000);
        assert_eq!((counters.decode.tcp, analyzer.protocol().segments), (counters.frames, counters.frames));
    }
}

#[test]
fn silent_source_ends_after_break_or_cancel() {
    for workers in [1, 2, 5] {
        let source = || Silent::after(Packet::syn(1));
        let counters = builder(workers, 1 << 16).build().analyze(source(), break_at(1)).unwrap();
        assert_eq!((counters.frames, counters.events), (1, 1));

        let mut analyzer = builder(workers, 1 << 16).build();
        let token = analyzer.cancel_token();
        let (seen, events) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                // The packet has two events.
                events.iter().take(2).for_each(drop);
                token.cancel();
            });
            analyzer.analyze(source(), &mut |_: Event<String>| seen.send(()).is_ok()).unwrap();
        });
        assert_eq!((analyzer.counters().frames, analyzer.counters().events), (1, 2));
    }
}

/// When the sink breaks, the other worker has usually read all blocks.
#[test]
fn slow_worker_finishes_blocks_read_by_others() {
    let packets = syns(7);
    let slow_worker = OnceLock::new();
    let slow = |event: Event<String>| {
        let thread = thread::current().id();
        if *slow_worker.get_or_init(|| thread) == thread {
            thread::sleep(Duration::from_millis(50));
        }
        event
    };
    let mut analyzer = builder(2, 1).build();
    let counters = analyzer.analyze_map(Overwriting::new(&packets), slow, &mut |_: Event<String>| {
        thread::sleep(Duration::from_millis(20));
        ControlFlow::Break(())
    });
    assert_eq!(counters.unwrap().frames, analyzer.protocol().segments);
}

#[test]
fn source_error_follows_all_earlier_events() {
    let packets = syns(100);
    for workers in [1, 2, 5] {
        let mut events: Vec<String> = Vec::new();
        let mut analyzer = builder(workers, 1 << 20).build();
        let source = Buffered::new(&packets, Ending::Error("cut"));
        let error = analyzer.analyze_map(source, |event| event.kind, |value| events.push(value)).unwrap_err();
        assert_eq!(error, AnalysisError::Source("cut"));
        assert_eq!((events.len(), analyzer.counters().frames), (200, 100));
    }
}

/// Returns the number of events before a panic, and the thread and message of the panic.
fn thread_panic<'f>(
    workers: usize,
    source: impl Source<'f, Error = &'static str> + Send,
    map: fn(Event<String>) -> String,
) -> (usize, &'static str, String) {
    let mut events = Vec::new();
    // Blocks of a frame: the caller's thread analyses none.
    match builder(workers, 100).build().analyze_map(source, map, |value| events.push(value)) {
        Err(AnalysisError::Thread { name, message }) => (events.len(), name, message),
        other => panic!("{other:?}"),
    }
}

/// Returns the event, or thread_panic if it contains this word.
fn panic_on_word(event: Event<String>, word: &str) -> String {
    assert!(!event.kind.contains(word), "refused");
    event.kind
}

#[test]
fn thread_panic_returns_error_with_message() {
    let packets = syns(300);
    let mut poisoned = packets.clone();
    poisoned[200] = Packet::segment(200, TcpFlags::SYN, POISON);
    let fatal = [&packets[..100], &[Packet::syn(u16::MAX)], &packets[100..]].concat();
    for workers in [2, 5] {
        let kind = |event: Event<String>| event.kind;
        let (_, name, message) =
            thread_panic(workers, Buffered::new(&packets, Ending::Panic("no more")), kind);
        assert_eq!((name, message.as_str()), ("worker", "no more"));
        // Fewer workers read no chunks.
        if workers == 5 {
            let source = Buffered::new(&packets, Ending::PanicInChunk("unreadable"));
            let (events, name, message) = thread_panic(workers, source, kind);
            assert!(events <= 4 * 3 * 2, "{events} of four blocks of three packets");
            assert_eq!((name, message.as_str()), ("worker", "unreadable"));
        }
        let (events, name, message) = thread_panic(workers, Buffered::new(&poisoned, Ending::Again), kind);
        assert!(events <= 400);
        assert_eq!((name, message.as_str()), ("worker", "poisoned"));
        let source = || Buffered::new(&packets, Ending::Again);
        let failed = thread_panic(workers, source(), |event| panic_on_word(event, "Segment"));
        assert_eq!(failed, (0, "worker", "refused".to_owned()));
        let failed = thread_panic(workers, source(), |event| panic_on_word(event, "SYNs"));
        assert_eq!(failed, (1, "caller", "refused".to_owned()));
        let failed = thread_panic(workers, Buffered::new(&fatal, Ending::End), kind);
        assert_eq!(failed, (201, "caller", "fatal sender".to_owned()));
    }
}

#[test]
#[should_panic(expected = "enough")]
fn sink_panic_reaches_the_caller_from_several_workers() {
    let _ = builder(2, 1)
        .build()
        .analyze(Endless(Packet::syn(1)), &mut |_: Event<String>| -> () { panic!("enough") });
}

#[test]
#[should_panic(expected = "enough")]
fn sink_panic_reaches_the_caller_from_one_worker() {
    let _ = builder(1, 1)
        .build()
        .analyze(Endless(Packet::syn(1)), &mut |_: Event<String>| -> () { panic!("enough") });
}

/// Takes texts, and counts calls of `end`, and events since the last batch end.
#[derive(Default)]
pub(crate) struct Ends {
    pub(crate) ends: u32,
    pub(crate) since_batch_end: u32,
    pub(crate) texts: Vec<Vec<u8>>,
}

impl TextSink for Ends {
    fn event(&mut self, _: Timestamp, text: &[u8]) -> ControlFlow<()> {
        self.since_batch_end += 1;
        self.texts.push(text.to_vec());
        ControlFlow::Continue(())
    }

    fn batch_end(&mut self, _: Option<Timestamp>) -> ControlFlow<()> {
        self.since_batch_end = 0;
        ControlFlow::Continue(())
    }

    fn end(&mut self) {
        self.ends += 1;
    }
}

#[test]
fn text_sink_ends_once_however_the_analysis_ends() {
    let packets = syns(30);
    for workers in [2, 5] {
        for word in ["Segment", "SYNs", "nowhere"] {
            let mut ends = Ends::default();
            let write = |event: &Event<String>, _: &mut Vec<u8>| _ = panic_on_word(event.clone(), word);
            let source = Buffered::new(&packets, Ending::Error("cut"));
            let error = builder(workers, 100).build().analyze_text(source, write, &mut ends).unwrap_err();
            assert_eq!((matches!(error, AnalysisError::Source("cut")), ends.ends), (word == "nowhere", 1));
            assert!(word != "nowhere" || ends.since_batch_end == 0);
        }
    }
    let mut ends = Ends::default();
    builder(1, 1).build().analyze_text(Overwriting::new(&packets), |_, _| {}, &mut ends).unwrap();
    assert_eq!((ends.ends, ends.since_batch_end), (1, 0));
}

#[test]
fn panicking_worker_ends_waiting_source() {
    let poison = Packet::segment(1, TcpFlags::SYN, POISON);
    let mut waits = 0;
    let source = Waiting::new(vec![poison], move |_| {
        waits += 1;
        // The first worker thread_panic while the second one waits here.
        thread::sleep(Duration::from_millis(if waits > 1 { 50 } else { 0 }));
    });
    let error = builder(2, 1).build().analyze(source, &mut |_: Event<String>| {}).unwrap_err();
    assert_eq!(error.to_string(), "thread 'worker': poisoned");
}
