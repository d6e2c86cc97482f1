//! `--format parquet` and `--format arrow`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use arrow_ipc::reader::StreamReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;

use crate::captures;

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.arg("pcap").args(args);
    command
}

fn run(args: &[&str]) -> Output {
    program(args).output().unwrap()
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tables").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn paths(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| captures::path(name).into_os_string().into_string().unwrap()).collect()
}

/// Number of lines of JSON about these captures.
fn json_lines(args: &[&str]) -> usize {
    run(&[&["--format", "json"], args].concat()).stdout.split(|byte| *byte == b'\n').count() - 1
}

#[test]
fn parquet_has_all_events_with_their_file() {
    let file = folder("all").join("events.parquet");
    let paths = paths(&["tls-curl.pcap", "curl-nginx.pcap"]);
    let args: Vec<&str> = paths.iter().map(String::as_str).collect();
    let output = run(&[&["--format", "parquet", "-o", file.to_str().unwrap()], &*args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&file).unwrap()).unwrap();
    assert_eq!(**reader.schema(), *huginn_net_arrow::schema());
    assert_eq!(reader.metadata().row_group(0).column(0).compression(), Compression::SNAPPY);
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), json_lines(&args));
    let last = batches.last().unwrap();
    let files = last.column_by_name("file").unwrap();
    let files: &huginn_net_arrow::arrow_array::StringArray = files.as_any().downcast_ref().unwrap();
    assert_eq!(files.value(last.num_rows() - 1), paths[1]);
    assert_eq!(names(file.parent().unwrap()), ["events.parquet"]);
}

#[test]
fn arrow_stream_on_standard_output_is_complete() {
    let paths = paths(&["http-pages.pcap"]);
    let output = run(&["--format", "arrow", &paths[0]]);
    let reader = StreamReader::try_new(&*output.stdout, None).unwrap();
    let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, json_lines(&[&paths[0]]));
}

#[test]
fn only_chosen_events_are_written() {
    let paths = paths(&["tls-curl.pcap"]);
    let output = run(&["--format", "arrow", "--events", "tls_client", &paths[0]]);
    let reader = StreamReader::try_new(&*output.stdout, None).unwrap();
    let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, json_lines(&["--events", "tls_client", &paths[0]]));
}

#[cfg(unix)]
#[test]
fn killed_writer_leaves_no_incomplete_table() {
    use std::io::Write;

    let folder = folder("killed");
    let file = folder.join("events.parquet");
    let mut child = program(&["--format", "parquet", "-o", file.to_str().unwrap(), "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&fs::read(captures::path("http-pages.pcap")).unwrap()).unwrap();
    while names(&folder).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!file.exists());
    assert!(names(&folder).iter().all(|name| name.starts_with('.')), "{:?}", names(&folder));
}

#[test]
fn rows_before_damage_are_written() {
    let folder = folder("damaged");
    let (cut, file) = (folder.join("cut.pcap"), folder.join("events.parquet"));
    let bytes = fs::read(captures::path("tls-curl.pcap")).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 10]).unwrap();
    let output = run(&["--format", "parquet", "-o", file.to_str().unwrap(), cut.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&file).unwrap()).unwrap();
    assert!(reader.metadata().file_metadata().num_rows() > 20);
}

#[test]
fn closed_pipe_is_no_error() {
    let paths = paths(&["http-pages.pcap"]);
    let mut child = program(&["--format", "arrow", &paths[0]])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}
