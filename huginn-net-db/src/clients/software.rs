//! Software, merged from the recordings of one fingerprint.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use huginn_net_tls::{ClientFamily, Ja4, Ja4Hash, Ja4Raw};

use super::browser_fields::{BrowserImitation, HelloField, ImitatedBrowser};
use super::nearest::NearestClient;
use super::releases::LibraryAge;
use super::table::{Key, Row};
use super::variants::{HelloVariant, Session};
use super::versions::{AND_NEWER, Ranks, Version, ranges, short};

/// The software that a fingerprint identifies: what the recorded clients with this fingerprint have in common.
///
/// [`Display`](fmt::Display) writes the most specific name, such as `Go net/http 1.14-1.20` or `OpenSSL`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Software {
    /// The library, such as `OpenSSL`, or two, such as `Conscrypt or BoringSSL`; `None` if the clients have more.
    pub library: Option<Arc<str>>,
    /// The application, such as `Node.js`; `None` if several have the fingerprint, or if it is that of the library's
    /// default settings.
    pub application: Option<Arc<str>>,
    /// Versions of the application, or of the library if there is no application: ranges such as `1.14-1.20` or
    /// `1.25 and newer`, which include unrecorded versions up to the next recorded one with another fingerprint.
    pub versions: Option<Arc<str>>,
    /// The newest version that was recorded, and when, if the newest range of `versions` is open: `156, 2026-11`.
    pub recorded_to: Option<Arc<str>>,
    /// The versions of the library that have the fingerprint, and when they were released, if that is known of all.
    pub library_age: Option<LibraryAge>,
    /// All recorded clients, each with its versions; imitations last, such as `curl_cffi as Chrome 99-107`. If only imitations were
    /// recorded, the programs that they imitate come first, such as `Safari 18 and newer`.
    pub candidates: Vec<Arc<str>>,
    /// Whether what is named was not recorded itself, only imitations of it; or, where the extensions alone name the
    /// library, whether imitations have them, too.
    pub or_imitation: bool,
    /// The packages and scripts, or documents, of the recordings, with their dates.
    pub evidence: Vec<Arc<str>>,
    /// The browser that a hello imitates, and the fields that show it. No library or application is named then, and only
    /// imitations that were recorded with these fields are candidates.
    pub imitation: Option<BrowserImitation>,
    /// The imitations among the candidates that differ from their browser in fields.
    pub(super) differing: Vec<DifferingImitation>,
    /// The same for a hello in which no field differs; `None` if that is the same.
    pub(super) agreeing: Option<Arc<Software>>,
    /// The software for each library, if there are two.
    pub(super) by_library: Vec<Arc<Software>>,
}

/// A candidate, and the fields in which it differs from the browser that it imitates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DifferingImitation {
    name: Arc<str>,
    browser: Option<ImitatedBrowser>,
    fields: Vec<HelloField>,
}

impl fmt::Display for Software {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(imitation) = &self.imitation {
            return write!(f, "imitation of {}", imitation.browser);
        }
        let name = self.application.as_ref().or(self.library.as_ref());
        f.write_str(name.map_or("several clients", |name| name))?;
        if let Some(versions) = &self.versions {
            write!(f, " {versions}")?;
        }
        Ok(())
    }
}

huginn_net_wire::named! {
    /// How a fingerprint was matched.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum MatchKind {
        /// By the complete fingerprint.
        Exact = "exact",
        /// By stable JA4: the JA4 differs, as in a resumed session.
        Stable = "stable",
        /// By a fingerprint that was computed from a recorded one, as of the same client connecting to an address.
        Variant = "variant",
        /// By the order of suites and extensions, by the extensions alone, or by a similar fingerprint; names the library only.
        Structural = "structural",
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
    /// What differs from the recorded hello, if that is known.
    pub variant: Option<HelloVariant>,
    /// The most similar known fingerprint, for a [structural](MatchKind::Structural) match.
    pub nearest: Option<Arc<NearestClient>>,
}

impl ClientMatch {
    pub(super) fn new(software: &Arc<Software>, kind: MatchKind) -> Self {
        Self { software: Arc::clone(software), kind, variant: None, nearest: None }
    }

