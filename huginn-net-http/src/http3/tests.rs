use super::*;
use crate::Role;
use crate::limits::{MAX_BLOCKED_SECTIONS, MAX_FIELD_LIST_SIZE, MAX_HTTP3_STREAMS};

/// A frame of HTTP/3.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(payload.len()).unwrap();
    [&[kind][..], &(len | 0x4000).to_be_bytes(), payload].concat()
}

/// The events of these parts of streams, each as a text.
fn events(parts: &[(Role, u64, &[u8])]) -> Vec<String> {
    let (mut connection, mut found) = (Http3Connection::new(), Vec::new());
    for (sender, stream, bytes) in parts {
        for byte in *bytes {
            if connection.reads(*sender, *stream) {
                connection.push(*sender, *stream, &[*byte], &mut |event| found.push(text(&event)));
            }
        }
    }
    assert!(connection.buffered_bytes() < 1 << 20);
    found
}

fn text(event: &Http3Event) -> String {
    let string = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    match event {
        Http3Event::Request { stream, request, fingerprint } => {
            let of_text = |text: &str| crate::http2::AkamaiHash::from_text(text).0;
            assert!(fingerprint.iter().all(|found| found.hash() == of_text(&found.to_string())));
            let fingerprint = fingerprint.as_ref().map(|found| format!(" {found}")).unwrap_or_default();
            let (method, host) = (string(Some(request.method())), string(request.host()));
            format!("{stream} {method} {host} {}{fingerprint}", string(request.path()))
        }
        Http3Event::Response { stream, response } => format!("{stream} {}", response.status().unwrap()),
        other => format!("{other:?}"),
    }
}

/// `:authority`, `:path` and a field of the dynamic table, and SETTINGS of RFC 9204, appendix B.
const SETTINGS: &[u8] = &[0x00, 0x04, 0x05, 0x01, 0x40, 0xdc, 0x07, 0x10];

#[test]
fn sections_wait_for_the_encoder_stream() {
    // RFC 9204, appendix B.2: the table is filled after the section arrives.
    let instructions = b"\x02\x3f\xbd\x01\xc0\x0fwww.example.com\xc1\x0c/sample/path";
    let section = [0x03, 0x81, 0x10, 0x11, 0xd1];
    let head = frame(1, &section);
    let found = events(&[(Role::Request, 4, &head), (Role::Request, 6, instructions)]);
    assert_eq!(found, ["4 GET www.example.com /sample/path"]);
    let found = events(&[
        (Role::Response, 3, SETTINGS),
        (Role::Request, 2, SETTINGS),
        (Role::Request, 6, instructions),
        (Role::Request, 4, &head),
    ]);
    assert_eq!(found, ["4 GET www.example.com /sample/path 1:220;7:16|a,p,m"]);
}

#[test]
fn provisional_responses_precede_the_final_one() {
    // Indices of the static table: 24 is 103, 25 is 200.
    let (early, last) = (frame(1, &[0, 0, 0xd8]), frame(1, &[0, 0, 0xd9]));
    let body = frame(0, b"body");
    let stream = [&early[..], &last, &body, &early].concat();
    assert_eq!(events(&[(Role::Response, 0, &stream)]), ["0 103", "0 200"]);
}

#[test]
fn bodies_and_unknown_frames_are_not_read() {
    let head = [0, 0, 0xd1, 0xc1];
    let stream = [frame(0x21, b"grease"), frame(1, &head), frame(0, &[1; 5000])].concat();
    let mut connection = Http3Connection::new();
    let mut found = Vec::new();
    connection.push(Role::Request, 0, &stream, &mut |event| found.push(text(&event)));
    assert_eq!(found, ["0 GET  /"]);
    assert!(!connection.reads(Role::Request, 0));
    assert!(connection.reads(Role::Response, 0) && !connection.reads(Role::Response, 2));
}

