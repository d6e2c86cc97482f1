//! JA4 with complete lists.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Ja4Form;
use super::error::{Ja4Field, Ja4ParseError, Scanner};
use super::fingerprint::{Ja4, Ja4Hash};
use super::head::Ja4Head;
use super::hex::{self, List};
use crate::computed::Computed;
use crate::fingerprint::sorted::{SortedKinds, SortedSuites};
use crate::hello::{ClientHello, is_no_grease};
use crate::limits::{INLINE_JA4_NUMBERS, TYPICAL_EXTENSIONS};

/// A JA4 with complete lists: `ja4_r`, `ja4_ro` or `ja4_stable_r`. Clones share memory.
///
/// A parsed text is kept as is; its counts are not checked against its lists.
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
pub struct Ja4Raw(Arc<Parts>);

#[derive(PartialEq, Eq, Hash)]
struct Parts {
    text: String,
    ja4: Ja4,
    /// Lengths of the first two lists.
    cipher_suites: usize,
    extensions: usize,
    /// The concatenated lists.
    numbers: Computed<Vec<u16>>,
}

/// A list of numbers; typical lists need no heap memory.
type Numbers = SmallVec<[u16; INLINE_JA4_NUMBERS]>;

impl Ja4Raw {
    pub(crate) fn from_hello(hello: &ClientHello<'_>, form: Ja4Form) -> Self {
        let (suites, algorithms) = (hello.cipher_suites(), hello.signature_algorithms());
        let mut text = with_capacity_for([suites.len(), TYPICAL_EXTENSIONS, algorithms.len()]);
        let mut list = List::new(&mut text);
        match form {
            Ja4Form::Original => suites.filter(is_no_grease).for_each(|suite| list.push(suite)),
            _ => SortedSuites::from_numbers(suites).for_each(|suite| list.push(suite)),
        }
        let suites = list.end();
        let (mut list, mut counted) = (List::new(&mut text), 0_usize);
        let push = |kind| {
            if form.counts(kind) {
                counted = counted.saturating_add(1);
                if form.lists(kind) {
                    list.push(kind);
                }
            }
        };
        match form {
            Ja4Form::Original => hello.kinds().for_each(push),
            _ => SortedKinds::from_numbers(hello.kinds()).for_each(push),
        }
        let extensions = list.end();
        push_last(&mut text, algorithms.filter(is_no_grease));
        Self::from_text(text, Ja4Head::from_hello(hello).with_counts(suites, counted), [suites, extensions])
    }

    fn new(head: Ja4Head, cipher_suites: &[u16], extensions: &[u16], signature_algorithms: &[u16]) -> Self {
        let mut text = with_capacity_for([cipher_suites, extensions, signature_algorithms].map(<[u16]>::len));
        for numbers in [cipher_suites, extensions] {
            let mut list = List::new(&mut text);
            numbers.iter().for_each(|number| list.push(*number));
            list.end();
        }
        push_last(&mut text, signature_algorithms.iter().copied());
        Self::from_text(text, head, [cipher_suites.len(), extensions.len()])
    }

    /// Creates a value from its text, the head to fill in, and the lengths of the first two lists.
    fn from_text(mut text: Vec<u8>, head: Ja4Head, lists: [usize; 2]) -> Self {
        text.first_chunk_mut().into_iter().for_each(|target| *target = head.text);
        let [cipher_suites, _] = lists;
        let end = (Ja4Head::LEN + 1).saturating_add(hex::list_len(cipher_suites));
        let cipher_hash = Ja4Hash::from_list(text.get(Ja4Head::LEN + 1..end).unwrap_or_default());
        Self::with_hash(text, head, cipher_hash, lists)
    }

    fn with_hash(text: Vec<u8>, head: Ja4Head, cipher_hash: Ja4Hash, lists: [usize; 2]) -> Self {
        let [cipher_suites, extensions] = lists;
        let extension_hash = match extensions {
            0 => Ja4Hash::EMPTY,
            _ => Ja4Hash::from_list(text.get(start_of_extensions(cipher_suites)..).unwrap_or_default()),
        };
        Self(Arc::new(Parts {
            text: String::from_utf8(text).unwrap_or_default(),
            ja4: Ja4::new(head, cipher_hash, extension_hash),
            cipher_suites,
            extensions,
            numbers: Computed::default(),
        }))
    }

    /// The original form of a hello that differs only in the order of its extensions.
    pub(crate) fn reordered(&self, extensions: impl Iterator<Item = u16>) -> Self {
        let Parts { text, ja4, cipher_suites, extensions: count, .. } = &*self.0;
        let mut text = text.clone().into_bytes();
        let target = text.get_mut(start_of_extensions(*cipher_suites)..).unwrap_or_default();
        hex::overwrite_list(target, extensions);
        Self::with_hash(text, ja4.head(), ja4.cipher_hash(), [*cipher_suites, *count])
    }

    /// Converts the original form to the sorted form: `ja4_ro` to `ja4_r`. A sorted form stays unchanged.
    #[must_use]
    pub fn sorted(self) -> Self {
        let [mut cipher_suites, mut extensions] =
            [self.cipher_suites(), self.extensions()].map(Numbers::from);
        cipher_suites.sort_unstable();
        extensions.retain(|kind| Ja4Form::Sorted.lists(*kind));
        extensions.sort_unstable();
        Self::new(self.head(), &cipher_suites, &extensions, self.signature_algorithms())
    }

