//! Building blocks of the Huginn-Net protocol parsers, without the packet engine.
//!
//! A parser that has bytes only needs this crate and no other of the family: [`Cursor`] reads fields with bounds checks,
//! [`Reassembler`] orders the chunks of a stream, [`Side`] names the two ends of a flow, [`Parsed`] says how many bytes a
//! value took, [`Escaped`] shows bytes as text, and [`SeenCache`] keeps what was computed from keys that come again.
//! `huginn-net-core` re-exports all but the last.

mod calendar;
mod cursor;
mod escaped;
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
