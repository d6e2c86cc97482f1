//! Hosts as a table, with conflicts and reasons as sentences below it.

use std::fmt::{self, Display};
use std::io::{self, Write};

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use huginn_net::hosts::{Claim, HostProfile, Hosts, Reasons, SoftwareSeen, TopValues, Verdict};
use huginn_net::tcp::Clock;
use huginn_net::{Escaped, Label, Timestamp};

use crate::limits::MAX_SUMMARY_ROWS;

/// Columns where the width of the terminal is not known.
const WIDTH: u16 = 120;
/// Number of values shown of each list.
const SHOWN: usize = 2;
/// Bytes of the flavor of software that are shown.
const SHOWN_FLAVOR: usize = 16;
/// Bytes of a header that are shown.
const SHOWN_TEXT: usize = 48;

const HEADINGS: [&str; 9] =
    ["address", "system", "software", "TLS client", "link", "hops", "uptime", "seen (UTC)", "remarks"];
/// Index of the TLS client column.
const TLS_CLIENT: usize = 3;
/// Width of a JA4 and its padding, in terminal columns.
const JA4_WIDTH: u16 = 38;
/// Index of the hops column.
const HOPS: usize = 5;
/// Index of the time column.
const SEEN: usize = 7;
/// Width of a time and its padding, in terminal columns.
const SEEN_WIDTH: u16 = 21;

/// Writes the hosts of a capture.
pub(super) fn write(
    out: &mut impl Write,
    hosts: &Hosts,
    file: Option<&str>,
    on_terminal: bool,
) -> io::Result<()> {
    if let Some(file) = file {
        writeln!(out, "{file}")?;
    }
    let width = width(on_terminal);
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_header(HEADINGS);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    let mut sentences = Vec::new();
    let mut is_used = [false; HEADINGS.len()];
    let mut all = hosts.profiles();
    for host in all.by_ref().take(MAX_SUMMARY_ROWS) {
        let verdict = host.verdict();
        let row = row(host, &verdict);
        for (is_used, cell) in is_used.iter_mut().zip(&row) {
            *is_used |= !cell.is_empty();
        }
        table.add_row(row);
        if !verdict.contradictions.is_empty() {
            sentences.push((address(host, " "), verdict));
        }
    }
    if table.is_empty() {
        return writeln!(out, "No hosts found.");
    }
    let has_hellos = is_used.get(TLS_CLIENT) == Some(&true);
    for (place, is_used) in is_used.into_iter().enumerate() {
        if let Some(column) = table.column_mut(place).filter(|_| !is_used) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    if let Some(ja4) = table.column_mut(TLS_CLIENT).filter(|_| has_hellos && width >= WIDTH) {
        ja4.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(JA4_WIDTH)));
    }
    // A time is never wrapped.
    if let Some(seen) = table.column_mut(SEEN) {
        seen.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(SEEN_WIDTH)));
    }
    if let Some(hops) = table.column_mut(HOPS) {
        hops.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    for (address, verdict) in sentences {
        writeln!(out, "{address}")?;
        for contradiction in &verdict.contradictions {
            writeln!(out, "  {contradiction}")?;
        }
    }
    match all.count() {
        0 => Ok(()),
        more => writeln!(out, "and {more} more hosts; --format json has all"),
    }
}

fn width(on_terminal: bool) -> u16 {
    let size = terminal_size::terminal_size().filter(|_| on_terminal);
    size.map_or(WIDTH, |(terminal_size::Width(columns), _)| columns)
}

fn row(host: &HostProfile, verdict: &Verdict) -> [String; HEADINGS.len()] {
    [
        address(host, "\n"),
        system(host, verdict),
        software(host),
        tls_clients(host),
        link(host),
        host.distances.most().map(ToString::to_string).unwrap_or_default(),
        host.uptime.map(uptime).unwrap_or_default(),
        seen(host),
        remarks(host, verdict),
    ]
}

fn address(host: &HostProfile, separator: &str) -> String {
    let mut text = host.ip.to_string();
    for layer in host.tunnel.iter().flat_map(|tunnel| tunnel.layers()) {
        text.push_str(separator);
        text.push_str(&layer.to_string());
    }
    text
}

