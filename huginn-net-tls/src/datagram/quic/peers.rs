//! What the headers of Initial packets show of client and server.

use super::packet::Initial;
use crate::hello::QuicVersion;
use crate::quic_peers::{DatagramSizes, QuicClient, QuicServer};

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
        self.datagram_sizes.add(packet.datagram_size);
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
        self.datagram_sizes.add(packet.datagram_size);
    }
}

/// The length of a connection id, which is at most 20.
fn id_len(id: &[u8]) -> u8 {
    u8::try_from(id.len()).unwrap_or(u8::MAX)
}
