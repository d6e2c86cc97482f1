//! Failed handshakes and wrong certificates, each with its packets.

use std::net::{IpAddr, SocketAddr};

use foldhash::HashMap;
use huginn_net::core::{Escaped, TransportKind};
use huginn_net::hosts::is_public;
use huginn_net::observation::TlsCertificatesObservation;
use huginn_net::tls::TlsHandshake;
use huginn_net::{Event, Observation, Side};

use super::bounded::{Bounded, increment};
use super::origin::Origin;
use super::statement::Statement;
use crate::output::{certificate_problems, certificate_remarks, handshake_in_words};

/// Maximum number of certificates or failed handshakes that a report keeps; others are counted.
const MAX_REPORT_REMARKS: usize = 1000;

/// Maximum number of clients that a report names with the certificate of a server.
const MAX_REPORT_ALERT_CLIENTS: usize = 4;

/// Maximum number of pairs of a client and a server whose TLS handshakes a report counts: about 100 bytes each.
const MAX_REPORT_HANDSHAKE_PAIRS: usize = 1 << 15;

/// What TLS handshakes show beside alerts, in the order of the captures. Memory is bounded: what exceeds the limits is counted.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// Certificates that are not for the server name, or not valid.
    pub(crate) certificates: RemarkList,
    /// Valid certificates of servers that are their own issuer: of servers on the Internet, and of others.
    pub(crate) self_issued: RemarkList,
    pub(crate) self_issued_nearby: RemarkList,
    pub(crate) failed_handshakes: RemarkList,
    /// All TLS handshakes.
    pub(crate) handshakes: HandshakeCount,
    handshakes_of: Bounded<(IpAddr, SocketAddr, u64), HandshakeCount, MAX_REPORT_HANDSHAKE_PAIRS>,
}

/// TLS handshakes, and how many of them failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HandshakeCount {
    pub(crate) all: u64,
    pub(crate) failed: u64,
}

impl HandshakeCount {
    fn add(&mut self, found: &TlsHandshake) {
        increment(&mut self.all);
        self.failed = self.failed.saturating_add(u64::from(!found.completed));
    }
}

/// Remarks of one kind.
#[derive(Debug, Default)]
pub(crate) struct RemarkList {
    pub(crate) remarks: Vec<Remark>,
    places: HashMap<Key, usize>,
    /// Number of events that there was no room for.
    pub(crate) left_out: u64,
}

/// Address of the client, the number of the VLAN tags and tunnels, and what distinguishes the remarks on a client.
type Key = (IpAddr, u64, String);

/// A statement about a host.
#[derive(Debug)]
pub(crate) struct Remark {
    pub(crate) statement: Statement,
    /// The server of a failed handshake, and the number of the tags and tunnels.
    peer: Option<(SocketAddr, u64)>,
    /// The first clients that a certificate was sent to.
    pub(crate) clients: Vec<IpAddr>,
    pub(crate) has_more_clients: bool,
}

impl Remarks {
    /// Adds an event, if it is a failed handshake or a certificate with a problem.
    pub(crate) fn add(&mut self, event: &Event, origin: &Origin) {
        match &event.kind {
            Observation::TlsHandshake(found) => self.add_handshake(event, &found.handshake, origin),
            Observation::TlsCertificates(found) => self.add_certificates(event, found, origin),
            _ => {}
        }
    }

    /// Counts a handshake, and adds it if it failed.
    fn add_handshake(&mut self, event: &Event, found: &TlsHandshake, origin: &Origin) {
        let (client, server, tunnel) = (event.flow.client.ip(), event.flow.server, event.flow.tunnel_key());
        self.handshakes.add(found);
        if let Some(count) = self.handshakes_of.entry((client, server, tunnel)) {
            count.add(found);
        }
        if !found.completed {
            let reason = format!("TLS with {server}: {}", handshake_in_words(found));
            let key = (client, tunnel, reason.clone());
            let statement = Statement::new(client, reason, &[event.packet_number], origin.file);
            self.failed_handshakes.add(key, statement, Some((server, tunnel)), None);
        }
    }

    /// The handshakes of the client and the server of a remark; `None` if there was no room to count them.
    pub(crate) fn handshakes_of(&self, remark: &Remark) -> Option<HandshakeCount> {
        let (server, tunnel) = remark.peer?;
        self.handshakes_of.get(&(remark.statement.host, server, tunnel)).copied()
    }

    /// Adds the certificates of a host that have a problem or are self-issued. Those of a server are equal for all its clients.
    fn add_certificates(&mut self, event: &Event, found: &TlsCertificatesObservation, origin: &Origin) {
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
        let list = if is_wrong {
            &mut self.certificates
        } else if is_public(host.ip()) {
            &mut self.self_issued
        } else {
            &mut self.self_issued_nearby
        };
        let key = (host.ip(), event.flow.tunnel_key(), reason.clone());
        let statement = Statement::new(host.ip(), reason, &[event.packet_number], origin.file);
        let client = (event.subject == Side::Server).then(|| event.flow.client.ip());
        list.add(key, statement, None, client);
    }
}

impl RemarkList {
    /// Adds a statement: its server, or the client that a certificate was sent to.
    fn add(
        &mut self,
        key: Key,
        statement: Statement,
        peer: Option<(SocketAddr, u64)>,
        client: Option<IpAddr>,
    ) {
        let place = self.places.get(&key).copied();
        if let Some(known) = place.and_then(|place| self.remarks.get_mut(place)) {
            match client.filter(|client| !known.clients.contains(client)) {
                Some(client) if known.clients.len() < MAX_REPORT_ALERT_CLIENTS => known.clients.push(client),
                client => known.has_more_clients |= client.is_some(),
            }
            if known.statement.count(statement.packets.file) {
                known.statement.add_packets(&statement.packets.numbers);
            }
        } else if self.remarks.len() < MAX_REPORT_REMARKS {
            self.places.insert(key, self.remarks.len());
            let clients = client.into_iter().collect();
            self.remarks.push(Remark { statement, peer, clients, has_more_clients: false });
        } else {
            increment(&mut self.left_out);
        }
    }
}
