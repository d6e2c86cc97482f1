//! HPACK, the header compression of HTTP/2 (RFC 7541): the decoder.

mod decoder;
mod error;
mod huffman;
mod integer;
mod table;

pub(crate) use decoder::{Decoder, StringHeader};
pub use error::HpackError;
pub(crate) use integer::read as read_integer;
pub(crate) use table::{Name, field_size};
