//! The identity of a flow.

use std::hash::{Hash, Hasher};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::{Addresses, FlowId, Segment, TransportHeader, TransportKind};

/// An undirected 4-tuple with its transport and tunnel, packed into fixed words.
///
/// Both directions of a connection give the same key. Addresses inside tunnels are the innermost ones, and the
/// tunnel is part of the key, so that equal private addresses in two tunnels stay apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey {
    /// IPv6: an address. IPv4: an address and its port, so that two words hold all that is compared and hashed.
    low: u128,
    high: u128,
    tunnel: u64,
    /// IP version and transport; for IPv6 also both ports.
    rest: u64,
}

const IPV4: u64 = 4 << 8;
const IPV6: u64 = 6 << 8;
const VERSION: u64 = 0xff << 8;
const TCP: u64 = 6;
const UDP: u64 = 17;

impl FlowKey {
    /// Returns the key of a segment, and whether its sender is the low endpoint.
    #[inline]
    pub fn from_segment(segment: &Segment<'_>) -> (Self, bool) {
        let transport = match segment.transport {
            TransportHeader::Tcp(_) => TCP,
            TransportHeader::Udp(_) => UDP,
        };
        Self::new(segment.ip.addresses, segment.transport.ports(), transport, segment.tunnel.key_word())
    }

    /// Returns the key of the segments of a flow; `None` if its endpoints have different IP versions.
    pub fn from_flow(flow: &FlowId) -> Option<Self> {
        let addresses = match (flow.client, flow.server) {
            (SocketAddr::V4(client), SocketAddr::V4(server)) => {
                Addresses::V4 { src: *client.ip(), dst: *server.ip() }
            }
            (SocketAddr::V6(client), SocketAddr::V6(server)) => {
                Addresses::V6 { src: *client.ip(), dst: *server.ip() }
            }
            _ => return None,
        };
        let ports = (flow.client.port(), flow.server.port());
        let transport = match flow.transport {
            TransportKind::Tcp => TCP,
            TransportKind::Udp => UDP,
        };
        Some(Self::new(addresses, ports, transport, flow.tunnel_key()).0)
    }

    /// Returns the key of a TCP segment outside tunnels, and whether its sender is the low endpoint.
    #[inline]
    pub(crate) fn from_tcp(addresses: Addresses, ports: (u16, u16)) -> (Self, bool) {
        Self::new(addresses, ports, TCP, 0)
    }

    /// Builds a key from addresses and ports; the sender's come first.
    #[inline]
    fn new(
        addresses: Addresses,
        (src_port, dst_port): (u16, u16),
        transport: u64,
        tunnel: u64,
    ) -> (Self, bool) {
        match addresses {
            Addresses::V4 { src, dst } => {
                let (low, high, sender_is_low) = in_order(ipv4_end(src, src_port), ipv4_end(dst, dst_port));
                (Self { low: low.into(), high: high.into(), tunnel, rest: IPV4 | transport }, sender_is_low)
            }
            Addresses::V6 { src, dst } => {
                let end = |address: Ipv6Addr, port: u16| (u128::from_ne_bytes(address.octets()), port);
                let ((low, low_port), (high, high_port), sender_is_low) =
                    in_order(end(src, src_port), end(dst, dst_port));
                let rest = (u64::from(low_port) << 32) | (u64::from(high_port) << 16) | IPV6 | transport;
                (Self { low, high, tunnel, rest }, sender_is_low)
            }
        }
    }

