//! Link types: the decoder finds the segment after every link-layer header.

use huginn_net_core::LinkType;

use super::device_vectors::DEVICES;
use super::link_vectors::CASES;
use super::wire::{INNER_V4, INNER_V6, Inner, counted, decode, decode_cut, hex};

/// Builds an 802.11 frame up to the LLC header, with three addresses.
const WIFI_ADDRESSES: &str = "0200000000aa 020000000001 020000000002";

#[test]
fn decodes_every_link_type() {
    for case in CASES.iter().chain(DEVICES) {
        case.check();
        assert!(case.link.is_decoded(), "{}", case.name);
    }
}

#[test]
fn counts_non_ip_frames() {
    // A type with a name, and one without.
    for link in [LinkType(147), LinkType(999)] {
        counted(link, "00", |c| c.unknown_link);
        assert!(!link.is_decoded());
    }
    let ethernet = |rest| format!("020000000002 020000000001 {rest}");
    counted(LinkType::ETHERNET, &ethernet("0806 0001080006040001"), |c| c.arp);
    counted(LinkType::ETHERNET, &ethernet("8035 0001"), |c| c.arp);
    counted(LinkType::ETHERNET, &ethernet("88cc 0207"), |c| c.unknown_ethertype);
    counted(LinkType::ETHERNET, &ethernet("8863 11090000"), |c| c.not_data);
    // Spanning tree; Cisco's protocols after SNAP; IPX without LLC.
    counted(LinkType::ETHERNET, &ethernet("0026 424203 0000"), |c| c.unknown_ethertype);
    counted(LinkType::ETHERNET, &ethernet("0010 aaaa03 00000c 2000 02b4"), |c| c.unknown_ethertype);
    counted(LinkType::ETHERNET, &ethernet("0022 ffff 0022"), |c| c.unknown_ethertype);
    // Values between the longest length and the smallest ethertype are invalid.
    counted(LinkType::ETHERNET, &ethernet("05ff 45"), |c| c.bad_header);
    counted(LinkType::NULL, "07000000 45", |c| c.unknown_ethertype);
    counted(LinkType::LINUX_SLL, "0000 0338 0000 0000000000000000 0000", |c| c.unknown_ethertype);
    counted(LinkType::PPP, "ff03 c021 0101", |c| c.not_data);
    counted(LinkType::PPP, "ff03 8021 0101", |c| c.not_data);
    counted(LinkType::PPP, "ff03 002d 0101", |c| c.unknown_ethertype);
    counted(LinkType::PPP, "ff03 0053 0101", |c| c.encrypted);
    counted(LinkType::PPP_ETHER, "1109 0000 0000", |c| c.not_data);
    counted(LinkType::PPP_ETHER, "2100 0000 0000", |c| c.bad_header);
    counted(LinkType::NFLOG, "0700 0000 05000900 00", |c| c.unknown_ethertype);
    counted(LinkType::NFLOG, "0300 0000 0800 0100 0806 0300 0500 0900 00", |c| c.arp);
    counted(LinkType::NFLOG, "0c00 0000 05000900 00", |c| c.unknown_ethertype);
    counted(LinkType::NFLOG, "0201 0000", |c| c.bad_header);
    counted(LinkType::NFLOG, "0200 0000 0000 0000", |c| c.bad_header);
}

#[test]
fn counts_wifi_frames_without_packet() {
    let wifi = |control: &str, rest: &str| format!("{control} 0000 {WIFI_ADDRESSES} {rest}");
    // Beacon, acknowledgement, null function, QoS null function.
    counted(LinkType::IEEE802_11, &wifi("8000", "0000"), |c| c.not_data);
    counted(LinkType::IEEE802_11, "d400 0000 020000000001", |c| c.not_data);
    counted(LinkType::IEEE802_11, &wifi("4801", "0000"), |c| c.not_data);
    counted(LinkType::IEEE802_11, &wifi("c801", "0000 0000"), |c| c.not_data);
    counted(LinkType::IEEE802_11, &wifi("0841", "0000 0011223344556677"), |c| c.encrypted);
    // More fragments; fragment number 1.
    counted(LinkType::IEEE802_11, &wifi("0805", "0000 aaaa030000000800"), |c| c.link_fragment);
    counted(LinkType::IEEE802_11, &wifi("0801", "0100 aaaa030000000800"), |c| c.link_fragment);
    counted(LinkType::IEEE802_11, &wifi("0901", "0000"), |c| c.bad_header);
    counted(LinkType::IEEE802_11_RADIOTAP, "01000800 00000000 0800", |c| c.bad_header);
    counted(LinkType::IEEE802_11_RADIOTAP, "00000900 00000000", |c| c.bad_header);
}

#[test]
fn aggregate_yields_every_packet() {
    // Two subframes, the first padded to a multiple of four (IEEE 802.11, clause 9.3.2.2). tshark decodes the same
    // packets.
    let subframe = "020000000004 020000000003";
    let first = format!("{subframe} 0039 aaaa030000000800 {INNER_V4} 00");
    let second = format!("{subframe} 004d aaaa0300000086dd {INNER_V6}");
    let arp = format!("{subframe} 000a aaaa030000000806 0001");
    let frame = |parts: &[&str]| hex(&format!("8801 0000 {WIFI_ADDRESSES} 0000 8000 {}", parts.concat()));
    let both = [Inner::V4.expected_segment(&[]), Inner::V6.expected_segment(&[])];

    let (segments, counters) = decode(LinkType::IEEE802_11, &frame(&[&first, &second]));
    assert_eq!(segments, both);
    assert_eq!((counters.frames, counters.aggregated, counters.tcp), (1, 1, 2));

    let (segments, counters) = decode(LinkType::IEEE802_11, &frame(&[&first, &arp, &second, "00deadbeef"]));
    assert_eq!(segments, both);
    assert_eq!((counters.aggregated, counters.tcp, counters.arp), (2, 2, 1));

    // A subframe that is longer than the frame ends at the end of the frame.
    let (segments, counters) =
        decode(LinkType::IEEE802_11, &frame(&[&first, "020000000004 020000000003 ffff"]));
    assert_eq!(segments, [Inner::V4.expected_segment(&[])]);
    assert_eq!((counters.aggregated, counters.tcp, counters.bad_header), (1, 1, 1));
}

#[test]
fn strips_check_sequence_declared_by_radiotap() {
    // With an IP length of zero, the packet ends where the frame ends.
    let packet = INNER_V4.replacen("0031", "0000", 1);
    let frame =
        format!("00000900 02000000 10 0801 0000 {WIFI_ADDRESSES} 0000 aaaa030000000800 {packet} 11223344");
    let frame = hex(&frame);
    let (segments, _) = decode(LinkType::IEEE802_11_RADIOTAP, &frame);
    assert_eq!(segments[0].payload, b"hello");
    // A frame that the snap length truncated has no check sequence.
    let wire_len = u32::try_from(frame.len()).unwrap();
    let (segments, _) = decode_cut(LinkType::IEEE802_11_RADIOTAP, &frame[..frame.len() - 4], wire_len);
    assert_eq!(segments[0].payload, b"hello");
}
