//! Parquet files of `huginn-net live`.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use huginn_net_arrow::arrow_array::cast::AsArray;
use huginn_net_arrow::arrow_array::types::Int32Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Starts `live` on the loopback interface. Only SYNs to this port, and their answers, are analysed.
fn start(port: &str, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.args(["live", "-i", "lo", "-q", "--port", port]).args(args).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Sends SYNs to a closed port until the condition holds; panics after 30 seconds.
fn connect_until(port: &str, mut done: impl FnMut() -> bool) {
    let start_time = Instant::now();
    while !done() {
        assert!(start_time.elapsed() < Duration::from_secs(30));
        let _ = TcpStream::connect(format!("127.0.0.1:{port}"));
        thread::sleep(Duration::from_millis(50));
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Files of a folder and its folders that are complete, in the order of their names.
fn tables(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(tables(&entry.path()));
        } else if !entry.file_name().to_str().unwrap().starts_with('.') {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// Port of the client and kind of each event. Each socket has its own times.
fn rows(file: &Path) -> Vec<(i64, String)> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
    assert_eq!(**reader.schema(), *huginn_net_arrow::schema());
    let mut rows = Vec::new();
    for batch in reader.build().unwrap() {
        let batch = batch.unwrap();
        let ports = batch.column_by_name("client_port").unwrap().as_primitive::<Int32Type>();
        let events = batch.column_by_name("event").unwrap().as_string::<i32>();
        let ports = ports.values().iter().map(|port| i64::from(*port));
        rows.extend(ports.zip(events.iter().map(|event| event.unwrap().to_owned())));
    }
    rows
}

/// Port of the client and kind of each event in JSON Lines.
fn json_rows(file: &Path) -> Vec<(i64, String)> {
    let text = fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            (event["client"]["port"].as_i64().unwrap(), event["event"].as_str().unwrap().to_owned())
        })
        .collect()
}

#[test]
fn parquet_needs_file_and_rotation() {
    for args in [
        &["--format", "parquet"][..],
        &["--format", "parquet", "-o", "x.parquet"],
        &["--format", "parquet", "-o", "-", "--rotate-interval", "1h"],
        &["--format", "arrow", "-o", "x"],
        &["--format", "parquet", "-o", "x", "--hour-folders", "--rotate-keep", "3"],
        &["--format", "json", "-o", "x.json", "--hour-folders"],
        &["--format", "parquet", "-o", "/no/such/folder/x", "--hour-folders"],
    ] {
        let mut child = start("9", args);
        assert!(!child.wait().unwrap().success(), "{args:?}");
    }
}

#[test]
#[ignore = "needs root"]
fn rotated_files_together_have_all_events() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("events.json");
    let out = folder.path().join("tables");
    fs::create_dir(&out).unwrap();
    let file = out.join("events.parquet");
    let parquet = ["--format", "parquet", "-o", file.to_str().unwrap(), "--rotate-interval", "1s"];
    let children = [start("7", &parquet), start("7", &["--format", "json", "-o", json.to_str().unwrap()])];
    // Both capture before the first packet.
    thread::sleep(Duration::from_secs(1));
    connect_until("7", || tables(&out).len() >= 3);
    thread::sleep(Duration::from_secs(1));
    for mut child in children {
        signal(&child, "-TERM");
        assert!(child.wait().unwrap().success());
    }
    let files = tables(&out);
    let found: Vec<_> = files.iter().flat_map(|file| rows(file)).collect();
    assert_eq!(found, json_rows(&json));
    assert!(files.iter().all(|file| !rows(file).is_empty()), "a table without rows is not written");
    let name = files[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("events.20") && name.ends_with("Z.parquet"), "{name}");
    // No temporary file stays.
    assert_eq!(fs::read_dir(&out).unwrap().count(), files.len());
}

#[test]
#[ignore = "needs root"]
fn killed_writer_leaves_complete_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.parquet");
    let args = ["--format", "parquet", "-o", file.to_str().unwrap(), "--rotate-interval", "2s"];
    let mut child = start("9", &args);
    thread::sleep(Duration::from_millis(500));
    connect_until("9", || !tables(folder.path()).is_empty());
    let unfinished = || fs::read_dir(folder.path()).unwrap().count() > tables(folder.path()).len();
    connect_until("9", unfinished);
    signal(&child, "-KILL");
    child.wait().unwrap();
    assert!(unfinished(), "the program was killed within a file");
    for file in tables(folder.path()) {
        assert!(!rows(&file).is_empty());
    }
}

#[test]
#[ignore = "needs root"]
fn hangup_completes_a_file_and_folders_have_hours() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.parquet");
    let mut child = start("9", &["--format", "parquet", "-o", file.to_str().unwrap(), "--hour-folders"]);
    thread::sleep(Duration::from_millis(500));
    connect_until("9", || {
        signal(&child, "-HUP");
        !tables(folder.path()).is_empty()
    });
    signal(&child, "-TERM");
    assert!(child.wait().unwrap().success());
    let files = tables(folder.path());
    let path = files[0].strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
    let (date, rest) = path.split_once('/').unwrap();
    let (hour, name) = rest.split_once('/').unwrap();
    let date = date.strip_prefix("date=").unwrap().replace('-', "");
    let hour = hour.strip_prefix("hour=").unwrap();
    assert!(name.starts_with(&format!("events.{date}T{hour}")), "{path}");
    assert!(!rows(&files[0]).is_empty());
}
