//! JA4 with hashed lists.

use std::fmt;
use std::str::{self, FromStr};

use sha2::{Digest, Sha256};

use super::error::{Ja4Field, Ja4ParseError, Scanner};
use super::head::Ja4Head;
use huginn_net_wire::byte_digits;

/// A JA4: a readable head and the hashes of two lists. `ja4_o` and `ja4_stable` have the same format.
///
/// ```
/// use huginn_net_tls::Ja4;
///
/// let ja4: Ja4 = "t13d1516h2_8daaf6152771_e5627efa2ab1".parse()?;
/// assert_eq!(ja4.head().cipher_count(), 15);
/// assert_eq!(ja4.cipher_hash().to_string(), "8daaf6152771");
/// assert_eq!(ja4.to_string(), "t13d1516h2_8daaf6152771_e5627efa2ab1");
/// # Ok::<(), huginn_net_tls::Ja4ParseError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ja4 {
    head: Ja4Head,
    cipher_hash: Ja4Hash,
    extension_hash: Ja4Hash,
}

impl Ja4 {
    /// Length of the text, in characters.
    pub const LEN: usize = 36;

    pub(super) const fn new(head: Ja4Head, cipher_hash: Ja4Hash, extension_hash: Ja4Hash) -> Self {
        Self { head, cipher_hash, extension_hash }
    }

    /// JA4_a.
    pub const fn head(&self) -> Ja4Head {
        self.head
    }

    /// JA4_b: the hash of the cipher suites.
    pub const fn cipher_hash(&self) -> Ja4Hash {
        self.cipher_hash
    }

    /// JA4_c: the hash of the extensions and signature algorithms.
    pub const fn extension_hash(&self) -> Ja4Hash {
        self.extension_hash
    }
}

impl Ja4 {
    /// Returns the [`Display`](fmt::Display) text as ASCII bytes.
    pub fn text(&self) -> [u8; Self::LEN] {
        let mut text = [b'_'; Self::LEN];
        let (head, hashes) = text.split_at_mut(Ja4Head::LEN);
        head.copy_from_slice(&self.head.text);
        for (target, hash) in hashes
            .chunks_exact_mut(Ja4Hash::LEN.saturating_add(1))
            .zip([self.cipher_hash, self.extension_hash])
        {
            if let Some((_separator, digits)) = target.split_first_mut() {
                digits.copy_from_slice(&hash.digits());
            }
        }
        text
    }
}

impl fmt::Display for Ja4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl fmt::Debug for Ja4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ja4({self})")
    }
}

impl FromStr for Ja4 {
    type Err = Ja4ParseError;

    fn from_str(text: &str) -> Result<Self, Ja4ParseError> {
        let mut scanner = Scanner::new(text);
        let head = Ja4Head::scan(&mut scanner)?;
        scanner.separator()?;
        let cipher_hash = Ja4Hash::scan(&mut scanner, Ja4Field::CipherHash)?;
        scanner.separator()?;
        let extension_hash = Ja4Hash::scan(&mut scanner, Ja4Field::ExtensionHash)?;
        scanner.end()?;
        Ok(Self { head, cipher_hash, extension_hash })
    }
}

/// The first six bytes of the SHA-256 of a list's text; zeros for an empty list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ja4Hash([u8; 6]);

impl Ja4Hash {
    /// Length of the text, in characters.
    pub const LEN: usize = 12;

    /// The hash of an empty list.
    pub const EMPTY: Self = Self([0; 6]);

    /// Hashes the text of a list, such as `1301,1302`.
    ///
    /// ```
    /// use huginn_net_tls::Ja4Hash;
    ///
    /// assert_eq!(Ja4Hash::from_list("1301,1302,1303").to_string(), "55b375c5d22e");
    /// assert_eq!(Ja4Hash::from_list(""), Ja4Hash::EMPTY);
    /// ```
    pub fn from_list(list: impl AsRef<[u8]>) -> Self {
        let list = list.as_ref();
        if list.is_empty() {
            return Self::EMPTY;
        }
        let digest: [u8; 32] = Sha256::digest(list).into();
        let [a, b, c, d, e, f, ..] = digest;
        Self([a, b, c, d, e, f])
    }

    /// The bytes of the hash.
    pub const fn as_bytes(&self) -> &[u8; 6] {
        &self.0
    }

    fn digits(self) -> [u8; Self::LEN] {
        let mut digits = [0; Self::LEN];
        for (target, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            target.copy_from_slice(&byte_digits(byte));
        }
        digits
    }

    fn scan(scanner: &mut Scanner<'_>, field: Ja4Field) -> Result<Self, Ja4ParseError> {
        let mut bytes = [0_u8; 6];
        for byte in &mut bytes {
            *byte = scanner.hex(field)? << 4;
            *byte |= scanner.hex(field)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Ja4Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(str::from_utf8(&self.digits()).unwrap_or_default())
    }
}

impl fmt::Debug for Ja4Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ja4Hash({self})")
    }
}
