//! `huginn-net extract`: the packets of connections, and the comments on them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::captures;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_huginn-net")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn capture(name: &str) -> String {
    captures::path(name).display().to_string()
}

/// An empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("extract").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Extracts to a file, without messages, and returns its path.
fn extract(to: &Path, args: &[&str]) -> String {
    let to = to.display().to_string();
    let output = run(&[&["extract", "-q", "-o", &to], args].concat());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{args:?}");
    to
}

/// The JSON events of captures by their file, without file and packet number.
fn events(paths: &[String]) -> BTreeMap<String, Vec<Value>> {
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let output = run(&[&["pcap", "-q", "--format", "json"], &paths[..]].concat());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{paths:?}");
    let mut events: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in text(&output.stdout).lines() {
        let mut event: Value = serde_json::from_str(line).unwrap();
        let fields = event.as_object_mut().unwrap();
        let file = fields.remove("file").unwrap().as_str().unwrap().to_owned();
        fields.remove("packet").unwrap();
        events.entry(file).or_default().push(event);
    }
    events
}

/// An interface of a pcapng file: link type, snap length, description, unit of timestamps.
type Interface = (u16, u32, String, u8);

/// A packet of a pcapng file.
struct Packet {
    interface: u32,
    ticks: u64,
    data: Vec<u8>,
    wire_len: u32,
    comments: Vec<String>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The options of a block with these codes.
fn options(mut bytes: &[u8], wanted: u16) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while bytes.len() > 4 {
        let (code, len) = (word(bytes, 0) as u16, (word(bytes, 0) >> 16) as usize);
        if code == wanted {
            found.push(bytes[4..4 + len].to_vec());
        }
        bytes = &bytes[4 + len.next_multiple_of(4)..];
    }
    found
}

/// Reads a little-endian pcapng file block by block.
fn read(path: &str) -> (Vec<Interface>, Vec<Packet>) {
    let file = fs::read(path).unwrap();
    let (mut interfaces, mut packets) = (Vec::new(), Vec::new());
    let mut rest = &file[..];
    while !rest.is_empty() {
        let len = word(rest, 4) as usize;
        assert_eq!(word(rest, len - 4) as usize, len, "{path}");
        let block = &rest[..len - 4];
        match word(rest, 0) {
            1 => {
                let text = |code| String::from_utf8(options(&block[16..], code)[0].clone()).unwrap();
                let unit = options(&block[16..], 9)[0][0];
                interfaces.push((word(block, 8) as u16, word(block, 12), text(3), unit));
            }
            6 => {
                let data_len = word(block, 20) as usize;
                let comments = options(&block[28 + data_len.next_multiple_of(4)..], 1);
                packets.push(Packet {
                    interface: word(block, 8),
                    ticks: u64::from(word(block, 12)) << 32 | u64::from(word(block, 16)),
                    data: block[28..28 + data_len].to_vec(),
                    wire_len: word(block, 24),
                    comments: comments.into_iter().map(|text| String::from_utf8(text).unwrap()).collect(),
                });
            }
            kind => assert_eq!(kind, 0x0a0d_0d0a, "{path}"),
        }
        rest = &rest[len..];
    }
    (interfaces, packets)
}

/// The records of a little-endian pcap file: seconds, fraction, data, length on the wire.
fn pcap_records(path: &str) -> Vec<(u32, u32, Vec<u8>, u32)> {
    let file = fs::read(path).unwrap();
    let (mut records, mut rest) = (Vec::new(), &file[24..]);
    while !rest.is_empty() {
        let len = word(rest, 8) as usize;
        records.push((word(rest, 0), word(rest, 4), rest[16..16 + len].to_vec(), word(rest, 12)));
        rest = &rest[16 + len..];
    }
    records
}

/// Numbers of the packets of a capture, from 1, that an extract has.
fn numbers(capture: &str, packets: &[Packet]) -> Vec<usize> {
    let records = pcap_records(capture);
    let number = |packet: &Packet| 1 + records.iter().position(|record| record.2 == packet.data).unwrap();
    packets.iter().map(number).collect()
}

