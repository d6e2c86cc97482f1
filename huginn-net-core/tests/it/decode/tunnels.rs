//! Tags and tunnels: the decoder emits the innermost segment with its tunnel path.

use huginn_net_core::LinkType;

use super::tunnel_vectors::{TAGS, TUNNELS};
use super::udp_vectors::UDP_TUNNELS;
use super::wire::{INNER_V4, INNER_V6, Inner, counted, decode, hex, ipv4, ipv6, udp};

#[test]
fn decodes_every_tag_and_tunnel() {
    for case in TAGS.iter().chain(TUNNELS).chain(UDP_TUNNELS) {
        case.check();
    }
}

#[test]
fn decodes_nested_tunnels() {
    let inner = [hex("0000 86dd"), hex(INNER_V6)].concat();
    let gre = [hex("020000000004 020000000003 8100 0005 0800"), ipv4(47, &inner)].concat();
    let vxlan = ipv6(17, &udp(50_000, 4789, &[hex("08000000 00002a00"), gre].concat()));
    let frame = [hex("020000000002 020000000001 8100 000c 86dd"), vxlan].concat();
    let (segments, counters) = decode(LinkType::ETHERNET, &frame);
    assert_eq!(segments, [Inner::V6.expected_segment(&["vlan:12", "vxlan:42", "vlan:5", "gre"])]);
    assert_eq!((counters.tcp, counters.udp), (1, 0));
}

#[test]
fn stops_at_maximum_tunnel_depth() {
    let tags =
        |count: usize| hex(&format!("{} {} 0800 {INNER_V4}", "02".repeat(12), "8100 0001".repeat(count)));
    let (segments, _) = decode(LinkType::ETHERNET, &tags(8));
    assert_eq!(segments, [Inner::V4.expected_segment(&["vlan:1"; 8])]);
    for count in [9, 300] {
        let (segments, counters) = decode(LinkType::ETHERNET, &tags(count));
        assert_eq!((segments.len(), counters.too_deep), (0, 1), "{count}");
    }
    // The number of other headers is limited as well.
    let priority_tags = hex(&format!("{} {} 0800 {INNER_V4}", "02".repeat(12), "8100 0000".repeat(300)));
    assert_eq!(decode(LinkType::ETHERNET, &priority_tags).1.too_deep, 1);
    let mut bomb = hex(INNER_V4);
    for _ in 0..500 {
        bomb = ipv4(4, &bomb);
    }
    assert_eq!(decode(LinkType::RAW, &bomb).1.too_deep, 1);
}

