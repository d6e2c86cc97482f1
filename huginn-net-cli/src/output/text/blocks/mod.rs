//! Events as human-readable blocks.

mod tls;

use std::fmt::{self, Display};
use std::io::{self, Write};

use anstyle::{AnsiColor, Effects, Style};
use huginn_net::alert::Alert;
use huginn_net::consistency::Consistency;
use huginn_net::core::Amount;
use huginn_net::db::TcpMatch;
use huginn_net::finding::Connection;
use huginn_net::finding::TextLimit;
use huginn_net::finding::{
    HttpRequestFinding, HttpResponseFinding, HttpVerdict, Match, MtuFinding, SystemCheck, TcpFinding,
    UptimeFinding,
};
use huginn_net::http::{Headers, language};
use huginn_net::record::EventKind;
use huginn_net::ssh::{KexGuess, Negotiation, SshPeer};
use huginn_net::{Escaped, Event, Finding, Side};

pub(super) use self::tls::{alert_in_words, protocol};
pub(crate) use self::tls::{certificate_problems, certificate_remarks};
use crate::output::Zone;

/// Width of the column of field names.
const NAME_WIDTH: usize = 11;

/// The styles of the blocks.
pub(super) struct Blocks {
    zone: Zone,
    heading: Style,
    name: Style,
    known: Style,
    unknown: Style,
}

impl Blocks {
    pub(super) fn new(colour: bool, zone: Zone) -> Self {
        if !colour {
            let plain = Style::new();
            return Self { zone, heading: plain, name: plain, known: plain, unknown: plain };
        }
        Self {
            zone,
            heading: AnsiColor::Cyan.on_default().effects(Effects::BOLD),
            name: Style::new().effects(Effects::DIMMED),
            known: AnsiColor::Green.on_default().effects(Effects::BOLD),
            unknown: AnsiColor::Yellow.on_default(),
        }
    }

    /// Writes an event.
    pub(super) fn write(&self, out: &mut impl Write, event: &Event, file: Option<&str>) -> io::Result<()> {
        let arrow = match event.subject {
            Side::Client => "->",
            Side::Server => "<-",
        };
        let Self { heading, .. } = self;
        let (client, server) = (event.flow.client, event.flow.server);
        writeln!(
            out,
            "{heading}{}{heading:#}  {client} {arrow} {server}  {}",
            title(event),
            self.zone.display(event.ts)
        )?;
        if let Some(file) = file {
            self.field(out, "file", file)?;
        }
        if let Some(tunnel) = &event.flow.tunnel {
            self.field(out, "tunnel", Joined(tunnel.layers()))?;
        }
        self.field(out, &event.subject.to_string(), event.subject_addr().ip())?;
        if let Some(conflict) = event.conflict {
            self.field(out, "conflict", conflict.as_str())?;
        }
        self.write_content(out, event)?;
        event.kind.listed().into_iter().flatten().try_for_each(|entry| {
            let watched = if entry.is_watched() { " (watched)" } else { "" };
            self.field(out, "listed", format_args!("{:#}{watched}", Escaped(entry.label().as_bytes())))
        })
    }

    /// Writes what an event found.
    fn write_content(&self, out: &mut impl Write, event: &Event) -> io::Result<()> {
        let limit = event.kind.text_limit();
        if let Some(alert) = Alert::of(event) {
            let severity = alert.severity();
            self.verdict(out, "severity", Some(format_args!("{severity} {}", alert.kind().title())))?;
        }
        match &event.kind {
            Finding::Tcp(finding) => self.tcp(out, finding),
            Finding::HttpRequest(finding) => self.http_request(out, finding, limit),
            Finding::HttpResponse(finding) => self.http_response(out, finding, limit),
            Finding::SshClient(finding) => self.ssh(out, &finding.peer, limit),
            Finding::SshServer(finding) => self.ssh(out, &finding.peer, limit),
            Finding::SshHandshake(finding) => self.ssh_handshake(out, &finding.negotiation, limit),
            Finding::TlsClient(finding) => self.tls_client(out, &finding.client, limit),
            Finding::TlsServer(finding) => self.tls_server(out, &finding.server, limit),
            Finding::TlsHandshake(finding) => self.tls_handshake(out, &finding.handshake),
            Finding::TlsCertificates(finding) => self.certificates(out, finding, event, limit),
            Finding::Uptime(finding) => self.uptime(out, finding),
            Finding::HostChange(finding) => self.field(out, "systems", finding.change_in_words()),
            Finding::IpSharing(finding) => self.field(out, "systems", finding.sharing_in_words()),
            Finding::Mismatch(Consistency { outcome, reasons, .. }) => {
                self.verdict(out, "outcome", Some(outcome.name()))?;
                reasons.iter().try_for_each(|reason| self.field(out, "reason", Escaped(reason.as_bytes())))
            }
            Finding::Tool(found) => {
                let name = if found.resembles { "resembles" } else { "tool" };
                self.verdict(out, name, Some(&found.label))?;
                self.field(out, "sent", found.sent())
            }
            Finding::Connection(connection) => self.connection(out, connection),
            Finding::Match(found) => self.matched(out, found, event.packet_number, limit),
            _ => Alert::of(event).map_or(Ok(()), |alert| {
                self.field(out, "reason", alert.reason())?;
                self.field(out, "packets", Joined(alert.packets()))?;
                self.field(out, "see", alert.kind().page())
            }),
        }
    }

