//! Building blocks of the Huginn-Net protocol parsers, without the packet engine.
//!
//! A parser of plain bytes needs no other crate of the family:
//! - [`Cursor`] reads fields with bounds checks;
//! - [`Reassembler`] orders the chunks of a stream;
//! - [`Side`] names the two ends of a flow;
//! - [`Parsed`] states how many bytes a value consumed, and [`Progress`] whether a reader needs more of them;
//! - [`Escaped`] displays bytes as text, and [`HexDigits`] as digits;
//! - [`ProxyPrefix`] skips what proxies put before the protocol of a connection.
//!
//! `huginn-net-core` re-exports most of it. Items that these pages leave out are for the crates of the family: they may change at any time.
//!
//! ```
//! use huginn_net_wire::{Cursor, Reassembler, Truncated};
//!
//! /// The port and the length of a header.
//! fn header(bytes: &[u8]) -> Result<(u16, u8), Truncated> {
//!     let mut cursor = Cursor::new(bytes);
//!     Ok((cursor.u16_be()?, cursor.u8()?))
//! }
//!
//! // Two segments of a stream, the second one first.
//! let (mut stream, mut bytes) = (Reassembler::new(), Vec::new());
//! for (offset, segment) in [(2, &[7][..]), (0, &[1, 187])] {
//!     assert!(stream.push(offset, segment, 1000, &mut |chunk| bytes.extend_from_slice(chunk)));
//! }
//! assert_eq!(header(&bytes), Ok((443, 7)));
//! ```
//!
//! # Features
//! | feature | adds |
//! |---|---|
//! | `serde` | `Serialize` for [`Side`] and [`Escaped`]; `Deserialize` for [`Side`] |
//!
//! None is on by default.

mod amount;
mod calendar;
mod cursor;
mod escaped;
mod hex;
mod ip_text;
mod joined;
mod limits;
mod named;
mod parsed;
mod progress;
mod proxy_prefix;
#[doc(hidden)]
pub mod quic;
mod quoted;
mod reassembly;
mod seen_cache;
#[cfg(feature = "serde")]
mod serialize;
mod setters;
mod side;
mod table_enum;

pub use cursor::{Cursor, Truncated};
pub use escaped::Escaped;
pub use hex::HexDigits;
pub use parsed::Parsed;
pub use progress::Progress;
pub use proxy_prefix::{ProxyPrefix, Skipped, after_proxy_prefixes};
pub use reassembly::{Reassembler, ReassemblyLimits};
pub use side::Side;

#[doc(hidden)]
pub use amount::Amount;
#[doc(hidden)]
pub use calendar::{CivilDate, two_digits};
#[doc(hidden)]
pub use escaped::{Printable, is_printable};
#[doc(hidden)]
pub use hex::{byte_digits, digit as hex_digit, md5_digits, md5_from_digits, number_digits};
#[doc(hidden)]
pub use ip_text::IpText;
#[doc(hidden)]
pub use joined::Joined;
#[doc(hidden)]
pub use quoted::{Quoted, quoted};
#[doc(hidden)]
pub use seen_cache::SeenCache;
