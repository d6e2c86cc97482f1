//! Recorded connections of OpenSSL and nginx (`captures/tools/decrypt_recordings.py`).

use aes_gcm::Aes128Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit};
use proptest::prelude::*;

use super::suite::Hash;
use super::*;
use crate::SessionConnection;
use crate::limits::MAX_ALL_WAITING_BYTES;
use crate::secrets::SessionName;

struct Recording {
    client: &'static [u8],
    server: &'static [u8],
    keys: &'static [u8],
}

macro_rules! recording {
    ($name:literal) => {
        Recording {
            client: include_bytes!(concat!("../../recordings/", $name, "/client")),
            server: include_bytes!(concat!("../../recordings/", $name, "/server")),
            keys: include_bytes!(concat!("../../recordings/", $name, "/keys.log")),
        }
    };
}

const TLS12: Recording = recording!("tls12");
const TLS13: Recording = recording!("tls13");
const EARLY_DATA: Recording = recording!("early-data");
const KEY_UPDATE: Recording = recording!("key-update");

/// The plaintext of client and server.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plaintext {
    client: Vec<u8>,
    server: Vec<u8>,
    skippable: u64,
    skipped: u64,
}

impl PlaintextReader for Plaintext {
    fn on_data(&mut self, side: Side, bytes: &[u8]) {
        side.choose(&mut self.client, &mut self.server).extend_from_slice(bytes);
    }

    fn skippable(&self, side: Side) -> u64 {
        side.choose(0, self.skippable)
    }

    fn skip(&mut self, _: Side, len: u64) {
        self.skipped = self.skipped.saturating_add(len);
    }
}

impl Recording {
    fn secrets(&self) -> Secrets {
        let secrets = Secrets::new();
        assert_eq!(secrets.add_key_log(self.keys).malformed, 0);
        secrets
    }

    /// The pieces of both sides in turn: the hello of the client first.
    fn pieces(&self) -> Vec<(Side, &'static [u8])> {
        let hello = 5 + usize::from(u16::from_be_bytes([self.client[3], self.client[4]]));
        let (hello, rest) = self.client.split_at(hello);
        vec![(Side::Client, hello), (Side::Server, self.server), (Side::Client, rest)]
    }

    fn read(&self, secrets: &Secrets) -> Result<Plaintext, Stop> {
        read(&self.pieces(), secrets, Plaintext::default())
    }
}

fn read(pieces: &[(Side, &[u8])], secrets: &Secrets, mut plaintext: Plaintext) -> Result<Plaintext, Stop> {
    let mut decryptor = TlsDecryptor::new();
    for (side, bytes) in pieces {
        decryptor.push(*side, bytes, secrets, &mut plaintext)?;
        assert!(decryptor.buffered_bytes() < 200_000);
    }
    Ok(plaintext)
}

#[test]
fn requests_and_responses_are_decrypted() {
    for (recording, requests) in [
        (TLS12, &["/new-tls1_2"][..]),
        (TLS13, &["/new-tls1_3"]),
        (EARLY_DATA, &["/early", "/after-early"]),
        (KEY_UPDATE, &["/before-update", "/after-update", "/after-both"]),
    ] {
        let found = recording.read(&recording.secrets()).unwrap();
        let text = String::from_utf8(found.client).unwrap();
        let paths: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("GET ")).collect();
        let expected: Vec<_> = requests.iter().map(|path| format!("{path} HTTP/1.1")).collect();
        assert_eq!(paths, expected);
        let answers = String::from_utf8(found.server).unwrap().matches("HTTP/1.1 404 Not Found\r\n").count();
        assert_eq!(answers, requests.len());
    }
}

/// Reads a recording for its session, in pieces of this length.
fn session_of(recording: &Recording, step: usize) -> Option<SessionConnection> {
    let mut reader = SessionReader::new();
    let client = recording.client.chunks(step).find_map(|piece| reader.push(Side::Client, piece));
    let found = recording.server.chunks(step).find_map(|piece| reader.push(Side::Server, piece));
    assert!(client.is_none() && [Side::Client, Side::Server].iter().all(|side| !reader.reads(*side)));
    assert_eq!(reader.buffered_bytes(), 0);
    found
}

