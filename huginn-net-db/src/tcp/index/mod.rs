//! An index of TCP signatures by the fields that must match exactly.

mod coverers;
mod match_cache;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::RandomState;
use huginn_net_tcp::{IpVersion, OptionLayout, Quirks, TcpSignature, WindowMultiple};

use coverers::Coverers;
use match_cache::MatchCache;

use super::identity::{Identified, are_of_one_system, can_be_cleared, has_few_options};
use super::matching::{EXACT_QUIRKS, Fit, FuzzyReason, MatchRule, TcpMatch, fit_of_quirks};
use super::pattern::{TcpPattern, TtlPattern, WindowPattern};
use super::receive_buffer::{is_version_by_window, may_be_set};
use crate::{DatabaseError, Entry, Label};

/// The TCP signatures of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpIndex {
    /// In file order.
    pub(crate) entries: Vec<Entry<TcpPattern>>,
    /// For each of `entries`: the line of a signature that covers it, which p0f does not detect.
    covered_by: Vec<Option<u32>>,
    /// For each of `entries`: the label without flavor.
    without_flavor: Vec<Arc<Label>>,
    /// For each of `entries`, and for packets of IPv4 and IPv6: whether window and scale alone tell the version.
    is_version_by_window: Vec<[bool; 2]>,
    buckets: HashMap<Key, Bucket, RandomState>,
    /// The layouts with options that middleboxes clear.
    clearable: Vec<OptionLayout>,
    /// Empty once the file is read.
    coverers: Coverers,
    match_cache: MatchCache,
}

/// The indices of the best matches, or [`NO_ENTRY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    /// The first specific signature that matches exactly, else the first generic one.
    exact: u32,
    /// The first signature that matches fuzzily.
    fuzzy: u32,
    /// The system that the packet identifies although it differs, without an exact match.
    identified: Option<Identified>,
}

/// The first matches among the signatures with the options of a packet, as indices or [`NO_ENTRY`].
#[derive(Clone, Copy, Debug)]
struct Search {
    specific: u32,
    generic: u32,
    fuzzy: u32,
    /// The first one that differs in quirks alone.
    other_quirks: u32,
}

/// The fields that must match exactly: options, length of the IP options and [exact quirks](EXACT_QUIRKS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key(u128, u128);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.0);
        state.write_u128(self.1);
    }
}

/// The signatures of one key, sorted by window and scale condition.
#[derive(Clone, Debug, Default)]
struct Bucket(Vec<Candidate>);

/// The window and scale condition of a signature as one number; equal conditions are equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WindowKey(u32);

impl TcpIndex {
    /// The lines of unreachable signatures that p0f accepts, each with the line of the signature that covers it.
    pub(crate) fn covered(&self) -> impl Iterator<Item = (u32, u32)> {
        let both = self.entries.iter().zip(&self.covered_by);
        both.filter_map(|(entry, covered_by)| Some((entry.line, (*covered_by)?)))
    }

    /// Appends a signature. [`Self::finish`] must follow the last one.
    ///
    /// # Errors
    /// [`DatabaseError::Covered`] if an earlier signature covers this one and p0f detects that.
    pub(crate) fn push(&mut self, entry: Entry<TcpPattern>) -> Result<(), DatabaseError> {
        let key = Key::from_pattern(&entry.pattern);
        // The first signatures by window, then in file order: one that covers, and one for which p0f detects it.
        let (mut covering, mut detected) = (None, None);
        self.coverers.for_each(key, &entry.pattern, |index| {
            let Some(earlier) = self.entries.get(index as usize).filter(|earlier| earlier.covers(&entry))
            else {
                return;
            };
            let found = (WindowKey::from_pattern(&earlier.pattern), index, earlier.line);
            let first = |other: &mut Option<_>| *other = Some(other.map_or(found, |other| found.min(other)));
            first(&mut covering);
            if earlier.covers_for_p0f(&entry) {
                first(&mut detected);
            }
        });
        if let Some((.., earlier)) = detected {
            return Err(DatabaseError::Covered { line: entry.line, earlier });
        }
        let index = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.coverers.add(key, &entry, index);
        self.buckets.entry(key).or_default().0.push(Candidate::new(&entry, index));
        self.entries.push(entry);
        self.covered_by.push(covering.map(|(.., line)| line));
        Ok(())
    }

