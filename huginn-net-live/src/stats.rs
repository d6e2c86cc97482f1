//! Statistics of a live capture, readable from any thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use huginn_net_core::Timestamp;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Statistics of a [`LiveSource`](crate::LiveSource), or of all queues that were opened together. Clones share one state and outlive the
/// sources.
///
/// The numbers are at most a second old, and exact once the source was stopped and has ended.
#[derive(Clone, Debug)]
pub struct LiveStats {
    /// The counters of the queues of each interface.
    counters: Arc<[Vec<Arc<InterfaceCounters>>]>,
    /// In nanoseconds since the Unix epoch; 0 before the first frame.
    taken_at: Arc<AtomicU64>,
}

impl LiveStats {
    pub(crate) fn new(counters: impl Iterator<Item = Vec<Arc<InterfaceCounters>>>) -> Self {
        Self { counters: counters.collect(), taken_at: Arc::default() }
    }

    /// Returns when the frames being lent were received from the system, by the wall clock that stamps frames.
    pub fn taken_at(&self) -> Option<Timestamp> {
        let nanos = self.taken_at.load(Ordering::Relaxed);
        let fraction = u32::try_from(nanos % NANOS_PER_SECOND).unwrap_or(0);
        (nanos > 0).then(|| Timestamp::new(nanos / NANOS_PER_SECOND, fraction, 9))
    }

    pub(crate) fn set_taken_at(&self, taken_at: Timestamp) {
        self.taken_at.store(taken_at.as_nanos(), Ordering::Relaxed);
    }

    /// Returns the statistics of each interface, in the order in which they were named.
    pub fn interfaces(&self) -> Vec<InterfaceStats> {
        self.counters.iter().filter_map(|queues| InterfaceStats::new(queues)).collect()
    }
}

/// Statistics of one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct InterfaceStats {
    /// The name of the interface.
    pub name: String,
    /// Frames lent. Together with `kernel_dropped` these are all frames since the interface was opened, or all that
    /// passed the filter expression.
    pub received: u64,
    /// Frames that the kernel dropped because its buffer was full.
    pub kernel_dropped: u64,
    /// Frames dropped by the interface or its driver since it was opened; `None` if unknown.
    pub interface_dropped: Option<u64>,
    /// Packets that were left out because another interface had them; `None` without [patterns](crate::LiveSource::open).
    pub copies: Option<u64>,
    /// Read errors after which the source tried again, such as lack of memory. With [patterns](crate::LiveSource::open) also frames of
    /// interfaces that were gone before their names were known.
    pub read_errors: u64,
    /// The state of the interface; with several queues, the worst of them.
    pub state: InterfaceState,
    /// The share of each queue, if the interface has [several](crate::LiveSource::open_queues).
    pub queues: Vec<QueueStats>,
}

/// Statistics of one queue of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct QueueStats {
    /// Frames lent.
    pub received: u64,
    /// Frames that the kernel dropped because the buffer of the queue was full.
    pub kernel_dropped: u64,
}

impl InterfaceStats {
    /// Sums the counters of the queues of an interface; `None` without one.
    fn new(counters: &[Arc<InterfaceCounters>]) -> Option<Self> {
        let queues: Vec<Self> = counters.iter().map(|counters| counters.stats()).collect();
        let shares = queues
            .iter()
            .map(|queue| QueueStats { received: queue.received, kernel_dropped: queue.kernel_dropped });
        let shares: Vec<_> = shares.collect();
        let mut sum = queues.into_iter().reduce(|sum, queue| Self {
            received: sum.received.saturating_add(queue.received),
            kernel_dropped: sum.kernel_dropped.saturating_add(queue.kernel_dropped),
            // Each queue counts those of the whole interface.
            interface_dropped: sum.interface_dropped.max(queue.interface_dropped),
            copies: sum.copies.map(|copies| copies.saturating_add(queue.copies.unwrap_or(0))),
            read_errors: sum.read_errors.saturating_add(queue.read_errors),
            state: sum.state.max(queue.state),
            ..sum
        })?;
        if shares.len() > 1 {
            sum.queues = shares;
        }
        Some(sum)
    }
}

huginn_net_core::named! {
    /// The state of an interface, the best first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
    #[non_exhaustive]
    pub enum InterfaceState {
        /// The interface is up, as far as known.
        Up = "up",
        /// The interface is down.
        Down = "down",
        /// No interface of this name exists, or it cannot be opened.
        Gone = "gone",
    }
}

/// Marks an unknown number.
const UNKNOWN: u64 = u64::MAX;

/// Counters of one interface, written by the source only.
#[derive(Debug)]
pub(crate) struct InterfaceCounters {
    pub(crate) name: String,
    received: AtomicU64,
    kernel_dropped: AtomicU64,
    interface_dropped: AtomicU64,
    copies: AtomicU64,
    read_errors: AtomicU64,
    state: AtomicU8,
}

impl InterfaceCounters {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            received: AtomicU64::new(0),
            kernel_dropped: AtomicU64::new(0),
            interface_dropped: AtomicU64::new(UNKNOWN),
            copies: AtomicU64::new(UNKNOWN),
            read_errors: AtomicU64::new(0),
            state: AtomicU8::new(0),
        }
    }

    pub(crate) fn add_received(&self, frames: u64) {
        self.received.fetch_add(frames, Ordering::Relaxed);
    }

    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub(crate) fn set_kernel_dropped(&self, frames: u64) {
        self.kernel_dropped.store(frames, Ordering::Relaxed);
    }

    pub(crate) fn set_interface_dropped(&self, frames: u64) {
        self.interface_dropped.store(frames, Ordering::Relaxed);
    }

    pub(crate) fn set_copies(&self, packets: u64) {
        self.copies.store(packets, Ordering::Relaxed);
    }

    pub(crate) fn add_read_errors(&self, errors: u64) {
        self.read_errors.fetch_add(errors, Ordering::Relaxed);
    }

    pub(crate) fn state(&self) -> InterfaceState {
        match self.state.load(Ordering::Relaxed) {
            0 => InterfaceState::Up,
            1 => InterfaceState::Down,
            _ => InterfaceState::Gone,
        }
    }

    pub(crate) fn set_state(&self, state: InterfaceState) {
        let number = match state {
            InterfaceState::Up => 0,
            InterfaceState::Down => 1,
            InterfaceState::Gone => 2,
        };
        self.state.store(number, Ordering::Relaxed);
    }

    fn stats(&self) -> InterfaceStats {
        let known =
            |number: &AtomicU64| Some(number.load(Ordering::Relaxed)).filter(|number| *number != UNKNOWN);
        InterfaceStats {
            name: self.name.clone(),
            received: self.received(),
            kernel_dropped: self.kernel_dropped.load(Ordering::Relaxed),
            interface_dropped: known(&self.interface_dropped),
            copies: known(&self.copies),
            read_errors: self.read_errors.load(Ordering::Relaxed),
            state: self.state(),
            queues: Vec::new(),
        }
    }
}
