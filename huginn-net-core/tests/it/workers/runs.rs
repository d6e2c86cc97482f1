//! Runs: analyses in threads of their own, with unread events, queries, and every way to end.

use std::future::{Future, IntoFuture};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use huginn_net_core::{
    Analyzer, Block, CancelToken, Event, Fill, Frame, NextFrame, Run, Source, TcpFlags, Timestamp,
    frame_channel,
};

use super::builder;
use super::sources::{Buffered, Ending, Silent};
use super::traffic::{Everything, POISON, Packet, syns};

/// Packets that outlive every thread.
fn leaked(packets: Vec<Packet>) -> &'static [Packet] {
    packets.leak()
}

fn endless() -> Buffered<'static> {
    Buffered::new(leaked(syns(50)), Ending::Again)
}

/// Starts an analysis that never ends, and waits until its queue is full.
fn full_run(workers: usize) -> Run<Everything, &'static str> {
    full_run_in_blocks(workers, 1)
}

fn full_run_in_blocks(workers: usize, block_bytes: usize) -> Run<Everything, &'static str> {
    let run = builder(workers, block_bytes).build().spawn(endless());
    let mut events = 0;
    loop {
        thread::sleep(Duration::from_millis(20));
        let now = run.counters().engine.events;
        if now >= 1024 && now == events {
            return run;
        }
        events = now;
    }
}

#[test]
fn run_has_the_events_of_analyze() {
    for workers in [1, 3] {
        let packets = leaked(syns(3000));
        let mut expected = Vec::new();
        let counters = builder(workers, 1000)
            .build()
            .analyze(Buffered::new(packets, Ending::End), |event| expected.push(event))
            .unwrap();
        let mut run = builder(workers, 1000).build().spawn(Buffered::new(packets, Ending::End));
        let events: Vec<Event<String>> = run.by_ref().collect();
        assert_eq!(events, expected);
        assert_eq!(run.next(), None);
        let published = run.counters();
        assert_eq!((&published.engine, published.protocol), (&counters, 3000));
        assert_eq!(published.packet_time.map(Timestamp::as_secs), Some(2999));
        let (analyzer, outcome) = run.finish();
        assert_eq!((outcome, analyzer.counters().events), (Ok(counters.clone()), counters.events));

        let mut run = analyzer.spawn(Buffered::new(packets, Ending::End));
        let mut batches = 0;
        while let Some(batch) = run.next_batch() {
            assert!(!batch.is_empty());
            batches += 1;
        }
        assert!(batches > 1, "the queue is shorter than the events");
        assert_eq!(run.finish().1.unwrap().frames, 2 * counters.frames);
    }
}

#[test]
fn query_is_answered_while_events_are_unread() {
    for workers in [1, 3] {
        let run = full_run(workers);
        let handle = run.snapshot_handle();
        for _ in 0..3 {
            let asked = |syns: &huginn_net_core::Snapshot<'_, Everything>| syns.shared_state().0.len();
            assert!(run.query(asked) > Some(0));
            assert!(handle.query(|snapshot| snapshot.counters().frames) > Some(0));
        }
        let counters = run.counters();
        assert!(counters.engine.frames > 0 && counters.packet_time.is_some());
    }
}

#[test]
fn query_beside_stalled_reader_is_refused_at_limit() {
    for workers in [1, 3] {
        let mut run = full_run_in_blocks(workers, 1 << 14);
        assert!((0..100_000).any(|_| run.query(|_| ()).is_none()), "the events are limited");
        let handle = run.snapshot_handle();
        let asker = thread::spawn(move || (0..1000).all(|_| handle.query(|_| ()).is_none()));
        assert!((0..1000).all(|_| run.query(|_| ()).is_none()));
        assert!(asker.join().unwrap());
        let unread = run.next_batch().unwrap().len();
        assert!((30_000..=32_768).contains(&unread), "{unread} events");
        assert_eq!(run.query(|_| ()), Some(()), "there is room again");
    }
}

#[test]
fn query_reaches_an_analysis_that_has_just_started() {
    for workers in [1, 3] {
        for _ in 0..50 {
            let mut run = builder(workers, 1).build().spawn(endless());
            assert!(run.query(|_| ()).is_some(), "the analysis does not end");
            assert!(run.next().is_some());
        }
    }
}

#[test]
fn run_ends_when_stopped() {
    for workers in [1, 3] {
        let mut run = full_run(workers);
        let stopper = run.stopper();
        thread::spawn(move || stopper.stop());
        let read = run.by_ref().count() as u64;
        assert_eq!(run.query(|_| ()), None, "the analysis has ended");
        let (analyzer, outcome) = run.finish();
        assert_eq!(outcome.unwrap().events, read);

        // The analyzer is ready for another source.
        let run = analyzer.spawn(Buffered::new(leaked(syns(10)), Ending::End));
        assert_eq!(run.count(), 20);
    }
}

#[test]
fn stop_ends_a_waiting_source() {
    for workers in [1, 3] {
        let mut run = builder(workers, 1).build().spawn(Silent::after(Packet::syn(1)));
        assert!(run.next().is_some() && run.next().is_some());
        run.stop();
        assert_eq!(run.next(), None);
        assert_eq!(run.finish().1.unwrap().frames, 1);
    }
}

