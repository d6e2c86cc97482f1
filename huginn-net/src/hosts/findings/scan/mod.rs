//! Scans: many ports of a host, or many hosts on a few ports, most of which do not accept.

mod client;
mod open;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use huginn_net_core::{IdleLimits, Timestamp};
use huginn_net_db::Label;

use self::client::Client;
use self::open::OpenScan;
use super::by_proof::ByProof;
use super::{ClientKey, FindingSettings, Report, Seen};
use crate::hosts::{Progress, StrayKind, Tools};
use crate::limits::{MAX_SCAN_TARGETS, SCAN_ANSWER_NANOS, SCAN_WINDOW_NANOS, SLOW_SCAN_WINDOWS};
use crate::observation::{ScanRemark, ScanSegments};

/// Maximum number of scans of a client that are followed: 100 KiB.
const MAX_SCANS_PER_CLIENT: usize = 4;

/// Maximum number of clients whose connections are counted: 8 MiB.
const MAX_SCAN_CLIENTS: usize = 1 << 16;

/// Maximum memory of their targets and scans, in bytes.
const MAX_SCAN_BYTES: usize = 32 << 20;

/// The connections of each client in the last minutes, and the scans that were found.
#[derive(Debug)]
pub(super) struct Scans {
    clients: ByProof<ClientKey, Client>,
    /// Clients to evaluate once their last servers had time to answer, by time.
    due: VecDeque<(u64, ClientKey)>,
    /// Clients with a scan that grew since its last report, and when those that ended were last looked for.
    growing: Vec<ClientKey>,
    swept_at: u64,
    /// Time until which handshakes are complete without data; zero before the end of the capture.
    settled_at: u64,
    /// Whether a server answered a SYN, or a client went on after one.
    has_answers: bool,
    thresholds: Thresholds,
}

/// How many targets are a scan.
#[derive(Clone, Copy, Debug)]
struct Thresholds {
    ports: u32,
    hosts: u32,
}

impl Thresholds {
    /// So many times as many; not more than are kept.
    fn times(self, factor: u32) -> Self {
        let times = |count: u32| count.saturating_mul(factor).min(MAX_SCAN_TARGETS);
        Self { ports: times(self.ports), hosts: times(self.hosts) }
    }

    fn min(self) -> usize {
        self.ports.min(self.hosts) as usize
    }
}

impl Scans {
    pub(super) fn new(settings: &FindingSettings) -> Self {
        let FindingSettings { scan_ports, scan_hosts, .. } = settings;
        let limits = IdleLimits {
            max_entries: MAX_SCAN_CLIENTS,
            // The longest time in which targets are counted, and the time after which scans are reported with their last numbers.
            idle_timeout: Duration::from_nanos(
                SCAN_WINDOW_NANOS.saturating_mul(SLOW_SCAN_WINDOWS.saturating_add(2)),
            ),
            max_buffered_bytes: MAX_SCAN_BYTES,
        };
        Self {
            clients: ByProof::with_limits(&limits, Client::heap_bytes),
            due: VecDeque::new(),
            growing: Vec::new(),
            swept_at: 0,
            settled_at: 0,
            has_answers: false,
            thresholds: Thresholds { ports: scan_ports.get(), hosts: scan_hosts.get() }.times(1),
        }
    }

    pub(super) fn evicted(&self) -> u64 {
        self.clients.evicted()
    }

    /// Counts a SYN.
    pub(super) fn on_syn(&mut self, seen: &Seen<'_>, label: Option<&Arc<Label>>, report: Report<'_>) {
        let tool = label.filter(|label| Tools::names_tool(label));
        self.on_target(seen, ScanSegments::Syn, tool, report);
    }

    /// Counts a SYN, or a segment without connection.
    fn on_target(
        &mut self,
        seen: &Seen<'_>,
        segments: ScanSegments,
        tool: Option<&Arc<Label>>,
        report: Report<'_>,
    ) {
        let Seen { event, client: key, now, .. } = *seen;
        let at = now.as_nanos();
        let new = || Client::new(at, event.flow.tunnel.clone());
        let Some((place, client)) = self.clients.touch_or_insert(key, now, false, new) else { return };
        let tunnel = &event.flow.tunnel;
        for scan in &mut client.scans {
            if scan.grow(seen, segments, tool) {
                report(scan.report(key.0, tunnel.clone(), at));
            }
        }
        if !client.is_growing && client.scans.iter().any(OpenScan::has_grown) {
            client.is_growing = true;
            self.growing.push(key);
        }
        client.add(seen, segments, tool);
        if !client.is_due && client.len() >= self.thresholds.min() {
            client.is_due = true;
            self.due.push_back((at.saturating_add(SCAN_ANSWER_NANOS), key));
        }
        self.clients.measure(place);
        // Time may stand still.
        if self.due.len() > MAX_SCAN_CLIENTS
            && let Some(due) = self.due.pop_front()
        {
            self.evaluate(due, now, report);
        }
    }

    /// Counts a SYN+ACK.
    pub(super) fn on_answer(&mut self, seen: &Seen<'_>) {
        self.has_answers = true;
        self.change(seen.client, seen.now, |client| client.accept(seen.server(), false));
    }

