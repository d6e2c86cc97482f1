//! The page: what stands out first, then hosts, names, fingerprints and blind spots.

use std::fmt::Write as _;
use std::io::{self, Write};

use huginn_net::core::Amount;
use huginn_net::tls::names::cipher_suite;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::contents::Report;
use super::hosts::HostList;
use super::{charts, cryptography, items, security};
use crate::limits::MAX_REPORT_ROWS;
use crate::output::last_boundary;
use crate::views::encoding::percent_encoded;
use crate::views::store::alerts::RankedAlert;
use crate::views::store::statement::{Packets, Statement};
use crate::views::store::{SeenValue, ValueKind};

/// Maximum number of alerts in a report.
const MAX_REPORT_ALERTS: usize = 50;

/// Maximum length of a value in a link that filters hosts, in bytes: the hosts have longer texts cut.
const MAX_REPORT_LINK_BYTES: usize = 64;

/// Number of bars in a chart of a report.
const MAX_REPORT_BARS: usize = 12;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The outline of an open lock, 16 units wide and high.
const OPEN_LOCK: &str = "M4 7V4.5a3.5 3.5 0 0 1 6.9-.8l-1.9.5A1.5 1.5 0 0 0 6 4.5V7h7v8H3V7z";

/// Headings of the columns of the table of hosts, as [`HostList`] has them; the last one is that of names.
const HOST_HEADINGS: [&str; 7] =
    ["address", "system", "software", "TLS client", "seen", "remarks", "names asked for"];

/// A report with the hosts that it has room for.
struct Page<'a> {
    report: &'a Report<'a>,
    hosts: HostList,
}

/// Which values a table shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    MostHostsFirst,
    FewestHostsFirst,
}

