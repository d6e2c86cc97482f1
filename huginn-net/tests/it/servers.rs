//! Checks findings about TLS servers over connections that the tests make (RFC 5246, RFC 8446), with certificates of their own.

use huginn_net::alert::{Alert, Severity};
use huginn_net::core::{Analyzer, Frames, Route, SharedState};
use huginn_net::hosts::{FindingSettings, HostUpdate, HostUpdateRecord};
use huginn_net::observation::FindingKind;
use huginn_net::observers::WithoutHosts;
use huginn_net::record::{EventKind, JsonEvent};
use huginn_net::{
    CaptureReader, Configure, Database, Event, Frame, HuginnNet, LinkType, Observation, Observers, Timestamp,
};

use crate::captures;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const INSIDE: [u8; 4] = [10, 0, 0, 200];
const OUTSIDE: [u8; 4] = [198, 51, 100, 7];

fn number(value: usize, width: usize) -> Vec<u8> {
    value.to_be_bytes()[size_of::<usize>() - width..].to_vec()
}

fn prefixed(width: usize, bytes: &[u8]) -> Vec<u8> {
    [number(bytes.len(), width), bytes.to_vec()].concat()
}

fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let len = match content.len() {
        len @ 0..128 => vec![len as u8],
        len => [vec![0x82], number(len, 2)].concat(),
    };
    [vec![tag], len, content.to_vec()].concat()
}

/// A name from text such as `CN=DcRat,O=Example`, in this order.
fn name(text: &str) -> Vec<u8> {
    let attribute = |attribute: &str| {
        let (kind, value) = attribute.split_once('=').unwrap();
        let number = [("CN", 3), ("C", 6), ("L", 7), ("ST", 8), ("O", 10), ("OU", 11)]
            .into_iter()
            .find_map(|(name, number)| (name == kind).then_some(number))
            .unwrap();
        der(0x31, &der(0x30, &[der(6, &[0x55, 4, number]), der(12, value.as_bytes())].concat()))
    };
    // The text has the most specific attribute first.
    let attributes: Vec<_> = text.split(',').filter(|text| !text.is_empty()).map(attribute).collect();
    der(0x30, &attributes.into_iter().rev().collect::<Vec<_>>().concat())
}

#[derive(Clone)]
struct Certificate {
    subject: String,
    issuer: String,
    serial: Vec<u8>,
    years: u32,
    key_bits: usize,
    is_ca: bool,
    alternative_name: Option<String>,
}

/// An unremarkable certificate with these names.
fn certificate(subject: &str, issuer: &str) -> Certificate {
    Certificate {
        subject: subject.to_owned(),
        issuer: issuer.to_owned(),
        serial: vec![0x12, 0x34],
        years: 1,
        key_bits: 2048,
        is_ca: false,
        alternative_name: None,
    }
}

impl Certificate {
    fn to_der(&self) -> Vec<u8> {
        let rsa = der(0x30, &[der(6, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1]), der(5, &[])].concat());
        let signature =
            der(0x30, &[der(6, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 11]), der(5, &[])].concat());
        let modulus = [vec![0], vec![0xc5; self.key_bits / 8]].concat();
        let key = der(0x30, &[der(2, &modulus), der(2, &[1, 0, 1])].concat());
        let bits = |bytes: Vec<u8>| der(3, &[vec![0], bytes].concat());
        let time = |year: u32| der(0x18, format!("{year}0101000000Z").as_bytes());
        let mut extensions = Vec::new();
        if let Some(name) = &self.alternative_name {
            let names = der(0x30, &der(0x82, name.as_bytes()));
            extensions.push(der(0x30, &[der(6, &[0x55, 0x1d, 17]), der(4, &names)].concat()));
        }
        if self.is_ca {
            let constraints = der(0x30, &der(1, &[0xff]));
            extensions.push(der(0x30, &[der(6, &[0x55, 0x1d, 19]), der(4, &constraints)].concat()));
        }
        let extensions = match &*extensions {
            [] => Vec::new(),
            extensions => der(0xa3, &der(0x30, &extensions.concat())),
        };
        let body = [
            der(0xa0, &der(2, &[2])),
            der(2, &self.serial),
            signature.clone(),
            name(&self.issuer),
            der(0x30, &[time(2025), time(2025 + self.years)].concat()),
            name(&self.subject),
            der(0x30, &[rsa, bits(key)].concat()),
            extensions,
        ];
        der(0x30, &[der(0x30, &body.concat()), signature, bits(vec![0xaa; 64])].concat())
    }
}

