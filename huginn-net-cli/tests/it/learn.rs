//! Output, samples and exit status of `huginn-net db learn`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::captures;

/// A database without signatures.
const NO_SIGNATURES: &str = "classes = unix\n";
/// A table without rows.
const NO_CLIENTS: [&str; 3] =
    ["ja4_stable\tapplication\n", "akamai_hash\tapplication\n", "hassh\tapplication\n"];

fn learn(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).args(["db", "learn"]).args(args).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub(crate) fn capture(name: &str) -> String {
    captures::path(name).display().to_string()
}

/// An empty folder in the scratch folder of `db learn`.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("learn").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

pub(crate) fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path.display().to_string()
}

/// Learns with databases that have no names. The run must succeed without messages.
fn learn_all(folder: &Path, args: &[&str]) -> String {
    let database = write(folder, "none.fp", NO_SIGNATURES);
    let tables: Vec<String> = NO_CLIENTS
        .iter()
        .enumerate()
        .map(|(at, columns)| write(folder, &format!("none{at}.tsv"), columns))
        .collect();
    let clients: Vec<&str> = tables.iter().flat_map(|table| ["--clients", table]).collect();
    let output = learn(&[args, &["--db", &database], &clients].concat());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    text(&output.stdout).to_owned()
}

/// The signatures with their sections, and the fingerprints of the rows.
fn fingerprints(output: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in output.lines().filter(|line| !line.is_empty()) {
        if line.starts_with('[') {
            section = line;
        } else if let Some(signature) = line.strip_prefix("sig   = ") {
            found.push(format!("{section} {signature}"));
        } else if !line.starts_with([';', '#']) && line.contains('\t') && line.contains("<APPLICATION>") {
            found.push(line.split('\t').next().unwrap().to_owned());
        }
    }
    found
}

/// A classic pcap file of raw IP packets.
fn raw_ip_pcap(packets: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 1 << 18, 101] {
        file.extend(word.to_le_bytes());
    }
    for (second, packet) in (1_700_000_000_u32..).zip(packets) {
        let len = u32::try_from(packet.len()).unwrap();
        for word in [second, 0, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// A TCP segment without options from the host `192.168.7.host` to `192.168.7.1`, port 80.
fn segment(host: u8, seq: u32, flags: u8, window: u16, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(40 + payload.len()).unwrap();
    let mut packet = vec![0x45, 0];
    packet.extend(len.to_be_bytes());
    packet.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 192, 168, 7, host, 192, 168, 7, 1]);
    packet.extend(40_000_u16.to_be_bytes());
    packet.extend(80_u16.to_be_bytes());
    packet.extend(seq.to_be_bytes());
    packet.extend([0, 0, 0, 0, 0x50, flags]);
    packet.extend(window.to_be_bytes());
    packet.extend([0, 0, 0, 0]);
    packet.extend(payload);
    packet
}

/// A connection with one request.
fn request(host: u8, head: &str) -> [Vec<u8>; 2] {
    [segment(host, 9, 2, 1000, b""), segment(host, 10, 0x18, 1000, head.as_bytes())]
}

#[test]
fn pasted_signatures_name_their_groups() {
    let folder = folder("signatures");
    let files = ["curl-nginx.pcap", "curl-nginx-ipv6.pcap", "odd-syns.pcap", "masscan.pcap"].map(capture);
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let printed = learn_all(&folder, &files);
    for section in ["[tcp:request]", "[tcp:response]", "[http:request]", "[http:response]"] {
        assert!(printed.contains(section), "{section}\n{printed}");
    }
    let unfinished = write(&folder, "unfinished.fp", format!("{NO_SIGNATURES}{printed}"));
    let refused = learn(&[&files[..1], &["--db", &unfinished]].concat());
    assert_eq!(refused.status.code(), Some(2), "a class that is not filled in");

    let filled = printed.replace("<CLASS>", "unix").replace("<NAME>", "New").replace("<SYSTEMS>", "@unix");
    let mut section = "";
    let mut label = String::new();
    for line in filled.lines() {
        if line.starts_with('[') {
            section = line;
        } else if line.starts_with("label") || line.starts_with("sys") {
            label = format!("{label}{line}\n");
        } else if let Some(signature) = line.strip_prefix("sig   = ") {
            let pasted = format!("{NO_SIGNATURES}{section}\n{}{line}\n", std::mem::take(&mut label));
            let database = write(&folder, "pasted.fp", pasted);
            let after = learn(&[files.as_slice(), &["--db", &database]].concat());
            assert_eq!((after.status.code(), text(&after.stderr)), (Some(0), ""), "{line}");
            let group = format!("{section} {signature}");
            let before = fingerprints(&printed);
            let after = fingerprints(text(&after.stdout));
            assert!(before.contains(&group) && !after.contains(&group), "{group}");
            assert!(after.len() < before.len() && !after.is_empty(), "{group}");
        }
    }
}

