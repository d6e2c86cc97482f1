use std::fs::{self, File};
use std::io::{PipeReader, Read, pipe};
use std::os::fd::OwnedFd;
use std::sync::mpsc;

use proptest::prelude::*;
use tempfile::tempdir;

use super::*;
use crate::limits::FILE_CHECK_INTERVAL;
use crate::output::files::tests::all_text;
use crate::output::files::{Compression, decompressed};

const LARGE_CAPACITY: usize = 1 << 24;

fn to_file(path: &std::path::Path, rotation: Rotation, capacity: usize) -> OutputQueue {
    let (messages, _) = Messages::start().unwrap();
    OutputQueue::open(&LiveTarget::File(path.to_owned()), rotation, capacity, messages).unwrap()
}

fn to_pipe(capacity: usize) -> (OutputQueue, PipeReader) {
    let (reader, writer) = pipe().unwrap();
    (OutputQueue::to_stdout(File::from(OwnedFd::from(writer)), capacity), reader)
}

/// Waits until the counters satisfy the condition; panics after 20 seconds.
fn wait_until(queue: &OutputQueue, mut condition: impl FnMut(&OutputCounters) -> bool) -> OutputCounters {
    let start_time = Instant::now();
    loop {
        let counters = queue.handle().counters();
        if condition(&counters) {
            return counters;
        }
        assert!(start_time.elapsed() < Duration::from_secs(20), "{counters:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn writes_event_immediately() {
    let (queue, mut reader) = to_pipe(LARGE_CAPACITY);
    let mut slowest = Duration::ZERO;
    for _ in 0..100 {
        let pushed = Instant::now();
        assert!(queue.push(b"one\n").is_continue());
        let mut line = [0; 4];
        reader.read_exact(&mut line).unwrap();
        slowest = slowest.max(pushed.elapsed());
    }
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    let counters = queue.finish();
    assert_eq!(
        counters,
        OutputCounters { written_lines: 100, written_bytes: 400, ..OutputCounters::default() }
    );
}

#[test]
fn push_does_not_block_on_stalled_reader() {
    const CAPACITY: usize = 1 << 20;
    let (queue, mut reader) = to_pipe(CAPACITY);
    let line = |number: u64| format!("{number:>99}\n");
    let mut slowest = Duration::ZERO;
    const PUSHED_LINES: u64 = 100_000;
    for number in 0..PUSHED_LINES {
        let line = line(number);
        let pushed = Instant::now();
        assert!(queue.push(line.as_bytes()).is_continue());
        slowest = slowest.max(pushed.elapsed());
    }
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    let stalled = queue.handle().counters();
    assert!(stalled.queued_bytes <= CAPACITY as u64, "{stalled:?}");
    assert!(stalled.dropped_lines > PUSHED_LINES / 2, "{stalled:?}");
    assert_eq!(stalled.refused_lines, stalled.dropped_lines);
    // A late reader gets the queued lines and every new line.
    let reader = thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    });
    wait_until(&queue, |counters| counters.queued_bytes == 0);
    assert!(queue.push(line(PUSHED_LINES).as_bytes()).is_continue());
    let counters = queue.finish();
    let text = reader.join().unwrap();
    let read: Vec<u64> = text.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert!(read.is_sorted_by(|a, b| a < b));
    assert_eq!(read.last(), Some(&PUSHED_LINES));
    assert_eq!(read.len() as u64, counters.written_lines);
    assert_eq!(counters.written_lines + counters.dropped_lines, PUSHED_LINES + 1);
    assert_eq!(counters.written_bytes + counters.dropped_bytes, (PUSHED_LINES + 1) * 100);
}

#[test]
fn finish_does_not_wait_for_dead_reader() {
    let (queue, reader) = to_pipe(LARGE_CAPACITY);
    for _ in 0..10_000 {
        assert!(queue.push(&[b'x'; 100]).is_continue());
    }
    let ending = Instant::now();
    let counters = queue.finish();
    assert!(ending.elapsed() < EVENTS_FLUSH_TIMEOUT * 2);
    assert!(counters.dropped_lines > 0);
    assert_eq!(counters.written_lines + counters.dropped_lines, 10_000);
    assert_eq!((counters.queued_lines, counters.lost_lines), (0, counters.dropped_lines));
    drop(reader);
}