/// A connection to a TLS server.
#[derive(Clone)]
struct Visit {
    server: ([u8; 4], u16),
    server_name: Option<&'static str>,
    alpn: Option<&'static str>,
    /// The version that the server selects.
    version: u16,
    /// `None` in TLS 1.3, or if the session is resumed.
    certificate: Option<Certificate>,
    /// What the client sends before its hello.
    before: &'static [u8],
    /// The whole hello of the client, instead of an unknown one.
    hello: Option<Vec<u8>>,
}

fn visit(ip: [u8; 4], port: u16, certificate: Certificate) -> Visit {
    Visit {
        server: (ip, port),
        server_name: None,
        alpn: None,
        version: 0x0303,
        certificate: Some(certificate),
        before: b"",
        hello: None,
    }
}

/// A connection of TLS 1.3.
fn visit_13(ip: [u8; 4], port: u16) -> Visit {
    Visit { version: 0x0304, certificate: None, ..visit(ip, port, certificate("CN=hidden", "CN=hidden")) }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [vec![kind], prefixed(3, body)].concat()
}

fn record(fragment: &[u8]) -> Vec<u8> {
    [&[22, 3, 3][..], &prefixed(2, fragment)].concat()
}

fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), prefixed(2, data)].concat()
}

impl Visit {
    fn client_bytes(&self, number: u8) -> Vec<u8> {
        if let Some(hello) = &self.hello {
            return record(hello);
        }
        let mut extensions = extension(10, &[0, 2, 0, 23]);
        if let Some(name) = self.server_name {
            let name = prefixed(2, &[&[0][..], &prefixed(2, name.as_bytes())].concat());
            extensions.extend(extension(0, &name));
        }
        if let Some(protocol) = self.alpn {
            extensions.extend(extension(16, &prefixed(2, &prefixed(1, protocol.as_bytes()))));
        }
        if self.version == 0x0304 {
            extensions.extend(extension(43, &[2, 3, 4]));
        }
        let hello =
            [&[3, 3][..], &[number; 32], &[0], &[0, 2, 0xc0, 0x2f], &[1, 0], &prefixed(2, &extensions)];
        [self.before.to_vec(), record(&message(1, &hello.concat()))].concat()
    }

    fn server_bytes(&self) -> Vec<u8> {
        let is_13 = self.version == 0x0304;
        let version = if is_13 { 0x0303 } else { self.version }.to_be_bytes();
        let extensions = if is_13 { prefixed(2, &extension(43, &[3, 4])) } else { Vec::new() };
        let suite = if is_13 { [0x13, 1] } else { [0xc0, 0x2f] };
        let hello = message(2, &[&version[..], &[9; 32], &[0], &suite, &[0], &extensions].concat());
        let Some(certificate) = &self.certificate else { return record(&hello) };
        let chain = prefixed(3, &prefixed(3, &certificate.to_der()));
        record(&[hello, message(11, &chain), message(14, &[])].concat())
    }
}

/// Packets with their times, in milliseconds: raw IP, without a link header.
#[derive(Default)]
struct Capture(Vec<(u64, Vec<u8>)>);

impl Capture {
    fn of(visits: impl IntoIterator<Item = Visit>) -> Self {
        let mut capture = Self::default();
        for (number, visit) in visits.into_iter().enumerate() {
            capture.add(number as u64 * 7000 + (number as u64 % 3) * 1500, &visit);
        }
        capture
    }

