//! Runs all protocols over one flow table.

use std::cell::Cell;
use std::sync::Arc;

use huginn_net_core::{
    Event, Examples, FlowId, Interest, ParserSet, ParserSlot, ParserVisitor, Protocol, Route, Segment, Side,
    StreamCounters, StreamFlow, Tally, TcpHeader, first_sender, tally, without_padding,
};
use huginn_net_db::{ClientDatabase, Database, Label};
use huginn_net_http::{HttpCounters, HttpParser};
use huginn_net_ssh::{SshCounters, SshParser, SshPeers};
use huginn_net_tcp::{Handshake, Mtu, TcpEvent, TcpFlow, TcpObserver};
use huginn_net_tls::{TlsCounters, TlsParser, TlsUdpFlow, TlsUdpObserver};

use crate::Finding;
use crate::blind_spots;
use crate::connection::OpenConnection;
use crate::consistency::Outcome;
use crate::finding::{Clients, MtuFinding, TcpFinding};
use crate::fingerprint_list::FingerprintList;
use crate::hosts::{self, HostLimits, HostUpdate, Hosts, TcpUpdate, Update};
use crate::p0f_flow::{P0fFlow, ends_http, is_hidden_from_p0f};
use crate::parser_findings::{HandshakeSystem, ParserFindings, on_ssh};

/// The enabled protocols and their signature database.
///
/// The default runs every protocol with the built-in database.
#[derive(Clone, Debug)]
pub struct Observers {
    tcp: Option<TcpObserver>,
    http: bool,
    tls: bool,
    tls_udp: TlsUdpObserver,
    ssh: bool,
    counters: ProtocolCounters,
    database: Arc<Database>,
    clients: Clients,
    scope: Scope,
    hosts: HostLimits,
    profiles: bool,
    connections: bool,
    /// The earliest segment that each counter of blind spots counted.
    examples: Examples,
    /// The total of these counters when examples were last added.
    examined: u64,
}

/// The amount of detail that the analyzer reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Reports all findings.
    #[default]
    Full,
    /// Reports of a flow only what p0f 3.09b reports: the first packet of a user-space tool ends the flow.
    P0f,
}

impl Observers {
    /// Enables every protocol, with this database.
    pub fn new(database: Arc<Database>) -> Self {
        Self {
            tcp: Some(TcpObserver),
            http: true,
            tls: true,
            tls_udp: TlsUdpObserver::default(),
            ssh: true,
            counters: ProtocolCounters::default(),
            database,
            clients: Clients::default(),
            scope: Scope::default(),
            hosts: HostLimits::default(),
            profiles: false,
            connections: false,
            examples: Examples::default(),
            examined: 0,
        }
    }

    /// Enables or disables TCP fingerprints.
    #[must_use]
    pub fn tcp(self, run: bool) -> Self {
        Self { tcp: run.then(TcpObserver::default), ..self }
    }

    /// Enables or disables HTTP fingerprints.
    #[must_use]
    pub fn http(self, run: bool) -> Self {
        Self { http: run, ..self }
    }

    /// Enables or disables TLS fingerprints.
    #[must_use]
    pub fn tls(self, run: bool) -> Self {
        Self { tls: run, ..self }
    }

    /// Enables or disables SSH fingerprints.
    #[must_use]
    pub fn ssh(self, run: bool) -> Self {
        Self { ssh: run, ..self }
    }

    /// Sets the scope of the reports.
    #[must_use]
    pub fn scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Sets the database that names clients (default: the built-in one).
    #[must_use]
    pub fn clients(self, clients: Arc<ClientDatabase>) -> Self {
        Self { clients: Clients { database: Some(clients), ..self.clients }, ..self }
    }

    /// Sets a list of fingerprints (default: none). Events of TLS clients then have their
    /// [entries](crate::finding::TlsClientFinding::listed).
    #[must_use]
    pub fn fingerprint_list(self, list: Arc<FingerprintList>) -> Self {
        Self { clients: Clients { list: Some(list), ..self.clients }, ..self }
    }

    /// Sets the limits of the host table.
    #[must_use]
    pub fn hosts(self, limits: HostLimits) -> Self {
        Self { hosts: limits, ..self }
    }

    /// Returns an empty host table, for the updates of [`WithoutHosts`](crate::hosts::WithoutHosts).
    pub fn host_table(&self) -> Hosts {
        Hosts::new(&self.hosts, self.scope, self.profiles)
    }

