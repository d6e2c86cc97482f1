//! The inventory for people: sentences, then what needs attention.

use std::io::{self, Write};
use std::net::IpAddr;

use huginn_net::Timestamp;
use huginn_net::blind_spots::BlindSpot;
use huginn_net::core::{Amount, Escaped, Printable};
use huginn_net::tls::strength::{KeyExchangeKind, deprecated_by};

use super::certificate::CertificateProblem;
use super::problem::{Problems, method_text, worst_methods};
use super::summary::{KeyExchangeName, Summary, Usage, version_name};
use crate::limits::CERTIFICATE_WARNING_DAYS;
use crate::output::Zone;
use crate::views::columns::{Layout, Table, wrapped, write_more};
use crate::views::store::bounded::Seen;
use crate::views::store::cryptography::{ClientLibrary, Inventory, LeftOut, NamesOf};

/// Number of certificates that the human format of an inventory lists.
const SHOWN_CERTIFICATES: usize = 5;

/// Number of key exchanges that the human format lists.
const SHOWN_KEY_EXCHANGES: usize = 6;

/// Width of the column of titles.
const TITLE_WIDTH: usize = 13;
/// Length of a server name in a table, in characters.
const NAME_WIDTH: usize = 20;
/// Length of the name of a method in a table, in characters: RFC 4251, section 6, permits no longer ones.
const METHOD_WIDTH: usize = 64;
/// Length of the subject of a certificate in a table, in characters.
const SUBJECT_WIDTH: usize = 40;

/// Columns from which on the names of servers have room.
const NAME_COLUMNS: u16 = 100;

/// Writes the inventory, with at most `top` servers and clients. `unread`: the frames that nothing is known of, if there are any.
pub(crate) fn write(
    out: &mut impl Write,
    inventory: &Inventory,
    summary: &Summary<'_>,
    unread: Option<&BlindSpot>,
    top: usize,
    width: Option<u16>,
    zone: &Zone,
) -> io::Result<()> {
    let unread = unread.map(|unread| ("not read", unread.to_string()));
    for (title, sentence) in sentences(inventory, summary, zone).into_iter().chain(unread) {
        let room = width.map(|width| usize::from(width).saturating_sub(TITLE_WIDTH));
        for (n, line) in wrapped(&sentence, room).into_iter().enumerate() {
            writeln!(out, "{:TITLE_WIDTH$}{line}", if n == 0 { title } else { "" })?;
        }
    }
    let mut page = Page { out, width, zone };
    page.key_exchanges("TLS key exchange", &summary.key_exchanges, summary.connections.total())?;
    page.key_exchanges("SSH key exchange", &summary.ssh_key_exchanges, summary.ssh_connections.total())?;
    let is_narrow = width.is_some_and(|width| width < NAME_COLUMNS);
    let servers = summary.worst_servers();
    page.problems("Server", top, &servers, summary.servers.len(), |judged| {
        let name = if is_narrow { String::new() } else { name_cell(judged.names) };
        ([judged.place.to_string(), name, judged.problems.to_string()], judged.server.total())
    })?;
    page.certificates(summary)?;
    page.problems("Client", top, &summary.worst_clients(), summary.clients.len(), |judged| {
        let cells = [judged.address.to_string(), String::new(), judged.problems.to_string()];
        (cells, judged.client.total())
    })?;
    page.old_libraries(top, &summary.old_libraries())
}

/// What the inventory says: titles with sentences. A sentence without a title belongs to the title before.
pub(crate) fn sentences(
    inventory: &Inventory,
    summary: &Summary<'_>,
    zone: &Zone,
) -> Vec<(&'static str, String)> {
    let mut sentences = Vec::new();
    if let Some(span) = inventory.span() {
        let (first, last) = (zone.seconds(span.first), zone.seconds(span.last));
        sentences.push(("time", format!("{first} to {last} {}", zone.name())));
    }
    let tls = tls_sentences(summary).into_iter().enumerate();
    sentences.extend(tls.map(|(n, sentence)| (if n == 0 { "TLS servers" } else { "" }, sentence)));
    sentences.extend(certificate_sentence(inventory, summary).map(|sentence| ("certificates", sentence)));
    sentences.extend(client_sentence(summary).map(|sentence| ("TLS clients", sentence)));
    let ssh = ssh_sentences(summary).into_iter().enumerate();
    sentences.extend(ssh.map(|(n, sentence)| (if n == 0 { "SSH" } else { "" }, sentence)));
    if sentences.is_empty() {
        sentences.push(("nothing", "no TLS hello and no SSH key exchange".to_owned()));
    }
    sentences.extend(left_out_sentence(inventory.left_out()).map(|sentence| ("left out", sentence)));
    sentences
}

