//! Timestamp clocks of hosts, and the plausibility of their uptime.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use huginn_net_core::Side;
use huginn_net_tcp::{Clock, ClockReading, Measurement, Uptime};
use serde::{Deserialize, Serialize};

/// Frequency (Hz) above which a clock may have a random start value: systems with random ones tick at 1000 Hz.
const MIN_RANDOM_CLOCK_HZ: f64 = 600.0;

/// Additional tolerance between readings of one clock, in milliseconds: a virtual machine may pause.
const CLOCK_TOLERANCE_MILLIS: u64 = 2000;

/// Contradictions in a row that prove random start values. One contradiction may be a restart or another host.
const MAX_CONTRADICTIONS: u8 = 2;

/// State of the timestamp clock of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) enum HostClock {
    #[default]
    Unknown,
    Measured(MeasuredClock),
    /// The timestamps have random start values.
    Random,
}

/// A clock with at least one measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MeasuredClock {
    /// The measurement over the longest time, which gives the best frequency.
    pub(super) rate: Clock,
    pub(super) last: ClockReading,
    /// The peer of the last measurement.
    pub(super) peer: IpAddr,
    /// Whether measurements with two peers agree.
    pub(super) is_shared: bool,
    /// Contradictions in a row.
    pub(super) contradictions: u8,
}

/// The conclusion from a measurement and the earlier state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClockVerdict {
    /// The clock counts since the start of the system.
    Uptime(Uptime),
    /// The clock may have a random start value, or systems do not use its frequency.
    Unconfirmed,
    /// The measurement contradicts the earlier clock.
    Contradiction,
    /// Repeated contradictions: the timestamps have random start values.
    Random,
}

impl HostClock {
    /// Adds a measurement from a connection with `peer`.
    ///
    /// A fast clock needs agreement of two peers; a slow clock is accepted until a measurement contradicts it.
    pub(super) fn add_measurement(&mut self, clock: Clock, peer: IpAddr) -> ClockVerdict {
        let Self::Measured(measured) = self else {
            if let Self::Unknown = self {
                *self = Self::Measured(MeasuredClock::new(clock, peer, 0));
                return if is_suspect(clock) { ClockVerdict::Unconfirmed } else { verdict(clock) };
            }
            return ClockVerdict::Unconfirmed;
        };
        let Some(rate) = measured.extended_by(clock) else {
            let contradictions = measured.contradictions.saturating_add(1);
            let is_random = contradictions >= MAX_CONTRADICTIONS;
            *self = if is_random {
                Self::Random
            } else {
                Self::Measured(MeasuredClock::new(clock, peer, contradictions))
            };
            return if is_random { ClockVerdict::Random } else { ClockVerdict::Contradiction };
        };
        measured.is_shared |= measured.peer != peer;
        measured.contradictions = 0;
        (measured.rate, measured.last, measured.peer) = (rate, clock.reading, peer);
        if measured.is_shared || !is_suspect(rate) {
            verdict(Clock { reading: clock.reading, ..rate })
        } else {
            ClockVerdict::Unconfirmed
        }
    }
}

impl MeasuredClock {
    fn new(clock: Clock, peer: IpAddr, contradictions: u8) -> Self {
        Self { rate: clock, last: clock.reading, peer, is_shared: false, contradictions }
    }

    /// The best measurement after another one; `None` if the other one contradicts this clock.
    fn extended_by(&self, clock: Clock) -> Option<Clock> {
        let (earlier, later) = if self.last.at_millis <= clock.reading.at_millis {
            (self.last, clock.reading)
        } else {
            (clock.reading, self.last)
        };
        let millis = later.at_millis.saturating_sub(earlier.at_millis);
        let (slow, fast) = self.rate.possible_frequencies();
        let (other_slow, other_fast) = clock.possible_frequencies();
        let (slow, fast) = (slow.max(other_slow), fast.min(other_fast));
        let least = ticks_in(millis.saturating_sub(CLOCK_TOLERANCE_MILLIS), slow);
        let most = ticks_in(millis.saturating_add(CLOCK_TOLERANCE_MILLIS), fast);
        if slow > fast || most - least > f64::from(u32::MAX) {
            return None;
        }
        let ticks = later.value.wrapping_sub(earlier.value);
        let full_turns = (least / COUNTER_VALUES).floor();
        let is_within = |ticks: f64| (least..=most).contains(&ticks);
        let passed = f64::from(ticks) + full_turns * COUNTER_VALUES;
        // A small step back, as of segments that overtook each other, is within the tolerance too.
        let back = f64::from(ticks) - COUNTER_VALUES;
        let is_step_back = least <= 0.0 && back >= -ticks_in(CLOCK_TOLERANCE_MILLIS, fast);
        if !(is_within(passed) || is_within(passed + COUNTER_VALUES) || is_step_back) {
            return None;
        }
        let best = if clock.millis > self.rate.millis { clock } else { self.rate };
        // The tolerance may hide most of a short interval. Its rate counts only if it agrees with both measurements.
        let longest = u32::try_from(millis)
            .ok()
            .filter(|millis| *millis > best.millis)
            .and_then(|millis| Clock::measured(later, ticks, millis))
            .filter(|longest| {
                let (longest_slow, longest_fast) = longest.possible_frequencies();
                longest_slow <= fast && longest_fast >= slow
            });
        Some(longest.unwrap_or(best))
    }
}

