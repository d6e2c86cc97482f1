//! Events as flat JSON objects.

mod flow;
mod host;
mod object;

use std::fmt;
use std::str;

use huginn_net_db::{ClientMatch, Label};
use huginn_net_http::language;
use huginn_net_ssh::SshPeer;
use huginn_net_tcp::{Clock, Handshake};
use huginn_net_tls::{Ja4Form, TlsClient, TlsServer};

pub use self::host::JsonHost;

use self::object::Object;
use crate::connection::Connection;
use crate::consistency::Consistency;
use crate::finding::{
    ChangeFinding, HttpRequestFinding, HttpResponseFinding, HttpVerdict, MtuFinding, TcpFinding,
    TlsClientFinding, UptimeFinding,
};
use crate::{Escaped, Event, Finding};

/// The names of all event types, as the field `event` has them.
pub const EVENT_NAMES: [&str; 14] = [
    "tcp_syn",
    "tcp_syn_ack",
    "mtu",
    "uptime",
    "host_change",
    "ip_sharing",
    "mismatch",
    "connection",
    "http_request",
    "http_response",
    "tls_client",
    "tls_server",
    "ssh_client",
    "ssh_server",
];

/// An event as one flat JSON object (RFC 8259): the common fields, then the fields of the event type.
///
/// Absent values are `null`; absent `tunnel`, `file` and `interface` fields are omitted. [`Display`](fmt::Display) is the
/// object, in one line.
#[derive(Clone, Copy, Debug)]
pub struct JsonEvent<'a> {
    /// The event.
    pub event: &'a Event,
    /// The capture file, if several are read.
    pub file: Option<&'a str>,
}

impl JsonEvent<'_> {
    /// Appends the object to a buffer, in UTF-8 and without a newline.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        self.write(None, out);
    }

    /// As [`write_to`](Self::write_to), with the name of the interface that captured the packet.
    pub fn write_with_interface(&self, interface: &str, out: &mut Vec<u8>) {
        self.write(Some(interface), out);
    }

    fn write(&self, interface: Option<&str>, out: &mut Vec<u8>) {
        let Self { event, file } = self;
        let mut object = Object::begin(out);
        object.plain("ts", event.ts.text());
        object.plain("event", event_name(&event.kind));
        flow::write(&mut object, &event.flow, event.subject.choose("client", "server"));
        if let Some(file) = file {
            object.string("file", file);
        }
        if let Some(interface) = interface {
            object.string("interface", interface);
        }
        object.number("packet", event.packet_number);
        match &event.kind {
            Finding::Tcp(finding) => write_tcp(&mut object, finding),
            Finding::Mtu(MtuFinding { mtu, link }) => {
                object.number("mtu", mtu.0);
                object.or_null("link", link.as_deref(), Object::string);
            }
            Finding::HttpRequest(finding) => write_request(&mut object, finding),
            Finding::HttpResponse(finding) => write_response(&mut object, finding),
            Finding::SshClient(finding) => {
                write_ssh(&mut object, &finding.peer);
                write_software(&mut object, finding.software().as_ref());
            }
            Finding::SshServer(peer) => write_ssh(&mut object, peer),
            Finding::TlsClient(finding) => write_tls_client(&mut object, finding),
            Finding::TlsServer(server) => write_tls_server(&mut object, server),
            Finding::Uptime(UptimeFinding { clock }) => {
                write_clock(&mut object, clock);
                object.float("raw_frequency_hz", clock.raw_frequency());
            }
            Finding::HostChange(ChangeFinding { reasons, hits })
            | Finding::IpSharing(ChangeFinding { reasons, hits }) => {
                object.texts("reasons", reasons.names());
                object.numbers("hits", *hits);
            }
            Finding::Mismatch(Consistency { outcome, reasons }) => {
                object.token("outcome", outcome);
                object.texts("reasons", reasons.iter().map(|reason| Escaped(reason.as_bytes())));
            }
            Finding::Connection(connection) => write_connection(&mut object, connection),
        }
        object.end();
    }
}