#[test]
fn pasted_row_names_its_group() {
    let folder = folder("rows");
    let names = ["tls-go.pcap", "quic-go.pcap", "h2c.pcap", "ssh-openssh.pcap"];
    let mut kinds = BTreeSet::new();
    for name in names {
        let file = capture(name);
        let before = learn_all(&folder, &[&file]);
        let lines: Vec<&str> = before.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("\t<APPLICATION>")) {
            let columns = lines[..at].iter().rfind(|line| line.contains("\tapplication\t")).unwrap();
            let (key, _) = line.split_once('\t').unwrap();
            kinds.insert(columns.split('\t').next().unwrap().to_owned());
            assert_eq!(columns.split('\t').count(), line.split('\t').count());
            let row = line.replace("<APPLICATION>", "New").replace("<LIBRARY>", "New library");
            let table = write(&folder, "row.tsv", format!("{columns}\n{row}\n"));
            let after = learn(&[&file, "--clients", &table]);
            assert!(!text(&after.stdout).contains(key), "{name}: {key}\n{}", text(&after.stdout));
            let mut explain = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
            let explained = explain.args(["explain", key, "--clients", &table]).output().unwrap();
            assert!(text(&explained.stdout).contains("candidates    New\n"), "{}", text(&explained.stdout));
        }
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["akamai_hash", "hassh", "ja4_stable"]);
}

#[test]
fn comments_count_hosts_and_name_layers() {
    let folder = folder("comments");
    let head = |agent: &str| format!("GET / HTTP/1.1\r\nHost: a\r\nX-Odd: 1\r\nUser-Agent: {agent}\r\n\r\n");
    let packets = [
        request(2, &head("odd/1")),
        request(3, &head("odd/2")),
        request(4, &head("odd/2")),
        request(5, "GET / HTTP/1.1\r\nHost: a\r\nX-Other: 1\r\nUser-Agent: other\x1b[2J\r\n\r\n"),
    ];
    let file = write(&folder, "requests.pcap", raw_ip_pcap(packets.into_iter().flatten()));
    let printed = learn_all(&folder, &[&file]);
    let (tcp, http) = printed.split_once("[http:request]").unwrap();
    assert!(tcp.contains("; 4 SYNs of 4 hosts\n"), "{tcp}");
    assert!(tcp.contains("User-Agent: odd/2 (2), odd/1 (1), other\\x1b[2J (1)\n"), "{tcp}");
    assert!(tcp.contains("sig   = 4:64:0:*:1000,0::df,id+:0\n"), "{tcp}");
    let (often, rare) =
        (http.find("; 3 requests of 3 hosts").unwrap(), http.find("; 1 request of 1 host").unwrap());
    assert!(often < rare, "most frequent first");
    let signature = "sig   = 1:Host,X-Odd,User-Agent:Connection,Accept,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:odd/\n";
    assert!(http.contains(signature), "{http}");
}