#[test]
fn extract_has_the_events_of_its_capture() {
    let folder = folder("events");
    let names = [
        "curl-nginx-nano.pcap",
        "curl-nginx-big-endian.pcap",
        "curl-nginx-editcap.pcapng",
        "curl-nginx.pcap.gz",
        "two-interfaces.pcapng.zst",
        "mixed-links.pcapng",
        "made-nested.pcap",
        "made-wifi.pcap",
        "vxlan-kernel.pcap",
        "fragments-syn.pcap",
        "fragments-syn-ipv6.pcap",
        "reused-ports.pcap",
        "tls-clients.pcap",
        "tls-hello-retry.pcap",
        "quic-go.pcap",
        "dtls-fragments.pcap",
        "ssh-openssh.pcap",
        "http-clients.pcap",
        "hosts-nat.pcap",
    ];
    let originals: Vec<String> = names.iter().map(|name| capture(name)).collect();
    let extracts: Vec<String> = names
        .iter()
        .zip(&originals)
        .map(|(name, original)| extract(&folder.join(format!("{name}.extract")), &[original]))
        .collect();
    let (of_originals, of_extracts) = (events(&originals), events(&extracts));
    for (original, extract) in originals.iter().zip(&extracts) {
        assert!(of_originals[original] == of_extracts[extract], "{original}");
    }
    assert_eq!(of_originals.len(), names.len());
}

#[test]
fn packets_are_kept_as_they_are() {
    let folder = folder("packets");
    for (name, unit) in [("curl-nginx-nano.pcap", 9), ("curl-nginx.pcap", 6)] {
        let original = capture(name);
        let (interfaces, packets) = read(&extract(&folder.join(name), &[&original]));
        assert_eq!(interfaces, [(1, word(&fs::read(&original).unwrap(), 16), name.to_owned(), unit)]);
        let units = if unit == 9 { 1_000_000_000 } else { 1_000_000 };
        let written: Vec<_> = packets
            .into_iter()
            .map(|packet| {
                let (seconds, fraction) = (packet.ticks / units, packet.ticks % units);
                (seconds as u32, fraction as u32, packet.data, packet.wire_len)
            })
            .collect();
        assert!(written == pcap_records(&original), "{name}");
    }
}

#[test]
fn link_types_and_interfaces_are_kept() {
    let folder = folder("links");
    let original = capture("mixed-links.pcapng");
    let (interfaces, packets) = read(&extract(&folder.join("mixed.pcapng"), &[&original]));
    let links: Vec<u16> = interfaces.iter().map(|interface| interface.0).collect();
    assert!(links.len() > 1 && !packets.is_empty(), "{links:?}");
    let (again, _) =
        read(&extract(&folder.join("again.pcapng"), &[folder.join("mixed.pcapng").to_str().unwrap()]));
    assert_eq!(again.iter().map(|interface| interface.0).collect::<Vec<_>>(), links);
    let original = capture("two-interfaces.pcapng");
    let (interfaces, packets) = read(&extract(&folder.join("two.pcapng"), &[&original]));
    assert_eq!(interfaces.len(), 2);
    assert!((0..2).all(|number| packets.iter().any(|packet| packet.interface == number)));
}

#[test]
fn comments_have_the_words_of_the_line() {
    let folder = folder("comments");
    let original = capture("tls-clients.pcap");
    let condition = ["--where", "sni == 'www.example.test' and ja4 ~ 't12d*'"];
    let (_, packets) = read(&extract(&folder.join("a.pcapng"), &[&condition[..], &[&original]].concat()));
    let comments: Vec<&String> = packets.iter().flat_map(|packet| &packet.comments).collect();
    let want = "huginn-net: TLS: OpenSSL, www.example.test, t12d2807h1_d943125447b4_a44c6288192a";
    assert_eq!(comments, [want]);
    let commented = packets.iter().position(|packet| !packet.comments.is_empty()).unwrap();
    assert!(commented > 0 && packets.len() > commented + 1, "the connection around it, too");
}

