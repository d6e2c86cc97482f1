//! The state of one flow.

use std::cell::Cell;

use huginn_net_consistency::Outcome;
use huginn_net_core::{FlowId, PacketRef, Side, StreamFlow};
use huginn_net_ssh::SshPeers;
use huginn_net_tcp::TcpFlow;
use huginn_net_tls::TlsUdpFlow;

use super::allowance::Allowance;
use super::login::LoginProgress;
use super::open_connection::OpenConnection;
use super::progress::HandshakeProgress;
#[cfg(feature = "decrypt")]
use super::quic_content::QuicConnections;
use super::stream_parsers::Parsers;
use crate::p0f_flow::P0fFlow;
use crate::parser_events::HandshakeSystems;
use crate::watch::FlowMatches;

/// The state of one flow.
#[derive(Debug, Default)]
pub struct FlowState {
    pub(super) protocols: ProtocolStates,
    pub(super) allowance: Allowance,
    /// Whether client and server have updated their hosts; set only if profiles are enabled.
    pub(super) has_updated: [bool; 2],
    pub(super) handshake: HandshakeProgress,
    /// What follows the key exchange of SSH; absent unless findings are enabled.
    pub(super) login: Option<Box<LoginProgress>>,
    /// The entries of watch lists that the flow has matched.
    pub(super) matches: Option<Box<FlowMatches>>,
}

/// The state of one flow, per protocol.
#[derive(Debug, Default)]
pub(super) struct ProtocolStates {
    pub(super) tcp: TcpFlow,
    pub(super) transport: TransportState,
    pub(super) ssh_peers: SshPeers,
    /// State of p0f for the connection; absent outside of [`Scope::P0f`](crate::observers::Scope::P0f).
    pub(super) p0f: Option<Box<P0fFlow>>,
    /// The side whose handshake comes from a user-space tool: its MSS does not describe a link.
    pub(super) by_tool: Option<Side>,
    pub(super) systems: HandshakeSystems,
    pub(super) tcp_done: bool,
    pub(super) http_done: bool,
    pub(super) streams_done: bool,
    /// The outcome of the last reported mismatch of the connection.
    pub(super) mismatch: Cell<Option<Outcome>>,
    /// Whether the ClientHello of the connection names no server; set only if findings are enabled.
    pub(super) is_nameless: Cell<bool>,
    /// The summary of the connection, or what its end needs; absent unless one of them is reported.
    pub(super) connection: Option<Box<OpenConnection>>,
}

impl ProtocolStates {
    /// Takes note that an event is reported at a packet of a flow, whose end is reported, too.
    #[cold]
    pub(super) fn note_report(&mut self, packet: PacketRef, flow: impl FnOnce() -> FlowId) {
        let new = || Box::new(OpenConnection::at(packet, flow()));
        self.connection.get_or_insert_with(new).note_report(packet);
    }
}

/// The state of a flow above its transport.
#[derive(Debug)]
pub(super) enum TransportState {
    Tcp(StreamFlow<Parsers>),
    Udp(UdpState),
}

/// The state of a flow over UDP.
#[derive(Debug, Default)]
pub(super) struct UdpState {
    pub(super) tls: TlsUdpFlow,
    /// The decrypted connections; absent without secrets.
    #[cfg(feature = "decrypt")]
    pub(super) quic: Option<Box<QuicConnections>>,
}

impl UdpState {
    /// Whether something waits for the end of the flow.
    pub(super) fn has_end(&self) -> bool {
        #[cfg(feature = "decrypt")]
        return self.quic.as_ref().is_some_and(|quic| quic.has_end());
        #[cfg(not(feature = "decrypt"))]
        false
    }

    /// Heap memory of the flow, in bytes.
    pub(super) fn buffered_bytes(&self) -> usize {
        let tls = self.tls.buffered_bytes();
        #[cfg(feature = "decrypt")]
        let tls = tls.saturating_add(self.quic.as_ref().map_or(0, |quic| quic.buffered_bytes()));
        tls
    }
}

impl Default for TransportState {
    fn default() -> Self {
        Self::Tcp(StreamFlow::default())
    }
}