/// Number of values of a 32-bit counter.
const COUNTER_VALUES: f64 = 4_294_967_296.0;

fn is_suspect(clock: Clock) -> bool {
    clock.raw_frequency() > MIN_RANDOM_CLOCK_HZ
}

fn verdict(clock: Clock) -> ClockVerdict {
    clock.uptime().map_or(ClockVerdict::Unconfirmed, ClockVerdict::Uptime)
}

fn ticks_in(millis: u64, hz: f64) -> f64 {
    millis as f64 * hz / 1000.0
}

/// Clock decisions for both sides of a connection that p0f follows. Each clock is measured at most once.
#[derive(Debug, Default)]
pub(crate) struct Decisions(AtomicU8);

/// The clock decisions of a connection, shared by the flow and the host table.
pub(crate) type P0fClock = Arc<Decisions>;

impl Decisions {
    /// Whether the clock of this side was measured or rejected.
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
#[allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    /// The variation of the delay that a measurement tolerates, in milliseconds.
    const JITTER_MILLIS: u64 = 20;
    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    /// Half of the limit: the delays of two segments then differ by less than it.
    const LATE: i32 = JITTER_MILLIS as i32 / 2;
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    /// A clock with `value` at `at` (ms), measured over `over` ms. The last segment arrived `late` ms late.
    fn clock(hz: u32, value: u32, at: u64, over: u32, late: i32) -> Clock {
        let ticks = u32::try_from(u64::from(over) * u64::from(hz) / 1000).unwrap();
        let reading = |value, millis| ClockReading::new(value, 1_000_000_000 + millis).unwrap();
        let at = at + 10_000;
        let began = reading(value.wrapping_sub(ticks), at.saturating_sub(over.into()));
        let now = reading(value, at.saturating_add_signed(late.into()));
        let Measurement::Clock(clock) = now.since(began) else { panic!("{hz} Hz over {over} ms") };
        clock
    }

    /// The uptime in minutes after each measurement, or the verdict that rejects the measurement.
    fn uptimes(measurements: &[(Clock, IpAddr)]) -> Vec<Result<u32, ClockVerdict>> {
        let mut host_clock = HostClock::default();
        let uptime = |(clock, peer): &(Clock, IpAddr)| match host_clock.add_measurement(*clock, *peer) {
            ClockVerdict::Uptime(uptime) => Ok(uptime.minutes),
            doubt => Err(doubt),
        };
        measurements.iter().map(uptime).collect()
    }

    #[test]
    fn fast_clock_needs_two_agreeing_peers() {
        let at = |second: u32| clock(1000, 600_000 + 1000 * second, u64::from(second) * 1000, 900, 0);
        let row = [(at(1), ONE), (at(20), ONE), (at(30), OTHER), (at(60), ONE)];
        assert_eq!(
            uptimes(&row),
            [Err(ClockVerdict::Unconfirmed), Err(ClockVerdict::Unconfirmed), Ok(10), Ok(11)]
        );
    }

    #[test]
    fn rejects_clocks_with_random_offsets() {
        let row = [77_000, 3_000_000_000, 1_500_000_000, 1_500_010_000]
            .map(|value| clock(1000, value, u64::from(value % 7) * 1000, 900, 0))
            .map(|clock| (clock, OTHER));
        assert_eq!(
            uptimes(&row),
            [
                Err(ClockVerdict::Unconfirmed),
                Err(ClockVerdict::Contradiction),
                Err(ClockVerdict::Random),
                Err(ClockVerdict::Unconfirmed)
            ]
        );
    }