#[test]
fn hostile_texts_are_escaped() {
    let folder = folder("hostile");
    let request = b"GET /\x1b[2J HTTP/1.1\r\nHost: \xe2\x80\xae\xff\r\nUser-Agent: a\r\n\r\n";
    let file = folder.join("hostile.pcap");
    fs::write(&file, http_capture(request)).unwrap();
    let (_, packets) = read(&extract(&folder.join("a.pcapng"), &[file.to_str().unwrap()]));
    let comment = &packets.last().unwrap().comments[0];
    assert_eq!(comment, r"huginn-net: HTTP: a, GET \xe2\x80\xae\xff/\x1b[2J");
}

/// A capture of raw IP with one request, from its SYN on.
fn http_capture(request: &[u8]) -> Vec<u8> {
    raw_capture(connection(1_600_000_000, ([192, 0, 2, 1], 40_000), [192, 0, 2, 2], request))
}

/// The packets of a request to port 80, from its SYN on, each with its time in seconds.
fn connection(time: u32, client: ([u8; 4], u16), server: [u8; 4], request: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let segment = |flags: u8, seq: u32, from_client: bool, payload: &[u8]| {
        let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0];
        let (ends, ports) = ([client.0, server], [client.1.to_be_bytes(), [0, 80]]);
        let (from, to) = if from_client { (0, 1) } else { (1, 0) };
        packet.extend([ends[from], ends[to]].concat());
        packet.extend([ports[from], ports[to]].concat());
        packet.extend(seq.to_be_bytes());
        packet.extend(1_u32.to_be_bytes());
        packet.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(payload);
        let len = (packet.len() as u16).to_be_bytes();
        packet[2..4].copy_from_slice(&len);
        (time, packet)
    };
    vec![
        segment(2, 0, true, b""),
        segment(0x12, 0, false, b""),
        segment(0x10, 1, true, b""),
        segment(0x18, 1, true, request),
    ]
}

