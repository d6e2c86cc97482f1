//! The identity of a flow.

use std::net::IpAddr;

use crate::{Segment, Transport};

/// An undirected 4-tuple with its transport and tunnel, packed into fixed words.
///
/// Both directions of a connection give the same key. Addresses inside tunnels are the innermost ones, and the
/// tunnel is part of the key, so that equal private addresses in two tunnels stay apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    low: u128,
    high: u128,
    tunnel: u64,
    /// Ports, IP version and transport.
    rest: u64,
}

impl FlowKey {
    /// The key of a segment, and whether its sender is the low end of the pair.
    pub fn of(segment: &Segment<'_>) -> (Self, bool) {
        let (src_port, dst_port) = segment.transport.ports();
        let src = (word(segment.ip.src), src_port);
        let dst = (word(segment.ip.dst), dst_port);
        let sender_is_low = src <= dst;
        let (low, high) = if sender_is_low { (src, dst) } else { (dst, src) };
        let transport = match segment.transport {
            Transport::Tcp(_) => 6,
            Transport::Udp(_) => 17,
        };
        let version = if segment.ip.src.is_ipv4() { 4 } else { 6 };
        let key = Self {
            low: low.0,
            high: high.0,
            tunnel: segment.tunnel.key_word(),
            rest: (u64::from(low.1) << 32) | (u64::from(high.1) << 16) | (version << 8) | transport,
        };
        (key, sender_is_low)
    }
}

#[cfg(test)]
impl FlowKey {
    /// One of 2^32 different keys.
    pub(crate) fn numbered(n: u32) -> Self {
        Self { low: u128::from(n), high: u128::MAX, tunnel: 0, rest: 0 }
    }
}

/// An address as a number.
pub(crate) fn word(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IpHeader, Timestamp, TunnelLayer, TunnelPath, UdpHeader};

    fn key(src: &str, dst: &str, ports: (u16, u16), layers: &[TunnelLayer]) -> (FlowKey, bool) {
        let mut tunnel = TunnelPath::EMPTY;
        for layer in layers {
            assert!(tunnel.push(*layer));
        }
        let ip = IpHeader {
            src: src.parse().unwrap(),
            dst: dst.parse().unwrap(),
            ttl: 64,
            traffic_class: 0,
            header_len: 20,
            options_len: 0,
            id: 0,
            dont_fragment: true,
            reserved_flag: false,
            flow_label: 0,
            reassembled: false,
        };
        FlowKey::of(&Segment {
            ts: Timestamp::default(),
            ip,
            transport: Transport::Udp(UdpHeader { src_port: ports.0, dst_port: ports.1 }),
            payload: &[],
            payload_missing: 0,
            tunnel: &tunnel,
        })
    }

    #[test]
    fn both_directions_share_a_key_and_differ_in_sender() {
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
    fn tunnels_versions_and_ports_tell_flows_apart() {
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
