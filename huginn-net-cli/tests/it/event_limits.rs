//! Limits of the output: long texts, and events that a few bytes cause.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Writes a capture of raw IPv4 packets: an HTTP/2 client whose first request has a User-Agent of `len` bytes, and whose
/// further requests, of 18 bytes, repeat it by its index. Returns its path.
fn indexed_requests(name: &str, len: usize, requests: u32) -> String {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    let rest = len - 127;
    let mut first = vec![0x82, 0x84, 0x86, 0x7a, 0x7f, rest as u8 & 0x7f | 0x80, (rest >> 7) as u8];
    first.extend(vec![1; len]);
    for request in 0..requests {
        let block = if request == 0 { &first[..] } else { &[0x82, 0x84, 0x86, 0xbe, 0, 1, b'a', 1, b'b'] };
        bytes.extend(&(block.len() as u32).to_be_bytes()[1..]);
        bytes.extend([1, 5]);
        bytes.extend((request * 2 + 1).to_be_bytes());
        bytes.extend(block);
    }
    let mut file = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 262_144, 101].map(u32::to_be_bytes).concat();
    let mut push = |seq: u32, flags: u8, payload: &[u8]| {
        let len = 40 + payload.len() as u32;
        file.extend([1_700_000_000, seq, len, len].map(u32::to_be_bytes).concat());
        file.extend([
            0x45,
            0,
            (len >> 8) as u8,
            len as u8,
            0,
            0,
            0x40,
            0,
            64,
            6,
            0,
            0,
            192,
            0,
            2,
            1,
            192,
            0,
            2,
            2,
        ]);
        file.extend([0x9c, 0x40, 0, 80]);
        file.extend(seq.to_be_bytes());
        file.extend([0, 0, 0, 0, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        file.extend(payload);
    };
    push(0, 0x02, b"");
    for (index, part) in bytes.chunks(1400).enumerate() {
        push(1 + index as u32 * 1400, 0x18, part);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("event_limits");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, file).unwrap();
    path.display().to_string()
}

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).arg("pcap").args(args).output().unwrap()
}

/// The counters of `--stats`.
fn stats(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().find_map(|line| serde_json::from_str(line).ok()).unwrap()
}

#[test]
fn output_is_bounded_in_each_format() {
    let path = indexed_requests("bounded.pcap", 3900, 1500);
    let bound = 40 * fs::metadata(&path).unwrap().len() as usize + (16 << 10);
    let fields = "--fields=ts,event,client.ip,client.port,server.ip,server.port,subject,community_id,packet,version,exchange,\
                  method,host,path,user_agent,language,sig,label,params,akamai,akamai_hash,software,cut";
    for format in
        [&["--format", "json"][..], &["--format", "csv", fields], &["--format", "tsv", fields], &[], &["-v"]]
    {
        let output = run(&[format, &["--stats", &path]].concat());
        assert!(output.status.success(), "{format:?}");
        assert!(output.stdout.len() <= bound, "{format:?}: {} of {bound}", output.stdout.len());
        let stats = stats(&output);
        let suppressed = stats["events_suppressed"]["connection"].as_u64().unwrap();
        assert!(suppressed > 1000, "{format:?}: {suppressed}");
        let spots = stats["blind_spots"].as_array().unwrap();
        let spot = spots.iter().find(|spot| spot["name"] == "events_suppressed").unwrap();
        assert_eq!(spot["count"], suppressed);
        if format.is_empty() {
            let totals = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(totals.contains(&format!("{suppressed} events beyond the limits")), "{totals}");
        }
    }
}

#[test]
fn options_lift_limits() {
    let path = indexed_requests("lifted.pcap", 3900, 300);
    for none in ["none", "0"] {
        let output = run(&["--format", "json", "--stats", "--max-output-ratio", none, &path]);
        let requests = String::from_utf8_lossy(&output.stdout).matches("\"http_request\"").count();
        assert_eq!((requests, &stats(&output)["events_suppressed"]["connection"]), (300, &Value::from(0)));
    }
    let output = run(&["--max-events-per-connection", "4", "--format", "json", "--stats", &path]);
    assert_eq!(stats(&output)["events_suppressed"]["connection"], 297);
    assert!(!run(&["--max-text", "-1", &path]).status.success());
}

#[test]
fn cut_texts_are_marked_in_each_format() {
    let path = indexed_requests("cut.pcap", 300, 2);
    let text = |args: &[&str]| {
        let output = run(&[args, &["--max-text", "200", "--events", "http_request", &path]].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    let json = text(&["--format", "json"]);
    assert!(json.lines().all(|line| line.ends_with(r#","cut":["user_agent"]}"#)), "{json}");
    let csv = text(&["--format", "csv", "--fields", "event,cut"]);
    assert!(csv.lines().nth(1).is_some_and(|line| line.contains("user_agent")), "{csv}");
    let human = text(&["-v"]);
    assert!(human.contains("... (300 bytes)"), "{human}");
}
