//! Events as lines: time, client, direction, server, protocol, what was learned.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::net::SocketAddr;

use anstyle::{AnsiColor, Effects, Style};
use huginn_net::alert::Alert;
use huginn_net::core::{IpText, TransportKind};
use huginn_net::finding::Connection;
use huginn_net::finding::{
    HttpRequestFinding, HttpResponseFinding, HttpVerdict, Match, SshClientFinding, SystemCheck, TcpFinding,
    TlsCertificatesFinding, TlsClientFinding, UptimeFinding,
};
use huginn_net::http::Headers;
use huginn_net::record::EventKind;
use huginn_net::ssh::{Negotiation, SshPeer};
use huginn_net::tls::{TlsHandshake, TlsServer, Transport};
use huginn_net::{Escaped, Event, Finding, Side, Timestamp};

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
        let plain = Style::new();
        if !colour {
            return Self { zone, time: plain, protocol: plain, known: plain, unknown: plain, alarm: plain };
        }
        Self {
            zone,
            time: plain.effects(Effects::DIMMED),
            protocol: AnsiColor::Cyan.on_default(),
            known: AnsiColor::Green.on_default().effects(Effects::BOLD),
            unknown: AnsiColor::Yellow.on_default(),
            alarm: AnsiColor::Red.on_default().effects(Effects::BOLD),
        }
    }

    /// Writes an event. `interface`: the name of the interface that
    /// captured the packet, if there are several.
    pub(crate) fn write(
        &self,
        out: &mut impl Write,
        event: &Event,
        interface: Option<&str>,
    ) -> io::Result<()> {
        // The hellos have what a completed handshake shows.
        if matches!(&event.kind, Finding::TlsHandshake(finding) if finding.handshake.completed) {
            return Ok(());
        }
        self.write_head(out, event, interface)?;
        self.write_words(out, event)?;
        if let Some(tunnel) = &event.flow.tunnel {
            write!(out, " [{}]", Joined(tunnel.layers()))?;
        }
        out.write_all(b"\n")
    }

    /// Writes an event as a comment on its packet: the protocol and what the line says of it, without time and addresses.
    pub(crate) fn write_comment(&self, out: &mut impl Write, event: &Event) -> io::Result<()> {
        write!(out, "{}: ", protocol_of(event))?;
        self.write_words(out, event)
    }

    /// Writes what an event found, and what else is known of it.
    fn write_words(&self, out: &mut impl Write, event: &Event) -> io::Result<()> {
        if let Some(alert) = Alert::of(event) {
            let style = self.alarm;
            write!(out, "{style}{}{style:#} {}: ", alert.severity(), alert.kind().name())?;
        }
        self.write_content(out, event)?;
        // The lines of matches have the labels of watched entries.
        for entry in event.kind.listed().into_iter().flatten().filter(|entry| !entry.is_watched()) {
            let known = self.known;
            write!(out, ", {known}{}{known:#}", Cut(entry.label().as_bytes()))?;
        }
        if let Some(conflict) = event.conflict {
            let alarm = self.alarm;
            write!(out, ", {alarm}conflict: {}{alarm:#}", conflict.as_str())?;
        }
        Ok(())
    }

    /// Whether an event is about its host rather than about a packet: a tool, a contradiction, a change.
    pub(crate) fn is_alarm(event: &Event) -> bool {
        matches!(
            event.kind,
            Finding::Mismatch(_)
                | Finding::Conflict(_)
                | Finding::Notice(_)
                | Finding::Tool(_)
                | Finding::Match(_)
                | Finding::HostChange(_)
                | Finding::IpSharing(_)
        )
    }

    /// Writes time, interface, addresses and protocol.
    fn write_head(&self, out: &mut impl Write, event: &Event, interface: Option<&str>) -> io::Result<()> {
        let style = if Self::is_alarm(event) { self.alarm } else { self.protocol };
        let time = self.zone.shift(event.ts).text();
        let time = time.as_ref().get(11..).unwrap_or_default();
        let time = time.split(|byte| *byte == b'Z').next().unwrap_or_default();
        write_styled(out, self.time, time.get(..TIME_CHARACTERS).unwrap_or(time))?;
        out.write_all(b"  ")?;
        if let Some(interface) = interface {
            let name = format!("{:#}", Escaped(interface.as_bytes()));
            write!(out, "{name:INTERFACE_WIDTH$} ")?;
        }
        write_address(out, event.flow.client)?;
        out.write_all(match event.subject {
            Side::Client => b" > ",
            Side::Server => b" < ",
        })?;
        write_address(out, event.flow.server)?;
        out.write_all(b"  ")?;
        let protocol = protocol_of(event).as_bytes();
        write_styled(out, style, protocol)?;
        write_blanks(out, PROTOCOL_WIDTH.saturating_add(2).saturating_sub(protocol.len()))
    }

    /// Writes what an event found.
    fn write_content(&self, out: &mut impl Write, event: &Event) -> io::Result<()> {
        match &event.kind {
            Finding::Tcp(finding) => self.tcp(out, finding),
            Finding::HttpRequest(finding) => self.http_request(out, finding),
            Finding::HttpResponse(finding) => self.http_response(out, finding),
            Finding::SshClient(SshClientFinding { peer, .. }) => self.ssh(out, peer),
            Finding::SshServer(finding) => self.ssh(out, &finding.peer),
            Finding::SshHandshake(finding) => self.ssh_handshake(out, &finding.negotiation),
            Finding::TlsClient(finding) => self.tls_client(out, finding),
            Finding::TlsServer(finding) => tls_server(out, &finding.server),
            Finding::TlsCertificates(finding) => {
                out.write_all(certificates_in_words(finding, event.ts).as_bytes())
            }
            Finding::TlsHandshake(finding) => {
                out.write_all(handshake_in_words(&finding.handshake).as_bytes())
            }
            Finding::Uptime(finding) => uptime(out, finding),
            Finding::HostChange(finding) => out.write_all(finding.change_in_words().as_bytes()),
            Finding::IpSharing(finding) => out.write_all(finding.sharing_in_words().as_bytes()),
            Finding::Mismatch(found) => write!(out, "{:#}", Escaped(found.to_string().as_bytes())),
            Finding::Connection(connection) => self.connection(out, connection),
            Finding::Match(found) => self.matched(out, found, event.packet_number),
            _ => Alert::of(event).map_or(Ok(()), |alert| write!(out, "{}", alert.reason())),
        }
    }

    fn tcp(&self, out: &mut impl Write, finding: &TcpFinding) -> io::Result<()> {
        match &finding.matched {
            Some(found) => self.known(out, found.name())?,
            None => self.unknown(out, format_args!("unknown system {}", finding.signature))?,
        }
        if let Some(distance) = finding.distance.in_words() {
            write!(out, ", {distance}")?;
        }
        match &finding.link {
            Some(link) => write!(out, ", {link}"),
            None => Ok(()),
        }
    }

    fn http_request(&self, out: &mut impl Write, finding: &HttpRequestFinding) -> io::Result<()> {
        let HttpRequestFinding { request, software, verdict, .. } = finding;
        let by_settings = software.as_ref().map(|found| &found.software);
        match (verdict.name(), by_settings, request.user_agent()) {
            (Some(name), ..) => self.known(out, name)?,
            (None, Some(software), _) => self.known(out, software)?,
            (None, None, Some(user_agent)) => self.unknown(out, Cut(user_agent))?,
            (None, None, None) => self.unknown(out, "unknown client")?,
        }
        if verdict.matched.is_some() || software.is_some() {
            self.contradicting_text(out, verdict)?;
        }
        self.claim(out, verdict)?;
        let host = request.host().unwrap_or_default();
        write!(out, ", {} {}{}", Cut(request.method()), Cut(host), Cut(request.path().unwrap_or_default()))?;
        self.remarks(out, request.headers(), finding.decrypted)
    }

    fn http_response(&self, out: &mut impl Write, finding: &HttpResponseFinding) -> io::Result<()> {
        let HttpResponseFinding { response, verdict, .. } = finding;
        match (verdict.name(), response.server()) {
            (Some(name), _) => self.known(out, name)?,
            (None, Some(server)) => self.unknown(out, Cut(server))?,
            (None, None) => self.unknown(out, "unknown server")?,
        }
        if verdict.matched.is_some() {
            self.contradicting_text(out, verdict)?;
        }
        self.claim(out, verdict)?;
        if let Some(status) = response.status() {
            write!(out, ", {status}")?;
        }
        if !response.reason().is_empty() {
            let separator = if response.status().is_some() { " " } else { ", " };
            write!(out, "{separator}{}", Cut(response.reason()))?;
        }
        self.remarks(out, response.headers(), finding.decrypted)
    }

    /// Writes the User-Agent or Server header beside the name of the software that it contradicts.
    fn contradicting_text(&self, out: &mut impl Write, verdict: &HttpVerdict) -> io::Result<()> {
        let Some(text) = verdict.contradicting_text() else { return Ok(()) };
        out.write_all(b" ")?;
        self.unknown(out, format_args!("\"{}\"", Cut(text)))
    }

    /// Writes that a head was encrypted, and that fields of it are missing.
    fn remarks(&self, out: &mut impl Write, headers: &Headers, decrypted: bool) -> io::Result<()> {
        let alarm = self.alarm;
        if decrypted {
            out.write_all(b", decrypted")?;
        }
        if headers.is_cut() { write!(out, ", {alarm}head cut{alarm:#}") } else { Ok(()) }
    }

    /// Writes what of the head contradicts TCP: the system that it claims, or the software.
    fn claim(&self, out: &mut impl Write, verdict: &HttpVerdict) -> io::Result<()> {
        let alarm = self.alarm;
        let SystemCheck { claimed, claim_agrees, agrees, .. } = &verdict.system;
        match (claimed, claim_agrees, agrees) {
            (Some(claim), Some(false), _) => write!(out, " {alarm}(claims {claim}){alarm:#}"),
            (_, _, Some(false)) => write!(out, " {alarm}(software of another system){alarm:#}"),
            _ => Ok(()),
        }
    }

    fn tls_client(&self, out: &mut impl Write, finding: &TlsClientFinding) -> io::Result<()> {
        let hello = &finding.client.hello;
        match finding.software() {
            Some(found) => self.known(out, &found.software)?,
            None => self.unknown(out, "unknown client")?,
        }
        match hello.server_name() {
            Some(name) => write!(out, ", {}", Cut(name))?,
            None => out.write_all(b", no server name")?,
        }
        write!(out, ", {}", hello.ja4())
    }

    fn ssh(&self, out: &mut impl Write, peer: &SshPeer) -> io::Result<()> {
        self.known(out, Cut(peer.identification.software_version()))?;
        match peer.hassh() {
            Some(hassh) => write!(out, ", HASSH {hassh}"),
            None => Ok(()),
        }
    }

    fn ssh_handshake(&self, out: &mut impl Write, negotiation: &Negotiation<'_>) -> io::Result<()> {
        if let Some(list) = negotiation.unmatched() {
            let alarm = self.alarm;
            return write!(out, "{alarm}no match in {list}{alarm:#}");
        }
        self.known(out, Cut(negotiation.kex().unwrap_or_default()))?;
        if negotiation.is_post_quantum() == Some(true) {
            out.write_all(b", post-quantum")?;
        }
        let [host_key, cipher] =
            [negotiation.host_key(), negotiation.cipher(Side::Server)].map(Option::unwrap_or_default);
        write!(out, ", {}, {}", Cut(host_key), Cut(cipher))
    }

    fn matched(&self, out: &mut impl Write, found: &Match, packet: u64) -> io::Result<()> {
        let Match { list, line, kind, value, label, event, server_name, host, .. } = found;
        let alarm = self.alarm;
        if !label.is_empty() {
            write!(out, "{alarm}{}{alarm:#}, ", Cut(label.as_bytes()))?;
        }
        write!(out, "{} {} of {event}", kind.name(), Cut(value.as_bytes()))?;
        if let Some(name) = server_name.as_deref().or(host.as_deref()) {
            write!(out, ", {}", Cut(name))?;
        }
        write!(out, ", {}", Cut(list.as_bytes()))?;
        line.map_or(Ok(()), |line| write!(out, ":{line}"))?;
        write!(out, ", packet {packet}")
    }

    fn connection(&self, out: &mut impl Write, connection: &Connection) -> io::Result<()> {
        let Connection { client, server, .. } = connection;
        write!(
            out,
            "{:.6} s, {} + {} packets, {} + {} bytes",
            connection.duration(),
            client.packets,
            server.packets,
            client.bytes,
            server.bytes
        )?;
        if let Some(host) = &connection.host {
            write!(out, ", {}", Cut(host))?;
        }
        let tls = connection.tls_client.as_ref().map(|found| &found.software);
        for name in [
            connection.client_system.as_ref().map(|label| label as &dyn Display),
            connection.client_software.as_ref().map(|name| name as &dyn Display),
            tls.as_ref().map(|software| software as &dyn Display),
        ]
        .into_iter()
        .flatten()
        {
            out.write_all(b", ")?;
            self.known(out, name)?;
        }
        Ok(())
    }

    fn known(&self, out: &mut impl Write, value: impl Display) -> io::Result<()> {
        write_value(out, self.known, value)
    }

    fn unknown(&self, out: &mut impl Write, value: impl Display) -> io::Result<()> {
        write_value(out, self.unknown, value)
    }
}