    fn add(&mut self, at: u64, visit: &Visit) {
        let number = self.0.len() as u16;
        let port = 20_000 + number;
        let (client, server) = ((CLIENT, port), visit.server);
        let mut seqs = [u32::from(number) * 100_000 + 1, u32::from(number) * 70_000 + 7];
        let (hello, answer) = (visit.client_bytes(number as u8), visit.server_bytes());
        let steps: [(usize, u8, &[u8]); 5] =
            [(0, 0x02, b""), (1, 0x12, b""), (0, 0x10, b""), (0, 0x18, &hello), (1, 0x18, &answer)];
        for (index, (from, flags, payload)) in steps.into_iter().enumerate() {
            let (source, destination) = if from == 0 { (client, server) } else { (server, client) };
            let ack = if flags & 0x10 == 0 { 0 } else { seqs[1 - from] };
            let mut packet = vec![0x45, 0];
            packet.extend(number_of(40 + payload.len()));
            packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
            packet.extend(source.0);
            packet.extend(destination.0);
            packet.extend([source.1.to_be_bytes(), destination.1.to_be_bytes()].concat());
            packet.extend([seqs[from].to_be_bytes(), ack.to_be_bytes()].concat());
            packet.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
            packet.extend(payload);
            seqs[from] += u32::from(flags & 2 != 0) + payload.len() as u32;
            self.0.push((at + index as u64 * 20, packet));
        }
    }

    fn frames(&self) -> impl Iterator<Item = Frame<'_>> + Send {
        self.0.iter().map(|(at, data)| Frame {
            ts: Timestamp::from_nanos((1_790_000_000_000 + at) * 1_000_000, 6),
            link: LinkType::RAW,
            data,
            wire_len: data.len() as u32,
        })
    }

    fn events(&self, observers: Observers, workers: usize) -> Vec<Event> {
        let mut analyzer = HuginnNet::builder_with(observers).workers(workers).block_bytes(4096).build();
        let mut events = Vec::new();
        analyzer.analyze(Frames::new(self.frames()), &mut |event: Event| events.push(event)).unwrap();
        events
    }

    /// The kinds, severities and reasons of the findings.
    fn alerts(&self) -> Vec<String> {
        let text = |event: &Event| {
            let alert = Alert::of(event)?;
            let Observation::Finding(finding) = &event.kind else { return None };
            Some(format!("{} {}: {finding}", alert.severity(), alert.kind().name()))
        };
        self.events(observers(), 1).iter().filter_map(text).collect()
    }
}

fn number_of(len: usize) -> [u8; 2] {
    (len as u16).to_be_bytes()
}

fn observers() -> Observers {
    Observers::default().findings(Some(FindingSettings::default()))
}

/// A ClientHello of Chromium, as a message.
fn browser_hello() -> Vec<u8> {
    let mut found = None;
    let sink = &mut |event: Event| {
        if let Observation::TlsClient(client) = &event.kind
            && client.client.hello.family() == Some(huginn_net::tls::ClientFamily::Chromium)
        {
            found.get_or_insert_with(|| client.client.hello.message().to_vec());
        }
    };
    let capture = CaptureReader::open(captures::path("tls-chromium.pcap")).unwrap();
    HuginnNet::builder().build().analyze(capture, sink).unwrap();
    found.unwrap()
}

/// A connection of a browser to a server with a name.
fn browsing() -> Visit {
    let certificate = certificate("CN=www.example.com", "CN=R11,O=Let's Encrypt,C=US");
    Visit { hello: Some(browser_hello()), ..visit([203, 0, 113, 9], 443, certificate) }
}