fn tls_sentences(summary: &Summary<'_>) -> Vec<String> {
    let (connections, best) = (summary.connections, summary.best);
    let total = connections.total();
    if total == 0 {
        return Vec::new();
    }
    let share = |count| percent(count, total);
    let safe = connections.hybrid.saturating_add(connections.post_quantum);
    let mut sentences = vec![
        format!(
            "{}: {} hybrid or post-quantum key exchange, {} classical, {} unknown",
            Amount(total, "connection(s)"),
            share(safe),
            share(connections.classical),
            share(connections.unknown)
        ),
        format!(
            "{} of {} chose a hybrid or post-quantum group",
            best.hybrid.saturating_add(best.post_quantum),
            Amount(summary.tls_servers(), "server(s)")
        ),
    ];
    let named = summary.versions.iter();
    let named = named.filter_map(|(version, usage)| Some((version.name()?, usage.connections)));
    let unnamed = summary.versions.iter().filter(|(version, _)| version.name().is_none());
    let unnamed = unnamed.fold(0_u64, |sum, (_, usage)| sum.saturating_add(usage.connections));
    let other = (unnamed > 0).then_some(("other", unnamed));
    let versions: Vec<String> =
        named.chain(other).map(|(name, count)| format!("{name} {}", share(count))).collect();
    if !versions.is_empty() {
        sentences.push(versions.join(", "));
    }
    let servers = |(name, servers)| format!("{name} ({})", Amount(servers, "server(s)"));
    let old = summary.versions.iter().filter(|(version, _)| deprecated_by(*version).is_some());
    let old: Vec<String> =
        old.map(|(version, usage)| servers((version_name(*version), usage.servers))).collect();
    if !old.is_empty() {
        sentences.push(format!("deprecated versions: {}", old.join(", ")));
    }
    let weak = summary.weak.iter().map(|(weakness, count)| servers((weakness.name().to_owned(), *count)));
    let weak: Vec<String> = weak.collect();
    if !weak.is_empty() {
        sentences.push(format!("weak cipher suites: {}", weak.join(", ")));
    }
    if summary.no_forward_secrecy > 0 {
        sentences.push(format!("no forward secrecy: {}", Amount(summary.no_forward_secrecy, "server(s)")));
    }
    sentences
}

fn certificate_sentence(inventory: &Inventory, summary: &Summary<'_>) -> Option<String> {
    let certificates = inventory.certificates() as u64;
    let with = |problem| {
        let servers = summary.servers.iter();
        servers.filter(|judged| judged.problems.certificates.contains(&problem)).count() as u64
    };
    let with_any =
        summary.servers.iter().filter(|judged| !judged.server.certificates.is_empty()).count() as u64;
    let sentence = format!(
        "{} of {}; servers with an expired one: {}, with one that ends within {CERTIFICATE_WARNING_DAYS} days: {}",
        Amount(certificates, "certificate(s)"),
        Amount(with_any, "server(s)"),
        with(CertificateProblem::Expired),
        with(CertificateProblem::ExpiresSoon)
    );
    (certificates > 0).then_some(sentence)
}

fn client_sentence(summary: &Summary<'_>) -> Option<String> {
    let clients = summary.tls_clients().count() as u64;
    let count = |is_counted: fn(&Problems) -> bool| {
        summary.tls_clients().filter(|judged| is_counted(&judged.problems)).count() as u64
    };
    let with = clients.saturating_sub(count(|problems| problems.no_post_quantum));
    let old = count(|problems| !problems.old.is_empty());
    let weak = count(|problems| !problems.weak.is_empty());
    let sentence = format!(
        "{with} of {clients} offer a hybrid or post-quantum group, {old} only deprecated versions, {weak} weak cipher suites"
    );
    (clients > 0).then_some(sentence)
}

