//! When versions of TLS libraries were released.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// The versions of a TLS library that send a fingerprint, and the years in which they were released.
///
/// [`Display`](fmt::Display) writes `1.0.1, 2012 to 2016`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct LibraryAge {
    /// The year of the first release.
    pub first: u16,
    /// The year of the last release; `None` if releases go on.
    pub last: Option<u16>,
    /// The series of releases, such as `1.0.1` or `1.0.1-1.0.2`.
    pub series: Arc<str>,
}

/// A series of releases: its name, and the years of its first and last release.
type Series = (&'static str, u16, Option<u16>);

/// The series of each library, the oldest first.
static RELEASES: LazyLock<BTreeMap<&'static str, Vec<Series>>> = LazyLock::new(|| {
    let mut releases = BTreeMap::<_, Vec<Series>>::new();
    let lines = include_str!("releases.tsv").lines().skip(1);
    for mut fields in lines.map(|line| line.split('\t')) {
        let (library, series) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let [first, last] = [(); 2].map(|()| fields.next().and_then(|year| year.parse().ok()));
        // A test parses the table.
        if let Some(first) = first {
            releases.entry(library).or_default().push((series, first, last));
        }
    }
    releases
});

impl LibraryAge {
    /// The age of these versions of a library; `None` if the releases of one are unknown.
    pub(super) fn of_versions<'a>(library: &str, versions: impl Iterator<Item = &'a str>) -> Option<Self> {
        let known = RELEASES.get(library)?;
        let mut indices = Vec::new();
        for version in versions {
            indices.push(known.iter().position(|(series, ..)| is_of_series(version, series))?);
        }
        let (oldest, newest) = (indices.iter().min()?, indices.iter().max()?);
        let ((start, first, _), (end, _, last)) = (known.get(*oldest)?, known.get(*newest)?);
        let series = if oldest == newest { (*start).to_owned() } else { format!("{start}-{end}") };
        Some(Self { series: series.into(), first: *first, last: *last })
    }

    /// The years of the first and the last release: `2012 to 2016`.
    pub fn years(&self) -> String {
        match self.last {
            Some(last) if last == self.first => last.to_string(),
            Some(last) => format!("{} to {last}", self.first),
            None => format!("{} and later", self.first),
        }
    }
}

/// Whether a version such as `1.0.1u` or `3.0.22` is of a series such as `1.0.1` or `3.0`.
fn is_of_series(version: &str, series: &str) -> bool {
    version.strip_prefix(series).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

impl fmt::Display for LibraryAge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.series, self.years())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_spans_the_series_of_all_versions() {
        let age = |versions: &[&str]| {
            LibraryAge::of_versions("OpenSSL", versions.iter().copied()).map(|age| age.to_string())
        };
        assert_eq!(age(&["1.0.1e", "1.0.1u"]).as_deref(), Some("1.0.1, 2012 to 2016"));
        assert_eq!(age(&["1.0.2s", "1.0.1"]).as_deref(), Some("1.0.1-1.0.2, 2012 to 2019"));
        assert_eq!(age(&["3.0.22"]).as_deref(), Some("3.0, 2021 and later"));
        assert_eq!(age(&["1.0.1", "9.9"]), None);
        assert_eq!([age(&[]), age(&["1.0.10"])], [None, None]);
        assert_eq!(LibraryAge::of_versions("Lib", ["1.0.1"].into_iter()), None);
    }

    #[test]
    fn each_series_has_a_source_and_years_in_order() {
        for line in include_str!("releases.tsv").lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            assert!(
                matches!(fields[..], [_, _, first, last, source] if !source.is_empty() && (last.is_empty() || first <= last)),
                "{line}"
            );
        }
        assert!(RELEASES["OpenSSL"].is_sorted_by_key(|(_, first, _)| *first));
    }
}
