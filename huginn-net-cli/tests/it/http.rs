//! Exact output of HTTP events. p0f 3.09b prints the same p0f lines with the same database.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::captures;
use crate::hostile_texts::exchanges_capture;

/// A database with Linux as a TCP signature, and curl as software that only Windows runs.
const DATABASE: &str = "\
classes = unix,win

[tcp:request]
label = s:unix:Linux:any
sig = *:64:0:*:mss*44,10:mss,sok,ts,nop,ws:df,id+:0

[http:request]
ua_os = Windows,Linux
label = s:!:curl:7 or newer
sys = Windows
sig = *:Host,User-Agent,Accept=[*/*]:Connection:curl
";

/// Runs `huginn-net pcap` with that database on a capture.
fn stdout(capture: &str, args: &[&str]) -> String {
    let database = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("http-{capture}-{}.fp", args[1]));
    fs::write(&database, DATABASE).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.arg("pcap").arg("--db").arg(&database).args(args).env_remove("CLICOLOR_FORCE");
    let output = command.arg(captures::path(capture)).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// What a run with a key log prints on both streams. Port 444 has the connection of the key log.
fn with_key_log(name: &str, text: &[u8], args: &[&str]) -> (String, String) {
    let recording = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&recording, text).unwrap();
    // The capture without its secrets.
    let capture = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    let mut bytes = fs::read(captures::path("http-decrypted-sessions.pcapng")).unwrap();
    let at = bytes.windows(4).position(|word| word == b"KSLT").unwrap();
    bytes[at] = b'-';
    fs::write(&capture, bytes).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.args(["pcap", "--format", "json", "--events", "http_request", "--fields", "path"]);
    let output = command.arg("--keylog").arg(&recording).args(args).arg(&capture).output().unwrap();
    assert!(output.status.success());
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn key_logs_decrypt_and_wrong_ones_are_reported() {
    let keys = include_bytes!("../../../huginn-net-decrypt/recordings/tls13/keys.log");
    // The last line may lack its end.
    let (events, messages) = with_key_log("keys.log", keys.trim_ascii_end(), &[]);
    assert_eq!(events, "{\"path\":\"/new-tls1_3\"}\n");
    assert!(!messages.contains("keys.log"), "{messages}");
    let (events, messages) = with_key_log("wrong.log", b"no key log\n", &[]);
    assert_eq!(events, "");
    assert!(messages.contains("wrong.log: 0 secrets, 1 malformed line: 1"), "{messages}");
    assert_eq!(with_key_log("quiet.log", b"no key log\n", &["-q"]).1, "");
}

#[test]
fn json_of_http1() {
    let all = stdout("curl-nginx.pcap", &["--format", "json", "--protocols", "tcp,http"]);
    let lines: Vec<&str> = all.lines().filter(|line| line.contains(r#""event":"http_"#)).collect();
    assert_eq!(lines.len(), 8, "a keep-alive connection has two exchanges");
    assert_eq!(
        lines[0],
        r#"{"v":1,"ts":"2026-11-21T05:22:25.222519Z","event":"http_request","subject":"client","packet":4,"transport":"tcp","client":{"ip":"192.0.2.1","port":60544},"server":{"ip":"192.0.2.2","port":80},"community_id":"1:+Qre89rzFqovaQWtcKiJ+RIv3XY=","version":"1.1","exchange":0,"method":"GET","host":"www.example.test","path":"/","user_agent":"curl/7.88.1","language":null,"sig":"1:Host,User-Agent,Accept=[*/*]:Connection,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:curl/7.88.1","label":{"class":"!","name":"curl","flavor":"7 or newer","generic":false},"params":"none","claimed_os":null,"os_agrees":false}"#
    );
    assert_eq!(
        lines[1],
        r#"{"v":1,"ts":"2026-11-21T05:22:25.222616Z","event":"http_response","subject":"server","packet":6,"transport":"tcp","client":{"ip":"192.0.2.1","port":60544},"server":{"ip":"192.0.2.2","port":80},"community_id":"1:+Qre89rzFqovaQWtcKiJ+RIv3XY=","version":"1.1","exchange":0,"status":200,"server_header":"nginx/1.22.1","sig":"1:Server,Date,Content-Type,?Content-Length,?Last-Modified,Connection=[keep-alive],?ETag,Accept-Ranges=[bytes]:Keep-Alive:nginx/1.22.1","label":null,"params":"none","claimed_os":null,"os_agrees":null}"#
    );
    assert!(lines[4].contains(r#""exchange":1,"method":"GET","host":"www.example.test","path":"/missing""#));
    assert!(
        lines[6].contains(r#""method":"HEAD""#) && lines[6].contains(r#""language":"German""#),
        "{}",
        lines[6]
    );
}

#[test]
fn json_of_http2_has_akamai_fingerprint() {
    let all = stdout("h2c.pcap", &["--format", "json", "--protocols", "http"]);
    let request = all.lines().next().unwrap();
    assert!(
        request.contains(r#""version":"2","exchange":1,"method":"GET","host":"192.0.2.2:8080","path":"/""#)
    );
    let akamai = r#""akamai":"3:100;4:33554432;2:0|33488897|0|m,p,s,a","akamai_hash":"fd07c74c4990fc43ef9f4b3277cf3cf2""#;
    let (_, software) = request.split_once(akamai).unwrap();
    assert!(software.contains(r#""application":"libcurl""#), "{software}");
}

#[test]
fn p0f_format_has_first_exchange_only() {
    let all = stdout("curl-nginx.pcap", &["--format", "p0f", "--protocols", "tcp,http"]);
    let lines: Vec<&str> = all.lines().filter(|line| line.contains("mod=http ")).collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(
        lines[4],
        "[2026/11/21 05:22:25] mod=http request|cli=192.0.2.1/60556|srv=192.0.2.2/80|subj=cli|app=curl 7 or newer|lang=German|params=none|raw_sig=1:Host,User-Agent,Accept=[*/*],Accept-Language=[de-DE,de;q=0.8,en;q=0.5]:Connection,Accept-Encoding,Accept-Charset,Keep-Alive:curl/7.88.1"
    );
}

#[test]
fn human_format_has_blocks() {
    let all = stdout("curl-nginx.pcap", &["-v", "-c", "4", "--protocols", "tcp,http"]);
    let (_, request) = all.split_once("HTTP request").unwrap();
    let (request, _) = request.split_once("\ntotal ").unwrap();
    assert_eq!(
        request,
        "  192.0.2.1:60544 -> 192.0.2.2:80  2026-11-21T05:22:25.222519Z
  client     192.0.2.1
  request    GET / HTTP/1.1
  host       www.example.test
  user agent curl/7.88.1
  software   curl 7 or newer
  runs on    other systems than that of its TCP handshake
  signature  1:Host,User-Agent,Accept=[*/*]:Connection,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:curl/7.88.1
"
    );
}

#[test]
fn status_that_is_not_three_digits_is_absent() {
    let exchange: [&[u8]; 2] =
        [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"HTTP/1.1foobar\r\nServer: Example\r\n\r\n"];
    let path = exchanges_capture("no-status.pcap", &[exchange]);
    let output = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
        let output = command.args(["pcap", "-q", "--events", "http_response"]).args(args).arg(&path).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let line = output(&[]);
    assert!(line.trim_end().ends_with("HTTP      Example"), "{line}");
    let block = output(&["-v"]);
    assert!(block.contains("response   HTTP/1.1\n"), "{block}");
    let json = output(&["--format", "json"]);
    assert!(json.contains(r#""status":null"#), "{json}");
    for format in ["eve", "zeek", "ecs", "ocsf"] {
        let line = output(&["--format", format]);
        assert!(line.contains("http_response"), "{format}: {line}");
        for name in ["\"status", "status_code", "\"code\"", "http_response.code"] {
            assert!(!line.contains(name), "{format}: {line}");
        }
    }
    let csv = output(&["--format", "csv", "--fields", "event,status,server_header"]);
    assert_eq!(csv, "event,status,server_header\nhttp_response,,Example\n");
}
