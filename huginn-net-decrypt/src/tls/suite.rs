//! Cipher suites (IANA, TLS Cipher Suites).

/// A cipher that authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aead {
    Aes128Gcm,
    Aes256Gcm,
    Aes128Ccm,
    Aes256Ccm,
    /// With a tag of 8 bytes.
    Aes128Ccm8,
    Aes256Ccm8,
    ChaCha20Poly1305,
}

/// The hash of key derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Sha256,
    Sha384,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Suite {
    pub(super) aead: Aead,
    pub(super) hash: Hash,
}

/// The suites of TLS 1.3, most common first.
pub(super) const TLS_1_3: [u16; 5] = [0x1301, 0x1302, 0x1303, 0x1304, 0x1305];

impl Aead {
    pub(super) fn key_len(self) -> usize {
        match self {
            Self::Aes128Gcm | Self::Aes128Ccm | Self::Aes128Ccm8 => 16,
            Self::Aes256Gcm | Self::Aes256Ccm | Self::Aes256Ccm8 | Self::ChaCha20Poly1305 => 32,
        }
    }

    pub(super) fn tag_len(self) -> usize {
        if matches!(self, Self::Aes128Ccm8 | Self::Aes256Ccm8) { 8 } else { 16 }
    }
}

impl Hash {
    pub(super) fn len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }
}

impl Suite {
    /// The suite with this number; `None` if it is not supported.
    pub(super) fn from_number(number: u16) -> Option<Self> {
        use Aead::*;
        let aead = match number {
            0x1301 => Aes128Gcm,
            0x1302 => Aes256Gcm,
            0x1303 => ChaCha20Poly1305,
            0x1304 => Aes128Ccm,
            0x1305 => Aes128Ccm8,
            // RFC 5288, RFC 5487: even numbers have AES-128.
            0x009c..=0x00ad => {
                if number & 1 == 0 {
                    Aes128Gcm
                } else {
                    Aes256Gcm
                }
            }
            // RFC 5289, RFC 8442.
            0xc02b | 0xc02d | 0xc02f | 0xc031 | 0xd001 => Aes128Gcm,
            0xc02c | 0xc02e | 0xc030 | 0xc032 | 0xd002 => Aes256Gcm,
            // RFC 6655, RFC 7251, RFC 8442.
            0xc09c | 0xc09e | 0xc0a4 | 0xc0a6 | 0xc0ac | 0xd005 => Aes128Ccm,
            0xc09d | 0xc09f | 0xc0a5 | 0xc0a7 | 0xc0ad => Aes256Ccm,
            0xc0a0 | 0xc0a2 | 0xc0a8 | 0xc0aa | 0xc0ae | 0xd003 => Aes128Ccm8,
            0xc0a1 | 0xc0a3 | 0xc0a9 | 0xc0ab | 0xc0af => Aes256Ccm8,
            // RFC 7905.
            0xcca8..=0xccae => ChaCha20Poly1305,
            _ => return None,
        };
        let hash = if aead == Aes256Gcm { Hash::Sha384 } else { Hash::Sha256 };
        Some(Self { aead, hash })
    }
}
