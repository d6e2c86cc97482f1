//! Runs all protocols over one flow table.

mod decryption;
mod flow_state;
#[cfg(feature = "decrypt")]
mod quic_content;
mod stream_parsers;

use std::sync::Arc;

#[cfg(feature = "decrypt")]
use huginn_net_core::FlowId;
use huginn_net_core::{
    Event, Examples, Interest, Origin, PacketRef, Protocol, Replaceable, ReplaceableReader, Route, Segment,
    Side, StreamCounters, StreamFlow, Tally, TcpFlags, Timestamp, first_sender, tally, without_padding,
};
use huginn_net_db::{ClientDatabase, Database, Label};
use huginn_net_http::{HttpCounters, HttpParser};
use huginn_net_ssh::{SshCounters, SshParser};
use huginn_net_tcp::{Mtu, TcpEvent, TcpFlow, TcpObserver};
use huginn_net_tls::{TlsCounters, TlsParser, TlsParserSettings, TlsUdpObserver};

use self::decryption::Decryption;
pub use self::decryption::DecryptionCounters;
pub(crate) use self::flow_state::FlowState;
use self::flow_state::{ProtocolStates, TransportState, UdpState};
#[cfg(feature = "decrypt")]
use self::quic_content::{QuicConnections, QuicContent};
use self::stream_parsers::{ParserReader, Parsers, StreamProtocols};
use crate::Finding;
use crate::blind_spots;
use crate::clients::NamingDatabases;
use crate::connection::OpenConnection;
use crate::event_limits::{EventFrame, EventLimits, SuppressedEvents};
use crate::finding::{Baseline, Clients, MtuFinding, NoticeSettings, TcpFinding};
use crate::hosts::{self, HostLimits, HostUpdate, Hosts, TcpUpdate, Update};
use crate::notices::Fingerprint;
use crate::p0f_flow::{ends_http, is_hidden_from_p0f};
use crate::parser_findings::{HandshakeSystem, ParserFindings, on_ssh};
use crate::scope::Scope;
use crate::watch::{Matches, WatchListHandle, Watcher};

/// The enabled protocols and their signature database.
///
/// The default runs every protocol with the built-in database.
#[derive(Clone, Debug)]
pub struct Observers {
    tcp: Option<TcpObserver>,
    http: bool,
    tls: bool,
    tls_settings: TlsParserSettings,
    tls_udp: TlsUdpObserver,
    ssh: bool,
    decryption: Decryption,
    counters: ProtocolCounters,
    database: Arc<Database>,
    clients: Clients,
    /// Where both databases come from, if they can be replaced.
    replaceable_databases: Option<Box<ReplaceableReader<NamingDatabases>>>,
    scope: Scope,
    hosts: HostLimits,
    event_limits: EventLimits,
    profiles: bool,
    connections: bool,
    watcher: Option<Box<Watcher>>,
    notices: Option<NoticeSettings>,
    baseline: Option<Arc<Baseline>>,
    /// The earliest segment that each counter of blind spots counted.
    examples: Examples,
    /// These counters when examples were last added, and the sum of what they count.
    examined: [u64; blind_spots::PROTOCOL_KINDS],
    examined_sum: u64,
}

impl Observers {
    /// Enables every protocol, with this database.
    pub fn new(database: Arc<Database>) -> Self {
        Self {
            tcp: Some(TcpObserver),
            http: true,
            tls: true,
            tls_settings: TlsParserSettings::default(),
            tls_udp: TlsUdpObserver::default(),
            ssh: true,
            decryption: Decryption::default(),
            counters: ProtocolCounters::default(),
            database,
            clients: Clients::default(),
            replaceable_databases: None,
            scope: Scope::default(),
            hosts: HostLimits::default(),
            event_limits: EventLimits::default(),
            profiles: false,
            connections: false,
            watcher: None,
            notices: None,
            baseline: None,
            examples: Examples::default(),
            examined: [0; blind_spots::PROTOCOL_KINDS],
            examined_sum: 0,
        }
    }

