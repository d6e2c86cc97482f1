//! Compares the analysis of `captures/` with the goldens from p0f and tshark.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::captures;
use huginn_net::Configure;
use huginn_net::core::{CancelToken, DecodeConfig, FlowLimits, NextFrame};
use huginn_net::decrypt::Secrets;
use huginn_net::http::HttpVersion;
use huginn_net::observation::{SshClientObservation, SshServerObservation};
use huginn_net::observers::Scope;
use huginn_net::p0f::P0fLine;
use huginn_net::ssh::{KexGuess, Negotiation};
use huginn_net::tcp::{TcpSignature, kind};
use huginn_net::{CaptureError, CaptureReader, Event, HuginnNet, Observation, Observers, Side, Source};
use huginn_net_core::{Decoder, Segment, TcpFlags, TcpHeader, TransportHeader};

/// Returns the captures that have a golden with this extension, and the lines of the golden.
pub(crate) fn goldens(extension: &str) -> Vec<(PathBuf, Vec<String>)> {
    let mut found = Vec::new();
    for golden in captures::with_extension(&[extension]) {
        let capture = ["pcap", "pcapng"].map(|kind| golden.with_extension(kind));
        let capture = capture.into_iter().find(|path| path.exists()).unwrap();
        let lines = fs::read_to_string(&golden).unwrap().lines().map(str::to_owned).collect();
        found.push((capture, lines));
    }
    assert!(found.len() > 6, "the goldens are missing");
    found.sort();
    found
}

/// Returns a row for every SYN and SYN+ACK, with the columns that `golden.sh` selects in tshark.
fn handshakes(capture: &Path) -> Vec<String> {
    let mut reader = CaptureReader::open(capture).unwrap();
    let mut decoder = Decoder::new(DecodeConfig::default());
    let mut rows = Vec::new();
    let mut number = 0;
    while let Some(frame) = reader.read_frame().unwrap() {
        number += 1;
        decoder.decode(&frame, &mut |segment| {
            if segment.tcp().is_some_and(|tcp| tcp.flags.contains(TcpFlags::SYN)) {
                rows.push(format!("{number}\t{}", row(segment)));
            }
        });
    }
    rows
}

fn row(segment: &Segment<'_>) -> String {
    // tshark also lists SYNs with FIN or RST, which give no signature.
    let tcp = TcpHeader { flags: TcpFlags::SYN, ..*segment.tcp().unwrap() };
    let plain = Segment { transport: TransportHeader::Tcp(tcp), ..*segment };
    let signature = TcpSignature::from_segment(&plain, None).unwrap();
    let kinds = signature.layout.kinds();
    let option = |kind: u8, value: u32| if kinds.contains(&kind) { value.to_string() } else { String::new() };
    let (src, dst) = (segment.source(), segment.destination());
    [
        src.ip().to_string(),
        src.port().to_string(),
        dst.ip().to_string(),
        dst.port().to_string(),
        tcp.seq.to_string(),
        tcp.ack.to_string(),
        segment.ip.ttl.to_string(),
        tcp.window.to_string(),
        option(kind::MSS, signature.mss.into()),
        option(kind::WINDOW_SCALE, signature.scale.into()),
    ]
    .join("\t")
}

#[test]
fn handshakes_equal_tshark() {
    for (capture, want) in goldens("tshark") {
        // tshark repairs contradictory headers; the p0f golden covers this capture.
        if capture.ends_with("odd-syns.pcap") {
            continue;
        }
        let got = handshakes(&capture);
        let differ = got.iter().zip(&want).find(|(got, want)| got != want);
        assert_eq!(differ, None, "{}", capture.display());
        assert_eq!(got.len(), want.len(), "{}", capture.display());
    }
}

