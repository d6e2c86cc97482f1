//! Runs all protocols over one flow table.

mod allowance;
mod counters;
mod datagrams;
mod decryption;
mod examples;
mod flow_state;
mod login;
mod open_connection;
mod own;
mod progress;
mod protocol_kinds;
#[cfg(feature = "decrypt")]
mod quic_content;
mod settings;
#[cfg(all(test, target_pointer_width = "64"))]
mod sizes;
mod stages;
mod strays;
mod stream_parsers;
mod streams;
mod tcp;

use std::net::SocketAddr;
use std::sync::Arc;

use huginn_net_core::{
    Event, Examples, FlowId, Interest, NextSeq, Origin, PacketRef, Protocol, ReplaceableReader, Route,
    Segment, Side, Tally, Timestamp, first_sender,
};
use huginn_net_http::HttpParser;
use huginn_net_ssh::SshParser;
use huginn_net_tcp::TcpObserver;
use huginn_net_tls::{TlsParser, TlsParserSettings, TlsUdpObserver};

use self::allowance::{Allowance, ConnectionLimits};
pub use self::counters::ProtocolCounters;
use self::decryption::Decryption;
pub use self::decryption::DecryptionCounters;
use self::examples::BlindSpotExamples;
pub(crate) use self::flow_state::FlowState;
use self::flow_state::{ProtocolStates, TransportState};
use self::open_connection::{OpenConnection, connection_end};
#[doc(hidden)]
pub use self::own::OwnFlow;
pub use self::own::{Own, WithOwn};
use self::progress::Answered;
pub(crate) use self::protocol_kinds::{Count, of_protocols, sum};
pub use self::settings::Configure;
pub use self::stages::WithoutHosts;
use self::strays::Strays;
use self::stream_parsers::Parsers;
use crate::Observation;
use crate::alert::KnownAlerts;
use crate::clients::NamingDatabases;
use crate::event_limits::EventFrame;
pub use crate::event_limits::{EventLimits, SuppressedEvents};
use crate::hosts::{
    Baseline, FlowOutput, HostLimits, HostUpdate, Hosts, Observed, Progress, ProgressUpdate, Update,
};
use crate::p0f_flow::is_hidden_from_p0f;
use crate::parser_events::ParserSettings;
pub use crate::scope::Scope;
use crate::watch::{FlowMatches, Matches, Watcher};

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
    settings: ParserSettings,
    /// Where both databases come from, if they can be replaced.
    replaceable_databases: Option<Box<ReplaceableReader<NamingDatabases>>>,
    hosts: HostLimits,
    event_limits: EventLimits,
    connections: bool,
    connection_ends: bool,
    watcher: Option<Box<Watcher>>,
    baseline: Option<Arc<Baseline>>,
    known: Option<Arc<KnownAlerts>>,
    examples: BlindSpotExamples,
    /// Absent unless findings are enabled.
    strays: Option<Box<Strays>>,
}

/// The update for the values of an observation about a side, if baselines list them.
fn baseline_update(output: &FlowOutput, subject: Side) -> Option<FlowOutput> {
    let Route::Report(observation) = output else { return None };
    Some(Route::Update(Update::Observed(Box::new(Observed::of(observation, subject)?)).into()))
}

/// The update for a step of a connection.
fn progress_update(step: Progress, by_tool: bool, is_proven: bool) -> FlowOutput {
    let mut update = HostUpdate::from(Update::Progress(ProgressUpdate { step, by_tool }));
    update.set_proven(is_proven);
    Route::Update(update)
}

/// Adds to an output what the flow knows: whether its addresses are proven, and the packet of a conflict.
#[inline]
fn complete(output: &mut FlowOutput, is_proven: bool, packet_number: impl FnOnce() -> u64) {
    match output {
        Route::Update(update) => update.set_proven(is_proven),
        Route::Report(Observation::Conflict(found)) => found.complete(packet_number(), is_proven),
        Route::Report(_) => {}
    }
}

