//! Recordings: their end, their limit and their time.

#[cfg(target_os = "linux")]
use std::time::Duration;

use huginn_net_http::Request;
use huginn_net_http::http2::Akamai;
use huginn_net_proxy::{MAX_RECORDED_BYTES, Recording, RecordingStatus};
use huginn_net_tls::ClientHello;
use proptest::prelude::*;

use crate::{HELLO, HTTP1, HTTP2, in_tls_records, padded_hello};

/// Records bytes in pieces of `step`. Returns the recording, and the bytes that it took.
fn recorded(mut recording: Recording, bytes: &[u8], step: usize) -> (Recording, usize) {
    let taken = bytes.chunks(step).map(|piece| recording.push(piece).consumed_of(piece.len())).sum();
    (recording, taken)
}

#[test]
fn ends_with_hello_for_any_pieces() {
    let followed = |hello: Vec<u8>| (hello.len(), [hello, b"early data".to_vec()].concat());
    let hellos = [
        HELLO.to_vec(),
        in_tls_records(&HELLO[5..], 1),
        in_tls_records(&HELLO[5..], 3),
        in_tls_records(&HELLO[5..], 100),
        padded_hello(2000, 1400),
    ];
    for (len, bytes) in hellos.map(followed) {
        for step in [1, 2, 3, 5, 7, 64, 517, bytes.len()] {
            let (recording, taken) = recorded(Recording::tls(), &bytes, step);
            assert_eq!((recording.status(), taken), (RecordingStatus::Complete, len), "in steps of {step}");
            assert_eq!(recording.bytes(), &bytes[..len]);
        }
    }
}

#[test]
fn two_messages_in_one_record_end_after_hello() {
    let bytes = in_tls_records(&[&HELLO[5..], &HELLO[5..]].concat(), 4000);
    let (recording, taken) = recorded(Recording::tls(), &bytes, 50);
    assert_eq!((recording.complete().map(<[u8]>::len), taken), (Some(HELLO.len()), HELLO.len()));
}

#[test]
fn warnings_before_hello_are_skipped() {
    let warning = [21, 3, 1, 0, 2, 1, 90];
    let bytes = [&warning[..], &warning, HELLO].concat();
    for step in [1, 2, 7, 10, bytes.len()] {
        let (recording, taken) = recorded(Recording::tls(), &bytes, step);
        assert_eq!((recording.complete(), taken), (Some(HELLO), bytes.len()), "in steps of {step}");
        assert_eq!(recording.bytes(), bytes);
    }
    let (endless, _) = recorded(Recording::tls(), &warning.repeat(10_000), 1000);
    assert_eq!(endless.status(), RecordingStatus::LimitReached);
}

#[test]
fn ends_with_first_head_for_any_pieces() {
    let akamai = Akamai::from_client_bytes(HTTP2).unwrap().unwrap();
    let heads = [
        (HTTP1.to_vec(), HTTP1.len()),
        ([b"\r\n\n", HTTP1].concat(), HTTP1.len() + 3),
        (HTTP1.iter().copied().filter(|byte| *byte != b'\r').collect(), HTTP1.len() - 5),
        (b"PUT / HTTP/1.0\r\n\r\n".to_vec(), 18),
        (HTTP2[..akamai.consumed].to_vec(), akamai.consumed),
    ];
    for (head, len) in heads {
        let bytes = [&head, &b"body \r\n\r\n"[..]].concat();
        for step in [1, 2, 3, 5, 7, 64, bytes.len()] {
            let (recording, taken) = recorded(Recording::http(), &bytes, step);
            assert_eq!((recording.status(), taken), (RecordingStatus::Complete, len), "in steps of {step}");
            assert_eq!(recording.bytes(), &bytes[..len]);
        }
    }
}

