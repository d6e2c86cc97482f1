//! Decryption of records.

use std::fmt;
use std::ops::Range;

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes128Enc, Aes256Enc};
use aes_gcm::AesGcm;
use aes_gcm::aead::consts::U12;
use aes_gcm::aead::{AeadInOut, Nonce, Tag};
use ccm::Ccm;
use ccm::consts::{U8, U16};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use chacha20poly1305::ChaCha20Poly1305;
use zeroize::{Zeroize, Zeroizing};

use super::cbc::Cbc;
use super::derive::expand_label;
use super::suite::{Cipher, Hash, Suite};
use crate::secrets::Secret;

/// Length of an AES block, in bytes.
const BLOCK_LEN: usize = 16;

/// Decrypts the records of one side, in their order.
pub(crate) struct RecordCipher {
    key: Key,
    /// The nonce, or its implicit part.
    iv: [u8; 12],
    form: Form,
    cipher: Cipher,
    sequence: u64,
    /// The traffic secret of TLS 1.3, from which the next one comes.
    secret: Option<(Hash, Secret)>,
}

/// How a record is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// TLS 1.2, with 8 bytes of the nonce in the record.
    ExplicitNonce,
    /// TLS 1.2 with ChaCha20-Poly1305.
    Tls12,
    /// TLS 1.2 with CBC.
    MacThenEncrypt,
    /// TLS 1.2 with CBC and the extension encrypt_then_mac (RFC 7366).
    EncryptThenMac,
    /// TLS 1.3: the type is encrypted, and may be followed by padding.
    Tls13,
}

/// The cipher of records or packets, with its key.
pub(crate) enum Key {
    Aes128Gcm(Box<AesGcm<Aes128Enc, U12>>, Box<Aes128Enc>),
    Aes256Gcm(Box<AesGcm<Aes256Enc, U12>>, Box<Aes256Enc>),
    Aes128Ccm(Box<Ccm<Aes128Enc, U16, U12>>),
    Aes256Ccm(Box<Ccm<Aes256Enc, U16, U12>>),
    Aes128Ccm8(Box<Ccm<Aes128Enc, U8, U12>>),
    Aes256Ccm8(Box<Ccm<Aes256Enc, U8, U12>>),
    ChaCha20Poly1305(Box<ChaCha20Poly1305>, Zeroizing<[u8; 32]>),
    Cbc(Box<Cbc>),
}

/// The plaintext of a record.
pub(crate) struct Opened {
    pub(crate) kind: u8,
    /// Its place in the fragment.
    pub(crate) place: Range<usize>,
}

impl RecordCipher {
    /// The cipher of a traffic secret of TLS 1.3; `None` if the secret does not fit.
    pub(crate) fn tls13(suite: Suite, secret: &Secret) -> Option<Self> {
        let Suite { cipher, hash } = suite;
        if secret.len() != hash.len() {
            return None;
        }
        let mut key = Zeroizing::new([0; 32]);
        let key = key.get_mut(..cipher.key_len())?;
        let mut iv = [0; 12];
        expand_label(hash, secret, b"key", key)?;
        expand_label(hash, secret, b"iv", &mut iv)?;
        let secret = Some((hash, secret.clone()));
        Some(Self { key: Key::new(cipher, key)?, iv, form: Form::Tls13, cipher, sequence: 0, secret })
    }

    /// The cipher of TLS 1.2 with these keys and this implicit part of the nonce.
    pub(crate) fn tls12(
        cipher: Cipher,
        [mac, key, implicit]: [&[u8]; 3],
        encrypts_first: bool,
    ) -> Option<Self> {
        let mut iv = [0; 12];
        iv.get_mut(..implicit.len())?.copy_from_slice(implicit);
        let (form, key) = match cipher {
            Cipher::ChaCha20Poly1305 => (Form::Tls12, Key::new(cipher, key)?),
            Cipher::Aes128Cbc(hash) | Cipher::Aes256Cbc(hash) => {
                let form = if encrypts_first { Form::EncryptThenMac } else { Form::MacThenEncrypt };
                (form, Key::Cbc(Box::new(Cbc::new(hash, mac, key)?)))
            }
            _ => (Form::ExplicitNonce, Key::new(cipher, key)?),
        };
        Some(Self { key, iv, form, cipher, sequence: 0, secret: None })
    }

