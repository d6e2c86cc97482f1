//! Stream parsers on TCP connections: one reassembly for all parsers, and only for sides that a parser reads.

use crate::packet::Endpoint;
use huginn_net_core::{
    Analyzer, Event, FlowLimits, Interest, ParserSlot, Probe, Segment, Side, StreamCounters, StreamData,
    StreamFlow, StreamInput, StreamObserver, StreamParser, StreamStart, TcpFlags, TcpHeader,
};
use proptest::prelude::*;

const CLIENT: Endpoint = ([10, 0, 0, 1], 40_000);
const SERVER: Endpoint = ([192, 0, 2, 1], 8123);
const SYN_ACK: TcpFlags = TcpFlags::SYN.union(TcpFlags::ACK);

/// Reports each line of client and server; `bye` ends a side. Rejects connections that begin with `!`.
#[derive(Debug)]
struct Lines {
    partial: [Vec<u8>; 2],
    ended: [bool; 2],
}

fn index(side: Side) -> usize {
    usize::from(side == Side::Server)
}

impl StreamParser for Lines {
    type Event = String;
    type Counters = ();
    type Settings = ();

    fn probe(_: Side, first: &[u8]) -> Probe {
        match first {
            [b'!', ..] => Probe::NotForUs,
            [b'#', ..] => Probe::Certain,
            _ => Probe::Unsure,
        }
    }

    fn new(_: StreamStart, (): ()) -> Self {
        Self { partial: [Vec::new(), Vec::new()], ended: [false; 2] }
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        (): &mut (),
        emit: &mut impl FnMut(Side, String),
    ) {
        let StreamData::Bytes(bytes) = data else { return emit(side, "gap".to_owned()) };
        for byte in bytes {
            if *byte != b'\n' {
                self.partial[index(side)].push(*byte);
                continue;
            }
            let line = String::from_utf8(std::mem::take(&mut self.partial[index(side)])).unwrap();
            self.ended[index(side)] |= line == "bye";
            emit(side, line);
        }
    }

    fn reads(&self, side: Side) -> bool {
        !self.ended[index(side)]
    }

    fn is_mid_message(&self, side: Side) -> bool {
        !self.partial[index(side)].is_empty()
    }

    fn buffered_bytes(&self) -> usize {
        self.partial.iter().map(Vec::capacity).sum()
    }

    fn summarize(
        sender: Side,
        first: &[u8],
        _: StreamStart,
        (): (),
        (): &mut (),
        emit: &mut impl FnMut(Side, String),
    ) -> Option<u8> {
        let line = first.strip_suffix(b"\n").filter(|line| !line.contains(&b'\n') && line != b"bye")?;
        emit(sender, String::from_utf8(line.to_vec()).unwrap());
        Some(0)
    }
}

/// Two parsers of one type; the second may be disabled.
type Pair = (ParserSlot<Lines>, ParserSlot<Lines>);

struct Driver {
    flow: StreamFlow<Pair>,
    both: bool,
    counters: StreamCounters,
    events: Vec<(Side, String)>,
}

impl Driver {
    fn new(both: bool) -> Self {
        Self { flow: StreamFlow::default(), both, counters: StreamCounters::default(), events: Vec::new() }
    }

    fn segment(&mut self, sender: Side, flags: TcpFlags, seq: u32, ack: u32, payload: &[u8]) -> Interest {
        let tcp = TcpHeader { src_port: 1, dst_port: 2, seq, ack, flags, window: 0, urgent: 0, options: &[] };
        self.push(tcp, sender, payload)
    }

    fn push(&mut self, tcp: TcpHeader<'_>, sender: Side, payload: &[u8]) -> Interest {
        let Self { flow, both, counters, events } = self;
        let new_parsers = || (ParserSlot::new(true), ParserSlot::new(*both));
        let segment = Segment::from_tcp(tcp, payload);
        flow.on_segment(&segment, payload, sender, counters, new_parsers, &mut |parsers: &mut Pair, input| {
            read(parsers, input, events);
        })
    }

    fn end(&mut self) {
        let Self { flow, both, counters, events } = self;
        let new_parsers = || (ParserSlot::new(true), ParserSlot::new(*both));
        let flow = std::mem::take(flow);
        flow.on_end(counters, new_parsers, |_, parsers: &mut Pair, input| read(parsers, input, events));
    }
}

