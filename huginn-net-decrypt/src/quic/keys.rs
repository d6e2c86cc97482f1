//! The keys of packets (RFC 9001, sections 5 and 6; RFC 9369, section 3.3).

use std::fmt;
use std::ops::Range;

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes128Enc, Aes256Enc};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use huginn_net_wire::quic::{full_packet_number, unmask_header};
use zeroize::{Zeroize, Zeroizing};

use super::packet::LongKind;
use crate::secrets::Secret;
use crate::tls::cipher::Key;
use crate::tls::derive::expand_label;
use crate::tls::suite::{Cipher, Suite};

/// The bit of a first byte that shows the key phase (RFC 9001, section 6).
const KEY_PHASE: u8 = 0x04;

/// A version of QUIC, by its labels and packet types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// RFC 9000, and the drafts with the same labels.
    V1,
    /// RFC 9369.
    V2,
}

impl Version {
    pub(super) fn from_number(version: u32) -> Option<Self> {
        match version {
            1 | 0xff00_001d..=0xff00_0022 => Some(Self::V1),
            0x6b33_43cf => Some(Self::V2),
            _ => None,
        }
    }

    /// The type of a packet with a long header; `None` for a Retry.
    pub(super) fn long_kind(self, first: u8) -> Option<LongKind> {
        let initial = match self {
            Self::V1 => 0,
            Self::V2 => 1,
        };
        match (first >> 4).wrapping_sub(initial) & 3 {
            0 => Some(LongKind::Initial),
            1 => Some(LongKind::EarlyData),
            2 => Some(LongKind::Handshake),
            _ => None,
        }
    }

    /// The labels of key, nonce, header protection and key update.
    fn labels(self) -> [&'static [u8]; 4] {
        match self {
            Self::V1 => [b"quic key", b"quic iv", b"quic hp", b"quic ku"],
            Self::V2 => [b"quicv2 key", b"quicv2 iv", b"quicv2 hp", b"quicv2 ku"],
        }
    }
}

/// Keys that decrypt packets.
pub(super) trait Open {
    /// Decrypts a packet into a buffer. Returns the range of its frames; `None` if it is not authentic.
    fn open(&mut self, packet: &[u8], number_offset: usize, out: &mut Vec<u8>) -> Option<Range<usize>>;
    fn suite(&self) -> Suite;
    /// Sets the largest packet number so far: early data and 1-RTT count together.
    fn set_largest(&mut self, largest: Option<u64>);
}

/// The keys of one side at one level.
pub(super) struct PacketKeys {
    payload: PayloadKeys,
    header: HeaderKey,
    largest: Option<u64>,
}

/// What a key update changes.
struct PayloadKeys {
    key: Key,
    iv: [u8; 12],
    suite: Suite,
    version: Version,
    secret: Secret,
}

enum HeaderKey {
    Aes128(Box<Aes128Enc>),
    Aes256(Box<Aes256Enc>),
    ChaCha20(Zeroizing<[u8; 32]>),
}

/// A header without protection.
struct Header {
    first: u8,
    /// Length of the header, with the packet number.
    len: usize,
    number: u64,
}

impl PacketKeys {
    /// The keys of a secret; `None` if it does not fit the suite.
    pub(super) fn new(suite: Suite, version: Version, secret: &Secret) -> Option<Self> {
        let payload = PayloadKeys::new(suite, version, secret.clone())?;
        let [_, _, label, _] = version.labels();
        let mut key = Zeroizing::new([0; 32]);
        let bytes = key.get_mut(..suite.cipher.key_len())?;
        expand_label(suite.hash, secret, label, bytes)?;
        let header = match suite.cipher {
            Cipher::ChaCha20Poly1305 => HeaderKey::ChaCha20(key),
            Cipher::Aes256Gcm => HeaderKey::Aes256(Box::new(KeyInit::new_from_slice(bytes).ok()?)),
            _ => HeaderKey::Aes128(Box::new(KeyInit::new_from_slice(bytes).ok()?)),
        };
        Some(Self { payload, header, largest: None })
    }

    pub(super) fn largest(&self) -> Option<u64> {
        self.largest
    }

    /// Copies a packet, and removes the protection of its header (RFC 9001, section 5.4).
    fn unmask(&self, packet: &[u8], number_offset: usize, out: &mut Vec<u8>) -> Option<Header> {
        out.clear();
        out.extend_from_slice(packet);
        let (low, number_len) = unmask_header(out, number_offset, |sample| self.header.mask(sample))?;
        let number = full_packet_number(low, number_len, self.largest);
        Some(Header { first: *out.first()?, len: number_offset.checked_add(number_len)?, number })
    }
}

impl Open for PacketKeys {
    fn open(&mut self, packet: &[u8], number_offset: usize, out: &mut Vec<u8>) -> Option<Range<usize>> {
        let header = self.unmask(packet, number_offset, out)?;
        let frames = self.payload.open(packet, &header, out)?;
        self.largest = self.largest.max(Some(header.number));
        Some(frames)
    }

    fn suite(&self) -> Suite {
        self.payload.suite
    }

