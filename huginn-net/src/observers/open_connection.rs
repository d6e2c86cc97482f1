//! The summary of a connection that has not ended.

use std::sync::Arc;

use huginn_net_consistency::Consistency;
use huginn_net_core::{Event, FlowId, Interest, PacketRef, Route, Segment, Side, TcpFlags, without_padding};
use huginn_net_db::HttpMatch;
use huginn_net_http::Role;
use huginn_net_ssh::{Hassh, SshPeer};
use huginn_net_tcp::Handshake;

use super::protocol_kinds::SpotSet;
use crate::Observation;
use crate::hosts::FlowOutput;
use crate::limits::MAX_HOST_BYTES;
use crate::observation::{Connection, ConnectionEnd, TcpHistory, TextLimit, TlsClientObservation, Traffic};

/// A connection that has not ended yet.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    flow: FlowId,
    /// Whether the protocols need further segments.
    pub(crate) interest: Interest,
    /// Whether the limits of output have room for the event.
    pub(crate) is_reserved: bool,
    has_findings: bool,
    /// Whether another sender may have answered in the server's name.
    is_server_doubtful: bool,
    /// What was not seen or not read of the connection.
    blind_spots: SpotSet,
    /// Number of the latest packet.
    packet_number: u64,
    connection: Connection,
}

impl OpenConnection {
    /// Starts the summary of a flow with its first packet.
    pub(crate) fn new(segment: &Segment<'_>, sender: Side, is_reserved: bool) -> Self {
        let (packet, flow) = (PacketRef::from_segment(segment), FlowId::from_segment(segment, sender));
        let has_syn = segment.tcp().is_none_or(|tcp| tcp.flags.contains(TcpFlags::SYN));
        let blind_spots = if has_syn { SpotSet::default() } else { SpotSet::MIDSTREAM };
        Self { is_reserved, blind_spots, ..Self::at(packet, flow) }
    }

    /// Starts the summary of a flow at a packet.
    pub(super) fn at(packet: PacketRef, flow: FlowId) -> Self {
        let connection = Connection {
            start: packet.ts,
            end: packet.ts,
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
            blind_spots: Vec::new(),
        };
        Self {
            flow,
            interest: Interest::More,
            is_reserved: false,
            has_findings: false,
            is_server_doubtful: false,
            blind_spots: SpotSet::default(),
            packet_number: packet.number,
            connection,
        }
    }

    /// Takes note that an event of the connection is reported at a packet.
    pub(super) fn note_report(&mut self, packet: PacketRef) {
        self.has_findings = true;
        // An event may be that of an earlier packet.
        if packet.number >= self.packet_number {
            (self.connection.end, self.packet_number) = (packet.ts, packet.number);
        }
    }

    /// The end of the connection, at its latest packet that is noted, if an event was reported.
    pub(super) fn end(&self) -> Option<Event<FlowOutput>> {
        let packet = PacketRef { ts: self.connection.end, number: self.packet_number };
        self.has_findings.then(|| connection_end(packet, self.flow.clone()))
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

    /// Takes note that these counters of blind spots counted something of the connection, which is then reported.
    pub(super) fn note_blind_spots(&mut self, found: SpotSet) {
        if !found.is_empty() {
            self.has_findings |= found.hides_messages();
            self.blind_spots.insert(found);
        }
    }

    /// Adds what an output of the protocols says about the connection.
    pub(crate) fn on_output(&mut self, output: &FlowOutput, subject: Side) {
        let Route::Report(observation) = output else { return };
        self.has_findings = true;
        let connection = &mut self.connection;
        if self.is_server_doubtful && subject == Side::Server {
            return;
        }
        match observation {
            Observation::Conflict(_) if subject == Side::Server => {
                self.is_server_doubtful = true;
                connection.forget_server();
            }
            Observation::Tcp(observation) => {
                let system = match observation.signature.handshake {
                    Handshake::Syn => &mut connection.client_system,
                    Handshake::SynAck => &mut connection.server_system,
                };
                *system = observation.matched.as_ref().map(|found| found.named(Arc::clone(&found.label)));
            }
            Observation::HttpRequest(observation) => {
                connection.add_host(observation.request.host());
                let by_settings =
                    observation.software.as_ref().map(|found| found.software.to_string().into());
                let name = observation.verdict.name().map(|name| name.to_string().into()).or(by_settings);
                connection.client_software = connection.client_software.take().or(name);
            }
            Observation::HttpResponse(observation) => {
                let shared = |found: &HttpMatch| found.named(Arc::clone(&found.label), Role::Response);
                let software = &mut connection.server_software;
                *software = software.take().or_else(|| observation.verdict.matched.as_ref().map(shared));
            }
            Observation::TlsClient(observation) if connection.ja4.is_none() => {
                connection.add_hello(observation)
            }
            Observation::TlsServer(observation) => {
                connection.tls_version = Some(observation.server.hello.version())
            }
            Observation::TlsCertificates(observation) if subject == Side::Server => {
                let own = observation.certificates.certificates.first();
                connection.certificate = connection.certificate.take().or_else(|| own.cloned());
            }
            Observation::SshClient(observation) => {
                connection.hassh = hassh(&observation.peer);
                let name = observation.software().map(|found| found.software.to_string().into());
                connection.client_software = connection.client_software.take().or(name);
            }
            Observation::SshServer(observation) => connection.hassh_server = hassh(&observation.peer),
            Observation::Mismatch(Consistency { outcome, .. }) => connection.mismatch = Some(*outcome),
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
        let Self { flow, has_findings, packet_number, mut connection, blind_spots, .. } = self;
        let ts = connection.end;
        connection.blind_spots = blind_spots.names().collect();
        let observation = Observation::Connection(Box::new(connection));
        has_findings.then(|| Event::new(ts, packet_number, flow, Side::Client, Route::Report(observation)))
    }
}

/// The end of a connection at its latest packet.
pub(super) fn connection_end(packet: PacketRef, flow: FlowId) -> Event<FlowOutput> {
    let end = Observation::Own(Box::new(ConnectionEnd {}.into()));
    Event::new(packet.ts, packet.number, flow, Side::Client, Route::Report(end))
}

impl Connection {
    /// Forgets what messages of the server said.
    fn forget_server(&mut self) {
        (self.server_software, self.tls_version, self.certificate) = (None, None, None);
        self.hassh_server = None;
    }

    fn add_hello(&mut self, observation: &TlsClientObservation) {
        let hello = &observation.client.hello;
        self.ja4 = Some(hello.ja4());
        self.tls_client = observation.software();
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
