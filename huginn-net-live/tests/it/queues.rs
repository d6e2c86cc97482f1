//! Interfaces with several queues.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use huginn_net_core::{NextFrame, Source};
use huginn_net_live::{InterfaceState, LiveError, LiveOptions, LiveSource};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::lab::{Lent, in_packet_namespace, ip, lend, options, second_veth_pair, send, sender, veth_pair};

const QUEUES: NonZeroUsize = NonZeroUsize::new(3).unwrap();
const FLOWS: u8 = 40;

/// Frames of one flow in both directions, each with the number of the flow after the packet.
type Flow = Vec<Vec<u8>>;

/// What precedes the IP packet of a frame.
const LINKS: [&[u8]; 5] = [
    &[],
    // 802.1Q.
    &[0x81, 0, 0, 5],
    // 802.1ad and 802.1Q.
    &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 9],
    // PPPoE session; the length is not checked.
    &[0x88, 0x64, 0x11, 0, 0, 1, 0, 100],
    // 802.1ad, 802.1Q and PPPoE.
    &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 9, 0x88, 0x64, 0x11, 0, 0, 1, 0, 100],
];

fn ethernet(link: &[u8], packet: &[u8]) -> Vec<u8> {
    let is_ppp = link.windows(2).any(|bytes| bytes == [0x88, 0x64]);
    let protocol = match (packet[0] >> 4, is_ppp) {
        (4, false) => [8, 0],
        (4, true) => [0, 0x21],
        (_, false) => [0x86, 0xdd],
        (_, true) => [0, 0x57],
    };
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], link, &protocol, packet].concat()
}

/// An IPv4 packet of the client with this number, or to it.
fn ipv4(client: u8, to_server: bool, protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let ends = [[10, 0, 0, client], [192, 0, 2, 1]];
    let [source, destination] = if to_server { ends } else { [ends[1], ends[0]] };
    let [high, low] = u16::try_from(20 + payload.len()).unwrap().to_be_bytes();
    let fragment = fragment.to_be_bytes();
    let header = [0x45, 0, high, low, 0, client, fragment[0], fragment[1], 64, protocol, 0, 0];
    [&header, &source[..], &destination, payload].concat()
}

/// An IPv6 packet of the client with this number, or to it.
fn ipv6(client: u8, to_server: bool, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let address = |last: u8| [&[0x20, 1, 0xd, 0xb8][..], &[0; 11], &[last]].concat();
    let ends = [address(client), address(0xff)];
    let [source, destination] = if to_server { &ends } else { &[ends[1].clone(), ends[0].clone()] };
    let [high, low] = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [&[0x60, 0, 0, 0, high, low, protocol, 64][..], source, destination, payload].concat()
}

/// The ports of a TCP segment or a UDP datagram, and what follows.
fn with_ports(client: u16, server: u16, to_server: bool, rest: &[u8]) -> Vec<u8> {
    let ports = if to_server { [client, server] } else { [server, client] };
    [&ports.map(u16::to_be_bytes).concat(), rest].concat()
}

/// Flows of every kind, over every link.
fn flows() -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
    for link in LINKS {
        for client in 0..FLOWS {
            let tcp = |to_server| with_ports(40_000, 443, to_server, &[0; 36]);
            let to_server = tcp(true);
            let (first, last) = to_server.split_at(24);
            // A fragment header (RFC 8200, section 4.5): TCP, offset and whether more follow, identification.
            let fragment = |place: u8, part: &[u8]| [&[6, 0, 0, place, 0, 0, 0, client], part].concat();
            let vxlan = |port| with_ports(port, 4789, true, &[0; 40]);
            let kinds: [Vec<Vec<u8>>; 4] = [
                vec![
                    ipv4(client, true, 6, 0, &to_server),
                    ipv4(client, true, 6, 3, last),
                    ipv4(client, true, 6, 0x2000, first),
                    ipv4(client, false, 6, 0, &tcp(false)),
                ],
                vec![
                    ipv6(client, true, 6, &to_server),
                    ipv6(client, true, 44, &fragment(1, first)),
                    ipv6(client, true, 44, &fragment(3 << 3, last)),
                    ipv6(client, false, 6, &tcp(false)),
                ],
                // The source port of VXLAN differs by direction.
                vec![ipv4(client, true, 17, 0, &vxlan(40_000)), ipv4(client, false, 17, 0, &vxlan(50_000))],
                // GRE.
                vec![ipv6(client, true, 47, &[0; 40]), ipv6(client, false, 47, &[0; 40])],
            ];
            flows.extend(kinds.map(|packets| packets.iter().map(|packet| ethernet(link, packet)).collect()));
        }
    }
    for (number, flow) in (0_u32..).zip(&mut flows) {
        flow.iter_mut().for_each(|frame| frame.extend(number.to_be_bytes()));
    }
    flows
}

