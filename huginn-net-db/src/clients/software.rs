//! Software, merged from the recordings of one fingerprint.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use huginn_net_tls::{ClientFamily, Ja4, Ja4Raw};

use super::nearest::NearestClient;
use super::table::{Key, Row};
use super::versions::{Version, ranges};

/// The software that a fingerprint identifies: what the recorded clients with this fingerprint have in common.
///
/// [`Display`](fmt::Display) writes the most specific name, such as `Go net/http 1.14-1.20`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Software {
    /// The library, such as `OpenSSL`; `None` if the clients have different ones.
    pub library: Option<Arc<str>>,
    /// The application, such as `Node.js`; `None` if several have the fingerprint, or if it is that of the library's
    /// default settings.
    pub application: Option<Arc<str>>,
    /// Versions of the application, or of the library if there is no application: ranges such as `1.14-1.20` or
    /// `1.25 and newer`, which include unrecorded versions up to the next recorded one with another fingerprint.
    pub versions: Option<Arc<str>>,
    /// All recorded clients, each with its versions; imitations last, such as `curl_cffi as Chrome 99-107`.
    pub candidates: Vec<Arc<str>>,
    /// The packages and scripts, or documents, of the recordings, with their dates.
    pub evidence: Vec<Arc<str>>,
}

impl fmt::Display for Software {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.application.as_ref().or(self.library.as_ref());
        f.write_str(name.map_or("several clients", |name| name))?;
        match &self.versions {
            Some(versions) => write!(f, " {versions}"),
            None => Ok(()),
        }
    }
}

/// How a fingerprint was matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MatchKind {
    /// By the complete fingerprint.
    Exact,
    /// By stable JA4: the JA4 differs, as in a resumed session.
    Stable,
    /// By the order of suites and extensions, or by a similar fingerprint; names the library only.
    Structural,
}

impl MatchKind {
    /// The name in events: `exact`, `stable` or `structural`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Stable => "stable",
            Self::Structural => "structural",
        }
    }
}

impl fmt::Display for MatchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The software behind a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientMatch {
    /// The software.
    pub software: Arc<Software>,
    /// How it was identified.
    pub kind: MatchKind,
    /// The most similar known fingerprint, for a [structural](MatchKind::Structural) match.
    pub nearest: Option<Arc<NearestClient>>,
}

impl ClientMatch {
    pub(super) fn new(software: &Arc<Software>, kind: MatchKind) -> Self {
        Self { software: Arc::clone(software), kind, nearest: None }
    }
}

/// A fingerprint of the database.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) software: Arc<Software>,
    /// The library alone, for a structural match.
    pub(super) library: Arc<Software>,
    ja4: Vec<Ja4>,
    ja4_stable_r: Box<str>,
    raw: OnceLock<Option<Ja4Raw>>,
}

impl Entry {
    pub(super) fn has_ja4(&self, ja4: Ja4) -> bool {
        self.ja4.contains(&ja4)
    }

    /// The sorted lists of the fingerprint; `None` if the table lacks them.
    pub(super) fn raw(&self) -> Option<&Ja4Raw> {
        self.raw.get_or_init(|| self.ja4_stable_r.parse().ok().map(Ja4Raw::session_stable)).as_ref()
    }
}

/// Versions by the name of a library or program.
type Versions<'a> = BTreeMap<&'a str, BTreeSet<Version<'a>>>;

/// All recorded versions, sorted and without empty ones.
struct Recorded<'a> {
    libraries: SortedVersions<'a>,
    applications: SortedVersions<'a>,
    imitated: SortedVersions<'a>,
}

/// Sorted versions by the name of a library or program.
type SortedVersions<'a> = BTreeMap<&'a str, Vec<Version<'a>>>;

fn sorted<'a>(versions: Versions<'a>) -> SortedVersions<'a> {
    let named = |(name, mut versions): (&'a str, BTreeSet<Version<'a>>)| {
        versions.retain(|version| !version.0.is_empty());
        (name, versions.into_iter().collect())
    };
    versions.into_iter().map(named).collect()
}

