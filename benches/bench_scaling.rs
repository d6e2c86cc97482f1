//! What workers gain: the CPU time of each thread of an analysis of packets in memory, and the wall time.
//!
//! `cargo bench -p huginn-net-benches --bench scaling [-- CAPTURE|WORD]...` also analyses a capture file, or only the rows whose
//! name contains one of the words. With `--processor-each`, the analysis of JSON assumes that each worker has a processor.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark may panic"
)]

#[path = "memory_frames.rs"]
mod memory_frames;
#[path = "packets.rs"]
mod packets;

use std::fmt::Debug;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use huginn_net::record::JsonEvent;
use huginn_net::{Event, HuginnNet};
use huginn_net_capture::CaptureReader;
use huginn_net_core::{
    Analyzer, Block, Builder, ChunkReader, DecodeConfig, Decoder, Fill, FlowKey, Frame, NextFrame, Protocol,
    Report, Source,
};
use huginn_net_http::HuginnNetHttp;
use huginn_net_tcp::TcpObserver;
use huginn_net_tls::TlsObserver;
use rustix::time::{ClockId, clock_gettime};

use memory_frames::MemoryFrames;
use packets::{PAGES, Packets, Repeat, SHORT};

/// Numbers of workers; the first one is the caller's thread.
const WORKERS: [usize; 5] = [1, 2, 4, 8, 16];
/// Minimum length of one pass, in bytes. A pass over less would measure how threads start.
const AT_LEAST: usize = 256 << 20;
/// Runs of each row. The quickest counts.
const RUNS: usize = 7;

fn main() {
    println!(
        "| packets | workers | CPU of all threads, ms | busiest thread | merging thread | filling | CPU, 1 = one worker | bound of the speedup | wall, ms | speedup |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let pages = Packets::from_captures(&PAGES, Repeat::NewFlows, AT_LEAST, |_| true);
    let short = Packets::from_captures(&SHORT, Repeat::NewFlows, AT_LEAST, |_| true);
    memory("TCP, pages", &pages, Analyzer::<TcpObserver>::builder);
    memory("TCP, short connections", &short, Analyzer::<TcpObserver>::builder);
    memory("HTTP, pages", &pages, HuginnNetHttp::builder);
    memory("HTTP, short connections", &short, HuginnNetHttp::builder);
    memory("TLS, short connections", &short, Analyzer::<TlsObserver>::builder);
    memory("all protocols, short connections", &short, HuginnNet::builder);
    queues("TCP, pages, a queue for each worker", &pages, Analyzer::<TcpObserver>::builder);
    queues("TCP, short connections, a queue for each worker", &short, Analyzer::<TcpObserver>::builder);
    queues("HTTP, pages, a queue for each worker", &pages, HuginnNetHttp::builder);
    queues("HTTP, short connections, a queue for each worker", &short, HuginnNetHttp::builder);
    queues("TLS, short connections, a queue for each worker", &short, Analyzer::<TlsObserver>::builder);
    for (name, packets) in [("pages", &pages), ("short connections", &short)] {
        let frames: Vec<_> = packets.frames().collect();
        as_json(&format!("all protocols as JSON, {name}"), || MemoryFrames::new(&frames));
    }
    for capture in arguments().filter(|argument| Path::new(argument).is_file()) {
        as_json(&format!("all protocols as JSON, {capture}"), || CaptureReader::open(&capture).unwrap());
    }
}

fn arguments() -> impl Iterator<Item = String> {
    std::env::args().skip(1).filter(|argument| !argument.starts_with("--"))
}

fn as_json<'f, S: Source<'f, Error: Debug + Send> + Send>(name: &str, source: impl Fn() -> S) {
    rows(name, |workers| {
        let builder = HuginnNet::builder().workers(workers.get());
        let has_each = std::env::args().any(|argument| argument == "--processor-each");
        let mut analyzer = if has_each { builder.processors(workers.get()) } else { builder }.build();
        let write = |event: &Event, line: &mut Vec<u8>| JsonEvent::new(event).write_to(line);
        let mut keep = |text: &[u8]| _ = black_box(text).len();
        analyzer.analyze_text(Measured(source()), write, &mut keep).unwrap().events
    });
}

/// The caller's thread receives and frees the events, or the workers free them and the caller's thread receives a value for each.
fn memory<P: Protocol>(name: &str, packets: &Packets, builder: impl Fn() -> Builder<P>) {
    let frames: Vec<_> = packets.frames().collect();
    rows(name, |workers| {
        let mut analyzer = builder().workers(workers.get()).build();
        analyzer
            .analyze(Measured(MemoryFrames::new(&frames)), &mut |event| _ = black_box(event))
            .unwrap()
            .events
    });
    rows(&format!("{name}, by reference"), |workers| {
        let mut analyzer = builder().workers(workers.get()).build();
        let each = |event: &huginn_net_core::Event<Report<P>>| _ = black_box(event);
        analyzer.analyze_ref(Measured(MemoryFrames::new(&frames)), each).unwrap().events
    });
}

/// Analyses packets that are divided by flow already, as those of the queues of a network card.
fn queues<P: Protocol>(name: &str, packets: &Packets, builder: impl Fn() -> Builder<P>) {
    let divided = WORKERS.map(|workers| divided_by_flow(packets, workers));
    rows(name, |workers| {
        let queues = divided.iter().find(|queues| queues.len() == workers.get()).unwrap();
        let sources = queues.iter().map(|frames| Measured(MemoryFrames::new(frames))).collect();
        builder().build().analyze_queues(sources, &mut |event| _ = black_box(event)).unwrap().events
    });
}

/// Divides packets into as many parts. All packets of a flow are in one part.
fn divided_by_flow(packets: &Packets, parts: usize) -> Vec<Vec<Frame<'_>>> {
    let mut decoder = Decoder::new(DecodeConfig::default());
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut divided = vec![Vec::new(); parts];
    for frame in packets.frames() {
        let mut part = 0;
        decoder.decode(&frame, &mut |segment| {
            part = hasher.hash_one(FlowKey::from_segment(segment).0) as usize % parts;
        });
        divided[part].push(frame);
    }
    divided
}

