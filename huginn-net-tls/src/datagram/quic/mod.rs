//! Hellos in QUIC Initial packets (RFC 9000, RFC 9001, RFC 9369): `ClientInitials` reads the datagrams of a client.
//!
//! The keys of Initial packets derive from the client's first packet, so any observer of that packet can decrypt it and
//! the later Initial packets of both sides.
//!
//! All items except [`QuicError`] require the feature `quic`.

#[cfg(feature = "quic")]
#[cfg_attr(
    not(feature = "packets"),
    expect(dead_code, reason = "`ClientInitials` reads one connection of one side")
)]
mod connection;
#[cfg(feature = "packets")]
mod flow;
#[cfg(feature = "quic")]
mod frames;
#[cfg(feature = "quic")]
mod keys;
#[cfg(feature = "quic")]
#[cfg_attr(not(feature = "packets"), expect(dead_code, reason = "`ClientInitials` follows no Retry"))]
mod packet;
#[cfg(feature = "quic")]
mod peers;
#[cfg(feature = "quic")]
mod reader;
#[cfg(feature = "packets")]
mod segments;
#[cfg(feature = "quic")]
mod version;

#[cfg(feature = "packets")]
pub use crate::counters::QuicCounters;
pub use crate::error::QuicError;
#[cfg(feature = "quic")]
pub use crate::quic_peers::{QuicClient, QuicServer};
#[cfg(feature = "quic")]
pub use reader::ClientInitials;

#[cfg(feature = "packets")]
pub(crate) use connection::Scratch;
#[cfg(feature = "packets")]
pub(crate) use flow::{QuicFlow, QuicPart};
#[cfg(feature = "packets")]
pub(crate) use packet::{has_long_header, likely_sender, looks_like_initial};

#[cfg(test)]
#[cfg(feature = "packets")]
mod tests;
