//! Events as human-readable blocks.

mod tls;

use std::fmt::{self, Display};
use std::io::Write;

use anstyle::{AnsiColor, Effects, Style};
use huginn_net::alert::Alert;
use huginn_net::consistency::Consistency;
use huginn_net::core::{Amount, Escaped, Printable};
use huginn_net::db::{FuzzyReason, TcpMatch};
use huginn_net::http::{Headers, language};
use huginn_net::observation::Connection;
use huginn_net::observation::TextLimit;
use huginn_net::observation::{
    HttpRequestObservation, HttpResponseObservation, HttpVerdict, Match, SystemCheck, TcpObservation,
    UptimeObservation,
};
use huginn_net::record::EventKind;
use huginn_net::ssh::{KexGuess, Negotiation, SshPeer};
use huginn_net::{Event, Observation, Side};

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
        let style = |style: Style| if colour { style } else { Style::new() };
        Self {
            zone,
            heading: style(AnsiColor::Cyan.on_default().effects(Effects::BOLD)),
            name: style(Style::new().effects(Effects::DIMMED)),
            known: style(AnsiColor::Green.on_default().effects(Effects::BOLD)),
            unknown: style(AnsiColor::Yellow.on_default()),
        }
    }

    /// Appends an event.
    pub(super) fn write(&self, text: &mut Vec<u8>, event: &Event, file: Option<&str>) {
        Block { text, styles: self, limit: event.kind.text_limit() }.event(event, file);
    }
}

/// A block that is being written.
struct Block<'a> {
    text: &'a mut Vec<u8>,
    styles: &'a Blocks,
    /// The limit of captured texts.
    limit: TextLimit,
}