#[test]
fn field_block_in_continuations_is_recorded_to_its_end() {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    bytes.extend([0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]);
    bytes.extend([0, 0, 2, 9, 0, 0, 0, 0, 1, 0x84, 0x87]);
    bytes.extend([0, 0, 3, 9, 4, 0, 0, 0, 1, 0x41, 1, b'a']);
    let len = bytes.len();
    assert_eq!(Akamai::from_client_bytes(&bytes).unwrap().unwrap().consumed, len);
    bytes.extend([0, 0, 0, 0, 1, 0, 0, 0, 1]);
    let (recording, taken) = recorded(Recording::http(), &bytes, 1);
    assert_eq!((recording.status(), taken), (RecordingStatus::Complete, len));
}

#[test]
fn other_protocols_are_not_recorded() {
    let cases: [(Recording, &[u8]); 11] = [
        (Recording::tls(), b"GET / HTTP/1.1\r\n"),
        (Recording::tls(), &[22, 3, 1, 0, 0]),
        (Recording::tls(), &[22, 3, 1, 0xff, 0xff]),
        (Recording::tls(), &[22, 3, 1, 0, 4, 2]),
        (Recording::tls(), &[22, 3, 1, 0, 1, 1, 21, 3, 3, 0, 2]),
        (Recording::tls(), &[21, 3, 1, 0, 2, 2, 40]),
        (Recording::tls(), &[21, 3, 1, 0, 3, 1, 90]),
        (Recording::tls(), &[22, 3, 1, 0, 1, 1, 21, 3, 3, 0, 2, 1, 90]),
        (Recording::http(), &[22, 3, 1, 0, 4, 1]),
        (Recording::http(), b"\r\n\0"),
        (Recording::http(), b"PRI * HTTP/2.0\r\n\r\nSM\r\xff"),
    ];
    for (recording, bytes) in cases {
        let (mut recording, _) = recorded(recording, bytes, 1);
        assert_eq!(recording.status(), RecordingStatus::Unrecognized, "{bytes:02x?}");
        assert_eq!(recording.complete(), None);
        assert_eq!(recording.push(HELLO).consumed_of(HELLO.len()), 0);
    }
}

#[test]
fn limit_ends_recording() {
    let endless_head = [b"GET / HTTP/1.1\r\n", &b"a: b\r\n".repeat(20_000)[..]].concat();
    let endless_frames = [&HTTP2[..24], &[0, 0, 0, 6, 0, 0, 0, 0, 0].repeat(20_000)].concat();
    let tiny_records = in_tls_records(&[&[1, 0, 0xf0, 0][..], &[0; 0xf000]].concat(), 1);
    for (recording, bytes) in [
        (Recording::http(), &endless_head),
        (Recording::http(), &endless_frames),
        (Recording::http(), &b"\n".repeat(100_000)),
        (Recording::tls(), &tiny_records),
    ] {
        for step in [1, 1000, bytes.len()] {
            let (recording, taken) = recorded(recording.clone(), bytes, step);
            assert_eq!(recording.status(), RecordingStatus::LimitReached, "in steps of {step}");
            assert!(taken <= MAX_RECORDED_BYTES);
            assert!(recording.buffered_bytes() <= MAX_RECORDED_BYTES, "{}", recording.buffered_bytes());
        }
    }
    // A length that exceeds the limit ends the recording at once.
    let announced = [22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff];
    let (recording, _) = recorded(Recording::tls(), &announced, 1);
    assert_eq!(
        (recording.status(), recording.bytes().len()),
        (RecordingStatus::LimitReached, announced.len())
    );
}

#[test]
fn limit_is_exact() {
    for (limit, status) in
        [(HELLO.len(), RecordingStatus::Complete), (HELLO.len() - 1, RecordingStatus::LimitReached)]
    {
        let (recording, _) = recorded(Recording::tls().with_limit(limit), HELLO, 1);
        assert_eq!(recording.status(), status);
    }
}

/// Processor time of this thread. Other programs on a busy machine do not change it much.
#[cfg(target_os = "linux")]
fn thread_time() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