#[test]
fn unusual_servers_are_reported_with_their_marks() {
    let private = || certificate("CN=kq3x", "CN=Gate Authority");
    let own = || certificate("CN=kq3x", "CN=kq3x");
    let rows: [(&str, Visit, &str); 11] = [
        ("port and issuer", visit(OUTSIDE, 7084, private()), "medium port,private_issuer"),
        ("port and own issuer", visit(OUTSIDE, 447, own()), "medium port,private_issuer"),
        (
            "address as the server name",
            Visit { server_name: Some("198.51.100.7"), ..visit(OUTSIDE, 7084, private()) },
            "medium port,private_issuer",
        ),
        (
            "weak key",
            visit(OUTSIDE, 443, Certificate { key_bits: 1024, ..private() }),
            "medium private_issuer,weak_key",
        ),
        (
            "certificate of an authority",
            visit(OUTSIDE, 443, Certificate { is_ca: true, ..private() }),
            "medium private_issuer,authority",
        ),
        (
            "names of an example",
            visit(
                OUTSIDE,
                443,
                certificate("CN=example.com,OU=IT Department,O=Global Security", "CN=example.com,O=x"),
            ),
            "medium private_issuer,placeholder",
        ),
        (
            "TLS 1.0",
            Visit { version: 0x0301, ..visit(OUTSIDE, 443, own()) },
            "medium private_issuer,old_version",
        ),
        ("two marks inside", visit(INSIDE, 7084, private()), ""),
        (
            "three marks inside",
            visit(INSIDE, 7084, Certificate { years: 20, ..private() }),
            "low port,private_issuer,long_validity",
        ),
        (
            "three marks inside on a port of TLS",
            visit(INSIDE, 443, Certificate { years: 20, key_bits: 1024, ..private() }),
            "",
        ),
        ("TLS 1.3 on a port", visit_13(OUTSIDE, 7084), ""),
    ];
    for (name, visit, expected) in rows {
        let events = Capture::of([visit]).events(observers(), 1);
        let expected: Vec<&str> = Some(expected).filter(|text| !text.is_empty()).into_iter().collect();
        assert_eq!(described(&events), expected, "{name}");
    }
}

/// The severity and the marks of each unusual server.
fn described(events: &[Event]) -> Vec<String> {
    let text = |event: &Event| {
        let Observation::Finding(finding) = &event.kind else { return None };
        let FindingKind::UnusualServer(found) = &finding.kind else { panic!("{finding:?}") };
        let marks: Vec<_> = found.marks.iter().map(|mark| mark.name()).collect();
        let update = if finding.is_update { "update " } else { "" };
        Some(format!("{update}{} {}", Alert::of(event).unwrap().severity(), marks.join(",")))
    };
    events.iter().filter_map(text).collect()
}

#[test]
fn fingerprint_of_another_program_than_the_browser_is_a_mark() {
    let own = || certificate("CN=kq3x", "CN=kq3x");
    for (visit, expected) in [
        (visit_13(OUTSIDE, 7084), "low port,client"),
        (visit(OUTSIDE, 443, own()), "low private_issuer,client"),
        (visit(OUTSIDE, 7084, own()), "medium port,private_issuer,client"),
        // Other services have clients of their own.
        (visit(OUTSIDE, 8883, own()), ""),
    ] {
        let events = Capture::of([browsing(), visit]).events(observers(), 1);
        let expected: Vec<&str> = Some(expected).filter(|text| !text.is_empty()).into_iter().collect();
        assert_eq!(described(&events), expected);
    }
}

#[test]
fn regular_contacts_are_a_mark_that_updates_the_alert() {
    let mut capture = Capture::of([browsing()]);
    (1..12).for_each(|n| capture.add(n * 60_000, &visit_13(OUTSIDE, 7084)));
    let mut events = capture.events(observers(), 1);
    events.retain(|event| matches!(&event.kind, Observation::Finding(finding) if !matches!(finding.kind, FindingKind::Beacon(_))));
    assert_eq!(described(&events), ["low port,client", "update medium port,client,regular"]);
    let ids: Vec<_> = events.iter().filter_map(Alert::of).map(|alert| alert.id()).collect();
    assert_eq!(ids[0], ids[1]);
}

