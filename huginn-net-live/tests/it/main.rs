//! Captures from interfaces in network namespaces that the tests create as root:
//! `cargo test -p huginn-net-live --test it -- --ignored`, and again with `--features libpcap`.
#![cfg(target_os = "linux")]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod flaps;
mod lab;
mod order;
mod patterns;
mod queues;

use std::net::UdpSocket;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use huginn_net_live::{Backend, InterfaceState, LiveError, LiveOptions, LiveSource, interfaces};

use crate::lab::{
    end, frame, has_ended, in_namespaces, in_packet_namespace, ip, is_idle, lend, numbers, options, send,
    sender, tagged, veth_pair, wait_for_end,
};

const NOTHING: &[&str] = &[];

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn loopback_datagram_is_captured_once() {
    in_namespaces(|backend| {
        let mut source = LiveSource::open(&["lo"], &options(backend)).unwrap();
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let before = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
        for number in 0..1000_u32 {
            sender.send_to(&number.to_be_bytes(), receiver.local_addr().unwrap()).unwrap();
        }
        let lent = lend(&mut source, 1000);
        let after = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
        assert_eq!(numbers(&lent), (0..1000).collect::<Vec<_>>());
        for lent in &lent {
            assert_eq!((lent.data.len(), lent.wire_len, lent.ts.digits()), (14 + 20 + 8 + 4, 46, 9));
            assert!((before..=after).contains(&u128::from(lent.ts.as_nanos())));
        }
        let taken_at = u128::from(source.stats().taken_at().unwrap().as_nanos());
        assert!(taken_at <= after && taken_at >= u128::from(lent[999].ts.as_nanos()));
        let (rest, stats) = end(source);
        assert_eq!((rest.len(), stats.received, stats.kernel_dropped), (0, 1000, 0));
        assert_eq!((stats.interface_dropped, stats.state), (Some(0), InterfaceState::Up));
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn captures_both_directions_on_two_interfaces() {
    in_namespaces(|backend| {
        veth_pair();
        let mut source = LiveSource::open(&["a", "b"], &options(backend)).unwrap();
        let stats = source.stats();
        send("a", 0..100);
        send("b", 100..200);
        let mut numbers = numbers(&lend(&mut source, 400));
        numbers.sort_unstable();
        let want: Vec<_> = (0..200).flat_map(|number| [number, number]).collect();
        assert_eq!(numbers, want);
        drop(source);
        let received: Vec<_> = stats.interfaces().iter().map(|stats| stats.received).collect();
        assert_eq!(received, [200, 200]);
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn source_is_idle_after_last_frame() {
    in_namespaces(|backend| {
        veth_pair();
        let mut source = LiveSource::open(&["a"], &options(backend)).unwrap();
        assert!(is_idle(&mut source));
        send("b", 0..200);
        // The kernel may buffer the frames this long.
        thread::sleep(Duration::from_millis(50));
        assert_eq!(lend(&mut source, 200).len(), 200);
        let start_time = Instant::now();
        assert!(is_idle(&mut source));
        assert!(start_time.elapsed() < Duration::from_millis(5), "the source returns idle without waiting");
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn woken_source_returns_idle_at_once() {
    in_namespaces(|backend| {
        let mut source = LiveSource::open(&["lo"], &options(backend)).unwrap();
        let stopper = source.stopper();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            stopper.wake();
        });
        assert!(is_idle(&mut source));
        let start_time = Instant::now();
        assert!(is_idle(&mut source));
        assert!((50..500).contains(&start_time.elapsed().as_millis()), "{:?}", start_time.elapsed());
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn stop_ends_waiting_source() {
    in_namespaces(|backend| {
        let mut source = LiveSource::open(&["lo"], &options(backend)).unwrap();
        let stopper = source.stopper();
        let start_time = Instant::now();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            stopper.stop();
        });
        wait_for_end(&mut source);
        assert!((300..600).contains(&start_time.elapsed().as_millis()), "{:?}", start_time.elapsed());
        assert!(has_ended(&mut source));
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn stop_lends_only_earlier_frames() {
    in_namespaces(|backend| {
        veth_pair();
        let source = LiveSource::open(&["a"], &options(backend)).unwrap();
        send("b", 0..500);
        let (flood, is_over) = mpsc::channel::<()>();
        let mut sender = sender("b");
        source.stopper().stop();
        thread::scope(|scope| {
            scope.spawn(move || {
                while is_over.try_recv() == Err(mpsc::TryRecvError::Empty) {
                    sender.send_to(&frame(u32::MAX), None).unwrap().unwrap();
                }
            });
            let (lent, stats) = end(source);
            drop(flood);
            let numbers = numbers(&lent);
            assert_eq!(numbers[..500], (0..500).collect::<Vec<_>>());
            assert_eq!(stats.received, lent.len() as u64);
        });
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn received_and_dropped_equal_sent() {
    const SENT: u32 = 20_000;
    in_namespaces(|backend| {
        veth_pair();
        let mut options = options(backend);
        (options.buffer_bytes, options.snaplen) = (1 << 16, 256);
        let mut source = LiveSource::open(&["a"], &options).unwrap();
        send("b", 0..SENT / 2);
        // The ring of libpcap has one block, which a timer may close after any frame if the sender is interrupted.
        let first = lend(&mut source, 1);
        assert_eq!(numbers(&first), [0]);
        send("b", SENT / 2..SENT);
        let (rest, stats) = end(source);
        assert_eq!(stats.received, (first.len() + rest.len()) as u64);
        assert!(stats.kernel_dropped > 0);
        // On a busy machine the queue of the veth pair may overflow as well.
        let veth_dropped = stats.interface_dropped.unwrap();
        assert_eq!(stats.received + stats.kernel_dropped + veth_dropped, u64::from(SENT), "{stats:?}");
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn bursts_longer_than_ring_block_arrive_complete() {
    /// Frames that fill more than 1 MiB, including the kernel's frame headers.
    const BURST: u32 = 700;
    in_namespaces(|backend| {
        veth_pair();
        let mut source = LiveSource::open(&["a"], &options(backend)).unwrap();
        let long = |number: u32| [frame(0), vec![7; 1400], number.to_be_bytes().to_vec()].concat();
        let mut sender = sender("b");
        // Enough to wrap around the ring.
        for round in 0..8 {
            let numbers = round * BURST..(round + 1) * BURST;
            for number in numbers.clone() {
                sender.send_to(&long(number), None).unwrap().unwrap();
            }
            for (lent, number) in lend(&mut source, BURST as usize).iter().zip(numbers) {
                assert_eq!(lent.data, long(number));
            }
        }
        let (rest, stats) = end(source);
        assert_eq!((rest.len(), stats.received, stats.kernel_dropped), (0, u64::from(8 * BURST), 0));
    });
}

/// A process that is stopped does not read: the ring alone bridges the stop.
#[test]
#[ignore = "needs CAP_NET_RAW"]
fn reader_that_stalls_for_three_seconds_loses_nothing() {
    const STALL: Duration = Duration::from_secs(3);
    // libpcap chooses the blocks of its ring.
    in_packet_namespace(|_| {
        veth_pair();
        for rate in [200, 20_000] {
            let mut source = LiveSource::open(&["a"], &LiveOptions::default()).unwrap();
            let mut sender = sender("b");
            let (begun, mut sent) = (Instant::now(), 0);
            while begun.elapsed() < STALL {
                while f64::from(sent) < begun.elapsed().as_secs_f64() * f64::from(rate) {
                    sender.send_to(&frame(sent), None).unwrap().unwrap();
                    sent += 1;
                }
                thread::sleep(Duration::from_millis(1));
            }
            assert!(sent > 2 * rate, "the sender reaches only {sent} frames in 3 s");
            let lent = lend(&mut source, sent as usize);
            assert_eq!(numbers(&lent), (0..sent).collect::<Vec<_>>());
            assert_eq!(end(source).1.kernel_dropped, 0, "at {rate} frames/s");
        }
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn longest_frames_arrive_complete() {
    in_namespaces(|backend| {
        let mut source = LiveSource::open(&["lo"], &options(backend)).unwrap();
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for number in 0..20_u8 {
            sender.send_to(&[number; 65_507], receiver.local_addr().unwrap()).unwrap();
        }
        for (lent, number) in lend(&mut source, 20).iter().zip(0..) {
            assert_eq!((lent.data.len(), lent.wire_len), (14 + 20 + 8 + 65_507, 65_549));
            assert_eq!(lent.data[42..], [number; 65_507]);
        }
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn restores_vlan_tags_removed_by_kernel() {
    in_namespaces(|backend| {
        veth_pair();
        let mut source = LiveSource::open(&["a"], &options(backend)).unwrap();
        let tags = [
            &[][..],
            &[0x81, 0, 0, 5],
            &[0x81, 0, 0xef, 0xff],
            &[0x81, 0, 0, 0],
            &[0x88, 0xa8, 0, 7],
            &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9],
        ];
        let mut sender = sender("b");
        for tags in tags {
            let sent = tagged(tags);
            sender.send_to(&sent, None).unwrap().unwrap();
            let lent = lend(&mut source, 1).remove(0);
            assert_eq!((lent.data, lent.wire_len as usize), (sent.clone(), sent.len()));
        }
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn snap_length_truncates_frames() {
    in_namespaces(|backend| {
        veth_pair();
        let mut options = options(backend);
        options.snaplen = 100;
        let mut source = LiveSource::open(&["a"], &options).unwrap();
        let (mut long, mut long_tagged) = (frame(0), tagged(&[0x81, 0, 0, 5]));
        long.resize(1000, 7);
        long_tagged.resize(1004, 7);
        sender("b").send_to(&long, None).unwrap().unwrap();
        sender("b").send_to(&long_tagged, None).unwrap().unwrap();
        let lent = lend(&mut source, 2);
        assert_eq!((&lent[0].data[..], lent[0].wire_len), (&long[..100], 1000));
        assert_eq!(lent[1].wire_len, 1004);
        // The snap length may include the tag or not.
        let len = lent[1].data.len();
        assert!((100..=104).contains(&len));
        assert_eq!(lent[1].data, &long_tagged[..len]);
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn waiting_source_uses_no_cpu() {
    in_namespaces(|backend| {
        veth_pair();
        let mut source = LiveSource::open(&["a", "b"], &options(backend)).unwrap();
        ip("link del dev a");
        let stopper = source.stopper();
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(4));
            stopper.stop();
        });
        let before = processor_time();
        wait_for_end(&mut source);
        let spent = processor_time() - before;
        assert!(spent < Duration::from_millis(100), "{spent:?} in 4 s");
    });
}

/// Returns the CPU time of this thread (`proc_pid_schedstat(5)`).
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn open_errors_name_the_cause() {
    in_namespaces(|backend| {
        match LiveSource::open(&["lo", "nowhere"], &options(backend)) {
            Err(LiveError::UnknownInterface { name, known }) => {
                assert_eq!((name.as_str(), known), ("nowhere", vec!["lo".to_owned()]));
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(LiveSource::open(NOTHING, &options(backend)), Err(LiveError::NoInterface)));
        match LiveSource::open(&["lo", "lo"], &options(backend)) {
            Err(LiveError::DuplicateInterface { name }) => assert_eq!(name, "lo"),
            other => panic!("{other:?}"),
        }
        assert!(LiveSource::open(&["any"], &options(backend)).is_ok());
        match (LiveSource::open(&["l*"], &options(backend)), backend) {
            (Err(LiveError::PatternNeedsPacket { name }), Backend::Pcap) => assert_eq!(name, "l*"),
            (Ok(_), Backend::Packet) => {}
            (other, _) => panic!("{other:?}"),
        }
        let mut options = options(backend);
        options.expression = Some("udp port".to_owned());
        match LiveSource::open(&["lo"], &options) {
            Err(LiveError::ExpressionNeedsLibpcap) => assert_eq!(backend, Backend::Packet),
            Err(LiveError::Expression { expression, .. }) => {
                assert_eq!((expression.as_str(), backend), ("udp port", Backend::Pcap));
            }
            other => panic!("{other:?}"),
        }
    });
}

#[cfg(feature = "libpcap")]
#[test]
#[ignore = "needs CAP_NET_RAW"]
fn expressions_select_frames() {
    in_namespaces(|backend| {
        if backend != Backend::Pcap {
            return;
        }
        veth_pair();
        let mut options = options(backend);
        options.expression = Some("udp[8:4] >= 150".to_owned());
        let source = LiveSource::open(&["a"], &options).unwrap();
        send("b", 0..200);
        let (lent, stats) = end(source);
        assert_eq!(numbers(&lent), (150..200).collect::<Vec<_>>());
        assert_eq!((stats.received, stats.kernel_dropped), (50, 0));
    });
}

#[test]
#[ignore = "needs root to create a namespace"]
fn interfaces_are_listed() {
    in_namespaces(|_| {
        ip("link add name a type veth peer name b");
        ip("link set dev a address 02:00:00:00:00:01 mtu 1400 up");
        ip("addr add 192.0.2.1/24 dev a");
        let list = interfaces().unwrap();
        let names: Vec<_> = list.iter().map(|interface| interface.name.as_str()).collect();
        assert_eq!(names, ["lo", "b", "a"]);
        let (lo, a) = (&list[0], &list[2]);
        assert!(lo.is_loopback && lo.is_up && lo.mac.is_none() && lo.index == 1);
        assert_eq!(lo.addresses, ["127.0.0.1/8", "::1/128"].map(|net| net.parse().unwrap()));
        assert!(a.is_up && !a.is_running && !a.is_loopback && !list[1].is_up);
        assert_eq!(a.mac, Some([2, 0, 0, 0, 0, 1]));
        assert_eq!(a.addresses, ["192.0.2.1/24".parse().unwrap()]);
    });
}