impl fmt::Display for JsonEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Vec::new();
        self.write_to(&mut line);
        f.write_str(str::from_utf8(&line).map_err(|_| fmt::Error)?)
    }
}

/// The name of the event type: one of [`EVENT_NAMES`].
pub fn event_name(finding: &Finding) -> &'static str {
    match finding {
        Finding::Tcp(finding) => match finding.signature.handshake {
            Handshake::Syn => "tcp_syn",
            Handshake::SynAck => "tcp_syn_ack",
        },
        Finding::Mtu(_) => "mtu",
        Finding::HttpRequest(_) => "http_request",
        Finding::HttpResponse(_) => "http_response",
        Finding::SshClient(_) => "ssh_client",
        Finding::SshServer(_) => "ssh_server",
        Finding::TlsClient(_) => "tls_client",
        Finding::TlsServer(_) => "tls_server",
        Finding::Uptime(_) => "uptime",
        Finding::HostChange(_) => "host_change",
        Finding::IpSharing(_) => "ip_sharing",
        Finding::Mismatch(_) => "mismatch",
        Finding::Connection(_) => "connection",
    }
}

fn write_tcp(object: &mut Object<'_>, finding: &TcpFinding) {
    let TcpFinding { signature, distance, params, .. } = finding;
    object.written("sig", |text| signature.write_to(text));
    write_label(object, finding.label());
    object.bool("fuzzy", params.fuzzy);
    object.number("distance", distance.hops);
    object.token("params", params);
}

fn write_clock(object: &mut Object<'_>, clock: &Clock) {
    object.number("minutes", clock.uptime_minutes());
    object.number("modulo_days", clock.modulo_days());
    object.number("frequency_hz", clock.frequency());
}

fn write_request(object: &mut Object<'_>, finding: &HttpRequestFinding) {
    let HttpRequestFinding { request, exchange, akamai, software, verdict } = finding;
    object.token("version", request.version());
    object.number("exchange", *exchange);
    object.wire("method", request.method());
    object.or_null("host", request.host(), Object::wire);
    object.or_null("path", request.path(), Object::wire);
    object.or_null("user_agent", request.user_agent(), Object::wire);
    let tag = request.language();
    object.or_null("language", tag.map(|tag| language::name(tag).unwrap_or(tag)), Object::string);
    write_http(object, verdict);
    if let Some(akamai) = akamai {
        object.text("akamai", akamai);
        object.token("akamai_hash", akamai.hash());
        write_software(object, software.as_ref());
    }
}

fn write_response(object: &mut Object<'_>, finding: &HttpResponseFinding) {
    let HttpResponseFinding { response, exchange, verdict } = finding;
    object.token("version", response.version());
    object.number("exchange", *exchange);
    object.number("status", response.status());
    object.or_null("server_header", response.server(), Object::wire);
    write_http(object, verdict);
}

fn write_http(object: &mut Object<'_>, verdict: &HttpVerdict) {
    object.text("sig", verdict.raw_sig());
    write_label(object, verdict.label());
    object.token("params", verdict.params);
    object.or_null("claimed_os", verdict.system.claimed.as_deref(), Object::string);
    object.or_null("os_agrees", verdict.system.agrees, Object::bool);
}

fn write_ssh(object: &mut Object<'_>, peer: &SshPeer) {
    let SshPeer { identification, .. } = peer;
    object.wire("protocol", identification.protocol_version());
    object.wire("banner", identification.as_bytes());
    let algorithms = peer.hassh_algorithms();
    object.or_null("hassh", algorithms.map(|algorithms| algorithms.hash()), Object::token);
    let text = algorithms.map(|algorithms| algorithms.to_bytes());
    object.or_null("hassh_algorithms", text.as_deref(), Object::wire);
}

