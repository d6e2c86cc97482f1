//! What was learned of one host, for who asks.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use huginn_net_core::{Event, Side, Timestamp, TunnelPath};
use huginn_net_db::{Distance, Label, TcpMatch};
use huginn_net_http::Role;
use huginn_net_tcp::{Clock, Handshake, Mtu, TcpSignature};
use huginn_net_tls::{ClientFamily, Ja4, Transport};

use super::conflict::Conflict;
use super::scores::Conclusion;
use super::{
    ClockVerdict, HostUpdate, HttpUpdate, Reasons, TcpUpdate, TlsUpdate, TopValues, Update, UpdateResult,
    Verdict, change,
};
use crate::Scope;
use crate::finding::MtuFinding;

/// What was learned of one host: an address in its tunnel.
///
/// Counts are of what tells something: handshakes, heads, hellos. Each list holds the eight values seen most often.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostProfile {
    /// Its address.
    pub ip: IpAddr,
    /// The tags and tunnels around its packets, if any: equal addresses in two tunnels are two hosts.
    pub tunnel: Option<Box<TunnelPath>>,
    /// When something was first learned of it.
    pub first_seen: Timestamp,
    /// When something was last learned of it.
    pub last_seen: Timestamp,
    /// What it did as a client.
    pub as_client: Activity,
    /// What it did as a server.
    pub as_server: Activity,
    /// What its handshakes were found to be.
    pub systems: TopValues<SystemSeen>,
    /// How far away it was found to be.
    pub distances: TopValues<Distance>,
    /// Over which links.
    pub links: TopValues<LinkSeen>,
    /// What its requests were found to be.
    pub browsers: TopValues<SoftwareSeen>,
    /// What its requests say that they come from.
    pub user_agents: TopValues<Claim>,
    /// What its responses were found to be.
    pub servers: TopValues<SoftwareSeen>,
    /// What its responses say that they come from.
    pub server_headers: TopValues<Claim>,
    /// What its ClientHellos are.
    pub tls_clients: TopValues<TlsClientSeen>,
    /// Which languages its requests like best: the English name where there is one, else the tag.
    pub languages: TopValues<Cow<'static, str>>,
    /// The clock that tells for how long it has been up, when it was last read; absent unless it is believed.
    pub uptime: Option<Clock>,
    /// How often it was found to have changed, and why.
    pub changes: Findings,
    /// How often its address was found to be shared, and why.
    pub sharings: Findings,
    /// What was found of it last.
    pub latest: Latest,
    pub(super) conflicts: TopValues<Conflict>,
}

/// What was found of a host last: what p0f's query tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latest {
    /// The system that a handshake or a head was found to be, whatever the quality of the match.
    pub system: Option<Arc<Label>>,
    /// Whether the handshake that told the system differs from the signature in ways that the network may cause.
    pub fuzzy: bool,
    /// How many hops away it is, as far as that can be told.
    pub distance: Option<u8>,
    /// What is wrong with what its software calls itself.
    pub mismatch: Option<Mismatch>,
    /// The software that a request or response was found to be.
    pub software: Option<Arc<Label>>,
    /// The kind of its link.
    pub link: Option<Arc<str>>,
    /// The English name of the language that a request likes best.
    pub language: Option<&'static str>,
}

/// What is wrong with a User-Agent or Server header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mismatch {
    /// It names another system than that of the host.
    System,
    /// The rest of the head is not that of such software.
    Software,
}

/// What a host did as the client, or as the server, of its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// SYNs of a client, SYN+ACKs of a server; without what is sent again.
    pub handshakes: u32,
    /// Requests of a client, responses of a server.
    pub heads: u32,
    /// Those of them that say that they came by way of another (Via, X-Forwarded-For).
    pub forwarded: u32,
    /// TLS hellos.
    pub hellos: u32,
}

/// What a SYN or SYN+ACK was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SystemSeen {
    /// What the database says; absent if it does not know.
    pub label: Option<Arc<Label>>,
    /// Whether the packets differ from the signature in ways that the network may cause.
    pub fuzzy: bool,
    /// In which segment.
    pub handshake: Handshake,
    /// The first signature of it, where the database does not know it.
    pub signature: Option<Box<TcpSignature>>,
}

/// A link, as far as the size of its packets tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkSeen {
    /// Bytes of the largest IP packet.
    pub mtu: Mtu,
    /// The kind of link that has this MTU, if known.
    pub link: Option<Arc<str>>,
}

/// What a request or response was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SoftwareSeen {
    /// What the database says.
    pub label: Arc<Label>,
    /// Whether it calls itself otherwise.
    pub dishonest: bool,
    /// Whether it came by way of another, so that it says nothing of this host.
    pub forwarded: bool,
}

/// What a head says that it comes from: its User-Agent or Server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// The header; its first 256 bytes.
    pub text: Box<[u8]>,
    /// The system that it names, and by what text: `iPhone` stands for `macOS or iOS`.
    pub system: Option<(Arc<str>, Arc<str>)>,
    /// Whether the rest of the head is that of such software; absent if that is not known.
    pub honest: Option<bool>,
    /// Whether it came by way of another, so that it says nothing of this host.
    pub forwarded: bool,
}

