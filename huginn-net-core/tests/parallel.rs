//! The engine on several threads gives what the sequential one gives, ends when it should, and says what went wrong.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod packet;

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, ThreadId};
use std::time::Duration;

use huginn_net_core::{
    AnalysisError, Analyzer, Builder, Counters, Event, Frame, Frames, Inspector, Interest, LinkType, Memory,
    MemoryFrames, Overflow, Protocol, Route, Segment, Side, Sink, Source, TcpFlags, Timestamp, Watcher,
};
use proptest::prelude::*;

/// Tells of every segment all that it holds and how many its flow had before, and notes every SYN.
#[derive(Default)]
struct Everything {
    segments: u64,
}

/// A payload at which [`Everything`] panics.
const POISON: &[u8] = b"poison";

/// How many SYNs each address sent.
#[derive(Default)]
struct Syns(HashMap<IpAddr, u32>);

impl Protocol for Everything {
    type Flow = u32;
    type Event = String;
    type Memory = Syns;
    type Counters = u64;

    fn memory(&self) -> Syns {
        Syns::default()
    }

    fn fork(&self) -> Self {
        Self::default()
    }

    fn join(&mut self, worker: Self) {
        self.segments += worker.segments;
    }

    fn counted(&self) -> u64 {
        self.segments
    }

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        segment.tcp().is_none_or(|tcp| tcp.flags.opens()).then_some(Side::Client)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut u32,
        emit: &mut impl FnMut(Side, String),
    ) -> Interest {
        assert!(segment.payload != POISON, "poisoned");
        self.segments += 1;
        *flow += 1;
        emit(sender, format!("{flow}: {segment:?}"));
        if segment.tcp().is_some_and(|tcp| tcp.flags.opens()) {
            emit(sender, String::new());
        }
        Interest::More
    }

    /// Some tell nothing.
    fn can_skip(&self, _: Timestamp, _: Side, flow: &u32) -> bool {
        flow % 7 == 6
    }
}

/// Who sends [`Packet::syn`] number 65,535: the memory panics at that.
const CURSED: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 255, 255));

impl Memory<String> for Syns {
    type Report = String;
    type Note = ();

    fn route(told: String) -> Route<String, ()> {
        if told.is_empty() { Route::Note(()) } else { Route::Report(told) }
    }

    fn on_note(&mut self, note: Event<()>, report: &mut impl FnMut(Event<String>)) {
        assert!(note.subject_addr().ip() != CURSED, "cursed");
        let count = self.0.entry(note.subject_addr().ip()).or_default();
        *count += 1;
        let count = *count;
        report(note.map(|()| format!("{count} SYNs")));
    }
}

/// Of what each worker can read for itself, it does so from the beginning.
fn builder(workers: usize, batch_bytes: usize) -> Builder<Everything> {
    let builder = Analyzer::builder().workers(NonZeroUsize::new(workers).unwrap());
    builder.batch_bytes(batch_bytes).spread_above(Duration::ZERO)
}

/// Events, counters, and segments watched.
type Outcome = (Vec<Event<String>>, Counters, u64);

/// What frames in memory give, and what is counted.
fn analyze(builder: Builder<Everything>, packets: &[Packet]) -> Outcome {
    let frames: Vec<_> = packets.iter().map(Packet::frame).collect();
    analyze_source(builder, MemoryFrames::new(&frames))
}

fn analyze_source(builder: Builder<Everything>, source: impl Source<Error: Debug + Send> + Send) -> Outcome {
    let mut analyzer = builder.build();
    let mut events = Vec::new();
    let counters = analyzer.analyze(source, &mut events).unwrap();
    assert_eq!(counters, analyzer.counters());
    (events, counters, analyzer.protocol().segments)
}

/// Frames that are written over one by one.
struct Passing<'a> {
    packets: slice::Iter<'a, Packet>,
    current: Vec<u8>,
    /// How many frames still come at that which must be waited for, if any must.
    awaited: Option<usize>,
}

impl<'a> Passing<'a> {
    fn new(packets: &'a [Packet]) -> Self {
        Self { packets: packets.iter(), current: Vec::new(), awaited: None }
    }
}

impl Source for Passing<'_> {
    type Error = Infallible;

    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Infallible> {
        let Some(packet) = self.packets.next() else { return Ok(None) };
        self.current.clear();
        self.current.extend_from_slice(&packet.data);
        Ok(Some(Frame { data: &self.current, ..packet.frame() }))
    }

    fn is_at_hand(&self) -> bool {
        self.awaited.is_none_or(|awaited| self.packets.len() > awaited)
    }
}

/// Where [`AllThere`] ends so, it panics.
const PANIC: &str = "panic";

/// Frames that are all there.
#[derive(Clone)]
struct AllThere<'a> {
    packets: slice::Iter<'a, Packet>,
    /// What comes behind them, again and again, if anything does.
    then: &'a [Packet],
    /// What is instead of a further one.
    end: Result<(), &'static str>,
    readers: Readers,
}

/// Who reads what is all there.
#[derive(Clone)]
enum Readers {
    /// So many workers at most, each for itself; one does in the thread of the caller.
    Each(usize),
    /// Workers, each in turn, from this buffer, of which so many bytes have been lent.
    InTurn(Vec<u8>, usize),
}

