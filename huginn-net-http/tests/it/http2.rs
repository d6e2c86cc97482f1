//! HTTP/2 connections of handcrafted frames: valid, malformed and hostile ones.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use huginn_net_http::http2::{Akamai, HpackError, Http2Error, Http2Event, Http2Reader, PREFACE};
use proptest::prelude::*;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
/// An unknown frame type, which implementations must ignore (RFC 9113, section 4.1).
const GREASE: u8 = 0x0b + 0x1f * 3;

const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const WITH_PRIORITY: u8 = 32;

/// `:method: GET`, `:scheme: https`, `:path: /` and `:authority: a`, of which the last two are added to the dynamic
/// table.
const REQUEST: &[u8] = &[0x82, 0x87, 0x44, 1, b'/', 0x41, 1, b'a'];
/// The fields of `REQUEST` by table index, in reverse order, and `x: y`.
const NEXT_REQUEST: &[u8] = &[0xbe, 0xbf, 0x87, 0x82, 0x00, 1, b'x', 1, b'y'];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = settings
        .iter()
        .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    frame(SETTINGS, 0, 0, &payload)
}

fn client(frames: &[Vec<u8>]) -> Vec<u8> {
    [&PREFACE[..], &frames.concat()].concat()
}

/// Reads the bytes in pieces of these lengths. Returns one line per event, and the first error.
fn read(mut reader: Http2Reader, bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Result<(), Http2Error>) {
    let mut lines = Vec::new();
    let mut outcome = Ok(());
    let mut rest = bytes;
    for cut in cuts.iter().copied().chain([usize::MAX]) {
        let (piece, remaining) = rest.split_at(cut.min(rest.len()));
        rest = remaining;
        let result = reader.push(piece, &mut |event| lines.push(line(&event)));
        outcome = outcome.and(result);
    }
    assert_eq!(reader.is_done(), outcome.is_err());
    (lines, outcome)
}

fn line(event: &Http2Event) -> String {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    match event {
        Http2Event::Akamai(akamai) => akamai.to_string(),
        Http2Event::Request { stream, request, pseudo_headers } => format!(
            "{stream} {} {} {} {pseudo_headers} {:?}",
            text(request.method()),
            text(request.target()),
            text(request.host().unwrap_or_default()),
            request.headers(),
        ),
        Http2Event::Response { stream, response } => {
            format!("{stream} {} {:?}", response.status().unwrap(), response.headers())
        }
        Http2Event::HeadCut { stream } => format!("{stream} cut"),
        _ => panic!("{event:?}"),
    }
}

fn from_client(frames: &[Vec<u8>]) -> (Vec<String>, Result<(), Http2Error>) {
    read(Http2Reader::client(), &client(frames), &[])
}

fn from_server(frames: &[Vec<u8>]) -> (Vec<String>, Result<(), Http2Error>) {
    read(Http2Reader::server(), &frames.concat(), &[])
}

fn error(frames: &[Vec<u8>]) -> Http2Error {
    let (lines, outcome) = from_client(frames);
    assert_eq!(lines, [""; 0]);
    outcome.unwrap_err()
}

/// Builds a request with padding and priority in a HEADERS frame and three CONTINUATION frames.
fn request_in_pieces(stream: u32) -> Vec<u8> {
    let first = [&[3, 0x80, 0, 0, 7, 41], &REQUEST[..3], &[0, 0, 0]].concat();
    [
        frame(HEADERS, PADDED | WITH_PRIORITY, stream, &first),
        frame(CONTINUATION, 0, stream, &[]),
        frame(CONTINUATION, 0, stream, &REQUEST[3..4]),
        frame(CONTINUATION, END_HEADERS, stream, &REQUEST[4..]),
    ]
    .concat()
}

#[test]
fn fingerprint_with_all_parts() {
    let (lines, outcome) = from_client(&[
        settings(&[(1, 65_536), (0x0a0a, 0xffff_ffff), (9, 1), (1, 0)]),
        frame(WINDOW_UPDATE, 0, 3, &[0, 0, 0, 1]),
        frame(WINDOW_UPDATE, 0, 0, &[0x80, 0, 0, 7]),
        frame(GREASE, 0xff, 0, &[0; 300]),
        frame(PRIORITY, 0, 3, &[0, 0, 0, 0, 200]),
        frame(SETTINGS, ACK, 0, &[]),
        frame(PRIORITY, 0, 5, &[0x80, 0, 0, 3, 255]),
        frame(PING, 0, 0, &[0; 8]),
        settings(&[(4, 1)]),
        frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 9]),
        request_in_pieces(7),
        frame(PRIORITY, 0, 9, &[0; 5]),
        frame(DATA, PADDED, 7, &[2, b'x', 0, 0]),
        frame(HEADERS, END_HEADERS, 9, NEXT_REQUEST),
    ]);
    assert_eq!(outcome, Ok(()));
    assert_eq!(
        lines,
        [
            "1:65536;2570:4294967295;9:1;1:0|7|3:0:0:201,5:1:3:256|m,s,p,a",
            "7 GET / a m,s,p,a []",
            "9 GET / a a,p,s,m [x: y]",
        ]
    );
}