/// What profiles, watch lists, a baseline and known alerts do with the events of a flow.
struct Checks<'a> {
    allowance: &'a mut Allowance,
    limits: ConnectionLimits,
    has_updated: &'a mut [bool; 2],
    matches: &'a mut Option<Box<FlowMatches>>,
    watcher: Option<&'a mut Watcher>,
    known: Option<&'a KnownAlerts>,
    has_profiles: bool,
    has_baseline: bool,
    is_proven: bool,
    answered: Answered,
    /// Number of events above the limits.
    suppressed: u64,
}

impl Checks<'_> {
    /// Emits an output unless it is known or exceeds the limits, and what follows it: its values for the baseline, and its matches.
    /// `ends`: client and server. `emit` also takes the subject and the length of the text, if it is known.
    fn pass(
        &mut self,
        mut output: FlowOutput,
        subject: Side,
        (frame, reserved): (EventFrame, u64),
        (ts, ends): (Timestamp, (SocketAddr, SocketAddr)),
        emit: &mut dyn FnMut(Side, u32, FlowOutput),
    ) {
        let known = self.known;
        let is_known = |observation: &Observation, subject: Side| {
            known.is_some_and(|known| known.silences(observation, ts, ends, subject))
        };
        let mut found = Matches::default();
        match &mut output {
            Route::Report(observation) if is_known(observation, subject) => return,
            Route::Report(observation) => {
                if let Some(watcher) = &mut self.watcher {
                    found = watcher.on_observation(observation, subject, self.matches, || ends);
                }
            }
            Route::Update(_) if self.has_profiles => mark_first(self.has_updated, subject, &mut output),
            Route::Update(_) => {}
        }
        self.suppressed = self.suppressed.saturating_add(found.suppressed);
        let observed = if self.has_baseline { baseline_update(&output, subject) } else { None };
        match self.allowance.admits_reserved(&self.limits, frame, &output, reserved) {
            Some(text_bytes) => emit(subject, text_bytes, output),
            None => self.suppressed = self.suppressed.saturating_add(1),
        }
        observed.into_iter().for_each(|update| emit(subject, 0, update));
        for (subject, mut found) in found.reported {
            found.is_proven = self.is_proven;
            let observation = Observation::Match(Box::new(found));
            if !is_known(&observation, subject) {
                let text_bytes = self.allowance.charge(&self.limits, frame, &observation);
                emit(subject, text_bytes, Route::Report(observation));
            }
        }
    }
}

/// What a segment caused.
#[derive(Clone, Copy, Default)]
struct Emitted {
    /// Whether there are events for the sink.
    has_reports: bool,
    /// Whether one has the algorithms of SSH, after which the login comes.
    has_keys: bool,
    /// Number of events above the limits.
    suppressed: u64,
}

impl Emitted {
    #[inline]
    fn add(&mut self, output: &FlowOutput) {
        if let Route::Report(observation) = output {
            self.has_reports = true;
            self.has_keys |= matches!(observation, Observation::SshHandshake(_));
        }
    }

    fn suppress(&mut self, output: &FlowOutput) {
        self.has_keys |= matches!(output, Route::Report(Observation::SshHandshake(_)));
        self.suppressed = self.suppressed.saturating_add(1);
    }
}

