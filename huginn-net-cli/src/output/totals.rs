//! Totals after the events of the human format: hosts, systems, software, and what could not be seen.

use std::collections::{HashMap, HashSet};
use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::net::IpAddr;

use foldhash::fast::RandomState;
use huginn_net::{Event, Finding, HuginnNet};

use crate::blind_spots::ExampleFiles;
use crate::limits::{MAX_TOTALS_PAIRS, SHOWN_TOTALS};

/// Width of the column of titles.
const TITLE_WIDTH: usize = 12;

/// Names by kind, with the hosts that have them.
#[derive(Debug, Default)]
pub(super) struct Totals {
    systems: Names,
    software: Names,
    tls_clients: Names,
    ssh_software: Names,
    mismatches: Names,
    hosts: HashSet<IpAddr, RandomState>,
    events: u64,
    /// Memory of the name that is counted.
    name: String,
}

/// The hosts of each name.
#[derive(Debug, Default)]
struct Names {
    hosts: HashMap<String, HashSet<IpAddr, RandomState>, RandomState>,
    /// Pairs of a name and a host.
    pairs: usize,
    /// Whether pairs were left out.
    is_cut: bool,
}

impl Names {
    fn add(&mut self, name: &str, host: IpAddr) {
        if self.pairs >= MAX_TOTALS_PAIRS {
            self.is_cut = true;
            return;
        }
        let hosts = match self.hosts.get_mut(name) {
            Some(hosts) => hosts,
            None => self.hosts.entry(name.to_owned()).or_default(),
        };
        self.pairs = self.pairs.saturating_add(usize::from(hosts.insert(host)));
    }

    /// Writes the most frequent names, each with its number of hosts.
    fn write(&self, out: &mut impl Write, title: &str) -> io::Result<()> {
        if self.hosts.is_empty() {
            return Ok(());
        }
        let mut names: Vec<(&str, usize)> =
            self.hosts.iter().map(|(name, hosts)| (&**name, hosts.len())).collect();
        names.sort_unstable_by(|(one, many), (other, more)| more.cmp(many).then(one.cmp(other)));
        write!(out, "{title:TITLE_WIDTH$}")?;
        for (n, (name, hosts)) in names.iter().take(SHOWN_TOTALS).enumerate() {
            let separator = if n > 0 { ", " } else { "" };
            write!(out, "{separator}{name} ({hosts})")?;
        }
        let rest = names.len().saturating_sub(SHOWN_TOTALS);
        if rest > 0 {
            write!(out, ", {rest} more")?;
        }
        writeln!(out, "{}", if self.is_cut { ", and others" } else { "" })
    }
}

impl Totals {
    /// Counts an event.
    pub(super) fn add(&mut self, event: &Event) {
        self.events = self.events.saturating_add(1);
        let host = event.subject_addr().ip();
        let Self { systems, software, tls_clients, ssh_software, mismatches, hosts, name, .. } = self;
        if hosts.len() < MAX_TOTALS_PAIRS {
            hosts.insert(host);
        }
        let mut display = |names: &mut Names, shown: &dyn Display| {
            name.clear();
            // Writing to memory does not fail.
            let _ = write!(name, "{shown}");
            names.add(name, host);
        };
        match &event.kind {
            Finding::Tcp(finding) => {
                if let Some(label) = finding.label().filter(|label| !label.is_tool()) {
                    systems.add(&label.name, host);
                }
            }
            Finding::HttpRequest(finding) => match (finding.verdict.label(), &finding.software) {
                (Some(label), _) => software.add(&label.name, host),
                (None, Some(found)) => display(software, &found.software),
                (None, None) => {}
            },
            Finding::HttpResponse(finding) => {
                finding.verdict.label().into_iter().for_each(|label| software.add(&label.name, host));
            }
            Finding::TlsClient(finding) => match finding.software() {
                Some(found) => display(tls_clients, &found.software),
                None => display(tls_clients, &format_args!("unknown {}", finding.client.hello.ja4())),
            },
            Finding::SshClient(finding) => {
                if let Some(found) = finding.software() {
                    display(ssh_software, &found.software);
                }
            }
            Finding::Mismatch(found) => mismatches.add(found.outcome.name(), host),
            _ => {}
        }
    }

    /// Writes the totals, and what could not be seen.
    pub(super) fn write(
        &self,
        out: &mut impl Write,
        analyzer: &HuginnNet,
        examples: &ExampleFiles,
    ) -> io::Result<()> {
        let counters = analyzer.counters();
        let hosts = self.hosts.len() as u64;
        write!(out, "{:TITLE_WIDTH$}", "total")?;
        for (n, (count, name)) in [
            (counters.frames, "packet"),
            (counters.flows.opened, "flow"),
            (hosts, "host"),
            (self.events, "event"),
        ]
        .into_iter()
        .enumerate()
        {
            let separator = if n > 0 { ", " } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            write!(out, "{separator}{count} {name}{plural}")?;
        }
        writeln!(
            out,
            "{}",
            if self.hosts.len() < MAX_TOTALS_PAIRS { "" } else { " (not all hosts counted)" }
        )?;
        self.systems.write(out, "systems")?;
        self.software.write(out, "software")?;
        self.tls_clients.write(out, "TLS clients")?;
        self.ssh_software.write(out, "SSH clients")?;
        self.mismatches.write(out, "mismatches")?;
        for (n, spot) in examples.locate(analyzer).iter().enumerate() {
            let title = if n == 0 { "not seen" } else { "" };
            writeln!(out, "{title:TITLE_WIDTH$}{spot}")?;
        }
        if self.events == 0 && counters.frames > 0 {
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
}
