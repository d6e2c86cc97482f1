//! Host profiles.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use huginn_net_core::{Event, Side, Timestamp, TunnelPath};
use huginn_net_db::{Distance, Label, SoftwareClaim, SoftwareName, TcpMatch};
use huginn_net_http::Role;
use huginn_net_tcp::{Handshake, TcpSignature, Uptime};
use huginn_net_tls::{ClientFamily, Ja4, Transport};
use serde::{Deserialize, Serialize};

use super::answers::{AlikeServers, Answers, OwnAnswer};
use super::conflict::Conflict;
use super::contacts::{Contacts, names};
use super::stored::{bytes, is_default, language, time, tunnel};
use super::update::SoftwareMatch;
use super::{
    ClockVerdict, Conclusion, HostUpdate, HttpUpdate, SeenBy, TcpUpdate, TlsUpdate, Tools, TopValues, Update,
    UpdateResult, Verdict, change,
};
use crate::addresses::is_public;
use crate::header_text::is_product_list;
use crate::limits::MAX_ALIKE_HOPS;
use crate::observation::{ChangeObservation, MtuObservation, StaticText};
use crate::scope::Scope;

/// The profile of one host: an address in its tunnel.
///
/// Counts refer to handshakes, HTTP heads and TLS hellos. Each list holds at most the eight most frequent values.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HostProfile {
    /// The address of the host.
    pub ip: IpAddr,
    /// The VLAN tags and tunnels around its packets, if any: equal addresses in two tunnels are two hosts.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "tunnel")]
    pub tunnel: Option<Box<TunnelPath>>,
    /// The name of its network, where [`JoinedHosts`](super::JoinedHosts) has several: equal local addresses in two networks are two
    /// hosts.
    // One network has one table of hosts.
    #[serde(skip)]
    pub network: Option<Arc<str>>,
    /// The sensors that saw it and their site, where [`JoinedHosts`](super::JoinedHosts) has hosts of several.
    #[serde(skip)]
    pub seen_by: Option<Box<SeenBy>>,
    /// Time of the first update.
    #[serde(with = "time")]
    pub first_seen: Timestamp,
    /// Time of the last update.
    #[serde(with = "time")]
    pub last_seen: Timestamp,
    /// Activity as a client.
    #[serde(default, skip_serializing_if = "is_default")]
    pub as_client: Activity,
    /// Activity as a server.
    #[serde(default, skip_serializing_if = "is_default")]
    pub as_server: Activity,
    /// Tools whose packets it sends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tools: Tools,
    /// Operating systems that its handshakes match.
    #[serde(default, skip_serializing_if = "is_default")]
    pub systems: TopValues<SystemSeen>,
    /// Plausible distances of the host.
    #[serde(default, skip_serializing_if = "is_default")]
    pub distances: TopValues<Distance>,
    /// Links of the host.
    #[serde(default, skip_serializing_if = "is_default")]
    pub links: TopValues<MtuObservation>,
    /// Client software that its requests match.
    #[serde(default, skip_serializing_if = "is_default")]
    pub browsers: TopValues<SoftwareSeen>,
    /// User-Agent headers of its requests.
    #[serde(default, skip_serializing_if = "is_default")]
    pub user_agents: TopValues<Claim>,
    /// Server software that its responses match.
    #[serde(default, skip_serializing_if = "is_default")]
    pub servers: TopValues<SoftwareSeen>,
    /// Server headers of its responses.
    #[serde(default, skip_serializing_if = "is_default")]
    pub server_headers: TopValues<Claim>,
    /// Fingerprints of its ClientHellos.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tls_clients: TopValues<TlsClientSeen>,
    /// Preferred languages of its requests: the English name, or the tag of a language without one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub languages: TopValues<Cow<'static, str>>,
    /// The last reading of the uptime clock; absent unless the clock is plausible.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uptime: Option<Uptime>,
    /// Number of reported changes, and the last one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub changes: Changes,
    /// Number of sharing reports, and the last one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sharings: Changes,
    /// The latest results.
    #[serde(default, skip_serializing_if = "is_default")]
    pub latest: Latest,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) peers: Contacts<IpAddr>,
    #[serde(default, skip_serializing_if = "is_default", with = "names")]
    pub(super) names: Contacts<Box<[u8]>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) conflicts: TopValues<Conflict>,
    /// The SYN+ACKs of its servers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) answers: Answers,
    /// The SYN+ACKs that it sent, if its address is public.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) own_answer: OwnAnswer,
}

