//! AES-CBC with HMAC (RFC 5246, section 6.2.3.2; RFC 7366).

use std::ops::Range;

use aes::{Aes128Dec, Aes256Dec};
use cbc::Decryptor;
use cbc::cipher::{BlockModeDecrypt, KeyIvInit};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha384};
use zeroize::Zeroizing;

use super::suite::MacHash;

/// Length of a block and of the initialisation vector, in bytes.
const BLOCK_LEN: usize = 16;

/// The keys of one side.
pub(crate) struct Cbc {
    key: Zeroizing<Box<[u8]>>,
    mac_key: Zeroizing<Box<[u8]>>,
    hash: MacHash,
}

impl Cbc {
    /// The keys; `None` if one has the wrong length.
    pub(crate) fn new(hash: MacHash, mac_key: &[u8], key: &[u8]) -> Option<Self> {
        let fits = mac_key.len() == hash.len() && matches!(key.len(), 16 | 32);
        fits.then(|| Self { key: Zeroizing::new(key.into()), mac_key: Zeroizing::new(mac_key.into()), hash })
    }

    /// Decrypts a fragment in place. Returns the place of the content; `None` if it is not authentic.
    pub(crate) fn open(
        &self,
        sequence: u64,
        header: [u8; 3],
        fragment: &mut [u8],
        encrypts_first: bool,
    ) -> Option<Range<usize>> {
        let mac_len = self.hash.len();
        let sealed_len = if encrypts_first { fragment.len().checked_sub(mac_len)? } else { fragment.len() };
        let (sealed, mac) = fragment.split_at_mut_checked(sealed_len)?;
        if encrypts_first {
            self.verify(sequence, header, sealed, mac)?;
        }
        let (iv, content) = sealed.split_first_chunk_mut::<BLOCK_LEN>()?;
        let (blocks, rest) = content.as_chunks_mut::<BLOCK_LEN>();
        if !rest.is_empty() {
            return None;
        }
        match self.key.len() {
            16 => decrypt(Decryptor::<Aes128Dec>::new_from_slices(&self.key, iv).ok()?, blocks),
            _ => decrypt(Decryptor::<Aes256Dec>::new_from_slices(&self.key, iv).ok()?, blocks),
        }
        let padding = usize::from(*content.last()?).checked_add(1)?;
        let (before, padding) = content.split_at_checked(content.len().checked_sub(padding)?)?;
        if !padding.iter().all(|byte| usize::from(*byte) == padding.len().saturating_sub(1)) {
            return None;
        }
        let mut len = before.len();
        if !encrypts_first {
            let (text, mac) = before.split_at_checked(before.len().checked_sub(mac_len)?)?;
            self.verify(sequence, header, text, mac)?;
            len = text.len();
        }
        Some(BLOCK_LEN..BLOCK_LEN.checked_add(len)?)
    }

    /// Checks the MAC of a record with these bytes.
    fn verify(&self, sequence: u64, header: [u8; 3], bytes: &[u8], mac: &[u8]) -> Option<()> {
        let len = u16::try_from(bytes.len()).ok()?.to_be_bytes();
        let parts = [&sequence.to_be_bytes()[..], &header, &len, bytes];
        match self.hash {
            MacHash::Sha1 => verify::<Hmac<Sha1>>(&self.mac_key, parts, mac),
            MacHash::Sha256 => verify::<Hmac<Sha256>>(&self.mac_key, parts, mac),
            MacHash::Sha384 => verify::<Hmac<Sha384>>(&self.mac_key, parts, mac),
        }
    }
}

fn decrypt<D: BlockModeDecrypt<BlockSize = cbc::cipher::consts::U16>>(
    mut decryptor: D,
    blocks: &mut [[u8; BLOCK_LEN]],
) {
    for block in blocks {
        decryptor.decrypt_block(block.into());
    }
}

fn verify<M: Mac + KeyInit>(key: &[u8], parts: [&[u8]; 4], mac: &[u8]) -> Option<()> {
    let mut computed = <M as KeyInit>::new_from_slice(key).ok()?;
    parts.into_iter().for_each(|part| computed.update(part));
    computed.verify_slice(mac).ok()
}
