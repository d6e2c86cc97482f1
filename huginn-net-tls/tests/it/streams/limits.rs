//! Limits and cost of the search for hellos.

use huginn_net_core::{FlowLimits, Side};
use huginn_net_tls::HuginnNetTls;

use super::connection::{CURL, Connection, RETRY, long_hello, one_client, records, server_hello};

#[test]
fn abandons_gap_beyond_buffer_limit() {
    let mut connection = Connection::open([0, 0]);
    let data = vec![0; 130_000];
    connection.send_data(Side::Client, 10, 0, &data);
    assert_eq!(connection.counters().1.streams.gaps, 1);
    assert!(connection.counters().0.flows.buffered_bytes < 1 << 18);
}

#[test]
fn incomplete_hellos_are_bounded() {
    let mut connection = Connection::midstream([0, 0]);
    let limits = FlowLimits::default().max_buffered_bytes(1 << 20);
    connection.analyzer = HuginnNetTls::builder().flow_limits(limits).build();
    for n in 0..5000_u16 {
        connection.client = ([10, 0, (n >> 8) as u8, n as u8], 40_000);
        connection.syns();
        connection.segment(Side::Client, 0, 0, &records(&long_hello(60_000), 1 << 14)[..1400]);
    }
    let counters = connection.counters().0;
    assert!(counters.flows.buffered_bytes <= 1 << 20, "{counters:?}");
    assert!(counters.flows.evicted_for_memory > 4000, "{counters:?}");
    connection.segment(Side::Client, 1400, 0, &records(&long_hello(60_000), 1 << 14)[1400..2800]);
    assert_eq!(connection.found(), []);
}

#[test]
fn stops_search_after_64_kib() {
    for (len, given_up) in [(65_000, 0), (66_000, 2)] {
        let mut connection = Connection::open([0, 0]);
        for side in [Side::Client, Side::Server] {
            connection.send_data(side, 0, 0, &vec![0x16; len]);
        }
        assert_eq!(connection.counters().1.parser.search.given_up, given_up);
        connection.segment(Side::Client, len, len, CURL);
        connection.segment(Side::Server, len, len + CURL.len(), b"");
        let is_found = given_up == 0;
        assert_eq!(connection.found(), if is_found { one_client() } else { vec![] });
        assert_eq!(connection.counters().0.flows.buffered_bytes == 0, !is_found);
    }
}

#[test]
fn counts_malformed_and_incomplete_hellos() {
    let mut cut = CURL.to_vec();
    // The session id is longer than the message.
    cut[5 + 4 + 2 + 32..][..2].copy_from_slice(&[0xff, 0xff]);
    cut[3..9].copy_from_slice(&[0, 44, 1, 0, 0, 40]);
    cut.truncate(5 + 44);
    let mut connection = Connection::open([0, 0]);
    connection.segment(Side::Client, 0, 0, &cut);
    assert_eq!(connection.counters().1.parser.search.malformed, 1);
    connection.segment(Side::Client, cut.len(), 0, CURL);
    assert_eq!(connection.found(), one_client(), "the search continues after the malformed hello");

    let too_long = [CURL, &[22, 3, 3, 0, 4, 1, 0xff, 0xff, 0xff]].concat();
    let mut connection = Connection::open([0, 0]);
    connection.segment(Side::Client, 0, 0, &too_long);
    assert_eq!((connection.found(), connection.counters().1.parser.search.malformed), (one_client(), 1));

    let mut connection = Connection::open([0, 0]);
    let warnings = [21, 3, 3, 0, 2, 1, 112].repeat(80_000);
    let stream = [&records(&long_hello(60_000), 1 << 14)[..1000], &[0; 15_389], &warnings].concat();
    connection.send_data(Side::Client, 0, 0, &stream);
    assert_eq!((connection.found(), connection.counters().1.parser.search.given_up), (vec![], 1));
    assert_eq!(connection.counters().1.parser.search.malformed, 0);
}

/// A message of 64 KiB in one-byte records, in which every fifth record resembles the start of a hello.
#[test]
fn nested_false_starts_take_linear_time() {
    let message: Vec<u8> = [1, 0, 0xff, 0xff, 3].repeat(12_000);
    let stream = [records(&message, 1), vec![0; 7]].concat();
    let start_time = std::time::Instant::now();
    for _ in 0..10 {
        let mut connection = Connection::open([0, 0]);
        for (n, piece) in stream.chunks(60_000).enumerate() {
            connection.segment(Side::Client, n * 60_000, 0, piece);
        }
        assert_eq!(connection.found(), []);
    }
    assert!(start_time.elapsed().as_secs() < 10, "{:?}", start_time.elapsed());
}

#[test]
fn reported_hellos_are_limited() {
    let mut connection = Connection::open([0, 0]);
    connection.send_data(Side::Client, 0, 0, &CURL.repeat(50));
    assert_eq!(connection.found().len(), 16);
    assert_eq!(connection.counters().1.parser.search.given_up, 1);
    let mut connection = Connection::open([0, 0]);
    connection.send_data(Side::Server, 0, 0, &server_hello(RETRY).repeat(50));
    assert_eq!(connection.found().len(), 16);
}
