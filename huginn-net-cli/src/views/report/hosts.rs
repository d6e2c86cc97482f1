//! The hosts of a report as data for its script.

use std::cmp::Reverse;
use std::net::IpAddr;

use foldhash::{HashMap, HashSet};
use huginn_net::Timestamp;
use huginn_net::core::{Escaped, TransportKind};
use huginn_net::hosts::{Contradiction, HostProfile, Verdict};
use serde::Serialize;

use super::contents::Report;
use crate::limits::{MAX_HOSTS_WITH_TOOLS_FIRST, MAX_REPORT_ITEMS, MAX_REPORT_ROWS};
use crate::output::Zone;
use crate::views::hosts::HostRow;
use crate::views::store::ValueKind;
use crate::views::store::activity::{HostActivity, Names, Step};

/// Maximum length of the hosts of a report as JSON, in bytes. A page of 2 MB loads at once, and the rest of it has less
/// than 500 kB.
const MAX_REPORT_HOST_BYTES: usize = 1_400_000;

/// Maximum length of the rows of hosts as JSON, in bytes: the rest of [`MAX_REPORT_HOST_BYTES`] has room for the names,
/// timelines and activity of the first hosts.
const MAX_REPORT_ROW_BYTES: usize = 900_000;

/// Number of names of a host that a report shows: the most used ones, and the rarest ones.
const MAX_REPORT_SHOWN_NAMES: (usize, usize) = (6, 4);

/// Hosts, each with its evidence. Equal texts are stored once: hosts refer to them by index.
#[derive(Debug, Default, Serialize)]
pub(super) struct HostList {
    texts: Vec<String>,
    pub(super) hosts: Vec<HostEntry>,
    /// Time that the steps of timelines count from, in milliseconds since the Unix epoch.
    base: i64,
    /// Name of the time zone.
    zone: &'static str,
    /// The folder of the captures, and their names as arguments of a shell; without them the page has no commands.
    folder: String,
    files: Option<String>,
    #[serde(skip)]
    indices: HashMap<String, usize>,
    /// Approximate length of the list as JSON, in bytes.
    #[serde(skip)]
    bytes: usize,
    /// Number of hosts that there was no room for.
    #[serde(skip)]
    pub(super) left_out: usize,
    /// Number of listed hosts whose names, activity and timeline there was no room for.
    #[serde(skip)]
    pub(super) without_details: usize,
    /// Number of hosts with contradictions, those included that were left out.
    #[serde(skip)]
    pub(super) with_contradictions: usize,
    /// The first hosts with contradictions.
    #[serde(skip)]
    pub(super) contradictions: Vec<(IpAddr, Vec<Contradiction>)>,
    /// Clients whose connections one device ends, each with a sentence; at most 100.
    #[serde(skip)]
    pub(super) devices: Vec<(IpAddr, String)>,
}

/// Columns, contradictions and evidence, and details if there is room.
#[derive(Debug, Serialize)]
pub(super) struct HostEntry(Vec<usize>, Vec<usize>, Vec<usize>, Option<Details>);

/// Names that the host asked for and names that it was asked for, each followed by its count; the numbers of names and
/// events that are left out; the activity; and seven numbers for each step of the timeline: milliseconds since the base,
/// packet number, file, event, value, peer, and twice the port of the host, plus 1 for UDP.
#[derive(Debug, Serialize)]
pub(super) struct Details(Vec<u64>, Vec<u64>, [u64; 3], String, Vec<i64>);

/// The ranks of hosts in the list, the highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    HasTool,
    Contradicting,
    Rare,
    Other,
}