impl<'a> AllThere<'a> {
    /// How long a buffer is that is given away: longer than any frame, and than some 17 SYNs.
    const BUFFER_LEN: usize = 700;

    fn new(packets: &'a [Packet]) -> Self {
        Self { packets: packets.iter(), then: &[], end: Ok(()), readers: Readers::Each(usize::MAX) }
    }

    fn then(self, packets: &'a [Packet]) -> Self {
        Self { then: packets, ..self }
    }

    fn cut(self) -> Self {
        Self { end: Err("cut"), ..self }
    }

    fn then_panic(self) -> Self {
        Self { end: Err(PANIC), ..self }
    }

    fn for_each(self, readers: usize) -> Self {
        Self { readers: Readers::Each(readers), ..self }
    }

    fn in_turn(self) -> Self {
        Self { readers: Readers::InTurn(vec![0; Self::BUFFER_LEN], 0), ..self }
    }

    /// With all kinds of readers.
    fn with_all(&self) -> [Self; 4] {
        let source = || self.clone();
        [source().for_each(1), source().for_each(2), source().for_each(5), source().in_turn()]
    }

    /// Which threads watch its flows, where several may.
    fn watched_by(&self) -> &'static str {
        let several = match &self.readers {
            Readers::Each(readers) => *readers > 1,
            Readers::InTurn(..) => processors() > 1,
        };
        if several { "worker" } else { "caller" }
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

impl Source for AllThere<'_> {
    type Error = &'static str;

    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, &'static str> {
        let at_hand = self.is_at_hand();
        if self.packets.as_slice().is_empty() {
            self.packets = self.then.iter();
        }
        let Some(packet) = self.packets.next() else {
            assert!(self.end != Err(PANIC), "no more");
            return self.end.map(|()| None);
        };
        let Readers::InTurn(buffer, lent) = &mut self.readers else { return Ok(Some(packet.frame())) };
        let start = if at_hand { *lent } else { 0 };
        *lent = start + packet.data.len();
        let place = &mut buffer[start..*lent];
        place.copy_from_slice(&packet.data);
        Ok(Some(Frame { data: place, ..packet.frame() }))
    }

    fn is_at_hand(&self) -> bool {
        let Readers::InTurn(_, lent) = &self.readers else { return true };
        let next = self.packets.as_slice().first().or(self.then.first());
        next.is_none_or(|packet| lent + packet.data.len() <= Self::BUFFER_LEN)
    }

    fn twins(&self, at_most: usize) -> Vec<Self> {
        match &self.readers {
            Readers::Each(readers) => vec![self.clone(); at_most.min(*readers)],
            Readers::InTurn(..) => Vec::new(),
        }
    }

    fn lends_from_buffer(&self) -> bool {
        matches!(self.readers, Readers::InTurn(..))
    }

    fn take_buffer(&mut self, mut fresh: Vec<u8>) -> Vec<u8> {
        let Readers::InTurn(buffer, lent) = &mut self.readers else { return fresh };
        fresh.resize(Self::BUFFER_LEN, 0);
        *lent = 0;
        std::mem::replace(buffer, fresh)
    }
}

/// A frame of its own.
#[derive(Clone, Debug)]
struct Packet {
    ts: Timestamp,
    link: LinkType,
    data: Vec<u8>,
}

impl Packet {
    fn frame(&self) -> Frame<'_> {
        Frame { ts: self.ts, link: self.link, ..packet::frame(0, &self.data) }
    }

    /// A SYN of the client of this number, to which nothing else belongs.
    fn syn(client: u16) -> Self {
        Self::said(client, TcpFlags::SYN, b"")
    }

    fn said(client: u16, flags: TcpFlags, payload: &[u8]) -> Self {
        let [high, low] = client.to_be_bytes();
        let data = packet::tcp(([10, 0, high, low], 4000), ([192, 0, 2, 1], 80), flags, [1, 0], &[], payload);
        Self { ts: Timestamp::new(u64::from(client), 0, 6), link: LinkType::RAW, data }
    }
}

fn syns(count: u16) -> Vec<Packet> {
    (0..count).map(Packet::syn).collect()
}