#[test]
fn dead_readers_share_one_deadline() {
    let queues = [(); 3].map(|()| to_pipe(LARGE_CAPACITY));
    for (queue, _) in &queues {
        (0..10_000).for_each(|_| assert!(queue.push(&[b'x'; 100]).is_continue()));
    }
    let begun = Instant::now();
    let end = begun + Duration::from_millis(200);
    for (queue, _reader) in queues {
        queue.handle().finish_by(end);
        let counters = queue.finish_by(end);
        assert_eq!((counters.queued_lines, counters.lost_lines), (0, counters.dropped_lines));
        assert!(counters.dropped_lines > 0 && begun.elapsed() < EVENTS_FLUSH_TIMEOUT);
    }
}

#[test]
fn detects_closed_reader() {
    let (queue, reader) = to_pipe(LARGE_CAPACITY);
    let (sender, receiver) = mpsc::channel();
    queue.on_close(move || sender.send(()).unwrap());
    drop(reader);
    assert!(queue.push(b"one\n").is_continue());
    receiver.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(queue.push(b"two\n").is_break());
    let counters = queue.finish();
    assert_eq!((counters.written_lines, counters.dropped_lines, counters.lost_lines), (0, 2, 0));
}

#[test]
fn drops_line_longer_than_queue() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("events.json");
    let queue = to_file(&path, Rotation::default(), 10);
    assert!(queue.push(b"0123456789\n").is_continue());
    assert!(queue.push(b"012345678\n").is_continue());
    let counters = queue.finish();
    assert_eq!((counters.written_lines, counters.dropped_lines, counters.dropped_bytes), (1, 1, 11));
    assert_eq!(fs::read(&path).unwrap(), b"012345678\n");
}

#[test]
fn buffers_unwritable_lines_then_counts_them() {
    let queue = to_file("/dev/full".as_ref(), Rotation::default(), 1000);
    for _ in 0..200 {
        assert!(queue.push(b"123456789\n").is_continue());
    }
    let counters = wait_until(&queue, |counters| counters.write_errors > 0);
    assert_eq!((counters.queued_lines, counters.dropped_lines), (100, 100));
    let ending = Instant::now();
    let counters = queue.finish();
    assert!(ending.elapsed() < Duration::from_secs(1));
    assert_eq!((counters.written_lines, counters.dropped_lines, counters.dropped_bytes), (0, 200, 2000));
}

#[test]
fn writes_buffered_lines_after_reopen() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("events.json");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let queue = to_file(&path, Rotation::default(), LARGE_CAPACITY);
    assert!(queue.push(b"one\n").is_continue());
    wait_until(&queue, |counters| counters.write_errors > 0);
    fs::remove_file(&path).unwrap();
    queue.handle().reopen();
    assert!(queue.push(b"two\n").is_continue());
    let counters = wait_until(&queue, |counters| counters.written_lines == 2);
    assert_eq!(counters.dropped_lines, 0);
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
}

#[test]
#[cfg(target_os = "linux")]
fn reopens_named_pipe_for_each_reader() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pipe");
    let make = || nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    make();
    let queue = to_file(&path, Rotation::default(), LARGE_CAPACITY);
    assert!(queue.push(b"one\n").is_continue());
    wait_until(&queue, |counters| counters.write_errors > 0);
    let mut first = File::open(&path).unwrap();
    let mut line = [0; 4];
    first.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"one\n");
    drop(first);
    assert!(queue.push(b"two\n").is_continue());
    wait_until(&queue, |counters| counters.write_errors > 1);
    // The queue opens a new pipe under the same name.
    fs::remove_file(&path).unwrap();
    make();
    let mut second = File::open(&path).unwrap();
    assert!(queue.push(b"six\n").is_continue());
    let mut lines = [0; 8];
    second.read_exact(&mut lines).unwrap();
    assert_eq!(&lines, b"two\nsix\n");
    let counters = queue.finish();
    assert_eq!((counters.written_lines, counters.dropped_lines, counters.lost_lines), (3, 0, 0));
}

#[test]
#[cfg(target_os = "linux")]
fn unread_pipe_does_not_block_shutdown() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pipe");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let queue = to_file(&path, Rotation::default(), LARGE_CAPACITY);
    assert!(queue.push(b"one\n").is_continue());
    let ending = Instant::now();
    let counters = queue.finish();
    assert!(ending.elapsed() < Duration::from_secs(1));
    assert_eq!((counters.dropped_lines, counters.lost_lines), (1, 1));
}

