//! Quotations of captured bytes.

use std::fmt::{self, Display};

use huginn_net_core::Escaped;

use crate::limits::MAX_QUOTED_BYTES;

/// Quotes captured bytes: at most [`MAX_QUOTED_BYTES`], and without control characters.
pub(crate) struct Quoted<'a>(pub(crate) &'a [u8]);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.0.get(..MAX_QUOTED_BYTES).unwrap_or(self.0);
        let rest = if start.len() < self.0.len() { "..." } else { "" };
        write!(f, "{:#}{rest}", Escaped(start))
    }
}
