use std::path::Path;
use std::process::Command;

use huginn_net::{CaptureReader, Configure, HuginnNet};

use super::*;
use crate::output::queue::OutputCounters;

fn logs(folder: &Path, form: ZeekForm, rotation: Rotation) -> LiveZeekLogs {
    LiveZeekLogs {
        folder: folder.to_owned(),
        form,
        rotation,
        own_fields: OwnFields::default(),
        selected: Selected::default(),
        interfaces: InterfaceNames::default(),
    }
}

fn events() -> Vec<Event> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../captures/tls/tls-curl/tls-curl.pcap");
    let mut events = Vec::new();
    let mut analyzer = HuginnNet::builder().connections(true).build();
    analyzer.analyze(CaptureReader::open(path).unwrap(), &mut |event: Event| events.push(event)).unwrap();
    events
}

fn connections(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event.kind, huginn_net::Observation::Connection(_))).count()
}

/// Names of the files of a log, and their lines.
fn files(folder: &Path, log: &str) -> Vec<(String, Vec<String>)> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(&format!("{log}."))).collect();
    names.sort();
    let lines =
        |name: &String| fs::read_to_string(folder.join(name)).unwrap().lines().map(str::to_owned).collect();
    names.iter().map(|name| (name.clone(), lines(name))).collect()
}

/// Writes events with a request to open files again between them.
fn write(logs: LiveZeekLogs, parts: &[&[Event]]) {
    let (messages, _queue) = Messages::start().unwrap();
    let (queue, sender) = logs.write(1 << 16, messages).unwrap();
    for part in parts {
        assert!(part.iter().all(|event| sender.push(event.clone())));
        let start = Instant::now();
        while queue.handle().counters().queued_lines > 0 {
            assert!(start.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
        let rotations = queue.handle().counters().rotations;
        queue.handle().reopen();
        while queue.handle().counters().rotations == rotations {
            assert!(start.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    drop(sender);
    let counters = queue.finish();
    assert_eq!(counters.written_lines, parts.iter().map(|part| part.len() as u64).sum::<u64>());
    assert_eq!((counters.dropped_lines, counters.rotation_errors), (0, 0));
}

#[test]
fn rotated_logs_have_headers_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let events = events();
    fs::write(folder.path().join("conn.log"), "earlier\n").unwrap();
    write(logs(folder.path(), ZeekForm::Tsv, Rotation::default()), &[&events, &events]);
    let conn = files(folder.path(), "conn");
    assert_eq!(conn.len(), 3, "{conn:?}");
    let (earlier, written): (Vec<_>, Vec<_>) = conn.iter().partition(|(_, lines)| lines[0] == "earlier");
    assert_eq!(earlier.len(), 1);
    let wanted = connections(&events);
    for (name, lines) in written {
        assert!(name.len() >= "conn.2026-11-30-07-00-00.log".len(), "{name}");
        assert!(
            lines[0].starts_with("#separator") && lines[lines.len() - 1].starts_with("#close\t"),
            "{lines:?}"
        );
        assert_eq!(lines.iter().filter(|line| !line.starts_with('#')).count(), wanted);
    }
}

#[test]
fn files_are_rotated_by_size_and_the_oldest_removed() {
    let folder = tempfile::tempdir().unwrap();
    let events = events();
    let rotation = Rotation { max_bytes: Some(1), keep: Some(2), ..Rotation::default() };
    write(logs(folder.path(), ZeekForm::Json, rotation), &[&events]);
    let conn = files(folder.path(), "conn");
    assert_eq!(conn.len(), 2, "{conn:?}");
    assert!(conn.iter().all(|(_, lines)| lines.len() == 1 && lines[0].starts_with('{')), "{conn:?}");
}

#[test]
fn only_rotated_files_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let others = [
        "conn.2020-01-01-00-00-00.summary.log",
        "conn.2020-01-01-00-00-00.1x.log",
        "conn.2020-01-01-00-00.log",
        "conn.2020-01-01-00:00:00.log",
        "conn.------------------1.log",
    ];
    let rotated = ["conn.2020-01-01-00-00-00.log", "conn.2020-01-01-00-00-00.1.log"];
    others.iter().chain(&rotated).for_each(|name| fs::write(folder.path().join(name), "").unwrap());
    // A folder cannot be removed as a file: the others are, still.
    fs::create_dir(folder.path().join("conn.2020-01-01-00-00-00.2.log")).unwrap();
    let rotation = Rotation { keep: Some(1), ..Rotation::default() };
    let counters = with_writer(logs(folder.path(), ZeekForm::Json, rotation), |writer| {
        append(writer, &events());
        writer.rotate(|_, _| true);
    });
    assert_eq!((counters.rotations > 0, counters.rotation_errors), (true, 1), "{counters:?}");
    assert!(others.iter().all(|name| folder.path().join(name).exists()));
    assert!(!rotated.iter().any(|name| folder.path().join(name).exists()));
}

#[test]
fn files_are_rotated_by_time_without_events() {
    let folder = tempfile::tempdir().unwrap();
    let events = events();
    let rotation = Rotation { every: Some(Duration::from_secs(1)), ..Rotation::default() };
    let (messages, _queue) = Messages::start().unwrap();
    let (queue, sender) = logs(folder.path(), ZeekForm::Tsv, rotation).write(1 << 16, messages).unwrap();
    assert!(events.iter().all(|event| sender.push(event.clone())));
    let start = Instant::now();
    while folder.path().join("conn.log").exists() || files(folder.path(), "conn").is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(sender);
    assert!(queue.finish().rotations > 0);
    let conn = files(folder.path(), "conn");
    assert!(conn.iter().all(|(_, lines)| lines[lines.len() - 1].starts_with("#close\t")), "{conn:?}");
}

#[test]
fn deleted_log_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let events = events();
    let (messages, _queue) = Messages::start().unwrap();
    let logs = logs(folder.path(), ZeekForm::Tsv, Rotation::default());
    let (queue, sender) = logs.write(1 << 16, messages).unwrap();
    let start = Instant::now();
    for _ in 0..2 {
        // Events come until one of them is in a new file.
        while !folder.path().join("conn.log").exists() {
            assert!(start.elapsed() < Duration::from_secs(60));
            assert!(events.iter().all(|event| sender.push(event.clone())));
            std::thread::sleep(Duration::from_millis(100));
        }
        fs::remove_file(folder.path().join("conn.log")).unwrap();
    }
    drop(sender);
    assert_eq!(queue.finish().rotation_errors, 0);
}

/// Runs a writer by hand.
fn with_writer(logs: LiveZeekLogs, check: impl FnOnce(&mut Writer) + Send + 'static) -> OutputCounters {
    let (done, ended) = std::sync::mpsc::channel();
    let (messages, _queue) = Messages::start().unwrap();
    let (queue, sender) = EventSender::start(1, move |_, shared| {
        let mut writer = Writer::new(logs, shared, messages);
        check(&mut writer);
        writer.flush();
        writer.end_all();
        writer.shared.end();
        done.send(()).unwrap();
    })
    .unwrap();
    ended.recv_timeout(Duration::from_secs(60)).unwrap();
    drop(sender);
    queue.finish()
}

fn append(writer: &mut Writer, events: &[Event]) {
    let mut logs = ZeekLogs::new(writer.plan.form);
    events.iter().for_each(|event| writer.append(&mut logs, event));
    logs.finish(&mut |log, row| writer.write(log, row));
}

#[test]
fn own_file_is_continued_after_a_failed_write() {
    for form in [ZeekForm::Tsv, ZeekForm::Json] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("conn.2026-01-01-00-00-00.log"), "earlier\n").unwrap();
        let rotation = Rotation { keep: Some(1), ..Rotation::default() };
        let counters = with_writer(logs(folder.path(), form, rotation), move |writer| {
            append(writer, &events());
            // The first write fails, and a later one, each in a row.
            for _ in 0..2 {
                let file = writer.open.get_mut("conn").unwrap();
                file.write(b"part of a r").unwrap();
                file.file.flush().unwrap();
                writer.fail("conn", &io::ErrorKind::StorageFull.into());
                append(writer, &events());
                writer.flush();
            }
        });
        assert_eq!((counters.write_errors, counters.rotation_errors), (2, 0));
        let conn = files(folder.path(), "conn");
        let [(_, earlier), (name, lines)] = &conn[..] else { panic!("{conn:?}") };
        assert_eq!((&earlier[..], name.as_str()), (&["earlier".to_owned()][..], "conn.log"));
        let count = |start| lines.iter().filter(|line| line.starts_with(start)).count();
        let is_row = |line: &&String| !line.starts_with('#') && !line.starts_with("part");
        let headers = usize::from(form == ZeekForm::Tsv);
        assert_eq!((count("#separator"), count("#close")), (headers, headers), "{lines:?}");
        assert_eq!(
            (lines.iter().filter(is_row).count(), count("part")),
            (2 * connections(&events()), 0),
            "{lines:?}"
        );
    }
}

