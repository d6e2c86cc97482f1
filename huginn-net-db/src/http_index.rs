//! HTTP signatures, compared by numbers that stand for the names of headers.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use huginn_net_http::{HttpSignature, HttpVersion};
use memchr::memmem;
use smallvec::SmallVec;

use crate::{Entry, Error, HeaderPattern, HttpMatch, HttpPattern};

/// The names of headers that occur in the HTTP signatures of a file, of both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderNames(HashMap<Box<[u8]>, Name, RandomState>);

/// A name that occurs in a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name(usize);

impl HeaderNames {
    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        self.0.contains_key(name)
    }

    fn find(&self, name: &[u8]) -> Option<Name> {
        self.0.get(name).copied()
    }

    fn add(&mut self, name: &str) -> Name {
        let next = Name(self.0.len());
        *self.0.entry(name.as_bytes().into()).or_insert(next)
    }
}

/// A set of names; those whose numbers are alike modulo 128 are not told apart.
#[derive(Clone, Copy, Debug)]
struct NameSet(u128);

impl NameSet {
    fn of(names: impl Iterator<Item = Name>) -> Self {
        Self(names.fold(0, |set, Name(number)| set | 1 << (number & 0x7f)))
    }

    fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The headers of a head or signature, as far as their names are known.
struct Head<'a> {
    /// `None` in a signature for both.
    version: Option<HttpVersion>,
    headers: SmallVec<[(Name, &'a [u8]); 24]>,
    names: NameSet,
}

impl<'a> Head<'a> {
    fn new(version: Option<HttpVersion>, headers: impl Iterator<Item = (Name, &'a [u8])>) -> Self {
        let headers: SmallVec<_> = headers.collect();
        let names = NameSet::of(headers.iter().map(|(name, _)| *name));
        Self { version, headers, names }
    }

    fn has(&self, wanted: Name) -> bool {
        self.headers.iter().any(|(name, _)| *name == wanted)
    }
}

/// The HTTP signatures of one direction.
///
/// All are compared in their order, but what most of them ask for is not there, which one operation on a set of names
/// shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpIndex {
    /// In the order of the file.
    entries: Vec<Entry<HttpPattern>>,
    /// Beside each of `entries`.
    asked: Vec<Asked>,
    /// Beside each of `entries`: the line of one that leaves it nothing to match, though p0f takes both.
    covered_by: Vec<Option<u32>>,
}

/// What a signature asks for.
#[derive(Clone, Debug)]
struct Asked {
    /// Those of the pattern's headers, in order.
    names: Box<[Name]>,
    /// Those of them that are not optional.
    required: NameSet,
    absent: Box<[Name]>,
    /// The same names as `absent`.
    forbidden: NameSet,
}

impl HttpIndex {
    pub(crate) fn entries(&self) -> &[Entry<HttpPattern>] {
        &self.entries
    }

    /// The lines of signatures that can never be reached, though p0f takes them, and of those that cover them.
    pub(crate) fn covered(&self) -> impl Iterator<Item = (u32, u32)> {
        let both = self.entries.iter().zip(&self.covered_by);
        both.filter_map(|(entry, covered_by)| Some((entry.line, (*covered_by)?)))
    }

    /// Adds a signature behind all others.
    ///
    /// # Errors
    /// An earlier one leaves it nothing to match, and p0f refuses it as well.
    pub(crate) fn push(&mut self, entry: Entry<HttpPattern>, known: &mut HeaderNames) -> Result<(), Error> {
        let asked = Asked::new(&entry.pattern, known);
        let mut covered_by = None;
        let earlier = self.entries.iter().zip(&self.asked).zip(&mut self.covered_by);
        for ((earlier, asked_earlier), earlier_is_covered_by) in earlier {
            if earlier.label.generic && !entry.label.generic {
                if asked.covers(&entry.pattern, asked_earlier, &earlier.pattern) {
                    earlier_is_covered_by.get_or_insert(entry.line);
                }
            } else if asked_earlier.covers(&earlier.pattern, &asked, &entry.pattern) {
                if !earlier.label.generic {
                    return Err(Error::Covered { line: entry.line, earlier: earlier.line });
                }
                covered_by.get_or_insert(earlier.line);
            }
        }
        self.entries.push(entry);
        self.asked.push(asked);
        self.covered_by.push(covered_by);
        Ok(())
    }

    /// The signature that matches: the first specific one, else the first generic one.
    pub(crate) fn find(&self, signature: &HttpSignature, known: &HeaderNames) -> Option<HttpMatch> {
        let version = signature.version();
        if version == HttpVersion::Http2 {
            return None;
        }
        let named = signature
            .headers()
            .filter_map(|header| Some((known.find(header.name)?, header.p0f_value().unwrap_or_default())));
        let head = Head::new(Some(version), named);
        let mut generic = None;
        for (asked, entry) in self.asked.iter().zip(&self.entries) {
            if asked.fits(&entry.pattern, &head) {
                if !entry.label.generic {
                    return Some(HttpMatch::new(entry, signature));
                }
                generic.get_or_insert(entry);
            }
        }
        generic.map(|entry| HttpMatch::new(entry, signature))
    }
}

impl Asked {
    fn new(pattern: &HttpPattern, known: &mut HeaderNames) -> Self {
        let names: Box<[Name]> = pattern.headers.iter().map(|header| known.add(&header.name)).collect();
        let absent: Box<[Name]> = pattern.absent.iter().map(|name| known.add(name)).collect();
        let asked = names.iter().zip(&pattern.headers);
        let required = NameSet::of(asked.filter(|(_, header)| !header.optional).map(|(name, _)| *name));
        let forbidden = NameSet::of(absent.iter().copied());
        Self { names, required, absent, forbidden }
    }

    fn fits(&self, pattern: &HttpPattern, head: &Head<'_>) -> bool {
        head.names.contains(self.required)
            && !(head.names.intersects(self.forbidden) && self.absent.iter().any(|name| head.has(*name)))
            && self.version_and_headers_fit(pattern, head)
    }

    /// Whether this signature is found wherever `later` could be. As in p0f, `later` is matched as though it were a
    /// head, which has all its optional headers; what software either expects does not count.
    fn covers(&self, pattern: &HttpPattern, later: &Self, later_pattern: &HttpPattern) -> bool {
        let value =
            |index: usize| later_pattern.headers.get(index).and_then(|header| header.value.as_deref());
        let headers = later.names.iter().enumerate();
        let headers = headers.map(|(index, name)| (*name, value(index).unwrap_or_default().as_bytes()));
        let head = Head::new(later_pattern.version, headers);
        later.required.contains(self.required)
            && self.version_and_headers_fit(pattern, &head)
            && self.absent.iter().all(|name| later.absent.contains(name))
    }

    fn version_and_headers_fit(&self, pattern: &HttpPattern, head: &Head<'_>) -> bool {
        let values = |value: &[u8], header: &HeaderPattern| {
            header.value.as_deref().is_none_or(|part| memmem::find(value, part.as_bytes()).is_some())
        };
        // Most signatures fail by the order, which costs less to see.
        (pattern.version.is_none() || pattern.version == head.version)
            && self.headers_fit(pattern, head, |_, _| true)
            && self.headers_fit(pattern, head, values)
    }

    /// Of several headers of one name the first that is left counts, whatever its value.
    fn headers_fit(
        &self,
        pattern: &HttpPattern,
        head: &Head<'_>,
        value_fits: impl Fn(&[u8], &HeaderPattern) -> bool,
    ) -> bool {
        let mut rest = head.headers.iter();
        self.names.iter().zip(&pattern.headers).all(|(wanted, header)| {
            let mut ahead = rest.clone();
            match ahead.find(|(name, _)| name == wanted) {
                Some((_, value)) => {
                    rest = ahead;
                    value_fits(value, header)
                }
                None => header.optional && !head.has(*wanted),
            }
        })
    }
}
