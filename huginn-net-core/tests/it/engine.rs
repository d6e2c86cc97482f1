//! The engine through its public API, with small test protocols.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use huginn_net_core::{
    Analyzer, Either, Event, Filter, FlowId, FlowLimits, Frame, Frames, Interest, Origin, Protocol, Report,
    Route, Segment, SharedState, Side, TcpFlags, Timestamp, TransportKind,
};

use crate::packet::{Endpoint, frame};

const CLIENT: Endpoint = ([10, 0, 0, 1], 40_000);
const SERVER: Endpoint = ([192, 0, 2, 1], 80);

/// Builds a segment with acknowledgement number 0.
fn tcp(src: Endpoint, dst: Endpoint, flags: TcpFlags, seq: u32, payload: &[u8]) -> Vec<u8> {
    crate::packet::tcp(src, dst, flags, [seq, 0], &[], payload)
}

fn syn(seq: u32) -> Vec<u8> {
    tcp(CLIENT, SERVER, TcpFlags::SYN, seq, b"")
}

fn client_data(payload: &[u8]) -> Vec<u8> {
    tcp(CLIENT, SERVER, TcpFlags::ACK, 1, payload)
}

fn server_data(payload: &[u8]) -> Vec<u8> {
    tcp(SERVER, CLIENT, TcpFlags::ACK, 1, payload)
}

fn run<P: Protocol + Default>(packets: &[(u64, Vec<u8>)]) -> Vec<(Side, Report<P>)> {
    let mut analyzer = Analyzer::<P>::builder().build();
    let mut events: Vec<Event<Report<P>>> = Vec::new();
    let frames = packets.iter().map(|(seconds, packet)| frame(*seconds, packet));
    let counters = analyzer.analyze(Frames::new(frames), |event| events.push(event)).unwrap();
    assert_eq!(counters.events, events.len() as u64);
    assert_eq!(counters.frames, packets.len() as u64);
    events.into_iter().map(|event| (event.subject, event.kind)).collect()
}

/// Numbers the segments of each flow that begins with a SYN.
#[derive(Default)]
struct Numbers;

impl Protocol for Numbers {
    type Flow = u32;
    type Event = u32;
    type SharedState = ();
    type Counters = ();

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        Self
    }

    fn counters(&self) {}

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        segment.tcp().is_some_and(|tcp| tcp.flags == TcpFlags::SYN).then_some(Side::Client)
    }

    fn on_segment(
        &mut self,
        _: &Segment<'_>,
        sender: Side,
        flow: &mut u32,
        emit: &mut impl FnMut(Origin, u32),
    ) -> Interest {
        *flow += 1;
        emit(sender.into(), *flow);
        Interest::More
    }
}

/// Reports the first payload byte of a flow, which may start midstream, and is then done.
#[derive(Default)]
struct FirstByte;

impl Protocol for FirstByte {
    type Flow = ();
    type Event = u8;
    type SharedState = ();
    type Counters = ();

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        Self
    }

    fn counters(&self) {}

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        Some(if segment.payload.first() == Some(&b'S') { Side::Server } else { Side::Client })
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        (): &mut (),
        emit: &mut impl FnMut(Origin, u8),
    ) -> Interest {
        match segment.payload.first() {
            Some(byte) => {
                emit(sender.into(), *byte);
                Interest::Done
            }
            None => Interest::More,
        }
    }
}

#[test]
fn both_directions_share_one_flow() {
    let events = run::<Numbers>(&[(0, syn(1)), (0, server_data(b"")), (0, client_data(b"x"))]);
    assert_eq!(events, [(Side::Client, 1), (Side::Server, 2), (Side::Client, 3)]);
}

#[test]
fn syn_restarts_flow_unless_retransmitted() {
    let numbers =
        |packets: &[(u64, Vec<u8>)]| -> Vec<u32> { run::<Numbers>(packets).iter().map(|e| e.1).collect() };
    assert_eq!(numbers(&[(0, syn(1)), (63, syn(1)), (127, syn(1))]), [1, 2, 3], "retransmissions");
    assert_eq!(numbers(&[(0, syn(1)), (3, syn(2))]), [1, 1], "another sequence number");
    assert_eq!(numbers(&[(0, syn(1)), (131, syn(1))]), [1, 1], "too late for a retransmission");
    let backwards = tcp(SERVER, CLIENT, TcpFlags::SYN, 1, b"");
    assert_eq!(numbers(&[(0, syn(1)), (0, backwards)]), [1, 1], "from the other side");
    for (ack, expected) in [(2, [1, 2, 1]), (7, [1, 2, 3])] {
        let refusal = crate::packet::tcp(SERVER, CLIENT, TcpFlags::RST | TcpFlags::ACK, [0, ack], &[], b"");
        assert_eq!(numbers(&[(0, syn(1)), (0, refusal), (1, syn(1))]), expected, "after RST for {ack}");
    }
    let contradictory = tcp(SERVER, CLIENT, TcpFlags::RST | TcpFlags::FIN, 1, b"");
    assert_eq!(
        numbers(&[(0, syn(1)), (0, contradictory), (1, syn(1))]),
        [1, 2, 3],
        "contradictory flags do not end the flow"
    );
}