/// The label of the verdict if it has one, otherwise the bare name.
fn system(host: &HostProfile, verdict: &Verdict) -> String {
    if !verdict.several.is_empty() {
        return format!("several: {}", verdict.several.join(", "));
    }
    let labels = || host.systems.by_count().filter_map(|seen| seen.value.label.as_deref());
    match (&verdict.system, &verdict.behind) {
        (Some(system), Some(behind)) => format!("{system}, behind {behind}"),
        (Some(system), None) => match labels().find(|label| label.name == *system) {
            Some(label) => label.to_string(),
            None => system.to_string(),
        },
        (None, Some(behind)) => format!("unknown, behind {behind}"),
        (None, None) => labels().find(|label| label.is_tool()).map_or_else(
            || if host.systems.is_empty() { String::new() } else { "unknown".to_owned() },
            |tool| format!("unknown, behind {tool}"),
        ),
    }
}

/// Software from the database, otherwise the names that the headers claim.
fn software(host: &HostProfile) -> String {
    let own = |list: &TopValues<SoftwareSeen>, claims: &TopValues<Claim>| {
        let mut names: Vec<String> = Vec::new();
        for seen in list.by_count().filter(|seen| !seen.value.forwarded) {
            let lies = if seen.value.dishonest { " (dishonest)" } else { "" };
            names.push(format!("{}{lies}", short(&seen.value.label)));
        }
        for seen in claims.by_count().filter(|seen| !seen.value.forwarded && seen.value.honest.is_none()) {
            let text = &seen.value.text;
            let shown = text.get(..SHOWN_TEXT).unwrap_or(text);
            let rest = if shown.len() < text.len() { "..." } else { "" };
            names.push(format!("{:#}{rest}", Escaped(shown)));
        }
        names
    };
    let mut names = own(&host.browsers, &host.user_agents);
    names.extend(own(&host.servers, &host.server_headers));
    some_of(names)
}

/// A label; a flavor that is a sentence is omitted.
fn short(label: &Label) -> String {
    let flavor = label.flavor.as_ref().filter(|flavor| flavor.len() <= SHOWN_FLAVOR);
    if flavor.is_some() { label.to_string() } else { label.name.to_string() }
}

fn tls_clients(host: &HostProfile) -> String {
    let names = host.tls_clients.by_count().map(|seen| match seen.value.family {
        Some(family) => format!("{family}:\n{}", seen.value.ja4),
        None => seen.value.ja4.to_string(),
    });
    some_of(names.collect())
}

/// The first values, one per line, and the number of omitted ones.
fn some_of(mut values: Vec<String>) -> String {
    values.dedup();
    let more = values.len().saturating_sub(SHOWN);
    values.truncate(SHOWN);
    if more > 0 {
        values.push(format!("and {more} more"));
    }
    values.join("\n")
}

fn link(host: &HostProfile) -> String {
    match host.links.most() {
        Some(seen) => match &seen.link {
            Some(link) => link.to_string(),
            None => format!("MTU {}", seen.mtu),
        },
        None => String::new(),
    }
}

fn uptime(clock: Clock) -> String {
    span(u64::from(clock.uptime_minutes()).saturating_mul(60))
}

/// Formats a duration in seconds by its two largest units: `1 d 2 h`.
fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

fn seen(host: &HostProfile) -> String {
    let lasted = host.last_seen.as_secs().saturating_sub(host.first_seen.as_secs());
    let begun = Minute(host.first_seen);
    if lasted == 0 { begun.to_string() } else { format!("{begun}\nfor {}", span(lasted)) }
}

/// Formats a timestamp: `2026-11-21 07:43:47`.
struct Minute(Timestamp);

impl Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day, hour, minute, second) = self.0.civil();
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

fn words(reasons: Reasons) -> String {
    reasons.words().collect::<Vec<_>>().join(", ")
}

fn remarks(host: &HostProfile, verdict: &Verdict) -> String {
    let mut remarks = Vec::new();
    if host.sharings.count > 0 {
        remarks.push(format!("shared: {}", words(host.sharings.reasons)));
    }
    if host.changes.count > 0 {
        let reasons = words(host.changes.reasons);
        let are_told = host.sharings.count > 0 && host.sharings.reasons.contains(host.changes.reasons);
        remarks.push(match (host.changes.count, are_told) {
            (1, true) => "changed once".to_owned(),
            (count, true) => format!("changed {count} times"),
            (1, false) => format!("changed once: {reasons}"),
            (count, false) => format!("changed {count} times: {reasons}"),
        });
    }
    let forwarded = host.as_client.forwarded.saturating_add(host.as_server.forwarded);
    if forwarded > 0 {
        remarks.push(format!("forwarded heads: {forwarded}"));
    }
    if !verdict.contradictions.is_empty() {
        remarks.push("contradiction: see below".to_owned());
    }
    remarks.join("\n")
}