/// Stops the sources. Returns the frames of each.
fn drain(mut sources: Vec<LiveSource>) -> Vec<Vec<Lent>> {
    // The kernel may buffer the frames this long.
    thread::sleep(Duration::from_millis(50));
    sources[0].stopper().stop();
    sources.iter_mut().map(|source| lend(source, usize::MAX)).collect()
}

/// Asserts that every frame was lent once, that all frames of a flow were in one queue, and that no queue had few.
fn assert_divided(lent: &[Vec<Lent>], flows: &[Flow]) {
    let mut queue_of = vec![None; flows.len()];
    for (queue, frames) in lent.iter().enumerate() {
        for frame in frames {
            let flow = frame.number() as usize;
            assert!(flows[flow].contains(&frame.data), "flow {flow}");
            assert_eq!(*queue_of[flow].get_or_insert(queue), queue, "flow {flow}: {:?}", flows[flow]);
        }
    }
    let sent = flows.concat().len();
    assert_eq!(lent.iter().map(Vec::len).sum::<usize>(), sent);
    assert!(
        lent.iter().all(|frames| frames.len() > sent / 5),
        "{:?}",
        lent.iter().map(Vec::len).collect::<Vec<_>>()
    );
}

fn send_all(frames: &[Vec<u8>]) {
    let mut sender = sender("b");
    for frame in frames {
        sender.send_to(frame, None).unwrap().unwrap();
    }
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn all_frames_of_a_flow_are_in_one_queue() {
    in_packet_namespace(|backend| {
        veth_pair();
        let sources = LiveSource::open_queues(&["a"], &options(backend), QUEUES).unwrap();
        let stats = sources[0].stats();
        let flows = flows();
        send_all(&flows.concat());
        let lent = drain(sources);
        assert_divided(&lent, &flows);
        let received: Vec<u64> = lent.iter().map(|frames| frames.len() as u64).collect();
        let sent = received.iter().sum::<u64>();
        let interface = stats.interfaces().remove(0);
        assert_eq!(interface.received, sent);
        assert_eq!(interface.queues.iter().map(|queue| queue.received).collect::<Vec<_>>(), received);
    });
}

/// Replies of the host itself are sent frames, whose headers are elsewhere than those of received ones.
#[test]
#[ignore = "needs CAP_NET_RAW"]
fn both_directions_of_the_hosts_own_flows_are_in_one_queue() {
    in_packet_namespace(|backend| {
        veth_pair();
        ip("addr add 192.0.2.1/16 dev a");
        let sources = LiveSource::open_queues(&["a"], &options(backend), QUEUES).unwrap();
        let socket = UdpSocket::bind("192.0.2.1:7000").unwrap();
        for host in 0..FLOWS {
            // No ARP: the neighbours are known.
            ip(&format!("neigh add 192.0.3.{host} lladdr 02:00:00:00:00:01 dev a"));
            socket.send_to(&u32::from(host).to_be_bytes(), format!("192.0.3.{host}:7000")).unwrap();
        }
        let replies = (0..FLOWS).map(|host| {
            let payload =
                [&[0x1b, 0x58, 0x1b, 0x58, 0, 12, 0, 0][..], &u32::from(host).to_be_bytes()].concat();
            let mut packet = ipv4(0, false, 17, 0, &payload);
            packet[12..20].copy_from_slice(&[192, 0, 3, host, 192, 0, 2, 1]);
            ethernet(&[], &packet)
        });
        send_all(&replies.collect::<Vec<_>>());
        let lent = drain(sources);
        let mut seen = vec![0; usize::from(FLOWS)];
        for frames in &lent {
            let own = frames.iter().filter(|frame| frame.data[23] == 17).map(|frame| frame.number() as usize);
            let mut counts = vec![0; usize::from(FLOWS)];
            own.for_each(|host| counts[host] += 1);
            assert!(counts.iter().all(|count| [0, 2].contains(count)), "{counts:?}");
            counts.iter().zip(&mut seen).for_each(|(count, seen)| *seen += count);
        }
        assert!(seen.iter().all(|count| *count == 2), "{seen:?}");
        assert!(lent.iter().all(|frames| frames.len() > 8));
    });
}

/// The UDP port and the header of tunnels, and what each leaves out at the start of an Ethernet frame.
const TUNNELS: [(u16, &[u8], usize); 6] = [
    (8472, &[8, 0, 0, 0, 0, 0, 7, 0], 0),
    (4789, &[8, 0, 0, 0, 0, 0, 7, 0], 0),
    (6081, &[0, 0, 0x65, 0x58, 0, 0, 7, 0], 0),
    // An option of eight bytes.
    (6081, &[2, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 1, 9, 9, 9, 9], 0),
    (37008, &[1, 0, 0, 1, 1], 0),
    // IPv4 without Ethernet, after an option of four bytes.
    (6081, &[1, 0, 8, 0, 0, 0, 7, 0, 1, 2, 3, 0], 14),
];

/// The two directions of a mirrored connection come from different senders.
#[test]
fn all_mirrored_packets_of_a_flow_are_in_one_queue() {
    let senders = ["127.0.0.1:0", "127.0.0.3:0"].map(|address| UdpSocket::bind(address).unwrap());
    for (port, header, left_out) in TUNNELS {
        let name = format!("udp:127.0.0.2:{port}");
        let mut sources = LiveSource::open_queues(&[name], &LiveOptions::default(), QUEUES).unwrap();
        let mut lent: Vec<Vec<Lent>> = (0..QUEUES.get()).map(|_| Vec::new()).collect();
        let mut flows = flows();
        for (number, flow) in flows.iter_mut().enumerate() {
            flow.retain(|frame| left_out == 0 || frame[12..14] == [8, 0]);
            for (frame, sender) in flow.iter_mut().zip(senders.iter().cycle()) {
                *frame = [header, &frame[left_out..]].concat();
                sender.send_to(frame, ("127.0.0.2", port)).unwrap();
            }
            // The buffer of a socket may be small.
            if number % 20 == 0 {
                receive(&mut sources, &mut lent);
            }
        }
        receive(&mut sources, &mut lent);
        // The headers of IPv4 and UDP precede the datagram.
        lent.iter_mut().flatten().for_each(|frame| drop(frame.data.drain(..28)));
        assert_divided(&lent, &flows);
    }
}

/// Headers that the program does not read: VXLAN with the P flag and IPv4, Geneve with MPLS, TZSP with a tag.
const UNREAD_TUNNELS: [(u16, &[u8]); 3] = [
    (48879, &[12, 0, 0, 1, 0, 0, 7, 0]),
    (6081, &[0, 0, 0x88, 0x47, 0, 0, 7, 0]),
    (37008, &[1, 0, 0, 1, 10, 1, 0, 1]),
];

#[test]
fn packets_of_other_tunnel_headers_are_in_the_first_queue() {
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    for (port, header) in UNREAD_TUNNELS {
        let name = format!("udp:127.0.0.4:{port}");
        let mut sources = LiveSource::open_queues(&[name], &LiveOptions::default(), QUEUES).unwrap();
        for host in 0..20 {
            // With the P flag, the first half of this source address is where the ethertype would be.
            let mut packet = ipv4(host, true, 6, 0, &with_ports(40_000, 443, true, &[0; 36]));
            packet[12..14].copy_from_slice(&[8, 0]);
            sender.send_to(&[header, &packet].concat(), ("127.0.0.4", port)).unwrap();
        }
        let mut lent: Vec<Vec<Lent>> = (0..QUEUES.get()).map(|_| Vec::new()).collect();
        receive(&mut sources, &mut lent);
        assert_eq!(lent.iter().map(Vec::len).collect::<Vec<_>>(), [20, 0, 0], "{port}");
    }
}

#[test]
fn port_of_queues_is_not_shared_with_others() {
    let name = "udp:127.0.0.5:8472";
    let open = |name: &str, queues| LiveSource::open_queues(&[name], &LiveOptions::default(), queues);
    let sources = open(name, QUEUES).unwrap();
    for queues in [QUEUES, NonZeroUsize::MIN] {
        let error = open(name, queues).unwrap_err();
        assert!(
            matches!(&error, LiveError::Open { source, .. } if source.kind() == ErrorKind::AddrInUse),
            "{error}"
        );
    }
    drop(sources);
    let error = LiveSource::open_queues(&[name, "udp:8472"], &LiveOptions::default(), QUEUES).unwrap_err();
    assert!(error.to_string().starts_with("udp:8472"), "{error}");
    open(name, QUEUES).unwrap();
}

#[test]
fn invalid_names_of_queues_have_the_errors_of_one_queue() {
    for name in ["udp:x", "udp:53"] {
        let [one, several] = [NonZeroUsize::MIN, QUEUES].map(|queues| {
            LiveSource::open_queues(&[name], &LiveOptions::default(), queues).unwrap_err().to_string()
        });
        assert_eq!(one, several);
    }
}

/// Adds the frames of sources until none has more.
fn receive(sources: &mut [LiveSource], lent: &mut [Vec<Lent>]) {
    for (source, lent) in sources.iter_mut().zip(lent) {
        while let NextFrame::Frame(frame) = source.next_frame().unwrap() {
            lent.push(Lent::from(frame));
        }
    }
}

#[test]
fn packets_that_the_kernel_cannot_divide_are_refused() {
    let options = LiveOptions::default();
    assert!(LiveSource::has_queues(&["udp:4789"], &options));
    for name in ["udp:127.0.0.2:2152", "udp:239.1.1.1:4789", "tcp:127.0.0.1:1", "file:/"] {
        assert!(!LiveSource::has_queues(&[name], &options));
        let error = LiveSource::open_queues(&[name], &options, QUEUES).unwrap_err();
        assert!(matches!(error, LiveError::NoQueues { .. }), "{name}: {error}");
    }
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn queues_resume_when_removed_interface_returns() {
    in_packet_namespace(|backend| {
        veth_pair();
        let mut sources = LiveSource::open_queues(&["a"], &options(backend), QUEUES).unwrap();
        for _ in 0..3 {
            ip("link del dev a");
            read_until(InterfaceState::Gone, &mut sources);
            veth_pair();
            read_until(InterfaceState::Up, &mut sources);
        }
        // Other interfaces are not captured.
        second_veth_pair();
        send("c", 0..100);
        let flows = flows();
        send_all(&flows.concat());
        assert_divided(&drain(sources), &flows);
    });
}

/// Reads sources until their interface has this state: they look after it while they are read.
fn read_until(state: InterfaceState, sources: &mut [LiveSource]) {
    let (stats, begun) = (sources[0].stats(), Instant::now());
    while stats.interfaces()[0].state != state {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", stats.interfaces());
        for source in &mut *sources {
            assert!(!matches!(source.next_frame().unwrap(), NextFrame::End));
        }
    }
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn queues_capture_awaited_interface_once_it_is_up() {
    in_packet_namespace(|backend| {
        let mut options = options(backend);
        options.wait = true;
        let mut sources = LiveSource::open_queues(&["a"], &options, QUEUES).unwrap();
        read_until(InterfaceState::Gone, &mut sources);
        ip("link add name a type veth peer name b");
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(2) {
            for source in &mut sources {
                assert!(matches!(source.next_frame().unwrap(), NextFrame::Idle));
            }
        }
        ip("link set dev b up");
        ip("link set dev a up");
        read_until(InterfaceState::Up, &mut sources);
        let flows = flows();
        send_all(&flows.concat());
        assert_divided(&drain(sources), &flows);
    });
}

#[test]
#[ignore = "needs CAP_NET_RAW"]
fn reading_thread_stays_on_the_processor_of_its_queue() {
    in_packet_namespace(|backend| {
        let all = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let cpus: Vec<usize> = (0..CpuSet::count()).filter(|cpu| all.is_set(*cpu).unwrap()).collect();
        let mut options = options(backend);
        options.cpus = vec![cpus[cpus.len() - 1]];
        let mut source = LiveSource::open_queues(&["lo"], &options, NonZeroUsize::MIN).unwrap().remove(0);
        assert_eq!(sched_getaffinity(Pid::from_raw(0)).unwrap(), all);
        thread::scope(|scope| {
            scope.spawn(|| {
                source.next_frame().unwrap();
                let own = sched_getaffinity(Pid::from_raw(0)).unwrap();
                let own: Vec<usize> = (0..CpuSet::count()).filter(|cpu| own.is_set(*cpu).unwrap()).collect();
                assert_eq!(own, options.cpus);
            });
        });
        let mut missing = options.clone();
        missing.cpus = vec![CpuSet::count() - 1];
        let error = LiveSource::open(&["lo"], &missing).unwrap_err();
        assert!(matches!(error, LiveError::Processor { .. }), "{error}");
    });
}

/// The copy of a packet is in the queue of the packet.
#[test]
#[ignore = "needs CAP_NET_RAW"]
fn patterns_have_queues_that_recognise_copies() {
    in_packet_namespace(|backend| {
        veth_pair();
        let sources = LiveSource::open_queues(&["any"], &options(backend), QUEUES).unwrap();
        let stats = sources[0].stats();
        let flows = flows();
        send_all(&flows.concat());
        let lent = drain(sources);
        assert_divided(&lent, &flows);
        let sent = flows.concat().len() as u64;
        let any = stats.interfaces().remove(0);
        assert_eq!((any.received, any.copies, any.kernel_dropped), (sent, Some(sent), 0));
    });
}
