//! Lists that are replaced while an analysis runs, and the matches of each flow.

use std::net::SocketAddr;

use huginn_net_core::{Replaceable, ReplaceableReader, Side};

use super::WatchLists;
use super::search::{Hit, Hits, Search};
use crate::Observation;
use crate::observation::{ListEntry, Match};
use crate::record::EventKind;

/// Maximum number of matches of a flow, so that a flow takes at most 1 KiB to remember them.
const MAX_FLOW_MATCHES: usize = 64;

/// Lists that several threads share, and that can be replaced at any time. Clones share them.
pub type WatchListHandle = Replaceable<WatchLists>;

/// Compares the events of one worker with the lists.
#[derive(Clone, Debug)]
pub(crate) struct Watcher(ReplaceableReader<WatchLists>);

/// The entries that a flow has matched.
#[derive(Debug)]
pub(crate) struct FlowMatches {
    generation: u64,
    entries: Vec<(u32, Side)>,
}

impl FlowMatches {
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Self>().saturating_add(self.entries.capacity().saturating_mul(size_of::<(u32, Side)>()))
    }
}

/// What the lists have for an event.
#[derive(Default)]
pub(crate) struct Matches {
    /// New matches of the flow, with the side that has the value.
    pub(crate) reported: Vec<(Side, Match)>,
    /// Number of matches beyond the limits of the event and of the flow.
    pub(crate) suppressed: u64,
}

impl Watcher {
    pub(crate) fn new(handle: WatchListHandle) -> Self {
        Self(ReplaceableReader::new(handle))
    }

    /// Labels an observation, and returns its matches that the flow does not have yet. `addresses`: client and server.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_observation(
        &mut self,
        observation: &mut Observation,
        subject: Side,
        flow: &mut Option<Box<FlowMatches>>,
        addresses: impl FnOnce() -> (SocketAddr, SocketAddr),
    ) -> Matches {
        self.0.update();
        let (lists, generation) = (self.0.value(), self.0.generation());
        let index = &lists.index;
        let is_first = flow.as_ref().is_none_or(|flow| flow.generation != generation);
        let mut search = Search::new(index);
        search.observation(observation);
        let of_finding = search.finish();
        let labels: Vec<ListEntry> =
            of_finding.entries.iter().filter_map(|hit| index.list_entry(hit.entry)).collect();
        observation.set_listed(&labels);
        let mut matches = Matches { suppressed: of_finding.left_out, ..Matches::default() };
        let mut of_flow = Vec::new();
        if is_first {
            let mut search = Search::new(index);
            let (client, server) = addresses();
            search.addresses(client, server);
            let Hits { entries, left_out } = search.finish();
            matches.suppressed = matches.suppressed.saturating_add(left_out);
            of_flow = entries;
            *flow = Some(Box::new(FlowMatches { generation, entries: Vec::new() }));
        }
        for hit in of_finding.entries.into_iter().chain(of_flow) {
            let Some(flow) = flow.as_mut() else { break };
            let side = hit.side.unwrap_or(subject);
            if flow.entries.contains(&(hit.entry, side))
                || !index.entry(hit.entry).is_some_and(|entry| entry.watch)
            {
                continue;
            }
            if flow.entries.len() >= MAX_FLOW_MATCHES {
                matches.suppressed = matches.suppressed.saturating_add(1);
                continue;
            }
            flow.entries.push((hit.entry, side));
            matches.reported.extend(lists.describe(hit, observation).map(|found| (side, found)));
        }
        matches
    }
}

impl WatchLists {
    /// Describes a match with what the observation shows.
    fn describe(&self, hit: Hit, observation: &Observation) -> Option<Match> {
        let entry = self.index.entry(hit.entry)?;
        let owned = |text: Option<&[u8]>| text.map(Box::from);
        let mut found = Match {
            list: self.list_name(entry),
            line: Some(entry.line).filter(|line| *line > 0),
            kind: hit.kind,
            value: hit.value.into(),
            label: self.index.label(entry),
            event: EventKind::of(observation).name(),
            server_name: None,
            host: None,
            user_agent: None,
            ja4: None,
            software: None,
            is_proven: false,
            text_limit: observation.text_limit(),
        };
        match observation {
            Observation::TlsClient(client) => {
                found.server_name = owned(client.client.hello.server_name());
                found.ja4 = Some(client.client.hello.ja4());
                found.software = client.software();
            }
            Observation::TlsCertificates(certificates) => {
                found.server_name = owned(certificates.certificates.server_name.as_deref());
            }
            Observation::HttpRequest(request) => {
                found.host = owned(request.request.host());
                found.user_agent = owned(request.request.user_agent());
                found.software.clone_from(&request.software);
            }
            Observation::SshClient(client) => found.software = client.software(),
            _ => {}
        }
        Some(found)
    }
}