#[cfg(target_os = "linux")]
#[test]
fn time_is_linear_for_single_bytes() {
    type New = fn() -> Recording;
    let recorded_in = |bytes: &[u8], recording: New| {
        let mut times: Vec<Duration> = (0..5)
            .map(|_| {
                let start = thread_time();
                let (recording, _) = recorded(recording(), bytes, 1);
                assert_eq!(recording.status(), RecordingStatus::Complete);
                thread_time() - start
            })
            .collect();
        times.sort();
        times[0]
    };
    let head =
        |len: usize| [b"GET /", "a".repeat(len - 24).as_bytes(), b" HTTP/1.1\r\nH: a\r\n\r\n"].concat();
    let cases = [
        (Recording::tls as New, padded_hello(1 << 11, 1400), padded_hello(1 << 14, 1400)),
        (Recording::tls, padded_hello(1 << 10, 1), padded_hello(1 << 13, 1)),
        (Recording::http, head(1 << 12), head(1 << 15)),
    ];
    for (recording, short, long) in cases {
        let [short, long] = [short, long].map(|bytes| recorded_in(&bytes, recording));
        // Eight times the bytes; sixty-four times the time would be quadratic.
        assert!(long < short * 32, "{short:?} and {long:?}");
    }
}

#[test]
fn hello_of_16_kib_is_recorded() {
    let bytes = padded_hello(16 << 10, 1400);
    let (recording, _) = recorded(Recording::tls(), &bytes, 1);
    let hello = ClientHello::from_records(recording.complete().unwrap()).unwrap().unwrap();
    assert_eq!((hello.consumed, hello.value.message().len()), (bytes.len(), 16 << 10));
    assert!(hello.value.is_well_formed());
}

proptest! {
    #[test]
    fn hello_ends_where_its_parser_ends(
        in_records in 1..600_usize,
        step in 1..80_usize,
        corrupted in prop::option::of((0..60_usize, any::<u8>())),
    ) {
        let mut bytes = in_tls_records(&HELLO[5..], in_records);
        if let Some((position, byte)) = corrupted {
            bytes[position] = byte;
        }
        let (recording, _) = recorded(Recording::tls(), &bytes, step);
        match ClientHello::from_records(&bytes) {
            Ok(Some(parsed)) => prop_assert_eq!(recording.complete(), Some(&bytes[..parsed.consumed])),
            Ok(None) => prop_assert_ne!(recording.status(), RecordingStatus::Complete),
            // The bytes may end with a message that is not a valid hello.
            Err(_) => {}
        }
    }

    #[test]
    fn pieces_give_same_recording_as_whole(
        start in prop::sample::select(vec![&b"GET "[..], b"PRI * HTTP/2.0\r", b"PRI * HTTP/2.0\r\n\r\nSM\r", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x02", b"\x16\x03\x01\0\x40\x01\0\0"]),
        bytes in prop::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(0), Just(1), any::<u8>()], 0..300),
        step in 1..80_usize,
    ) {
        let bytes = [start, &bytes].concat();
        for recording in [Recording::tls(), Recording::http()] {
            let (whole, all) = recorded(recording.clone(), &bytes, bytes.len());
            let (pieces, taken) = recorded(recording, &bytes, step);
            prop_assert_eq!(whole.status(), pieces.status());
            prop_assert_eq!(whole.complete(), pieces.complete());
            if whole.status() == RecordingStatus::Complete {
                prop_assert_eq!(all, taken);
            }
        }
    }

    #[test]
    fn head_ends_where_its_parser_ends(
        lines in prop::collection::vec("[a-zA-Z-]{1,9}: ?[ -~]{0,20}", 0..9),
        step in 1..80_usize,
    ) {
        let head = format!("GET / HTTP/1.1\r\n{}\r\n", lines.iter().map(|line| format!("{line}\r\n")).collect::<String>());
        let bytes = [head.as_bytes(), b"body"].concat();
        let parsed = Request::parse(&bytes).unwrap().unwrap();
        let (recording, _) = recorded(Recording::http(), &bytes, step);
        prop_assert_eq!(recording.complete(), Some(&bytes[..parsed.consumed]));
    }
}
