//! Full analysis, with matching, of the packets of `captures` in memory: this project and huginn-net 2.2.1 of
//! crates.io, in turn, sequential.
//!
//! `cargo bench --manifest-path benches/peers/Cargo.toml --bench analysis [-- PART_OF_A_ROW...]`
//!
//! In the first part, the packets are in memory. The published crates receive frames one by one through the functions that
//! their analyzers call, which excludes file reading and their result channel. This project's analyzer receives all frames
//! and prefetches the frame 16 positions ahead, except in rows labelled "frame by frame". In the second part, each side
//! reads a file of these packets with its own reader. Each side matches against its own database. In the third part,
//! each side divides frames in memory among workers.

#[path = "../../hello_packets.rs"]
mod hello_packets;
#[path = "../../hellos.rs"]
mod hellos;
#[path = "../../memory_frames.rs"]
mod memory_frames;
#[path = "../../packets.rs"]
mod packets;

use std::fmt::{Debug, Write};
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use std::{env, fs, process};

use huginn_net_capture::CaptureReader;
use huginn_net_core::{Builder, Event, Frames, Protocol, Report, Source};
use huginn_net_db::{Database, HttpParams};
use huginn_net_http::{HttpEvent, HttpObserver, HttpSignature, HuginnNetHttp, language};
use huginn_net_peers::median;
use huginn_net_tcp::{HuginnNetTcp, TcpEvent, TcpObserver};
use huginn_net_tls::{HuginnNetTls, TlsEvent, TlsObserver};
use published_db::{
    HttpSignatureMatcher, SharedHttpSignatureMatcher, SharedTcpSignatureMatcher, TcpSignatureMatcher,
};
use published_http::HttpProcessors;
use published_tcp::ConnectionTracker;
use ttl_cache::TtlCache;

use memory_frames::MemoryFrames;
use packets::{PAGES, Packets, Repeat, SHORT, all_captures};

/// Measurements of each side; an odd number.
const MEASUREMENTS: usize = 11;
/// Bytes of packets in a pass.
const AT_LEAST: usize = 16 << 20;
/// Bytes of packets that stay in a core's cache between passes, like packets that the kernel has just copied.
const IN_CACHE: usize = 512 << 10;
/// Minimum packets of a measurement, which repeats shorter passes.
const MEASURED: usize = 20_000;
/// Size of a large allocation for glibc's malloc, in bytes; small ones have up to 1,008.
const LARGE: usize = 4096;
/// Bytes of pages with HTTP, for which the published crate is slow.
const AT_LEAST_OF_HTTP_PAGES: usize = 1 << 20;
/// Flow limit of both sides, which exceeds the number of flows.
const MAX_FLOWS: usize = 1 << 19;
/// Packets that a worker of the published crates takes at once, and for how long it waits for them, as in their documentation.
const BATCH: usize = 16;
const BATCH_MILLIS: u64 = 10;
/// After this time without a result the workers of the published crates are done; the last result ends the measurement.
const SILENCE: Duration = Duration::from_millis(300);

/// One exchange in every connection, because the published crate reports only the first.
const ONE_EXCHANGE: [&str; 6] =
    ["h2c", "http-clients", "http-go", "http-python", "http-servers", "http-tools"];

