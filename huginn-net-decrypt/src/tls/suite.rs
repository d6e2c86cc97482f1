//! Cipher suites (IANA, TLS Cipher Suites).

/// A cipher of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    Aes128Ccm,
    Aes256Ccm,
    /// With a tag of 8 bytes.
    Aes128Ccm8,
    Aes256Ccm8,
    ChaCha20Poly1305,
    /// AES-CBC with HMAC, up to TLS 1.2.
    Aes128Cbc(MacHash),
    Aes256Cbc(MacHash),
}

/// The hash of the HMAC of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MacHash {
    Sha1,
    Sha256,
    Sha384,
}

/// The hash of key derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha256,
    Sha384,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    pub(crate) cipher: Cipher,
    pub(crate) hash: Hash,
}

/// The suites of TLS 1.3, most common first.
pub(crate) const TLS_1_3: [u16; 5] = [0x1301, 0x1302, 0x1303, 0x1304, 0x1305];

impl Cipher {
    pub(crate) fn key_len(self) -> usize {
        match self {
            Self::Aes128Gcm | Self::Aes128Ccm | Self::Aes128Ccm8 | Self::Aes128Cbc(_) => 16,
            Self::Aes256Gcm
            | Self::Aes256Ccm
            | Self::Aes256Ccm8
            | Self::ChaCha20Poly1305
            | Self::Aes256Cbc(_) => 32,
        }
    }

    /// Length of the authentication tag, in bytes; 0 for CBC.
    pub(crate) fn tag_len(self) -> usize {
        match self {
            Self::Aes128Ccm8 | Self::Aes256Ccm8 => 8,
            Self::Aes128Cbc(_) | Self::Aes256Cbc(_) => 0,
            _ => 16,
        }
    }

    /// Length of the key of the HMAC, in bytes; 0 for ciphers that authenticate.
    pub(crate) fn mac_len(self) -> usize {
        match self {
            Self::Aes128Cbc(mac) | Self::Aes256Cbc(mac) => mac.len(),
            _ => 0,
        }
    }

    /// Length of the part of the nonce that comes from the keys of TLS 1.2, in bytes.
    pub(crate) fn implicit_len(self) -> usize {
        match self {
            Self::Aes128Cbc(_) | Self::Aes256Cbc(_) => 0,
            Self::ChaCha20Poly1305 => 12,
            _ => 4,
        }
    }
}

impl MacHash {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }
}

impl Hash {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }
}

impl Suite {
    /// The suite with this number; `None` if it is not supported.
    pub(crate) fn from_number(number: u16) -> Option<Self> {
        use Cipher::*;
        let cipher = match number {
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
            // RFC 5246, RFC 8422, RFC 4279, RFC 5489: HMAC-SHA-1.
            0x002f..=0x0034
            | 0xc004
            | 0xc009
            | 0xc00e
            | 0xc013
            | 0xc018
            | 0x008c
            | 0x0090
            | 0x0094
            | 0xc035 => Aes128Cbc(MacHash::Sha1),
            0x0035..=0x003a
            | 0xc005
            | 0xc00a
            | 0xc00f
            | 0xc014
            | 0xc019
            | 0x008d
            | 0x0091
            | 0x0095
            | 0xc036 => Aes256Cbc(MacHash::Sha1),
            // RFC 5246, RFC 5289, RFC 5487, RFC 5489: HMAC-SHA-2.
            0x003c
            | 0x003e..=0x0040
            | 0x0067
            | 0x006c
            | 0xc023
            | 0xc025
            | 0xc027
            | 0xc029
            | 0x00ae
            | 0x00b2
            | 0x00b6
            | 0xc037 => Aes128Cbc(MacHash::Sha256),
            0x003d | 0x0068..=0x006b | 0x006d => Aes256Cbc(MacHash::Sha256),
            0xc024 | 0xc026 | 0xc028 | 0xc02a | 0x00af | 0x00b3 | 0x00b7 | 0xc038 => {
                Aes256Cbc(MacHash::Sha384)
            }
            _ => return None,
        };
        let hash = if matches!(cipher, Aes256Gcm | Aes256Cbc(MacHash::Sha384)) {
            Hash::Sha384
        } else {
            Hash::Sha256
        };
        Some(Self { cipher, hash })
    }
}
