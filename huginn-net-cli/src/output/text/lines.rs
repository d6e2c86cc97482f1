//! Events as lines: time, client, direction, server, protocol, what was learned.

use std::fmt::{self, Display};
use std::io::Write;
use std::net::SocketAddr;

use anstyle::{AnsiColor, Effects, Style};
use huginn_net::alert::Alert;
use huginn_net::core::{Escaped, IpText, TransportKind};
use huginn_net::http::Headers;
use huginn_net::observation::Connection;
use huginn_net::observation::{
    HttpRequestObservation, HttpResponseObservation, HttpVerdict, Match, SshClientObservation, SystemCheck,
    TcpObservation, TlsCertificatesObservation, TlsClientObservation, UptimeObservation,
};
use huginn_net::record::EventKind;
use huginn_net::ssh::{Negotiation, SshPeer};
use huginn_net::tls::{TlsHandshake, TlsServer, Transport};
use huginn_net::{Event, Observation, Side, Timestamp};

use super::blocks::{Joined, alert_in_words, certificate_remarks, protocol};
use crate::limits::MAX_LINE_TEXT;
use crate::output::Zone;

/// Width of the column of addresses: that of an IPv4 address and a port.
const ADDRESS_WIDTH: usize = 21;
/// Width of the column of interfaces.
const INTERFACE_WIDTH: usize = 8;
/// Width of the column of protocols.
const PROTOCOL_WIDTH: usize = 8;
/// Characters of the time: hours to microseconds.
const TIME_CHARACTERS: usize = 15;

/// The styles of the lines.
pub(crate) struct Lines {
    zone: Zone,
    time: Style,
    protocol: Style,
    known: Style,
    unknown: Style,
    alarm: Style,
}

impl Lines {
    pub(crate) fn new(colour: bool, zone: Zone) -> Self {
        let style = |style: Style| if colour { style } else { Style::new() };
        Self {
            zone,
            time: style(Style::new().effects(Effects::DIMMED)),
            protocol: style(AnsiColor::Cyan.on_default()),
            known: style(AnsiColor::Green.on_default().effects(Effects::BOLD)),
            unknown: style(AnsiColor::Yellow.on_default()),
            alarm: style(AnsiColor::Red.on_default().effects(Effects::BOLD)),
        }
    }

    /// Appends an event. `interface`: the name of the interface that captured the packet, if there are several.
    pub(crate) fn write(&self, text: &mut Vec<u8>, event: &Event, interface: Option<&str>) {
        // The hellos have what a completed handshake shows.
        if matches!(&event.kind, Observation::TlsHandshake(observation) if observation.handshake.completed) {
            return;
        }
        let mut line = Line { text, styles: self };
        line.head(event, interface);
        line.words(event);
        if let Some(tunnel) = &event.flow.tunnel {
            line.put(format_args!(" [{}]", Joined(tunnel.layers())));
        }
        text.push(b'\n');
    }

    /// Appends an event as a comment on its packet: the protocol and what the line says of it, without time and addresses.
    pub(crate) fn write_comment(&self, text: &mut Vec<u8>, event: &Event) {
        let mut line = Line { text, styles: self };
        line.put(format_args!("{}: ", protocol_of(event)));
        line.words(event);
    }

    /// Whether an event is about its host rather than about a packet: a tool, a contradiction, a change.
    pub(crate) fn is_alarm(event: &Event) -> bool {
        matches!(
            event.kind,
            Observation::Mismatch(_)
                | Observation::Conflict(_)
                | Observation::Finding(_)
                | Observation::Tool(_)
                | Observation::Match(_)
                | Observation::HostChange(_)
                | Observation::IpSharing(_)
        )
    }
}

/// A line that is being written.
struct Line<'a> {
    text: &'a mut Vec<u8>,
    styles: &'a Lines,
}

