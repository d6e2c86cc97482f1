//! Failed handshakes and wrong certificates, each with its packets.

use std::collections::hash_map::Entry;
use std::net::{IpAddr, SocketAddr};

use foldhash::HashMap;
use huginn_net::core::TransportKind;
use huginn_net::finding::TlsCertificatesFinding;
use huginn_net::hosts::is_public;
use huginn_net::tls::TlsHandshake;
use huginn_net::{Escaped, Event, Finding, Side};

use crate::limits::{
    MAX_ALERT_PACKETS, MAX_ALERT_TEXT, MAX_REPORT_ALERT_CLIENTS, MAX_REPORT_HANDSHAKE_PAIRS,
    MAX_REPORT_REMARKS,
};
use crate::output::{certificate_problems, certificate_remarks, handshake_in_words, last_boundary};

/// What TLS handshakes show beside alerts, in the order of the captures. Memory is bounded: what exceeds the limits is counted.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// Certificates that are not for the server name, or not valid.
    pub(super) certificates: RemarkList,
    /// Valid certificates of servers that are their own issuer: of servers on the Internet, and of others.
    pub(super) self_issued: RemarkList,
    pub(super) self_issued_nearby: RemarkList,
    pub(super) failed_handshakes: RemarkList,
    /// All TLS handshakes.
    pub(super) handshakes: HandshakeCount,
    handshakes_of: HashMap<(IpAddr, SocketAddr, u64), HandshakeCount>,
    /// Index of the capture file that the next events come from.
    file: usize,
}

/// TLS handshakes, and how many of them failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HandshakeCount {
    pub(super) all: u64,
    pub(super) failed: u64,
}

impl HandshakeCount {
    fn add(&mut self, found: &TlsHandshake) {
        self.all = self.all.saturating_add(1);
        self.failed = self.failed.saturating_add(u64::from(!found.completed));
    }
}

/// Remarks of one kind.
#[derive(Debug, Default)]
pub(super) struct RemarkList {
    pub(super) remarks: Vec<Remark>,
    places: HashMap<Key, usize>,
    /// Number of events that there was no room for.
    pub(super) left_out: u64,
}

/// Address of the client, the number of the VLAN tags and tunnels, and what distinguishes the remarks on a client.
type Key = (IpAddr, u64, String);

/// A statement about a client, which several events may make.
#[derive(Debug)]
pub(super) struct Remark {
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
    /// The server of a failed handshake, and the number of the tags and tunnels.
    pub(super) peer: Option<(SocketAddr, u64)>,
    /// The first clients that a certificate was sent to.
    pub(super) clients: Vec<IpAddr>,
    pub(super) has_more_clients: bool,
    /// Index of the file of the latest event.
    last_file: usize,
}

impl Remarks {
    /// Sets the index of the capture file that the next events come from.
    pub(crate) fn set_file(&mut self, file: usize) {
        self.file = file;
    }

    /// Adds an event, if it is a failed handshake or a certificate with a problem.
    pub(crate) fn add(&mut self, event: &Event) {
        match &event.kind {
            Finding::TlsHandshake(found) => self.add_handshake(event, &found.handshake),
            Finding::TlsCertificates(found) => self.add_certificates(event, found),
            _ => {}
        }
    }

    /// Counts a handshake, and adds it if it failed.
    fn add_handshake(&mut self, event: &Event, found: &TlsHandshake) {
        self.handshakes.add(found);
        let (server, tunnel) = (event.flow.server, event.flow.tunnel_key());
        let is_full = self.handshakes_of.len() >= MAX_REPORT_HANDSHAKE_PAIRS;
        match self.handshakes_of.entry((event.flow.client.ip(), server, tunnel)) {
            Entry::Occupied(entry) => entry.into_mut().add(found),
            Entry::Vacant(_) if is_full => {}
            Entry::Vacant(entry) => entry.insert(HandshakeCount::default()).add(found),
        }
        if found.completed {
            return;
        }
        let reason = format!("TLS with {server}: {}", handshake_in_words(found));
        let alert = self.alert(event, reason.clone(), vec![event.packet_number]);
        let alert = Remark { peer: Some((server, tunnel)), ..alert };
        self.failed_handshakes.add(key_of(event, reason), alert, add_packets);
    }