/// Node 20 sends an empty SETTINGS frame.
#[test]
fn fingerprint_with_absent_parts() {
    let request = frame(HEADERS, END_HEADERS, 1, REQUEST);
    for frames in [vec![settings(&[]), request.clone()], vec![request]] {
        assert_eq!(
            from_client(&frames),
            (vec!["|00|0|m,s,p,a".into(), "1 GET / a m,s,p,a []".into()], Ok(()))
        );
    }
}

/// The published fingerprint of Firefox up to version 119, and its MD5.
#[test]
fn published_fingerprint_with_priorities() {
    let priority =
        |stream, depends_on: u8, weight: u8| frame(PRIORITY, 0, stream, &[0, 0, 0, depends_on, weight]);
    let bytes = client(&[
        settings(&[(1, 65_536), (4, 131_072), (5, 16_384)]),
        frame(WINDOW_UPDATE, 0, 0, &12_517_377_u32.to_be_bytes()),
        priority(3, 0, 200),
        priority(5, 0, 100),
        priority(7, 0, 0),
        priority(9, 7, 0),
        priority(11, 3, 0),
        priority(13, 0, 240),
        // :method, :path, :authority, :scheme
        frame(HEADERS, END_HEADERS | WITH_PRIORITY, 15, &[0, 0, 0, 13, 41, 0x82, 0x84, 0x01, 1, b'a', 0x87]),
    ]);
    let akamai = Akamai::from_client_bytes(&bytes).unwrap().unwrap().value;
    assert_eq!(
        akamai.to_string(),
        "1:65536;4:131072;5:16384|12517377|3:0:0:201,5:0:0:101,7:0:0:1,9:0:7:1,11:0:3:1,13:0:0:241|m,p,a,s"
    );
    assert_eq!(akamai.hash().to_string(), "3d9132023bf26a71d40fe766e5c24c9d");
}

#[test]
fn fingerprint_is_reported_once_at_first_request() {
    let begin = settings(&[(4, 1)]);
    assert_eq!(from_client(&[begin.clone(), frame(HEADERS, 0, 1, REQUEST)]), (vec![], Ok(())));
    let (lines, _) = from_client(&[
        begin,
        frame(HEADERS, END_HEADERS, 1, REQUEST),
        frame(HEADERS, END_HEADERS, 1, &[0x00, 1, b't', 1, b'r']), // trailers
        frame(HEADERS, END_HEADERS, 3, NEXT_REQUEST),
    ]);
    assert_eq!(lines, ["4:1|00|0|m,s,p,a", "1 GET / a m,s,p,a []", "3 GET / a a,p,s,m [x: y]"]);
}

#[test]
fn upgrade_settings_replace_missing_settings() {
    let header = b"AAMAAABkAAQAAP__";
    let read_upgraded =
        |frames: &[Vec<u8>]| read(Http2Reader::upgraded_client(header), &client(frames), &[]).0;
    let request = frame(HEADERS, END_HEADERS, 3, REQUEST);
    assert_eq!(read_upgraded(&[settings(&[]), request.clone()])[0], "3:100;4:65535|00|0|m,s,p,a");
    assert_eq!(read_upgraded(&[settings(&[(2, 0)]), request])[0], "2:0|00|0|m,s,p,a");
}