/// Servers without a name that are harmless.
#[test]
fn servers_of_known_kinds_are_silent() {
    let long = |names: Certificate| Certificate { years: 25, ..names };
    let weak = |names: Certificate| Certificate { years: 25, key_bits: 1024, is_ca: true, ..names };
    let own = |name: &str| certificate(name, name);
    let rows: Vec<(&str, Visit)> = vec![
        (
            "Kubernetes API",
            visit(
                INSIDE,
                6443,
                Certificate {
                    alternative_name: Some("kubernetes.default.svc".to_owned()),
                    ..certificate("CN=kube-apiserver", "CN=kubernetes")
                },
            ),
        ),
        (
            "Kubernetes API outside",
            visit(OUTSIDE, 6443, long(certificate("CN=kube-apiserver", "CN=kubernetes"))),
        ),
        (
            "Kubernetes API on another port",
            visit(OUTSIDE, 60443, certificate("CN=k3s,O=k3s", "CN=k3s-server-ca@17")),
        ),
        ("Kubernetes API over TLS 1.3", visit_13(OUTSIDE, 6443)),
        ("ESXi", visit(INSIDE, 902, weak(own("CN=esx1,OU=VMware ESX Server Default Certificate,O=VMware")))),
        (
            "ESXi, web page",
            visit(OUTSIDE, 443, weak(certificate("CN=esx1,O=VMware", "CN=esx1,O=VMware Installer"))),
        ),
        ("iDRAC", visit(INSIDE, 443, weak(own("CN=idrac-7XK2,OU=Remote Access Group,O=Dell Inc.")))),
        ("iDRAC outside", visit(OUTSIDE, 5900, weak(own("CN=idrac-7XK2,OU=iDRAC Group,O=Dell Inc.")))),
        ("MQTT", visit(OUTSIDE, 8883, long(certificate("CN=broker", "CN=Plant Authority")))),
        (
            "SQL Server",
            Visit {
                before: b"\x12\x01\x00\x2f",
                ..visit(INSIDE, 1433, weak(own("CN=SSL_Self_Signed_Fallback")))
            },
        ),
        ("SQL Server outside", visit(OUTSIDE, 1433, weak(own("CN=SSL_Self_Signed_Fallback")))),
        (
            "Syncthing",
            visit(OUTSIDE, 22000, long(own("CN=syncthing,OU=Automatically Generated,O=Syncthing"))),
        ),
        ("Syncthing on a mapped port", Visit { alpn: Some("bep/1.0"), ..visit_13(OUTSIDE, 41234) }),
        (
            "Tor",
            Visit {
                server_name: Some("www.ja4kzl2gq.com"),
                ..visit(OUTSIDE, 9001, certificate("CN=www.oqy3bxw2e.net", "CN=www.vz5tqk2he.com"))
            },
        ),
        (
            "Tor without a name",
            visit(
                OUTSIDE,
                9001,
                Certificate { key_bits: 1024, ..certificate("CN=www.oqy3bxw2e.net", "CN=www.vz5tqk2he.com") },
            ),
        ),
        (
            "Tor on another port",
            visit(
                OUTSIDE,
                9443,
                Certificate { key_bits: 1024, ..certificate("CN=www.oqy3bxw2e.net", "CN=www.vz5tqk2he.com") },
            ),
        ),
        ("Chromecast", visit(INSIDE, 8009, long(own("CN=7ff4b2c0-6f1d-11ee-b962-0242ac120002")))),
        (
            "activation of Microsoft",
            Visit {
                server_name: Some("activation.sls.microsoft.com"),
                ..visit(
                    OUTSIDE,
                    443,
                    weak(certificate(
                        "CN=activation.sls.microsoft.com",
                        "CN=Microsoft Update Secure Server CA 2.1,O=Microsoft Corporation",
                    )),
                )
            },
        ),
        (
            "activation without a name",
            visit(
                OUTSIDE,
                443,
                weak(certificate(
                    "CN=activation.sls.microsoft.com",
                    "CN=Microsoft Update Secure Server CA 2.1,O=Microsoft Corporation",
                )),
            ),
        ),
        (
            "web server with a public certificate",
            visit(OUTSIDE, 7084, certificate("CN=www.example.com", "CN=R11,O=Let's Encrypt,C=US")),
        ),
        (
            "VPN gateway",
            visit(
                OUTSIDE,
                10443,
                weak(certificate("CN=FGT60F,OU=FortiGate,O=Fortinet", "CN=support,O=Fortinet")),
            ),
        ),
        (
            "OpenVPN over TCP",
            Visit {
                before: b"\x00\x0e\x38\x01\x02\x03\x04\x05\x06\x07\x08\x00\x00\x00\x00\x00",
                ..visit(OUTSIDE, 4455, long(certificate("CN=server", "CN=Easy-RSA CA")))
            },
        ),
        (
            "remote desktop",
            Visit {
                before: b"\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x03\x00\x00\x00",
                ..visit(OUTSIDE, 33890, own("CN=WIN-7QK2"))
            },
        ),
        (
            "mail with STARTTLS",
            Visit {
                before: b"EHLO example.com\r\nSTARTTLS\r\n",
                ..visit(OUTSIDE, 2525, weak(own("CN=mail")))
            },
        ),
        ("directory", visit(INSIDE, 636, long(certificate("CN=dc1", "CN=corp-DC1-CA")))),
        ("printer", visit(INSIDE, 631, weak(own("CN=NPI4A,OU=HP-IPG,O=HP")))),
        ("router", visit(INSIDE, 443, weak(own("CN=192.168.1.1")))),
        ("controller of UniFi", visit(INSIDE, 8443, long(own("CN=UniFi,OU=UniFi,O=Ubiquiti Inc.")))),
        ("camera", visit(INSIDE, 443, weak(own("CN=HIKVISION,O=Hikvision")))),
        (
            "AnyDesk",
            visit(
                OUTSIDE,
                80,
                long(certificate(
                    "CN=AnyNet Relay,O=philandro Software GmbH",
                    "CN=AnyNet Root CA,O=philandro Software GmbH",
                )),
            ),
        ),
        ("loopback", visit([127, 0, 0, 1], 7084, weak(own("CN=kq3x")))),
    ];
    for (name, visit) in rows {
        for before in [vec![], vec![browsing()]] {
            // A browser of the host is one more mark.
            let visits = before.into_iter().chain([visit.clone()]);
            let alerts = Capture::of(visits).alerts();
            assert_eq!(alerts, [""; 0], "{name}");
        }
    }
}

