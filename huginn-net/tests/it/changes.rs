//! Checks what is reported as another host with an address, and as several hosts that share one. The packets are those of real hosts,
//! made again.

use std::net::Ipv4Addr;

use huginn_net::core::Frames;
use huginn_net::observers::Scope;
use huginn_net::record::JsonEvent;
use huginn_net::{Configure, Event, Frame, HuginnNet, LinkType, Observation, Observers, Timestamp};

const LINUX: &[u8] = b"\x02\x04\x05\xb4\x04\x02\x08\x0a\x00\x01\x02\x03\x00\x00\x00\x00\x01\x03\x03";
const WINDOWS: &[u8] = b"\x02\x04\x05\xb4\x01\x03\x03\xff\x01\x01\x04\x02";

/// A SYN or SYN+ACK: IP identification and flags, the TTL, the options with their scale, and the window.
#[derive(Clone, Copy)]
struct Syn {
    id: [u8; 4],
    ttl: u8,
    options: &'static [u8],
    scale: u8,
    window: u16,
}

/// An identification, with and without "don't fragment".
const ID_DF: [u8; 4] = [0x12, 0x34, 0x40, 0];
const ID: [u8; 4] = [0x12, 0x34, 0, 0];

const fn linux(segments: u16, scale: u8) -> Syn {
    Syn { id: ID_DF, ttl: 64, options: LINUX, scale, window: 1460 * segments }
}

const fn windows(window: u16, scale: u8) -> Syn {
    Syn { id: ID_DF, ttl: 128, options: WINDOWS, scale, window }
}

const LINUX_NOW: Syn = linux(44, 7);
const WINDOWS_NOW: Syn = windows(64_240, 8);
/// A SYN+ACK of Linux.
const LINUX_ANSWER: Syn = Syn { id: [0, 0, 0x40, 0], ttl: 64, options: LINUX, scale: 7, window: 65_160 };

fn sum(bytes: &[u8], start: u32) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)));
    let mut sum = words.fold(start, |sum, word| sum + word);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// An IPv4 packet with a segment.
fn segment(
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
    syn: Syn,
    flags: u8,
    numbers: [u32; 2],
    data: &[u8],
) -> Vec<u8> {
    let mut options = if flags & 2 == 0 { Vec::new() } else { syn.options.to_vec() };
    match options.iter().position(|byte| *byte == 0xff) {
        Some(place) => options[place] = syn.scale,
        None if options.len() == LINUX.len() => options.push(syn.scale),
        None => {}
    }
    let mut tcp = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
    numbers.iter().for_each(|number| tcp.extend(number.to_be_bytes()));
    tcp.extend([(5 + options.len() as u8 / 4) << 4, flags]);
    tcp.extend(syn.window.to_be_bytes());
    tcp.extend([0; 4]);
    tcp.extend(options);
    tcp.extend(data);
    let addresses = [from.0.octets(), to.0.octets()].concat();
    let pseudo = [&addresses[..], &[0, 6], &(tcp.len() as u16).to_be_bytes(), &tcp].concat();
    let checksum = sum(&pseudo, 0).to_be_bytes();
    tcp[16..18].copy_from_slice(&checksum);
    let len = (20 + tcp.len() as u16).to_be_bytes();
    let [first, second, third, last] = syn.id;
    let mut ip = vec![0x45, 0, len[0], len[1], first, second, third, last, syn.ttl, 6, 0, 0];
    ip.extend(addresses);
    let checksum = sum(&ip, 0).to_be_bytes();
    ip[10..12].copy_from_slice(&checksum);
    ip.extend(tcp);
    ip
}

const CLIENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// SYNs of one address, each from a port of its own.
fn syns(ip: Ipv4Addr, syns: &[Syn]) -> Vec<Vec<u8>> {
    (40_000..).zip(syns).map(|(port, syn)| segment((ip, port), (SERVER, 80), *syn, 2, [1, 0], b"")).collect()
}

/// SYN+ACKs of one address: the port, and what the answer looks like.
fn answers(answers: &[(u16, Syn)]) -> Vec<Vec<u8>> {
    let exchange = |(port, (server_port, answer)): (u16, &(u16, Syn))| {
        let (client, server) = ((CLIENT, port), (SERVER, *server_port));
        let syn = segment(client, server, LINUX_NOW, 2, [1, 0], b"");
        [syn, segment(server, client, *answer, 0x12, [9, 2], b"")]
    };
    (40_000..).zip(answers).flat_map(exchange).collect()
}

