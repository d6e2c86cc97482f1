//! Parsing of the fingerprints that `explain` accepts.

use std::str::FromStr;

use huginn_net_tls::{Ja4, Ja4Head, Ja4ParseError, Ja4Raw};

use super::{EMPTY_HASH, lists};

/// A JA4 as it was typed.
#[derive(Clone, Debug)]
pub(super) struct Value {
    form: Ja4Form,
    /// Deviations of the text from the definition that the parser accepts.
    spelling: Vec<&'static str>,
}

/// The form of a JA4: with hashes (`ja4`, `ja4_o`) or with lists (`ja4_r`, `ja4_ro`).
#[derive(Clone, Debug)]
pub(super) enum Ja4Form {
    Hashed(Ja4),
    Raw(Box<Ja4Raw>),
}

impl Value {
    pub(super) const fn form(&self) -> &Ja4Form {
        &self.form
    }

    pub(super) fn head(&self) -> Ja4Head {
        match &self.form {
            Ja4Form::Hashed(ja4) => ja4.head(),
            Ja4Form::Raw(raw) => raw.head(),
        }
    }

    /// A JA4 with hashes instead of lists.
    pub(super) fn ja4(&self) -> Ja4 {
        match &self.form {
            Ja4Form::Hashed(ja4) => *ja4,
            Ja4Form::Raw(raw) => raw.ja4(),
        }
    }

    /// Deviations from the definition, each as a description of the tool.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.spelling.iter().map(|remark| (*remark).to_owned()).collect();
        match &self.form {
            Ja4Form::Hashed(ja4) => {
                let parts = [(ja4.cipher_hash(), "cipher suites"), (ja4.extension_hash(), "extensions")];
                for (_, of) in parts.iter().filter(|(hash, _)| hash.to_string() == EMPTY_HASH) {
                    remarks.push(format!("has the hash of nothing for no {of}, not 000000000000"));
                }
            }
            Ja4Form::Raw(raw) => remarks.extend(lists::remarks(raw)),
        }
        remarks
    }
}

/// Also accepts spellings of other tools: upper-case hexadecimal digits or letters, and an underscore after the last list.
impl FromStr for Value {
    type Err = Ja4ParseError;

    fn from_str(text: &str) -> Result<Self, Ja4ParseError> {
        let error = match form(text) {
            Ok(form) => return Ok(Self { form, spelling: Vec::new() }),
            Err(error) => error,
        };
        let mut spelling = Vec::new();
        let mut repaired = lower_case(text);
        if repaired != text {
            spelling.push(if text.starts_with(|transport: char| transport.is_ascii_lowercase()) {
                "writes hexadecimal digits in upper case"
            } else {
                "writes letters in upper case"
            });
        }
        if let Some(shorter) = repaired.strip_suffix('_').filter(|shorter| shorter.matches('_').count() == 2)
        {
            spelling.push("ends in an underscore, with no signature algorithms behind it");
            repaired = shorter.to_owned();
        }
        form(&repaired).map(|form| Self { form, spelling }).map_err(|_| error)
    }
}

/// Decides by the part after the first underscore: only a hash is twelve digits without a comma.
fn form(text: &str) -> Result<Ja4Form, Ja4ParseError> {
    let second = text.split('_').nth(1).unwrap_or_default();
    if second.len() == 12 && !second.contains(',') {
        text.parse().map(Ja4Form::Hashed)
    } else {
        text.parse().map(|raw| Ja4Form::Raw(Box::new(raw)))
    }
}

/// The text in lower case. The two ALPN characters are case-sensitive: they keep their case unless a tool has made all
/// letters capitals, the first one (`t` or `q`) among them.
fn lower_case(text: &str) -> String {
    let is_all_capitals = !text.contains(|character: char| character.is_ascii_lowercase());
    let case_of = |(at, character): (usize, char)| match at {
        8 | 9 if !is_all_capitals => character,
        _ => character.to_ascii_lowercase(),
    };
    text.char_indices().map(case_of).collect()
}