    fn matched(&self, out: &mut impl Write, found: &Match, packet: u64, limit: TextLimit) -> io::Result<()> {
        let Match {
            list, line, kind, value, label, event, server_name, host, user_agent, ja4, software, ..
        } = found;
        self.verdict(out, "label", Some(format_args!("{:#}", Escaped(label.as_bytes()))))?;
        self.field(out, kind.name(), format_args!("{:#}", Escaped(value.as_bytes())))?;
        self.field(out, "event", event)?;
        self.field(out, "packet", packet)?;
        let place = line.map_or_else(String::new, |line| format!(", line {line}"));
        self.field(out, "list", format_args!("{:#}{place}", Escaped(list.as_bytes())))?;
        for (name, text) in [("sni", server_name), ("host", host), ("user agent", user_agent)] {
            if let Some(text) = text {
                self.field(out, name, Wire(text, limit))?;
            }
        }
        if let Some(ja4) = ja4 {
            self.field(out, "ja4", ja4)?;
        }
        match software {
            Some(found) => self.verdict(out, "software", Some(&found.software)),
            None => Ok(()),
        }
    }

    fn connection(&self, out: &mut impl Write, connection: &Connection) -> io::Result<()> {
        self.field(out, "duration", format_args!("{:.6} s", connection.duration()))?;
        for (name, traffic) in [("sent", connection.client), ("received", connection.server)] {
            let (packets, bytes) = (Amount(traffic.packets, "packet(s)"), Amount(traffic.bytes, "byte(s)"));
            self.field(out, name, format_args!("{packets}, {bytes}"))?;
        }
        if let Some(host) = &connection.host {
            let rest = if connection.host_is_cut { "... (cut)" } else { "" };
            self.field(out, "host", format_args!("{:#}{rest}", Escaped(host)))?;
        }
        for (name, label) in [("system", &connection.client_system), ("server", &connection.server_system)] {
            self.known(out, name, label.as_ref())?;
        }
        self.known(out, "software", connection.client_software.as_ref())?;
        self.known(out, "web server", connection.server_software.as_ref())?;
        self.known(out, "tls client", connection.tls_client.as_ref().map(|found| &found.software))?;
        self.known(out, "ja4", connection.ja4)?;
        self.known(out, "hassh", connection.hassh)?;
        self.known(out, "mismatch", connection.mismatch)
    }

    fn uptime(&self, out: &mut impl Write, UptimeFinding { uptime, .. }: &UptimeFinding) -> io::Result<()> {
        let (days, hours, minutes) = uptime.days_hours_minutes();
        let modulo = uptime.modulo_days();
        self.field(out, "uptime", format_args!("{days} d {hours} h {minutes} min, modulo {modulo} d"))?;
        self.field(
            out,
            "clock",
            format_args!("{} Hz ({:.2} measured)", uptime.frequency, uptime.clock.raw_frequency()),
        )
    }