#[test]
fn decompression_is_bounded() {
    // A field of 32 KiB, and references to it.
    let mut instructions = vec![0x02, 0x3f, 0xe1, 0xff, 0x03];
    instructions.extend([0x41, b'a', 0x7f, 0x81, 0xff, 0x01]);
    instructions.extend(vec![b'b'; 32_768]);
    let section: Vec<u8> = [2, 0, 0xd1].into_iter().chain(std::iter::repeat_n(0x80, 20_000)).collect();
    let (mut connection, mut found, mut size) = (Http3Connection::new(), Vec::new(), 0);
    connection.push(Role::Request, 2, &instructions, &mut |event| found.push(text(&event)));
    for stream in (0..40).map(|n| n * 4) {
        connection.push(Role::Request, stream, &frame(1, &section[..16_000]), &mut |event| {
            if let Http3Event::Request { request, .. } = &event {
                size += request.headers().iter().map(|header| header.value().len()).sum::<usize>();
            }
            found.push(text(&event));
        });
    }
    // Twice the length of the sections, beside what any connection may have.
    assert!((1..2 * 40 * 16_000 + MAX_FIELD_LIST_SIZE).contains(&size), "{size}");
    assert_eq!(found.iter().filter(|event| event.starts_with("HeadCut")).count(), 40);
}

#[test]
fn waiting_sections_are_bounded() {
    let head = frame(1, &[0x09, 0x00, 0x80]);
    let (mut connection, mut cut) = (Http3Connection::new(), 0);
    for stream in 0..500 {
        connection.push(Role::Request, stream * 4, &head, &mut |event| {
            assert!(matches!(event, Http3Event::HeadCut { .. }));
            cut += 1;
        });
    }
    assert_eq!(cut, 500 - MAX_BLOCKED_SECTIONS);
}

#[test]
fn invalid_sections_are_reported() {
    for section in [&[0, 0, 0xff][..], &[0, 0, 0xff, 0xff, 0x03], &[0, 0x80, 0xd1], &[]] {
        let found = events(&[(Role::Request, 0, &frame(1, section))]);
        assert!(found.len() == 1 && found[0].starts_with("Undecodable"), "{section:?}: {found:?}");
    }
}

