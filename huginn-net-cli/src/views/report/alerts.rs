//! Findings, hits of watch lists, failed handshakes and wrong certificates, each with its packets.

use std::net::IpAddr;

use foldhash::HashMap;
use huginn_net::finding::{Match, TlsCertificatesFinding, TrafficNotice, TrafficNoticeKind};
use huginn_net::hosts::Contradiction;
use huginn_net::tls::TlsHandshake;
use huginn_net::{Escaped, Event, Finding, Side};

use crate::limits::{MAX_REPORT_ALERT_PACKETS, MAX_REPORT_ALERT_TEXT, MAX_REPORT_ALERTS};
use crate::output::{certificate_problems, certificates_in_words, handshake_in_words, last_boundary};

/// Findings and hits of watch lists, in the order of the captures. Memory is bounded: what exceeds the limits is counted.
#[derive(Debug, Default)]
pub(crate) struct Alerts {
    pub(super) hits: AlertList,
    pub(super) scans: AlertList,
    pub(super) beacons: AlertList,
    pub(super) imitations: AlertList,
    pub(super) contradictions: AlertList,
    /// Certificates of servers that are not for the server name, or not valid.
    pub(super) certificates: AlertList,
    pub(super) failed_handshakes: AlertList,
    /// Index of the capture file that the next events come from.
    file: usize,
}

/// Alerts of one kind.
#[derive(Debug, Default)]
pub(super) struct AlertList {
    pub(super) alerts: Vec<Alert>,
    places: HashMap<Key, usize>,
    /// Number of events that there was no room for.
    pub(super) left_out: u64,
}

/// Address of the client, the number of the VLAN tags and tunnels, and what distinguishes the alerts of a client.
type Key = (IpAddr, u64, String);

/// A statement about a client, which several events may make.
#[derive(Debug)]
pub(super) struct Alert {
    pub(super) host: IpAddr,
    pub(super) reason: String,
    /// Numbers of the first packets.
    pub(super) packets: Vec<u64>,
    /// Index of the file of those packets.
    pub(super) file: usize,
    /// Number of events.
    pub(super) events: u64,
    /// Number of captures with these events.
    pub(super) captures: u64,
    /// The tool whose packets a scan has.
    pub(super) tool: Option<String>,
    pub(super) contradiction: Option<Contradiction>,
    /// Index of the file of the latest event.
    last_file: usize,
}

impl Alerts {
    /// Sets the index of the capture file that the next events come from.
    pub(crate) fn set_file(&mut self, file: usize) {
        self.file = file;
    }

    /// Adds an event, if it is a finding, a hit, a failed handshake or a certificate with a problem.
    pub(crate) fn add(&mut self, event: &Event) {
        match &event.kind {
            Finding::Notice(notice) => self.add_notice(event, notice),
            Finding::Match(found) => self.add_hit(event, found),
            Finding::TlsHandshake(found) if !found.handshake.completed => {
                self.add_failed_handshake(event, &found.handshake);
            }
            Finding::TlsCertificates(found) if !certificate_problems(found, event.ts).is_empty() => {
                self.add_certificates(event, found);
            }
            _ => {}
        }
    }

    /// Whether a watch list had a hit.
    pub(crate) fn has_hit(&self) -> bool {
        !self.hits.alerts.is_empty()
    }

    fn add_notice(&mut self, event: &Event, notice: &TrafficNotice) {
        let mut alert = self.alert(event, notice.to_string(), notice.packets.clone());
        let (list, key) = match &notice.kind {
            TrafficNoticeKind::Scan(scan) => {
                alert.tool = scan.tool.as_ref().map(ToString::to_string);
                (&mut self.scans, format!("{:?}", scan.target))
            }
            TrafficNoticeKind::Beacon(beacon) => (&mut self.beacons, beacon.target.to_string()),
            TrafficNoticeKind::Imitation(found) => (&mut self.imitations, found.claim.clone()),
            TrafficNoticeKind::Contradiction(found) => {
                alert.contradiction = Some(found.contradiction.clone());
                (&mut self.contradictions, String::new())
            }
            _ => return,
        };
        list.add(key_of(event, key), alert, |known, latest| {
            // The later finding of a capture has the numbers until then.
            known.reason = latest.reason;
            known.packets = latest.packets;
        });
    }

    fn add_hit(&mut self, event: &Event, found: &Match) {
        let Match { list, kind, value, label, .. } = found;
        let mut reason = format!("watched {} {:#}", kind.name(), Escaped(value.as_bytes()));
        if event.subject == Side::Server {
            reason.push_str(&format!(" of the server {}", event.flow.server));
        }
        if !label.is_empty() {
            reason.push_str(&format!(", {:#}", Escaped(label.as_bytes())));
        }
        reason.push_str(&format!(", list {:#}", Escaped(list.as_bytes())));
        let key = key_of(event, format!("{} {value} {list}", kind.name()));
        let alert = self.alert(event, reason, vec![event.packet_number]);
        self.hits.add(key, alert, add_packets);
    }

    fn add_failed_handshake(&mut self, event: &Event, found: &TlsHandshake) {
        let reason = format!("TLS with {}: {}", event.flow.server, handshake_in_words(found));
        let alert = self.alert(event, reason.clone(), vec![event.packet_number]);
        self.failed_handshakes.add(key_of(event, reason), alert, add_packets);
    }

    /// Adds the certificates of a server, which are equal for all its clients.
    fn add_certificates(&mut self, event: &Event, found: &TlsCertificatesFinding) {
        let host = event.subject_addr();
        let reason = format!("port {}: {}", host.port(), certificates_in_words(found, event.ts));
        let alert = self.alert(event, reason.clone(), vec![event.packet_number]);
        let key = (host.ip(), event.flow.tunnel_key(), reason);
        self.certificates.add(key, Alert { host: host.ip(), ..alert }, add_packets);
    }

    fn alert(&self, event: &Event, mut reason: String, packets: Vec<u64>) -> Alert {
        reason.truncate(last_boundary(&reason, MAX_REPORT_ALERT_TEXT));
        Alert {
            host: event.flow.client.ip(),
            reason,
            packets,
            file: self.file,
            events: 1,
            captures: 1,
            tool: None,
            contradiction: None,
            last_file: self.file,
        }
    }
}

/// Adds the packets of a later event to the first ones.
fn add_packets(known: &mut Alert, latest: Alert) {
    for packet in latest.packets {
        if known.packets.len() < MAX_REPORT_ALERT_PACKETS && !known.packets.contains(&packet) {
            known.packets.push(packet);
        }
    }
}

fn key_of(event: &Event, what: String) -> Key {
    (event.flow.client.ip(), event.flow.tunnel_key(), what)
}

impl AlertList {
    /// Adds an alert. `again` changes a known one by a later one of the same file.
    fn add(&mut self, key: Key, alert: Alert, again: impl FnOnce(&mut Alert, Alert)) {
        let place = self.places.get(&key).copied();
        if let Some(known) = place.and_then(|place| self.alerts.get_mut(place)) {
            known.events = known.events.saturating_add(1);
            known.captures = known.captures.saturating_add(u64::from(known.last_file != alert.file));
            known.last_file = alert.file;
            if known.file == alert.file {
                again(known, alert);
            }
        } else if self.alerts.len() < MAX_REPORT_ALERTS {
            self.places.insert(key, self.alerts.len());
            self.alerts.push(alert);
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }
}
