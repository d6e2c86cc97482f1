//! Search for the deviations that let a tool compute another hash from the same lists.

use huginn_net_tls::Ja4Hash;
use huginn_net_tls::extension_type::{ALPN, SERVER_NAME};

use super::EMPTY_HASH;
use super::lists::{Lists, written};
use super::session_forms::SESSION_FORMS;

/// Maximum number of cipher suites in a search. Their variants are not combined with those of another list, so this
/// limit is higher than the others.
const MAX_SEARCHED_CIPHERS: usize = 150;

/// Maximum number of extensions in a search; they have some hundred variants.
const MAX_SEARCHED_EXTENSIONS: usize = 50;

/// Maximum number of signature algorithms in a search; they have some hundred variants.
const MAX_SEARCHED_ALGORITHMS: usize = 40;

/// Maximum number of deviations that a search combines: the variants to try multiply with each of them.
const MAX_DEVIATIONS: usize = 2;

/// Description of a tool's deviation; `None` if it follows the definition.
type Deviation = Option<String>;

/// Finds the deviations that give this hash for these cipher suites.
pub(super) fn ciphers(lists: &Lists, hash: Ja4Hash) -> Option<Vec<String>> {
    let mut search = Search::new(hash, "cipher suites");
    if lists.cipher_suites.len() > MAX_SEARCHED_CIPHERS {
        return search.found;
    }
    for (change, list) in cipher_variants(&lists.cipher_suites) {
        for (spelling, spell) in spellings() {
            search.offer(&[&change, &spelling], || spell(&list));
        }
    }
    search.found
}

/// Finds the deviations that give this hash for these extensions and signature algorithms.
pub(super) fn extensions(lists: &Lists, hash: Ja4Hash) -> Option<Vec<String>> {
    let mut search = Search::new(hash, "extensions");
    if lists.extensions.len() > MAX_SEARCHED_EXTENSIONS
        || lists.signature_algorithms.len() > MAX_SEARCHED_ALGORITHMS
    {
        return search.found;
    }
    let algorithms = algorithm_variants(&lists.signature_algorithms);
    for (spelling, spell) in spellings() {
        let tails: Vec<(&Deviation, String)> = algorithms
            .iter()
            .map(|(change, tail)| {
                (change, tail.as_ref().map_or_else(String::new, |tail| format!("_{}", spell(tail))))
            })
            .collect();
        for (included, list) in included_variants(&lists.extensions) {
            for (change, list) in extension_variants(&list) {
                if !search.takes(&[&included, &change, &spelling]) {
                    continue;
                }
                let head = spell(&list);
                for (tail_change, tail) in &tails {
                    search.offer(&[&included, &change, &spelling, tail_change], || format!("{head}{tail}"));
                }
            }
        }
    }
    search.found
}

/// Keeps the smallest set of deviations that gives the hash.
struct Search {
    hash: Ja4Hash,
    found: Option<Vec<String>>,
}

impl Search {
    fn new(hash: Ja4Hash, of: &str) -> Self {
        let nothing = || vec![format!("has the hash of nothing: it saw no {of}")];
        Self { hash, found: (hash.to_string() == EMPTY_HASH).then(nothing) }
    }

    fn offer(&mut self, deviations: &[&Deviation], text: impl FnOnce() -> String) {
        if self.takes(deviations) && Ja4Hash::from_list(text()) == self.hash {
            self.found =
                Some(deviations.iter().filter_map(|deviation| deviation.as_ref()).cloned().collect());
        }
    }

    /// Whether these deviations are within the limit, and fewer than the best set found so far.
    fn takes(&self, deviations: &[&Deviation]) -> bool {
        let most = self.found.as_ref().map_or(MAX_DEVIATIONS, |found| found.len().saturating_sub(1));
        deviations.iter().filter(|deviation| deviation.is_some()).count() <= most
    }
}

/// Text format of the numbers of a list.
type Spell = fn(&[u16]) -> String;

fn spellings() -> [(Deviation, Spell); 6] {
    let says = |words: &str| Some(format!("hashes a list {words}"));
    [
        (None, written),
        (says("in upper case"), |list| written(list).to_uppercase()),
        (says("without commas"), |list| written(list).replace(',', "")),
        (says("with '-' for ','"), |list| written(list).replace(',', "-")),
        (says("of decimal numbers"), |list| decimal(list, ",")),
        (says("of decimal numbers with '-', as JA3 does"), |list| decimal(list, "-")),
    ]
}

