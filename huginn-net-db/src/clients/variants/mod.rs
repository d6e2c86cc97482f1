//! The fingerprints that a recorded client also has: resumed, to an address, in a field trial. They are computed from
//! the recorded lists, because a hash shows none of this.

mod change;
mod lists;
mod session;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use huginn_net_tls::{Ja4, Ja4Hash, Ja4Raw, Transport};

use super::software::{self, ClientMatch, Entry, MatchKind, Software};
use crate::limits::{MAX_HASHES_OF_LIBRARY, MIN_SUITES_OF_LIBRARY};

use change::Change;
use lists::LibraryLists;

pub use change::HelloVariant;
pub(super) use session::Session;

/// Extensions without which huginn-net 2.2 computes its `ja4_s1`, besides those that the stable JA4 leaves out.
const HUGINN_NET_S1: [u16; 5] = [0x0019, 0x0020, 0x002c, 0x002d, 0x003a];

/// The computed fingerprints of a database. Each part is computed when a hello asks for it: hashes of all would take longer than
/// the analysis of a small capture.
#[derive(Debug, Default)]
pub(super) struct VariantIndex {
    /// The clients, by JA4_b.
    clients: HashMap<Ja4Hash, ClientsOfCiphers, RandomState>,
    libraries: OnceLock<LibraryIndex>,
}

/// The clients with the same cipher suites.
#[derive(Debug, Default)]
struct ClientsOfCiphers {
    entries: Vec<Arc<Entry>>,
    variants: OnceLock<ClientIndex>,
}

/// The fingerprints of clients, by JA4_c.
#[derive(Debug, Default)]
struct ClientIndex(HashMap<Ja4Hash, Vec<Hit>, RandomState>);

/// What the extensions alone show, and the cipher suites alone.
#[derive(Debug, Default)]
struct LibraryIndex {
    /// The libraries with these extensions.
    libraries: HashMap<(Transport, Ja4Hash), BTreeSet<Arc<str>>, RandomState>,
    /// The libraries with these cipher suites.
    suites: HashMap<Ja4Hash, BTreeSet<Arc<str>>, RandomState>,
    /// The clients that a program imitates.
    imitated: ClientIndex,
}

/// A client, and how its hello becomes one with this hash.
#[derive(Debug)]
struct Hit {
    entry: Arc<Entry>,
    session: Session,
    /// Changes of the extensions, besides those of the session.
    variant: HelloVariant,
}

impl ClientIndex {
    fn new<'a>(entries: impl Iterator<Item = &'a Arc<Entry>>) -> Self {
        let mut index = Self::default();
        entries.for_each(|entry| index.add(entry));
        index
    }

    fn add(&mut self, entry: &Arc<Entry>) {
        let Some(raw) = entry.raw() else { return };
        let algorithms = lists::text_of_algorithms(raw.signature_algorithms());
        let trials = lists::trials_of(entry.library.library.as_deref());
        for extensions in lists::toggled(raw.extensions(), trials) {
            let is_trial = extensions != raw.extensions();
            for session in Session::all(lists::offers_1_3(raw)) {
                let variant = HelloVariant::default().with(Change::TRIAL, is_trial);
                self.insert(lists::hash(&extensions, session, &algorithms), entry, session, variant);
                if algorithms.is_empty() {
                    let variant = variant.with(Change::UNDERSCORE, true);
                    self.insert(lists::hash(&extensions, session, b"_"), entry, session, variant);
                }
            }
        }
        let mut kept = raw.extensions().to_vec();
        kept.retain(|kind| !HUGINN_NET_S1.contains(kind));
        if kept.len() < raw.extensions().len() {
            let hash = lists::hash(&kept, Session::default(), &algorithms);
            self.insert(
                hash,
                entry,
                Session::default(),
                HelloVariant::default().with(Change::HUGINN_NET_S1, true),
            );
        }
    }

    fn insert(&mut self, hash: Ja4Hash, entry: &Arc<Entry>, session: Session, variant: HelloVariant) {
        // The hash of no extensions says nothing.
        if hash != Ja4Hash::EMPTY {
            let hit = Hit { entry: Arc::clone(entry), session, variant };
            self.0.entry(hash).or_default().push(hit);
        }
    }
}

