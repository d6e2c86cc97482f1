//! QPACK, the header compression of HTTP/3 (RFC 9204): the decoder.

mod decoder;
mod static_table;
mod table;

pub(crate) use decoder::{Decoder, Section};