fn decimal(list: &[u16], separator: &str) -> String {
    list.iter().map(u16::to_string).collect::<Vec<_>>().join(separator)
}

/// GREASE values (RFC 8701, section 2).
fn grease_values() -> impl Iterator<Item = u16> + Clone {
    (0x0a0a..=0xfafa).step_by(0x1010)
}

/// Inserts more numbers into a sorted list.
fn sorted_with(list: &[u16], more: &[u16]) -> Vec<u16> {
    let mut list = [list, more].concat();
    list.sort_unstable();
    list
}

fn without(list: &[u16], left_out: &[u16]) -> Vec<u16> {
    list.iter().copied().filter(|number| !left_out.contains(number)).collect()
}

fn keeps_grease(values: &[u16], of: &str) -> Deviation {
    Some(format!("keeps GREASE among its {of}, such as {}", written(values).replace(',', " and ")))
}

fn cipher_variants(list: &[u16]) -> Vec<(Deviation, Vec<u16>)> {
    const SIGNALS: [u16; 2] = [0x00ff, 0x5600];
    let mut variants = vec![
        (None, list.to_vec()),
        (Some("leaves out the signalling values 00ff and 5600".to_owned()), without(list, &SIGNALS)),
    ];
    for value in grease_values() {
        variants.push((keeps_grease(&[value], "cipher suites"), sorted_with(list, &[value])));
    }
    variants
}

fn included_variants(list: &[u16]) -> Vec<(Deviation, Vec<u16>)> {
    let mut variants = vec![(None, list.to_vec())];
    for (included, words) in [
        (&[SERVER_NAME, ALPN][..], "server_name and ALPN"),
        (&[SERVER_NAME], "server_name"),
        (&[ALPN], "ALPN"),
    ] {
        if !included.iter().any(|number| list.contains(number)) {
            let words = format!("leaves {words} in the list of extensions");
            variants.push((Some(words), sorted_with(list, included)));
        }
    }
    variants
}

fn extension_variants(list: &[u16]) -> Vec<(Deviation, Vec<u16>)> {
    let mut variants = vec![(None, list.to_vec())];
    for form in SESSION_FORMS {
        variants.push((Some(format!("is {}", form.name)), without(list, form.left_out)));
    }
    // Encrypted Client Hello and application settings, which many TLS libraries do not support.
    let unknown = [0x4469, 0x44cd, 0xfe0d];
    let known = without(list, &unknown);
    if known.len().abs_diff(list.len()) > 1 {
        let words = "leaves out extensions that its TLS library may not know: encrypted_client_hello, application_settings";
        variants.push((Some(words.to_owned()), known));
    }
    for number in list {
        variants.push((Some(format!("leaves out the extension {number:04x}")), without(list, &[*number])));
    }
    for first in grease_values() {
        variants.push((keeps_grease(&[first], "extensions"), sorted_with(list, &[first])));
        for second in grease_values().filter(|second| *second > first) {
            let both = [first, second];
            variants.push((keeps_grease(&both, "extensions"), sorted_with(list, &both)));
        }
    }
    variants
}

/// Text after the extensions: nothing, or an underscore and a list.
fn algorithm_variants(list: &[u16]) -> Vec<(Deviation, Option<Vec<u16>>)> {
    let own = (!list.is_empty()).then(|| list.to_vec());
    let mut variants = vec![
        (None, own),
        (Some("has its signature algorithms sorted, not in the order of the wire".to_owned()), {
            Some(sorted_with(list, &[]))
        }),
        (Some("leaves out the signature algorithms".to_owned()), None),
        (Some("has an underscore and no signature algorithms behind it".to_owned()), Some(Vec::new())),
    ];
    for value in grease_values() {
        for at in 0..=list.len() {
            let (before, after) = list.split_at_checked(at).unwrap_or_default();
            let list = [before, &[value], after].concat();
            variants.push((keeps_grease(&[value], "signature algorithms"), Some(list)));
        }
    }
    variants
}