/// Merges the rows of each fingerprint.
pub(super) fn merge(rows: &[Row<'_>]) -> Vec<(Key, Entry)> {
    let mut groups = BTreeMap::<Key, Vec<&Row<'_>>>::new();
    let [mut libraries, mut applications, mut imitated] = [const { Versions::new() }; 3];
    for row in rows {
        let (name, version) = row.program();
        let versions = if row.is_genuine() { &mut applications } else { &mut imitated };
        versions.entry(name).or_default().insert(version);
        libraries.entry(row.library).or_default().insert(Version(row.library_version));
        for key in [Some(row.key), row.ja3.map(Key::Ja3)].into_iter().flatten() {
            groups.entry(key).or_default().push(row);
        }
    }
    let recorded = Recorded {
        libraries: sorted(libraries),
        applications: sorted(applications),
        imitated: sorted(imitated),
    };
    groups.into_iter().map(|(key, rows)| (key, Entry::merge(key, &rows, &recorded))).collect()
}

impl Entry {
    fn merge(key: Key, rows: &[&Row<'_>], recorded: &Recorded<'_>) -> Self {
        let (genuine, imitations): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
            rows.iter().copied().partition(|row| row.is_genuine());
        let named = if genuine.is_empty() { &imitations } else { &genuine };
        // The frames of HTTP/2 do not depend on the TLS library.
        let library = common(named.iter().map(|row| row.library))
            .filter(|library| !library.is_empty() && !matches!(key, Key::Http2(_)));
        let applications = programs(&genuine);
        // The fingerprint of a program without settings of its own is that of its library's defaults.
        let is_specific = genuine.iter().all(|row| row.own_settings);
        let application = common(applications.keys().copied()).filter(|_| is_specific);
        let versions = match (application, library) {
            (Some(name), _) => versions_of(name, &applications, &recorded.applications),
            (None, Some(name)) => {
                let found = genuine.iter().map(|row| Version(row.library_version)).collect();
                versions_of(name, &Versions::from([(name, found)]), &recorded.libraries)
            }
            (None, None) => String::new(),
        };
        let software = Software {
            library: library.map(Into::into),
            application: application.map(Into::into),
            versions: Some(versions.into()).filter(|versions: &Arc<str>| !versions.is_empty()),
            candidates: candidates(&genuine, &imitations, recorded),
            evidence: rows.iter().map(|row| format!("{} ({})", row.evidence, row.date).into()).collect(),
        };
        let mut ja4: Vec<Ja4> = rows.iter().filter_map(|row| row.ja4).collect();
        ja4.sort_unstable();
        ja4.dedup();
        Self {
            library: Arc::new(Software { library: software.library.clone(), ..Software::default() }),
            software: Arc::new(software),
            ja4,
            ja4_stable_r: rows
                .iter()
                .map(|row| row.ja4_stable_r)
                .find(|raw| !raw.is_empty())
                .unwrap_or_default()
                .into(),
            raw: OnceLock::new(),
        }
    }
}

/// The versions of each program in these rows.
fn programs<'a>(rows: &[&Row<'a>]) -> Versions<'a> {
    let mut programs = Versions::new();
    for row in rows {
        let (name, version) = row.program();
        programs.entry(name).or_default().insert(version);
    }
    programs
}

/// The ranges of a program's versions; `all` are its recorded versions.
fn versions_of(name: &str, found: &Versions<'_>, all: &SortedVersions<'_>) -> String {
    found.get(name).zip(all.get(name)).map(|(found, all)| ranges(found, all)).unwrap_or_default()
}

/// The names of genuine clients, then of imitations, with their versions.
fn candidates(genuine: &[&Row<'_>], imitations: &[&Row<'_>], recorded: &Recorded<'_>) -> Vec<Arc<str>> {
    let with_versions = |name: &str, found: &Versions<'_>, all: &SortedVersions<'_>| {
        let versions = versions_of(name, found, all);
        if versions.is_empty() { name.to_owned() } else { format!("{name} {versions}") }
    };
    let found = programs(genuine);
    let mut candidates: Vec<Arc<str>> =
        found.keys().map(|name| with_versions(name, &found, &recorded.applications).into()).collect();
    let mut imitators = BTreeMap::<&str, Vec<&Row<'_>>>::new();
    for row in imitations {
        imitators.entry(row.application).or_default().push(row);
    }
    for (imitator, rows) in imitators {
        let found = programs(&rows);
        candidates.extend(
            found.keys().map(|name| {
                format!("{imitator} as {}", with_versions(name, &found, &recorded.imitated)).into()
            }),
        );
    }
    candidates
}

impl<'a> Row<'a> {
    fn is_genuine(&self) -> bool {
        self.imitates.is_empty()
    }

    /// The name and version of the program, or of the imitated one.
    fn program(&self) -> (&'a str, Version<'a>) {
        if self.is_genuine() {
            return (self.application, Version(self.application_version));
        }
        let (name, version) = split_version(self.imitates);
        (name, Version(version))
    }
}

/// The value that all items have.
fn common<'a>(mut values: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// Splits `Safari 17.2 on iOS` into `Safari` and `17.2`.
fn split_version(text: &str) -> (&str, &str) {
    let Some(start) = text.find(|c: char| c.is_ascii_digit()) else { return (text, "") };
    let (name, rest) = text.split_at_checked(start).unwrap_or((text, ""));
    (name.trim_end(), rest.split(' ').next().unwrap_or_default())
}

/// The software that a family of libraries names. Any client can imitate a browser's structure.
pub(super) fn from_family(family: ClientFamily) -> Software {
    let (library, browser) = match family {
        ClientFamily::Chromium => ("BoringSSL", Some("Chromium or an imitation")),
        ClientFamily::Firefox => ("NSS", Some("Firefox or an imitation")),
        family => (family.name(), None),
    };
    let candidates = browser.into_iter().map(Into::into).collect();
    Software { library: Some(library.into()), candidates, ..Software::default() }
}
