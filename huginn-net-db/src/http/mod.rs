//! HTTP signatures: their syntax, their index, and matches.

mod claim;
mod index;
mod matching;
mod pattern;

pub use self::claim::{SoftwareClaim, SoftwareName};
pub(crate) use self::index::{HeaderNames, HttpIndex};
pub use self::matching::{HttpMatch, HttpParams};
pub use self::pattern::{HeaderPattern, HttpPattern};
