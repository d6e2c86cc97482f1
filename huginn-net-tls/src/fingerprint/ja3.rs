//! JA3 and JA3S, the predecessors of JA4.
//!
//! The definition is the `README.md` of Salesforce's `ja3`: decimal numbers in wire order, with `-` between numbers and
//! `,` between fields, and the MD5 of that text.

use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::{self, FromStr};
use std::sync::Arc;

use huginn_net_wire::{SeenCache, md5_digits, md5_from_digits};
use md5::{Digest, Md5};

use super::decimal::Decimals;
use crate::computed::Computed;
use crate::hello::{ClientHello, ServerHello, is_no_grease};
use crate::limits::{FINGERPRINT_CACHE_ENTRIES, MAX_CACHED_JA3S_LEN, TYPICAL_JA3S_LEN};

/// A JA3: `legacy_version`, cipher suites, extensions, groups and point formats, without GREASE.
///
/// Clones share memory. To get text and hash, compute the hash from this value with [`Ja3::hash`].
///
/// ```
/// use huginn_net_tls::{ClientHello, Transport};
///
/// let message = [
///     1, 0, 0, 53, 3, 3, // a ClientHello of TLS 1.2
///     1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
///     30, 31, 32, 0, // random, no session
///     0, 4, 0x13, 1, 0x13, 3, 1, 0, // two cipher suites, one compression method
///     0, 8, 0, 10, 0, 4, 0, 2, 0, 29, // supported_groups: x25519
/// ];
/// let hello = ClientHello::from_message(&message, Transport::Tls)?.expect("a complete message").value;
/// assert_eq!(hello.ja3().to_string(), "771,4865-4867,10,29,");
/// assert_eq!(hello.ja3_hash(), hello.ja3().hash());
/// # Ok::<(), huginn_net_tls::TlsError>(())
/// ```
#[derive(Clone)]
pub struct Ja3(Arc<Ja3Parts>);

struct Ja3Parts {
    text: String,
    /// The shared start of the text, if cached.
    frame: Option<Arc<Ja3Frame>>,
    hash: Computed<Ja3Hash>,
}

/// The parts of a JA3 before and after the extensions, which do not change if a client shuffles its extensions.
pub(crate) struct Ja3Frame {
    before: Vec<u8>,
    behind: Vec<u8>,
    /// The MD5 state after the part before the extensions.
    begun: Md5,
}

/// A JA3S: `legacy_version`, cipher suite and extensions.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Ja3s {
    text: String,
}

/// The MD5 of a JA3 or JA3S. Displays as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ja3Hash(pub [u8; 16]);

impl ClientHello<'_> {
    /// The JA3 text.
    pub fn ja3(&self) -> Ja3 {
        self.cached().ja3(self)
    }

    /// The JA3 hash.
    pub fn ja3_hash(&self) -> Ja3Hash {
        self.ja3().hash()
    }
}

impl ServerHello<'_> {
    /// The JA3S text.
    pub fn ja3s(&self) -> Ja3s {
        let mut text = Vec::with_capacity(TYPICAL_JA3S_LEN);
        push_number(&mut text, self.legacy_version().0);
        push_field(&mut text, [self.cipher_suite()].into_iter());
        push_field(&mut text, self.extensions().map(|extension| extension.kind));
        Ja3s { text: String::from_utf8(text).unwrap_or_default() }
    }

    /// The JA3S hash.
    pub fn ja3s_hash(&self) -> Ja3Hash {
        self.ja3s().hash()
    }
}

impl Ja3 {
    pub(crate) fn from_hello(hello: &ClientHello<'_>) -> Self {
        let numbers = hello.cipher_suites().len().saturating_add(hello.supported_groups().len());
        let mut text = Vec::with_capacity(numbers.saturating_mul(6).saturating_add(128));
        push_before_extensions(&mut text, hello);
        push_extensions(&mut text, hello);
        push_after_extensions(&mut text, hello);
        Self::new(text, None)
    }

    fn new(text: Vec<u8>, frame: Option<Arc<Ja3Frame>>) -> Self {
        let text = String::from_utf8(text).unwrap_or_default();
        Self(Arc::new(Ja3Parts { text, frame, hash: Computed::default() }))
    }

    /// The MD5 of the text.
    pub fn hash(&self) -> Ja3Hash {
        let Ja3Parts { text, frame, hash } = &*self.0;
        *hash.get_or_init(|| match frame {
            Some(frame) => frame.hash_text(text.as_bytes()),
            None => Ja3Hash::from_text(text.as_bytes()),
        })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }
}

impl Ja3Frame {
    pub(crate) fn from_hello(hello: &ClientHello<'_>) -> Self {
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        push_before_extensions(&mut before, hello);
        push_after_extensions(&mut behind, hello);
        let begun = Md5::new_with_prefix(&before);
        Self { before, behind, begun }
    }

    /// The JA3 of a hello with this version and these lists, and any order of extensions.
    pub(crate) fn ja3(frame: &Arc<Self>, hello: &ClientHello<'_>) -> Ja3 {
        let around = frame.before.len().saturating_add(frame.behind.len());
        let mut text = Vec::with_capacity(around.saturating_add(128));
        text.extend_from_slice(&frame.before);
        push_extensions(&mut text, hello);
        text.extend_from_slice(&frame.behind);
        Ja3::new(text, Some(Arc::clone(frame)))
    }

