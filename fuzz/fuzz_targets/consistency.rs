//! Checks the consistency of any bytes. The first three bytes cut them into SYN, TLS records and HTTP, in units of 16 bytes.
#![no_main]

use huginn_net::consistency::{ClientBytes, Outcome};
use huginn_net::{ClientDatabase, Database};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(([syn, tls, http], mut rest)) = data.split_first_chunk() else { return };
    let mut cut = |len: u8| {
        let (part, behind) = rest.split_at(rest.len().min(usize::from(len) * 16));
        rest = behind;
        Some(part).filter(|part| !part.is_empty())
    };
    let mut client = ClientBytes::default();
    (client.syn, client.tls, client.http) = (cut(*syn), cut(*tls), cut(*http));
    match client.check(Database::builtin(), ClientDatabase::builtin()) {
        Ok(found) => assert!(found.reasons.len() > 1 || found.outcome != Outcome::Imitation),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