#[test]
fn secret_of_one_connection_serves_the_others_of_its_session() {
    let begun = session_of(&TLS12, 7).unwrap();
    assert_eq!(session_of(&TLS12, TLS12.server.len()), Some(begun));
    assert_eq!(session_of(&TLS13, 1000), None);
    let [_, resumed, ticket] = begun.names;
    assert!(resumed.is_none() && ticket.is_some());
    // Two connections before it, and two after it, each resumed by the ticket of the one before, and one of another session.
    let name = |n| Some(SessionName::Ticket([n; 32]));
    let connection = |n, names| SessionConnection { random: [n; 32], names };
    let connections = [
        connection(1, [None, None, name(1)]),
        connection(2, [None, name(1), ticket]),
        begun,
        connection(3, [None, ticket, name(3)]),
        connection(4, [Some(SessionName::Id([9; 32])), name(3), None]),
        connection(5, [None, name(5), None]),
    ];
    let secrets = TLS12.secrets();
    assert!(secrets.has_sessions() && !TLS13.secrets().has_sessions());
    secrets.add_sessions(&connections);
    let known = |n| secrets.get(SecretLabel::MasterSecret, &[n; 32]);
    assert_eq!([1, 2, 3, 4, 5].map(|n| known(n).is_some()), [true, true, true, true, false]);
    assert_eq!(known(4), secrets.get(SecretLabel::MasterSecret, &begun.random));
}

#[test]
fn hellos_in_the_other_order_are_decrypted() {
    for recording in [TLS12, TLS13, EARLY_DATA, KEY_UPDATE] {
        let pieces = recording.pieces();
        let expected = recording.read(&recording.secrets());
        for order in [[1, 0, 2], [0, 2, 1]] {
            let pieces = order.map(|at| pieces[at]);
            assert_eq!(read(&pieces, &recording.secrets(), Plaintext::default()), expected);
        }
    }
}

#[test]
fn missing_and_wrong_secrets_stop_the_decryption() {
    for recording in [TLS12, TLS13] {
        assert_eq!(recording.read(&Secrets::new()), Err(Stop::NoSecret));
        let text = String::from_utf8(recording.keys.to_vec()).unwrap();
        let with_other_end = |line: &str| {
            let mut line = line.to_owned();
            let other = if line.pop() == Some('0') { "1\n" } else { "0\n" };
            line + other
        };
        let wrong: String = text.lines().map(with_other_end).collect();
        let secrets = Secrets::new();
        secrets.add_key_log(wrong.as_bytes());
        assert_eq!(recording.read(&secrets), Err(Stop::NotAuthentic));
    }
}

#[test]
fn unread_bodies_are_passed_over() {
    for recording in [TLS12, TLS13] {
        let all = recording.read(&recording.secrets()).unwrap();
        let reader = Plaintext { skippable: u64::MAX, ..Plaintext::default() };
        let found = read(&recording.pieces(), &recording.secrets(), reader).unwrap();
        assert_eq!(found.client, all.client);
        assert_eq!(found.skipped + found.server.len() as u64, all.server.len() as u64);
    }
}

#[test]
fn other_protocols_are_given_up() {
    let mut decryptor = TlsDecryptor::new();
    let mut push =
        |bytes: &[u8]| decryptor.push(Side::Client, bytes, &Secrets::new(), &mut Plaintext::default());
    assert_eq!(push(b"SSH-2.0-OpenSSH_9.2\r\n"), Ok(()));
    assert_eq!(push(&[0x20; 20_000]), Err(Stop::NotTls));
    assert_eq!(push(TLS13.client), Err(Stop::NotTls));
}

#[test]
fn tls_after_a_preamble_is_decrypted() {
    let mut pieces = vec![
        (Side::Client, &b"CONNECT a:443 HTTP/1.1\r\n\r\n"[..]),
        (Side::Server, b"HTTP/1.1 200 OK\r\n\r\n"),
    ];
    pieces.extend(TLS13.pieces());
    assert_eq!(read(&pieces, &TLS13.secrets(), Plaintext::default()), TLS13.read(&TLS13.secrets()));
}