#[test]
fn flow_expires_after_idle_timeout() {
    let other = tcp(([10, 0, 0, 2], 1), SERVER, TcpFlags::SYN, 1, b"");
    let others = |seconds: u64| (1..=seconds / 5).map(move |n| 5 * n).zip(std::iter::repeat(other.clone()));
    let data_after = |seconds: u64| {
        let opened = [(0, syn(1)), (0, server_data(b""))];
        let packets: Vec<_> =
            opened.into_iter().chain(others(seconds)).chain([(seconds, client_data(b""))]).collect();
        let numbers: Vec<u32> = run::<Numbers>(&packets).iter().map(|event| event.1).collect();
        numbers.last() == Some(&3)
    };
    assert_eq!([data_after(300), data_after(305)], [true, false]);
}

/// Nothing says that the flow was idle but the clock, which may be wrong.
#[test]
fn flow_survives_pauses_and_steps_of_clock() {
    for seconds in [250, 301, 400, 1_500_000_000] {
        let kept =
            run::<Numbers>(&[(0, syn(1)), (seconds, client_data(b"")), (2 * seconds, client_data(b""))]);
        assert_eq!(kept.len(), 3, "{seconds}");
    }
    let (start, other) = (1_000_000, tcp(([10, 0, 0, 2], 1), SERVER, TcpFlags::SYN, 1, b""));
    for wrong in [0, start - 400, start + 250, start + 400, 2 * start] {
        for count in [1, 2] {
            let mut packets = vec![(start, syn(1))];
            packets.extend(vec![(wrong, other.clone()); count]);
            packets.extend([(start, client_data(b"")), (wrong, client_data(b""))]);
            assert_eq!(run::<Numbers>(&packets).len(), 3 + count, "{wrong}");
        }
    }
}

/// A step of the clock may fall between a SYN and its answer, whose flow has a shorter timeout.
#[test]
fn four_steps_expire_no_connection_that_one_side_opened() {
    let open = |client| [TcpFlags::SYN].map(|flags| tcp(([10, 0, 0, client], 1), SERVER, flags, 1, b""));
    let expired = |steps: u64| {
        let mut analyzer = Analyzer::<Numbers>::builder().build();
        let mut events: Vec<Event<u32>> = Vec::new();
        let steps = (1..=steps).flat_map(|n| [3600 * n, 3600 * n].map(|seconds| (seconds, open(2))));
        for (seconds, [packet]) in std::iter::once((0, open(1))).chain(steps) {
            let _ = analyzer.push(&frame(seconds, &packet), |event| events.push(event));
        }
        analyzer.counters().flows.expired
    };
    assert_eq!([1, 4, 6].map(expired), [0, 0, 1]);
}

/// A sparse capture consists of pauses; each counts as a twelfth of the timeout.
#[test]
fn flow_expires_after_several_pauses() {
    let packets: Vec<_> = (0..20_u8)
        .flat_map(|n| {
            let opened = [TcpFlags::SYN, TcpFlags::ACK];
            opened.map(|flags| (3600 * u64::from(n), tcp(([10, 0, 0, n], 1), SERVER, flags, 1, b"")))
        })
        .collect();
    // So few that they share a partition.
    let limits = FlowLimits::default().max_flows(100);
    let mut analyzer = Analyzer::<Numbers>::builder().flow_limits(limits).build();
    let mut events: Vec<Event<u32>> = Vec::new();
    for (seconds, packet) in &packets {
        let _ = analyzer.push(&frame(*seconds, packet), |event| events.push(event));
    }
    let counters = analyzer.counters();
    assert_eq!((counters.flows.expired, counters.time_steps_ahead, counters.time_steps_back), (8, 19, 0));
}

