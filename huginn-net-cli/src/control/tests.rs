//! Tests of the control sockets with slow, silent and malformed clients.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use huginn_net::p0f::{P0fHost, P0fQuery};
use tempfile::TempDir;

use super::*;
use crate::limits::MAX_CLIENTS;

/// Creates a temporary folder and returns the path of a socket in it.
fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("p0f.sock");
    (folder, path)
}

fn file_count(folder: &TempDir) -> usize {
    fs::read_dir(folder.path()).unwrap().count()
}

/// Returns a query function that finds only hosts of 192.0.2.0/24. The last byte of the address is their distance.
fn hosts() -> QueryHost {
    Arc::new(|ip| match ip {
        IpAddr::V4(ip) if ip.octets().starts_with(&[192, 0, 2]) => {
            Some(P0fAnswer::Found(P0fHost { distance: i16::from(ip.octets()[3]), ..P0fHost::default() }))
        }
        _ => Some(P0fAnswer::NoMatch),
    })
}

fn readings() -> Readings {
    readings_with(Health::Capturing)
}

fn readings_with(health: Health) -> Readings {
    Readings { counters: Box::new(LiveCounters::default), health: Box::new(move || health) }
}

fn socket_config(path: &Path, mode: u32) -> SocketConfig {
    SocketConfig { option: "--p0f-socket", path: path.into(), mode, owner: None }
}

fn p0f_config(socket: SocketConfig) -> ControlConfig {
    ControlConfig { p0f: Some(socket), ..ControlConfig::default() }
}

fn metrics_at(address: SocketAddr) -> MetricsConfig {
    MetricsConfig::new(address, MetricsFiles::default()).unwrap()
}

fn metrics_config() -> ControlConfig {
    ControlConfig { metrics: Some(metrics_at((Ipv4Addr::LOCALHOST, 0).into())), ..ControlConfig::default() }
}

fn no_reload() -> StartReload {
    Arc::new(|| oneshot::channel().1)
}

fn serve_p0f(path: &Path) -> ControlServer {
    Sockets::bind(&p0f_config(socket_config(path, 0o600)))
        .unwrap()
        .serve(hosts(), readings(), no_reload())
        .unwrap()
        .unwrap()
}

fn serve_metrics() -> (SocketAddr, ControlServer) {
    let sockets = Sockets::bind(&metrics_config()).unwrap();
    let address = sockets.metrics_address().unwrap();
    (address, sockets.serve(hosts(), readings(), no_reload()).unwrap().unwrap())
}

fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

fn query(last: u8) -> [u8; P0fQuery::LEN] {
    P0fQuery { ip: Ipv4Addr::new(192, 0, 2, last).into() }.to_bytes()
}

fn answer(stream: &mut UnixStream) -> Option<P0fAnswer> {
    let mut bytes = [0; P0fAnswer::LEN];
    stream.read_exact(&mut bytes).ok()?;
    P0fAnswer::parse(&bytes)
}

fn distance(answer: Option<P0fAnswer>) -> i16 {
    let Some(P0fAnswer::Found(host)) = answer else { panic!("{answer:?}") };
    host.distance
}

#[test]
fn serves_nothing_without_sockets() {
    assert!(Sockets::default().serve(hosts(), readings(), no_reload()).unwrap().is_none());
}

#[test]
fn answers_queries_in_order_across_split_writes() {
    let (_folder, path) = folder();
    let server = serve_p0f(&path);
    let mut client = connect(&path);
    // One query in writes of one byte.
    for byte in query(1) {
        client.write_all(&[byte]).unwrap();
    }
    assert_eq!(distance(answer(&mut client)), 1);
    // Three queries in one write.
    client.write_all(&[query(2), query(3), query(4)].concat()).unwrap();
    assert_eq!([(); 3].map(|()| distance(answer(&mut client))), [2, 3, 4]);
    // An unknown host and an invalid query before a valid one.
    let unknown = P0fQuery { ip: "2001:db8::1".parse().unwrap() }.to_bytes();
    client.write_all(&[unknown, [0; P0fQuery::LEN], query(5)].concat()).unwrap();
    assert_eq!(answer(&mut client), Some(P0fAnswer::NoMatch));
    assert_eq!(answer(&mut client), Some(P0fAnswer::BadQuery));
    assert_eq!(distance(answer(&mut client)), 5);
    // The server answers the last query after the client closed its write side.
    client.write_all(&query(6)).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(distance(answer(&mut client)), 6);
    assert_eq!(answer(&mut client), None);
    server.stop();
}

