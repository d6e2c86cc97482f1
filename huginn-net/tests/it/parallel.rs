//! Checks that the number of workers and the block size change neither events, nor their order, nor counters.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::captures;
use crate::packet::{self, Packet};
use huginn_net::core::{Builder, FlowLimits, Frames, HashSeed};
use huginn_net::observers::ProtocolCounters;
use huginn_net::{
    AnalysisError, CaptureError, CaptureReader, Configure, Counters, Event, HuginnNet, LinkType, Observers,
    Source,
};

/// Returns the packets of each capture.
fn captures() -> Vec<(String, Vec<Packet>)> {
    let paths = captures::with_extension(&["pcap", "pcapng"]);
    let captures: Vec<_> =
        paths.iter().map(|path| (path.display().to_string(), packets(path).unwrap())).collect();
    assert!(captures.len() > 100, "the captures are missing");
    captures
}

fn packets(path: &Path) -> Result<Vec<Packet>, CaptureError> {
    let (packets, end) = packet::read(path)?;
    end.map(|()| packets)
}

type Outcome = (Vec<Event>, Counters, ProtocolCounters);

fn analyze<'a>(
    builder: Builder<Observers>,
    packets: impl IntoIterator<Item = &'a Packet, IntoIter: Send>,
) -> Result<Outcome, AnalysisError<Infallible>> {
    analyze_source(builder, Frames::new(packets.into_iter().map(Packet::frame)))
}

fn analyze_source<'f>(
    builder: Builder<Observers>,
    source: impl Source<'f, Error = Infallible> + Send,
) -> Result<Outcome, AnalysisError<Infallible>> {
    let mut analyzer = builder.build();
    let mut events = Vec::new();
    let counters = analyzer.analyze(source, |event| events.push(event))?;
    Ok((events, counters, analyzer.protocol().counters()))
}

fn builder(workers: usize, block_bytes: usize) -> Builder<Observers> {
    HuginnNet::builder().workers(workers).block_bytes(block_bytes)
}

fn with_connections() -> Builder<Observers> {
    let captures = captures::with_extension(&["pcapng"]);
    let captures: Vec<_> = captures
        .iter()
        .filter(|path| path.to_string_lossy().contains("decrypted"))
        .map(|path| &**path)
        .collect();
    let secrets = crate::goldens::secrets(&captures);
    assert!(!secrets.is_empty());
    HuginnNet::builder_with(Observers::default().connections(true).handshakes(true).secrets(Some(secrets)))
}

#[test]
fn each_capture_gives_equal_events() {
    for (name, packets) in &captures() {
        let want = analyze(HuginnNet::builder(), packets).unwrap();
        for (workers, block_bytes) in [(1, 2048), (2, 1), (2, 1 << 18), (3, 2048), (5, 1), (8, 2048)] {
            let found = analyze(builder(workers, block_bytes), packets).unwrap();
            assert!(found == want, "{name}, {workers} workers, blocks of {block_bytes} bytes");
        }
    }
}

/// Packet times step back, and the same flows occur again.
#[test]
fn repeated_captures_give_equal_events() {
    let captures = captures();
    let all = || captures.iter().chain(&captures).flat_map(|(_, packets)| packets);
    let packets: Vec<_> = all().collect();
    for builder in [HuginnNet::builder, with_connections] {
        let want = analyze(builder(), packets.clone()).unwrap();
        assert!(want.0.len() > 1000);
        for (workers, block_bytes) in [
            (1, 4096),
            (2, 1),
            (2, 1 << 16),
            (3, 4096),
            (4, 1 << 20),
            (5, 1 << 16),
            (6, 4096),
            (7, 4096),
            (8, 1),
        ] {
            let parallel = builder().workers(workers).block_bytes(block_bytes);
            let found = analyze(parallel, packets.clone()).unwrap();
            assert!(found == want, "{workers} workers, blocks of {block_bytes} bytes");
        }
        // The caller's thread analyses the first frames.
        for workers in [2, 16] {
            let mut analyzer = builder().workers(workers).build();
            let frames = Frames::new(packets.iter().map(|packet| packet.frame()));
            let mut events = Vec::new();
            let each = |event: &Event| events.push(event.clone());
            let counters = analyzer.analyze_ref(frames, each).unwrap();
            assert!((events, counters, analyzer.protocol().counters()) == want, "{workers} workers");
        }
    }
}

