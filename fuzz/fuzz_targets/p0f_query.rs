//! Parses any bytes as queries and answers of the p0f socket: accepted bytes are written back unchanged.
#![no_main]

use huginn_net::p0f::{P0fAnswer, P0fQuery};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(query) = data.first_chunk().and_then(P0fQuery::parse) {
        assert_eq!(P0fQuery::parse(&query.to_bytes()), Some(query));
    }
    if let Some(answer) = data.first_chunk().and_then(P0fAnswer::parse) {
        assert_eq!(P0fAnswer::parse(&answer.to_bytes()), Some(answer));
    }
});