fn ssh_sentences(summary: &Summary<'_>) -> Vec<String> {
    let servers =
        summary.servers.iter().filter(|judged| !judged.server.ssh_offered.is_empty()).count() as u64;
    let clients =
        summary.clients.iter().filter(|judged| !judged.client.ssh_offered.is_empty()).count() as u64;
    let kinds = summary.ssh_connections;
    let share = |count| percent(count, kinds.total());
    let sentence = format!(
        "{} of {}, {}: {} hybrid or post-quantum, {} classical, {} unknown",
        Amount(kinds.total(), "connection(s)"),
        Amount(servers, "server(s)"),
        Amount(clients, "client(s)"),
        share(kinds.hybrid.saturating_add(kinds.post_quantum)),
        share(kinds.classical),
        share(kinds.unknown)
    );
    if servers == 0 && clients == 0 {
        return Vec::new();
    }
    let weak = summary.weak_ssh.iter();
    let weak =
        weak.map(|(method, count)| format!("{} ({})", method_text(method), Amount(*count, "server(s)")));
    let weak = worst_methods(weak, "weak methods in use: ");
    let offer = summary.servers.iter().filter(|judged| !judged.problems.weak_ssh_offered.is_empty()).count();
    let offer =
        (offer > 0).then(|| format!("{} offered other weak methods", Amount(offer as u64, "server(s)")));
    [Some(sentence), weak, offer].into_iter().flatten().collect()
}

fn left_out_sentence(left_out: LeftOut) -> Option<String> {
    let LeftOut { hosts, values } = left_out;
    let sentence = format!(
        "{} of further hosts, {} with further values of hosts: limits were reached",
        Amount(hosts, "event(s)"),
        Amount(values, "event(s)")
    );
    (hosts > 0 || values > 0).then_some(sentence)
}

/// The cells of a key exchange: its name, its kind, servers, connections and their share.
pub(crate) fn key_exchange_cells((exchange, usage): &(KeyExchangeName, Usage), total: u64) -> [String; 5] {
    [
        method_cell(&exchange.name),
        exchange.kind.map_or("unknown", KeyExchangeKind::name).replace('_', "-"),
        usage.servers.to_string(),
        usage.connections.to_string(),
        percent(usage.connections, total),
    ]
}

/// Where tables are written.
struct Page<'a, W> {
    out: &'a mut W,
    width: Option<u16>,
    zone: &'a Zone,
}

impl<W: Write> Page<'_, W> {
    fn key_exchanges(
        &mut self,
        heading: &str,
        all: &[(KeyExchangeName, Usage)],
        total: u64,
    ) -> io::Result<()> {
        let mut table = Table::new(&[heading, "kind", "servers", "connections", ""]);
        let shown = all.iter().take(SHOWN_KEY_EXCHANGES);
        shown.for_each(|exchange| table.add_row(key_exchange_cells(exchange, total).into()));
        let layout = Layout { whole: &[0], numbers: &[2, 3, 4] };
        self.table("", table, layout, all.len().saturating_sub(SHOWN_KEY_EXCHANGES))
    }

    /// Writes the first hosts that have problems. `cells`: place, name and problems, and how often it was seen.
    fn problems<H>(
        &mut self,
        kind: &str,
        top: usize,
        bad: &[&H],
        all: usize,
        cells: impl Fn(&H) -> ([String; 3], Option<Seen>),
    ) -> io::Result<()> {
        // The column of names is hidden if it is empty.
        let mut table = Table::new(&[&kind.to_lowercase(), "name", "problems", "seen", "from, to"]);
        for host in bad.iter().take(top) {
            let (cells, seen) = cells(host);
            table.add_row(cells.into_iter().chain(seen_cells(seen, self.zone)).collect());
        }
        let heading = format!("{kind}s that need attention: {} of {all}\n", bad.len());
        self.table(&heading, table, Layout { whole: &[0, 4], numbers: &[3] }, bad.len().saturating_sub(top))
    }

    /// Writes the clients with a TLS library that is no longer released, the oldest first.
    fn old_libraries(&mut self, top: usize, old: &[(&ClientLibrary, IpAddr, Seen)]) -> io::Result<()> {
        let mut table = Table::new(&["client", "TLS library", "released", "hellos"]);
        for (library, address, seen) in old.iter().take(top) {
            let ClientLibrary { name, age } = library;
            let name = format!("{name} {}", age.series);
            table.add_row(vec![address.to_string(), name, age.years(), seen.count.to_string()]);
        }
        let heading = "Clients whose TLS library is no longer released, the oldest first\n";
        self.table(heading, table, Layout { whole: &[0, 2], numbers: &[3] }, old.len().saturating_sub(top))
    }

    /// Writes the certificates of servers whose validity ends first.
    fn certificates(&mut self, summary: &Summary<'_>) -> io::Result<()> {
        let certificates = summary.certificates_by_end();
        let mut table = Table::new(&["certificate", "key", "ends", "servers", "remarks"]);
        for (certificate, seen, servers) in certificates.iter().take(SHOWN_CERTIFICATES) {
            let Some(fields) = certificate.fields() else { continue };
            let subject = fields.subject.as_deref().unwrap_or_default();
            let mut remarks: Vec<&str> =
                CertificateProblem::of(certificate, seen.last).map(CertificateProblem::text).collect();
            remarks.extend(fields.is_self_issued.then_some("self-issued"));
            let end = fields.not_after.map(|time| u64::try_from(time.seconds()).unwrap_or(0));
            let end = end.map(|seconds| day(self.zone, Timestamp::new(seconds, 0, 0)));
            table.add_row(vec![
                cut(&Printable(subject).to_string(), SUBJECT_WIDTH),
                fields.key.as_deref().unwrap_or_default().to_owned(),
                end.unwrap_or_else(|| "unreadable".to_owned()),
                servers.to_string(),
                remarks.join(", "),
            ]);
        }
        let more = certificates.len().saturating_sub(SHOWN_CERTIFICATES);
        let layout = Layout { whole: &[2], numbers: &[3] };
        self.table("Certificates of servers that end first\n", table, layout, more)
    }

    /// Writes a table below its heading, and the number of other rows; nothing without rows.
    fn table(&mut self, heading: &str, table: Table, layout: Layout<'_>, more: usize) -> io::Result<()> {
        if table.is_empty() && more == 0 {
            return Ok(());
        }
        write!(self.out, "\n{heading}")?;
        table.write(self.out, layout, self.width)?;
        write_more(self.out, more as u64, "")
    }
}