impl Block<'_> {
    fn event(&mut self, event: &Event, file: Option<&str>) {
        let arrow = match event.subject {
            Side::Client => "->",
            Side::Server => "<-",
        };
        let Blocks { heading, zone, .. } = self.styles;
        let (title, ts) = (title(event), zone.display(event.ts));
        let (client, server) = (event.flow.client, event.flow.server);
        // Writing to memory does not fail.
        let _ = writeln!(self.text, "{heading}{title}{heading:#}  {client} {arrow} {server}  {ts}");
        self.optional("file", file);
        self.optional("tunnel", event.flow.tunnel.as_ref().map(|tunnel| Joined(tunnel.layers())));
        self.field(&event.subject.to_string(), event.subject_addr().ip());
        self.optional("conflict", event.conflict.map(|conflict| conflict.name()));
        self.content(event);
        for entry in event.kind.listed().into_iter().flatten() {
            let watched = if entry.is_watched() { " (watched)" } else { "" };
            self.field("listed", format_args!("{:#}{watched}", Escaped(entry.label().as_bytes())));
        }
    }

    /// Writes what an event found.
    fn content(&mut self, event: &Event) {
        let alert = Alert::of(event);
        if let Some(alert) = &alert {
            let (severity, title) = (alert.severity(), alert.kind().title());
            self.verdict("severity", Some(format_args!("{severity} {title}")));
        }
        match &event.kind {
            Observation::Tcp(observation) => self.tcp(observation),
            Observation::HttpRequest(observation) => self.http_request(observation),
            Observation::HttpResponse(observation) => self.http_response(observation),
            Observation::SshClient(observation) => self.ssh(&observation.peer),
            Observation::SshServer(observation) => self.ssh(&observation.peer),
            Observation::SshHandshake(observation) => self.ssh_handshake(&observation.negotiation),
            Observation::TlsClient(observation) => self.tls_client(&observation.client),
            Observation::TlsServer(observation) => self.tls_server(&observation.server),
            Observation::TlsHandshake(observation) => self.tls_handshake(&observation.handshake),
            Observation::TlsCertificates(observation) => self.certificates(observation, event.ts),
            Observation::Uptime(observation) => self.uptime(observation),
            Observation::HostChange(observation) => self.field("systems", observation.change_in_words()),
            Observation::IpSharing(observation) => self.field("systems", observation.sharing_in_words()),
            Observation::Mismatch(Consistency { outcome, reasons, .. }) => {
                self.verdict("outcome", Some(outcome.name()));
                reasons
                    .iter()
                    .for_each(|reason| self.field("reason", Escaped(reason.to_string().as_bytes())));
            }
            Observation::Tool(found) => {
                let name = if found.resembles { "resembles" } else { "tool" };
                self.verdict(name, Some(&found.label));
                self.field("sent", found.sent());
            }
            Observation::Connection(connection) => self.connection(connection),
            Observation::Match(found) => self.matched(found, event.packet_number),
            _ => {
                let Some(alert) = alert else { return };
                self.field("reason", alert.reason());
                self.field("packets", Joined(alert.packets()));
                self.field("see", alert.kind().page());
            }
        }
    }

    fn matched(&mut self, found: &Match, packet: u64) {
        let Match {
            list, line, kind, value, label, event, server_name, host, user_agent, ja4, software, ..
        } = found;
        self.verdict("label", Some(format_args!("{:#}", Escaped(label.as_bytes()))));
        self.field(kind.name(), format_args!("{:#}", Escaped(value.as_bytes())));
        self.field("event", event);
        self.field("packet", packet);
        let place = line.map_or_else(String::new, |line| format!(", line {line}"));
        self.field("list", format_args!("{:#}{place}", Escaped(list.as_bytes())));
        self.wire("sni", server_name.as_deref());
        self.wire("host", host.as_deref());
        self.wire("user agent", user_agent.as_deref());
        self.optional("ja4", *ja4);
        self.known("software", software.as_ref().map(|found| &found.software));
    }

    fn connection(&mut self, connection: &Connection) {
        self.field("duration", format_args!("{:.6} s", connection.duration()));
        for (name, traffic) in [("sent", connection.client), ("received", connection.server)] {
            let (packets, bytes) = (Amount(traffic.packets, "packet(s)"), Amount(traffic.bytes, "byte(s)"));
            self.field(name, format_args!("{packets}, {bytes}"));
        }
        if let Some(host) = &connection.host {
            let rest = if connection.host_is_cut { "... (cut)" } else { "" };
            self.field("host", format_args!("{:#}{rest}", Escaped(host)));
        }
        self.known("system", connection.client_system.as_ref());
        self.known("server", connection.server_system.as_ref());
        self.known("software", connection.client_software.as_ref());
        self.known("web server", connection.server_software.as_ref());
        self.known("tls client", connection.tls_client.as_ref().map(|found| &found.software));
        self.known("ja4", connection.ja4);
        self.known("hassh", connection.hassh);
        self.known("mismatch", connection.mismatch);
        let spots = connection.blind_spots.join(", ");
        self.optional("not seen", Some(spots).filter(|spots| !spots.is_empty()));
    }

    fn uptime(&mut self, UptimeObservation { uptime, .. }: &UptimeObservation) {
        let (days, hours, minutes) = uptime.days_hours_minutes();
        let modulo = uptime.modulo_days();
        self.field("uptime", format_args!("{days} d {hours} h {minutes} min, modulo {modulo} d"));
        let (nominal, measured) = (uptime.frequency, uptime.clock.raw_frequency());
        self.field("clock", format_args!("{nominal} Hz ({measured:.2} measured)"));
    }

    fn http_request(&mut self, observation: &HttpRequestObservation) {
        let HttpRequestObservation { request, akamai, http3, software, verdict, .. } = observation;
        let limit = self.limit;
        let (method, target) = (Wire(request.method(), limit), Wire(request.target(), limit));
        self.field("request", format_args!("{method} {target} HTTP/{}", request.version()));
        self.remarks(request.headers(), observation.decrypted);
        self.wire("host", request.host());
        self.wire("user agent", request.user_agent());
        self.wire("language", request.language().map(|tag| language::name(tag).unwrap_or(tag).as_bytes()));
        let by_settings = software.as_ref().map(|found| found.software.to_string());
        self.verdict("software", verdict.name().map(|name| name.to_string()).or(by_settings));
        self.http(verdict);
        self.optional("akamai", akamai.as_ref().map(|akamai| Computed(akamai, limit)));
        self.optional("http3", http3.as_ref().map(|fingerprint| Computed(fingerprint, limit)));
    }

    fn http_response(&mut self, observation: &HttpResponseObservation) {
        let HttpResponseObservation { response, verdict, .. } = observation;
        let status = response.status().map(|status| format!(" {status}")).unwrap_or_default();
        let blank = if response.reason().is_empty() { "" } else { " " };
        let reason = Wire(response.reason(), self.limit);
        self.field("response", format_args!("HTTP/{}{status}{blank}{reason}", response.version()));
        self.remarks(response.headers(), observation.decrypted);
        self.wire("says", response.server());
        self.verdict("software", verdict.name());
        self.http(verdict);
    }

    fn remarks(&mut self, headers: &Headers, decrypted: bool) {
        self.optional("tls", decrypted.then_some("decrypted with a logged secret"));
        self.optional("head", headers.is_cut().then_some("cut: header fields are missing"));
    }

    fn http(&mut self, verdict: &HttpVerdict) {
        self.optional("remarks", Some(verdict.params.to_string()).filter(|remarks| remarks != "none"));
        let SystemCheck { claimed, claim_agrees, agrees, .. } = &verdict.system;
        match (claimed, claim_agrees, agrees) {
            (Some(claim), Some(false), _) => {
                self.field("claims", format_args!("{claim}, which its TCP handshake contradicts"));
            }
            (_, _, Some(false)) => {
                self.field("runs on", "other systems than that of its TCP handshake");
            }
            _ => {}
        }
        let signature = verdict.raw_sig().to_string();
        self.field("signature", Computed(Printable(&signature), self.limit));
    }

    fn ssh(&mut self, peer: &SshPeer) {
        let Blocks { known, .. } = self.styles;
        let SshPeer { identification, .. } = peer;
        self.field("protocol", format_args!("SSH {}", Wire(identification.protocol_version(), self.limit)));
        self.verdict("software", Some(Wire(identification.software_version(), self.limit)));
        self.wire("comments", identification.comments());
        match peer.hassh() {
            Some(hassh) => self.field("hassh", format_args!("{known}{hassh}{known:#}")),
            None => self.field("hassh", "none: no SSH_MSG_KEXINIT"),
        }
    }

    fn ssh_handshake(&mut self, negotiation: &Negotiation<'_>) {
        let limit = self.limit;
        let kind = if negotiation.is_post_quantum() == Some(true) { " (post-quantum)" } else { "" };
        self.field("kex", format_args!("{}{kind}", Agreed(negotiation.kex(), limit)));
        self.field("host key", Agreed(negotiation.host_key(), limit));
        for (name, sender) in [("to server", Side::Client), ("to client", Side::Server)] {
            let [cipher, mac, compression] =
                [negotiation.cipher(sender), negotiation.mac(sender), negotiation.compression(sender)]
                    .map(|name| Agreed(name, limit));
            self.field(name, format_args!("{cipher}, MAC {mac}, compression {compression}"));
        }
        self.field("strict kex", if negotiation.is_strict_kex() { "yes" } else { "no" });
        let guess = negotiation.guess().map(|guess| match guess {
            KexGuess::Right => "right",
            KexGuess::Wrong => "wrong: the first packet of the key exchange is ignored",
        });
        self.optional("guess", guess);
        if let Some(list) = negotiation.unmatched() {
            let Blocks { unknown, .. } = self.styles;
            self.field("fails", format_args!("{unknown}no match in {list}{unknown:#}"));
        }
    }

    fn tcp(&mut self, observation: &TcpObservation) {
        let found = observation.matched.as_ref();
        let name = if found.is_some_and(|found| found.label.is_tool()) { "tool" } else { "system" };
        self.verdict(name, found.map(TcpMatch::name));
        self.optional("distance", observation.distance.in_words());
        self.optional("fuzzy", observation.fuzzy_reason().map(FuzzyReason::words));
        self.optional("remarks", Some(observation.params.to_string()).filter(|remarks| remarks != "none"));
        if let Some(found) = &observation.link {
            self.known("link", found.link.as_deref());
            self.field("mtu", format_args!("{} bytes", found.mtu));
        }
        self.field("signature", observation.signature);
    }

    /// Writes a field with the match of the database.
    fn verdict(&mut self, name: &str, value: Option<impl Display>) {
        let Blocks { known, unknown, .. } = self.styles;
        match value {
            Some(value) => self.field(name, format_args!("{known}{value}{known:#}")),
            None => self.field(name, format_args!("{unknown}unknown{unknown:#}")),
        }
    }

    /// Writes a field with a value that was found; nothing if there is none.
    fn known(&mut self, name: &str, value: Option<impl Display>) {
        if value.is_some() {
            self.verdict(name, value);
        }
    }

    /// Writes a field of bytes from the wire; nothing if there are none.
    fn wire(&mut self, name: &str, value: Option<&[u8]>) {
        self.optional(name, value.map(|value| Wire(value, self.limit)));
    }

    /// Writes a field; nothing without a value.
    fn optional(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.field(name, value);
        }
    }

    fn field(&mut self, name: &str, value: impl Display) {
        let style = self.styles.name;
        // Writing to memory does not fail.
        let _ = writeln!(self.text, "  {style}{name:NAME_WIDTH$}{style:#}{value}");
    }
}

/// The title of a block.
fn title(event: &Event) -> &'static str {
    match &event.kind {
        Observation::Conflict(_) => "Conflict",
        observation => EventKind::of(observation).title(),
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
