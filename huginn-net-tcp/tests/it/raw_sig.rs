//! Signatures of packets, compared with the output of p0f 3.09b, and parsed from their text.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use huginn_net_core::{decode_ip, ip_packet_len};
use huginn_net_tcp::{Handshake, ParseError, TcpError, TcpField, TcpSignature, WindowMultiple};
use proptest::collection::vec;
use proptest::prelude::*;

/// One entry of `raw_sig.txt`.
struct Vector {
    name: &'static str,
    peer_mss: Option<u16>,
    packet: Vec<u8>,
    raw_sig: &'static str,
}

fn vectors() -> Vec<Vector> {
    let lines: Vec<&str> =
        include_str!("raw_sig.txt").lines().filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    let vector = |entry: &[&'static str]| {
        let (peer_mss, hex) = match entry[1].split_once(' ') {
            Some((mss, hex)) => (Some(mss.parse().unwrap()), hex),
            None => (None, entry[1]),
        };
        let byte = |i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
        let packet = (0..hex.len()).step_by(2).map(byte).collect();
        Vector { name: entry[0], peer_mss, packet, raw_sig: entry[2] }
    };
    lines.chunks_exact(3).map(vector).collect()
}

#[test]
fn signatures_match_p0f() {
    let vectors = vectors();
    assert!(vectors.len() > 100);
    for Vector { name, peer_mss, packet, raw_sig } in vectors {
        let segment = decode_ip(&packet).unwrap();
        let signature = TcpSignature::from_segment(&segment, peer_mss).unwrap();
        assert_eq!(signature.to_string(), raw_sig, "{name}");
        let handshake = if peer_mss.is_some() { Handshake::SynAck } else { Handshake::Syn };
        assert_eq!(signature.handshake, handshake, "{name}");
    }
}

#[test]
fn signatures_round_trip() {
    for Vector { name, raw_sig, .. } in vectors() {
        let signature: TcpSignature = raw_sig.parse().unwrap();
        assert_eq!(signature.to_string(), raw_sig, "{name}");
    }
}

#[test]
fn windows_round_trip() {
    for (raw_sig, window) in [
        ("4:64+0:0:1460:mss*20,7:mss,sok,ts,nop,ws:df,id+:0", 29_200),
        ("4:64+0:0:1380:mss*45,7:mss:df,id+:0", 62_100),
        // The MTU is 1340: the MSS and 40 bytes of headers.
        ("4:64+0:0:1300:mtu*4,7:mss:df,id+:0", 5_360),
        // No known unit gives this multiple; the result is the largest multiple of 60.
        ("4:64+0:0:1460:mss*60,7:mss:df,id+:0", 65_520),
        ("4:64+0:0:1460:8192,7:mss:df,id+:0", 8_192),
    ] {
        let signature: TcpSignature = raw_sig.parse().unwrap();
        assert_eq!(signature.window, window, "{raw_sig}");
        assert_eq!(signature.to_string(), raw_sig);
    }
    let signature: TcpSignature = "6:64:0:1440:mtu*4,0:mss::0".parse().unwrap();
    assert_eq!((signature.window, signature.window_multiple), (5_920, Some(WindowMultiple::Mtu(4))));
}

#[test]
fn rejects_invalid_text_with_its_field() {
    let field = |field, value: &str| ParseError::Field { field, value: value.into() };
    for (raw_sig, want) in [
        ("", ParseError::FieldCount { found: 1 }),
        ("4:64:0:1460:1,0:mss::0:", ParseError::FieldCount { found: 9 }),
        ("*:64:0:1460:1,0:mss::0", field(TcpField::Version, "*")),
        ("4:256:0:1460:1,0:mss::0", field(TcpField::Ttl, "256")),
        ("4:64-:0:1460:1,0:mss::0", field(TcpField::Ttl, "64-")),
        ("4:64+x:0:1460:1,0:mss::0", field(TcpField::Ttl, "64+x")),
        ("4:64:-1:1460:1,0:mss::0", field(TcpField::IpOptionsLen, "-1")),
        ("4:64:0:65536:1,0:mss::0", field(TcpField::Mss, "65536")),
        ("4:64:0:1460:1:mss::0", field(TcpField::Window, "1")),
        ("4:64:0:1460:*,0:mss::0", field(TcpField::Window, "*")),
        ("4:64:0:1460:%8,0:mss::0", field(TcpField::Window, "%8")),
        ("4:64:0:1460:mss*0,0:mss::0", field(TcpField::Window, "mss*0")),
        ("4:64:0:1460:1,*:mss::0", field(TcpField::Scale, "*")),
        ("4:64:0:1460:1,0:mss::*", field(TcpField::Payload, "*")),
    ] {
        assert_eq!(raw_sig.parse::<TcpSignature>(), Err(want), "{raw_sig}");
    }
    let message = |raw_sig: &str| raw_sig.parse::<TcpSignature>().unwrap_err().to_string();
    assert_eq!(
        message("4:64:0:1460:1,0:mss,x::0"),
        "option layout: 'x' is none of nop, mss, ws, sok, sack, ts, ?N and eol+N with N up to 255"
    );
    assert_eq!(message("4:64:0:1460:1,0:mss:df,no:0"), "quirks: 'no' is not a quirk");
    assert_eq!(message("5:64:0:1460:1,0:mss::0"), "IP version: '5' is not 4 or 6");
}