/// How long a connection stays follows from what the sides acknowledge.
#[test]
fn connection_stays_briefly_after_its_end() {
    let fin = TcpFlags::FIN | TcpFlags::ACK;
    let from_client = |flags, numbers| (0, crate::packet::tcp(CLIENT, SERVER, flags, numbers, &[], b""));
    let from_server = |flags, numbers| (0, crate::packet::tcp(SERVER, CLIENT, flags, numbers, &[], b""));
    let other = tcp(([10, 0, 0, 2], 1), SERVER, TcpFlags::ACK, 1, b"");
    let expires_after = |packets: &[(u64, Vec<u8>)]| {
        let mut analyzer = Analyzer::<Numbers>::builder().build();
        let mut events: Vec<Event<u32>> = Vec::new();
        for (seconds, packet) in packets {
            let _ = analyzer.push(&frame(*seconds, packet), |event| events.push(event));
        }
        (0..400).find(|seconds| {
            let _ = analyzer.push(&frame(*seconds, &other), |event| events.push(event));
            analyzer.counters().flows.expired > 0
        })
    };
    let opened = [(0, syn(1)), from_server(TcpFlags::SYN | TcpFlags::ACK, [1, 2])];
    let closed_by_client = [from_client(fin, [2, 2]), from_server(TcpFlags::ACK, [2, 3])];
    let closed_by_server = [from_server(fin, [2, 3]), from_client(TcpFlags::ACK, [3, 3])];
    let close = [closed_by_client, closed_by_server].concat();
    let with = |more: &[(u64, Vec<u8>)]| [&opened[..], more].concat();
    assert_eq!(expires_after(&with(&[])), Some(301));
    assert_eq!(expires_after(&with(&close)), Some(3));
    assert_eq!(expires_after(&with(&close[..3])), Some(31), "the last acknowledgement may be lost");
    assert_eq!(expires_after(&with(&close[..2])), Some(31), "the other FIN may be lost");
    let goes_on = [from_server(TcpFlags::ACK, [3, 9])];
    assert_eq!(expires_after(&with(&[&close[..], &goes_on].concat())), Some(31), "the server has more data");
    assert_eq!(expires_after(&opened[..1]), Some(131), "half open");
    let refused = [(0, syn(1)), from_server(TcpFlags::RST | TcpFlags::ACK, [0, 2])];
    assert_eq!(expires_after(&refused), Some(3));
    let of_another = [(0, syn(1)), from_server(TcpFlags::RST | TcpFlags::ACK, [0, 7])];
    assert_eq!(expires_after(&of_another), Some(31));
}

#[test]
fn done_protocol_sees_next_connection_only() {
    let events = run::<FirstByte>(&[
        (0, client_data(b"a")),
        (0, client_data(b"b")),
        (0, server_data(b"c")),
        (0, syn(7)),
        (0, client_data(b"d")),
    ]);
    assert_eq!(events, [(Side::Client, b'a'), (Side::Client, b'd')]);
}

#[test]
fn protocol_decides_sides_of_midstream_flow() {
    let packets = [server_data(b"S")];
    let mut events: Vec<Event<u8>> = Vec::new();
    let mut analyzer = Analyzer::<FirstByte>::builder().build();
    analyzer
        .analyze(Frames::new(packets.iter().map(|packet| frame(0, packet))), |event| events.push(event))
        .unwrap();
    let flow = &events[0].flow;
    assert_eq!(
        (events[0].subject, flow.client.port(), flow.server.port()),
        (Side::Server, CLIENT.1, SERVER.1)
    );
    assert_eq!(events[0].subject_addr(), flow.server);
    assert_eq!(flow.server.ip(), Ipv4Addr::from(SERVER.0));
}

/// Is done with the first payload of a flow, and reports its length when the flow ends.
#[derive(Default)]
struct LengthAtEnd;

impl Protocol for LengthAtEnd {
    type Flow = Option<(FlowId, Vec<u8>)>;
    type Event = usize;
    type SharedState = ();
    type Counters = ();

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        Self
    }

    fn counters(&self) {}

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        (!segment.payload.is_empty()).then_some(Side::Client)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut Self::Flow,
        _: &mut impl FnMut(Origin, usize),
    ) -> Interest {
        *flow = Some((FlowId::from_segment(segment, sender), segment.payload.to_vec()));
        Interest::Done
    }

    fn has_end(flow: &Self::Flow) -> bool {
        flow.is_some()
    }

    fn on_end(&mut self, flow: Self::Flow, emit: &mut impl FnMut(Event<usize>)) {
        if let Some((flow, payload)) = flow {
            emit(Event::new(Default::default(), 0, flow, Side::Client, payload.len()));
        }
    }

    fn buffered_bytes(flow: &Self::Flow) -> usize {
        flow.as_ref().map_or(0, |(_, payload)| payload.capacity())
    }
}