fn main() {
    let path = env::temp_dir().join(format!("huginn-net-peers-{}.pcap", process::id()));
    println!(
        "| packets | ns a packet, this project | 2.2.1 | ratio, median (least, most) | events | 2.2.1 |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    let (database, theirs) = (Database::builtin(), published_db::Database::load_default().unwrap());
    for (kind, captures, at_least) in [
        ("pages", &PAGES[..], AT_LEAST),
        ("pages in cache", &PAGES, IN_CACHE),
        ("short connections", &SHORT, AT_LEAST),
        ("short connections in cache", &SHORT, IN_CACHE),
    ] {
        for repeat in Repeat::BOTH {
            let packets = Packets::from_captures(captures, repeat, at_least, |_| true);
            compare_tcp(&format!("TCP, {kind}, {repeat}"), &packets, &path, database, &theirs);
        }
    }
    for (kind, captures, at_least) in [
        ("pages", &PAGES[..], AT_LEAST_OF_HTTP_PAGES),
        ("an exchange a connection", &ONE_EXCHANGE, AT_LEAST),
        ("an exchange a connection in cache", &ONE_EXCHANGE, IN_CACHE),
    ] {
        for repeat in Repeat::BOTH {
            let packets = Packets::from_captures(captures, repeat, at_least, |_| true);
            compare_http(&format!("HTTP, {kind}, {repeat}"), &packets, &path, database, &theirs);
        }
    }
    compare_tls(&path);
    compare_workers(database, &theirs);
    fs::remove_file(path).unwrap();
}

fn compare_tcp(
    name: &str,
    packets: &Packets,
    path: &Path,
    database: &Database,
    theirs: &published_db::Database,
) {
    let published = || published_tcp(packets, theirs);
    let frames: Vec<_> = packets.frames().collect();
    compare(
        name,
        packets.len(),
        || tcp(HuginnNetTcp::builder(), MemoryFrames::new(&frames), database),
        published,
    );
    let one_by_one = || tcp(HuginnNetTcp::builder(), Frames::new(packets.frames()), database);
    compare(&format!("{name}, frame by frame"), packets.len(), one_by_one, published);
    let matcher = Arc::new(SharedTcpSignatureMatcher::from_database(theirs));
    let published = |path: &str, sender| {
        let mut analyzer = published_tcp::HuginnNetTcp::new(MAX_FLOWS).with_matcher(matcher.clone());
        analyzer.analyze_pcap(path, sender, None).unwrap();
    };
    compare_files(name, packets, path, |capture| tcp(HuginnNetTcp::builder(), capture, database), published);
}

fn compare_http(
    name: &str,
    packets: &Packets,
    path: &Path,
    database: &Database,
    theirs: &published_db::Database,
) {
    let published = || published_http(packets, theirs);
    let frames: Vec<_> = packets.frames().collect();
    compare(
        name,
        packets.len(),
        || http(HuginnNetHttp::builder(), MemoryFrames::new(&frames), database),
        published,
    );
    let matcher = Arc::new(SharedHttpSignatureMatcher::from_database(theirs));
    let published = |path: &str, sender| {
        let mut analyzer = published_http::HuginnNetHttp::new(MAX_FLOWS).with_matcher(matcher.clone());
        analyzer.analyze_pcap(path, sender, None).unwrap();
    };
    compare_files(
        name,
        packets,
        path,
        |capture| http(HuginnNetHttp::builder(), capture, database),
        published,
    );
}

fn compare_tls(path: &Path) {
    let hellos = hellos::from_captures(&all_captures());
    for (lists, packets) in [
        ("lists that come again", hello_packets::each_in_one_packet(&hellos, AT_LEAST)),
        ("in cache, lists that come again", hello_packets::each_in_one_packet(&hellos, IN_CACHE)),
        ("lists never seen before", hello_packets::each_with_lists_of_its_own(&hellos, AT_LEAST)),
    ] {
        let name = format!("TLS, a hello in every packet, {lists}");
        let frames: Vec<_> = packets.frames().collect();
        for (forms, original) in [("four forms of JA4", true), ("ours two of four forms", false)] {
            let ours = || tls(HuginnNetTls::builder(), MemoryFrames::new(&frames), original);
            compare(&format!("{name}, {forms}"), packets.len(), ours, || published_tls(&packets));
        }
        let published = |path: &str, sender| {
            published_tls::HuginnNetTls::new(MAX_FLOWS).analyze_pcap(path, sender, None).unwrap();
        };
        let name = format!("{name}, four forms of JA4");
        compare_files(
            &name,
            &packets,
            path,
            |capture| tls(HuginnNetTls::builder(), capture, true),
            published,
        );
    }
}

/// Compares both sides with workers, on frames in memory.
///
/// The pools of the published crates get the frames one by one, as their live capture passes them on. Their `analyze_pcap` ends with
/// packets still in the queues, which it discards. The queues hold all packets here, because what finds no room is dropped.
fn compare_workers(database: &Database, theirs: &published_db::Database) {
    let hellos = hellos::from_captures(&all_captures());
    let connections = Packets::from_captures(&SHORT, Repeat::NewFlows, AT_LEAST, |_| true);
    let exchanges = Packets::from_captures(&ONE_EXCHANGE, Repeat::NewFlows, AT_LEAST, |_| true);
    let hellos = hello_packets::each_in_one_packet(&hellos, AT_LEAST);
    let tcp_matcher = Arc::new(SharedTcpSignatureMatcher::from_database(theirs));
    let http_matcher = Arc::new(SharedHttpSignatureMatcher::from_database(theirs));
    for workers in [1, 2, 4, 8] {
        let count = NonZeroUsize::new(workers).unwrap();
        let name = |what| format!("{what}, workers: {workers}");

        let own =
            |frames: MemoryFrames<'_>| tcp(HuginnNetTcp::builder().workers(count.get()), frames, database);
        compare_pools(&name("TCP, short connections, new flows"), &connections, own, |sender| {
            let queue = connections.len();
            let matcher = Some(tcp_matcher.clone() as _);
            let pool = published_tcp::WorkerPool::new(
                workers,
                queue,
                BATCH,
                BATCH_MILLIS,
                sender,
                matcher,
                MAX_FLOWS,
                None,
            );
            let pool = pool.unwrap();
            move |packet| _ = pool.dispatch(packet)
        });

        let own =
            |frames: MemoryFrames<'_>| http(HuginnNetHttp::builder().workers(count.get()), frames, database);
        compare_pools(&name("HTTP, an exchange a connection, new flows"), &exchanges, own, |sender| {
            let queue = exchanges.len();
            let matcher = Some(http_matcher.clone() as _);
            let pool = published_http::WorkerPool::new(
                workers,
                queue,
                BATCH,
                BATCH_MILLIS,
                sender,
                matcher,
                None,
                MAX_FLOWS,
                None,
            );
            let pool = pool.unwrap();
            move |packet| _ = pool.dispatch(packet)
        });

        let own = |frames: MemoryFrames<'_>| tls(HuginnNetTls::builder().workers(count.get()), frames, true);
        compare_pools(&name("TLS, a hello in every packet"), &hellos, own, |sender| {
            let queue = hellos.len();
            let pool = published_tls::WorkerPool::new(
                workers,
                queue,
                BATCH,
                BATCH_MILLIS,
                sender,
                MAX_FLOWS,
                None,
                Arc::new([]),
            );
            let pool = pool.unwrap();
            move |packet| _ = pool.dispatch(packet)
        });
    }
}

/// Compares both sides with workers on the same frames. `published` starts a pool, and returns what gives it a frame.
fn compare_pools<T, D: Fn(Vec<u8>)>(
    name: &str,
    packets: &Packets,
    own: impl Fn(MemoryFrames<'_>) -> u64,
    published: impl Fn(mpsc::Sender<T>) -> D,
) {
    let frames: Vec<_> = packets.frames().collect();
    let published = || {
        let (sender, receiver) = mpsc::channel();
        let dispatch = published(sender);
        packets.frames().for_each(|frame| dispatch(frame.data.to_vec()));
        let (mut results, mut end) = (0, Instant::now());
        while let Ok(result) = receiver.recv_timeout(SILENCE) {
            black_box(result);
            (results, end) = (results + 1, Instant::now());
        }
        (results, end)
    };
    compare_until(name, packets.len(), || (own(MemoryFrames::new(&frames)), Instant::now()), published);
}

/// Compares both sides on a file of the same packets. The published crate sends the results of a packet as one message.
///
/// The bench empties the channel afterwards, because the published crates are slower with two threads.
fn compare_files<T>(
    name: &str,
    packets: &Packets,
    path: &Path,
    own: impl Fn(CaptureReader) -> u64,
    published: impl Fn(&str, mpsc::Sender<T>),
) {
    packets.write_pcap(path).unwrap();
    let published = || {
        let (sender, receiver) = mpsc::channel();
        published(path.to_str().unwrap(), sender);
        receiver.into_iter().map(black_box).count() as u64
    };
    let own = || own(CaptureReader::open(path).unwrap());
    compare(&format!("{name}, file"), packets.len(), own, published);
}

/// Compares both sides on the same packets, in turn. Each returns its number of results.
fn compare(name: &str, packets: usize, mut own: impl FnMut() -> u64, mut other: impl FnMut() -> u64) {
    compare_until(name, packets, || (own(), Instant::now()), || (other(), Instant::now()));
}

/// Compares both sides on the same packets, in turn. Each returns its number of results, and when it had the last.
fn compare_until(
    name: &str,
    packets: usize,
    mut own: impl FnMut() -> (u64, Instant),
    mut other: impl FnMut() -> (u64, Instant),
) {
    // Cargo itself adds --bench.
    let parts: Vec<_> = env::args().skip(1).filter(|part| part != "--bench").collect();
    if !parts.is_empty() && !parts.iter().any(|part| name.contains(part)) {
        return;
    }
    let rounds = MEASURED.div_ceil(packets);
    let time = |pass: &mut dyn FnMut() -> (u64, Instant)| {
        // A large allocation makes glibc consolidate small freed chunks, which excludes that work for the chunks of the
        // other side from this measurement.
        drop(black_box(Vec::<u8>::with_capacity(LARGE)));
        let (mut nanos, mut events) = (0, 0);
        for _ in 0..rounds {
            let (start, (found, end)) = (Instant::now(), pass());
            (nanos, events) = (nanos + (end - start).as_nanos(), found);
        }
        (nanos as f64 / (packets * rounds) as f64, events)
    };
    let events = (time(&mut own).1, time(&mut other).1);
    let pairs: Vec<_> = (0..MEASUREMENTS).map(|_| (time(&mut own).0, time(&mut other).0)).collect();
    let ratios: Vec<_> = pairs.iter().map(|(own, other)| other / own).collect();
    let (least, most) = ratios
        .iter()
        .fold((f64::INFINITY, 0_f64), |(least, most), ratio| (least.min(*ratio), most.max(*ratio)));
    println!(
        "| {name} | {:.0} | {:.0} | {:.1} ({least:.1}, {most:.1}) | {} | {} |",
        median(pairs.iter().map(|(own, _)| *own).collect()),
        median(pairs.iter().map(|(_, other)| *other).collect()),
        median(ratios),
        events.0,
        events.1,
    );
}

fn analyse<'f, P: Protocol>(
    builder: Builder<P>,
    source: impl Source<'f, Error: Debug + Send> + Send,
    mut each: impl FnMut(Event<Report<P>>),
) -> u64 {
    builder.build().analyze(source, &mut each).unwrap().events
}

fn tcp<'f>(
    builder: Builder<TcpObserver>,
    source: impl Source<'f, Error: Debug + Send> + Send,
    database: &Database,
) -> u64 {
    analyse(builder, source, |event| match &black_box(&event).kind {
        TcpEvent::Syn(signature) => _ = black_box(&database.match_syn(signature)),
        TcpEvent::SynAck(signature) => _ = black_box(&database.match_syn_ack(signature)),
        TcpEvent::Mtu(mtu) => _ = black_box(&database.match_mtu(*mtu)),
        _ => {}
    })
}

