//! Hellos in TCP streams with any segmentation, order and preamble.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod connection;
mod dialogues;
mod limits;
#[path = "../../../../huginn-net-core/tests/packet/mod.rs"]
mod packet;

use huginn_net_core::Side;
use proptest::prelude::*;

use self::connection::{
    CURL, CURL_JA4, Connection, RETRY, long_hello, message, one_client, records, server_hello,
};

#[test]
fn any_cut_and_order_finds_hello() {
    for cut in 1..CURL.len() {
        for swapped in [false, true] {
            let mut connection = Connection::open([u32::MAX - 100, 7]);
            let mut pieces = [(0, &CURL[..cut]), (cut, &CURL[cut..])];
            if swapped {
                pieces.reverse();
            }
            for (offset, piece) in pieces {
                connection.segment(Side::Client, offset, 0, piece);
            }
            assert_eq!(connection.found(), one_client(), "cut at {cut}, swapped: {swapped}");
        }
    }
}

proptest! {
    /// Splits the stream in any way and order, with repeated and overlapping pieces, wrapping sequence numbers and a
    /// preamble.
    #[test]
    fn segmentation_order_and_repetition_change_nothing(
        first in any::<u32>(),
        step in 1..1600_usize,
        in_records in 1..700_usize,
        preamble in prop::sample::select(vec![&b""[..], b"CONNECT a.example:443 HTTP/1.1\r\n\r\n", b"PROXY UNKNOWN\r\n"]),
        extra in prop::collection::vec((any::<prop::sample::Index>(), 1..300_usize), 0..12),
        order in prop::collection::vec(any::<u32>(), 1200),
    ) {
        let stream = [preamble, &records(&CURL[5..], in_records)].concat();
        let mut pieces: Vec<(usize, &[u8])> =
            stream.chunks(step).enumerate().map(|(n, piece)| (n * step, piece)).collect();
        pieces.extend(extra.iter().map(|(start, len)| {
            let start = start.index(stream.len());
            (start, &stream[start..stream.len().min(start + len)])
        }));
        let mut keyed: Vec<_> = pieces.into_iter().zip(order.into_iter().cycle()).collect();
        keyed.sort_by_key(|(_, key)| *key);
        let mut connection = Connection::open([first, 0]);
        for ((offset, piece), _) in keyed {
            connection.segment(Side::Client, offset, 0, piece);
        }
        prop_assert_eq!(connection.found(), one_client());
    }

    /// Arbitrary input never panics, and buffered bytes stay limited.
    #[test]
    fn arbitrary_bytes_never_panic(
        segments in prop::collection::vec(
            (any::<bool>(), 0..300_000_usize, 0..300_000_usize, prop::collection::vec(any::<u8>(), 0..200)), 0..60
        ),
        head in prop::sample::select(vec![&b""[..], &[22, 3, 1, 2, 0, 1, 0], &[0x80, 0x2e, 1, 3, 1], &[22, 3, 3, 0, 1]]),
    ) {
        let mut connection = Connection::open([1, 2]);
        connection.segment(Side::Client, 0, 0, head);
        for (server, offset, acknowledged, bytes) in segments {
            let side = if server { Side::Server } else { Side::Client };
            connection.segment(side, offset, acknowledged, &bytes);
        }
        prop_assert!(connection.counters().0.flows.buffered_bytes < 1 << 20);
    }
}

#[test]
fn hello_may_span_many_records() {
    for (len, step) in [(20_000, 1 << 14), (65_000, 1 << 14), (2_000, 1), (100_000, 1)] {
        let mut connection = Connection::open([0, 0]);
        connection.send_data(Side::Client, 0, 0, &records(&long_hello(len), step));
        assert_eq!(connection.found().len(), 1, "{len} bytes in records of {step}");
    }
}

#[test]
fn second_hello_after_retry_request_is_retry() {
    let mut connection = Connection::open([0, 0]);
    let ccs = [20, 3, 3, 0, 1, 1];
    connection.segment(Side::Client, 0, 0, CURL);
    let retry = server_hello(RETRY);
    connection.segment(Side::Server, 0, CURL.len(), &retry);
    connection.segment(Side::Client, CURL.len(), retry.len(), &ccs);
    connection.segment(Side::Client, CURL.len() + ccs.len(), retry.len(), CURL);
    connection.segment(Side::Server, retry.len(), 0, &server_hello([5; 32]));
    let [client, server] = [CURL_JA4, "1301"].map(str::to_owned);
    let expected = [
        (Side::Client, client.clone(), false),
        (Side::Server, server.clone(), true),
        (Side::Client, client, true),
        (Side::Server, server, false),
    ];
    assert_eq!(connection.found(), expected);
}

#[test]
fn second_hello_without_request_is_no_retry() {
    let alert = [21, 3, 3, 0, 2, 2, 40];
    for (answer, retry) in [(&alert[..], false), (&[], true)] {
        let mut connection = Connection::open([0, 0]);
        connection.segment(Side::Client, 0, 0, CURL);
        if !answer.is_empty() {
            connection.segment(Side::Server, 0, CURL.len(), answer);
        }
        connection.segment(Side::Client, CURL.len(), answer.len(), CURL);
        let found = [one_client(), vec![(Side::Client, CURL_JA4.to_owned(), retry)]].concat();
        assert_eq!(connection.found(), found, "answer {answer:02x?}");
    }
}

/// Builds a hello with the extension early_data (RFC 8446, section 4.2.10).
fn early_hello() -> Vec<u8> {
    let body = [&[3, 3][..], &[7; 32], &[0, 0, 2, 0x13, 0x01, 1, 0, 0, 4, 0, 42, 0, 0]].concat();
    records(&message(1, &body), 1 << 14)
}

#[test]
fn early_data_does_not_hide_second_hello() {
    // More than is searched after data that no hello announced.
    let data = [&[23, 3, 3, 0x3e, 0x80][..], &[0xaa; 16_000]].concat().repeat(5);
    for (hello, hellos) in [(early_hello(), 2), (CURL.to_vec(), 1)] {
        let mut connection = Connection::open([0, 0]);
        connection.send_data(Side::Client, 0, 0, &[&hello[..], &data, &hello].concat());
        assert_eq!(connection.found().len(), hellos);
    }
}

/// A stateless server answers a retransmitted SYN with another sequence number (RFC 4987, section 3.6).
#[test]
fn last_syn_ack_defines_server_start() {
    let mut connection = Connection::open([99, 4_000_000_000]);
    connection.first = [99, 1_234_567];
    connection.syns();
    connection.segment(Side::Client, 0, 0, CURL);
    connection.segment(Side::Server, 0, CURL.len(), &server_hello([5; 32]));
    assert_eq!(connection.found(), [one_client(), vec![(Side::Server, "1301".to_owned(), false)]].concat());
}

#[test]
fn first_record_version_is_ignored() {
    for version in [[3, 5], [3, 0x7f], [2, 0], [0, 0]] {
        for step in [1, 3, 1400] {
            let mut hello = CURL.to_vec();
            hello[1..3].copy_from_slice(&version);
            let mut connection = Connection::open([0, 0]);
            for (n, piece) in hello.chunks(step).enumerate() {
                connection.segment(Side::Client, n * step, 0, piece);
            }
            assert_eq!(connection.found(), one_client(), "{version:02x?} in steps of {step}");
        }
    }
}
