//! Feeds any bytes as one side of an HTTP/2 connection, in pieces of the length in the first byte: segmentation
//! changes nothing, and buffers stay bounded.
#![no_main]

use huginn_net_http::http2::{Http2Event, Http2Reader, PREFACE};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((cut, bytes)) = data.split_first() else { return };
    let step = usize::from(*cut).max(1);
    for reader in [client, Http2Reader::server] {
        assert_eq!(read(reader(), bytes, step), read(reader(), bytes, bytes.len().max(1)));
    }
});

fn client() -> Http2Reader {
    let mut reader = Http2Reader::client();
    reader.push(PREFACE, &mut |_| {}).expect("the preface");
    reader
}

fn read(mut reader: Http2Reader, bytes: &[u8], step: usize) -> (Vec<Http2Event>, bool) {
    let mut events = Vec::new();
    for piece in bytes.chunks(step) {
        let _ = reader.push(piece, &mut |event| events.push(event));
        assert!(reader.buffered_bytes() <= 320 * 1024);
    }
    (events, reader.is_done())
}