impl Line<'_> {
    /// Writes time, interface, addresses and protocol.
    fn head(&mut self, event: &Event, interface: Option<&str>) {
        let Lines { zone, time: time_style, alarm, protocol, .. } = self.styles;
        let style = if Lines::is_alarm(event) { alarm } else { protocol };
        let time = zone.shift(event.ts).text();
        let time = time.as_ref().get(11..).unwrap_or_default();
        let time = time.split(|byte| *byte == b'Z').next().unwrap_or_default();
        self.put_styled(time_style, time.get(..TIME_CHARACTERS).unwrap_or(time));
        self.text.extend_from_slice(b"  ");
        if let Some(interface) = interface {
            let name = format!("{:#}", Escaped(interface.as_bytes()));
            self.put(format_args!("{name:INTERFACE_WIDTH$} "));
        }
        self.put_address(event.flow.client);
        self.text.extend_from_slice(match event.subject {
            Side::Client => b" > ",
            Side::Server => b" < ",
        });
        self.put_address(event.flow.server);
        self.text.extend_from_slice(b"  ");
        let protocol = protocol_of(event).as_bytes();
        self.put_styled(style, protocol);
        self.put_blanks(PROTOCOL_WIDTH.saturating_add(2).saturating_sub(protocol.len()));
    }

    /// Writes what an event found, and what else is known of it.
    fn words(&mut self, event: &Event) {
        let alert = Alert::of(event);
        if let Some(alert) = &alert {
            self.alarm(alert.severity());
            self.put(format_args!(" {}: ", alert.kind().name()));
        }
        match &event.kind {
            Observation::Tcp(observation) => self.tcp(observation),
            Observation::HttpRequest(observation) => self.http_request(observation),
            Observation::HttpResponse(observation) => self.http_response(observation),
            Observation::SshClient(SshClientObservation { peer, .. }) => self.ssh(peer),
            Observation::SshServer(observation) => self.ssh(&observation.peer),
            Observation::SshHandshake(observation) => self.ssh_handshake(&observation.negotiation),
            Observation::TlsClient(observation) => self.tls_client(observation),
            Observation::TlsServer(observation) => self.tls_server(&observation.server),
            Observation::TlsCertificates(observation) => {
                self.put(certificates_in_words(observation, event.ts))
            }
            Observation::TlsHandshake(observation) => self.put(handshake_in_words(&observation.handshake)),
            Observation::Uptime(UptimeObservation { uptime, .. }) => {
                let ((days, hours, minutes), modulo) = (uptime.days_hours_minutes(), uptime.modulo_days());
                self.put(format_args!("{days} d {hours} h {minutes} min, modulo {modulo} d"));
            }
            Observation::HostChange(observation) => self.put(observation.change_in_words()),
            Observation::IpSharing(observation) => self.put(observation.sharing_in_words()),
            Observation::Mismatch(found) => {
                self.put(format_args!("{:#}", Escaped(found.to_string().as_bytes())))
            }
            Observation::Connection(connection) => self.connection(connection),
            Observation::Match(found) => self.matched(found, event.packet_number),
            _ => self.put_optional("", alert.as_ref().map(Alert::reason)),
        }
        // The lines of matches have the labels of watched entries.
        for entry in event.kind.listed().into_iter().flatten().filter(|entry| !entry.is_watched()) {
            self.put(", ");
            self.known(Cut(entry.label().as_bytes()));
        }
        if let Some(conflict) = event.conflict {
            self.put(", ");
            self.alarm(format_args!("conflict: {}", conflict.name()));
        }
    }

    fn tcp(&mut self, observation: &TcpObservation) {
        match &observation.matched {
            Some(found) => self.known(found.name()),
            None => self.unknown(format_args!("unknown system {}", observation.signature)),
        }
        self.put_optional(", ", observation.distance.in_words());
        self.put_optional(", ", observation.link.as_ref());
    }

    fn http_request(&mut self, observation: &HttpRequestObservation) {
        let HttpRequestObservation { request, software, verdict, .. } = observation;
        let by_settings = software.as_ref().map(|found| &found.software);
        match (verdict.name(), by_settings, request.user_agent()) {
            (Some(name), ..) => self.known(name),
            (None, Some(software), _) => self.known(software),
            (None, None, Some(user_agent)) => self.unknown(Cut(user_agent)),
            (None, None, None) => self.unknown("unknown client"),
        }
        if verdict.matched.is_some() || software.is_some() {
            self.contradicting_text(verdict);
        }
        self.claim(verdict);
        let (host, path) = (request.host().unwrap_or_default(), request.path().unwrap_or_default());
        self.put(format_args!(", {} {}{}", Cut(request.method()), Cut(host), Cut(path)));
        self.remarks(request.headers(), observation.decrypted);
    }

    fn http_response(&mut self, observation: &HttpResponseObservation) {
        let HttpResponseObservation { response, verdict, .. } = observation;
        match (verdict.name(), response.server()) {
            (Some(name), _) => self.known(name),
            (None, Some(server)) => self.unknown(Cut(server)),
            (None, None) => self.unknown("unknown server"),
        }
        if verdict.matched.is_some() {
            self.contradicting_text(verdict);
        }
        self.claim(verdict);
        self.put_optional(", ", response.status());
        if !response.reason().is_empty() {
            let separator = if response.status().is_some() { " " } else { ", " };
            self.put_optional(separator, Some(Cut(response.reason())));
        }
        self.remarks(response.headers(), observation.decrypted);
    }

    /// Writes the User-Agent or Server header beside the name of the software that it contradicts.
    fn contradicting_text(&mut self, verdict: &HttpVerdict) {
        if let Some(text) = verdict.contradicting_text() {
            self.put(" ");
            self.unknown(format_args!("\"{}\"", Cut(text)));
        }
    }

    /// Writes that a head was encrypted, and that fields of it are missing.
    fn remarks(&mut self, headers: &Headers, decrypted: bool) {
        if decrypted {
            self.put(", decrypted");
        }
        if headers.is_cut() {
            self.put(", ");
            self.alarm("head cut");
        }
    }

    /// Writes what of the head contradicts TCP: the system that it claims, or the software.
    fn claim(&mut self, verdict: &HttpVerdict) {
        let SystemCheck { claimed, claim_agrees, agrees, .. } = &verdict.system;
        match (claimed, claim_agrees, agrees) {
            (Some(claim), Some(false), _) => {
                self.put(" ");
                self.alarm(format_args!("(claims {claim})"));
            }
            (_, _, Some(false)) => {
                self.put(" ");
                self.alarm("(software of another system)");
            }
            _ => {}
        }
    }

    fn tls_client(&mut self, observation: &TlsClientObservation) {
        let hello = &observation.client.hello;
        match observation.software() {
            Some(found) => self.known(&found.software),
            None => self.unknown("unknown client"),
        }
        match hello.server_name() {
            Some(name) => self.put_optional(", ", Some(Cut(name))),
            None => self.put(", no server name"),
        }
        self.put_optional(", ", Some(hello.ja4()));
    }

    fn tls_server(&mut self, server: &TlsServer) {
        let hello = &server.hello;
        let again = if hello.is_retry_request() { ", HelloRetryRequest" } else { "" };
        let (protocol, suite) = (protocol(hello.transport(), hello.version()), hello.cipher_suite());
        self.put(format_args!("{protocol}{again}, cipher {suite:04x}"));
        self.put_optional(", ", hello.alpn().map(Cut));
    }

    fn ssh(&mut self, peer: &SshPeer) {
        self.known(Cut(peer.identification.software_version()));
        self.put_optional(", HASSH ", peer.hassh());
    }

    fn ssh_handshake(&mut self, negotiation: &Negotiation<'_>) {
        if let Some(list) = negotiation.unmatched() {
            return self.alarm(format_args!("no match in {list}"));
        }
        self.known(Cut(negotiation.kex().unwrap_or_default()));
        if negotiation.is_post_quantum() == Some(true) {
            self.put(", post-quantum");
        }
        for name in [negotiation.host_key(), negotiation.cipher(Side::Server)] {
            self.put_optional(", ", Some(Cut(name.unwrap_or_default())));
        }
    }

    fn matched(&mut self, found: &Match, packet: u64) {
        let Match { list, line, kind, value, label, event, server_name, host, .. } = found;
        if !label.is_empty() {
            self.alarm(Cut(label.as_bytes()));
            self.put(", ");
        }
        self.put(format_args!("{} {} of {event}", kind.name(), Cut(value.as_bytes())));
        self.put_optional(", ", server_name.as_deref().or(host.as_deref()).map(Cut));
        self.put_optional(", ", Some(Cut(list.as_bytes())));
        self.put_optional(":", *line);
        self.put_optional(", packet ", Some(packet));
    }

    fn connection(&mut self, connection: &Connection) {
        let Connection { client, server, .. } = connection;
        self.put(format_args!(
            "{:.6} s, {} + {} packets, {} + {} bytes",
            connection.duration(),
            client.packets,
            server.packets,
            client.bytes,
            server.bytes
        ));
        self.put_optional(", ", connection.host.as_deref().map(Cut));
        let tls = connection.tls_client.as_ref().map(|found| &found.software);
        for name in [
            connection.client_system.as_ref().map(|label| label as &dyn Display),
            connection.client_software.as_ref().map(|name| name as &dyn Display),
            tls.as_ref().map(|software| software as &dyn Display),
        ]
        .into_iter()
        .flatten()
        {
            self.put(", ");
            self.known(name);
        }
        for name in &connection.blind_spots {
            self.put(", ");
            self.alarm(name);
        }
    }

    fn known(&mut self, value: impl Display) {
        self.put_in(&self.styles.known, value);
    }

    fn unknown(&mut self, value: impl Display) {
        self.put_in(&self.styles.unknown, value);
    }

    fn alarm(&mut self, value: impl Display) {
        self.put_in(&self.styles.alarm, value);
    }

    /// Writes a value in a style.
    fn put_in(&mut self, style: &Style, value: impl Display) {
        if style.is_plain() { self.put(value) } else { self.put(format_args!("{style}{value}{style:#}")) }
    }

    /// Writes text in a style.
    fn put_styled(&mut self, style: &Style, text: &[u8]) {
        if style.is_plain() {
            return self.text.extend_from_slice(text);
        }
        self.put(style);
        self.text.extend_from_slice(text);
        self.put(format_args!("{style:#}"));
    }

    /// Writes a value after a text; nothing without a value.
    fn put_optional(&mut self, before: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.put(format_args!("{before}{value}"));
        }
    }

    fn put(&mut self, value: impl Display) {
        // Writing to memory does not fail.
        let _ = write!(self.text, "{value}");
    }

    /// Writes an address and a port, and fills their column with blanks.
    fn put_address(&mut self, address: SocketAddr) {
        let ip = IpText::new(address.ip());
        let mut digits = itoa::Buffer::new();
        let port = digits.format(address.port()).as_bytes();
        let (before, after): (&[u8], &[u8]) = if address.is_ipv6() { (b"[", b"]:") } else { (b"", b":") };
        let start = self.text.len();
        [before, ip.as_bytes(), after, port].iter().for_each(|part| self.text.extend_from_slice(part));
        let written = self.text.len().saturating_sub(start);
        self.put_blanks(ADDRESS_WIDTH.saturating_sub(written));
    }

    fn put_blanks(&mut self, count: usize) {
        self.text.resize(self.text.len().saturating_add(count), b' ');
    }
}