/// Writes the page.
pub(crate) fn write(out: &mut impl Write, report: &Report<'_>) -> io::Result<()> {
    let page = Page { report, hosts: HostList::new(report) };
    let data = security::inert_json(&serde_json::to_string(&page.hosts)?);
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(security::policy(STYLE, SCRIPT));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                title { (report.title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#stands-out" { "Skip to what stands out" }
                header { h1 { (report.title) } p.dim { (page.subtitle()) } (page.decrypted()) (contents()) }
                main { (page.body()) }
                footer.dim { "Written by huginn-net " (env!("CARGO_PKG_VERSION")) ". This page loads nothing." }
                script type="application/json" #host-data { (PreEscaped(data)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    out.write_all(html.into_string().as_bytes())
}

const SECTIONS: [(&str, &str); 7] = [
    ("stands-out", "What stands out"),
    ("hosts", "Hosts"),
    ("rare", "What is rare"),
    ("common", "What is common"),
    ("servers", "Servers"),
    ("cryptography", "Cryptography"),
    ("blind-spots", "Blind spots"),
];

/// Links to the sections.
fn contents() -> Markup {
    html! { nav aria-label="Sections" { @for (id, title) in SECTIONS { a href={ "#" (id) } { (title) } " " } } }
}

fn title_of(id: &str) -> &str {
    SECTIONS.iter().find(|(known, _)| *known == id).map_or(id, |(_, title)| title)
}

fn section(id: &str, body: &Markup) -> Markup {
    let title = title_of(id);
    html! { section id=(id) aria-labelledby={ (id) "-title" } { h2 id={ (id) "-title" } { (title) } (body) } }
}

impl Page<'_> {
    fn subtitle(&self) -> String {
        let mut captures = Amount(self.report.captures as u64, "capture(s)").to_string();
        if !self.report.folder.trim_start_matches("./").is_empty() {
            let _ = write!(captures, " in {}", self.report.folder);
        }
        let cut = if self.report.is_cut { ", interrupted before the end" } else { "" };
        match self.report.span {
            Some((first, last)) => {
                let zone = self.report.zone;
                format!("{captures}{cut}, {} to {} {}", zone.seconds(first), zone.seconds(last), zone.name())
            }
            None => format!("{captures}{cut}"),
        }
    }

    /// An open lock, if connections were decrypted.
    fn decrypted(&self) -> Markup {
        html! {
            @if self.report.decrypted > 0 {
                p.decrypted {
                    svg role="img" aria-label="open lock" viewBox="0 0 16 16" { path d=(OPEN_LOCK) {} }
                    " " (count_of(self.report.decrypted, "connection(s)")) " of TLS and QUIC decrypted with logged secrets. "
                    "The page has content that was encrypted."
                }
            }
        }
    }

    fn body(&self) -> Markup {
        let names = |kind| {
            html! { (self.bars(kind)) (self.more(kind, Order::MostHostsFirst)) }
        };
        html! {
            (section("stands-out", &self.stands_out()))
            (section("hosts", &self.host_table()))
            (section("rare", &html! {
                (self.table(ValueKind::Ja4, Order::FewestHostsFirst))
                (self.more(ValueKind::UserAgent, Order::FewestHostsFirst))
                (self.more(ValueKind::Sni, Order::FewestHostsFirst))
                (self.more(ValueKind::SshClient, Order::FewestHostsFirst))
                (self.more(ValueKind::Hassh, Order::FewestHostsFirst))
            }))
            (section("common", &html! {
                (names(ValueKind::System))
                (names(ValueKind::Software))
                (self.bars(ValueKind::TlsClient))
            }))
            (section("servers", &html! {
                (self.table(ValueKind::ServerHeader, Order::MostHostsFirst))
                (self.more(ValueKind::SynAck, Order::MostHostsFirst))
                (self.more(ValueKind::HasshServer, Order::MostHostsFirst))
                (self.bars(ValueKind::TlsVersion))
                (self.cipher_bars())
            }))
            (section("cryptography", &cryptography::inventory(&self.report.store.cryptography, self.report.zone)))
            (section("blind-spots", &self.blind_spots()))
        }
    }

    /// What was read, events over time, the alerts, and what else there is to say of hosts.
    fn stands_out(&self) -> Markup {
        html! {
            (self.strip())
            @if let Some(chart) = charts::timeline(&self.report.store.timeline, self.report.zone) { (chart) }
            (self.alert_list())
            (self.remark_list())
        }
    }

    /// What was read, and what was not seen, in one line.
    fn strip(&self) -> Markup {
        let handshakes = self.report.store.remarks.handshakes;
        let counts = [
            (self.report.captures as u64, "capture(s)"),
            (self.report.networks as u64, "network(s)"),
            (self.report.packets, "packet(s)"),
            (self.report.flows, "flow(s)"),
            (self.report.store.hosts.count().0 as u64, "host(s)"),
            (handshakes.all, "TLS handshake(s)"),
            (handshakes.failed, "failed TLS handshake(s)"),
        ];
        html! {
            p.strip {
                @for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) { span { (count_of(count, what)) } " " }
                @if !self.report.blind_spots.is_empty() {
                    a href="#blind-spots" { (count_of(self.report.blind_spots.len() as u64, "kind(s)")) " of traffic not used" }
                }
            }
            @if self.report.store.events == 0 { p.warning { "No events: see " a href="#blind-spots" { "blind spots" } } }
        }
    }

    fn alert_list(&self) -> Markup {
        let ranked = self.report.store.alerts.ranked();
        let more = ranked.len().saturating_sub(MAX_REPORT_ALERTS) as u64;
        html! {
            h3 { "Alerts" }
            @if ranked.is_empty() { p { "Nothing stands out." } } @else {
                ul.findings #items {
                    @for alert in ranked.iter().take(MAX_REPORT_ALERTS) { (self.alert(alert)) }
                    @if more > 0 { li.more { span {} span { (count_of(more, "more alert(s)")) ": " code { "huginn-net findings" } " lists them" } } }
                    @if self.report.store.alerts.left_out() > 0 { li.more { span {} span { (count_of(self.report.store.alerts.left_out(), "more report(s) of alerts")) " that there was no room for" } } }
                }
            }
        }
    }

    fn alert(&self, RankedAlert { alert, others }: &RankedAlert<'_>) -> Markup {
        let (severity, numbers) = (alert.severity.name(), alert.numbers());
        let Statement { host, reason, packets, .. } = &alert.statement;
        html! {
            li {
                strong class={ "severity " (severity) } { (severity) }
                span {
                    a href={ "#host=" (host) } { (host) } " " strong { (alert.kind.title()) } ": " (reason)
                    @if !numbers.is_empty() { " (" (numbers) ")" }
                    @if *others > 0 { span.dim { " and " (count_of(*others, "other(s)")) } }
                    (self.evidence(packets, &alert.filter))
                }
            }
        }
    }

    /// Packets, their file, and the display filter for their traffic.
    fn evidence(&self, packets: &Packets, filter: &str) -> Markup {
        html! {
            span.dim { " " (packets) @if let Some(name) = (self.report.file_name)(packets.file) { " of " (name) } " " }
            code { (filter) }
        }
    }

    fn remark_list(&self) -> Markup {
        let groups = items::groups(self.report.store, &self.hosts);
        html! {
            @if groups.iter().any(|group| !group.items.is_empty()) {
                h3 { "Remarks" }
                ul.findings #remarks {
                    @for group in &groups {
                        @for item in &group.items { (self.item(item)) }
                        @if let Some(more) = &group.more { li.more { span {} span { (more) ": see " a href={ "#" (group.section) } { (title_of(group.section)) } } } }
                    }
                }
            }
        }
    }

    fn item(&self, item: &items::Item) -> Markup {
        html! {
            li {
                span {}
                span {
                    a href={ "#host=" (item.host) } { (item.host) } " " (item.reason)
                    @if !item.numbers.is_empty() { " (" (item.numbers) ")" }
                    @if !item.clients.is_empty() {
                        " sent to "
                        @for (index, client) in item.clients.iter().enumerate() {
                            @if index > 0 { ", " }
                            a href={ "#host=" (client) } { (client) }
                        }
                        @if item.has_more_clients { " and others" }
                    }
                    @if let Some(packets) = &item.packets { (self.evidence(packets, &packets.display_filter())) }
                }
            }
        }
    }

    /// The table of hosts, which the script fills.
    fn host_table(&self) -> Markup {
        let hosts = self.report.hosts.profiles().count();
        let not_counted = self.report.not_kept.saturating_add(self.report.hosts.left_out());
        html! {
            noscript { p.warning { "The table of hosts needs JavaScript. All other sections are complete without it." } }
            p #host-tools hidden {
                label for="host-filter" { "Filter " }
                input #host-filter type="search" autocomplete="off" spellcheck="false" placeholder="name, SNI, JA4, User-Agent, address …";
                " " output #host-count for="host-filter" {}
            }
            @if self.hosts.left_out > 0 {
                p.warning {
                    "The table has " (self.hosts.hosts.len()) " of " (hosts) " hosts: those with tools first, then those with contradictions or mismatches, with a rare TLS client, and with most names. "
                    "All other sections count all hosts; "
                    code { "huginn-net hosts --merge --format json" } " lists them."
                }
            }
            @if self.hosts.without_details > 0 {
                p.warning { "The page has no room for the names, activity and timeline of " (count_of(self.hosts.without_details as u64, "host(s)")) ", the last of the table." }
            }
            @if not_counted > 0 {
                p.warning { "The limit of hosts was reached: " (not_counted) " more were not kept." }
            }
            div.scroll tabindex="0" role="region" aria-label="Table of hosts" {
                table #host-table {
                    caption { "Hosts of interest first. Open an address for its evidence and its timeline." }
                    thead { tr { @for heading in HOST_HEADINGS { th scope="col" { button type="button" { (heading) } } } } }
                    tbody {}
                }
            }
            template #spark { svg.spark role="img" { path {} } }
            button #host-more type="button" hidden { "Show more hosts" }
        }
    }

    /// The most frequent values as bars.
    fn bars(&self, kind: ValueKind) -> Markup {
        let rows = self.report.store.values.of(kind).top(MAX_REPORT_BARS);
        let rows: Vec<_> =
            rows.into_iter().map(|(name, seen)| (name.to_owned(), seen.hosts() as u64)).collect();
        labelled_bars(kind, &rows)
    }

    fn cipher_bars(&self) -> Markup {
        let kind = ValueKind::TlsCipher;
        let rows = self.report.store.values.of(kind).top(MAX_REPORT_BARS);
        let name = |number: &str| u16::from_str_radix(number, 16).ok().and_then(cipher_suite);
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(number, seen)| (name(number).unwrap_or(number).to_owned(), seen.hosts() as u64))
            .collect();
        labelled_bars(kind, &rows)
    }

    /// A table of values, behind a line to open if there is one.
    fn more(&self, kind: ValueKind, order: Order) -> Markup {
        let count = self.report.store.values.of(kind).len();
        let rarest = if order == Order::FewestHostsFirst { ", the rarest first" } else { "" };
        html! { @if count > 0 { details { summary { (kind.title()) ": " (count) (rarest) } (self.table(kind, order)) } } }
    }

    fn table(&self, kind: ValueKind, order: Order) -> Markup {
        let values = self.report.store.values.of(kind);
        let rows = match order {
            Order::MostHostsFirst => values.top(MAX_REPORT_ROWS),
            Order::FewestHostsFirst => values.rare(MAX_REPORT_ROWS),
        };
        let which = if order == Order::MostHostsFirst { "most frequent" } else { "rarest" };
        let has_names = rows.iter().any(|(_, seen)| seen.name.is_some());
        html! {
            @if rows.is_empty() { p.dim { "None seen." } } @else {
                div.scroll tabindex="0" role="region" aria-label=(kind.title()) {
                    table id={ "values-" (kind.name()) } {
                        caption { (kind.title()) ": " (which) " " (rows.len()) " of " (values.len()) @if values.left_out() > 0 { ", limit reached" } }
                        thead { tr {
                            th scope="col" { "value" }
                            @if has_names { th scope="col" { "name" } }
                            th scope="col" { "hosts" } th scope="col" { "events" }
                            th scope="col" { "first client" } th scope="col" { "first seen" } th scope="col" { "packet" }
                        } }
                        tbody { @for (value, seen) in &rows { tr {
                            @let start = value.get(..last_boundary(value, MAX_REPORT_LINK_BYTES)).unwrap_or_default();
                            td.value { (value) }
                            @if has_names { td { (seen.name.as_deref().unwrap_or_default()) } }
                            td.number { @if is_searchable(kind) { a href={ "#q=" (percent_encoded(start, "-._~/")) } { (seen.hosts()) } } @else { (seen.hosts()) } }
                            td.number { (seen.count) }
                            td { (host_link(seen)) } td { (self.report.zone.seconds(seen.first.ts)) }
                            td.place { (seen.first.packet) @if let Some(name) = (self.report.file_name)(seen.first.file) { " of " (name) } }
                        } } }
                    }
                }
            }
        }
    }

    fn blind_spots(&self) -> Markup {
        html! {
            @if self.report.blind_spots.is_empty() { p { "Nothing was left out." } } @else {
                p { "What the captures do not show, or the analysis could not use:" }
                ul #blind-spot-list { @for spot in self.report.blind_spots { li { (spot) } } }
            }
            @if self.report.store.events == 0 {
                p { (count_of(self.report.packets, "packet(s)")) " without a SYN, TLS hello, HTTP head or SSH identification that could be read." }
            }
        }
    }
}

fn labelled_bars(kind: ValueKind, rows: &[(String, u64)]) -> Markup {
    html! {
        @match charts::bars(&format!("{}, by number of hosts", kind.title()), rows) {
            Some(chart) => { h3 { (kind.title()) ", by number of hosts" } (chart) }
            None => { p.dim { "No " (kind.title()) " seen." } }
        }
    }
}

/// A link to the row of the host that sent a value first.
fn host_link(seen: &SeenValue) -> Markup {
    let host = seen.first.client.ip();
    html! { a href={ "#host=" (host) } { (host) } }
}

/// Whether the filter of hosts finds values of this kind.
fn is_searchable(kind: ValueKind) -> bool {
    use ValueKind::{Hassh, HasshServer, Ja4, ServerHeader, Sni, UserAgent};
    matches!(kind, Ja4 | Sni | UserAgent | ServerHeader | Hassh | HasshServer)
}

fn count_of(count: u64, what: &str) -> String {
    Amount(count, what).to_string()
}