#[test]
fn samples_repeat_fingerprint_with_other_addresses() {
    let names = [
        "curl-nginx.pcap",
        "curl-nginx-ipv6.pcap",
        "http-chromium.pcap",
        "h2c.pcap",
        "tls-go.pcap",
        "quic-chromium.pcap",
        "dtls-fragments.pcap",
        "ssh-small-segments.pcap",
        "starttls-smtp.pcap",
        "fragments-syn-ipv6.pcap",
        "made-ip-options.pcap",
        "made-ipv6-extensions.pcap",
        "made-nested.pcap",
        "made-gtpu.pcap",
        "reused-ports.pcap",
    ];
    let mut samples = 0;
    for name in names {
        let folder = folder("samples");
        let target = folder.join("target").display().to_string();
        let printed = learn_all(&folder, &[&capture(name), "--sample", &target]);
        let mut sample = None;
        for line in printed.lines() {
            if let Some((_, file)) = line.split_once("Sample: ") {
                sample = Some(format!("{target}/{file}"));
            } else if let Some(wanted) = fingerprints(&format!("{line}\n")).pop() {
                let sample = sample.take().unwrap_or_else(|| panic!("{name}: no sample of {wanted}"));
                let found = fingerprints(&learn_all(&folder, &[&sample]));
                // A signature may state more than that of the group, which has what all its heads share.
                let start = wanted.split("=[").next().unwrap();
                assert!(found.iter().any(|found| found.contains(start)), "{name}: {wanted} in {found:?}");
                check_addresses(&sample);
                samples += 1;
            }
        }
    }
    assert!(samples > 40, "{samples}");
}

/// Checks that all events of a sample have documentation addresses, and all packets correct checksums.
fn check_addresses(sample: &str) {
    let args = ["pcap", "--checksums", "--stats", "--format", "json", sample];
    let output = Command::new(env!("CARGO_BIN_EXE_huginn-net")).args(args).output().unwrap();
    for line in text(&output.stdout).lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        for (side, last) in [("client", '1'), ("server", '2')] {
            let ip = event[side]["ip"].as_str().unwrap();
            assert!(
                [format!("192.0.2.{last}"), format!("2001:db8::{last}")].contains(&ip.to_owned()),
                "{ip}"
            );
        }
    }
    let stats = text(&output.stderr);
    for counter in [r#""bad_ip_checksum":0,"#, r#""bad_transport_checksum":0,"#] {
        assert!(stats.contains(counter), "{counter} in {stats}");
    }
    let bytes = fs::read(sample).unwrap();
    // The first frame follows the headers of the file and of its record.
    for mac in [&bytes[40..46], &bytes[46..52]] {
        assert!(matches!(mac, [2, 0, 0, 0, 0, 1 | 2]), "{mac:?}");
    }
}

