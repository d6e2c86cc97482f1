//! The timestamp clocks of hosts, and when their uptime is believed.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use huginn_net_core::Side;
use huginn_net_tcp::{Clock, ClockReading, Measurement};

/// The frequency (Hz) at which the systems tick that begin timestamps anywhere.
const SUSPECT_HZ: u32 = 1000;
/// By how much (ms) readings of one clock may disagree, beside a twentieth of the time between them.
const TOLERANCE_MILLIS: u64 = 2000;

/// What is known of the timestamp clock of a host.
#[derive(Debug, Default)]
pub(super) enum HostClock {
    #[default]
    Unknown,
    /// Seen with one peer only.
    Seen { clock: Clock, peer: IpAddr },
    /// The same with several peers.
    Shared { clock: Clock },
    /// Timestamps begin anywhere.
    Random,
}

/// What a measurement says, with what was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Belief {
    /// The clock has counted since the system started.
    Uptime,
    /// It may have begun anywhere.
    Doubt,
    /// It did: what was known contradicts.
    Contradiction,
}

impl HostClock {
    /// Whether several peers saw the same clock.
    pub(super) fn is_one(&self) -> bool {
        matches!(self, Self::Shared { .. })
    }

    /// Learns a measurement that was made on a connection with `peer`.
    ///
    /// A clock of 1000 Hz is believed when it is the same with two peers, another until it is not the same.
    pub(super) fn learn(&mut self, clock: Clock, peer: IpAddr) -> Belief {
        let (known, with_others) = match self {
            Self::Random => return Belief::Doubt,
            Self::Unknown => (None, false),
            Self::Seen { clock: known, peer: before } => (Some(*known), *before != peer),
            Self::Shared { clock: known } => (Some(*known), true),
        };
        if known.is_some_and(|known| !is_same(known, clock)) {
            *self = Self::Random;
            return Belief::Contradiction;
        }
        let is_shared = known.is_some() && with_others;
        *self = if is_shared { Self::Shared { clock } } else { Self::Seen { clock, peer } };
        if is_shared || clock.frequency() != SUSPECT_HZ { Belief::Uptime } else { Belief::Doubt }
    }
}

/// Whether two measurements may be of one clock.
fn is_same(one: Clock, other: Clock) -> bool {
    let (earlier, later) =
        if one.reading.at_millis <= other.reading.at_millis { (one, other) } else { (other, one) };
    let millis = later.reading.at_millis.saturating_sub(earlier.reading.at_millis);
    let ticks_of = |millis: u64| millis.saturating_mul(u64::from(earlier.frequency())) / 1000;
    #[expect(clippy::cast_possible_truncation, reason = "a clock of 32 bits wraps")]
    let expected = earlier.reading.value.wrapping_add(ticks_of(millis) as u32);
    let off = later.reading.value.wrapping_sub(expected);
    let off = u64::from(off.min(off.wrapping_neg()));
    later.frequency() == earlier.frequency() && off <= ticks_of(TOLERANCE_MILLIS.saturating_add(millis / 20))
}

/// What was decided of the clocks of the ends of a connection that p0f follows: each is measured once, or given up.
#[derive(Debug, Default)]
pub(crate) struct Verdicts(AtomicU8);

/// The clocks of a connection, shared between who watches it and who remembers its hosts.
pub(crate) type P0fClock = Arc<Verdicts>;

impl Verdicts {
    /// Whether no more is to be learned of the clock of this side.
    pub(crate) fn is_decided(&self, side: Side) -> bool {
        self.0.load(Ordering::Relaxed) & side.choose(1, 2) != 0
    }

    fn decide(&self, side: Side) {
        self.0.fetch_or(side.choose(1, 2), Ordering::Relaxed);
    }

