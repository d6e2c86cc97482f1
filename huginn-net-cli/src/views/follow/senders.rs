//! The hosts that sent something: a fingerprint, or a question for a server.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use huginn_net::Event;
use huginn_net::core::Amount;
use huginn_net::hosts::Systems;
use serde::Serialize;

use super::context::{Context, Subject};
use crate::limits::{MAX_FOLLOWED_SERVERS, SHOWN_ROWS};
use crate::views::columns::{Layout, Table, write_more};
use crate::views::encoding::{object, write_json_line};
use crate::views::store::bounded::{Bounded, Seen};

/// Maximum number of hosts that `follow --server` and `--fingerprint` list: forged addresses can be any number.
const MAX_FOLLOWED_SENDERS: usize = 1 << 16;

const HEADINGS: [&str; 8] =
    ["host", "system", "sent as", "events", "first seen", "last seen", "packet", "file"];
const LAYOUT: Layout<'static> = Layout { whole: &[0, 4, 5], numbers: &[3, 6] };

/// The hosts that sent something.
#[derive(Debug, Default)]
pub(super) struct Senders {
    hosts: Bounded<IpAddr, Sender, MAX_FOLLOWED_SENDERS>,
    servers: Bounded<SocketAddr, (), MAX_FOLLOWED_SERVERS>,
}

/// A host that sent something.
#[derive(Debug, Default, Serialize)]
struct Sender {
    /// The software of the first event that names it.
    name: Option<String>,
    #[serde(flatten)]
    seen: Seen,
    /// Packet and capture of the first event.
    packet: u64,
    #[serde(skip)]
    file: usize,
}

impl Senders {
    pub(super) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    pub(super) fn add(&mut self, event: &Event, ip: IpAddr, name: Option<String>, file: usize) {
        self.servers.entry(event.flow.server);
        let Some(sender) = self.hosts.entry(ip) else { return };
        let is_first = sender.seen.count == 0 || event.ts.as_nanos() < sender.seen.first.as_nanos();
        sender.seen.add(&Seen::once(event.ts));
        sender.name = sender.name.take().or(name);
        if is_first {
            (sender.packet, sender.file) = (event.packet_number, file);
        }
    }

    /// The senders by descending number of events, then by address.
    fn sorted(&self) -> Vec<(IpAddr, &Sender)> {
        let mut senders: Vec<_> = self.hosts.iter().map(|(ip, sender)| (*ip, sender)).collect();
        senders.sort_unstable_by_key(|(ip, sender)| (Reverse(sender.seen.count), *ip));
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
        let servers = self.servers.keys().copied().collect::<BTreeSet<_>>();
        let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
        let servers = servers.join(", ");
        let more = if self.servers.left_out() > 0 { " and others" } else { "" };
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
                sender.seen.count.to_string(),
                context.zone.seconds(sender.seen.first).to_string(),
                context.zone.seconds(sender.seen.last).to_string(),
                sender.packet.to_string(),
                (context.file_name)(sender.file).unwrap_or_default(),
            ]);
        }
        table.write(out, LAYOUT, context.width)?;
        write_more(out, senders.len().saturating_sub(SHOWN_ROWS) as u64, " hosts; --format json has them")?;
        write_more(out, self.hosts.left_out(), " events of further hosts: the limit was reached")
    }

    pub(super) fn write_json(&self, out: &mut impl Write, context: &Context<'_>) -> io::Result<()> {
        for (ip, sender) in self.sorted() {
            let (system, file) = (system(ip, context), (context.file_name)(sender.file));
            let line = object! {
                ip: ip,
                system: system,
                #[serde(flatten)] sender: sender,
                #[serde(flatten)] file: file.map(|file| object! { file: file }),
            };
            write_json_line(out, "sender", line)?;
        }
        Ok(())
    }
}

/// The system of a host, outside of tunnels if it is there, with the doubt of its verdict.
fn system(ip: IpAddr, context: &Context<'_>) -> Option<String> {
    let verdict = context.profiles(ip).next()?.verdict();
    match verdict.systems() {
        Systems::One(name) => Some(name.to_string()),
        Systems::Several(_) | Systems::Unknown => None,
    }
}
