//! Checks the comparison of layers on recorded clients: `captures/consistency/clients.jsonl` and `http-imitation.pcap`.

use std::fs;
use std::path::Path;

use huginn_net::consistency::{ClientBytes, ClientBytesError, Consistency, Outcome};
use huginn_net::hosts::{Explanation, FindingSettings};
use huginn_net::tls::ClientHello;
use huginn_net::{
    CaptureReader, ClientDatabase, Configure, Database, Event, HuginnNet, Observation, Observers,
};
use serde_json::Value;

use crate::event_limits::{CLIENT, Capture, SERVER};

/// A client that a TLS server recorded.
struct Recorded {
    name: String,
    /// What its User-Agent claims; empty for an honest client.
    imitates: String,
    /// The number of the request among those of the client.
    request: u64,
    syn: Vec<u8>,
    tls: Vec<u8>,
    http: Vec<u8>,
}

impl Recorded {
    fn bytes(&self) -> ClientBytes<'_> {
        ClientBytes::default().syn(&self.syn).tls(&self.tls).http(&self.http)
    }

    fn check(&self) -> Consistency {
        self.bytes().check(Database::builtin(), ClientDatabase::builtin()).unwrap()
    }
}

fn recorded() -> Vec<Recorded> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures/consistency/clients.jsonl");
    let hex = |text: &str| {
        let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    };
    let lines = fs::read_to_string(path).unwrap();
    let clients = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        let bytes = |name: &str| hex(&text(name));
        Recorded {
            name: text("client"),
            imitates: text("imitates"),
            request: line["request"].as_u64().unwrap(),
            syn: bytes("syn"),
            tls: bytes("hello"),
            http: bytes("http"),
        }
    });
    clients.collect()
}

#[test]
fn no_honest_client_is_called_imitation() {
    let all = recorded();
    let mut claims = 0;
    for client in all.iter().filter(|client| client.imitates.is_empty()) {
        let found = client.check();
        let expected = if found.reasons.is_empty() { Outcome::Unknown } else { Outcome::Consistent };
        assert_eq!(found.outcome, expected, "{}, request {}: {found}", client.name, client.request);
        claims += usize::from(expected == Outcome::Consistent);
    }
    assert!(claims >= 20, "{claims}");
}

#[test]
fn nine_of_ten_imitations_are_found() {
    let all = recorded();
    let imitations: Vec<&Recorded> = all.iter().filter(|client| !client.imitates.is_empty()).collect();
    assert!(imitations.len() >= 10, "{}", imitations.len());
    let mut found = 0;
    for client in &imitations {
        let verdict = client.check();
        assert_ne!(verdict.outcome, Outcome::Consistent, "{} as {}: {verdict}", client.name, client.imitates);
        found += usize::from(verdict.outcome == Outcome::Imitation);
    }
    assert!(found * 10 >= imitations.len() * 9, "{found} of {}", imitations.len());
}

#[test]
fn incomplete_layers_say_nothing() {
    let cut = |bytes: &[u8], parts: usize| bytes[..bytes.len() * parts / 16].to_vec();
    let check = |bytes: ClientBytes<'_>| bytes.check(Database::builtin(), ClientDatabase::builtin()).unwrap();
    for client in recorded().iter().filter(|client| client.request == 1).step_by(7) {
        for parts in 0..16 {
            let [syn, tls, http] = [&client.syn, &client.tls, &client.http].map(|bytes| cut(bytes, parts));
            let bytes = ClientBytes::default().syn(&syn).tls(&tls).http(&http);
            assert_eq!(check(bytes).outcome, Outcome::Unknown, "{}, {parts}", client.name);
            for bytes in [client.bytes().syn(&syn), client.bytes().tls(&tls), client.bytes().http(&http)] {
                let found = check(bytes);
                let is_imitation = found.outcome == Outcome::Imitation;
                assert!(!is_imitation || !client.imitates.is_empty(), "{}, {parts}: {found}", client.name);
            }
        }
    }
}

#[test]
fn other_bytes_name_their_layer() {
    let check =
        |bytes: ClientBytes<'_>| bytes.check(Database::builtin(), ClientDatabase::builtin()).unwrap_err();
    let other = &b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n"[..];
    let none = ClientBytes::default();
    let [syn, tls, http1] = [none.syn(other), none.tls(other), none.http(other)].map(check);
    assert!(matches!(syn, ClientBytesError::Tcp(_)) && syn.to_string().starts_with("SYN: "));
    assert!(matches!(tls, ClientBytesError::Tls(_)) && tls.to_string().starts_with("ClientHello: "));
    assert!(matches!(http1, ClientBytesError::Http1(_)));
    let frames = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x05\0\0\0\x01\x80";
    let http2 = check(ClientBytes::default().http(frames));
    assert!(matches!(http2, ClientBytesError::Http2(_)), "{http2}");
}

