//! TCP windows as multiples of a segment or packet size.

use std::fmt;

use crate::IpVersion;
use crate::limits::{MAX_WINDOW_FACTOR, MIN_WINDOW_MSS};

/// The quotient of a window by a maximum segment size or transmission unit that divides it without remainder.
///
/// Systems size their initial window in whole segments; the system defines the factor, the network the unit.
/// [`Display`](fmt::Display) uses p0f's format: `mss*4`, `mtu*4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WindowMultiple {
    /// A number of segments.
    Mss(u16),
    /// A number of packets.
    Mtu(u16),
}

impl WindowMultiple {
    /// The factor.
    pub const fn factor(self) -> u16 {
        match self {
            Self::Mss(factor) | Self::Mtu(factor) => factor,
        }
    }

    pub(crate) fn write_to(self, out: &mut impl fmt::Write) -> fmt::Result {
        let (unit, factor) = match self {
            Self::Mss(factor) => ("mss*", factor),
            Self::Mtu(factor) => ("mtu*", factor),
        };
        out.write_str(unit)?;
        out.write_str(itoa::Buffer::new().format(factor))
    }
}

impl fmt::Display for WindowMultiple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

/// Bytes of a timestamp option and its padding in each segment.
const TIMESTAMP_BYTES: u32 = 12;
/// Bytes of an IPv4 and a TCP header without options.
pub(crate) const IPV4_HEADERS: u32 = 40;
/// Bytes of an IPv6 and a TCP header without options.
pub(crate) const IPV6_HEADERS: u32 = 60;

/// The candidate units of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    pub(crate) version: IpVersion,
    /// The segment's own maximum segment size; 0 when absent.
    pub(crate) mss: u16,
    /// Whether the segment's own timestamp is present and not zero.
    pub(crate) has_timestamp: bool,
    /// Bytes of the IP and TCP headers with all options.
    pub(crate) header_bytes: u16,
    /// On a SYN+ACK, the maximum segment size of the SYN; otherwise 0.
    pub(crate) peer_mss: u16,
}

impl Units {
    /// Returns the multiple for the first unit, in p0f's order, that divides the window without remainder.
    pub(crate) fn divide(&self, window: u16) -> Option<WindowMultiple> {
        if window == 0 {
            return None;
        }
        let window = u32::from(window);
        self.in_order().find_map(|unit| {
            if window.checked_rem(unit.bytes) != Some(0) {
                return None;
            }
            let factor = window.checked_div(unit.bytes).filter(|&factor| factor <= MAX_WINDOW_FACTOR)?;
            u16::try_from(factor).ok().map(unit.multiple)
        })
    }

    /// Converts a multiple to a window in bytes: with the first unit that yields this multiple, or the largest multiple
    /// of the factor if the unit is unknown here (the peer's).
    pub(crate) fn window_from_multiple(&self, multiple: WindowMultiple) -> u16 {
        let factor = multiple.factor();
        self.in_order()
            .filter_map(|unit| u16::try_from(unit.bytes.checked_mul(u32::from(factor))?).ok())
            .find(|&window| self.divide(window) == Some(multiple))
            .unwrap_or_else(|| u16::MAX.checked_div(factor).unwrap_or(0).saturating_mul(factor))
    }

    /// Tries the units in turn; one of the first usually divides.
    fn in_order(&self) -> impl Iterator<Item = Unit> {
        let known = self.mss >= MIN_WINDOW_MSS;
        let is_v6 = known && self.version == IpVersion::V6;
        let mss = u32::from(self.mss);
        let peer_mss = u32::from(self.peer_mss);
        let less_timestamp = |mss: u32| mss.saturating_sub(TIMESTAMP_BYTES);
        let has_timestamp = self.has_timestamp;
        let header_bytes = u32::from(self.header_bytes);
        (0..12).map(move |n| match n {
            0 => Unit::mss(known, mss),
            1 => Unit::mss(known && has_timestamp, less_timestamp(mss)),
            2 => Unit::mss(known, 1460),
            3 => Unit::mss(known, 1448),
            4 => Unit::mss(is_v6, 1440),
            5 => Unit::mss(is_v6, 1428),
            6 => Unit::mtu(known, mss.saturating_add(IPV4_HEADERS)),
            7 => Unit::mtu(known, mss.saturating_add(header_bytes)),
            8 => Unit::mtu(is_v6, mss.saturating_add(IPV6_HEADERS)),
            9 => Unit::mtu(known, 1500),
            10 => Unit::mss(known, peer_mss),
            _ => Unit::mss(known, less_timestamp(peer_mss)),
        })
    }
}

/// One candidate: its size in bytes (0 if not applicable) and the multiple that it yields.
struct Unit {
    bytes: u32,
    multiple: fn(u16) -> WindowMultiple,
}

impl Unit {
    fn mss(applies: bool, bytes: u32) -> Self {
        Self { bytes: if applies { bytes } else { 0 }, multiple: WindowMultiple::Mss }
    }

    fn mtu(applies: bool, bytes: u32) -> Self {
        Self { bytes: if applies { bytes } else { 0 }, multiple: WindowMultiple::Mtu }
    }
}
