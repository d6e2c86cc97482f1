//! What the observers look for, set as by a builder.

use std::sync::Arc;

use huginn_net_core::{Builder, Protocol, Replaceable, ReplaceableReader};
use huginn_net_db::{ClientDatabase, Database};
use huginn_net_tcp::TcpObserver;
use huginn_net_tls::{TlsParserSettings, TlsUdpObserver};

use super::{BlindSpotExamples, Decryption, Observers, Own, ProtocolCounters, WithOwn};
use crate::alert::KnownAlerts;
use crate::clients::NamingDatabases;
use crate::event_limits::EventLimits;
use crate::hosts::{Baseline, FindingSettings, HostLimits, Hosts};
use crate::observation::{Clients, IntoOwn, OwnObservation};
use crate::parser_events::ParserSettings;
use crate::scope::Scope;
use crate::watch::{WatchListHandle, Watcher};

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
            settings: ParserSettings {
                database,
                clients: Clients::default(),
                scope: Scope::default(),
                profiles: false,
                findings: None,
                handshakes: false,
                #[cfg(feature = "anonymize")]
                anonymizer: None,
            },
            replaceable_databases: None,
            hosts: HostLimits::default(),
            event_limits: EventLimits::default(),
            connections: false,
            connection_ends: false,
            watcher: None,
            baseline: None,
            known: None,
            examples: BlindSpotExamples::default(),
            strays: None,
        }
    }

    pub(super) fn take_databases(&mut self) {
        let Some(databases) = &self.replaceable_databases else { return };
        let NamingDatabases { signatures, clients } = &**databases.value();
        self.settings.database = Arc::clone(signatures);
        self.settings.clients.database.clone_from(clients);
    }

    /// Returns an empty host table, for the updates of [`WithoutHosts`](crate::observers::WithoutHosts).
    pub fn host_table(&self) -> Hosts {
        let ParserSettings { scope, profiles, findings, .. } = self.settings;
        let hosts = Hosts::new(&self.hosts, self.event_limits, scope, profiles);
        let is_full = scope == Scope::Full;
        let hosts = hosts.with_findings(findings.filter(|_| is_full)).with_known(self.known.clone());
        hosts.with_baseline(self.baseline.as_deref().filter(|_| is_full))
    }
}

/// The settings of the protocols, for [`Observers`] and for the builder of a [`HuginnNet`](crate::HuginnNet); those of the engine are
/// methods of [`Builder`].
///
/// ```
/// use huginn_net::{Configure, HuginnNet};
///
/// let analyzer = HuginnNet::builder().profiles(true).ssh(false).block_bytes(1 << 16).build();
/// assert!(analyzer.shared_state().profiles().next().is_none());
/// ```
pub trait Configure: Sized {
    /// Changes the observers.
    #[doc(hidden)]
    #[must_use]
    fn set(self, change: impl FnOnce(&mut Observers)) -> Self;

    /// What [`with`](Self::with) returns.
    #[doc(hidden)]
    type With<P: Protocol<SharedState = (), Event: Into<OwnObservation>>>;

    /// Adds a protocol of the caller's own: the analyzer then reports its events as [`Observation::Own`](crate::Observation::Own), beside
    /// those of the built-in protocols and as they are: in the order of the capture, within the limits, in tables and in JSON. The events
    /// are [`OwnEvent`](crate::observation::OwnEvent)s, or [`OwnObservation`]s of several types.
    ///
    /// A parser of TCP streams becomes a protocol with [`StreamObserver`](huginn_net_core::StreamObserver), its settings with
    /// [`StreamObserver::with_settings`](huginn_net_core::StreamObserver::with_settings).
    #[must_use]
    fn with<P: Protocol<SharedState = (), Event: Into<OwnObservation>>>(self, protocol: P) -> Self::With<P>;

    /// Sets the database of signatures (default: the built-in one).
    #[must_use]
    fn database(self, database: Arc<Database>) -> Self {
        self.set(|own| own.settings.database = database)
    }

    /// Enables (default) or disables TCP fingerprints.
    #[must_use]
    fn tcp(self, run: bool) -> Self {
        self.set(|own| own.tcp = run.then(TcpObserver::default))
    }

    /// Enables (default) or disables HTTP fingerprints.
    #[must_use]
    fn http(self, run: bool) -> Self {
        self.set(|own| own.http = run)
    }

    /// Enables (default) or disables TLS fingerprints.
    #[must_use]
    fn tls(self, run: bool) -> Self {
        self.set(|own| own.tls = run)
    }

