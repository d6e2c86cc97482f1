//! Comparison of two JA4 fingerprints.

use std::io::{self, Write};

use huginn_net_tls::{Ja4Hash, Ja4Head, Ja4Raw, names};

use super::head::{self, Context, Difference};
use super::lists::{self, Lists};
use super::value::{Ja4Form, Value};
use super::{EMPTY_HASH, Name, search};

pub(super) fn write(out: &mut impl Write, a: &Value, b: &Value) -> io::Result<()> {
    writeln!(out, "A  {}", a.ja4())?;
    writeln!(out, "B  {}", b.ja4())?;
    for (name, value) in [("A", a), ("B", b)] {
        for remark in value.remarks() {
            writeln!(out, "     {name} {remark}")?;
        }
    }
    writeln!(out)?;
    match (a.form(), b.form()) {
        (Ja4Form::Raw(a), Ja4Form::Raw(b)) => raws(out, a, b),
        (Ja4Form::Raw(raw), Ja4Form::Hashed(_)) => raw_and_hashes(out, raw, a, b, "B"),
        (Ja4Form::Hashed(_), Ja4Form::Raw(raw)) => raw_and_hashes(out, raw, a, b, "A"),
        (Ja4Form::Hashed(_), Ja4Form::Hashed(_)) => hashes(out, a, b),
    }
}

fn hashes(out: &mut impl Write, a: &Value, b: &Value) -> io::Result<()> {
    let context = Context {
        same_ciphers: same_lists(a.ja4().cipher_hash(), b.ja4().cipher_hash()),
        same_extensions: same_lists(a.ja4().extension_hash(), b.ja4().extension_hash()),
    };
    heads(out, a.head(), b.head(), context)?;
    let parts = [
        ("b", "cipher suites", context.same_ciphers),
        ("c", "extensions or signature algorithms", context.same_extensions),
    ];
    for (part, of, same) in parts {
        if same {
            writeln!(out, "{part}  the same")?;
        } else {
            writeln!(out, "{part}  other {of}; only the raw forms show which")?;
        }
    }
    Ok(())
}

/// Whether two hashes stand for the same lists; some tools hash an empty list differently.
fn same_lists(a: Ja4Hash, b: Ja4Hash) -> bool {
    let by_definition = |hash: Ja4Hash| if hash.to_string() == EMPTY_HASH { Ja4Hash::EMPTY } else { hash };
    by_definition(a) == by_definition(b)
}

/// Compares JA4_a, the part before the first underscore.
fn heads(out: &mut impl Write, a: Ja4Head, b: Ja4Head, context: Context) -> io::Result<()> {
    let differences = head::differences(a, b, context);
    if differences.is_empty() {
        writeln!(out, "a  the same")?;
    }
    for Difference { part, a, b, reasons } in differences {
        writeln!(out, "a  {part}: {a} in A, {b} in B")?;
        for reason in reasons {
            writeln!(out, "     {reason}")?;
        }
    }
    Ok(())
}

fn raws(out: &mut impl Write, a: &Ja4Raw, b: &Ja4Raw) -> io::Result<()> {
    let original = lists::is_original(a) && lists::is_original(b);
    let (lists_a, lists_b) = if original {
        (Lists::without_grease(a), Lists::without_grease(b))
    } else {
        (Lists::sorted(a), Lists::sorted(b))
    };
    let context = Context {
        same_ciphers: lists_a.cipher_suites == lists_b.cipher_suites,
        same_extensions: lists_a.extensions == lists_b.extensions
            && lists_a.signature_algorithms == lists_b.signature_algorithms,
    };
    for (one, other, name) in [(a, b, "A"), (b, a, "B")] {
        if lists::is_original(one) && !lists::is_original(other) {
            writeln!(out, "{name} is in the order of the wire; here its lists are sorted.\n")?;
        }
    }
    heads(out, a.head(), b.head(), context)?;
    if context.same_ciphers
        && context.same_extensions
        && (a.cipher_suites(), a.extensions()) != (b.cipher_suites(), b.extensions())
    {
        writeln!(out, "   by the definition the lists are the same, though they are not written so:")?;
    }
    list(out, "b  cipher suites", names::cipher_suite, &lists_a.cipher_suites, &lists_b.cipher_suites)?;
    list(out, "c  extensions", names::extension, &lists_a.extensions, &lists_b.extensions)?;
    let (algorithms_a, algorithms_b) = (&lists_a.signature_algorithms, &lists_b.signature_algorithms);
    list(out, "c  signature algorithms", names::signature_scheme, algorithms_a, algorithms_b)?;
    if lists_a.has_no_algorithms_of(&lists_b) {
        writeln!(out, "     A may leave out the signature algorithms, whose extension it lists")?;
    } else if lists_b.has_no_algorithms_of(&lists_a) {
        writeln!(out, "     B may leave out the signature algorithms, whose extension it lists")?;
    }
    Ok(())
}