#[test]
fn pair_of_protocols_shares_one_flow_table() {
    let packets = [(0, syn(1)), (0, server_data(b"S")), (0, client_data(b"x"))];
    let events = run::<(Numbers, FirstByte)>(&packets);
    let kinds: Vec<Either<u32, u8>> = events.into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, [Either::First(1), Either::First(2), Either::Second(b'S'), Either::First(3)]);
}

#[test]
fn pair_reports_end_of_protocol_that_starts_later() {
    let packets = [(0, syn(1)), (0, server_data(b"SSS")), (0, client_data(b"xx")), (0, client_data(b"yyyy"))];
    assert_eq!(run::<LengthAtEnd>(&packets[2..]), [(Side::Client, 2)]);
    // The server's data would exchange the sides.
    let events = run::<((Numbers, FirstByte), LengthAtEnd)>(&packets);
    let lengths = events.iter().filter_map(|(side, kind)| match kind {
        Either::First(_) => None,
        Either::Second(len) => Some((*side, *len)),
    });
    assert_eq!(lengths.collect::<Vec<_>>(), [(Side::Client, 2)]);
    assert_eq!(events.len(), 4 + 1 + 1);
    // Midstream, only one of them starts the flow.
    let events = run::<(Numbers, LengthAtEnd)>(&packets[2..]);
    assert_eq!(events, [(Side::Client, Either::Second(2))]);
}

#[test]
fn filter_passes_both_directions_or_neither() {
    let other = tcp(CLIENT, ([192, 0, 2, 2], 81), TcpFlags::SYN, 1, b"");
    let packets = [syn(1), server_data(b""), other];
    let seen = |filter: Filter| {
        let mut analyzer = Analyzer::<Numbers>::builder().filter(filter).build();
        let mut events: Vec<Event<u32>> = Vec::new();
        let frames = packets.iter().map(|packet| frame(0, packet));
        let counters = analyzer.analyze(Frames::new(frames), |event| events.push(event)).unwrap();
        assert_eq!(counters.segments_filtered, 3 - events.len() as u64);
        events.len()
    };
    assert_eq!(seen(Filter::new()), 3);
    assert_eq!(seen(Filter::new().port(80)), 2);
    assert_eq!(seen(Filter::new().port(80).port(81)), 3);
    assert_eq!(seen(Filter::new().net("192.0.2.2/32".parse().unwrap())), 1);
    assert_eq!(seen(Filter::new().net("10.0.0.0/8".parse().unwrap()).port(9)), 0);
    assert_eq!(seen(Filter::new().net("2001:db8::/32".parse().unwrap())), 0);
    assert_eq!(seen(Filter::new().exclude_port(80)), 1);
    assert_eq!(seen(Filter::new().exclude_port(80).exclude_port(81)), 0);
    assert_eq!(seen(Filter::new().port(80).exclude_port(81)), 2);
    assert_eq!(seen(Filter::new().exclude_net("192.0.2.2/32".parse().unwrap())), 2);
    assert_eq!(seen(Filter::new().port(81).exclude_net("2001:db8::/32".parse().unwrap())), 1);
}

#[test]
fn breaking_sink_stops_analysis() {
    let packets: Vec<_> = (0..10).map(syn).collect();
    let mut analyzer = Analyzer::<Numbers>::builder().build();
    let frames = packets.iter().map(|packet| frame(0, packet));
    let mut left = 4;
    let counters = analyzer.analyze(Frames::new(frames), |_| {
        left -= 1;
        left > 0
    });
    let counters = counters.unwrap();
    assert_eq!((counters.frames, counters.events), (4, 4));
}

#[test]
fn cancelled_analysis_reads_no_further_frame() {
    let packets: Vec<_> = (0..10).map(syn).collect();
    let mut analyzer = Analyzer::<Numbers>::builder().build();
    let token = analyzer.cancel_token();
    let mut seen = 0;
    let frames = packets.iter().map(|packet| frame(0, packet));
    let counters = analyzer.analyze(Frames::new(frames), &mut |_: Event<u32>| {
        seen += 1;
        if seen == 3 {
            token.cancel();
        }
    });
    assert_eq!(counters.unwrap().frames, 3);
}