#[test]
fn bytes_without_the_other_hello_are_bounded() {
    let record = [&[23, 3, 3, 0x40, 0][..], &[7; 0x4000]].concat();
    let (mut decryptor, secrets) = (TlsDecryptor::new(), TLS13.secrets());
    let mut plaintext = Plaintext::default();
    let (_, hello) = TLS13.pieces()[0];
    assert_eq!(decryptor.push(Side::Client, hello, &secrets, &mut plaintext), Ok(()));
    let outcome = (0..10).try_for_each(|_| decryptor.push(Side::Client, &record, &secrets, &mut plaintext));
    assert_eq!(outcome, Err(Stop::NoHello));
    assert_eq!(decryptor.buffered_bytes(), 0);
}

/// The key log comes after the packets, at once or line by line, and the reader sees the same.
#[test]
fn secrets_that_come_later_serve_buffered_records() {
    for recording in [TLS12, TLS13, EARLY_DATA, KEY_UPDATE] {
        let expected = recording.read(&recording.secrets()).unwrap();
        let mut pieces: Vec<(Side, &[u8])> = Vec::new();
        for (side, bytes) in recording.pieces() {
            pieces.extend(bytes.chunks(700).map(|piece| (side, piece)));
        }
        let lines: Vec<_> = recording.keys.split_inclusive(|byte| *byte == b'\n').collect();
        for step in [1, 2, 3, pieces.len() + 1] {
            let (secrets, mut lines) = (Secrets::new(), lines.iter());
            secrets.set_growing(true);
            let (mut decryptor, mut found) = (TlsDecryptor::new(), Plaintext::default());
            for (index, (side, bytes)) in pieces.iter().enumerate() {
                decryptor.push(*side, bytes, &secrets, &mut found).unwrap();
                if index % step == step - 1 {
                    lines.next().into_iter().for_each(|line| _ = secrets.add_key_log(line));
                }
            }
            if step > pieces.len() {
                assert!(decryptor.waits_for_secret(&secrets));
                assert!(secrets.waiting_bytes() > 500, "{}", secrets.waiting_bytes());
            }
            lines.for_each(|line| _ = secrets.add_key_log(line));
            assert_eq!(decryptor.end(&secrets, &mut found), None, "{step}");
            assert_eq!((&found, secrets.waiting_bytes()), (&expected, 0), "{step}");
        }
    }
}

#[test]
fn records_before_a_gap_are_read_with_secrets_that_came_later() {
    for recording in [TLS12, TLS13, EARLY_DATA, KEY_UPDATE] {
        let read = |has_secrets: bool| {
            let (secrets, mut found) = (Secrets::new(), Plaintext::default());
            secrets.set_growing(true);
            let mut decryptor = TlsDecryptor::new();
            for (side, bytes) in recording.pieces() {
                decryptor.push(side, bytes, &secrets, &mut found).unwrap();
            }
            if has_secrets {
                secrets.add_key_log(recording.keys);
            }
            let stop = decryptor.gap(&secrets, &mut found);
            assert_eq!((decryptor.gap(&secrets, &mut found), secrets.waiting_bytes()), (stop, 0));
            (stop, found)
        };
        assert_eq!(read(true), (Stop::Gap, recording.read(&recording.secrets()).unwrap()));
        assert_eq!(read(false), (Stop::NoSecret, Plaintext::default()));
    }
}

/// Once the key log can grow no more, what waits is given up with a reason.
#[test]
fn connections_stop_waiting_when_no_secret_can_come() {
    for recording in [TLS12, TLS13] {
        let (secrets, mut found) = (Secrets::new(), Plaintext::default());
        secrets.set_growing(true);
        let mut decryptor = TlsDecryptor::new();
        for (side, bytes) in recording.pieces() {
            decryptor.push(side, bytes, &secrets, &mut found).unwrap();
        }
        secrets.set_growing(false);
        assert_eq!(decryptor.end(&secrets, &mut found), Some(Stop::NoSecret));
        assert_eq!(secrets.waiting_bytes(), 0);
    }
}

