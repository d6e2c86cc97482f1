//! One host: what it is, its connections, what changed, and its fingerprints.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use foldhash::{HashMap, HashSet};
use huginn_net::core::{Escaped, TransportKind};
use huginn_net::hosts::{Contact, Contacts, HostProfile, JsonHost};
use huginn_net::observation::Connection;
use huginn_net::record::{EventKind, JsonEvent};
use huginn_net::{Event, Observation, Side};

use super::context::{Context, start_of};
use super::offers::Offers;
use crate::limits::{SHOWN_OF_HOST, SHOWN_ROWS};
use crate::output::{Zone, certificate_remarks, certificates_in_words, handshake_in_words};
use crate::views::columns::{Layout, Table, wrapped, write_more};
use crate::views::fingerprints::{Fingerprints, Selection};
use crate::views::hosts::HostRow;
use crate::views::store::{Part, Store, ValueKind};

/// Maximum number of connections, and of other events, that `follow` keeps of a host: some 50 MB.
const MAX_FOLLOWED_EVENTS: usize = 1 << 16;

/// Maximum number of open connections of a host whose first packet and User-Agent `follow` remembers.
const MAX_FOLLOWED_FLOWS: usize = 1 << 16;

/// Number of connections of a host that the human format of `follow` lists, the first ones.
const SHOWN_CONNECTIONS: usize = 500;

/// Width of the column of titles.
const TITLE_WIDTH: usize = 15;
const CONNECTION_HEADINGS: [&str; 11] =
    ["time", "", "peer", "name", "what", "fingerprint", "sent", "received", "lasted", "packet", "file"];
/// Addresses, names and fingerprints are read as one word each, where there is room.
const NARROW: Layout<'static> = Layout { whole: &[0, 1, 2], numbers: &[6, 7, 8, 9] };
const WITH_NAMES: Layout<'static> = Layout { whole: &[0, 1, 2, 3], numbers: &[6, 7, 8, 9] };
const WIDE: Layout<'static> = Layout { whole: &[0, 1, 2, 3, 5], numbers: &[6, 7, 8, 9] };
/// Columns from which on there is room for fingerprints.
const WIDE_COLUMNS: u16 = 140;
/// Length of the longest name that is not wrapped, in characters.
const MAX_WHOLE_NAME: usize = 32;
const REMARK_HEADINGS: [&str; 6] = ["time", "event", "peer", "what", "packet", "file"];
const REMARK_LAYOUT: Layout<'static> = Layout { whole: &[0, 1, 2], numbers: &[4] };

/// The events of one host.
pub(super) struct FollowedHost {
    ip: IpAddr,
    /// In the order of their end.
    connections: Vec<Entry>,
    /// Changes, findings and tools, and the first failed handshakes and certificates of their kind.
    remarks: Vec<Entry>,
    /// The failed handshakes and certificates among the remarks: peers, and what is said.
    tls_remarks: HashSet<(SocketAddr, IpAddr, String)>,
    left_out: [u64; 2],
    /// Fingerprints that the host sent.
    store: Store,
    /// What its ClientHellos offer.
    offers: Offers,
    /// Flows without their connection yet.
    flows: HashMap<FlowKey, FlowStart>,
}

/// Client and server, with their transport and the number of their tunnel: networks in tunnels may have the same addresses.
type FlowKey = (SocketAddr, SocketAddr, bool, u64);

fn key_of(event: &Event) -> FlowKey {
    let flow = &event.flow;
    (flow.client, flow.server, flow.transport == TransportKind::Udp, flow.tunnel_key())
}

/// An event and its capture.
struct Entry {
    event: Event,
    file: usize,
    start: FlowStart,
}

/// What the first events of a flow say.
#[derive(Clone, Debug, Default)]
struct FlowStart {
    /// Number of the first packet with an event; 0 if it is unknown.
    packet: u64,
    /// The start of the first User-Agent.
    user_agent: Option<Box<str>>,
    /// A failed handshake, and remarks about the certificate of the server.
    tls: [Option<Box<str>>; 2],
}