#[test]
fn page_that_a_browser_opened_is_silent() {
    let by_browser = Visit {
        hello: Some(browser_hello()),
        ..visit(OUTSIDE, 7084, Certificate { key_bits: 1024, ..certificate("CN=kq3x", "CN=kq3x") })
    };
    assert_eq!(Capture::of([by_browser.clone()]).alerts(), [""; 0]);
    // An appliance that a program asks.
    let appliance = Certificate { years: 20, ..certificate("CN=nas", "CN=nas") };
    assert_eq!(Capture::of([visit(OUTSIDE, 443, appliance)]).alerts(), [""; 0]);
    let by_script = Visit { hello: None, ..by_browser.clone() };
    assert_eq!(Capture::of([by_script.clone()]).alerts().len(), 1);
    let resumed = Visit { certificate: None, ..by_script.clone() };
    assert_eq!(Capture::of([resumed, by_browser, by_script]).alerts(), [""; 0]);
}

#[test]
fn default_certificates_of_c2_programs_are_reported() {
    let own = |name: &str| certificate(name, name);
    let rows = [
        ("AsyncRAT", own("CN=AsyncRAT Server")),
        ("BitRAT", own("CN=BitRAT")),
        ("Cobalt Strike", own("CN=Major Cobalt Strike,OU=AdvancedPenTesting,O=cobaltstrike")),
        (
            "Cobalt Strike",
            Certificate { serial: vec![0x08, 0xbb, 0x00, 0xee], ..own("C=,ST=,L=,O=,OU=,CN=") },
        ),
        ("Covenant", own("CN=Covenant")),
        ("DcRat", certificate("CN=DcRat", "CN=DcRat Server,OU=qwqdanchun,O=DcRat By qwqdanchun,L=SH,C=CN")),
        ("Gozi", own("CN=*,OU=1,O=1,L=1,ST=1,C=XX")),
        ("Metasploit", certificate("CN=localhost", "CN=MetasploitSelfSignedCA")),
        ("Orcus", own("CN=Orcus Server")),
        ("PoshC2", own("CN=P18055077,OU=Jethpro,O=Pajfds,L=Minnetonka,ST=Minnesota,C=US")),
        ("Quasar", own("CN=Quasar Server CA")),
        ("Sliver", certificate("CN=multiplayer", "CN=operators")),
        ("VenomRAT", certificate("CN=VenomRAT", "CN=VenomRAT Server,OU=qwqdanchun")),
    ];
    for (program, found) in rows {
        for server_name in [None, Some("update.example.com")] {
            // On any port, inside or outside, and whatever else there is.
            let visit = Visit { server_name, ..visit(INSIDE, 443, found.clone()) };
            let events = Capture::of([visit.clone(), visit]).events(observers().handshakes(true), 1);
            let alerts: Vec<_> = events.iter().filter_map(Alert::of).collect();
            let [alert] = &*alerts else { panic!("{program}: {alerts:?}") };
            assert_eq!((alert.kind().name(), alert.severity()), ("c2_certificate", Severity::High));
            let json = JsonEvent::new(alert.event()).to_string();
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert_eq!((&json["program"], &json["server"]["ip"]), (&program.into(), &"10.0.0.200".into()));
            assert_eq!(json["target"], "10.0.0.200:443");
        }
    }
    for other in [own("CN=DcRat Fan Club"), own("CN=operators"), certificate("CN=Covenant", "CN=Health CA")] {
        assert_eq!(Capture::of([visit(INSIDE, 443, other)]).alerts(), [""; 0]);
    }
}