#[test]
fn curl_that_claims_a_browser_of_its_own_system_is_imitation() {
    let mut events: Vec<Event> = Vec::new();
    let reader = CaptureReader::open(crate::captures::path("http-forged.pcap")).unwrap();
    HuginnNet::builder_with(Observers::default())
        .build()
        .analyze(reader, |event| events.push(event))
        .unwrap();
    let found: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.kind {
            Observation::Mismatch(found) => Some(found.to_string()),
            _ => None,
        })
        .collect();
    // The second request has one header more than curl sends: too little to judge.
    let expected = [
        "imitation: User-Agent says Chromium 124 on Linux; the headers are those of curl",
        "proxy: User-Agent says Chromium 124 on Linux; the headers are those of curl; a proxy is between client and server",
        "imitation: User-Agent says Chromium 124 on Linux; the headers lack Accept, Accept-Language and Accept-Encoding",
    ];
    assert_eq!(found, expected);
}

#[test]
fn connections_report_one_mismatch() {
    let mut events: Vec<Event> = Vec::new();
    let reader = CaptureReader::open(crate::captures::path("http-imitation.pcap")).unwrap();
    let observers = Observers::default().profiles(true);
    let mut analyzer = HuginnNet::builder_with(observers).build();
    analyzer.analyze(reader, |event| events.push(event)).unwrap();
    let mismatches = events.iter().filter_map(|event| match &event.kind {
        Observation::Mismatch(found) => Some((event.flow.client.port(), found)),
        _ => None,
    });
    let mismatches: Vec<_> = mismatches.collect();
    let texts: Vec<String> = mismatches.iter().map(|(_, found)| found.to_string()).collect();
    let expected = [
        "imitation: User-Agent says Chromium 131 on Windows; the headers are those of Python urllib; TCP says Linux",
        "imitation: User-Agent says Chromium 131 on Windows; the headers are those of curl; TCP says Linux",
        "imitation: User-Agent says Chromium 131 on Linux; the headers are those of curl",
        "imitation: User-Agent says Firefox 133 on Windows; the headers are those of Wget; TCP says Linux",
        "imitation: User-Agent says Chromium 131 on Linux; HTTP/2 is libcurl 7.88 and older; the order of HTTP/2 pseudo-headers is m,p,s,a",
        "unexplained: User-Agent says Chromium 131 on Windows; TCP says Linux",
        "imitation: User-Agent says Chromium 131 on Windows; the headers are those of Firefox; TCP says Linux",
    ];
    let distinct = texts.iter().enumerate().filter(|(n, text)| !texts[..*n].contains(text));
    assert!(distinct.map(|(_, text)| text).eq(expected), "{texts:#?}");
    let mut ports: Vec<u16> = mismatches.iter().map(|(port, _)| *port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), mismatches.len());

    let hosts = analyzer.shared_state();
    let client = hosts.profile("192.0.2.1".parse().unwrap()).unwrap();
    let is_forgery = |explanation| explanation == Explanation::Imitation;
    assert!(client.verdict().contradictions.iter().any(|found| is_forgery(found.explanation)));
    assert_eq!(client.verdict().system.as_deref(), Some("Linux"));
}

/// The options of a SYN of Linux, and of one of macOS that matches exactly.
const LINUX: [u8; 20] = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
const MACOS: [u8; 24] = [2, 4, 5, 0xa0, 1, 3, 3, 6, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 4, 2, 0, 0];

/// The events of requests, each in a connection of its own: those of requests, and those that accuse.
fn requests_and_accusations(heads: &[String], options: &[u8]) -> (Vec<Value>, Vec<Value>) {
    let mut capture = Capture::default();
    for (port, head) in (40_000..).zip(heads) {
        let mut connection = capture.connect(port, false, options);
        connection.send(CLIENT, format!("{head}\r\n\r\n").as_bytes());
        connection.send(SERVER, b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
    }
    let observers = Observers::default().findings(Some(FindingSettings::default()));
    let (lines, _) = capture.analyze(observers, 1);
    let events = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (requests, others): (Vec<Value>, Vec<Value>) = events
        .filter(|event| ["http_request", "mismatch", "finding"].contains(&event["event"].as_str().unwrap()))
        .partition(|event| event["event"] == "http_request");
    (requests, others)
}

#[test]
fn connectivity_checks_of_android_are_android() {
    let chrome = |version: &str| {
        format!(
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version} Safari/537.36"
        )
    };
    let recorded = |path: &str, host: &str, version: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nUser-Agent: {}\r\nHost: {host}\r\nConnection: Keep-Alive\r\nAccept-Encoding: gzip",
            chrome(version)
        )
    };
    let heads = [
        recorded("/generate_204", "connectivitycheck.gstatic.com", "60.0.3112.32"),
        recorded("/gen_204", "www.google.com", "52.0.2743.82"),
        recorded("/generate_204", "connect.rom.miui.com", "60.0.3112.32"),
        recorded("/kindle-wifi/wifistub.html", "spectrum.s3.amazonaws.com", "60.0.3112.32"),
        // As the source of newer versions has it.
        format!(
            "GET /generate_204 HTTP/1.1\r\nConnection: close\r\nUser-Agent: {}\r\nHost: x\r\nAccept-Encoding: gzip",
            chrome("60.0.3112.32")
        ),
        // The headers of curl.
        format!(
            "GET /generate_204 HTTP/1.1\r\nHost: x\r\nUser-Agent: {}\r\nAccept: */*",
            chrome("60.0.3112.32")
        ),
    ];
    let (requests, others) = requests_and_accusations(&heads, &LINUX);
    assert_eq!((requests.len(), others.as_slice()), (heads.len(), &[][..]));
    for request in &requests {
        assert_eq!((&request["claimed_os"], &request["os_agrees"]), (&"Android".into(), &true.into()));
        assert!(["custom", "none"].contains(&request["params"].as_str().unwrap()), "{request}");
    }
    assert!(requests[..4].iter().all(|request| request["label"]["name"] == "Android"));
    // An app of Android, and a program that asks for another page.
    let heads = [recorded("/feed", "x", "60.0.3112.32"), heads[5].replace("generate_204", "index.html")];
    let (requests, others) = requests_and_accusations(&heads, &LINUX);
    assert_eq!([&requests[0]["claimed_os"], &requests[1]["params"]], ["Linux", "dishonest"]);
    let accused: Vec<&Value> = others.iter().map(|event| &event["client"]["port"]).collect();
    assert_eq!(accused, [40_001, 40_001], "{others:?}");
}

