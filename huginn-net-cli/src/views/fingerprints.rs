//! The most frequent and the rarest fingerprints of each kind.

use std::io::{self, Write};
use std::net::SocketAddr;

use huginn_net::core::Printable;
use huginn_net::record::csv_text;

use super::columns::{Layout, Table};
use super::encoding::{object, write_json_line};
use super::store::{SeenValue, ValueKind, ValueTable};
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

/// The fingerprints that are written.
#[derive(Clone, Copy)]
pub(crate) struct Fingerprints<'a> {
    pub(crate) values: &'a ValueTable,
    pub(crate) selection: Selection,
    pub(crate) kinds: &'a [ValueKind],
    /// Names a file by its index, if there are several.
    pub(crate) file_name: &'a dyn Fn(usize) -> Option<String>,
}

impl Fingerprints<'_> {
    fn of(&self, kind: ValueKind) -> Vec<(&str, &SeenValue)> {
        match self.selection {
            Selection::Top(n) => self.values.of(kind).top(n),
            Selection::Rare(n) => self.values.of(kind).rare(n),
        }
    }

    /// Writes a table for each kind.
    pub(crate) fn write(&self, out: &mut impl Write, width: Option<u16>, zone: &Zone) -> io::Result<()> {
        let mut separator = "";
        for kind in self.kinds {
            let values = self.values.of(*kind);
            if values.len() == 0 {
                continue;
            }
            let shown = self.of(*kind);
            let which = match self.selection {
                Selection::Top(_) => "most frequent",
                Selection::Rare(_) => "rarest",
            };
            let cut = if values.left_out() > 0 { ", limit reached" } else { "" };
            writeln!(out, "{separator}{}: {which} {} of {}{cut}", kind.title(), shown.len(), values.len())?;
            // The column of files is empty, and not written, if there is one.
            let mut table = Table::new(&HEADINGS);
            for (value, seen) in shown {
                table.add_row(vec![
                    Printable(value).to_string(),
                    seen.name.as_deref().unwrap_or_default().to_owned(),
                    seen.hosts().to_string(),
                    seen.count.to_string(),
                    seen.first.client.ip().to_string(),
                    zone.seconds(seen.first.ts).to_string(),
                    seen.first.packet.to_string(),
                    (self.file_name)(seen.first.file).unwrap_or_default(),
                ]);
            }
            table.write(out, LAYOUT, width)?;
            separator = "\n";
        }
        Ok(())
    }

    /// Writes a line of JSON for each fingerprint.
    pub(crate) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        for kind in self.kinds {
            for (value, seen) in self.of(*kind) {
                let SeenValue { name, count, first, last, .. } = seen;
                let end = |address: &SocketAddr| object! { ip: address.ip(), port: address.port() };
                let first = object! {
                    ts: first.ts,
                    #[serde(flatten)] file: (self.file_name)(first.file).map(|file| object! { file: file }),
                    packet: first.packet,
                    client: end(&first.client),
                    server: end(&first.server),
                };
                let line = object! {
                    kind: kind.name(),
                    value: value,
                    name: name,
                    hosts: seen.hosts(),
                    events: count,
                    first: first,
                    last: last,
                };
                write_json_line(out, "fingerprint", line)?;
            }
        }
        Ok(())
    }

    /// Writes the fingerprints of each kind as CSV.
    pub(crate) fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record([
            "kind", "value", "name", "hosts", "events", "first_ts", "last_ts", "client", "server", "packet",
            "file",
        ])?;
        for kind in self.kinds {
            for (value, seen) in self.of(*kind) {
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
                    &csv_text(&(self.file_name)(first.file).unwrap_or_default()),
                ])?;
            }
        }
        csv.flush()
    }
}
