//! Feeds any bytes as a key log, as Decryption Secrets Blocks of a capture, and as both sides of a connection whose secrets are known,
//! in pieces of the length in the first byte. Memory stays within its limits, and pieces yield the same plaintext as the whole, up to
//! an error.
#![no_main]

use std::io::Cursor;

use huginn_net_capture::CaptureReader;
use huginn_net_decrypt::{PlaintextReader, Secrets, SessionReader, Side, TlsDecryptor};
use libfuzzer_sys::fuzz_target;

const CLIENT: &[u8] = include_bytes!("../../huginn-net-decrypt/recordings/tls13/client");
const SERVER: &[u8] = include_bytes!("../../huginn-net-decrypt/recordings/tls13/server");
const KEYS: &[u8] = include_bytes!("../../huginn-net-decrypt/recordings/tls13/keys.log");

#[derive(Debug, Default, PartialEq)]
struct Plaintext([Vec<u8>; 2]);

impl PlaintextReader for Plaintext {
    fn on_data(&mut self, side: Side, bytes: &[u8]) {
        let Self([client, server]) = self;
        side.choose(client, server).extend_from_slice(bytes);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some(([piece_len, at, ..], bytes)) = data.split_first_chunk::<3>() else { return };
    let secrets = Secrets::with_max(8);
    let summary = secrets.add_key_log(bytes);
    assert!(secrets.len() <= 8 && summary.secrets + summary.malformed <= bytes.len() as u64);
    if let Ok(capture) = CaptureReader::from_reader("fuzz", Cursor::new(bytes.to_vec())) {
        capture.has_secrets(None);
        let _ = capture.read_key_logs(|text| {
            secrets.add_key_log(text);
        });
    }
    let secrets = Secrets::new();
    secrets.add_key_log(KEYS);
    secrets.add_key_log(bytes);
    // A prefix of the real connection, and then any bytes.
    let cut =
        |recorded: &'static [u8]| recorded.get(..recorded.len() * usize::from(*at).max(8) / 255).unwrap();
    let client = [cut(CLIENT), bytes].concat();
    let server = [cut(SERVER), bytes].concat();
    let (whole, has_failed) = read(&client, &server, usize::MAX, &secrets);
    let (pieces, pieces_have_failed) = read(&client, &server, usize::from(*piece_len).max(1), &secrets);
    // Malformed records of one side end both, sooner or later in the data of the other.
    for (one, other) in whole.0.iter().zip(&pieces.0) {
        assert!(one.starts_with(other) || other.starts_with(one));
    }
    assert!(has_failed || pieces_have_failed || whole == pieces);
    // The secrets come when all bytes were read.
    let (late, mut decryptor, mut plaintext) = (Secrets::new(), TlsDecryptor::new(), Plaintext::default());
    late.set_growing(true);
    for (side, bytes) in [(Side::Client, &client), (Side::Server, &server)] {
        let _ = decryptor.push(side, bytes, &late, &mut plaintext);
        assert!(decryptor.buffered_bytes() < 1 << 20);
    }
    late.add_key_log(KEYS);
    late.add_key_log(bytes);
    decryptor.end(&late, &mut plaintext);
    for (one, other) in whole.0.iter().zip(&plaintext.0) {
        assert!(one.starts_with(other) || other.starts_with(one));
    }
});

/// The plaintext of both sides, and whether the decryption failed.
fn read(client: &[u8], server: &[u8], len: usize, secrets: &Secrets) -> (Plaintext, bool) {
    let (mut decryptor, mut plaintext) = (TlsDecryptor::new(), Plaintext::default());
    let mut sessions = SessionReader::new();
    for (side, bytes) in [(Side::Client, client), (Side::Server, server)] {
        for piece in bytes.chunks(len.min(bytes.len()).max(1)) {
            if let Some(connection) = sessions.push(side, piece) {
                secrets.add_sessions(&[connection]);
            }
            assert!(sessions.buffered_bytes() < 1 << 20);
            let outcome = decryptor.push(side, piece, secrets, &mut plaintext);
            assert!(decryptor.buffered_bytes() < 1 << 20);
            if outcome.is_err() {
                assert_eq!(decryptor.buffered_bytes(), 0);
                return (plaintext, true);
            }
        }
    }
    (plaintext, false)
}