    #[test]
    fn restart_resets_clock() {
        let at = |value, second: u64| (clock(100, value, second * 1000, 900, 0), ONE);
        let row = [at(6_000_000, 1), at(6_001_000, 11), at(6_000, 60), at(12_000, 120), at(18_000, 180)];
        assert_eq!(uptimes(&row), [Ok(1000), Ok(1000), Err(ClockVerdict::Contradiction), Ok(2), Ok(3)]);
    }

    #[test]
    fn clock_tolerates_wrap_drift_and_reordering() {
        let wrapped =
            [(clock(100, u32::MAX - 99, 1000, 900, 0), ONE), (clock(100, 900, 11_000, 900, 0), OTHER)];
        assert!(uptimes(&wrapped).iter().all(Result::is_ok));
        let drifted =
            [(clock(1000, 1_000_000, 1000, 900, 0), ONE), (clock(1010, 2_010_000, 1_001_000, 900, 0), OTHER)];
        assert_eq!(uptimes(&drifted), [Err(ClockVerdict::Unconfirmed), Ok(33)]);
        let swapped =
            [(clock(1000, 1_010_000, 20_000, 900, 0), ONE), (clock(1000, 1_000_000, 10_000, 900, 0), OTHER)];
        assert_eq!(uptimes(&swapped), [Err(ClockVerdict::Unconfirmed), Ok(16)]);
        let paused =
            [(clock(1000, 1_000_000, 1000, 900, 0), ONE), (clock(1000, 999_000, 1500, 900, 0), OTHER)];
        assert!(uptimes(&paused).last().is_some_and(Result::is_ok));
    }

    #[test]
    fn frequency_converges_with_time() {
        let mut host_clock = HostClock::default();
        host_clock.add_measurement(clock(250, 1_000_000, 1000, 600, 15), ONE);
        let ClockVerdict::Uptime(Uptime { clock, frequency, .. }) =
            host_clock.add_measurement(clock(250, 1_025_000, 101_000, 600, -15), OTHER)
        else {
            panic!()
        };
        assert_eq!(frequency, 250);
        assert!((249.0..251.0).contains(&clock.raw_frequency()), "{}", clock.raw_frequency());
    }

    proptest! {
        /// Late segments, whose delays differ by less than the limit, and a change of the peer never contradict a steady
        /// clock.
        #[test]
        fn steady_clock_is_consistent(
            hz in prop::sample::select(vec![2_u32, 10, 100, 250, 300, 1000]),
            start: u32,
            steps in prop::collection::vec((0_u64..10_000_000, 3000_u32..5000, -LATE..LATE, any::<bool>()), 2..30),
        ) {
            let (mut host_clock, mut at, mut value) = (HostClock::default(), 10_000_u64, start);
            let mut has_uptime = false;
            for (pause, over, late, peer) in steps {
                let pause = pause / 1000 * 1000;
                at += pause;
                value = value.wrapping_add(u32::try_from(pause * u64::from(hz) / 1000).unwrap());
                prop_assume!(value != 0 && value.wrapping_sub(over * hz / 1000) != 0);
                let peer = if peer { ONE } else { OTHER };
                match host_clock.add_measurement(clock(hz, value, at, over, late), peer) {
                    ClockVerdict::Uptime(_) => has_uptime = true,
                    ClockVerdict::Unconfirmed => prop_assert!(hz == 1000 && !has_uptime),
                    contradiction => prop_assert!(false, "{contradiction:?}"),
                }
            }
        }
    }

    #[test]
    fn rejects_clocks_with_random_start_values() {
        let at = |value, millis, over, late, peer| (clock(1000, value, millis, over, late), peer);
        let row = [
            at(3_141_592_653, 0, 500, -15, ONE),
            at(271_828_182, 5000, 2999, 14, OTHER),
            at(1_618_033_988, 10_000, 1000, 0, ONE),
            at(4_142_135_623, 15_000, 750, 7, OTHER),
            at(1_000_000, 20_000, 2500, -7, ONE),
        ];
        assert!(uptimes(&row).iter().all(Result::is_err));
    }

    #[test]
    fn equal_values_keep_measured_frequency() {
        // Two connections send the same values, 1.5 s apart: within the tolerance, and no clock on their own.
        let row = [(clock(10, 1010, 1000, 1000, 0), ONE), (clock(10, 1010, 2500, 1000, 0), ONE)];
        let mut host_clock = HostClock::default();
        for (measurement, peer) in row {
            let ClockVerdict::Uptime(uptime) = host_clock.add_measurement(measurement, peer) else {
                panic!()
            };
            assert_eq!((uptime.frequency, uptime.minutes), (10, 1), "{uptime:?}");
        }
    }