impl FollowedHost {
    pub(super) fn new(ip: IpAddr) -> Self {
        Self {
            ip,
            connections: Vec::new(),
            remarks: Vec::new(),
            tls_remarks: HashSet::default(),
            left_out: [0; 2],
            store: Store::new(&[Part::Fingerprints]),
            offers: Offers::default(),
            flows: HashMap::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.connections.is_empty() && self.remarks.is_empty() && self.store.events == 0
    }

    pub(super) fn begin_file(&mut self, index: usize) {
        self.flows.clear();
        self.store.begin_file(index, None);
    }

    /// Remembers the first packet and the User-Agent of a flow.
    pub(super) fn note(&mut self, event: &Event) {
        let key = key_of(event);
        if matches!(event.kind, Observation::Connection(_) | Observation::Finding(_))
            || self.flows.len() >= MAX_FOLLOWED_FLOWS && !self.flows.contains_key(&key)
        {
            return;
        }
        let packet = event.packet_number;
        let start = self.flows.entry(key).or_insert(FlowStart { packet, ..FlowStart::default() });
        if let (Observation::HttpRequest(observation), None) = (&event.kind, &start.user_agent) {
            let text = observation.request.user_agent();
            start.user_agent = text.map(|text| format!("{:#}", Escaped(start_of(text))).into());
        }
        let [handshake, certificate] = &mut start.tls;
        match &event.kind {
            Observation::TlsHandshake(found) if !found.handshake.completed => {
                *handshake = Some(handshake_in_words(&found.handshake).into());
            }
            Observation::TlsCertificates(found) if event.subject == Side::Server => {
                let remarks = certificate_remarks(found, event.ts).join(", ");
                *certificate = (!remarks.is_empty()).then(|| format!("certificate {remarks}").into());
            }
            _ => {}
        }
    }

    pub(super) fn add(&mut self, event: Event, file: usize) {
        let is_own = event.subject_addr().ip() == self.ip;
        let is_first = match tls_remark(&event, is_own) {
            Some(remark) if self.tls_remarks.len() < MAX_FOLLOWED_EVENTS => {
                let Event { flow, kind, .. } = &event;
                // All clients get the certificate of a server, but a handshake fails with one of them.
                let is_handshake = matches!(kind, Observation::TlsHandshake(_));
                let client = if is_handshake { flow.client.ip() } else { flow.server.ip() };
                self.tls_remarks.insert((flow.server, client, remark))
            }
            _ => false,
        };
        let (list, left_out) = match (&event.kind, &mut self.left_out) {
            (Observation::Connection(_), [left_out, _]) => (&mut self.connections, left_out),
            (
                Observation::HostChange(_)
                | Observation::IpSharing(_)
                | Observation::Tool(_)
                | Observation::Mismatch(_)
                | Observation::Finding(_)
                | Observation::Conflict(_),
                [_, left_out],
            ) if is_own => (&mut self.remarks, left_out),
            (Observation::TlsHandshake(_) | Observation::TlsCertificates(_), [_, left_out]) if is_first => {
                (&mut self.remarks, left_out)
            }
            _ => {
                if is_own {
                    self.store.add(&event);
                    if let Observation::TlsClient(found) = &event.kind {
                        self.offers.add(&found.client.hello, event.ts);
                    }
                }
                return;
            }
        };
        let start = match &event.kind {
            Observation::Connection(_) => self.flows.remove(&key_of(&event)),
            _ => None,
        };
        if list.len() < MAX_FOLLOWED_EVENTS {
            list.push(Entry { event, file, start: start.unwrap_or_default() });
        } else {
            *left_out = left_out.saturating_add(1);
        }
    }

    /// The connections in the order of their start.
    fn sorted(&self) -> Vec<(&Entry, &Connection)> {
        let connection = |entry| Some((entry, connection_of(entry)?));
        let mut connections: Vec<_> = self.connections.iter().filter_map(connection).collect();
        connections.sort_by_key(|(_, connection)| connection.start.as_nanos());
        connections
    }

    pub(super) fn write_json(&self, out: &mut impl Write, context: &Context<'_>) -> io::Result<()> {
        let mut line = Vec::new();
        for host in context.profiles(self.ip) {
            line.clear();
            JsonHost::new(host).write_to(&mut line);
            line.push(b'\n');
            out.write_all(&line)?;
        }
        let connections = self.sorted().into_iter().map(|(entry, _)| entry);
        for Entry { event, file, .. } in connections.chain(&self.remarks) {
            line.clear();
            JsonEvent::new(event).file((context.file_name)(*file).as_deref()).write_to(&mut line);
            line.push(b'\n');
            out.write_all(&line)?;
        }
        self.offers.write_json(out)?;
        let all = Fingerprints {
            values: &self.store.values,
            selection: Selection::Top(usize::MAX),
            kinds: &ValueKind::fingerprints().collect::<Vec<_>>(),
            file_name: context.file_name,
        };
        all.write_json(out)
    }

    pub(super) fn write_text(&self, out: &mut impl Write, context: &Context<'_>) -> io::Result<()> {
        let mut hosts = context.profiles(self.ip).peekable();
        if hosts.peek().is_none() {
            writeln!(out, "{:TITLE_WIDTH$}{}, which sent nothing that a profile counts", "host", self.ip)?;
        }
        for host in hosts {
            write_profile(out, host, context)?;
        }
        self.write_connections(out, context)?;
        self.write_remarks(out, context)?;
        self.offers.write_text(out, context)?;
        self.write_fingerprints(out, context)
    }

    fn write_connections(&self, out: &mut impl Write, context: &Context<'_>) -> io::Result<()> {
        let connections = self.sorted();
        if connections.is_empty() {
            return writeln!(out, "\nno connections");
        }
        let day = |(_, connection): &(&Entry, &Connection)| date(context.zone, connection);
        let is_one_day = connections.first().map(day) == connections.last().map(day);
        let [left_out, _] = self.left_out;
        let all = (connections.len() as u64).saturating_add(left_out);
        write!(out, "\nconnections: {all}")?;
        match connections.first().filter(|_| is_one_day) {
            Some(first) => writeln!(out, ", on {} ({})", day(first), context.zone.name())?,
            None => writeln!(out, " ({})", context.zone.name())?,
        }
        let mut table = Table::new(&CONNECTION_HEADINGS);
        let mut has_short_names = true;
        for (entry, connection) in connections.iter().take(SHOWN_CONNECTIONS) {
            let row = self.connection_row(entry, connection, is_one_day, context);
            has_short_names &= row.get(3).is_none_or(|name| name.chars().count() <= MAX_WHOLE_NAME);
            table.add_row(row);
        }
        let layout = match context.width {
            _ if !has_short_names => NARROW,
            Some(width) if width < WIDE_COLUMNS => WITH_NAMES,
            _ => WIDE,
        };
        table.write(out, layout, context.width)?;
        let more = all.saturating_sub(connections.len().min(SHOWN_CONNECTIONS) as u64);
        write_more(out, more, " connections; --from, --to and --where select others")
    }

    fn connection_row(
        &self,
        entry: &Entry,
        connection: &Connection,
        is_one_day: bool,
        context: &Context<'_>,
    ) -> Vec<String> {
        let flow = &entry.event.flow;
        let is_client = flow.client.ip() == self.ip;
        let (arrow, peer) = if is_client { (">", flow.server) } else { ("<", flow.client) };
        let (own, other) = match is_client {
            true => (connection.client, connection.server),
            false => (connection.server, connection.client),
        };
        let traffic = |bytes: u64, packets: u64| format!("{bytes} B/{packets}");
        let time = context.zone.seconds(connection.start).to_string();
        let time = if is_one_day { time.get(11..).unwrap_or_default().to_owned() } else { time };
        let name = connection.host.as_deref().map(|host| format!("{:#}", Escaped(start_of(host))));
        // A request to an address names what the column of peers has.
        let name = name.filter(|name| *name != peer.ip().to_string() && *name != peer.to_string());
        vec![
            time,
            arrow.to_owned(),
            peer.to_string(),
            name.unwrap_or_default(),
            what(connection, &entry.start),
            fingerprint(connection),
            traffic(own.bytes, own.packets),
            traffic(other.bytes, other.packets),
            format!("{:.1} s", connection.duration()),
            if entry.start.packet > 0 { entry.start.packet.to_string() } else { String::new() },
            (context.file_name)(entry.file).unwrap_or_default(),
        ]
    }

    fn write_remarks(&self, out: &mut impl Write, context: &Context<'_>) -> io::Result<()> {
        if self.remarks.is_empty() {
            return Ok(());
        }
        let [_, left_out] = self.left_out;
        let all = (self.remarks.len() as u64).saturating_add(left_out);
        writeln!(out, "\nchanges, findings, tools, failed handshakes and certificates: {all}")?;
        let mut table = Table::new(&REMARK_HEADINGS);
        for Entry { event, file, .. } in self.remarks.iter().take(SHOWN_ROWS) {
            let ends = [event.flow.client, event.flow.server];
            let [own, peer] = event.subject.choose(ends, [event.flow.server, event.flow.client]);
            let peer = if own.ip() == self.ip { peer } else { own };
            table.add_row(vec![
                context.zone.seconds(event.ts).to_string(),
                EventKind::of(&event.kind).name().replace('_', " "),
                peer.to_string(),
                remark(event),
                event.packet_number.to_string(),
                (context.file_name)(*file).unwrap_or_default(),
            ]);
        }
        table.write(out, REMARK_LAYOUT, context.width)?;
        write_more(out, all.saturating_sub(self.remarks.len().min(SHOWN_ROWS) as u64), " events")
    }

    fn write_fingerprints(&self, out: &mut impl Write, context: &Context<'_>) -> io::Result<()> {
        let mut table =
            Table::new(&["fingerprint", "value", "stands for", "events", "first seen", "last seen"]);
        let mut left_out = 0_u64;
        for kind in ValueKind::fingerprints() {
            let values = self.store.values.of(kind);
            for (value, seen) in values.top(SHOWN_OF_HOST) {
                table.add_row(vec![
                    kind.title().to_owned(),
                    value.to_owned(),
                    seen.name.as_deref().unwrap_or_default().to_owned(),
                    seen.count.to_string(),
                    context.zone.seconds(seen.first.ts).to_string(),
                    context.zone.seconds(seen.last).to_string(),
                ]);
            }
            left_out = left_out.saturating_add(values.len().saturating_sub(SHOWN_OF_HOST) as u64);
        }
        if table.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        table.write(out, Layout { whole: &[0, 4, 5], numbers: &[3] }, context.width)?;
        write_more(out, left_out, " fingerprints; --format json has them")
    }
}

/// Writes what a host is, and why.
fn write_profile(out: &mut impl Write, host: &HostProfile, context: &Context<'_>) -> io::Result<()> {
    let verdict = host.verdict();
    let HostRow { address, site: _, system, software, tls_clients, link, hops, uptime, seen, remarks } =
        HostRow::new(host, &verdict, context.zone);
    let evidence: Vec<String> = verdict.evidence.iter().map(ToString::to_string).collect();
    let contradictions: Vec<String> = verdict.contradictions.iter().map(ToString::to_string).collect();
    let [asked, asked_of] = [Side::Client, Side::Server].map(|role| contacts(host.names(), role, name));
    let [contacted, contacted_by] =
        [Side::Client, Side::Server].map(|role| contacts(host.peers(), role, peer));
    for (title, text) in [
        ("host", address),
        ("system", system),
        ("evidence", evidence.join("\n")),
        ("contradictions", contradictions.join("\n")),
        ("software", software),
        ("TLS clients", tls_clients),
        ("link", link.replace('\n', " ")),
        ("hops", hops),
        ("uptime", uptime),
        ("seen", seen.replace('\n', " ")),
        ("remarks", remarks),
        ("asked for", asked),
        ("was asked for", asked_of),
        ("contacted", contacted),
        ("contacted by", contacted_by),
    ] {
        let width = context.width.map(|width| usize::from(width).saturating_sub(TITLE_WIDTH));
        for (n, line) in text.lines().flat_map(|line| wrapped(line, width)).enumerate() {
            writeln!(out, "{:TITLE_WIDTH$}{line}", if n == 0 { title } else { "" })?;
        }
    }
    Ok(())
}

fn connection_of(entry: &Entry) -> Option<&Connection> {
    match &entry.event.kind {
        Observation::Connection(connection) => Some(connection),
        _ => None,
    }
}

fn name(name: &Contact<Box<[u8]>>) -> String {
    format!("{:#}", Escaped(&name.value))
}

fn peer(peer: &Contact<IpAddr>) -> String {
    peer.value.to_string()
}

/// The most used values and the rarest ones, with their counts, and how many others there are.
fn contacts<T>(contacts: &Contacts<T>, role: Side, text: impl Fn(&Contact<T>) -> String) -> String {
    let all: Vec<&Contact<T>> = contacts.by_count().filter(|contact| contact.role == role).collect();
    let one = |contact: &&Contact<T>| {
        let sign = if contact.is_at_least { "at least " } else { "" };
        format!("{} ({sign}{})", text(contact), contact.count)
    };
    let most: Vec<String> = all.iter().take(SHOWN_OF_HOST).map(one).collect();
    let rest = all.get(SHOWN_OF_HOST..).unwrap_or_default();
    let rarest: Vec<String> = rest.iter().rev().take(SHOWN_OF_HOST).map(one).collect();
    let others = rest.len().saturating_sub(SHOWN_OF_HOST);
    let mut lines = most.join(", ");
    if !rarest.is_empty() {
        lines.push_str(&format!("\nrarest: {}", rarest.join(", ")));
    }
    match (all.is_empty(), others, contacts.left_out()) {
        (true, ..) | (_, 0, 0) => {}
        (_, others, 0) => lines.push_str(&format!("\nand {others} more")),
        (_, others, left_out) => {
            lines.push_str(&format!("\nand {others} more, and {left_out} observations of others"));
        }
    }
    lines
}

/// The software of a connection's client, otherwise of its server; a User-Agent if no software is known. Then how its handshake
/// failed, and remarks about the certificate of its server.
fn what(connection: &Connection, start: &FlowStart) -> String {
    let tls = connection.tls_client.as_ref().map(|found| &found.software as &dyn Display);
    let http = connection.client_software.as_ref().map(|name| name as &dyn Display);
    let user_agent = start.user_agent.as_ref().map(|text| text as &dyn Display);
    let server = connection.server_software.as_ref().map(|label| label as &dyn Display);
    let known = tls.or(http).or(user_agent).or(server);
    let mut text = known.map(ToString::to_string).unwrap_or_default();
    if let Some(outcome) = connection.mismatch {
        text.push_str(&format!(" ({})", outcome.name()));
    }
    for words in start.tls.iter().flatten() {
        text.push_str(if text.is_empty() { "" } else { "; " });
        text.push_str(words);
    }
    text
}

fn fingerprint(connection: &Connection) -> String {
    let Connection { ja4, hassh, hassh_server, .. } = connection;
    match (ja4, hassh, hassh_server) {
        (Some(ja4), ..) => ja4.to_string(),
        (None, Some(hassh), _) => format!("HASSH {hassh}"),
        (None, None, Some(hassh)) => format!("HASSHServer {hassh}"),
        (None, None, None) => String::new(),
    }
}

/// What a handshake that failed or a certificate says; `None` for other events, and for a certificate of a peer without remarks.
fn tls_remark(event: &Event, is_own: bool) -> Option<String> {
    match &event.kind {
        Observation::TlsHandshake(found) if !found.handshake.completed => {
            Some(handshake_in_words(&found.handshake))
        }
        Observation::TlsCertificates(found)
            if !found.certificates.certificates.is_empty()
                && (is_own || !certificate_remarks(found, event.ts).is_empty()) =>
        {
            let sender = if event.subject == Side::Client { "client " } else { "" };
            Some(format!("{sender}{}", certificates_in_words(found, event.ts)))
        }
        _ => None,
    }
}

/// What a change, a finding, a tool, a handshake or a certificate says.
fn remark(event: &Event) -> String {
    match &event.kind {
        Observation::TlsHandshake(_) | Observation::TlsCertificates(_) => {
            tls_remark(event, true).unwrap_or_default()
        }
        Observation::HostChange(found) => found.change_in_words(),
        Observation::IpSharing(found) => found.sharing_in_words(),
        Observation::Mismatch(found) => format!("{:#}", Escaped(found.to_string().as_bytes())),
        Observation::Finding(found) => format!("{}: {found}", found.kind.alert().name()),
        Observation::Tool(found) => found.to_string(),
        Observation::Conflict(_) => "two contents for the same bytes".to_owned(),
        _ => String::new(),
    }
}

fn date(zone: &Zone, connection: &Connection) -> String {
    zone.seconds(connection.start).to_string().chars().take(10).collect()
}
