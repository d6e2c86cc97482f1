//! The selected events of a capture, and their flows.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use huginn_net::core::FlowKey;

use super::evidence::{AllEvidence, Evidence};
use crate::limits::{MAX_EXTRACTED_EVENTS, MAX_EXTRACTED_FINDINGS, MAX_EXTRACTED_FLOWS};

/// Maximum length of all comments together, in bytes. The packets of events beyond it are written without.
const MAX_EXTRACTED_COMMENT_BYTES: usize = 64 << 20;

/// Limits of what is kept of a capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundLimits {
    pub(super) flows: usize,
    pub(super) events: usize,
    pub(super) comment_bytes: usize,
    pub(super) findings: usize,
}

impl Default for FoundLimits {
    fn default() -> Self {
        Self {
            flows: MAX_EXTRACTED_FLOWS,
            events: MAX_EXTRACTED_EVENTS,
            comment_bytes: MAX_EXTRACTED_COMMENT_BYTES,
            findings: MAX_EXTRACTED_FINDINGS,
        }
    }
}

/// What limits left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// Events of flows beyond the limit of flows.
    pub(super) events_of_flows: u64,
    /// Events of known flows beyond the limit of events.
    pub(super) events: u64,
    /// Comments on packets that are written.
    pub(super) comments: u64,
    /// IP fragments.
    pub(super) fragments: u64,
    /// Findings of which only the connection of the event is written.
    pub(super) findings: u64,
    /// Packets of findings in flows beyond the limit of flows.
    pub(super) packets_of_findings: u64,
}

/// The selected events of a capture, with their flows and comments.
pub(super) struct Found {
    limits: FoundLimits,
    /// Numbers of the flows, from 0.
    flows: HashMap<FlowKey, u32>,
    events: Vec<FoundEvent>,
    /// The comments, one after the other.
    comments: String,
    evidence: AllEvidence,
    left_out: LeftOut,
}

/// A selected event.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundEvent {
    /// The packet that it comes from.
    pub(super) packet: u64,
    /// The number of its flow.
    pub(super) flow: u32,
    /// Start and end of its comment; both are 0 without.
    comment: (u32, u32),
}

impl Found {
    pub(super) fn new(limits: FoundLimits) -> Self {
        Self {
            limits,
            flows: HashMap::new(),
            events: Vec::new(),
            comments: String::new(),
            evidence: AllEvidence::default(),
            left_out: LeftOut::default(),
        }
    }

