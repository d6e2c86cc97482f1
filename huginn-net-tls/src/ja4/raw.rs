//! JA4 with its lists in full.

use std::cell::RefCell;
use std::fmt;
use std::str::{self, FromStr};

use smallvec::SmallVec;

use super::Ja4Form;
use super::error::{Ja4Field, Ja4ParseError, Scanner};
use super::fingerprint::{Ja4, Ja4Hash};
use super::head::Ja4Head;
use super::hex::{self, Text};
use crate::digest_memo::DigestMemo;
use crate::extension::extension_type as kind;
use crate::{ClientHello, is_grease};

/// A JA4 with its lists in full: `ja4_r`, `ja4_ro` or `ja4_s1r`. Text is made only when it is displayed.
///
/// Read from a text, it is what the text says; whether the counts before the lists are theirs is not checked.
///
/// ```
/// use huginn_net_tls::Ja4Raw;
///
/// let raw: Ja4Raw = "t13d0306h3_1301,1302,1303_000a,000d,002b,0033_0403,0804".parse()?;
/// assert_eq!(raw.cipher_suites(), [0x1301, 0x1302, 0x1303]);
/// assert_eq!(raw.signature_algorithms(), [0x0403, 0x0804]);
/// assert_eq!(raw.ja4().cipher_hash().to_string(), "55b375c5d22e");
/// assert_eq!(raw.to_string(), "t13d0306h3_1301,1302,1303_000a,000d,002b,0033_0403,0804");
/// # Ok::<(), huginn_net_tls::Ja4ParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Ja4Raw {
    head: Ja4Head,
    cipher_suites: SmallVec<[u16; 128]>,
    extensions: SmallVec<[u16; 64]>,
    signature_algorithms: SmallVec<[u16; 64]>,
}

impl Ja4Raw {
    pub(super) fn of(hello: &ClientHello<'_>, form: Ja4Form) -> Self {
        // Filled where it is: it is large.
        let mut raw = Self {
            head: Ja4Head::of(hello),
            cipher_suites: SmallVec::new(),
            extensions: SmallVec::new(),
            signature_algorithms: SmallVec::new(),
        };
        raw.cipher_suites.extend(hello.cipher_suites().filter(|number| !is_grease(*number)));
        let kinds = hello.extensions().map(|extension| extension.kind).filter(|kind| !is_grease(*kind));
        match form {
            Ja4Form::SessionStable => {
                raw.extensions.extend(kinds.filter(|kind| !changes_on_resumption(*kind)))
            }
            Ja4Form::Sorted | Ja4Form::Original => raw.extensions.extend(kinds),
        }
        raw.signature_algorithms.extend(hello.signature_algorithms().filter(|number| !is_grease(*number)));
        raw.head = raw.head.with_counts(raw.cipher_suites.len(), raw.extensions.len());
        if form != Ja4Form::Original {
            raw.sort();
        }
        raw
    }

    /// Makes of the original order the sorted one, without the extensions that JA4_a tells of.
    fn sort(&mut self) {
        self.extensions.retain(|kind| !matches!(*kind, kind::SERVER_NAME | kind::ALPN));
        self.cipher_suites.sort_unstable();
        self.extensions.sort_unstable();
    }

    /// The sorted form of an original one: of `ja4_ro` the `ja4_r`. A sorted one stays what it is.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.sort();
        self
    }

    /// JA4_a.
    pub const fn head(&self) -> Ja4Head {
        self.head
    }

    /// The cipher suites.
    pub fn cipher_suites(&self) -> &[u16] {
        &self.cipher_suites
    }

    /// The types of the extensions.
    pub fn extensions(&self) -> &[u16] {
        &self.extensions
    }

    /// The signature algorithms, in the order of the wire in every form.
    pub fn signature_algorithms(&self) -> &[u16] {
        &self.signature_algorithms
    }

    /// The JA4 that has hashes in the place of these lists.
    ///
    /// Each thread remembers the hashes of lists that it has seen, in 70 KB at most.
    pub fn ja4(&self) -> Ja4 {
        let cipher_hash = hash_of(&self.cipher_suites, &[]);
        let extension_hash = match self.extensions.as_slice() {
            [] => Ja4Hash::EMPTY,
            extensions => hash_of(extensions, &self.signature_algorithms),
        };
        Ja4::new(self.head, cipher_hash, extension_hash)
    }
}

thread_local! {
    static HASHES: RefCell<DigestMemo<Ja4Hash, 256>> = RefCell::new(DigestMemo::new());
}

/// The hash of a list, or of two.
fn hash_of(list: &[u16], second: &[u16]) -> Ja4Hash {
    let compute = || {
        let mut text = Text::new();
        push_lists(&mut text, list, second);
        Ja4Hash::of(&text)
    };
    let mut numbers = [0; 256];
    let Some(numbers) = key(&mut numbers, list, second) else { return compute() };
    HASHES.try_with(|memo| memo.borrow_mut().digest(numbers, compute)).unwrap_or_else(|_| compute())
}

