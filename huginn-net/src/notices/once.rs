//! Findings about a client that are reported once.

use std::fmt::{self, Display};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use huginn_net_core::{Event, IdleLimits, IdleMap, Timestamp};
use huginn_net_http::Role;

use super::{ClientKey, HttpUpdate, TrafficNotice, TrafficNoticeKind, at_packet, client_of};
use crate::hosts::{Contradiction, RequestFacts, contradiction_of_head};
use crate::limits::{MAX_NOTICES_ONCE, NOTICE_IDLE_SECS};

/// A client whose request and TCP handshake name different systems.
///
/// [`Display`] is a sentence: `TCP says Linux, User-Agent says Windows: unexplained (NAT, a proxy or a forgery)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContradictionNotice {
    /// The two statements.
    pub contradiction: Contradiction,
}

/// A client that is not the software that it claims to be.
///
/// [`Display`] is a sentence: `User-Agent says Chromium 131 on Windows; the headers lack Sec-Fetch`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImitationNotice {
    /// The claim: `User-Agent says Chromium 131 on Windows`, or `TLS imitates Chromium`.
    pub claim: String,
    /// What contradicts it.
    pub contradicts: Vec<String>,
}

impl Display for ContradictionNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.contradiction.fmt(f)
    }
}

impl Display for ImitationNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.claim)?;
        self.contradicts.iter().try_for_each(|reason| write!(f, "; {reason}"))
    }
}

/// What was reported.
#[derive(Debug)]
pub(super) struct Once {
    reported: IdleMap<(ClientKey, u64), ()>,
}

impl Once {
    pub(super) fn new() -> Self {
        let limits = IdleLimits {
            max_entries: MAX_NOTICES_ONCE,
            idle_timeout: Duration::from_secs(NOTICE_IDLE_SECS),
            max_buffered_bytes: usize::MAX,
        };
        Self { reported: IdleMap::new(&limits) }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Reports a client that is not the software that it claims to be, once for each claim.
    pub(super) fn on_contact<K>(
        &mut self,
        event: &Event<K>,
        contact: &RequestFacts,
        now: Timestamp,
        report: &mut impl FnMut(Event<TrafficNotice>),
    ) {
        let Some(imitation) = &contact.imitation else { return };
        if self.is_first((client_of(event), hash(&imitation.claim)), now) {
            let kind = TrafficNoticeKind::Imitation((**imitation).clone());
            report(at_packet(event, kind, vec![event.packet_number]));
        }
    }

    /// Reports the first contradiction of a client.
    pub(super) fn on_head<K>(
        &mut self,
        event: &Event<K>,
        head: &HttpUpdate,
        now: Timestamp,
        report: &mut impl FnMut(Event<TrafficNotice>),
    ) {
        // A proxy explains it, and so does an imitation, which is a finding of its own.
        if head.role != Role::Request || head.forwarded || head.is_imitation {
            return;
        }
        let Some(contradiction) = contradiction_of_head(head) else { return };
        if self.is_first((client_of(event), 0), now) {
            let kind = TrafficNoticeKind::Contradiction(ContradictionNotice { contradiction });
            report(at_packet(event, kind, vec![event.packet_number]));
        }
    }

    fn is_first(&mut self, key: (ClientKey, u64), now: Timestamp) -> bool {
        self.reported.touch(&key, now).is_none() && self.reported.insert(key, now, ()).is_some()
    }
}

/// The hash of a claim; never 0.
fn hash(claim: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    claim.hash(&mut hasher);
    hasher.finish() | 1
}
