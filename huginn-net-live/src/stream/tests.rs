#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::mpsc;
use std::time::SystemTime;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::directory::Next;
use super::*;
use crate::{LiveSource, Notice};

/// A pcap header: raw IP, microseconds, little-endian.
const HEADER: [u8; 24] =
    [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];

/// A packet of one byte that was captured at this second.
fn packet(second: u8) -> [u8; 17] {
    [second, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, second]
}

fn capture(seconds: &[u8]) -> Vec<u8> {
    HEADER.into_iter().chain(seconds.iter().flat_map(|second| packet(*second))).collect()
}

/// A source with what it reports.
struct Opened {
    source: LiveSource,
    notices: Receiver<Notice>,
}

impl Opened {
    fn new(name: &str, options: &LiveOptions) -> Self {
        let mut source = LiveSource::open(&[name], options).unwrap();
        let (to, notices) = mpsc::channel();
        source.on_notice(move |notice| to.send(notice.clone()).unwrap());
        Self { source, notices }
    }

    /// Returns the first byte of the next frame, if one arrives in time.
    fn next(&mut self, time: Duration) -> Option<u8> {
        let start = Instant::now();
        while start.elapsed() < time {
            // A wait lasts a second at most.
            if let NextFrame::Frame(frame) = self.source.next_frame().unwrap() {
                assert_eq!((frame.data.len(), frame.wire_len), (1, 20));
                assert_eq!(frame.ts.as_nanos(), u64::from(frame.data[0]) * 1_000_000_000);
                return Some(frame.data[0]);
            }
        }
        None
    }

    fn expect(&mut self, bytes: &[u8]) {
        for byte in bytes {
            assert_eq!(self.next(Duration::from_secs(10)), Some(*byte));
        }
    }

    /// Reads until a notice arrives, and returns its text.
    fn notice(&mut self) -> String {
        let start = Instant::now();
        loop {
            if let Ok(notice) = self.notices.try_recv() {
                return notice.to_string();
            }
            assert!(start.elapsed() < Duration::from_secs(30));
            assert_eq!(self.next(Duration::from_millis(1)), None);
        }
    }
}

#[test]
fn server_is_read_again_after_interruption() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = format!("tcp:{}", listener.local_addr().unwrap());
    let mut opened = Opened::new(&name, &LiveOptions::default());
    let (mut sender, _) = listener.accept().unwrap();
    sender.write_all(&capture(&[1])).unwrap();
    opened.expect(&[1]);
    let (begin, end) = (packet(2), packet(2));
    sender.write_all(&begin[..7]).unwrap();
    assert_eq!(opened.next(Duration::from_millis(300)), None, "half a packet");
    sender.write_all(&end[7..]).unwrap();
    opened.expect(&[2]);
    drop(sender);
    let ended = "the sender has ended: waits for a connection, and tries again each second";
    assert_eq!(opened.notice(), format!("{name}: {ended}"));
    assert_eq!(opened.source.stats().interfaces()[0].state, InterfaceState::Gone);

    let (mut sender, _) = listener.accept().unwrap();
    assert_eq!(opened.notice(), format!("{name}: is back"));
    sender.write_all(&capture(&[3])).unwrap();
    opened.expect(&[3]);
    // Not a length of a packet, however long its header is.
    sender.write_all(&[0xff; 28]).unwrap();
    let damage = opened.notice();
    assert!(damage.starts_with(&format!("{name}: packet 2")), "{damage}");
    let state = &opened.source.stats().interfaces()[0];
    assert_eq!((state.received, state.state), (3, InterfaceState::Gone));
}

/// Each wakes the source, also where several arrive before it reads.
#[test]
fn each_message_of_a_busy_stream_wakes_the_source() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = format!("tcp:{}", listener.local_addr().unwrap());
    let (mut backend, _) =
        StreamBackend::connect(&name, name.trim_start_matches("tcp:"), &LiveOptions::default()).unwrap();
    let (mut sender, _) = listener.accept().unwrap();
    backend.start().unwrap();
    sender.write_all(&capture(&[])).unwrap();
    for second in [1, 2, 3] {
        sender.write_all(&packet(second)).unwrap();
        thread::sleep(Duration::from_millis(100));
    }
    let mut seconds = Vec::new();
    while seconds.len() < 3 {
        let mut wakers = [PollFd::new(backend.wake_fd().unwrap(), PollFlags::POLLIN)];
        assert!(poll(&mut wakers, PollTimeout::from(20_000_u16)).unwrap() > 0, "{seconds:?} woke it");
        let mut batch = FrameBatch::new(ClockReading::now());
        assert!(backend.receive(&mut batch).is_ok());
        while let Some(frame) = batch.lend(&backend) {
            seconds.push(frame.data[0]);
        }
    }
    assert_eq!(seconds, [1, 2, 3]);
}

