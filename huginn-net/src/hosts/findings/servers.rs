//! TLS servers that do not fit together, and default certificates of C2 programs.

use std::net::SocketAddr;
use std::time::Duration;

use huginn_net_core::{IdleLimits, IdleMap, Timestamp};

use super::by_proof::ByProof;
use super::service::service;
use super::{ClientKey, Report, Seen};
use crate::addresses::is_public;
use crate::hosts::{CertificateFacts, RequestFacts, ServerFacts, known_servers};
use crate::limits::{FINDING_IDLE_SECS, MAX_BROWSER_CLIENTS, MAX_FINDING_PACKETS, MAX_SERVERS};
use crate::observation::{
    C2CertificateFinding, CertificateNames, FindingKind, ServerMark, ServerMarks, UnusualServerFinding,
};

/// 2020-01-01, in seconds since 1970: browsers dropped TLS 1.0 in that year.
const FIRST_OLD_VERSION_SECS: i64 = 1_577_836_800;

/// Maximum memory of their packet numbers and names, in bytes.
const MAX_SERVER_BYTES: usize = 8 << 20;

/// TLS servers that clients contact without a name.
#[derive(Debug)]
pub(super) struct Servers {
    pairs: ByProof<(ClientKey, SocketAddr), Pair>,
    /// Clients with connections of a browser.
    browsers: IdleMap<ClientKey, ()>,
    /// Clients and servers of reported C2 certificates, and whether they were reported with proof.
    c2: ByProof<(ClientKey, SocketAddr), ()>,
}

/// A client and a server.
#[derive(Debug)]
struct Pair {
    first_seen: Timestamp,
    connections: u32,
    /// Packets of the first connections.
    packets: Vec<u64>,
    marks: ServerMarks,
    certificate: Option<CertificateNames>,
    /// Whether the certificate was seen, or the version hides it.
    is_settled: bool,
    /// Whether something explains the server.
    is_explained: bool,
    /// Whether it was reported, and whether with strong marks and with proof.
    reported: Option<(bool, bool)>,
}

impl Pair {
    fn heap_bytes(&self) -> usize {
        let Some(names) = &self.certificate else { return 0 };
        let packets = MAX_FINDING_PACKETS.saturating_mul(size_of::<u64>());
        names.subject.len().saturating_add(names.issuer.len()).saturating_add(packets)
    }
}

impl Servers {
    pub(super) fn new() -> Self {
        let browsers = IdleLimits {
            max_entries: MAX_BROWSER_CLIENTS,
            idle_timeout: Duration::from_secs(FINDING_IDLE_SECS),
            max_buffered_bytes: usize::MAX,
        };
        Self {
            pairs: ByProof::new(MAX_SERVERS, MAX_SERVER_BYTES, Pair::heap_bytes),
            browsers: IdleMap::new(&browsers),
            c2: ByProof::new(MAX_SERVERS, usize::MAX, |()| 0),
        }
    }

    pub(super) fn evicted(&self) -> u64 {
        let Self { pairs, browsers, c2 } = self;
        pairs.evicted().saturating_add(browsers.counters().evicted).saturating_add(c2.evicted())
    }

    /// Number of pairs, and of clients with a browser.
    #[cfg(test)]
    pub(super) fn entries(&self) -> (u64, u64) {
        (self.pairs.entries(), self.browsers.counters().entries)
    }

    /// Adds a ClientHello.
    pub(super) fn on_hello(&mut self, seen: &Seen<'_>, facts: &RequestFacts) {
        let Seen { event, client, now, is_proven } = *seen;
        if facts.is_browser && self.browsers.touch(&client, now).is_none() {
            self.browsers.insert(client, now, ());
        }
        let key = (client, seen.server());
        if !facts.is_nameless {
            // A name, or a browser, says what the server is.
            if let Some((_, pair)) = self.pairs.touch_mut(&key, now) {
                pair.is_explained |= facts.name.is_some() || facts.is_browser;
            }
            return;
        }
        if event.flow.server.ip().is_loopback() {
            return;
        }
        if is_proven {
            self.pairs.prove(key, now);
        }
        let new = || {
            let mut marks = ServerMarks::default();
            marks.add(ServerMark::Port, !known_servers::is_tls_port(event.flow.server.port()));
            Pair {
                first_seen: event.ts,
                connections: 0,
                packets: Vec::new(),
                marks,
                certificate: None,
                is_settled: false,
                is_explained: false,
                reported: None,
            }
        };
        if let Some((_, pair)) = self.pairs.touch_or_insert(key, now, is_proven, new) {
            pair.connections = pair.connections.saturating_add(1);
            if pair.packets.len() < MAX_FINDING_PACKETS {
                pair.packets.push(event.packet_number);
            }
        }
    }

