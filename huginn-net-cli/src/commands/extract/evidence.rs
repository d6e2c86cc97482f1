//! The packets that findings are about, beyond the connections of their events.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use huginn_net::core::{FlowId, Segment, Side, TransportKind};
use huginn_net::observation::{BeaconTarget, FindingKind, ScanTarget};
use huginn_net::{Event, Observation};

/// A finding, with the packets that show it.
pub(super) struct Evidence {
    /// What its client contacts, if it is not only the connection of the event.
    traffic: Vec<Traffic>,
    packets: Vec<NamedPacket>,
    /// The packet of its event.
    packet: u64,
}

/// The packets between a client and a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Traffic {
    client: IpAddr,
    server: Server,
    transport: TransportKind,
    tunnel: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Server {
    /// All ports of a host.
    Host(IpAddr),
    /// This port of all hosts.
    Port(u16),
    Endpoint(SocketAddr),
}

/// A packet that a finding names.
#[derive(Clone, Copy, Debug)]
struct NamedPacket {
    packet: u64,
    client: IpAddr,
    tunnel: u64,
    /// Whether all connections of the client with its server belong to the finding.
    is_of_beacon: bool,
    /// The packet of the event.
    until: u64,
}

impl Evidence {
    /// Returns the evidence of an event; `None` if it is not a finding that has any.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let Observation::Finding(finding) = &event.kind else { return None };
        let flow = &event.flow;
        let (client, tunnel) = (flow.client.ip(), flow.tunnel_key());
        let servers = match &finding.kind {
            FindingKind::Scan(scan) => match &scan.target {
                ScanTarget::Host(ip) => vec![Server::Host(*ip)],
                ScanTarget::Ports(ports) => ports.iter().copied().map(Server::Port).collect(),
                _ => Vec::new(),
            },
            FindingKind::BruteForce(found) => vec![Server::Endpoint(found.server)],
            FindingKind::Beacon(beacon) => match beacon.target {
                BeaconTarget::Address(address) => vec![Server::Endpoint(address)],
                _ => vec![Server::Endpoint(flow.server)],
            },
            FindingKind::UnusualServer(_) | FindingKind::C2Certificate(_) => {
                vec![Server::Endpoint(flow.server)]
            }
            _ => Vec::new(),
        };
        let traffic = |server| Traffic { client, server, transport: flow.transport, tunnel };
        let is_of_beacon = matches!(finding.kind, FindingKind::Beacon(_));
        let until = event.packet_number;
        let named = |packet: &u64| NamedPacket { packet: *packet, client, tunnel, is_of_beacon, until };
        Some(Self {
            traffic: servers.into_iter().map(traffic).collect(),
            packets: finding.packets.iter().map(named).collect(),
            packet: event.packet_number,
        })
    }

    /// A finding without packets.
    #[cfg(test)]
    pub(super) fn without_packets(packet: u64) -> Self {
        Self { traffic: Vec::new(), packets: Vec::new(), packet }
    }
}

/// The evidence of the findings of a capture.
#[derive(Debug, Default)]
pub(super) struct AllEvidence {
    /// The packet of the last event about each.
    traffic: HashMap<Traffic, u64>,
    packets: Vec<NamedPacket>,
    /// Number of findings.
    findings: usize,
}

impl AllEvidence {
    /// Adds a finding.
    pub(super) fn add(&mut self, evidence: Evidence) {
        let Evidence { traffic, packets, packet } = evidence;
        self.findings = self.findings.saturating_add(1);
        self.packets.extend(packets);
        traffic.into_iter().for_each(|traffic| self.add_traffic(traffic, packet));
    }

    fn add_traffic(&mut self, traffic: Traffic, until: u64) {
        let last = self.traffic.entry(traffic).or_default();
        *last = until.max(*last);
    }

    /// Number of findings.
    pub(super) fn len(&self) -> usize {
        self.findings
    }

    /// Sorts the packets by their numbers.
    pub(super) fn sort(&mut self) {
        self.packets.sort_by_key(|named| named.packet);
    }

    /// Takes a segment of a packet. Returns the packet of the last event that it belongs to, if there is any.
    pub(super) fn on_segment(&mut self, segment: &Segment<'_>, packet: u64) -> Option<u64> {
        if self.findings == 0 {
            return None;
        }
        let FlowId { client: from, server: to, transport, .. } = FlowId::from_segment(segment, Side::Client);
        let tunnel = segment.tunnel.key_word();
        let named: Vec<NamedPacket> =
            self.named(packet).iter().filter(|named| named.tunnel == tunnel).copied().collect();
        let mut until_named = None;
        for NamedPacket { client, is_of_beacon, until, .. } in named {
            let server = match client {
                ip if ip == from.ip() => to,
                ip if ip == to.ip() => from,
                _ => continue,
            };
            until_named = until_named.max(Some(until));
            if is_of_beacon {
                let server = Server::Endpoint(server);
                self.add_traffic(Traffic { client, server, transport, tunnel }, until);
            }
        }
        let until = |(client, server): (SocketAddr, SocketAddr)| {
            let servers = [Server::Host(server.ip()), Server::Port(server.port()), Server::Endpoint(server)];
            let traffic = |server| Traffic { client: client.ip(), server, transport, tunnel };
            servers.into_iter().filter_map(|server| self.traffic.get(&traffic(server)).copied()).max()
        };
        until((from, to)).max(until((to, from))).max(until_named)
    }

    /// The findings that name a packet.
    fn named(&self, packet: u64) -> &[NamedPacket] {
        let start = self.packets.partition_point(|named| named.packet < packet);
        let end = self.packets.partition_point(|named| named.packet <= packet);
        self.packets.get(start..end).unwrap_or_default()
    }
}
