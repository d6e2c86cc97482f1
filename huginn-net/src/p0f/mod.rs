//! Log lines and query API of p0f 3.09b.

mod log;
mod query;

pub use self::log::P0fLine;
pub use self::query::{P0fAnswer, P0fHost, P0fQuery, P0fText};