/// The name of an instruction is not decoded again with each byte of its value.
#[test]
fn instruction_in_pieces_takes_linear_time() {
    let integer = |first: u8, mask: u8, value: usize| {
        let mut bytes = vec![first | mask];
        let mut rest = value - usize::from(mask);
        while rest >= 128 {
            bytes.push(u8::try_from(rest % 128 + 128).unwrap());
            rest /= 128;
        }
        bytes.push(u8::try_from(rest).unwrap());
        bytes
    };
    // 30,000 times 'a' in the Huffman code, as a name, and 30,000 bytes of a value.
    let name = [0x18, 0xc6, 0x31, 0x8c, 0x63].repeat(3750);
    let instruction =
        [integer(0x60, 0x1f, name.len()), name, integer(0, 0x7f, 30_000), vec![b'b'; 30_000]].concat();
    let instructions = [vec![0x02, 0x3f, 0xe1, 0xff, 0x03], instruction.repeat(20)].concat();
    let (mut connection, start) = (Http3Connection::new(), std::time::Instant::now());
    for byte in instructions {
        connection.push(Role::Request, 2, &[byte], &mut |event| panic!("{event:?}"));
    }
    let head = frame(1, &[0x15, 0x00, 0xd1, 0xc1, 0x80]);
    let mut found = Vec::new();
    connection.push(Role::Request, 0, &head, &mut |event| found.push(text(&event)));
    assert_eq!(found, ["0 GET  /"]);
    // It would take minutes.
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn incomplete_sections_are_bounded_together() {
    let (mut connection, mut cut) = (Http3Connection::new(), 0);
    let part = [&[0x01, 0x80, 0x00, 0xff, 0xff][..], &[0; 60_000]].concat();
    for stream in 0..500 {
        connection.push(Role::Request, stream * 4, &part, &mut |event| {
            assert!(matches!(event, Http3Event::HeadCut { .. }));
            cut += 1;
        });
        assert!(connection.buffered_bytes() < 400_000);
    }
    assert!((490..500).contains(&cut), "{cut}");
    for stream in 0..500 {
        connection.end(Role::Request, stream * 4);
    }
    assert_eq!(connection.buffered_bytes(), Http3Connection::new().buffered_bytes());
}

/// A stream whose start had no room is not read from its middle on.
#[test]
fn settings_after_a_lost_start_are_not_read() {
    let mut connection = Http3Connection::new();
    for stream in 0..MAX_HTTP3_STREAMS as u64 {
        connection.push(Role::Request, stream * 4, &[0x01], &mut |_| {});
    }
    assert!(connection.reads(Role::Request, 2));
    connection.push(Role::Request, 2, &SETTINGS[..1], &mut |_| {});
    assert!(!connection.reads(Role::Request, 2));
    connection.end(Role::Request, 0);
    // As if the payload began the stream.
    connection.push(Role::Request, 2, SETTINGS, &mut |_| {});
    let mut found = Vec::new();
    connection.push(Role::Request, 4, &frame(1, &[0, 0, 0xd1, 0xc1])[1..], &mut |event| {
        found.push(text(&event));
    });
    assert_eq!(found, ["4 GET  /"]);
}

/// Streams that had no room do not hide others with lower identifiers.
#[test]
fn every_head_without_room_is_counted_once() {
    let mut connection = Http3Connection::new();
    for stream in 0..MAX_HTTP3_STREAMS as u64 {
        connection.push(Role::Request, 400 + stream * 4, &[0x01], &mut |_| {});
    }
    let mut cut = Vec::new();
    for stream in [1 << 20, 8, 8, 1 << 20, 4] {
        if connection.reads(Role::Request, stream) {
            connection.push(Role::Request, stream, &[0x01], &mut |event| cut.push(text(&event)));
        }
    }
    assert_eq!(cut, [1 << 20, 8, 4].map(|stream| format!("HeadCut {{ stream: {stream} }}")));
    connection.end(Role::Request, 400);
    let request = frame(1, &[0, 0, 0xd1, 0xc1]);
    connection.push(Role::Request, 0, &request, &mut |event| cut.push(text(&event)));
    assert_eq!(cut.get(3).map(String::as_str), Some("0 GET  /"));
}

/// The fingerprint has the order of the first request, also when the settings come after it; only the first frame of a control stream
/// and the first control stream count.
#[test]
fn late_settings_complete_the_fingerprint_of_the_first_request() {
    let (first, second) = (frame(1, &[0, 0, 0xd1, 0xc1]), frame(1, &[0, 0, 0xc1, 0xd1]));
    let other = [0x00, 0x04, 0x02, 0x06, 0x01];
    let found = events(&[
        (Role::Request, 0, &first),
        (Role::Request, 2, SETTINGS),
        (Role::Request, 6, &other),
        (Role::Request, 4, &second),
    ]);
    assert_eq!(found, ["0 GET  /", "4 GET  / 1:220;7:16|m,p"]);
    let late = [&[0x00, 0x0d, 0x01, 0x00][..], &other[1..]].concat();
    assert_eq!(events(&[(Role::Request, 2, &late), (Role::Request, 0, &first)]), ["0 GET  /"]);
}

#[test]
fn debug_omits_content() {
    let mut connection = Http3Connection::new();
    connection.push(Role::Request, 0, &[0x01, 0x20, 0x77, 0x77, 0x77], &mut |_| {});
    assert!(!format!("{connection:?}").contains("119"));
}

proptest::proptest! {
    #[test]
    fn arbitrary_streams_are_bounded_and_never_panic(
        parts in proptest::collection::vec(
            (proptest::bool::ANY, 0_u64..12, proptest::collection::vec(proptest::num::u8::ANY, 0..60)), 0..60),
    ) {
        let mut connection = Http3Connection::new();
        for (by_client, stream, bytes) in parts {
            let sender = if by_client { Role::Request } else { Role::Response };
            connection.push(sender, stream, &bytes, &mut |_| {});
        }
        proptest::prop_assert!(connection.buffered_bytes() < 1 << 20);
    }
}