#[test]
fn other_packets_have_no_signature() {
    let mut packet = vectors().remove(0).packet;
    packet[33] = 0x10;
    assert!(matches!(TcpSignature::from_ip_packet(&packet), Err(TcpError::NotHandshake { .. })));
    packet[33] = 0x03;
    let error = TcpSignature::from_ip_packet(&packet).unwrap_err();
    assert_eq!(error.to_string(), "the segment is neither a SYN nor a SYN+ACK (flags 0x003)");
    packet[9] = 17;
    assert!(matches!(TcpSignature::from_ip_packet(&packet), Err(TcpError::NotTcp)));
    packet[0] = 0x55;
    assert!(matches!(TcpSignature::from_ip_packet(&packet[..10]), Err(TcpError::Decode(_))));
}

#[test]
fn truncated_packet_needs_more_bytes() {
    for vector in vectors() {
        let packet = vector.packet;
        let whole = TcpSignature::from_ip_packet(&packet).unwrap().unwrap();
        let two = [&packet[..], &packet].concat();
        let stated = ip_packet_len(&packet).unwrap().unwrap_or(two.len());
        assert_eq!(whole.consumed, stated.min(packet.len()));
        let first = TcpSignature::from_ip_packet(&two).unwrap().unwrap();
        assert_eq!(first.consumed, stated.min(two.len()));
        let headers = decode_ip(&packet).map(|segment| packet.len() - segment.payload.len()).unwrap();
        for len in 0..headers.min(stated) {
            assert!(
                TcpSignature::from_ip_packet(&packet[..len]).unwrap().is_none(),
                "{len} bytes of {packet:02x?}"
            );
        }
    }
}

#[test]
fn header_beyond_its_packet_is_an_error() {
    let mut packet = packet(64, false, 1, &[]);
    packet[32] = 0xf0;
    assert!(matches!(TcpSignature::from_ip_packet(&packet), Err(TcpError::Decode(_))));
}

/// Builds an IPv4 packet with a SYN or SYN+ACK.
fn packet(ttl: u8, syn_ack: bool, window: u16, options: &[u8]) -> Vec<u8> {
    let mut options = options.to_vec();
    options.resize(options.len().next_multiple_of(4), 0);
    let len = u8::try_from(40 + options.len()).unwrap();
    let mut packet = vec![0x45, 0, 0, len, 0, 1, 0x40, 0, ttl, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    let [high, low] = window.to_be_bytes();
    let flags = if syn_ack { 0x12 } else { 2 };
    packet.extend([4, 0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, (len - 20) << 2, flags, high, low, 0, 0, 0, 0]);
    packet.extend(options);
    packet
}

/// Generates option bytes, many of them well-formed.
fn options() -> impl Strategy<Value = Vec<u8>> {
    let option = prop_oneof![
        Just(vec![1]),
        Just(vec![4, 2]),
        any::<u16>().prop_map(|mss| vec![2, 4, mss.to_be_bytes()[0], mss.to_be_bytes()[1]]),
        any::<u8>().prop_map(|scale| vec![3, 3, scale]),
        vec(0..2_u8, 8).prop_map(|stamps| [vec![8, 10], stamps].concat()),
        vec(any::<u8>(), 0..6),
    ];
    vec(option, 0..8).prop_map(|options| {
        let mut bytes = options.concat();
        bytes.truncate(40);
        bytes
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..120)) {
        let _ = TcpSignature::from_ip_packet(&bytes);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC*") {
        let _ = text.parse::<TcpSignature>();
    }

    #[test]
    fn text_and_signature_are_inverse(
        ttl in any::<u8>(),
        syn_ack in any::<bool>(),
        window in prop_oneof![any::<u16>(), (1..40_u16).prop_map(|n| n * 1460), (1..40_u16).prop_map(|n| n * 1500)],
        options in options(),
        peer_mss in proptest::option::of(any::<u16>()),
    ) {
        let packet = packet(ttl, syn_ack, window, &options);
        let seen = TcpSignature::from_segment(&decode_ip(&packet).unwrap(), peer_mss).unwrap();
        let text = seen.to_string();
        let mut read: TcpSignature = text.parse().unwrap();
        read.handshake = seen.handshake;
        prop_assert_eq!(read.to_string(), text);
        prop_assert_eq!((read.mss, read.scale, read.layout, read.quirks), (seen.mss, seen.scale, seen.layout, seen.quirks));
        prop_assert_eq!(read.window_multiple, seen.window_multiple);
        if seen.window_multiple.is_none() {
            prop_assert_eq!(read.window, seen.window);
        }
    }
}
