//! p0f's reasons for a change of a host, or for a shared address.

use std::fmt;

use huginn_net_core::Joined;
use serde::{Deserialize, Serialize};

/// A set of reasons. [`Display`](fmt::Display) follows p0f: names joined by spaces, `???` for the empty set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reasons(pub(crate) u16);

/// Names by bit, in p0f's order.
pub(crate) const REASON_NAMES: [&str; 13] = [
    "app_vs_os",
    "os_diff",
    "sig_diff",
    "x_known",
    "tstamp",
    "ttl",
    "port",
    "mtu",
    "fuzzy",
    "via",
    "date",
    "srv_sig_lb",
    "ua_vs_os",
];

impl Reasons {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// Software on a system on which it does not usually run.
    pub const SOFTWARE: Self = Self(1);
    /// A different system than before.
    pub const SYSTEM: Self = Self(1 << 1);
    /// A different signature than before, of an unknown system.
    pub const SIGNATURE: Self = Self(1 << 2);
    /// The system was known before and is not now, or the reverse.
    pub const KNOWN: Self = Self(1 << 3);
    /// TCP timestamps that contradict the clock measured before.
    pub const TIMESTAMP: Self = Self(1 << 4);
    /// A different time to live than before.
    pub const TTL: Self = Self(1 << 5);
    /// A source port well below the last one.
    pub const PORT: Self = Self(1 << 6);
    /// A different maximum segment size than before.
    pub const MTU: Self = Self(1 << 7);
    /// A fuzzy match after an exact one, or the reverse.
    pub const FUZZY: Self = Self(1 << 8);
    /// A Via or X-Forwarded-For header.
    pub const VIA: Self = Self(1 << 9);
    /// A Date header that contradicts the clock seen before.
    pub const DATE: Self = Self(1 << 10);
    /// Different server software than before on the same port, as behind a load balancer.
    pub const SERVER: Self = Self(1 << 11);
    /// A User-Agent that names a different system than the TCP fingerprint.
    pub const USER_AGENT: Self = Self(1 << 12);

    /// The union of two sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set contains all reasons of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The names of the reasons in p0f.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        REASON_NAMES.iter().enumerate().filter(move |(bit, _)| self.0 >> bit & 1 == 1).map(|(_, name)| *name)
    }
}

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("???");
        }
        write!(f, "{}", Joined(self.names().collect::<Vec<_>>(), " "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_in_p0f_order() {
        assert_eq!(Reasons::NONE.to_string(), "???");
        let reasons = Reasons::PORT.with(Reasons::SYSTEM).with(Reasons::TIMESTAMP);
        assert_eq!(reasons.to_string(), "os_diff tstamp port");
        let last = Reasons::USER_AGENT.with(Reasons::SOFTWARE);
        assert_eq!(last.names().collect::<Vec<_>>(), ["app_vs_os", "ua_vs_os"]);
        assert!(reasons.contains(Reasons::PORT) && !reasons.contains(last));
    }
}