    /// The cipher after a KeyUpdate message (RFC 8446, section 7.2).
    pub(crate) fn updated(&self) -> Option<Self> {
        let (hash, secret) = self.secret.as_ref()?;
        let mut next: Secret = Zeroizing::new(vec![0; hash.len()].into());
        expand_label(*hash, secret, b"traffic upd", &mut next)?;
        Self::tls13(Suite { cipher: self.cipher, hash: *hash }, &next)
    }

    /// Returns the nonce of the next record, and the offset of its ciphertext.
    fn nonce(&self, fragment: &[u8]) -> Option<([u8; 12], usize)> {
        let mut nonce = self.iv;
        match self.form {
            Form::ExplicitNonce => {
                let explicit: &[u8; 8] = fragment.first_chunk()?;
                nonce.last_chunk_mut::<8>()?.copy_from_slice(explicit);
                Some((nonce, 8))
            }
            Form::MacThenEncrypt | Form::EncryptThenMac => None,
            Form::Tls12 | Form::Tls13 => {
                for (byte, number) in nonce.iter_mut().rev().zip(self.sequence.to_le_bytes()) {
                    *byte ^= number;
                }
                Some((nonce, 0))
            }
        }
    }

    /// Returns the number of bytes of plaintext in a record of the application, if it is known without decrypting all of it.
    ///
    /// With TLS 1.3, the end of the content shows its type, and whether there is padding.
    pub(crate) fn plaintext_len(&self, fragment: &[u8]) -> Option<usize> {
        let (nonce, start) = self.nonce(fragment)?;
        let len = fragment.len().checked_sub(start)?.checked_sub(self.cipher.tag_len())?;
        if self.form != Form::Tls13 {
            return Some(len);
        }
        const APPLICATION_DATA: u8 = 23;
        let last = len.checked_sub(1)?;
        let key = self.key.keystream(&nonce, last)?;
        (fragment.get(last)? ^ key == APPLICATION_DATA).then_some(last)
    }

    /// Passes over a record without decrypting it.
    pub(crate) fn skip(&mut self) {
        self.sequence = self.sequence.saturating_add(1);
    }

    /// Decrypts a fragment in place; `None` if it is not authentic. The sequence number then stays.
    pub(crate) fn open(&mut self, header: [u8; 5], fragment: &mut [u8]) -> Option<Opened> {
        if let Key::Cbc(cbc) = &self.key {
            let [kind, major, minor, ..] = header;
            let place =
                cbc.open(self.sequence, [kind, major, minor], fragment, self.form == Form::EncryptThenMac)?;
            self.skip();
            return Some(Opened { kind, place });
        }
        let (nonce, start) = self.nonce(fragment)?;
        let sealed = fragment.get_mut(start..)?;
        let (content, tag) = sealed.split_at_mut_checked(sealed.len().checked_sub(self.cipher.tag_len())?)?;
        let [kind, major, minor, ..] = header;
        if self.form == Form::Tls13 {
            self.key.open(&nonce, &header, content, tag)?;
            self.skip();
            let end = content.iter().rposition(|byte| *byte != 0)?;
            return Some(Opened { kind: *content.get(end)?, place: 0..end });
        }
        let mut data = [0; 13];
        data.first_chunk_mut::<8>()?.copy_from_slice(&self.sequence.to_be_bytes());
        let len = u16::try_from(content.len()).ok()?.to_be_bytes();
        data.last_chunk_mut::<5>()?.copy_from_slice(&[kind, major, minor, len[0], len[1]]);
        self.key.open(&nonce, &data, content, tag)?;
        self.skip();
        Some(Opened { kind, place: start..start.saturating_add(content.len()) })
    }
}

/// Zeroes the nonce, too.
impl Drop for RecordCipher {
    fn drop(&mut self) {
        self.iv.zeroize();
    }
}

/// Omits the keys.
impl fmt::Debug for RecordCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordCipher").field("cipher", &self.cipher).finish_non_exhaustive()
    }
}

