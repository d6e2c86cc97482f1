//! Brute force: many failed SSH logins of a client at one server.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use huginn_net_core::{Event, FlowId, IdleLimits, Side, Timestamp};

use super::by_proof::ByProof;
use super::{ClientKey, Report, Seen};
use crate::hosts::SshLogin;
use crate::limits::{MAX_FINDING_PACKETS, MIN_SCAN_GROWTH_PERCENT};
use crate::observation::{BruteForceFinding, Finding, FindingKind};

/// Failed logins of a client at one server that are an attack, and the time in which they count, in nanoseconds: a person, or a job with
/// an old key, tries a few times a minute.
const MIN_FAILED_LOGINS: u32 = 10;

const LOGIN_WINDOW_NANOS: u64 = 60_000_000_000;

/// Failed logins with complete handshakes that prove an attack: a host whose address others forge fails a few times itself.
const MIN_PROVEN_LOGINS: u32 = 5;

/// Time after the last failed login in which one that succeeds belongs to the attack, in nanoseconds.
const LOGIN_AFTER_ATTEMPTS_NANOS: u64 = 600_000_000_000;

/// Maximum number of pairs of client and SSH server whose logins are counted: 6 MiB.
const MAX_LOGIN_PAIRS: usize = 1 << 14;

/// The failed logins of each client at each server.
#[derive(Debug)]
pub(super) struct BruteForces {
    pairs: ByProof<(ClientKey, SocketAddr), Logins>,
    /// Pairs whose attempts grew since their last report, and when those that ended were last looked for.
    growing: Vec<(ClientKey, SocketAddr)>,
    swept_at: u64,
}

#[derive(Debug)]
struct Logins {
    /// The last failed logins: as many as are an attack.
    window: VecDeque<FailedLogin>,
    /// The attack, once there is one.
    found: Option<Attack>,
}

#[derive(Clone, Copy, Debug)]
struct FailedLogin {
    at: u64,
    ts: Timestamp,
    packet_number: u64,
    is_proven: bool,
}

#[derive(Debug)]
struct Attack {
    finding: BruteForceFinding,
    packets: Vec<u64>,
    /// Number of failed logins whose handshakes show that the client has its address.
    proven: u32,
    /// The last failed login.
    at: u64,
    packet_number: u64,
    first_packet: u64,
    flow: FlowId,
    reported: u32,
    is_growing: bool,
}

impl BruteForces {
    pub(super) fn new() -> Self {
        let limits = IdleLimits {
            max_entries: MAX_LOGIN_PAIRS,
            idle_timeout: Duration::from_nanos(LOGIN_AFTER_ATTEMPTS_NANOS),
            max_buffered_bytes: usize::MAX,
        };
        Self { pairs: ByProof::with_limits(&limits, |_| 0), growing: Vec::new(), swept_at: 0 }
    }

    pub(super) fn evicted(&self) -> u64 {
        self.pairs.evicted()
    }

