//! Findings about a client that are reported once.

use std::hash::{DefaultHasher, Hash, Hasher};

use huginn_net_http::Role;

use super::by_proof::ByProof;
use super::{ClientKey, Report, Seen};
use crate::hosts::{HttpUpdate, RequestFacts, contradiction_of_head};
use crate::observation::{ContradictionFinding, FindingKind};

/// Maximum number of findings that are remembered so that they are reported once: 6 MiB.
const MAX_FINDINGS_ONCE: usize = 1 << 16;

/// What was reported, and whether with proof.
#[derive(Debug)]
pub(super) struct Once {
    reported: ByProof<(ClientKey, u64), ()>,
}

impl Once {
    pub(super) fn new() -> Self {
        Self { reported: ByProof::new(MAX_FINDINGS_ONCE, usize::MAX, |()| 0) }
    }

    /// Reports a client that is not the software that it claims to be, once for each claim, and again with proof.
    pub(super) fn on_contact(&mut self, seen: &Seen<'_>, contact: &RequestFacts, report: Report<'_>) {
        let Some(imitation) = &contact.imitation else { return };
        let kind = || FindingKind::Imitation((**imitation).clone());
        self.report(seen, hash(&imitation.claim), report, kind);
    }

    /// Reports the first contradiction of a client, and the first one with proof.
    pub(super) fn on_head(&mut self, seen: &Seen<'_>, head: &HttpUpdate, report: Report<'_>) {
        // A proxy explains it, and so does an imitation, which is a finding of its own.
        if head.role != Role::Request || head.forwarded || head.is_imitation {
            return;
        }
        let Some(contradiction) = contradiction_of_head(head) else { return };
        let kind = || FindingKind::Contradiction(ContradictionFinding { contradiction });
        self.report(seen, 0, report, kind);
    }

    /// Reports what was not reported, or only without proof.
    fn report(
        &mut self,
        seen: &Seen<'_>,
        claim: u64,
        report: Report<'_>,
        kind: impl FnOnce() -> FindingKind,
    ) {
        if let Some(is_update) = self.reported.note((seen.client, claim), seen) {
            let mut event = seen.event_of(kind(), vec![seen.event.packet_number]);
            event.kind.is_update = is_update;
            report(event);
        }
    }
}

/// The hash of a claim; never 0.
fn hash(claim: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    claim.hash(&mut hasher);
    hasher.finish() | 1
}