impl Key {
    /// The cipher with this key; `None` if it has another length.
    pub(crate) fn new(cipher: Cipher, key: &[u8]) -> Option<Self> {
        Some(match cipher {
            Cipher::Aes128Gcm => Self::Aes128Gcm(
                Box::new(KeyInit::new_from_slice(key).ok()?),
                Box::new(KeyInit::new_from_slice(key).ok()?),
            ),
            Cipher::Aes256Gcm => Self::Aes256Gcm(
                Box::new(KeyInit::new_from_slice(key).ok()?),
                Box::new(KeyInit::new_from_slice(key).ok()?),
            ),
            Cipher::Aes128Ccm => Self::Aes128Ccm(Box::new(KeyInit::new_from_slice(key).ok()?)),
            Cipher::Aes256Ccm => Self::Aes256Ccm(Box::new(KeyInit::new_from_slice(key).ok()?)),
            Cipher::Aes128Ccm8 => Self::Aes128Ccm8(Box::new(KeyInit::new_from_slice(key).ok()?)),
            Cipher::Aes256Ccm8 => Self::Aes256Ccm8(Box::new(KeyInit::new_from_slice(key).ok()?)),
            Cipher::ChaCha20Poly1305 => {
                let bytes = Zeroizing::new(<[u8; 32]>::try_from(key).ok()?);
                Self::ChaCha20Poly1305(Box::new(KeyInit::new_from_slice(key).ok()?), bytes)
            }
            Cipher::Aes128Cbc(_) | Cipher::Aes256Cbc(_) => return None,
        })
    }

    /// Decrypts in place; `None` if the content is not authentic, which is then changed.
    pub(crate) fn open(&self, nonce: &[u8; 12], data: &[u8], content: &mut [u8], tag: &[u8]) -> Option<()> {
        match self {
            Self::Aes128Gcm(cipher, _) => open(&**cipher, nonce, data, content, tag),
            Self::Aes256Gcm(cipher, _) => open(&**cipher, nonce, data, content, tag),
            Self::Aes128Ccm(cipher) => open(&**cipher, nonce, data, content, tag),
            Self::Aes256Ccm(cipher) => open(&**cipher, nonce, data, content, tag),
            Self::Aes128Ccm8(cipher) => open(&**cipher, nonce, data, content, tag),
            Self::Aes256Ccm8(cipher) => open(&**cipher, nonce, data, content, tag),
            Self::ChaCha20Poly1305(cipher, _) => open(&**cipher, nonce, data, content, tag),
            Self::Cbc(_) => None,
        }
    }

    /// Returns a byte of the key stream. `None` for AES-CCM, which few connections use.
    fn keystream(&self, nonce: &[u8; 12], offset: usize) -> Option<u8> {
        let block = || {
            // NIST SP 800-38D, section 7.1: the content begins with the second block.
            let number = u32::try_from(offset / BLOCK_LEN).ok()?.checked_add(2)?;
            let mut block = [0; BLOCK_LEN];
            block.first_chunk_mut::<12>()?.copy_from_slice(nonce);
            block.last_chunk_mut::<4>()?.copy_from_slice(&number.to_be_bytes());
            Some(block)
        };
        match self {
            Self::Aes128Gcm(_, cipher) => {
                let mut block = block()?.into();
                cipher.encrypt_block(&mut block);
                block.get(offset % BLOCK_LEN).copied()
            }
            Self::Aes256Gcm(_, cipher) => {
                let mut block = block()?.into();
                cipher.encrypt_block(&mut block);
                block.get(offset % BLOCK_LEN).copied()
            }
            Self::ChaCha20Poly1305(_, key) => {
                // RFC 8439, section 2.8: the content begins with the second block of 64 bytes.
                let mut cipher = <ChaCha20 as KeyIvInit>::new_from_slices(&**key, nonce).ok()?;
                cipher.try_seek(offset.checked_add(64)?).ok()?;
                let mut byte = [0];
                cipher.try_apply_keystream(&mut byte).ok()?;
                let [byte] = byte;
                Some(byte)
            }
            Self::Aes128Ccm(_)
            | Self::Aes256Ccm(_)
            | Self::Aes128Ccm8(_)
            | Self::Aes256Ccm8(_)
            | Self::Cbc(_) => None,
        }
    }
}

fn open<A: AeadInOut>(
    cipher: &A,
    nonce: &[u8; 12],
    data: &[u8],
    content: &mut [u8],
    tag: &[u8],
) -> Option<()> {
    let nonce = Nonce::<A>::try_from(&nonce[..]).ok()?;
    let tag = Tag::<A>::try_from(tag).ok()?;
    cipher.decrypt_inout_detached(&nonce, data, content.into(), &tag).ok()
}
