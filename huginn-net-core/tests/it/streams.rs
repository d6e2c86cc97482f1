//! Stream parsers on TCP connections: one reassembly for all parsers, and only for sides that a parser reads.

use crate::packet::Endpoint;
use huginn_net_core::{
    Analyzer, Event, Interest, ParserSlot, Probe, Side, StreamCounters, StreamData, StreamFlow, StreamInput,
    StreamObserver, StreamParser, StreamStart, TcpFlags, TcpHeader,
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

    fn probe(_: Side, first: &[u8]) -> Probe {
        match first {
            [b'!', ..] => Probe::NotForUs,
            [b'#', ..] => Probe::Certain,
            _ => Probe::Unsure,
        }
    }

    fn new(_: StreamStart) -> Self {
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

    fn buffered_bytes(&self) -> usize {
        self.partial.iter().map(Vec::capacity).sum()
    }

    fn summarize(
        sender: Side,
        first: &[u8],
        _: StreamStart,
        (): &mut (),
        emit: &mut impl FnMut(Side, String),
    ) -> Option<u8> {
        let line = first.strip_suffix(b"\n").filter(|line| !line.contains(&b'\n') && line != b"bye")?;
        emit(sender, String::from_utf8(line.to_vec()).unwrap());
        Some(0)
    }
}

/// Two parsers of one type, of which the second may be disabled.
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
        let Self { flow, both, counters, events } = self;
        let tcp = TcpHeader { src_port: 1, dst_port: 2, seq, ack, flags, window: 0, urgent: 0, options: &[] };
        let new_parsers = || (ParserSlot::new(true), ParserSlot::new(*both));
        flow.on_segment(
            &tcp,
            payload,
            sender,
            counters,
            new_parsers,
            &mut |parsers: &mut Pair, input: StreamInput<'_>| {
                parsers.0.on_data(input, &mut (), &mut |side, line| events.push((side, line)));
                parsers.1.on_data(input, &mut (), &mut |side, line| events.push((side, line)));
            },
        )
    }
}

#[test]
fn flow_without_payload_buffers_nothing() {
    let mut driver = Driver::new(true);
    driver.segment(Side::Client, TcpFlags::SYN, 99, 0, b"");
    driver.segment(Side::Server, SYN_ACK, 499, 100, b"");
    assert_eq!(driver.flow.buffered_bytes(), 0);
    driver.segment(Side::Client, TcpFlags::ACK, 100, 500, b"one\n");
    assert_eq!((driver.flow.buffered_bytes(), driver.events.len()), (0, 2), "both parsers summarize a line");
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
    assert_eq!(driver.segment(Side::Server, TcpFlags::ACK, 500, 109, b"bye\n"), Interest::Done);
    assert_eq!(driver.flow.buffered_bytes(), 0);
    let mut rejected = Driver::new(true);
    assert_eq!(rejected.segment(Side::Client, TcpFlags::ACK, 100, 500, b"!"), Interest::Done);
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
        assert!(analyzer.push(&crate::packet::frame(1, &packet), &mut events).is_continue());
    }
    events.into_iter().map(|event| (event.subject, event.kind)).collect()
}

#[test]
fn padded_ack_carries_no_data() {
    let syn = (CLIENT, SERVER, TcpFlags::SYN, 99, &b""[..]);
    let line = (CLIENT, SERVER, TcpFlags::ACK, 100, &b"one two\n"[..]);
    let whole = vec![(Side::Client, "one two".to_owned())];
    let padded = (CLIENT, SERVER, TcpFlags::ACK, 100, &[0; 6][..]);
    assert_eq!(reported(&[syn, padded, line]), whole);
    let pushed = (CLIENT, SERVER, TcpFlags::ACK | TcpFlags::PSH, 100, &[0; 6][..]);
    let shorter = (CLIENT, SERVER, TcpFlags::ACK, 100, &[0; 5][..]);
    let other = (CLIENT, SERVER, TcpFlags::ACK, 100, &b"\0\0\0\0\0x"[..]);
    for data in [pushed, shorter, other] {
        assert_ne!(reported(&[syn, data, line]), whole);
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
