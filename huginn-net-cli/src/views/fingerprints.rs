//! The most frequent and the rarest fingerprints of each kind.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use huginn_net::Timestamp;
use huginn_net::record::csv_text;
use serde::Serialize;

use super::columns::{Layout, Table};
use super::overview::{Overview, SeenValue, ValueKind};
use crate::output::Zone;

/// Headings of a table; the last one only if there are several files.
const HEADINGS: [&str; 8] =
    ["fingerprint", "name", "hosts", "events", "first client", "first seen", "packet", "file"];
const LAYOUT: Layout<'static> = Layout { whole: &[4, 5, 6], numbers: &[2, 3, 6] };

/// Selects fingerprints of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Selection {
    /// Those of most hosts.
    Top(usize),
    /// Those of fewest hosts.
    Rare(usize),
}

impl Selection {
    fn of(self, overview: &Overview, kind: ValueKind) -> Vec<(&str, &SeenValue)> {
        match self {
            Self::Top(n) => overview.values(kind).top(n),
            Self::Rare(n) => overview.values(kind).rare(n),
        }
    }
}

/// Writes a table for each kind of fingerprint.
pub(crate) fn write(
    out: &mut impl Write,
    overview: &Overview,
    selection: Selection,
    kinds: &[ValueKind],
    width: Option<u16>,
    zone: &Zone,
    file_name: &dyn Fn(usize) -> Option<String>,
) -> io::Result<()> {
    let mut separator = "";
    for kind in kinds {
        let values = overview.values(*kind);
        if values.len() == 0 {
            continue;
        }
        let shown = selection.of(overview, *kind);
        let which = match selection {
            Selection::Top(_) => "most frequent",
            Selection::Rare(_) => "rarest",
        };
        let cut = if values.left_out() > 0 { ", limit reached" } else { "" };
        writeln!(out, "{separator}{}: {which} {} of {}{cut}", kind.title(), shown.len(), values.len())?;
        let has_files = shown.iter().any(|(_, seen)| seen.first.file.is_some());
        let columns = HEADINGS.len().saturating_sub(usize::from(!has_files));
        let mut table = Table::new(HEADINGS.get(..columns).unwrap_or(&HEADINGS));
        for (value, seen) in shown {
            let mut row = vec![
                value.to_owned(),
                seen.name.as_deref().unwrap_or_default().to_owned(),
                seen.hosts().to_string(),
                seen.count.to_string(),
                seen.first.client.ip().to_string(),
                zone.seconds(seen.first.ts).to_string(),
                seen.first.packet.to_string(),
            ];
            if has_files {
                row.push(seen.first.file.and_then(file_name).unwrap_or_default());
            }
            table.add_row(row);
        }
        table.write(out, LAYOUT, width)?;
        separator = "\n";
    }
    Ok(())
}

/// A fingerprint as JSON.
#[derive(Serialize)]
struct Line<'a> {
    event: &'static str,
    kind: &'static str,
    value: &'a str,
    name: Option<&'a str>,
    hosts: usize,
    events: u64,
    first: First<'a>,
    last: Timestamp,
}

#[derive(Serialize)]
struct First<'a> {
    ts: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    packet: u64,
    client: Endpoint,
    server: Endpoint,
}

#[derive(Serialize)]
struct Endpoint {
    ip: IpAddr,
    port: u16,
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self { ip: address.ip(), port: address.port() }
    }
}

/// Writes a line of JSON for each fingerprint. `file_name` names a file by its index.
pub(crate) fn write_json(
    out: &mut impl Write,
    overview: &Overview,
    selection: Selection,
    kinds: &[ValueKind],
    file_name: &dyn Fn(usize) -> Option<String>,
) -> io::Result<()> {
    for kind in kinds {
        for (value, seen) in selection.of(overview, *kind) {
            let first = &seen.first;
            let file = first.file.and_then(file_name);
            let line = Line {
                event: "fingerprint",
                kind: kind.name(),
                value,
                name: seen.name.as_deref(),
                hosts: seen.hosts(),
                events: seen.count,
                first: First {
                    ts: first.ts,
                    file: file.as_deref(),
                    packet: first.packet,
                    client: first.client.into(),
                    server: first.server.into(),
                },
                last: seen.last,
            };
            serde_json::to_writer(&mut *out, &line)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Writes the fingerprints of each kind as CSV.
pub(crate) fn write_csv(
    out: &mut impl Write,
    overview: &Overview,
    selection: Selection,
    kinds: &[ValueKind],
    file_name: &dyn Fn(usize) -> Option<String>,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        "kind", "value", "name", "hosts", "events", "first_ts", "last_ts", "client", "server", "packet",
        "file",
    ])?;
    for kind in kinds {
        for (value, seen) in selection.of(overview, *kind) {
            let SeenValue { name, count, first, last, .. } = seen;
            csv.write_record([
                kind.name(),
                &csv_text(value),
                &csv_text(name.as_deref().unwrap_or_default()),
                &seen.hosts().to_string(),
                &count.to_string(),
                &first.ts.to_string(),
                &last.to_string(),
                &first.client.to_string(),
                &first.server.to_string(),
                &first.packet.to_string(),
                &csv_text(&first.file.and_then(file_name).unwrap_or_default()),
            ])?;
        }
    }
    csv.flush()
}
