//! The hosts that sent something: a fingerprint, or a question for a server.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use foldhash::HashMap;
use huginn_net::core::Amount;
use huginn_net::{Event, Timestamp};
use serde::Serialize;

use super::{Context, Subject, write_more};
use crate::limits::{MAX_FOLLOWED_SENDERS, MAX_FOLLOWED_SERVERS, SHOWN_ROWS};
use crate::views::columns::{Layout, Table};

const HEADINGS: [&str; 8] =
    ["host", "system", "sent as", "events", "first seen", "last seen", "packet", "file"];
const LAYOUT: Layout<'static> = Layout { whole: &[0, 4, 5], numbers: &[3, 6] };

/// The hosts that sent something.
#[derive(Debug, Default)]
pub(super) struct Senders {
    seen: HashMap<IpAddr, Sender>,
    servers: BTreeSet<SocketAddr>,
    has_more_servers: bool,
    /// Events of hosts that are not listed.
    left_out: u64,
}

/// A host that sent something.
#[derive(Debug)]
struct Sender {
    /// The software of the first event that names it.
    name: Option<String>,
    count: u64,
    first: Timestamp,
    last: Timestamp,
    /// Packet and capture of the first event.
    packet: u64,
    file: usize,
}

/// A sender as JSON.
#[derive(Serialize)]
struct Line<'a> {
    event: &'static str,
    ip: IpAddr,
    system: Option<String>,
    name: Option<&'a str>,
    count: u64,
    first: Timestamp,
    last: Timestamp,
    packet: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl Senders {
    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    pub(super) fn add(&mut self, event: &Event, ip: IpAddr, name: Option<String>, file: usize) {
        if self.servers.len() < MAX_FOLLOWED_SERVERS {
            self.servers.insert(event.flow.server);
        } else if !self.servers.contains(&event.flow.server) {
            self.has_more_servers = true;
        }
        if self.seen.len() >= MAX_FOLLOWED_SENDERS && !self.seen.contains_key(&ip) {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        let (ts, packet) = (event.ts, event.packet_number);
        let sender =
            self.seen.entry(ip).or_insert(Sender { name: None, count: 0, first: ts, last: ts, packet, file });
        sender.count = sender.count.saturating_add(1);
        sender.name = sender.name.take().or(name);
        if ts.as_nanos() > sender.last.as_nanos() {
            sender.last = ts;
        }
        if ts.as_nanos() < sender.first.as_nanos() {
            (sender.first, sender.packet, sender.file) = (ts, packet, file);
        }
    }

    /// The senders by descending number of events, then by address.
    fn sorted(&self) -> Vec<(IpAddr, &Sender)> {
        let mut senders: Vec<_> = self.seen.iter().map(|(ip, sender)| (*ip, sender)).collect();
        senders.sort_unstable_by_key(|(ip, sender)| (Reverse(sender.count), *ip));
        senders
    }

    pub(super) fn write_text(
        &self,
        out: &mut impl Write,
        subject: &Subject,
        context: &Context<'_>,
    ) -> io::Result<()> {
        let senders = self.sorted();
        let hosts = Amount(senders.len() as u64, "host(s)");
        let servers: Vec<String> = self.servers.iter().map(ToString::to_string).collect();
        let servers = servers.join(", ");
        let more = if self.has_more_servers { " and others" } else { "" };
        match subject {
            Subject::Fingerprint(_) | Subject::Host(_) => {
                writeln!(out, "{subject}: sent by {hosts}, in connections with {servers}{more}\n")?;
            }
            Subject::ServerName(_) | Subject::ServerAddress(_) => {
                writeln!(out, "{subject}: {hosts} asked {servers}{more}\n")?;
            }
        }
        let mut table = Table::new(&HEADINGS);
        for (ip, sender) in senders.iter().take(SHOWN_ROWS) {
            table.add_row(vec![
                ip.to_string(),
                system(*ip, context).unwrap_or_default(),
                sender.name.clone().unwrap_or_default(),
                sender.count.to_string(),
                context.zone.seconds(sender.first).to_string(),
                context.zone.seconds(sender.last).to_string(),
                sender.packet.to_string(),
                (context.file_name)(sender.file).unwrap_or_default(),
            ]);
        }
        table.write(out, LAYOUT, context.width)?;
        write_more(out, senders.len().saturating_sub(SHOWN_ROWS) as u64, "hosts; --format json has them")?;
        write_more(out, self.left_out, "events of further hosts: the limit was reached")
    }

    pub(super) fn write_json(&self, out: &mut impl Write, context: &Context<'_>) -> io::Result<()> {
        for (ip, sender) in self.sorted() {
            let line = Line {
                event: "sender",
                ip,
                system: system(ip, context),
                name: sender.name.as_deref(),
                count: sender.count,
                first: sender.first,
                last: sender.last,
                packet: sender.packet,
                file: (context.file_name)(sender.file),
            };
            serde_json::to_writer(&mut *out, &line)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

/// The system of a host, outside of tunnels if it is there, with the doubt of its verdict.
fn system(ip: IpAddr, context: &Context<'_>) -> Option<String> {
    let verdict = context.profiles(ip).next()?.verdict();
    Some(verdict.name()?.to_string())
}