    /// Completes the index after the last signature. `without_flavor` returns a label without its flavor.
    pub(crate) fn finish(&mut self, mut without_flavor: impl FnMut(&Label) -> Arc<Label>) {
        self.is_version_by_window = is_version_by_window(&self.entries);
        let mut previous: Option<&Entry<TcpPattern>> = None;
        for entry in &self.entries {
            let same_label = previous.filter(|previous| Arc::ptr_eq(&previous.label, &entry.label));
            let label = match (same_label, self.without_flavor.last()) {
                (Some(_), Some(label)) => Arc::clone(label),
                _ if entry.label.is_tool() => Arc::clone(&entry.label),
                _ => without_flavor(&entry.label),
            };
            self.without_flavor.push(label);
            let layout = entry.pattern.layout;
            let is_new = previous.is_none_or(|previous| previous.pattern.layout != layout);
            if is_new && can_be_cleared(&layout) && !self.clearable.contains(&layout) {
                self.clearable.push(layout);
            }
            previous = Some(entry);
        }
        // A later specific signature is preferred to a generic one.
        for (entry, covered_by) in self.entries.iter().zip(&mut self.covered_by) {
            if entry.label.generic && covered_by.is_none() {
                let mut first = None;
                self.coverers.for_each(Key::from_pattern(&entry.pattern), &entry.pattern, |index| {
                    let other = self.entries.get(index as usize);
                    if other.is_some_and(|other| !other.label.generic && other.covers(entry)) {
                        first = Some(first.map_or(index, |first: u32| first.min(index)));
                    }
                });
                let other = first.and_then(|index| self.entries.get(index as usize));
                *covered_by = other.map(|other| other.line);
            }
        }
        for Bucket(candidates) in self.buckets.values_mut() {
            candidates.sort_unstable_by_key(|candidate| (candidate.window_key, candidate.index));
        }
        self.coverers = Coverers::default();
        self.match_cache = MatchCache::default();
    }

    /// The match: the first specific signature, else the first generic one, else the first fuzzy match that the rule
    /// allows, unless its label is a user-space tool.
    pub(crate) fn find(&self, signature: &TcpSignature, rule: MatchRule) -> Option<TcpMatch> {
        let key = Key::from_signature(signature);
        let found = self.match_cache.get_or_find(key, signature, || self.best(key, signature));
        let inexact = match rule {
            _ if found.exact != NO_ENTRY => None,
            MatchRule::P0f => Some(self.fuzzy(found.fuzzy, signature)?),
            MatchRule::Identified => Some(found.identified?),
        };
        let index = inexact.map_or(found.exact, |inexact| inexact.index) as usize;
        let entry = self.entries.get(index)?;
        if inexact.is_some() && entry.label.is_tool() {
            return None;
        }
        let is_any_version = inexact.is_some_and(|inexact| inexact.is_any_version)
            || rule == MatchRule::Identified
                && self.is_version_by_window(index, signature.version)
                && may_be_set(signature);
        let without_flavor = self.without_flavor.get(index).filter(|_| is_any_version);
        let label = without_flavor.unwrap_or(&entry.label);
        Some(TcpMatch::new(entry, label, inexact.map(|inexact| inexact.reason), signature))
    }

    /// p0f's fuzzy match.
    fn fuzzy(&self, index: u32, signature: &TcpSignature) -> Option<Identified> {
        let ttl = self.entries.get(index as usize)?.pattern.ttl;
        let has_its_ttl = ttl.fit(signature.ttl) == Some(Fit::Exact);
        let reason = if has_its_ttl { FuzzyReason::Quirks } else { FuzzyReason::InitialTtl };
        Some(Identified { index, reason, is_any_version: false })
    }

    fn is_version_by_window(&self, index: usize, version: IpVersion) -> bool {
        let by_window = self.is_version_by_window.get(index);
        by_window.is_some_and(|[of_v4, of_v6]| if version == IpVersion::V4 { *of_v4 } else { *of_v6 })
    }

    /// The first match of each kind, including tools.
    #[inline(never)]
    fn best(&self, key: Key, signature: &TcpSignature) -> Found {
        let search = self.search(key, signature);
        let exact = search.exact();
        let other_ttl = || self.of_other_ttl(key, signature);
        let identified = match exact {
            NO_ENTRY => search.other_quirks().or_else(other_ttl).or_else(|| self.cleared(signature)),
            _ => None,
        };
        Found { exact, fuzzy: search.fuzzy, identified }
    }

