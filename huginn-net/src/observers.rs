//! All protocols over one flow.

use std::borrow::Cow;
use std::sync::Arc;

use huginn_net_core::{Interest, Protocol, Route, Segment, Side, TcpFlags, tally};
use huginn_net_db::{Database, Label};
use huginn_net_http::{
    HttpCounters, HttpEvent, HttpFlow, HttpObserver, HttpRequest, HttpResponse, HttpSignature, Role,
};
use huginn_net_ssh::{SshCounters, SshEvent, SshFlow, SshObserver};
use huginn_net_tcp::{Handshake, TcpEvent, TcpFlow, TcpObserver};
use huginn_net_tls::{TlsCounters, TlsEvent, TlsFlow, TlsObserver};

use crate::hosts::{self, HostNote, HttpNote, Note, TcpNote, TlsNote};
use crate::p0f_flow::P0fFlow;
use crate::{
    Finding, HostLimits, Hosts, HttpRequestFinding, HttpResponseFinding, HttpVerdict, MtuFinding, TcpFinding,
};

/// The protocols to run and the database to look up what they see.
///
/// The default runs every protocol with the built-in database.
#[derive(Clone, Debug)]
pub struct Observers {
    tcp: Option<TcpObserver>,
    http: Option<HttpObserver>,
    tls: Option<TlsObserver>,
    ssh: Option<SshObserver>,
    database: Arc<Database>,
    scope: Scope,
    hosts: HostLimits,
    profiles: bool,
}

/// How much is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All that is seen.
    #[default]
    Full,
    /// No more of a flow than p0f 3.09b reports: the first packet of a user-space tool ends it.
    P0f,
}

impl Observers {
    /// Every protocol, with this database.
    pub fn new(database: Arc<Database>) -> Self {
        Self {
            tcp: Some(TcpObserver),
            http: Some(HttpObserver::default()),
            tls: Some(TlsObserver::default()),
            ssh: Some(SshObserver::default()),
            database,
            scope: Scope::default(),
            hosts: HostLimits::default(),
            profiles: false,
        }
    }

    /// Runs TCP fingerprints, or leaves them out.
    #[must_use]
    pub fn tcp(self, run: bool) -> Self {
        Self { tcp: run.then(TcpObserver::default), ..self }
    }

    /// Runs HTTP fingerprints, or leaves them out.
    #[must_use]
    pub fn http(self, run: bool) -> Self {
        Self { http: run.then(HttpObserver::default), ..self }
    }

    /// Runs TLS fingerprints, or leaves them out.
    #[must_use]
    pub fn tls(self, run: bool) -> Self {
        Self { tls: run.then(TlsObserver::default), ..self }
    }

    /// Runs SSH fingerprints, or leaves them out.
    #[must_use]
    pub fn ssh(self, run: bool) -> Self {
        Self { ssh: run.then(SshObserver::default), ..self }
    }

    /// Reports this much.
    #[must_use]
    pub fn scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Sets the caps of what is remembered of hosts.
    #[must_use]
    pub fn hosts(self, limits: HostLimits) -> Self {
        Self { hosts: limits, ..self }
    }

    /// Remembers a [`HostProfile`](crate::HostProfile) of each host, or does not (the default): links, software and TLS
    /// clients beside what changes and uptimes are told by.
    #[must_use]
    pub fn profiles(self, remember: bool) -> Self {
        Self { profiles: remember, ..self }
    }
}

impl Default for Observers {
    fn default() -> Self {
        Self::new(Database::builtin())
    }
}

/// What the protocols counted, beside the engine's own [`Counters`](huginn_net_core::Counters).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProtocolCounters {
    /// HTTP in the clear.
    pub http: HttpCounters,
    /// TLS over TCP, QUIC and DTLS.
    pub tls: TlsCounters,
    /// SSH.
    pub ssh: SshCounters,
}

tally!(ProtocolCounters { http, tls, ssh });

/// What is learned: for who asked, or for what is remembered of hosts.
type Learned = Route<Finding, HostNote>;