    /// Adds an event, with its evidence if it is a finding.
    pub(super) fn add(&mut self, flow: FlowKey, packet: u64, comment: &str, finding: Option<Evidence>) {
        let Self { limits, flows, events, comments, evidence, left_out } = self;
        let number = u32::try_from(flows.len()).unwrap_or(u32::MAX);
        let is_full = flows.len() >= limits.flows;
        let flow = match flows.entry(flow) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) if is_full => {
                left_out.events_of_flows = left_out.events_of_flows.saturating_add(1);
                return;
            }
            Entry::Vacant(place) => *place.insert(number),
        };
        if events.len() >= limits.events {
            left_out.events = left_out.events.saturating_add(1);
            return;
        }
        let (start, end) = (comments.len(), comments.len().saturating_add(comment.len()));
        let range = match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start), Ok(range_end)) if end <= limits.comment_bytes => {
                comments.push_str(comment);
                (start, range_end)
            }
            _ => {
                left_out.comments = left_out.comments.saturating_add(1);
                (0, 0)
            }
        };
        events.push(FoundEvent { packet, flow, comment: range });
        match finding {
            Some(finding) if evidence.len() < limits.findings => evidence.add(finding),
            Some(_) => left_out.findings = left_out.findings.saturating_add(1),
            None => {}
        }
    }

    /// Sorts the events by their packets; those of one packet keep their order.
    pub(super) fn sort(&mut self) {
        self.events.sort_by_key(|event| event.packet);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Takes what findings are about, sorted.
    pub(super) fn take_evidence(&mut self) -> AllEvidence {
        let mut evidence = std::mem::take(&mut self.evidence);
        evidence.sort();
        evidence
    }

    pub(super) fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// The numbers of the flows.
    pub(super) fn flows(&self) -> &HashMap<FlowKey, u32> {
        &self.flows
    }

    /// All events, in the order of their packets.
    pub(super) fn events(&self) -> &[FoundEvent] {
        &self.events
    }

    /// Returns the events of a packet. `next`: index of the first event that no packet before had.
    pub(super) fn of_packet(&self, packet: u64, next: &mut usize) -> &[FoundEvent] {
        let rest = self.events.get(*next..).unwrap_or_default();
        let before = rest.iter().take_while(|event| event.packet < packet).count();
        let rest = rest.get(before..).unwrap_or_default();
        let count = rest.iter().take_while(|event| event.packet == packet).count();
        *next = next.saturating_add(before).saturating_add(count);
        rest.get(..count).unwrap_or_default()
    }

    /// The comment of an event, if it was kept.
    pub(super) fn comment(&self, event: &FoundEvent) -> Option<&str> {
        let (start, end) = event.comment;
        self.comments.get(start as usize..end as usize).filter(|comment| !comment.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use huginn_net::core::{FlowId, TransportKind};

    use super::*;

    fn flow(port: u16) -> FlowKey {
        let client = ([192, 0, 2, 1], port).into();
        FlowKey::from_flow(&FlowId::new(client, ([192, 0, 2, 2], 80).into(), TransportKind::Tcp, None))
            .unwrap()
    }

    fn left_out(events_of_flows: u64, events: u64, comments: u64) -> LeftOut {
        LeftOut { events_of_flows, events, comments, ..LeftOut::default() }
    }

    #[test]
    fn what_exceeds_a_limit_is_counted() {
        let mut found = Found::new(FoundLimits { flows: 2, events: 4, comment_bytes: 6, findings: 0 });
        for (port, packet) in [(1, 1), (2, 2), (3, 3), (2, 4), (3, 5)] {
            found.add(flow(port), packet, "ab", None);
        }
        assert_eq!(found.left_out(), left_out(2, 0, 0));
        found.add(flow(1), 6, "c", None);
        assert_eq!(found.left_out(), left_out(2, 0, 1), "no room for its comment");
        found.add(flow(1), 7, "d", None);
        assert_eq!(found.left_out(), left_out(2, 1, 1));
        assert_eq!((found.flows().len(), found.events().len()), (2, 4));
        let comments: Vec<_> = found.events().iter().map(|event| found.comment(event)).collect();
        assert_eq!(comments, [Some("ab"), Some("ab"), Some("ab"), None]);
    }

    #[test]
    fn findings_beyond_their_limit_are_counted() {
        let mut found = Found::new(FoundLimits { findings: 2, ..FoundLimits::default() });
        for packet in 1..=5 {
            found.add(flow(1), packet, "", Some(Evidence::without_packets(packet)));
        }
        assert_eq!(found.left_out(), LeftOut { findings: 3, ..LeftOut::default() });
        assert_eq!((found.events().len(), found.take_evidence().len()), (5, 2));
    }

    #[test]
    fn events_are_found_by_packet_in_their_order() {
        let mut found = Found::new(FoundLimits::default());
        for (packet, comment) in [(5, "a"), (2, "b"), (5, "c"), (9, "d")] {
            found.add(flow(1), packet, comment, None);
        }
        found.sort();
        let mut next = 0;
        let mut comments = |packet| -> Vec<&str> {
            let events = found.of_packet(packet, &mut next).iter();
            events.filter_map(|event| found.comment(event)).collect()
        };
        assert!(comments(1).is_empty());
        assert_eq!(comments(2), ["b"]);
        assert!(comments(4).is_empty());
        assert_eq!(comments(5), ["a", "c"]);
        assert_eq!(comments(10), [""; 0], "packet 9 was not read again");
    }
}