    /// Measures the clock of a side by p0f's rules, between the last SYN or SYN+ACK of the host and this reading.
    pub(super) fn measure(
        &self,
        side: Side,
        since: Option<ClockReading>,
        reading: ClockReading,
        in_syn: bool,
    ) -> Option<Clock> {
        if self.is_decided(side) {
            return None;
        }
        match reading.since(since?) {
            Measurement::Nothing => None,
            Measurement::NoClock => {
                if !in_syn {
                    self.decide(side);
                }
                None
            }
            Measurement::Clock(clock) => {
                self.decide(side);
                Some(clock)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    /// A clock that shows `value` after `seconds`, and was measured over a second.
    fn clock(hz: u32, value: u32, seconds: u64) -> Clock {
        let reading = |value, millis| ClockReading::new(value, 1_000_000 + millis).unwrap();
        let (before, now) = (value.wrapping_sub(hz), reading(value, seconds * 1000));
        let Measurement::Clock(clock) = now.since(reading(before, seconds * 1000 - 1000)) else { panic!() };
        clock
    }

    fn beliefs(measurements: &[(Clock, IpAddr)]) -> Vec<Belief> {
        let mut known = HostClock::default();
        measurements.iter().map(|(clock, peer)| known.learn(*clock, *peer)).collect()
    }

    #[test]
    fn a_clock_of_1000_hz_is_believed_when_two_peers_see_the_same() {
        use Belief::{Doubt, Uptime};
        let row = [(10, ONE), (20, ONE), (30, OTHER), (40, ONE)];
        let same = row.map(|(second, peer)| {
            (clock(1000, 77_000 + 1000 * u32::try_from(second).unwrap(), second), peer)
        });
        assert_eq!(beliefs(&same), [Doubt, Doubt, Uptime, Uptime]);
    }

    #[test]
    fn clocks_that_begin_anywhere_are_never_believed_again() {
        use Belief::{Contradiction, Doubt, Uptime};
        let far = clock(1000, 3_000_000_000, 20);
        let row =
            [(clock(1000, 77_000, 10), ONE), (far, OTHER), (clock(1000, 97_000, 30), ONE), (far, OTHER)];
        assert_eq!(beliefs(&row), [Doubt, Contradiction, Doubt, Doubt]);
        let row = [(clock(250, 77_000, 10), ONE), (clock(250, 1_000_000, 20), OTHER)];
        assert_eq!(beliefs(&row), [Uptime, Contradiction]);
        let row = [(clock(250, 77_000, 10), ONE), (clock(100, 78_000, 20), OTHER)];
        assert_eq!(beliefs(&row), [Uptime, Contradiction], "another frequency is another clock");
    }

    #[test]
    fn a_clock_may_wrap_drift_and_be_seen_out_of_order() {
        let wrapped = [(clock(100, u32::MAX - 99, 10), ONE), (clock(100, 900, 20), OTHER)];
        assert_eq!(beliefs(&wrapped), [Belief::Uptime; 2]);
        let drifted = [(clock(1000, 1_000_000, 10), ONE), (clock(1000, 2_024_000, 1010), OTHER)];
        assert_eq!(beliefs(&drifted), [Belief::Doubt, Belief::Uptime]);
        let swapped = [(clock(1000, 1_010_000, 20), ONE), (clock(1000, 1_000_000, 10), OTHER)];
        assert_eq!(beliefs(&swapped), [Belief::Doubt, Belief::Uptime]);
    }

    #[test]
    fn p0f_decides_once_a_side() {
        let reading = |value, millis| ClockReading::new(value, millis).unwrap();
        let verdicts = Verdicts::default();
        let since = Some(reading(1000, 0));
        assert!(verdicts.measure(Side::Client, since, reading(900_000, 100), true).is_none());
        assert!(!verdicts.is_decided(Side::Client), "a SYN decides nothing against");
        assert!(verdicts.measure(Side::Client, None, reading(1100, 100), false).is_none());
        assert!(verdicts.measure(Side::Client, since, reading(1100, 100), false).is_some());
        assert!(verdicts.measure(Side::Client, since, reading(1200, 200), false).is_none());
        assert!(verdicts.measure(Side::Server, since, reading(900_000, 100), false).is_none());
        assert!(verdicts.is_decided(Side::Server));
    }
}