    /// A host of the property test below: a clock that starts at boot, or one with a random offset per connection.
    #[derive(Clone, Copy, Debug)]
    struct ModelHost {
        hz: u32,
        has_random_offsets: bool,
        booted_at: u64,
    }

    #[derive(Clone, Copy, Debug)]
    struct Connection {
        host: prop::sample::Index,
        /// Time since the previous connection, and from the SYN to the measurement, in milliseconds.
        pause: u64,
        over: u64,
        /// Delay of the SYN and of the measured segment, in milliseconds.
        late: (u64, u64),
        peer: bool,
        /// Whether the host boots before the connection.
        boots: bool,
    }

    fn model_host() -> impl Strategy<Value = ModelHost> {
        let ticks = prop_oneof![Just((1000, true)), (1_u32..=1000).prop_map(|hz| (hz, false))];
        let booted_at = prop_oneof![Just(0), 0_u64..1_000_000_000];
        (ticks, booted_at).prop_map(|((hz, has_random_offsets), booted_at)| ModelHost {
            hz,
            has_random_offsets,
            booted_at,
        })
    }

    fn connection() -> impl Strategy<Value = Connection> {
        let pause = prop_oneof![0_u64..3000, 0_u64..60_000, 0_u64..3_600_000];
        let over = prop_oneof![500_u64..2000, 500_u64..600_000];
        let late = 0..=JITTER_MILLIS;
        (
            any::<prop::sample::Index>(),
            pause,
            over,
            (late.clone(), late),
            any::<bool>(),
            prop::bool::weighted(0.1),
        )
            .prop_map(|(host, pause, over, late, peer, boots)| Connection {
                host,
                pause,
                over,
                late,
                peer,
                boots,
            })
    }

    proptest! {
        /// Several hosts behind one address; some boot or have random offsets: whatever is reported is the
        /// clock of one of them, and never a random one.
        #[test]
        fn reported_clock_is_clock_of_host(
            mut hosts in prop::collection::vec(model_host(), 1..4),
            connections in prop::collection::vec(connection(), 1..30),
        ) {
            let mut host_clock = HostClock::default();
            let mut at = 1_000_000_000_u64;
            let mut offset = 0_u32;
            for Connection { host, pause, over, late, peer, boots } in connections {
                at += pause;
                let index = host.index(hosts.len());
                if boots {
                    hosts[index].booted_at = at - 10_000;
                }
                let ModelHost { hz, has_random_offsets, booted_at } = hosts[index];
                // Multiples of the golden ratio, which differ by 50 million at least: none agree by chance.
                offset = offset.wrapping_add(0x9e37_79b9);
                let value = |at: u64| {
                    #[allow(clippy::cast_possible_truncation)]
                    let ticks = ((at - booted_at) * u64::from(hz) / 1000) as u32;
                    if has_random_offsets { ticks.wrapping_add(offset) } else { ticks }
                };
                let reading = |sent, late| ClockReading::new(value(sent), sent + late);
                let (Some(syn), Some(later)) = (reading(at, late.0), reading(at + over, late.1)) else { continue };
                let Measurement::Clock(measured) = later.since(syn) else { continue };
                let peer = if peer { ONE } else { OTHER };
                let ClockVerdict::Uptime(Uptime { clock, .. }) = host_clock.add_measurement(measured, peer)
                else {
                    continue;
                };
                prop_assert!(!has_random_offsets, "{clock:?}");
                prop_assert!((0.7..=1500.0).contains(&clock.raw_frequency()), "{clock:?}");
                prop_assert_eq!(clock.reading, measured.reading);
                let (slow, fast) = clock.possible_frequencies();
                prop_assert!((slow..=fast).contains(&f64::from(hz)), "{hz} Hz: {clock:?}");
            }
        }
    }

    #[test]
    fn p0f_clock_decides_once_per_side() {
        let reading = |value, millis| ClockReading::new(value, millis).unwrap();
        let decisions = Decisions::default();
        let since = Some(reading(1000, 0));
        assert!(decisions.measure(Side::Client, since, reading(900_000, 100), true).is_none());
        assert!(!decisions.is_decided(Side::Client), "a SYN decides nothing against");
        assert!(decisions.measure(Side::Client, None, reading(1100, 100), false).is_none());
        assert!(decisions.measure(Side::Client, since, reading(1100, 100), false).is_some());
        assert!(decisions.measure(Side::Client, since, reading(1200, 200), false).is_none());
        assert!(decisions.measure(Side::Server, since, reading(900_000, 100), false).is_none());
        assert!(decisions.is_decided(Side::Server));
    }
}