fn raw_capture(packets: impl IntoIterator<Item = (u32, Vec<u8>)>) -> Vec<u8> {
    let mut file: Vec<u8> = [0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
    for (time, packet) in packets {
        let len = packet.len() as u32;
        file.extend([time, 0, len, len].map(u32::to_le_bytes).concat());
        file.extend(packet);
    }
    file
}

#[test]
fn scan_is_extracted_with_its_targets() {
    let folder = folder("scan");
    let original = capture("nmap-scan.pcap");
    let selected = ["--events", "finding", "--scan-ports", "10", &original];
    let (_, packets) = read(&extract(&folder.join("a.pcapng"), &selected));
    let written = numbers(&original, &packets);
    let named = [1, 3, 5, 7, 9, 12, 14, 16];
    assert!(named.iter().all(|number| written.contains(number)), "{written:?}");
    assert!(written.len() > 18, "the SYNs of 18 ports, and their answers: {written:?}");
    let comments: Vec<_> = packets.iter().flat_map(|packet| &packet.comments).collect();
    assert_eq!(comments.len(), 2, "the first and the last report: {comments:?}");
    // Only the connection of an event that is not a finding.
    let syn = ["--where", "event == 'tcp_syn' and packet == 3", &original];
    let (_, packets) = read(&extract(&folder.join("b.pcapng"), &syn));
    assert!(packets.len() < 5);
}

/// Extracts, and returns the exit status and the numbers of packets.
fn status_and_numbers(to: &Path, args: &[&str], original: &str) -> (Option<i32>, Vec<usize>) {
    let name = to.display().to_string();
    let status = run(&[&["extract", "-q", "-o", &name], args, &[original]].concat()).status.code();
    (status, if to.exists() { numbers(original, &read(&name).1) } else { Vec::new() })
}

#[test]
fn hits_of_lists_select_their_connections() {
    let folder = folder("lists");
    let original = capture("reused-ports.pcap");
    let list = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let text = run(&["pcap", "-q", "--format", "json", "--events", "http_request", &original]).stdout;
    let event: Value = serde_json::from_slice(text.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let client = event["client"]["ip"].as_str().unwrap();
    let port = event["client"]["port"].as_u64().unwrap();
    let hit = list("hit.csv", &format!("ip,port,label\n{client},{port},x\n"));
    let miss = list("miss.txt", "203.0.113.9\n");
    let extract = |name: &str, args: &[&str]| status_and_numbers(&folder.join(name), args, &original);
    let (status, all) = extract("all.pcapng", &[]);
    assert_eq!(status, Some(0));
    let (status, hits) = extract("hits.pcapng", &["--fingerprints", &hit]);
    assert_eq!(status, Some(3));
    assert_eq!(hits, extract("match.pcapng", &["--fingerprints", &hit, "--events", "match"]).1);
    assert!(!hits.is_empty() && hits.len() <= all.len());
    assert_eq!(extract("miss.pcapng", &["--fingerprints", &miss]), (Some(0), Vec::new()));
    // What is selected otherwise is written; the exit status still reports the hit.
    assert_eq!(
        extract("from.pcapng", &["--fingerprints", &hit, "--from", "2000-01-01"]),
        (Some(3), all.clone())
    );
    assert_eq!(extract("http.pcapng", &["--fingerprints", &hit, "--events", "http_request"]).0, Some(3));
    // A damaged capture does not hide the hit.
    let cut = folder.join("cut.pcap");
    let bytes = fs::read(&original).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 7]).unwrap();
    let of_cut = |list: &str| {
        let name = folder.join("of-cut.pcapng").display().to_string();
        run(&["extract", "-q", "-o", &name, "--fingerprints", list, cut.to_str().unwrap()]).status.code()
    };
    assert_eq!((of_cut(&hit), of_cut(&miss)), (Some(3), Some(1)));
    let (status, annotated) = extract("annotated.pcapng", &["--fingerprints", &hit, "--annotate"]);
    assert!(status == Some(3) && annotated.len() >= all.len());
}

#[test]
fn condition_enables_the_events_that_it_names() {
    let folder = folder("enabled");
    let original = capture("nmap-scan.pcap");
    let extract = |name: &str, args: &[&str]| status_and_numbers(&folder.join(name), args, &original);
    let scan = extract("a.pcapng", &["--scan-ports", "10", "--where", "finding == 'scan'"]);
    assert_eq!(scan, extract("b.pcapng", &["--scan-ports", "10", "--events", "finding"]));
    assert!(scan.1.len() > 18);
    assert!(!extract("c.pcapng", &["--where", "event == 'connection'"]).1.is_empty());
    assert!(!extract("d.pcapng", &["--events", "connection"]).1.is_empty());
}

#[test]
fn beacon_is_extracted_with_its_contacts() {
    let folder = folder("beacon");
    let request = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes();
    let (client, other) = ([10, 0, 0, 5], [10, 0, 0, 6]);
    let mut packets = Vec::new();
    for number in 0..6_u16 {
        let (time, port) = (1_700_000_000 + 60 * u32::from(number), 40_000 + number);
        // The name has two addresses.
        let server = [198, 51, 100, (number % 2) as u8];
        packets.extend(connection(time, (client, port), server, &request("c2.example")));
        packets.extend(connection(
            time + 7 * u32::from(number),
            (other, port),
            server,
            &request("c2.example"),
        ));
        let page = [203, 0, 113, number as u8];
        packets.extend(connection(time, (client, port + 100), page, &request(&format!("{number}.example"))));
    }
    let file = folder.join("beacon.pcap");
    fs::write(&file, raw_capture(packets)).unwrap();
    let file = file.to_str().unwrap();
    let selected = ["--events", "finding", "--beacon-count", "4", "--where", "client.ip == '10.0.0.5'", file];
    let (_, packets) = read(&extract(&folder.join("a.pcapng"), &selected));
    // Twelve packets in each of six rounds; the first four are those of the client.
    let want: Vec<usize> = (0..6).flat_map(|round| 12 * round + 1..=12 * round + 4).collect();
    assert_eq!(numbers(file, &packets), want);
    let handshakes = [&["--handshakes"], &selected[..]].concat();
    let (_, packets) = read(&extract(&folder.join("b.pcapng"), &handshakes));
    assert_eq!(numbers(file, &packets), want[..16], "up to the fourth contact");
}

