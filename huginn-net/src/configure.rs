//! The settings of the protocols, on the builder of the analyzer.

use std::sync::Arc;

use huginn_net_core::{Builder, Replaceable};
use huginn_net_db::{ClientDatabase, Database};

use crate::alert::KnownAlerts;
use crate::clients::NamingDatabases;
use crate::event_limits::EventLimits;
use crate::hosts::{Baseline, HostLimits, NoticeSettings};
use crate::watch::WatchListHandle;
use crate::{Observers, Scope};

/// The settings of the protocols, for the builder of a [`HuginnNet`](crate::HuginnNet); those of the engine are methods of
/// [`Builder`].
///
/// ```
/// use huginn_net::{Configure, HuginnNet};
///
/// let analyzer = HuginnNet::builder().profiles(true).ssh(false).block_bytes(1 << 16).build();
/// assert!(analyzer.shared_state().profiles().next().is_none());
/// ```
pub trait Configure: Sized {
    /// Changes all settings of the protocols at once.
    #[must_use]
    fn observers(self, change: impl FnOnce(Observers) -> Observers) -> Self;

    /// Sets the database of signatures (default: the built-in one).
    #[must_use]
    fn database(self, database: Arc<Database>) -> Self {
        self.observers(|observers| observers.database(database))
    }

    /// Enables (default) or disables TCP fingerprints.
    #[must_use]
    fn tcp(self, run: bool) -> Self {
        self.observers(|observers| observers.tcp(run))
    }

    /// Enables (default) or disables HTTP fingerprints.
    #[must_use]
    fn http(self, run: bool) -> Self {
        self.observers(|observers| observers.http(run))
    }

    /// Enables (default) or disables TLS fingerprints.
    #[must_use]
    fn tls(self, run: bool) -> Self {
        self.observers(|observers| observers.tls(run))
    }

    /// Enables (default) or disables SSH fingerprints.
    #[must_use]
    fn ssh(self, run: bool) -> Self {
        self.observers(|observers| observers.ssh(run))
    }

    /// Decrypts TLS with these secrets, or not (default); see [`Observers::secrets`].
    #[cfg(feature = "decrypt")]
    #[must_use]
    fn secrets(self, secrets: Option<huginn_net_decrypt::Secrets>) -> Self {
        self.observers(|observers| observers.secrets(secrets))
    }

    /// Sets the scope of the reports.
    #[must_use]
    fn scope(self, scope: Scope) -> Self {
        self.observers(|observers| observers.scope(scope))
    }

    /// Sets the database that names clients (default: the built-in one).
    #[must_use]
    fn clients(self, clients: Arc<ClientDatabase>) -> Self {
        self.observers(|observers| observers.clients(clients))
    }

    /// Takes both databases from a place where they can be replaced; see [`Observers::replaceable_databases`].
    #[must_use]
    fn replaceable_databases(self, databases: Replaceable<NamingDatabases>) -> Self {
        self.observers(|observers| observers.replaceable_databases(databases))
    }

    /// Sets watch lists; see [`Observers::watch_lists`].
    #[must_use]
    fn watch_lists(self, lists: WatchListHandle) -> Self {
        self.observers(|observers| observers.watch_lists(lists))
    }

    /// Sets the limits of the host table.
    #[must_use]
    fn hosts(self, limits: HostLimits) -> Self {
        self.observers(|observers| observers.hosts(limits))
    }

    /// Sets the limits of the output: lengths of texts, and rates of events.
    #[must_use]
    fn event_limits(self, limits: EventLimits) -> Self {
        self.observers(|observers| observers.event_limits(limits))
    }

    /// Follows TLS handshakes to their end, or not (default); see [`Observers::handshakes`].
    #[must_use]
    fn handshakes(self, follow: bool) -> Self {
        self.observers(|observers| observers.handshakes(follow))
    }

    /// Enables or disables (default) a profile of each host; see [`Observers::profiles`].
    #[must_use]
    fn profiles(self, remember: bool) -> Self {
        self.observers(|observers| observers.profiles(remember))
    }

    /// Reports scans, beacons, contradictions and imitations with these thresholds, or none (default); see
    /// [`Observers::notices`].
    #[must_use]
    fn notices(self, settings: Option<NoticeSettings>) -> Self {
        self.observers(|observers| observers.notices(settings))
    }

    /// Reports the fingerprints that a baseline lacks, or adds them to it; see [`Observers::baseline`].
    #[must_use]
    fn baseline(self, baseline: Option<Baseline>) -> Self {
        self.observers(|observers| observers.baseline(baseline))
    }

    /// Leaves known alerts out; see [`Observers::known`].
    #[must_use]
    fn known(self, known: Option<Arc<KnownAlerts>>) -> Self {
        self.observers(|observers| observers.known(known))
    }

    /// Enables or disables (default) a summary of each connection; see [`Observers::connections`].
    #[must_use]
    fn connections(self, report: bool) -> Self {
        self.observers(|observers| observers.connections(report))
    }
}

impl Configure for Builder<Observers> {
    fn observers(self, change: impl FnOnce(Observers) -> Observers) -> Self {
        self.map_protocol(change)
    }
}