/// Connections end after short timeouts and at the end, in many partitions.
#[test]
fn seed_of_flow_table_changes_no_event() {
    let captures = captures();
    let packets: Vec<_> = captures.iter().flat_map(|(_, packets)| packets).collect();
    for idle_timeout in
        [Duration::from_secs(1), Duration::from_millis(50), FlowLimits::default().idle_timeout]
    {
        let limits = FlowLimits::default().idle_timeout(idle_timeout);
        let builder = |seed| with_connections().flow_limits(limits).hash_seed(HashSeed::Fixed(seed));
        let want = analyze(builder(1), packets.clone()).unwrap();
        assert!(want.1.flows.expired > 100, "{}", want.1.flows.expired);
        for (seed, workers) in [(2, 1), (3, 1), (1, 2), (2, 2), (3, 3), (4, 8)] {
            let parallel = builder(seed).workers(workers).block_bytes(4096);
            let found = analyze(parallel, packets.clone()).unwrap();
            assert!(found == want, "timeout {idle_timeout:?}, seed {seed}, {workers} workers");
        }
    }
}

/// Frequent evictions end connections in the middle of blocks.
#[test]
fn evicted_connections_give_equal_events() {
    let captures = captures();
    let packets: Vec<_> = captures.iter().flat_map(|(_, packets)| packets).collect();
    for limits in [FlowLimits::default().max_flows(4), FlowLimits::default().max_buffered_bytes(1 << 12)] {
        let builder = || with_connections().flow_limits(limits);
        let want = analyze(builder(), packets.clone()).unwrap();
        let evicted = want.1.flows.evicted + want.1.flows.evicted_for_memory;
        assert!(evicted > 10, "{evicted}");
        for workers in [2, 3, 8] {
            let parallel = builder().workers(workers).block_bytes(4096);
            let found = analyze(parallel, packets.clone()).unwrap();
            assert!(found == want, "{workers} workers");
        }
    }
}

/// The file spans many read buffers, so records cross their ends.
#[test]
fn large_file_equals_its_frames() {
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
        let counters = builder.build().analyze(reader, |event| events.push(event)).unwrap();
        (events, counters)
    };
    let open = || CaptureReader::open(&path).unwrap();
    let want = analyze(HuginnNet::builder(), open());
    for (workers, block_bytes) in [(2, 1 << 18), (2, 1 << 14), (3, 1 << 16), (8, 1 << 20)] {
        let which = format!("{workers} workers, blocks of {block_bytes} bytes");
        assert!(analyze(builder(workers, block_bytes), open()) == want, "{which}");
        let stream = CaptureReader::from_reader("a stream", io::Cursor::new(file.clone())).unwrap();
        assert!(analyze(builder(workers, block_bytes), stream) == want, "from a stream, {which}");
    }
    let some = HuginnNet::builder().workers(3);
    assert!(analyze(some, open()) == want, "blocks of the default size");
}

#[test]
fn file_equals_its_frames() {
    let captures = captures();
    for (name, packets) in &captures {
        let want = analyze(HuginnNet::builder(), packets).unwrap();
        let mut analyzer = builder(2, 4096).build();
        let mut events: Vec<Event> = Vec::new();
        let counters =
            analyzer.analyze(CaptureReader::open(name).unwrap(), |event| events.push(event)).unwrap();
        assert!((events, counters) == (want.0, want.1), "{name}");
    }
}
