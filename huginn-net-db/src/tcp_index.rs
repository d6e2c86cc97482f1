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
    /// Beside each of `entries`: the line of one that leaves it nothing to match, though p0f takes both.
    covered_by: Vec<Option<u32>>,
    buckets: HashMap<Key, Bucket, RandomState>,
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

impl TcpIndex {
    pub(crate) fn entries(&self) -> &[Entry<TcpPattern>] {
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
    pub(crate) fn push(&mut self, entry: Entry<TcpPattern>) -> Result<(), Error> {
        let pattern = &entry.pattern;
        let key = Key {
            layout: pattern.layout,
            ip_options_len: pattern.ip_options_len.into(),
            quirks: pattern.quirks & RIGID,
        };
        let bucket = self.buckets.entry(key).or_default();
        let mut covered_by = None;
        for place in bucket.places() {
            let both = self.entries.get(place as usize).zip(self.covered_by.get_mut(place as usize));
            let Some((earlier, earlier_is_covered_by)) = both else { continue };
            if earlier.covers(&entry) {
                if earlier.is_seen_to_cover(&entry) {
                    return Err(Error::Covered { line: entry.line, earlier: earlier.line });
                }
                covered_by.get_or_insert(earlier.line);
            } else if earlier.label.generic && !entry.label.generic && entry.covers(earlier) {
                earlier_is_covered_by.get_or_insert(entry.line);
            }
        }
        bucket.push(pattern, u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.entries.push(entry);
        self.covered_by.push(covered_by);
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
            let window = Asked::of_window(window);
            let start = bucket.partition_point(|(asked, _)| *asked < window);
            for &(asked, place) in bucket.get(start..).unwrap_or(&[]) {
                if asked.window() != window {
                    break;
                }
                if asked.allows(signature.scale) {
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
    const SCALE: u32 = 0x1ff;
    const ANY_SCALE: u32 = 0x100;

    fn new(window: WindowPattern, scale: Option<u8>) -> Self {
        Self(Self::of_window(window).0 | scale.map_or(Self::ANY_SCALE, u32::from))
    }

    /// What is asked of the window alone: no more than the same with a scale.
    fn of_window(window: WindowPattern) -> Self {
        let (kind, value) = match window {
            WindowPattern::Any | WindowPattern::Modulo(_) => (0, 0),
            WindowPattern::Bytes(bytes) => (1, bytes),
            WindowPattern::Multiple(WindowMultiple::Mss(factor)) => (2, factor),
            WindowPattern::Multiple(WindowMultiple::Mtu(factor)) => (3, factor),
        };
        Self((kind << 25) | (u32::from(value) << 9))
    }

    fn window(self) -> Self {
        Self(self.0 & !Self::SCALE)
    }

    fn allows(self, scale: u8) -> bool {
        let asked = self.0 & Self::SCALE;
        asked == Self::ANY_SCALE || asked == u32::from(scale)
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

#[cfg(test)]
mod tests {
    use huginn_net_tcp::IpVersion;

    use super::*;
    use crate::Database;

    /// A packet that a signature asks for.
    fn packet_of(pattern: &TcpPattern) -> TcpSignature {
        let version = pattern.version.unwrap_or(IpVersion::V4);
        let window = match pattern.window {
            WindowPattern::Any => "1".into(),
            WindowPattern::Modulo(bytes) => bytes.to_string(),
            window => window.to_string(),
        };
        let TcpPattern { ttl, ip_options_len, mss, scale, layout, .. } = pattern;
        let (mss, scale) = (mss.unwrap_or(1_460), scale.unwrap_or(7));
        let quirks = pattern.quirks_for(version);
        let payload = if pattern.payload == Some(true) { '+' } else { '0' };
        let initial = ttl.initial;
        format!("{version}:{initial}:{ip_options_len}:{mss}:{window},{scale}:{layout}:{quirks}:{payload}")
            .parse()
            .unwrap()
    }

    #[test]
    fn a_packet_is_compared_with_a_handful_of_signatures() {
        let database = Database::builtin();
        for index in [&database.tcp_request, &database.tcp_response] {
            for entry in index.entries() {
                let packet = packet_of(&entry.pattern);
                let mut compared = Vec::new();
                index.each_candidate(&packet, |_, candidate| compared.push(candidate.line));
                assert!(compared.contains(&entry.line), "{}", entry.pattern);
                assert!(compared.len() <= 12, "{}: {compared:?}", entry.pattern);
            }
        }
    }
}