    /// Enables or disables (default) a [`HostProfile`](crate::hosts::HostProfile) of each host: links, software and TLS
    /// clients, in addition to the state that changes and uptimes need.
    #[must_use]
    pub fn profiles(self, remember: bool) -> Self {
        Self { profiles: remember, ..self }
    }

    /// Enables or disables (default) a [`Connection`](crate::finding::Connection) finding at the end of each flow of which
    /// anything else was reported. It costs time for every packet.
    #[must_use]
    pub fn connections(self, report: bool) -> Self {
        Self { connections: report, ..self }
    }
}

impl Default for Observers {
    fn default() -> Self {
        Self::new(Database::builtin())
    }
}

/// Counters of the protocols; the engine has its own [`Counters`](huginn_net_core::Counters).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProtocolCounters {
    /// Losses of TCP reassembly, shared by HTTP, TLS and SSH.
    pub streams: StreamCounters,
    /// Cleartext HTTP.
    pub http: HttpCounters,
    /// TLS over TCP, QUIC and DTLS.
    pub tls: TlsCounters,
    /// SSH.
    pub ssh: SshCounters,
}

tally!(ProtocolCounters { streams, http, tls, ssh });

/// Output of the protocols: a finding for the sink, or an update of the host table.
pub(crate) type FlowOutput = Route<Finding, HostUpdate>;

/// The state of one flow, per protocol.
#[derive(Debug, Default)]
pub struct FlowState {
    tcp: TcpFlow,
    transport: TransportState,
    ssh_peers: SshPeers,
    /// State of p0f for the connection; absent outside of [`Scope::P0f`].
    p0f: Option<Box<P0fFlow>>,
    /// The side whose handshake comes from a user-space tool: its MSS does not describe a link.
    by_tool: Option<Side>,
    /// The systems of client and server by their handshakes.
    systems: [Option<HandshakeSystem>; 2],
    tcp_done: bool,
    http_done: bool,
    streams_done: bool,
    /// The outcome of the last reported mismatch of the connection.
    mismatch: Cell<Option<Outcome>>,
    /// The summary of the connection; absent unless it is reported.
    connection: Option<Box<OpenConnection>>,
}

/// The state of a flow above its transport.
#[derive(Debug)]
enum TransportState {
    Tcp(StreamFlow<Parsers>),
    Udp(TlsUdpFlow),
}

impl Default for TransportState {
    fn default() -> Self {
        Self::Tcp(StreamFlow::default())
    }
}

/// The stream parsers of one TCP connection.
#[derive(Debug)]
struct Parsers {
    http: ParserSlot<HttpParser>,
    tls: ParserSlot<TlsParser>,
    ssh: ParserSlot<SshParser>,
}

impl ParserSet for Parsers {
    #[inline]
    fn visit(&mut self, visitor: &mut impl ParserVisitor) {
        visitor.slot(&mut self.http);
        visitor.slot(&mut self.tls);
        visitor.slot(&mut self.ssh);
    }
}

impl Protocol for Observers {
    type Flow = FlowState;
    type Event = Route<Finding, HostUpdate>;
    type SharedState = Hosts;
    type Counters = ProtocolCounters;

    fn shared_state(&self) -> Hosts {
        self.host_table()
    }

    fn fork(&self) -> Self {
        Self {
            tcp: self.tcp.as_ref().map(TcpObserver::fork),
            tls_udp: TlsUdpObserver::default(),
            counters: ProtocolCounters::default(),
            database: Arc::clone(&self.database),
            clients: self.clients.clone(),
            examples: Examples::default(),
            examined: 0,
            ..*self
        }
    }

    fn join(&mut self, worker: Self) {
        self.counters.add(&worker.counters);
        self.examples.merge(&worker.examples);
    }

    fn counters(&self) -> ProtocolCounters {
        self.counters()
    }

