//! Feeds any bytes as the streams of an HTTP/3 connection, in parts of a sender, a stream and a length, with the first byte as the
//! length of pieces: pieces give the same as the whole, and buffers stay bounded.
#![no_main]

use huginn_net_http::Role;
use huginn_net_http::http3::{Http3Connection, Http3Event};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((cut, bytes)) = data.split_first() else { return };
    assert_eq!(read(bytes, usize::from(*cut).max(1)), read(bytes, usize::MAX));
});

fn read(mut parts: &[u8], step: usize) -> Vec<Http3Event> {
    let (mut connection, mut events) = (Http3Connection::new(), Vec::new());
    while let [head, len, rest @ ..] = parts {
        let sender = if head & 1 == 0 { Role::Request } else { Role::Response };
        let stream = u64::from(head >> 1 & 0x0f);
        let (bytes, rest) = rest.split_at_checked(usize::from(*len)).unwrap_or((rest, &[]));
        parts = rest;
        if head & 0x80 != 0 {
            connection.end(sender, stream);
        }
        for piece in bytes.chunks(step.min(bytes.len()).max(1)) {
            if connection.reads(sender, stream) {
                connection.push(sender, stream, piece, &mut |event| events.push(event));
            }
        }
        assert!(connection.buffered_bytes() < 1 << 20);
    }
    events
}
