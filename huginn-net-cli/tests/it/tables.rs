//! `--format parquet` and `--format arrow`.

use std::collections::HashSet;
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
    assert!(matches!(reader.metadata().row_group(0).column(0).compression(), Compression::ZSTD(_)));
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), json_lines(&args));
    let last = batches.last().unwrap();
    let files = last.column_by_name("file").unwrap();
    let files: &huginn_net_arrow::arrow_array::StringArray = files.as_any().downcast_ref().unwrap();
    // Rows are sorted by their time.
    let wanted: HashSet<&str> = paths.iter().map(String::as_str).collect();
    assert_eq!(files.iter().map(Option::unwrap).collect::<HashSet<_>>(), wanted);
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

#[test]
fn chosen_columns_are_written() {
    let folder = folder("columns");
    let paths = paths(&["tls-curl.pcap"]);
    for format in ["arrow", "parquet"] {
        let file = folder.join(format);
        let fields = ["--fields", "ts,client.ip,tls_sni,ja4"];
        let out = ["--format", format, "--sensor-name", "berlin", "-o", file.to_str().unwrap(), &paths[0]];
        let output = run(&[&fields[..], &out].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let schema = match format {
            "arrow" => StreamReader::try_new(fs::File::open(&file).unwrap(), None).unwrap().schema(),
            _ => {
                let reader =
                    ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&file).unwrap()).unwrap();
                std::sync::Arc::clone(reader.schema())
            }
        };
        let names: Vec<&str> = schema.fields().iter().map(|field| &**field.name()).collect();
        assert_eq!(names, ["ts", "client_ip", "tls_sni", "ja4", "sensor"]);
    }
    let output = run(&["--format", "parquet", "--fields", "ja5", "-o", "x", &paths[0]]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown column or field 'ja5'"));
}

#[test]
fn each_kind_has_a_table_in_a_complete_folder() {
    let folder = folder("kinds");
    let tables = folder.join("tables");
    let paths = paths(&["tls-curl.pcap", "http-pages.pcap"]);
    let out = ["--format", "parquet", "--tables", "-o", tables.to_str().unwrap(), &paths[0], &paths[1]];
    let output = run(&out);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let mut rows = 0;
    for name in names(&tables) {
        let kind = name.strip_suffix(".parquet").unwrap();
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(fs::File::open(tables.join(&name)).unwrap()).unwrap();
        let of_kind = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap();
        assert_eq!(of_kind, json_lines(&["--events", kind, &paths[0], &paths[1]]), "{kind}");
        rows += of_kind;
    }
    assert_eq!(rows, json_lines(&[&paths[0], &paths[1]]));
    assert_eq!(names(&folder), ["tables"]);

    // A folder that is there stays as it is.
    let before = names(&tables);
    let output = run(&out);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--tables writes a new folder"));
    assert_eq!((names(&tables), names(&folder)), (before, vec!["tables".to_owned()]));
    for wrong in [
        &["--tables"][..],
        &["--format", "json", "--tables", "-o", "x"],
        &["--format", "parquet", "--tables", "-o", "-"],
        &["--format", "parquet", "--tables", "-o", "x", "--fields", "ts,ja4"],
        &["--format", "parquet", "-o", "x", "--fields", "ts,ja4,ts"],
        &["--format", "arrow", "-o", "x", "--fields", "sni,tls_sni"],
    ] {
        let output = run(&[wrong, &[&*paths[0]]].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn small_files_are_joined_by_compact() {
    let folder = folder("compact");
    let paths = paths(&["tls-curl.pcap", "http-pages.pcap"]);
    for (name, path) in ["a", "b"].iter().zip(&paths) {
        let file = folder.join(format!("{name}.parquet"));
        assert!(run(&["--format", "parquet", "-o", file.to_str().unwrap(), path]).status.success());
    }
    let compact = |age: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
        command.args(["compact", "--older-than", age]).arg(&folder).output().unwrap()
    };
    assert!(compact("1h").stdout.is_empty());
    std::thread::sleep(std::time::Duration::from_secs(2));
    let output = compact("1s");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let joined = folder.join("a.joined.parquet");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{} has the rows of 2 files\n", joined.display())
    );
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&joined).unwrap()).unwrap();
    let rows = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap();
    assert_eq!(rows, paths.iter().map(|path| json_lines(&[path])).sum::<usize>());
    let left: Vec<_> = names(&folder).into_iter().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(left, ["a.joined.parquet"]);
    fs::write(folder.join("c.parquet"), "no table").unwrap();
    let output = compact("1s");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("c.parquet: not joined: "));
    let output =
        Command::new(env!("CARGO_BIN_EXE_huginn-net")).args(["compact", "/no/such"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