/// Writes down lists in a form that no others have: shorter than their text, and made faster.
fn key<'a>(room: &'a mut [u8], list: &[u16], second: &[u16]) -> Option<&'a [u8]> {
    let (count, numbers) = room.split_first_mut()?;
    *count = u8::try_from(list.len()).ok()?;
    let (places, rest) = numbers.split_at_mut_checked(list.len().checked_mul(2)?)?;
    let (second_places, _) = rest.split_at_mut_checked(second.len().checked_mul(2)?)?;
    for (places, list) in [(places, list), (second_places, second)] {
        for (place, number) in places.chunks_exact_mut(2).zip(list) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
    }
    room.get(..list.len().saturating_add(second.len()).saturating_mul(2).saturating_add(1))
}

/// A list, and behind it a second one where there is any.
fn push_lists(text: &mut Text, list: &[u16], second: &[u16]) {
    hex::push_list(text, list);
    if !second.is_empty() {
        text.push(b'_');
        hex::push_list(text, second);
    }
}

/// Those that a client adds when it resumes a session, and padding, whose presence hangs on the length of the rest.
const fn changes_on_resumption(extension: u16) -> bool {
    matches!(extension, kind::PADDING | kind::SESSION_TICKET | kind::PRE_SHARED_KEY | kind::EARLY_DATA)
}

impl fmt::Display for Ja4Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Text::new();
        text.extend_from_slice(self.head.as_bytes());
        text.push(b'_');
        hex::push_list(&mut text, &self.cipher_suites);
        text.push(b'_');
        push_lists(&mut text, &self.extensions, &self.signature_algorithms);
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Ja4Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ja4Raw({self})")
    }
}

impl FromStr for Ja4Raw {
    type Err = Ja4ParseError;

    fn from_str(text: &str) -> Result<Self, Ja4ParseError> {
        let mut scanner = Scanner::new(text);
        let head = Ja4Head::scan(&mut scanner)?;
        scanner.separator()?;
        let cipher_suites = scan_list(&mut scanner, Ja4Field::CipherSuites)?;
        scanner.separator()?;
        let extensions = scan_list(&mut scanner, Ja4Field::Extensions)?;
        let mut signature_algorithms = SmallVec::new();
        if scanner.peek().is_some() {
            scanner.separator()?;
            scan_numbers(&mut scanner, Ja4Field::SignatureAlgorithms, &mut signature_algorithms)?;
            scanner.end()?;
        }
        Ok(Self { head, cipher_suites, extensions, signature_algorithms })
    }
}

/// A list that may be empty.
fn scan_list<L: Default + Extend<u16>>(
    scanner: &mut Scanner<'_>,
    field: Ja4Field,
) -> Result<L, Ja4ParseError> {
    let mut numbers = L::default();
    if !matches!(scanner.peek(), None | Some(b'_')) {
        scan_numbers(scanner, field, &mut numbers)?;
    }
    Ok(numbers)
}

fn scan_numbers(
    scanner: &mut Scanner<'_>,
    field: Ja4Field,
    numbers: &mut impl Extend<u16>,
) -> Result<(), Ja4ParseError> {
    loop {
        let mut number = 0;
        for _ in 0..4 {
            number = (number << 4) | u16::from(scanner.hex(field)?);
        }
        numbers.extend([number]);
        match scanner.peek() {
            Some(b',') => scanner.take_if(field, |byte| byte == b',')?,
            None | Some(b'_') => return Ok(()),
            Some(_) => return Err(scanner.error(field)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(numbers: &[u16]) -> String {
        numbers.iter().map(|number| format!("{number:04x}")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn hashes_are_those_of_the_texts_wherever_one_list_ends_and_however_often_they_are_asked_for() {
        let numbers: Vec<u16> = (0x1301..).step_by(7).take(300).collect();
        for _ in 0..2 {
            for len in [1, 2, 3, 60, 127, 128, 255, 256, 300] {
                let (all, _) = numbers.split_at(len);
                for cut in [1, 2, 126, 127, 128, 255, 256].into_iter().filter(|cut| *cut < len) {
                    let (list, second) = all.split_at(cut);
                    let wanted = Ja4Hash::of(format!("{}_{}", text(list), text(second)));
                    assert_eq!(hash_of(list, second), wanted, "{len} cut at {cut}");
                }
                assert_eq!(hash_of(all, &[]), Ja4Hash::of(text(all)), "{len}");
            }
        }
        assert_eq!(hash_of(&[], &[]), Ja4Hash::EMPTY);
    }
}
