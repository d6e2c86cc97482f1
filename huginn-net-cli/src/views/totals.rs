//! Totals after the events of the human format: hosts, systems, software, and what could not be seen.

use std::io::{self, Write};

use huginn_net::HuginnNet;
use huginn_net::core::Amount;
use huginn_net::hosts::JoinedHosts;

use super::store::{Store, ValueKind};
use crate::blind_spots::ExampleFiles;
use crate::output::Zone;

/// Number of names that the totals show of each kind.
const SHOWN_TOTALS: usize = 8;

/// Number of mismatches that the totals show.
const SHOWN_MISMATCHES: usize = 8;

/// Width of the column of titles.
const TITLE_WIDTH: usize = 12;

/// Writes the totals, and what could not be seen.
pub(crate) fn write(
    out: &mut impl Write,
    store: &Store,
    analyzer: &HuginnNet,
    examples: &ExampleFiles,
    hosts: Option<&JoinedHosts>,
    zone: &Zone,
) -> io::Result<()> {
    let counters = analyzer.counters();
    let (host_count, is_cut) = store.hosts.count();
    write!(out, "{:TITLE_WIDTH$}", "total")?;
    for (n, (count, name)) in [
        (counters.frames, "packet(s)"),
        (counters.flows.opened, "flow(s)"),
        (host_count as u64, "host(s)"),
        (store.events, "event(s)"),
    ]
    .into_iter()
    .enumerate()
    {
        let separator = if n > 0 { ", " } else { "" };
        write!(out, "{separator}{}", Amount(count, name))?;
    }
    writeln!(out, "{}", if is_cut { " (not all hosts counted)" } else { "" })?;
    if let Some((first, last)) = analyzer.span() {
        write!(out, "{:TITLE_WIDTH$}{}", "time", zone.seconds(first))?;
        if first.as_secs() != last.as_secs() {
            write!(out, " to {}", zone.seconds(last))?;
        }
        writeln!(out, " {}", zone.name())?;
    }
    write_rows(out, "tools", tools(store))?;
    if store.hosts.has_more_tools() {
        writeln!(out, "{:TITLE_WIDTH$}and tools of further hosts", "")?;
    }
    for kind in [ValueKind::System, ValueKind::Software, ValueKind::TlsClient, ValueKind::SshClient] {
        write_names(out, store, kind)?;
    }
    let contradictions = hosts.map(contradictions).unwrap_or_default();
    write_rows(out, ValueKind::Mismatch.title(), mismatches(store).chain(contradictions))?;
    for (n, spot) in examples.locate(analyzer).iter().enumerate() {
        let title = if n == 0 { "not seen" } else { "" };
        writeln!(out, "{title:TITLE_WIDTH$}{spot}")?;
    }
    if store.events == 0 && counters.frames > 0 {
        let decode = &counters.decode;
        let others = decode.frames.saturating_sub(decode.tcp).saturating_sub(decode.udp);
        writeln!(
            out,
            "{:TITLE_WIDTH$}no SYN, TLS hello, HTTP head or SSH identification in {}, {} and {}",
            "no events",
            Amount(decode.tcp, "TCP segment(s)"),
            Amount(decode.udp, "UDP datagram(s)"),
            Amount(others, "other packet(s)")
        )?;
    }
    Ok(())
}

/// The tools of hosts, a text for each.
fn tools(store: &Store) -> impl Iterator<Item = String> {
    store.hosts.tools().into_iter().map(|(id, found)| format!("{}: {found}", id.ip()))
}

/// Writes the most frequent names, each with its number of hosts.
fn write_names(out: &mut impl Write, store: &Store, kind: ValueKind) -> io::Result<()> {
    let values = store.values.of(kind);
    if values.len() == 0 {
        return Ok(());
    }
    write!(out, "{:TITLE_WIDTH$}", kind.title())?;
    for (n, (name, seen)) in values.top(SHOWN_TOTALS).into_iter().enumerate() {
        let separator = if n > 0 { ", " } else { "" };
        write!(out, "{separator}{name} ({})", seen.hosts())?;
    }
    let rest = values.len().saturating_sub(SHOWN_TOTALS);
    if rest > 0 {
        write!(out, ", {rest} more")?;
    }
    writeln!(out, "{}", if values.left_out() > 0 { ", and others" } else { "" })
}

/// The clients that differ from what they say, a text for each combination of reasons.
fn mismatches(store: &Store) -> impl Iterator<Item = String> {
    let values = store.values.of(ValueKind::Mismatch).top(usize::MAX);
    values.into_iter().map(|(reasons, seen)| {
        let client = seen.first.client.ip();
        match seen.hosts().saturating_sub(1) {
            0 => format!("{client}: {reasons}"),
            1 => format!("{client} and another host: {reasons}"),
            others => format!("{client} and {others} other hosts: {reasons}"),
        }
    })
}

/// The contradictions between layers, a text for each.
fn contradictions(hosts: &JoinedHosts) -> Vec<String> {
    let texts = hosts.profiles().flat_map(|host| {
        let found = host.verdict().contradictions.into_iter().filter(|found| !found.is_expected());
        found.map(|found| format!("{}: {found}", host.ip))
    });
    texts.collect()
}

/// Writes the first texts, each as a row, and the number of the others.
fn write_rows(out: &mut impl Write, title: &str, mut rows: impl Iterator<Item = String>) -> io::Result<()> {
    for (n, row) in rows.by_ref().take(SHOWN_MISMATCHES).enumerate() {
        let title = if n == 0 { title } else { "" };
        writeln!(out, "{title:TITLE_WIDTH$}{row}")?;
    }
    match rows.count() {
        0 => Ok(()),
        more => writeln!(out, "{:TITLE_WIDTH$}{more} more", ""),
    }
}
