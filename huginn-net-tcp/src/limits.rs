//! Limits of this crate, each with its unit and its reason. Most are those of p0f 3.09b.

use std::ops::RangeInclusive;

/// Intervals over which p0f measures a clock, in milliseconds.
pub(crate) const MEASURABLE_MILLIS: RangeInclusive<u64> = 25..=600_000;

/// Minimum ticks of a clock between two readings (as in p0f).
pub(crate) const MIN_CLOCK_TICKS: u32 = 5;

/// A small step back within this interval (ms) comes from a reordered segment.
pub(crate) const MAX_REORDERING_MILLIS: u32 = 100;

/// Largest step back (ticks) that counts as reordering.
pub(crate) const MAX_REORDERING_TICKS: u32 = 15_000;

/// Lowest clock frequency in Hz (as in p0f).
pub(crate) const MIN_CLOCK_HZ: f64 = 0.7;

/// Highest clock frequency in Hz (as in p0f).
pub(crate) const MAX_CLOCK_HZ: f64 = 1500.0;

/// Frequencies (Hz) of the timestamp clocks of systems.
pub(crate) const USUAL_CLOCK_HZ: [u32; 9] = [1, 2, 10, 100, 200, 250, 300, 500, 1000];

/// Deviation of a clock from its nominal frequency that counts as drift, as a fraction. Clocks of virtual machines drift by 3 %.
pub(crate) const MAX_CLOCK_DRIFT: f64 = 0.04;

/// Variation of the network delay that a measurement of a clock tolerates, in milliseconds.
pub(crate) const CLOCK_JITTER_MILLIS: f64 = 20.0;

/// Seconds before its first wrap at which Linux starts its counter (`INITIAL_JIFFIES`).
pub(crate) const LINUX_CLOCK_START: u32 = 300;

/// Minimum time (ns) over which a clock is measured. p0f accepts 25 ms, but queueing delay distorts such short
/// intervals.
#[cfg(feature = "packets")]
pub(crate) const MIN_CLOCK_NANOS: u64 = 500_000_000;

/// Smallest MSS, in bytes, whose multiple is reported for a window (as in p0f).
pub(crate) const MIN_WINDOW_MSS: u16 = 100;

/// Largest factor reported; larger ones occur only with units of one byte (as in p0f).
pub(crate) const MAX_WINDOW_FACTOR: u32 = 32_767;

/// Largest plausible distance in hops. Beyond it, p0f considers the initial TTL a wrong guess.
pub const MAX_DISTANCE: u8 = 35;