    /// The handshakes of the client and the server of an alert; `None` if there was no room to count them.
    pub(super) fn handshakes_of(&self, alert: &Remark) -> Option<HandshakeCount> {
        let (server, tunnel) = alert.peer?;
        self.handshakes_of.get(&(alert.host, server, tunnel)).copied()
    }

    /// Adds the certificates of a host that have a problem or are self-issued. Those of a server are equal for all its clients.
    fn add_certificates(&mut self, event: &Event, found: &TlsCertificatesFinding) {
        let Some(first) = found.certificates.certificates.first() else { return };
        let remarks = certificate_remarks(found, event.ts);
        let host = event.subject_addr();
        let is_wrong = !certificate_problems(found, event.ts).is_empty();
        // Both sides of a call have self-issued certificates, over DTLS (RFC 8827, section 6.5).
        let is_of_server = event.subject == Side::Server && event.flow.transport == TransportKind::Tcp;
        if remarks.is_empty() || !is_wrong && !is_of_server {
            return;
        }
        let reason = format!(
            "certificate of port {}, {}: {:#}",
            host.port(),
            remarks.join(", "),
            Escaped(first.to_string().as_bytes())
        );
        let mut alert = self.alert(event, reason.clone(), vec![event.packet_number]);
        if event.subject == Side::Server {
            alert.clients.push(event.flow.client.ip());
        }
        let list = if is_wrong {
            &mut self.certificates
        } else if is_public(host.ip()) {
            &mut self.self_issued
        } else {
            &mut self.self_issued_nearby
        };
        let key = (host.ip(), event.flow.tunnel_key(), reason);
        list.add(key, Remark { host: host.ip(), ..alert }, add_packets);
    }

    fn alert(&self, event: &Event, mut reason: String, packets: Vec<u64>) -> Remark {
        reason.truncate(last_boundary(&reason, MAX_ALERT_TEXT));
        Remark {
            host: event.flow.client.ip(),
            reason,
            packets,
            file: self.file,
            events: 1,
            captures: 1,
            peer: None,
            clients: Vec::new(),
            has_more_clients: false,
            last_file: self.file,
        }
    }
}

/// Adds the packets of a later event to the first ones.
fn add_packets(known: &mut Remark, latest: Remark) {
    for packet in latest.packets {
        if known.packets.len() < MAX_ALERT_PACKETS && !known.packets.contains(&packet) {
            known.packets.push(packet);
        }
    }
}

/// Adds the client of a later event to the first ones.
fn add_clients(known: &mut Remark, latest: &[IpAddr]) {
    for client in latest.iter().filter(|client| !known.clients.contains(client)).collect::<Vec<_>>() {
        if known.clients.len() < MAX_REPORT_ALERT_CLIENTS {
            known.clients.push(*client);
        } else {
            known.has_more_clients = true;
        }
    }
}

fn key_of(event: &Event, what: String) -> Key {
    (event.flow.client.ip(), event.flow.tunnel_key(), what)
}

impl RemarkList {
    /// Adds an alert. `again` changes a known one by a later one of the same file.
    fn add(&mut self, key: Key, alert: Remark, again: impl FnOnce(&mut Remark, Remark)) {
        let place = self.places.get(&key).copied();
        if let Some(known) = place.and_then(|place| self.remarks.get_mut(place)) {
            known.events = known.events.saturating_add(1);
            known.captures = known.captures.saturating_add(u64::from(known.last_file != alert.file));
            known.last_file = alert.file;
            add_clients(known, &alert.clients);
            if known.file == alert.file {
                again(known, alert);
            }
        } else if self.remarks.len() < MAX_REPORT_REMARKS {
            self.places.insert(key, self.remarks.len());
            self.remarks.push(alert);
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }
}
