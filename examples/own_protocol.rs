//! A protocol of the program's own, the greetings of FTP servers, beside the built-in ones.
//!
//! `cargo run -p huginn-net --example own_protocol CAPTURE`
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::ops::RangeInclusive;

use huginn_net::core::{PrefixObserver, PrefixParse, StreamPrefix};
use huginn_net::record::JsonEvent;
use huginn_net::{CaptureReader, Configure, HuginnNet, Side, own_event};

/// The greeting of an FTP server (RFC 959, section 5.4).
#[derive(Debug, serde::Serialize)]
struct Greeting {
    greeting: String,
}

own_event!(Greeting = "ftp_server");

impl StreamPrefix for Greeting {
    const SENDER: Side = Side::Server;
    const LEN: RangeInclusive<usize> = 3..=512;

    fn parse(prefix: &[u8]) -> PrefixParse<Self> {
        let line = prefix.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if !prefix.starts_with(b"220") {
            PrefixParse::NotForUs
        } else if line.len() == prefix.len() {
            PrefixParse::NeedMore
        } else {
            PrefixParse::Event(Self { greeting: String::from_utf8_lossy(line).trim_end().to_owned() })
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let capture = std::env::args().nth(1).ok_or("usage: own_protocol CAPTURE")?;
    let mut analyzer = HuginnNet::builder().with(PrefixObserver::<Greeting>::default()).build();
    analyzer.analyze(CaptureReader::open(capture)?, |event| {
        println!("{}", JsonEvent::new(&event));
    })?;
    Ok(())
}