#[test]
fn flows_are_capped_and_cleared_between_captures() {
    let limits = FlowLimits::default().max_flows(2);
    let packets: Vec<_> = (0..5).map(|n| tcp(([10, 0, 0, n], 1), SERVER, TcpFlags::SYN, 1, b"")).collect();
    let mut analyzer = Analyzer::<Numbers>::builder().flow_limits(limits).build();
    let mut events: Vec<Event<u32>> = Vec::new();
    for packet in &packets {
        let _ = analyzer.push(&frame(0, packet), |event| events.push(event));
    }
    let flows = analyzer.counters().flows;
    assert_eq!((flows.opened, flows.evicted, flows.active), (5, 3, 2));
    analyzer.finish(|event| events.push(event));
    assert_eq!(analyzer.counters().flows.active, 0);
}

/// Reports every SYN; the shared state counts SYNs per client.
#[derive(Default)]
struct Syns;

#[derive(Default)]
struct SynsOfClients(HashMap<IpAddr, u32>);

impl Protocol for Syns {
    type Flow = ();
    type Event = bool;
    type SharedState = SynsOfClients;
    type Counters = ();

    fn shared_state(&self) -> SynsOfClients {
        SynsOfClients::default()
    }

    fn fork(&self) -> Self {
        Self
    }

    fn counters(&self) {}

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        Numbers.starts_flow(segment)
    }

    fn on_segment(
        &mut self,
        _: &Segment<'_>,
        sender: Side,
        (): &mut (),
        emit: &mut impl FnMut(Origin, bool),
    ) -> Interest {
        emit(sender.into(), false);
        emit(sender.into(), true);
        Interest::Done
    }
}

impl SharedState<bool> for SynsOfClients {
    type Report = u32;
    type Update = ();
    type Ticket = ();

    fn route(is_update: bool) -> Route<u32, ()> {
        if is_update { Route::Update(()) } else { Route::Report(0) }
    }

    fn ticket<K>(_: &Event<K>, _: &u32) {}

    fn admits(&mut self, (): ()) -> bool {
        true
    }

    fn on_update(&mut self, update: Event<()>, report: &mut impl FnMut(Event<u32>)) {
        let count = self.0.entry(update.subject_addr().ip()).or_default();
        *count += 1;
        let count = *count;
        report(update.map(|()| count));
    }

    /// Reports the number of clients, as a number above 100.
    fn on_end(&mut self, report: &mut impl FnMut(Event<u32>)) {
        let flow = FlowId::new(CLIENT.into(), SERVER.into(), TransportKind::Tcp, None);
        let clients = u32::try_from(self.0.len()).unwrap();
        report(Event::new(Timestamp::from_nanos(0, 6), 0, flow, Side::Client, 100 + clients));
    }
}

#[test]
fn shared_state_reports_in_order_and_outlives_flows() {
    let other = ([10, 0, 0, 2], 1);
    let packets = [CLIENT, (CLIENT.0, 2), other, (CLIENT.0, 3)]
        .map(|client| tcp(client, SERVER, TcpFlags::SYN, 1, b""));
    let frames = || Frames::new(packets.iter().map(|packet| frame(0, packet)));
    let mut analyzer = Analyzer::<Syns>::builder().build();
    let mut events: Vec<Event<u32>> = Vec::new();
    let counters = analyzer.analyze(frames(), |event| events.push(event));
    assert_eq!(events.iter().map(|event| event.kind).collect::<Vec<_>>(), [0, 1, 0, 2, 0, 1, 0, 3, 102]);
    assert_eq!(counters.unwrap().events, 9);
    let mut parallel: Vec<Event<u32>> = Vec::new();
    let workers = 2;
    Analyzer::<Syns>::builder()
        .workers(workers)
        .build()
        .analyze(frames(), |event| parallel.push(event))
        .unwrap();
    assert_eq!(parallel, events);
    let mut queued: Vec<Event<u32>> = Vec::new();
    let none = || Frames::new(std::iter::empty::<Frame<'static>>());
    Analyzer::<Syns>::builder()
        .build()
        .analyze_queues(vec![none(), none()], |event| queued.push(event))
        .unwrap();
    assert_eq!(queued.iter().map(|event| event.kind).collect::<Vec<_>>(), [100]);
    assert_eq!(analyzer.shared_state().0.len(), 2);
    assert!(analyzer.push(&frame(0, &packets[0]), |_| false).is_break());
    assert_eq!(analyzer.shared_state().0[&IpAddr::from(CLIENT.0)], 3, "no update is applied after the break");
}
