//! `huginn-net interfaces`: lists capture interfaces.

use std::io::{self, Write};

use huginn_net::core::Escaped;
use huginn_net_live::{Interface, interfaces};
use serde::Serialize;

use crate::args::ListFormat;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::views::columns::{Layout, Table, stdout_width};

const HEADINGS: [&str; 7] = ["name", "index", "state", "MAC", "addresses", "MTU", "description"];
/// Only the description is wrapped.
const LAYOUT: Layout<'static> = Layout { whole: &[0, 1, 2, 3, 4, 5], numbers: &[1, 5] };

pub(super) fn run(format: ListFormat) -> Result<Outcome, Failure> {
    let interfaces = interfaces()?;
    let all = cfg!(target_os = "linux").then(Row::any);
    let rows = interfaces.iter().map(Row::from_interface).chain(all);
    let mut out = io::stdout().lock();
    match format {
        ListFormat::Human => write_table(&mut out, rows)?,
        ListFormat::Json => {
            for row in rows {
                serde_json::to_writer(&mut out, &row).map_err(io::Error::from)?;
                writeln!(out)?;
            }
        }
    }
    Ok(Outcome::Complete)
}

fn write_table<'a>(out: &mut impl Write, rows: impl Iterator<Item = Row<'a>>) -> io::Result<()> {
    let mut table = Table::new(&HEADINGS);
    for Row { name, index, state, mac, addresses, mtu, description, .. } in rows {
        table.add_row(vec![
            format!("{:#}", Escaped(name.as_bytes())),
            index.to_string(),
            state.to_owned(),
            mac.unwrap_or_default(),
            addresses.join("\n"),
            mtu.map(|mtu| mtu.to_string()).unwrap_or_default(),
            description.unwrap_or_default().to_owned(),
        ]);
    }
    table.write(out, LAYOUT, stdout_width())
}

/// Row of the list.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    index: u32,
    state: &'static str,
    loopback: bool,
    mac: Option<String>,
    addresses: Vec<String>,
    mtu: Option<u32>,
    description: Option<&'a str>,
}

impl<'a> Row<'a> {
    /// What stands for all interfaces.
    fn any() -> Self {
        Self {
            name: "any",
            index: 0,
            state: "up",
            loopback: false,
            mac: None,
            addresses: Vec::new(),
            mtu: None,
            description: Some("all interfaces, also those that appear later"),
        }
    }

    fn from_interface(interface: &'a Interface) -> Self {
        Self {
            name: &interface.name,
            index: interface.index,
            state: state(interface),
            loopback: interface.is_loopback,
            mac: interface.mac.map(|mac| mac.map(|byte| format!("{byte:02x}")).join(":")),
            addresses: interface.addresses.iter().map(ToString::to_string).collect(),
            mtu: interface.mtu,
            description: interface.description.as_deref(),
        }
    }
}

fn state(interface: &Interface) -> &'static str {
    match interface {
        Interface { is_up: false, .. } => "down",
        Interface { is_running: false, .. } => "no carrier",
        _ => "up",
    }
}