#[test]
fn tunnel_port_without_header_is_segment() {
    let geneve = "0000 6558 00009900";
    let addresses = "020000000004 020000000003";
    let teredo = |packet: &str| format!("0001 0000 0102030405060708 00 {packet}");
    for (port, payload) in [
        // VXLAN: no network; reserved bits without a frame that fits; too short.
        (4789, format!("00000000 00123400 {INNER_V4}")),
        (4789, format!("0c000000 00123400 {INNER_V4}")),
        (4789, format!("08000001 00123400 {INNER_V4}")),
        (4789, format!("88000001 00123401 {addresses} 0800 {}", INNER_V4.replacen("0031", "0032", 1))),
        (4789, format!("88000001 00123401 {addresses} 0806 0002")),
        (4789, format!("88000001 00123401 {addresses} 1234 {INNER_V4}")),
        (8472, "08000000 001234".to_owned()),
        // VXLAN-GPE: a packet that does not fit.
        (4790, format!("0c000001 00123400 {}", INNER_V4.replacen("0031", "0032", 1))),
        // Geneve: version; reserved bits without a frame that fits; options that do not fit.
        (6081, geneve.replacen("00", "40", 1)),
        (6081, geneve.replacen("0000", "0001", 1)),
        (6081, format!("0000 6558 00009901 {addresses} 0800 {INNER_V6}")),
        (6081, geneve.replacen("6558", "0012", 1)),
        (6081, geneve.replacen("00", "01", 1)),
        // L2TP: version, control without length, length beyond the datagram, an unknown protocol, IP that does not fit.
        (1701, "0001 0007 0009 ff03 0021".to_owned()),
        (1701, "8002 000c 0007 0000 0000 0000".to_owned()),
        (1701, format!("4002 00ff 0007 0009 0021 {INNER_V4}")),
        (1701, "0002 0007 0009 ff03 0441".to_owned()),
        (1701, format!("0002 0007 0009 0021 {}", INNER_V4.replacen("0031", "0032", 1))),
        (1701, "0003 0000 00000009 00112233".to_owned()),
        // TZSP: version, type, tags without end.
        (37008, "0200 0001 01".to_owned()),
        (37008, "0106 0001 01".to_owned()),
        (37008, "0100 0001 0000".to_owned()),
        // LISP, MPLS, GUE: no packet that fits.
        (4341, "c0000001 00000001 4500".to_owned()),
        (6635, format!("00010140 {}", INNER_V4.replacen("0031", "0032", 1))),
        (6635, "00010040".to_owned()),
        (6080, format!("00060000 {INNER_V4}")),
        // GTP-U: version, GTP', echo, length, an extension of length 0, no IP inside.
        (2152, format!("50ff 0031 00000001 {INNER_V4}")),
        (2152, format!("20ff 0031 00000001 {INNER_V4}")),
        (2152, "3201 0004 00000000 00010000".to_owned()),
        (2152, format!("30ff 0032 00000001 {INNER_V4}")),
        (2152, format!("34ff 003d 00000001 00000085 00000000 {INNER_V4}")),
        (2152, "30ff 0004 00000001 00112233".to_owned()),
        // CAPWAP: version, DTLS, reserved bits without a frame that fits, header length.
        (5247, "10104300 00000000".to_owned()),
        (5247, "01000000 16feff".to_owned()),
        (5247, "00104301 00000000".to_owned()),
        (5247, "00104300 00000001".to_owned()),
        (5247, "00084300 00000000".to_owned()),
        (5247, "00f84300 00000000".to_owned()),
        // Teredo: IPv4, bytes after the packet, bytes missing, an authentication that does not fit.
        (3544, teredo(INNER_V4)),
        (3544, teredo(&format!("{INNER_V6} 00"))),
        (3544, teredo(INNER_V6.strip_suffix("6f").unwrap())),
        (3544, "0001 ff00 0102030405060708 00".to_owned()),
    ] {
        let payload = hex(&payload);
        for (src_port, dst_port) in [(50_000, port), (port, 50_000)] {
            let (segments, counters) = decode(LinkType::RAW, &ipv4(17, &udp(src_port, dst_port, &payload)));
            assert_eq!(counters.udp, 1, "{port} {payload:02x?}: {counters:?}");
            assert_eq!((&segments[0].payload, segments[0].path.len()), (&payload, 0));
        }
    }
}