    /// Sets the database of signatures.
    #[must_use]
    pub fn database(self, database: Arc<Database>) -> Self {
        Self { database, ..self }
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

    /// Follows TLS handshakes over TCP, and of DTLS, to their end, or not (default), and reports
    /// [`TlsHandshake`](huginn_net_tls::TlsHandshake) findings. It takes more time and memory: connections are read for longer.
    #[must_use]
    pub fn handshakes(self, follow: bool) -> Self {
        let tls_settings = self.tls_settings.handshakes(follow);
        Self { tls_settings, tls_udp: TlsUdpObserver::with_settings(tls_settings), ..self }
    }

    /// Enables or disables SSH fingerprints.
    #[must_use]
    pub fn ssh(self, run: bool) -> Self {
        Self { ssh: run, ..self }
    }

    /// Decrypts TLS over TCP with these secrets, and reports the HTTP inside; without secrets (default), nothing is decrypted. The
    /// set may grow during the analysis; [`add_sessions`](crate::decrypt::add_sessions) adds to it before. Not in the [scope of p0f](Scope::P0f).
    #[cfg(feature = "decrypt")]
    #[must_use]
    pub fn secrets(self, secrets: Option<huginn_net_decrypt::Secrets>) -> Self {
        Self { decryption: Decryption::new(secrets), ..self }
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

    /// Takes both databases from a place where they can be replaced during the analysis. Events that were reported, and host profiles, keep
    /// their names.
    #[must_use]
    pub fn replaceable_databases(self, databases: Replaceable<NamingDatabases>) -> Self {
        let replaceable_databases = Some(Box::new(ReplaceableReader::new(databases)));
        let mut observers = Self { replaceable_databases, ..self };
        observers.take_databases();
        observers
    }

    fn take_databases(&mut self) {
        let Some(databases) = &self.replaceable_databases else { return };
        let NamingDatabases { signatures, clients } = &**databases.value();
        self.database = Arc::clone(signatures);
        self.clients.database.clone_from(clients);
    }

    /// Sets watch lists (default: none). A [`Match`](crate::finding::Match) follows each event with a value that a list
    /// watches; TLS hellos, SSH peers and HTTP requests also have its [entries](crate::Finding::listed). A flow reports each
    /// entry once; addresses are compared at its first event. Not in the [scope of p0f](Scope::P0f).
    ///
    /// Certificates need [handshakes](Self::handshakes).
    #[must_use]
    pub fn watch_lists(self, lists: WatchListHandle) -> Self {
        Self { watcher: Some(Box::new(Watcher::new(lists))), ..self }
    }

    /// Sets the limits of the host table.
    #[must_use]
    pub fn hosts(self, limits: HostLimits) -> Self {
        Self { hosts: limits, ..self }
    }

    /// Sets the limits of the output: lengths of texts, and rates of events.
    #[must_use]
    pub fn event_limits(self, limits: EventLimits) -> Self {
        let clients = Clients { text_limit: limits.text(), ..self.clients };
        Self { event_limits: limits, clients, ..self }
    }

    /// Returns an empty host table, for the updates of [`WithoutHosts`](crate::hosts::WithoutHosts).
    pub fn host_table(&self) -> Hosts {
        let hosts = Hosts::new(&self.hosts, self.event_limits, self.scope, self.profiles);
        let is_full = self.scope == Scope::Full;
        let hosts = hosts.with_notices(self.notices.filter(|_| is_full));
        hosts.with_baseline(self.baseline.as_deref().filter(|_| is_full))
    }

    /// Enables or disables (default) a [`HostProfile`](crate::hosts::HostProfile) of each host: links, software and TLS
    /// clients, in addition to the state that changes and uptimes need.
    #[must_use]
    pub fn profiles(self, remember: bool) -> Self {
        Self { profiles: remember, ..self }
    }

    /// Reports [`TrafficNotice`](crate::finding::TrafficNotice) findings with these thresholds, or none (default): scans, beacons,
    /// contradictions and imitations. They cost time for every SYN, ClientHello and request. The scope of p0f has none.
    #[must_use]
    pub fn notices(self, settings: Option<NoticeSettings>) -> Self {
        Self { notices: settings, ..self }
    }

    /// Compares JA4, SYN signatures, HTTP/2 fingerprints, HASSH and HASSHServer with a baseline, or not (default). Of a
    /// [parsed](Baseline::parse) baseline, each fingerprint that it lacks is a
    /// [`NewFingerprintNotice`](crate::finding::NewFingerprintNotice), once in all captures of the analyzer. The scope of p0f has
    /// none.
    #[must_use]
    pub fn baseline(self, baseline: Option<Baseline>) -> Self {
        Self { baseline: baseline.map(Arc::new), ..self }
    }

    /// Enables or disables (default) a [`Connection`](crate::finding::Connection) finding at the end of each flow with
    /// another event. It costs time for every packet.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ProtocolCounters {
    /// Losses of TCP reassembly, shared by HTTP, TLS and SSH.
    pub streams: StreamCounters,
    /// HTTP, in cleartext or decrypted.
    pub http: HttpCounters,
    /// TLS over TCP, QUIC and DTLS.
    pub tls: TlsCounters,
    /// SSH.
    pub ssh: SshCounters,
    /// TLS that was decrypted with logged secrets.
    pub decryption: DecryptionCounters,
    /// Events found and not reported: those beyond the limits of a connection. The shared state counts the
    /// [others](Hosts::events_suppressed).
    pub events_suppressed: SuppressedEvents,
}

tally!(ProtocolCounters { streams, http, tls, ssh, decryption, events_suppressed });

/// Output of the protocols: a finding for the sink, or an update of the host table.
pub(crate) type FlowOutput = Route<Finding, HostUpdate>;

/// The update for the fingerprint of a finding, if a baseline may list it.
fn fingerprint_update(output: &FlowOutput) -> Option<FlowOutput> {
    let Route::Report(finding) = output else { return None };
    Some(Route::Update(Update::Fingerprint(Box::new(Fingerprint::of(finding)?)).into()))
}

/// Marks an update of a host that is its first one in the connection.
fn mark_first([client, server]: &mut [bool; 2], side: Side, output: &mut FlowOutput) {
    if let Route::Update(update) = output {
        let has_updated = side.choose(client, server);
        if !std::mem::replace(has_updated, true) {
            update.set_first();
        }
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
            tls_udp: TlsUdpObserver::with_settings(self.tls_settings),
            counters: ProtocolCounters::default(),
            database: Arc::clone(&self.database),
            clients: self.clients.clone(),
            replaceable_databases: self.replaceable_databases.clone(),
            decryption: self.decryption.clone(),
            watcher: self.watcher.clone(),
            baseline: self.baseline.clone(),
            examples: Examples::default(),
            examined: [0; blind_spots::PROTOCOL_KINDS],
            examined_sum: 0,
            ..*self
        }
    }

    fn join(&mut self, worker: Self) {
        self.counters.add(&worker.counters);
        self.examples.merge(&worker.examples);
        self.skip_examples();
    }

    fn update_settings(&mut self) {
        if self.replaceable_databases.as_mut().is_some_and(|databases| databases.update()) {
            self.take_databases();
        }
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
        let tls = || first_sender::<TlsParser>(segment).filter(|_| self.tls || self.decrypts_http());
        let tls_udp = || TlsUdpObserver::first_sender(segment).filter(|_| self.tls || self.decrypts_http());
        let ssh = || first_sender::<SshParser>(segment).filter(|_| self.ssh);
        tcp().or_else(http).or_else(tls).or_else(tls_udp).or_else(ssh)
    }

    /// Skips most segments of an open connection: acknowledgements, and the next part of a body.
    #[inline(always)]
    fn skip_segment(&mut self, segment: &Segment<'_>, sender: Side, flow: &mut FlowState) -> bool {
        let FlowState { protocols, allowance, .. } = flow;
        let ProtocolStates { tcp: handshake, transport, ssh_peers, .. } = protocols;
        let (Some(tcp), TransportState::Tcp(streams)) = (segment.tcp(), transport) else { return false };
        let is_read = self.scope != Scope::Full
            || self.connections
            || protocols.streams_done
            || ssh_peers.has_pending()
            || !self.skips_tcp(segment.ts, tcp.flags, sender, handshake, protocols.tcp_done);
        let is_skipped = !is_read && streams.skip_unread(segment, sender);
        if is_skipped {
            allowance.add_segment(self.event_limits.max_output_ratio, segment);
        }
        is_skipped
    }

    fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut FlowState,
        emit: &mut impl FnMut(Origin, FlowOutput),
    ) -> Interest {
        if self.is_hidden(segment) {
            return Interest::More;
        }
        let FlowState { protocols, allowance, has_updated, matches } = flow;
        if self.scope == Scope::P0f {
            return self.analyze(segment, sender, protocols, emit);
        }
        allowance.add_segment(self.event_limits.max_output_ratio, segment);
        if self.connections && protocols.connection.is_none() {
            let ratio = self.event_limits.max_output_ratio;
            let is_reserved = allowance.reserve_summary(ratio, EventFrame::from_segment(segment));
            protocols.connection = Some(Box::new(OpenConnection::new(segment, sender, is_reserved)));
        }
        let (limits, mut suppressed) = (self.event_limits.of_connection(), 0_u64);
        let (profiles, has_baseline) = (self.profiles, self.baseline.is_some());
        let mut watcher = self.watcher.take();
        // Without profiles, lists and baseline, an event takes a path that costs nothing more.
        let is_plain = !profiles && !has_baseline && watcher.is_none();
        let mut emit = |origin: Origin, mut output: FlowOutput| {
            let frame = EventFrame::from_segment(segment);
            if is_plain {
                match allowance.admits(&limits, frame, &output) {
                    Some(text_bytes) => emit(Origin { text_bytes, ..origin }, output),
                    None => suppressed = suppressed.saturating_add(1),
                }
                return;
            }
            if profiles {
                mark_first(has_updated, origin.subject, &mut output);
            }
            let found = match (&mut watcher, &mut output) {
                (Some(watcher), Route::Report(finding)) => {
                    let (own, other) = (segment.source(), segment.destination());
                    let addresses = || sender.choose((own, other), (other, own));
                    Some(watcher.on_finding(finding, origin.subject, matches, addresses))
                }
                _ => None,
            };
            let fingerprint = if has_baseline { fingerprint_update(&output) } else { None };
            match allowance.admits(&limits, frame, &output) {
                Some(text_bytes) => emit(Origin { text_bytes, ..origin }, output),
                None => suppressed = suppressed.saturating_add(1),
            }
            if let Some(update) = fingerprint {
                emit(Origin { text_bytes: 0, ..origin }, update);
            }
            let Some(found) = found else { return };
            suppressed = suppressed.saturating_add(found.suppressed);
            for (subject, found) in found.reported {
                let finding = Finding::Match(Box::new(found));
                let text_bytes = allowance.charge(&limits, frame, &finding);
                emit(Origin { subject, text_bytes, ..origin }, Route::Report(finding));
            }
        };
        let interest = if self.connections {
            self.summarize(segment, sender, protocols, &mut emit)
        } else {
            self.analyze(segment, sender, protocols, &mut emit)
        };
        self.watcher = watcher;
        if suppressed > 0 {
            self.count_suppressed(suppressed);
            self.add_examples(segment, sender);
        }
        interest
    }

