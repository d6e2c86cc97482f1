//! Numbers with what they count.

use std::fmt;

/// A number and what it counts, as text. `(s)` ends a noun in the plural.
///
/// ```
/// use huginn_net_wire::Amount;
///
/// assert_eq!(Amount(1, "packet(s) with an invalid header").to_string(), "1 packet with an invalid header");
/// assert_eq!(Amount(3, "flow(s) or host(s) evicted").to_string(), "3 flows or hosts evicted");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount<'a>(pub u64, pub &'a str);

impl Amount<'_> {
    /// What is counted, in the singular or the plural.
    pub fn noun(&self) -> String {
        self.1.replace("(s)", if self.0 == 1 { "" } else { "s" })
    }
}

impl fmt::Display for Amount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.noun())
    }
}
