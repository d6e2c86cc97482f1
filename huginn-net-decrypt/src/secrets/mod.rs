//! Secrets of TLS sessions.

mod key_log;
mod reader;
mod session;

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};

use foldhash::HashMap;
use zeroize::Zeroizing;

pub use key_log::KeyLogSummary;
pub use reader::KeyLogReader;
pub use session::SessionConnection;
pub(crate) use session::SessionName;

use crate::limits::{MAX_ALL_WAITING_BYTES, MAX_REORDERED_SECONDS, MAX_SECRETS, MAX_WAITING_SECONDS};

/// A secret, zeroed when it is dropped. It moves as a pointer, so that no copies remain in memory.
pub(crate) type Secret = Zeroizing<Box<[u8]>>;

/// What a secret is for: the label of its line in a key log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SecretLabel {
    /// `CLIENT_RANDOM`: the master secret of a connection up to TLS 1.2.
    MasterSecret,
    /// `RSA Session-ID:... Master-Key:...`: the master secret of a session by its identifier, up to TLS 1.2.
    SessionMasterSecret,
    /// `CLIENT_EARLY_TRAFFIC_SECRET`.
    ClientEarly,
    /// `CLIENT_HANDSHAKE_TRAFFIC_SECRET`.
    ClientHandshake,
    /// `SERVER_HANDSHAKE_TRAFFIC_SECRET`.
    ServerHandshake,
    /// `CLIENT_TRAFFIC_SECRET_0`.
    ClientApplication,
    /// `SERVER_TRAFFIC_SECRET_0`.
    ServerApplication,
}

/// A secret by what it is for, and the random of its ClientHello, or the session identifier, padded with zeros.
type Key = (SecretLabel, [u8; 32]);

/// A set of secrets, shared by the threads of an analysis. A clone is another handle of the same set.
///
/// The set is bounded: the oldest secrets go first. Secrets are zeroed when they are dropped, and neither displayed nor
/// serialised.
///
/// ```
/// use huginn_net_decrypt::Secrets;
///
/// let secrets = Secrets::new();
/// let random = "01".repeat(32);
/// let summary = secrets.add_key_log(format!("# a comment\nCLIENT_RANDOM {random} {}\nnonsense\n", "02".repeat(48)).as_bytes());
/// assert_eq!((summary.secrets, summary.malformed, &*summary.malformed_lines), (1, 1, &[3][..]));
/// assert_eq!(secrets.len(), 1);
/// ```
#[derive(Clone)]
pub struct Secrets(Arc<Shared>);

struct Shared {
    set: RwLock<Set>,
    /// The number of secrets, so that a look does not lock the set.
    len: AtomicUsize,
    /// Changes with new secrets.
    version: AtomicU64,
    /// Whether more secrets may come.
    is_growing: AtomicBool,
    /// The capture time, in seconds.
    seconds: AtomicU64,
    waiting: Mutex<AllWaiting>,
}

/// Bytes of all connections that wait for a secret, by the second since which they do.
#[derive(Default)]
struct AllWaiting(Vec<(u64, usize)>);

impl AllWaiting {
    /// Adds bytes that have waited since a second. Returns whether there is room for them and their time is not over.
    fn add(&mut self, bytes: usize, since: u64, now: u64) -> bool {
        // Seconds to come are those of a clock that was set back since.
        let in_time = now.saturating_sub(MAX_WAITING_SECONDS)..=now;
        self.0.retain(|(second, _)| in_time.contains(second));
        if !in_time.contains(&since) || self.sum().saturating_add(bytes) > MAX_ALL_WAITING_BYTES {
            return false;
        }
        match self.0.iter_mut().find(|(second, _)| *second == since) {
            Some((_, sum)) => *sum = sum.saturating_add(bytes),
            None => self.0.push((since, bytes)),
        }
        true
    }

    /// Removes bytes, unless their time is over.
    fn remove(&mut self, bytes: usize, since: u64) {
        if let Some((_, sum)) = self.0.iter_mut().find(|(second, _)| *second == since) {
            *sum = sum.saturating_sub(bytes);
        }
    }

    fn sum(&self) -> usize {
        self.0.iter().map(|(_, bytes)| bytes).sum()
    }
}

#[derive(Default)]
struct Set {
    by_key: HashMap<Key, Secret>,
    /// The keys, oldest first.
    order: VecDeque<Key>,
    max: usize,
    dropped: u64,
    /// Whether a secret is of a connection up to TLS 1.2.
    has_master: bool,
}