/// As after the ChangeCipherSpec of a renegotiation whose secret is logged late: the records that follow wait.
#[test]
fn late_secrets_of_a_renegotiation_serve() {
    let expected = TLS12.read(&TLS12.secrets()).unwrap();
    let (mut decryptor, mut found) = (TlsDecryptor::new(), Plaintext::default());
    let mut client = Vec::new();
    for (side, bytes) in TLS12.pieces() {
        decryptor.push(side, bytes, &TLS12.secrets(), &mut found).unwrap();
        client.extend_from_slice(if side == Side::Client { bytes } else { &[] });
    }
    let change = client.windows(CCS.len()).position(|bytes| bytes == CCS).unwrap();
    let secrets = Secrets::new();
    secrets.set_growing(true);
    assert_eq!(decryptor.set_tls12_key(Side::Client, &secrets), Ok(false));
    decryptor.push(Side::Client, &client[change + CCS.len()..], &secrets, &mut found).unwrap();
    assert!(decryptor.waits_for_secret(&secrets));
    assert_eq!(found, expected);
    secrets.add_key_log(TLS12.keys);
    assert_eq!(decryptor.end(&secrets, &mut found), None);
    assert_eq!(found.client, [&*expected.client, &*expected.client].concat());
}

#[test]
fn waiting_for_secrets_is_bounded() {
    let record = [&[23, 3, 3, 0x40, 0][..], &[7; 0x4000]].concat();
    for recording in [TLS12, TLS13] {
        let (secrets, mut plaintext) = (Secrets::new(), Plaintext::default());
        secrets.set_growing(true);
        let start = || {
            let mut decryptor = TlsDecryptor::new();
            for (side, bytes) in &recording.pieces()[..2] {
                decryptor.push(*side, bytes, &secrets, &mut Plaintext::default()).unwrap();
            }
            decryptor
        };
        let mut decryptor = start();
        let mut push = || decryptor.push(Side::Server, &record, &secrets, &mut plaintext);
        let outcome = (0..10).try_for_each(|_| push());
        assert_eq!((outcome, decryptor.has_given_up()), (Err(Stop::NoSecret), true));
        assert_eq!((decryptor.buffered_bytes(), secrets.waiting_bytes()), (0, 0));
        // All connections together: the last one finds no room.
        let mut waiting: Vec<_> =
            (0..MAX_ALL_WAITING_BYTES / (3 * record.len()) + 10).map(|_| start()).collect();
        for decryptor in &mut waiting {
            let _ = (0..3).try_for_each(|_| decryptor.push(Side::Server, &record, &secrets, &mut plaintext));
        }
        assert!(waiting.iter().any(TlsDecryptor::has_given_up));
        assert!(waiting.iter().any(|decryptor| decryptor.waits_for_secret(&secrets)));
        assert!(secrets.waiting_bytes() <= MAX_ALL_WAITING_BYTES);
        drop(waiting);
        assert_eq!(secrets.waiting_bytes(), 0);
    }
}

/// Encrypts the records of a side with TLS_AES_128_GCM_SHA256, as a peer does.
struct Sealer {
    secret: [u8; 32],
    sequence: u64,
}

const CLIENT_RANDOM: [u8; 32] = [7; 32];
const CCS: [u8; 6] = [CHANGE_CIPHER_SPEC, 3, 3, 0, 1, 1];
const LABELS: [SecretLabel; 5] = [
    SecretLabel::ClientEarly,
    SecretLabel::ClientHandshake,
    SecretLabel::ServerHandshake,
    SecretLabel::ClientApplication,
    SecretLabel::ServerApplication,
];

/// A secret of a connection of TLS 1.3 that the tests make.
fn secret_of(label: SecretLabel) -> [u8; 32] {
    [u8::try_from(LABELS.iter().position(|other| *other == label).unwrap()).unwrap(); 32]
}