/// The protocol, or what a conclusion is about.
fn protocol_of(event: &Event) -> &'static str {
    match &event.kind {
        observation @ Observation::Tcp(_) => EventKind::of(observation).title(),
        Observation::HttpRequest(_) | Observation::HttpResponse(_) => "HTTP",
        Observation::SshClient(_) | Observation::SshServer(_) | Observation::SshHandshake(_) => "SSH",
        Observation::TlsClient(observation) => transport(observation.client.hello.transport()),
        Observation::TlsServer(observation) => transport(observation.server.hello.transport()),
        Observation::TlsHandshake(observation) => transport(observation.handshake.transport),
        Observation::TlsCertificates(observation) => transport(observation.certificates.transport),
        Observation::Uptime(_) => "uptime",
        Observation::HostChange(_) => "change",
        Observation::IpSharing(_) => "sharing",
        Observation::Mismatch(_) => "mismatch",
        Observation::Conflict(_) | Observation::Finding(_) | Observation::Tool(_) | Observation::Match(_) => {
            "alert"
        }
        Observation::Connection(_) => match event.flow.transport {
            TransportKind::Tcp => "TCP end",
            TransportKind::Udp => "UDP end",
        },
        _ => "other",
    }
}

const fn transport(transport: Transport) -> &'static str {
    match transport {
        Transport::Tls => "TLS",
        Transport::Quic => "QUIC",
        Transport::Dtls => "DTLS",
    }
}

