//! HTTP signatures: their syntax, their index, and matches.

mod index;
mod matching;
mod pattern;

pub(crate) use self::index::{HeaderNames, HttpIndex};
pub use self::matching::{HttpMatch, HttpParams};
pub use self::pattern::{HeaderPattern, HttpPattern};