impl Set {
    /// Adds a secret, unless there is one with this key. Returns whether it was added.
    fn insert(&mut self, key: Key, secret: &[u8]) -> bool {
        if self.max == 0 {
            return false;
        }
        let Entry::Vacant(entry) = self.by_key.entry(key) else { return false };
        entry.insert(Zeroizing::new(secret.into()));
        self.has_master |= key.0 == SecretLabel::MasterSecret;
        self.order.push_back(key);
        if self.order.len() > self.max
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_key.remove(&oldest);
            self.dropped = self.dropped.saturating_add(1);
        }
        true
    }
}

impl Default for Secrets {
    fn default() -> Self {
        Self::with_max(MAX_SECRETS)
    }
}

impl Secrets {
    /// An empty set of at most a million secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty set of at most this many secrets.
    pub fn with_max(max: usize) -> Self {
        let set = RwLock::new(Set { max, ..Set::default() });
        Self(Arc::new(Shared {
            set,
            len: AtomicUsize::new(0),
            version: AtomicU64::new(0),
            is_growing: AtomicBool::new(false),
            seconds: AtomicU64::new(0),
            waiting: Mutex::default(),
        }))
    }

    /// Sets whether more secrets may come (default: no), as from a key log that a program is writing. Then what is encrypted with a
    /// secret that is not known waits for it: up to 64 KiB of a side of a TLS connection, 64 KiB of a QUIC connection, and 64 MiB of all
    /// connections, for 10 seconds of the [time](Self::set_seconds). Set it before the first connection.
    pub fn set_growing(&self, is_growing: bool) {
        self.0.is_growing.store(is_growing, Ordering::Relaxed);
    }

    /// Whether more secrets may come.
    pub fn is_growing(&self) -> bool {
        self.0.is_growing.load(Ordering::Relaxed)
    }

    /// Sets the capture time, in seconds, before the packets of that time are read. It goes back by more than a minute only, as a clock
    /// that is set does: packets of several workers are not in order.
    pub fn set_seconds(&self, seconds: u64) {
        let now = self.seconds();
        if self.is_growing() && (seconds > now || seconds < now.saturating_sub(MAX_REORDERED_SECONDS)) {
            self.0.seconds.store(seconds, Ordering::Relaxed);
        }
    }

    fn seconds(&self) -> u64 {
        self.0.seconds.load(Ordering::Relaxed)
    }

    /// Returns the number of secrets.
    pub fn len(&self) -> usize {
        self.0.len.load(Ordering::Relaxed)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of secrets that were dropped because the set was full.
    pub fn dropped(&self) -> u64 {
        self.read(|set| set.dropped)
    }

    /// Adds a secret of the ClientHello with this random, or of the session with this identifier, unless there is one with the
    /// same label. Returns whether it was added.
    pub fn insert(&self, label: SecretLabel, id: &[u8; 32], secret: &[u8]) -> bool {
        let mut set = self.write();
        let is_new = set.insert((label, *id), secret);
        self.publish(&set, is_new);
        is_new
    }

    /// Whether connections up to TLS 1.2 may resume a session whose secret is known.
    pub fn has_sessions(&self) -> bool {
        self.read(|set| set.has_master)
    }

    /// Makes the secret of one connection known for the others of its session. They are in the order in which they began.
    pub fn add_sessions(&self, connections: &[SessionConnection]) {
        let mut by_name: HashMap<SessionName, Secret> = HashMap::default();
        // Earlier connections come last, for secrets that were logged by a later one only.
        for connection in connections.iter().chain(connections.iter().rev()) {
            let names = || connection.names.iter().flatten();
            let secret = self.get(SecretLabel::MasterSecret, &connection.random);
            let Some(secret) = secret.or_else(|| names().find_map(|name| by_name.get(name).cloned())) else {
                continue;
            };
            self.insert(SecretLabel::MasterSecret, &connection.random, &secret);
            for name in names() {
                by_name.entry(*name).or_insert_with(|| secret.clone());
            }
        }
    }

    /// Bytes of all connections that wait for a secret.
    #[cfg(test)]
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.all_waiting().sum()
    }

