//! Hosts as a table, with conflicts and reasons as sentences below it.

use std::io::{self, Write};

use huginn_net::Label;
use huginn_net::alert::AlertKind;
use huginn_net::core::Escaped;
use huginn_net::db::SoftwareClaim;
use huginn_net::hosts::{Claim, HostProfile, SeenBy, SoftwareSeen, Systems, TimeSpan, TopValues, Verdict};
use huginn_net::http::Role;
use huginn_net::tcp::Uptime;

use super::columns::{Layout, Table, write_more};
use super::store::alerts::AlertList;
use crate::limits::MAX_HOSTS_WITH_TOOLS_FIRST;
use crate::output::Zone;

/// Maximum number of rows in a table of `hosts`: memory holds the complete table for its layout.
const MAX_SUMMARY_ROWS: usize = 2000;

/// Number of values shown of each list.
const SHOWN: usize = 2;
/// Bytes of the flavor of software that are shown.
const SHOWN_FLAVOR: usize = 16;
/// Bytes of a header that are shown.
const SHOWN_TEXT: usize = 48;

const HEADINGS: [&str; 10] =
    ["address", "site", "system", "software", "TLS client", "link", "hops", "uptime", "seen", "remarks"];
/// The address, the site, the link and the time are read as one word each; a fingerprint, too, where there is room.
const NARROW: Layout<'static> = Layout { whole: &[0, 1, 5, 8], numbers: &[6] };
const WIDE: Layout<'static> = Layout { whole: &[0, 1, 4, 5, 8], numbers: &[6] };
/// Columns from which on there is room.
const WIDE_COLUMNS: u16 = 120;
/// The same with sites.
const WIDE_COLUMNS_WITH_SITE: u16 = 150;

/// Writes hosts, with their file if there are several.
pub(crate) fn write<'a>(
    out: &mut impl Write,
    hosts: impl Iterator<Item = &'a HostProfile>,
    alerts: &AlertList,
    file: Option<&str>,
    width: Option<u16>,
    zone: &Zone,
) -> io::Result<()> {
    if let Some(file) = file {
        writeln!(out, "{file}")?;
    }
    let seen = format!("seen ({})", zone.name());
    let headings = HEADINGS.map(|heading| if heading == "seen" { &*seen } else { heading });
    let mut table = Table::new(&headings);
    let (mut sentences, mut has_site) = (Vec::new(), false);
    let alerts = alerts.worst_by_host();
    // The first hosts with alerts precede all others; more of them would hide those.
    let stands_out = |host: &&HostProfile| alerts.contains_key(&host.ip) || !host.tools.is_empty();
    let (mut first, others): (Vec<_>, Vec<_>) = hosts.partition(stands_out);
    // Hosts without an alert come last.
    first.sort_by_key(|host| alerts.get(&host.ip).map_or((1, None), |alert| (0, Some(alert.rank()))));
    let further = first.split_off(first.len().min(MAX_HOSTS_WITH_TOOLS_FIRST));
    let mut hosts = first.into_iter().chain(others).chain(further);
    for host in hosts.by_ref().take(MAX_SUMMARY_ROWS) {
        let verdict = host.verdict();
        let mut row = HostRow::new(host, &verdict, zone);
        // Contradictions have a remark of their own.
        if let Some(alert) = alerts.get(&host.ip).filter(|alert| alert.kind != AlertKind::Contradiction) {
            row.add_remark(&format!("{} alert: {}", alert.severity, alert.kind.title()));
        }
        if verdict.contradictions.iter().any(|found| !found.is_expected()) {
            row.add_remark("contradiction: see below");
        }
        has_site |= !row.site.is_empty();
        let disagreement = host.seen_by.as_deref().and_then(SeenBy::disagreement);
        if disagreement.is_some() {
            row.add_remark("sensors disagree: see below");
        }
        let disagreement = disagreement.map(|found| format!("sensors disagree: {found}"));
        let of_host: Vec<String> =
            verdict.contradictions.iter().map(ToString::to_string).chain(disagreement).collect();
        if !of_host.is_empty() {
            sentences.push((heading(host), of_host));
        }
        table.add_row(row.into_cells());
    }
    if table.is_empty() {
        return writeln!(out, "No hosts found.");
    }
    let wide = if has_site { WIDE_COLUMNS_WITH_SITE } else { WIDE_COLUMNS };
    let layout = if width.is_some_and(|width| width < wide) { NARROW } else { WIDE };
    table.write(out, layout, width)?;
    for (heading, of_host) in sentences {
        writeln!(out, "{heading}")?;
        for sentence in of_host {
            writeln!(out, "  {sentence}")?;
        }
    }
    write_more(out, hosts.count() as u64, " hosts; --format json has all")
}

/// The cells of a host. A cell with several values has several lines.
#[derive(Debug)]
pub(crate) struct HostRow {
    pub(crate) address: String,
    pub(crate) site: String,
    pub(crate) system: String,
    pub(crate) software: String,
    pub(crate) tls_clients: String,
    pub(crate) link: String,
    pub(crate) hops: String,
    pub(crate) uptime: String,
    pub(crate) seen: String,
    pub(crate) remarks: String,
}

impl HostRow {
    pub(crate) fn new(host: &HostProfile, verdict: &Verdict, zone: &Zone) -> Self {
        Self {
            address: address(host, "\n"),
            site: site(host).unwrap_or_default(),
            system: system(host, verdict),
            software: software(host),
            tls_clients: tls_clients(host),
            link: link(host),
            hops: host.distances.most().map(ToString::to_string).unwrap_or_default(),
            uptime: host.uptime.map(uptime).unwrap_or_default(),
            seen: seen(host, zone),
            remarks: remarks(host),
        }
    }