    /// Follows TLS handshakes to their end, or not (default), and reports
    /// [`TlsHandshake`](crate::Observation::TlsHandshake)s and [`TlsCertificates`](crate::Observation::TlsCertificates): over TCP and of DTLS; of QUIC if
    /// they are decrypted, and those that a side closes before the ServerHello. It takes more time and memory: connections are read for longer.
    #[must_use]
    fn handshakes(self, follow: bool) -> Self {
        self.set(|own| {
            own.settings.handshakes = follow;
            own.tls_settings = own.tls_settings.handshakes(follow);
            own.tls_udp = TlsUdpObserver::with_settings(own.tls_settings);
        })
    }

    /// Keeps the [bytes](huginn_net_tls::Certificate::der) of the certificates of handshakes that are [followed](Self::handshakes), or not
    /// (default): for programs that verify them. It takes memory.
    #[must_use]
    fn certificate_bytes(self, keep: bool) -> Self {
        self.set(|own| {
            own.tls_settings = own.tls_settings.certificate_bytes(keep);
            own.tls_udp = TlsUdpObserver::with_settings(own.tls_settings);
        })
    }

    /// Enables (default) or disables SSH fingerprints.
    #[must_use]
    fn ssh(self, run: bool) -> Self {
        self.set(|own| own.ssh = run)
    }

    /// Decrypts TLS over TCP with these secrets, and reports the HTTP inside; without secrets (default), nothing is decrypted. The
    /// set may grow during the analysis; [`add_sessions`](crate::decrypt::add_sessions) adds to it before. Not in the [scope of p0f](Scope::P0f).
    #[cfg(feature = "decrypt")]
    #[must_use]
    fn secrets(self, secrets: Option<huginn_net_decrypt::Secrets>) -> Self {
        self.set(|own| own.decryption = Decryption::new(secrets))
    }

    /// Replaces the addresses in HTTP heads by their pseudonyms, but for versions of software; those of packets with
    /// [`Builder::address_map`], to which the same anonymizer belongs. Other texts, such as names in certificates, stay.
    #[cfg(feature = "anonymize")]
    #[must_use]
    fn anonymizer(self, anonymizer: Option<Arc<crate::anonymize::Anonymizer>>) -> Self {
        self.set(|own| own.settings.anonymizer = anonymizer)
    }

    /// Sets the scope of the reports.
    #[must_use]
    fn scope(self, scope: Scope) -> Self {
        self.set(|own| own.settings.scope = scope)
    }

    /// Sets the database that names clients (default: the built-in one).
    #[must_use]
    fn clients(self, clients: Arc<ClientDatabase>) -> Self {
        self.set(|own| own.settings.clients.database = Some(clients))
    }

    /// Takes both databases from a place where they can be replaced during the analysis. Events that were reported, and host profiles, keep
    /// their names.
    #[must_use]
    fn replaceable_databases(self, databases: Replaceable<NamingDatabases>) -> Self {
        self.set(|own| {
            own.replaceable_databases = Some(Box::new(ReplaceableReader::new(databases)));
            own.take_databases();
        })
    }

    /// Sets watch lists (default: none). A [`Match`](crate::observation::Match) follows each event with a value that a list
    /// watches; TLS hellos, SSH peers and HTTP requests also have its [entries](crate::Observation::listed). A flow reports each
    /// entry once; addresses are compared at its first event. Not in the [scope of p0f](Scope::P0f).
    ///
    /// Certificates need [handshakes](Self::handshakes).
    #[must_use]
    fn watch_lists(self, lists: WatchListHandle) -> Self {
        self.set(|own| own.watcher = Some(Box::new(Watcher::new(lists))))
    }

    /// Sets the limits of the host table.
    #[must_use]
    fn hosts(self, limits: HostLimits) -> Self {
        self.set(|own| own.hosts = limits)
    }

    /// Sets the limits of the output: lengths of texts, and rates of events.
    #[must_use]
    fn event_limits(self, limits: EventLimits) -> Self {
        self.set(|own| {
            own.settings.clients.text_limit = limits.text();
            own.event_limits = limits;
        })
    }

    /// Enables or disables (default) a [`HostProfile`](crate::hosts::HostProfile) of each host: links, software and TLS
    /// clients, in addition to the state that changes and uptimes need.
    #[must_use]
    fn profiles(self, remember: bool) -> Self {
        self.set(|own| own.settings.profiles = remember)
    }