    /// The matches of a packet with these options.
    fn search(&self, key: Key, signature: &TcpSignature) -> Search {
        let (mut specific, mut generic) = (NO_ENTRY, NO_ENTRY);
        let (mut fuzzy, mut other_quirks) = (NO_ENTRY, NO_ENTRY);
        self.for_each_candidate(key, signature, |candidate| {
            let first = match candidate.fit(signature) {
                Some([Fit::Exact, Fit::Exact]) if candidate.is_generic => &mut generic,
                Some([Fit::Exact, Fit::Exact]) => &mut specific,
                Some([_, ttl]) => {
                    if ttl == Fit::Exact && !candidate.has_few_options {
                        other_quirks = candidate.index.min(other_quirks);
                    }
                    &mut fuzzy
                }
                None => return,
            };
            *first = candidate.index.min(*first);
        });
        Search { specific, generic, fuzzy, other_quirks }
    }

    /// The match of a packet with another TTL: a signature of last resort, which names the system that its options belong to,
    /// else the first one.
    fn of_other_ttl(&self, key: Key, signature: &TcpSignature) -> Option<Identified> {
        let Bucket(candidates) = self.buckets.get(&key)?;
        let is_like = |candidate: &&Candidate| {
            !candidate.has_few_options
                && candidate.window_key.allows(signature.scale)
                && candidate.fits_but_window(signature)
        };
        let labels = candidates.iter().filter(is_like).filter_map(|candidate| self.label(candidate.index));
        if !are_of_one_system(labels) {
            return None;
        }
        let mut first = None;
        self.for_each_candidate(key, signature, |candidate| {
            let is_like =
                is_like(&candidate) && self.label(candidate.index).is_some_and(|label| !label.is_tool());
            if is_like && candidate.fit(signature).is_some() {
                first = first.max(Some((candidate.is_generic, Reverse(candidate.index))));
            }
        });
        let (_, Reverse(index)) = first?;
        Some(Identified { index, reason: FuzzyReason::InitialTtl, is_any_version: true })
    }

    fn label(&self, index: u32) -> Option<&Label> {
        self.entries.get(index as usize).map(|entry| &*entry.label)
    }

    /// The match of what stood where a middlebox wrote NOPs.
    fn cleared(&self, signature: &TcpSignature) -> Option<Identified> {
        let mut found: Option<Identified> = None;
        for layout in self.clearable.iter().filter(|layout| signature.layout.may_be_cleared_from(layout)) {
            let mut sent = *signature;
            sent.layout = *layout;
            let search = self.search(Key::from_signature(&sent), &sent);
            let index = search.exact().min(search.other_quirks);
            let Some(label) = self.label(index).filter(|label| !label.is_tool()) else { continue };
            let first = found.get_or_insert(Identified {
                index,
                reason: FuzzyReason::ClearedOptions,
                is_any_version: false,
            });
            let first_label = self.label(first.index)?;
            if !are_of_one_system([first_label, label]) {
                return None;
            }
            first.is_any_version |= first_label != label;
        }
        found
    }

    /// Calls `take` for the signatures whose key, window and scale match a packet.
    #[inline]
    fn for_each_candidate(&self, key: Key, signature: &TcpSignature, mut take: impl FnMut(&Candidate)) {
        let Some(Bucket(candidates)) = self.buckets.get(&key) else { return };
        let windows = [
            WindowKey::ANY_WINDOW,
            WindowKey::from_window(WindowPattern::Bytes(signature.window)),
            signature
                .window_multiple
                .map_or(WindowKey::NEVER, |n| WindowKey::from_window(WindowPattern::Multiple(n))),
        ];
        for window in windows {
            // Signatures without a specific window come first.
            let start = if window == WindowKey::ANY_WINDOW {
                0
            } else {
                candidates.partition_point(|candidate| candidate.window_key < window)
            };
            for candidate in candidates.get(start..).unwrap_or_default() {
                if candidate.window_key.window() != window {
                    break;
                }
                if candidate.window_key.allows(signature.scale) {
                    take(candidate);
                }
            }
        }
    }
}

impl Key {
    /// Packs all fields in two words, for fast hashing and comparison.
    fn new(layout: &OptionLayout, ip_options_len: u16, quirks: Quirks) -> Self {
        let [first, rest] = layout.words();
        let quirks = u128::from((quirks & EXACT_QUIRKS).bits());
        Self(first, rest | u128::from(ip_options_len) << 80 | quirks << 96)
    }

    fn from_pattern(pattern: &TcpPattern) -> Self {
        Self::new(&pattern.layout, pattern.ip_options_len.into(), pattern.quirks)
    }

    fn from_signature(signature: &TcpSignature) -> Self {
        Self::new(&signature.layout, signature.ip_options_len, signature.quirks)
    }
}

/// The index for "no signature".
const NO_ENTRY: u32 = u32::MAX;

impl Search {
    fn exact(&self) -> u32 {
        if self.specific == NO_ENTRY { self.generic } else { self.specific }
    }

