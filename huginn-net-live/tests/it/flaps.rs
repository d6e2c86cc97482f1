//! Interfaces that go down or are removed, and return.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use huginn_net_live::{InterfaceState, LiveOptions, LiveSource, NoticeKind};
use nix::sched::{CloneFlags, setns};

use crate::lab::{Lent, end, in_namespaces, ip, lend, numbers, options, send, veth_pair};

/// Opens a source whose notices go to a channel.
fn open_with_notices(interfaces: &[&str], options: &LiveOptions) -> (LiveSource, mpsc::Receiver<NoticeKind>) {
    let mut source = LiveSource::open(interfaces, options).unwrap();
    let (sender, received) = mpsc::channel();
    source.on_notice(move |notice| {
        assert_eq!(notice.interface, "a");
        sender.send(notice.kind.clone()).unwrap();
    });
    (source, received)
}

/// Runs `act` while reading from the source, and expects each of these notices once.
fn expect(
    source: &mut LiveSource,
    received: &mpsc::Receiver<NoticeKind>,
    act: impl FnOnce() + Send,
    notices: &[NoticeKind],
) -> Vec<Lent> {
    let space = std::fs::File::open("/proc/thread-self/ns/net").unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            setns(space, CloneFlags::CLONE_NEWNET).unwrap();
            act();
        });
        let stopper = source.stopper();
        let lent = lend(source, 1);
        assert!(!stopper.is_stopped(), "no frame arrived");
        assert_eq!(received.try_iter().collect::<Vec<_>>(), notices);
        lent
    })
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn waits_for_interface_that_goes_down() {
    in_namespaces(|backend| {
        veth_pair();
        let (mut source, received) = open_with_notices(&["a"], &options(backend));
        let stats = source.stats();
        send("b", 0..1);
        assert_eq!(numbers(&lend(&mut source, 1)), [0]);
        for round in 1..3 {
            let flap = || {
                ip("link set dev a down");
                thread::sleep(Duration::from_millis(2500));
                assert_eq!(stats.interfaces()[0].state, InterfaceState::Down);
                ip("link set dev a up");
                thread::sleep(Duration::from_millis(1500));
                assert_eq!(stats.interfaces()[0].state, InterfaceState::Up);
                send("b", round..round + 1);
            };
            let lent = expect(&mut source, &received, flap, &[NoticeKind::Down, NoticeKind::Recovered]);
            assert_eq!(numbers(&lent), [round]);
        }
        assert_eq!(stats.interfaces()[0].kernel_dropped, 0);
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn resumes_capture_when_removed_interface_returns() {
    in_namespaces(|backend| {
        veth_pair();
        let (mut source, received) = open_with_notices(&["a"], &options(backend));
        let stats = source.stats();
        send("b", 0..1);
        assert_eq!(numbers(&lend(&mut source, 1)), [0]);
        for round in 1..3 {
            let replace = || {
                ip("link del dev a");
                thread::sleep(Duration::from_millis(2500));
                assert_eq!(stats.interfaces()[0].state, InterfaceState::Gone);
                veth_pair();
                thread::sleep(Duration::from_millis(1500));
                assert_eq!(stats.interfaces()[0].state, InterfaceState::Up);
                send("b", round..round + 1);
            };
            let lent = expect(&mut source, &received, replace, &[NoticeKind::Removed, NoticeKind::Recovered]);
            assert_eq!(numbers(&lent), [round]);
        }
        let (rest, stats) = end(source);
        assert_eq!((rest.len(), stats.received), (0, 3));
    });
}
