//! Any bytes as a capture file through the whole analyzer; a second run on the same analyzer says the same.
#![no_main]

use std::io::Cursor;

use huginn_net::{CaptureReader, Event, HuginnNet, JsonEvent, P0fLine};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut analyzer = HuginnNet::builder().build();
    let mut lines = || {
        let mut lines = Vec::new();
        if let Ok(capture) = CaptureReader::from_reader("fuzz", Cursor::new(data.to_vec())) {
            let _ = analyzer.analyze(capture, &mut |event: Event| lines.push(line(&event)));
        }
        lines
    };
    assert_eq!(lines(), lines());
});

/// Both formats of an event.
fn line(event: &Event) -> String {
    let p0f = P0fLine::of(event).map(|line| line.to_string());
    p0f.unwrap_or_default() + &JsonEvent { event, file: None }.to_string()
}