#[test]
fn counts_tunnels_without_segment() {
    let in_udp = |port, payload: &str| -> String {
        ipv4(17, &udp(50_000, port, &hex(payload))).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let in_ip = |protocol, payload: &str| -> String {
        ipv4(protocol, &hex(payload)).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let arp = "020000000004 020000000003 0806 0001";
    counted(LinkType::RAW, &in_udp(4789, &format!("08000000 00000100 {arp}")), |c| c.arp);
    counted(LinkType::RAW, &in_udp(4789, "08000000 00000100 0200"), |c| c.bad_header);
    counted(LinkType::RAW, &in_udp(6081, "0080 6558 00000100"), |c| c.not_data);
    counted(LinkType::RAW, &in_udp(6081, "0000 1234 00000100 0102"), |c| c.unknown_ethertype);
    counted(LinkType::RAW, &in_udp(4790, "0d000001 00000100"), |c| c.not_data);
    counted(LinkType::RAW, &in_udp(4790, "0c000009 00000100"), |c| c.unknown_ethertype);
    // L2TP: a control message; link control; in version 3, a control message and an unknown payload.
    counted(LinkType::RAW, &in_udp(1701, "c802 000c 0007 0000 0000 0000"), |c| c.not_data);
    counted(LinkType::RAW, &in_udp(1701, "0002 0007 0009 ff03 c021 0101"), |c| c.not_data);
    counted(LinkType::RAW, &in_ip(115, "00000000 c803 000c 00000000 0000 0000"), |c| c.not_data);
    counted(LinkType::RAW, &in_ip(115, "00000009 00112233"), |c| c.unknown_ethertype);
    counted(LinkType::RAW, &in_udp(37008, "0104 0001"), |c| c.not_data);
    counted(LinkType::RAW, &in_udp(37008, "0100 0002 01 00"), |c| c.unknown_ethertype);
    // Keep-alive; a fragment; a binding other than 802.11; an encrypted frame.
    counted(LinkType::RAW, &in_udp(5247, "00100008 00000000"), |c| c.not_data);
    counted(LinkType::RAW, &in_udp(5247, "00104380 00000000 0801"), |c| c.link_fragment);
    counted(LinkType::RAW, &in_udp(5247, "00100700 00000000 0801"), |c| c.unknown_ethertype);
    let protected = "0841 0000 020000000001 020000000002 020000000003 0000 00112233";
    counted(LinkType::RAW, &in_udp(5247, &format!("00104300 00000000 {protected}")), |c| c.encrypted);
    // GRE: keep-alive, unknown version, an acknowledgement of PPTP, ERSPAN of another version.
    counted(LinkType::RAW, &in_ip(47, "0000 0000"), |c| c.unknown_ethertype);
    counted(LinkType::RAW, &in_ip(47, "0002 0800"), |c| c.bad_header);
    counted(LinkType::RAW, &in_ip(47, "0001 1234"), |c| c.unknown_ethertype);
    counted(LinkType::RAW, &in_ip(47, "2001 6400 0000 0500"), |c| c.not_data);
    counted(LinkType::RAW, &in_ip(47, "2081 880b 0000 0001 00000001"), |c| c.not_data);
    counted(LinkType::RAW, &in_ip(47, "1000 88be 00000001 2000 0001 00000000"), |c| c.bad_header);
    counted(LinkType::RAW, &in_ip(47, "1000 22eb 00000001 1000 0001 00000000 0000 0000"), |c| c.bad_header);
    counted(LinkType::RAW, &in_ip(97, "4000 02"), |c| c.bad_header);
    counted(LinkType::RAW, &in_ip(4, "5500"), |c| c.bad_header);
    counted(LinkType::RAW, &in_ip(137, "00010140 10000000"), |c| c.not_data);
    counted(LinkType::ETHERNET, "020000000002 020000000001 894f 2fc6 0101 00000001", |c| c.bad_header);
    counted(LinkType::ETHERNET, "020000000002 020000000001 894f 2002 0101 00000001", |c| c.not_data);
    counted(LinkType::ETHERNET, "020000000002 020000000001 894f 0fc2 0109 00000001", |c| c.unknown_ethertype);
    // MACsec: encrypted, only changed, another version. batman-adv: an originator message, a fragment, another version.
    let ethernet = |rest: &str| format!("020000000002 020000000001 {rest}");
    counted(LinkType::ETHERNET, &ethernet("88e5 0c00 00000001 0800"), |c| c.encrypted);
    counted(LinkType::ETHERNET, &ethernet("88e5 0400 00000001 0800"), |c| c.encrypted);
    counted(LinkType::ETHERNET, &ethernet("88e5 8000 00000001 0800"), |c| c.unknown_ethertype);
    counted(LinkType::ETHERNET, &ethernet("4305 000f 32"), |c| c.not_data);
    counted(LinkType::ETHERNET, &ethernet("4305 410f 32"), |c| c.link_fragment);
    counted(LinkType::ETHERNET, &ethernet("4305 400d 32"), |c| c.unknown_ethertype);
    counted(LinkType::ETHERNET, &ethernet("22f3 403f 0001 0002"), |c| c.unknown_ethertype);
    counted(LinkType::ETHERNET, &ethernet("d28b 0002 0010"), |c| c.unknown_ethertype);
    counted(LinkType::ETHERNET, &ethernet("8864 1100 0005 0006 003d 8000 0001"), |c| c.link_fragment);
}

#[test]
fn new_tunnels_nest_in_others() {
    let frame = |inner: &[u8]| [hex("020000000004 020000000003 0800"), inner.to_vec()].concat();
    let l2tp = |inner: &[u8]| udp(1701, 1701, &[hex("0002 0007 0009 ff03 0021"), inner.to_vec()].concat());
    let tzsp = |inner: &[u8]| udp(50_000, 37_008, &[hex("01000001 01"), frame(inner)].concat());
    let lisp = |inner: &[u8]| udp(50_000, 4341, &[hex("c0000001 00000001"), inner.to_vec()].concat());
    let inner = Inner::V4.bytes();
    let packet = ipv6(
        17,
        &tzsp(&ipv4(
            17,
            &l2tp(&ipv4(17, &lisp(&ipv4(47, &[hex("3001 0800 00000000 00000001"), inner].concat())))),
        )),
    );
    let tagged = [hex("020000000002 020000000001 8100 000c 86dd"), packet].concat();
    let (segments, counters) = decode(LinkType::ETHERNET, &tagged);
    let path = ["vlan:12", "tzsp", "l2tp:9", "lisp:0", "gre"];
    assert_eq!(segments, [Inner::V4.expected_segment(&path)], "{counters:?}");
    // Headers that add no layer cannot make the decoder loop.
    let nested = |header: &str| [hex(&header.repeat(500)), Inner::V4.bytes()].concat();
    assert_eq!(decode(LinkType::PPP, &nested("003d c0000001")).1.too_deep, 1);
    assert_eq!(decode(LinkType(192), &nested("0000 0800 c0000000")).1.too_deep, 1);
}

#[test]
fn directions_of_tunnel_share_flow_key() {
    use huginn_net_core::{DecodeConfig, Decoder, FlowKey, Frame, Timestamp};
    let key = |frame: &[u8]| {
        let mut decoder = Decoder::new(DecodeConfig::default());
        let mut keys = Vec::new();
        let frame = Frame { ts: Timestamp::default(), link: LinkType::RAW, data: frame, wire_len: 999 };
        decoder.decode(&frame, &mut |segment| keys.push(FlowKey::from_segment(segment).0));
        keys.pop().unwrap()
    };
    let swapped = |mut packet: Vec<u8>| {
        let source = packet[12..16].to_vec();
        packet.copy_within(16..20, 12);
        packet[16..20].copy_from_slice(&source);
        packet
    };
    let inner = Inner::V4.bytes();
    // Tunnel and session of L2TP, and the key of Tencent's GRE, belong to one direction.
    for (there, back) in [
        (
            udp(1701, 1701, &hex("0002 0007 0009 ff03 0021")),
            udp(1701, 1701, &hex("0002 0001 0002 ff03 0021")),
        ),
        (hex("3001 0800 00000005 00000001"), hex("3001 0800 00000006 00000001")),
    ] {
        let protocol = if there[0] == 0x30 { 47 } else { 17 };
        let packet = |header: Vec<u8>, inner: Vec<u8>| {
            let mut payload = [header, inner].concat();
            if protocol == 17 {
                payload[4..6].fill(0);
            }
            ipv4(protocol, &payload)
        };
        let there = packet(there, inner.clone());
        let back = swapped(packet(back, inner.clone()));
        assert_eq!(key(&there), key(&back));
        assert_ne!(key(&there), key(&inner));
    }
}

#[test]
fn protocols_without_decoder_are_named() {
    let mut decoder = huginn_net_core::Decoder::new(huginn_net_core::DecodeConfig::default());
    let mut push = |link, packet: &[u8]| {
        let wire_len = u32::try_from(packet.len()).unwrap();
        let frame = huginn_net_core::Frame { ts: Default::default(), link, data: packet, wire_len };
        decoder.decode(&frame, &mut |_| {});
    };
    push(LinkType::RAW, &ipv4(108, b"x"));
    push(LinkType::RAW, &ipv6(55, b"x"));
    push(LinkType::RAW, &ipv6(108, b"x"));
    push(LinkType::ETHERNET, &hex("020000000002 020000000001 8863 11090000"));
    push(LinkType::ETHERNET, &hex("020000000002 020000000001 0026 424203 0000"));
    push(LinkType(999), b"x");
    push(LinkType::RAW, &ipv4(17, &udp(50_000, 6081, &hex("0000 1234 00000100 0102"))));
    let names: Vec<(&str, String, u64)> = decoder
        .counters()
        .protocols
        .iter()
        .map(|count| (count.counter, count.protocol.to_string(), count.count))
        .collect();
    let row = |counter: &'static str, text: &str, count: u64| (counter, text.to_owned(), count);
    let expected = [
        row("other_transport", "IPComp (IP protocol 108)", 2),
        row("other_transport", "minimal encapsulation (IP protocol 55)", 1),
        row("not_data", "PPPoE discovery (ethertype 0x8863)", 1),
        row("unknown_ethertype", "spanning tree (LLC SAP 0x42)", 1),
        row("unknown_link", "link type 999", 1),
        row("unknown_ethertype", "ethertype 0x1234", 1),
    ];
    assert_eq!(names, expected);
}

#[test]
fn number_of_named_protocols_is_limited() {
    let mut decoder = huginn_net_core::Decoder::new(huginn_net_core::DecodeConfig::default());
    for ethertype in 0x2000_u16..0x2100 {
        let frame = [vec![2; 12], ethertype.to_be_bytes().to_vec()].concat();
        let frame = huginn_net_core::Frame {
            ts: Default::default(),
            link: LinkType::ETHERNET,
            data: &frame,
            wire_len: 14,
        };
        decoder.decode(&frame, &mut |_| {});
    }
    let counters = decoder.counters();
    assert_eq!((counters.unknown_ethertype, counters.protocols.len()), (256, 32));
}

#[test]
fn vlan_and_interface_in_flow_key_are_optional() {
    use huginn_net_core::{DecodeConfig, Decoder, FlowKey, Frame, Timestamp};
    let key = |config: &DecodeConfig, tag: &str, interface: u16, inner: Inner| {
        let mut decoder = Decoder::new(config.clone());
        let ethertype = if matches!(inner, Inner::V4) { "0800" } else { "86dd" };
        let data = [hex(&format!("020000000002 020000000001 {tag} {ethertype}")), inner.bytes()].concat();
        let ts = Timestamp::default().with_interface(interface);
        let mut keys = Vec::new();
        decoder.decode(&Frame { ts, link: LinkType::ETHERNET, data: &data, wire_len: 999 }, &mut |segment| {
            keys.push((FlowKey::from_segment(segment).0, format!("{:?}", segment.tunnel)));
        });
        keys.pop().unwrap()
    };
    let (default, no_vlan, interface) = (
        DecodeConfig::default(),
        DecodeConfig::default().vlan_in_flow_key(false),
        DecodeConfig::default().interface_in_flow_key(true),
    );
    for inner in [Inner::V4, Inner::V6] {
        let key = |config, tag, interface| key(config, tag, interface, inner);
        assert_ne!(key(&default, "8100 0005", 0).0, key(&default, "8100 0006", 0).0);
        assert_eq!(key(&no_vlan, "8100 0005", 0).0, key(&no_vlan, "8100 0006", 0).0);
        assert_eq!(key(&no_vlan, "88a8 0007 8100 0005", 0).0, key(&no_vlan, "", 0).0);
        assert_eq!(key(&no_vlan, "8100 0005", 0).1, r#"["vlan:5"]"#);
        assert_eq!(key(&default, "", 0), key(&default, "", 1));
        assert_ne!(key(&interface, "", 0).0, key(&interface, "", 1).0);
        assert_eq!(key(&interface, "8100 0005", 1).1, r#"["interface:1", "vlan:5"]"#);
    }
}

/// ESP with null encryption: the header, the packet, padding, its length, the next header and the checksum. The other packets are encrypted, or
/// cannot be told from those.
#[test]
fn esp_without_encryption_is_opened() {
    let esp = |vector: usize, inner: &[u8], pad: usize, protocol: u8, checksum: usize| {
        // Pad length and next header end at a multiple of four bytes.
        let pad = u8::try_from(pad - (inner.len() + 2 + pad) % 4).unwrap();
        let padding: Vec<u8> = (1..=pad).collect();
        let header = hex("00001234 00000001");
        [&header[..], &vec![9; vector], inner, &padding, &[pad, protocol], &vec![0xa5; checksum]].concat()
    };
    let frame = |payload: &[u8]| [hex("020000000002 020000000001 0800"), ipv4(50, payload)].concat();
    for (vector, checksum) in [(0, 12), (0, 16), (0, 24), (0, 32), (0, 0), (8, 16)] {
        for (inner, protocol) in [(Inner::V4, 4), (Inner::V6, 41)] {
            let packet = esp(vector, &inner.bytes(), 3, protocol, checksum);
            let (segments, counters) = decode(LinkType::ETHERNET, &frame(&packet));
            assert_eq!(segments, [inner.expected_segment(&["esp"])], "{vector}, {checksum}: {counters:?}");
            let udp = [hex("020000000002 020000000001 0800"), ipv4(17, &udp(4500, 4500, &packet))].concat();
            let (segments, _) = decode(LinkType::ETHERNET, &udp);
            assert_eq!(segments, [inner.expected_segment(&["esp"])], "{vector}, {checksum}");
        }
    }
    let packet = esp(0, &Inner::V4.bytes(), 255, 4, 12);
    assert_eq!(decode(LinkType::ETHERNET, &frame(&packet)).0, [Inner::V4.expected_segment(&["esp"])]);
    // In transport mode, the checksum of the segment decides.
    let whole = Inner::V4.bytes();
    let (header, segment) = whole.split_at(20);
    let transported = |segment: &[u8]| {
        let packet = esp(0, segment, 4, 6, 12);
        let mut header = header.to_vec();
        header[2..4].copy_from_slice(&u16::try_from(20 + packet.len()).unwrap().to_be_bytes());
        (header[9], header[10], header[11]) = (50, 0, 0);
        [header, packet].concat()
    };
    let (segments, _) = decode(LinkType::RAW, &transported(segment));
    assert_eq!(segments, [Inner::V4.expected_segment(&["esp"])]);
    let mut other = segment.to_vec();
    other[4] ^= 1;
    for packet in [
        transported(&other),
        ipv4(50, &esp(0, &[7; 90], 4, 4, 12)),
        ipv4(50, &[&packet[..], &[0xa5]].concat()),
        ipv4(50, &[&hex("00001234 00000001")[..], &Inner::V4.bytes(), &[1, 2, 2, 4]].concat()),
        ipv4(50, &[0xc3; 100]),
        ipv4(50, &[1; 9]),
    ] {
        let (segments, counters) = decode(LinkType::RAW, &packet);
        assert_eq!((segments.len(), counters.encrypted), (0, 1));
    }
}

/// AMT: only packets to a group, which have another destination than those of the other tunnels.
#[test]
fn amt_has_packets_to_groups() {
    let inner_udp = udp(5000, 5001, b"data");
    let [mut to_group, mut to_group_v6] = [ipv4(17, &inner_udp), ipv6(17, &inner_udp)];
    let unicast = [to_group.clone(), to_group_v6.clone()];
    to_group[16..20].copy_from_slice(&[239, 1, 2, 3]);
    to_group_v6[24..26].copy_from_slice(&[0xff, 0x3e]);
    let read = |message: &[u8], packet: &[u8]| {
        let datagram = udp(2268, 40_000, &[message, packet].concat());
        let (segments, _) = decode(LinkType::RAW, &ipv4(17, &datagram));
        let [segment] = &segments[..] else { panic!("{segments:?}") };
        (segment.ports, segment.path.clone())
    };
    let plain = ((2268, 40_000), Vec::new());
    for packet in [&to_group, &to_group_v6] {
        assert_eq!(read(&[6, 0], packet), ((5000, 5001), vec!["amt".to_owned()]));
        assert_eq!(read(&[6, 1], packet), plain);
        assert_eq!(read(&[6, 0], &[&packet[..], &[0]].concat()), plain);
    }
    for packet in &unicast {
        assert_eq!(read(&[6, 0], packet), plain);
    }
}

/// HP's mirroring: the frame has IP that fills the datagram, perhaps with padding or a frame check sequence.
#[test]
fn hp_erm_has_frames_that_fill_the_datagram() {
    let read = |frame: &[&[u8]]| {
        let header = hex("0000000000000000 00000500");
        let datagram = udp(50_000, 7933, &[&header[..], &frame.concat()].concat());
        let (segments, _) = decode(LinkType::RAW, &ipv4(17, &datagram));
        segments.iter().any(|segment| !segment.path.is_empty())
    };
    let addresses = hex("020000000004 020000000003");
    let (v4, v6) = (Inner::V4.bytes(), Inner::V6.bytes());
    for (kind, packet) in [("0800", &v4), ("86dd", &v6), ("8100 0007 0800", &v4)] {
        let kind = hex(kind);
        assert!(read(&[&addresses, &kind, packet]));
        assert!(read(&[&addresses, &kind, packet, &[1; 4]]));
        assert!(!read(&[&addresses, &kind, packet, &[1; 5]]));
        assert!(!read(&[&addresses, &kind, &packet[..packet.len() - 1]]));
    }
    let short = ipv4(17, &udp(1, 2, b""));
    assert!(read(&[&addresses, &hex("0800"), &short, &[0; 18]]));
    for (kind, payload) in
        [("88cc", &[7; 60][..]), ("8847", &v4), ("0806", &hex("0001 0800 06 04")), ("86dd", &v4)]
    {
        assert!(!read(&[&addresses, &hex(kind), payload]), "{kind}");
    }
}
