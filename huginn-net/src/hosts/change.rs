//! p0f's scores: the difference between a new fingerprint and the history of a host.

use std::sync::Arc;

use huginn_net_consistency::systems;
use huginn_net_core::Side;
use huginn_net_db::{Label, SoftwareClaim, TcpMatch};
use huginn_net_tcp::{ClockReading, Handshake, Quirks, TcpSignature};
use serde::{Deserialize, Serialize};

use super::HttpUpdate;
use super::update::SoftwareMatch;
use crate::observation::Reasons;
use crate::scope::Scope;

/// Minimum decrease of the source port that scores, in ports.
const MIN_PORT_DECREASE: u16 = 64;

/// Maximum distance at which every change of the TTL scores, in hops.
const MAX_NEAR_HOPS: u8 = 9;

/// Tolerance of the Date header, in seconds.
const DATE_TOLERANCE: i64 = 10;

/// A SYN or SYN+ACK of a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TcpSeen {
    pub(super) signature: TcpSignature,
    #[serde(skip)]
    pub(super) matched: Option<TcpMatch>,
    pub(super) at_millis: u64,
    /// The client's port.
    pub(super) port: u16,
}

/// State of a host before a new signature.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostHistory<'a> {
    pub(super) system: Option<&'a Label>,
    /// The source port of the last SYN; 0 without a SYN.
    pub(super) last_port: u16,
}

/// The first request or response of a flow of a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HttpSeen {
    pub(super) label: Option<Arc<Label>>,
    /// The server's port.
    pub(super) port: u16,
    /// The Date header and the packet time, in seconds since 1970.
    pub(super) date: Option<(i64, i64)>,
}

/// A score and its reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Score {
    pub(super) points: u8,
    pub(super) reasons: Reasons,
}

impl Score {
    fn add(&mut self, points: u8, reason: Reasons) {
        self.points = self.points.saturating_add(points);
        self.reasons = self.reasons.with(reason);
    }
}

/// Quirks that the network may cause.
const NETWORK_QUIRKS: Quirks = Quirks::ECN.union(Quirks::DF).union(Quirks::ID_NONZERO).union(Quirks::ID_ZERO);
const DAY_MILLIS: u64 = 86_400_000;

impl TcpSeen {
    /// The timestamp of the segment, if it has one.
    pub(super) fn clock(&self) -> Option<ClockReading> {
        ClockReading::new(self.signature.timestamp, self.at_millis)
    }

    /// Scores the difference to the `last` handshake of the host and to its system.
    pub(super) fn score_against(&self, last: Option<&Self>, host: &HostHistory<'_>) -> Score {
        let mut score = Score::default();
        let is_other_system = self
            .matched
            .as_ref()
            .zip(host.system)
            .is_some_and(|(found, system)| found.label.name != system.name);
        let Some(last) = last else {
            if is_other_system {
                score.add(8, Reasons::SYSTEM);
            }
            return score;
        };
        let is_syn = self.signature.handshake == Handshake::Syn;
        self.add_labels(last, is_syn, &mut score);
        let names_differ = score.points == 8;
        if !names_differ && is_other_system {
            score.add(8, Reasons::SYSTEM);
        } else if !names_differ {
            self.add_ttl(last, &mut score);
        }
        if self.signature.mss != last.signature.mss {
            score.add(1, Reasons::MTU);
        }
        if is_syn && host.last_port.saturating_sub(self.port) >= MIN_PORT_DECREASE {
            score.add(1, Reasons::PORT);
        }
        self.add_timestamps(last, &mut score);
        score
    }

    fn add_labels(&self, last: &Self, is_syn: bool, score: &mut Score) {
        match (&self.matched, &last.matched) {
            (Some(now), Some(before)) => {
                if now.label.name != before.label.name {
                    score.add(8, Reasons::SYSTEM);
                } else if is_syn && now.label != before.label {
                    score.add(2, Reasons::SYSTEM);
                } else if is_syn && now.line != before.line {
                    score.add(1, Reasons::SYSTEM);
                } else if is_syn && now.is_fuzzy() != before.is_fuzzy() {
                    score.add(1, Reasons::FUZZY);
                }
            }
            (now, before) => {
                if (self.signature.quirks.symmetric_difference(last.signature.quirks))
                    .difference(NETWORK_QUIRKS)
                    .is_empty()
                {
                    if is_syn && self.signature.layout != last.signature.layout {
                        score.add(1, Reasons::SIGNATURE);
                    }
                } else {
                    score.add(2, Reasons::SIGNATURE);
                }
                if is_syn && now.is_some() != before.is_some() {
                    score.add(1, Reasons::KNOWN);
                }
            }
        }
    }

    fn add_ttl(&self, last: &Self, score: &mut Score) {
        let (now, before) = (self.signature.ttl, last.signature.ttl);
        let is_random = |seen: &Self| seen.matched.as_ref().is_some_and(|found| found.distance.at_most);
        if now == before || is_random(self) || is_random(last) {
            return;
        }
        let distance =
            self.matched.as_ref().map_or_else(|| self.signature.distance(), |found| found.distance.hops);
        if distance <= MAX_NEAR_HOPS || now > before.saturating_add(1) {
            // Routes change by a hop or two.
            let is_detour = now.abs_diff(before) <= 2 && distance > 5;
            let points = if is_detour { 1 } else { 4 };
            score.add(points, Reasons::TTL);
        }
    }