/// A packet of random traffic: few clients, so that flows are long, start anew and expire.
fn arbitrary_packet() -> impl Strategy<Value = Vec<Packet>> {
    let flags = prop::sample::select(vec![
        TcpFlags::SYN,
        TcpFlags::SYN | TcpFlags::ACK,
        TcpFlags::ACK,
        TcpFlags::FIN | TcpFlags::ACK,
        TcpFlags::RST,
    ]);
    let seconds = prop_oneof![
        8 => 1000_u64..1100,
        2 => 1000_u64..2000,
        1 => 0_u64..5_000_000_000,
    ];
    (0_u8..6, any::<bool>(), flags, 0_u32..3, prop::collection::vec(any::<u8>(), 0..80), seconds, 0_u8..8)
        .prop_map(|(client, to_server, flags, seq, payload, seconds, form)| {
            let (client, server) = (([10, 0, 0, client], 4000), ([192, 0, 2, 1], 80));
            let (src, dst) = if to_server { (client, server) } else { (server, client) };
            let tcp = packet::tcp(src, dst, flags, [seq, 0], &[], &payload);
            let frames = match form {
                0 => vec![(LinkType::ETHERNET, in_vlan(&tcp, 1 + (seq as u8)))],
                1 => vec![(LinkType::RAW, in_gre(&tcp))],
                2 => fragments(&tcp).into_iter().map(|data| (LinkType::RAW, data)).collect(),
                3 => vec![(LinkType::RAW, udp(&tcp))],
                4 => vec![(LinkType::RAW, tcp)],
                5 => vec![(LinkType::ETHERNET, [&[0; 12][..], &[8, 0], &tcp, &[9; 6]].concat())],
                // What most frames are.
                _ => vec![(LinkType::ETHERNET, [&[0; 12][..], &[8, 0], &tcp].concat())],
            };
            let ts = Timestamp::new(seconds, 300_000_000 * seq, 6);
            frames.into_iter().map(|(link, data)| Packet { ts, link, data }).collect()
        })
}

/// In Ethernet with an 802.1Q tag.
fn in_vlan(packet: &[u8], vlan: u8) -> Vec<u8> {
    [&[0; 12][..], &[0x81, 0, 0, vlan, 8, 0], packet].concat()
}

/// In GRE (RFC 2784) in IPv4.
fn in_gre(packet: &[u8]) -> Vec<u8> {
    ipv4(47, &[&[0, 0, 8, 0], packet].concat())
}

/// The TCP segment of an IPv4 packet as the payload of a UDP datagram.
fn udp(packet: &[u8]) -> Vec<u8> {
    let length = (packet.len() - 20 + 8) as u16;
    ipv4(17, &[&[16, 0, 0, 80], &length.to_be_bytes()[..], &[0, 0], &packet[20..]].concat())
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = ((20 + payload.len()) as u16).to_be_bytes();
    let header = [0x45, 0, length[0], length[1], 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 192, 0, 2, 1];
    [&header, payload].concat()
}

