//! TCP signatures: their syntax, their index, and matches.

mod cover;
mod identity;
mod index;
mod matching;
mod pattern;
mod receive_buffer;
mod syntax;

pub(crate) use self::index::TcpIndex;
pub(crate) use self::matching::MatchRule;
pub use self::matching::{Distance, FuzzyReason, SystemName, TcpMatch, TcpParams};
pub use self::pattern::{TcpPattern, TtlPattern, WindowPattern};