fn list(out: &mut impl Write, title: &str, name: Name, a: &[u16], b: &[u16]) -> io::Result<()> {
    if a == b {
        return writeln!(out, "{title}: the same");
    }
    let only = [("A", lists::only_in(a, b)), ("B", lists::only_in(b, a))];
    if only.iter().all(|(_, numbers)| numbers.is_empty()) {
        writeln!(out, "{title}: the same in another order")?;
        for (name, one, other) in [("A", a, b), ("B", b, a)] {
            if one.is_sorted() && !other.is_sorted() {
                writeln!(out, "     {name} may sort them, where the order of the wire should stay")?;
            }
        }
        return Ok(());
    }
    writeln!(out, "{title}:")?;
    for (which, numbers) in only {
        for number in numbers {
            writeln!(out, "     only in {which}  {}", lists::named(number, name))?;
        }
    }
    Ok(())
}

/// Whether the lists of one fingerprint give the hashes of `hashed`, by the definition or in a tool that deviates from it.
fn raw_and_hashes(out: &mut impl Write, raw: &Ja4Raw, a: &Value, b: &Value, hashed: &str) -> io::Result<()> {
    let target = if hashed == "A" { a.ja4() } else { b.ja4() };
    let forms = forms(raw);
    let ciphers = Recomputed::new(&forms, target.cipher_hash(), Lists::cipher_hash, search::ciphers);
    let extensions =
        Recomputed::new(&forms, target.extension_hash(), Lists::extension_hash, search::extensions);
    let context =
        Context { same_ciphers: ciphers.given_by.is_some(), same_extensions: extensions.given_by.is_some() };
    heads(out, a.head(), b.head(), context)?;
    ciphers.write(out, "b  the cipher suites", hashed)?;
    extensions.write(out, "c  extensions and signature algorithms", hashed)
}

/// A hash, and the lists that give it.
struct Recomputed {
    hash: Ja4Hash,
    given_by: Option<&'static str>,
    /// Deviation of a tool that computes this hash.
    deviations: Vec<String>,
}

impl Recomputed {
    fn new(
        forms: &[(&'static str, Lists)],
        hash: Ja4Hash,
        own: fn(&Lists) -> Ja4Hash,
        search: fn(&Lists, Ja4Hash) -> Option<Vec<String>>,
    ) -> Self {
        let given_by = forms.iter().find(|(_, lists)| own(lists) == hash).map(|(words, _)| *words);
        let deviations = match given_by {
            Some(_) => Vec::new(),
            None => forms.iter().find_map(|(_, lists)| search(lists, hash)).unwrap_or_default(),
        };
        Self { hash, given_by, deviations }
    }

    fn write(&self, out: &mut impl Write, title: &str, hashed: &str) -> io::Result<()> {
        let hash = self.hash;
        if let Some(words) = self.given_by {
            return writeln!(out, "{title} give {hash}{words}");
        }
        writeln!(out, "{title} do not give {hash}")?;
        if self.deviations.is_empty() {
            writeln!(
                out,
                "     nor with one or two known deviations; a sorted form does not show the order of ja4_o"
            )?;
        }
        for deviation in &self.deviations {
            writeln!(out, "     {hashed} {deviation}")?;
        }
        Ok(())
    }
}

/// The lists in the order of the definition, then in the order given.
fn forms(raw: &Ja4Raw) -> Vec<(&'static str, Lists)> {
    let mut forms = vec![("", Lists::sorted(raw))];
    if lists::is_original(raw) {
        forms.push((" in the order of the wire", Lists::without_grease(raw)));
    }
    let written = Lists::from_raw(raw);
    if forms.iter().all(|(_, lists)| *lists != written) {
        forms.push((" as they are written", written));
    }
    forms
}
