//! Tags and tunnels: the decoder emits the innermost segment with its tunnel path.

use huginn_net_core::LinkType;

use super::tunnel_vectors::{TAGS, TUNNELS};
use super::wire::{INNER_V4, INNER_V6, Inner, counted, decode, hex, ipv4, ipv6, udp};

#[test]
fn decodes_every_tag_and_tunnel() {
    for case in TAGS.iter().chain(TUNNELS) {
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
    let teredo = |packet: &str| format!("0001 0000 0102030405060708 00 {packet}");
    for (port, payload) in [
        // VXLAN: another flag, reserved bytes, too short.
        (4789, format!("0c000000 00123400 {INNER_V4}")),
        (4789, format!("08000001 00123400 {INNER_V4}")),
        (4789, format!("08000000 00123401 {INNER_V4}")),
        (8472, "08000000 001234".to_owned()),
        // Geneve: version, reserved bits, unknown type, options that do not fit.
        (6081, geneve.replacen("00", "40", 1)),
        (6081, geneve.replacen("0000", "0001", 1)),
        (6081, geneve.replacen("6558", "1234", 1)),
        (6081, geneve.replacen("00", "01", 1)),
        // GTP-U: version, GTP', echo, length, an extension of length 0, no IP inside.
        (2152, format!("50ff 0031 00000001 {INNER_V4}")),
        (2152, format!("20ff 0031 00000001 {INNER_V4}")),
        (2152, "3201 0004 00000000 00010000".to_owned()),
        (2152, format!("30ff 0032 00000001 {INNER_V4}")),
        (2152, format!("34ff 003d 00000001 00000085 00000000 {INNER_V4}")),
        (2152, "30ff 0004 00000001 00112233".to_owned()),
        // CAPWAP: version, DTLS, reserved bits, header length.
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
    // Keep-alive; a fragment; a binding other than 802.11; an encrypted frame.
    counted(LinkType::RAW, &in_udp(5247, "00100008 00000000"), |c| c.not_data);
    counted(LinkType::RAW, &in_udp(5247, "00104380 00000000 0801"), |c| c.link_fragment);
    counted(LinkType::RAW, &in_udp(5247, "00100700 00000000 0801"), |c| c.unknown_ethertype);
    let protected = "0841 0000 020000000001 020000000002 020000000003 0000 00112233";
    counted(LinkType::RAW, &in_udp(5247, &format!("00104300 00000000 {protected}")), |c| c.encrypted);
    // GRE: keep-alive, unknown version, an acknowledgement of PPTP, ERSPAN of another version.
    counted(LinkType::RAW, &in_ip(47, "0000 0000"), |c| c.unknown_ethertype);
    counted(LinkType::RAW, &in_ip(47, "0002 0800"), |c| c.bad_header);
    counted(LinkType::RAW, &in_ip(47, "0001 0800"), |c| c.bad_header);
    counted(LinkType::RAW, &in_ip(47, "2081 880b 0000 0001 00000001"), |c| c.not_data);
    counted(LinkType::RAW, &in_ip(47, "1000 88be 00000001 2000 0001 00000000"), |c| c.bad_header);
    counted(LinkType::RAW, &in_ip(47, "1000 22eb 00000001 1000 0001 00000000 0000 0000"), |c| c.bad_header);
    counted(LinkType::RAW, &in_ip(97, "4000 02"), |c| c.bad_header);
    counted(LinkType::RAW, &in_ip(4, "5500"), |c| c.bad_header);
    counted(LinkType::RAW, &in_ip(137, "00010140 10000000"), |c| c.not_data);
    counted(LinkType::ETHERNET, "020000000002 020000000001 894f 2fc6 0101 00000001", |c| c.bad_header);
    counted(LinkType::ETHERNET, "020000000002 020000000001 894f 2002 0101 00000001", |c| c.not_data);
}