    fn add_remark(&mut self, remark: &str) {
        if !self.remarks.is_empty() {
            self.remarks.push('\n');
        }
        self.remarks.push_str(remark);
    }

    fn into_cells(self) -> Vec<String> {
        let Self { address, site, system, software, tls_clients, link, hops, uptime, seen, remarks } = self;
        vec![address, site, system, software, tls_clients, link, hops, uptime, seen, remarks]
    }
}

/// The site of a host of several sensors.
fn site(host: &HostProfile) -> Option<String> {
    let site = host.seen_by.as_ref()?.site.as_ref()?;
    Some(format!("{:#}", Escaped(site.as_bytes())))
}

/// What sentences about a host stand below.
fn heading(host: &HostProfile) -> String {
    let address = address(host, " ");
    site(host).map_or_else(|| address.clone(), |site| format!("{address} at {site}"))
}

fn address(host: &HostProfile, separator: &str) -> String {
    let mut text = host.ip.to_string();
    for layer in host.tunnel.iter().flat_map(|tunnel| tunnel.layers()) {
        text.push_str(separator);
        text.push_str(&layer.to_string());
    }
    if let Some(network) = &host.network {
        text.push_str(&format!("{separator}in {:#}", Escaped(network.as_bytes())));
    }
    text
}

/// The system of the verdict, or what hides it.
fn system(host: &HostProfile, verdict: &Verdict) -> String {
    match (verdict.systems(), &verdict.behind) {
        (Systems::Several(names), _) => format!("several: {}", names.join(", ")),
        (Systems::One(system), Some(behind)) => format!("{system}, behind {behind}"),
        (Systems::One(system), None) => system.to_string(),
        (Systems::Unknown, Some(behind)) => format!("unknown, behind {behind}"),
        (Systems::Unknown, None) if host.systems.is_empty() => String::new(),
        (Systems::Unknown, None) => "unknown".to_owned(),
    }
}

/// Software from the database, and headers that name nothing known or contradict. Attacks come first, then software that
/// claims to be another one, each followed by a claim.
fn software(host: &HostProfile) -> String {
    let own = |role, list: &TopValues<SoftwareSeen>, claims: &TopValues<Claim>| {
        const LAST: (u8, usize) = (2, 0);
        let mut names: Vec<((u8, usize), String)> = Vec::new();
        for (n, seen) in list.by_count().filter(|seen| !seen.value.forwarded).enumerate() {
            let SoftwareSeen { label, claim, .. } = &seen.value;
            let rank = if *claim == SoftwareClaim::Dishonest { (1, n) } else { LAST };
            names.push((rank, seen.value.named(short(label), role).to_string()));
        }
        for (n, seen) in claims.by_count().filter(|seen| !seen.value.forwarded).enumerate() {
            let text = &seen.value.text;
            let rank = match seen.value.honest {
                _ if seen.value.is_unusual() => (0, n),
                Some(false) => (1, n),
                None => LAST,
                Some(true) => continue,
            };
            let shown = text.get(..SHOWN_TEXT).unwrap_or(text);
            let rest = if shown.len() < text.len() { "..." } else { "" };
            names.push((rank, format!("{:#}{rest}", Escaped(shown))));
        }
        names
    };
    let mut names = own(Role::Request, &host.browsers, &host.user_agents);
    names.extend(own(Role::Response, &host.servers, &host.server_headers));
    names.sort_by_key(|(rank, _)| *rank);
    some_of(names.into_iter().map(|(_, name)| name).collect())
}

/// A label; a flavor that is a sentence is omitted.
fn short(label: &Label) -> String {
    let flavor = label.flavor.as_ref().filter(|flavor| flavor.len() <= SHOWN_FLAVOR);
    if flavor.is_some() { label.to_string() } else { label.name.to_string() }
}

fn tls_clients(host: &HostProfile) -> String {
    let names = host.tls_clients.by_count().map(|seen| match &seen.value.software {
        Some(software) => format!("{software}:\n{}", seen.value.ja4),
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

/// The link; or the MTU and its causes, each on a line.
fn link(host: &HostProfile) -> String {
    let Some(seen) = host.links.most() else { return String::new() };
    match &seen.link {
        Some(link) if !seen.has_several_causes() => link.to_string(),
        _ => seen.to_string().replace(": ", ":\n").replace(", ", ",\n").replace(" or ", " or\n"),
    }
}

fn uptime(uptime: Uptime) -> String {
    TimeSpan::from_secs(u64::from(uptime.minutes).saturating_mul(60)).to_string()
}

fn seen(host: &HostProfile, zone: &Zone) -> String {
    let lasted = host.last_seen.as_secs().saturating_sub(host.first_seen.as_secs());
    let begun = zone.seconds(host.first_seen);
    if lasted == 0 { begun.to_string() } else { format!("{begun}\nfor {}", TimeSpan::from_secs(lasted)) }
}

fn remarks(host: &HostProfile) -> String {
    let mut remarks: Vec<String> = host.tools.observations().map(|found| found.to_string()).collect();
    remarks.extend(host.one_device().map(ToString::to_string));
    // What is shared changed before.
    match (&host.sharings.latest, &host.changes.latest) {
        (Some(sharing), _) => remarks.push(format!("shared: {}", sharing.sharing_in_words())),
        (None, Some(change)) => remarks.push(format!("changed: {}", change.change_in_words())),
        (None, None) => {}
    }
    let forwarded = host.as_client.forwarded.saturating_add(host.as_server.forwarded);
    if forwarded > 0 {
        remarks.push(format!("forwarded heads: {forwarded}"));
    }
    remarks.join("\n")
}