#[test]
fn disconnects_clients_after_end_of_analysis() {
    let (_folder, path) = folder();
    let sockets = Sockets::bind(&p0f_config(socket_config(&path, 0o600))).unwrap();
    let server = sockets.serve(Arc::new(|_| None), readings(), no_reload()).unwrap().unwrap();
    let mut client = connect(&path);
    client.write_all(&query(1)).unwrap();
    assert_eq!(client.read(&mut [0; P0fAnswer::LEN]).unwrap(), 0);
    server.stop();
}

#[test]
fn evicts_idle_client_at_client_limit() {
    let (_folder, path) = folder();
    let server = serve_p0f(&path);
    let mut first = connect(&path);
    first.write_all(&query(1)).unwrap();
    assert_eq!(distance(answer(&mut first)), 1);
    // Each client waits for its answer, so that all clients have distinct times of last activity.
    let mut others: Vec<UnixStream> = (1..MAX_CLIENTS)
        .map(|_| {
            thread::sleep(Duration::from_millis(3));
            let mut client = connect(&path);
            client.write_all(&query(2)).unwrap();
            assert_eq!(distance(answer(&mut client)), 2);
            client
        })
        .collect();
    thread::sleep(Duration::from_millis(3));
    first.write_all(&query(3)).unwrap();
    assert_eq!(distance(answer(&mut first)), 3, "MAX_CLIENTS clients are connected");
    let mut newcomer = connect(&path);
    newcomer.write_all(&query(4)).unwrap();
    assert_eq!(distance(answer(&mut newcomer)), 4);
    let (oldest, rest) = others.split_first_mut().unwrap();
    assert_eq!(answer(oldest), None, "the longest idle client is evicted");
    for client in rest.iter_mut().chain([&mut first]) {
        client.write_all(&query(5)).unwrap();
        assert_eq!(distance(answer(client)), 5);
    }
    server.stop();
}

#[test]
fn client_that_never_reads_blocks_no_other() {
    let (_folder, path) = folder();
    let server = serve_p0f(&path);
    let mut non_reader = connect(&path);
    non_reader.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    while non_reader.write_all(&query(1)).is_ok() {}
    let mut other = connect(&path);
    other.write_all(&query(2)).unwrap();
    assert_eq!(distance(answer(&mut other)), 2);
    server.stop();
}