/// An IPv4 packet in two fragments, the second one first.
fn fragments(packet: &[u8]) -> [Vec<u8>; 2] {
    let (header, payload) = packet.split_at(20);
    let (first, last) = payload.split_at(16);
    [(last, [0, 2]), (first, [0x20, 0])].map(|(part, place)| {
        let mut fragment = [header, part].concat();
        let length = (fragment.len() as u16).to_be_bytes();
        fragment[2..4].copy_from_slice(&length);
        fragment[6..8].copy_from_slice(&place);
        fragment
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn several_workers_tell_what_one_tells_in_the_same_order(
        packets in prop::collection::vec(arbitrary_packet(), 0..200),
        workers in 2_usize..9,
        batch_bytes in prop::sample::select(vec![1, 64, 500, 4096, 1 << 20]),
    ) {
        let packets = packets.concat();
        let (want, counted, segments) = analyze(builder(1, 0), &packets);
        let passing = Passing::new(&packets);
        for (events, counters, watched) in [
            analyze(builder(workers, batch_bytes), &packets),
            analyze_source(builder(workers, batch_bytes), AllThere::new(&packets)),
            analyze_source(
                builder(workers, batch_bytes),
                AllThere::new(&packets).for_each(1),
            ),
            // Workers go on in the middle, and never do.
            analyze_source(
                builder(workers, batch_bytes).spread_above(Duration::from_nanos(1)),
                AllThere::new(&packets),
            ),
            analyze_source(
                builder(workers, batch_bytes).spread_above(Duration::MAX),
                AllThere::new(&packets),
            ),
            analyze_source(builder(workers, batch_bytes), passing),
            // Somebody else reads from the middle on.
            analyze_source(
                builder(workers, batch_bytes).spread_above(Duration::from_nanos(1)),
                Passing::new(&packets),
            ),
            analyze_source(builder(workers, batch_bytes), AllThere::new(&packets).in_turn()),
            // Workers go on after eight rounds.
            analyze_source(
                builder(workers, batch_bytes).spread_above(Duration::MAX),
                AllThere::new(&packets).in_turn(),
            ),
        ] {
            prop_assert_eq!(&events, &want);
            prop_assert_eq!(&counters, &counted);
            prop_assert_eq!(watched, segments);
        }
    }
}

/// More than is handed on at once, by one of the workers alone in the middle.
#[test]
fn a_round_of_which_much_is_told_comes_in_parts_and_in_order() {
    let mut packets = syns(9000);
    for packet in &mut packets[500..8900] {
        packet.data.clone_from(&Packet::syn(1).data);
    }
    let want = analyze(builder(1, 0), &packets);
    for source in AllThere::new(&packets).with_all() {
        assert!(analyze_source(builder(5, 1 << 20), source) == want);
    }
}

#[test]
fn the_map_is_applied_to_what_flows_tell_and_to_what_is_concluded() {
    for workers in [1, 3] {
        let packets = syns(20);
        let mut lengths: Vec<usize> = Vec::new();
        let frames = Frames::new(packets.iter().map(Packet::frame));
        builder(workers, 100).build().analyze_map(frames, |event| event.kind.len(), &mut lengths).unwrap();
        assert_eq!(lengths.len(), 40);
        assert!(lengths.chunks(2).all(|pair| pair[0] > 100 && pair[1] == "1 SYNs".len()));
    }
}

#[test]
fn texts_come_one_an_event_in_their_order() {
    let packets = syns(300);
    let texts = |workers: usize| {
        let mut texts = Vec::new();
        let frames = Frames::new(packets.iter().map(Packet::frame));
        let write = |event: &Event<String>, text: &mut Vec<u8>| text.extend(event.kind.bytes().take(40));
        let take = |text: &[u8]| {
            texts.push(text.to_vec());
            if texts.len() < 500 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let counters = builder(workers, 1000).build().analyze_text(frames, write, take).unwrap();
        assert_eq!(counters.events, 500);
        texts
    };
    let want = texts(1);
    assert_eq!((want.len(), want[0].len(), want[499].as_slice()), (500, 40, &b"1 SYNs"[..]));
    assert_eq!(texts(3), want);
}

#[test]
fn an_empty_source_ends_at_once() {
    let (events, counters, _) = analyze(builder(8, 1), &[]);
    assert_eq!((events.len(), counters), (0, Counters::default()));
}

#[test]
fn more_workers_than_can_be_are_as_many_as_can_be() {
    let packets = syns(300);
    let passing = Passing::new(&packets);
    for (events, counters, _) in
        [analyze_source(builder(1000, 1), passing), analyze_source(builder(1000, 1), AllThere::new(&packets))]
    {
        assert_eq!((events.len(), counters.frames), (600, 300));
    }
}

#[test]
fn an_analyzer_is_ready_for_another_capture_and_its_memory_stays() {
    let packets = [Packet::syn(1), Packet::said(1, TcpFlags::ACK, b"more")];
    let mut analyzer = builder(2, 1).build();
    let mut events: Vec<Event<String>> = Vec::new();
    for n in 1..4 {
        let counters = analyzer.analyze(Frames::new(packets.iter().map(Packet::frame)), &mut events).unwrap();
        assert_eq!((counters.frames, counters.events, counters.flows.opened), (2 * n, 3 * n, n));
        assert_eq!(analyzer.protocol().segments, 2 * n);
        assert!(events.last().unwrap().kind.starts_with("2:"), "its flows are new");
    }
    assert_eq!(events[7].kind, "3 SYNs");
}

/// Takes so many events and breaks.
struct Limited(usize);

impl<E> Sink<E> for Limited {
    fn event(&mut self, _: E) -> ControlFlow<()> {
        self.0 -= 1;
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The same frame for ever.
struct Endless(Packet);

impl Source for Endless {
    type Error = Infallible;

    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Infallible> {
        Ok(Some(self.0.frame()))
    }
}

#[test]
fn a_sink_that_breaks_ends_even_an_endless_source() {
    for batch_bytes in [1, 1 << 16] {
        let mut analyzer = builder(2, batch_bytes).build();
        let counters = analyzer.analyze(Endless(Packet::syn(1)), &mut Limited(4)).unwrap();
        assert_eq!(counters.events, 4);
    }
}

#[test]
fn a_cancelled_analysis_tells_no_more() {
    let mut analyzer = builder(2, 1).build();
    let token = analyzer.cancel_token();
    let mut seen = 0;
    let counters = analyzer.analyze(Endless(Packet::syn(1)), &mut |_: Event<String>| {
        seen += 1;
        if seen == 5 {
            token.cancel();
        }
    });
    assert_eq!((seen, counters.unwrap().events), (5, 5));
}

#[test]
fn an_analysis_may_be_cancelled_from_outside() {
    let mut analyzer = builder(3, 1 << 14).build();
    let token = analyzer.cancel_token();
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(20));
            token.cancel();
        });
        analyzer.analyze(Endless(Packet::syn(1)), &mut |_: Event<String>| {}).unwrap();
    });
    assert!(analyzer.counters().frames > 0);
}

/// Frames, and what is instead of a further one.
struct Then<F> {
    packets: std::vec::IntoIter<Packet>,
    current: Packet,
    then: F,
}

impl<F: FnMut() -> Result<(), &'static str>> Source for Then<F> {
    type Error = &'static str;

    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, &'static str> {
        match self.packets.next() {
            Some(packet) => {
                self.current = packet;
                Ok(Some(self.current.frame()))
            }
            None => (self.then)().map(|()| None),
        }
    }
}

fn then<F: FnMut() -> Result<(), &'static str>>(packets: Vec<Packet>, then: F) -> Then<F> {
    Then { packets: packets.into_iter(), current: Packet::syn(0), then }
}

/// The events before an analysis failed, and why it did.
fn fails(
    batch_bytes: usize,
    source: impl Source<Error = &'static str> + Send,
    map: impl Fn(Event<String>) -> String + Sync,
) -> (Vec<String>, AnalysisError<&'static str>) {
    let mut events = Vec::new();
    let error = builder(2, batch_bytes).build().analyze_map(source, map, &mut events).unwrap_err();
    (events, error)
}