    /// The MD5 of a text that starts with the part before the extensions.
    fn hash_text(&self, text: &[u8]) -> Ja3Hash {
        let rest = text.get(self.before.len()..).unwrap_or_default();
        Ja3Hash(self.begun.clone().chain_update(rest).finalize().into())
    }
}

impl PartialEq for Ja3 {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Ja3 {}

impl Hash for Ja3 {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Ja3s {
    /// The MD5 of the text.
    ///
    /// Each thread caches the hashes of 256 repeated texts of up to 64 bytes, in 40 KB.
    pub fn hash(&self) -> Ja3Hash {
        let text = self.text.as_bytes();
        let compute = || Ja3Hash::from_text(text);
        let is_short = text.len() <= MAX_CACHED_JA3S_LEN;
        let cached = is_short.then(|| SeenCache::recall(&SERVER_HASHES, text, compute)).flatten();
        cached.unwrap_or_else(compute)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Ja3Hash {
    /// Hashes the text of a JA3 or JA3S.
    ///
    /// ```
    /// use huginn_net_tls::Ja3Hash;
    ///
    /// assert_eq!(Ja3Hash::from_text("771,4865,,,").to_string(), "ea1e247991e541e39bf918cb7cfa5139");
    /// ```
    pub fn from_text(text: impl AsRef<[u8]>) -> Self {
        Self(Md5::digest(text.as_ref()).into())
    }
}

thread_local! {
    static SERVER_HASHES: RefCell<SeenCache<[u8], Ja3Hash>> = RefCell::new(SeenCache::new(FINGERPRINT_CACHE_ENTRIES));
}

impl fmt::Display for Ja3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Ja3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ja3({self})")
    }
}

impl fmt::Display for Ja3s {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Ja3Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, behind] =
            [&self.before, &self.behind].map(|text| str::from_utf8(text).unwrap_or_default());
        write!(f, "Ja3Frame({before} {behind})")
    }
}

impl fmt::Debug for Ja3s {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ja3s({self})")
    }
}

/// A text that is not the 32 hexadecimal digits of an MD5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JA3 hash: expected 32 hexadecimal digits")]
#[non_exhaustive]
pub struct Ja3HashParseError;

impl FromStr for Ja3Hash {
    type Err = Ja3HashParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        md5_from_digits(text).map(Self).ok_or(Ja3HashParseError)
    }
}

impl fmt::Display for Ja3Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(str::from_utf8(&md5_digits(self.0)).unwrap_or_default())
    }
}

impl fmt::Debug for Ja3Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ja3Hash({self})")
    }
}

/// Appends the version and the cipher suites.
fn push_before_extensions(text: &mut Vec<u8>, hello: &ClientHello<'_>) {
    push_number(text, hello.legacy_version().0);
    push_field(text, hello.cipher_suites().filter(is_no_grease));
    text.push(b',');
}

fn push_extensions(text: &mut Vec<u8>, hello: &ClientHello<'_>) {
    push_numbers(text, hello.kinds());
}

/// Appends the groups and the point formats.
fn push_after_extensions(text: &mut Vec<u8>, hello: &ClientHello<'_>) {
    push_field(text, hello.supported_groups().filter(is_no_grease));
    push_field(text, hello.ec_point_formats().iter().copied().map(u16::from));
}

fn push_field(text: &mut Vec<u8>, numbers: impl Iterator<Item = u16>) {
    text.push(b',');
    push_numbers(text, numbers);
}

/// Appends numbers, separated by `-`.
fn push_numbers(text: &mut Vec<u8>, numbers: impl Iterator<Item = u16>) {
    let empty = text.len();
    // Collects numbers first, so that the text grows by many at once.
    let (mut ready, mut len) = ([0; 256], 0_usize);
    let decimals = Decimals::shared();
    for number in numbers {
        let written = decimals.get(number);
        if let Some(target) = ready.get_mut(len..).and_then(|rest| rest.first_chunk_mut()) {
            *target = written.bytes;
        } else {
            text.extend_from_slice(ready.get(..len).unwrap_or_default());
            len = 0;
            if let Some(target) = ready.first_chunk_mut() {
                *target = written.bytes;
            }
        }
        len = len.saturating_add(written.len());
    }
    text.extend_from_slice(ready.get(..len).unwrap_or_default());
    if text.len() > empty {
        text.pop();
    }
}

fn push_number(text: &mut Vec<u8>, number: u16) {
    text.extend_from_slice(Decimals::shared().get(number).digits());
}

#[cfg(test)]
mod tests {
    use super::push_field;

    #[test]
    fn field_may_exceed_write_batch() {
        let numbers = [7, 65_535, 0, 10].into_iter().cycle().take(500);
        let mut text = Vec::new();
        push_field(&mut text, numbers.clone());
        let wanted: Vec<_> = numbers.map(|number: u16| number.to_string()).collect();
        assert_eq!(std::str::from_utf8(&text), Ok(format!(",{}", wanted.join("-")).as_str()));
    }

    #[test]
    fn empty_field_keeps_comma() {
        let mut text = Vec::new();
        push_field(&mut text, [].into_iter());
        push_field(&mut text, [7, 0, 65_535].into_iter());
        assert_eq!(text.as_slice(), b",,7-0-65535");
    }
}