/// The latest results for a host, as p0f's query API reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Latest {
    /// The system that the last handshake or head matched, at any match quality.
    #[serde(default, skip_serializing_if = "is_default")]
    pub system: Option<Arc<Label>>,
    /// Whether the match is fuzzy: the handshake differs from the signature in ways that the network may cause.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fuzzy: bool,
    /// Distance in hops, if known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub distance: Option<u8>,
    /// Mismatch of the User-Agent or Server header, if any.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mismatch: Option<Mismatch>,
    /// The software that the last request or response matched.
    #[serde(default, skip_serializing_if = "is_default")]
    pub software: Option<Arc<Label>>,
    /// The link type.
    #[serde(default, skip_serializing_if = "is_default")]
    pub link: Option<Arc<str>>,
    /// English name of the preferred language.
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "language")]
    pub language: Option<StaticText>,
}

/// A mismatch of a User-Agent or Server header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Mismatch {
    /// The header names another system than that of the host.
    System,
    /// The rest of the head does not match the software that the header names.
    Software,
}

/// Activity of a host as a client, or as a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Activity {
    /// SYNs of a client, SYN+ACKs of a server; without retransmissions.
    pub handshakes: u32,
    /// Requests of a client, responses of a server.
    pub heads: u32,
    /// Forwarded heads: those with Via or X-Forwarded-For.
    pub forwarded: u32,
    /// TLS hellos.
    pub hellos: u32,
}

/// The system match of a SYN or SYN+ACK.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SystemSeen {
    /// The label of the match; absent without a match.
    pub label: Option<Arc<Label>>,
    /// Whether the packets differ from the signature in ways that the network may cause.
    pub fuzzy: bool,
    /// The kind of segment.
    pub handshake: Handshake,
    /// The first signature without a match; absent with a match.
    pub signature: Option<Box<TcpSignature>>,
}

/// The software match of a request or response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SoftwareSeen {
    /// The label of the match.
    pub label: Arc<Label>,
    /// What its User-Agent or Server header says about the software.
    pub claim: SoftwareClaim,
    /// Whether a proxy forwarded the head; a forwarded head is not evidence for this host.
    pub forwarded: bool,
}

impl SoftwareSeen {
    /// The name and version of the software, with a remark unless the header of this kind of head agrees.
    pub fn name(&self, role: Role) -> SoftwareName<&Label> {
        self.named(&self.label, role)
    }

    /// A name of the software with the remarks of the match.
    pub fn named<T>(&self, name: T, role: Role) -> SoftwareName<T> {
        SoftwareName { name, claim: self.claim, role, generic: self.label.generic }
    }
}

/// The User-Agent or Server header of a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Claim {
    /// The first 256 bytes of the header.
    #[serde(with = "bytes")]
    pub text: Box<[u8]>,
    /// The system that the header names, and the text that names it: `iPhone` means `macOS or iOS`.
    pub system: Option<(Arc<str>, Arc<str>)>,
    /// Whether the rest of the head matches the software that the header names; absent if unknown.
    pub honest: Option<bool>,
    /// Whether a proxy forwarded the head; a forwarded head is not evidence for this host.
    pub forwarded: bool,
}

impl Claim {
    /// Whether the header has parts that no software sends, such as an attack: it is not a list of products and comments.
    pub fn is_unusual(&self) -> bool {
        !is_product_list(&self.text)
    }
}

