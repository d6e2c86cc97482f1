//! Skipped bodies and summarized first segments do not change the events.

use huginn_net_core::{ParserSlot, StreamCounters, StreamFlow, StreamInput, TcpFlags, TcpHeader, tally};
use proptest::prelude::*;

use super::*;

const CLIENT: &[u8] = b"POST /a HTTP/1.1\r\nContent-Length: 30\r\n\r\nGET /not HTTP/1.1\r\nHost: x\r\n\r\n \
    GET /b HTTP/1.1\r\n\r\nPUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n14\r\nHTTP/1.1 200 OK\r\n\r\n!\r\n3\nabc\r\n0\r\n\r\n\
    CONNECT h:1 HTTP/1.1\r\n\r\nGET /d HTTP/1.1\r\nContent-Length: 9\r\n\r\n123456789GET /e HTTP/1.1\r\n\r\n";
const SERVER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 28\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n..\
    HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n12;x=y\r\nHTTP/1.1 500 A\r\n\r\n\r\n0\r\nA: b\r\n\r\n\
    HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345HTTP/1.1 200 OK\r\n\r\nall the rest";

/// The parser, with or without skipped bodies and summarized first segments.
struct Observed<const OPTIMISED: bool>(HttpParser);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ObservedCounters {
    http: HttpCounters,
    /// Bytes that the parser did not skip.
    read: u64,
}

tally!(ObservedCounters { http, read });

impl<const OPTIMISED: bool> StreamParser for Observed<OPTIMISED> {
    type Event = HttpEvent;
    type Counters = ObservedCounters;
    type Settings = ();

    fn probe(sender: Side, first: &[u8]) -> StreamProbe {
        HttpParser::probe(sender, first)
    }

    fn new(start: StreamStart, (): ()) -> Self {
        Self(HttpParser::new(start, ()))
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        counters: &mut ObservedCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) {
        if let StreamData::Bytes(bytes) = data {
            counters.read += bytes.len() as u64;
        }
        self.0.on_data(side, data, &mut counters.http, emit);
    }

    fn reads(&self, side: Side) -> bool {
        self.0.reads(side)
    }

    fn on_close(&mut self) {
        self.0.on_close();
    }

    fn on_conflict_end(&mut self, side: Side) {
        self.0.on_conflict_end(side);
    }

    fn is_mid_message(&self, side: Side) -> bool {
        self.0.is_mid_message(side)
    }

    fn uncompared(&self, side: Side) -> usize {
        self.0.uncompared(side)
    }

    fn skippable(&self, side: Side) -> u64 {
        self.0.skippable(side)
    }

    fn skip(&mut self, side: Side, len: u64) {
        self.0.skip(side, len);
    }

    fn buffered_bytes(&self) -> usize {
        self.0.buffered_bytes()
    }

    fn summarize(
        sender: Side,
        first: &[u8],
        start: StreamStart,
        (): (),
        counters: &mut ObservedCounters,
        emit: &mut impl FnMut(Side, HttpEvent),
    ) -> Option<u8> {
        OPTIMISED.then(|| HttpParser::summarize(sender, first, start, (), &mut counters.http, emit)).flatten()
    }

    fn resume(start: StreamStart, (): (), sender: Side, len: usize, summary: u8) -> Self {
        Self(HttpParser::resume(start, (), sender, len, summary))
    }
}

type Segment<'a> = (Side, TcpFlags, u32, u32, &'a [u8]);

/// Parses the segments. Returns the events, each with the index of its segment, and the counters.
fn observe<const OPTIMISED: bool>(
    segments: &[Segment<'_>],
) -> (Vec<String>, ObservedCounters, StreamCounters) {
    let mut flow = StreamFlow::<ParserSlot<Observed<OPTIMISED>>>::default();
    let (mut events, mut counters, mut streams) =
        (Vec::new(), ObservedCounters::default(), StreamCounters::default());
    for (index, &(sender, flags, seq, ack, payload)) in segments.iter().enumerate() {
        let tcp = TcpHeader { src_port: 1, dst_port: 2, seq, ack, flags, window: 0, urgent: 0, options: &[] };
        let (segment, new_parser) =
            (huginn_net_core::Segment::from_tcp(tcp, payload), || ParserSlot::new(true));
        let mut feed = |parser: &mut ParserSlot<_>, input: StreamInput<'_>| {
            parser.on_data(input, &mut counters, &mut |side, event| {
                events.push(format!("{index} {side} {event:?}"));
            });
        };
        if OPTIMISED || payload.is_empty() {
            flow.on_segment(&segment, payload, sender, &mut streams, new_parser, &mut feed);
        } else {
            flow.read_segment(&segment, payload, sender, &mut streams, new_parser, &mut feed);
        }
    }
    (events, counters, streams)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The streams are segmented, lost, repeated with the same and other bytes, reordered and acknowledged at random, after
    /// any first bytes.
    #[test]
    fn skipping_and_summarizing_change_no_event(
        (syn, prefix) in (any::<bool>(), prop::sample::select(vec![&b""[..], b"\x16\x03\x01\x02", b"\0\0"])),
        cuts in prop::collection::vec((any::<bool>(), 1_usize..40, 0_u8..24, 0_u16..0x40, -9_i32..9), 1..90),
    ) {
        let client = [prefix, CLIENT].concat();
        let streams = [client.as_slice(), SERVER];
        let others = streams.map(|stream| stream.iter().map(|byte| byte ^ u8::from(*byte == b'a')).collect::<Vec<_>>());
        let mut at = [0_usize; 2];
        let mut segments = Vec::new();
        if syn {
            segments.push((Side::Client, TcpFlags::SYN, 99, 0, &b""[..]));
        }
        for (is_client, len, fault, flags, ack) in cuts {
            let (side, [own, peer]) =
                if is_client { (Side::Client, [0, 1]) } else { (Side::Server, [1, 0]) };
            let repeats = matches!(fault, 0 | 22 | 23);
            let start = if repeats { at[own].saturating_sub(len / 2) } else { at[own] };
            let end = start.saturating_add(len).min(streams[own].len());
            let stream = if fault > 21 { &others[own] } else { streams[own] };
            let payload = if fault == 1 { &[] } else { &stream[start..end] };
            at[own] = at[own].max(start + payload.len());
            let flags = if fault == 2 { TcpFlags::from_bits_truncate(flags) } else { TcpFlags::ACK };
            let seq = |offset: usize| 100_u32.wrapping_add(u32::try_from(offset).unwrap());
            let acknowledged = if fault == 3 { seq(at[peer]).wrapping_add_signed(ack) } else { seq(at[peer]) };
            if fault != 4 {
                segments.push((side, flags, seq(start), acknowledged, payload));
            }
            if fault == 5 && segments.len() > 1 {
                let last = segments.len() - 1;
                segments.swap(last, last - 1);
            }
        }
        let (optimised, plain) = (observe::<true>(&segments), observe::<false>(&segments));
        prop_assert_eq!(optimised.0, plain.0);
        prop_assert_eq!(optimised.1.http, plain.1.http);
        prop_assert_eq!(optimised.2, plain.2);
        prop_assert!(optimised.1.read <= plain.1.read);
    }
}

