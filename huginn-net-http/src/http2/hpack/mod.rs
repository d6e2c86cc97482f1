//! HPACK, the compression of header fields (RFC 7541): only what reads it.

mod decoder;
mod huffman;
mod integer;
mod table;

pub(crate) use decoder::Decoder;
pub use decoder::HpackError;