    fn add_timestamps(&self, last: &Self, score: &mut Score) {
        let Some((now, before)) = self.clock().zip(last.clock()).filter(|_| score.points > 0) else { return };
        let millis = now.at_millis.checked_sub(before.at_millis).filter(|millis| *millis < DAY_MILLIS);
        let Some(millis) = millis else { return };
        let most = u32::try_from(millis.max(100).saturating_mul(3) / 2).unwrap_or(u32::MAX);
        let ticks = now.value.wrapping_sub(before.value);
        if ticks > most && (millis >= 100 || !ticks > most) {
            score.add(4, Reasons::TIMESTAMP);
        } else {
            score.points /= 2;
        }
    }
}

/// Scores software that does not run on the system; 0 if either is unknown.
pub(super) fn score_software(software: &Label, system: Option<&Label>) -> Score {
    let mut score = Score::default();
    if system.is_some_and(|system| !systems::runs_on(software, system)) {
        score.add(4, Reasons::SOFTWARE);
    }
    score
}

impl HttpSeen {
    /// Creates the history entry of a head received at `at` (s since 1970).
    pub(super) fn new(update: &HttpUpdate, port: u16, at: i64) -> Self {
        let label = update.matched.as_ref().map(|found| Arc::clone(&found.label));
        Self { label, port, date: update.date.map(|date| (date, at)) }
    }

    /// Scores the difference to the `last` head of the host and to its system.
    pub(super) fn score_against(
        &self,
        update: &HttpUpdate,
        side: Side,
        last: Option<&Self>,
        host: &HostHistory<'_>,
    ) -> Score {
        let system = host.system;
        let mut score = Score::default();
        let last = last.filter(|last| side == Side::Client || last.port == self.port);
        match &update.matched {
            Some(found) if found.label.is_tool() => match side {
                Side::Server => self.add_server(last, &mut score),
                Side::Client => add_claim(update, found, system, &mut score),
            },
            Some(found) => add_system(&found.label, last, system, &mut score),
            None => {
                if side == Side::Server && last.is_some_and(|last| last.label.is_some()) {
                    score.add(4, Reasons::KNOWN);
                }
            }
        }
        if update.forwarded {
            score.add(8, Reasons::VIA);
        }
        if side == Side::Server {
            self.add_date(last, &mut score);
        }
        score
    }

    fn add_server(&self, last: Option<&Self>, score: &mut Score) {
        let Some((now, before)) = self.label.as_ref().zip(last.and_then(|last| last.label.as_ref())) else {
            return;
        };
        if now.name != before.name {
            score.add(8, Reasons::SERVER);
        } else if now != before {
            score.add(2, Reasons::SERVER);
        }
    }

    fn add_date(&self, last: Option<&Self>, score: &mut Score) {
        let Some(((date, at), (last_date, last_at))) = self.date.zip(last.and_then(|last| last.date)) else {
            return;
        };
        let (advanced, passed) = (date.saturating_sub(last_date), at.saturating_sub(last_at));
        if advanced < -DATE_TOLERANCE || advanced > passed.saturating_add(DATE_TOLERANCE) {
            score.add(4, Reasons::DATE);
        }
    }
}

/// Adds the reasons for which the system of an HTTP head differs from that of the `last` head and of the host.
fn add_system(label: &Label, last: Option<&HttpSeen>, system: Option<&Label>, score: &mut Score) {
    match last.map(|last| last.label.as_deref()) {
        Some(Some(before)) if before.name != label.name => score.add(8, Reasons::SYSTEM),
        // p0f scores equal labels as different.
        Some(Some(_)) => score.add(2, Reasons::SYSTEM),
        Some(None) => score.add(4, Reasons::KNOWN),
        _ => {}
    }
    if is_other(system, &label.name, Scope::P0f) {
        score.add(4, Reasons::SYSTEM);
    }
}

/// Scores a User-Agent that names another system than TCP shows. Only the head of the software that it names scores.
fn add_claim(update: &HttpUpdate, found: &SoftwareMatch, system: Option<&Label>, score: &mut Score) {
    if found.claim == SoftwareClaim::Agrees && is_other_claimed(update, system, Scope::P0f) == Some(true) {
        score.add(4, Reasons::USER_AGENT);
    }
}

/// Whether a User-Agent names another system than the host's. `None` if it names none, or if the system of the host is
/// unknown; p0f treats an unknown system as another one.
pub(super) fn is_other_claimed(update: &HttpUpdate, system: Option<&Label>, scope: Scope) -> Option<bool> {
    let claimed = update.system.claimed.as_deref()?;
    (system.is_some() || scope == Scope::P0f).then(|| is_other(system, claimed, scope))
}

/// Whether the system that HTTP names differs from the host's. For p0f, every name differs from an unknown system.
fn is_other(system: Option<&Label>, claimed: &str, scope: Scope) -> bool {
    match scope {
        Scope::Full => system.is_some_and(|system| !systems::may_be(claimed, &system.name)),
        Scope::P0f => system.is_none_or(|system| *claimed != *system.name),
    }
}