    fn has_end(FlowState { protocols, .. }: &FlowState) -> bool {
        protocols.connection.is_some()
            || protocols.ssh_peers.has_pending()
            || match &protocols.transport {
                TransportState::Tcp(streams) => {
                    streams.has_end() || streams.parsers().is_some_and(Parsers::has_end)
                }
                TransportState::Udp(state) => state.has_end(),
            }
    }

    fn on_end(&mut self, flow: FlowState, emit: &mut impl FnMut(Event<FlowOutput>)) {
        let FlowState { mut protocols, mut allowance, mut has_updated, mut matches } = flow;
        let mut watcher = self.watcher.take();
        let mut connection = protocols.connection.take();
        let has_baseline = self.baseline.is_some();
        let (limits, mut suppressed) = (self.event_limits.of_connection(), 0_u64);
        let is_plain = !has_baseline && watcher.is_none();
        let mut admit = |mut event: Event<FlowOutput>, is_reserved: bool| {
            let frame = EventFrame::from_event(&event);
            let reserved = if is_reserved { frame.summary_bytes() } else { 0 };
            if is_plain {
                if allowance.admits_reserved(&limits, frame, &event.kind, reserved).is_some() {
                    emit(event);
                } else {
                    suppressed = suppressed.saturating_add(1);
                }
                return;
            }
            let (subject, addresses) = (event.subject, (event.flow.client, event.flow.server));
            let found = match (&mut watcher, &mut event.kind) {
                (Some(watcher), Route::Report(finding)) => {
                    watcher.on_finding(finding, subject, &mut matches, || addresses)
                }
                _ => Matches::default(),
            };
            suppressed = suppressed.saturating_add(found.suppressed);
            let fingerprint = if has_baseline { fingerprint_update(&event.kind) } else { None };
            // An event with neither match nor fingerprint moves.
            let is_last = found.reported.is_empty() && fingerprint.is_none();
            let origin = (!is_last).then(|| event.clone());
            if allowance.admits_reserved(&limits, frame, &event.kind, reserved).is_some() {
                emit(event);
            } else {
                suppressed = suppressed.saturating_add(1);
            }
            if let (Some(update), Some(event)) = (fingerprint, &origin) {
                let mut event = event.clone();
                (event.kind, event.text_bytes) = (update, 0);
                emit(event);
            }
            for (subject, found) in found.reported {
                let Some(mut event) = origin.clone() else { break };
                let finding = Finding::Match(Box::new(found));
                event.text_bytes = allowance.charge(&limits, frame, &finding);
                event.subject = subject;
                event.kind = Route::Report(finding);
                emit(event);
            }
        };
        let profiles = self.profiles;
        let mut on_event = |mut event: Event<FlowOutput>| {
            if profiles {
                mark_first(&mut has_updated, event.subject, &mut event.kind);
            }
            if let Some(connection) = &mut connection {
                connection.on_output(&event.kind, event.subject);
            }
            admit(event, false);
        };
        self.end_stream(&mut protocols, &mut on_event);
        #[cfg(feature = "decrypt")]
        self.end_datagrams(&mut protocols, &mut on_event);
        if let Some(connection) = connection {
            let is_reserved = connection.is_reserved;
            connection.into_event().into_iter().for_each(|event| admit(event, is_reserved));
        }
        self.watcher = watcher;
        if suppressed > 0 {
            self.count_suppressed(suppressed);
        }
        self.skip_examples();
    }

