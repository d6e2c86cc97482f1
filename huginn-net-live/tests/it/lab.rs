//! Network namespaces for tests, with senders and readers of frames.

use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use huginn_net_core::{Frame, LinkType, NextFrame, Source, Timestamp};
use huginn_net_live::{Backend, InterfaceStats, LiveOptions, LiveSource, interfaces};
use nix::sched::{CloneFlags, unshare};
use pnet_datalink::{Channel, DataLinkSender};

const BACKENDS: &[Backend] =
    if cfg!(feature = "libpcap") { &[Backend::Packet, Backend::Pcap] } else { &[Backend::Packet] };

/// Runs a test for each backend in a new network namespace, which applies to one thread and its children.
pub(crate) fn in_namespaces(test: impl Fn(Backend) + Sync) {
    for backend in BACKENDS {
        in_namespace(*backend, &test);
    }
}

/// Runs a test of packet sockets in a new network namespace.
pub(crate) fn in_packet_namespace(test: impl Fn(Backend) + Sync) {
    in_namespace(Backend::Packet, &test);
}

fn in_namespace(backend: Backend, test: &(impl Fn(Backend) + Sync)) {
    thread::scope(|scope| {
        let run = || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            // Prevents frames that the test does not send.
            std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
            ip("link set dev lo up");
            test(backend);
        };
        scope.spawn(run).join().unwrap_or_else(|_| panic!("with {backend:?}"));
    });
}

pub(crate) fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}

/// Creates a veth pair: `a` and `b`.
pub(crate) fn veth_pair() {
    join("a", "b");
}

/// Creates another veth pair: `c` and `d`.
pub(crate) fn second_veth_pair() {
    join("c", "d");
}

fn join(one: &str, other: &str) {
    ip(&format!("link add name {one} type veth peer name {other}"));
    ip(&format!("link set dev {one} up"));
    ip(&format!("link set dev {other} up"));
    // Frames sent before both ends have a carrier are lost.
    let is_ready = || {
        let interfaces = interfaces().unwrap();
        let is_running =
            |name| interfaces.iter().any(|interface| interface.name == name && interface.is_running);
        is_running(one) && is_running(other)
    };
    while !is_ready() {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(20));
}

pub(crate) fn options(backend: Backend) -> LiveOptions {
    let mut options = LiveOptions::default();
    options.backend = backend;
    options.buffer_bytes = 4 << 20;
    options
}

/// Builds an Ethernet frame with a UDP datagram whose payload is this number.
pub(crate) fn frame(number: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    frame.extend([0x30, 0x39, 0, 9, 0, 12, 0, 0]);
    frame.extend(number.to_be_bytes());
    frame
}

/// Builds such a frame with VLAN tags. The kernel removes at least the outermost tag from received frames and reports it
/// as metadata.
pub(crate) fn tagged(tags: &[u8]) -> Vec<u8> {
    let frame = frame(1);
    [&frame[..12], tags, &frame[12..]].concat()
}

/// Returns a sender of raw frames.
pub(crate) fn sender(interface: &str) -> Box<dyn DataLinkSender> {
    let interface =
        pnet_datalink::interfaces().into_iter().find(|other| other.name == interface).expect("interface");
    match pnet_datalink::channel(&interface, pnet_datalink::Config::default()) {
        Ok(Channel::Ethernet(sender, _)) => sender,
        _ => panic!("no channel"),
    }
}

pub(crate) fn send(interface: &str, numbers: std::ops::Range<u32>) {
    let mut sender = sender(interface);
    for number in numbers {
        sender.send_to(&frame(number), None).unwrap().unwrap();
    }
}

/// A frame that was lent.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) ts: Timestamp,
    pub(crate) data: Vec<u8>,
    pub(crate) wire_len: u32,
}

impl From<Frame<'_>> for Lent {
    fn from(frame: Frame<'_>) -> Self {
        Self { ts: frame.ts, data: frame.data.to_vec(), wire_len: frame.wire_len }
    }
}

impl Lent {
    pub(crate) fn number(&self) -> u32 {
        u32::from_be_bytes(*self.data.last_chunk().unwrap())
    }
}

/// Reads this many frames, or those that arrive within ten seconds.
pub(crate) fn lend(source: &mut LiveSource, count: usize) -> Vec<Lent> {
    let (done, is_done) = mpsc::channel::<()>();
    let stopper = source.stopper();
    let watch = thread::spawn(move || {
        if is_done.recv_timeout(Duration::from_secs(10)) == Err(mpsc::RecvTimeoutError::Timeout) {
            stopper.stop();
        }
    });
    let mut lent = Vec::new();
    while lent.len() < count {
        let frame = match source.next_frame().unwrap() {
            NextFrame::Frame(frame) => frame,
            NextFrame::Idle => continue,
            NextFrame::End => break,
        };
        assert_eq!(frame.link, LinkType::ETHERNET);
        lent.push(frame.into());
    }
    drop(done);
    watch.join().unwrap();
    lent
}

/// Returns whether the source ends without waiting.
pub(crate) fn has_ended(source: &mut LiveSource) -> bool {
    matches!(source.next_frame(), Ok(NextFrame::End))
}

/// Returns whether the source reports that no frame is ready.
pub(crate) fn is_idle(source: &mut LiveSource) -> bool {
    matches!(source.next_frame(), Ok(NextFrame::Idle))
}

/// Waits until the source ends.
pub(crate) fn wait_for_end(source: &mut LiveSource) {
    while is_idle(source) {}
    assert!(has_ended(source));
}

pub(crate) fn numbers(lent: &[Lent]) -> Vec<u32> {
    lent.iter().map(Lent::number).collect()
}

/// Stops the source. Returns the frames still lent, and the statistics of its first interface.
pub(crate) fn end(mut source: LiveSource) -> (Vec<Lent>, InterfaceStats) {
    let stats = source.stats();
    source.stopper().stop();
    let lent = lend(&mut source, usize::MAX);
    assert!(has_ended(&mut source));
    (lent, stats.interfaces().remove(0))
}