#[test]
fn browser_without_signature_is_not_another_one() {
    let safari = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_6_8) AppleWebKit/534.57.2 (KHTML, like Gecko) Version/5.1.7 Safari/534.57.2";
    let head = format!(
        "GET /a.gif HTTP/1.1\r\nHost: x\r\nUser-Agent: {safari}\r\nReferer: http://x/\r\nAccept: */*\r\n\
         Accept-Language: en-us\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive"
    );
    let (requests, others) = requests_and_accusations(&[head], &MACOS);
    assert_eq!(others, [Value::Null; 0]);
    assert_eq!((&requests[0]["label"], &requests[0]["params"]), (&Value::Null, &"none".into()));
}

#[test]
fn old_user_agent_of_a_device_contradicts_nothing() {
    let head = |system: &str, version: &str| {
        format!(
            "GET / HTTP/1.1\r\nUser-Agent: Mozilla/5.0 ({system}; rv:1.9) Gecko/20100101 Firefox/{version}\r\nHost: x\r\nAccept: */*\r\nConnection: Keep-Alive"
        )
    };
    let heads = [head("Windows; U; Windows NT 5.1", "3.0.10"), head("Windows NT 10.0; Win64; x64", "140.0")];
    let (_, others) = requests_and_accusations(&heads, &MACOS);
    let accused: Vec<_> =
        others.iter().map(|event| (&event["client"]["port"], event["event"].as_str().unwrap())).collect();
    let port = &Value::from(40_001);
    assert_eq!(accused, [(port, "mismatch"), (port, "finding")], "{others:?}");
}

/// The field of the recorded hello that shows an imitation of a browser.
fn imitation(tls: &[u8]) -> Option<String> {
    let hello = ClientHello::from_records(tls).unwrap()?.value;
    let found = ClientDatabase::builtin().match_hello(&hello)?;
    found.software.imitation.as_ref().map(ToString::to_string)
}

#[test]
fn fields_of_recorded_browsers_are_their_own() {
    let all = recorded();
    let mut browsers = 0;
    for client in all.iter().filter(|client| client.imitates.is_empty()) {
        assert_eq!(imitation(&client.tls), None, "{}", client.name);
        let hello = ClientHello::from_records(&client.tls).unwrap().unwrap().value;
        browsers += usize::from(hello.has_ech());
    }
    assert!(browsers >= 20, "{browsers}");
}

#[test]
fn changed_field_of_a_browser_is_imitation() {
    let all = recorded();
    let is_browser = |client: &&Recorded| client.imitates.is_empty() && client.name.starts_with("Chromium 1");
    let mut changed = 0;
    for client in all.iter().filter(is_browser) {
        // application_settings that names h2: the length of the extension, of the list and of the name.
        let alps = [0, 5, 0, 3, 2, b'h', b'2'];
        let mut tls = client.tls.clone();
        let Some(start) = tls.windows(alps.len()).position(|window| window == alps) else { continue };
        tls[start + 5] = b'{';
        let bytes = client.bytes().tls(&tls);
        let found = bytes.check(Database::builtin(), ClientDatabase::builtin()).unwrap();
        if found.reasons.is_empty() {
            // A headless browser claims nothing.
            continue;
        }
        assert_eq!(found.outcome, Outcome::Imitation, "{}: {found}", client.name);
        assert!(
            found.reasons.iter().any(|reason| reason.to_string() == "TLS imitates Chromium (alps)"),
            "{found}"
        );
        changed += 1;
    }
    assert!(changed >= 4, "{changed}");
}