/// A full disk cuts a line in two; the writer appends the rest once the disk has space.
#[test]
#[ignore = "needs root: mounts a file system"]
fn full_disk_loses_no_queued_lines() {
    let folder = tempdir().unwrap();
    let mount = |program: &str, args: &[&str]| {
        assert!(
            std::process::Command::new(program).args(args).arg(folder.path()).status().unwrap().success()
        );
    };
    mount("mount", &["-t", "tmpfs", "-o", "size=64k", "tmpfs"]);
    fs::write(folder.path().join("ballast"), [0; 32 << 10]).unwrap();
    let path = folder.path().join("events.json");
    let queue = to_file(&path, Rotation::default(), LARGE_CAPACITY);
    let mut wanted = Vec::new();
    for number in 0..500 {
        let line = format!("{number:>96}\n");
        assert!(queue.push(line.as_bytes()).is_continue());
        wanted.extend(line.into_bytes());
    }
    let stuck = wait_until(&queue, |counters| counters.write_errors > 0);
    assert!(stuck.written_lines > 0 && stuck.queued_lines > 0, "{stuck:?}");
    fs::remove_file(folder.path().join("ballast")).unwrap();
    let counters = wait_until(&queue, |counters| counters.queued_lines == 0);
    assert_eq!((counters.written_lines, counters.dropped_lines), (500, 0));
    drop(queue);
    let read = fs::read(&path).unwrap();
    mount("umount", &[]);
    assert_eq!(read, wanted);
}

#[test]
fn failed_reopen_is_counted_and_loses_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("inner").join("events.json");
    fs::create_dir(folder.path().join("inner")).unwrap();
    let queue = to_file(&path, Rotation::default(), LARGE_CAPACITY);
    assert!(queue.push(b"one\n").is_continue());
    fs::rename(folder.path().join("inner"), folder.path().join("other")).unwrap();
    queue.handle().reopen();
    wait_until(&queue, |counters| counters.rotation_errors == 1);
    assert!(queue.push(b"two\n").is_continue());
    assert_eq!(queue.finish().written_lines, 2);
    assert_eq!(fs::read(folder.path().join("other/events.json")).unwrap(), b"one\ntwo\n");
}

/// The lines of the second before the check are in the deleted file, and are written again.
#[test]
fn deleted_file_is_created_again_without_loss() {
    for rotation in [Rotation::default(), Rotation { max_bytes: Some(100), ..Rotation::default() }] {
        let folder = tempdir().unwrap();
        let path = folder.path().join("events.json");
        let queue = to_file(&path, rotation, LARGE_CAPACITY);
        assert!(queue.push(b"zero\n").is_continue());
        wait_until(&queue, |counters| counters.written_lines == 1);
        fs::remove_file(&path).unwrap();
        assert!(queue.push(b"one\n").is_continue());
        wait_until(&queue, |counters| counters.written_lines == 2);
        thread::sleep(FILE_CHECK_INTERVAL);
        assert!(queue.push(b"two\n").is_continue());
        wait_until(&queue, |counters| counters.written_lines == 3);
        assert_eq!(fs::read(&path).unwrap(), b"zero\none\ntwo\n");
        fs::remove_file(&path).unwrap();
        assert!(queue.push(b"six\n").is_continue());
        let counters = queue.finish();
        assert_eq!((counters.written_lines, counters.lost_lines), (4, 0));
        assert!(fs::read(&path).unwrap().ends_with(b"six\n"), "{rotation:?}");
    }
}

#[test]
fn deleted_file_without_directory_loses_no_line_silently() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("inner/events.json");
    fs::create_dir(folder.path().join("inner")).unwrap();
    let queue = to_file(&path, Rotation::default(), LARGE_CAPACITY);
    fs::remove_dir_all(folder.path().join("inner")).unwrap();
    assert!(queue.push(b"one\n").is_continue());
    assert!(queue.push(b"two\n").is_continue());
    let counters = queue.finish();
    assert_eq!((counters.written_lines, counters.dropped_lines, counters.lost_lines), (0, 2, 2));
    assert_eq!(counters.refused_lines, 0);
}