    #[inline]
    fn buffered_bytes(FlowState { protocols, matches, .. }: &FlowState) -> usize {
        let connection = protocols.connection.as_ref().map_or(0, |connection| connection.heap_bytes());
        let transport = match &protocols.transport {
            TransportState::Tcp(streams) => {
                streams.buffered_bytes().saturating_add(protocols.ssh_peers.buffered_bytes())
            }
            TransportState::Udp(datagrams) => datagrams.buffered_bytes(),
        };
        let p0f = protocols.p0f.as_ref().map_or(0, |p0f| size_of_val(&**p0f));
        let matches = matches.as_ref().map_or(0, |matches| matches.heap_bytes());
        transport.saturating_add(connection).saturating_add(p0f).saturating_add(matches)
    }
}

impl Observers {
    /// Returns the earliest example of each counter of what the protocols could not read.
    pub(crate) fn examples(&self) -> &Examples {
        &self.examples
    }

    #[cold]
    fn count_suppressed(&mut self, events: u64) {
        let suppressed = &mut self.counters.events_suppressed.connection;
        *suppressed = suppressed.saturating_add(events);
    }

    /// Makes a segment the example of counters that counted it and have no earlier one.
    #[inline(always)]
    fn add_examples(&mut self, segment: &Segment<'_>, sender: Side) {
        let sum = blind_spots::sum_of_protocols(&self.counters);
        debug_assert!(sum != self.examined_sum || self.is_examined(), "a counter is missing in the sum");
        if sum != self.examined_sum {
            self.examined_sum = sum;
            self.add_new_examples(segment, sender);
        }
    }

