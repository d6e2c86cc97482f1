//! Hellos in QUIC Initial packets (RFC 9000, RFC 9001, RFC 9369): `ClientInitials` reads the datagrams of a client.
//!
//! The keys of Initial packets follow from the client's first packet. An observer who sees that packet can open it, and
//! the Initial packets that both sides send after it.
//!
//! Everything but [`QuicError`] needs the feature `quic`.

#[cfg(feature = "quic")]
mod connection;
#[cfg(feature = "packets")]
mod counters;
mod error;
#[cfg(feature = "quic")]
mod flow;
#[cfg(feature = "quic")]
mod frames;
#[cfg(feature = "quic")]
mod keys;
#[cfg(feature = "quic")]
mod packet;
#[cfg(feature = "quic")]
mod reader;
#[cfg(feature = "quic")]
mod version;

#[cfg(feature = "packets")]
pub use counters::QuicCounters;
pub use error::QuicError;
#[cfg(feature = "quic")]
pub use reader::ClientInitials;

#[cfg(feature = "packets")]
pub(crate) use flow::QuicFlow;
#[cfg(feature = "packets")]
pub(crate) use packet::{likely_sender, looks_like_initial};

#[cfg(test)]
#[cfg(feature = "packets")]
mod tests;