fn secrets_of(labels: &[SecretLabel]) -> Secrets {
    let secrets = Secrets::new();
    for label in labels {
        secrets.insert(*label, &CLIENT_RANDOM, &secret_of(*label));
    }
    secrets
}

impl Sealer {
    fn new(label: SecretLabel) -> Self {
        Self { secret: secret_of(label), sequence: 0 }
    }

    fn seal(&mut self, kind: u8, content: &[u8]) -> Vec<u8> {
        let (mut key, mut nonce) = ([0; 16], [0; 12]);
        derive::expand_label(Hash::Sha256, &self.secret, b"key", &mut key).unwrap();
        derive::expand_label(Hash::Sha256, &self.secret, b"iv", &mut nonce).unwrap();
        for (byte, number) in nonce.iter_mut().rev().zip(self.sequence.to_le_bytes()) {
            *byte ^= number;
        }
        self.sequence = self.sequence.saturating_add(1);
        let mut sealed = [content, &[kind]].concat();
        let len = u16::try_from(sealed.len().saturating_add(16)).unwrap().to_be_bytes();
        let header = [APPLICATION_DATA, 3, 3, len[0], len[1]];
        let cipher = Aes128Gcm::new(&key.into());
        let tag =
            cipher.encrypt_inout_detached(&nonce.into(), &header, sealed.as_mut_slice().into()).unwrap();
        [&header[..], &sealed, &tag].concat()
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind, 0, 0, u8::try_from(body.len()).unwrap()], body].concat()
}

fn plain(message: &[u8]) -> Vec<u8> {
    [&[HANDSHAKE, 3, 1, 0, u8::try_from(message.len()).unwrap()], message].concat()
}

fn client_hello(has_early_data: bool) -> Vec<u8> {
    let extensions: &[u8] = if has_early_data { &[0, 4, 0, 42, 0, 0] } else { &[0, 0] };
    plain(&message(
        CLIENT_HELLO,
        &[&[3, 3], &CLIENT_RANDOM[..], &[0, 0, 2, 0x13, 1, 1, 0], extensions].concat(),
    ))
}

fn server_hello(random: [u8; 32]) -> Vec<u8> {
    let rest = [0, 0x13, 1, 0, 0, 6, 0, 43, 0, 2, 3, 4];
    plain(&message(SERVER_HELLO, &[&[3, 3], &random[..], &rest].concat()))
}

/// What both sides send first, without early data: hellos and the handshake.
fn handshake() -> [Vec<u8>; 3] {
    let finished = message(FINISHED, &[9; 32]);
    let server = Sealer::new(SecretLabel::ServerHandshake)
        .seal(HANDSHAKE, &[message(ENCRYPTED_EXTENSIONS, &[0, 0]), finished.clone()].concat());
    let client = Sealer::new(SecretLabel::ClientHandshake).seal(HANDSHAKE, &finished);
    [client_hello(false), [server_hello([8; 32]), server].concat(), client]
}

/// Reads the handshake, and then these bytes of each side.
fn read_after_handshake(client: &[u8], server: &[u8], secrets: &Secrets) -> Result<Plaintext, Stop> {
    let [hello, to_client, to_server] = handshake();
    let to_server = [&to_server, client].concat();
    let to_client = [&to_client, server].concat();
    let pieces = [(Side::Client, &*hello), (Side::Server, &to_client), (Side::Client, &to_server)];
    read(&pieces, secrets, Plaintext::default())
}

#[test]
fn connections_after_a_hello_retry_request_are_decrypted() {
    let [hello, to_client, to_server] = handshake();
    let [mut client, mut server] =
        [SecretLabel::ClientApplication, SecretLabel::ServerApplication].map(Sealer::new);
    let first = [server_hello(hello::RETRY_RANDOM), CCS.to_vec()].concat();
    let second = [&CCS, &*hello].concat();
    let to_server = [to_server, client.seal(APPLICATION_DATA, b"GET")].concat();
    let to_client = [to_client, server.seal(APPLICATION_DATA, b"200")].concat();
    let pieces = [
        (Side::Client, &*hello),
        (Side::Server, &first),
        (Side::Client, &second),
        (Side::Server, &to_client),
        (Side::Client, &to_server),
    ];
    for order in [[0, 1, 2, 3, 4], [0, 1, 3, 2, 4], [0, 2, 4, 1, 3]] {
        let found = read(&order.map(|at| pieces[at]), &secrets_of(&LABELS), Plaintext::default()).unwrap();
        assert_eq!((&*found.client, &*found.server), (&b"GET"[..], &b"200"[..]), "{order:?}");
    }
}

