//! Feeds any bytes as both sides of an HTTP/1 connection: buffers stay bounded.
#![no_main]

use huginn_net_http::Role;
use huginn_net_http::http1::{Http1Connection, Http1Counters};
use libfuzzer_sys::fuzz_target;

// Each piece follows a byte with its side (lowest bit), whether bytes are missing before it (next bit), and its
// length.
fuzz_target!(|data: &[u8]| {
    let (mut connection, mut counters) = (Http1Connection::new(), Http1Counters::default());
    let mut rest = data;
    while let Some((&what, bytes)) = rest.split_first() {
        let direction = if what & 1 == 0 { Role::Request } else { Role::Response };
        let (piece, after) = bytes.split_at(bytes.len().min(usize::from(what >> 2) * 4 + 1));
        if what & 2 != 0 {
            connection.gap(direction, u64::from(what), &mut counters);
        }
        connection.push(direction, piece, &mut counters, &mut |_, _| {});
        assert!(connection.buffered_bytes() <= 1 << 20);
        rest = after;
    }
});