    fn starts_flow(&self, segment: &Segment<'_>) -> Option<Side> {
        if self.is_hidden(segment) {
            return None;
        }
        let tcp = || self.tcp.as_ref()?.starts_flow(segment);
        let http = || first_sender::<HttpParser>(segment).filter(|_| self.http);
        let tls = || first_sender::<TlsParser>(segment).filter(|_| self.tls);
        let tls_udp = || TlsUdpObserver::first_sender(segment).filter(|_| self.tls);
        let ssh = || first_sender::<SshParser>(segment).filter(|_| self.ssh);
        tcp().or_else(http).or_else(tls).or_else(tls_udp).or_else(ssh)
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Side, FlowOutput),
    ) -> Interest {
        if self.is_hidden(segment) {
            return Interest::More;
        }
        if self.connections {
            return self.summarize(segment, sender, flow, emit);
        }
        self.analyze(segment, sender, flow, emit)
    }

    fn reports_ends(&self) -> bool {
        self.connections
    }

    fn on_end(&mut self, flow: FlowState) -> Option<Event<FlowOutput>> {
        flow.connection?.into_event()
    }

    fn buffered_bytes(flow: &FlowState) -> usize {
        let connection = flow.connection.as_ref().map_or(0, |connection| connection.heap_bytes());
        let transport = match &flow.transport {
            TransportState::Tcp(streams) => {
                streams.buffered_bytes().saturating_add(flow.ssh_peers.buffered_bytes())
            }
            TransportState::Udp(datagrams) => datagrams.buffered_bytes(),
        };
        transport.saturating_add(connection)
    }
}

impl Observers {
    /// Returns the earliest example of each counter of what the protocols could not read.
    pub(crate) fn examples(&self) -> &Examples {
        &self.examples
    }

    /// Makes a segment the example of counters that have none yet and counted it.
    #[inline(always)]
    fn add_examples(&mut self, segment: &Segment<'_>, sender: Side) {
        let counts = blind_spots::of_protocols(&self.counters).map(|(name, count, _)| (name, count));
        let total = counts.iter().fold(0, |total: u64, (_, count)| total.wrapping_add(*count));
        if total != self.examined {
            self.examined = total;
            let flow = FlowId::from_segment(segment, sender);
            self.examples.add_new(counts, segment.ts, None, Some(&flow));
        }
    }