    /// Returns the low and the high endpoint, and the transport.
    pub(crate) fn endpoints(&self) -> (SocketAddr, SocketAddr, TransportKind) {
        let Self { low, high, rest, .. } = *self;
        let transport = if rest & 0xff == TCP { TransportKind::Tcp } else { TransportKind::Udp };
        if rest & VERSION == IPV4 {
            let end = |end: u128| {
                let [.., a, b, c, d, high, low] = end.to_be_bytes();
                let address = u32::from_be_bytes([a, b, c, d]).to_ne_bytes();
                SocketAddr::from((address, u16::from_be_bytes([high, low])))
            };
            return (end(low), end(high), transport);
        }
        let [_, _, low_high, low_low, high_high, high_low, ..] = rest.to_be_bytes();
        let end = |address: u128, port: [u8; 2]| {
            SocketAddr::from((address.to_ne_bytes(), u16::from_be_bytes(port)))
        };
        (end(low, [low_high, low_low]), end(high, [high_high, high_low]), transport)
    }
}

/// The endpoints of a flow, with the rest of its key: enough to find its partition. Those of IPv4 are in any order; those of IPv6 in that of
/// the key, because `rest` has the ports in this order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowEnds {
    pub(super) ends: [u128; 2],
    pub(super) tunnel: u64,
    pub(super) rest: u64,
}

impl FlowEnds {
    /// Returns the endpoints of a TCP segment in IPv4 outside tunnels: addresses and ports, in any order.
    #[inline(always)]
    pub(crate) fn of_plain_tcp(ends: [(Ipv4Addr, u16); 2]) -> Self {
        let ends = ends.map(|(address, port)| ipv4_end(address, port).into());
        Self { ends, tunnel: 0, rest: IPV4 | TCP }
    }
}

impl From<&FlowKey> for FlowEnds {
    #[inline(always)]
    fn from(key: &FlowKey) -> Self {
        let FlowKey { low, high, tunnel, rest } = *key;
        Self { ends: [low, high], tunnel, rest }
    }
}

/// Packs an address and a port. Only keys use this order, so native byte order suffices.
#[inline(always)]
fn ipv4_end(address: Ipv4Addr, port: u16) -> u64 {
    u64::from(u32::from_ne_bytes(address.octets())) << 16 | u64::from(port)
}

/// Returns the lesser endpoint, the greater one, and whether `one` is the lesser.
#[inline]
fn in_order<T: Ord>(one: T, other: T) -> (T, T, bool) {
    if one <= other { (one, other, true) } else { (other, one, false) }
}

impl Hash for FlowKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { low, high, tunnel, rest } = *self;
        if rest & VERSION == IPV4 {
            // One write instead of three: nearly all flows are IPv4 outside tunnels.
            state.write_u128(high << 64 | u128::from(rest) << 48 | low);
        } else {
            state.write_u128(low);
            state.write_u128(high);
            state.write_u64(rest);
        }
        if tunnel != 0 {
            state.write_u64(tunnel);
        }
    }
}

