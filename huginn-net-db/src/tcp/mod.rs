//! TCP signatures: their syntax, their index, and matches.

mod cover;
mod index;
mod matching;
mod pattern;
mod syntax;

pub(crate) use self::index::TcpIndex;
pub use self::matching::{Distance, TcpMatch, TcpParams};
pub use self::pattern::{TcpPattern, TtlPattern, WindowPattern};
