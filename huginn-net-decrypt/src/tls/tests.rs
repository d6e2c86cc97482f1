//! Recorded connections of OpenSSL and nginx (`captures/tools/decrypt_recordings.py`).

use proptest::prelude::*;

use super::*;

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

#[test]
fn hellos_in_the_other_order_are_decrypted() {
    for recording in [TLS12, TLS13, KEY_UPDATE] {
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