/// Writes a value in a style.
fn write_value(out: &mut impl Write, style: Style, value: impl Display) -> io::Result<()> {
    if style.is_plain() { write!(out, "{value}") } else { write!(out, "{style}{value}{style:#}") }
}

/// Writes text in a style.
fn write_styled(out: &mut impl Write, style: Style, text: &[u8]) -> io::Result<()> {
    if style.is_plain() {
        return out.write_all(text);
    }
    write!(out, "{style}")?;
    out.write_all(text)?;
    write!(out, "{style:#}")
}

/// Writes an address and a port, and fills their column with blanks.
fn write_address(out: &mut impl Write, address: SocketAddr) -> io::Result<()> {
    let ip = IpText::new(address.ip());
    let mut digits = itoa::Buffer::new();
    let port = digits.format(address.port()).as_bytes();
    let (before, after): (&[u8], &[u8]) = if address.is_ipv6() { (b"[", b"]:") } else { (b"", b":") };
    let parts = [before, ip.as_bytes(), after, port];
    parts.iter().try_for_each(|part| out.write_all(part))?;
    write_blanks(out, ADDRESS_WIDTH.saturating_sub(parts.iter().map(|part| part.len()).sum()))
}

/// Writes up to [`ADDRESS_WIDTH`] blanks.
fn write_blanks(out: &mut impl Write, count: usize) -> io::Result<()> {
    out.write_all([b' '; ADDRESS_WIDTH].get(..count).unwrap_or_default())
}

