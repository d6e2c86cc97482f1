//! TCP signatures, found by what no rule lets differ.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use huginn_net_tcp::{OptionLayout, Quirks, TcpSignature, WindowMultiple};

use crate::tcp_match::{Fit, RIGID};
use crate::{Entry, Error, TcpMatch, TcpPattern, WindowPattern};

/// The TCP signatures of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpIndex {
    /// In the order of the file.
    entries: Vec<Entry<TcpPattern>>,
    buckets: HashMap<Key, Bucket, RandomState>,
    covered: Vec<Covered>,
}

/// What a packet and its signature always have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    layout: OptionLayout,
    ip_options_len: u16,
    quirks: Quirks,
}

/// The signatures of one key, as places in the list of all, in the order of what they ask of window and scale.
#[derive(Clone, Debug, Default)]
struct Bucket(Vec<(Asked, u32)>);

/// What a signature asks of window and scale, as one number: what is asked alike is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Asked(u32);

/// A signature that can never be reached, taken all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Covered {
    pub(crate) line: u32,
    /// The line of the one that covers it.
    pub(crate) other: u32,
}

impl TcpIndex {
    pub(crate) fn entries(&self) -> &[Entry<TcpPattern>] {
        &self.entries
    }

    /// Signatures that others leave nothing to match, though p0f takes them; some more than once.
    pub(crate) fn covered(&self) -> &[Covered] {
        &self.covered
    }

    /// Adds a signature behind all others.
    ///
    /// # Errors
    /// An earlier one leaves it nothing to match, and p0f refuses it as well.
    pub(crate) fn push(&mut self, entry: Entry<TcpPattern>) -> Result<(), Error> {
        let pattern = &entry.pattern;
        let key = Key {
            layout: pattern.layout,
            ip_options_len: pattern.ip_options_len.into(),
            quirks: pattern.quirks & RIGID,
        };
        let bucket = self.buckets.entry(key).or_default();
        for earlier in bucket.places().filter_map(|place| self.entries.get(place as usize)) {
            if earlier.covers(&entry) {
                if earlier.is_seen_to_cover(&entry) {
                    return Err(Error::Covered { line: entry.line, earlier: earlier.line });
                }
                self.covered.push(Covered { line: entry.line, other: earlier.line });
            } else if earlier.label.generic && !entry.label.generic && entry.covers(earlier) {
                self.covered.push(Covered { line: earlier.line, other: entry.line });
            }
        }
        bucket.push(pattern, u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.entries.push(entry);
        Ok(())
    }

    /// The signature that matches: the first specific one; else the first generic one; else the first that matches
    /// in a fuzzy way, unless it is that of a user-space tool.
    pub(crate) fn find(&self, signature: &TcpSignature) -> Option<TcpMatch> {
        let (mut specific, mut generic, mut fuzzy) = (NONE, NONE, NONE);
        self.each_candidate(signature, |place, entry| {
            let first = match entry.pattern.fit(signature) {
                Some(Fit::Exact) if entry.label.generic => &mut generic,
                Some(Fit::Exact) => &mut specific,
                Some(Fit::Fuzzy) => &mut fuzzy,
                None => return,
            };
            *first = place.min(*first);
        });
        let (place, fit) = if specific.min(generic) == NONE {
            (fuzzy, Fit::Fuzzy)
        } else {
            (if specific == NONE { generic } else { specific }, Fit::Exact)
        };
        let entry = self.entries.get(place as usize)?;
        let is_sure = fit == Fit::Exact || !entry.label.is_tool();
        is_sure.then(|| TcpMatch::new(entry, fit, signature))
    }

    /// Hands over the signatures that may match a packet, as far as the key, the window and the scale tell. Plain
    /// loops: chained iterators cost more than the comparisons.
    fn each_candidate<'a>(
        &'a self,
        signature: &TcpSignature,
        mut take: impl FnMut(u32, &'a Entry<TcpPattern>),
    ) {
        let key = Key {
            layout: signature.layout,
            ip_options_len: signature.ip_options_len,
            quirks: signature.quirks & RIGID,
        };
        let Some(Bucket(bucket)) = self.buckets.get(&key) else { return };
        let windows = [
            Some(WindowPattern::Any),
            Some(WindowPattern::Bytes(signature.window)),
            signature.window_multiple.map(WindowPattern::Multiple),
        ];
        for window in windows.into_iter().flatten() {
            for scale in [Some(signature.scale), None] {
                let wanted = Asked::new(window, scale);
                let start = bucket.partition_point(|(asked, _)| *asked < wanted);
                for &(asked, place) in bucket.get(start..).unwrap_or(&[]) {
                    if asked != wanted {
                        break;
                    }
                    if let Some(entry) = self.entries.get(place as usize) {
                        take(place, entry);
                    }
                }
            }
        }
    }
}

/// The place of no signature.
const NONE: u32 = u32::MAX;

impl Asked {
    fn new(window: WindowPattern, scale: Option<u8>) -> Self {
        let (kind, value) = match window {
            WindowPattern::Any | WindowPattern::Modulo(_) => (0, 0),
            WindowPattern::Bytes(bytes) => (1, bytes),
            WindowPattern::Multiple(WindowMultiple::Mss(factor)) => (2, factor),
            WindowPattern::Multiple(WindowMultiple::Mtu(factor)) => (3, factor),
        };
        let scale = scale.map_or(0x100, u32::from);
        Self((kind << 25) | (u32::from(value) << 9) | scale)
    }
}

impl Bucket {
    fn push(&mut self, pattern: &TcpPattern, place: u32) {
        let asked = (Asked::new(pattern.window, pattern.scale), place);
        let at = self.0.partition_point(|&before| before < asked);
        self.0.insert(at, asked);
    }

    fn places(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(_, place)| *place)
    }
}