/// Passes data to both parsers. Lines with a conflict have its reason at their end.
fn read(parsers: &mut Pair, input: StreamInput<'_>, events: &mut Vec<(Side, String)>) {
    let mut add = |side, line| {
        let reason = input.conflict().map(|conflict| format!(" {}", conflict.name())).unwrap_or_default();
        events.push((side, format!("{line}{reason}")));
    };
    parsers.0.on_data(input, &mut (), &mut add);
    parsers.1.on_data(input, &mut (), &mut add);
}

#[test]
fn flow_without_payload_buffers_nothing() {
    let mut driver = Driver::new(true);
    driver.segment(Side::Client, TcpFlags::SYN, 99, 0, b"");
    driver.segment(Side::Server, SYN_ACK, 499, 100, b"");
    assert_eq!(driver.flow.buffered_bytes(), 0);
    driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"one\n");
    assert_eq!((driver.flow.buffered_bytes(), driver.events.len()), (4, 2), "both parsers summarize a line");
    driver.segment(Side::Server, TcpFlags::ACK, 500, 104, b"");
    assert_eq!(driver.flow.buffered_bytes(), 0);
    driver.segment(Side::Client, TcpFlags::ACK, 104, 500, b"two");
    assert!(driver.flow.buffered_bytes() > 0);
}

#[test]
fn unread_side_is_not_buffered() {
    let mut driver = Driver::new(false);
    driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"bye\n");
    let before = driver.flow.buffered_bytes();
    driver.segment(Side::Client, TcpFlags::ACK, 200, 500, &[0; 1000]);
    assert_eq!(driver.flow.buffered_bytes(), before);
    driver.segment(Side::Server, TcpFlags::ACK, 600, 104, &[0; 1000]);
    assert!(driver.flow.buffered_bytes() > before + 1000);
}

#[test]
fn flow_ends_when_no_parser_reads() {
    let mut driver = Driver::new(true);
    assert_eq!(driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"bye\nmore\n"), Interest::More);
    assert_eq!(driver.segment(Side::Server, TcpFlags::ACK, 500, 109, b"bye\n"), Interest::More);
    assert_eq!(driver.segment(Side::Client, TcpFlags::ACK, 109, 504, b""), Interest::Done, "acknowledged");
    assert_eq!(driver.flow.buffered_bytes(), 0);
    let mut rejected = Driver::new(true);
    assert_eq!(rejected.segment(Side::Client, TcpFlags::ACK, 100, 500, b"!"), Interest::More);
    assert_eq!(rejected.segment(Side::Server, TcpFlags::ACK, 500, 101, b""), Interest::Done, "acknowledged");
}

#[test]
fn gap_is_counted_once_for_all_parsers() {
    let mut driver = Driver::new(true);
    driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"a");
    driver.segment(Side::Client, TcpFlags::ACK, 105, 500, b"b\n");
    driver.segment(Side::Server, TcpFlags::ACK, 500, 107, b"");
    assert_eq!(driver.counters.gaps, 1);
    assert_eq!(driver.events.len(), 4, "a gap and a line for each parser");
}

proptest! {
    /// Splits, repeats and swaps the segments of both sides.
    #[test]
    fn segmentation_changes_no_event(
        cuts in prop::collection::vec((any::<bool>(), 1_usize..9, 0_u8..6), 0..40), both in any::<bool>(),
    ) {
        const STREAMS: [&[u8]; 2] = [b"one\ntwo\nthree\nbye\n", b"1\n22\n333\n4444\nbye\n"];
        let mut driver = Driver::new(both);
        let mut at = [0_usize; 2];
        let mut segments = Vec::new();
        let rest = [(true, 99, 1), (false, 99, 1)];
        for (is_client, len, trouble) in cuts.into_iter().chain(rest) {
            let (side, own) = if is_client { (Side::Client, 0) } else { (Side::Server, 1) };
            let start = if trouble == 0 { at[own].saturating_sub(len / 2) } else { at[own] };
            let end = start.saturating_add(len).min(STREAMS[own].len());
            segments.push((side, start, &STREAMS[own][start..end]));
            at[own] = at[own].max(end);
            let last = segments.len() - 1;
            if trouble == 2 && last > 0 {
                segments.swap(last, last - 1);
            }
        }
        driver.segment(Side::Client, TcpFlags::SYN, 99, 0, b"");
        driver.segment(Side::Server, SYN_ACK, 99, 100, b"");
        for (side, start, payload) in segments {
            driver.segment(side, TcpFlags::ACK, 100 + start as u32, 100, payload);
        }
        for side in [Side::Client, Side::Server] {
            let mut lines: Vec<&str> =
                driver.events.iter().filter(|(of, _)| *of == side).map(|(_, line)| line.as_str()).collect();
            let text = std::str::from_utf8(STREAMS[index(side)]).unwrap();
            let mut expected: Vec<&str> = text.lines().chain(text.lines().filter(|_| both)).collect();
            lines.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(lines, expected);
        }
    }
}