    /// Whether the fingerprint itself is in the database. Otherwise it was computed from one that is, or the software is that of a
    /// similar one.
    pub fn is_recorded(&self) -> bool {
        matches!(self.kind, MatchKind::Exact | MatchKind::Stable)
    }

    pub(super) fn with_variant(mut self, variant: HelloVariant) -> Self {
        self.variant = Some(variant).filter(|variant| *variant != HelloVariant::default());
        self
    }

    /// The match of a hello with these fields: the browser with the fingerprint did not send it.
    pub(super) fn into_imitation(self, imitation: BrowserImitation) -> Self {
        let has_all =
            |known: &&DifferingImitation| imitation.fields.iter().all(|field| known.fields.contains(field));
        let software = Software {
            candidates: self
                .software
                .differing
                .iter()
                .filter(has_all)
                .map(|known| Arc::clone(&known.name))
                .collect(),
            evidence: self.software.evidence.clone(),
            imitation: Some(imitation),
            ..Software::default()
        };
        Self { software: Arc::new(software), ..self }
    }

    /// The match of a hello with the structure of this family, which is asked for if the fingerprint is of two libraries.
    pub(super) fn of_family(self, family: impl FnOnce() -> Option<ClientFamily>) -> Self {
        let by_library = &self.software.by_library;
        let library = if by_library.is_empty() { None } else { family().map(ClientFamily::name) };
        let is_of_family =
            |software: &&Arc<Software>| library.is_some() && software.library.as_deref() == library;
        match by_library.iter().find(is_of_family) {
            Some(software) => Self { software: Arc::clone(software), ..self },
            None => self,
        }
    }

    /// The match of a hello in which no field differs.
    pub(super) fn into_agreeing(self) -> Self {
        match &self.software.agreeing {
            Some(agreeing) => Self { software: Arc::clone(agreeing), ..self },
            None => self,
        }
    }
}

/// A fingerprint of the database.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) software: Arc<Software>,
    /// The library alone, for a structural match.
    pub(super) library: Arc<Software>,
    /// Number of genuine clients among the candidates.
    genuine: usize,
    /// The recorded JA4.
    pub(super) ja4: Vec<Ja4>,
    ja4_stable_r: Box<str>,
    raw: OnceLock<Option<Ja4Raw>>,
    sessions: OnceLock<Vec<Session>>,
}

impl Entry {
    /// Whether a client that imitates no other one has the fingerprint.
    pub(super) fn is_genuine(&self) -> bool {
        self.genuine > 0
    }

    /// Whether a client that imitates another one has the fingerprint.
    pub(super) fn is_imitated(&self) -> bool {
        !self.candidates().1.is_empty()
    }

    /// The software of each library.
    fn parts(&self) -> &[Arc<Software>] {
        let by_library = &*self.software.by_library;
        if by_library.is_empty() { std::slice::from_ref(&self.software) } else { by_library }
    }

    /// The genuine clients, and the imitations.
    fn candidates(&self) -> (&[Arc<str>], &[Arc<str>]) {
        self.software.candidates.split_at_checked(self.genuine).unwrap_or_default()
    }

    /// The extensions of a session in each recorded hello, if the table has the lists.
    pub(super) fn sessions(&self) -> &[Session] {
        let recorded = |raw| Session::recorded(raw, &self.ja4);
        self.sessions.get_or_init(|| self.raw().map(recorded).unwrap_or_default())
    }

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
    ranks: Ranks<'a>,
    libraries: SortedVersions<'a>,
    applications: SortedVersions<'a>,
    imitated: SortedVersions<'a>,
    /// The last day on which each program, or library, was recorded.
    dates: BTreeMap<&'a str, &'a str>,
}

/// Sorted versions by the name of a library or program.
type SortedVersions<'a> = BTreeMap<&'a str, Vec<Version<'a>>>;

fn sorted<'a>(versions: Versions<'a>) -> SortedVersions<'a> {
    let named = |(name, mut versions): (&'a str, BTreeSet<Version<'a>>)| {
        versions.retain(|version| !version.text.is_empty());
        (name, versions.into_iter().collect())
    };
    versions.into_iter().map(named).collect()
}

