//! Runs the rows of a bench and prints them as one table; shared by several benches.
#![allow(dead_code, reason = "no bench uses everything")]

use std::cell::LazyCell;
use std::convert::Infallible;
use std::fs;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode};
use huginn_net_core::{Analyzer, Builder, Event, Protocol, Report, Source};

use crate::memory_frames::MemoryFrames;
use crate::packets::{PACKETS_AT_1_GBPS, Packets, Repeat};

/// Numbers of workers that are measured beside the sequential engine.
const WORKERS: [NonZeroUsize; 3] = [number(2), number(4), number(8)];
/// Sizes of a block that are measured, in KiB; the default is 512.
const BLOCKS: [usize; 7] = [32, 64, 128, 256, 512, 1024, 2048];
/// Number of workers with which the size of a block is measured.
const BLOCK_WORKERS: NonZeroUsize = number(2);
/// Samples of each row.
const SAMPLES: usize = 10;
/// Unit of CPU times, in nanoseconds (proc(5) and sysconf(3): 100 ticks a second on Linux).
const TICK: f64 = 1e7;

/// The benches of a protocol, and their table.
pub(crate) struct Bench {
    name: &'static str,
    pub(crate) criterion: Criterion,
    rows: Vec<Row>,
    remarks: Vec<String>,
}

/// Packets that are built when the first row needs them.
pub(crate) type LazyPackets = LazyCell<Packets, Box<dyn FnOnce() -> Packets>>;

pub(crate) fn lazy(make: impl FnOnce() -> Packets + 'static) -> LazyPackets {
    LazyCell::new(Box::new(make))
}

/// Calls `measure` with the name and packets of each set of captures, once for each [`Repeat`]. The packets of a set have
/// at least the given number of bytes. The third argument tells whether to measure block sizes, which is set for the new
/// flows of the first set.
pub(crate) fn each_set(
    sets: &[(&str, &'static [&'static str], usize)],
    mut measure: impl FnMut(&str, &LazyPackets, bool),
) {
    for (n, &(name, captures, at_least)) in sets.iter().enumerate() {
        for repeat in Repeat::BOTH {
            let packets = lazy(move || Packets::from_captures(captures, repeat, at_least, |_| true));
            measure(&format!("{name}, {repeat}"), &packets, n == 0 && repeat == Repeat::NewFlows);
        }
    }
}

struct Row {
    operation: String,
    mode: String,
    /// Nanoseconds per packet: the median of Criterion's samples.
    nanos: f64,
    /// CPU nanoseconds per packet of all threads, if the system reports them.
    cpu_nanos: Option<f64>,
    events: u64,
}

