//! Measures loss and CPU time per packet of receivers that only read an interface.
//!
//! As root: `cargo run --release --manifest-path benches/peers/Cargo.toml --features libpcap --example live_receivers`.
//! The program creates a network namespace with a veth pair.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement may panic"
)]

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use huginn_net_core::{NextFrame, Source};
use huginn_net_live::{Backend, LiveOptions, LiveSource};
use nix::sched::{CloneFlags, unshare};
use pnet_datalink::{Channel, Config, NetworkInterface};

const FRAME_LEN: usize = 500;
const SECONDS: u64 = 3;
const RATES: [u64; 5] = [1_000, 20_000, 50_000, 100_000, 200_000];
const HEADINGS: [&str; 7] =
    ["receiver", "wanted/s", "sent/s", "lost %", "CPU % of a core", "ns/packet", "late (µs)"];

/// Opens the interface and reads until it is stopped.
type Receiver = fn(&AtomicBool) -> Outcome;

struct Outcome {
    /// Number of received frames.
    seen: u64,
    /// CPU time of the receiving thread.
    spent: Duration,
    /// Nanoseconds between capture and receipt of each frame, if known.
    late: Vec<u64>,
}

fn main() {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
    for arguments in
        ["link add name left type veth peer name right", "link set dev left up", "link set dev right up"]
    {
        assert!(Command::new("ip").args(arguments.split(' ')).status().unwrap().success());
    }
    let mut receivers: Vec<(&str, Receiver)> = vec![
        ("pnet", pnet),
        ("packet, 1 MiB", |stop| live(stop, &options(Backend::Packet, 1 << 20))),
        ("packet, 32 MiB", |stop| live(stop, &options(Backend::Packet, 32 << 20))),
    ];
    if cfg!(feature = "libpcap") {
        receivers.push(("libpcap, 32 MiB", |stop| live(stop, &options(Backend::Pcap, 32 << 20))));
        receivers.push(("libpcap, 32 MiB, at once", |stop| {
            let mut options = options(Backend::Pcap, 32 << 20);
            options.buffer_timeout = Duration::ZERO;
            live(stop, &options)
        }));
    }
    let [receiver, rate, sent, lost, cpu, each, late] = HEADINGS;
    println!("{receiver:26}{rate:>10}{sent:>10}{lost:>8}{cpu:>18}{each:>12}{late:>12}");
    for rate in RATES {
        for (name, receiver) in &receivers {
            measure(name, *receiver, rate);
        }
    }
}

fn measure(name: &str, receiver: Receiver, rate: u64) {
    let stop = AtomicBool::new(false);
    let (sent, Outcome { seen, spent, mut late }) = thread::scope(|scope| {
        let receiving = scope.spawn(|| receiver(&stop));
        thread::sleep(Duration::from_millis(500));
        let sent = send(rate);
        thread::sleep(Duration::from_millis(500));
        stop.store(true, Ordering::Relaxed);
        (sent, receiving.join().unwrap())
    });
    let seconds = SECONDS as f64;
    late.sort_unstable();
    println!(
        "{name:26}{rate:10}{:10.0}{:8.2}{:18.1}{:12.0}{:>12}",
        sent as f64 / seconds,
        (sent - seen) as f64 * 100.0 / sent as f64,
        spent.as_secs_f64() * 100.0 / seconds,
        spent.as_nanos() as f64 / seen as f64,
        late.get(late.len() / 2).map_or("-".to_owned(), |nanos| (nanos / 1000).to_string()),
    );
}

/// Sends at this rate, in one burst per millisecond.
fn send(rate: u64) -> u64 {
    let Ok(Channel::Ethernet(mut sender, _)) = pnet_datalink::channel(&interface("right"), Config::default())
    else {
        panic!("no channel")
    };
    let mut frame = [0; FRAME_LEN];
    frame[12..14].copy_from_slice(&[8, 0]);
    let (begun, mut sent) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(SECONDS) {
        let due = begun.elapsed().as_millis() as u64 * rate / 1000;
        while sent < due && begun.elapsed() < Duration::from_secs(SECONDS) {
            sender.send_to(&frame, None).unwrap().unwrap();
            sent += 1;
        }
        thread::sleep(Duration::from_micros(500));
    }
    sent
}

fn pnet(stop: &AtomicBool) -> Outcome {
    let config = Config { read_timeout: Some(Duration::from_millis(50)), ..Config::default() };
    let Ok(Channel::Ethernet(_, mut receiver)) = pnet_datalink::channel(&interface("left"), config) else {
        panic!("no channel")
    };
    let (mut seen, before) = (0, processor_time());
    while !stop.load(Ordering::Relaxed) {
        seen += u64::from(receiver.next().is_ok());
    }
    Outcome { seen, spent: processor_time() - before, late: Vec::new() }
}

fn options(backend: Backend, buffer_bytes: usize) -> LiveOptions {
    let mut options = LiveOptions::default();
    (options.backend, options.buffer_bytes) = (backend, buffer_bytes);
    options
}

fn live(stop: &AtomicBool, options: &LiveOptions) -> Outcome {
    let mut source = LiveSource::open(&["left"], options).unwrap();
    let (stopper, stats) = (source.stopper(), source.stats());
    let mut late = Vec::with_capacity(1 << 20);
    let before = processor_time();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(10));
            }
            stopper.stop();
        });
        loop {
            match source.next_frame().unwrap() {
                NextFrame::Frame(frame) => {
                    let taken_at = stats.taken_at().unwrap().as_nanos();
                    late.push(taken_at.saturating_sub(frame.ts.as_nanos()));
                }
                NextFrame::Idle => {}
                NextFrame::End => break,
            }
        }
    });
    Outcome { seen: late.len() as u64, spent: processor_time() - before, late }
}

fn interface(name: &str) -> NetworkInterface {
    pnet_datalink::interfaces().into_iter().find(|interface| interface.name == name).unwrap()
}

/// Returns the CPU time of this thread (`proc_pid_schedstat(5)`).
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}
