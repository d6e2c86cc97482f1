//! Order of the frames of several interfaces.

use std::thread;
use std::time::{Duration, Instant};

use huginn_net_live::{InterfaceStats, LiveSource};

use crate::lab::{
    end, frame, in_namespaces, is_idle, lend, numbers, options, second_veth_pair, send, sender, veth_pair,
};

/// A network tap has one port per direction. The source reads only after all frames were sent.
#[test]
#[ignore = "needs CAP_NET_RAW"]
fn merges_buffered_directions_in_order() {
    in_namespaces(|backend| {
        veth_pair();
        second_veth_pair();
        let source = LiveSource::open(&["a", "c"], &options(backend)).unwrap();
        let stats = source.stats();
        let mut senders = [sender("b"), sender("d")];
        let mut sent = 0;
        // A run has up to 199 frames in one direction.
        for run in 0..100 {
            for _ in 0..run * run % 200 {
                senders[run % 2].send_to(&frame(sent), None).unwrap().unwrap();
                sent += 1;
            }
        }
        let lent = numbers(&end(source).0);
        assert_eq!(lent.windows(2).find(|pair| pair[0] >= pair[1]), None);
        assert!(lent.len() > 1000, "{}", lent.len());
        let received = stats.interfaces();
        assert_eq!(received.iter().map(|received| received.received).sum::<u64>(), lent.len() as u64);
        // On a busy machine the queues of the veth pairs may overflow as well.
        let dropped =
            |received: &InterfaceStats| received.kernel_dropped + received.interface_dropped.unwrap();
        assert_eq!(received.iter().map(dropped).sum::<u64>() + lent.len() as u64, u64::from(sent));
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn merges_live_directions_in_order() {
    in_namespaces(|backend| {
        veth_pair();
        second_veth_pair();
        let mut source = LiveSource::open(&["a", "c"], &options(backend)).unwrap();
        let mut senders = [sender("b"), sender("d")];
        let sending = thread::spawn(move || {
            for number in 0..500 {
                senders[number as usize % 2].send_to(&frame(number), None).unwrap().unwrap();
                thread::sleep(Duration::from_micros(300));
            }
        });
        assert_eq!(numbers(&lend(&mut source, 500)), (0..500).collect::<Vec<_>>());
        sending.join().unwrap();
        assert_eq!(end(source).0.len(), 0);
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn single_frame_waits_briefly_for_silent_interfaces() {
    in_namespaces(|backend| {
        veth_pair();
        second_veth_pair();
        let mut source = LiveSource::open(&["a", "c", "lo"], &options(backend)).unwrap();
        for number in 0..20 {
            let start_time = Instant::now();
            send("b", number..number + 1);
            assert_eq!(numbers(&lend(&mut source, 1)), [number]);
            assert!(start_time.elapsed() < Duration::from_millis(150), "{:?}", start_time.elapsed());
            assert!(is_idle(&mut source));
        }
    });
}