    /// Converts any form to the form that resumption does not change: `ja4_r` or `ja4_ro` to `ja4_stable_r`.
    ///
    /// ```
    /// use huginn_net_tls::Ja4Raw;
    ///
    /// let raw: Ja4Raw = "t13d0103h2_1301_0023,002b_0403".parse()?;
    /// assert_eq!(raw.session_stable().to_string(), "t13d0102h2_1301_002b_0403");
    /// # Ok::<(), huginn_net_tls::Ja4ParseError>(())
    /// ```
    #[must_use]
    pub fn session_stable(self) -> Self {
        let sorted = self.sorted();
        let mut extensions = Numbers::from(sorted.extensions());
        extensions.retain(|kind| Ja4Form::SessionStable.counts(*kind));
        let removed = sorted.extensions().len().saturating_sub(extensions.len());
        let count = usize::from(sorted.head().extension_count()).saturating_sub(removed);
        let head = sorted.head().with_counts(usize::from(sorted.head().cipher_count()), count);
        Self::new(head, sorted.cipher_suites(), &extensions, sorted.signature_algorithms())
    }

    /// JA4_a.
    pub fn head(&self) -> Ja4Head {
        self.0.ja4.head()
    }

    /// The cipher suites.
    pub fn cipher_suites(&self) -> &[u16] {
        let [cipher_suites, ..] = self.lists();
        cipher_suites
    }

    /// The extension types.
    pub fn extensions(&self) -> &[u16] {
        let [_, extensions, _] = self.lists();
        extensions
    }

    /// The signature algorithms, in wire order in every form.
    pub fn signature_algorithms(&self) -> &[u16] {
        let [.., signature_algorithms] = self.lists();
        signature_algorithms
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// The JA4 with the hashes of these lists.
    pub fn ja4(&self) -> Ja4 {
        self.0.ja4
    }

    fn lists(&self) -> [&[u16]; 3] {
        let Parts { text, cipher_suites, extensions, numbers, .. } = &*self.0;
        let read = || hex::numbers(text.as_bytes().get(Ja4Head::LEN..).unwrap_or_default());
        cut(numbers.get_or_init(read), *cipher_suites, *extensions)
    }
}

/// A text buffer with capacity for the head and lists of these lengths.
fn with_capacity_for(lists: [usize; 3]) -> Vec<u8> {
    let numbers = lists.into_iter().fold(0, usize::saturating_add);
    let mut text = Vec::with_capacity(numbers.saturating_mul(5).saturating_add(Ja4Head::LEN + 3));
    text.resize(Ja4Head::LEN, 0);
    text
}

/// Appends the last list; an empty one adds nothing.
fn push_last(text: &mut Vec<u8>, numbers: impl Iterator<Item = u16>) {
    let mut list = List::new(text);
    numbers.for_each(|number| list.push(number));
    if list.end() == 0 {
        text.pop();
    }
}

/// Splits the lists, given the lengths of the first two.
fn cut(numbers: &[u16], first: usize, second: usize) -> [&[u16]; 3] {
    let (first, rest) = numbers.split_at_checked(first).unwrap_or_default();
    let (second, third) = rest.split_at_checked(second).unwrap_or_default();
    [first, second, third]
}

/// The range of the extensions in a text, after this many cipher suites.
const fn start_of_extensions(cipher_suites: usize) -> usize {
    hex::list_len(cipher_suites).saturating_add(Ja4Head::LEN + 2)
}

impl fmt::Display for Ja4Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
        let [mut cipher_suites, mut extensions, mut signature_algorithms] = [(); 3].map(|()| Numbers::new());
        scan_list(&mut scanner, Ja4Field::CipherSuites, &mut cipher_suites)?;
        scanner.separator()?;
        scan_list(&mut scanner, Ja4Field::Extensions, &mut extensions)?;
        if scanner.peek().is_some() {
            scanner.separator()?;
            scan_numbers(&mut scanner, Ja4Field::SignatureAlgorithms, &mut signature_algorithms)?;
            scanner.end()?;
        }
        Ok(Self::new(head, &cipher_suites, &extensions, &signature_algorithms))
    }
}

/// A list that may be empty.
fn scan_list(scanner: &mut Scanner<'_>, field: Ja4Field, numbers: &mut Numbers) -> Result<(), Ja4ParseError> {
    match scanner.peek() {
        None | Some(b'_') => Ok(()),
        Some(_) => scan_numbers(scanner, field, numbers),
    }
}

fn scan_numbers(
    scanner: &mut Scanner<'_>,
    field: Ja4Field,
    numbers: &mut Numbers,
) -> Result<(), Ja4ParseError> {
    loop {
        let mut number = 0;
        for _ in 0..4 {
            number = (number << 4) | u16::from(scanner.hex(field)?);
        }
        numbers.push(number);
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

    #[test]
    fn hashes_match_texts_of_any_length() {
        let numbers: Vec<String> = (0x1301..).step_by(7).take(300).map(|n| format!("{n:04x}")).collect();
        for _ in 0..3 {
            for len in [0, 1, 2, 127, 128, 300] {
                for cut in [0, 1, 2, 126, 127, 128, 255, 256].into_iter().filter(|cut| *cut <= len) {
                    let (list, second) = numbers[..len].split_at(cut);
                    let (list, second) = (list.join(","), second.join(","));
                    let raw: Ja4Raw = format!("t13d000000_{list}_{second}").parse().unwrap();
                    let hashes = (Ja4Hash::from_list(list), Ja4Hash::from_list(second));
                    assert_eq!((raw.ja4().cipher_hash(), raw.ja4().extension_hash()), hashes, "{len}, {cut}");
                }
            }
        }
    }
}
