//! Feeds datagrams of a QUIC client, with two bytes of length before each (little-endian). If the highest bit is set,
//! the bytes are frames of an Initial packet, which the target then protects (RFC 9001).
#![no_main]

use aes::Aes128Enc;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes_gcm::Aes128Gcm;
use aes_gcm::aead::AeadInOut;
use hkdf::Hkdf;
use huginn_net_tls::quic::ClientInitials;
use huginn_net_tls::{ClientHello, Parsed, Progress, Transport};
use libfuzzer_sys::fuzz_target;
use sha2::Sha256;

const FRAMES: u16 = 0x8000;

fuzz_target!(|data: &[u8]| {
    let mut initials = ClientInitials::new();
    let (mut rest, mut number) = (data, 0);
    while let Some((len, after)) = rest.split_first_chunk() {
        let len = u16::from_le_bytes(*len);
        let (bytes, after) = after.split_at(after.len().min(usize::from(len & !FRAMES)));
        rest = after;
        let mut datagram = if len & FRAMES == 0 {
            bytes.to_vec()
        } else {
            number += 1;
            seal(bytes, number)
        };
        // Shorter ones are ignored.
        datagram.resize(datagram.len().max(1200), 0);
        if let Ok(Some(hello)) = initials.push(&datagram).map(Progress::value) {
            let parsed = Parsed::new(hello.clone(), hello.message().len());
            assert_eq!(ClientHello::from_message(hello.message(), Transport::Quic), Ok(Some(parsed)));
        }
    }
});

/// The salt of version 1 (RFC 9001, section 5.2).
const SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc,
    0xbb, 0x7f, 0x0a,
];
const CONNECTION_ID: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
const NUMBER_LEN: usize = 4;
const TAG_LEN: usize = 16;

/// A client's Initial packet of version 1 (RFC 9000, section 17.2.2) with these frames, which it pads.
fn seal(frames: &[u8], number: u32) -> Vec<u8> {
    let (_, initial) = Hkdf::<Sha256>::extract(Some(&SALT), &CONNECTION_ID);
    let secret: [u8; 32] = expand_label(&initial, b"tls13 client in");
    let secret = Hkdf::<Sha256>::from_prk(&secret).unwrap();

    let mut sealed = frames.to_vec();
    sealed.resize(sealed.len().max(NUMBER_LEN), 0);
    let mut packet = vec![0xc3, 0, 0, 0, 1, 8];
    packet.extend(CONNECTION_ID);
    packet.extend([0, 0]);
    packet.extend((0x8000_0000 | (NUMBER_LEN + sealed.len() + TAG_LEN) as u32).to_be_bytes());
    let number_at = packet.len();
    packet.extend(number.to_be_bytes());

    let mut nonce: [u8; 12] = expand_label(&secret, b"tls13 quic iv");
    nonce[8..].iter_mut().zip(number.to_be_bytes()).for_each(|(byte, number)| *byte ^= number);
    let key: [u8; 16] = expand_label(&secret, b"tls13 quic key");
    let cipher = Aes128Gcm::new(&key.into());
    let tag = cipher.encrypt_inout_detached(&nonce.into(), &packet, sealed.as_mut_slice().into()).unwrap();
    packet.extend(sealed);
    packet.extend(tag);

    let header: [u8; 16] = expand_label(&secret, b"tls13 quic hp");
    let sample: [u8; 16] = packet[number_at + NUMBER_LEN..][..16].try_into().unwrap();
    let mut mask = sample.into();
    Aes128Enc::new(&header.into()).encrypt_block(&mut mask);
    packet[0] ^= mask[0] & 0x0f;
    packet[number_at..][..NUMBER_LEN].iter_mut().zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
    packet
}

/// HKDF-Expand-Label with an empty context (RFC 8446, section 7.1); the label has its prefix.
fn expand_label<const LEN: usize>(secret: &Hkdf<Sha256>, label: &[u8]) -> [u8; LEN] {
    let mut key = [0; LEN];
    secret.expand_multi_info(&[&[0, LEN as u8, label.len() as u8], label, &[0]], &mut key).unwrap();
    key
}
