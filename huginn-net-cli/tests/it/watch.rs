//! `huginn-net watch`: captures of a directory, as they are closed.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::captures;

fn program(args: &[&str], directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.arg("watch").args(args).arg(directory);
    command
}

fn once(args: &[&str], directory: &Path) -> Output {
    program(&[&["--once", "--format", "json"], args].concat(), directory).output().unwrap()
}

/// Sets the time of the last change to some seconds ago.
fn set_age(path: &Path, seconds: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

/// A folder with a capture that was last changed this many seconds ago, for each age.
fn folder(ages: &[u64]) -> TempDir {
    let folder = tempdir().unwrap();
    for (number, age) in ages.iter().enumerate() {
        let path = folder.path().join(format!("{number}.pcap"));
        fs::copy(captures::path("tls-curl.pcap"), &path).unwrap();
        set_age(&path, *age);
    }
    folder
}

/// The names of the files that events come from, in order.
fn files(output: &Output) -> Vec<String> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    let mut files: Vec<String> = text.lines().map(file_of).collect();
    files.dedup();
    files
}

fn file_of(line: &str) -> String {
    let event: Value = serde_json::from_str(line).unwrap();
    Path::new(event["file"].as_str().unwrap()).file_name().unwrap().to_str().unwrap().to_owned()
}

fn message(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Secrets of a key log, and those that captures bring: in a block between the packets, too.
#[test]
fn captures_are_decrypted() {
    let (directory, keys) = (tempdir().unwrap(), tempdir().unwrap());
    let bytes = fs::read(captures::path("http-decrypted-sessions.pcapng")).unwrap();
    let key_log = keys.path().join("keys.log");
    fs::write(&key_log, include_bytes!("../../../huginn-net-decrypt/recordings/tls13/keys.log")).unwrap();
    // Without the secrets of the capture.
    let mut without = bytes.clone();
    let at = without.windows(4).position(|word| word == b"KSLT").unwrap();
    without[at] = b'-';
    fs::write(directory.path().join("without.pcapng"), without).unwrap();
    fs::write(directory.path().join("with.pcapng"), with_secrets_in_the_middle(&bytes)).unwrap();
    for name in ["without.pcapng", "with.pcapng"] {
        set_age(&directory.path().join(name), 100);
    }
    let output = once(
        &[
            "--keylog",
            key_log.to_str().unwrap(),
            "--events",
            "http_request",
            "--fields",
            "file,path,decrypted",
        ],
        directory.path(),
    );
    let text = std::str::from_utf8(&output.stdout).unwrap();
    let of = |name: &str| text.lines().filter(|line| line.contains(name)).collect::<Vec<_>>();
    let (with, without) = (of("/with.pcapng"), of("/without.pcapng"));
    assert!(
        without.len() == 1 && without[0].contains(r#""path":"/new-tls1_3","decrypted":true"#),
        "{without:?}"
    );
    assert!(with.len() > 5, "{with:?} {}", message(&output));
}

/// Moves the block of secrets of a capture behind its first packets.
fn with_secrets_in_the_middle(capture: &[u8]) -> Vec<u8> {
    let (mut blocks, mut rest) = (Vec::new(), capture);
    while let [kind, x, y, z, a, b, c, d, ..] = *rest {
        let len = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap();
        let (block, after) = rest.split_at(len);
        blocks.push(([kind, x, y, z], block));
        rest = after;
    }
    let at = blocks.iter().position(|(kind, _)| *kind == [10, 0, 0, 0]).unwrap();
    let secrets = blocks.remove(at);
    blocks.insert(blocks.len() / 2, secrets);
    blocks.into_iter().flat_map(|(_, block)| block).copied().collect()
}

/// A running `watch`.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Running {
    fn start(args: &[&str], directory: &Path) -> Self {
        let mut child = program(&[&["--format", "json"], args].concat(), directory)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // A file that is never read fails the test, which would wait for it.
        let id = child.id().to_string();
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(100));
            Command::new("kill").args(["-KILL", &id]).status()
        });
        Self { child, lines }
    }

    /// The file of the next event, beyond those of `last`.
    fn next_file(&mut self, last: &str) -> String {
        self.lines.by_ref().map(|line| file_of(&line.unwrap())).find(|file| file != last).unwrap()
    }

    /// Sends SIGTERM. Returns the exit status, and the files of the events that were left.
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let mut files: Vec<String> = self.lines.map(|line| file_of(&line.unwrap())).collect();
        files.dedup();
        (self.child.wait().unwrap().code(), files)
    }
}