    fn other_quirks(&self) -> Option<Identified> {
        let (index, reason) = (self.other_quirks, FuzzyReason::Quirks);
        (index != NO_ENTRY).then_some(Identified { index, reason, is_any_version: false })
    }
}

impl WindowKey {
    const SCALE: u32 = 0x1ff;
    const ANY_SCALE: u32 = 0x100;
    const ANY_WINDOW: Self = Self(0);
    /// A condition that no signature has.
    const NEVER: Self = Self(!Self::SCALE);

    fn from_pattern(pattern: &TcpPattern) -> Self {
        Self(Self::from_window(pattern.window).0 | pattern.scale.map_or(Self::ANY_SCALE, u32::from))
    }

    /// The condition of the window alone; not greater than the same one with a scale.
    fn from_window(window: WindowPattern) -> Self {
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
        let window_key = self.0 & Self::SCALE;
        window_key == Self::ANY_SCALE || window_key == u32::from(scale)
    }
}

/// A signature, prepared for comparison with packets of its key.
#[derive(Clone, Debug)]
struct Candidate {
    window_key: WindowKey,
    /// Index in the list of all signatures.
    index: u32,
    /// The quirks required in IPv4 and in IPv6.
    quirks: [Quirks; 2],
    mss: Option<u16>,
    /// The required divisor of the window; 1 if any window matches.
    divisor: u16,
    ttl: TtlPattern,
    payload: Option<bool>,
    is_generic: bool,
    /// Whether the options are too few to identify a system by a packet that differs.
    has_few_options: bool,
}

impl Candidate {
    fn new(entry: &Entry<TcpPattern>, index: u32) -> Self {
        let pattern = &entry.pattern;
        Self {
            window_key: WindowKey::from_pattern(pattern),
            index,
            quirks: [IpVersion::V4, IpVersion::V6].map(|version| pattern.quirks_for(version)),
            mss: pattern.mss,
            divisor: if let WindowPattern::Modulo(bytes) = pattern.window { bytes } else { 1 },
            ttl: pattern.ttl,
            payload: pattern.payload,
            is_generic: entry.label.generic,
            has_few_options: has_few_options(&pattern.layout),
        }
    }

    /// Compares the remaining fields of a packet whose key, window and scale match. Returns how quirks and TTL fit.
    #[inline]
    fn fit(&self, signature: &TcpSignature) -> Option<[Fit; 2]> {
        if !self.fixed_fields_fit(signature)
            || self.divisor != 1 && signature.window.checked_rem(self.divisor) != Some(0)
        {
            return None;
        }
        Some([self.fit_of_quirks(signature)?, self.ttl.fit(signature.ttl)?])
    }

    /// Whether all fields but window, scale and TTL match exactly.
    fn fits_but_window(&self, signature: &TcpSignature) -> bool {
        self.fixed_fields_fit(signature) && self.fit_of_quirks(signature) == Some(Fit::Exact)
    }

    #[inline]
    fn fixed_fields_fit(&self, signature: &TcpSignature) -> bool {
        self.mss.is_none_or(|mss| mss == signature.mss)
            && self.payload.is_none_or(|payload| payload == signature.has_payload)
    }

