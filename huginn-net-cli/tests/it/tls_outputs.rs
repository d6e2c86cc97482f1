//! Outputs over TLS, to servers with certificates that the test makes.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use huginn_net::CaptureReader;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, Stream};
use serde_json::Value;

use crate::captures;

const WAIT: Duration = Duration::from_secs(20);

/// An authority, and the files of what it has certified.
struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    roots: RootCertStore,
}

impl Authority {
    /// Makes an authority, whose certificate is in `NAME.pem` of the folder.
    fn new(folder: &Path, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        fs::write(folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone()).unwrap();
        Self { folder: folder.to_owned(), issuer: Issuer::new(params, key), roots }
    }

    /// Certifies a name.
    fn certify(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// Certifies a client, in `client.pem` and `client.key` of the folder.
    fn certify_client(&self) {
        let (certificate, key) = self.certify("sensor");
        fs::write(self.folder.join("client.pem"), certificate.pem()).unwrap();
        fs::write(self.folder.join("client.key"), key.serialize_pem()).unwrap();
    }

    /// A server of this name; `asks` for a certificate of the client.
    fn server(&self, name: &str, asks: bool) -> Arc<ServerConfig> {
        let (certificate, key) = self.certify(name);
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = if asks {
            let roots = Arc::new(self.roots.clone());
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        Arc::new(builder.with_single_cert(vec![certificate.der().clone()], key).unwrap())
    }
}

/// Takes connections one after another, and returns what each one said until its end: none if TLS failed.
fn listen(config: Arc<ServerConfig>) -> (SocketAddr, Receiver<Option<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (said, received) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut tls) =
                (stream.unwrap(), ServerConnection::new(Arc::clone(&config)).unwrap());
            let mut text = String::new();
            let read = Stream::new(&mut tls, &mut stream).read_to_string(&mut text);
            if said.send(read.is_ok().then_some(text)).is_err() {
                return;
            }
        }
    });
    (address, received)
}

/// A sensor of a folder of captures, with a file of a capture.
fn sensor(folder: &Path, options: &str) -> Command {
    let spool = folder.join("spool");
    fs::create_dir_all(&spool).unwrap();
    fs::copy(captures::path("tls-curl.pcap"), spool.join("1.pcap")).unwrap();
    let config = folder.join("live.toml");
    let text = format!("interface = 'file:{}'\nformat = 'json'\n{options}", spool.display());
    fs::write(&config, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
    command.args(["live", "--config", config.to_str().unwrap()]);
    command
}

/// A sensor that ends with its test, also if that fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads the capture and ends.
fn run(folder: &Path, options: &str) -> Output {
    let mut reader = CaptureReader::open(captures::path("tls-curl.pcap")).unwrap();
    let mut frames = 0;
    while reader.read_frame().unwrap().is_some() {
        frames += 1;
    }
    sensor(folder, &format!("count = {frames}\n{options}")).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The events of the capture.
fn events() -> String {
    let capture = captures::path("tls-curl.pcap");
    let output = Command::new(env!("CARGO_BIN_EXE_huginn-net"))
        .args(["pcap", "-q", "--format", "json"])
        .arg(capture)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn events_arrive_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let authority = Authority::new(folder.path(), "ca");
    let (plain, received) = listen(authority.server("localhost", false));
    let (syslog, messages) = listen(authority.server("collector.test", false));
    let outputs = format!(
        "tls-ca = '{place}/ca.pem'\n\
         [[output]]\noutput = 'tls:localhost:{}'\n\
         [[output]]\noutput = 'syslog:tls:{syslog}'\ntls-server-name = 'collector.test'\n\
         [[output]]\noutput = '{place}/all.json'\n",
        plain.port()
    );
    let output = run(folder.path(), &outputs);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // The stream ends as TLS does, so that the server knows that nothing is missing.
    assert_eq!(received.recv_timeout(WAIT).unwrap().unwrap(), events());
    // RFC 5425: the length of each message precedes it.
    let text = messages.recv_timeout(WAIT).unwrap().unwrap();
    let (mut rest, mut count) = (&*text, 0);
    while let Some((length, after)) = rest.split_once(' ') {
        let (message, after) = after.split_at(length.parse().unwrap());
        assert!(message.starts_with('<') && message.contains("\"ts\":"), "{message}");
        (rest, count) = (after, count + 1);
    }
    assert!(rest.is_empty());
    assert_eq!(count, events().lines().count());
}

#[test]
fn wrong_servers_get_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let (authority, other) = (Authority::new(folder.path(), "ca"), Authority::new(folder.path(), "other"));
    for (server, reason) in [
        (other.server("127.0.0.1", false), "TLS: invalid peer certificate: UnknownIssuer"),
        (
            authority.server("localhost", false),
            "TLS: invalid peer certificate: certificate not valid for name",
        ),
        (authority.server("127.0.0.1", true), "TLS: received fatal alert: "),
    ] {
        let (address, received) = listen(server);
        let output = run(folder.path(), &format!("output = 'tls:{address}'\ntls-ca = '{place}/ca.pem'\n"));
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{reason}: {stderr}");
        assert!(stderr.contains(&format!("huginn-net: tls:{address}: {reason}")), "{reason}: {stderr}");
        assert!(stderr.contains("lost "), "{reason}: {stderr}");
        assert_eq!(received.recv_timeout(WAIT).unwrap(), None);
    }
}

#[test]
fn client_shows_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let authority = Authority::new(folder.path(), "ca");
    authority.certify_client();
    let (address, received) = listen(authority.server("127.0.0.1", true));
    let options = format!(
        "output = 'tls:{address}'\ntls-ca = '{place}/ca.pem'\ntls-cert = '{place}/client.pem'\ntls-key = '{place}/client.key'\n"
    );
    let output = run(folder.path(), &options);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(received.recv_timeout(WAIT).unwrap().unwrap(), events());
}

