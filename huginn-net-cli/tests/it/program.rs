//! Output, exit status and error messages of the program.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use crate::long_capture;

use crate::captures;

const USAGE: i32 = 2;
const FAILED: i32 = 1;

fn capture(name: &str) -> String {
    captures::path(name).display().to_string()
}

/// Returns a path in the scratch folder of this module.
fn scratch(name: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("program");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name).display().to_string()
}

fn scratch_file(name: &str, content: &[u8]) -> String {
    let path = scratch(name);
    fs::write(&path, content).unwrap();
    path
}

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.args(args).env_remove("CLICOLOR_FORCE");
    command
}

fn run(args: &[&str]) -> Output {
    program(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Returns the JSON events of a run, which must succeed without messages.
fn events(args: &[&str]) -> Vec<serde_json::Value> {
    let output = run(&[&["pcap", "--format", "json"], args].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Checks that a run assert_fails with this status and this text on standard error (one line, except for usage errors).
fn assert_fails(args: &[&str], status: i32, wanted: &str) -> Output {
    let output = run(args);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {stderr}");
    assert!(stderr.contains(wanted), "{args:?}: {stderr}");
    if status == FAILED {
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    output
}

#[test]
fn json_has_common_and_specific_fields() {
    let events = events(&[&capture("curl-nginx.pcap")]);
    let names: Vec<&str> = events.iter().take(4).map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["tcp_syn", "tcp_syn_ack"]);
    let syn = events[0].as_object().unwrap();
    let fields: Vec<&String> = syn.keys().collect();
    for field in [
        "ts",
        "event",
        "transport",
        "client",
        "server",
        "subject",
        "v",
        "community_id",
        "sig",
        "label",
        "packet",
        "fuzzy",
        "distance",
        "params",
        "mtu",
        "link",
    ] {
        assert!(fields.iter().any(|name| *name == field), "{field} is missing in {fields:?}");
    }
    assert_eq!(fields.len(), 16, "{fields:?}");
    assert_eq!(syn["subject"], "client");
    assert_eq!(syn["label"]["name"], "Linux");
    assert_eq!(syn["server"]["port"], 80);
    assert_eq!(syn["ts"].as_str().unwrap().len(), "2026-11-21T00:00:00.000000Z".len());
    assert_eq!((&syn["mtu"], &syn["link"]), (&1500.into(), &"Ethernet".into()));
    assert_eq!(events[1]["subject"], "server");
}

#[test]
fn connection_ids_are_written_where_they_are_asked_for() {
    let capture = capture("curl-nginx.pcap");
    let without = events(&[&capture]);
    let with = events(&["--connection-ids", &capture]);
    let fields = events(&["--fields", "event,connection_id", &capture]);
    let condition = format!("connection_id == {}", with[0]["connection_id"]);
    let selected = events(&["--connection-ids", "--where", &condition, &capture]);
    let of_first = with.iter().filter(|event| event["connection_id"] == with[0]["connection_id"]);
    assert!(selected.iter().eq(of_first) && selected.len() > 1);
    for ((without, mut with), fields) in without.into_iter().zip(with).zip(fields) {
        let id = with.as_object_mut().unwrap().remove("connection_id").unwrap();
        assert_eq!((&fields["connection_id"], &fields["event"]), (&id, &with["event"]));
        let (packet, hash) = id.as_str().unwrap().split_once('-').unwrap();
        assert!(
            packet.parse::<u64>().unwrap() <= without["packet"].as_u64().unwrap() && hash.len() == 16,
            "{id}"
        );
        assert_eq!(with, without);
    }
}

#[test]
fn compressed_and_piped_captures_give_equal_output() {
    let plain = run(&["pcap", &capture("curl-nginx.pcap")]).stdout;
    assert!(text(&plain).starts_with("05:22:25.2"), "{}", text(&plain));
    for name in ["curl-nginx.pcap.gz", "curl-nginx.pcap.zst"] {
        assert_eq!(text(&run(&["pcap", &capture(name)]).stdout), text(&plain), "{name}");
    }
    let mut child = program(&["pcap", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(capture("curl-nginx.pcap.gz")).unwrap()).unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), text(&plain));
}

/// Builds a Zstandard frame with the bytes of a capture, and zeros in blocks of 128 KiB, 4 bytes each (RFC 8878, section
/// 3.1.1.2).
fn bomb(capture: &[u8], blocks: usize) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    frame.extend(&((capture.len() as u32) << 3).to_le_bytes()[..3]);
    frame.extend(capture);
    for n in (0..blocks).rev() {
        let header = (1 << 20) | (1 << 1) | u32::from(n == 0);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

#[test]
fn decompression_bomb_ends_after_its_events() {
    let plain = fs::read(capture("curl-nginx.pcap")).unwrap();
    let bomb = scratch_file("bomb.pcap.zst", &bomb(&plain, 600));
    let wanted = run(&["pcap", "--format", "json", &capture("curl-nginx.pcap")]).stdout;
    for workers in ["1", "2"] {
        let output = run(&["pcap", "--format", "json", "-w", workers, &bomb]);
        assert_eq!((text(&output.stdout), output.status.code()), (text(&wanted), Some(FAILED)));
        let stderr = text(&output.stderr);
        assert!(stderr.starts_with(&format!("huginn-net: {bomb}: packet ")), "{stderr}");
        let end = "zstd data expands to more than 1000 times its length; --max-compression-ratio sets another limit, or none\n";
        assert!(stderr.ends_with(end), "{stderr}");
    }
    let ratio = (600 << 17) / (plain.len() + 2400);
    for limit in ["none", "0", &(ratio + 1000).to_string()] {
        let output = run(&["pcap", "--format", "json", "--max-compression-ratio", limit, &bomb]);
        assert_eq!((text(&output.stdout), text(&output.stderr)), (text(&wanted), ""), "{limit}");
        assert!(output.status.success());
    }
}

#[test]
fn connections_follow_their_option() {
    let file = capture("tls-curl.pcap");
    let count = |args: &[&str]| {
        let events = events(args);
        events.iter().filter(|event| event["event"] == "connection").count()
    };
    assert_eq!(count(&[&file]), 0);
    let with_connections = ["--connections", &file];
    let clients = events(&with_connections);
    let hellos = clients.iter().filter(|event| event["event"] == "tls_client").count();
    assert_eq!(count(&with_connections), hellos);
    let human = program(&["pcap", "--connections", "-v", &file]).output().unwrap();
    assert!(text(&human.stdout).contains("  tls client libcurl 7.88 and older\n"), "{}", text(&human.stdout));
}

#[test]
fn several_files_are_named_in_their_events() {
    let path = capture("curl-nginx.pcap");
    let one = events(&[&path]);
    let two = events(&[&path, &path]);
    assert_eq!(two.len(), 2 * one.len(), "flow state does not outlive a file");
    assert!(one[0].get("file").is_none());
    assert_eq!(two[0]["file"], path.as_str());
}

#[test]
fn filters_and_count_select_packets() {
    let path = capture("curl-nginx.pcap");
    let all = events(&[&path]).len();
    assert!(all > 2);
    assert_eq!(events(&["--port", "80", &path]).len(), all);
    assert_eq!(events(&["--port", "81", &path]).len(), 0);
    assert_eq!(events(&["--net", "0.0.0.0/0", &path]).len(), all);
    assert_eq!(events(&["--net", "2001:db8::/32", &path]).len(), 0);
    assert_eq!(events(&["--exclude-port", "80", &path]).len(), 0);
    assert_eq!(events(&["--exclude-port", "81", "--exclude-net", "2001:db8::/32", &path]).len(), all);
    assert_eq!(events(&["--exclude-net", "0.0.0.0/0", &path]).len(), 0);
    assert_eq!(events(&["-c", "1", &path]).len(), 1);
    assert_eq!(events(&["-c", "2", &path]).len(), 2);
}

#[test]
fn output_equals_for_any_worker_count() {
    let files =
        ["http-servers.pcap", "tls-chromium.pcap", "made-nested.pcap", "curl-nginx.pcap.gz"].map(capture);
    let mut args: Vec<&str> = std::iter::once("pcap").chain(files.iter().map(String::as_str)).collect();
    for format in ["human", "json", "p0f"] {
        let want = run(&[&args[..], &["--format", format]].concat()).stdout;
        assert!(want.len() > 5000);
        for workers in ["1", "2", "7", "auto"] {
            let found = run(&[&args[..], &["--format", format, "-w", workers]].concat());
            assert!(found.stdout == want, "{format}, {workers} workers");
        }
    }
    args.push("/nonexistent.pcap");
    assert_fails(&[&args[..], &["-w", "2"]].concat(), 1, "/nonexistent.pcap: cannot be opened");
    assert_fails(&["pcap", "-w", "0", &files[0]], 2, "expected a number of at least 1, or 'auto'");
}

/// The worker threads start after about 2,000 packets.
#[test]
fn output_is_independent_of_worker_count() {
    let path = scratch("long.pcap");
    long_capture::write(&path, &["http-tools.pcap", "http-servers.pcap", "hosts-nat.pcap"]);
    let complete = fs::read(&path).unwrap();
    let cut = scratch_file("long-cut.pcap", &complete[..complete.len() - 1]);
    for args in [&[][..], &["-c", "2047"], &["-c", "2048"], &["-c", "2049"], &["-c", "2500"]] {
        for path in [&path, &cut] {
            let args = [&["pcap", "--format", "json", "--stats", path], args].concat();
            let want = run(&args);
            assert!(want.stdout.len() > 100_000);
            for workers in ["2", "7"] {
                let found = run(&[&args[..], &["-w", workers]].concat());
                assert!(found == want, "{args:?}, {workers} workers");
            }
        }
    }
    let want = run(&["pcap", "--format", "json", &path]);
    let mut piped = program(&["pcap", "--format", "json", "-w", "2", "-"]);
    let mut piped = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = piped.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(&complete));
    assert!(piped.wait_with_output().unwrap().stdout == want.stdout, "piped input");
    writer.join().unwrap().unwrap();
}

#[test]
fn stats_are_one_json_object_on_standard_error() {
    let output = run(&["pcap", "--format", "json", "--stats", &capture("curl-nginx.pcap")]);
    let counters: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    let events = text(&output.stdout).lines().count();
    assert_eq!(counters["events"], events);
    assert!(counters["frames"].as_u64().unwrap() > 10);
    assert!(counters["decode"].is_object() && counters["flows"].is_object());
}

#[test]
fn seed_is_printed_and_can_be_repeated() {
    let seed = |args: &[&str]| {
        let output =
            run(&[&["pcap", "--stats", "-q", "--format", "json"], args, &[&capture("tls-curl.pcap")]]
                .concat());
        let stats: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
        stats["hash_seed"].as_u64().unwrap()
    };
    assert_eq!(seed(&["--seed", "17"]), 17);
    assert_ne!(seed(&["--seed", "random"]), seed(&["--seed", "random"]));
    if cfg!(target_os = "linux") {
        assert_eq!(seed(&["-w", "1"]), seed(&["-w", "2"]), "derived from the machine");
    }
    assert_fails(&["pcap", "--seed", "x", &capture("tls-curl.pcap")], 2, "--seed");
}

#[test]
fn stats_name_blind_spots_with_file_and_frame() {
    let output = run(&[
        "pcap",
        "--stats",
        "--format",
        "json",
        &capture("tls-curl.pcap"),
        &capture("hosts-plain.pcap"),
    ]);
    let stats: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    let spots = stats["blind_spots"].as_array().unwrap();
    let names: Vec<&str> = spots.iter().map(|spot| spot["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["truncated_payload", "gaps"]);
    assert_eq!(spots[0]["count"], 7);
    // tshark: the first frame of hosts-plain.pcap that is shorter than its length on the wire and has payload.
    assert_eq!(spots[0]["example"]["frame"], 196);
    assert!(spots[0]["file"].as_str().unwrap().ends_with("hosts-plain.pcap"));
    let output = run(&["pcap", "--stats", "--format", "json", &capture("tls-curl.pcap")]);
    let stats: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(stats["blind_spots"], serde_json::json!([]));
}

#[test]
fn output_option_writes_events_to_file() {
    let out = scratch("events.json");
    let path = capture("curl-nginx.pcap");
    let output = run(&["pcap", "--format", "json", "-o", &out, &path]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert_eq!(fs::read(&out).unwrap(), run(&["pcap", "--format", "json", &path]).stdout);
    assert_fails(&["pcap", "-o", "/nonexistent/events", &path], USAGE, "/nonexistent/events: ");
}

#[test]
fn colour_requires_terminal() {
    let path = capture("curl-nginx.pcap");
    assert!(!run(&["pcap", &path]).stdout.contains(&0x1b));
    let forced = program(&["pcap", &path]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(forced.stdout.contains(&0x1b));
    let refused = program(&["pcap", &path]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").output().unwrap();
    assert!(!refused.stdout.contains(&0x1b));
}

#[test]
fn closed_pipe_exits_quietly() {
    let path = capture("curl-nginx.pcap");
    let many = vec![path.as_str(); 400];
    let mut child = program(&[&["pcap"], &many[..]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn names_kind_of_non_capture_file() {
    let folder = tempfile::tempdir().unwrap();
    assert_fails(&["pcap", &folder.path().display().to_string()], FAILED, "no capture files");
    assert_fails(&["pcap", &scratch_file("empty.pcap", b"")], FAILED, "empty.pcap: ");
    assert_fails(
        &["pcap", &scratch_file("text.pcap", b"Hello, this is not a capture.\n")],
        FAILED,
        "text.pcap: ",
    );
    let zip = scratch_file("a.zip", b"PK\x03\x04\x14\0\0\0\x08\0capture.pcap");
    assert_fails(&["pcap", &zip], FAILED, "unpack it first: 'unzip FILE'");
    let tar = scratch_file("a.tar", b"capture.pcap\0\0\0\0\0\0\0\0");
    assert_fails(&["pcap", &tar], FAILED, "unpack it first: 'tar -xf FILE'");
    assert_fails(&["pcap", &scratch("missing.pcap")], FAILED, "missing.pcap: ");
}

#[test]
fn damaged_capture_yields_events_then_error() {
    let complete = fs::read(capture("curl-nginx.pcap")).unwrap();
    let path = scratch_file("cut.pcap", &complete[..complete.len() - 1]);
    let output = assert_fails(&["pcap", "--format", "json", &path], FAILED, "cut.pcap: packet ");
    assert!(text(&output.stderr).contains(" byte "), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), events(&[&capture("curl-nginx.pcap")]).len());

    // A section header block (28 bytes), then a block that claims 4 GiB.
    let mut pcapng = vec![0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0];
    pcapng.extend([0xff; 8]);
    pcapng.extend([28, 0, 0, 0]);
    pcapng.extend([6, 0, 0, 0, 0xfc, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let path = scratch_file("absurd.pcapng", &pcapng);
    assert_fails(&["pcap", &path], FAILED, "byte 28");
}

#[test]
fn continues_after_damaged_file() {
    let (bad, good) = (scratch_file("bad.pcap", b"x"), capture("curl-nginx.pcap"));
    let output = assert_fails(&["pcap", "--format", "json", &bad, &good], FAILED, "bad.pcap: ");
    assert!(!output.stdout.is_empty());
}

#[test]
fn wrong_usage_exits_with_2() {
    let path = capture("curl-nginx.pcap");
    assert_fails(&[], USAGE, "Usage");
    assert_fails(&["pcap"], USAGE, "FILE");
    assert_fails(&["pcap", "--net", "10.0.0.0/64", &path], USAGE, "10.0.0.0/64");
    assert_fails(&["pcap", "--port", "65536", &path], USAGE, "65536");
    let db = scratch_file(
        "wrong.fp",
        b"classes = unix\n[tcp:request]\nlabel = s:unix:X:\nsig = *:64:0:*:mss*x,0:mss::0\n",
    );
    assert_fails(&["pcap", "--db", &db, &path], USAGE, "line 4, column ");
    assert_fails(&["pcap", "--db", &scratch("missing.fp"), &path], USAGE, "missing.fp: ");
}

#[test]
fn filter_expressions_select_packets() {
    let path = capture("curl-nginx.pcap");
    let all = events(&[&path]).len();
    assert_eq!(events(&["--filter", "tcp port 80", &path]).len(), all);
    assert_eq!(events(&["--filter", "udp", &path]).len(), 0);
    assert_fails(&["pcap", "--filter", "tcp prot 80", &path], USAGE, "tcp prot 80");
}