/// Counts the occurrences of each line.
fn counted(lines: impl IntoIterator<Item = String>) -> BTreeMap<String, i32> {
    let mut counts = BTreeMap::new();
    for line in lines {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

#[test]
fn p0f_format_equals_p0f_log() {
    for (capture, golden) in goldens("p0f") {
        let mut lines = Vec::new();
        let limits = FlowLimits::default().syn_lifetime(Duration::from_secs(30)).syn_lifetime_as_p0f(true);
        let observers = Observers::default().scope(Scope::P0f);
        let mut analyzer = HuginnNet::builder_with(observers).flow_limits(limits).build();
        let mut sink =
            |event: Event| lines.extend(P0fLine::lines_from_event(&event).map(|line| line.to_string()));
        analyzer.analyze(CaptureReader::open(&capture).unwrap(), &mut sink).unwrap();
        let (lines, mut golden) = (counted(lines), counted(golden));
        // p0f learns the length of the link header from the first packets. Here the length varies and p0f skips
        // packets, so the analysis may add lines, each once.
        if ["made-ppp.pcap", "made-wifi.pcap"].iter().any(|name| capture.ends_with(name)) {
            let unread: Vec<String> =
                lines.keys().filter(|line| !golden.contains_key(*line)).cloned().collect();
            assert!(!unread.is_empty());
            golden.extend(unread.into_iter().map(|line| (line, 1)));
        }
        assert_eq!(lines, golden, "{}", capture.display());
    }
}

/// Returns the events of a capture.
fn events(capture: &Path) -> Vec<Event> {
    let mut events = Vec::new();
    let builder = HuginnNet::builder().secrets(Some(secrets(&[capture])));
    builder.build().analyze(CaptureReader::open(capture).unwrap(), |event| events.push(event)).unwrap();
    events
}

/// Returns the events of a capture, those of certificates included.
fn events_with_handshakes(capture: &Path) -> Vec<Event> {
    let mut events = Vec::new();
    let builder = HuginnNet::builder().handshakes(true).secrets(Some(secrets(&[capture])));
    builder.build().analyze(CaptureReader::open(capture).unwrap(), |event| events.push(event)).unwrap();
    events
}

/// The secrets that captures bring.
pub(crate) fn secrets(captures: &[&Path]) -> Secrets {
    let secrets = Secrets::new();
    for capture in captures {
        let reader = CaptureReader::open(capture).unwrap();
        reader.read_key_logs(|text| assert_eq!(secrets.add_key_log(text).malformed, 0)).unwrap();
        let reader = CaptureReader::open(capture).unwrap();
        huginn_net::decrypt::add_sessions(reader, &secrets, CancelToken::default()).1.unwrap();
    }
    secrets
}

#[test]
fn ja4_equals_definition_over_tshark_fields() {
    for (capture, mut golden) in goldens("ja4") {
        let mut rows: Vec<String> = Vec::new();
        for event in events(&capture) {
            let Observation::TlsClient(observation) = &event.kind else { continue };
            let (source, hello) = (event.subject_addr(), &observation.client.hello);
            let mut row = vec![source.ip().to_string(), source.port().to_string()];
            for (hashed, raw) in [
                (hello.ja4(), hello.ja4_r()),
                (hello.ja4_o(), hello.ja4_ro()),
                (hello.ja4_stable(), hello.ja4_stable_r()),
            ] {
                row.extend([hashed.to_string(), raw.to_string()]);
            }
            rows.push(row.join("\t"));
        }
        rows.sort();
        golden.sort();
        assert_eq!(rows, golden, "{}", capture.display());
    }
}

#[test]
fn ja3_and_ja3s_equal_tshark() {
    for (capture, golden) in goldens("ja3") {
        let mut golden: Vec<String> =
            golden.iter().map(|row| row.split_once('\t').unwrap().1.to_owned()).collect();
        let mut rows: Vec<String> = Vec::new();
        for event in events(&capture) {
            let (role, full, hash) = match &event.kind {
                Observation::TlsClient(observation) => {
                    let client = &observation.client;
                    ("client", client.hello.ja3().to_string(), client.hello.ja3_hash().to_string())
                }
                Observation::TlsServer(observation) => {
                    let server = &observation.server;
                    ("server", server.hello.ja3s().to_string(), server.hello.ja3s_hash().to_string())
                }
                _ => continue,
            };
            let source = event.subject_addr();
            rows.push(format!("{}\t{}\t{role}\t{full}\t{hash}", source.ip(), source.port()));
        }
        rows.sort();
        golden.sort();
        assert_eq!(rows, golden, "{}", capture.display());
    }
}

#[test]
fn certificates_equal_openssl() {
    for (capture, mut golden) in goldens("certificates") {
        let mut rows: Vec<String> = Vec::new();
        for event in events_with_handshakes(&capture) {
            let Observation::TlsCertificates(observation) = &event.kind else { continue };
            // tshark decrypts nothing after this Retry, and no TLS inside TLS, and decompresses no certificates.
            let name = capture.file_name().unwrap().to_str().unwrap();
            if let ("http-decrypted-quic.pcapng", 482)
            | ("http-decrypted-tls13.pcapng", 113 | 140)
            | ("http-decrypted-compressed.pcapng", 39) = (name, event.packet_number)
            {
                continue;
            }
            let source = event.subject_addr();
            for (index, certificate) in observation.certificates.certificates.iter().enumerate() {
                let fields = certificate.fields().unwrap();
                let sha256: String = certificate.sha256().iter().map(|byte| format!("{byte:02x}")).collect();
                rows.push(format!(
                    "{}\t{}\t{}\t{index}\t{sha256}\t{}\t{}\t{}\t{}\t{}",
                    event.packet_number,
                    source.ip(),
                    source.port(),
                    fields.serial.as_deref().unwrap(),
                    fields.not_before.unwrap(),
                    fields.not_after.unwrap(),
                    fields.subject.as_deref().unwrap(),
                    fields.issuer.as_deref().unwrap(),
                ));
            }
        }
        rows.sort();
        golden.sort();
        assert_eq!(rows, golden, "{}", capture.display());
    }
}

/// The server sends one certificate, to curl as it is, and to OpenSSL 3.5 compressed with zlib.
#[test]
fn compressed_certificate_equals_the_uncompressed_one() {
    let mut found = Vec::new();
    for event in events_with_handshakes(&captures::path("http-decrypted-compressed.pcapng")) {
        if let Observation::TlsCertificates(observation) = &event.kind {
            found.push((event.packet_number, observation.certificates.certificates.clone()));
        }
    }
    let [(6, uncompressed), (39, compressed)] = &*found else { panic!("{found:?}") };
    assert_eq!((uncompressed, uncompressed.len()), (compressed, 1));
}

/// tshark shows the Finished message of the second side in these packets of DTLS 1.2 and of OpenVPN with TLS 1.2; in version 1.3 they
/// are the first encrypted data of the client after the server's Finished message. The other captures end before.
#[test]
fn handshakes_in_datagrams_end_with_both_finished() {
    for (capture, wanted) in [
        ("dtls-certificates.pcap", vec![18, 40]),
        ("dtls-openssl.pcap", vec![6]),
        ("dtls-13.pcap", vec![18]),
        ("dtls-chromium.pcap", vec![10]),
        ("dtls-firefox.pcap", vec![11]),
        ("dtls-fragments.pcap", vec![]),
        ("dtls-gnutls.pcap", vec![]),
        ("tls-openvpn.pcap", vec![5, 20, 26, 41]),
        ("tls-openvpn-certificates.pcap", vec![6, 21, 34, 42]),
    ] {
        let mut reader = HuginnNet::builder_with(Observers::default().handshakes(true)).build();
        let mut ends = Vec::new();
        let mut sink = |event: Event| {
            if let Observation::TlsHandshake(observation) = &event.kind {
                assert!(observation.handshake.completed, "{capture}");
                ends.push(event.packet_number);
            }
        };
        reader.analyze(CaptureReader::open(captures::path(capture)).unwrap(), &mut sink).unwrap();
        assert_eq!(ends, wanted, "{capture}");
    }
}

#[test]
fn http_exchanges_equal_tshark() {
    for (capture, mut golden) in goldens("http") {
        let mut rows: Vec<String> = Vec::new();
        for event in events(&capture) {
            let (version, head) = match &event.kind {
                Observation::HttpRequest(observation) => {
                    let request = &observation.request;
                    let part = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    (request.version(), format!("{} {}", part(request.method()), part(request.target())))
                }
                Observation::HttpResponse(observation) => {
                    let response = &observation.response;
                    (response.version(), response.status().unwrap().to_string())
                }
                _ => continue,
            };
            let source = event.subject_addr();
            let version = if version == HttpVersion::Http2 { 2 } else { 1 };
            rows.push(format!("{}\t{}\t{version}\t{head}", source.ip(), source.port()));
        }
        rows.sort();
        golden.sort();
        assert_eq!(rows, golden, "{}", capture.display());
    }
}

/// tshark 4.4 shows nothing of the three exchanges after a Retry to aioquic.
#[test]
fn decrypted_heads_equal_tshark() {
    for (capture, golden) in goldens("heads") {
        let mut rows: Vec<String> = Vec::new();
        for event in events(&capture) {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let (version, first, host, target, headers) = match &event.kind {
                Observation::HttpRequest(found) => {
                    let request = &found.request;
                    let host = request.host().map(text);
                    (
                        request.version(),
                        text(request.method()),
                        host,
                        Some(text(request.target())),
                        request.headers(),
                    )
                }
                Observation::HttpResponse(found) => {
                    let response = &found.response;
                    (
                        response.version(),
                        response.status().unwrap().to_string(),
                        None,
                        None,
                        response.headers(),
                    )
                }
                _ => continue,
            };
            let mut names: Vec<String> = Vec::new();
            for header in headers.iter() {
                let name = text(header.name).to_ascii_lowercase();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            let version = match version {
                HttpVersion::Http2 => '2',
                HttpVersion::Http3 => '3',
                _ => '1',
            };
            let source = event.subject_addr();
            let or_dash =
                |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or("-".to_owned());
            let row = [source.ip().to_string(), source.port().to_string(), version.to_string(), first];
            rows.push(
                [&row[..], &[or_dash(host), or_dash(target), or_dash(Some(names.join(",")))]]
                    .concat()
                    .join("\t"),
            );
        }
        rows.sort();
        let mut missing = golden.clone();
        rows.retain(|row| {
            let same = missing.iter().position(|line| line == row);
            same.map(|at| missing.remove(at)).is_none()
        });
        assert_eq!(missing, Vec::<String>::new(), "{}", capture.display());
        let is_quic = capture.ends_with("http-decrypted-quic.pcapng");
        assert_eq!(rows.len(), if is_quic { 6 } else { 0 }, "{}: {rows:#?}", capture.display());
    }
}

#[test]
fn decrypted_browsers_and_libraries_are_named() {
    let mut found = std::collections::BTreeSet::new();
    for name in ["http-decrypted-firefox.pcapng", "http-decrypted-quinn.pcapng", "http-decrypted-quic.pcapng"]
    {
        for event in events(&captures::path(name)) {
            let Observation::HttpRequest(observation) = &event.kind else { continue };
            let agent = String::from_utf8(observation.request.user_agent().unwrap().to_vec()).unwrap();
            let agent =
                agent.split([' ', '/']).rev().find(|word| word.starts_with(char::is_alphabetic)).unwrap();
            let software = observation.software.as_ref().map(|found| match &*found.software.candidates {
                // A library: programs with its default settings send the same.
                [candidate] if found.software.application.is_none() => {
                    format!("{}: {candidate}", found.software)
                }
                _ => found.software.to_string(),
            });
            found.insert((observation.request.version().name().to_owned(), agent.to_owned(), software));
        }
    }
    let named = |version: &str, agent: &str, name: &str| {
        (version.to_owned(), agent.to_owned(), Some(name.to_owned()))
    };
    let wanted = [
        ("1.1".to_owned(), "Firefox".to_owned(), None),
        named("2", "Firefox", "Firefox"),
        // Early data of aioquic come before its settings.
        ("3".to_owned(), "aioquic".to_owned(), None),
        named("3", "aioquic", "several clients: Python aioquic"),
        named("3", "Firefox", "Firefox"),
        named("3", "HTTP", "several clients: quic-go"),
        named("3", "Safari", "Chromium"),
        named("3", "h3", "several clients: h3"),
    ];
    assert_eq!(found, wanted.into());
}

/// Connections without their SYN are decrypted whatever else is analysed.
#[test]
fn http_alone_is_decrypted_from_the_hello_on() {
    let capture = captures::path("http-decrypted-clients.pcapng");
    let requests = |observers: Observers| {
        let mut found = Vec::new();
        let mut sink = |event: Event| {
            if let Observation::HttpRequest(request) = event.kind {
                found.push(request.request.path().unwrap().to_vec());
            }
        };
        let mut analyzer = HuginnNet::builder_with(observers).secrets(Some(secrets(&[&capture]))).build();
        let mut reader = CaptureReader::open(&capture).unwrap();
        while let Some(frame) = reader.read_frame().unwrap() {
            // The flags of TCP, after Ethernet and IPv4.
            if frame.data.get(47).is_none_or(|flags| flags & 2 == 0) {
                let _ = analyzer.push(&frame, &mut sink);
            }
        }
        analyzer.finish(&mut sink);
        found
    };
    let all = requests(Observers::default());
    assert_eq!(all.len(), 11);
    assert_eq!(requests(Observers::default().tcp(false).tls(false).ssh(false)), all);
}

/// The requests of `record-decrypted.sh`, and the settings that tshark shows. Go logs no secret of early data, so that one request of
/// it is missing.
#[test]
fn http3_has_all_requests_and_responses() {
    const GO: &str = "6:10485760|a,m,p,s";
    const PYTHON: &str = "1:4096;7:16;8:1;GREASE|m,a,s,p";
    const CHROMIUM: &str = "1:65536;6:262144;7:100;51:1;GREASE|m,a,s,p";
    let capture = captures::path("http-decrypted-quic.pcapng");
    let (mut requests, mut responses) = (Vec::new(), Vec::new());
    for event in events(&capture) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match &event.kind {
            Observation::HttpRequest(found) => {
                assert!(found.decrypted && found.request.version() == HttpVersion::Http3);
                let target = text(found.request.path().unwrap());
                let wanted = match text(found.request.user_agent().unwrap()) {
                    agent if agent.starts_with("aioquic") => PYTHON,
                    agent if agent.starts_with("quic-go") => GO,
                    _ => CHROMIUM,
                };
                // Early data of aioquic come before its settings.
                let fingerprint = found.http3.as_ref().map(ToString::to_string);
                let expected = Some(wanted.to_owned()).filter(|_| target != "/aioquic-0rtt");
                assert_eq!(fingerprint, expected, "{target}");
                requests.push(format!("{} {target}", text(found.request.method())));
            }
            Observation::HttpResponse(found) => {
                assert!(found.decrypted && found.response.version() == HttpVersion::Http3);
                responses.push(found.response.status().unwrap().to_string());
            }
            _ => {}
        }
    }
    let mut wanted: Vec<String> = Vec::new();
    for (count, request) in [
        (1, "GET /go"),
        (1, "GET /go-retry"),
        (1, "GET /go-version2"),
        (1, "GET /aioquic"),
        (1, "GET /aioquic-0rtt"),
        (1, "GET /aioquic-retry"),
        (1, "GET /aioquic-update"),
        (1, "GET /aioquic?v=1"),
        (1, "GET /aioquic?v=6b3343cf"),
        (5, "POST /data?a=1"),
        (3, "GET /last"),
        (1, "GET /last?v=1"),
        (1, "GET /last?v=6b3343cf"),
        (2, "GET /chromium"),
        (1, "GET /favicon.ico"),
    ] {
        wanted.extend(std::iter::repeat_n(request.to_owned(), count));
    }
    requests.sort();
    wanted.sort();
    assert_eq!(requests, wanted);
    // Early data of quic-go have a response and no secret, and those of aioquic no response.
    assert_eq!(responses.iter().filter(|status| *status == "200").count(), wanted.len());
    assert!(responses.iter().all(|status| ["103", "200"].contains(&&**status)));
}

/// Two hellos of each connection through the proxy: to it, and to the server behind it.
#[test]
fn tls_inside_tls_is_read() {
    let capture = captures::path("http-decrypted-tls13.pcapng");
    let mut found = Vec::new();
    for event in events_with_handshakes(&capture) {
        match &event.kind {
            Observation::TlsClient(observation) if observation.decrypted => found.push("hello"),
            Observation::TlsHandshake(observation)
                if observation.handshake.alpn.as_deref() == Some(b"h2") =>
            {
                found.push("h2")
            }
            Observation::HttpRequest(observation) if observation.request.is_connect() => {
                found.push("connect")
            }
            Observation::HttpRequest(observation) => match observation.request.path() {
                Some(b"/through-proxy") => found.push("through"),
                Some(b"/through-proxy-again") => found.push("again"),
                _ => {}
            },
            _ => {}
        }
    }
    assert_eq!(
        found,
        ["h2", "h2", "connect", "hello", "through", "again", "connect", "hello", "through", "again"]
    );
}

#[test]
fn connections_with_half_of_their_secrets_are_counted() {
    let capture = captures::path("http-decrypted-clients.pcapng");
    let (mut text, secrets) = (String::new(), Secrets::new());
    let reader = || CaptureReader::open(&capture).unwrap();
    reader().read_key_logs(|part| text.push_str(std::str::from_utf8(part).unwrap())).unwrap();
    let of_server = |line: &&str| line.starts_with("SERVER_");
    let half: Vec<&str> = text.lines().filter(|line| !of_server(line)).collect();
    let connections = text.lines().filter(|line| line.starts_with("SERVER_TRAFFIC_SECRET_0")).count();
    secrets.add_key_log(half.join("\n").as_bytes());
    let mut analyzer = HuginnNet::builder().secrets(Some(secrets)).build();
    analyzer.analyze(reader(), &mut |_: Event| {}).unwrap();
    let found = analyzer.protocol().counters().decryption;
    assert!(connections > 5, "{connections}");
    assert_eq!((found.one_side, found.not_authentic), (connections as u64, 0));
}

/// Adds secrets when the packets have ended.
struct LateSecrets {
    reader: CaptureReader,
    text: String,
    secrets: Secrets,
}

impl Source<'_> for LateSecrets {
    type Error = CaptureError;

    fn next_frame(&mut self) -> Result<NextFrame<'_>, CaptureError> {
        let next = Source::next_frame(&mut self.reader);
        if matches!(next, Ok(NextFrame::End)) {
            self.secrets.add_key_log(self.text.as_bytes());
        }
        next
    }
}

