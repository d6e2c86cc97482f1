//! Property tests of the HTTP/1 parser.

use huginn_net_http::Parsed;
use huginn_net_http::http1::{Http1Connection, Http1Counters};
use huginn_net_http::{Request, Response, Role};
use proptest::collection::vec;
use proptest::prelude::*;

use super::recorder::*;

/// Generates a stream of requests with bodies, and the summaries of its heads.
fn exchanges() -> impl Strategy<Value = (Vec<u8>, Vec<String>)> {
    let line_end = prop_oneof![Just("\r\n"), Just("\n")];
    let body = vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'0'), any::<u8>()], 0..60);
    let exchange = (line_end, body, 0..3, vec("[A-Z]{1,9}: ?[ -~]{0,20}", 0..5)).prop_map(
        |(end, body, framing, headers)| {
            let mut bytes = format!("POST /{} HTTP/1.1{end}", body.len()).into_bytes();
            headers.iter().for_each(|header| bytes.extend(format!("{header}{end}").bytes()));
            match framing {
                0 => bytes
                    .extend([format!("Content-Length: {}{end}{end}", body.len()).as_bytes(), &body].concat()),
                1 => {
                    bytes.extend(format!("Transfer-Encoding: chunked{end}{end}").bytes());
                    for chunk in body.chunks(7) {
                        bytes.extend(
                            [format!("{:x};x{end}", chunk.len()).as_bytes(), chunk, end.as_bytes()].concat(),
                        );
                    }
                    bytes.extend(format!("0{end}A: b{end}{end}").bytes());
                }
                _ => bytes.extend(end.bytes()),
            }
            (bytes, body.len())
        },
    );
    vec(exchange, 1..6).prop_map(|exchanges| {
        let heads =
            exchanges.iter().enumerate().map(|(n, (_, length))| format!("{n} POST /{length}")).collect();
        (exchanges.into_iter().flat_map(|(bytes, _)| bytes).collect(), heads)
    })
}

proptest! {
    #[test]
    fn segmentation_changes_no_head(
        (bytes, heads) in exchanges(),
        cuts in vec(any::<prop::sample::Index>(), 0..40),
        bytewise in any::<bool>(),
    ) {
        let mut recorder = new_recorder();
        let mut start = 0;
        for end in cuts.iter().map(|cut| cut.index(bytes.len())).collect::<std::collections::BTreeSet<_>>() {
            recorder.requests(&bytes[start..end]);
            start = end;
        }
        let step = if bytewise { 1 } else { bytes.len() };
        bytes[start..].chunks(step).for_each(|piece| { recorder.requests(piece); });
        prop_assert_eq!(&recorder.heads, &heads);
        prop_assert_eq!(recorder.counters, Http1Counters::default());
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        pieces in vec((any::<bool>(), prop_oneof![
            vec(any::<u8>(), 0..40),
            "(GET|CONNECT|HEAD) /[ -~]{0,5} HTTP/1.1\r?\n".prop_map(String::into_bytes),
            "HTTP/1.1 (101|200|204|[?]) x\r?\n".prop_map(String::into_bytes),
            "(Content-Length|Transfer-Encoding|Upgrade|A|): ?([0-9]{1,3}|chunked|h2c)\r?\n".prop_map(String::into_bytes),
            "\r?\n[0-9a-f]{0,2}(\r\n)?".prop_map(String::into_bytes),
        ]), 0..60),
        midstream in any::<bool>(),
    ) {
        let mut recorder = HeadRecorder::new(if midstream { Http1Connection::midstream() } else { Http1Connection::new() });
        for (is_request, bytes) in &pieces {
            let direction = if *is_request { Role::Request } else { Role::Response };
            if bytes.len() == 39 {
                recorder.connection.gap(direction, 5, &mut recorder.counters);
            }
            recorder.push(direction, bytes);
            let _ = (Request::parse(bytes), Response::parse(bytes));
        }
        prop_assert!(recorder.connection.buffered_bytes() <= 20_000);
    }

    /// Heads that httparse accepts give the same fields as in httparse.
    #[test]
    fn agrees_with_httparse_on_strict_heads(
        head in "[A-Z]{1,8} [!-~]{1,12} HTTP/1\\.[01](\r\n[!-~]{1,6}:[ \t]{0,2}[ -~]{0,9}){0,4}\r\n\r\n"
    ) {
        let mut headers = [httparse::EMPTY_HEADER; 8];
        let mut strict = httparse::Request::new(&mut headers);
        if let Ok(httparse::Status::Complete(len)) = strict.parse(head.as_bytes()) {
            let Parsed { value: request, consumed } = Request::parse(head.as_bytes()).unwrap().unwrap();
            prop_assert_eq!(consumed, len);
            prop_assert_eq!(request.method(), strict.method.unwrap().as_bytes());
            prop_assert_eq!(request.target(), strict.path.unwrap().as_bytes());
            prop_assert_eq!(request.version().to_string(), format!("1.{}", strict.version.unwrap()));
            let fields: Vec<_> = request.headers().iter().map(|header| (header.name, header.value())).collect();
            let expected: Vec<_> = strict.headers.iter().map(|header| (header.name.as_bytes(), header.value)).collect();
            prop_assert_eq!(fields, expected);
        }
    }
}
