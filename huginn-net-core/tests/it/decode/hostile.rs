//! Arbitrary bytes: decoding never panics, always ends and counts every frame.

use huginn_net_core::{DecodeConfig, Decoder, Frame, LinkType, Timestamp, TransportHeader, decode_ip};
use pnet_packet::ip::{IpNextHeaderProtocol, IpNextHeaderProtocols};
use pnet_packet::ipv4::Ipv4Packet;
use pnet_packet::ipv6::Ipv6Packet;
use pnet_packet::tcp::TcpPacket;
use proptest::prelude::*;

use super::device_vectors::DEVICES;
use super::link_vectors::CASES;
use super::tunnel_vectors::{TAGS, TUNNELS};
use super::udp_vectors::UDP_TUNNELS;
use super::wire::{Case, decode_cut, push};

fn cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter().chain(DEVICES).chain(TAGS).chain(TUNNELS).chain(UDP_TUNNELS)
}

#[test]
fn every_frame_cut_anywhere_is_counted_once() {
    // `decode_cut` asserts that the outcomes add up.
    for case in cases() {
        let frame = case.frame();
        let wire_len = u32::try_from(frame.len()).unwrap();
        for len in 0..frame.len() {
            for wire_len in [wire_len, u32::try_from(len).unwrap()] {
                let (segments, counters) = decode_cut(case.link, &frame[..len], wire_len);
                assert!(counters.frames == 1 && segments.len() <= 1, "{} cut at {len}", case.name);
            }
        }
    }
}

fn any_link() -> impl Strategy<Value = LinkType> {
    prop_oneof![
        4 => prop::sample::select(cases().map(|case| case.link).collect::<Vec<_>>()),
        1 => any::<u16>().prop_map(LinkType),
    ]
}

/// Generates a valid frame with a few changed bytes, possibly truncated or extended.
fn damaged_frame() -> impl Strategy<Value = (LinkType, Vec<u8>)> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    let frames = prop::sample::select(cases().map(|case| (case.link, case.frame())).collect::<Vec<_>>());
    (frames, changes, 0_usize..200).prop_map(|((link, mut frame), changes, len)| {
        for (at, value) in changes {
            let at = at.index(frame.len());
            frame[at] = value;
        }
        frame.resize(len.max(frame.len() / 2), 0x45);
        (link, frame)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn decodes_any_bytes_without_panic(
        frames in prop::collection::vec((any_link(), prop::collection::vec(any::<u8>(), 0..300), 0_u32..400), 1..8),
    ) {
        let config = DecodeConfig::default().verify_checksums(true);
        let mut decoder = Decoder::new(config);
        for (link, data, wire_len) in &frames {
            push(&mut decoder, &Frame { ts: Timestamp::default(), link: *link, data, wire_len: *wire_len });
        }
    }

    #[test]
    fn decodes_damaged_frames_without_panic(frames in prop::collection::vec(damaged_frame(), 1..8), cut in 0_u32..2) {
        let config = DecodeConfig::default().verify_checksums(true);
        let mut decoder = Decoder::new(config);
        for (link, data) in &frames {
            let wire_len = u32::try_from(data.len()).unwrap() + cut;
            push(&mut decoder, &Frame { ts: Timestamp::default(), link: *link, data, wire_len });
        }
    }

    #[test]
    fn headers_equal_pnet_packet(mut packet in prop::collection::vec(any::<u8>(), 40..120), is_ipv6: bool) {
        // Set the version, protocol and fragment fields, so that the packet can be valid.
        if is_ipv6 {
            packet[0] = 0x60 | packet[0] & 0x0f;
            packet[6] = IpNextHeaderProtocols::Tcp.0;
        } else {
            packet[0] = 0x45 + packet[0] % 4;
            packet[2] = 0;
            packet[6] &= 0xc0;
            packet[7] = 0;
            packet[9] = IpNextHeaderProtocols::Tcp.0;
        }
        let Ok(segment) = decode_ip(&packet) else { return Ok(()) };
        if is_ipv6 {
            let view = Ipv6Packet::new(&packet).unwrap();
            prop_assert_eq!(segment.ip.src(), view.get_source());
            prop_assert_eq!(segment.ip.dst(), view.get_destination());
            prop_assert_eq!(segment.ip.ttl, view.get_hop_limit());
            prop_assert_eq!(segment.ip.traffic_class, view.get_traffic_class());
            prop_assert_eq!(segment.ip.flow_label, view.get_flow_label());
            prop_assert_eq!(IpNextHeaderProtocol::new(6), view.get_next_header());
        } else {
            let view = Ipv4Packet::new(&packet).unwrap();
            prop_assert_eq!(segment.ip.src(), view.get_source());
            prop_assert_eq!(segment.ip.dst(), view.get_destination());
            prop_assert_eq!(segment.ip.ttl, view.get_ttl());
            prop_assert_eq!(segment.ip.traffic_class, view.get_dscp() << 2 | view.get_ecn());
            prop_assert_eq!(segment.ip.id, view.get_identification());
            prop_assert_eq!(segment.ip.header_len, u16::from(view.get_header_length()) * 4);
            let flags = u8::from(segment.ip.reserved_flag) << 2 | u8::from(segment.ip.dont_fragment) << 1;
            prop_assert_eq!(flags, view.get_flags());
        }
        let TransportHeader::Tcp(tcp) = segment.transport else { return Err(TestCaseError::fail("not TCP")) };
        let view = TcpPacket::new(&packet[usize::from(segment.ip.header_len)..]).unwrap();
        prop_assert_eq!((tcp.src_port, tcp.dst_port), (view.get_source(), view.get_destination()));
        prop_assert_eq!((tcp.seq, tcp.ack), (view.get_sequence(), view.get_acknowledgement()));
        let flags = u16::from(view.get_reserved() & 1) << 8 | u16::from(view.get_flags());
        prop_assert_eq!((tcp.flags.bits(), tcp.window, tcp.urgent), (flags, view.get_window(), view.get_urgent_ptr()));
        prop_assert_eq!(tcp.header_len(), usize::from(view.get_data_offset()) * 4);
        prop_assert_eq!(tcp.options, view.get_options_raw());
    }
}