/// The number of the packet of an event.
fn number_of(origin: &Origin, segment: &Segment<'_>) -> u64 {
    origin.packet.map_or(segment.packet_number, |found| found.number)
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
    type Event = Route<Observation, HostUpdate>;
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
            settings: self.settings.clone(),
            replaceable_databases: self.replaceable_databases.clone(),
            decryption: self.decryption.clone(),
            watcher: self.watcher.clone(),
            baseline: self.baseline.clone(),
            known: self.known.clone(),
            examples: BlindSpotExamples::default(),
            strays: self.strays.as_ref().map(|_| Box::default()),
            ..*self
        }
    }

    fn join(&mut self, worker: Self) {
        self.counters.add(&worker.counters);
        self.examples.merge(&worker.examples, &self.counters);
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

    #[inline]
    fn on_stray_segment(&mut self, segment: &Segment<'_>, emit: &mut impl FnMut(Side, FlowOutput)) {
        if let Some(kind) = self.strays.as_mut().and_then(|strays| strays.on_segment(segment)) {
            emit(Side::Client, progress_update(Progress::Stray(kind), false, false));
        }
    }

    /// Skips most segments of an open connection: acknowledgements, and the next part of a body.
    #[inline(always)]
    fn skip_segment(&mut self, segment: &Segment<'_>, sender: Side, flow: &mut FlowState) -> bool {
        let FlowState { protocols, allowance, handshake: progress, login, .. } = flow;
        let ProtocolStates { tcp: handshake, transport, ssh_peers, .. } = protocols;
        let (Some(tcp), TransportState::Tcp(streams)) = (segment.tcp(), transport) else { return false };
        let is_read = self.settings.scope != Scope::Full
            || self.connections
            || protocols.streams_done
            || ssh_peers.has_pending()
            || progress.awaits(sender)
            || login.is_some()
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
        let FlowState { protocols, allowance, has_updated, handshake, login, matches } = flow;
        if self.settings.scope == Scope::P0f {
            return self.analyze(segment, sender, protocols, emit);
        }
        allowance.add_segment(self.event_limits.max_output_ratio, segment);
        if self.connections && protocols.connection.is_none() {
            let ratio = self.event_limits.max_output_ratio;
            let is_reserved = allowance.reserve_summary(ratio, segment);
            protocols.connection = Some(Box::new(OpenConnection::new(segment, sender, is_reserved)));
        }
        let has_findings = self.settings.findings.is_some();
        let by_tool = protocols.by_tool == Some(Side::Client);
        let is_followed = has_findings || by_tool;
        if let Some(step) = handshake.on_segment(segment, sender, is_followed)
            && is_followed
        {
            emit(Side::Client.into(), progress_update(step, by_tool, handshake.is_proven()));
        }
        let (is_proven, mut emitted) = (handshake.is_proven(), Emitted::default());
        let answered = Answered::new(*handshake, segment.tcp().is_some());
        let is_plain = !self.settings.profiles
            && self.baseline.is_none()
            && self.watcher.is_none()
            && self.known.is_none();
        let interest = if is_plain {
            let (limits, frame) = (self.event_limits.of_connection(), EventFrame::from_segment(segment));
            self.run(segment, sender, protocols, &mut |origin, mut output| {
                complete(&mut output, is_proven, || number_of(&origin, segment));
                match allowance.admits(&limits, frame, &output) {
                    Some(text_bytes) => {
                        emitted.add(&output);
                        let is_answered = answered.for_subject(origin.subject);
                        emit(Origin { text_bytes, is_answered, ..origin }, output);
                    }
                    None => emitted.suppress(&output),
                }
            })
        } else {
            let checks = self.checks(allowance, has_updated, matches, (is_proven, answered));
            let interest;
            (interest, emitted) = self.run_checked(segment, sender, protocols, checks, emit);
            interest
        };
        if emitted.suppressed > 0 {
            self.count_suppressed(emitted.suppressed);
            self.examples.clear_changed();
            self.examples.add_segment(&self.counters, segment, sender);
            if let Some(connection) = protocols.connection.as_mut().filter(|_| self.connections) {
                connection.note_blind_spots(self.examples.changed());
            }
        }
        if emitted.has_reports && self.has_connection_ends() {
            let flow = || FlowId::from_segment(segment, sender);
            protocols.note_report(PacketRef::from_segment(segment), flow);
        }
        if emitted.has_keys && has_findings {
            *login = Some(Box::default());
        }
        if let Some(found) = login.as_mut().and_then(|login| login.on_segment(segment, sender)) {
            *login = None;
            emit(Side::Client.into(), progress_update(Progress::Login(found), false, is_proven));
        }
        let is_awaited = login.is_some() || is_followed && handshake.is_pending();
        if is_awaited { Interest::More } else { interest }
    }

    fn next_seq(FlowState { protocols, .. }: &FlowState, sender: Side) -> NextSeq {
        match &protocols.transport {
            TransportState::Tcp(streams) if !protocols.streams_done => streams.next_seq(sender),
            TransportState::Tcp(_) | TransportState::Udp(_) => NextSeq::Unread,
        }
    }

    fn outlasts_connection(FlowState { protocols, .. }: &mut FlowState, is_agreed: bool) -> bool {
        match &mut protocols.transport {
            TransportState::Tcp(streams) => {
                streams.parsers().is_some_and(Parsers::waits_for_secret)
                    || !is_agreed && !protocols.streams_done && streams.awaits_message()
            }
            TransportState::Udp(_) => false,
        }
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
        let FlowState { mut protocols, mut allowance, mut has_updated, handshake, mut matches, .. } = flow;
        let is_proven = handshake.is_proven();
        let answered = Answered::new(handshake, matches!(protocols.transport, TransportState::Tcp(_)));
        let (mut connection, ends) = (protocols.connection.take(), self.has_connection_ends());
        let mut last = None;
        let (mut watcher, known) = (self.watcher.take(), self.known.take());
        let checks = self.checks(&mut allowance, &mut has_updated, &mut matches, (is_proven, answered));
        let mut checks = Checks { watcher: watcher.as_deref_mut(), known: known.as_deref(), ..checks };
        let mut admit = |mut event: Event<FlowOutput>, is_reserved: bool| {
            let frame = EventFrame::from_event(&event);
            complete(&mut event.kind, is_proven, || event.packet_number);
            let reserved = if is_reserved { frame.summary_bytes() } else { 0 };
            let Event { ts, packet_number, flow, subject, conflict, kind, .. } = event;
            let at = (ts, (flow.client, flow.server));
            checks.pass(kind, subject, (frame, reserved), at, &mut |subject, text_bytes, kind| {
                let is_match = matches!(kind, Route::Report(Observation::Match(_)));
                let mut event = Event::new(ts, packet_number, flow.clone(), subject, kind);
                event.conflict = conflict;
                event.is_answered = answered.for_subject(subject);
                event.text_bytes = if is_match { text_bytes } else { 0 };
                let is_later =
                    || last.as_ref().is_none_or(|(last, _): &(PacketRef, _)| packet_number >= last.number);
                if ends && matches!(event.kind, Route::Report(_)) && is_later() {
                    last = Some((PacketRef { ts, number: packet_number }, event.flow.clone()));
                }
                emit(event);
            });
        };
        let mut on_event = |event: Event<FlowOutput>| {
            if let Some(connection) = &mut connection {
                connection.on_output(&event.kind, event.subject);
            }
            admit(event, false);
        };
        self.examples.clear_changed();
        self.end_stream(&mut protocols, &mut on_event);
        #[cfg(feature = "decrypt")]
        self.end_datagrams(&mut protocols, &mut on_event);
        self.examples.skip(&self.counters);
        let mut end = None;
        if let Some(mut connection) = connection {
            if self.connections {
                connection.note_blind_spots(self.examples.changed());
            }
            end = connection.end().filter(|_| ends);
            if self.connections {
                let is_reserved = connection.is_reserved;
                connection.into_event().into_iter().for_each(|event| admit(event, is_reserved));
            }
        }
        let suppressed = checks.suppressed;
        if let Some((packet, flow)) = last {
            // The last events of a flow may be its first.
            end = Some(connection_end(packet, flow));
        }
        // The limits do not apply: programs free what they have of the connection.
        end.into_iter().for_each(&mut *emit);
        (self.watcher, self.known) = (watcher, known);
        if suppressed > 0 {
            self.count_suppressed(suppressed);
            self.examples.skip(&self.counters);
        }
    }

    #[inline]
    fn buffered_bytes(FlowState { protocols, login, matches, .. }: &FlowState) -> usize {
        let connection = protocols.connection.as_ref().map_or(0, |connection| connection.heap_bytes());
        let transport = match &protocols.transport {
            TransportState::Tcp(streams) => {
                streams.buffered_bytes().saturating_add(protocols.ssh_peers.buffered_bytes())
            }
            TransportState::Udp(datagrams) => datagrams.buffered_bytes(),
        };
        let p0f = protocols.p0f.as_ref().map_or(0, |p0f| size_of_val(&**p0f));
        let matches = matches.as_ref().map_or(0, |matches| matches.heap_bytes());
        let login = login.as_ref().map_or(0, |login| login.heap_bytes());
        transport.saturating_add(connection).saturating_add(p0f).saturating_add(matches).saturating_add(login)
    }
}

