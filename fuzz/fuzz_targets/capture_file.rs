//! Reads any bytes as a capture file: reading ends, and an error is the last result. Reading with processes gives as many
//! frames.
#![no_main]

use std::io::Cursor;

use huginn_net_capture::CaptureReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(mut capture) = CaptureReader::from_reader("fuzz", Cursor::new(data.to_vec())) else { return };
    let mut frames = 0;
    let outcome = loop {
        match capture.read_frame() {
            Ok(Some(_)) => frames += 1,
            end => break end.map(|_| ()),
        }
    };
    if let Err(error) = outcome {
        assert!(!error.to_string().is_empty());
    }
    assert_eq!(capture.packets(), frames);
    assert!(matches!(capture.read_frame(), Ok(None)), "it ends once");

    let Ok(mut capture) = CaptureReader::from_reader("fuzz", Cursor::new(data.to_vec())) else { return };
    while let Ok(Some(labelled)) = capture.read_labelled_frame() {
        if let Ok(Some(process)) = labelled.process {
            assert!(!process.name.is_empty());
        }
    }
    assert_eq!(capture.packets(), frames);
});