#[test]
fn handshake_has_a_time_limit() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    drop(Authority::new(folder.path(), "ca"));
    // Takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let options = format!(
        "tls-ca = '{place}/ca.pem'\n[[output]]\noutput = 'tls:{address}'\n[[output]]\noutput = '{place}/all.json'\n"
    );
    let began = Instant::now();
    let output = run(folder.path(), &options);
    assert_eq!(output.status.code(), Some(1));
    assert!(began.elapsed() < WAIT);
    assert!(stderr(&output).contains(": the TLS handshake took too long"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(folder.path().join("all.json")).unwrap(), events(), "another output");
}

#[test]
fn wrong_files_are_named_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let authority = Authority::new(folder.path(), "ca");
    authority.certify_client();
    let (_, key) = authority.certify("other");
    fs::write(folder.path().join("other.key"), key.serialize_pem()).unwrap();
    let (ca, client) = (format!("'{place}/ca.pem'"), format!("'{place}/client.pem'"));
    for (options, reason) in [
        ("tls-ca = '/no/ca.pem'\n".to_owned(), "line 5: --tls-ca: /no/ca.pem: No such file"),
        (format!("tls-ca = '{place}/client.key'\n"), "client.key: no certificate in PEM"),
        (format!("tls-cert = {client}\n"), "--tls-key <FILE>"),
        (
            format!("tls-ca = {ca}\ntls-cert = {client}\ntls-key = '{place}/other.key'\n"),
            "line 7: --tls-key: ",
        ),
        (format!("tls-ca = {ca}\ntls-server-name = 'a b'\n"), "line 6: --tls-server-name: 'a b' is neither"),
    ] {
        let output = run(folder.path(), &format!("output = 'tls:127.0.0.1:9'\n{options}"));
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{options}: {stderr}");
        assert!(stderr.contains(reason), "{options}: {stderr}");
    }
}

