//! Version numbers, and ranges of those that were recorded.

use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A version number that sorts by its numeric parts: `1.9.7` precedes `1.10.8`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version<'a>(pub(super) &'a str);

impl<'a> Version<'a> {
    fn parts(self) -> impl Iterator<Item = (u64, &'a str)> {
        self.0.split('.').map(|part| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            let (number, rest) = part.split_at_checked(digits).unwrap_or((part, ""));
            (number.parse().unwrap_or(u64::MAX), rest)
        })
    }

    /// The major version, with the minor one if the major is below 10: `103` for `103.0.5058`, `1.9` for `1.9.7`.
    pub(super) fn short(self) -> &'a str {
        let major = self.0.find('.').unwrap_or(self.0.len());
        let (number, rest) = self.0.split_at_checked(major).unwrap_or((self.0, ""));
        if number.len() > 1 {
            return number;
        }
        let minor = rest.get(1..).and_then(|rest| rest.find('.'));
        let end = minor.map_or(self.0.len(), |minor| major.saturating_add(1).saturating_add(minor));
        self.0.get(..end).unwrap_or(self.0)
    }
}

impl Version<'_> {
    /// The short version that follows (`step` 1) or precedes (-1) this one, if it is in the series of `other` and at
    /// most as far away as `other`: the version before `1.21` is `1.20`, in the series of `1.14`.
    fn neighbour(self, other: &str, step: i64) -> Option<String> {
        let series = |text: &str| text.rsplit_once('.').map(|(series, _)| series.to_owned());
        let last = |text: &str| text.rsplit('.').next().and_then(|number| number.parse::<i64>().ok());
        let short = self.short();
        let number = last(short)?.checked_add(step)?;
        let is_between = if step > 0 { number <= last(other)? } else { number >= last(other)? };
        if series(short) != series(other) || !is_between {
            return None;
        }
        Some(series(short).map_or_else(|| number.to_string(), |series| format!("{series}.{number}")))
    }
}

impl Version<'_> {
    /// The short version that precedes this one by a number of versions; `None` for a version with parts.
    fn before(self, count: u64) -> Option<String> {
        self.short().parse::<u64>().ok()?.checked_sub(count).map(|number| number.to_string())
    }
}

impl Ord for Version<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.0 == other.0 {
            return Ordering::Equal;
        }
        let [one, other] = without_equal_parts(self.0, other.0);
        Version(one).parts().cmp(Version(other).parts())
    }
}

impl PartialOrd for Version<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version<'_> {}

/// Removes the parts that both texts begin with: most versions that are compared have some, and to read them takes longer.
fn without_equal_parts<'a>(one: &'a str, other: &'a str) -> [&'a str; 2] {
    let pairs = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other);
    let end = pairs.zip(1..).filter(|((byte, _), _)| *byte == b'.').last().map_or(0, |(_, end)| end);
    [one, other].map(|text| text.get(end..).unwrap_or_default())
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
        let first = older.map(|older| older.neighbour(first.short(), 1).unwrap_or(first.short().into()));
        let first = first.map(|first| Version(&first).before(reach).unwrap_or(first));
        let last = newer.map(|newer| newer.neighbour(last.short(), -1).unwrap_or(last.short().into()));
        match ranges.last_mut() {
            Some((_, end)) if end.is_some() && *end == first => *end = last,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<'a>(versions: &[&'a str]) -> Vec<Version<'a>> {
        set(versions).into_iter().filter(|version| !version.0.is_empty()).collect()
    }

    fn set<'a>(versions: &[&'a str]) -> BTreeSet<Version<'a>> {
        versions.iter().map(|version| Version(version)).collect()
    }

    #[test]
    fn versions_sort_by_number() {
        let sorted = ["", "1.0.2o", "1.0.2s", "1.1.1", "1.9.7", "1.10.8", "3.0.22", "103.0.5058"];
        let shuffled = ["1.10.8", "103.0.5058", "1.1.1", "1.0.2s", "", "3.0.22", "1.0.2o", "1.9.7"];
        let texts: Vec<&str> = set(&shuffled).iter().map(|version| version.0).collect();
        assert_eq!(texts[..7], sorted[1..]);
    }

    #[test]
    fn range_ends_before_version_that_differs() {
        let all = sorted(&["1.9.7", "1.10.8", "1.11.13", "1.12.17", "1.13.15", "1.17.1"]);
        assert_eq!(ranges(&all.iter().copied().collect(), &all, 0), "", "any version");
        assert_eq!(ranges(&set(&["1.9.7", "1.11.13", "1.12.17"]), &all, 0), "1.9 and older, 1.11-1.12");
        assert_eq!(ranges(&set(&["1.13.15"]), &all, 0), "1.13-1.16");
        assert_eq!(ranges(&set(&["1.17.1"]), &all, 0), "1.14 and newer");
        assert_eq!(ranges(&set(&[]), &all, 0), "");
    }

    #[test]
    fn range_reaches_back_from_first_version() {
        let all = sorted(&["133.0.1", "134.0.2", "153.0.1", "154.0.1", "156.0.1"]);
        let range = |versions: &[&str]| ranges(&set(versions), &all, 2);
        assert_eq!(range(&["134.0.2"]), "132-152");
        assert_eq!(range(&["154.0.1", "156.0.1"]), "152 and newer");
        assert_eq!(range(&["133.0.1"]), "133 and older");
        assert_eq!(range(&["153.0.1"]), "133-153");
    }

    #[test]
    fn range_stays_in_its_series() {
        let all = sorted(&["0.9.8", "1.1.1", "3.5.4", "4.0.1", "103.0.1", "129.0.2"]);
        let range = |version| ranges(&set(&[version]), &all, 0);
        let want = ["0.9 and older", "1.1", "3.5", "4.0", "103-128", "104 and newer"];
        assert_eq!(["0.9.8", "1.1.1", "3.5.4", "4.0.1", "103.0.1", "129.0.2"].map(range), want);
    }

    #[test]
    fn single_recorded_version_is_no_range() {
        let all = sorted(&["", "2.4"]);
        assert_eq!(ranges(&set(&["2.4"]), &all, 0), "");
    }

    #[test]
    fn short_version_has_enough_parts() {
        let shorts = ["103.0.5058", "10", "1.9.7", "3.5", "7", "1.1.1k", "2.50.6", ""]
            .map(|text| Version(text).short());
        assert_eq!(shorts, ["103", "10", "1.9", "3.5", "7", "1.1", "2.50", ""]);
    }

    #[test]
    fn two_patch_releases_make_one_version() {
        let all = sorted(&["17.0.2", "17.0.9", "17.0.15", "21.0.2"]);
        assert_eq!(ranges(&set(&["17.0.9", "17.0.15"]), &all, 0), "17-20");
        assert_eq!(ranges(&set(&["17.0.2", "17.0.15"]), &all, 0), "20 and older");
        assert_eq!(ranges(&set(&["17.0.2", "17.0.9", "17.0.15"]), &all, 0), "20 and older");
    }
}