/// What is remembered of one flow, per protocol.
#[derive(Debug, Default)]
pub struct FlowState {
    tcp: TcpFlow,
    http: HttpFlow,
    tls: TlsFlow,
    ssh: SshFlow,
    /// Where p0f's way is followed; elsewhere it takes no room.
    p0f: Option<Box<P0fFlow>>,
    /// The side whose handshake a user-space tool made: its options tell nothing of a link.
    by_tool: Option<Side>,
    /// What the handshake told of client and server.
    systems: [Option<SystemTold>; 2],
    tcp_done: bool,
    http_done: bool,
    tls_done: bool,
    ssh_done: bool,
}

/// The system that a SYN or SYN+ACK told.
#[derive(Debug)]
struct SystemTold {
    label: Arc<Label>,
    is_firm: bool,
}

impl Protocol for Observers {
    type Flow = FlowState;
    type Event = Route<Finding, HostNote>;
    type Memory = Hosts;
    type Counters = ProtocolCounters;

    fn memory(&self) -> Hosts {
        Hosts::new(&self.hosts, self.scope, self.profiles)
    }

    fn fork(&self) -> Self {
        Self {
            tcp: self.tcp.as_ref().map(TcpObserver::fork),
            http: self.http.as_ref().map(HttpObserver::fork),
            tls: self.tls.as_ref().map(TlsObserver::fork),
            ssh: self.ssh.as_ref().map(SshObserver::fork),
            database: Arc::clone(&self.database),
            scope: self.scope,
            hosts: self.hosts,
            profiles: self.profiles,
        }
    }

    fn join(&mut self, worker: Self) {
        if let (Some(http), Some(worker)) = (&mut self.http, worker.http) {
            http.join(worker);
        }
        if let (Some(tls), Some(worker)) = (&mut self.tls, worker.tls) {
            tls.join(worker);
        }
        if let (Some(ssh), Some(worker)) = (&mut self.ssh, worker.ssh) {
            ssh.join(worker);
        }
    }

    fn counted(&self) -> ProtocolCounters {
        self.counters()
    }

    fn opens(&self, segment: &Segment<'_>) -> Option<Side> {
        if self.is_hidden(segment) {
            return None;
        }
        let tcp = self.tcp.as_ref().and_then(|tcp| tcp.opens(segment));
        tcp.or_else(|| self.http.as_ref()?.opens(segment))
            .or_else(|| self.tls.as_ref()?.opens(segment))
            .or_else(|| self.ssh.as_ref()?.opens(segment))
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Side, Learned),
    ) -> Interest {
        if self.is_hidden(segment) {
            return Interest::More;
        }
        if !flow.tcp_done {
            flow.tcp_done = self.on_tcp(segment, sender, flow, emit) == Interest::Done;
        }
        if let Some(note) = flow.p0f.as_mut().and_then(|p0f| p0f.on_segment(segment, sender)) {
            emit(sender, Route::Note(note.into()));
        }
        if !flow.http_done {
            flow.http_done = self.on_http(segment, sender, flow, emit) == Interest::Done;
        }
        if !flow.tls_done {
            flow.tls_done = self.on_tls(segment, sender, flow, emit) == Interest::Done;
        }
        if !flow.ssh_done {
            flow.ssh_done = self.on_ssh(segment, sender, flow, emit) == Interest::Done;
        }
        let by_p0f = flow.p0f.as_ref().is_some_and(|p0f| p0f.is_followed());
        if flow.tcp_done && flow.http_done && flow.tls_done && flow.ssh_done && !by_p0f {
            Interest::Done
        } else {
            Interest::More
        }
    }

    fn held(flow: &FlowState) -> usize {
        HttpObserver::held(&flow.http)
            .saturating_add(TlsObserver::held(&flow.tls))
            .saturating_add(SshObserver::held(&flow.ssh))
    }
}