/// The protocol, or what a conclusion is about.
fn protocol_of(event: &Event) -> &'static str {
    match &event.kind {
        finding @ Finding::Tcp(_) => EventKind::of(finding).title(),
        Finding::HttpRequest(_) | Finding::HttpResponse(_) => "HTTP",
        Finding::SshClient(_) | Finding::SshServer(_) | Finding::SshHandshake(_) => "SSH",
        Finding::TlsClient(finding) => transport(finding.client.hello.transport()),
        Finding::TlsServer(finding) => transport(finding.server.hello.transport()),
        Finding::TlsHandshake(finding) => transport(finding.handshake.transport),
        Finding::TlsCertificates(finding) => transport(finding.certificates.transport),
        Finding::Uptime(_) => "uptime",
        Finding::HostChange(_) => "change",
        Finding::IpSharing(_) => "sharing",
        Finding::Mismatch(_) => "mismatch",
        Finding::Conflict(_) | Finding::Notice(_) | Finding::Tool(_) | Finding::Match(_) => "alert",
        Finding::Connection(_) => match event.flow.transport {
            TransportKind::Tcp => "TCP end",
            TransportKind::Udp => "UDP end",
        },
        _ => "other",
    }
}

const fn transport(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "TLS",
        Transport::Quic => "QUIC",
        Transport::Dtls => "DTLS",
    }
}

fn tls_server(out: &mut impl Write, server: &TlsServer) -> io::Result<()> {
    let hello = &server.hello;
    let again = if hello.is_retry_request() { ", HelloRetryRequest" } else { "" };
    write!(
        out,
        "{}{again}, cipher {:04x}",
        protocol(hello.transport(), hello.version()),
        hello.cipher_suite()
    )?;
    match hello.alpn() {
        Some(name) => write!(out, ", {}", Cut(name)),
        None => Ok(()),
    }
}

/// The first certificate, and remarks about it.
pub(crate) fn certificates_in_words(finding: &TlsCertificatesFinding, ts: Timestamp) -> String {
    let Some(first) = finding.certificates.certificates.first() else {
        return "no certificate".to_owned();
    };
    let mut text = format!("certificate {}", Cut(first.to_string().as_bytes()));
    for remark in certificate_remarks(finding, ts) {
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

fn uptime(out: &mut impl Write, UptimeFinding { uptime, .. }: &UptimeFinding) -> io::Result<()> {
    let (days, hours, minutes) = uptime.days_hours_minutes();
    write!(out, "{days} d {hours} h {minutes} min, modulo {} d", uptime.modulo_days())
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