/// A ClientHello, by its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsClientSeen {
    /// Its fingerprint.
    pub ja4: Ja4,
    /// What it came over.
    pub transport: Transport,
    /// Whose it is by its structure, if that can be told.
    pub family: Option<ClientFamily>,
}

/// How often something was found of a host, and all that spoke for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// How often.
    pub count: u32,
    /// All reasons, of all times.
    pub reasons: Reasons,
    /// The epoch before it was found.
    pub(super) last: Timestamp,
}

impl HostProfile {
    pub(super) fn new(ip: IpAddr, tunnel: Option<Box<TunnelPath>>, now: Timestamp) -> Self {
        Self {
            ip,
            tunnel,
            first_seen: now,
            last_seen: now,
            as_client: Activity::default(),
            as_server: Activity::default(),
            systems: TopValues::default(),
            distances: TopValues::default(),
            links: TopValues::default(),
            browsers: TopValues::default(),
            user_agents: TopValues::default(),
            servers: TopValues::default(),
            server_headers: TopValues::default(),
            tls_clients: TopValues::default(),
            languages: TopValues::default(),
            uptime: None,
            changes: Findings::default(),
            sharings: Findings::default(),
            latest: Latest::default(),
            conflicts: TopValues::default(),
        }
    }

    /// What it most likely is, and what speaks for and against.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self)
    }

    /// How often something was seen that its lists have no place for.
    pub fn left_out(&self) -> u32 {
        [
            self.systems.left_out(),
            self.distances.left_out(),
            self.links.left_out(),
            self.browsers.left_out(),
            self.user_agents.left_out(),
            self.servers.left_out(),
            self.server_headers.left_out(),
            self.tls_clients.left_out(),
            self.languages.left_out(),
            self.conflicts.left_out(),
        ]
        .iter()
        .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Memory that it takes up, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        let text = |claim: &Claim| claim.text.len();
        let signature = |seen: &SystemSeen| seen.signature.as_ref().map_or(0, |_| size_of::<TcpSignature>());
        let language = |language: &Cow<'_, str>| match language {
            Cow::Borrowed(_) => 0,
            Cow::Owned(tag) => tag.capacity(),
        };
        [
            size_of::<Self>(),
            self.tunnel.as_ref().map_or(0, |_| size_of::<TunnelPath>()),
            self.systems.heap_bytes(signature),
            self.distances.heap_bytes(|_| 0),
            self.links.heap_bytes(|_| 0),
            self.browsers.heap_bytes(|_| 0),
            self.user_agents.heap_bytes(text),
            self.servers.heap_bytes(|_| 0),
            self.server_headers.heap_bytes(text),
            self.tls_clients.heap_bytes(|_| 0),
            self.languages.heap_bytes(language),
            self.conflicts.heap_bytes(Conflict::heap_bytes),
        ]
        .iter()
        .fold(0, |sum, part| sum.saturating_add(*part))
    }

    /// Applies an update; `system` is the system of the host before it.
    pub(super) fn on_update(&mut self, update: &Event<HostUpdate>, system: Option<&Label>, scope: Scope) {
        if update.ts.as_nanos() < self.first_seen.as_nanos() {
            self.first_seen = update.ts;
        }
        if update.ts.as_nanos() > self.last_seen.as_nanos() {
            self.last_seen = update.ts;
        }
        match &update.kind.0 {
            Update::Tcp(tcp) => self.on_handshake(tcp, update.subject),
            Update::Mtu(finding) => self.on_mtu(finding),
            Update::Http(head) => {
                self.on_head(head);
                self.latest.on_head(head, system, scope);
            }
            Update::TlsClient(hello) => self.on_hello(hello),
            Update::TlsServer => self.as_server.hellos = self.as_server.hellos.saturating_add(1),
            Update::Clock(_) | Update::Timestamp(..) => {}
        }
    }

    pub(super) fn on_learned(&mut self, result: &UpdateResult, now: Timestamp) {
        for conclusion in result.conclusions.iter().flatten() {
            match conclusion {
                Conclusion::Changed(reasons, _) => self.changes.add(*reasons, now),
                Conclusion::Shared(reasons, _) => self.sharings.add(*reasons, now),
            }
        }
        match result.doubt {
            Some(ClockVerdict::Contradiction | ClockVerdict::Random) => self.uptime = None,
            _ => self.uptime = result.uptime.or(self.uptime),
        }
    }

    fn activity(&mut self, side: Side) -> &mut Activity {
        side.choose(&mut self.as_client, &mut self.as_server)
    }

    fn on_handshake(&mut self, update: &TcpUpdate, side: Side) {
        let activity = self.activity(side);
        activity.handshakes = activity.handshakes.saturating_add(1);
        let TcpUpdate { signature, matched, .. } = update;
        let label = matched.as_ref().map(|found| &found.label);
        let fuzzy = matched.as_ref().is_some_and(|found| found.fuzzy);
        let handshake = signature.handshake;
        self.systems.count(
            |seen| (seen.label.as_ref(), seen.fuzzy, seen.handshake) == (label, fuzzy, handshake),
            || SystemSeen {
                label: label.cloned(),
                fuzzy,
                handshake,
                signature: label.is_none().then(|| Box::new(*signature)),
            },
        );
        // A tool that makes its own packets chooses their TTL, too.
        if !label.is_some_and(|label| label.is_tool()) {
            let distance =
                matched.as_ref().map_or_else(|| Distance::guess(signature), |found| found.distance);
            self.distances.count(|seen| *seen == distance, || distance);
            self.latest.on_handshake(matched.as_ref(), distance);
        }
    }

    fn on_mtu(&mut self, MtuFinding { mtu, link }: &MtuFinding) {
        self.links.count(
            |seen| seen.mtu == *mtu && seen.link == *link,
            || LinkSeen { mtu: *mtu, link: link.clone() },
        );
        if link.is_some() {
            self.latest.link.clone_from(link);
        }
    }

    fn on_head(&mut self, update: &HttpUpdate) {
        let HttpUpdate { role, forwarded, software: text, matched, language, .. } = update;
        let (role, forwarded) = (*role, *forwarded);
        let activity = match role {
            Role::Request => &mut self.as_client,
            Role::Response => &mut self.as_server,
        };
        activity.heads = activity.heads.saturating_add(1);
        activity.forwarded = activity.forwarded.saturating_add(u32::from(forwarded));
        let (software, claims) = match role {
            Role::Request => (&mut self.browsers, &mut self.user_agents),
            Role::Response => (&mut self.servers, &mut self.server_headers),
        };
        if let Some(found) = matched {
            let (label, dishonest) = (&found.label, found.dishonest);
            software.count(
                |seen| seen.label == *label && (seen.dishonest, seen.forwarded) == (dishonest, forwarded),
                || SoftwareSeen { label: Arc::clone(label), dishonest, forwarded },
            );
        }
        let honest = matched.as_ref().map(|found| !found.dishonest);
        if let Some(text) = text {
            claims.count(
                |seen| seen.text == *text && (seen.honest, seen.forwarded) == (honest, forwarded),
                || Claim { text: text.clone(), system: named(update), honest, forwarded },
            );
        }
        if let Some(language) = language {
            self.languages.count(|seen| seen == language, || language.clone());
        }
        if !forwarded {
            self.count_conflicts(Conflict::from_head(update));
        }
    }

    fn on_hello(&mut self, update: &TlsUpdate) {
        self.as_client.hellos = self.as_client.hellos.saturating_add(1);
        let TlsUpdate { ja4, transport, family, .. } = update;
        self.tls_clients.count(
            |seen| seen.ja4 == *ja4,
            || TlsClientSeen { ja4: *ja4, transport: *transport, family: *family },
        );
        self.count_conflicts(Conflict::from_hello(update));
    }

    fn count_conflicts(&mut self, conflicts: impl IntoIterator<Item = Conflict>) {
        for conflict in conflicts {
            self.conflicts.count(|seen| *seen == conflict, || conflict.clone());
        }
    }
}

