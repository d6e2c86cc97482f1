//! Patterns of interfaces that come and go.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use huginn_net_core::{LinkType, NextFrame, Source};
use huginn_net_live::{InterfaceState, LiveError, LiveSource};

use crate::lab::{
    Lent, end, in_packet_namespace, ip, is_idle, lend, numbers, options, second_veth_pair, send, veth_pair,
};

const TIMEOUT: Duration = Duration::from_secs(20);

/// Opens a source whose notices go to a channel, as text.
fn open_with_notices(interfaces: &[&str]) -> (LiveSource, mpsc::Receiver<String>) {
    let mut source = LiveSource::open(interfaces, &options(huginn_net_live::Backend::Packet)).unwrap();
    let (sender, received) = mpsc::channel();
    source.on_notice(move |notice| _ = sender.send(notice.to_string()));
    (source, received)
}

/// Reads from a source without frames until it has these notices, in any order.
fn await_notices(source: &mut LiveSource, received: &mpsc::Receiver<String>, mut wanted: Vec<&str>) {
    let start = Instant::now();
    while !wanted.is_empty() {
        assert!(start.elapsed() < TIMEOUT, "no notice: {wanted:?}");
        assert!(is_idle(source), "a frame came, not {wanted:?}");
        for notice in received.try_iter() {
            let found = wanted.iter().position(|wanted| *wanted == notice);
            wanted.remove(found.unwrap_or_else(|| panic!("{notice}, not {wanted:?}")));
        }
    }
}

/// Counts frames by the names of their interfaces.
fn by_interface(source: &LiveSource, lent: &[Lent]) -> BTreeMap<String, usize> {
    let names = source.interface_names();
    let mut counts = BTreeMap::new();
    for lent in lent {
        let name = names.get(lent.ts.interface()).unwrap();
        *counts.entry(name.to_string()).or_default() += 1;
    }
    counts
}

/// The numbers of the frames of [`send`]: bridges send others.
fn sent(lent: Vec<Lent>) -> Vec<u32> {
    lent.iter().filter(|lent| lent.data[23] == 17).map(Lent::number).collect()
}