    /// Runs the protocols over a segment, and adds it and their findings to the summary of its connection.
    // Not inlined, so that an analysis without summaries has no more code.
    #[cold]
    #[inline(never)]
    fn summarize(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Side, FlowOutput),
    ) -> Interest {
        let mut connection =
            flow.connection.take().unwrap_or_else(|| Box::new(OpenConnection::new(segment, sender)));
        connection.on_segment(segment, sender);
        if connection.interest == Interest::More {
            connection.interest = self.analyze(segment, sender, flow, &mut |side, output| {
                connection.on_output(&output);
                emit(side, output);
            });
        }
        flow.connection = Some(connection);
        Interest::More
    }

    /// Runs the protocols over a segment.
    #[inline(always)]
    fn analyze(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Side, FlowOutput),
    ) -> Interest {
        let Some(tcp) = segment.tcp() else {
            let interest = self.on_datagram(segment, sender, flow, emit);
            self.add_examples(segment, sender);
            return interest;
        };
        if !flow.tcp_done {
            flow.tcp_done = self.on_tcp(segment, sender, flow, emit) == Interest::Done;
        }
        if let Some(update) = flow.p0f.as_mut().and_then(|p0f| p0f.on_segment(segment, sender)) {
            emit(sender, Route::Update(update.into()));
        }
        if !flow.streams_done {
            flow.streams_done = self.on_stream(segment, tcp, sender, flow, emit) == Interest::Done;
        }
        let by_p0f = flow.p0f.as_ref().is_some_and(|p0f| p0f.is_followed());
        if flow.tcp_done && flow.streams_done && !by_p0f { Interest::Done } else { Interest::More }
    }

    /// The counters since the observers were created.
    pub fn counters(&self) -> ProtocolCounters {
        self.counters
    }

    /// Whether a segment is out of scope.
    fn is_hidden(&self, segment: &Segment<'_>) -> bool {
        self.scope == Scope::P0f && is_hidden_from_p0f(segment)
    }

    fn on_tcp(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Side, FlowOutput),
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
                    let update = profiles.then(|| Update::Mtu(finding.clone()));
                    emit(side, Route::Report(Finding::Mtu(finding)));
                    return update.into_iter().for_each(|update| emit(side, Route::Update(update.into())));
                }
                TcpEvent::Clock(clock) if scope == Scope::Full => {
                    return emit(side, Route::Update(Update::Clock(clock).into()));
                }
                _ => return,
            };
            let matched = match signature.handshake {
                Handshake::Syn => database.match_syn(&signature),
                Handshake::SynAck => database.match_syn_ack(&signature),
            };
            let mut finding = TcpFinding::new(signature, matched, sendsyn);
            if !sendsyn && *by_tool != Some(side) && !finding.label().is_some_and(Label::is_tool) {
                let mtu = Mtu::from_mss(signature.version, signature.mss);
                finding.link = mtu.map(|mtu| MtuFinding { mtu, link: database.match_mtu(mtu).cloned() });
            }
            match &finding.matched {
                Some(found) if found.label.is_tool() => *by_tool = Some(side),
                Some(found) if !hosts::is_middlebox(&found.label) => {
                    let [client, server] = &mut *systems;
                    *side.choose(client, server) = Some(HandshakeSystem::new(found));
                }
                _ => {}
            }
            if side == Side::Client && scope == Scope::P0f && !sendsyn {
                *p0f = Some(Box::default());
            }
            let update = TcpUpdate {
                signature,
                matched: finding.matched.clone(),
                clock: p0f.as_ref().map(|p0f| p0f.clock().clone()),
            };
            emit(side, Route::Report(Finding::Tcp(finding)));
            if !sendsyn {
                emit(side, Route::Update(Update::Tcp(update).into()));
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

    /// Feeds a TCP segment to the stream parsers.
    fn on_stream(
        &mut self,
        segment: &Segment<'_>,
        tcp: &TcpHeader<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Side, FlowOutput),
    ) -> Interest {
        let FlowState { tcp: handshake, transport, ssh_peers, systems, http_done, mismatch, .. } = flow;
        let TransportState::Tcp(streams) = transport else { return Interest::Done };
        if self.scope == Scope::P0f {
            *http_done |= ends_http(segment, self.tcp.is_some().then_some(handshake));
        }
        let (http, tls, ssh) = (self.http && !*http_done, self.tls, self.ssh);
        if !http && !tls && !ssh {
            *streams = StreamFlow::default();
            return Interest::Done;
        }
        let payload = match self.scope {
            Scope::Full => without_padding(segment),
            // p0f treats padding as payload.
            Scope::P0f => segment.payload,
        };
        let ProtocolCounters {
            streams: stream_counters,
            http: http_counters,
            tls: tls_counters,
            ssh: ssh_counters,
        } = &mut self.counters;
        let clients = &self.clients;
        let findings = ParserFindings {
            database: &self.database,
            clients,
            scope: self.scope,
            profiles: self.profiles,
            systems,
            mismatch,
        };
        let new_parsers =
            || Parsers { http: ParserSlot::new(http), tls: ParserSlot::new(tls), ssh: ParserSlot::new(ssh) };
        let SshCounters { parser: ssh_counters, peers: peer_counters, .. } = ssh_counters;
        let missed = *stream_counters;
        let mut has_parsed = false;
        let interest =
            streams.on_segment(tcp, payload, sender, stream_counters, new_parsers, &mut |parsers, input| {
                has_parsed = true;
                if http {
                    parsers.http.on_data(input, http_counters, &mut |side, event| {
                        findings.on_http(side, event, emit);
                    });
                } else {
                    parsers.http.drop_parser();
                }
                parsers
                    .tls
                    .on_data(input, tls_counters, &mut |side, event| findings.on_tls(side, event, emit));
                parsers.ssh.on_data(input, ssh_counters, &mut |side, event| {
                    ssh_peers.on_event(side, event, peer_counters, &mut |side, event| {
                        on_ssh(clients, side, event, emit);
                    });
                });
            });
        ssh_peers.on_segment(tcp, payload.len(), sender, peer_counters, &mut |side, event| {
            on_ssh(clients, side, event, emit);
        });
        if has_parsed || missed != *stream_counters {
            self.add_examples(segment, sender);
        }
        interest
    }

    /// Feeds a UDP datagram to TLS.
    fn on_datagram(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Side, FlowOutput),
    ) -> Interest {
        if !self.tls {
            return Interest::Done;
        }
        let FlowState { transport, systems, mismatch, .. } = flow;
        if let TransportState::Tcp(_) = transport {
            *transport = TransportState::Udp(TlsUdpFlow::default());
        }
        let TransportState::Udp(datagrams) = transport else { return Interest::Done };
        let Self { tls_udp, counters, database, clients, scope, profiles, .. } = self;
        let findings =
            ParserFindings { database, clients, scope: *scope, profiles: *profiles, systems, mismatch };
        tls_udp.on_datagram(segment.payload, sender, datagrams, &mut counters.tls, &mut |side, event| {
            findings.on_tls(side, event, emit);
        })
    }
}