    /// Adds a ServerHello or a certificate.
    pub(super) fn on_server(&mut self, seen: &Seen<'_>, facts: &ServerFacts, report: Report<'_>) {
        let (event, now, key) = (seen.event, seen.now, (seen.client, seen.server()));
        let program = facts.certificate.as_ref().and_then(|found| Some((found.program?, &found.names)));
        if let Some((program, names)) = program {
            if let Some((_, pair)) = self.pairs.touch_mut(&key, now) {
                pair.is_explained = true;
            }
            // A forged handshake does not hide a later one.
            if let Some(is_update) = self.c2.note(key, seen) {
                let found = C2CertificateFinding { server: key.1, program, certificate: names.clone() };
                let kind = FindingKind::C2Certificate(found);
                let mut event = seen.event_of(kind, vec![event.packet_number]);
                event.kind.is_update = is_update;
                report(event);
            }
            return;
        }
        let Some((place, pair)) = self.pairs.touch_mut(&key, now).filter(|_| facts.is_nameless) else {
            return;
        };
        pair.is_settled |= facts.hides_certificate || facts.certificate.is_some();
        let secs = i64::try_from(event.ts.as_secs()).unwrap_or(i64::MAX);
        pair.marks.add(ServerMark::Version, facts.is_old && secs >= FIRST_OLD_VERSION_SECS);
        if let Some(CertificateFacts { marks, is_explained, names, .. }) = &facts.certificate {
            pair.marks = pair.marks.with(*marks);
            pair.is_explained |= is_explained;
            pair.certificate = Some(names.clone());
            self.pairs.measure(place);
        }
        self.judge(seen, report);
    }

    /// Adds that the client contacts the server at regular intervals.
    pub(super) fn on_regular(&mut self, seen: &Seen<'_>, report: Report<'_>) {
        if let Some((_, pair)) = self.pairs.touch_mut(&(seen.client, seen.server()), seen.now) {
            // Clients of some services connect at regular intervals.
            let has_service = service(None, seen.server().port(), None).is_some();
            pair.marks.add(ServerMark::Regular, !has_service);
            self.judge(seen, report);
        }
    }

    /// Reports the server of an event if its marks suffice, and again once they are strong or the event is proven.
    fn judge(&mut self, seen: &Seen<'_>, report: Report<'_>) {
        let (server, Seen { client, now, is_proven, .. }) = (seen.server(), *seen);
        let has_browser = self.browsers.touch(&client, now).is_some();
        let Some((_, pair)) = self.pairs.touch_mut(&(client, server), now) else { return };
        if pair.is_explained || !pair.is_settled {
            return;
        }
        let mut marks = pair.marks;
        // No browser is expected on the port of another service.
        let may_be_web = marks.has(ServerMark::Port) || matches!(server.port(), 443 | 8443);
        marks.add(ServerMark::Client, has_browser && may_be_web);
        if !marks.suffice(is_public(server.ip())) {
            return;
        }
        let Pair { connections, first_seen, .. } = *pair;
        let certificate = pair.certificate.clone();
        let found = UnusualServerFinding { server, marks, certificate, connections, first_seen };
        let before = pair.reported;
        let (was_strong, was_proven) = before.unwrap_or_default();
        let now_reported = Some((was_strong || found.is_strong(), was_proven || is_proven));
        if before == now_reported {
            return;
        }
        pair.reported = now_reported;
        let is_update = before.is_some();
        let mut event = seen.event_of(FindingKind::UnusualServer(found), pair.packets.clone());
        event.kind.is_update = is_update;
        report(event);
    }
}
