//! A rule over typed events: a client whose JA4 is on a list, and the certificate that its server answered with.
//!
//! `cargo run -p huginn-net --example watch_rule CAPTURE JA4...`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::collections::HashMap;
use std::error::Error;

use huginn_net::observation::ConnectionEnd;
use huginn_net::{CaptureReader, Configure, HuginnNet, Observation, Side};

/// The packet of a client, its JA4, and the subject of the server's certificate.
type Match = (u64, String, String);

/// Returns a match for each listed client.
pub(crate) fn matches(capture: &str, listed: &[String]) -> Result<Vec<Match>, Box<dyn Error>> {
    let mut found = Vec::new();
    // The connections of listed clients, until their certificates come or they end.
    let mut open = HashMap::new();
    let mut analyzer = HuginnNet::builder().handshakes(true).connection_ends(true).build();
    analyzer.analyze(CaptureReader::open(capture)?, |event| match &event.kind {
        Observation::TlsClient(client) => {
            let ja4 = client.client.hello.ja4().to_string();
            if listed.contains(&ja4) {
                open.insert(event.connection(), (event.packet_number, ja4));
            }
        }
        Observation::TlsCertificates(observed) if event.subject == Side::Server => {
            let certificate = observed.certificates.certificates.first();
            let subject =
                certificate.and_then(|found| found.fields()?.subject.as_ref()).map(ToString::to_string);
            if let Some((packet, ja4)) = open.remove(&event.connection()) {
                found.push((packet, ja4, subject.unwrap_or_default()));
            }
        }
        Observation::Own(own) if own.get::<ConnectionEnd>().is_some() => _ = open.remove(&event.connection()),
        _ => {}
    })?;
    Ok(found)
}

#[allow(dead_code, reason = "a test calls matches")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [capture, listed @ ..] = &*arguments else { return Err("usage: watch_rule CAPTURE JA4...".into()) };
    for (packet, ja4, subject) in matches(capture, listed)? {
        println!("packet {packet}: {ja4}, certificate of {subject}");
    }
    Ok(())
}