fn published_tcp(packets: &Packets, database: &published_db::Database) -> u64 {
    use published_tcp::packet_parser::{IpPacket, parse_packet};
    use published_tcp::{process_ipv4_packet, process_ipv6_packet};

    let matcher = TcpSignatureMatcher::new(&database.tcp);
    let mut tracker = ConnectionTracker::new(MAX_FLOWS);
    let mut events = 0;
    for frame in packets.frames() {
        let result = match parse_packet(black_box(frame.data)) {
            IpPacket::Ipv4(ip) => process_ipv4_packet(&ip, &mut tracker, Some(&matcher)),
            IpPacket::Ipv6(ip) => process_ipv6_packet(&ip, &mut tracker, Some(&matcher)),
            IpPacket::None => continue,
        };
        if let Ok(found) = black_box(&result) {
            events += u64::from(found.syn.is_some())
                + u64::from(found.syn_ack.is_some())
                + u64::from(found.mtu.is_some())
                + u64::from(found.client_uptime.is_some())
                + u64::from(found.server_uptime.is_some());
        }
    }
    events
}

/// Software, remarks and language, which the published crate always computes, too.
fn http<'f>(
    builder: Builder<HttpObserver>,
    source: impl Source<'f, Error: Debug + Send> + Send,
    database: &Database,
) -> u64 {
    analyse(builder, source, |event| match &black_box(&event).kind {
        HttpEvent::Request(found) => {
            let signature = HttpSignature::from_request(&found.request);
            let matched = database.match_request(&signature);
            let wanted = found.request.headers().value("accept-language").and_then(language::preferred);
            let params = HttpParams::from_signature(&signature, matched.as_ref());
            black_box((matched, params, wanted.and_then(language::name)));
        }
        HttpEvent::Response(found) => {
            let signature = HttpSignature::from_response(&found.response);
            let matched = database.match_response(&signature);
            let params = HttpParams::from_signature(&signature, matched.as_ref());
            black_box((matched, params));
        }
        _ => {}
    })
}

