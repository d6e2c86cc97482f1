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

impl fmt::Display for Amount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, what) = self;
        write!(f, "{count} ")?;
        let end = if *count == 1 { "" } else { "s" };
        for (n, part) in what.split("(s)").enumerate() {
            f.write_str(if n > 0 { end } else { "" })?;
            f.write_str(part)?;
        }
        Ok(())
    }
}
