//! Parsers from bytes: mutated inputs, and time by the length of the input.
#![allow(clippy::arithmetic_side_effects, clippy::unwrap_used, reason = "a test may panic")]

use huginn_net_ssh::{
    BinaryPacket, HasshAlgorithms, Identification, KexInit, MAX_PACKET_LEN, Negotiation, SshReader,
};

use crate::parser_tests::{assert_linear, mutated};

const STREAMS: [&[u8]; 3] = [
    include_bytes!("../../streams/openssh-client.bin"),
    include_bytes!("../../streams/openssh-server.bin"),
    include_bytes!("../../streams/dropbear-client.bin"),
];

fn read(bytes: &[u8]) {
    let mut reader = SshReader::new();
    assert!(bytes.chunks(1).all(|piece| reader.push(piece, &mut |_| {}).unwrap().needs_more()));
}

#[test]
fn reader_is_linear() {
    let lines = |len: usize| b"welcome to this host\r\n".repeat(len);
    assert_linear("lines", 3, lines, read);
    // A packet that is never complete.
    let packet = |len: usize| {
        let announced = u32::try_from(MAX_PACKET_LEN - 4).unwrap();
        [b"SSH-2.0-a\r\n", &announced.to_be_bytes()[..], &[4, 20], &vec![0; len]].concat()
    };
    assert_linear("packet", 2000, packet, read);
}

#[test]
fn mutated_streams_are_read_alike_in_pieces() {
    mutated(&STREAMS, |bytes| {
        let outcome = |step: usize| {
            let (mut reader, mut messages) = (SshReader::new(), Vec::new());
            let failed = bytes.chunks(step).any(|piece| {
                reader.push(piece, &mut |message| messages.push(format!("{message:?}"))).is_err()
            });
            (messages, failed)
        };
        assert_eq!(outcome(1), outcome(bytes.len().max(1)));
        let _ = Identification::parse(bytes);
        let _ = (KexInit::parse(bytes), BinaryPacket::parse(bytes), KexInit::from_payload(bytes));
        let Ok(Some(identification)) = Identification::parse(bytes) else { return };
        let Some(rest) = bytes.get(identification.consumed..) else { return };
        if let Ok(Some(kex_init)) = KexInit::parse(rest) {
            let kex_init = kex_init.value;
            let _ = HasshAlgorithms::from_client(&kex_init).hash();
            let _ = Negotiation::new(&kex_init, &kex_init).into_owned();
        }
    });
}