#[test]
fn debug_text_has_no_content() {
    let (mut decryptor, mut plaintext) = (TlsDecryptor::new(), Plaintext::default());
    let [hello, to_client, _] = handshake();
    for (side, bytes) in [(Side::Client, &hello), (Side::Server, &to_client), (Side::Client, &vec![23; 3])] {
        decryptor.push(side, bytes, &secrets_of(&LABELS), &mut plaintext).unwrap();
    }
    let text = format!("{decryptor:?}");
    assert!(["7, 7", "8, 8", "23, 23"].iter().all(|bytes| !text.contains(bytes)), "{text}");
}

#[test]
fn early_secrets_are_tried_once() {
    let wrong = secrets_of(&LABELS[1..]);
    wrong.insert(SecretLabel::ClientEarly, &CLIENT_RANDOM, &[99; 32]);
    let (mut decryptor, mut plaintext) = (TlsDecryptor::new(), Plaintext::default());
    let early = Sealer::new(SecretLabel::ClientEarly).seal(APPLICATION_DATA, b"early");
    decryptor.push(Side::Client, &client_hello(true), &wrong, &mut plaintext).unwrap();
    decryptor.push(Side::Client, &early, &wrong, &mut plaintext).unwrap();
    // The same record with the right secret: it is not tried again before the ServerHello.
    decryptor.push(Side::Client, &early[..1], &secrets_of(&LABELS), &mut plaintext).unwrap();
    assert_eq!(plaintext, Plaintext::default());
}

#[test]
fn authentication_after_the_handshake_keeps_the_keys() {
    let mut client = Sealer::new(SecretLabel::ClientApplication);
    let sent = [
        client.seal(APPLICATION_DATA, b"before"),
        client.seal(HANDSHAKE, &message(FINISHED, &[9; 32])),
        client.seal(APPLICATION_DATA, b"after"),
    ];
    let found = read_after_handshake(&sent.concat(), &[], &secrets_of(&LABELS)).unwrap();
    assert_eq!(found.client, b"beforeafter");
}

#[test]
fn key_updates_that_do_not_end_their_record_are_malformed() {
    let update = message(super::KEY_UPDATE, &[0]);
    for (content, expected) in [
        (update.clone(), None),
        ([&*update, &update].concat(), Some(Stop::Malformed)),
        ([&*update, &update[..2]].concat(), Some(Stop::Malformed)),
    ] {
        let sent = Sealer::new(SecretLabel::ServerApplication).seal(HANDSHAKE, &content);
        assert_eq!(read_after_handshake(&[], &sent, &secrets_of(&LABELS)).err(), expected);
    }
}

#[test]
fn hellos_after_the_keys_are_malformed() {
    let (client, server) = (client_hello(false), server_hello([8; 32]));
    for (client, server) in [(&*client, &[][..]), (&[], &*server)] {
        assert_eq!(read_after_handshake(client, server, &secrets_of(&LABELS)), Err(Stop::Malformed));
    }
    let both = plain(&[&server[5..], &server[5..]].concat());
    let pieces = [(Side::Client, &*client), (Side::Server, &both)];
    assert_eq!(read(&pieces, &secrets_of(&LABELS), Plaintext::default()), Err(Stop::Malformed));
}

