//! Parsers of the caller's own beside the built-in ones, and frames from a thread of the caller's own.

use std::num::NonZeroUsize;
use std::thread;

use huginn_net::core::{
    Either, Event as CoreEvent, NextFrame, Probe, StreamData, StreamObserver, StreamParser, StreamStart,
    frame_channel,
};
use huginn_net::record::CustomEventRecord;
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observation, Observers, Side, Source};
use serde::Serialize;
use serde_json::Value;

use crate::captures;

/// Reads the method of the first request of a connection.
#[derive(Debug)]
struct Method(bool);

#[derive(Clone, Debug, PartialEq, Serialize)]
struct MethodEvent {
    method: String,
}

impl StreamParser for Method {
    type Event = MethodEvent;
    type Counters = ();
    type Settings = ();

    fn probe(_: Side, first: &[u8]) -> Probe {
        if first.starts_with(b"GET ") { Probe::Certain } else { Probe::NotForUs }
    }

    fn new(_: StreamStart, (): ()) -> Self {
        Self(false)
    }

    fn on_data(
        &mut self,
        side: Side,
        data: StreamData<'_>,
        (): &mut (),
        emit: &mut impl FnMut(Side, MethodEvent),
    ) {
        if let StreamData::Bytes(bytes) = data {
            let method =
                String::from_utf8_lossy(bytes.split(|byte| *byte == b' ').next().unwrap()).into_owned();
            emit(side, MethodEvent { method });
            self.0 = true;
        }
    }

    fn reads(&self, side: Side) -> bool {
        side == Side::Client && !self.0
    }

    fn buffered_bytes(&self) -> usize {
        0
    }
}

const CAPTURE: &str = "curl-nginx.pcap";

fn built_in() -> Vec<Event> {
    let mut events = Vec::new();
    let capture = CaptureReader::open(captures::path(CAPTURE)).unwrap();
    HuginnNet::builder().build().analyze(capture, &mut events).unwrap();
    events
}

#[test]
fn pair_reports_events_of_both_protocols() {
    let requests =
        built_in().iter().filter(|event| matches!(event.kind, Observation::HttpRequest(_))).count();
    assert!(requests > 0);
    for workers in [1, 2, 3] {
        let protocols = (Observers::default(), StreamObserver::<Method>::default());
        let builder = huginn_net::core::Analyzer::builder_with(protocols);
        let mut analyzer = builder.workers(NonZeroUsize::new(workers).unwrap()).build();
        let (mut findings, mut methods) = (Vec::new(), Vec::new());
        let capture = CaptureReader::open(captures::path(CAPTURE)).unwrap();
        let mut sink = |event: CoreEvent<Either<Observation, MethodEvent>>| match event.split() {
            Either::First(event) => findings.push(event),
            Either::Second(event) => methods.push(event),
        };
        analyzer.analyze(capture, &mut sink).unwrap();
        assert_eq!(findings, built_in());
        assert!(!methods.is_empty() && methods.len() <= requests);
        assert!(methods.iter().all(|event| event.kind.method == "GET" && event.subject == Side::Client));

        let line = serde_json::to_string(&CustomEventRecord::new("http_method", &methods[0])).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&line["v"], &line["event"], &line["method"]),
            (&1.into(), &"http_method".into(), &"GET".into())
        );
        assert_eq!(line["server"]["port"], 80);
    }
}

#[test]
fn channel_passes_frames_to_any_number_of_workers() {
    for workers in [1, 2] {
        let (mut sender, receiver) = frame_channel();
        let capture = thread::spawn(move || {
            let mut capture = CaptureReader::open(captures::path(CAPTURE)).unwrap();
            while let Some(frame) = capture.next_frame().unwrap() {
                sender.send(&frame).unwrap();
            }
        });
        let mut events: Vec<Event> = Vec::new();
        let mut analyzer = HuginnNet::builder().workers(NonZeroUsize::new(workers).unwrap()).build();
        analyzer.analyze(receiver, &mut events).unwrap();
        capture.join().unwrap();
        assert_eq!(events, built_in());
    }
}

#[test]
fn channel_ends_with_either_side() {
    let frame = huginn_net::Frame {
        ts: huginn_net::Timestamp::default(),
        link: huginn_net::LinkType::RAW,
        data: &[0x45; 4],
        wire_len: 4,
    };
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
fn leaked_frames() -> Vec<huginn_net::Frame<'static>> {
    let mut capture = CaptureReader::open(captures::path(CAPTURE)).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = capture.next_frame().unwrap() {
        let data: &'static [u8] = frame.data.to_vec().leak();
        frames.push(huginn_net::Frame { ts: frame.ts, link: frame.link, data, wire_len: frame.wire_len });
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
