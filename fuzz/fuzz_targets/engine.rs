//! Any bytes as a capture file through the whole analyzer, with what it remembers of hosts; a second run on the same
//! analyzer says the same.
#![no_main]

use std::io::Cursor;

use huginn_net::json::{JsonEvent, JsonHost};
use huginn_net::p0f::P0fLine;
use huginn_net::{CaptureReader, Event, HuginnNet, Observers, Scope};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for scope in [Scope::Full, Scope::P0f] {
        let mut analyzer = HuginnNet::builder_with(Observers::default().scope(scope).profiles(true)).build();
        let first = lines(&mut analyzer, data);
        assert_eq!(first, lines(&mut analyzer, data));
    }
});

/// All that is told of a capture.
fn lines(analyzer: &mut HuginnNet, data: &[u8]) -> Vec<String> {
    analyzer.memory_mut().clear();
    let mut lines = Vec::new();
    if let Ok(capture) = CaptureReader::from_reader("fuzz", Cursor::new(data.to_vec())) {
        let _ = analyzer.analyze(capture, &mut |event: Event| lines.push(line(&event)));
    }
    for host in analyzer.memory().profiles() {
        let mut text = Vec::new();
        JsonHost { host, file: None }.write_to(&mut text);
        lines.push(String::from_utf8(text).unwrap());
    }
    lines
}

/// Both formats of an event.
fn line(event: &Event) -> String {
    let p0f = P0fLine::of(event).map(|line| line.to_string());
    p0f.unwrap_or_default() + &JsonEvent { event, file: None }.to_string()
}