#[test]
fn a_server_may_be_absent_at_the_start_only_with_wait() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let name = format!("tcp:{address}");
    let mut options = LiveOptions::default();
    assert!(matches!(LiveSource::open(&[&name], &options), Err(LiveError::Open { .. })));
    options.wait = true;
    let mut opened = Opened::new(&name, &options);
    let awaited = "no server answers yet: waits for a connection, and tries again each second";
    assert_eq!(opened.notice(), format!("{name}: {awaited}"));
    assert_eq!(opened.next(Duration::from_millis(1500)), None);
    assert_eq!(opened.notices.try_iter().count(), 0, "said once");
    let listener = TcpListener::bind(address).unwrap();
    let (mut sender, _) = listener.accept().unwrap();
    assert_eq!(opened.notice(), format!("{name}: has appeared"));
    sender.write_all(&capture(&[1])).unwrap();
    opened.expect(&[1]);

    for wrong in ["tcp:", "tcp:4789", "tcp::4789", "tcp:localhost:", "tcp:localhost:0", "tcp:localhost:x"] {
        let error = LiveSource::open(&[wrong], &options).unwrap_err();
        assert!(matches!(error, LiveError::InvalidTcpServer { .. }), "{wrong}: {error}");
    }
}

#[test]
fn snap_length_cuts_frames_of_streams() {
    let folder = tempfile::tempdir().unwrap();
    let mut long = capture(&[]);
    long.extend([1, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 100, 0, 0, 0]);
    long.extend([7; 100]);
    fs::write(folder.path().join("a"), long).unwrap();
    let options = LiveOptions { snaplen: 64, ..LiveOptions::default() };
    let mut source = LiveSource::open(&[format!("file:{}", folder.path().display())], &options).unwrap();
    loop {
        if let NextFrame::Frame(frame) = source.next_frame().unwrap() {
            assert_eq!((frame.data.len(), frame.wire_len), (64, 100));
            return;
        }
    }
}

/// Follows a directory in which a file of an hour ago lies.
fn followed(folder: &Path) -> Opened {
    let older = folder.join("older.pcap");
    fs::write(&older, capture(&[99])).unwrap();
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::options().append(true).open(&older).unwrap().set_modified(hour_ago).unwrap();
    fs::write(folder.join(".hidden.pcap"), capture(&[98])).unwrap();
    Opened::new(&format!("file:{}", folder.display()), &LiveOptions::default())
}

#[test]
fn directory_reads_growing_file_until_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut first = File::create(path("1.pcap")).unwrap();
    first.write_all(&capture(&[1])).unwrap();
    let mut opened = followed(folder.path());
    opened.expect(&[1]);
    first.write_all(&packet(2)).unwrap();
    opened.expect(&[2]);
    // What precedes the next file is read, however late the next one is seen.
    first.write_all(&packet(3)).unwrap();
    fs::write(path("2.pcap"), capture(&[4])).unwrap();
    opened.expect(&[3, 4]);

    // tcpdump -z gzip compresses what was read.
    fs::rename(path("1.pcap"), path("1.pcap.gz")).unwrap();
    fs::write(path("note.txt"), "a note beside captures, longer than any header").unwrap();
    fs::write(path("3.pcap"), capture(&[5])).unwrap();
    fs::copy(path("3.pcap"), path("3.pcap.gz")).unwrap();
    opened.expect(&[5]);
    assert_eq!(opened.next(Duration::from_millis(600)), None);
    // A ring overwrites the oldest file.
    fs::write(path("2.pcap"), capture(&[6, 7])).unwrap();
    opened.expect(&[6, 7]);
    assert_eq!(opened.next(Duration::from_secs(1)), None);
    assert_eq!(opened.notices.try_iter().count(), 0);
}

#[test]
fn ring_of_one_file_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring.pcap");
    fs::write(&path, capture(&[1, 2])).unwrap();
    let mut opened = followed(folder.path());
    opened.expect(&[1, 2]);
    // Shorter, as long, and longer than before: in the same place of the disk.
    for seconds in [&[3][..], &[4], &[5, 6, 7]] {
        fs::write(&path, capture(seconds)).unwrap();
        opened.expect(seconds);
    }
    File::options().append(true).open(&path).unwrap().write_all(&packet(8)).unwrap();
    opened.expect(&[8]);
    assert_eq!(opened.next(Duration::from_secs(1)), None);
    assert_eq!(opened.notices.try_iter().count(), 0);
}

#[test]
fn defects_of_captures_in_a_directory_are_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let name = format!("file:{}", folder.path().display());
    let mut first = File::create(path("1.pcap")).unwrap();
    first.write_all(&capture(&[1])).unwrap();
    let mut opened = followed(folder.path());
    first.write_all(&packet(2)[..5]).unwrap();
    opened.expect(&[1]);
    fs::write(path("2.pcap"), capture(&[3])).unwrap();
    opened.expect(&[3]);
    let truncated = opened.notices.recv().unwrap().to_string();
    assert!(truncated.starts_with(&format!("{name}: 1.pcap: packet 2")), "{truncated}");
    // Another program writes beside it.
    for _ in 0..2 {
        first.write_all(&packet(2)).unwrap();
        assert_eq!(opened.next(Duration::from_millis(600)), None);
    }
    let grew = "1.pcap grew after a newer file was begun: the rest is not read";
    let notices: Vec<String> = opened.notices.try_iter().map(|notice| notice.to_string()).collect();
    assert_eq!(notices, [format!("{name}: {grew}")]);
    assert_eq!(opened.source.stats().interfaces()[0].read_errors, 2);
    fs::write(path("not-a-capture.pcap"), [b'x'; 100]).unwrap();
    fs::write(path("z.pcap"), capture(&[4])).unwrap();
    opened.expect(&[4]);
    assert!(opened.notices.recv().unwrap().to_string().contains("not-a-capture.pcap"));
}

