//! Building blocks of the Huginn-Net protocol parsers, without the packet engine.
//!
//! A parser of plain bytes needs no other crate of the family:
//! - [`Cursor`] reads fields with bounds checks;
//! - [`Reassembler`] orders the chunks of a stream;
//! - [`Side`] names the two ends of a flow;
//! - [`Parsed`] states how many bytes a value consumed;
//! - [`Escaped`] displays bytes as text;
//! - [`SeenCache`] caches values computed from repeated keys.
//!
//! `huginn-net-core` re-exports all but the last.

mod calendar;
mod cursor;
mod escaped;
mod limits;
mod parsed;
mod reassembly;
mod seen_cache;
#[cfg(feature = "serde")]
mod serialize;
mod side;

pub use calendar::CivilDate;
pub use cursor::{Cursor, Truncated};
pub use escaped::Escaped;
pub use parsed::Parsed;
pub use reassembly::Reassembler;
pub use seen_cache::SeenCache;
pub use side::Side;