/// The system that a head names, and by what text.
fn named(update: &HttpUpdate) -> Option<(Arc<str>, Arc<str>)> {
    update.claimed().map(|(system, text)| (Arc::clone(system), Arc::clone(text)))
}

impl Latest {
    fn on_handshake(&mut self, matched: Option<&TcpMatch>, distance: Distance) {
        if let Some(found) = matched {
            (self.system, self.fuzzy) = (Some(Arc::clone(&found.label)), found.fuzzy);
        }
        if !distance.at_most {
            self.distance = Some(distance.hops);
        }
    }

    fn on_head(&mut self, update: &HttpUpdate, system: Option<&Label>, scope: Scope) {
        if let Some(Cow::Borrowed(name)) = update.language {
            self.language = Some(name);
        }
        let Some(found) = &update.matched else { return };
        let label = Some(Arc::clone(&found.label));
        if !found.label.is_tool() {
            (self.system, self.fuzzy) = (label, false);
        } else {
            self.software = label;
            self.mismatch = if found.dishonest {
                Some(Mismatch::Software)
            } else {
                match change::is_other_claimed(update, system, scope) {
                    None => self.mismatch,
                    Some(false) => None,
                    Some(true) => self.mismatch.max(Some(Mismatch::System)),
                }
            };
        }
    }
}

impl Findings {
    /// When it was last found.
    pub fn last(&self) -> Option<Timestamp> {
        (self.count > 0).then_some(self.last)
    }

    fn add(&mut self, reasons: Reasons, now: Timestamp) {
        self.count = self.count.saturating_add(1);
        self.reasons = self.reasons.with(reasons);
        self.last = now;
    }
}