impl Observers {
    /// What the protocols counted since they were made.
    pub fn counters(&self) -> ProtocolCounters {
        ProtocolCounters {
            http: self.http.as_ref().map(HttpObserver::counters).unwrap_or_default(),
            tls: self.tls.as_ref().map(TlsObserver::counters).unwrap_or_default(),
            ssh: self.ssh.as_ref().map(SshObserver::counters).unwrap_or_default(),
        }
    }

    /// p0f takes no fragments, and no packet that the capture cut.
    fn is_hidden(&self, segment: &Segment<'_>) -> bool {
        self.scope == Scope::P0f && (segment.ip.reassembled || segment.payload_missing > 0)
    }

    fn on_tcp(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Side, Learned),
    ) -> Interest {
        let Some(tcp) = &mut self.tcp else { return Interest::Done };
        let database = &self.database;
        let FlowState { tcp: state, by_tool, systems, p0f, .. } = flow;
        let (scope, profiles) = (self.scope, self.profiles);
        let interest = tcp.on_segment(segment, sender, state, &mut |side, event| {
            let (signature, sendsyn) = match event {
                TcpEvent::Syn(signature) | TcpEvent::SynAck(signature) => (signature, false),
                TcpEvent::SendsynProbe(signature) | TcpEvent::SendsynResponse(signature) => (signature, true),
                TcpEvent::Mtu(_) if *by_tool == Some(side) => return,
                TcpEvent::Mtu(mtu) => {
                    let finding = MtuFinding { mtu, link: database.match_mtu(mtu).cloned() };
                    let note = profiles.then(|| Note::Mtu(finding.clone()));
                    emit(side, Route::Report(Finding::Mtu(finding)));
                    return note.into_iter().for_each(|note| emit(side, Route::Note(note.into())));
                }
                TcpEvent::Clock(clock) if scope == Scope::Full => {
                    return emit(side, Route::Note(Note::Clock(clock).into()));
                }
                _ => return,
            };
            let matched = match signature.handshake {
                Handshake::Syn => database.match_syn(&signature),
                Handshake::SynAck => database.match_syn_ack(&signature),
            };
            let finding = TcpFinding::new(signature, matched, sendsyn);
            match &finding.matched {
                Some(found) if found.label.is_tool() => *by_tool = Some(side),
                Some(found) if !hosts::is_middlebox(&found.label) => {
                    let [client, server] = &mut *systems;
                    let told = SystemTold { label: Arc::clone(&found.label), is_firm: hosts::is_firm(found) };
                    *side.choose(client, server) = Some(told);
                }
                _ => {}
            }
            if side == Side::Client && scope == Scope::P0f && !sendsyn {
                *p0f = Some(Box::default());
            }
            let note = TcpNote {
                signature,
                matched: finding.matched.clone(),
                clock: p0f.as_ref().map(|p0f| p0f.clock().clone()),
            };
            emit(side, Route::Report(Finding::Tcp(finding)));
            if !sendsyn {
                emit(side, Route::Note(Note::Tcp(note).into()));
            }
        });
        if self.scope == Scope::P0f && by_tool.take().is_some() {
            state.end();
            flow.http_done = true;
            flow.p0f = None;
            return Interest::More;
        }
        interest
    }

    fn on_http(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Side, Learned),
    ) -> Interest {
        let Some(http) = &mut self.http else { return Interest::Done };
        if self.scope == Scope::P0f && is_given_up(segment, self.tcp.is_some().then_some(&flow.tcp)) {
            return Interest::Done;
        }
        let (database, scope, profiles) = (&self.database, self.scope, self.profiles);
        let [client, server] = &flow.systems;
        let verdict = |signature: HttpSignature| {
            let (matched, system) = match signature.role() {
                Role::Request => (database.match_request(&signature), client),
                Role::Response => (database.match_response(&signature), server),
            };
            HttpVerdict::new(signature, matched, system.as_ref().map(|told| &*told.label), database)
        };
        http.on_segment(segment, sender, &mut flow.http, &mut |side, event| {
            let signature = match &event {
                HttpEvent::Request(HttpRequest { request, .. }) => {
                    in_scope(scope, HttpSignature::p0f_of_request(request), || {
                        HttpSignature::of_request(request)
                    })
                }
                HttpEvent::Response(HttpResponse { response, .. }) => {
                    in_scope(scope, HttpSignature::p0f_of_response(response), || {
                        HttpSignature::of_response(response)
                    })
                }
                _ => return,
            };
            let Some((signature, counts)) = signature else { return };
            let verdict = verdict(signature);
            let mut note = HttpNote::new(&verdict, counts);
            if profiles {
                let tcp = firm_system(&flow.systems, side);
                let language = match scope {
                    Scope::Full => language_of(&event),
                    Scope::P0f => hosts::p0f_language_of(&verdict.signature),
                };
                note = note.for_profile(&verdict, language, tcp);
            }
            let finding = match event {
                HttpEvent::Request(HttpRequest { request, exchange, akamai, .. }) => {
                    Finding::HttpRequest(HttpRequestFinding { request, exchange, akamai, verdict })
                }
                HttpEvent::Response(HttpResponse { response, exchange, .. }) => {
                    Finding::HttpResponse(HttpResponseFinding { response, exchange, verdict })
                }
                _ => return,
            };
            emit(side, Route::Report(finding));
            emit(side, Route::Note(Note::Http(note).into()));
        })
    }

    fn on_tls(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Side, Learned),
    ) -> Interest {
        let Some(tls) = &mut self.tls else { return Interest::Done };
        let FlowState { tls: state, systems, .. } = flow;
        let profiles = self.profiles;
        tls.on_segment(segment, sender, state, &mut |side, event| {
            let (note, finding) = match event {
                TlsEvent::Client(client) => {
                    let tcp = || firm_system(systems, Side::Client);
                    let note = profiles.then(|| Note::TlsClient(TlsNote::new(&client.hello, tcp())));
                    (note, Finding::TlsClient(client))
                }
                TlsEvent::Server(server) => (profiles.then_some(Note::TlsServer), Finding::TlsServer(server)),
                _ => return,
            };
            emit(side, Route::Report(finding));
            note.into_iter().for_each(|note| emit(side, Route::Note(note.into())));
        })
    }

    fn on_ssh(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Side, Learned),
    ) -> Interest {
        let Some(ssh) = &mut self.ssh else { return Interest::Done };
        ssh.on_segment(segment, sender, &mut flow.ssh, &mut |side, event| {
            let finding = match event {
                SshEvent::Client(client) => Finding::SshClient(client),
                SshEvent::Server(server) => Finding::SshServer(server),
                _ => return,
            };
            emit(side, Route::Report(finding));
        })
    }
}

