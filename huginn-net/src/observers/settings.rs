//! What the observers look for, set as by a builder.

use std::sync::Arc;

use huginn_net_core::{Replaceable, ReplaceableReader};
use huginn_net_db::{ClientDatabase, Database};
use huginn_net_tcp::TcpObserver;
use huginn_net_tls::{TlsParserSettings, TlsUdpObserver};

use super::{BlindSpotExamples, Decryption, Observers, ProtocolCounters};
use crate::alert::KnownAlerts;
use crate::clients::NamingDatabases;
use crate::event_limits::EventLimits;
use crate::finding::Clients;
use crate::hosts::{Baseline, HostLimits, Hosts, NoticeSettings};
use crate::parser_findings::FindingSettings;
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
            settings: FindingSettings {
                database,
                clients: Clients::default(),
                scope: Scope::default(),
                profiles: false,
                notices: None,
                handshakes: false,
            },
            replaceable_databases: None,
            hosts: HostLimits::default(),
            event_limits: EventLimits::default(),
            connections: false,
            watcher: None,
            baseline: None,
            known: None,
            examples: BlindSpotExamples::default(),
            strays: None,
        }
    }

    /// Sets the database of signatures.
    #[must_use]
    pub fn database(mut self, database: Arc<Database>) -> Self {
        self.settings.database = database;
        self
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
    pub fn handshakes(mut self, follow: bool) -> Self {
        self.settings.handshakes = follow;
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
    pub fn scope(mut self, scope: Scope) -> Self {
        self.settings.scope = scope;
        self
    }

    /// Sets the database that names clients (default: the built-in one).
    #[must_use]
    pub fn clients(mut self, clients: Arc<ClientDatabase>) -> Self {
        self.settings.clients.database = Some(clients);
        self
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

    pub(super) fn take_databases(&mut self) {
        let Some(databases) = &self.replaceable_databases else { return };
        let NamingDatabases { signatures, clients } = &**databases.value();
        self.settings.database = Arc::clone(signatures);
        self.settings.clients.database.clone_from(clients);
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
    pub fn event_limits(mut self, limits: EventLimits) -> Self {
        self.settings.clients.text_limit = limits.text();
        Self { event_limits: limits, ..self }
    }

    /// Returns an empty host table, for the updates of [`WithoutHosts`](crate::observers::WithoutHosts).
    pub fn host_table(&self) -> Hosts {
        let FindingSettings { scope, profiles, notices, .. } = self.settings;
        let hosts = Hosts::new(&self.hosts, self.event_limits, scope, profiles);
        let is_full = scope == Scope::Full;
        let hosts = hosts.with_notices(notices.filter(|_| is_full)).with_known(self.known.clone());
        hosts.with_baseline(self.baseline.as_deref().filter(|_| is_full))
    }

    /// Enables or disables (default) a [`HostProfile`](crate::hosts::HostProfile) of each host: links, software and TLS
    /// clients, in addition to the state that changes and uptimes need.
    #[must_use]
    pub fn profiles(mut self, remember: bool) -> Self {
        self.settings.profiles = remember;
        self
    }

    /// Reports [`TrafficNotice`](crate::finding::TrafficNotice) findings with these thresholds, or none (default): scans, beacons,
    /// unusual servers, certificates of C2 programs, contradictions and imitations. They cost time for every SYN, ClientHello and
    /// request. The scope of p0f has none.
    ///
    /// Handshakes over TCP without a server name are followed for them. Certificates of servers with a name are compared only if
    /// [all](Self::handshakes) are followed.
    #[must_use]
    pub fn notices(mut self, settings: Option<NoticeSettings>) -> Self {
        self.settings.notices = settings;
        self.strays = settings.map(|_| Box::default());
        self.tls_settings = self.tls_settings.nameless(settings.is_some());
        self
    }

    /// Compares fingerprints, servers, issuers and TLS clients with a baseline, or not (default). Of a
    /// [parsed](Baseline::parse) baseline, each value that it lacks is a
    /// [`NewFingerprintNotice`](crate::finding::NewFingerprintNotice), once in all captures of the analyzer. The scope of p0f has
    /// none. A baseline enables [handshakes](Self::handshakes), which have the certificates.
    #[must_use]
    pub fn baseline(self, baseline: Option<Baseline>) -> Self {
        let observers = if baseline.is_some() { self.handshakes(true) } else { self };
        Self { baseline: baseline.map(Arc::new), ..observers }
    }

    /// Leaves [known alerts](crate::alert::KnownAlerts) out, or none (default), and counts them.
    #[must_use]
    pub fn known(self, known: Option<Arc<KnownAlerts>>) -> Self {
        Self { known, ..self }
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