/// Returns the events of one parser for these packets.
fn reported(packets: &[(Endpoint, Endpoint, TcpFlags, u32, &[u8])]) -> Vec<(Side, String)> {
    let mut analyzer = Analyzer::<StreamObserver<Lines>>::builder().build();
    let mut events: Vec<Event<String>> = Vec::new();
    for (source, destination, flags, seq, payload) in packets {
        let packet = crate::packet::tcp(*source, *destination, *flags, [*seq, 0], &[], payload);
        assert!(analyzer.push(&crate::packet::frame(1, &packet), |event| events.push(event)).is_continue());
    }
    events.into_iter().map(|event| (event.subject, event.kind)).collect()
}

/// Only the server is captured. A server that keeps no state may answer a SYN twice, with other numbers (RFC 4987, section
/// 3.6); its data shows which of them counts.
#[test]
fn syn_ack_without_syn_starts_connection() {
    let syn_ack = |seq| (SERVER, CLIENT, SYN_ACK, seq, &b""[..]);
    let line = (SERVER, CLIENT, TcpFlags::ACK, 1_600_000_001, &b"one\n"[..]);
    let found = [(Side::Server, "one".to_owned())];
    assert_eq!(reported(&[syn_ack(1_600_000_000), line]), found);
    assert_eq!(reported(&[line]), [], "nothing starts a connection");
    for other in [1_700_000_000, 100] {
        assert_eq!(reported(&[syn_ack(1_600_000_000), syn_ack(other), line]), found, "{other}");
    }
}

/// The two directions come from interfaces whose packets are not in the order of the network.
#[test]
fn syn_after_its_syn_ack_does_not_restart_connection() {
    // The segments of the helper acknowledge number 0.
    let syn = (CLIENT, SERVER, TcpFlags::SYN, u32::MAX, &b""[..]);
    let syn_ack = (SERVER, CLIENT, SYN_ACK, 499, &b""[..]);
    let lines = [
        (SERVER, CLIENT, TcpFlags::ACK, 504, &b"two\n"[..]),
        (SERVER, CLIENT, TcpFlags::ACK, 500, &b"one\n"[..]),
    ];
    let found = [(Side::Server, "one".to_owned()), (Side::Server, "two".to_owned())];
    assert_eq!(reported(&[&[syn, syn_ack], &lines[..]].concat()), found);
    assert_eq!(reported(&[&[syn_ack, syn], &lines[..]].concat()), found);
    let other_syn = (CLIENT, SERVER, TcpFlags::SYN, 7, &b""[..]);
    assert_eq!(reported(&[&[syn_ack, other_syn], &lines[..1]].concat()), found[1..], "another connection");
}

/// The server never gets the FIN or RST, whatever its number, nor the SYN after it.
#[test]
fn syn_after_an_ignored_end_does_not_replace_connection() {
    let opening = [
        (CLIENT, SERVER, TcpFlags::SYN, u32::MAX, &b""[..]),
        (SERVER, CLIENT, SYN_ACK, u32::MAX, &b""[..]),
        (CLIENT, SERVER, TcpFlags::ACK, 0, &b"one\n"[..]),
    ];
    let line = (CLIENT, SERVER, TcpFlags::ACK, 4, &b"two\n"[..]);
    let found = ["one", "two"].map(|line| (Side::Client, line.to_owned()));
    for flags in [TcpFlags::RST, TcpFlags::FIN | TcpFlags::ACK] {
        for (source, destination, seq) in [(CLIENT, SERVER, 4), (CLIENT, SERVER, 900), (SERVER, CLIENT, 0)] {
            let end = (source, destination, flags, seq, &b""[..]);
            let syn = (CLIENT, SERVER, TcpFlags::SYN, 70_000, &b""[..]);
            let segments = [&opening[..], &[end, syn, line]].concat();
            assert_eq!(reported(&segments), found, "{flags:?} {seq}");
        }
    }
}