    fn http_request(
        &self,
        out: &mut impl Write,
        finding: &HttpRequestFinding,
        limit: TextLimit,
    ) -> io::Result<()> {
        let HttpRequestFinding { request, akamai, http3, software, verdict, .. } = finding;
        let (method, target) = (Wire(request.method(), limit), Wire(request.target(), limit));
        self.field(out, "request", format_args!("{method} {target} HTTP/{}", request.version()))?;
        self.remarks(out, request.headers(), finding.decrypted)?;
        self.wire(out, "host", request.host(), limit)?;
        self.wire(out, "user agent", request.user_agent(), limit)?;
        if let Some(tag) = request.language() {
            self.field(out, "language", Wire(language::name(tag).unwrap_or(tag).as_bytes(), limit))?;
        }
        let by_settings = software.as_ref().map(|found| found.software.to_string());
        self.verdict(out, "software", verdict.name().map(|name| name.to_string()).or(by_settings))?;
        self.http(out, verdict, limit)?;
        if let Some(akamai) = akamai {
            self.field(out, "akamai", Computed(akamai, limit))?;
        }
        match http3 {
            Some(fingerprint) => self.field(out, "http3", Computed(fingerprint, limit)),
            None => Ok(()),
        }
    }

    fn http_response(
        &self,
        out: &mut impl Write,
        finding: &HttpResponseFinding,
        limit: TextLimit,
    ) -> io::Result<()> {
        let HttpResponseFinding { response, verdict, .. } = finding;
        let status = response.status().map(|status| format!(" {status}")).unwrap_or_default();
        let blank = if response.reason().is_empty() { "" } else { " " };
        let reason = Wire(response.reason(), limit);
        self.field(out, "response", format_args!("HTTP/{}{status}{blank}{reason}", response.version()))?;
        self.remarks(out, response.headers(), finding.decrypted)?;
        self.wire(out, "says", response.server(), limit)?;
        self.verdict(out, "software", verdict.name())?;
        self.http(out, verdict, limit)
    }

    fn remarks(&self, out: &mut impl Write, headers: &Headers, decrypted: bool) -> io::Result<()> {
        if decrypted {
            self.field(out, "tls", "decrypted with a logged secret")?;
        }
        if headers.is_cut() { self.field(out, "head", "cut: header fields are missing") } else { Ok(()) }
    }

    fn http(&self, out: &mut impl Write, verdict: &HttpVerdict, limit: TextLimit) -> io::Result<()> {
        let remarks = verdict.params.to_string();
        if remarks != "none" {
            self.field(out, "remarks", remarks)?;
        }
        let SystemCheck { claimed, claim_agrees, agrees, .. } = &verdict.system;
        match (claimed, claim_agrees, agrees) {
            (Some(claim), Some(false), _) => {
                self.field(out, "claims", format_args!("{claim}, which its TCP handshake contradicts"))?;
            }
            (_, _, Some(false)) => {
                self.field(out, "runs on", "other systems than that of its TCP handshake")?;
            }
            _ => {}
        }
        self.field(out, "signature", Computed(verdict.raw_sig(), limit))
    }

    /// Writes a field of bytes from the wire; nothing if there are none.
    fn wire(
        &self,
        out: &mut impl Write,
        name: &str,
        value: Option<&[u8]>,
        limit: TextLimit,
    ) -> io::Result<()> {
        match value {
            Some(value) => self.field(out, name, Wire(value, limit)),
            None => Ok(()),
        }
    }

    fn ssh(&self, out: &mut impl Write, peer: &SshPeer, limit: TextLimit) -> io::Result<()> {
        let Self { known, .. } = self;
        let SshPeer { identification, .. } = peer;
        let (version, software) = (identification.protocol_version(), identification.software_version());
        self.field(out, "protocol", format_args!("SSH {}", Wire(version, limit)))?;
        self.field(out, "software", format_args!("{known}{}{known:#}", Wire(software, limit)))?;
        self.wire(out, "comments", identification.comments(), limit)?;
        match peer.hassh() {
            Some(hassh) => self.field(out, "hassh", format_args!("{known}{hassh}{known:#}")),
            None => self.field(out, "hassh", "none: no SSH_MSG_KEXINIT"),
        }
    }

