//! Counters of the protocols.

use huginn_net_core::{StreamCounters, tally};
use huginn_net_http::HttpCounters;
use huginn_net_ssh::SshCounters;
use huginn_net_tls::TlsCounters;

use super::DecryptionCounters;
use crate::event_limits::SuppressedEvents;

/// Counters of the protocols; the engine has its own [`Counters`](huginn_net_core::Counters).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ProtocolCounters {
    /// Losses of TCP reassembly, shared by HTTP, TLS and SSH.
    pub streams: StreamCounters,
    /// HTTP, in cleartext or decrypted.
    pub http: HttpCounters,
    /// TLS over TCP, QUIC and DTLS.
    pub tls: TlsCounters,
    /// SSH.
    pub ssh: SshCounters,
    /// TLS that was decrypted with logged secrets.
    pub decryption: DecryptionCounters,
    /// Events found and not reported: those beyond the limits of a connection. The shared state counts the
    /// [others](crate::hosts::Hosts::events_suppressed).
    pub events_suppressed: SuppressedEvents,
}

tally!(ProtocolCounters { streams, http, tls, ssh, decryption, events_suppressed });