/// Packets wait for secrets that a program logs after it has sent them, also those after which none follow.
#[test]
fn secrets_that_come_after_the_packets_serve() {
    for (name, given_up) in [
        ("clients", &[][..]),
        ("tls13", &[]),
        ("sessions", &[]),
        // The server of these connections sent more than may wait.
        ("quic", &[44838, 47011, 57641]),
    ] {
        let capture = captures::path(&format!("http-decrypted-{name}.pcapng"));
        let text_of = |event: &Event| {
            let is_decrypted = match &event.kind {
                Observation::HttpRequest(found) => found.decrypted,
                Observation::HttpResponse(found) => found.decrypted,
                // Events of handshakes do not wait.
                _ => false,
            };
            let text = is_decrypted.then(|| format!("{} {:?}", event.subject_addr(), event.kind));
            // The server rejected it: once that is known, it is not read.
            text.filter(|text| !text.contains("target: \"/rejected-early\""))
        };
        let events = events(&capture);
        let expected = events.iter().filter(|event| !given_up.contains(&event.flow.client.port()));
        let expected: Vec<_> = expected.filter_map(text_of).collect();
        let reader = || CaptureReader::open(&capture).unwrap();
        let mut text = String::new();
        reader().read_key_logs(|part| text.push_str(std::str::from_utf8(part).unwrap())).unwrap();
        let secrets = Secrets::new();
        secrets.set_growing(true);
        let source = LateSecrets { reader: reader(), text, secrets: secrets.clone() };
        let builder = HuginnNet::builder().handshakes(true).secrets(Some(secrets)).block_bytes(1 << 12);
        let (mut analyzer, mut found) = (builder.build(), Vec::new());
        let mut sink = |event: Event| found.extend(text_of(&event));
        analyzer.analyze(source, &mut sink).unwrap();
        let counted_up = analyzer.protocol().counters().decryption.gave_up_waiting;
        assert!(expected.len() > 10, "{name}");
        assert_eq!((counted(found), counted_up), (counted(expected), given_up.len() as u64), "{name}");
    }
}