    #[cold]
    fn add_new_examples(&mut self, segment: &Segment<'_>, sender: Side) {
        self.update_examined(|examples, name| examples.add_segment(name, segment, sender));
    }

    /// Calls `changed` with the name of each counter that changed.
    fn update_examined(&mut self, mut changed: impl FnMut(&mut Examples, &'static str)) {
        let counts = blind_spots::of_protocols(&self.counters).into_iter();
        for ((name, count, _), examined) in counts.zip(&mut self.examined) {
            if count != *examined {
                *examined = count;
                changed(&mut self.examples, name);
            }
        }
    }

    /// Takes the counters as they are: no later segment is the example of what they counted.
    fn skip_examples(&mut self) {
        let sum = blind_spots::sum_of_protocols(&self.counters);
        if sum != self.examined_sum {
            self.examined_sum = sum;
            self.update_examined(|_, _| {});
        }
    }

    /// Whether the counters of blind spots are those when examples were last added.
    fn is_examined(&self) -> bool {
        let counts = blind_spots::of_protocols(&self.counters).into_iter().map(|(_, count, _)| count);
        counts.eq(self.examined)
    }

    /// Whether TCP fingerprints need nothing of a segment.
    #[inline(always)]
    fn skips_tcp(&self, ts: Timestamp, flags: TcpFlags, sender: Side, flow: &TcpFlow, is_done: bool) -> bool {
        const CONTROL: TcpFlags = TcpFlags::SYN.union(TcpFlags::FIN).union(TcpFlags::RST);
        let can_skip = || self.tcp.as_ref().is_some_and(|observer| observer.can_skip(ts, sender, flow));
        is_done || !flags.intersects(CONTROL) && can_skip()
    }

    /// Runs the protocols over a segment, and adds it and their findings to the summary of its connection.
    // Not inlined, so that an analysis without summaries has no more code.
    #[cold]
    #[inline(never)]
    fn summarize(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut ProtocolStates,
        emit: &mut impl FnMut(Origin, FlowOutput),
    ) -> Interest {
        let Some(mut connection) = flow.connection.take() else { return Interest::More };
        connection.on_segment(segment, sender);
        if connection.interest == Interest::More {
            connection.interest = self.analyze(segment, sender, flow, &mut |origin, output| {
                connection.on_output(&output, origin.subject);
                emit(origin, output);
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
        flow: &mut ProtocolStates,
        emit: &mut impl FnMut(Origin, FlowOutput),
    ) -> Interest {
        let Some(tcp) = segment.tcp() else {
            let interest = self.on_datagram(segment, sender, flow, emit);
            self.add_examples(segment, sender);
            return interest;
        };
        if !self.skips_tcp(segment.ts, tcp.flags, sender, &flow.tcp, flow.tcp_done) {
            flow.tcp_done = self.on_tcp(segment, sender, flow, emit) == Interest::Done;
        }
        if let Some(update) = flow.p0f.as_mut().and_then(|p0f| p0f.on_segment(segment, sender)) {
            emit(sender.into(), Route::Update(update.into()));
        }
        if !flow.streams_done {
            flow.streams_done = self.on_stream(segment, sender, flow, emit) == Interest::Done;
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
        flow: &mut ProtocolStates,
        emit: &mut impl FnMut(Origin, FlowOutput),
    ) -> Interest {
        let Some(tcp) = &mut self.tcp else { return Interest::Done };
        let database = &self.database;
        let ProtocolStates { tcp: state, by_tool, systems, p0f, .. } = flow;
        let (scope, profiles) = (self.scope, self.profiles);
        let interest = tcp.on_segment(segment, sender, state, &mut |origin, event| {
            let side = origin.subject;
            let (signature, sendsyn) = match event {
                TcpEvent::Syn(signature) | TcpEvent::SynAck(signature) => (signature, false),
                TcpEvent::SendsynProbe(signature) | TcpEvent::SendsynResponse(signature) => (signature, true),
                TcpEvent::Mtu(_) if *by_tool == Some(side) => return,
                TcpEvent::Mtu(mtu) => {
                    let finding = MtuFinding { mtu, link: database.match_mtu(mtu).cloned() };
                    let update = profiles.then(|| Update::Mtu(finding.clone()));
                    emit(origin, Route::Report(Finding::Mtu(finding)));
                    return update.into_iter().for_each(|update| emit(origin, Route::Update(update.into())));
                }
                TcpEvent::Clock(clock) if scope == Scope::Full => {
                    return emit(origin, Route::Update(Update::Clock(clock).into()));
                }
                _ => return,
            };
            let matched = scope.match_handshake(database, &signature);
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
            emit(origin, Route::Report(Finding::Tcp(finding)));
            if !sendsyn {
                emit(origin, Route::Update(Update::Tcp(update).into()));
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
        sender: Side,
        flow: &mut ProtocolStates,
        emit: &mut impl FnMut(Origin, FlowOutput),
    ) -> Interest {
        let ProtocolStates { tcp: handshake, transport, ssh_peers, http_done, .. } = flow;
        let TransportState::Tcp(streams) = transport else { return Interest::Done };
        if self.scope == Scope::P0f {
            *http_done |= ends_http(segment, self.tcp.is_some().then_some(handshake));
        }
        let enabled = self.stream_protocols(*http_done);
        if !enabled.any() {
            *streams = StreamFlow::default();
            return Interest::Done;
        }
        let payload = match self.scope {
            Scope::Full => without_padding(segment),
            // p0f treats padding as payload.
            Scope::P0f => segment.payload,
        };
        if let Some(tcp) = segment.tcp().filter(|_| !ssh_peers.has_pending())
            && let Some(interest) = streams.skip_segment(tcp, payload.len(), sender)
        {
            return interest;
        }
        let missed = self.counters.streams;
        let mut has_parsed = false;
        let Some((streams, stream_counters, decryption, mut reader)) = self.stream_reader(flow, enabled)
        else {
            return Interest::Done;
        };
        #[cfg(feature = "decrypt")]
        decryption.note_time(segment.ts);
        let interest = streams.read_segment(
            segment,
            payload,
            sender,
            stream_counters,
            || Parsers::new(enabled, decryption),
            &mut |parsers, input| {
                has_parsed = true;
                reader.on_data(parsers, input, &mut |side, output| emit(input.origin(side), output));
            },
        );
        #[cfg(feature = "decrypt")]
        if has_parsed && let Some(content) = streams.parsers_mut().and_then(Parsers::content_mut) {
            content.note_last(|| (PacketRef::from_segment(segment), FlowId::from_segment(segment, sender)));
        }
        let ParserReader { findings: ParserFindings { clients, .. }, peers, ssh_peers, .. } = reader;
        ssh_peers.on_segment(segment, payload.len(), sender, peers, &mut |side, event| {
            on_ssh(clients, side, event, &mut |side, output| emit(side.into(), output));
        });
        if has_parsed || missed != self.counters.streams {
            self.add_examples(segment, sender);
        }
        interest
    }

    /// The enabled protocols over TCP streams.
    fn stream_protocols(&self, http_done: bool) -> StreamProtocols {
        StreamProtocols {
            http: self.http && !http_done,
            tls: self.tls,
            tls_settings: self.tls_settings,
            ssh: self.ssh,
            #[cfg(feature = "decrypt")]
            decrypts: self.scope == Scope::Full,
        }
    }

    /// Returns the streams of a TCP flow, their counters, the settings of decryption, and what reads their data.
    fn stream_reader<'a>(
        &'a mut self,
        flow: &'a mut ProtocolStates,
        enabled: StreamProtocols,
    ) -> Option<(&'a mut StreamFlow<Parsers>, &'a mut StreamCounters, &'a Decryption, ParserReader<'a>)> {
        let ProtocolStates { transport, ssh_peers, systems, mismatch, .. } = flow;
        let TransportState::Tcp(streams) = transport else { return None };
        let ProtocolCounters {
            streams: stream_counters,
            http,
            tls,
            ssh: SshCounters { parser, peers, .. },
            decryption,
            ..
        } = &mut self.counters;
        let reader = ParserReader {
            findings: ParserFindings {
                database: &self.database,
                clients: &self.clients,
                scope: self.scope,
                profiles: self.profiles,
                notices: self.notices.is_some(),
                systems,
                mismatch,
            },
            http: enabled.http.then_some(http),
            tls,
            ssh: parser,
            decryption,
            peers,
            ssh_peers,
            conflict: None,
        };
        Some((streams, stream_counters, &self.decryption, reader))
    }

    /// Feeds what waits for the end of a connection to the stream parsers.
    fn end_stream(&mut self, flow: &mut ProtocolStates, emit: &mut impl FnMut(Event<FlowOutput>)) {
        let (enabled, before) = (self.stream_protocols(flow.http_done), self.counters.streams);
        let Some((streams, counters, decryption, mut reader)) = self.stream_reader(flow, enabled) else {
            return;
        };
        if let Some(parsers) = streams.parsers_mut() {
            reader.on_end(parsers, emit);
        }
        let mut first = None;
        std::mem::take(streams).on_end(
            counters,
            || Parsers::new(enabled, decryption),
            |flow, parsers: &mut Parsers, input| {
                reader.on_data(parsers, input, &mut |side, output| emit(input.event(flow, side, output)));
                first.get_or_insert_with(|| input.event(flow, Side::Client, ()));
            },
        );
        let ParserReader { findings: ParserFindings { clients, .. }, peers, ssh_peers, .. } = reader;
        std::mem::take(ssh_peers).on_end(peers, &mut |event| {
            let Event { ts, packet_number: number, flow, subject, kind, .. } = event;
            on_ssh(clients, subject, kind, &mut |side, output| {
                emit(Event::from_origin(PacketRef { ts, number }, flow.clone(), side.into(), output));
            });
        });
        if let Some(event) = first.filter(|_| before.gaps != self.counters.streams.gaps) {
            self.examples.add_event("gaps", &event);
        }
    }

    /// Reads the datagrams that wait for a secret at the end of a flow.
    #[cfg(feature = "decrypt")]
    fn end_datagrams(&mut self, flow: &mut ProtocolStates, emit: &mut impl FnMut(Event<FlowOutput>)) {
        let ProtocolStates { transport: TransportState::Udp(state), systems, mismatch, .. } = flow else {
            return;
        };
        let (Some(mut quic), Some(secrets)) = (state.quic.take(), self.decryption.given_secrets()) else {
            return;
        };
        let Some((packet, flow)) = quic.take_last() else { return };
        let findings = ParserFindings {
            database: &self.database,
            clients: &self.clients,
            scope: self.scope,
            profiles: self.profiles,
            notices: self.notices.is_some(),
            systems,
            mismatch,
        };
        let ProtocolCounters { http, tls, decryption, .. } = &mut self.counters;
        let reads_handshakes = self.tls && self.tls_settings.handshakes;
        let mut content = QuicContent {
            http: self.http.then_some(http),
            handshakes: reads_handshakes.then_some(&mut tls.handshakes),
            decryption,
        };
        let emit = &mut |side: Side, output| {
            emit(Event::from_origin(packet, flow.clone(), side.into(), output));
        };
        quic.on_end(secrets, &mut content, &mut |side, event| {
            quic_content::report(&findings, side, event, emit);
        });
    }

    /// Whether HTTP in TLS and QUIC is decrypted.
    fn decrypts_http(&self) -> bool {
        #[cfg(feature = "decrypt")]
        return self.http && self.scope == Scope::Full && self.decryption.secrets().is_some();
        #[cfg(not(feature = "decrypt"))]
        false
    }

    /// Feeds a UDP datagram to TLS.
    fn on_datagram(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut ProtocolStates,
        emit: &mut impl FnMut(Origin, FlowOutput),
    ) -> Interest {
        if !self.tls && !self.decrypts_http() {
            return Interest::Done;
        }
        let ProtocolStates { transport, systems, mismatch, .. } = flow;
        if let TransportState::Tcp(_) = transport {
            *transport = TransportState::Udp(UdpState::default());
        }
        let TransportState::Udp(state) = transport else { return Interest::Done };
        #[cfg(feature = "decrypt")]
        let tls = self.tls;
        let Self { tls_udp, counters, database, clients, scope, profiles, notices, .. } = self;
        let findings = ParserFindings {
            database,
            clients,
            scope: *scope,
            profiles: *profiles,
            notices: notices.is_some(),
            systems,
            mismatch,
        };
        let payload = segment.payload;
        #[cfg(feature = "decrypt")]
        if let Some(secrets) = self.decryption.secrets().filter(|_| *scope == Scope::Full) {
            self.decryption.note_time(segment.ts);
            let UdpState { tls: hello_state, quic } = state;
            let ProtocolCounters { http, tls: tls_counters, decryption, .. } = counters;
            let mut unread = TlsCounters::default();
            let hellos = if tls { &mut *tls_counters } else { &mut unread };
            tls_udp.on_datagram(payload, sender, hello_state, hellos, &mut |origin, event| {
                QuicConnections::on_hello(quic, origin.subject, payload, &event);
                if tls {
                    let emit = &mut |subject, output| emit(Origin { subject, ..origin }, output);
                    findings.on_tls(origin.subject, event, false, emit);
                }
            });
            let Some(quic) = quic else { return Interest::More };
            if let Some(random) = hello_state.take_renewed_random() {
                quic.renew(sender, payload, &random);
            }
            let mut content = QuicContent {
                http: self.http.then_some(http),
                handshakes: (tls && self.tls_settings.handshakes).then_some(&mut tls_counters.handshakes),
                decryption,
            };
            let emit = &mut |subject: Side, output| emit(subject.into(), output);
            quic.on_datagram(sender, payload, secrets, &mut content, &mut |side, event| {
                quic_content::report(&findings, side, event, emit);
            });
            quic.note_last(|| (PacketRef::from_segment(segment), FlowId::from_segment(segment, sender)));
            return Interest::More;
        }
        tls_udp.on_datagram(payload, sender, &mut state.tls, &mut counters.tls, &mut |origin, event| {
            let emit = &mut |subject, output| emit(Origin { subject, ..origin }, output);
            findings.on_tls(origin.subject, event, false, emit);
        })
    }
}