/// The client pauses after the FIN or RST that the server never gets.
#[test]
fn rest_of_a_message_after_an_ignored_end_and_a_pause_is_read() {
    for flags in [TcpFlags::RST, TcpFlags::FIN | TcpFlags::ACK] {
        let mut analyzer = Analyzer::<StreamObserver<Lines>>::builder().build();
        let mut events: Vec<Event<String>> = Vec::new();
        let mut push = |second, source, destination, flags, seq, payload: &[u8]| {
            let packet = crate::packet::tcp(source, destination, flags, [seq, 0], &[], payload);
            assert!(
                analyzer
                    .push(&crate::packet::frame(second, &packet), |event| events.push(event))
                    .is_continue()
            );
        };
        push(1, CLIENT, SERVER, TcpFlags::SYN, u32::MAX, b"");
        push(1, SERVER, CLIENT, SYN_ACK, u32::MAX, b"");
        push(1, CLIENT, SERVER, TcpFlags::ACK, 0, b"on");
        push(1, CLIENT, SERVER, flags, 2, b"");
        for second in 2..50 {
            push(second, ([10, 0, 0, 9], 1), SERVER, TcpFlags::SYN, 1, b"");
        }
        push(50, CLIENT, SERVER, TcpFlags::ACK, 2, b"e\n");
        let lines: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(lines, ["one"], "{flags:?}");
    }
}

#[test]
fn padded_ack_carries_no_data() {
    let syn = (CLIENT, SERVER, TcpFlags::SYN, 99, &b""[..]);
    let line = (CLIENT, SERVER, TcpFlags::ACK, 100, &b"one two\n"[..]);
    let whole = vec![(Side::Client, "one two".to_owned())];
    // The second one fills a frame with a VLAN tag.
    for padding in [&[0; 6][..], &[0; 2]] {
        let padded = (CLIENT, SERVER, TcpFlags::ACK, 100, padding);
        assert_eq!(reported(&[syn, padded, line]), whole);
    }
    let pushed = (CLIENT, SERVER, TcpFlags::ACK | TcpFlags::PSH, 100, &[0; 6][..]);
    let shorter = (CLIENT, SERVER, TcpFlags::ACK, 100, &[0; 5][..]);
    let other = (CLIENT, SERVER, TcpFlags::ACK, 100, &b"\0\0\0\0\0x"[..]);
    for data in [pushed, shorter, other] {
        assert_ne!(reported(&[syn, data, line]), whole);
    }
}

/// The first line is summarized without memory; an empty segment of the same side, and a FIN, need the parser again.
#[test]
fn parser_rebuilt_by_empty_segment_counts_against_memory_limit() {
    let limit = 100 << 10;
    for flags in [TcpFlags::ACK, TcpFlags::FIN | TcpFlags::ACK] {
        let limits = FlowLimits::default().max_buffered_bytes(limit);
        let mut analyzer = Analyzer::<StreamObserver<Lines>>::builder().flow_limits(limits).build();
        let mut push = |port: u16, flags: TcpFlags, seq: u32, payload: &[u8]| {
            let packet = crate::packet::tcp((CLIENT.0, port), SERVER, flags, [seq, 0], &[], payload);
            assert!(analyzer.push(&crate::packet::frame(1, &packet), |_| {}).is_continue());
        };
        for port in 10_000..14_000 {
            push(port, TcpFlags::SYN, 99, b"");
            push(port, TcpFlags::ACK, 100, b"#one\n");
            push(port, flags, 105, b"");
        }
        let flows = analyzer.counters().flows;
        assert!(flows.buffered_bytes > 0 && flows.buffered_bytes <= limit as u64, "{flows:?}");
        assert_eq!(flows.evicted_for_memory + flows.active, 4000, "{flows:?}");
        assert!(flows.active < 1000, "{flows:?}");
    }
}

