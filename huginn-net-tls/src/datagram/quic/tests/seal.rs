//! Builder of encrypted Initial packets.

use aes::Aes128Enc;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes_gcm::aead::AeadInOut;
use huginn_net_wire::Side;

use crate::quic::keys::{Aes128Gcm, Keys};
use crate::quic::version::{LongType, Protection};

/// An Initial packet before encryption.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) version: u32,
    pub(super) protection: &'static Protection,
    pub(super) sender: Side,
    /// The connection id from which the keys derive.
    pub(super) keys_from: Vec<u8>,
    pub(super) destination: Vec<u8>,
    pub(super) source: Vec<u8>,
    pub(super) token: Vec<u8>,
    pub(super) number: u32,
    pub(super) number_len: usize,
}

impl Packet {
    /// Creates a client's first packet.
    pub(super) fn client(version: u32, destination: &[u8]) -> Self {
        Self {
            version,
            protection: Protection::from_version(version).unwrap(),
            sender: Side::Client,
            keys_from: destination.into(),
            destination: destination.into(),
            source: Vec::new(),
            token: Vec::new(),
            number: 0,
            number_len: 1,
        }
    }

    /// Creates the server's answer to this packet.
    pub(super) fn server(version: u32, keys_from: &[u8]) -> Self {
        Self { sender: Side::Server, destination: Vec::new(), ..Self::client(version, keys_from) }
    }

    pub(super) fn seal(&self, payload: &[u8]) -> Vec<u8> {
        self.seal_with(payload, 0xc0)
    }

    /// Like `seal`, with these two highest bits of the first byte.
    pub(super) fn seal_with(&self, payload: &[u8], highest: u8) -> Vec<u8> {
        let protection = self.protection;
        let keys = Keys::derive(protection, &self.keys_from, self.sender).unwrap();
        // The payload must be long enough for the sample of header protection.
        let mut sealed = payload.to_vec();
        sealed.resize(payload.len().max(4), 0);

        let mut bytes =
            vec![first_byte(protection, LongType::Initial) | u8::try_from(self.number_len - 1).unwrap()];
        bytes[0] = bytes[0] & 0x3f | highest;
        bytes.extend(self.version.to_be_bytes());
        for id in [&self.destination, &self.source] {
            bytes.push(u8::try_from(id.len()).unwrap());
            bytes.extend(id);
        }
        bytes.extend(varint(self.token.len() as u64));
        bytes.extend(&self.token);
        // The length field always has two bytes, as in the examples of the RFCs.
        bytes.extend(u16::try_from(0x4000 + self.number_len + sealed.len() + 16).unwrap().to_be_bytes());
        let number_offset = bytes.len();
        bytes.extend(&self.number.to_be_bytes()[4 - self.number_len..]);

        let mut nonce = keys.iv;
        nonce[8..].iter_mut().zip(self.number.to_be_bytes()).for_each(|(byte, number)| *byte ^= number);
        let cipher = Aes128Gcm::new(&keys.key.into());
        let tag = cipher.encrypt_inout_detached(&nonce.into(), &bytes, sealed.as_mut_slice().into()).unwrap();
        bytes.extend(sealed);
        bytes.extend(tag);

        let sample: [u8; 16] = bytes[number_offset + 4..][..16].try_into().unwrap();
        let mut mask = sample.into();
        Aes128Enc::new(&keys.header.into()).encrypt_block(&mut mask);
        bytes[0] ^= mask[0] & 0x0f;
        bytes[number_offset..][..self.number_len]
            .iter_mut()
            .zip(&mask[1..])
            .for_each(|(byte, mask)| *byte ^= mask);
        bytes
    }
}

/// Builds a long-header packet of another type, with an arbitrary payload.
pub(super) fn other(version: u32, long_type: LongType) -> Vec<u8> {
    let mut bytes = vec![first_byte(Protection::from_version(version).unwrap(), long_type)];
    bytes.extend(version.to_be_bytes());
    bytes.extend([2, 0xaa, 0xbb, 1, 0xcc]);
    bytes.extend(varint(100));
    bytes.resize(bytes.len() + 100, 0xee);
    bytes
}

pub(super) fn version_negotiation(ids: usize) -> Vec<u8> {
    let mut bytes = vec![0xc0, 0, 0, 0, 0];
    for _ in 0..2 {
        bytes.push(u8::try_from(ids).unwrap());
        bytes.resize(bytes.len() + ids, 0xaa);
    }
    bytes.extend([0, 0, 0, 1, 0x6b, 0x33, 0x43, 0xcf]);
    bytes
}

/// Builds a CRYPTO frame.
pub(super) fn crypto(offset: u64, data: &[u8]) -> Vec<u8> {
    [&[6][..], &varint(offset), &varint(data.len() as u64), data].concat()
}

pub(super) fn varint(value: u64) -> Vec<u8> {
    match value {
        0..0x40 => vec![u8::try_from(value).unwrap()],
        0x40..0x4000 => (u16::try_from(value).unwrap() | 0x4000).to_be_bytes().to_vec(),
        0x4000..0x4000_0000 => (u32::try_from(value).unwrap() | 0x8000_0000).to_be_bytes().to_vec(),
        _ => (value | 0xc000_0000_0000_0000).to_be_bytes().to_vec(),
    }
}

fn first_byte(protection: &Protection, long_type: LongType) -> u8 {
    (0..4).map(|code| 0xc0 | code << 4).find(|first| protection.long_type(*first) == long_type).unwrap()
}