#[cfg(test)]
impl FlowKey {
    /// Returns one of 2^32 distinct keys.
    pub(crate) fn numbered(n: u32) -> Self {
        Self { low: u128::from(n), high: u128::MAX, tunnel: 0, rest: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::{IpHeader, Timestamp, TunnelLayer, TunnelPath, UdpHeader};

    fn key(src: &str, dst: &str, ports: (u16, u16), layers: &[TunnelLayer]) -> (FlowKey, bool) {
        let mut tunnel = TunnelPath::EMPTY;
        for layer in layers {
            assert!(tunnel.push(*layer));
        }
        let addresses = match (src.parse().unwrap(), dst.parse().unwrap()) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Addresses::V4 { src, dst },
            (IpAddr::V6(src), IpAddr::V6(dst)) => Addresses::V6 { src, dst },
            mixed => panic!("{mixed:?}"),
        };
        FlowKey::from_segment(&Segment {
            ts: Timestamp::default(),
            packet_number: 0,
            ip: IpHeader::without_options(addresses),
            transport: TransportHeader::Udp(UdpHeader { src_port: ports.0, dst_port: ports.1 }),
            payload: &[],
            payload_missing: 0,
            tunnel: &tunnel,
        })
    }

    #[test]
    fn key_of_flow_is_that_of_its_segments() {
        let (vlan, greedy) = ([TunnelLayer::Vlan(7)], [TunnelLayer::Gre, TunnelLayer::Vxlan(9)]);
        let mut tunnel = TunnelPath::EMPTY;
        assert!(tunnel.push(TunnelLayer::Vlan(7)));
        for (one, other) in [("10.0.0.1", "192.0.2.200"), ("2001:db8::1", "::ffff:10.0.0.1")] {
            for (src, dst, ports) in [(one, other, (50_000, 443)), (other, one, (443, 50_000))] {
                let end = |text: &str, port| SocketAddr::new(text.parse().unwrap(), port);
                let (client, server) = (end(src, ports.0), end(dst, ports.1));
                let plain = FlowId::new(client, server, TransportKind::Udp, None);
                assert_eq!(FlowKey::from_flow(&plain), Some(key(src, dst, ports, &[]).0));
                let tagged = FlowId { tunnel: Some(Box::new(tunnel)), ..plain.clone() };
                assert_eq!(FlowKey::from_flow(&tagged), Some(key(src, dst, ports, &vlan).0));
                assert_ne!(FlowKey::from_flow(&tagged), Some(key(src, dst, ports, &greedy).0));
                let tcp = FlowId { transport: TransportKind::Tcp, ..plain };
                assert_ne!(FlowKey::from_flow(&tcp), Some(key(src, dst, ports, &[]).0));
                let mixed = FlowId { server: SocketAddr::from(([10, 0, 0, 1], 1)), ..tcp.clone() };
                assert_eq!(FlowKey::from_flow(&mixed).is_some(), client.is_ipv4());
            }
        }
    }

    #[test]
    fn both_directions_share_key() {
        for (one, other) in
            [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2"), ("10.0.0.1", "10.0.0.1")]
        {
            let (there, sender_is_low) = key(one, other, (1000, 53), &[]);
            let (back, answerer_is_low) = key(other, one, (53, 1000), &[]);
            assert_eq!(there, back);
            assert_ne!(sender_is_low, answerer_is_low);
        }
    }

    #[test]
    fn endpoints_are_those_of_segment() {
        for (one, other) in [("10.0.0.1", "192.0.2.200"), ("2001:db8::1", "fe80::2:3")] {
            for (src, dst) in [(one, other), (other, one)] {
                let (key, sender_is_low) = key(src, dst, (50_000, 443), &[]);
                let (low, high, transport) = key.endpoints();
                let (sender, receiver) = if sender_is_low { (low, high) } else { (high, low) };
                assert_eq!((sender.ip().to_string(), sender.port()), (src.to_owned(), 50_000));
                assert_eq!((receiver.ip().to_string(), receiver.port()), (dst.to_owned(), 443));
                assert_eq!(transport, TransportKind::Udp);
            }
        }
    }

    #[test]
    fn key_differs_by_tunnel_version_and_port() {
        use TunnelLayer::{Gre, Gtpu, Mpls, Vlan, Vxlan};
        let plain = key("10.0.0.1", "10.0.0.2", (1, 2), &[]).0;
        let mapped = key("::a00:1", "::a00:2", (1, 2), &[]).0;
        let swapped = key("10.0.0.1", "10.0.0.2", (2, 1), &[]).0;
        let paths: [&[TunnelLayer]; 6] =
            [&[Vlan(1)], &[Vlan(2)], &[Vxlan(1)], &[Vlan(1), Gre], &[Gre, Vlan(1)], &[Vlan(1), Vlan(1)]];
        let mut keys = vec![plain, mapped, swapped];
        keys.extend(paths.iter().map(|layers| key("10.0.0.1", "10.0.0.2", (1, 2), layers).0));
        for (n, one) in keys.iter().enumerate() {
            assert!(!keys[..n].contains(one), "{n}");
        }
        let labels = |n| key("10.0.0.1", "10.0.0.2", (1, 2), &[Mpls(n), Gtpu(n)]).0;
        assert_eq!(labels(1), labels(2), "labels of one direction only");
    }
}
