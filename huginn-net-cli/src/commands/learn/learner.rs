//! Collects fingerprints without a name, or of named programs, and what is known about their senders.

use std::collections::HashMap;
use std::collections::HashSet;
use std::collections::hash_map::Entry as MapEntry;
use std::path::Path;

use huginn_net::core::FrameProcess;
use huginn_net::db::{ClientMatch, MatchKind};
use huginn_net::hosts::HostId;
use huginn_net::http::HttpVersion;
use huginn_net::observation::{
    HttpRequestObservation, HttpResponseObservation, SshClientObservation, TcpObservation,
    TlsClientObservation,
};
use huginn_net::tcp::{Handshake, MAX_DISTANCE, TcpSignature, distance, initial_ttl};
use huginn_net::{Event, Frame, Observation};

use super::clues::{Clue, Clues, TextId, Texts};
use super::groups::{Entry, FlowEnds, FrameIndex, Group, Groups, Host, Kind, LeftOut};
use super::http_shape::HttpShape;
use super::programs::{Program, Programs};
use crate::failure::Failure;
use crate::limits::{MAX_GROUP_HOSTS, MAX_LEARNED_GROUPS, MAX_LEARNED_HOSTS, MAX_TEXTS_PER_GROUP};
use crate::plan::ProgramList;

/// Maximum length of the text that identifies a group, and of a field of its row, in bytes. Longer fingerprints are left
/// out, longer fields are empty.
const MAX_GROUP_TEXT_BYTES: usize = 4096;

/// Maximum number of texts of one kind for each host. At the limit the rarest one is replaced.
const MAX_TEXTS_PER_HOST: usize = 4;

/// Collects groups from events.
pub(super) struct Learner {
    groups: HashMap<(Kind, Option<Program>, String), Group>,
    programs: Programs,
    /// Why a capture cannot be learned from.
    pub(super) failure: Option<Failure>,
    /// Number of groups of each kind.
    group_counts: HashMap<Kind, usize>,
    /// Hosts of the current file.
    host_ids: HashMap<HostId, u32>,
    hosts: Vec<Host>,
    /// Number of hosts of all groups.
    group_hosts: usize,
    texts: Texts,
    left_out: LeftOut,
}

/// The context of an event.
struct Sighting<'a> {
    event: &'a Event,
    at: FrameIndex,
    /// `None` beyond the limit of hosts.
    host: Option<u32>,
    program: Option<Program>,
}

impl Learner {
    /// Takes programs from these lists, beside what captures say.
    pub(super) fn new(lists: Vec<ProgramList>) -> Self {
        Self {
            groups: HashMap::new(),
            programs: Programs::new(lists),
            failure: None,
            group_counts: HashMap::new(),
            host_ids: HashMap::new(),
            hosts: Vec::new(),
            group_hosts: 0,
            texts: Texts::default(),
            left_out: LeftOut::default(),
        }
    }

    /// Starts another file.
    pub(super) fn start_file(&mut self, capture: &Path) -> Result<(), Failure> {
        self.host_ids.clear();
        self.programs.start_file(capture)
    }

    /// Takes the process of a frame, before the events of the frame.
    pub(super) fn name_sender(&mut self, frame: &Frame<'_>, process: FrameProcess<'_>) {
        self.programs.learn(frame, process, &mut self.texts);
    }

    /// Takes what an event tells about its sender. The event comes from the frame `at`.
    pub(super) fn learn(&mut self, event: &Event, at: FrameIndex) {
        match &event.kind {
            Observation::Tcp(observation) => {
                let seen = self.observe(event, at);
                self.learn_tcp(&seen, observation);
            }
            Observation::HttpRequest(observation) => {
                let seen = self.observe(event, at);
                self.learn_request(&seen, observation);
            }
            Observation::HttpResponse(observation) => {
                let seen = self.observe(event, at);
                self.learn_response(&seen, observation);
            }
            Observation::TlsClient(observation) => {
                let seen = self.observe(event, at);
                self.learn_tls(&seen, observation);
            }
            Observation::SshClient(observation) => {
                let seen = self.observe(event, at);
                self.learn_ssh(&seen, observation);
            }
            Observation::SshServer(observation) => {
                let seen = self.observe(event, at);
                let banner = self.texts.intern(observation.peer.identification.as_bytes());
                self.note(&seen, Clue::SshBanner, banner);
            }
            _ => {}
        }
    }

    /// The groups, most frequent first.
    pub(super) fn into_groups(self) -> Groups {
        let Self { groups, hosts, texts, mut left_out, programs, .. } = self;
        left_out.without_direction = programs.without_direction;
        left_out.programs = programs.left_out;
        Groups::new(groups.into_values().collect(), hosts, texts, left_out)
    }
}