    fn ssh_handshake(
        &self,
        out: &mut impl Write,
        negotiation: &Negotiation<'_>,
        limit: TextLimit,
    ) -> io::Result<()> {
        let kind = match negotiation.is_post_quantum() {
            Some(true) => " (post-quantum)",
            _ => "",
        };
        self.field(out, "kex", format_args!("{}{kind}", Agreed(negotiation.kex(), limit)))?;
        self.field(out, "host key", Agreed(negotiation.host_key(), limit))?;
        for (name, sender) in [("to server", Side::Client), ("to client", Side::Server)] {
            let [cipher, mac, compression] =
                [negotiation.cipher(sender), negotiation.mac(sender), negotiation.compression(sender)]
                    .map(|name| Agreed(name, limit));
            self.field(out, name, format_args!("{cipher}, MAC {mac}, compression {compression}"))?;
        }
        self.field(out, "strict kex", if negotiation.is_strict_kex() { "yes" } else { "no" })?;
        match negotiation.guess() {
            Some(KexGuess::Right) => self.field(out, "guess", "right"),
            Some(KexGuess::Wrong) => {
                self.field(out, "guess", "wrong: the first packet of the key exchange is ignored")
            }
            None => Ok(()),
        }?;
        match negotiation.unmatched() {
            Some(list) => {
                let Self { unknown, .. } = self;
                self.field(out, "fails", format_args!("{unknown}no match in {list}{unknown:#}"))
            }
            None => Ok(()),
        }
    }

    /// Writes the first texts of a list of `count`, unless it is empty.
    fn start_of_list(
        &self,
        out: &mut impl Write,
        name: &str,
        first: &[String],
        count: usize,
    ) -> io::Result<()> {
        match count.saturating_sub(first.len()) {
            _ if count == 0 => Ok(()),
            0 => self.field(out, name, Joined(first)),
            more => self.field(out, name, format_args!("{}... ({more} more)", Joined(first))),
        }
    }

    fn tcp(&self, out: &mut impl Write, finding: &TcpFinding) -> io::Result<()> {
        let found = finding.matched.as_ref();
        let name = if found.is_some_and(|found| found.label.is_tool()) { "tool" } else { "system" };
        self.verdict(out, name, found.map(TcpMatch::name))?;
        if let Some(distance) = finding.distance.in_words() {
            self.field(out, "distance", distance)?;
        }
        let remarks = finding.params.to_string();
        if remarks != "none" {
            self.field(out, "remarks", remarks)?;
        }
        if let Some(MtuFinding { mtu, link, .. }) = &finding.link {
            self.known(out, "link", link.as_deref())?;
            self.field(out, "mtu", format_args!("{mtu} bytes"))?;
        }
        self.field(out, "signature", finding.signature)
    }

    /// Writes a field with the match of the database.
    fn verdict(&self, out: &mut impl Write, name: &str, value: Option<impl Display>) -> io::Result<()> {
        let Self { known, unknown, .. } = self;
        match value {
            Some(value) => self.field(out, name, format_args!("{known}{value}{known:#}")),
            None => self.field(out, name, format_args!("{unknown}unknown{unknown:#}")),
        }
    }

    /// Writes a field with a value that was found; nothing if there is none.
    fn known(&self, out: &mut impl Write, name: &str, value: Option<impl Display>) -> io::Result<()> {
        if value.is_some() { self.verdict(out, name, value) } else { Ok(()) }
    }

    fn field(&self, out: &mut impl Write, name: &str, value: impl Display) -> io::Result<()> {
        let style = self.name;
        writeln!(out, "  {style}{name:NAME_WIDTH$}{style:#}{value}")
    }
}

/// The title of a block.
fn title(event: &Event) -> &'static str {
    match &event.kind {
        Finding::Conflict(_) => "Conflict",
        finding => EventKind::of(finding).title(),
    }
}

/// Captured bytes without control characters, up to a limit; with their number if there are more.
struct Wire<'a>(&'a [u8], TextLimit);

impl Display for Wire<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text, limit) = self;
        let (start, is_cut) = limit.cut(text);
        write!(f, "{:#}", Escaped(start))?;
        if is_cut { write!(f, "... ({} bytes)", text.len()) } else { Ok(()) }
    }
}

/// A name that both sides of SSH have; `no match` without one.
struct Agreed<'a>(Option<&'a [u8]>, TextLimit);

impl Display for Agreed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => Wire(name, self.1).fmt(f),
            None => f.write_str("no match"),
        }
    }
}

/// A computed text up to a limit.
struct Computed<T>(T, TextLimit);

impl<T: Display> Display for Computed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value, limit) = self;
        if limit.write(f, value)? { f.write_str("... (cut)") } else { Ok(()) }
    }
}

/// Comma-separated values.
pub(super) struct Joined<'a, T>(pub(super) &'a [T]);

impl<T: Display> Display for Joined<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, value) in self.0.iter().enumerate() {
            if n > 0 {
                f.write_str(", ")?;
            }
            value.fmt(f)?;
        }
        Ok(())
    }
}