impl Bench {
    pub(crate) fn new(name: &'static str) -> Self {
        let criterion = Criterion::default()
            .sample_size(SAMPLES)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(1))
            .configure_from_args();
        Self { name, criterion, rows: Vec::new(), remarks: Vec::new() }
    }

    /// Measures passes over packets. If the row is selected, `prepare` returns the number of packets and the pass, which
    /// returns its number of events.
    pub(crate) fn row<F: FnMut() -> u64>(
        &mut self,
        operation: &str,
        mode: &str,
        prepare: impl FnOnce() -> (usize, F),
    ) {
        let (mut prepare, mut prepared) = (Some(prepare), None);
        let (mut samples, mut events) = (Vec::new(), None);
        let (mut packets_in_all, mut cpu) = (0.0, Some(0.0));
        let mut group = self.criterion.benchmark_group(self.name);
        group.sampling_mode(SamplingMode::Flat);
        group.bench_function(format!("{operation}, {mode}"), |b| {
            let (packets, pass) = prepared.get_or_insert_with(|| prepare.take().unwrap()());
            b.iter_custom(|passes| {
                let (start, cpu_start) = (Instant::now(), cpu_nanos());
                for _ in 0..passes {
                    let found = black_box(pass());
                    assert_eq!(*events.get_or_insert(found), found, "{operation}: of the same packets");
                }
                let (time, cpu_end) = (start.elapsed(), cpu_nanos());
                let packets = passes as f64 * *packets as f64;
                packets_in_all += packets;
                cpu = (|| Some(cpu? + cpu_end? - cpu_start?))();
                samples.push(time.as_nanos() as f64 / packets);
                time
            });
        });
        group.finish();
        // Earlier samples belong to the warm-up.
        let mut samples = samples.split_off(samples.len().saturating_sub(SAMPLES));
        samples.sort_by(f64::total_cmp);
        if let (Some(&nanos), Some(events)) = (samples.get(samples.len() / 2), events) {
            let (operation, mode) = (operation.to_owned(), mode.to_owned());
            let cpu_nanos = cpu.map(|cpu| cpu / packets_in_all);
            self.rows.push(Row { operation, mode, nanos, cpu_nanos, events });
        }
    }

    /// Measures analyses of packets: without matching, with each part of the matching, with both, and with both from start
    /// to end, where events are dropped where they are found or passed by value; also with several block sizes, if `sweep` is set. A part
    /// has a name and a function that reads an event.
    pub(crate) fn analyses<P: Protocol<SharedState: Forget>>(
        &mut self,
        name: &str,
        packets: &LazyPackets,
        builder: impl Fn() -> Builder<P>,
        (one_name, one): (&str, impl Fn(&Report<P>) + Sync),
        (other_name, other): (&str, impl Fn(&Report<P>) + Sync),
        sweep: bool,
    ) {
        let full = |event: Event<Report<P>>| {
            one(&event.kind);
            other(&event.kind);
            event
        };
        self.analysis(&format!("{name}: analysis, nothing matched"), packets, &builder, |event| event);
        self.analysis(&format!("{name}: analysis, {one_name} matched"), packets, &builder, |event| {
            one(&event.kind);
            event
        });
        self.analysis(&format!("{name}: analysis, {other_name} matched"), packets, &builder, |event| {
            other(&event.kind);
            event
        });
        self.analysis(&format!("{name}: full analysis"), packets, &builder, full);
        let operation = format!("{name}: full analysis, events dropped, start to end");
        let dropped = |event| drop(full(event));
        self.complete_analysis(&operation, packets, &builder, dropped);
        if sweep {
            self.block_sweep(&operation, packets, &builder, dropped);
        }
        let by_value = format!("{name}: full analysis, start to end");
        self.complete_analysis(&by_value, packets, &builder, full);
    }

    /// Measures the sequential engine over packets, with flow memory allocated by the previous pass. Drops the results of
    /// `map`.
    pub(crate) fn analysis<P: Protocol<SharedState: Forget>, T: Send>(
        &mut self,
        operation: &str,
        packets: &LazyPackets,
        builder: impl Fn() -> Builder<P>,
        map: impl Fn(Event<Report<P>>) -> T + Sync,
    ) {
        self.row(operation, "sequential", || {
            let frames: Vec<_> = packets.frames().collect();
            let mut analyzer = builder().build();
            (frames.len(), move || {
                let before = analyzer.counters().events;
                analyzer.shared_state_mut().forget();
                analyse(&mut analyzer, MemoryFrames::new(&frames), &map) - before
            })
        });
    }

    /// Measures complete analyses with a new analyzer: the sequential engine, and each number of workers.
    pub(crate) fn complete_analysis<P: Protocol, T: Send>(
        &mut self,
        operation: &str,
        packets: &LazyPackets,
        builder: impl Fn() -> Builder<P>,
        map: impl Fn(Event<Report<P>>) -> T + Sync,
    ) {
        let modes = WORKERS.map(|workers| (workers, format!("{workers} workers")));
        for (workers, mode) in [(NonZeroUsize::MIN, "sequential".to_owned())].into_iter().chain(modes) {
            self.row(operation, &mode, || {
                let frames: Vec<_> = packets.frames().collect();
                let (builder, map) = (&builder, &map);
                (frames.len(), move || {
                    analyse(&mut builder().workers(workers.get()).build(), MemoryFrames::new(&frames), map)
                })
            });
        }
    }

    /// Measures complete analyses with several block sizes, and adds a remark with the fastest one.
    pub(crate) fn block_sweep<P: Protocol, T: Send>(
        &mut self,
        operation: &str,
        packets: &LazyPackets,
        builder: impl Fn() -> Builder<P>,
        map: impl Fn(Event<Report<P>>) -> T + Sync,
    ) {
        let before = self.rows.len();
        for kib in BLOCKS {
            self.row(operation, &format!("{BLOCK_WORKERS} workers, blocks of {kib} KiB"), || {
                let frames: Vec<_> = packets.frames().collect();
                let (builder, map) = (&builder, &map);
                (frames.len(), move || {
                    let mut analyzer = builder().workers(BLOCK_WORKERS.get()).block_bytes(kib << 10).build();
                    analyse(&mut analyzer, MemoryFrames::new(&frames), map)
                })
            });
        }
        let quickest = self.rows[before..].iter().min_by(|one, other| one.nanos.total_cmp(&other.nanos));
        if let Some(Row { mode, .. }) = quickest {
            self.remarks.push(format!("{operation}: the quickest block size: {mode}"));
        }
    }

    /// Adds a line below the table.
    pub(crate) fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }

    /// Prints the table.
    pub(crate) fn finish(self) {
        self.criterion.final_summary();
        println!(
            "\n| {}: operation | by | ns a packet | CPU ns | packets/s | at 1 Gbps | at 10 Gbps | events |",
            self.name
        );
        println!("|---|---|--:|--:|--:|--:|--:|--:|");
        for Row { operation, mode, nanos, cpu_nanos, events } in &self.rows {
            let cpu = cpu_nanos.map_or_else(|| "?".to_owned(), |nanos| format!("{nanos:.1}"));
            let rate = with_commas((1e9 / nanos) as u64);
            let [slow, fast] = [1.0, 10.0].map(|gbps| share(nanos * gbps * PACKETS_AT_1_GBPS as f64 / 1e7));
            let events = with_commas(*events);
            println!("| {operation} | {mode} | {nanos:.1} | {cpu} | {rate} | {slow} | {fast} | {events} |");
        }
        for remark in &self.remarks {
            println!("- {remark}");
        }
    }
}

/// Runs one pass over packets. Returns the number of events since the analyzer was built.
fn analyse<'f, P: Protocol, T: Send>(
    analyzer: &mut Analyzer<P>,
    source: impl Source<'f, Error = Infallible> + Send,
    map: impl Fn(Event<Report<P>>) -> T + Sync,
) -> u64 {
    let mut sink = |made: T| _ = black_box(made);
    analyzer.analyze_map(source, map, &mut sink).unwrap().events
}

/// Shared state that can be cleared, so that every pass reports the same events.
pub(crate) trait Forget {
    fn forget(&mut self);
}

impl Forget for () {
    fn forget(&mut self) {}
}

/// Formats the CPU use of one core in percent.
fn share(percents: f64) -> String {
    let overload = if percents > 100.0 { " OVERLOAD" } else { "" };
    format!("{percents:.2} %{overload}")
}

pub(crate) fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

const fn number(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap()
}

/// Returns the CPU time of this process, ended threads included, if the system reports it (proc(5)).
fn cpu_nanos() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = |n| fields.split(' ').nth(n)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) * TICK)
}