    /// Takes what follows a SYN, or a segment without connection.
    pub(super) fn on_progress(&mut self, seen: &Seen<'_>, step: Progress, report: Report<'_>) {
        let Seen { event, client, now, is_proven } = *seen;
        let (sender, server) = (event.flow.client, event.flow.server);
        // The server, if it is known as a client.
        let peer = (server.ip(), client.1);
        self.has_answers |= matches!(step, Progress::Refused | Progress::Continues { .. } | Progress::Data);
        match step {
            Progress::Stray(StrayKind::Reset) => {
                self.change(peer, now, |peer| peer.refuse(sender, false));
            }
            Progress::Stray(kind) => {
                self.change(peer, now, |peer| peer.on_answer_to_stray(sender));
                if let Some(segments) = segments(kind) {
                    self.on_target(seen, segments, None, report);
                }
            }
            Progress::Repeats | Progress::Login(_) => {}
            Progress::Refused => self.change(client, now, |client| client.refuse(server, true)),
            Progress::Data => self.change(client, now, |client| client.on_data(server)),
            Progress::Continues { has_data } => {
                if is_proven {
                    self.clients.prove(client, now);
                }
                self.change(client, now, |client| {
                    client.accept(server, true);
                    if has_data {
                        client.on_data(server);
                    } else if is_proven {
                        client.prove(server, now.as_nanos());
                    }
                });
            }
            Progress::Resets => self.change(client, now, |client| client.reset(server)),
        }
    }

    /// Changes a client, if it is known.
    fn change(&mut self, key: ClientKey, now: Timestamp, change: impl FnOnce(&mut Client)) {
        let Some((place, client)) = self.clients.touch_mut(&key, now) else { return };
        change(client);
        self.clients.measure(place);
    }

    /// Evaluates the clients whose last servers had time to answer.
    pub(super) fn on_time(&mut self, now: Timestamp, report: Report<'_>) {
        while let Some(due) = self.due.front().copied().filter(|(at, _)| *at <= now.as_nanos()) {
            self.due.pop_front();
            self.evaluate(due, now, report);
        }
        // Before the client is forgotten.
        if now.as_nanos().saturating_sub(self.swept_at) >= SCAN_WINDOW_NANOS {
            self.swept_at = now.as_nanos();
            self.report_totals(now, now.as_nanos().saturating_sub(SCAN_WINDOW_NANOS), report);
        }
    }

    /// Reports the last numbers of scans that grew since their last report, and have had no segment since `last`.
    fn report_totals(&mut self, now: Timestamp, last: u64, report: Report<'_>) {
        let settled_at = self.settled_at.max(now.as_nanos());
        let clients = &mut self.clients;
        self.growing.retain(|key| {
            let Some(client) = clients.peek_mut(key) else { return false };
            let Client { scans, tunnel, is_growing, .. } = client;
            for scan in scans.iter_mut().filter(|scan| scan.has_grown() && scan.last.at <= last) {
                if scan.is_sure() {
                    report(scan.report(key.0, tunnel.clone(), settled_at));
                } else {
                    scan.set_reported();
                }
            }
            *is_growing = scans.iter().any(OpenScan::has_grown);
            *is_growing
        });
    }

    /// Evaluates the clients that are left at the end of a capture, and reports the last numbers of scans.
    pub(super) fn on_end(&mut self, now: Timestamp, report: Report<'_>) {
        // No data follows any more.
        self.settled_at = u64::MAX;
        for due in std::mem::take(&mut self.due) {
            self.evaluate(due, now, report);
        }
        self.report_totals(now, u64::MAX, report);
        self.settled_at = 0;
    }

    /// Evaluates a client that was due at a time.
    fn evaluate(&mut self, (at, key): (u64, ClientKey), now: Timestamp, report: Report<'_>) {
        // After a pause, the idle timeout of the client may be over.
        let at = at.min(now.as_nanos());
        let Some((place, client)) = self.clients.touch_mut(&key, Timestamp::from_nanos(at, 9)) else {
            return;
        };
        client.is_due = false;
        let tunnel = client.tunnel.clone();
        let settled_at = self.settled_at.max(now.as_nanos());
        for group in client.groups(self.thresholds, self.has_answers, at, now.as_nanos()) {
            if client.scans.len() >= MAX_SCANS_PER_CLIENT {
                break;
            }
            let Some(scan) = client.open(&group) else { continue };
            if group.segments == ScanSegments::Syn && !self.has_answers {
                scan.set_remark(ScanRemark::NoAnswers);
            }
            report(scan.report(key.0, tunnel.clone(), settled_at));
            client.add_later();
        }
        if !client.is_growing && client.scans.iter().any(OpenScan::has_grown) {
            client.is_growing = true;
            self.growing.push(key);
        }
        self.clients.measure(place);
    }
}

/// The segments of a scan with those of this kind.
fn segments(kind: StrayKind) -> Option<ScanSegments> {
    match kind {
        StrayKind::Fin => Some(ScanSegments::Fin),
        StrayKind::Null => Some(ScanSegments::Null),
        StrayKind::Xmas => Some(ScanSegments::Xmas),
        StrayKind::Ack => Some(ScanSegments::Ack),
        StrayKind::Maimon => Some(ScanSegments::Maimon),
        StrayKind::Reset => None,
    }
}

/// Whether `part` is at least this percentage of `all`.
fn is_percent(part: usize, all: usize, percent: usize) -> bool {
    part.saturating_mul(100) >= all.saturating_mul(percent)
}

/// Whether `part` is at most this percentage of `all`.
fn is_at_most(part: usize, all: usize, percent: usize) -> bool {
    part.saturating_mul(100) <= all.saturating_mul(percent)
}
