//! Parses any text as a table of clients and as a watch list, and queries those that are accepted.
#![no_main]

use huginn_net::watch::WatchLists;
use huginn_net_db::ClientDatabase;
use huginn_net_http::http2::AkamaiHash;
use huginn_net_tls::{ClientHello, Ja3Hash};
use libfuzzer_sys::fuzz_target;

const HELLO: &[u8] = include_bytes!("../../huginn-net-tls/hellos/curl-openssl.bin");

fuzz_target!(|data: &[u8]| {
    let hello = ClientHello::from_records(HELLO).ok().flatten().expect("a complete hello").value;
    let mut lists = WatchLists::default();
    if lists.add("list", data).is_ok() {
        assert!(lists.lookup_hello(&hello).len() <= data.len());
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let clients = match ClientDatabase::parse(text) {
        Ok(clients) => clients,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(clients.len() <= data.len());
    let _ = clients.match_hello(&hello).map(|found| found.software.to_string());
    let _ = clients.match_ja3(Ja3Hash([0; 16]));
    let _ = clients.match_akamai(AkamaiHash([0; 16]));
    let _ = clients.match_hassh([0; 16]);
    let _ = clients.match_http3(text);
});
