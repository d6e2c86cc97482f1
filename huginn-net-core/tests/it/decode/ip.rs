//! Decoding of IP, TCP and UDP headers.

use huginn_net_core::{
    Addresses, DecodeConfig, DecodeError, Decoder, Frame, IpHeader, Layer, LinkType, TcpFlags, Timestamp,
    TransportHeader, decode_ip,
};

use super::wire::{Inner, counted, decode, decode_cut, hex, ipv4, ipv6, tcp, udp};

#[test]
fn ip_length_bounds_payload() {
    let mut padded = Inner::V4.bytes();
    padded.extend([0; 7]);
    assert_eq!(decode(LinkType::RAW, &padded).0, [Inner::V4.expected_segment(&[])]);
    let mut padded = Inner::V6.bytes();
    padded.extend([0; 7]);
    assert_eq!(decode(LinkType::RAW, &padded).0, [Inner::V6.expected_segment(&[])]);
}

#[test]
fn zero_length_extends_to_frame_end() {
    let mut v4 = Inner::V4.bytes();
    v4[2..4].fill(0);
    assert_eq!(decode(LinkType::RAW, &v4).0, [Inner::V4.expected_segment(&[])]);
    let mut v6 = Inner::V6.bytes();
    v6[4..6].fill(0);
    assert_eq!(decode(LinkType::RAW, &v6).0, [Inner::V6.expected_segment(&[])]);
    let mut datagram = udp(1, 2, b"abc");
    datagram[4..6].fill(0);
    assert_eq!(decode(LinkType::RAW, &ipv4(17, &datagram)).0[0].payload, b"abc");
}

#[test]
fn keeps_header_fields() {
    // The header has an option (24 bytes), all flags of RFC 791 except "more fragments", and a distinct value in each
    // field.
    let mut packet = hex("46 b9 0033 0102 c000 07 06 0000 c0000201 c6336402 94040000");
    packet.extend(hex("9c40 01bb 01020304 05060708 61ff 1234 0000 4321 020405b4 616263"));
    let segment = decode_ip(&packet).unwrap();
    let want = IpHeader {
        addresses: Addresses::V4 { src: [192, 0, 2, 1].into(), dst: [198, 51, 100, 2].into() },
        ttl: 7,
        traffic_class: 0xb9,
        header_len: 24,
        options_len: 4,
        id: 0x0102,
        dont_fragment: true,
        reserved_flag: true,
        flow_label: 0,
        reassembled: false,
    };
    assert_eq!(segment.ip, want);
    let tcp = segment.tcp().unwrap();
    assert_eq!((tcp.src_port, tcp.dst_port, tcp.seq, tcp.ack), (40_000, 443, 0x0102_0304, 0x0506_0708));
    assert_eq!((tcp.flags, tcp.window, tcp.urgent), (TcpFlags::all(), 0x1234, 0x4321));
    assert_eq!((tcp.options, segment.payload), (&[2, 4, 5, 0xb4][..], &b"abc"[..]));
}

#[test]
fn decodes_udp_ports_and_payload() {
    for packet in [ipv4(17, &udp(53, 1024, b"abc")), ipv6(17, &udp(53, 1024, b"abc"))] {
        let (segments, counters) = decode(LinkType::RAW, &packet);
        assert_eq!((segments[0].ports, segments[0].is_tcp, counters.udp), ((53, 1024), false, 1));
        assert_eq!(segments[0].payload, b"abc");
    }
    // The UDP length may shorten the payload within the IP length, and never extends it.
    for (len, want) in [(10, &b"ab"[..]), (11, b"abc"), (12, b"abc"), (0xffff, b"abc")] {
        let mut datagram = udp(53, 1024, b"abc");
        datagram[4..6].copy_from_slice(&u16::to_be_bytes(len));
        let (segments, _) = decode(LinkType::RAW, &ipv4(17, &datagram));
        assert_eq!((&segments[0].payload[..], segments[0].payload_missing), (want, 0), "{len}");
    }
}

#[test]
fn snap_length_truncates_payload_but_not_headers() {
    for inner in [Inner::V4, Inner::V6] {
        let packet = inner.bytes();
        let wire_len = u32::try_from(packet.len()).unwrap();
        for missing in 1..=packet.len() {
            let cut = &packet[..packet.len() - missing];
            let (segments, counters) = decode_cut(LinkType::RAW, cut, wire_len);
            if missing <= 5 {
                assert_eq!(segments[0].payload, b"hello"[..5 - missing]);
                assert_eq!(segments[0].payload_missing as usize, missing);
                assert_eq!(counters.truncated_payload, 1);
            } else {
                assert_eq!((segments.len(), counters.truncated_snaplen), (0, 1), "{missing}");
                // Without a snap length, the lengths contradict each other.
                assert_eq!(decode(LinkType::RAW, cut).1.bad_header, 1, "{missing}");
            }
        }
    }
    let packet = ipv6(17, &udp(1, 2, b"abcdef"));
    let (segments, _) = decode_cut(LinkType::RAW, &packet[..50], 54);
    assert_eq!((&segments[0].payload[..], segments[0].payload_missing), (&b"ab"[..], 4));
}