#[test]
fn reports_responses_without_pushes_and_trailers() {
    let (lines, outcome) = from_server(&[
        settings(&[(3, 128)]),
        frame(SETTINGS, ACK, 0, &[]),
        frame(HEADERS, END_HEADERS, 1, &[0x08, 3, b'1', b'0', b'3']),
        // The promised request adds a field to the table; later responses refer to the field.
        frame(PUSH_PROMISE, PADDED, 1, &[1, 0, 0, 0, 2, 0x82, 0x87, 0x84, 0]),
        frame(CONTINUATION, END_HEADERS, 1, &[0x40, 1, b'x', 1, b'y']),
        frame(HEADERS, END_HEADERS | PADDED, 1, &[1, 0x88, 0xbe, 0]),
        frame(DATA, 0, 1, &[0xff; 70_000]),
        frame(HEADERS, END_HEADERS, 1, &[0xbe]), // trailers
        frame(HEADERS, END_HEADERS, 2, &[0x8d]),
    ]);
    assert_eq!((lines, outcome), (vec!["1 103 []".into(), "1 200 [x: y]".into(), "2 404 []".into()], Ok(())));
}

#[test]
fn rejects_other_protocols() {
    for bytes in [&b"GET / HTTP/1.1\r\n"[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r!", b"\x16\x03\x01"] {
        assert_eq!(read(Http2Reader::client(), bytes, &[1, 2]), (vec![], Err(Http2Error::NotHttp2)));
    }
    for bytes in
        [&b"HTTP/1.1 400 Bad Request\r\n"[..], &frame(SETTINGS, ACK, 0, &[]), &frame(PING, 0, 0, &[0; 8])]
    {
        assert_eq!(read(Http2Reader::server(), bytes, &[4]), (vec![], Err(Http2Error::NotHttp2)));
    }
}

#[test]
fn rejects_misordered_or_malformed_frames() {
    let order = |kind, stream| Http2Error::FrameOrder { kind, stream };
    let size = |kind, len| Http2Error::FrameSize { kind, len };
    let open = frame(HEADERS, 0, 1, REQUEST);
    assert_eq!(error(&[frame(CONTINUATION, END_HEADERS, 1, REQUEST)]), order(CONTINUATION, 1));
    assert_eq!(error(&[open.clone(), frame(CONTINUATION, END_HEADERS, 3, &[])]), order(CONTINUATION, 3));
    assert_eq!(error(&[open.clone(), frame(DATA, 0, 1, &[0])]), order(DATA, 1));
    assert_eq!(error(&[open, frame(HEADERS, END_HEADERS, 1, REQUEST)]), order(HEADERS, 1));
    assert_eq!(error(&[frame(HEADERS, END_HEADERS, 0, REQUEST)]), order(HEADERS, 0));
    assert_eq!(error(&[frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2])]), order(PUSH_PROMISE, 1));
    assert_eq!(error(&[frame(HEADERS, PADDED | END_HEADERS, 1, &[4, 0x82, 0, 0])]), size(HEADERS, 4));
    assert_eq!(error(&[frame(HEADERS, PADDED | END_HEADERS, 1, &[])]), size(HEADERS, 0));
    assert_eq!(error(&[frame(HEADERS, WITH_PRIORITY | END_HEADERS, 1, &[0; 4])]), size(HEADERS, 4));
    assert_eq!(error(&[frame(SETTINGS, 0, 0, &[0; 7])]), size(SETTINGS, 7));
    assert_eq!(error(&[frame(WINDOW_UPDATE, 0, 0, &[0; 3])]), size(WINDOW_UPDATE, 3));
    assert_eq!(error(&[frame(PRIORITY, 0, 1, &[0; 4])]), size(PRIORITY, 4));
    assert_eq!(
        error(&[frame(HEADERS, END_HEADERS, 1, &[0xbe])]),
        Http2Error::Hpack { stream: 1, source: HpackError::Index(62) }
    );
}

#[test]
fn ignores_bytes_after_error() {
    let mut reader = Http2Reader::client();
    assert!(reader.push(b"GET", &mut |_| {}).is_err());
    assert_eq!(reader.push(&client(&[frame(HEADERS, END_HEADERS, 1, REQUEST)]), &mut |_| panic!()), Ok(()));
}

#[test]
fn gap_outside_body_is_error() {
    let begin = client(&[frame(HEADERS, END_HEADERS, 1, REQUEST), frame(DATA, 0, 1, &[7; 100])]);
    let next = frame(HEADERS, END_HEADERS, 3, NEXT_REQUEST);
    for (received, missing, is_missed) in [(0, 100, false), (40, 60, false), (40, 59, true), (99, 2, true)] {
        let mut reader = Http2Reader::client();
        let mut count = 0;
        reader.push(&begin[..begin.len() - 100 + received], &mut |_| count += 1).unwrap();
        let outcome = reader.gap(missing);
        assert_eq!(outcome, if received == 99 { Err(Http2Error::Gap { missing }) } else { Ok(()) });
        reader.push(&next, &mut |_| count += 1).unwrap();
        assert_eq!(count, if is_missed { 2 } else { 3 }, "{missing} bytes after {received}");
    }
    let mut reader = Http2Reader::client();
    assert_eq!(reader.gap(0), Ok(()));
    assert_eq!(reader.gap(1), Err(Http2Error::Gap { missing: 1 }));
    assert!(reader.is_done());
}

