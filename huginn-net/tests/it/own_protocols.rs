//! Parsers of the caller's own beside the built-in ones, and frames from a thread of the caller's own.

use std::thread;

use huginn_net::blind_spots::BlindSpot;
use huginn_net::core::{
    Event as OfFlow, FlowId, Frames, Interest, NextFrame, Origin, Probe, Protocol, Segment, StreamData,
    StreamObserver, StreamParser, StreamStart, frame_channel,
};
use huginn_net::observers::EventLimits;
use huginn_net::record::formats::{EventFormat, FormattedEvent};
use huginn_net::record::{EventRecord, JsonEvent};
use huginn_net::{
    CaptureReader, Configure, Event, Frame, HuginnNet, LinkType, Observation, Side, Source, Timestamp,
    own_event,
};
use serde::Serialize;
use serde_json::Value;

use crate::captures;

/// Reads the method of the first request of a connection.
#[derive(Debug)]
struct Method {
    name: &'static str,
    is_done: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct MethodEvent {
    method: String,
}

own_event!(MethodEvent = "http_method");

impl StreamParser for Method {
    type Event = MethodEvent;
    type Counters = ();
    /// The name of the method, if it is not that of the request.
    type Settings = &'static str;

    fn probe(_: Side, first: &[u8]) -> Probe {
        if first.starts_with(b"GET ") { Probe::Certain } else { Probe::NotForUs }
    }

    fn new(_: StreamStart, name: &'static str) -> Self {
        Self { name, is_done: false }
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        (): &mut (),
        emit: &mut impl FnMut(Side, MethodEvent),
    ) {
        if let StreamData::Bytes(bytes) = data {
            let found = String::from_utf8_lossy(bytes.split(|byte| *byte == b' ').next().unwrap());
            let method = if self.name.is_empty() { &*found } else { self.name }.to_owned();
            emit(side, MethodEvent { method });
            self.is_done = true;
        }
    }

    fn reads(&self, side: Side) -> bool {
        side == Side::Client && !self.is_done
    }

    fn buffered_bytes(&self) -> usize {
        0
    }
}

const CAPTURE: &str = "curl-nginx.pcap";

fn built_in() -> Vec<Event> {
    let mut events = Vec::new();
    let capture = CaptureReader::open(captures::path(CAPTURE)).unwrap();
    HuginnNet::builder().build().analyze(capture, |event| events.push(event)).unwrap();
    events
}

/// Reports the length of each datagram, and at the end the number 0.
#[derive(Clone, Copy)]
struct Datagrams {
    /// The side that sends first.
    first_sender: Side,
    has_end: bool,
}

impl Default for Datagrams {
    fn default() -> Self {
        Self { first_sender: Side::Client, has_end: false }
    }
}

#[derive(Debug, Serialize)]
struct Datagram {
    len: usize,
    text: String,
}

own_event!(Datagram = "datagram");

impl Protocol for Datagrams {
    type Flow = Option<FlowId>;
    type Event = Datagram;
    type SharedState = ();
    type Counters = ();

    fn shared_state(&self) {}

    fn fork(&self) -> Self {
        *self
    }

    fn counters(&self) {}

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        segment.tcp().is_none().then_some(self.first_sender)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut Option<FlowId>,
        emit: &mut impl FnMut(Origin, Datagram),
    ) -> Interest {
        *flow = self.has_end.then(|| FlowId::from_segment(segment, sender));
        let text = String::from_utf8_lossy(segment.payload).into_owned();
        emit(sender.into(), Datagram { len: segment.payload.len(), text });
        Interest::More
    }

    fn has_end(flow: &Option<FlowId>) -> bool {
        flow.is_some()
    }

    fn on_end(&mut self, flow: Option<FlowId>, emit: &mut impl FnMut(OfFlow<Datagram>)) {
        let end = Datagram { len: 0, text: String::new() };
        emit(OfFlow::new(Timestamp::default(), 0, flow.unwrap(), self.first_sender, end));
    }
}

/// An IPv4 datagram with three bytes.
const DATAGRAM: [u8; 31] = [
    0x45, 0, 0, 31, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, //
    0x30, 0x39, 0, 53, 0, 11, 0, 0, b'a', b'b', b'c',
];

fn datagrams(count: usize) -> Frames<'static, impl Iterator<Item = Frame<'static>>> {
    let frame = Frame { ts: Timestamp::new(1, 0, 6), link: LinkType::RAW, data: &DATAGRAM, wire_len: 31 };
    Frames::new(std::iter::repeat_n(frame, count))
}

