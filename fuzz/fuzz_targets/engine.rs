//! Analyses any bytes as a capture file, with host profiles: a second run and runs with several workers report the
//! same.
#![no_main]

use std::io::Cursor;

use huginn_net::hosts::JsonHost;
use huginn_net::observers::Scope;
use huginn_net::p0f::P0fLine;
use huginn_net::record::JsonEvent;
use huginn_net::{CaptureReader, Configure, Event, HuginnNet, Observers};
use libfuzzer_sys::fuzz_target;

/// Worker counts to compare with one worker, and their block sizes: one frame, or a few.
const PARALLEL: [(usize, usize); 2] = [(2, 1), (3, 1 << 10)];

fuzz_target!(|data: &[u8]| {
    for scope in [Scope::Full, Scope::P0f] {
        let builder = || HuginnNet::builder_with(Observers::default().scope(scope).profiles(true));
        let mut analyzer = builder().build();
        let first = lines(&mut analyzer, data);
        assert_eq!(first, lines(&mut analyzer, data));
        for (workers, block_bytes) in PARALLEL {
            let mut analyzer = builder().workers(workers).block_bytes(block_bytes).build();
            assert_eq!(first, lines(&mut analyzer, data), "{workers} workers");
        }
    }
});

/// Returns all that the analyzer reports about a capture.
fn lines(analyzer: &mut HuginnNet, data: &[u8]) -> Vec<String> {
    analyzer.shared_state_mut().clear();
    let mut lines = Vec::new();
    if let Ok(capture) = CaptureReader::from_reader("fuzz", Cursor::new(data.to_vec())) {
        let outcome = analyzer.analyze(capture, &mut |event: Event| lines.push(line(&event)));
        lines.extend(outcome.err().map(|error| error.to_string()));
    }
    for host in analyzer.shared_state().profiles() {
        let mut text = Vec::new();
        JsonHost::new(host).write_to(&mut text);
        lines.push(String::from_utf8(text).unwrap());
    }
    lines
}

/// Renders an event in both formats.
fn line(event: &Event) -> String {
    let p0f: String = P0fLine::lines_from_event(event).map(|line| line.to_string()).collect();
    p0f + &JsonEvent::new(event).to_string()
}