#[test]
fn metrics_are_served_over_https_with_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let authority = Authority::new(folder.path(), "ca");
    let (certificate, key) = authority.certify("127.0.0.1");
    fs::write(folder.path().join("metrics.pem"), certificate.pem()).unwrap();
    fs::write(folder.path().join("metrics.key"), key.serialize_pem()).unwrap();
    fs::write(folder.path().join("token"), "secret\n").unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = format!(
        "output = '/dev/null'\nmetrics = '{address}'\nmetrics-token-file = '{place}/token'\nmetrics-tls-cert = '{place}/metrics.pem'\nmetrics-tls-key = '{place}/metrics.key'\ncontrol = '{place}/c'\n"
    );
    let mut command = sensor(folder.path(), &options);
    let mut running = Running(command.stderr(Stdio::piped()).spawn().unwrap());
    let mut stderr = BufReader::new(running.0.stderr.take().unwrap()).lines();
    let wanted = format!("huginn-net: metrics at https://{address}/metrics");
    assert!(stderr.any(|line| line.unwrap() == wanted));
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(builder.with_root_certificates(authority.roots.clone()).with_no_client_auth());
    let get = |request: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(WAIT)).unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut tls = ClientConnection::new(Arc::clone(&config), name).unwrap();
        let mut stream = Stream::new(&mut tls, &mut stream);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // The server may close the connection without the end of TLS.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    };
    let answer = get("GET /metrics HTTP/1.0\r\nAuthorization: Bearer secret\r\n\r\n");
    assert!(answer.contains("huginn_net_frames_total"), "{answer:.300}");
    assert!(get("GET /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 401 "));
    assert!(get("GET /healthz HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 "));
    // A new token and certificate are used after a reload.
    fs::write(folder.path().join("token"), "other\n").unwrap();
    let (renewed, key) = authority.certify("127.0.0.1");
    fs::write(folder.path().join("metrics.pem"), renewed.pem()).unwrap();
    let control = folder.path().join("c");
    let reload = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_huginn-net"));
        let output = command.args(["reload", "--control"]).arg(&control).output().unwrap();
        (output.status.code(), self::stderr(&output))
    };
    let (status, reason) = reload();
    assert_eq!(status, Some(1), "{reason}");
    assert!(reason.contains("metrics.key: ") && reason.contains("readers of metrics stay"), "{reason}");
    assert!(
        get("GET /metrics HTTP/1.0\r\nAuthorization: Bearer secret\r\n\r\n").starts_with("HTTP/1.0 200 ")
    );
    fs::write(folder.path().join("metrics.key"), key.serialize_pem()).unwrap();
    assert_eq!(reload(), (Some(0), String::new()));
    assert!(get("GET /metrics HTTP/1.0\r\nAuthorization: Bearer other\r\n\r\n").starts_with("HTTP/1.0 200 "));
    // Without TLS there is nothing.
    let mut plain = TcpStream::connect(address).unwrap();
    plain.set_read_timeout(Some(WAIT)).unwrap();
    plain.write_all(b"GET /metrics HTTP/1.0\r\nAuthorization: Bearer secret\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1"));
}

/// A server dies, and another one with a certificate of another authority takes its port: the sensor reads its files again.
#[test]
fn next_connection_has_the_files_of_a_reload() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let [first, second] = ["ca", "next"].map(|name| Authority::new(folder.path(), name));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let options = format!("output = 'tls:{address}'\ntls-ca = '{place}/ca.pem'\ncontrol = '{place}/c'\n");
    let _running = Running(sensor(folder.path(), &options).spawn().unwrap());
    listener.set_nonblocking(true).unwrap();
    // The first line that a server gets. Earlier connections, with the files of then, wait for it, too.
    let accept = |server: Arc<ServerConfig>| {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < WAIT, "no connection");
            let Ok((mut stream, _)) = listener.accept() else {
                thread::sleep(Duration::from_millis(20));
                continue;
            };
            stream.set_nonblocking(false).unwrap();
            stream.set_read_timeout(Some(WAIT)).unwrap();
            let mut tls = ServerConnection::new(Arc::clone(&server)).unwrap();
            let mut line = String::new();
            let read = BufReader::new(Stream::new(&mut tls, &mut stream)).read_line(&mut line);
            if read.is_ok() && !line.is_empty() {
                return line;
            }
        }
    };
    let event = |line: String| serde_json::from_str::<Value>(&line).unwrap()["event"].is_string();
    assert!(event(accept(first.server("127.0.0.1", false))));
    let reload = || {
        let control = folder.path().join("c");
        Command::new(env!("CARGO_BIN_EXE_huginn-net"))
            .args(["reload", "--control"])
            .arg(control)
            .output()
            .unwrap()
    };
    fs::write(folder.path().join("ca.pem"), "no certificate\n").unwrap();
    let output = reload();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("ca.pem: no certificate in PEM"), "{stderr}");
    assert!(stderr.contains("; outputs use the certificates that they have"), "{stderr}");
    fs::copy(folder.path().join("next.pem"), folder.path().join("ca.pem")).unwrap();
    assert_eq!(reload().status.code(), Some(0));
    fs::copy(captures::path("curl-nginx.pcap"), folder.path().join("spool/2.pcap")).unwrap();
    assert!(event(accept(second.server("127.0.0.1", false))));
}