/// Merges the rows of each key; `key_of`: the key of a row.
pub(super) fn merge(rows: &[Row<'_>], key_of: impl Fn(&Row<'_>) -> Option<Key>) -> Vec<(Key, Entry)> {
    let mut groups = BTreeMap::<Key, Vec<&Row<'_>>>::new();
    let mut clients = HashMap::<NamelessJa4, Vec<&Row<'_>>, RandomState>::default();
    let ranks = Ranks::new(rows.iter().flat_map(|row| [row.library_version, row.program().1]));
    let [mut libraries, mut applications, mut imitated] = [const { Versions::new() }; 3];
    let mut dates = BTreeMap::new();
    for row in rows {
        for name in
            [row.library, row.application].into_iter().filter(|_| row.is_genuine() && !row.is_constructed)
        {
            let date = dates.entry(name).or_insert(row.date);
            *date = row.date.max(date);
        }
        let (name, version) = row.program();
        let versions = if row.is_genuine() { &mut applications } else { &mut imitated };
        versions.entry(name).or_default().insert(ranks.version(version));
        libraries.entry(row.library).or_default().insert(ranks.version(row.library_version));
        if let Some(key) = key_of(row) {
            groups.entry(key).or_default().push(row);
        }
        if let Some(key) = without_server_name(row.key) {
            clients.entry(key).or_default().push(row);
        }
    }
    let recorded = Recorded {
        ranks,
        libraries: sorted(libraries),
        applications: sorted(applications),
        imitated: sorted(imitated),
        dates,
    };
    let merged = |(key, rows): (Key, Vec<&Row<'_>>)| {
        let clients = without_server_name(key).and_then(|key| clients.get(&key)).unwrap_or(&rows);
        (key, Entry::merge(key, &rows, clients, &recorded))
    };
    groups.into_iter().map(merged).collect()
}

/// A JA4 without the presence of server_name and the number of extensions: transport, version, ALPN, hashes.
type NamelessJa4 = ([u8; 3], [u8; 2], Ja4Hash, Ja4Hash);

/// The key of the clients that send the same hello to a name and to an address. `None` for other fingerprints.
fn without_server_name(key: Key) -> Option<NamelessJa4> {
    let Key::Tls(ja4) = key else { return None };
    let head = ja4.head();
    let protocol = head.as_str().as_bytes().first_chunk()?;
    Some((*protocol, *head.alpn().as_bytes().first_chunk()?, ja4.cipher_hash(), ja4.extension_hash()))
}