#[test]
fn other_connection_of_the_same_addresses_is_left_out() {
    let folder = folder("reused");
    let original = capture("reused-ports.pcap");
    let second = ["--where", "event == 'http_request' and packet == 12", &original];
    let (_, packets) = read(&extract(&folder.join("a.pcapng"), &second));
    assert_eq!(numbers(&original, &packets), (9..=15).collect::<Vec<_>>());
    let handshake = [&["--handshakes"], &second[..]].concat();
    let (_, packets) = read(&extract(&folder.join("b.pcapng"), &handshake));
    assert_eq!(numbers(&original, &packets), (9..=12).collect::<Vec<_>>());
    let last = ["--events", "http_response", "--handshakes", "--from", "2000-01-01", &original];
    let (_, packets) = read(&extract(&folder.join("c.pcapng"), &last));
    let want: Vec<usize> = (1..=6).chain(9..=14).chain(16..=21).collect();
    assert_eq!(numbers(&original, &packets), want);
}

#[test]
fn fragments_of_a_connection_are_written() {
    let folder = folder("fragments");
    for name in ["fragments-syn.pcap", "fragments-syn-ipv6.pcap"] {
        let original = capture(name);
        let selected = ["--events", "tcp_syn", "--handshakes", &original];
        let (_, packets) = read(&extract(&folder.join(name), &selected));
        let commented: Vec<bool> = packets.iter().map(|packet| !packet.comments.is_empty()).collect();
        // The fragments before the one that completes the SYN.
        assert!(!commented[0] && commented.contains(&true), "{name}: {commented:?}");
    }
}

#[test]
fn annotated_capture_has_all_packets() {
    let folder = folder("annotate");
    let original = capture("tls-clients.pcap");
    let selected = ["--annotate", "--events", "tls_client", &original];
    let (_, packets) = read(&extract(&folder.join("a.pcapng"), &selected));
    assert_eq!(packets.len(), pcap_records(&original).len());
    let comments = packets.iter().flat_map(|packet| &packet.comments);
    assert!(comments.clone().all(|comment| comment.starts_with("huginn-net: TLS: ")));
    assert_eq!(comments.count(), 5);
}

#[test]
fn captures_are_joined_in_their_order() {
    let folder = folder("joined");
    let (first, second) = (capture("tls-clients.pcap"), capture("curl-nginx-nano.pcap"));
    let output = folder.join("a.pcapng");
    let (interfaces, packets) = read(&extract(&output, &["--annotate", &first, &second]));
    let files: Vec<(&str, u8)> = interfaces.iter().map(|(.., file, unit)| (file.as_str(), *unit)).collect();
    assert_eq!(files, [("tls-clients.pcap", 6), ("curl-nginx-nano.pcap", 9)]);
    let data: Vec<_> = packets.into_iter().map(|packet| packet.data).collect();
    let want: Vec<_> = [first, second].iter().flat_map(|path| pcap_records(path)).map(|it| it.2).collect();
    assert!(data == want);
}

#[test]
fn only_analysed_packets_are_read() {
    let folder = folder("count");
    let original = capture("tls-clients.pcap");
    let (_, packets) = read(&extract(&folder.join("a.pcapng"), &["--annotate", "-c", "7", &original]));
    assert_eq!(numbers(&original, &packets), (1..=7).collect::<Vec<_>>());
}

