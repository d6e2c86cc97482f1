//! Signatures of HTTP connections, compared with the output of p0f 3.09b for the same segments.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

use huginn_net_http::http1::{Head, Http1Connection, Http1Counters};
use huginn_net_http::{HttpSignature, Role};

struct Entry<'a> {
    name: &'a str,
    segments: Vec<(Role, Vec<u8>)>,
    request: &'a str,
    response: &'a str,
}

fn entries(table: &str) -> impl Iterator<Item = Entry<'_>> {
    table.split("\n\n").skip(1).map(|entry| {
        let mut lines = entry.lines();
        let mut parsed =
            Entry { name: lines.next().unwrap(), segments: Vec::new(), request: "", response: "" };
        for line in lines {
            match line.split_once(' ').unwrap() {
                (">", bytes) => parsed.segments.push((Role::Request, unescape(bytes))),
                ("<", bytes) => parsed.segments.push((Role::Response, unescape(bytes))),
                ("request:", expected) => parsed.request = expected,
                ("response:", expected) => parsed.response = expected,
                other => panic!("{other:?}"),
            }
        }
        parsed
    })
}

/// Decodes escapes such as `\r` and `\x00`, and repetitions: `{x*9}` is nine times x.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(repeated) = rest.strip_prefix('{') {
            let (repeated, after) = repeated.split_once('}').unwrap();
            let (unit, times) = repeated.rsplit_once('*').unwrap();
            bytes.extend(unescape(unit).repeat(times.parse().unwrap()));
            rest = after;
            continue;
        }
        let (byte, after) = match rest.strip_prefix('\\') {
            None => (u8::try_from(first).unwrap(), rest.strip_prefix(first).unwrap()),
            Some(escape) => match escape.split_at(1) {
                ("r", after) => (b'\r', after),
                ("n", after) => (b'\n', after),
                ("t", after) => (b'\t', after),
                ("\\", after) => (b'\\', after),
                ("x", after) => {
                    let (hex, after) = after.split_at(2);
                    (u8::from_str_radix(hex, 16).unwrap(), after)
                }
                other => panic!("{other:?}"),
            },
        };
        bytes.push(byte);
        rest = after;
    }
    bytes
}

/// Returns the lines of the request and of the response in p0f's format, or `-`.
fn printed(segments: &[(Role, Vec<u8>)]) -> [String; 2] {
    let mut lines = ["-".to_owned(), "-".to_owned()];
    let (mut connection, mut counters) = (Http1Connection::new(), Http1Counters::default());
    for (role, bytes) in segments {
        connection.push(*role, bytes, &mut counters, &mut |_, head| {
            let (index, signature) = match &head {
                Head::Request(request) => (0, HttpSignature::p0f_from_request(request)),
                Head::Response(response) => (1, HttpSignature::p0f_from_response(response)),
            };
            let Some(signature) = signature else { return };
            assert_eq!(lines[index], "-", "p0f prints one line per direction");
            let is_known = |name: &[u8]| name == b"DNT" || name == b"X-Known";
            let params = if signature.software().is_none() { "anonymous" } else { "none" };
            lines[index] = format!("{}|{params}|{}", signature.language(), signature.raw_sig(is_known));
        });
    }
    lines
}

#[test]
fn heads_print_as_in_p0f() {
    let mut count = 0;
    for entry in entries(include_str!("p0f_heads.txt")) {
        assert_eq!(printed(&entry.segments), [entry.request, entry.response], "{}", entry.name);
        count += 1;
    }
    assert_eq!(count, 139);
}