impl Entry {
    /// Merges the rows of a key. All `clients` decide the name: the rows, and those that differ in server_name.
    fn merge(key: Key, rows_of_key: &[&Row<'_>], clients: &[&Row<'_>], recorded: &Recorded<'_>) -> Self {
        let (genuine, imitations): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
            clients.iter().copied().partition(|row| row.is_genuine());
        let named = if genuine.is_empty() { &imitations } else { &genuine };
        // The frames of HTTP/2 and HTTP/3 do not depend on the TLS library.
        let has_library = !matches!(key, Key::Http2(_) | Key::Http3(_));
        let libraries: BTreeSet<&str> = named
            .iter()
            .map(|row| row.library)
            .filter(|library| has_library && !library.is_empty())
            .collect();
        let library = joined_libraries(libraries.iter().copied());
        let applications = programs(named, &recorded.ranks);
        // The fingerprint of a program without settings of its own is that of its library's defaults.
        let is_specific = genuine.iter().all(|row| row.own_settings);
        // A JA3 has neither the ALPN values nor the signature algorithms: applications that differ in them share it.
        let is_ja3 = matches!(key, Key::Ja3(_));
        let application = common(applications.keys().copied()).filter(|_| is_specific && !is_ja3);
        let versions = match (application, library.as_deref()) {
            _ if is_ja3 => String::new(),
            (Some(name), _) if genuine.is_empty() => versions_of(name, &applications, &recorded.imitated),
            (Some(name), _) => versions_of(name, &applications, &recorded.applications),
            (None, Some(name)) => {
                let found = genuine.iter().map(|row| recorded.ranks.version(row.library_version)).collect();
                versions_of(name, &Versions::from([(name, found)]), &recorded.libraries)
            }
            (None, None) => String::new(),
        };
        let (name, all) = match (application, library.as_deref()) {
            (Some(name), _) if genuine.is_empty() => (name, None),
            (Some(name), _) => (name, recorded.applications.get(name)),
            (None, name) => (name.unwrap_or_default(), recorded.libraries.get(name.unwrap_or_default())),
        };
        let recorded_to = all.and_then(|all| recorded_to(&versions, all, recorded.dates.get(name)));
        let library_versions = genuine.iter().map(|row| row.library_version);
        let library_age =
            library.as_deref().and_then(|library| LibraryAge::of_versions(library, library_versions));
        let (candidates, genuine_candidates, differing) = candidates(&genuine, &imitations, recorded);
        let of_library = |library: &&str| {
            let of_library = |row: &&Row<'_>| row.library == *library;
            let [rows, clients]: [Vec<&Row<'_>>; 2] =
                [rows_of_key, clients].map(|rows| rows.iter().copied().filter(of_library).collect());
            Self::merge(key, &rows, &clients, recorded).software
        };
        let software = Software {
            library,
            application: application.map(Into::into),
            versions: Some(versions.into()).filter(|versions: &Arc<str>| !versions.is_empty()),
            recorded_to,
            library_age,
            candidates,
            evidence: distinct(&mut clients.iter().map(|row| row.evidence_text().into())),
            or_imitation: genuine.is_empty(),
            differing,
            by_library: if libraries.len() > 1 {
                libraries.iter().map(of_library).collect()
            } else {
                Vec::new()
            },
            ..Software::default()
        }
        .with_agreeing();
        let mut ja4: Vec<Ja4> = rows_of_key.iter().filter_map(|row| row.ja4).collect();
        ja4.sort_unstable();
        ja4.dedup();
        Self {
            library: Arc::new(Software {
                library: software.library.clone(),
                or_imitation: software.or_imitation,
                ..Software::default()
            }),
            software: Arc::new(software),
            genuine: genuine_candidates,
            ja4,
            ja4_stable_r: rows_of_key
                .iter()
                .map(|row| row.ja4_stable_r)
                .find(|raw| !raw.is_empty())
                .unwrap_or_default()
                .into(),
            raw: OnceLock::new(),
            sessions: OnceLock::new(),
        }
    }
}

impl Software {
    /// What these entries have in common, with the candidates and the evidence of all. Imitations name nothing beside
    /// genuine clients.
    pub(super) fn of_entries(entries: &[&Entry]) -> Self {
        let (genuine, imitations): (Vec<&Entry>, Vec<&Entry>) =
            entries.iter().partition(|entry| entry.is_genuine());
        let named = if genuine.is_empty() { &imitations } else { &genuine };
        let software = named.iter().map(|entry| &*entry.software);
        let of_genuine = entries.iter().flat_map(|entry| entry.candidates().0);
        let of_imitations = entries.iter().flat_map(|entry| entry.candidates().1);
        let parts = || named.iter().flat_map(|entry| entry.parts());
        let libraries: BTreeSet<&str> = parts().filter_map(|part| part.library.as_deref()).collect();
        let of_library =
            |library: &&str| Self::of_parts(parts().filter(|part| part.library.as_deref() == Some(*library)));
        Self {
            by_library: if libraries.len() == 2 {
                libraries.iter().map(of_library).collect()
            } else {
                Vec::new()
            },
            library: joined_libraries(software.clone().filter_map(|software| software.library.as_deref())),
            library_age: common(software.clone().map(|software| &software.library_age)).cloned().flatten(),
            candidates: distinct(&mut of_genuine.chain(of_imitations).cloned()),
            evidence: distinct(&mut entries.iter().flat_map(|entry| &entry.software.evidence).cloned()),
            or_imitation: genuine.is_empty(),
            differing: entries.iter().flat_map(|entry| &entry.software.differing).cloned().collect(),
            ..Self::of_application(software)
        }
        .with_agreeing()
    }