impl LibraryIndex {
    fn new<'a>(entries: impl Iterator<Item = &'a Arc<Entry>> + Clone) -> Self {
        let imitated = ClientIndex::new(entries.clone().filter(|entry| entry.is_imitated()));
        let mut index = Self { imitated, ..Self::default() };
        entries.clone().for_each(|entry| index.add_suites(entry));
        // An imitation says nothing about other hellos of the library.
        for lists in LibraryLists::of_entries(entries.filter(|entry| entry.is_genuine())) {
            for hash in lists.hashes().take(MAX_HASHES_OF_LIBRARY).filter(|hash| *hash != Ja4Hash::EMPTY) {
                let key = (lists.transport, hash);
                index.libraries.entry(key).or_default().insert(Arc::clone(&lists.library));
            }
        }
        index
    }

    /// Adds the cipher suites of an entry, and those of a connection that is retried with TLS_FALLBACK_SCSV (RFC 7507).
    fn add_suites(&mut self, entry: &Entry) {
        const FALLBACK_SCSV: u16 = 0x5600;
        let Some((library, raw)) = entry.library.library.as_ref().zip(entry.raw()) else { return };
        let suites = raw.cipher_suites();
        if suites.len() < MIN_SUITES_OF_LIBRARY {
            return;
        }
        let mut retried = suites.to_vec();
        retried.push(FALLBACK_SCSV);
        retried.sort_unstable();
        for hash in [raw.ja4().cipher_hash(), lists::hash_of_suites(&retried)] {
            let names = software::library_names(library).map(Arc::from);
            self.suites.entry(hash).or_default().extend(names);
        }
    }

    /// The library of these extensions, else of these cipher suites, and what differs. The suites decide between two.
    fn find(&self, transport: Transport, ja4: Ja4) -> Option<(Arc<str>, Change)> {
        let extensions = self.libraries.get(&(transport, ja4.extension_hash()));
        let suites = self.suites.get(&ja4.cipher_hash());
        let name = |names: &BTreeSet<Arc<str>>| software::joined_libraries(names.iter().map(|name| &**name));
        let of_both = || {
            let both: BTreeSet<_> = extensions?.intersection(suites?).cloned().collect();
            name(&both)
        };
        let of_extensions = || Some((of_both().or_else(|| name(extensions?))?, Change::OTHER_SETTINGS));
        of_extensions().or_else(|| Some((name(suites?)?, Change::OTHER_EXTENSIONS)))
    }
}

impl VariantIndex {
    /// The index of the entries of a database, with their stable JA4. Their lists are read when a hello asks for them.
    pub(super) fn new<'a>(entries: impl Iterator<Item = (&'a Ja4, &'a Arc<Entry>)>) -> Self {
        let mut index = Self::default();
        for (ja4_stable, entry) in entries {
            let clients = index.clients.entry(ja4_stable.cipher_hash()).or_default();
            clients.entries.push(Arc::clone(entry));
        }
        index
    }

    /// The clients with these cipher suites and extensions, and what they have in common.
    pub(super) fn client(&self, ja4: Ja4) -> Option<ClientMatch> {
        let clients = self.clients.get(&ja4.cipher_hash())?;
        let variants = clients.variants.get_or_init(|| ClientIndex::new(clients.entries.iter()));
        let hits = variants.0.get(&ja4.extension_hash())?.iter();
        let mut found: Vec<(HelloVariant, &Entry)> =
            hits.filter_map(|hit| Some((hit.variant_of(ja4)?, &*hit.entry))).collect();
        found.sort_by_key(|(variant, entry)| (variant.rank(), entry.raw().map(Ja4Raw::ja4)));
        let (variant, _) = *found.first()?;
        let has_other_alpn = variant.has(Change::OTHER_ALPN);
        // A program with the ALPN of the hello decides before one with another.
        found.retain(|(other, _)| other.has(Change::OTHER_ALPN) == has_other_alpn);
        let entries: Vec<&Entry> = found.iter().map(|(_, entry)| *entry).collect();
        let nearest = found.partition_point(|(other, _)| other.rank() == variant.rank());
        let software = Software::of_entries(entries.get(..nearest).unwrap_or_default());
        let kind = variant.kind();
        let software = match kind {
            MatchKind::Variant => software.shared_with(Software::of_entries(&entries), !has_other_alpn),
            _ => software,
        };
        Some(ClientMatch::new(&Arc::new(software), kind).with_variant(variant))
    }

    /// The library that has these extensions and signature algorithms, whatever the cipher suites, or these cipher suites; with
    /// a remark if an imitation has the extensions, too.
    pub(super) fn library(&self, ja4: Ja4) -> Option<ClientMatch> {
        let key = (ja4.head().transport(), ja4.extension_hash());
        let entries = self.clients.values().flat_map(|clients| &clients.entries);
        let index = self.libraries.get_or_init(|| LibraryIndex::new(entries));
        let (library, change) = index.find(key.0, ja4)?;
        let has_transport = |hit: &Hit| hit.entry.raw().is_some_and(|raw| raw.head().transport() == key.0);
        let or_imitation = index.imitated.0.get(&key.1).is_some_and(|hits| hits.iter().any(has_transport));
        let candidates = if or_imitation { vec![software::or_imitation(&library)] } else { Vec::new() };
        let software =
            Arc::new(Software { library: Some(library), candidates, or_imitation, ..Software::default() });
        let variant = HelloVariant::default().with(change, true);
        Some(ClientMatch::new(&software, MatchKind::Structural).with_variant(variant))
    }
}

impl Hit {
    /// The changes in a hello with this JA4 and the same cipher suites; `None` for another transport or version.
    fn variant_of(&self, ja4: Ja4) -> Option<HelloVariant> {
        let (head, known) = (ja4.head(), self.entry.raw()?);
        let recorded = known.head();
        let is_same = (recorded.transport(), recorded.version()) == (head.transport(), head.version());
        let names = (recorded.has_server_name(), head.has_server_name());
        is_same.then(|| {
            // Only the definition's forms show the session.
            let of_session = !self.variant.has(Change::HUGINN_NET_S1);
            let session = self.session.change_from(if of_session { self.entry.sessions() } else { &[] });
            self.variant
                .and(session)
                .with(Change::TO_ADDRESS, names == (true, false))
                .with(Change::TO_NAME, names == (false, true))
                .with(Change::OTHER_ALPN, recorded.alpn() != head.alpn())
        })
    }
}
