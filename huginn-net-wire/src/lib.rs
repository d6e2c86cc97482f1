//! Building blocks of the Huginn-Net protocol parsers, without the packet engine.
//!
//! A parser that has bytes only needs this crate and no other of the family: [`Cursor`] reads fields with bounds checks,
//! [`Reassembler`] orders the pieces of a stream, [`Side`] names the two ends of a flow, and [`SeenCache`] keeps what was
//! computed from keys that come again. `huginn-net-core` re-exports the first three.

mod cursor;
mod reassembly;
mod seen_cache;
mod side;

pub use cursor::{Cursor, Truncated};
pub use reassembly::Reassembler;
pub use seen_cache::SeenCache;
pub use side::Side;