    fn all_waiting(&self) -> MutexGuard<'_, AllWaiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Set> {
        self.0.set.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes new secrets visible, if there are any. Call it while the set is locked.
    fn publish(&self, set: &Set, has_new: bool) {
        if has_new {
            self.0.len.store(set.by_key.len(), Ordering::Relaxed);
            self.0.version.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A number that changes with new secrets.
    pub(crate) fn version(&self) -> u64 {
        self.0.version.load(Ordering::Relaxed)
    }

    /// Returns a copy of a secret.
    pub(crate) fn get(&self, label: SecretLabel, id: &[u8; 32]) -> Option<Secret> {
        self.read(|set| set.by_key.get(&(label, *id)).cloned())
    }

    pub(crate) fn has(&self, label: SecretLabel, id: &[u8; 32]) -> bool {
        self.read(|set| set.by_key.contains_key(&(label, *id)))
    }

    /// Whether there is a secret of the ClientHello with this random.
    pub(crate) fn has_client(&self, random: &[u8; 32]) -> bool {
        let labels = [
            SecretLabel::MasterSecret,
            SecretLabel::ClientEarly,
            SecretLabel::ClientHandshake,
            SecretLabel::ServerHandshake,
            SecretLabel::ClientApplication,
            SecretLabel::ServerApplication,
        ];
        self.read(|set| labels.iter().any(|label| set.by_key.contains_key(&(*label, *random))))
    }

    fn read<T>(&self, f: impl FnOnce(&Set) -> T) -> T {
        f(&self.0.set.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Bytes of a connection that wait for a secret, counted in the sum of all connections.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    bytes: usize,
    /// The second since which the connection waits.
    since: u64,
    /// Where the bytes are counted.
    secrets: Option<Secrets>,
}

impl Waiting {
    /// Sets the number of bytes that wait. Returns false if all connections together have too many, or the connection has waited for
    /// too long.
    pub(crate) fn set(&mut self, bytes: usize, secrets: &Secrets) -> bool {
        if bytes == self.bytes {
            return true;
        }
        let now = secrets.seconds();
        if self.bytes == 0 {
            self.since = now;
        }
        self.release();
        self.bytes = bytes;
        let fits = bytes == 0 || secrets.all_waiting().add(bytes, self.since, now);
        self.secrets = (bytes > 0 && fits).then(|| secrets.clone());
        fits
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn release(&mut self) {
        if let Some(secrets) = self.secrets.take() {
            secrets.all_waiting().remove(self.bytes, self.since);
        }
        self.bytes = 0;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.release();
    }
}

/// Compares handles: whether both are of the same set.
impl PartialEq for Secrets {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Shows only the number of secrets.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A growing set at a time.
    fn growing_at(seconds: u64) -> Secrets {
        let secrets = Secrets::new();
        secrets.set_growing(true);
        secrets.set_seconds(seconds);
        secrets
    }

    #[test]
    fn bytes_wait_for_ten_seconds() {
        let secrets = growing_at(100);
        let [mut idle, mut late] = [Waiting::default(), Waiting::default()];
        assert!(idle.set(MAX_ALL_WAITING_BYTES, &secrets));
        assert!(!late.set(1, &secrets));
        secrets.set_seconds(100 + MAX_WAITING_SECONDS);
        assert!(late.set(0, &secrets) && !late.set(1, &secrets));
        secrets.set_seconds(101 + MAX_WAITING_SECONDS);
        secrets.set_seconds(60);
        assert!(late.set(2, &secrets), "the bytes of the idle one no longer count");
        assert!(late.set(3, &secrets) && !idle.set(4, &secrets));
        drop(idle);
        assert_eq!(secrets.waiting_bytes(), 3);
        drop(late);
        assert_eq!(secrets.waiting_bytes(), 0);
    }

    #[test]
    fn clock_that_is_set_back_keeps_limit_of_seconds() {
        let secrets = growing_at(1_000_000);
        let [mut earlier, mut later] = [Waiting::default(), Waiting::default()];
        assert!(earlier.set(MAX_ALL_WAITING_BYTES, &secrets));
        secrets.set_seconds(100);
        assert!(later.set(1, &secrets), "bytes of a time to come do not count");
        secrets.set_seconds(101 + MAX_WAITING_SECONDS);
        assert!(!later.set(2, &secrets));
    }

    #[test]
    fn oldest_secrets_are_dropped_when_full() {
        let secrets = Secrets::with_max(3);
        for n in 0..10 {
            assert!(secrets.insert(SecretLabel::MasterSecret, &[n; 32], &[n; 48]));
        }
        assert!(!secrets.insert(SecretLabel::MasterSecret, &[9; 32], &[77; 48]), "the first one stays");
        assert_eq!((secrets.len(), secrets.dropped()), (3, 7));
        let get = |n| secrets.get(SecretLabel::MasterSecret, &[n; 32]).map(|secret| secret[0]);
        assert_eq!([6, 7, 8, 9].map(get), [None, Some(7), Some(8), Some(9)]);
        assert_eq!(format!("{secrets:?}"), "Secrets { len: 3, .. }");
    }
}
