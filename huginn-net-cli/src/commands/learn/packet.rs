//! Builds Ethernet frames from segments, with other addresses and with correct checksums.

use std::net::{Ipv4Addr, Ipv6Addr};

use huginn_net::Side;
use huginn_net::core::{Segment, TransportHeader};

/// Addresses for documentation (RFC 5737, RFC 3849): client and server.
const IPV4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const IPV6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)];
/// Locally administered MAC addresses: client and server.
const MAC: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

const TCP: u8 = 6;
const UDP: u8 = 17;
const DESTINATION_OPTIONS: u8 = 60;
/// IPv4's option without a meaning (RFC 791).
const NO_OPERATION: u8 = 1;

/// A frame, and the length that it has if nothing of its payload is missing.
pub(super) struct BuiltFrame {
    pub(super) data: Vec<u8>,
    pub(super) wire_len: u32,
}

/// Builds a frame. Tags, tunnels and fragments are left out. IP options keep their length, not their content, which may
/// hold addresses.
pub(super) fn ethernet(segment: &Segment<'_>, sender: Side) -> BuiltFrame {
    let [src, dst] = sender.choose([0_usize, 1], [1, 0]);
    let missing = usize::try_from(segment.payload_missing).unwrap_or(usize::MAX);
    let (protocol, mut datagram) = transport(segment, missing);
    let datagram_len = datagram.len().saturating_add(missing);
    let options_len = usize::from(segment.ip.options_len);
    let (ethertype, header) = if segment.ip.is_ipv4() {
        let [src, dst] = [src, dst].map(|at| IPV4.get(at).copied().unwrap_or(Ipv4Addr::UNSPECIFIED));
        finish_checksum(&mut datagram, protocol, &[&src.octets(), &dst.octets()], datagram_len);
        ([0x08, 0x00], ipv4(segment, src, dst, protocol, datagram_len))
    } else {
        let [src, dst] = [src, dst].map(|at| IPV6.get(at).copied().unwrap_or(Ipv6Addr::UNSPECIFIED));
        finish_checksum(&mut datagram, protocol, &[&src.octets(), &dst.octets()], datagram_len);
        let mut header = ipv6(segment, src, dst, protocol, datagram_len.saturating_add(options_len & !7));
        add_extension(&mut header, protocol, options_len);
        ([0x86, 0xdd], header)
    };
    let mut data = Vec::with_capacity(header.len().saturating_add(datagram.len()).saturating_add(14));
    for at in [dst, src] {
        data.extend_from_slice(MAC.get(at).unwrap_or(&[0; 6]));
    }
    data.extend_from_slice(&ethertype);
    data.extend_from_slice(&header);
    data.extend_from_slice(&datagram);
    let wire_len = u32::try_from(data.len().saturating_add(missing)).unwrap_or(u32::MAX);
    BuiltFrame { data, wire_len }
}

/// The transport header, its checksum zero, and the payload.
fn transport(segment: &Segment<'_>, missing: usize) -> (u8, Vec<u8>) {
    let mut bytes = Vec::with_capacity(segment.payload.len().saturating_add(60));
    let protocol = match &segment.transport {
        TransportHeader::Tcp(tcp) => {
            let options = tcp.options.get(..40).unwrap_or(tcp.options);
            let padding = options.len().wrapping_neg() & 3;
            let words = options.len().saturating_add(padding).saturating_add(20) >> 2;
            let [high, low] = tcp.flags.bits().to_be_bytes();
            bytes.extend_from_slice(&tcp.src_port.to_be_bytes());
            bytes.extend_from_slice(&tcp.dst_port.to_be_bytes());
            bytes.extend_from_slice(&tcp.seq.to_be_bytes());
            bytes.extend_from_slice(&tcp.ack.to_be_bytes());
            bytes.extend_from_slice(&[u8::try_from(words).unwrap_or(15) << 4 | high & 0x0f, low]);
            bytes.extend_from_slice(&tcp.window.to_be_bytes());
            bytes.extend_from_slice(&[0, 0]);
            bytes.extend_from_slice(&tcp.urgent.to_be_bytes());
            bytes.extend_from_slice(options);
            bytes.extend(std::iter::repeat_n(0, padding));
            TCP
        }
        TransportHeader::Udp(udp) => {
            let len = segment.payload.len().saturating_add(missing).saturating_add(8);
            bytes.extend_from_slice(&udp.src_port.to_be_bytes());
            bytes.extend_from_slice(&udp.dst_port.to_be_bytes());
            bytes.extend_from_slice(&length(len));
            bytes.extend_from_slice(&[0, 0]);
            UDP
        }
    };
    bytes.extend_from_slice(segment.payload);
    (protocol, bytes)
}