    /// The application of all these, with the versions that they have in common.
    fn of_application<'a>(software: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let application = common(software.clone().map(|software| &software.application));
        let of_all = |value: fn(&Self) -> &Option<Arc<str>>| {
            application.and(common(software.clone().map(value))).cloned().flatten()
        };
        Self {
            application: application.cloned().flatten(),
            versions: of_all(|software| &software.versions),
            recorded_to: of_all(|software| &software.recorded_to),
            ..Self::default()
        }
    }

    /// What the software of one library has in common.
    fn of_parts<'a>(parts: impl Iterator<Item = &'a Arc<Self>> + Clone) -> Arc<Self> {
        Arc::new(Self {
            library: parts.clone().find_map(|part| part.library.clone()),
            candidates: distinct(&mut parts.clone().flat_map(|part| &part.candidates).cloned()),
            evidence: distinct(&mut parts.clone().flat_map(|part| &part.evidence).cloned()),
            or_imitation: parts.clone().all(|part| part.or_imitation),
            ..Self::of_application(parts.map(|part| &**part))
        })
    }

    /// The same without the names that `all` clients do not share, and with the candidates of all.
    pub(super) fn shared_with(self, all: Self, names_application: bool) -> Self {
        let application =
            self.application.clone().filter(|_| names_application && self.application == all.application);
        let keeps_versions =
            names_application && application == self.application && self.library == all.library;
        Self {
            library: all.library,
            application,
            versions: self.versions.filter(|_| keeps_versions),
            recorded_to: self.recorded_to.filter(|_| keeps_versions),
            library_age: self.library_age.filter(|age| all.library_age.as_ref() == Some(age)),
            candidates: all.candidates,
            evidence: self.evidence,
            or_imitation: all.or_imitation,
            differing: all.differing,
            by_library: all.by_library,
            ..Self::default()
        }
        .with_agreeing()
    }

    /// Adds the software of a hello in which no field differs. Without another candidate, the browser may have sent it.
    fn with_agreeing(mut self) -> Self {
        let Some(DifferingImitation { browser, .. }) = self.differing.first() else { return self };
        let differs = |name: &Arc<str>| self.differing.iter().any(|known| known.name == *name);
        let mut candidates: Vec<Arc<str>> =
            self.candidates.iter().filter(|name| !differs(name)).cloned().collect();
        if let ([], Some(browser)) = (&*candidates, browser) {
            candidates.push(browser.or_imitation().into());
        }
        let agreeing = Self { candidates, differing: Vec::new(), ..self.clone() };
        self.agreeing = Some(Arc::new(agreeing));
        self
    }
}

/// The candidate for a program that may be imitated.
pub(super) fn or_imitation(name: &str) -> Arc<str> {
    format!("{name} or an imitation").into()
}

/// The texts without repetitions.
fn distinct(texts: &mut dyn Iterator<Item = Arc<str>>) -> Vec<Arc<str>> {
    let mut seen = BTreeSet::new();
    texts.filter(|text| seen.insert(Arc::clone(text))).collect()
}

/// The versions of each program in these rows.
fn programs<'a>(rows: &[&Row<'a>], ranks: &Ranks<'a>) -> Versions<'a> {
    let mut programs = Versions::new();
    for row in rows {
        let (name, version) = row.program();
        programs.entry(name).or_default().insert(ranks.version(version));
    }
    programs
}

/// Versions of Chromium before a range that may have its fingerprint, too: Chromium tries a change in some installations, and
/// the recorded builds are without such trials.
const CHROMIUM_TRIAL_VERSIONS: u64 = 2;

/// The ranges of a program's versions; `all` are its recorded versions.
fn versions_of(name: &str, found: &Versions<'_>, all: &SortedVersions<'_>) -> String {
    let reach = if name == "Chromium" { CHROMIUM_TRIAL_VERSIONS } else { 0 };
    found.get(name).zip(all.get(name)).map(|(found, all)| ranges(found, all, reach)).unwrap_or_default()
}

