//! Summaries of connections.

use std::sync::Arc;

use huginn_net_consistency::Outcome;
use huginn_net_core::Timestamp;
use huginn_net_db::{ClientMatch, Label, SoftwareName, SystemName};
use huginn_net_ssh::Hassh;
use huginn_net_tls::{Certificate, Ja4, Version};

use super::TcpHistory;

/// The packets of a TCP connection or a UDP flow, and what all layers showed of its ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connection {
    /// Capture time of the first packet.
    pub start: Timestamp,
    /// Capture time of the last packet.
    pub end: Timestamp,
    /// Packets and bytes of the client.
    pub client: Traffic,
    /// Packets and bytes of the server.
    pub server: Traffic,
    /// The packets of a TCP connection in the form of Zeek; empty for UDP.
    pub history: TcpHistory,
    /// The first host name: of a ClientHello (server_name) or of a request. Cut after 255 bytes.
    pub host: Option<Box<[u8]>>,
    /// Whether the host name was longer.
    pub host_is_cut: bool,
    /// The operating system that the SYN matches.
    pub client_system: Option<SystemName<Arc<Label>>>,
    /// The operating system that the SYN+ACK matches.
    pub server_system: Option<SystemName<Arc<Label>>>,
    /// The software that the first request or the client's SSH algorithms match; with the remarks of
    /// [`SoftwareName`].
    pub client_software: Option<Arc<str>>,
    /// The software that the first response matches.
    pub server_software: Option<SoftwareName<Arc<Label>>>,
    /// The software that the first ClientHello matches.
    pub tls_client: Option<ClientMatch>,
    /// The TLS version that the server selected.
    pub tls_version: Option<Version>,
    /// The own certificate of the TLS server, if handshakes are followed. The client is the sender of the ClientHello.
    pub certificate: Option<Certificate>,
    /// JA4 of the first ClientHello.
    pub ja4: Option<Ja4>,
    /// HASSH of the SSH client.
    pub hassh: Option<Hassh>,
    /// HASSHServer of the SSH server.
    pub hassh_server: Option<Hassh>,
    /// The outcome of the last mismatch: imitation, unexplained or proxy.
    pub mismatch: Option<Outcome>,
    /// Names of the [blind spots](crate::blind_spots) that this connection caused, in their order: what was not seen or not read of it.
    pub blind_spots: Vec<&'static str>,
}

/// The packets that one side sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Packets, retransmissions included.
    pub packets: u64,
    /// Payload bytes of TCP or UDP, retransmissions and bytes beyond the snap length included.
    pub bytes: u64,
}

impl Connection {
    /// The time from the first packet to the last one, in seconds; 0 if the capture's time stepped back.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds are exact up to 104 days")]
    pub fn duration(&self) -> f64 {
        self.end.as_nanos().saturating_sub(self.start.as_nanos()) as f64 / 1e9
    }
}