#[test]
fn a_side_with_a_secret_is_decrypted_alone() {
    use SecretLabel::{ClientApplication, ClientHandshake, ServerApplication, ServerHandshake};
    let [client, server] = [ClientApplication, ServerApplication]
        .map(|label| Sealer::new(label).seal(APPLICATION_DATA, b"data"));
    for (labels, expected) in [
        (&[ClientHandshake, ClientApplication][..], Ok((4, 0))),
        (&[ClientApplication], Ok((4, 0))),
        (&[ServerHandshake, ServerApplication], Ok((0, 4))),
        (&[ServerHandshake, ClientHandshake, ServerApplication], Ok((0, 4))),
        (&[ServerHandshake, ClientHandshake], Err(Stop::NoSecret)),
    ] {
        let found = read_after_handshake(&client, &server, &secrets_of(labels));
        assert_eq!(found.map(|found| (found.client.len(), found.server.len())), expected, "{labels:?}");
    }
}

#[test]
fn unknown_connections_have_no_secret_whatever_else_is_wrong() {
    for (secrets, expected) in [(Secrets::new(), Stop::NoSecret), (secrets_of(&LABELS), Stop::Unsupported)] {
        let client = client_hello(false);
        // TLS 1.1.
        let mut hello = server_hello([8; 32]);
        *hello.last_mut().unwrap() = 2;
        let pieces = [(Side::Client, &*client), (Side::Server, &*hello)];
        assert_eq!(read(&pieces, &secrets, Plaintext::default()), Err(expected));
    }
    let mut decryptor = TlsDecryptor::new();
    decryptor.push(Side::Client, &client_hello(false), &Secrets::new(), &mut Plaintext::default()).unwrap();
    assert_eq!(decryptor.gap(&Secrets::new(), &mut Plaintext::default()), Stop::NoSecret);
}

#[test]
fn ends_of_connections_that_wait_have_a_reason() {
    let [(_, hello), (_, server), (_, client)] = TLS12.pieces()[..] else { panic!() };
    let (client_only, server_only) =
        ([(Side::Client, hello), (Side::Client, client)], [(Side::Server, server)]);
    for (pieces, secrets, expected) in [
        (&client_only[..], TLS12.secrets(), Some(Stop::NoHello)),
        (&client_only, Secrets::new(), Some(Stop::NoSecret)),
        (&server_only, TLS12.secrets(), Some(Stop::NoSecret)),
        (&client_only[..1], TLS12.secrets(), None),
        (&TLS12.pieces(), TLS12.secrets(), None),
    ] {
        let mut decryptor = TlsDecryptor::new();
        for (side, bytes) in pieces {
            decryptor.push(*side, bytes, &secrets, &mut Plaintext::default()).unwrap();
        }
        let mut end = || decryptor.end(&secrets, &mut Plaintext::default());
        assert_eq!([end(), end()], [expected, None]);
    }
}

proptest! {
    #[test]
    fn segmentation_changes_nothing(cuts in prop::collection::vec(1_usize..400, 1..30)) {
        for recording in [TLS12, TLS13, EARLY_DATA, KEY_UPDATE] {
            let mut lens = cuts.iter().cycle();
            let mut pieces = Vec::new();
            for (side, mut bytes) in recording.pieces() {
                while !bytes.is_empty() {
                    let (piece, rest) = bytes.split_at((*lens.next().unwrap()).min(bytes.len()));
                    pieces.push((side, piece));
                    bytes = rest;
                }
            }
            let secrets = recording.secrets();
            prop_assert_eq!(read(&pieces, &secrets, Plaintext::default()), recording.read(&secrets));
        }
    }

    #[test]
    fn changed_bytes_never_change_plaintext(at in any::<prop::sample::Index>(), flip in 1_u8..) {
        for recording in [TLS12, TLS13] {
            let expected = recording.read(&recording.secrets()).unwrap();
            let mut server = recording.server.to_vec();
            let at = at.index(server.len());
            server[at] ^= flip;
            let pieces = recording.pieces();
            let (mut decryptor, mut found) = (TlsDecryptor::new(), Plaintext::default());
            for (side, bytes) in [pieces[0], (Side::Server, &*server), pieces[2]] {
                if decryptor.push(side, bytes, &recording.secrets(), &mut found).is_err() {
                    break;
                }
            }
            prop_assert!(expected.server.starts_with(&found.server) && expected.client.starts_with(&found.client));
        }
    }
}
