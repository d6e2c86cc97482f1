//! Version numbers, and ranges of those that were recorded.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};

use foldhash::fast::RandomState;

/// A version number that sorts by its numeric parts: `1.9.7` precedes `1.10.8`. It has the rank of its text in [`Ranks`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Version<'a> {
    pub(super) text: &'a str,
    rank: usize,
}

impl Ord for Version<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl PartialOrd for Version<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Version<'_> {}

/// The ranks of all versions in some tables. Most of them are compared often, and their texts only once.
pub(super) struct Ranks<'a>(HashMap<&'a str, usize, RandomState>);

impl<'a> Ranks<'a> {
    pub(super) fn new(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut texts: Vec<&str> = texts.collect::<HashSet<_, RandomState>>().into_iter().collect();
        texts.sort_unstable_by(|one, other| compare(one, other));
        let same = texts.chunk_by(|one, other| compare(one, other) == Ordering::Equal);
        Self(same.zip(0..).flat_map(|(texts, rank)| texts.iter().map(move |text| (*text, rank))).collect())
    }

    pub(super) fn version(&self, text: &'a str) -> Version<'a> {
        Version { text, rank: self.0.get(text).copied().unwrap_or_default() }
    }
}

fn compare(one: &str, other: &str) -> Ordering {
    parts(one).cmp(parts(other))
}

fn parts(version: &str) -> impl Iterator<Item = (u64, &str)> {
    version.split('.').map(|part| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at_checked(digits).unwrap_or((part, ""));
        (number.parse().unwrap_or(u64::MAX), rest)
    })
}

/// The major version, with the minor one if the major is below 10: `103` for `103.0.5058`, `1.9` for `1.9.7`.
pub(super) fn short(version: &str) -> &str {
    let major = version.find('.').unwrap_or(version.len());
    let (number, rest) = version.split_at_checked(major).unwrap_or((version, ""));
    if number.len() > 1 {
        return number;
    }
    let minor = rest.get(1..).and_then(|rest| rest.find('.'));
    let end = minor.map_or(version.len(), |minor| major.saturating_add(1).saturating_add(minor));
    version.get(..end).unwrap_or(version)
}

/// The short version that follows (`step` 1) or precedes (-1) `version`, if it is in the series of `other` and at most as far
/// away as `other`: the version before `1.21` is `1.20`, in the series of `1.14`.
fn neighbour(version: &str, other: &str, step: i64) -> Option<String> {
    let series = |text: &str| text.rsplit_once('.').map(|(series, _)| series.to_owned());
    let last = |text: &str| text.rsplit('.').next().and_then(|number| number.parse::<i64>().ok());
    let short = short(version);
    let number = last(short)?.checked_add(step)?;
    let is_between = if step > 0 { number <= last(other)? } else { number >= last(other)? };
    if series(short) != series(other) || !is_between {
        return None;
    }
    Some(series(short).map_or_else(|| number.to_string(), |series| format!("{series}.{number}")))
}

/// The short version that precedes `version` by a number of versions; `None` for a version with parts.
fn before(version: &str, count: u64) -> Option<String> {
    short(version).parse::<u64>().ok()?.checked_sub(count).map(|number| number.to_string())
}

/// Follows the first version of a range without an end.
pub(super) const AND_NEWER: &str = " and newer";