#[test]
fn connections_with_wrong_or_missing_secrets_are_counted() {
    let capture = captures::path("http-decrypted-sessions.pcapng");
    let reader = || CaptureReader::open(&capture).unwrap();
    let (mut text, secrets) = (String::new(), Secrets::new());
    reader().read_key_logs(|part| text.push_str(std::str::from_utf8(part).unwrap())).unwrap();
    // The first secret serves, another is wrong, and the rest is missing.
    let random = |line: &str| line.split(' ').nth(1).unwrap().to_owned();
    let mut randoms: Vec<_> =
        text.lines().filter(|line| line.starts_with("CLIENT_RANDOM")).map(random).collect();
    randoms.dedup();
    for line in text.lines() {
        if line.contains(&randoms[0]) {
            secrets.add_key_log(line.as_bytes());
        } else if line.contains(&randoms[1]) {
            let (start, end) = line.split_at(line.len() - 1);
            secrets.add_key_log(format!("{start}{}", if end == "0" { 1 } else { 0 }).as_bytes());
        }
    }
    let mut analyzer = HuginnNet::builder().secrets(Some(secrets)).build();
    let mut events: Vec<Event> = Vec::new();
    let counters = analyzer.analyze(reader(), |event| events.push(event)).unwrap();
    let found = analyzer.protocol().counters().decryption;
    let others = counters.flows.opened - 2;
    assert_eq!((found.connections, found.not_authentic, found.without_secret), (1, 1, others));
    let requests = events
        .iter()
        .filter(|event| matches!(&event.kind, Observation::HttpRequest(found) if found.decrypted));
    assert_eq!(requests.count(), 1);
    let spots = huginn_net::blind_spots::BlindSpot::of_analyzer(&analyzer);
    assert!(spots.iter().any(|spot| (spot.name, spot.count) == ("tls_without_secret", others)));
}

