//! Checks the limits of the output: lengths of texts, events of a connection, of a host and of a kind, bytes by the bytes
//! of the capture.

use huginn_net::core::{FlowLimits, Frames};
use huginn_net::observers::{EventLimits, SuppressedEvents};
use huginn_net::record::JsonEvent;
use huginn_net::{Configure, Frame, HuginnNet, LinkType, Observers, Timestamp};
use proptest::prelude::*;
use serde_json::Value;

/// Bytes of the header of a capture file, and of the record of a packet (pcap).
const FILE_HEADER: usize = 24;
const RECORD: usize = 16;

/// Packets with their time in nanoseconds: raw IP, without a link header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capture(Vec<(u64, Vec<u8>)>);

pub(crate) const CLIENT: u8 = 1;
pub(crate) const SERVER: u8 = 2;

/// A connection whose packets are written one after the other.
pub(crate) struct Connection<'a> {
    capture: &'a mut Capture,
    port: u16,
    is_v6: bool,
    /// The next sequence numbers of client and server.
    seqs: [u32; 2],
}

impl Capture {
    pub(crate) fn connect(&mut self, port: u16, is_v6: bool, options: &[u8]) -> Connection<'_> {
        let mut connection = Connection { capture: self, port, is_v6, seqs: [1000, 2000] };
        connection.segment(CLIENT, 0x02, options, b"");
        connection.segment(SERVER, 0x12, options, b"");
        connection
    }

    fn push(&mut self, packet: Vec<u8>) {
        let ts = self.0.last().map_or(1_700_000_000_000_000_000, |(ts, _)| ts + 1000);
        self.0.push((ts, packet));
    }

    /// A segment to the server with any source address, which its owner need not have sent.
    fn forge(&mut self, source: [u8; 4], port: u16, flags: u8, payload: &[u8]) {
        let len = 40 + payload.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(len.to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        packet.extend([source, [198, 51, 100, SERVER]].concat());
        packet.extend(port.to_be_bytes());
        packet.extend([0, 80, 0, 0, 3, 232, 0, 0, 0, 9, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(payload);
        self.push(packet);
    }

    fn bytes(&self) -> usize {
        FILE_HEADER + self.0.iter().map(|(_, packet)| RECORD + packet.len()).sum::<usize>()
    }

    pub(crate) fn frames(&self) -> impl Iterator<Item = Frame<'_>> + Send {
        self.0.iter().map(|(ts, data)| Frame {
            ts: Timestamp::from_nanos(*ts, 9),
            link: LinkType::RAW,
            data,
            wire_len: data.len() as u32,
        })
    }

    /// Returns the JSON of all events, and the events that were suppressed.
    pub(crate) fn analyze(&self, observers: Observers, workers: usize) -> (Vec<String>, SuppressedEvents) {
        self.analyze_selected(observers, workers, |_| true)
    }

    /// As [`analyze`](Self::analyze), for an output that has the selected events only.
    fn analyze_selected(
        &self,
        observers: Observers,
        workers: usize,
        selects: impl Fn(&huginn_net::Event) -> bool + Sync,
    ) -> (Vec<String>, SuppressedEvents) {
        let mut analyzer = HuginnNet::builder_with(observers)
            .flow_limits(FlowLimits::default())
            .workers(workers)
            .block_bytes(4096)
            .build();
        let mut lines = Vec::new();
        let write = |event: &huginn_net::Event, text: &mut Vec<u8>| {
            if selects(event) {
                JsonEvent::new(event).write_to(text);
            }
        };
        let mut keep = |text: &[u8]| {
            if !text.is_empty() {
                lines.push(String::from_utf8(text.to_vec()).unwrap());
            }
        };
        analyzer.analyze_text(Frames::new(self.frames()), write, &mut keep).unwrap();
        let mut suppressed = analyzer.protocol().counters().events_suppressed;
        let others = analyzer.shared_state().events_suppressed();
        (suppressed.host, suppressed.rate) = (others.host, others.rate);
        (lines, suppressed)
    }
}

impl Connection<'_> {
    /// Sends a segment; a SYN takes a sequence number.
    fn segment(&mut self, from: u8, flags: u8, options: &[u8], payload: &[u8]) {
        let to = CLIENT + SERVER - from;
        let (src_port, dst_port) = if from == CLIENT { (self.port, 80) } else { (80, self.port) };
        let (seq, ack) = (self.seqs[usize::from(from - 1)], self.seqs[usize::from(to - 1)]);
        let len = 20 + options.len() + payload.len();
        let mut packet = if self.is_v6 {
            let mut header = vec![0x60, 0, 0, 0];
            header.extend((len as u16).to_be_bytes());
            header.extend([6, 64]);
            for host in [from, to] {
                header.extend([
                    0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                ]);
                header.extend([0xff, host]);
            }
            header
        } else {
            let mut header = vec![0x45, 0];
            header.extend((20 + len as u16).to_be_bytes());
            header.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 198, 51, 100, from, 198, 51, 100, to]);
            header
        };
        packet.extend(src_port.to_be_bytes());
        packet.extend(u16::to_be_bytes(dst_port));
        packet.extend(seq.to_be_bytes());
        packet.extend(if flags & 0x10 != 0 { ack } else { 0 }.to_be_bytes());
        packet.extend([((20 + options.len()) / 4 * 16) as u8, flags, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(options);
        packet.extend(payload);
        self.capture.push(packet);
        let next = u32::from(flags & 0x02 != 0) + payload.len() as u32;
        self.seqs[usize::from(from - 1)] += next;
    }

    /// Sends a segment `back` bytes before the next one, after which the sender continues as if it had not been sent.
    pub(crate) fn send_at(&mut self, from: u8, back: usize, bytes: &[u8]) {
        let seqs = self.seqs;
        let seq = &mut self.seqs[usize::from(from - 1)];
        *seq -= back as u32;
        self.segment(from, 0x18, b"", bytes);
        self.seqs = seqs;
    }

    /// Sends a segment with an urgent pointer, after which the sender continues as if it had not been sent.
    pub(crate) fn send_urgent(&mut self, from: u8, pointer: u16, bytes: &[u8]) {
        let seqs = self.seqs;
        self.segment(from, 0x38, b"", bytes);
        self.seqs = seqs;
        let (_, packet) = self.capture.0.last_mut().unwrap();
        let at = packet.len() - bytes.len() - 2;
        packet[at..at + 2].copy_from_slice(&pointer.to_be_bytes());
    }

    /// Sends a SYN of the client with another number. The connection does not continue there unless `is_real`.
    pub(crate) fn other_syn(&mut self, seq: u32, is_real: bool) {
        let seqs = std::mem::replace(&mut self.seqs, [seq, 0]);
        self.segment(CLIENT, 0x02, b"", b"");
        if !is_real {
            self.seqs = seqs;
        }
    }

    /// Sends the server's answer to a SYN.
    pub(crate) fn syn_ack(&mut self) {
        self.segment(SERVER, 0x12, b"", b"");
    }

    pub(crate) fn send(&mut self, from: u8, bytes: &[u8]) {
        bytes.chunks(60_000).for_each(|bytes| self.segment(from, 0x18, b"", bytes));
    }
}