/// Writes the versions that a fingerprint may stand for, such as `1.9 and older, 1.12-1.20` or `1.25 and newer`.
///
/// `all` are the recorded versions of the program, sorted and without empty ones, and `versions` those with the
/// fingerprint. A range extends to the next recorded version with another fingerprint, since the versions between were not
/// recorded; so the oldest and the newest range are open. The text is empty if all recorded versions have the fingerprint.
///
/// A range that is not the oldest begins `reach` versions earlier.
pub(super) fn ranges(versions: &BTreeSet<Version<'_>>, all: &[Version<'_>], reach: u64) -> String {
    // First and last version; a range without one of them is open.
    let mut ranges: Vec<(Option<String>, Option<String>)> = Vec::new();
    let positions: Vec<usize> =
        versions.iter().filter_map(|version| all.binary_search(version).ok()).collect();
    for run in positions.chunk_by(|one, next| one.checked_add(1) == Some(*next)) {
        let (Some(start), Some(end)) = (run.first(), run.last()) else { continue };
        let (Some(first), Some(last)) = (all.get(*start), all.get(*end)) else { continue };
        let older = start.checked_sub(1).and_then(|index| all.get(index));
        let newer = end.checked_add(1).and_then(|index| all.get(index));
        let [first, last] = [first, last].map(|version| short(version.text));
        let first = older.map(|older| neighbour(older.text, first, 1).unwrap_or(first.into()));
        let first = first.map(|first| before(&first, reach).unwrap_or(first));
        let last = newer.map(|newer| neighbour(newer.text, last, -1).unwrap_or(last.into()));
        match ranges.last_mut() {
            Some((_, end)) if meets(end.as_deref(), first.as_deref()) => *end = last,
            _ => ranges.push((first, last)),
        }
    }
    let texts = ranges.into_iter().map(|range| match range {
        (None, None) => String::new(),
        (None, Some(last)) => format!("{last} and older"),
        (Some(first), None) => format!("{first}{AND_NEWER}"),
        (Some(first), Some(last)) if last == first => first,
        (Some(first), Some(last)) => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// Whether a range that ends with one version has no gap to a range that begins with the other.
fn meets(end: Option<&str>, first: Option<&str>) -> bool {
    let (Some(end), Some(first)) = (end, first) else { return false };
    end == first || neighbour(end, first, 1).is_some_and(|next| next == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All recorded versions of a program: their ranks, and a list without the empty one.
    fn recorded<'a>(texts: &[&'a str]) -> (Ranks<'a>, Vec<Version<'a>>) {
        let ranks = Ranks::new(texts.iter().copied());
        let all = set(&ranks, texts).into_iter().filter(|version| !version.text.is_empty()).collect();
        (ranks, all)
    }

    fn set<'a>(ranks: &Ranks<'a>, texts: &[&'a str]) -> BTreeSet<Version<'a>> {
        texts.iter().map(|text| ranks.version(text)).collect()
    }

    #[test]
    fn versions_sort_by_number() {
        let sorted = ["", "1.0.2o", "1.0.2s", "1.1.1", "1.9.7", "1.10.8", "3.0.22", "103.0.5058"];
        let shuffled = ["1.10.8", "103.0.5058", "1.1.1", "1.0.2s", "", "3.0.22", "1.0.2o", "1.9.7"];
        let texts: Vec<&str> = recorded(&shuffled).1.iter().map(|version| version.text).collect();
        assert_eq!(texts, sorted[1..]);
    }

    #[test]
    fn range_ends_before_version_that_differs() {
        let (ranks, all) = recorded(&["1.9.7", "1.10.8", "1.11.13", "1.12.17", "1.13.15", "1.17.1"]);
        let range = |versions: &[&'static str]| ranges(&set(&ranks, versions), &all, 0);
        assert_eq!(ranges(&all.iter().copied().collect(), &all, 0), "", "any version");
        assert_eq!(range(&["1.9.7", "1.11.13", "1.12.17"]), "1.9 and older, 1.11-1.12");
        assert_eq!(range(&["1.13.15"]), "1.13-1.16");
        assert_eq!(range(&["1.17.1"]), "1.14 and newer");
        assert_eq!(range(&[]), "");
    }

    #[test]
    fn ranges_without_gap_are_one() {
        let (ranks, all) = recorded(&["11.0.1", "17.0.2", "17.0.21", "18.0.1", "25.0.1"]);
        assert_eq!(ranges(&set(&ranks, &["17.0.2", "18.0.1"]), &all, 0), "12-24");
        assert_eq!(ranges(&set(&ranks, &["17.0.21", "25.0.1"]), &all, 0), "17, 19 and newer");
    }

    #[test]
    fn range_reaches_back_from_first_version() {
        let (ranks, all) = recorded(&["133.0.1", "134.0.2", "153.0.1", "154.0.1", "156.0.1"]);
        let range = |versions: &[&'static str]| ranges(&set(&ranks, versions), &all, 2);
        assert_eq!(range(&["134.0.2"]), "132-152");
        assert_eq!(range(&["154.0.1", "156.0.1"]), "152 and newer");
        assert_eq!(range(&["133.0.1"]), "133 and older");
        assert_eq!(range(&["153.0.1"]), "133-153");
    }

    #[test]
    fn range_stays_in_its_series() {
        let (ranks, all) = recorded(&["0.9.8", "1.1.1", "3.5.4", "4.0.1", "103.0.1", "129.0.2"]);
        let range = |version| ranges(&set(&ranks, &[version]), &all, 0);
        let want = ["0.9 and older", "1.1", "3.5", "4.0", "103-128", "104 and newer"];
        assert_eq!(["0.9.8", "1.1.1", "3.5.4", "4.0.1", "103.0.1", "129.0.2"].map(range), want);
    }

    #[test]
    fn single_recorded_version_is_no_range() {
        let (ranks, all) = recorded(&["", "2.4"]);
        assert_eq!(ranges(&set(&ranks, &["2.4"]), &all, 0), "");
    }

    #[test]
    fn short_version_has_enough_parts() {
        let shorts = ["103.0.5058", "10", "1.9.7", "3.5", "7", "1.1.1k", "2.50.6", ""].map(short);
        assert_eq!(shorts, ["103", "10", "1.9", "3.5", "7", "1.1", "2.50", ""]);
    }

    #[test]
    fn two_patch_releases_make_one_version() {
        let (ranks, all) = recorded(&["17.0.2", "17.0.9", "17.0.15", "21.0.2"]);
        let range = |versions: &[&'static str]| ranges(&set(&ranks, versions), &all, 0);
        assert_eq!(range(&["17.0.9", "17.0.15"]), "17-20");
        assert_eq!(range(&["17.0.2", "17.0.15"]), "20 and older");
        assert_eq!(range(&["17.0.2", "17.0.9", "17.0.15"]), "20 and older");
    }
}