#[test]
fn follows_extension_headers() {
    let tcp = tcp(b"x");
    let next_in_tcp = |header: &str| [hex(header), tcp.clone()].concat();
    for (next, headers, options_len) in [
        // Hop-by-hop, routing and destination options, built with scapy 2.5. tshark 4.0 decodes the same values.
        (0, "2b00010400000000 3c00000000000000 0600010400000000", 24),
        // An atomic fragment (RFC 6946): the fragment header is not counted.
        (44, "0600000000000001", 0),
        (51, "06040000 00000001 00000001 555555555555555555555555", 24),
        (135, "0600000000000000", 8),
        (139, "0601000000000000 0000000000000000", 16),
        (140, "0600000000000000", 8),
    ] {
        let (segments, counters) = decode(LinkType::RAW, &ipv6(next, &next_in_tcp(headers)));
        assert_eq!(counters.tcp, 1, "{next}: {counters:?}");
        let ip = segments[0].ip;
        assert_eq!((ip.options_len, ip.header_len, ip.reassembled), (options_len, 40 + options_len, false));
        assert_eq!(segments[0].payload, b"x");
    }
    // The authentication header in IPv4, built with scapy 2.5, is not an IP option.
    let (segments, _) =
        decode(LinkType::RAW, &ipv4(51, &next_in_tcp("060400000000000100000001 555555555555555555555555")));
    assert_eq!((segments[0].ip.header_len, segments[0].ip.options_len), (20, 0));
    // A header that exceeds the packet.
    assert_eq!(decode(LinkType::RAW, &ipv6(60, &next_in_tcp("06ff000000000000"))).1.bad_header, 1);
    let chain = |count| [hex("3c00000000000000").repeat(count), next_in_tcp("0600000000000000")].concat();
    // Only the length of the packet limits the number of headers.
    for count in [15, 16, 17, 100, 8_000] {
        let (segments, counters) = decode(LinkType::RAW, &ipv6(60, &chain(count)));
        assert_eq!((counters.tcp, &*segments[0].payload), (1, &b"x"[..]), "{count}");
    }
}

#[test]
fn counts_invalid_headers() {
    let packet = Inner::V4.bytes();
    let set = |at: usize, value: u8| {
        let mut packet = packet.clone();
        packet[at] = value;
        packet
    };
    for (what, bad) in [
        ("version", set(0, 0x55)),
        ("IHL", set(0, 0x44)),
        ("IHL beyond the packet", set(0, 0x4f)),
        ("total length within the header", set(3, 19)),
        ("total length within TCP", set(3, 39)),
        ("data offset below five", set(32, 0x40)),
        ("data offset beyond the packet", set(32, 0xf0)),
        ("UDP length within the header", ipv4(17, &hex("0001 0002 0007 0000"))),
        ("no UDP header", ipv4(17, &hex("0001 0002 0007"))),
    ] {
        let (segments, counters) = decode(LinkType::RAW, &bad);
        assert_eq!((segments.len(), counters.bad_header), (0, 1), "{what}");
    }
    counted(LinkType::RAW, "", |c| c.bad_header);
}

#[test]
fn counts_other_protocols() {
    for (packet, counter) in [
        (ipv4(1, b"\x08\0"), (|c| c.icmp) as fn(&huginn_net_core::DecodeCounters) -> u64),
        (ipv6(58, b"\x80\0"), |c| c.icmp),
        (ipv4(50, b"\0\0"), |c| c.encrypted),
        (ipv4(132, b"\0\0"), |c| c.other_transport),
        (ipv6(59, b""), |c| c.other_transport),
        // IPv4 does not define the protocol numbers of IPv6 extension headers.
        (ipv4(0, b"\x06\0\0\0\0\0\0\0"), |c| c.other_transport),
    ] {
        let (segments, counters) = decode(LinkType::RAW, &packet);
        assert_eq!((segments.len(), counter(&counters)), (0, 1), "{counters:?}");
    }
}