#[test]
fn an_error_of_the_source_comes_after_all_events_before_it() {
    for workers in [1, 2] {
        let mut events: Vec<String> = Vec::new();
        let mut analyzer = builder(workers, 1 << 20).build();
        let source = then(syns(100), || Err("cut"));
        let error = analyzer.analyze_map(source, |event| event.kind, &mut events).unwrap_err();
        assert_eq!(error, AnalysisError::Source("cut"));
        assert_eq!((events.len(), analyzer.counters().frames), (200, 100));
    }
}

/// The thread and the message of a panic.
fn panic<'e>(error: &'e AnalysisError<&'static str>) -> (&'e str, &'e str) {
    match error {
        AnalysisError::Thread { name, message } => (name, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_in_any_thread_is_an_error_with_its_message() {
    let mut poisoned = syns(50);
    poisoned[30] = Packet::said(30, TcpFlags::SYN, POISON);
    let (events, error) = fails(1, then(poisoned, || Ok(())), |event| event.kind);
    assert_eq!(panic(&error), ("worker", "poisoned"));
    assert!(events.len() <= 60);

    let (events, error) = fails(1, then(syns(50), || panic!("no {}", "more")), |event| event.kind);
    assert_eq!((events.len(), panic(&error)), (100, ("reader", "no more")));

    let (_, error) = fails(1, then(syns(50), || Ok(())), |event| refuse(event, "Segment"));
    assert_eq!(panic(&error), ("worker", "refused"));
    let (events, error) = fails(1, then(syns(50), || Ok(())), |event| refuse(event, "SYNs"));
    assert_eq!((events.len(), panic(&error)), (1, ("caller", "refused")));
}

/// Panics at what has this word.
fn refuse(event: Event<String>, word: &str) -> String {
    assert!(!event.kind.contains(word), "refused");
    event.kind
}

#[test]
fn workers_that_read_for_themselves_fail_as_others_do() {
    let fails = |source, map: fn(Event<String>) -> String| {
        let mut events = Vec::new();
        let error = builder(5, 640).build().analyze_map(source, map, &mut events).unwrap_err();
        (events.len(), error)
    };
    let packets = syns(300);
    let mut poisoned = packets.clone();
    poisoned[200] = Packet::said(200, TcpFlags::SYN, POISON);
    for source in AllThere::new(&packets).cut().with_all() {
        let (events, error) = fails(source, |event| event.kind);
        assert_eq!((events, error), (600, AnalysisError::Source("cut")));
    }
    for source in AllThere::new(&packets).then_panic().with_all() {
        let (_, error) = fails(source.clone(), |event| event.kind);
        assert_eq!(panic(&error), (source.watched_by(), "no more"));
    }
    for source in AllThere::new(&poisoned).then(&packets).with_all() {
        let (events, error) = fails(source.clone(), |event| event.kind);
        assert_eq!(panic(&error), (source.watched_by(), "poisoned"));
        assert!(events <= 400);
    }
    for source in AllThere::new(&packets).then(&packets).with_all() {
        let (events, error) = fails(source.clone(), |event| refuse(event, "Segment"));
        assert_eq!((events, panic(&error)), (0, (source.watched_by(), "refused")));
        let (events, error) = fails(source, |event| refuse(event, "SYNs"));
        assert_eq!((events, panic(&error)), (1, ("caller", "refused")));
    }
    let cursed = [&packets[..100], &[Packet::syn(u16::MAX)], &packets[100..]].concat();
    for source in AllThere::new(&cursed).with_all() {
        let (events, error) = fails(source, |event| event.kind);
        assert_eq!((events, panic(&error)), (201, ("caller", "cursed")));
    }
}

/// Counts how often it is told of the end, and how many events came since a round did.
#[derive(Default)]
struct Ends {
    ended: u32,
    since_round: u32,
}

impl Watcher for Ends {
    fn event(&mut self, _: Timestamp, _: &[u8]) -> ControlFlow<()> {
        self.since_round += 1;
        ControlFlow::Continue(())
    }

    fn round(&mut self, _: Option<Timestamp>) -> ControlFlow<()> {
        self.since_round = 0;
        ControlFlow::Continue(())
    }

    fn ended(&mut self) {
        self.ended += 1;
    }
}

#[test]
fn a_watcher_is_told_of_the_end_for_whatever_reason_it_comes() {
    let packets = syns(30);
    for source in AllThere::new(&packets).cut().with_all() {
        for word in ["Segment", "SYNs", "nowhere"] {
            let mut ends = Ends::default();
            let write = |event: &Event<String>, _: &mut Vec<u8>| _ = refuse(event.clone(), word);
            let error = builder(5, 640).build().watch(source.clone(), write, &mut ends).unwrap_err();
            assert_eq!((matches!(error, AnalysisError::Source("cut")), ends.ended), (word == "nowhere", 1));
            assert!(word != "nowhere" || ends.since_round == 0);
        }
    }
}

#[test]
fn workers_that_read_for_themselves_stop_together() {
    let packets = syns(300);
    for source in AllThere::new(&packets).then(&packets).with_all() {
        let mut analyzer = builder(5, 640).build();
        let counters = analyzer.analyze(source.clone(), &mut Limited(4)).unwrap();
        assert_eq!(counters.events, 4);
        assert_eq!(counters.frames, analyzer.protocol().segments, "all to the same frame");

        let mut analyzer = builder(5, 640).build();
        let (token, inspector) = (analyzer.cancel_token(), analyzer.inspector());
        thread::scope(|scope| {
            scope.spawn(move || {
                let asked = || inspector.ask(|glimpse| glimpse.counters().frames);
                let mut frames = std::iter::repeat_with(asked).map(Option::unwrap_or_default);
                assert!(frames.any(|frames| frames >= 1000));
                token.cancel();
            });
            analyzer.analyze(source.clone(), &mut |_: Event<String>| {}).unwrap();
        });
        let counters = analyzer.counters();
        assert!(counters.frames >= 1000);
        let whole_rounds = matches!(source.readers, Readers::Each(2..));
        assert!(!whole_rounds || counters.frames.is_multiple_of(10), "whole rounds");
        assert_eq!((counters.decode.tcp, analyzer.protocol().segments), (counters.frames, counters.frames));
    }
}

#[test]
#[should_panic(expected = "enough")]
fn a_panic_of_the_sink_is_the_callers_and_ends_all_threads() {
    let _ = builder(2, 1).build().analyze(Endless(Packet::syn(1)), &mut |_: Event<String>| panic!("enough"));
}

#[test]
#[should_panic(expected = "enough")]
fn a_panic_of_the_sink_is_the_callers_before_there_are_threads() {
    let packets = syns(3);
    let source = AllThere::new(&packets).for_each(1);
    let _ = builder(2, 1).build().analyze(source, &mut |_: Event<String>| panic!("enough"));
}

/// By which threads it was told what frames told. There are rounds of ten frames.
fn told_by(
    workers: usize,
    source: impl Source<Error: Debug + Send> + Send,
    above: Duration,
) -> Vec<ThreadId> {
    let mut told_by = Vec::new();
    let map = |event: Event<String>| event.kind.contains("Segment").then(|| thread::current().id());
    builder(workers, 160).spread_above(above).build().analyze_map(source, map, &mut told_by).unwrap();
    told_by.into_iter().flatten().collect()
}

/// How much of what frames told was told in the thread of the caller, before all else; and how much was told.
fn told_alone(source: impl Source<Error: Debug + Send> + Send, above: Duration) -> (usize, usize) {
    let caller = thread::current().id();
    let told_by = told_by(3, source, above);
    let alone = told_by.iter().take_while(|thread| **thread == caller).count();
    assert!(told_by[alone..].iter().all(|thread| *thread != caller));
    (alone, told_by.len())
}

#[test]
fn workers_begin_where_frames_take_long() {
    let [at_once, soon, never] = [Duration::ZERO, Duration::from_nanos(1), Duration::MAX];
    let packets = syns(300);
    let source = AllThere::new(&packets);
    let passing = || Passing::new(&packets);
    // Four rounds tell nothing, four must be slow, and by four it is seen how workers would divide the segments.
    for (above, told) in [(at_once, 0), (soon, 120), (never, 300)] {
        assert_eq!(told_alone(source.clone(), above), (told, 300));
        assert_eq!(told_alone(passing(), above), (told, 300));
    }
    let one_flow = vec![Packet::syn(1); 300];
    for above in [soon, never] {
        assert_eq!(told_alone(AllThere::new(&one_flow), above), (300, 300), "one worker would get all");
        assert_eq!(told_alone(Passing::new(&one_flow), above), (300, 300), "one worker would get all");
    }
    assert_eq!(told_alone(AllThere::new(&one_flow), at_once), (0, 300));
    assert_eq!(told_alone(source.clone().for_each(1), at_once), (300, 300), "for want of others");
    for left in [300, 299, 177] {
        let awaited = Passing { awaited: Some(left), ..passing() };
        assert_eq!(told_alone(awaited, never), (300 - left, 300), "to wait is for another thread");
    }
    let awaited = Passing { awaited: Some(205), ..passing() };
    assert_eq!(told_alone(awaited, soon), (95, 300), "nor is it known how they would divide the segments");
    // Where they share the reading, they always pay.
    let several = processors() > 1;
    for (above, told) in [(at_once, 0), (soon, 120), (never, 120)] {
        let told = if several { told } else { 300 };
        assert_eq!(told_alone(source.clone().in_turn(), above), (told, 300));
    }
}

#[test]
fn two_flows_get_a_worker_each() {
    let packets: Vec<_> = (0..300).map(|n| Packet::syn(n % 2)).collect();
    let workers = || {
        let told_by = told_by(2, Passing::new(&packets), Duration::from_nanos(1));
        told_by.into_iter().filter(|thread| *thread != thread::current().id()).collect::<HashSet<_>>().len()
    };
    let counts: Vec<_> = (0..20).map(|_| workers()).collect();
    // By chance no division may be even, twice in a row.
    assert!(counts.contains(&2) && counts.iter().all(|count| matches!(count, 0 | 2)), "{counts:?}");
}

/// Frames in memory are too few for two workers when it is seen that these divide them well.
#[test]
fn nothing_is_lost_where_less_is_left_than_workers_were_asked_for() {
    let packets = syns(2048 + 4096 + 100);
    let want = analyze(builder(1, 1 << 18), &packets);
    assert!(analyze(builder(2, 1 << 18).spread_above(Duration::from_nanos(1)), &packets) == want);
}

#[test]
fn what_no_worker_has_room_for_is_counted_where_it_is_to_be_dropped() {
    const COUNT: u16 = 200;
    let done = &AtomicBool::new(false);
    let source = then(syns(COUNT), || {
        done.store(true, Ordering::SeqCst);
        Ok(())
    });
    let mut events: Vec<Event<String>> = Vec::new();
    let mut analyzer = builder(2, 1).overflow(Overflow::Drop).build();
    // Who takes no event until the source has ended lets all queues run full.
    let counters = analyzer.analyze(source, &mut |event: Event<String>| {
        while !done.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        events.push(event);
    });
    let counters = counters.unwrap();
    assert!(counters.segments_dropped > 100, "{counters:?}");
    assert_eq!(counters.segments_dropped, counters.batches_dropped, "one a batch");
    assert_eq!(counters.events, 2 * (u64::from(COUNT) - counters.segments_dropped));
    assert_eq!(counters.frames, u64::from(COUNT));
    assert!(events.is_sorted_by_key(|event| event.ts.as_nanos()));
}

#[test]
fn a_worker_that_is_always_late_does_not_set_the_pace() {
    let packets = syns(120);
    let frames = Frames::new(packets.iter().map(Packet::frame));
    let late = |event: Event<String>| {
        thread::sleep(Duration::from_millis(50));
        event
    };
    let mut analyzer = builder(2, 1).overflow(Overflow::Drop).build();
    let counters = analyzer.analyze_map(frames, late, &mut |_: Event<String>| {}).unwrap();
    assert!(counters.segments_dropped > 20, "{counters:?}");
}

#[test]
fn nothing_is_lost_where_the_source_is_to_wait() {
    let packets = syns(200);
    let mut events = 0;
    let frames = Frames::new(packets.iter().map(Packet::frame));
    let counters = builder(2, 1).build().analyze(frames, &mut |_: Event<String>| {
        thread::sleep(Duration::from_micros(100));
        events += 1;
    });
    assert_eq!((events, counters.unwrap().segments_dropped), (400, 0));
}

/// Frames each of which comes only after the event of the one before was seen.
struct Dialogue {
    packets: Vec<Packet>,
    given: usize,
    heard: mpsc::Receiver<()>,
}

impl Source for Dialogue {
    type Error = mpsc::RecvTimeoutError;

    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, mpsc::RecvTimeoutError> {
        if self.given > 0 {
            self.heard.recv_timeout(Duration::from_secs(20))?;
        }
        self.given += 1;
        Ok(self.packets.get(self.given - 1).map(Packet::frame))
    }

    fn is_at_hand(&self) -> bool {
        false
    }
}

#[test]
fn no_event_waits_for_a_frame_that_is_long_in_coming() {
    let (say, heard) = mpsc::channel();
    let packets = (1..10).map(|client| Packet::said(client, TcpFlags::SYN, b"")).collect();
    let mut events = 0;
    let counters =
        builder(3, 1 << 20).build().analyze(Dialogue { packets, given: 0, heard }, &mut |event: Event<
            String,
        >| {
            events += 1;
            if event.kind.contains("Segment") {
                say.send(()).unwrap();
            }
        });
    assert_eq!((counters.unwrap().frames, events), (9, 18));
}

/// Counts what is told, and asks how the analysis stands from another thread after each round.
struct Watching {
    events: Vec<(Timestamp, Vec<u8>)>,
    rounds: Vec<Option<Timestamp>>,
}

impl Watcher for Watching {
    fn event(&mut self, ts: Timestamp, text: &[u8]) -> ControlFlow<()> {
        self.events.push((ts, text.to_vec()));
        ControlFlow::Continue(())
    }

    fn round(&mut self, taken_at: Option<Timestamp>) -> ControlFlow<()> {
        self.rounds.push(taken_at);
        ControlFlow::Continue(())
    }
}

/// Frames, each taken a second after its capture, each of which comes only after a question was answered.
struct Asked<A> {
    packets: Vec<Packet>,
    given: usize,
    ask: A,
}

impl<A: FnMut(usize)> Source for Asked<A> {
    type Error = Infallible;

    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Infallible> {
        (self.ask)(self.given);
        self.given += 1;
        Ok(self.packets.get(self.given - 1).map(Packet::frame))
    }

    fn is_at_hand(&self) -> bool {
        false
    }

    fn taken_at(&self) -> Option<Timestamp> {
        let packet = self.packets.get(self.given.checked_sub(1)?)?;
        Some(Timestamp::new(packet.ts.as_secs() + 1, 0, 6))
    }
}

/// Asks until all frames handed on so far are counted.
fn stands(inspector: &Inspector<Everything>, frames: u64) -> (Counters, u64, u32) {
    for _ in 0..10_000 {
        let told = inspector.ask(|glimpse| {
            let counted = (glimpse.counters().clone(), *glimpse.protocol_counters());
            (counted.0, counted.1, glimpse.memory().0.values().sum())
        });
        let told = told.expect("the analysis runs");
        if told.0.frames == frames && told.0.events == 2 * frames {
            return told;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("{frames} frames are never counted");
}

#[test]
fn a_watched_analysis_answers_while_its_source_waits() {
    for workers in [1, 3] {
        let mut analyzer = builder(workers, 1 << 20).build();
        // What was counted before counts.
        analyzer
            .analyze(Frames::new(syns(10).iter().map(Packet::frame)), &mut |_: Event<String>| {})
            .unwrap();
        let inspector = analyzer.inspector();
        assert_eq!(inspector.ask(|_| ()), None, "nothing runs");
        let packets: Vec<_> = (10..20).map(Packet::syn).collect();
        let source = Asked {
            packets,
            given: 0,
            ask: |given: usize| {
                let seen = 10 + given as u64;
                let (counters, segments, syns) = stands(&inspector, seen);
                assert_eq!((counters.flows.opened, counters.decode.tcp, segments), (seen, seen, seen));
                assert_eq!(u64::from(syns), seen);
            },
        };
        let mut watching = Watching { events: Vec::new(), rounds: Vec::new() };
        let write = |event: &Event<String>, text: &mut Vec<u8>| text.extend(event.kind.bytes().take(3));
        let counters = analyzer.watch(source, write, &mut watching).unwrap();
        assert_eq!((counters.frames, counters.events), (20, 40));
        let seconds = (10..20).map(|second| Some(Timestamp::new(second + 1, 0, 6)));
        assert_eq!(watching.rounds, seconds.collect::<Vec<_>>(), "one a frame");
        let times = watching.events.iter().map(|(ts, _)| ts.as_secs());
        assert!(times.eq((10..20).flat_map(|second| [second, second])));
        assert!(watching.events.iter().all(|(_, text)| text == b"1: " || text == b"1 S"));
        assert_eq!(inspector.ask(|_| ()), None, "nothing runs any more");
    }
}

/// Has a source end that waits.
struct Ending(mpsc::Sender<()>);

impl Watcher for Ending {
    fn event(&mut self, _: Timestamp, _: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn ended(&mut self) {
        self.0.send(()).unwrap();
    }
}

#[test]
fn a_worker_that_panics_ends_a_source_that_waits() {
    let (end, ended) = mpsc::channel();
    let poison = Packet::said(1, TcpFlags::SYN, POISON);
    let mut given = false;
    let source = Asked {
        packets: vec![poison],
        given: 0,
        ask: move |_| {
            if std::mem::replace(&mut given, true) {
                ended.recv_timeout(Duration::from_secs(20)).expect("the watcher is told");
            }
        },
    };
    let mut analyzer = builder(1, 1).build();
    let error = analyzer.watch(source, |_, _| {}, &mut Ending(end)).unwrap_err();
    assert_eq!(error.to_string(), "thread 'worker': poisoned");
}

#[test]
fn frames_without_segments_are_counted_while_the_source_waits() {
    let inspected = builder(2, 1 << 20).build();
    let inspector = inspected.inspector();
    let mut analyzer = inspected;
    let arp = Packet { data: vec![0; 30], link: LinkType::ETHERNET, ts: Timestamp::new(1, 0, 6) };
    let source = Asked {
        packets: vec![arp; 3],
        given: 0,
        ask: |given: usize| {
            let counted = || inspector.ask(|glimpse| glimpse.counters().frames).unwrap();
            let tries = std::iter::repeat_with(counted).take(10_000);
            let mut waited = tries.inspect(|_| thread::sleep(Duration::from_millis(1)));
            assert!(waited.any(|frames| frames == given as u64));
        },
    };
    let mut watching = Watching { events: Vec::new(), rounds: Vec::new() };
    let counters = analyzer.watch(source, |_, _| {}, &mut watching).unwrap();
    assert_eq!((counters.frames, counters.events), (3, 0));
}

#[test]
fn a_sink_that_asks_its_own_analysis_is_not_kept_waiting() {
    let mut analyzer = builder(2, 1).build();
    let inspector = analyzer.inspector();
    let mut answers = Vec::new();
    let packets = syns(3);
    let ask = &mut |_: Event<String>| answers.push(inspector.ask(|_| ()));
    analyzer.analyze(Frames::new(packets.iter().map(Packet::frame)), ask).unwrap();
    assert_eq!(answers, [None; 6]);
}

#[test]
fn whoever_asks_when_the_analysis_ends_is_not_kept_waiting() {
    for _ in 0..20 {
        let mut analyzer = builder(2, 1).build();
        let inspector = analyzer.inspector();
        let asking = thread::spawn(move || while inspector.ask(|_| ()).is_none() {});
        while !asking.is_finished() {
            analyzer
                .analyze(Frames::new(syns(3).iter().map(Packet::frame)), &mut |_: Event<String>| {})
                .unwrap();
        }
        asking.join().unwrap();
    }
}