#[test]
fn file_that_cannot_be_rotated_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let counters = with_writer(logs(folder.path(), ZeekForm::Tsv, Rotation::default()), |writer| {
        append(writer, &events());
        writer.flush();
        // Below a device, no file can be renamed.
        let folder = std::mem::replace(&mut writer.plan.folder, "/dev/null".into());
        writer.rotate(|_, _| true);
        writer.plan.folder = folder;
        append(writer, &events());
    });
    assert!(counters.rotation_errors > 0 && counters.write_errors == 0, "{counters:?}");
    let conn = files(folder.path(), "conn");
    let [(_, lines)] = &conn[..] else { panic!("{conn:?}") };
    let count = |start| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!((count("#separator"), count("#close")), (1, 1), "{lines:?}");
    assert!(lines[lines.len() - 1].starts_with("#close"));
    assert_eq!(lines.iter().filter(|line| !line.starts_with('#')).count(), 2 * connections(&events()));
}

#[test]
#[ignore = "needs root: mounts a file system"]
fn full_disk_counts_lost_events_and_rotates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = |program: &str, args: &[&str]| {
        assert!(Command::new(program).args(args).arg(folder.path()).status().unwrap().success());
    };
    run("mount", &["-t", "tmpfs", "-o", "size=8k", "tmpfs"]);
    fs::write(folder.path().join("ballast"), [0; 8 << 10]).unwrap();
    let events = events();
    let (messages, _queue) = Messages::start().unwrap();
    let logs = logs(folder.path(), ZeekForm::Tsv, Rotation::default());
    let (queue, sender) = logs.write(1 << 16, messages).unwrap();
    let (start, mut pushed) = (Instant::now(), 0);
    while queue.handle().counters().write_errors < 4 {
        assert!(start.elapsed() < Duration::from_secs(60));
        assert!(events.iter().all(|event| sender.push(event.clone())));
        pushed += events.len() as u64;
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(sender);
    let counters = queue.finish();
    let conn = files(folder.path(), "conn");
    run("umount", &[]);
    // Events without a row need no room.
    assert!(
        counters.lost_lines > 0 && counters.written_lines + counters.lost_lines == pushed,
        "{counters:?}"
    );
    assert!(conn.iter().all(|(name, lines)| name == "conn.log" && lines.is_empty()), "{conn:?}");
}

#[test]
fn times_in_names_are_utc() {
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_022_000);
    assert_eq!(StampForm::Zeek.format(at), "2026-11-30-07-00-00");
}