impl Learner {
    fn observe<'a>(&mut self, event: &'a Event, at: FrameIndex) -> Sighting<'a> {
        let id = HostId::of(event);
        let host = match self.host_ids.entry(id) {
            MapEntry::Occupied(index) => Some(*index.get()),
            MapEntry::Vacant(slot) if self.hosts.len() < MAX_LEARNED_HOSTS => {
                let index = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
                self.hosts.push(Host { id, clues: Clues::default() });
                Some(*slot.insert(index))
            }
            MapEntry::Vacant(_) => {
                self.left_out.hosts = self.left_out.hosts.saturating_add(1);
                None
            }
        };
        let program = self.programs.of(event, &mut self.texts);
        Sighting { event, at, host, program }
    }

    /// Remembers a text of the sender.
    fn note(&mut self, seen: &Sighting<'_>, clue: Clue, text: Option<TextId>) {
        let host = seen.host.and_then(|id| self.hosts.get_mut(usize::try_from(id).ok()?));
        if let (Some(host), Some(text)) = (host, text) {
            host.clues.add(clue, text, MAX_TEXTS_PER_HOST);
        }
    }

    /// Remembers a text of the sender, and returns it for its group.
    fn note_text(&mut self, seen: &Sighting<'_>, clue: Clue, text: Option<&[u8]>) -> Option<(Clue, TextId)> {
        let text = self.texts.intern(text?);
        self.note(seen, clue, text);
        Some((clue, text?))
    }

    fn learn_tcp(&mut self, seen: &Sighting<'_>, observation: &TcpObservation) {
        if observation.sendsyn {
            return;
        }
        if let Some(label) = observation.label() {
            self.note_text(seen, Clue::TcpLabel, Some(label.to_string().as_bytes()));
            return;
        }
        let signature = &observation.signature;
        let kind = match signature.handshake {
            Handshake::Syn => Kind::Syn,
            Handshake::SynAck => Kind::SynAck,
        };
        let mss = self.texts.intern(signature.mss.to_string().as_bytes()).map(|text| (Clue::Mss, text));
        let ttl = self.texts.intern(signature.ttl.to_string().as_bytes()).map(|text| (Clue::Ttl, text));
        let text = tcp_pattern(signature);
        // A SYN is that of the system, whatever the program.
        let program = seen.program.map(|program| (Clue::Program, program.name));
        let seen = Sighting { program: None, ..*seen };
        self.add(&seen, kind, text.clone(), [program, mss, ttl], || Entry::Tcp(text));
    }

    fn learn_request(&mut self, seen: &Sighting<'_>, observation: &HttpRequestObservation) {
        let user_agent = self.note_text(seen, Clue::UserAgent, observation.request.user_agent());
        let name = match (&observation.software, observation.verdict.name()) {
            (Some(found), _) => Some(found.software.to_string()),
            (None, name) => name.map(|name| name.to_string()),
        };
        let label = self.note_text(seen, Clue::HttpLabel, name.as_deref().map(str::as_bytes));
        if name.is_some() && seen.program.is_none() {
            return;
        }
        let own = [user_agent, label];
        if observation.request.version() < HttpVersion::Http2 {
            return self.add_http(
                seen,
                Kind::HttpRequest,
                HttpShape::new(&observation.verdict.signature),
                own,
            );
        }
        let Some(akamai) = &observation.akamai else { return };
        let hash = akamai.hash().to_string();
        let row = || Entry::Row(vec![("akamai_hash", hash.clone()), ("akamai", field(akamai.to_string()))]);
        self.add(seen, Kind::Http2, hash.clone(), own, row);
    }

    fn learn_response(&mut self, seen: &Sighting<'_>, observation: &HttpResponseObservation) {
        let server = self.note_text(seen, Clue::Server, observation.response.server());
        let label = observation.verdict.name().map(|name| name.to_string());
        let own = [server, self.note_text(seen, Clue::HttpLabel, label.as_deref().map(str::as_bytes))];
        let is_wanted = label.is_none() || seen.program.is_some();
        if is_wanted && observation.response.version() < HttpVersion::Http2 {
            self.add_http(seen, Kind::HttpResponse, HttpShape::new(&observation.verdict.signature), own);
        }
    }

    fn learn_tls(&mut self, seen: &Sighting<'_>, observation: &TlsClientObservation) {
        let hello = &observation.client.hello;
        let server_name = self.note_text(seen, Clue::ServerName, hello.server_name());
        let found = observation.software();
        let software = found.as_ref().map(name_of_client).unwrap_or_default();
        let software = self.note_text(seen, Clue::TlsSoftware, Some(software.as_bytes()));
        // A second hello differs by what the server asked for. The first one is the fingerprint.
        let is_named = found.as_ref().is_some_and(|found| found.kind != MatchKind::Structural);
        if observation.client.retry || is_named && seen.program.is_none() {
            return;
        }
        let library = found.and_then(|found| found.software.library.clone());
        let key = hello.ja4_stable().to_string();
        let row = || {
            Entry::Row(vec![
                ("ja4_stable", key.clone()),
                ("ja4", hello.ja4().to_string()),
                ("ja3_hash", hello.ja3_hash().to_string()),
                ("library", library.map_or_else(String::new, |library| field(library.to_string()))),
                ("ja4_stable_r", field(hello.ja4_stable_r().to_string())),
            ])
        };
        self.add(seen, Kind::Tls, key.clone(), [server_name, software], row);
    }

    fn learn_ssh(&mut self, seen: &Sighting<'_>, observation: &SshClientObservation) {
        let banner = self.note_text(seen, Clue::SshBanner, Some(observation.peer.identification.as_bytes()));
        let software = observation.software().map(|found| found.software.to_string());
        let label = self.note_text(seen, Clue::SshSoftware, software.as_deref().map(str::as_bytes));
        if software.is_some() && seen.program.is_none() {
            return;
        }
        let Some(hash) = observation.peer.hassh().map(|hash| hash.to_string()) else { return };
        self.add(seen, Kind::Ssh, hash.clone(), [banner, label], || {
            Entry::Row(vec![("hassh", hash.clone())])
        });
    }

    fn add_http(
        &mut self,
        seen: &Sighting<'_>,
        kind: Kind,
        shape: HttpShape,
        own: [Option<(Clue, TextId)>; 2],
    ) {
        let key = shape.key();
        match self.groups.get_mut(&(kind, seen.program, key.clone())).map(|group| &mut group.entry) {
            Some(Entry::Http(known)) => {
                known.merge(&shape);
                self.add(seen, kind, key, own, || Entry::Http(shape));
            }
            _ => self.add(seen, kind, key, own, || Entry::Http(shape)),
        }
    }

    /// Counts an observation of a fingerprint.
    fn add(
        &mut self,
        seen: &Sighting<'_>,
        kind: Kind,
        key: String,
        own: impl IntoIterator<Item = Option<(Clue, TextId)>>,
        entry: impl FnOnce() -> Entry,
    ) {
        if key.len() > MAX_GROUP_TEXT_BYTES {
            self.left_out.long = self.left_out.long.saturating_add(1);
            return;
        }
        let of_kind = self.group_counts.entry(kind).or_default();
        let group = match self.groups.entry((kind, seen.program, key)) {
            MapEntry::Occupied(group) => group.into_mut(),
            MapEntry::Vacant(_) if *of_kind >= MAX_LEARNED_GROUPS => {
                self.left_out.groups = self.left_out.groups.saturating_add(1);
                return;
            }
            MapEntry::Vacant(slot) => {
                *of_kind = of_kind.saturating_add(1);
                slot.insert(Group {
                    kind,
                    program: seen.program,
                    entry: entry(),
                    count: 0,
                    hosts: HashSet::new(),
                    own: Clues::default(),
                    first_at: seen.at,
                    first_time: seen.event.ts,
                    flow: FlowEnds::new(&seen.event.flow),
                    sample: None,
                })
            }
        };
        group.count = group.count.saturating_add(1);
        for (clue, text) in own.into_iter().flatten() {
            group.own.add(clue, text, MAX_TEXTS_PER_GROUP);
        }
        let Some(host) = seen.host.filter(|host| !group.hosts.contains(host)) else { return };
        if self.group_hosts < MAX_GROUP_HOSTS {
            self.group_hosts = self.group_hosts.saturating_add(1);
            group.hosts.insert(host);
        } else {
            self.left_out.hosts = self.left_out.hosts.saturating_add(1);
        }
    }
}

