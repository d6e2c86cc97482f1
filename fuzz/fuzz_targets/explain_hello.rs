//! Explains any bytes as a hello in hexadecimal digits: lines are printable and bounded, and separators between digits change nothing.
#![no_main]

use huginn_net::explain::{Fingerprint, FingerprintError};
use huginn_net_db::{ClientDatabase, Database};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let digits: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    let separated: String = data.iter().map(|byte| format!("{byte:02X}: \n")).collect();
    let found = explained(&digits);
    // Text of other fingerprints has no separators.
    if let Ok(text) = &found
        && text.contains("Hello of ")
    {
        assert_eq!(found.as_ref().ok(), explained(&separated).ok().as_ref());
        // A number of two bytes has a line, and a name of at most 64 bytes.
        assert!(text.len() <= 128 * data.len() + 8192, "{} of {} bytes", text.len(), data.len());
    }
});

fn explained(text: &str) -> Result<String, FingerprintError> {
    let fingerprint: Fingerprint = text.parse()?;
    let mut out = Vec::new();
    fingerprint.describe(&mut out, ClientDatabase::builtin(), Database::builtin()).expect("memory");
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.chars().all(|character| character == '\n' || !character.is_control()), "{text:?}");
    Ok(text)
}
