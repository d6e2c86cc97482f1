//! Summaries of first segments change neither events nor counters.

use huginn_net_core::{ParserSlot, StreamCounters, StreamFlow, TcpFlags, TcpHeader};
use proptest::prelude::*;

use super::*;

const CURL: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/hellos/curl-openssl.bin"));

/// The parser without summaries of first segments.
struct Plain(TlsParser);

impl StreamParser for Plain {
    type Event = TlsEvent;
    type Counters = TlsCounters;
    type Settings = TlsParserSettings;

    fn probe(sender: Side, first: &[u8]) -> StreamProbe {
        TlsParser::probe(sender, first)
    }

    fn new(start: StreamStart, settings: TlsParserSettings) -> Self {
        Self(TlsParser::new(start, settings))
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        counters: &mut TlsCounters,
        emit: &mut impl FnMut(Side, TlsEvent),
    ) {
        self.0.on_data(side, data, counters, emit);
    }

    fn on_conflict(&mut self, side: Side) {
        self.0.on_conflict(side);
    }

    fn reads(&self, side: Side) -> bool {
        self.0.reads(side)
    }

    fn is_mid_message(&self, side: Side) -> bool {
        self.0.is_mid_message(side)
    }

    fn uncompared(&self, side: Side) -> usize {
        self.0.uncompared(side)
    }

    fn buffered_bytes(&self) -> usize {
        self.0.buffered_bytes()
    }
}

type Segment<'a> = (Side, TcpFlags, u32, u32, &'a [u8]);
type Observed = (Vec<(usize, Side, TlsEvent)>, TlsCounters, StreamCounters, bool);

