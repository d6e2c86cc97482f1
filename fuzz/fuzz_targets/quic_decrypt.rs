//! Feeds any bytes as datagrams of both sides of a QUIC connection whose secrets are known, each after its sender and length. Memory
//! stays within its limits.
#![no_main]

use huginn_net_decrypt::{QuicDecryptor, QuicReader, SecretLabel, Secrets, Side};
use libfuzzer_sys::fuzz_target;

/// A datagram of a client with version 1 and the connection id 09090909.
const INITIAL: [u8; 24] = [0xc0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 4, 9, 9, 9, 9, 0, 3, 0, 0, 0];

struct Reader;

impl QuicReader for Reader {
    fn on_stream(&mut self, _: Side, _: u64, _: &[u8]) {}
}

fuzz_target!(|data: &[u8]| {
    let secrets = Secrets::with_max(8);
    // With the second bit of a sender, a secret comes.
    secrets.set_growing(data.len().is_multiple_of(2));
    let mut labels =
        [SecretLabel::ClientEarly, SecretLabel::ServerHandshake, SecretLabel::ServerApplication].into_iter();
    let Some(mut connection) = QuicDecryptor::new(Side::Client, &INITIAL, &[7; 32]) else { return };
    let _ = QuicDecryptor::new(Side::Client, data, &[7; 32]);
    let mut parts = data;
    while let [head, len, rest @ ..] = parts {
        let (datagram, rest) = rest.split_at_checked(usize::from(*len)).unwrap_or((rest, &[]));
        parts = rest;
        if head & 2 != 0 {
            labels.next().into_iter().for_each(|label| _ = secrets.insert(label, &[7; 32], &[1; 32]));
        }
        let side = if head & 1 == 0 { Side::Client } else { Side::Server };
        connection.push(side, datagram, &secrets, &mut Reader);
        assert!(connection.buffered_bytes() < 1 << 20);
    }
    connection.finish(&secrets, &mut Reader);
});
