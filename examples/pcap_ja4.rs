//! The JA4 and server name of each TLS client in a capture file, with the crate for TLS alone.
//!
//! `cargo run -p huginn-net-tls --example pcap_ja4 captures/tls/tls-go/tls-go.pcap`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::error::Error;

use huginn_net_capture::CaptureReader;
use huginn_net_tls::{HuginnNetTls, TlsEvent};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: CAPTURE")?;
    HuginnNetTls::builder().build().analyze(CaptureReader::open(path)?, |event| {
        if let TlsEvent::Client(client) = event.kind {
            let name = client.hello.server_name().unwrap_or(b"-");
            println!("{} {} {}", event.flow.client, client.hello.ja4(), name.escape_ascii());
        }
    })?;
    Ok(())
}
