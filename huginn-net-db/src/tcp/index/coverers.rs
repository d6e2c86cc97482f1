//! Finds the TCP signatures that cover another one, without a comparison with each.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::Key;
use crate::Entry;
use crate::tcp::cover::multiple_of_mss;
use crate::tcp::pattern::{TcpPattern, WindowPattern};

/// The signatures of a file by the fields that decide whether they cover another one. Only needed while a file is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverers {
    by_fields: HashMap<(Key, Fields), Vec<u32>, RandomState>,
    /// Signatures, each with whether its label is generic: of equal ones the first one decides.
    seen: HashSet<(TcpPattern, bool), RandomState>,
    has_modulo: bool,
}

/// The fields of a signature, each of which is a wildcard or equal in those that it covers; of windows see
/// [`covering_windows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Fields {
    mss: Option<u16>,
    scale: Option<u8>,
    payload: Option<bool>,
    window: WindowPattern,
}

/// Stands for any divisor of the window; no signature has it.
const ANY_MODULO: WindowPattern = WindowPattern::Modulo(0);

impl Coverers {
    /// Adds a signature with its index.
    pub(super) fn add(&mut self, key: Key, entry: &Entry<TcpPattern>, index: u32) {
        if !self.seen.insert((entry.pattern.clone(), entry.label.generic)) {
            return;
        }
        let TcpPattern { mss, scale, payload, window, .. } = entry.pattern;
        let mut add = |window| {
            self.by_fields.entry((key, Fields { mss, scale, payload, window })).or_default().push(index);
        };
        add(window);
        if let WindowPattern::Modulo(_) = window {
            add(ANY_MODULO);
            self.has_modulo = true;
        }
    }

    /// Calls `visit` with the indices of signatures that may cover this one, in any order, perhaps twice. The TTL, the
    /// quirks and the label remain to be compared.
    pub(super) fn for_each(&self, key: Key, pattern: &TcpPattern, mut visit: impl FnMut(u32)) {
        covering_windows(pattern, self.has_modulo, |window| {
            for mss in wildcard_and(pattern.mss) {
                for scale in wildcard_and(pattern.scale) {
                    for payload in wildcard_and(pattern.payload) {
                        let found = self.by_fields.get(&(key, Fields { mss, scale, payload, window }));
                        found.into_iter().flatten().for_each(|index| visit(*index));
                    }
                }
            }
        });
    }
}

/// The wildcard, and the value unless it is the wildcard.
fn wildcard_and<T>(value: Option<T>) -> impl Iterator<Item = Option<T>> {
    [None].into_iter().chain(value.map(Some))
}

/// Calls `visit` with the window conditions that hold whenever the one of this signature does.
fn covering_windows(pattern: &TcpPattern, has_modulo: bool, mut visit: impl FnMut(WindowPattern)) {
    use WindowPattern::{Any, Bytes, Modulo, Multiple};
    visit(Any);
    if pattern.window != Any {
        visit(pattern.window);
    }
    match pattern.window {
        Bytes(window) => {
            if let Some(multiple) = multiple_of_mss(window, pattern.mss) {
                visit(Multiple(multiple));
            }
            if window == 0 && has_modulo {
                visit(ANY_MODULO);
            }
        }
        Any | Modulo(_) | Multiple(_) => {}
    }
    if let Bytes(window @ 1..) | Modulo(window) = pattern.window
        && has_modulo
    {
        for small in (1..=u8::MAX).map(u16::from).take_while(|small| small.saturating_mul(*small) <= window) {
            if let (Some(large), Some(0)) = (window.checked_div(small), window.checked_rem(small)) {
                visit(Modulo(small));
                visit(Modulo(large));
            }
        }
    }
}