/// The frames state the maximum length that the 24-bit field allows.
#[test]
fn skips_or_rejects_16_megabyte_frame() {
    let frame_header = |kind| [&[0xff, 0xff, 0xff, kind, 0], &[0, 0, 0, 1][..]].concat();
    for kind in [HEADERS, SETTINGS, PRIORITY, WINDOW_UPDATE] {
        assert_eq!(error(&[frame_header(kind)]), Http2Error::FrameTooLong { kind, len: 0xff_ffff });
    }
    let mut reader = Http2Reader::client();
    let mut count = 0;
    reader.push(&client(&[frame_header(DATA)]), &mut |_| count += 1).unwrap();
    for _ in 0..16 {
        reader.push(&[0; 1 << 20], &mut |_| count += 1).unwrap();
        assert_eq!(reader.buffered_bytes(), 0);
    }
    reader.push(&frame(HEADERS, END_HEADERS, 1, REQUEST)[1..], &mut |_| count += 1).unwrap();
    assert_eq!(count, 2, "the 16 MiB are one byte longer than the DATA frame, so HEADERS starts there");
}

/// The block has 4 MB, of a field that is sent again and again, or of one field.
#[test]
fn endless_field_block_is_bounded() {
    let starts: [&[u8]; 3] = [&[0x82], &[0x82, 0x04, 0x7f, 0x81, 0xff, 0xf5, 0x01], REQUEST];
    for (start, piece) in starts.into_iter().zip([[0x82; 1000], [b'x'; 1000], [0xbe; 1000]]) {
        let mut reader = Http2Reader::client();
        reader.push(&client(&[frame(HEADERS, 0, 1, start)]), &mut |_| panic!()).unwrap();
        let piece = frame(CONTINUATION, 0, 1, &piece);
        let empty = frame(CONTINUATION, 0, 1, &[]);
        for _ in 0..4000 {
            reader.push(&empty, &mut |_| panic!()).unwrap();
            reader.push(&piece, &mut |_| panic!()).unwrap();
            assert!(reader.buffered_bytes() <= 1 << 17, "{}", reader.buffered_bytes());
        }
        let mut lines = Vec::new();
        let rest = if piece[9] == b'x' { 30_464 } else { 0 };
        let end = frame(CONTINUATION, END_HEADERS, 1, &vec![b'x'; rest]);
        let next = frame(HEADERS, END_HEADERS, 3, REQUEST);
        let outcome = reader.push(&[end, next].concat(), &mut |event| lines.push(line(&event)));
        assert_eq!((outcome, &*lines[0]), (Ok(()), "1 cut"));
        assert!(lines[1].starts_with("|00|0|m") && lines[1].len() < 50, "{}", lines[1]);
        assert!(lines[2].starts_with("1 GET ") && lines[3].starts_with("3 GET / a "), "{:?}", &lines[2..]);
    }
}

#[test]
fn floods_before_the_first_request_are_bounded() {
    let mut reader = Http2Reader::client();
    reader.push(PREFACE, &mut |_| panic!()).unwrap();
    let most_settings = settings(&[(0x0a0a, 1); 2730]);
    let priority = frame(PRIORITY, 0, 3, &[0; 5]);
    for _ in 0..1000 {
        reader.push(&most_settings, &mut |_| panic!()).unwrap();
        reader.push(&priority, &mut |_| panic!()).unwrap();
        assert!(reader.buffered_bytes() <= 32 * 1024, "{}", reader.buffered_bytes());
    }
    reader.push(&frame(HEADERS, END_HEADERS, 1, REQUEST), &mut |_| {}).unwrap();
    assert!(reader.buffered_bytes() < 200, "{}", reader.buffered_bytes());
}