#[test]
fn directories_are_read_recursively_and_bad_files_reported() {
    let folder = folder("directory");
    let inner = folder.join("inner");
    fs::create_dir_all(&inner).unwrap();
    fs::copy(captures::path("ssh-dropbear.pcap"), inner.join("a.pcap")).unwrap();
    fs::copy(captures::path("curl-nginx.pcap.gz"), folder.join("z.PCAP.gz")).unwrap();
    write(&folder, "b.cap", "not a capture");
    write(&folder, "notes.txt", "no capture either");
    let database = write(&folder, "none.fp", NO_SIGNATURES);
    let missing = folder.join("missing.pcap").display().to_string();
    let output = learn(&[&missing, &folder.display().to_string(), "--db", &database]);
    assert_eq!(output.status.code(), Some(1));
    let messages: Vec<&str> = text(&output.stderr).lines().collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(messages[0].contains("missing.pcap"), "{messages:?}");
    assert!(messages[1].contains("b.cap"), "{messages:?}");
    assert!(messages[2].contains("skipped 2 files"), "{messages:?}");
    let printed = text(&output.stdout);
    assert!(
        printed.contains("SSH banner: SSH-2.0-dropbear") && printed.contains("[http:response]"),
        "{printed}"
    );

    let empty = folder.join("empty");
    fs::create_dir_all(&empty).unwrap();
    let output = learn(&[&empty.display().to_string()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("empty: no capture files"), "{}", text(&output.stderr));
}

#[test]
fn filters_and_protocols_limit_groups() {
    let folder = folder("filters");
    let file = capture("curl-nginx.pcap");
    assert!(!learn_all(&folder, &[&file, "--protocols", "http"]).contains("[tcp:"));
    assert_eq!(learn_all(&folder, &[&file, "--port", "1"]), "; every fingerprint has a name\n");
    assert_eq!(learn_all(&folder, &[&file, "--net", "198.51.100.0/24"]), "; every fingerprint has a name\n");
}

#[test]
fn limit_of_groups_is_reported() {
    let folder = folder("limit");
    let packets = (1..=5000).map(|window| segment(2, u32::from(window), 2, window, b""));
    // Each SYN has its own port, or it would repeat the first.
    let packets = packets.enumerate().map(|(index, mut packet)| {
        packet[20..22].copy_from_slice(&u16::try_from(index + 1024).unwrap().to_be_bytes());
        packet
    });
    let head = "GET / HTTP/1.1\r\nHost: a\r\nX-Odd: 1\r\n\r\n";
    let file = write(&folder, "flood.pcap", raw_ip_pcap(packets.chain(request(3, head))));
    let database = write(&folder, "none.fp", NO_SIGNATURES);
    let output = learn(&[&file, "--db", &database]);
    assert_eq!(output.status.code(), Some(0));
    let found = fingerprints(text(&output.stdout));
    assert_eq!(found.len(), 1025);
    assert!(found[1024].starts_with("[http:request] 1:Host,X-Odd:"), "another kind: {}", found[1024]);
    let message = "huginn-net: the limit of 1024 groups of a kind was reached: 3976 observations left out\n";
    assert_eq!(text(&output.stderr), message);
}

#[test]
fn long_flow_gives_no_sample() {
    let folder = folder("long-flow");
    let mut packets = vec![segment(2, 9, 2, 1000, b"")];
    let head = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", "a".repeat(1500));
    let bytes = head.as_bytes();
    packets.extend(bytes.iter().zip(10..).map(|(byte, seq)| segment(2, seq, 0x18, 1000, &[*byte])));
    let file = write(&folder, "slow.pcap", raw_ip_pcap(packets));
    let (target, database) = (folder.join("target"), write(&folder, "none.fp", NO_SIGNATURES));
    let output = learn(&[&file, "--db", &database, "--sample", &target.display().to_string()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("sig   = 1:Host:"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("groups without a sample: 1;"), "{}", text(&output.stderr));
    let names: Vec<_> = fs::read_dir(target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["tcp-syn-001.pcap"]);
}

#[test]
fn samples_never_replace_inputs() {
    let folder = folder("inputs");
    let file = write(&folder, "tcp-syn-001.pcap", fs::read(captures::path("curl-nginx.pcap")).unwrap());
    let before = fs::read(&file).unwrap();
    let output = learn(&[&file, "--sample", &folder.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("same"), "{}", text(&output.stderr));
    assert_eq!(fs::read(&file).unwrap(), before);

    let output = learn(&["-", "--sample", &folder.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("regular file"), "{}", text(&output.stderr));
}

#[test]
fn damaged_captures_never_panic() {
    let folder = folder("damaged");
    let target = folder.join("target").display().to_string();
    let database = write(&folder, "none.fp", NO_SIGNATURES);
    let mut state = 1_u64;
    for name in
        ["http-chromium.pcap", "tls-go.pcap", "ssh-openssh.pcap", "made-ipv6-extensions.pcap", "h2c.pcap"]
    {
        let clean = fs::read(captures::path(name)).unwrap();
        for _ in 0..8 {
            let mut bytes = clean.clone();
            for _ in 0..bytes.len() / 100 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = usize::try_from(state >> 33).unwrap() % (bytes.len() - 24) + 24;
                bytes[at] = u8::try_from(state >> 24 & 0xff).unwrap();
            }
            let file = write(&folder, "damaged.pcap", bytes);
            let output = learn(&[&file, "--db", &database, "--sample", &target]);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{name}: {}", text(&output.stderr));
        }
    }
}