#[test]
fn moved_file_keeps_lines_until_reopened() {
    let folder = tempdir().unwrap();
    let (path, moved) = (folder.path().join("events.json"), folder.path().join("moved"));
    let queue = to_file(&path, Rotation::default(), LARGE_CAPACITY);
    fs::rename(&path, &moved).unwrap();
    assert!(queue.push(b"one\n").is_continue());
    wait_until(&queue, |counters| counters.written_lines == 1);
    assert!(!path.exists());
    queue.handle().reopen();
    assert!(queue.push(b"two\n").is_continue());
    assert_eq!(queue.finish().lost_lines, 0);
    assert_eq!([fs::read(&moved).unwrap(), fs::read(&path).unwrap()], [b"one\n", b"two\n"]);
}

/// A full pipe delays a write; a request to reopen must not end with the delay.
#[test]
#[cfg(target_os = "linux")]
fn reopen_is_served_while_pipe_is_full() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pipe");
    let make = || nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    make();
    let _unread = File::options().read(true).write(true).open(&path).unwrap();
    let queue = to_file(&path, Rotation::default(), LARGE_CAPACITY);
    let line = [vec![b'x'; 99], vec![b'\n']].concat();
    for _ in 0..2000 {
        assert!(queue.push(&line).is_continue());
    }
    thread::sleep(Duration::from_millis(100));
    let stuck = queue.handle().counters();
    assert!(stuck.queued_lines > 0, "{stuck:?}");
    fs::remove_file(&path).unwrap();
    make();
    let mut reader = File::options().read(true).write(true).open(&path).unwrap();
    queue.handle().reopen();
    let mut first = [0; 100];
    reader.read_exact(&mut first).unwrap();
    assert_eq!(first, *line);
}

#[test]
fn rotates_idle_file_on_time() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("events.json");
    let rotation = Rotation { every: Some(Duration::from_secs(1)), ..Rotation::default() };
    let queue = to_file(&path, rotation, LARGE_CAPACITY);
    assert!(queue.push(b"one\n").is_continue());
    wait_until(&queue, |counters| counters.rotations == 1);
    assert_eq!(fs::read(&path).unwrap(), b"");
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(queue.finish().rotations, 1, "an empty file is not rotated");
    assert_eq!(all_text(&path), b"one\n");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push(usize),
    Reopen,
    MoveAway,
    Wait,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        40 => (1_usize..2000).prop_map(Step::Push),
        1 => Just(Step::Reopen),
        1 => Just(Step::MoveAway),
        1 => Just(Step::Wait),
    ];
    prop::collection::vec(step, 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Rotating, moving and reopening files keeps every line exactly once and in order.
    #[test]
    fn no_line_is_lost_or_duplicated(steps in steps(), max_bytes in prop::option::of(1000_u64..100_000)) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("events.json");
        let rotation = Rotation { max_bytes, ..Rotation::default() };
        let queue = to_file(&path, rotation, LARGE_CAPACITY);
        let mut wanted = Vec::new();
        let mut moved = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push(len) => {
                    let line = format!("{number:<len$}\n").into_bytes();
                    prop_assert!(queue.push(&line).is_continue());
                    wanted.push(line);
                }
                Step::Reopen => queue.handle().reopen(),
                Step::MoveAway => {
                    let moved_path = folder.path().join(format!("moved{number}"));
                    if fs::rename(&path, &moved_path).is_ok() {
                        moved.push(moved_path);
                    }
                    queue.handle().reopen();
                }
                Step::Wait => thread::sleep(Duration::from_millis(2)),
            }
        }
        let counters = queue.finish();
        prop_assert_eq!(counters.written_lines, wanted.len() as u64);
        prop_assert_eq!(counters.dropped_lines, 0);
        let mut text = all_text(&path);
        for moved_path in moved {
            text.extend(fs::read(moved_path).unwrap());
        }
        let mut lines: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let number = |line: &Vec<u8>| -> usize {
            std::str::from_utf8(line).unwrap().split_whitespace().next().unwrap().parse().unwrap()
        };
        lines.sort_by_key(number);
        prop_assert_eq!(lines, wanted);
    }
}