fn counts<const N: usize>(of: [(&str, usize); N]) -> BTreeMap<String, usize> {
    of.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn packet_on_both_ends_of_a_veth_pair_is_captured_once() {
    in_packet_namespace(|backend| {
        veth_pair();
        let mut source = LiveSource::open(&["any"], &options(backend)).unwrap();
        send("a", 0..100);
        send("b", 100..300);
        let lent = lend(&mut source, 300);
        assert_eq!(numbers(&lent), (0..300).collect::<Vec<_>>());
        // Each packet has the interface that sent it.
        assert_eq!(by_interface(&source, &lent), counts([("a", 100), ("b", 200)]));
        let (rest, stats) = end(source);
        assert_eq!((rest.len(), stats.received, stats.copies, stats.kernel_dropped), (0, 300, Some(300), 0));
        assert_eq!((stats.name.as_str(), stats.state), ("any", InterfaceState::Up));
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn packet_that_is_sent_again_is_captured_again() {
    in_packet_namespace(|backend| {
        veth_pair();
        let mut source = LiveSource::open(&["any"], &options(backend)).unwrap();
        for _ in 0..3 {
            send("b", 7..8);
        }
        assert_eq!(numbers(&lend(&mut source, 3)), [7, 7, 7]);
        let (rest, stats) = end(source);
        assert_eq!((rest.len(), stats.copies), (0, Some(3)));
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn packet_of_a_bridge_with_its_ports_is_captured_once() {
    in_packet_namespace(|backend| {
        veth_pair();
        second_veth_pair();
        // A firewall would drop the frames, which have no checksums.
        _ = std::fs::write("/proc/sys/net/bridge/bridge-nf-call-iptables", "0");
        ip("link add name br type bridge");
        ip("link set dev br up");
        ip("link set dev b master br");
        ip("link set dev c master br");
        let (mut source, _) = open_with_notices(&["any"]);
        let mut other = LiveSource::open(&["d"], &options(backend)).unwrap();
        send("a", 0..100);
        assert_eq!(sent(lend(&mut other, 100)), (0..100).collect::<Vec<_>>(), "they cross the bridge");
        let lent = lend(&mut source, 100);
        let (rest, stats) = end(source);
        let lent = lent.into_iter().chain(rest).collect();
        assert_eq!(sent(lent), (0..100).collect::<Vec<_>>(), "{stats:?}");
        // Each packet is on four interfaces, and on the bridge as well while it does not know the receiver.
        assert!(stats.copies >= Some(300), "{stats:?}");
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn loopback_datagram_is_captured_once_by_any() {
    in_packet_namespace(|backend| {
        let mut source = LiveSource::open(&["any"], &options(backend)).unwrap();
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for number in 0..1000_u32 {
            sender.send_to(&number.to_be_bytes(), receiver.local_addr().unwrap()).unwrap();
        }
        let lent = lend(&mut source, 1000);
        assert_eq!(numbers(&lent), (0..1000).collect::<Vec<_>>());
        let (rest, stats) = end(source);
        assert_eq!((rest.len(), stats.copies), (0, Some(0)));
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn interfaces_join_and_leave_while_the_source_runs() {
    in_packet_namespace(|_| {
        let (mut source, received) = open_with_notices(&["a", "c*", "!d", "d"]);
        let stats = source.stats();
        assert_eq!(stats.interfaces()[0].name, "a,c*,!d,d");
        assert_eq!(stats.interfaces()[0].state, InterfaceState::Gone);
        await_notices(
            &mut source,
            &received,
            vec!["a,c*,!d,d: no interface matches yet; the capture begins when one does"],
        );
        for round in 0..3 {
            veth_pair();
            await_notices(
                &mut source,
                &received,
                match round {
                    0 => vec!["a: is captured from now on", "a,c*,!d,d: an interface matches"],
                    _ => vec!["a: is captured from now on", "a,c*,!d,d: is back"],
                },
            );
            second_veth_pair();
            await_notices(&mut source, &received, vec!["c: is captured from now on"]);
            assert_eq!(stats.interfaces()[0].state, InterfaceState::Up);
            // The other ends do not match.
            send("b", 0..10);
            send("d", 10..30);
            let lent = lend(&mut source, 30);
            assert_eq!(numbers(&lent), (0..30).collect::<Vec<_>>());
            assert_eq!(by_interface(&source, &lent), counts([("a", 10), ("c", 20)]));
            ip("link del dev a");
            ip("link del dev c");
            await_notices(
                &mut source,
                &received,
                vec![
                    "a: is gone, and captured no longer",
                    "c: is gone, and captured no longer",
                    "a,c*,!d,d: no interface that matches is up; the capture resumes when one is",
                ],
            );
        }
        let (rest, stats) = end(source);
        assert_eq!((rest.len(), stats.received, stats.copies), (0, 90, Some(0)));
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn new_interface_before_next_check() {
    in_packet_namespace(|_| {
        let (mut source, _) = open_with_notices(&["any"]);
        veth_pair();
        // All frames wait in the ring: the source looks at none, and its interfaces are unknown.
        send("b", 0..100);
        let lent = lend(&mut source, 100);
        assert_eq!(numbers(&lent), (0..100).collect::<Vec<_>>());
        assert_eq!(by_interface(&source, &lent), counts([("b", 100)]));
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn frames_of_a_removed_interface_are_captured() {
    in_packet_namespace(|_| {
        veth_pair();
        let (mut source, received) = open_with_notices(&["any", "!lo"]);
        second_veth_pair();
        await_notices(
            &mut source,
            &received,
            vec!["c: is captured from now on", "d: is captured from now on"],
        );
        for (interface, numbers) in [("b", 0..100), ("d", 100..200)] {
            // The frames wait in the ring while their interface is removed.
            send(interface, numbers.clone());
            ip(&format!("link del dev {interface}"));
            thread::sleep(Duration::from_secs(1));
            let lent = lend(&mut source, 100);
            assert_eq!(self::numbers(&lent), numbers.collect::<Vec<_>>());
            assert_eq!(by_interface(&source, &lent), counts([(interface, 100)]));
        }
        assert_eq!(end(source).1.read_errors, 0);
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn frames_of_an_interface_that_was_never_known_are_counted() {
    in_packet_namespace(|_| {
        let (source, _) = open_with_notices(&["any", "!lo"]);
        veth_pair();
        send("b", 0..100);
        ip("link del dev b");
        let (lent, stats) = end(source);
        assert_eq!((lent.len(), stats.received), (0, 0));
        // Each packet is on both ends.
        assert_eq!(stats.read_errors, 200);
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn renamed_interface_is_captured_by_its_new_name() {
    in_packet_namespace(|_| {
        veth_pair();
        let (mut source, received) = open_with_notices(&["eth*"]);
        await_notices(
            &mut source,
            &received,
            vec!["eth*: no interface matches yet; the capture begins when one does"],
        );
        ip("link set dev a down");
        ip("link set dev a name eth7");
        ip("link set dev eth7 up");
        await_notices(
            &mut source,
            &received,
            vec!["eth7: is captured from now on", "eth*: an interface matches"],
        );
        send("b", 0..5);
        let lent = lend(&mut source, 5);
        assert_eq!(by_interface(&source, &lent), counts([("eth7", 5)]));
        ip("link set dev eth7 down");
        ip("link set dev eth7 name other");
        ip("link set dev other up");
        await_notices(
            &mut source,
            &received,
            vec![
                "eth7: is gone, and captured no longer",
                "eth*: no interface that matches is up; the capture resumes when one is",
            ],
        );
        send("b", 5..10);
        assert_eq!(end(source).0.len(), 0);
    });
}

#[test]
#[ignore = "needs CAP_NET_ADMIN and /dev/net/tun"]
fn interface_without_a_mac_joins_once_and_stays() {
    in_packet_namespace(|_| {
        let (mut source, received) = open_with_notices(&["hn-*"]);
        let waits = "hn-*: no interface matches yet; the capture begins when one does";
        await_notices(&mut source, &received, vec![waits]);
        ip("tuntap add dev hn-tun mode tun");
        ip("link set dev hn-tun up");
        let tun = huginn_net_live::interfaces().unwrap().into_iter().find(|found| found.name == "hn-tun");
        let tun = tun.expect("hn-tun is listed");
        assert!(tun.index > 0 && tun.mac.is_none() && tun.is_up, "{tun:?}");
        await_notices(
            &mut source,
            &received,
            vec!["hn-tun: is captured from now on", "hn-*: an interface matches"],
        );
        // Each of these interfaces joins at a check, which must not say that the first one left.
        for name in ["hn-1", "hn-2", "hn-3"] {
            ip(&format!("tuntap add dev {name} mode tun"));
            await_notices(&mut source, &received, vec![&format!("{name}: is captured from now on")]);
        }
        assert_eq!(source.stats().interfaces()[0].state, InterfaceState::Up);
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn each_frame_has_the_link_type_of_its_interface() {
    in_packet_namespace(|backend| {
        veth_pair();
        ip("addr add 192.0.2.1/24 dev a");
        ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev a");
        // Without Ethernet, as tun and WireGuard.
        ip("link add name tunnel type vxlan dstport 4790 external gpe");
        ip("addr add 198.51.100.1/24 dev tunnel");
        ip("link set dev tunnel up");
        let mut source = LiveSource::open(&["any", "!b"], &options(backend)).unwrap();
        let sender = UdpSocket::bind("0.0.0.0:0").unwrap();
        sender.send_to(b"x", "198.51.100.2:9").unwrap();
        sender.send_to(b"y", "192.0.2.2:9").unwrap();
        let names = source.interface_names();
        let (start, mut found) = (Instant::now(), Vec::new());
        while found.len() < 2 && start.elapsed() < TIMEOUT {
            if let NextFrame::Frame(frame) = source.next_frame().unwrap() {
                found.push((names.get(frame.ts.interface()).unwrap().to_string(), frame.link));
            }
        }
        assert_eq!(found, [("tunnel".to_owned(), LinkType::RAW), ("a".to_owned(), LinkType::ETHERNET)]);
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn only_named_interfaces_are_in_promiscuous_mode() {
    /// Whether the kernel counts a program that wants promiscuous mode.
    fn is_promiscuous(interface: &str) -> bool {
        let output = Command::new("ip").args(["-d", "link", "show", "dev", interface]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains("promiscuity 1")
    }
    in_packet_namespace(|_| {
        veth_pair();
        let (mut source, received) = open_with_notices(&["any", "a", "c*"]);
        assert!(is_promiscuous("a") && !is_promiscuous("b") && !is_promiscuous("lo"));
        second_veth_pair();
        await_notices(
            &mut source,
            &received,
            vec!["c: is captured from now on", "d: is captured from now on"],
        );
        let start = Instant::now();
        while !is_promiscuous("c") {
            assert!(start.elapsed() < TIMEOUT);
            assert!(is_idle(&mut source));
        }
        assert!(!is_promiscuous("d"));
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn patterns_and_names_are_one_input_beside_others() {
    in_packet_namespace(|backend| {
        veth_pair();
        let mut source = LiveSource::open(&["udp:4789", "a", "b*"], &options(backend)).unwrap();
        let inputs: Vec<_> = source.stats().interfaces().into_iter().map(|stats| stats.name).collect();
        assert_eq!(inputs, ["udp:4789", "a,b*"]);
        assert_eq!(source.interface_names().inputs().iter().map(|name| &**name).collect::<Vec<_>>(), inputs);
        send("b", 0..10);
        let lent = lend(&mut source, 10);
        assert_eq!(by_interface(&source, &lent), counts([("b", 10)]));
        drop(source);
        let twice = LiveSource::open(&["a", "b*", "a"], &options(backend));
        assert!(matches!(twice, Err(LiveError::DuplicateInterface { name }) if name == "a"));
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn quiet_patterns_use_no_cpu() {
    in_packet_namespace(|backend| {
        veth_pair();
        let mut source = LiveSource::open(&["any"], &options(backend)).unwrap();
        let stopper = source.stopper();
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(4));
            stopper.stop();
        });
        let before = crate::processor_time();
        crate::lab::wait_for_end(&mut source);
        let spent = crate::processor_time() - before;
        assert!(spent < Duration::from_millis(100), "{spent:?} in 4 s");
    });
}
