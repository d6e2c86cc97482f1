//! Feeds any bytes as the stream of an SSH client or server, in pieces of the length in the first byte. Pieces yield
//! the same messages as the whole, buffers stay within their limit, owned messages equal borrowed ones, and HASSH
//! fits its text.
#![no_main]

use huginn_net_ssh::{
    HasshAlgorithms, Identification, KexInit, MAX_LINE_LEN, MAX_PACKET_LEN, Parsed, SshError, SshMessage,
    SshReader,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((piece_len, bytes)) = data.split_first() else { return };
    let complete = read([bytes]);
    assert_eq!(read(bytes.chunks(usize::from(*piece_len).max(1))), complete);
    assert_eq!(parse(bytes), complete);
    if let Ok(kex_init) = KexInit::from_payload(bytes) {
        check(&kex_init);
    }
});

/// The messages in these pieces, and whether they ended in an error.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<SshMessage<'static>>, bool) {
    let (mut reader, mut messages) = (SshReader::new(), Vec::new());
    for piece in pieces {
        let outcome = reader.push(piece, &mut |message| match message {
            SshMessage::Identification(line) => {
                assert!(line.as_bytes().len() < MAX_LINE_LEN);
                messages.push(SshMessage::Identification(line.into_owned()));
            }
            SshMessage::KexInit(kex_init) => {
                check(&kex_init);
                messages.push(SshMessage::KexInit(kex_init.into_owned()));
            }
            _ => {}
        });
        assert!(reader.buffered_bytes() <= 2 * MAX_PACKET_LEN);
        if outcome.is_err() {
            assert!(reader.is_done());
            return (messages, true);
        }
    }
    (messages, false)
}

/// The same by the parsers of whole messages.
fn parse(bytes: &[u8]) -> (Vec<SshMessage<'static>>, bool) {
    let mut messages = Vec::new();
    let mut parse = || {
        let Some(Parsed { value: identification, consumed }) = Identification::parse(bytes)? else {
            return Ok(());
        };
        let is_version_1 = identification.is_version_1();
        messages.push(SshMessage::Identification(identification.into_owned()));
        if is_version_1 {
            return Ok(());
        }
        let kex_init = KexInit::parse(&bytes[consumed..])?;
        messages.extend(kex_init.map(|kex_init| SshMessage::KexInit(kex_init.value.into_owned())));
        Ok::<_, SshError>(())
    };
    let failed = parse().is_err();
    (messages, failed)
}

fn check(kex_init: &KexInit<'_>) {
    assert_eq!(&kex_init.clone().into_owned(), kex_init);
    assert_eq!(KexInit::from_payload(kex_init.as_bytes()).as_ref(), Ok(kex_init));
    for algorithms in [HasshAlgorithms::from_client(kex_init), HasshAlgorithms::from_server(kex_init)] {
        let text = algorithms.to_bytes();
        assert!(text.iter().filter(|byte| **byte == b';').count() >= 3 && text.len() < MAX_PACKET_LEN);
        assert_eq!(algorithms.hash().to_string().len(), 32);
    }
}