/// The block refers 60,000 times to a field of 4,000 bytes.
#[test]
fn decompression_bomb_is_cut() {
    let mut bomb = vec![0x82, 0x87, 0x84, 0x40, 1, b'a', 0x7f, 0xa1, 0x1e];
    bomb.extend([b'x'; 4000]);
    bomb.extend([0xbe; 60_000]);
    bomb.extend([0x40, 1, b'b', 1, b'c']);
    let trailers = [0xbf; 30];
    let requests = client(&[
        frame(HEADERS, END_HEADERS, 1, &bomb),
        frame(HEADERS, END_HEADERS, 1, &trailers),
        frame(HEADERS, END_HEADERS, 3, &[0x82, 0x87, 0x84, 0xbe]),
    ]);
    let (mut found, mut events) = (Vec::new(), Vec::new());
    let mut reader = Http2Reader::client();
    reader.push(&requests, &mut |event| events.push(event)).unwrap();
    for event in &events {
        match event {
            Http2Event::HeadCut { stream } => found.push((*stream, true, 0)),
            Http2Event::Request { stream, request, .. } => {
                let headers = request.headers();
                found.push((*stream, headers.is_cut(), headers.len()));
            }
            _ => {}
        }
    }
    assert_eq!(found, [(1, true, 0), (1, true, 17), (1, true, 0), (3, false, 1)]);
}

#[test]
fn list_with_too_many_fields_is_cut() {
    for (count, is_cut) in [(256, false), (257, true)] {
        let fields: Vec<u8> = (0..count).flat_map(|_| [0, 1, b'x', 0]).collect();
        let (lines, outcome) =
            from_server(&[settings(&[]), frame(HEADERS, END_HEADERS, 1, &[&[0x88][..], &fields].concat())]);
        assert_eq!((outcome, lines.len()), (Ok(()), 1 + usize::from(is_cut)));
        assert_eq!(lines[0] == "1 cut", is_cut);
        assert!(lines[usize::from(is_cut)].starts_with("1 200 [x: , "));
    }
}

/// Builds a client stream with settings, priorities, window update, data and three requests.
fn busy_client() -> Vec<u8> {
    client(&[
        settings(&[(1, 65_536), (2, 0)]),
        frame(PRIORITY, 0, 3, &[0, 0, 0, 0, 200]),
        frame(WINDOW_UPDATE, 0, 0, &[0, 0, 1, 0]),
        request_in_pieces(1),
        frame(DATA, 0, 1, &[7; 40]),
        frame(GREASE, 0, 0, &[1; 20]),
        frame(HEADERS, END_HEADERS, 3, NEXT_REQUEST),
        frame(HEADERS, END_HEADERS, 5, NEXT_REQUEST),
    ])
}

proptest! {
    #[test]
    fn segmentation_changes_nothing(cuts in prop::collection::vec(0_usize..40, 0..60)) {
        let bytes = busy_client();
        let whole = read(Http2Reader::client(), &bytes, &[]);
        prop_assert_eq!(whole.0.len(), 4);
        prop_assert_eq!(read(Http2Reader::client(), &bytes, &cuts), whole);
    }

    #[test]
    fn segmentation_of_arbitrary_frames_changes_nothing(
        frames in prop::collection::vec((0_u8..11, any::<u8>(), 0_u32..4, prop::collection::vec(any::<u8>(), 0..40)), 0..12),
        cuts in prop::collection::vec(0_usize..40, 0..30),
    ) {
        let frames: Vec<u8> =
            frames.iter().flat_map(|(kind, flags, stream, payload)| frame(*kind, *flags, *stream, payload)).collect();
        let bytes = client(&[settings(&[]), frames.clone()]);
        prop_assert_eq!(read(Http2Reader::client(), &bytes, &cuts), read(Http2Reader::client(), &bytes, &[]));
        let bytes = [settings(&[]), frames].concat();
        prop_assert_eq!(read(Http2Reader::server(), &bytes, &cuts), read(Http2Reader::server(), &bytes, &[]));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read(Http2Reader::client(), &bytes, &[5]);
        let _ = read(Http2Reader::client(), &client(std::slice::from_ref(&bytes)), &[30]);
        let _ = read(Http2Reader::server(), &[settings(&[]), bytes.clone()].concat(), &[5]);
        let _ = read(Http2Reader::upgraded_client(&bytes), &client(&[]), &[5]);
        let _ = from_client(&[frame(HEADERS, END_HEADERS, 1, &bytes)]);
    }

    #[test]
    fn corrupted_connection_never_panics(position in any::<prop::sample::Index>(), byte in any::<u8>(), cut in 0_usize..100) {
        let mut bytes = busy_client();
        *position.get_mut(&mut bytes) = byte;
        prop_assert_eq!(read(Http2Reader::client(), &bytes, &[cut]), read(Http2Reader::client(), &bytes, &[]));
    }
}
