//! Interfaces as captures describe them.

use huginn_net_core::{LinkType, Timestamp};

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Greatest exponents of ten and of two that are at least a nanosecond.
const MAX_DECIMALS: u8 = 9;
const MAX_BINARY_DIGITS: u8 = 29;
const BINARY: u8 = 0x80;

/// The interface that captured a frame, as the capture describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CaptureInterface {
    /// The link type of its frames.
    pub link: LinkType,
    /// Maximum length of a captured frame, in bytes; 0 if there is none.
    pub snap_len: u32,
    /// The unit of its timestamps.
    pub resolution: TimeResolution,
}

impl CaptureInterface {
    /// Describes an interface, for a [writer](crate::PcapngWriter). `snap_len` is in bytes, and 0 without a limit.
    pub const fn new(link: LinkType, snap_len: u32, resolution: TimeResolution) -> Self {
        Self { link, snap_len, resolution }
    }
}

/// The unit of timestamps: a negative power of ten or two of a second, as pcapng has it (`if_tsresol`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeResolution(u8);

impl TimeResolution {
    /// Microseconds.
    pub const MICROS: Self = Self(6);
    /// Nanoseconds.
    pub const NANOS: Self = Self(9);

    /// Reads the value of the option `if_tsresol`: the highest bit distinguishes powers of two from those of ten, the others
    /// are the exponent.
    pub const fn from_tsresol(value: u8) -> Self {
        Self(value)
    }

    /// The value of the option `if_tsresol`.
    pub const fn tsresol(self) -> u8 {
        self.0
    }

    /// Returns nanoseconds instead of a finer unit, which a [`Timestamp`] does not have.
    #[must_use]
    pub(crate) const fn at_least_nanos(self) -> Self {
        let Self(value) = self;
        let max = if value & BINARY == 0 { MAX_DECIMALS } else { MAX_BINARY_DIGITS };
        if value & !BINARY > max { Self::NANOS } else { self }
    }

    /// Converts a time to a number of units, the least one that reading converts to a time not before it.
    pub(crate) fn ticks(self, ts: Timestamp) -> u64 {
        let exponent = u32::from(self.0 & !BINARY);
        let base = if self.0 & BINARY == 0 { 10_u128 } else { 2 };
        // Nanoseconds are below 2^64 and units per second at most 10^9.
        let scaled = u128::from(ts.as_nanos()).saturating_mul(base.saturating_pow(exponent));
        u64::try_from(scaled.div_ceil(NANOS_PER_SECOND)).unwrap_or(u64::MAX)
    }
}