/// The system that the handshake of a side told firmly.
fn firm_system([client, server]: &[Option<SystemTold>; 2], side: Side) -> Option<Arc<Label>> {
    let told = side.choose(client, server).as_ref().filter(|told| told.is_firm)?;
    Some(Arc::clone(&told.label))
}

/// The language that a request likes best.
fn language_of(event: &HttpEvent) -> Option<Cow<'static, str>> {
    let HttpEvent::Request(found) = event else { return None };
    found.request.language().map(hosts::language_of)
}

/// What is looked up of a head, and whether p0f, which sees this or nothing of it, counts it in for its host.
fn in_scope(
    scope: Scope,
    seen_by_p0f: Option<HttpSignature>,
    whole: impl FnOnce() -> HttpSignature,
) -> Option<(HttpSignature, bool)> {
    match scope {
        Scope::Full => Some((whole(), seen_by_p0f.is_some())),
        Scope::P0f => Some((seen_by_p0f?, true)),
    }
}

/// Whether p0f reads no HTTP of a connection from this segment on: data come before the handshake is complete, as far as
/// that is watched, or the connection ends.
fn is_given_up(segment: &Segment<'_>, tcp: Option<&TcpFlow>) -> bool {
    let early = !segment.payload.is_empty() && tcp.is_some_and(|tcp| !tcp.is_answered());
    early || segment.tcp().is_some_and(|tcp| tcp.flags.intersects(TcpFlags::FIN | TcpFlags::RST))
}