fn published_http(packets: &Packets, database: &published_db::Database) -> u64 {
    use published_http::packet_parser::{IpPacket, parse_packet};
    use published_http::{process_ipv4_packet, process_ipv6_packet};

    let matcher = HttpSignatureMatcher::new(&database.http);
    let (mut flows, readers) = (TtlCache::new(MAX_FLOWS), HttpProcessors::new());
    let mut events = 0;
    for frame in packets.frames() {
        let result = match parse_packet(black_box(frame.data)) {
            IpPacket::Ipv4(ip) => process_ipv4_packet(&ip, &mut flows, &readers, Some(&matcher), None),
            IpPacket::Ipv6(ip) => process_ipv6_packet(&ip, &mut flows, &readers, Some(&matcher), None),
            IpPacket::None => continue,
        };
        if let Ok(found) = black_box(&result) {
            events += u64::from(found.http_request.is_some()) + u64::from(found.http_response.is_some());
        }
    }
    events
}

/// JA4 and JA4_r of every hello; also JA4_o and JA4_ro, which the published crate always computes.
fn tls<'f>(
    builder: Builder<TlsObserver>,
    source: impl Source<'f, Error: Debug + Send> + Send,
    original: bool,
) -> u64 {
    let mut text = String::with_capacity(8 << 10);
    analyse(builder, source, |event| {
        if let TlsEvent::Client(client) = &black_box(&event).kind {
            text.clear();
            for raw in [Some(client.hello.ja4_r()), original.then(|| client.hello.ja4_ro())].iter().flatten()
            {
                write!(text, "{} {raw} ", raw.ja4()).unwrap();
            }
            black_box(&text);
        }
    })
}

fn published_tls(packets: &Packets) -> u64 {
    use published_tls::packet_parser::{IpPacket, parse_packet};
    use published_tls::{process_ipv4_packet, process_ipv6_packet};

    let mut flows = TtlCache::new(MAX_FLOWS);
    let mut events = 0;
    for frame in packets.frames() {
        let result = match parse_packet(black_box(frame.data)) {
            IpPacket::Ipv4(ip) => process_ipv4_packet(&ip, &mut flows, &[]),
            IpPacket::Ipv6(ip) => process_ipv6_packet(&ip, &mut flows, &[]),
            IpPacket::None => continue,
        };
        if let Ok(Some(_)) = black_box(&result) {
            events += 1;
        }
    }
    events
}
