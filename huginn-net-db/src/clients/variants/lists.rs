//! Lists of extensions that clients and libraries send, and their hashes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use huginn_net_tls::extension_type::SIGNATURE_ALGORITHMS;
use huginn_net_tls::{Ja4Hash, Ja4Raw, Transport, Version};
use huginn_net_wire::number_digits;

use super::session::Session;
use crate::clients::software::{Entry, library_names};

/// Extensions of a library that some of its hellos have and others lack.
pub(super) struct OptionalExtensions {
    library: &'static str,
    /// Field trials: one release of a program sends them on some machines only.
    trials: &'static [u16],
    /// Settings: programs choose them, so they leave only the library certain.
    settings: &'static [u16],
}

/// ca34 is trust_anchors, 12e0 an experiment of Chromium without a registered name. OpenSSL: status_request,
/// encrypt_then_mac, post_handshake_auth, next_protocol_negotiation. BoringSSL: the first and the last of these. rustls without
/// TLS 1.3: no psk_key_exchange_modes and key_share. wolfSSL resumes without extended_master_secret.
const OPTIONAL: [OptionalExtensions; 5] = [
    OptionalExtensions { library: "BoringSSL", trials: &[0x12e0, 0xca34], settings: &[0x0005, 0x3374] },
    OptionalExtensions { library: "Conscrypt", trials: &[], settings: &[0x0005, 0x3374] },
    OptionalExtensions { library: "OpenSSL", trials: &[], settings: &[0x0005, 0x0016, 0x0031, 0x3374] },
    OptionalExtensions { library: "rustls", trials: &[], settings: &[0x002d, 0x0033] },
    OptionalExtensions { library: "wolfSSL", trials: &[], settings: &[0x0017] },
];

/// The field trials of a library.
pub(super) fn trials_of(library: Option<&str>) -> &'static [u16] {
    OPTIONAL.iter().find(|optional| Some(optional.library) == library).map_or(&[], |optional| optional.trials)
}

/// Every list that differs from this one by some of the `optional` extensions, and the list itself. Lists are sorted.
pub(super) fn toggled(extensions: &[u16], optional: &[u16]) -> BTreeSet<Vec<u16>> {
    let mut lists = BTreeSet::from([extensions.to_vec()]);
    for extension in optional {
        let other: Vec<Vec<u16>> = lists.iter().map(|list| with_toggled(list, *extension)).collect();
        lists.extend(other);
    }
    lists
}

fn with_toggled(list: &[u16], extension: u16) -> Vec<u16> {
    let mut list = list.to_vec();
    match list.binary_search(&extension) {
        Ok(at) => drop(list.remove(at)),
        Err(at) => list.insert(at, extension),
    }
    list
}

/// Whether a hello with these lists can resume a session with pre_shared_key.
pub(super) fn offers_1_3(raw: &Ja4Raw) -> bool {
    matches!(raw.head().version(), Some(Version::TLS_1_3 | Version::DTLS_1_3))
}

/// The text that follows the extensions in the hashed list.
pub(super) fn text_of_algorithms(algorithms: &[u16]) -> Vec<u8> {
    let mut text = Vec::new();
    append(&mut text, b"_", algorithms);
    text
}

/// Appends numbers after `first`, with commas between them.
fn append(text: &mut Vec<u8>, first: &[u8], numbers: &[u16]) {
    for (separator, number) in std::iter::once(first).chain(std::iter::repeat(&b","[..])).zip(numbers) {
        text.extend_from_slice(separator);
        text.extend_from_slice(&number_digits(*number));
    }
}

/// JA4_c of these sorted extensions, with those of a session, before the text of the algorithms.
pub(super) fn hash(extensions: &[u16], session: Session, algorithms: &[u8]) -> Ja4Hash {
    let mut all: Vec<u16> = extensions.iter().copied().chain(session.extensions()).collect();
    if all.is_empty() {
        return Ja4Hash::EMPTY;
    }
    all.sort_unstable();
    let mut text = Vec::with_capacity(all.len().saturating_mul(5).saturating_add(algorithms.len()));
    append(&mut text, b"", &all);
    text.extend_from_slice(algorithms);
    Ja4Hash::from_list(text)
}

/// JA4_b of these sorted suites.
pub(super) fn hash_of_suites(suites: &[u16]) -> Ja4Hash {
    let mut text = Vec::with_capacity(suites.len().saturating_mul(5));
    append(&mut text, b"", suites);
    Ja4Hash::from_list(text)
}

/// The lists that were recorded of one library, over one transport and in one version.
#[derive(Debug)]
pub(super) struct LibraryLists<'a> {
    pub(super) library: Arc<str>,
    pub(super) transport: Transport,
    offers_1_3: bool,
    extensions: BTreeSet<&'a [u16]>,
    algorithms: BTreeSet<&'a [u16]>,
}

impl<'a> LibraryLists<'a> {
    /// The lists of each library with these entries.
    pub(super) fn of_entries(entries: impl Iterator<Item = &'a Arc<Entry>>) -> Vec<Self> {
        // The key is the library, and transport and version as in JA4.
        let mut found = BTreeMap::<(&str, &str), Self>::new();
        for entry in entries {
            let Some((library, raw)) = entry.library.library.as_ref().zip(entry.raw()) else { continue };
            let protocol = raw.as_str().get(..3).unwrap_or_default();
            for library in library_names(library) {
                let lists = found.entry((library, protocol)).or_insert_with(|| Self {
                    library: library.into(),
                    transport: raw.head().transport(),
                    offers_1_3: offers_1_3(raw),
                    extensions: BTreeSet::new(),
                    algorithms: BTreeSet::new(),
                });
                lists.extensions.insert(raw.extensions());
                lists.algorithms.insert(raw.signature_algorithms());
            }
        }
        found.into_values().collect()
    }

    /// The hashes of all lists: programs choose settings and signature algorithms, so each list of extensions occurs with
    /// each list of algorithms. Without algorithms, extensions are those of many libraries.
    pub(super) fn hashes(&self) -> impl Iterator<Item = Ja4Hash> {
        let optional = OPTIONAL.iter().find(|optional| *optional.library == *self.library);
        let optional =
            optional.map_or_else(Vec::new, |optional| [optional.trials, optional.settings].concat());
        let lists: BTreeSet<Vec<u16>> =
            self.extensions.iter().flat_map(|list| toggled(list, &optional)).collect();
        let sessions: Vec<Session> = Session::all(self.offers_1_3).collect();
        let algorithms: Vec<Vec<u8>> = self.algorithms.iter().map(|list| text_of_algorithms(list)).collect();
        lists.into_iter().flat_map(move |list| {
            let has_algorithms = list.contains(&SIGNATURE_ALGORITHMS);
            let mut hashes = Vec::new();
            for text in algorithms.iter().filter(|text| has_algorithms && !text.is_empty()) {
                hashes.extend(sessions.iter().map(|session| hash(&list, *session, text)));
            }
            hashes
        })
    }
}
