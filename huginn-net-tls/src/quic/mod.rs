//! Hellos in QUIC Initial packets (RFC 9000, RFC 9001, RFC 9369): [`ClientInitials`] reads the datagrams of a
//! client.
//!
//! Initial packets are protected with keys that follow from the packet itself; whoever sees a client's first
//! packet can open it, and those that both sides send after it.

mod connection;
mod counters;
mod error;
mod flow;
mod frames;
mod keys;
mod packet;
mod reader;
mod version;

pub use counters::QuicCounters;
pub use error::QuicError;
pub use reader::ClientInitials;

pub(crate) use flow::QuicFlow;
pub(crate) use packet::{likely_sender, looks_like_initial};

#[cfg(test)]
mod tests;