    /// Reports [`Finding`](crate::observation::Finding)s with these thresholds, or none (default): scans, beacons,
    /// unusual servers, certificates of C2 programs, contradictions and imitations. They cost time for every SYN, ClientHello and
    /// request. The scope of p0f has none.
    ///
    /// Handshakes over TCP without a server name are followed for them. Certificates of servers with a name are compared only if
    /// [all](Self::handshakes) are followed.
    #[must_use]
    fn findings(self, settings: Option<FindingSettings>) -> Self {
        self.set(|own| {
            own.settings.findings = settings;
            own.strays = settings.map(|_| Box::default());
            own.tls_settings = own.tls_settings.nameless(settings.is_some());
        })
    }

    /// Compares fingerprints, servers, issuers and TLS clients with a baseline, or not (default). Of a
    /// [parsed](Baseline::parse) baseline, each value that it lacks is a
    /// [`NewFingerprintFinding`](crate::observation::NewFingerprintFinding), once in all captures of the analyzer. The scope of p0f has
    /// none. A baseline enables [handshakes](Self::handshakes), which have the certificates.
    #[must_use]
    fn baseline(self, baseline: Option<Baseline>) -> Self {
        let needed = if baseline.is_some() { self.handshakes(true) } else { self };
        needed.set(|own| own.baseline = baseline.map(Arc::new))
    }

    /// Leaves [known alerts](crate::alert::KnownAlerts) out, or none (default), and counts them.
    #[must_use]
    fn known(self, known: Option<Arc<KnownAlerts>>) -> Self {
        self.set(|own| own.known = known)
    }

    /// Enables or disables (default) a [`Connection`](crate::observation::Connection) at the end of each flow with
    /// another event. It costs time for every packet.
    #[must_use]
    fn connections(self, report: bool) -> Self {
        self.set(|own| own.connections = report)
    }

    /// Enables or disables (default) a [`ConnectionEnd`](crate::observation::ConnectionEnd) after the last event of each flow that has an
    /// event: a program that keeps state by [connection](huginn_net_core::Event::connection) then frees it. It costs memory for each
    /// flow with an event, and no time for other packets. No limit of events leaves it out. The scope of p0f has none.
    ///
    /// Conclusions about a host, such as findings, are not events of the flow: they may name a connection that has ended, or had no other event.
    #[must_use]
    fn connection_ends(self, report: bool) -> Self {
        self.set(|own| own.connection_ends = report)
    }
}

impl Configure for Observers {
    fn set(mut self, change: impl FnOnce(&mut Observers)) -> Self {
        change(&mut self);
        self
    }

    type With<P: Protocol<SharedState = (), Event: Into<OwnObservation>>> = WithOwn<Own<P>>;

    fn with<P: Protocol<SharedState = (), Event: Into<OwnObservation>>>(
        self,
        protocol: P,
    ) -> WithOwn<Own<P>> {
        WithOwn { observers: self, own: Own(protocol) }
    }
}

impl<O: Protocol<Event: IntoOwn>> Configure for WithOwn<O> {
    fn set(mut self, change: impl FnOnce(&mut Observers)) -> Self {
        change(&mut self.observers);
        self
    }

    type With<P: Protocol<SharedState = (), Event: Into<OwnObservation>>> = WithOwn<(O, Own<P>)>;

    fn with<P: Protocol<SharedState = (), Event: Into<OwnObservation>>>(
        self,
        protocol: P,
    ) -> WithOwn<(O, Own<P>)> {
        WithOwn { observers: self.observers, own: (self.own, Own(protocol)) }
    }
}

impl Configure for Builder<Observers> {
    fn set(self, change: impl FnOnce(&mut Observers)) -> Self {
        self.map_protocol(|protocol| protocol.set(change))
    }

    type With<P: Protocol<SharedState = (), Event: Into<OwnObservation>>> = Builder<WithOwn<Own<P>>>;

    fn with<P: Protocol<SharedState = (), Event: Into<OwnObservation>>>(
        self,
        protocol: P,
    ) -> Builder<WithOwn<Own<P>>> {
        self.map_protocol(|built_in| built_in.with(protocol))
    }
}

impl<O: Protocol<Event: IntoOwn>> Configure for Builder<WithOwn<O>> {
    fn set(self, change: impl FnOnce(&mut Observers)) -> Self {
        self.map_protocol(|protocol| protocol.set(change))
    }

    type With<P: Protocol<SharedState = (), Event: Into<OwnObservation>>> = Builder<WithOwn<(O, Own<P>)>>;

    fn with<P: Protocol<SharedState = (), Event: Into<OwnObservation>>>(
        self,
        protocol: P,
    ) -> Builder<WithOwn<(O, Own<P>)>> {
        self.map_protocol(|built_in| built_in.with(protocol))
    }
}

impl Default for Observers {
    fn default() -> Self {
        Self::new(Database::builtin().clone())
    }
}
