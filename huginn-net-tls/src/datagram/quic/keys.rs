//! Keys of Initial packets (RFC 9001, section 5.2) and packet decryption (sections 5.3 and 5.4).

use std::fmt;
use std::ops::Range;

use aes::Aes128Enc;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes_gcm::AesGcm;
use aes_gcm::aead::AeadInOut;
use aes_gcm::aead::consts::U12;
use hkdf::Hkdf;
use huginn_net_wire::Side;
use huginn_net_wire::quic::{full_packet_number, unmask_header};
use sha2::Sha256;

use super::packet::Initial;
use super::version::Protection;

pub(super) type Aes128Gcm = AesGcm<Aes128Enc, U12>;

/// Length of an authentication tag, in bytes.
const TAG_LEN: usize = 16;

/// The keys of one side for Initial packets. The AES key schedule is not stored: most flows decrypt only two packets
/// with it, and live longer.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) key: [u8; 16],
    pub(super) iv: [u8; 12],
    pub(super) header: [u8; 16],
}

/// The packet numbers of one side so far.
///
/// Any of these packets may have been discarded by the receiver, which then expands the next number in another way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketNumbers {
    first: Option<u64>,
    largest: Option<u64>,
}

impl PacketNumbers {
    pub(super) fn insert(&mut self, number: u64) {
        self.first.get_or_insert(number);
        self.largest = self.largest.max(Some(number));
    }

    /// The numbers that these low bytes may stand for, most likely first.
    fn candidates(self, truncated: u64, len: usize) -> [u64; 3] {
        [self.largest, None, self.first].map(|known| full_packet_number(truncated, len, known))
    }
}

/// A decrypted packet.
pub(super) struct Opened {
    pub(super) number: u64,
    /// The range of the frames in the copy of the packet.
    pub(super) frames: Range<usize>,
}

impl Keys {
    /// Derives a side's keys from the destination connection id of the client's first Initial packet.
    ///
    /// Never `None` in practice: HKDF fails only on secrets and keys of other lengths.
    pub(super) fn derive(protection: &Protection, destination: &[u8], side: Side) -> Option<Self> {
        let label: &[u8] = match side {
            Side::Client => b"tls13 client in",
            Side::Server => b"tls13 server in",
        };
        let initial = Hkdf::<Sha256>::new(Some(&protection.salt), destination);
        let secret: [u8; 32] = expand_label(&initial, label)?;
        let secret = Hkdf::<Sha256>::from_prk(&secret).ok()?;
        let labels = protection.labels;
        Some(Self {
            key: expand_label(&secret, labels.key)?,
            iv: expand_label(&secret, labels.iv)?,
            header: expand_label(&secret, labels.header)?,
        })
    }

    /// Decrypts a packet into a copy; `None` if these keys do not fit.
    ///
    /// `numbers` are the numbers of the same side so far.
    pub(super) fn open(
        &self,
        packet: &Initial<'_>,
        numbers: PacketNumbers,
        scratch: &mut Vec<u8>,
    ) -> Option<Opened> {
        scratch.clear();
        scratch.extend_from_slice(packet.bytes);
        let (truncated, number_len) =
            unmask_header(scratch, packet.number_offset, |sample| self.mask(sample))?;
        let header_len = packet.number_offset.checked_add(number_len)?;
        let (header, sealed) = scratch.split_at_mut_checked(header_len)?;
        let (frames, tag) = sealed.split_at_mut_checked(sealed.len().checked_sub(TAG_LEN)?)?;
        let tag: [u8; TAG_LEN] = <[u8; TAG_LEN]>::try_from(&*tag).ok()?;
        let cipher = Aes128Gcm::new(&self.key.into());
        let mut tried = None;
        for number in numbers.candidates(truncated, number_len) {
            if tried == Some(number) {
                continue;
            }
            tried = Some(number);
            let mut nonce = self.iv;
            for (byte, number) in nonce.iter_mut().rev().zip(number.to_le_bytes()) {
                *byte ^= number;
            }
            let frames = &mut *frames;
            let len = frames.len();
            if cipher.decrypt_inout_detached(&nonce.into(), header, frames.into(), &tag.into()).is_ok() {
                return Some(Opened { number, frames: header_len..header_len.saturating_add(len) });
            }
        }
        None
    }

    /// The mask of a first byte and a packet number (RFC 9001, section 5.4.3).
    fn mask(&self, sample: [u8; 16]) -> Option<[u8; 5]> {
        let mut mask = sample.into();
        Aes128Enc::new(&self.header.into()).encrypt_block(&mut mask);
        <[u8; 16]>::from(mask).first_chunk().copied()
    }
}

/// Omits the keys: they are public to any observer, but long.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

/// HKDF-Expand-Label (RFC 8446, section 7.1) with an empty context. The label includes its prefix.
fn expand_label<const N: usize>(secret: &Hkdf<Sha256>, label: &[u8]) -> Option<[u8; N]> {
    let mut key = [0; N];
    let len = u16::try_from(N).ok()?.to_be_bytes();
    let label_len = [u8::try_from(label.len()).ok()?];
    secret.expand_multi_info(&[&len, &label_len, label, &[0]], &mut key).ok()?;
    Some(key)
}