#[test]
fn damaged_capture_is_extracted_up_to_the_damage() {
    let folder = folder("damaged");
    let whole = fs::read(capture("curl-nginx.pcap")).unwrap();
    let cut = folder.join("cut.pcap");
    fs::write(&cut, &whole[..whole.len() - 1]).unwrap();
    let to = folder.join("a.pcapng").display().to_string();
    let output = run(&["extract", "-q", "--annotate", "-o", &to, cut.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("record is cut"), "{}", text(&output.stderr));
    assert_eq!(read(&to).1.len() + 1, pcap_records(&capture("curl-nginx.pcap")).len());
}

#[test]
fn totals_say_what_was_written() {
    let to = folder("totals").join("a.pcapng").display().to_string();
    let output = run(&["extract", "-o", &to, "--events", "http_request", &capture("reused-ports.pcap")]);
    let want = format!("huginn-net: {to}: 25 of 25 packets of 3 connections, 3 with comments on 3 events\n");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), &*want));
}

#[test]
fn file_is_not_written_without_a_packet() {
    let folder = folder("nothing");
    let (to, original) = (folder.join("a.pcapng"), capture("tls-clients.pcap"));
    let name = to.to_str().unwrap();
    let nothing = ["extract", "-o", name, "--where", "sni == 'none'", &original];
    let missing = folder.join("missing.pcap").display().to_string();
    let unread = ["extract", "-q", "-o", name, &missing];
    for content in [None, Some(&b"kept"[..])] {
        if let Some(content) = content {
            fs::write(&to, content).unwrap();
        }
        let output = run(&nothing);
        let packets = pcap_records(&original).len();
        let want = format!("huginn-net: {name}: not written, none of {packets} packets is selected\n");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), &*want));
        assert_eq!(run(&unread).status.code(), Some(1));
        assert_eq!(fs::read(&to).ok().as_deref(), content);
    }
}

#[test]
fn name_of_another_format_is_reported() {
    let folder = folder("name");
    for (name, is_reported) in [("a.pcap", true), ("a.pcapng.gz", true), ("a.pcapng", false), ("a", false)] {
        let to = folder.join(name).display().to_string();
        let output = run(&["extract", "-o", &to, &capture("curl-nginx.pcap")]);
        let message = format!("huginn-net: {to}: will be uncompressed pcapng, whatever its name\n");
        assert_eq!(text(&output.stderr).contains(&message), is_reported, "{name}");
        assert!(!read(&to).1.is_empty());
    }
}

#[test]
fn output_in_a_missing_folder_is_refused() {
    let to = folder("no-folder").join("none").join("a.pcapng").display().to_string();
    let output = run(&["extract", "-o", &to, &capture("tls-clients.pcap")]);
    let message = text(&output.stderr);
    assert!(output.status.code() != Some(0) && message.contains(&to), "{message}");
}

#[test]
fn standard_output_gets_the_file() {
    let original = capture("reused-ports.pcap");
    let to = extract(&folder("stdout").join("a.pcapng"), &[&original]);
    let output = run(&["extract", "-q", "-o", "-", &original]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == fs::read(to).unwrap());
}

#[test]
fn input_that_cannot_be_read_twice_is_refused() {
    let to = folder("pipe").join("a.pcapng");
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.args(["extract", "-o", to.to_str().unwrap(), "-"]).stdin(Stdio::null());
    let output = command.output().unwrap();
    let want = "huginn-net: -: extract reads captures twice, and needs a regular file: save it first\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), want));
    assert!(!to.exists());
}

#[test]
fn output_over_an_input_is_refused() {
    let folder = folder("over");
    let (input, link) = (folder.join("a.pcap"), folder.join("b.pcap"));
    fs::copy(captures::path("reused-ports.pcap"), &input).unwrap();
    fs::hard_link(&input, &link).unwrap();
    let before = fs::read(&input).unwrap();
    for output in [&input, &link] {
        let refused = run(&["extract", "-o", output.to_str().unwrap(), input.to_str().unwrap()]);
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(message.contains("input and output are the same file"), "{message}");
    }
    assert!(fs::read(&input).unwrap() == before);
}
