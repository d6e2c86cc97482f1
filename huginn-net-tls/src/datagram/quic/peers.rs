//! What the headers of Initial packets show of client and server.

use super::packet::Initial;
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
    datagram_sizes: DatagramSizes,
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
    datagram_sizes: DatagramSizes,
}

/// The first sizes of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DatagramSizes {
    sizes: [u16; MAX_DATAGRAM_SIZES],
    len: u8,
}

impl QuicClient {
    pub(super) fn new(packet: &Initial<'_>, packet_number: u64) -> Self {
        let mut client = Self {
            version: QuicVersion(packet.version),
            source_connection_id_len: id_len(packet.source),
            destination_connection_id_len: id_len(packet.destination),
            token_len: packet.token_len,
            packet_number,
            after_retry: false,
            after_version_negotiation: false,
            datagram_sizes: DatagramSizes::default(),
        };
        client.add_datagram(packet);
        client
    }

    /// UDP payload sizes of the client's datagrams with Initial packets, up to the one that completes the ClientHello: the
    /// first 8, in bytes.
    pub fn datagram_sizes(&self) -> &[u16] {
        self.datagram_sizes.get()
    }

    pub(super) fn add_datagram(&mut self, packet: &Initial<'_>) {
        self.datagram_sizes.add(packet);
    }
}

impl DatagramSizes {
    fn get(&self) -> &[u16] {
        let Self { sizes, len } = self;
        sizes.get(..usize::from(*len)).unwrap_or(sizes)
    }

    /// Adds the datagram of a packet, unless an earlier Initial packet of the datagram did.
    fn add(&mut self, packet: &Initial<'_>) {
        let Some(datagram_size) = packet.datagram_size else { return };
        let Self { sizes, len } = self;
        if let Some(size) = sizes.get_mut(usize::from(*len)) {
            *size = datagram_size;
            *len = len.saturating_add(1);
        }
    }
}

impl QuicServer {
    pub(super) fn new(packet: &Initial<'_>, retry_token_len: Option<u32>) -> Self {
        let mut server = Self {
            version: QuicVersion(packet.version),
            source_connection_id_len: 0,
            destination_connection_id_len: 0,
            retry_token_len,
            datagram_sizes: DatagramSizes::default(),
        };
        server.add_packet(packet);
        server
    }

    /// UDP payload sizes of the server's datagrams with Initial packets, up to the one that completes the ServerHello: the
    /// first 8, in bytes.
    pub fn datagram_sizes(&self) -> &[u16] {
        self.datagram_sizes.get()
    }

    pub(super) fn add_packet(&mut self, packet: &Initial<'_>) {
        self.version = QuicVersion(packet.version);
        self.source_connection_id_len = id_len(packet.source);
        self.destination_connection_id_len = id_len(packet.destination);
        self.datagram_sizes.add(packet);
    }
}

/// The length of a connection id, which is at most 20.
fn id_len(id: &[u8]) -> u8 {
    u8::try_from(id.len()).unwrap_or(u8::MAX)
}
