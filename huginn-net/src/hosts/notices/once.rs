//! Findings about a client that are reported once.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use huginn_net_core::{Event, IdleLimits, Timestamp};
use huginn_net_http::Role;

use super::by_proof::ByProof;
use super::{ClientKey, at_packet, client_of};
use crate::finding::{ContradictionNotice, TrafficNotice, TrafficNoticeKind};
use crate::hosts::{HttpUpdate, RequestFacts, contradiction_of_head};
use crate::limits::NOTICE_IDLE_SECS;

/// Maximum number of findings that are remembered so that they are reported once: 6 MiB.
const MAX_NOTICES_ONCE: usize = 1 << 16;

/// What was reported, and whether with proof.
#[derive(Debug)]
pub(super) struct Once {
    reported: ByProof<(ClientKey, u64), ()>,
}

impl Once {
    pub(super) fn new() -> Self {
        let limits = IdleLimits {
            max_entries: MAX_NOTICES_ONCE,
            idle_timeout: Duration::from_secs(NOTICE_IDLE_SECS),
            max_buffered_bytes: usize::MAX,
        };
        Self { reported: ByProof::new(&limits) }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Reports a client that is not the software that it claims to be, once for each claim, and again with proof.
    pub(super) fn on_contact<K>(
        &mut self,
        event: &Event<K>,
        contact: &RequestFacts,
        is_proven: bool,
        now: Timestamp,
        report: &mut dyn FnMut(Event<TrafficNotice>),
    ) {
        let Some(imitation) = &contact.imitation else { return };
        let key = (client_of(event), hash(&imitation.claim));
        self.report(event, key, is_proven, now, report, || {
            TrafficNoticeKind::Imitation((**imitation).clone())
        });
    }

    /// Reports the first contradiction of a client, and the first one with proof.
    pub(super) fn on_head<K>(
        &mut self,
        event: &Event<K>,
        head: &HttpUpdate,
        is_proven: bool,
        now: Timestamp,
        report: &mut dyn FnMut(Event<TrafficNotice>),
    ) {
        // A proxy explains it, and so does an imitation, which is a finding of its own.
        if head.role != Role::Request || head.forwarded || head.is_imitation {
            return;
        }
        let Some(contradiction) = contradiction_of_head(head) else { return };
        self.report(event, (client_of(event), 0), is_proven, now, report, || {
            TrafficNoticeKind::Contradiction(ContradictionNotice { contradiction })
        });
    }

    /// Reports what was not reported, or only without proof.
    fn report<K>(
        &mut self,
        event: &Event<K>,
        key: (ClientKey, u64),
        is_proven: bool,
        now: Timestamp,
        report: &mut dyn FnMut(Event<TrafficNotice>),
        kind: impl FnOnce() -> TrafficNoticeKind,
    ) {
        let Some(is_update) = self.reported.note(key, now, is_proven) else { return };
        let mut event = at_packet(event, kind(), vec![event.packet_number]);
        event.kind.is_update = is_update;
        report(event);
    }
}

/// The hash of a claim; never 0.
fn hash(claim: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    claim.hash(&mut hasher);
    hasher.finish() | 1
}