#[test]
fn lower_port_is_server_when_both_certain() {
    let from_server = (SERVER, CLIENT, TcpFlags::ACK, 100, &b"#one\n"[..]);
    assert_eq!(reported(&[from_server]), [(Side::Server, "#one".to_owned())]);
    let from_client = (CLIENT, SERVER, TcpFlags::ACK, 100, &b"#one\n"[..]);
    assert_eq!(reported(&[from_client]), [(Side::Client, "#one".to_owned())]);
    assert_eq!(reported(&[(CLIENT, SERVER, TcpFlags::ACK, 100, b"one\n")]), []);
}

/// A segment: sequence number and payload.
type FromSender<'a> = (u32, &'a [u8]);

/// Returns the lines of a side that sends these segments, those with a conflict marked, after the answer of the other side with
/// `ack`; the flow ends if there is none.
fn lines_of(sender: Side, segments: &[FromSender<'_>], answer: Option<u32>) -> Vec<String> {
    let mut driver = Driver::new(false);
    driver.segment(Side::Client, TcpFlags::SYN, 99, 0, b"");
    driver.segment(Side::Server, SYN_ACK, 99, 100, b"");
    for (seq, payload) in segments {
        driver.segment(sender, TcpFlags::ACK, *seq, 100, payload);
    }
    match answer {
        Some(ack) => _ = driver.segment(sender.peer(), TcpFlags::ACK, 100, ack, b"ok\n"),
        None => driver.end(),
    }
    driver.events.iter().filter(|(side, _)| *side == sender).map(|(_, line)| line.clone()).collect()
}

#[test]
fn contents_for_the_same_bytes_are_all_reported() {
    type Case<'a> = (&'a [FromSender<'a>], u32, &'a [&'a str]);
    let cases: &[Case<'_>] = &[
        (&[(100, b"fake\n"), (100, b"real\n")], 105, &["fake", "real content"]),
        (&[(100, b"fakefake\n"), (100, b"real\n")], 105, &["fakefake", "real content", "gap"]),
        (&[(100, b"fa\n"), (100, b"real\n")], 105, &["fa", "real content"]),
        (&[(100, b"a"), (101, b"fake\n"), (101, b"real\n")], 106, &["afake", "areal content"]),
        (&[(101, b"fake\n"), (101, b"real\n"), (100, b"a")], 106, &["afake", "areal content"]),
        (&[(100, b"fa"), (100, b"re"), (102, b"ke\n"), (102, b"al\n")], 105, &["fake", "real content"]),
        (&[(100, b"fa"), (100, b"re"), (102, b"al\n"), (102, b"ke\n")], 105, &["faal", "real content"]),
        (&[(100, b"one\n"), (100, b"two\n"), (100, b"six\n")], 104, &["one", "two content", "six content"]),
        (&[(100, b"real\n"), (100, b"real\n"), (101, b"eal\n")], 105, &["real"]),
        (&[(100, b"!"), (100, b"real\n")], 105, &["real content"]),
        (&[(100, b"a"), (102, b"ke\n"), (102, b"al\n"), (101, b"r")], 105, &["arke", "aral content"]),
        (&[(100, b"\0"), (100, b"real\n")], 105, &["real content"]),
        (&[(100, b"\0\0\0\0\0"), (100, b"real\n")], 105, &["real content"]),
        (&[(100, &[0; 60]), (100, b"real\n")], 105, &["real content"]),
        // Padding of the smallest frame, and more zeros in the same place.
        (&[(100, &[0; 60]), (100, &[0; 6]), (100, b"real\n")], 105, &["real content"]),
    ];
    let answers = |ack| [Some(ack), None];
    for (segments, ack, expected) in cases {
        for (sender, answer) in [Side::Client, Side::Server]
            .into_iter()
            .flat_map(|side| answers(*ack).map(|answer| (side, answer)))
        {
            let lines = lines_of(sender, segments, answer);
            for line in expected.iter().filter(|line| answer.is_some() || **line != "gap") {
                assert!(
                    lines.iter().any(|found| found == line),
                    "{line} of {sender:?}, {segments:?}: {lines:?}"
                );
            }
            let honest = expected.len() == 1 && !expected[0].ends_with("content");
            assert!(!honest || lines == *expected, "{segments:?}: {lines:?}");
        }
    }
}

#[test]
fn content_equal_to_the_delivered_one_is_not_repeated() {
    let mut lines = lines_of(Side::Client, &[(100, b"one\n"), (105, b"A"), (105, b"B")], Some(106));
    lines.retain(|line| line.starts_with("one"));
    assert_eq!(lines, ["one"]);
}

#[test]
fn acknowledged_bytes_cannot_be_replaced() {
    let mut driver = Driver::new(false);
    driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"real\n");
    driver.segment(Side::Server, TcpFlags::ACK, 500, 105, b"");
    driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"fake\n");
    driver.segment(Side::Server, TcpFlags::ACK, 500, 105, b"ok\n");
    driver.end();
    assert_eq!(driver.events.len(), 2, "{:?}", driver.events);
    assert_eq!(driver.counters.conflicts, 0);
}

/// Only the client's side was captured: its FIN ends the wait for the bytes of a gap.
#[test]
fn other_content_after_late_segment_conflicts() {
    let mut driver = Driver::new(false);
    driver.segment(Side::Client, TcpFlags::SYN, 99, 0, b"");
    driver.segment(Side::Client, TcpFlags::ACK, 103, 500, b"ke\n");
    driver.segment(Side::Client, TcpFlags::ACK | TcpFlags::FIN, 106, 500, b"");
    driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"fa ");
    driver.segment(Side::Client, TcpFlags::ACK, 103, 500, b"al\n");
    driver.end();
    assert!(driver.events.contains(&(Side::Client, "fa al content".to_owned())), "{:?}", driver.events);
}