#[test]
fn compressed_files_are_complete_and_counted_by_lines() {
    for (suffix, compression) in [("gz", Compression::Gzip), ("zst", Compression::Zstd)] {
        let folder = tempdir().unwrap();
        let path = folder.path().join(format!("events.json.{suffix}"));
        let rotation = Rotation { max_bytes: Some(20_000), ..Rotation::default() };
        let queue = to_file(&path, rotation, LARGE_CAPACITY);
        let mut wanted = String::new();
        for number in 0..30_000 {
            let line = format!("{{\"number\":{number},\"text\":\"the same in each line\"}}\n");
            assert!(queue.push(line.as_bytes()).is_continue());
            wanted.push_str(&line);
        }
        // SIGHUP writes what waits.
        queue.handle().reopen();
        wait_until(&queue, |counters| counters.queued_lines == 0);
        assert!(queue.push(b"last\n").is_continue());
        wanted.push_str("last\n");
        let counters = queue.finish();
        assert_eq!((counters.written_lines, counters.written_bytes), (30_001, wanted.len() as u64));
        assert_eq!((counters.dropped_lines, counters.queued_lines), (0, 0));
        assert!(counters.rotations > 1, "{counters:?}");
        let mut files: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len() as u64, counters.rotations + 1);
        // By time and number; the file in use is the last one.
        let number = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let mut parts = name.split('.').skip(2).map(str::to_owned);
            let stamp = parts.next().unwrap();
            (stamp == suffix, stamp, parts.next().and_then(|part| part.parse::<u32>().ok()))
        };
        files.sort_by_key(number);
        let text: Vec<u8> =
            files.iter().flat_map(|path| decompressed(compression, &fs::read(path).unwrap())).collect();
        assert!(text == wanted.as_bytes());
        let bytes: u64 = files.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
        assert!(bytes * 5 < wanted.len() as u64, "{bytes}");
    }
}

#[test]
fn few_events_are_compressed_soon() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("events.json.zst");
    let queue = to_file(&path, Rotation::default(), LARGE_CAPACITY);
    assert!(queue.push(b"one\n").is_continue());
    wait_until(&queue, |counters| counters.written_lines == 1);
    assert_eq!(decompressed(Compression::Zstd, &fs::read(&path).unwrap()), b"one\n");
    drop(queue);
}

#[test]
fn compressed_events_that_wait_go_to_the_file_of_their_time() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("events.json.zst");
    let period = Duration::from_secs(4);
    let rotation = Rotation { every: Some(period), ..Rotation::default() };
    let queue = to_file(&path, rotation, LARGE_CAPACITY);
    // The start of a period.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    thread::sleep(
        Duration::from_secs(4 - now.as_secs() % 4) - Duration::from_nanos(now.subsec_nanos().into()),
    );
    assert!(queue.push(b"one\n").is_continue());
    queue.handle().reopen();
    wait_until(&queue, |counters| counters.written_lines == 1);
    assert!(queue.push(b"two\n").is_continue());
    let counters = wait_until(&queue, |counters| counters.rotations == 1);
    assert_eq!(counters.written_lines, 2);
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    drop(queue);
}

/// An output to a socket.
fn to_socket(name: &str, capacity: usize) -> OutputQueue {
    let (messages, _) = Messages::start().unwrap();
    let target = LiveTarget::new(crate::output::Target::File(name.into())).unwrap();
    OutputQueue::open(&target, Rotation::default(), capacity, messages).unwrap()
}

#[test]
fn socket_is_connected_again_and_gets_whole_lines() {
    use std::io::{BufRead, BufReader};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let queue = to_socket(&format!("tcp:{address}"), LARGE_CAPACITY);
    assert!(queue.push(b"one\n").is_continue());
    let (first, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(first.try_clone().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "one");
    // The peer closes: the next line goes to another connection.
    drop((lines, first));
    thread::sleep(Duration::from_millis(50));
    assert!(queue.push(b"two\n").is_continue());
    let (second, _) = listener.accept().unwrap();
    assert_eq!(BufReader::new(&second).lines().next().unwrap().unwrap(), "two");
    // Without a listener, lines wait.
    drop((second, listener));
    thread::sleep(Duration::from_millis(50));
    assert!(queue.push(b"three\n").is_continue());
    wait_until(&queue, |counters| counters.write_errors > 0);
    let listener = std::net::TcpListener::bind(address).unwrap();
    let (third, _) = listener.accept().unwrap();
    assert_eq!(BufReader::new(&third).lines().next().unwrap().unwrap(), "three");
    let counters = queue.finish();
    assert_eq!((counters.written_lines, counters.dropped_lines), (3, 0));
}

#[test]
fn reader_of_socket_that_stalls_delays_nobody() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let queue = to_socket(&format!("unix:{}", path.display()), 1 << 20);
    let line = [b'x'; 1000];
    let began = Instant::now();
    for _ in 0..5_000 {
        assert!(queue.push(&[&line[..], b"\n"].concat()).is_continue());
    }
    assert!(began.elapsed() < Duration::from_secs(2));
    let (mut reader, _) = listener.accept().unwrap();
    let counters = queue.handle().counters();
    assert!(counters.dropped_lines > 0 && counters.queued_bytes <= 1 << 20, "{counters:?}");
    // What waits is written once the reader reads.
    let read = thread::spawn(move || {
        let mut text = Vec::new();
        reader.read_to_end(&mut text).unwrap();
        text
    });
    let counters = queue.finish();
    let text = read.join().unwrap();
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count() as u64, counters.written_lines);
    assert_eq!(counters.written_lines + counters.dropped_lines, 5_000);
}

