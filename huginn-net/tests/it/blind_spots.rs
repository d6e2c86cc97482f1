//! Checks what the captures do not show.

use huginn_net::blind_spots::BlindSpot;
use huginn_net::{CaptureReader, Event, Frame, HuginnNet};

use crate::captures;

/// The blind spots of a capture; `change` edits its frames.
fn blind_spots(name: &str, mut change: impl FnMut(&mut Frame<'_>)) -> Vec<BlindSpot> {
    let mut analyzer = HuginnNet::builder().build();
    let mut reader = CaptureReader::open(captures::path(name)).unwrap();
    let mut ignore = |_: Event| {};
    while let Some(mut frame) = reader.read_frame().unwrap() {
        change(&mut frame);
        assert!(analyzer.push(&frame, &mut ignore).is_continue());
    }
    analyzer.finish(&mut ignore);
    BlindSpot::of_analyzer(&analyzer)
}

/// Name, number, and the frame or the client of the example.
fn rows(spots: &[BlindSpot]) -> Vec<(&'static str, u64, String)> {
    let place = |spot: &BlindSpot| {
        let example = spot.example.as_ref()?;
        let client = example.flow.as_ref().map(|flow| flow.client.to_string());
        client.or_else(|| Some(example.frame?.to_string()))
    };
    spots.iter().map(|spot| (spot.name, spot.count, place(spot).unwrap_or_default())).collect()
}

fn row(name: &'static str, count: u64, place: &str) -> (&'static str, u64, String) {
    (name, count, place.to_owned())
}

#[test]
fn complete_capture_has_none() {
    assert_eq!(blind_spots("tls-curl.pcap", |_| {}), []);
}

#[test]
fn captures_name_what_they_lack() {
    for (name, expected) in [
        ("quic-firefox.pcap", vec![row("ech", 2, "192.0.2.1:47221")]),
        ("hosts-plain.pcap", vec![row("truncated_payload", 7, "196"), row("gaps", 7, "192.0.2.1:45512")]),
        ("two-interfaces.pcapng", vec![row("time_steps_back", 10, "")]),
        ("retransmitted-syn.pcap", vec![row("one_direction", 2, "192.0.2.1:47302")]),
    ] {
        let found = rows(&blind_spots(name, |_| {}));
        assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{name}");
        }
    }
}

#[test]
fn protocols_that_are_not_decoded_are_named() {
    let found = blind_spots("curl-nginx.pcap", |frame| {
        let mut changed = frame.data.to_vec();
        // The protocol in the IPv4 header, which the checksum covers: IPComp.
        (changed[23], changed[25]) = (108, changed[25].wrapping_sub(102));
        frame.data = changed.leak();
    });
    let spot = found.iter().find(|spot| spot.name == "other_transport").unwrap();
    assert_eq!((spot.protocols.len(), spot.protocols[0].count), (1, spot.count));
    assert_eq!(spot.protocols[0].name, Some("IPComp"));
    let text = spot.to_string();
    assert!(text.ends_with(&format!(": {} of IPComp (IP protocol 108)", spot.count)), "{text}");
}

#[test]
fn cut_frames_are_counted_with_first_frame() {
    let mut number = 0;
    let found = blind_spots("tls-curl.pcap", |frame| {
        number += 1;
        // The IP header is incomplete from the fifth frame on.
        if number >= 5 {
            frame.data = &frame.data[..20];
        }
    });
    assert_eq!(rows(&found)[0], row("truncated_snaplen", 38, "5"));
}

#[test]
fn wrong_checksum_has_number_of_its_frame() {
    let mut number = 0;
    let found = blind_spots("curl-nginx.pcap", |frame| {
        number += 1;
        if number >= 3 {
            let mut changed = frame.data.to_vec();
            // The first byte of the checksum in the IPv4 header.
            changed[24] ^= 0xff;
            frame.data = changed.leak();
        }
    });
    let (_, count, frame) = rows(&found).remove(0);
    assert_eq!((found[0].name, count, &*frame), ("bad_ip_checksum", number - 2, "3"));
}

#[test]
fn missing_segments_and_directions_are_counted() {
    let mut number = 0;
    let client_only = rows(&blind_spots("tls-curl.pcap", |frame| {
        number += 1;
        if frame.data[26..30] == [192, 0, 2, 2] || frame.data[22..38].ends_with(&[2]) {
            frame.data = &frame.data[..14];
            frame.wire_len = 14;
        }
    }));
    assert!(
        client_only.iter().any(|(name, count, _)| (*name, *count) == ("one_direction", 6)),
        "{client_only:?}"
    );
    let without_syn = rows(&blind_spots("tls-curl.pcap", |frame| {
        let is_syn = |at: usize| frame.data.get(at).is_some_and(|flags| flags & 2 != 0);
        if is_syn(47) && frame.data[12] == 8 || is_syn(67) && frame.data[12] == 0x86 {
            frame.data = &frame.data[..14];
            frame.wire_len = 14;
        }
    }));
    let midstream = without_syn.iter().find(|(name, ..)| *name == "midstream");
    assert!(midstream.is_some_and(|(_, count, place)| *count == 6 && !place.is_empty()), "{without_syn:?}");
}