#[test]
fn growing_file_in_unreadable_directory_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let [directory, file, path] = ["captures", "file", "link"].map(|name| folder.path().join(name));
    fs::create_dir(&directory).unwrap();
    fs::write(&file, "").unwrap();
    // At each moment something is at the path: the loss of a directory ends its files.
    let point_to = |target: &Path| {
        let link = folder.path().join("next");
        symlink(target, &link).unwrap();
        fs::rename(&link, &path).unwrap();
    };
    point_to(&directory);
    let mut first = File::create(directory.join("1.pcap")).unwrap();
    first.write_all(&capture(&[1])).unwrap();
    let mut opened = Opened::new(&format!("file:{}", path.display()), &LiveOptions::default());
    opened.expect(&[1]);
    // A file in the place of the directory: other than for an absent one, the error may pass.
    point_to(&file);
    let failed = opened.notice();
    assert!(failed.contains("cannot look for newer files: Not a directory"), "{failed}");
    first.write_all(&packet(2)).unwrap();
    opened.expect(&[2]);
    first.write_all(&packet(3)).unwrap();
    fs::write(directory.join("2.pcap"), capture(&[4])).unwrap();
    point_to(&directory);
    opened.expect(&[3, 4]);
    assert_eq!(opened.notices.try_iter().count(), 0);
}

#[test]
fn looks_at_a_large_directory_take_a_small_part_of_the_time() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..2000 {
        fs::write(folder.path().join(format!("{n}.pcap")), capture(&[1])).unwrap();
    }
    let (mut directory, _) = Directory::open("file:", folder.path(), false).unwrap();
    assert!(matches!(directory.next(), Ok(Next::File(_))));
    fs::write(folder.path().join("next.pcap"), capture(&[2])).unwrap();
    let start = Instant::now();
    let mut looks = 0;
    while !matches!(directory.next().unwrap(), Next::File(_)) {
        looks += 1;
        thread::yield_now();
    }
    // The last look alone took a twentieth of the pause before it, about.
    let elapsed = start.elapsed();
    let scan_start = Instant::now();
    directory.scan().unwrap();
    assert!(looks > 0 && elapsed > scan_start.elapsed(), "{looks} looks in {elapsed:?}");
}

#[test]
fn a_failed_look_is_not_taken_for_an_empty_directory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("captures");
    fs::create_dir(&path).unwrap();
    let (mut directory, _) = Directory::open("file:", &path, false).unwrap();
    assert!(matches!(directory.next(), Ok(Next::Nothing)));
    fs::remove_dir(&path).unwrap();
    while directory.next().is_ok() {}
    let looks: Vec<io::Result<Next>> = (0..1000).map(|_| directory.next()).collect();
    assert!(looks.iter().all(|look| matches!(look, Ok(Next::NotLooked) | Err(_))));
    assert!(looks.iter().any(Result::is_ok));
}

#[test]
fn file_compressed_before_its_turn_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("1.pcap"), capture(&[1])).unwrap();
    let mut opened = followed(folder.path());
    opened.expect(&[1]);
    // More than waits for the source: the thread still reads the second file while the third is compressed.
    let many = vec![2; 4 * STREAM_BATCHES * STREAM_BATCH_FRAMES];
    fs::write(path("2.pcap"), capture(&many)).unwrap();
    fs::write(path("3.pcap"), capture(&[3])).unwrap();
    opened.expect(&[2]);
    fs::copy(path("3.pcap"), path("3.pcap.gz")).unwrap();
    fs::remove_file(path("3.pcap")).unwrap();
    opened.expect(&many[1..]);
    opened.expect(&[3]);
    assert_eq!(opened.next(Duration::from_millis(600)), None);
    assert_eq!(opened.notices.try_iter().count(), 0);
}

#[test]
fn a_directory_that_vanishes_is_awaited() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("captures");
    let name = format!("file:{}", path.display());
    assert!(matches!(LiveSource::open(&[&name], &LiveOptions::default()), Err(LiveError::Open { .. })));
    let options = LiveOptions { wait: true, ..LiveOptions::default() };
    let mut opened = Opened::new(&name, &options);
    assert_eq!(opened.notice(), format!("{name}: does not exist yet; the capture begins when it does"));
    fs::create_dir(&path).unwrap();
    assert_eq!(opened.notice(), format!("{name}: has appeared"));
    fs::write(path.join("1.pcap"), capture(&[1])).unwrap();
    opened.expect(&[1]);
    fs::remove_dir_all(&path).unwrap();
    assert!(opened.notice().contains("No such file or directory"));
}