/// The first certificate, and remarks about it.
pub(crate) fn certificates_in_words(observation: &TlsCertificatesObservation, ts: Timestamp) -> String {
    let Some(first) = observation.certificates.certificates.first() else {
        return "no certificate".to_owned();
    };
    let mut text = format!("certificate {}", Cut(first.to_string().as_bytes()));
    for remark in certificate_remarks(observation, ts) {
        text.push_str(", ");
        text.push_str(remark);
    }
    text
}

/// Whether a handshake completed, and its alerts.
pub(crate) fn handshake_in_words(found: &TlsHandshake) -> String {
    let mut text = if found.completed { "handshake completed" } else { "handshake failed" }.to_owned();
    for alert in &found.alerts {
        text.push_str(", ");
        text.push_str(&alert_in_words(*alert));
    }
    if let (Some(code), []) = (found.quic_error, &*found.alerts) {
        text.push_str(&format!(", QUIC error {code}"));
    }
    text
}

/// Captured bytes without control characters, cut after [`MAX_LINE_TEXT`] bytes.
struct Cut<'a>(&'a [u8]);

impl Display for Cut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.get(..MAX_LINE_TEXT) {
            Some(start) if start.len() < self.0.len() => write!(f, "{:#}...", Escaped(start)),
            _ => write!(f, "{:#}", Escaped(self.0)),
        }
    }
}
