//! Monotonic packet time.

use std::time::Duration;

use crate::Timestamp;

/// A clock driven by packet timestamps that never steps back. The flow table measures idle time with it.
///
/// The state of a flow then depends only on packet time and its own packets, not on packets of other flows in
/// between. So it is the same for any number of workers.
///
/// - Packets slightly out of order do not change the clock.
/// - If timestamps step back by more than the limit (a capture appended to a later one), the clock continues from
///   there.
/// - If timestamps jump forward, the clock advances by just more than the limit, which expires all idle flows. So one
///   timestamp from the far future keeps no flow forever.
#[derive(Clone, Debug)]
pub(super) struct PacketClock {
    /// The clock's time, in nanoseconds since its creation.
    now: u64,
    /// The timestamp that corresponds to `now`, in nanoseconds.
    last_ts: u64,
    limit: u64,
    /// Packets with a timestamp before that of an earlier packet.
    steps_back: u64,
    /// The timestamp of the first of them.
    first_step_back: Option<Timestamp>,
    /// Greatest advance per packet, in nanoseconds: just more than the limit.
    max_advance: u64,
}

impl PacketClock {
    /// Creates a clock for this idle timeout.
    pub(super) fn new(limit: Duration) -> Self {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Self {
            now: 0,
            last_ts: 0,
            limit,
            steps_back: 0,
            first_step_back: None,
            max_advance: limit.saturating_add(1),
        }
    }

    /// Returns the clock's time, which is unrelated to calendar time.
    #[inline]
    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.now, 9)
    }

    /// Advances the clock to a packet and returns its time.
    #[inline]
    pub(super) fn tick(&mut self, ts: Timestamp) -> Timestamp {
        let nanos = ts.as_nanos();
        let ahead = nanos.saturating_sub(self.last_ts);
        if ahead > 0 {
            self.now = self.now.saturating_add(ahead.min(self.max_advance));
            self.last_ts = nanos;
        } else if nanos < self.last_ts {
            self.on_step_back(ts);
        }
        self.now()
    }

    #[cold]
    fn on_step_back(&mut self, ts: Timestamp) {
        self.steps_back = self.steps_back.saturating_add(1);
        self.first_step_back.get_or_insert(ts);
        if self.last_ts.saturating_sub(ts.as_nanos()) > self.limit {
            self.last_ts = ts.as_nanos();
        }
    }

    /// Returns the first timestamp before that of an earlier packet.
    pub(super) fn first_step_back(&self) -> Option<Timestamp> {
        self.first_step_back
    }

    /// Returns the number of packets with a timestamp before that of an earlier packet.
    pub(super) fn steps_back(&self) -> u64 {
        self.steps_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_never_steps_back() {
        let mut clock = PacketClock::new(Duration::from_secs(300));
        let mut at = |seconds: u64| clock.tick(Timestamp::new(seconds, 0, 6)).as_nanos();
        let start = at(1_000_000);
        let after = |now: u64| now.saturating_sub(start) as f64 / 1e9;
        assert_eq!(after(at(1_000_010)), 10.0);
        assert_eq!(after(at(1_000_005)), 10.0, "slightly out of order");
        assert_eq!(after(at(1_000_020)), 20.0);
        assert_eq!(after(at(1_000)), 20.0, "another capture");
        assert_eq!(after(at(1_007)), 27.0);
        let after_jump = at(9_000_000_000);
        assert!(after(after_jump) > 327.0 && after(after_jump) < 328.0, "just more than the idle limit");
        assert_eq!(at(1_010), after_jump);
        assert_eq!(at(1_011).saturating_sub(after_jump), 1_000_000_000);
        assert_eq!(clock.steps_back(), 3);
    }
}