#[test]
fn padding_does_not_conflict() {
    let lines = lines_of(Side::Client, &[(100, b"\0\0"), (100, b"real\n")], Some(105));
    assert!(lines.contains(&"real".to_owned()), "{lines:?}");
}

#[test]
fn pushed_zeros_conflict() {
    let mut driver = Driver::new(false);
    driver.segment(Side::Client, TcpFlags::ACK | TcpFlags::PSH, 100, 500, &[0; 6]);
    driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"real\n");
    driver.segment(Side::Server, TcpFlags::ACK, 500, 105, b"ok\n");
    assert!(driver.events.contains(&(Side::Client, "real content".to_owned())), "{:?}", driver.events);
}

#[test]
fn urgent_byte_is_not_part_of_the_stream() {
    for cut in 1..7_usize {
        let mut driver = Driver::new(false);
        driver.segment(Side::Client, TcpFlags::SYN, 99, 0, b"");
        let (first, second) = b"abXcde\n".split_at(cut);
        let tcp = |seq, urgent, flags| TcpHeader {
            src_port: 1,
            dst_port: 2,
            seq,
            ack: 500,
            flags,
            window: 0,
            urgent,
            options: &[],
        };
        driver.push(tcp(100, 3, TcpFlags::ACK | TcpFlags::URG), Side::Client, first);
        driver.push(tcp(100 + u32::try_from(cut).unwrap(), 0, TcpFlags::ACK), Side::Client, second);
        assert_eq!(driver.events, [(Side::Client, "abcde".to_owned())], "cut after {cut} bytes");
        assert_eq!(driver.counters.urgent_bytes, 1);
    }
}

#[test]
fn acknowledged_gap_of_any_length_ends() {
    for missing in [1_u32, 1_000, 200_000, 3_000_000] {
        for ack_first in [false, true] {
            let mut driver = Driver::new(false);
            driver.segment(Side::Client, TcpFlags::SYN, 99, 0, b"");
            driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"one\n");
            let after = 104 + missing;
            if ack_first {
                driver.segment(Side::Server, TcpFlags::ACK, 500, after, b"");
            }
            driver.segment(Side::Client, TcpFlags::ACK, after, 500, b"two\n");
            driver.segment(Side::Server, TcpFlags::ACK, 500, after + 4, b"");
            let lines: Vec<&str> = driver.events.iter().map(|(_, line)| line.as_str()).collect();
            assert_eq!(lines, ["one", "gap", "two"], "{missing} bytes missing");
            assert_eq!((driver.counters.gaps, driver.counters.segments_refused), (1, 0));
        }
    }
}

