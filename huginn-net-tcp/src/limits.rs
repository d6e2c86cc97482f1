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

/// Minimum time (ns) over which a clock is measured. p0f accepts 25 ms, but queueing delay distorts such short
/// intervals.
pub(crate) const MIN_CLOCK_NANOS: u64 = 500_000_000;

/// Smallest MSS, in bytes, whose multiple is reported for a window (as in p0f).
pub(crate) const MIN_WINDOW_MSS: u16 = 100;

/// Largest factor reported; larger ones occur only with units of one byte (as in p0f).
pub(crate) const MAX_WINDOW_FACTOR: u32 = 32_767;

/// Largest plausible distance in hops. Beyond it, p0f considers the initial TTL a wrong guess.
pub const MAX_DISTANCE: u8 = 35;
