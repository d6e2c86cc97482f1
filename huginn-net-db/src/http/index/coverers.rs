//! Finds the HTTP signatures that cover another one, without a comparison with each.

use std::collections::{BTreeSet, HashMap, HashSet};

use foldhash::fast::RandomState;

use super::{Name, Required};
use crate::Entry;
use crate::http::pattern::HttpPattern;

/// The signatures of a file by one required header each. Only needed while a file is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverers {
    by_name: HashMap<usize, ByHeader, RandomState>,
    /// Signatures without required headers.
    others: Vec<usize>,
    /// Signatures without their software, each with whether its label is generic: of equal ones the first one decides.
    seen: HashSet<(HttpPattern, bool), RandomState>,
}

/// The signatures that one header name selects.
#[derive(Clone, Debug, Default)]
struct ByHeader {
    of_any_value: Vec<usize>,
    /// By the text that the value must contain.
    by_value: HashMap<Box<[u8]>, Vec<usize>, RandomState>,
    /// Lengths of these texts.
    lengths: BTreeSet<usize>,
}

impl Coverers {
    /// Adds a signature with its index, under the required header that has the fewest so far.
    pub(super) fn add(&mut self, entry: &Entry<HttpPattern>, required: &Required, index: usize) {
        let pattern = HttpPattern { software: None, ..entry.pattern.clone() };
        if !self.seen.insert((pattern, entry.label.generic)) {
            return;
        }
        let headers =
            required.names.iter().zip(&entry.pattern.headers).filter(|(_, header)| !header.optional);
        let selectors = headers.flat_map(|(name, header)| {
            let value = header.value.as_deref().map(str::as_bytes);
            [Some((*name, None)), value.map(|value| (*name, Some(value)))].into_iter().flatten()
        });
        let Some((Name(name), value)) = selectors.min_by_key(|(name, value)| self.count(*name, *value))
        else {
            self.others.push(index);
            return;
        };
        let by_header = self.by_name.entry(name).or_default();
        match value {
            None => by_header.of_any_value.push(index),
            Some(value) => {
                by_header.lengths.insert(value.len());
                by_header.by_value.entry(value.into()).or_default().push(index);
            }
        }
    }

    /// Number of signatures that a header selects; a value is the better selector.
    fn count(&self, Name(name): Name, value: Option<&[u8]>) -> (usize, bool) {
        let by_header = self.by_name.get(&name);
        let count = by_header.map_or(0, |by_header| match value {
            None => by_header.of_any_value.len(),
            Some(value) => by_header.by_value.get(value).map_or(0, Vec::len),
        });
        (count, value.is_none())
    }

    /// Calls `visit` with the indices of signatures that may cover this one, in any order, perhaps twice.
    pub(super) fn for_each(&self, pattern: &HttpPattern, required: &Required, mut visit: impl FnMut(usize)) {
        self.others.iter().for_each(|index| visit(*index));
        for (Name(name), header) in required.names.iter().zip(&pattern.headers) {
            let Some(by_header) = self.by_name.get(name) else { continue };
            by_header.of_any_value.iter().for_each(|index| visit(*index));
            let value = header.value.as_deref().unwrap_or_default().as_bytes();
            for length in by_header.lengths.iter().filter(|length| **length > 0) {
                for part in value.windows(*length) {
                    by_header.by_value.get(part).into_iter().flatten().for_each(|index| visit(*index));
                }
            }
        }
    }
}
