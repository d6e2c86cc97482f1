//! Parses any bytes as a signature database, and queries those that are accepted.
#![no_main]

use huginn_net_db::Database;
use huginn_net_tcp::{Mtu, TcpSignature};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let database = match Database::from_bytes(data) {
        Ok(database) => database,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for text in [
        "4:61+3:0:1460:mss*44,7:mss,sok,ts,nop,ws:df,id+:0",
        "4:128+0:0:1460:8192,8:mss,nop,ws,nop,nop,sok:df,id+:0",
        "6:64+0:0:1440:mss*45,7:mss,sok,ts,nop,ws:flow:0",
        "4:255+0:0:0:1024,0:::0",
    ] {
        let signature: TcpSignature = text.parse().expect("a signature");
        let _ = database.match_syn(&signature).map(|found| found.label.to_string());
        let _ = database.match_syn_ack(&signature).map(|found| found.distance.to_string());
    }
    let _ = database.match_mtu(Mtu(1500));
    assert!(database.stats().labels <= data.len());
});