impl Observers {
    /// The counters since the observers were created.
    pub fn counters(&self) -> ProtocolCounters {
        self.counters
    }

    /// Returns the earliest example of each counter of what the protocols could not read.
    pub(crate) fn examples(&self) -> &Examples {
        &self.examples.examples
    }

    #[cold]
    fn count_suppressed(&mut self, events: u64) {
        let suppressed = &mut self.counters.events_suppressed.connection;
        *suppressed = suppressed.saturating_add(events);
    }

    /// Runs the protocols over a segment, and adds it to the summary of its connection if there is one.
    #[inline(always)]
    fn run(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut ProtocolStates,
        emit: &mut dyn FnMut(Origin, FlowOutput),
    ) -> Interest {
        if self.connections {
            self.summarize(segment, sender, flow, emit)
        } else {
            self.analyze(segment, sender, flow, emit)
        }
    }

    /// Whether the ends of connections are reported.
    fn has_connection_ends(&self) -> bool {
        self.connection_ends && self.settings.scope == Scope::Full
    }

    /// The checks of events, without watch lists and known alerts.
    fn checks<'a>(
        &self,
        allowance: &'a mut Allowance,
        has_updated: &'a mut [bool; 2],
        matches: &'a mut Option<Box<FlowMatches>>,
        (is_proven, answered): (bool, Answered),
    ) -> Checks<'a> {
        Checks {
            allowance,
            limits: self.event_limits.of_connection(),
            has_updated,
            matches,
            watcher: None,
            known: None,
            has_profiles: self.settings.profiles,
            has_baseline: self.baseline.is_some(),
            is_proven,
            answered,
            suppressed: 0,
        }
    }

    /// As [`run`](Self::run), with profiles, watch lists, a baseline or known alerts, which take part in each event.
    // Not inlined, so that an analysis without them has no more code.
    #[cold]
    #[inline(never)]
    fn run_checked(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut ProtocolStates,
        checks: Checks<'_>,
        emit: &mut dyn FnMut(Origin, FlowOutput),
    ) -> (Interest, Emitted) {
        let (mut watcher, known) = (self.watcher.take(), self.known.take());
        let mut checks = Checks { watcher: watcher.as_deref_mut(), known: known.as_deref(), ..checks };
        let frame = (EventFrame::from_segment(segment), 0);
        let (own, other) = (segment.source(), segment.destination());
        let at = (segment.ts, sender.choose((own, other), (other, own)));
        let (mut emitted, answered) = (Emitted::default(), checks.answered);
        let interest = self.run(segment, sender, flow, &mut |origin, mut output| {
            complete(&mut output, checks.is_proven, || number_of(&origin, segment));
            emitted.has_keys |= matches!(output, Route::Report(Observation::SshHandshake(_)));
            checks.pass(output, origin.subject, frame, at, &mut |subject, text_bytes, output| {
                emitted.add(&output);
                let is_answered = answered.for_subject(subject);
                emit(Origin { subject, text_bytes, is_answered, ..origin }, output);
            });
        });
        emitted.suppressed = checks.suppressed;
        (self.watcher, self.known) = (watcher, known);
        (interest, emitted)
    }

    /// Runs the protocols over a segment, and adds it and their events to the summary of its connection.
    // Not inlined, so that an analysis without summaries has no more code.
    #[cold]
    #[inline(never)]
    fn summarize(
        &mut self,
        segment: &Segment<'_>,
        sender: Side,
        flow: &mut ProtocolStates,
        emit: &mut dyn FnMut(Origin, FlowOutput),
    ) -> Interest {
        let Some(mut connection) = flow.connection.take() else { return Interest::More };
        connection.on_segment(segment, sender);
        if connection.interest == Interest::More {
            self.examples.clear_changed();
            connection.interest = self.analyze(segment, sender, flow, &mut |origin, output| {
                connection.on_output(&output, origin.subject);
                emit(origin, output);
            });
            connection.note_blind_spots(self.examples.changed());
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
        emit: &mut dyn FnMut(Origin, FlowOutput),
    ) -> Interest {
        let Some(tcp) = segment.tcp() else {
            let interest = self.on_datagram(segment, sender, flow, emit);
            self.examples.add_segment(&self.counters, segment, sender);
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

    /// Whether a segment is out of scope.
    fn is_hidden(&self, segment: &Segment<'_>) -> bool {
        self.settings.scope == Scope::P0f && is_hidden_from_p0f(segment)
    }
}