/// An IPv4 header (RFC 791).
fn ipv4(segment: &Segment<'_>, src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, datagram_len: usize) -> Vec<u8> {
    let ip = &segment.ip;
    let options_len = usize::from(ip.options_len).min(40) & !3;
    let header_len = options_len.saturating_add(20);
    let words = u8::try_from(header_len >> 2).unwrap_or(15);
    let flags = u8::from(ip.reserved_flag) << 7 | u8::from(ip.dont_fragment) << 6;
    let mut header = vec![0x40 | words, ip.traffic_class];
    header.extend_from_slice(&length(header_len.saturating_add(datagram_len)));
    header.extend_from_slice(&ip.id.to_be_bytes());
    header.extend_from_slice(&[flags, 0, ip.ttl, protocol, 0, 0]);
    header.extend_from_slice(&src.octets());
    header.extend_from_slice(&dst.octets());
    header.extend(std::iter::repeat_n(NO_OPERATION, options_len));
    let sum = checksum(&[&header]);
    store(&mut header, 10, sum);
    header
}

/// An IPv6 header (RFC 8200).
fn ipv6(segment: &Segment<'_>, src: Ipv6Addr, dst: Ipv6Addr, protocol: u8, len: usize) -> Vec<u8> {
    let ip = &segment.ip;
    let word = 6_u32 << 28 | u32::from(ip.traffic_class) << 20 | ip.flow_label & 0x000f_ffff;
    let next = if ip.options_len >= 8 { DESTINATION_OPTIONS } else { protocol };
    let mut header = word.to_be_bytes().to_vec();
    header.extend_from_slice(&length(len));
    header.extend_from_slice(&[next, ip.ttl]);
    header.extend_from_slice(&src.octets());
    header.extend_from_slice(&dst.octets());
    header
}

/// Appends headers of destination options, which hold padding only, of this length in total.
fn add_extension(header: &mut Vec<u8>, protocol: u8, mut len: usize) {
    while len >= 8 {
        // The length is one byte, in units of eight bytes, without the first unit.
        let part = len.min(2048) & !7;
        len = len.saturating_sub(part);
        let next = if len >= 8 { DESTINATION_OPTIONS } else { protocol };
        header.extend_from_slice(&[next, u8::try_from((part >> 3).saturating_sub(1)).unwrap_or(255)]);
        header.extend(std::iter::repeat_n(0, part.saturating_sub(2)));
    }
}

/// A length field; zero, as with segmentation offload, for a packet that is too long.
fn length(len: usize) -> [u8; 2] {
    u16::try_from(len).unwrap_or(0).to_be_bytes()
}

/// Stores the checksum of a datagram (RFC 9293, section 3.1; RFC 768). That of a cut one covers what is there.
fn finish_checksum(datagram: &mut [u8], protocol: u8, addresses: &[&[u8]; 2], len: usize) {
    let [src, dst] = addresses;
    let len = u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes();
    let sum = checksum(&[src, dst, &len, &[0, protocol], datagram]);
    match protocol {
        TCP => store(datagram, 16, sum),
        // Zero means that there is none.
        _ => store(datagram, 6, if sum == 0 { 0xffff } else { sum }),
    }
}

fn store(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(target) = bytes.get_mut(at..at.saturating_add(2)) {
        target.copy_from_slice(&value.to_be_bytes());
    }
}

/// The Internet checksum (RFC 1071) of parts of even length, except the last.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        for pair in part.chunks(2) {
            let word = match pair {
                [high, low] => u16::from_be_bytes([*high, *low]),
                [high] => u16::from_be_bytes([*high, 0]),
                _ => 0,
            };
            sum = sum.saturating_add(word.into());
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff).saturating_add(sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(u16::MAX)
}
