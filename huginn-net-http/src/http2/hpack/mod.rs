//! HPACK, the header compression of HTTP/2 (RFC 7541): the decoder.

mod decoder;
mod huffman;
mod integer;
mod table;

pub(crate) use decoder::Decoder;
pub use decoder::HpackError;
