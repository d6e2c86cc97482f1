//! Hosts that events describe: what they run, and the tools whose packets they send.

use std::cmp::Reverse;
use std::fmt::Write as _;

use huginn_net::core::Escaped;
use huginn_net::hosts::HostId;
use huginn_net::observation::HttpVerdict;
use huginn_net::observation::ToolObservation;
use huginn_net::{Event, Observation};

use super::bounded::{Bounded, Seen};
use crate::limits::{MAX_LINE_TEXT, MAX_OVERVIEW_PAIRS};

/// Maximum number of hosts whose tools totals, reports and the terminal view show: each takes up to 25 KiB for each of its
/// eight tools, and usually has one.
const MAX_OVERVIEW_TOOL_HOSTS: usize = 128;

/// The hosts of events. Memory is bounded.
#[derive(Debug, Default)]
pub(crate) struct SeenHosts {
    hosts: Bounded<HostId, SeenHost, MAX_OVERVIEW_PAIRS>,
    /// Hosts that send packets of tools.
    tools: Bounded<HostId, Vec<ToolObservation>, MAX_OVERVIEW_TOOL_HOSTS>,
}

/// The latest names of a host, and its events.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenHost {
    pub(crate) seen: Seen,
    pub(crate) system: String,
    pub(crate) software: String,
    pub(crate) tls_client: String,
    /// The tool with most SYNs whose packets it sends, and what it sent; empty without one.
    pub(crate) tool: String,
    /// Whether it differs from what it says.
    pub(crate) is_mismatch: bool,
}

impl SeenHosts {
    /// Counts an event; with `has_names` also keeps the names that it shows.
    pub(crate) fn add(&mut self, event: &Event, has_names: bool) {
        let id = HostId::of(event);
        let tool = match &event.kind {
            Observation::Tool(found) => self.add_tool(id, found),
            _ => None,
        };
        let Some(host) = self.hosts.entry(id).filter(|_| has_names) else { return };
        host.seen.add(&Seen::once(event.ts));
        // A name stays until another one is learned: most events repeat it, and need no memory.
        match &event.kind {
            Observation::Tcp(observation) => {
                if let Some(system) = observation.system() {
                    host.system.clear();
                    _ = write!(host.system, "{system}");
                }
            }
            Observation::HttpRequest(observation) => {
                replace_software(&mut host.software, &observation.verdict)
            }
            Observation::HttpResponse(observation) => {
                replace_software(&mut host.software, &observation.verdict)
            }
            Observation::TlsClient(observation) if host.tls_client.is_empty() => {
                if let Some(found) = observation.software() {
                    host.tls_client = found.software.to_string();
                }
            }
            Observation::Tool(_) => host.tool = tool.unwrap_or_default(),
            Observation::Mismatch(_) => host.is_mismatch = true,
            _ => {}
        }
    }

    /// Keeps what a host sent of a tool. Returns the tool with most SYNs.
    fn add_tool(&mut self, id: HostId, found: &ToolObservation) -> Option<String> {
        let tools = self.tools.entry(id)?;
        match tools.iter_mut().find(|known| known.label == found.label) {
            Some(known) if known.syns > found.syns => {}
            Some(known) => *known = found.clone(),
            None => tools.push(found.clone()),
        }
        tools.iter().max_by_key(|found| found.syns).map(ToString::to_string)
    }

    /// The hosts that send packets of tools, with each tool: the one with most SYNs first.
    pub(crate) fn tools(&self) -> Vec<(HostId, &ToolObservation)> {
        let tools = self.tools.iter().flat_map(|(id, tools)| tools.iter().map(|found| (*id, found)));
        let mut tools: Vec<_> = tools.collect();
        tools.sort_by_key(|(id, found)| (Reverse(found.syns), *id));
        tools
    }

    /// Whether more hosts send packets of tools than [`tools`](Self::tools) has.
    pub(crate) fn has_more_tools(&self) -> bool {
        self.tools.left_out() > 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (HostId, &SeenHost)> {
        self.hosts.iter().map(|(id, host)| (*id, host))
    }

    /// Number of hosts, and whether there may be more.
    pub(crate) fn count(&self) -> (usize, bool) {
        (self.hosts.len(), self.hosts.len() >= MAX_OVERVIEW_PAIRS)
    }
}

/// Writes the name of the software of a head, and the header that contradicts it.
fn replace_software(text: &mut String, verdict: &HttpVerdict) {
    let Some(software) = verdict.software() else { return };
    text.clear();
    // Writing to memory does not fail.
    _ = write!(text, "{software}");
    if let Some(header) = verdict.contradicting_text() {
        let shown = header.get(..MAX_LINE_TEXT).unwrap_or(header);
        _ = write!(text, " \"{:#}\"", Escaped(shown));
    }
}