/// Prints the rows of an analysis, which returns its number of events.
fn rows(name: &str, mut analyse: impl FnMut(NonZeroUsize) -> u64) {
    let mut words = arguments().filter(|argument| !Path::new(argument).is_file()).peekable();
    if words.peek().is_some() && !words.any(|word| name.contains(&word)) {
        return;
    }
    let (mut sequential, mut events) = (None, None);
    for workers in WORKERS {
        let number = NonZeroUsize::new(workers).unwrap();
        let runs = (0..RUNS).map(|_| {
            let (start, before) = (Instant::now(), thread_cpu_nanos());
            THREADS.lock().unwrap_or_else(PoisonError::into_inner).clear();
            FILLING.store(0, Ordering::Relaxed);
            let found = analyse(number);
            let (wall, own) = (start.elapsed().as_nanos() as u64, thread_cpu_nanos() - before);
            assert_eq!(*events.get_or_insert(found), found, "{name}: events with {workers} workers");
            let others = std::mem::take(&mut *THREADS.lock().unwrap_or_else(PoisonError::into_inner));
            Run { wall, own, others, filling: FILLING.load(Ordering::Relaxed) }
        });
        let runs: Vec<_> = runs.collect();
        let [wall, all, busiest, own, filling] = [
            |run: &Run| run.wall,
            |run: &Run| run.own + run.others.iter().sum::<u64>(),
            |run: &Run| run.others.iter().copied().chain([run.own]).max().unwrap(),
            |run: &Run| run.own,
            |run: &Run| run.filling,
        ]
        .map(|value| runs.iter().map(value).min().unwrap() as f64 / 1e6);
        let (cpu_of_one, wall_of_one) = *sequential.get_or_insert((all, wall));
        println!(
            "| {name} | {workers} | {all:.1} | {busiest:.1} | {} | {} | {:.2} | {:.1} | {wall:.1} | {:.2} |",
            if workers == 1 { "-".to_owned() } else { format!("{own:.1}") },
            if filling == 0.0 { "-".to_owned() } else { format!("{filling:.1}") },
            all / cpu_of_one,
            cpu_of_one / busiest.max(filling),
            wall_of_one / wall,
        );
    }
}

/// The times of one run, in nanoseconds.
struct Run {
    wall: u64,
    /// CPU time of the caller's thread.
    own: u64,
    /// CPU times of the workers.
    others: Vec<u64>,
    /// CPU time of all fills.
    filling: u64,
}

/// CPU time in [`Source::fill`], which one thread at a time calls, in nanoseconds.
static FILLING: AtomicU64 = AtomicU64::new(0);

/// CPU times of the threads that have ended, in nanoseconds.
static THREADS: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// Adds the CPU time of its thread to [`THREADS`] when the thread ends.
struct OnExit;

impl Drop for OnExit {
    fn drop(&mut self) {
        THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(thread_cpu_nanos());
    }
}

thread_local! {
    static ON_EXIT: OnExit = const { OnExit };
}

/// Returns the CPU time of this thread, in nanoseconds.
fn thread_cpu_nanos() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as u64
}

/// A source whose workers report their CPU times.
struct Measured<S>(S);

impl<'f, S: Source<'f, Error: Debug>> Source<'f> for Measured<S> {
    type Error = S::Error;

    fn lends(&self) -> bool {
        self.0.lends()
    }

    fn next_frame(&mut self) -> Result<NextFrame<'_>, S::Error> {
        let next = self.0.next_frame();
        if matches!(next, Ok(NextFrame::End)) {
            ON_EXIT.with(|_| ());
        }
        next
    }

    fn chunks(&mut self, block_bytes: usize) -> Option<Arc<dyn ChunkReader>> {
        self.0.chunks(block_bytes)
    }

    fn fill(&mut self, block: &mut Block<'f>) -> Result<Fill, S::Error> {
        ON_EXIT.with(|_| ());
        let before = thread_cpu_nanos();
        let outcome = self.0.fill(block);
        FILLING.fetch_add(thread_cpu_nanos() - before, Ordering::Relaxed);
        outcome
    }
}
