//! For any number of workers and any size of batches, the captures of `captures/` give the same events in the same
//! order, and the same counters.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::convert::Infallible;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::slice;
use std::time::Duration;

use huginn_net::core::Frames;
use huginn_net::{
    AnalysisError, Builder, CaptureError, CaptureReader, Counters, Event, Frame, HuginnNet, LinkType,
    Observers, ProtocolCounters, Source, Timestamp,
};

/// A frame of its own.
struct Packet {
    ts: Timestamp,
    link: LinkType,
    data: Vec<u8>,
    wire_len: u32,
}

impl Packet {
    fn frame(&self) -> Frame<'_> {
        Frame { ts: self.ts, link: self.link, data: &self.data, wire_len: self.wire_len }
    }
}

/// The packets of each capture.
fn captures() -> Vec<(String, Vec<Packet>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures");
    let mut captures = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng") {
            captures.push((path.display().to_string(), packets(&path).unwrap()));
        }
    }
    captures.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(captures.len() > 100, "the captures are missing");
    captures
}

fn packets(path: &Path) -> Result<Vec<Packet>, CaptureError> {
    let mut reader = CaptureReader::open(path)?;
    let mut packets = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        let Frame { ts, link, data, wire_len } = frame;
        packets.push(Packet { ts, link, data: data.to_vec(), wire_len });
    }
    Ok(packets)
}

type Outcome = (Vec<Event>, Counters, ProtocolCounters);

fn analyze<'a>(
    builder: Builder<Observers>,
    packets: impl IntoIterator<Item = &'a Packet, IntoIter: Send>,
) -> Result<Outcome, AnalysisError<Infallible>> {
    analyze_source(builder, Frames::new(packets.into_iter().map(Packet::frame)))
}

fn analyze_source(
    builder: Builder<Observers>,
    source: impl Source<Error = Infallible> + Send,
) -> Result<Outcome, AnalysisError<Infallible>> {
    let mut analyzer = builder.build();
    let mut events = Vec::new();
    let counters = analyzer.analyze(source, &mut events)?;
    Ok((events, counters, analyzer.protocol().counters()))
}

/// Frames that each worker reads for itself, however few they are.
#[derive(Clone)]
struct ReadByEach<'a>(slice::Iter<'a, &'a Packet>);

impl Source for ReadByEach<'_> {
    type Error = Infallible;

    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Infallible> {
        Ok(self.0.next().map(|packet| packet.frame()))
    }

    fn twins(&self, at_most: usize) -> Vec<Self> {
        vec![self.clone(); at_most]
    }
}

fn spread(workers: usize, batch_bytes: usize) -> Builder<Observers> {
    let builder = HuginnNet::builder().workers(NonZeroUsize::new(workers).unwrap());
    builder.batch_bytes(batch_bytes).spread_above(Duration::ZERO)
}

#[test]
fn each_capture_alone() {
    for (name, packets) in &captures() {
        let want = analyze(HuginnNet::builder(), packets).unwrap();
        let each: Vec<_> = packets.iter().collect();
        for workers in 1..=8 {
            for batch_bytes in [1, 2048, 1 << 18] {
                let found = analyze(spread(workers, batch_bytes), packets).unwrap();
                assert!(found == want, "{name}, {workers} workers, batches of {batch_bytes}");
                for above in [Duration::ZERO, Duration::from_nanos(1)] {
                    let builder = spread(workers, batch_bytes).spread_above(above);
                    let found = analyze_source(builder, ReadByEach(each.iter())).unwrap();
                    let which = format!("{workers} workers above {above:?}, batches of {batch_bytes}");
                    assert!(found == want, "{name}, read by {which}");
                }
            }
        }
    }
}

/// Their times go back and forth, and the same flows come again.
#[test]
fn all_captures_twice_over() {
    let captures = captures();
    let all = || captures.iter().chain(&captures).flat_map(|(_, packets)| packets);
    let packets: Vec<_> = all().collect();
    let want = analyze(HuginnNet::builder(), packets.clone()).unwrap();
    assert!(want.0.len() > 1000);
    for workers in 1..=8 {
        for batch_bytes in [1, 4096, 1 << 16, 1 << 20] {
            let found = analyze(spread(workers, batch_bytes), packets.clone()).unwrap();
            assert!(found == want, "{workers} workers, batches of {batch_bytes}");
            let found = analyze_source(spread(workers, batch_bytes), ReadByEach(packets.iter())).unwrap();
            assert!(found == want, "read by {workers} workers, batches of {batch_bytes}");
        }
    }
}

/// A file of so many buffers that records lie across their ends.
#[test]
fn a_large_file_gives_what_its_frames_give() {
    let captures = captures();
    let packets = captures.iter().cycle().take(10 * captures.len()).flat_map(|(_, packets)| packets);
    let packets: Vec<&Packet> = packets.filter(|packet| packet.link == LinkType::ETHERNET).collect();
    let mut file = [0xa1b2_3c4d_u32, 0x0002_0004, 0, 0, 1 << 18, 1].map(u32::to_be_bytes).concat();
    for packet in &packets {
        let len = u32::try_from(packet.data.len()).unwrap();
        let seconds = u32::try_from(packet.ts.as_secs()).unwrap();
        let header = [seconds, packet.ts.subsec_nanos(), len, packet.wire_len];
        file.extend(header.map(u32::to_be_bytes).concat());
        file.extend(&packet.data);
    }
    assert!(file.len() > 4 << 20);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("large.pcap");
    fs::write(&path, &file).unwrap();
    let analyze = |builder: Builder<Observers>, reader: CaptureReader| {
        let mut events: Vec<Event> = Vec::new();
        let counters = builder.build().analyze(reader, &mut events).unwrap();
        (events, counters)
    };
    let open = || CaptureReader::open(&path).unwrap();
    let want = analyze(HuginnNet::builder(), open());
    for (workers, batch_bytes) in [(2, 1 << 18), (2, 1 << 14), (3, 1 << 16), (8, 1 << 20)] {
        let which = format!("{workers} workers, batches of {batch_bytes}");
        let spread = || spread(workers, batch_bytes);
        assert!(analyze(spread(), open()) == want, "{which}");
        assert!(analyze(spread().spread_above(Duration::MAX), open()) == want, "not at once, {which}");
        assert!(analyze(spread(), open().read_ahead()) == want, "read ahead, {which}");
        let passing = CaptureReader::from_reader("a stream", io::Cursor::new(file.clone())).unwrap();
        assert!(analyze(spread(), passing) == want, "handed over, {which}");
    }
}

#[test]
fn a_file_gives_what_its_frames_give() {
    let captures = captures();
    for (name, packets) in &captures {
        let want = analyze(HuginnNet::builder(), packets).unwrap();
        let mut analyzer = spread(2, 4096).build();
        let mut events: Vec<Event> = Vec::new();
        let counters = analyzer.analyze(CaptureReader::open(name).unwrap(), &mut events).unwrap();
        assert!((events, counters) == (want.0, want.1), "{name}");
    }
}