#[test]
fn one_direction_is_released_at_its_end() {
    for flags in [Some(TcpFlags::FIN | TcpFlags::ACK), Some(TcpFlags::RST), None] {
        let mut driver = Driver::new(false);
        driver.segment(Side::Server, TcpFlags::ACK, 500, 100, b"one\n");
        driver.segment(Side::Server, TcpFlags::ACK, 600, 100, b"two\n");
        assert_eq!(driver.events.len(), 1);
        match flags {
            Some(flags) => _ = driver.segment(Side::Server, flags, 604, 100, b""),
            None => driver.end(),
        }
        let lines: Vec<&str> = driver.events.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!((lines, driver.counters.gaps), (vec!["one", "gap", "two"], 1));
    }
}

#[test]
fn data_for_a_gap_given_up_too_early_is_reported() {
    let mut driver = Driver::new(false);
    driver.segment(Side::Client, TcpFlags::SYN, 99, 0, b"");
    driver.segment(Side::Server, SYN_ACK, 499, 100, b"");
    for n in 0..140 {
        driver.segment(Side::Client, TcpFlags::ACK, 70_000 + n * 1_000, 500, &[b'q'; 1_000]);
    }
    driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"hid");
    driver.segment(Side::Client, TcpFlags::ACK, 103, 500, b"den\n");
    driver.segment(Side::Server, TcpFlags::ACK, 500, 107, b"ok\n");
    assert!(driver.events.contains(&(Side::Client, "hidden".to_owned())), "{:?}", driver.events);
}

#[test]
fn answered_syn_counts() {
    for (first, second) in [(99, 1_000), (1_000, 99), (99, 4_000_000)] {
        for data in [&b""[..], b"fake\n"] {
            let mut driver = Driver::new(false);
            driver.segment(Side::Client, TcpFlags::SYN, first, 0, data);
            driver.segment(Side::Client, TcpFlags::SYN, second, 0, data);
            driver.segment(Side::Server, SYN_ACK, 499, 100, b"");
            driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"real\n");
            driver.segment(Side::Server, TcpFlags::ACK, 500, 105, b"ok\n");
            let is_real = |(_, line): &(Side, String)| line.starts_with("real");
            assert!(driver.events.iter().any(is_real), "{first} {second}: {:?}", driver.events);
        }
    }
}

#[test]
fn long_stream_follows_its_own_syn() {
    let mut driver = Driver::new(false);
    driver.segment(Side::Client, TcpFlags::SYN, 99, 0, b"");
    let mut expected = Vec::new();
    for n in 0..6_u32 {
        let seq = 100_u32.wrapping_add(n.wrapping_mul(0x3000_0000));
        driver.segment(Side::Client, TcpFlags::ACK, seq, 500, b"x\n");
        driver.segment(Side::Server, TcpFlags::ACK, 500, seq.wrapping_add(2), b"");
        expected.extend(["gap", "x"].map(|line| (Side::Client, line.to_owned())));
    }
    assert_eq!(driver.events, expected[1..], "one connection of 4.5 GiB");
}

#[test]
fn syn_in_the_middle_of_a_connection_is_ignored() {
    for fake in [false, true] {
        let mut driver = Driver::new(false);
        driver.segment(Side::Client, TcpFlags::SYN, 500_000, 0, b"");
        if fake {
            driver.segment(Side::Client, TcpFlags::ACK, 500_001, 500, b"fake\n");
        }
        driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"real\n");
        assert!(driver.events.contains(&(Side::Client, "real".to_owned())), "{:?}", driver.events);
    }
}

#[test]
fn out_of_order_overlaps_are_all_reported() {
    let segments: &[FromSender<'_>] = &[(105, b"DEC"), (103, b"trueend"), (100, b"rea"), (103, b"trueend\n")];
    for answer in [Some(111), None] {
        let lines = lines_of(Side::Client, segments, answer);
        assert!(lines.contains(&"reatrueend content".to_owned()), "{lines:?}");
    }
}