/// One packet a second.
fn frames(packets: &[Vec<u8>]) -> impl Iterator<Item = Frame<'_>> {
    (1..).zip(packets).map(|(second, data)| Frame {
        ts: Timestamp::new(1_700_000_000 + second, 0, 6),
        link: LinkType::RAW,
        data,
        wire_len: data.len() as u32,
    })
}

fn analyze(packets: &[Vec<u8>], scope: Scope) -> Vec<Event> {
    let mut events = Vec::new();
    let mut analyzer = HuginnNet::builder_with(Observers::default().scope(scope)).build();
    analyzer.analyze(Frames::new(frames(packets)), &mut |event: Event| events.push(event)).unwrap();
    events
}

/// The changes as text, with the number of their packets.
fn changes(packets: &[Vec<u8>]) -> Vec<String> {
    let text = |event: &Event| match &event.kind {
        Observation::HostChange(found) => {
            Some(format!("{}: {}", event.packet_number, found.change_in_words()))
        }
        Observation::IpSharing(found) => {
            Some(format!("{}: {}", event.packet_number, found.sharing_in_words()))
        }
        _ => None,
    };
    analyze(packets, Scope::Full).iter().filter_map(text).collect()
}

/// The labels of the handshakes.
fn labels(packets: &[Vec<u8>], scope: Scope) -> Vec<String> {
    let label = |event: &Event| match &event.kind {
        Observation::Tcp(found) => Some(found.matched.as_ref()?.name().to_string()),
        _ => None,
    };
    analyze(packets, scope).iter().filter_map(label).collect()
}

#[test]
fn another_system_is_a_change_and_its_return_is_sharing() {
    let alternating = [LINUX_NOW, WINDOWS_NOW, LINUX_NOW, WINDOWS_NOW, LINUX_NOW];
    assert_eq!(
        changes(&syns(CLIENT, &alternating)),
        ["2: Windows now, Linux before", "3: Windows and Linux share the address"]
    );
    assert_eq!(changes(&syns(CLIENT, &alternating[..2])), ["2: Windows now, Linux before"]);
    assert_eq!(changes(&syns(CLIENT, &[LINUX_NOW; 4])), [""; 0]);
    assert_eq!(
        changes(&syns(Ipv4Addr::LOCALHOST, &alternating)),
        [""; 0],
        "the captures of several machines"
    );
}

/// A television of 2021 opens connections with three receive buffers.
#[test]
fn socket_buffers_of_one_host_are_no_change() {
    let packets = syns(CLIENT, &[linux(29, 7), linux(44, 1), linux(22, 0), linux(29, 7), linux(22, 0)]);
    assert_eq!(changes(&packets), [""; 0]);
    assert_eq!(labels(&packets[..3], Scope::Full), ["Linux (tuned)", "Linux", "Linux"]);
    assert_eq!(labels(&packets[..3], Scope::P0f), ["Linux (tuned)", "Linux 4.20 or newer", "Linux 2.2"]);
}

/// Windows 10, with the receive buffers of programs.
#[test]
fn generic_and_fuzzy_matches_are_no_change() {
    let packets = syns(CLIENT, &[WINDOWS_NOW, windows(51_200, 0), windows(65_535, 0), windows(65_535, 1)]);
    assert_eq!(changes(&packets), [""; 0]);
    let newest = "Windows 10 or 11, or Server 2016-2025";
    assert_eq!(labels(&packets, Scope::Full), [newest, "Windows (generic)", "Windows", "Windows"]);
    let fuzzy = Syn { ttl: 250, ..WINDOWS_NOW };
    assert_eq!(changes(&syns(CLIENT, &[LINUX_NOW, fuzzy, LINUX_NOW])), [""; 0]);
}