impl HostList {
    /// Lists hosts, those of interest first, until the list is as large as a page may be. Then adds names, activity and
    /// timelines in the same order.
    pub(super) fn new(report: &Report<'_>) -> Self {
        let (zone, span) = (report.zone, report.store.timeline.main_span());
        let start = span.map_or(0, |(first, _)| first);
        let base = milliseconds(Timestamp::new(start, 0, 0), zone);
        let (folder, files) = (report.folder.to_owned(), report.arguments.map(str::to_owned));
        let mut list = Self { base, zone: zone.name(), folder, files, ..Self::default() };
        let ranked = ranked(report);
        for host in &ranked {
            let verdict = host.verdict();
            let contradictions = || verdict.contradictions.iter().filter(|found| !found.is_expected());
            if contradictions().next().is_some() {
                list.with_contradictions = list.with_contradictions.saturating_add(1);
                if list.contradictions.len() < MAX_REPORT_ITEMS {
                    list.contradictions.push((host.ip, contradictions().cloned().collect()));
                }
            }
            if let Some(alike) = host.one_device().filter(|_| list.devices.len() < MAX_REPORT_ROWS) {
                list.devices.push((host.ip, alike.to_string()));
            }
            if list.bytes < MAX_REPORT_ROW_BYTES {
                list.add(host, &verdict, zone);
            } else {
                list.left_out = list.left_out.saturating_add(1);
            }
        }
        for (index, host) in ranked.into_iter().take(list.hosts.len()).enumerate() {
            let Some(activity) = report.store.activity.of(host) else { continue };
            if list.bytes >= MAX_REPORT_HOST_BYTES {
                list.without_details = list.without_details.saturating_add(1);
                continue;
            }
            let details = list.details(activity, report, span);
            if let Some(entry) = list.hosts.get_mut(index) {
                entry.3 = Some(details);
            }
        }
        list
    }

    fn details(&mut self, activity: &HostActivity, report: &Report<'_>, span: Option<(u64, u64)>) -> Details {
        let (asked, more_asked) = self.names(&activity.asked);
        let (served, more_served) = self.names(&activity.served);
        let spark = span.map_or_else(String::new, |span| activity.spark(span));
        let mut steps: Vec<&Step> = activity.steps.iter().collect();
        steps.sort_by_key(|step| step.ts.as_nanos());
        let mut numbers = Vec::new();
        for step in steps {
            let file = (report.file_name)(step.file).unwrap_or_default();
            let udp = u64::from(step.transport == TransportKind::Udp);
            let texts = [file, step.kind.to_owned(), step.value.to_string(), step.peer.to_string()];
            let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
            numbers.push(milliseconds(step.ts, report.zone).saturating_sub(self.base));
            numbers.push(number(step.packet));
            for text in texts {
                numbers.push(number(self.index(text) as u64));
            }
            numbers.push(number(u64::from(step.port).saturating_mul(2).saturating_add(udp)));
        }
        let more = [more_asked, more_served, activity.more_steps];
        let lens = asked.iter().chain(&served).chain(&more).map(|number| printed_len(*number));
        let of_steps = numbers
            .iter()
            .map(|number| printed_len(number.unsigned_abs()).saturating_add(usize::from(*number < 0)));
        self.bytes = lens.chain(of_steps).fold(self.bytes, usize::saturating_add);
        self.bytes = self.bytes.saturating_add(spark.len()).saturating_add(16);
        Details(asked, served, more, spark, numbers)
    }

    /// Indices of names with their counts, and the number of the names or events that are left out.
    fn names(&mut self, names: &Names) -> (Vec<u64>, u64) {
        let (most, rarest) = MAX_REPORT_SHOWN_NAMES;
        let (shown, left_out) = names.shown(most, rarest);
        let mut numbers = Vec::new();
        for (name, count) in shown {
            numbers.push(self.index(name.to_owned()) as u64);
            numbers.push(count);
        }
        (numbers, names.more.saturating_add(left_out as u64))
    }