#[test]
fn once_reads_files_that_no_one_writes_in_order_of_time() {
    let folder = folder(&[120, 300, 90]);
    let output = once(&[], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    assert_eq!(files(&output), ["1.pcap", "0.pcap", "2.pcap"]);
    // The newest one may still grow.
    set_age(&folder.path().join("2.pcap"), 20);
    let output = once(&[], folder.path());
    assert_eq!(files(&output), ["1.pcap", "0.pcap"]);
    assert_eq!(message(&output), "huginn-net: left out 1 file that may still be written to\n");
}

#[test]
fn state_makes_each_file_analysed_once_whatever_its_name() {
    let folder = folder(&[300, 200, 100]);
    let other = tempdir().unwrap();
    let state = other.path().join("state");
    let args = ["--state", state.to_str().unwrap()];
    assert_eq!(files(&once(&args, folder.path())).len(), 3);
    let saved = fs::read_to_string(&state).unwrap();
    assert_eq!(saved.lines().count(), 4, "{saved}");
    // A renamed, a deleted and a compressed file are not read again, a replaced one is.
    let path = |name: &str| folder.path().join(name);
    fs::rename(path("0.pcap"), path("renamed.pcap")).unwrap();
    fs::remove_file(path("1.pcap")).unwrap();
    fs::copy(captures::path("curl-nginx.pcap"), path("1.pcap")).unwrap();
    set_age(&path("1.pcap"), 70);
    let modified = fs::metadata(path("2.pcap")).unwrap().modified().unwrap();
    fs::rename(path("2.pcap"), other.path().join("2.pcap")).unwrap();
    assert!(Command::new("gzip").arg(other.path().join("2.pcap")).status().unwrap().success());
    fs::copy(other.path().join("2.pcap.gz"), path("2.pcap.gz")).unwrap();
    File::options().write(true).open(path("2.pcap.gz")).unwrap().set_modified(modified).unwrap();
    let output = once(&args, folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    assert_eq!(files(&output), ["1.pcap"]);
    assert!(files(&once(&args, folder.path())).is_empty());
    // A file whose time alone changes is not read again, one whose bytes change is.
    set_age(&path("renamed.pcap"), 290);
    assert!(files(&once(&args, folder.path())).is_empty());
    let mut bytes = fs::read(path("renamed.pcap")).unwrap();
    bytes[24] ^= 1;
    fs::write(path("renamed.pcap"), bytes).unwrap();
    set_age(&path("renamed.pcap"), 280);
    assert_eq!(files(&once(&args, folder.path())), ["renamed.pcap"]);
    assert!(files(&once(&args, folder.path())).is_empty());
    // Without the state, all are.
    assert_eq!(files(&once(&[], folder.path())), ["renamed.pcap", "2.pcap.gz", "1.pcap"]);
    fs::write(&state, "no state").unwrap();
    let output = once(&args, folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("state: line 1, column "), "{}", message(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn quiet_file_that_is_open_waits_for_its_writer() {
    let folder = folder(&[120, 300]);
    let writer = OpenOptions::new().append(true).open(folder.path().join("1.pcap")).unwrap();
    let reader = File::open(folder.path().join("0.pcap")).unwrap();
    let output = once(&[], folder.path());
    assert_eq!(files(&output), ["0.pcap"]);
    assert_eq!(message(&output), "huginn-net: left out 1 file that may still be written to\n");
    drop((writer, reader));
    assert_eq!(files(&once(&[], folder.path())), ["1.pcap", "0.pcap"]);
}

#[test]
fn match_of_a_watch_list_gives_exit_status_3() {
    let folder = folder(&[100]);
    let other = tempdir().unwrap();
    let list = other.path().join("list");
    fs::write(&list, "ja4,t13d3112h2_e8f1e7e78f70_b26ce05bbdd6\n").unwrap();
    let output = once(&["--only-matches", "--fingerprints", list.to_str().unwrap()], folder.path());
    assert_eq!(output.status.code(), Some(3), "{}", message(&output));
    assert_eq!(files(&output), ["0.pcap"]);
}

#[test]
fn damaged_file_is_an_error_and_others_are_read() {
    let folder = folder(&[300, 100]);
    let damaged = folder.path().join("damaged.pcap");
    let bytes = fs::read(captures::path("tls-curl.pcap")).unwrap();
    fs::write(&damaged, &bytes[..bytes.len() - 7]).unwrap();
    set_age(&damaged, 200);
    fs::write(folder.path().join("notes.txt"), "no capture").unwrap();
    set_age(&folder.path().join("notes.txt"), 250);
    let output = once(&[], folder.path());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(files(&output), ["0.pcap", "damaged.pcap", "1.pcap"]);
    assert!(message(&output).contains("damaged.pcap: packet "), "{}", message(&output));
    assert!(message(&output).ends_with("skipped 1 file that is not a capture\n"), "{}", message(&output));
    // A hit comes before the damage.
    let other = tempdir().unwrap();
    let list = other.path().join("list");
    fs::write(&list, "ja4,t13d3112h2_e8f1e7e78f70_b26ce05bbdd6\n").unwrap();
    let output = once(&["--fingerprints", list.to_str().unwrap()], folder.path());
    assert_eq!(output.status.code(), Some(3), "{}", message(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn captures_are_read_once_they_are_closed_or_moved_in() {
    let folder = folder(&[100, 90]);
    let path = |name: &str| folder.path().join(name);
    let bytes = fs::read(captures::path("tls-curl.pcap")).unwrap();
    // The newest file of before may be open.
    let mut running = Running::start(&["-q"], folder.path());
    assert_eq!(running.next_file(""), "0.pcap");
    // A file that is written, renamed, and closed only then.
    let mut growing = OpenOptions::new().create_new(true).write(true).open(path("growing.pcap")).unwrap();
    growing.write_all(&bytes[..100]).unwrap();
    fs::rename(path("growing.pcap"), path("renamed.pcap")).unwrap();
    // It is not read before this one, which is moved into place.
    let other = tempfile::tempdir_in(folder.path()).unwrap();
    fs::write(other.path().join("moved.pcap"), &bytes).unwrap();
    fs::rename(other.path().join("moved.pcap"), path("moved.pcap")).unwrap();
    assert_eq!(running.next_file("0.pcap"), "1.pcap");
    assert_eq!(running.next_file("1.pcap"), "moved.pcap");
    growing.write_all(&bytes[100..]).unwrap();
    drop(growing);
    assert_eq!(running.next_file("moved.pcap"), "renamed.pcap");
    // A ring writes the same file again, and renames it before it closes it: once closed, it may be read under either name.
    let mut ring = OpenOptions::new().write(true).truncate(true).open(path("renamed.pcap")).unwrap();
    ring.write_all(&fs::read(captures::path("curl-nginx.pcap")).unwrap()).unwrap();
    fs::rename(path("renamed.pcap"), path("again.pcap")).unwrap();
    drop(ring);
    assert_eq!(running.next_file("renamed.pcap"), "again.pcap");
    let (status, files) = running.end();
    assert_eq!((status, files), (Some(0), vec!["again.pcap".to_owned()]));
}

#[cfg(target_os = "linux")]
#[test]
fn hidden_renamed_and_linked_files_are_read_without_newer_ones() {
    let folder = folder(&[100, 90]);
    let path = |name: &str| folder.path().join(name);
    let other = tempfile::tempdir_in(folder.path()).unwrap();
    fs::copy(captures::path("tls-curl.pcap"), other.path().join("linked.pcap")).unwrap();
    set_age(&other.path().join("linked.pcap"), 50);
    let mut running = Running::start(&["-q"], folder.path());
    assert_eq!(running.next_file(""), "0.pcap");
    // As rsync does: the time is set after the file is closed.
    fs::copy(captures::path("tls-curl.pcap"), path(".hidden")).unwrap();
    set_age(&path(".hidden"), 40);
    fs::rename(path(".hidden"), path("synced.pcap")).unwrap();
    assert_eq!(running.next_file("0.pcap"), "1.pcap");
    assert_eq!(running.next_file("1.pcap"), "synced.pcap");
    fs::hard_link(other.path().join("linked.pcap"), path("linked.pcap")).unwrap();
    fs::remove_file(other.path().join("linked.pcap")).unwrap();
    assert_eq!(running.next_file("synced.pcap"), "linked.pcap");
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn output_is_appended_to_with_one_line_of_headings() {
    let folder = folder(&[100]);
    let other = tempdir().unwrap();
    let (state, events) = (other.path().join("state"), other.path().join("events.csv"));
    let run = || {
        let args = ["--once", "--format", "csv", "--state", state.to_str().unwrap(), "-o"];
        let output =
            program(&[&args[..], &[events.to_str().unwrap()]].concat(), folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", message(&output));
        fs::read_to_string(&events).unwrap()
    };
    let first = run();
    assert!(first.lines().count() > 1, "{first}");
    assert_eq!(run(), first);
    fs::copy(captures::path("curl-nginx.pcap"), folder.path().join("1.pcap")).unwrap();
    set_age(&folder.path().join("1.pcap"), 70);
    let second = run();
    let added = second.strip_prefix(&first).unwrap();
    assert!(added.contains("nginx") && !added.contains(first.lines().next().unwrap()), "{added}");
}

#[cfg(target_os = "linux")]
#[test]
fn state_is_a_regular_file_of_one_process() {
    let folder = folder(&[100, 90]);
    let other = tempdir().unwrap();
    let state = other.path().join("state");
    let args = ["--state", state.to_str().unwrap()];
    let mut running = Running::start(&args, folder.path());
    assert_eq!(running.next_file(""), "0.pcap");
    let output = once(&args, folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("another huginn-net uses this state"), "{}", message(&output));
    assert_eq!(running.end().0, Some(0));
    assert_eq!(once(&args, folder.path()).status.code(), Some(0));
    let pipe = other.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let output = once(&["--state", pipe.to_str().unwrap()], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).ends_with("pipe: --state needs a regular file\n"), "{}", message(&output));
}

#[test]
fn files_written_to_the_directory_are_refused() {
    let folder = folder(&[100]);
    for option in ["--state", "--output", "--write-baseline"] {
        let output = once(&[option, folder.path().join("file").to_str().unwrap()], folder.path());
        assert_eq!(output.status.code(), Some(2), "{option}");
        let expected = format!("{option} names a file in the watched directory: put it elsewhere");
        assert!(message(&output).contains(&expected), "{}", message(&output));
    }
    let output = once(&[], &folder.path().join("missing"));
    assert_eq!(output.status.code(), Some(2), "{}", message(&output));
}
