//! Building blocks of the Huginn-Net protocol parsers, without the packet engine.
//!
//! A parser of plain bytes needs no other crate of the family:
//! - [`Cursor`] reads fields with bounds checks;
//! - [`Reassembler`] orders the chunks of a stream;
//! - [`Side`] names the two ends of a flow;
//! - [`Parsed`] states how many bytes a value consumed, and [`Progress`] whether a reader needs more of them;
//! - [`Escaped`] displays bytes as text, [`Printable`] text without what is not [printable](is_printable), [`quoted`]
//!   the start of a text, and [`Quoted`] that of captured bytes; [`Amount`] writes a number with its noun, [`Joined`] a list;
//! - [`HexDigits`] displays bytes, [`md5_digits`] and [`md5_from_digits`] convert hashes, [`IpText`] is the text of an address;
//! - [`ProxyPrefix`] skips what proxies put before the protocol of a connection;
//! - [`SeenCache`] caches values computed from repeated keys;
//! - [`quic`] has the parts of reading QUIC packets that need no key.
//!
//! `huginn-net-core` re-exports all but the last two.
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
pub mod quic;
mod quoted;
mod reassembly;
mod seen_cache;
#[cfg(feature = "serde")]
mod serialize;
mod side;
mod table_enum;

pub use amount::Amount;
pub use calendar::{CivilDate, two_digits};
pub use cursor::{Cursor, Truncated};
pub use escaped::{Escaped, Printable, is_printable};
pub use hex::{HexDigits, byte_digits, digit as hex_digit, md5_digits, md5_from_digits, number_digits};
pub use ip_text::IpText;
pub use joined::Joined;
pub use parsed::Parsed;
pub use progress::Progress;
pub use proxy_prefix::{ProxyPrefix, Skipped, after_proxy_prefixes};
pub use quoted::{Quoted, quoted};
pub use reassembly::{Reassembler, ReassemblyLimits};
pub use seen_cache::SeenCache;
pub use side::Side;