#[test]
fn finish_drops_unread_events() {
    let run = full_run(2);
    run.stop();
    assert!(run.finish().1.unwrap().events >= 1024);
    let run = full_run(2);
    run.cancel();
    assert!(run.finish().1.is_ok());
}

/// A source that counts when the analysis lets go of it.
struct Dropped<S>(S, Arc<AtomicUsize>);

impl<S> Drop for Dropped<S> {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

impl<S: Source<'static>> Source<'static> for Dropped<S> {
    type Error = S::Error;

    fn next_frame(&mut self) -> Result<NextFrame<'_>, S::Error> {
        self.0.next_frame()
    }

    fn fill(&mut self, block: &mut Block<'static>) -> Result<Fill, S::Error> {
        self.0.fill(block)
    }
}

#[test]
fn dropped_run_ends_alone() {
    for workers in [1, 3] {
        let token = CancelToken::default();
        let analyzer = || builder(workers, 1).cancel_token(token.clone()).build();
        let sources = Arc::new(AtomicUsize::new(0));
        // One that waits for its reader, one without events, and one that has ended.
        let full = analyzer().spawn(Dropped(endless(), Arc::clone(&sources)));
        let silent = analyzer().spawn(Dropped(Silent::after(Packet::syn(1)), Arc::clone(&sources)));
        let mut ended = analyzer().spawn(Buffered::new(leaked(syns(10)), Ending::End));
        assert_eq!(ended.by_ref().count(), 20);
        thread::sleep(Duration::from_millis(20));
        drop((full, silent, ended));
        while sources.load(Ordering::SeqCst) < 2 {
            thread::sleep(Duration::from_millis(1));
        }
        let run = analyzer().spawn(Buffered::new(leaked(syns(10)), Ending::End));
        assert_eq!(run.count(), 20, "the token is not cancelled");
    }
}

#[test]
fn queues_are_analysed_in_a_run() {
    let queue = || Buffered::new(leaked(syns(100)), Ending::End);
    let mut run = builder(1, 1).build().spawn_queues(vec![queue(), queue(), queue()]);
    assert_eq!(run.by_ref().count(), 600);
    assert_eq!(run.counters().engine.frames, 300);
    assert_eq!(run.finish().1.unwrap().events, 600);
}

#[test]
fn finish_returns_error_and_analyzer() {
    for workers in [1, 3] {
        let packets = leaked(syns(100));
        let mut run = builder(workers, 1).build().spawn(Buffered::new(packets, Ending::Error("damaged")));
        assert_eq!(run.by_ref().count(), 200);
        let (analyzer, outcome) = run.finish();
        assert_eq!(outcome.unwrap_err().to_string(), "damaged");
        assert_eq!(analyzer.counters().frames, 100);
    }
}

#[test]
fn panic_of_analysis_ends_events_and_queries() {
    let packets = leaked(vec![Packet::syn(1), Packet::segment(1, TcpFlags::ACK, POISON)]);
    let mut run = builder(1, 1).build().spawn(Buffered::new(packets, Ending::End));
    while run.next().is_some() {}
    assert_eq!(run.query(|_| ()), None);
    assert!(catch_unwind(AssertUnwindSafe(|| run.finish())).is_err());
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// An executor of one task.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn run_is_awaited_in_any_executor() {
    let run = full_run(1);
    run.stop();
    let (analyzer, outcome) = block_on(run.into_future());
    assert_eq!(outcome.unwrap(), analyzer.counters());
    drop(full_run(1).into_future());
}

#[cfg(feature = "stream")]
#[test]
fn run_is_a_stream() {
    use std::future::poll_fn;
    use std::pin::Pin;

    use futures_core::Stream;

    let mut run = builder(2, 1).build().spawn(Buffered::new(leaked(syns(2000)), Ending::End));
    let mut events = 0;
    while block_on(poll_fn(|context| Pin::new(&mut run).poll_next(context))).is_some() {
        events += 1;
    }
    assert_eq!(events, 4000);
}

#[test]
fn full_channel_drops_and_counts_frames() {
    let data = vec![0x45; 60_000];
    let frame = Frame { data: &data, ..Packet::syn(1).frame() };
    let (mut sender, receiver) = frame_channel();
    let (mut receiver, mut taken) = (receiver.live(), 0);
    assert!(receiver.is_live());
    for _ in 0..200 {
        taken += u64::from(sender.try_send(&frame).unwrap());
    }
    assert!(!sender.try_flush().unwrap());
    assert_eq!(
        (taken, sender.frames_lost()),
        (73, 127),
        "a block of one frame, seven of nine, and one that waits"
    );
    assert!(matches!(receiver.next_frame(), Ok(NextFrame::Frame(_))));
    assert!(matches!(receiver.next_frame(), Ok(NextFrame::Frame(_))));
    assert!(sender.try_send(&frame).unwrap(), "there is room for a block");
    let mut block = Block::new(1 << 30);
    let mut frames = 2;
    drop(sender);
    while receiver.fill(&mut block).unwrap() == Fill::More {
        frames += block.frame_count() as u64;
        block.clear();
    }
    assert_eq!(frames, taken + 1);
    let (mut sender, receiver) = frame_channel();
    drop(receiver);
    assert!(sender.try_send(&frame).is_err());
}

/// A run is held by any thread.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Run<Everything, &'static str>>();
    is_send::<Analyzer<Everything>>();
};