/// libslirp, the NAT of virtual machines, answers for a server, and lwIP is a stack that programs bring.
#[test]
fn middleboxes_and_stacks_of_programs_are_no_change() {
    let bare = |window, options| Syn { id: ID, ttl: 64, options, scale: 0, window };
    let libslirp =
        answers(&[(80, LINUX_ANSWER), (80, bare(65_535, b"\x02\x04\x05\xb4")), (80, LINUX_ANSWER)]);
    assert_eq!(labels(&libslirp, Scope::Full)[3], "libslirp (QEMU or VirtualBox user network)");
    assert_eq!(changes(&libslirp), [""; 0]);
    let lwip = syns(CLIENT, &[LINUX_NOW, bare(5_760, b"\x02\x04\x05\xa0"), LINUX_NOW]);
    assert_eq!(labels(&lwip, Scope::Full)[1], "lwIP");
    assert_eq!(changes(&lwip), [""; 0]);
}

#[test]
fn answers_of_another_port_are_no_change() {
    let forwarded =
        [(22, LINUX_ANSWER), (3389, windows(65_535, 8)), (22, LINUX_ANSWER), (3389, windows(65_535, 8))];
    assert_eq!(changes(&answers(&forwarded)), [""; 0]);
    let replaced = [(22, LINUX_ANSWER), (3389, windows(65_535, 8)), (22, windows(65_535, 8))];
    assert_eq!(changes(&answers(&replaced)), ["6: Windows now, Linux before"]);
    let own_syns = [answers(&[(22, LINUX_ANSWER)]), syns(SERVER, &[WINDOWS_NOW])].concat();
    assert_eq!(changes(&own_syns), [""; 0], "the router of the server");
}

/// The response of a CDN: nothing was seen of the host before.
#[test]
fn via_of_first_response_is_no_change() {
    let (client, server) = ((CLIENT, 40_000), (SERVER, 80));
    let request = b"GET / HTTP/1.1\r\nHost: h.example\r\nUser-Agent: ua\r\n\r\n";
    let response = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Length: 0\r\nVia: 1.1 google\r\n\r\n";
    let packets = [
        segment(client, server, LINUX_NOW, 2, [1, 0], b""),
        segment(server, client, LINUX_ANSWER, 0x12, [9, 2], b""),
        segment(client, server, LINUX_NOW, 0x18, [2, 10], request),
        segment(server, client, LINUX_ANSWER, 0x18, [10, 2 + request.len() as u32], response),
    ];
    assert_eq!(changes(&packets), [""; 0]);
    let is_change = |event: &&Event| matches!(event.kind, Observation::HostChange(_));
    assert_eq!(analyze(&packets, Scope::P0f).iter().filter(is_change).count(), 1, "as p0f says");
}

#[test]
fn json_names_both_systems() {
    let events = analyze(&syns(CLIENT, &[LINUX_NOW, WINDOWS_NOW]), Scope::Full);
    let event = events.iter().find(|event| matches!(event.kind, Observation::HostChange(_))).unwrap();
    let json = JsonEvent::new(event).to_string();
    assert!(json.ends_with(r#""from":"Linux","to":"Windows"}"#), "{json}");
}

/// A load balancer with Linux in front of IIS.
#[test]
fn server_header_of_another_system_is_no_alarm() {
    let (client, server) = ((CLIENT, 40_000), (SERVER, 80));
    let request = b"GET / HTTP/1.1\r\nHost: h.example\r\nUser-Agent: ua\r\n\r\n";
    let response = b"HTTP/1.1 200 OK\r\nServer: Microsoft-IIS/10.0\r\nContent-Length: 0\r\n\r\n";
    let packets = [
        segment(client, server, LINUX_NOW, 2, [1, 0], b""),
        segment(server, client, LINUX_ANSWER, 0x12, [9, 2], b""),
        segment(client, server, LINUX_NOW, 0x18, [2, 10], request),
        segment(server, client, LINUX_ANSWER, 0x18, [10, 2 + request.len() as u32], response),
    ];
    let mut analyzer = HuginnNet::builder_with(Observers::default().profiles(true)).build();
    analyzer.analyze(Frames::new(frames(&packets)), &mut |_: Event| {}).unwrap();
    let verdict = analyzer.shared_state().profile(SERVER.into()).unwrap().verdict();
    let [found] = &*verdict.contradictions else { panic!("{verdict:?}") };
    assert_eq!(
        found.to_string(),
        "TCP says Linux, Server says Windows (Microsoft-IIS): a CDN or a load balancer"
    );
    assert!(found.is_expected());
}
