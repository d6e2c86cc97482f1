//! Pseudonyms of addresses.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::captures;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).args(args).output().unwrap()
}

/// A file with this content.
fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("anonymize");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path.display().to_string()
}

fn key() -> String {
    file("key", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n")
}

/// The events of a capture.
fn events(options: &[&str], path: &Path) -> Vec<Value> {
    let path = path.display().to_string();
    let output =
        run(&[&["pcap", "--format", "json", "--connections", "--findings"], options, &[&path]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// All texts of an event, but for certificates, which stay what they are.
fn texts<'e>(value: &'e Value, found: &mut Vec<&'e str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// The captures of these protocols.
fn paths() -> Vec<PathBuf> {
    let mut paths = captures::with_extension(&["pcap", "pcapng"]);
    paths.retain(|path| {
        ["hosts", "http", "quic", "ssh"].iter().any(|part| path.iter().any(|name| name == *part))
    });
    paths
}

/// The captures of the project have addresses for documentation only.
#[test]
fn each_event_has_other_addresses_and_else_the_same_content() {
    let key = key();
    let mut compared = 0;
    for path in paths() {
        let before = events(&[], &path);
        let after = events(&["--anonymize", &key], &path);
        assert_eq!(before.len(), after.len(), "{}", path.display());
        let mut pseudonyms = BTreeMap::new();
        for (before, after) in before.iter().zip(&after) {
            for field in ["ts", "event", "packet", "ja4", "sni", "label", "user_agent", "finding", "segments"]
            {
                let is_text_with_address =
                    field == "user_agent" && before[field].to_string().contains("192.0.2.");
                assert!(is_text_with_address || before[field] == after[field], "{field}: {before}\n{after}");
            }
            for side in ["client", "server"] {
                let (before, after) = (&before[side]["ip"], &after[side]["ip"]);
                assert_eq!(pseudonyms.entry(before.to_string()).or_insert(after.clone()), after);
                assert!(before.is_null() || before != after || before == "::1", "{before}");
            }
            if after["event"] != "tls_certificates" && after["finding"] != "certificate" {
                let mut found = Vec::new();
                texts(after, &mut found);
                for text in found {
                    let is_real = ["192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:"];
                    assert!(!is_real.iter().any(|net| text.contains(net)), "{}: {after}", path.display());
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn workers_and_views_have_the_same_pseudonyms() {
    let key = key();
    let path = "../captures/hosts/hosts-ua/hosts-ua.pcap";
    let one = events(&["--anonymize", &key, "-w", "1"], Path::new(path));
    assert_eq!(one, events(&["--anonymize", &key, "-w", "4"], Path::new(path)));
    let hosts = String::from_utf8(run(&["hosts", "--anonymize", &key, path]).stdout).unwrap();
    assert!(
        !hosts.contains("192.0.2.") && hosts.contains(one[0]["client"]["ip"].as_str().unwrap()),
        "{hosts}"
    );
}

/// Examples of what was not read name the addresses of fragments, too.
#[test]
fn blind_spots_have_pseudonyms() {
    let key = key();
    let path = captures::folder().join("evasion/fragment-overlap-then-whole-tls4.pcap").display().to_string();
    for workers in ["1", "2"] {
        let stats = |more: &[&str]| {
            let output =
                run(&[&["pcap", "-q", "--stats", "-o", "/dev/null", "-w", workers], more, &[&path]].concat());
            String::from_utf8(output.stderr).unwrap()
        };
        assert!(stats(&[]).contains("\"source\":\"198.18.35."));
        let after = stats(&["--anonymize", &key]);
        assert!(after.contains("\"source\":") && !after.contains("198.18.35."), "{after}");
    }
}

#[test]
fn filters_have_the_addresses_of_the_packets() {
    let key = key();
    let path = Path::new("../captures/hosts/hosts-ua/hosts-ua.pcap");
    let all = events(&["--anonymize", &key], path).len();
    assert_eq!(events(&["--anonymize", &key, "--net", "192.0.2.0/24"], path).len(), all);
    assert_eq!(events(&["--anonymize", &key, "--exclude-net", "192.0.2.0/24"], path).len(), 0);
}

#[test]
fn a_file_without_a_key_is_an_error() {
    let digits = "0".repeat(64);
    for (name, content) in
        [("short", "00ff"), ("equal", &*digits), ("sign", &*format!("+{}1", "01".repeat(31)))]
    {
        let output =
            run(&["pcap", "--anonymize", &file(name, content), "../captures/hosts/hosts-ua/hosts-ua.pcap"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && message.contains("64 hexadecimal digits"), "{name}: {message}");
    }
}