/// A ClientHello, by its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TlsClientSeen {
    /// The JA4 fingerprint of the hello.
    pub ja4: Ja4,
    /// The transport: TLS (over TCP), QUIC or DTLS.
    pub transport: Transport,
    /// The software that the hello names, as the event of the hello shows it.
    pub software: Option<Box<str>>,
    /// The TLS library by the structure of the hello, if known.
    pub family: Option<ClientFamily>,
}

/// Number of changes or sharing reports of a host, and the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Changes {
    /// Number of reports.
    pub count: u32,
    /// The last report; `None` before the first one.
    pub latest: Option<ChangeObservation>,
    /// Time of the last report; the epoch before the first report.
    #[serde(with = "time")]
    pub(super) last: Timestamp,
}

impl HostProfile {
    pub(super) fn new(ip: IpAddr, tunnel: Option<Box<TunnelPath>>, now: Timestamp) -> Self {
        Self {
            ip,
            tunnel,
            network: None,
            seen_by: None,
            first_seen: now,
            last_seen: now,
            as_client: Activity::default(),
            as_server: Activity::default(),
            tools: Tools::default(),
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
            changes: Changes::default(),
            sharings: Changes::default(),
            latest: Latest::default(),
            peers: Contacts::default(),
            names: Contacts::default(),
            conflicts: TopValues::default(),
            answers: Answers::default(),
            own_answer: OwnAnswer::default(),
        }
    }

    /// The most likely operating system, with the evidence for and against it.
    pub fn verdict(&self) -> Verdict {
        Verdict::from_profile(self)
    }

    /// Addresses of its peers with the number of connections in which the host sent what a profile counts: a handshake, an
    /// HTTP head or a TLS hello.
    pub fn peers(&self) -> &Contacts<IpAddr> {
        &self.peers
    }

    /// Names that the host asked for as a client, or was asked for as a server: server_name of ClientHellos and Host of
    /// requests, in lower case and without port.
    ///
    /// A server has a name only if it sent something before the client asked: with QUIC, in an earlier connection.
    pub fn names(&self) -> &Contacts<Box<[u8]>> {
        &self.names
    }

    /// Whether all of its packets show at most three hops, and none is of a tool.
    pub(super) fn is_near(&self) -> bool {
        let mut distances = self.distances.by_count().peekable();
        self.tools.is_empty()
            && distances.peek().is_some()
            && distances.all(|seen| seen.value.hops <= MAX_ALIKE_HOPS)
    }

    /// The servers of the host whose connections one device ends, if there is such a device.
    pub fn one_device(&self) -> Option<&AlikeServers> {
        self.answers.one_device()
    }