    /// Takes what became of a login.
    pub(super) fn on_login(&mut self, seen: &Seen<'_>, login: SshLogin, report: Report<'_>) {
        let Seen { event, now, is_proven, .. } = *seen;
        let (key, at) = ((seen.client, seen.server()), now.as_nanos());
        if is_proven {
            self.pairs.prove(key, now);
        }
        if !login.is_failed {
            // Others have no failed logins.
            let attack = self.pairs.touch_mut(&key, now).and_then(|(_, logins)| logins.found.as_mut());
            if let Some(attack) = attack.filter(|attack| !attack.finding.has_login) {
                attack.finding.has_login = true;
                (attack.first_packet, attack.flow) = (event.first_packet, event.flow.clone());
                report(attack.report(event.ts, event.packet_number));
            }
            return;
        }
        let new = || Logins { window: VecDeque::new(), found: None };
        let Some((_, logins)) = self.pairs.touch_or_insert(key, now, is_proven, new) else { return };
        if let Some(attack) = &mut logins.found {
            attack.add(seen);
            if attack.finding.attempts >= attack.reported.saturating_mul(10) {
                report(attack.report(event.ts, event.packet_number));
            } else if !attack.is_growing && attack.has_grown() {
                attack.is_growing = true;
                self.growing.push(key);
            }
            return;
        }
        let window = &mut logins.window;
        window.push_back(FailedLogin { at, ts: event.ts, packet_number: event.packet_number, is_proven });
        while window.front().is_some_and(|first| at.saturating_sub(first.at) > LOGIN_WINDOW_NANOS) {
            window.pop_front();
        }
        if window.len() < MIN_FAILED_LOGINS as usize {
            return;
        }
        let window = std::mem::take(window);
        let Some(FailedLogin { ts: first_seen, .. }) = window.front().copied() else { return };
        let proven = window.iter().filter(|login| login.is_proven).count();
        let finding = BruteForceFinding {
            server: event.flow.server,
            attempts: u32::try_from(window.len()).unwrap_or(u32::MAX),
            first_seen,
            last_seen: event.ts,
            has_login: false,
        };
        let attack = logins.found.insert(Attack {
            finding,
            packets: window.iter().take(MAX_FINDING_PACKETS).map(|login| login.packet_number).collect(),
            proven: u32::try_from(proven).unwrap_or(u32::MAX),
            at,
            packet_number: event.packet_number,
            first_packet: event.first_packet,
            flow: event.flow.clone(),
            reported: 0,
            is_growing: false,
        });
        report(attack.report(event.ts, event.packet_number));
    }

    /// Reports the last numbers of attacks that grew since their last report, and have had no failed login for a minute.
    pub(super) fn on_time(&mut self, now: Timestamp, report: Report<'_>) {
        if now.as_nanos().saturating_sub(self.swept_at) >= LOGIN_WINDOW_NANOS {
            self.swept_at = now.as_nanos();
            self.report_totals(now.as_nanos().saturating_sub(LOGIN_WINDOW_NANOS), report);
        }
    }

    /// Reports the last numbers of attacks at the end of a capture.
    pub(super) fn on_end(&mut self, report: Report<'_>) {
        self.report_totals(u64::MAX, report);
    }

    fn report_totals(&mut self, last: u64, report: Report<'_>) {
        let pairs = &mut self.pairs;
        self.growing.retain(|key| {
            let attack = pairs.peek_mut(key).and_then(|logins| logins.found.as_mut());
            let Some(attack) = attack else { return false };
            if attack.at <= last {
                attack.is_growing = false;
                if attack.has_grown() {
                    report(attack.report(attack.finding.last_seen, attack.packet_number));
                }
            }
            attack.is_growing
        });
    }
}

impl Attack {
    fn add(&mut self, seen: &Seen<'_>) {
        self.finding.attempts = self.finding.attempts.saturating_add(1);
        self.finding.last_seen = seen.event.ts;
        (self.at, self.packet_number) = (seen.now.as_nanos(), seen.event.packet_number);
        (self.first_packet, self.flow) = (seen.event.first_packet, seen.event.flow.clone());
        self.proven = self.proven.saturating_add(seen.is_proven.into());
    }

    fn has_grown(&self) -> bool {
        let grown = u64::from(self.finding.attempts).saturating_mul(100);
        grown >= u64::from(self.reported).saturating_mul(MIN_SCAN_GROWTH_PERCENT as u64)
    }

    /// The event of the attack as it is.
    fn report(&mut self, ts: Timestamp, packet_number: u64) -> Event<Finding> {
        let mut finding = Finding::new(FindingKind::BruteForce(self.finding), self.packets.clone());
        finding.is_proven = self.proven >= MIN_PROVEN_LOGINS;
        finding.is_update = self.reported > 0;
        self.reported = self.finding.attempts;
        let event = Event::new(ts, packet_number, self.flow.clone(), Side::Client, finding);
        event.with_first_packet(self.first_packet)
    }
}