/// The newest recorded version with the month of its recording, if a range of versions is open: `156, 2026-11`.
fn recorded_to(versions: &str, all: &[Version<'_>], date: Option<&&str>) -> Option<Arc<str>> {
    let month = date?.get(..7).filter(|_| versions.ends_with(AND_NEWER))?;
    Some(format!("{}, {month}", short(all.last()?.text)).into())
}

/// The names of genuine clients, then of imitations, with their versions; the number of genuine ones; and the imitations
/// that differ from their browser in fields.
fn candidates(
    genuine: &[&Row<'_>],
    imitations: &[&Row<'_>],
    recorded: &Recorded<'_>,
) -> (Vec<Arc<str>>, usize, Vec<DifferingImitation>) {
    let with_versions = |name: &str, found: &Versions<'_>, all: &SortedVersions<'_>| {
        let versions = versions_of(name, found, all);
        if versions.is_empty() { name.to_owned() } else { format!("{name} {versions}") }
    };
    let found = programs(genuine, &recorded.ranks);
    let mut candidates: Vec<Arc<str>> =
        found.keys().map(|name| with_versions(name, &found, &recorded.applications).into()).collect();
    if genuine.is_empty() {
        let found = programs(imitations, &recorded.ranks);
        candidates.extend(found.keys().map(|name| with_versions(name, &found, &recorded.imitated).into()));
    }
    let mut differing = Vec::new();
    let mut imitators = BTreeMap::<(&str, &[HelloField]), Vec<&Row<'_>>>::new();
    for row in imitations {
        imitators.entry((row.application, &row.differs)).or_default().push(row);
    }
    for ((imitator, fields), rows) in imitators {
        let found = programs(&rows, &recorded.ranks);
        for imitated in found.keys() {
            let name: Arc<str> =
                format!("{imitator} as {}", with_versions(imitated, &found, &recorded.imitated)).into();
            // An imitation that was recorded with and without the fields may send both.
            if candidates.contains(&name) {
                continue;
            }
            if !fields.is_empty() {
                let browser = ImitatedBrowser::from_name(imitated);
                differing.push(DifferingImitation {
                    name: Arc::clone(&name),
                    browser,
                    fields: fields.to_vec(),
                });
            }
            candidates.push(name);
        }
    }
    (candidates, found.len(), differing)
}

impl<'a> Row<'a> {
    /// The package and script, or the document, with the date.
    fn evidence_text(&self) -> String {
        let constructed = if self.is_constructed { "constructed from " } else { "" };
        format!("{constructed}{} ({})", self.evidence, self.date)
    }

    fn is_genuine(&self) -> bool {
        self.imitates.is_empty()
    }

    /// The name and version of the program, or of the imitated one.
    fn program(&self) -> (&'a str, &'a str) {
        if self.is_genuine() {
            (self.application, self.application_version)
        } else {
            split_version(self.imitates)
        }
    }
}

/// Between the names of two libraries.
const OR: &str = " or ";

/// The names of one library or two; `None` if there are more.
pub(super) fn joined_libraries<'a>(names: impl Iterator<Item = &'a str>) -> Option<Arc<str>> {
    let names: BTreeSet<&str> = names.flat_map(library_names).collect();
    let joined = || names.iter().rev().copied().collect::<Vec<_>>().join(OR);
    (1..=2).contains(&names.len()).then(|| joined().into())
}

/// The libraries that a joined name has.
pub(super) fn library_names(joined: &str) -> impl Iterator<Item = &str> {
    joined.split(OR)
}

/// The value that all items have.
fn common<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
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
    let browser = match family {
        ClientFamily::Chromium => Some(ImitatedBrowser::Chromium),
        ClientFamily::Firefox => Some(ImitatedBrowser::Firefox),
        _ => None,
    };
    let library = browser.map_or(family.name(), ImitatedBrowser::library);
    let candidates = browser.into_iter().map(|browser| browser.or_imitation().into()).collect();
    Software { library: Some(library.into()), candidates, ..Software::default() }
}