/// A string of HPACK with 127 bytes or more, whose length takes three bytes (RFC 7541, section 5.1).
fn hpack_string(len: usize, byte: u8) -> Vec<u8> {
    let rest = len - 127;
    let mut string = vec![0x7f, rest as u8 & 0x7f | 0x80, (rest >> 7) as u8];
    string.extend(std::iter::repeat_n(byte, len));
    string
}

/// A client of HTTP/2 that sends these field blocks.
pub(crate) fn http2_client(blocks: &[&[u8]]) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    for (stream, block) in (1_u32..).step_by(2).zip(blocks) {
        bytes.extend(&(block.len() as u32).to_be_bytes()[1..]);
        bytes.extend([1, 5]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(*block);
    }
    bytes
}

/// A connection of HTTP/2 whose requests, of 18 bytes, repeat a header of `len` bytes by its index in the table.
fn indexed_requests(len: usize, byte: u8, requests: usize) -> Capture {
    // user-agent (58) with incremental indexing.
    let first = [&[0x82, 0x84, 0x86, 0x7a][..], &hpack_string(len, byte)].concat();
    let mut blocks = vec![&[0x82, 0x84, 0x86, 0xbe, 0, 1, b'a', 1, b'b'][..]; requests];
    blocks[0] = &first;
    let bytes = http2_client(&blocks);
    let mut capture = Capture::default();
    capture.connect(40_000, false, b"").send(CLIENT, &bytes);
    capture
}

