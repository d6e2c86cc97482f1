//! Exact output of `huginn-net pcap`. p0f 3.09b printed the labels and signatures; the reference implementation (the
//! Python package `communityid` 1.5) computed the Community IDs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use huginn_net::record::EventRecord;
use serde_json::{Value, json};

use crate::captures;

fn capture(name: &str) -> String {
    captures::path(name).display().to_string()
}

fn scratch(name: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("output");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name).display().to_string()
}

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.arg("pcap").args(args).env_remove("CLICOLOR_FORCE");
    command
}

fn run(args: &[&str]) -> Output {
    program(args).output().unwrap()
}

fn stdout(args: &[&str]) -> String {
    String::from_utf8(run(args).stdout).unwrap()
}

#[test]
fn json_of_tunnel_tool_unknown_and_ipv6() {
    let tunnel = stdout(&["--format", "json", "-c", "1", &capture("made-nested.pcap")]);
    assert_eq!(
        tunnel.trim_end(),
        r#"{"v":1,"ts":"2026-11-21T05:22:25.218187000Z","event":"tcp_syn","subject":"client","packet":1,"transport":"tcp","client":{"ip":"192.0.2.1","port":50000},"server":{"ip":"192.0.2.2","port":80},"tunnel":["vlan:100","vlan:12","vxlan:42"],"community_id":"1:5iReh5vU04+ltQ+09vSHoDgPWW4=","sig":"4:64+0:0:1460:mss*44,10:mss,sok,ts,nop,ws:df,id+:0","label":{"class":"unix","name":"Linux","flavor":"4.20 or newer","generic":false},"fuzzy":false,"distance":0,"params":"none","mtu":1500,"link":"Ethernet"}"#
    );
    assert_eq!(
        stdout(&["--format", "json", "-c", "1", "--events", "tcp_syn", &capture("nmap-syn.pcap")]).trim_end(),
        r#"{"v":1,"ts":"2026-11-21T05:22:51.054965Z","event":"tcp_syn","subject":"client","packet":1,"transport":"tcp","client":{"ip":"192.0.2.1","port":47767},"server":{"ip":"192.0.2.2","port":443},"community_id":"1:bBFNXCvh9/MYH1s++GkDjki4G5M=","sig":"4:54+10:0:1460:1024,0:mss::0","label":{"class":"!","name":"Nmap","flavor":"SYN scan","generic":false},"fuzzy":false,"distance":10,"params":"random_ttl","mtu":null,"link":null}"#
    );
    let odd = stdout(&["--format", "json", &capture("odd-syns.pcap")]);
    assert!(odd.contains(
        r#""sig":"4:64+0:0:1460:65535,7:mss,sok,ts,nop,ws:df,id+,0+:0","label":null,"fuzzy":false,"#
    ));
    assert!(odd.contains(r#""link":null}"#));
    let v6 = stdout(&["--format", "json", "-c", "1", &capture("curl-nginx-ipv6.pcap")]);
    assert!(v6.contains(r#""client":{"ip":"2001:db8::1","port":58688}"#), "{v6}");
    assert!(v6.contains(r#""community_id":"1:Tjs0fU827NEweInoT8ShpV55klE=""#), "{v6}");
}

/// The text before the totals.
fn events_of(text: &str) -> &str {
    text.split_once("\ntotal ").unwrap().0
}

#[test]
fn human_format_is_one_line_per_event() {
    assert_eq!(
        stdout(&["-c", "2", &capture("nmap-syn.pcap")]),
        "\
05:22:51.054965  192.0.2.1:47767       > 192.0.2.2:443          SYN       Nmap SYN scan, at most 10 hops
05:22:51.054990  192.0.2.1:47767       < 192.0.2.2:443          SYN+ACK   Linux 4.20 or newer, 0 hops, Ethernet 1500
05:22:51.054965  192.0.2.1:47767       > 192.0.2.2:443          alert     low tool: resembles Nmap SYN scan: 1 SYN to 1 port of 1 host; the address may be forged

total       2 packets, 1 flow, 2 hosts, 3 events
time        2026-11-21 05:22:51 UTC
tools       192.0.2.1: resembles Nmap SYN scan: 1 SYN to 1 port of 1 host
systems     Linux (1)
"
    );
    let imitation = stdout(&["-c", "4", &capture("http-imitation.pcap")]);
    let mismatch = "\
11:20:23.259943  192.0.2.1:51000       > 192.0.2.2:80           HTTP      Python urllib (dishonest) \"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)...\" (claims Windows), GET www.example.test/
11:20:23.259943  192.0.2.1:51000       > 192.0.2.2:80           mismatch  imitation: User-Agent says Chromium 131 on Windows; the headers are those of Python urllib; TCP says Linux
";
    assert!(imitation.contains(mismatch), "{imitation}");
    let totals = "\nsoftware    Python urllib (dishonest) (1)\nmismatches  192.0.2.1: imitation: User-Agent says Chromium 131 on \
                  Windows; the headers are those of Python urllib; TCP says Linux\n";
    assert!(imitation.ends_with(totals), "{imitation}");
    let quiet = stdout(&["-q", "-c", "2", &capture("nmap-syn.pcap")]);
    assert_eq!(quiet.lines().count(), 3, "{quiet}");
}

#[test]
fn change_names_both_systems() {
    let (events, capture) = ("host_change,ip_sharing", capture("hosts-nat.pcap"));
    let lines = stdout(&["--events", events, &capture]);
    let texts: Vec<&str> =
        lines.lines().filter_map(|line| Some(line.split_once("  192.0.2.1:")?.1)).collect();
    assert_eq!(
        texts,
        [
            "38900       > 192.0.2.2:80           change    Windows now, Linux before",
            "40708       > 192.0.2.2:80           sharing   Windows and Linux share the address",
        ]
    );
    let block = stdout(&["-v", "--events", events, &capture]);
    assert!(block.contains("\n  client     192.0.2.1\n  systems    Windows now, Linux before\n"), "{block}");
}

#[test]
fn lines_have_a_heading_for_each_file_with_events() {
    let text = stdout(&[&capture("nmap-syn.pcap"), &capture("hosts-plain.pcap")]);
    let headings: Vec<_> = text.lines().filter(|line| line.starts_with("==> ")).collect();
    let [first, second] = headings[..] else { panic!("{text}") };
    assert!(first.ends_with("nmap-syn.pcap <==") && second.ends_with("hosts-plain.pcap <=="), "{text}");
    assert_eq!(text.matches("\ntotal ").count(), 1, "{text}");
}

#[test]
fn color_option_decides() {
    let colours =
        |when: &str| stdout(&["--color", when, "-c", "2", &capture("nmap-syn.pcap")]).contains("\x1b[");
    assert!(colours("always"));
    assert!(!colours("never"));
    assert!(!colours("auto"));
}

#[test]
fn capture_without_events_says_why() {
    let text = stdout(&["--protocols", "http", &capture("nmap-syn.pcap")]);
    let reason = "\nno events   no SYN, TLS hello, HTTP head or SSH identification in ";
    assert!(text.starts_with("total ") && text.contains(reason), "{text}");
}

#[test]
fn block_of_change_names_both_systems() {
    let all = stdout(&["-v", "-c", "11", "--events", "host_change", &capture("hosts-nat.pcap")]);
    let (_, change) = all.split_once("Host change").unwrap();
    assert!(change.contains("\n  client     192.0.2.1\n  systems    Windows now, Linux before\n"), "{all}");
}

#[test]
fn human_format_has_blocks() {
    assert_eq!(
        events_of(&stdout(&["-v", "-c", "2", &capture("nmap-syn.pcap")])),
        "\
SYN  192.0.2.1:47767 -> 192.0.2.2:443  2026-11-21T05:22:51.054965Z
  client     192.0.2.1
  tool       Nmap SYN scan
  distance   at most 10 hops
  remarks    random_ttl
  signature  4:54+10:0:1460:1024,0:mss::0

SYN+ACK  192.0.2.1:47767 <- 192.0.2.2:443  2026-11-21T05:22:51.054990Z
  server     192.0.2.2
  system     Linux 4.20 or newer
  distance   0 hops
  link       Ethernet
  mtu        1500 bytes
  signature  4:64+0:0:1460:mss*44,0:mss:df:0

Tool  192.0.2.1:47767 -> 192.0.2.2:443  2026-11-21T05:22:51.054965Z
  client     192.0.2.1
  severity   low tool
  resembles  Nmap SYN scan
  sent       1 SYN to 1 port of 1 host
"
    );
    let nested = stdout(&["-v", "-c", "1", &capture("made-nested.pcap")]);
    assert!(nested.contains("\n  tunnel     vlan:100, vlan:12, vxlan:42\n"), "{nested}");
    assert!(stdout(&["-v", &capture("odd-syns.pcap")]).contains("\n  system     unknown\n"));
}

#[test]
fn reports_answers_to_tools_except_in_p0f_format() {
    let path = capture("nmap-syn.pcap");
    assert!(stdout(&["--format", "json", &path]).contains(r#""event":"tcp_syn_ack""#));
    let p0f = stdout(&["--format", "p0f", &path]);
    assert!(p0f.contains("|app=Nmap SYN scan|") && !p0f.contains("mod=syn+ack|"), "{p0f}");
}

#[test]
fn flow_state_does_not_outlive_a_file() {
    // Keep the file header and the first two records: SYN and SYN+ACK.
    let complete = fs::read(capture("curl-nginx.pcap")).unwrap();
    let record = |at: usize| 16 + u32::from_le_bytes(complete[at + 8..at + 12].try_into().unwrap()) as usize;
    let end = 24 + record(24);
    let end = end + record(end);
    let path = scratch("handshake.pcap");
    fs::write(&path, &complete[..end]).unwrap();
    let count = |files: &[&str]| stdout(&[&["--format", "json"], files].concat()).lines().count();
    assert_eq!((count(&[&path]), count(&[&path, &path])), (2, 4));
    assert_eq!(
        stdout(&["--format", "json", "-c", "3", &path, &path]).lines().count(),
        3,
        "-c counts the packets of all files"
    );
}

#[test]
fn options_select_output() {
    let path = capture("curl-nginx.pcap");
    assert!(!stdout(&["--net", "192.0.2.1", &path]).is_empty());
    let counters = |args: &[&str]| -> Value {
        serde_json::from_slice(&run(&[&["--stats", "-o", "/dev/null"], args].concat()).stderr).unwrap()
    };
    // Checksum offload left these checksums to a virtual network card, which does not compute them.
    assert!(counters(&["--checksums", &path])["decode"]["bad_transport_checksum"].as_u64().unwrap() > 0);
    assert_eq!(counters(&[&path])["decode"]["bad_transport_checksum"], 0);
    let verbose = run(&["-v", &path]);
    assert!(String::from_utf8(verbose.stderr).unwrap().ends_with("curl-nginx.pcap: 32 packets, 14 events\n"));
    assert_eq!(run(&["-c", "0", &path]).status.code(), Some(2));
}

#[test]
fn events_never_overwrite_their_capture() {
    let path = scratch("same.pcap");
    fs::copy(capture("curl-nginx.pcap"), &path).unwrap();
    let output = run(&["-o", &path, &path]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read(&path).unwrap(), fs::read(capture("curl-nginx.pcap")).unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn full_standard_error_fails_with_counters_alone() {
    let path = capture("curl-nginx.pcap");
    for (args, status) in [
        (vec!["/nonexistent"], 1),
        (vec!["-o", "/dev/null", &path], 0),
        (vec!["--stats", "-o", "/dev/null", &path], 1),
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        assert_eq!(program(&args).stderr(Stdio::from(full)).status().unwrap().code(), Some(status));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_standard_output_is_an_error() {
    let path = capture("curl-nginx.pcap");
    for args in [
        vec!["--help"],
        vec!["-h"],
        vec![path.as_str()],
        vec!["--format", "json", &path],
        vec!["--format", "csv", "--fields", "ts", &path],
        vec!["--format", "p0f", &path],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = program(&args).stdout(Stdio::from(full)).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), message.contains("No space left")),
            (Some(1), true),
            "{args:?}: {message}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn version_on_full_standard_output_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    let output = program.arg("--version").stdout(Stdio::from(full)).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left"));
}

/// A limit of the shell for the length of files: SIGXFSZ by default ends the program without a word.
#[cfg(unix)]
#[test]
fn file_over_the_limit_of_the_shell_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path().join("events.json");
    let program = env!("CARGO_BIN_EXE_huginn-net");
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 1 && exec \"$0\" pcap --format json -o \"$1\" \"$2\"", program])
        .args([events.to_str().unwrap(), &capture("curl-nginx.pcap")])
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), message.contains("File too large")), (Some(1), true), "{message}");
}

/// A file without an end is read up to a limit, and what an error quotes of it is short and printable.
#[cfg(unix)]
#[test]
fn endless_file_is_an_error_with_a_limit() {
    let path = capture("curl-nginx.pcap");
    for args in [
        vec!["--clients", "/dev/zero", &path],
        vec!["--db", "/dev/zero", &path],
        vec!["--fingerprints", "/dev/zero", &path],
        vec!["@/dev/zero"],
    ] {
        let output = run(&args);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
        assert!(message.len() < 200 && message.contains("larger than "), "{args:?}: {message}");
    }
}

#[test]
fn error_quotes_a_long_line_in_part() {
    let (path, file) = (capture("curl-nginx.pcap"), scratch("long-line"));
    fs::write(&file, format!("\x1b[31m{}", "x".repeat(1 << 20))).unwrap();
    for option in ["--db", "--clients", "--fingerprints"] {
        let output = run(&[option, &file, &path]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{option}: {message}");
        assert!(message.len() < 400 && !message.contains('\x1b'), "{option}: {message}");
    }
    let output = run(&[&format!("@{file}")]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("line 1 is longer than 4096 bytes"), "{message}");
}

#[test]
fn conditions_select_events_of_each_format() {
    let file = capture("tls-clients.pcap");
    let names = |args: &[&str]| -> Vec<String> {
        let mut args = args.to_vec();
        args.extend(["-q", "--format", "csv", "--fields", "event,sni", &file]);
        stdout(&args).lines().skip(1).map(str::to_owned).collect()
    };
    let all = names(&[]);
    let hellos = names(&["--where", "sni ~ 'EXAMPLE' and event == 'tls_client'"]);
    assert!(hellos.len() > 2 && hellos.len() < all.len(), "{hellos:?}");
    assert!(hellos.iter().all(|row| row.starts_with("tls_client,") && row.contains("example")));
    let others = names(&["--where", "not (sni ~ 'example' and event == 'tls_client')"]);
    assert_eq!(hellos.len() + others.len(), all.len());
    assert_eq!(names(&["--from", "2020-01-01", "--to", "2021-01-01"]), [""; 0]);
    assert_eq!(names(&["--from", "2020-01-01"]), all);
    let lines = stdout(&["-q", "--where", "event == 'tls_client'", &file]);
    let json = stdout(&["-q", "--format", "json", "--where", "event == 'tls_client'", &file]);
    assert_eq!(json.lines().count(), names(&["--events", "tls_client"]).len());
    assert!(!lines.is_empty() && !lines.contains("SYN"), "{lines}");
}

#[test]
fn error_of_a_condition_points_at_its_place() {
    let scan = capture("nmap-scan.pcap");
    let found =
        stdout(&["-q", "--format", "json", "--scan-ports", "10", "--where", "finding == 'scan'", &scan]);
    assert!(found.contains("\"finding\":\"scan\""), "{found}");
    let found = stdout(&["-q", "--format", "json", "--where", "event == 'connection'", &scan]);
    assert!(found.lines().count() > 1 && found.lines().all(|line| line.contains("\"event\":\"connection\"")));
    let advice = |args: &[&str]| String::from_utf8(run(&[args, &[&*scan]].concat()).stderr).unwrap();
    assert!(advice(&["--where", "event == 'match'"]).contains("the event 'match' needs --fingerprints"));
    assert!(
        advice(&["--where", "label == 'Windows'"])
            .contains("'label' is an object: name one of its fields, or compare it with null")
    );
    let no_tls = ["--protocols", "tcp", "--where", "ja4 ~ 't13*'"];
    assert!(advice(&no_tls).contains("--where: the event 'tls_client' needs tls in --protocols"));
    let agent = "user_agent ~ 'curl'";
    for (options, expected) in [
        (
            &["--events", "tls_client", "--where", agent][..],
            "--events leaves out the events 'finding', 'http_request' and 'match', and no other can fulfil",
        ),
        (
            &["--only-matches", "--fingerprints", "/dev/null", "--where", "finding == 'scan'"],
            "--only-matches leaves out the event 'finding'",
        ),
        (
            &["--events", "uptime", "--format", "json", "--where", "sni ~ 'x' and event ~ 'tls*'"],
            "--events leaves out the event",
        ),
        (&["--where", "user_agent ~ 'curl' and alpn == 'h2'"], "the condition cannot hold: no event has all"),
    ] {
        let found = advice(options);
        assert!(found.contains(&format!("--where: {expected}")), "{found}");
    }
    // One part is enough.
    let either = format!("{agent} or sni ~ 'example'");
    let hellos = capture("tls-clients.pcap");
    assert!(!stdout(&["-q", "--events", "tls_client", "--where", &either, &hellos]).is_empty());
    let p0f = ["--format", "p0f", "--where", "event == 'connection'"];
    assert!(advice(&p0f).contains("--format p0f has no event 'connection'"));

    let output = run(&["--where", "client.ip in 10.0.0.0/8 and snii == 'a'", &capture("tls-curl.pcap")]);
    assert_eq!(output.status.code(), Some(2));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("at character 29: unknown field 'snii': did you mean 'sni'?"), "{printed}");
    assert!(
        printed.contains("\n  client.ip in 10.0.0.0/8 and snii == 'a'\n                              ^"),
        "{printed}"
    );
}

#[test]
fn lines_have_a_heading_where_the_day_changes() {
    let bytes = fs::read(captures::path("tls-curl.pcap")).unwrap();
    let mut of_days = bytes[..24].to_vec();
    // The capture three times, a day apart, from 05:22: with another port each time.
    for day in 0..3_u32 {
        let mut at = 24;
        while let Some(header) = bytes.get(at..at + 16) {
            let number = |from: usize| u32::from_le_bytes(header[from..from + 4].try_into().unwrap());
            of_days.extend((number(0) + day * 86_400).to_le_bytes());
            of_days.extend(&header[4..]);
            let end = at + 16 + number(8) as usize;
            of_days.extend(&bytes[at + 16..end]);
            at = end;
        }
    }
    let path = scratch("days.pcap");
    fs::write(&path, of_days).unwrap();
    let heading = |line: &&str| line.starts_with("-- ");
    for args in [&["-q", &path] as &[&str], &["-q", "-w", "3", &path]] {
        let text = stdout(args);
        let headings: Vec<&str> = text.lines().filter(heading).collect();
        assert_eq!(
            headings,
            ["-- 2026-11-22 UTC, after 2026-11-21 UTC --", "-- 2026-11-23 UTC, after 2026-11-22 UTC --"],
            "{text}"
        );
        let first = text.lines().position(|line| heading(&line)).unwrap();
        assert_eq!(text.lines().count(), first * 3 + 2, "{text}");
    }
    // A day of the local zone ends at another time.
    let local = program(&["-q", "--local-time", &path]).env("TZ", "America/New_York").output().unwrap();
    assert!(
        String::from_utf8(local.stdout)
            .unwrap()
            .contains("\n-- 2026-11-22 UTC-05:00, after 2026-11-21 UTC-05:00 --\n")
    );
    for args in [
        &["-q", &capture("tls-curl.pcap")] as &[&str],
        &["-q", "-v", &path],
        &["-q", "--format", "p0f", &path],
    ] {
        assert!(!stdout(args).contains("\n-- "), "{args:?}");
    }
    // The day continues in the next file.
    let files = stdout(&["-q", &path, &capture("tls-curl.pcap"), &capture("tls-curl.pcap")]);
    assert_eq!(files.lines().filter(heading).count(), 3, "{files}");
}

#[test]
fn zeek_logs_are_files_of_a_folder() {
    let folder = scratch("zeek");
    let log = |name: &str| fs::read_to_string(Path::new(&folder).join(name)).unwrap_or_default();
    let capture = capture("curl-nginx.pcap");
    let done = run(&["--format", "zeek-tsv", "--zeek-dir", &folder, &capture]);
    assert!(done.status.success() && done.stdout.is_empty(), "{done:?}");
    for name in ["conn", "http", "software", "huginn"] {
        let text = log(&format!("{name}.log"));
        assert!(text.starts_with("#separator \\x09\n#set_separator\t,\n"), "{text}");
        assert!(text.contains(&format!("\n#path\t{name}\n")) && text.contains("\n#close\t2"), "{text}");
        assert!(text.lines().any(|line| !line.starts_with('#')), "{name}");
    }
    let done = run(&["--format", "zeek", "--zeek-dir", &folder, "--events", "http_request", &capture]);
    assert!(done.status.success(), "{done:?}");
    assert!(log("http.log").starts_with("{\"ts\":") && log("conn.log").is_empty());
    let refused: [&[&str]; 3] = [
        &["--format", "zeek-tsv", &capture],
        &["--format", "json", "--zeek-dir", &folder, &capture],
        &["--format", "zeek", "--zeek-dir", &folder, "-o", "x", &capture],
    ];
    for args in refused {
        let refused = run(args);
        assert_eq!(refused.status.code(), Some(2), "{args:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("--zeek-dir"), "{refused:?}");
    }
}

/// The name of the sensor and fields of the user are in each format that has fields.
#[test]
fn events_of_every_format_name_their_sensor() {
    let capture = capture("tls-curl.pcap");
    let own = ["--sensor-name", "berlin-1", "--site", "berlin, \"west\"", "--add-field", "rack=b7"];
    let own = [&own[..], &["--events", "tls_client"]].concat();
    let lines = |args: &[&str]| stdout(&[&own[..], args, &[&capture]].concat());
    for (format, sensor, site) in [
        ("json", "/sensor", "/site"),
        ("eve", "/host", "/huginn/site"),
        ("zeek", "/huginn.sensor", "/huginn.site"),
        ("ecs", "/observer/name", "/labels/site"),
        ("ocsf", "/metadata/loggers/0/name", "/unmapped/site"),
    ] {
        let text = lines(&["--format", format]);
        assert_eq!(text.lines().count(), 6, "{format}");
        for line in text.lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            let value = |path| event.pointer(path).and_then(Value::as_str);
            assert_eq!((value(sensor), value(site)), (Some("berlin-1"), Some("berlin, \"west\"")), "{line}");
            assert_eq!(value(&site.replace("site", "rack")), Some("b7"), "{line}");
        }
    }
    assert_eq!(
        lines(&["--format", "csv", "--fields", "sni"]).lines().take(2).collect::<Vec<_>>(),
        ["sni,sensor,site,rack", "www.example.test,berlin-1,\"berlin, \"\"west\"\"\",b7"]
    );
    let folder = tempfile::tempdir().unwrap();
    lines(&["--format", "zeek-tsv", "--zeek-dir", folder.path().to_str().unwrap()]);
    let log = fs::read_to_string(folder.path().join("ssl.log")).unwrap();
    let columns = "\thuginn.sensor\thuginn.site\thuginn.rack\n";
    assert!(log.contains(columns) && log.contains("\tstring\tstring\tstring\n"), "{log}");
    let rows = log.lines().filter(|line| line.ends_with("\tberlin-1\tberlin, \"west\"\tb7"));
    assert_eq!(rows.count(), 6);
    let refused = run(&["--format", "eve", "--add-field", "comments=x", &capture]);
    assert_eq!(refused.status.code(), Some(2), "the object of EVE has the field");
    let refused = run(&["--sensor-name", "s", &capture]);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("--sensor-name"));
}

/// Later events of a certificate have its SHA-256 and length, for any number of workers, and the rest as without the option.
#[test]
fn certificates_are_complete_once() {
    let capture = capture("tls-certificates.pcap");
    let args = ["--format", "json", "--sensor-name", "s", &capture, &capture];
    let whole = stdout(&args);
    let mut known = BTreeSet::new();
    let expected: Vec<Value> = whole
        .lines()
        .map(|line| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            for certificate in
                event.get_mut("certificates").and_then(Value::as_array_mut).into_iter().flatten()
            {
                if !known.insert(certificate["sha256"].to_string()) {
                    *certificate = json!({"sha256": certificate["sha256"], "bytes": certificate["bytes"]});
                }
            }
            event
        })
        .collect();
    assert!(known.len() > 1);
    for workers in ["1", "2", "3"] {
        let once = stdout(&[&args[..], &["--certificates", "once", "-w", workers]].concat());
        let found: Vec<Value> = once.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(found, expected);
        assert!(once.lines().all(|line| serde_json::from_str::<EventRecord<'_>>(line).is_ok()));
        assert!(once.len() < whole.len(), "{} of {} bytes", once.len(), whole.len());
    }
}