    fn set_largest(&mut self, largest: Option<u64>) {
        self.largest = self.largest.max(largest);
    }
}

impl PayloadKeys {
    fn new(suite: Suite, version: Version, secret: Secret) -> Option<Self> {
        if secret.len() != suite.hash.len() {
            return None;
        }
        let [key_label, iv_label, ..] = version.labels();
        let mut key = Zeroizing::new([0; 32]);
        let key = key.get_mut(..suite.cipher.key_len())?;
        let mut iv = [0; 12];
        expand_label(suite.hash, &secret, key_label, key)?;
        expand_label(suite.hash, &secret, iv_label, &mut iv)?;
        Some(Self { key: Key::new(suite.cipher, key)?, iv, suite, version, secret })
    }

    /// The keys of the next phase (RFC 9001, section 6.1).
    fn next(&self) -> Option<Self> {
        let [.., label] = self.version.labels();
        let mut next: Secret = Zeroizing::new(vec![0; self.suite.hash.len()].into());
        expand_label(self.suite.hash, &self.secret, label, &mut next)?;
        Self::new(self.suite, self.version, next)
    }

    /// Decrypts the payload of a packet whose header is without protection.
    fn open(&self, packet: &[u8], header: &Header, out: &mut [u8]) -> Option<Range<usize>> {
        let (associated, sealed) = out.split_at_mut_checked(header.len)?;
        // An earlier try may have changed the bytes.
        sealed.copy_from_slice(packet.get(header.len..)?);
        let end = sealed.len().checked_sub(self.suite.cipher.tag_len())?;
        let (content, tag) = sealed.split_at_mut_checked(end)?;
        let mut nonce = self.iv;
        for (byte, number) in nonce.iter_mut().rev().zip(header.number.to_le_bytes()) {
            *byte ^= number;
        }
        self.key.open(&nonce, associated, content, tag)?;
        Some(header.len..header.len.saturating_add(end))
    }
}

/// Zeroes the nonce, too.
impl Drop for PayloadKeys {
    fn drop(&mut self) {
        self.iv.zeroize();
    }
}

impl HeaderKey {
    /// The mask of a first byte and a packet number (RFC 9001, sections 5.4.3 and 5.4.4).
    fn mask(&self, sample: [u8; 16]) -> Option<[u8; 5]> {
        let mut block = sample.into();
        match self {
            Self::Aes128(cipher) => cipher.encrypt_block(&mut block),
            Self::Aes256(cipher) => cipher.encrypt_block(&mut block),
            Self::ChaCha20(key) => {
                let (counter, nonce) = sample.split_first_chunk()?;
                let mut cipher = <ChaCha20 as KeyIvInit>::new_from_slices(&**key, nonce).ok()?;
                cipher.try_seek(u64::from(u32::from_le_bytes(*counter)).saturating_mul(64)).ok()?;
                let mut mask = [0; 5];
                cipher.try_apply_keystream(&mut mask).ok()?;
                return Some(mask);
            }
        }
        <[u8; 16]>::from(block).first_chunk().copied()
    }
}

/// The keys of 1-RTT of one side, with the phases around the current one.
pub(super) struct PhasedKeys {
    current: PacketKeys,
    phase: u8,
    previous: Option<PayloadKeys>,
    next: Option<PayloadKeys>,
}

impl From<PacketKeys> for PhasedKeys {
    fn from(keys: PacketKeys) -> Self {
        Self { current: keys, phase: 0, previous: None, next: None }
    }
}

impl PhasedKeys {
    /// Decrypts a packet with the keys of the next phase, which then is the current one.
    fn update(&mut self, packet: &[u8], header: &Header, phase: u8, out: &mut [u8]) -> Option<Range<usize>> {
        if self.next.is_none() {
            self.next = self.current.payload.next();
        }
        let frames = self.next.as_ref()?.open(packet, header, out)?;
        let next = self.next.take()?;
        self.previous = Some(std::mem::replace(&mut self.current.payload, next));
        self.phase = phase;
        Some(frames)
    }
}

impl Open for PhasedKeys {
    fn open(&mut self, packet: &[u8], number_offset: usize, out: &mut Vec<u8>) -> Option<Range<usize>> {
        let header = self.current.unmask(packet, number_offset, out)?;
        let phase = header.first & KEY_PHASE;
        let frames = if phase == self.phase {
            self.current.payload.open(packet, &header, out)?
        } else {
            let previous = self.previous.as_ref().and_then(|keys| keys.open(packet, &header, out));
            match previous {
                Some(frames) => frames,
                None => self.update(packet, &header, phase, out)?,
            }
        };
        self.current.largest = self.current.largest.max(Some(header.number));
        Some(frames)
    }

    fn suite(&self) -> Suite {
        self.current.suite()
    }

    fn set_largest(&mut self, largest: Option<u64>) {
        self.current.set_largest(largest);
    }
}

/// Omits the keys.
impl fmt::Debug for PacketKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketKeys").field("suite", &self.suite()).finish_non_exhaustive()
    }
}

/// Omits the keys.
impl fmt::Debug for PhasedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhasedKeys").field("phase", &self.phase).finish_non_exhaustive()
    }
}