/// Returns the events of segments, each with the index of its segment, the counters, and whether the flow is done.
fn observe<P: StreamParser<Event = TlsEvent, Counters = TlsCounters>>(segments: &[Segment<'_>]) -> Observed {
    let mut flow = StreamFlow::<ParserSlot<P>>::default();
    let (mut events, mut counters, mut streams) =
        (Vec::new(), TlsCounters::default(), StreamCounters::default());
    let mut is_done = false;
    for (position, &(sender, flags, seq, ack, payload)) in segments.iter().enumerate() {
        let tcp = TcpHeader { src_port: 1, dst_port: 2, seq, ack, flags, window: 0, urgent: 0, options: &[] };
        let new_parser = || ParserSlot::new(true);
        let interest = flow.on_segment(
            &huginn_net_core::Segment::from_tcp(tcp, payload),
            payload,
            sender,
            &mut streams,
            new_parser,
            &mut |parser, input| {
                parser.on_data(input, &mut counters, &mut |side, event| events.push((position, side, event)));
            },
        );
        is_done = interest == huginn_net_core::Interest::Done;
    }
    (events, counters, streams, is_done)
}

proptest! {
    /// Adds arbitrary bytes before and after a ClientHello in one segment.
    #[test]
    fn summarizing_first_segment_changes_no_event(
        syns in prop::collection::vec((any::<bool>(), any::<bool>(), 95_u32..105), 0..3),
        first in (prop::sample::select(vec![TcpFlags::ACK, TcpFlags::SYN, TcpFlags::SYN | TcpFlags::ACK]), 95_u32..105),
        then in prop::collection::vec(
            (any::<bool>(), 0_u16..0x20, -40_i32..40, -3_i32..3, any::<bool>(), any::<prop::sample::Index>()),
            1..12,
        ),
    ) {
        let side = |is_client| if is_client { Side::Client } else { Side::Server };
        let mut segments: Vec<Segment<'_>> = Vec::new();
        for (is_client, acknowledges, seq) in syns {
            let ack = if acknowledges { TcpFlags::ACK } else { TcpFlags::empty() };
            segments.push((side(is_client), TcpFlags::SYN | ack, seq, 100, b""));
        }
        let (flags, seq) = first;
        segments.push((Side::Client, flags, seq, 100, CURL));

        let end = seq + u32::from(flags.contains(TcpFlags::SYN)) + u32::try_from(CURL.len()).unwrap();
        let bytes = [&CURL[CURL.len() - 10..], CURL, &crate::datagram::flow::tests::retry_request_record()].concat();
        segments.extend(then.iter().map(|(is_client, flags, seq, ack, whole, cut)| {
            let (own, peer) = if *is_client { (end, 100) } else { (100, end) };
            let payload = if *whole { &bytes[10..] } else { &bytes[..cut.index(bytes.len())] };
            let (seq, ack) = (own.wrapping_add_signed(*seq), peer.wrapping_add_signed(*ack));
            (side(*is_client), TcpFlags::from_bits_truncate(*flags), seq, ack, payload)
        }));
        prop_assert_eq!(observe::<TlsParser>(&segments), observe::<Plain>(&segments));
    }

    #[test]
    fn segmentation_changes_no_hello(
        cuts in prop::collection::vec(1_usize..700, 1..12), swap in any::<prop::sample::Index>(), syn in any::<bool>(),
    ) {
        let mut segments: Vec<Segment<'_>> = Vec::new();
        if syn {
            segments.push((Side::Client, TcpFlags::SYN, 99, 0, b""));
        }
        let begin = segments.len();
        let (mut rest, mut seq) = (CURL, 100);
        for cut in cuts.into_iter().chain([CURL.len()]) {
            let (chunk, behind) = rest.split_at(cut.min(rest.len()));
            if !chunk.is_empty() {
                segments.push((Side::Client, TcpFlags::ACK, seq, 500, chunk));
                seq += u32::try_from(chunk.len()).unwrap();
            }
            rest = behind;
        }
        let position = begin + swap.index(segments.len() - begin);
        // Without a SYN, the connection begins with the first segment captured.
        if position > begin + usize::from(!syn) {
            segments.swap(position, position - 1);
        }
        let whole: [Segment<'_>; 1] = [(Side::Client, TcpFlags::ACK, 100, 500, CURL)];
        let events = |(events, ..): Observed| {
            events.into_iter().map(|(_, side, event)| (side, event)).collect::<Vec<_>>()
        };
        prop_assert_eq!(events(observe::<TlsParser>(&segments)), events(observe::<TlsParser>(&whole)));
    }
}

/// The segments of a connection with a HelloRetryRequest, without handshake; the second ClientHello follows a ChangeCipherSpec.
fn retried_connection<'a>(retry: &'a [u8], second: &'a [u8], answer: &'a [u8]) -> [Segment<'a>; 4] {
    let [end, answered] = [CURL, retry].map(|bytes| u32::try_from(bytes.len()).unwrap());
    [
        (Side::Client, TcpFlags::ACK, 100, 500, CURL),
        (Side::Server, TcpFlags::ACK, 500, 100 + end, retry),
        (Side::Client, TcpFlags::ACK, 100 + end, 500 + answered, second),
        (Side::Server, TcpFlags::ACK, 500 + answered, 100 + end, answer),
    ]
}

#[test]
fn second_hello_is_found_after_the_answer_and_alone() {
    let retry = crate::datagram::flow::tests::retry_request_record();
    let second = [&[20, 3, 3, 0, 1, 1], CURL].concat();
    let mut answer = retry.clone();
    // Another random makes it a ServerHello.
    answer[11] ^= 1;
    let [first, retry, second, answer] = retried_connection(&retry, &second, &answer);
    let sides = |segments: &[Segment<'_>]| {
        let (events, ..) = observe::<TlsParser>(segments);
        events.into_iter().map(|(_, side, _)| side).collect::<Vec<_>>()
    };
    let [client, server] = [Side::Client, Side::Server];
    assert_eq!(sides(&[first, retry, second, answer]), [client, server, client, server]);
    assert_eq!(sides(&[first, retry, answer, second]), [client, server, server, client]);
    assert_eq!(TlsParser::probe(client, second.4), StreamProbe::Certain);
}

#[test]
fn rest_of_hello_is_read_after_the_answer() {
    let mut answer = crate::datagram::flow::tests::retry_request_record();
    answer[11] ^= 1;
    let (start, rest) = CURL.split_at(CURL.len() / 2);
    let [middle, end] = [start.len(), CURL.len()].map(|len| 100 + u32::try_from(len).unwrap());
    let (events, ..) = observe::<TlsParser>(&[
        (Side::Client, TcpFlags::ACK, 100, 500, start),
        (Side::Server, TcpFlags::ACK, 500, end, &answer),
        (Side::Client, TcpFlags::ACK, middle, 500, rest),
    ]);
    let found: Vec<_> = events.into_iter().map(|(position, side, _)| (position, side)).collect();
    assert_eq!(found, [(1, Side::Server), (2, Side::Client)]);
}
