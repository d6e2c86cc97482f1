//! Totals after the events of the human format: hosts, systems, software, and what could not be seen.

use std::io::{self, Write};

use huginn_net::HuginnNet;

use super::zone::Zone;
use crate::blind_spots::ExampleFiles;
use crate::limits::{SHOWN_MISMATCHES, SHOWN_TOTALS};
use crate::overview::{Overview, ValueKind};

/// Width of the column of titles.
const TITLE_WIDTH: usize = 12;

/// Writes the totals, and what could not be seen.
pub(super) fn write(
    out: &mut impl Write,
    overview: &Overview,
    analyzer: &HuginnNet,
    examples: &ExampleFiles,
    zone: &Zone,
) -> io::Result<()> {
    let counters = analyzer.counters();
    let (hosts, is_cut) = overview.hosts();
    write!(out, "{:TITLE_WIDTH$}", "total")?;
    for (n, (count, name)) in [
        (counters.frames, "packet"),
        (counters.flows.opened, "flow"),
        (hosts as u64, "host"),
        (overview.events(), "event"),
    ]
    .into_iter()
    .enumerate()
    {
        let separator = if n > 0 { ", " } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        write!(out, "{separator}{count} {name}{plural}")?;
    }
    writeln!(out, "{}", if is_cut { " (not all hosts counted)" } else { "" })?;
    if let Some((first, last)) = overview.span() {
        write!(out, "{:TITLE_WIDTH$}{}", "time", zone.seconds(first))?;
        if first.as_secs() != last.as_secs() {
            write!(out, " to {}", zone.seconds(last))?;
        }
        writeln!(out, " {}", zone.name())?;
    }
    for kind in [ValueKind::System, ValueKind::Software, ValueKind::TlsClient, ValueKind::SshClient] {
        write_names(out, overview, kind)?;
    }
    write_mismatches(out, overview)?;
    for (n, spot) in examples.locate(analyzer).iter().enumerate() {
        let title = if n == 0 { "not seen" } else { "" };
        writeln!(out, "{title:TITLE_WIDTH$}{spot}")?;
    }
    if overview.events() == 0 && counters.frames > 0 {
        let decode = &counters.decode;
        let others = decode.frames.saturating_sub(decode.tcp).saturating_sub(decode.udp);
        writeln!(
            out,
            "{:TITLE_WIDTH$}no SYN, TLS hello, HTTP head or SSH identification in {} TCP segments, {} UDP datagrams and \
             {others} other packets",
            "no findings", decode.tcp, decode.udp
        )?;
    }
    Ok(())
}

/// Writes the most frequent names, each with its number of hosts.
fn write_names(out: &mut impl Write, overview: &Overview, kind: ValueKind) -> io::Result<()> {
    let values = overview.values(kind);
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

/// Writes the clients that are not what they say, one line for each combination of reasons.
fn write_mismatches(out: &mut impl Write, overview: &Overview) -> io::Result<()> {
    let values = overview.values(ValueKind::Mismatch);
    for (n, (reasons, seen)) in values.top(SHOWN_MISMATCHES).into_iter().enumerate() {
        let title = if n == 0 { ValueKind::Mismatch.title() } else { "" };
        write!(out, "{title:TITLE_WIDTH$}{}", seen.first.client.ip())?;
        match seen.hosts().saturating_sub(1) {
            0 => {}
            1 => write!(out, " and another host")?,
            others => write!(out, " and {others} other hosts")?,
        }
        writeln!(out, ": {reasons}")?;
    }
    match values.len().saturating_sub(SHOWN_MISMATCHES) {
        0 => Ok(()),
        more => writeln!(out, "{:TITLE_WIDTH$}{more} more", ""),
    }
}