/// The end of a body is skipped or read, and a content competes with the bytes after a gap that follows it.
#[test]
fn skipped_body_before_competing_contents() {
    let (ack, from_server) = (TcpFlags::ACK, (Side::Server, TcpFlags::ACK, 100, 172, &b"HTTP"[..]));
    for flags in [ack, ack | TcpFlags::RST] {
        let client = [(ack, 100, 0..40), (ack, 140, 40..41), (flags, 141, 41..70)];
        let mut segments: Vec<_> = client
            .into_iter()
            .map(|(flags, seq, place)| (Side::Client, flags, seq, 100, &CLIENT[place]))
            .collect();
        segments.extend([(Side::Client, ack, 171, 100, &b"G"[..]), (Side::Client, ack, 171, 100, b"E")]);
        segments.push(from_server);
        let (optimised, plain) = (observe::<true>(&segments), observe::<false>(&segments));
        assert_eq!((optimised.0.len(), optimised.2.conflicts), (1, 1), "{:?}", optimised.0);
        assert_eq!((plain.0, plain.2), (optimised.0, optimised.2));
    }
}

#[test]
fn skips_most_of_a_body() {
    let body = [&b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"[..], &[b'x'; 1000]].concat();
    let request = (Side::Client, TcpFlags::ACK, 100, 100, &b"GET / HTTP/1.1\r\n\r\n"[..]);
    let mut segments = vec![request];
    for (n, chunk) in body.chunks(100).enumerate() {
        let seq = 100 + u32::try_from(n).unwrap() * 100;
        segments.push((Side::Server, TcpFlags::ACK, seq, 118, chunk));
    }
    let (events, counters, _) = observe::<true>(&segments);
    let read = request.4.len() + body.len() - 900;
    assert_eq!((events.len(), counters.read), (2, read as u64));
}

/// A copy of a body would cost more than the rest of its analysis.
#[test]
fn bodies_are_not_compared() {
    let mut parser = HttpParser::new(StreamStart::Handshake, ());
    let mut counters = HttpCounters::default();
    let mut push = |parser: &mut HttpParser, side, bytes: &[u8]| {
        parser.on_data(side, StreamData::Bytes(bytes), &mut counters, &mut |_, _| {});
        parser.uncompared(Side::Server)
    };
    push(&mut parser, Side::Client, b"GET / HTTP/1.1\r\n\r\n");
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n0123456789";
    assert_eq!(push(&mut parser, Side::Server, head), 10);
    assert_eq!(push(&mut parser, Side::Server, b"01234"), 5);
    parser.skip(Side::Server, 15);
    assert_eq!(parser.uncompared(Side::Server), 15);
    assert_eq!(push(&mut parser, Side::Server, b"0123456789"), 10);
    assert_eq!(push(&mut parser, Side::Server, b"HTTP/1.1 200 OK"), 0);
}

/// A FIN takes the segment after a body off the fast path.
#[test]
fn another_head_after_a_body_is_a_conflict() {
    let (ack, fin) = (TcpFlags::ACK, TcpFlags::ACK | TcpFlags::FIN);
    let requests = b"GET / HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
    let first = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    let acknowledged = 100 + u32::try_from(requests.len()).unwrap();
    let second = 100 + u32::try_from(first.len()).unwrap();
    for flags in [ack, fin] {
        let segments = [
            (Side::Client, ack, 100, 100, &requests[..]),
            (Side::Server, ack, 100, acknowledged, first),
            (Side::Server, flags, second, acknowledged, b"HTTP/1.1 201 A\r\nServer: x\r\n\r\n"),
            (Side::Server, flags, second, acknowledged, b"HTTP/1.1 202 B\r\nServer: y\r\n\r\n"),
        ];
        assert_eq!(observe::<true>(&segments).2.conflicts, 1, "{flags:?}");
    }
}