/// How often something was seen, and the days when it was first and last: one date, or two without the year of the second one
/// if that is the same.
fn seen_cells(seen: Option<Seen>, zone: &Zone) -> [String; 2] {
    let Some(seen) = seen else { return ["0".to_owned(), String::new()] };
    let (first, last) = (day(zone, seen.first), day(zone, seen.last));
    let days = match (first.split_once('-'), last.split_once('-')) {
        (Some((year, _)), Some((other, rest))) if year == other => format!("{first}, {rest}"),
        _ => format!("{first}, {last}"),
    };
    [seen.count.to_string(), if first == last { first } else { days }]
}

/// The most frequent name, cut, and the number of others.
pub(crate) fn name_cell(names: NamesOf<'_>) -> String {
    let all = names.by_count();
    let Some(first) = all.first() else { return String::new() };
    let name = cut(&format!("{:#}", Escaped(first.as_bytes())), NAME_WIDTH);
    match all.len().saturating_sub(1) {
        0 if names.left_out() == 0 => name,
        others if names.left_out() == 0 => format!("{name} +{others}"),
        others => format!("{name} +{others}…"),
    }
}

/// The name of a key exchange, which may come from the wire: printable, and cut.
fn method_cell(name: &str) -> String {
    let start: String = name.chars().take(METHOD_WIDTH.saturating_add(1)).collect();
    cut(&Printable(&start).to_string(), METHOD_WIDTH)
}

/// The first characters of a text, with an ellipsis for others.
fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The date of a time.
fn day(zone: &Zone, ts: Timestamp) -> String {
    zone.seconds(ts).to_string().chars().take(10).collect()
}

/// A share in whole percent. What is rounded to nothing or everything is not: `< 1 %`, `> 99 %`.
fn percent(part: u64, all: u64) -> String {
    let share = u128::from(part).saturating_mul(100);
    let rounded = share.saturating_add(u128::from(all / 2)).checked_div(u128::from(all)).unwrap_or(0);
    match rounded {
        0 if part > 0 => "< 1 %".to_owned(),
        100 if part < all => "> 99 %".to_owned(),
        _ => format!("{rounded} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn percent_is_rounded_but_not_to_nothing_or_everything() {
        let rows = [
            (0, 0, "0 %"),
            (0, 7, "0 %"),
            (1, 3, "33 %"),
            (2, 3, "67 %"),
            (1, 1000, "< 1 %"),
            (999, 1000, "> 99 %"),
            (1000, 1000, "100 %"),
            (u64::MAX, u64::MAX, "100 %"),
        ];
        for (part, all, wanted) in rows {
            assert_eq!(percent(part, all), wanted, "{part} of {all}");
        }
    }
}