/// Returns the algorithms of each SSH connection of a capture, in order.
fn negotiations(capture: &Path) -> Vec<Negotiation<'static>> {
    let negotiation = |event: Event| match event.kind {
        Observation::SshHandshake(observation) => Some(observation.negotiation),
        _ => None,
    };
    events(capture).into_iter().filter_map(negotiation).collect()
}

/// The golden has what `ssh -vvv` prints of each connection: a dash after the first list without a common name.
#[test]
fn agreed_algorithms_equal_ssh() {
    let capture = captures::path("ssh-negotiation.pcap");
    let golden = fs::read_to_string(capture.with_extension("kex")).unwrap();
    let found = negotiations(&capture);
    assert_eq!((found.len(), golden.lines().count()), (9, 9));
    for (found, row) in found.iter().zip(golden.lines()) {
        let direction = |side| [found.cipher(side), found.mac(side), found.compression(side)];
        let [client, server] = [Side::Client, Side::Server].map(direction);
        let names = [&[found.kex(), found.host_key()][..], &client, &server].concat();
        let names = names.into_iter().map(|name| String::from_utf8_lossy(name.unwrap_or(b"-")));
        let (wanted, strict) = row.rsplit_once('\t').unwrap();
        let printed = wanted.split('\t').position(|name| name == "-").map_or(8, |at| at + 1);
        let names: Vec<_> = names.take(printed).collect();
        assert_eq!(names, wanted.split('\t').take(printed).collect::<Vec<_>>());
        assert_eq!(
            (found.is_strict_kex(), found.unmatched().is_none()),
            (strict == "yes", printed == 8),
            "{row}"
        );
    }
}

