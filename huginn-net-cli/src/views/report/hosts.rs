//! The hosts of a report as data for its script.

use std::net::IpAddr;

use foldhash::HashMap;
use huginn_net::Escaped;
use huginn_net::hosts::{HostProfile, JoinedHosts, Verdict};
use serde::Serialize;

use crate::limits::{MAX_HOSTS_WITH_TOOLS_FIRST, MAX_REPORT_HOST_BYTES, MAX_REPORT_ROWS};
use crate::output::Zone;
use crate::views::hosts::HostRow;

/// Hosts, each with its evidence. Equal texts are stored once: hosts refer to them by index.
#[derive(Debug, Default, Serialize)]
pub(crate) struct HostList {
    texts: Vec<String>,
    hosts: Vec<HostEntry>,
    #[serde(skip)]
    indices: HashMap<String, usize>,
    /// Approximate length of the list as JSON, in bytes.
    #[serde(skip)]
    bytes: usize,
    #[serde(skip)]
    left_out: usize,
    #[serde(skip)]
    with_contradictions: usize,
    /// Clients whose connections one device ends, each with a sentence.
    #[serde(skip)]
    devices: Vec<(IpAddr, String)>,
}

/// Columns, contradictions and evidence.
#[derive(Debug, Serialize)]
struct HostEntry(Vec<usize>, Vec<usize>, Vec<usize>);

/// The ranks of hosts in the list, the highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    HasTool,
    Contradicting,
    Other,
}

impl Rank {
    const ALL: [Self; 3] = [Self::HasTool, Self::Contradicting, Self::Other];

    /// The rank of each host. Only the first hosts with tools precede all others: more of them would hide those.
    fn of_hosts(hosts: &JoinedHosts) -> Vec<Self> {
        let mut with_tools = 0_usize;
        let rank = |host: &HostProfile| {
            with_tools = with_tools.saturating_add(usize::from(!host.tools.is_empty()));
            match (host.tools.is_empty(), host.verdict().contradictions.is_empty()) {
                (false, _) if with_tools <= MAX_HOSTS_WITH_TOOLS_FIRST => Self::HasTool,
                (_, false) => Self::Contradicting,
                _ => Self::Other,
            }
        };
        hosts.profiles().map(rank).collect()
    }
}

impl HostList {
    /// Lists hosts: first those with tools, then those with contradictions, then the others, until the list is as large as
    /// a page may be.
    pub(crate) fn new(hosts: &JoinedHosts, zone: &Zone) -> Self {
        let mut list = Self::default();
        let ranks = Rank::of_hosts(hosts);
        for rank in Rank::ALL {
            let ranked = hosts.profiles().zip(&ranks).filter(|(_, of_host)| **of_host == rank);
            for (host, _) in ranked {
                let verdict = host.verdict();
                let is_contradicting = !verdict.contradictions.is_empty();
                list.with_contradictions =
                    list.with_contradictions.saturating_add(usize::from(is_contradicting));
                if let Some(alike) = host.one_device().filter(|_| list.devices.len() < MAX_REPORT_ROWS) {
                    list.devices.push((host.ip, alike.to_string()));
                }
                if list.bytes < MAX_REPORT_HOST_BYTES {
                    list.add(host, &verdict, zone);
                } else {
                    list.left_out = list.left_out.saturating_add(1);
                }
            }
        }
        list
    }

    fn add(&mut self, host: &HostProfile, verdict: &Verdict, zone: &Zone) {
        let row = HostRow::new(host, verdict, zone);
        let uptime = row.uptime;
        let columns = [
            row.address,
            row.system,
            row.software,
            row.tls_clients,
            row.link,
            row.hops,
            row.seen,
            row.remarks,
        ];
        let columns = columns.into_iter().map(|text| self.index(text)).collect();
        let contradictions =
            verdict.contradictions.iter().map(|found| self.index(found.to_string())).collect();
        let mut evidence: Vec<usize> =
            verdict.evidence.iter().map(|found| self.index(found.to_string())).collect();
        for seen in host.tls_clients.by_count() {
            let value = &seen.value;
            evidence.push(self.index(format!("TLS client {} over {}", value.ja4, value.transport)));
        }
        for (title, claims) in [("User-Agent", &host.user_agents), ("Server", &host.server_headers)] {
            for seen in claims.by_count() {
                evidence.push(self.index(format!("{title} {:#}", Escaped(&seen.value.text))));
            }
        }
        for language in host.languages.by_count() {
            evidence.push(self.index(format!("language {}", language.value)));
        }
        if !uptime.is_empty() {
            evidence.push(self.index(format!("uptime {uptime}")));
        }
        let entry = HostEntry(columns, contradictions, evidence);
        let indices = entry.0.iter().chain(&entry.1).chain(&entry.2);
        self.bytes = indices.fold(self.bytes, |sum, index| sum.saturating_add(printed_len(*index)));
        // Brackets, and the commas between them.
        self.bytes = self.bytes.saturating_add(8);
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

    /// Number of hosts in the list.
    pub(super) fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Clients whose connections one device ends, each with a sentence; at most 100.
    pub(super) fn devices(&self) -> &[(IpAddr, String)] {
        &self.devices
    }

    /// Number of hosts that there was no room for.
    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }

    /// Number of hosts with contradictions, those included that were left out.
    pub(super) fn with_contradictions(&self) -> usize {
        self.with_contradictions
    }
}

/// Length of an index and the comma after it.
fn printed_len(index: usize) -> usize {
    index.checked_ilog10().map_or(2, |log| usize::try_from(log).unwrap_or(0).saturating_add(2))
}
