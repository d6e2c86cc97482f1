//! Summaries of connections.

mod history;

use std::sync::Arc;

use huginn_net_consistency::{Consistency, Outcome};
use huginn_net_core::{Event, FlowId, Interest, Route, Segment, Side, Timestamp, without_padding};
use huginn_net_db::{ClientMatch, HttpMatch, Label, SoftwareName, SystemName};
use huginn_net_http::Role;
use huginn_net_ssh::{Hassh, SshPeer};
use huginn_net_tcp::Handshake;
use huginn_net_tls::{Certificate, Ja4, Version};

pub use self::history::TcpHistory;
use crate::Finding;
use crate::event_limits::TextLimit;
use crate::finding::TlsClientFinding;
use crate::limits::MAX_HOST_BYTES;
use crate::observers::FlowOutput;

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

/// A connection that has not ended yet.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    flow: FlowId,
    /// Whether the protocols need further segments.
    pub(crate) interest: Interest,
    /// Whether the limits of output have room for the event.
    pub(crate) is_reserved: bool,
    has_findings: bool,
    /// Number of the latest packet.
    packet_number: u64,
    connection: Connection,
}

impl OpenConnection {
    /// Starts the summary of a flow with its first packet.
    pub(crate) fn new(segment: &Segment<'_>, sender: Side, is_reserved: bool) -> Self {
        let connection = Connection {
            start: segment.ts,
            end: segment.ts,
            client: Traffic::default(),
            server: Traffic::default(),
            history: TcpHistory::default(),
            host: None,
            host_is_cut: false,
            client_system: None,
            server_system: None,
            client_software: None,
            server_software: None,
            tls_client: None,
            tls_version: None,
            certificate: None,
            ja4: None,
            hassh: None,
            hassh_server: None,
            mismatch: None,
        };
        Self {
            flow: FlowId::from_segment(segment, sender),
            interest: Interest::More,
            is_reserved,
            has_findings: false,
            packet_number: segment.packet_number,
            connection,
        }
    }

    /// Counts a packet.
    pub(crate) fn on_segment(&mut self, segment: &Segment<'_>, sender: Side) {
        let Connection { end, client, server, history, .. } = &mut self.connection;
        *end = segment.ts;
        self.packet_number = segment.packet_number;
        let Traffic { packets, bytes } = sender.choose(client, server);
        let payload = without_padding(segment).len() as u64;
        let payload = payload.saturating_add(segment.payload_missing.into());
        *packets = packets.saturating_add(1);
        *bytes = bytes.saturating_add(payload);
        history.on_segment(segment, sender, payload);
    }

    /// Adds what an output of the protocols says about the connection.
    pub(crate) fn on_output(&mut self, output: &FlowOutput, subject: Side) {
        let Route::Report(finding) = output else { return };
        self.has_findings = true;
        let connection = &mut self.connection;
        match finding {
            Finding::Tcp(finding) => {
                let system = match finding.signature.handshake {
                    Handshake::Syn => &mut connection.client_system,
                    Handshake::SynAck => &mut connection.server_system,
                };
                *system = finding.matched.as_ref().map(|found| found.named(Arc::clone(&found.label)));
            }
            Finding::HttpRequest(finding) => {
                connection.add_host(finding.request.host());
                let by_settings = finding.software.as_ref().map(|found| found.software.to_string().into());
                let name = finding.verdict.name().map(|name| name.to_string().into()).or(by_settings);
                connection.client_software = connection.client_software.take().or(name);
            }
            Finding::HttpResponse(finding) => {
                let shared = |found: &HttpMatch| found.named(Arc::clone(&found.label), Role::Response);
                let software = &mut connection.server_software;
                *software = software.take().or_else(|| finding.verdict.matched.as_ref().map(shared));
            }
            Finding::TlsClient(finding) if connection.ja4.is_none() => connection.add_hello(finding),
            Finding::TlsServer(finding) => connection.tls_version = Some(finding.server.hello.version()),
            Finding::TlsCertificates(finding) if subject == Side::Server => {
                let own = finding.certificates.certificates.first();
                connection.certificate = connection.certificate.take().or_else(|| own.cloned());
            }
            Finding::SshClient(finding) => {
                connection.hassh = hassh(&finding.peer);
                let name = finding.software().map(|found| found.software.to_string().into());
                connection.client_software = connection.client_software.take().or(name);
            }
            Finding::SshServer(finding) => connection.hassh_server = hassh(&finding.peer),
            Finding::Mismatch(Consistency { outcome, .. }) => connection.mismatch = Some(*outcome),
            _ => {}
        }
    }

    /// Heap memory, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let host = self.connection.host.as_ref().map_or(0, |host| host.len());
        size_of::<Self>().saturating_add(host)
    }

    /// Returns the event at the end of the flow, if anything was found.
    pub(crate) fn into_event(self) -> Option<Event<FlowOutput>> {
        let Self { flow, has_findings, packet_number, connection, .. } = self;
        let ts = connection.end;
        let finding = Finding::Connection(Box::new(connection));
        has_findings.then(|| Event::new(ts, packet_number, flow, Side::Client, Route::Report(finding)))
    }
}

impl Connection {
    fn add_hello(&mut self, finding: &TlsClientFinding) {
        let hello = &finding.client.hello;
        self.ja4 = Some(hello.ja4());
        self.tls_client = finding.software();
        self.add_host(hello.server_name());
    }

    fn add_host(&mut self, host: Option<&[u8]>) {
        if let (None, Some(host)) = (&self.host, host) {
            let (start, is_cut) = TextLimit::new(Some(MAX_HOST_BYTES)).cut(host);
            (self.host, self.host_is_cut) = (Some(start.into()), is_cut);
        }
    }
}

fn hassh(peer: &SshPeer) -> Option<Hassh> {
    Some(peer.hassh_algorithms()?.hash())
}