/// A ClientHello with these bodies of server_name and ALPN, and further extensions.
pub(crate) fn client_hello(name: &[u8], alpn: &[u8], extensions: u16) -> Vec<u8> {
    let vector = |len: usize, bytes: &[u8]| {
        let prefix = (bytes.len() as u32).to_be_bytes();
        [&prefix[4 - len..], bytes].concat()
    };
    let extension = |kind: u16, body: &[u8]| [&kind.to_be_bytes()[..], &vector(2, body)].concat();
    let mut all = extension(0, &vector(2, &[&[0][..], &vector(2, name)].concat()));
    all.extend(extension(16, &vector(2, alpn)));
    (0..extensions).for_each(|kind| all.extend(extension(0x4000 + kind, b"")));
    let body =
        [&[3, 3][..], &[7; 32], &[0], &vector(2, &[0x13, 0x01, 0xc0, 0x2f]), &[1, 0], &vector(2, &all)]
            .concat();
    let message = [&[1][..], &vector(3, &body)].concat();
    message.chunks(16_384).flat_map(|part| [&[22, 3, 1][..], &vector(2, part)].concat()).collect()
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

/// The bytes of tags were captured, too: the events of an ordinary handshake fit, and its summary.
#[test]
fn tags_suppress_no_event_of_a_handshake() {
    for tags in 0..3 {
        let mut capture = Capture::default();
        // Maximum segment size, SACK permitted and the end of the options.
        let mut connection = capture.connect(40_000, false, &[2, 4, 5, 0xb4, 4, 2, 0, 0]);
        connection.send(CLIENT, b"GET / HTTP/1.1\r\n\r\n");
        let header = [&[0; 12][..], &[0x81, 0, 0, 7].repeat(tags), &[8, 0]].concat();
        let packets = capture.0.iter().map(|(ts, packet)| (*ts, [&header, &**packet].concat()));
        let packets: Vec<_> = packets.collect();
        let frames = packets.iter().map(|(ts, data)| Frame {
            ts: Timestamp::from_nanos(*ts, 9),
            link: LinkType::ETHERNET,
            data,
            wire_len: data.len() as u32,
        });
        let mut analyzer = HuginnNet::builder_with(Observers::default().connections(true)).build();
        let mut handshakes = 0;
        let mut count = |event: huginn_net::Event| {
            assert_eq!(event.flow.tunnel.as_ref().map_or(0, |path| path.layers().len()), tags);
            handshakes += u32::from(matches!(event.kind, huginn_net::Observation::Tcp(_)));
        };
        analyzer.analyze(Frames::new(frames), &mut count).unwrap();
        let suppressed = analyzer.protocol().counters().events_suppressed;
        assert_eq!((handshakes, suppressed.connection), (2, 0), "{tags} tags");
    }
}

/// The events of one kind.
fn of_kind(lines: &[String], kind: &str) -> Vec<Value> {
    lines.iter().map(|line| json(line)).filter(|event| event["event"] == kind).collect()
}

#[test]
fn indexed_header_does_not_multiply_output() {
    for byte in [1, b'a', 0xff, b'"'] {
        let capture = indexed_requests(3900, byte, 2000);
        let (lines, suppressed) = capture.analyze(Observers::default(), 1);
        let written: usize = lines.iter().map(|line| line.len() + 1).sum();
        assert!(written <= 40 * capture.bytes(), "{byte}: {written} of {}", capture.bytes());
        let requests = of_kind(&lines, "http_request").len() as u64;
        assert!(requests > 20, "{byte}: {requests}");
        assert_eq!(suppressed.connection + requests, 2000);
        assert_eq!(capture.analyze(Observers::default(), 3), (lines, suppressed));
    }
}

/// Every event of a connection has the pseudo-headers of its first request, which repeats one.
#[test]
fn repeated_pseudo_headers_do_not_multiply_output() {
    let mut blocks = vec![&[0x82, 0x84, 0x86][..]; 2000];
    blocks[0] = &[0x82; 1500];
    let mut capture = Capture::default();
    capture.connect(40_000, false, b"").send(CLIENT, &http2_client(&blocks));
    let (lines, _) = capture.analyze(Observers::default(), 1);
    let written: usize = lines.iter().map(|line| line.len() + 1).sum();
    assert!(written <= 40 * capture.bytes(), "{written} of {}", capture.bytes());
    let requests = of_kind(&lines, "http_request");
    assert!(requests.len() > 20 && requests[0]["head_cut"] == true, "{}", requests.len());
}

/// Each field of the requests has a name of 3,900 bytes, which one byte of the block names.
#[test]
fn indexed_names_do_not_multiply_output() {
    for (byte, repeats) in [(b'n', 1), (0xff, 8), (b'"', 200)] {
        let first = [&[0x82, 0x84, 0x86, 0x40][..], &hpack_string(3900, byte), &[0]].concat();
        let next = [&[0x82, 0x84, 0x86][..], &vec![0xbe; repeats]].concat();
        let mut blocks = vec![&next[..]; 2000];
        blocks[0] = &first;
        let mut capture = Capture::default();
        capture.connect(40_000, false, b"").send(CLIENT, &http2_client(&blocks));
        let (lines, suppressed) = capture.analyze(Observers::default(), 1);
        let written: usize = lines.iter().map(|line| line.len() + 1).sum();
        assert!(written <= 40 * capture.bytes(), "{repeats}: {written} of {}", capture.bytes());
        let requests = of_kind(&lines, "http_request");
        assert_eq!(suppressed.connection + requests.len() as u64, 2000);
        assert!(
            requests.len() > 20 && requests.iter().any(|request| request["head_cut"] == true),
            "{repeats}"
        );
        assert_eq!(capture.analyze(Observers::default(), 3), (lines, suppressed));
    }
}

#[test]
fn long_texts_are_cut_and_named() {
    let limits = EventLimits::default().max_text_bytes(Some(100)).max_output_ratio(None);
    let observers = || Observers::default().event_limits(limits);
    let mut capture = Capture::default();
    let path = "é".repeat(80);
    let head = format!(
        "GET /{path} HTTP/1.1\r\nHost: a.example\r\nUser-Agent: {}\r\nAccept: */*\r\n\r\n",
        "u".repeat(101)
    );
    let mut connection = capture.connect(1, false, b"");
    connection.send(CLIENT, head.as_bytes());
    connection.send(SERVER, format!("HTTP/1.1 200 OK\r\nServer: {}\r\n\r\n", "s".repeat(100)).as_bytes());
    let hello = client_hello(&[b'n'; 101], &[2, b'h', b'2'].repeat(34), 50);
    capture.connect(2, true, b"").send(CLIENT, &hello);
    let (lines, _) = capture.analyze(observers(), 1);
    let request = &of_kind(&lines, "http_request")[0];
    assert_eq!(request["path"], format!("/{}", "é".repeat(49)));
    assert_eq!(request["user_agent"], "u".repeat(100));
    assert_eq!(request["cut"], serde_json::json!(["path", "user_agent", "sig"]));
    assert_eq!(request["sig"].as_str().unwrap().len(), 100);
    let response = &of_kind(&lines, "http_response")[0];
    assert_eq!(response["server_header"], "s".repeat(100));
    assert_eq!(response["cut"], serde_json::json!(["sig"]));
    let client = &of_kind(&lines, "tls_client")[0];
    assert_eq!(client["sni"], "n".repeat(100));
    assert_eq!(client["alpn"].as_array().unwrap().len(), 33);
    assert_eq!(
        client["cut"],
        serde_json::json!(["sni", "alpn", "unknown_extensions", "ja4_r", "ja4_ro", "ja4_stable_r", "ja3"])
    );
    let (whole, _) = capture.analyze(Observers::default(), 1);
    let whole = &of_kind(&whole, "tls_client")[0];
    assert_eq!(whole.get("cut"), None);
    for hash in ["ja4", "ja4_o", "ja4_stable", "ja3_hash"] {
        assert_eq!(client[hash], whole[hash], "{hash}");
    }
    let start = client["ja4_r"].as_str().unwrap();
    assert!(start.len() == 100 && whole["ja4_r"].as_str().unwrap().starts_with(start));
}

#[test]
fn events_of_connection_are_limited_each_second() {
    let limits = EventLimits::default().max_events_per_connection(Some(5));
    let request = b"GET / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: curl/8.5.0\r\n\r\n";
    let mut capture = Capture::default();
    let mut connection = capture.connect(1, false, b"");
    connection.send(CLIENT, &request.repeat(10));
    connection.send(CLIENT, &request.repeat(4));
    capture.0.last_mut().unwrap().0 += 1_000_000_000;
    let observers = || Observers::default().event_limits(limits);
    let (lines, suppressed) = capture.analyze(observers(), 1);
    assert_eq!(
        of_kind(&lines, "http_request").len(),
        7,
        "after the handshake three of ten, then four of four"
    );
    assert_eq!(suppressed.connection, 7);
    assert_eq!(capture.analyze(observers(), 2), (lines, suppressed));
}

#[test]
fn events_of_host_and_kind_are_limited_each_second() {
    let mut capture = Capture::default();
    for port in 1..=40 {
        let _ = capture.connect(port, false, b"");
    }
    let host = EventLimits::default().max_events_per_host(Some(10));
    let observers = |limits| Observers::default().event_limits(limits);
    let (lines, suppressed) = capture.analyze(observers(host), 1);
    let of_client = lines.iter().filter(|line| json(line)["subject"] == "client").count();
    assert!((5..=10).contains(&of_client), "{of_client}");
    assert_eq!((lines.len() as u64 + suppressed.host, suppressed.rate), (80, 0));
    assert_eq!(capture.analyze(observers(host), 2), (lines, suppressed));

    let kind = EventLimits::default().max_events_per_kind(Some(10));
    let (lines, suppressed) = capture.analyze(observers(kind), 1);
    assert_eq!([of_kind(&lines, "tcp_syn").len(), of_kind(&lines, "tcp_syn_ack").len()], [10, 10]);
    assert_eq!((suppressed.host, suppressed.rate), (0, 60));
    assert_eq!(capture.analyze(observers(kind), 2), (lines, suppressed));

    // A time stamp in the future does not make later events share a second.
    capture.0[0].0 += 3_600_000_000_000;
    assert_eq!(of_kind(&capture.analyze(observers(kind), 1).0, "tcp_syn").len(), 11);
}

/// The server names of the hellos that are reported.
fn names_of(lines: &[String]) -> Vec<String> {
    of_kind(lines, "tls_client").iter().map(|event| event["sni"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn forged_hellos_suppress_no_hello_of_an_answered_connection() {
    let limits = EventLimits::default().max_events_per_kind(Some(40));
    let observers = || Observers::default().event_limits(limits);
    let flood = |capture: &mut Capture, count: u16| {
        (0..count).for_each(|n| {
            capture.forge([10, 0, (n >> 8) as u8, n as u8], n + 1, 0x18, &client_hello(b"forged", b"", 0));
        });
    };
    let connection = |capture: &mut Capture, port: u16, name: &[u8]| {
        let mut connection = capture.connect(port, false, b"");
        connection.send(CLIENT, &client_hello(name, b"", 0));
    };
    let mut capture = Capture::default();
    connection(&mut capture, 1, b"first");
    flood(&mut capture, 100);
    connection(&mut capture, 2, b"second");
    let (lines, suppressed) = capture.analyze(observers(), 1);
    // A quarter of the limit.
    let names = names_of(&lines);
    assert_eq!(names.iter().filter(|name| *name == "forged").count(), 10);
    assert_eq!((&*names[0], &*names[11], suppressed.rate), ("first", "second", 90));
    assert_eq!(capture.analyze(observers(), 2), (lines, suppressed));

    // The flood came before anything showed that both directions are captured.
    let mut capture = Capture::default();
    flood(&mut capture, 100);
    connection(&mut capture, 2, b"second");
    let names = names_of(&capture.analyze(observers(), 1).0);
    assert_eq!((names.len(), names[40].as_str()), (41, "second"));
}

#[test]
fn answered_hellos_suppress_others_of_their_kind_only() {
    let limits = EventLimits::default().max_events_per_kind(Some(40));
    let mut capture = Capture::default();
    for port in 1..=50 {
        capture.connect(port, false, b"").send(CLIENT, &client_hello(b"answered", b"", 0));
    }
    capture.forge([10, 0, 0, 1], 1, 0x18, &client_hello(b"other", b"", 0));
    let names = names_of(&capture.analyze(Observers::default().event_limits(limits), 1).0);
    assert_eq!((names.len(), &*names[30]), (31, "other"));
}

/// Anybody can send SYNs in the name of a host.
#[test]
fn forged_syns_of_a_host_suppress_no_hello_of_it() {
    let limits = EventLimits::default().max_events_per_host(Some(40));
    let mut capture = Capture::default();
    capture.connect(1, false, b"").send(CLIENT, &client_hello(b"first", b"", 0));
    (100..1000).for_each(|port| capture.forge([198, 51, 100, CLIENT], port, 0x02, b""));
    capture.connect(2, false, b"").send(CLIENT, &client_hello(b"second", b"", 0));
    let (lines, suppressed) = capture.analyze(Observers::default().event_limits(limits), 1);
    assert_eq!(names_of(&lines), ["first", "second"]);
    assert!(suppressed.host > 800, "{suppressed:?}");
}

#[test]
fn events_that_the_output_leaves_out_count_for_no_limit() {
    let mut capture = Capture::default();
    for port in 1..=100 {
        let name = if port == 100 { &b"wanted"[..] } else { b"other" };
        capture.connect(port, false, b"").send(CLIENT, &client_hello(name, b"", 0));
    }
    let kind = EventLimits::default().max_events_per_kind(Some(40));
    let host = EventLimits::default().max_events_per_host(Some(40));
    for limits in [kind, host] {
        let observers = || Observers::default().event_limits(limits);
        let (all, suppressed) = capture.analyze(observers(), 1);
        assert!(!names_of(&all).contains(&"wanted".to_owned()) && suppressed.total() > 0);
        let is_wanted = |event: &huginn_net::Event| JsonEvent::new(event).to_string().contains("wanted");
        for workers in [1, 2] {
            let (lines, suppressed) = capture.analyze_selected(observers(), workers, is_wanted);
            assert_eq!((names_of(&lines), suppressed.total()), (vec!["wanted".to_owned()], 0));
        }
    }
}

#[test]
fn no_limit_reports_everything() {
    let capture = indexed_requests(3900, 1, 200);
    let (lines, suppressed) = capture.analyze(Observers::default().event_limits(EventLimits::NONE), 1);
    assert_eq!(of_kind(&lines, "http_request").len(), 200);
    assert_eq!(suppressed.total(), 0);
}

/// Bytes that make long events: heads, frames and hellos, whole and cut, repeated in one connection.
fn dense_bytes() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let text = || {
        prop::collection::vec(prop_oneof![Just(1_u8), Just(b'"'), Just(0xff), Just(b'\\'), 32..127_u8], 0..60)
    };
    let http1 = (text(), text(), 1..200_usize).prop_map(|(path, agent, count)| {
        let head = [b"GET /", &path[..], b" HTTP/1.0\r\nUser-Agent: ", &agent, b"\r\n\r\n"].concat();
        (CLIENT, head.repeat(count))
    });
    let bare = (1..800_usize).prop_map(|count| (CLIENT, b"GET / HTTP/1.0\r\n\r\n".repeat(count)));
    let responses = (100..200_u16, 1..800_usize).prop_map(|(status, count)| {
        (SERVER, format!("HTTP/1.1 {status}\r\n\r\n").repeat(count).into_bytes())
    });
    let hello =
        (text(), prop::collection::vec(text(), 0..40), 0..4000_u16).prop_map(|(name, alpn, extensions)| {
            let alpn: Vec<u8> =
                alpn.iter().flat_map(|name| [&[name.len() as u8][..], name].concat()).collect();
            (CLIENT, client_hello(&name, &alpn, extensions))
        });
    let ssh = text().prop_map(|text| (CLIENT, [b"SSH-2.0-", &text[..], b"\r\n"].concat()));
    let any = prop::collection::vec(any::<u8>(), 0..300).prop_map(|bytes| (CLIENT, bytes));
    prop_oneof![http1, bare, responses, hello, ssh, any]
}

fn tcp_options() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(vec![2, 4, 5, 0xb4]),
        Just([&[2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0][..], &[1; 20]].concat()),
        prop::collection::vec(any::<[u8; 4]>(), 0..10).prop_map(|words| words.concat()),
    ]
}

prop_compose! {
    fn captures()(
        connections in prop::collection::vec((any::<bool>(), tcp_options(), prop::collection::vec(dense_bytes(), 0..4)), 1..12),
        indexed in prop::option::of((127..4000_usize, any::<u8>(), 1..1500_usize)),
    ) -> Capture {
        let mut capture = indexed.map_or_else(Capture::default, |(len, byte, count)| indexed_requests(len, byte, count));
        for (port, (is_v6, options, parts)) in connections.into_iter().enumerate() {
            let mut connection = capture.connect(port as u16 + 1, is_v6, &options);
            parts.iter().for_each(|(from, bytes)| connection.send(*from, bytes));
        }
        capture
    }
}

/// Number of cases: `PROPTEST_CASES`, or as many as take a few seconds.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(32)
}

