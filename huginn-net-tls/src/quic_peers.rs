//! What QUIC packets show of client and server beside their hellos.

use huginn_net_wire::Side;

use crate::hello::QuicVersion;
use crate::limits::MAX_DATAGRAM_SIZES;

/// The QUIC client of a connection: what its Initial packets show beside the ClientHello.
///
/// Lengths are those of the first Initial packet that was decrypted, in bytes. A client chooses both connection ids of its
/// first packet; after a Retry, the server has chosen the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuicClient {
    /// Version of the packet.
    pub version: QuicVersion,
    /// Length of the source connection id.
    pub source_connection_id_len: u8,
    /// Length of the destination connection id.
    pub destination_connection_id_len: u8,
    /// Length of the token: of a Retry (RFC 9000, section 8.1.2), or of an earlier connection (section 8.1.3).
    pub token_len: u32,
    /// Packet number.
    pub packet_number: u64,
    /// Whether the server answered the client's previous attempt with a Retry.
    pub after_retry: bool,
    /// Whether the server answered the client's previous attempt, in another version, with a Version Negotiation.
    pub after_version_negotiation: bool,
    pub(crate) datagram_sizes: DatagramSizes,
}

/// The QUIC server of a connection: what the Initial packet with its ServerHello shows beside it.
///
/// The transport parameters of a server are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuicServer {
    /// Version of the packet.
    pub version: QuicVersion,
    /// Length of the source connection id, which the server chose, in bytes.
    pub source_connection_id_len: u8,
    /// Length of the destination connection id, which the client chose, in bytes.
    pub destination_connection_id_len: u8,
    /// Length of the token of the Retry that the server sent before (RFC 9000, section 8.1.2), in bytes; `None` without a Retry.
    pub retry_token_len: Option<u32>,
    pub(crate) datagram_sizes: DatagramSizes,
}

/// The first sizes of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatagramSizes {
    sizes: [u16; MAX_DATAGRAM_SIZES],
    len: u8,
}

impl DatagramSizes {
    pub(crate) fn get(&self) -> &[u16] {
        let Self { sizes, len } = self;
        sizes.get(..usize::from(*len)).unwrap_or(sizes)
    }

    /// Adds the size of the datagram of a packet; `None` if an earlier Initial packet of the datagram did.
    pub(crate) fn add(&mut self, datagram_size: Option<u16>) {
        let Some(datagram_size) = datagram_size else { return };
        let Self { sizes, len } = self;
        if let Some(size) = sizes.get_mut(usize::from(*len)) {
            *size = datagram_size;
            *len = len.saturating_add(1);
        }
    }
}

/// A connection that ended before its ServerHello: a side closed it in an Initial packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuicClose {
    /// The side that answers the ClientHello.
    pub(crate) server: Side,
    /// The side that closed the connection.
    pub(crate) sender: Side,
    /// The error code (RFC 9000, section 20.1; alerts of TLS: RFC 9001, section 4.8).
    pub(crate) code: u64,
    /// Whether the server sent a HelloRetryRequest.
    pub(crate) retry: bool,
}