    #[inline]
    fn fit_of_quirks(&self, signature: &TcpSignature) -> Option<Fit> {
        let [of_ipv4, of_ipv6] = self.quirks;
        let wanted = if signature.version == IpVersion::V4 { of_ipv4 } else { of_ipv6 };
        fit_of_quirks(wanted, signature.quirks)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Database;

    /// A packet that matches a signature.
    fn signature_from_pattern(pattern: &TcpPattern) -> TcpSignature {
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

    /// Compares each signature with all others: the definition that the index must agree with.
    fn covered_by_comparison(entries: &[Entry<TcpPattern>]) -> Result<Vec<(u32, u32)>, DatabaseError> {
        let mut covered_by = vec![None; entries.len()];
        for (index, entry) in entries.iter().enumerate() {
            let mut earlier: Vec<usize> = (0..index).collect();
            earlier.sort_by_key(|earlier| (WindowKey::from_pattern(&entries[*earlier].pattern), *earlier));
            earlier.retain(|earlier| {
                Key::from_pattern(&entries[*earlier].pattern) == Key::from_pattern(&entry.pattern)
            });
            for slot in earlier {
                let earlier = &entries[slot];
                if earlier.covers(entry) {
                    if earlier.covers_for_p0f(entry) {
                        return Err(DatabaseError::Covered { line: entry.line, earlier: earlier.line });
                    }
                    covered_by[index].get_or_insert(earlier.line);
                } else if earlier.label.generic && !entry.label.generic && entry.covers(earlier) {
                    covered_by[slot].get_or_insert(entry.line);
                }
            }
        }
        Ok(entries.iter().zip(covered_by).filter_map(|(entry, other)| Some((entry.line, other?))).collect())
    }

    fn pattern() -> impl Strategy<Value = TcpPattern> {
        let fields = (
            prop::sample::select(vec!["*", "4", "6"]),
            prop::sample::select(vec!["64", "64-", "128", "30", "255-", "99"]),
            prop::sample::select(vec!["*", "100", "1460", "0"]),
            prop::sample::select(vec![
                "*", "0", "200", "1460", "2920", "6", "%2", "%3", "%100", "%200", "mss*2", "mss*1", "mtu*2",
            ]),
            prop::sample::select(vec!["*", "0", "7"]),
            prop::sample::select(vec!["mss", "mss,nop"]),
            prop::sample::select(vec!["", "df", "df,id+", "ecn", "id-", "0+", "flow"]),
            prop::sample::select(vec!["*", "0", "+"]),
        );
        fields.prop_filter_map("no quirk of the other version", |fields| {
            let (version, ttl, mss, window, scale, layout, quirks, payload) = fields;
            format!("{version}:{ttl}:0:{mss}:{window},{scale}:{layout}:{quirks}:{payload}").parse().ok()
        })
    }

    fn entries(patterns: Vec<(TcpPattern, bool)>) -> Vec<Entry<TcpPattern>> {
        let label = |generic| Label {
            generic,
            class: None,
            name: "x".into(),
            flavor: None,
            systems: Vec::new(),
            line: 0,
        };
        let with_line = (1..).zip(patterns);
        with_line
            .map(|(line, (pattern, generic))| Entry { pattern, label: Arc::new(label(generic)), line })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn covered_signatures_equal_those_of_comparison(
            patterns in prop::collection::vec((pattern(), prop::bool::weighted(0.8)), 0..24),
        ) {
            let entries = entries(patterns);
            let mut index = TcpIndex::default();
            let pushed = entries.iter().cloned().try_for_each(|entry| index.push(entry));
            index.finish(|label| Arc::new(label.clone()));
            let covered = pushed.map(|()| index.covered().collect::<Vec<_>>());
            prop_assert_eq!(covered, covered_by_comparison(&entries));
        }
    }

    #[test]
    fn packet_has_few_candidates() {
        let database = Database::builtin();
        for index in [&database.tcp_request, &database.tcp_response] {
            for entry in &index.entries {
                let packet = signature_from_pattern(&entry.pattern);
                let mut compared = Vec::new();
                let entries = &index.entries;
                index.for_each_candidate(Key::from_signature(&packet), &packet, |candidate| {
                    compared.push(entries[candidate.index as usize].line)
                });
                assert!(compared.contains(&entry.line), "{}", entry.pattern);
                assert!(compared.len() <= 16, "{}: {compared:?}", entry.pattern);
            }
        }
    }

    #[test]
    fn cached_match_equals_lookup() {
        let database = Database::builtin();
        let index = &database.tcp_request;
        for entry in &index.entries {
            let packet = signature_from_pattern(&entry.pattern);
            let changes: [fn(&mut TcpSignature); 11] = [
                |_| {},
                |packet| packet.ttl = 1,
                |packet| packet.mss = 1_111,
                |packet| packet.window = 1_111,
                |packet| packet.window_multiple = None,
                |packet| packet.window_multiple = Some(WindowMultiple::Mss(1)),
                |packet| packet.window_multiple = Some(WindowMultiple::Mtu(1)),
                |packet| packet.scale = 9,
                |packet| packet.quirks.toggle(Quirks::ECN),
                |packet| packet.has_payload = !packet.has_payload,
                |packet| packet.version = IpVersion::V6,
            ];
            for change in changes {
                let mut packet = packet;
                change(&mut packet);
                let key = Key::from_signature(&packet);
                let best = index.best(key, &packet);
                let cache = MatchCache::default();
                for _ in 0..2 {
                    assert_eq!(cache.get_or_find(key, &packet, || best), best, "{packet}");
                }
                assert_eq!(cache.get_or_find(key, &packet, || panic!("cached")), best, "{packet}");
                let other = MatchCache::default();
                let none = Found { exact: NO_ENTRY, fuzzy: NO_ENTRY, identified: None };
                assert_eq!(other.get_or_find(key, &packet, || none), none, "of another index: {packet}");
            }
        }
    }
}
