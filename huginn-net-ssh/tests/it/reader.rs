//! The reader of one direction, with recorded and hostile bytes.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use huginn_net_ssh::{
    BinaryPacket, Identification, KexInit, MAX_LINE_LEN, MAX_PACKET_LEN, MAX_PACKETS_BEFORE_KEX_INIT, Parsed,
    Progress, SshError, SshMessage, SshReader, message,
};
use proptest::prelude::*;

const STREAMS: [&[u8]; 3] = [
    include_bytes!("../../streams/openssh-client.bin"),
    include_bytes!("../../streams/openssh-server.bin"),
    include_bytes!("../../streams/dropbear-client.bin"),
];

/// Returns the messages in these pieces, and whether the reader failed.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<SshMessage<'static>>, bool) {
    let (mut reader, mut messages) = (SshReader::new(), Vec::new());
    for piece in pieces {
        let outcome = reader.push(piece, &mut |message| {
            messages.push(match message {
                SshMessage::Identification(line) => SshMessage::Identification(line.into_owned()),
                SshMessage::KexInit(kex_init) => SshMessage::KexInit(kex_init.into_owned()),
                _ => panic!("another message"),
            });
        });
        assert!(reader.buffered_bytes() <= 2 * MAX_PACKET_LEN, "{} bytes", reader.buffered_bytes());
        if outcome.is_err() {
            assert!(reader.is_done());
            return (messages, true);
        }
    }
    (messages, false)
}

/// Splits bytes at these positions.
fn cut(bytes: &[u8], mut cuts: Vec<prop::sample::Index>) -> Vec<&[u8]> {
    let mut at: Vec<usize> = cuts.drain(..).map(|cut| cut.index(bytes.len() + 1)).collect();
    at.sort_unstable();
    let (mut pieces, mut rest, mut start) = (Vec::new(), bytes, 0);
    for end in at {
        let (piece, after) = rest.split_at(end - start);
        pieces.push(piece);
        (rest, start) = (after, end);
    }
    pieces.push(rest);
    pieces
}

/// Generates the bytes of a peer: recorded ones, with lines and packets before them, and with changes.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let lines =
        prop::collection::vec("[a-z S]{0,9}\r?\n", 0..4).prop_map(|lines| lines.concat().into_bytes());
    let packets = prop::collection::vec(prop::sample::select(vec![2_u8, 3, 4, 1, 21]), 0..4);
    let change = (any::<prop::sample::Index>(), any::<u8>());
    let changes = prop::collection::vec(change, 0..2);
    (lines, 0..STREAMS.len(), packets, changes, prop::collection::vec(any::<u8>(), 0..50)).prop_map(
        |(lines, stream, packets, changes, after)| {
            let start = Identification::parse(STREAMS[stream]).unwrap().unwrap().consumed;
            let packets: Vec<u8> =
                packets.into_iter().flat_map(|number| packet(&[number, 0, 0, 0, 1])).collect();
            let (line, kex_init) = STREAMS[stream].split_at(start);
            let mut bytes = [&lines, line, &packets, kex_init, &after].concat();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        },
    )
}

fn packet(payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len() + 1 + 4).unwrap();
    [&len.to_be_bytes()[..], &[4], payload, &[0; 4]].concat()
}

proptest! {
    #[test]
    fn segmentation_changes_nothing(
        bytes in bytes(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let complete = read([&bytes[..]]);
        prop_assert_eq!(&read(cut(&bytes, cuts)), &complete);
        prop_assert_eq!(&read(bytes.chunks(1)), &complete);
    }

    #[test]
    fn parsers_agree_with_reader(bytes in bytes()) {
        let (messages, failed) = read([&bytes[..]]);
        let mut parsed = Vec::new();
        let outcome = (|| {
            let Some(Parsed { value: identification, consumed }) = Identification::parse(&bytes)? else {
                return Ok(());
            };
            let is_version_1 = identification.is_version_1();
            parsed.push(SshMessage::Identification(identification));
            if is_version_1 {
                return Ok(());
            }
            let kex_init = KexInit::parse(&bytes[consumed..])?;
            parsed.extend(kex_init.map(|kex_init| SshMessage::KexInit(kex_init.value)));
            Ok::<_, SshError>(())
        })();
        prop_assert_eq!((&messages, failed), (&parsed, outcome.is_err()));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..2000), is_identified in any::<bool>(), len in 1..300_usize,
    ) {
        let bytes = if is_identified { [b"SSH-2.0-x\r\n", &bytes[..]].concat() } else { bytes };
        prop_assert_eq!(read(bytes.chunks(len)), read([&bytes[..]]));
    }
}

#[test]
fn reads_all_of_real_streams() {
    for stream in STREAMS {
        let (messages, failed) = read([stream]);
        assert_eq!((messages.len(), failed), (2, false));
        let Parsed { value: identification, consumed } = Identification::parse(stream).unwrap().unwrap();
        let kex_init = KexInit::parse(&stream[consumed..]).unwrap().unwrap();
        assert_eq!(consumed + kex_init.consumed, stream.len());
        assert_eq!(
            messages,
            [SshMessage::Identification(identification), SshMessage::KexInit(kex_init.value)]
        );
    }
}

#[test]
fn stops_consuming_after_kex_init() {
    let bytes = [STREAMS[0], b"encrypted"].concat();
    let mut reader = SshReader::new();
    assert_eq!(reader.push(&bytes, &mut |_| {}), Ok(Progress::complete((), STREAMS[0].len())));
    assert_eq!(reader.push(b"more", &mut |_| {}), Ok(Progress::complete((), 0)));
}

#[test]
fn version_1_has_no_kex_init() {
    let mut reader = SshReader::new();
    assert_eq!(
        reader.push(b"SSH-1.5-OpenSSH_6.2\n\0\0\x01\x0b", &mut |_| {}),
        Ok(Progress::complete((), 20))
    );
    assert!(reader.is_done());
}

#[test]
fn buffers_no_other_lines() {
    let mut reader = SshReader::new();
    for _ in 0..MAX_LINE_LEN {
        reader.push(b"x", &mut |_| {}).unwrap();
    }
    assert!(reader.expects_identification() && reader.buffered_bytes() < 64);
    assert_eq!(reader.push(b"x", &mut |_| {}), Err(SshError::LineTooLong { line: 1 }));
}

#[test]
fn packets_before_kex_init_are_limited() {
    let ignore = packet(&[message::IGNORE, 0, 0, 0, 0]);
    assert!(BinaryPacket::parse(&ignore).unwrap().is_some());
    let start = Identification::parse(STREAMS[0]).unwrap().unwrap().consumed;
    let (line, kex_init) = STREAMS[0].split_at(start);
    for (count, wanted) in [(MAX_PACKETS_BEFORE_KEX_INIT, 2), (MAX_PACKETS_BEFORE_KEX_INIT + 1, 1)] {
        let bytes = [line, &ignore.repeat(count), kex_init].concat();
        let (messages, failed) = read(bytes.chunks(7));
        assert_eq!((messages.len(), failed), (wanted, wanted == 1));
    }
}

#[cfg(feature = "serde")]
#[test]
fn identification_serializes_as_text() {
    let identification = Identification::parse(b"SSH-2.0-caf\xe9\r\n").unwrap().unwrap().value;
    assert_eq!(serde_json::to_string(&identification).unwrap(), r#""SSH-2.0-caf\\xe9""#);
}