fn write_tls_client(object: &mut Object<'_>, finding: &TlsClientFinding) {
    let TlsClient { hello, retry, .. } = &finding.client;
    object.token("transport", hello.transport());
    object.token("version", hello.version());
    object.or_null("sni", hello.server_name(), Object::wire);
    object.texts("alpn", hello.alpn().map(Escaped));
    object.bool("ech", hello.has_ech());
    object.bool("retry", *retry);
    for (form, name, name_of_raw) in [
        (Ja4Form::Sorted, "ja4", "ja4_r"),
        (Ja4Form::Original, "ja4_o", "ja4_ro"),
        (Ja4Form::SessionStable, "ja4_s1", "ja4_s1r"),
    ] {
        let raw = hello.ja4_raw(form);
        object.token(name, raw.ja4());
        object.token(name_of_raw, raw);
    }
    let ja3 = hello.ja3();
    object.plain("ja3", ja3.as_str());
    object.token("ja3_hash", ja3.hash());
    write_software(object, finding.software().as_ref());
    match finding.listed() {
        Some(entries) if entries.is_empty() => object.null("listed"),
        Some(entries) => object.objects("listed", entries, |object, entry| {
            object.string("label", entry.label());
            object.bool("watch", entry.is_watched());
        }),
        None => {}
    }
}

/// `{"library", "application", "versions", "candidates", "match"}`, with `nearest` for a structural match; or null.
fn write_software(object: &mut Object<'_>, found: Option<&ClientMatch>) {
    let Some(ClientMatch { software, kind, nearest, .. }) = found else { return object.null("software") };
    object.object("software", |object| {
        object.or_null("library", software.library.as_deref(), Object::string);
        object.or_null("application", software.application.as_deref(), Object::string);
        object.or_null("versions", software.versions.as_deref(), Object::string);
        object.texts("candidates", software.candidates.iter().map(|text| Escaped(text.as_bytes())));
        object.token("match", kind);
        if let Some(nearest) = nearest {
            object.object("nearest", |object| {
                object.token("ja4_s1", nearest.ja4_s1);
                object.text("name", &nearest.software);
                object.token("difference", &nearest.difference);
            });
        }
    });
}

fn write_tls_server(object: &mut Object<'_>, server: &TlsServer) {
    let TlsServer { hello, .. } = server;
    object.token("transport", hello.transport());
    object.token("version", hello.version());
    object.token("cipher", format_args!("{:04x}", hello.cipher_suite()));
    object.or_null("alpn", hello.alpn(), Object::wire);
    object.bool("retry", hello.is_retry_request());
    let ja3s = hello.ja3s();
    object.plain("ja3s", ja3s.as_str());
    object.token("ja3s_hash", ja3s.hash());
}

fn write_connection(object: &mut Object<'_>, connection: &Connection) {
    object.plain("start", connection.start.text());
    object.float("duration", connection.duration());
    for (name, number) in connection.traffic() {
        object.number(name, number);
    }
    object.or_null("host", connection.host.as_deref(), Object::wire);
    object.or_null("client_system", connection.client_system.as_deref(), Object::text);
    object.or_null("server_system", connection.server_system.as_deref(), Object::text);
    object.or_null("client_software", connection.client_software.as_deref(), Object::string);
    object.or_null("server_software", connection.server_software.as_deref(), Object::text);
    object.or_null("tls_client", connection.tls_client.as_ref().map(|found| &found.software), Object::text);
    object.or_null("tls_version", connection.tls_version, Object::token);
    object.or_null("ja4", connection.ja4, Object::token);
    object.or_null("hassh", connection.hassh, Object::token);
    object.or_null("hassh_server", connection.hassh_server, Object::token);
    object.or_null("mismatch", connection.mismatch, Object::token);
}

/// `{"class", "name", "flavor", "generic"}`, or null.
fn write_label(object: &mut Object<'_>, label: Option<&Label>) {
    let Some(label) = label else { return object.null("label") };
    object.object("label", |object| {
        object.string("class", label.class.as_deref().unwrap_or("!"));
        object.string("name", &label.name);
        object.or_null("flavor", label.flavor.as_deref(), Object::string);
        object.bool("generic", label.generic);
    });
}