/// The signature that a database needs to match this one: with the initial TTL, and with any MSS.
fn tcp_pattern(signature: &TcpSignature) -> String {
    let observed = signature.to_string();
    let mut fields: Vec<&str> = observed.split(':').collect();
    // A sender that is implausibly far away sets a random TTL.
    let random = if distance(signature.ttl) > MAX_DISTANCE { "-" } else { "" };
    let ttl = format!("{}{random}", initial_ttl(signature.ttl));
    if let [_, found_ttl, _, mss, ..] = fields.as_mut_slice() {
        *found_ttl = &ttl;
        *mss = "*";
    }
    fields.join(":")
}

/// The name of a TLS client. A structural match is marked, with the most similar client, and a variant.
fn name_of_client(found: &ClientMatch) -> String {
    let software = &found.software;
    match (&found.nearest, found.kind, found.variant) {
        (Some(nearest), ..) => format!("{software} (structural, nearest: {})", nearest.software),
        (None, MatchKind::Structural, _) => format!("{software} (structural)"),
        (None, MatchKind::Variant, Some(variant)) => format!("{software} ({variant})"),
        (None, ..) => software.to_string(),
    }
}

/// A field of a row; empty if it is too long.
fn field(text: String) -> String {
    if text.len() > MAX_GROUP_TEXT_BYTES { String::new() } else { text }
}
