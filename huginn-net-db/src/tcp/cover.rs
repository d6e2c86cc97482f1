//! Detects signatures that an earlier one makes unreachable.

use huginn_net_tcp::{IpVersion, WindowMultiple};

use super::matching::Fit;
use super::pattern::{TcpPattern, WindowPattern};
use crate::Entry;

impl Entry<TcpPattern> {
    /// Whether `later`, with the same option layout and length of IP options, can never match because this signature
    /// always matches first.
    ///
    /// Like p0f, this treats `later` as a packet whose TTL is the initial TTL.
    pub(crate) fn covers(&self, later: &Self) -> bool {
        let is_found_first = !self.label.generic || later.label.generic;
        is_found_first && self.pattern.covers(&later.pattern)
    }

    /// Whether p0f also detects that this signature covers `later`. Existing files, p0f's own among them, contain
    /// covered signatures that p0f does not detect.
    pub(crate) fn covers_for_p0f(&self, later: &Self) -> bool {
        use WindowPattern::{Any, Modulo, Multiple};
        let quirks = self.pattern.quirks_for(later.pattern.version.unwrap_or(IpVersion::V6));
        let windows_are_compared = match (self.pattern.window, later.pattern.window) {
            (Any, Modulo(_) | Multiple(_)) => false,
            (Modulo(earlier), Modulo(later)) => earlier == later,
            _ => true,
        };
        !self.label.generic && quirks == later.pattern.quirks && windows_are_compared
    }
}

impl TcpPattern {
    fn covers(&self, later: &Self) -> bool {
        accepts_all(self.mss, later.mss)
            && accepts_all(self.scale, later.scale)
            && accepts_all(self.payload, later.payload)
            && self.ttl.fit(later.ttl.initial) == Some(Fit::Exact)
            && self.window_covers(later)
            && [IpVersion::V4, IpVersion::V6]
                .into_iter()
                .filter(|&version| accepts_all(later.version, Some(version)))
                .all(|version| self.quirks_for(version) == later.quirks_for(version))
    }

    fn window_covers(&self, later: &Self) -> bool {
        use WindowPattern::{Any, Bytes, Modulo, Multiple};
        match (self.window, later.window) {
            (Any, _) => true,
            (Modulo(bytes), Bytes(window) | Modulo(window)) => window.checked_rem(bytes) == Some(0),
            (Multiple(multiple), Bytes(window)) => multiple_of_mss(window, later.mss) == Some(multiple),
            (window, later) => window == later,
        }
    }
}

/// Whether a field that may be a wildcard accepts every value that `later` accepts.
fn accepts_all<T: PartialEq>(earlier: Option<T>, later: Option<T>) -> bool {
    earlier.is_none() || earlier == later
}

/// The multiple of the MSS as which this window is always reported, regardless of the rest of the packet.
pub(crate) fn multiple_of_mss(window: u16, mss: Option<u16>) -> Option<WindowMultiple> {
    let mss = mss.filter(|&mss| mss >= 100 && window != 0 && window.checked_rem(mss) == Some(0))?;
    window.checked_div(mss).map(WindowMultiple::Mss)
}