#[test]
fn stalled_analysis_blocks_only_querying_clients() {
    let (_folder, path) = folder();
    let sockets =
        Sockets::bind(&ControlConfig { p0f: Some(socket_config(&path, 0o600)), ..metrics_config() }).unwrap();
    let address = sockets.metrics_address().unwrap();
    let busy: QueryHost = Arc::new(|_| {
        thread::sleep(Duration::from_secs(3));
        Some(P0fAnswer::NoMatch)
    });
    let server = sockets.serve(busy, readings(), no_reload()).unwrap().unwrap();
    let mut client = connect(&path);
    client.write_all(&query(1)).unwrap();
    let start_time = std::time::Instant::now();
    assert!(request(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\n"));
    server.stop();
    assert!(start_time.elapsed() < Duration::from_secs(2));
}

#[test]
fn socket_has_mode_and_is_removed_on_exit() {
    let (folder, path) = folder();
    let server = serve_p0f(&path);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(file_count(&folder), 1, "no temporary file remains");
    server.stop();
    assert_eq!(file_count(&folder), 0);
    drop(Sockets::bind(&p0f_config(socket_config(&path, 0o666))).unwrap());
    assert_eq!(file_count(&folder), 0, "a server that never started also removes its socket");
}

#[test]
fn replaces_only_stale_socket() {
    let (folder, path) = folder();
    let bind = || Sockets::bind(&p0f_config(socket_config(&path, 0o660)));
    drop(UnixListener::bind(&path).unwrap());
    let sockets = bind().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o660);
    assert!(matches!(bind(), Err(ControlError::SocketInUse { .. })));
    fs::remove_file(&path).unwrap();
    fs::write(&path, "precious").unwrap();
    assert!(matches!(bind(), Err(ControlError::NotASocket { .. })));
    drop(sockets);
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    let nowhere = folder.path().join("no/p0f.sock");
    let error = Sockets::bind(&p0f_config(socket_config(&nowhere, 0o600))).unwrap_err().to_string();
    assert!(error.contains("no/p0f.sock: No such file"), "{error}");
}

#[test]
fn binds_with_stale_directory_and_long_path() {
    let (folder, _) = folder();
    let stale = folder.path().join(format!(".{}.0", std::process::id()));
    fs::create_dir(&stale).unwrap();
    fs::write(stale.join("s"), "").unwrap();
    // sun_path of unix(7) has room for 107 bytes and a terminating zero.
    let path = |len: usize| {
        let prefix_len = folder.path().join("x").as_os_str().len();
        folder.path().join("x".repeat(len - prefix_len + 1))
    };
    drop(Sockets::bind(&p0f_config(socket_config(&path(107), 0o600))).unwrap());
    let error = Sockets::bind(&p0f_config(socket_config(&path(108), 0o600))).unwrap_err().to_string();
    assert!(error.contains("SUN_LEN"), "{error}");
    assert_eq!(file_count(&folder), 1, "no temporary file remains");
}

#[test]
#[ignore = "needs root"]
fn socket_belongs_to_unprivileged_user() {
    let (_folder, path) = folder();
    let owner = Some((65_534, 65_533));
    let _sockets = Sockets::bind(&p0f_config(SocketConfig { owner, ..socket_config(&path, 0o660) })).unwrap();
    let found = fs::metadata(&path).unwrap();
    assert_eq!((found.uid(), found.gid(), found.permissions().mode() & 0o777), (65_534, 65_533, 0o660));
}

#[test]
fn port_in_use_is_named_in_error() {
    let (address, server) = serve_metrics();
    let error =
        Sockets::bind(&ControlConfig { metrics: Some(metrics_at(address)), ..ControlConfig::default() })
            .unwrap_err()
            .to_string();
    assert!(error.starts_with(&format!("--metrics {address}: ")), "{error}");
    server.stop();
}

/// Sends a request and returns the whole response.
fn request(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // The server may close the connection before it has read the whole request.
    let _ = stream.write_all(text.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn only_known_paths_are_served() {
    let (address, server) = serve_metrics();
    let long = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    for (text, status) in [
        ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK"),
        ("GET /metrics?a=b HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK"),
        ("GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK"),
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 Not Found"),
        ("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK"),
        ("HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK"),
        ("PUT /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 405 Method Not Allowed"),
        ("GET /healthz/x HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 Not Found"),
        ("GET /metrics/ HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 Not Found"),
        (
            "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
            "HTTP/1.1 405 Method Not Allowed",
        ),
        ("\0\0\0\0\r\n\r\n", "HTTP/1.1 400 Bad Request"),
        (&long, "HTTP/1.1 431 Request Header Fields Too Large"),
    ] {
        let answer = request(address, text);
        assert_eq!(answer.lines().next(), Some(status), "{text:.60}");
    }
    server.stop();
}

#[test]
fn health_is_503_unless_capturing() {
    for (health, status, body) in [
        (Health::Capturing, "HTTP/1.1 200 OK", "capturing\n"),
        (Health::NoInterface, "HTTP/1.1 503 Service Unavailable", "no interface is up\n"),
        (Health::Stalled, "HTTP/1.1 503 Service Unavailable", "the capture makes no progress\n"),
        (Health::Ended, "HTTP/1.1 503 Service Unavailable", "the capture has ended\n"),
    ] {
        let sockets = Sockets::bind(&metrics_config()).unwrap();
        let address = sockets.metrics_address().unwrap();
        let server = sockets.serve(hosts(), readings_with(health), no_reload()).unwrap().unwrap();
        let answer = request(address, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(answer.lines().next(), Some(status));
        assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
        server.stop();
    }
}

#[test]
fn health_answers_while_counters_are_stalled() {
    let sockets = Sockets::bind(&metrics_config()).unwrap();
    let address = sockets.metrics_address().unwrap();
    let stalled = Readings {
        counters: Box::new(|| {
            thread::sleep(Duration::from_secs(3));
            LiveCounters::default()
        }),
        health: Box::new(|| Health::Stalled),
    };
    let server = sockets.serve(hosts(), stalled, no_reload()).unwrap().unwrap();
    let start_time = std::time::Instant::now();
    let mut waiting = TcpStream::connect(address).unwrap();
    waiting.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let answer = request(address, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(start_time.elapsed() < Duration::from_secs(2));
    server.stop();
}

#[test]
fn metrics_follow_accept_header() {
    let (address, server) = serve_metrics();
    let plain = request(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(plain.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{plain:.300}");
    assert!(plain.contains("\nhuginn_net_frames_total 0\n"));
    let open = request(
        address,
        "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n\r\n",
    );
    assert!(open.contains("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
    assert!(open.ends_with("# EOF\n"));
    let head = request(address, "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    // The lengths may differ by some digits: resources of the process change between the requests.
    let length = |answer: &str| -> Option<usize> {
        answer.split("content-length: ").nth(1)?.lines().next()?.parse().ok()
    };
    assert!(length(&head).unwrap().abs_diff(length(&plain).unwrap()) < 100, "{head}");
    server.stop();
}

#[test]
fn idle_clients_do_not_block_others() {
    let (address, server) = serve_metrics();
    let slow = || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /met").unwrap();
        stream
    };
    let idle: Vec<TcpStream> = (0..2 * MAX_CLIENTS).map(|_| slow()).collect();
    assert!(request(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 200 OK"));
    drop(idle);
    server.stop();
}

/// Sends a request, and returns the answer without its line end.
fn ask(path: &Path, request: &[u8]) -> String {
    let mut stream = connect(path);
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer.trim_end().to_owned()
}

#[test]
fn requests_have_one_answer_each() {
    let (folder, path) = folder();
    let requests = SocketConfig { option: "--control", ..socket_config(&path, 0o600) };
    let config = ControlConfig { requests: Some(requests), ..ControlConfig::default() };
    let mut number = 0;
    let outcomes = std::sync::Mutex::new(move || {
        number += 1;
        if number == 1 { Ok(()) } else { Err("one\ntwo".to_owned()) }
    });
    let reload: StartReload = Arc::new(move || {
        let (outcome, received) = oneshot::channel();
        outcome.send((outcomes.lock().unwrap())()).unwrap();
        received
    });
    let server = Sockets::bind(&config).unwrap().serve(hosts(), readings(), reload).unwrap().unwrap();
    let unknown = r#"{"ok":false,"error":"unknown request: a line 'reload' or 'status' is expected"}"#;
    let long = "reload".repeat(100);
    for (request, wanted) in [
        ("reload\n", r#"{"ok":true}"#),
        ("reload\n", r#"{"ok":false,"error":"one\ntwo"}"#),
        ("status\n", r#"{"ok":true,"status":"capturing"}"#),
        ("reload\r\n", unknown),
        ("stop\n", unknown),
        (&long, unknown),
    ] {
        assert_eq!(ask(&path, request.as_bytes()), wanted, "{request:.20}");
    }
    // A silent client blocks no other, and has no answer.
    let silent = connect(&path);
    assert_eq!(ask(&path, b"status\n"), r#"{"ok":true,"status":"capturing"}"#);
    silent.shutdown(Shutdown::Write).unwrap();
    assert_eq!((&silent).read(&mut [0]).unwrap(), 0);
    server.stop();
    assert_eq!(file_count(&folder), 0);
}

#[test]
fn reload_of_a_sensor_that_ends_fails() {
    let (_folder, path) = folder();
    let requests = Some(SocketConfig { option: "--control", ..socket_config(&path, 0o600) });
    let config = ControlConfig { requests, ..ControlConfig::default() };
    let server = Sockets::bind(&config).unwrap().serve(hosts(), readings(), no_reload()).unwrap().unwrap();
    assert_eq!(ask(&path, b"reload\n"), r#"{"ok":false,"error":"the sensor ends"}"#);
    server.stop();
}

#[test]
fn metrics_need_the_token_and_health_does_not() {
    let (folder, _) = folder();
    let path = folder.path().join("token");
    let files = MetricsFiles { token: Some(path.clone()), tls: None };
    for wrong in ["", " \n", "two words", "\u{fc}"] {
        fs::write(&path, wrong).unwrap();
        let error = files.read().unwrap_err();
        assert!(error.starts_with("--metrics-token-file: ") && error.contains("one word"), "{error}");
    }
    fs::write(&path, "secret-1\n").unwrap();
    let metrics = MetricsConfig::new((Ipv4Addr::LOCALHOST, 0).into(), files.clone()).unwrap();
    let access = metrics.access.clone();
    let config = ControlConfig { metrics: Some(metrics), ..ControlConfig::default() };
    let sockets = Sockets::bind(&config).unwrap();
    let address = sockets.metrics_address().unwrap();
    let server = sockets.serve(hosts(), readings(), no_reload()).unwrap().unwrap();
    for (header, status) in [
        ("", "401 Unauthorized"),
        ("Authorization: Bearer secret-2\r\n", "401 Unauthorized"),
        ("Authorization: Bearer secret-\r\n", "401 Unauthorized"),
        ("Authorization: Basic secret-1\r\n", "401 Unauthorized"),
        ("Authorization: secret-1\r\n", "401 Unauthorized"),
        ("Authorization: Bearer\r\n", "401 Unauthorized"),
        ("Authorization: Bearer secret-1\r\n", "200 OK"),
        ("authorization: bearer secret-1\r\n", "200 OK"),
    ] {
        let answer = request(address, &format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{header}\r\n"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{header}: {answer:.200}");
        assert_eq!(answer.contains("huginn_net_frames_total"), status == "200 OK");
        assert_eq!(answer.contains("www-authenticate: Bearer\r\n"), status != "200 OK");
    }
    let health = request(address, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(health.starts_with("HTTP/1.1 200 OK\r\n"), "{health}");
    fs::write(&path, "secret-2").unwrap();
    access.replace(files.read().unwrap());
    for (token, status) in [("secret-1", "401"), ("secret-2", "200")] {
        let header = format!("Authorization: Bearer {token}\r\n");
        let answer = request(address, &format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{header}\r\n"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer:.200}");
    }
    server.stop();
}