#[test]
fn datagrams_are_lines_and_too_long_ones_are_lost() {
    let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let queue = to_socket(&format!("syslog:udp:{}", receiver.local_addr().unwrap()), LARGE_CAPACITY);
    let long = [&[b'x'; 70_000][..], b"\n"].concat();
    for line in [&b"one\n"[..], &long, b"two\n"] {
        assert!(queue.push(line).is_continue());
    }
    for wanted in [b"one", b"two"] {
        let mut datagram = [0; 100];
        let length = receiver.recv(&mut datagram).unwrap();
        assert_eq!(&datagram[..length], wanted);
    }
    let counters = queue.finish();
    assert_eq!((counters.written_lines, counters.dropped_lines, counters.lost_lines), (2, 1, 1));
    assert_eq!((counters.queued_lines, counters.queued_bytes), (0, 0));
}

#[test]
fn datagrams_that_the_host_refuses_are_lost() {
    let address = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let queue = to_socket(&format!("syslog:udp:{address}"), LARGE_CAPACITY);
    assert!(queue.push(b"one\n").is_continue());
    wait_until(&queue, |counters| counters.queued_bytes == 0);
    // Nothing listens: the answer of the host arrives after the datagram was taken.
    assert!(queue.push(b"two\n").is_continue());
    wait_until(&queue, |counters| counters.lost_lines > 0);
    wait_until(&queue, |counters| counters.queued_bytes == 0);
    let counters = queue.finish();
    assert_eq!((counters.written_lines, counters.lost_lines, counters.dropped_bytes), (0, 2, 8));
    assert_eq!((counters.queued_lines, counters.write_errors), (0, 1));
}

/// The lines of each file, of events with three certificates in turn.
fn lines_of_files(name: &str, rotation: Rotation) -> Vec<Vec<String>> {
    let directory = tempdir().unwrap();
    let path = directory.path().join(name);
    let queue = to_file(&path, rotation, LARGE_CAPACITY);
    queue.handle().shorten_certificates(true);
    for number in 0..200 {
        let certificate = format!(r#"{{"sha256":"{:064x}","sha1":"x","bytes":{}}}"#, number % 3, number % 3);
        let line = format!("{{\"number\":{number},\"certificates\":[{certificate}]}}\n");
        assert!(queue.push(line.as_bytes()).is_continue());
        if number % 50 == 49 {
            wait_until(&queue, |counters| counters.queued_bytes == 0);
        }
    }
    let counters = queue.finish();
    assert_eq!((counters.written_lines, counters.queued_lines, counters.queued_bytes), (200, 0, 0));
    let files = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    // The last file may be empty.
    let contents = files.map(|file| fs::read(file).unwrap()).filter(|bytes| !bytes.is_empty());
    let texts = contents.map(|bytes| {
        let text = match Compression::of(&path) {
            Some(compression) => decompressed(compression, &bytes),
            None => bytes,
        };
        String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
    });
    texts.collect()
}

#[test]
fn certificates_of_each_file_are_complete_once() {
    // A piece of a compressed file is longer than 100 bytes.
    for (name, max_bytes) in [("events.json", 2000), ("events.json.gz", 100)] {
        let rotation = Rotation { max_bytes: Some(max_bytes), ..Rotation::default() };
        let files = lines_of_files(name, rotation);
        assert!(files.len() > 2, "{name}: {}", files.len());
        for lines in files {
            let complete: Vec<_> = lines.iter().filter(|line| line.contains("sha1")).collect();
            let first: Vec<_> = lines.iter().take(3).collect();
            assert_eq!(complete, first, "{name}");
        }
    }
}