    fn add(&mut self, host: &HostProfile, verdict: &Verdict, zone: &Zone) {
        let row = HostRow::new(host, verdict, zone);
        let uptime = row.uptime;
        let columns = [row.address, row.system, row.software, row.tls_clients, row.seen, row.remarks];
        let columns = columns.into_iter().map(|text| self.index(text)).collect();
        let (expected, contradictions): (Vec<_>, Vec<_>) =
            verdict.contradictions.iter().partition(|found| found.is_expected());
        let contradictions = contradictions.iter().map(|found| self.index(found.to_string())).collect();
        let mut evidence: Vec<usize> =
            verdict.evidence.iter().map(|found| self.index(found.to_string())).collect();
        evidence.extend(expected.iter().map(|found| self.index(found.to_string())));
        for seen in host.tls_clients.by_count() {
            let value = &seen.value;
            let protocol = value.transport.name().to_ascii_uppercase();
            evidence.push(self.index(format!("{protocol} client {}", value.ja4)));
        }
        for (title, claims) in [("User-Agent", &host.user_agents), ("Server", &host.server_headers)] {
            for seen in claims.by_count() {
                evidence.push(self.index(format!("{title} {:#}", Escaped(&seen.value.text))));
            }
        }
        for language in host.languages.by_count() {
            evidence.push(self.index(format!("language {}", language.value)));
        }
        for (title, text) in [("link", row.link), ("hops", row.hops)] {
            if !text.is_empty() {
                evidence.push(self.index(format!("{title} {text}")));
            }
        }
        if !uptime.is_empty() {
            evidence.push(self.index(format!("uptime {uptime}")));
        }
        let entry = HostEntry(columns, contradictions, evidence, None);
        let indices = entry.0.iter().chain(&entry.1).chain(&entry.2);
        self.bytes = indices.fold(self.bytes, |sum, index| sum.saturating_add(printed_len(*index as u64)));
        // Brackets, the commas between them, and `null`.
        self.bytes = self.bytes.saturating_add(13);
        self.hosts.push(entry);
    }

    /// The index of a text.
    fn index(&mut self, text: String) -> usize {
        if let Some(index) = self.indices.get(&text) {
            return *index;
        }
        let index = self.texts.len();
        self.bytes = self.bytes.saturating_add(text.len()).saturating_add(3);
        self.texts.push(text.clone());
        self.indices.insert(text, index);
        index
    }
}

/// The hosts, those of interest first: with tools, with contradictions or mismatches, with a TLS client of their own, then
/// those that asked for most names. Only the first hosts with tools precede all others: more of them would hide those.
fn ranked<'a>(report: &Report<'a>) -> Vec<&'a HostProfile> {
    let mismatching: HashSet<IpAddr> = report
        .store
        .values
        .of(ValueKind::Mismatch)
        .top(usize::MAX)
        .iter()
        .flat_map(|(_, seen)| seen.addresses())
        .collect();
    let rare: HashSet<IpAddr> = report
        .store
        .values
        .of(ValueKind::Ja4)
        .rare(usize::MAX)
        .iter()
        .take_while(|(_, seen)| seen.hosts() == 1)
        .map(|(_, seen)| seen.first.client.ip())
        .collect();
    let mut with_tools = 0_usize;
    let mut ranked: Vec<_> = report
        .hosts
        .profiles()
        .map(|host| {
            with_tools = with_tools.saturating_add(usize::from(!host.tools.is_empty()));
            let rank = if !host.tools.is_empty() && with_tools <= MAX_HOSTS_WITH_TOOLS_FIRST {
                Rank::HasTool
            } else if mismatching.contains(&host.ip)
                || host.verdict().contradictions.iter().any(|found| !found.is_expected())
            {
                Rank::Contradicting
            } else if rare.contains(&host.ip) {
                Rank::Rare
            } else {
                Rank::Other
            };
            let names = report.store.activity.of(host).map_or(0, |activity| activity.asked.len());
            ((rank, Reverse(names)), host)
        })
        .collect();
    // The sort is stable: equal hosts stay in the order of their addresses.
    ranked.sort_by_key(|(key, _)| *key);
    ranked.into_iter().map(|(_, host)| host).collect()
}

/// Length of a number and the comma after it.
fn printed_len(number: u64) -> usize {
    number.checked_ilog10().map_or(2, |log| usize::try_from(log).unwrap_or(0).saturating_add(2))
}

/// Milliseconds of a time in its zone, as if that were UTC.
fn milliseconds(ts: Timestamp, zone: &Zone) -> i64 {
    i64::try_from(zone.shift(ts).as_nanos() / 1_000_000).unwrap_or(i64::MAX)
}