#[test]
fn findings_report_neither_handshakes_nor_certificates() {
    let own = certificate("CN=kq3x", "CN=kq3x");
    let named = Visit { server_name: Some("www.example.com"), ..visit(OUTSIDE, 443, own.clone()) };
    let capture = Capture::of([visit(OUTSIDE, 7084, own), named]);
    let kinds = |observers: Observers| {
        let events = capture.events(observers, 1);
        let count = |name| events.iter().filter(|event| EventKind::of(&event.kind).name() == name).count();
        (count("tls_certificates"), count("finding"))
    };
    assert_eq!(kinds(observers()), (0, 1));
    assert_eq!(kinds(observers().handshakes(true)), (2, 1));
    assert_eq!(kinds(Observers::default()), (0, 0));
    // Only the handshake without a name was followed.
    let mut analyzer = HuginnNet::builder_with(observers()).build();
    analyzer.analyze(Frames::new(capture.frames()), &mut |_: Event| {}).unwrap();
    assert_eq!(analyzer.protocol().counters().tls.handshakes.certificates, 1);
}

fn many() -> Capture {
    let own = || certificate("CN=kq3x", "CN=kq3x");
    let mut visits = vec![browsing()];
    for n in 0..40 {
        let port = 7000 + n % 7;
        visits.push(visit([198, 51, 100, n as u8], port, own()));
        visits.push(visit_13([198, 51, 100, 100 + n as u8], port));
    }
    Capture::of(visits)
}

#[test]
fn servers_are_those_of_one_worker() {
    let capture = many();
    let findings = |workers| {
        let mut events = capture.events(observers(), workers);
        events.retain(|event| matches!(event.kind, Observation::Finding(_)));
        events
    };
    assert_eq!(findings(1).len(), 68, "those on port 7000 have a service");
    assert!(findings(3) == findings(1));
}

#[test]
fn second_stage_reports_servers() {
    let mut capture = many();
    capture.add(900_000, &visit(OUTSIDE, 7084, certificate("CN=DcRat", "CN=DcRat Server")));
    let mut first = Analyzer::builder_with(WithoutHosts::new(observers())).build();
    let mut hosts = observers().host_table();
    let mut found = Vec::new();
    let sink = &mut |event: huginn_net::core::Event<Route<Observation, HostUpdate>>| {
        let Route::Update(update) = event.into_route() else { return };
        let record = serde_json::to_string(&HostUpdateRecord::new(&update).unwrap()).unwrap();
        let record: HostUpdateRecord = serde_json::from_str(&record).unwrap();
        hosts.on_update(record.into_event(Database::builtin()).unwrap(), &mut |event| {
            found.extend(matches!(event.kind, Observation::Finding(_)).then_some(event));
        });
    };
    first.analyze(Frames::new(capture.frames()), sink).unwrap();
    let mut whole = capture.events(observers(), 1);
    whole.retain(|event| matches!(event.kind, Observation::Finding(_)));
    assert!(found == whole && found.len() == 69, "{} and {}", found.len(), whole.len());
}
