//! JA3 and JA3S, the older fingerprints of TLS clients and servers.
//!
//! The definition is the `README.md` of Salesforce's `ja3`: decimal numbers in the order of the wire, `-` between
//! numbers and `,` between fields, and the MD5 of that text.

use std::cell::RefCell;
use std::fmt;
use std::str;
use std::sync::Arc;

use md5::{Digest, Md5};
use smallvec::SmallVec;

use crate::computed::Computed;
use crate::ja4::hex;
use crate::memo::Memo;
use crate::{ClientHello, ServerHello, is_grease};

/// Text being made. That of a usual hello needs no heap.
type Text = SmallVec<[u8; 1024]>;

/// A JA3: version of the hello itself, cipher suites, extensions, groups and point formats, GREASE left out.
///
/// A clone shares what it holds. Whoever wants the hash too has it cheapest from it, with [`Ja3::hash`].
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
/// let hello = ClientHello::from_message(&message, Transport::Tcp)?;
/// assert_eq!(hello.ja3().to_string(), "771,4865-4867,10,29,");
/// assert_eq!(hello.ja3_hash(), hello.ja3().hash());
/// # Ok::<(), huginn_net_tls::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Ja3(Arc<Ja3Parts>);

#[derive(PartialEq, Eq, Hash)]
struct Ja3Parts {
    text: String,
    hash: Computed<Ja3Hash>,
}

/// A JA3S: version of the hello itself, cipher suite, extensions.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Ja3s {
    text: Text,
}

/// The MD5 of a JA3 or JA3S. Displays as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ja3Hash(pub [u8; 16]);

impl ClientHello<'_> {
    /// JA3.
    pub fn ja3(&self) -> Ja3 {
        match self.known_fingerprints() {
            Some(known) => known.ja3().get_or_init(|| Ja3::of(self)).clone(),
            None => Ja3::of(self),
        }
    }

    /// The hash of JA3.
    pub fn ja3_hash(&self) -> Ja3Hash {
        self.ja3().hash()
    }
}

impl ServerHello<'_> {
    /// JA3S.
    pub fn ja3s(&self) -> Ja3s {
        let mut text = Text::new();
        push_number(&mut text, self.legacy_version().0);
        push_field(&mut text, [self.cipher_suite()].into_iter());
        push_field(&mut text, self.extensions().map(|extension| extension.kind));
        Ja3s { text }
    }

    /// The hash of JA3S.
    pub fn ja3s_hash(&self) -> Ja3Hash {
        self.ja3s().hash()
    }
}

impl Ja3 {
    pub(crate) fn of(hello: &ClientHello<'_>) -> Self {
        let known = |number: &u16| !is_grease(*number);
        let mut text = Text::new();
        push_number(&mut text, hello.legacy_version().0);
        push_field(&mut text, hello.cipher_suites().filter(known));
        push_field(&mut text, hello.extensions().map(|extension| extension.kind).filter(known));
        push_field(&mut text, hello.supported_groups().filter(known));
        push_field(&mut text, hello.ec_point_formats().iter().copied().map(u16::from));
        let text = str::from_utf8(&text).unwrap_or_default().to_owned();
        Self(Arc::new(Ja3Parts { text, hash: Computed::default() }))
    }

    /// The MD5 of the text.
    pub fn hash(&self) -> Ja3Hash {
        *self.0.hash.get_or_init(|| Ja3Hash::of(self.0.text.as_bytes()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }
}

impl Ja3s {
    /// The MD5 of the text.
    ///
    /// Each thread remembers the hashes of texts that it has seen, in 40 KB.
    pub fn hash(&self) -> Ja3Hash {
        let compute = || Ja3Hash::of(&self.text);
        Memo::recall(&SERVER_HASHES, &self.text, compute).unwrap_or_else(compute)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.text).unwrap_or_default()
    }
}

impl Ja3Hash {
    fn of(text: &[u8]) -> Self {
        Self(Md5::digest(text).into())
    }
}

thread_local! {
    static SERVER_HASHES: RefCell<Memo<Ja3Hash, 64>> = RefCell::new(Memo::new());
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

impl fmt::Debug for Ja3s {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ja3s({self})")
    }
}

impl fmt::Display for Ja3Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 32];
        for (place, bytes) in digits.chunks_exact_mut(4).zip(self.0.chunks_exact(2)) {
            let number = u16::from_be_bytes(bytes.try_into().unwrap_or_default());
            place.copy_from_slice(&hex::digits_of(number));
        }
        f.pad(str::from_utf8(&digits).unwrap_or_default())
    }
}

impl fmt::Debug for Ja3Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ja3Hash({self})")
    }
}

fn push_field(text: &mut Text, numbers: impl Iterator<Item = u16>) {
    text.push(b',');
    let empty = text.len();
    // Numbers that are not in the text yet: it grows by many at once.
    let (mut ready, mut len) = ([0; 256], 0_usize);
    for number in numbers {
        let (digits, count) = digits_of(number);
        if len.saturating_add(digits.len()) > ready.len() {
            text.extend_from_slice(ready.get(..len).unwrap_or_default());
            len = 0;
        }
        if let Some(place) = ready.get_mut(len..).and_then(|rest| rest.first_chunk_mut()) {
            *place = digits;
        }
        len = len.saturating_add(count).saturating_add(1);
    }
    text.extend_from_slice(ready.get(..len).unwrap_or_default());
    if text.len() > empty {
        text.pop();
    }
}

fn push_number(text: &mut Text, number: u16) {
    let (digits, count) = digits_of(number);
    text.extend_from_slice(digits.get(..count).unwrap_or_default());
}

/// The decimal digits of a number, with a `-` behind them, and how many they are. All at once: a digit is a byte of a
/// word, the first one the lowest.
fn digits_of(number: u16) -> ([u8; 8], usize) {
    let number = u64::from(number);
    let (first, rest) = (number / 10_000, number % 10_000);
    let pairs = (rest / 100) | (rest % 100) << 16;
    // A tenth of both: 103 / 1024 is near enough below 100.
    let tens = (pairs.wrapping_mul(103) >> 10) & 0x000f_000f;
    let ones = pairs.wrapping_sub(tens.wrapping_mul(10));
    let values = first | tens << 8 | ones << 16;
    // The last digit stays, even if it is zero.
    let zeros = (values | 1 << 32).trailing_zeros() / 8;
    let word = values | u64::from_le_bytes(*b"00000-\0\0");
    (word.wrapping_shr(zeros.wrapping_mul(8)).to_le_bytes(), 5_usize.saturating_sub(zeros as usize))
}

#[cfg(test)]
mod tests {
    use super::{Text, push_field, push_number};

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for number in 0..=u16::MAX {
            let mut text = Text::new();
            push_number(&mut text, number);
            assert_eq!(std::str::from_utf8(&text), Ok(number.to_string().as_str()));
        }
    }

    #[test]
    fn a_field_may_be_longer_than_what_is_written_at_once() {
        let numbers = [7, 65_535, 0, 10].into_iter().cycle().take(500);
        let mut text = Text::new();
        push_field(&mut text, numbers.clone());
        let wanted: Vec<_> = numbers.map(|number: u16| number.to_string()).collect();
        assert_eq!(std::str::from_utf8(&text), Ok(format!(",{}", wanted.join("-")).as_str()));
    }

    #[test]
    fn an_empty_field_keeps_its_comma() {
        let mut text = Text::new();
        push_field(&mut text, [].into_iter());
        push_field(&mut text, [7, 0, 65_535].into_iter());
        assert_eq!(text.as_slice(), b",,7-0-65535");
    }
}
