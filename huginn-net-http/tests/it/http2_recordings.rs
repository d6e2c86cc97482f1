//! Recordings of real programs (`http2/`), compared with the output of the Python script `http2/by_hand.py`.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::path::Path;
use std::{fs, str};

use huginn_net_http::Parsed;
use huginn_net_http::http2::{Akamai, Http2Event, Http2Reader, PREFACE};

/// Reads a recording in pieces of `step` bytes and returns its lines.
fn described(bytes: &[u8], step: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut reader, bytes) = reader(bytes);
    for piece in bytes.chunks(step) {
        reader.push(piece, &mut |event| describe(&event, &mut lines)).unwrap();
    }
    lines
}

/// Chooses the reader for a recording. Returns it with the bytes that it must read.
fn reader(bytes: &[u8]) -> (Http2Reader, &[u8]) {
    let Some(start) = bytes.windows(PREFACE.len()).position(|window| window == PREFACE) else {
        return (Http2Reader::server(), bytes);
    };
    let head = str::from_utf8(&bytes[..start]).unwrap().replace("HTTP2-S", "http2-s");
    let settings =
        head.split_once("http2-settings: ").map(|(_, rest)| rest.lines().next().unwrap().to_owned());
    match settings {
        Some(settings) => (Http2Reader::upgraded_client(settings.as_bytes()), &bytes[start..]),
        None => (Http2Reader::client(), bytes),
    }
}

fn describe(event: &Http2Event, lines: &mut Vec<String>) {
    let text = |bytes: &[u8]| str::from_utf8(bytes).unwrap().to_owned();
    let headers = match event {
        Http2Event::Akamai(akamai) => {
            lines.extend([akamai.to_string(), akamai.hash().to_string()]);
            return;
        }
        Http2Event::Request { stream, request, pseudo_headers } => {
            lines.push(format!("stream {stream}"));
            for letter in pseudo_headers.to_string().split(',') {
                lines.push(match letter {
                    "m" => format!("  :method: {}", text(request.method())),
                    "p" => format!("  :path: {}", text(request.target())),
                    "a" => format!("  :authority: {}", text(request.host().unwrap())),
                    _ => "  :scheme".to_owned(),
                });
            }
            request.headers()
        }
        Http2Event::Response { stream, response } => {
            lines.extend([format!("stream {stream}"), format!("  :status: {}", response.status().unwrap())]);
            response.headers()
        }
        _ => panic!("{event:?}"),
    };
    lines.extend(headers.iter().map(|header| format!("  {}: {}", text(header.name), text(header.value()))));
}

/// Returns the lines of `by_hand.py` without the value of the scheme, which heads do not store.
fn expected(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| if line.starts_with("  :scheme: ") { "  :scheme" } else { line });
    lines.map(str::to_owned).collect()
}

#[test]
fn recordings_match_python_for_any_segmentation() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("http2");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "bin") {
            continue;
        }
        count += 1;
        let bytes = fs::read(&path).unwrap();
        let expected = expected(&fs::read_to_string(path.with_extension("txt")).unwrap());
        for step in [1, 2, 3, 9, 50, bytes.len()] {
            assert_eq!(described(&bytes, step), expected, "{} in steps of {step}", path.display());
        }
    }
    assert!(count > 10);
}

/// `tls.peet.ws` and `browserleaks.com` show these fingerprints for Chrome 150 and Firefox 148. Debian's builds have
/// the same ones.
#[test]
fn browsers_have_published_fingerprints() {
    for (bytes, akamai, hash) in [
        (
            &include_bytes!("../../http2/chromium.bin")[..],
            "1:65536;2:0;4:6291456;6:262144|15663105|0|m,a,s,p",
            "52d84b11737d980aef856699f885ca86",
        ),
        (
            &include_bytes!("../../http2/firefox.bin")[..],
            "1:65536;2:0;4:131072;5:16384|12517377|0|m,p,a,s",
            "6ea73faa8fc5aac76bded7bd238f6433",
        ),
    ] {
        let Parsed { value: found, consumed } = Akamai::from_client_bytes(bytes).unwrap().unwrap();
        assert_eq!(Akamai::from_client_bytes(&bytes[..consumed]).unwrap().unwrap().value, found);
        assert_eq!(Akamai::from_client_bytes(&bytes[..consumed - 1]), Ok(None));
        assert_eq!((found.to_string().as_str(), found.hash().to_string().as_str()), (akamai, hash));
    }
}