    /// Total count of the values that the lists evicted.
    pub fn left_out(&self) -> u32 {
        [
            self.tools.left_out(),
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

    /// Heap memory of the profile, in bytes.
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
            self.seen_by
                .as_ref()
                .map_or(0, |seen_by| seen_by.heap_bytes().saturating_add(size_of::<SeenBy>())),
            self.tools.heap_bytes(),
            self.systems.heap_bytes(signature),
            self.distances.heap_bytes(|_| 0),
            self.links.heap_bytes(|_| 0),
            self.browsers.heap_bytes(|_| 0),
            self.user_agents.heap_bytes(text),
            self.servers.heap_bytes(|_| 0),
            self.server_headers.heap_bytes(text),
            self.tls_clients.heap_bytes(|seen| seen.software.as_ref().map_or(0, |name| name.len())),
            self.languages.heap_bytes(language),
            self.peers.heap_bytes(|_| 0),
            self.names.heap_bytes(|name| name.len()),
            self.conflicts.heap_bytes(Conflict::heap_bytes),
            self.answers.heap_bytes(),
            self.own_answer.heap_bytes(),
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
        if update.kind.is_first {
            let peer = update.subject.choose(update.flow.server, update.flow.client).ip();
            self.peers.count(update.subject, |seen| *seen == peer, || peer);
        }
        if let Some(name) = update.kind.name() {
            self.on_name(name, update.subject);
        }
        match &update.kind.update {
            Update::Tcp(tcp) => self.on_handshake(tcp, update.subject),
            Update::Mtu(observation) => self.on_mtu(observation),
            Update::Http(head) => {
                self.on_head(head);
                self.latest.on_head(head, system, scope);
            }
            Update::TlsClient(hello) => self.on_hello(hello),
            Update::TlsServer => self.as_server.hellos = self.as_server.hellos.saturating_add(1),
            Update::Clock(_)
            | Update::Timestamp(..)
            | Update::Request(_)
            | Update::Server(_)
            | Update::Observed(_)
            | Update::Progress(_) => {}
        }
    }

    pub(super) fn on_learned(&mut self, result: &UpdateResult, now: Timestamp) {
        for conclusion in result.conclusions.iter().flatten() {
            match conclusion {
                Conclusion::Changed(found) => self.changes.add(found, now),
                Conclusion::Shared(found) => self.sharings.add(found, now),
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
        let fuzzy = matched.as_ref().is_some_and(TcpMatch::is_fuzzy);
        let handshake = signature.handshake;
        if handshake == Handshake::SynAck && is_public(self.ip) {
            self.own_answer.add(signature);
        }
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
            if distance.is_plausible() {
                self.distances.count(|seen| *seen == distance, || distance);
            }
            self.latest.on_handshake(matched.as_ref(), distance);
        }
    }

    /// Counts a name that the host asked for, or was asked for.
    pub(super) fn on_name(&mut self, name: &[u8], role: Side) {
        self.names.count(role, |seen| **seen == *name, || name.into());
    }

    fn on_mtu(&mut self, observation: &MtuObservation) {
        self.links.count(|seen| seen == observation, || observation.clone());
        if observation.link.is_some() {
            self.latest.link.clone_from(&observation.link);
        }
    }

    fn on_head(&mut self, update: &HttpUpdate) {
        let HttpUpdate { role, forwarded, software: text, matched, language, is_imitation, .. } = update;
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
            let SoftwareMatch { label, claim } = found;
            software.count(
                |seen| seen.label == *label && (seen.claim, seen.forwarded) == (*claim, forwarded),
                || SoftwareSeen { label: Arc::clone(label), claim: *claim, forwarded },
            );
        }
        let honest = match matched.as_ref().map(|found| found.claim) {
            _ if *is_imitation => Some(false),
            Some(SoftwareClaim::Agrees) => Some(true),
            Some(SoftwareClaim::Dishonest) => Some(false),
            Some(SoftwareClaim::Custom) | None => None,
        };
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
        let TlsUpdate { ja4, transport, family, software, .. } = update;
        self.tls_clients.count(
            |seen| seen.ja4 == *ja4,
            || TlsClientSeen {
                ja4: *ja4,
                transport: *transport,
                software: software.clone(),
                family: *family,
            },
        );
        self.count_conflicts(Conflict::from_hello(update));
    }

    fn count_conflicts(&mut self, conflicts: impl IntoIterator<Item = Conflict>) {
        for conflict in conflicts {
            self.conflicts.count(|seen| *seen == conflict, || conflict.clone());
        }
    }
}

/// The system that a head names, and the text that names it.
fn named(update: &HttpUpdate) -> Option<(Arc<str>, Arc<str>)> {
    update.claimed().map(|(system, text)| (Arc::clone(system), Arc::clone(text)))
}

impl Latest {
    fn on_handshake(&mut self, matched: Option<&TcpMatch>, distance: Distance) {
        if let Some(found) = matched {
            (self.system, self.fuzzy) = (Some(Arc::clone(&found.label)), found.is_fuzzy());
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
            self.mismatch = if found.claim == SoftwareClaim::Dishonest {
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

impl Changes {
    /// Time of the last report.
    pub fn last(&self) -> Option<Timestamp> {
        (self.count > 0).then_some(self.last)
    }

    fn add(&mut self, found: &ChangeObservation, now: Timestamp) {
        self.count = self.count.saturating_add(1);
        self.latest = Some(found.clone());
        self.last = now;
    }
}