/// The SYN of Scapy is the shortest that names a tool: three events with 56 bytes of a file.
#[test]
fn smallest_connection_has_its_summary() {
    let mut capture = Capture::default();
    let ip = [0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 198, 51, 100, 1, 198, 51, 100, 2];
    let syn = [0, 20, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x02, 0x20, 0, 0, 0, 0, 0];
    capture.push([ip, syn].concat());
    for ratio in [Some(40), Some(1)] {
        let limits = EventLimits::default().max_output_ratio(ratio);
        let observers = Observers::default().connections(true).event_limits(limits);
        let (lines, suppressed) = capture.analyze(observers, 1);
        let events: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
        let written: usize = lines.iter().map(|line| line.len() + 1).sum();
        match ratio {
            Some(1) => assert_eq!((names, suppressed.connection), (vec!["tool"], 2)),
            _ => {
                assert_eq!((names, suppressed.connection), (vec!["tcp_syn", "tool", "connection"], 0));
                assert!(written < 40 * 56, "{written}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn output_is_bounded(capture in captures(), connections: bool, workers in 1..3_usize) {
        let observers = Observers::default().connections(connections);
        let (lines, _) = capture.analyze(observers, workers);
        let written: usize = lines.iter().map(|line| line.len() + 1).sum();
        let ratio = written as f64 / capture.bytes() as f64;
        prop_assert!(ratio <= 40.0, "{ratio}");
    }
}