#[test]
fn wrong_checksums_are_only_counted() {
    let config = DecodeConfig::default().verify_checksums(true);
    let mut decoder = Decoder::new(config);
    let mut decode = |packet: &[u8]| {
        let mut segments = 0;
        let frame = Frame { ts: Timestamp::default(), link: LinkType::RAW, data: packet, wire_len: 99 };
        decoder.decode(&frame, &mut |_| segments += 1);
        (segments, decoder.counters().bad_ip_checksum, decoder.counters().bad_transport_checksum)
    };
    let (v4, v6) = (Inner::V4.bytes(), Inner::V6.bytes());
    assert_eq!(decode(&v4), (1, 0, 0));
    assert_eq!(decode(&v6), (1, 0, 0));
    let changed = |packet: &[u8], at: usize| {
        let mut packet = packet.to_vec();
        packet[at] ^= 1;
        packet
    };
    assert_eq!(decode(&changed(&v4, 8)), (1, 1, 0));
    assert_eq!(decode(&changed(&v4, 48)), (1, 1, 1));
    assert_eq!(decode(&changed(&v6, 64)), (1, 1, 2));
    // The decoder cannot verify truncated payloads or UDP datagrams without a checksum.
    assert_eq!(decode(&changed(&v6, 64)[..66]), (1, 1, 2));
    let mut datagram = ipv6(17, &udp(53, 1024, b"abc"));
    assert_eq!(decode(&datagram), (1, 1, 2));
    datagram[46] = 1;
    assert_eq!(decode(&datagram), (1, 1, 3));
}

#[test]
fn decode_ip_decodes_single_packet() {
    for inner in [Inner::V4, Inner::V6] {
        let packet = inner.bytes();
        let segment = decode_ip(&packet).unwrap();
        assert_eq!(super::wire::OwnedSegment::from_segment(&segment), inner.expected_segment(&[]));
        assert!(matches!(segment.transport, TransportHeader::Tcp(_)));
    }
}

#[test]
fn errors_name_layer_offset_and_field() {
    let truncated = |layer, offset, needed, had| DecodeError::Truncated { layer, offset, needed, had };
    let bad = |layer, offset, field, value| DecodeError::BadField { layer, offset, field, value };
    let v4 = Inner::V4.bytes();
    let v6 = Inner::V6.bytes();
    let set = |packet: &[u8], at: usize, value: u8| {
        let mut packet = packet.to_vec();
        packet[at] = value;
        packet
    };
    for (packet, want) in [
        (Vec::new(), truncated(Layer::Ip, 0, 1, 0)),
        (set(&v4, 0, 0x55), bad(Layer::Ip, 0, "Version", 5)),
        (v4[..19].to_vec(), truncated(Layer::Ipv4, 0, 20, 19)),
        (set(&v4, 0, 0x44), bad(Layer::Ipv4, 0, "IHL", 4)),
        (set(&v4, 0, 0x4f), truncated(Layer::Ipv4, 0, 60, 49)),
        (set(&v4, 3, 19), bad(Layer::Ipv4, 0, "Total Length", 19)),
        (v4[..39].to_vec(), truncated(Layer::Tcp, 20, 20, 19)),
        (v4[..43].to_vec(), truncated(Layer::Tcp, 20, 24, 23)),
        (set(&v4, 32, 0x40), bad(Layer::Tcp, 20, "Data Offset", 4)),
        (v6[..39].to_vec(), truncated(Layer::Ipv6, 0, 40, 39)),
        (ipv6(60, &[6, 1, 0, 0, 0, 0, 0, 0]), truncated(Layer::Ipv6Extension, 40, 16, 8)),
        (ipv4(51, &[6, 4, 0, 0, 0, 0, 0, 0]), truncated(Layer::Authentication, 20, 24, 8)),
        (ipv6(60, &hex("1100000000000000 0000")), truncated(Layer::Udp, 48, 8, 2)),
        (ipv4(17, &hex("0001 0002 0007 0000")), bad(Layer::Udp, 20, "Length", 7)),
        (ipv6(44, &hex("0600 0011 00000007")), DecodeError::Fragment { id: 7, start: 16, more: true }),
        (set(&v4, 7, 1), DecodeError::Fragment { id: 0x1234, start: 8, more: false }),
        (ipv4(4, &v4), DecodeError::OtherTransport { protocol: 4 }),
    ] {
        assert_eq!(decode_ip(&packet).unwrap_err(), want);
    }
    let text = bad(Layer::Tcp, 20, "Data Offset", 4).to_string();
    assert_eq!(text, "TCP header at offset 20: Data Offset cannot be 4");
}