#[test]
fn own_protocol_reports_beside_built_in_ones() {
    let requests =
        built_in().iter().filter(|event| matches!(event.kind, Observation::HttpRequest(_))).count();
    assert!(requests > 0);
    for workers in [1, 2, 3] {
        let builder =
            HuginnNet::builder().with(StreamObserver::<Method>::default()).with(Datagrams::default());
        let mut analyzer = builder.workers(workers).build();
        let capture = CaptureReader::open(captures::path(CAPTURE)).unwrap();
        let mut events: Vec<Event> = Vec::new();
        analyzer.analyze(capture, |event| events.push(event)).unwrap();
        let (own, others): (Vec<Event>, _) =
            events.into_iter().partition(|event| matches!(event.kind, Observation::Own(_)));
        assert_eq!(others, built_in());
        assert!(!own.is_empty() && own.len() <= requests);
        for event in &own {
            let Observation::Own(found) = &event.kind else { panic!("{event:?}") };
            assert_eq!(found.get::<MethodEvent>(), Some(&MethodEvent { method: "GET".to_owned() }));
            assert_eq!((event.kind.event_name(), event.subject), ("http_method", Side::Client));
        }
        assert_eq!(BlindSpot::of_analyzer(&analyzer), Vec::new());

        let line = JsonEvent::new(&own[0]).to_string();
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&value["v"], &value["event"], &value["method"], &value["server"]["port"]),
            (&1.into(), &"http_method".into(), &"GET".into(), &80.into())
        );
        let record = EventRecord::from_event(&own[0]);
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
        assert_eq!(serde_json::from_str::<EventRecord<'_>>(&line).unwrap(), record);
        let eve = FormattedEvent::new(EventFormat::Eve, &own[0]).to_string();
        assert!(eve.contains(r#""own":{"method":"GET"}"#), "{eve}");
    }
}

#[test]
fn own_protocol_that_exchanges_sides_reports_those_of_the_flow() {
    let events = |first_sender| {
        let own = Datagrams { first_sender, has_end: true };
        let mut events: Vec<Event> = Vec::new();
        let capture = CaptureReader::open(captures::path("quic-chromium.pcap")).unwrap();
        HuginnNet::builder().with(own).build().analyze(capture, |event| events.push(event)).unwrap();
        events
    };
    let expected = events(Side::Client);
    let subjects = |side| {
        let own = |event: &&Event| matches!(event.kind, Observation::Own(_)) && event.subject == side;
        expected.iter().filter(own).count()
    };
    assert!(subjects(Side::Client) > 1 && subjects(Side::Server) > 1, "{expected:?}");
    assert!(expected.iter().any(|event| matches!(event.kind, Observation::TlsClient(_))));
    assert_eq!(events(Side::Server), expected);
}

#[test]
fn own_settings_reach_all_workers() {
    for workers in [1, 3] {
        let builder = HuginnNet::builder().with(StreamObserver::<Method>::with_settings("get"));
        let mut analyzer = builder.workers(workers).block_bytes(1).build();
        let mut methods = Vec::new();
        let capture = CaptureReader::open(captures::path(CAPTURE)).unwrap();
        analyzer
            .analyze(capture, &mut |event: Event| {
                if let Observation::Own(own) = event.kind {
                    methods.push(own.fields()["method"].clone());
                }
            })
            .unwrap();
        assert!(!methods.is_empty() && methods.iter().all(|method| method == "get"), "{methods:?}");
    }
}

#[test]
fn own_events_have_connections_and_limits() {
    let limits = EventLimits::default().max_events_per_connection(Some(2));
    let builder = || HuginnNet::builder().with(Datagrams::default()).connections(true);
    let names = |events: &[Event]| events.iter().map(|event| event.kind.event_name()).collect::<Vec<_>>();
    let mut events: Vec<Event> = Vec::new();
    builder().build().analyze(datagrams(3), |event| events.push(event)).unwrap();
    assert_eq!(names(&events), ["datagram", "datagram", "datagram", "connection"]);
    let Observation::Connection(connection) = &events[3].kind else { panic!("{events:?}") };
    assert_eq!((connection.client.packets, connection.client.bytes), (3, 9));

    let (mut events, mut analyzer) = (Vec::new(), builder().event_limits(limits).build());
    analyzer.analyze(datagrams(5), |event| events.push(event)).unwrap();
    assert_eq!(names(&events), ["datagram", "datagram", "connection"]);
    assert_eq!(analyzer.protocol().observers().counters().events_suppressed.connection, 3);

    let own = Datagrams { has_end: true, ..Datagrams::default() };
    let (mut events, builder_with_ends) = (Vec::new(), HuginnNet::builder().with(own).connection_ends(true));
    builder_with_ends.build().analyze(datagrams(2), |event| events.push(event)).unwrap();
    assert_eq!(names(&events), ["datagram", "datagram", "datagram", "connection_end"]);
    let connections = |event: &Event| event.connection() == events[0].connection();
    assert!(events.iter().all(connections) && events[0].connection().is_some());

    let limits = EventLimits::default().max_text_bytes(Some(2));
    let (mut events, mut analyzer): (Vec<Event>, _) = (Vec::new(), builder().event_limits(limits).build());
    analyzer.analyze(datagrams(1), |event| events.push(event)).unwrap();
    let line = JsonEvent::new(&events[0]).to_string();
    assert!(line.ends_with(r#""len":3,"text":"ab","cut":["text"]}"#), "{line}");
}

#[test]
fn channel_passes_frames_to_any_number_of_workers() {
    for workers in [1, 2] {
        let (mut sender, receiver) = frame_channel();
        let capture = thread::spawn(move || {
            let mut capture = CaptureReader::open(captures::path(CAPTURE)).unwrap();
            while let Some(frame) = capture.read_frame().unwrap() {
                sender.send(&frame).unwrap();
            }
        });
        let mut events: Vec<Event> = Vec::new();
        let mut analyzer = HuginnNet::builder().workers(workers).build();
        analyzer.analyze(receiver, |event| events.push(event)).unwrap();
        capture.join().unwrap();
        assert_eq!(events, built_in());
    }
}

#[test]
fn channel_ends_with_either_side() {
    let frame = Frame { ts: Timestamp::default(), link: LinkType::RAW, data: &[0x45; 4], wire_len: 4 };
    let (mut sender, receiver) = frame_channel();
    drop(receiver);
    assert!(sender.send(&frame).is_err());

    let (mut sender, mut receiver) = frame_channel();
    assert!(matches!(receiver.next_frame(), Ok(NextFrame::Idle)));
    // The first frame is sent at once, the others with the sender's end.
    for _ in 0..3 {
        sender.send(&frame).unwrap();
    }
    drop(sender);
    for _ in 0..3 {
        assert!(matches!(receiver.next_frame(), Ok(NextFrame::Frame(found)) if found.data == [0x45; 4]));
    }
    assert!(matches!(receiver.next_frame(), Ok(NextFrame::End)));
    assert!(matches!(receiver.next_frame(), Ok(NextFrame::End)));
}

/// The frames of a capture, in memory that outlives every thread.
fn leaked_frames() -> Vec<Frame<'static>> {
    let mut capture = CaptureReader::open(captures::path(CAPTURE)).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = capture.read_frame().unwrap() {
        let data: &'static [u8] = frame.data.to_vec().leak();
        frames.push(Frame { ts: frame.ts, link: frame.link, data, wire_len: frame.wire_len });
    }
    frames
}

#[test]
fn stopped_run_reports_open_connections() {
    let frames = leaked_frames();
    let (mut sender, receiver) = frame_channel();
    let mut run = HuginnNet::builder().connections(true).build().spawn(receiver);
    for frame in &frames[..4] {
        sender.send(frame).unwrap();
    }
    sender.flush().unwrap();
    while run.counters().engine.frames < 4 {
        thread::yield_now();
    }
    assert!(run.query(|snapshot| snapshot.shared_state().counters().active).unwrap() > 0);
    // The connection is open, and the sender does not end.
    run.stop();
    let connections = run.by_ref().filter(|event| matches!(event.kind, Observation::Connection(_))).count();
    assert_eq!(connections, 1);
    assert_eq!(run.finish().1.unwrap().frames, 4);
    assert!(sender.send(&frames[4]).and_then(|()| sender.flush()).is_err(), "the analysis has ended");
}

#[cfg(feature = "stream")]
#[tokio::test]
async fn run_is_a_stream_of_the_events_of_the_analysis() {
    use tokio_stream::StreamExt;

    let open = || CaptureReader::open(captures::path(CAPTURE)).unwrap();
    let mut run = HuginnNet::builder().build().spawn(open());
    let mut events = Vec::new();
    while let Some(event) = StreamExt::next(&mut run).await {
        events.push(event);
    }
    assert_eq!(events, built_in());
    let (analyzer, outcome) = run.await;
    assert_eq!(outcome.unwrap(), analyzer.counters());

    let mut run = HuginnNet::builder().build().spawn(open());
    assert!(StreamExt::next(&mut run).await.is_some());
    // The analysis stops without a reader.
    drop(run);
}