/// tshark shows how many SSH_MSG_KEX_ECDH_INIT each client sends: two after a wrong guess.
#[test]
fn guesses_equal_messages_of_client() {
    for (capture, wanted) in [
        (
            "ssh-guesses.pcap",
            [KexGuess::Right, KexGuess::Wrong, KexGuess::Right, KexGuess::Wrong].map(Some).to_vec(),
        ),
        ("ssh-dropbear.pcap", vec![Some(KexGuess::Right), Some(KexGuess::Wrong), None]),
    ] {
        let found = negotiations(&captures::path(capture));
        assert_eq!(found.iter().map(Negotiation::guess).collect::<Vec<_>>(), wanted, "{capture}");
    }
}

#[test]
fn ssh_equals_tshark() {
    for (capture, golden) in goldens("ssh") {
        let mut rows: Vec<String> = Vec::new();
        let mut sides = 0;
        for event in events(&capture) {
            let (Observation::SshClient(SshClientObservation { peer, .. })
            | Observation::SshServer(SshServerObservation { peer, .. })) = &event.kind
            else {
                continue;
            };
            let source = format!("{}\t{}", event.subject_addr().ip(), event.subject_addr().port());
            let banner = String::from_utf8_lossy(peer.identification.as_bytes());
            rows.push(format!("{source}\tbanner\t{banner}"));
            if let (Some(hassh), Some(algorithms)) = (peer.hassh(), peer.hassh_algorithms()) {
                let name = event.subject.choose("hassh", "hasshserver");
                rows.push(format!("{source}\t{name}\t{hassh}\t{algorithms}"));
            }
            sides += 1;
        }
        assert_eq!(golden.iter().filter(|row| row.contains("\tbanner\t")).count(), sides);
        assert_eq!(counted(rows), counted(golden), "{}", capture.display());
    }
}
