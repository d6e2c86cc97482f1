//! The lists of a JA4_r, and their deviations from the definition.

use std::collections::HashMap;

use huginn_net_tls::extension_type::{ALPN, SERVER_NAME, SIGNATURE_ALGORITHMS};
use huginn_net_tls::{Ja4Hash, Ja4Raw, is_grease};

use super::Name;

/// A number and its name.
pub(super) fn named(number: u16, name: Name) -> String {
    let grease = is_grease(number).then_some("GREASE");
    match name(number).or(grease) {
        Some(name) => format!("{number:04x}  {name}"),
        None => format!("{number:04x}"),
    }
}

/// Whether the list is in wire order.
pub(super) fn is_original(raw: &Ja4Raw) -> bool {
    let is_sorted = |list: &[u16]| list.iter().filter(|number| !is_grease(**number)).is_sorted();
    !is_sorted(raw.cipher_suites()) || !is_sorted(raw.extensions())
}

/// Notes on values that the definition omits or counts differently.
pub(super) fn remarks(raw: &Ja4Raw) -> Vec<String> {
    let mut remarks = Vec::new();
    let lists = [
        ("cipher suites", raw.cipher_suites()),
        ("extensions", raw.extensions()),
        ("signature algorithms", raw.signature_algorithms()),
    ];
    for (name, list) in lists {
        let grease: Vec<String> = grease_of(list).map(|number| format!("{number:04x}")).collect();
        if !grease.is_empty() {
            remarks.push(format!("keeps GREASE among its {name}: {}", grease.join(", ")));
        }
    }
    if !is_original(raw) {
        for (number, name) in [(SERVER_NAME, "server_name"), (ALPN, "ALPN")] {
            if raw.extensions().contains(&number) {
                remarks.push(format!("lists {name} ({number:04x}), which only the original order does"));
            }
        }
    }
    remarks.extend(count_remarks(raw));
    remarks
}

pub(super) fn grease_of(list: &[u16]) -> impl Iterator<Item = u16> {
    list.iter().copied().filter(|number| is_grease(*number))
}

fn count_remarks(raw: &Ja4Raw) -> Vec<String> {
    let head = raw.head();
    let without_grease = |list: &[u16]| list.len().saturating_sub(grease_of(list).count());
    let mut remarks = Vec::new();

    let (counted, listed) = (usize::from(head.cipher_count()), without_grease(raw.cipher_suites()));
    if counted != listed.min(99) {
        let why = why_more(counted, listed);
        remarks.push(format!("counts {counted} cipher suites where {listed} are listed{why}"));
    }

    let listed = without_grease(raw.extensions());
    let has = |number| raw.extensions().contains(&number);
    let hidden_name = usize::from(head.has_server_name() && !has(SERVER_NAME));
    let hidden_alpn = usize::from(head.alpn() != "00" && !has(ALPN));
    let wanted = listed.saturating_add(hidden_name).saturating_add(hidden_alpn);
    // An ALPN extension without a value is counted; no other part shows it.
    let may_be_one_more = head.alpn() == "00" && !is_original(raw);
    let counted = usize::from(head.extension_count());
    if counted != wanted.min(99) && !(may_be_one_more && counted == wanted.saturating_add(1)) {
        let why = if counted == listed && wanted > listed {
            ": without server_name and ALPN"
        } else {
            why_more(counted, wanted)
        };
        remarks.push(format!("counts {counted} extensions where {wanted} are listed or implied{why}"));
    }
    remarks
}

/// Suggests GREASE values where the count is one or two too high.
fn why_more(counted: usize, wanted: usize) -> &'static str {
    if (1..=2).contains(&counted.saturating_sub(wanted)) { ": perhaps with GREASE" } else { "" }
}

/// The lists of a JA4_r.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lists {
    pub(super) cipher_suites: Vec<u16>,
    pub(super) extensions: Vec<u16>,
    pub(super) signature_algorithms: Vec<u16>,
}

impl Lists {
    /// The lists in the order given.
    pub(super) fn from_raw(raw: &Ja4Raw) -> Self {
        Self {
            cipher_suites: raw.cipher_suites().to_vec(),
            extensions: raw.extensions().to_vec(),
            signature_algorithms: raw.signature_algorithms().to_vec(),
        }
    }

    /// The lists in wire order, as the definition specifies for `ja4_ro`.
    pub(super) fn without_grease(raw: &Ja4Raw) -> Self {
        let mut lists = Self::from_raw(raw);
        for list in [&mut lists.cipher_suites, &mut lists.extensions, &mut lists.signature_algorithms] {
            list.retain(|number| !is_grease(*number));
        }
        lists
    }

    /// The sorted lists, as the definition specifies for `ja4_r`.
    pub(super) fn sorted(raw: &Ja4Raw) -> Self {
        let mut lists = Self::without_grease(raw);
        lists.cipher_suites.sort_unstable();
        lists.extensions.retain(|number| ![SERVER_NAME, ALPN].contains(number));
        lists.extensions.sort_unstable();
        lists
    }

    pub(super) fn cipher_hash(&self) -> Ja4Hash {
        Ja4Hash::from_list(written(&self.cipher_suites))
    }

    pub(super) fn extension_hash(&self) -> Ja4Hash {
        let extensions = written(&self.extensions);
        if extensions.is_empty() || self.signature_algorithms.is_empty() {
            return Ja4Hash::from_list(extensions);
        }
        Ja4Hash::from_list(format!("{extensions}_{}", written(&self.signature_algorithms)))
    }

    /// Whether this fingerprint has the extension but no signature algorithms, while the other one has some.
    pub(super) fn has_no_algorithms_of(&self, other: &Self) -> bool {
        self.signature_algorithms.is_empty()
            && self.extensions.contains(&SIGNATURE_ALGORITHMS)
            && !other.signature_algorithms.is_empty()
    }
}

/// Formats a list as the definition does.
pub(super) fn written(list: &[u16]) -> String {
    list.iter().map(|number| format!("{number:04x}")).collect::<Vec<_>>().join(",")
}

/// Returns the values that occur more often in the first list than in the second.
pub(super) fn only_in(one: &[u16], other: &[u16]) -> Vec<u16> {
    let mut left = HashMap::new();
    for number in other {
        let count = left.entry(*number).or_insert(0_usize);
        *count = count.saturating_add(1);
    }
    let is_more = |number: &u16| match left.get_mut(number) {
        Some(count) if *count > 0 => {
            *count = count.saturating_sub(1);
            false
        }
        _ => true,
    };
    one.iter().copied().filter(is_more).collect()
}
