//! Parses any text as a condition on events, and applies it to the events of a short capture.
#![no_main]

use std::sync::LazyLock;

use huginn_net::select::Selection;
use huginn_net::{CaptureReader, Event, HuginnNet};
use libfuzzer_sys::fuzz_target;

/// A few kinds of events.
static EVENTS: LazyLock<Vec<Event>> = LazyLock::new(|| {
    let capture = &include_bytes!("../../captures/tls/tls-curl/tls-curl.pcap")[..];
    let mut events = Vec::new();
    let reader = CaptureReader::from_reader("tls-curl", capture).unwrap();
    HuginnNet::builder().build().analyze(reader, |event| events.push(event)).unwrap();
    events
});

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match text.parse::<Selection>() {
        Ok(selection) => {
            let negated: Selection = match format!("not ({text})").parse() {
                Ok(negated) => negated,
                // One more pair of parentheses may be too deep.
                Err(error) => return assert!(error.to_string().contains("more than")),
            };
            for event in &*EVENTS {
                assert_ne!(selection.selects(event, None, None), negated.selects(event, None, None));
            }
        }
        Err(error) => assert!(error.position <= text.chars().count()),
    }
});
